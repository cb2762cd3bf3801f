"""Writer: a network that reads a running text and says, at every step, what comes next. Every rung that generates by gradients.

    x_t = E[w_t],  y_t = body(x_1 … x_t),  log p(w_{t+1}) = log softmax(W y_t + b)

A text opens as a line does: the end of the line before it is the first token that is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.data.text.lines import Lines
from wenmai.data.text.vocabulary import END, UNK
from wenmai.language.replay import replayed
from wenmai.language.scoring import READ, Reader, Said, alone, batch_of
from wenmai.layers.cache import Cache
from wenmai.layers.trace import Trace

COLUMNS = 20


class Writer(nn.Module):
    per_step = has_probabilities = True

    def __init__(self, lines: Lines, input: nn.Module, body: nn.Module, head: nn.Module, steps: int, suits: dict[str, float],
                 built: dict | None = None):  # fmt: skip
        """`steps`: how many tokens training reads at once; a body without a state to carry reads no more at any time. `suits`:
        training options that suit it, where none are given. `built`: options of its builder that the text's length decided: what
        was built is what is saved."""
        super().__init__()
        self.built = built or {}
        self.lines, self.steps, self.carried, self.suits = lines, steps, body.carried, suits
        self.input, self.body, self.head = input, body, head

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        """log p of the next token at every step (B, T, V)"""
        return self.read(batch, trace)[0]

    def read(self, batch: Batch, trace: Trace | None = None) -> tuple[Tensor, Tensor | None]:
        x, mask = self.input(batch)
        y, mask, state = self.body(x, mask, batch.state, trace)
        return self.head.outputs(y, mask), state

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor | int, Tensor | None]:
        x, mask = self.input(batch)
        y, mask, state = self.body(x, mask, batch.state)
        return *self.head.loss(y, mask, batch), state if self.carried else None

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    # Scoring

    def scored(self, blocks: Iterable[bytes], apart: bool = False) -> Iterator[tuple[bytes, np.ndarray, np.ndarray, int]]:
        """(block, Σ log p of every line, its tokens, how many are unknown); the text runs on from line to line, unless these
        stand apart."""
        reader = Reader(self)
        for block in blocks:
            tokens, starts = self.lines.numbers(block)
            sums = alone(self, tokens, starts) if apart else np.add.reduceat(reader.log_probs(tokens), starts[:-1])
            yield block, sums, np.diff(starts), int((tokens == UNK).sum())

    def said(self, blocks: Iterable[bytes], stride: int | None = None) -> Iterator[Said]:
        """The same token by token."""
        reader = Reader(self, stride)
        for block in blocks:
            yield from reader.read(self.lines.numbers(block)[0])

    @torch.no_grad()
    def glance(self, tokens: np.ndarray) -> float:
        """Mean −log p of a text, quickly: read in columns side by side, of which each begins without a past."""
        total, steps, state = 0.0, 512 if self.carried else self.steps, None
        count = len(tokens) - 1
        if self.carried:
            columns = max(1, min(COLUMNS, count // 1000))
            length = count // columns
            starts, batches = np.arange(columns) * length, range(0, length, steps)
            places = [(starts + at, min(steps, length - at)) for at in batches]
        else:
            starts = np.arange(0, max(1, count - steps + 1), steps)
            places = [(part, min(steps, count)) for part in np.array_split(starts, -(-len(starts) * steps // READ))]
        read = 0
        for begins, size in places:
            piece = tokens[begins[:, None] + np.arange(size + 1)]
            log_probs, after = self.read(batch_of(piece[:, :-1], self.device, state))
            wanted = torch.from_numpy(piece[:, 1:].astype(np.int64)).to(self.device)
            total += log_probs.gather(2, wanted.unsqueeze(-1)).sum(dtype=torch.float64)
            state, read = after if self.carried else None, read + wanted.numel()
        return -float(total) / max(1, read)

    # Word by word

    def log_prob(self, before: np.ndarray, tokens: np.ndarray) -> float:
        """Σ log p of these tokens, after those."""
        return float(Reader(self).log_probs(np.concatenate([before, tokens]))[len(before) :].sum())

    def opened(self) -> tuple:
        return self.begin(np.zeros(0, np.int32))

    def advanced(self, state: tuple, word: str) -> tuple[float, tuple]:
        """(log p, the state after it) of one word, or of the end of a line; a state holds what is said of the next word."""
        log_probs, inner = state
        number = END if word == "\n" else self.lines.number(word)
        return float(log_probs[0, number]), self.step(inner, torch.tensor([number]))

    # Generating

    @torch.no_grad()
    def begin(self, tokens: np.ndarray) -> tuple[Tensor, Tensor | Cache]:
        """(log p of what comes next (B, V), the state) after these tokens, (T,) of one text or (B, T) of several."""
        opened = np.pad(np.atleast_2d(tokens).astype(np.int64), ((0, 0), (1, 0)), constant_values=END)
        return self.after(torch.from_numpy(opened), None)

    @torch.no_grad()
    def step(self, state: Tensor | Cache, tokens: Tensor) -> tuple[Tensor, Tensor | Cache]:
        """The same after one token more in every row (B,); log p stay on the model's device, and no step waits for it."""
        return self.after(tokens[:, None], state)

    def steps_from(self, state: Tensor | Cache):
        """(a step, the state to begin from) for one text that is written to its end; the state may not be used again."""
        return replayed(self, state)

    def after(self, tokens: Tensor, state: Tensor | Cache | None) -> tuple[Tensor, Tensor | Cache]:
        """A carried state goes on for ever. Without one, a token is said from the last `steps` before it: as long as all of them
        fit, a body with a cache reads the new ones only; then, as they all move up by one place with every token, the
        state is the window itself (B, T), which is read again."""
        tokens = tokens.to(self.device)
        if self.carried:
            return self.last(tokens, state)
        if state is None and self.body.cached:
            state = self.body.cache(len(tokens), self.steps)
        if isinstance(state, Cache):
            if state.fits(tokens.shape[1]):
                log_probs, after = self.last(tokens, state)
                after.tokens[:, state.length : after.length] = tokens
                return log_probs, after
            state = state.tokens[:, : state.length]
        window = (tokens if state is None else torch.cat([state, tokens], 1))[:, -self.steps :]
        return self.last(window, None)[0], window

    def last(self, tokens: Tensor, state: Tensor | Cache | None) -> tuple[Tensor, Tensor | Cache | None]:
        """(log p after the last of these tokens (B, V), the state there)"""
        x, mask = self.input(batch_of(tokens, self.device, state))
        y, mask, state = self.body(x, mask, state)
        return self.head.outputs(y[:, -1:], mask[:, -1:])[:, 0].float(), state
