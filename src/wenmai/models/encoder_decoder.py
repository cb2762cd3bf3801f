"""EncoderDecoder: a network that reads with one body and writes with another, the memory between them (Sutskever et al. 2014).

    m_1 … m_S = encoder(x_1 … x_S),  y_t = decoder(w_0 … w_{t−1}, m),  log p(w_t) = log softmax(W y_t + b),  w_0 = <s>

1→N is one whose encoder sees a single frame. In training the decoder reads the text that it is to write, one place behind
(teacher forcing): all places at once. To write, it reads what it has chosen itself, a token a step. Scheduled sampling (Bengio et
al. 2015) gets it used to that: a share of what it reads is what it would have said there, found by a first pass over all places
(Mihaylova & Martins 2019).

A decoder is `decoder(tokens, memory, mask, state=None, trace=None) → (y, state)`. Without a state, the tokens open a text;
`opened` gives the state of one that is to be written step by step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.data.text.vocabulary import BEGIN
from wenmai.kernels.products import Repeated
from wenmai.layers.cache import take, within
from wenmai.layers.copying import Copies
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace


@dataclass
class Writing:
    """A text that is being written: the memory (B, S, H), its mask (B, S), what the decoder carries, what can be copied, and what
    says the next token."""

    memory: Tensor
    mask: Tensor
    inner: object = None
    copies: Copies | None = None
    say: Repeated = field(default_factory=Repeated)

    def take(self, rows: Tensor) -> Writing:
        kept = (None if part is None else take(part, rows) for part in (self.inner, self.copies))
        return Writing(take(self.memory, rows), take(self.mask, rows), *kept, self.say)

    def within(self, rows: Tensor) -> Writing:
        """Rows that change places with others of the same text: what was read stays where it is."""
        return replace(self, inner=None if self.inner is None else within(self.inner, rows))


class EncoderDecoder(nn.Module):
    per_step = has_probabilities = True

    def __init__(self, input: nn.Module, encoder: nn.Module, decoder: nn.Module, head: nn.Module, suits: dict | None = None,
                 sampling: float = 0.0):  # fmt: skip
        """`suits`: options of training that suit it; `sampling`: the share of its own words that it reads in training."""
        super().__init__()
        self.input, self.encoder, self.decoder, self.head, self.suits = input, encoder, decoder, head, suits or {}
        self.sampling = sampling

    def read(self, x: Tensor, mask: Tensor, batch: Batch, trace: Trace | None = None) -> Tensor:
        """y (B, T, H), from which every token of batch.target is said"""
        memory, mask, _ = self.encoder(x, mask, trace=trace)
        begin = batch.target.new_full((len(batch.target), 1), BEGIN)
        tokens = torch.cat([begin, batch.target[:, :-1].clamp(min=0)], 1)  # behind the end of a text anything may stand
        if self.training and self.sampling and tokens.shape[1] > 1:
            with torch.no_grad():
                y, copies = self.decoder(tokens, memory, mask)[0], self.copies(batch)
                said = self.head.scores(y) if copies is None else self.head.outputs(y, copies)  # (B, T, V)
                said = said.argmax(-1)[:, :-1]  # (B, T − 1)
            own = torch.rand(said.shape, device=said.device) < self.sampling
            tokens = torch.cat([begin, torch.where(own, said, tokens[:, 1:])], 1)
        return self.decoder(tokens, memory, mask, trace=trace)[0]

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        """log p of every token of the text that is to be written, after those before it (B, T, V); V + X with words to copy"""
        return self.outputs_from(*self.input(batch), trace, batch)

    def outputs_from(self, x: Tensor, mask: Tensor, trace: Trace | None, batch: Batch) -> Tensor:
        """Entered at the embeddings: for gradients with respect to what is read."""
        return self.head.outputs(self.read(x, mask, batch, trace), self.copies(batch))

    def copies(self, batch: Batch) -> Copies | None:
        return Copies.of(batch.copies, self.head.width)

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor | int]:
        return self.head.loss(self.read(*self.input(batch), batch), batch.target_mask, batch)

    # Writing

    @torch.no_grad()
    def begin(self, batch: Batch, steps: int) -> tuple[Tensor, Writing]:
        """(log p of the first token (B, V), the state); no more than so many tokens will be written."""
        memory, mask, _ = self.encoder(*self.input(batch))
        state = Writing(memory, mask, self.decoder.opened(memory, mask, steps), self.copies(batch))
        return self.step(state, torch.full((len(memory),), BEGIN, device=memory.device))

    @torch.no_grad()
    def step(self, state: Writing, tokens: Tensor) -> tuple[Tensor, Writing]:
        """The same after one token more in every row (B,)."""
        y, inner = self.decoder(tokens[:, None], state.memory, state.mask, state.inner)
        return self.head.outputs(y, state.copies, state.say)[:, 0].float(), replace(state, inner=inner)

    @property
    def body(self) -> nn.Module:
        return self.decoder

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())


class Looked(nn.Module):
    """The input layer of texts that are numbered as those that are written: x_t = scale · E[w_t]."""

    def __init__(self, table: nn.Parameter, scale: float, dropout: float):
        super().__init__()
        self.table, self.scale, self.width, self.dropout = table, scale, table.shape[1], Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        x = functional.embedding(batch.inputs, self.table)  # (B, S, E)
        return self.dropout(x if self.scale == 1.0 else x * self.scale), batch.mask


class Single(nn.Module):
    """The encoder of a single frame: m = tanh(x), or x as it is where a decoder bends it itself."""

    def __init__(self, bend: bool, dropout: nn.Module):
        super().__init__()
        self.bend, self.dropout = bend, dropout

    def forward(self, x: Tensor, mask: Tensor, state=None, trace: Trace | None = None):
        return self.dropout(x.tanh() if self.bend else x), mask, None
