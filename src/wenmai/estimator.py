"""Estimators: tokenizer, task and rung joined; what users hold. fit, predict, evaluate, score, save, load.

What differs between tasks is the task's (tasks/contract.py): an estimator asks it, and the rung, and knows neither by name. What
it answers is returned and never kept, so that several threads may ask one that is trained.

They follow scikit-learn's rules (`__init__` stores, `fit` creates, get_params and set_params know every option), so that
Pipeline, cross_val_score and GridSearchCV take them, and never import scikit-learn themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from torch import nn

from wenmai.catalog import TASKS, Build, rung_named
from wenmai.data.examples.rows import Examples
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.data.text.lines import Lines
from wenmai.data.values import digest_of
from wenmai.describing import html_of, inspect
from wenmai.embeddings import embed, word_vectors
from wenmai.errors import Mistake, not_trained, warn_of
from wenmai.locale import Message, phrase
from wenmai.options import Situation, accepted, assign_options, check_effect
from wenmai.starting import Start
from wenmai.tasks.contract import Answers, InputTrace, Scores, Trained, Untrained, row_name
from wenmai.training import distributed, folders, loop, memory, run_folder
from wenmai.training.distributed import device_named
from wenmai.training.options import TrainingOptions, fit_options
from wenmai.training.progress import Diverged, Progress, Snapshot, score_in
from wenmai.training.progress_line import ProgressLine
from wenmai.training.schedule import plans_from

SEARCH_SHARE = 0.15  # of the training budget
TELLING = 60  # updates of a short run that tell one learning rate from another
LEAST = 0.001  # minutes that training gets, whatever was spent before it
LAST = 3  # the stage after the three of the search: training itself


class Estimator:
    task_name: str

    def __init__(self, rung: str, **options):
        self.rung, self.options = rung, options

    # What scikit-learn asks for.

    def get_params(self, deep: bool = True) -> dict:
        try:
            known = {
                name: option.default
                for owner in self._owners().values()
                for name, option in accepted(owner).items()
            }
        except Mistake:  # an unknown rung is refused by fit, not here
            known = {}
        return {"rung": self.rung, **known, **self.options}

    def set_params(self, **changes) -> Estimator:
        if (
            changes.get("rung", self.rung) != self.rung
        ):  # what stood at the old rung's defaults stays behind with it
            usual = type(self)(self.rung).get_params()
            self.options = {
                name: value
                for name, value in self.options.items()
                if name not in usual or usual[name] != value
            }
        self.rung = changes.pop("rung", self.rung)
        assign_options(changes, self._owners())
        self.options = {**self.options, **changes}
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = TASKS[self.task_name].estimator_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(string=True, two_d_array=True, three_d_array=True),
        )

    def __getattr__(self, name: str):
        if name in ("task_", "inputs_", "model_", "device_"):  # which `fit` makes
            raise not_trained(type(self).__name__)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.rung!r}{options})"

    _repr_html_, embed, word_vectors, inspect = html_of, embed, word_vectors, inspect

    def _owners(self) -> dict[str, Callable]:
        """Who takes which options: each name stands in one of these signatures only."""
        rung, task = rung_named(self.rung, self.task_name), TASKS[self.task_name]
        return {
            "fitting": fit_options,
            "inputs": task.reads,
            "tokens": tokenizers.learn,
            "task": task,
            "rung": rung.builder(self.task_name),
            "training": rung.train,
        }

    @classmethod
    def assembled(
        cls,
        task,
        inputs,
        model,
        *,
        build: Build,
        options: dict,
        device: str = "cpu",
        notes: Sequence[str] = (),
        progress: Sequence[Progress] = (),
        columns: Mapping[str, str] = MappingProxyType({}),
    ) -> Estimator:
        """One whose parts are there already: as it was loaded, or imported. `build`: how the model was made."""
        estimator = cls(build.rung, **options)
        estimator.task_, estimator.inputs_, estimator.model_, estimator.device_ = (
            task,
            inputs,
            model,
            device,
        )
        estimator.build_, estimator.start_, estimator.plan_ = build, None, {}
        estimator.notes_, estimator.progress_, estimator.columns_ = (
            list(notes),
            list(progress),
            dict(columns),
        )
        return estimator

    # Learning.

    def fit(
        self, inputs, targets=None, valid: tuple | None = None, start: Startable = None
    ) -> Estimator:
        """`start`: a run, its estimator, or a checkpoint (`wenmai.checkpoint`), whose input layer and body this one begins with
        (starting.py)."""
        steps, task = self.training(inputs, targets, valid, start=start), TASKS[self.task_name]
        line = ProgressLine(
            f"{type(self).__name__} {self.rung}", task.profile.judged or task.metric
        )
        for _ in line.through(steps) if self.get_params().get("progress") else steps:
            pass
        return self

    def training(
        self,
        inputs,
        targets=None,
        valid: tuple | None = None,
        where=row_name,
        resume: Snapshot | None = None,
        known=None,
        start: Startable = None,
        spent: float = 0.0,
    ) -> Iterator[Progress]:
        """Everything that `fit` does, yielding progress. `valid` is (inputs, targets); without it a share is held out. `where`
        names the place of a row in messages. `resume` is what `snapshot()` of a Progress gave: with the same data and options,
        training ends as it would have. `known` is how inputs are read, where that was learned before, from more of them.
        `spent`: seconds of its minutes that are over already."""
        began, assigned = time.perf_counter() - spent, assign_options(self.options, self._owners())
        budget, rung = fit_options(**assigned["fitting"]), rung_named(self.rung, self.task_name)
        if distributed.team().size > 1:
            distributed.team().agree(
                {
                    "options": digest_of([self.rung, sorted(self.options.items())]),
                    "train": digest_of(inputs, targets),
                    "valid": digest_of(*(valid or ())),
                }
            )
        self.task_ = task = TASKS[self.task_name](**assigned["task"])
        self.columns_: dict[str, str] = {}  # of the file that was learned from, where there is one
        parts = task.split(inputs, targets, valid, budget["validation"], budget["seed"], rung.tunes)
        inputs, targets = task.prepare(parts.inputs, parts.targets)
        self.notes_ = task.learn(targets, lambda row: where(parts.rows[row]))
        started, self.start_ = None if start is None else starting_from(start), None
        self.build_ = Build.of(self.rung, self.task_name, assigned["rung"])
        if started is not None:
            started.check(self.rung)
            known, self.build_ = started.prepared(task, inputs, targets, assigned)
        self.inputs_ = self._inputs_learned(
            lambda: rung.frame(
                task.learn_inputs(
                    inputs, targets, assigned["inputs"] | assigned["tokens"], rung.framed
                )
            ),
            resume,
            known,
        )
        self.notes_ += self.inputs_.notes(inputs)
        self.device_ = device_named(budget["device"])
        untrained = Untrained(
            self.rung,
            self.inputs_,
            self.device_,
            rung.train is TrainingOptions,
            lambda: self.build_.blank(task, self.inputs_),
        )
        train, place, notes = task.training_examples(untrained, inputs, targets, parts.rows, where)
        self.notes_ += notes
        judged = parts.valid is not None and len(parts.valid[0])
        measure = task.judge(untrained, parts, budget["seed"]) if judged else None
        judge = (lambda: measure(self.trained())) if judged else None  # of the model as it then is
        here = Situation(
            self.inputs_.kind,
            hasattr(self.inputs_, "target"),
            task.head(self.inputs_).per_step,
            untrained.by_gradients,
            bool(judged),
            distributed.team().size,
            started is not None,
            hasattr(self.inputs_, "augmentation"),
        )
        check_effect(assigned, self._owners(), here)
        facts = (
            checked_facts(resume.facts, self._owners()["training"])
            if resume and resume.facts
            else {}
        )
        self.progress_ = [Progress.from_json(kept) for kept in facts.get("progress", [])]
        self.rates_tried_ = list(facts.get("rates", []))
        training, seed, minutes = assigned["training"], budget["seed"], budget["minutes"]
        if (
            untrained.by_gradients
        ):  # only what will fit into memory is trained: in one process, or shared among several
            processes = distributed.team().size if training.get("parallel") == "fsdp" else 1
            optimizer = training.get("optimizer", TrainingOptions.optimizer)
            memory.check_weights(
                untrained.model.parameters_count(), optimizer, self.device_, processes
            )

        def stage(number: int, options: dict, whole: dict | None = None) -> Iterator[Progress]:
            """One schedule from the first weights to its end, or from where it was stopped."""
            self.model_ = self.build_.model(task, self.inputs_, seed)
            if started is not None:
                self.start_ = started.load_into(
                    self.model_, self.inputs_, TrainingOptions(**training)
                )
                self.notes_ += [note for note in (self.start_["note"],) if note not in self.notes_]
            stopped = resume if facts.get("stage") == number else None
            plan = {name: options[name] for name in ("learning_rate",) if name in options}
            plan |= facts["plan"] if stopped else {}
            self.plan_ = plan
            left = (
                facts["minutes"]
                if stopped
                else minutes and max(LEAST, minutes - (time.perf_counter() - began) / 60)
            )
            known = {"stage": number, "plan": plan, "whole": whole, "minutes": left}
            self.plan_ = plan  # also where nothing is left to learn
            for progress in self._steps(train, judge, budget, left, stopped, place, options | plan):
                plan |= progress.plan
                self.notes_ += [progress.warning] if progress.warning else []
                yield replace(progress, snapshot=self._kept(progress, known))

        whole = None
        if budget["search"] and judge and "learning_rate" in accepted(self._owners()["training"]):
            whole = facts.get("whole")
            if (
                not whole and untrained.by_gradients
            ):  # a rung without the loop counts in epochs, which it plans itself
                self.model_ = self.build_.model(task, self.inputs_, seed)
                whole = next(self._steps(train, judge, budget, minutes, None, place, training)).plan
            training = yield from self._search(stage, training, whole, facts, bool(minutes))
        self.build_ = replace(
            self.build_, options=self.build_.options | getattr(untrained.model, "built", {})
        )
        for progress in stage(LAST, training, whole):
            if progress.step and not progress.passing:
                self.progress_.append(replace(progress, snapshot=None, plan={}))
            yield progress
        if judged and hasattr(task, "settle"):
            task.settle(self.trained(), parts, budget["seed"])

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
            more = {
                "score": progress.score,
                "rates": self.rates_tried_,
                "progress": [kept.to_json() for kept in self.progress_],
            }
            return Snapshot(inner.arrays, inner.facts | facts | more)

        return snapshot if progress.snapshot else None

    def _steps(
        self,
        train: Examples,
        judge,
        budget: dict,
        minutes: float | None,
        resume,
        place,
        training: dict,
    ):
        if hasattr(self.model_, "learn"):
            if distributed.team().size > 1:
                raise Mistake(
                    "{rung} learns in one process; start it without torchrun.", rung=self.rung
                )
            return self.model_.learn(
                train, judge, budget["seed"], None if resume else minutes, resume, place, **training
            )
        return loop.train(
            self.model_,
            train,
            judge,
            self.task_.higher_is_better,
            self.device_,
            budget["seed"],
            minutes,
            resume,
            budget["deterministic"],
            place,
            TrainingOptions(**training),
        )

    def _search(
        self, stage: Callable, training: dict, whole: dict | None, facts: dict, by_clock: bool
    ):
        """Three short runs, each a whole schedule of its own; returns the training options of the long one. `whole` is the plan
        of all of the budget, `facts` are those of a training that was stopped. What a short budget allows would say nothing of
        the rates, and then the usual one is taken."""
        if whole is None:
            usual = (
                training.get("learning_rate")
                or accepted(self._owners()["training"])["learning_rate"].default
            )
            short = training | {"epochs": max(1, (training.get("epochs") or 10) // 5)}
        else:  # all four runs are counted in the steps of the whole, and the last one takes what is left of the minutes
            (plan,), usual = plans_from(whole["plans"]), whole["learning_rate"]
            few = int(plan.steps * SEARCH_SHARE / 3)
            training = training | whole
            if by_clock and few < TELLING:
                return training
            short = training | {"plans": str(plan._replace(steps=max(1, few), evaluations=1))}
            training |= {
                "plans": str(plan._replace(steps=max(1, int(plan.steps * (1 - SEARCH_SHARE)))))
            }
            if by_clock:
                short |= {"steps": max(1, few)}  # whatever the clock says
        for number, rate in enumerate((usual / 3, usual, usual * 3)):
            if number < facts.get("stage", 0):
                continue  # it was tried before
            score = facts.get("score")
            try:
                for progress in stage(number, short | {"learning_rate": rate}, whole):
                    score = progress.score
                    yield replace(
                        progress, note=Message("trying a learning rate of {rate:.2g}", rate=rate)
                    )
            except Diverged:  # a rate that is too high has been tried too
                continue
            self.rates_tried_.append({"learning_rate": rate, "score": score})
        if not self.rates_tried_:
            return training | {"learning_rate": usual / 9}
        better = max if self.task_.higher_is_better else min
        return training | {
            "learning_rate": better(self.rates_tried_, key=lambda tried: tried["score"])[
                "learning_rate"
            ]
        }

    # Answering.

    def trained(self) -> Trained:
        """What answers; a task takes it with the inputs."""
        return Trained(self.rung, self.inputs_, self.model_, self.device_)

    @property
    def classes_(self) -> np.ndarray:
        return self.task_.classes

    def predict(self, inputs):
        """Labels (N,), rows of tags, numbers, or texts."""
        predictions, notes = self.task_.predict(self.trained(), inputs)
        warn_of(notes)
        return predictions

    def predict_proba(self, inputs):
        """(N, C), columns in the order of `classes_`; of tags, (T, C) for every row."""
        return self.task_.predict_proba(self.trained(), inputs)

    def answers(self, inputs, **how) -> Answers:
        """One dict an input, as `wenmai predict --json` prints it, with notes; `how` are options of the task's own."""
        return self.task_.answers(self.trained(), inputs, **how)

    def evaluate(self, inputs, targets=None, where=row_name, **how) -> Scores:
        """Every metric of the task, with notes; `how` are options of the task's own."""
        return self.task_.evaluate(self.trained(), inputs, targets, where, **how)

    def score(self, inputs, targets=None) -> float:
        """The task's one number, as scikit-learn wants it."""
        return self.task_.score(self.trained(), inputs, targets)

    def examples(self, inputs, targets=None, where=row_name) -> Examples:
        """Inputs, and targets if there are some, as the model reads them."""
        return self.task_.examples(self.trained(), inputs, targets, where)

    def outputs(self, examples: Examples):
        """The model's outputs, row for row."""
        return self.task_.outputs(self.trained(), examples)

    def streamed(self, examples: Examples) -> Iterator[tuple]:
        """(rows, their outputs, what the task makes of them), some megabytes at a time."""
        return self.task_.streamed(self.trained(), examples)

    def trace(self, inputs, targets=None) -> InputTrace:
        """What the network's formulas, written out, come to on these inputs: gates, states, attention, by their names. Of texts
        that are written for them, those given as `targets`, or those that it writes itself."""
        trained = self.trained()
        if not isinstance(trained.model, nn.Module):
            raise Mistake(
                "{rung} is no network, so that there is nothing inside to trace; a network has, such as mlp.",
                rung=self.rung,
            )
        examples, tokens, targets = self.task_.trace_examples(trained, inputs, targets)
        trace = InputTrace()
        trace.tokens, trace.targets = tokens, targets
        batch = examples.batch(np.arange(len(examples))).to(self.device_)
        trace.outputs = trained.model(batch, trace)
        return trace

    # Keeping.

    def save(self, folder: str | Path, replace: bool = False, **more) -> Path:
        """A run folder with all there is to know; `more` (scores, data, seconds …) goes into its run.json. `replace`: also where
        a training stands that was not finished, or a run of other data."""
        self.trained()
        return run_folder.save(self, Path(folder), more, replace=replace)


def checked_facts(facts: dict, training: Callable) -> dict:
    """What `_kept` adds to a snapshot, with the plan as options of `training`; Unfit where it is something else."""
    rates = [
        {"learning_rate": take.number(tried, "learning_rate"), "score": score_in(tried)}
        for tried in take.items(facts, "rates")
    ]
    plans = {"plan": take.value(facts, "plan"), "whole": take.value(facts, "whole")}
    for name, plan in plans.items():
        if plan is None and name == "whole":
            continue
        try:
            plans[name] = assign_options(
                take.of_kind(plans, name, dict, phrase("saved", "an object")),
                {"training": training},
            )
            plans[name] = made = plans[name]["training"]
            if len(plans_from(made["plans"]) if "plans" in made else ()) > 1 and name == "whole":
                raise take.unfit(name, made["plans"], phrase("saved", "one plan"))
        except Mistake as mistake:
            raise take.Unfit(mistake.message) from None
        if name == "whole" and not {"plans", "learning_rate"} <= made.keys():
            raise take.unfit(name, made, phrase("saved", "one plan"))
    minutes = take.value(facts, "minutes")
    if minutes is not None and not take.number(facts, "minutes") > 0:
        raise take.unfit("minutes", minutes, phrase("saved", "a number"))
    take.items(facts, "progress")
    return facts | {
        "stage": take.integer(facts, "stage", 0, LAST),
        "score": score_in(facts),
        "rates": rates,
        **plans,
    }


Startable = str | Path | Estimator | Start | None


def starting_from(run: Startable) -> Start:
    """A run folder, an estimator that is trained, or a checkpoint that was opened."""
    if isinstance(run, Start):
        return run
    known = run if isinstance(run, Estimator) else loaded(run, "cpu")
    trained = known.trained()
    return Start(
        repr(run) if run is known else str(run),
        known.task_.name,
        trained.inputs,
        trained.model,
        known.build_,
    )


def loaded(
    run: str | Path, device: str, kinds: Mapping[str, type[Estimator]] | None = None
) -> Estimator:
    """What a run folder holds, put together again; `kinds`: the class of each task."""
    return folders.one_version(
        Path(run), lambda folder: assembled_from(folder, device, kinds or {})
    )


def assembled_from(folder: Path, device: str, kinds: Mapping[str, type[Estimator]]) -> Estimator:
    saved = run_folder.read(folder)
    with run_folder.understood(folder / "run.json"):
        task = take.value(saved.about, "task")
        task = TASKS[take.one_of(task, "name", tuple(TASKS))].from_json(task)
        options, columns = take.value(saved.about, "options"), take.columns(saved.about)
        build = Build.from_json(take.text(saved.about, "rung"), take.value(saved.about, "build"))
    with run_folder.understood(folder / "inputs.json"):
        inputs = kinds_of_input.from_json(saved.inputs)
    if isinstance(inputs, Lines):
        with run_folder.understood(folder / "weights.safetensors") as path:
            inputs.take_arrays(arrays.mapped(path)[0])
    with run_folder.understood(folder / "run.json"):
        layers = build.options.get("layers", 0)
        model = run_folder.load_weights(lambda: build.model(task, inputs), layers, saved, device)
        kind = kinds.get(task.name, Estimator)
        if kind is not Estimator:
            assign_options(options, kind(build.rung)._owners())
    return kind.assembled(
        task,
        inputs,
        model,
        build=build,
        options=options,
        device=device,
        progress=saved.progress,
        columns=columns,
    )


def text_log_prob(estimator: Estimator, inputs, texts) -> np.ndarray:
    """Σ log p of each text for its input (N,), its end among its tokens."""
    sums, notes = estimator.task_.log_prob(estimator.trained(), inputs, texts)
    warn_of(notes)
    return sums
