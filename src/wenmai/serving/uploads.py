"""Data that a client sends to be trained on: looked at by the readers that files go through, and by nothing else.

What is sent is data. A table may not name files of the server's (a column of images holds paths), and a built-in set is taken by
its name alone."""

import base64
import binascii
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

from wenmai.catalog import RUNGS, TASKS, tasks_of
from wenmai.data.builtin import BUILTIN
from wenmai.data.dataset import open_dataset, open_table
from wenmai.data.files.images import NO_FILES
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message
from wenmai.page.strict_json import finite
from wenmai.serving.refusals import both

NAME = re.compile(r"[\w][\w. -]{0,80}")
ENDINGS = (
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".txt",
    ".conll",
    ".conllu",
    ".parquet",
    ".xlsx",
    ".gz",
    ".xz",
    ".zst",
    ".idx",
    ".bio",
    ".iob",
)
ROWS = 8  # that a preview shows


def file_of(name: str, text: str | None, encoded: str | None, folder: Path) -> Path:
    """The data as a file in the folder, whose name was checked."""
    bare = Path(name.replace("\\", "/")).name
    if not NAME.fullmatch(bare) or not bare.lower().endswith(ENDINGS):
        raise Mistake(
            "{name}: expected the name of a file that ends in {endings}.",
            name=name[:80],
            endings=" ".join(ENDINGS),
        )
    if (text is None) == (encoded is None):
        raise Mistake("give the data as text, or in base64: one of the two.")
    try:
        data = (
            text.encode("utf-8", "replace")
            if text is not None
            else base64.b64decode(encoded, validate=True)
        )
    except (ValueError, binascii.Error):
        raise Mistake("the data is no base64; encode the bytes of the file.") from None
    path = folder / bare
    path.write_bytes(data)
    return path


@contextmanager
def source_of(
    builtin: str | None,
    name: str | None,
    text: str | None,
    encoded: str | None,
    folder: Path | None = None,
):
    """What the readers take: a built-in set's name, or a file, which is gone at the end unless a folder is given."""
    if builtin is not None:
        if builtin.partition(":")[0] not in BUILTIN:
            raise Mistake(
                "there is no built-in set {name}; there are {names}.",
                name=builtin[:60],
                names=", ".join(BUILTIN),
            )
        yield builtin
        return
    if not name:
        raise Mistake("give a file's name with its data, or a built-in set.")
    with tempfile.TemporaryDirectory(prefix="wenmai-") as own:
        path, before = file_of(name, text, encoded, folder or Path(own)), NO_FILES.set(True)
        try:
            yield str(path)
        finally:
            NO_FILES.reset(before)


def preview(source: str, task: str | None, columns: dict[str, str] | None, rung: str = "") -> dict:
    """What was understood of the data: its task, how many rows, the first of them, and the rungs that can learn from it."""
    if task is not None and task not in TASKS:
        raise unknown("task", task, TASKS)
    dataset = open_dataset(source, tasks_of(rung) if rung else TASKS, task, columns, None, None)
    if rung:
        dataset.check()
    table = open_table(source, columns)
    shown = next(table.chunks(ROWS), None)
    first = (
        []
        if shown is None
        else [
            {name: plain(values[row]) for name, values in shown.columns.items()}
            for row in range(min(ROWS, len(shown)))
        ]
    )
    notes = [note for note in (*dataset.notes, dataset.guess) if note]
    rungs = [one.name for one in RUNGS.values() if one.does(dataset.task.name)]
    size = len(dataset.train) if not dataset.task.running_text else None
    return {
        "task": dataset.task.name,
        "rows": size,
        "columns": dict(dataset.columns),
        "first": first,
        "rungs": rungs,
        "notes": [
            both(note if isinstance(note, Message) else Message("{text}", text=note))
            for note in notes
        ],
    }


def plain(value, most: int = 300):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    return (
        finite(value)
        if isinstance(value, int | float | bool | type(None))
        else plain(str(value), most)
    )
