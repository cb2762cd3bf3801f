"""Translator: an estimator that reads a text and writes another: in another language, or shorter.

`Translator("attention").fit(sources, targets).predict(sources)`; then `translate` (beam search, the n best, or drawn by chance),
`stream`, `answers` (with scores, and where it looked), `log_prob`, `evaluate`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from wenmai.data.examples.batches import by_length, make_batch
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs.copying import Copied, copied, written
from wenmai.data.inputs.sides import Pairs
from wenmai.data.text.vocabulary import END, UNK
from wenmai.data.values import listed
from wenmai.errors import Mistake, Notice
from wenmai.layers.copying import CopyHead
from wenmai.layers.trace import Trace
from wenmai.locale import Listed, Message
from wenmai.tasks.beam import beam as searched
from wenmai.tasks.beam import check
from wenmai.tasks.decoding import Choice, continued, together
from wenmai.writing_estimator import WritingEstimator

TOGETHER = 4096  # tokens that are read and written at once, about
JUDGED = 500  # held-out texts that are translated each time training is judged
BEAM, PENALTY = 5, 1.0
PRECISIONS = "float32", "bf16"
GREEDY = Choice(temperature=0.0)


class Translator(WritingEstimator):
    """`Translator("transformer").fit(sources, targets).predict(["A dog runs."])`"""

    task_name = "translate"
    reads = staticmethod(Pairs.learn)

    # Learning

    def _read(self, inputs, targets, options: dict) -> Pairs:
        return self.reads(texts_of(inputs), targets, **options)

    def _learned_from(self, inputs, targets, given: dict) -> Examples:
        self.copies_ = bool(given["rung"].get("copy"))  # words of the source
        return super()._learned_from(texts_of(inputs), targets, given)

    def _cut(self, examples: Examples) -> list[str]:
        return super()._cut(examples) + self._not_read(examples.inputs)

    def _not_read(self, encoded: Sequences) -> list[str]:
        over, most = self.inputs_.source.cut(encoded), self.inputs_.source.most
        note = Message("{count:,} of the texts that are read are longer than max_length={most:,} tokens: what goes beyond is "
                       "not read", count=over, most=most)  # fmt: skip
        return [note] if over else []

    def judge_of(self, examples: Examples) -> Callable[[], float]:
        """The likeness of what it writes to what it should, character for character: of single words there is no BLEU."""
        some = examples.take(np.sort(np.random.default_rng(0).permutation(len(examples))[:JUDGED]))
        wanted = [self._text(tokens.tolist(), self._words(some.inputs, row)) for row, tokens in enumerate(some.written)]
        return lambda: self.task_.likeness([one.text for one in self._greedy(some.inputs)], wanted)

    def _examples(self, inputs, targets=None, where=lambda row: Message("row {row}", row=row + 1)) -> Examples:
        inputs, targets = texts_of(inputs), None if targets is None else listed(targets)
        if targets is not None:
            self.task_.encode(targets, where)
        return self._encoded(inputs, targets)

    def _encoded(self, inputs, targets=None) -> Examples:
        if not self.copies_:
            return super()._encoded(inputs, targets)
        sources = copied(self.inputs_, inputs)
        return Examples(sources, written=None if targets is None else written(self.inputs_, targets, sources))

    def _build(self, options: dict, seed: int, optimizer: str | None = None, parts: int = 1) -> None:
        super()._build(options, seed, optimizer, parts)
        self.copies_ = isinstance(self.model_.head, CopyHead)

    def _words(self, encoded: Sequences, row: int) -> Collection[str]:
        """Those of the source's own, which the vocabulary lacks."""
        return encoded.words[row] if isinstance(encoded, Copied) else ()

    def evaluate(self, inputs, targets, where=lambda row: Message("row {row}",
                                                                  row=row + 1), *, beam: int = BEAM, penalty: float = PENALTY,
                 precision: str = "float32") -> dict:  # fmt: skip
        """Every metric of the task, of what beam search writes."""
        self._fitted()
        texts = listed(targets)
        examples = self._pairs(inputs, texts, where)
        answers = [one.text for one in self._judged(examples, beam, penalty, precision)]
        return self.task_.scores(answers, texts)

    def written(self, inputs, targets, *, beam: int = BEAM, penalty: float = PENALTY) -> list[Written]:
        """What `evaluate` scores: the best for each, with its tokens."""
        self._fitted()
        return self._judged(self._pairs(inputs, targets), beam, penalty, "float32")

    def _judged(self, examples: Examples, beam: int, penalty: float, precision: str) -> list[Written]:
        unknown, tokens = int((examples.written.flat == UNK).sum()), len(examples.written.flat)
        note = Message("{count:,} of the {tokens:,} tokens that are expected are unknown to the model, which never writes them",
                       count=unknown, tokens=tokens)  # fmt: skip
        self.evaluated_ = ([note] if unknown else []) + self._not_read(examples.inputs)
        return [best[0] for best in self._best(examples.inputs, beam, penalty, 1, precision)]

    def score(self, inputs, targets) -> float:
        return self.evaluate(inputs, targets)[self.task_.metric]

    # Writing

    def predict(self, inputs) -> np.ndarray:
        """A text for every text."""
        return np.array(self.translate(inputs), object)

    def translate(self, inputs, *, beam: int = BEAM, penalty: float = PENALTY, strict: bool = False,
                  precision: str = "float32") -> list[str]:  # fmt: skip
        """The best that a search through `beam` beginnings at once finds: that of the highest Σ log p / length^penalty. A beam
        of 1 takes the most probable token at every step. A text that is too long is cut, and this is told, or, if `strict`,
        refused. In bf16 many texts are written faster, and a close choice may fall otherwise."""
        return [best[0].text for best in self._best(self._asked(inputs, strict), beam, penalty, 1, precision)]

    def sample(self, input: str, count: int = 1, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
               seed: int = 0, strict: bool = False) -> list[str]:  # fmt: skip
        """So many texts for one, drawn by chance."""
        if count < 1:
            raise Mistake("count={count}: expected 1 or more, how many texts are written.", count=count)
        encoded, choice = self._asked([input] * count, strict), Choice(temperature, top_k, top_p)
        most = int(self.inputs_.most(encoded.lengths).max())
        rows, _ = together(self._step, *self._begun(encoded, most), most, choice, list(range(seed, seed + count)), END, 1)
        return [self._text(row, self._words(encoded, 0)) for row in rows]

    def stream(self, input: str, *, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0,
               strict: bool = False) -> Iterator[str]:  # fmt: skip
        """A text for one text, piece by piece, each as soon as it is chosen; the most probable token at every step unless a
        temperature is given."""
        encoded, choice = self._asked([input], strict), Choice(temperature, top_k, top_p)
        most = int(self.inputs_.most(encoded.lengths).max())
        chosen = continued(self._step, *self._begun(encoded, most), most, choice, seed)
        yield from self.inputs_.target.knowing(self._words(encoded, 0)).pieces(map(int, chosen))

    def answers(self, inputs, *, beam: int = BEAM, penalty: float = PENALTY, best: int = 1, alignment: bool = False,
                strict: bool = False, precision: str = "float32",
                where=lambda row: Message("input {row}", row=row + 1)) -> list[dict]:  # fmt: skip
        """{"text", "log_prob"} a text; with `best` above 1 also the so many best, {"text", "score", "log_prob"} each; with
        `alignment` also the tokens of both and how much each that was written looked at each that was read, (T, S)."""
        encoded = self._asked(inputs, strict, where)
        found = self._best(encoded, max(beam, best) if best > 1 else beam, penalty, best, precision)
        rows = [{"text": some[0].text, "log_prob": round(some[0].log_prob, 6)} for some in found]
        for row, some in zip(rows, found) if best > 1 else ():
            row["best"] = [{"text": one.text, "score": round(one.score, 6), "log_prob": round(one.log_prob, 6)} for one in some]
        for row, looked in zip(rows, self._looked(encoded, [some[0].tokens for some in found])) if alignment else ():
            row |= looked
        return rows

    def predict_proba(self, inputs):
        raise Mistake(
            "a Translator writes texts, of which there is no table; log_prob(sources, texts) says how probable they are."
        )

    def _asked(self, inputs, strict: bool = False, where=lambda row: Message("input {row}", row=row + 1)) -> Sequences:
        self._fitted()
        encoded, source = self._examples(inputs).inputs, self.inputs_.source
        over = source.cut(encoded)
        if over and strict:
            row = int(np.flatnonzero(encoded.flat[encoded.offsets[1:] - 1] != END)[0])
            raise Mistake("{where}: it is longer than the {most:,} tokens that this model reads; shorten it, or leave strict "
                          "out and what goes beyond is not read.", where=where(row), most=source.most)  # fmt: skip
        if over:
            warnings.warn(Notice("{count:,} of the texts are longer than the {most:,} tokens that this model reads: what goes "
                                 "beyond is not read", count=over, most=source.most), stacklevel=3)  # fmt: skip
        return encoded

    def _pieces(self, encoded: Sequences, wide: int) -> Iterator[np.ndarray]:
        """Rows that are written together, of like length."""
        lengths = encoded.lengths + self.inputs_.most(encoded.lengths)
        return iter(by_length(lengths * wide, TOGETHER * (4 if self.device_ == "cpu" else 64)))

    def _greedy(self, encoded: Sequences) -> list[Written]:
        """The text of the most probable token at every step for every row."""
        found: list = [None] * len(encoded)
        for rows in self._pieces(encoded, 1):
            part = encoded.take(rows)
            most = self.inputs_.most(part.lengths)
            begun = self._begun(part, int(most.max()))
            chosen, sums = together(self._step, *begun, most, GREEDY, [0] * len(rows), END, 1)
            for row, tokens, total in zip(rows.tolist(), chosen, sums):
                found[row] = Written(self._text(tokens, self._words(encoded, row)), tokens, total, total)
        return found

    def _best(self, encoded: Sequences, size: int, penalty: float, count: int, precision: str) -> list[list[Written]]:
        check(size, penalty, count)
        if precision not in PRECISIONS:
            raise Mistake("precision={precision!r}: expected one of {choices}.", precision=precision, choices=Listed(PRECISIONS))
        with torch.autocast(self.device_.split(":")[0], torch.bfloat16, enabled=precision == "bf16"):
            return self._searched(encoded, size, penalty, count)

    def _searched(self, encoded: Sequences, size: int, penalty: float, count: int) -> list[list[Written]]:
        if size == 1:
            return [[replace(one, score=one.log_prob / max(1, len(one.tokens)) ** penalty)] for one in self._greedy(encoded)]
        found: list = [None] * len(encoded)
        for rows in self._pieces(encoded, size):
            part = encoded.take(rows)
            most = self.inputs_.most(part.lengths)
            begun = self._begun(part, int(most.max()))
            for row, candidates in zip(rows.tolist(), searched(self._step, *begun, most, size, penalty, count, END)):
                words = self._words(encoded, row)
                found[row] = [Written(self._text(one.tokens, words), *one) for one in candidates]
        return found

    def _looked(self, encoded: Sequences, chosen: list[list[int]]) -> Iterator[dict]:
        """For every row its tokens, and the attention with which these texts were written; of several heads the mean of the last
        layer's."""
        for row, tokens in enumerate(chosen):
            one, source = encoded.take(np.array([row])), self.inputs_.source.lines
            target, read = self.inputs_.target.knowing(self._words(encoded, row)).lines, one.flat.tolist()
            if isinstance(one, Copied):  # then an unknown word is told as it stands there
                source, read = target, one.beside["copies"].tolist()
            examples = Examples(one, written=Sequences.of([np.array(tokens, np.int32)]))
            trace = Trace()
            with torch.inference_mode():
                self.model_(make_batch(examples, np.array([0]), self.inputs_.longest).to(self.device_), trace)
            names = [name for name in trace.kept if name.startswith("writer") and name.endswith(("memory", "attention"))]
            across = [name for name in names if name.endswith("memory")] or names
            if not across:
                raise Mistake("{rung} looks at nothing while it writes: it has no alignment; attention and transformer have.",
                              rung=self.rung)  # fmt: skip
            weights = trace.kept[across[-1]][0].float().mean(0)  # (T, S)
            yield {"source_tokens": [source.line([n]) if n != END else "</s>" for n in read],
                   "target_tokens": [target.line([n]) if n != END else "</s>" for n in tokens],
                   "attention": weights.cpu().numpy().round(4).tolist()}  # fmt: skip


@dataclass(slots=True)
class Written:
    text: str
    tokens: list[int]
    score: float  # Σ log p / length^penalty
    log_prob: float  # Σ log p


def texts_of(inputs) -> list[str]:
    texts = listed(inputs)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise Mistake("input {row}: expected a text, found {type} {value!r}.", row=row + 1, type=type(text).__name__,
                          value=str(text)[:40])  # fmt: skip
        if not text.strip():
            raise Mistake("input {row}: the text is empty; give every row a text to read or drop the row.", row=row + 1)
    return list(texts)
