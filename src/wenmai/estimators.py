"""What users hold: one class a task, and `load`, which gives back the one that a run folder holds."""

from pathlib import Path

from wenmai.catalog import TASKS
from wenmai.composer import Composer
from wenmai.estimator import Estimator
from wenmai.language_model import LanguageModel
from wenmai.loading import load_parts
from wenmai.options import assign_options
from wenmai.training import run_folder
from wenmai.training.distributed import device_named
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
    device = device_named(device)
    loaded = load_parts(run, device)
    kind = ESTIMATORS[loaded.task.name]
    with run_folder.understood(Path(run) / "run.json"):
        assign_options(loaded.options, kind(loaded.build.rung)._owners())
    return kind.assembled(loaded.task, loaded.inputs, loaded.model, build=loaded.build, options=loaded.options, device=device,
                          progress=loaded.progress)  # fmt: skip
