"""The one exception that a user sees."""

from wenmai.chinese import told


class Mistake(ValueError):
    """Something the user can put right, said in one sentence: where, what was found, what was expected, what to do.

    The command line prints the sentence and exits with status 2; in Python it is an ordinary ValueError. It is written in English
    and told in the user's language (chinese.py).
    """

    def __str__(self) -> str:
        return told(self.english)

    @property
    def english(self) -> str:
        return super().__str__()


class Stopped(Exception):
    """Training was asked to stop, and has been kept; the sentence says how to go on."""

    def __str__(self) -> str:
        return told(super().__str__())


def nearest(word: str, known) -> list[str]:
    """The known words, those most like `word` first."""
    import difflib

    likeness = {name: difflib.SequenceMatcher(None, word.lower(), name.lower()).ratio() for name in known}
    return sorted(likeness, key=lambda name: (-likeness[name], name))


def unknown(what: str, word: str, known) -> Mistake:
    """'unknown rung "grru"; did you mean gru? Known: …'"""
    ordered = nearest(word, known)
    return Mistake(f'unknown {what} "{word}"; did you mean {ordered[0]}? Known: {", ".join(ordered)}.')
