"""compose, 1→N: a text for a label, a row of numbers or an image.

    perplexity = exp(−Σ log p / tokens), of a word, a subword or a character      bits per byte = −Σ log₂ p / bytes

Every text counts its end as a token, and as a byte. Exact match is the share of texts that the most probable token at every step
spells out.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake
from wenmai.layers.heads import Next
from wenmai.locale import Message, phrase
from wenmai.tasks.columns import ANSWERS, labels_in, numbers, texts_in
from wenmai.tasks.measuring.compositions import measure_compositions
from wenmai.tasks.overviews import describe_compositions
from wenmai.tasks.profile import Profile, has_every_kind, unit_of_tokens


class Compose:
    name, metric, higher_is_better = "compose", "perplexity", False
    target = "text"
    texts, history = "labels", None  # texts that are read are labels; rows have no order in time
    running_text = two_texts = False

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
            found = listed(columns) or "–"
            raise Mistake("{file} has the columns {names}; to compose, it takes a label, numbers or an image beside the text: "
                          "name them with --columns label=NAME,text=NAME.", file=source, names=found)  # fmt: skip
        return numbers(columns, names, chunk.lines, source)

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "text" not in chunk.columns:
            names = listed(chunk.columns)
            raise Mistake("{file} has no column text (found: {names}), which is what a model learns to write; name it with "
                          "--columns text=NAME,….", file=source, names=names)  # fmt: skip
        texts = texts_in(chunk, "text", source)
        if not all(map(str.strip, texts)):
            row = next(row for row, text in enumerate(texts) if not text.strip())
            where = Message("{file}, line {line}", file=source, line=chunk.lines[row])
            raise Mistake("{where}: the text is empty; give every row a text to write or drop the row.", where=where)
        return texts

    def look(self, targets, where) -> list[str]:
        return []

    def arranged(self, inputs, targets=None):
        if isinstance(inputs, Sequences):
            raise Mistake("found numeric sequences; to compose, give a label, a row of numbers or an image for every text.")
        return inputs, targets

    def apart(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of. Of labels there are few: the texts part them."""
        return (inputs, None) if isinstance(inputs, np.ndarray) and inputs.ndim > 1 else (targets, list(map(str, inputs)))

    def learn(self, targets, where=lambda row: Message("row {row}", row=row + 1)) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            only = short(targets[0]) if targets else "–"
            raise Mistake("found one text only ({only}) in {rows} rows; to compose, at least two are needed.", only=only,
                          rows=len(targets))  # fmt: skip
        return []

    def encode(self, targets, where=lambda row: Message("row {row}", row=row + 1)) -> None:
        """What is to be written is encoded by its tokenizer; here it is looked at."""
        for row, text in enumerate(targets):
            if not isinstance(text, str):
                raise Mistake("{where}: expected a text to write, found {type} {value!r}.", where=where(row),
                              type=type(text).__name__, value=str(text)[:40])  # fmt: skip
            if not text.strip():
                raise Mistake("{where}: the text is empty; give every row a text to write or drop the row.", where=where(row))

    def head(self) -> Next:
        return Next()

    def scores(self, sums: np.ndarray, lengths: np.ndarray, sizes: np.ndarray, right: np.ndarray) -> dict[str, float]:
        """Of N texts: Σ log p, tokens, bytes, and whether the most probable text was this one."""
        total = -float(sums.sum())
        mean = total / max(1, int(lengths.sum()))
        return {"perplexity": exp(min(mean, 700.0)), "bits_per_byte": total / log(2) / max(1, int(sizes.sum())),
                "exact_match": float(right.mean())}  # fmt: skip

    def to_json(self) -> dict:
        return {"name": self.name}

    @classmethod
    def from_json(cls, saved: dict) -> Compose:
        return cls()

    profile = Profile(
        phrase("task", "compose"), measure_compositions, describe_compositions,
        few_rows=(["x", "y"] * 2, ["a b", "c d"] * 2), complete=has_every_kind, unit=unit_of_tokens,
        next_command="compose {run} …",
    )  # fmt: skip
