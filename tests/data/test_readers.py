"""What was written is read back; what cannot be read is said in a sentence."""

import csv
import gzip
import io
import json
import lzma
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wenmai.data import files
from wenmai.data.readers import parse_columns, read
from wenmai.errors import Mistake

zstandard = pytest.importorskip("zstandard")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ENCODINGS = ("utf-8", "utf-8-sig", "gb18030")
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# A file of nothing but ASCII is UTF-8 whatever wrote it, and one byte order mark is enough: 中 keeps encodings apart.
anything = st.text(st.characters(codec="gb18030", exclude_characters="\0\ufeff"), max_size=12)
one_line = st.text(st.characters(codec="gb18030", exclude_characters="\0\ufeff\t\r\n"), max_size=12)


def table_of(cell):
    return st.lists(st.tuples(cell, cell), min_size=1, max_size=12)


def write(folder, name, content, encoding="utf-8"):
    """Writes bytes or text, packed as the name ends; the path as a str."""
    data = content if isinstance(content, bytes) else content.encode(encoding)
    packer = next(pack for end, pack in reversed(PACKERS.items()) if name.endswith(end))
    (folder / name).write_bytes(packer(data))
    return str(folder / name)


def csv_text(rows):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def mistake(source, columns=None):
    with pytest.raises(Mistake) as caught:
        read(source, columns).load()
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def says(sentence, *parts):
    assert all(part in sentence for part in parts), sentence


def back(table, *names):
    return list(zip(*(table.load().columns[name] for name in names)))


# What was written is read back


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
class TestRoundTrip:
    @FEW
    @given(rows=table_of(anything))
    def test_csv(self, tmp_path, encoding, packed, rows):
        rows = [(f"中{a}", b) for a, b in rows]
        table = read(write(tmp_path, "a.csv" + packed, csv_text([("text", "label"), *rows]), encoding))
        assert back(table, "text", "label") == rows
        assert any(files.SPELLED[encoding] + "." in note for note in table.notes)
        assert any("Compressed" in note for note in table.notes) == bool(packed)

    @FEW
    @given(rows=table_of(one_line))
    def test_tsv(self, tmp_path, encoding, packed, rows):
        rows = [(f'"中{a}', b) for a, b in rows]  # a lone quote is data
        content = "".join(f"{a}\t{b}\n" for a, b in [("text", "label"), *rows])
        assert back(read(write(tmp_path, "a.tsv" + packed, content, encoding)), "text", "label") == rows

    @FEW
    @given(rows=table_of(anything | st.integers() | st.lists(st.integers(), max_size=3)))
    def test_jsonl(self, tmp_path, encoding, packed, rows):
        rows = [(["中", a], b) for a, b in rows]
        content = "".join(json.dumps({"tokens": a, "tags": b}, ensure_ascii=False) + "\n" for a, b in rows)
        assert back(read(write(tmp_path, "a.jsonl" + packed, content, encoding)), "tokens", "tags") == rows

    def test_text(self, tmp_path, encoding, packed):
        table = read(write(tmp_path, "a.txt" + packed, "床前明月光\r\n\r\n疑是地上霜", encoding))
        chunk = table.load()
        assert (chunk.columns, chunk.lines, table.names) == ({"text": ["床前明月光", "疑是地上霜"]}, [1, 3], ["text"])


@FEW
@given(rows=st.lists(st.tuples(anything | st.none(), st.integers(0, 99), st.floats(allow_nan=False)), min_size=1))
def test_parquet(tmp_path, rows):
    text, label, number = map(list, zip(*rows))
    parquet.write_table(arrow.table({"text": text, "Label": label, "x": number}), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    chunk = table.load()
    assert chunk.columns["text"] == text
    assert isinstance(chunk.columns["label"], np.ndarray)
    assert chunk.columns["label"].tolist() == label and chunk.columns["x"].tolist() == number
    assert list(chunk.lines) == list(range(1, len(rows) + 1))
    assert list(read(tmp_path / "a.parquet", {"target": "x", "label": "0"}).load().columns) == ["target", "label"]


def test_zstd_of_several_frames(tmp_path):
    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(b"one\ntw") + zstandard.compress(b"o\n"))
    assert read(tmp_path / "a.txt.zst").load().columns["text"] == ["one", "two"]


@pytest.mark.parametrize("content", ['[\n {"a": 1},\n {"a": "中"}\n]', '{"a": 1}\n\n{"a": "中"}\n'])
def test_json_as_list_or_lines(tmp_path, content):
    assert read(write(tmp_path, "a.json", content)).load().columns == {"a": [1, "中"]}


def test_csv_line_numbers_count_lines_not_rows(tmp_path):
    chunk = read(write(tmp_path, "a.csv", 'text,label\n"two\nlines",a\n\nx,b\n')).load()
    assert chunk.lines == [2, 5] and chunk.columns["text"] == ["two\nlines", "x"]


@pytest.mark.parametrize(("mark", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab")])
def test_csv_delimiter(tmp_path, mark, word):
    table = read(write(tmp_path, "a.csv", f"text{mark}label\na b{mark}1\n"))
    assert back(table, "text", "label") == [("a b", "1")] and any(word in note for note in table.notes)


def test_text_with_tabs(tmp_path):
    even = write(tmp_path, "even.txt", "好看 得很\t1\n难看\t0\n")
    odd = write(tmp_path, "odd.txt", "a\tb\nc\n")
    assert back(read(even), "0", "1") == [("好看 得很", "1"), ("难看", "0")]
    assert back(read(even, {"label": "1"}), "label") == [("1",), ("0",)]
    assert read(odd).load().columns["text"] == ["a\tb", "c"]


def test_character_cut_by_the_sample_is_no_error(tmp_path):
    for encoding in ("utf-8", "gb18030"):
        lines = ["x" + "脉" * 30_000, "文" * 30_000]
        assert read(write(tmp_path, "a.txt", "\n".join(lines), encoding)).load().columns["text"] == lines


# Headers and columns


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("text,label\na,b\n", ["text", "label"]),
        (" Text ,LABEL\na,b\n", ["text", "label"]),
        ("height,kind\n1.5,oak\n", ["height", "kind"]),
        ("height,kind\ntall,oak\n", ["0", "1"]),  # nothing tells these words from data
        ("a good film,pos\n7,neg\n", ["0", "1"]),  # spaces: a sentence, not a name
        ("fine,1\nbad,0\n", ["0", "1"]),
        ("nan,inf\n1,2\n", ["nan", "inf"]),
        ("1,2\n3,4\n", ["0", "1"]),
        ("word\n3\n", ["0"]),
        ("text,,text\na,b,c\n", ["text", "#1", "text#2"]),
    ],
)
def test_header(tmp_path, content, names):
    table = read(write(tmp_path, "a.csv", content))
    header = names[0] != "0"
    assert table.names == names and len(table.load()) == 2 - header
    assert any(("is a header" if header else "no header") in note for note in table.notes)


def test_columns_by_name_and_position(tmp_path):
    path = write(tmp_path, "a.tsv", "stars\treview\nlow\tnein\nhigh\tja\n")
    assert back(read(path, {"text": "review", "label": "stars"}), "text", "label") == [("nein", "low"), ("ja", "high")]
    assert back(read(path, {"text": "Review", "label": "0"}), "text", "label") == [("nein", "low"), ("ja", "high")]
    assert len(read(path, {"text": "1", "label": "0"}).load()) == 3  # positions alone name no header
    assert read(path, {"text": "1"}).names == ["text"]


def test_parse_columns():
    assert parse_columns("text=0, label = 两 ") == {"text": "0", "label": "两"}
    for wrong in ("", "text", "text=", "=0", "text=0,,label=1", "text=0,text=1"):
        with pytest.raises(Mistake, match="--columns"):
            parse_columns(wrong)


def test_column_that_is_not_there(tmp_path):
    path = write(tmp_path, "a.csv", "label,review\na,b\n")
    says(mistake(path, {"text": "revew"}), path, '"revew"', "review (1), label (0)", "--columns text=review")
    says(mistake(path, {"text": "7"}), '"7"', "review", "label", "--columns text=")
    rows = write(tmp_path, "a.jsonl", '{"title": 1, "body": 2}\n')
    says(mistake(rows, {"text": "titel"}), '"titel"', "title (0), body (1)", "--columns text=title")
    bare = write(tmp_path, "b.tsv", "a fine film\t1\nbad\t0\n")
    says(mistake(bare, {"text": "text"}), "a fine film (0)", "--columns text=0")


# Images and folders


def write_idx(folder, name, array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return write(folder, name, bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


@pytest.fixture
def images(tmp_path):
    image = np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2)
    path = write_idx(tmp_path, "train-images-idx3-ubyte.gz", image)
    write_idx(tmp_path, "train-labels-idx1-ubyte", np.array([3, 1, 4, 1, 5], np.uint8))
    return path, image


def test_idx(tmp_path, images):
    path, image = images
    write_idx(tmp_path, "t10k-images-idx3-ubyte.gz", image[:1])
    for source in (path, tmp_path):
        table = read(source)
        assert np.array_equal(table.load().columns["image"], image) and table.load().columns["image"].dtype == np.uint8
        assert table.load().columns["label"] == ["3", "1", "4", "1", "5"]
        assert [len(chunk) for chunk in table.chunks(2)] == [2, 2, 1]
    assert read(path, {"label": "label"}).names == ["label"]


def test_idx_mistakes(tmp_path, images):
    path, image = images
    write_idx(tmp_path, "train-labels-idx1-ubyte", np.zeros(4, np.uint8))
    says(mistake(path), path, "5 images", "4 labels", "train-labels-idx1-ubyte")
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    says(mistake(path), path, "no labels", "train-labels-idx1-ubyte")
    write_idx(tmp_path, "train-labels-idx1-ubyte", np.zeros(5, np.uint8))
    says(
        mistake(write(tmp_path, "train-images-idx3-ubyte", gzip.decompress(Path(path).read_bytes())[:-1])),
        "cut off",
        "5 images",
    )
    says(mistake(write(tmp_path, "train-images-idx3-ubyte", b"hello, world")), "no idx header")
    other = write_idx(tmp_path, "other-images-idx3-ubyte", image)
    says(mistake(str(tmp_path)), "several", "train-images-idx3-ubyte.gz", other.split("/")[-1])


def test_folder_of_labels(tmp_path):
    write(tmp_path, "Arabic.txt", "Khoury\n\nNahas\n")
    write(tmp_path, "Chinese.txt.xz", "Ang\n")
    write(tmp_path, ".hidden.txt", "x\n")
    table = read(tmp_path)
    assert back(table, "text", "label") == [("Khoury", "Arabic"), ("Nahas", "Arabic"), ("Ang", "Chinese")]
    assert table.load().lines == [1, 3, 1] and "Arabic, Chinese" in table.notes[-1]


def test_folder_without_usable_files(tmp_path):
    says(mistake(str(tmp_path)), str(tmp_path), "no files", "one .txt file a label")
    write(tmp_path, "train.tsv", "a\tb\n")
    says(mistake(str(tmp_path)), "train.tsv", "Give one file")


# Streaming


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl.zst", "a.parquet", "a.txt.xz"])
def test_chunks_join_to_load(tmp_path, name):
    rows = [(f"text {i}", str(i % 3)) for i in range(1000)]
    if "csv" in name:
        path = write(tmp_path, name, csv_text([("text", "label"), *rows]))
    elif "json" in name:
        path = write(tmp_path, name, "".join(json.dumps({"text": a, "label": b}) + "\n" for a, b in rows))
    elif "parquet" in name:
        path = tmp_path / name
        parquet.write_table(arrow.table(dict(zip(("text", "label"), map(list, zip(*rows))))), path)
    else:
        path = write(tmp_path, name, "text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    table = read(path)
    for _ in range(2):  # a table can be streamed again
        chunks = list(table.chunks(rows=64))
        assert [len(chunk) for chunk in chunks] == [64] * 15 + [40]
        for column in ("text", "label"):
            assert list(chain(*(chunk.columns[column] for chunk in chunks))) == list(table.load().columns[column])
        assert list(chain(*(chunk.lines for chunk in chunks))) == list(table.load().lines)
    assert back(table, "text", "label") == rows


def test_chunks_stream(tmp_path):
    """The first rows come before a broken line far behind them is read."""
    table = read(write(tmp_path, "a.csv", "text,label\n" + "some words,1\n" * 50_000 + "one cell\n"))
    chunks = table.chunks(rows=10)
    assert len(next(chunks)) == 10
    with pytest.raises(Mistake, match="line 50002"):
        list(chunks)


# Mistakes


def test_missing_file(tmp_path):
    for name in ("train.tsv", "dev.tsv", "labels.txt"):
        write(tmp_path, name, "a\tb\n")
    path = str(tmp_path / "trian.tsv")
    says(mistake(path), path, "did you mean train.tsv")
    says(mistake(str(tmp_path / "no" / "a.csv")), "folder", str(tmp_path / "no"))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.txt", "a.jsonl.xz", "a.json"])
@pytest.mark.parametrize("content", ["", "\ufeff", " \n\n"])
def test_empty_file(tmp_path, name, content):
    path = write(tmp_path, name, content)
    says(mistake(path), path, "is empty")


def test_nothing_but_a_frame(tmp_path):
    says(mistake(write(tmp_path, "a.csv", "text,label\n")), "header and no rows")
    says(mistake(write(tmp_path, "a.json", "[]")), "is empty")
    parquet.write_table(arrow.table({"text": arrow.array([], arrow.string())}), tmp_path / "a.parquet")
    says(mistake(str(tmp_path / "a.parquet")), "is empty")


@pytest.mark.parametrize("content", [b"text\0more", "text".encode("utf-16"), b"caf\xe9 \xff\xff\n"])
def test_binary(tmp_path, content):
    path = write(tmp_path, "a.txt", content)
    says(mistake(path), path, "looks like a binary file", "UTF-8")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt.gz", "a.jsonl.zst"])
def test_line_that_cannot_be_decoded(tmp_path, name):
    line = '{"text": "中文"}\n' if "json" in name else "中文,a\tb\n"
    for encoding in ("utf-8", "gb18030"):
        path = write(tmp_path, name, (line * 9000).encode(encoding) + b"\xff\xff\n" + line.encode(encoding))
        says(mistake(path), path, "line 9001", f"not {files.SPELLED[encoding]}", "save the whole file as UTF-8")


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t"), ("a.txt", "\t")])
def test_row_of_another_width(tmp_path, name, mark):
    rows = f"text{mark}label\n" + f"a{mark}b\n" * 200
    for wrong, found in ((f"a{mark}b{mark}c", 3), ("a", 1)):
        path = write(tmp_path, name, rows + wrong + "\n")
        says(mistake(path, {"text": "text"}), path, "line 202", f"found {found}", "expected 2")


def test_quotes(tmp_path):
    path = write(tmp_path, "a.csv", 'text,label\nfine,1\n"never closed,0\nand,1\n')
    says(mistake(path), path, "line 3", "never closes")
    path = write(tmp_path, "a.csv", 'text,label\nfine,1\n"good" film,0\n')
    says(mistake(path), path, "line 3", "quoting", '""')
    long = "x" * 200_000
    assert read(write(tmp_path, "a.csv", f'text,label\n"{long}",1\n')).load().columns["text"] == [long]


def test_json_mistakes(tmp_path):
    good = '{"text": "a", "label": 1}\n'
    path = write(tmp_path, "a.jsonl", good * 2 + '{"text": "a"}\n')
    says(mistake(path), path, "line 3", '"label"', "--columns")
    assert read(path, {"text": "text"}).load().columns["text"] == ["a"] * 3
    says(mistake(write(tmp_path, "a.jsonl", good + "{text: 1}\n")), "line 2", "not JSON")
    says(mistake(write(tmp_path, "a.jsonl", good + "[1, 2]\n")), "line 2", "list", "expected an object")
    says(mistake(write(tmp_path, "a.json", '[{"a": 1}, 2]')), "record 2", "int", "expected an object")
    says(mistake(write(tmp_path, "a.json", '[{"a": 1},\n')), "line 2", "not JSON")
    says(mistake(write(tmp_path, "a.json", '{\n "data": []\n}')), "line 1", "not JSON", "one whole object a line")


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_damaged_file(tmp_path, ending):
    packed = PACKERS[ending](np.random.default_rng(0).integers(97, 123, 400_000, np.uint8).tobytes())
    (tmp_path / ("a.txt" + ending)).write_bytes(packed[: len(packed) // 2])
    path = str(tmp_path / ("a.txt" + ending))
    says(mistake(path), path, "damaged or cut off")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    says(mistake(str(tmp_path / "a.parquet")), "cannot be read as Parquet")


def test_absent_packages(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    says(mistake(write(tmp_path, "a.txt.zst", "x\n")), "zstandard", "pip install wenmai[formats]")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    says(mistake(write(tmp_path, "a.parquet", b"PAR1")), "pyarrow", "pip install wenmai[formats]")


def test_words_over_a_column_of_labels_are_a_header(tmp_path):
    """`review,sentiment` is no known word and stands over no numbers, but a label column shows it: it never comes again."""
    rows = [f"some film {n}," + ("good" if n % 2 else "bad") for n in range(20)]
    (tmp_path / "a.csv").write_text("review,sentiment\n" + "\n".join(rows))
    (tmp_path / "b.csv").write_text("wonderful,good\n" + "\n".join(rows))
    assert read(tmp_path / "a.csv").names == ["review", "sentiment"]
    assert read(tmp_path / "b.csv").names == ["0", "1"]
