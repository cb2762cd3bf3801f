"""Which language a text is in: by its script, then by telling letters and small words. Quick, and for an overview only."""

import random
import re
from collections import Counter
from collections.abc import Sequence

MOST, LONGEST = 2_000, 600  # texts looked at, and characters of each

# Scripts, as ranges for a regular expression, with the language that is taken where no letter says otherwise.
SCRIPTS = {
    "latin": ("a-zA-Z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff", ""),
    "han": ("\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f", "zh"),
    "kana": ("\u3041-\u3096\u30a1-\u30fa\u30fc", "ja"), "hangul": ("\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3", "ko"),
    "cyrillic": ("\u0400-\u052f", "ru"), "greek": ("\u0370-\u03ff\u1f00-\u1fff", "el"),
    "arabic": ("\u0620-\u064a\u066e-\u06d3\u0750-\u077f", "ar"), "hebrew": ("\u05d0-\u05f2", "he"),
    "thai": ("\u0e01-\u0e4e", "th"), "lao": ("\u0e81-\u0ecd", "lo"), "khmer": ("\u1780-\u17d3", "km"),
    "burmese": ("\u1000-\u109f", "my"), "tibetan": ("\u0f40-\u0fbc", "bo"), "devanagari": ("\u0900-\u0963\u0970-\u097f", "hi"),
    "bengali": ("\u0980-\u09e3", "bn"), "gurmukhi": ("\u0a01-\u0a5e\u0a70-\u0a75", "pa"), "gujarati": ("\u0a81-\u0ae3", "gu"),
    "tamil": ("\u0b82-\u0bd7", "ta"), "telugu": ("\u0c00-\u0c63", "te"), "kannada": ("\u0c80-\u0ce3", "kn"),
    "malayalam": ("\u0d00-\u0d63", "ml"), "sinhala": ("\u0d81-\u0ddf", "si"), "georgian": ("\u10a0-\u10ff", "ka"),
    "armenian": ("\u0531-\u058f", "hy"), "ethiopic": ("\u1200-\u135a", "am"),
}  # fmt: skip
RUNS = re.compile("|".join(f"(?P<{name}>[{range_}]+)" for name, (range_, _) in SCRIPTS.items()))
WEIGHT = {"han": 4, "kana": 2, "hangul": 2}  # a character says as much as so many letters

# Within a script: letters that one language has and its neighbours lack. The first line that is met wins.
LETTERS = {
    "cyrillic": {"kk": "әғқңұһ", "be": "ў", "uk": "іїєґ", "mk": "ѓќѕ", "sr": "ђћљњџј"},
    "arabic": {"ur": "ٹڈڑںےھ", "fa": "پچژگک"},
}
SIMPLIFIED, TRADITIONAL = map(frozenset, (
    "这国们来时说对会个为学发经过还种点现开关问东车马门见长书电语话请谢让认爱听图买卖钱样难欢气汉华义业儿两几乐从实间",
    "這國們來時說對會個為學發經過還種點現開關問東車馬門見長書電語話請謝讓認愛聽圖買賣錢樣難歡氣漢華義業兒兩幾樂從實間",
))  # fmt: skip
JAPANESE = frozenset("円駅気図読売対応広発験済県沢浜辺桜価働込畑峠歩変鉄楽")  # kanji that Chinese writes otherwise

# Small words, the commonest first.
WORDS = {
    "en": "the and of to is in that it was for with this you not are on have be they i my he she what we good it's don't i'm "
    "a from will or but an has his her if all one out there very more great just like can when who how your at by where",
    "de": "der die und das ist nicht ich ein eine zu mit den auf es sie von für dem wir auch sich war sehr gut wie im bei oder",
    "fr": "le la les et des est un une dans que pour je pas vous qui sur ce au avec il elle nous très du ne l' d' j' qu' n' c'",
    "es": "el la los de y que en un una es por con no para las del se lo como pero muy su está más me al este esta todo bien",
    "pt": "o a os de e que em um uma não com para é do da por mais na no muito se você as eu mas foi ao este esta bem bom",
    "it": "il di che e la un una non per è gli sono con del della ma come più lo nel molto questo ho si dove l' dell' un' c'",
    "ca": "el la els les i de que en un una és per amb no del al molt però més aquest aquesta són va dels hi l' d' n'",
    "nl": "de het een en van ik is niet dat te op zijn met voor je maar er we ook aan deze heel hij ze wat",
    "sv": "och att det är jag en ett som på inte för med av till den har vi men om mycket från kan var ska",
    "da": "og at det er jeg en et af som på ikke for med til den har vi men om meget fra kan var hvad mig",
    "nb": "og å det er jeg en et av som på ikke for med til den har vi men om mye fra kan var hva meg",
    "fi": "ja on ei se että hän oli mutta myös ovat tämä minä kun niin olen joka mitä hyvä ole kuin sen",
    "pl": "i w nie na się z to jest do że jak ale o po co tak dla był są ten tego przez bardzo mnie czy",
    "cs": "a se na je v že to do jsem jako ale za by pro tak co po jsou ten byl velmi není",
    "hu": "a az és hogy nem egy is van ez de meg volt csak már ha nagyon még azt mint vagy ki jó",
    "ro": "și în de la nu o un cu este pe că care din mai pentru sunt să am foarte dar au fost ce",
    "tr": "bir ve bu için çok da ne de ile değil var daha gibi ama olarak en o mi kadar sonra iyi",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam saya ke akan pada ada adalah bisa kami sangat",
    "vi": "và là của không có được cho tôi này một người những trong với các đã rất ở anh thì đi",
}  # fmt: skip
OWNERS: dict[str, list[str]] = {}  # word → the languages that have it
for _code, _words in WORDS.items():
    for _word in _words.split():
        OWNERS.setdefault(_word, []).append(_code)
TELLING = {
    "ß": "de", "ü": "de tr hu", "ä": "de sv fi", "ö": "de sv fi tr hu", "ñ": "es", "¿": "es", "¡": "es", "ã": "pt vi",
    "õ": "pt vi", "ç": "fr pt tr ca", "œ": "fr", "ù": "fr it vi", "û": "fr", "ê": "fr pt vi", "è": "fr it ca vi",
    "à": "fr it ca pt vi", "ò": "it ca vi", "ì": "it vi", "ï": "fr nl ca", "å": "sv da nb", "ø": "da nb", "æ": "da nb",
    "ł": "pl", "ż": "pl", "ś": "pl", "ć": "pl", "ń": "pl", "ą": "pl", "ę": "pl", "ź": "pl", "ř": "cs", "ě": "cs", "ů": "cs",
    "č": "cs", "š": "cs", "ž": "cs", "ý": "cs vi", "ő": "hu", "ű": "hu", "ă": "ro vi", "ș": "ro", "ț": "ro", "ş": "tr ro",
    "ţ": "ro", "î": "ro fr", "ğ": "tr", "ı": "tr", "đ": "vi", "ơ": "vi", "ư": "vi",
}  # fmt: skip
SPECIAL = re.compile(f"[{''.join(TELLING)}\u1ea0-\u1ef9]")
LATIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def language_of(text: str) -> str:
    """An ISO code such as en, zh, zh-Hant or ru, or "" where it cannot be told."""
    text = text[:LONGEST]
    sizes: Counter[str] = Counter()
    for run in RUNS.finditer(text):
        sizes[run.lastgroup] += (run.end() - run.start()) * WEIGHT.get(run.lastgroup, 1)
    if not sizes:
        return ""
    # Japanese writes with both: a little kana among Chinese characters may be a quotation, more is not.
    if sizes["kana"] * 10 >= sizes["han"]:
        sizes["kana"] += sizes.pop("han", 0)
    script = max(sizes, key=sizes.__getitem__)
    if script == "latin":
        return _latin(text.lower())
    if script == "han":
        return _han(text)
    if script in LETTERS:
        letters = set(text.lower())
        return next((code for code, own in LETTERS[script].items() if letters & set(own)), SCRIPTS[script][1])
    return SCRIPTS[script][1]


def languages_in(texts: Sequence[str]) -> dict[str, float]:
    """The share of each language, the largest first, over up to 2,000 texts spread over the data; "" is: cannot be told."""
    # Drawn, not every tenth: rows may take turns.
    rows = range(len(texts)) if len(texts) <= MOST else random.Random(0).sample(range(len(texts)), MOST)
    counts = Counter(language_of(texts[row]) for row in rows)
    return {code: number / len(rows) for code, number in counts.most_common()}


def _han(text: str) -> str:
    if any(character in JAPANESE for character in text) and not any(character in SIMPLIFIED for character in text):
        return "ja"
    simplified = sum(character in SIMPLIFIED for character in text)
    return "zh-Hant" if sum(character in TRADITIONAL for character in text) > simplified else "zh"


def _latin(text: str) -> str:
    """Every small word speaks for the languages that have it, every telling letter too; a tie or silence tells nothing."""
    words = LATIN_WORD.findall(text.replace("’", "'"))
    votes: Counter[str] = Counter()
    for word in words:
        # "l'ami" is not in the table, "l'" is
        owners = OWNERS.get(word) or OWNERS.get(word[: word.find("'") + 1], ())
        for code in owners:
            votes[code] += 1 + 1 / len(owners)  # a word that only one language has counts double
    for letter in SPECIAL.findall(text):
        for code in TELLING.get(letter, "vi").split():
            votes[code] += 0.5
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < max(1.0, len(words) / 20) or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return ""
    return ranked[0][0]
