"""An Inspection in the terminal: coloured text, heat maps of blocks, readable at 80 columns and without colours.

What a user wrote is written as text: `Screen` gives a terminal nothing of it to obey.
"""

import math
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from wenmai.locale import Message, language, phrases
from wenmai.page.panel_diagram import lines_of
from wenmai.page.panel_pictures import shown, values_of
from wenmai.page.panels import (
    Bars,
    Beside,
    Curves,
    Diagram,
    Formula,
    Inspection,
    Matrix,
    Panel,
    Points,
    Table,
    Tokens,
    spoken,
)
from wenmai.page.pictures import clean, number
from wenmai.page.terminal import Screen, text_table

BLOCKS, SPARKS = " ░▒▓█", "▁▂▃▄▅▆▇█"
RED, BLUE = (178, 58, 36), (47, 127, 121)
ENDS = phrases("terminal", "first", "last", "least", "most").values()
ACROSS, DOWN, ROWS = 30, 40, 20  # cells of a heat map; rows of a table


def show(inspection: Inspection, console: Console | None = None, lang: str | None = None) -> None:
    console, lang = console or Screen(highlight=False), lang or language()
    console.print(Text(clean(inspection.title.told_in(lang), 400), "bold"))
    for words, value in inspection.facts:
        console.print(
            Text.assemble((f"{clean(words.told_in(lang), 40)}  ", "dim"), clean(value, 1000))
        )
    for panel in inspection.panels:
        show_panel(panel, console, lang)
    for note in inspection.notes:
        console.print(Text(f"· {clean(note.told_in(lang), 600)}", "dim"))


def show_panel(panel: Panel, console: Console, lang: str, before: str = "") -> None:
    console.print()
    console.print(Text(before + clean(panel.title.told_in(lang), 200), "bold underline"))
    for part in DRAW[type(panel)](spoken(panel, lang), lang, console):
        console.print(part)
    console.print(Text(clean(panel.caption.told_in(lang), 1000), "italic"))
    for note in panel.notes:
        console.print(Text(f"· {clean(note.told_in(lang), 600)}", "dim"))


def dim(message: Message, lang: str) -> Text:
    return Text(message.told_in(lang), "dim")


def coloured(text: str, share: float) -> Text:
    """On red, or on blue where it is below 0."""
    if not math.isfinite(share):
        return Text(text)
    colour = RED if share > 0 else BLUE
    part = min(1.0, abs(share))
    back = ",".join(str(round(255 + (c - 255) * part)) for c in colour)
    return Text(
        text, f"{'white' if part > 0.55 else 'black'} on rgb({back})" if part > 0.02 else ""
    )


def block(share: float) -> Text:
    """Two columns of the terminal: as dark as the number is large, so that it is seen without colours too."""
    if not math.isfinite(share):
        return Text("··", "dim")
    level = min(4, math.ceil(abs(share) * 4 - 0.15))
    red, green, blue = RED if share >= 0 else BLUE
    sign = "-" if share < 0 and level else ""
    return Text((sign + BLOCKS[max(0, level)] * 2)[:2], f"rgb({red},{green},{blue})")


def matrix(panel: Matrix, lang: str, console: Console):
    values = np.asarray(panel.values, np.float64).reshape(-1, len(panel.rows), len(panel.columns))
    if len(values) > 1:
        yield dim(
            Message(
                "the mean of {count} maps; --out DIR writes a page that shows each",
                count=len(values),
            ),
            lang,
        )
    mean = values.mean(0)
    rows, columns = panel.rows[:DOWN], panel.columns[:ACROSS]
    most = float(np.abs(np.nan_to_num(mean)).max(initial=0)) or 1.0
    side = min(16, max((cell_len(shown(name, 16)) for name in rows), default=1))
    names = [shown(name, 8) for name in columns]
    for line in range(
        max(map(len, names), default=0)
    ):  # names of columns stand upright, their ends level
        tall = max(map(len, names))
        letters = [name[at] if (at := line - tall + len(name)) >= 0 else " " for name in names]
        yield Text(
            " " * (side + 1) + "".join(set_cell_size(letter, 2) for letter in letters), "dim"
        )
    for name, row in zip(rows, mean):
        label = Text(set_cell_size(shown(name, 16), side) + " ")
        largest = int(np.nanargmax(np.abs(row))) if np.isfinite(row).any() else 0
        yield Text.assemble(
            label,
            *(block(float(x) / most) for x in row[: len(columns)]),
            (f"  {number(float(row[largest]))} {shown(panel.columns[largest], 10)}", "dim"),
        )
    if len(rows) < len(panel.rows) or len(columns) < len(panel.columns):
        yield dim(
            Message(
                "the first {rows} of {all_rows} rows and {columns} of {all_columns} columns",
                rows=len(rows),
                all_rows=len(panel.rows),
                columns=len(columns),
                all_columns=len(panel.columns),
            ),
            lang,
        )


def tokens(panel: Tokens, lang: str, console: Console):
    for words, values in zip(panel.series, panel.values):
        most = (
            1.0
            if panel.scale == "share"
            else float(np.abs(np.nan_to_num(values)).max(initial=0)) or 1.0
        )
        line = Text(f"{clean(words.told_in(lang), 60)}: ", "dim")
        for token, value in zip(panel.tokens[:400], values):
            line += Text.assemble(
                coloured(f" {shown(token, 40)} ", float(value) / most),
                (f" {number(float(value))}  ", "dim"),
            )
        yield line


def curves(panel: Curves, lang: str, console: Console):
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for name in ("", *ENDS, ""):
        grid.add_column(
            Text(name.told_in(lang) if name else ""),
            justify="right" if name else "left",
            no_wrap=True,
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log(panel.values) if panel.logarithmic else np.asarray(panel.values, np.float64)
    scaled = np.where(np.isfinite(scaled), scaled, np.nan)
    low, high = (
        float(edge(scaled[np.isfinite(scaled)], initial=start))
        for edge, start in ((np.min, np.inf), (np.max, -np.inf))
    )
    for name, values, heights in zip(panel.series, panel.values, scaled):
        ys = np.asarray(values, np.float64)
        there = ys[np.isfinite(ys)]
        ends = (
            [number(float(x)) for x in (there[0], there[-1], there.min(), there.max())]
            if len(there)
            else ["–"] * 4
        )
        grid.add_row(Text(shown(name, 18)), *ends, Text(spark(heights, low, high), "red"))
    yield grid
    if len(panel.x):
        across = clean(panel.x_title.told_in(lang), 30) if panel.x_title else ""
        first, last = (
            shown(x, 16) if isinstance(x, str) else f"{x:g}" for x in (panel.x[0], panel.x[-1])
        )
        yield Text(f"{across} {first} … {last}".strip(), "dim")


def spark(ys: np.ndarray, low: float, high: float, width: int = 24) -> str:
    """A curve in letters, all of them on the same scale."""
    if len(ys) > width:
        parts = [part[np.isfinite(part)] for part in np.array_split(ys, width)]
        ys = np.array([part.mean() if len(part) else np.nan for part in parts])
    return "".join(
        " " if math.isnan(y) else SPARKS[round(7 * (y - low) / ((high - low) or 1))] for y in ys
    )


def bars(panel: Bars, lang: str, console: Console):
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    grid.add_column("", overflow="fold", max_width=30)
    grid.add_column("", no_wrap=True)
    grid.add_column(
        Text(clean(panel.value_title.told_in(lang), 24) if panel.value_title else ""),
        justify="right",
        no_wrap=True,
    )
    grid.add_column("", overflow="fold")
    most = float(np.abs(np.nan_to_num(panel.values)).max(initial=0)) or 1.0
    for at, (name, value) in enumerate(zip(panel.names[:ROWS], panel.values)):
        share = abs(float(value)) / most if math.isfinite(value) else 0.0
        detail = shown(panel.details[at], 40) if at < len(panel.details) else ""
        bar = Text("█" * round(18 * share) or "▏", "red" if value >= 0 else "cyan")
        grid.add_row(Text(shown(name, 60)), bar, number(float(value)), Text(detail))
    yield grid
    if len(panel.names) > ROWS:
        yield dim(
            Message("the first {rows} of {all_rows} rows", rows=ROWS, all_rows=len(panel.names)),
            lang,
        )


def points(panel: Points, lang: str, console: Console):
    width, height = min(console.width, 80) - 2, 20
    places = np.asarray(panel.places, np.float64)
    low, high = places.min(0), places.max(0)
    shares = (places - low) / np.where(high > low, high - low, 1)
    free = np.ones((height, width + 1), bool)
    lines: list[list[tuple[int, str]]] = [[] for _ in range(height)]
    for name, (x, y) in zip(panel.names, shares):
        text = shown(name, 14)
        size, row = cell_len(text), round((1 - y) * (height - 1))
        column = min(round(x * (width - 1)), width - size)
        if column >= 0 and free[row, column : column + size + 1].all():
            free[row, max(0, column - 1) : column + size + 1] = False
            lines[row].append((column, text))
    for line in lines:
        drawn = ""
        for column, text in sorted(line):
            drawn += " " * (column - cell_len(drawn)) + text
        yield Text(drawn, no_wrap=True, overflow="crop")


def table(panel: Table, lang: str, console: Console):
    heads = [clean(words.told_in(lang), 30) for words in panel.columns]
    yield text_table(
        heads, [[cell_text(cell) for cell in row] for row in panel.rows[:ROWS]], header_style="dim"
    )
    if len(panel.rows) > ROWS:
        yield dim(
            Message("the first {rows} of {all_rows} rows", rows=ROWS, all_rows=len(panel.rows)),
            lang,
        )


def cell_text(cell) -> str:
    return (
        shown(cell, 60)
        if isinstance(cell, str)
        else f"{cell:,}"
        if isinstance(cell, int)
        else number(float(cell))
    )


def formula(panel: Formula, lang: str, console: Console):
    for step in panel.steps:
        yield Text(clean(step.formula, 200), "bold")
        for letter, value in step.values.items():
            yield Text(f"    {clean(letter, 20)} = {values_of(value)}")
        if step.source:
            yield Text(f"    {clean(step.source, 200)}", "dim")


def diagram(panel: Diagram, lang: str, console: Console):
    """What stands above in the picture comes first; boxes of a row one after the other."""
    heights = sorted({box.y for box in panel.boxes})
    for height in heights:
        row = sorted((box for box in panel.boxes if box.y == height), key=lambda box: box.x)
        yield Text("   ".join(" ".join(lines_of(box)) for box in row))
        if height != heights[-1]:
            yield Text("  ↑", "dim")


def beside(panel: Beside, lang: str, console: Console):
    ends: Sequence[int] = (
        range(len(panel.names)) if not panel.slider else sorted({0, len(panel.names) - 1})
    )
    for at in ends:
        for own in panel.panels[at]:
            show_panel(own, console, lang, f"{shown(panel.names[at], 40)} · ")
    return ()


DRAW = {
    Matrix: matrix,
    Tokens: tokens,
    Curves: curves,
    Bars: bars,
    Points: points,
    Table: table,
    Formula: formula,
    Diagram: diagram,
    Beside: beside,
}
