"""The picture of memory: how far each rung came, a panel an exercise; then the gradient on its way back."""

from math import log10

from wenmai.locale import Listed, Message
from wenmai.page.pictures import INK, PAPER

# Okabe and Ito's colours; dashes tell apart what shares one.
LOOKS = {
    "rnn": ("#d55e00", "-", 2.6),
    "rnn-residual": ("#c98500", (0, (4, 1.5)), 1.8),
    "rnn-coupled": ("#858585", (0, (4, 1.5)), 1.8),
    "rnn-gated": ("#858585", (0, (1, 1.2)), 1.8),
    "lstm": ("#c75b9b", "-", 1.8),
    "gru": ("#c75b9b", (0, (4, 1.5)), 1.8),
    "attention": ("#3f9fdc", "-", 1.8),
    "transformer": ("#009e73", "-", 1.8),
}
WIDTH, HEIGHT, LOW = 14.5, 5.2, 1e-8


def picture(known: dict, lang: str):
    from matplotlib.figure import Figure

    exercises, faded = known["exercises"], known["fading"]["rungs"]
    names = list(dict.fromkeys(rung["rung"] for row in exercises for rung in row["rungs"]))
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72)
    bottom, height = 1.25 / HEIGHT, 1 - 1.95 / HEIGHT
    left, wide = 1.25, (6.3 - 0.2 * len(exercises)) / max(1, len(exercises))
    for at, row in enumerate(exercises):
        axes = figure.add_axes(((left + at * (wide + 0.2)) / WIDTH, bottom, wide / WIDTH, height))
        bars(axes, row, names, lang, at == 0)
    start, wide = 8.35, 2.85
    for at, (key, title) in enumerate(
        (
            ("before", Message("before training").told_in(lang)),
            ("after", Message("after training").told_in(lang)),
        )
    ):
        axes = figure.add_axes(((start + at * (wide + 0.2)) / WIDTH, bottom, wide / WIDTH, height))
        lines = ways_back(axes, faded, key)
        axes.set_title(title, fontsize=12, pad=10)
        axes.set_xlabel(Message("steps before the last").told_in(lang), fontsize=11)
        if at == 0:
            axes.set_ylabel(Message("‖∂L/∂x_t‖, last step = 1").told_in(lang), fontsize=11)
        else:
            axes.tick_params(labelleft=False)
    figure.legend(
        lines,
        [row["rung"] for row in faded],
        loc="upper center",
        ncols=4,
        frameon=False,
        fontsize=10.5,
        bbox_to_anchor=((start + wide + 0.1) / WIDTH, bottom - 0.15 * height),
        handlelength=2.6,
    )
    figure.text(
        (left + 3.1) / WIDTH,
        0.35 / HEIGHT,
        why(known, lang),
        ha="center",
        va="center",
        fontsize=10.5,
    )
    return figure


def bars(axes, row: dict, names: list[str], lang: str, named: bool) -> None:
    """The longest T of every rung, rung under rung; a mark a seed."""
    longest = {
        rung["rung"]: [climb["longest"] for climb in rung["climbs"]] for rung in row["rungs"]
    }
    for place, name in enumerate(names):
        far = longest.get(name, [])
        if not far:
            continue
        ends = min(far), max(far)
        axes.barh(-place, ends[0], 0.62, color=LOOKS[name][0], alpha=0.85)
        if ends[0] < ends[1]:
            axes.plot(far, [-place] * len(far), "|", color=INK, ms=9)
        most = ends[1] == row["lengths"][-1]
        shown = (
            f"< {row['lengths'][0]}"
            if not ends[1]
            else f"{'≥ ' if ends[0] == ends[1] and most else ''}{ends[0]}"
        )
        shown += f"–{ends[1]}" if ends[0] < ends[1] else ""
        axes.text(ends[1] + row["lengths"][-1] * 0.02, -place, shown, va="center", fontsize=10.5)
    axes.set_xlim(0, row["lengths"][-1] * 1.22)
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.set_yticks([-place for place in range(len(names))], names if named else [""] * len(names))
    axes.tick_params(length=0, pad=5, labelsize=10.5)
    axes.grid(visible=False, axis="y")
    axes.set_title(row["exercise"], fontsize=12, pad=10)
    axes.set_xlabel(Message("longest T remembered").told_in(lang), fontsize=11)


def ways_back(axes, faded: list[dict], key: str) -> list:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    lines = []
    for row in faded:
        colour, dash, size = LOOKS[row["rung"]]
        share = [max(value, LOW / 100) for value in reversed(row[key])]  # the last step first
        lines += axes.plot(
            range(len(share)),
            share,
            color=colour,
            ls=dash,
            lw=size,
            mec=PAPER,
            zorder=3 if size > 2 else 2,
        )
    values = [value for row in faded for way in ("before", "after") for value in row[way]] or [1.0]
    axes.set_yscale("log")
    axes.set_ylim(max(LOW, min(values) / 2), max(10.0, min(1e8, max(values) * 2)))
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axes.tick_params(length=0, pad=5, labelsize=10.5)
    return lines


def power(value: float) -> str:
    """1, 10, 0.1, and 10⁻³ beyond"""
    exponent = round(log10(value))
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:.3g}" if -2 < exponent < 3 else f"10{raised}"


def why(known: dict, lang: str) -> str:
    rnn = next((row for row in known["fading"]["rungs"] if row["rung"] == "rnn"), None)
    if rnn is None:
        return ""
    factor, steps, left = (
        rnn["a_step_before"],
        len(rnn["before"]) - 1,
        power(max(LOW / 100, rnn["before"][0])),
    )
    return Message(
        "{reason}: before training, each step back multiplies\nits gradient by {factor:.2f}; after {steps} steps "
        "about {left} of it is left to learn from.",
        reason=why_rnn(known),
        factor=factor,
        steps=steps,
        left=left,
    ).told_in(lang)


def why_rnn(known: dict) -> Message:
    if first := rnn_is_first_in(known):
        return Message("Why rnn stops first in {exercises}", exercises=Listed(first))
    return Message("What rnn forgets")


def rnn_is_first_in(known: dict) -> list[str]:
    """The exercises in which none of the rungs that are chains came less far than rnn, and one came farther."""
    exercises = []
    for row in known["exercises"]:
        far = {
            rung["rung"]: min(climb["longest"] for climb in rung["climbs"])
            for rung in row["rungs"]
            if rung["rung"] not in ("attention", "transformer")
        }
        if "rnn" in far and far["rnn"] == min(far.values()) < max(far.values()):
            exercises.append(row["exercise"])
    return exercises
