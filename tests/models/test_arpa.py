"""What is written as ARPA is read again, here and by KenLM; files of other hands are read; what is wrong is a sentence."""

import io
import random

import numpy as np
import pytest
from ngrams import BEGIN, END, FILES, UNK, a_text, numbered, total
from test_pruning import consistent

from wenmai.errors import Mistake
from wenmai.models.ngram import arpa as arpa_files
from wenmai.models.ngram import pruning
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.printing import read_back, spelled
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table


@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_is_written_as_arpa_is_read_again(order, tmp_path):
    tokens, names = numbered(a_text(100))
    levels = count(tokens, len(names), order, BEGIN)
    smoothed = smooth(levels, "kneser-ney", BEGIN)
    with open(tmp_path / "model.arpa", "w", encoding="utf-8") as file:
        arpa_files.write(file, names, levels, smoothed)
    words, *again = arpa_files.read(tmp_path / "model.arpa")
    assert words == names
    rows = [
        [*chance, END]
        for chance in np.random.default_rng(0).integers(0, len(names), (50, 6)).tolist()
    ]
    rows = [[word for word in row if word != BEGIN] for row in rows]
    np.testing.assert_allclose(
        total(Table.of(*again), rows), total(Table.of(levels, smoothed), rows), atol=1e-5
    )


def test_the_file_of_lmplz_is_read_packed(tmp_path):
    tokens, names = numbered(a_text())
    words, levels, smoothed = arpa_files.read(FILES / "lmplz.arpa.xz")
    own = count(tokens, len(names), 4, BEGIN)
    table = Table.of(own, smooth(own, "modified-kneser-ney", BEGIN))
    number = {word: at for at, word in enumerate(words)}
    text = a_text(50, seed=1)
    theirs = total(
        Table.of(levels, smoothed),
        [[*(number.get(word, UNK) for word in sentence), END] for sentence in text],
    )
    known = {word: at for at, word in enumerate(names)}
    ours = total(table, [[*(known.get(word, UNK) for word in sentence), END] for sentence in text])
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


SMALL = (
    "\\data\\\nngram 1=4\nngram 2=2\nngram 3=1\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.1\n-1\t</s>\n-0.5\ta\t-0.2\n\n"
    "\\2-grams:\n-0.3\t<s> a\t-0.4\n-0.2\ta </s>\n\n\\3-grams:\n-0.1\ta a </s>\n\n\\end\\\n"
)


def test_an_n_gram_whose_parts_were_pruned(tmp_path):
    """`a a` is not there, though `a a </s>` is: p(a|a) is what backing off gives."""
    (tmp_path / "small.arpa").write_text(SMALL)
    words, levels, smoothed = arpa_files.read(tmp_path / "small.arpa")
    a = words.index("a")
    found = total(Table.of(levels, smoothed), [[a, a, END]])
    assert found[0] == pytest.approx(-0.3 + (-0.4 - 0.2 - 0.5) - 0.1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("\\data\\", "data"), "is no ARPA file"),
        (("ngram 2=2", "ngram 3=2"), "line 3: found 'ngram 3=2', expected ngram 2=COUNT"),
        (("ngram 1=4", "ngram 1=²"), "line 2: .* expected ngram 1=COUNT"),
        (("ngram 1=4", "ngram 1=5"), "found 4 1-grams, expected 5"),
        (("ngram 1=4", "ngram 1=3"), "line 10: .* expected one of 3 1-grams"),
        (("\n\\end\\\n", ""), r"found '', expected \\end\\"),
        (("-0.5\ta", "0.5\ta"), "line 10: .* expected logarithms"),
        (("-0.5\ta", "nan\ta"), "line 10: .* expected logarithms"),
        (("<s> a\t", "<s> b\t"), "line 13: the word 'b' is not among the 1-grams"),
        (("\\2-grams:", "\\4-grams:"), r"found '\\\\4-grams:', expected \\2-grams:"),
        (("<s> a\t-0.4", "<s>"), "line 13: .* 2 words"),
        (("-0.2\ta </s>", "-0.2\t<s> a"), "the 2-gram '<s> a' stands there twice"),
        (("-1\t</s>", "-1\ta"), "the word 'a' stands twice"),
        (("a\t-0.2", "a\t-0.2x"), "line 10: .* expected logarithms"),
        (("-0.5\ta\t-0.2", "-0.5\ta\t-0.2\t1"), "line 10: .* at most one number more"),
        (("-0.5\ta", "--5\ta"), "line 10"),
        (("ngram 1=4\nngram 2=2\nngram 3=1\n", ""), "found n-grams of 0 orders"),
    ],
)
def test_a_damaged_arpa_file_is_a_sentence(change, said, tmp_path):
    assert change[0] in SMALL
    (tmp_path / "small.arpa").write_text(SMALL.replace(*change))
    with pytest.raises(Mistake, match=f"small.arpa.*{said}"):
        arpa_files.read(tmp_path / "small.arpa")


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_of_any_size_are_read_alike(block, tmp_path, monkeypatch):
    (tmp_path / "small.arpa").write_text("made by hand\n\n" + SMALL)
    words, levels, smoothed = arpa_files.read(tmp_path / "small.arpa")
    monkeypatch.setattr(arpa_files, "BLOCK", block)
    again, same, weights = arpa_files.read(tmp_path / "small.arpa")
    assert again == words
    for one, other in zip([*levels, *smoothed.levels], [*same, *weights.levels]):
        assert all((getattr(one, name) == getattr(other, name)).all() for name in vars(one))


def test_what_is_read_is_sorted():
    """A trie needs it."""
    words, levels, _ = arpa_files.read(FILES / "lmplz.arpa.xz")
    consistent(levels, words)


SRILM = """made from text by hand; SRILM would write nothing here

\\data\\
ngram 1=4
ngram  2=2
ngram 3=0

\\1-grams:
-0.5 a -0.2
-99 <s> -0.1
-1 </s>
-inf b -0.7

\\2-grams:
0.0004 <s> a
-3e-1 a b

\\3-grams:

\\end\\
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_variants_of_other_toolkits(ends, tmp_path):
    """Spaces, no <unk>, an order without n-grams, -inf, a probability that rounding brought above 1, CRLF."""
    (tmp_path / "sri.arpa").write_bytes(SRILM.replace("\n", ends).encode())
    words, levels, smoothed = arpa_files.read(tmp_path / "sri.arpa")
    assert words == ["<unk>", "<s>", "</s>", "a", "b"] and [*map(len, levels)] == [5, 2, 0]
    assert smoothed.levels[0].log_prob.tolist() == pytest.approx([-99, -99, -1, -0.5, -99])
    found = total(Table.of(levels, smoothed), [[3, 4, END], [3, END], [UNK, END]])
    assert found == pytest.approx([0 - 0.3 - 0.7 - 1, 0 - 0.2 - 1, -0.1 - 99 - 1])


def test_an_unknown_word_in_capitals(tmp_path):
    (tmp_path / "large.arpa").write_text(
        SMALL.replace("<unk>", "<UNK>").replace("a </s>\n\n\\3", "a <UNK>\n\n\\3")
    )
    words, levels, smoothed = arpa_files.read(tmp_path / "large.arpa")
    assert words == ["<unk>", "<s>", "</s>", "a"]
    a = words.index("a")
    assert total(Table.of(levels, smoothed), [[a, UNK]])[0] == pytest.approx(-0.3 - 0.4 - 0.2)


def written(words, levels, smoothed) -> str:
    out = io.StringIO()
    arpa_files.write(out, words, levels, smoothed)
    return out.getvalue()


def test_white_space_in_words(tmp_path):
    """As characters have it."""
    tokens, names = numbered([[*"a b\tc\u3000d"]])
    levels = count(tokens, len(names), 2, BEGIN)
    (tmp_path / "letters.arpa").write_text(
        written(names, levels, smooth(levels, "witten-bell", BEGIN)), "utf-8"
    )
    words, again, _ = arpa_files.read(tmp_path / "letters.arpa")
    assert words == ["<unk>", "<s>", "</s>", "a", "▁", "b", r"\x09", "c", "\u3000", "d"]
    assert [*map(len, again)] == [*map(len, levels)]


@pytest.mark.parametrize("words", [[" ", "▁", "\t", "a b"], ["▁a", "\u3000", "\\", "x"]])
def test_words_are_read_back(words):
    spaces = any(" " in word for word in words)
    assert [
        read_back(spelled(word, spaces)) if spaces else spelled(word, spaces) for word in words
    ] == words


def test_a_word_that_cannot_be_written():
    tokens, names = numbered([[""]])
    levels = count(tokens, len(names), 2, BEGIN)
    with pytest.raises(Mistake, match="ARPA cannot hold this vocabulary"):
        written(names, levels, smooth(levels, "witten-bell", BEGIN))


def test_numbers_are_written_to_seven_places():
    tokens, names = numbered(a_text(50))
    levels = count(tokens, len(names), 3, BEGIN)
    smoothed = smooth(levels, "katz", BEGIN)
    lines = [
        line.split("\t") for line in written(names, levels, smoothed).splitlines() if "\t" in line
    ]
    log_prob = np.concatenate([weights.log_prob for weights in smoothed.levels])
    log_prob[BEGIN] = -99
    np.testing.assert_allclose(
        [float(cells[0]) for cells in lines], np.clip(log_prob, -99, 0), atol=1e-7, rtol=1e-7
    )
    backoff = np.concatenate([weights.backoff for weights in smoothed.levels[:-1]])
    np.testing.assert_allclose(
        [float(cells[2]) for cells in lines if len(cells) == 3], backoff, atol=1e-7, rtol=1e-7
    )


@pytest.mark.parametrize(
    "number",
    [
        "-1",
        "-.5",
        "-1.",
        "-1e-3",
        "-1.5E+1",
        "-0.12345678901234567890",
        "-12345678901234567890e-19",
        "+0",
        "-INF",
        "-infinity",
        "-1e-400",
    ],
)
def test_numbers_are_read_as_python_reads_them(number, tmp_path):
    (tmp_path / "small.arpa").write_text(SMALL.replace("-0.5\ta", f"{number}\ta"))
    words, _, smoothed = arpa_files.read(tmp_path / "small.arpa")
    assert smoothed.levels[0].log_prob[words.index("a")] == pytest.approx(max(float(number), -99))


# KenLM


def random_sentences(words: list[str], seed: int = 0) -> list[list[str]]:
    chance, known = random.Random(seed), [word for word in words if not word.startswith("<")]
    return [
        chance.choices([*known, "never-seen"], k=chance.randint(0, 9)) for _ in range(100)
    ] + a_text(100, seed=1)


def scores(words, levels, smoothed, text) -> np.ndarray:
    number = {word: at for at, word in enumerate(words)}
    return total(
        Table.of(levels, smoothed),
        [[*(number.get(word, UNK) for word in sentence), END] for sentence in text],
    )


@pytest.mark.parametrize("prune", ["", "0 1"])
@pytest.mark.parametrize(
    ("kind", "order"), [("modified-kneser-ney", 4), ("katz", 3), ("add-one", 3), ("witten-bell", 2)]
)
def test_kenlm_reads_what_is_written(kind, order, prune, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    tokens, names = numbered(a_text())
    levels, smoothed = pruning.by_count(count(tokens, len(names), order, BEGIN), prune, kind)
    (tmp_path / "model.arpa").write_text(written(names, levels, smoothed), "utf-8")
    model, text = kenlm.Model(str(tmp_path / "model.arpa")), random_sentences(names)
    theirs = [model.score(" ".join(sentence), bos=True, eos=True) for sentence in text]
    np.testing.assert_allclose(scores(names, levels, smoothed, text), theirs, atol=1e-4)


@pytest.mark.parametrize("name", ["lmplz", "lmplz-pruned"])
def test_files_of_lmplz_score_as_in_kenlm(name, tmp_path):
    kenlm, lzma = pytest.importorskip("kenlm"), pytest.importorskip("lzma")
    (tmp_path / "model.arpa").write_bytes(lzma.decompress((FILES / f"{name}.arpa.xz").read_bytes()))
    words, levels, smoothed = arpa_files.read(tmp_path / "model.arpa")
    model, text = kenlm.Model(str(tmp_path / "model.arpa")), random_sentences(words)
    theirs = [model.score(" ".join(sentence), bos=True, eos=True) for sentence in text]
    np.testing.assert_allclose(scores(words, levels, smoothed, text), theirs, atol=1e-4)


def test_a_model_pruned_by_entropy_scores_as_in_kenlm(tmp_path):
    kenlm = pytest.importorskip("kenlm")
    tokens, names = numbered(a_text())
    levels = count(tokens, len(names), 4, BEGIN)
    levels, smoothed = pruning.by_entropy(
        levels, smooth(levels, "modified-kneser-ney", BEGIN), 1e-5
    )
    (tmp_path / "model.arpa").write_text(written(names, levels, smoothed), "utf-8")
    model, text = kenlm.Model(str(tmp_path / "model.arpa")), random_sentences(names)
    theirs = [model.score(" ".join(sentence), bos=True, eos=True) for sentence in text]
    np.testing.assert_allclose(scores(names, levels, smoothed, text), theirs, atol=1e-4)
