"""Diagrams over the catalog: the boxes of every rung × task are those of its modules, and their counts those of its weights."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch
from torch import nn

import wenmai
from wenmai.catalog import RUNGS, TASKS
from wenmai.inspection import structure
from wenmai.layers.body import Body
from wenmai.layers.recurrent import Recurrent
from wenmai.layers.transformer import Transformer
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.models.network import Network
from wenmai.page.panel_diagram import mermaid

ROWS = [(rung.name, task) for rung in RUNGS.values() for task in TASKS if rung.does(task)]
COUNT = re.compile(r"^([\d,]+) weights?$", re.M)


def counted(diagram) -> int:
    return sum(
        int(found.replace(",", "")) for box in diagram.boxes for found in COUNT.findall(box.detail)
    )


@pytest.fixture
def drawn(monkeypatch):
    """drawn(rung, task, **options) → (the diagram, the model it was drawn from)"""
    models, whole = [], structure.diagram

    def diagram(rung, model, inputs):
        models.append(model)
        return whole(rung, model, inputs)

    monkeypatch.setattr(structure, "diagram", diagram)

    def draw(rung: str, task: str, **options):
        return structure.of_rung(rung, task, options), models[-1]

    return draw


@pytest.mark.parametrize(("rung", "task"), ROWS, ids=str)
def test_every_weight_is_counted_once(drawn, rung, task):
    diagram, model = drawn(rung, task)
    names = [box.name for box in diagram.boxes]
    assert len(set(names)) == len(names)
    assert all({arrow.start, arrow.end} <= set(names) for arrow in diagram.arrows)
    assert {"input", "output"} <= {box.kind for box in diagram.boxes}
    if isinstance(model, nn.Module):
        assert counted(diagram) == model.parameters_count() > 0
    linked = {arrow.start for arrow in diagram.arrows}
    ends = {box.name for box in diagram.boxes if box.kind == "output"}
    lonely = {
        box.name
        for box in diagram.boxes
        if box.name not in linked | ends and box.kind in ("input", "state")
    }
    assert not lonely, "what is read goes somewhere"
    assert mermaid(diagram).count("-->") == len(diagram.arrows)


@pytest.mark.parametrize(("rung", "task"), ROWS, ids=str)
def test_no_two_boxes_lie_on_one_another(drawn, rung, task):
    boxes = drawn(rung, task)[0].boxes
    for at, a in enumerate(boxes):
        for b in boxes[at + 1 :]:
            apart = abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.13
            assert apart or abs(a.y - b.y) > 1.2, (a, b)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("both", [False, True])
def test_recurrent_layers_are_unrolled_over_time(drawn, layers, both):
    diagram, model = drawn("gru", "classify", layers=layers, bidirectional=both)
    (body,) = (module for module in model.modules() if isinstance(module, Recurrent))
    assert len(body.layers) == layers and body.ways == 1 + both
    states = [box for box in diagram.boxes if box.kind == "state"]
    assert len(states) == 3 * layers * (body.ways + both)  # h₁, h₂, hₙ, and both joined
    side = [
        arrow
        for arrow in diagram.arrows
        if place(diagram, arrow.start).y == place(diagram, arrow.end).y
    ]
    ways = [np.sign(place(diagram, arrow.end).x - place(diagram, arrow.start).x) for arrow in side]
    assert ways.count(1) == 3 * layers and ways.count(-1) == 3 * layers * both
    assert sum(box.label.startswith("gru") for box in diagram.boxes) == layers * body.ways


def place(diagram, name):
    return next(box for box in diagram.boxes if box.name == name)


@pytest.mark.parametrize("layers", [1, 2, 9])
def test_the_first_block_is_opened_and_the_others_are_not(drawn, layers):
    diagram, model = drawn("bert", "classify", layers=layers)
    (body,) = (module for module in model.modules() if isinstance(module, Transformer))
    labels = [box.label for box in diagram.boxes]
    assert (
        labels.count("Self-attention") == 1
        and labels.count("Add & norm") == 2
        and len(body.blocks) == layers
    )
    closed = [label for label in labels if "like the first" in label]
    assert (
        closed
        == {1: [], 2: ["Block 2, like the first"], 9: ["Blocks 2 to 9, like the first"]}[layers]
    )


@pytest.mark.parametrize("rung", ["seq2seq", "attention", "transformer"])
def test_what_was_read_goes_over_to_what_writes(drawn, rung):
    diagram, model = drawn(rung, "translate")
    assert isinstance(model, EncoderDecoder)
    memory = next(box for box in diagram.boxes if box.detail == "what was read")
    over = [place(diagram, arrow.end) for arrow in diagram.arrows if arrow.start == memory.name]
    assert over and all(box.x > memory.x + 1 for box in over)
    assert any("Cₜ" in box.label for box in over) == (rung != "seq2seq")


def test_a_rung_that_nobody_knows_is_drawn_part_by_part():
    """As CONTRIBUTING has it: a new rung is one file and one row."""

    class Odd(Body):
        def __init__(self):
            super().__init__()
            self.mixing, self.scale, self.width = nn.Linear(8, 8), nn.Parameter(torch.ones(8)), 8

    class Input(nn.Module):
        width = 8

        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 8)

    head = nn.Linear(8, 2)
    head.has_probabilities, head.per_step, head.says_next, head.pooling = True, False, False, "mean"
    model = Network(Input(), Odd(), head)
    kind = type("Inputs", (), {"kind": "tokens"})()
    diagram = structure.diagram("odd", model, kind)
    assert counted(diagram) == model.parameters_count()


@pytest.mark.parametrize("rung", ["softmax", "perceptron", "ngram", "gru"])
def test_a_run_draws_itself(rung):
    texts, labels = ["a b c", "c d e", "a b d", "e d c"] * 6, ["x", "y"] * 12
    options = {"epochs": 1} if rung != "ngram" else {}
    estimator = wenmai.Classifier(rung, **options).fit(texts, labels)
    diagram = structure.of_run(estimator)
    found = counted(diagram) or sum(
        int(box.detail.partition(" n-grams")[0].replace(",", ""))
        for box in diagram.boxes
        if " n-grams" in box.detail
    )
    assert found == estimator.model_.parameters_count()


# The command


def test_draw_writes_svg_png_and_mermaid(wenmai_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gru.svg", "gru.png", "gru.mmd"):
        ran = wenmai_cli("draw", "gru", "--set", "bidirectional=true", "--out", name)
        assert ran.status == 0 and "written to" in ran.err
    svg = ET.fromstring((tmp_path / "gru.svg").read_text("utf-8"))
    said = "\n".join(
        "".join(one.itertext()) for one in svg.iter("{http://www.w3.org/2000/svg}text")
    )
    assert all(
        words in said for words in ("gru →", "gru ←", "softmax", "Embedding", "74,496 weights")
    )
    assert (tmp_path / "gru.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "gru.mmd").read_text("utf-8").startswith("flowchart BT")


def test_draw_shows_text_and_json_and_takes_data(wenmai_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = wenmai_cli("draw", "lstm")
    assert ran.status == 0 and "99,328 weights" in ran.out and "Drawn for example rows" in ran.out
    ran = wenmai_cli("draw", "lstm", "--format", "svg")
    assert ran.out.startswith("<svg ")
    (tmp_path / "reviews.csv").write_text(
        "text,label\n" + "a truly good film,pos\nbad and dull,neg\n" * 10
    )
    ran = wenmai_cli("draw", "lstm", "--data", "reviews.csv", "--json")
    boxes = json.loads(ran.out.splitlines()[-1])["boxes"]
    assert any(box["detail"].startswith("21 × 64") for box in boxes)  # letters, and special tokens


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grru"], 'unknown rung "grru"; did you mean gru?'),
        (["gru", "--task", "translate"], "the rung gru does not do translate"),
        (["gru", "--task", "tranlate"], "unknown task"),
        (["gru", "--format", "jpg"], 'unknown format "jpg"'),
        (["gru", "--out", "gru.jpg"], "ends neither in .svg"),
        (["gru", "--format", "png"], "a picture is no text"),
        (["gru", "--set", "hiden=3"], "hidden"),
    ],
)
def test_draw_answers_mistakes(wenmai_cli, arguments, said):
    ran = wenmai_cli("draw", *arguments)
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1


def test_draw_takes_a_run_and_nothing_that_it_has_settled(wenmai_cli, tmp_path):
    wenmai.Classifier("softmax", epochs=1).fit(["a b", "c d"] * 6, ["x", "y"] * 6).save(
        tmp_path / "run"
    )
    ran = wenmai_cli("draw", tmp_path / "run")
    assert ran.status == 0 and "z = Wx + b" in ran.out and "weights" in ran.out
    with_data = wenmai_cli("draw", tmp_path / "run", "--set", "hidden=3")
    assert with_data.status == 2 and "leave --set out" in with_data.err
