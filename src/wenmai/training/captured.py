"""An update in one launch: all kernels of it, recorded once as a CUDA graph and started together ever after.

A small network's update is hundreds of kernels of some microseconds each, and a GPU waits longer for the next to be started than
it takes. Running text is read in batches of one shape, so that what was recorded fits every one of them: only batch, state and
rate are written to where the recording reads them. Random numbers follow from the seed that is set before each launch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from wenmai.data.examples.batches import is_stream, make_batch
from wenmai.training import memory

WARM = 3  # updates before the recording, that kernels are chosen and moments made in


class Captured:
    @classmethod
    def of(cls, descent) -> Captured | None:
        """For running text, read by one process with dense gradients."""
        fits = is_stream(descent.train) and descent.team.size == 1 and not descent.optimizer.tables
        return cls(descent) if fits else None

    def __init__(self, descent):
        self.descent = descent
        self.forget()

    def forget(self) -> None:
        """What was recorded, where weights or moments have moved since."""
        self.graph, self.seen, self.loss = None, 0, None

    def __call__(self, rows: np.ndarray) -> torch.Tensor | None:
        """The mean loss; None where this update has to be made in the usual way."""
        descent = self.descent
        if descent.pieces > 1:
            self.forget()
            return None
        batch = make_batch(descent.train, rows, descent.longest)
        if self.graph is None:
            self.seen += 1
            if self.seen <= WARM or not self.recorded(batch):
                return None
        if batch.inputs.shape != self.batch.inputs.shape:
            return None
        self.batch.inputs.copy_(batch.inputs, non_blocking=True)
        self.batch.target.copy_(batch.target, non_blocking=True)
        if self.batch.state is not None:
            opens = descent.carried is None or descent.train.inputs.opens(rows)
            self.batch.state.zero_() if opens else self.batch.state.copy_(descent.carried)
        self.graph.replay()
        descent.carried = self.state
        return self.loss.clone()

    def recorded(self, batch) -> bool:
        descent = self.descent
        state = None if descent.carried is None else torch.zeros_like(descent.carried)
        self.batch = replace(batch.to(descent.device), state=state)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.empty_cache()  # the recording has memory of its own
        try:
            with torch.cuda.graph(graph):
                with torch.autocast("cuda", torch.bfloat16, enabled=descent.bf16):
                    total, count, after = descent.loss(self.batch)
                total.backward()
                norm = descent.optimizer.step(torch.full((), 1 / count, device=descent.device))
                self.loss = total.detach().float() / count + 0 * norm
                self.state = None if after is None else after.detach().float()
        except (RuntimeError, MemoryError) as error:
            if not memory.exhausted(error):
                raise
            descent.optimizer.forget()
            descent.captured = None  # for good: what is left of the memory is needed for the batch itself
            return False
        self.graph = graph
        return True
