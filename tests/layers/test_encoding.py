"""Whole texts by the encoder's machine code: as the formulas have it, also where weights have changed."""

import copy
import pickle

import pytest
import torch

from wenmai.kernels.block_step import ATTENTION
from wenmai.kernels.products import has_onednn
from wenmai.layers.trace import Trace
from wenmai.layers.transformer import Transformer

LENGTHS = [37, 1, 0, 20]


def body(**options) -> Transformer:
    torch.manual_seed(0)
    return Transformer(48, 3, 2, 96, **{"positions": "none", "prenorm": False} | options).eval()


def both(stack: Transformer, x, mask):
    """(by machine code, by the formulas)"""
    with torch.inference_mode():
        return stack(x, mask)[0], stack(x, mask, trace=Trace())[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prenorm": True},
        {"activation": "relu"},
        {"activation": "gelu-tanh"},
        {"positions": "learned", "longest": 40},
        {"positions": "rotary"},
    ],
    ids=str,
)
@pytest.mark.parametrize("padded", [True, False])
def test_it_is_what_the_formulas_say(options, padded):
    stack, x = body(**options), torch.randn(4, 37, 48)
    mask = torch.arange(37) < torch.tensor(LENGTHS)[:, None] if padded else None
    found, expected = both(stack, x, mask)
    assert stack.encoder.kept.both is not None
    where = mask if padded else torch.ones(4, 37, dtype=torch.bool)
    assert torch.allclose(found[where], expected[where], atol=1e-5)


def test_weights_that_change_are_packed_anew():
    stack, x = body(), torch.randn(2, 9, 48)
    both(stack, x, None)
    with torch.no_grad():
        stack.blocks[1].up.weight.mul_(2)
    found, expected = both(stack, x, None)
    assert torch.allclose(found, expected, atol=1e-5)
    stack.load_state_dict(body(activation="relu").state_dict())
    found, expected = both(stack, x, None)
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_gradient_goes_the_usual_way():
    stack, x = body(), torch.randn(2, 9, 48)
    both(stack, x, None)
    y = stack(x.requires_grad_(), None)[0]
    y.sum().backward()
    assert x.grad is not None and stack.encoder.kept.both is None


@pytest.mark.skipif(
    not has_onednn(torch.bfloat16), reason="this processor has no products in 16 bits"
)
@pytest.mark.parametrize("options", [{}, {"prenorm": True}, {"activation": "relu"}], ids=str)
def test_16_bits_are_asked_for_and_are_another_packing(options):
    stack, x = body(**options), torch.randn(4, 37, 48)
    mask = torch.arange(37) < torch.tensor([37, 1, 5, 20])[:, None]
    found, expected = both(stack, x, mask)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        assert stack.encoder.ready(stack.blocks, x)[0].first[ATTENTION].bias.dtype == torch.bfloat16
        short = stack(x, mask)[0]
    off = (short - expected)[mask].abs()
    assert short.dtype == torch.float32 and 1e-5 < off.max() < 0.1 and off.mean() < 0.01
    again, _ = both(stack, x, mask)
    assert torch.equal(again, found)


def test_what_is_packed_is_neither_copied_nor_kept():
    stack, x = body(), torch.randn(2, 9, 48)
    both(stack, x, None)
    for other in (copy.deepcopy(stack), pickle.loads(pickle.dumps(stack))):
        assert other.encoder.kept.both is None
        assert torch.allclose(both(other, x, None)[0], both(stack, x, None)[0], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"prenorm": True}, {"positions": "rotary"}], ids=str)
@pytest.mark.parametrize("padded", [True, False])
def test_the_first_place_alone(options, padded):
    """By the formulas and by machine code: as if all places had been computed; so is every gradient."""
    stack, x = body(**options), torch.randn(3, 11, 48)
    mask = torch.arange(11) < torch.tensor([11, 1, 7])[:, None] if padded else None
    with torch.inference_mode():
        expected = stack(x, mask, trace=Trace())[0][:, :1]
        found, left, _ = stack(x, mask, first=True)
    assert torch.allclose(found, expected, atol=1e-5) and (left is None or left.shape == (3, 1))
    stack.train()
    grads = [
        torch.autograd.grad(stack(x, mask, **how)[0][:, 0].square().sum(), list(stack.parameters()))
        for how in ({}, {"first": True})
    ]
    for one, two in zip(*grads):
        assert torch.allclose(one, two, atol=1e-4)


def test_a_fused_optimizer_changes_weights_without_a_word():
    stack, x = body(), torch.randn(2, 9, 48)
    optimizer = torch.optim.AdamW(stack.parameters(), lr=0.1, fused=True)
    for _ in range(2):
        both(stack, x, None)
        stack(x, None)[0].square().sum().backward()
        optimizer.step()
        found, expected = both(stack, x, None)
        assert torch.allclose(found, expected, atol=1e-5)
