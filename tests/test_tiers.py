"""The first tier's sample: every pair is held, by few cases, and the same ones every time."""

from itertools import combinations, product

import pytest
from tiers import cover, select

CASES = [
    {"test": test, "rung": rung, "task": task, "option": option}
    for test, rung, task, option in product("abc", "rstuvw", "xyz", "01")
    if (rung, task) != ("r", "x")  # a rung that does not do a task
]


def held(cases: list[dict], size: int) -> set:
    return {pair for case in cases for pair in combinations(sorted(case.items()), size)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_combination_is_held_by_few_cases(size, seed):
    chosen = [CASES[at] for at in cover(CASES, size, seed)]
    assert held(chosen, size) == held(CASES, size)
    assert len(chosen) <= len(CASES) * {1: 0.1, 2: 0.35, 3: 0.8}[size]


def test_the_sample_follows_from_the_seed():
    assert cover(CASES, 2, 0) == cover(CASES, 2, 0) != cover(CASES, 2, 1)
    assert cover([]) == set() and cover([{"test": "alone"}]) == {0}


MODULE = """
import pytest

def test_plain(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.pairwise("group")
@pytest.mark.parametrize("b", range(4))
@pytest.mark.parametrize("a", range(4))
def test_pairs(a, b): pass

@pytest.mark.each_value
@pytest.mark.parametrize("b", range(4))
@pytest.mark.parametrize("a", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_values(a, b): pass
"""


def test_marks_leave_tests_out(tmp_path):
    (tmp_path / "test_made.py").write_text(MODULE)

    class Collected:
        def pytest_collection_modifyitems(self, items):
            self.items, self.first = list(items), select(items)

    seen = Collected()
    options = ["-q", "--collect-only", "-p", "no:cacheprovider"]
    marks = ["slow", "pairwise", "each_value"]
    registered = [f"--override-ini=markers={chr(10).join(marks)}"]
    pytest.main([*options, *registered, f"--rootdir={tmp_path}", str(tmp_path)], [seen])
    kept = [item.name for item, first in zip(seen.items, seen.first) if first]
    names = [item.name for item in seen.items]
    assert "test_plain" in kept and "test_slow" not in kept and len(names) == 34
    assert sum(name.startswith("test_pairs") for name in kept) == 16  # two parameters: every pair
    values = [name for name in kept if name.startswith("test_values")]
    assert len(values) == 4 and not any("3-" in name for name in values)
