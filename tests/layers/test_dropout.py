"""Dropout: the share that is dropped, the mean that is kept, and what passes through unchanged."""

import pytest
import torch

from wenmai.layers.dropout import Dropout

MANY = 200_000


def dropped(p, x=None, seed=0):
    torch.manual_seed(seed)
    return Dropout(p).train()(torch.ones(MANY) if x is None else x)


@pytest.mark.parametrize("p", [0.004, 0.1, 0.2, 0.5, 0.9, 0.99, 0.999])
def test_the_share_that_is_dropped_and_the_mean_that_is_kept(p):
    y = dropped(p)
    share = min(255, max(1, round(p * 256))) / 256
    off = 5 * (share * (1 - share) / MANY) ** 0.5  # five deviations of a mean of MANY draws
    assert abs((y == 0).double().mean().item() - share) < off and abs(share - p) <= 1 / 256
    assert y[y != 0].unique().tolist() == pytest.approx([1 / (1 - share)])
    assert abs(y.double().mean().item() - 1) < off / (1 - share)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 64])
def test_every_size_and_shape(size):
    assert dropped(0.5, torch.ones(size)).shape == (size,)
    assert dropped(0.5, torch.ones(3, size, 2)).shape == (3, size, 2)


def test_neighbours_are_dropped_apart():
    kept = (dropped(0.5) != 0).double() - 0.5
    for distance in (1, 2, 7, 8):
        assert abs((kept[distance:] * kept[:-distance]).mean().item()) < 5 * 0.25 / MANY**0.5


def test_when_not_training_or_with_nothing_to_drop_it_is_the_identity():
    x = torch.randn(50)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
def test_the_gradient_is_the_mask_times_its_scale(kind):
    x = (torch.rand(40, 10) + 1).to(kind).requires_grad_()
    y = dropped(0.3, x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    scale = torch.tensor(256 / (256 - round(0.3 * 256)), dtype=kind)
    assert y.dtype == kind and torch.equal(gradient, (y != 0).to(kind) * scale)
    assert torch.equal(y, x * gradient)


def test_the_same_seed_drops_the_same():
    assert torch.equal(dropped(0.3, seed=4), dropped(0.3, seed=4))
    assert not torch.equal(dropped(0.3, seed=4), dropped(0.3, seed=5))
    torch.manual_seed(4)
    layer = Dropout(0.3)
    assert not torch.equal(layer(torch.ones(100)), layer(torch.ones(100)))
