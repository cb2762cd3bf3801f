"""Copying: what is said and what is taken from the source add up as the formula has it, in outputs and in the loss."""

import math

import torch
from torch.nn import functional

from wenmai.data.examples.batches import NOTHING, Batch
from wenmai.kernels.next_loss import scores_of
from wenmai.layers.copying import Copies, CopyHead, Pointed
from wenmai.layers.heads import Next


def head(smoothing=0.0):
    torch.manual_seed(0)
    return CopyHead(Next(tokens=5, unwritten=(1,), smoothing=smoothing)(3))


def looking():
    """Two texts: of 3 tokens with 2 words of its own, 3 again, and of 1 token that is known; 2 steps each."""
    weights = torch.tensor([[[0.5, 0.2, 0.3], [0.1, 0.9, 0.0]], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    gate = torch.tensor([0.0, -2.0, 1.0, 30.0]).view(2, 2, 1)
    pointed = Pointed(
        torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(1)), weights, gate
    )
    return pointed, torch.tensor([[5, 6, 5], [4, 0, 0]])


def test_the_formula_by_hand():
    made, (pointed, numbers) = head(), looking()
    said = (made.head.output(pointed.y) + made.head.forbidden).softmax(-1)  # (2, 2, 5)
    found = made.outputs(pointed, Copies.of(numbers, 5)).exp()
    assert found.shape == (2, 2, 7)
    g = [1 / (1 + math.exp(-gate)) for gate in pointed.gate.flatten().tolist()]
    by_hand = torch.zeros(2, 2, 7)
    for row, step in ((0, 0), (0, 1), (1, 0), (1, 1)):
        by_hand[row, step, :5] = g[2 * row + step] * said[row, step]
    by_hand[0, 0, 5] += (1 - g[0]) * (0.5 + 0.3)
    by_hand[0, 0, 6] += (1 - g[0]) * 0.2
    by_hand[0, 1, 5] += (1 - g[1]) * 0.1
    by_hand[0, 1, 6] += (1 - g[1]) * 0.9
    by_hand[1, 0, 4] += 1 - g[2]
    by_hand[1, 1, 4] += 1 - g[3]
    torch.testing.assert_close(found, by_hand)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 2))
    assert (found[1, :, 5:] == 0).all()  # another row's words


def target():
    return torch.tensor([[5, 2], [4, NOTHING]])


def test_the_loss_is_that_of_the_outputs_and_smooths_what_is_said():
    (pointed, numbers), wanted = looking(), target()
    batch = Batch(numbers, numbers >= 0, wanted, wanted >= 0, copies=numbers)
    made = head(smoothing=0.2)
    each = (
        made.outputs(pointed, Copies.of(numbers, 5))
        .gather(2, wanted.clamp(min=0).unsqueeze(-1))
        .squeeze(-1)
    )
    right = -(each * (wanted >= 0)).sum()
    _, _, total, count = made.eval().losses(pointed, None, batch)[0]
    torch.testing.assert_close(total, right)
    assert int(count) == 3
    scores = scores_of(pointed.y, made.head.output.weight, made.head.bias(), 1)
    log_p = scores.log_softmax(-1)[..., [0, 2, 3, 4]]  # <s> is never said
    even = -(log_p.mean(-1) * (wanted >= 0)).sum()
    torch.testing.assert_close(
        made.train().losses(pointed, None, batch)[0].total, 0.8 * right + 0.2 * even
    )


def test_gradients_are_numbers_where_a_word_is_nowhere():
    """A target that is neither said nor looked at, and a gate that is shut."""
    (pointed, numbers), wanted = looking(), torch.tensor([[6, 6], [4, NOTHING]])
    given = Pointed(*(part.clone().requires_grad_() for part in pointed))
    with torch.no_grad():
        given.weights[0, 0, 1], given.gate[0, 1, 0] = 0.0, 200.0
    made = head(smoothing=0.1)
    loss = made.losses(
        given, None, Batch(numbers, numbers >= 0, wanted, wanted >= 0, copies=numbers)
    )[0].total
    outputs = made.outputs(given, Copies.of(numbers, 5))
    for total in (loss, outputs[outputs.isfinite()].sum()):
        for gradient in torch.autograd.grad(total, [*given, *made.parameters()], allow_unused=True):
            assert gradient is None or gradient.isfinite().all()


def test_the_loss_has_the_gradient_of_the_outputs():
    (pointed, numbers), wanted = looking(), target()
    given, made = (
        Pointed(*(part.double().requires_grad_() for part in pointed)),
        head().double().eval(),
    )
    batch = Batch(numbers, numbers >= 0, wanted, wanted >= 0, copies=numbers)
    outputs = made.outputs(given, Copies.of(numbers, 5)).flatten(0, 1)
    one = torch.autograd.grad(
        functional.nll_loss(outputs, wanted.flatten(), reduction="sum"), given
    )
    for a, b in zip(one, torch.autograd.grad(made.losses(given, None, batch)[0].total, given)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
