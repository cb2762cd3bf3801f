"""Neighbours: the training rows nearest to an input in the last layer, by the cosine of what the network makes of each.

A wrong answer often stands among rows that were labelled so: noise in the labels, a kind of text that is missing, or two kinds
that look alike to the network (as influence was first looked for: Koh & Liang 2017 go further)."""

from __future__ import annotations

from wenmai.data.values import pick
from wenmai.embeddings import Embedder, Nearest
from wenmai.errors import Mistake
from wenmai.inspection.reading import Reading
from wenmai.locale import Message, phrases
from wenmai.page.panels import Panel, Table
from wenmai.tasks.columns import shown
from wenmai.tasks.contract import row_name

COUNT, CHUNK, MOST = (
    8,
    4096,
    200_000,
)  # rows that are shown; that are read at a time; that are looked at
COLUMNS = list(phrases("column", "row", "cosine", "expected", "text").values())


def panels(reading: Reading, inputs, targets, where=row_name) -> list[Panel]:
    """`inputs` and `targets`: the rows that the run learned from; `where` names the place of each."""
    try:
        embedder = Embedder(reading.trained)
    except Mistake:
        return []
    prepared = (
        reading.task.prepare(inputs, targets)[0] if hasattr(reading.task, "prepare") else inputs
    )
    best, size = Nearest(embedder.vectors(reading.together())[0][0], COUNT), min(MOST, len(inputs))
    for start in range(0, size, CHUNK):
        rows = list(range(start, min(size, start + CHUNK)))
        best.see(rows, embedder.vectors(pick(prepared, rows))[0])
    rows = [
        (where(number), round(cosine, 4), target_of(targets, number), shown(inputs[number]))
        for cosine, _, number in best.best
    ]
    answer = reading.named(reading.outputs)
    alike = sum(row[2] == answer for row in rows)
    caption = Message(
        "The training rows that the network finds most like this one: {alike} of {rows} have the answer it gives, "
        "{answer}. Where others stand among them, look at their labels.",
        alike=alike,
        rows=len(rows),
        answer=answer,
    )
    notes = (
        [Message("the first {most:,} rows were looked at", most=MOST)] if size < len(inputs) else []
    )
    return [
        Table("neighbours", Message("Nearest training rows"), caption, COLUMNS, rows, notes=notes)
    ]


def target_of(targets, row: int) -> str:
    return shown(targets[row] if targets is not None else "–")
