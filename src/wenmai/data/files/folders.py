"""Folders: one text file a label, one folder a label (texts, images or sounds), sounds with a labels.csv, or idx images."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from wenmai.data.files import delimited, idx
from wenmai.data.files.columns import Format, listed
from wenmai.data.files.opening import bare_name, is_idx, text_file
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase
from wenmai.locale.theirs import Theirs

PICTURES = (".png", ".jpg", ".jpeg")
SOUNDS = (".wav", ".flac", ".ogg")
TABLES = (
    "labels.csv",
    "metadata.csv",
    "manifest.csv",
)  # beside sounds, what is said in them, or what they are


def labels(path: Path, source: str) -> Format:
    inside = entries(path, source)
    files = [other for other in inside if other.is_file()]
    idx_files = [other for other in files if is_idx(other)]
    if idx_files:
        train = (
            [other for other in idx_files if other.name.startswith("train")]
            if len(idx_files) > 1
            else idx_files
        )
        if len(train) != 1:
            raise Mistake(
                "{folder} holds several sets of images; give one of {names}.",
                folder=source,
                names=", ".join(i.name for i in idx_files),
            )
        return idx.images(train[0], str(train[0]))
    tables = [other for other in files if other.name.lower() in TABLES]
    within = chain(inside, *map(Path.iterdir, filter(Path.is_dir, inside)))
    if tables and any(other.suffix.lower() in SOUNDS for other in within):
        return manifest(tables[0])
    below = {other.name: entries(other, str(other)) for other in inside if other.is_dir()}
    for ending, column in (((".txt",), "text"), (PICTURES, "image"), (SOUNDS, "audio")):
        files_of = {
            name: [file for file in within if bare_name(file).endswith(ending)]
            for name, within in below.items()
        }
        files_of = {name: within for name, within in files_of.items() if within}
        if len(files_of) > 1:
            return _folder_a_label(path, files_of, column)
    deeper = [name for name, within in below.items() if sum(other.is_dir() for other in within) > 1]
    if deeper:
        raise Mistake(
            "{folder} holds the folders {names}, which hold folders; expected one folder a label; give one of them, "
            "as in {first}.",
            folder=source,
            names=listed(deeper),
            first=path / deeper[-1],
        )
    texts = [other for other in files if bare_name(other).endswith(".txt")]
    if len(texts) < 2:
        shown = ", ".join(other.name for other in inside[:5]) or Message("no files")
        raise Mistake(
            "{folder} is a folder with {inside}; expected one .txt file a label, or one folder of .txt files or images "
            "a label (at least two), idx images, or files whose names say train and test. Give one file instead.",
            folder=source,
            inside=shown,
        )
    return _file_a_label(texts, source)


def refuse_single(path: Path, source: str) -> None:
    """A sound or a picture by itself is no table: its answer is missing, or it is the input of a trained model."""
    kinds = (
        (SOUNDS, phrase("single", "a sound"), "audio"),
        (PICTURES, phrase("single", "a picture"), "image"),
    )
    for ending, kind, column in kinds:
        if not path.name.lower().endswith(ending):
            continue
        if not path.stat().st_size:
            raise Mistake(
                "{file} is empty: found 0 bytes, expected {kind}; make or copy it again, and name it in a table with a "
                "column {column}.",
                file=source,
                kind=kind,
                column=column,
            )
        raise Mistake(
            "{file} is {kind}, expected a table that names such files and says what each is: give a CSV with the "
            "columns {column},text or {column},label, or a folder with one folder a label.",
            file=source,
            kind=kind,
            column=column,
        )


def manifest(table: Path) -> Format:
    """The table of a folder of sounds; the first column names the files, unless one is called audio."""
    form = delimited.commas(text_file(table, str(table)), None, ())
    names = [name.strip() for name in form.names]
    if "audio" not in (name.lower() for name in names):
        names = ["audio", *names[1:]]
    note = Message("A folder of sounds: {file} says what they are.", file=table.name)
    return form._replace(names=names, notes=[*form.notes, note])


def entries(path: Path, source: str) -> list[Path]:
    try:
        return sorted(other for other in path.iterdir() if not other.name.startswith("."))
    except OSError as error:
        raise Mistake(
            "{folder} is a folder that cannot be opened ({why}); check its permissions.",
            folder=source,
            why=Theirs(error.strerror),
        ) from None


def _file_a_label(texts: list[Path], source: str) -> Format:
    files = {}
    for other in texts:
        label = other.name.split(".")[0]
        if label in files:
            raise Mistake(
                '{file} is the second file for the label "{label}" in {folder}, expected one; remove one of them.',
                file=other,
                label=label,
                folder=source,
            )
        files[label] = text_file(other, str(other))

    def stream(size: int, positions: list[int]):
        for label, file in files.items():
            for (texts,), lines in delimited.plain(file).stream(size, [0]):
                columns = texts, [label] * len(texts)
                yield [columns[position] for position in positions], lines

    notes = list(dict.fromkeys(chain.from_iterable(file.notes for file in files.values())))
    notes.append(Message("One file a label: {names}.", names=", ".join(files)))
    return Format(["text", "label"], notes, stream)


def _folder_a_label(path: Path, files_of: dict[str, list[Path]], column: str) -> Format:
    """A file is a row: its text, or its path below the folder, and the name of the folder that it is in."""
    rows = [(file, label) for label, files in files_of.items() for file in files]

    def stream(size: int, positions: list[int]) -> Iterator:
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            files, labels = zip(*block)
            columns = (
                [_text(f) if column == "text" else str(f.relative_to(path)) for f in files],
                list(labels),
            )
            yield (
                [columns[position] for position in positions],
                range(start + 1, start + 1 + len(block)),
            )

    counts = ", ".join(f"{name} {len(files):,}" for name, files in files_of.items())
    note = Message("One folder a label, a file a row: {names}.", names=counts)
    return Format([column, "label"], [note], stream)


def _text(path: Path) -> str:
    if not path.stat().st_size:
        return ""
    with text_file(path, str(path)).open(newline=None, lines=False) as text:
        return text.read().strip()
