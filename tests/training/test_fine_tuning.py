"""Fine-tuning: rates layer by layer, layers that stay as they are, layers that begin anew; only with --from."""

import numpy as np
import pytest
import torch

from wenmai import Classifier, LanguageModel, Mistake, Tagger, load
from wenmai.training.fine_tuning import level_of, rate_factors
from wenmai.training.loop import Training
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot

TEXTS = [
    f"{word} thing number {n} is here"
    for n in range(20)
    for word in ("a good", "the bad", "some odd")
]
LABELS = ["good", "bad", "odd"] * 20
SMALL = {
    "bert": {"width": 8, "heads": 2, "layers": 3},
    "transformer": {"width": 8, "heads": 2, "layers": 3},
    "gpt": {"width": 8, "heads": 2, "layers": 3},
    "lstm": {"hidden": 6, "layers": 3},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for rung, sizes in SMALL.items():
        Classifier(rung, steps=2, **sizes).fit(TEXTS, LABELS).save(folder / rung)
    return folder


def tuned(rung, runs, **options):
    return Classifier(rung, validation=0.0, **{"steps": 3, "learning_rate": 1e-2} | options).fit(
        TEXTS, LABELS, start=runs / rung
    )


def changed(model, before) -> set[int]:
    """The levels at which a weight is another than before; those of the head are left out."""
    own, known = model.state_dict(), before.state_dict()
    body = [name for name in own if name.startswith(("input.", "body."))]
    return {level_of(name, model) for name in body if not torch.equal(own[name], known[name])}


@pytest.mark.parametrize("rung", SMALL)
def test_frozen_layers_stay_as_they_are(rung, runs):
    known = load(runs / rung).model_
    everything = changed(tuned(rung, runs).model_, known)
    assert everything >= {0, 1, 2, 3}
    assert changed(tuned(rung, runs, freeze=2).model_, known) == everything - {0, 1, 2}
    assert changed(tuned(rung, runs, freeze="all").model_, known) == set()
    assert not torch.equal(
        tuned(rung, runs, freeze="all").model_.head.output.weight, known.head.output.weight
    )


@pytest.mark.parametrize("rung", SMALL)
def test_top_layers_begin_anew(rung, runs):
    known = load(runs / rung).model_
    model = tuned(rung, runs, reinitialise=2, steps=1, learning_rate=1e-30, weight_decay=0.0)
    own, theirs = model.model_.state_dict(), known.state_dict()
    far = {
        level_of(name, known)
        for name in own
        if name.startswith(("input.", "body."))
        and not torch.allclose(own[name], theirs[name], atol=1e-6)
    }
    assert far == {2, 3}
    assert any("and 2 layers of the body" in str(note) for note in model.notes_)


@pytest.mark.parametrize("rung", SMALL)
def test_rates_fall_layer_by_layer(rung, runs):
    model = load(runs / rung).model_
    factors = rate_factors(model, TrainingOptions(layer_decay=0.5, head_rate=3.0))
    found = {}
    for name, weight in model.named_parameters():
        part = "head" if name.startswith("head") else level_of(name, model)
        found.setdefault(part, set()).add(factors[id(weight)])
    assert found.pop(4, {1.0}) == {1.0}  # a norm above the blocks
    assert found == {"head": {3.0}, 0: {0.125}, 1: {0.25}, 2: {0.5}, 3: {1.0}}


def test_an_update_follows_the_rates(runs):
    """The first update of Adam is as long as the rate, for every weight that has a gradient."""
    known = load(runs / "bert").model_
    model = tuned(
        "bert",
        runs,
        layer_decay=0.5,
        head_rate=2.0,
        steps=1,
        learning_rate=1e-3,
        weight_decay=0.0,
        clip=1e9,
        warmup=0.0,
        optimizer="adamw",
    ).model_
    for level, name in (
        (3, "body.blocks.2.up.weight"),
        (2, "body.blocks.1.up.weight"),
        (0, "input.norm.weight"),
    ):
        moved = (model.state_dict()[name] - known.state_dict()[name]).abs().median().item()
        assert moved == pytest.approx(1e-3 * 0.5 ** (3 - level), rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"layer_decay": 0.8, "freeze": 1, "reinitialise": 1, "head_rate": 5.0},
        {"freeze": "all"},
        {"layer_decay": 0.5, "optimizer": "sgd"},
    ],
    ids=str,
)
def test_a_stopped_training_goes_on_as_it_would_have(options, runs):
    options = {"steps": 6, "evaluations": 3} | options
    whole = Classifier("bert", **options).fit(TEXTS, LABELS, start=runs / "bert")
    kept = None
    for progress in Classifier("bert", **options).training(TEXTS, LABELS, start=runs / "bert"):
        if progress.step == 2:
            kept = progress.snapshot()
            break
    again = Classifier("bert", **options)
    for _ in again.training(
        TEXTS, LABELS, start=runs / "bert", resume=Snapshot(kept.arrays, kept.facts, None)
    ):
        pass
    for name, value in whole.model_.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), again.model_.state_dict()[name].numpy())


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"freeze": 4}, "freeze=4: the body has 3 layers, expected no more"),
        ({"reinitialise": 9}, "reinitialise=9: the body has 3 layers"),
        ({"layer_decay": 1.5}, "layer_decay=1.5: expected at least 0 and below"),
        ({"freeze": "some"}, "freeze='some' is not one of all"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(options, part, runs):
    with pytest.raises(Mistake, match=part):
        tuned("bert", runs, **options)


@pytest.mark.parametrize(
    "options",
    [{"freeze": 1}, {"layer_decay": 0.9}, {"reinitialise": 1}, {"head_rate": 2.0}],
    ids=str,
)
def test_only_with_a_start(options):
    with pytest.raises(Mistake, match=r"start from a run or a checkpoint \(--from\)"):
        Classifier("bert", steps=1, **SMALL["bert"], **options).fit(TEXTS, LABELS)


def test_a_body_that_is_no_stack():
    known = LanguageModel("mlp", steps=1, hidden=8, embed=8).fit(TEXTS)
    with pytest.raises(Mistake, match=r"layer_decay=0\.5: this body is no stack of layers"):
        Classifier("mlp", steps=1, layer_decay=0.5).fit(TEXTS, LABELS, start=known)
    assert Classifier("mlp", steps=1, freeze="all").fit(TEXTS, LABELS, start=known)


def test_fine_tuning_has_defaults_of_its_own(runs, monkeypatch):
    seen = []
    first = Training.__init__

    def spied(self, *arguments, **named):
        first(self, *arguments, **named)
        seen.append(self.options)

    monkeypatch.setattr(Training, "__init__", spied)
    Classifier("bert", validation=0.0).fit(TEXTS, LABELS, start=runs / "bert")
    assert (
        seen[-1].epochs == 4
        and seen[-1].learning_rate == pytest.approx(1e-4 * 384 / 8)
        and seen[-1].head_rate == 1.0
    )
    rows = [text.split() for text in TEXTS]
    tags = [["O"] * (len(row) - 1) + ["B-end"] for row in rows]
    Tagger("bert", validation=0.0, steps=2, crf=True).fit(rows, tags, start=runs / "bert")
    assert seen[-1].head_rate == 20.0
    Classifier("bert", validation=0.0, steps=1, **SMALL["bert"]).fit(TEXTS, LABELS)
    assert seen[-1].epochs is None and seen[-1].learning_rate == 1e-4
