"""What a probe found: numbers, tables, a picture and a few sentences, kept as files and shown on the terminal."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wenmai.data.files.packing import packed
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.page.pictures import LANGS, as_file, clean, in_both_languages
from wenmai.page.strict_json import strict_json
from wenmai.page.terminal import console, text_table


@dataclass
class Grid:
    heading: str
    head: list[str]
    rows: list[list[str]]


@dataclass
class Finding:
    known: dict  # for JSON; what is infinite is null there
    title: Message
    tables: Callable  # (known, language) → grids: the first is shown on the terminal, all of them stand in the file
    picture: Callable  # (known, language) → a figure
    conclusions: list[Message]  # what to look at
    notes: list[Message]  # and how it was measured

    def __post_init__(self):
        self.known = self.known | {"notes": self.notes}

    def show(self, lang: str) -> None:
        grid = self.tables(self.known, lang)[0]
        console.print(
            text_table(
                grid.head, grid.rows, header_style="bold", title=grid.heading, title_justify="left"
            )
        )
        for sentence in self.conclusions:
            console.print(sentence.told_in(lang), markup=False, highlight=False)

    def write(self, name: str, folder: Path) -> list[Path]:
        """NAME.json, and in English and Chinese NAME.md, NAME.zh.md and the picture."""
        check_place(name, folder)
        files = {f"{name}.json": strict_json(self.known, indent=1) + "\n"}
        for lang in LANGS:
            files[f"{name}.md" if lang == "en" else f"{name}.{lang}.md"] = self.markdown(name, lang)
        for lang, svg in in_both_languages(
            lambda lang: self.picture(self.known, lang), name
        ).items():
            files[f"{name}.{lang}.svg"] = as_file(svg)
        for file, text in files.items():
            with packed(folder / file) as written:
                written.write(text.encode("utf-8", "backslashreplace"))
        return [folder / file for file in files]

    def markdown(self, name: str, lang: str) -> str:
        title = clean(self.title.told_in(lang))
        parts = [f"# {title}\n", *(f"{sentence.told_in(lang)}\n" for sentence in self.conclusions)]
        parts.append(f"![{title}]({name}.{lang}.svg)\n")
        for grid in self.tables(self.known, lang):
            ruler = [":--" if column == 0 else "--:" for column in range(len(grid.head))]
            lines = "\n".join(f"| {' | '.join(row)} |" for row in [grid.head, ruler, *grid.rows])
            parts.append(f"## {grid.heading}\n\n{lines}\n")
        heading = Message("How it was measured").told_in(lang)
        parts.append(
            f"## {heading}\n\n" + "".join(f"- {note.told_in(lang)}\n" for note in self.notes)
        )
        return "\n".join(parts)


def check_place(name: str, folder: Path) -> None:
    """It can be written there: asked before the probe runs too. Files of its names are written over where NAME.json says that
    this probe wrote it; else they are somebody's."""
    if folder.exists() and not folder.is_dir():
        raise Mistake(
            "{folder} is a file, where a folder for what was found is to be written; choose another --out.",
            folder=folder,
        )
    try:
        ours = take.value(take.json_in(folder / f"{name}.json"), "probe") == name
    except (OSError, ValueError, RecursionError, take.Unfit):
        ours = False
    for file in (
        ()
        if ours
        else (
            f"{name}.{end}" for end in ("json", "md", "zh.md", *(f"{lang}.svg" for lang in LANGS))
        )
    ):
        if os.path.lexists(folder / file):
            raise Mistake(
                "{folder} holds {name}, which no probe wrote, and it is left as it is; choose another --out.",
                folder=folder,
                name=file,
            )


def growing_numbers(text: str) -> list[int]:
    """Of an option, as in lengths=2,4,8 → [2, 4, 8]; nothing where they are no whole numbers, or do not grow."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if numbers == sorted(set(numbers)) else []
