"""On a GPU: with `deterministic` a stopped training ends as one that was not, and what does not fit is halved."""

import pytest
import torch
from test_contract import NETWORKS, made, same, small, weights

from wenmai.estimators import Classifier, LanguageModel
from wenmai.training import loop
from wenmai.training.captured import Captured
from wenmai.training.progress import Snapshot
from wenmai.training.updater import Updater

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_stopped_training_ends_as_one_that_was_not(rung, task, kind, precision, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    data, more = (
        made(kind, rows=60, task=task),
        {"deterministic": True, "precision": precision, "steps": 8, "device": "cuda"},
    )
    whole = small(rung, task, **more).fit(*data)
    for place in (1, 4, 7):
        first = small(rung, task, **more)
        for number, progress in enumerate(first.training(*data)):
            if number == place:
                snapshot = progress.snapshot()
                break
        again = small(rung, task, **more)
        for _ in again.training(
            *data, resume=Snapshot(snapshot.arrays, snapshot.facts, first.inputs_.to_json())
        ):
            pass
        assert same(weights(again), weights(whole)), place
        assert [p.to_json() | {"seconds": 0} for p in again.progress_] == [
            p.to_json() | {"seconds": 0} for p in whole.progress_
        ]


def test_a_batch_that_does_not_fit_is_halved(monkeypatch):
    """The real thing: a GPU that lends a little of its memory only, and no estimate beforehand."""
    monkeypatch.setattr(Updater, "suited_micro_batches", lambda *_: 1)
    texts = [f"{'good' if n % 2 else 'bad'} {'film ' * 200}" for n in range(600)]
    labels = ["pos" if n % 2 else "neg" for n in range(600)]
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 600e6) / total)
    try:
        model = Classifier(
            "transformer",
            width=256,
            steps=4,
            batch_tokens=100_000,
            precision="float32",
            device="cuda",
        )
        told = [progress.warning for progress in model.training(texts, labels) if progress.warning]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()
    assert (
        told and "does not fit into the memory of cuda: from step " in told[-1] and model.progress_
    )


def test_an_estimate_comes_before_the_batch():
    with pytest.raises(
        ValueError,
        match=r"these options make .* weights, which take .* GB to train .* are free on cuda",
    ):
        Classifier("lstm", hidden=173_000, device="cuda").fit(["a b", "b a"] * 20, ["x", "y"] * 20)


TEXT = ["the cat sat on the mat", "a dog saw the cat", "the mat is on the log"] * 60


@pytest.mark.parametrize("rung", ["mlp", "cnn", "rnn", "rnn-coupled", "lstm", "gru", "gpt"])
@pytest.mark.parametrize("optimizer", ["adamw", "asgd"])
def test_an_update_in_one_launch_is_the_update(rung, optimizer, monkeypatch):
    options = {
        "gpt": {"width": 16, "heads": 2, "layers": 2},
        "cnn": {"filters": 16, "layers": 2},
    }.get(rung, {"hidden": 13})
    options |= {
        "context": 8,
        "steps": 30,
        "batch_tokens": 64,
        "evaluations": 30,
        "dropout": 0.0,
        "validation": 0.0,
    }
    options |= {
        "precision": "float32",
        "device": "cuda",
        "optimizer": optimizer,
        "learning_rate": 0.01,
    }
    options |= {} if rung in ("gpt", "mlp", "cnn") else {"word_dropout": 0.0, "weight_dropout": 0.0}
    fast = LanguageModel(rung, **options).fit(TEXT)
    monkeypatch.setattr(Captured, "of", classmethod(lambda cls, updater: None))
    slow = LanguageModel(rung, **options).fit(TEXT)
    for one, other in zip(fast.progress_, slow.progress_):
        assert one.loss == pytest.approx(other.loss, rel=1e-3), one.step


@pytest.mark.parametrize("rung", ["lstm", "gpt"])
def test_a_stopped_text_ends_as_one_that_was_not(rung, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    options = {
        "context": 8,
        "steps": 20,
        "batch_tokens": 64,
        "evaluations": 4,
        "dropout": 0.2,
        "validation": 0.0,
        "deterministic": True,
        "device": "cuda",
    }
    options |= {"width": 16, "heads": 2, "layers": 1} if rung == "gpt" else {"hidden": 16}
    whole, first = LanguageModel(rung, **options).fit(TEXT), LanguageModel(rung, **options)
    for progress in first.training(TEXT):
        if progress.step == 9:
            snapshot = progress.snapshot()
            break
    again = LanguageModel(rung, **options)
    for _ in again.training(
        TEXT, resume=Snapshot(snapshot.arrays, snapshot.facts, first.inputs_.to_json())
    ):
        pass
    assert same(weights(again), weights(whole))
