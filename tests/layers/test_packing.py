"""Rows laid end to end: a row gives what it gives alone, forward and backward, and what the formula gives."""

import pytest
import torch

from wenmai.layers import packing
from wenmai.layers.packing import Packed
from wenmai.layers.trace import Trace
from wenmai.layers.transformer import Transformer

LENGTHS = (11, 1, 7, 0, 3)


def rows(width: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return torch.randn(*mask.shape, width), mask


def body(**options) -> Transformer:
    torch.manual_seed(1)
    made = Transformer(16, 2, 2, 24, **{"positions": "none", "prenorm": False} | options)
    for weight in made.parameters():
        torch.nn.init.normal_(weight, 0, 0.3)
    return made


def gradients(of: torch.Tensor, weights: list) -> list[torch.Tensor]:
    wish = torch.randn(of.shape, generator=torch.Generator().manual_seed(2))
    return torch.autograd.grad((of * wish).sum(), weights, retain_graph=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"prenorm": True}, {"positions": "rotary"}, {"positions": "learned", "longest": 20}],
    ids=str,
)
def test_a_row_packed_with_others_gives_what_it_gives_alone(options):
    (x, mask), network = rows(), body(**options)
    x.requires_grad_()
    assert Packed.of(mask, x) is not None
    packed = network(x, mask)[0]
    pieces = [
        network(x[row : row + 1, :length], mask[row : row + 1, :length])[0][0]
        for row, length in enumerate(LENGTHS)
        if length
    ]
    alone = torch.cat(pieces)  # (ΣT, E), as packed[mask] has them
    torch.testing.assert_close(packed[mask], alone, atol=1e-5, rtol=1e-5)
    weights = [x, *network.parameters()]
    for one, other in zip(gradients(packed[mask], weights), gradients(alone, weights)):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_formula_and_the_padded_kernel_give_the_same(monkeypatch):
    (x, mask), network = rows(), body()
    weights = list(network.parameters())
    ways = [network(x, mask)[0], network(x, mask, trace=Trace())[0]]
    monkeypatch.setattr(packing, "PAYS", 1.0)
    assert Packed.of(mask, x) is None
    ways.append(network(x, mask)[0])
    wanted = mask.clone()
    wanted[3, 0] = True  # of a row without anything real the first place is read, packed or not
    for other in ways[1:]:
        torch.testing.assert_close(other[wanted], ways[0][wanted], atol=1e-5, rtol=1e-5)
        for one, two in zip(gradients(ways[0][mask], weights), gradients(other[mask], weights)):
            torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)


def test_what_is_computed_are_real_places_only(monkeypatch):
    (x, mask), network, seen = rows(), body(), []
    network.blocks[0].up.register_forward_hook(lambda layer, given, made: seen.append(made.shape))
    network(x, mask)
    assert seen == [(sum(LENGTHS) + 1, 24)]  # and one place of the empty row


def test_with_little_padding_rows_stay_as_they_are():
    mask = torch.ones(4, 20, dtype=torch.bool)
    assert Packed.of(mask, torch.zeros(4, 20, 8)) is None
    mask[0, 15:] = False  # 5 of 80
    assert Packed.of(mask, torch.zeros(4, 20, 8)) is None
    mask[1, 10:] = False
    assert Packed.of(mask, torch.zeros(4, 20, 8)) is not None
