"""Sentences come back as they were written, whatever else stands in the file."""

import gzip
import lzma
import os
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wenmai.data.files.readers import read
from wenmai.errors import Mistake

zstandard = pytest.importorskip("zstandard")

DATA = Path(os.environ.get("WENMAI_DATA") or Path(__file__).parents[3] / "shared" / "data")
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

word = st.text(
    st.characters(codec="gb18030", exclude_characters="\0\ufeff\t\r\n "), min_size=1, max_size=6
)
words = st.one_of(
    word,
    st.sampled_from(["\u3000", "\xa0", "\u2028", "\x85", "#", "#tag", "# ", "-", '"', "中 国"]),
)
tag = st.sampled_from(["O", "B-LOC", "I-LOC", "S-人名", "#"])


def sentences_of(token):
    return st.lists(
        st.lists(st.tuples(token, tag, tag), min_size=1, max_size=5), min_size=1, max_size=6
    )


def write(folder, name, content, encoding="utf-8"):
    packer = next(pack for end, pack in reversed(PACKERS.items()) if name.endswith(end))
    (folder / name).write_bytes(packer(content.encode(encoding)))
    return str(folder / name)


def columns_of(sentences, *positions):
    return [
        [[token[position] for token in sentence] for sentence in sentences]
        for position in positions
    ]


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
class TestRoundTrip:
    @FEW
    @given(
        data=st.data(),
        mark=st.sampled_from(["\t", " ", "   "]),
        gap=st.sampled_from(["\n", " \t\n", "\r\n", "\n\n"]),
    )
    def test_conll(self, tmp_path, encoding, packed, data, mark, gap):
        sentences = [[("中", "O", "O")], *data.draw(sentences_of(words if mark == "\t" else word))]
        content = gap.join(
            "".join(mark.join(token) + "\n" for token in sentence) for sentence in sentences
        )
        table = read(write(tmp_path, "a.conll" + packed, content, encoding))
        chunk = table.load()
        assert [chunk.columns["tokens"], chunk.columns["tags"]] == columns_of(sentences, 0, 2)
        for size in (1, 2, 100):
            chunks = list(table.chunks(size))
            assert all(len(part) <= size for part in chunks)
            assert (
                list(chain(*(part.columns["tokens"] for part in chunks))) == chunk.columns["tokens"]
            )
            assert list(chain(*(part.lines for part in chunks))) == list(chunk.lines)
        lines = content.split("\n")
        assert [lines[line - 1].split(mark)[0] for line in chunk.lines] == [
            sentence[0][0] for sentence in sentences
        ]

    @FEW
    @given(sentences=sentences_of(words), end=st.sampled_from(["\n", "\r\n"]))
    def test_conllu(self, tmp_path, encoding, packed, sentences, end):
        sentences = [[("中", "O", "O")], *sentences]
        lines = []
        for sentence in sentences:
            lines += ["# text = 中\t国", "1-2\t中国" + "\t_" * 8]
            for number, (form, upos, xpos) in enumerate(sentence, 1):
                lines += [
                    f"{number}\t{form}\t_\t{upos}\t{xpos}" + "\t_" * 5,
                    f"{number}.1\tnot written" + "\t_" * 8,
                ]
            lines += [""]
        path = write(tmp_path, "a.conllu" + packed, end.join(lines), encoding)
        chunk = read(path).load()
        assert [chunk.columns["tokens"], chunk.columns["tags"]] == columns_of(sentences, 0, 1)
        chunk = read(path, {"tokens": "form", "tags": "xpos"}).load()
        assert [chunk.columns["tokens"], chunk.columns["tags"]] == columns_of(sentences, 0, 2)


ENGLISH = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
"""


def mistake(path, columns=None):
    with pytest.raises(Mistake) as caught:
        read(path, columns).load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["eng.train", "a.txt", "a.conll", "a.iob2.gz"])
def test_columns(tmp_path, name):
    path = write(tmp_path, name, ENGLISH)
    table = read(path)
    assert table.names == ["tokens", "tags"]
    assert table.load().columns == {
        "tokens": [["EU", "rejects"], ["Peter"]],
        "tags": [["I-ORG", "O"], ["I-PER"]],
    }
    assert list(table.load().lines) == [3, 6]
    assert table.notes[-2:] == [
        "CoNLL: one token a line, 4 columns; tokens are column 0, tags column 3.",
        "-DOCSTART- lines are dropped (1 at the beginning of the file).",
    ]
    for columns in ({"tokens": "0", "tags": "1"}, {"tags": "1"}):
        table = read(path, columns)
        assert table.names == ["tokens", "tags"] and table.load().columns["tags"] == [
            ["NNP", "VBZ"],
            ["NNP"],
        ]
        assert "tokens are column 0, tags column 1." in table.notes[-2]
    assert read(path, {"tags": "3"}).load().columns["tags"] == [["I-ORG", "O"], ["I-PER"]]
    assert '"7"' in mistake(path, {"tags": "7"})
    assert read(path, {"tokens": "1", "text": "2"}).load().columns["text"] == [
        ["I-NP", "I-VP"],
        ["I-NP"],
    ]


def test_documents_without_a_blank_line(tmp_path):
    table = read(write(tmp_path, "a.conll", "-DOCSTART-\na O\n\n-DOCSTART-\nb O\nc O\n"))
    assert table.load().columns["tokens"] == [["a"], ["b", "c"]] and list(table.load().lines) == [
        2,
        5,
    ]


def test_universal_by_content(tmp_path):
    table = read(
        write(
            tmp_path,
            "a.txt",
            "# text\n1\ta\tA\tX\tx\t_\t0\troot\t_\t_\n2\tb\tB\tY\ty\t_\t1\tdep\t_\t_\n\n1\tc"
            + "\t_" * 8,
        )
    )
    assert table.load().columns == {"tokens": [["a", "b"], ["c"]], "tags": [["X", "Y"], ["_"]]}
    assert table.notes[-1] == "CoNLL-U: one word a line, 10 columns; tokens are form, tags upos."
    assert read(table.source, {"tokens": "lemma", "tags": "head"}).load().columns["tags"] == [
        ["0", "1"],
        ["_"],
    ]


def test_comments_and_hash_signs(tmp_path):
    """In CoNLL a comment is what is not as wide as a token, at the beginning of a sentence."""
    table = read(write(tmp_path, "a.ner", "# id 1 of 2\n# O\n#tag B-X\n\n#begin\nb O\n"))
    assert table.load().columns["tokens"] == [["#", "#tag"], ["b"]]
    assert "line 2" in mistake(write(tmp_path, "a.ner", "a O\n#tag\nb O\n"))


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("好\tO\n的\tO\n\n不\tB-X\n", ["tokens", "tags"]),
        ("the DT\ndog NN\n\nit PRP\nbarks VBZ\n", ["tokens", "tags"]),
        ("好 v\n的 u\n\n" * 5, ["tokens", "tags"]),
        ("好\tO\n的\tO\n\n\n", ["0", "1"]),  # no blank line between groups
        ("a fine film\t1\n\nanother\t0\n\n", ["0", "1"]),  # nor groups of lines
        ("text\tlabel\ngood\t1\n\nbad\t0\n", ["text", "label"]),
        ("x" * 50 + "\t1\nbad\t0\n\nworse\t0\n", ["0", "1"]),  # a text, not a token
        ("two words\nin each\n\nof these\nfour lines\n", ["text"]),
        ("one\ntwo\n\nthree\n", ["text"]),
        ("a O\nb O\n\nc O X\n", ["text"]),
    ],
)
def test_by_content(tmp_path, content, names):
    assert read(write(tmp_path, "a.txt", content)).names == names


def test_other_endings_are_left_alone(tmp_path):
    assert read(write(tmp_path, "a.tsv", "好\tO\n的\tO\n\n不\tB-X\n")).names == ["0", "1"]
    path = write(tmp_path, "a.txt", "好\tO\n的\tO\n\n不\tB-X\n")
    assert read(path, {"text": "0", "label": "1"}).load().columns["text"] == ["好", "的", "不"]


def test_mistakes(tmp_path):
    for mark in (" ", "\t"):
        path = write(tmp_path, "a.conll", f"a{mark}O\n" * 9000 + f"\nb\n\nc{mark}O\n")
        sentence = mistake(path)
        assert (
            sentence.startswith(f"{path}, line 9002: found 1 columns, expected 2")
            and "correct the line" in sentence
        )
    path = write(tmp_path, "a.bio", "a\nb\n\nc\n")  # tokens that wait for their tags
    assert read(path).load().columns == {"tokens": [["a", "b"], ["c"]]}
    assert "found no tokens" in mistake(write(tmp_path, "a.bio", "-DOCSTART-\n\n"))
    path = write(tmp_path, "a.conllu", "1\ta\tA\tX\tx\t_\t0\troot\t_\t_\n2\tb\n")
    assert f"{path}, line 2: found 2 columns, expected 10" in mistake(path)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
@pytest.mark.parametrize(
    ("name", "rows", "tokens"),
    [
        ("conll2003/eng.train.xz", 14_041, 203_621),
        ("conll2003/eng.testa.xz", 3250, 51_362),
        ("conll2003/eng.testb.xz", 3453, 46_435),
        ("ud_ewt/en_ewt-ud-train.conllu.xz", 12_544, 204_577),
        ("ud_ewt/en_ewt-ud-dev.conllu.xz", 2001, 25_147),
        ("ud_ewt/en_ewt-ud-test.conllu.xz", 2077, 25_094),
        ("msra_ner/train.txt.xz", 50_658, 2_169_879),
        ("msra_ner/test.txt.xz", 4631, 172_601),
        ("resume_ner/train.char.bmes.xz", 3821, 124_099),
        ("resume_ner/dev.char.bmes", 463, 13_890),
        ("resume_ner/test.char.bmes", 477, 15_100),
    ],
)
def test_real_sets(name, rows, tokens):
    chunk = read(DATA / name).load()
    assert len(chunk) == rows and sum(map(len, chunk.columns["tokens"])) == tokens
    assert [*map(len, chunk.columns["tokens"])] == [*map(len, chunk.columns["tags"])]
