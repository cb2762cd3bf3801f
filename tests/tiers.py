"""Two tiers of tests: `make test` runs the first one, `make test-all` runs everything.

A test is left out of the first tier by one of three marks:

    @pytest.mark.slow          it runs in `make test-all` alone
    @pytest.mark.pairwise      the first tier takes cases that hold every pair of parameter values
    @pytest.mark.each_value    the first tier takes cases that hold every parameter value

The cases are drawn from what the tables give (rung × task × option × …), never from a list. Each test
has a sample of its own, unless it names a group: tests of a file that share `pairwise("group")` or
`each_value("group")` share one sample, in which the test's name is one more parameter. So with pairs
every test meets every rung; with values every test runs, and every rung is met by one of them.

Of several marks the one nearest to the test counts. Tests named by node id run whatever their tier.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

SEED = 0
SIZES = {"pairwise": 2, "each_value": 1}  # mark → parameter values in a combination


def select(items: Sequence, seed: int = SEED) -> list[bool]:
    """For each collected test, whether it belongs to the first tier."""
    chosen = [item.get_closest_marker("slow") is None for item in items]
    groups = defaultdict(list)
    for at, item in enumerate(items):
        marker = next((mark for mark in item.iter_markers() if mark.name in SIZES), None)
        if chosen[at] and marker is not None:
            group = marker.args or (item.originalname,)
            groups[SIZES[marker.name], item.path, *group].append(at)
    for (size, *_), group in groups.items():
        covering = cover([parameters(items[at]) for at in group], size, seed)
        for number, at in enumerate(group):
            chosen[at] = number in covering
    return chosen


def parameters(item) -> dict[str, str]:
    """Name → value of every parameter of a collected test, the test's own name among them."""
    spec = getattr(item, "callspec", None)
    values = {} if spec is None else dict(spec.params)
    return {"test": item.originalname} | {
        name: repr(value) if is_plain(value) else f"#{spec.indices[name]}"
        for name, value in values.items()
    }


def is_plain(value: object) -> bool:
    """Whether its text is the same in every process."""
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, (str, int, float))


def cover(cases: Sequence[dict[str, str]], size: int = 2, seed: int = SEED) -> set[int]:
    """Cases that hold every combination of `size` parameter values that any of them holds.

    Greedy: few cases, not the fewest. Ties are broken by an order that `seed` draws."""
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    held = {at: combinations_in(cases[at], size) for at in order}
    missing = set().union(*held.values())
    chosen = set()
    for wanted in range(max(map(len, held.values()), default=0), 0, -1):
        for at in order:
            if at not in chosen and len(held[at] & missing) >= wanted:
                chosen.add(at)
                missing -= held[at]
    return chosen


def combinations_in(case: dict[str, str], size: int) -> frozenset:
    values = sorted(case.items())
    return frozenset(combinations(values, min(size, len(values))))
