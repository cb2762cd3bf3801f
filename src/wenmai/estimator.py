"""Estimators: tokenizer, task and rung joined; what users hold. fit, predict, evaluate, score, save, load.

What differs between tasks is the task's (tasks/contract.py): an estimator asks it, and the rung, and knows neither by name. What
it answers is returned and never kept, so that several threads may ask one that is trained.

They follow scikit-learn's rules (`__init__` stores, `fit` creates, get_params and set_params know every option), so that
Pipeline, cross_val_score and GridSearchCV take them, and never import scikit-learn themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import nn

from wenmai.catalog import TASKS, Build, rung_named
from wenmai.data.examples.rows import Examples
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.text import tokenizers
from wenmai.errors import Mistake, Notice
from wenmai.loading import load_parts
from wenmai.locale import Message
from wenmai.options import Count, NonNegative, Share, accepted, assign_options
from wenmai.starting import Start
from wenmai.tasks.contract import Answers, InputTrace, Scores, Trained, Untrained, row_name
from wenmai.training import distributed, loop, memory, run_folder
from wenmai.training.distributed import device_named
from wenmai.training.options import TrainingOptions, training_defaults
from wenmai.training.progress import Diverged, Progress, Snapshot


def fit_options(*, seed: Count = 0, device: str = "auto", minutes: NonNegative | None = None, validation: Share = 0.1,
                search: bool = False, deterministic: bool = False) -> dict:  # fmt: skip
    """The options of `fit` itself. `minutes` is the budget, where it is not counted in epochs; `validation` the share of the rows
    held out where no valid part is given; `search` tries a third of the learning rate, the rate and its triple on short runs, and
    trains with the best; `deterministic` makes a GPU give the same weights for the same seed, as a CPU does anyway."""
    return {"seed": seed, "device": device, "minutes": minutes, "validation": validation, "search": search,
            "deterministic": deterministic}  # fmt: skip


SEARCH_SHARE = 0.15  # of the training budget
LAST = 3  # the stage after the three of the search: training itself


class Estimator:
    task_name: str

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
        assign_options(changes, self._owners())
        self.options = {**self.options, **changes}
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = TASKS[self.task_name].estimator_type
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
        rung, task = rung_named(self.rung, self.task_name), TASKS[self.task_name]
        return {"fitting": fit_options, "inputs": task.reads, "tokens": tokenizers.learn,
                "task": task, "rung": rung.builder(self.task_name), "training": rung.train}  # fmt: skip

    @classmethod
    def assembled(cls, task, inputs, model, *, build: Build, options: dict, device: str = "cpu", notes: Sequence[str] = (),
                  progress: Sequence[Progress] = ()) -> Estimator:  # fmt: skip
        """One whose parts are there already: as it was loaded, or imported. `build`: how the model was made."""
        estimator = cls(build.rung, **options)
        estimator.task_, estimator.inputs_, estimator.model_, estimator.device_ = task, inputs, model, device
        estimator.build_, estimator.start_ = build, None
        estimator.notes_, estimator.progress_ = list(notes), list(progress)
        return estimator

    # Learning.

    def fit(self, inputs, targets=None, valid: tuple | None = None, start: str | Path | Estimator | None = None) -> Estimator:
        """`start`: a run, or its estimator, whose input layer and body this one begins with (starting.py)."""
        for _ in self.training(inputs, targets, valid, start=start):
            pass
        return self

    def training(self, inputs, targets=None, valid: tuple | None = None, where=row_name, resume: Snapshot | None = None,
                 known=None, start: str | Path | Estimator | None = None) -> Iterator[Progress]:  # fmt: skip
        """Everything that `fit` does, yielding progress. `valid` is (inputs, targets); without it a share is held out. `where`
        names the place of a row in messages. `resume` is what `snapshot()` of a Progress gave: with the same data and options,
        training ends as it would have. `known` is how inputs are read, where that was learned before, from more of them."""
        given = assign_options(self.options, self._owners())
        budget, rung = fit_options(**given["fitting"]), rung_named(self.rung, self.task_name)
        self.task_ = task = TASKS[self.task_name](**given["task"])
        parts = task.split(inputs, targets, valid, budget["validation"], budget["seed"], rung.tunes)
        inputs, targets = task.prepare(parts.inputs, parts.targets)
        self.notes_ = task.learn(targets, lambda row: where(parts.rows[row]))
        started, self.start_ = None if start is None else starting_from(start), None
        self.build_ = Build.of(self.rung, self.task_name, given["rung"])
        if started is not None:
            started.check(self.rung)
            known, self.build_ = started.read_as(inputs, task.texts, given), started.build_with(given["rung"])
        self.inputs_ = self._inputs_learned(
            lambda: task.learn_inputs(inputs, targets, given["inputs"] | given["tokens"]), resume, known
        )
        self.notes_ += self.inputs_.notes(inputs)
        self.device_ = device_named(budget["device"])
        untrained = Untrained(self.rung, self.inputs_, self.device_, rung.train is TrainingOptions,
                              lambda: self.build_.blank(task, self.inputs_))  # fmt: skip
        train, place, notes = task.training_examples(untrained, inputs, targets, parts.rows, where)
        self.notes_ += notes
        judged = parts.valid is not None and len(parts.valid[0])
        measure = task.judge(untrained, parts, budget["seed"]) if judged else None
        judge = (lambda: measure(self.trained())) if judged else None  # of the model as it then is
        facts = resume.facts if resume else {}
        self.progress_ = [Progress(**kept) for kept in facts.get("progress", [])]
        self.rates_tried_ = list(facts.get("rates", []))
        training, seed, minutes = given["training"], budget["seed"], budget["minutes"]
        self._check_weights(untrained, training)

        def stage(number: int, options: dict, whole: int | None = None) -> Iterator[Progress]:
            """One schedule from the first weights to its end, or from where it was stopped."""
            self.model_ = self.build_.model(task, self.inputs_, seed)
            if started is not None:
                self.start_ = started.load_into(self.model_)
                self.notes_ += [note for note in (self.start_["note"],) if note not in self.notes_]
            stopped = resume if facts.get("stage") == number else None
            plan = dict(stopped.facts["plan"]) if stopped else {}
            left = None if stopped else minutes
            for progress in self._steps(train, judge, budget, left, stopped, place, options | plan):
                plan |= progress.plan
                self.notes_ += [progress.warning] if progress.warning else []
                yield replace(progress, snapshot=self._kept(progress, {"stage": number, "plan": plan, "whole": whole}))

        if budget["search"] and judge and "learning_rate" in accepted(self._owners()["training"]):
            whole = facts.get("whole")
            if not whole and untrained.by_gradients:  # a rung without the loop counts in epochs, which it plans itself
                self.model_ = self.build_.model(task, self.inputs_, seed)
                whole = next(self._steps(train, judge, budget, minutes, None, place, training)).steps
            training = yield from self._search(stage, training, whole, facts, untrained)
        else:
            whole = None
        self.build_ = replace(self.build_, options=self.build_.options | getattr(untrained.model, "built", {}))
        for progress in stage(LAST, training, whole):
            if progress.step and not progress.passing:
                self.progress_.append(replace(progress, snapshot=None, plan={}))
            yield progress

    def _inputs_learned(self, learned: Callable, resume: Snapshot | None, known):
        """How inputs are read: as before, or as the first of all processes learns it."""
        team, inputs = distributed.team(), None
        if resume and resume.inputs:
            inputs = kinds_of_input.learned_before(resume.inputs) or learned()
        elif known is not None:
            inputs = known
        elif team.rank == 0:
            inputs = learned()
        if team.size > 1:  # all of them read with the tokenizer of the first
            known = team.broadcast(inputs.to_json() if team.rank == 0 else None)
            inputs = kinds_of_input.learned_before(known) or learned()
        return inputs

    def _kept(self, progress: Progress, facts: dict) -> Callable[[], Snapshot] | None:
        """What the estimator knows, beside what its training knows."""

        def snapshot() -> Snapshot:
            inner = progress.snapshot()
            more = {"score": progress.score, "rates": self.rates_tried_, "progress": [kept.to_json() for kept in self.progress_]}
            return Snapshot(inner.arrays, inner.facts | facts | more)

        return snapshot if progress.snapshot else None

    def _steps(self, train: Examples, judge, budget: dict, minutes: float | None, resume, place, training: dict):
        if hasattr(self.model_, "learn"):
            if distributed.team().size > 1:
                raise Mistake("{rung} learns in one process; start it without torchrun.", rung=self.rung)
            return self.model_.learn(train, judge, budget["seed"], minutes, resume, place, **training)
        return loop.train(self.model_, train, judge, self.task_.higher_is_better, self.device_, budget["seed"], minutes, resume,
                          budget["deterministic"], place, TrainingOptions(**training))  # fmt: skip

    def _check_weights(self, untrained: Untrained, training: dict) -> None:
        """Only what will fit into memory is trained by the loop: in one process, or shared among several."""
        known = accepted(self._owners()["training"])
        if "optimizer" in known:
            optimizer = training.get("optimizer", known["optimizer"].default)
            parts = distributed.team().size if training.get("parallel") == "fsdp" else 1
            memory.check_weights(untrained.model.parameters_count(), optimizer, self.device_, parts)

    def _search(self, stage: Callable, training: dict, whole: int | None, facts: dict, untrained: Untrained):
        """Three short runs, each a whole schedule of its own; returns the training options of the long one. `facts` are those
        of a training that was stopped."""
        usual = training.get("learning_rate") or accepted(self._owners()["training"])["learning_rate"].default
        if usual is None:  # the loop's, which the network knows
            usual = training_defaults(untrained.model, training.get("optimizer", ""))["learning_rate"]
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
                    yield replace(progress, note=Message("trying a learning rate of {rate:.2g}", rate=rate))
            except Diverged:  # a rate that is too high has been tried too
                continue
            self.rates_tried_.append({"learning_rate": rate, "score": score})
        if not self.rates_tried_:
            return training | {"learning_rate": usual / 9}
        better = max if self.task_.higher_is_better else min
        return training | {"learning_rate": better(self.rates_tried_, key=lambda tried: tried["score"])["learning_rate"]}

    # Answering.

    def trained(self) -> Trained:
        """What answers; a task takes it with the inputs."""
        if not hasattr(self, "model_"):
            raise Mistake("this {estimator} has not been trained; call fit first, or wenmai.load a run.",
                          estimator=type(self).__name__)
        return Trained(self.rung, self.inputs_, self.model_, self.device_)

    @property
    def classes_(self) -> np.ndarray:
        return self.task_.classes

    def predict(self, inputs):
        """Labels (N,), rows of tags, numbers, or texts."""
        trained = self.trained()
        predictions, notes = self.task_.predict(trained, inputs)
        warn_of(notes)
        return predictions

    def predict_proba(self, inputs):
        """(N, C), columns in the order of `classes_`; of tags, (T, C) for every row."""
        trained = self.trained()
        return self.task_.predict_proba(trained, inputs)

    def answers(self, inputs, **how) -> Answers:
        """One dict an input, as `wenmai predict --json` prints it, with notes; `how` are options of the task's own."""
        trained = self.trained()
        return self.task_.answers(trained, inputs, **how)

    def evaluate(self, inputs, targets=None, where=row_name, **how) -> Scores:
        """Every metric of the task, with notes; `how` are options of the task's own."""
        trained = self.trained()
        return self.task_.evaluate(trained, inputs, targets, where, **how)

    def score(self, inputs, targets=None) -> float:
        """The task's one number, as scikit-learn wants it."""
        trained = self.trained()
        return self.task_.score(trained, inputs, targets)

    def examples(self, inputs, targets=None, where=row_name) -> Examples:
        """Inputs, and targets if there are some, as the model reads them."""
        trained = self.trained()
        return self.task_.examples(trained, inputs, targets, where)

    def outputs(self, examples: Examples):
        """The model's outputs, row for row."""
        trained = self.trained()
        return self.task_.outputs(trained, examples)

    def streamed(self, examples: Examples) -> Iterator[tuple]:
        """(rows, their outputs, what the task makes of them), some megabytes at a time."""
        trained = self.trained()
        return self.task_.streamed(trained, examples)

    def trace(self, inputs, targets=None) -> InputTrace:
        """What the network's formulas, written out, come to on these inputs: gates, states, attention, by their names. Of texts
        that are written for them, those given as `targets`, or those that it writes itself."""
        trained = self.trained()
        if not isinstance(trained.model, nn.Module):
            raise Mistake("{rung} is no network, so that there is nothing inside to trace; a network has, such as mlp.",
                          rung=self.rung)  # fmt: skip
        examples, tokens, targets = self.task_.trace_examples(trained, inputs, targets)
        trace = InputTrace()
        trace.tokens, trace.targets = tokens, targets
        batch = examples.batch(np.arange(len(examples))).to(self.device_)
        trace.outputs = trained.model(batch, trace)
        return trace

    # Keeping.

    def save(self, folder: str | Path, **more) -> Path:
        """A run folder with all there is to know; `more` (scores, data, seconds …) goes into its run.json."""
        self.trained()
        return run_folder.save(self, Path(folder), more)


def starting_from(run: str | Path | Estimator) -> Start:
    """A run folder, or an estimator that is trained."""
    if isinstance(run, Estimator):
        trained = run.trained()
        return Start(repr(run), run.task_name, trained.inputs, trained.model, run.build_)
    loaded = load_parts(run, "cpu")
    return Start(str(run), loaded.task.name, loaded.inputs, loaded.model, loaded.build)


def warn_of(notes: Sequence[str]) -> None:
    """Of a result that cannot carry its notes; called by the verb that a user calls."""
    for note in notes:
        warnings.warn(Notice(note), stacklevel=3)
