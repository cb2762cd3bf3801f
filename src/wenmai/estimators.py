"""What users hold: one class a task, and `load`, which gives back the one that a run folder holds."""

from pathlib import Path

from wenmai.catalog import TASKS, Build
from wenmai.composer import Composer
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.data.text.lines import Lines
from wenmai.estimator import Estimator, device_named
from wenmai.language_model import LanguageModel
from wenmai.options import assign_options
from wenmai.training import run_folder
from wenmai.translator import Translator


class Classifier(Estimator):
    """`Classifier("lstm", bidirectional=True).fit(texts, labels).predict(texts)`"""

    task_name = "classify"


class Tagger(Estimator):
    """`Tagger("lstm", bidirectional=True, crf=True).fit(rows of tokens, rows of tags).answers(["a raw text"])`"""

    task_name = "tag"


class Regressor(Estimator):
    """`Regressor("linear").fit(x, y).predict(x)`; y is one number a row, several, or one a step."""

    task_name = "regress"


NAMED = {cls.task_name: cls for cls in (Classifier, Tagger, Regressor, LanguageModel, Translator, Composer)}


def estimator_of(task: str) -> type[Estimator]:
    """The class of a task; one that has no words of its own is an Estimator of that task, and nothing else."""
    return NAMED.get(task) or type(f"{task.capitalize()}Estimator", (Estimator,), {"task_name": task})


ESTIMATORS = {task: estimator_of(task) for task in TASKS}


def load(run: str | Path, device: str = "auto") -> Estimator:
    """The estimator of a run folder, answering as it did when it was saved."""
    saved, device = run_folder.read(Path(run)), device_named(device)
    with run_folder.understood(saved.path / "run.json"):
        task = take.value(saved.about, "task")
        kind = ESTIMATORS[take.one_of(task, "name", tuple(ESTIMATORS))]
        rung, options = take.text(saved.about, "rung"), take.value(saved.about, "options")
        task = TASKS[kind.task_name].from_json(task)
        build = Build.from_json(rung, take.value(saved.about, "build"))
        assign_options(options, kind(rung)._owners())
    with run_folder.understood(saved.path / "inputs.json"):
        inputs = kinds_of_input.from_json(saved.inputs)
    if isinstance(inputs, Lines):
        with run_folder.understood(saved.path / "weights.safetensors") as path:
            inputs.take_arrays(arrays.mapped(path)[0])
    with run_folder.understood(saved.path / "run.json"):
        layers = build.options.get("layers", 0)
        model = run_folder.load_weights(lambda: build.model(task, inputs), layers, saved, device)
    return kind.assembled(task, inputs, model, build=build, options=options, device=device, progress=saved.progress)
