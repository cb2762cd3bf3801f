"""What a probe found: numbers, tables, a picture and a few sentences, kept as files and shown on the terminal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import rich.table
from rich.text import Text

from wenmai.locale import Message
from wenmai.page.pictures import LANGS, as_file, clean, in_both_languages
from wenmai.page.strict_json import strict_json
from wenmai.page.terminal import console


@dataclass
class Grid:
    heading: str
    head: list[str]
    rows: list[list[str]]


@dataclass
class Finding:
    """`of` makes one of what was measured: `tables(known, language)` give the grids, `picture(known, language)` a figure."""

    known: dict  # for JSON; what is infinite is null there
    title: Message
    grids: dict[str, list[Grid]]  # the first is shown on the terminal, all of them stand in the file
    draw: Callable  # language → a figure
    conclusions: list[Message] = field(default_factory=list)  # what to look at
    notes: list[Message] = field(default_factory=list)  # and how it was measured

    @classmethod
    def of(cls, known: dict, title: Message, tables: Callable, picture: Callable, conclusions: list[Message],
           notes: list[Message]) -> "Finding":  # fmt: skip
        grids = {lang: tables(known, lang) for lang in LANGS}
        return cls(known | {"notes": notes}, title, grids, lambda lang: picture(known, lang), conclusions, notes)

    def show(self, lang: str) -> None:
        grid = self.grids[lang][0]
        table = rich.table.Table(box=None, pad_edge=False, header_style="bold", title=grid.heading, title_justify="left")
        for column, name in enumerate(grid.head):
            table.add_column(name, justify="right" if column else "left")
        for row in grid.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        for sentence in self.conclusions:
            console.print(sentence.told_in(lang), markup=False, highlight=False)

    def write(self, name: str, folder: Path) -> list[Path]:
        """NAME.json, and in English and Chinese NAME.md, NAME.zh.md and the picture."""
        folder.mkdir(parents=True, exist_ok=True)
        files = {f"{name}.json": strict_json(self.known, indent=1) + "\n"}
        for lang in LANGS:
            files[f"{name}.md" if lang == "en" else f"{name}.{lang}.md"] = self.markdown(name, lang)
        for lang, svg in in_both_languages(self.draw, name).items():
            files[f"{name}.{lang}.svg"] = as_file(svg)
        for file, text in files.items():
            (folder / file).write_bytes(text.encode("utf-8", "backslashreplace"))
        return [folder / file for file in files]

    def markdown(self, name: str, lang: str) -> str:
        title = clean(self.title.told_in(lang))
        parts = [f"# {title}\n", *(f"{sentence.told_in(lang)}\n" for sentence in self.conclusions)]
        parts.append(f"![{title}]({name}.{lang}.svg)\n")
        for grid in self.grids[lang]:
            ruler = [":--" if column == 0 else "--:" for column in range(len(grid.head))]
            lines = "\n".join(f"| {' | '.join(row)} |" for row in [grid.head, ruler, *grid.rows])
            parts.append(f"## {grid.heading}\n\n{lines}\n")
        heading = Message("How it was measured").told_in(lang)
        parts.append(f"## {heading}\n\n" + "".join(f"- {note.told_in(lang)}\n" for note in self.notes))
        return "\n".join(parts)
