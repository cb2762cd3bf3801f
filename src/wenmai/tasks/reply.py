"""reply, N→M: the answer to a question about a text is written out, word by word, as a translation is.

Question and context are encoded apart (data/inputs/stories.py, models/repliers.py).

    exact match = answers with the same words / all        F1: over the words that both have (reading_scores.py)
"""

from collections.abc import Callable

import numpy as np

from wenmai.data import values
from wenmai.data.examples.rows import Examples
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs.stories import Stories
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.errors import Mistake
from wenmai.locale import phrase
from wenmai.tasks import hypotheses, rows, writing
from wenmai.tasks.columns import line_of, texts_in
from wenmai.tasks.contract import Answers, Parts, Trained, Untrained, row_name
from wenmai.tasks.measuring.baselines import bag_of_words
from wenmai.tasks.measuring.translations import measure_translations, translation_terms
from wenmai.tasks.overviews import describe_questions
from wenmai.tasks.profile import Profile
from wenmai.tasks.reading_scores import RULES, best_scores, rules_for
from wenmai.tasks.references import check_pairs, pairs_in
from wenmai.tasks.translate import JUDGED, Translate


class Reply:
    name, metric, higher_is_better, metrics = "reply", "exact_match", True, ("exact_match", "f1")
    target = "answer"
    groups = ("group", "task")  # columns that say of which group a row is
    takes = ("context", "question")  # for every answer
    texts, history = "tokens", None
    reads = staticmethod(Stories.learn)
    estimator_type = None

    inspect_targets, split, held_out, score = rows.no_notes, rows.split, rows.held_out, rows.score
    training_examples, outputs, log_prob = (
        writing.training_examples,
        writing.outputs,
        writing.log_prob,
    )
    # as translations are written
    head, encoded = Translate.head, Translate.encoded
    cut_notes, source_cut_notes = Translate.cut_notes, Translate.source_cut_notes
    sources, predict, hypotheses, evaluate = (
        Translate.sources,
        Translate.predict,
        Translate.hypotheses,
        Translate.evaluate,
    )
    trace_examples = Translate.trace_examples
    running_text = two_texts = False

    def __init__(self):
        self.rules = "squad"

    # The data

    @staticmethod
    def fits(names: list[str]) -> bool:
        return {"story", "question", "answer"} <= set(names)

    def inputs_of(self, chunk: Chunk, source: str) -> list[tuple[str, str]]:
        return pairs_in(chunk, source, "story" if "story" in chunk.columns else "context")

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "answer" not in chunk.columns:
            raise Mistake(
                "{file} has no column answer (found: {names}), which is what a model learns to write; name it with "
                "--columns answer=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        texts = texts_in(chunk, "answer", source)
        self.encode(texts, line_of(chunk, source))
        return texts

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share: a context with its question. Stories go on, and each question asks a little more of one."""
        check_pairs(inputs, row_name)
        return inputs, None

    def prepare(self, inputs, targets=None):
        check_pairs(inputs, row_name)
        return [(context, question) for context, question, *_ in inputs], targets

    def learn(self, targets, where=row_name) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            raise Mistake(
                "found one answer only ({only}) in {rows} rows; to learn, at least two are needed.",
                only=short(targets[0]) if len(targets) else "–",
                rows=len(targets),
            )
        self.rules = rules_for(list(targets), False)
        return []

    def encode(self, targets, where=row_name) -> None:
        for row, text in enumerate(targets):
            if not isinstance(text, str) or not text.strip():
                raise Mistake(
                    "{where}: found {value!r} as an answer, expected a text to write; give one, or drop the row.",
                    where=where(row),
                    value=str(text)[:40],
                )

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False) -> Stories:
        return self.reads(list(inputs), list(targets), **options)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        """By what the most probable word at every step comes to."""
        inputs, targets, where = rows.watched(self, parts, seed)
        examples = self.examples(untrained, inputs, targets, where)
        some = np.sort(np.random.default_rng(0).permutation(len(examples))[:JUDGED])
        few, expected = examples.take(some), [targets[row] for row in some]
        return lambda trained: self.scores(
            [one.text for one in hypotheses.greedy(trained, few.inputs)], expected
        )[self.metric]

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        inputs, targets = (
            self.prepare(values.listed(inputs))[0],
            None if targets is None else values.listed(targets),
        )
        if targets is not None:
            self.encode(targets, where)
        return self.encoded(trained, inputs, targets)

    def predict_proba(self, trained: Trained, inputs):
        raise Mistake(
            "answers that are written out have no table; answers(inputs) says how probable each is."
        )

    def answers(self, trained: Trained, inputs, **how) -> Answers:
        """{"answer", "log_prob"} a question; `how` as a translation is searched for."""
        written = Translate.answers(self, trained, inputs, **how)
        renamed = ({"answer": one.pop("text"), **one} for one in written)
        return Answers(renamed, written.notes)

    # Scores

    def scores(self, answers: list[str], targets: list[str]) -> dict[str, float]:
        return {
            metric: float(self.each(answers, targets, metric).mean()) if len(targets) else 0.0
            for metric in self.metrics
        }

    def each(self, answers: list[str], targets: list[str], metric: str = "") -> np.ndarray:
        if metric == "f1":
            return best_scores(answers, [[target] for target in targets], self.rules)[:, 1]
        return np.fromiter(
            (words(one) == words(other) for one, other in zip(answers, targets)),
            np.float64,
            len(targets),
        )

    def score_terms(
        self, answers: list[str], targets: list[str], metric: str = ""
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.each(answers, targets, metric), np.ones(len(targets))

    # Keeping

    def to_json(self) -> dict:
        return {"name": self.name, "rules": self.rules}

    @classmethod
    def from_json(cls, saved: dict) -> "Reply":
        task = cls()
        task.rules = take.one_of(saved, "rules", RULES)
        return task

    profile = Profile(
        phrase("task", "reply"),
        measure_translations,
        describe_questions,
        few_rows=([("a b", "a c"), ("b c", "b d")] * 2, ["x", "y"] * 2),
        judged="exact_match",
        quick={"beam": 1},
        terms=translation_terms,
        baseline=bag_of_words,
        counted="tokens",
        next_command="answer {run} --context … --question …",
        at_once=1024,
    )


def words(text: str) -> list[str]:
    """Without spaces, which tokens that are put together again may lack, or have more of."""
    return tokenizers.WORD.findall(text)
