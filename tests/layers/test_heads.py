"""Heads: pooling over real positions, and a loss that is torch's."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.layers.heads import EachOf, Next, Number, OneOf, pool
from wenmai.layers.questions import Score, Span
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
    y = (
        torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)) - 5
    )  # so that a maximum with padding would be 0
    mask = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    return y, mask, Batch(None, mask, torch.tensor([2, 0, 1]))


@pytest.mark.parametrize("how", POOLINGS)
def test_pooling_sees_real_positions_only(how):
    y, mask, _ = a_batch()
    for padding in (0.0, 99.0, -99.0):
        found = pool(torch.where(mask[..., None], y, padding), mask, how)
        for row, length in enumerate(LENGTHS):
            np.testing.assert_allclose(
                found[row], POOLINGS[how](y[row, :length].numpy()), atol=1e-5
            )


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
    _, _, total, count = head.losses(y, mask, batch)[0]
    scores = head.output(pool(y, mask, how))
    by_torch = None if weights is None else torch.tensor(weights)
    torch.testing.assert_close(
        total, functional.cross_entropy(scores, batch.target, by_torch, reduction="sum")
    )
    torch.testing.assert_close(
        total / count, functional.cross_entropy(scores, batch.target, by_torch)
    )
    torch.testing.assert_close(head.outputs(y, mask), scores.log_softmax(-1))
    torch.testing.assert_close(head.outputs(y, mask).exp().sum(1), torch.ones(3))


def test_balanced_classes_weigh_the_same():
    labels = ["a"] * 12 + ["b"] * 3 + ["c"] * 1
    task = Classify(balance=True)
    task.learn(labels)
    asked = task.head()
    assert asked.classes == 3 and asked.weights == pytest.approx([16 / 36, 16 / 9, 16 / 3])
    assert [weight * count for weight, count in zip(asked.weights, (12, 3, 1))] == pytest.approx(
        [16 / 3] * 3
    )
    plain = Classify()
    plain.learn(labels)
    assert plain.head().weights is None
    head = asked(4, "mean")
    y, mask, _ = a_batch()
    _, _, total, count = head.losses(y, mask, Batch(None, mask, torch.tensor([0, 1, 2])))[0]
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


# The next token


def next_head(**more):
    torch.manual_seed(0)
    return Next(7, (3,))(4, "last", 0.0, **more)


def windows():
    """y (3, 5, 4) and what follows each step, never 3."""
    target = torch.tensor([0, 1, 2, 4, 5, 6])[
        torch.randint(6, (3, 5), generator=torch.Generator().manual_seed(1))
    ]
    y = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    return y, Batch(target, torch.ones(3, 5, dtype=torch.bool), target)


@pytest.mark.parametrize(
    ("penalty", "told"),
    [
        ("temporal_penalty", lambda y: (y[:, 1:] - y[:, :-1]).square().mean()),
        ("activation_penalty", lambda y: y.square().mean()),
    ],
)
def test_penalties_are_added_in_training_and_only_there(penalty, told):
    """What is large, and what changes from step to step, costs."""
    (y, batch), plain, judged = windows(), next_head().train(), next_head(**{penalty: 2.0}).train()
    ((_, _, without, count),), ((_, _, costs, _),) = (
        head.losses(y, None, batch) for head in (plain, judged)
    )
    assert (costs - without).item() == pytest.approx(
        2.0 * told(y).item() * 15, rel=1e-4
    ) and count == 15
    assert judged.eval().losses(y, None, batch)[0].total.item() == pytest.approx(
        without.item(), rel=1e-5
    )
    first = Batch(batch.target[:, :1], batch.mask[:, :1], batch.target[:, :1])
    assert torch.isfinite(
        judged.train().losses(y[:, :1], None, first)[0].total
    )  # one step alone does not change


def test_the_next_token_is_never_one_that_is_not_written():
    (y, batch), head = windows(), next_head().eval()
    log_p = head.outputs(y)
    assert (log_p[..., 3] == -torch.inf).all()
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(3, 5))
    own = (head.project(y) @ head.output.weight.T + head.output.bias)[
        ..., [0, 1, 2, 4, 5, 6]
    ].log_softmax(-1)
    torch.testing.assert_close(log_p[..., [0, 1, 2, 4, 5, 6]], own)
    ((_, weight, total, count),) = head.losses(y, None, batch)
    torch.testing.assert_close(
        total, functional.nll_loss(log_p.flatten(0, 1), batch.target.flatten(), reduction="sum")
    )
    assert (weight, count) == (1.0, 15)


def test_a_table_that_also_says_the_tokens_is_the_same_table():
    table = torch.nn.Parameter(torch.randn(7, 4))
    head = next_head(table=table)
    assert head.output.weight is table and isinstance(head.project, torch.nn.Identity)
    wider = next_head(table=torch.nn.Parameter(torch.randn(7, 6)))  # y is brought to its width
    assert wider.outputs(torch.randn(2, 3, 4)).shape == (2, 3, 7)
    assert next_head(table=table, bias=False).output.bias is None


# A tag at every step, and numbers


def test_tags_count_real_steps_only():
    y, mask, _ = a_batch()
    torch.manual_seed(0)
    head, target = EachOf(3)(4), torch.randint(3, mask.shape)
    ((_, weight, total, count),) = head.losses(y, mask, Batch(None, mask, target))
    scores = head.output(y)
    torch.testing.assert_close(
        total, functional.cross_entropy(scores[mask], target[mask], reduction="sum")
    )
    torch.testing.assert_close(head.outputs(y, mask), scores.log_softmax(-1))
    assert (weight, int(count)) == (1.0, sum(LENGTHS))


@pytest.mark.parametrize("per_step", [False, True])
def test_numbers_are_learned_in_deviations_from_their_mean(per_step):
    y, mask, _ = a_batch()
    y = y.clone() + 5
    torch.manual_seed(0)
    mean, deviation = np.array([100.0, -3.0]), np.array([20.0, 0.5])
    head = Number(mean, deviation, per_step=per_step)(4, "mean")
    standard = head.output(y if per_step else pool(y, mask, "mean"))
    torch.testing.assert_close(
        head.outputs(y, mask), standard.double() * torch.tensor(deviation) + torch.tensor(mean)
    )
    target = torch.randn(standard.shape, dtype=torch.float64) * torch.tensor(
        deviation
    ) + torch.tensor(mean)
    ((_, _, total, count),) = head.losses(y, mask, Batch(None, mask, target))
    error = (standard - (target - torch.tensor(mean)) / torch.tensor(deviation)).square().mean(-1)
    wanted = error[mask].sum() if per_step else error.sum()
    torch.testing.assert_close(total.double(), wanted)
    assert int(count) == (sum(LENGTHS) if per_step else 3)


# request, what it makes: (an answer a step, says the next token, has probabilities), columns of the outputs
HEADS = {
    "class": (OneOf(3), (False, False, True), 3),
    "class a step": (EachOf(3), (True, False, True), 3),
    "next": (Next(7), (True, True, True), 7),
    "span": (Span(), (True, False, True), 2),
    "score": (Score(), (False, False, True), 1),
    "number": (Number(np.zeros(2), np.ones(2)), (False, False, False), 2),
    "number a step": (Number(np.zeros(1), np.ones(1), per_step=True), (True, False, False), 1),
}


@pytest.mark.parametrize("name", HEADS)
def test_what_a_head_says_of_itself_is_so(name):
    asked, flags, columns = HEADS[name]
    head = asked(4)
    assert (head.per_step, head.says_next, head.has_probabilities) == flags
    assert (asked.per_step, asked.has_probabilities) == (head.per_step, head.has_probabilities)
    y, mask, _ = a_batch()
    found = head.eval().outputs(y, mask)
    assert found.shape == ((3, 5, columns) if head.per_step else (3, columns)) or name == "score"
    assert head.width == columns if hasattr(head, "width") else True
    assert all(
        part.p == 0 for part in head.modules() if hasattr(part, "p")
    )  # nothing is dropped where nobody says so


def test_the_next_token_bias_begins_at_nothing_and_what_is_forbidden_is_impossible():
    with_bias, without = (
        Next(7, unwritten=(2,))(4, bias=True),
        Next(7, unwritten=(2,))(4, bias=False),
    )
    assert not with_bias.output.bias.any() and without.output.bias is None
    for head in (with_bias, without):
        assert head.bias()[2] == -float("inf") and not head.bias()[[0, 1, 3, 4, 5, 6]].any()
    with_bias.output.bias.data[3] = 2.0
    assert with_bias.bias()[3] == 2.0
    table = torch.nn.Parameter(torch.randn(7, 6))
    tied = Next(7)(4, table=table)
    assert (
        tied.output.weight is table
        and tied.project.bias is None
        and tied.project.weight.shape == (6, 4)
    )


def test_the_next_token_is_the_softmax_with_and_without_gradients():
    y, mask, _ = a_batch()
    head = Next(7)(4)
    expected = functional.log_softmax(y @ head.output.weight.T + head.bias(), -1)
    with torch.no_grad():
        torch.testing.assert_close(head.outputs(y, mask), expected)
    found = head.outputs(y.requires_grad_(), mask)
    torch.testing.assert_close(found, expected)
    found[..., 0].sum().backward()
    assert y.grad.abs().sum() > 0


# What is chosen, and the number that speaks for it


def test_a_class_and_a_tag_are_spoken_for_by_their_log_probability():
    y, mask, _ = a_batch()
    torch.manual_seed(0)
    head = OneOf(3)(4).eval()
    outputs = head.outputs(y, mask)
    assert head.chosen(outputs, mask).tolist() == [row.index(max(row)) for row in outputs.tolist()]
    assert head.support(outputs, mask, torch.tensor([2, 0, 1])).tolist() == [
        outputs[0, 2],
        outputs[1, 0],
        outputs[2, 1],
    ]
    head = EachOf(3)(4).eval()
    outputs = head.outputs(y, mask)
    chosen = head.chosen(outputs, mask)
    assert chosen.tolist() == [[step.index(max(step)) for step in row] for row in outputs.tolist()]
    by_hand = [
        sum(outputs[row, step].max().item() for step in range(length))
        for row, length in enumerate(LENGTHS)
    ]
    assert head.support(outputs, mask, chosen).tolist() == pytest.approx(by_hand)


def test_what_is_said_next_follows_the_last_token():
    (y, _), head = windows(), next_head().eval()
    outputs = head.outputs(y)
    chosen = head.chosen(outputs, None)
    assert chosen.tolist() == [row[-1].index(max(row[-1])) for row in outputs.tolist()]
    assert head.support(outputs, None, chosen).tolist() == [
        max(row[-1]) for row in outputs.tolist()
    ]


def test_smoothing_shares_what_is_expected_out_in_training_and_only_there():
    y, batch = windows()
    torch.manual_seed(0)
    head = Next(7, smoothing=0.1)(4, "last", 0.0)
    log_p, target = head.eval().outputs(y).flatten(0, 1), batch.target.flatten()
    plain = functional.nll_loss(log_p, target, reduction="sum")
    smoothed = functional.cross_entropy(log_p, target, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(head.eval().losses(y, None, batch)[0].total, plain)
    torch.testing.assert_close(head.train().losses(y, None, batch)[0].total, smoothed)


@pytest.mark.parametrize(
    "asked",
    [OneOf(3, [0.5, 1.0, 4.0]), EachOf(3), Next(7), Number(np.zeros(1), np.ones(1)), Score()],
)
def test_a_loss_that_is_alone_weighs_one(asked):
    y, mask, batch = a_batch()
    steps = torch.zeros(3, 5, dtype=torch.long)
    targets = {
        OneOf: batch.target,
        Number: torch.zeros(3, dtype=torch.float64),
        Score: torch.tensor([0]),
    }
    batch = Batch(
        steps, mask, targets.get(type(asked), steps), example=torch.zeros(3, dtype=torch.long)
    )
    assert [loss.weight for loss in asked(4).losses(y, mask, batch)] == [1.0]


def test_numbers_are_what_they_are_and_speak_for_themselves():
    y, mask, _ = a_batch()
    one, steps = (
        Number(np.zeros(2), np.ones(2), per_step=per_step)(4) for per_step in (False, True)
    )
    outputs = one.outputs(y, mask)
    assert (
        one.chosen(outputs, mask) is outputs
        and one.support(outputs, mask, outputs).tolist() == outputs.sum(1).tolist()
    )
    outputs = steps.outputs(y, mask)
    by_hand = [outputs[row, :length].sum().item() for row, length in enumerate(LENGTHS)]
    assert steps.support(outputs, mask, outputs).tolist() == pytest.approx(by_hand)


def span_log_probs(outputs, mask, row: int) -> tuple[np.ndarray, np.ndarray]:
    """log p of every begin, and of every end, among the real places of a row."""
    real = outputs[row, mask[row]].detach()
    return real[:, 0].log_softmax(0).numpy(), real[:, 1].log_softmax(0).numpy()


def test_a_span_is_the_best_that_does_not_end_before_it_begins():
    mask = torch.arange(5) < torch.tensor([5, 3])[:, None]
    outputs = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0))
    outputs[0, :, 0], outputs[0, :, 1] = (
        torch.tensor([0.0, 1, 2, 9, 0]),
        torch.tensor([9.0, 0, 3, 1, 4]),
    )  # 3 → 0 ends too early
    outputs[1, 3:] = 99.0  # no place of this row
    head = Span()(4)
    chosen = head.chosen(outputs, mask)
    assert chosen[0].tolist() == [3, 4]
    best = max(
        (outputs[1, begin, 0] + outputs[1, end, 1], (begin, end))
        for begin in range(3)
        for end in range(begin, 3)
    )
    assert tuple(chosen[1].tolist()) == best[1]
    for row in range(2):
        begins, ends = span_log_probs(outputs, mask, row)
        wanted = begins[chosen[row, 0]] + ends[chosen[row, 1]]
        assert head.support(outputs, mask, chosen)[row].item() == pytest.approx(wanted, abs=1e-5)
        assert head.chosen(outputs[row : row + 1], mask[row : row + 1]).tolist() == [
            chosen[row].tolist()
        ]  # one alone


def test_the_loss_of_a_span_adds_up_all_that_are_right():
    y, mask, _ = a_batch()
    torch.manual_seed(0)
    head = Span()(4)
    target = torch.tensor(
        [[[1, 3], [0, 0]], [[1, 1], [-1, -1]], [[0, 0], [-1, -1]]]
    )  # of the first row, two are right
    ((_, weight, total, count),) = head.losses(y, mask, Batch(None, mask, target))
    right = []
    for row, spans in enumerate(target.tolist()):
        begins, ends = span_log_probs(head.outputs(y, mask), mask, row)
        right.append(
            np.log(sum(np.exp(begins[begin] + ends[end]) for begin, end in spans if begin >= 0))
        )
    assert total.item() == pytest.approx(-sum(right), rel=1e-5) and (weight, count) == (0.5, 3)


def test_a_choice_is_the_softmax_over_the_texts_of_one_question():
    y = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(5, 3, dtype=torch.bool)
    torch.manual_seed(0)
    head = Score()(4)
    assert head.output.bias is None and head.outputs(y, mask).shape == (5, 1)
    z, example = head.outputs(y, mask)[:, 0], torch.tensor([0, 0, 1, 1, 1])
    ((_, weight, total, count),) = head.losses(
        y, mask, Batch(None, mask, torch.tensor([1, 2]), example=example)
    )
    torch.testing.assert_close(total, -(z[:2].log_softmax(0)[1] + z[2:].log_softmax(0)[2]))
    assert (weight, count) == (1.0, 2)
    one = head.outputs(y, mask)[2:]
    assert head.chosen(one, None) == z[2:].argmax()
    assert head.support(one, None, torch.tensor(1)).tolist() == [z[2:].log_softmax(0)[1].item()]
