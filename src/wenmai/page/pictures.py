"""The pictures of a comparison, as SVG: text stays text (Chinese renders anywhere), ink takes the page's colour."""

import io
import math
import re
import unicodedata
import warnings
from contextlib import contextmanager
from html import escape
from itertools import pairwise

from wenmai.locale import Message, phrase, phrases
from wenmai.locale.theirs import Theirs

FAMILIES = {  # Okabe and Ito's colour-blind-safe set, tuned to be seen on white and on black; one colour a family
    "#858585": ("ngram",),
    "#c98500": ("softmax", "logistic", "perceptron", "linear"),
    "#3f9fdc": ("mlp", "seq2seq"),  # no task has both
    "#009e73": ("cnn",),
    "#4c6fd1": ("rnn", "rnn-residual", "rnn-coupled", "rnn-gated"),
    "#c75b9b": ("gru", "lstm"),
    "#d55e00": ("transformer", "bert", "gpt", "attention"),
}
SHAPES = [
    ("-", "o"),
    ((0, (5, 1.5)), "s"),
    ((0, (1, 1.2)), "^"),
    ((0, (6, 1.5, 1, 1.5)), "D"),
]  # within a family
LANGS = ("en", "zh")
FONTS = ["Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei"]
INK, PAPER = "#010203", "#fdfcfb"  # two colours nobody else uses, so that svg() can find them again
METRICS = phrases(
    "metric",
    accuracy="accuracy",
    macro_f1="macro F1",
    span_f1="span F1",
    token_accuracy="token accuracy",
    mse="MSE",
    r2="R²",
    exact_match="exact match",
    f1="F1",
    bleu="BLEU",
    chrf="chrF",
    bleu_lower="BLEU, lower case",
    rouge_1="ROUGE-1",
    rouge_2="ROUGE-2",
    rouge_l="ROUGE-L",
    wer="WER",
    cer="CER",
    perplexity="perplexity",
    bits_per_byte="bits per byte",
    precision="precision",
    recall="recall",
    mae="MAE",
    perplexity_sliding="perplexity sliding",
    bits_per_byte_sliding="bits per byte sliding",
    perplexity_cache="perplexity cache",
    bits_per_byte_cache="bits per byte cache",
    perplexity_dynamic="perplexity dynamic",
    bits_per_byte_dynamic="bits per byte dynamic",
    perplexity_spelled="perplexity spelled",
    bits_per_byte_spelled="bits per byte spelled",
    masked_accuracy="masked accuracy",
    next_sentence_accuracy="next sentence accuracy",
)
COSTS = {  # what a rung may cost: name → (its value, the axis)
    "parameters": (lambda rung: rung.get("parameters"), phrase("picture", "parameters")),
    "seconds": (lambda rung: rung.get("seconds"), Message("training time, seconds")),
    "latency": (
        lambda rung: (rung.get("latency_ms") or {}).get("p50"),
        Message("time for one prediction, ms (median)"),
    ),
}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "wenmai",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.size": 9,
    "axes.labelsize": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.1,
    "grid.linewidth": 0.7,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
}


# How things are written: numbers and the user's words, the same in pictures, tables and pages.


def finite(x) -> float | None:
    """`x` where it is a number one can plot, else None."""
    return float(x) if isinstance(x, int | float) and math.isfinite(x) else None


def number(x, like=None) -> str:
    """A score: 0.905, 12.31, 1,204.5, with as many digits as `like` has; a dash where there is none."""
    if (x := finite(x)) is None:
        return "–"
    size = abs(x if like is None else like)
    return (
        f"{x:.2e}"
        if 0 < size < 1e-3
        else f"{x:.3f}"
        if size < 10
        else f"{x:.2f}"
        if size < 100
        else f"{x:,.1f}"
    )


def compact(x) -> str:
    """An amount in three digits: 11.2, 12k, 1.25M."""
    if (x := finite(x)) is None:
        return "–"
    for unit in ("", "k", "M", "G"):
        if abs(x) < 999.5:
            return f"{x:.3g}{unit}"
        x /= 1000
    return f"{x:.3g}T"


def clean(value, limit: int = 200) -> str:
    """The user's text made safe to look at: short, on one line, nothing invisible that turns the text around it."""
    text = (
        value
        if isinstance(value, str)
        else f"{value:.4g}"
        if isinstance(value, float)
        else str(value)
    )

    def visible(c: str) -> str:
        if c in "\r\n\t":
            return "⇥" if c == "\t" else "⏎"
        broken = (
            unicodedata.category(c) in ("Cc", "Cs") or ord(c) & 0xFFFE == 0xFFFE
        )  # none of these may stand in XML
        return (
            "\ufffd"
            if broken or unicodedata.bidirectional(c) in TURNS or c in "\u200e\u200f\u061c"
            else c
        )

    return "".join(map(visible, text[:limit])) + "…" * (len(text) > limit)


TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def metric_words(metric: str) -> Message:
    """What a metric is called; one that is not known, by its own name."""
    return METRICS.get(metric) or Theirs(
        re.sub(r"\bf1\b", "F1", clean(metric, 40).replace("_", " "))
    )


def metric_key(metric: str) -> Message:
    """As JSON has it, in English."""
    return Theirs(metric, METRICS.get(metric))


def main_score(report: dict, rung: dict) -> float | None:
    """What the rungs are ranked by: the main metric on the test rows."""
    return finite(((rung.get("scores") or {}).get("test") or {}).get(report["metric"]))


def limits(report: dict) -> tuple[float, float]:
    """The span of scores worth showing: one rung that learned nothing must not press all others into a line."""
    rows = [(main_score(report, rung), rung) for rung in report["rungs"] if not rung.get("failed")]
    scores = sorted(y for y, _ in rows if y is not None)
    bounds = [bound for y, rung in rows if y is not None for bound in interval(rung, y)]
    low, high = min(bounds, default=0), max(bounds, default=1)
    middle = scores[len(scores) // 2] if len(scores) > 3 else None
    if (
        middle is not None and report["higher_is_better"] and high > middle
    ):  # where half of them are perfect, all are shown
        low = max(low, middle - 3 * (high - middle))
    elif middle is not None and not report["higher_is_better"] and middle > low:
        high = min(high, middle + 3 * (middle - low))
    return low, high


def interval(rung: dict, y: float) -> tuple[float, float]:
    """The 95% interval around the score `y`; no wider than the score where there is none."""
    low, high = (finite(bound) for bound in rung.get("interval") or (None, None))
    return (y, y) if low is None or high is None else (low, high)


# The pictures.


def picture_files() -> list[str]:
    """The names that the pictures of a report may have."""
    return [
        "quality.png",
        *(
            f"{name}.{lang}.svg"
            for name in (*(f"quality-{cost}" for cost in COSTS), "curves", "sizes")
            for lang in LANGS
        ),
    ]


def pictures(report: dict) -> dict[str, dict[str, str]]:
    """name → language → SVG; a picture for which no rung has numbers is left out."""
    svgs: dict[str, dict[str, str]] = {}
    with _style():
        for lang in LANGS:
            figures = {f"quality-{cost}": quality(report, cost, lang) for cost in COSTS}
            judged = report | {"metric": report.get("judged") or report["metric"]}
            figures["curves"] = _lines(
                judged,
                lang,
                "curve",
                "seconds",
                Message("training time, seconds"),
                Message("on the validation rows"),
            )
            figures["sizes"] = _lines(
                report, lang, "sizes", "rows", Message("rows learned from"), dots=True
            )
            for name, figure in figures.items():
                if figure is not None:
                    svgs.setdefault(name, {})[lang] = _svg(figure, f"{name}-{lang}")
    return svgs


def in_both_languages(draw, name: str) -> dict[str, str]:
    """language → the SVG of the figure that draw(language) gives."""
    with _style():
        return {lang: _svg(draw(lang), f"{name}-{lang}") for lang in LANGS}


def png(report: dict) -> bytes | None:
    """The main picture on white paper, for places that show no SVG."""
    with _style():
        from matplotlib import rcParams

        rcParams["figure.facecolor"] = "white"
        if (figure := quality(report, "parameters", "en")) is None:
            return None
        figure.savefig(file := io.BytesIO(), format="png", dpi=160, metadata={"Software": None})
    return file.getvalue()


def as_file(svg: str) -> str:
    """An inline SVG as a file of its own, which must say what it is and choose its own ink."""
    style = "<style>svg{color:#24211d}@media(prefers-color-scheme:dark){svg{color:#e8e4dc;--paper:#181715}}</style>"
    return re.sub(
        r"^<svg ([^>]*)>", rf'<svg xmlns="http://www.w3.org/2000/svg" \1>{style}', svg, count=1
    )


def quality(report: dict, cost: str, lang: str):
    """Score against what it costs, with intervals and the front: the rungs that nothing cheaper beats."""
    value, words = COSTS[cost]
    rows = [
        (finite(value(rung)), main_score(report, rung), rung)
        for rung in report["rungs"]
        if not rung.get("failed")
    ]
    rows = [(x, y, rung) for x, y, rung in rows if x is not None and x > 0 and y is not None]
    if not rows:
        return None
    figure, axes = _axes(6.2, 4.5, right=0.97)
    low, high = limits(report)
    intervals = [[min(max(bound, low), high) for bound in interval(rung, y)] for _, y, rung in rows]
    _scale(axes, "x", [x for x, *_ in rows], pad=0.09)
    _scale(axes, "y", [low, high], pad=0.07)
    axes.set_xlabel(words.told_in(lang))
    axes.set_ylabel(_direction(report, lang))

    front, best = [], None
    for x, y, _ in sorted(
        rows, key=lambda row: (row[0], -row[1] if report["higher_is_better"] else row[1])
    ):
        if best is None or (y > best if report["higher_is_better"] else y < best):
            front.append((x, best := y))
    front.append((axes.get_xlim()[1], best))
    axes.plot(*zip(*front), color=INK, alpha=0.35, lw=1, ls=(0, (3, 2)), drawstyle="steps-post")
    points = []
    for (x, y, rung), bounds in zip(rows, intervals):
        colour, _, marker = _line_style(rung["rung"])
        outside = "↓" if y < low else "↑" if y > high else ""
        y, name = (
            min(max(y, low), high),
            clean(rung["rung"], 24) + f" {outside} {number(y)}" * bool(outside),
        )
        axes.plot([x, x], bounds, color=colour, alpha=0.5, lw=1.6, solid_capstyle="round")
        axes.plot([x], [y], marker, color=colour, ms=7, mec=PAPER, mew=0.8)
        points.append((x, y, name))
    _label_points(figure, axes, points, intervals, front)
    return figure


def _lines(report, lang, part, across, words, where=None, dots=False):
    """One line a rung; its name stands at the right edge, level with where the line ends."""
    series = []
    for rung in report["rungs"]:
        points = [
            (finite(point.get(across)), finite(point.get("score")))
            for point in rung.get(part) or []
        ]
        points = sorted((x, y) for x, y in points if x is not None and y is not None)
        if points:
            series.append((points, rung))
    if not series:
        return None
    figure, axes = _axes(5.4, max(3.8, 0.9 + 0.18 * len(series)), right=0.66)
    _scale(axes, "x", [x for points, _ in series for x, _ in points], pad=0.02)
    _scale(axes, "y", [y for points, _ in series for _, y in points], pad=0.05)
    axes.set_xlabel(words.told_in(lang))
    axes.set_ylabel(_direction(report, lang, where))

    right = axes.get_xlim()[1]
    for points, rung in series:
        colour, dash, marker = _line_style(rung["rung"])
        marker = marker if dots or len(points) == 1 else None
        axes.plot(*zip(*points), color=colour, ls=dash, lw=1.7, marker=marker, ms=4.5)
        axes.plot([points[-1][0], right], [points[-1][1]] * 2, color=colour, lw=0.7, alpha=0.35)

    series.sort(key=lambda line: -line[0][-1][1])  # from the top of the picture down
    gap, height = 12.5, axes.bbox.height
    ends = [
        axes.transData.transform((right, points[-1][1]))[1] - axes.bbox.y0 for points, _ in series
    ]
    at = [height + gap]
    for end in ends:
        at.append(min(end, at[-1] - gap))
    at = [*at[1:], -gap]
    for i in reversed(range(len(series))):  # pushed down too far: back up, as little as needed
        at[i] = max(at[i], at[i + 1] + gap)
    for (points, rung), end, y in zip(series, ends, at):
        colour, dash, _ = _line_style(rung["rung"])
        elbow = [1.0, 1.015, 1.03], [end / height, y / height, y / height]
        axes.plot(*elbow, transform=axes.transAxes, color=colour, lw=0.7, alpha=0.6, clip_on=False)
        sample = [1.03, 1.12], [y / height] * 2
        axes.plot(*sample, transform=axes.transAxes, color=colour, ls=dash, lw=1.7, clip_on=False)
        words = f"{clean(rung['rung'], 14)}  {number(points[-1][1])}"
        axes.text(1.135, y / height, words, transform=axes.transAxes, va="center", fontsize=8.5)
    return figure


def _label_points(figure, axes, points, intervals, front):
    """Every point's name at the nearest place where it covers no other name, no point, no line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    spots = [axes.transData.transform((x, y)) for x, y, _ in points]
    bars = [
        [axes.transData.transform((x, bound))[1] for bound in bounds]
        for (x, *_), bounds in zip(points, intervals)
    ]
    steps = [axes.transData.transform(step) for step in front]
    taken = [(x - 7, y - 6, x + 7, y + 6) for x, y in spots]
    taken += [(a[0], a[1] - 2, b[0], a[1] + 2) for a, b in pairwise(steps)]
    taken += [(x - 1, low, x + 1, high) for (x, _), (low, high) in zip(spots, bars)]
    frame, to_shares = (
        axes.bbox,
        figure.transFigure.inverted(),
    )  # pixels to shares: a PNG has other pixels than the SVG

    for (x, y), (_, _, name) in zip(spots, points):
        text = axes.text(
            0, 0, name, transform=figure.transFigure, ha="center", va="center", fontsize=8.5
        )
        size = text.get_window_extent(renderer)
        w, h = (
            size.width * 1.08,
            size.height,
        )  # the reader's font may be a little wider than the one measured here

        def cost(place, x=x, y=y, w=w, h=h):
            reach, turn = place
            box = _box(x, y, w, h, reach, turn)
            inside = (
                frame.x0 <= box[0]
                and box[2] <= frame.x1 + 12
                and frame.y0 <= box[1]
                and box[3] <= frame.y1 + 8
            )
            return (
                (not inside) * 1e6
                + reach
                + turn / 8
                + 40 * sum(_overlap(box, other) for other in taken)
            )

        reach, turn = min(
            ((r, t) for r in (0, 6, 14, 24, 36, 50, 66, 84, 104) for t in range(16)), key=cost
        )
        box = _box(x, y, w, h, reach, turn)
        text.set_position(to_shares.transform(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)))
        taken.append(box)
        end = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
        if math.dist((x, y), end) > 10:
            leader = zip(*to_shares.transform([(x, y), end]))
            axes.plot(
                *leader, transform=figure.transFigure, color=INK, alpha=0.35, lw=0.6, zorder=1
            )


def _box(x, y, w, h, reach, turn):
    """The box of a name `reach` away from its point, in one of sixteen directions."""
    angle = turn * math.pi / 8
    x += math.cos(angle) * (w / 2 + 8 + reach)
    y += math.sin(angle) * (h / 2 + 7 + reach)
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _overlap(a, b) -> float:
    across, up = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(0, across) * max(0, up)


def _line_style(rung: str):
    for colour, family in FAMILIES.items():
        if rung in family:
            return colour, *SHAPES[family.index(rung)]
    return INK, *SHAPES[sum(map(ord, rung)) % len(SHAPES)]


def _direction(report, lang, where=None) -> str:
    better = (
        Message("higher is better") if report["higher_is_better"] else Message("lower is better")
    )
    if where:
        words = Message(
            "{metric} {where} ({better})",
            metric=metric_words(report["metric"]),
            where=where,
            better=better,
        )
    else:
        words = Message("{metric} ({better})", metric=metric_words(report["metric"]), better=better)
    return words.told_in(lang)


def _axes(width, height, right):
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width, height), dpi=72
    )  # 72: one pixel of the layout below is one point of the SVG
    return figure, figure.add_axes(
        (0.65 / width, 0.5 / height, right - 0.65 / width, 1 - 0.62 / height)
    )


def _scale(axes, which, values, pad):
    """Logarithmic where the values span decades; limits fixed here, because labels are placed in pixels later."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = min(values), max(values)
    share = which == "y" and high <= 1  # a score that ends at 1 is read from 0 to 1
    if logarithmic := low > 0 and not share and high / low > (4 if which == "x" else 20):
        getattr(axes, f"set_{which}scale")("log")
        low, high = math.log10(low), math.log10(high)
    room = (high - low) * pad or abs(high) * 0.1 or 0.1
    limits = (
        [10**bound for bound in (low - room, high + room)]
        if logarithmic
        else [low - room, high + room]
    )
    getattr(axes, f"set_{which}lim")(*limits)
    axis = getattr(axes, f"{which}axis")
    if logarithmic:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if limits[1] / limits[0] < 300 else (1,)))
        axis.set_minor_locator(NullLocator())
    if (
        which == "y" and not logarithmic and (limits[1] - limits[0]) < 0.005 * abs(limits[1])
    ):  # 0.9992, 0.9994: no two alike
        digits = 1 - math.floor(math.log10(limits[1] - limits[0]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.{digits}f}"))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
    axis.set_tick_params(length=0, pad=5)


@contextmanager
def _style():
    """Matplotlib with our style whatever the user's is, and silent about fonts: the reader's machine chooses them."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        matplotlib.rcdefaults()
        fonts = ["DejaVu Sans", *chinese_fonts()]  # others would be logged
        matplotlib.rcParams.update(STYLE | {"font.family": fonts})
        yield


def chinese_fonts() -> list[str]:
    """Those of ours that are installed here."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return [font for font in FONTS if font in installed]


def _svg(figure, name: str) -> str:
    """The figure as inline SVG: no addresses, ids apart from other pictures', colours that follow the page."""
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file := io.StringIO(), format="svg", metadata=nothing)
    text = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", file.getvalue(), flags=re.S
    )
    box, body = re.search(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>(.*)</svg>', text, re.S).groups()
    body = re.sub(
        r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if f"#{m[1]}" in body else "", body
    )
    body = re.sub(
        r'(url\(|xlink:href=")#', lambda m: f"{m[1].removeprefix('xlink:')}#{name}-", body
    )
    body = body.replace('xlink:href="data:', 'href="data:')  # of a picture in the picture
    body = re.sub(r"font: ((?:[\w.]+ )*?[\d.]+px) [^;\"]*", r"font-size: \1", body)
    body = body.replace(INK, "currentColor").replace(PAPER, "var(--paper,#fff)")
    body = re.sub(r">\s+<", "><", body)
    fonts = escape(", ".join(["system-ui", *(f"'{font}'" for font in FONTS), "sans-serif"]))
    _, _, width, height = box.split()
    return (
        f'<svg viewBox="{box}" width="{width}pt" height="{height}pt" role="img" aria-label="{name}" '
        f'font-family="{fonts}" stroke-linejoin="round">{body}</svg>'
    )
