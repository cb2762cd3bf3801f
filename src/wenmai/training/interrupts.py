"""Ctrl-C and SIGTERM: what they do to a command, and how they are held back while something must not be cut in two."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]


@contextmanager
def interrupts(at_once: bool = False) -> Iterator[list[int]]:
    """Inside, Ctrl-C and SIGTERM fill the list instead of stopping, or (`at_once`) both raise KeyboardInterrupt with their
    number; a second time the same one ends the process. (Under torchrun Ctrl-C comes as both, one after the other.)"""
    asked: list[int] = []

    def ask(number, frame) -> None:
        if number in asked:
            os._exit(128 + number)
        asked.append(number)
        if at_once and len(asked) == 1:
            raise KeyboardInterrupt(number)

    ask.asked = asked
    try:
        before = {name: signal.signal(name, ask) for name in SIGNALS}
    except ValueError:  # not the main thread, where signals do not arrive
        before = {}
    try:
        yield asked
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


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
