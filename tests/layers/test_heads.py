"""Heads: pooling over real positions, and a loss that is torch's."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.layers.heads import OneOf, pool
from wenmai.tasks.classify import Classify

LENGTHS = [5, 2, 1]
POOLINGS = {
    "last": lambda real: real[-1],
    "first": lambda real: real[0],
    "mean": lambda real: real.mean(0),
    "max": lambda real: real.max(0),
    "sum": lambda real: real.sum(0),
}


def a_batch():
    y = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)) - 5  # so that a maximum with padding would be 0
    mask = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    return y, mask, Batch(None, mask, torch.tensor([2, 0, 1]))


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_sees_real_positions_only(how):
    y, mask, _ = a_batch()
    for padding in (0.0, 99.0, -99.0):
        found = pool(torch.where(mask[..., None], y, padding), mask, how)
        for row, length in enumerate(LENGTHS):
            np.testing.assert_allclose(found[row], POOLINGS[how](y[row, :length].numpy()), atol=1e-5)


@pytest.mark.parametrize("how", ["mean", "max", "sum"])
def test_a_row_without_positions_pools_to_nothing(how):
    y = torch.randn(2, 3, 4, requires_grad=True)
    mask = torch.tensor([[False, False, False], [True, True, False]])
    found = pool(y, mask, how)
    assert not found[0].any() and found[1].all()
    (gradient,) = torch.autograd.grad(found.sum(), y)
    assert torch.isfinite(gradient).all() and not gradient[0].any() and not gradient[1, 2].any()


@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 4.0]])
@pytest.mark.parametrize("how", POOLINGS)
def test_the_loss_is_torchs_cross_entropy(how, weights):
    y, mask, batch = a_batch()
    torch.manual_seed(0)
    head = OneOf(3, weights)(4, how)
    total, count = head.loss(y, mask, batch)
    scores = head.output(pool(y, mask, how))
    by_torch = None if weights is None else torch.tensor(weights)
    torch.testing.assert_close(total, functional.cross_entropy(scores, batch.target, by_torch, reduction="sum"))
    torch.testing.assert_close(total / count, functional.cross_entropy(scores, batch.target, by_torch))
    torch.testing.assert_close(head.outputs(y, mask), scores.log_softmax(-1))
    torch.testing.assert_close(head.outputs(y, mask).exp().sum(1), torch.ones(3))


def test_balanced_classes_weigh_the_same():
    labels = ["a"] * 12 + ["b"] * 3 + ["c"] * 1
    task = Classify(balance=True)
    task.learn(labels)
    asked = task.head()
    assert asked.classes == 3 and asked.weights == pytest.approx([16 / 36, 16 / 9, 16 / 3])
    assert [weight * count for weight, count in zip(asked.weights, (12, 3, 1))] == pytest.approx([16 / 3] * 3)
    plain = Classify()
    plain.learn(labels)
    assert plain.head().weights is None
    head = asked(4, "mean")
    y, mask, _ = a_batch()
    total, count = head.loss(y, mask, Batch(None, mask, torch.tensor([0, 1, 2])))
    assert count.item() == pytest.approx(16 / 36 + 16 / 9 + 16 / 3)
    by_hand = -(head.outputs(y, mask).diagonal() * torch.tensor(asked.weights)).sum()
    torch.testing.assert_close(total, by_hand)


def test_dropout_works_in_training_only():
    y, mask, _ = a_batch()
    torch.manual_seed(0)
    head = OneOf(3)(4, "mean", 0.5)
    assert not torch.equal(head.train().outputs(y, mask), head.outputs(y, mask))
    assert torch.equal(head.eval().outputs(y, mask), head.outputs(y, mask))


def test_both_ways_the_ends_are_where_each_has_read_all():
    y = torch.arange(24.0).view(2, 3, 4)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert pool(y, mask, "ends").tolist() == [[4, 5, 2, 3], [20, 21, 14, 15]]
