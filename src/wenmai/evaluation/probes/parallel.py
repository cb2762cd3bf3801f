"""parallel: a recurrent layer takes one step after another, self-attention all at once; one grows with T, the other with T².

One layer of each, forward and backward, at growing length T and a fixed batch. At the long end time ≈ c·Tᵖ; the exponent p is
fitted there: near 1 for a chain of steps, near 2 for all pairs of places."""

import time
from collections.abc import Iterator
from math import inf, log
from statistics import median

from wenmai.errors import Mistake
from wenmai.evaluation.probes.finding import Finding, Grid, growing_numbers
from wenmai.evaluation.probes.memory import refuse
from wenmai.locale import Message
from wenmai.options import assign_options
from wenmai.training.progress import Progress

LAYERS = ("rnn", "lstm", "gru", "self-attention")
LOOKS = {
    "rnn": ("#4c6fd1", "-", "o"),
    "lstm": ("#c75b9b", "-", "s"),
    "gru": ("#c98500", (0, (4, 1.5)), "^"),
    "self-attention": ("#009e73", "-", "D"),
}
LONG = 4  # of the longest lengths, by which the exponent is told
MOST = 65_536


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    refuse("parallel", source, columns)
    known = yield from measured(
        seed, **assign_options(settings or {}, {"probe": measured})["probe"]
    )
    notes = [
        Message(
            "one layer of width {width} each, self-attention with {heads} heads; a batch of {batch} rows, in 32 bits, "
            "on {device}, {threads} threads",
            width=known["width"],
            heads=known["heads"],
            batch=known["batch"],
            device=known["device"],
            threads=known["threads"],
        ),
        Message(
            "forward and backward, the median of {repeats} that took turns, after one that does not count",
            repeats=known["repeats"],
        ),
        Message(
            "the exponent p of time ≈ c·Tᵖ is fitted to the {count} longest",
            count=min(LONG, len(known["lengths"])),
        ),
    ]
    title = Message("Serial against parallel, linear against quadratic")
    return Finding(known, title, tables, picture, conclusions(known), notes)


def measured(
    seed: int,
    *,
    lengths: str = "64,128,256,512,1024,2048,4096",
    batch: int = 4,
    width: int = 128,
    heads: int = 4,
    repeats: int = 5,
    device: str = "auto",
) -> Iterator:
    """`lengths` T; `batch` rows of `width` numbers a step; `repeats` passes each, of which the median counts."""
    import torch

    from wenmai.layers.transformer import check_heads
    from wenmai.training.distributed import device_named

    began, device = time.perf_counter(), device_named(device)
    growing = growing_numbers(lengths)
    if len(growing) < 2 or not 1 <= growing[0] <= growing[-1] <= MOST:
        raise Mistake(
            "lengths={lengths}: expected two or more growing lengths up to {most:,}, such as 64,256,1024.",
            lengths=lengths,
            most=MOST,
        )
    check_heads(width, heads)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        passes = {name: one_pass(name, width, heads, device) for name in LAYERS}
    timings = {name: [[] for _ in growing] for name in LAYERS}
    for at, steps in enumerate(growing):
        x = torch.randn(batch, steps, width, generator=torch.Generator().manual_seed(seed)).to(
            device
        )
        for turn in range(repeats + 1):
            for name in LAYERS:
                seconds = timed(passes[name], x, device)
                timings[name][at] += [seconds] if turn else []  # the first fills caches
        progress = Progress(at + 1, len(growing), 0.0, inf, 0.0, time.perf_counter() - began)
        yield "parallel", f"T={steps}", progress
    layers = []
    for name in LAYERS:
        middle = [median(values) for values in timings[name]]
        layers.append(
            {
                "layer": name,
                "seconds": middle,
                "fastest": [min(values) for values in timings[name]],
                "slowest": [max(values) for values in timings[name]],
                "exponent": exponent(growing[-LONG:], middle[-LONG:]),
            }
        )
    return {
        "probe": "parallel",
        "lengths": growing,
        "batch": batch,
        "width": width,
        "heads": heads,
        "repeats": repeats,
        "device": device,
        "threads": torch.get_num_threads(),
        "seed": seed,
        "layers": layers,
        "seconds": round(time.perf_counter() - began, 1),
    }


def one_pass(name: str, width: int, heads: int, device: str):
    """x (B, T, E) → a loss to go back from."""
    import torch

    from wenmai.layers.attention import MultiHeadAttention
    from wenmai.layers.recurrent import Recurrent

    if name == "self-attention":
        layer = MultiHeadAttention(width, heads).to(device)
        return lambda x: layer(x, None).sum()
    layer = Recurrent(width, width, name).to(device)
    return lambda x: layer(x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device))[0].sum()


def timed(forward, x, device: str) -> float:
    import torch

    def waited() -> float:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        return time.perf_counter()

    x = x.detach().requires_grad_()
    began = waited()
    forward(x).backward()
    return waited() - began


def exponent(lengths: list[int], seconds: list[float]) -> float:
    """The slope of log time over log T, by least squares."""
    across, up = [log(value) for value in lengths], [log(value) for value in seconds]
    x, y = sum(across) / len(across), sum(up) / len(up)
    return sum((a - x) * (b - y) for a, b in zip(across, up)) / sum((a - x) ** 2 for a in across)


def conclusions(known: dict) -> list[str]:
    lengths, rows = known["lengths"], {row["layer"]: row for row in known["layers"]}
    attention, lstm = rows["self-attention"], rows["lstm"]
    listed = ", ".join(f"{name} {row['exponent']:.2f}" for name, row in rows.items())
    ratios = [slow / fast for slow, fast in zip(lstm["seconds"], attention["seconds"])]
    return [
        Message("Time grows at the long end as T to the power of: {listed}.", listed=listed),
        Message(
            "The lstm takes {ratio1:.1f} times as long as self-attention at T = {length1} and {ratio2:.1f} times at "
            "T = {length2}.",
            ratio1=ratios[0],
            length1=lengths[0],
            ratio2=ratios[-1],
            length2=lengths[-1],
        ),
    ]


def tables(known: dict, lang: str) -> list[Grid]:
    head = ["T", *known_names(lang)]
    rows = [
        [f"{steps:,}", *(f"{row['seconds'][at] * 1000:,.2f}" for row in known["layers"])]
        for at, steps in enumerate(known["lengths"])
    ]
    rows.append(
        [
            Message("exponent p").told_in(lang),
            *(f"{row['exponent']:.2f}" for row in known["layers"]),
        ]
    )
    return [
        Grid(Message("Milliseconds of one forward and backward pass").told_in(lang), head, rows)
    ]


def known_names(lang: str) -> list[str]:
    return [
        Message("self-attention").told_in(lang) if name == "self-attention" else name
        for name in LAYERS
    ]


def picture(known: dict, lang: str):
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    lengths = known["lengths"]
    figure = Figure(figsize=(8.6, 4.9), dpi=72)
    axes = figure.add_axes((0.1, 0.13, 0.62, 0.78))
    for row, name in zip(known["layers"], known_names(lang)):
        colour, dash, marker = LOOKS[row["layer"]]
        milliseconds = [1000 * seconds for seconds in row["seconds"]]
        axes.plot(
            lengths,
            milliseconds,
            color=colour,
            ls=dash,
            marker=marker,
            ms=6,
            lw=2,
            label=f"{name}, p = {row['exponent']:.2f}",
        )
        axes.fill_between(
            lengths,
            [1000 * value for value in row["fastest"]],
            [1000 * value for value in row["slowest"]],
            color=colour,
            alpha=0.12,
            lw=0,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(lengths))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.yaxis.set_major_locator(LogLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(length=0, pad=5, labelsize=10.5)
    axes.set_xlabel(Message("length T").told_in(lang), fontsize=11)
    axes.set_ylabel(Message("one forward and backward pass, ms").told_in(lang), fontsize=11)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=10.5)
    return figure
