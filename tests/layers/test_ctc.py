"""CTC against all paths, one by one: the loss, the best text, the alignment; and gradients that are numbers."""

from collections import defaultdict
from itertools import groupby, product

import numpy as np
import pytest
import torch

from wenmai.data.examples.batches import NOTHING, Batch
from wenmai.layers.ctc import (
    CTCHead,
    Transcript,
    align,
    greedy,
    least_frames,
    occupation,
    text_log_prob,
)
from wenmai.tasks.prefix_beam import prefix_beam

STEPS, TOKENS = 5, 3
BLANK = TOKENS


def a_table(seed: int, steps: int = STEPS) -> np.ndarray:
    return (
        torch.randn(steps, TOKENS + 1, generator=torch.Generator().manual_seed(seed))
        .double()
        .log_softmax(-1)
        .numpy()
    )


def every_path(table: np.ndarray) -> dict[tuple, list[tuple[float, tuple]]]:
    """text → its paths, each with its log p"""
    texts = defaultdict(list)
    for path in product(range(TOKENS + 1), repeat=len(table)):
        text = tuple(token for token, _ in groupby(path) if token != BLANK)
        texts[text].append((float(table[np.arange(len(table)), path].sum()), path))
    return texts


@pytest.mark.parametrize("seed", range(5))
def test_the_probability_of_a_text_is_that_of_all_its_paths(seed):
    table = a_table(seed)
    for text, paths in every_path(table).items():
        expected = np.logaddexp.reduce([log_p for log_p, _ in paths])
        assert text_log_prob(table, list(text), BLANK) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_prefix_beam_search_finds_the_best_of_all_texts(seed):
    table = a_table(seed)
    sums = {
        text: np.logaddexp.reduce([log_p for log_p, _ in paths])
        for text, paths in every_path(table).items()
    }
    expected = sorted(sums, key=lambda text: -sums[text])[:4]
    found = prefix_beam(table, BLANK, 10_000, 4, least=-1e9)
    assert [tuple(one.tokens) for one in found] == expected
    np.testing.assert_allclose(
        [one.log_prob for one in found], [sums[text] for text in expected], atol=1e-9
    )


def test_a_language_model_changes_the_order():
    table = a_table(0)
    sums = {
        text: np.logaddexp.reduce([p for p, _ in paths])
        for text, paths in every_path(table).items()
    }
    likes = {text: -2.0 * abs(len(text) - 3) - float(text[:1] == (1,)) for text in sums}
    expected = max(sums, key=lambda text: sums[text] + likes[text])
    found = prefix_beam(table, BLANK, 10_000, 1, likes.__getitem__, least=-1e9)
    assert tuple(found[0].tokens) == expected and found[0].score == pytest.approx(
        sums[expected] + likes[expected]
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_alignment_is_the_most_probable_path(seed):
    table = a_table(seed)
    for text, paths in every_path(table).items():
        log_p, path = max(paths)
        spans, total = align(table, list(text), BLANK)
        assert total == pytest.approx(log_p)
        again = np.full(STEPS, BLANK)
        for token, (start, end) in zip(text, spans):
            again[start:end] = token
        assert tuple(again) == path


@pytest.mark.parametrize("text", [[0], [0, 1], [1, 1], [0, 1, 1], [2, 0]])
def test_occupation_is_the_share_of_paths_and_the_gradient_of_torchs_loss(text):
    table = a_table(3)
    shares, paths = occupation(table, text, BLANK), every_path(table)[tuple(text)]
    expected, whole = np.zeros_like(shares), sum(np.exp(log_p) for log_p, _ in paths)
    for log_p, path in paths:
        token = -1
        for t, said in enumerate(path):
            token += said != BLANK and (t == 0 or path[t - 1] != said)
            if said != BLANK:
                expected[t, token] += np.exp(log_p) / whole
    np.testing.assert_allclose(shares, expected, atol=1e-6)
    scores = torch.tensor(table, requires_grad=True)
    log_probs = scores.log_softmax(-1)[:, None]
    torch.nn.functional.ctc_loss(
        log_probs, torch.tensor([text]), (STEPS,), (len(text),), BLANK, "sum"
    ).backward()
    theirs = (scores.softmax(-1) - scores.grad).detach().numpy()
    for token in set(text):
        np.testing.assert_allclose(
            shares[:, [one == token for one in text]].sum(1), theirs[:, token], atol=1e-5
        )


def test_a_text_that_takes_more_frames_than_there_are_has_no_path():
    assert least_frames(np.array([1, 1, 2, 2, 2])) == 8
    assert text_log_prob(a_table(0), [1, 1, 1, 1], BLANK) == float("-inf")
    with pytest.raises(ValueError):
        align(a_table(0), [1, 1, 1, 1], BLANK)


def test_a_long_text_is_aligned_where_it_was_put():
    text = [0, 1, 2] * 100
    table = np.full((3 * len(text), TOKENS + 1), -9.0)
    table[:, BLANK] = -0.1
    table[1::3, :][np.arange(len(text)), text] = 0.0
    spans, _ = align(table, text, BLANK)
    assert spans == [(3 * at + 1, 3 * at + 2) for at in range(len(text))]


def test_greedy_removes_repetitions_then_blanks():
    path = [0, 0, BLANK, 0, 1, BLANK, BLANK, 2, 2]
    table = np.full((len(path), TOKENS + 1), -9.0)
    table[np.arange(len(path)), path] = 0
    assert greedy(table, BLANK) == [0, 0, 1, 2] and greedy(table[:0], BLANK) == []


def a_batch(texts: list[list[int]], end: int) -> Batch:
    longest = max(map(len, texts)) + 1
    target = torch.full((len(texts), longest), NOTHING)
    for row, text in enumerate(texts):
        target[row, : len(text) + 1] = torch.tensor([*text, end])
    return Batch(
        torch.zeros(len(texts), 6),
        torch.ones(len(texts), 6, dtype=torch.bool),
        target=target,
        target_mask=target != NOTHING,
    )


def test_the_loss_is_that_of_the_texts_and_what_is_special_is_never_said():
    head = CTCHead(4, Transcript(6, unwritten=(0, 1), end=2, unknown=3), 0.0)
    y, mask = (
        torch.randn(3, 6, 4, requires_grad=True),
        torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [True] * 6]),
    )
    batch = a_batch([[4, 5, 5], [5], [4, 4, 4, 4, 4]], 2)  # the last takes nine frames, and has six
    (loss,) = head.losses(y, mask, batch)
    tables = head.outputs(y, mask).detach().numpy()
    expected = -sum(
        text_log_prob(tables[row][mask[row].numpy()], text, head.blank)
        for row, text in enumerate([[4, 5, 5], [5]])
    )
    assert loss.total.item() == pytest.approx(expected, rel=1e-5) and int(loss.count) == 9
    loss.total.backward()
    assert torch.isfinite(y.grad).all() and all(
        torch.isfinite(weight.grad).all() for weight in head.parameters()
    )
    assert np.isneginf(tables[..., :3]).all() and np.isfinite(tables[..., 3:]).all()
    assert not y.grad[1, 4:].any()  # padding says nothing
