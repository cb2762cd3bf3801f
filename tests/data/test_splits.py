"""Splits: no text on both sides, every class in the first part, sizes as asked."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wenmai.data.splits import groups_of, split, split_by_position

FEW = settings(max_examples=80, deadline=None)


@FEW
@given(
    texts=st.lists(st.text("ab", max_size=4), min_size=1, max_size=60),
    shares=st.lists(st.floats(0, 0.4), max_size=2),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_nothing_is_lost_and_no_text_stands_on_both_sides(texts, shares, seed, data):
    labels = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(texts), max_size=len(texts)))
    parts = split(texts, shares, seed, labels)
    assert len(parts) == 1 + len(shares)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(texts)))
    sides = [{texts[row] for row in part} for part in parts]
    assert sum(map(len, sides)) == len(set().union(*sides))
    assert {labels[row] for row in parts[0]} == set(labels)
    assert [part.tolist() for part in split(texts, shares, seed, labels)] == [
        part.tolist() for part in parts
    ]
    assert all((np.diff(part) > 0).all() for part in parts)  # in the order of the file


@FEW
@given(st.integers(10, 400), st.floats(0.05, 0.3), st.floats(0.05, 0.3), st.integers(0, 99))
def test_sizes_are_as_asked(count, valid, test, seed):
    texts = [f"text {n}" for n in range(count)]
    parts = split(texts, [valid, test], seed)
    assert [len(part) for part in parts[1:]] == [
        max(1, round(valid * count)),
        max(1, round(test * count)),
    ]
    assume(count > 30)
    assert split(texts, [valid, test], seed + 1)[1].tolist() != parts[1].tolist()


def test_a_share_of_nothing_takes_nothing():
    assert [len(part) for part in split(["a", "b"], [0.0, 0.0], 0)] == [2, 0, 0]
    assert [len(part) for part in split(["a"], [0.5], 0)] == [1, 0]
    assert [len(part) for part in split([], [0.5], 0)] == [0, 0]


def test_a_rare_class_stays_in_the_first_part():
    texts = [f"text {n}" for n in range(100)]
    labels = ["often"] * 99 + ["once"]
    assert all(99 in split(texts, [0.4], seed, labels)[0] for seed in range(20))
    assert any(
        99 in split(texts, [0.4], seed)[1] for seed in range(20)
    )  # without labels it need not


def test_equal_inputs_are_one_group():
    assert groups_of(["a", "b", "a", "A"]).tolist() == [0, 1, 0, 2]
    assert groups_of([("a", "b"), ["a", "b"], ("b", "a")]).tolist() == [0, 0, 1]
    assert groups_of(np.array([[1.0, 2], [2, 1], [1, 2]])).tolist() == [0, 1, 0]
    pictures = np.zeros((3, 4, 4), np.uint8)
    pictures[1, 3, 3] = 1
    assert groups_of(pictures).tolist() == [0, 1, 0]


def test_of_a_series_a_share_is_one_row_at_the_least():
    first, second = split_by_position(10, [0.01], 0)
    assert first.tolist() == list(range(9)) and second.tolist() == [9]
    assert [part.tolist() for part in split_by_position(6, [0.0, 0.34], 1)] == [
        [0, 1, 2, 3],
        [],
        [3, 4, 5],
    ]


def test_of_two_texts_each_part_gets_one():
    assert [len(part) for part in split(["a", "b"], [0.5], 0)] == [1, 1]
    assert sorted(len(part) for part in split(["a", "a", "a", "b"], [0.5], 0)) == [1, 3]
    held_out = {row for seed in range(60) for row in split([*"abcdefgh"], [0.2], seed)[1].tolist()}
    assert held_out == {*range(8)}  # any may be
