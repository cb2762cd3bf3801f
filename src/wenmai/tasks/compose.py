"""compose, 1→N: a text for a label, a row of numbers or an image.

    perplexity = exp(−Σ log p / tokens), of a word, a subword or a character      bits per byte = −Σ log₂ p / bytes

Every text counts its end as a token, and as a byte. Exact match is the share of texts that the most probable token at every step
spells out."""

from collections.abc import Callable
from math import exp, log

import numpy as np

from wenmai.data import values
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.errors import Mistake
from wenmai.layers.heads import Next
from wenmai.locale import phrase
from wenmai.tasks import rows, writing
from wenmai.tasks.columns import ANSWERS, labels_in, line_of, numbers, texts_in
from wenmai.tasks.contract import Answers, Parts, Scores, Trained, Untrained, row_name
from wenmai.tasks.decoding import Choice, together
from wenmai.tasks.generate import unknown_tokens
from wenmai.tasks.measuring.baselines import of_compositions
from wenmai.tasks.measuring.compositions import composition_terms, measure_compositions
from wenmai.tasks.overviews import describe_compositions
from wenmai.tasks.profile import Profile, has_every_kind, unit_of_tokens

TOGETHER = 256  # texts that are written at once
GREEDY = Choice(temperature=0.0)


class Compose:
    name, metric, higher_is_better = "compose", "perplexity", False
    metrics = ("perplexity", "bits_per_byte", "exact_match")
    target = "text"
    texts, history = "labels", None  # texts that are read are labels; rows have no order in time
    reads = staticmethod(kinds_of_input.learn_both)
    estimator_type = None

    inspect_targets, split, held_out = rows.no_notes, rows.split, rows.held_out
    to_json, from_json = rows.name_alone, classmethod(rows.made_anew)
    training_examples, outputs, log_prob = (
        writing.training_examples,
        writing.outputs,
        writing.log_prob,
    )
    cut_notes = staticmethod(writing.target_cut_notes)
    running_text = two_texts = False
    writes_from_a_start = (
        True  # with --from: what goes on with a text goes on from what it is told (starting.py)
    )

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "image" in names and "text" in names

    def inputs_of(self, chunk: Chunk, source: str):
        """An image, else a label, else all columns but the text as numbers."""
        columns = chunk.columns
        if "image" in columns:
            return np.asarray(columns["image"])
        if "label" in columns:
            return labels_in(chunk, source)
        names = [name for name in columns if name not in (*ANSWERS, "text")]
        if not names:
            raise Mistake(
                "{file} has the columns {names}; to compose, it takes a label, numbers or an image beside the text: "
                "name them with --columns label=NAME,text=NAME.",
                file=source,
                names=listed(columns) or "–",
            )
        return numbers(columns, names, chunk.lines, source)

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "text" not in chunk.columns:
            raise Mistake(
                "{file} has no column text (found: {names}), which is what a model learns to write; name it with "
                "--columns text=NAME,….",
                file=source,
                names=listed(chunk.columns),
            )
        texts = texts_in(chunk, "text", source)
        self.encode(texts, line_of(chunk, source))
        return texts

    def prepare(self, inputs, targets=None):
        if isinstance(inputs, Sequences):
            raise Mistake(
                "found numeric sequences; to compose, give a label, a row of numbers or an image for every text."
            )
        return inputs, targets

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of. Of labels there are few: the texts part them."""
        return (
            (inputs, None)
            if isinstance(inputs, np.ndarray) and inputs.ndim > 1
            else (targets, list(map(str, inputs)))
        )

    def learn(self, targets, where=row_name) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            raise Mistake(
                "found one text only ({only}) in {rows} rows; to compose, at least two are needed.",
                only=short(targets[0]) if targets else "–",
                rows=len(targets),
            )
        return []

    def encode(self, targets, where=row_name) -> None:
        """What is to be written is encoded by its tokenizer; here it is looked at."""
        for row, text in enumerate(targets):
            if not isinstance(text, str):
                raise Mistake(
                    "{where}: expected a text to write, found {type} {value!r}.",
                    where=where(row),
                    type=type(text).__name__,
                    value=str(text)[:40],
                )
            if not text.strip():
                raise Mistake(
                    "{where}: the text is empty; give every row a text to write or drop the row.",
                    where=where(row),
                )

    def head(self, inputs) -> Next:
        return Next.of(inputs.target)

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False):
        return self.reads(inputs, targets, self.texts, **options)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        examples = self.examples(untrained, *rows.watched(self, parts, seed))
        return lambda trained: exp(min(700.0, -self.mean_log_prob(trained, examples)))

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        inputs, targets = self.prepare(
            values.listed(inputs), None if targets is None else values.listed(targets)
        )
        if targets is not None:
            self.encode(targets, where)
        source = trained.inputs.source
        if not len(inputs) and source.kind != "labels":
            inputs = np.zeros((0, *(source.shape if source.kind == "image" else (source.width,))))
        return self.encoded(trained, inputs, targets)

    def encoded(self, trained: Trained, inputs, targets=None) -> Examples:
        written = None if targets is None else trained.inputs.target.encode(targets)
        return Examples(
            trained.inputs.encode(inputs), written=written, longest=trained.inputs.longest
        )

    def mean_log_prob(self, trained: Trained, examples: Examples) -> float:
        """Of a token, ends of texts among them."""
        return float(writing.text_log_probs(trained, examples).sum()) / int(
            examples.written.lengths.sum()
        )

    def greedy(self, trained: Trained, encoded: np.ndarray) -> list[tuple[str, float]]:
        """(the text of the most probable token at every step, its log p) for every row; equal labels are answered once."""
        distinct, which = (
            np.unique(encoded, return_inverse=True)
            if encoded.ndim == 1
            else (encoded, np.arange(len(encoded)))
        )
        texts, most, end = [], trained.inputs.target.written, trained.inputs.target.special.end
        for start in range(0, len(distinct), TOGETHER):
            part = distinct[start : start + TOGETHER]
            first, state = writing.begin(trained, part, most)
            chosen, sums = together(
                writing.stepper(trained), first, state, most, GREEDY, [0] * len(part), end, lines=1
            )
            texts += zip((writing.text_of(trained, tokens) for tokens in chosen), sums)
        return [texts[at] for at in which.tolist()]

    def predict(self, trained: Trained, inputs) -> tuple[np.ndarray, list[str]]:
        """A text for every input: the most probable token at every step, so always the same one."""
        texts = self.greedy(trained, self.examples(trained, inputs).inputs)
        return np.array([text for text, _ in texts], object), []

    def predict_proba(self, trained: Trained, inputs):
        raise Mistake(
            "a Composer writes texts, of which there is no table; log_prob(inputs, texts) says how probable they are."
        )

    def answers(self, trained: Trained, inputs) -> Answers:
        """{"text", "log_prob"} an input."""
        texts = self.greedy(trained, self.examples(trained, inputs).inputs)
        return Answers({"text": text, "log_prob": round(log_prob, 6)} for text, log_prob in texts)

    def evaluate(self, trained: Trained, inputs, targets, where=row_name) -> Scores:
        texts = values.listed(targets)
        examples = rows.pairs(self, trained, inputs, texts, where)
        written, tokens = examples.written, int(examples.written.lengths.sum())
        unknown = int((written.flat == trained.inputs.target.special.unknown).sum())
        notes = unknown_tokens(unknown, tokens) + self.cut_notes(trained, examples)
        sizes, right = self.sizes(trained, written, texts), self.right(trained, examples, texts)
        return Scores(
            self.scores(writing.text_log_probs(trained, examples), written.lengths, sizes, right),
            notes,
        )

    def sizes(self, trained: Trained, written: Sequences, texts: list[str]) -> np.ndarray:
        """(N,): bytes of every text with its end, or of what is left of one that was cut."""
        sizes = np.fromiter(
            (len(text.encode("utf-8", "replace")) + 1 for text in texts), np.int64, len(texts)
        )
        for row in np.flatnonzero(
            written.flat[written.offsets[1:] - 1] != trained.inputs.target.special.end
        ):
            sizes[row] = len(
                writing.text_of(trained, written[int(row)].tolist()).encode("utf-8", "replace")
            )
        return sizes

    def right(self, trained: Trained, examples: Examples, texts: list[str]) -> np.ndarray:
        answers = self.greedy(trained, examples.inputs)
        return np.fromiter(
            (one == other for one, (other, _) in zip(texts, answers)), bool, len(texts)
        )

    def score_terms(self, trained: Trained, inputs, targets, metric: str) -> tuple[np.ndarray, ...]:
        """What every text adds: −log p, tokens, bytes, and 0; or whether it is right, of 1."""
        texts = values.listed(targets)
        examples = rows.pairs(self, trained, inputs, texts)
        if metric == "exact_match":
            return self.right(trained, examples, texts), np.ones(len(texts))
        sizes = self.sizes(trained, examples.written, texts)
        return (
            -writing.text_log_probs(trained, examples),
            examples.written.lengths,
            sizes,
            np.zeros(len(texts)),
        )

    def score(self, trained: Trained, inputs, targets) -> float:
        """The mean log p of a token, −log of the perplexity: as scikit-learn wants it, more is better."""
        return self.mean_log_prob(trained, rows.pairs(self, trained, inputs, targets))

    def trace_examples(self, trained: Trained, inputs, targets=None) -> tuple[Examples, None, list]:
        """Without targets, of the texts that it writes itself."""
        targets = self.predict(trained, inputs)[0].tolist() if targets is None else targets
        examples = rows.pairs(self, trained, inputs, targets)
        lines = trained.inputs.target.lines
        return (
            examples,
            None,
            [writing.token_names(lines, tokens.tolist()) for tokens in examples.written],
        )

    def scores(
        self, sums: np.ndarray, lengths: np.ndarray, sizes: np.ndarray, right: np.ndarray
    ) -> dict[str, float]:
        """Of N texts: Σ log p, tokens, bytes, and whether the most probable text was this one."""
        total = -float(sums.sum())
        mean = total / max(1, int(lengths.sum()))
        return {
            "perplexity": exp(min(mean, 700.0)),
            "bits_per_byte": total / log(2) / max(1, int(sizes.sum())),
            "exact_match": float(right.mean()),
        }

    profile = Profile(
        phrase("task", "compose"),
        measure_compositions,
        describe_compositions,
        few_rows=(["x", "y"] * 2, ["a b", "c d"] * 2),
        terms=composition_terms,
        baseline=of_compositions,
        complete=has_every_kind,
        unit=unit_of_tokens,
        next_command="compose {run} …",
    )
