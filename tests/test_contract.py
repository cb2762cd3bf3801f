"""The contract, over every row × task of the catalog and every kind of input. What a test needs to know of a rung it reads
from the tables and signatures: a new rung or option is tested as soon as it stands there, a new task once it has EXAMPLES."""

import json
import random
import typing
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import wenmai
from wenmai.catalog import RUNGS, TASKS
from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.sounds import Clips
from wenmai.errors import Mistake
from wenmai.estimators import ESTIMATORS
from wenmai.layers.recurrent import GROWS
from wenmai.layers.trace import Trace
from wenmai.options import NoEffect, Situation, accepted
from wenmai.tasks.contract import Untrained
from wenmai.training import loop
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot

pytestmark = pytest.mark.pairwise("contract")

LABELS = ["cold", "green", "loud"]
WORDS = {"cold": "ice snow frost", "green": "leaf grass moss", "loud": "drum horn bell"}
SMALL = {
    "hidden": 8,
    "embed": 8,
    "width": 8,
    "heads": 2,
    "filters": 4,
    "widths": "2,3",
    "stages": 1,
    "patch": 2,
    "steps": 5,
    "epochs": 2,
    "precision": "float32",  # "auto" follows the processor
}
LONG = 80  # tokens of the longest text that a short one shares its batch with


def a_text(label: str, generator) -> str:
    """Two to nine words, at least one of them its label's own."""
    own, other = WORDS[label].split(), ["the", "a", "very", "so", "it", "is"]
    words = list(generator.choice(own, generator.integers(1, 3))) + list(
        generator.choice(other, generator.integers(1, 7))
    )
    return " ".join(generator.permutation(words))


def a_picture(label: str, generator) -> np.ndarray:
    """6 × 8, bright in the label's third."""
    picture = generator.integers(0, 60, (6, 8))
    at = 2 * LABELS.index(label)
    picture[at : at + 2] += 150
    return picture.astype(np.uint8)


def a_source(label: str, generator) -> tuple[str, str]:
    """A word, and what it is, in capitals."""
    return str(generator.choice(WORDS[label].split())), label.upper()


def some_tokens(label: str, generator) -> tuple[list[str], list[str]]:
    """Words, and spans of the kind that they belong to."""
    tokens, tags = [], []
    for _ in range(generator.integers(1, 5)):
        kind = str(generator.choice([*LABELS, "O"]))
        words = WORDS[kind].split() if kind != "O" else ["the", "a", "very", "so", "it", "is"]
        size = int(generator.integers(1, 3))
        tokens += [str(word) for word in generator.choice(words, size)]
        tags += ["O"] * size if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (size - 1)
        tokens, tags = (
            [*tokens, "the"],
            [*tags, "O"],
        )  # no span touches the next: where it ends could not be seen
    return tokens, tags


def a_question(label: str, generator) -> tuple[tuple[str, str], str]:
    """What is of a kind, among others, and which it is."""
    others = [str(generator.choice(WORDS[kind].split())) for kind in LABELS]
    words = [f"{kind} {word}" for kind, word in zip(LABELS, others)]
    return (" so ".join(generator.permutation(words)), f"what is {label}?"), others[
        LABELS.index(label)
    ]


def a_choice(label: str, generator) -> tuple[tuple[str, str, list[str]], str]:
    """Which of some words is that of a thing."""
    thing, others = (
        str(generator.choice(WORDS[label].split())),
        ["the", "a", "very", "so"][: generator.integers(1, 4)],
    )
    return (
        f"it is {label}",
        "what is it?",
        [str(word) for word in generator.permutation([thing, *others])],
    ), thing


def some_frames(label: str, generator) -> np.ndarray:
    """Three to eight frames around the label's own corner."""
    return generator.normal(
        3.0 * np.eye(3)[LABELS.index(label)], 0.3, (generator.integers(3, 9), 3)
    )


def tagged_frames(label: str, generator) -> tuple[np.ndarray, list[str]]:
    kinds = generator.integers(0, 3, generator.integers(2, 8))
    return generator.normal(3.0 * np.eye(3)[kinds], 0.3), [LABELS[kind] for kind in kinds]


def steps_and_targets(label: str, generator) -> tuple[np.ndarray, np.ndarray]:
    x = generator.integers(0, 9, generator.integers(2, 8)).astype(float)
    return x, 2 * x + 1


def numbers(label: str, generator) -> np.ndarray:
    return generator.normal(3.0 * np.eye(3)[LABELS.index(label)], 0.3)


def number_of(label: str) -> float:
    return 0.2 + 0.3 * LABELS.index(label)


RATE, TONES = 8000, {"a": 300, "b": 700, "c": 1500, "d": 2500, "e": 3500}
SPOKEN = {"cold": "ab", "green": "cd", "loud": "eca"}


def a_sound(label: str, generator) -> tuple[np.ndarray, int]:
    """A tone for each letter of what is said, 60 to 100 ms long, and less loud between them."""
    parts = []
    for letter in SPOKEN[label]:
        size = int(generator.integers(480, 800))
        parts += [np.sin(2 * np.pi * TONES[letter] * np.arange(size) / RATE), np.zeros(240)]
    samples = np.concatenate(parts)
    return (0.3 * samples + 0.01 * generator.normal(size=len(samples))).astype(np.float32), RATE


# the kinds of input that each task takes: (label, generator) → (input, target)
EXAMPLES = {
    "classify": {
        "texts": lambda label, g: (a_text(label, g), label),
        "pairs": lambda label, g: ((a_text(label, g), a_text(label, g)), label),
        "numbers": lambda label, g: (numbers(label, g), label),
        "images": lambda label, g: (a_picture(label, g), label),
        "frames": lambda label, g: (some_frames(label, g), label),
        "sounds": lambda label, g: (a_sound(label, g), label),
    },
    "tag": {"tokens": some_tokens, "frames": tagged_frames},
    "regress": {
        "texts": lambda label, g: (a_text(label, g), number_of(label)),
        "numbers": lambda label, g: (numbers(label, g), number_of(label)),
        "frames": lambda label, g: (some_frames(label, g), number_of(label)),
        "steps": lambda label, g: tuple(x / 20 for x in steps_and_targets(label, g)),
    },
    "compose": {
        "labels": lambda label, g: (label, WORDS[label].split()[0]),
        "images": lambda label, g: (a_picture(label, g), WORDS[label].split()[0]),
    },
    "translate": {"sources": a_source},
    "answer": {"questions": a_question},
    "choose": {"choices": a_choice},
    "reply": {
        "stories": lambda label, g: ((str(g.choice(WORDS[label].split())), "of which kind?"), label)
    },
    "transcribe": {"sounds": lambda label, g: (a_sound(label, g), SPOKEN[label])},
}


def made(kind: str, rows: int = 24, seed: int = 0, task: str = "classify"):
    """`rows` inputs of this kind and their targets, which follow from them."""
    generator = np.random.default_rng(seed)
    pairs = [EXAMPLES[task][kind](LABELS[row % 3], generator) for row in range(rows)]
    inputs, targets = [list(values) for values in zip(*pairs)]
    if kind in ("frames", "steps"):
        inputs = Sequences.of(inputs, np.float64)
    elif kind in ("numbers", "images"):
        inputs = np.array(inputs)
    elif kind == "sounds":
        inputs = Clips.of(inputs)
    return inputs, Sequences.of(targets, np.float64) if kind == "steps" else np.array(
        targets
    ) if task == "regress" else targets


def long_and_short(kind: str, task: str = "classify"):
    """Rows that share a batch: an empty one, one token, some, and one much longer than all."""
    if kind == "texts":
        return ["", "ice", "the drum is loud", "unheard-of 文字 ☃", "so " * LONG]
    if kind == "sources":  # none is empty
        return ["m", "ice", "the drum is loud", "unheard-of 文字 ☃", "so " * LONG]
    if kind == "questions":
        return [
            ("ice", "m"),
            ("the drum is loud", "what is loud"),
            ("unheard-of 文字 ☃", "文?"),
            ("so it is " * 20, "what " * LONG),
            ("so " * LONG, "is it so?"),
        ]
    if kind == "choices":
        return [
            ("m", "is", ["a", "so"]),
            ("ice", "what is it?", ["cold", "green", "loud", "unheard-of 文字"]),
            ("so " * LONG, "is it?", ["yes", "very " * 9]),
        ]
    if kind == "stories":  # none is empty
        return [
            ("m", "is it"),
            ("ice", "what"),
            ("the drum is loud", "what?"),
            ("文字", "☃ a"),
            ("so " * LONG, "is it?"),
        ]
    if kind == "pairs":
        return [
            ("", ""),
            ("ice", ""),
            ("", "moss grass"),
            ("a drum", "the bell is it"),
            ("so " * LONG, "very " * LONG),
        ]
    if kind == "tokens":
        return [
            [],
            ["ice"],
            ["the", "Drum", "is", "loud"],
            ["unheard-of", "文字", "☃"],
            ["so", "moss"] * LONG,
        ]
    if kind == "sounds":  # ten milliseconds, some, and a long one
        some, long = (
            made(kind, 4, seed=9, task=task)[0],
            np.random.default_rng(1).normal(size=LONG * 160) * 0.1,
        )
        return Clips.of([(long[:80], RATE), *some, (long, RATE)])
    if kind == "labels":
        return [LABELS[row % 3] for row in range(6)]
    inputs = made(kind, 6 if task == "compose" else 5, seed=9, task=task)[0]
    if isinstance(inputs, Sequences):
        long = np.random.default_rng(1).random((LONG, *inputs.flat.shape[1:]))
        return Sequences.of([inputs[0][:0], *(inputs[row] for row in range(4)), long], np.float64)
    return inputs


def rows_in(outputs) -> list[np.ndarray]:
    return [outputs[row] for row in range(len(outputs))]


# that the options are tried on
KIND = {
    "classify": "texts",
    "tag": "tokens",
    "regress": "texts",
    "compose": "labels",
    "translate": "sources",
    "answer": "questions",
    "choose": "choices",
    "reply": "stories",
    "transcribe": "sounds",
}
WRITING = (
    "compose",
    "translate",
    "reply",
    "transcribe",
)  # tasks whose outputs are about texts that are written
# running text has no rows and no targets: tests/test_language_model.py and tests/test_pretraining.py hold its contract
ROWS = [
    (rung.name, task)
    for rung in RUNGS.values()
    for task in TASKS
    if rung.does(task) and not TASKS[task].running_text
]
READ = {
    "texts": "tokens",
    "sources": "tokens",
    "questions": "tokens",
    "choices": "tokens",
    "stories": "tokens",
    "pairs": "tokens",
    "tokens": "given",
    "numbers": "numbers",
    "images": "image",
    "frames": "frames",
    "steps": "frames",
    "sounds": "frames",
    "labels": "labels",
}
CASES = [
    (rung, task, kind)
    for rung, task in ROWS
    for kind in EXAMPLES[task]
    if READ[kind] in RUNGS[rung].reads
]
each_case = pytest.mark.parametrize(("rung", "task", "kind"), CASES, ids=str)
each_row = pytest.mark.parametrize(("rung", "task"), ROWS, ids=str)


def choices(rung: str, task: str) -> list[tuple[str, object]]:
    """Every value of every option that names its values, and two layers; taken from the builder's signature."""
    found = []
    for name, option in accepted(RUNGS[rung].builder(task)).items():
        kind = {"compose": "labels", "transcribe": "frames"}.get(task, "tokens")
        here = Situation(
            kind,
            task in WRITING,
            task in ("tag", "answer"),
            RUNGS[rung].train is TrainingOptions,
            True,
            1,
        )
        if name == "engine" or (
            option.only and not option.only.holds(here)
        ):  # of running text, or of others, only
            continue
        if typing.get_origin(option.annotation) is typing.Literal:
            found += [
                (name, value)
                for value in typing.get_args(option.annotation)
                if value != option.default
            ]
        elif option.annotation is bool:
            found.append((name, not option.default))
        elif name in ("layers", "window"):
            found += [(name, size) for size in (2, 3) if size != option.default]
    return found


VARIANTS = [(rung, task, name, value) for rung, task in ROWS for name, value in choices(rung, task)]
VARIANTS += [(rung, "tag", "crf", True) for rung, task in ROWS if task == "tag"]
VARIANTS += [("lstm", "tag", "characters", value) for value in ("none", "lstm")]
each_variant = pytest.mark.parametrize(("rung", "task", "option", "value"), VARIANTS, ids=str)


def small(rung: str, task: str, **more):
    """A small one: what of SMALL has no effect on what it is given to read is left out, when that is known."""
    known = ESTIMATORS[task](rung).get_params()
    estimator = ESTIMATORS[task](
        rung, **{name: value for name, value in SMALL.items() if name in known} | more
    )
    whole = estimator.training

    def training(*arguments, **how):
        while True:
            try:
                yield from whole(*arguments, **how)
                return
            except NoEffect as idle:
                name = idle.message.values["option"]
                if name in more:
                    raise
                del estimator.options[name]

    estimator.training = training
    return estimator


@cache
def fitted(rung: str, task: str, kind: str, **more):
    """Shared by tests that only look."""
    return small(rung, task, **more).fit(*made(kind, task=task))


def weights(estimator) -> dict[str, np.ndarray]:
    model = estimator.model_
    if isinstance(model, torch.nn.Module):
        return {name: value.numpy(force=True) for name, value in model.state_dict().items()}
    return model.state()


def same(first: dict, second: dict) -> bool:
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name]) for name in first
    )


# texts that share a batch while they are learned: a token, some, and one much longer than all
TO_WRITE = ["m", "ice", "leaf grass", "unheard-of 文字 ☃", "drum horn bell", "so " * LONG]


def writes(estimator) -> bool:
    """Whether its outputs are about texts that are written; those of CTC are about frames."""
    return estimator.task_name in WRITING and not hasattr(estimator.model_.head, "blank")


def encoded(estimator, inputs) -> Examples:
    """With texts to write for them, where these are what the outputs are about."""
    if writes(estimator):
        return estimator.examples(inputs, [TO_WRITE[row % 6] for row in range(len(inputs))])
    return estimator.examples(inputs)


def assert_close(first, second, share=1e-6):
    """To 1e-5; in rows whose outputs are large, as where states add up over many tokens, to a `share` of the largest."""
    first, second = (
        np.asarray(value.numpy(force=True) if torch.is_tensor(value) else value)
        for value in (first, second)
    )
    wide = max(
        value.shape[-1] if value.ndim else 0 for value in (first, second)
    )  # beside others, there is room for their words
    first, second = (
        np.pad(
            value,
            [(0, 0)] * (value.ndim - 1) + [(0, wide - value.shape[-1])],
            constant_values=-np.inf,
        )
        if value.ndim and value.shape[-1] < wide
        else value
        for value in (first, second)
    )
    never = np.isneginf(second)  # a token that nothing leads to
    assert np.array_equal(np.isneginf(first), never)
    first, second = np.where(never, 0, first), np.where(never, 0, second)
    assert first.shape == second.shape and np.isfinite(first).all() and np.isfinite(second).all()
    allowed = np.maximum(1e-5, share * np.abs(second).max(-1, keepdims=True, initial=0))
    assert (np.abs(first - second) <= allowed).all(), np.abs(first - second).max(-1)


def is_network(rung: str) -> bool:
    return ESTIMATORS[RUNGS[rung].tasks[0]](rung)._owners()["training"] is TrainingOptions


NETWORKS = [case for case in CASES if is_network(case[0])]
each_network = pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)


def test_the_tables_hold_together():
    assert set(TASKS) == set(ESTIMATORS) == {*EXAMPLES, "generate", "pretrain"}
    assert all(name == rung.name and rung.about and rung.about_zh for name, rung in RUNGS.items())
    for rung, task in ROWS:
        owners = ESTIMATORS[task](rung)._owners().values()
        names = [name for owner in owners for name in accepted(owner)]
        assert len(names) == len(set(names)), rung  # a name stands in one signature only


# Padding changes nothing


def assert_padding_changes_nothing(estimator, inputs):
    examples = encoded(estimator, inputs)
    assert len(by_length(examples.lengths, 4096)) == 1  # so all rows share one batch
    together = rows_in(estimator.outputs(examples))
    alone = [estimator.outputs(examples.take(np.array([row])))[0] for row in range(len(examples))]
    for row, (one, other) in enumerate(zip(together, alone)):
        own = other.shape[-1]
        assert (
            own == one.shape[-1] or np.isneginf(one[..., own:]).all()
        )  # words that others may copy from their sources
        # the longest has no padding, and rounding that adds up over its length, most where states grow
        most = 1e-3 if estimator.rung in GROWS else 1e-4
        assert_close(one[..., :own], other, most if row == len(alone) - 1 else 1e-6)


@each_case
def test_padding_changes_nothing(rung, task, kind):
    assert_padding_changes_nothing(fitted(rung, task, kind), long_and_short(kind, task))


@each_variant
def test_padding_changes_nothing_whatever_is_chosen(rung, task, option, value):
    assert_padding_changes_nothing(
        fitted(rung, task, KIND[task], **{option: value}), long_and_short(KIND[task])
    )


@each_case
def test_the_order_of_the_rows_changes_nothing(rung, task, kind):
    estimator, (inputs, _) = fitted(rung, task, kind), made(kind, 12, seed=5, task=task)
    order = np.random.default_rng(1).permutation(12)
    examples = encoded(estimator, inputs)
    before, after = (rows_in(estimator.outputs(e)) for e in (examples, examples.take(order)))
    for row, moved in zip(order, after):
        assert_close(before[row], moved)


# The same seed gives the same result


@each_case
def test_same_seed_same_weights_other_seed_others(rung, task, kind):
    first, again = fitted(rung, task, kind), small(rung, task, seed=0).fit(*made(kind, task=task))
    other = small(rung, task, seed=1).fit(*made(kind, task=task))
    assert same(weights(first), weights(again))
    assert not same(weights(first), weights(other))  # at least other rows are held out


@each_case
def test_a_second_fit_forgets_the_first(rung, task, kind):
    first, second = made(kind, 30, seed=1, task=task), made(kind, 21, seed=2, task=task)
    if task == "classify":
        second = second[0], [f"{label}!" for label in second[1]]
    twice, once = small(rung, task).fit(*first).fit(*second), small(rung, task).fit(*second)
    assert same(weights(twice), weights(once))
    assert (
        twice.task_.to_json() == once.task_.to_json()
        and twice.inputs_.to_json() == once.inputs_.to_json()
    )
    assert task != "classify" or twice.classes_.tolist() == sorted(f"{label}!" for label in LABELS)
    assert [p.step for p in twice.progress_] == [p.step for p in once.progress_]
    for one, other in zip(*(rows_in(e.outputs(encoded(e, first[0]))) for e in (twice, once))):
        np.testing.assert_array_equal(one, other)


@each_case
def test_the_random_numbers_of_others_are_left_alone(rung, task, kind, tmp_path):
    torch.manual_seed(5), np.random.seed(5), random.seed(5)
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    estimator = small(rung, task).fit(*made(kind, task=task))
    estimator.predict(made(kind, task=task)[0])
    wenmai.load(estimator.save(tmp_path / "run"))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert all(np.array_equal(now, then) for now, then in zip(np.random.get_state(), before[1]))
    assert random.getstate() == before[2]


def test_the_numbers_that_others_drew_change_nothing():
    inputs = made("texts")
    torch.manual_seed(11), np.random.seed(11)
    first = small("gru", "classify").fit(*inputs)
    torch.manual_seed(12), np.random.seed(12)
    assert same(weights(first), weights(small("gru", "classify").fit(*inputs)))


# A saved model answers as it did


def assert_kept(estimator, folder, inputs):
    loaded = wenmai.load(estimator.save(folder / "run"))
    for one, other in zip(
        *(rows_in(e.outputs(encoded(e, inputs))) for e in (loaded, estimator)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert loaded.answers(inputs) == estimator.answers(inputs)
    assert type(loaded) is type(estimator) and loaded.get_params() == estimator.get_params()
    assert loaded.task_.to_json() == estimator.task_.to_json()
    if hasattr(estimator.task_, "classes"):
        assert (
            loaded.classes_.tolist() == estimator.classes_.tolist()
            and loaded.classes_.dtype == estimator.classes_.dtype
        )
    assert [p.step for p in loaded.progress_] == [p.step for p in estimator.progress_]
    assert same(weights(loaded), weights(estimator))


@each_case
def test_a_saved_model_answers_as_it_did(rung, task, kind, tmp_path):
    assert_kept(fitted(rung, task, kind), tmp_path, long_and_short(kind, task))


@each_variant
def test_a_saved_model_answers_as_it_did_whatever_is_chosen(rung, task, option, value, tmp_path):
    estimator = fitted(rung, task, KIND[task], **{option: value})
    assert estimator.get_params()[option] == value
    assert_kept(estimator, tmp_path, long_and_short(KIND[task]))


# A training that was stopped ends as one that was not


def through_files(snapshot: Snapshot, inputs: dict, folder) -> Snapshot:
    save_file(
        {name: np.ascontiguousarray(array) for name, array in snapshot.arrays.items()},
        folder / "arrays",
    )
    facts, inputs = (json.loads(json.dumps(value)) for value in (snapshot.facts, inputs))
    return Snapshot(load_file(folder / "arrays"), facts, inputs)


def assert_resumes(rung, task, kind, folder, places=(0, 1, 3), **more):
    """Stopped at these signs of life, of which there is one after every step, and gone on with in another estimator."""
    data, whole = made(kind, task=task), fitted(rung, task, kind, **more)
    for place in places:
        first, snapshot = small(rung, task, **more), None
        for number, progress in enumerate(first.training(*data)):
            if progress.snapshot is None:
                return  # solved at a stroke
            if number >= place:
                snapshot = through_files(progress.snapshot(), first.inputs_.to_json(), folder)
                break
        again = small(rung, task, **more)
        for _ in again.training(*data, resume=snapshot):
            pass
        assert same(weights(again), weights(whole)), place
        assert [p.to_json() | {"seconds": 0} for p in again.progress_] == [
            p.to_json() | {"seconds": 0} for p in whole.progress_
        ]
        assert again.rates_tried_ == whole.rates_tried_


@each_case
def test_a_stopped_training_ends_as_one_that_was_not(rung, task, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    assert_resumes(rung, task, kind, tmp_path)


@pytest.mark.parametrize("rung", ["softmax", "perceptron", "lstm", "transformer"])
@pytest.mark.parametrize(
    "more",
    [
        {"search": True},
        {"dropout": 0.5, "steps": 30, "patience": 1},
        {"averaged": False},
        {"optimizer": "sgd"},
        {"optimizer": "adamw"},
    ],
    ids=str,
)
def test_a_stopped_training_ends_as_one_that_was_not_whatever_is_chosen(
    rung, more, tmp_path, monkeypatch
):
    known = ESTIMATORS["classify"](rung).get_params()
    if not more.keys() <= known.keys():
        pytest.skip("not an option of this rung")
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    assert_resumes(rung, "classify", "texts", tmp_path, places=(0, 2, 5, 9, 14), **more)


# The signature is the schema


@each_row
def test_an_unknown_option_is_refused_with_the_nearest_first(rung, task):
    inputs = made(KIND[task], task=task)
    for known in ESTIMATORS[task](rung).get_params().keys() - {
        "rung",
        "k",
        "L",
        "z0",
        "crf",
    }:  # of few letters, any is near
        with pytest.raises(
            Mistake, match=f'unknown option "{known}y"; did you mean {known}\\? Known: {known}, '
        ):
            ESTIMATORS[task](rung, **{f"{known}y": 1}).fit(*inputs)
    with pytest.raises(Mistake, match="unknown option"):
        ESTIMATORS[task](rung, **{"head": 1}).fit(*inputs)  # what the builder is given is no option


@each_row
def test_every_option_refuses_what_does_not_fit_it(rung, task):
    for owner in ESTIMATORS[task](rung)._owners().values():
        for name, option in accepted(owner).items():
            if name in ("search",) or option.annotation is str:
                continue
            with pytest.raises(Mistake, match=name):
                ESTIMATORS[task](rung, **{name: "no such thing"}).fit(*made(KIND[task], task=task))


STACKED = [
    (*case, option)
    for case in CASES
    for option in ({"layers": 2}, {"bidirectional": True}, {"layers": 2, "bidirectional": True})
    if option.keys() <= accepted(RUNGS[case[0]].builder(case[1])).keys()
    and (
        case[1] not in ("translate", "reply", "transcribe") or "layers" in option
    )  # to translate, one reads both ways unless told otherwise
]


@pytest.mark.parametrize(("rung", "task", "kind", "option"), STACKED, ids=str)
def test_stacked_and_both_ways(rung, task, kind, option):
    if rung == "cnn" and kind == "images":  # whose depth is `stages`
        with pytest.raises(NoEffect):
            fitted(rung, task, kind, **option)
        return
    plain, changed = (
        fitted(rung, task, kind, **({"layers": 1} if "layers" in option else {})),
        fitted(rung, task, kind, **option),
    )
    assert changed.model_.parameters_count() > plain.model_.parameters_count()
    assert_padding_changes_nothing(changed, long_and_short(kind, task))


# Training


@each_case
def test_training_yields_progress(rung, task, kind):
    estimator = small(rung, task, **({"solver": "gradient"} if rung == "linear" else {}))
    seen = list(estimator.training(*made(kind, task=task)))
    steps = [progress.step for progress in seen]
    assert steps == sorted(set(steps)) and len({progress.steps for progress in seen}) == 1
    assert seen[-1].step == seen[-1].steps > 0
    told = [progress for progress in seen if progress.step]
    assert told == estimator.progress_
    if rung == "ngram":  # counts once, and that is all
        return
    assert len(told) >= 2
    assert all(np.isfinite([p.loss, p.epoch, p.rate]).all() for p in told)
    if kind == "labels":  # each has one text, and a text that is learned is not held out
        assert all(p.score is None for p in told)
    else:
        low, high = {"compose": (1, np.inf), "translate": (0, 100)}.get(
            task, (-np.inf, 1)
        )  # perplexity, chrF
        assert all(low <= p.score <= high for p in told)
    assert np.all(np.diff([p.epoch for p in told]) > 0) and np.all(
        np.diff([p.seconds for p in told]) >= 0
    )


# What learning means: of its first loss, a network has lost at least this share.
LEARNED = 0.4


@each_case
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_it_learns(rung, task, kind, seed):
    """Against the same network untrained, by a margin that all three seeds clear; see LEARNED."""
    inputs, targets = made(kind, task=task)
    estimator = small(rung, task, validation=0.0, seed=seed)
    both = task in (
        "tag",
        "translate",
        "reply",
        "transcribe",
    )  # where a span ends shows in the next token
    rate = {"bert": 0.005, "seq2seq": 0.01}.get(rung, 0.02)  # a post-norm body wants less
    wanted = {"steps": 120 if rung == "seq2seq" else 60, "learning_rate": rate, "dropout": 0.0}
    wanted |= {"hidden": 16, "embed": 16, "width": 16, "bidirectional": both}
    if not is_network(rung):
        wanted = {"epochs": 20, "learning_rate": 0.5}
    known = estimator.get_params()
    estimator.options |= {name: value for name, value in wanted.items() if name in known}
    estimator.fit(inputs, targets)
    if not is_network(
        rung
    ):  # untrained, it answers the same to every input: 1/3 of the labels, R² 0
        if task == "regress":
            assert estimator.score(inputs, targets) > 0.9
        else:
            assert estimator.score(inputs, targets) == 1.0
            assert list(estimator.predict(inputs)) == targets
        return
    first = estimator.build_.model(estimator.task_, estimator.inputs_, seed)
    before = loss_of(estimator, first, inputs, targets)
    assert loss_of(estimator, estimator.model_, inputs, targets) < (1 - LEARNED) * before


def loss_of(estimator, model, inputs, targets) -> float:
    """Mean training loss of these rows with this model, dropout off."""
    untrained = Untrained(estimator.rung, estimator.inputs_, "cpu", True, lambda: model)
    inputs, targets = estimator.task_.prepare(inputs, targets)
    rows = np.arange(len(inputs))
    examples, *_ = estimator.task_.training_examples(untrained, inputs, targets, rows, str)
    with torch.no_grad():
        losses, _ = model.eval().losses(examples.batch(np.arange(len(examples))))
    return sum(float(loss.weight * loss.total / loss.count) for loss in losses)


EMPTY = {"texts": "", "pairs": ("", ""), "tokens": []}


@pytest.mark.parametrize(
    ("rung", "task", "kind"), [case for case in CASES if case[2] in EMPTY], ids=str
)
def test_an_empty_text_is_answered(rung, task, kind):
    empty = [EMPTY[kind]]
    estimator = fitted(rung, task, kind)
    (answer,) = estimator.predict(empty)
    assert (
        answer in LABELS
        if task == "classify"
        else answer == []
        if task == "tag"
        else np.isfinite(answer)
    )
    assert np.isfinite(estimator.outputs(encoded(estimator, empty))[0]).all()
    target = {"classify": ["cold"], "tag": [[]], "regress": [0.5]}[task]
    trained = small(rung, task).fit(
        *([*values, *more] for values, more in zip(made(kind, task=task), (empty, target)))
    )
    assert all(np.isfinite(value).all() for value in weights(trained).values())


@each_case
def test_nothing_is_answered_with_nothing(rung, task, kind):
    estimator = fitted(rung, task, kind)
    none = made(kind, task=task)[0][:0]
    assert len(estimator.predict(none)) == 0 and estimator.answers(none) == []
    assert len(estimator.outputs(encoded(estimator, none))) == 0


# Fast, and open


def answering(batch, mask):
    """Where there is an answer: at every real place, at the tokens that are written, or at the first piece of every word."""
    if batch.answers is not None:
        return batch.answers >= 0
    return mask if batch.target_mask is None else batch.target_mask


def fast_and_traced(estimator, inputs):
    examples = encoded(estimator, inputs)
    batch = examples.batch(np.arange(len(examples)))
    mask = answering(batch, batch.mask)
    if isinstance(examples.inputs, Sequences) or batch.target_mask is not None:
        assert not mask.all()  # there is padding
    trace = Trace()
    fast, traced = estimator.model_(batch), estimator.model_(batch, trace)
    if estimator.model_.per_step:  # what stands behind the end of a row is nobody's
        fast, traced = fast[mask], traced[mask]
    return batch, fast, traced, trace


def assert_trace_is_the_same(estimator, inputs):
    batch, fast, traced, trace = fast_and_traced(estimator, inputs)
    assert trace.notes
    assert_close(traced, fast)
    # the same gradients of every weight, and one that reaches each thing written down
    wish = torch.randn(fast.shape, generator=torch.Generator().manual_seed(0))
    parameters = list(estimator.model_.parameters())
    ways = [
        torch.autograd.grad((outputs.clamp(min=-1e4) * wish).sum(), parameters, allow_unused=True)
        for outputs in (fast, traced)
    ]
    for one, two in zip(*ways):
        assert (one is None) == (two is None)
        if one is not None:
            torch.testing.assert_close(two.to_dense(), one.to_dense(), atol=1e-4, rtol=1e-4)
    x, mask = estimator.model_.input(batch)
    x = x.detach().requires_grad_()
    trace = Trace()
    outputs = estimator.model_.outputs_from(x, mask, trace, batch=batch)
    mask = answering(batch, mask)
    outputs = outputs[mask] if estimator.model_.per_step else outputs
    assert_close(outputs, fast)
    # what a decoder reads of its own text has nothing to do with x
    noted = {} if writes(estimator) else trace.notes
    for name, value in [*noted.items(), ("outputs", outputs.clamp(min=-1e4))]:
        assert torch.isfinite(value).all(), name
        if name.endswith("attention") and value.shape[-1] == 1:
            continue  # who can look at one place only looks there, whatever x is
        wish = torch.randn(value.shape, generator=torch.Generator().manual_seed(0))
        (gradient,) = torch.autograd.grad((value * wish).sum(), x, retain_graph=True)
        assert gradient.abs().sum() > 0, name


@each_network
def test_a_trace_runs_the_same_model(rung, task, kind):
    assert_trace_is_the_same(fitted(rung, task, kind), long_and_short(kind, task))


@pytest.mark.parametrize(
    ("rung", "task", "option", "value"), [v for v in VARIANTS if is_network(v[0])], ids=str
)
def test_a_trace_runs_the_same_model_whatever_is_chosen(rung, task, option, value):
    assert_trace_is_the_same(
        fitted(rung, task, KIND[task], **{option: value}), long_and_short(KIND[task])
    )


def test_a_consumer_that_draws_between_two_steps_changes_nothing():
    texts, labels = ["good fine film here", "bad poor film here"] * 12, ["pos", "neg"] * 12
    weights = []
    for drawn in (0, 7):
        model = ESTIMATORS["classify"](
            "gru", embed=8, hidden=8, steps=12, evaluations=6, dropout=0.5
        )
        for _ in model.training(texts, labels):
            torch.rand(drawn)
        weights.append(model.model_.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
