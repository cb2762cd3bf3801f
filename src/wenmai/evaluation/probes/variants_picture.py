"""The picture of variants: a row a variant, a panel a quantity; a dot a seed; a line at their mean, a bar to their median."""

from dataclasses import dataclass
from statistics import mean, median

from wenmai.locale import Message
from wenmai.page.pictures import INK, PAPER, compact, metric_words

COLOURS = ["#4c6fd1", "#c75b9b", "#009e73", "#c98500", "#3f9fdc", "#d55e00"]
LEFT, GAP, ROW = 2.1, 0.3, 0.42


@dataclass
class Panel:
    title: str
    values: list[list[float]]  # of every row, one a seed
    from_zero: bool = True  # bars, as amounts are drawn; otherwise dots only


def quality(known: dict, lang: str) -> Panel:
    """The scores on the test part."""
    title = Message("{metric}, test part", metric=metric_words(known["metric"])).told_in(lang)
    return Panel(title, [row["scores"] for row in known["variants"]], False)


def quality_and_cost(known: dict, lang: str) -> list[Panel]:
    rows = known["variants"]
    return [
        quality(known, lang),
        Panel(Message("weights").told_in(lang), [[row["parameters"]] for row in rows]),
        Panel(Message("seconds to train").told_in(lang), [row["seconds"] for row in rows]),
    ]


def picture(labels: list[str], groups: list[int], panels: list[Panel]):
    """`groups` gives each row its colour."""
    from matplotlib.figure import Figure

    wide, height = 2.9, 0.95 + ROW * len(labels)
    width = LEFT + len(panels) * (wide + GAP)
    figure = Figure(figsize=(width, height), dpi=72)
    for at, panel in enumerate(panels):
        axes = figure.add_axes(
            ((LEFT + at * (wide + GAP)) / width, 0.4 / height, wide / width, 1 - 0.9 / height)
        )
        draw_panel(axes, panel, groups)
        axes.set_ylim(-len(labels) + 0.4, 0.6)
        axes.set_yticks(
            [-place for place in range(len(labels))], labels if at == 0 else [""] * len(labels)
        )
        axes.tick_params(length=0, pad=6, labelsize=10.5)
        axes.grid(visible=False, axis="y")
        axes.set_title(panel.title, fontsize=11.5, pad=9)
    return figure


def draw_panel(axes, panel: Panel, groups: list[int]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for place, (values, group) in enumerate(zip(panel.values, groups)):
        colour = COLOURS[group % len(COLOURS)]
        if not values:
            continue
        if panel.from_zero:
            axes.barh(-place, median(values), 0.6, color=colour, alpha=0.8)
        else:
            axes.plot(
                [mean(values)] * 2, [-place - 0.3, -place + 0.3], color=colour, lw=2.6, zorder=2
            )
        if len(values) > 1:
            axes.plot(
                values,
                [-place] * len(values),
                "o",
                color=INK if panel.from_zero else colour,
                mec=PAPER,
                ms=4 if panel.from_zero else 7,
                mew=0.7,
                zorder=3,
            )
    ends = [value for values in panel.values for value in values]
    room = (max(ends) - min(ends)) * 0.12 or 0.02 * abs(max(ends)) or 1.0
    axes.set_xlim(
        0 if panel.from_zero else min(ends) - room,
        (max(ends) * 1.08 or 1.0) if panel.from_zero else max(ends) + room,
    )
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: compact(value) if panel.from_zero else f"{value:.4g}")
    )
