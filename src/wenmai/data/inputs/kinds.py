"""What a user's inputs are, and how they become arrays: text, pairs of texts, tokens, labels, rows of numbers, images, frames,
sounds.

`learn(values)` looks at the training inputs and returns one of the kinds below. Each can `encode` values into what
Examples holds, tells the rung's builder what it will read (its attributes), and goes to JSON and back. Where texts are
written, `learn_both` returns the two sides.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, Self

import numpy as np

from wenmai.data.examples import stored
from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import StoredSequences, StoredTexts
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.sounds import Clips
from wenmai.data.inputs.labels import Labels
from wenmai.data.inputs.pieces import Pieces
from wenmai.data.inputs.questions import Questions
from wenmai.data.inputs.sides import Pairs, Sides
from wenmai.data.inputs.sounds import Normalise, Sounds, Spoken
from wenmai.data.inputs.stories import Stories
from wenmai.data.inputs.target_texts import TargetTexts
from wenmai.data.inputs.tokens import Tokens
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers, vectors
from wenmai.data.text.lines import Lines
from wenmai.data.text.wrapping import Wrapping
from wenmai.data.values import as_frames, checked
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.options import ROWS_OF_TEXTS, SOUNDS, TEXTS, Count, Share, Size

LONGEST = 512  # tokens of a text that a network reads at once, unless it is said
UNITS = ("words", "chinese", "characters")
Spelling = Literal["auto", "none", "cnn", "lstm"]


def learn(
    values,
    texts: str = "tokens",
    framed: bool = False,
    *,
    embedding: Annotated[str, ROWS_OF_TEXTS] = "random",
    max_length: Annotated[Size, ROWS_OF_TEXTS] = LONGEST,
    characters: Annotated[Spelling, TEXTS] = "auto",
    rate: Annotated[Size | None, SOUNDS] = None,
    mels: Annotated[Size, SOUNDS] = 40,
    stack: Annotated[Size, SOUNDS] = 2,
    normalise: Annotated[Normalise, SOUNDS] = "clip",
    masks: Annotated[Count, SOUNDS] = 1,
    speed: Annotated[Share, SOUNDS] = 0.0,
    pitch: Annotated[Share, SOUNDS] = 0.0,
    noise: Annotated[Share, SOUNDS] = 0.0,
    convolutions: Annotated[Count, SOUNDS] = 0,
    **tokenizing,
):
    """The kind of these inputs; `texts` says which kind texts are; a rung that is `framed` reads words in pieces. `embedding`
    is random, one-hot, or a file (or package) of pretrained word vectors; a network reads `max_length` tokens of a text at once;
    `characters` reads the letters of every token too, by filters or an lstm (auto: by filters, where tokens are words). The
    others are of sounds (sounds.py)."""
    if isinstance(values, Clips):
        return Sounds.learn(
            values, rate, mels, stack, normalise, masks, speed, pitch, noise, convolutions
        )
    kind = kind_of(values, texts)
    if kind == "lines":
        return Lines.learn(values, **tokenizing)
    if kind in ("frames", "numbers", "image", "labels"):
        return KINDS[kind].learn(values)
    if kind == "given":
        return (Pieces if framed else Tokens).learn(
            values, embedding, max_length, characters, **tokenizing
        )
    if characters not in ("auto", "none"):
        raise Mistake(
            "characters={characters} goes with tokens that are tagged; a text is read by --set tokenizer=characters.",
            characters=characters,
        )
    return Texts.learn(values, embedding, max_length, **tokenizing)


def learn_both(
    values, written: list[str], texts: str, *, max_length: Size = 512, **tokenizing
) -> Sides:
    """What is read, and what is written: the tokenizer is that of the latter, of which `max_length` tokens are learned."""
    return Sides(learn(values, texts), TargetTexts.learn(written, max_length, **tokenizing))


def learn_spoken(
    values,
    written: list[str],
    *,
    max_length: Size = 512,
    rate: Size | None = None,
    mels: Size = 40,
    stack: Size = 2,
    normalise: Normalise = "clip",
    masks: Count = 1,
    speed: Share = 0.0,
    pitch: Share = 0.0,
    noise: Share = 0.0,
    convolutions: Count = 0,
    **tokenizing,
) -> Spoken:
    """Sounds, and what is said in them, letter by letter unless a tokenizer is named."""
    tokenizing = {"tokenizer": "characters"} | {
        name: value for name, value in tokenizing.items() if value != "auto"
    }
    source = Sounds.learn(
        Clips.of(values), rate, mels, stack, normalise, masks, speed, pitch, noise, convolutions
    )
    return Spoken(source, TargetTexts.learn(written, max_length, **tokenizing))


def kind_of(values, texts: str = "tokens") -> str:
    """Which of KINDS these values are; `texts` says which of them texts are: tokens, to be cut; given, cut already; labels."""
    if isinstance(values, Corpus):
        return "lines"
    if isinstance(values, (Sequences, Clips)):
        return "frames"
    if isinstance(values, np.ndarray) and values.ndim >= 2:
        return "numbers" if values.ndim == 2 else "image"
    return texts


def from_json(saved: dict):
    """What `to_json` of one of the kinds gave, or of two sides; Unfit if it did not."""
    if take.value(saved, "kind") == "sides":
        return Sides(
            from_json(take.value(saved, "source")),
            TargetTexts.from_json(take.value(saved, "target")),
        )
    if take.value(saved, "kind") in BOTH:
        return BOTH[saved["kind"]].from_json(saved)
    return KINDS[take.one_of(saved, "kind", tuple(KINDS))].from_json(saved)


def learned_before(saved: dict):
    """As `from_json`, with what only training needs: the pretrained vectors. None where there is more to it than JSON holds, the
    words of a running text, which are learned again: the same text gives the same."""
    inputs = from_json(saved)
    if isinstance(inputs, Lines) and inputs.tokenizer is None:
        return None
    if getattr(inputs, "vectors_width", None) is not None:
        inputs.vectors = vectors.for_tokens(
            inputs.tokenizer.tokens, *vectors.read(inputs.embedding)
        )
    return inputs


BOTH = {"pairs": Pairs, "stories": Stories, "spoken": Spoken}  # of what is read and what is written

# What may be said of how a kind is read, where the rest is settled by the run that is started from.
FREE = {"given": ("characters",), "questions": ("max_length", "stride")}


def continued(
    inputs,
    kind: str,
    values,
    run: str,
    longest: int | None = None,
    options: Mapping = MappingProxyType({}),
):
    """These inputs of a run, as a task reads values of this kind: by the same tokenizer, with the same scaling; of texts no more
    than `longest` tokens, where a running text was learned in windows of so many. `given`: options that are FREE."""
    spelling = options.get("characters", "auto")
    tokenizer = getattr(inputs, "tokenizer", None)
    if (
        isinstance(inputs, Lines) and tokenizer is None
    ):  # of the same numbers, for texts that stand alone
        tokenizer = tokenizers.Spaces(inputs.words.words(), inputs.lowercase)
    cut = kind in ("tokens", "given", "lines", "questions")
    if cut != (tokenizer is not None) or (not cut and inputs.kind != kind):
        raise Mistake(
            "{run} reads {kind}, and here is another kind of input ({actual}); start from another run.",
            run=run,
            kind=inputs.kind,
            actual=kind,
        )
    if kind == "lines":
        return inputs if isinstance(inputs, Lines) else Lines(tokenizer)
    if kind == "questions":
        return Questions.reading_as(inputs, run, options)
    if kind == "given":
        if isinstance(inputs, Tokens) or (
            isinstance(inputs, Pieces) and spelling in ("auto", inputs.spelling)
        ):
            return inputs
        if getattr(inputs, "wrapping", None) is not None:
            return Pieces.reading_as(inputs, values, spelling)
        if not isinstance(tokenizer, tokenizers.Words):
            raise Mistake(
                "{run} cuts texts into {tokenizer}, and tags are given for tokens as they stand; start from a run "
                "whose tokens are words.",
                run=run,
                tokenizer=tokenizer.kind,
            )
        return Tokens.reading_as(tokenizer, inputs, longest or inputs.longest or LONGEST)
    if kind == "tokens":
        pairs = isinstance(values[0], (tuple, list))
        if getattr(inputs, "wrapping", None) is not None:  # one text or two are framed alike
            known = isinstance(inputs, Texts) and inputs.pairs == pairs
            return (
                inputs
                if known
                else Texts(
                    tokenizer,
                    pairs,
                    inputs.unit,
                    inputs.longest,
                    "random",
                    wrapping=inputs.wrapping,
                )
            )
        if pairs != (inputs.pairs if isinstance(inputs, Texts) else False):
            raise Mistake(
                "{run} reads pairs of texts, or here are some, and the other does not; start from another run.",
                run=run,
            )
        return (
            inputs
            if isinstance(inputs, Texts)
            else Texts(tokenizer, pairs, unit_of(tokenizer), longest or LONGEST, "random")
        )
    return inputs


def continued_writing(inputs, values, targets: list[str], texts: str, most: int) -> Sides:
    """Texts are written with the tokenizer of a run, no longer than it looks back, for values that it has never read."""
    tokenizer = inputs.tokenizer or tokenizers.Spaces(inputs.words.words(), inputs.lowercase)
    target = TargetTexts(tokenizer, 1, most)
    target.longest = int(target.encode(targets).lengths.max())
    return Sides(learn(values, texts), target)


class Texts:
    kind = "tokens"
    corpus_tokens = 0  # tokens of a running text that they were learned from: they were not
    rare = spelling = None  # what Tokens have beside

    def __init__(
        self,
        tokenizer,
        pairs: bool,
        unit: str,
        longest: int,
        embedding: str,
        table: np.ndarray | None = None,
        width: int | None = None,
        wrapping: Wrapping | None = None,
    ):
        self.tokenizer, self.pairs, self.unit = tokenizer, pairs, unit
        self.wrapping = wrapping  # what stands around every text, where something does
        self.longest, self.embedding = longest, embedding
        self.vectors = table  # (V, E) pretrained, with a row of NaN for a token that the file lacks; training only
        self.vectors_width = (
            width if table is None else int(table.shape[1])
        )  # E, also where the weights hold them
        self.vocabulary, self.special = len(tokenizer.tokens), tokenizer.special

    @classmethod
    def learn(cls, values, embedding, longest, **tokenizing) -> Self:
        pairs = isinstance(values[0], (tuple, list))
        texts = checked_texts([side for pair in values for side in pair] if pairs else values)
        words, table = vectors.chosen(embedding)
        if table is not None:
            tokenizing.setdefault("tokenizer", "words")  # vectors are of words
        tokenizer = tokenizers.learn(texts, words, **tokenizing)
        return cls(
            tokenizer,
            pairs,
            unit_of(tokenizer),
            longest,
            embedding,
            vectors.for_tokens(tokenizer.tokens, words, table),
        )

    def encode(self, values) -> Sequences:
        if not self.pairs:
            texts = checked_texts(values)
            if isinstance(texts, StoredTexts) and stored.size_of(texts) > stored.LARGE:
                return StoredSequences.of(map(self.encode_texts, texts.chunks()), self.vocabulary)
            return self.encode_texts(list(texts))
        if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in values):
            raise Mistake(
                "this model reads pairs: expected two texts for every input (columns text_a and text_b)."
            )
        first, second = (
            self.tokenizer.encode(checked_texts([pair[side] for pair in values])) for side in (0, 1)
        )
        if self.wrapping is None:
            return Wrapping(between=(self.special.separator,)).wrapped(first, second)
        return self.wrapping.wrapped(first, second, self.longest)

    def encode_texts(self, texts: list[str]) -> Sequences:
        rows = self.tokenizer.encode(texts)
        return rows if self.wrapping is None else self.wrapping.wrapped(rows, None, self.longest)

    def framed(self) -> Self:
        """The same, with what a framed text begins and ends with around every text."""
        self.wrapping = self.wrapping or Wrapping.of(self.special)
        return self

    def notes(self, values) -> list[str]:
        """What is worth saying of how these texts are read."""
        cut = tokenizers.CUT[self.tokenizer.kind]
        known = Message("texts are {cut}: {tokens:,} tokens known", cut=cut, tokens=self.vocabulary)
        return [known, *vectors.notes(self.vectors, self.embedding)]

    def to_json(self) -> dict:
        return {
            "kind": self.kind,
            "pairs": self.pairs,
            "unit": self.unit,
            "longest": self.longest,
            "embedding": self.embedding,
            "vectors_width": self.vectors_width,
            "tokenizer": self.tokenizer.to_json(),
            "wrapping": None if self.wrapping is None else self.wrapping.to_json(),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        tokenizer, unit = (
            tokenizers.from_json(take.value(saved, "tokenizer")),
            take.one_of(saved, "unit", UNITS),
        )
        wrapping = take.value({"wrapping": None} | saved, "wrapping")
        return cls(
            tokenizer,
            take.flag(saved, "pairs"),
            unit,
            take.integer(saved, "longest", 1),
            take.text(saved, "embedding"),
            width=take.maybe_integer(saved, "vectors_width", 1),
            wrapping=None
            if wrapping is None
            else Wrapping.from_json(wrapping, len(tokenizer.tokens)),
        )


def unit_of(tokenizer) -> str:
    """How much a token says: `chinese` characters say about as much as half a word, other characters and bytes far less."""
    if tokenizer.kind == "bytes":
        return "characters"
    if tokenizer.kind != "characters":
        return "words"
    common = tokenizer.tokens[len(tokenizers.SPECIAL) :][:200]
    return (
        "chinese"
        if len(tokenizers.CHINESE.findall("".join(common))) > len(common) / 2
        else "characters"
    )


def checked_texts(values) -> list[str] | StoredTexts:
    return values if isinstance(values, StoredTexts) else list(checked(values))


class Numbers:
    """Rows of F numbers, each column brought to mean 0 and deviation 1."""

    kind, unit, longest = "numbers", "words", 1

    def __init__(self, mean: np.ndarray, deviation: np.ndarray):
        self.mean, self.deviation, self.width = mean, deviation, len(mean)

    @classmethod
    def learn(cls, values) -> Self:
        return cls(*scaling(np.asarray(values, np.float64)))

    def encode(self, values) -> np.ndarray:
        try:
            values = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise Mistake(
                "expected rows of {width} numbers, found {value!r}.",
                width=self.width,
                value=str(values[0])[:40],
            ) from None
        if values.ndim != 2 or values.shape[1] != self.width:
            raise Mistake(
                "expected rows of {width} numbers, found an array of shape {shape}.",
                width=self.width,
                shape=values.shape,
            )
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise Mistake(
                "row {row}, column {column}: found {value}, expected a finite number.",
                row=row + 1,
                column=column + 1,
                value=values[row, column],
            )
        return ((values - self.mean) / self.deviation).astype(np.float32)

    def flatten(self, encoded: np.ndarray) -> np.ndarray:
        return encoded

    def notes(self, values) -> list[str]:
        return [
            Message(
                "{width} numbers a row, each brought to mean 0 and deviation 1", width=self.width
            )
        ]

    def to_json(self) -> dict:
        return {"kind": self.kind, "mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_json(cls, saved) -> Self:
        return cls(*take.scaling(saved))


class Images:
    """Pictures (height, width) or (height, width, channels), kept as they are; the input layer brings them to 0 … 1."""

    kind, unit, longest = "image", "words", 1

    def __init__(self, shape: tuple[int, ...], brightest: float):
        self.shape, self.brightest = tuple(shape), brightest
        self.height, self.width = (
            shape[0],
            int(np.prod(shape[1:])),
        )  # an image read row by row: T = height, F = width

    @classmethod
    def learn(cls, values) -> Self:
        return cls(values.shape[1:], float(values.max()) or 1.0)

    def encode(self, values) -> np.ndarray:
        values = np.asarray(values)
        if values.shape[1:] != self.shape:
            raise Mistake(
                "expected images of shape {shape}, found {actual}.",
                shape=self.shape,
                actual=values.shape[1:],
            )
        return values

    def flatten(self, encoded: np.ndarray) -> np.ndarray:
        return encoded.reshape(len(encoded), self.height * self.width).astype(
            np.float32
        ) / np.float32(self.brightest)

    def notes(self, values) -> list[str]:
        return [Message("images of {shape}", shape=" × ".join(map(str, self.shape)))]

    def to_json(self) -> dict:
        return {"kind": self.kind, "shape": list(self.shape), "brightest": self.brightest}

    @classmethod
    def from_json(cls, saved) -> Self:
        shape, brightest = take.integers(saved, "shape", 1), take.value(saved, "brightest")
        if len(shape) < 2 or not take.is_number(brightest) or not brightest > 0:
            raise take.Unfit('"shape" and "brightest" are not those of images')
        return cls(tuple(shape), float(brightest))


class Frames:
    """Rows of T frames, each of F numbers: a numeric sequence, sound, a series; each feature at mean 0 and deviation 1."""

    kind, unit = "frames", "words"

    def __init__(self, mean: np.ndarray, deviation: np.ndarray, length: int | None, longest: int):
        self.mean, self.deviation, self.width, self.longest = mean, deviation, len(mean), longest
        self.length = length  # of every row, where all are equally long

    @classmethod
    def learn(cls, values: Sequences, longest: int = 4096) -> Self:
        flat = two_dimensional(values.flat)
        if not len(flat):
            raise Mistake("the numeric sequences are all empty; expected at least one number.")
        lengths = np.unique(values.lengths)
        return cls(*scaling(flat), int(lengths[0]) if len(lengths) == 1 else None, longest)

    def coerce(self, values) -> Sequences:
        """What a user gives, as rows of frames."""
        return as_frames(values, self.width)

    def encode(self, values: Sequences) -> Sequences:
        flat = two_dimensional(values.flat)
        if flat.shape[1] != self.width:
            raise Mistake(
                "expected frames of {width} numbers, found frames of {actual}.",
                width=self.width,
                actual=flat.shape[1],
            )
        if not np.isfinite(flat).all():
            at, column = np.argwhere(~np.isfinite(flat))[0]
            row = int(np.searchsorted(values.offsets, at, "right"))
            step, value = at - values.offsets[row - 1] + 1, flat[at, column]
            raise Mistake(
                "row {row}, step {step}: found {value}, expected a finite number.",
                row=row,
                step=step,
                value=value,
            )
        return Sequences(((flat - self.mean) / self.deviation).astype(np.float32), values.offsets)

    def flatten(self, encoded: Sequences) -> np.ndarray:
        """(N, length·F), the last frames of each row; where rows differ in length, the mean frame (N, F)."""
        if self.length is None:
            sums = np.add.reduceat(
                np.vstack([encoded.flat, np.zeros((1, self.width), np.float32)]),
                encoded.offsets[:-1],
            )
            return np.where(
                encoded.lengths[:, None] > 0, sums / np.maximum(encoded.lengths, 1)[:, None], 0
            ).astype(np.float32)
        table = np.zeros((len(encoded), self.length, self.width), np.float32)
        for row in range(len(encoded)):
            frames = encoded[row][-self.length :]
            table[row, self.length - len(frames) :] = frames
        return table.reshape(len(encoded), -1)

    def notes(self, values) -> list[str]:
        long = self.length or Message(
            "{least} to {most}", least=values.lengths.min(), most=values.lengths.max()
        )
        return [
            Message(
                "sequences of {long} steps, {width} numbers each, brought to mean 0 and deviation 1",
                long=long,
                width=self.width,
            )
        ]

    def to_json(self) -> dict:
        return {
            "kind": self.kind,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "length": self.length,
            "longest": self.longest,
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        return cls(
            *take.scaling(saved),
            take.maybe_integer(saved, "length"),
            take.integer(saved, "longest", 1),
        )


KINDS = {
    "tokens": Texts,
    "given": Tokens,
    "pieces": Pieces,
    "questions": Questions,
    "sounds": Sounds,
    **{kind.kind: kind for kind in (Labels, Numbers, Images, Frames, Lines)},
}


def scaling(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every column."""
    with np.errstate(
        invalid="ignore"
    ):  # what is not finite is refused by encode, which knows where it stands
        deviation = columns.std(0)
    return columns.mean(0), np.where(deviation > 0, deviation, 1.0)


def two_dimensional(flat: np.ndarray) -> np.ndarray:
    flat = np.asarray(flat, np.float64)
    return flat[:, None] if flat.ndim == 1 else flat
