"""The CRF against all paths, one by one: log Z, scores, the loss, its gradients, the best path, the chance of every tag."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.data.examples.batches import Batch
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.text import schemes
from wenmai.kernels.crf import Partition
from wenmai.layers.crf import CRF, NEVER, best_paths, log_partition, path_score

FEW = settings(max_examples=40, deadline=None)
BIOES = np.array(
    [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (3, 2)]
).T  # O, all four of one kind, B and E of another
lengths = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)


def crf(classes, seed=0, scale=1.0, allowed=None) -> CRF:
    """Random weights; what it is given are the emissions."""
    generator = torch.Generator().manual_seed(seed)
    head = CRF(classes, classes, 0.0, allowed)
    with torch.no_grad():
        head.emission.weight.copy_(torch.eye(classes)), head.emission.bias.zero_()
        for weight in (head.begin, head.transitions, head.end):
            weight.copy_(torch.randn(weight.shape, generator=generator) * scale)
    return head


def some(classes, lengths, seed=0, scale=1.0):
    """Emissions (B, T, C) with rubbish in the padding, their mask, tags, and the emissions as Sequences."""
    generator = np.random.default_rng(seed)
    flat = (generator.normal(size=(sum(lengths), classes)) * scale).astype(np.float32)
    rows = Sequences(flat, offsets_of(np.array(lengths, np.int64)))
    mask = np.arange(max(1, *lengths)) < np.array(lengths)[:, None]
    emissions = (generator.normal(size=(*mask.shape, classes)) * 50).astype(np.float32)
    emissions[mask] = flat
    tags = generator.integers(0, classes, mask.shape)
    return torch.from_numpy(emissions), torch.from_numpy(mask), torch.from_numpy(tags), rows


def every_path(e, begin, between, end) -> tuple[list, np.ndarray]:
    """All paths over the emissions e (T, C), and the score of each, by the formula."""
    e, begin, between, end = (np.asarray(array, np.float64) for array in (e, begin, between, end))
    paths = list(product(range(e.shape[1]), repeat=len(e)))
    scores = [
        begin[y[0]]
        + sum(e[t, tag] for t, tag in enumerate(y))
        + sum(between[a, b] for a, b in pairwise(y))
        + end[y[-1]]
        for y in paths
    ]
    return paths, np.array(scores)


def log_sum(scores) -> float:
    return float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))


def allowed_or_not(classes, forbid):
    return schemes.allowed(*BIOES[:, :classes]) if forbid else None


@FEW
@given(
    lengths, st.integers(1, 4), st.booleans(), st.integers(0, 99), st.sampled_from([0.5, 3.0, 30.0])
)
def test_it_is_what_all_paths_say(lengths, classes, forbid, seed, scale):
    head = crf(classes, seed, scale, allowed_or_not(classes, forbid))
    emissions, mask, tags, rows = some(classes, lengths, seed + 1, scale)
    weights = head.path_weights()
    partition = log_partition(emissions, mask, *head.weights()).detach().numpy()
    right = path_score(emissions, mask, tags, *head.weights()).detach().numpy()
    best, chances, wanted = best_paths(rows, *weights), head.probabilities(rows), 0.0
    assert (
        best.shape == (sum(lengths),)
        and chances.shape == rows.flat.shape
        and np.isfinite(chances).all()
    )
    for row, length in enumerate(lengths):
        if not length:
            continue
        here = slice(rows.offsets[row], rows.offsets[row + 1])
        paths, scores = every_path(rows[row], *weights)
        total, own = log_sum(scores), scores[paths.index(tuple(tags[row, :length].tolist()))]
        close = {"rtol": 1e-5, "atol": 1e-4 * max(1, scale)}
        np.testing.assert_allclose([partition[row], right[row]], [total, own], **close)
        wanted += total - own
        np.testing.assert_allclose(
            scores[paths.index(tuple(best[here].tolist()))], scores.max(), **close
        )
        chance = np.exp(scores - total)
        marginal = [
            [chance[[y[t] == tag for y in paths]].sum() for tag in range(classes)]
            for t in range(length)
        ]
        np.testing.assert_allclose(chances[here], marginal, atol=1e-4)
    _, _, loss, count = head.losses(emissions, mask, Batch(emissions, mask, tags))[0]
    assert int(count) == sum(lengths)
    np.testing.assert_allclose(loss.item(), wanted, rtol=1e-5, atol=1e-3 * max(1, scale))


@pytest.mark.parametrize("classes", [1, 3, 7])
def test_the_compiled_pass_is_the_formula_and_so_are_its_gradients(classes):
    head = crf(classes, allowed=allowed_or_not(classes, classes == 7))
    emissions, mask, _, _ = some(classes, [5, 0, 3, 1])
    ways = []
    for total in (lambda *given: log_partition(*given)[mask.any(1)].sum(), Partition.apply):
        e = emissions.clone().requires_grad_()
        weights = [weight.detach().requires_grad_() for weight in head.weights()]
        found = total(e, mask, *weights)
        ways.append([found, *torch.autograd.grad(found, [e, *weights])])
    for one, other in zip(*ways):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert (ways[1][1][~mask] == 0).all()


@pytest.mark.slow
def test_gradients_by_small_differences():
    emissions, mask, _, _ = some(3, [3, 1, 2])
    generator = torch.Generator().manual_seed(0)
    weights = [
        torch.randn(size, generator=generator, dtype=torch.float64, requires_grad=True)
        for size in ((3,), (3, 3), (3,))
    ]
    e = (emissions.double() * mask.unsqueeze(2)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda e, *weights: Partition.apply(e, mask, *weights), (e, *weights)
    )
    assert torch.autograd.gradcheck(
        lambda e, *weights: log_partition(e, mask, *weights), (e, *weights)
    )


@FEW
@given(
    st.integers(0, 999),
    st.lists(st.integers(0, 12), min_size=1, max_size=5),
    st.sampled_from([1.0, 10.0, 100.0]),
)
def test_a_forbidden_path_is_never_answered(seed, lengths, scale):
    begin, between, end = schemes.allowed(*BIOES)
    head = crf(BIOES.shape[1], seed, scale, (begin, between, end))
    _, _, _, rows = some(BIOES.shape[1], lengths, seed, scale)
    path, chances = best_paths(rows, *head.path_weights()), head.probabilities(rows)
    for row in range(len(rows)):
        tags, chance = (
            values[rows.offsets[row] : rows.offsets[row + 1]] for values in (path, chances)
        )
        if len(tags):
            assert begin[tags[0]] and end[tags[-1]] and between[tags[:-1], tags[1:]].all()
            assert not chance[0][~begin].any() and not chance[-1][~end].any()
            assert np.isfinite(chance).all()
            if scale < 100:  # beyond, a chance may be as small as numbers get
                np.testing.assert_allclose(chance.sum(1), 1, atol=1e-5)


def test_what_is_forbidden_has_no_gradient():
    may = schemes.allowed(*BIOES)
    head = crf(BIOES.shape[1], allowed=may)
    emissions, mask, _, _ = some(BIOES.shape[1], [3, 2])
    tags = torch.tensor([[1, 2, 3], [0, 4, 0]])
    loss = head.losses(emissions, mask, Batch(emissions, mask, tags))[0].total
    loss.backward()
    for weight, allowed in zip((head.begin, head.transitions, head.end), may):
        assert (
            not weight.grad[~torch.from_numpy(allowed)].any()
            and weight.grad[torch.from_numpy(allowed)].any()
        )
    assert all(
        (weight.detach().numpy()[~allowed] == NEVER).all()
        for weight, allowed in zip(head.weights(), may)
    )


def test_padding_changes_nothing():
    head = crf(4)
    emissions, mask, tags, rows = some(4, [4, 2, 0, 1])
    together = head.losses(emissions, mask, Batch(emissions, mask, tags))[0].total
    alone = [
        head.losses(e[None, :n], m[None, :n], Batch(e, m, t[None, :n]))[0].total
        for e, m, t, n in zip(emissions, mask, tags, [4, 2, 1, 1])
    ]
    torch.testing.assert_close(together, sum(alone))
    assert alone[2].item() == 0.0  # an empty row says nothing
    for row in (0, 1, 3):
        one = rows.take(np.array([row]))
        here = slice(rows.offsets[row], rows.offsets[row + 1])
        np.testing.assert_array_equal(
            best_paths(one, *head.path_weights()), best_paths(rows, *head.path_weights())[here]
        )
        np.testing.assert_allclose(
            head.probabilities(one), head.probabilities(rows)[here], atol=1e-6
        )


def test_no_rows_and_empty_rows():
    head = crf(3)
    for lengths in ([], [0], [0, 0]):
        rows = Sequences(np.zeros((0, 3), np.float32), offsets_of(np.array(lengths, np.int64)))
        assert best_paths(rows, *head.path_weights()).shape == (0,) and head.probabilities(
            rows
        ).shape == (0, 3)
    emissions, mask = torch.randn(2, 1, 3), torch.zeros(2, 1, dtype=torch.bool)
    _, _, loss, count = head.losses(
        emissions, mask, Batch(emissions, mask, torch.zeros(2, 1, dtype=torch.int64))
    )[0]
    assert loss.item() == 0.0 and int(count) == 0


def test_one_class_is_always_sure():
    head = crf(1)
    emissions, mask, tags, rows = some(1, [3, 1])
    loss = head.losses(emissions, mask, Batch(emissions, mask, tags))[0].total
    assert abs(loss.item()) < 1e-5 and not best_paths(rows, *head.path_weights()).any()
    np.testing.assert_allclose(head.probabilities(rows), 1, atol=1e-6)


def test_large_weights(scale=100.0):
    """One path outweighs all others by far: its loss is 0, and that of another what lies between them."""
    head = crf(5, scale=scale)
    emissions, mask, tags, rows = some(5, [4, 3], scale=scale)
    best = torch.zeros_like(tags)
    best[mask] = torch.from_numpy(best_paths(rows, *head.path_weights()))
    emissions.requires_grad_()
    for target in (best, tags):
        loss = head.losses(emissions, mask, Batch(emissions, mask, target))[0].total
        scores = [
            path_score(emissions, mask, which, *head.weights()).sum() for which in (best, target)
        ]
        torch.testing.assert_close(loss, scores[0] - scores[1], rtol=1e-4, atol=1e-2)
        (gradient,) = torch.autograd.grad(loss, emissions)
        assert torch.isfinite(gradient).all()
    one = [
        log_partition(emissions, mask, *head.weights()),
        path_score(emissions, mask, best, *head.weights()),
    ]
    torch.testing.assert_close(*one, rtol=1e-5, atol=1e-2)


def test_a_crf_learns_what_follows_what():
    """Emissions say nothing; A alone has to learn that 1 follows 0, 2 follows 1, and 0 follows 2."""
    head = CRF(3, 3, 0.0, None)
    tags = torch.tensor([[0, 1, 2, 0, 1], [1, 2, 0, 1, 2]])
    nothing, mask = torch.zeros(2, 5, 3), torch.ones(2, 5, dtype=torch.bool)
    optimizer = torch.optim.Adam(head.parameters(), 0.3)
    for _ in range(60):
        optimizer.zero_grad()
        head.losses(nothing, mask, Batch(nothing, mask, tags))[0].total.backward()
        optimizer.step()
    assert head.transitions.argmax(1).tolist() == [1, 2, 0]
    path = best_paths(
        Sequences(np.zeros((4, 3), np.float32), np.array([0, 4])), *head.path_weights()
    )
    assert (np.diff(path) % 3 == 1).all()
