"""A head with two losses of different counts, and rows whose words are masked by chance: trained alone or by torchrun
(test_losses.py). Each of the ways to cut a batch is trained for some steps, and its weights and losses are written."""

import sys
from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.layers.body import Body
from wenmai.layers.losses import Loss
from wenmai.models.network import Network
from wenmai.training import loop
from wenmai.training.distributed import team
from wenmai.training.options import TrainingOptions

WORDS, MASK = 12, 11


class Masked(Examples):
    """Some words of every row are hidden: which ones follows from the generator and the number of the row."""

    def batch(self, rows, generator=None):
        batch, drawn = super().batch(rows), generator.integers(1 << 32)
        chances = np.stack(
            [np.random.default_rng((drawn, row)).random(self.longest) for row in rows]
        )  # (B, T)
        hidden = torch.from_numpy(chances[:, : batch.inputs.shape[1]] < 0.4) & batch.mask
        return replace(
            batch,
            inputs=batch.inputs.masked_fill(hidden, MASK),
            target=batch.inputs.masked_fill(~hidden, -100),
        )


class Table(nn.Module):
    width = 8

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, self.width)

    def forward(self, batch):
        return self.table(batch.inputs), batch.mask


class Neighbours(Body):
    width = 8

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, mask, state=None, trace=None):
        before = functional.pad(x, (0, 0, 1, 0))[:, :-1]
        return torch.tanh(self.layer(x + before)), mask, None


def error(scores, target):
    return functional.cross_entropy(scores, target, reduction="sum")


class TwoLosses(nn.Module):
    """The hidden words, and whether the number of the row is even."""

    has_probabilities = per_step = True
    says_next = False

    def __init__(self):
        super().__init__()
        self.word, self.even = nn.Linear(8, WORDS), nn.Linear(8, 2)

    def counts(self, batch):
        return [int((batch.target >= 0).sum()), len(batch.target)]

    def losses(self, y, mask, batch):
        words, rows = self.counts(batch)
        pooled = (y * mask.unsqueeze(-1)).sum(1)
        return [
            Loss("words", 0.7, error(self.word(y).flatten(0, 1), batch.target.flatten()), words),
            Loss("even", 2.0, error(self.even(pooled), torch.from_numpy(batch.rows) % 2), rows),
        ]


def examples() -> Masked:
    generator = np.random.default_rng(3)
    rows = [generator.integers(0, MASK, generator.integers(1, 9)) for _ in range(61)]
    return Masked(Sequences.of(rows), longest=9)


def built() -> Network:
    torch.manual_seed(0)
    return Network(Table(), Neighbours(), TwoLosses())


def training(network: Network, resume=None, **options):
    usual = {
        "steps": 7,
        "batch_tokens": 90,
        "evaluations": 7,
        "optimizer": "sgd",
        "learning_rate": 0.05,
        "precision": "float32",
    }
    return loop.train(
        network,
        examples(),
        None,
        True,
        "cpu",
        5,
        resume=resume,
        options=TrainingOptions(**usual | options),
    )


def trained(**options) -> tuple[Network, list[float]]:
    network = built()
    return network, [progress.loss for progress in training(network, **options) if progress.step]


if __name__ == "__main__":
    found = {}
    for micro_batches in (1, 2, 3):
        for parallel in ("ddp", "fsdp"):
            network, losses = trained(micro_batches=micro_batches, parallel=parallel)
            found |= {
                f"{micro_batches} {parallel} {name}": value.numpy()
                for name, value in network.state_dict().items()
            }
            found[f"{micro_batches} {parallel} losses"] = np.array(losses)
    if team().rank == 0:
        np.savez(sys.argv[1], **found)
