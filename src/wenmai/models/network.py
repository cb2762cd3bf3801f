"""Network: input layer, body, head. Every rung that learns by gradients is one of these, or two (encoder and decoder)."""

from __future__ import annotations

from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.layers.trace import Trace


class Network(nn.Module):
    def __init__(self, input: nn.Module, body: nn.Module, head: nn.Module):
        super().__init__()
        self.input, self.body, self.head = input, body, head
        self.has_probabilities, self.per_step = head.has_probabilities, head.per_step

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        x, mask = self.input(batch)
        return self.outputs_from(x, mask, trace)

    def outputs_from(self, x: Tensor, mask: Tensor, trace: Trace | None = None) -> Tensor:
        """Entered at the embeddings: for gradients with respect to the input."""
        y, mask, _ = self.body(x, mask, trace=trace)
        return self.head.outputs(y, mask)

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor | int]:
        x, mask = self.input(batch)
        y, mask, _ = self.body(x, mask)
        return self.head.loss(y, mask, batch)

    def transitions(self):
        """How much a tag favours the next, where the head weighs that (a CRF); else None."""
        return self.head.transitions() if hasattr(self.head, "transitions") else None

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())
