"""Answers out of a text: spans as if all were tried, windows as if there were none, places that fit, what is refused."""

import json
import random
import re

import numpy as np
import pytest
import torch
from test_contract import fitted, made

from wenmai import Answerer, checkpoint, load
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.examples.batches import Batch
from wenmai.data.inputs import questions
from wenmai.data.inputs.questions import Questions, placed
from wenmai.data.text import tokenizers
from wenmai.errors import Mistake
from wenmai.layers.questions import Span
from wenmai.tasks import spans
from wenmai.tasks.answer import Answer, AnswerSpan, token_spans
from wenmai.tasks.references import NOWHERE, References, always_first, references_of
from wenmai.tasks.spans import best_spans

CONTEXT = "Anna lives in Rome. Bob lives in Oslo. Rome is old."


# Spans


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_the_best_spans_are_those_of_all(block, monkeypatch):
    monkeypatch.setattr(spans, "BLOCK", block)
    generator = np.random.default_rng(0)
    for size in (1, 2, 5, 17):
        for longest in (1, 3, 40):
            scores = (
                generator.integers(-3, 4, (size, 2))
                if size == 5
                else generator.normal(0, 3, (size, 2))
            )  # some are equal
            every = [
                (i, j, float(scores[i, 0] + scores[j, 1]))
                for i in range(size)
                for j in range(i, min(size, i + longest))
            ]
            found, total = best_spans(scores, longest, 4)
            assert [tuple(one) for one in found] == sorted(
                every, key=lambda span: (-span[2], span[:2])
            )[:4]
            assert total == pytest.approx(np.log(np.exp([score for *_, score in every]).sum()))
    assert best_spans(np.zeros((0, 2)), 3) == ([], -np.inf)


def test_probabilities_are_shared_out_among_all_that_can_be_said():
    estimator = fitted("transformer", "answer", "questions")
    estimator.task_.impossible = True
    try:
        (answer,) = estimator.answers([("a very old drum", "what?")], best=1000)
        nothing = estimator.task_.nothing(
            estimator.outputs(estimator.examples([("a very old drum", "what?")])), 0
        )
    finally:
        estimator.task_.impossible = False
    assert sum(one["probability"] for one in answer["best"]) + nothing == pytest.approx(1, abs=1e-4)


# Windows


def test_windows_that_fit_are_one_reading_and_others_join_to_one():
    model = fitted("bert", "answer", "questions")
    inputs, rows = (
        model.inputs_,
        [("so it is the drum very ice moss " * 4, "what is cold?"), ("ice", "is it so?")],
    )
    whole = model.outputs(model.examples(rows))
    assert len(inputs.encode(rows).windows()) == 2  # each fits
    narrow = Questions(
        inputs.tokenizer, inputs.reading._replace(window=20, stride=4), inputs.longest
    )
    passages = narrow.encode(rows)
    windows = passages.windows()
    assert len(windows) > 5 and windows.lengths.max() + 4 + 3 <= 20
    first, last = windows.owned()
    judged = np.concatenate([np.arange(a, b) for a, b in zip(first, last)])
    places = np.setdiff1d(np.arange(len(passages.flat)), passages.starts)  # all but "nothing"
    assert np.array_equal(np.sort(judged), places)  # each token in one window
    for window, (a, b) in enumerate(zip(first, last)):  # that in which it has most on both sides
        for place in range(a, b):
            margins = np.minimum(place - windows.starts, windows.stops - 1 - place)[
                windows.example == windows.example[window]
            ]
            assert (
                min(place - windows.starts[window], windows.stops[window] - 1 - place)
                == margins.max()
            )
    model.inputs_ = narrow
    try:
        joined = model.outputs(model.examples(rows))
        batch = model.examples(rows).batch(np.array([1]))
    finally:
        model.inputs_ = inputs
    assert [len(row) for row in joined] == [len(row) for row in whole] and np.isfinite(
        joined.flat
    ).all()
    np.testing.assert_allclose(joined[1], whole[1], atol=1e-5)  # which fits
    assert not np.allclose(joined[0], whole[0], atol=1e-3)
    assert batch.segment[0].tolist() == [0] * (1 + 4 + 1) + [1, 1] and batch.answers.tolist() == [
        [0, 6]
    ]


def test_an_answer_is_learned_in_the_windows_that_hold_it():
    texts = [("a b c d e f g h", "q")]
    inputs = Questions.learn(texts, max_length=8, stride=2, tokenizer="words")
    passages = inputs.encode(texts)
    windows = passages.windows()
    assert [windows.flat[a:b].tolist() for a, b in zip(windows.starts, windows.stops)] == [
        passages.flat[1 + at : 5 + at].tolist() for at in (0, 2, 4)
    ]
    spans = token_spans(passages, [[(4, 7), (8, 9)]])  # c d, e
    assert spans.tolist() == [[[3, 4], [5, 5]]]
    assert windows.spans_inside(spans).tolist() == [
        [[3, 4], [-1, -1]],
        [[1, 2], [3, 3]],
        [[-1, -1], [1, 1]],
    ]
    assert windows.spans_inside(token_spans(passages, [[]])).tolist() == [[[0, 0]]] * 3


def test_a_long_text_is_cut_as_a_short_one(monkeypatch):
    text = "The 1973 oil-crisis began; naïve 文字, İstanbul and " * 40
    for kind in ("words", "characters", "bpe", "wordpiece", "bytes"):
        tokenizer = tokenizers.learn([text], tokenizer=kind)
        whole, places = placed(tokenizer, [text, "a"])
        assert np.array_equal(whole.flat, tokenizer.encode([text, "a"]).flat)
        monkeypatch.setattr(questions, "PIECE", 100)
        parts, again = placed(tokenizer, [text, "a"])
        monkeypatch.undo()
        assert np.array_equal(parts.flat, whole.flat) and np.array_equal(
            parts.offsets, whole.offsets
        ), kind
        assert np.array_equal(again, places) and not any(
            text[start].isspace() for start, end in places[: whole.offsets[1]] if end - start > 1
        )


@pytest.mark.slow
def test_ten_megabytes_are_read_in_windows(monkeypatch):
    """Never more than some windows at once."""
    model = fitted("transformer", "answer", "questions")
    most, whole = [], model.model_.masked

    def spied(batch):
        most.append(batch.inputs.numel())
        return torch.zeros(*batch.answers.shape, 2), batch.answers >= 0

    monkeypatch.setattr(model.model_, "masked", spied)
    long = "so it is the drum " * (10 * 2**20 // 18)
    (answer,) = model.answers([(long, "what is loud?")])
    assert (
        max(most) <= 4096
        and len(most) > 500
        and long[answer["start"] : answer["end"]] == answer["answer"] == "so"
    )
    monkeypatch.setattr(model.model_, "masked", whole)


# Places


def test_an_answer_is_where_it_says():
    model = fitted("attention", "answer", "questions")
    rows = made("questions", task="answer")[0]
    for (context, _), answer in zip(rows, model.answers(rows, best=5)):
        assert all(
            context[one["start"] : one["end"]] == one["answer"] != "" for one in answer["best"]
        )
        assert answer["best"][0] == {
            name: answer[name] for name in ("answer", "start", "end", "probability")
        }


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("Rome", References(("Rome",), (14,))),
        (["Oslo", "in Oslo"], References(("Oslo", "in Oslo"), (33, 30))),
        ({"text": ["Rome"], "answer_start": [39]}, References(("Rome",), (39,))),
        ({"text": "Oslo", "answer_start": 5}, References(("Oslo",), (33,), 1)),
        (["Oslo", "a city"], References(("Oslo", "a city"), (33, NOWHERE))),
        (None, References()),
        ("", References()),
        ([], References()),
        ({"text": [], "answer_start": []}, References()),
    ],
)
def test_answers_are_found_in_their_contexts(given, found):
    assert references_of(given, CONTEXT, "row 1") == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Paris", "row 1: the answer 'Paris' does not stand in its context"),
        (
            {"text": ["Rome"], "answer_start": [3]},
            "row 1: the answer 'Rome' does not stand at 3, where it is said to begin, and 2",
        ),
        (7, "row 1: found '7' as an answer"),
    ],
)
def test_answers_that_are_nowhere_are_named(given, said):
    with pytest.raises(Mistake, match=re.escape(said)):
        references_of(given, CONTEXT, "row 1")


def test_what_most_people_gave_comes_first():
    assert (
        References(("a", "b", "b"), (0, 4, 4)).span == (4, 5)
        and References(("x",), (NOWHERE,)).span is None
    )
    assert References(("a", "b", "b"), (0, 4, 4), starts_given=True).spans(False) == [
        (4, 5),
        (0, 1),
    ]


def test_places_that_nobody_said_are_all_right():
    """And those that were said, where they are always the first."""
    assert references_of("1", "11 or 1", "row 1").starts == (6,)
    text = "1 of 11 cars: 1, 文1文"
    unsaid, said = (
        references_of(given, text, "row 1") for given in ("1", {"text": "1", "answer_start": 0})
    )
    assert unsaid.spans(False) == said.spans(True) == [(0, 1), (14, 15), (18, 19)] and said.spans(
        False
    ) == [(0, 1)]
    later = references_of({"text": "1", "answer_start": 14}, text, "row 1")
    assert (
        always_first([said] * 20)
        and not always_first([said] * 19)
        and not always_first([*[said] * 20, later])
    )
    assert not always_first([unsaid] * 30)


def test_any_of_several_spans_is_right():
    """−log Σ_k p(begin_k) p(end_k), by hand; what a row has fewer of counts nothing."""
    torch.manual_seed(0)
    head = Span()(6, "max", 0.0)
    y, mask = torch.randn(2, 5, 6), torch.tensor([[True] * 5, [True] * 4 + [False]])
    target = torch.tensor([[[1, 2], [4, 4]], [[3, 3], [-1, -1]]])
    (loss,) = head.losses(y, mask, Batch(y, mask, target=target))
    total = 0.0
    for row, right in ((0, [(1, 2), (4, 4)]), (1, [(3, 3)])):
        p = head.outputs(y, mask)[row][mask[row]].softmax(0)
        total -= sum(p[a, 0] * p[b, 1] for a, b in right).log().item()
    assert (
        loss.total.item() == pytest.approx(total, rel=1e-5)
        and loss.count == 2
        and loss.weight == 0.5
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("", "who?"), "row 2: the context is empty"),
        (("a b", "?!"), "row 2: the question '?!' has no words"),
        ("a text", "row 2: found 'a text', expected a context and a question"),
        (("a", "b", ["c", "d"]), "take the task choose"),
    ],
)
def test_rows_that_are_none_are_named(row, said):
    with pytest.raises(Mistake, match=re.escape(said)):
        Answerer("bert", steps=1).fit([(CONTEXT, "who?"), row], ["Anna", ""])
    with pytest.raises(Mistake, match=re.escape(said)):
        fitted("bert", "answer", "questions").answers([(CONTEXT, "who?"), row])


# No answer


def test_the_threshold_is_the_best_of_all():
    chance = random.Random(0)
    task = Answer()
    task.impossible, task.rules = True, "squad2"
    for _ in range(200):
        size = chance.randint(1, 8)
        found = np.empty(size, object)
        found[:] = [
            AnswerSpan(chance.choice(["cat", "dog cat"]), 0, 3, float(chance.randint(-2, 2)), 0.5)
            for _ in range(size)
        ]
        targets = np.empty(size, object)
        targets[:] = [
            References(("cat",), (0,)) if chance.random() < 0.6 else References()
            for _ in range(size)
        ]
        task.threshold, mean = task.best_threshold(found, targets)
        assert task.scores(found, targets)["f1"] == pytest.approx(mean)
        for threshold in (-3, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5):
            task.threshold = threshold
            assert task.scores(found, targets)["f1"] <= mean + 1e-9


def test_questions_without_an_answer_are_learned_and_kept(tmp_path):
    rows = [
        (
            (
                f"{word} is {kind}{' so' * (row // 3)}",
                f"is it {kind}?" if row % 2 else "is it blue?",
            ),
            word if row % 2 else None,
        )
        for row, (word, kind) in enumerate(
            [("ice", "cold"), ("drum", "loud"), ("moss", "green")] * 16
        )
    ]
    inputs, targets = zip(*rows)
    model = Answerer("attention", hidden=16, embed=16, steps=150, dropout=0.0, learning_rate=0.02)
    model.fit(list(inputs), list(targets), valid=(list(inputs), list(targets)))
    assert (
        model.task_.impossible
        and model.task_.rules == "squad2"
        and model.evaluate(inputs, targets)["f1"] > 0.95
    )
    assert model.predict(inputs[:2]).tolist() == ["", "drum"]
    nothing = model.answers(inputs[:1])[0]
    assert (
        nothing["answer"] == ""
        and (nothing["start"], nothing["end"]) == (0, 0)
        and nothing["probability"] > 0.5
    )
    again = load(model.save(tmp_path / "run"))
    assert again.task_.threshold == model.task_.threshold and again.answers(
        inputs
    ) == model.answers(inputs)


# Files


def squad(rows: list[dict], version: str = "1.1") -> str:
    qas = [{"id": str(number), "question": "Where?", **row} for number, row in enumerate(rows)]
    return json.dumps(
        {
            "version": version,
            "data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": qas}]}],
        }
    )


def test_squad_files_of_both_versions(tmp_path):
    answers = [{"text": "Rome", "answer_start": 14}, {"text": "in Rome", "answer_start": 11}]
    impossible = {
        "is_impossible": True,
        "answers": [],
        "plausible_answers": [{"text": "Oslo", "answer_start": 33}],
    }
    (tmp_path / "v2.json").write_text(
        squad([{"answers": answers, "is_impossible": False}, impossible], "v2.0")
    )
    data = open_dataset(str(tmp_path / "v2.json"), TASKS)
    assert data.task.name == "answer" and data.train.inputs == [(CONTEXT, "Where?")] * 2
    assert data.train.targets == [References(("Rome", "in Rome"), (14, 11)), References()]
    (tmp_path / "v1.json").write_text(
        squad([{"answers": [{"text": "Oslo", "answer_start": 30}]}, {"answers": answers}])
    )
    data = open_dataset(str(tmp_path / "v1.json"), TASKS)
    assert data.train.targets[0].starts == (
        33,
    ) and "1 of the answers do not begin where it is said" in str(data.notes)


def test_rows_whose_answer_is_not_there_are_counted_or_left_out(tmp_path):
    rows = "".join(
        f"{CONTEXT},{asked},{answer}\n"
        for asked, answer in (("Where?", "Rome"), ("Where?", "Paris"), ("?", "Oslo"))
    )
    (tmp_path / "rows.csv").write_text("context,question,answer\n" + rows)
    with pytest.raises(
        Mistake, match=r"line 4: the question '\?' has no words|line 3: the answer 'Paris'"
    ) as refused:
        open_dataset(str(tmp_path / "rows.csv"), TASKS)
    assert "2 cannot be read; --skip-bad" in str(refused.value)
    data = open_dataset(str(tmp_path / "rows.csv"), TASKS, skip_bad=True)
    assert len(data.train) == 1 and "left out 2 of the 3 rows" in str(data.notes)


def test_no_context_stands_on_both_sides(tmp_path):
    lines = "".join(
        f"{word} is here,Who {n}?,{word}\n" for word in "abcdefghijkl" for n in range(3)
    )
    (tmp_path / "rows.csv").write_text("context,question,answer\n" + lines)
    data = open_dataset(str(tmp_path / "rows.csv"), TASKS, valid="0.2", test="0.2")
    parts = [
        {context for context, _ in part.inputs} for part in (data.train, data.valid, data.test)
    ]
    assert all(parts) and not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])


# As others compute it


def test_a_checkpoint_scores_as_transformers_does(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    theirs = transformers.BertForQuestionAnswering(config).eval()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "where",
        "does",
        "anna",
        "bob",
        "live",
        "lives",
        "in",
        "rome",
        "oslo",
        ".",
        "?",
        "is",
        "old",
    ]
    words += [f"w{number}" for number in range(40 - len(words))]
    theirs.bert.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    model = Answerer("bert", steps=1, max_length=24, stride=4)
    model.fit([(CONTEXT, "Where does Anna live?")] * 4, ["Rome"] * 4, start=checkpoint(tmp_path))
    assert model.inputs_.reading.window == 24 and model.inputs_.longest == 64
    state = {name.removeprefix("bert."): value for name, value in theirs.state_dict().items()}
    network = model.model_
    fresh = checkpoint(tmp_path)
    network.input.load_state_dict(fresh.model.input.state_dict())
    network.body.load_state_dict(fresh.model.body.state_dict())
    network.head.output.load_state_dict(
        {"weight": state["qa_outputs.weight"], "bias": state["qa_outputs.bias"]}
    )
    model.inputs_.reading = model.inputs_.reading._replace(window=64)
    pair = ("Bob lives in Oslo. Rome is old.", "Where does Bob live?")
    batch = model.examples([pair]).batch(np.array([0]))
    with torch.no_grad():
        outputs = theirs(
            input_ids=batch.inputs, attention_mask=batch.mask.long(), token_type_ids=batch.segment
        )
    expected = torch.stack([outputs.start_logits, outputs.end_logits], -1)[0, batch.answers[0]]
    np.testing.assert_allclose(
        model.outputs(model.examples([pair]))[0], expected.numpy(), atol=1e-5
    )
