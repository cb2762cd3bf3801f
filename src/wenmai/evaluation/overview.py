"""Overviews for the terminal: the ladder, a rung's options, a data set. Each is shown as tables, or given as JSON."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table

from wenmai.data.dataset import Dataset
from wenmai.evaluation.terminal import console
from wenmai.options import accepted

WORDS = {
    "rung": "级", "tasks": "任务", "what it is": "是什么", "name": "名称", "option": "选项", "default": "默认", "type": "类型",
    "task": "任务", "class": "类别", "rows": "行数", "share": "占比", "about": "说明",
}  # fmt: skip


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(WORDS.get(header, header) if lang == "zh" else header, overflow="fold")
    return table


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
    return Overview({"rung": estimator.rung, "options": known}, tables)


def builtin_sets(sets, lang: str) -> Overview:
    table = grid(lang, "name", "task", "about")
    for data in sets:
        table.add_row(data.name, data.task, data.about_zh if lang == "zh" else data.about)
    return Overview({"builtin": [{"name": d.name, "task": d.task, "about": d.about} for d in sets]}, [table])


def data_set(data: Dataset, lang: str) -> Overview:
    """Task, rows, lengths, classes, the first rows, and everything worth a warning."""
    inputs, targets = data.train.inputs, data.train.targets
    counts = Counter(targets).most_common()
    if isinstance(inputs, np.ndarray):
        about = {"inputs": f"{'images' if inputs.ndim > 2 else 'numbers'} {' × '.join(map(str, inputs.shape[1:]))}"}
    else:
        lengths = np.array([sum(map(len, text)) if isinstance(text, tuple) else len(text) for text in inputs])
        spread = {"shortest": int(lengths.min()), "median": int(np.median(lengths)), "longest": int(lengths.max())}
        about = {"inputs": "pairs of texts" if isinstance(inputs[0], tuple) else "texts", "characters": spread}
    table = grid(lang, "class", "rows", "share")
    for label, count in counts[:30]:
        table.add_row(str(label), f"{count:,}", f"{count / len(targets):.1%}")
    first = [{"input": data.task.shown(inputs[row]), "target": targets[row]} for row in range(min(3, len(inputs)))]
    known = {"source": data.train.source, "task": data.task.name, "rows": len(data.train), **about, "classes": dict(counts),
             "notes": data.notes, "first": first}  # fmt: skip
    lines = [f"task {data.task.name}, {len(data.train):,} rows, {about['inputs']}"]
    if "characters" in about:
        lines.append("length in characters: " + ", ".join(f"{name} {value:,}" for name, value in about["characters"].items()))
    lines += data.notes + [f"  {row['input'][:100]!r} → {row['target']}" for row in first]
    return Overview(known, [table], lines)
