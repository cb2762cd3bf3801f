"""Looking inside, over every row × task of the catalog: each panel is whole, and holds the numbers it should."""

from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from test_contract import CASES, fitted, is_network, made
from test_language_model import TEXT
from test_language_model import trained as language_model

import wenmai
from wenmai.data.files.corpus import Corpus
from wenmai.errors import Mistake
from wenmai.inspection import (
    attention,
    embeddings,
    explained,
    filters,
    formula,
    gates,
    gradients,
    positions,
    surprise,
)
from wenmai.inspection.activations import seen, sigmoid
from wenmai.inspection.inspecting import KINDS, Asked, inspect, there_is
from wenmai.inspection.reading import Reading
from wenmai.layers.cells import CELLS
from wenmai.locale import Message
from wenmai.page.panels import Bars, Curves, Matrix, Points, Table, Tokens
from wenmai.page.panels_json import to_json

GENERATING = ("ngram", "mlp", "cnn", "rnn", "lstm", "gru", "gpt")
LOOKING = ("transformer", "gpt", "bert", "attention")
WEIGHED = [case for case in CASES if case[0] in ("perceptron", "linear", "logistic", "softmax")]
EXACT = {"atol": 1e-5, "rtol": 1e-5}


def one_of(kind: str, task: str, seed: int = 1):
    return made(kind, rows=3, seed=seed, task=task)[0][1]


def whole(panel) -> None:
    """Names for every number, and every number one."""
    assert isinstance(panel.title, Message) and isinstance(panel.caption, Message) and panel.caption
    if isinstance(panel, Matrix):
        assert panel.values.shape == (
            *(len(names) for _, names in panel.choices),
            len(panel.rows),
            len(panel.columns),
        )
    elif isinstance(panel, Tokens):
        assert panel.values.shape == (len(panel.series), len(panel.tokens))
    elif isinstance(panel, Curves):
        assert panel.values.shape == (len(panel.series), len(panel.x))
    elif isinstance(panel, Bars):
        assert panel.values.shape == (len(panel.names),) and len(panel.details) in (
            0,
            len(panel.names),
        )
    elif isinstance(panel, Points):
        assert panel.places.shape == (len(panel.names), 2) and len(panel.groups) == len(panel.names)
    elif isinstance(panel, Table):
        assert all(len(row) == len(panel.columns) for row in panel.rows)
    if isinstance(panel, (Matrix, Tokens, Bars)):
        assert np.isfinite(panel.values).all(), panel.name


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task", "kind"), CASES, ids=str)
def test_every_row_of_the_catalog_shows_something_and_all_of_it_is_whole(rung, task, kind):
    found = inspect(fitted(rung, task, kind), one_of(kind, task))
    assert found.panels or (not is_network(rung) and kind in ("frames", "steps"))
    for panel in found.panels:
        whole(panel)
    names = [panel.name for panel in found.panels]
    assert len(names) == len(set(names))
    assert {name for panel in found.panels for name in panel.see} <= {"switches"}
    document, _ = to_json(found)
    assert "�" not in str(document) and [panel["name"] for panel in document["panels"]] == names


@pytest.mark.parametrize("rung", GENERATING)
def test_so_does_running_text(rung):
    model = language_model(rung, **({} if rung == "ngram" else {"steps": 2}))
    for panel in inspect(model, "the cat sat on", "all" if rung != "ngram" else ()).panels:
        whole(panel)


@pytest.mark.parametrize("rung", ["lstm", "attention"])
def test_a_sound_is_shown_as_it_is_read_and_its_letters_where_they_are_said(rung):
    model, clip = fitted(rung, "transcribe", "sounds"), one_of("sounds", "transcribe")
    target = None if rung == "lstm" else "ab"
    panels = {panel.name: panel for panel in inspect(model, clip, ["sounds"], target=target).panels}
    frames = model.inputs_.source.frames(clip)
    bands = frames.reshape(len(frames), model.inputs_.source.stack, -1).mean(1)
    np.testing.assert_allclose(panels["spectrogram"].values, bands.T[::-1], **EXACT)
    assert panels["spectrogram"].columns[1] == f"{model.inputs_.source.step:.2f}"
    if target:
        assert (
            panels["alignment"].rows == ["a", "b"]
            and panels["alignment"].columns == panels["spectrogram"].columns
        )
        assert (panels["alignment"].values.sum(0) <= 1 + 1e-9).all() and (
            panels["alignment"].values.max(1) > 0
        ).all()
        assert [row[0] for row in panels["times"].rows] == ["ab"]


# Attention


@pytest.mark.parametrize(
    ("rung", "task", "kind"), [case for case in CASES if case[0] in LOOKING], ids=str
)
def test_attention_is_that_of_the_trace_and_adds_up_to_1(rung, task, kind):
    reading = Reading(fitted(rung, task, kind), one_of(kind, task))
    parts = attention.maps_of(reading)
    noted = {
        name: value
        for name, value in reading.notes.items()
        if name.endswith(("attention", "memory"))
    }
    assert sum(part.weights.shape[0] for part in parts) == len(noted)
    for part in parts:
        np.testing.assert_allclose(part.joined.sum(-1), 1.0, atol=1e-5)
        assert sum(len(word.places) for word in part.columns) == part.weights.shape[-1]
    for panel in attention.panels(reading):
        np.testing.assert_allclose(panel.values.sum(-1), 1.0, atol=1e-5)


def test_rollout_is_the_product_of_half_attention_and_half_what_came_in():
    generator = np.random.default_rng(0)
    layers = generator.dirichlet(np.ones(4), (3, 4))  # (L, T, S)
    by_hand = np.eye(4)
    for layer in layers:
        mixed = np.array([[0.5 * layer[t, s] + 0.5 * (t == s) for s in range(4)] for t in range(4)])
        by_hand = mixed @ by_hand
    np.testing.assert_allclose(attention.rollout(layers), by_hand)
    np.testing.assert_allclose(attention.rollout(layers).sum(1), 1.0)


@pytest.mark.parametrize("rung", ["attention", "transformer"])
def test_the_alignment_is_the_one_that_translate_gives(rung):
    estimator = fitted(rung, "translate", "sources")
    expected = estimator.answers(["ice"], alignment=True)[0]
    panel = next(
        panel
        for panel in attention.panels(Reading(estimator, "ice"))
        if panel.name.endswith("alignment")
    )
    np.testing.assert_allclose(panel.values, expected["attention"], atol=1e-4)
    assert list(panel.columns) == [*"ice", "<eos>"] and len(panel.rows) == len(
        expected["target_tokens"]
    )


def test_patches_lie_on_the_picture():
    estimator, picture = fitted("transformer", "classify", "images"), one_of("images", "classify")
    (panel,) = attention.panels(Reading(estimator, picture))
    assert panel.patches == (3, 4) and len(panel.columns) == 12 and panel.columns[5] == "2,2"
    np.testing.assert_allclose(panel.picture, picture / estimator.inputs_.brightest, rtol=1e-6)


# Gates


@pytest.mark.parametrize("cell", [name for name in CELLS if name != "relu"])
def test_gates_and_states_are_those_of_the_formula(cell):
    reading = Reading(
        fitted(cell, "classify", "texts", bidirectional=True, layers=2), "the drum is so very loud"
    )
    layers = gates.layers_of(reading)
    assert [layer.name for layer in layers] == [
        f"{cell}.{level}{way}" for level in (0, 1) for way in ("", ".back")
    ]
    for layer in layers:
        part = layer.parts
        h = part["state"] if not layer.back else part["state"][::-1]
        before = np.vstack([np.zeros_like(h[:1]), h[:-1]])
        own = {name: value[::-1] if layer.back else value for name, value in part.items()}
        if cell == "lstm":
            c = own["cell"]
            c_before = np.vstack([np.zeros_like(c[:1]), c[:-1]])
            np.testing.assert_allclose(
                c, own["forget"] * c_before + own["input"] * own["update"], **EXACT
            )
            np.testing.assert_allclose(h, own["output"] * np.tanh(c), **EXACT)
        elif cell == "gru":
            np.testing.assert_allclose(
                h, own["update"] * before + (1 - own["update"]) * own["new"], **EXACT
            )
        elif cell == "rnn-gated":
            np.testing.assert_allclose(
                h, own["forget"] * before + own["input"] * own["update"], **EXACT
            )
        elif cell == "rnn-coupled":
            np.testing.assert_allclose(
                h, own["forget"] * before + (1 - own["forget"]) * own["update"], **EXACT
            )
        elif cell == "rnn-residual":
            np.testing.assert_allclose(h, before + own["update"], **EXACT)
    names = [panel.name for panel in gates.panels(reading)]
    assert f"states-{cell}-1-back" in names and (f"gates-{cell}-0" in names) == bool(
        CELLS[cell].gates
    )


def test_a_unit_that_follows_quotes_is_found_by_its_correlation():
    generator = np.random.default_rng(0)
    states, features = (
        generator.normal(size=(30, 5)),
        generator.integers(0, 2, (2, 30)).astype(float),
    )
    states[:, 3] = 0.9 * features[1] + 0.01 * states[:, 3]
    found = gates.correlations(states, features)
    np.testing.assert_allclose(
        found[1], [np.corrcoef(features[1], states[:, unit])[0, 1] for unit in range(5)]
    )
    assert found[1].argmax() == 3 and not gates.correlations(states, np.ones((1, 30))).any()
    reading = Reading(fitted("lstm", "classify", "texts"), 'it is "very so" (a drum) so it is')
    quotes, brackets, *_ = gates.features_of(reading, reading.words)
    told = {word.name: number for word, number in zip(reading.words, quotes)}
    assert told["very"] == 1 and [
        number for word, number in zip(reading.words, brackets) if word.name == "drum"
    ] == [1]
    assert [number for word, number in zip(reading.words, quotes) if word.name == "it"] == [0, 0]


# What rungs without gradients say of themselves


@pytest.mark.parametrize(
    ("rung", "task", "kind"),
    [case for case in WEIGHED if case[1] != "tag" and case[2] != "steps"],
    ids=str,
)
def test_features_times_weights_are_the_answer(rung, task, kind):
    estimator, value = fitted(rung, task, kind), one_of(kind, task)
    reading = Reading(estimator, value)
    told = explained.weighed(reading)
    np.testing.assert_allclose(
        estimator.model_.answers_of(told.z[None].astype(np.float32))[0]
        if rung != "perceptron"
        else told.z,
        reading.outputs[0],
        atol=1e-4,
        rtol=1e-4,
    )
    bars = next(panel for panel in explained.panels(reading) if panel.name == "features")
    answered = 0 if task == "regress" else int(reading.chosen[0])
    column, sign = explained.sign_of(reading, answered)
    if len(told.features) < explained.SHOWN:
        np.testing.assert_allclose(bars.values.sum(), sign * told.z[column], atol=1e-4)
    if kind == "texts":
        tokens = next(panel for panel in explained.panels(reading) if panel.name == "attribution")
        np.testing.assert_allclose(
            tokens.values.sum() + sign * told.offsets[column], sign * told.z[column], atol=1e-4
        )
        assert all(
            name in f"{value} bias" for name in bars.names
        )  # each is an n-gram of the text, though it was a hash


@pytest.mark.parametrize("rung", ["perceptron", "softmax"])
def test_so_are_templates_of_a_tag(rung):
    estimator, tokens = fitted(rung, "tag", "tokens"), ["the", "Drum", "is", "loud", "ice"]
    reading = Reading(estimator, tokens)
    emissions = estimator.model_.z(reading.examples.inputs)
    for at in range(len(tokens)):
        told = explained.weighed(reading, at)
        np.testing.assert_allclose(told.z, emissions[at], atol=1e-4)
        assert len(set(told.features)) == len(told.features)
    assert (
        "w-1=the" in explained.weighed(reading, 1).features
        and "w-1=^" in explained.weighed(reading, 0).features
    )


@pytest.mark.parametrize("layout", ["fast", "small"])
@pytest.mark.parametrize("text", ["the cat sat on the log", "a dog zebra the", "zebra zebra"])
def test_the_n_grams_that_matched_and_what_was_paid_are_log_p(layout, text):
    model = language_model("ngram", layout=layout)
    reading = Reading(model, text)
    steps = explained.matched_grams(reading)
    (scores,) = model.model_.token_scores([text.encode()])
    np.testing.assert_allclose(
        [step.total for step in steps], scores.log_probs[: len(steps)], atol=1e-4
    )
    assert all(len(step.paid) <= 2 and 1 <= step.length <= 3 for step in steps)
    other = Reading(language_model("ngram", layout="small" if layout == "fast" else "fast"), text)
    assert [step.length for step in steps] == [
        step.length for step in explained.matched_grams(other)
    ]


def test_counts_of_n_grams_are_those_of_the_text():
    model = language_model("ngram")
    training = np.concatenate(list(model.inputs_.token_blocks(Corpus.of(TEXT))))
    (panel,) = explained.of_text(Reading(model, "the cat sat on"), training)
    expected = sum(" ".join(line.split()).count("cat sat on") for line in TEXT)
    assert panel.rows[3][1] == f"cat sat on ({expected}×)"


def test_an_n_gram_classifier_adds_up():
    estimator = fitted("ngram", "classify", "texts")
    tokens, _ = explained.panels(Reading(estimator, "the drum is loud"))
    probable = np.sort(estimator.predict_proba(["the drum is loud"])[0])
    model, answered = (
        estimator.model_,
        int(estimator.predict_proba(["the drum is loud"])[0].argmax()),
    )
    order = np.argsort(-estimator.predict_proba(["the drum is loud"])[0])
    prior = model.prior[answered] - model.prior[order[1]]
    np.testing.assert_allclose(
        tokens.values.sum() + prior, np.log(probable[-1] / probable[-2]), atol=1e-3
    )


def test_filters_add_up_to_the_answer():
    estimator, text = fitted("cnn", "classify", "texts"), "the drum is very loud so it is"
    reading = Reading(estimator, text)
    share, head = filters.shares(reading), estimator.model_.head
    answered = int(reading.chosen[0])
    with torch.no_grad():
        strongest = reading.notes["cnn.0"][0].amax(0)
        z = head.output(strongest).double().numpy()
    np.testing.assert_allclose(
        share.sum() + head.output.bias[answered].item(), z[answered], atol=1e-5
    )
    np.testing.assert_allclose(z[answered] - np.log(np.exp(z).sum()), reading.support, atol=1e-5)
    (panel,) = filters.panels(reading)
    assert all(name in text for name in panel.names) and len(panel.names) == 8  # two widths of four


# Surprise


@pytest.mark.parametrize("rung", GENERATING)
def test_surprises_are_log_p_of_the_text(rung):
    model, text = language_model(rung), "the cat sat on the mat"
    words, values = surprise.of_reading(Reading(model, text))
    (scores,) = model.trained().language.token_scores([text.encode()])
    np.testing.assert_allclose(values[0], -scores.log_probs[:-1] / log(2), atol=1e-4)
    assert [word.name for word in words] == text.split()
    assert (values[1] > 0).all() and (values[1] <= np.log2(len(model.inputs_)) + 1e-6).all()


def test_of_a_translation_it_is_that_of_every_written_token():
    estimator = fitted("transformer", "translate", "sources")
    words, values = surprise.of_reading(Reading(estimator, "ice", "COLD"))
    assert [word.name for word in words] == [*"COLD", "</s>"]
    np.testing.assert_allclose(
        -values[0].sum() * log(2), estimator.log_prob(["ice"], ["COLD"])[0], atol=1e-4
    )


def test_runs_that_generate_stand_side_by_side():
    one, other = language_model("ngram"), language_model("lstm")
    found = inspect(one, "the cat sat", beside={"other": other}, run="first")
    curves, beside = found.panels
    assert list(curves.series) == ["first", "other"] and curves.values.shape == (2, 3)
    assert list(beside.names) == ["first", "other"] and len(beside.panels) == 2


# Embeddings, positions, gradients, activations


def test_nearest_words_and_the_map_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA
    from sklearn.metrics.pairwise import cosine_similarity

    estimator = fitted("lstm", "classify", "texts")
    known, (names, vectors) = embeddings.Vectors(estimator), estimator.word_vectors()
    cosines = cosine_similarity(vectors)
    at = known.of("drum")
    best = [other for other in np.argsort(-cosines[at], kind="stable") if other != at][:3]
    assert [found for found, _ in known.near(known.vectors[at], 3, [at])] == best
    np.testing.assert_allclose(
        [cosine for _, cosine in known.near(known.vectors[at], 3, [at])],
        cosines[at][best],
        atol=1e-5,
    )
    ours, theirs = embeddings.pca(known.vectors), PCA(2).fit_transform(known.vectors)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-4)
    a, b, c = (known.vectors[known.of(word)] for word in ("ice", "snow", "drum"))
    wanted = b - a + c
    scores = known.vectors @ wanted / np.linalg.norm(wanted)
    scores[[known.of(word) for word in ("ice", "snow", "drum")]] = -np.inf
    assert known.analogy("ice", "snow", "drum")[0][0] == names[int(scores.argmax())]
    with pytest.raises(Mistake, match="three words with colons"):
        inspect(estimator, "ice", analogies="ice:snow")


def test_positions_are_the_matrix():
    (matrix, products, distance) = positions.panels(
        Reading(fitted("transformer", "classify", "texts"), "the drum")
    )
    assert matrix.values.shape == (2048, 512)
    t, i = 1234, 100
    np.testing.assert_allclose(
        matrix.values[t, 2 * i], np.sin(t / 10_000 ** (2 * i / 512)), atol=2e-3
    )
    np.testing.assert_allclose(
        matrix.values[t, 2 * i + 1], np.cos(t / 10_000 ** (2 * i / 512)), atol=2e-3
    )
    assert np.allclose(np.diagonal(products.values), 1) and np.isclose(distance.values[0, 0], 1)
    learned = fitted("gpt", "classify", "texts")
    (matrix, *_) = positions.panels(Reading(learned, "the drum"))
    np.testing.assert_array_equal(
        matrix.values, learned.model_.body.position.table.detach().numpy()[:, :512]
    )
    turned = fitted("gpt", "classify", "texts", positions="rotary")
    (matrix, products, _) = positions.panels(Reading(turned, "the drum"))
    half = matrix.values.shape[1] // 2
    angles = 10_000.0 ** (-np.arange(half) / half)
    np.testing.assert_allclose(
        products.values[3, 10], np.cos(7 * angles).mean(), atol=1e-5
    )  # hangs on the distance alone
    assert not positions.panels(Reading(fitted("lstm", "classify", "texts"), "the drum"))


def test_the_gradient_of_a_plain_rnn_is_the_product_of_its_jacobians():
    model = language_model("rnn", layers=1)
    reading = Reading(model, "the cat sat on the mat")
    ((name, sizes),) = gradients.norms(reading).items()
    assert name == "rnn.0.units" and len(sizes) == 7
    _, u, *_ = model.model_.body.layers[0][0].parameters()
    h = reading.notes["rnn.0.state"][0]
    top = h[-1].clone().requires_grad_()
    with torch.enable_grad():
        f = reading.head.support(reading.model.head.outputs(top[None, None]), None, reading.chosen)
        (gradient,) = torch.autograd.grad(f.sum(), top)
    for step in reversed(range(7)):
        np.testing.assert_allclose(sizes[step], float(gradient.norm()), rtol=1e-3)
        gradient = (gradient * (1 - h[step] ** 2)) @ u.detach()


def test_one_picture_of_every_cell():
    panel = gradients.of_cells((5, 20))
    assert len(panel.series) == 2 * (len(CELLS) + 1) and panel.values.shape == (16, 20)
    share = dict(zip(panel.series, panel.values))
    assert (
        np.allclose(panel.values[:, 0], 1)
        and np.isnan(share["rnn, 5"][5:]).all()
        and np.isfinite(share["rnn, 20"]).all()
    )
    assert share["rnn, 20"][19] < share["lstm, 20"][19] < share["rnn-residual, 20"][19] * 10


def test_activations_show_what_the_model_saw():
    reading = Reading(fitted("lstm", "classify", "texts"), "the drum is loud")
    values = seen(reading)
    assert (
        values["sigmoid"].size == 3 * 4 * 8 and values["tanh"].size == 4 * 8
    )  # gates × words × units
    gate = gates.layers_of(reading)[0].parts["input"]
    np.testing.assert_allclose(sigmoid(values["sigmoid"][:32]).reshape(4, 8), gate, atol=1e-5)
    panels = {panel.name: panel for panel in KINDS["activations"][0](reading, Asked())}
    assert set(panels) == {
        f"activation-{name}" for name in ("step", "sigmoid", "tanh", "relu", "gelu", "softmax")
    }
    function, slope, shares = panels["activation-sigmoid"].values
    np.testing.assert_allclose(slope, function * (1 - function), atol=1e-6)
    assert np.isclose(shares.sum(), 1) and np.isnan(panels["activation-gelu"].values[2]).all()
    curve = Reading(
        wenmai.Regressor("logistic", L=2.0, k=3.0, z0=0.5).fit([[0.0], [1.0]] * 6, [0.5, 1.5] * 6),
        np.array([0.5]),
    )
    panel = {panel.name: panel for panel in KINDS["activations"][0](curve, Asked())}[
        "activation-sigmoid"
    ]
    z = np.array(panel.x)
    np.testing.assert_allclose(panel.values[0], 2 / (1 + np.exp(-3 * (z - 0.5))), atol=1e-2)


# Formulas


@pytest.mark.parametrize(
    ("rung", "task", "kind"),
    [
        ("transformer", "classify", "texts"),
        ("gpt", "classify", "texts"),
        ("bert", "classify", "texts"),
        ("transformer", "translate", "sources"),
    ],
)
def test_a_square_of_the_map_is_opened_up(rung, task, kind):
    reading = Reading(fitted(rung, task, kind), one_of(kind, task))
    part = attention.maps_of(reading)[0]
    (panel,) = formula.panels(reading)
    score, softmax, mixed = panel.steps
    layer, head, row, column = formula.brightest(part)
    q, k = score.values["q"], score.values["k"]
    np.testing.assert_allclose(score.values["s"], float(np.dot(q, k)) / np.sqrt(len(q)), rtol=1e-6)
    np.testing.assert_allclose(
        softmax.values["e^s"] / softmax.values["Σ"], part.weights[layer, head, row], atol=1e-5
    )
    assert softmax.values["a"] == pytest.approx(part.weights[layer, head, row, column])
    context = [value for name, value in reading.passed(".heads").items() if "block" in name][layer][
        0
    ][0, head, row]
    np.testing.assert_allclose(mixed.values["c"], context, atol=1e-4)
    for step in panel.steps:
        file, line, text = step.source.split(":", 2)
        path = Path(wenmai.__file__).parent / file
        assert path.read_text("utf-8").splitlines()[int(line) - 1].strip() == text.strip()


def test_a_step_of_a_cell_is_opened_up_and_a_cell_can_be_chosen():
    (panel,) = formula.panels(Reading(fitted("lstm", "classify", "texts"), "the drum is loud"))
    values = panel.steps[0].values
    assert values["c"] == pytest.approx(
        values["f"] * values["c₋₁"] + values["i"] * values["u"], abs=1e-5
    )
    assert values["h"] == pytest.approx(values["o"] * np.tanh(values["c"]), abs=1e-5)
    assert "c = f * state[1]" in panel.steps[0].source
    reading = Reading(fitted("transformer", "classify", "texts"), "the drum is loud")
    (panel,) = formula.panels(reading, "2,1,3,2")
    assert panel.steps[1].values["a"] == pytest.approx(
        attention.maps_of(reading)[0].weights[1, 0, 2, 1]
    )
    with pytest.raises(
        Mistake, match="expected layer,head,row,column from 1 on, at the most 2,2,4,4"
    ):
        formula.panels(reading, "3,1,1,1")


# What is not there


def test_a_rung_that_has_none_says_what_it_has():
    with pytest.raises(
        Mistake, match="ngram has no attention to show of this; it has attribution, surprise"
    ):
        inspect(language_model("ngram"), "the cat", "attention")
    with pytest.raises(Mistake, match='unknown panel "atention"; did you mean attention'):
        inspect(fitted("lstm", "classify", "texts"), "the drum", "atention")
    assert "gates" in there_is(
        Reading(fitted("gru", "classify", "texts"), "the drum"), Asked(show=("attention",))
    )


def test_a_text_longer_than_the_model_is_cut_and_said():
    small = {"max_length": 4, "tokenizer": "words", "steps": 1, "width": 8, "heads": 2}
    short = wenmai.Classifier("transformer", **small).fit(["a b c", "d e f"] * 9, ["x", "y"] * 9)
    found = inspect(short, "a b c d e f a b", "attention")
    assert [str(note) for note in found.notes] == [
        "the text has 8 tokens, of which the network reads the first 4"
    ]
    assert list(found.panels[0].columns) == ["a", "b", "c", "d"]
    model = language_model("gpt", context=8)
    found = inspect(model, "the cat sat on the mat and the dog", "attention")
    assert "its last 8 are looked at" in str(found.notes[0]) and len(found.panels[0].columns) == 8
