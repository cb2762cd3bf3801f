"""Progress: what training yields, whoever trains. The command line draws it, the report plots it, a test takes three."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Progress:
    step: int  # updates made so far
    steps: int  # updates planned
    epoch: float  # passes over the data so far
    loss: float  # mean training loss since the last Progress
    rate: float  # learning rate now
    seconds: float  # since training began
    score: float | None = None  # the task's metric on the held-out part, where it was measured at this step
    note: str = ""  # what happened, in a sentence, where something did
