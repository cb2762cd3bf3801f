"""attention with copy: names that were never seen are written right, however they are decoded; a step at a time is the text at
once, alone or beside others."""

import random
from itertools import product

import numpy as np
import pytest
import torch
from test_translators import END, SMALL, UNK, alone, batch, built, steps_say

import wenmai
from wenmai import Translator
from wenmai.data.examples.batches import Batch
from wenmai.data.text.tokenizers import OWN
from wenmai.errors import Mistake
from wenmai.layers.trace import Trace
from wenmai.models.attention_decoder import attention_translator
from wenmai.tasks import writing
from wenmai.tasks.beam import beam
from wenmai.training.progress import Snapshot

CHOICES = product(("general", "additive"), ("after", "before"), (True, False), (1, 2))
WAYS = [
    {**SMALL, "copy": True, "score": score, "query": query, "feeding": feeding, "layers": layers}
    for score, query, feeding, layers in CHOICES
]


def copying() -> Batch:
    """As `batch`, of a vocabulary of 13: the first source has two words of its own and the first target copies one, the third
    source has one."""
    whole = batch()
    whole.copies = torch.tensor([[13, 4, 14, 13, END], [5, 5, END, 0, 0], [13, 0, 0, 0, 0]])
    whole.target[0, 1] = 14
    return whole


def one_of(whole: Batch, row: int) -> Batch:
    one = alone(whole, row)
    one.copies = whole.copies[row : row + 1, : one.inputs.shape[1]]
    return one


@pytest.mark.parametrize(
    "options",
    WAYS,
    ids=lambda way: "-".join(str(way[name]) for name in ("score", "query", "feeding", "layers")),
)
@torch.no_grad()
def test_alone_beside_others_step_by_step_and_traced(options):
    model, whole = built(attention_translator, options), copying()
    found, trace = model(whole), Trace()  # (3, 4, 15)
    assert found.shape == (3, 4, 15) and trace.notes == {}
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(3, 4))
    assert (found[1, :, 13:] == float("-inf")).all() and (
        found[2, :, 14] == float("-inf")
    ).all()  # which are not theirs
    torch.testing.assert_close(model(whole, trace), found, rtol=1e-4, atol=1e-5)
    assert trace["decoder.attention"].shape == (3, 1, 4, 5)
    for row in range(3):
        one = model(one_of(whole, row))[0]
        torch.testing.assert_close(
            one, found[row, : len(one), : one.shape[1]], rtol=1e-4, atol=1e-5
        )
    steps_say(model, whole, found)


def test_a_copied_word_is_read_on_as_unknown():
    model, whole = built(attention_translator, {**SMALL, "copy": True}), copying()
    before = model(whole)
    whole.target[0, 1] = UNK
    torch.testing.assert_close(model(whole), before)


@pytest.mark.parametrize("options", [*WAYS[::3], {**SMALL, "copy": True, "sampling": 0.5}], ids=str)
def test_everything_learns(options):
    model, whole = built(attention_translator, options), copying()
    each = model(whole).gather(2, whole.target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    _, _, total, count = model.losses(whole)[0][0]
    torch.testing.assert_close(total, -each[whole.target_mask].sum())
    assert int(count) == 9
    (model.train().losses(whole)[0][0].total / count).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name


def test_without_copy_there_is_nothing_of_it():
    assert not any(
        "gate" in name for name, _ in built(attention_translator, SMALL).named_parameters()
    )


# Names, which no vocabulary holds

DRAW = random.Random(0)
FORMS = [
    ("call {0}", "{0} calls"),
    ("please write to {0} now", "{0} writes now"),
    ("ask {0} and {1}", "{1} and {0} ask"),
    ("tell {0} about {1} and {0}", "{0} tells {1}"),
]


def name() -> str:
    return "".join(DRAW.choice("bdfgklmnprstvz") + DRAW.choice("aeiou") for _ in range(3)).title()


def sentences(names: list[str], count: int) -> tuple[list[str], list[str]]:
    pairs = [(form, DRAW.sample(names, 2)) for form in DRAW.choices(FORMS, k=count)]
    return [form[0].format(*two) for form, two in pairs], [
        form[1].format(*two) for form, two in pairs
    ]


SEEN = [name() for _ in range(200)]
NEW = [new for new in (name() for _ in range(100)) if new not in SEEN]
SOURCES, TARGETS = sentences(NEW, 40)
OPTIONS = {
    "copy": True,
    "tokenizer": "words",
    "vocabulary": 30,
    "hidden": 32,
    "embed": 16,
    "device": "cpu",
    "batch_tokens": 300,
    "learning_rate": 1e-2,
    "validation": 0,
}


@pytest.fixture(scope="module")
def learned() -> Translator:
    return Translator("attention", **OPTIONS, epochs=20).fit(*sentences(SEEN, 400))


@pytest.mark.slow
def test_names_that_were_never_seen_are_written_right(learned):
    assert not set(NEW) & set(learned.inputs_.target.numbers)
    right = [one == other for one, other in zip(learned.predict(SOURCES), TARGETS)]
    assert sum(right) >= 0.9 * len(right)
    assert learned.evaluate(SOURCES, TARGETS)["exact_match"] == sum(right) / len(right)


@pytest.mark.slow
def test_every_way_of_decoding_writes_them(learned):
    one = [row["text"] for row in learned.answers(SOURCES, beam=1)]
    encoded, trained = learned.examples(SOURCES).inputs, learned.trained()
    most = learned.inputs_.most(encoded.lengths)
    begun = writing.begin(trained, encoded, int(most.max()))
    found = beam(writing.stepper(trained), *begun, most, 1, 1.0, 1, OWN.end)
    assert one == [
        writing.text_of(trained, best.tokens, words) for (best,), words in zip(found, encoded.words)
    ]
    assert one == ["".join(learned.stream(source)) for source in SOURCES]
    assert one == [learned.sample(source, 2, top_k=1)[1] for source in SOURCES]
    together, log_probs = learned.translate(SOURCES), learned.log_prob(SOURCES, TARGETS)
    assert together == [learned.translate([source])[0] for source in SOURCES]
    np.testing.assert_allclose(
        [learned.log_prob([a], [b])[0] for a, b in zip(SOURCES, TARGETS)],
        log_probs,
        rtol=1e-4,
        atol=1e-4,
    )
    for row, answer in enumerate(learned.answers(SOURCES, best=3, alignment=True)):
        assert answer["text"] == " ".join(answer["target_tokens"][:-1]) and len(answer["best"]) == 3
        assert answer["source_tokens"] == [*SOURCES[row].split(), "</s>"]
        if answer["text"] == TARGETS[row]:
            assert answer["log_prob"] == pytest.approx(log_probs[row], abs=1e-4)
        where = np.array(answer["attention"])[
            [token in NEW for token in answer["target_tokens"]]
        ].argmax(1)
        assert [answer["source_tokens"][at] for at in where] == [
            token for token in answer["target_tokens"] if token in NEW
        ]


@pytest.mark.slow
def test_the_outputs_are_as_wide_as_the_most_words(learned):
    examples = learned.examples(SOURCES[:8], TARGETS[:8])
    found = learned.outputs(examples)
    extra = max(map(len, examples.inputs.words))
    assert extra > 1 and found.flat.shape == (
        len(examples.written.flat),
        learned.inputs_.target.vocabulary + extra,
    )
    np.testing.assert_allclose(np.exp(found.flat).sum(1), 1, rtol=1e-5)


def test_a_saved_model_copies_as_it_did(learned, tmp_path):
    again = wenmai.load(learned.save(tmp_path / "run"), device="cpu")
    assert again.answers(SOURCES[:8], best=2) == learned.answers(SOURCES[:8], best=2)


def test_a_stopped_training_ends_as_one_that_was_not():
    data, more = sentences(SEEN, 60), OPTIONS | {"steps": 6, "validation": 0.2, "evaluations": 6}
    whole = Translator("attention", **more).fit(*data)
    first, again = Translator("attention", **more), Translator("attention", **more)
    for number, progress in enumerate(first.training(*data)):
        if number == 3:
            snapshot = progress.snapshot()
            break
    for _ in again.training(
        *data, resume=Snapshot(snapshot.arrays, snapshot.facts, first.inputs_.to_json())
    ):
        pass
    assert all(
        map(torch.equal, whole.model_.state_dict().values(), again.model_.state_dict().values())
    )
    assert [kept.score for kept in whole.progress_] == [kept.score for kept in again.progress_]


def test_characters_are_copied_too():
    sources, targets = (
        ["王明来了", "李华走了", "王华来了", "李明走了"] * 5,
        ["王明", "李华", "王华", "李明"] * 5,
    )
    model = Translator(
        "attention", copy=True, tokenizer="characters", hidden=8, embed=4, steps=2
    ).fit(sources, targets)
    assert np.isfinite(model.log_prob(["张明来了"], ["张"])).all()
    assert len(model.examples(["张三来了"]).inputs.words[0]) >= 2


def test_what_cannot_copy_says_so():
    with pytest.raises(Mistake, match="copy=True goes with tokens of one kind on both sides"):
        Translator("attention", copy=True, tokenizer="words", target_tokenizer="characters").fit(
            SOURCES, TARGETS
        )
    with pytest.raises(Mistake, match="copy"):
        Translator("seq2seq", copy=True).fit(SOURCES, TARGETS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_on_a_gpu(precision):
    options = OPTIONS | {"device": "cuda", "precision": precision, "epochs": 20}
    model = Translator("attention", **options).fit(*sentences(SEEN, 400))
    assert sum(map(str.__eq__, model.predict(SOURCES), TARGETS)) >= 0.9 * len(TARGETS)
