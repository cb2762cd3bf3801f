"""Trace: what a network writes down of its inside when it is asked to. Passing one chooses the written-out formulas."""

from torch import Tensor


class Trace:
    """`trace["lstm.0.forget"]` is a (B, T, H) tensor, `trace["block.1.attention"]` a (B, A, T, S) one; gradients flow. Parts of a
    network write under a name of their own (`encoder.`, `decoder.`), so that no two notes collide."""

    def __init__(self, notes: dict[str, Tensor] | None = None, scope: str = ""):
        self.notes: dict[str, Tensor] = {} if notes is None else notes
        self.scope = scope

    def under(self, name: str) -> "Trace":
        return Trace(self.notes, f"{self.scope}{name}.")

    def note(self, name: str, value: Tensor) -> None:
        if self.scope + name in self.notes:
            raise KeyError(f"{self.scope}{name} is noted twice")
        self.notes[self.scope + name] = value

    def __getitem__(self, name: str) -> Tensor:
        return self.notes[self.scope + name]

    def __contains__(self, name: str) -> bool:
        return self.scope + name in self.notes
