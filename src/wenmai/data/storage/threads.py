"""Work that is cut into parts, a thread a part; kernels that let go of the interpreter's lock then run side by side."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

MOST = 8  # what is counted waits for memory: more threads wait together


def threads() -> int:
    """As many as this process may have cores, or as OMP_NUM_THREADS allows."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return min(MOST, cores, max(1, int(allowed)) if allowed.isdecimal() else cores)


def side_by_side(work: Callable, calls: Iterable[tuple]) -> list:
    """work(*call) of every call, in their order. Such work must not ask for this itself: all threads might wait for one."""
    calls = list(calls)
    if len(calls) < 2:
        return [work(*call) for call in calls]
    return list(pool("wenmai", threads()).map(lambda call: work(*call), calls))


@cache
def pool(name: str, size: int) -> ThreadPoolExecutor:
    """Kept, since starting threads took as long as scoring 70,000 words; and beside another program a new thread may be put on
    the core that this one has, and stays there for tens of milliseconds, where one that wakes goes back to its own."""
    return ThreadPoolExecutor(size, name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # a child has none of its parent's threads
