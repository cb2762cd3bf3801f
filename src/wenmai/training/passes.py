"""Passes over the rows, for a rung that learns without the loop; minutes become a number of them, once."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.locale import Message, phrase
from wenmai.training.progress import Diverged, Progress, Snapshot


class Passes:
    """The epochs of a rung without the loop, each with its order of the rows; what it takes to go on after any of them."""

    def __init__(self, epochs: int, count: int, seed: int, began: float):
        self.epochs, self.count, self.seed, self.began, self.done = epochs, count, seed, began, 0
        self.generator = np.random.default_rng(seed)

    def resume(self, snapshot: Snapshot) -> dict:
        self.done = take.integer(snapshot.facts, "epochs", 1, self.epochs)
        self.began -= take.number(snapshot.facts, "seconds")
        known = take.value(snapshot.facts, "generator")
        try:
            self.generator.bit_generator.state = known
        except (ValueError, TypeError, KeyError, OverflowError):
            raise take.unfit(
                "generator", known, phrase("saved", "the state of random numbers")
            ) from None
        return snapshot.facts

    def planned(self) -> Iterator[Progress]:
        if not self.done:
            yield Progress(
                0,
                self.epochs * self.count,
                0.0,
                float("nan"),
                0.0,
                time.perf_counter() - self.began,
                note=Message("planned"),
                plan={"epochs": self.epochs},
                snapshot=lambda: Snapshot({}, {}),
            )

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        while self.done < self.epochs:
            order = self.generator.permutation(self.count)
            yield self.done, order

    def diverged(self, again: bool, rate: float, usual: float, first: str) -> Progress:
        """A pass whose loss is no number: back to the first weights, once. `usual`: the rate where none is given."""
        if again:
            raise Diverged(
                "pass {number} over the rows ({where} came first): the loss is no longer a finite number, also "
                "after the learning rate was lowered; start anew with --set learning_rate={rate:.1g}.",
                number=self.done + 1,
                where=first,
                rate=min(rate / 10, usual),
            )
        warning = Message(
            "pass {number} over the rows ({where} came first): the loss is not a finite number; training went back "
            "to its beginning, with 0.1 times the learning rate.",
            number=self.done + 1,
            where=first,
        )
        self.done, self.generator, seconds = (
            0,
            np.random.default_rng(self.seed),
            time.perf_counter() - self.began,
        )
        return Progress(
            0,
            self.epochs * self.count,
            0.0,
            float("nan"),
            rate / 10,
            seconds,
            warning=warning,
            passing=True,
        )

    def progress(
        self, loss, rate, score, arrays: dict[str, np.ndarray], facts: dict, passing: bool = False
    ) -> Progress:
        """To be yielded when a pass is through."""
        self.done += 1
        seconds = time.perf_counter() - self.began

        def snapshot() -> Snapshot:
            known = {
                "epochs": self.done,
                "generator": self.generator.bit_generator.state,
                "seconds": seconds,
            }
            return Snapshot({name: array.copy() for name, array in arrays.items()}, known | facts)

        return Progress(
            self.done * self.count,
            self.epochs * self.count,
            self.done,
            loss,
            rate,
            seconds,
            score,
            passing=passing,
            snapshot=snapshot,
        )


def epochs_in(
    minutes: float | None, epochs: int, count: int, one_pass: Callable[[np.ndarray], float]
) -> int:
    """Minutes become epochs, once: a few rows, learned and thrown away, are the clock."""
    if not minutes:
        return epochs
    pilot = np.arange(min(count, 1000))
    one_pass(pilot[:1])  # compiles
    start = time.perf_counter()
    one_pass(pilot)
    return max(
        1, min(epochs, int(minutes * 60 * len(pilot) / (time.perf_counter() - start) / count))
    )
