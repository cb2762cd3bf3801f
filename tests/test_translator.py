"""Translator: what it writes is the same alone and beside others, with and without its cache, before and after it was saved; what
it is told wrongly it says in a sentence."""

import random
import threading
from functools import cache

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU, CHRF

import wenmai
from wenmai import Mistake, Translator
from wenmai.catalog import rungs_for
from wenmai.data.text.tokenizers import OWN
from wenmai.errors import Notice
from wenmai.tasks import hypotheses, writing
from wenmai.tasks.beam import beam as searched

UNK, END = OWN.unknown, OWN.end
NAMES = [rung.name for rung in rungs_for("translate")]
every_rung = pytest.mark.parametrize("rung", NAMES)
LEARNS = {
    "steps": 200,
    "learning_rate": 0.01,
    "validation": 0.0,
    "dropout": 0.0,
    "hidden": 32,
    "embed": 32,
    "width": 32,
}


def some_pairs(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """One to six letters, and the same in capitals."""
    chance = random.Random(seed)
    sources = ["".join(chance.choices("abcdef", k=chance.randint(1, 6))) for _ in range(count)]
    return sources, [source.upper() for source in sources]


SOURCES, TARGETS = some_pairs(60)
OTHERS = some_pairs(32, seed=1)[0]


def small(rung: str, **options) -> Translator:
    known = Translator(rung).get_params()
    return Translator(
        rung, **{name: value for name, value in LEARNS.items() if name in known} | options
    )


@cache
def trained(rung: str) -> Translator:
    return small(rung).fit(SOURCES, TARGETS)


# What is written


@pytest.mark.slow
@every_rung
def test_alone_as_beside_others(rung):
    model = trained(rung)
    for beam in (1, 5):
        together = model.answers(OTHERS, beam=beam)
        for source, answer in zip(OTHERS, together):
            (alone,) = model.answers([source], beam=beam)
            assert alone["text"] == answer["text"] and alone["log_prob"] == pytest.approx(
                answer["log_prob"], abs=1e-4
            )
    assert (
        model.predict(OTHERS).tolist()
        == model.translate(OTHERS)
        == [answer["text"] for answer in together]
    )


@pytest.mark.slow
@every_rung
@pytest.mark.parametrize("beam", [1, 5])
def test_in_16_bits_nearly_the_same_is_written(rung, beam, monkeypatch):
    monkeypatch.setattr("wenmai.models.transformer.FEW", 0)  # which are written in 32
    model = trained(rung)
    exact, close = (
        model.answers(OTHERS, beam=beam),
        model.answers(OTHERS, beam=beam, precision="bf16"),
    )
    assert sum(one["text"] == other["text"] for one, other in zip(exact, close)) >= 0.9 * len(
        OTHERS
    )
    likely, about = ([answer["log_prob"] for answer in found] for found in (exact, close))
    assert likely != about and np.mean(about) == pytest.approx(np.mean(likely), rel=0.1, abs=0.01)
    assert model.translate(OTHERS, beam=beam, precision="bf16") == [
        answer["text"] for answer in close
    ]
    assert model.answers(OTHERS, beam=beam) == exact  # what follows is as exact as before


@pytest.mark.slow
@every_rung
def test_in_several_threads_as_in_one(rung, monkeypatch):
    """Rows are dealt to as many threads as torch has, this one among them, each of one core; and torch has as many afterwards."""
    model, before, seen = trained(rung), torch.get_num_threads(), []
    watched, own = hypotheses.by_machine_code, threading.current_thread()

    def asked(*given):
        here, short = threading.current_thread() is own, torch.is_autocast_enabled("cpu")
        seen.append((here, torch.get_num_threads(), torch.is_grad_enabled(), short))
        return watched(*given)

    monkeypatch.setattr(hypotheses, "by_machine_code", asked)
    try:
        for beam, precision in ((1, "float32"), (5, "float32"), (2, "bf16")):
            found = []
            for threads in (1, 3):
                torch.set_num_threads(threads)
                seen.clear()
                found.append(model.answers(OTHERS, beam=beam, precision=precision))
                assert torch.get_num_threads() == threads and len(seen) == threads
                here, *how = zip(*seen)
                assert here.count(True) == 1
                assert set(zip(*how)) == {
                    (1, True, precision == "bf16")
                }  # that no gradient is asked for comes later
            assert precision == "bf16" or [one["text"] for one in found[0]] == [
                one["text"] for one in found[1]
            ]
        monkeypatch.setattr(hypotheses, "by_machine_code", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.answers(OTHERS)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@every_rung
def test_a_beam_of_one_is_the_most_probable_token_at_every_step(rung):
    model = trained(rung)
    greedy, encoded = model.answers(OTHERS, beam=1), model.examples(OTHERS).inputs
    most = model.inputs_.most(encoded.lengths)
    step, begun = (
        writing.stepper(model.trained()),
        writing.begin(model.trained(), encoded, int(most.max())),
    )
    for answer, (found,) in zip(greedy, searched(step, *begun, most, 1, 1.0, 1, END)):
        assert writing.text_of(model.trained(), found.tokens) == answer["text"]
        assert found.log_prob == pytest.approx(answer["log_prob"], abs=1e-4)
    assert ["".join(model.stream(source)) for source in OTHERS[:6]] == [
        answer["text"] for answer in greedy[:6]
    ]


@every_rung
def test_step_by_step_as_the_whole_text_says(rung):
    """The state that a text is written with is what reading the text as a whole would give."""
    model = trained(rung)
    found = model.answers(OTHERS, beam=1)
    texts = [answer["text"] for answer in found]
    examples = model.examples(OTHERS, texts)
    outputs = model.outputs(examples)
    for row, answer in enumerate(found):
        said, tokens = outputs[row].copy(), examples.written[row].tolist()
        said[:, UNK] = said[0, END] = -np.inf  # neither is ever written
        assert said.argmax(1).tolist()[: len(tokens) - 1] == tokens[:-1]
        if (
            len(tokens) <= model.inputs_.most(np.array([len(OTHERS[row]) + 1]))[0]
        ):  # it ended, and was not cut
            assert said.argmax(1)[-1] == END
            assert model.log_prob([OTHERS[row]], [texts[row]])[0] == pytest.approx(
                answer["log_prob"], abs=1e-4
            )


@every_rung
def test_the_best_are_in_order(rung):
    model = trained(rung)
    for penalty in (0.0, 1.0):
        for source, answer in zip(
            OTHERS[:5], model.answers(OTHERS[:5], beam=4, penalty=penalty, best=3)
        ):
            scores = [one["score"] for one in answer["best"]]
            assert (
                scores == sorted(scores, reverse=True)
                and len({one["text"] for one in answer["best"]}) == 3
            )
            assert answer["text"] == answer["best"][0]["text"]
            for one in answer["best"]:
                length = len(model.inputs_.target.encode([one["text"]]).flat)
                assert one["score"] == pytest.approx(one["log_prob"] / length**penalty, abs=1e-5), (
                    source
                )
    assert (
        len(model.answers(["ab"], beam=1, best=3)[0]["best"]) == 3
    )  # more are asked for than the beam keeps: it is widened


@every_rung
def test_chance_follows_the_seed(rung):
    model = trained(rung)
    drawn = model.sample("abc", 8, temperature=3.0, seed=5)
    assert drawn == model.sample("abc", 8, temperature=3.0, seed=5) and len(set(drawn)) > 1
    assert (
        model.sample("abc", 1, temperature=3.0, seed=7) == drawn[2:3]
    )  # a row draws with a seed of its own
    assert "".join(model.stream("abc", temperature=3.0, seed=5)) == drawn[0]
    assert set(model.sample("abc", 4, temperature=0.0)) == {"".join(model.stream("abc"))}


@pytest.mark.parametrize("rung", ["attention", "transformer"])
def test_where_it_looked(rung):
    for answer, source in zip(trained(rung).answers(["abc", "f"], alignment=True), ("abc", "f")):
        weights = np.array(answer["attention"])
        assert (
            answer["source_tokens"] == [*source, "</s>"]
            and "".join(answer["target_tokens"]) == answer["text"] + "</s>"
        )
        assert weights.shape == (len(answer["target_tokens"]), len(source) + 1)
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-3)


def test_no_text_is_endless():
    model = small("attention", steps=1).fit(SOURCES, TARGETS)
    streamed = ["".join(model.stream("ab"))]
    for written in (
        model.translate(["ab"], beam=1),
        model.translate(["ab"]),
        model.sample("ab", 3),
        streamed,
    ):
        assert all(0 < len(text) <= model.inputs_.most(np.array([3]))[0] for text in written)


# Scores


def test_scores_are_of_what_it_writes():
    model, targets = trained("seq2seq"), [source.upper() for source in OTHERS]
    answers = model.translate(OTHERS)
    assert model.evaluate(OTHERS, targets) == {
        "bleu": BLEU(force=True).corpus_score(answers, [targets]).score,
        "chrf": CHRF().corpus_score(answers, [targets]).score,
        "exact_match": np.mean([answer == target for answer, target in zip(answers, targets)]),
    }
    assert (
        model.score(OTHERS, targets) == model.evaluate(OTHERS, targets)["exact_match"]
    )  # targets are single words
    greedy = model.evaluate(OTHERS, targets, beam=1)
    assert greedy == model.task_.scores(model.translate(OTHERS, beam=1), targets)


@every_rung
def test_it_learns_and_answers_so_after_it_was_saved(rung, tmp_path):
    model = trained(rung)
    assert model.evaluate(SOURCES, TARGETS)["exact_match"] > (0.3 if rung == "seq2seq" else 0.7)
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.answers(OTHERS, best=2) == model.answers(OTHERS, best=2)
    assert again.sample("abc", 3, seed=2) == model.sample("abc", 3, seed=2)
    np.testing.assert_array_equal(again.log_prob(OTHERS, OTHERS), model.log_prob(OTHERS, OTHERS))
    assert again.evaluate(SOURCES, TARGETS) == model.evaluate(SOURCES, TARGETS)


def test_sides_have_their_own_tokens_or_share_them():
    words = [
        f"{one} {two}"
        for one in ("red", "blue", "green")
        for two in ("dog", "cat", "bird", "house")
    ] * 3
    chinese = [text.replace("red", "红").replace("dog", "狗") for text in words]
    apart = small("attention", steps=2, tokenizer="words", target_tokenizer="characters").fit(
        words, chinese
    )
    assert not apart.inputs_.joint and apart.inputs_.source.tokenizer.kind == "words"
    assert apart.inputs_.target.tokenizer.kind == "characters"
    joint = small("attention", steps=2, tokenizer="bpe", joint=True).fit(
        words, [text.upper() for text in words]
    )
    assert joint.inputs_.joint and joint.model_.input.table is joint.model_.decoder.words.table
    with pytest.raises(
        Mistake,
        match="joint=True goes with one tokenizer for both sides; found words for the texts",
    ):
        small("attention", tokenizer="words", target_tokenizer="bpe", joint=True).fit(
            words, chinese
        )


# What is wrong is said


@pytest.mark.parametrize(
    "sources, targets, says",
    [
        (
            ["a", "b", ""],
            ["A", "B", "C"],
            "row 3: the source is empty; give it a text to read or drop the row.",
        ),
        (
            ["a", "b", "c"],
            ["A", " ", "C"],
            "row 2: the target is empty; give it a text to write or drop the row.",
        ),
        (["a", "b"], ["A", "B", "C"], "2 inputs and 3 targets"),
        (
            ["a", "b", 3],
            ["A", "B", "C"],
            "expected a text, found int '3'|expected a text, found int 3",
        ),
        (["a", "b", "c"], ["A", "A", "A"], "found one target only"),
        (
            np.zeros((3, 2)),
            ["A", "B", "C"],
            "found numbers; to translate, give a text for every text",
        ),
    ],
)
def test_rows_that_cannot_be_learned_from(sources, targets, says):
    with pytest.raises(Mistake, match=says):
        small("attention").fit(sources, targets)


def test_what_cannot_be_translated():
    model = trained("seq2seq")
    for ask, says in (
        (
            lambda: model.predict(["ab", " "]),
            "input 2: the text is empty; give every row a text to read or drop the row.",
        ),
        (lambda: model.predict(["ab", 7]), "input 2: expected a text, found int '7'."),
        (lambda: model.translate(["ab"], beam=0), "beam=0: expected 1 to 1000"),
        (lambda: model.answers(["ab"], beam=-3), "beam=-3: expected 1 to 1000"),
        (lambda: model.translate(["ab"], penalty=-1.0), "penalty=-1.0: expected 0"),
        (
            lambda: model.translate(["ab"], precision="int8"),
            "precision='int8': expected one of float32, bf16.",
        ),
        (lambda: model.sample("ab", temperature=-1.0), "temperature=-1.0"),
        (lambda: model.evaluate(["ab", "cd"], ["AB"]), "2 inputs and 1 targets"),
        (lambda: model.evaluate(["ab", "cd"], ["AB", ""]), "row 2: the target is empty"),
        (
            lambda: model.predict_proba(["ab"]),
            "a Translator writes texts, of which there is no table",
        ),
        (
            lambda: model.answers(["ab"], alignment=True),
            "seq2seq looks at nothing while it writes: it has no alignment",
        ),
        (
            lambda: Translator("attention").predict(["ab"]),
            "this Translator has not been trained; call fit first",
        ),
        (
            lambda: Translator("gru").fit(SOURCES, TARGETS),
            "the rung gru does not do translate; these do: seq2seq, attention",
        ),
    ):
        with pytest.raises(Mistake, match=says):
            ask()


def test_nothing_is_translated_to_nothing():
    model = trained("attention")
    assert model.translate([]) == [] and model.answers([]) == [] and len(model.predict([])) == 0


@every_rung
def test_a_text_that_is_too_long_is_cut_and_said_or_refused(rung):
    model = small(rung, steps=2, max_length=9).fit(SOURCES, TARGETS)
    long = "abcdef" * 3
    with pytest.warns(
        Notice, match="1 of the texts are longer than the 9 tokens that this model reads"
    ):
        cut, short = model.translate([long, "ab"])
    with pytest.raises(
        Mistake, match="input 1: it is longer than the 9 tokens that this model reads; shorten it"
    ):
        model.translate([long, "ab"], strict=True)
    assert short == model.translate(["ab"], strict=True)[0] and len(cut) <= 9
    told = small(rung, steps=2, max_length=4).fit(SOURCES, TARGETS).notes_
    assert any(
        "of the texts that are read are longer than max_length=4 tokens" in note for note in told
    )


@pytest.mark.filterwarnings("ignore::wenmai.errors.Notice")
def test_a_line_of_a_megabyte_ends():
    model = trained("transformer")
    for text in ("a" * 1_000_000, "ab " * 350_000, "文" * 350_000):
        (found,) = model.translate([text])
        assert len(found) <= model.inputs_.target.most


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["bpe", "wordpiece", "unigram", "words", "characters"])
def test_a_line_of_a_megabyte_is_learned_from(tokenizer):
    """One word of a million letters, of which subwords would be learned for hours."""
    for long in (
        "a" * 1_000_000,
        "".join(np.random.default_rng(0).choice(list("abcdefghijklmnop"), 100_000)),
    ):
        model = small("attention", steps=1, tokenizer=tokenizer, vocabulary=300, validation=0.0)
        model.fit([*SOURCES, long], [*TARGETS, "X"])
        assert any(
            "of the texts that are read are longer than" in note for note in model.notes_
        ) or tokenizer in (
            "words",
            "wordpiece",
        )


def test_almost_all_that_was_learned_can_be_written():
    """Also for a text that is far shorter than what is to be written for it."""
    sources = ["a", "b", *("c d e f g h i j k l m n o p q r s t u v w x y z " * 4,) * 98]
    model = small("attention", steps=1, tokenizer="words", validation=0.0).fit(
        sources, ["1 2 3 4 5 6 7 8 9 10 11 12 13 14"] * 99 + ["1"]
    )
    encoded = model.inputs_.encode(["a"])
    assert model.inputs_.most(encoded.lengths)[0] == 15 > 2 * 2 + 10
    again = type(model.inputs_).from_json(model.inputs_.to_json())
    assert again.most(encoded.lengths)[0] == 15


def test_what_is_not_read_is_said():
    model = small("attention", steps=2, max_length=9).fit(SOURCES, TARGETS)
    scores = model.evaluate(["abcdef" * 3, "ab"], ["AB", "AB"])
    assert (
        "1 of the texts that are read are longer than max_length=9 tokens: what goes beyond is not read"
        in scores.notes
    )
    with pytest.warns(Notice, match="1 of the texts are longer than max_length=9 tokens"):
        model.log_prob(["ab"], ["AB" * 9])


def test_a_text_is_no_list_of_texts():
    model = trained("attention")
    for ask in (model.translate, model.predict, model.answers):
        with pytest.raises(
            Mistake,
            match="found a single text where rows are expected; give a list, of one row too",
        ):
            ask("dog")
        with pytest.raises(Mistake, match="found nothing where rows are expected"):
            ask(None)


@pytest.mark.parametrize(
    "option, says",
    [
        ({"sampling": 1.5}, "sampling=1.5: expected at least 0 and below 1"),
        ({"smoothing": 1.0}, "smoothing=1.0: expected at"),
        ({"hidden": 0}, "hidden=0: expected at least 1"),
        ({"embed": 0}, "embed=0: expected at least 1"),
    ],
)
def test_options_that_make_no_sense(option, says):
    with pytest.raises(Mistake, match=says):
        Translator("attention", **option).fit(SOURCES, TARGETS)


def test_letters_that_were_never_seen():
    model = trained("attention")
    scores = model.evaluate(["ab", "cd"], ["ÄB", "文字"])
    assert scores["exact_match"] == 0.0 and np.isfinite(model.log_prob(["ab"], ["文字"])).all()
    assert any(
        "3" in note for note in scores.notes
    )  # tokens that it does not know, and so cannot write
    for text in ("文字 ☃", "a\x00b", "a\ud800", "\u202eab"):
        assert isinstance(model.translate([text])[0], str)
