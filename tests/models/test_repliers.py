"""A context and a question that are read apart: how both are laid out, and sentences that change the question, step by step."""

import numpy as np
import pytest
import torch

from wenmai import Mistake, Replier
from wenmai.data.inputs.stories import LONG, Stories
from wenmai.layers.query_reduction import ALMOST, QueryReduction
from wenmai.models.repliers import SHORT, parted, sentences
from wenmai.tasks.measuring.baselines import naive_bayes

ROWS = [("Ada went to Rome. Bob left. 文在家。", "Where is Ada?"), ("Bob left.", "Who left?")]
ANSWERS = ["Rome", "Bob"]


def test_a_question_stands_first_and_every_sentence_has_its_number():
    inputs = Stories.learn(ROWS, ANSWERS, tokenizer="words")
    rows, names = inputs.encode(ROWS), inputs.source.tokenizer.tokens
    assert [names[number] for number in rows[1]][1:] == [
        "who",
        "left",
        "?",
        "<eos>",
        "bob",
        "left",
        ".",
        "<eos>",
    ]
    assert rows.segment[rows.starts[1] :].tolist() == [0] * 5 + [1] * 4
    assert rows.segment[: rows.stops[0]].max() == 3 and [
        word for word in inputs.spelled(ROWS)[1] if word
    ] == ["Who", "left", "?", "Bob", "left", "."]
    again = Stories.from_json(inputs.to_json()).encode(ROWS)
    assert np.array_equal(again.flat, rows.flat) and np.array_equal(again.segment, rows.segment)


def test_what_is_too_long_is_cut_and_long_sentences_are_several():
    inputs = Stories.learn(ROWS, ANSWERS, tokenizer="words", max_length=100)
    rows = inputs.encode([("left " * 300, "who " * 300)])
    assert (
        len(rows[0]) == 100
        and inputs.source.cut(rows) == 1
        and (rows.segment == 0).sum() == 1 + 49 + 1
    )
    assert np.bincount(rows.segment)[1] == LONG
    with pytest.raises(Mistake, match="tokenizer"):
        Stories.learn(ROWS, ANSWERS, tokenizer="wrods")


@pytest.mark.parametrize("both", [False, True])
def test_all_steps_at_once_are_those_one_after_another(both):
    torch.manual_seed(0)
    layer, x, q = QueryReduction(6, both), torch.randn(3, 5, 6), torch.randn(3, 5, 6)
    mask = torch.arange(5) < torch.tensor([[5], [3], [1]])
    z, r = layer.gates(x * q).sigmoid().unbind(-1)
    c, z = (
        r.unsqueeze(-1) * layer.candidate(torch.cat([x, q], -1)).tanh(),
        (z * mask).clamp(max=ALMOST),
    )
    expected = torch.zeros(3, 5, 6)
    for order in [range(5), range(4, -1, -1)][: 1 + both]:
        h = torch.zeros(3, 6)
        for t in order:
            h = z[:, t, None] * c[:, t] + (1 - z[:, t, None]) * h
            expected[:, t] += h
    torch.testing.assert_close(layer(x, q, mask), expected, atol=1e-5, rtol=1e-4)


def test_words_are_weighed_by_where_they_stand():
    x = torch.ones(1, 6, 4)
    mask, segment = torch.tensor([[True] * 5 + [False]]), torch.tensor([[0, 1, 1, 2, 2, 0]])
    sums, real = sentences(x, mask, segment)
    part = torch.arange(1, 5) / 4
    one = [(1 - share) - part * (1 - 2 * share) for share in (1 / SHORT, 2 / SHORT)]
    torch.testing.assert_close(sums[0], torch.stack([one[0], one[0] + one[1], one[0] + one[1]]))
    assert real.tolist() == [[True] * 3]


def test_two_texts_are_parted_and_joined_again():
    x = torch.arange(14.0).view(2, 7, 1)
    mask = torch.tensor([[True] * 7, [True] * 5 + [False] * 2])
    segment = torch.tensor([[0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 1, 0, 0]])
    asked, asked_mask, told, told_mask, back = parted(x, mask, segment)
    assert asked[asked_mask].flatten().tolist() == [0, 1, 7, 8, 9, 10]
    assert told[told_mask].flatten().tolist() == [2, 3, 4, 5, 6, 11]
    joined = torch.cat([asked, told], 1).take_along_dim(back.unsqueeze(-1), 1)
    assert torch.equal(joined[mask], x[mask])


def test_words_that_no_vocabulary_holds_are_copied_as_they_stand_there():
    model = Replier("attention", steps=2, hidden=8, copy=True, tokenizer="words").fit(
        ROWS * 4, ANSWERS * 4
    )
    examples = model.examples([("Zoë went home.", "Who went home?")])
    (own,) = examples.inputs.words
    assert "Zoë" in own and list(own.values()) == [
        model.inputs_.target.vocabulary + n for n in range(len(own))
    ]
    assert examples.inputs.beside["segment"].max() == 1


def test_a_bag_of_words_tells_question_and_context_apart():
    inputs, answers = [("a b", "c"), ("c b", "a"), ("a d", "c"), ("c d", "a")], ["x", "y", "x", "y"]
    assert naive_bayes(inputs, answers)([("a e", "c"), ("c e", "a"), ("", "")]) == ["x", "y", "x"]
