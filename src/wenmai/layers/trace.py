"""Trace: what a network writes down of its inside when it is asked to. Passing one chooses the written-out formulas.

Some values also pass through a trace on their way (`passing`): the contexts of heads, the units of a layer, gates before their
sigmoid. Who gave the trace a `reach` sees them there, and may give others back: so parts of a network are switched off without a
second copy of its formulas (inspection/switches.py)."""

from collections.abc import Callable

from torch import Tensor

Reach = Callable[
    [str, Tensor, Tensor | None], Tensor
]  # (name, value, what stands there instead of a layer that is left out)


class Trace:
    """`trace["lstm.0.forget"]` is a (B, T, H) tensor, `trace["block.1.attention"]` a (B, A, T, S) one; gradients flow. Parts of a
    network write under a name of their own (`encoder.`, `decoder.`), so that no two notes collide."""

    def __init__(
        self, notes: dict[str, Tensor] | None = None, scope: str = "", reach: Reach | None = None
    ):
        self.notes: dict[str, Tensor] = {} if notes is None else notes
        self.scope, self.reach = scope, reach

    def under(self, name: str) -> "Trace":
        return Trace(self.notes, f"{self.scope}{name}.", self.reach)

    def apart(self) -> "Trace":
        """With notes of its own, where a step notes what all steps have; what passes is seen as before."""
        return Trace(reach=self.passing)

    def passing(self, name: str, value: Tensor, instead: Tensor | None = None) -> Tensor:
        """The value, or what the one who looks makes of it; `instead`: what is left where all of it is left out, if not 0."""
        return value if self.reach is None else self.reach(self.scope + name, value, instead)

    def note(self, name: str, value: Tensor) -> None:
        if self.scope + name in self.notes:
            raise KeyError(f"{self.scope}{name} is noted twice")
        self.notes[self.scope + name] = value

    def __getitem__(self, name: str) -> Tensor:
        return self.notes[self.scope + name]

    def __contains__(self, name: str) -> bool:
        return self.scope + name in self.notes
