"""What goes wrong in the middle of training is put right, or said: a loss that is no number, a batch that does not fit."""

import re

import numpy as np
import pytest
import torch

from wenmai.data.storage.saved import Unfit
from wenmai.errors import Mistake, Notice
from wenmai.estimators import Classifier, LanguageModel, Regressor, Tagger, load
from wenmai.models.network import Network
from wenmai.tasks.classify import Classify
from wenmai.training import loop, memory, run_folder
from wenmai.training.progress import Diverged, Snapshot
from wenmai.training.updater import Updater

TEXTS = [f"{'good' if n % 2 else 'bad'} film number {n}" for n in range(60)]
LABELS = ["pos" if n % 2 else "neg" for n in range(60)]
SMALL = {
    "hidden": 8,
    "embed": 8,
    "steps": 24,
    "evaluations": 4,
    "dropout": 0.0,
    "batch_tokens": 64,
    "precision": "float32",
}


def weights(estimator) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in estimator.model_.state_dict().items()}


def no_number(monkeypatch, *calls: int, value: float = float("nan")) -> None:
    """The loss is none at these calls, counted from 1, of training alone."""
    whole, seen = Network.losses, [0]

    def losses(self, batch):
        (loss,), state = whole(self, batch)
        seen[0] += torch.is_grad_enabled() and len(batch.inputs) > 2
        return [loss._replace(total=loss.total * value) if seen[0] in calls else loss], state

    monkeypatch.setattr(Network, "losses", losses)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_sends_training_back_once(monkeypatch, value):
    no_number(monkeypatch, 15, value=value)
    model = Classifier("gru", **SMALL)
    seen = list(model.training(TEXTS, LABELS, where=lambda row: f"films.csv, line {row + 2}"))
    (told,) = [progress for progress in seen if progress.warning]
    assert told.warning.startswith("step 15: the loss is not a finite number (films.csv, line ")
    assert (
        "other rows of its batch); training went back to step 12, with 0.1 times the learning rate."
        in told.warning
    )
    assert told.warning in model.notes_ and told.step == 12
    steps = [progress.step for progress in model.progress_]
    assert steps == [6, 12, 18, 24] and all(
        np.isfinite(progress.loss) for progress in model.progress_
    )
    after = {progress.step: progress.rate for progress in model.progress_}
    assert after[18] < 0.2 * after[12]  # also by its own path, but not so much
    assert all(np.isfinite(value).all() for value in weights(model).values())


@pytest.mark.parametrize("calls", [(15,), (15, 20)])
def test_going_back_and_giving_up_bring_back_the_weights_of_the_last_good_state(monkeypatch, calls):
    no_number(monkeypatch, *calls)
    model, good, after = Classifier("gru", **SMALL, validation=0.0), {}, []
    for progress in model.training(TEXTS, LABELS):
        now = {name: value.copy() for name, value in weights(model).items()}
        if progress.warning:
            after.append((progress.step, now))
        elif not progress.passing:
            good[progress.step] = now
    assert [step for step, _ in after] == [12] * len(calls)
    assert all((value == good[12][name]).all() for _, now in after for name, value in now.items())
    ended = good[12] if len(calls) == 2 else good[24]
    assert all((value == ended[name]).all() for name, value in weights(model).items())
    assert any((value != good[6][name]).any() for name, value in ended.items())


def test_memory_is_given_back_while_it_trains(monkeypatch):
    given_back = []
    monkeypatch.setattr(loop, "TIDIED", -1.0)
    monkeypatch.setattr(memory, "give_back", lambda: given_back.append(1))
    Classifier("gru", **SMALL).fit(TEXTS, LABELS)
    assert len(given_back) == SMALL["steps"]


def test_a_second_time_it_ends_with_the_last_good_state_and_advice(monkeypatch):
    until = Classifier("gru", **SMALL | {"patience": 99}).fit(
        TEXTS, LABELS
    )  # the same steps, of which 12 were good
    no_number(monkeypatch, 15, 20)
    model = Classifier("gru", **SMALL | {"patience": 99})
    seen = list(model.training(TEXTS, LABELS))
    assert seen[-1].step == 12 and [progress.step for progress in model.progress_] == [6, 12]
    assert re.match(
        r"step 17: the loss is no longer .* by step 12\. .* --set learning_rate=0.0001 and",
        model.notes_[-1],
    )
    assert not model.model_.training and np.isfinite(model.predict_proba(TEXTS)).all()
    scores = {progress.step: progress.score for progress in until.progress_}
    assert {progress.step: progress.score for progress in model.progress_} == {
        step: scores[step] for step in (6, 12)
    }


def test_where_no_state_was_good_yet_it_stops_with_advice(monkeypatch):
    no_number(monkeypatch, 3, 8)
    with pytest.raises(
        Diverged,
        match=r"step 5: the loss is no longer .* start anew with --set learning_rate=0.0001 ",
    ):
        Classifier("gru", **SMALL).fit(TEXTS, LABELS)


@pytest.mark.parametrize("rung", ["mlp", "softmax"])
def test_a_rate_far_too_high_is_answered_with_one_that_works(rung):
    with pytest.raises(Diverged) as caught:
        Classifier(rung, learning_rate=1e30, epochs=20, device="cpu").fit(TEXTS, LABELS)
    rate = float(re.search(r"--set learning_rate=(\S+?)\.?(?: |$)", str(caught.value))[1])
    assert rate < 1
    Classifier(rung, learning_rate=rate, epochs=2, device="cpu").fit(TEXTS, LABELS)


def test_a_gradient_that_is_no_number_is_seen_at_its_step(monkeypatch):
    class Sharp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * float("inf")

    whole, seen = Network.losses, [0]

    def losses(self, batch):
        (loss,), state = whole(self, batch)
        seen[0] += torch.is_grad_enabled() and len(batch.inputs) > 2
        return [loss._replace(total=Sharp.apply(loss.total)) if seen[0] == 8 else loss], state

    monkeypatch.setattr(Network, "losses", losses)
    told = [
        progress.warning
        for progress in Classifier("mlp", **SMALL).training(TEXTS, LABELS)
        if progress.warning
    ]
    assert len(told) == 1 and told[0].startswith("step 8: ") and "went back to step 6" in told[0]


@pytest.mark.parametrize("place", [3, 12, 13, 14, 15, 16, 20])
def test_stopped_before_and_after_going_back(monkeypatch, place):
    """The last good state is kept too: it is gone back to, whether training was stopped in between or not."""
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    bad = 15

    def train(resume=None, until=None, skipped=0):
        with monkeypatch.context() as patch:
            no_number(patch, bad - skipped)
            model = Classifier("gru", **SMALL)
            for number, progress in enumerate(model.training(TEXTS, LABELS, resume=resume)):
                if number == until:
                    return progress.snapshot(), progress.step
            return model

    whole = train()
    snapshot, step = train(until=place)
    again = train(Snapshot(snapshot.arrays, snapshot.facts), skipped=step if place < bad else bad)
    assert all((weights(again)[name] == value).all() for name, value in weights(whole).items())


def test_a_rate_that_is_too_high_does_not_end_the_search(monkeypatch):
    whole = loop.train

    def train(*arguments):
        if (arguments[-1].learning_rate or 0) > 5e-3:
            raise Diverged("no number")
        yield from whole(*arguments)

    monkeypatch.setattr(loop, "train", train)
    model = Classifier("mlp", search=True, hidden=8, embed=8, steps=30, batch_tokens=64).fit(
        TEXTS, LABELS
    )
    assert len(model.rates_tried_) == 2 and all(
        tried["learning_rate"] < 5e-3 for tried in model.rates_tried_
    )


def test_linear_rungs_go_back_too():
    x, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200.0)
    with pytest.raises(
        Diverged,
        match=r"pass 1 over the rows \(row \d+ came first\): .* --set learning_rate=0\.2\.",
    ):
        Regressor("linear", solver="gradient", learning_rate=1e38).fit(x, y)
    for rate in 10.0 ** np.arange(38, 0, -1):  # the highest at which a tenth of it does
        model = Regressor("linear", solver="gradient", learning_rate=rate, epochs=5)
        try:
            told = [progress.warning for progress in model.training(x, y) if progress.warning]
        except Diverged:
            continue
        break
    (told,) = told
    assert "pass 1 over the rows" in str(told) and "went back to its beginning" in str(told)
    assert np.isfinite(model.predict(x)).all() and model.progress_[0].rate < rate / 10


# Memory


def narrow(monkeypatch, rows: int) -> None:
    """A memory that takes so many rows and no more."""
    whole = Network.losses

    def losses(self, batch):
        if len(batch.inputs) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(self, batch)

    monkeypatch.setattr(Network, "losses", losses)


def test_a_batch_that_does_not_fit_is_halved_and_said(monkeypatch):
    whole = Classifier("gru", **SMALL).fit(TEXTS, LABELS)
    narrow(monkeypatch, 6)
    model = Classifier("gru", **SMALL)
    told = [progress.warning for progress in model.training(TEXTS, LABELS) if progress.warning]
    assert len(told) == 1 and told[0].startswith(
        "a batch does not fit into the memory of cpu: from step 1 on each is read in 4 "
    )
    for name, value in weights(whole).items():
        np.testing.assert_allclose(weights(model)[name], value, atol=1e-5)


def test_a_row_that_does_not_fit_is_said(monkeypatch):
    narrow(monkeypatch, 0)
    monkeypatch.setattr(Updater, "suited_micro_batches", lambda *_: 1)
    with pytest.raises(
        Mistake,
        match=r"step 1: a batch of \d+ rows of up to \d tokens does not fit .* --set batch_tokens=…",
    ):
        Classifier("gru", **SMALL).fit(TEXTS, LABELS)


def test_a_window_of_a_text_that_does_not_fit_is_said(monkeypatch):
    narrow(monkeypatch, 0)
    monkeypatch.setattr(Updater, "suited_micro_batches", lambda *_: 1)
    with pytest.raises(
        Mistake,
        match=r"step 1: a batch of \d+ rows of up to 4 tokens does not fit into the memory of cpu",
    ):
        words(context=4, batch_tokens=16).fit(["the cat sat on the mat", "a dog saw the cat"] * 9)


def test_what_numpy_and_torch_say_when_memory_is_at_its_end():
    assert memory.exhausted(MemoryError()) and memory.exhausted(torch.OutOfMemoryError())
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert memory.exhausted(caught.value)
    assert not memory.exhausted(RuntimeError("shapes differ")) and not memory.exhausted(
        ValueError()
    )


def test_answers_in_pieces_where_memory_is_short(monkeypatch):
    model = Classifier("gru", **SMALL).fit(TEXTS, LABELS)
    expected = model.predict_proba(TEXTS)
    whole = Network.masked

    def masked(self, batch, trace=None):
        if len(batch.inputs) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(self, batch, trace)

    monkeypatch.setattr(Network, "masked", masked)
    with pytest.warns(
        Notice, match="a batch does not fit into the memory of cpu; it is answered in pieces"
    ):
        np.testing.assert_allclose(model.predict_proba(TEXTS), expected, atol=1e-6)


def test_batches_are_cut_beforehand_by_what_is_free(monkeypatch):
    model = Classifier("transformer", steps=4, batch_tokens=512, precision="float32")
    list(model.training(TEXTS, LABELS))
    needed = model.model_.parameters_count() * memory.bytes_each("adamw")
    monkeypatch.setattr(memory, "free", lambda device: int((needed + 2e6) / memory.USED))
    told = [
        progress.warning
        for progress in Classifier("transformer", steps=4, batch_tokens=4096).training(
            TEXTS, LABELS
        )
    ]
    assert "from the beginning each is read in " in told[0]
    monkeypatch.setattr(memory, "check_weights", lambda *_: None)
    monkeypatch.setattr(memory, "free", lambda device: int(needed * 40 / 44 / memory.USED))
    with pytest.raises(
        Mistake,
        match=r"the longest row \(4 tokens\) takes .* MB to learn from, and .* MB are left on cpu",
    ):
        Classifier("transformer", steps=4).fit(TEXTS, LABELS)


def test_sizes_that_cannot_fit_are_refused_with_the_numbers():
    with pytest.raises(
        Mistake,
        match=r"these options make 119,\d+,\d+,\d+ weights, which take 5,2\d\d.\d GB to train",
    ):
        Classifier("lstm", hidden=173_000).fit(TEXTS, LABELS)
    with pytest.raises(
        Mistake,
        match=r"4,000,000 features of 1,000,000 outputs take 32,000.0 GB, and .* are free on cpu",
    ):
        memory.check_table(4_000_000, 1_000_000)


def test_what_a_container_allows(tmp_path):
    assert memory.container(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 50\n")
    assert memory.container(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory.container(tmp_path) == 750


def test_no_table_of_all_outputs(monkeypatch, tmp_path):
    """Answers and scores come out the same when outputs are held a few rows at a time."""
    model = Classifier("softmax", epochs=2).fit(TEXTS, LABELS)
    expected = model.predict(TEXTS), model.evaluate(TEXTS, LABELS), model.answers(TEXTS)
    held = []
    whole = Classify.outputs
    monkeypatch.setattr("wenmai.tasks.rows.TABLE", 64)
    monkeypatch.setattr(
        Classify,
        "outputs",
        lambda self, trained, some: held.append(len(some)) or whole(self, trained, some),
    )
    np.testing.assert_array_equal(model.predict(TEXTS), expected[0])
    assert model.evaluate(TEXTS, LABELS) == expected[1] and model.answers(TEXTS) == expected[2]
    assert max(held) == 8
    run_folder.save(model, tmp_path / "run", {})


def test_deterministic_is_entered_for_every_step(monkeypatch):
    seen = []
    whole = Network.losses

    def losses(self, batch):
        seen.append(torch.are_deterministic_algorithms_enabled())
        return whole(self, batch)

    monkeypatch.setattr(Network, "losses", losses)
    Classifier("mlp", deterministic=True, **SMALL).fit(TEXTS, LABELS)
    assert all(seen) and len(seen) == SMALL["steps"] + SMALL["evaluations"] + 2
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_rung_that_learns_a_step_at_a_time_names_the_row():
    rows = [["a", "b", "c", "d"][: 1 + n % 4] for n in range(40)]
    tags = [[{"a": "X", "b": "Y"}.get(word, "O") for word in row] for row in rows]
    for seed in range(3):
        with pytest.raises(
            Diverged, match=r"pass 1 over the rows \(row \d+ came first\)"
        ) as caught:
            Tagger("softmax", learning_rate=1e38, seed=seed, scheme="plain").fit(rows, tags)
        assert 1 <= int(str(caught.value).split("(row ")[1].split(" ")[0]) <= 40


def test_weights_that_are_no_numbers_are_seen_where_the_loss_is_one():
    labels = [["x", "y", "z"][n % 3] for n in range(60)]
    with pytest.raises(Diverged):
        Classifier("logistic", learning_rate=1e38).fit(TEXTS, labels)


def test_a_batch_of_empty_rows_teaches_nothing():
    rows, tags = [["a", "b"], ["b", "a"]] * 30 + [[]], [["X", "Y"], ["Y", "X"]] * 30 + [[]]
    model = Tagger(
        "rnn", batch_tokens=1, steps=62, validation=0.0, hidden=4, embed=4, scheme="plain"
    )
    assert not [progress for progress in model.training(rows, tags) if progress.warning]


def test_what_is_taken_once_is_not_counted_for_every_row():
    """In 16 bits the weights are copied for a batch, however many rows it has."""
    texts, labels = ["a b c"] * 40, ["x", "y"] * 20
    found = {}
    for precision in ("float32", "bf16"):
        model = Classifier(
            "mlp", hidden=512, layers=3, steps=1, precision=precision, validation=0.0
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                memory,
                "micro_batches_of",
                lambda row, *_, precision=precision: found.setdefault(precision, row) and 1,
            )
            model.fit(texts, labels)
    assert found["bf16"] < 2 * found["float32"]


def words(**options) -> LanguageModel:
    usual = {
        "hidden": 8,
        "steps": 12,
        "evaluations": 6,
        "validation": 0.0,
        "device": "cpu",
        "precision": "float32",
    }
    return LanguageModel("lstm", **usual | options)


@pytest.mark.parametrize(
    "options", [{"optimizer": "asgd", "learning_rate": 1.0}, {"average": True}], ids=str
)
def test_what_is_averaged_is_the_mean_of_the_weights_since_half_way(monkeypatch, options):
    seen, step = [], Updater.__call__

    def watched(self, *given):
        found = step(self, *given)
        seen.append({name: value.clone() for name, value in self.learning.state_dict().items()})
        return found

    monkeypatch.setattr(Updater, "__call__", watched)
    model = words(**options).fit(["the cat sat on the mat", "a dog saw the cat"] * 9)
    assert len(seen) == 12 and len({progress.rate for progress in model.progress_[1:]}) == 1
    for name, value in model.model_.state_dict().items():
        torch.testing.assert_close(
            value, torch.stack([weights[name] for weights in seen[5:]]).mean(0), msg=name
        )


def test_averaging_begins_when_scores_stop_getting_better_and_the_mean_is_what_is_judged(
    monkeypatch,
):
    scores, judged = iter([9.0, 8.0, *[8.5] * 5, 7.0, *[7.5] * 40]), []

    def quick_loss(network, tokens):
        judged.append({name: value.clone() for name, value in network.state_dict().items()})
        return next(scores)

    monkeypatch.setattr("wenmai.tasks.generate.quick_loss", quick_loss)
    model = words(average=True, steps=200, evaluations=200, validation=0.2, patience=6)
    model.fit(["the cat sat on the mat", "a dog saw the cat"] * 9)
    assert len(judged) == 8 + 6  # the eighth, of the mean, was the best; six more brought nothing
    for name, value in model.model_.state_dict().items():
        assert torch.equal(value, judged[7][name]), name


@pytest.mark.parametrize("place", [3, 8, 10])
def test_a_training_that_averages_goes_on_where_it_was_stopped(monkeypatch, place):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    text = ["the cat sat on the mat", "a dog saw the cat"] * 9
    whole = words(average=True).fit(text)
    first = words(average=True)
    for progress in first.training(text):
        if progress.step == place:
            snapshot = progress.snapshot()
            break
    again = words(average=True)
    for _ in again.training(
        text, resume=Snapshot(snapshot.arrays, snapshot.facts, first.inputs_.to_json())
    ):
        pass
    for name, value in whole.model_.state_dict().items():
        assert torch.equal(value, again.model_.state_dict()[name]), name


@pytest.mark.parametrize(
    ("rung", "options"), [("mlp", {"steps": 1}), ("gru", {"steps": 1, "embed": 4})]
)
def test_an_update_that_leaves_no_answer_is_seen_though_its_loss_was_a_number(rung, options):
    with pytest.raises(Diverged, match="the loss is no longer a finite number"):
        Classifier(rung, learning_rate=1e30, hidden=4, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("rung", ["mlp", "softmax"])
def test_a_run_whose_weights_are_no_numbers_is_refused(tmp_path, rung):
    model = Classifier(rung, **({"hidden": 4, "steps": 1} if rung == "mlp" else {})).fit(
        TEXTS, LABELS
    )
    weights = model.model_.head.output.bias.data if rung == "mlp" else model.model_.z.offsets
    weights[0] = float("nan")
    with pytest.raises(
        Mistake,
        match=r"weights.safetensors: .* holds weights that are no numbers \(NaN or infinite\)",
    ):
        load(model.save(tmp_path / "run"))


@pytest.mark.parametrize("part", ["network", "best", "good"])
def test_a_snapshot_whose_weights_have_another_shape_is_refused(part, monkeypatch):
    monkeypatch.setattr(
        loop, "HEARTBEAT", -1.0
    )  # between two looks, too, where the last good state is another
    model = Classifier("gru", **SMALL)
    snapshot = next(
        progress.snapshot() for progress in model.training(TEXTS, LABELS) if progress.step == 8
    )
    name = next(
        name
        for name, array in snapshot.arrays.items()
        if name.startswith(f"{part}.") and array.ndim
    )
    arrays = snapshot.arrays | {name: np.zeros((3, 3, 3), np.float32)}
    with pytest.raises(Unfit):
        next(
            iter(
                Classifier("gru", **SMALL).training(
                    TEXTS, LABELS, resume=Snapshot(arrays, snapshot.facts)
                )
            )
        )
