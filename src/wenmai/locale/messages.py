"""A message is a template and its values. Words and language come last, when it is shown; a value is never looked at for its
words: whatever a label, a file's name or a text holds comes out as it is."""

import re
import string
from collections.abc import Iterable
from typing import Self

from wenmai.locale.catalogue import language, translate


class Message(str):
    """`Message("{file}, line {line}: found {value!r}.", file=path, line=3, value=cell)`.

    It is a text: the English one, which is what files, JSON and Python see. `told_in("zh")` fills the same values into the
    catalogue's Chinese template, and `str()` gives the user's language. A value may be a Message, and is told in that language
    too. What a file holds may be a value, so that line ends and control characters, which a terminal would obey, are written
    as escapes.
    """

    template: str
    values: dict

    def __new__(cls, template: str = "", /, **values) -> Self:
        return made(cls, {"template": template, "values": values})

    def told_in(self, lang: str) -> str:
        return self.english if lang == "en" else filled(self.in_words(lang), self.values, lang)

    def in_words(self, lang: str) -> str:
        """Its template in a language."""
        return translate(self.template, lang, *getattr(self, "variant", ()))

    @property
    def english(self) -> str:
        return str.__str__(self)

    @property
    def chinese(self) -> str:
        return self.told_in("zh")

    def __str__(self) -> str:
        return self.told_in(language())

    def __reduce__(self):
        return made, (type(self), self.__dict__)


def made(kind: type[Message], parts: dict) -> Message:
    """A message of these parts; its text is English."""
    empty = str.__new__(kind)
    empty.__dict__.update(parts)
    message = str.__new__(kind, filled(empty.in_words("en"), empty.values, "en"))
    message.__dict__.update(parts)
    return message


def phrase(context: str, template: str, /, **values) -> Message:
    """A message whose Chinese depends on where it stands: `context` is the place's name."""
    return made(Message, {"template": template, "values": values, "variant": (context,)})


def phrases(context: str, /, *templates: str, **named: str) -> dict[str, Message]:
    """A table of them: each by its own words, or by the name that it is given here."""
    return {
        name: phrase(context, words)
        for name, words in {**dict(zip(templates, templates)), **named}.items()
    }


def plural(one: str, many: str, /, count: int, **values) -> Message:
    """`plural("{count} minute", "{count} minutes", count=n)`"""
    return made(
        Message,
        {"template": one, "values": {"count": count, **values}, "variant": ("", many, count)},
    )


class Filling(string.Formatter):
    """As str.format fills a template, but for messages, which are told in the language, and for control characters."""

    def __init__(self, lang: str):
        self.lang = lang

    def format_field(self, value, format_spec: str) -> str:
        return (
            value.told_in(self.lang)
            if isinstance(value, Message)
            else harmless(format(value, format_spec))
        )


def filled(template: str, values: dict, lang: str) -> str:
    return Filling(lang).vformat(template, (), values)


COMMA = Message(", ")


class Listed(Message):
    """Items with a mark between them: a comma in English, in Chinese the one that is meant for lists, unless said."""

    def __new__(cls, items: Iterable, mark: Message = COMMA) -> Self:
        values = {f"item{number}": item for number, item in enumerate(items)}
        return made(cls, {"mark": mark, "values": values})

    def in_words(self, lang: str) -> str:
        return self.mark.told_in(lang).join(f"{{{name}}}" for name in self.values)


def duration(seconds: float) -> Message:
    if seconds < 90:
        return Message("{seconds:.0f} s", seconds=seconds)
    if seconds < 5400:
        return Message("{minutes:.0f} min", minutes=seconds / 60)
    return Message("{hours:.1f} h", hours=seconds / 3600)


def told_in(text: str, lang: str) -> str:
    """A message in this language; any other text, and what was read from a file, as it is."""
    return text.told_in(lang) if isinstance(text, Message) else str(text)


def harmless_lines(text: str) -> str:
    """As `harmless`; line ends and tabs stay."""
    return "".join(
        part if part in ("\n", "\t") else harmless(part) for part in re.split("([\n\t])", text)
    )


def harmless(text: str) -> str:
    """Without control characters, line ends of any kind and half characters."""
    if text.isprintable():
        return text
    import unicodedata

    unfit = ("Cc", "Cs", "Zl", "Zp")
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in unfit else c for c in text
    )
