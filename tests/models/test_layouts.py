"""The two layouts of an n-gram model say what a plain dictionary says, from memory and from a file, whatever the file holds."""

import json
import mmap
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from wenmai.data.storage import arrays as files
from wenmai.data.storage.saved import Unfit
from wenmai.models.ngram import arpa
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.layout import in_order
from wenmai.models.ngram.packing import bits_at, put_bits
from wenmai.models.ngram.smoothing import Smoothed, Weights, smooth
from wenmai.models.ngram.table import Table
from wenmai.models.ngram.trie import Trie

UNK, BEGIN, END, WORDS = 0, 1, 2, 60
BOTH = pytest.mark.parametrize("kind", [Table, Trie])


def text(sentences: int, seed: int, words: int = WORDS) -> list[list[int]]:
    chance, rows = np.random.default_rng(seed), []
    for _ in range(sentences):
        row = [BEGIN]
        for _ in range(int(chance.integers(0, 10))):
            row.append(
                3 + (2 * row[-1] + int(chance.integers(0, 3))) % (words - 5)
                if chance.random() < 0.7
                else int(chance.integers(3, words - 2))
            )
        rows.append([*row, END])
    return rows


@cache
def model(order: int, smoothing: str = "modified-kneser-ney"):
    levels = count(np.concatenate(text(150, 0)).astype(np.int32), WORDS, order, BEGIN)
    return levels, smooth(levels, smoothing, BEGIN)


def read(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """As sentences to be scored: without what opens them."""
    return np.concatenate([row[1:] for row in rows]).astype(np.int32), np.cumsum(
        [0, *(len(row) - 1 for row in rows)]
    )


class Plain:
    """p(w|h) from a dictionary, as the formula of backing off says it."""

    def __init__(self, levels, smoothed):
        self.known, grams = {}, [(word,) for word in levels[0].word.tolist()]
        for n, (level, weights) in enumerate(zip(levels, smoothed.levels)):
            if n:
                grams = [
                    (*grams[before], word)
                    for before, word in zip(level.context.tolist(), level.word.tolist())
                ]
            self.known.update(zip(grams, zip(weights.log_prob.tolist(), weights.backoff.tolist())))
        self.order = len(levels)

    def log_prob(self, context: tuple[int, ...], word: int) -> float:
        context = context[max(0, len(context) - self.order + 1) :]
        if (*context, word) in self.known:
            return self.known[(*context, word)][0]
        return self.known.get(context, (0.0, 0.0))[1] + self.log_prob(context[1:], word)


@pytest.mark.each_value
@pytest.mark.parametrize("order", range(1, 8))
@pytest.mark.parametrize(
    "smoothing", ["modified-kneser-ney", "katz", "witten-bell", "add-one", "none"]
)
def test_all_say_what_a_dictionary_says(order, smoothing):
    levels, smoothed = model(order, smoothing)
    plain, rows = (
        Plain(levels, smoothed),
        [*text(20, 1), *text(20, 0), [BEGIN, 7, WORDS - 1, 7, END]],
    )
    expected = np.array(
        [plain.log_prob(tuple(row[:at]), row[at]) for row in rows for at in range(1, len(row))]
    )
    tokens, starts = read(rows)
    sums = np.array([expected[start:end].sum() for start, end in pairwise(starts)])
    assert (
        smoothing != "none" or np.isneginf(expected).any()
    )  # what was never seen stays impossible
    for layout in (Table.of(levels, smoothed), Trie.of(levels, smoothed)):
        assert layout.order == order
        np.testing.assert_allclose(
            layout.score(tokens, starts, separately=True), expected, atol=2e-5
        )
        np.testing.assert_allclose(layout.score(tokens, starts), sums, atol=1e-4)
        states, slow = layout.start(len(rows)), layout.start(len(rows)).tolist()
        assert states.dtype == np.int32 and states.shape == (
            len(rows),
            max(1, order - 1) if isinstance(layout, Trie) else 1,
        )
        for step in range(1, max(map(len, rows))):
            alive = [n for n, row in enumerate(rows) if step < len(row)]
            words = np.array([rows[n][step] for n in alive], np.int32)
            wanted = expected[[starts[n] + step - 1 for n in alive]]
            if step < 4:
                np.testing.assert_allclose(
                    layout.following(states[alive[0]])[words[0]], wanted[0], atol=2e-5
                )
            for n, want in zip(alive, wanted):
                found, slow[n] = layout.one(tuple(slow[n]), rows[n][step])
                assert found == pytest.approx(want, abs=2e-5)
            found, states[alive] = layout.advance(states[alive], words)
            np.testing.assert_allclose(found, wanted, atol=2e-5)
            np.testing.assert_array_equal(states[alive], [slow[n] for n in alive])


@BOTH
@pytest.mark.parametrize("order", [1, 2, 4])
def test_after_nothing(kind, order):
    levels, smoothed = model(order)
    plain, layout = Plain(levels, smoothed), kind.of(levels, smoothed)
    expected = [plain.log_prob((), word) for word in range(WORDS)]
    nothing = np.full_like(layout.start(WORDS), 0 if kind is Table else -1)
    np.testing.assert_allclose(layout.following(nothing[0]), expected, atol=1e-6)
    found, _ = layout.advance(nothing, np.arange(WORDS))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@BOTH
def test_a_word_beyond_the_vocabulary_is_unknown(kind):
    layout = kind.of(*model(3))
    odd, plain = (
        np.array([7, -1, 8, WORDS, 9, 1 << 40, END]),
        np.array([7, UNK, 8, UNK, 9, UNK, END]),
    )
    starts = np.array([0, 7])
    np.testing.assert_array_equal(
        layout.score(odd, starts, separately=True), layout.score(plain, starts, separately=True)
    )
    state = tuple(layout.start(1)[0].tolist())
    assert layout.one(state, WORDS) == layout.one(state, -5) == layout.one(state, UNK)
    for ours, theirs in zip(
        layout.advance(layout.start(7), odd), layout.advance(layout.start(7), plain)
    ):
        np.testing.assert_array_equal(ours, theirs)


@BOTH
def test_threads_change_nothing(kind):
    layout, (tokens, starts) = kind.of(*model(4)), read(text(9000, 5))
    assert len(tokens) > 3 << 14
    for threads in (2, 3, None):
        np.testing.assert_array_equal(
            layout.score(tokens, starts, threads), layout.score(tokens, starts, 1)
        )
        each = (layout.score(tokens, starts, number, separately=True) for number in (threads, 1))
        np.testing.assert_array_equal(*each)
    nothing = np.zeros(0, np.int32), np.zeros(1, np.int64)
    assert not len(layout.score(*nothing)) and not len(layout.score(*nothing, separately=True))


def same(ours, theirs) -> None:
    for level, other in zip(ours[0], theirs[0], strict=True):
        for name in ("word", "context", "suffix"):
            np.testing.assert_array_equal(getattr(level, name), getattr(other, name), name)
            assert getattr(level, name).dtype == np.int32
        assert len(other.count) == len(level)
    for weights, other in zip(ours[1].levels, theirs[1].levels, strict=True):
        np.testing.assert_array_equal(np.minimum(weights.log_prob, 0), other.log_prob)
        np.testing.assert_array_equal(weights.backoff, other.backoff)
        assert other.log_prob.dtype == other.backoff.dtype == np.float32


@BOTH
@pytest.mark.parametrize("order", range(1, 8))
@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "katz", "none"])
def test_the_n_grams_come_out_as_they_went_in(kind, order, smoothing):
    same(model(order, smoothing), kind.of(*model(order, smoothing)).levels())


@BOTH
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(3, 7), max_size=6), max_size=8),
    order=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_n_grams_in_any_order_are_sorted(kind, rows, order, seed):
    """As an ARPA file may have them; of short texts, too, in which the higher orders are empty."""
    tokens = np.array([word for row in rows or [[]] for word in (BEGIN, *row, END)], np.int32)
    levels = count(tokens, 8, order, BEGIN)
    smoothed, chance = smooth(levels, "witten-bell", BEGIN), np.random.default_rng(seed)
    mixed, weights, place = levels[:1], smoothed.levels[:1], np.arange(8)
    for level, own in zip(levels[1:], smoothed.levels[1:]):
        turn = chance.permutation(len(level))
        mixed.append(
            type(level)(
                level.word[turn],
                place[level.context[turn]].astype(np.int32),
                place[level.suffix[turn]].astype(np.int32),
                level.count[turn],
            )
        )
        weights.append(Weights(own.log_prob[turn], own.backoff[turn]))
        place = np.argsort(turn)
    found, own = in_order(mixed, Smoothed(weights))
    same((levels, smoothed), (found, Smoothed(own)))
    same((levels, smoothed), kind.of(mixed, Smoothed(weights)).levels())


def test_a_file_of_lmplz_in_both():
    _, levels, smoothed = arpa.read(Path(__file__).parent / "files" / "lmplz.arpa.xz")
    table, trie, rows = (
        Table.of(levels, smoothed),
        Trie.of(levels, smoothed),
        read(text(100, 4, len(levels[0]))),
    )
    np.testing.assert_allclose(
        trie.score(*rows, separately=True), table.score(*rows, separately=True), atol=2e-5
    )
    same(table.levels(), trie.levels())


@given(st.lists(st.tuples(st.integers(1, 63), st.integers(0, (1 << 63) - 1)), max_size=40))
def test_bits_are_read_as_they_were_put(fields):
    data, bit = np.zeros(sum(width for width, _ in fields) // 64 + 2, np.uint64), 0
    for width, value in fields:
        put_bits.py_func(data, bit, value & (1 << width) - 1)
        bit += width
    bit = 0
    for width, value in fields:
        assert bits_at.py_func(data, bit, width) == value & (1 << width) - 1
        bit += width


def saved(kind, order: int, path: Path) -> Path:
    files.write(path, kind.of(*model(order)).arrays(), {"layout": kind.__name__})
    return path


@BOTH
@pytest.mark.parametrize("order", [1, 3, 7])
def test_a_mapped_file_is_the_model(kind, order, tmp_path):
    path = saved(kind, order, tmp_path / "model.bin")
    arrays, about = files.mapped(path)
    assert about == {"layout": kind.__name__}
    layout, tokens = kind.from_arrays(arrays), read(text(50, 3))
    np.testing.assert_array_equal(layout.score(*tokens), kind.of(*model(order)).score(*tokens))
    same(model(order), layout.levels())
    others = {name: array for name, array in load_file(path).items() if not name.startswith("~")}
    assert others.keys() == arrays.keys()
    holders = set()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name])
        assert not array.flags.writeable and array.ctypes.data % 64 == 0
        if array.size:
            holders.add(id(array.base))
            assert isinstance(array.base, mmap.mmap)
    assert len(holders) == 1  # the pages of one map, which processes share
    assert layout.arrays().keys() == arrays.keys()
    assert all(np.shares_memory(ours, arrays[name]) for name, ours in layout.arrays().items())


@BOTH
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sizes", lambda sizes: sizes[:0]),
        ("sizes", lambda sizes: np.ones(8, np.int64)),
        ("sizes", lambda sizes: sizes * 2),
        ("sizes", lambda sizes: -sizes),
        ("sizes", lambda sizes: sizes + (1 << 60)),
        ("sizes", lambda sizes: sizes.astype(np.int32)),
        ("lines data", lambda array: array[:-1]),
        ("lines data", lambda array: array.view(np.int64)),
        ("lines data", lambda array: array[..., None]),
        ("lines data", lambda array: array[:0]),
        ("nodes data", lambda array: array[1:]),
        ("words data", lambda array: array[2:]),
        ("sizes", lambda sizes: np.array([2, 0, 0])),
        ("lines data", lambda array: array[: len(array) // 4]),
    ],
)
def test_arrays_that_do_not_fit(kind, name, change):
    arrays = kind.of(*model(3)).arrays()
    name = next(one for one in name.split() if one in arrays)
    with pytest.raises(Unfit, match=None if name == "sizes" else name):
        kind.from_arrays({**arrays, name: change(arrays[name])})
    with pytest.raises(Unfit, match=f'found no "{name}"'):
        kind.from_arrays({other: array for other, array in arrays.items() if other != name})


def test_what_rounding_brings_above_zero():
    levels, smoothed = model(2, "witten-bell")
    above = [
        Weights(np.full_like(own.log_prob, 1e-7), np.full_like(own.backoff, 1.5))
        for own in smoothed.levels
    ]
    for kind in (Table, Trie):
        layout = kind.of(levels, Smoothed(above))
        assert (
            not layout.following(layout.start(1)[0]).any()
            and not layout.score(*read(text(9, 2)), separately=True).any()
        )


def fuzzed(inputs: int, start: int, **environment: str) -> dict:
    script = Path(__file__).with_name("fuzzing_layouts.py")
    ran = subprocess.run(
        [sys.executable, script, str(inputs), str(start)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])
    found = json.loads(ran.stdout)
    assert not found["failures"], found["failures"]
    assert (
        found["opened"] + found["refused"] == inputs
        and min(found["opened"], found["refused"]) > inputs // 5
    )
    assert found["grown"] < 200  # MB
    return found


@pytest.mark.slow
def test_damaged_files_are_refused_or_answered():
    fuzzed(2000, 0)


@pytest.mark.soak
def test_damaged_files_with_every_index_checked(tmp_path, capsys):
    """Numba tests every index itself, when told to, in code that is compiled anew."""
    found = fuzzed(100_000, 10_000, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    with capsys.disabled():
        print(f"\nn-gram layouts: {found}")
