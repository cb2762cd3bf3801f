"""Tokenizers: what is encoded comes back, what is kept in JSON encodes alike, and no text breaks them."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wenmai.data.storage.saved import Unfit
from wenmai.data.text import tokenizers
from wenmai.data.text.tokenizers import KINDS, OWN, SPECIAL, learn
from wenmai.errors import Mistake

ENGLISH = [
    "The film isn't good, it is very good!",
    "a truly bad film",
    "nobody's favourite; nothing works",
    "It works, it does.",
]
CHINESE = ["这部电影非常好看，我很喜欢。", "服务态度太差了", "北京的天气真不错", "我们都喜欢看电影"]
MIXED = ENGLISH + CHINESE
NAMES = ["Österreich", "New Zealand", "日本", "Česko", "Côte d’Ivoire"]
anything = st.text(
    st.characters(exclude_categories=()), max_size=30
)  # surrogates, control characters and all
UNK = OWN.unknown
FEW = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return learn(MIXED, tokenizer=request.param, vocabulary=500)


def ids(tokenizer, *texts):
    return [
        row.tolist() for row in map(tokenizer.encode(list(texts)).__getitem__, range(len(texts)))
    ]


def test_the_first_numbers_are_the_same_in_all(tokenizer):
    assert tokenizer.tokens[: len(SPECIAL)] == SPECIAL
    assert len(set(tokenizer.tokens)) == len(tokenizer.tokens)


def test_known_texts_have_no_unknown_token_and_come_back(tokenizer):
    for text, row in zip(MIXED, ids(tokenizer, *MIXED)):
        assert row and min(row) >= len(SPECIAL) and max(row) < len(tokenizer.tokens)
        back = tokenizer.decode(row)
        if tokenizer.kind in ("characters", "bpe"):
            assert (
                back.removeprefix(" ") == text
            )  # bpe reads a space before the first word, as before every other
        elif tokenizer.kind == "unigram":
            assert back == text
        else:  # words: spaces and the case of letters are lost, nothing else is
            folded = text.lower() if tokenizer.lowercase else text
            assert back.replace(" ", "") == folded.replace(" ", "")


@given(st.data())
@FEW
def test_characters_and_bytes_come_back_whatever_was_learned(data):
    alphabet = st.characters(codec="utf-8")
    texts = data.draw(st.lists(st.text(alphabet, min_size=1, max_size=20), min_size=1, max_size=5))
    characters = learn(texts, tokenizer="characters")
    assert [characters.decode(row) for row in ids(characters, *texts)] == texts
    text = data.draw(st.text(alphabet, max_size=20))
    back = BYTES.decode(ids(BYTES, text)[0])
    assert UNK not in ids(BYTES, text)[0] and back.removeprefix(" ") == text.removeprefix(" ")


BYTES = learn(ENGLISH, tokenizer="bpe", vocabulary=300)


def test_kept_in_json_it_encodes_alike(tokenizer):
    again = tokenizers.from_json(json.loads(json.dumps(tokenizer.to_json())))
    assert (
        type(again) is type(tokenizer)
        and again.tokens == tokenizer.tokens
        and again.kind == tokenizer.kind
    )
    texts = [*MIXED, "", "unseen Ω 字 ☃", "<pad> <sep>", "A\tb\nc", "x" * 300]
    assert ids(again, *texts) == ids(tokenizer, *texts)
    assert [again.decode(row) for row in ids(again, *texts)] == [
        tokenizer.decode(row) for row in ids(tokenizer, *texts)
    ]


@FEW
@given(texts=st.lists(anything, max_size=4))
@example(texts=["\ud800", "\x00\x07\x1b", "\udfff a", "\U0010ffff", "\u2028\x85", "İSTANBUL ς Σ"])
def test_no_text_breaks_it(tokenizer, texts):
    encoded = tokenizer.encode(texts)
    assert len(encoded) == len(texts) and encoded.offsets[-1] == len(encoded.flat)
    assert not len(encoded.flat) or (
        encoded.flat.min() >= UNK and encoded.flat.max() < len(tokenizer.tokens)
    )
    for row in range(len(texts)):
        assert isinstance(tokenizer.decode(encoded[row]), str)
        assert (
            encoded[row].tolist() == tokenizer.encode([texts[row]])[0].tolist()
        )  # alone as among others


@pytest.fixture(
    scope="module", params=[(kind, lower) for kind in KINDS for lower in (False, True)], ids=str
)
def either_case(request):
    kind, lower = request.param
    return learn(MIXED, tokenizer=kind, vocabulary=500, lowercase=lower)


@FEW
@given(texts=st.lists(anything, max_size=4))
@example(texts=MIXED)
@example(
    texts=[
        "",
        " ",
        "\n",
        "İSTANBUL İİ ς Σ",
        "Aİb Straße ǅ ﬁ",
        "cafe\u0301 🙂👩‍👩‍👧 a",
        "\ud800 A\udfff",
        "a\x00B",
    ]
)
@example(texts=["x" * 300])
@example(texts=["ΑΣ Β", "ΑΣ"])  # a Σ at the end of a word is another small letter than one inside
def test_every_token_knows_where_it_stands(either_case, texts):
    spans, encoded, spelled = (
        either_case.spans(texts),
        either_case.encode(texts),
        either_case.spelled(texts),
    )
    assert len(spans) == len(texts)
    for text, places, row, tokens in zip(texts, spans, encoded, spelled):
        assert len(places) == len(row) == len(tokens)
        assert all(0 <= start <= end <= len(text) for start, end in places)
        assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(places))
        if either_case.kind in ("words", "jieba", "characters"):
            lower = text.lower() if either_case.lowercase else text
            for (start, end), token in zip(places, tokens):
                part = text[start:end].lower() if either_case.lowercase else text[start:end]
                assert start < end and (
                    part == token or (len(lower) != len(text) and token in part) or "ς" in token
                )
        if either_case.kind in ("bytes", "characters"):  # and none of the text is passed over
            assert {at for start, end in places for at in range(start, end)} == set(
                range(len(text))
            )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(texts=st.lists(anything, min_size=1, max_size=4))
@example(texts=["\ud800", "\x00"])
@example(texts=[""])
@example(texts=["   ", "\n"])
def test_any_text_can_be_learned_from(kind, texts):
    learned = learn(texts, tokenizer=kind, vocabulary=300)
    assert len(learned.encode(texts)) == len(texts)
    again = tokenizers.from_json(json.loads(json.dumps(learned.to_json())))
    assert ids(again, *texts) == ids(learned, *texts)


def test_words_that_look_like_special_tokens_are_words(tokenizer, request):
    if tokenizer.kind == "unigram":
        request.applymarker(
            pytest.mark.xfail(
                strict=True, reason="special tokens are pieces of a Unigram model as any others"
            )
        )
    for row in ids(tokenizer, "<pad>", "a <sep> b", "<mask>", "<eos><bos>"):
        assert row and not set(row) & {number for number in range(len(SPECIAL)) if number != UNK}


def test_what_is_unknown_is_called_so():
    characters = learn(["abc"], tokenizer="characters")
    assert ids(characters, "axb") == [[6, UNK, 7]] and characters.decode([6, UNK, 7]) == "a<unk>b"
    words = learn(["good film"], tokenizer="words")
    assert words.decode(ids(words, "good book")[0]) == "good <unk>"
    assert (
        words.decode([OWN.pad, *ids(words, "good film")[0], 4]) == "good film"
    )  # marks are not text


def test_the_texts_say_what_suits_them():
    assert learn(CHINESE * 5).kind == "characters" and not learn(CHINESE).lowercase
    assert learn(NAMES).kind == "characters"
    assert learn(ENGLISH).kind == "words" and learn(ENGLISH).lowercase
    assert learn(["ประเทศไทยอยู่ในเอเชีย ภาษาไทย"]).kind == "characters"
    assert learn(["これは日本語の文です。", "東京は大きい町です。"]).kind == "characters"
    assert learn([""]).kind == "characters"


def test_words_and_marks():
    words = learn(["x"], tokenizer="words")
    assert words.split("It isn't 3.5, nobody’s!") == [
        "it",
        "isn't",
        "3",
        ".",
        "5",
        ",",
        "nobody’s",
        "!",
    ]
    assert words.split("看film吧") == ["看", "film", "吧"]
    assert words.split("  \n\t ") == []
    assert learn(["Ab"], tokenizer="words", lowercase=False).split("Ab aB") == ["Ab", "aB"]
    jieba = learn(CHINESE, tokenizer="jieba")
    assert jieba.split("我喜欢看电影") == ["我", "喜欢", "看", "电影"]
    assert jieba.split("BIG 电影 ") == ["big", "电影"]


def test_the_most_common_come_first_and_ties_in_order():
    learned = learn(["b a c c", "b c d"], tokenizer="words")
    assert learned.tokens[len(SPECIAL) :] == ["c", "b", "a", "d"]
    assert learn(["b a c c", "b c d"], tokenizer="words", vocabulary=8).tokens == [
        *SPECIAL,
        "c",
        "b",
    ]
    assert learn(["b a c c", "b c d"], tokenizer="words", min_count=2).tokens == [
        *SPECIAL,
        "c",
        "b",
    ]
    assert learn(["bacc", "bcd"], tokenizer="characters", vocabulary=8).tokens == [
        *SPECIAL,
        "c",
        "b",
    ]
    assert learn(["Aa b"], tokenizer="characters", lowercase=True).tokens == [
        *SPECIAL,
        "a",
        " ",
        "b",
    ]
    assert len(learn(MIXED, tokenizer="wordpiece", vocabulary=130).tokens) == 130
    also = learn(["b a"], ["z", "a", "<unk>"], tokenizer="words")
    assert also.tokens == [*SPECIAL, "a", "b", "z"]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_texts_give_equal_numbers(kind):
    for vocabulary in (150, 300):
        first, second, third = (
            learn(MIXED, tokenizer=kind, vocabulary=vocabulary) for _ in range(3)
        )
        assert first.tokens == second.tokens == third.tokens and ids(first, *MIXED) == ids(
            second, *MIXED
        ) == ids(third, *MIXED)


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(Mistake, match='unknown tokenizer "wrds"; did you mean words'):
        learn(ENGLISH, tokenizer="wrds")


def edited(tokenizer, change):
    saved = json.loads(json.dumps(tokenizer.to_json()))
    change(saved)
    return saved


def nothing_but(value):
    return lambda saved: saved.update(dict.fromkeys(saved, value))


@pytest.mark.parametrize(
    "change",
    [
        nothing_but(None),
        nothing_but([]),
        nothing_but({}),
        nothing_but("x"),
        lambda saved: saved.pop("kind"),
        lambda saved: saved.pop("lowercase"),
        lambda saved: saved.update(lowercase=0),
        lambda saved: saved.update(kind="smells"),
    ],
)
def test_what_no_tokenizer_wrote_is_unfit(tokenizer, change):
    with pytest.raises(Unfit):
        tokenizers.from_json(edited(tokenizer, change))
    with pytest.raises(Unfit):
        tokenizers.from_json([])


@pytest.mark.parametrize(
    "change",
    [
        lambda tokens: tokens.pop(0),
        lambda tokens: tokens.append(3),
        lambda tokens: tokens.insert(6, None),
    ],
)
@pytest.mark.parametrize("kind", ["characters", "words"])
def test_a_vocabulary_that_was_damaged_is_unfit(kind, change):
    with pytest.raises(Unfit):
        tokenizers.from_json(
            edited(learn(ENGLISH, tokenizer=kind), lambda saved: change(saved["tokens"]))
        )


def test_characters_are_single():
    for token in ("ab", ""):
        with pytest.raises(Unfit, match="single characters"):
            tokenizers.from_json(
                edited(
                    learn(ENGLISH, tokenizer="characters"),
                    lambda saved: saved["tokens"].append(token),  # noqa: B023
                )
            )


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.update(vocab=None),
        lambda model: model["vocab"].update(good=3),
        lambda model: model["vocab"].update(good=2**40),
        lambda model: model["vocab"].update(good="x"),
        lambda model: model["vocab"].pop("<unk>"),
        lambda model: model["merges"].append(["no such", "token"]),
        lambda model: model["merges"].append(["a"]),
        lambda model: model["merges"].append("a b"),
        lambda model: model.update(merges=3),
    ],
)
def test_merges_that_were_damaged_are_unfit(change):
    with pytest.raises(Unfit):
        tokenizers.from_json(edited(BYTES, lambda saved: change(saved["engine"]["model"])))


@pytest.mark.parametrize(
    "pair", [["a"], ["more", float("nan")], ["more", "x"], [3, -1.0], "more", ["<pad>", 1.0]]
)
def test_scores_that_were_damaged_are_unfit(pair):
    unigram = learn(ENGLISH, tokenizer="unigram", vocabulary=60)
    with pytest.raises(Unfit):
        tokenizers.from_json(
            edited(unigram, lambda saved: saved["engine"]["model"]["vocab"].append(pair))
        )


def test_nothing_else_is_taken_from_the_file():
    """An engine's JSON can ask for rows padded to any length, and for more; what was learned is vocabulary and merges."""

    def change(saved):
        saved["engine"]["padding"] = {
            "strategy": {"Fixed": 10**12},
            "direction": "Right",
            "pad_id": 0,
            "pad_type_id": 0,
        }
        saved["engine"]["pre_tokenizer"] = None

    assert ids(tokenizers.from_json(edited(BYTES, change)), *MIXED) == ids(BYTES, *MIXED)


def test_a_vocabulary_that_cannot_hold_the_letters_of_unigram():
    with pytest.raises(
        Mistake,
        match="vocabulary=10: every letter of the texts is a token of tokenizer=unigram, expected at ",
    ):
        learn(MIXED, tokenizer="unigram", vocabulary=10)
