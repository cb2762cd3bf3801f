"""The words of others, as they stand in our sentences: of Python, the system, and the libraries that read files.

They come as texts, without template and values, so that a whole text is looked up in the catalogue, under the context "theirs",
or what it begins with; one that is not known there stays English. No code says them: they stand in the catalogue alone.
"""

from __future__ import annotations

import re

from wenmai.locale.catalogue import translate
from wenmai.locale.messages import Listed, Message, made

BEGINNINGS = (
    "cannot identify image file",
    "image file is truncated",
    "CRC check failed",
    "Error -3 while decompressing data",
    "Error -5 while decompressing data",
    "Not a gzipped file",
    "maximum recursion depth exceeded",
    "Exceeds the limit",
)


class Theirs(Message):
    """A text of others, and our words for it in other languages where we have some."""

    def __new__(cls, text: object, ours: Message | None = None) -> Theirs:
        return made(cls, {"template": "{text}", "values": {"text": str(text)}, "ours": ours})

    def told_in(self, lang: str) -> str:
        if lang == "en" or self.ours is not None:
            return self.english if lang == "en" else self.ours.told_in(lang)
        text = self.values["text"]
        known = next((start for start in BEGINNINGS if text.startswith(start)), text)
        words = translate(known, lang, "theirs")
        return self.english if words == known else words


def usage(error) -> Theirs:
    """What typer says of a wrong argument. Its sentence begins with known words; what a user wrote comes after them."""
    sentence = error.format_message()
    for pattern, ours in USAGE.items():
        if match := re.fullmatch(pattern, sentence, re.DOTALL):
            return Theirs(ended(sentence), ours(error, **match.groupdict()))
    return Theirs(ended(sentence))


def ended(sentence: str) -> str:
    """With its full stop: ours may follow."""
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def invalid(error, rest: str) -> Message:
    name = rest.removesuffix(f": {error.message}")
    return Message(
        "Invalid value for {name}: {reason}.",
        name=name,
        reason=Theirs(error.message.removesuffix(".")),
    )


def no_option(error, name: str) -> Message:
    if near := getattr(error, "possibilities", None):
        return Message(
            "No such option: {name} (Possible options: {choices})",
            choices=Listed(sorted(near)),
            name=error.option_name,
        )
    return Message("No such option: {name}", name=name)


USAGE = {  # a sentence → our words for it
    r"Missing argument (?P<name>.*?)\.?": lambda _, **words: Message(
        "Missing argument {name}.", **words
    ),
    r"Missing option (?P<name>.*?)\.?": lambda _, **words: Message(
        "Missing option {name}.", **words
    ),
    r"Missing command\.": lambda _: Message("Missing command."),
    r"Invalid value for (?P<rest>.*)": invalid,
    r"No such command (?P<name>.*)\. Did you mean (?P<nearest>.*)\?": lambda _, **words: Message(
        "No such command {name}. Did you mean {nearest}?", **words
    ),
    r"No such command (?P<name>.*?)\.?": lambda _, **words: Message(
        "No such command {name}.", **words
    ),
    r"No such option:? (?P<name>.*?)\.?": no_option,
    r"Option (?P<name>.*) does not take a value\.": lambda _, **words: Message(
        "Option {name} does not take a value.", **words
    ),
    r"Option (?P<name>.*) requires an argument\.": lambda _, **words: Message(
        "Option {name} requires an argument.", **words
    ),
    r"Got unexpected extra argument(?:s|\(s\))? \(?(?P<names>.*?)\)?": lambda _, **words: Message(
        "Got unexpected extra arguments ({names})", **words
    ),
}
