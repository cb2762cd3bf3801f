"""Panels: what there is to show of a model, as data. Who makes one does not draw; who draws one does not know models.

An Inspection holds panels in the order in which a reader should see them. Numbers are exact here; a page may round them. Titles
and captions are Messages; names of tokens and labels are the user's own words, shown as text and never parsed.

    Matrix    a table of numbers, a square each; of several layers and heads where it has more than two dimensions
    Tokens    a text, each token with a number or several: who moved the answer, how surprising it was
    Curves    numbers over steps: a gate over a text, the gradient from the last step to the first
    Bars      named numbers, ranked: which removal changes the answer most, which n-grams speak for it
    Points    a map of two dimensions: words by their vectors
    Table     anything else that has rows and columns
    Formula   one number, step by step, with the values that went into it and the line of source that does it
    Diagram   boxes and arrows: the network itself
    Beside    panels side by side, or one after the other under a slider: two runs, one run over its checkpoints
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wenmai.locale import Message


@dataclass
class Panel:
    name: str  # of the file and the anchor, such as attention or gates-lstm-0
    title: Message
    caption: Message  # what a learner should see
    notes: Sequence[Message] = field(
        default=(), kw_only=True
    )  # what was cut, what this does not show
    see: Sequence[str] = field(
        default=(), kw_only=True
    )  # names of panels that a reader should look at next: links to them


@dataclass
class Matrix(Panel):
    values: (
        np.ndarray
    )  # (..., rows, columns); the dimensions before are chosen among, as `choices` says
    rows: Sequence[str]
    columns: Sequence[str]
    choices: Sequence[
        tuple[Message, Sequence[str]]
    ] = ()  # (what it is, its names), one for each dimension before the last two
    scale: str = "share"  # "share": 0 to 1; "signed": around 0, the same colour strength both ways; "positive": 0 to the most
    lines: bool = False  # may be shown as lines between words too
    picture: np.ndarray | None = (
        None  # (height, width) in 0 to 1: columns are its patches, laid on it row by row
    )
    patches: tuple[int, int] | None = None  # how many, down and across


@dataclass
class Tokens(Panel):
    tokens: Sequence[str]
    values: np.ndarray  # (series, tokens)
    series: Sequence[Message]
    scale: str = "signed"


@dataclass
class Curves(Panel):
    x: Sequence[float] | Sequence[str]
    values: np.ndarray  # (series, len(x)); NaN where there is none
    series: Sequence[str]
    x_title: Message | None = None
    y_title: Message | None = None
    logarithmic: bool = False


@dataclass
class Bars(Panel):
    names: Sequence[str]
    values: np.ndarray  # (names,)
    details: Sequence[
        str
    ] = ()  # a word beside each, such as the answer that would be given instead
    value_title: Message | None = None


@dataclass
class Points(Panel):
    names: Sequence[str]
    places: np.ndarray  # (names, 2)
    groups: Sequence[str] = ()  # of each, where they have some


@dataclass
class Table(Panel):
    columns: Sequence[Message]
    rows: Sequence[Sequence[str | float]]


@dataclass
class Formula(Panel):
    steps: Sequence[FormulaStep]


@dataclass
class FormulaStep:
    formula: str  # as a textbook writes it: q·k/√D
    values: dict[
        str, np.ndarray | float
    ]  # every letter of it with its number, and what it comes to
    source: str = ""  # file:line and the line that does it


@dataclass
class Diagram(Panel):
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


@dataclass
class Box:
    name: str
    label: str  # x₁, h₁, Self-attention …
    x: float  # its middle, in units of a box's width and height
    y: float
    detail: str = ""  # shapes and counts: (B, T, 384) · 590,592
    kind: str = "layer"  # "input", "state", "layer", "output": its colour
    width: float = 1.0  # in units of a box's width, where it stands over several


@dataclass
class Arrow:
    start: str  # names of boxes
    end: str
    label: str = ""


@dataclass
class Beside(Panel):
    names: Sequence[str]  # of the runs, or the steps of its checkpoints
    panels: Sequence[Sequence[Panel]]  # for each of them
    slider: bool = False


def spoken(panel: Panel, lang: str) -> Panel:
    """With every name a text: names are the user's own words, mostly; where they are Messages, they are told in this language."""

    def as_texts(value):
        if isinstance(value, list | tuple):
            return type(value)(map(as_texts, value))
        return value.told_in(lang) if isinstance(value, Message) else value

    names = ("rows", "columns", "tokens", "x", "series", "names", "details", "groups")
    changed = {
        field: as_texts(getattr(panel, field))
        for field in names
        if isinstance(getattr(panel, field, None), list | tuple)
    }
    if isinstance(panel, Table | Tokens):  # whose headings are Messages
        changed.pop("columns" if isinstance(panel, Table) else "series")
    if isinstance(panel, Matrix):
        changed["choices"] = [(words, as_texts(list(each))) for words, each in panel.choices]
    return replace(panel, **changed)


@dataclass
class Inspection:
    title: Message
    facts: Sequence[
        tuple[Message, str]
    ]  # run, rung, task, text, answer, as the head of the page says them
    panels: Sequence[Panel]
    notes: Sequence[Message] = ()

    def _repr_html_(self) -> str:
        """A notebook shows it; what draws is loaded then."""
        from wenmai.page.inspection_page import html_of

        return html_of(self)
