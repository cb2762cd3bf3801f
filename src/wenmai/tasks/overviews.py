"""What `wenmai data` tells of a data set, as JSON has it: rows and parts, what is read, how long and in which languages it is,
what the answers are, and the first rows. A function a kind of task; the command line shows whatever stands in it."""

from collections import Counter
from itertools import chain, islice
from math import fsum

import numpy as np

from wenmai.data.dataset import Dataset
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.sounds import Clips
from wenmai.data.text import schemes
from wenmai.data.text.languages import languages_in
from wenmai.tasks.columns import shown

FIRST = 3  # rows that are shown
SAMPLE = 5000  # lines of a running text that are measured


def describe_labels(data: Dataset) -> dict:
    return describe_rows(data, {"classes": counts_of(data.train.targets)})


def describe_tags(data: Dataset) -> dict:
    """Beside the tags, the spans that they mark, if they do."""
    tags, spans = counts_of(chain.from_iterable(data.train.targets)), {}
    if schemes.marks(set(tags)) == set(tags):
        marked = schemes.read(data.train.targets)
        spans = {"spans": counts_of(marked.kinds[kind] for kind in marked.kind.tolist())}
    return describe_rows(data, {"tags": tags} | spans)


def describe_numbers(data: Dataset) -> dict:
    """The least, mean and most of every column of targets."""
    targets = data.train.targets
    if isinstance(targets, Sequences):
        flat = targets.flat
    elif isinstance(targets, np.ndarray):
        flat = targets
    else:
        flat = np.concatenate([np.atleast_1d(np.asarray(value, np.float64)) for value in targets])
    flat = flat[:, None] if flat.ndim == 1 else flat.reshape(len(flat), -1)  # (ΣT, K)
    known = [
        {
            "least": float(column.min()),
            "mean": fsum(column) / len(column),
            "most": float(column.max()),
        }
        for column in flat.T
    ]
    return describe_rows(data, {"targets": known})


def describe_rows(data: Dataset, answers: dict) -> dict:
    """Rows with an answer each; `answers`: what is known of these."""
    inputs, targets = data.train.pair
    kind, shape, unit, lengths = kind_of(inputs)
    first = [
        {"input": shown(inputs[row]), "target": plain(targets[row])}
        for row in range(min(FIRST, len(inputs)))
    ]
    lengths = {unit: lengths} if unit else {}
    return described(
        data, f"{kind} {shape}", **lengths, languages=languages_of(inputs), **answers, first=first
    )


def describe_text(data: Dataset) -> dict:
    """Running text: its lines, words between spaces and bytes, and how it begins."""
    text = data.train.inputs
    words, sample = sum(len(block.split()) for block in text.blocks()), list(islice(text, SAMPLE))
    first = [{"input": shown(line)} for line in sample[:FIRST]]
    more = {
        "words": words,
        "bytes": text.size,
        "characters": lengths_of(sample),
        "languages": languages_of(sample),
    }
    return described(data, "running text", **more, first=first) | {"columns": ["text"]}


def describe_compositions(data: Dataset) -> dict:
    """What is read, how often each label, and of the texts that are written how long they are and in which languages."""
    inputs, texts = data.train.pair
    kind, shape, _, _ = kind_of(inputs)
    kind = "labels" if kind == "texts" else kind
    labels = {"labels": counts_of(inputs)} if kind == "labels" else {}
    first = [
        {"input": shown(inputs[row]), "target": texts[row]} for row in range(min(FIRST, len(texts)))
    ]
    more = {
        "texts": len(set(texts)),
        "characters": lengths_of(texts),
        "languages": languages_of(texts),
    }
    return described(data, f"{kind} {shape}", **labels, **more, first=first)


def describe_pairs(data: Dataset) -> dict:
    """Of sources and of targets how many there are, how long, and in which languages; and the first pairs."""
    texts_of = {"source": data.train.inputs, "target": data.train.targets}
    sides = {
        name: {
            "texts": len(set(texts)),
            "characters": lengths_of(texts),
            "languages": languages_of(texts),
        }
        for name, texts in texts_of.items()
    }
    first = [
        {name: shown(texts[row]) for name, texts in texts_of.items()}
        for row in range(min(FIRST, len(data.train)))
    ]
    return described(data, "texts", sides=sides, first=first)


def describe_questions(data: Dataset) -> dict:
    """Of contexts and of questions how many there are, how long, and in which languages; of choices how many a question has."""
    rows, targets = data.train.pair
    texts_of = {"context": [row[0] for row in rows], "question": [row[1] for row in rows]}
    sides = {
        name: {
            "texts": len(set(texts)),
            "characters": lengths_of(texts),
            "languages": languages_of(texts),
        }
        for name, texts in texts_of.items()
    }
    more = {"choices": counts_of(str(len(row[2])) for row in rows)} if len(rows[0]) > 2 else {}
    first = [
        {"question": shown(rows[row][1]), "answer": shown(answer_in_words(targets[row]))}
        for row in range(min(FIRST, len(rows)))
    ]
    return described(data, "texts", sides=sides, **more, first=first)


def answer_in_words(target) -> str:
    return (
        " | ".join(dict.fromkeys(target.texts)) or "–" if hasattr(target, "texts") else str(target)
    )


def described(data: Dataset, inputs: str, first: list[dict], **more) -> dict:
    """What is known of any data set, and `more` of this one."""
    parts = {
        name: len(part)
        for name in ("train", "valid", "test")
        if (part := getattr(data, name)) is not None
    }
    return {
        "source": data.train.source,
        "task": data.task.name,
        "columns": list(data.columns),
        "rows": len(data.train),
        "parts": parts,
        "inputs": inputs.strip(),
        **more,
        "notes": data.notes,
        "first": first,
    }


def describe_sounds(data: Dataset) -> dict:
    """How long the sounds are, and of what is said in them how much is different, how long it is and in which languages."""
    clips, texts = data.train.pair
    first = [
        {"input": shown(clips[row]), "target": texts[row]} for row in range(min(FIRST, len(texts)))
    ]
    more = {
        "texts": len(set(texts)),
        "characters": lengths_of(texts),
        "languages": languages_of(texts),
    }
    return described(data, "sounds", milliseconds=kind_of(clips)[3], **more, first=first)


def kind_of(inputs) -> tuple[str, str, str, dict]:
    """In words: what they are, the shape of one, what its length is counted in, and how long they are."""
    if isinstance(inputs, np.ndarray):
        return (
            "images" if inputs.ndim > 2 else "numbers",
            " × ".join(map(str, inputs.shape[1:])),
            "",
            {},
        )
    one = inputs[0]
    if isinstance(inputs, Clips):
        milliseconds = (1000 * inputs.seconds).astype(np.int64)
        ends = {
            "shortest": milliseconds.min(),
            "median": np.median(milliseconds),
            "longest": milliseconds.max(),
        }
        return "sounds", "", "milliseconds", {name: int(value) for name, value in ends.items()}
    if isinstance(one, np.ndarray):
        return (
            "sequences of numbers",
            " × ".join(map(str, one.shape[1:] or (1,))),
            "steps",
            lengths_of(inputs),
        )
    if isinstance(one, list):
        return "tokens", "", "tokens", lengths_of(inputs)
    if isinstance(one, tuple):
        return "pairs of texts", "", "characters", lengths_of([a + b for a, b in inputs])
    return "texts", "", "characters", lengths_of(inputs)


def lengths_of(values) -> dict[str, int]:
    lengths = np.fromiter((len(value) for value in values), np.int64, len(values))
    return {
        "shortest": int(lengths.min()),
        "median": int(np.median(lengths)),
        "longest": int(lengths.max()),
    }


def languages_of(inputs) -> dict[str, float]:
    if isinstance(inputs, (np.ndarray, Sequences, Clips)) or isinstance(inputs[0], np.ndarray):
        return {}
    texts = inputs if isinstance(inputs[0], str) else [" ".join(value) for value in inputs]
    return {code: round(share, 4) for code, share in languages_in(texts).items()}


def counts_of(values) -> dict[str, int]:
    return dict(Counter(values).most_common())


def plain(value):
    """As JSON writes it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
