"""Panels as JSON, as arrays, packed into a page, as pictures: each holds the numbers it should."""

import base64
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import fields

import made_up
import numpy as np
import pytest
from PIL import Image

from wenmai.errors import Mistake
from wenmai.page import packing, panel_pictures
from wenmai.page.packing import Packing, restored
from wenmai.page.panel_diagram import mermaid
from wenmai.page.panels import Beside, Inspection
from wenmai.page.panels_json import MOST, from_json, to_json
from wenmai.page.renderer import data, inline
from wenmai.page.strict_json import strict_json

SVG = "{http://www.w3.org/2000/svg}"


def alike(first, second) -> bool:
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=True)
    if hasattr(first, "told_in"):
        return all(first.told_in(lang) == second.told_in(lang) for lang in ("en", "zh"))
    if isinstance(first, dict):
        return list(first) == list(second) and all(alike(first[key], second[key]) for key in first)
    if hasattr(first, "__dataclass_fields__"):
        return type(first) is type(second) and all(
            alike(getattr(first, f.name), getattr(second, f.name)) for f in fields(first)
        )
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    return first == second or (first != first and second is None)  # NaN in a table is null


def test_json_and_back_is_the_same_inspection():
    inspection = made_up.inspection()
    document, arrays = to_json(inspection)
    np.savez(file := io.BytesIO(), **arrays)
    file.seek(0)
    again = from_json(json.loads(strict_json(document)), np.load(file))
    assert alike(inspection, again)
    assert to_json(again)[0] == document


def test_json_alone_has_the_numbers():
    inspection = made_up.inspection()
    again = from_json(json.loads(strict_json(to_json(inspection)[0])))
    for before, after in zip(inspection.panels, again.panels):
        if hasattr(before, "values"):
            assert np.array_equal(
                before.values, np.asarray(after.values, before.values.dtype), equal_nan=True
            )


def test_many_numbers_stand_beside_the_json():
    panel = made_up.gates()
    panel.values = np.zeros((MOST // 6 + 1, 6), np.float32)
    document, arrays = to_json(Inspection(panel.title, [], [panel]))
    assert "values" not in document["panels"][0]["values"]
    assert arrays["panels.0.gates.values"].shape == panel.values.shape
    with pytest.raises(Mistake, match="too large for JSON"):
        from_json(document)


def test_another_format_is_refused():
    with pytest.raises(Mistake, match="has the format 7"):
        from_json({"format": 7})


@pytest.mark.parametrize("shape", [(3,), (5000,), (40, 300), (2, 3, 70, 80)])
def test_few_numbers_are_packed_as_they_are(shape):
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    pack = Packing()
    document = pack("name", values)
    pack.finished()
    assert np.array_equal(restored(document).astype(np.float32), values)


@pytest.mark.parametrize("signed", [False, True])
def test_many_numbers_are_packed_in_8_bits(monkeypatch, signed):
    monkeypatch.setattr(packing, "MANY", 1000)
    monkeypatch.setattr(packing, "FEW", 100)
    values = made_up.weights(2, 3, 60, 60) * (
        np.sign(np.random.default_rng(1).normal(size=(2, 3, 60, 60))) if signed else 1
    )
    pack = Packing()
    document = pack("name", values.astype(np.float32))
    pack.finished()
    top = np.abs(values).max((2, 3), keepdims=True)
    step = 1 / document["levels"]
    assert document["kind"] == ("i1" if signed else "u1") and document["levels"] == (
        127 if signed else 255
    )
    # between two levels of a root: (q + ½)² − q² of them at the most
    bound = top * (np.sqrt(np.abs(values) / top) * step + step**2 / 4) * 1.001
    assert (np.abs(restored(document) - values) <= bound).all()


def test_where_there_is_no_room_there_are_fewer_levels(monkeypatch):
    monkeypatch.setattr(packing, "MANY", 1000)
    values = made_up.weights(4, 100, 100)
    large, small = Packing(), Packing(room=20_000)
    documents = [pack("name", values) for pack in (large, small)]
    large.finished(), small.finished()
    sizes = [sum(map(len, document["slices"])) for document in documents]
    assert documents[0]["levels"] == 255 > documents[1]["levels"] and sizes[1] < sizes[0]
    assert sizes[1] * 3 / 4 <= 20_000 or documents[1]["levels"] == packing.STEPS[-1]


def test_no_tag_begins_in_the_data_of_a_page():
    text = inline(made_up.inspection())
    assert "<" not in text and "alert(1)" in text
    assert json.loads(text) == json.loads(strict_json(data(made_up.inspection())))


# Pictures


def drawn(panel) -> ET.Element:
    return ET.fromstring(panel_pictures.picture(panel, "name", ("svg",))["name.en.svg"])


def images(svg) -> list[np.ndarray]:
    found = [one.get("href").partition("base64,")[2] for one in svg.iter(f"{SVG}image")]
    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(one))).convert("RGBA"), np.int64)
        for one in found
    ]


def texts(svg) -> str:
    return "\n".join("".join(one.itertext()) for one in svg.iter(f"{SVG}text"))


@pytest.mark.parametrize("make", [made_up.gates, made_up.patches])
def test_a_heat_map_can_be_read_back_from_its_svg(make):
    panel = make()
    image = next(one for one in images(drawn(panel)) if one.shape[:2] == panel.values.shape)
    top = (
        1.0 if panel.scale == "share" and panel.values.max() >= 0.5 else np.abs(panel.values).max()
    )
    opacity = image[..., 3]
    assert np.abs(opacity - np.abs(panel.values) / top * 255).max() <= 1.0
    seen = opacity > 30
    assert (
        (image[..., 0] > image[..., 2])[seen] == (panel.values > 0)[seen]
    ).all()  # red above 0, blue below


def test_all_heads_are_in_one_picture():
    panel = made_up.attention()
    layers, heads, rows, columns = panel.values.shape
    (image,) = images(drawn(panel))
    gap = 1
    for layer in range(layers):
        for head in range(heads):
            part = image[layer * (rows + gap) :, head * (columns + gap) :][:rows, :columns, 3]
            expected = panel.values[layer, head] / panel.values[layer, head].max() * 255
            assert np.abs(part - expected).max() <= 1.0


def test_bars_and_tokens_and_tables_say_their_numbers():
    for panel, expected in (
        (made_up.bars(), ("0.500", "0.250", "-0.125", "0.062", "pos → neg", "网球", "change of p")),
        (made_up.tokens(), [f"{x:.3f}" for x in made_up.tokens().values.ravel()]),
        (made_up.table(), ("0.988", "-1.500", "–", "cosine")),
        (made_up.formula(), ("s = q·k / √D", "s = 0.125", "layers/attention.py:75")),
        (made_up.diagram(), ("h₁", "(B, 2) · 18")),
    ):
        said = texts(drawn(panel))
        assert all(word in said for word in expected), panel.name


def test_curves_have_their_points():
    panel = made_up.by_token()
    svg = drawn(panel)
    for at, values in enumerate(panel.values):
        own = [
            one
            for one in svg.iter(f"{SVG}use")
            if panel_pictures.SERIES[at] in one.get("style", "")
        ]
        heights = np.array([float(one.get("y")) for one in own])[
            : len(values)
        ]  # and one in the legend
        assert len(own) == len(values) + 1
        slope, offset = np.polyfit(values, heights, 1)
        assert (
            slope < 0 and np.abs(slope * values + offset - heights).max() < 1e-3
        )  # a line: the picture is to scale


@pytest.mark.parametrize("panel", made_up.inspection().panels, ids=lambda panel: panel.name)
def test_what_would_do_harm_is_text_in_every_picture(panel):
    for name, one in panel_pictures.named([panel]):
        for file, text in panel_pictures.picture(one, name).items():
            if file.endswith(".svg"):
                root = ET.fromstring(text)
                assert not list(root.iter(f"{SVG}script")) and "\x1b" not in text
            else:
                assert text.startswith(b"\x89PNG")


def test_names_of_files_are_only_names():
    panels = [
        made_up.gates("../../etc/passwd"),
        made_up.gates("A b"),
        made_up.gates("a-b"),
        made_up.gates(".."),
    ]
    names = [name for name, _ in panel_pictures.named(panels)]
    assert len({name.lower() for name in names}) == 4 and all(
        re.fullmatch(r"[\w-][\w.-]*", name) for name in names
    )


def test_of_many_checkpoints_the_first_and_the_last_are_drawn():
    each = [[made_up.gates()] for _ in range(9)]
    panel = Beside(
        "steps",
        made_up.gates().title,
        made_up.gates().caption,
        [str(at) for at in range(9)],
        each,
        True,
    )
    assert [name for name, _ in panel_pictures.named([panel])] == ["steps-1-gates", "steps-9-gates"]


def test_a_png_says_where_no_chinese_font_is_found(monkeypatch):
    said = []
    monkeypatch.setattr(panel_pictures, "chinese_fonts", list)
    with panel_pictures._style():
        figure = panel_pictures.drawn(made_up.by_token(), "en")
        monkeypatch.setattr(figure, "text", lambda x, y, words, **how: said.append(words))
        panel_pictures.png(figure)
        assert said and said[0].startswith("No Chinese font was found here")
        monkeypatch.setattr(panel_pictures, "chinese_fonts", lambda: ["Noto Sans CJK SC"])
        panel_pictures.png(figure)
    assert len(said) == 1


def test_mermaid_has_every_box_and_arrow():
    panel = made_up.diagram()
    text = mermaid(panel)
    assert text.startswith("flowchart BT\n") and text.count("-->") == len(panel.arrows)
    assert "(B, 2) · 18" in text and "<script" not in text and '-->|"U"|' in text
