"""Probabilities are those of lmplz, of nltk, of worked examples, and of the formulas written down a second time, slowly."""

import lzma
from collections import Counter
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngrams import BEGIN, END, FILES, PTB, UNK, a_text, by_hand, in_words, numbered, total

from wenmai.errors import Mistake
from wenmai.models.ngram.additive import fitted_delta, held_counts
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table

KINDS = (
    "none",
    "add-one",
    "add-delta",
    "absolute",
    "witten-bell",
    "katz",
    "kneser-ney",
    "modified-kneser-ney",
)
sentences = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=20)


class Model:
    """A text, counted and smoothed; asked in words."""

    def __init__(self, text, kind, order, delta=0.5):
        tokens, self.names = numbered(text)
        self.levels = count(tokens, len(self.names), order, BEGIN)
        self.smoothed = smooth(self.levels, kind, BEGIN, delta)
        self.hold(self.levels, self.smoothed)

    def hold(self, levels, smoothed):
        self.table = Table.of(levels, smoothed)
        return self

    def after(self, context) -> dict[str, float]:
        """p of every word after these; <s> may stand first. A word that is not known is <unk>."""
        state = self.table.start(1) if context[:1] == ("<s>",) else np.zeros((1, 1), np.int32)
        for word in context:
            if word != "<s>":
                number = self.names.index(word) if word in self.names else UNK
                _, state = self.table.advance(state, np.array([number], np.int32))
        found = self.table.following(state[0]).astype(np.float64)
        assert not np.isnan(found).any() and (np.delete(found, BEGIN) <= 1e-6).all()
        return {name: 10**log for name, log in zip(self.names, found.tolist()) if name != "<s>"}


def test_modified_kneser_ney_is_that_of_lmplz():
    expected = by_hand(lzma.decompress((FILES / "lmplz.arpa.xz").read_bytes()).decode())
    tokens, names = numbered(a_text())
    levels = count(tokens, len(names), 4, BEGIN)
    smoothed = smooth(levels, "modified-kneser-ney", BEGIN)
    found = {
        gram: (float(p), float(b))
        for table, weights in zip(in_words(levels, names), smoothed.levels)
        for gram, p, b in zip(table, weights.log_prob, weights.backoff)
    }
    assert found.keys() == expected.keys() and len(found) > 3000 and not smoothed.notes
    for gram, (prob, backoff) in expected.items():
        assert found[gram] == pytest.approx((prob, backoff), abs=1e-5), gram


@settings(max_examples=100, deadline=None)
@given(
    sentences,
    st.sampled_from(KINDS[1:]),
    st.integers(1, 6),
    st.lists(st.sampled_from("abcdefg"), max_size=7),
)
def test_probabilities_sum_to_one_after_any_context(text, kind, order, context):
    model = Model(text, kind, order)
    for opening in ((), ("<s>",)):
        assert sum(model.after((*opening, *context)).values()) == pytest.approx(1, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(sentences, st.integers(1, 4), st.lists(st.sampled_from("abcdefg"), max_size=5))
def test_relative_frequencies_sum_to_one_or_nothing(text, order, context):
    model, context = Model(text, "none", order), ("<s>", *context)
    context = context[len(context) - min(order - 1, len(context)) :]
    seen = not context or any(
        tuple(s[at : at + len(context)]) == context
        for s in (["<s>", *sentence] for sentence in text)
        for at in range(len(s))
    )
    assert sum(model.after(context).values()) == pytest.approx(1 if seen else 0, abs=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["none", "add-one", "add-delta"])
def test_additive_kinds_are_those_of_nltk(kind, order):
    """nltk counts its padding as words. So that V is ours (the words, </s> and <unk>), its vocabulary gets the words and </s>,
    to which it adds <UNK>; <s>, which it then looks up as <UNK>, stands in contexts only, and once a sentence: whole n-grams are
    fed, and shorter ones where they open a sentence."""
    nltk = pytest.importorskip("nltk.lm")
    text = [s.split() for s in ("a b c a", "b a", "c c c", "a b c", "", "b a b c a a")]
    fed = []
    for s in (["<s>", *sentence, "</s>"] for sentence in text):
        fed.append([tuple(s[at : at + order]) for at in range(order == 1, len(s) - order + 1)])
        fed.append([tuple(s[:n]) for n in range(2, min(order, len(s) + 1))])
    words = nltk.Vocabulary(["a", "b", "c", "</s>"], unk_cutoff=1)
    theirs = {
        "none": nltk.MLE(order, words),
        "add-one": nltk.Laplace(order, words),
        "add-delta": nltk.Lidstone(0.3, order, words),
    }[kind]
    theirs.fit(fed)
    ours = Model(text, kind, order, 0.3)
    assert len(theirs.vocab) == len(ours.names) - 1
    opened = [("<s>", *rest) for n in range(order - 1) for rest in product("abc", repeat=n)]
    for context in [*product("abc", repeat=order - 1), *opened]:
        for word, prob in ours.after(context).items():
            assert prob == pytest.approx(
                theirs.score("<UNK>" if word == "<unk>" else word, context), abs=1e-6
            ), (context, word)
    if order > 1:
        assert [*ours.after(()).values()] == pytest.approx(
            [0 if kind == "none" else 1 / 5] * 5
        )  # no context of n − 1 words


# The formulas again, with dictionaries (Chen & Goodman 1999), as slow as they are plain


class Slow:
    def __init__(self, text, kind, order, delta):
        self.kind, self.order, self.delta = kind, order, delta
        number = {name: at for at, name in enumerate(numbered(text)[1])}
        self.words = [name for name in number if name != "<s>"]
        padded = [["<s>", *sentence, "</s>"] for sentence in text]
        self.counts = [
            None,
            *(
                Counter(tuple(s[at : at + n]) for s in padded for at in range(len(s) - n + 1))
                for n in range(1, order + 1)
            ),
        ]
        in_text = [one and dict(one) for one in self.counts]
        if kind.endswith("kneser-ney"):
            for n in range(1, order):
                before = Counter(gram[1:] for gram in in_text[n + 1])
                self.counts[n] = {
                    gram: c if gram[0] == "<s>" else before[gram] for gram, c in in_text[n].items()
                }
        self.counts[1] = {gram: c for gram, c in self.counts[1].items() if gram != ("<s>",)}
        # the end of lmplz's list, which it enters as the text has it
        ends = [
            [*(number[word] for word in s[at::-1]), *[BEGIN] * order][:order]
            for s in padded
            for at in range(1, len(s))
        ]
        names = {at: name for name, at in number.items()}
        last = tuple(names[at] for at in max(ends)[::-1])
        self.taken = [None]
        for n in range(1, order + 1):
            seen = Counter(self.counts[n].values())
            gram = last[order - n :]
            if n < order and gram in self.counts[n]:
                seen[self.counts[n][gram]] -= 1
                seen[in_text[n][gram]] += 1
            self.taken.append(self.discounts(seen))
        self.after = [None, *({} for _ in range(order))]  # context → word → count
        for n in range(1, order + 1):
            for gram, c in self.counts[n].items():
                self.after[n].setdefault(gram[:-1], {})[gram[-1]] = c

    def discounts(self, n):
        """r → what is taken from a count of r"""
        if self.kind == "katz":
            try:
                q = F(6 * n[6], n[1])
                d = {r: (F((r + 1) * n[r + 1], n[r] * r) - q) / (1 - q) for r in range(1, 6)}
            except ZeroDivisionError:
                return lambda r: 0.5
            return (
                (lambda r: r * (1 - d.get(r, 1)))
                if all(0 < x <= 1 for x in d.values())
                else lambda r: 0.5
            )
        one = F(n[1], n[1] + 2 * n[2]) if n[1] and n[2] else 0
        if self.kind != "modified-kneser-ney":
            return lambda r: one or 0.5
        three = [r - (r + 1) * one * F(n[r + 1], n[r]) if n[r] else -1 for r in (1, 2, 3)]
        three = (
            three
            if one and all(0 < x <= r for r, x in zip((1, 2, 3), three))
            else [F(1, 2), 1, F(3, 2)]
        )
        return lambda r: three[min(r, 3) - 1]

    def prob(self, word, h) -> float:
        size = len(self.words)
        if self.kind in KINDS[:3]:
            delta = {"none": 0, "add-one": 1}.get(self.kind, self.delta)
            full = len(h) == self.order - 1 or h[:1] == ("<s>",)
            after = self.after[len(h) + 1].get(h, {}) if full else {}
            total = sum(after.values()) + delta * size
            return (
                (after.get(word, 0) + delta) / total
                if total and full
                else 1 / size
                if delta
                else 0.0
            )
        after = self.after[len(h) + 1].get(h, {})
        shorter = self.prob(word, h[1:]) if h else 1 / size
        if not after:
            return shorter
        c, total, taken = after.get(word, 0), sum(after.values()), self.taken[len(h) + 1]
        if self.kind == "witten-bell":
            return (c + len(after) * shorter) / (total + len(after))
        if self.kind == "katz" and h:
            seen = {w: float(c - taken(c)) / total for w, c in after.items()}
            if sum(seen.values()) > 1 - 1e-6:
                seen = {w: p * total / (total + 1) for w, p in seen.items()}
            alpha = (1 - sum(seen.values())) / (1 - sum(self.prob(w, h[1:]) for w in seen))
            return seen[word] if c else alpha * shorter
        gamma = sum(float(taken(r)) for r in after.values()) / total
        return (float(c - taken(c)) / total if c else 0) + gamma * shorter


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    text=sentences,
    order=st.integers(1, 4),
    contexts=st.lists(st.lists(st.sampled_from("abcdefg"), max_size=5), max_size=4),
)
def test_every_kind_is_that_of_its_formula(kind, text, order, contexts):
    ours, slow = Model(text, kind, order), Slow(text, kind, order, 0.5)
    for context in (
        [("<s>", *context) for context in contexts]
        + [tuple(context) for context in contexts]
        + [()]
    ):
        short = context[len(context) - min(order - 1, len(context)) :]
        for word, prob in ours.after(context).items():
            assert prob == pytest.approx(slow.prob(word, short), rel=2e-5, abs=1e-9), (
                context,
                word,
            )


def test_every_kind_where_all_discounts_can_be_estimated():
    text = a_text(300)
    for kind, order in product(KINDS, (2, 3)):
        ours, slow = Model(text, kind, order), Slow(text, kind, order, 0.5)
        assert kind == "katz" or not ours.smoothed.notes
        for context in [("<s>",), (text[0][0],), tuple(text[1][:2]), ("<s>", text[2][0])]:
            short = context[len(context) - min(order - 1, len(context)) :]
            for word in [*text[0], *text[1], "</s>", "<unk>"]:
                assert ours.after(context)[word] == pytest.approx(
                    slow.prob(word, short), rel=1e-5
                ), (kind, context, word)


# Worked examples

FEW = [["a", "b"], ["a", "b"], ["a", "c"]]
# c(a) = c(</s>) = 3, c(b) = 2, c(c) = 1, N = 9; V = 5: a, b, c, </s>, <unk>
# <s>a 3, ab 2, ac 1, b</s> 2, c</s> 1; <s>ab 2, <s>ac 1, ab</s> 2, ac</s> 1


def test_absolute_discounting_by_hand():
    d = F(
        1, 3
    )  # words: n₁ = n₂ = 1, so 1 / (1 + 2); pairs and triples: n₁ = n₂ = 2, so 2 / (2 + 4)
    rest = 4 * d / 9 / 5  # four words were seen: 4D / N, shared by five
    b, c, end = (2 - d) / 9 + rest, (1 - d) / 9 + rest, (3 - d) / 9 + rest
    assert (b, rest) == (F(29, 135), F(4, 135))
    after_a = {"b": (2 - d) / 3 + 2 * d / 3 * b, "<unk>": 2 * d / 3 * rest}
    after_b = {"</s>": (2 - d) / 2 + d / 2 * end, "c": d / 2 * c}
    pairs, triples = Model(FEW, "absolute", 2), Model(FEW, "absolute", 3)
    expect(pairs.after(()), {"b": b, "c": c, "</s>": end, "<unk>": rest})
    expect(pairs.after(("a",)), after_a)
    expect(pairs.after(("b",)), after_b)
    expect(pairs.after(("</s>",)), {"b": b})  # nothing follows it
    expect(
        triples.after(("<s>", "a")),
        {w: (2 - d) / 3 * (w == "b") + 2 * d / 3 * p for w, p in after_a.items()},
    )
    expect(
        triples.after(("a", "b")),
        {w: (2 - d) / 2 * (w == "</s>") + d / 2 * p for w, p in after_b.items()},
    )
    expect(triples.after(("c", "b")), after_b)


def test_witten_bell_by_hand():
    b, c, end, unk = (F(count + F(4, 5), 9 + 4) for count in (2, 1, 3, 0))
    after_a = {"b": (2 + 2 * b) / (3 + 2), "<unk>": 2 * unk / (3 + 2)}
    after_b = {"</s>": (2 + end) / (2 + 1), "c": c / (2 + 1)}
    pairs, triples = Model(FEW, "witten-bell", 2), Model(FEW, "witten-bell", 3)
    expect(pairs.after(()), {"b": F(14, 65), "c": F(9, 65), "</s>": F(19, 65), "<unk>": F(4, 65)})
    expect(pairs.after(("a",)), after_a)
    expect(pairs.after(("b",)), after_b)
    expect(
        triples.after(("<s>", "a")),
        {w: (2 * (w == "b") + 2 * p) / (3 + 2) for w, p in after_a.items()},
    )
    expect(
        triples.after(("a", "b")),
        {w: (2 * (w == "</s>") + p) / (2 + 1) for w, p in after_b.items()},
    )


MANY = {
    1: 60,
    2: 20,
    3: 9,
    4: 5,
    5: 3,
    6: 1,
}  # so many words stand r times in the text, each time as a sentence of its own


def sentences_of_one(many) -> list[list[str]]:
    return [[f"w{r}.{n}"] for r, words in many.items() for n in range(words) for _ in range(r)]


def test_katz_by_hand():
    # 60 + 40 + 27 + 20 + 15 + 6 = 168 sentences; N = 336; V = 98 words, </s> and <unk>: 100
    # n_r of words and of triples <s>w</s> is MANY; of pairs, <s>w and w</s>, twice that; so all orders have the same d_r
    q = F(6 * 1, 60)
    d = {
        1: (F(2 * 20, 60) / 1 - q) / (1 - q),
        2: (F(3 * 9, 20) / 2 - q) / (1 - q),
        3: (F(4 * 5, 9) / 3 - q) / (1 - q),
        4: (F(5 * 3, 5) / 4 - q) / (1 - q),
        5: (F(6 * 1, 3) / 5 - q) / (1 - q),
        6: F(1),
    }
    assert d[1] == F(17, 27) and d[5] == F(1, 3)
    rest = sum(n * r * (1 - d[r]) for r, n in MANY.items()) / 336 / 100
    word, end = {r: d[r] * r / 336 + rest for r in MANY}, F(168, 336) + rest
    pairs, triples = (
        Model(sentences_of_one(MANY), "katz", 2),
        Model(sentences_of_one(MANY), "katz", 3),
    )
    assert not pairs.smoothed.notes and not triples.smoothed.notes
    expect(pairs.after(()), {"w1.0": word[1], "w3.2": word[3], "</s>": end, "<unk>": rest})
    # after <s> all words were seen, </s> and <unk> were not
    left = 1 - sum(n * d[r] * r for r, n in MANY.items()) / 168
    opened = left / (1 - sum(n * word[r] for r, n in MANY.items()))
    expect(
        pairs.after(("<s>",)),
        {
            "w1.0": d[1] * 1 / 168,
            "w4.1": d[4] * 4 / 168,
            "</s>": opened * end,
            "<unk>": opened * rest,
        },
    )
    # after a word only </s> was seen, as often as the word
    for r in range(1, 6):
        expect(pairs.after((f"w{r}.0",)), {"</s>": d[r], "<unk>": (1 - d[r]) / (1 - end) * rest})
        expect(
            triples.after(("<s>", f"w{r}.0")),
            {"</s>": d[r], "<unk>": 1 * (1 - d[r]) / (1 - end) * rest},
        )
    # nothing is taken from a count of 6; one more is set aside
    expect(pairs.after(("w6.0",)), {"</s>": F(6, 7), "w1.0": F(1, 7) / (1 - end) * word[1]})


def test_katz_where_good_turing_fails():
    """No word stands five times, so r* of 4 is 0; 0.5 is taken from every count."""
    without = {r: n for r, n in MANY.items() if r != 5}
    model = Model(sentences_of_one(without), "katz", 3)
    assert model.smoothed.notes == [
        "orders 1, 2 and 3: Good-Turing needs n-grams that were seen 1 to 6 times, ever fewer of them, so the discount is 0.5 "
        "instead; more text, or smoothing=witten-bell, would do."
    ]
    end = (153 - F(1, 2)) / 306 + F(96, 2) / 306 / 97  # 153 sentences; 95 words and </s> were seen
    expect(
        model.after(("w2.0",)),
        {"</s>": (2 - F(1, 2)) / 2, "<unk>": F(1, 4) / (1 - end) * F(96, 2) / 306 / 97},
    )


def expect(found: dict[str, float], expected: dict[str, F]) -> None:
    assert {word: found[word] for word in expected} == pytest.approx(
        {word: float(p) for word, p in expected.items()}, rel=1e-5
    )


# Notes


def test_notes_name_their_orders_once():
    ones = Model([["a", "b", "c", "d", "e", "f"]], "kneser-ney", 5).smoothed.notes
    assert len(ones) == 1 and ones[0].startswith(
        "orders 1, 2, 3, 4 and 5: no n-gram was seen once, or none twice"
    )
    assert ones[0].chinese.startswith("1、2、3、4、5 元：没有")
    threes = Model([["a", "b", "c"]], "modified-kneser-ney", 2).smoothed
    assert len(threes.notes) == 1 and threes.notes[0].startswith(
        "orders 1 and 2: the counts of counts give no three discounts"
    )
    assert threes.discounts == [[0.5, 1.0, 1.5]] * 2
    threes = Model(FEW, "modified-kneser-ney", 1).smoothed.notes
    assert len(threes) == 1 and threes[0].startswith(
        "order 1: the counts of counts give no three discounts"
    )


@pytest.mark.parametrize("delta", [0, -1, float("nan"), float("inf")])
def test_a_delta_that_is_none(delta):
    with pytest.raises(Mistake, match=r"delta=.*expected a number above 0"):
        Model(FEW, "add-delta", 2, delta)


# δ from held-out text


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_fitted_delta_is_the_likeliest(order):
    text, other = a_text(300), a_text(100, seed=1)
    tokens, names = numbered(text)
    held = [
        n for s in other for n in (BEGIN, *(names.index(w) if w in names else UNK for w in s), END)
    ]
    levels = count(tokens, len(names), order, BEGIN)
    delta = fitted_delta(levels, np.array(held, np.int32), BEGIN)

    def likelihood(delta):
        model = Model(text, "add-delta", order, delta)
        asked = (
            (("<s>", *s[:at])[-(order - 1) :] if order > 1 else (), word)
            for s in other
            for at, word in enumerate([*s, "</s>"])
        )
        known = {}
        return sum(
            np.log(known.setdefault(h, model.after(h)).get(word, known[h]["<unk>"]))
            for h, word in asked
        )

    best = likelihood(delta)
    assert (
        best > likelihood(delta * 1.05)
        and best > likelihood(delta / 1.05)
        and best > likelihood(1.0)
    )
    counts, followed, times = held_counts(levels, np.array(held, np.int32), BEGIN)
    slope = times @ (
        1 / (counts + delta) - (len(names) - 1) / (followed + delta * (len(names) - 1))
    )
    assert abs(slope * delta) < 1e-3 * times.sum()


# Penn Treebank


@pytest.fixture(scope="module")
def treebank():
    """(tokens of the training text, names, part → rows); <unk> is an ordinary word there."""
    with lzma.open(PTB / "ptb.train.txt.xz", "rt", encoding="utf-8") as file:
        tokens, names = numbered([line.replace("<unk>", "<UNK>").split() for line in file])
    number = {name: at for at, name in enumerate(names)}

    def rows(part: str) -> list[list[int]]:
        lines = (PTB / f"ptb.{part}.txt").read_text("utf-8").replace("<unk>", "<UNK>").splitlines()
        return [[*(number.get(word, UNK) for word in line.split()), END] for line in lines]

    return tokens, names, rows


def perplexity(table: Table, rows: list[list[int]]) -> float:
    return 10 ** (-total(table, rows).sum() / sum(map(len, rows)))


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank text is not here")
@pytest.mark.parametrize(("order", "valid", "test"), [(3, 157.77, None), (5, 148.01, 142.0)])
def test_penn_treebank(treebank, order, valid, test):
    tokens, names, rows = treebank
    levels = count(tokens, len(names), order, BEGIN)
    table = Table.of(levels, smooth(levels, "modified-kneser-ney", BEGIN))
    assert perplexity(table, rows("valid")) == pytest.approx(valid, abs=0.01)
    assert test is None or perplexity(table, rows("test")) < test


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank text is not here")
@pytest.mark.parametrize("order", [2, 3])
def test_a_fitted_delta_is_worth_it_on_penn_treebank(treebank, order):
    tokens, names, rows = treebank
    levels = count(tokens, len(names), order, BEGIN)
    held = np.concatenate([[BEGIN, *row] for row in rows("valid")]).astype(np.int32)
    delta = fitted_delta(levels, held, BEGIN)
    found = [
        perplexity(Table.of(levels, smooth(levels, "add-delta", BEGIN, value)), rows("valid"))
        for value in (delta, 1.0, delta * 1.1, delta / 1.1)
    ]
    print(
        f"order {order}: delta {delta:.5f}, perplexity {found[0]:.1f}, {found[1]:.1f} for delta 1"
    )
    assert found[0] == min(found) and found[0] < 0.8 * found[1]
