"""Minutes become steps by plans: the time is spent, and what was planned by the clock is made again without one, bit for bit."""

import json
import time

import numpy as np
import pytest
import torch

import wenmai
from wenmai.errors import Mistake
from wenmai.estimators import Classifier
from wenmai.training import checkpoints, loop
from wenmai.training.checkpoints import Checkpoints
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot
from wenmai.training.schedule import Plan, Schedule, plans_from
from wenmai.training.updater import Updater

TEXTS, LABELS = (
    ["a good film", "a bad film", "good", "so bad"] * 30,
    ["pos", "neg", "pos", "neg"] * 30,
)
SMALL = {
    "hidden": 8,
    "embed": 8,
    "batch_tokens": 32,
    "patience": 1000,
    "epochs": 2000,
    "dropout": 0.3,
    "threads": 1,
}


class Rows:
    lengths = np.full(100, 10)


@pytest.fixture
def clock(monkeypatch):
    """Time passes in updates alone: `clock.seconds(n)` is what number n takes of it, timed ones among them."""

    class Clock:
        now, updates, seconds = 1000.0, 0, staticmethod(lambda number: 0.1)

    update = Updater.__call__

    def timed(self, *arguments):
        Clock.now, Clock.updates = Clock.now + Clock.seconds(Clock.updates), Clock.updates + 1
        return update(self, *arguments)

    monkeypatch.setattr(Updater, "__call__", timed)
    monkeypatch.setattr(time, "perf_counter", lambda: Clock.now)
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    return Clock


def changing(number: int) -> float:
    """Seconds of an update: slow at first, then fast, then beside something else."""
    return 1.0 if number < 10 else 0.2 if number < 40 else 0.1 if number < 90 else 0.3


def state(model) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in model.model_.state_dict().items()}


def same(one, other) -> bool:
    return all((value == state(other)[name]).all() for name, value in state(one).items())


def test_steps_that_become_fast_are_planned_anew_and_the_time_is_spent(clock):
    clock.seconds = lambda number: 1.0 if number < 10 else 0.1  # as of a GPU
    model = Classifier("gru", minutes=1.0, **SMALL).fit(TEXTS, LABELS)
    plans = plans_from(model.plan_["plans"])
    assert plans[0].steps < 60 and plans[-1].steps > 400 and len(plans) <= 6
    assert 55 < clock.now - 1000 <= 61


def test_steps_that_take_what_they_took_when_timed_keep_to_the_plan(clock):
    model = Classifier("gru", minutes=1.0, **SMALL).fit(TEXTS, LABELS)
    first, *later = plans_from(model.plan_["plans"])
    assert (
        all(abs(plan.steps - first.steps) <= 1 for plan in later) and 59.9 < clock.now - 1000 < 60.1
    )


def test_steps_that_become_slow_end_in_time(clock):
    clock.seconds = lambda number: 0.01 if number < 500 else 0.5
    model = Classifier("gru", minutes=1.0, **SMALL).fit(TEXTS, LABELS)
    plans = plans_from(model.plan_["plans"])
    assert plans[0].steps > 5000 and plans[-1].steps < 700 and clock.now - 1000 <= 62
    assert model.progress_[-1].score is not None and model.progress_[-1].step == plans[-1].steps


@pytest.mark.slow
@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_planned_killed_and_gone_on_with_is_the_same_as_made_again_with_its_plans(
    clock, stop, tmp_path, monkeypatch
):
    """Also through the files of a checkpoint, and killed at every plan."""
    monkeypatch.setattr(checkpoints, "OFTEN", 1e9)
    clock.seconds = changing
    model, kept = (
        Classifier("gru", minutes=0.5, evaluations=5, **SMALL),
        Checkpoints(tmp_path / "run"),
    )
    kept.begin({})
    seen = 0
    for progress in model.training(TEXTS, LABELS):
        kept.keep(model, progress, False)
        if progress.plan and seen == stop:
            break
        seen += bool(progress.plan)
    _, snapshot, _ = Checkpoints(tmp_path / "run").resume()
    assert (
        snapshot.facts["plan"]["plans"] == progress.plan["plans"]
        and len(plans_from(progress.plan["plans"])) == stop + 1
    )
    again = Classifier("gru", minutes=0.5, evaluations=5, **SMALL)
    for _ in again.training(TEXTS, LABELS, resume=snapshot):
        pass
    plans = again.plan_["plans"]
    assert plans.startswith(progress.plan["plans"]) and len(plans_from(plans)) > 2
    whole = Classifier("gru", **(SMALL | {"evaluations": 5} | again.plan_)).fit(TEXTS, LABELS)
    assert whole.plan_ == again.plan_ and same(whole, again)
    assert [p.score for p in whole.progress_] == [p.score for p in again.progress_]


def test_a_run_says_what_makes_it_again_and_it_does(clock, tmp_path):
    clock.seconds = changing
    options = SMALL | {"minutes": 1.0, "search": True, "evaluations": 5}
    model = Classifier("mlp", **options).fit(TEXTS, LABELS)
    plan = json.loads((model.save(tmp_path / "run") / "run.json").read_text())["plan"]
    assert plan == model.plan_ and len(plans_from(plan["plans"])) > 2
    again = Classifier(
        "mlp",
        **(
            {name: value for name, value in options.items() if name not in ("minutes", "search")}
            | plan
        ),
    )
    again.fit(TEXTS, LABELS)
    assert same(model, again)
    assert (wenmai.load(tmp_path / "run").predict_proba(TEXTS) == again.predict_proba(TEXTS)).all()


def test_the_rate_follows_from_step_and_plans_and_never_jumps():
    one = Schedule(TrainingOptions(steps=400, learning_rate=1.0), Rows, 100)
    plans = TrainingOptions(plans="0:40:20,12:400:15,100:300:9,200:1000:5", learning_rate=1.0)
    several = Schedule(plans, Rows, 100)
    rates = [several.rate(step) for step in range(several.steps)]
    top = int(np.argmax(rates))
    assert (
        max(np.diff(rates)) <= 0.3
        and (np.diff(rates[max(top, 12) :]) <= 1e-12).all()
        and rates[-1] < 1e-4
    )
    assert max(abs(np.diff(rates[12:]))) < 0.02
    assert [one.rate(step) for step in (0, 39, 40, 220)] == [1 / 40, 1.0, 1.0, pytest.approx(0.5)]


def test_when_it_is_judged_follows_from_plans():
    schedule = Schedule(TrainingOptions(plans="0:40:4,12:72:3"), Rows, 100)
    assert [step for step in range(1, 73) if schedule.evaluates_after(step)] == [10, 32, 52, 72]


@pytest.mark.parametrize(
    "text", ["", "12", "0:0:1", "1:5:1", "0:9:1,9:12:1", "0:9:0", "0:9:1,4:3:1", "0:9:x"]
)
def test_plans_that_are_none(text):
    with pytest.raises(Mistake, match="expected plan after plan"):
        plans_from(text)
    assert plans_from("0:9:1,4:30:2") == [Plan(0, 9, 1), Plan(4, 30, 2)]


def test_long_ones_are_not_said_whole():
    with pytest.raises(Mistake) as caught:
        plans_from("a" * 5000)
    assert len(str(caught.value)) < 300


def test_none_is_made_after_training_went_back(clock, monkeypatch):
    """It passes the same steps twice: what is planned the second time would act the first time when it is made again."""
    clock.seconds = changing
    bad = []

    def failure(self, losses, step, where):
        self.unseen = []
        if step == 9 and not bad:
            bad.append(step)
            return loop.Failure(step, "row 1")
        return None

    monkeypatch.setattr(loop.Recovery, "failure", failure)
    model = Classifier("gru", minutes=0.5, evaluations=5, **SMALL).fit(TEXTS, LABELS)
    assert bad and all(plan.at <= 9 for plan in plans_from(model.plan_["plans"]))


def test_a_snapshot_without_arrays_begins_with_its_plan(clock):
    model = Classifier("mlp", minutes=0.5, **SMALL)
    first = next(iter(model.training(TEXTS, LABELS)))
    clock.seconds = lambda number: 5.0
    again = next(
        iter(
            Classifier("mlp", minutes=0.5, **SMALL).training(
                TEXTS, LABELS, resume=Snapshot({}, first.snapshot().facts)
            )
        )
    )
    assert again.plan == first.plan


def test_where_few_updates_fit_batches_are_smaller_and_the_rate_is_higher(clock, monkeypatch):
    """A step takes as long as what it reads, here; given options stay as they are."""
    own = {name: value for name, value in SMALL.items() if name not in ("batch_tokens", "epochs")}
    tokens = []
    update = Updater.gradient

    def gradient(self, rows, step, weight):
        tokens.append(int(self.examples.lengths[rows].sum()))
        return update(self, rows, step, weight)

    monkeypatch.setattr(Updater, "gradient", gradient)
    clock.seconds = lambda number: 0.01 * (tokens[-1] if tokens else 300)
    texts, labels = [text * 50 for text in TEXTS], LABELS

    def planned(**options) -> dict:
        """Before the first step; a training to its end keeps to it, as `few` shows."""
        return next(iter(Classifier("mlp", **options, **own).training(texts, labels))).plan

    few = Classifier("mlp", minutes=2, **own).fit(texts, labels)
    assert (
        len(few.progress_) > 4 and few.plan_["batch_tokens"] == planned(minutes=2)["batch_tokens"]
    )
    assert few.plan_["batch_tokens"] < planned(minutes=60)["batch_tokens"]
    rates = [planned(minutes=minutes, batch_tokens=300)["learning_rate"] for minutes in (1, 90)]
    assert rates[0] == 0.008 and 0.004 < rates[1] < 0.008
    given = planned(minutes=1, batch_tokens=300, learning_rate=0.001)
    assert given["batch_tokens"] == 300 and given["learning_rate"] == 0.001


def test_batches_become_no_smaller_where_that_saves_no_time(clock):
    own = {name: value for name, value in SMALL.items() if name not in ("batch_tokens", "epochs")}
    texts, labels = [text * 50 for text in TEXTS], LABELS
    clock.seconds = lambda number: 0.5

    def batch_tokens(minutes: float) -> int:
        return next(iter(Classifier("mlp", minutes=minutes, **own).training(texts, labels))).plan[
            "batch_tokens"
        ]

    assert batch_tokens(1) == batch_tokens(600) // 2  # halved once, to see


@pytest.mark.parametrize(
    ("alone", "given", "expected"),
    [
        (0.05, None, 1),
        (0.1, None, 2),
        (0.2, None, 2),
        (0.05, 2, 2),
    ],  # seconds of an update with one thread; two take 0.1
)
def test_one_thread_learns_where_it_is_faster(clock, alone, given, expected):
    clock.seconds = lambda number: alone if torch.get_num_threads() == 1 else 0.1
    own = {name: value for name, value in SMALL.items() if name != "threads"} | (
        {"threads": given} if given else {}
    )
    usual = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        training = Classifier("mlp", minutes=1, **own).training(TEXTS, LABELS)
        next(training)
        assert torch.get_num_threads() == expected
        training.close()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(usual)


def test_a_budget_that_is_too_small_is_said_beforehand(clock):
    clock.seconds = lambda number: 3.0
    first = next(iter(Classifier("mlp", minutes=0.5, **SMALL).training(TEXTS, LABELS)))
    assert (
        first.step == 0
        and "0.5 minutes are too few for this much: about" in first.warning
        and "--minutes" in first.warning
    )
    clock.seconds = lambda number: 0.01
    assert not next(iter(Classifier("mlp", minutes=0.5, **SMALL).training(TEXTS, LABELS))).warning
    assert not next(iter(Classifier("mlp", steps=2, **SMALL).training(TEXTS, LABELS))).warning


def test_what_was_spent_before_counts(clock):
    own = {"minutes": 1.0, **SMALL}
    whole, rest = (
        next(iter(Classifier("mlp", **own).training(TEXTS, LABELS, spent=spent))).steps
        for spent in (0.0, 30.0)
    )
    assert 500 < whole <= 600 and 250 < rest <= 300


def test_first_steps_that_are_very_slow_do_not_end_it(clock):
    clock.seconds = lambda number: (
        20.0 if number < 4 else 0.1
    )  # so that hardly one fits, as it seems
    model = Classifier("gru", minutes=2.0, **SMALL).fit(TEXTS, LABELS)
    assert model.progress_[-1].step > 100


def test_where_all_that_is_wanted_fits_the_clock_changes_nothing(clock):
    own = SMALL | {"epochs": 3}
    clock.seconds = lambda number: 0.1 if number < 20 else 0.2
    model = Classifier("gru", minutes=10.0, **own).fit(TEXTS, LABELS)
    assert len(plans_from(model.plan_["plans"])) == 1
