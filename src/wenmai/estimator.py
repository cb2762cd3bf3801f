"""Estimators: tokenizer, task and rung joined; what users hold. fit, predict, evaluate, score, save, load.

They follow scikit-learn's rules (`__init__` stores, `fit` creates, get_params and set_params know every option), so that
Pipeline, cross_val_score and GridSearchCV take them, and never import scikit-learn themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from wenmai.catalog import TASKS, rung_named
from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences, joined, runs
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.splits import split, split_by_position
from wenmai.data.text import tokenizers
from wenmai.data.values import as_frames, check_lengths, listed, pick
from wenmai.errors import Mistake
from wenmai.options import Count, NonNegative, Share, accepted, sort_out
from wenmai.training import distributed, loop, memory, run_folder
from wenmai.training.options import TrainingOptions, training_defaults
from wenmai.training.progress import Diverged, Progress, Snapshot


def fitting(
    *, seed: Count = 0, device: str = "auto", minutes: NonNegative | None = None, validation: Share = 0.1, search: bool = False,
    deterministic: bool = False,
) -> dict:  # fmt: skip
    """The options of `fit` itself. `minutes` is the budget, where it is not counted in epochs; `validation` the share of
    the rows held out where no valid part is given; `search` tries a third of the learning rate, the rate and its triple
    on short runs, and trains with the best; `deterministic` makes a GPU give the same weights for the same seed, as a CPU
    does anyway."""
    return {"seed": seed, "device": device, "minutes": minutes, "validation": validation, "search": search,
            "deterministic": deterministic}  # fmt: skip


SEARCH_SHARE = 0.15  # of the training budget
LAST = 3  # the stage after the three of the search: training itself
TABLE = 1 << 25  # bytes of outputs that are held at once
WATCHED = 20_000  # held-out rows, at the most, that training is judged by: more would take longer than training itself


class Estimator:
    task_name: str
    reads = staticmethod(kinds_of_input.learn)  # whose options say how inputs are read

    def __init__(self, rung: str, **options):
        self.rung, self.options = rung, options

    # What scikit-learn asks for.

    def get_params(self, deep: bool = True) -> dict:
        try:
            known = {name: option.default for owner in self._owners().values() for name, option in accepted(owner).items()}
        except Mistake:  # an unknown rung is refused by fit, not here
            known = {}
        return {"rung": self.rung, **known, **self.options}

    def set_params(self, **changes) -> Estimator:
        if changes.get("rung", self.rung) != self.rung:  # what stood at the old rung's defaults stays behind with it
            usual = type(self)(self.rung).get_params()
            self.options = {name: value for name, value in self.options.items() if name not in usual or usual[name] != value}
        self.rung = changes.pop("rung", self.rung)
        sort_out(changes, self._owners())
        self.options = {**self.options, **changes}
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = {"classify": "classifier", "regress": "regressor"}.get(self.task_name)
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True),
                    classifier_tags=ClassifierTags() if kind == "classifier" else None,
                    regressor_tags=RegressorTags() if kind == "regressor" else None,
                    input_tags=InputTags(string=True, two_d_array=True, three_d_array=True))  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.rung!r}{given})"

    def _owners(self) -> dict[str, Callable]:
        """Who takes which options: each name stands in one of these signatures only."""
        rung = rung_named(self.rung, self.task_name)
        return {"fitting": fitting, "inputs": self.reads, "tokens": tokenizers.learn,
                "task": TASKS[self.task_name], "rung": rung.builder(self.task_name), "training": rung.train}  # fmt: skip

    # Learning.

    def fit(self, inputs, targets, valid: tuple | None = None) -> Estimator:
        for _ in self.training(inputs, targets, valid):
            pass
        return self

    def training(self, inputs, targets, valid: tuple | None = None, where=lambda row: f"row {row + 1}",
                 resume: Snapshot | None = None, known=None) -> Iterator[Progress]:  # fmt: skip
        """Everything that `fit` does, yielding progress. `valid` is (inputs, targets); without it a share is held out. `where`
        names the place of a row in messages. `resume` is what `snapshot()` of a Progress gave: with the same data and options,
        training ends as it would have. `known` is how inputs are read, where that was learned before, from more of them."""
        given = sort_out(self.options, self._owners())
        budget = fitting(**given["fitting"])
        self.task_ = TASKS[self.task_name](**given["task"])
        inputs, targets, valid, kept, held = self._parts(inputs, targets, valid, budget)
        inputs, targets = self.task_.arranged(inputs, targets)
        self.notes_ = self.task_.learn(targets, lambda row: where(kept[row]))
        team = distributed.team()

        def learned():
            return self._read(inputs, targets, given["inputs"] | given["tokens"])

        if resume and resume.inputs:
            self.inputs_ = kinds_of_input.learned_before(resume.inputs) or learned()
        elif known is not None:
            self.inputs_ = known
        elif team.rank == 0:
            self.inputs_ = learned()
        if team.size > 1:  # all of them read with the tokenizer of the first
            known = team.broadcast(self.inputs_.to_json() if team.rank == 0 else None)
            self.inputs_ = kinds_of_input.learned_before(known) or learned()
        self.notes_ += self.inputs_.notes(inputs)
        train = self._learned_from(inputs, targets, given)
        judge = self._judge(valid, held, budget["seed"]) if valid is not None and len(valid[0]) else None
        self.device_ = device_named(budget["device"])

        def place(row: int) -> str:
            """Of a row of `train`, which may be a window of one, or of a running text."""
            if kept is None:
                return f"the window from token {row + 1:,} on"
            whole = train.example_of(row)
            return where(kept[whole]) if whole < len(kept) else f"row {whole + 1}"

        facts = resume.facts if resume else {}
        self.progress_ = [Progress(**kept) for kept in facts.get("progress", [])]
        self.rates_tried_ = list(facts.get("rates", []))
        training, seed, minutes = given["training"], budget["seed"], budget["minutes"]

        def stage(number: int, options: dict, whole: int | None = None) -> Iterator[Progress]:
            """One schedule from the first weights to its end, or from where it was stopped."""
            self._build(given["rung"], seed, *self._optimizer(training))
            stopped = resume if facts.get("stage") == number else None
            plan = dict(stopped.facts["plan"]) if stopped else {}
            left = None if stopped else minutes
            for progress in self._steps(train, judge, budget, left, stopped, place, options | plan):
                plan |= progress.plan
                self.notes_ += [progress.warning] if progress.warning else []
                yield replace(progress, snapshot=self._kept(progress, {"stage": number, "plan": plan, "whole": whole}))

        if budget["search"] and judge and "learning_rate" in accepted(self._owners()["training"]):
            whole = facts.get("whole") or self._planned(train, judge, given["rung"], training, budget, place)
            training = yield from self._search(stage, training, whole, facts, given["rung"], seed)
        else:
            whole = None
        for progress in stage(LAST, training, whole):
            if progress.step and not progress.passing:
                self.progress_.append(replace(progress, snapshot=None, plan={}))
            yield progress

    def _kept(self, progress: Progress, facts: dict) -> Callable[[], Snapshot] | None:
        """What the estimator knows, beside what its training knows."""

        def snapshot() -> Snapshot:
            inner = progress.snapshot()
            more = {"score": progress.score, "rates": self.rates_tried_, "progress": [kept.to_json() for kept in self.progress_]}
            return Snapshot(inner.arrays, inner.facts | facts | more)

        return snapshot if progress.snapshot else None

    def _parts(self, inputs, targets, valid: tuple | None, budget: dict) -> tuple:
        """(inputs and targets to learn from, those to judge by, and the numbers of both as messages count the rows)"""
        inputs, targets = listed(inputs), listed(targets)
        check_lengths(inputs, targets)
        if valid is not None or not budget["validation"] or len(inputs) < 20:
            return inputs, targets, valid, np.arange(len(inputs)), np.arange(len(valid[0]) if valid else 0)
        kept, held = self._held_out(inputs, targets, budget["validation"], budget["seed"])
        valid = pick(inputs, held), pick(targets, held)
        return pick(inputs, kept), pick(targets, kept), valid, kept, held

    def _read(self, inputs, targets, options: dict):
        """What is learned of the inputs: their kind, their tokens."""
        return self.reads(inputs, self.task_.texts, **options)

    def _learned_from(self, inputs, targets, given: dict) -> Examples:
        examples = Examples(self.inputs_.encode(inputs), self.task_.encode(targets), longest=self.inputs_.longest)
        return examples.windows(examples.longest) if isinstance(examples.targets, Sequences) else examples

    def _judge(self, valid: tuple, held: np.ndarray, seed: int) -> Callable[[], float]:
        named, _ = self._watched(held, held, seed)
        examples = self._examples(*self._watched(*valid, seed), lambda row: f"row {named[row] + 1}")
        return self.judge_of(examples)

    def _held_out(self, inputs, targets, share: float, seed: int) -> list[np.ndarray]:
        """Numbers of the rows to learn from and to judge by: of a series its end, at least twice as long as what is forecast;
        of rows a share in which no input of the rest stands."""
        if self.task_.history:
            share = max(share, min(0.5, 2 * self.task_.horizon / len(inputs)))
            return split_by_position(len(inputs), [share], self.task_.history)
        keys, kinds = self.task_.apart(inputs, targets)
        return split(keys, [share], seed, kinds)

    def _watched(self, inputs, targets, seed: int) -> tuple:
        if len(inputs) <= WATCHED or self.task_.history:
            return inputs, targets
        rows = np.sort(np.random.default_rng(seed).permutation(len(inputs))[:WATCHED])
        return pick(listed(inputs), rows), pick(listed(targets), rows)

    def _build(self, options: dict, seed: int, optimizer: str | None = None, parts: int = 1) -> None:
        """The rung with its first weights; to be trained with `optimizer`, only if they will fit."""
        rung = rung_named(self.rung, self.task_name)
        if optimizer:
            with torch.device("meta"):  # counted without being made
                model = rung.builder(self.task_name)(self.inputs_, self.task_.head(), **options)
            memory.check_weights(model.parameters_count(), optimizer, self.device_, parts)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model_ = rung.builder(self.task_name)(self.inputs_, self.task_.head(), **options)

    def _steps(self, train: Examples, judge, budget: dict, minutes: float | None, resume, place, training: dict):
        if hasattr(self.model_, "learn"):
            if distributed.team().size > 1:
                raise Mistake(f"{self.rung} learns in one process; start it without torchrun.")
            return self.model_.learn(train, judge, budget["seed"], minutes, resume, place, **training)
        return loop.train(self.model_, train, judge, self.task_.higher_is_better, self.device_, budget["seed"], minutes, resume,
                          budget["deterministic"], place, TrainingOptions(**training))  # fmt: skip

    def _optimizer(self, training: dict) -> tuple[str | None, int]:
        """What it is trained with, if by the loop, and among how many processes its weights are shared."""
        known = accepted(self._owners()["training"])
        parts = distributed.team().size if training.get("parallel") == "fsdp" else 1
        return training.get("optimizer", known["optimizer"].default) if "optimizer" in known else None, parts

    def _planned(self, train: Examples, judge, rung: dict, training: dict, budget: dict, place) -> int | None:
        """How many steps the whole takes, search included; a rung without the loop counts in epochs, which it plans itself."""
        self._build(rung, budget["seed"], *self._optimizer(training))
        if hasattr(self.model_, "learn"):
            return None
        return next(self._steps(train, judge, budget, budget["minutes"], None, place, training)).steps

    def _search(self, stage: Callable, training: dict, whole: int | None, facts: dict, rung: dict, seed: int):
        """Three short runs, each a whole schedule of its own; returns the training options of the long one. `facts` are those
        of a training that was stopped."""
        usual = training.get("learning_rate") or accepted(self._owners()["training"])["learning_rate"].default
        if usual is None:  # the loop's, which the network knows
            self._build(rung, seed)
            usual = training_defaults(self.model_, training.get("optimizer", ""))["learning_rate"]
        if whole is None:
            short = training | {"epochs": max(1, (training.get("epochs") or 10) // 5)}
        else:  # all four runs are counted in the steps of the whole
            short = training | {"steps": max(1, int(whole * SEARCH_SHARE / 3)), "evaluations": 1}
            training = training | {"steps": max(1, int(whole * (1 - SEARCH_SHARE)))}
        for number, rate in enumerate((usual / 3, usual, usual * 3)):
            if number < facts.get("stage", 0):
                continue  # it was tried before
            score = facts.get("score")
            try:
                for progress in stage(number, short | {"learning_rate": rate}, whole):
                    score = progress.score
                    yield replace(progress, note=f"trying a learning rate of {rate:.2g}")
            except Diverged:  # a rate that is too high has been tried too
                continue
            self.rates_tried_.append({"learning_rate": rate, "score": score})
        if not self.rates_tried_:
            return training | {"learning_rate": usual / 9}
        better = max if self.task_.higher_is_better else min
        return training | {"learning_rate": better(self.rates_tried_, key=lambda tried: tried["score"])["learning_rate"]}

    def judge_of(self, examples: Examples) -> Callable[[], float]:
        return lambda: self.task_.scores(self.decided(examples), examples.targets)[self.task_.metric]

    # Answering.

    @property
    def classes_(self) -> np.ndarray:
        return self.task_.classes

    def outputs(self, examples: Examples) -> np.ndarray:
        """The model's outputs (N, C), row for row, in batches of like length; where there is one a step, Sequences of (T, C)."""
        if hasattr(self.model_, "learn"):
            return self.model_.outputs(examples.inputs)
        per_step = self.model_.per_step
        tokens = 4096 if self.device_ == "cpu" else 16_384  # on a CPU, what stays in its cache
        read = Examples(examples.inputs, longest=self.inputs_.longest)
        read = read.windows(read.longest) if per_step else read
        count = len(read.inputs.flat) if per_step else len(read)
        found = np.empty((count, self.model_.head.width), np.float64 if self.task_name == "regress" else np.float32)
        with torch.inference_mode():
            batches = by_length(read.lengths, tokens)
            for rows, outputs in memory.in_pieces(batches, self._outputs_of(read), self.device_):
                found[read.inputs.places(rows) if per_step else rows] = outputs
        return Sequences(found, examples.inputs.offsets) if per_step else found

    def _outputs_of(self, read: Examples) -> Callable[[np.ndarray], np.ndarray]:
        def outputs(rows: np.ndarray) -> np.ndarray:
            batch = read.batch(rows).to(self.device_)
            outputs, mask = self.model_.masked(batch)
            return (outputs[mask] if self.model_.per_step else outputs).cpu().numpy()

        return outputs

    def streamed(self, examples: Examples) -> Iterator[tuple]:
        """(rows, their outputs, what the task makes of them): some megabytes of outputs at a time, however many rows."""
        size, asked = len(examples), self.task_.head()
        steps = int(examples.inputs.offsets[-1]) if asked.per_step else size
        if 4 * asked.columns * steps <= TABLE:
            outputs = self.outputs(examples)
            yield np.arange(size), outputs, self.task_.decide(outputs, self.model_)
            return
        lengths = examples.inputs.lengths if asked.per_step else np.ones(size, np.int64)
        for start, stop in runs(4 * asked.columns * lengths, TABLE):
            rows = np.arange(start, stop)
            outputs = self.outputs(examples.take(rows))
            yield rows, outputs, self.task_.decide(outputs, self.model_)

    def decided(self, examples: Examples):
        """What the task makes of the outputs, row for row."""
        return joined([decided for *_, decided in self.streamed(examples)])

    def predict(self, inputs):
        """Labels (N,), rows of tags, or numbers."""
        self._fitted()
        return self.task_.predictions(self.decided(self._examples(inputs)))

    def predict_proba(self, inputs):
        """(N, C), columns in the order of `classes_`; of tags, (T, C) for every row."""
        self._fitted()
        if not self.model_.has_probabilities:
            raise Mistake(f"the {self.rung} answers without probabilities here; to classify or tag, softmax has them.")
        return self.task_.probabilities(self.outputs(self._examples(inputs)), self.model_)

    def answers(self, inputs) -> list[dict]:
        """One dict an input, as `wenmai predict --json` prints it."""
        self._fitted()
        inputs = listed(inputs)
        examples, read = self._examples(inputs), []
        inputs = self.task_.arranged(inputs)[0]
        for rows, outputs, decided in self.streamed(examples):
            read += self.task_.answers(pick(inputs, rows), self.inputs_, outputs, decided, self.model_)
        return read

    def evaluate(self, inputs, targets, where=lambda row: f"row {row + 1}") -> dict[str, float]:
        """Every metric of the task."""
        self._fitted()
        inputs, targets = listed(inputs), listed(targets)
        check_lengths(inputs, targets)
        examples = self._examples(inputs, targets, where)
        return self.task_.scores(self.decided(examples), examples.targets)

    def score(self, inputs, targets) -> float:
        """The task's one number, as scikit-learn wants it."""
        return self.evaluate(inputs, targets)[self.task_.metric]

    def _examples(self, inputs, targets=None, where=lambda row: f"row {row + 1}") -> Examples:
        inputs, targets = self.task_.arranged(listed(inputs), None if targets is None else listed(targets))
        inputs = as_frames(inputs, self.inputs_.width) if self.inputs_.kind == "frames" else inputs
        encoded = None if targets is None else self.task_.encode(targets, where)
        examples = Examples(self.inputs_.encode(inputs), encoded, longest=self.inputs_.longest)
        if isinstance(examples.targets, Sequences):
            for row in np.flatnonzero(examples.inputs.lengths != examples.targets.lengths)[:1]:
                found, expected = examples.targets.lengths[row], examples.inputs.lengths[row]
                raise Mistake(f"{where(row)}: found {found} {self.task_.target} for a text that is cut into {expected} tokens, "
                              "expected one for each; give the tokens instead of the text.")  # fmt: skip
        return examples

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise Mistake(f"this {type(self).__name__} has not been trained; call fit first, or wenmai.load a run.")

    # Keeping.

    def save(self, folder: str | Path, **more) -> Path:
        """A run folder with all there is to know; `more` (scores, data, seconds …) goes into its run.json."""
        self._fitted()
        return run_folder.save(self, Path(folder), more)


def device_named(name: str) -> str:
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return distributed.own_device() if distributed.team().size > 1 else "cuda"
    if name == "auto":
        return "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise Mistake(f"device={name}: torch finds no GPU here; use --device cpu, or leave it out.")
    try:
        return str(torch.device(name))
    except RuntimeError:
        raise Mistake(f"device={name!r} is not a device; expected auto, cpu, cuda or cuda:N.") from None
