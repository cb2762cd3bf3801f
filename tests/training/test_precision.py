"""bf16: when `precision="auto"` chooses it, its distance from float32, learning and resuming."""

import pytest
import torch
from test_contract import LEARNED, NETWORKS, assert_resumes, fitted, loss_of, made, small

from wenmai.training import loop
from wenmai.training.updater import bf16_pays

ROUNDING = 2**-8  # largest relative error of rounding to bf16, which keeps eight bits
LAYERS = 8  # roundings, one behind the other, whose errors may add up


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)
def test_its_loss_is_that_of_float32_up_to_rounding(rung, task, kind):
    inputs, targets = made(kind, task=task)
    estimator = fitted(rung, task, kind)
    exact = loss_of(estimator, estimator.model_, inputs, targets)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = loss_of(estimator, estimator.model_, inputs, targets)
    assert rounded == pytest.approx(exact, rel=LAYERS * ROUNDING)


# One of each kind of network: averaged embeddings, filters, an encoder, a decoder, both.
LEARNING = [
    ("mlp", "classify", "numbers"),
    ("cnn", "classify", "images"),
    ("transformer", "answer", "questions"),
    ("gpt", "compose", "labels"),
    ("bert", "regress", "texts"),
]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
@pytest.mark.parametrize(("rung", "task", "kind"), LEARNING, ids=str)
def test_it_learns(rung, task, kind, seed):
    """By the margin of float32: gradients are noisier, weights are float32."""
    inputs, targets = made(kind, task=task)
    rate = 0.005 if rung == "bert" else 0.02
    size = {"width": 16} if rung in ("transformer", "gpt", "bert") else {}
    more = {"steps": 60, "learning_rate": rate, "validation": 0.0, "precision": "bf16"} | size
    estimator = small(rung, task, seed=seed, **more).fit(inputs, targets)
    first = estimator.build_.model(estimator.task_, estimator.inputs_, seed)
    before = loss_of(estimator, first, inputs, targets)
    assert loss_of(estimator, estimator.model_, inputs, targets) < (1 - LEARNED) * before


@pytest.mark.parametrize("rung", ["mlp", "transformer"])
def test_a_stopped_training_ends_as_one_that_was_not(rung, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    assert_resumes(
        rung, "classify", "texts", tmp_path, places=(0, 2, 5, 9, 14), steps=15, precision="bf16"
    )


@pytest.mark.parametrize(
    ("rung", "task", "kind", "avx512_bf16", "amx", "pays"),
    [
        ("transformer", "classify", "texts", True, False, True),
        ("transformer", "classify", "texts", False, True, True),
        ("transformer", "classify", "texts", False, False, False),
        ("lstm", "classify", "texts", True, True, False),  # a recurrent step is a small product
    ],
)
def test_auto_asks_the_processor(rung, task, kind, avx512_bf16, amx, pays, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    network = fitted(rung, task, kind).model_
    assert bf16_pays(network, "cpu") == pays
    assert bf16_pays(network, "cuda")
