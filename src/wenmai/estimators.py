"""What users hold: one class a task, and `load`, which gives back the one that a run folder holds."""

from pathlib import Path

from wenmai.answerer import Answerer
from wenmai.catalog import TASKS
from wenmai.composer import Composer
from wenmai.describing import Documented
from wenmai.errors import Mistake
from wenmai.estimator import Estimator, loaded, text_log_prob
from wenmai.language_model import LanguageModel
from wenmai.training.distributed import device_named
from wenmai.transcriber import Transcriber
from wenmai.translator import Translator


class Classifier(Estimator):
    __doc__ = Documented(
        '`Classifier("lstm", bidirectional=True).fit(texts, labels).predict(texts)`'
    )

    task_name = "classify"

    def predict(self, inputs, top_k: int | None = None):
        """Labels (N,); with `top_k`, for every row a list of so many {"label", "probability"}, the most probable first."""
        if top_k is None:
            return super().predict(inputs)
        if top_k < 1:
            raise Mistake(
                "top_k={count}: expected 1 or more, how many labels are given for each.",
                count=top_k,
            )
        return [answer["best"] for answer in self.answers(inputs, top_k=top_k)]


class Tagger(Estimator):
    __doc__ = Documented(
        '`Tagger("lstm", bidirectional=True, crf=True).fit(rows, tags of rows).answers(["a raw text"])`'
    )

    task_name = "tag"


class Chooser(Answerer):
    __doc__ = Documented(
        '`Chooser("bert").fit([(context, question, choices)], [choice]).predict(rows)`'
    )

    task_name = "choose"


class Replier(Answerer):
    __doc__ = Documented(
        '`Replier("attention").fit([(context, question)], [answer]).predict(rows)`; answers are written out.'
    )

    task_name, hypotheses, log_prob = "reply", Translator.hypotheses, text_log_prob


class Regressor(Estimator):
    __doc__ = Documented(
        '`Regressor("linear").fit(x, y).predict(x)`; y is one number a row, several, or one a step.'
    )

    task_name = "regress"


class Encoder(Estimator):
    __doc__ = Documented(
        '`Encoder("bert").fit(documents).fill("a [MASK] film")`; it learns from texts alone, for others to start from.'
    )

    task_name = "pretrain"

    def fit(self, texts, valid=None, start=None) -> "Encoder":
        """`texts`: one in which blank lines part documents, or several, each a document."""
        return super().fit(texts, None, None if valid is None else (valid, None), start)

    def fill(self, text: str, top: int = 5) -> list[list[dict]]:
        """For every [MASK] of the text so many of its most probable words, {"word", "probability"} each."""
        if top < 1:
            raise Mistake(
                "top={count}: expected 1 or more, how many words are given for each.", count=top
            )
        return self.task_.fill(self.trained(), text, top)


NAMED = {
    cls.task_name: cls
    for cls in (
        Classifier,
        Tagger,
        Regressor,
        LanguageModel,
        Translator,
        Composer,
        Answerer,
        Chooser,
        Replier,
        Encoder,
        Transcriber,
    )
}


def estimator_of(task: str) -> type[Estimator]:
    """The class of a task; one that has no words of its own is an Estimator of that task, and nothing else."""
    return NAMED.get(task) or type(
        f"{task.capitalize()}Estimator", (Estimator,), {"task_name": task}
    )


ESTIMATORS = {task: estimator_of(task) for task in TASKS}


def load(run: str | Path, device: str = "auto") -> Estimator:
    """The estimator of a run folder, answering as it did when it was saved."""
    return loaded(run, device_named(device), ESTIMATORS)
