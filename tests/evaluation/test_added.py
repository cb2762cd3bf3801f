"""Rows that are in two parts, and runs that have seen rows which judge them, are told of or refused."""

import pytest

from wenmai import Classifier, LanguageModel, load
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.errors import Mistake
from wenmai.evaluation.added import doubt
from wenmai.evaluation.compare import compare
from wenmai.exchange import exporting


def write(path, rows, head="text,label"):
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


@pytest.fixture
def rows():
    return [
        f"{'red' if row % 2 else 'blue'} thing {row},{'r' if row % 2 else 'b'}"
        for row in range(120)
    ]


def saved(data, folder):
    Classifier("softmax", epochs=1).fit(*data.train.pair).save(folder, **data.about())
    return str(folder)


def test_a_run_that_saw_the_rows_that_judge_it(tmp_path, rows):
    train, test = write(tmp_path / "train.csv", rows[:90]), write(tmp_path / "test.csv", rows[90:])
    data, other = (
        open_dataset(train, TASKS, valid="0.2", test="0.2", seed=seed) for seed in (0, 1)
    )
    same, elsewhere = (
        saved(data, tmp_path / "same"),
        saved(open_dataset(test, TASKS), tmp_path / "elsewhere"),
    )
    split = saved(other, tmp_path / "split")
    Classifier("softmax", epochs=1).fit(*data.train.pair).save(tmp_path / "by-hand")
    assert doubt(data, same) is None
    assert (
        "other rows of train" in doubt(data, split).english
        and "cannot be told" in doubt(data, str(tmp_path / "by-hand")).english
    )
    with pytest.raises(
        Mistake, match="whose rows judge this comparison"
    ):  # the file itself, also where a share was held out
        doubt(
            open_dataset(train, TASKS, valid="0.2", test=test),
            saved(open_dataset(test, TASKS, valid="0.2"), tmp_path / "part"),
        )
    with pytest.raises(Mistake, match="whose rows judge this comparison"):
        doubt(open_dataset(train, TASKS, valid="0.2", test=test), elsewhere)

    steps = compare(data, 0.02, ["perceptron"], out=tmp_path / "runs", with_runs=(same, split))
    try:
        while True:
            next(steps)
    except StopIteration as end:
        report = end.value
    assert {row["rung"]: row.get("doubtful") for row in report["rungs"]} == {
        "perceptron": None,
        "same": False,
        "split": True,
    }
    assert "split" not in report["recommendation"]["level"] and any(
        "other rows of train" in note for note in report["notes"]
    )


def test_valid_and_test_files_are_held_against_each_other(tmp_path, rows):
    train, valid = (
        write(tmp_path / "train.csv", rows[:60]),
        write(tmp_path / "valid.csv", rows[60:90]),
    )
    test = write(tmp_path / "test.csv", rows[80:])
    data = open_dataset(train, TASKS, valid=valid, test=test)
    assert (
        any(
            "10 of the 40 test inputs stand in the valid rows too" in str(note)
            for note in data.notes
        )
        and len(data.test) == 40
    )
    data = open_dataset(train, TASKS, valid=valid, test=test, unseen=True)
    assert len(data.test) == 30 and any(
        "10 of the 40 test rows dropped" in str(note) for note in data.notes
    )
    assert not any(
        "valid rows too" in str(note) for note in open_dataset(train, TASKS, valid=valid).notes
    )


def test_pairs_are_looked_at_side_by_side(tmp_path):
    pairs = [f"one {row},two {row}" for row in range(30)]
    train = write(tmp_path / "train.csv", pairs, "source,target")
    test = write(
        tmp_path / "test.csv", ["one 3,new", "another,two 4", "fresh,two 5", "x,y"], "source,target"
    )
    notes = [str(note) for note in open_dataset(train, TASKS, test=test).notes]
    assert any("1 of the 4 test rows have a source that" in note for note in notes)
    assert any("2 of the 4 test rows have a target that" in note for note in notes)
    rows = [f"one {row},two {row},{row % 2}" for row in range(30)]
    train = write(tmp_path / "pairs.csv", rows, "text_a,text_b,label")
    test = write(tmp_path / "more.csv", ["one 3,new,1", "a,b,0"], "text_a,text_b,label")
    notes = [str(note) for note in open_dataset(train, TASKS, test=test).notes]
    assert any(
        "1 of the 2 test rows have a first text that" in note for note in notes
    ) and "second text" not in str(notes)


def all_of(steps) -> dict:
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def test_what_was_pretrained_is_fine_tuned_beside_the_ladder(tmp_path, rows):
    """A run that has learned another task, of which it is known what it took, and a checkpoint, of which it is not."""
    pytest.importorskip("transformers")
    texts = [row.split(",")[0] for row in rows]
    data = open_dataset(write(tmp_path / "things.csv", rows), TASKS, valid="0.2", test="0.2")
    writer = LanguageModel(
        "gpt", width=8, heads=2, layers=1, steps=3, tokenizer="bpe", vocabulary=300
    ).fit(texts)
    writer.save(tmp_path / "writer", seconds=90.0)
    exporting.exported(writer, tmp_path / "checkpoint")
    added = (str(tmp_path / "writer"), str(tmp_path / "checkpoint"))
    steps = compare(
        data, 0.05, ["perceptron"], out=tmp_path / "runs", with_runs=added, options={"steps": 4}
    )
    report = all_of(steps)
    found = {row["rung"]: row for row in report["rungs"]}
    assert found.keys() == {"perceptron", "writer", "checkpoint"} and not any(
        row["failed"] for row in found.values()
    )
    assert (
        found["writer"]["ladder"] == found["checkpoint"]["ladder"] == "gpt"
        and "pretrained" not in found["perceptron"]
    )
    assert (
        found["writer"]["pretrained"]["seconds"] == 90.0
        and found["checkpoint"]["pretrained"]["seconds"] is None
    )
    assert any("writer was pretrained for 1.5 minutes" in note for note in report["notes"])
    assert any(
        "checkpoint was pretrained before this comparison; what that cost" in note
        for note in report["notes"]
    )
    assert load(found["writer"]["run"]).task_name == "classify"


def test_a_checkpoint_that_is_broken(tmp_path, rows):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    data = open_dataset(write(tmp_path / "things.csv", rows), TASKS, valid="0.2", test="0.2")
    with pytest.raises(Mistake, match=r"config\.json"):
        all_of(
            compare(
                data,
                0.02,
                ["perceptron"],
                out=tmp_path / "runs",
                with_runs=(str(tmp_path / "broken"),),
            )
        )
