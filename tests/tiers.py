"""Two tiers of tests: `make test` runs the first one, `make test-all` runs everything.

A test is left out of the first tier in one of two ways:

    @pytest.mark.slow        it runs in `make test-all` alone
    @pytest.mark.pairwise    of its parameters, the first tier takes a sample that holds every pair

The sample is drawn from what the tables give (rung × task × option × …), never from a list. Tests of
a file that share a group, `pairwise("group")`, share one sample: the test's name is one more
parameter, so that every test meets every rung, every rung every option, and so on.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

SEED = 0


def select(items: Sequence, seed: int = SEED) -> list[bool]:
    """For each collected test, whether it belongs to the first tier."""
    chosen = [item.get_closest_marker("slow") is None for item in items]
    groups = defaultdict(list)
    for at, item in enumerate(items):
        marker = item.get_closest_marker("pairwise")
        if chosen[at] and marker is not None:
            test = f"{item.path}::{item.originalname}"
            groups[(item.path, *marker.args) if marker.args else test].append(at)
    for group in groups.values():
        covering = cover([parameters(items[at]) for at in group], seed)
        for number, at in enumerate(group):
            chosen[at] = number in covering
    return chosen


def parameters(item) -> dict[str, str]:
    """Name → value of every parameter of a collected test, the test's own name among them."""
    spec = getattr(item, "callspec", None)
    values = {} if spec is None else dict(spec.params)
    return {"test": item.originalname} | {
        name: str(value) if is_plain(value) else f"#{spec.indices[name]}"
        for name, value in values.items()
    }


def is_plain(value: object) -> bool:
    """Whether its text is the same in every process."""
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, (str, int, float))


def cover(cases: Sequence[dict[str, str]], seed: int = SEED) -> set[int]:
    """Cases that hold every pair of values which any case holds; greedy, so few but not fewest.

    Ties are broken by an order that `seed` draws. A single parameter counts as its own pair."""
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    pairs = {at: pairs_of(cases[at]) for at in order}
    missing = set().union(*pairs.values()) if pairs else set()
    chosen = set()
    for wanted in range(max(map(len, pairs.values()), default=0), 0, -1):
        for at in order:
            if at not in chosen and len(pairs[at] & missing) >= wanted:
                chosen.add(at)
                missing -= pairs[at]
    return chosen


def pairs_of(case: dict[str, str]) -> frozenset:
    values = sorted(case.items())
    return frozenset(combinations(values, 2)) if len(values) > 1 else frozenset([tuple(values)])
