"""What was written is read back; what cannot be read is said in a sentence."""

import csv
import gc
import gzip
import io
import json
import lzma
import math
import os
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wenmai.data.files import delimited, objects
from wenmai.data.files import opening as files
from wenmai.data.files.columns import tidy, uncollected
from wenmai.data.files.readers import parse_columns, read
from wenmai.errors import Mistake

zstandard = pytest.importorskip("zstandard")
arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ENCODINGS = ("utf-8", "utf-8-sig", "gb18030")
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
DATA = Path(os.environ.get("WENMAI_DATA") or Path(__file__).parents[3] / "shared" / "data")
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

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


def mistake(source, columns=None, target=None):
    with pytest.raises(Mistake) as caught:
        read(source, columns, target).load()
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def says(sentence, *parts):
    assert all(part in sentence for part in parts), sentence


def same_in_chunks(table, size):
    """The table loaded; chunks of any size hold the same."""
    whole, chunks = table.load(), list(table.chunks(size))
    assert all(0 < len(chunk) <= size for chunk in chunks)
    assert list(whole.lines) == list(chain(*(chunk.lines for chunk in chunks)))
    for name, values in whole.columns.items():
        assert list(values) == list(chain(*(chunk.columns[name] for chunk in chunks))) and len(
            values
        ) == len(whole)
    return whole


def back(table, *names):
    return list(zip(*(table.load().columns[name] for name in names)))


# What was written is read back


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
class TestRoundTrip:
    @FEW
    @given(rows=table_of(anything), size=st.integers(1, 5))
    def test_csv(self, tmp_path, encoding, packed, rows, size):
        rows = [(f"中{a}", b) for a, b in rows]
        table = read(
            write(tmp_path, "a.csv" + packed, csv_text([("text", "label"), *rows]), encoding)
        )
        assert back(table, "text", "label") == rows
        assert same_in_chunks(table, size).columns["label"] == [label for _, label in rows]
        assert any(files.SPELLED[encoding] + "." in note for note in table.notes)
        assert any("Compressed" in note for note in table.notes) == bool(packed)

    @FEW
    @given(rows=table_of(one_line), size=st.integers(1, 5), end=st.sampled_from(["\n", "\r\n"]))
    def test_tsv(self, tmp_path, encoding, packed, rows, size, end):
        rows = [(f'"中{a}', b) for a, b in rows]  # a lone quote is data
        content = "".join(f"{a}\t{b}{end}" for a, b in [("text", "label"), *rows])
        table = read(write(tmp_path, "a.tsv" + packed, content, encoding))
        assert back(table, "text", "label") == rows
        assert same_in_chunks(table, size).columns["label"] == [label for _, label in rows]

    @FEW
    @given(rows=st.lists(one_line, min_size=1, max_size=12), size=st.integers(1, 5))
    def test_plain_lines(self, tmp_path, encoding, packed, rows, size):
        content = "".join(f"{row}\n" for row in ["中", *rows])
        chunk = same_in_chunks(read(write(tmp_path, "a.txt" + packed, content, encoding)), size)
        assert chunk.columns["text"] == ["中", *filter(None, rows)]
        assert list(chunk.lines) == [1, *(line for line, row in enumerate(rows, 2) if row)]

    @FEW
    @given(
        rows=table_of(anything | st.integers() | st.lists(st.integers(), max_size=3)),
        size=st.integers(1, 5),
    )
    def test_jsonl(self, tmp_path, encoding, packed, rows, size):
        rows = [(["中", a], b) for a, b in rows]
        content = "".join(
            json.dumps({"tokens": a, "tags": b}, ensure_ascii=False) + "\n" for a, b in rows
        )
        table = read(write(tmp_path, "a.jsonl" + packed, content, encoding))
        assert back(table, "tokens", "tags") == rows
        same_in_chunks(table, size)

    @FEW
    @given(rows=table_of(st.lists(st.floats() | st.integers(), max_size=4)))
    def test_numbers(self, tmp_path, encoding, packed, rows):
        content = "".join(
            json.dumps({"inputs": a, "targets": b, "名": "中"}, ensure_ascii=False) + "\n"
            for a, b in rows
        )
        table = read(write(tmp_path, "a.jsonl" + packed, content, encoding))
        assert repr(back(table, "inputs", "targets")) == repr(
            rows
        )  # nan and inf too, and 1 stays 1

    @FEW
    @given(
        rows=table_of(anything),
        size=st.integers(1, 5),
        indent=st.none() | st.integers(0, 2),
        block=st.integers(1, 90),
    )
    def test_json_list(self, tmp_path, encoding, packed, rows, size, indent, block):
        rows = [(f"中{a}", {"b": [b, 1.5, None]}) for a, b in rows]
        content = json.dumps(
            [dict(zip("ab", row)) for row in rows], ensure_ascii=False, indent=indent
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(objects, "BLOCK", block)
            table = read(write(tmp_path, "a.json" + packed, content, encoding))
            assert back(table, "a", "b") == rows
            same_in_chunks(table, size)

    @FEW
    @given(
        paragraphs=st.lists(
            st.tuples(
                anything, st.lists(st.lists(st.tuples(anything, st.integers(0, 99)), max_size=2))
            ),
            min_size=1,
        ),
        size=st.integers(1, 5),
        indent=st.none() | st.integers(0, 2),
        block=st.integers(1, 90),
    )
    def test_squad(self, tmp_path, encoding, packed, paragraphs, size, indent, block):
        paragraphs = [("中", [[("答", 3)]]), *paragraphs]
        data = [squad_article(context, questions) for context, questions in paragraphs]
        content = json.dumps(
            {"version": "中", "data": data, "more": {"a": 1}}, ensure_ascii=False, indent=indent
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(objects, "BLOCK", block)
            table = read(write(tmp_path, "a.json" + packed, content, encoding))
            expected = [
                (context, answers) for context, questions in paragraphs for answers in questions
            ]
            assert [(c, list(a)) for c, a in back(table, "context", "answers")] == [
                (c, [t for t, _ in a]) for c, a in expected
            ]
            first = [answers[0] if answers else ("", -1) for _, answers in expected]
            assert back(table, "answer", "answer_start") == first
            same_in_chunks(table, size)

    @FEW
    @given(rows=table_of(one_line), size=st.integers(1, 5))
    def test_aligned(self, tmp_path, encoding, packed, rows, size):
        rows = [("中", "国"), *rows, ("x", "y")]
        first = write(tmp_path, "a.en" + packed, "".join(f"{a}\n" for a, _ in rows), encoding)
        second = write(tmp_path, "a.zh", "\n".join(b for _, b in rows))
        table = read(first, target=second)
        assert table.names == ["source", "target"] and back(table, "source", "target") == rows
        assert list(same_in_chunks(table, size).lines) == list(range(1, len(rows) + 1))

    @FEW
    @given(
        rows=st.lists(st.tuples(one_line.map("中".__add__), st.sampled_from("abc")), max_size=12),
        size=st.integers(1, 5),
    )
    def test_folder(self, tmp_path, encoding, packed, rows, size):
        rows = [*(("中", label) for label in "abc"), *rows]
        for label in "abc":
            content = "".join(f"{text}\n" for text, its in rows if its == label)
            write(tmp_path, f"{label}.txt{packed}", content, encoding)
        table = read(tmp_path)
        assert back(table, "text", "label") == sorted(rows, key=lambda row: row[1])
        same_in_chunks(table, size)

    def test_text(self, tmp_path, encoding, packed):
        table = read(write(tmp_path, "a.txt" + packed, "床前明月光\r\n\r\n疑是地上霜", encoding))
        chunk = table.load()
        assert (chunk.columns, table.names) == ({"text": ["床前明月光", "疑是地上霜"]}, ["text"])
        assert list(chunk.lines) == [1, 3]


def squad_article(context, questions):
    qas = [
        {
            "question": f"{n}?",
            "id": str(n),
            "answers": [{"text": text, "answer_start": start} for text, start in answers],
        }
        for n, answers in enumerate(questions)
    ]
    return {"title": "t", "paragraphs": [{"context": context, "qas": qas}]}


def rows_by_csv(content, width):
    """What the csv module makes of it, row by row: rows with their lines, and the line where it stops, if it does."""
    found, line = [], 1
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        for row in reader:
            if row and len(row) != width:
                return found, line
            if row:
                found.append((line, tuple(row)))
            line = reader.line_num + 1
    except csv.Error:
        return found, line
    return found, None


@settings(FEW, max_examples=400)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                '"',
                '""',
                ",",
                "\n",
                "\r\n",
                "\r",
                "a",
                "b,c\n",
                '"d",e\n',
                '"f\ng","h""i"\r\n',
                ",\n",
            ]
        )
    ),
    size=st.integers(1, 6),
)
def test_csv_is_what_the_csv_module_reads(tmp_path, pieces, size):
    """Blocks are read in quicker ways; none of them may differ, in rows, in lines, or in what is refused."""
    content = "x,y\n" + "".join(pieces)
    file = files.text_file(Path(write(tmp_path, "a.csv", content)), "a.csv")
    expected, wrong = rows_by_csv(content, 2)
    found = []
    try:
        for columns, lines in delimited._stream(file, ",", 2, quotes=True)(size, [0, 1]):
            assert 0 < len(lines) <= size
            found += zip(lines, zip(*columns))
        assert wrong is None and found == expected
    except Mistake as sentence:
        assert f"line {wrong}:" in str(sentence) and found == expected[: len(found)]


@FEW
@given(
    rows=st.lists(
        st.tuples(anything | st.none(), st.integers(0, 99), st.floats(allow_nan=False)), min_size=1
    )
)
def test_parquet(tmp_path, rows):
    text, label, number = map(list, zip(*rows))
    parquet.write_table(
        arrow.table({"text": text, "Label": label, "x": number}), tmp_path / "a.parquet"
    )
    table = read(tmp_path / "a.parquet")
    chunk = table.load()
    assert chunk.columns["text"] == text
    assert isinstance(chunk.columns["label"], np.ndarray)
    assert chunk.columns["label"].tolist() == label and chunk.columns["x"].tolist() == number
    assert list(chunk.lines) == list(range(1, len(rows) + 1))
    assert list(read(tmp_path / "a.parquet", {"target": "x", "label": "0"}).load().columns) == [
        "target",
        "label",
    ]


def test_zstd_of_several_frames(tmp_path):
    (tmp_path / "a.txt.zst").write_bytes(
        zstandard.compress(b"one\ntw") + zstandard.compress(b"o\n")
    )
    assert read(tmp_path / "a.txt.zst").load().columns["text"] == ["one", "two"]


@pytest.mark.parametrize("content", ['[\n {"a": 1},\n {"a": "中"}\n]', '{"a": 1}\n\n{"a": "中"}\n'])
def test_json_as_list_or_lines(tmp_path, content):
    assert read(write(tmp_path, "a.json", content)).load().columns == {"a": [1, "中"]}


def test_csv_line_numbers_count_lines_not_rows(tmp_path):
    chunk = read(write(tmp_path, "a.csv", 'text,label\n"two\nlines",a\n\nx,b\n')).load()
    assert list(chunk.lines) == [2, 5] and chunk.columns["text"] == ["two\nlines", "x"]


@pytest.mark.parametrize(("mark", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab")])
def test_csv_delimiter(tmp_path, mark, word):
    table = read(write(tmp_path, "a.csv", f"text{mark}label\na b{mark}1\n"))
    assert back(table, "text", "label") == [("a b", "1")] and any(
        word in note for note in table.notes
    )


def test_text_with_tabs(tmp_path):
    even = write(tmp_path, "even.txt", "好看 得很\t1\n难看\t0\n")
    odd = write(tmp_path, "odd.txt", "a\tb\nc\n")
    assert back(read(even), "0", "1") == [("好看 得很", "1"), ("难看", "0")]
    assert back(read(even, {"label": "1"}), "label") == [("1",), ("0",)]
    assert read(odd).load().columns["text"] == ["a\tb", "c"]


def test_character_cut_by_the_sample_is_no_error(tmp_path):
    for encoding in ("utf-8", "gb18030"):
        lines = ["x" + "脉" * 30_000, "文" * 30_000]
        assert (
            read(write(tmp_path, "a.txt", "\n".join(lines), encoding)).load().columns["text"]
            == lines
        )


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
    assert back(read(path, {"text": "review", "label": "stars"}), "text", "label") == [
        ("nein", "low"),
        ("ja", "high"),
    ]
    assert back(read(path, {"text": "Review", "label": "0"}), "text", "label") == [
        ("nein", "low"),
        ("ja", "high"),
    ]
    assert (
        len(read(path, {"text": "1", "label": "0"}).load()) == 2
    )  # stars and review are names wherever they stand
    path = write(tmp_path, "a.tsv", "Sterne\tUrteil\nlow\tnein\nhigh\tja\n")
    assert (
        len(read(path, {"text": "1", "label": "0"}).load()) == 3
    )  # positions alone name no header
    assert read(path, {"text": "1"}).names == ["text"]


def test_parse_columns():
    assert parse_columns("text=0, label = 两 ") == {"text": "0", "label": "两"}
    for wrong in ("", "text", "text=", "=0", "text=0,,label=1", "text=0,text=1"):
        with pytest.raises(Mistake, match="--columns"):
            parse_columns(wrong)


def test_column_that_is_not_there(tmp_path):
    path = write(tmp_path, "a.csv", "label,review\na,b\n")
    says(
        mistake(path, {"text": "revew"}),
        path,
        '"revew"',
        "review (1), label (0)",
        "--columns text=review",
    )
    says(mistake(path, {"text": "7"}), '"7"', "review", "label", "--columns text=")
    rows = write(tmp_path, "a.jsonl", '{"title": 1, "body": 2}\n')
    says(mistake(rows, {"text": "titel"}), '"titel"', "title (0), body (1)", "--columns text=title")
    bare = write(tmp_path, "b.tsv", "a fine film\t1\nbad\t0\n")
    says(mistake(bare, {"text": "text"}), "a fine film (0)", "--columns text=")


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
        assert (
            np.array_equal(table.load().columns["image"], image)
            and table.load().columns["image"].dtype == np.uint8
        )
        assert table.load().columns["label"] == ["3", "1", "4", "1", "5"]
        assert [len(chunk) for chunk in table.chunks(2)] == [2, 2, 1]
    assert read(path, {"label": "label"}).names == ["label"]


@pytest.mark.parametrize("packed", PACKERS)
@FEW
@given(shape=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 99), size=st.integers(1, 5))
def test_idx_of_any_size(tmp_path, packed, shape, seed, size):
    random = np.random.default_rng(seed)
    image, labels = (
        random.integers(0, 256, shape, np.uint8),
        random.integers(0, 10, shape[0], np.uint8),
    )
    path = write_idx(tmp_path, "a-images-idx3-ubyte" + packed, image)
    write_idx(tmp_path, "a-labels-idx1-ubyte" + packed, labels)
    table = read(path)
    assert table.load().columns["label"] == [str(label) for label in labels]
    assert np.array_equal(
        np.concatenate([chunk.columns["image"] for chunk in table.chunks(size)]), image
    )


def test_idx_mistakes(tmp_path, images):
    path, image = images
    write_idx(tmp_path, "train-labels-idx1-ubyte", np.zeros(4, np.uint8))
    says(mistake(path), path, "5 images", "4 labels", "train-labels-idx1-ubyte")
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    says(mistake(path), path, "no labels", "train-labels-idx1-ubyte")
    write_idx(tmp_path, "train-labels-idx1-ubyte", np.zeros(5, np.uint8))
    says(
        mistake(
            write(
                tmp_path, "train-images-idx3-ubyte", gzip.decompress(Path(path).read_bytes())[:-1]
            )
        ),
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
    assert back(table, "text", "label") == [
        ("Khoury", "Arabic"),
        ("Nahas", "Arabic"),
        ("Ang", "Chinese"),
    ]
    assert list(table.load().lines) == [1, 3, 1] and "Arabic, Chinese" in table.notes[-1]


def test_folder_without_usable_files(tmp_path):
    says(mistake(str(tmp_path)), str(tmp_path), "no files", "one .txt file a label")
    write(tmp_path, "train.tsv", "a\tb\n")
    says(mistake(str(tmp_path)), "train.tsv", "Give one file")
    write(tmp_path, "a.txt", b"\0\1")
    write(tmp_path, "b.txt", b"\xff\xff")
    says(mistake(str(tmp_path)), str(tmp_path / "a.txt"), "binary file")
    write(tmp_path, "a.txt", "x")
    write(tmp_path, "b.txt", "x")
    write(tmp_path, "a.txt.gz", "y")
    says(
        mistake(str(tmp_path)),
        str(tmp_path / "a.txt.gz"),
        'the second file for the label "a"',
        "remove one",
    )


def test_what_the_system_refuses(tmp_path, monkeypatch):
    says(mistake(str(tmp_path / ("x" * 300))), "cannot be opened", "check the path")
    monkeypatch.setattr(
        Path,
        "iterdir",
        lambda self: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
    )
    says(mistake(str(tmp_path)), str(tmp_path), "cannot be opened (Permission denied)")


# Streaming


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl.zst", "a.parquet", "a.txt.xz"])
def test_chunks_join_to_load(tmp_path, name):
    rows = [(f"text {i}", str(i % 3)) for i in range(1000)]
    if "csv" in name:
        path = write(tmp_path, name, csv_text([("text", "label"), *rows]))
    elif "json" in name:
        path = write(
            tmp_path, name, "".join(json.dumps({"text": a, "label": b}) + "\n" for a, b in rows)
        )
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
            assert list(chain(*(chunk.columns[column] for chunk in chunks))) == list(
                table.load().columns[column]
            )
        assert list(chain(*(chunk.lines for chunk in chunks))) == list(table.load().lines)
    assert back(table, "text", "label") == rows


def test_chunks_stream(tmp_path):
    """The first rows come before a broken line far behind them is read."""
    table = read(
        write(tmp_path, "a.csv", "text,label\n" + "some words,1\n" * 50_000 + "one cell\n")
    )
    chunks = table.chunks(rows=10)
    assert len(next(chunks)) == 10
    with pytest.raises(Mistake, match="line 50002"):
        list(chunks)


def test_a_long_list_is_read_as_it_comes(tmp_path):
    table = read(write(tmp_path, "a.json", "[" + '{"text": "some words"},\n' * 50_000 + "{]"))
    chunks = table.chunks(rows=10)
    assert len(next(chunks)) == 10
    with pytest.raises(Mistake, match="line 50001"):
        list(chunks)


def test_the_collector_is_left_as_it_was():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_lines_are_ranges_where_rows_are_lines(tmp_path):
    rows = [(f"text, {i}", "a") for i in range(20_000)]
    assert read(
        write(tmp_path, "a.csv", csv_text([("text", "label"), *rows]))
    ).load().lines == range(2, 20_002)
    rows[9000] = ("two\r\nlines", "b")
    chunk = read(write(tmp_path, "a.csv", csv_text([("text", "label"), *rows]))).load()
    assert (
        list(chunk.lines) == [*range(2, 9003), *range(9004, 20_003)]
        and chunk.columns["text"][9000] == rows[9000][0]
    )


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
    parquet.write_table(
        arrow.table({"text": arrow.array([], arrow.string())}), tmp_path / "a.parquet"
    )
    says(mistake(str(tmp_path / "a.parquet")), "is empty")


@pytest.mark.parametrize("content", [b"text\0more", b"text\0mor\n", b"caf\xe9 \xff\xff\n"])
def test_binary(tmp_path, content):
    path = write(tmp_path, "a.txt", content)
    says(mistake(path), path, "looks like a binary file", "UTF-8")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt.gz", "a.jsonl.zst"])
def test_line_that_cannot_be_decoded(tmp_path, name):
    line = '{"text": "中文"}\n' if "json" in name else "中文,a\tb\n"
    for encoding in ("utf-8", "gb18030"):
        path = write(
            tmp_path, name, (line * 9000).encode(encoding) + b"\xff\xff\n" + line.encode(encoding)
        )
        says(
            mistake(path),
            path,
            "line 9001",
            f"not {files.SPELLED[encoding]}",
            "save the whole file as UTF-8",
        )


def test_two_encodings_at_the_beginning(tmp_path):
    line = "床前明月光，疑是地上霜。\n"
    for content in ([line] * 20, ["光\tO\n"] * 20):
        for strange in (3, 15):
            parts = [
                text.encode("gb18030" if number == strange else "utf-8")
                for number, text in enumerate(content, 1)
            ]
            path = write(tmp_path, "a.txt", b"".join(parts))
            says(
                mistake(path),
                path,
                "two encodings",
                "line 1 is UTF-8",
                f"line {strange} is not",
                "save the whole file",
            )
    path = write(tmp_path, "a.txt", (line * 5).encode("gb18030") + line.encode())
    says(mistake(path), path, "two encodings", "line 6 is UTF-8", "line 1 is not")
    # 10 of 100 characters of GB18030 are UTF-8 by chance: a file with one a line is no mixture.
    characters = [
        chr(code) for code in range(0x4E00, 0x9FA5, 7) if len(chr(code).encode("gb18030")) == 2
    ]
    path = write(tmp_path, "a.txt", "\n".join(characters), "gb18030")
    assert read(path).load().columns["text"] == characters


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
    assert read(write(tmp_path, "a.csv", f'text,label\n"{long}",1\n')).load().columns["text"] == [
        long
    ]


def test_json_mistakes(tmp_path):
    good = '{"text": "a", "label": 1}\n'
    path = write(tmp_path, "a.jsonl", good * 2 + '{"text": "a"}\n')
    assert read(path).load().columns == {
        "text": ["a"] * 3,
        "label": [1, 1, None],
    }  # which a task refuses, or leaves out
    assert read(path, {"text": "text"}).load().columns["text"] == ["a"] * 3
    says(mistake(write(tmp_path, "a.jsonl", good + "{text: 1}\n")), "line 2", "not JSON")
    says(
        mistake(write(tmp_path, "a.jsonl", good + "[1, 2]\n")),
        "line 2",
        "list",
        "expected an object",
    )
    says(
        mistake(write(tmp_path, "a.json", '[{"a": 1}, 2]')), "record 2", "int", "expected an object"
    )
    says(mistake(write(tmp_path, "a.json", '[{"a": 1},\n')), "line 2", "not JSON")
    says(
        mistake(write(tmp_path, "a.json", '{\n "rows": []\n}')),
        "is empty",
        "a list without objects",
    )
    says(mistake(write(tmp_path, "a.json", '[{"a": 1}]\n[2]')), "line 2", "not JSON")
    says(
        mistake(write(tmp_path, "a.json", '[{"a": 1}\n{"a": 1}]')),
        "line 2",
        "not JSON",
        "expecting , or ]",
    )
    rows = '[{"a": 1},\n' + '{"a": "b"},\n' * 20_000 + '{"a": b}' + ',\n{"a": "b"}' * 20_000 + "]"
    says(mistake(write(tmp_path, "a.json", rows)), "line 20002", "not JSON")
    for deep in ("[" * 100_000, '{"a": ' + "1" * 5000 + "}"):
        says(mistake(write(tmp_path, "a.jsonl", good + deep)), "line 2", "not JSON")
        says(mistake(write(tmp_path, "a.json", '[{"a": 1},\n' + deep)), "line 2", "not JSON")


@pytest.mark.parametrize(
    ("change", "where", "found"),
    [
        (lambda data: data[1].pop("paragraphs"), "data[1]", 'no "paragraphs"'),
        (lambda data: data.__setitem__(1, "text"), "data[1]", 'no "paragraphs"'),
        (
            lambda data: data[1]["paragraphs"][0].pop("context"),
            "data[1].paragraphs[0]",
            'no "context"',
        ),
        (
            lambda data: data[1]["paragraphs"][0].update(qas={}),
            "data[1].paragraphs[0]",
            'a dict as "qas"',
        ),
        (
            lambda data: question(data).pop("question"),
            "data[1].paragraphs[0].qas[1]",
            'no "question"',
        ),
        (
            lambda data: question(data).update(id=1.5),
            "data[1].paragraphs[0].qas[1]",
            'a float as "id"',
        ),
        (
            lambda data: question(data)["answers"][0].pop("text"),
            "data[1].paragraphs[0].qas[1].answers[0]",
            'no "text"',
        ),
        (
            lambda data: question(data)["answers"][0].update(answer_start="3"),
            "qas[1].answers[0]",
            'a str as "answer_start"',
        ),
    ],
)
def test_squad_mistakes(tmp_path, change, where, found):
    data = [squad_article("一", [[("a", 1)]]), squad_article("二", [[], [("b", 2)]])]
    assert read(write(tmp_path, "a.json", json.dumps({"data": data}))).load().columns[
        "answer_start"
    ] == [1, -1, 2]
    change(data)
    path = write(tmp_path, "a.json", json.dumps({"data": data}))
    says(mistake(path), f"{path}, ", f"{where}: found {found}", "expected", "as in SQuAD")


def test_a_row_of_squad_is_a_question_not_a_line(tmp_path):
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset

    data = [
        squad_article("一二三", [[("一", 0)], [("三", 2)], [("二", 1)]]),
        squad_article(" ", [[]]),
    ]
    path = write(tmp_path, "a.json", json.dumps({"data": data}))
    with pytest.raises(Mistake) as refused:
        open_dataset(str(path), TASKS, "answer")
    says(str(refused.value), f"{path}, question 4: ")
    assert f"{path} 第 4 问" in refused.value.message.chinese and "line 4" not in str(refused.value)


def question(data):
    return data[1]["paragraphs"][0]["qas"][1]


def test_squad_without_answers(tmp_path):
    data = [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "id": 7}]}]}]
    columns = read(write(tmp_path, "a.json", json.dumps({"data": data}))).load().columns
    assert columns == {
        "id": ["7"],
        "context": ["c"],
        "question": ["q"],
        "answer": [""],
        "answers": [[]],
        "answer_start": [-1],
        "answer_starts": [[]],
    }
    says(
        mistake(write(tmp_path, "a.json", '{\n "data": []\n}')),
        "is empty",
        "a list without objects",
    )
    row = '{"id": 1, "data": [{"x": 1}]}\n'  # objects a line may have such a key; alone it stands around a list
    assert read(write(tmp_path, "a.json", row * 2)).names == ["id", "data"]
    assert read(write(tmp_path, "a.json", row)).names == ["x"]


def test_json_numbers_stay_as_they_are(tmp_path):
    values = (
        read(write(tmp_path, "a.jsonl", '{"x": [1, 2.5, NaN, -Infinity], "y": 3}\n')).load().columns
    )
    assert (
        values["x"][0][:2] == [1, 2.5]
        and math.isnan(values["x"][0][2])
        and values["x"][0][3] == -math.inf
    )
    assert values["y"] == [3]


def test_aligned_mistakes(tmp_path):
    first = write(tmp_path, "a.en", "one\n\nthree\n")
    second = write(tmp_path, "a.zh.gz", "一\n二\n三\n四\n\n")
    says(
        mistake(first, target=second),
        f"{first} has 3 lines",
        "has 5: from line 4 on",
        "expected as many",
    )
    with pytest.raises(Mistake, match="has 3 lines"):
        list(read(first, target=second).chunks(1))
    says(
        mistake(second, target=first),
        f"{second} has 5 lines",
        f"{first} has 3: from line 4 on, {second} stands alone",
    )
    says(mistake(first, target=str(tmp_path / "a.zn")), "a.zn is not there", "did you mean")
    says(mistake(str(tmp_path), target=first), "is a folder", "two text files")
    assert read(first, {"text": "target"}, target=first).load().columns == {
        "text": ["one", "", "three"]
    }
    late = write(tmp_path, "b.en", b"x\n" * 90_000 + b"\xff\n")
    other = write(tmp_path, "b.zh", "中\n" * 90_001)
    says(mistake(late, target=other), f"{late}, line 90001", "not UTF-8")
    says(mistake(other, target=late), f"{late}, line 90001", "not UTF-8")


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_damaged_file(tmp_path, ending):
    packed = PACKERS[ending](
        np.random.default_rng(0).integers(97, 123, 400_000, np.uint8).tobytes()
    )
    (tmp_path / ("a.txt" + ending)).write_bytes(packed[: len(packed) // 2])
    path = str(tmp_path / ("a.txt" + ending))
    says(mistake(path), path, "damaged or cut off")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    says(mistake(str(tmp_path / "a.parquet")), "cannot be read as Parquet")


MANY = b"a" * (files.LONGEST + (1 << 16))  # which gzip packs into some kilobytes


@pytest.mark.parametrize(
    ("name", "start", "found"),
    [
        ("a.csv.gz", b"text,label\nb,c\n", "line 3: found a line of more than 8,388,608 bytes"),
        ("a.csv.zst", b'text,label\nb,c\n"', "line 3: found a line of more than"),
        ("a.tsv.gz", b"text\tlabel\nb\tc\n", "line 3: found a line of more than"),
        ("a.txt.xz", b"one\n", "line 2: found a line of more than"),
        ("a.conll.gz", b"a\tb\n\n", "line 3: found a line of more than"),
        ("a.jsonl.gz", b'{"text": "b"}\n{"text": "', "line 2: found a line of more than"),
        (
            "a.json.gz",
            b'[{"text": "b"},\n{"text": "',
            "line 2: found something that is not JSON (a value of more than",
        ),
    ],
)
def test_a_line_or_value_without_end_is_not_held(tmp_path, name, start, found):
    path = write(tmp_path, name, start + MANY)
    says(mistake(path), f"{path}, {found}")


@pytest.mark.slow
def test_quotes_and_spaces_without_end_are_not_held(tmp_path):
    path = write(tmp_path, "a.csv.gz", b'text,label\n"' + b"a\n" * (len(MANY) // 2))
    says(mistake(path), f"{path}, line 2", "a quote that opens and never closes")
    path = write(tmp_path, "a.json.gz", b'[{"a": 1},' + b" " * len(MANY) + b'{"a": 2}]')
    says(mistake(path), path, "more than 8,388,608 spaces")
    assert (
        len(
            read(
                write(tmp_path, "a.json", b'[{"a": 1},' + b'{"a": 2},' * 10**6 + b'{"a": 2}]')
            ).load()
        )
        == 10**6 + 2
    )


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_what_follows_a_frame_has_to_be_one(tmp_path, ending):
    one, two = PACKERS[ending](b"one\n"), PACKERS[ending](b"two\n")
    (tmp_path / f"a.txt{ending}").write_bytes(one + two)
    assert read(tmp_path / f"a.txt{ending}").load().columns["text"] == ["one", "two"]
    for after in (b"junk", b"\x20" + two[1:], two[:-3]):
        (tmp_path / f"a.txt{ending}").write_bytes(one + after)
        says(mistake(tmp_path / f"a.txt{ending}"), f"a.txt{ending}", "damaged or cut off")


def test_zeros_after_xz(tmp_path):
    (tmp_path / "a.txt.xz").write_bytes(
        lzma.compress(b"one\n") + bytes(4000) + lzma.compress(b"two\n") + bytes(8)
    )
    assert read(tmp_path / "a.txt.xz").load().columns["text"] == ["one", "two"]


def test_idx_of_other_sizes_than_announced(tmp_path, images):
    path, _ = images
    label = tmp_path / "train-labels-idx1-ubyte"
    whole = label.read_bytes()
    label.write_bytes(whole[:-1])
    says(mistake(path), "train-labels-idx1-ubyte is cut off", "announces 5 labels")
    label.write_bytes(whole + b"\1")
    says(mistake(path), "train-labels-idx1-ubyte holds more than it announces")
    label.write_bytes(whole)
    raw = gzip.decompress(Path(path).read_bytes())
    says(
        mistake(write(tmp_path, "train-images-idx3-ubyte.gz", raw + b"\0")),
        path,
        "holds more than it announces",
    )
    for sizes in ((5, 2**32 - 1, 2**32 - 1), (5, 2**15, 2**15)):
        header = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in sizes)
        says(
            mistake(write(tmp_path, "train-images-idx3-ubyte.gz", header + raw[16:])),
            path,
            f"{sizes[1]}×{sizes[2]}",
            "at most",
        )
    header = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in (2**32 - 1, 3, 2))
    label.write_bytes(bytes([0, 0, 8, 1]) + (2**32 - 1).to_bytes(4, "big") + whole[8:])
    says(
        mistake(write(tmp_path, "train-images-idx3-ubyte.gz", header + raw[16:])),
        path,
        "is cut off",
    )


def test_parquet_damaged_inside(tmp_path):
    table = arrow.table({"text": [f"text {n}" for n in range(1000)], "label": [0, 1] * 500})
    parquet.write_table(table, tmp_path / "a.parquet", write_page_checksum=True, compression="none")
    whole = (tmp_path / "a.parquet").read_bytes()
    at = whole.index(b"text 500")
    (tmp_path / "a.parquet").write_bytes(whole[:at] + b"next" + whole[at + 4 :])
    says(mistake(str(tmp_path / "a.parquet")), "a.parquet cannot be read as Parquet", "CRC")
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"\xff" * 100 + whole[104:])
    says(mistake(str(tmp_path / "a.parquet")), "a.parquet cannot be read as Parquet")
    twice = arrow.table([arrow.array(["a"]), arrow.array(["b"])], names=["text", "text"])
    parquet.write_table(twice, tmp_path / "a.parquet")
    says(mistake(str(tmp_path / "a.parquet")), 'two columns named "text"')


def test_a_header_of_many_columns_is_read_at_once(tmp_path):
    names = [f"column {number % 1000}" for number in range(100_000)] + ["", "", "#100002"]
    found = tidy(names)
    assert len(set(found)) == len(names) and found[1000] == "column 0#1000"
    long = "x" * 20_000
    sentence = mistake(write(tmp_path, "a.csv", f"{long},label\nb,c\n"), {"text": "txt"})
    says(sentence, 'no column "txt"', "label (1)")
    assert len(sentence) < 500


def test_an_object_without_keys(tmp_path):
    says(
        mistake(write(tmp_path, "a.jsonl", "{}\n{}\n")),
        "a.jsonl, line 1: found an object without keys",
    )
    says(
        mistake(write(tmp_path, "a.json", "[{}]")), "a.json, record 1: found an object without keys"
    )


def test_control_characters_of_a_file_do_not_reach_a_terminal(tmp_path):
    path = write(tmp_path, "a.csv", "te\x1b[31mxt\x85more,label\nb,c\nd\n")
    assert mistake(path).isprintable() and "".join(read(path).notes).isprintable()
    says(mistake(path, {"text": "none"}), r"te\x1b[31mxt\x85more")


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


# Real sets, where they are


@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
@pytest.mark.parametrize(
    ("name", "rows", "names"),
    [
        ("sst2/train.tsv", 6920, ["0", "1"]),
        ("sst2/dev.tsv", 872, ["0", "1"]),
        ("chnsenticorp/train.tsv.xz", 9600, ["label", "text_a"]),
        ("thucnews_titles/dev.txt", 10_000, ["0", "1"]),
        ("tang_poems/tang.tsv.xz", 57_603, ["0", "1", "2"]),
        ("names", 20_050, ["text", "label"]),
        ("ptb/ptb.train.txt.xz", 42_068, ["text"]),
        ("ptb/ptb.valid.txt", 3370, ["text"]),
        ("tinyshakespeare/input.txt.xz", 32_777, ["text"]),
        ("squad/dev-v1.1.json.xz", 10_570, objects.QUESTION),
        ("cmrc2018/cmrc2018_dev.json.xz", 3219, objects.QUESTION),
        ("cmrc2018/cmrc2018_trial.json.xz", 1002, objects.QUESTION),
        ("csl_title/csl_title_dev.json", 500, ["id", "title", "abst"]),
        ("csl_title/csl_title_train.json.xz", 3000, ["id", "title", "abst"]),
    ],
)
def test_real_sets(name, rows, names):
    table = read(DATA / name)
    assert table.names == names and len(table.load()) == rows


@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
def test_real_aligned_files():
    pairs = back(
        read(DATA / "multi30k/train.en.gz", target=DATA / "multi30k/train.de.gz"),
        "source",
        "target",
    )
    assert len(pairs) == 29_000 and pairs[0][1].startswith("Zwei junge weiße Männer")


@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
def test_real_answers_stand_where_they_should():
    columns = SimpleNamespace(**read(DATA / "squad/dev-v1.1.json.xz").load().columns)
    for context, answer, start in zip(columns.context, columns.answer, columns.answer_start):
        assert context[start : start + len(answer)] == answer
