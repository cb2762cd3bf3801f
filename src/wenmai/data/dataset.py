"""A user's data, opened: which task it is for, its inputs and targets, and its training, validation and test parts."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from wenmai.data.builtin import BUILTIN
from wenmai.data.examples import stored
from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import StoredTexts
from wenmai.data.files import pairs, readers
from wenmai.data.files.columns import listed, position_of, short
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.splits import groups_of, shared, split, split_by_position
from wenmai.data.values import pick
from wenmai.errors import Mistake, unknown
from wenmai.locale import Listed, Message, phrase
from wenmai.options import accepted, fitting


@dataclass
class Part:
    """Rows that belong together: inputs, targets, and where each stands, for messages."""

    inputs: list | StoredTexts | np.ndarray | Sequences | Corpus
    targets: list | None
    source: str
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def empty(self) -> bool:
        return not (self.inputs.size if isinstance(self.inputs, Corpus) else len(self))

    def where(self, row: int) -> str:
        return Message("{file}, line {line}", file=self.source, line=self.lines[row])

    def take(self, rows: np.ndarray) -> Self:
        straight = isinstance(self.lines, range) and self.lines.step == 1
        lines = self.lines.start + rows if straight else np.asarray(self.lines)[rows]
        return Part(pick(self.inputs, rows), pick(self.targets, rows), self.source, lines)

    def random_share(self, share: float, seed: int) -> Self:
        """So large a share of the rows, at least two, drawn by chance; they stay in their order."""
        return self.take(np.sort(np.random.default_rng(seed).permutation(len(self))[: self._size(share)]))

    def last_share(self, share: float) -> Self:
        """So large a share of the rows, at least two: the last ones."""
        return self.take(np.arange(len(self) - self._size(share), len(self)))

    def first_share(self, share: float) -> Self:
        """The beginning of a running text."""
        return replace(self, inputs=self.inputs.parts([1 - share])[0])

    def _size(self, share: float) -> int:
        return max(2, int(share * len(self)))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Inside, a Mistake that says nothing of where these rows come from is told it."""
        try:
            yield
        except Mistake as mistake:
            if self.source in mistake.english:
                raise
            raise Mistake("{file}: {note}", file=self.source, note=mistake.message) from None

    @property
    def pair(self) -> tuple:
        return self.inputs, self.targets


@dataclass
class Dataset:
    name: str
    task: object  # of one of the catalog's TASKS
    train: Part
    valid: Part | None
    test: Part | None
    notes: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Before any training: there are classes to learn, and the held-out parts hold no others."""
        task = self.task
        if isinstance(self.train.inputs, Corpus):
            for part in filter(None, (self.train, self.valid, self.test)):
                part.inputs.check()
            return
        with self.train.named():
            task.learn(task.prepare(*self.train.pair)[1], self.train.where)
        for part in (self.valid, self.test):
            if part is not None:
                with part.named():
                    task.encode(task.prepare(*part.pair)[1], part.where)

    def fingerprint(self) -> str:
        """Changes when a row of the training part does."""
        digest = hashlib.blake2b(digest_size=16)
        if isinstance(self.train.inputs, Corpus):
            for block in self.train.inputs.blocks():
                digest.update(block)
            return digest.hexdigest()
        for values in self.train.pair:
            for value in values:
                digest.update(np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return digest.hexdigest()


def open_table(source: str, columns: dict[str, str] | None = None, target: str | None = None, task=None) -> Table:
    """A file, a folder, or a built-in set by its name; `languages:all` gives a set its one option, else the `task` may, where it
    is known. `target` is the second of two aligned files; `train.en,train.de` names both."""
    name, _, option = source.partition(":")
    if Path(source).exists() or name not in BUILTIN:
        two = pairs.two_files(source) if target is None else None
        there = any(Path(one).exists() for one in two or (source,))
        if not there and "/" not in source and "." not in source:
            raise Mistake("{sentence} Or give the path of a file.", sentence=unknown("data set", source, BUILTIN).message)
        table = readers.read(two[0], columns, two[1]) if two else readers.read(source, columns, target)
        return pairs.named(table) if task is not None and task.two_texts else table
    if target is not None:
        raise Mistake("--target {target} is the second of two files, and {name} is a built-in set; leave --target out.",
                      target=target, name=name)  # fmt: skip
    option = option or ("" if task is None else BUILTIN[name].suits.get(task.name, ""))
    chunk = BUILTIN[name].load(**({name.replace("-", "_"): option} if option else {}))
    if columns:
        names = list(chunk.columns)
        chosen = {word: names[position_of(word, column, names, source)] for word, column in columns.items()}
        chunk = Chunk({word: chunk.columns[column] for word, column in chosen.items()}, chunk.lines)
    return Table(source, list(chunk.columns), [Message("built in")], lambda rows: iter([chunk]))


def open_dataset(source: str, tasks: dict[str, type], task: str | None = None, columns: dict[str, str] | None = None,
                 valid: str | None = None, test: str | None = None, seed: int = 0, unseen: bool = False,
                 settings: dict | None = None, target: str | None = None) -> Dataset:  # fmt: skip
    """`valid` and `test` are each a file (or two: a.en,a.de) like the first, or a share of its rows, such as 0.1, or None.
    `unseen` drops the rows of those files whose input stands in the training rows too; `settings` may hold options of the
    task; `target` is the second of two aligned files."""
    table = open_table(source, columns, target, tasks.get(task))
    kind = task_for(table, tasks, task)
    known = accepted(kind)
    kind = kind(**{name: fitting(known[name], value) for name, value in (settings or {}).items() if name in known})
    whole = part_of(table, kind)
    notes = [Message("{file}: {note}", file=source, note=note) for note in table.notes]
    notes += kind.inspect_targets(whole.targets, whole.where)
    shares, given = [], {"valid": None, "test": None}
    for name, value in (("valid", valid), ("test", test)):
        share = as_share(value)
        shares.append(share or 0.0)
        if value is not None and share is None:
            given[name] = part_of(open_table(value, columns, task=kind), kind)
    if kind.running_text:  # its end is held out
        parts = [Part(text, None, whole.source, ()) for text in whole.inputs.parts(shares)]
        note = Message("running text: its last lines are held out, none of them is learned from")
    elif kind.history:  # cut by position, never at random: what comes later is not learned from; at least two horizons each
        shares = [share and max(share, min(0.3, 2 * kind.horizon / len(whole))) for share in shares]
        parts = [whole.take(rows) for rows in split_by_position(len(whole), shares, kind.history)]
        note = Message("a series in time: the last rows are held out, none of them is learned from")
    else:
        parts, note = [whole.take(rows) for rows in by_chance(kind, whole, shares, given, notes, unseen, seed)] or [whole], ""
    cut = {name: part for name, part in zip(given, parts[1:]) if not part.empty}
    notes += [note] if cut and note else []
    return Dataset(name_of(source), kind, parts[0], **given | cut, notes=notes, columns=table.names)


def by_chance(kind, whole: Part, shares: list[float], given: dict[str, Part | None], notes: list[str], unseen: bool,
              seed: int) -> list[np.ndarray]:  # fmt: skip
    """The rows of every part, none where no share is cut off; rows of equal inputs stay together. Of the parts that are `given`,
    what stands in the training rows too is noted, or dropped if it is to be `unseen`."""
    keys, classes = kind.split_keys(*whole.pair)
    what = phrase("what", "input") if keys is whole.inputs else phrase("what", "text")  # that no two parts share
    groups = groups_of(keys)
    repeated = len(whole) - (int(groups.max(initial=-1)) + 1)
    if repeated:
        notes.append(Message("{rows} rows repeat the {what1} of another; equal {what2}s stay on one side of every split",
                             rows=repeated, what1=what, what2=what))  # fmt: skip
    for name, part in given.items():
        leaked = np.zeros(0, bool) if part is None else shared(keys, kind.split_keys(*part.pair)[0])
        if leaked.any() and leaked.all() and unseen:
            raise Mistake("{file}: every {what} of the {part} rows stands in the training rows too; give other rows.",
                          file=part.source, what=what, part=PARTS[name])  # fmt: skip
        if leaked.any() and unseen:
            given[name] = part.take(np.flatnonzero(~leaked))
            notes.append(Message("{found} of the {rows} {part} rows dropped: their {what}s stand in the training rows too",
                                 found=leaked.sum(), rows=len(part), part=PARTS[name], what=what))  # fmt: skip
        elif leaked.any():
            notes.append(Message("{found} of the {rows} {part} {what}s stand in the training rows too: the score flatters; "
                                 "--unseen drops them", found=leaked.sum(), rows=len(part), part=PARTS[name], what=what))
    return split(keys, shares, seed, classes, groups) if any(shares) else []


def name_of(source: str) -> str:
    first = Path((pairs.two_files(source) or (source,))[0])
    return first.name.split(".")[0] or "data" if first.exists() else source


def as_share(value: str | None) -> float | None:
    try:
        share = float(value)
    except (TypeError, ValueError):
        return None
    if not 0 <= share < 0.9:
        raise Mistake("a share of {share} was asked for; expected a file, or a number from 0 to 0.9.", share=value)
    return share


def task_for(table: Table, tasks: dict[str, type], task: str | None) -> type:
    if task is not None:
        if task not in tasks:
            raise unknown("task", task, tasks)
        return tasks[task]
    sentence = says_no_task(table, tasks)
    if sentence:
        raise Mistake(sentence)
    return next(kind for kind in tasks.values() if kind.fits(table.names))


PARTS = {"valid": phrase("part", "valid"), "test": phrase("part", "test")}
LATER = {"answer": {"context", "question"}}


def says_no_task(table: Table, tasks: dict[str, type]) -> str:
    """A sentence on columns from which no task can be told that a rung does; empty where one can."""
    if any(kind.fits(table.names) for kind in tasks.values()):
        return ""
    names = listed(table.names)
    for task, columns in LATER.items():
        if columns <= set(table.names):
            return Message("{file} has the columns {names}: data for the task {task}, which no rung here does yet; for one "
                           "that is done ({choices}), name its columns, as in --columns text=NAME,label=NAME.", file=table.source,
                           names=names, task=task, choices=Listed(tasks))  # fmt: skip
    return Message("{file} has the columns {names}, which say no task; to classify, name a text and a label: --columns "
                   "text={first},label={last}; to regress, the numbers and a target; to tag, tokens and tags; to generate, a "
                   "text alone; to compose, say --task compose.", file=table.source, names=names, first=short(table.names[0]),
                   last=short(table.names[-1]))  # fmt: skip


def part_of(table: Table, kind) -> Part:
    """All rows of a table. Texts that are too large for memory go to a file as they are read; pairs and tokens stay in it."""
    if kind.running_text:
        return Part(kind.corpus_of(table), None, table.source, ())
    if kind.two_texts:
        table = pairs.checked(table)
    texts = "text" in table.names and "tokens" not in table.names and kind.texts == "tokens" and not kind.history
    held, size, chunks = [], 0, table.chunks(1024)
    for chunk in chunks if texts else ():
        held.append(chunk)
        size += stored.size_of(kind.inputs_of(chunk, table.source))
        if size > stored.LARGE:
            return stored_part(table, kind, chain(held, chunks))
    chunk = replace(table, stream=lambda rows: iter(held)).load() if held else table.load()
    if not len(chunk):
        raise Mistake("{file} has no rows; expected at least one below its header.", file=table.source)
    return Part(kind.inputs_of(chunk, table.source), kind.targets_of(chunk, table.source), table.source, chunk.lines)


def stored_part(table: Table, kind, chunks: Iterator[Chunk]) -> Part:
    labels, numbers, places, same = [], [], [], {}

    def texts() -> Iterator[list[str]]:
        for chunk in chunks:
            targets = kind.targets_of(chunk, table.source)
            if isinstance(targets, np.ndarray):
                numbers.append(targets)
            else:  # one object for every distinct label, however many rows have it
                labels.extend(map(same.setdefault, targets, targets))
            places.append(Chunk({}, chunk.lines))
            yield kind.inputs_of(chunk, table.source)

    inputs = StoredTexts.of(texts())
    lines = Table(table.source, [], [], lambda rows: iter(places)).load().lines
    return Part(inputs, np.concatenate(numbers) if numbers else labels, table.source, lines)
