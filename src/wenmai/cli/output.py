"""What a command says: sentences on standard error, its result on standard output, as JSON where that is wanted."""

import json
import re
import sys
from contextlib import contextmanager
from contextvars import ContextVar

from wenmai.locale import Message, language
from wenmai.locale.messages import harmless_lines

CONTROLS = re.compile(
    "[\x7f-\x9f\u2028\u2029]"
)  # which JSON allows as they are, and terminals may obey
EVENTS = ContextVar("events", default=False)  # --events: what goes wrong is an event too
SILENT = ContextVar("silent", default=False)  # --quiet: nothing but the result, and what went wrong


def silence(silent: bool) -> bool:
    SILENT.set(silent)
    return silent


def say(message: str, **values) -> None:
    """A message, or a template and its values."""
    if not SILENT.get():
        print(
            message if isinstance(message, Message) else Message(message, **values), file=sys.stderr
        )


def show(text: str, end: str = "\n") -> None:
    """What a run answers, for people to read: control characters, which a terminal would obey, are written as escapes. As they
    are, they stand in --json and --out."""
    print(harmless_lines(text), end=end, flush=True)


@contextmanager
def phase(name: str, stage: Message):
    """Inside, what is being done is shown."""
    from wenmai.page.terminal import bars

    with bars(SILENT.get(), transient=True) as draw:
        draw(name, stage, None)
        yield


class EventLines:
    """Takes what progress bars take, and prints it as JSON; signs of life are enough twice a second."""

    metric, place, end = "", "", None
    EVERY = 0.5

    def __init__(self):
        self.last_sent, self.stage = 0.0, None

    def __call__(self, name: str, stage: str, step) -> None:
        import time

        words = stage if isinstance(stage, Message) else Message("{text}", text=stage)
        counts = step is not None and (step.score is not None or bool(step.warning))
        if counts or words != self.stage or time.monotonic() - self.last_sent >= self.EVERY:
            self.last_sent, self.stage = time.monotonic(), words
            event = {"name": name, "stage": {lang: words.told_in(lang) for lang in ("en", "zh")}}
            event |= (
                {"progress": step.to_json(), "metric": str(self.metric)} if step is not None else {}
            )
            from wenmai.page.strict_json import strict_json

            print(escaped(strict_json(event)), flush=True)

    def settle(self) -> None:
        pass


@contextmanager
def event_lines():
    EVENTS.set(True)
    yield EventLines()


def json_line(value) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """JSON with every control character as an escape."""
    return CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def say_scores(scores: dict, as_json: bool, unit: str = "") -> None:
    """They are what was asked for; where that is JSON, they stand in it."""
    from wenmai.cli.overview import scored

    for part, values in scores.items():
        if not as_json or not SILENT.get():
            print(
                scored(part, values, language(), unit), file=sys.stderr if as_json else sys.stdout
            )


def finish(result, as_json: bool, quiet: bool = False) -> None:
    """The result: as one JSON line, or drawn (an overview knows how), or not at all where it was said already."""
    if as_json:
        from wenmai.page.strict_json import strict_json

        print(escaped(strict_json(getattr(result, "json", result))))
    elif not quiet:
        result.show()
