"""What a network writes down has one name a thing: encoder and decoder apart, gates of every layer and every step."""

from itertools import product

import numpy as np
import pytest
import torch
from test_contract import NETWORKS, WRITING, encoded, made, small
from test_language_model import NETWORKS as LANGUAGE_RUNGS
from test_language_model import TEXT
from test_language_model import trained as language_model
from test_translators import SMALL, batch, built

from wenmai.data.examples.batches import Batch
from wenmai.layers.trace import Trace
from wenmai.models.attention_decoder import attention_translator
from wenmai.models.seq2seq import seq2seq
from wenmai.models.transformer import transformer_translator
from wenmai.tasks.transcripts import by_alignment

GATES = {
    "gru": {"state", "reset", "update", "new"},
    "rnn": {"state"},
    "lstm": {"state", "input", "forget", "update", "output", "cell"},
}

pytestmark = pytest.mark.each_value("traces")


class Names(dict):
    """Notes that remember every name that was written, however often."""

    def __init__(self):
        super().__init__()
        self.written = []

    def __setitem__(self, name, value):
        self.written.append(name)
        super().__setitem__(name, value)


def test_a_name_is_noted_once():
    trace = Trace()
    trace.note("state", torch.zeros(1))
    trace.under("encoder").under("block.0").note("state", torch.ones(1))
    assert (
        set(trace.notes) == {"state", "encoder.block.0.state"}
        and trace.under("encoder")["block.0.state"].item() == 1
    )
    assert "block.0.state" in trace.under("encoder") and "block.0.state" not in trace
    for scope, name in (
        (trace, "state"),
        (trace.under("encoder"), "block.0.state"),
        (trace.under("encoder.block.0"), "state"),
    ):
        with pytest.raises(KeyError, match="is noted twice"):
            scope.note(name, torch.zeros(1))


def more_layers(rung: str, task: str) -> dict:
    known = small(rung, task).get_params()
    return {
        name: value for name, value in {"layers": 2, "bidirectional": True}.items() if name in known
    }


@pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)
def test_every_row_of_the_catalog_writes_each_name_once(rung, task, kind):
    model = small(rung, task, steps=1)
    model.options |= more_layers(rung, task)  # where it has an effect
    model.fit(*made(kind, task=task))
    inputs, _ = made(kind, rows=5, seed=1, task=task)
    examples, names = encoded(model, inputs), Names()
    batch = examples.batch(np.arange(5))
    with torch.no_grad():
        model.model_(batch, Trace(names))
    assert names and len(names.written) == len(set(names.written)) == len(names)
    assert all(
        value.shape[0] == len(batch.inputs) for value in names.values()
    )  # 5, or more where a row is several texts
    sides = {name.split(".")[0] for name in names}
    if task == "transcribe" and by_alignment(model.model_):
        assert not sides & {"encoder", "decoder"}
    elif task in WRITING:
        assert "decoder" in sides and sides <= {"encoder", "decoder"}
        assert task != "translate" or sides == {"encoder", "decoder"}
    else:
        assert not sides & {"encoder", "decoder"}
    assert set(model.trace(inputs).notes) == set(names)


@pytest.mark.parametrize("rung", LANGUAGE_RUNGS)
def test_so_does_running_text(rung):
    trace = language_model(rung, layers=2).trace(TEXT)
    assert trace.notes and not any(name.startswith(("encoder", "decoder")) for name in trace.notes)


@pytest.mark.each_value
@pytest.mark.parametrize("rung", LANGUAGE_RUNGS)
def test_and_its_formulas_come_to_the_same(rung):
    model = language_model(rung, layers=2)
    tokens = torch.from_numpy(
        model.inputs_.prompt("the cat sat on the log\na dog saw").astype(np.int64)
    )[None]
    batch = Batch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    with torch.no_grad():
        torch.testing.assert_close(
            model.model_(batch, Trace()), model.model_(batch), atol=1e-5, rtol=1e-5
        )


def test_what_passes_can_be_looked_at_and_changed():
    seen = []

    def reach(name, value, instead):
        seen.append(name)
        return value * 2 if name == "encoder.block.0.heads" else value

    trace = Trace(reach=reach)
    assert trace.under("encoder").passing("block.0.heads", torch.ones(1)).item() == 2
    assert trace.under("encoder").apart().passing("units", torch.ones(1)).item() == 1
    assert seen == ["encoder.block.0.heads", "encoder.units"] and not trace.notes
    assert Trace().passing("units", torch.ones(1)).item() == 1


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize(("query", "feeding"), product(("after", "before"), (False, True)))
@pytest.mark.parametrize(("cell", "layers"), product(GATES, (1, 2)))
def test_attention_notes_its_gates_whatever_a_step_waits_for(cell, layers, query, feeding, copy):
    options = SMALL | {
        "cell": cell,
        "layers": layers,
        "query": query,
        "feeding": feeding,
        "copy": copy,
    }
    model, whole, trace = built(attention_translator, options), batch(), Trace()
    whole.copies = whole.inputs if copy else None
    model(whole, trace)
    own = {f"decoder.{cell}.{level}.{gate}" for level, gate in product(range(layers), GATES[cell])}
    ways = {
        f"encoder.{cell}.{level}{way}.{gate}"
        for level, way, gate in product(range(layers), ("", ".back"), GATES[cell])
    }
    assert set(trace.notes) == own | ways | {"decoder.attention"}
    assert all(trace[name].shape == (3, 4, 8) for name in own)  # a step a token that is written
    assert trace["decoder.attention"].shape == (3, 1, 4, 5)
    torch.testing.assert_close(trace["decoder.attention"].sum(-1), torch.ones(3, 1, 4))


@pytest.mark.parametrize("query", ["after", "before"])
def test_gates_step_by_step_are_those_of_the_whole(query):
    """Fed with nothing but 0, the steps one by one come to what all at once come to."""
    options = SMALL | {"query": query, "layers": 2}
    model, fed = (
        built(attention_translator, options | {"feeding": feeding}) for feeding in (False, True)
    )
    for name, weight in fed.named_parameters():
        source = model.state_dict()[name]
        with torch.no_grad():
            weight.zero_()
            weight[tuple(slice(size) for size in source.shape)] = source
    if query == "before":  # the context stands behind what is fed: bring its weights there
        with torch.no_grad():
            wide, narrow = (
                fed.decoder.cells.layers[0][0].fused.weight_ih_l0,
                model.decoder.cells.layers[0][0].fused.weight_ih_l0,
            )
            wide.zero_()
            wide[:, :6], wide[:, 14:] = narrow[:, :6], narrow[:, 6:]
    one, other = Trace(), Trace()
    with torch.no_grad():
        torch.testing.assert_close(model(batch(), one), fed(batch(), other), atol=1e-5, rtol=1e-5)
    assert set(one.notes) == set(other.notes)
    for name, value in one.notes.items():
        torch.testing.assert_close(other[name], value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("builder", "options", "names"),
    [
        (
            seq2seq,
            SMALL | {"cell": "rnn", "bidirectional": False},
            {"encoder.rnn.0.state", "decoder.rnn.0.state"},
        ),
        (
            attention_translator,
            SMALL | {"cell": "rnn", "encoder": "plain", "layers": 2},
            {
                "encoder.tokenwise.0",
                "encoder.tokenwise.1",
                "decoder.rnn.0.state",
                "decoder.rnn.1.state",
                "decoder.attention",
            },
        ),
        (
            transformer_translator,
            {"width": 8, "heads": 2, "layers": 2},
            {
                f"{side}.block.{level}.attention"
                for side, level in product(("encoder", "decoder"), range(2))
            }
            | {f"decoder.block.{level}.memory" for level in range(2)},
        ),
    ],
    ids=["seq2seq", "attention", "transformer"],
)
def test_both_sides_have_names_of_their_own(builder, options, names):
    trace = Trace()
    built(builder, options)(batch(), trace)
    assert set(trace.notes) == names
