"""The exceptions that a user sees: each carries a message."""

from wenmai.locale import Listed, Message, phrase


class WithMessage:
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


class Notice(WithMessage, UserWarning):
    """Something that was put right, and is worth a sentence."""


class Stopped(WithMessage, Exception):
    """Training was asked to stop, and has been kept; the sentence says how to go on."""


def nearest(word: str, known) -> list[str]:
    """The known words, those most like `word` first."""
    import difflib

    likeness = {name: difflib.SequenceMatcher(None, word.lower(), name.lower()).ratio() for name in known}
    return sorted(likeness, key=lambda name: (-likeness[name], name))


def unknown(what: str, word: str, known) -> Mistake:
    """'unknown rung "grru"; did you mean gru? Known: …'""" ""
    word = word if len(word) <= 60 else word[:59] + "…"
    ordered = nearest(word, known)
    return Mistake('unknown {kind} "{word}"; did you mean {nearest}? Known: {choices}.', kind=phrase("kind", what), word=word,
                   nearest=ordered[0], choices=Listed(ordered))  # fmt: skip
