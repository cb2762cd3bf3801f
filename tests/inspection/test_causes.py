"""What moved the answer, and what is gone when a part is: removals are compared with a network whose weights were changed, words
with a reading of the text without them."""

from copy import copy, deepcopy

import numpy as np
import pytest
import torch
from test_contract import CASES, fitted, is_network, made
from test_language_model import trained as language_model

from wenmai.errors import Mistake
from wenmai.inspection import attribution, switches
from wenmai.inspection.reading import Reading

TEXT = "the drum is so very loud"
CLOSE = {"atol": 1e-5, "rtol": 1e-4}
CLASSIFY = [rung for rung, task, kind in CASES if (task, kind) == ("classify", "texts")]
SMOOTH = [
    (rung, task, kind)
    for rung, task, kind in CASES
    if is_network(rung)
    and kind in ("texts", "pairs", "tokens", "sources", "questions", "choices", "stories")
]


def changed(estimator, change):
    """The same estimator with other weights."""
    other = copy(estimator)
    other.model_ = deepcopy(estimator.model_)
    with torch.no_grad():
        change(other.model_)
    return other


def support_in(other, reading: Reading) -> float:
    """What the other network says for the same answer, without a trace."""
    again = Reading(other, reading.value)
    return float(again.support_of(again.outputs, reading.chosen)[0])


def off(reading: Reading, name: str) -> float:
    switch = switches.named(reading, name)
    return float(reading.support_of(switches.outputs_without(reading, switch))[0])


# Words


@pytest.mark.parametrize("rung", CLASSIFY)
def test_occlusion_is_a_reading_without_the_word_exactly(rung):
    estimator = fitted(rung, "classify", "texts")
    reading = Reading(estimator, TEXT)
    answered = int(
        estimator.task_.decide(estimator.outputs(estimator.examples([TEXT])), estimator.model_)[0]
    )
    words = TEXT.split()
    assert [word.name for word in reading.removable] == words
    for at, word in enumerate(reading.removable):
        text = " ".join(words[:at] + words[at + 1 :])
        expected = estimator.outputs(estimator.examples([text]))[0, answered]
        before, after = reading.support_without(word)
        assert after == float(expected) and before == float(
            estimator.outputs(estimator.examples([TEXT]))[0, answered]
        )


def test_so_it_is_of_numbers_tags_texts_that_go_on_and_translations():
    number = fitted("gru", "regress", "texts")
    reading = Reading(number, TEXT)
    assert reading.support_without(reading.removable[1])[1] == float(
        number.predict(["the is so very loud"])[0]
    )
    tags, tokens = fitted("lstm", "tag", "tokens"), ["the", "drum", "is", "loud"]
    reading = Reading(tags, tokens)
    chosen = reading.chosen[0].tolist()
    expected = np.log(tags.predict_proba([["the", "is", "loud"]])[0])[
        np.arange(3), [chosen[0], *chosen[2:]]
    ].sum()
    assert reading.support_without(reading.removable[1])[1] == pytest.approx(
        float(expected), abs=1e-6
    )
    model = language_model("lstm")
    reading = Reading(model, "the cat sat on")
    after = model.trained().language.begin(model.inputs_.prompt("the cat on"))[0][
        0, int(reading.chosen[0])
    ]
    assert reading.support_without(reading.removable[2])[1] == pytest.approx(float(after), abs=1e-6)
    translator = fitted("transformer", "translate", "sources")
    reading = Reading(translator, "ice", "COLD")
    assert reading.support_without(reading.removable[0])[1] == pytest.approx(
        translator.log_prob(["ce"], ["COLD"])[0], abs=1e-5
    )


# Gradients


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task", "kind"), SMOOTH, ids=str)
def test_integrated_gradients_add_up_to_the_whole_way(rung, task, kind):
    reading = Reading(fitted(rung, task, kind), made(kind, rows=3, seed=1, task=task)[0][1])
    values, difference = attribution.integrated_gradients(reading)
    assert values.sum() == pytest.approx(
        difference, abs=0.02 * max(1.0, abs(difference))
    )  # relu and max have corners
    _, gradient, f = attribution.in_pieces(reading, torch.ones(1))
    assert float(f[0]) == pytest.approx(reading.support, abs=1e-4)
    expected = (reading.x[0][reading.row] * gradient[0]).sum(-1)
    np.testing.assert_allclose(attribution.input_times_gradient(reading), expected, atol=1e-5)


def test_of_a_linear_answer_all_three_are_the_same():
    """A bag of words without a bend: what each word adds is what its gradient says."""
    estimator = fitted("mlp", "regress", "numbers")
    reading = Reading(estimator, np.array([1.0, 2.0, 3.0]))
    values, difference = attribution.integrated_gradients(reading, raw=True)
    at_zero = estimator.predict(np.array([estimator.inputs_.mean]))[
        0
    ]  # standardised numbers are 0 there
    assert difference == pytest.approx(reading.support - at_zero, abs=1e-5)
    assert values.sum() == pytest.approx(difference, abs=1e-3)


# Parts


def test_a_head_that_is_off_is_one_whose_output_has_no_weights():
    reading = Reading(fitted("transformer", "classify", "texts"), TEXT)

    def silent(model):
        model.body.blocks[1].attention.output.weight[:, 4:8] = 0  # the second of two heads of 4

    assert off(reading, "block.1.attention:1") == pytest.approx(
        support_in(changed(reading.estimator, silent), reading), abs=1e-5
    )


@pytest.mark.parametrize("rung", ["transformer", "gpt", "bert"])
def test_a_layer_that_is_off_is_one_that_was_never_there(rung):
    reading = Reading(fitted(rung, "classify", "texts"), TEXT)

    def shorter(model):
        del model.body.blocks[0]
        model.body.encoder = type(model.body.encoder)()  # what the fast path keeps of the blocks

    assert off(reading, "block.0") == pytest.approx(
        support_in(changed(reading.estimator, shorter), reading), abs=1e-5
    )


def test_a_filter_that_is_off_is_one_without_weights():
    reading = Reading(fitted("cnn", "classify", "texts"), TEXT)

    def silent(model):
        model.body.layers[0][1].weight[2] = 0
        model.body.layers[0][1].bias[2] = 0

    assert off(reading, "cnn.0.units:6") == pytest.approx(
        support_in(changed(reading.estimator, silent), reading), abs=1e-5
    )


@pytest.mark.parametrize(
    ("rung", "gate", "part"),
    [
        ("lstm", "input", 0),
        ("lstm", "forget", 1),
        ("lstm", "output", 3),
        ("gru", "reset", 0),
        ("gru", "update", 1),
        ("rnn-gated", "forget", 0),
        ("rnn-coupled", "forget", 0),
    ],
)
@pytest.mark.parametrize("held", [0, 1])
def test_a_gate_that_is_held_is_one_with_a_bias_beyond_all(rung, gate, part, held):
    reading = Reading(fitted(rung, "classify", "texts"), TEXT)

    def stuck(model):
        _, _, bias, *_ = model.body.layers[0][0].parameters()
        bias[part * 8 : (part + 1) * 8] = 1e6 if held else -1e6

    expected = support_in(changed(reading.estimator, stuck), reading)
    assert off(reading, f"{rung}.0.{gate}={held}") == pytest.approx(expected, abs=1e-5)
    one = off(reading, f"{rung}.0.{gate}:3={held}")
    assert np.isfinite(one)


def test_a_unit_that_is_off_shows_nothing():
    """Of an LSTM: as if its output gate were shut."""
    reading = Reading(fitted("lstm", "classify", "texts"), TEXT)

    def shut(model):
        model.body.layers[0][0].fused.bias_ih_l0[3 * 8 + 5] = -1e6

    assert off(reading, "lstm.0.units:5") == pytest.approx(
        support_in(changed(reading.estimator, shut), reading), abs=1e-5
    )


@pytest.mark.parametrize(
    ("rung", "task", "kind"),
    [
        ("transformer", "classify", "texts"),
        ("lstm", "classify", "texts"),
        ("attention", "translate", "sources"),
        ("bert", "choose", "choices"),
    ],
)
def test_what_is_ranked_together_is_what_each_does_alone(rung, task, kind):
    reading = Reading(fitted(rung, task, kind), made(kind, rows=3, seed=1, task=task)[0][1])
    effects = switches.ranking(reading)
    assert [abs(effect.lost) for effect in effects] == sorted(
        (abs(effect.lost) for effect in effects), reverse=True
    )
    parts = [effect for effect in effects if not effect.switch.word]
    assert parts
    for effect in parts[:: max(1, len(parts) // 12)]:
        assert effect.support == pytest.approx(off(reading, effect.switch.name), abs=1e-4), (
            effect.switch.name
        )
        assert effect.lost == pytest.approx(reading.support - effect.support, abs=1e-6)
    every = switches.points(reading)
    assert every and all(
        switches.named(reading, effect.switch.name) == effect.switch for effect in parts
    )


def test_a_word_that_stands_there_twice_is_told_apart():
    reading = Reading(fitted("lstm", "classify", "texts"), "the drum is so very so loud")
    first, second = (
        switches.before_and_after(reading, [name])[0] for name in ("word=so", "word=so#2")
    )
    again = [
        Reading(reading.estimator, text)
        for text in ("the drum is very so loud", "the drum is so very loud")
    ]
    assert [first.support, second.support] == [
        float(one.support_of(one.outputs, reading.chosen)[0]) for one in again
    ]


def test_nothing_is_changed_by_looking():
    estimator = fitted("lstm", "classify", "texts")
    before = {name: value.clone() for name, value in estimator.model_.state_dict().items()}
    expected = estimator.predict_proba([TEXT])
    reading = Reading(estimator, TEXT)
    switches.ranking(reading)
    attribution.panels(reading)
    assert all(
        torch.equal(value, before[name]) for name, value in estimator.model_.state_dict().items()
    )
    assert all(
        parameter.requires_grad and parameter.grad is None
        for parameter in estimator.model_.parameters()
    )
    np.testing.assert_array_equal(estimator.predict_proba([TEXT]), expected)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("blok.0", 'unknown switch "blok.0"; did you mean block.0'),
        ("block.0.attention:9", "expected a number from 0 to 1"),
        ("block.0=1", "a gate is held at 0 or 1, as in lstm.0.forget=0"),
        ("word=horn", 'unknown word "horn"'),
    ],
)
def test_a_switch_that_is_not_there_is_answered(name, sentence):
    with pytest.raises(Mistake) as mistake:
        switches.before_and_after(Reading(fitted("transformer", "classify", "texts"), TEXT), [name])
    assert sentence in str(mistake.value)
