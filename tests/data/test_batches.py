"""Batches: every row once an epoch, no more tokens than asked, the same seed the same order."""

from itertools import islice

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.data.examples.batches import by_length, shuffled
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.wrapping import Wrapping

FEW = settings(max_examples=60, deadline=None)
lengths = st.lists(st.integers(1, 40), min_size=1, max_size=300).map(np.array)


def assert_good(batches, lengths, tokens):
    assert sorted(np.concatenate(batches).tolist()) == list(
        range(len(lengths))
    )  # every row exactly once
    assert all(
        len(rows) == 1 or len(rows) * lengths[rows].max() <= tokens for rows in batches
    )  # padding counted


@FEW
@given(lengths, st.integers(1, 500), st.integers(0, 99))
def test_every_row_once_and_no_more_tokens_than_asked(lengths, tokens, seed):
    batches = shuffled(lengths, tokens, np.random.default_rng(seed))
    assert_good(batches, lengths, tokens)
    again = shuffled(lengths, tokens, np.random.default_rng(seed))
    assert [rows.tolist() for rows in batches] == [rows.tolist() for rows in again]
    assert_good(by_length(lengths, tokens), lengths, tokens)
    in_order = lengths[np.concatenate(by_length(lengths, tokens))]
    assert (np.diff(in_order) >= 0).all()


def test_little_is_padding():
    drawn = np.random.default_rng(0).integers(1, 100, 5000)
    batches = shuffled(drawn, 2000, np.random.default_rng(0))
    cells = sum(len(rows) * drawn[rows].max() for rows in batches)
    assert drawn.sum() > 0.9 * cells
    assert cells > 0.7 * 2000 * len(batches)  # and the batches are full


def some_examples(count=50, longest=512):
    generator = np.random.default_rng(0)
    rows = Sequences.of([generator.integers(6, 9, generator.integers(0, 12)) for _ in range(count)])
    return Examples(rows, np.arange(count), longest=longest)


def test_epochs_go_on_and_depend_on_the_seed_alone():
    examples = some_examples()
    per_epoch = len(shuffled(examples.lengths, 64, np.random.default_rng((3, 0))))
    drawn = list(islice(examples.epochs(64, 3), 3 * per_epoch))
    for epoch in range(3):
        rows = [rows for number, rows in drawn if number == epoch]
        if epoch < 2:
            assert sorted(np.concatenate(rows).tolist()) == list(range(50))
    again = list(islice(examples.epochs(64, 3), 3 * per_epoch))
    assert all(a[0] == b[0] and a[1].tolist() == b[1].tolist() for a, b in zip(drawn, again))
    for done in (1, per_epoch, per_epoch + 2):
        later = list(islice(examples.epochs(64, 3, done), 3 * per_epoch - done))
        assert [(n, rows.tolist()) for n, rows in later] == [
            (n, rows.tolist()) for n, rows in drawn[done:]
        ]
    other = list(islice(examples.epochs(64, 4), 3 * per_epoch))
    assert [rows.tolist() for _, rows in drawn] != [rows.tolist() for _, rows in other]
    assert [rows.tolist() for n, rows in drawn if n == 0] != [
        rows.tolist() for n, rows in drawn if n == 1
    ]


def test_the_cost_of_a_row():
    assert Examples(Sequences.of([[], [1], [1] * 9]), longest=5).lengths.tolist() == [1, 1, 5]
    assert Examples(np.zeros((3, 4))).lengths.tolist() == [16, 16, 16]


def test_a_batch_of_tokens():
    batch = some_examples(longest=4).batch(np.array([3, 0, 7]))
    assert (
        batch.inputs.dtype == torch.int64
        and batch.mask.dtype == torch.bool
        and batch.segment is None
    )
    assert batch.inputs.shape == batch.mask.shape and batch.inputs.shape[1] <= 4
    assert batch.target.tolist() == [3, 0, 7] and batch.rows.tolist() == [3, 0, 7]
    moved = batch.to("cpu")
    assert (
        torch.equal(moved.inputs, batch.inputs)
        and torch.equal(moved.mask, batch.mask)
        and moved.segment is None
    )


def test_a_batch_of_pairs_and_of_numbers():
    pairs = Examples(
        Wrapping(between=(2,)).wrapped(Sequences.of([[7], [8, 8]]), Sequences.of([[9, 9], []]))
    )
    batch = pairs.batch(np.array([1, 0]))
    assert batch.inputs.tolist() == [[8, 8, 2, 0], [7, 2, 9, 9]] and batch.target is None
    assert (
        batch.segment.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1]]
        and batch.segment.dtype == torch.int64
    )
    numbers = Examples(np.arange(6, dtype=np.float32).reshape(3, 2)).batch(np.array([2]))
    assert numbers.inputs.tolist() == [[4, 5]] and numbers.mask.tolist() == [[True]]


def test_windows_name_the_example_that_they_are_of():
    rows = Sequences.of([[1, 2, 3, 4, 5], [6], [7, 8, 9]])
    whole = Examples(rows, np.array([10, 20, 30]), longest=9)
    assert whole.batch(np.array([0, 2])).example is None and whole.example_of(2) == 2
    for stride, texts in (
        (None, [[1, 2], [3, 4, 5], [6], [7, 8, 9]]),
        (2, [[1, 2, 3], [3, 4, 5], [6], [7, 8, 9]]),
    ):
        cut = whole.windows(3, stride)
        batch = cut.batch(np.arange(4))
        assert [row[mask].tolist() for row, mask in zip(batch.inputs, batch.mask)] == texts
        assert batch.example.tolist() == [0, 0, 1, 2] and batch.example.dtype == torch.int64
        assert batch.target.tolist() == [10, 10, 20, 30] and [
            cut.example_of(row) for row in range(4)
        ] == [0, 0, 1, 2]
        assert cut.take(np.array([3, 1])).batch(np.arange(2)).example.tolist() == [2, 0]
    steps = Examples(rows, Sequences.of([[-1, -2, -3, -4, -5], [-6], [-7, -8, -9]])).windows(2, 1)
    batch = steps.batch(np.arange(len(steps)))
    assert torch.equal(batch.target, -batch.inputs) and batch.example.tolist() == [
        0,
        0,
        0,
        0,
        1,
        2,
        2,
    ]
