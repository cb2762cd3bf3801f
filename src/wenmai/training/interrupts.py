"""Ctrl-C and SIGTERM: what they do to a command, and how they are held back while something must not be cut in two."""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LATER = 0.05  # seconds until an interrupt that came while a module was imported comes again
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]


@contextmanager
def interrupts(at_once: bool = False) -> Iterator[list[int]]:
    """Inside, Ctrl-C and SIGTERM fill the list instead of stopping, or (`at_once`) both raise KeyboardInterrupt with their
    number; a second time the same one ends the process. (Under torchrun Ctrl-C comes as both, one after the other.)
    While a module is imported they wait: compiled ones end the process when an exception comes out of their beginning. One that
    was raised where nothing can be (in a callback of compiled code) comes again."""
    asked: list[int] = []
    again: list[int] = []  # that waited, and come once more

    def ask(number, frame) -> None:
        if again:
            again.clear()
        else:
            if number in asked:
                os._exit(128 + number)
            asked.append(number)
            if not at_once or len(asked) > 1:
                return
        if is_importing(frame):
            wait(number)
        else:
            raise KeyboardInterrupt(number)

    def wait(number: int) -> None:
        later = threading.Timer(LATER, come_again, (number,))
        later.daemon = True
        later.start()

    def come_again(number: int) -> None:
        handler = signal.getsignal(number)
        if not hasattr(handler, "asked"):
            return  # nothing is held back any more
        (again.append if handler is ask else asked.remove)(
            number
        )  # where others hold it back by now, it is as if it came now
        _thread.interrupt_main(number)

    def unraisable(what, usual=sys.unraisablehook) -> None:
        if isinstance(what.exc_value, KeyboardInterrupt) and asked:
            wait(asked[0])
        else:
            usual(what)

    ask.asked, hook = asked, sys.unraisablehook
    try:
        before = {name: signal.signal(name, ask) for name in SIGNALS}
    except ValueError:  # not the main thread, where signals do not arrive
        before = {}
    if at_once and before:
        sys.unraisablehook = unraisable
    try:
        yield asked
    finally:
        sys.unraisablehook = hook
        for name, handler in before.items():
            signal.signal(name, handler)


def is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def check() -> None:
    """Raises again what a library may have swallowed, or made an error of its own of."""
    asked = getattr(signal.getsignal(signal.SIGINT), "asked", ())
    if asked:
        raise KeyboardInterrupt(asked[0])


def number_of(interrupt: KeyboardInterrupt) -> int:
    return next((number for number in interrupt.args if isinstance(number, int)), signal.SIGINT)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, they wait for the end."""
    with interrupts() as asked:
        yield
    if asked:
        signal.raise_signal(asked[0])
