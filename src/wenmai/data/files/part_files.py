"""A folder whose files say in their names what they are for: train.csv and test.csv; qa1_train.txt, qa2_train.txt, … of bAbI.

PART   train, valid (validation, val, dev) or test, set off by . _ - or the end of the name
group  what a name says beside its part: qa1_single-supporting-fact; where a part has several files, a column of their rows
"""

import re
from itertools import groupby
from pathlib import Path, PurePath

from wenmai.data.files.columns import Format, listed, tidy
from wenmai.data.files.folders import entries
from wenmai.data.files.opening import bare_name
from wenmai.errors import Mistake
from wenmai.locale import Message

ENDINGS = (
    ".txt",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".pq",
    ".xlsx",
    ".conll",
    ".conllu",
    ".bio",
    ".bmes",
)
PART = re.compile(r"(?:^|[._-])(train|training|valid|validation|val|dev|test)(?=[._-]|$)")
CALLED = {"training": "train", "validation": "valid", "val": "valid", "dev": "valid"}
GROUP = "group"


def parts_of(folder: Path) -> dict[str, list[Path]]:
    """train, valid, test → its files, in the order of their names, numbers by their size; none where a file says no part, or
    there is only one."""
    files = [
        file
        for file in entries(folder, str(folder))
        if bare_name(file).endswith(ENDINGS) and file.is_file()
    ]
    part_words = {file: PART.findall(bare_name(file)) for file in files}
    if len(part_words) < 2 or not all(part_words.values()):
        return {}
    part = {file: CALLED.get(words[-1], words[-1]) for file, words in part_words.items()}
    order = sorted(
        part, key=lambda file: (("train", "valid", "test").index(part[file]), by_number(file.name))
    )
    return {name: list(own) for name, own in groupby(order, part.get)}


def by_number(name: str) -> list[tuple[int, str]]:
    """qa2 stands before qa10."""
    return [(int(digits or 0), rest) for digits, rest in re.findall(r"(\d*)(\D*)", name)]


def groups_of(files: list[Path]) -> list[str]:
    """What each is called, without what it is for and without its ending."""
    stems = [PurePath(bare_name(file)).stem for file in files]
    names = [PART.sub("", stem).strip("._-") for stem in stems]
    return names if len(set(names)) == len(names) and all(names) else [file.name for file in files]


def joined(folder: str, files: list[Path], forms: list[Format]) -> Format:
    """All of them, one after another: the columns that all have, and the group of every row as another one, which is read where
    it is asked for."""
    groups, outer = (
        groups_of(files),
        [tidy(form.names)[: len(form.names) - form.inner] for form in forms],
    )
    names = [name for name in outer[0] if all(name in own for own in outer)]
    if not names:
        other = next(at for at, own in enumerate(outer) if not set(own) & set(outer[0]))
        raise Mistake(
            "{folder}: {file} has the columns {names}, and {other} has {others}; expected the same in all files of a "
            "part; give one of them instead of the folder.",
            folder=folder,
            file=files[0].name,
            names=listed(outer[0]),
            other=files[other].name,
            others=listed(outer[other]),
        )
    group = next(name for name in (GROUP, f"{GROUP}#{len(names)}") if name not in names)

    def streamed(lenient: bool):
        def stream(size: int, positions: list[int]):
            for name, form, own in zip(groups, forms, outer):
                places = [
                    own.index(names[position]) for position in positions if position < len(names)
                ]
                for columns, lines in ((form.lenient if lenient else None) or form.stream)(
                    size, places
                ):
                    values = iter(columns)
                    yield (
                        [
                            next(values) if at < len(names) else [name] * len(lines)
                            for at in positions
                        ],
                        lines,
                    )

        return stream

    notes = list(dict.fromkeys(note for form in forms for note in form.notes))
    notes.append(Message("{count} files as one: {names}.", count=len(files), names=listed(groups)))
    usual = (
        {name: name for name in names}
        if forms[0].usual is None
        else {w: outer[0][at] for w, at in forms[0].usual.items()}
    )
    usual = {word: names.index(name) for word, name in usual.items() if name in names}
    return Format(
        [*names, group],
        notes,
        streamed(False),
        usual,
        lenient=streamed(True),
        asked=all(form.asked for form in forms),
    )
