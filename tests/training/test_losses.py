"""A head with several losses: an update is Σ weight · sum / count, the counts summed over all pieces and processes first."""

from pathlib import Path

import numpy as np
import pytest
import torch
from test_distributed import torchrun
from two_losses import built, examples, trained, training


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_the_gradient_of_a_batch_in_pieces_is_that_of_the_whole(pieces):
    network, rows = built(), next(examples().epochs(90, 5))[1]
    losses, _ = network.losses(examples().batch(rows, np.random.default_rng((5, 0))))
    assert [loss.name for loss in losses] == ["words", "even"] and losses[0].count != losses[
        1
    ].count
    total = sum(loss.weight * loss.total / loss.count for loss in losses)
    total.backward()
    learned, seen = trained(
        micro_batches=pieces, steps=1, learning_rate=1.0, clip=0, weight_decay=0.0
    )  # one step: w − gradient
    assert seen == [pytest.approx(total.item(), abs=1e-6)]
    for (name, before), after in zip(network.named_parameters(), learned.parameters()):
        torch.testing.assert_close(
            (before - after).detach(), before.grad, atol=1e-6, rtol=0, msg=name
        )


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What two processes learn, in one piece, two and three."""
    folder = tmp_path_factory.mktemp("together")
    ran = torchrun(Path(__file__).parent / "two_losses.py", folder / "found.npz")
    assert ran.returncode == 0, ran.stderr
    return np.load(folder / "found.npz")


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2, 3])
@pytest.mark.parametrize("how", ["alone", "ddp", "fsdp"])
def test_pieces_and_processes_learn_what_one_batch_learns(together, pieces, how):
    network, losses = trained()
    if how == "alone":
        other, seen = trained(micro_batches=pieces)
        learned = {name: value.numpy() for name, value in other.state_dict().items()}
    else:
        learned = {name: together[f"{pieces} {how} {name}"] for name in network.state_dict()}
        seen = together[f"{pieces} {how} losses"]
    np.testing.assert_allclose(seen, losses, atol=1e-6)
    for name, value in network.state_dict().items():
        np.testing.assert_allclose(learned[name], value.numpy(), atol=1e-6, err_msg=name)


def test_a_resumed_training_draws_what_it_would_have_drawn():
    options = {"micro_batches": 2, "optimizer": "adamw"}
    whole, losses = trained(**options)
    snapshot = next(
        progress.snapshot() for progress in training(built(), **options) if progress.step == 3
    )
    again = built()
    assert [progress.loss for progress in training(again, resume=snapshot, **options)] == losses[3:]
    assert all(
        torch.equal(value, whole.state_dict()[name]) for name, value in again.state_dict().items()
    )
