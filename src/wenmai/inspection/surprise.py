"""Surprise: how probable each token was, after what stands before it.

    surprise   −log₂ p(w_t | w_1 … w_{t−1})        bits; 0 where it could be nothing else
    entropy    −Σ_w p(w) log₂ p(w)                 bits: how open it was what comes, before it came (Shannon 1948)

Of a word in several tokens both are added up: p of a word is the product of its pieces'. Of texts that are written for an input,
of each written token."""

from __future__ import annotations

from math import log

import numpy as np
import torch
from torch import Tensor

from wenmai.inspection.reading import Reading
from wenmai.inspection.words import Word, summed
from wenmai.locale import Message, phrase, phrases
from wenmai.page.panels import Curves, Panel, Tokens

SERIES = list(phrases("series", "surprise (bits)", "entropy (bits)").values())


def bits(log_probs: Tensor, tokens: Tensor) -> np.ndarray:
    """(T, V), (T,) → (2, T): surprise and entropy"""
    log_probs = log_probs.double()
    chosen = log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)
    entropy = -(log_probs.exp() * log_probs.clamp(min=-1e4)).sum(1)
    return torch.stack([-chosen, entropy]).cpu().numpy() / log(2)


def of_reading(reading: Reading) -> tuple[list[Word], np.ndarray] | None:
    """(words, (2, words)); None where nothing is written or gone on with."""
    if reading.network and reading.batch.target_mask is not None:
        mask = reading.batch.target_mask[0]
        return reading.written, summed(
            bits(reading.outputs[0][mask], reading.batch.target[0][mask]), reading.written
        )
    if not reading.running:
        return None
    if reading.network:
        words = [
            Word(word.name, [place - 1 for place in word.places]) for word in reading.words[1:]
        ]
        return words, summed(
            bits(reading.outputs[0, :-1], reading.batch.inputs[0, 1:]), words
        ) if words else np.zeros((2, 0))
    ids, model = reading.ids, reading.model
    rows = [model.begin(ids[:at])[0][0] for at in range(len(ids))]
    numbers = torch.from_numpy(np.asarray(ids, np.int64))
    return reading.words, summed(
        bits(torch.stack(rows), numbers), reading.words
    ) if rows else np.zeros((2, 0))


def panels(reading: Reading) -> list[Panel]:
    surprises = of_reading(reading)
    if surprises is None or not surprises[0]:
        return []
    words, values = surprises
    caption = Message(
        "The brighter, the less it was expected: {mean:.2f} bits a word here. A word that surprises where the "
        "entropy was low is one that the model was wrong about.",
        mean=float(values[0].mean()),
    )
    return [
        Tokens(
            "surprise",
            Message("How surprising each word was"),
            caption,
            [word.name for word in words],
            values,
            SERIES,
            scale="positive",
        )
    ]


def together(named: dict[str, Reading]) -> list[Panel]:
    """All that can say the same text, one curve each, where they cut it into the same words."""
    surprises = {name: of_reading(reading) for name, reading in named.items()}
    surprises = {name: pair for name, pair in surprises.items() if pair is not None and pair[0]}
    first = next(iter(surprises.values()), None)
    alike = {
        name: values
        for name, (words, values) in surprises.items()
        if [w.name for w in words] == [w.name for w in first[0]]
    }
    if len(alike) < 2:
        return []
    return [
        Curves(
            "surprise-together",
            Message("How surprising each word was, side by side"),
            Message(
                "−log₂ p of the same words: where one curve is lower, that model knew better what comes."
            ),
            [word.name for word in first[0]],
            np.stack([values[0] for values in alike.values()]),
            list(alike),
            phrase("axis", "words"),
            SERIES[0],
        )
    ]
