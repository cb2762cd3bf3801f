"""Starting from a run: what is loaded, what begins anew, what is kept in the run folder, and what is refused."""

import json

import numpy as np
import pytest

from wenmai import Classifier, LanguageModel, Mistake, Regressor, Tagger, load
from wenmai.training.progress import Snapshot

TEXTS = [
    f"{word} thing number {n} is here"
    for n in range(20)
    for word in ("a good", "the bad", "some odd")
]
LABELS = ["good", "bad", "odd"] * 20
SMALL = {
    "lstm": {"hidden": 12},
    "gru": {"hidden": 12},
    "rnn-residual": {"hidden": 12},
    "mlp": {"hidden": 12, "embed": 8},
    "cnn": {"filters": 8, "embed": 8},
    "gpt": {"width": 16, "heads": 2, "layers": 2},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for rung, sizes in SMALL.items():
        LanguageModel(rung, steps=5, **sizes).fit(TEXTS).save(folder / rung)
    return folder


def state_of(model, part: str) -> dict[str, np.ndarray]:
    return {
        name: value.numpy(force=True).copy()
        for name, value in getattr(model, part).state_dict().items()
    }


@pytest.mark.parametrize("rung", SMALL)
def test_input_layer_and_body_are_the_runs_and_the_head_is_new(rung, runs):
    known, first = load(runs / rung).model_, None
    for progress in Classifier(rung, steps=3).training(TEXTS, LABELS, start=runs / rung):
        first = first or progress
    model = Classifier(rung, steps=1, learning_rate=1e-30, weight_decay=0.0).fit(
        TEXTS, LABELS, start=runs / rung
    )
    for part in ("input", "body"):
        ours, theirs = state_of(model.model_, part), state_of(known, part)
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-6)
    assert model.model_.head.width == 3 and model.inputs_.vocabulary == known.head.width
    note = next(note for note in model.notes_ if note.startswith("started from"))
    assert f"{model.start_['loaded']:,} weights of the input layer and the body are loaded" in note


@pytest.mark.parametrize("rung", SMALL)
def test_every_task_starts_from_a_run_and_is_loaded_as_it_was(rung, runs, tmp_path):
    rows = [text.split() for text in TEXTS]
    tags = [["O"] * (len(row) - 1) + ["B-end"] for row in rows]
    classifier = Classifier(rung, steps=3).fit(TEXTS, LABELS, start=runs / rung)
    tagger = Tagger(rung, steps=3).fit(rows, tags, start=runs / rung)
    regressor = Regressor(rung, steps=3).fit(TEXTS, np.arange(60.0), start=classifier)
    writer = LanguageModel(rung, steps=3).fit(TEXTS, start=classifier)
    for model, asked in ((classifier, TEXTS), (tagger, rows), (regressor, TEXTS)):
        again = load(model.save(tmp_path / model.task_name))
        np.testing.assert_array_equal(
            np.asarray(again.predict(asked), object), np.asarray(model.predict(asked), object)
        )
    assert load(writer.save(tmp_path / "generate")).log_prob("a good thing") == writer.log_prob(
        "a good thing"
    )
    about = json.loads((tmp_path / "classify" / "run.json").read_text())
    assert (
        about["from"]["run"] == str(runs / rung)
        and about["from"]["task"] == about["build"]["task"] == "generate"
    )
    assert about["build"]["options"].items() >= SMALL[rung].items()


def test_a_head_of_the_users_own(runs, tmp_path):
    model = Classifier("lstm", steps=1, pooling="mean").fit(TEXTS, LABELS, start=runs / "lstm")
    assert model.model_.head.pooling == "mean"
    assert load(model.save(tmp_path / "run")).model_.head.pooling == "mean"


REFUSED = [
    (
        lambda runs: Classifier("gru").fit(TEXTS, LABELS, start=runs / "lstm"),
        "holds the rung lstm, and gru cannot start from it",
    ),
    (
        lambda runs: Classifier("lstm", hidden=64).fit(TEXTS, LABELS, start=runs / "lstm"),
        "was built with hidden=12",
    ),
    (
        lambda runs: Classifier("lstm", bidirectional=True).fit(TEXTS, LABELS, start=runs / "lstm"),
        "is no option of the body",
    ),
    (
        lambda runs: Classifier("lstm", tokenizer="bpe").fit(TEXTS, LABELS, start=runs / "lstm"),
        "says how inputs are read",
    ),
    (
        lambda runs: Classifier("lstm").fit(
            np.zeros((9, 3)), ["a", "b", "c"] * 3, start=runs / "lstm"
        ),
        "another kind of input",
    ),
    (
        lambda runs: Classifier("lstm").fit(list(zip(TEXTS, TEXTS)), LABELS, start=runs / "lstm"),
        "reads pairs of texts, or here",
    ),
    (
        lambda runs: Classifier("softmax").fit(
            TEXTS, LABELS, start=Classifier("softmax").fit(TEXTS, LABELS)
        ),
        "no single body",
    ),
    (
        lambda runs: LanguageModel("lstm").fit(
            TEXTS,
            start=Classifier("lstm", hidden=8, steps=1, bidirectional=True).fit(TEXTS, LABELS),
        ),
        "looks at what comes after a token",
    ),
    (
        lambda runs: LanguageModel("cnn").fit(
            TEXTS, start=Classifier("cnn", steps=1).fit(TEXTS, LABELS)
        ),
        "looks at what comes",
    ),
    (
        lambda runs: Classifier("lstm").fit(TEXTS, LABELS, start=runs / "nothing"),
        "is not a run folder",
    ),
]


@pytest.mark.parametrize(("work", "part"), REFUSED, ids=[part for _, part in REFUSED])
def test_what_does_not_fit_is_refused(work, part, runs):
    with pytest.raises(Mistake, match=part):
        work(runs)


def test_a_stopped_training_goes_on_as_it_would_have(runs):
    options = {"steps": 6, "evaluations": 3}
    whole = Classifier("lstm", **options).fit(TEXTS, LABELS, start=runs / "lstm")
    kept = None
    for progress in Classifier("lstm", **options).training(TEXTS, LABELS, start=runs / "lstm"):
        if progress.step == 2:
            kept = progress.snapshot()
            break
    again = Classifier("lstm", **options)
    for _ in again.training(
        TEXTS, LABELS, start=runs / "lstm", resume=Snapshot(kept.arrays, kept.facts, None)
    ):
        pass
    for name, value in whole.model_.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), again.model_.state_dict()[name].numpy())


def test_the_command_line(runs, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS))
    (tmp_path / "things.csv").write_text("text,label\n" + rows)
    ran = wenmai_cli(
        "train", "lstm", "things.csv", "--from", runs / "lstm", "--set", "steps=3", "--out", "run"
    )
    assert ran.status == 0 and "weights of the input layer and the body are loaded" in ran.err, (
        ran.err
    )
    assert wenmai_cli("predict", "run", "a good thing").status == 0
    ran = wenmai_cli("train", "lstm", "things.csv", "--from", "run", "--out", "run")
    assert ran.status == 2 and "would be replaced by it" in ran.err
