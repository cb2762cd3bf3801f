"""A user's data, opened: which task it is for, its inputs and targets, and its training, validation and test parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wenmai.data import readers
from wenmai.data.builtin import BUILTIN
from wenmai.data.readers import Chunk, Table
from wenmai.data.splits import groups_of, split
from wenmai.errors import Mistake, unknown


@dataclass
class Part:
    """Rows that belong together: inputs, targets, and where each stands, for messages."""

    inputs: list | np.ndarray
    targets: list
    source: str
    lines: list[int] | range

    def __len__(self) -> int:
        return len(self.inputs)

    def where(self, row: int) -> str:
        return f"{self.source}, line {self.lines[row]}"

    def take(self, rows: np.ndarray) -> Part:
        inputs = self.inputs[rows] if isinstance(self.inputs, np.ndarray) else [self.inputs[row] for row in rows]
        return Part(inputs, [self.targets[row] for row in rows], self.source, [int(self.lines[row]) for row in rows])

    @property
    def pair(self) -> tuple:
        return self.inputs, self.targets


@dataclass
class Dataset:
    name: str
    task: type  # a row of the catalog's TASKS
    train: Part
    valid: Part | None
    test: Part | None
    notes: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Before any training: there are classes to learn, and the held-out parts hold no others."""
        task = self.task()
        task.learn(self.train.targets)
        for part in (self.valid, self.test):
            if part is not None:
                task.encode(part.targets, part.where)

    def fingerprint(self) -> str:
        """Changes when a row of the training part does."""
        digest = hashlib.blake2b(digest_size=16)
        inputs = self.train.inputs
        digest.update(np.ascontiguousarray(inputs).tobytes() if isinstance(inputs, np.ndarray) else repr(inputs).encode())
        digest.update(repr(self.train.targets).encode())
        return digest.hexdigest()


def open_table(source: str, columns: dict[str, str] | None = None) -> Table:
    """A file, a folder, or a built-in set by its name; `languages:all` gives a set its one option."""
    name, _, option = source.partition(":")
    if Path(source).exists() or name not in BUILTIN:
        if not Path(source).exists() and "/" not in source and "." not in source:
            raise Mistake(f"{unknown('data set', source, BUILTIN)} Or give the path of a file.")
        return readers.read(source, columns)
    chunk = BUILTIN[name].load(**({name: option} if option else {}))
    return Table(source, list(chunk.columns), ["built in"], lambda rows: iter([chunk]))


def open_dataset(
    source: str,
    tasks: dict[str, type],
    task: str | None = None,
    columns: dict[str, str] | None = None,
    valid: str | None = None,
    test: str | None = None,
    seed: int = 0,
    unseen: bool = False,
) -> Dataset:
    """`valid` and `test` are each a file like the first, or a share of its rows, such as 0.1; None gives no such part.
    `unseen` drops the rows of those files whose input stands in the training rows too."""
    table = open_table(source, columns)
    kind = task_for(table, tasks, task)
    whole = part_of(table, kind)
    notes, shares = [f"{source}: {note}" for note in table.notes], []
    given: dict[str, Part | None] = {"valid": None, "test": None}
    for name, value in (("valid", valid), ("test", test)):
        share = as_share(value)
        shares.append(share or 0.0)
        if value is not None and share is None:
            given[name] = part_of(open_table(value, columns), kind)
    groups = groups_of(whole.inputs)
    repeated = len(whole) - (int(groups.max(initial=-1)) + 1)
    if repeated:
        notes.append(f"{repeated} rows repeat the input of another; equal inputs stay on one side of every split")
    for name, part in given.items():
        leaked = np.zeros(0, bool) if part is None else shared(whole.inputs, part.inputs)
        if leaked.any() and leaked.all() and unseen:
            raise Mistake(f"{part.source}: every input of the {name} rows stands in the training rows too; give other rows.")
        if leaked.any() and unseen:
            given[name] = part.take(np.flatnonzero(~leaked))
            notes.append(f"{leaked.sum()} of the {len(part)} {name} rows dropped: their inputs stand in the training rows too")
        elif leaked.any():
            notes.append(f"{leaked.sum()} of the {len(part)} {name} inputs stand in the training rows too: the score flatters; "
                         "--unseen drops them")  # fmt: skip
    if any(shares):
        rows = split(whole.inputs, shares, seed, whole.targets)
        cut = {name: whole.take(part) for name, part in zip(("valid", "test"), rows[1:]) if len(part)}
        given |= cut
        whole = whole.take(rows[0])
    return Dataset(Path(source).stem if Path(source).exists() else source, kind, whole, given["valid"], given["test"], notes)


def as_share(value: str | None) -> float | None:
    try:
        share = float(value)
    except (TypeError, ValueError):
        return None
    if not 0 <= share < 0.9:
        raise Mistake(f"a share of {value} was asked for; expected a file, or a number from 0 to 0.9.")
    return share


def task_for(table: Table, tasks: dict[str, type], task: str | None) -> type:
    if task is not None:
        if task not in tasks:
            raise unknown("task", task, tasks)
        return tasks[task]
    for kind in tasks.values():
        if kind.fits(table.names):
            return kind
    found = ", ".join(table.names[:12])
    raise Mistake(
        f"{table.source} has the columns {found}, which say no task; to classify, name a text and a label: "
        f"--columns text={table.names[0]},label={table.names[-1]}."
    )


def part_of(table: Table, kind: type) -> Part:
    chunk: Chunk = table.load()
    if not len(chunk):
        raise Mistake(f"{table.source} has no rows; expected at least one below its header.")
    return Part(kind.inputs_of(chunk, table.source), kind.targets_of(chunk, table.source), table.source, chunk.lines)


def shared(first, second) -> np.ndarray:
    """For every row of the second, whether its input stands in the first too."""
    if isinstance(first, np.ndarray):
        if first.shape[1:] != second.shape[1:]:
            return np.zeros(len(second), bool)
        groups = groups_of(np.concatenate([first, second]))
        return np.isin(groups[len(first) :], groups[: len(first)])
    known = set(first)
    return np.array([value in known for value in second])
