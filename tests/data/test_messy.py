"""Files as people have them: what must be understood of each, in one table; and a run finds its columns again."""

import csv
import gzip
import io
import json
import sys
import zipfile
from typing import NamedTuple
from xml.sax.saxutils import escape

import pytest
from PIL import Image

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset, open_table
from wenmai.errors import Mistake, Notice

GOOD, BAD = "a truly good film, number {}", "far too long and too loud, {}"
REVIEWS = [((GOOD, BAD)[n % 2].format(n), ("pos", "neg")[n % 2]) for n in range(12)]
SIMPLE = "味道很好，送餐也很快，下次还会再来{}", "等了一个小时，东西都冷了，不会再来{}"
TRADITIONAL = "餐點很好吃，服務也很好，下次還會再來{}", "等了一個小時，東西都冷了，不會再來{}"
CHINESE = [(SIMPLE[n % 2].format(n), "好差"[n % 2]) for n in range(12)]
TAIWAN = [(TRADITIONAL[n % 2].format(n), "好差"[n % 2]) for n in range(12)]
QUOTED = [(f'he said "{text}";\nand, then, left', label) for text, label in REVIEWS]
FRENCH = [
    (("très bon, j’ai adoré {}", "déçu, trop long {}")[n % 2].format(n), ("bon", "mauvais")[n % 2])
    for n in range(12)
]


def table(head, rows, mark=",", encoding="utf-8", quoting=csv.QUOTE_MINIMAL, end="\r\n"):
    out = io.StringIO()
    csv.writer(out, delimiter=mark, quoting=quoting, lineterminator=end).writerows(
        [head, *rows] if head else rows
    )
    return out.getvalue().encode(encoding)


def lines_of_json(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def workbook(rows, before=()):
    """As Excel writes one, as far as a reader cares; `before`: sheets without a cell that stand before."""
    sheets = [*([] for _ in before), rows]
    names = [*before, "Tabelle"]

    def cell(value):
        if isinstance(value, (int, float)):
            return f"<c><v>{value}</v></c>"
        return (
            f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
            if value
            else "<c/>"
        )

    def sheet(rows):
        body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{body}</sheetData></worksheet>'

    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, names)
    )
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kinds}.worksheet+xml"/>'
        for n in numbers
    )
    linked = "".join(
        f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kinds}.sheet.main+xml"/>{parts}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
        f'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{linked}</Relationships>',
        **{f"xl/worksheets/sheet{n}.xml": sheet(rows) for n, rows in zip(numbers, sheets)},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return out.getvalue()


def picture(grey):
    out = io.BytesIO()
    Image.new("L", (4, 4), grey).save(out, "png")
    return out.getvalue()


def wide(rows):
    """With numbers, categories and dates beside text and label."""
    cities = "Paris", "Rome", "Bonn"
    return [
        (n, f"2024-03-{n + 1:02}", a, cities[n % 3], 9.5 + n / 7, b)
        for n, (a, b) in enumerate(rows)
    ]


class Messy(NamedTuple):
    content: bytes | dict  # of the file; of a folder, name → content
    task: str = ""
    columns: dict | None = None  # what is read → the column's own name
    rows: int = 12
    first: object = None  # the first input
    said: tuple = ()  # parts of the notes
    how: dict = {}  # noqa: RUF012 (nobody changes it)
    mistake: tuple = ()


OBJECTS = [{"text": a, "label": b} for a, b in REVIEWS]
TEXT_LABEL, REVIEW = {"text": "text", "label": "label"}, {"text": "review", "label": "sentiment"}
AS = "is read as --columns text=review,label=sentiment --task classify"
MESSY = {
    # names that are not ours
    "label-first.csv": Messy(
        table(("label", "review"), [(b, a) for a, b in REVIEWS]),
        "classify",
        {"label": "label", "text": "review"},
        first=REVIEWS[0][0],
        said=("--columns text=review,label=label --task classify", "say otherwise"),
    ),
    "numbers-as-labels.csv": Messy(
        table(("label", "review"), [(n % 2, a) for n, (a, _) in enumerate(REVIEWS)]),
        "classify",
        {"label": "label", "text": "review"},
    ),
    "other-names.csv": Messy(
        table(("review", "sentiment"), REVIEWS), "classify", REVIEW, said=(AS,)
    ),
    "sorted-by-label.csv": Messy(
        table(("review", "sentiment"), sorted(REVIEWS, key=lambda row: row[1]) * 400),
        "classify",
        REVIEW,
        4800,
    ),
    "chinese-names.csv": Messy(
        table(("评论", "标签"), CHINESE),
        "classify",
        {"text": "评论", "label": "标签"},
        first=CHINESE[0][0],
    ),
    "no-header.tsv": Messy(
        table(None, REVIEWS, "\t"),
        "classify",
        {"text": "0", "label": "1"},
        said=("--columns text=0,label=1",),
    ),
    "stars.csv": Messy(
        table(
            ("stars", "body"), [(1 + n % 5, f"{a} and {n}") for n, (a, _) in enumerate(REVIEWS * 2)]
        ),
        "classify",
        {"label": "stars", "text": "body"},
        24,
    ),
    "names-with-spaces.csv": Messy(
        table(("the text", "the label"), REVIEWS),
        "classify",
        {"text": "the text", "label": "the label"},
        said=("--columns text=0,label=1 --task classify",),
    ),
    "text-a-alone.tsv": Messy(
        table(("label", "text_a"), [(b, a) for a, b in REVIEWS], "\t"),
        "classify",
        {"label": "label", "text": "text_a"},
    ),
    "text-said.csv": Messy(
        table(("review", "sentiment"), REVIEWS),
        "classify",
        REVIEW,
        how={"columns": {"text": "review"}},
        said=(AS,),
    ),
    "text-said-label-there.csv": Messy(
        table(("label", "review"), [(b, a) for a, b in REVIEWS]),
        "classify",
        {"label": "label", "text": "review"},
        how={"columns": {"text": "review"}},
        said=("--task classify",),
    ),
    "generate-said.csv": Messy(
        table(("review", "sentiment"), REVIEWS),
        "generate",
        {"text": "review"},
        0,
        how={"task": "generate", "columns": {"text": "review"}},
    ),
    "label-said.csv": Messy(
        table(
            ("review", "city", "mood"), [(a, "AB"[n // 6], b) for n, (a, b) in enumerate(REVIEWS)]
        ),
        "classify",
        {"text": "review", "label": "city"},
        how={"columns": {"label": "city"}},
        said=("left out: mood (categories)",),
    ),
    "text-alone.csv": Messy(
        table(("id", "comment"), [(n, a) for n, (a, _) in enumerate(REVIEWS)]),
        "generate",
        {"text": "comment"},
        0,
        said=("--columns text=comment --task generate", "left out: id (numbers)"),
    ),
    "two-texts.csv": Messy(
        table(
            ("id", "english", "german"),
            [(n, a, f"auf deutsch {a}") for n, (a, _) in enumerate(REVIEWS)],
        ),
        mistake=("id, english, german, which say no task",),
    ),
    # what stands beside
    "wide.csv": Messy(
        table(("id", "date", "review", "city", "price", "sentiment"), wide(REVIEWS)),
        "classify",
        REVIEW,
        said=(AS, "left out: id (numbers), date (dates), city (categories), price (numbers)"),
    ),
    "wide-named.csv": Messy(
        table(("id", "date", "text", "city", "price", "label"), wide(REVIEWS)),
        "classify",
        TEXT_LABEL,
        said=(
            "read are text, label",
            "left out: id (numbers), date (dates)",
            "--columns says otherwise",
        ),
    ),
    "iris.csv": Messy(
        table(("length", "width", "species"), [(n / 7, n / 3 + 1, "ab"[n % 2]) for n in range(12)]),
        "classify",
        {"length": "length", "width": "width", "label": "species"},
        said=("--columns label=species",),
    ),
    "numbers-and-words.csv": Messy(
        table(("length", "colour", "target"), [(n / 7, "rg"[n % 2], n) for n in range(12)]),
        "regress",
        {"length": "length", "target": "target"},
        said=("left out: colour (categories)",),
    ),
    "text-to-number.csv": Messy(
        table(("review", "score"), [(a, n / 7) for n, (a, _) in enumerate(REVIEWS)]),
        "regress",
        {"text": "review", "target": "score"},
        how={"task": "regress"},
    ),
    "several-labels.csv": Messy(
        table(
            ("text", "label"),
            [(a, ("x", "y", "x|y", "y|z", "z")[n % 5]) for n, (a, _) in enumerate(REVIEWS)],
        ),
        "classify",
        TEXT_LABEL,
        said=("line 4: 'x|y' seems to be several labels", "4 of the 12", "a class of its own"),
    ),
    "list-labels.jsonl": Messy(
        lines_of_json({"text": a, "label": [b, "x"]} for a, b in REVIEWS),
        mistake=("line 1: found \"['pos', 'x']\" in column label", "expected a text"),
    ),
    # as Excel writes it
    "semicolons.csv": Messy(
        table(("text", "label"), QUOTED, ";", "utf-8-sig"),
        "classify",
        TEXT_LABEL,
        first=QUOTED[0][0],
        said=("a semicolon", "byte order mark"),
    ),
    "tabs.csv": Messy(
        table(("text", "label"), QUOTED, "\t"),
        "classify",
        TEXT_LABEL,
        first=QUOTED[0][0],
        said=("a tab",),
    ),
    "quoted-tabs.tsv": Messy(
        table(("text", "label"), QUOTED, "\t"), "classify", TEXT_LABEL, first=QUOTED[0][0]
    ),
    "unicode-text.txt": Messy(
        table(("text", "label"), QUOTED, "\t", "utf-16"),
        "classify",
        TEXT_LABEL,
        first=QUOTED[0][0],
        said=("UTF-16",),
    ),
    "big-endian.csv": Messy(
        b"\xfe\xff" + table(("评论", "标签"), CHINESE, encoding="utf-16-be"),
        "classify",
        {"text": "评论", "label": "标签"},
        first=CHINESE[0][0],
    ),
    "no-mark-utf16.csv": Messy(
        table(("评论", "标签"), CHINESE, encoding="utf-16-le"),
        "classify",
        {"text": "评论", "label": "标签"},
        first=CHINESE[0][0],
    ),
    "packed-utf16.txt.gz": Messy(
        gzip.compress("".join(f"{a}\n" for a, _ in CHINESE).encode("utf-16")),
        "generate",
        {"text": "text"},
        0,
    ),
    "big5.csv": Messy(
        table(("評論", "標籤"), TAIWAN, encoding="cp950"),
        "classify",
        {"text": "評論", "label": "標籤"},
        first=TAIWAN[0][0],
        said=("Big5",),
    ),
    "gb18030.csv": Messy(
        table(("评论", "标签"), CHINESE, encoding="gb18030"),
        "classify",
        {"text": "评论", "label": "标签"},
        first=CHINESE[0][0],
        said=("GB18030",),
    ),
    "french.csv": Messy(
        table(("avis", "note"), FRENCH, ";", "cp1252"),
        "classify",
        {"text": "avis", "label": "note"},
        first=FRENCH[0][0],
        said=("Windows-1252",),
    ),
    "bars.csv": Messy(
        table(("text", "label"), QUOTED, "|"), "classify", TEXT_LABEL, first=QUOTED[0][0]
    ),
    "hashes.csv": Messy(
        table(("text", "label"), QUOTED, "#"),
        "classify",
        TEXT_LABEL,
        first=QUOTED[0][0],
        how={"delimiter": "#"},
    ),
    "book.xlsx": Messy(
        workbook([("评论", "label"), *((a, n % 2) for n, (a, _) in enumerate(CHINESE)), ("", "")]),
        "classify",
        {"text": "评论", "label": "label"},
        first=CHINESE[0][0],
        said=("A workbook",),
    ),
    "second-sheet.xlsx": Messy(
        workbook([("review", "sentiment"), *REVIEWS], before=["Notes"]),
        "classify",
        REVIEW,
        said=("its sheet Tabelle is read, of Notes, Tabelle",),
    ),
    "renamed.csv": Messy(workbook([("review", "sentiment"), *REVIEWS]), "classify", REVIEW),
    "broken.xlsx": Messy(
        b"PK\x03\x04 and nothing more",
        mistake=("cannot be read as a workbook of Excel", "CSV UTF-8"),
    ),
    # folders
    "folders": Messy(
        {
            "pos/1.txt": b"a good film\nin two lines\n",
            "pos/2.txt": b"fine",
            "neg/1.txt": "schön".encode("cp1252"),
            "neg/.hidden.txt": b"x",
        },
        "classify",
        TEXT_LABEL,
        3,
        "schön",
        said=("neg 1, pos 2",),
    ),
    "pictures": Messy(
        {
            f"{name}/{n}.png": picture(grey + n)
            for name, grey in (("dark", 0), ("light", 200))
            for n in range(3)
        },
        "classify",
        {"image": "image", "label": "label"},
        6,
        said=("dark 3, light 3",),
    ),
    "folders-of-folders": Messy(
        {
            "train/pos/1.txt": b"a",
            "train/neg/1.txt": b"b",
            "test/pos/1.txt": b"c",
            "test/neg/1.txt": b"d",
        },
        mistake=("test, train, which hold folders", "folders-of-folders/train"),
    ),
    # JSON
    "nested.jsonl": Messy(
        lines_of_json(
            {"id": n, "review": {"body": a, "by": {"city": "Bonn"}}, "meta": {"stars": b}}
            for n, (a, b) in enumerate(REVIEWS)
        ),
        "classify",
        {"text": "review.body", "label": "meta.stars"},
        first=REVIEWS[0][0],
        said=("text=review.body,label=meta.stars", "review.by.city (categories)"),
    ),
    "path.jsonl": Messy(
        lines_of_json({"review": {"body": a, "mood": b}} for a, b in REVIEWS),
        "classify",
        {"text": "review.body", "label": "review.mood"},
        how={"columns": {"text": "review.body", "label": "review.mood"}},
    ),
    "keys-come-late.jsonl": Messy(
        lines_of_json([{"text": "no label"}, *({"text": a, "label": b} for a, b in REVIEWS)]),
        "classify",
        TEXT_LABEL,
        how={"skip_bad": True},
        said=("left out 1 of the 13 rows", "line 1"),
    ),
    "around-a-list.json": Messy(
        json.dumps({"version": 1, "meta": {"by": ["x", {"y": 1}]}, "data": OBJECTS}).encode(),
        "classify",
        TEXT_LABEL,
        said=('the list of objects under "data"',),
    ),
    "around-a-list-in-lines.json": Messy(
        json.dumps({"rows": OBJECTS, "count": 12}, indent=1).encode(),
        "classify",
        TEXT_LABEL,
        said=('the list of objects under "rows"',),
    ),
    "around-a-long-list.json": Messy(
        json.dumps({"items": OBJECTS * 2000}).encode(), "classify", TEXT_LABEL, 24_000
    ),
    "objects-in-lines.json": Messy(
        "\n".join(json.dumps(row, indent=2) for row in OBJECTS).encode(),
        "classify",
        TEXT_LABEL,
        said=("objects over several lines",),
    ),
    "two-lists.json": Messy(
        json.dumps({"train": OBJECTS, "test": OBJECTS}).encode(),
        mistake=("several lists", "train, test"),
    ),
    "columns.json": Messy(
        json.dumps({"text": ["a", "b"], "label": ["x", "y"]}, indent=1).encode(),
        mistake=("whole columns",),
    ),
    "columns-of-pandas.json": Messy(
        b'{"text":{"0":"a","1":"b"},"label":{"0":"x","1":"y"}}', mistake=('orient="records"',)
    ),
    "object-as-key.json": Messy(b'{{"a": 1}: 2,\n "data": []}', mistake=("line 1", "not JSON")),
    "broken-around-a-list.json": Messy(
        b'{"a": 1,\n"data": [{"text": "a"}}', mistake=("line 2", "not JSON")
    ),
    # bad rows
    "empty-label.csv": Messy(
        table(("text", "label"), [*REVIEWS, ("which is it?", " "), ("and this", "")]),
        "classify",
        TEXT_LABEL,
        said=("left out 2 of the 14 rows", "line 14: the label is empty"),
    ),
    "null-label.jsonl": Messy(
        lines_of_json({"text": a, "label": b} for a, b in [*REVIEWS, ("which?", None)]),
        "classify",
        TEXT_LABEL,
        said=("left out 1 of the 13 rows", "line 13: the label is empty"),
    ),
    "nan-label.csv": Messy(
        table(("text", "label"), [*REVIEWS, ("which?", "NaN"), ("and this", "NaN")]),
        "classify",
        TEXT_LABEL,
        14,
        said=(
            "2 of the 14 rows have the label NaN, which is taken as a class",
            "leave these rows out",
        ),
    ),
    "ragged.csv": Messy(
        table(("text", "label"), [*REVIEWS, ("one", "pos", "more")]),
        "classify",
        TEXT_LABEL,
        how={"skip_bad": True},
        said=("left out 1 of the 13", "line 14: found 3 columns, expected 2"),
    ),
    "cut-off.jsonl": Messy(
        lines_of_json({"text": a, "label": b} for a, b in REVIEWS) + b'{"text": "a',
        "classify",
        TEXT_LABEL,
        how={"skip_bad": True},
        said=("left out 1 of the 13", "line 13"),
    ),
    "no-number.csv": Messy(
        table(
            ("a", "b", "label"), [*((n, n / 3, "xy"[n % 2]) for n in range(12)), ("N/A", 1, "x")]
        ),
        "classify",
        {"a": "a", "b": "b", "label": "label"},
        how={"skip_bad": True},
        said=("'N/A' in column a",),
    ),
    "empty-text.csv": Messy(
        table(("text", "label"), [*REVIEWS, ("", "pos")]),
        "classify",
        TEXT_LABEL,
        13,
        said=("1 of the 13 texts are empty",),
    ),
}


@pytest.mark.parametrize("name", MESSY)
def test_what_is_understood(tmp_path, name):
    messy, path = MESSY[name], tmp_path / name
    if name.endswith(".xlsx") or name == "renamed.csv":
        pytest.importorskip("python_calamine")
    for file, content in (
        messy.content if isinstance(messy.content, dict) else {"": messy.content}
    ).items():
        (path / file if file else path).parent.mkdir(parents=True, exist_ok=True)
        (path / file if file else path).write_bytes(content)
    if messy.mistake:
        with pytest.raises(Mistake) as caught:
            open_dataset(str(path), TASKS, **messy.how)
        assert all(part in caught.value.english for part in messy.mistake), caught.value.english
        return
    data = open_dataset(str(path), TASKS, **messy.how)
    notes = "\n".join(data.notes)
    assert (data.task.name, data.columns) == (messy.task, messy.columns)
    assert not messy.rows or len(data.train) == messy.rows
    assert messy.first is None or data.train.inputs[0] == messy.first
    assert all(part in notes for part in messy.said), notes


def test_there_are_forty():
    assert len(MESSY) >= 40


# A run finds its columns again


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a run that was trained on a wide file, and that file."""
    from wenmai.estimators import Classifier

    place = tmp_path_factory.mktemp("runs")
    (place / "wide.csv").write_bytes(
        table(("id", "date", "review", "city", "price", "sentiment"), wide(REVIEWS * 2))
    )
    data = open_dataset(str(place / "wide.csv"), TASKS)
    estimator = Classifier("softmax").fit(*data.train.pair)
    estimator.columns_ = data.columns
    estimator.save(place / "run")
    return place


def test_a_run_remembers(trained):
    import wenmai

    assert json.loads((trained / "run" / "run.json").read_text())["columns"] == REVIEW
    assert wenmai.load(trained / "run").columns_ == REVIEW


def test_train_keeps_what_it_guessed(tmp_path, wenmai_cli):
    (tmp_path / "a.csv").write_bytes(table(("label", "review"), [(b, a) for a, b in REVIEWS]))
    ran = wenmai_cli(
        "train",
        "perceptron",
        tmp_path / "a.csv",
        "--columns",
        "text=review",
        "--out",
        tmp_path / "run",
    )
    assert (
        ran.status == 0
        and "--columns text=review,label=label --task classify" in ran.err.splitlines()[0]
    ), ran.err
    assert ran.err.count("--task classify") == 1  # and not again among the notes
    assert json.loads((tmp_path / "run" / "run.json").read_text())["columns"] == {
        "label": "label",
        "text": "review",
    }


def answered(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_predict_finds_the_column_and_keeps_the_others(trained, tmp_path, wenmai_cli):
    rows = [(7, REVIEWS[0][0], "2024-05-01"), (8, "x", "May 2nd")]
    (tmp_path / "new.csv").write_bytes(table(("no", "Review", "when"), rows, ";"))
    ran = wenmai_cli(
        "predict", trained / "run", "--file", tmp_path / "new.csv", "--out", tmp_path / "out.csv"
    )
    assert ran.status == 0 and not ran.err, ran.err
    rows = answered(tmp_path / "out.csv")
    assert list(rows[0]) == ["no", "Review", "when", "label", "probability"]
    assert (
        [row["no"] for row in rows] == ["7", "8"]
        and rows[0]["Review"] == REVIEWS[0][0]
        and rows[0]["label"] == "pos"
    )
    ran = wenmai_cli(
        "predict", trained / "run", "--file", trained / "wide.csv", "--out", tmp_path / "out.jsonl"
    )
    row = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert list(row) == [
        "id",
        "date",
        "review",
        "city",
        "price",
        "sentiment",
        "label",
        "probability",
    ]


@pytest.mark.parametrize(
    ("head", "rows", "said"),
    [
        (("review",), [(REVIEWS[0][0],), ("x",)], ""),
        (("text", "n"), [(REVIEWS[0][0], 1), ("x", 2)], ""),
        (("n", "remark"), [(1, REVIEWS[0][0]), (2, "too long")], "--columns text=remark"),
    ],
)
def test_a_text_model_finds_the_text(trained, tmp_path, wenmai_cli, head, rows, said):
    (tmp_path / "new.csv").write_bytes(table(head, rows))
    ran = wenmai_cli(
        "predict", trained / "run", "--file", tmp_path / "new.csv", "--out", tmp_path / "out.csv"
    )
    assert ran.status == 0 and said in ran.err, ran.err
    assert (
        len(answered(tmp_path / "out.csv")) == 2
        and answered(tmp_path / "out.csv")[0]["label"] == "pos"
    )


def test_a_text_model_never_asks_for_numbers(trained, tmp_path, wenmai_cli):
    (tmp_path / "new.csv").write_bytes(table(("a", "b"), [(1, 2), (3, 4)]))
    ran = wenmai_cli("predict", trained / "run", "--file", tmp_path / "new.csv")
    assert (
        ran.status == 2
        and "expected a text, which in training stood in the column review" in ran.err
    )
    assert "number" not in ran.err and "--columns text=NAME" in ran.err


def test_evaluate_finds_the_columns(trained, tmp_path, wenmai_cli):
    ran = wenmai_cli("evaluate", trained / "run", trained / "wide.csv", "--json")
    assert ran.status == 0 and json.loads(ran.out)["rows"] == 24, ran.err
    (tmp_path / "bad.csv").write_bytes(
        table(("sentiment", "review"), [*((b, a) for a, b in REVIEWS), ("pos", "one", "more")])
    )
    ran = wenmai_cli("evaluate", trained / "run", tmp_path / "bad.csv")
    assert ran.status == 2 and "--skip-bad" in ran.err
    ran = wenmai_cli("evaluate", trained / "run", tmp_path / "bad.csv", "--skip-bad", "--json")
    assert json.loads(ran.out)["rows"] == 12 and "left out 1 of the 13 rows" in ran.err


def test_columns_in_another_order_are_found_by_name(tmp_path, wenmai_cli):
    """Of numbers too: the ones of training, in its order, and not the number of the row."""
    rows = [(n % 2 + n / 100, 5 - n / 50, "ab"[n % 2]) for n in range(40)]
    (tmp_path / "a.csv").write_bytes(table(("x", "y", "kind"), rows))
    (tmp_path / "b.csv").write_bytes(
        table(("nr", "y", "x"), [(n, y, x) for n, (x, y, _) in enumerate(rows)])
    )
    assert (
        wenmai_cli("train", "perceptron", tmp_path / "a.csv", "--out", tmp_path / "run").status == 0
    )
    answers = []
    for name in "ab":
        ran = wenmai_cli(
            "predict",
            tmp_path / "run",
            "--file",
            tmp_path / f"{name}.csv",
            "--out",
            tmp_path / "out.csv",
        )
        assert ran.status == 0, ran.err
        answers.append([row["label"] for row in answered(tmp_path / "out.csv")])
    assert answers[0] == answers[1]
    (tmp_path / "c.csv").write_bytes(table(("nr", "x"), [(1, 2), (3, 4)]))
    ran = wenmai_cli("predict", tmp_path / "run", "--file", tmp_path / "c.csv")
    assert ran.status == 2 and "lacks what was read in training: y; found are nr, x" in ran.err


def test_a_column_that_is_called_as_the_answer_is_kept(trained, tmp_path, wenmai_cli):
    (tmp_path / "new.jsonl").write_bytes(
        lines_of_json({"probability": 7, "review": a} for a, _ in REVIEWS)
    )
    assert (
        wenmai_cli(
            "predict",
            trained / "run",
            "--file",
            tmp_path / "new.jsonl",
            "--out",
            tmp_path / "out.jsonl",
        ).status
        == 0
    )
    row = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (
        list(row) == ["probability#0", "review", "label", "probability"]
        and row["probability#0"] == 7
    )


def test_valid_and_compare_find_the_columns(trained, tmp_path, monkeypatch, wenmai_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "valid.csv").write_bytes(
        table(("sentiment", "review"), [(b, a) for a, b in REVIEWS])
    )
    data = open_dataset(str(trained / "wide.csv"), TASKS, valid=str(tmp_path / "valid.csv"))
    assert data.valid.pair == ([a for a, _ in REVIEWS], [b for _, b in REVIEWS])
    (tmp_path / "two.csv").write_bytes(
        table(
            ("review", "sentiment", "category"),
            [(a, b, "yn"[n // 2 % 2]) for n, (a, b) in enumerate(REVIEWS * 4)],
        )
    )
    ran = wenmai_cli(
        "compare",
        "two.csv",
        "--rungs",
        "perceptron",
        "--with",
        trained / "run",
        "--minutes",
        "0.02",
        "--json",
    )
    assert ran.status == 0, ran.err
    assert [row["failed"] for row in json.loads(ran.out)["rungs"]] == [None, None], ran.out


# Texts that are cut, and packages that are not there


def test_texts_that_are_cut_are_counted(tmp_path):
    from wenmai.cli import answers
    from wenmai.estimators import Classifier

    texts, labels = [f"{'word ' * (3 + 9 * (n % 3 == 0))}{n}" for n in range(30)], ["x", "y"] * 15
    estimator = Classifier("mlp", max_length=8, steps=2, embed=4, hidden=4, validation=0.0).fit(
        texts, labels
    )
    said = (
        "10 of the 30 texts are cut: a network reads their first 8 tokens, and the longest has 13"
    )
    assert any(said in note for note in estimator.notes_), estimator.notes_
    assert (
        said in estimator.evaluate(texts, labels).notes[0]
        and said in estimator.answers(texts).notes[0]
    )
    assert not estimator.answers(["short"]).notes
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts * 100))
    with (
        pytest.warns(Notice, match="1,000 of the 3,000 texts are cut"),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(answers, "CHUNK", 64)  # counted over all of them
        answers.answer_file(estimator, open_table(str(path)), tmp_path / "out.jsonl")
    linear = Classifier("softmax", validation=0.0).fit(texts, labels)  # which reads all of a text
    assert (
        not any("max_length" in note for note in linear.notes_) and not linear.answers(texts).notes
    )


def test_a_workbook_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "a.xlsx").write_bytes(MESSY["book.xlsx"].content)
    with pytest.raises(
        Mistake, match=r"save it there as CSV UTF-8, or run pip install 'wenmai\[excel\]'"
    ):
        open_dataset(str(tmp_path / "a.xlsx"), TASKS)


def test_delimiters_by_name(tmp_path, wenmai_cli):
    (tmp_path / "a.txt").write_bytes(table(("text", "label"), QUOTED, ";"))
    ran = wenmai_cli("data", tmp_path / "a.txt", "--delimiter", "semicolon", "--json")
    assert json.loads(ran.out)["rows"] == 12 and json.loads(ran.out)["task"] == "classify"
    ran = wenmai_cli("data", tmp_path / "a.txt", "--delimiter", "dash")
    assert ran.status == 2 and "expected comma, semicolon, tab" in ran.err
