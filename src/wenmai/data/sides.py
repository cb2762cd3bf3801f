"""Sides: what an encoder–decoder reads, one of the kinds of inputs.py, and the texts that it writes."""

from __future__ import annotations

from wenmai.data.writing import Writing


class Sides:
    def __init__(self, source, target: Writing):
        self.source, self.target = source, target
        self.kind, self.unit = source.kind, target.unit  # of what is read; of what is written
        self.longest = max(source.longest, target.most)

    def encode(self, values):
        return self.source.encode(values)

    def notes(self, values) -> list[str]:
        return self.source.notes(values) + self.target.lines.notes(None)

    def to_json(self) -> dict:
        return {"kind": "sides", "source": self.source.to_json(), "target": self.target.to_json()}
