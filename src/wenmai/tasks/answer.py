"""answer, N→span: a question is answered by a part of its context, or by nothing, where no part does.

    exact match, F1        as SQuAD's and CMRC's own scripts count them (reading_scores.py)

Where some questions of the training rows have no answer, "nothing" is one: it is given where its score is above that of the best
span by more than a threshold, the one that scores most on the valid rows (Rajpurkar et al. 2018). What is chosen among is to be
told by `choose`, what is written in words of its own by `reply`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.passages import Passages
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs.questions import Questions
from wenmai.data.storage import saved as take
from wenmai.data.values import listed
from wenmai.errors import Mistake
from wenmai.layers.questions import Span
from wenmai.locale import Message, phrase
from wenmai.options import Size
from wenmai.tasks import rows
from wenmai.tasks.columns import shown
from wenmai.tasks.contract import Answers, Parts, Trained, TrainingExamples, Untrained, row_name
from wenmai.tasks.measuring.baselines import likest_sentence
from wenmai.tasks.measuring.rows import measure_rows
from wenmai.tasks.overviews import describe_questions
from wenmai.tasks.profile import Profile
from wenmai.tasks.reading_scores import RULES, best_scores, rules_for
from wenmai.tasks.references import (
    References,
    always_first,
    check_pairs,
    pairs_in,
    references_in,
    references_of,
)
from wenmai.tasks.spans import best_spans
from wenmai.training import memory

ALMOST_ALL = 0.995  # of the answers that are learned from are no longer, in tokens, than those that are given


class AnswerSpan(NamedTuple):
    """A span of a context; its score above that of "nothing", and its probability among all that could be said."""

    text: str
    start: int
    end: int
    above: float
    probability: float


NOTHING = AnswerSpan("", 0, 0, -np.inf, 0.0)


class Scored(Sequences):
    """Rows of (1 + W, 2): how well an answer begins and ends at "nothing", and at every token of the passage."""

    def __init__(self, flat: np.ndarray, passages: Passages):
        super().__init__(flat, passages.offsets)
        self.passages = passages


class Answer:
    name, metric, higher_is_better = "answer", "f1", True
    metrics = ("f1", "exact_match")
    target = "answer"
    groups = ("group", "task")  # columns that say of which group a row is
    takes = ("context", "question")  # for every answer
    texts, history = (
        "questions",
        None,
    )  # a context and a question are read together; rows have no order in time
    reads = staticmethod(Questions.learn)
    estimator_type, output_type = None, np.float32

    # what every task with a target a row does
    split, held_out, streamed, evaluate, score = (
        rows.split,
        rows.held_out,
        rows.streamed,
        rows.evaluate,
        rows.score,
    )
    running_text = two_texts = False

    def __init__(self, *, answer_length: Size | None = None):
        """`answer_length`: tokens that an answer has at the most; none: as many as almost all that are learned from."""
        self.answer_length = answer_length
        self.rules, self.impossible, self.threshold = "squad", False, 0.0

    # The data

    @staticmethod
    def fits(names: list[str]) -> bool:
        return (
            {"context", "question"} <= set(names)
            and "choices" not in names
            and bool({"answer", "answers"} & set(names))
        )

    def inputs_of(self, chunk: Chunk, source: str) -> list[tuple[str, str]]:
        return pairs_in(chunk, source)

    def targets_of(self, chunk: Chunk, source: str) -> list[References]:
        return references_in(chunk, source)

    def inspect_targets(self, targets, where) -> list[str]:
        moved = sum(one.moved for one in targets)
        note = Message(
            "{count:,} of the answers do not begin where it is said, and stand in their context once: they are taken "
            "from there",
            count=moved,
        )
        return [note] if moved else []

    def split_keys(self, inputs, targets) -> tuple:
        """No two parts share a context."""
        check_pairs(inputs, row_name)
        return [context for context, *_ in inputs], None

    def prepare(self, inputs, targets=None):
        check_pairs(inputs, row_name)
        inputs = [tuple(pair) for pair in inputs]
        if any(len(pair) > 2 for pair in inputs):
            raise Mistake(
                "found more than a context and a question in a row; to choose among answers, take the task choose."
            )
        if targets is not None:
            targets = [
                references_of(one, context, row_name(row))
                for row, ((context, _), one) in enumerate(zip(inputs, targets))
            ]
        return inputs, targets

    def learn(self, targets, where=row_name) -> list[str]:
        self.impossible = any(not one.texts for one in targets)
        if not any(one.texts for one in targets):
            raise Mistake(
                "found no answer in {rows} rows; to learn where answers stand, some are needed.",
                rows=len(targets),
            )
        self.rules = rules_for([text for one in targets for text in one.texts[:1]], self.impossible)
        without = sum(not one.texts for one in targets)
        note = Message(
            "{count:,} of the {rows:,} questions have no answer in their context",
            count=without,
            rows=len(targets),
        )
        return [note] if without else []

    def encode(self, targets, where=row_name) -> np.ndarray:
        """(N,) of References, with which answers are compared."""
        encoded = np.empty(len(targets), object)
        encoded[:] = targets
        return encoded

    def head(self, inputs=None) -> Span:
        return Span()

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False) -> Questions:
        return self.reads(inputs, **options)

    def training_examples(
        self, untrained: Untrained, inputs, targets, numbers: np.ndarray, where: Callable
    ) -> TrainingExamples:
        """A row is a window; one in which no answer stands answers nothing. Any of the places where one stands is right."""
        passages: Passages = untrained.inputs.encode(inputs)
        everywhere = always_first(targets)
        spans = token_spans(passages, [one.spans(everywhere) for one in targets])
        if self.answer_length is None:
            sizes = (spans[:, 0, 1] - spans[:, 0, 0] + 1)[spans[:, 0, 0] > 0]
            self.answer_length = (
                int(np.quantile(sizes, ALMOST_ALL, method="higher")) if len(sizes) else 1
            )
        windows = passages.windows()
        examples = Examples(
            windows, windows.spans_inside(spans), longest=untrained.inputs.reading.window
        )
        place = rows.places(numbers, where)
        notes = [
            Message(
                "{windows:,} windows of {size} tokens at the most, for {rows:,} questions",
                windows=len(windows),
                size=untrained.inputs.reading.window,
                rows=len(passages),
            )
        ]
        notes = notes if len(windows) > len(passages) else []
        if everywhere:
            notes.append(
                Message(
                    "every answer is said to begin where its words stand first: wherever they stand, they are "
                    "taken as right"
                )
            )
        return TrainingExamples(examples, lambda row: place(examples.example_of(row)), notes)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        """By F1 with the threshold that is best for these rows."""
        examples = self.examples(untrained, *rows.watched(self, parts, seed))

        def measured(trained: Trained) -> float:
            spans = rows.decided(self, trained, examples)
            return self.best_threshold(spans, examples.targets)[1]

        return measured

    def settle(self, trained: Trained, parts: Parts, seed: int) -> None:
        """When training is over: the threshold."""
        if self.impossible:
            examples = self.examples(trained, *rows.watched(self, parts, seed))
            self.threshold = self.best_threshold(
                rows.decided(self, trained, examples), examples.targets
            )[0]

    def best_threshold(self, spans: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
        """(how far a span has to be above "nothing", the mean F1 then). Rows are gone through from the surest on: each one more
        that is answered adds what its answer scores, and takes what "nothing" scored."""
        answered, nothing = (
            self.each([one.text if kept else "" for one in spans], targets)[:, 1]
            for kept in (True, False)
        )
        if not self.impossible:
            return 0.0, float(answered.mean())
        above = np.array([one.above for one in spans])
        order = np.argsort(-above, kind="stable")
        sums = nothing.sum() + np.concatenate([[0.0], np.cumsum((answered - nothing)[order])])
        last = np.append(above[order][1:] != above[order][:-1], True)  # equal ones stay together
        sums[1:][~last] = -np.inf
        count = int(sums.argmax())
        edges = np.concatenate([[np.inf], above[order], [-np.inf]])
        low, high = edges[count + 1], edges[count]
        finite = [edge for edge in (low, high) if np.isfinite(edge)]
        between = (
            sum(finite) / 2
            if len(finite) == 2
            else (high - 1 if np.isfinite(high) else low + 1 if finite else 0.0)
        )
        return float(between), float(sums[count] / len(spans))

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        inputs, targets = self.prepare(listed(inputs), None if targets is None else listed(targets))
        encoded = None if targets is None else self.encode(targets, where)
        return Examples(
            trained.inputs.encode(inputs), encoded, longest=trained.inputs.reading.window
        )

    def outputs(self, trained: Trained, examples: Examples) -> Scored:
        """Window by window, and joined again. "Nothing" is as likely as in the window that finds it least so."""
        passages, model = examples.inputs, trained.model
        windows = passages.windows()
        pieces, (first, last) = (
            Examples(windows, longest=trained.inputs.reading.window),
            windows.owned(),
        )
        table = np.full((len(passages.flat), 2), np.inf, np.float32)

        def batch_outputs(some: np.ndarray) -> np.ndarray:
            return (
                model.masked(pieces.batch(some).to(trained.device))[0].cpu().numpy()
            )  # (B, 1 + W, 2)

        with torch.inference_mode():
            tokens = 4096 if trained.device == "cpu" else 16_384
            for some, values in memory.in_pieces(
                by_length(windows.costs, tokens), batch_outputs, trained.device
            ):
                for number, window in enumerate(some.tolist()):
                    start, (begin, end) = windows.starts[window], (first[window], last[window])
                    table[begin:end] = values[number, 1 + begin - start : 1 + end - start]
                    nothing, score = windows.nothing[window], values[number, 0]
                    if score.sum() < table[nothing].sum():
                        table[nothing] = score
        return Scored(table, passages)

    def decide(self, outputs: Scored, model=None) -> np.ndarray:
        """(N,) of AnswerSpan: the best span of every row; whether it is given, `is_given` says."""
        spans = np.empty(len(outputs), object)
        for row in range(len(outputs)):
            spans[row] = next(iter(self.best(outputs, row, 1)), NOTHING)
        return spans

    def best(self, outputs: Scored, row: int, count: int) -> list[AnswerSpan]:
        scores, passages = np.asarray(outputs[row], np.float64), outputs.passages
        nothing = scores[0].sum()
        spans, total = best_spans(scores[1:], self.answer_length or 1, count)
        total = np.logaddexp(total, nothing) if self.impossible else total
        places, text = (
            passages.places_in_text[passages.starts[row] + 1 : passages.stops[row]],
            passages.texts[row],
        )
        answers = []
        for first, last, score in spans:
            start, end = int(places[first, 0]), int(places[last, 1])
            answers.append(
                AnswerSpan(
                    text[start:end], start, end, score - nothing, float(np.exp(score - total))
                )
            )
        return answers

    @staticmethod
    def whole(text: str, start: int, end: int) -> AnswerSpan:
        """An answer that is given without a model."""
        return AnswerSpan(text, start, end, np.inf, 1.0)

    def is_given(self, span: AnswerSpan) -> bool:
        return span.end > span.start and (not self.impossible or span.above > self.threshold)

    def predictions(self, decided: np.ndarray) -> np.ndarray:
        """Texts; where there is no answer, none."""
        texts = np.empty(len(decided), object)
        texts[:] = [one.text if self.is_given(one) else "" for one in decided]
        return texts

    def predict(self, trained: Trained, inputs) -> tuple:
        examples = self.examples(trained, inputs)
        return self.predictions(rows.decided(self, trained, examples)), []

    def predict_proba(self, trained: Trained, inputs):
        raise Mistake(
            "of the spans of a text there is no table; answers(inputs, best=5) has the best with their probabilities."
        )

    def answers(self, trained: Trained, inputs, *, best: int = 1, top_k: int = 0) -> Answers:
        """{"answer", "start", "end", "probability"} a question: context[start:end] is the answer, "" where there is none; with
        `best` (or top_k) above 1 also so many of the best."""
        examples, answers, many = self.examples(trained, inputs), [], max(best, top_k)
        if many < 1:
            raise Mistake(
                "best={count}: expected 1 or more, how many answers are given for each.", count=best
            )
        for some, outputs, _ in self.streamed(trained, examples):
            for row in range(len(some)):
                spans = self.best(outputs, row, many)
                answer = self.described(spans, outputs, row)
                answers.append(
                    answer | ({"best": [as_json(one) for one in spans]} if many > 1 else {})
                )
        return Answers(answers)

    def described(self, spans: list[AnswerSpan], outputs: Scored, row: int) -> dict:
        if spans and self.is_given(spans[0]):
            return as_json(spans[0])
        return {
            "answer": "",
            "start": 0,
            "end": 0,
            "probability": round(self.nothing(outputs, row), 6),
        }

    def nothing(self, outputs: Scored, row: int) -> float:
        """The probability that there is no answer."""
        scores = np.asarray(outputs[row], np.float64)
        total = np.logaddexp(best_spans(scores[1:], self.answer_length or 1)[1], scores[0].sum())
        return float(np.exp(scores[0].sum() - total))

    def trace_examples(self, trained: Trained, inputs, targets=None) -> tuple[Examples, list, None]:
        """Of long contexts the first window."""
        examples = self.examples(trained, inputs)
        return examples, rows.named(examples.inputs, trained.inputs), None

    # Scores

    def each(self, texts: list[str], targets: np.ndarray) -> np.ndarray:
        """(N, 2): exact match and F1."""
        return best_scores(texts, [one.texts for one in targets], self.rules)

    def score_terms(
        self, decided: np.ndarray, targets: np.ndarray, metric: str = "f1"
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.each(self.predictions(decided), targets)[:, int(metric == "f1")], np.ones(
            len(targets)
        )

    def scores(self, decided: np.ndarray, targets: np.ndarray) -> dict[str, float]:
        exact, f1 = (
            self.each(self.predictions(decided), targets).mean(0) if len(targets) else (0.0, 0.0)
        )
        return {"f1": float(f1), "exact_match": float(exact)}

    def confusion(self, decided, targets) -> None:
        return None

    def missed(self, outputs, decided: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N,): 0 where the answer is right, and the more the surer a wrong one was."""
        wrong = 1 - self.each(self.predictions(decided), targets)[:, 1]
        return wrong * (1 + np.array([one.probability for one in decided]))

    def mistakes(self, outputs, decided: np.ndarray, targets: np.ndarray, inputs) -> list[dict]:
        texts = self.predictions(decided)
        return [
            {
                "input": shown(tuple(pair)[::-1]),
                "expected": shown(target.texts[0] if target.texts else "–"),
                "answer": shown(text or "–"),
                "probability": one.probability,
            }
            for pair, target, text, one in zip(inputs, targets, texts, decided)
        ]

    # Keeping

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "answer_length": self.answer_length,
            "rules": self.rules,
            "impossible": self.impossible,
            "threshold": self.threshold,
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Answer":
        task = cls(answer_length=take.maybe_integer(saved, "answer_length", 1))
        task.rules, task.impossible = (
            take.one_of(saved, "rules", RULES),
            take.flag(saved, "impossible"),
        )
        task.threshold = take.number(saved, "threshold")
        return task

    profile = Profile(
        phrase("task", "answer"),
        measure_rows,
        describe_questions,
        few_rows=([("a b c", "a d"), ("b c e", "b d")] * 2, ["b", "c"] * 2),
        unskilled=likest_sentence,
        next_command="answer {run} --context … --question …",
        at_once=256,
    )


def as_json(span: AnswerSpan) -> dict:
    return {
        "answer": span.text,
        "start": span.start,
        "end": span.end,
        "probability": round(span.probability, 6),
    }


def token_spans(passages: Passages, spans: list[list[tuple[int, int]]]) -> np.ndarray:
    """(N, K, 2): the first and the last element of every row that each of its answers, given by their characters, touches; −1
    where a row has fewer, and 0 and 0 alone where it has none."""
    elements = np.full((len(spans), max(1, max(map(len, spans), default=1)), 2), -1, np.int64)
    elements[:, 0] = 0
    for row, known in enumerate(spans):
        places, kept = passages.places_in_text[passages.starts[row] + 1 : passages.stops[row]], {}
        for start, end in known if len(places) else ():
            first, last = (
                int(np.searchsorted(places[:, 1], start, "right")),
                int(np.searchsorted(places[:, 0], end)) - 1,
            )
            if first <= last:
                kept[first + 1, last + 1] = None
        for number, span in enumerate(kept):
            elements[row, number] = span
    return elements
