"""Pairs of texts: two columns, two aligned files, and what is wrong with a side."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from wenmai.cli import overview
from wenmai.cli.training import absolute
from wenmai.data.dataset import name_of, open_dataset, open_table, part_of
from wenmai.data.files.pairs import two_files
from wenmai.errors import Mistake, Notice
from wenmai.tasks.translate import Translate

DATA = Path(os.environ.get("WENMAI_DATA") or Path(__file__).parents[3] / "shared" / "data")
ROWS = [("a cat", "猫"), ("a dog", "狗"), ("two cats", "两只猫")]
TASKS = {"translate": Translate}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    data = content if isinstance(content, bytes) else content.encode()
    Path(name).write_bytes(data)
    return name


def lines(name, texts):
    return write(name, "".join(f"{text}\n" for text in texts))


def pairs_of(source, **more):
    part = part_of(open_table(source, task=Translate, **more), Translate())
    return list(zip(part.inputs, part.targets))


def mistake(source, **more):
    with pytest.raises(Mistake) as caught:
        pairs_of(source, **more)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 400
    return sentence


def test_every_format():
    tabs = "".join(f"{a}\t{b}\n" for a, b in ROWS)
    assert pairs_of(write("a.tsv", "source\ttarget\n" + tabs)) == ROWS
    assert (
        pairs_of(write("b.tsv", tabs)) == pairs_of(write("b.txt", tabs)) == ROWS
    )  # without a header
    assert (
        pairs_of(write("c.csv", "Target,Source\n" + "".join(f"{b},{a}\n" for a, b in ROWS))) == ROWS
    )
    assert pairs_of(write("d.csv", "".join(f"{a},{b}\n" for a, b in ROWS))) == ROWS
    objects = [json.dumps({"id": 1, "en": a, "zh": b}, ensure_ascii=False) for a, b in ROWS]
    assert pairs_of(lines("e.jsonl", objects), columns={"source": "en", "target": "zh"}) == ROWS
    assert pairs_of("e.jsonl", columns={"source": "zh", "target": "en"}) == [
        (b, a) for a, b in ROWS
    ]
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow.table(dict(zip(("source", "target"), zip(*ROWS)))), "f.parquet")
    assert pairs_of("f.parquet") == ROWS


def test_two_aligned_files():
    lines("t.en", [a for a, _ in ROWS]), lines("t.zh", [b for _, b in ROWS])
    assert (
        pairs_of("t.en", target="t.zh") == pairs_of("t.en,t.zh") == pairs_of("t.en, t.zh") == ROWS
    )
    swapped = {"source": "target", "target": "source"}
    assert (
        pairs_of("t.en,t.zh", columns=swapped) == pairs_of("t.zh,t.en") == [(b, a) for a, b in ROWS]
    )
    assert open_table("t.en,t.zh", swapped).files == {"source": "t.zh", "target": "t.en"}
    assert name_of("t.en,t.zh") == "t" and name_of("languages:zh,ja") == "languages:zh,ja"


def test_a_name_with_a_comma_is_one_file():
    tabs = "".join(f"{a}\t{b}\n" for a, b in ROWS)
    assert two_files(write("t.en,t.zh", tabs)) is None and pairs_of("t.en,t.zh") == ROWS
    Path("x,y").mkdir()
    lines("x,y/t.en", [a for a, _ in ROWS]), lines("x,y/t.zh", [b for _, b in ROWS])
    assert (
        two_files("x,y/t.en,x,y/t.zh") == ("x,y/t.en", "x,y/t.zh")
        and pairs_of("x,y/t.en,x,y/t.zh") == ROWS
    )


def test_a_run_remembers_files_by_their_whole_paths(tmp_path):
    lines("t.en", "ab"), lines("t.zh", "ab")
    kept = absolute(
        {
            "source": "t.en",
            "target": "t.zh",
            "valid": "t.en,t.zh",
            "test": "0.1",
            "rung": "transformer",
        }
    )
    assert kept["source"] == str(tmp_path / "t.en") and kept["target"] == str(tmp_path / "t.zh")
    assert (
        kept["valid"] == f"{tmp_path}/t.en,{tmp_path}/t.zh"
        and kept["test"] == "0.1"
        and kept["rung"] == "transformer"
    )
    assert (
        absolute({"source": "dates:en,zh", "valid": None, "test": None})["source"] == "dates:en,zh"
    )


def test_parts_of_aligned_files():
    for part, rows in (("train", ROWS * 4), ("valid", ROWS[:2]), ("test", [("a cow", "牛")])):
        lines(f"{part}.en", [a for a, _ in rows]), lines(f"{part}.zh", [b for _, b in rows])
    opened = open_dataset(
        "train.en", TASKS, valid="valid.en,valid.zh", test="test.en,test.zh", target="train.zh"
    )
    assert [len(part) for part in (opened.train, opened.valid, opened.test)] == [
        12,
        2,
        1,
    ] and opened.name == "train"
    assert opened.test.pair == (["a cow"], ["牛"]) and any(
        "2 of the 2 valid inputs" in note for note in opened.notes
    )
    with pytest.raises(
        Mistake,
        match=r"valid\.en is one text, and to translate takes two sides; .* as in valid\.en,OTHER",
    ):
        open_dataset("train.en", TASKS, "translate", valid="valid.en", target="train.zh")


def test_equal_sources_stay_on_one_side():
    rows = [(f"text {n // 3}", f"Text {n}") for n in range(300)]
    lines("t.tsv", ["source\ttarget", *map("\t".join, rows)])
    opened = open_dataset("t.tsv", TASKS, valid="0.1", test="0.2")
    kept = [set(part.inputs) for part in (opened.train, opened.valid, opened.test)]
    assert (
        [len(texts) for texts in kept] == [70, 10, 20]
        and not kept[0] & kept[2]
        and not kept[1] & kept[2]
    )


def test_sources_alone_are_read_for_predicting():
    assert open_table(lines("t.en", ["a cat", "a dog"]), task=Translate).load().columns == {
        "source": ["a cat", "a dog"]
    }
    assert open_table("t.en").names == ["text"]
    table = open_table(
        write("t.tsv", "a cat\t\nb cat\t\n"), task=Translate
    )  # a target that is yet to be found
    assert table.load().columns == {"source": ["a cat", "b cat"], "target": ["", ""]}


# What is wrong


@pytest.mark.parametrize(
    ("first", "second", "line", "longer"),
    [(3, 5, 4, "t.zh"), (5, 3, 4, "t.en"), (20_000, 19_999, 20_000, "t.en")],
)
def test_sides_of_different_length(first, second, line, longer):
    lines("t.en", "a" * first), lines("t.zh", "b" * second)
    said = mistake("t.en,t.zh")
    assert (
        f"t.en has {first} lines and t.zh has {second}: from line {line} on, {longer} stands alone"
        in said
    )


def test_characters_that_end_lines_elsewhere_keep_the_sides_together():
    """U+2028, U+0085 and the form feed end a line for some tools, and part the sides from there on."""
    lines("t.en", ["a\u2028b", "c"]), lines("t.de", ["x", "y"])
    assert pairs_of("t.en,t.de") == [("a\u2028b", "x"), ("c", "y")]


def test_a_file_that_is_missing():
    lines("t.en", "ab")
    assert "t.zn is not there; did you mean t.en?" in mistake("t.en,t.zn")
    assert "t.zn is not there" in mistake("t.en", target="t.zn")
    assert "s.en is not there" in mistake("s.en,t.en")
    assert "t.en is one text, and to translate takes two sides" in mistake("t.en")
    assert 'unknown data set "langages:zh,ja"; did you mean languages?' in mistake("langages:zh,ja")
    assert "dates is a built-in set; leave --target out" in mistake("dates", target="t.en")
    assert "a.csv has the columns a, b, expected source and target" in mistake(
        write("a.csv", "a,b\n1,2\n")
    )


@pytest.mark.parametrize("blank", ["", "  ", "\u3000"])
def test_an_empty_side(blank):
    lines("t.en", ["a", "b", "c"]), lines("t.zh", ["x", blank, "z"])
    assert (
        "t.zh, line 2: the target is empty; give both sides a text, or drop line 2 of both files"
        in mistake("t.en,t.zh")
    )
    assert "t.zh, line 2: the source is empty" in mistake("t.zh,t.en")
    write("t.csv", f'source,target\na,x\n"{blank}",y\n')
    assert (
        "t.csv, line 3: the source is empty; give both sides a text, or drop the row."
        in mistake("t.csv")
    )


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["\x00", "\x07", "\x1b", "\x0c", "\x7f", "\x9d"])
def test_control_characters(letter):
    far = [
        "a word"
    ] * 20_000  # what stands at the beginning is looked at before, and taken for a binary file
    lines("t.en", [*far, f"b{letter}c"]), lines("t.zh", [*far, "y"])
    shown = letter.encode("unicode_escape").decode()
    assert f't.en, line 20001: found the control character "{shown}" in the source' in mistake(
        "t.en,t.zh"
    )
    assert f't.en, line 20001: found the control character "{shown}" in the target' in mistake(
        "t.zh,t.en"
    )


def test_half_characters():
    write(
        "t.jsonl", '{"source": "a\\tb\\nc", "target": "x"}\n{"source": "a", "target": "x\\ud800"}\n'
    )
    assert 't.jsonl, line 2: found the control character "\\ud800" in the target' in mistake(
        "t.jsonl"
    )
    write("t.jsonl", '{"source": "a\\tb\\nc", "target": "x"}\n')
    assert pairs_of("t.jsonl") == [("a\tb\nc", "x")]  # which a table may hold


def test_what_is_no_text():
    write("t.jsonl", '{"source": "a", "target": "x"}\n{"source": "b", "target": null}\n')
    assert "t.jsonl, line 2: found nothing in column target, expected a text" in mistake("t.jsonl")
    write("t.jsonl", '{"source": 12, "target": "twelve"}\n')
    assert pairs_of("t.jsonl") == [("12", "twelve")]


@pytest.mark.parametrize(
    "long",
    ["a" * (1 << 20), "wort " * (1 << 18), "字" * (1 << 20)],
    ids=["letters", "words", "characters"],
)
@pytest.mark.parametrize("at", [0, 1])
def test_a_line_of_a_megabyte(long, at):
    texts = ["a cat", "a dog"]
    texts[at] = long.strip()
    lines("t.en", texts), lines("t.zh", ["x", "y"])
    lines("t.tsv", [f"{text}\tx" for text in texts])
    lines("t.jsonl", [json.dumps({"source": text, "target": "x"}) for text in texts])
    for source in ("t.en,t.zh", "t.tsv", "t.jsonl"):
        assert [a for a, _ in pairs_of(source)] == texts
        shown = overview.data_set(open_dataset(source, TASKS, "translate"), "en")
        assert max(map(len, shown.notes)) < 400 and len(json.dumps(shown.json)) < 4_000


def test_mixed_encodings():
    write("t.en", "a cat\na dog\n")
    write("t.zh", "一只可爱的小猫咪\n".encode() + "一只可爱的小狗\n".encode("gb18030"))
    assert "t.zh is in two encodings: line 1 is UTF-8 and line 2 is not" in mistake("t.en,t.zh")
    write("t.zh", "猫\n狗\n".encode("gb18030"))  # the two files may differ
    assert pairs_of("t.en,t.zh") == [("a cat", "猫"), ("a dog", "狗")]
    lines("t.en", ["a"] * 50_001)
    write("t.zh", b"x\n" * 50_000 + b"\xff\n")
    assert "t.zh, line 50001: found bytes that are not UTF-8" in mistake("t.en,t.zh")


def test_columns_that_nobody_asks_for_may_be_missing():
    write("t.tsv", "a cat\tx\tby me\na dog\ty\n\na cow\tz\tby you\n")
    asked = {"source": "0", "target": "1"}
    with pytest.warns(
        Notice,
        match=r"t\.tsv: 1 lines lack columns that the first row has, the first of them line 2",
    ):
        assert pairs_of("t.tsv", columns=asked) == [("a cat", "x"), ("a dog", "y"), ("a cow", "z")]
    assert "t.tsv, line 2: found 2 columns, expected 3" in mistake(
        "t.tsv", columns={"source": "0", "target": "2"}
    )
    with pytest.raises(Mistake, match="line 2: found 2 columns, expected 3"):
        open_table("t.tsv").load()
    write("t.tsv", "source\ttarget\twho\na cat\tx\tby me\na dog\ty\n")
    assert "t.tsv, line 3: found 2 columns, expected 3" in mistake(
        "t.tsv", columns={"source": "source", "target": "target"}
    )
    write("t.tsv", "a cat\tx\tby me\na dog\ty\tby\tmany\n")
    assert "t.tsv, line 2: found 4 columns, expected 3" in mistake("t.tsv", columns=asked)


# What is shown of them


def test_an_overview_tells_of_both_sides():
    (
        lines("t.en", ["the cat is here", "the dog is here", "the cat is here"]),
        lines("t.zh", ["猫在这里", "狗在这里", "这里有猫"]),
    )
    opened = open_dataset("t.en,t.zh", TASKS)
    shown = overview.data_set(opened, "en")
    assert shown.json["sides"]["source"] == {
        "texts": 2,
        "characters": {"shortest": 15, "median": 15, "longest": 15},
        "languages": {"en": 1.0},
    }
    assert (
        shown.json["sides"]["target"]["languages"] == {"zh": 1.0}
        and shown.json["sides"]["target"]["texts"] == 3
    )
    assert (
        shown.json["first"][1] == {"source": "the dog is here", "target": "狗在这里"}
        and shown.json["rows"] == 3
    )
    assert (
        shown.notes[0]
        == "task translate, 3 pairs of texts: 2 different sources, 3 different targets"
    )
    assert (
        "targets, languages: zh 100.0%" in shown.notes
        and "  'the dog is here' → 狗在这里" in shown.notes
    )
    chinese = overview.data_set(opened, "zh").notes
    assert "目标文，语言：zh 100.0%" in chinese and chinese[0].startswith(
        "任务 translate，3 对文本"
    )
    shown.show()


REAL = [
    (
        "multi30k/train.en.gz,multi30k/train.de.gz",
        {},
        29_000,
        "Two young, White males",
        "Zwei junge weiße Männer",
    ),
    (
        "multi30k/test_2016_flickr.en.gz,multi30k/test_2016_flickr.de.gz",
        {},
        1_000,
        "A man in an orange hat",
        "Ein Mann mit",
    ),
    (
        "aeslc/train.jsonl.xz",
        {"source": "body", "target": "subject"},
        14_436,
        "Greg/Phillip,",
        "Service Agreement",
    ),
    (
        "csl_title/csl_title_train.json.xz",
        {"source": "abst", "target": "title"},
        3_000,
        "提出了一种新的",
        "保细节的网格",
    ),
    (
        "csl_title/ts_dev.tsv",
        {"source": "1", "target": "2"},
        1_000,
        "采用修正的Rodrigues参数",
        "一种基于平方和优化的飞行器",
    ),
]


@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
@pytest.mark.parametrize(
    ("files", "columns", "rows", "source", "target"), REAL, ids=[row[0] for row in REAL]
)
def test_real_pairs(files, columns, rows, source, target):
    files = ",".join(str(DATA / file) for file in files.split(","))
    found = pairs_of(files, columns=columns or None)
    assert len(found) == rows and found[0][0].startswith(source) and found[0][1].startswith(target)


@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not here")
def test_tatoeba():
    with pytest.warns(Notice, match="2 lines lack columns .* line 29;"):
        opened = open_dataset(
            str(DATA / "tatoeba_en_zh/cmn.txt.xz"),
            TASKS,
            columns={"source": "0", "target": "1"},
            test="0.1",
        )
    assert len(opened.train) + len(opened.test) == 29_155 and not set(opened.train.inputs) & set(
        opened.test.inputs
    )
    pairs = dict(zip(opened.train.targets, opened.train.inputs))
    assert pairs.get("嗨。") == "Hi." or "嗨。" in opened.test.targets
    assert np.mean([text.isascii() for text in opened.train.inputs]) > 0.9
