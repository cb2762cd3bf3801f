"""Filters: which of a convolution's fired, and on which words (Kim 2014; models/cnn.py).

Where the head pools by the strongest place and answers from that alone, z_c = b_c + Σ_f W_cf · max_t h_tf: a filter's share of
the answer is exact. Of a filter in a lower layer there is what it said, and where."""

from __future__ import annotations

import numpy as np
import torch

from wenmai.inspection.reading import Reading
from wenmai.layers.heads import ClassHead
from wenmai.locale import Message, phrase
from wenmai.models.cnn import TextFilters
from wenmai.page.panels import Bars, Matrix, Panel

SHOWN = 24


def shares(reading: Reading) -> np.ndarray | None:
    """(filters,) what each adds to the score of the answered class; None where a head answers otherwise"""
    head, body = reading.model.head, reading.model.body
    if (
        not isinstance(head, ClassHead)
        or head.pooling != "max"
        or head.dense.layer is not None
        or len(body.layers) != 1
    ):
        return None
    strongest = reading.notes["cnn.0"][0][reading.batch.mask[0]].amax(0)  # (F,)
    return (strongest * head.output.weight[int(reading.chosen[0])]).detach().double().cpu().numpy()


def panels(reading: Reading) -> list[Panel]:
    body = getattr(reading.model, "body", None)
    if "cnn.map" in reading.notes:
        return [of_picture(reading)]
    if not isinstance(body, TextFilters):
        return []
    h = reading.notes["cnn.0"][reading.row]
    h = h[reading.batch.mask[reading.row]] if reading.batch.mask.shape[1] == len(h) else h
    with torch.no_grad():
        fired = body.explain(h)
    share = shares(reading)
    value = np.array([strength for *_, strength in fired]) if share is None else share
    order = np.argsort(-np.abs(value), kind="stable")[:SHOWN]
    names = {place: word.name for word in reading.words for place in word.places}
    joined = "" if reading.source.unit != "words" else " "
    words = [
        joined.join(dict.fromkeys(names.get(at, str(at + 1)) for at in range(first, end)))
        for first, end, *_ in fired
    ]
    caption = (
        Message(
            "Every filter slides over the text; here are the words on which it fired most. The bar is what it adds to "
            "the score of the answer, {answer}.",
            answer=reading.named(reading.outputs),
        )
        if share is not None
        else (
            Message(
                "Every filter slides over the text; here are the words on which it fired most, and how strongly."
            )
        )
    )
    return [
        Bars(
            "filters",
            Message("Filters that fired"),
            caption,
            [words[at] for at in order],
            value[order],
            [f"cnn.0.units:{at} ({fired[at][2]}), {fired[at][3]:.3g}" for at in order],
            phrase("axis", "share of the score")
            if share is not None
            else phrase("axis", "how strongly it fired"),
            see=("switches",),
        )
    ]


def of_picture(reading: Reading) -> Panel:
    maps = reading.notes["cnn.map"][0].float().cpu().numpy()  # (C, rows, columns)
    strongest = np.sort(np.argsort(-maps.max((1, 2)), kind="stable")[:16])
    return Matrix(
        "filters",
        Message("Filters over the picture"),
        Message(
            "What the last filters said of each part of the picture, the {count} that fired most.",
            count=len(strongest),
        ),
        maps[strongest],
        [str(at + 1) for at in range(maps.shape[1])],
        [str(at + 1) for at in range(maps.shape[2])],
        [(phrase("choice", "filter"), [str(at) for at in strongest])],
        scale="positive",
        see=("switches",),
    )
