"""Probes: small experiments that show why a rung is built as it is, each a table and a picture. PROBES is the table.

A probe's `run(source, columns, settings, seed)` yields what the terminal draws (name, stage, Progress) and returns a Finding.

sparsity.py  n-grams never seen, and smoothing; sparsity_picture.py
memory.py    how far each rung remembers: exercises.py, climbing.py (growing lengths), fading.py (gradients), memory_picture.py
parallel.py  one step after another, or all at once
gates.py     gru and lstm; heads.py: one head and many; depth.py: layers and both ways
variants.py  what these three share; variants_picture.py
finding.py   what a probe returns: numbers, tables, a picture, sentences; growing.py: numbers of an option that grow
"""

from collections.abc import Callable
from dataclasses import dataclass

from wenmai.errors import unknown
from wenmai.evaluation.probes import depth, gates, heads, memory, parallel, sparsity

__all__ = ["PROBES", "Probe", "probe_named"]


@dataclass(frozen=True)
class Probe:
    name: str
    about: str
    about_zh: str
    data: str  # what it reads where nothing else is said; nothing where it makes its own
    run: Callable


PROBES = {probe.name: probe for probe in (
    Probe("sparsity",
          "Why n-grams need smoothing: how many of them are new in held-out text, and what each smoothing makes of it.",
          "n 元为什么需要平滑：留出的文本里有多少 n 元从未见过，每种平滑怎样应对。", "manual", sparsity.run),
    Probe("memory",
          "How far each rung remembers (copy, running-sum, adding), and how the last loss fades on its way back.",
          "每一级能记多远（复制、累加、加法），以及最后的损失传回去时梯度怎样消失。", "", memory.run),
    Probe("parallel",
          "Time of a pass against length: recurrent layers one step after another, self-attention all at once.",
          "一次前向与反向的时间随长度怎样增长：循环层逐步进行，自注意力一次完成。", "", parallel.run),
    Probe("gates",
          "gru against lstm, and rnn as the floor: quality and cost at equal size and at equal number of weights.",
          "gru 与 lstm，以 rnn 为底线：大小相同、权重个数相同时的质量与代价。", "languages", gates.run),
    Probe("heads",
          "One head of attention against many at equal width: quality, and how differently the heads look.",
          "同样宽度下一个注意力头与多个头：质量，以及各头看得有多不同。", "languages", heads.run),
    Probe("depth",
          "One layer against two and three, one way against both: quality and cost of a recurrent rung.",
          "一层、两层与三层，单向与双向：循环网络的质量与代价。", "languages", depth.run),
)}  # fmt: skip


def probe_named(name: str) -> Probe:
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name]
