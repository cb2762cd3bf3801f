"""A context a step: every score against its formula, written naively; the fast path against the traced one; masks."""

import math

import pytest
import torch
from torch import nn

from wenmai.layers import context as module
from wenmai.layers.context import Context
from wenmai.layers.trace import Trace

B, T, S, D, K, H = 2, 3, 5, 6, 6, 4
CLOSE = {"atol": 1e-6, "rtol": 1e-5}


def parts(seed=0):
    chance = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(shape, generator=chance) for shape in ((B, T, D), (B, S, K), (B, S, H)))
    allowed = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None]  # (B, 1, S)
    return q, k, v, allowed


def by_hand(layer, score, q, k):
    """One query and one key at a time."""
    if score == "dot":
        return q @ k
    if score == "scaled":
        return q @ k / math.sqrt(K)
    if score == "general":
        return q @ layer.project.weight.T @ k
    hidden = torch.tanh(
        layer.project_query.weight @ q + layer.project_query.bias + layer.project_key.weight @ k
    )
    return layer.weigh.weight[0] @ hidden


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("score", ["dot", "scaled", "general", "additive"])
def test_it_is_the_formula(score, traced):
    torch.manual_seed(1)
    layer, (q, k, v, allowed) = Context(D, K, score, hidden=7), parts()
    trace = Trace() if traced else None
    found = layer(q, layer.keys(k), v, allowed, trace and trace.under("context"))
    for row in range(B):
        real = int(allowed[row].sum())
        for t in range(T):
            scores = torch.stack([by_hand(layer, score, q[row, t], k[row, s]) for s in range(real)])
            weights = scores.exp() / scores.exp().sum()
            torch.testing.assert_close(
                found[row, t], (weights[:, None] * v[row, :real]).sum(0), **CLOSE
            )
            if traced:
                kept = trace["context.attention"][row, 0, t]
                torch.testing.assert_close(kept[:real], weights, **CLOSE)
                assert not kept[real:].any()


@pytest.mark.parametrize("score", ["general", "additive"])
def test_queries_and_keys_may_differ_in_width(score):
    layer = Context(9, K, score)
    q = torch.randn(B, T, 9, generator=torch.Generator().manual_seed(3))
    k, v, allowed = parts()[1:]
    assert layer(q, layer.keys(k), v, allowed).shape == (B, T, H)


def test_it_is_torchs_attention():
    """dot and scaled are what nn.MultiheadAttention computes with one head and the identity for weights."""
    theirs = nn.MultiheadAttention(D, 1, bias=False, batch_first=True)
    with torch.no_grad():
        (
            theirs.in_proj_weight.copy_(torch.eye(D).repeat(3, 1)),
            theirs.out_proj.weight.copy_(torch.eye(D)),
        )
    q, k, _, allowed = parts()
    wanted, _ = theirs(q, k, k, key_padding_mask=~allowed[:, 0])
    torch.testing.assert_close(Context(D, K, "scaled")(q, k, k, allowed), wanted, **CLOSE)
    torch.testing.assert_close(
        Context(D, K, "dot")(q / math.sqrt(D), k, k, allowed), wanted, **CLOSE
    )


def test_additive_scores_in_pieces_are_the_same(monkeypatch):
    torch.manual_seed(2)
    layer, (q, k, v, allowed) = Context(D, K, "additive"), parts()
    found = []
    for most in (1 << 22, 1):
        monkeypatch.setattr(module, "TABLE", most)
        context = layer(q, layer.keys(k), v, allowed)
        found.append(
            [context, *torch.autograd.grad(context.square().sum(), list(layer.parameters()))]
        )
    for whole, pieces in zip(*found):
        torch.testing.assert_close(whole, pieces, **CLOSE)
