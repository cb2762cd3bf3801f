"""How training goes, on one line: what `fit` shows where it is asked to."""

import sys
import time
from collections.abc import Iterator

from wenmai.locale import Listed, Message, duration, phrase
from wenmai.training.progress import Progress

EVERY = 5.0  # seconds between two lines, where a line cannot be written anew


class ProgressLine:
    """What `fit` shows on standard error of a training that it leads: one line, written anew, on a terminal and in a notebook;
    elsewhere a line every few seconds."""

    def __init__(self, name: str, metric: str):
        self.name, self.metric, self.score, self.shown = (
            name,
            phrase("metric", metric.replace("_", " ")),
            None,
            time.monotonic(),
        )
        self.anew = sys.stderr.isatty() or "ipykernel" in sys.modules

    def __call__(self, stage: Message, progress: Progress | None = None) -> None:
        parts: list = [Message("{name}: {stage}", name=self.name, stage=stage)]
        if progress is not None and progress.steps:
            self.score = self.score if progress.score is None else progress.score
            parts.append(
                Message("update {step:,} of {steps:,}", step=progress.step, steps=progress.steps)
            )
            if self.score is not None:
                parts.append(Message("{metric} {score:.4f}", metric=self.metric, score=self.score))
            if (left := progress.seconds_left) is not None:
                parts.append(Message("about {time} left", time=duration(left)))
        line = str(Listed(parts, phrase("overview", ", ")))
        if self.anew:
            print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.shown >= EVERY:
            self.shown = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def through(self, steps: Iterator[Progress]) -> Iterator[Progress]:
        self(Message("preparing"))
        for progress in steps:
            self(progress.note or Message("training"), progress)
            yield progress
        if self.anew:
            print(file=sys.stderr)
