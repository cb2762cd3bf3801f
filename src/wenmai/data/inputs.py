"""What a user's inputs are, and how they become arrays: text, pairs of texts, rows of numbers, images.

`learn(values)` looks at the training inputs and returns one of the three kinds below. Each can `encode` values into what
Examples holds, tells the rung's builder what it will read (its attributes), and goes to JSON and back.
"""

from __future__ import annotations

import numpy as np

from wenmai.data import tokenizers, vectors
from wenmai.data.sequences import Sequences, join_pairs
from wenmai.errors import Mistake


def learn(values, *, embedding: str = "random", max_length: int = 512, **tokenizing):
    """The kind of these inputs. `embedding` is random, one-hot, or a file (or package) of pretrained word vectors; a
    network reads the first `max_length` tokens of a text."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return Numbers.learn(values)
    if isinstance(values, np.ndarray) and values.ndim >= 3:
        return Images.learn(values)
    return Texts.learn(values, embedding, max_length, **tokenizing)


def from_json(saved: dict):
    return {"tokens": Texts, "numbers": Numbers, "image": Images}[saved["kind"]].from_json(saved)


class Texts:
    kind = "tokens"

    def __init__(self, tokenizer, pairs: bool, unit: str, longest: int, embedding: str, table: np.ndarray | None):
        self.tokenizer, self.pairs, self.unit = tokenizer, pairs, unit
        self.longest, self.embedding = longest, embedding
        self.vectors = table  # (V, E) pretrained, with a row of NaN for a token that the file lacks; training only
        self.vocabulary = len(tokenizer.tokens)

    @classmethod
    def learn(cls, values, embedding, longest, **tokenizing) -> Texts:
        pairs = isinstance(values[0], (tuple, list))
        texts = checked_texts([side for pair in values for side in pair] if pairs else list(values))
        words, table = vectors.read(embedding) if embedding not in ("random", "one-hot") else ([], None)
        if table is not None:
            tokenizing.setdefault("tokenizer", "words")  # vectors are of words
        tokenizer = tokenizers.learn(texts, words, **tokenizing)
        if table is not None:
            number = {word: row for row, word in enumerate(words)}
            rows = np.array([number.get(token, -1) for token in tokenizer.tokens])
            table = np.where(rows[:, None] >= 0, table[rows], np.nan).astype(np.float32)
        return cls(tokenizer, pairs, unit_of(tokenizer), longest, embedding, table)

    def encode(self, values) -> Sequences:
        if not self.pairs:
            return self.tokenizer.encode(checked_texts(values))
        if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in values):
            raise Mistake("this model reads pairs: expected two texts for every input (columns text_a and text_b).")
        first, second = (self.tokenizer.encode(checked_texts([pair[side] for pair in values])) for side in (0, 1))
        return join_pairs(first, second, tokenizers.SEP)

    def notes(self, values) -> list[str]:
        """What is worth saying of how these texts are read."""
        said = {"characters": "read character by character", "jieba": "cut into Chinese words by jieba"}
        kind = self.tokenizer.kind
        notes = [f"texts are {said.get(kind, 'cut into ' + kind)}: {self.vocabulary:,} tokens known"]
        if self.vectors is not None:
            notes.append(f"{int((~np.isnan(self.vectors[:, 0])).sum()):,} tokens have vectors from {self.embedding}")
        return notes

    def to_json(self) -> dict:
        width = None if self.vectors is None else int(self.vectors.shape[1])
        return {"kind": self.kind, "pairs": self.pairs, "unit": self.unit, "longest": self.longest,
                "embedding": self.embedding, "vectors_width": width, "tokenizer": self.tokenizer.to_json()}  # fmt: skip

    @classmethod
    def from_json(cls, saved) -> Texts:
        tokenizer, width = tokenizers.from_json(saved["tokenizer"]), saved["vectors_width"]
        table = None if width is None else np.zeros((len(tokenizer.tokens), width), np.float32)  # the weights hold them
        return cls(tokenizer, saved["pairs"], saved["unit"], saved["longest"], saved["embedding"], table)


def unit_of(tokenizer) -> str:
    """How much a token says: `chinese` characters say about as much as half a word, other characters far less."""
    if tokenizer.kind != "characters":
        return "words"
    common = tokenizer.tokens[len(tokenizers.SPECIAL) :][:200]
    return "chinese" if len(tokenizers.CHINESE.findall("".join(common))) > len(common) / 2 else "characters"


def checked_texts(values) -> list[str]:
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise Mistake(f"input {row}: expected a text, found {type(value).__name__} {str(value)[:40]!r}.")
    return values if isinstance(values, list) else list(values)


class Numbers:
    """Rows of F numbers, each column brought to mean 0 and deviation 1."""

    kind, unit, longest = "numbers", "words", 1

    def __init__(self, mean: np.ndarray, deviation: np.ndarray):
        self.mean, self.deviation, self.width = mean, deviation, len(mean)

    @classmethod
    def learn(cls, values) -> Numbers:
        values = np.asarray(values, np.float64)
        with np.errstate(invalid="ignore"):  # what is not finite is refused by encode, which knows where it stands
            deviation = values.std(0)
        return cls(values.mean(0), np.where(deviation > 0, deviation, 1.0))

    def encode(self, values) -> np.ndarray:
        try:
            values = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise Mistake(f"expected rows of {self.width} numbers, found {str(values[0])[:40]!r}.") from None
        if values.ndim != 2 or values.shape[1] != self.width:
            raise Mistake(f"expected rows of {self.width} numbers, found an array of shape {values.shape}.")
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise Mistake(f"row {row + 1}, column {column + 1}: found {values[row, column]}, expected a finite number.")
        return ((values - self.mean) / self.deviation).astype(np.float32)

    def flatten(self, encoded: np.ndarray) -> np.ndarray:
        return encoded

    def notes(self, values) -> list[str]:
        return [f"{self.width} numbers a row, each brought to mean 0 and deviation 1"]

    def to_json(self) -> dict:
        return {"kind": self.kind, "mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_json(cls, saved) -> Numbers:
        return cls(np.array(saved["mean"]), np.array(saved["deviation"]))


class Images:
    """Pictures (height, width) or (height, width, channels), kept as they are; the input layer brings them to 0 … 1."""

    kind, unit, longest = "image", "words", 1

    def __init__(self, shape: tuple[int, ...], brightest: float):
        self.shape, self.brightest = tuple(shape), brightest
        self.height, self.width = shape[0], int(np.prod(shape[1:]))  # an image read row by row: T = height, F = width

    @classmethod
    def learn(cls, values) -> Images:
        return cls(values.shape[1:], float(values.max()) or 1.0)

    def encode(self, values) -> np.ndarray:
        values = np.asarray(values)
        if values.shape[1:] != self.shape:
            raise Mistake(f"expected images of shape {self.shape}, found {values.shape[1:]}.")
        return values

    def flatten(self, encoded: np.ndarray) -> np.ndarray:
        return encoded.reshape(len(encoded), self.height * self.width).astype(np.float32) / np.float32(self.brightest)

    def notes(self, values) -> list[str]:
        return [f"images of {' × '.join(map(str, self.shape))}"]

    def to_json(self) -> dict:
        return {"kind": self.kind, "shape": list(self.shape), "brightest": self.brightest}

    @classmethod
    def from_json(cls, saved) -> Images:
        return cls(saved["shape"], saved["brightest"])
