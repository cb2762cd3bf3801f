"""The terminal: tables, and progress on standard error: one bar a rung, or, where there is no terminal, a line now and then."""

import threading
import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from wenmai.locale import Message, duration
from wenmai.locale.messages import harmless_lines


class Screen(Console):
    """A console for which [brackets] are no markup, and that gives a terminal nothing of a user's data to obey."""

    def __init__(self, **how):
        super().__init__(markup=False, emoji=False, **how)

    def render(self, renderable, options=None):
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else Segment(harmless_lines(segment.text), segment.style)
            )


console = Screen()
EVERY = 5.0  # seconds between two lines, where there is no terminal


def text_table(head: list[str], rows: list[list[str]], no_wrap: bool = False, **style) -> Table:
    """Names to the left, numbers to the right; [brackets] in a cell are no markup."""
    table = Table(box=None, pad_edge=False, **style)
    for column, name in enumerate(head):
        table.add_column(Text(name), justify="right" if column else "left", no_wrap=no_wrap)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


class Bars:
    """`metric` names the number beside a bar, `place` says which of how many it is, and `end` when all is to be done, where that
    is known (time.monotonic)."""

    def __init__(self, progress: Progress):
        self.progress, self.bars, self.stages, self.line = progress, {}, {}, ""
        self.metric, self.place, self.end = "", "", None

    def __call__(self, name: str, stage: str, step) -> None:
        if name not in self.bars:
            self.settle()
            self.bars[name] = self.progress.add_task(name, total=None, stage="", score="")
        self.stages[name], changes = stage, {"stage": str(self.stage_message(stage, step))}
        if step is not None and step.steps:
            changes |= {"completed": step.step, "total": step.steps}
            changes |= (
                {"score": f"{self.metric} {step.score:.4f}".strip()}
                if step.score is not None
                else {}
            )
        self.progress.update(self.bars[name], **changes)
        shown = self.task(name)
        share = f"{shown.percentage:.0f}%" if shown.total else ""
        self.line = ", ".join(
            filter(None, (f"{name}: {changes['stage']}", share, shown.fields["score"]))
        )

    def task(self, name: str):
        return self.progress.tasks[self.progress.task_ids.index(self.bars[name])]

    def settle(self) -> None:
        """What is there has come to its end; a bar that has shown a phase and no more goes."""
        for name, bar in list(self.bars.items()):
            self.progress.stop_task(bar)
            self.progress.update(bar, stage=str(self.stages[name]))
            if self.task(name).total is None:
                self.progress.remove_task(self.bars.pop(name))

    def stage_message(self, stage: str, step) -> str:
        """The stage, and how much time is left, where it can be told."""
        left = None if self.end is None else self.end - time.monotonic()
        left = step.seconds_left if left is None and step is not None else left
        stage = Message("{stage} {place}", stage=stage, place=self.place) if self.place else stage
        return (
            stage
            if left is None or left <= 0
            else Message("{stage}, about {time} left", stage=stage, time=duration(left))
        )

    def through(self, steps):
        """Draw a generator of (name, stage, progress) to its end, and give back what it returns."""
        while True:
            try:
                self(*next(steps))
            except StopIteration as end:
                return end.value


@contextmanager
def bars(quiet: bool = False, transient: bool = False):
    """`transient`: they go when all is done."""
    columns = (
        TextColumn("{task.description:>14}", markup=False),
        BarColumn(24),
        TextColumn("{task.fields[score]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[stage]}", markup=False),
    )
    with Progress(
        *columns, console=Screen(stderr=True, quiet=quiet), transient=transient
    ) as progress:
        drawn, ended = Bars(progress), threading.Event()

        def lines() -> None:
            while not ended.wait(EVERY):
                progress.console.print(drawn.line, markup=False, highlight=False, soft_wrap=True)

        plain = not progress.console.is_terminal
        if plain and not quiet:
            threading.Thread(target=lines, daemon=True).start()
        try:
            yield drawn
            drawn.settle()
            progress.console.quiet = quiet or (transient and plain)
        except BaseException:  # what went wrong is said alone
            progress.live.transient, progress.console.quiet = (
                True,
                quiet or not progress.console.is_interactive,
            )
            raise
        finally:
            ended.set()
