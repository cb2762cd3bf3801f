"""Probes: small experiments that show why a rung is built as it is, each a table and a picture. PROBES is the table.

A probe's `run(source, columns, settings, seed)` yields what the terminal draws (name, stage, Progress) and returns a Finding.

sparsity.py  n-grams never seen, and smoothing; sparsity_picture.py
memory.py    how far each rung remembers: exercises.py, climbing.py (growing lengths), fading.py (gradients), memory_picture.py
parallel.py  one step after another, or all at once
gates.py     gru and lstm; heads.py: one head and many; depth.py: layers and both ways
variants.py  what these three share; variants_picture.py
finding.py   what a probe returns: numbers, tables, a picture, sentences
"""

from collections.abc import Callable
from dataclasses import dataclass

from wenmai.errors import unknown
from wenmai.evaluation.probes import depth, gates, heads, memory, parallel, sparsity
from wenmai.locale import Message

__all__ = ["PROBES", "Probe", "probe_named"]


@dataclass(frozen=True)
class Probe:
    name: str
    data: str  # what it reads where nothing else is said; nothing where it makes its own
    run: Callable
    about: Message


PROBES = {
    probe.name: probe
    for probe in (
        Probe(
            "sparsity",
            "manual",
            sparsity.run,
            Message(
                "Why n-grams need smoothing: how many of them are new in held-out text, and what each smoothing makes of "
                "it."
            ),
        ),
        Probe(
            "memory",
            "",
            memory.run,
            Message(
                "How far each rung remembers (copy, running-sum, adding), and how the last loss fades on its way back."
            ),
        ),
        Probe(
            "parallel",
            "",
            parallel.run,
            Message(
                "Time of a pass against length: recurrent layers one step after another, self-attention all at once."
            ),
        ),
        Probe(
            "gates",
            "languages",
            gates.run,
            Message(
                "gru against lstm, and rnn as the floor: quality and cost at equal size and at equal number of weights."
            ),
        ),
        Probe(
            "heads",
            "languages",
            heads.run,
            Message(
                "One head of attention against many at equal width: quality, and how differently the heads look."
            ),
        ),
        Probe(
            "depth",
            "languages",
            depth.run,
            Message(
                "One layer against two and three, one way against both: quality and cost of a recurrent rung."
            ),
        ),
    )
}


def probe_named(name: str) -> Probe:
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name]
