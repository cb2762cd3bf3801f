"""Probabilities are those of lmplz, of nltk and of worked examples."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.errors import Mistake
from wenmai.models.ngram import arpa as arpa_files
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table

UNK, BEGIN, END = 0, 1, 2
FILES = Path(__file__).parent / "files"


def a_text(sentences: int = 500, seed: int = 0) -> list[list[str]]:
    """Sentences in which the next word depends on the last one; tests/models/files/lmplz.arpa.xz was made from these."""
    chance, text = np.random.default_rng(seed), []
    for _ in range(sentences):
        word, sentence = 0, []
        for _ in range(int(chance.integers(1, 12))):
            word = (3 * word + int(chance.integers(1, 4))) % 211 if chance.random() < 0.5 else int(chance.zipf(1.5)) % 1009
            sentence.append(f"w{word}")
        text.append(sentence)
    return text


def numbered(text: list[list[str]]) -> tuple[np.ndarray, list[str]]:
    names = {"<unk>": UNK, "<s>": BEGIN, "</s>": END}
    tokens = [number for sentence in text
              for number in (BEGIN, *(names.setdefault(word, len(names)) for word in sentence), END)]  # fmt: skip
    return np.array(tokens, np.int32), list(names)


def in_words(levels, names) -> list[list[tuple]]:
    tables = [[(name,) for name in names]]
    for level in levels[1:]:
        tables.append([(*tables[-1][before], names[word]) for before, word in zip(level.context, level.word)])
    return tables


def by_hand(text: str) -> dict[tuple, tuple[float, float]]:
    found = {}
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) > 1:
            found[tuple(cells[1].split(" "))] = float(cells[0]), float(cells[2]) if len(cells) > 2 else 0.0
    return found


def test_modified_kneser_ney_is_that_of_lmplz():
    expected = by_hand(lzma.decompress((FILES / "lmplz.arpa.xz").read_bytes()).decode())
    tokens, names = numbered(a_text())
    levels = count(tokens, len(names), 4, BEGIN)
    smoothed = smooth(levels, "modified-kneser-ney", BEGIN)
    found = {gram: (float(p), float(b)) for table, weights in zip(in_words(levels, names), smoothed.levels)
             for gram, p, b in zip(table, weights.log_prob, weights.backoff)}  # fmt: skip
    assert found.keys() == expected.keys() and len(found) > 3000 and not smoothed.notes
    for gram, (prob, backoff) in expected.items():
        assert found[gram] == pytest.approx((prob, backoff), abs=1e-5), gram


KINDS = ("absolute", "witten-bell", "katz", "kneser-ney", "modified-kneser-ney")
sentences = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(sentences, st.sampled_from(KINDS), st.integers(1, 6), st.lists(st.integers(0, 8), max_size=7))
def test_probabilities_sum_to_one_after_any_context(text, kind, order, context):
    tokens, names = numbered(text)
    levels = count(tokens, len(names), order, BEGIN)
    table = Table.of(levels, smooth(levels, kind, BEGIN))
    known = [word for word in context if word < len(names) and word != BEGIN]
    for state in (table.empty(1), table.start(1)):
        for word in known:
            _, state = table.advance(state, np.array([word], np.int32))
        after = table.following(state[0]).astype(np.float64)
        after[BEGIN] = -np.inf
        assert (after <= 0).all()
        assert (10**after).sum() == pytest.approx(1, abs=1e-4)


PTB = Path(os.environ.get("WENMAI_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ptb"


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank text is not here")
@pytest.mark.parametrize(("order", "valid", "test"), [(3, 157.77, None), (5, 148.01, 142.0)])
def test_penn_treebank(order, valid, test):
    """<unk> is an ordinary word there."""
    with lzma.open(PTB / "ptb.train.txt.xz", "rt", encoding="utf-8") as file:
        tokens, names = numbered([line.replace("<unk>", "<UNK>").split() for line in file])
    levels = count(tokens, len(names), order, BEGIN)
    table = Table.of(levels, smooth(levels, "modified-kneser-ney", BEGIN))
    number = {name: at for at, name in enumerate(names)}

    def perplexity(part: str) -> float:
        lines = (PTB / f"ptb.{part}.txt").read_text("utf-8").replace("<unk>", "<UNK>").splitlines()
        rows = [[*(number.get(word, UNK) for word in line.split()), END] for line in lines]
        return 10 ** (-total(table, rows).sum() / sum(map(len, rows)))

    assert perplexity("valid") == pytest.approx(valid, abs=0.01)
    assert test is None or perplexity("test") < test


def total(table: Table, rows: list[list[int]]) -> np.ndarray:
    return table.score(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]))


@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_is_written_as_arpa_is_read_again(order, tmp_path):
    tokens, names = numbered(a_text(100))
    levels = count(tokens, len(names), order, BEGIN)
    smoothed = smooth(levels, "kneser-ney", BEGIN)
    with open(tmp_path / "model.arpa", "w", encoding="utf-8") as file:
        arpa_files.write(file, names, levels, smoothed)
    words, *again = arpa_files.read(tmp_path / "model.arpa")
    assert words == names
    rows = [[*chance, END] for chance in np.random.default_rng(0).integers(0, len(names), (50, 6)).tolist()]
    rows = [[word for word in row if word != BEGIN] for row in rows]
    np.testing.assert_allclose(total(Table.of(*again), rows), total(Table.of(levels, smoothed), rows), atol=1e-5)


def test_the_file_of_lmplz_is_read_packed(tmp_path):
    tokens, names = numbered(a_text())
    words, levels, smoothed = arpa_files.read(FILES / "lmplz.arpa.xz")
    own = count(tokens, len(names), 4, BEGIN)
    table = Table.of(own, smooth(own, "modified-kneser-ney", BEGIN))
    number = {word: at for at, word in enumerate(words)}
    text = a_text(50, seed=1)
    theirs = total(Table.of(levels, smoothed), [[*(number.get(word, UNK) for word in sentence), END] for sentence in text])
    known = {word: at for at, word in enumerate(names)}
    ours = total(table, [[*(known.get(word, UNK) for word in sentence), END] for sentence in text])
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


SMALL = "\\data\\\nngram 1=4\nngram 2=2\nngram 3=1\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.1\n-1\t</s>\n-0.5\ta\t-0.2\n\n" \
        "\\2-grams:\n-0.3\t<s> a\t-0.4\n-0.2\ta </s>\n\n\\3-grams:\n-0.1\ta a </s>\n\n\\end\\\n"  # fmt: skip


def test_an_n_gram_whose_parts_were_pruned(tmp_path):
    """`a a` is not there, though `a a </s>` is: p(a|a) is what backing off gives."""
    (tmp_path / "small.arpa").write_text(SMALL)
    words, levels, smoothed = arpa_files.read(tmp_path / "small.arpa")
    a = words.index("a")
    found = total(Table.of(levels, smoothed), [[a, a, END]])
    assert found[0] == pytest.approx(-0.3 + (-0.4 - 0.2 - 0.5) - 0.1)


@pytest.mark.parametrize(("change", "said"), [
    (("\\data\\", "data"), "is no ARPA file"),
    (("ngram 2=2", "ngram 3=2"), "line 3: found 'ngram 3=2', expected ngram 2=COUNT"),
    (("ngram 1=4", "ngram 1=5"), "found 4 1-grams, expected 5"),
    (("ngram 1=4", "ngram 1=3"), "line 10: .* expected one of 3 1-grams"),
    (("\n\\end\\\n", ""), r"found '', expected \\end\\"), (("-0.5\ta", "0.5\ta"), "line 10: .* expected logarithms"),
    (("-0.5\ta", "nan\ta"), "line 10: .* expected logarithms"),
    (("<s> a\t", "<s> b\t"), "line 13: the word 'b' is not among the 1-grams"),
    (("\\2-grams:", "\\4-grams:"), r"found '\\\\4-grams:', expected \\2-grams:"),
    (("<s> a\t-0.4", "<s>"), "line 13: .* 2 words"),
    (("ngram 1=4\nngram 2=2\nngram 3=1\n", ""), "found n-grams of 0 orders"),
])  # fmt: skip
def test_a_damaged_arpa_file_is_a_sentence(change, said, tmp_path):
    assert change[0] in SMALL
    (tmp_path / "small.arpa").write_text(SMALL.replace(*change))
    with pytest.raises(Mistake, match=f"small.arpa.*{said}"):
        arpa_files.read(tmp_path / "small.arpa")
