"""Trace: what a network writes down of its inside when it is asked to. Passing one chooses the written-out formulas."""

from __future__ import annotations

from torch import Tensor


class Trace:
    """`trace["lstm.0.forget"]` is a (B, T, H) tensor, `trace["block.1.attention"]` a (B, A, T, S) one; gradients flow."""

    def __init__(self):
        self.kept: dict[str, Tensor] = {}

    def note(self, name: str, value: Tensor) -> None:
        self.kept[name] = value

    def __getitem__(self, name: str) -> Tensor:
        return self.kept[name]

    def __contains__(self, name: str) -> bool:
        return name in self.kept
