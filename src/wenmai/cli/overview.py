"""Overviews for the terminal: the ladder, a rung's options, a data set. Each is shown as tables, or given as JSON.

The JSON is the same in every language; only what is shown is translated."""

from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from wenmai.data.dataset import Dataset
from wenmai.data.files import readers
from wenmai.data.text import schemes
from wenmai.errors import typed
from wenmai.explanations import explained
from wenmai.locale import Listed, Message, phrase, phrases, told_in
from wenmai.locale.theirs import Theirs
from wenmai.options import accepted
from wenmai.page.pictures import METRICS, compact
from wenmai.page.terminal import console
from wenmai.tasks.overviews import FIRST, plain

WORDS = phrases(
    "overview",  # heads of tables, kinds of inputs, parts, units
    "rung",
    "tasks",
    "what it is",
    "name",
    "option",
    "default",
    "type",
    "task",
    "class",
    "rows",
    "share",
    "about",
    "tag",
    "tokens",
    "span",
    "spans",
    "number",
    "column",
    "least",
    "mean",
    "most",
    "shortest",
    "median",
    "longest",
    "texts",
    "pairs of texts",
    "images",
    "numbers",
    "sequences of numbers",
    "sounds",
    "train",
    "valid",
    "test",
    "row",
    "unknown",
    "target",
    "a word",
    "a character",
    "a subword",
    "a byte",
    "label",
    "labels",
    "sources",
    "targets",
    "what it means",
    "contexts",
    "questions",
    "run",
    "data",
    "score",
    "size",
    "when",
    "unfinished",
    "damaged",
)
OWNERS = phrases("owner", "fitting", "inputs", "tokens", "task", "rung", "training")  # of options
UNITS = phrases("length", "characters", "tokens", "steps", "milliseconds")
INPUTS = (
    "texts",
    "pairs of texts",
    "images",
    "numbers",
    "sequences of numbers",
    "tokens",
    "labels",
    "sounds",
)
COUNTED = (
    ("classes", "class", "rows"),
    ("labels", "label", "rows"),
    ("spans", "span", "spans"),
    ("tags", "tag", "tokens"),
)
MOST = 30  # lines of a table


def listed(items) -> Message:
    return Listed(items, phrase("overview", ", "))


def counts(parts: dict[str, int]) -> Message:
    """'train 90, valid 10'"""
    return listed(
        Message("{name} {count:,}", name=WORDS[name], count=count) for name, count in parts.items()
    )


def shares(spoken: dict[str, float]) -> Message:
    """'en 98.0%, unknown 2.0%'"""
    return some(
        [
            Message("{name} {share:.1%}", name=code or WORDS["unknown"], share=share)
            for code, share in spoken.items()
            if share >= 0.005
        ],
        6,
    )


def metric_name(name: str) -> Message:
    """'macro f1': a key of scores, as it is said."""
    return Theirs(name.replace("_", " "), METRICS.get(name))


def scored(part: str, scores: dict[str, float], lang: str, unit: str = "") -> str:
    """'valid: accuracy 0.6047, macro f1 0.5220'; a perplexity is one of a word, a subword, a character or a byte."""
    values = []
    for name, score in scores.items():
        metric, value = metric_name(name), "∞" if score == inf else f"{score:.4f}"
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
        table.add_column(
            told_in(header if isinstance(header, Message) else WORDS[header], lang), overflow="fold"
        )
    return table


def fill(table: Table, *cells) -> None:
    """A row of cells as they are: [brackets] of a user's data are no markup."""
    table.add_row(*(Text(str(cell)) for cell in cells))


def listing(name: str, rows: list[dict], lang: str, *headers: str) -> Overview:
    """What is told of each, and what it is about, under these WORDS."""
    table = grid(lang, *headers)
    for row in rows:
        cells = [
            ", ".join(value) if isinstance(value, list) else value
            for value in list(row.values())[: len(headers) - 1]
        ]
        table.add_row(*cells, row["about_zh" if lang == "zh" else "about"])
    return Overview({name: rows}, [table])


def ladder(rungs, lang: str) -> Overview:
    known = [
        {"rung": r.name, "tasks": list(r.tasks), "about": r.about, "about_zh": r.about_zh}
        for r in rungs
    ]
    return listing("rungs", known, lang, "rung", "tasks", "what it is")


def options_of(estimator, lang: str) -> Overview:
    """Every option of a rung, by who takes it."""
    from wenmai.describing import kind_in_words  # which loads what learns

    known, tables = {}, []
    for owner, function in estimator._owners().items():
        table = grid(lang, "option", "default", "type", "what it means")
        for name, option in accepted(function).items():
            kind, about = kind_in_words(option), explained(name, estimator.rung)
            fill(table, name, option.default, kind, told_in(about, lang))
            known[name] = {
                "default": option.default,
                "type": kind,
                "of": owner,
                "about": about,
                "about_zh": told_in(about, "zh"),
            }
        if table.row_count:
            table.title, table.title_justify = OWNERS[owner].told_in(lang), "left"
            tables.append(table)
    return Overview({"rung": estimator.rung, "task": estimator.task_name, "options": known}, tables)


def builtin_sets(sets, lang: str) -> Overview:
    known = [
        {"name": data.name, "task": data.task, "about": data.about, "about_zh": data.about.chinese}
        for data in sets
    ]
    return listing("builtin", known, lang, "name", "task", "about")


def runs(folder, known: list[dict], lang: str) -> Overview:
    """A line for each, the newest last."""
    table, lines = grid(lang, "run", "task", "data", "score", "size", "when"), []
    for run in known:
        if run["state"] == "finished":
            fill(
                table,
                run["run"],
                run["task"],
                Path(str(run["data"] or "–")).name,
                main_score(run, lang),
                f"{compact(run['bytes'])}B",
                run["when"],
            )
        else:
            fill(
                table,
                run["run"],
                WORDS[run["state"]].told_in(lang),
                "–",
                "–",
                f"{compact(run['bytes'])}B",
                run["when"],
            )
    lines += (
        [Message("{folder} holds no runs; wenmai train makes one.", folder=folder)]
        if not known
        else []
    )
    lines += [
        Message(
            "{run} was not finished; go on with: wenmai train --resume {place}",
            run=run["run"],
            place=typed(Path(run["run"])),
        )
        for run in known
        if run["state"] == "unfinished"
    ]
    return Overview(
        {"runs": known}, [table] if known else [], [told_in(line, lang) for line in lines]
    )


def main_score(run: dict, lang: str) -> str:
    """The first metric of the last part that was scored: 'accuracy 0.8123 (test)'."""
    scores = run["scores"] if isinstance(run["scores"], dict) else {}
    for part in ("test", "valid"):
        for name, score in (scores.get(part) or {}).items():
            if isinstance(score, (int, float)):
                score_line = Message(
                    "{metric} {score:.4f} ({part})",
                    metric=metric_name(name),
                    score=score,
                    part=WORDS[part],
                )
                return score_line.told_in(lang)
    return "–"


def run(known: dict, lang: str) -> Overview:
    """All of one, a line a fact."""
    options = [f"{name}={value}" for name, value in (known["options"] or {}).items()]
    columns = [f"{word}={name}" for word, name in known["columns"].items()]
    scores = known["scores"] if isinstance(known["scores"], dict) else {}
    task = phrase("task", known["task"])
    lines = [
        Message(
            "{run}: the rung {rung}, to {task}", run=known["run"], rung=known["rung"], task=task
        ),
        known["about_zh" if lang == "zh" else "about"],
        Message(
            "kept {when}, by wenmai {version}; {size} on disk",
            when=known["when"],
            version=known["wenmai"],
            size=f"{compact(known['bytes'])}B",
        ),
    ]
    if known["data"]:
        lines.append(Message("trained on {data}", data=known["data"]))
    if columns:
        lines.append(Message("columns: {columns}", columns=listed(columns)))
    if options:
        lines.append(Message("options given: {options}", options=listed(options)))
    if isinstance(known["seconds"], (int, float)):
        lines.append(Message("training took {seconds:.1f} s", seconds=known["seconds"]))
    lines += [scored(part, scores[part], lang) for part in ("valid", "test") if scores.get(part)]
    lines += [Message("next:"), *(f"  {command}" for command in known["next"])]
    return Overview(known, [], [told_in(line, lang) for line in lines])


def probes(known, lang: str) -> Overview:
    rows = [
        {"name": p.name, "about": p.about, "about_zh": p.about.chinese, "data": p.data}
        for p in known
    ]
    return listing("probes", rows, lang, "name", "about")


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
            lines.append(
                Message("length in {unit}: {lengths}", unit=words, lengths=counts(facts[unit]))
            )
    if facts.get("languages"):
        lines.append(Message("languages: {shares}", shares=shares(facts["languages"])))
    for name, side in facts.get("sides", {}).items():
        words = WORDS[f"{name}s"]
        lines.append(
            Message(
                "{side}, length in characters: {lengths}",
                side=words,
                lengths=counts(side["characters"]),
            )
        )
        if set(side["languages"]) != {""}:  # of numbers and dates there is nothing to say
            lines.append(
                Message("{side}, languages: {shares}", side=words, shares=shares(side["languages"]))
            )
    lines += facts["notes"]
    for at, row in enumerate(facts["first"]):
        first, *target = row.values()
        lines.append(
            " → ".join(
                [f"  {first[:100]!r}", *(answer(data.train.inputs[at], one) for one in target)]
            )
        )
    tables = [
        counted(facts[name], lang, what, unit) for name, what, unit in COUNTED if name in facts
    ]
    tables += [numbers(facts["targets"], lang)] if "targets" in facts else []
    return Overview(
        facts,
        [table for table in tables if table.row_count],
        [told_in(line, lang) for line in lines],
    )


def headline(facts: dict) -> Message:
    """The task, and how much there is of what."""
    known = {"task": facts["task"], "rows": facts["rows"]}
    if "words" in facts:
        return Message(
            "task {task}, running text: {rows:,} lines, {words:,} words between spaces, {bytes:,} bytes",
            **known,
            words=facts["words"],
            bytes=facts["bytes"],
        )
    if "sides" in facts:
        sources, targets = (side["texts"] for side in facts["sides"].values())
        if "question" in facts["sides"]:
            return Message(
                "task {task}, {rows:,} rows: {contexts:,} different contexts, {questions:,} different questions",
                **known,
                contexts=sources,
                questions=targets,
            )
        return Message(
            "task {task}, {rows:,} pairs of texts: {sources:,} different sources, {targets:,} different targets",
            **known,
            sources=sources,
            targets=targets,
        )
    if "texts" in facts:
        return Message(
            "task {task}, {rows:,} rows: {inputs} in, {texts:,} different texts out",
            **known,
            inputs=kind_in_words(facts["inputs"]),
            texts=facts["texts"],
        )
    return Message(
        "task {task}, {rows:,} rows, {inputs}", **known, inputs=kind_in_words(facts["inputs"])
    )


def table(data: readers.Table, sentence: str, lang: str) -> Overview:
    """A file that says no task: its columns and first rows, and the sentence that says what is missing."""
    rows, first = 0, {name: [] for name in data.names}
    for chunk in data.chunks():
        for name, values in first.items():
            values += [shortened(value) for value in chunk.columns[name][: max(0, FIRST - rows)]]
        rows += len(chunk)
    count = min(rows, FIRST)
    known = {
        "source": data.source,
        "task": None,
        "columns": data.names,
        "rows": rows,
        "notes": [*data.notes, sentence],
        "first": [{name: values[row] for name, values in first.items()} for row in range(count)],
    }
    shown = grid(
        lang,
        "column",
        *(Message("{name} {count:,}", name=WORDS["row"], count=row) for row in range(1, count + 1)),
    )
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
        fill(
            table,
            number if len(targets) > 1 else "",
            *(f"{value:,.6g}" for value in column.values()),
        )
    return table


# What a reader sees of a value


def answer(value, target) -> str:
    """A target on one line; of tags, the spans they mark in the tokens."""
    if (
        isinstance(value, list)
        and isinstance(target, list)
        and target
        and schemes.marks(set(target)) == set(target)
    ):
        spans, between = (
            schemes.read([target]),
            "" if all(len(token) == 1 for token in value) else " ",
        )
        text = (
            "; ".join(
                f"{spans.kinds[kind]} {between.join(value[first : last + 1])}"
                for first, last, kind in zip(spans.first, spans.last, spans.kind)
            )
            or "O"
        )
    elif isinstance(target, list):
        text = " ".join(
            item if isinstance(item, str) else f"{item:g}" for item in np.ravel(target).tolist()
        )
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
