"""Pruned by count, a model is lmplz's; pruned by entropy, it loses what the definition says; either way, sums stay 1."""

import lzma

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ngrams import BEGIN, FILES, PTB, a_text, by_hand, in_words, numbered
from test_smoothing import KINDS, Model, perplexity, sentences, treebank  # noqa: F401 (a fixture)

from wenmai.errors import Mistake
from wenmai.models.ngram import pruning
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table

context = st.lists(st.sampled_from("abcdefg"), max_size=5)


def test_thresholds():
    assert pruning.thresholds("0 0 1", 5) == pruning.thresholds([0, 0, 1], 5) == [0, 0, 1, 1, 1]
    assert pruning.thresholds("0,1", 2) == [0, 1] and pruning.thresholds(
        "", 3
    ) == pruning.thresholds((), 3) == [0, 0, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0 x", "expected a whole number for every order"),
        ("0 -1", "expected a whole number"),
        ("0 0 1 1", "found 4 thresholds, expected at most 3"),
        ("1 1", "found 1 for single words, expected 0"),
        ("0 2 1", "expected thresholds that do not fall"),
    ],
)
def test_thresholds_that_are_none(given, said):
    with pytest.raises(Mistake, match=f"prune={given}: {said}"):
        pruning.thresholds(given, 3)


def test_pruned_by_count_it_is_that_of_lmplz():
    """The file is what `lmplz -o 4 --prune 0 0 1` makes of the same text."""
    expected = by_hand(lzma.decompress((FILES / "lmplz-pruned.arpa.xz").read_bytes()).decode())
    tokens, names = numbered(a_text())
    levels, smoothed = pruning.by_count(
        count(tokens, len(names), 4, BEGIN), "0 0 1", "modified-kneser-ney"
    )
    found = {
        gram: (float(p), float(b))
        for table, weights in zip(in_words(levels, names), smoothed.levels)
        for gram, p, b in zip(table, weights.log_prob, weights.backoff)
    }
    assert found.keys() == expected.keys() and 1000 < len(found) < 3000
    for gram, (prob, backoff) in expected.items():
        assert found[gram] == pytest.approx((prob, backoff), abs=1e-5), gram


def consistent(levels, names) -> None:
    """Sorted by the last word, the word before it, …; suffixes are those of the words."""
    tables = in_words(levels, range(len(names)))
    for n in range(1, len(levels)):
        assert [tables[n - 1][at] for at in levels[n].suffix] == [gram[1:] for gram in tables[n]]
        keys = [gram[::-1] for gram in tables[n]]
        assert keys == sorted(set(keys))


@settings(max_examples=100, deadline=None)
@example([[]], "absolute", 2, [1], [])
@given(
    sentences,
    st.sampled_from(KINDS[1:]),
    st.integers(1, 5),
    st.lists(st.integers(0, 3), max_size=4),
    context,
)
def test_sums_stay_one_without_the_rare(text, kind, order, least, context):
    model = Model(text, kind, order)
    levels, smoothed = pruning.by_count(model.levels, [0, *sorted(least)][:order], kind, BEGIN, 0.5)
    consistent(levels, model.names)
    model.hold(levels, smoothed)
    for opening in ((), ("<s>",)):
        assert sum(model.after((*opening, *context)).values()) == pytest.approx(1, abs=1e-4)


@settings(max_examples=100, deadline=None)
@given(sentences, st.sampled_from(KINDS[3:]), st.integers(1, 5), st.floats(-7, 0), context)
def test_sums_stay_one_without_the_needless(text, kind, order, power, context):
    model = Model(text, kind, order)
    before = [weights.backoff.copy() for weights in model.smoothed.levels]
    levels, smoothed = pruning.by_entropy(model.levels, model.smoothed, 10**power)
    assert all(
        (one == weights.backoff).all() for one, weights in zip(before, model.smoothed.levels)
    )  # what was given is left
    consistent(levels, model.names)
    model.hold(levels, smoothed)
    for opening in ((), ("<s>",)):
        assert sum(model.after((*opening, *context)).values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS[3:])
def test_the_divergence_is_that_of_its_definition(kind):
    """Over the whole vocabulary: p(h) Σ p(v|h) log(p(v|h) / p′(v|h))."""
    text = [
        s.split() for s in ("a b c a", "b a c", "c c c b", "a b c", "a", "b a b c a a", "a b a")
    ]
    model = Model(text, kind, 3)
    grams = in_words(model.levels, model.names)
    joint = pruning.context_probabilities(model.levels, model.smoothed)
    for n in (2, 1):
        weights = model.smoothed.levels
        found, *_ = pruning.divergence(model.levels[n], weights[n], weights[n - 1], joint[n - 1])
        for gram, entropy in zip(grams[n], found):
            h, word = gram[:-1], gram[-1]
            p, shorter = model.after(h), model.after(h[1:])
            kept = [other[-1] for other in grams[n] if other[:-1] == h and other != gram]
            rest = (1 - sum(p[v] for v in kept)) / (1 - sum(shorter[v] for v in kept))
            changed = {v: p[v] if v in kept else rest * shorter[v] for v in p}
            assert sum(changed.values()) == pytest.approx(1, abs=1e-5) and word not in kept
            chain = [
                model.after(h[:at])[w] if w != "<s>" else model.after(())["</s>"]
                for at, w in enumerate(h)
            ]
            expected = np.prod(chain) * sum(p[v] * np.log(p[v] / changed[v]) for v in p)
            assert entropy == pytest.approx(expected, abs=2e-7), gram


def test_a_threshold_of_nothing_drops_nothing_and_a_high_one_all():
    model = Model(a_text(100), "modified-kneser-ney", 4)
    sizes = [len(level) for level in model.levels]
    assert [
        len(level) for level in pruning.by_entropy(model.levels, model.smoothed, -1.0)[0]
    ] == sizes
    levels, smoothed = pruning.by_entropy(model.levels, model.smoothed, 1e9)
    assert [len(level) for level in levels] == [sizes[0], 0, 0, 0]
    model.hold(levels, smoothed)
    assert model.after(("<s>", "w1")) == pytest.approx(
        model.after(()), rel=1e-4
    )  # only single words are left


@pytest.mark.parametrize("kind", ["none", "add-one", "add-delta"])
def test_what_has_nothing_to_fall_back_on_is_not_pruned(kind):
    model = Model(a_text(20), kind, 3)
    with pytest.raises(Mistake, match=f"smoothing={kind} cannot be pruned so"):
        pruning.by_entropy(model.levels, model.smoothed, 1e-8)
    if kind == "none":
        with pytest.raises(Mistake, match="smoothing=none cannot be pruned so"):
            pruning.by_count(model.levels, "0 1", kind)


@pytest.mark.slow
@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank text is not here")
def test_penn_treebank_pruned_by_entropy(treebank):  # noqa: F811
    tokens, names, rows = treebank
    levels = count(tokens, len(names), 5, BEGIN)
    smoothed, valid = smooth(levels, "modified-kneser-ney", BEGIN), rows("valid")
    sizes, found = [sum(map(len, levels))], [perplexity(Table.of(levels, smoothed), valid)]
    for threshold in (1e-9, 1e-8, 1e-7):
        fewer = pruning.by_entropy(levels, smoothed, threshold)
        sizes.append(sum(map(len, fewer[0])))
        found.append(perplexity(Table.of(*fewer), valid))
    print("n-grams", sizes, "perplexity", [round(one, 2) for one in found])
    assert sizes == sorted(sizes, reverse=True) and sizes[3] < sizes[0] / 3
    assert found == sorted(found) and found[2] < 1.1 * found[0] and found[3] < 1.5 * found[0]
