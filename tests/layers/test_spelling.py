"""Spelling: a vector from the letters of a token; padding says nothing, capitals and endings do."""

import numpy as np
import pytest
import torch

from wenmai.data.examples.rows import LETTERS, Examples
from wenmai.data.inputs.tokens import Tokens
from wenmai.data.text.tokenizers import OWN
from wenmai.layers.spelling import Spelling

each_kind = pytest.mark.parametrize("kind", ["cnn", "lstm"])
WORDS = ["Anna", "anna", "ANNA", "saw", "a", "Hannah", "running", "runner"]


def spelling(kind, alphabet=20) -> Spelling:
    torch.manual_seed(0)
    return Spelling(alphabet, kind, 0.0).eval()


@each_kind
def test_the_padding_of_letters_changes_nothing(kind):
    layer = spelling(kind)
    words = [[3, 4, 5], [6], [7, 8, 9, 10, 11, 12], [13, 14]]
    alone = torch.cat([layer(torch.tensor([word])) for word in words])
    for room in (6, 7, 15):
        together = layer(torch.tensor([word + [0] * (room - len(word)) for word in words]))
        torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)
    assert (
        alone.shape == (4, layer.width)
        and torch.isfinite(layer(torch.zeros(2, 3, dtype=torch.int64))).all()
    )


@each_kind
def test_every_letter_and_its_place_say_something(kind):
    layer = spelling(kind)
    first, *others = layer(
        torch.tensor([[3, 4, 5, 6], [4, 3, 5, 6], [3, 4, 6, 5], [3, 4, 5, 7], [3, 4, 5, 0]])
    )
    for other in others:
        assert (first - other).abs().max() > 1e-3
    first.sum().backward()
    assert layer.table.weight.grad[3:7].any(1).all() and not layer.table.weight.grad[0].any()


@each_kind
def test_capitals_and_endings_are_seen_and_unknown_letters_read(kind):
    inputs = Tokens.learn([WORDS], "random", 512, kind)
    layer = spelling(kind, len(inputs.alphabet.tokens))
    batch = Examples(inputs.encode([[*WORDS, "☃☃", "ж", "annaж"]])).batch(np.arange(1))
    assert len({tuple(word) for word in batch.letters.tolist()}) == len(batch.letters)
    found = dict(zip([*WORDS, "☃☃", "ж", "annaж"], layer(batch.letters)[batch.form][0]))
    assert (
        batch.inputs[0, 0] == batch.inputs[0, 1] == batch.inputs[0, 2] != OWN.unknown
    )  # one word, however it is written
    assert (found["Anna"] - found["anna"]).abs().max() > 1e-3 and (
        found["ANNA"] - found["Anna"]
    ).abs().max() > 1e-3
    assert all(torch.isfinite(vector).all() for vector in found.values())
    assert set(batch.letters[batch.form[0, -3]].tolist()) - {0} == {
        OWN.unknown
    }  # letters that training never saw are one letter


@each_kind
def test_a_long_token_is_read_by_its_beginning(kind):
    inputs = Tokens.learn([WORDS], "random", 512, kind)
    layer = spelling(kind, len(inputs.alphabet.tokens))
    long = "runner" * 10
    batch = Examples(inputs.encode([[long, long[:LETTERS], "run"]])).batch(np.arange(1))
    assert batch.letters.shape[1] == LETTERS
    vectors = layer(batch.letters)[batch.form][0]
    assert torch.equal(vectors[0], vectors[1]) and not torch.equal(vectors[0], vectors[2])
