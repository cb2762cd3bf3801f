"""The words of others, as they stand in our sentences: of Python, the system, and the libraries that read files.

They come as texts, without template and values, so that a whole text is looked up, or what it begins with; one that is not known
stays English.
"""

from __future__ import annotations

from wenmai.locale.messages import Listed, Message, made, phrase

WHOLE = (
    # the system
    phrase("theirs", "Permission denied"), phrase("theirs", "Operation not permitted"), phrase("theirs", "Is a directory"),
    phrase("theirs", "Not a directory"), phrase("theirs", "No such file or directory"), phrase("theirs", "File exists"),
    phrase("theirs", "No space left on device"), phrase("theirs", "Disk quota exceeded"),
    phrase("theirs", "Read-only file system"), phrase("theirs", "File name too long"), phrase("theirs", "Too many open files"),
    phrase("theirs", "Input/output error"), phrase("theirs", "Directory not empty"), phrase("theirs", "File too large"),
    phrase("theirs", "Cannot allocate memory"), phrase("theirs", "Invalid argument"),
    phrase("theirs", "Too many levels of symbolic links"), phrase("theirs", "Bad file descriptor"),
    # Pillow
    phrase("theirs", "Truncated File Read"), phrase("theirs", "unrecognized data stream contents when reading image file"),
    phrase("theirs", "broken data stream when reading image file"),
    # gzip, zlib, lzma
    phrase("theirs", "Compressed file ended before the end-of-stream marker was reached"),
    phrase("theirs", "Incorrect length of data produced"), phrase("theirs", "Corrupt input data"),
    phrase("theirs", "Unknown compression method"), phrase("theirs", "the last frame is not complete"),
    # json
    phrase("theirs", "Expecting value"), phrase("theirs", "Expecting ',' delimiter"), phrase("theirs", "Expecting ':' delimiter"),
    phrase("theirs", "Expecting property name enclosed in double quotes"), phrase("theirs", "Extra data"),
    phrase("theirs", "Illegal trailing comma before end of object"),
    phrase("theirs", "Illegal trailing comma before end of array"), phrase("theirs", "Unterminated string starting at"),
    phrase("theirs", "Invalid control character at"), phrase("theirs", "Invalid \\escape"),
    phrase("theirs", "Invalid \\uXXXX escape"),
    # csv
    phrase("theirs", "',' expected after '\"'"), phrase("theirs", "';' expected after '\"'"),
    phrase("theirs", "'\t' expected after '\"'"), phrase("theirs", "unexpected end of data"),
    # typer and pydantic, of a value
    phrase("theirs", "Input should be a valid number, unable to parse string as a number"),
    phrase("theirs", "Input should be a valid integer, unable to parse string as an integer"),
    phrase("theirs", "Input should be a valid integer, got a number with a fractional part"),
    phrase("theirs", "Input should be greater than or equal to 0"),
    phrase("theirs", "Input should be greater than or equal to 1"),
    phrase("theirs", "Input should be greater than or equal to 0.01"),
    phrase("theirs", "Input should be less than or equal to 9223372036854775807"),
)  # fmt: skip
BEGINNINGS = (
    phrase("theirs", "cannot identify image file"), phrase("theirs", "image file is truncated"),
    phrase("theirs", "CRC check failed"), phrase("theirs", "Error -3 while decompressing data"),
    phrase("theirs", "Error -5 while decompressing data"), phrase("theirs", "Not a gzipped file"),
    phrase("theirs", "maximum recursion depth exceeded"), phrase("theirs", "Exceeds the limit"),
)  # fmt: skip


HELP = (  # of typer's own options
    Message("Install completion for the current shell."),
    Message("Show completion for the current shell, to copy it or customize the installation."),
)


class Theirs(Message):
    """A text of others, and our words for it in other languages where we have some."""

    def __new__(cls, text: object, ours: Message | None = None) -> Theirs:
        text = str(text)
        known = [one for one in WHOLE if text == one] or [one for one in BEGINNINGS if text.startswith(one)]
        return made(cls, {"template": "{text}", "values": {"text": text}, "ours": ours or (known[0] if known else None)})

    def told_in(self, lang: str) -> str:
        return self.english if lang == "en" or self.ours is None else self.ours.told_in(lang)


def usage(error) -> Theirs:
    """What typer says of a wrong argument. Its sentence begins with known words; what a user wrote comes after them."""
    sentence = error.format_message()
    for start, ours in USAGE.items():
        if sentence.startswith(start):
            return Theirs(sentence, ours(sentence.removeprefix(start), error))
    return Theirs(sentence)


def invalid(rest: str, error) -> Message:
    name = rest.removesuffix(f": {error.message}")
    return Message("Invalid value for {name}: {reason}.", name=name, reason=Theirs(error.message.removesuffix(".")))


def no_command(rest: str, error) -> Message:
    name, _, near = rest.rpartition(". Did you mean ")
    if not name:
        return Message("No such command {name}.", name=rest.removesuffix("."))
    return Message("No such command {name}. Did you mean {nearest}?", name=name, nearest=near.removesuffix("?"))


def no_option(rest: str, error) -> Message:
    near, name = getattr(error, "possibilities", None), getattr(error, "option_name", "")
    if near:
        return Message("No such option: {name} (Possible options: {choices})", name=name, choices=Listed(sorted(near)))
    return Message("No such option: {name}", name=rest.removesuffix("."))


def extra(rest: str, error) -> Message:
    return Message("Got unexpected extra arguments ({names})", names=rest.removeprefix("(").removesuffix(")"))


def option(rest: str, error) -> Message:
    if rest.endswith(" does not take a value."):
        return Message("Option {name} does not take a value.", name=rest.removesuffix(" does not take a value."))
    return Message("Option {name} requires an argument.", name=rest.removesuffix(" requires an argument."))


USAGE = {  # how a sentence begins → our words for it
    "Missing argument ": lambda rest, error: Message("Missing argument {name}.", name=rest.removesuffix(".")),
    "Missing option ": lambda rest, error: Message("Missing option {name}.", name=rest.removesuffix(".")),
    "Missing command.": lambda rest, error: Message("Missing command."), "Invalid value for ": invalid,
    "No such command ": no_command, "No such option: ": no_option, "No such option ": no_option, "Option ": option,
    "Got unexpected extra argument(s) ": extra, "Got unexpected extra arguments ": extra, "Got unexpected extra argument ": extra,
}  # fmt: skip
