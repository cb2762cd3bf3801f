"""Progress on the terminal: one bar a rung, drawn on standard error."""

from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

console = Console()


class Bars:
    def __init__(self, progress: Progress):
        self.progress, self.bars = progress, {}

    def __call__(self, name: str, stage: str, step) -> None:
        if name not in self.bars:
            for bar in self.bars.values():
                self.progress.stop_task(bar)
            self.bars[name] = self.progress.add_task(name, total=1, stage=str(stage), score="")
        changes = {"stage": str(stage)}
        if step is not None:
            changes |= {"completed": step.step, "total": step.steps, "score": "" if step.score is None else f"{step.score:.4f}"}
        self.progress.update(self.bars[name], **changes)

    def through(self, steps):
        """Draw a generator of (name, stage, progress) to its end, and give back what it returns."""
        while True:
            try:
                self(*next(steps))
            except StopIteration as end:
                return end.value


@contextmanager
def bars():
    columns = (TextColumn("{task.description:>14}"), BarColumn(24), TextColumn("{task.fields[score]:>6}"),
               TimeElapsedColumn(), TextColumn("{task.fields[stage]}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        try:
            yield Bars(progress)
        except BaseException:  # what went wrong is said alone
            progress.live.transient, progress.console.quiet = True, not progress.console.is_interactive
            raise
