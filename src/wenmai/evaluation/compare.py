"""compare: every rung on the same rows under the same budget, and one recommendation.

The minutes are shared equally; what a rung leaves of its share goes to those after it. A share is spent on a search of
the learning rate, the training itself (once for every seed), and two shorter trainings on 10% and 30% of the rows."""

import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

import wenmai
from wenmai.catalog import RUNGS, rung_named, rungs_for
from wenmai.data.dataset import Dataset
from wenmai.data.inputs.kinds import kind_of
from wenmai.errors import Mistake, unknown
from wenmai.estimator import Estimator
from wenmai.estimators import ESTIMATORS, load
from wenmai.evaluation.recommendation import recommend
from wenmai.locale import Listed, Message, told_in
from wenmai.training import loop
from wenmai.training.distributed import device_named
from wenmai.training.progress import Progress
from wenmai.training.run_folder import check_place

SIZES = {0.1: 0.15, 0.3: 0.3}  # share of the rows → length of the training on them, compared with all rows
MAIN = 0.95 / (1 + sum(SIZES.values()))  # share of the budget; the rest is for measuring
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

    def estimator(self, rung: str, **options) -> Estimator:
        return ESTIMATORS[self.data.task.name](rung, **options)

    def known_options(self, rung: str) -> set[str]:
        return set(self.estimator(rung).get_params()) - {"rung"}

    def run_of(self, rung: str) -> Path:
        return self.runs / f"{self.data.name.replace(':', '-')}-{rung}"


# The budget and the order.


def compare(data: Dataset, minutes: float, rungs: list[str] | None = None, seed: int = 0, seeds: int = 1, device: str = "auto",
            with_runs: tuple[str, ...] = (), options: dict | None = None,
            out: Path | None = None) -> Iterator[tuple[str, str, Progress | None]]:  # fmt: skip
    """Yields (rung, stage, progress) as it goes and returns the report, a plain dict (`report.write` says its keys)."""
    if data.test is None or data.valid is None:
        raise Mistake("compare needs a valid and a test part: give files or shares for both.")
    plan = Plan(data, seed, seeds, device, options or {}, out or Path("runs"))
    names = rungs or [rung.name for rung in rungs_for(data.task.name, kind_of(data.train.inputs, data.task.texts))]
    check(plan, names)
    rows, samples, end = [], {}, time.perf_counter() + minutes * 60
    for number, name in enumerate(names):
        try:
            if rung_named(name, data.task.name).train is not loop.train:
                yield name, Message("compiling"), None
                end += compile_kernels(plan, name)
            share = max(LEAST, (end - time.perf_counter()) / 60 / (len(names) - number))
            row, samples[name] = yield from one_rung(plan, name, share)
        except Exception as error:  # a rung that fails is shown with its reason, and the others go on
            row = failure(data, name, error)
            yield name, Message("failed"), None
        rows.append(row)
    for run in with_runs:
        name = Path(run).name
        name = str(run) if name in samples else name  # two runs of one name are told apart by their folders
        yield name, Message("measuring"), None
        try:
            row, samples[name] = measured(load(run), data, name)
            row |= {"run": run, "bytes": folder_bytes(Path(run))}
        except (Mistake, OSError, ValueError) as error:
            row = failure(data, name, error)
        rows.append(row)
    return summary(plan, rows, samples, minutes)


def check(plan: Plan, names: list[str]) -> None:
    """Before any is trained: the device is there, some rung knows each option, and what was trained and not finished is not
    replaced."""
    device_named(plan.device)
    known = {option for name in names for option in plan.known_options(name)}
    for option in plan.options:
        if option not in known:
            raise unknown("option", option, known)
    for name in names:
        check_place(plan.run_of(name))


def compile_kernels(plan: Plan, rung: str) -> float:
    """Numba compiles the loops of rungs that learn without gradients on first use; that is not training, so the seconds it took
    are given back. The rows are of no meaning: the compiled loops are the same for every kind of input."""
    began, (inputs, targets) = time.perf_counter(), plan.data.task.profile.few_rows
    known, once = plan.known_options(rung), {"solver": "gradient", "epochs": 1}
    options = {name: value for name, value in once.items() if name in known} | ({"minutes": 1.0} if "epochs" in known else {})
    estimator = plan.estimator(rung, validation=0.0, **options)
    for _ in estimator.training(inputs, targets):
        pass
    estimator.predict(inputs)
    return time.perf_counter() - began


# One rung.


def one_rung(plan: Plan, name: str, minutes: float):
    """Trained for every seed and with less data, measured, and kept as a run. Returns its row of the report, and its metric on
    test sets drawn again."""
    data, began = plan.data, time.perf_counter()
    first, scores, options = yield from every_seed(plan, name, minutes)
    seconds = time.perf_counter() - began
    sizes = yield from with_less_data(plan, name, first, options)
    sizes.append({"fraction": 1.0, "rows": len(data.train), "score": scores[0]})
    yield name, Message("measuring"), None
    row, samples = measured(first, data, name)
    best = max if data.task.higher_is_better else min
    valid = best((p.score for p in first.progress_ if p.score is not None), default=None)
    row["scores"]["valid"] = {data.task.profile.judged_by(data.task): valid}
    row |= {"seed_scores": scores, "spread": float(np.std(scores, ddof=1)) if plan.seeds > 1 else None, "seconds": seconds,
            "steps": first.progress_[-1].step, "learning_rate": options.get("learning_rate"), "rates_tried": first.rates_tried_,
            "curve": [{"step": p.step, "seconds": p.seconds, "train_loss": p.loss, "score": p.score} for p in first.progress_],
            "sizes": sizes, "options": first.options, "notes": first.notes_ + row.get("notes", [])}  # fmt: skip
    folder = plan.run_of(name)
    first.save(folder, data=data.name, fingerprint=data.fingerprint(), scores=row["scores"], seconds=seconds)
    return row | {"run": str(folder), "bytes": folder_bytes(folder)}, samples


def every_seed(plan: Plan, name: str, minutes: float):
    """Returns the estimator of the first seed, the test scores of all, and the options to go on with: the first seed searches for
    a learning rate, which the others take over."""
    data, known = plan.data, plan.known_options(name)
    few = {"evaluations": 10, "patience": 4} if "evaluations" in known else {}  # scoring is paid from the same budget
    options = {"seed": plan.seed, "device": plan.device} | few | {k: v for k, v in plan.options.items() if k in known}
    first, scores = None, []
    for number in range(plan.seeds):
        more = {"minutes": minutes * MAIN / plan.seeds, "seed": plan.seed + number} | ({} if number else {"search": True})
        estimator = plan.estimator(name, **(options | more))
        for progress in estimator.training(*data.train.pair, data.valid.pair, data.train.where):
            yield name, progress.note or Message("training"), progress
        if number == 0 and estimator.rates_tried_:
            better = max if data.task.higher_is_better else min
            options["learning_rate"] = better(estimator.rates_tried_, key=lambda t: t["score"])["learning_rate"]
        first = first or estimator
        evaluated = estimator.evaluate(*data.test.pair, data.test.where, **data.task.profile.quick)
        scores.append(evaluated[data.task.metric])
    return first, scores, options


def with_less_data(plan: Plan, name: str, first: Estimator, options: dict):
    """Returns the scores of shorter trainings on shares of the rows, with what all rows settled."""
    data, profile, sizes = plan.data, plan.data.task.profile, []
    for fraction, length in SIZES.items():
        some = profile.fewer(data.task, data.train, fraction, plan.seed)
        if not profile.complete(data.task, some, data.train):
            continue  # a class would be unknown
        settled = profile.settled_options(first.task_)
        estimator = plan.estimator(name, **(options | shortened(first, plan.known_options(name), length) | settled))
        reads = first.inputs_ if profile.keeps_tokens else None
        for progress in estimator.training(*some.pair, data.valid.pair, some.where, known=reads):
            yield name, Message("{share:.0%} of the rows", share=fraction), progress
        score = estimator.evaluate(*data.test.pair, **profile.quick)[data.task.metric]
        sizes.append({"fraction": fraction, "rows": len(some), "score": score})
    return sizes


def shortened(estimator: Estimator, known: set, length: float) -> dict:
    """A network trains for a part of the steps; a linear rung, which is quick, for as many epochs as on all rows."""
    if "steps" not in known:
        return {}
    return {"steps": max(20, int(estimator.progress_[-1].steps * length)), "evaluations": 4}


def measured(estimator: Estimator, data: Dataset, name: str) -> tuple[dict, np.ndarray | tuple]:
    """Everything that a trained estimator shows on the test part: quality, mistakes, speed, size; and its metric on test sets
    drawn again from this one. Of running text, what each line weighs: the metric is chosen when all models are there."""
    about = RUNGS[estimator.rung]
    shown, samples = estimator.task_.profile.measure(estimator, data)
    row = {"rung": name, "task": estimator.task_name, "failed": None, **shown, "parameters": estimator.model_.parameters_count(),
           "about": about.about, "about_zh": about.about_zh, "options": estimator.options}  # fmt: skip
    return row, samples


def failure(data: Dataset, name: str, error: Exception) -> dict:
    reason = error.message if isinstance(error, Mistake) else f"{type(error).__name__}: {error}"
    about = RUNGS.get(name)
    return {"rung": name, "task": data.task.name, "failed": reason, "scores": {"test": {}},
            "about": about.about if about else "", "about_zh": about.about_zh if about else ""}  # fmt: skip


def folder_bytes(folder: Path) -> int:
    """What is needed to answer: weights, tokenizer, options."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.name != "progress.jsonl")


# The summary.


def summary(plan: Plan, rows: list[dict], samples: dict, minutes: float) -> dict:
    data, task, profile = plan.data, plan.data.task, plan.data.task.profile
    sign = 1 if task.higher_is_better else -1
    metric, samples, common = profile.common_metric(task, rows, samples)
    notes = data.notes + common
    rows.sort(key=lambda row: (bool(row["failed"]), -sign * row["scores"]["test"].get(metric, 0.0)))
    for row in rows:
        notes += [note for note in row.pop("notes", []) if note not in notes]
    rising = [row["rung"] for row in rows if still_rising(row.get("curve", []), sign)]
    if rising:
        notes.append(Message("Still improving when the budget ended, so that more --minutes would raise them: {choices}.",
                             choices=Listed(rising)))  # fmt: skip
    advice = recommend(rows, samples, metric, sign)
    if advice and (baseline := profile.baseline(data, rows[0]["scores"]["test"][metric])):
        advice |= {"reason": f"{advice['reason']} {baseline.english}", "reason_zh": advice["reason_zh"] + baseline.chinese}
    classes = next((row["confusion"]["classes"] for row in rows if row.get("confusion")), None)
    return {"wenmai": wenmai.__version__, "data": data.name, "task": task.name, "metric": metric,
            "higher_is_better": task.higher_is_better, "minutes": minutes, "seed": plan.seed, "seeds": plan.seeds,
            "device": plan.device, "machine": f"{processor()}, {os.cpu_count()} cores",
            "created": datetime.now().isoformat(timespec="seconds"),
            "rows": {"train": len(data.train), "valid": len(data.valid), "test": len(data.test)}, "classes": classes,
            "judged": profile.judged or metric, **profile.details(task), "notes": notes,
            "notes_zh": [told_in(note, "zh") for note in notes], "rungs": rows, "recommendation": advice}  # fmt: skip


def still_rising(curve: list[dict], sign: int) -> bool:
    """Whether the last quarter of training brought the validation score more than a hundredth further."""
    scores = [sign * point["score"] for point in curve if point["score"] is not None]
    quarter = -(-len(scores) // 4)
    return len(scores) > 4 and max(scores[-quarter:]) - max(scores[:-quarter]) > 0.01 * abs(max(scores))


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
