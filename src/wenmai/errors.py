"""The exceptions that a user sees: each carries a message."""

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePath

from wenmai.locale import Listed, Message, phrase


def typed(argument: object) -> str:
    """As it is written in a command: in quotes where a shell would take it apart."""
    text = str(argument)
    text = f"./{text}" if isinstance(argument, PurePath) and text.startswith("-") else text
    if re.fullmatch(r"[\w@%+=:,./-]+", text):
        return text
    if not text.isprintable():
        return "$'" + "".join(escaped(mark) for mark in text) + "'"
    return shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'


def escaped(mark: str) -> str:
    if not mark.isprintable():
        return f"\\U{ord(mark):08x}"
    return f"\\{mark}" if mark in "\\'" else mark


class WithMessage(Exception):
    """An exception whose one argument is a message: `Mistake("{file} is empty.", file=path)`, or one that was made before."""

    def __init__(self, message: str = "", /, **values):
        super().__init__(message if isinstance(message, Message) else Message(message, **values))

    @property
    def message(self) -> Message:
        return self.args[0]

    @property
    def english(self) -> str:
        return self.message.english

    def __str__(self) -> str:
        return str(self.message)

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class Mistake(WithMessage, ValueError):
    """Something the user can put right, said in one sentence: where, what was found, what was expected, what to do.

    The command line prints the sentence and exits with status 2; in Python it is an ordinary ValueError."""


class NotTrained(Mistake, AttributeError):
    """Asked of an estimator that has nothing to answer with, as scikit-learn's NotFittedError: which it is too, where that has
    been imported."""

    def __reduce__(self):
        return NotTrained, self.args


def not_trained(estimator: str) -> NotTrained:
    import sys

    theirs = sys.modules.get("sklearn.exceptions")
    kind = type("NotTrained", (NotTrained, theirs.NotFittedError), {}) if theirs else NotTrained
    return kind(
        Message(
            "this {estimator} has not been trained; call fit first, or wenmai.load a run.",
            estimator=estimator,
        )
    )


class Unlabelled(Mistake):
    """A row whose answer is not there: nothing can be learned from it, and it stands in nobody's way."""


class Notice(WithMessage, UserWarning):
    """Something that was put right, and is worth a sentence."""


def warn_of(notes: Iterable[str]) -> None:
    """Of a result that cannot carry its notes; called by the verb that a user calls."""
    import warnings

    for note in notes:
        warnings.warn(Notice(note), stacklevel=3)


class Stopped(WithMessage):
    """What was asked to stop has been kept; the sentence says how to go on."""

    number = 2  # of the signal that asked: Ctrl-C

    def by(self, number: int) -> "Stopped":
        self.number = number
        return self


def nearest(word: str, known) -> list[str]:
    """The known words, those most like `word` first."""
    import difflib

    likeness = {
        name: difflib.SequenceMatcher(None, word.lower(), name.lower()).ratio() for name in known
    }
    return sorted(likeness, key=lambda name: (-likeness[name], name))


def alike(word: str, known: str) -> bool:
    """Whether one may have been meant by the other: a letter or two apart, or its beginning."""
    import difflib

    word, known = word.lower(), known.lower()
    return difflib.SequenceMatcher(None, word, known).ratio() > 0.64 or (
        len(word) > 2 and known.startswith(word)
    )


def unknown(what: str, word: str, known) -> Mistake:
    """'unknown rung "grru"; did you mean gru? Known: …'"""
    word = word if len(word) <= 60 else word[:59] + "…"
    ordered = nearest(word, known)
    if not ordered or not alike(word, ordered[0]):
        return Mistake(
            'unknown {kind} "{word}"; known are: {choices}.',
            kind=phrase("kind", what),
            word=word,
            choices=Listed(ordered),
        )
    return Mistake(
        'unknown {kind} "{word}"; did you mean {nearest}? Known: {choices}.',
        kind=phrase("kind", what),
        word=word,
        nearest=ordered[0],
        choices=Listed(ordered),
    )
