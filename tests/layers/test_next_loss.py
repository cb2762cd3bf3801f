"""The loss of the next token without its table is torch's own, and so are its gradients."""

import pytest
import torch
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.kernels import next_loss
from wenmai.kernels.next_loss import NextLoss, scores_of, smoothing_loss
from wenmai.layers.heads import Next


@pytest.mark.parametrize("rows", [1, 7, 100])
@pytest.mark.parametrize("with_bias", [True, False])
def test_loss_and_gradients_are_those_of_the_whole_table(rows, with_bias, monkeypatch):
    monkeypatch.setattr(next_loss, "ROWS", 3)
    torch.manual_seed(0)
    y, weight = torch.randn(rows, 5, requires_grad=True), torch.randn(11, 5, requires_grad=True)
    bias = torch.randn(11, requires_grad=with_bias)
    never = torch.zeros(11)
    never[1] = float("-inf")
    target = torch.randint(2, 11, (rows,))
    usual = functional.cross_entropy(
        functional.linear(y, weight, bias + never), target, reduction="sum"
    )
    inputs = [y, weight, bias][: 3 if with_bias else 2]
    wanted = torch.autograd.grad(3 * usual, inputs)
    found = NextLoss.apply(y, weight, bias + never, target)
    torch.testing.assert_close(found, usual)
    for one, other in zip(torch.autograd.grad(3 * found, inputs), wanted):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_in_sixteen_bits_it_comes_near():
    torch.manual_seed(0)
    y, weight, target = (
        torch.randn(40, 16, requires_grad=True),
        torch.randn(30, 16, requires_grad=True),
        torch.randint(0, 30, (40,)),
    )
    usual = functional.cross_entropy(y @ weight.mT, target, reduction="sum")
    with torch.autocast("cpu", torch.bfloat16):
        found = NextLoss.apply(y, weight, torch.zeros(30), target)
    assert found.dtype == torch.float32 and found.item() == pytest.approx(usual.item(), rel=1e-2)
    for one, other in zip(
        torch.autograd.grad(found, [y, weight]), torch.autograd.grad(usual, [y, weight])
    ):
        assert (one - other).norm() < 0.02 * other.norm()


@pytest.mark.parametrize("smoothing", [0.1, 0.9])
def test_what_is_expected_may_be_shared_out(smoothing, monkeypatch):
    """Szegedy et al. 2016, among those tokens that can be said at all; on a GPU the head has its own form of it."""
    monkeypatch.setattr(next_loss, "ROWS", 3)
    head = Next(11, (1,), smoothing)(5).train()
    torch.nn.init.normal_(head.output.bias)
    y, target = torch.randn(2, 4, 5, requires_grad=True), torch.randint(2, 11, (2, 4))
    target[1, 3] = -100
    log_probs, real = head.outputs(y).flatten(0, 1), target.flatten() >= 0
    said = log_probs[real]
    right = said.gather(1, target.flatten()[real][:, None]).sum()
    usual = -(1 - smoothing) * right - smoothing * said[:, torch.arange(11) != 1].sum() / 10
    _, _, found, count = head.losses(y, None, Batch(None, None, target, target >= 0))[0]
    torch.testing.assert_close(found, usual)
    assert int(count) == 7
    weights = [y, head.output.weight, head.output.bias]
    for one, other in zip(torch.autograd.grad(found, weights), torch.autograd.grad(usual, weights)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    scores = scores_of(y.flatten(0, 1), head.output.weight, head.bias(), 64)
    taught = functional.cross_entropy(scores, target.flatten(), reduction="sum")
    even = smoothing_loss(scores, head.bias(), target.flatten())
    torch.testing.assert_close((1 - smoothing) * taught + smoothing * even, usual)
