"""What one request may ask for, and the server hold: each limit, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    body: int = 32 << 20  # bytes of a request
    inputs: int = 1024  # of one request
    characters: int = 100_000  # of one input
    sound: float = 600.0  # seconds of one input
    inspected: int = 4_000  # characters of an input that is looked into
    tokens: int = 2_048  # that one text may be written on
    waiting: int = 256  # requests that wait for an answer
    rows: int = 16_384  # inputs of all that wait
    writing: int = 64  # texts that are written side by side
    seconds: float = 30.0  # until an answer
    body_seconds: float = 20.0  # until a request has arrived
    trainings: int = 8  # that wait for the one under way
    minutes: float = 60.0  # that a training may be given
    memory: int = 1 << 31  # bytes of loaded runs
