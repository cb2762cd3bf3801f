"""Panels as pictures (matplotlib): SVG in both languages with its text as text, and PNG for places that show no SVG.

A heat map is one image of as many points as it has numbers, red or blue, as opaque as the number is large: so it can be seen on
light and on dark, and read back from the file. All heads of all layers are one image too, side by side.
"""

import io
import re
import unicodedata
from collections.abc import Iterator
from math import ceil, prod

import numpy as np

from wenmai.locale import Message, language
from wenmai.page.panel_diagram import draw_diagram
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
from wenmai.page.pictures import INK, LANGS, _style, _svg, as_file, chinese_fonts, clean, number

RED, BLUE = "#b23a24", "#2f7f79"
SERIES = ["#3f7fd0", "#d55e00", "#009e73", "#c75b9b", "#b58900", "#7d67c9", "#858585", "#2f9fb0"]
FINE = (
    64  # points to a side that one of many maps has at most: the largest of what falls on a point
)
LINES = 30  # rows of a table, bars
NO_CHINESE = Message(
    "No Chinese font was found here: Chinese stands as boxes in this PNG; the SVG beside it has its text as "
    "text."
)


def pictures(inspection: Inspection) -> dict[str, str | bytes]:
    """file → what stands in it, of every panel"""
    files: dict[str, str | bytes] = {}
    with _style():
        for name, panel in named(inspection.panels):
            files |= picture(panel, name)
    return files


def picture(
    panel: Panel, name: str, kinds: tuple[str, ...] = ("svg", "png")
) -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {}
    with _style():
        for lang in LANGS:
            figure = drawn(panel, lang)
            if "svg" in kinds:
                svg = _svg(figure, f"{name}-{lang}")
                title = (
                    clean(panel.title.told_in(lang))
                    .replace("&", "&amp;")
                    .replace('"', "&quot;")
                    .replace("<", "&lt;")
                )
                files[f"{name}.{lang}.svg"] = as_file(
                    svg.replace(f'aria-label="{name}-{lang}"', f'aria-label="{title}"', 1)
                )
            if "png" in kinds and lang == language():
                files[f"{name}.png"] = png(figure)
    return files


def named(panels, before: str = "") -> Iterator[tuple[str, Panel]]:
    """Every panel by the name of its file; of many checkpoints the first and the last."""
    taken: set[str] = set()
    for panel in panels:
        name = before + (re.sub(r"[^\w.-]+", "-", panel.name)[:60].strip(".-") or "panel")
        while name.lower() in taken:
            name += "-2"
        taken.add(name.lower())
        if not isinstance(panel, Beside):
            yield name, panel
            continue
        shown = range(len(panel.panels)) if len(panel.panels) <= 4 else (0, len(panel.panels) - 1)
        for at in shown:
            yield from named(panel.panels[at], f"{name}-{at + 1}-")


def drawn(panel: Panel, lang: str):
    """The figure of a panel, its title above it."""
    figure = DRAW[type(panel)](spoken(panel, lang), lang)
    figure.suptitle(
        clean(panel.title.told_in(lang), 90), x=0.02, ha="left", fontsize=10.5, color=INK
    )
    return figure


def png(figure) -> bytes:
    from matplotlib.text import Text

    texts = "".join(text.get_text() for text in figure.findobj(Text))
    if not chinese_fonts() and any(is_wide(letter) for letter in texts):
        figure.text(0.02, 0.005, NO_CHINESE.english, fontsize=7, color=INK)
    figure.savefig(
        file := io.BytesIO(), format="png", dpi=140, facecolor="white", metadata={"Software": None}
    )
    return file.getvalue()


def is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def width_of(text: str) -> float:
    """In widths of a letter."""
    return sum(2.0 if is_wide(letter) else 1.0 for letter in text)


def new(width: float, height: float, **margins):
    """A figure with one pair of axes; margins in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=72)
    edge = {"left": 0.7, "right": 0.15, "top": 0.4, "bottom": 0.5} | margins
    return figure, figure.add_axes(
        (
            edge["left"] / width,
            edge["bottom"] / height,
            1 - (edge["left"] + edge["right"]) / width,
            1 - (edge["top"] + edge["bottom"]) / height,
        )
    )


def blank(width: float, height: float):
    """A page to write on, in inches from its upper left corner."""
    figure, axes = new(width, height, left=0, right=0, top=0, bottom=0)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


# Heat maps


def coloured(values: np.ndarray, scale: str) -> tuple[np.ndarray, float]:
    """(rows, columns) → (RGBA 0 to 255 (rows, columns, 4), the most): red or blue, as opaque as |v| / the most."""
    from matplotlib.colors import to_rgb

    size = np.abs(np.nan_to_num(values))
    top = float(size.max(initial=0)) or 1.0
    top = 1.0 if scale == "share" and top >= 0.5 else top
    colours = np.where((np.nan_to_num(values) < 0)[..., None], to_rgb(BLUE), to_rgb(RED))
    return np.rint(255 * np.concatenate([colours, (size / top)[..., None]], -1)).astype(
        np.uint8
    ), top


def coarse(values: np.ndarray) -> np.ndarray:
    """At most FINE points to a side, each the largest of what falls on it."""
    for axis in (0, 1):
        if (size := values.shape[axis]) > FINE:
            starts = np.arange(FINE) * size // FINE
            low, high = (
                np.minimum.reduceat(values, starts, axis),
                np.maximum.reduceat(values, starts, axis),
            )
            values = np.where(-low > high, low, high)
    return values


def matrix(panel: Matrix, lang: str):
    if panel.values.ndim > 2 and prod(panel.values.shape[:-2]) > 1:
        return heads(panel, lang)
    values = np.asarray(panel.values, np.float64).reshape(len(panel.rows), len(panel.columns))
    rows, columns = values.shape
    labels = [[shown(name) for name in names] for names in (panel.rows, panel.columns)]
    left, top = (0.25 + 0.075 * min(24, max(map(width_of, names), default=1)) for names in labels)
    alike = rows < 3 * columns and columns < 3 * rows
    cell = min(0.34, 6.5 / columns)
    width, height = cell * columns, cell * rows if alike else min(0.34 * rows, 5.5)
    figure, axes = new(
        left + max(width, 1.6) + 0.3,
        top + height + 0.85,
        left=left,
        right=max(0.3, 1.9 - width),
        top=top + 0.35,
        bottom=0.5,
    )
    image, most = coloured(values, panel.scale)
    axes.imshow(image, interpolation="none", aspect="auto")
    for axis, names in ((axes.yaxis, labels[0]), (axes.xaxis, labels[1])):
        step = max(1, ceil(len(names) / (50 if axis is axes.xaxis else 45)))
        axis.set_ticks(range(0, len(names), step), names[::step])
        axis.set_tick_params(length=0, labelsize=7.5)
    axes.tick_params(
        axis="x", top=False, labeltop=True, labelbottom=False, rotation=turned(labels[1])
    )
    axes.grid(False)
    axes.spines[:].set_visible(False)
    scale_bar(figure, most, panel.scale)
    return figure


def heads(panel: Matrix, lang: str):
    """All of them in one image: the last choice goes across, those before it down."""
    *before, rows, columns = panel.values.shape
    across, down = before[-1], prod(before[:-1])
    parts = [
        coarse(part) for part in np.asarray(panel.values, np.float32).reshape(-1, rows, columns)
    ]
    tall, wide = parts[0].shape
    gap = max(1, round(0.06 * max(tall, wide)))
    sheet = np.zeros((down * (tall + gap) - gap, across * (wide + gap) - gap, 4), np.uint8)
    for at, part in enumerate(parts):
        y, x = at // across * (tall + gap), at % across * (wide + gap)
        sheet[y : y + tall, x : x + wide] = coloured(part, "positive")[0]
    named_cells = (
        down == 1 and across <= 4 and max(rows, columns) <= 24
    )  # few and small: their words stand beside them
    cell = 2.3 if named_cells else min(1.1, 8.4 / across)
    labels = [[shown(one) for one in names] for names in (panel.rows, panel.columns)]
    left, top = (
        0.25 + 0.07 * max(map(width_of, names)) if named_cells else 0.0 for names in labels
    )
    figure, axes = new(
        max(0.9, left + 0.2) + cell * across,
        top + 1.2 + cell * down * tall / wide,
        left=max(0.75, left),
        top=0.72 + top,
        bottom=0.3,
    )
    axes.imshow(sheet, interpolation="none", aspect="auto")
    (*_, (name, names)), middles = (
        panel.choices,
        (np.arange(across) * (wide + gap) + wide / 2 - 0.5),
    )
    before = (
        f"{clean(name.told_in(lang), 12)} "
        if across < 9 and all(one.isdigit() for one in names)
        else ""
    )
    axes.xaxis.set_ticks(middles, [before + shown(one, 30) for one in names])
    if named_cells:
        for middle, one in zip(middles, names):
            axes.text(
                middle,
                -(top + 0.12) / cell * wide,
                before + shown(one, 30),
                ha="center",
                fontsize=8.5,
            )
        places = [at * (wide + gap) + column for at in range(across) for column in range(wide)]
        axes.xaxis.set_ticks(places, labels[1] * across, rotation=turned(labels[1]))
        axes.yaxis.set_ticks(range(tall), labels[0])
    elif down > 1:
        own = [
            [f"{clean(words.told_in(lang), 12)} {shown(one)}" for one in each]
            for words, each in panel.choices[:-1]
        ]
        combined = own[0]
        for each in own[1:]:
            combined = [f"{a}, {b}" for a in combined for b in each]
        axes.yaxis.set_ticks(np.arange(down) * (tall + gap) + tall / 2 - 0.5, combined)
    else:
        axes.yaxis.set_ticks([])
    axes.tick_params(length=0, labelsize=7.5, top=False, labeltop=True, labelbottom=False)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return figure


def turned(names: list[str]) -> int:
    """How far names over columns are turned: single letters stand upright."""
    return 90 if max(map(width_of, names), default=1) > 2 else 0


def scale_bar(figure, most: float, scale: str) -> None:
    low = -most if scale == "signed" else 0.0
    width, height = figure.get_size_inches()
    axes = figure.add_axes((0.3 / width, 0.2 / height, 1.2 / width, 0.1 / height))
    axes.imshow(
        coloured(np.linspace(low, most, 101)[None], "positive")[0],
        aspect="auto",
        interpolation="none",
    )
    axes.xaxis.set_ticks([0, 100], [number(low) if low else "0", number(most)])
    axes.yaxis.set_ticks([])
    axes.tick_params(length=0, labelsize=7)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def shown(text: str, limit: int = 20) -> str:
    return "␣" * len(text) if text and not text.strip(" ") and len(text) < 9 else clean(text, limit)


# Texts and numbers


def tokens(panel: Tokens, lang: str):
    placed, x, y = [], 0.0, 0.0
    for name in (shown(token, 40) for token in panel.tokens[:400]):
        width = 0.085 * max(width_of(name), 6) + 0.08
        if x + width > 7.4:
            x, y = 0.0, y + 0.46
        placed.append((x, y, width, name))
        x += width
    block = y + 0.9
    figure, axes = blank(7.6, 0.35 + block * len(panel.values))
    for row, (values, words) in enumerate(zip(panel.values, panel.series)):
        top = (
            1.0
            if panel.scale == "share"
            else float(np.abs(np.nan_to_num(values)).max(initial=0)) or 1.0
        )
        at = 0.5 + row * block
        axes.text(0.1, at, clean(words.told_in(lang), 60), fontsize=8.5, va="center", alpha=0.75)
        for (x, y, width, name), value in zip(placed, values):
            share = abs(float(np.nan_to_num(value))) / top
            patch(
                axes,
                0.1 + x,
                at + y + 0.13,
                width - 0.03,
                0.4,
                BLUE if value < 0 else RED,
                0.6 * share,
            )
            axes.text(
                0.1 + x + width / 2 - 0.015,
                at + y + 0.27,
                name,
                ha="center",
                va="center",
                fontsize=9,
            )
            axes.text(
                0.1 + x + width / 2 - 0.015,
                at + y + 0.44,
                number(float(value)),
                ha="center",
                va="center",
                fontsize=6.5,
            )
    return figure


def patch(axes, x, y, width, height, colour, opacity) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, alpha=opacity, lw=0))


def curves(panel: Curves, lang: str):
    texts = len(panel.x) > 0 and isinstance(panel.x[0], str)
    longest = max((width_of(shown(str(x))) for x in panel.x), default=1) if texts else 3
    below = 0.35 + (0.07 * longest if texts else 0.1) + 0.2 * bool(panel.x_title)
    figure, axes = new(7.6, 3.7, left=0.75, right=1.8, bottom=below)
    x = np.arange(len(panel.x)) if texts else np.asarray(panel.x, np.float64)
    for at, (values, name) in enumerate(zip(panel.values, panel.series)):
        style = ["-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))][at // len(SERIES) % 4]
        axes.plot(
            x,
            values,
            color=SERIES[at % len(SERIES)],
            ls=style,
            lw=1.7,
            marker="o" if len(x) <= 40 else None,
            ms=3,
            label=shown(name, 22).removeprefix("_") or "–",
        )
    if panel.logarithmic and np.nanmax(panel.values, initial=0) > 0:
        axes.set_yscale("log")
    if texts:
        step = max(1, ceil(len(x) / 48))
        axes.set_xticks(
            x[::step],
            [shown(name) for name in panel.x[::step]],
            rotation=60,
            ha="right",
            fontsize=8,
        )
    axes.set_xlabel(clean(panel.x_title.told_in(lang)) if panel.x_title else "")
    axes.set_ylabel(clean(panel.y_title.told_in(lang)) if panel.y_title else "")
    axes.tick_params(length=0)
    axes.legend(
        frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), labelcolor=INK
    )
    return figure


def bars(panel: Bars, lang: str):
    names, values = (
        [shown(name, 34) for name in panel.names[:LINES]],
        np.asarray(panel.values[:LINES], np.float64),
    )
    left = 0.4 + 0.075 * max(map(width_of, names), default=1)
    beside = [
        f"{number(float(value))}  {shown(panel.details[at], 26) if at < len(panel.details) else ''}".rstrip()
        for at, value in enumerate(values)
    ]
    right = 0.3 + 0.075 * max(map(width_of, beside), default=1)
    figure, axes = new(
        left + right + 3.6, 0.95 + 0.24 * len(names), left=left, right=right, bottom=0.45
    )
    places = np.arange(len(names))
    axes.barh(places, values, 0.62, color=[BLUE if value < 0 else RED for value in values])
    axes.axvline(0, color=INK, lw=0.7, alpha=0.5)
    axes.set_yticks(places, names, fontsize=8.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(length=0)
    for at, label in enumerate(beside):
        axes.text(1.02, at, label, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
    axes.set_xlabel(clean(panel.value_title.told_in(lang)) if panel.value_title else "")
    return figure


def points(panel: Points, lang: str):
    figure, axes = new(7.4, 5.4, left=0.3, bottom=0.3)
    places, groups = np.asarray(panel.places, np.float64), list(dict.fromkeys(panel.groups))
    group_of = np.array([groups.index(group) for group in panel.groups] or [0] * len(places))
    for at in range(max(1, len(groups))):
        own = places[group_of == at]
        name = shown(groups[at], 24).removeprefix("_") if groups else None
        axes.scatter(
            *own.T, s=14, marker="os^D"[at % 4], color=SERIES[at % len(SERIES)], label=name
        )
    low, high = places.min(0), places.max(0)
    spots, taken = (places - low) / np.where(high > low, high - low, 1), []
    for name, place, (x, y) in zip(panel.names, places, spots):
        text = shown(name, 18)
        box = (x, y - 0.02, x + 0.0145 * width_of(text) + 0.02, y + 0.02)
        if len(taken) > 200 or any(
            box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken
        ):
            continue
        taken.append(box)
        axes.annotate(text, place, (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set(xticks=[], yticks=[])
    axes.margins(x=0.1)
    if groups:
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    return figure


def table(panel: Table, lang: str):
    heads = [clean(words.told_in(lang), 30) for words in panel.columns]
    cells = [
        [shown(cell, 44) if isinstance(cell, str) else number(float(cell)) for cell in row]
        for row in panel.rows[:LINES]
    ]
    widths = [0.085 * max(map(width_of, column)) + 0.25 for column in zip(heads, *cells)] or [1.0]
    figure, axes = blank(max(3.5, sum(widths) + 0.2), 0.9 + 0.24 * len(cells))
    lefts = 0.1 + np.cumsum([0.0, *widths[:-1]])
    for line, row in enumerate([heads, *cells]):
        for left, cell in zip(lefts, row):
            axes.text(
                left, 0.6 + 0.24 * line, cell, fontsize=8.5, va="center", alpha=1.0 if line else 0.7
            )
    axes.plot([0.1, sum(widths)], [0.73, 0.73], color=INK, lw=0.6, alpha=0.4)
    return figure


def formula(panel: Formula, lang: str):
    lines: list[tuple[str, float, float]] = []  # (text, size, indent)
    for step in panel.steps:
        lines.append((clean(step.formula, 90), 12, 0.0))
        lines += [
            (f"{clean(letter, 20)} = {values_of(value)}", 8.5, 0.25)
            for letter, value in step.values.items()
        ]
        lines += [(clean(step.source, 110), 7.5, 0.25)] * bool(step.source)
    figure, axes = blank(7.6, 0.7 + sum(0.02 * size + 0.06 for _, size, _ in lines))
    y = 0.5
    for text, size, indent in lines:
        y += 0.02 * size + 0.06
        axes.text(
            0.1 + indent,
            y,
            text,
            fontsize=size,
            va="center",
            family="monospace" if size == 7.5 else None,
        )
    return figure


def values_of(value) -> str:
    """A number, or as many of an array as a line holds."""
    flat = np.asarray(value, np.float64).ravel()
    if np.ndim(value) == 0:
        if float(flat[0]).is_integer():
            return f"{int(flat[0]):,}"
        return number(float(flat[0]))
    some = [number(float(x)) for x in flat[:8]] + ["…"] * (len(flat) > 8)
    size = (
        f" ({' × '.join(map(str, np.shape(value)))})" if len(flat) > 8 or np.ndim(value) > 1 else ""
    )
    return f"[{', '.join(some)}]{size}"


def diagram(panel: Diagram, lang: str):
    return draw_diagram(panel)


DRAW = {
    Matrix: matrix,
    Tokens: tokens,
    Curves: curves,
    Bars: bars,
    Points: points,
    Table: table,
    Formula: formula,
    Diagram: diagram,
}
