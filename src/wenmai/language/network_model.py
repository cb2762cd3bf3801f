"""A network that reads running text, with the same verbs as an n-gram model: it scores a text, and goes on with it.

    x_t = E[w_t],  y_t = body(x_1 … x_t),  log p(w_{t+1}) = log softmax(W y_t + b)

A text opens as a line does: the end of the line before it is the first token that is read."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from wenmai.data.text.lines import Lines
from wenmai.language.replay import replayed
from wenmai.language.scoring import Reader, as_tensor, lines_alone
from wenmai.models.network import Network, State
from wenmai.models.token_scores import TokenScores


class NetworkLanguageModel:
    def __init__(self, network: Network, lines: Lines):
        self.network, self.lines, self.carried = network, lines, network.carried
        self.end = lines.special.end

    # Scoring

    def scored(
        self, blocks: Iterable[bytes], independent: bool = False
    ) -> Iterator[tuple[bytes, np.ndarray, np.ndarray, int]]:
        """(block, Σ log p of every line, its tokens, how many are unknown); the text runs on from line to line, unless these
        stand apart."""
        reader, unknown = Reader(self.network, self.end), self.lines.special.unknown
        for block in blocks:
            tokens, starts = self.lines.numbers(block)
            if independent:
                sums = lines_alone(self.network, self.end, tokens, starts)
            else:
                sums = np.add.reduceat(reader.log_probs(tokens), starts[:-1])
            yield block, sums, np.diff(starts), int((tokens == unknown).sum())

    def token_scores(
        self, blocks: Iterable[bytes], stride: int | None = None
    ) -> Iterator[TokenScores]:
        """The same token by token."""
        reader = Reader(self.network, self.end, stride)
        for block in blocks:
            yield from reader.read(self.lines.numbers(block)[0])

    def log_prob(self, before: np.ndarray, tokens: np.ndarray) -> float:
        """Σ log p of these tokens, after those."""
        reader = Reader(self.network, self.end)
        return float(reader.log_probs(np.concatenate([before, tokens]))[len(before) :].sum())

    # Word by word

    def initial_state(self) -> tuple:
        """The state at the opening of a line."""
        return self.begin(np.zeros(0, np.int32))

    def advanced(self, state: tuple, word: str) -> tuple[float, tuple]:
        """(log p, the state after it) of one word, or of the end of a line; a state holds what is said of the next word."""
        log_probs, inner = state
        number = self.end if word == "\n" else self.lines.number(word)
        return float(log_probs[0, number]), self.step(inner, torch.tensor([number]))

    # Going on

    def begin(self, tokens: np.ndarray) -> tuple[Tensor, State]:
        """(log p of what comes next (B, V), the state) after these tokens, (T,) of one text or (B, T) of several."""
        return self.network.begin(
            as_tensor(np.pad(np.atleast_2d(tokens), ((0, 0), (1, 0)), constant_values=self.end))
        )

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        return self.network.step(state, tokens)

    def steps_from(self, state: State):
        """(a step, the state to begin from) for one text that is written to its end; the state may not be used again."""
        return replayed(self.network, state)
