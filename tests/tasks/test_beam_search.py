"""Beam search by machine code finds what beam search over `step` finds, of any decoder of the Transformer."""

import numpy as np
import pytest
import torch

from wenmai import Translator
from wenmai.kernels import sharing
from wenmai.tasks import hypotheses, writing
from wenmai.tasks.beam import beam

WORDS = [f"w{n}" for n in range(30)]
DRAW = np.random.default_rng(0)
TEXTS = [" ".join(DRAW.choice(WORDS, DRAW.integers(2, 9))) for _ in range(40)]
SHAPES = [
    {},
    {"norm": "post", "activation": "relu"},
    {"positions": "rotary", "activation": "gelu-tanh"},
    {"positions": "learned", "tie": False, "heads": 2},
]


def trained(**options) -> Translator:
    model = Translator(
        "transformer",
        **{
            "width": 20,
            "layers": 2,
            "steps": 40,
            "learning_rate": 1e-2,
            "tokenizer": "words",
            "validation": 0.0,
        }
        | options,
    )
    return model.fit(TEXTS, [" ".join(reversed(text.split())) for text in TEXTS])


@pytest.mark.each_value
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "how", [(1, 0.0, 1), (1, 1.0, 1), (2, 0.0, 2), (5, 1.0, 1), (5, 0.6, 5), (12, 1.5, 3)], ids=str
)
def test_it_finds_what_the_steps_find(shape, how):
    model = KNOWN.get(str(shape)) or KNOWN.setdefault(str(shape), trained(**shape))
    held, (size, penalty, count) = model.trained(), how
    encoded = model.examples(TEXTS[:12]).inputs
    for most in (model.inputs_.most(encoded.lengths), np.arange(1, 13)):
        by_code = hypotheses.by_machine_code(held, encoded, most, size, penalty, count)
        by_steps = beam(
            writing.stepper(held),
            *writing.begin(held, encoded, int(most.max())),
            most,
            size,
            penalty,
            count,
            held.inputs.target.special.end,
        )
        for one, other in zip(by_code, by_steps):
            assert [found.tokens for found in one] == [found.tokens for found in other]
            np.testing.assert_allclose(
                [found[1:] for found in one], [found[1:] for found in other], rtol=1e-4, atol=1e-5
            )


KNOWN = {}


def test_greedy_is_the_most_probable_token_at_every_step(monkeypatch):
    model = KNOWN.get("{}") or KNOWN.setdefault("{}", trained())
    found = model.answers(TEXTS, beam=1)
    monkeypatch.setattr(hypotheses, "by_machine_code", lambda *_: None)
    expected = model.answers(TEXTS, beam=1)
    assert [one["text"] for one in found] == [one["text"] for one in expected]
    np.testing.assert_allclose(
        [one["log_prob"] for one in found],
        [one["log_prob"] for one in expected],
        rtol=1e-4,
        atol=1e-4,
    )


def test_weights_that_change_are_written_with(monkeypatch):
    model = trained()
    before = model.answers(TEXTS)
    with torch.no_grad():
        model.model_.head.output.bias += torch.randn(
            model.model_.head.width, generator=torch.Generator().manual_seed(0)
        )
    after = model.answers(TEXTS)
    monkeypatch.setattr(hypotheses, "by_machine_code", lambda *_: None)
    assert (
        [one["text"] for one in after]
        == [one["text"] for one in model.answers(TEXTS)]
        != [one["text"] for one in before]
    )


def test_where_there_is_no_machine_code(monkeypatch):
    """A beam of half the vocabulary and more, many texts in 16 bits, other decoders."""
    model, asked = KNOWN.get("{}") or KNOWN.setdefault("{}", trained()), []
    monkeypatch.setattr(type(model.model_), "search", lambda *_: asked.append(1))
    assert model.model_.can_search(40, 5) and not model.model_.can_search(1, 20)
    with torch.autocast("cpu", torch.bfloat16):
        assert model.model_.can_search(6, 5) and not model.model_.can_search(7, 5)
    model.translate(TEXTS[:2], beam=20)
    model.translate(TEXTS, precision="bf16")
    assert not asked


def test_with_others_who_help_the_same_is_written(monkeypatch):
    model = trained(width=256, steps=1)  # so large that there is something to share
    alone = [model.answers([text]) for text in TEXTS[:6]]
    monkeypatch.setattr(sharing, "threads", lambda: 3)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert [model.answers([text]) for text in TEXTS[:6]] == alone
