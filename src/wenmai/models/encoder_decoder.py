"""EncoderDecoder: a network that reads with one body and writes with another, the memory between them (Sutskever et al. 2014).

    m_1 … m_S = encoder(x_1 … x_S),  y_t = decoder(w_0 … w_{t−1}, m),  log p(w_t) = log softmax(W y_t + b),  w_0 = <s>

1→N is one whose encoder sees a single frame. In training the decoder reads the text that it is to write, one place behind
(teacher forcing): all places at once. To write, it reads what it has chosen itself, a token a step. Scheduled sampling (Bengio et
al. 2015) gets it used to that: a share of what it reads is what it would have said there, found by a first pass over all places
(Mihaylova & Martins 2019).

A decoder is `decoder(tokens, memory, mask, state=None, trace=None) → (y, state)`, and has the `special` tokens of what it writes.
Without a state, the tokens open a text; `begin` gives the state of one that is to be written step by step."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.kernels.beam_search import BestTexts
from wenmai.kernels.sharing import helped
from wenmai.layers.body import Body
from wenmai.layers.cache import take, within
from wenmai.layers.copying import Copies
from wenmai.layers.losses import Loss
from wenmai.layers.trace import Trace

FEW = 1000  # tokens: those who know fewer read letters, of which a small network learns as much, and sooner


def few_tokens(inputs) -> bool:
    """Whether both sides are letters rather than words."""
    return max(inputs.source.vocabulary, inputs.target.vocabulary) < FEW


@dataclass
class DecoderState:
    """A text that is being written: the memory (B, S, H), its mask (B, S), what the decoder carries, and what can be copied."""

    memory: Tensor
    mask: Tensor
    inner: object = None
    copies: Copies | None = None

    def take(self, rows: Tensor) -> "DecoderState":
        kept = (None if part is None else take(part, rows) for part in (self.inner, self.copies))
        return DecoderState(take(self.memory, rows), take(self.mask, rows), *kept)

    def within(self, rows: Tensor) -> "DecoderState":
        """Rows that change places with others of the same text: what was read stays where it is."""
        return replace(self, inner=None if self.inner is None else within(self.inner, rows))


class EncoderDecoder(nn.Module):
    per_step = has_probabilities = says_next = True
    carried = False

    def __init__(
        self,
        input: nn.Module,
        encoder: Body,
        decoder: nn.Module,
        head: nn.Module,
        training_defaults: dict | None = None,
        sampling: float = 0.0,
        built: dict | None = None,
        fine_tuning_defaults: dict | None = None,
    ):
        """`training_defaults`: options of training that suit it; `sampling`: the share of its own words that it reads in
        training; `built`, `fine_tuning_defaults`: as of a Network."""
        super().__init__()
        self.input, self.encoder, self.decoder, self.head, self.sampling = (
            input,
            encoder,
            decoder,
            head,
            sampling,
        )
        self.training_defaults, self.built = training_defaults or {}, built or {}
        self.fine_tuning_defaults = fine_tuning_defaults or {}
        special = decoder.special
        self.opening = special.end if special.begin is None else special.begin

    def read(self, x: Tensor, mask: Tensor, batch: Batch, trace: Trace | None = None) -> Tensor:
        """y (B, T, H), from which every token of batch.target is said"""
        memory, mask, _ = self.encoder(
            x, mask, trace=trace and trace.under("encoder"), **self.beside(batch)
        )
        begin = batch.target.new_full((len(batch.target), 1), self.opening)
        tokens = torch.cat(
            [begin, batch.target[:, :-1].clamp(min=0)], 1
        )  # behind the end of a text anything may stand
        if self.training and self.sampling and tokens.shape[1] > 1:
            with torch.no_grad():
                y = self.decoder(tokens, memory, mask)[0]
                own = self.head.outputs(y, self.copies(batch)).argmax(-1)[:, :-1]  # (B, T − 1)
            chance = torch.rand(own.shape, device=own.device) < self.sampling
            tokens = torch.cat([begin, torch.where(chance, own, tokens[:, 1:])], 1)
        return self.decoder(tokens, memory, mask, trace=trace and trace.under("decoder"))[0]

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        """log p of every token of the text that is to be written, after those before it (B, T, V); V + X with words to copy"""
        return self.outputs_from(*self.input(batch), trace, batch)

    def outputs_from(self, x: Tensor, mask: Tensor, trace: Trace | None, batch: Batch) -> Tensor:
        """Entered at the embeddings: for gradients with respect to what is read."""
        return self.head.outputs(self.read(x, mask, batch, trace), self.copies(batch))

    def beside(self, batch: Batch) -> dict[str, Tensor]:
        """What an encoder is told beside x: which text a token stands in."""
        return {"segment": batch.segment} if self.encoder.segmented else {}

    def copies(self, batch: Batch) -> Copies | None:
        return Copies.of(batch.copies, self.head.width)

    def losses(self, batch: Batch) -> tuple[list[Loss], None]:
        return self.head.losses(
            self.read(*self.input(batch), batch), batch.target_mask, batch
        ), None

    # Writing

    @torch.no_grad()
    def begin(self, batch: Batch, steps: int) -> tuple[Tensor, DecoderState]:
        """(log p of the first token (B, V), the state); no more than so many tokens will be written."""
        memory, mask, _ = self.encoder(*self.input(batch), **self.beside(batch))
        state = DecoderState(
            memory, mask, self.decoder.begin(memory, mask, steps), self.copies(batch)
        )
        return self.step(state, torch.full((len(memory),), self.opening, device=memory.device))

    @torch.no_grad()
    def can_search(self, sources: int, size: int) -> bool:
        """Whether there is machine code for beams of this size."""
        return hasattr(self.decoder, "can_search") and self.decoder.can_search(
            self.head, sources, size
        )

    @torch.no_grad()
    def get_ready(self) -> None:
        """As a Transformer's (layers/transformer.py): to search."""
        if self.can_search(1, 1):
            memory, mask, most = (
                torch.zeros(1, 1, self.encoder.width),
                torch.ones(1, 1, dtype=torch.bool),
                np.ones(1, np.int64),
            )
            self.decoder.search(self.head, memory, mask, self.opening, most, 1, 0.0, 1)

    @torch.no_grad()
    def search(
        self, batch: Batch, most: np.ndarray, size: int, penalty: float, count: int
    ) -> BestTexts:
        """The best texts that beam search finds, by machine code."""
        with helped():
            memory, mask, _ = self.encoder(*self.input(batch), **self.beside(batch))
            return self.decoder.search(
                self.head, memory, mask, self.opening, most, size, penalty, count
            )

    @torch.no_grad()
    def step(self, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """The same after one token more in every row (B,)."""
        y, inner = self.decoder(tokens[:, None], state.memory, state.mask, state.inner)
        return self.head.outputs(y, state.copies)[:, 0].float(), replace(state, inner=inner)

    @property
    def body(self) -> nn.Module:
        return self.decoder

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())


class VectorEncoder(Body):
    """The encoder of a single frame: m = tanh(x), or x as it is where a decoder has an activation of its own."""

    def __init__(self, activation: bool, dropout: nn.Module):
        super().__init__()
        self.activation, self.dropout = activation, dropout

    def forward(self, x: Tensor, mask: Tensor, state=None, trace: Trace | None = None):
        return self.dropout(x.tanh() if self.activation else x), mask, None
