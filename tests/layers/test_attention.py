"""Attention and positions: against torch, against the formula, and what a mask forbids."""

import math

import pytest
import torch
from torch import nn

from wenmai.layers.attention import MultiHeadAttention, see_past, see_real
from wenmai.layers.positions import Learned, Sinusoidal, rotate, sinusoid
from wenmai.layers.trace import Trace

E, A = 12, 3
LENGTHS = [6, 2, 4]
CLOSE = {"atol": 1e-6, "rtol": 1e-5}


def a_batch():
    x = torch.randn(3, 6, E, generator=torch.Generator().manual_seed(0))
    return x, torch.arange(6) < torch.tensor(LENGTHS)[:, None]


def both():
    torch.manual_seed(1)
    ours, theirs = MultiHeadAttention(E, A), nn.MultiheadAttention(E, A, batch_first=True)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
        (
            ours.query_key_value.weight.copy_(theirs.in_proj_weight),
            ours.query_key_value.bias.copy_(theirs.in_proj_bias),
        )
        (
            ours.output.weight.copy_(theirs.out_proj.weight),
            ours.output.bias.copy_(theirs.out_proj.bias),
        )
    return ours, theirs


@pytest.mark.parametrize("traced", [False, True])
def test_it_is_torchs_with_the_same_weights(traced):
    (ours, theirs), (x, mask) = both(), a_batch()
    trace = Trace() if traced else None
    y = ours(x, see_real(mask), trace and trace.under("block.0"))
    wanted, weights = theirs(x, x, x, key_padding_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(y, wanted, **CLOSE)
    if traced:
        torch.testing.assert_close(trace["block.0.attention"], weights, **CLOSE)


@pytest.mark.parametrize("traced", [False, True])
def test_it_is_torchs_when_only_the_past_is_seen(traced):
    (ours, theirs), (x, _) = both(), a_batch()
    y = ours(x, see_past(6), Trace() if traced else None)
    wanted, _ = theirs(x, x, x, attn_mask=~see_past(6)[0, 0])
    torch.testing.assert_close(y, wanted, **CLOSE)
    changed = x.clone()
    changed[:, 4:] += 1
    torch.testing.assert_close(ours(changed, see_past(6))[:, :4], y[:, :4], **CLOSE)
    assert (ours(changed, see_past(6))[:, 4:] - y[:, 4:]).abs().min(-1).values.max() > 1e-3


def test_without_the_root_the_scores_are_plain():
    (ours, _), (x, mask) = both(), a_batch()
    plain = MultiHeadAttention(E, A, scaled=False)
    plain.load_state_dict(ours.state_dict())
    q, k, _ = plain.query_key_value(x).chunk(3, -1)
    for head in range(A):
        part = slice(head * E // A, (head + 1) * E // A)
        scores = (q[..., part] @ k[..., part].mT).masked_fill(~mask[:, None, :], -math.inf)
        trace = Trace()
        plain(x, see_real(mask), trace)
        torch.testing.assert_close(trace["attention"][:, head], scores.softmax(-1), **CLOSE)
    torch.testing.assert_close(plain(x, see_real(mask)), plain(x, see_real(mask), Trace()), **CLOSE)


def test_padding_is_never_looked_at():
    (ours, _), (x, mask) = both(), a_batch()
    trace = Trace()
    y = ours(x, see_real(mask), trace)
    weights = trace["attention"]  # (B, A, T, S)
    assert not weights[(~mask)[:, None, None, :].expand_as(weights)].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, A, 6))
    torch.testing.assert_close(
        ours(torch.where(mask[..., None], x, 99.0), see_real(mask))[mask], y[mask], **CLOSE
    )


def test_who_may_look_where():
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert see_real(mask).shape == (2, 1, 1, 3)
    assert see_real(mask)[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert see_past(3)[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize("width", [8, 7])
def test_sinusoidal_is_its_formula(width):
    table = sinusoid(3, 5, width)
    for row, t in enumerate(range(3, 8)):
        for column in range(width):
            angle = t / 10_000 ** (column // 2 * 2 / width)
            wanted = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[row, column].item() == pytest.approx(wanted, abs=1e-6)
    x = torch.randn(2, 5, width)
    torch.testing.assert_close(Sinusoidal(width)(x, start=3), x + table)


def test_learned_positions_are_added():
    layer, x = Learned(E, 10), torch.randn(2, 4, E)
    torch.testing.assert_close(layer(x, start=3) - x, layer.table[3:7].expand(2, 4, E), **CLOSE)
    assert layer.table.requires_grad


def test_rotary_keeps_norms_and_sees_distance_only():
    q, k = torch.randn(
        2, 1, 1, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    for start in (0, 1, 7, 100):
        torch.testing.assert_close(rotate(q, start).norm(), q.norm())
    product = {}
    for at, distance in ((0, 0), (5, 0), (50, 0), (0, 3), (5, 3), (50, 3)):
        product[at, distance] = (rotate(q, at + distance) * rotate(k, at)).sum().item()
    assert (
        product[0, 0]
        == pytest.approx(product[5, 0])
        == pytest.approx(product[50, 0])
        == pytest.approx((q * k).sum().item())
    )
    assert product[0, 3] == pytest.approx(product[5, 3]) == pytest.approx(product[50, 3])
    assert abs(product[0, 3] - product[0, 0]) > 1e-3
    torch.testing.assert_close(rotate(q, 0), q)


def test_rotary_turns_every_position_by_its_own_angle():
    x = torch.randn(
        2, 3, 5, 7, generator=torch.Generator().manual_seed(0)
    )  # an odd width: its last number stays
    turned = rotate(x)
    for t in range(5):
        torch.testing.assert_close(turned[:, :, t : t + 1], rotate(x[:, :, t : t + 1], start=t))
        a, b, angle = x[0, 0, t, 1], x[0, 0, t, 4], t * 10_000 ** (-1 / 3)
        assert turned[0, 0, t, 1].item() == pytest.approx(
            (a * math.cos(angle) - b * math.sin(angle)).item(), abs=1e-5
        )
    torch.testing.assert_close(turned[..., 6], x[..., 6])


def test_with_rotary_the_order_matters_and_without_it_does_not():
    (plain, _), (x, _) = both(), a_batch()
    rotary = MultiHeadAttention(E, A, rotary=True)
    rotary.load_state_dict(plain.state_dict())
    order = torch.tensor([5, 3, 1, 0, 2, 4])
    torch.testing.assert_close(plain(x[:, order], None), plain(x, None)[:, order], **CLOSE)
    assert (rotary(x[:, order], None) - rotary(x, None)[:, order]).abs().max() > 1e-3
