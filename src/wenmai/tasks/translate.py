"""translate, N→M: a text for a text. In another language, in another form, or shorter: summarising is the same task.

Translations are measured by BLEU, summaries by ROUGE-L (overlap.py). Where it is not said which they are, their lengths say it:
summaries, if by the median a source has 100 letters or more and is at least three times as long as its target. Where most targets
are a single word, a date or a number, they are right or wrong: exact match."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from wenmai.data import values
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.columns import listed, short
from wenmai.data.files.corpus import checked
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import copying
from wenmai.data.inputs.sides import Pairs
from wenmai.data.storage import saved as take
from wenmai.data.text.languages import SCRIPTS, WEIGHT
from wenmai.errors import Mistake
from wenmai.layers.copying import CopyHead
from wenmai.layers.heads import Next
from wenmai.locale import Message, phrase
from wenmai.tasks import hypotheses, overlap, rows, writing
from wenmai.tasks.columns import line_of, texts_in
from wenmai.tasks.contract import Answers, Parts, Scores, Trained, Untrained, row_name
from wenmai.tasks.measuring.translations import (
    lead,
    lead_or_copy,
    measure_translations,
    translation_terms,
)
from wenmai.tasks.overviews import describe_pairs
from wenmai.tasks.profile import Profile

BEAM, PENALTY = 5, 1.0
JUDGED = 500  # held-out texts that are translated each time training is judged
TIMES, LONG, SAMPLED = (
    3,
    100,
    2000,
)  # times as long, letters of a source, and rows that are looked at
WEIGHED = [(re.compile(f"[{SCRIPTS[name][0]}]"), weight) for name, weight in WEIGHT.items()]


class Translate:
    name, metric, higher_is_better = "translate", "bleu", True
    target = "target"
    texts, history = "tokens", None  # rows have no order in time
    reads = staticmethod(Pairs.learn)
    estimator_type = None

    inspect_targets, split, held_out, score = rows.no_notes, rows.split, rows.held_out, rows.score
    training_examples, outputs, log_prob = (
        writing.training_examples,
        writing.outputs,
        writing.log_prob,
    )
    running_text, two_texts = False, True

    def __init__(self, *, summarise: bool | None = None):
        """`summarise`: short texts for long ones are written, and ROUGE measures them; none: the lengths say it."""
        self.script: overlap.Script | None = None  # of the targets
        self.summarise = summarise
        self.single = False  # most targets are a word
        self.metric = "rouge_l" if summarise else "bleu"

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "source" in names and "target" in names

    def inputs_of(self, chunk: Chunk, source: str) -> list[str]:
        if "source" not in chunk.columns:
            raise Mistake(
                "{file} has no column source (found: {names}), which is what a model reads; name it with --columns "
                "source=NAME,target=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        return texts_in(chunk, "source", source)

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "target" not in chunk.columns:
            raise Mistake(
                "{file} has no column target (found: {names}), which is what a model learns to write; name it with "
                "--columns source=NAME,target=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        return not_empty(texts_in(chunk, "target", source), "target", line_of(chunk, source))

    def prepare(self, inputs, targets=None):
        """Sources are texts. The first that come with their targets, those of training, say whether these are summaries."""
        self.check_sources(inputs)
        if targets is not None and self.summarise is None:
            some = range(0, len(targets), max(1, len(targets) // SAMPLED))
            pairs = np.array(
                [(letters(inputs[row]), letters(str(targets[row]))) for row in some] or [(0, 0)]
            )
            lengths = np.median(pairs[:, 0]), np.median(pairs[:, 0] / pairs[:, 1].clip(1))
            self.summarise = bool(lengths[0] >= LONG and lengths[1] >= TIMES)
            self.measure()
        return inputs, targets

    def check_sources(self, inputs) -> None:
        if isinstance(inputs, Sequences) or (
            isinstance(inputs, np.ndarray) and (inputs.ndim > 1 or inputs.dtype.kind in "biuf")
        ):
            raise Mistake(
                "found numbers; to translate, give a text for every text that is to be written."
            )
        not_empty(inputs, "source", row_name)

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of: here, nothing."""
        self.check_sources(inputs)  # while rows are counted as they were given
        return inputs, None

    def learn(self, targets, where=row_name) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            raise Mistake(
                "found one target only ({only}) in {rows} rows; to translate, at least two are needed.",
                only=short(targets[0]) if len(targets) else "–",
                rows=len(targets),
            )
        self.script = overlap.script_of(targets)
        words = np.median([len(text.split()) for text in targets[:SAMPLED]])
        self.single = self.script in ("english", "spaced") and bool(words == 1)
        self.measure()
        return []

    def measure(self) -> None:
        self.metric = "rouge_l" if self.summarise else "exact_match" if self.single else "bleu"

    def encode(self, targets, where=row_name) -> None:
        """What is to be written is encoded by its tokenizer; here it is looked at."""
        not_empty(targets, "target", where)

    def head(self, inputs) -> Next:
        return Next.of(inputs.target)

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False) -> Pairs:
        return self.reads(texts_of(inputs), targets, **options)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        """The likeness of what it writes to what it should, character for character: of single words there is no BLEU."""
        examples = self.examples(untrained, *rows.watched(self, parts, seed))
        some = examples.take(np.sort(np.random.default_rng(0).permutation(len(examples))[:JUDGED]))
        expected = [
            writing.text_of(untrained, tokens.tolist(), hypotheses.own_words(some.inputs, row))
            for row, tokens in enumerate(some.written)
        ]
        return lambda trained: self.likeness(
            [one.text for one in hypotheses.greedy(trained, some.inputs)], expected
        )

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        inputs, targets = texts_of(inputs), None if targets is None else values.listed(targets)
        if targets is not None:
            self.encode(targets, where)
        return self.encoded(trained, inputs, targets)

    def encoded(self, trained: Trained, inputs, targets=None) -> Examples:
        pairs = trained.inputs
        if isinstance(trained.model.head, CopyHead):  # words of the source
            sources = copying.copied(pairs, inputs)
            written = None if targets is None else copying.written(pairs, targets, sources)
            return Examples(sources, written=written, longest=pairs.longest)
        written = None if targets is None else pairs.target.encode(targets)
        return Examples(pairs.encode(inputs), written=written, longest=pairs.longest)

    def cut_notes(self, trained: Trained, examples: Examples) -> list[str]:
        return writing.target_cut_notes(trained, examples) + self.source_cut_notes(
            trained, examples
        )

    def source_cut_notes(self, trained: Trained, examples: Examples) -> list[str]:
        over, most = trained.inputs.source.cut(examples.inputs), trained.inputs.source.most
        note = Message(
            "{count:,} of the texts that are read are longer than max_length={most:,} tokens: what goes beyond "
            "is not read",
            count=over,
            most=most,
        )
        return [note] if over else []

    def sources(
        self, trained: Trained, inputs, strict: bool = False, where=None
    ) -> tuple[Sequences, list[str]]:
        """(texts to write for, encoded; notes). One that is too long is cut, or, if `strict`, refused."""
        encoded, source = self.examples(trained, inputs).inputs, trained.inputs.source
        over = source.cut(encoded)
        if over and strict:
            row = int(
                np.flatnonzero(encoded.flat[encoded.offsets[1:] - 1] != source.special.end)[0]
            )
            place = where(row) if where else Message("input {row}", row=row + 1)
            raise Mistake(
                "{where}: it is longer than the {most:,} tokens that this model reads; shorten it, or leave "
                "strict out and what goes beyond is not read.",
                where=place,
                most=source.most,
            )
        note = Message(
            "{count:,} of the texts are longer than the {most:,} tokens that this model reads: what goes "
            "beyond is not read",
            count=over,
            most=source.most,
        )
        return encoded, [note] if over else []

    def predict(
        self,
        trained: Trained,
        inputs,
        *,
        beam: int = BEAM,
        penalty: float = PENALTY,
        strict: bool = False,
        precision: str = "float32",
    ) -> tuple[np.ndarray, list[str]]:
        """A text for every text, the best that beam search finds."""
        encoded, notes = self.sources(trained, inputs, strict)
        texts = [
            best.text for best, *_ in hypotheses.best(trained, encoded, beam, penalty, 1, precision)
        ]
        return np.array(texts, object), notes

    def predict_proba(self, trained: Trained, inputs):
        raise Mistake(
            "a Translator writes texts, of which there is no table; log_prob(sources, texts) says how probable they are."
        )

    def answers(
        self,
        trained: Trained,
        inputs,
        *,
        beam: int = BEAM,
        penalty: float = PENALTY,
        best: int = 1,
        alignment: bool = False,
        strict: bool = False,
        precision: str = "float32",
        where=None,
    ) -> Answers:
        """{"text", "log_prob"} a text; with `best` above 1 also the so many best, {"text", "score", "log_prob"} each; with
        `alignment` also the tokens of both and how much each that was written looked at each that was read, (T, S)."""
        encoded, notes = self.sources(trained, inputs, strict, where)
        lists = hypotheses.best(
            trained, encoded, max(beam, best) if best > 1 else beam, penalty, best, precision
        )
        answers = [
            {"text": first.text, "log_prob": round(first.log_prob, 6)} for first, *_ in lists
        ]
        for answer, some in zip(answers, lists) if best > 1 else ():
            answer["best"] = [
                {"text": one.text, "score": round(one.score, 6), "log_prob": round(one.log_prob, 6)}
                for one in some
            ]
        chosen = [first.tokens for first, *_ in lists]
        for answer, aligned in (
            zip(answers, hypotheses.alignments(trained, encoded, chosen)) if alignment else ()
        ):
            answer |= aligned
        return Answers(answers, notes)

    def hypotheses(
        self,
        trained: Trained,
        inputs,
        targets,
        where=row_name,
        *,
        beam: int = BEAM,
        penalty: float = PENALTY,
        precision: str = "float32",
    ) -> Answers:
        """What `evaluate` scores: the best Hypothesis for each row."""
        examples = rows.pairs(self, trained, inputs, targets, where)
        unknown, tokens = (
            int((examples.written.flat == trained.inputs.target.special.unknown).sum()),
            len(examples.written.flat),
        )
        note = Message(
            "{count:,} of the {tokens:,} tokens that are expected are unknown to the model, which never writes "
            "them",
            count=unknown,
            tokens=tokens,
        )
        notes = ([note] if unknown else []) + self.source_cut_notes(trained, examples)
        return Answers(
            (
                first
                for first, *_ in hypotheses.best(
                    trained, examples.inputs, beam, penalty, 1, precision
                )
            ),
            notes,
        )

    def evaluate(self, trained: Trained, inputs, targets, where=row_name, **search) -> Scores:
        """Every metric, of what beam search writes."""
        texts = values.listed(targets)
        answers = self.hypotheses(trained, inputs, texts, where, **search)
        return Scores(self.scores([one.text for one in answers], texts), answers.notes)

    def trace_examples(self, trained: Trained, inputs, targets=None) -> tuple[Examples, list, list]:
        """Without targets, of the texts that it writes itself."""
        if targets is None:
            encoded = self.sources(trained, inputs)[0]
            best = hypotheses.best(trained, encoded, BEAM, PENALTY, 1, "float32")
            written = Sequences.of([first.tokens for first, *_ in best])
            examples = Examples(encoded, written=written, longest=trained.inputs.longest)
        else:
            examples = rows.pairs(self, trained, inputs, targets)
        tokens = [
            (
                hypotheses.source_tokens(trained, examples.inputs, row),
                hypotheses.target_tokens(trained, examples.inputs, row, written.tolist()),
            )
            for row, written in enumerate(examples.written)
        ]
        return examples, [source for source, _ in tokens], [target for _, target in tokens]

    # Scores

    def signature(self) -> str:
        """What BLEU is counted and how, in sacrebleu's words."""
        return overlap.signature(self.script or "english")

    def scores(self, answers: list[str], targets: list[str]) -> dict[str, float]:
        script = self.script or overlap.script_of(targets)
        rows = overlap.rouge(answers, targets, script) if self.summarise else {}
        scores = {name: float(each.mean()) if len(each) else 0.0 for name, each in rows.items()}
        scores |= overlap.bleu_and_chrf(answers, targets, script)
        if self.metric == "bleu" and script in ("english", "spaced"):
            scores["bleu_lower"] = overlap.lower_bleu(answers, targets, script)
        return scores | {
            "exact_match": sum(map(str.__eq__, answers, targets)) / max(1, len(targets))
        }

    def likeness(self, answers: list[str], targets: list[str]) -> float:
        """What training is judged by: chrF, which sees half a word that is right, where BLEU sees nothing."""
        return overlap.bleu_and_chrf(answers, targets, self.script or overlap.script_of(targets))[
            "chrf"
        ]

    def each(self, answers: list[str], targets: list[str], metric: str = "") -> np.ndarray:
        """The metric of every row by itself (N,): ROUGE, or whether it is right. BLEU and chrF are of all rows at once."""
        if (metric or self.metric).startswith("rouge"):
            return overlap.rouge(answers, targets, self.script or overlap.script_of(targets))[
                metric or self.metric
            ]
        return np.fromiter(map(str.__eq__, answers, targets), np.float64, len(targets))

    @property
    def metrics(self) -> tuple[str, ...]:
        own = ("rouge_1", "rouge_2", "rouge_l") if self.summarise else ()
        return (
            self.metric,
            *(name for name in (*own, "bleu", "chrf", "exact_match") if name != self.metric),
        )

    def score_terms(
        self, answers: list[str], targets: list[str], metric: str = ""
    ) -> tuple[np.ndarray, ...]:
        """What every row adds: counts of n-grams, of which BLEU and chrF are made; or its own score, of 1."""
        script, metric = self.script or overlap.script_of(targets), metric or self.metric
        if metric in ("bleu", "chrf"):
            return (
                overlap.bleu_counts(answers, targets, script)
                if metric == "bleu"
                else overlap.chrf_counts(answers, targets),
            )
        return self.each(answers, targets, metric), np.ones(len(targets))

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "summarise": bool(self.summarise),
            "single": self.single,
            "script": self.script,
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Translate":
        task = cls(summarise=take.flag(saved, "summarise"))
        task.script, task.single = (
            take.one_of(saved, "script", overlap.SCRIPTS),
            take.flag(saved, "single"),
        )
        task.measure()
        return task

    profile = Profile(
        phrase("task", "translate"),
        measure_translations,
        describe_pairs,
        few_rows=(["a b", "c d"] * 2, ["x y", "z"] * 2),
        judged="chrf",
        quick={"beam": 1},
        settled=("summarise",),
        terms=translation_terms,
        baseline=lead_or_copy,
        remark=lambda data, metric, best, without: lead(data, best),
        details=lambda task: {"signature": task.signature()},
        counted="tokens",
        next_command="translate {run} …",
        at_once=1024,
        blank_answer={"text": "", "log_prob": 0.0},
    )


def not_empty(texts: Sequence[str], side: str, where):
    """The same texts, or what is wrong with the first of them that is none."""
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise Mistake(
                "{where}: expected a text, found {value}; to translate, give a text for a text.",
                where=where(row),
                value=f"{type(text).__name__} {str(text)[:40]!r}",
            )
        if not text.strip():
            if side == "source":
                raise Mistake(
                    "{where}: the source is empty; give it a text to read or drop the row.",
                    where=where(row),
                )
            raise Mistake(
                "{where}: the target is empty; give it a text to write or drop the row.",
                where=where(row),
            )
    return texts


def texts_of(inputs) -> list[str]:
    texts = []
    for row, text in enumerate(checked(values.listed(inputs)), 1):
        if not text.strip():
            raise Mistake(
                "input {row}: the text is empty; give every row a text to read or drop the row.",
                row=row,
            )
        texts.append(text)
    return texts


def letters(text: str) -> int:
    """How long a text is, in letters: a Chinese character says as much as four."""
    return len(text) + sum((weight - 1) * len(script.findall(text)) for script, weight in WEIGHED)
