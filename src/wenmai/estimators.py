"""What users hold: one class a task, and `load`, which gives back the one that a run folder holds."""

from __future__ import annotations

from pathlib import Path

from wenmai.catalog import TASKS
from wenmai.composer import Composer
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.data.text.lines import Lines
from wenmai.estimator import Estimator, device_named
from wenmai.language_model import LanguageModel
from wenmai.options import sort_out
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


ESTIMATORS = {cls.task_name: cls for cls in (Classifier, Tagger, Regressor, LanguageModel, Translator, Composer)}


def load(run: str | Path, device: str = "auto") -> Estimator:
    """The estimator of a run folder, answering as it did when it was saved."""
    saved = run_folder.read(Path(run))
    with run_folder.understood(saved.path / "run.json"):
        task = take.value(saved.about, "task")
        kind = ESTIMATORS[take.one_of(task, "name", tuple(ESTIMATORS))]
        estimator = kind(take.text(saved.about, "rung"), **take.value(saved.about, "options"))
        estimator.task_ = TASKS[estimator.task_name].from_json(task)
        built = saved.about.get("built", {})  # what followed from the text's length, and was not given
        given = sort_out(estimator.options | built, estimator._owners())["rung"]
    with run_folder.understood(saved.path / "inputs.json"):
        estimator.inputs_ = kinds_of_input.from_json(saved.inputs)
    estimator.device_, estimator.notes_, estimator.progress_ = device_named(device), [], saved.progress

    if isinstance(estimator.inputs_, Lines):
        with run_folder.understood(saved.path / "weights.safetensors") as path:
            estimator.inputs_.take_arrays(arrays.mapped(path)[0])

    def build():
        estimator._build(given, seed=0)  # whose first weights the saved ones replace
        return estimator.model_

    with run_folder.understood(saved.path / "run.json"):
        estimator.model_ = run_folder.load_weights(build, given.get("layers", 0), saved, estimator.device_)
    return estimator
