"""compare: every rung on the same rows under the same budget, and one recommendation.

The minutes are shared equally; what a rung leaves of its share goes to those after it. A share is spent on a search of
the learning rate, the training itself (once for every seed), and two shorter trainings on 10% and 30% of the rows.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from math import exp, inf, log, log2
from pathlib import Path

import numpy as np

import wenmai
from wenmai.catalog import RUNGS, rungs_for
from wenmai.data.dataset import Dataset, Part
from wenmai.data.examples.rows import Examples, taken
from wenmai.data.examples.sequences import joined
from wenmai.data.inputs.kinds import kind_of
from wenmai.errors import Mistake, unknown
from wenmai.estimator import Estimator, accepted, device_named
from wenmai.estimators import ESTIMATORS, load
from wenmai.evaluation.measures import drawn, edges, latency
from wenmai.evaluation.translating import lead, measured_translation
from wenmai.evaluation.writing import measured_writing
from wenmai.language_model import LanguageModel
from wenmai.locale import Listed, Message, plural, told_in
from wenmai.page.leaderboard import size as size_of
from wenmai.page.pictures import metric_words
from wenmai.tasks.columns import shown
from wenmai.training.progress import Progress
from wenmai.training.run_folder import check_place

SIZES = {0.1: 0.15, 0.3: 0.3}  # share of the rows → length of the training on them, compared with all rows
MAIN = 0.95 / (1 + sum(SIZES.values()))  # share of the budget; the rest is for measuring


def compare(
    data: Dataset, minutes: float, rungs: list[str] | None = None, seed: int = 0, seeds: int = 1, device: str = "auto",
    with_runs: tuple[str, ...] = (), options: dict | None = None, out: Path | None = None,
) -> Iterator[tuple[str, str, Progress | None]]:  # fmt: skip
    """Yields (rung, stage, progress) as it goes and returns the report, a plain dict (`report.write` says its keys)."""
    if data.test is None or data.valid is None:
        raise Mistake("compare needs a valid and a test part: give files or shares for both.")
    names = rungs or [rung.name for rung in rungs_for(data.task.name, kind_of(data.train.inputs, data.task.texts))]
    device_named(device)
    known = {option for name in names for option in ESTIMATORS[data.task.name](name).get_params()}
    for option in options or {}:  # a rung that lacks it goes without
        if option not in known:
            raise unknown("option", option, known)
    for name in names:  # before any is trained: what was trained and not finished is not replaced
        check_place(run_of(data, name, out))
    rows, outputs, end = [], {}, time.perf_counter() + minutes * 60
    for number, name in enumerate(names):
        try:
            if name in COMPILED:
                yield name, Message("compiling"), None
                end += compile_kernels(data.task.name, name)
            share = max(0.01, (end - time.perf_counter()) / 60 / (len(names) - number))
            row, outputs[name] = yield from one_rung(data, name, share, seed, seeds, device, options or {}, out)
        except Exception as error:  # a rung that fails is shown with its reason, and the others go on
            row = failure(name, data, error)
            yield name, Message("failed"), None
        rows.append(row)
    for run in with_runs:
        name = Path(run).name
        name = str(run) if name in outputs else name  # two runs of one name are told apart by their folders
        yield name, Message("measuring"), None
        try:
            row, outputs[name] = one_run(data, run, name)
        except (Mistake, OSError, ValueError) as error:
            row = failure(name, data, error)
        rows.append(row)
    return summary(data, rows, outputs, minutes, seed, seeds, device)


def run_of(data: Dataset, rung: str, out: Path | None) -> Path:
    return (out or Path("runs")) / f"{data.name.replace(':', '-')}-{rung}"


def one_rung(data: Dataset, name: str, share: float, seed: int, seeds: int, device: str, given: dict, out: Path | None):
    began, kind = time.perf_counter(), ESTIMATORS[data.task.name]
    known = {option for owner in kind(name)._owners().values() for option in accepted(owner)}
    few = {"evaluations": 10, "patience": 4} if "evaluations" in known else {}  # scoring is paid from the same budget
    options = {"seed": seed, "device": device} | few | {k: v for k, v in given.items() if k in known}
    quickly = {"beam": 1} if data.task.name == "translate" else {}  # a search would take more than the training on a few rows
    runs, scores = [], []
    for number in range(seeds):
        more = {"minutes": share * MAIN / seeds, "seed": seed + number} | ({"search": True} if number == 0 else {})
        estimator = kind(name, **(options | more))
        for progress in estimator.training(*data.train.pair, data.valid.pair, data.train.where):
            yield name, progress.note or Message("training"), progress
        if number == 0 and estimator.rates_tried_:
            better = max if data.task.higher_is_better else min
            options["learning_rate"] = better(estimator.rates_tried_, key=lambda t: t["score"])["learning_rate"]
        runs.append(estimator)
        scores.append(estimator.evaluate(*data.test.pair, data.test.where, **quickly)[data.task.metric])
    first, seconds = runs[0], time.perf_counter() - began
    sizes = []
    for fraction, part in SIZES.items():
        size = max(2, int(fraction * len(data.train)))
        drawn = np.sort(np.random.default_rng(seed).permutation(len(data.train))[:size])
        if data.task.name == "generate":
            some = replace(data.train, inputs=data.train.inputs.parts([1 - fraction])[0])
        else:
            some = data.train.take(np.arange(len(data.train) - size, len(data.train)) if data.task.history else drawn)
        if not complete(some, data):
            continue  # a class would be unknown
        estimator = kind(name, **(options | shortened(first, known, part) | as_seen(first.task_)))
        reads = first.inputs_ if data.task.name == "generate" else None  # fewer words known would be fewer to be wrong about
        for progress in estimator.training(*some.pair, data.valid.pair, some.where, known=reads):
            yield name, Message("{share:.0%} of the rows", share=fraction), progress
        score = estimator.evaluate(*data.test.pair, **quickly)[data.task.metric]
        sizes.append({"fraction": fraction, "rows": len(some), "score": score})
    yield name, Message("measuring"), None
    sizes.append({"fraction": 1.0, "rows": len(data.train), "score": scores[0]})
    folder = run_of(data, name, out)
    row, outputs = measured(first, data, name)
    best = max if data.task.higher_is_better else min
    valid = best((p.score for p in first.progress_ if p.score is not None), default=None)
    row["scores"]["valid"] = {judged_by(data.task): valid}
    row |= {
        "seed_scores": scores, "spread": float(np.std(scores, ddof=1)) if seeds > 1 else None, "seconds": seconds,
        "steps": first.progress_[-1].step, "learning_rate": options.get("learning_rate"), "rates_tried": first.rates_tried_,
        "curve": [{"step": p.step, "seconds": p.seconds, "train_loss": p.loss, "score": p.score} for p in first.progress_],
        "sizes": sizes, "options": first.options, "notes": first.notes_ + row.get("notes", []),
    }  # fmt: skip
    first.save(folder, data=data.name, fingerprint=data.fingerprint(), scores=row["scores"], seconds=seconds)
    row |= {"run": str(folder), "bytes": folder_bytes(folder)}
    return row, outputs


def complete(some: Part, data: Dataset) -> bool:
    """Whether a part of the rows has every class, tag and label, so that what was learned from it can be asked about all."""
    if data.task.name == "tag":
        return {tag for row in some.targets for tag in row} == {tag for row in data.train.targets for tag in row}
    if data.task.name in ("classify", "compose"):
        own, every = (data.task.apart(*part.pair)[1] for part in (some, data.train))
        return every is None or set(own) == set(every)
    return not data.task.history or len(some) > data.task.history + data.task.horizon + 20


def as_seen(task) -> dict:
    """What all rows said of the task, which a few of them might say otherwise: the scheme of tags, the windows of a series, that
    texts are summaries."""
    return {name: value for name in ("scheme", "horizon", "history", "summarise") if (value := getattr(task, name, None))}


def shortened(estimator: Estimator, known: set, part: float) -> dict:
    """A network trains for a part of the steps; a linear rung, which is quick, for as many epochs as on all rows."""
    if "steps" not in known:
        return {}
    return {"steps": max(20, int(estimator.progress_[-1].steps * part)), "evaluations": 4}


# rows of no meaning: the compiled loops are the same for every kind of input
FEW = {"classify": (["a b", "c d"] * 2, ["x", "y"] * 2), "tag": ([["a", "b"]] * 4, [["x", "y"]] * 4),
       "regress": (["a b", "c d"] * 2, [0.2, 0.8] * 2), "generate": (["a b c d e f"] * 4, None)}  # fmt: skip


COMPILED = ("ngram", "perceptron", "linear", "logistic", "softmax")


def compile_kernels(task: str, rung: str) -> float:
    """Numba compiles the loops of these rungs on first use; that is not training, so the seconds it took are given back."""
    began = time.perf_counter()
    solver = {"solver": "gradient"} if rung == "linear" else {}
    passes = {} if rung == "ngram" else {"epochs": 1, "minutes": 1.0}
    ESTIMATORS[task](rung, validation=0.0, **passes, **solver).fit(*FEW[task]).predict(FEW[task][0])
    return time.perf_counter() - began


def one_run(data: Dataset, run: str, name: str):
    estimator = load(run)
    row, outputs = measured(estimator, data, name)
    return row | {"run": run, "bytes": folder_bytes(Path(run))}, outputs


def judged_by(task) -> str:
    """The metric on the validation rows while a rung is trained."""
    return getattr(task, "judged", task.metric)


def measured(estimator: Estimator, data: Dataset, name: str) -> tuple[dict, np.ndarray | tuple]:
    """Everything that a trained estimator shows on the test part: quality, mistakes, speed, size; and its metric on test sets
    drawn again from this one. Of running text, what each line weighs: the metric is chosen when all models are there."""
    if estimator.task_name == "generate":
        return measured_text(estimator, data, name)
    if estimator.task_name == "compose":
        return measured_writing(estimator, data, name)
    if estimator.task_name == "translate":
        return measured_translation(estimator, data, name)
    task, test = estimator.task_, data.test
    start = time.perf_counter()
    examples = estimator._examples(*test.pair, test.where)
    targets, answered, missed = examples.targets, [], []
    for rows, outputs, decided in estimator.streamed(examples):
        answered.append(decided)
        missed.append(task.missed(outputs, decided, taken(targets, rows)))
    decided, missed = joined(answered), np.concatenate(missed)
    rates = [len(test) / (time.perf_counter() - start)]
    while len(rates) < 3 and sum(len(test) / rate for rate in rates) < 2:
        start = time.perf_counter()
        estimator.predict(test.inputs)
        rates.append(len(test) / (time.perf_counter() - start))
    samples = drawn(*task.weighed(decided, targets))
    about = RUNGS[estimator.rung]
    row = {
        "rung": name, "task": task.name, "failed": None, "scores": {"test": task.scores(decided, targets)},
        "interval": edges(samples), "parameters": estimator.model_.parameters_count(),
        "predictions_per_second": float(np.median(rates)), "latency_ms": latency(estimator, test),
        "confusion": task.confusion(decided, targets),
        "worst": worst(estimator, examples, missed, task.arranged(*test.pair)[0]),
        "about": about.about, "about_zh": about.about_zh, "options": estimator.options,
    }  # fmt: skip
    return row, samples


def measured_text(estimator: LanguageModel, data: Dataset, name: str) -> tuple[dict, tuple]:
    """Of running text: how likely its lines are, and the least likely of them; speed is in tokens, of a next token in time."""
    text, start = data.test.inputs, time.perf_counter()
    found = [(sums, lengths, sizes_in(block)) for block, sums, lengths, _ in estimator.scored(text)]
    sums, lengths, sizes = (np.concatenate(part) for part in zip(*found))
    seconds, lines = time.perf_counter() - start, text.texts()
    mean = -sums / lengths
    rows = np.argsort(-mean, kind="stable")[:10]
    prompts, times = [lines[row] for row in range(0, len(lines), max(1, len(lines) // 50))], []
    for prompt in prompts:
        start = time.perf_counter()
        estimator.model_.begin(estimator.inputs_.prompt(prompt))[0].cpu()
        times.append(1000 * (time.perf_counter() - start))
    about = RUNGS[estimator.rung]
    row = {
        "rung": name, "task": "generate", "failed": None, "scores": {"test": estimator.evaluate(text)},
        "interval": np.exp(edges(drawn(-sums, lengths))).tolist() if np.isfinite(sums).all() else [inf, inf],
        "parameters": estimator.model_.parameters_count(), "predictions_per_second": float(lengths.sum() / seconds),
        "latency_ms": {"p50": float(np.quantile(times, 0.5)), "p99": float(np.quantile(times, 0.99))}, "confusion": None,
        "worst": [{"input": shown(lines[row]), "perplexity": f"{np.exp(mean[row]):,.0f}"} for row in rows],
        "about": about.about, "about_zh": about.about_zh, "options": estimator.options,
        "unit": estimator.inputs_.unit, "vocabulary": len(estimator.inputs_), "notes": estimator.evaluated_,
    }  # fmt: skip
    return row, (-sums, lengths.astype(np.float64), sizes.astype(np.float64))


def sizes_in(block: bytes) -> np.ndarray:
    """Bytes of every line, with its end."""
    whole = block if block.endswith(b"\n") else block + b"\n"
    return np.diff(np.flatnonzero(np.frombuffer(whole, np.uint8) == ord("\n")), prepend=-1)


def worst(estimator: Estimator, examples: Examples, missed: np.ndarray, inputs, most: int = 10) -> list[dict]:
    """The rows that were missed by most."""
    rows = np.argsort(-missed, kind="stable")[:most]
    rows = rows[missed[rows] > 0]
    few = examples.take(rows)
    outputs = estimator.outputs(few)
    decided = estimator.task_.decide(outputs, estimator.model_)
    return estimator.task_.mistakes(outputs, decided, few.targets, [inputs[row] for row in rows])


def failure(name: str, data: Dataset, error: Exception) -> dict:
    reason = error.message if isinstance(error, Mistake) else f"{type(error).__name__}: {error}"
    about = RUNGS.get(name)
    return {"rung": name, "task": data.task.name, "failed": reason, "scores": {"test": {}},
            "about": about.about if about else "", "about_zh": about.about_zh if about else ""}  # fmt: skip


def folder_bytes(folder: Path) -> int:
    """What is needed to answer: weights, tokenizer, options."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.name != "progress.jsonl")


def summary(data: Dataset, rows: list[dict], outputs: dict, minutes: float, seed: int, seeds: int, device: str) -> dict:
    metric, sign = data.task.metric, 1 if data.task.higher_is_better else -1
    notes = list(data.notes)
    if data.task.name == "generate":
        metric, outputs = comparable(rows, outputs)
        notes += [UNLIKE] if metric != data.task.metric else []
    rows.sort(key=lambda row: (bool(row["failed"]), -sign * row["scores"]["test"].get(metric, 0.0)))
    for row in rows:
        notes += [note for note in row.pop("notes", []) if note not in notes]
    rising = [row["rung"] for row in rows if still_rising(row.get("curve", []), sign)]
    if rising:
        notes.append(Message("Still improving when the budget ended, so that more --minutes would raise them: {choices}.",
                             choices=Listed(rising)))  # fmt: skip
    advice = recommend(rows, outputs, metric, sign)
    if advice and data.task.name == "translate" and data.task.summarise:
        said = lead(data, rows[0]["scores"]["test"][metric])
        advice |= {"reason": f"{advice['reason']} {said.english}", "reason_zh": advice["reason_zh"] + said.chinese}
    classes = next((row["confusion"]["classes"] for row in rows if row.get("confusion")), None)
    return {
        "wenmai": wenmai.__version__, "data": data.name, "task": data.task.name, "metric": metric,
        "higher_is_better": data.task.higher_is_better, "minutes": minutes, "seed": seed, "seeds": seeds, "device": device,
        "machine": f"{processor()}, {os.cpu_count()} cores", "created": datetime.now().isoformat(timespec="seconds"),
        "rows": {"train": len(data.train), "valid": len(data.valid), "test": len(data.test)}, "classes": classes,
        "judged": metric if data.task.name == "generate" else judged_by(data.task),
        **({"signature": data.task.signature()} if data.task.name == "translate" else {}),
        "notes": notes, "notes_zh": [told_in(note, "zh") for note in notes], "rungs": rows,
        "recommendation": advice,
    }  # fmt: skip


UNLIKE = Message("the models cut the text differently, so that perplexities, each of its own unit, cannot be compared: they are "
                 "ranked by bits per byte, which can")  # fmt: skip


def comparable(rows: list[dict], outputs: dict[str, tuple]) -> tuple[str, dict[str, np.ndarray]]:
    """(the metric, what it is on texts drawn again): the logarithm of the perplexity, from −log p and tokens of every line; or
    bits per byte, where not all models know the same tokens. Then what is told of training is told in bits per byte too."""
    able = [row for row in rows if not row["failed"]]
    if len({(row["unit"], row["vocabulary"]) for row in able}) < 2:
        return "perplexity", {name: drawn(lost, tokens) for name, (lost, tokens, _) in outputs.items()}
    samples = {name: drawn(lost / log(2), sizes) for name, (lost, _, sizes) in outputs.items()}
    for row in able:
        lost, tokens, sizes = outputs[row["rung"]]
        row["interval"] = edges(samples[row["rung"]]) if np.isfinite(lost).all() else [inf, inf]
        each = float(tokens.sum() / sizes.sum())
        for told in (*row.get("curve", ()), *row.get("sizes", ())):
            told["score"] = told["score"] and log2(told["score"]) * each
        if row.get("seed_scores"):
            row["seed_scores"] = [log2(score) * each for score in row["seed_scores"]]
            row["spread"] = float(np.std(row["seed_scores"], ddof=1)) if row["spread"] is not None else None
    return "bits_per_byte", samples


def still_rising(curve: list[dict], sign: int) -> bool:
    """Whether the last quarter of training brought the validation score more than a hundredth further."""
    scores = [sign * point["score"] for point in curve if point["score"] is not None]
    quarter = -(-len(scores) // 4)
    return len(scores) > 4 and max(scores[-quarter:]) - max(scores[:-quarter]) > 0.01 * abs(max(scores))


def recommend(rows: list[dict], outputs: dict[str, np.ndarray], metric: str, sign: int) -> dict | None:
    """The smallest on disk of the rungs whose quality cannot be told from the best."""
    able = [row for row in rows if not row["failed"]]
    if not able:
        return None
    best = able[0]
    side = 0 if sign > 0 else 1  # of the interval: the smallest difference in the best one's favour
    level = [row for row in able if sign * worse_by(outputs[best["rung"]], outputs[row["rung"]])[side] <= 0]
    choice = min(level, key=lambda row: row["bytes"])
    score, top = choice["scores"]["test"][metric], best["scores"]["test"][metric]
    facts = {"rung": choice["rung"], "metric": metric_words(metric), "score": score, "size": size_of(choice["bytes"]),
             "count": len(level)}  # fmt: skip
    if choice is not best:
        low, high = (apart(edge, metric) for edge in worse_by(outputs[best["rung"]], outputs[choice["rung"]]))
        reason = Message("{rung} ({metric} {score:.3f}, {size}) is the smallest of the {count} rungs that cannot be told from "
                         "the best, {leader} ({top:.3f}): the difference lies between {low} and {high} (95%).", **facts,
                         leader=best["rung"], top=top, low=low, high=high)  # fmt: skip
        return {"rung": choice["rung"], "reason": reason.english, "reason_zh": reason.chinese}
    reason, beaten = Message("{rung} has the best {metric} ({score:.3f}, {size})", **facts), len(able) - len(level)
    if len(level) > 1:
        reason = Message("{reason} and is the smallest of the {count} rungs that cannot be told from it", reason=reason, **facts)
    if beaten:
        reason = plural("{reason}; {count} is worse beyond chance", "{reason}; {count} are worse beyond chance", count=beaten,
                        reason=reason)  # fmt: skip
    reason = Message("{reason}.", reason=reason)
    return {"rung": choice["rung"], "reason": reason.english, "reason_zh": reason.chinese}


def apart(difference: float, metric: str) -> str:
    """A difference of the metric; of perplexities, whose logarithms are weighed, in percent."""
    return f"{exp(min(difference, 700.0)) - 1:+.1%}" if metric == "perplexity" else f"{difference:+.3f}"


def worse_by(best: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """95% interval of the difference of the metrics, over the same test rows drawn again (a paired bootstrap)."""
    low, high = edges(best - other)
    return low, high


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
