"""Which language is it? Sentences of every language that the table knows, short texts, and what cannot be told."""

import pytest

from wenmai.data.text.languages import TABLES, language_of, languages_in

SENTENCES = {
    "en": [
        "The weather was lovely and we walked along the river.",
        "I don't know what to do with this.",
        "It's a very good book.",
    ],
    "de": [
        "Das Wetter war schön, und wir gingen am Fluss spazieren.",
        "Die Straße ist gesperrt.",
        "Ich weiß es nicht.",
    ],
    "fr": [
        "Il faisait beau et nous nous sommes promenés le long de la rivière.",
        "C'est très bon, je l'ai acheté pour mon frère.",
    ],
    "es": [
        "Hacía buen tiempo y paseamos por la orilla del río.",
        "¿Dónde está el baño?",
        "El niño no quiere comer.",
    ],
    "pt": [
        "O tempo estava bom e passeamos ao longo do rio.",
        "Não sei o que fazer com isso.",
        "As crianças são felizes.",
    ],
    "it": [
        "Il tempo era bello e abbiamo camminato lungo il fiume.",
        "Non so che cosa fare con questo.",
        "È più grande della casa.",
    ],
    "ca": [
        "Feia bon temps i vam passejar amb els amics per la vora del riu.",
        "Aquest llibre és molt bo, però és car.",
    ],
    "nl": [
        "Het was mooi weer en we liepen langs de rivier.",
        "Ik weet niet wat ik met deze moet doen.",
        "Dat is een goed boek.",
    ],
    "sv": [
        "Vädret var vackert och vi gick längs floden.",
        "Jag vet inte vad jag ska göra.",
        "Det är en mycket bra bok.",
    ],
    "da": [
        "Vejret var dejligt, og vi gik en tur langs åen af egen lyst.",
        "Jeg ved ikke, hvad du vil mig.",
        "Bogen er skrevet af en dansker.",
    ],
    "nb": [
        "Været var fint, og vi gikk langs elva av egen lyst.",
        "Jeg vet ikke hva du vil meg.",
        "Boka er skrevet av en nordmann.",
    ],
    "fi": [
        "Sää oli kaunis ja kävelimme joen varrella.",
        "En tiedä, mitä hän tekee, mutta se on hyvä.",
        "Tämä ei ole minun.",
    ],
    "pl": [
        "Pogoda była piękna i spacerowaliśmy wzdłuż rzeki.",
        "Nie wiem, co z tym zrobić.",
        "To jest bardzo dobra książka.",
    ],
    "cs": [
        "Počasí bylo krásné a procházeli jsme se podél řeky.",
        "Nevím, co s tím mám dělat.",
        "To je velmi dobrá kniha.",
    ],
    "hu": [
        "Szép idő volt, és a folyó mentén sétáltunk.",
        "Nem tudom, hogy mit csináljak.",
        "Ez egy nagyon jó könyv.",
    ],
    "ro": [
        "Vremea era frumoasă și ne-am plimbat de-a lungul râului.",
        "Nu știu ce să fac cu asta.",
        "Este o carte foarte bună.",
    ],
    "tr": [
        "Hava güzeldi ve nehir boyunca yürüdük.",
        "Bu kitap çok iyi değil mi?",
        "Ne yapacağımı bilmiyorum ama sonra gelirim.",
    ],
    "id": [
        "Cuacanya bagus dan kami berjalan di tepi sungai.",
        "Saya tidak tahu apa yang harus dilakukan dengan ini.",
    ],
    "vi": [
        "Thời tiết đẹp và chúng tôi đi dạo dọc bờ sông.",
        "Tôi không biết phải làm gì với cái này.",
        "Quyển sách này rất hay.",
    ],
    "zh": [
        "天气很好，我们沿着河边散步。",
        "这本书很不错，推荐购买！",
        "我用 iPhone 拍了很多照片。",
        "好",
        "日本の的意思是“日本的”，这是日语里最常见的字。",
    ],
    "zh-Hant": [
        "天氣很好，我們沿著河邊散步。",
        "這本書很不錯，推薦購買！",
        "請問洗手間在哪裡？",
        "謝謝",
    ],
    "ja": [
        "天気がよかったので、川沿いを散歩しました。",
        "この本はとても面白いです。",
        "ありがとう",
        "東京駅",
        "国際会議の開催を発表",
    ],
    "ko": ["날씨가 좋아서 강가를 산책했습니다.", "감사합니다", "이 책은 iPhone보다 좋다."],
    "ru": ["Погода была прекрасная, и мы гуляли вдоль реки.", "Спасибо"],
    "uk": ["Погода була чудова, і ми гуляли вздовж річки.", "Дякую, її немає"],
    "be": ["Надвор'е было добрае, і мы шпацыравалі ўздоўж ракі."],
    "sr": ["Време је било лепо и шетали смо поред реке."],
    "kk": ["Ауа райы жақсы болды, біз өзен бойымен серуендедік."],
    "el": ["Ο καιρός ήταν ωραίος και περπατήσαμε δίπλα στο ποτάμι.", "ἐν ἀρχῇ ἦν ὁ λόγος"],
    "ar": ["كان الطقس جميلا ومشينا على طول النهر.", "شكرا"],
    "fa": ["هوا خوب بود و ما کنار رودخانه پیاده‌روی کردیم."],
    "ur": ["موسم اچھا تھا اور ہم دریا کے کنارے چلے۔"],
    "he": ["מזג האוויר היה נעים וטיילנו לאורך הנהר."],
    "th": ["อากาศดีและเราเดินเล่นริมแม่น้ำ"],
    "hi": ["मौसम अच्छा था और हम नदी के किनारे टहले।"],
    "bn": ["আবহাওয়া ভালো ছিল এবং আমরা নদীর ধারে হাঁটলাম।"],
    "ta": ["வானிலை நன்றாக இருந்தது, நாங்கள் ஆற்றங்கரையில் நடந்தோம்."],
    "te": ["వాతావరణం బాగుంది, మేము నది ఒడ్డున నడిచాము."],
    "ka": ["კარგი ამინდი იყო და მდინარის პირას ვისეირნეთ."],
    "hy": ["Եղանակը լավ էր, և մենք զբոսնեցինք գետի երկայնքով։"],
    "am": ["የአየር ሁኔታው ጥሩ ነበር።"],
    "my": ["ရာသီဥတုကောင်းသည်။"],
    "km": ["អាកាសធាតុល្អណាស់។"],
    "lo": ["ອາກາດດີຫຼາຍ"],
}


@pytest.mark.parametrize(
    ("code", "text"), [(code, text) for code, texts in SENTENCES.items() for text in texts]
)
def test_sentences(code, text):
    assert language_of(text) == code


def test_every_language_of_the_table_is_tested():
    assert SENTENCES.keys() >= TABLES["words"].keys()


@pytest.mark.parametrize(
    "text",
    ["", "   ", "12.5 %", "😀😀", "<br/>", "Wolfsburg", "xkcd qwertz", "123-456", "\x00\ufffd"],
)
def test_what_cannot_be_told(text):
    assert language_of(text) == ""


def test_a_long_text_is_not_judged_by_one_word():
    assert language_of("is " + "lorem ipsum dolor sit amet " * 20) == ""


def test_shares():
    texts = ["这本书很好。"] * 6 + ["This is the book."] * 3 + ["42"]
    assert languages_in(texts) == {"zh": 0.6, "en": 0.3, "": 0.1}
    assert list(languages_in(texts)) == ["zh", "en", ""]
    assert languages_in([]) == {}


def test_shares_are_spread_over_the_data():
    texts = ["这本书很好。", "This is the book."] * 15_000 + [
        "Das ist nicht gut."
    ] * 10_000  # the first two take turns
    found = languages_in(texts)
    assert found == languages_in(texts)
    assert found == pytest.approx({"zh": 0.375, "en": 0.375, "de": 0.25}, abs=0.05)
