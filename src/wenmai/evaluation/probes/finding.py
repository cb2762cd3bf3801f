"""What a probe found: numbers, tables, a picture and a few sentences, kept as files and shown on the terminal."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
        console.print(text_table(grid.head, grid.rows, header_style="bold", title=grid.heading, title_justify="left"))
        for sentence in self.conclusions:
            console.print(sentence.told_in(lang), markup=False, highlight=False)

    def write(self, name: str, folder: Path) -> list[Path]:
        """NAME.json, and in English and Chinese NAME.md, NAME.zh.md and the picture."""
        folder.mkdir(parents=True, exist_ok=True)
        files = {f"{name}.json": strict_json(self.known, indent=1) + "\n"}
        for lang in LANGS:
            files[f"{name}.md" if lang == "en" else f"{name}.{lang}.md"] = self.markdown(name, lang)
        for lang, svg in in_both_languages(lambda lang: self.picture(self.known, lang), name).items():
            files[f"{name}.{lang}.svg"] = as_file(svg)
        for file, text in files.items():
            (folder / file).write_bytes(text.encode("utf-8", "backslashreplace"))
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
        parts.append(f"## {heading}\n\n" + "".join(f"- {note.told_in(lang)}\n" for note in self.notes))
        return "\n".join(parts)


def growing_numbers(text: str) -> list[int]:
    """Of an option, as in lengths=2,4,8 → [2, 4, 8]; nothing where they are no whole numbers, or do not grow."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if numbers == sorted(set(numbers)) else []
