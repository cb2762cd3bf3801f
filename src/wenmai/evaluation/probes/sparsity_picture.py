"""The picture of sparsity: what was never seen, by order; then the perplexities, a panel an amount of text."""

from math import inf

from wenmai.locale import Message, told_in
from wenmai.page.pictures import INK, PAPER, compact

# Okabe and Ito's colours, which the colour-blind can tell apart; dashes and markers say the same once more.
LOOKS = {
    "none": ("#858585", "-", "x"),
    "add-one": ("#d55e00", "-", "s"),
    "add-delta": ("#d55e00", (0, (4, 1.5)), "s"),
    "absolute": ("#c98500", "-", "^"),
    "witten-bell": ("#009e73", "-", "v"),
    "katz": ("#c75b9b", (0, (4, 1.5)), "P"),
    "kneser-ney": ("#3f9fdc", (0, (4, 1.5)), "o"),
    "modified-kneser-ney": (INK, "-", "o"),
}
NAMES = {
    "none": Message("none: ∞"),
    "add-one": Message("add-one"),
    "add-delta": Message("add-delta"),
    "absolute": Message("absolute"),
}
AMOUNTS = [
    ("#a6c8ea", "D"),
    ("#6ea3dc", "^"),
    ("#3a78c2", "s"),
    ("#1d4f91", "o"),
]  # the more text, the darker
WIDTH, HEIGHT = 14.5, 5.1


def picture(known: dict, lang: str):
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    orders, amounts = known["orders"], known["amounts"]
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72)
    bottom, height = 1.2 / HEIGHT, 1 - 1.85 / HEIGHT
    shares = figure.add_axes((0.75 / WIDTH, bottom, 2.75 / WIDTH, height))
    for amount, (colour, marker) in zip(amounts, AMOUNTS):
        shares.plot(
            orders,
            [100 * share for share in amount["unseen"]],
            color=colour,
            marker=marker,
            ms=7,
            lw=2.2,
            mec=PAPER,
            mew=0.6,
            label=called(amount, known["unit"]).told_in(lang),
            clip_on=False,
        )
    shares.set_ylim(0, 100)
    shares.set_ylabel(Message("n-grams never seen, %").told_in(lang), fontsize=11)
    shares.set_title(Message("New n-grams in held-out text").told_in(lang), fontsize=12, pad=24)
    across(shares, orders, lang)
    shares.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=2,
        frameon=False,
        fontsize=10,
        handlelength=1.5,
        columnspacing=1.0,
    )

    left, wide, gap = 4.45, 2.3, 0.16
    values = [
        value
        for amount in amounts
        for row in amount["perplexity"].values()
        for value in row
        if value < inf
    ]
    ratio = max(values) / min(values)
    for at, amount in enumerate(amounts):
        axes = figure.add_axes(((left + at * (wide + gap)) / WIDTH, bottom, wide / WIDTH, height))
        lines = panel(axes, amount, orders)
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 1.12, max(values) * 1.12)
        axes.yaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if ratio < 300 else (1, 3) if ratio < 3000 else (1,))
        )
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
        axes.set_title(called(amount, known["unit"]).told_in(lang), fontsize=12, pad=24)
        across(axes, orders, lang)
        if at == 0:
            axes.set_ylabel(
                Message("perplexity, held out (lower is better)").told_in(lang), fontsize=11
            )
        else:
            axes.tick_params(labelleft=False)
    middle = (left + 2 * wide + 1.5 * gap) / WIDTH
    figure.legend(
        lines,
        [told_in(NAMES.get(kind, kind), lang) for kind in LOOKS],
        loc="upper center",
        ncols=4,
        frameon=False,
        bbox_to_anchor=(middle, bottom - 0.16 * height),
        fontsize=10.5,
        handlelength=2.6,
    )
    return figure


def panel(axes, amount: dict, orders: list[int]) -> list:
    """A line a smoothing; where it is infinite, ∞ stands above the axis."""
    lines = []
    for kind, (colour, dash, marker) in LOOKS.items():
        row = amount["perplexity"][kind]
        seen = [(n, value) for n, value in zip(orders, row) if value < inf]
        best, cross = kind == "modified-kneser-ney", marker == "x"
        lines += axes.plot(
            [n for n, _ in seen],
            [value for _, value in seen],
            color=colour,
            ls=dash,
            marker=marker,
            ms=6.5,
            mew=1.5 if cross else 0.6,
            mec=colour if cross else PAPER,
            lw=2.6 if best else 1.8,
            zorder=3 if best else 2,
        )
        for n in (n for n, value in zip(orders, row) if value == inf):
            axes.text(
                n,
                1.015,
                "∞",
                transform=axes.get_xaxis_transform(),
                color=colour,
                ha="center",
                va="bottom",
                fontsize=14,
            )
    return lines


def called(amount: dict, unit: str) -> Message:
    """How much of the text: '1/16, 2.25k words'"""
    values = {
        "share": Message("all") if amount["share"] == "all" else amount["share"],
        "size": compact(amount["tokens"]),
    }
    if unit == "word":
        return Message("{share}, {size} words", **values)
    if unit == "character":
        return Message("{share}, {size} characters", **values)
    return Message("{share}, {size} subwords", **values)


def across(axes, orders: list[int], lang: str) -> None:
    axes.set_xlim(orders[0] - 0.35, orders[-1] + 0.35)
    axes.set_xticks(orders)
    axes.set_xlabel(Message("order n").told_in(lang), fontsize=11)
    axes.tick_params(length=0, pad=5, labelsize=10.5)
