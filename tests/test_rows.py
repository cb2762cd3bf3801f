"""Where rows go: every row bears its number, and spies note which numbers reach what. For every task of the catalog, by `train`,
by `compare` and by `fit`: what is learned from, the vocabulary among it, is the training part alone; the valid part chooses the
rate and the moment to stop; the test part is scored, and nothing else is."""

import json
import re
import wave
from functools import partial

import numpy as np
import pytest

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.sounds import Clips
from wenmai.estimator import Estimator
from wenmai.estimators import ESTIMATORS, load
from wenmai.evaluation.compare import compare
from wenmai.tasks.contract import Scores

ROWS = 60
WORDS = ("red", "green", "blue", "grey")


def numbers_in(value) -> set[int]:
    """The numbers of the rows in what a function was given: texts say row17, numbers are 17, 17.5 …"""
    if value is None:
        return set()
    if isinstance(value, Clips):
        value = [clip.path for clip in value]
    if isinstance(value, Corpus):
        value = list(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return set(np.floor(value.reshape(len(value), -1)[:, 0]).astype(int).tolist())
    return {int(number) for number in re.findall(r"row(\d+)", " ".join(map(str, value)))}


def lines_of(task: str) -> tuple[str, str]:
    """(the end of the file's name, its text)"""
    rows = [(row, WORDS[row % 4], WORDS[row * 7 % 4]) for row in range(ROWS)]
    if task == "tag":
        return "conll", "".join(f"row{row} O\n{one} B-X\n{two} O\n\n" for row, one, two in rows)
    if task == "regress":
        return "csv", "a,b,target\n" + "".join(f"{row},{row % 3},{row + 0.5}\n" for row, *_ in rows)
    if task == "generate":
        return "txt", "".join(f"row{row} {one} {two}\n" for row, one, two in rows)
    if task == "pretrain":  # documents of two lines, of three words and of two
        return "txt", "".join(
            f"row{row} {one}" + ("\n\n" if row % 2 else f" {two}\n") for row, one, two in rows
        )
    if task == "translate":
        return "csv", "source,target\n" + "".join(
            f"row{row} {one} {two},row{row} {two} {one}\n" for row, one, two in rows
        )
    if task == "compose":
        return "csv", "label,text\n" + "".join(f"{one},row{row} {two}\n" for row, one, two in rows)
    if task == "transcribe":
        return "csv", "audio,text\n" + "".join(
            f"row{row}.wav,row{row} {one}\n" for row, one, _ in rows
        )
    if task == "choose":
        lines = (f"row{row} {one},what,a|{two},{two}\n" for row, one, two in rows)
        return "csv", "context,question,choices,answer\n" + "".join(lines)
    if task == "reply":
        return "csv", "story,question,answer\n" + "".join(
            f"row{row} {one} {two},what,{two}\n" for row, one, two in rows
        )
    if task == "answer":
        return "csv", "context,question,answer\n" + "".join(
            f"row{row} {one} {two},what,{two}\n" for row, one, two in rows
        )
    return "csv", "text,label\n" + "".join(f"row{row} {one},{two}\n" for row, one, two in rows)


TINY = {"steps": 4, "evaluations": 2, "hidden": 4, "embed": 4}
# (task, rung, options): one without the loop, where there is one, and one with it
CASES = [
    ("classify", "softmax", {"epochs": 2}),
    ("classify", "mlp", TINY),
    ("tag", "perceptron", {"epochs": 2}),
    ("tag", "gru", TINY),
    ("regress", "linear", {"solver": "gradient", "epochs": 2}),
    ("regress", "mlp", {"steps": 4, "evaluations": 2, "hidden": 4}),
    ("generate", "gru", TINY),
    ("translate", "seq2seq", TINY),
    ("compose", "gru", TINY),
    ("pretrain", "bert", {"steps": 4, "evaluations": 2, "width": 4, "heads": 2}),
    ("answer", "attention", TINY),
    ("choose", "gru", TINY),
    ("reply", "seq2seq", TINY),
    ("transcribe", "gru", TINY),
]
MARK = {
    True: 0.25,
    False: 0.125,
}  # the score of the test part, and of the valid part, as the spied `evaluate` gives it


def test_every_task_is_watched():
    assert {task for task, *_ in CASES} == set(TASKS)


class Spies:
    """What reached what, by name, in the order of the calls."""

    def __init__(self, monkeypatch, task: str):
        self.calls, self.monkeypatch, kind = [], monkeypatch, TASKS[task]
        for name in ("learn", "learn_inputs", "training_examples", "judge"):
            monkeypatch.setattr(kind, name, self.task_spy(name, getattr(kind, name)))
        for name in {
            "training",
            "evaluate",
            "examples",
            "predict",
            "log_prob",
            "hypotheses",
            "scored",
        }:
            for owner in {Estimator, ESTIMATORS[task]}:
                if name in vars(owner):
                    monkeypatch.setattr(owner, name, self.estimator_spy(name, vars(owner)[name]))

    def task_spy(self, name: str, function):
        def spied(task, first, second=None, *more, **options):
            seen = {
                "learn": lambda: numbers_in(first),
                "learn_inputs": lambda: numbers_in(first) | numbers_in(second),
                "training_examples": lambda: numbers_in(second) | numbers_in(more[0]),
                "judge": lambda: numbers_in(second.valid[0]) | numbers_in(second.valid[1]),
            }[name]()
            self.calls.append((name, seen))
            return function(
                task,
                first,
                *(() if name == "learn" and second is None else (second,)),
                *more,
                **options,
            )

        return spied

    def estimator_spy(self, name: str, function):
        def spied(estimator, inputs, *more, **options):
            targets = more[0] if more and name != "scored" else None
            self.calls.append((name, numbers_in(inputs) | numbers_in(targets)))
            if name == "training" and len(more) > 1 and more[1] is not None:
                self.calls.append(("valid", numbers_in(more[1][0]) | numbers_in(more[1][1])))
            return function(estimator, inputs, *more, **options)

        return spied

    def of(self, *names: str) -> list[set[int]]:
        return [numbers for name, numbers in self.calls if name in names and numbers]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def open_file(task: str):
        suffix, text = lines_of(task)
        (tmp_path / f"data.{suffix}").write_text(text, encoding="utf-8")
        for row in range(ROWS if task == "transcribe" else 0):
            with wave.open(f"row{row}.wav", "wb") as sound:
                sound.setparams((1, 2, 8000, 0, "NONE", ""))
                sound.writeframes(
                    np.random.default_rng(row).integers(-9000, 9000, 4000, dtype="<i2").tobytes()
                )
        return open_dataset(f"data.{suffix}", TASKS, task, valid="0.2", test="0.2", seed=0)

    return open_file


def parts_of(data) -> tuple[set[int], set[int], set[int]]:
    train, valid, test = (
        numbers_in(part.inputs) | numbers_in(part.targets)
        for part in (data.train, data.valid, data.test)
    )
    assert len(train) + len(valid) + len(test) == ROWS and train | valid | test == set(range(ROWS))
    assert min(len(valid), len(test)) >= 10
    return train, valid, test


@pytest.mark.each_value
@pytest.mark.parametrize(("task", "rung", "options"), CASES)
def test_train_learns_from_train_and_tells_what_test_scored(
    opened, monkeypatch, wenmai_cli, task, rung, options
):
    data = opened(task)
    train, valid, test = parts_of(data)
    spies, metric = Spies(monkeypatch, task), data.task.metric

    def marked(estimator, inputs, targets=None, *more, **how):
        return Scores({metric: MARK[numbers_in(inputs) | numbers_in(targets) == test]})

    monkeypatch.setattr(Estimator, "evaluate", spies.estimator_spy("evaluate", marked))
    settings = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    source = f"data.{lines_of(task)[0]}"
    ran = wenmai_cli(
        "train",
        rung,
        source,
        "--task",
        task,
        "--valid",
        "0.2",
        "--test",
        "0.2",
        *settings,
        "--json",
    )
    assert ran.status == 0, ran.err
    assert spies.of("training") == [train] and spies.of("valid") == [valid]
    assert all(
        numbers <= train for numbers in spies.of("learn", "learn_inputs", "training_examples")
    )
    assert spies.of("learn_inputs") == [train]
    assert spies.of("judge") == [valid] and spies.of("evaluate") == [valid, test]
    assert json.loads(ran.out.splitlines()[-1])["scores"] == {
        "valid": {metric: MARK[False]},
        "test": {metric: MARK[True]},
    }


@pytest.mark.each_value
@pytest.mark.parametrize(("task", "rung", "options"), CASES)
def test_compare_chooses_on_valid_and_scores_on_test(
    opened, monkeypatch, tmp_path, task, rung, options
):
    data = opened(task)
    train, valid, test = parts_of(data)
    spies = Spies(monkeypatch, task)
    steps = compare(data, 0.01, [rung], device="cpu", options=options, out=tmp_path / "runs")
    try:
        while True:
            next(steps)
    except StopIteration as end:
        (row,), metric = end.value["rungs"], end.value["metric"]
    assert row["failed"] is None
    assert train in spies.of("training") and all(
        numbers <= train for numbers in spies.of("training")
    )
    assert all(
        numbers <= train for numbers in spies.of("learn", "learn_inputs", "training_examples")
    )
    assert spies.of("valid") and all(numbers == valid for numbers in spies.of("valid", "judge"))
    asked = spies.of("evaluate", "examples", "predict", "log_prob", "hypotheses", "scored")
    assert (
        asked.count(valid) <= 1
        and test in asked
        and all(numbers <= test or numbers == valid for numbers in asked)
    )
    run = load(row["run"])  # valid rows choose, test rows report: each score is of its own part
    for name, part in (("valid", data.valid), ("test", data.test)):
        assert row["scores"][name][metric] == pytest.approx(
            run.evaluate(*part.pair)[metric], rel=1e-5
        )
    assert all(size["rows"] <= len(data.train) for size in row["sizes"])


@pytest.mark.parametrize(("task", "rung", "options"), CASES)
def test_fit_holds_some_rows_out_and_learns_from_the_others(
    opened, monkeypatch, task, rung, options
):
    data = opened(task)
    train = parts_of(data)[0]
    spies = Spies(monkeypatch, task)
    ESTIMATORS[task](rung, device="cpu", validation=0.25, **options).fit(*data.train.pair)
    (held,), learned = spies.of("judge"), spies.of("learn", "learn_inputs", "training_examples")
    assert held < train and 0.15 * len(train) <= len(held) <= 0.35 * len(train)
    assert spies.of("training_examples") == [train - held] and all(
        numbers <= train - held for numbers in learned
    )


def test_what_counts_n_grams_learns_from_all_of_the_text_and_from_none_of_what_is_given_apart(
    opened, monkeypatch
):
    """It chooses nothing on held-out text, so that nothing has to be held out."""
    data = opened("generate")
    train, valid, _ = parts_of(data)
    spies = Spies(monkeypatch, "generate")
    ESTIMATORS["generate"]("ngram").fit(data.train.inputs)
    assert spies.of("training_examples") == [train] and not spies.of("judge")
    ESTIMATORS["generate"]("ngram").fit(data.train.inputs, valid=data.valid.inputs)
    assert spies.of("training_examples")[-1] == train and spies.of("judge") == [valid]


def test_words_of_held_out_rows_are_unknown(opened):
    """The vocabulary itself, and not only what it is said to be learned from."""
    for task, rung, options in (
        ("classify", "mlp", TINY),
        ("translate", "seq2seq", TINY),
        ("generate", "gru", TINY),
    ):
        data = opened(task)
        train, *others = parts_of(data)
        model = ESTIMATORS[task](rung, device="cpu", tokenizer="words", **options)
        for _ in model.training(*data.train.pair, data.valid.pair):
            pass
        known = json.dumps(model.inputs_.to_json(), ensure_ascii=False)
        for numbers in others:
            assert not numbers & {int(number) for number in re.findall(r"row(\d+)", known)}
        assert {int(number) for number in re.findall(r"row(\d+)", known)} <= train


@pytest.mark.parametrize("rows", [100, 101, 137])
def test_a_series_is_cut_where_it_says(tmp_path, monkeypatch, rows):
    """A part begins with the rows that its first forecast looks back on; what it forecasts, no earlier part has learned."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "series.csv").write_text(
        "target\n" + "".join(f"{row}\n" for row in range(rows)), encoding="utf-8"
    )
    data = open_dataset(
        "series.csv", TASKS, valid="0.2", test="0.2", settings={"horizon": "2", "history": "3"}
    )
    forecasts = []
    for part in (data.train, data.valid, data.test):
        inputs, targets = data.task.prepare(*part.pair)
        windows = np.stack([np.asarray(one).reshape(3) for one in inputs])  # (N, 3)
        assert (np.asarray(targets)[:, 0] == windows[:, -1] + 1).all() and np.asarray(
            targets
        ).shape[1] == 2
        forecasts.append({int(value) for value in np.asarray(targets).ravel()})
    assert not forecasts[0] & forecasts[1] and not forecasts[1] & forecasts[2]
    assert set().union(*forecasts) == set(range(3, rows))  # and none is left out between two parts
    held = round(0.2 * rows)
    assert [len(one) for one in forecasts[1:]] == [held, held]


def test_less_data_is_drawn_by_chance(opened):
    """A file may be sorted: its first rows are no picture of it."""
    data = opened("classify")
    fewer = partial(data.task.profile.fewer, data.task, data.train)
    rows = numbers_in(data.train.inputs)
    some, others = numbers_in(fewer(0.5, 0).inputs), numbers_in(fewer(0.5, 1).inputs)
    first = set(sorted(rows)[: len(some)])
    assert len(some) == len(rows) // 2 and some < rows and some != others
    assert some != first and others != first and max(some) > max(first)


def test_the_length_of_the_lead_is_chosen_on_valid(tmp_path, monkeypatch):
    """Sources of eight words: the summaries of valid are their first two, those of test their first six."""
    monkeypatch.chdir(tmp_path)
    words = np.array(
        [f"{one}{two}" for one in ("am", "bir", "ce", "du") for two in ("ber", "ch", "dar", "ne")]
    )

    def write(name, length, seed):
        sources = [
            " ".join(row)
            for row in np.random.default_rng(seed).permuted(np.tile(words, (20, 1)), axis=1)[:, :8]
        ]
        lines = [f"{source},{' '.join(source.split()[:length])}\n" for source in sources]
        (tmp_path / name).write_text("source,target\n" + "".join(lines), encoding="utf-8")
        return name

    data = open_dataset(
        write("train.csv", 2, 0),
        TASKS,
        "translate",
        valid=write("valid.csv", 2, 1),
        test=write("test.csv", 6, 2),
        settings={"summarise": "true"},
    )
    said = data.task.profile.remark(data, "rouge_l", 1.0, 0.0)
    assert said.values["count"] == 2  # of the 2, 4 and 6 that are tried
