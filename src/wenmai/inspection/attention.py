"""Attention: where a network looks, layer by layer and head by head (Vaswani et al. 2017; Bahdanau et al. 2015).

    weights     a_ts = softmax_s(q_t · k_s / √D)         (layers, heads, queries, keys), each row adds up to 1
    mean        over heads, and over layers
    rollout     R_0 = I,  R_l = ½ (A_l + I) R_{l−1}      A_l: mean over the heads of layer l; the ½ I is what every layer adds to
                what came in (Abnar & Zuidema 2020)
    alignment   what each written word looked at in the text that was read: the last layer's mean over heads

Of a word in pieces the columns are added up and the rows averaged: so a row of words adds up to 1 as well."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from wenmai.inspection.reading import Reading
from wenmai.inspection.words import Word, averaged, summed
from wenmai.locale import Message, phrase
from wenmai.locale.messages import phrases
from wenmai.page.panels import Matrix, Panel

NAME = re.compile(r"(?P<side>.*?)(?P<layer>block\.\d+\.)?(?P<kind>attention|memory)")
PARTS = phrases(
    "part",
    encoder="the encoder",
    decoder="the decoder",
    likest="the words of the question as they are written",
    context="the states",
)
VIEWS = [phrase("view", "mean"), phrase("view", "rolled out over layers")]
NOT_WHY = Message(
    "Attention is where it looks, not why it answers: what a head does for the answer shows when it is switched "
    "off."
)


@dataclass
class Attention:
    """Of one part of a network that looks: (L, A, T, S), what asks and what is looked at."""

    name: str
    weights: np.ndarray
    rows: list[Word]
    columns: list[Word]
    across: bool  # from one text to another

    @property
    def joined(self) -> np.ndarray:
        """(L, A, words, words)"""
        return summed(averaged(self.weights, self.rows, -2), self.columns, -1)


def maps_of(reading: Reading) -> list[Attention]:
    """Every part that looks, its layers together."""
    groups: dict[tuple[str, str, bool], list[np.ndarray]] = {}
    for name, value in reading.notes.items():
        if match := NAME.fullmatch(name):
            weights = (
                value[reading.row if len(value) > reading.row else 0].float().cpu().numpy()
            )  # (A, T, S)
            groups.setdefault((match["side"], match["kind"], bool(match["layer"])), []).append(
                weights
            )
    return [
        of_part(reading, side + kind, np.stack(layers), kind == "memory" or not blocks)
        for (side, kind, blocks), layers in groups.items()
    ]


def of_part(reading: Reading, name: str, weights: np.ndarray, across: bool) -> Attention:
    """`across`: in a decoder, it looks at what was read; blocks look at their own text too."""
    steps, keys = weights.shape[-2:]
    written = reading.written
    if not name.startswith("decoder"):
        return Attention(name, weights, fit(reading.words, steps), fit(reading.words, keys), False)
    if across:
        return Attention(name, weights, fit(written, steps), fit(reading.words, keys), True)
    inputs = shifted(written, steps - sum(len(word.places) for word in written))
    return Attention(name, weights, fit(inputs, steps), fit(inputs, keys), False)


def shifted(words: list[Word], before: int) -> list[Word]:
    """What a decoder reads at each place: its opening, or `before` vectors more that stand there, then what it wrote last."""
    opening = [Word("<s>" if not before else str(at + 1), [at]) for at in range(before + 1)]
    last = max((place for word in words for place in word.places), default=0)
    moved = [
        Word(word.name, [place + before + 1 for place in word.places if place < last], word.span)
        for word in words
    ]
    return opening + [word for word in moved if word.places]


def fit(words: list[Word], steps: int) -> list[Word]:
    """Words for so many places, also where a part reads more or fewer than the input has."""
    kept = [word for word in words if max(word.places) < steps]
    known = {place for word in kept for place in word.places}
    return kept + [Word(str(place + 1), [place]) for place in range(steps) if place not in known]


def rollout(layers: np.ndarray) -> np.ndarray:
    """(L, T, S) of means over heads → (T, S)"""
    one = np.eye(layers.shape[-1])
    through = one
    for layer in layers:
        through = 0.5 * (layer + one) @ through
    return through


# Panels


def panels(reading: Reading) -> list[Panel]:
    made: list[Panel] = []
    for part in maps_of(reading):
        made += of_pictures(reading, part) if patches_of(reading, part) else of_texts(part)
    return made


def slug(name: str) -> str:
    return (
        "attention"
        if name == "attention"
        else name.replace(".attention", "").replace(".", "-") + "-attention"
    )


def choices(part: Attention) -> list[tuple[Message, list[str]]]:
    layers, heads = part.weights.shape[:2]
    return [
        (phrase("choice", "layer"), [str(layer + 1) for layer in range(layers)]),
        (phrase("choice", "head"), [str(head + 1) for head in range(heads)]),
    ]


def titled(part: Attention) -> Message:
    if part.across:
        return Message("Attention across: what is written looks at what was read")
    side = part.name.split(".")[0]
    return (
        Message("Attention inside {part}", part=PARTS[side])
        if side in PARTS
        else Message("Attention")
    )


def of_texts(part: Attention) -> list[Panel]:
    rows, columns = [word.name for word in part.rows], [word.name for word in part.columns]
    joined, name = part.joined, slug(part.name)
    caption = Message(
        "Every row is a word that looks, every column a word that is looked at; a row adds up to 1. Choose a layer "
        "and a head: some look at the word before, some at the same word, some at the end."
    )
    made: list[Panel] = [
        Matrix(
            name,
            titled(part),
            caption,
            joined,
            rows,
            columns,
            choices(part),
            lines=True,
            notes=[NOT_WHY],
            see=("switches",),
        )
    ]
    if part.across:
        made.append(
            Matrix(
                f"{name}-alignment",
                Message("Alignment"),
                Message(
                    "What was read stands across, what was written down: the bright square of a row is the word "
                    "that it was written from."
                ),
                joined[-1].mean(0),
                rows,
                columns,
                lines=True,
                notes=[NOT_WHY],
                see=("switches",),
            )
        )
    elif part.weights.shape[0] * part.weights.shape[1] > 1:
        means = part.weights.mean(1)  # (L, T, S)
        square = part.weights.shape[-2] == part.weights.shape[-1]
        several = np.stack([means.mean(0), rollout(means)] if square else [means.mean(0)])
        caption = Message(
            "The mean over all heads and layers; and rolled out: how much of each word there is in what stands at "
            "a place after the last layer, if every layer passes on half of what came in."
        )
        made.append(
            Matrix(
                f"{name}-mean",
                Message("Attention of all heads together"),
                caption,
                summed(averaged(several, part.rows, -2), part.columns, -1),
                rows,
                columns,
                [(phrase("choice", "view"), VIEWS[: len(several)])],
                lines=True,
                notes=[NOT_WHY],
                see=("switches",),
            )
        )
    return made


def patches_of(reading: Reading, part: Attention) -> tuple[int, int] | None:
    """How many patches a picture has, down and across, where it is read so."""
    size, shape = (
        getattr(reading.model.input, "patch", None),
        getattr(reading.source, "shape", None),
    )
    if not size or shape is None or len(shape) < 2:
        return None
    grid = -(-shape[0] // size), -(-shape[1] // size)
    return grid if grid[0] * grid[1] == part.weights.shape[-1] else None


def picture_of(reading: Reading) -> np.ndarray:
    """(height, width) from 0 to 1, edges filled up with dark as the network has them"""
    image = np.asarray(reading.value, np.float32) / np.float32(reading.source.brightest)
    image = image.mean(-1) if image.ndim == 3 else image
    size = reading.model.input.patch
    return np.pad(image, [(0, -length % size) for length in image.shape])


def of_pictures(reading: Reading, part: Attention) -> list[Panel]:
    grid = patches_of(reading, part)
    columns = [f"{row + 1},{column + 1}" for row in range(grid[0]) for column in range(grid[1])]
    rows = columns if part.weights.shape[-2] == len(columns) else [word.name for word in part.rows]
    weights = (
        part.weights
        if part.weights.shape[-2] == len(columns)
        else averaged(part.weights, part.rows, -2)
    )
    caption = Message(
        "The patches of the picture that are looked at, laid on it: every row is a patch, or a word, that looks."
    )
    return [
        Matrix(
            slug(part.name),
            Message("Attention over the picture"),
            caption,
            weights,
            rows,
            columns,
            choices(part),
            picture=picture_of(reading),
            patches=grid,
            notes=[NOT_WHY],
            see=("switches",),
        )
    ]
