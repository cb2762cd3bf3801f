"""Overviews for the terminal: the ladder, a rung's options, a data set. Each is shown as tables, or given as JSON.

The JSON is the same in every language; only what is shown is translated.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from math import fsum, inf

import numpy as np
from rich.table import Table
from rich.text import Text

from wenmai.data.dataset import Dataset
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files import readers
from wenmai.data.files.corpus import Corpus
from wenmai.data.text import schemes
from wenmai.data.text.languages import languages_in
from wenmai.locale import Listed, Message, phrase, told_in
from wenmai.locale.theirs import Theirs
from wenmai.options import accepted
from wenmai.page.pictures import METRICS
from wenmai.page.terminal import console
from wenmai.tasks.columns import shown as as_shown

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
FIRST, MOST = 3, 30  # rows shown, and lines of a table


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
    found = []
    for name, score in scores.items():
        metric, value = Theirs(name.replace("_", " "), METRICS.get(name)), "∞" if score == inf else f"{score:.4f}"
        if unit and name.startswith("perplexity"):
            value = Message("{value} {unit}", value=value, unit=WORDS[f"a {unit}"])
        found.append(Message("{name} {value}", name=metric, value=value))
    return Message("{part}: {scores}", part=WORDS[part], scores=listed(found)).told_in(lang)


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


def ladder(rungs, lang: str) -> Overview:
    table = grid(lang, "rung", "tasks", "what it is")
    for rung in rungs:
        table.add_row(rung.name, ", ".join(rung.tasks), rung.about_zh if lang == "zh" else rung.about)
    known = [{"rung": r.name, "tasks": list(r.tasks), "about": r.about, "about_zh": r.about_zh} for r in rungs]
    return Overview({"rungs": known}, [table])


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
    table = grid(lang, "name", "task", "about")
    for data in sets:
        table.add_row(data.name, data.task, data.about_zh if lang == "zh" else data.about)
    known = [{"name": data.name, "task": data.task, "about": data.about, "about_zh": data.about_zh} for data in sets]
    return Overview({"builtin": known}, [table])


def probes(known, lang: str) -> Overview:
    table = grid(lang, "name", "about")
    for probe in known:
        table.add_row(probe.name, probe.about_zh if lang == "zh" else probe.about)
    rows = [{"name": p.name, "about": p.about, "about_zh": p.about_zh, "data": p.data} for p in known]
    return Overview({"probes": rows}, [table])


def data_set(data: Dataset, lang: str) -> Overview:
    """Task, columns, rows, lengths, languages, what the answers are, the first rows, and everything worth a warning."""
    if isinstance(data.train.inputs, Corpus):
        return running_text(data, lang)
    inputs, targets, task = data.train.inputs, data.train.targets, data.task
    if task.name == "compose":
        return to_write(data, lang)
    if task.name == "translate":
        return two_sides(data, lang)
    parts = {name: len(part) for name in ("train", "valid", "test") if (part := getattr(data, name)) is not None}
    columns = list(getattr(data, "columns", None) or ())
    kind, shape, unit, spread = kind_of(inputs)
    spoken = languages_of(inputs)
    answers, tables = answers_of(targets, lang)
    first = [{"input": as_shown(inputs[row]), "target": plain(targets[row])} for row in range(min(FIRST, len(inputs)))]
    known = {"source": data.train.source, "task": task.name, "columns": columns, "rows": len(data.train), "parts": parts,
             "inputs": f"{kind} {shape}".strip(), **({unit: spread} if unit else {}), "languages": spoken, **answers,
             "notes": data.notes, "first": first}  # fmt: skip
    lines = [Message("task {task}, {rows:,} rows, {inputs}", task=task.name, rows=len(data.train),
                     inputs=kind_in_words(kind, shape))]  # fmt: skip
    if columns:
        lines.append(Message("columns: {columns}", columns=some(columns)))
    if len(parts) > 1:
        lines.append(Message("parts: {parts}", parts=counts(parts)))
    if unit:
        lines.append(Message("length in {unit}: {lengths}", unit=UNITS[unit], lengths=counts(spread)))
    if spoken:
        lines.append(Message("languages: {shares}", shares=shares(spoken)))
    lines += data.notes
    lines += [f"  {row['input'][:100]!r} → {answer(inputs[at], row['target'])}" for at, row in enumerate(first)]
    return Overview(known, [table for table in tables if table.row_count], in_language(lines, lang))


def running_text(data: Dataset, lang: str) -> Overview:
    """Its lines, words between spaces and bytes, and how it begins."""
    parts = {name: len(part) for name in ("train", "valid", "test") if (part := getattr(data, name)) is not None}
    text = data.train.inputs
    words, first = sum(len(block.split()) for block in text.blocks()), list(islice(text, FIRST))
    sample = list(islice(text, 5000))
    spoken, spread = languages_of(sample), spread_of(sample)
    known = {"source": data.train.source, "task": data.task.name, "columns": ["text"], "rows": len(text), "parts": parts,
             "inputs": "running text", "words": words, "bytes": text.size, "characters": spread, "languages": spoken,
             "notes": data.notes, "first": [{"input": as_shown(line)} for line in first]}  # fmt: skip
    lines = [Message("task {task}, running text: {rows:,} lines, {words:,} words between spaces, {bytes:,} bytes",
                     task=data.task.name, rows=len(text), words=words, bytes=text.size)]  # fmt: skip
    if len(parts) > 1:
        lines.append(Message("parts: {parts}", parts=counts(parts)))
    lines += [Message("length in {unit}: {lengths}", unit=UNITS["characters"], lengths=counts(spread)),
              Message("languages: {shares}", shares=shares(spoken)), *data.notes]  # fmt: skip
    return Overview(known, [], in_language(lines, lang) + [f"  {as_shown(line)[:100]!r}" for line in first])


def to_write(data: Dataset, lang: str) -> Overview:
    """What is read, how often each label, and of the texts that are written how long they are and in which languages."""
    inputs, texts = data.train.inputs, data.train.targets
    parts = {name: len(part) for name in ("train", "valid", "test") if (part := getattr(data, name)) is not None}
    kind, shape, _, _ = kind_of(inputs)
    kind = "labels" if kind == "texts" else kind
    labels = dict(Counter(inputs).most_common()) if kind == "labels" else {}
    spread, spoken = spread_of(texts), languages_of(texts)
    first = [{"input": as_shown(inputs[row]), "target": texts[row]} for row in range(min(FIRST, len(texts)))]
    known = {"source": data.train.source, "task": data.task.name, "columns": data.columns, "rows": len(texts), "parts": parts,
             "inputs": f"{kind} {shape}".strip(), **({"labels": labels} if labels else {}), "texts": len(set(texts)),
             "characters": spread, "languages": spoken, "notes": data.notes, "first": first}  # fmt: skip
    lines = [Message("task {task}, {rows:,} rows: {inputs} in, {texts:,} different texts out", task=data.task.name,
                     rows=len(texts), inputs=kind_in_words(kind, shape), texts=len(set(texts))),
             Message("columns: {columns}", columns=some(data.columns))]  # fmt: skip
    if len(parts) > 1:
        lines.append(Message("parts: {parts}", parts=counts(parts)))
    lines += [Message("length in {unit}: {lengths}", unit=UNITS["characters"], lengths=counts(spread)),
              Message("languages: {shares}", shares=shares(spoken)), *data.notes]  # fmt: skip
    lines += [f"  {row['input'][:100]!r} → {answer(None, row['target'])}" for row in first]
    return Overview(known, [counted(labels, lang, "label", "rows")] if labels else [], in_language(lines, lang))


def two_sides(data: Dataset, lang: str) -> Overview:
    """Of sources and of targets how many there are, how long, and in which languages; and the first pairs."""
    sides = {"source": data.train.inputs, "target": data.train.targets}
    parts = {name: len(part) for name in ("train", "valid", "test") if (part := getattr(data, name)) is not None}
    known = {name: {"texts": len(set(texts)), "characters": spread_of(texts), "languages": languages_of(texts)}
             for name, texts in sides.items()}  # fmt: skip
    lines = [Message("task {task}, {rows:,} pairs of texts: {sources:,} different sources, {targets:,} different targets",
                     task=data.task.name, rows=len(data.train), sources=known["source"]["texts"],
                     targets=known["target"]["texts"]),
             Message("columns: {columns}", columns=some(data.columns))]  # fmt: skip
    if len(parts) > 1:
        lines.append(Message("parts: {parts}", parts=counts(parts)))
    for name, found in known.items():
        side = WORDS[f"{name}s"]
        lines.append(Message("{side}, length in characters: {lengths}", side=side, lengths=counts(found["characters"])))
        if set(found["languages"]) != {""}:  # of numbers and dates there is nothing to say
            lines.append(Message("{side}, languages: {shares}", side=side, shares=shares(found["languages"])))
    first = [{name: as_shown(texts[row]) for name, texts in sides.items()} for row in range(min(FIRST, len(data.train)))]
    lines += [*data.notes, *(f"  {row['source'][:100]!r} → {answer(None, row['target'])}" for row in first)]
    known = {"source": data.train.source, "task": data.task.name, "columns": data.columns, "rows": len(data.train),
             "parts": parts, "inputs": "texts", "sides": known, "notes": data.notes, "first": first}  # fmt: skip
    return Overview(known, [], in_language(lines, lang))


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
    return Overview(known, [shown], in_language(lines, lang))


# What the inputs are


def kind_of(inputs) -> tuple[str, str, str, dict]:
    """In words: what they are, the shape of one, what its length is counted in, and how long they are."""
    if isinstance(inputs, np.ndarray):
        return "images" if inputs.ndim > 2 else "numbers", " × ".join(map(str, inputs.shape[1:])), "", {}
    one = inputs[0]
    if isinstance(one, np.ndarray):
        return "sequences of numbers", " × ".join(map(str, one.shape[1:] or (1,))), "steps", spread_of(inputs)
    if isinstance(one, list):
        return "tokens", "", "tokens", spread_of(inputs)
    if isinstance(one, tuple):
        return "pairs of texts", "", "characters", spread_of([a + b for a, b in inputs])
    return "texts", "", "characters", spread_of(inputs)


def spread_of(values) -> dict[str, int]:
    lengths = np.fromiter((len(value) for value in values), np.int64, len(values))
    return {"shortest": int(lengths.min()), "median": int(np.median(lengths)), "longest": int(lengths.max())}


def languages_of(inputs) -> dict[str, float]:
    if isinstance(inputs, (np.ndarray, Sequences)) or isinstance(inputs[0], np.ndarray):
        return {}
    texts = inputs if isinstance(inputs[0], str) else [" ".join(value) for value in inputs]
    return {code: round(share, 4) for code, share in languages_in(texts).items()}


# What the answers are


def answers_of(targets, lang: str) -> tuple[dict, list[Table]]:
    """Counts of labels, counts of tags and spans, or the least, mean and most of numbers."""
    if isinstance(targets, (np.ndarray, Sequences)) or isinstance(targets[0], (np.ndarray, float, int)):
        return numbers_of(targets, lang)
    if isinstance(targets[0], str):
        counts = dict(Counter(targets).most_common())
        return {"classes": counts}, [counted(counts, lang, "class", "rows")]
    tags = dict(Counter(chain.from_iterable(targets)).most_common())
    if not spanned(tags):
        return {"tags": tags}, [counted(tags, lang, "tag", "tokens")]
    found = schemes.read(targets)
    spans = dict(Counter(found.kinds[kind] for kind in found.kind.tolist()).most_common())
    return {"tags": tags, "spans": spans}, [counted(spans, lang, "span", "spans"), counted(tags, lang, "tag", "tokens")]


def counted(counts: dict[str, int], lang: str, what: str, unit: str) -> Table:
    table, total = grid(lang, what, unit, "share"), sum(counts.values())
    for name, count in list(counts.items())[:MOST]:
        fill(table, name, f"{count:,}", f"{count / total:.1%}")
    if len(counts) > MOST:
        fill(table, f"… {len(counts) - MOST:,}", f"{sum(list(counts.values())[MOST:]):,}")
    return table


def numbers_of(targets, lang: str) -> tuple[dict, list[Table]]:
    if isinstance(targets, Sequences):
        flat = targets.flat
    elif isinstance(targets, np.ndarray):
        flat = targets
    else:
        flat = np.concatenate([np.atleast_1d(np.asarray(value, np.float64)) for value in targets])
    flat = flat[:, None] if flat.ndim == 1 else flat.reshape(len(flat), -1)  # (ΣT, K)
    known = [{"least": float(column.min()), "mean": fsum(column) / len(column), "most": float(column.max())} for column in flat.T]
    table = grid(lang, "target", "least", "mean", "most")
    for number, column in enumerate(known[:MOST], 1):
        fill(table, number if len(known) > 1 else "", *(f"{value:,.6g}" for value in column.values()))
    return {"targets": known}, [table]


def spanned(tags) -> bool:
    """Whether these tags mark spans, as B-PER and I-PER do."""
    return schemes.marks(set(tags)) == set(tags)


# What a reader sees of a value


def answer(value, target) -> str:
    """A target on one line; of tags, the spans they mark in the tokens."""
    if isinstance(value, list) and isinstance(target, list) and target and spanned(target):
        found, between = schemes.read([target]), "" if all(len(token) == 1 for token in value) else " "
        text = "; ".join(f"{found.kinds[kind]} {between.join(value[first : last + 1])}"
                         for first, last, kind in zip(found.first, found.last, found.kind)) or "O"  # fmt: skip
    elif isinstance(target, list):
        text = " ".join(item if isinstance(item, str) else f"{item:g}" for item in np.ravel(target).tolist())
    else:
        text = f"{target:g}" if isinstance(target, float) else str(target)
    return text if len(text) <= 100 else text[:99] + "…"


def plain(value):
    """As JSON writes it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


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


def kind_in_words(kind: str, shape: str) -> Message:
    return Message("{name} {shape}", name=WORDS[kind], shape=shape) if shape else WORDS[kind]


def in_language(lines: list[str], lang: str) -> list[str]:
    return [told_in(line, lang) for line in lines]
