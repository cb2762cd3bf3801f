"""An Inspection as strict JSON and back.

    a Message   {"en": …, "zh": …}
    an array    {"array": NAME, "shape": […], "values": […]}; a large one lies in the arrays beside the JSON alone
    a panel     {"panel": "Matrix", …}, its fields by their names

`encoded` goes over an Inspection and leaves to its caller what becomes of an array and of a user's words, so that a page can hold
the same document with its numbers packed (page/packing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs
from wenmai.page import panels
from wenmai.page.strict_json import finite

FORMAT = 1
MOST = 200_000  # numbers of an array that stand in the JSON itself
KINDS = {
    kind.__name__: kind
    for kind in (
        panels.Matrix,
        panels.Tokens,
        panels.Curves,
        panels.Bars,
        panels.Points,
        panels.Table,
        panels.Formula,
        panels.Diagram,
        panels.Beside,
    )
}
INSIDE = {
    "steps": panels.FormulaStep,
    "boxes": panels.Box,
    "arrows": panels.Arrow,
}  # fields that hold parts of a panel


def to_json(inspection: panels.Inspection) -> tuple[dict, dict[str, np.ndarray]]:
    """(the document, every array by its name)"""
    arrays: dict[str, np.ndarray] = {}

    def kept(name: str, array: np.ndarray) -> dict:
        arrays[name] = array
        small = {"values": plain(array)} if array.size <= MOST else {}
        return {"array": name, "shape": list(array.shape), **small}

    document = {"format": FORMAT, **encoded(inspection, kept, lambda text: text)}
    return document, arrays


def from_json(document: dict, arrays: Mapping[str, np.ndarray] | None = None) -> panels.Inspection:
    """The Inspection again: exact with its arrays, and as far as JSON has its numbers without them."""
    if document.get("format") != FORMAT:
        raise Mistake(
            "this inspection has the format {found}, expected {expected}; make it again with wenmai inspect.",
            found=document.get("format"),
            expected=FORMAT,
        )
    parts = {
        name: decoded(value, name, arrays) for name, value in document.items() if name != "format"
    }
    parts["facts"] = [(words, value) for words, value in parts["facts"]]
    return panels.Inspection(**parts)


def plain(array: np.ndarray) -> list:
    """As lists, each number as short as its precision allows: 0.1 of a float32 is 0.1. What is none is null."""
    if array.dtype == np.float32:
        array = array.astype("U32").astype(np.float64)
    return finite(array.tolist())


# There


def encoded(
    value, array: Callable[[str, np.ndarray], object], text: Callable[[str], str], name: str = ""
):
    """`array` makes of (name, array) what JSON can hold, `text` of a user's words what is to be shown."""

    def inner(part, own: str):
        return encoded(part, array, text, f"{name}.{own}" if name else own)

    if isinstance(value, Message):
        return {lang: value.told_in(lang) for lang in ("en", "zh")}
    if isinstance(value, str):
        return text(value)
    if isinstance(value, np.ndarray):
        return array(name, value) if value.ndim else finite(value.item())
    if isinstance(value, np.generic):
        return finite(value.item())
    if isinstance(value, panels.Panel):
        own = {
            field.name: inner(getattr(value, field.name), f"{value.name}.{field.name}")
            for field in fields(value)
        }
        return {"panel": type(value).__name__, **own}
    if is_dataclass(value):
        return {
            field.name: inner(getattr(value, field.name), field.name) for field in fields(value)
        }
    if isinstance(value, Mapping):
        return [
            [text(key), inner(part, str(key))] for key, part in value.items()
        ]  # of a formula: its letters, in order
    if isinstance(value, list | tuple):
        return [inner(part, str(at)) for at, part in enumerate(value)]
    return finite(value)


# And back


def decoded(value, name: str = "", arrays: Mapping[str, np.ndarray] | None = None):
    if isinstance(value, dict) and value.keys() == {"en", "zh"}:
        return Theirs(value["en"], Message("{text}", text=value["zh"]))
    if isinstance(value, dict) and "array" in value:
        return array_of(value, arrays)
    if isinstance(value, dict) and "panel" in value:
        kind = KINDS[value["panel"]]
        return kind(
            **{own: decoded(part, own, arrays) for own, part in value.items() if own != "panel"}
        )
    if isinstance(value, dict):
        parts = {own: decoded(part, own, arrays) for own, part in value.items()}
        if "values" in parts:
            parts["values"] = dict(parts["values"])
        return INSIDE[name](**parts)
    if isinstance(value, list):
        return [decoded(part, name, arrays) for part in value]
    return value


def array_of(value: dict, arrays: Mapping[str, np.ndarray] | None) -> np.ndarray:
    if arrays is not None:
        return arrays[value["array"]]
    if "values" not in value:
        raise Mistake(
            "{name} is too large for JSON; its numbers lie in the .npz beside it.",
            name=value["array"],
        )
    return np.array(value["values"], np.float64).reshape(value["shape"])
