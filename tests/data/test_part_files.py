"""Folders with files to train, to validate and to test; rows that have groups, each of which is scored too."""

import json

import numpy as np
import pytest
from test_contract import fitted, made

from wenmai.catalog import TASKS
from wenmai.cli.commands import main
from wenmai.data.dataset import open_dataset
from wenmai.data.files.part_files import groups_of, parts_of
from wenmai.data.parts import Part
from wenmai.errors import Mistake
from wenmai.evaluation import compare, groups
from wenmai.evaluation import report as reporting
from wenmai.page.leaderboard import called, group_scores, more_tables

TOWNS = ("Rome", "Oslo", "Lima")


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")


def story(name: str, count: int) -> str:
    return "".join(
        f"1 {name} is in {town}.\n2 Where is {name}?\t{town}\t1\n"
        for town in (TOWNS * count)[:count]
    )


@pytest.fixture
def stories(tmp_path):
    folder = tmp_path / "stories"
    folder.mkdir()
    for number, name in ((2, "Ann"), (10, "Bob")):
        write(
            folder,
            **{
                f"qa{number}_x_train__txt": story(name, 12),
                f"qa{number}_x_test__txt": story(name, 3 + (number > 2)),
            },
        )
    (folder / "README.md").write_text("Stories.")
    return folder


def test_parts_and_groups_are_read_from_the_names(stories, tmp_path):
    assert {part: [file.name for file in files] for part, files in parts_of(stories).items()} == {
        "train": ["qa2_x_train.txt", "qa10_x_train.txt"],
        "test": ["qa2_x_test.txt", "qa10_x_test.txt"],
    }
    data = open_dataset(str(stories), TASKS, valid="0.1", test="0.1")
    assert (
        data.task.name == "reply"
        and len(data.train) + len(data.valid) == 24
        and len(data.test) == 7
    )
    assert data.test.groups == ["qa2_x"] * 3 + ["qa10_x"] * 4
    assert data.test.where(4).english == f"{stories}, line 4 of qa10_x"
    assert all(
        name in context
        for (context, _), group in zip(data.train.inputs, data.train.groups)
        for name in [{"qa2_x": "Ann", "qa10_x": "Bob"}[group]]
    )
    given = open_dataset(str(stories), TASKS, test=str(stories / "qa2_x_test.txt"))
    assert len(given.test) == 3 and given.test.groups is None  # what the user says goes first
    assert groups_of([tmp_path / "a.train.json.xz", tmp_path / "b.train.json.xz"]) == ["a", "b"]
    assert groups_of([tmp_path / "train.csv", tmp_path / "train.json"]) == [
        "train.csv",
        "train.json",
    ]


def test_a_file_a_part_may_be_of_any_task(tmp_path):
    rows = "text,label\n" + "good film,pos\nbad film,neg\n" * 12
    write(
        tmp_path,
        train__csv=rows,
        dev__csv="".join(rows.splitlines(True)[:3]),
        test__csv=rows.replace("film", "book"),
    )
    data = open_dataset(str(tmp_path), TASKS)
    assert (
        data.task.name == "classify" and data.test.inputs[0] == "good book" and len(data.valid) == 2
    )
    assert data.test.where(0).english == f"{tmp_path / 'test.csv'}, line 2"


def test_numbers_in_several_files_have_no_group_among_them(tmp_path):
    write(
        tmp_path,
        a_train__csv="x,y,target\n1,2,3\n" * 1 + "2,3,5\n" * 3,
        b_train__csv="y,x,target\n20,10,30\n",
    )
    data = open_dataset(str(tmp_path), TASKS)
    assert (
        data.task.name == "regress"
        and data.train.inputs[-1].tolist() == [10, 20]
        and data.train.groups is None
    )


@pytest.mark.parametrize("names", [("pos", "neg"), ("train", "bus"), ("ops", "dev")])
def test_files_of_which_one_says_no_part_are_labels(tmp_path, names):
    write(tmp_path, **{f"{name}__txt": "one\ntwo\nthree\n" for name in names})
    assert parts_of(tmp_path) == {}
    assert set(open_dataset(str(tmp_path), TASKS).train.targets) == set(names)


def test_files_that_do_not_fit_together_are_named(tmp_path):
    write(
        tmp_path, a_train__csv="text,label\nx,y\n", b_train__csv="story,question,answer\nx,y?,z\n"
    )
    with pytest.raises(
        Mistake,
        match=r"a_train.csv has the columns text, label, and b_train.csv has story, question, answer",
    ):
        open_dataset(str(tmp_path), TASKS)


def test_a_bad_row_is_named_with_its_file(stories):
    with open(stories / "qa10_x_train.txt", "a") as file:
        file.write("1 Bob left.\n2 ?\tRome\t1\n")
    with pytest.raises(
        Mistake, match=r"stories, line 26 of qa10_x: the question '\?' has no words"
    ):
        open_dataset(str(stories), TASKS)
    assert len(open_dataset(str(stories), TASKS, skip_bad=True).train) == 24


@pytest.mark.parametrize("column", ["task", "group"])
def test_a_column_may_say_the_group(tmp_path, column):
    rows = [
        {"context": f"Ann is in {town}.", "question": "Where is Ann?", "answer": town, column: kind}
        for kind in (1, None)
        for town in TOWNS
    ]
    write(tmp_path, asked__jsonl="\n".join(map(json.dumps, rows)))
    assert open_dataset(str(tmp_path / "asked.jsonl"), TASKS).train.groups == ["1"] * 3 + ["–"] * 3


@pytest.mark.parametrize(
    ("rung", "task", "kind"),
    [
        ("gru", "choose", "choices"),
        ("attention", "answer", "questions"),
        ("seq2seq", "reply", "stories"),
    ],
)
def test_the_score_of_all_follows_from_those_of_the_groups(rung, task, kind):
    """Every metric of these tasks is a mean over rows; a score of a group is one of its rows alone."""
    model, (inputs, targets) = fitted(rung, task, kind), made(kind, 10, seed=3, task=task)
    names = list("aabbbacabb")
    part = Part(inputs, targets, "rows", range(1, 11), groups=names)
    scores, each = groups.evaluate(model, part)
    assert dict(scores) == pytest.approx(dict(model.evaluate(inputs, targets)))
    assert list(each) == ["a", "b", "c"] and each["b"]["rows"] == 5
    rows = [row for row, name in enumerate(names) if name == "b"]
    alone = model.evaluate([inputs[row] for row in rows], [targets[row] for row in rows])
    assert {name: each["b"][name] for name in alone} == pytest.approx(dict(alone))


def test_scores_of_groups_are_sums_of_terms():
    terms = np.array([[1.0, 1], [0, 1], [1, 1], [1, 1]])
    found = groups.group_scores([terms], ["b", "b", "a", "b"], "accuracy")
    assert found == [
        {"group": "b", "rows": 3, "score": pytest.approx(2 / 3)},
        {"group": "a", "rows": 1, "score": 1.0},
    ]
    assert (
        groups.group_scores([terms], None, "accuracy") is None
        and groups.group_scores([terms], ["a"], "accuracy") is None
    )


@pytest.mark.slow
def test_evaluate_and_compare_show_every_group(stories, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = open_dataset(str(stories), TASKS, valid="0.2")
    steps = compare.compare(data, 0.02, ["seq2seq"], options={"embed": 8, "hidden": 8, "layers": 1})
    while True:
        try:
            next(steps)
        except StopIteration as end:
            report = end.value
            break
    (row,), baseline = report["rungs"], report["baseline"]
    for one in (row, baseline):
        assert [(group["group"], group["rows"]) for group in one["groups"]] == [
            ("qa2_x", 3),
            ("qa10_x", 4),
        ]
        mean = sum(group["rows"] * group["score"] for group in one["groups"]) / 7
        assert mean == pytest.approx(one["scores"]["test"]["exact_match"])
    for lang, last in (("en", "mean"), ("zh", "平均")):
        head, cells = group_scores(report, lang)
        assert sorted(head[2:]) == sorted(["seq2seq", called(report, baseline, lang)])
        assert [cell[0] for cell in cells] == ["qa2_x", "qa10_x", last]
    assert more_tables(report)
    reporting.write(report, tmp_path / "report")
    page, text = (
        (tmp_path / "report" / f"report.{ending}").read_text() for ending in ("html", "md")
    )
    assert (
        "Group by group" in page
        and "逐组" in page
        and "<td dir=auto>qa10_x</td>" in page
        and "| qa10\\_x | 4 |" in text
    )
    monkeypatch.setattr("sys.argv", ["wenmai", "evaluate", row["run"], str(stories), "--json"])
    main()
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["rows"] == 7 and said["groups"]["qa10_x"]["rows"] == 4
