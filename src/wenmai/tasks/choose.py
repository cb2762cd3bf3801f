"""choose, N→1 of its own: which of several answers is right, of a question about a context. Any number of choices, another for
every row.

    z_k = score([CLS] context [SEP] question choice_k [SEP])        log p = log softmax(z) over the choices of a row
    accuracy = right / all
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.choices import Choices
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.files.columns import listed as listed_names
from wenmai.data.files.columns import short
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.values import listed
from wenmai.errors import Mistake
from wenmai.layers.questions import Score
from wenmai.locale import Message, phrase
from wenmai.tasks import rows
from wenmai.tasks.columns import line_of, shown
from wenmai.tasks.contract import Answers, Trained, TrainingExamples, Untrained, row_name
from wenmai.tasks.measuring.baselines import likest_choice
from wenmai.tasks.measuring.rows import measure_rows
from wenmai.tasks.overviews import describe_questions
from wenmai.tasks.profile import Profile
from wenmai.tasks.references import check_pairs, pairs_in
from wenmai.training import memory


class Choose:
    name, metric, higher_is_better, metrics = "choose", "accuracy", True, ("accuracy",)
    target = "answer"
    groups = ("group", "task")  # columns that say of which group a row is
    takes = ("context", "question", "choices")  # for every answer
    texts, history = (
        "tokens",
        None,
    )  # context and question are a pair of texts; rows have no order in time
    reads = staticmethod(kinds_of_input.learn)
    estimator_type, output_type = None, np.float32

    # what every task with a target a row does
    inspect_targets, split, held_out, judge = rows.no_notes, rows.split, rows.held_out, rows.judge
    evaluate, score = rows.evaluate, rows.score
    to_json, from_json = rows.name_alone, classmethod(rows.made_anew)
    running_text = two_texts = False

    # The data

    @staticmethod
    def fits(names: list[str]) -> bool:
        return {"context", "question", "choices", "answer"} <= set(names)

    def inputs_of(self, chunk: Chunk, source: str) -> list[tuple]:
        if "choices" not in chunk.columns:
            raise Mistake(
                "{file} has no column choices (found: {names}); name it with --columns context=NAME,question=NAME,"
                "choices=NAME,answer=NAME.",
                file=source,
                names=listed_names(chunk.columns),
            )
        where = line_of(chunk, source)
        choices = [
            choices_of(cell, where(row)) for row, cell in enumerate(chunk.columns["choices"])
        ]
        return [(*pair, cell) for pair, cell in zip(pairs_in(chunk, source), choices)]

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        """The text of the right one; it may be given by its number, from 0 on, where no choice is written so."""
        if "answer" not in chunk.columns:
            raise Mistake(
                "{file} has no column answer (found: {names}), which says the right choice; name it with --columns "
                "answer=NAME.",
                file=source,
                names=listed_names(chunk.columns),
            )
        where, answers = line_of(chunk, source), []
        for row, (choices, answer) in enumerate(
            zip(chunk.columns["choices"], chunk.columns["answer"])
        ):
            answers.append(
                choices_of(choices, where(row))[
                    number_of(answer, choices_of(choices, where(row)), where(row))
                ]
            )
        return answers

    def split_keys(self, inputs, targets) -> tuple:
        """No two parts share a context."""
        check_pairs(inputs, row_name)
        return [context for context, *_ in inputs], None

    def prepare(self, inputs, targets=None):
        """(context, question, choices) a row; the target is the number of the right one among them."""
        check_pairs(inputs, row_name)
        if any(len(row) != 3 for row in inputs):
            row = next(number for number, row in enumerate(inputs) if len(row) != 3)
            raise Mistake(
                "{where}: found {parts} parts, expected a context, a question and a list of choices.",
                where=row_name(row),
                parts=len(inputs[row]),
            )
        inputs = [
            (row[0], row[1], choices_of(row[2], row_name(number)))
            for number, row in enumerate(inputs)
        ]
        if targets is not None:
            pairs = enumerate(zip(inputs, targets))
            targets = [
                number_of(target, choices, row_name(row)) for row, ((*_, choices), target) in pairs
            ]
        return inputs, targets

    def learn(self, targets, where=row_name) -> list[str]:
        return []

    def encode(self, targets, where=row_name) -> np.ndarray:
        return np.asarray(targets, np.int64)

    def head(self, inputs=None) -> Score:
        return Score()

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False):
        return self.reads(texts_read(inputs), self.texts, framed, **options)

    def training_examples(
        self, untrained: Untrained, inputs, targets, numbers: np.ndarray, where: Callable
    ) -> TrainingExamples:
        examples = self.encoded(untrained, inputs, self.encode(targets))
        return TrainingExamples(
            examples, rows.places(numbers, where), cut_notes(untrained, examples)
        )

    def encoded(self, trained: Trained, inputs, targets: np.ndarray | None = None) -> Examples:
        offsets = offsets_of(
            np.fromiter((len(choices) for *_, choices in inputs), np.int64, len(inputs))
        )
        texts = trained.inputs.encode(texts_read(inputs)) if inputs else Sequences.of([])
        choices = Choices(np.arange(offsets[-1]), offsets, texts)
        return Examples(choices, targets, longest=int(max(1, trained.inputs.longest)))

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        inputs, targets = self.prepare(listed(inputs), None if targets is None else listed(targets))
        return self.encoded(
            trained, inputs, None if targets is None else self.encode(targets, where)
        )

    def outputs(self, trained: Trained, examples: Examples) -> Sequences:
        """log p of every choice, rows of (K, 1)."""
        choices, texts = examples.inputs, examples.inputs.texts
        pieces = Examples(texts, longest=examples.longest)
        lengths, table = (
            np.clip(texts.lengths_of(choices.flat), 1, examples.longest),
            np.empty((len(choices.flat), 1), np.float32),
        )

        def batch_outputs(some: np.ndarray) -> np.ndarray:
            return trained.model(pieces.batch(choices.flat[some]).to(trained.device)).cpu().numpy()

        with torch.inference_mode():
            tokens = 4096 if trained.device == "cpu" else 16_384
            for some, values in memory.in_pieces(
                by_length(lengths, tokens), batch_outputs, trained.device
            ):
                table[some] = values
        return Sequences(log_softmax(table, choices.offsets), choices.offsets)

    def streamed(self, trained: Trained, examples: Examples) -> Iterator[tuple]:
        outputs = self.outputs(trained, examples)
        yield np.arange(len(examples)), outputs, self.decide(outputs, trained.model)

    def decide(self, outputs: Sequences, model=None) -> np.ndarray:
        """(N,) the number of the best choice."""
        return np.array([int(row.argmax()) for row in outputs], np.int64)

    def predict(self, trained: Trained, inputs) -> tuple:
        """The texts that were chosen."""
        inputs = self.prepare(listed(inputs))[0]
        chosen = rows.decided(self, trained, self.encoded(trained, inputs))
        texts = np.empty(len(inputs), object)
        texts[:] = [choices[number] for (*_, choices), number in zip(inputs, chosen)]
        return texts, []

    def predict_proba(self, trained: Trained, inputs) -> list[np.ndarray]:
        """(K,) for every row, in the order of its choices."""
        return [np.exp(row[:, 0]) for row in self.outputs(trained, self.examples(trained, inputs))]

    def answers(self, trained: Trained, inputs, *, best: int = 1, top_k: int = 0) -> Answers:
        """{"answer", "choice", "probability"} a question: the text, and its number; with `best` above 1 so many of them."""
        inputs, answers = self.prepare(listed(inputs))[0], []
        examples = self.encoded(trained, inputs)
        for (*_, choices), row in zip(inputs, self.outputs(trained, examples)):
            ranked = [
                {
                    "answer": choices[number],
                    "choice": number,
                    "probability": round(float(np.exp(row[number, 0])), 6),
                }
                for number in np.argsort(-row[:, 0], kind="stable").tolist()
            ]
            many = max(best, top_k)
            answers.append(ranked[0] | ({"best": ranked[:many]} if many > 1 else {}))
        return Answers(answers, cut_notes(trained, examples))

    def trace_examples(
        self, trained: Trained, inputs, targets=None
    ) -> tuple[Examples, list | None, None]:
        """Of every choice, the tokens that are read."""
        examples = self.examples(trained, inputs)
        return examples, rows.named(examples.inputs.texts, trained.inputs), None

    # Scores

    def scores(self, decided: np.ndarray, targets: np.ndarray) -> dict[str, float]:
        return {"accuracy": float((decided == targets).mean()) if len(targets) else 0.0}

    def score_terms(
        self, decided: np.ndarray, targets: np.ndarray, metric: str = "accuracy"
    ) -> tuple[np.ndarray, np.ndarray]:
        return (decided == targets).astype(np.float64), np.ones(len(targets))

    def confusion(self, decided, targets) -> None:
        return None

    def missed(self, outputs: Sequences, decided: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N,): 0 where the choice is right, and the more the surer a wrong one was."""
        return np.array(
            [
                float(row[chosen, 0] - row[right, 0]) + (chosen != right)
                for row, chosen, right in zip(outputs, decided, targets)
            ]
        )

    def mistakes(
        self, outputs: Sequences, decided: np.ndarray, targets: np.ndarray, inputs
    ) -> list[dict]:
        return [
            {
                "input": shown((question, context)),
                "expected": shown(choices[right]),
                "answer": shown(choices[chosen]),
                "probability": float(np.exp(row[chosen, 0])),
            }
            for (context, question, choices), row, chosen, right in zip(
                inputs, outputs, decided, targets
            )
        ]

    profile = Profile(
        phrase("task", "choose"),
        measure_rows,
        describe_questions,
        few_rows=([("a b", "a?", ["b", "c"]), ("b c", "b?", ["c", "a"])] * 2, ["b", "c"] * 2),
        unskilled=likest_choice,
        next_command="answer {run} --context … --question … --choice … --choice …",
    )


def choices_of(choices, where) -> tuple[str, ...]:
    """A list of texts, or one text with | between them."""
    choices = [part.strip() for part in choices.split("|")] if isinstance(choices, str) else choices
    if not isinstance(choices, (list, tuple)) or not all(
        isinstance(one, str) and one.strip() for one in choices
    ):
        raise Mistake(
            '{where}: found {value!r} as choices, expected a list of texts such as ["yes", "no"], or yes|no.',
            where=where,
            value=str(choices)[:40],
        )
    if len(choices) < 2:
        raise Mistake(
            "{where}: found {count} choice, expected two or more to choose among.",
            where=where,
            count=len(choices),
        )
    return tuple(choices)


def number_of(answer, choices: tuple[str, ...], where) -> int:
    text = str(answer).strip()
    index = next((number for number, choice in enumerate(choices) if choice.strip() == text), None)
    if (
        index is None and text.isdecimal() and len(text) < 10 and int(text) < len(choices)
    ):  # of thousands of digits, none is made
        index = int(text)
    if index is None:
        raise Mistake(
            "{where}: the answer {answer!r} is none of the choices ({names}); correct the row.",
            where=where,
            answer=short(text),
            names=listed_names(choices),
        )
    return index


def texts_read(inputs) -> list[tuple[str, str]]:
    """(context, question and choice), for every choice of every row."""
    return [
        (context, f"{question} {choice}")
        for context, question, choices in inputs
        for choice in choices
    ]


def log_softmax(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Over the choices of every row."""
    if not len(scores):
        return scores
    sizes = np.diff(offsets)
    scores = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes, 0)
    return scores - np.repeat(np.log(np.add.reduceat(np.exp(scores), offsets[:-1])), sizes, 0)


def cut_notes(trained: Trained, examples: Examples) -> list[str]:
    """A question is one text, however many choices it has."""
    choices, texts, most = examples.inputs, examples.inputs.texts, trained.inputs.longest
    lengths = (texts.lengths if texts.uncut is None else texts.uncut)[choices.flat]
    lengths = np.maximum.reduceat(lengths, choices.starts) if len(lengths) else lengths
    over = int((lengths > most).sum())
    note = Message(
        "{over:,} of the {rows:,} texts are cut: a network reads {most:,} tokens of them, the longer part is cut "
        "first",
        over=over,
        rows=len(lengths),
        most=most,
    )
    return [note] if over else []
