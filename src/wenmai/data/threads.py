"""Work that is cut into parts, a thread a part; kernels that let go of the interpreter's lock then run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

MOST = 8  # what is counted waits for memory: more threads wait together


def threads() -> int:
    """As many as this process may have cores."""
    return min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def side_by_side(work: Callable, calls: Iterable[tuple]) -> list:
    """work(*call) of every call, in their order."""
    calls = list(calls)
    if len(calls) < 2:
        return [work(*call) for call in calls]
    with ThreadPoolExecutor(min(len(calls), threads())) as pool:
        return list(pool.map(lambda call: work(*call), calls))
