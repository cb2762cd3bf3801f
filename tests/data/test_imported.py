"""A vocabulary that comes from elsewhere keeps its own special tokens: texts come back, every token knows where it stood, and
models learn with it as with their own."""

import json
import unicodedata

import numpy as np
import pytest
import torch
from imported import KINDS, TEXTS, bert_like, gpt_like
from tokenizers import Tokenizer, models

import wenmai
from wenmai import Classifier, LanguageModel, Mistake
from wenmai.data.files.corpus import Corpus
from wenmai.data.inputs.kinds import Texts
from wenmai.data.storage.saved import Unfit
from wenmai.data.text import tokenizers
from wenmai.data.text.lines import Lines
from wenmai.data.text.special import Special
from wenmai.data.text.tokenizers import Imported
from wenmai.models.ngram.numbering import Numbering

both = pytest.mark.parametrize("kind", KINDS)
HARD = [
    "The Cat sat, on  the mat!",
    "我很喜欢 the 电影。",
    "ok 🙂 fine 👩‍👩‍👧‍👦",
    "Élan naïve, cafe\u0301",
    "",
    " ",
    "\n",
    "[CLS] <|endoftext|> [PAD]",
    "unheard-of ☃ ȷ",
    "a\x00b",
    "lone \ud800 half",
]


def folded(text: str) -> str:
    """As BERT reads it: small letters without their accents, and no spaces."""
    plain = unicodedata.normalize("NFD", text.lower())
    return "".join(
        letter for letter in plain if unicodedata.category(letter) != "Mn" and not letter.isspace()
    )


# Texts, numbers, places


@both
def test_the_special_tokens_are_its_own(kind):
    tokenizer = KINDS[kind]()
    assert tokenizer.special == (
        Special(0, 100, 101, 102, 102, 103) if kind == "bert" else Special(begin=300, end=300)
    )
    for text, row in zip(HARD, map(tokenizer.encode(HARD).__getitem__, range(len(HARD)))):
        assert not set(row.tolist()) & set(tokenizer.special.numbers) - {
            tokenizer.special.unknown
        }, text


@both
def test_texts_come_back(kind):
    tokenizer = KINDS[kind]()
    for text, row in zip(TEXTS + HARD, [*tokenizer.encode(TEXTS), *tokenizer.encode(HARD)]):
        back = tokenizer.decode(row)
        if kind == "gpt":
            assert back == text.encode("utf-8", "replace").decode()
        elif tokenizer.special.unknown not in row:
            assert back.replace(" ", "") == folded(text)


@both
def test_every_token_knows_where_it_stood(kind):
    tokenizer = KINDS[kind]()
    encoded, spans = tokenizer.encode(HARD), tokenizer.spans(HARD)
    for text, row, places in zip(HARD, encoded, spans):
        assert len(row) == len(places)
        assert places == sorted(places) and all(
            0 <= start < end <= len(text) for start, end in places
        )
        for number, (start, end) in zip(row.tolist(), places):
            part, token = (
                text[start:end].encode("utf-8", "replace").decode(),
                tokenizer.tokens[number],
            )
            if kind == "bert":
                assert number == tokenizer.special.unknown or folded(part) == token.removeprefix(
                    "##"
                )
            elif "\ufffd" in tokenizer.decode(
                [number]
            ):  # a part of a character stands where the character does
                assert tokenizer.decode([number]) != part
            else:
                assert tokenizer.decode([number]) == part
        if kind == "gpt":  # nothing of the text is lost
            assert {at for start, end in places for at in range(start, end)} == set(
                range(len(text))
            )
    assert [tokenizer.spans([text])[0] for text in HARD] == spans


def test_what_is_unknown_is_spelled_as_it_stands():
    assert bert_like().spelled(["the ☃ sat", "Ωω"]) == [["the", "☃", "sat"], ["Ωω"]]


@both
def test_kept_in_json_it_reads_alike(kind):
    tokenizer = KINDS[kind]()
    again = tokenizers.from_json(json.loads(json.dumps(tokenizer.to_json())))
    assert (
        isinstance(again, Imported)
        and again.special == tokenizer.special
        and again.tokens == tokenizer.tokens
    )
    assert [row.tolist() for row in again.encode(HARD)] == [
        row.tolist() for row in tokenizer.encode(HARD)
    ]
    assert again.spans(HARD) == tokenizer.spans(HARD) and again.decode(
        [5, 110, 200]
    ) == tokenizer.decode([5, 110, 200])


@pytest.mark.parametrize(
    "change",
    [
        {"special": {"pad": 10**6}},
        {"special": {"pad": -1}},
        {"special": {"pda": 0}},
        {"special": 3},
        {"engine": {}},
        {"engine": None},
        {"special": {"end": 1.5}},
    ],
    ids=str,
)
def test_what_was_damaged_is_unfit(change):
    with pytest.raises(Unfit):
        tokenizers.from_json(json.loads(json.dumps(bert_like().to_json())) | change)


def test_numbers_with_gaps_are_unfit():
    with pytest.raises(Unfit, match="do not follow one another"):
        Imported(
            Tokenizer(models.WordPiece({"[UNK]": 0, "a": 2}, unk_token="[UNK]")), Special(unknown=0)
        )


# Learning


def labels_of(texts: list[str]) -> list[str]:
    return ["cat" if "cat" in text else "none" for text in texts]


def trained(estimator, *data, known):
    for _ in estimator.training(*data, known=known):
        pass
    return estimator


@both
@pytest.mark.parametrize("embedding", ["random", "one-hot"])
@pytest.mark.parametrize(
    "rung", ["gru", "cnn", "transformer", "gpt", "attention", "mlp", "softmax", "ngram"]
)
def test_texts_are_classified(kind, embedding, rung, tmp_path):
    inputs = Texts(KINDS[kind](), pairs=False, unit="words", longest=64, embedding=embedding)
    small = {
        "gru": {"hidden": 8},
        "attention": {"hidden": 8},
        "cnn": {"filters": 4},
        "mlp": {"hidden": 8},
    }.get(rung, {})
    small |= {"width": 8, "heads": 2, "layers": 1} if rung in ("transformer", "gpt") else {}
    small |= (
        {} if rung in ("softmax", "ngram") else {"steps": 20, "dropout": 0.0, "learning_rate": 0.02}
    )
    model = trained(
        Classifier(rung, validation=0.0, device="cpu", **small),
        TEXTS,
        labels_of(TEXTS),
        known=inputs,
    )
    assert model.inputs_ is inputs and model.score(TEXTS, labels_of(TEXTS)) > 0.6
    texts = [
        "the",
        "",
        "a cat 🙂",
        "the dog sat on the log " * 9,
        "☃ Ω [PAD] !",
    ]  # "!" is number 0 of the second vocabulary
    together = model.predict_proba(texts)
    np.testing.assert_allclose(
        together, np.concatenate([model.predict_proba([text]) for text in texts]), atol=1e-5
    )
    again = wenmai.load(model.save(tmp_path / "run"), device="cpu")
    assert again.inputs_.tokenizer.special == inputs.special
    np.testing.assert_array_equal(again.predict_proba(texts), together)


@both
@pytest.mark.parametrize("rung", ["gpt", "lstm", "cnn", "rnn-gated", "ngram"])
def test_running_text_is_learned(kind, rung, tmp_path):
    lines = Lines(KINDS[kind]())
    small = {
        "gpt": {"width": 24, "heads": 2, "layers": 2},
        "ngram": {"order": 3},
        "cnn": {"filters": 24},
    }
    learns = {"steps": 40, "context": 16, "learning_rate": 0.02, "dropout": 0.0, "device": "cpu"}
    small = small.get(rung, {"hidden": 24}) | ({} if rung == "ngram" else learns)
    model = trained(LanguageModel(rung, **small), TEXTS, known=lines)
    held = ["the cat saw the dog", "我喜欢🙂", "", "zebra ☃"]
    scores = model.evaluate(TEXTS)
    assert 1 < scores["perplexity"] < 0.2 * len(lines)
    assert np.isfinite(model.log_prob(held)).all()
    one, language = held[0], model.trained().language
    tokens, total = [*lines.prompt(one).tolist(), lines.special.end], 0.0
    log_probs, state = language.begin(np.zeros(0, np.int32))
    for token in tokens:
        assert (
            log_probs.shape == (1, len(lines))
            and (log_probs[0, list(lines.special.unwritten)] == float("-inf")).all()
        )
        whole = torch.logsumexp(log_probs.double(), 1).item()
        # n-grams leave a share to the unknown word, which this vocabulary may not have
        assert whole == pytest.approx(0, abs=1e-4) or (
            rung == "ngram" and kind == "gpt" and -0.5 < whole < 0
        )
        total += log_probs[0, token].item()
        log_probs, state = language.step(state, torch.tensor([token]))
    assert total == pytest.approx(model.log_prob(one), abs=1e-3)
    prompts = ["the", "a cat sat on", "", "我"]
    written = model.generate(prompts, tokens=12, seed=2)
    assert written == [
        model.generate(prompt, tokens=12, seed=2 + row) for row, prompt in enumerate(prompts)
    ]
    assert not any(
        lines.tokens()[number] in text for text in written for number in lines.special.numbers
    )
    assert len(model.generate("", tokens=60, lines=2, seed=1).split("\n")) == 2
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.inputs_.special == lines.special and again.evaluate(TEXTS) == scores
    assert again.generate(prompts, tokens=12, seed=2) == written


@pytest.mark.parametrize("rung", ["ngram", "lstm"])
def test_a_word_of_several_tokens_where_none_is_unknown(rung):
    lines = Lines(gpt_like())
    small = {"order": 3} if rung == "ngram" else {"hidden": 8, "steps": 2}
    model = trained(LanguageModel(rung, **small), TEXTS, known=lines)
    assert np.isfinite(model.advance(model.start(), "the")[0]) and np.isfinite(
        model.advance(model.start(), "\n")[0]
    )
    with pytest.raises(Mistake, match="'zebra' is 5 tokens, and none is unknown here"):
        model.advance(model.start(), "zebra")


def test_one_token_at_both_ends_opens_no_line_that_it_closes():
    """Counted, a line has an opening of its own; read by a network, it has none."""
    lines = Lines(gpt_like())
    corpus, end = Corpus.of(["the cat", "", "the"]), gpt_like().special.end
    (opened,) = lines.token_blocks(corpus)
    the, cat = gpt_like().encode(["the", " cat"])
    assert opened.tolist() == [len(lines), *the, *cat, end, len(lines), end, len(lines), *the, end]
    assert lines.read_all(corpus).tolist() == [end, *the, *cat, end, end, *the, end]
    numbering = Numbering(lines.special, len(lines))
    assert (
        numbering.numbers(np.array([len(lines), end])).tolist() == [1, 2]
        and numbering.size == len(lines) + 2
    )
