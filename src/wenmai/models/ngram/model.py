"""The n-gram model: the next word from the n − 1 before it (Shannon 1948), by counts of a text, smoothed.

    p(w₁ … w_T) = ∏ p(w_t | w_{t−n+1} … w_{t−1})

counting (counts, spilled, spark) → smoothing → pruning → a layout that is walked word by word: table (fast) or trie (small).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.rows import Examples
from wenmai.data.files.columns import short
from wenmai.data.storage.threads import side_by_side, threads
from wenmai.data.text.lines import Lines, Running
from wenmai.data.text.vocabulary import BEGIN, END, SPECIAL
from wenmai.errors import Mistake
from wenmai.layers.heads import OneOf
from wenmai.models.explanation import Matched
from wenmai.models.ngram.classifier import NgramClassifier
from wenmai.models.ngram.estimation import ENOUGH, Layout, Recipe
from wenmai.models.ngram.numbering import Numbering
from wenmai.models.ngram.spilled import count_blocks
from wenmai.models.ngram.weights import LN10, Smoothing
from wenmai.models.token_scores import TokenScores
from wenmai.options import Count
from wenmai.training.progress import Progress, Snapshot

PIECE, LEAST = 1 << 20, 1 << 16  # bytes that a thread scores at once, at most and at least
MANY = 1 << 20  # words whose numbers are remembered
State = tuple[int, ...]
SIZE = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def ngram(
    inputs,
    head,
    *,
    order: Count | None = None,
    smoothing: Smoothing = "modified-kneser-ney",
    delta: float | None = None,
    prune: str = "0",
    threshold: float = 0.0,
    layout: Layout = "fast",
    memory: str | None = None,
    engine: Literal["local", "spark"] = "local",
):
    """`order`: how long the n-grams are, 1 to 7 (5 unless said; 3 to classify). `delta` goes with add-delta: given, or fitted
    on the last tenth of the text. `prune` drops what was seen so often or less, order by order ("0 0 1"; the last number holds
    for the rest); `threshold` what raises perplexity by a smaller share than this when it goes. `layout`: fast, or small on
    disk. `memory`: what counting may take, such as 2G; what is more goes to disk in sorted runs. `engine`: count here, or on
    Spark."""
    if inputs.kind not in ("lines", "tokens"):
        raise Mistake(
            "the rung ngram reads text; for numbers and images use another, such as softmax."
        )
    classes = isinstance(head, OneOf)
    chosen = Recipe(
        (3 if classes else 5) if order is None else order,
        smoothing,
        delta,
        prune,
        threshold,
        layout,
    )
    bound = size_in_bytes(memory)
    if not classes:
        return NGram(inputs, chosen, bound, engine)
    if bound or engine != "local":
        raise Mistake("memory and engine go with running text; to classify, leave them out.")
    return NgramClassifier(inputs, head, chosen)


class NGram:
    has_probabilities = per_step = mapped = carried = True

    def __init__(self, inputs: Lines, recipe: Recipe, memory: int | None, engine: str):
        self.inputs, self.recipe, self.memory, self.engine, self.grams = (
            inputs,
            recipe,
            memory,
            engine,
            None,
        )
        self.asked: dict[str, int] = {}  # numbers of words that `advanced` was given

    @cached_property
    def numbering(self) -> Numbering:
        """Known once the text is: words between spaces are numbered while it is read."""
        return Numbering(self.inputs.special, len(self.inputs) if self.inputs.tokenizer else 0)

    @property
    def size(self) -> int:
        """Of the vocabulary that is counted."""
        return len(self.inputs) if self.numbering.plain else self.numbering.size

    def words(self) -> list[str]:
        """In the order of the numbers that are counted."""
        tokens = self.inputs.tokens()
        if self.numbering.plain:
            return tokens
        return [
            *SPECIAL,
            *(tokens[number] for number in self.numbering.tokenizer_ids[len(SPECIAL) :]),
        ]

    # Learning

    def learn(
        self,
        train: Examples,
        judge: Callable[[], float] | None,
        seed: int,
        minutes: float | None = None,
        resume: Snapshot | None = None,
        where: Callable[[int], str] = str,
    ) -> Iterator[Progress]:
        began, text = time.perf_counter(), train.inputs

        def progress(step: int, note: str = "", **more) -> Progress:
            return Progress(
                step, 3, step / 3, float("nan"), 0.0, time.perf_counter() - began, note=note, **more
            )

        yield progress(0, "counting")
        if self.engine == "spark":
            levels = self.counted_on_spark(text)
        else:
            levels = count_blocks(
                map(self.numbering.numbers, text.blocks()),
                lambda: self.size,
                self.recipe.order,
                self.memory,
            )
        self.check(levels, text)
        yield progress(1, "smoothing")
        delta = (
            self.recipe.delta_for(self.numbering.numbers(beginning(text)), self.size)
            if self.recipe.fits_delta
            else None
        )
        self.grams, notes = self.recipe.estimate(levels, delta)
        for note in self.recipe.delta_notes(delta) + notes:
            yield progress(2, warning=note, passing=True)
        yield progress(3, score=judge() if judge else None)

    def counted_on_spark(self, text: Running):
        lines, path = self.inputs, text.corpus.path
        if (
            path is None
            or lines.tokenizer is not None
            or lines.words is not None
            or lines.lowercase
        ):
            raise Mistake(
                "engine=spark counts words between spaces in a text file in UTF-8, all of them: leave out tokenizer, "
                "vocabulary, min_count, lowercase and shares that are held out."
            )
        from wenmai.models.ngram.spark import count_on_spark

        lines.words, levels = count_on_spark(path, self.recipe.order)
        return levels

    def check(self, levels: list, text: Running) -> None:
        tokens = int(levels[0].count.sum() - levels[0].count[BEGIN] - levels[0].count[END])
        if not tokens:
            raise Mistake(
                "{file} is empty; expected at least one line of text.", file=text.corpus.source
            )
        if tokens < self.recipe.order:
            raise Mistake(
                "{file}: found {tokens} tokens, expected at least as many as the order, {order}; give more text, or "
                "a lower order.",
                file=text.corpus.source,
                tokens=tokens,
                order=self.recipe.order,
            )

    # Scoring

    def scored(
        self, blocks: Iterable[bytes], independent: bool = False
    ) -> Iterator[tuple[bytes, np.ndarray, np.ndarray, int]]:
        """(block, Σ log p of every line (L,), its tokens with its end (L,), how many were unknown); on all cores. No line knows
        another, whether they stand apart or not."""
        for block in blocks:
            pieces = cut(block, min(PIECE, max(LEAST, len(block) // threads() + 1)))
            sums, lengths, unknown = zip(
                *side_by_side(self.scored_piece, ((piece,) for piece in pieces))
            )
            yield block, np.concatenate(sums), np.concatenate(lengths), sum(unknown)

    def scored_piece(self, block: bytes) -> tuple[np.ndarray, np.ndarray, int]:
        tokens, starts = self.inputs.numbers(block)
        unknown = int((tokens == self.inputs.special.unknown).sum())
        return (
            LN10 * self.grams.score(self.numbering.numbers(tokens), starts, threads=1),
            np.diff(starts),
            unknown,
        )

    def token_scores(self, blocks: Iterable[bytes]) -> Iterator[TokenScores]:
        """The same token by token; there is nothing (N, 0) that a head would read."""
        for block in blocks:
            tokens, starts = self.inputs.numbers(block)
            log_probs = LN10 * self.grams.score(
                self.numbering.numbers(tokens), starts, separately=True
            ).astype(np.float64)
            yield TokenScores(tokens, log_probs, torch.zeros(len(tokens), 0))

    # Word by word

    def log_prob(self, before: np.ndarray, tokens: np.ndarray) -> float:
        """Σ log p of these tokens, after those of a text that a line opens."""
        state, total = self.initial_state(), 0.0
        for at, token in enumerate(
            self.numbering.numbers(np.concatenate([before, tokens]).astype(np.int64)).tolist()
        ):
            log_prob, state = self.grams.one(state, token)
            total += log_prob if at >= len(before) else 0.0
            state = self.initial_state() if token == END else state
        return LN10 * total

    def explain(self, tokens: np.ndarray) -> list[Matched]:
        """Of every token of a text that a line opens: the n-gram that said it."""
        state, matches = self.initial_state(), []
        for token in self.numbering.numbers(np.asarray(tokens, np.int64)).tolist():
            length, log_prob, paid = self.grams.matched(state, token)
            matches.append(Matched(length, LN10 * log_prob, [LN10 * weight for weight in paid]))
            _, state = self.grams.one(state, token)
            state = self.initial_state() if token == END else state
        return matches

    def initial_state(self) -> State:
        return tuple(self.grams.start(1)[0].tolist())

    def advanced(self, state: State, word: str) -> tuple[float, State]:
        """(log p, the state after it) of one word, or of the end of a line."""
        number = self.asked.get(word)
        if number is None:
            number = END if word == "\n" else int(self.numbering.numbers(self.inputs.number(word)))
            if len(self.asked) < MANY:
                self.asked[word] = number
        log_prob, state = self.grams.one(state, number)
        return LN10 * log_prob, state if number != END else self.initial_state()

    # Generating

    def begin(self, tokens: np.ndarray) -> tuple[Tensor, Tensor]:
        """(log p of what comes next (B, V), the state) after these tokens, (T,) or (B, T), of texts that a line opens."""
        rows = self.numbering.numbers(np.atleast_2d(tokens).astype(np.int32))
        state = self.grams.start(len(rows))
        for column in rows.T:
            state = self.after(state, np.ascontiguousarray(column))
        return self.next(state), torch.from_numpy(state)

    def steps_from(self, state: Tensor):
        return self.step, state

    def step(self, state: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """(log p of what comes next (B, V), the state) after one token more (B,)."""
        state = self.after(state.numpy(), self.numbering.numbers(tokens.numpy().astype(np.int32)))
        return self.next(state), torch.from_numpy(state)

    def after(self, state: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        _, state = self.grams.advance(state, tokens)
        ended = tokens == END
        state[ended] = self.grams.start(int(ended.sum()))
        return state

    def next(self, state: np.ndarray) -> Tensor:
        following = np.stack([self.grams.following(row) for row in state])
        following[:, BEGIN] = -np.inf
        return torch.from_numpy(self.numbering.spread(following)) * LN10

    # Keeping

    def parameters_count(self) -> int:
        return int(self.grams.sizes.sum())

    def state(self) -> dict[str, np.ndarray]:
        return self.grams.arrays()

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.grams = self.recipe.laid_out(arrays, self.size)


def beginning(text: Running) -> np.ndarray:
    """As much of the text as it takes to fit a number by."""
    blocks, size = [], 0
    for block in text.blocks():
        blocks.append(block)
        size += len(block)
        if size > ENOUGH:
            break
    return np.concatenate(blocks)


def cut(block: bytes, size: int) -> Iterator[bytes]:
    """Into pieces of whole lines."""
    at = 0
    while at < len(block):
        end = (
            len(block)
            if at + size >= len(block)
            else block.find(b"\n", at + size) + 1 or len(block)
        )
        yield block[at:end]
        at = end


def size_in_bytes(text: str | None) -> int | None:
    """2G → 2147483648."""
    if text is None:
        return None
    number, unit = text.upper().removesuffix("B")[:-1], text.upper().removesuffix("B")[-1:]
    try:
        size = int(float(number) * SIZE[unit])
    except (ValueError, KeyError, OverflowError):
        size = 0
    if size < 1 << 20:
        raise Mistake(
            "memory={memory}: expected a size of at least 1M, such as 500M or 2G.",
            memory=short(text),
        )
    return size
