"""What tasks share whose data are rows, an input and a target each. A task names what it takes of it: `predict = rows.predict`.

Outputs become answers in two steps: `task.decide(outputs, model)` (the best class, the best path, the number), then
`predictions`, `described` and `scores`, which are the task's own."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences, joined, runs
from wenmai.data.splits import split as split_rows
from wenmai.data.values import check_lengths, listed, pick
from wenmai.errors import Mistake
from wenmai.kernels import waiting
from wenmai.locale import Message
from wenmai.tasks.contract import (
    Answers,
    Parts,
    Scores,
    Trained,
    TrainingExamples,
    Untrained,
    row_name,
)
from wenmai.training import memory

FEWEST = 20  # rows of which some are held out
TABLE = 1 << 25  # bytes of outputs that are held at once
WATCHED = 20_000  # held-out rows, at the most, that training is judged by: more would take longer than training itself


# The data


def no_notes(task, targets, where) -> list[str]:
    """What all rows together say, before any are held out: nothing."""
    return []


def as_given(task, inputs, targets=None) -> tuple:
    """Inputs and targets as the rows that are learned from: as they are."""
    return inputs, targets


def inputs_apart(task, inputs, targets) -> tuple:
    """What no two parts share, the inputs; and what the first must have all kinds of, nothing."""
    return inputs, None


# Learning


def split(
    task, inputs, targets, valid: tuple | None, share: float, seed: int, tunes: bool = True
) -> Parts:
    inputs, targets = listed(inputs), listed(targets)
    check_lengths(inputs, targets)
    if valid is not None or not share or len(inputs) < FEWEST:
        return Parts(
            inputs, targets, valid, np.arange(len(inputs)), np.arange(len(valid[0]) if valid else 0)
        )
    kept, held = task.held_out(inputs, targets, share, seed)
    valid = pick(inputs, held), pick(targets, held)
    return Parts(pick(inputs, kept), pick(targets, kept), valid, kept, held)


def held_out(task, inputs, targets, share: float, seed: int) -> list[np.ndarray]:
    """Numbers of the rows to learn from and to judge by: a share in which no input of the rest stands."""
    keys, kinds = task.split_keys(inputs, targets)
    return split_rows(keys, [share], seed, kinds)


def learn_inputs(task, inputs, targets, options: dict, framed: bool = False):
    return task.reads(inputs, task.texts, framed, **options)


def training_examples(
    task, untrained: Untrained, inputs, targets, rows: np.ndarray, where: Callable
) -> TrainingExamples:
    """Where there is a target a step, a row that is too long is learned in windows."""
    examples = Examples(
        untrained.inputs.encode(inputs), task.encode(targets), longest=untrained.inputs.longest
    )
    notes = cut_notes(untrained, examples)
    if isinstance(examples.targets, Sequences):
        examples = examples.windows(examples.longest)
    place = places(rows, where)
    return TrainingExamples(examples, lambda row: place(examples.example_of(row)), notes)


def cut_notes(trained: Trained, examples: Examples) -> list[str]:
    """Of texts that are longer than what a network reads of them; with a target a step all is read, in windows."""
    if trained.inputs.kind != "tokens" or hasattr(trained.model, "learn") or trained.model.per_step:
        return []
    rows = examples.inputs
    return cut_note(rows.lengths if rows.uncut is None else rows.uncut, trained.inputs.longest)


def cut_note(lengths: np.ndarray, most: int) -> list[str]:
    """Of texts of these lengths, where some are longer than what is read."""
    over = int((lengths > most).sum())
    note = Message(
        "{over:,} of the {rows:,} texts are cut: a network reads their first {most:,} tokens, and the longest has "
        "{longest:,}; train with --set max_length={longest} to read more",
        over=over,
        rows=len(lengths),
        most=most,
        longest=int(lengths.max(initial=0)),
    )
    return [note] if over else []


def places(rows: np.ndarray, where: Callable[[int], str]) -> Callable[[int], str]:
    """Of a row that is learned from, where the user finds it."""
    return lambda row: where(rows[row]) if row < len(rows) else row_name(row)


def watched(task, parts: Parts, seed: int) -> tuple:
    """(inputs, targets, the names of their rows) of the valid part, or of some of it."""
    (inputs, targets), rows = parts.valid, parts.valid_rows
    if len(inputs) > WATCHED and not task.history:
        some = np.sort(np.random.default_rng(seed).permutation(len(inputs))[:WATCHED])
        inputs, targets, rows = pick(listed(inputs), some), pick(listed(targets), some), rows[some]
    return inputs, targets, lambda row: row_name(rows[row])


def judge(task, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
    examples = task.examples(untrained, *watched(task, parts, seed))
    return lambda trained: task.scores(decided(task, trained, examples), examples.targets)[
        task.metric
    ]


# Answering


def examples(task, trained: Trained, inputs, targets=None, where: Callable = row_name) -> Examples:
    inputs, targets = task.prepare(listed(inputs), None if targets is None else listed(targets))
    inputs = trained.inputs.coerce(inputs) if trained.inputs.kind == "frames" else inputs
    encoded = None if targets is None else task.encode(targets, where)
    examples = Examples(trained.inputs.encode(inputs), encoded, longest=trained.inputs.longest)
    if isinstance(examples.targets, Sequences):
        for row in np.flatnonzero(examples.inputs.lengths != examples.targets.lengths)[:1]:
            raise Mistake(
                "{where}: found {actual} {targets} for a text that is cut into {expected} tokens, expected one "
                "for each; give the tokens instead of the text.",
                where=where(row),
                targets=task.target,
                actual=examples.targets.lengths[row],
                expected=examples.inputs.lengths[row],
            )
    return examples


def outputs(task, trained: Trained, examples: Examples) -> np.ndarray | Sequences:
    """The model's outputs (N, C), row for row, in batches of like length; where there is one a step, Sequences of (T, C)."""
    model = trained.model
    if hasattr(model, "learn"):
        return model.outputs(examples.inputs)
    per_step = model.per_step
    tokens = 4096 if trained.device == "cpu" else 16_384  # on a CPU, what stays in its cache
    pieces = Examples(examples.inputs, longest=trained.inputs.longest)
    pieces = pieces.windows(pieces.longest) if per_step else pieces
    count = len(pieces.inputs.flat) if per_step else len(pieces)
    table = np.empty((count, model.head.width), task.output_type)

    def batch_outputs(rows: np.ndarray) -> np.ndarray:
        values, mask = model.masked(pieces.batch(rows).to(trained.device))
        return (values[mask] if per_step else values).cpu().numpy()

    with torch.inference_mode():
        batches = by_length(pieces.lengths, tokens)
        if trained.device == "cpu" and len(batches) > 1:
            waiting.watch()
        for rows, values in memory.in_pieces(batches, batch_outputs, trained.device):
            table[pieces.inputs.places(rows) if per_step else rows] = values
    return Sequences(table, examples.inputs.offsets) if per_step else table


def streamed(task, trained: Trained, examples: Examples) -> Iterator[tuple]:
    """(rows, their outputs, what the task makes of them): some megabytes of outputs at a time, however many rows."""
    size, asked = len(examples), task.head(trained.inputs)
    steps = int(examples.inputs.offsets[-1]) if asked.per_step else size
    if 4 * asked.columns * steps <= TABLE:
        values = task.outputs(trained, examples)
        yield np.arange(size), values, task.decide(values, trained.model)
        return
    lengths = examples.inputs.lengths if asked.per_step else np.ones(size, np.int64)
    for start, stop in runs(4 * asked.columns * lengths, TABLE):
        rows = np.arange(start, stop)
        values = task.outputs(trained, examples.take(rows))
        yield rows, values, task.decide(values, trained.model)


def decided(task, trained: Trained, examples: Examples):
    """What the task makes of the outputs, row for row."""
    return joined([decided for *_, decided in streamed(task, trained, examples)])


def predict(task, trained: Trained, inputs) -> tuple:
    return task.predictions(decided(task, trained, task.examples(trained, inputs))), []


def predict_proba(task, trained: Trained, inputs):
    if not trained.model.has_probabilities:
        raise Mistake(
            "the {rung} answers without probabilities here; to classify or tag, softmax has them.",
            rung=trained.rung,
        )
    return task.probabilities(task.outputs(trained, task.examples(trained, inputs)), trained.model)


def answers(task, trained: Trained, inputs, top_k: int = 0) -> Answers:
    """`top_k`: with so many of the most probable labels, where the task ranks them."""
    inputs = listed(inputs)
    examples, answers = task.examples(trained, inputs), []
    inputs = task.prepare(inputs)[0]
    for rows, values, decisions in streamed(task, trained, examples):
        some = task.described(pick(inputs, rows), trained.inputs, values, decisions, trained.model)
        ranked = task.ranked(values, trained.model, top_k) if top_k else ({} for _ in some)
        answers += [answer | more for answer, more in zip(some, ranked)]
    return Answers(answers, cut_notes(trained, examples))


def pairs(task, trained: Trained, inputs, targets, where: Callable = row_name) -> Examples:
    """Examples of inputs that come with their targets."""
    inputs, targets = listed(inputs), listed(targets)
    check_lengths(inputs, targets)
    return task.examples(trained, inputs, targets, where)


def evaluate(task, trained: Trained, inputs, targets, where: Callable = row_name) -> Scores:
    examples = pairs(task, trained, inputs, targets, where)
    return Scores(
        task.scores(decided(task, trained, examples), examples.targets),
        cut_notes(trained, examples),
    )


def score(task, trained: Trained, inputs, targets) -> float:
    return task.evaluate(trained, inputs, targets)[task.metric]


def trace_examples(
    task, trained: Trained, inputs, targets=None
) -> tuple[Examples, list | None, None]:
    examples, known = task.examples(trained, inputs, targets), trained.inputs
    if not isinstance(examples.inputs, Sequences) or examples.inputs.flat.ndim > 1:
        return examples, None, None
    return examples, named(examples.inputs, known), None


def named(rows: Sequences, known) -> list[list[str]]:
    """The tokens that a network reads of every row."""
    return [
        [known.tokenizer.tokens[number] for number in rows.tokens_read(row, known.longest)]
        for row in range(len(rows))
    ]


def name_alone(task) -> dict:
    return {"name": task.name}


def made_anew(cls, saved: dict):
    return cls()
