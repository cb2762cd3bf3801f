"""A user's data, opened: which task it is for, its inputs and targets, and its training, validation and test parts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

import numpy as np

from wenmai.data.builtin import BUILTIN
from wenmai.data.files import pairs, readers
from wenmai.data.files.columns import listed, position_of, short
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.parts import Part, part_of
from wenmai.data.splits import groups_of, shared, split, split_by_position
from wenmai.data.understanding import match_columns, understood
from wenmai.data.values import digest_of
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message, phrase
from wenmai.options import accepted, checked_value


@dataclass
class Dataset:
    name: str
    task: object  # of one of the catalog's TASKS
    train: Part
    valid: Part | None
    test: Part | None
    notes: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(
        default_factory=dict
    )  # those that are read → their names in the file
    guess: Message | None = None  # what was understood of columns whose names do not say it
    source: str = ""  # its file as it is called from anywhere, or its name

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
        return digest_of(*self.train.pair)

    def fingerprints(self) -> dict[str, str]:
        """Of every part, whose rows decide what is learned, when it stops, and the scores."""
        parts = {"train": self.train, "valid": self.valid, "test": self.test}
        return {name: digest_of(*(part.pair if part else ())) for name, part in parts.items()}

    def about(self) -> dict:
        """What a run keeps of the data."""
        return {"data": self.source, "fingerprint": self.fingerprint()}


def open_table(
    source: str | Table,
    columns: dict[str, str] | None = None,
    target: str | None = None,
    task=None,
    delimiter: str | None = None,
    seen: Collection[str] = (),
) -> Table:
    """A file, a folder, a table, or a built-in set by its name; `languages:all` gives a set its one option, else the `task` may,
    where it is known. `target` is the second of two aligned files; `train.en,train.de` names both. `seen`: names that columns had
    before."""
    if isinstance(source, Table):
        return source
    name, _, option = source.partition(":")
    if Path(source).exists() or name not in BUILTIN:
        two = pairs.two_files(source) if target is None and "," in source else None
        there = any(Path(one).exists() for one in two or (source,))
        if (
            not there
            and "/" not in source
            and "." not in source
            and not any(Path().glob(f"{escape(source)}.*"))
        ):
            raise Mistake(
                "{sentence} Or give the path of a file.",
                sentence=unknown("data set", source, BUILTIN).message,
            )
        first, second = two or (source, target)
        table = readers.read(
            first, columns, second, delimiter, seen, task is not None and task.running_text
        )
        return pairs.named(table) if task is not None and task.two_texts else table
    if target is not None:
        raise Mistake(
            "--target {target} is the second of two files, and {name} is a built-in set; leave --target out.",
            target=target,
            name=name,
        )
    option = option or ("" if task is None else BUILTIN[name].option_for_task.get(task.name, ""))
    chunk = BUILTIN[name].load(**({name.replace("-", "_"): option} if option else {}))
    if columns:
        names = list(chunk.columns)
        chosen = {
            word: names[position_of(word, column, names, source)]
            for word, column in columns.items()
        }
        chunk = Chunk({word: chunk.columns[column] for word, column in chosen.items()}, chunk.lines)
    return Table(
        source,
        list(chunk.columns),
        [Message("built in"), *BUILTIN[name].notes],
        lambda rows: iter([chunk]),
    )


def open_dataset(
    source: str | Table,
    tasks: dict[str, type],
    task: str | None = None,
    columns: dict[str, str] | None = None,
    valid: str | None = None,
    test: str | None = None,
    seed: int = 0,
    unseen: bool = False,
    settings: dict | None = None,
    target: str | None = None,
    delimiter: str | None = None,
    skip_bad: bool = False,
    seen: dict[str, str] | None = None,
) -> Dataset:
    """`valid` and `test` are each a file (or two: a.en,a.de) like the first, or a share of its rows, such as 0.1, or None.
    Data that has such parts of its own, a folder with train and test files, keeps them, unless other files are given.
    `unseen` drops the rows of those files whose input stands in the training rows too; `settings` may hold options of the
    task; `target` is the second of two aligned files; `skip_bad` leaves out rows that the task refuses; `seen` are the columns
    that a run was trained on."""
    raw_table = open_table(
        source, columns, target, tasks.get(task), delimiter, (seen or {}).values()
    )
    table, guess = understood(raw_table, columns, tasks, task, seen)
    kind, source = (
        task_for(table, tasks, task),
        table.source if isinstance(source, Table) else source,
    )
    known = accepted(kind)
    kind = kind(
        **{
            name: checked_value(known[name], value)
            for name, value in (settings or {}).items()
            if name in known
        }
    )
    all_rows, columns_read = (
        part_of(table, kind, skip_bad),
        dict(table.own) or {name: name for name in table.names},
    )
    notes = [Message("{file}: {note}", file=source, note=note) for note in table.notes]
    guess = guess and guess.sentence(source, kind.name, table.every)
    notes += [*([guess] if guess else []), *all_rows.notes, *empty_texts(all_rows.inputs)]
    notes += kind.inspect_targets(all_rows.targets, all_rows.where)
    shares, held_out = [], {"valid": None, "test": None}
    for name, value in (("valid", valid), ("test", test)):
        share = as_share(value)
        if name in raw_table.held and (value is None or share is not None):
            value, share = raw_table.held[name](), None
        shares.append(share or 0.0)
        if value is not None and share is None:
            again = open_table(
                value, columns, task=kind, delimiter=delimiter, seen=columns_read.values()
            )
            held_out[name] = part_of(
                match_columns(again, columns, columns_read, kind)[0], kind, skip_bad
            )
            notes += held_out[name].notes
    if kind.running_text:  # its end is held out
        parts = [Part(text, None, all_rows.source, ()) for text in all_rows.inputs.parts(shares)]
        note = Message("running text: its last lines are held out, none of them is learned from")
    elif kind.history:  # cut by position, never at random: what comes later is not learned from; at least two horizons each
        shares = [
            share and max(share, min(0.3, 2 * kind.horizon / len(all_rows))) for share in shares
        ]
        parts = [
            all_rows.take(rows) for rows in split_by_position(len(all_rows), shares, kind.history)
        ]
        note = Message("a series in time: the last rows are held out, none of them is learned from")
    else:
        parts = [
            all_rows.take(rows)
            for rows in by_chance(kind, all_rows, shares, held_out, notes, unseen, seed)
        ] or [all_rows]
        note = ""
    cut = {name: part for name, part in zip(held_out, parts[1:]) if not part.empty}
    notes += [note] if cut and note else []
    notes += half_seen(kind, parts[0], held_out | cut)
    return Dataset(
        name_of(source),
        kind,
        parts[0],
        **held_out | cut,
        notes=notes,
        columns=columns_read,
        guess=guess,
        source=everywhere(source),
    )


def empty_texts(inputs) -> list[str]:
    count = (
        sum(isinstance(text, str) and not text.strip() for text in inputs)
        if isinstance(inputs, list)
        else 0
    )
    return (
        [Message("{count:,} of the {rows:,} texts are empty", count=count, rows=len(inputs))]
        if count
        else []
    )


def by_chance(
    kind,
    all_rows: Part,
    shares: list[float],
    held_out: dict[str, Part | None],
    notes: list[str],
    unseen: bool,
    seed: int,
) -> list[np.ndarray]:
    """The rows of every part, none where no share is cut off; rows of equal inputs stay together. Of the parts that are `given`,
    what stands in the training rows too is noted, or dropped if it is to be `unseen`."""
    keys, classes = kind.split_keys(*all_rows.pair)
    what = (
        phrase("what", "input") if keys is all_rows.inputs else phrase("what", "text")
    )  # that no two parts share
    what = getattr(keys, "what", what)
    groups = groups_of(keys)
    repeated = len(all_rows) - (int(groups.max(initial=-1)) + 1)
    if repeated:
        notes.append(
            Message(
                "{rows} rows repeat the {what1} of another; equal {what2}s stay on one side of every split",
                rows=repeated,
                what1=what,
                what2=what,
            )
        )
    for name, part in held_out.items():
        leaked = np.zeros(0, bool) if part is None else shared(keys, kind.split_keys(*part.pair)[0])
        if leaked.any() and leaked.all() and unseen:
            raise Mistake(
                "{file}: every {what} of the {part} rows stands in the training rows too; give other rows.",
                file=part.source,
                what=what,
                part=PARTS[name],
            )
        if leaked.any() and unseen:
            held_out[name] = part.take(np.flatnonzero(~leaked))
            notes.append(
                Message(
                    "{actual} of the {rows} {part} rows dropped: their {what}s stand in the training rows too",
                    actual=leaked.sum(),
                    rows=len(part),
                    part=PARTS[name],
                    what=what,
                )
            )
        elif leaked.any():
            notes.append(
                Message(
                    "{actual} of the {rows} {part} {what}s stand in the training rows too: the score flatters; "
                    "--unseen drops them",
                    actual=leaked.sum(),
                    rows=len(part),
                    part=PARTS[name],
                    what=what,
                )
            )
    if all(held_out.values()):
        again = shared(*(kind.split_keys(*part.pair)[0] for part in held_out.values()))
        if again.any() and unseen and not again.all():
            held_out["test"] = held_out["test"].take(np.flatnonzero(~again))
        if again.any():
            words = {"actual": again.sum(), "rows": len(again), "what": what}
            notes.append(
                Message(
                    "{actual} of the {rows} test rows dropped: their {what}s stand in the valid rows too",
                    **words,
                )
                if unseen and not again.all()
                else Message(
                    "{actual} of the {rows} test {what}s stand in the valid rows too, by which training is "
                    "stopped and a rung is chosen: the score flatters; --unseen drops them",
                    **words,
                )
            )
    return split(keys, shares, seed, classes, groups) if any(shares) else []


def sides(kind, part: Part) -> list[tuple[Message, list]]:
    """Of pairs of texts each side with its name; of others none."""
    if kind.two_texts:
        return [(phrase("side", "source"), part.inputs), (phrase("side", "target"), part.targets)]
    if isinstance(part.inputs, list) and part.inputs and isinstance(part.inputs[0], tuple):
        return list(
            zip((phrase("side", "first text"), phrase("side", "second text")), zip(*part.inputs))
        )
    return []


def half_seen(kind, train: Part, held: dict[str, Part | None]) -> list[Message]:
    """Rows of which one side stands in the training rows, beside another."""
    notes = []
    for name, part in held.items():
        for (side, theirs), (_, ours) in (
            zip(sides(kind, part), sides(kind, train)) if part is not None else ()
        ):
            if count := int(shared(ours, theirs).sum()):
                notes.append(
                    Message(
                        "{actual} of the {rows} {part} rows have a {side} that stands in the training rows too",
                        actual=count,
                        rows=len(part),
                        part=PARTS[name],
                        side=side,
                    )
                )
    return notes


def everywhere(source: str) -> str:
    """A file, or two, as they are called from anywhere; anything else as it is."""
    files = pairs.two_files(source) or (source,)
    return (
        ",".join(str(Path(file).resolve()) for file in files)
        if all(Path(file).exists() for file in files)
        else source
    )


def name_of(source: str) -> str:
    first = Path((pairs.two_files(source) or (source,))[0])
    return first.name.split(".")[0] or "data" if first.exists() else source


def as_share(value: str | None) -> float | None:
    try:
        share = float(value)
    except (TypeError, ValueError):
        return None
    if not 0 <= share < 0.9:
        raise Mistake(
            "a share of {share} was asked for; expected a file, or a number from 0 to 0.9.",
            share=value,
        )
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


def says_no_task(table: Table, tasks: dict[str, type]) -> str:
    """A sentence on columns from which no task can be told that a rung does; empty where one can."""
    if any(kind.fits(table.names) for kind in tasks.values()):
        return ""
    own = [table.own.get(name, name) for name in table.names]  # as the file calls them
    names = listed(table.every or table.names)
    return Message(
        "{file} has the columns {names}, which say no task; to classify, name a text and a label: --columns "
        "text={first},label={last}; to regress, the numbers and a target; to tag, tokens and tags; to generate, a "
        "text alone; to compose, say --task compose.",
        file=table.source,
        names=names,
        first=short(own[0]),
        last=short(own[-1]),
    )
