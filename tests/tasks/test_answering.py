"""What every task answers with: results that carry their notes and are kept nowhere, so that many may ask at once; the formulas
on these inputs; and an estimator of parts that are there already."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch
from test_contract import (
    LABELS,
    NETWORKS,
    WRITING,
    a_text,
    assert_close,
    fitted,
    is_network,
    made,
    small,
)

import wenmai
from wenmai.catalog import RUNGS, TASKS, rungs_for
from wenmai.data.examples.sequences import Sequences
from wenmai.errors import Mistake
from wenmai.estimators import ESTIMATORS, LanguageModel
from wenmai.layers.trace import Trace
from wenmai.tasks.choose import log_softmax
from wenmai.tasks.contract import Answers, Scores, Task
from wenmai.tasks.transcripts import by_alignment

THREADS = 8
PROMPTS = ["the ice", "so", "a very loud drum is", "it is", "", "grass", "the", "frost so", "horn"]
WRITERS = [rung.name for rung in rungs_for("generate") if is_network(rung.name)]


@cache
def language_model(rung: str) -> LanguageModel:
    chance = np.random.default_rng(0)
    context = {"context": 16} if rung == "gpt" else {}
    return small(rung, "generate", **context).fit(
        [a_text(LABELS[row % 3], chance) for row in range(90)]
    )


ROWS_ONLY = {"targets_of", "split_keys", "outputs"}  # of tasks whose data are rows


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_task_has_what_an_estimator_asks_for(task):
    asked = {name for name in (*vars(Task), *Task.__annotations__) if not name.startswith("_")}
    asked -= {"like", "settle", "groups", "takes"}  # which may be left out
    assert {"split", "judge", "evaluate", "reads", "metric"} <= asked
    known = set(dir(task(**({"horizon": 1} if task.name == "regress" else {}))))
    assert asked - known <= (ROWS_ONLY if task.target is None else set())


# Many callers


def asked_at_once(ask, questions: list) -> list:
    """Every question by every thread, each beginning with another."""

    def turn(first: int) -> list:
        order = np.roll(np.arange(len(questions)), -first).tolist()
        answers = {number: ask(questions[number]) for number in order}
        return [answers[number] for number in range(len(questions))]

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(turn, range(THREADS)))


def assert_same_for_all(ask, questions: list) -> None:
    alone = [ask(question) for question in questions]
    for answers in asked_at_once(ask, questions):
        for one, other in zip(answers, alone, strict=True):
            np.testing.assert_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "task", "kind"),
    [
        ("gru", "classify", "texts"),
        ("softmax", "classify", "texts"),
        ("transformer", "classify", "pairs"),
        ("lstm", "tag", "tokens"),
        ("perceptron", "tag", "tokens"),
        ("cnn", "regress", "texts"),
        ("gru", "compose", "labels"),
        ("transformer", "compose", "images"),
        ("seq2seq", "translate", "sources"),
        ("attention", "translate", "sources"),
        ("transformer", "translate", "sources"),
    ],
    ids=str,
)
def test_threads_are_answered_as_one_caller_is(rung, task, kind, tmp_path):
    model = wenmai.load(fitted(rung, task, kind).save(tmp_path / "run"))
    rows = made(kind, 18, seed=4, task=task)[0]
    parts = [rows[start : start + 3] for start in range(0, 18, 3)]
    before = set(vars(model))
    for ask in (model.predict, model.answers, getattr(model, "translate", model.predict)):
        assert_same_for_all(ask, parts)
    assert set(vars(model)) == before  # nothing was kept


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["ngram", "lstm", "gpt", "cnn"])
def test_threads_go_on_with_texts_as_one_caller_does(rung, tmp_path):
    model = wenmai.load(language_model(rung).save(tmp_path / "run"))
    before = set(vars(model))
    assert_same_for_all(lambda prompt: model.generate(prompt, tokens=8, seed=3), PROMPTS)
    assert_same_for_all(
        lambda prompt: model.generate([prompt, "ice"], tokens=8, temperature=0.5), PROMPTS
    )
    assert_same_for_all(model.log_prob, PROMPTS)
    assert_same_for_all(model.evaluate, PROMPTS)
    assert set(vars(model)) == before


def test_a_model_that_learns_as_it_reads_is_a_copy():
    """One thread judges it so, and the others ask the model as it was trained."""
    model, other = language_model("lstm"), ["moss moss horn", "horn frost horn"] * 20
    expected = model.log_prob(other)
    with ThreadPoolExecutor(1) as pool:
        judged = pool.submit(
            model.evaluate, other, dynamic="sgd", dynamic_segment=2, dynamic_rate=1.0
        )
        asked = [model.log_prob(other)]
        while not judged.done():
            asked.append(model.log_prob(other))
    assert judged.result()["perplexity_dynamic"] < judged.result()["perplexity"]
    for sums in asked:
        np.testing.assert_array_equal(sums, expected)


# Results carry their notes


def test_scores_are_a_dict_and_answers_a_list():
    model, (inputs, targets) = fitted("gru", "classify", "texts"), made("texts")
    scores, answers = model.evaluate(inputs, targets), model.answers(inputs)
    assert isinstance(scores, Scores) and scores == dict(scores) and scores.notes == []
    assert isinstance(answers, Answers) and answers == list(answers) and answers.notes == []


def test_what_was_not_read_is_noted_beside_the_answers(recwarn):
    note = "1 of the texts are longer than the 9 tokens that this model reads: what goes beyond is not read"
    model = small("attention", "translate", max_length=9).fit(*made("sources", task="translate"))
    assert model.answers(["ice " * 30, "ice"]).notes == [note] and not len(recwarn)
    model.predict(["ice " * 30])
    assert [str(warning.message) for warning in recwarn] == [note]


def test_a_prompt_that_is_too_long_is_noted_beside_the_answers(recwarn):
    note = "the prompt has 40 tokens, and gpt looks back on 16: the first 24 play no part"
    model = language_model("gpt")
    assert model.answers(["so " * 40, "ice"]).notes == [note] and not len(recwarn)
    model.predict(["so " * 40])
    assert [str(warning.message) for warning in recwarn] == [note]


# The formulas


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)
def test_a_trace_of_inputs(rung, task, kind):
    estimator, inputs = fitted(rung, task, kind), made(kind, 4, seed=6, task=task)[0]
    trace = estimator.trace(inputs)
    assert (
        isinstance(trace, Trace)
        and trace.notes
        and all(torch.is_tensor(value) for value in trace.notes.values())
    )
    if task == "choose":  # a row is as many texts as it has choices
        outputs = estimator.outputs(estimator.examples(inputs))
        assert_close(
            log_softmax(trace.outputs.detach().numpy(), outputs.offsets), outputs.flat, 1e-5
        )
        assert len(trace.tokens) == len(next(iter(trace.notes.values()))) == len(outputs.flat)
        return
    if task in WRITING and not (
        task == "transcribe" and by_alignment(estimator.model_)
    ):  # of the texts that it writes itself
        texts = estimator.predict(inputs).tolist()
        examples = estimator.examples(inputs, texts)
        ended = [
            len(row) + (row[-1:] != ["</s>"]) for row in trace.targets
        ]  # one that is as long as can be has no end
        assert ended == examples.written.lengths.tolist()
    else:
        examples, outputs = (
            estimator.examples(inputs),
            estimator.outputs(estimator.examples(inputs)),
        )
        assert trace.targets is None
        for row, traced in enumerate(trace.outputs.detach()):
            assert_close(
                traced[: len(outputs[row])] if estimator.model_.per_step else traced,
                outputs[row],
                1e-5,
            )
    tokens = isinstance(examples.inputs, Sequences) and examples.inputs.flat.ndim == 1
    assert (trace.tokens is None) != tokens
    if tokens:
        assert [len(row) for row in trace.tokens] == examples.inputs.costs.tolist()
    if kind == "tokens" and rung != "bert":  # which reads words in pieces
        assert [len(row) for row in trace.tokens] == [len(row) for row in inputs]
    first = next(iter(trace.notes.values()))
    assert len(first) == len(inputs)  # the batch stands in dimension 0


@pytest.mark.parametrize("rung", WRITERS)
def test_a_trace_of_running_text(rung):
    model = language_model(rung)
    words = ["the", "ice", "is", "so", "very", "moss"]
    trace = model.trace("the ice is so very moss")
    assert (
        trace.notes and trace.tokens == [["</s>", *words]] and trace.targets == [[*words, "</s>"]]
    )
    numbers = [model.inputs_.number(word) for word in trace.targets[0][:-1]]
    said = trace.outputs[0, torch.arange(len(numbers)), numbers].sum()
    assert float(said.detach()) == pytest.approx(
        model.log_prob("the ice is so very moss", after=""), abs=1e-3
    )


def test_a_trace_of_texts_that_are_given():
    model = fitted("attention", "translate", "sources")
    trace = model.trace(["ice", "moss grass"], ["COLD", "GREEN"])
    assert ["".join(row[:-1]) for row in trace.targets] == ["COLD", "GREEN"]
    assert trace.outputs.shape[:2] == (2, max(map(len, trace.targets)))
    with pytest.raises(Mistake, match="found 1 inputs and 2 targets"):
        model.trace(["ice"], ["COLD", "GREEN"])


@pytest.mark.parametrize("rung", [name for name in RUNGS if not is_network(name)])
def test_what_is_no_network_has_nothing_to_trace(rung):
    task = RUNGS[rung].tasks[-1]
    estimator = fitted(rung, task, {"classify": "texts", "tag": "tokens", "regress": "texts"}[task])
    with pytest.raises(
        Mistake,
        match=f"{rung} is no network, so that there is nothing inside to trace; a network has",
    ):
        estimator.trace(made("texts")[0])
    with pytest.raises(Mistake, match="has not been trained; call fit first"):
        ESTIMATORS[task](rung).trace(["a"])


# Parts that are there already


@pytest.mark.parametrize(
    ("rung", "task", "kind"), [("gru", "classify", "texts"), ("softmax", "tag", "tokens")], ids=str
)
def test_an_estimator_is_put_together_from_its_parts(rung, task, kind):
    model, inputs = fitted(rung, task, kind), made(kind, task=task)[0]
    other = ESTIMATORS[task].assembled(
        model.task_, model.inputs_, model.model_, build=model.build_, options=model.options
    )
    assert (
        other.answers(inputs) == model.answers(inputs) and other.get_params() == model.get_params()
    )
    assert other.notes_ == [] and other.progress_ == [] and other.device_ == "cpu"
