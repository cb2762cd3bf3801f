"""One update, and what is kept between two: gradients are scaled and cut, decay pulls on matrices alone, a stream goes on with
its state, the best weights are those that stay, and the time that planning took leaves no trace."""

import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from wenmai.data.storage.saved import Unfit
from wenmai.estimators import Classifier, LanguageModel, Regressor
from wenmai.models.linear import Regression
from wenmai.models.network import Network
from wenmai.tasks.classify import Classify
from wenmai.tasks.regress import Regress
from wenmai.training import loop
from wenmai.training.optimizers import FEW, Optimizer, name_gradients
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot

TEXTS = [f"{'good' if n % 2 else 'bad'} film number {n}" for n in range(60)]
LABELS = ["pos" if n % 2 else "neg" for n in range(60)]
SMALL = {
    "hidden": 8,
    "embed": 8,
    "dropout": 0.0,
    "batch_tokens": 64,
    "precision": "float32",
    "device": "cpu",
}


class Tiny(nn.Module):
    """A table, a matrix, a bias, a norm: one of everything that is learned."""

    def __init__(self):
        super().__init__()
        self.table, self.linear, self.norm = (
            nn.Embedding(FEW + 4, 4),
            nn.Linear(4, 3),
            nn.LayerNorm(3),
        )

    def forward(self, tokens):
        return self.norm(self.linear(self.table(tokens)))


def tiny(**options) -> tuple[Tiny, Optimizer]:
    torch.manual_seed(0)
    network, asked = (
        Tiny(),
        TrainingOptions(**{"learning_rate": 0.5, "weight_decay": 0.0, "clip": 0.0} | options),
    )
    name_gradients(network, asked.optimizer == "lazy-adamw")
    return network, Optimizer(network, asked)


def gradients(network) -> dict[str, torch.Tensor]:
    """Of a loss in which tokens 1 and 2 stand, 1 twice."""
    network(torch.tensor([1, 2, 1])).square().mul(torch.tensor([1.0, -2.0, 5.0])).sum().backward()
    return {
        name: (p.grad.to_dense() if p.grad.is_sparse else p.grad).clone()
        for name, p in network.named_parameters()
    }


@pytest.mark.parametrize("clip", [0.0, 0.01, 1e6])
@pytest.mark.parametrize("optimizer", ["sgd", "asgd"])
def test_a_step_is_the_gradient_scaled_and_cut_to_its_norm(optimizer, clip):
    network, steps = tiny(optimizer=optimizer, clip=clip)
    before, grads = (
        {name: p.detach().clone() for name, p in network.named_parameters()},
        gradients(network),
    )
    norm = 0.25 * torch.sqrt(sum(grad.square().sum() for grad in grads.values()))
    assert steps.step(torch.tensor(0.25)).item() == pytest.approx(norm.item(), rel=1e-5)
    cut = min(1.0, clip / norm.item()) if clip else 1.0
    assert (cut < 1) == (clip == 0.01)
    for name, p in network.named_parameters():
        torch.testing.assert_close(
            p.detach(), before[name] - 0.5 * 0.25 * cut * grads[name], rtol=1e-4, atol=1e-7
        )
        assert p.grad is None  # the next step begins with none


@pytest.mark.parametrize(("optimizer", "momentum"), [("sgd", 0.9), ("asgd", 0.0)])
def test_sgd_has_momentum_and_asgd_has_none(optimizer, momentum):
    network, steps = tiny(optimizer=optimizer)
    first, before = gradients(network)["linear.bias"], network.linear.bias.detach().clone()
    steps.step(torch.tensor(1.0))
    middle, second = network.linear.bias.detach().clone(), gradients(network)["linear.bias"]
    steps.step(torch.tensor(1.0))
    torch.testing.assert_close(middle, before - 0.5 * first)
    torch.testing.assert_close(
        network.linear.bias.detach(), middle - 0.5 * (second + momentum * first)
    )


@pytest.mark.parametrize("optimizer", ["adamw", "lazy-adamw"])
def test_adam_is_given_the_gradient_scaled_and_cut_also_that_of_embeddings(optimizer):
    """Its first moment is a tenth of it. An update would not show it: that has the same size whatever the gradient's."""
    network, steps = tiny(optimizer=optimizer, clip=0.01)
    grads = gradients(network)
    norm = steps.step(torch.tensor(0.25)).item()
    assert norm == pytest.approx(
        0.25 * torch.sqrt(sum(grad.square().sum() for grad in grads.values())).item(), rel=1e-5
    )
    moments = {id(p): part.state[p]["exp_avg"] for part in steps.parts for p in part.state}
    for name, p in network.named_parameters():
        torch.testing.assert_close(
            moments[id(p)], 0.1 * 0.25 * (0.01 / norm) * grads[name], rtol=1e-3, atol=1e-9
        )


def test_lazy_adamw_leaves_rows_alone_that_were_not_looked_up():
    network, steps = tiny(optimizer="lazy-adamw")
    before = network.table.weight.detach().clone()
    for _ in range(2):
        gradients(network)
        steps.step(torch.tensor(1.0))
    moved = (network.table.weight.detach() != before).any(1)
    assert network.table.sparse and moved.nonzero().flatten().tolist() == [1, 2]


@pytest.mark.parametrize("optimizer", ["adamw", "lazy-adamw", "sgd"])
def test_decay_pulls_on_matrices_alone(optimizer):
    network, steps = tiny(optimizer=optimizer, weight_decay=0.1)
    before = {name: p.detach().clone() + 1 for name, p in network.named_parameters()}
    with torch.no_grad():
        for name, p in network.named_parameters():
            p.copy_(before[name])
            p.grad = torch.zeros_like(p)
    if network.table.sparse:
        network.table.weight.grad = torch.zeros_like(network.table.weight).to_sparse(1)
    steps.step(torch.tensor(1.0))
    for name, p in network.named_parameters():
        kept = 1 - 0.5 * 0.1 if name == "linear.weight" else 1.0
        torch.testing.assert_close(p.detach(), before[name] * kept)


@pytest.mark.parametrize(("clip", "rate"), [(0.01, 0.5), (0.02, 1.0)])
def test_the_loop_cuts_gradients_as_it_is_told(clip, rate):
    model = Classifier(
        "mlp",
        **SMALL,
        optimizer="sgd",
        steps=1,
        warmup=0.0,
        clip=clip,
        learning_rate=rate,
        weight_decay=0.0,
    )
    model.fit(TEXTS, LABELS)
    first = model.build_.model(model.task_, model.inputs_, 0).state_dict()
    moved = torch.sqrt(
        sum(
            (value - first[name]).square().sum()
            for name, value in model.model_.state_dict().items()
        )
    )
    assert moved.item() == pytest.approx(clip * rate, rel=1e-3)


def test_every_step_is_made_at_the_rate_of_the_schedule(monkeypatch):
    rates = []
    whole = Optimizer.set_rate
    monkeypatch.setattr(
        Optimizer, "set_rate", lambda self, rate: (rates.append(rate), whole(self, rate))[1]
    )
    model = Classifier("mlp", **SMALL, steps=20, warmup=0.2, learning_rate=0.01, patience=99).fit(
        TEXTS, LABELS
    )
    assert rates[:4] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    wave = [0.005 * (1 + np.cos(np.pi * step / 16)) for step in range(16)]
    assert rates[4:] == pytest.approx(wave)
    assert [progress.rate for progress in model.progress_] == [
        rates[progress.step - 1] for progress in model.progress_
    ]


# A stream


def test_a_stream_goes_on_with_the_state_that_the_last_window_left(monkeypatch):
    seen, whole = [], Network.losses

    def losses(self, batch):
        found = whole(self, batch)
        if torch.is_grad_enabled():
            seen.append((batch.state, found[1], batch.inputs))
        return found

    monkeypatch.setattr(Network, "losses", losses)
    text = " ".join(f"w{n % 7}" for n in range(400))
    LanguageModel(
        "gru",
        hidden=4,
        embed=4,
        layers=1,
        context=10,
        batch_tokens=20,
        steps=12,
        evaluations=1,
        validation=0.0,
        tokenizer="words",
        precision="float32",
        device="cpu",
        weight_dropout=0.0,
    ).fit(text)
    seen = [call for call in seen if len(call[2]) == 2][
        -12:
    ]  # what measured memory read other rows
    assert len(seen) == 12 and seen[0][0] is None
    for (_, left, before), (given, _, after) in pairwise(seen):
        torch.testing.assert_close(given, left.detach().float())
        assert not given.requires_grad and given.abs().sum() > 0 and not torch.equal(before, after)


# The best weights


def scripted(monkeypatch, kind, *scores: float) -> None:
    """These are the scores of a training, one after another; the last stays."""
    left = list(scores)
    monkeypatch.setattr(
        kind, "judge", lambda *_: lambda trained: left.pop(0) if len(left) > 1 else left[0]
    )


def weights(model) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.model_.state_dict().items()}


def test_a_training_that_goes_on_remembers_the_best_weights_it_had(monkeypatch):
    def training(*scores, resume=None, until=None):
        scripted(monkeypatch, Classify, *scores)
        model, looks = Classifier("mlp", **SMALL, steps=16, evaluations=4, patience=9), []
        for progress in model.training(TEXTS, LABELS, resume=resume):
            if progress.score is not None:
                looks.append(weights(model))
                if len(looks) == until:
                    return progress.snapshot(), looks
        return model, looks

    whole, looks = training(0.1, 0.9, 0.2)
    assert all(torch.equal(weights(whole)[name], value) for name, value in looks[1].items())
    assert any(not torch.equal(looks[1][name], value) for name, value in looks[3].items())
    kept, _ = training(0.1, 0.9, 0.2, until=3)
    again, _ = training(
        0.2,
        resume=Snapshot({name: array.copy() for name, array in kept.arrays.items()}, kept.facts),
    )
    assert all(torch.equal(weights(again)[name], value) for name, value in looks[1].items())


NETWORK = {"hidden": 8, "steps": 60, "evaluations": 3, "batch_tokens": 64, "precision": "float32"}


@pytest.mark.parametrize(
    ("kind", "task", "rung", "options"),
    [
        (Classifier, Classify, "mlp", NETWORK),
        (Classifier, Classify, "softmax", {"epochs": 10}),
        (Regressor, Regress, "mlp", NETWORK),
        (Regressor, Regress, "linear", {"epochs": 10, "solver": "gradient"}),
    ],
)
@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_search_goes_on_with_the_rate_that_scored_best(
    monkeypatch, kind, task, rung, options, best
):
    """For a network, and for a rung that learns without the loop."""
    rates, tried, whole_loop, whole_learn = [], [0.01 / 3, 0.01, 0.03], loop.train, Regression.learn
    order = {0: (0.9, 0.5, 0.1), 1: (0.1, 0.9, 0.5), 2: (0.1, 0.5, 0.9)}[best]

    def train(*arguments):
        rates.append(arguments[-1].learning_rate)
        return whole_loop(*arguments)

    def learn(*arguments, **more):
        rates.append(more["learning_rate"])
        return whole_learn(*arguments, **more)

    monkeypatch.setattr(loop, "train", train)
    monkeypatch.setattr(Regression, "learn", learn)
    scored = dict(zip(np.float32(tried).tolist(), order))
    monkeypatch.setattr(
        task, "judge", lambda *_: lambda trained: scored[float(np.float32(rates[-1]))]
    )
    data = (TEXTS, LABELS) if kind is Classifier else (np.arange(60.0)[:, None], np.arange(60.0))
    kind(rung, search=True, learning_rate=0.01, device="cpu", **options).fit(*data)
    assert rates[-4:] == pytest.approx([*tried, tried[best]])


# Time


class Clock:
    """Time that passes only where something is done: so much an update, so much a look at the held-out part."""

    def __init__(self, monkeypatch, update: float, look: float, kind):
        self.now, whole, judged = 100.0, loop.Updater.__call__, kind.judge
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

        def updated(updater, *arguments, **more):
            self.now += update
            return whole(updater, *arguments, **more)

        def judge(*arguments):
            score = judged(*arguments)

            def scored(trained):
                self.now += look
                return score(trained)

            return scored

        monkeypatch.setattr(loop.Updater, "__call__", updated)
        monkeypatch.setattr(kind, "judge", judge)


@pytest.mark.parametrize(("update", "look"), [(0.02, 0.001), (0.02, 0.3), (0.3, 0.1)])
def test_minutes_are_kept_and_used(monkeypatch, update, look):
    clock = Clock(monkeypatch, update, look, Classify)
    began = clock.now
    model = Classifier("mlp", **SMALL, minutes=0.5, patience=1000).fit(TEXTS * 40, LABELS * 40)
    taken = clock.now - began
    assert taken <= 30 * 1.1
    assert taken >= 30 * 0.7 or model.progress_[-1].epoch >= 59  # no more than 60 epochs are spent


def test_what_planning_learned_is_forgotten(monkeypatch):
    """Weights and moments: the first update that counts is made as if no step had been timed."""
    made = []

    class Seen(loop.Updater):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            made.append((self, self.state()))

    monkeypatch.setattr(loop, "Updater", Seen)
    Clock(monkeypatch, 0.02, 0.01, Classify)
    model = Classifier("gru", **SMALL, minutes=0.05)
    for progress in model.training(TEXTS, LABELS):
        assert progress.step == 0
        break
    updater, first = made[-1]
    now = updater.state()
    assert not any(now[name].any() for name in now if name.startswith("optimizer."))
    assert all(
        torch.equal(now[name], value)
        for name, value in first.items()
        if name.startswith("network.")
    )


@pytest.mark.parametrize(
    "rubbish", ["0.0", "0.0.exp_avg.more", "x", "0.99.step", "9.0.step", "0.x.step", "0.0.other"]
)
def test_moments_beside_those_of_the_weights_are_refused(rubbish):
    network, steps = tiny(optimizer="adamw")
    gradients(network)
    steps.step(torch.tensor(1.0))
    state = {name: value.numpy() for name, value in steps.state().items()}
    steps.check(Snapshot(state, {}))
    with pytest.raises(Unfit, match="are of no weight here"):
        steps.check(Snapshot(state | {rubbish: np.zeros((), np.float32)}, {}))
    with pytest.raises(Unfit):
        steps.check(
            Snapshot(
                {name: value for name, value in state.items() if name != next(iter(state))}, {}
            )
        )
