"""Answerer: an estimator that answers questions about a text: by a part of it, by one of several choices, or in words of its own.

`Answerer("bert").fit([(context, question), …], [answer, …])`, then `answer(context, question)`. What the rows hold says which of
them it is: with choices, (context, question, choices), it is a choice. Answers in words of their own are a Replier's."""

from collections.abc import Sequence

from wenmai.describing import Documented
from wenmai.estimator import Estimator, Startable


class Answerer(Estimator):
    __doc__ = Documented(
        '`Answerer("bert").fit([(context, question)], [answer]).answer(context, question)`'
    )

    task_name = "answer"

    def fit(
        self, inputs, targets=None, valid: tuple | None = None, start: Startable = None
    ) -> Estimator:
        """What the rows hold says what is to be done: with choices, one of them is chosen."""
        if type(self) is Answerer:
            self.task_name = "choose" if with_choices(inputs) else "answer"
        return super().fit(inputs, targets, valid, start)

    def answer(
        self, context: str, question: str, choices: Sequence[str] = (), *, best: int = 1
    ) -> dict:
        """{"answer", "probability", …} of one question."""
        return self.answers([(context, question, *([choices] if choices else []))], best=best)[0]


def with_choices(inputs) -> bool:
    first = next(iter(inputs), ()) if isinstance(inputs, (list, tuple)) else ()
    return isinstance(first, (list, tuple)) and len(first) == 3
