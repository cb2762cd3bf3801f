"""Tagging schemes: how spans are written as one tag a token.

    IOB1    I inside; B only where a span follows another of its kind           Ramshaw & Marcus 1995
    BIO     every span begins with B                                            (IOB2) Tjong Kim Sang & Veenstra 1999
    IOE1    I inside; E only where another of its kind follows
    IOE2    every span ends with E
    BIOES   B begins, I goes on, E ends, S is a span of one token
    BMES    the same with M for I, as Chinese data is written;  BILOU  with L for E and U for S

Spans are read as conlleval and seqeval read them: whatever the scheme, a change of kind ends a span and begins the next.
Rows are laid end to end (offsets), and everything is computed on whole arrays.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from wenmai.data.examples.sequences import offsets_of
from wenmai.data.files.columns import short
from wenmai.errors import Mistake
from wenmai.locale import Message, plural

O, B, I, E, S = range(5)
LETTERS = {"O": O, "B": B, "I": I, "M": I, "E": E, "L": E, "S": S, "U": S}
# scheme → the letters it writes for O, B, I, E, S
WRITTEN = {
    "bio": "OBIIB",
    "iob1": "OBIII",
    "ioe1": "OIIEI",
    "ioe2": "OIIEE",
    "bioes": "OBIES",
    "bmes": "OBMES",
    "bilou": "OBILU",
}


@dataclass
class Spans:
    """K spans in rows laid end to end: tokens first … last, each of a kind (its number in `kinds`)."""

    first: np.ndarray  # (K,) in the flat order
    last: np.ndarray
    kind: np.ndarray
    kinds: list[str]
    offsets: np.ndarray

    @property
    def row(self) -> np.ndarray:
        return np.searchsorted(self.offsets, self.first, "right") - 1

    def keys(self) -> np.ndarray:
        """One number a span; equal spans have equal ones (kinds must be numbered alike)."""
        return (self.first * (int(self.offsets[-1]) + 1) + self.last) * len(self.kinds) + self.kind


def parsed(tag: str) -> tuple[str, str]:
    """'B-PER' → ('B', 'PER'); a tag without a kind has the kind '_'."""
    return tag[:1], tag[1:].split("-", 1)[-1] or "_"


def read(rows: list[list[str]], kinds: list[str] | None = None) -> Spans:
    """The spans of rows of tags; `kinds` gives known kinds their numbers, others are added behind."""
    offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
    number, codes = {kind: at for at, kind in enumerate(["_"] if kinds is None else kinds)}, {}
    for tag in sorted(set(chain.from_iterable(rows))):
        letter, kind = parsed(tag)
        codes[tag] = (
            O
            if letter in "O."
            else LETTERS.get(letter, I) * 65536 + number.setdefault(kind, len(number))
        )
    codes = np.fromiter((codes[tag] for row in rows for tag in row), np.int64, int(offsets[-1]))
    return spans_of(codes // 65536, codes % 65536, list(number), offsets)


def spans_of(letter: np.ndarray, kind: np.ndarray, kinds: list[str], offsets: np.ndarray) -> Spans:
    """Spans from the letter and kind of every token (kind 0 where there is none)."""
    before, before_kind = shifted(letter, offsets), shifted(kind, offsets)
    change = before_kind != kind
    begins = (
        (letter == B)
        | (letter == S)
        | (np.isin(before, (E, S, O)) & np.isin(letter, (E, I)))
        | ((letter != O) & change)
    )
    ends = (
        np.isin(before, (E, S))
        | (np.isin(before, (B, I)) & np.isin(letter, (B, S, O)))
        | ((before != O) & change)
    )
    # an end is noticed one token late; the last token of a row ends what is open there
    last = np.zeros(len(letter), bool)
    at_row_start = np.zeros(len(letter) + 1, bool)
    at_row_start[offsets] = True
    last[:-1] = ends[1:] & ~at_row_start[1:-1]
    closing = offsets[1:][np.diff(offsets) > 0] - 1
    last[closing] = letter[closing] != O
    where = np.flatnonzero(last)
    latest = (
        np.maximum.accumulate(np.where(begins, np.arange(len(letter)), -1))
        if len(letter)
        else np.zeros(0, np.int64)
    )
    return Spans(latest[where], where, kind[where], kinds, offsets)


def shifted(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The value of the token before, 0 at the beginning of a row."""
    before = np.zeros_like(values)
    before[1:] = values[:-1]
    before[offsets[:-1][np.diff(offsets) > 0]] = 0
    return before


def letters(spans: Spans, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    """(letter, kind) of every token in a scheme; letters are O, B, I, E, S, of which a scheme may use only some."""
    letter = np.zeros(int(spans.offsets[-1]), np.int64)
    kind = np.zeros(len(letter), np.int64)
    lengths = spans.last - spans.first + 1
    inside = np.repeat(spans.first - (np.cumsum(lengths) - lengths), lengths) + np.arange(
        lengths.sum()
    )
    letter[inside], kind[inside] = I, np.repeat(spans.kind, lengths)
    letter[spans.first], letter[spans.last] = B, E
    letter[spans.first[lengths == 1]] = S
    first, last = spans.first, spans.last
    if scheme in ("iob1", "ioe1"):
        touch = np.zeros(
            len(first) + 1, bool
        )  # span k follows right upon span k − 1, which is of its kind
        touch[1:-1] = (
            (first[1:] == last[:-1] + 1)
            & (spans.kind[1:] == spans.kind[:-1])
            & (spans.row[1:] == spans.row[:-1])
        )
        first, last = first[touch[:-1]], last[touch[1:]]
    if scheme in ("iob1", "bio"):
        letter[inside], letter[first] = I, B
    elif scheme in ("ioe1", "ioe2"):
        letter[inside], letter[last] = I, E
    return letter, kind


def write(spans: Spans, scheme: str) -> list[list[str]]:
    """Rows of tags."""
    letter, kind = letters(spans, scheme)
    names = [
        [mark if mark == "O" or name == "_" else f"{mark}-{name}" for name in spans.kinds]
        for mark in WRITTEN[scheme]
    ]
    tags = [names[mark][name] for mark, name in zip(letter.tolist(), kind.tolist())]
    return [
        tags[start:end]
        for start, end in zip(spans.offsets[:-1].tolist(), spans.offsets[1:].tolist())
    ]


def convert(rows: list[list[str]], scheme: str) -> list[list[str]]:
    """Tags of any scheme, written in another."""
    return write(read(rows), scheme)


def detect(
    rows: list[list[str]], where=lambda row: Message("row {row}", row=row + 1)
) -> tuple[str, str]:
    """The scheme that these tags keep to, `plain` for tags that mark no spans, such as parts of speech; and a sentence on the
    few (up to one in a hundred) that do not keep to it."""
    tags = set(chain.from_iterable(rows))
    marked = marks(tags)
    if "O" not in tags and len(marked) <= len(tags) / 2:
        return "plain", ""
    used, strange = {tag[0] for tag in marked}, sorted(tags - marked)
    nearest, wrong = nearest_scheme(rows, used)
    if not strange and not wrong:
        return nearest, ""
    row, at = (
        wrong[0]
        if not strange
        else next((r, tags.index(strange[0])) for r, tags in enumerate(rows) if strange[0] in tags)
    )
    regular = short(convert([rows[row]], nearest)[0][at])
    the_tag = Message(
        "{where}: the tag {name!r} of token {token}",
        where=where(row),
        name=short(rows[row][at]),
        token=at + 1,
    )
    if not strange and 100 * len(wrong) <= sum(tag != "O" for row in rows for tag in row):
        more = len(wrong) - 1
        others = (
            plural(", nor does {count} other", ", nor do {count} others", count=more)
            if more
            else ""
        )
        return nearest, Message(
            "{tag} does not keep to {scheme} (it would be {wanted!r}){others}",
            tag=the_tag,
            scheme=nearest.upper(),
            wanted=regular,
            others=others,
        )
    why = Message(
        "; the nearest is {scheme}, in which it would be {wanted!r}",
        scheme=nearest.upper(),
        wanted=regular,
    )
    if strange:  # nobody knows what it was meant to be
        why = Message(
            ", where tags are O or a letter and a kind, such as B-PER; the nearest is {scheme}",
            scheme=nearest.upper(),
        )
    raise Mistake(
        "{tag} fits no scheme{no_scheme}; correct the tags, or say --set scheme={scheme} to read them as they are, "
        "or scheme=plain where they mark no spans.",
        tag=the_tag,
        no_scheme=why,
        scheme=nearest,
    )


def marks(tags: set[str]) -> set[str]:
    """Those that mark spans: O, B-PER and their like; a bare B, I, … only where all are so, as in word segmentation."""
    if tags <= LETTERS.keys() and ("B" in tags or {"I", "O"} <= tags):
        return tags
    return {
        tag
        for tag in tags
        if tag == "O" or (tag[:1] in LETTERS and tag[1:2] == "-" and len(tag) > 2)
    }


def nearest_scheme(rows: list[list[str]], used: set[str]) -> tuple[str, list[tuple[int, int]]]:
    """The scheme that the fewest tags break, and where they do (row, token)."""
    best, spans = None, read(rows)
    matching = [
        scheme for scheme, letters in WRITTEN.items() if used <= set(letters)
    ]  # the plainest first
    for scheme in matching or WRITTEN:
        if best and not best[1]:
            break
        written = write(spans, scheme)
        wrong = [
            (r, t)
            for r, (a, b) in enumerate(zip(rows, written))
            if a != b
            for t in range(len(a))
            if a[t] != b[t]
        ]
        if best is None or len(wrong) < len(best[1]):
            best = scheme, wrong
    return best


def allowed(letter: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which BIOES tag may begin a row (C,), follow another (C, C: from, to), and end a row (C,)."""
    begin = np.isin(letter, (O, B, S))
    end = np.isin(letter, (O, E, S))
    inside = (
        np.isin(letter, (B, I))[:, None]
        & np.isin(letter, (I, E))[None]
        & (kind[:, None] == kind[None])
    )
    return begin, (end[:, None] & begin[None]) | inside, end
