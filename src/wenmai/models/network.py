"""Network: input layer, body, head. Every rung that learns by gradients is one of these, or two (encoder and decoder)."""

from __future__ import annotations

from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.layers.losses import Loss
from wenmai.layers.trace import Trace


class Network(nn.Module):
    def __init__(self, input: nn.Module, body: nn.Module, head: nn.Module):
        super().__init__()
        self.input, self.body, self.head = input, body, head
        self.has_probabilities, self.per_step = head.has_probabilities, head.per_step
        self.training_defaults: dict[str, float] = {}  # training options that suit it, where none are given

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        return self.masked(batch, trace)[0]

    def masked(self, batch: Batch, trace: Trace | None = None) -> tuple[Tensor, Tensor]:
        """(outputs, their mask): a body may shorten T."""
        y, mask, _ = self.body(*self.input(batch), trace=trace)
        return self.head.outputs(y, mask), mask

    def outputs_from(self, x: Tensor, mask: Tensor, trace: Trace | None = None) -> Tensor:
        """Entered at the embeddings: for gradients with respect to the input."""
        y, mask, _ = self.body(x, mask, trace=trace)
        return self.head.outputs(y, mask)

    def losses(self, batch: Batch) -> tuple[list[Loss], None]:
        """What the head makes of the batch, and the state that is carried on: there is none."""
        x, mask = self.input(batch)
        y, mask, _ = self.body(x, mask)
        return self.head.losses(y, mask, batch), None

    def transitions(self):
        """How much a tag favours the next, where the head weighs that (a CRF); else None."""
        return self.head.transitions() if hasattr(self.head, "transitions") else None

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())
