"""The one exception that a user sees."""

from wenmai.chinese import told


class Mistake(ValueError):
    """Something the user can put right, said in one sentence: where, what was found, what was expected, what to do.

    The command line prints the sentence and exits with status 2; in Python it is an ordinary ValueError. It is written in English
    and told in the user's language (chinese.py). What a file holds may stand in it, so that line ends and control characters,
    which a terminal would obey, are written as escapes.
    """

    def __init__(self, sentence: object = ""):
        super().__init__(harmless(str(sentence)))

    def __str__(self) -> str:
        return told(self.english)

    @property
    def english(self) -> str:
        return super().__str__()


class Notice(UserWarning):
    """Something that was put right, and is worth a sentence."""


class Stopped(Exception):
    """Training was asked to stop, and has been kept; the sentence says how to go on."""

    def __str__(self) -> str:
        return told(super().__str__())


def harmless(text: str) -> str:
    """Without control characters, line ends of any kind and half characters."""
    if text.isprintable():
        return text
    import unicodedata

    unfit = ("Cc", "Cs", "Zl", "Zp")
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in unfit else c for c in text)


def nearest(word: str, known) -> list[str]:
    """The known words, those most like `word` first."""
    import difflib

    likeness = {name: difflib.SequenceMatcher(None, word.lower(), name.lower()).ratio() for name in known}
    return sorted(likeness, key=lambda name: (-likeness[name], name))


def unknown(what: str, word: str, known) -> Mistake:
    """'unknown rung "grru"; did you mean gru? Known: …'"""
    word = word if len(word) <= 60 else word[:59] + "…"
    ordered = nearest(word, known)
    return Mistake(f'unknown {what} "{word}"; did you mean {ordered[0]}? Known: {", ".join(ordered)}.')
