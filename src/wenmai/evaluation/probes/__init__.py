"""Probes: small experiments that show why a rung is built as it is, each a table and a picture. PROBES is the table.

A probe's `run(source, columns, settings, seed)` yields what the terminal draws (name, stage, Progress) and returns a Finding.
"""

from collections.abc import Callable
from dataclasses import dataclass

from wenmai.errors import unknown
from wenmai.evaluation.probes import sparsity

__all__ = ["PROBES", "Probe", "probe_named"]


@dataclass(frozen=True)
class Probe:
    name: str
    about: str
    about_zh: str
    data: str  # what it reads where nothing else is said
    run: Callable


PROBES = {
    probe.name: probe
    for probe in (
        Probe("sparsity",
              "Why n-grams need smoothing: how many of them are new in held-out text, and what each smoothing makes of it.",
              "n 元为什么需要平滑：留出的文本里有多少 n 元从未见过，每种平滑怎样应对。", "manual", sparsity.run),
    )
}  # fmt: skip


def probe_named(name: str) -> Probe:
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name]
