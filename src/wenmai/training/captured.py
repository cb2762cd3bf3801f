"""An update in one launch: all kernels of it, recorded once as a CUDA graph and started together ever after.

A small network's update is hundreds of kernels of some microseconds each, and a GPU waits longer for the next to be started than
it takes. Running text is read in batches of one shape, so that what was recorded fits every one of them: only batch, state and
rate are written to where the recording reads them. Random numbers follow from the seed that is set before each launch."""

from dataclasses import replace

import numpy as np
import torch

from wenmai.layers.losses import weighted
from wenmai.training import memory

WARM = 3  # updates before the recording, that kernels are chosen and moments made in


class Captured:
    @classmethod
    def of(cls, updater) -> "Captured | None":
        """For running text, read by one process with dense gradients."""
        fits = (
            updater.examples.one_shape and updater.team.size == 1 and not updater.optimizer.tables
        )
        return cls(updater) if fits else None

    def __init__(self, updater):
        self.updater = updater
        self.forget()

    def forget(self) -> None:
        """What was recorded, where weights or moments have moved since."""
        self.graph, self.seen, self.loss = None, 0, None

    def __call__(self, rows: np.ndarray, step: int) -> torch.Tensor | None:
        """The mean loss; None where this update has to be made in the usual way."""
        updater = self.updater
        if updater.micro_batches > 1:
            self.forget()
            return None
        batch = updater.batch(rows, step)
        if self.graph is None:
            self.seen += 1
            if self.seen <= WARM or not self.recorded(batch):
                return None
        if batch.inputs.shape != self.batch.inputs.shape:
            return None
        self.batch.inputs.copy_(batch.inputs, non_blocking=True)
        self.batch.target.copy_(batch.target, non_blocking=True)
        if self.batch.state is not None:
            opens = updater.carried is None or updater.examples.opens(rows)
            self.batch.state.zero_() if opens else self.batch.state.copy_(updater.carried)
        self.graph.replay()
        updater.carried = self.state
        return self.loss.clone()

    def recorded(self, batch) -> bool:
        updater = self.updater
        state = None if updater.carried is None else torch.zeros_like(updater.carried)
        self.batch = replace(batch.to(updater.device), state=state)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.empty_cache()  # the recording has memory of its own
        try:
            with torch.cuda.graph(graph):
                with torch.autocast("cuda", torch.bfloat16, enabled=updater.bf16):
                    losses, after = updater.losses(self.batch)
                counts = [loss.count for loss in losses]
                updater.objective(losses, counts if len(losses) > 1 else None).backward()
                scale = 1 / counts[0] if len(losses) == 1 else 1.0
                norm = updater.optimizer.step(torch.full((), scale, device=updater.device))
                self.loss = weighted(losses, counts).detach().float() + 0 * norm
                self.state = None if after is None else after.detach().float()
        except (RuntimeError, MemoryError) as error:
            if not memory.exhausted(error):
                raise
            updater.optimizer.forget()
            updater.captured = (
                None  # for good: what is left of the memory is needed for the batch itself
            )
            return False
        self.graph = graph
        return True
