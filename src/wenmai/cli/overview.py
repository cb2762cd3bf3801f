"""Overviews for the terminal: the ladder, a rung's options, a data set. Each is shown as tables, or given as JSON.

The JSON is the same in every language; only what is shown is translated.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np
from rich.table import Table
from rich.text import Text

from wenmai.chinese import in_chinese
from wenmai.data.dataset import Dataset
from wenmai.data.files import readers
from wenmai.data.text import schemes
from wenmai.options import accepted
from wenmai.page.pictures import metric_name
from wenmai.page.terminal import console
from wenmai.tasks.overviews import FIRST, plain

WORDS = {
    "rung": "级", "tasks": "任务", "what it is": "是什么", "name": "名称", "option": "选项", "default": "默认", "type": "类型",
    "task": "任务", "class": "类别", "rows": "行数", "share": "占比", "about": "说明",
    "tag": "标签", "tokens": "词元", "span": "片段类型", "spans": "片段数", "number": "数值", "column": "列",
    "least": "最小", "mean": "平均", "most": "最大", "shortest": "最短", "median": "中位数", "longest": "最长",
    "texts": "文本", "pairs of texts": "文本对", "images": "图像", "numbers": "数值", "sequences of numbers": "数值序列",
    "train": "训练", "valid": "验证", "test": "测试", "row": "行", "unknown": "无法判断", "target": "目标值",
    # sentences, with places for what is counted
    "task {task}, {rows} rows, {inputs}": "任务 {task}，{rows} 行，输入为{inputs}",
    "a word": "每词", "a character": "每字", "a subword": "每子词", "a byte": "每字节",
    "{source}: {rows} rows": "{source}：{rows} 行",
    "task {task}, {rows} rows: {inputs} in, {texts} different texts out":
        "任务 {task}，{rows} 行：输入为{inputs}，输出为 {texts} 种不同的文本",
    "label": "标签", "labels": "标签", "sources": "源文", "targets": "目标文",
    "task {task}, {rows} pairs of texts: {sources} different sources, {targets} different targets":
        "任务 {task}，{rows} 对文本：{sources} 种不同的源，{targets} 种不同的目标",
    "{side}, length in characters: {lengths}": "{side}，长度（字符）：{lengths}",
    "{side}, languages: {shares}": "{side}，语言：{shares}",
    "task {task}, running text: {rows} lines, {words} words between spaces, {bytes} bytes":
        "任务 {task}，连续文本：{rows} 行，以空格分开的词 {words} 个，{bytes} 字节",
    "columns: {}": "列：{}", "parts: {}": "划分：{}", "languages: {}": "语言：{}",
    "length in characters: {}": "长度（字符）：{}", "length in tokens: {}": "长度（词元）：{}",
    "length in steps: {}": "长度（步）：{}", ", and {} more": "，另有 {} 项",
}  # fmt: skip
MOST = 30  # lines of a table
INPUTS = ("texts", "pairs of texts", "images", "numbers", "sequences of numbers", "tokens", "labels")
COUNTED = (("classes", "class", "rows"), ("labels", "label", "rows"), ("spans", "span", "spans"), ("tags", "tag", "tokens"))


def say(lang: str, text: str, *values, **named) -> str:
    return (WORDS.get(text, text) if lang == "zh" else text).format(*values, **named)


def listed(lang: str, items) -> str:
    return ("，" if lang == "zh" else ", ").join(items)


def noted(notes: list[str], lang: str) -> list[str]:
    return [in_chinese(note) for note in notes] if lang == "zh" else notes


def scored(part: str, scores: dict[str, float], lang: str, unit: str = "") -> str:
    """'valid: accuracy 0.6047, macro f1 0.5220'; a perplexity is one of a word, a subword, a character or a byte."""
    names = {name: metric_name(name, lang) if lang == "zh" else name.replace("_", " ") for name in scores}
    values = {name: "∞" if value == inf else f"{value:.4f}" for name, value in scores.items()}
    for name in (name for name in values if unit and name.startswith("perplexity")):
        values[name] += f"（{say(lang, f'a {unit}')}）" if lang == "zh" else f" a {unit}"
    told = listed(lang, (f"{names[name]} {value}" for name, value in values.items()))
    return f"{say(lang, part)}{'：' if lang == 'zh' else ': '}{told}"


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
        table.add_column(say(lang, header), overflow="fold")
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
    """Task, columns, rows, lengths, languages, what the answers are, the first rows, and everything worth a warning: whatever the
    task tells of the data."""
    facts = data.task.profile.describe(data)
    lines = [headline(facts, lang)]
    if facts["columns"] and not data.task.running_text:
        lines.append(say(lang, "columns: {}", some(facts["columns"], lang)))
    if len(facts["parts"]) > 1:
        parts = listed(lang, (f"{say(lang, name)} {rows:,}" for name, rows in facts["parts"].items()))
        lines.append(say(lang, "parts: {}", parts))
    for unit in ("characters", "tokens", "steps"):
        if unit in facts:
            lines.append(say(lang, f"length in {unit}: {{}}", in_words(facts[unit], lang)))
    if facts.get("languages"):
        lines.append(say(lang, "languages: {}", shares(facts["languages"], lang)))
    for name, side in facts.get("sides", {}).items():
        word, lengths = say(lang, f"{name}s"), in_words(side["characters"], lang)
        lines.append(say(lang, "{side}, length in characters: {lengths}", side=word, lengths=lengths))
        if set(side["languages"]) != {""}:  # of numbers and dates there is nothing to say
            lines.append(say(lang, "{side}, languages: {shares}", side=word, shares=shares(side["languages"], lang)))
    lines += noted(facts["notes"], lang)
    for at, row in enumerate(facts["first"]):
        given, *target = row.values()
        lines.append(" → ".join([f"  {given[:100]!r}", *(answer(data.train.inputs[at], one) for one in target)]))
    return Overview(facts, [table for table in tables_of(facts, lang) if table.row_count], lines)


def headline(facts: dict, lang: str) -> str:
    """The task, and how much there is of what."""
    task, rows = facts["task"], f"{facts['rows']:,}"
    if "words" in facts:
        return say(lang, "task {task}, running text: {rows} lines, {words} words between spaces, {bytes} bytes", task=task,
                   rows=rows, words=f"{facts['words']:,}", bytes=f"{facts['bytes']:,}")  # fmt: skip
    if "sides" in facts:
        sources, targets = (f"{side['texts']:,}" for side in facts["sides"].values())
        return say(lang, "task {task}, {rows} pairs of texts: {sources} different sources, {targets} different targets",
                   task=task, rows=rows, sources=sources, targets=targets)  # fmt: skip
    kind = next(kind for kind in INPUTS if facts["inputs"].startswith(kind))
    inputs = say(lang, kind) + facts["inputs"].removeprefix(kind)
    if "texts" in facts:
        return say(lang, "task {task}, {rows} rows: {inputs} in, {texts} different texts out", task=task, rows=rows,
                   inputs=inputs, texts=f"{facts['texts']:,}")  # fmt: skip
    return say(lang, "task {task}, {rows} rows, {inputs}", task=task, rows=rows, inputs=inputs)


def tables_of(facts: dict, lang: str) -> Iterator[Table]:
    """Counts of labels, counts of tags and spans, or the least, mean and most of numbers."""
    for counts, name, unit in COUNTED:
        if counts in facts:
            yield counted(facts[counts], lang, name, unit)
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
    shown = grid(lang, "column", *(f"{say(lang, 'row')} {row}" for row in range(1, count + 1)))
    for name, values in list(first.items())[:MOST]:
        fill(shown, name, *values)
    lines = [say(lang, "{source}: {rows} rows", source=data.source, rows=f"{rows:,}")]
    lines += [say(lang, "columns: {}", some(data.names, lang)), *noted([*data.notes, sentence], lang)]
    return Overview(known, [shown], lines)


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
        found, between = schemes.read([target]), "" if all(len(token) == 1 for token in value) else " "
        text = "; ".join(f"{found.kinds[kind]} {between.join(value[first : last + 1])}"
                         for first, last, kind in zip(found.first, found.last, found.kind)) or "O"  # fmt: skip
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


def in_words(lengths: dict[str, int], lang: str) -> str:
    return listed(lang, (f"{say(lang, name)} {value:,}" for name, value in lengths.items()))


def shares(languages: dict[str, float], lang: str) -> str:
    codes = [f"{code or say(lang, 'unknown')} {share:.1%}" for code, share in languages.items() if share >= 0.005]
    return some(codes, lang, 6)


def some(names: list[str], lang: str, most: int = 12) -> str:
    more = say(lang, ", and {} more", len(names) - most) if len(names) > most else ""
    return listed(lang, names[:most]) + more
