"""A Diagram as a picture (matplotlib), and as Mermaid, which many sites draw from text."""

import re

from wenmai.page.panels import Arrow, Box, Diagram
from wenmai.page.pictures import INK, clean

UNIT = 1.42, 0.6  # inches of a box's width and height
FILL = {"input": "#2f7f79", "state": "#4c6fd1", "output": "#b23a24", "layer": INK}
LINE = 0.165  # inches


def lines_of(box: Box) -> list[str]:
    return [clean(box.label, 60), *(clean(line, 60) for line in box.detail.split("\n") if line)]


def size_of(box: Box) -> tuple[float, float]:
    return (box.width - 0.12) * UNIT[0], max(0.36, 0.16 + LINE * len(lines_of(box)))


def draw_diagram(panel: Diagram):
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    boxes = {box.name: box for box in panel.boxes}
    at = {name: (box.x * UNIT[0], box.y * UNIT[1]) for name, box in boxes.items()}
    half = {name: tuple(side / 2 for side in size_of(box)) for name, box in boxes.items()}
    left, right = (
        edge(at[n][0] + sign * half[n][0] for n in at) for edge, sign in ((min, -1), (max, 1))
    )
    top, bottom = (
        edge(at[n][1] + sign * half[n][1] for n in at) for edge, sign in ((min, -1), (max, 1))
    )
    width, height = right - left + 0.7, bottom - top + 0.9
    figure = Figure(figsize=(width, height), dpi=72)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left - 0.35, right + 0.35), ylim=(bottom + 0.25, top - 0.65))
    axes.axis("off")
    for arrow in panel.arrows:
        _arrow(axes, arrow, at, half)
    for name, box in boxes.items():
        (x, y), (a, b), text = at[name], half[name], lines_of(box)
        if box.kind != "more":
            colour = FILL.get(box.kind, INK)
            place, style = ((x - a, y - b), 2 * a, 2 * b), "round,pad=0,rounding_size=0.08"
            axes.add_patch(
                FancyBboxPatch(*place, boxstyle=style, facecolor="none", edgecolor=colour, lw=1.1)
            )
            opacity = 0.05 if box.kind == "layer" else 0.14
            axes.add_patch(
                FancyBboxPatch(*place, boxstyle=style, facecolor=colour, alpha=opacity, lw=0)
            )
        for line, words in enumerate(text):
            axes.text(
                x,
                y + (line - (len(text) - 1) / 2) * LINE,
                words,
                ha="center",
                va="center",
                fontsize=8 if line else 10,
            )
    return figure


def _arrow(axes, arrow: Arrow, at: dict, half: dict) -> None:
    """Straight where one box stands over or beside the other, bent elsewhere."""
    (ax, ay), (bx, by), (aw, ah), (bw, bh) = (
        at[arrow.start],
        at[arrow.end],
        half[arrow.start],
        half[arrow.end],
    )
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    style = {
        "arrowstyle": "-|>,head_length=0.32,head_width=0.16",
        "edgecolor": INK,
        "alpha": 0.6,
        "lw": 0.9,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    if (
        ax + aw + 0.5 * UNIT[0] < bx - bw
    ):  # from one part of a network to another: from side to side, in a bow
        start, end = (ax + aw, ay), (bx - bw, by)
        bend = (start[0] + end[0]) / 2
        path = Path(
            [start, (bend, ay), (bend, by), end],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        axes.add_patch(FancyArrowPatch(path=path, mutation_scale=10, facecolor=INK, **style))
        return
    if abs(ay - by) <= (ah + bh) / 2:
        way = 1 if bx > ax else -1
        start, end = (ax + way * aw, ay), (bx - way * bw, by)
    else:
        way = 1 if by > ay else -1
        low, high = max(ax - aw, bx - bw), min(ax + aw, bx + bw)
        if low < high:
            x = ax if low <= ax <= high else bx if low <= bx <= high else (low + high) / 2
            start, end = (x, ay + way * ah), (x, by - way * bh)
        else:
            start, end = (ax, ay + way * ah), (bx, by - way * bh)
    axes.add_patch(FancyArrowPatch(start, end, mutation_scale=10, facecolor=INK, **style))
    if arrow.label:
        axes.text(
            (start[0] + end[0]) / 2 + 0.05,
            (start[1] + end[1]) / 2 - 0.08,
            clean(arrow.label, 30),
            fontsize=8,
            alpha=0.8,
        )


def mermaid(panel: Diagram) -> str:
    """flowchart BT: arrows go up, as in the picture."""
    numbers = {box.name: f"b{at}" for at, box in enumerate(panel.boxes)}
    shapes = {"input": ('(["', '"])'), "state": ('("', '")'), "output": ('[["', '"]]')}
    lines = ["flowchart BT"]
    for box in panel.boxes:
        left, right = shapes.get(box.kind, ('["', '"]'))
        lines.append(
            f"    {numbers[box.name]}{left}{'<br/>'.join(map(escaped, lines_of(box)))}{right}"
        )
    for arrow in panel.arrows:
        label = f'|"{escaped(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {numbers[arrow.start]} -->{label} {numbers[arrow.end]}")
    for kind, colour in {"input": "#2f7f79", "state": "#4c6fd1", "output": "#b23a24"}.items():
        of_kind = [numbers[box.name] for box in panel.boxes if box.kind == kind]
        if of_kind:
            lines += [
                f"    classDef {kind} stroke:{colour}",
                f"    class {','.join(of_kind)} {kind}",
            ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Every mark that Mermaid or HTML might see something in, by its number."""
    return re.sub(
        r"""[^\w\s.,:+=·()₀-₉′→←×/√-]""", lambda match: f"#{ord(match[0])};", clean(text, 80)
    )
