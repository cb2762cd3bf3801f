"""compare: every rung on the same rows under the same budget, and one recommendation.

The minutes are shared equally; what a rung leaves of its share goes to those after it. A share is spent on a search of
the learning rate, the training itself (once for every seed), and two shorter trainings on 10% and 30% of the rows."""

import os
import platform
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np

import wenmai
from wenmai.catalog import RUNGS, rung_named, rungs_for
from wenmai.data.dataset import Dataset, Part
from wenmai.data.inputs.kinds import kind_of
from wenmai.errors import Mistake, unknown
from wenmai.estimator import Estimator
from wenmai.estimators import ESTIMATORS, load
from wenmai.evaluation.added import Pretrained, doubt, parted
from wenmai.evaluation.groups import group_scores
from wenmai.evaluation.how_far import has_more, is_short, state_of, undecided, weigh
from wenmai.evaluation.recommendation import recommend
from wenmai.evaluation.unfinished import Done, Unfinished
from wenmai.locale import Message, phrase, told_in
from wenmai.options import NoEffect
from wenmai.tasks.metrics import Drawn, drawn, metric_named, with_luck
from wenmai.training import interrupts
from wenmai.training.distributed import device_named
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Progress
from wenmai.training.run_folder import check_place

SIZES = {
    0.1: 0.15,
    0.3: 0.3,
}  # share of the rows → length of the training on them, compared with all rows
MAIN = 0.95 / (1 + sum(SIZES.values()))  # share of the budget; the rest is for measuring
SIZED = 0.95  # share of the budget after which nothing more is trained
LEAST = 0.01  # minutes that a rung gets in any case


@dataclass(frozen=True)
class Plan:
    """What all rungs of a comparison share."""

    data: Dataset
    seed: int
    seeds: int
    device: str
    options: dict  # given by the user; a rung that lacks one goes without
    runs: Path  # where trained rungs are kept
    metric: str  # by which rungs are ranked and one is chosen
    replace: bool = False
    starts: dict[str, Pretrained] = field(
        default_factory=dict
    )  # what is added, and fine-tuned here

    def estimator(self, name: str, **options) -> Estimator:
        return ESTIMATORS[self.data.task.name](self.rung(name), **options)

    def rung(self, name: str) -> str:
        return self.starts[name].rung if name in self.starts else name

    def training(self, name: str, estimator: Estimator, rows: Part, **known) -> Iterator[Progress]:
        start = self.starts[name].start if name in self.starts else None
        return estimator.training(
            *rows.pair, self.data.valid.pair, rows.where, start=start, **known
        )

    def known_options(self, rung: str) -> set[str]:
        return set(self.estimator(rung).get_params()) - {"rung"}

    def terms(self, estimator: Estimator, part: Part) -> np.ndarray:
        """What every row of the part adds to the metric (N, K)."""
        return self.data.task.profile.terms(estimator, self.data.task, part, self.metric)

    def quick_score(self, estimator: Estimator) -> float:
        """On the test rows, of texts that are written quickly."""
        quick, test = self.data.task.profile.quick, self.data.test
        if quick:
            return estimator.evaluate(*test.pair, test.where, **quick)[self.metric]
        return score_of(self.terms(estimator, test), self.metric)

    def run_of(self, rung: str) -> Path:
        return self.runs / f"{self.data.name.replace(':', '-')}-{rung}"


# The budget and the order.


def compare(
    data: Dataset,
    minutes: float,
    rungs: list[str] | None = None,
    seed: int = 0,
    seeds: int = 1,
    device: str = "auto",
    with_runs: tuple[str, ...] = (),
    options: dict | None = None,
    out: Path | None = None,
    kept: Unfinished | None = None,
    begun: dict | None = None,
    replace: bool = False,
    metric: str | None = None,
    started: float | None = None,
) -> Iterator[tuple[str, str, Progress | None]]:
    """Yields (rung, stage, progress) as it goes and returns the report, a plain dict (`report.write` says its keys). Rungs that
    `kept` has are not trained again; `begun` are the arguments that it keeps of a comparison that is new. `replace`: runs of
    other data and trainings that were not finished, too. `metric`: another than the task's own. `started`: when the
    minutes began to run, where that was before."""
    if data.test is None or data.valid is None:
        raise Mistake("compare needs a valid and a test part: give files or shares for both.")
    check_metric(data.task, metric)
    names = rungs or suited_rungs(data)
    if not names and not with_runs:
        raise Mistake(
            "compare trains no rung to {task}; train one by itself, as in wenmai train bert DATA, or name runs with "
            "--with.",
            task=data.task.name,
        )
    starts, with_runs = parted(with_runs, data.task.name, list(RUNGS))
    plan = Plan(
        data,
        seed,
        seeds,
        device,
        options or {},
        out or Path("runs"),
        metric or data.task.metric,
        replace,
        starts,
    )
    names = [*names, *starts]
    done = kept.done(names) if kept and begun is None else {}
    missing = [name for name in names if name not in done]
    check(
        plan, [] if kept and begun is None else names, missing
    )  # what is gone on with was checked when it began
    if begun is not None:
        kept.begin(begun, replace)
    rows, terms = (
        [one.row for one in done.values()],
        {name: one.terms for name, one in done.items()},
    )
    end = (
        (started or time.perf_counter()) + minutes * 60 - sum(one.seconds for one in done.values())
    )
    for number, name in enumerate(missing):
        began = time.perf_counter()
        interrupts.check()
        try:
            if rung_named(plan.rung(name), data.task.name).train is not TrainingOptions:
                yield name, Message("compiling"), None
                compile_kernels(plan, name)
            share = max(LEAST, (end - time.perf_counter()) / 60 / (len(missing) - number))
            row, terms[name] = yield from one_rung(plan, name, share)
            if kept:
                kept.keep(name, Done(row, terms[name], time.perf_counter() - began))
        except (
            Exception
        ) as error:  # a rung that fails is shown with its reason, and the others go on
            interrupts.check()
            row = failure(data, name, error)
            yield name, Message("failed"), None
        rows.append(row)
    for run in with_runs:
        name = Path(run).name
        name = (
            str(run) if name in terms else name
        )  # two runs of one name are told apart by their folders
        yield name, Message("measuring"), None
        try:
            estimator, note = load(run), doubt(data, run)
            row, test = measured(plan, estimator, name)
            terms[name] = {"valid": [plan.terms(estimator, data.valid)], "test": [test]}
            row |= {
                "run": run,
                "bytes": folder_bytes(Path(run)),
                "doubtful": note is not None,
                "notes": row.get("notes", []) + [note] * (note is not None),
            }
        except (Mistake, OSError, ValueError) as error:
            row = failure(data, name, error)
        rows.append(row)
    return summary(plan, rows, terms, minutes, kept)


def check_metric(task, metric: str | None) -> None:
    if metric and metric not in task.metrics:
        raise unknown("metric", metric, task.metrics)


def suited_rungs(data: Dataset) -> list[str]:
    """Those that learn from the data alone."""
    able = rungs_for(data.task.name, kind_of(data.train.inputs, data.task.texts))
    return [rung.name for rung in able if not rung.framed]


def check(plan: Plan, names: list[str], missing: list[str]) -> None:
    """Before any is trained: the device is there, some rung knows each option, and no run stands in the way of those that are
    missing."""
    device_named(plan.device)
    known = {option for name in names for option in plan.known_options(name)}
    for option in plan.options if names else ():
        if option not in known:
            raise unknown("option", option, known)
    for name in missing:
        check_place(plan.run_of(name), plan.data.about(), replace=plan.replace)


def compile_kernels(plan: Plan, rung: str) -> None:
    """Numba compiles the loops of rungs that learn without gradients on first use; that is not training, and not counted into
    what a rung's took. The rows are of no meaning: the compiled loops are the same for every kind of input."""
    inputs, targets = plan.data.task.profile.few_rows
    known, once = plan.known_options(rung), {"solver": "gradient", "epochs": 1}
    options = {name: value for name, value in once.items() if name in known} | (
        {"minutes": 1.0} if "epochs" in known else {}
    )
    estimator = plan.estimator(rung, validation=0.0, **options)
    for _ in estimator.training(inputs, targets):
        pass
    estimator.predict(inputs)


# One rung.


def one_rung(plan: Plan, name: str, minutes: float):
    """Trained for every seed and with less data, measured, and kept as a run. Returns its row of the report, and what every row
    of the valid and of the test part adds to its scores, seed by seed."""
    data, began = plan.data, time.perf_counter()
    first, terms, options = yield from every_seed(plan, name, minutes)
    seconds = time.perf_counter() - began
    sizes = yield from with_less_data(plan, name, first, options, began + minutes * 60 * SIZED)
    yield name, Message("measuring"), None
    row, test = measured(plan, first, name)
    terms["test"].insert(0, test)
    row["groups"] = group_scores(terms["test"], data.test.groups, plan.metric)
    score = plan.quick_score(first) if data.task.profile.quick else score_of(test, plan.metric)
    sizes.append({"fraction": 1.0, "rows": len(data.train), "score": score})
    best = max if data.task.higher_is_better else min
    valid = best((p.score for p in first.progress_ if p.score is not None), default=None)
    row["scores"]["valid"] = {data.task.profile.judged or data.task.metric: valid}
    row |= {
        "seconds": seconds,
        "updates": first.progress_[-1].step,
        "epochs": first.progress_[-1].epoch,
        "state": state_of(first, network := "steps" in plan.known_options(name)),
        "has_more": network and has_more(first),
        "learning_rate": first.plan_.get("learning_rate"),
        "rates_tried": first.rates_tried_,
        "curve": [
            {"step": p.step, "seconds": p.seconds, "train_loss": p.loss, "score": p.score}
            for p in first.progress_
        ],
        "sizes": sizes,
        "options": first.options,
        "notes": first.notes_ + row.get("notes", []),
    }
    if name in plan.starts:
        row |= {
            "pretrained": {
                "run": plan.starts[name].start.run,
                "seconds": plan.starts[name].seconds,
            },
            "notes": [plan.starts[name].note(name), *row["notes"]],
        }
    folder, first.columns_ = plan.run_of(name), data.columns
    first.save(folder, plan.replace, **data.about(), scores=row["scores"], seconds=seconds)
    return row | {"run": str(folder), "bytes": folder_bytes(folder)}, terms


def every_seed(plan: Plan, name: str, minutes: float):
    """Returns the estimator of the first seed, what rows add to the scores of all (the first is measured later on test), and the
    options to go on with: the first seed searches for a learning rate, which the others take over."""
    data, known = plan.data, plan.known_options(name)
    few = (
        {"evaluations": 10, "patience": 4} if "evaluations" in known else {}
    )  # scoring is paid from the same budget
    options = (
        {"seed": plan.seed, "device": plan.device}
        | few
        | {k: v for k, v in plan.options.items() if k in known}
    )
    first, terms, left_out = None, {"valid": [], "test": []}, []
    for number in range(plan.seeds):
        more = {"minutes": minutes * MAIN / plan.seeds, "seed": plan.seed + number} | (
            {} if number else {"search": True}
        )
        while True:
            estimator = plan.estimator(name, **(options | more))
            try:
                for progress in plan.training(name, estimator, data.train):
                    yield name, progress.note or Message("training"), progress
                break
            except NoEffect as idle:  # which other rungs have a use for
                del options[idle.message.values["option"]]
                left_out.append(Message("{rung}: {note}", rung=name, note=idle.message))
        if number == 0 and estimator.rates_tried_:
            better = max if data.task.higher_is_better else min
            options["learning_rate"] = better(estimator.rates_tried_, key=lambda t: t["score"])[
                "learning_rate"
            ]
        first = first or estimator
        first.notes_ += [note for note in left_out if note not in first.notes_]
        terms["valid"].append(plan.terms(estimator, data.valid))
        if number:
            terms["test"].append(plan.terms(estimator, data.test))
    return first, terms, options


def with_less_data(plan: Plan, name: str, first: Estimator, options: dict, end: float):
    """Returns the scores of shorter trainings on shares of the rows, with what all rows settled; of a network, as many as end in
    time, at the speed that it had."""
    data, profile, sizes, last = plan.data, plan.data.task.profile, [], first.progress_[-1]
    for fraction, length in SIZES.items():
        some = profile.fewer(data.task, data.train, fraction, plan.seed)
        if not profile.complete(data.task, some, data.train):
            continue  # a class would be unknown
        own = options | profile.settled_options(first.task_)
        if "steps" in plan.known_options(
            name
        ):  # a network; a linear rung, which is quick, has as many epochs as on all rows
            steps = max(20, int(last.steps * length))
            if time.perf_counter() + steps * last.seconds / last.step > end:
                continue
            own |= {"steps": steps, "evaluations": 4} | {
                key: first.plan_[key] for key in ("learning_rate", "threads")
            }
        estimator = plan.estimator(name, **own)
        reads = first.inputs_ if profile.keeps_tokens else None
        for progress in plan.training(name, estimator, some, known=reads):
            yield name, Message("{share:.0%} of the rows", share=fraction), progress
        sizes.append(
            {"fraction": fraction, "rows": len(some), "score": plan.quick_score(estimator)}
        )
    return sizes


def measured(plan: Plan, estimator: Estimator, name: str) -> tuple[dict, np.ndarray]:
    """Everything that a trained estimator shows on the test part: quality, mistakes, speed, size; and what every row adds to its
    score."""
    about = RUNGS[estimator.rung]
    shown, terms = estimator.task_.profile.measure(estimator, plan.data, plan.metric)
    row = {
        "rung": name,
        "ladder": estimator.rung,
        "task": estimator.task_name,
        "failed": None,
        **shown,
        "groups": group_scores([terms], plan.data.test.groups, plan.metric),
        "parameters": estimator.model_.parameters_count(),
        "about": about.about,
        "about_zh": about.about_zh,
        "options": estimator.options,
    }
    return row, terms


def score_of(terms: np.ndarray, metric: str) -> float:
    how = metric_named(metric)
    return float(how.shown(how.formula(terms.sum(0))))


def failure(data: Dataset, name: str, error: Exception) -> dict:
    reason = error.message if isinstance(error, Mistake) else f"{type(error).__name__}: {error}"
    about = RUNGS.get(name)
    return {
        "rung": name,
        "task": data.task.name,
        "failed": reason,
        "scores": {"test": {}},
        "about": about.about if about else "",
        "about_zh": about.about_zh if about else "",
    }


def folder_bytes(folder: Path) -> int:
    """What is needed to answer: weights, tokenizer, options."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.name != "progress.jsonl")


# The summary.


def summary(
    plan: Plan, rows: list[dict], terms: dict[str, dict], minutes: float, kept: Unfinished | None
) -> dict:
    data, task, profile = plan.data, plan.data.task, plan.data.task.profile
    metric, common = profile.common_metric(plan.metric, rows, terms)
    how, notes = metric_named(metric), data.notes + common
    valid, test = (
        with_luck({name: drawn(own[part], how) for name, own in terms.items()})
        for part in ("valid", "test")
    )
    for row in rows:
        if not row["failed"]:
            row |= scored(row, valid[row["rung"]], test[row["rung"]], metric)
    baseline = without_model(plan, rows, metric)
    weigh(rows, baseline, metric, how.sign)
    rows.sort(
        key=lambda row: (
            bool(row["failed"]),
            is_short(row),
            -how.sign * row["scores"]["test"].get(metric, 0.0),
        )
    )
    for row in rows:
        notes += [note for note in row.pop("notes", []) if note not in notes]
    judged = [row for row in rows if not is_short(row) and not row.get("doubtful")]
    judged = judged if any(not row["failed"] for row in judged) else rows
    advice = recommend(
        judged, valid, metric, len(next(iter(terms.values()))["valid"][0]) if terms else 0
    )
    remarks_on_best = [*remarks(data, metric, rows[0], baseline)] if baseline else []
    for sentence in (*remarks_on_best, *undecided(rows, minutes, kept)) if advice else ():
        advice |= {
            "reason": f"{advice['reason']} {sentence.english}",
            "reason_zh": advice["reason_zh"] + sentence.chinese,
        }
    if advice:
        advice["next"] = next_command(
            data, next(row["run"] for row in rows if row["rung"] == advice["rung"])
        )
    classes = next((row["confusion"]["classes"] for row in rows if row.get("confusion")), None)
    return {
        "wenmai": wenmai.__version__,
        "data": data.name,
        "task": task.name,
        "metric": metric,
        "higher_is_better": how.higher,
        "minutes": minutes,
        "seed": plan.seed,
        "seeds": plan.seeds,
        "device": plan.device,
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "created": datetime.now().isoformat(timespec="seconds"),
        "rows": {"train": len(data.train), "valid": len(data.valid), "test": len(data.test)},
        "classes": classes,
        "judged": profile.judged or metric,
        **profile.details(task),
        "notes": notes,
        "notes_zh": [told_in(note, "zh") for note in notes],
        "rungs": rows,
        "baseline": baseline,
        "recommendation": advice,
    }


def without_model(plan: Plan, rows: list[dict], metric: str) -> dict | None:
    """The row of what can be had without a model; where that asks for a tokenizer, that of the first run which can be read."""
    how = metric_named(metric)
    for row in (row for row in rows if not row["failed"]):
        with suppress(Mistake, OSError):
            baseline = plan.data.task.profile.baseline(plan.data, metric, partial(load, row["run"]))
            valid, test = (drawn([baseline.terms[part]], how) for part in ("valid", "test"))
            row = {
                "rung": baseline.name,
                "name": baseline.words.english,
                "name_zh": baseline.words.chinese,
                "failed": None,
                "about": baseline.about.english,
                "about_zh": baseline.about.chinese,
                "groups": group_scores([baseline.terms["test"]], plan.data.test.groups, metric),
                "scores": {"test": baseline.scores},
            }
            return row | scored(row, valid, test, metric)
    return None


def remarks(data: Dataset, metric: str, best: dict, baseline: dict) -> Iterator[Message]:
    """What is worth saying of the baseline beside the advice."""
    top, without = (row["scores"]["test"][metric] for row in (best, baseline))
    if remark := data.task.profile.remark(data, metric, top, without):
        yield remark
    elif metric_named(metric).sign * (top - without) <= 0:
        yield Message(
            "No rung does better than the baseline, {name} ({actual:.3f}).",
            name=phrase("baseline", baseline["name"]),
            actual=without,
        )


def next_command(data: Dataset, run: str) -> str:
    """What the recommended run is used with, to be copied: with the first test text, where there is a short one."""
    first = data.test.inputs[0] if isinstance(data.test.inputs, list) else None
    example = (
        shlex.quote(first)
        if isinstance(first, str) and "\n" not in first and len(first) < 80
        else "…"
    )
    return "wenmai " + data.task.profile.next_command.format(run=shlex.quote(run)).replace(
        "…", example
    )


def scored(row: dict, valid: Drawn, test: Drawn, metric: str) -> dict:
    """What a row says of the metric: with several seeds their mean, an interval that holds their luck too, and each of them."""
    how = metric_named(metric)
    scores = {
        part: row["scores"].get(part, {}) | {metric: float(how.shown(one.score))}
        for part, one in (("valid", valid), ("test", test))
    }
    each = [float(how.shown(score)) for score in test.each]
    return {
        "scores": row["scores"] | scores,
        "interval": test.interval(how),
        "seed_scores": each,
        "spread": float(np.std(each, ddof=1)) if len(each) > 1 else None,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
