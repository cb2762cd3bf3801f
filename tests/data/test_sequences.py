"""Ragged rows: what goes in comes out, cut, taken, padded and joined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.wrapping import Wrapping

FEW = settings(max_examples=60, deadline=None)
ragged = st.lists(st.lists(st.integers(1, 99), max_size=6), max_size=7)


def rows_of(sequences):
    return [sequences[row].tolist() for row in range(len(sequences))]


@FEW
@given(ragged, st.data())
def test_rows_go_in_and_come_out(rows, data):
    sequences = Sequences.of(rows)
    assert rows_of(sequences) == rows and sequences.lengths.tolist() == list(map(len, rows))
    assert sequences.flat.dtype == np.int32
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    assert rows_of(sequences.take(np.array(some, np.int64))) == [rows[row] for row in some]


@FEW
@given(ragged.filter(bool), st.integers(1, 8), st.integers(-1, 0))
def test_padded_rows(rows, longest, pad):
    values, mask, beside = Sequences.of(rows).padded(np.arange(len(rows)), longest, pad)
    width = max(1, min(longest, max(map(len, rows))))
    assert values.shape == mask.shape == (len(rows), width) and not beside
    for row, wanted in enumerate(rows):
        kept = wanted[:longest]
        assert values[row].tolist() == kept + [pad] * (width - len(kept))
        assert mask[row].tolist() == [True] * len(kept) + [False] * (width - len(kept))


def test_frames_are_padded_too():
    frames = Sequences.of([np.ones((2, 3)), np.zeros((0, 3)), np.full((1, 3), 5.0)], np.float32)
    values, mask, _ = frames.padded(np.array([2, 0, 1]), 10)
    assert values.shape == (3, 2, 3) and values.dtype == np.float32
    assert mask.tolist() == [[True, False], [True, True], [False, False]]
    assert (
        values[0].tolist() == [[5, 5, 5], [0, 0, 0]]
        and values[1].min() == 1
        and not values[2].any()
    )


@FEW
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(6, 99), max_size=5), st.lists(st.integers(6, 99), max_size=5)
        ),
        max_size=6,
    )
)
def test_pairs_are_joined(pairs):
    joined = Wrapping(between=(2,)).wrapped(
        Sequences.of([a for a, _ in pairs]), Sequences.of([b for _, b in pairs])
    )
    assert rows_of(joined) == [[*a, 2, *b] for a, b in pairs]
    segments = [
        joined.segment[joined.offsets[row] : joined.offsets[row + 1]].tolist()
        for row in range(len(pairs))
    ]
    assert segments == [[0] * (len(a) + 1) + [1] * len(b) for a, b in pairs]
    if pairs:
        order = np.arange(len(pairs))[::-1]
        values, mask, beside = joined.take(order).padded(np.arange(len(pairs)), 4)
        segment = beside["segment"]
        for row, (a, b) in enumerate(reversed(pairs)):
            assert segment[row][mask[row]].tolist() == ([0] * (len(a) + 1) + [1] * len(b))[:4]
            assert values[row][mask[row]].tolist() == [*a, 2, *b][:4]
        assert not segment[~mask].any() and not values[~mask].any()


def test_examples_are_taken_with_their_targets():
    tokens = Examples(Sequences.of([[1], [2, 2], [3]]), np.array([7, 8, 9]))
    some = tokens.take(np.array([2, 1]))
    assert (
        len(tokens) == 3
        and rows_of(some.inputs) == [[3], [2, 2]]
        and some.targets.tolist() == [9, 8]
    )
    numbers = Examples(np.arange(6).reshape(3, 2)).take(np.array([1]))
    assert numbers.inputs.tolist() == [[2, 3]] and numbers.targets is None


def test_a_row_that_is_not_there():
    with pytest.raises(IndexError):
        Sequences.of([[1]])[1]


@FEW
@given(ragged, st.integers(1, 6))
def test_windows_cut_long_rows_and_lose_nothing(rows, longest):
    whole = Sequences.of(rows)
    cut = whole.windows(longest)
    assert cut.flat is whole.flat and (not len(cut) or cut.lengths.max() <= max(longest, 1))
    assert set(whole.offsets.tolist()) <= set(cut.offsets.tolist())
    assert len(cut) == sum(max(1, -(-len(row) // longest)) for row in rows)
    if cut is not whole:
        windows = [
            [cut[at] for at in np.flatnonzero(cut.example == row)] for row in range(len(rows))
        ]
        assert [np.concatenate(of_one).tolist() for of_one in windows] == rows


@FEW
@given(ragged, st.integers(1, 6), st.data())
def test_windows_that_overlap(rows, longest, data):
    stride = data.draw(st.integers(1, longest))
    whole = Sequences.of(rows)
    cut = whole.windows(longest, stride)
    assert cut.flat is whole.flat
    if cut is whole:
        assert all(len(row) <= longest for row in rows)
        return
    wanted = []
    for number, row in enumerate(rows):
        start = 0
        wanted.append((number, row[:longest]))
        while start + longest < len(row):
            start += stride
            wanted.append((number, row[start : start + longest]))
    assert list(zip(cut.example.tolist(), rows_of(cut))) == wanted and cut.lengths.max() <= longest
    assert rows_of(cut.take(np.arange(len(cut)))) == rows_of(cut)


def test_what_stands_beside_goes_along():
    rows = Sequences(
        np.arange(5),
        np.array([0, 2, 5]),
        {"form": np.array([1, 2, 1, 1, 3])},
        Sequences.of([[], [7], [8, 8], [9]]),
    )
    some = rows.take(np.array([1, 0]))
    assert some.beside["form"].tolist() == [1, 1, 3, 1, 2] and some.letters is rows.letters
    assert rows.places(np.array([1, 0])).tolist() == [2, 3, 4, 0, 1]
    assert rows[-1].tolist() == [2, 3, 4] and rows_of(rows[:1]) == [[0, 1]]
