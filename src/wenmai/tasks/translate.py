"""translate, N→M: a text for a text. In another language, in another form, or shorter: summarising is the same task.

Translations are measured by BLEU, summaries by ROUGE-L (overlap.py). Where it is not said which they are, their lengths say it:
summaries, if by the median a source has 100 letters or more and is at least three times as long as its target. Where most targets
are a single word, a date or a number, they are right or wrong: exact match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.storage import saved as take
from wenmai.data.text.languages import SCRIPTS, WEIGHT
from wenmai.errors import Mistake
from wenmai.layers.heads import Next
from wenmai.locale import Message, phrase
from wenmai.tasks import overlap
from wenmai.tasks.columns import texts_in
from wenmai.tasks.measuring.translations import lead, measure_translations
from wenmai.tasks.overviews import describe_pairs
from wenmai.tasks.profile import Profile

TIMES, LONG, LOOKED_AT = 3, 100, 2000  # times as long, letters of a source, and rows that are looked at
WEIGHED = [(re.compile(f"[{SCRIPTS[name][0]}]"), weight) for name, weight in WEIGHT.items()]


class Translate:
    name, metric, higher_is_better = "translate", "bleu", True
    target = "target"
    texts, history = "tokens", None  # rows have no order in time
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
            names = listed(chunk.columns)
            raise Mistake("{file} has no column source (found: {names}), which is what a model reads; name it with --columns "
                          "source=NAME,target=NAME.", file=source, names=names)  # fmt: skip
        return texts_in(chunk, "source", source)

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "target" not in chunk.columns:
            names = listed(chunk.columns)
            raise Mistake("{file} has no column target (found: {names}), which is what a model learns to write; name it with "
                          "--columns source=NAME,target=NAME.", file=source, names=names)  # fmt: skip
        return not_empty(
            texts_in(chunk, "target", source),
            "target",
            lambda row: Message("{file}, line {line}", file=source, line=chunk.lines[row]),
        )

    def look(self, targets, where) -> list[str]:
        return []

    def arranged(self, inputs, targets=None):
        """Sources are texts. The first that come with their targets, those of training, say whether these are summaries."""
        self.check_sources(inputs)
        if targets is not None and self.summarise is None:
            self.decide_kind(inputs, targets)
        return inputs, targets

    def check_sources(self, inputs) -> None:
        if isinstance(inputs, Sequences) or (isinstance(inputs, np.ndarray) and (inputs.ndim > 1 or inputs.dtype.kind in "biuf")):
            raise Mistake("found numbers; to translate, give a text for every text that is to be written.")
        not_empty(inputs, "source", lambda row: Message("row {row}", row=row + 1))

    def decide_kind(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        rows = range(0, len(targets), max(1, len(targets) // LOOKED_AT))
        pairs = np.array([(letters(sources[row]), letters(str(targets[row]))) for row in rows] or [(0, 0)])
        lengths = np.median(pairs[:, 0]), np.median(pairs[:, 0] / pairs[:, 1].clip(1))
        self.summarise = bool(lengths[0] >= LONG and lengths[1] >= TIMES)
        self.measure()

    def apart(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of: here, nothing."""
        self.check_sources(inputs)  # while rows are counted as they were given
        return inputs, None

    def learn(self, targets, where=lambda row: Message("row {row}", row=row + 1)) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            only = short(targets[0]) if len(targets) else "–"
            raise Mistake("found one target only ({only}) in {rows} rows; to translate, at least two are needed.", only=only,
                          rows=len(targets))  # fmt: skip
        self.script = overlap.script_of(targets)
        words = np.median([len(text.split()) for text in targets[:LOOKED_AT]])
        self.single = self.script in ("english", "spaced") and bool(words == 1)
        self.measure()
        return []

    def measure(self) -> None:
        self.metric = "rouge_l" if self.summarise else "exact_match" if self.single else "bleu"

    def encode(self, targets, where=lambda row: Message("row {row}", row=row + 1)) -> None:
        """What is to be written is encoded by its tokenizer; here it is looked at."""
        not_empty(targets, "target", where)

    def head(self) -> Next:
        return Next()

    def signature(self) -> str:
        """What BLEU is counted and how, in sacrebleu's words."""
        return overlap.signature(self.script or "english")

    def scores(self, answers: list[str], targets: list[str]) -> dict[str, float]:
        script = self.script or overlap.script_of(targets)
        rows = overlap.rouge(answers, targets, script) if self.summarise else {}
        found = {name: float(each.mean()) if len(each) else 0.0 for name, each in rows.items()}
        found |= overlap.bleu_and_chrf(answers, targets, script)
        if self.metric == "bleu" and script in ("english", "spaced"):
            found["bleu_lower"] = overlap.lower_bleu(answers, targets, script)
        return found | {"exact_match": sum(map(str.__eq__, answers, targets)) / max(1, len(targets))}

    def likeness(self, answers: list[str], targets: list[str]) -> float:
        """What training is judged by: chrF, which sees half a word that is right, where BLEU sees nothing."""
        return overlap.bleu_and_chrf(answers, targets, self.script or overlap.script_of(targets))["chrf"]

    def each(self, answers: list[str], targets: list[str]) -> np.ndarray:
        """The metric of every row by itself (N,): ROUGE-L, or whether it is right. BLEU is of all rows at once."""
        if self.metric == "rouge_l":
            return overlap.rouge(answers, targets, self.script or overlap.script_of(targets))["rouge_l"]
        return np.fromiter(map(str.__eq__, answers, targets), np.float64, len(targets))

    def drawn(self, answers: list[str], targets: list[str], samples: int = 1000) -> np.ndarray:
        """The metric on test sets drawn again from this one (samples,), the same for every rung: BLEU is no ratio of sums."""
        script, generator, found = self.script or overlap.script_of(targets), np.random.default_rng(0), np.empty(samples)
        counts = overlap.bleu_counts(answers, targets, script) if self.metric == "bleu" else self.each(answers, targets)  # (N, …)
        for sample in range(samples):
            rows = counts[generator.integers(0, len(counts), len(counts))]
            found[sample] = overlap.bleu_of(rows.sum(0)) if self.metric == "bleu" else rows.mean()
        return found

    def to_json(self) -> dict:
        return {"name": self.name, "summarise": bool(self.summarise), "single": self.single, "script": self.script}

    @classmethod
    def from_json(cls, saved: dict) -> Translate:
        task = cls(summarise=take.flag(saved, "summarise"))
        task.script, task.single = take.one_of(saved, "script", overlap.SCRIPTS), take.flag(saved, "single")
        task.measure()
        return task

    def details(self) -> dict:
        return {"signature": self.signature()}

    profile = Profile(
        phrase("task", "translate"), measure_translations, describe_pairs,
        few_rows=(["a b", "c d"] * 2, ["x y", "z"] * 2), judged="chrf", quick={"beam": 1}, settled=("summarise",),
        baseline=lead, details=details, counted="tokens", next_command="translate {run} …",
        blank_answer={"text": "", "log_prob": 0.0},
    )  # fmt: skip


def not_empty(texts: Sequence[str], side: str, where):
    """The same texts, or what is wrong with the first of them that is none."""
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            found = f"{type(text).__name__} {str(text)[:40]!r}"
            raise Mistake("{where}: expected a text, found {value}; to translate, give a text for a text.", where=where(row),
                          value=found)  # fmt: skip
        if not text.strip():
            if side == "source":
                raise Mistake("{where}: the source is empty; give it a text to read or drop the row.", where=where(row))
            raise Mistake("{where}: the target is empty; give it a text to write or drop the row.", where=where(row))
    return texts


def letters(text: str) -> int:
    """How long a text is, in letters: a Chinese character says as much as four."""
    return len(text) + sum((weight - 1) * len(script.findall(text)) for script, weight in WEIGHED)
