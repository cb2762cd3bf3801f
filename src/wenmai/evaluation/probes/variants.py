"""Variants of a rung on the same rows of real data, each trained a few times: what gates, heads and depth have in common.

The rows are split once; only the seed of the training differs. Variants take turns, seed after seed, so that a machine that slows
down slows all of them. The score is that of the test part, which no training has seen."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from statistics import mean, median, stdev

import numpy as np

from wenmai.data.dataset import Dataset, open_dataset
from wenmai.errors import Mistake
from wenmai.evaluation.probes.finding import Grid
from wenmai.locale import Message
from wenmai.page.pictures import metric_words

LEAST = 100  # rows that tell anything


@dataclass
class Variant:
    name: str
    rung: str
    options: dict = field(default_factory=dict)


def open_rows(
    source: str, columns: dict[str, str] | None, rungs: list[str], rows: int, seed: int
) -> Dataset:
    """At most `rows` rows to learn from, and a test part of a quarter as many at the most."""
    from wenmai.catalog import TASKS, rung_named

    data = open_dataset(source, TASKS, None, columns, valid="0.1", test="0.2", seed=seed)
    if data.task.running_text:
        raise Mistake(
            "{source} is running text, and this probe wants rows with an answer; give it a table with text and label.",
            source=source,
        )
    for rung in rungs:
        rung_named(rung, data.task.name)
    if len(data.train) < LEAST:
        raise Mistake(
            "{source}: found {rows} rows to learn from, expected at least {least}; give more of them.",
            source=source,
            rows=len(data.train),
            least=LEAST,
        )
    chance = np.random.default_rng(seed)
    for name, most in (("train", rows), ("valid", rows // 4), ("test", rows // 4)):
        part = getattr(data, name)
        if len(part) > most:
            setattr(data, name, part.take(np.sort(chance.permutation(len(part))[:most])))
    data.check()
    return data


def counter(data: Dataset) -> Callable[[str, dict], int]:
    """(rung, options) → how many weights it has on this data."""
    import torch

    from wenmai.catalog import RUNGS
    from wenmai.estimators import ESTIMATORS

    estimator = ESTIMATORS[data.task.name]("gru", steps=1, device="cpu", hidden=1, embed=1)
    next(iter(estimator.training(*data.train.pair, data.valid.pair)))

    def count(rung: str, options: dict) -> int:
        with torch.device("meta"):  # counted without being made
            return (
                RUNGS[rung]
                .build(estimator.inputs_, estimator.task_.head(estimator.inputs_), **options)
                .parameters_count()
            )

    return count


def as_large(count: Callable[[str, dict], int], rung: str, options: dict, weights: int) -> int:
    """The `hidden` that brings this rung nearest to so many weights."""
    low, high = 1, 2
    while count(rung, options | {"hidden": high}) < weights:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if count(rung, options | {"hidden": middle}) < weights:
            low = middle + 1
        else:
            high = middle
    return min(
        (max(1, low - 1), low),
        key=lambda size: abs(count(rung, options | {"hidden": size}) - weights),
    )


def compared(
    known: dict,
    data: Dataset,
    variants: list[Variant],
    training: dict,
    seeds: int,
    seed: int,
    inspect: Callable = lambda estimator: {},
) -> Iterator:
    """Yields (variant, stage, Progress); returns what is `known` and a dict a variant. `inspect` sees every trained estimator and
    adds to its row."""
    from wenmai.estimators import ESTIMATORS
    from wenmai.training.distributed import device_named

    began, training = time.perf_counter(), training | {"device": device_named(training["device"])}
    results = [
        {
            "variant": variant.name,
            "rung": variant.rung,
            "options": variant.options,
            "scores": [],
            "seconds": [],
        }
        for variant in variants
    ]
    warm = ESTIMATORS[data.task.name](
        variants[0].rung, **training | {"epochs": 1, "steps": 2}, **variants[0].options
    )
    warm.fit(*data.train.pair, data.valid.pair)  # what is done once only is not counted
    for number in range(seed, seed + seeds):
        for variant, row in zip(variants, results):
            estimator = ESTIMATORS[data.task.name](
                variant.rung, seed=number, **training, **variant.options
            )
            start = time.perf_counter()
            for progress in estimator.training(*data.train.pair, data.valid.pair):
                yield (
                    variant.name,
                    Message("seed {seed}", seed=number),
                    replace(progress, snapshot=None),
                )
            row["seconds"].append(round(time.perf_counter() - start, 3))
            row["scores"].append(estimator.evaluate(*data.test.pair)[estimator.task_.metric])
            row["parameters"] = estimator.model_.parameters_count()
            for name, value in inspect(estimator).items():
                row.setdefault(name, []).append(value)
    for row in results:
        row |= {
            "mean": mean(row["scores"]),
            "spread": stdev(row["scores"]) if seeds > 1 else None,
            "median_seconds": median(row["seconds"]),
        }
    rows = {name: len(getattr(data, name)) for name in ("train", "valid", "test")}
    return known | {
        "task": data.task.name,
        "metric": estimator.task_.metric,
        "rows": rows,
        **training,
        "seed": seed,
        "seeds": seeds,
        "variants": results,
        "seconds": round(time.perf_counter() - began, 1),
    }


def with_spread(row: dict) -> str:
    """0.644 ± 0.003"""
    return (
        f"{row['mean']:.4f}"
        if row["spread"] is None
        else f"{row['mean']:.4f} ± {row['spread']:.4f}"
    )


def beyond_chance(better: dict, other: dict) -> str:
    """Whether the means differ by more than chance has them differ: by more than twice the standard error of the difference."""
    if better["spread"] is None:
        return Message("one seed says nothing of chance")
    error = ((better["spread"] ** 2 + other["spread"] ** 2) / len(better["scores"])) ** 0.5
    large = abs(better["mean"] - other["mean"]) > 2 * error
    return Message("more than chance") if large else Message("no more than chance")


def costs(known: dict, heading: Message, names: list[str], lang: str) -> Grid:
    """A table: the metric, weights and seconds of every variant, under these names."""
    columns = (
        heading,
        metric_words(known["metric"]),
        Message("weights"),
        Message("seconds to train"),
    )
    rows = [
        [name, with_spread(row), f"{row['parameters']:,}", f"{row['median_seconds']:.1f}"]
        for name, row in zip(names, known["variants"])
    ]
    return Grid(
        Message("Quality and cost").told_in(lang),
        [column.told_in(lang) for column in columns],
        rows,
    )


def how(known: dict) -> list[Message]:
    """How the variants were trained and judged."""
    return [
        Message(
            "{data}: {train:,} rows to learn from, {test:,} of the test part to judge by, the same for all; {epochs} "
            "epochs each, the state that was best on {valid:,} others is kept",
            data=known["data"],
            epochs=known["epochs"],
            **known["rows"],
        ),
        Message(
            "± is the standard deviation over {seeds} seeds, from {seed} on; seconds are the median of whole trainings, "
            "which took turns, on {device}",
            seeds=known["seeds"],
            seed=known["seed"],
            device=known["device"],
        ),
    ]
