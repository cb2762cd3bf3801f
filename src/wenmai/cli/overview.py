"""Overviews for the terminal: the ladder, a rung's options, a data set. Each is shown as tables, or given as JSON.

The JSON is the same in every language; only what is shown is translated."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np
from rich.table import Table
from rich.text import Text

from wenmai.data.dataset import Dataset
from wenmai.data.files import readers
from wenmai.data.text import schemes
from wenmai.locale import Listed, Message, phrase, told_in
from wenmai.locale.theirs import Theirs
from wenmai.options import accepted
from wenmai.page.pictures import METRICS
from wenmai.page.terminal import console
from wenmai.tasks.overviews import FIRST, plain

WORDS = {word.english: word for word in (  # heads of tables, kinds of inputs, parts, units
    phrase("overview", "rung"), phrase("overview", "tasks"), phrase("overview", "what it is"), phrase("overview", "name"),
    phrase("overview", "option"), phrase("overview", "default"), phrase("overview", "type"), phrase("overview", "task"),
    phrase("overview", "class"), phrase("overview", "rows"), phrase("overview", "share"), phrase("overview", "about"),
    phrase("overview", "tag"), phrase("overview", "tokens"), phrase("overview", "span"), phrase("overview", "spans"),
    phrase("overview", "number"), phrase("overview", "column"), phrase("overview", "least"), phrase("overview", "mean"),
    phrase("overview", "most"), phrase("overview", "shortest"), phrase("overview", "median"), phrase("overview", "longest"),
    phrase("overview", "texts"), phrase("overview", "pairs of texts"), phrase("overview", "images"),
    phrase("overview", "numbers"), phrase("overview", "sequences of numbers"), phrase("overview", "train"),
    phrase("overview", "valid"), phrase("overview", "test"), phrase("overview", "row"), phrase("overview", "unknown"),
    phrase("overview", "target"), phrase("overview", "a word"), phrase("overview", "a character"),
    phrase("overview", "a subword"), phrase("overview", "a byte"), phrase("overview", "label"), phrase("overview", "labels"),
    phrase("overview", "sources"), phrase("overview", "targets"),
)}  # fmt: skip
UNITS = {unit.english: unit for unit in (phrase("length", "characters"), phrase("length", "tokens"), phrase("length", "steps"))}
INPUTS = ("texts", "pairs of texts", "images", "numbers", "sequences of numbers", "tokens", "labels")
COUNTED = (("classes", "class", "rows"), ("labels", "label", "rows"), ("spans", "span", "spans"), ("tags", "tag", "tokens"))
MOST = 30  # lines of a table


def listed(items) -> Message:
    return Listed(items, phrase("overview", ", "))


def counts(parts: dict[str, int]) -> Message:
    """'train 90, valid 10'"""
    return listed(Message("{name} {count:,}", name=WORDS[name], count=count) for name, count in parts.items())


def shares(spoken: dict[str, float]) -> Message:
    """'en 98.0%, unknown 2.0%'"""
    return some([Message("{name} {share:.1%}", name=code or WORDS["unknown"], share=share)
                 for code, share in spoken.items() if share >= 0.005], 6)  # fmt: skip


def scored(part: str, scores: dict[str, float], lang: str, unit: str = "") -> str:
    """'valid: accuracy 0.6047, macro f1 0.5220'; a perplexity is one of a word, a subword, a character or a byte."""
    values = []
    for name, score in scores.items():
        metric, value = Theirs(name.replace("_", " "), METRICS.get(name)), "∞" if score == inf else f"{score:.4f}"
        if unit and name.startswith("perplexity"):
            value = Message("{value} {unit}", value=value, unit=WORDS[f"a {unit}"])
        values.append(Message("{name} {value}", name=metric, value=value))
    return Message("{part}: {scores}", part=WORDS[part], scores=listed(values)).told_in(lang)


@dataclass
class Overview:
    json: dict
    tables: list[Table]
    notes: list[str] = field(default_factory=list)

    def show(self) -> None:
        for note in self.notes:
            console.print(note, markup=False, highlight=False)
        for table in self.tables:
            console.print(table)


def grid(lang: str, *headers: str) -> Table:
    """With a column for each of these WORDS."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(told_in(header if isinstance(header, Message) else WORDS[header], lang), overflow="fold")
    return table


def fill(table: Table, *cells) -> None:
    """A row of cells as they are: [brackets] of a user's data are no markup."""
    table.add_row(*(Text(str(cell)) for cell in cells))


def listing(name: str, rows: list[dict], lang: str, *headers: str) -> Overview:
    """What is told of each, and what it is about, under these WORDS."""
    table = grid(lang, *headers)
    for row in rows:
        *cells, about, about_zh = (", ".join(value) if isinstance(value, list) else value for value in row.values())
        table.add_row(*cells, about_zh if lang == "zh" else about)
    return Overview({name: rows}, [table])


def ladder(rungs, lang: str) -> Overview:
    known = [{"rung": r.name, "tasks": list(r.tasks), "about": r.about, "about_zh": r.about_zh} for r in rungs]
    return listing("rungs", known, lang, "rung", "tasks", "what it is")


def options_of(estimator, lang: str) -> Overview:
    """Every option of a rung, by who takes it."""
    known, tables = {}, []
    for owner, function in estimator._owners().items():
        table = grid(lang, "option", "default", "type")
        for name, option in accepted(function).items():
            kind = inspect.formatannotation(option.annotation).replace("typing.", "").replace("Literal", "one of ")
            table.add_row(name, str(option.default), kind)
            known[name] = {"default": option.default, "type": kind, "of": owner}
        if table.row_count:
            table.title, table.title_justify = owner, "left"
            tables.append(table)
    return Overview({"rung": estimator.rung, "task": estimator.task_name, "options": known}, tables)


def builtin_sets(sets, lang: str) -> Overview:
    known = [{"name": data.name, "task": data.task, "about": data.about, "about_zh": data.about_zh} for data in sets]
    return listing("builtin", known, lang, "name", "task", "about")


def probes(known, lang: str) -> Overview:
    table = grid(lang, "name", "about")
    for probe in known:
        table.add_row(probe.name, probe.about_zh if lang == "zh" else probe.about)
    rows = [{"name": p.name, "about": p.about, "about_zh": p.about_zh, "data": p.data} for p in known]
    return Overview({"probes": rows}, [table])


def data_set(data: Dataset, lang: str) -> Overview:
    """Task, columns, rows, lengths, languages, what the answers are, the first rows, and everything worth a warning: whatever the
    task tells of the data."""
    facts = data.task.profile.describe(data)
    lines = [headline(facts)]
    if facts["columns"] and not data.task.running_text:
        lines.append(Message("columns: {columns}", columns=some(facts["columns"])))
    if len(facts["parts"]) > 1:
        lines.append(Message("parts: {parts}", parts=counts(facts["parts"])))
    for unit, words in UNITS.items():
        if unit in facts:
            lines.append(Message("length in {unit}: {lengths}", unit=words, lengths=counts(facts[unit])))
    if facts.get("languages"):
        lines.append(Message("languages: {shares}", shares=shares(facts["languages"])))
    for name, side in facts.get("sides", {}).items():
        words = WORDS[f"{name}s"]
        lines.append(Message("{side}, length in characters: {lengths}", side=words, lengths=counts(side["characters"])))
        if set(side["languages"]) != {""}:  # of numbers and dates there is nothing to say
            lines.append(Message("{side}, languages: {shares}", side=words, shares=shares(side["languages"])))
    lines += facts["notes"]
    for at, row in enumerate(facts["first"]):
        given, *target = row.values()
        lines.append(" → ".join([f"  {given[:100]!r}", *(answer(data.train.inputs[at], one) for one in target)]))
    tables = [table for table in tables_of(facts, lang) if table.row_count]
    return Overview(facts, tables, [told_in(line, lang) for line in lines])


def headline(facts: dict) -> Message:
    """The task, and how much there is of what."""
    known = {"task": facts["task"], "rows": facts["rows"]}
    if "words" in facts:
        return Message("task {task}, running text: {rows:,} lines, {words:,} words between spaces, {bytes:,} bytes", **known,
                       words=facts["words"], bytes=facts["bytes"])  # fmt: skip
    if "sides" in facts:
        sources, targets = (side["texts"] for side in facts["sides"].values())
        return Message("task {task}, {rows:,} pairs of texts: {sources:,} different sources, {targets:,} different targets",
                       **known, sources=sources, targets=targets)  # fmt: skip
    if "texts" in facts:
        return Message("task {task}, {rows:,} rows: {inputs} in, {texts:,} different texts out", **known,
                       inputs=kind_in_words(facts["inputs"]), texts=facts["texts"])  # fmt: skip
    return Message("task {task}, {rows:,} rows, {inputs}", **known, inputs=kind_in_words(facts["inputs"]))


def tables_of(facts: dict, lang: str) -> Iterator[Table]:
    """Counts of labels, counts of tags and spans, or the least, mean and most of numbers."""
    for name, what, unit in COUNTED:
        if name in facts:
            yield counted(facts[name], lang, what, unit)
    if "targets" in facts:
        yield numbers(facts["targets"], lang)


def table(data: readers.Table, sentence: str, lang: str) -> Overview:
    """A file that says no task: its columns and first rows, and the sentence that says what is missing."""
    rows, first = 0, {name: [] for name in data.names}
    for chunk in data.chunks():
        for name, values in first.items():
            values += [shortened(value) for value in chunk.columns[name][: max(0, FIRST - rows)]]
        rows += len(chunk)
    count = min(rows, FIRST)
    known = {"source": data.source, "task": None, "columns": data.names, "rows": rows, "notes": [*data.notes, sentence],
             "first": [{name: values[row] for name, values in first.items()} for row in range(count)]}  # fmt: skip
    shown = grid(lang, "column", *(Message("{name} {count:,}", name=WORDS["row"], count=row) for row in range(1, count + 1)))
    for name, values in list(first.items())[:MOST]:
        fill(shown, name, *values)
    lines = [Message("{source}: {rows:,} rows", source=data.source, rows=rows)]
    lines += [Message("columns: {columns}", columns=some(data.names)), *data.notes, sentence]
    return Overview(known, [shown], [told_in(line, lang) for line in lines])


def counted(counts: dict[str, int], lang: str, what: str, unit: str) -> Table:
    table, total = grid(lang, what, unit, "share"), sum(counts.values())
    for name, count in list(counts.items())[:MOST]:
        fill(table, name, f"{count:,}", f"{count / total:.1%}")
    if len(counts) > MOST:
        fill(table, f"… {len(counts) - MOST:,}", f"{sum(list(counts.values())[MOST:]):,}")
    return table


def numbers(targets: list[dict], lang: str) -> Table:
    table = grid(lang, "target", "least", "mean", "most")
    for number, column in enumerate(targets[:MOST], 1):
        fill(table, number if len(targets) > 1 else "", *(f"{value:,.6g}" for value in column.values()))
    return table


# What a reader sees of a value


def answer(value, target) -> str:
    """A target on one line; of tags, the spans they mark in the tokens."""
    if isinstance(value, list) and isinstance(target, list) and target and schemes.marks(set(target)) == set(target):
        spans, between = schemes.read([target]), "" if all(len(token) == 1 for token in value) else " "
        text = "; ".join(f"{spans.kinds[kind]} {between.join(value[first : last + 1])}"
                         for first, last, kind in zip(spans.first, spans.last, spans.kind)) or "O"  # fmt: skip
    elif isinstance(target, list):
        text = " ".join(item if isinstance(item, str) else f"{item:g}" for item in np.ravel(target).tolist())
    else:
        text = f"{target:g}" if isinstance(target, float) else str(target)
    return text if len(text) <= 100 else text[:99] + "…"


def shortened(value, most: int = 60):
    """A cell: numbers as they are, large arrays by their shape, texts and lists cut."""
    if isinstance(value, np.ndarray) and value.size > 20:
        return f"[{' × '.join(map(str, value.shape))}]"
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def some(names: list[str], most: int = 12) -> Message:
    if len(names) <= most:
        return listed(names)
    return Message("{names}, and {count} more", names=listed(names[:most]), count=len(names) - most)


def kind_in_words(inputs: str) -> Message:
    """'images 8 × 8': a kind of inputs, and the shape of one."""
    kind = next(kind for kind in INPUTS if inputs.startswith(kind))
    shape = inputs.removeprefix(kind).strip()
    return Message("{name} {shape}", name=WORDS[kind], shape=shape) if shape else WORDS[kind]
