"""Contexts, questions and the answers that are right, as users give them: texts, texts with their places, or none.

Where it is said where an answer begins, and it does not stand there, it is looked for: others' files have such offsets. One that
stands in its context once is what was meant."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake
from wenmai.tasks.columns import line_of, texts_in

NOWHERE = -1


@dataclass(frozen=True)
class References:
    """The answers that are right, and where each begins in its context (NOWHERE: it is only compared with); none: the context
    does not answer the question. `moved`: how many began elsewhere than was said."""

    texts: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    moved: int = 0

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """From where to where the one stands that is learned: that which most people gave."""
        known = Counter((start, start + len(text)) for text, start in zip(self.texts, self.starts) if start != NOWHERE)
        return known.most_common(1)[0][0] if known else None


def references_of(given, context: str, where) -> References:
    """`given`: a text, several, {"text": …, "answer_start": …} as others have it, or nothing (None, "", an empty list)."""
    if isinstance(given, References):
        return given
    starts = None
    if isinstance(given, dict):
        given, starts = given.get("text"), given.get("answer_start")
        starts = starts if starts is None or isinstance(starts, (list, tuple)) else [starts]
    texts = [] if given is None or given == "" else list(given) if isinstance(given, (list, tuple)) else [given]
    if any(not isinstance(text, str) for text in texts):
        raise Mistake("{where}: found {value!r} as an answer, expected a text, a list of texts, or nothing where there is no "
                      "answer.", where=where, value=str(given)[:40])  # fmt: skip
    return located([text for text in texts if text.strip()], starts or [], context, where)


def located(texts: Sequence[str], starts: Sequence[int], context: str, where) -> References:
    places, moved = [], 0
    for number, text in enumerate(texts):
        given = starts[number] if number < len(starts) else None
        given = given if isinstance(given, int) and given >= 0 else None
        start = place_of(text, given, context)
        moved += start != NOWHERE and given is not None and start != given
        places.append(start)
    if texts and all(start == NOWHERE for start in places):
        many = context.count(texts[0])
        if many:
            raise Mistake("{where}: the answer {answer!r} does not stand at {start}, where it is said to begin, and {count} "
                          "times elsewhere in its context; correct its place, or leave it out.", where=where,
                          answer=short(texts[0]), start=starts[0], count=many)  # fmt: skip
        raise Mistake("{where}: the answer {answer!r} does not stand in its context; correct the row, or have answers written "
                      "out, which --task reply does.", where=where, answer=short(texts[0]))  # fmt: skip
    return References(tuple(texts), tuple(places), moved)


def place_of(text: str, given: int | None, context: str) -> int:
    """Where it begins: as was said, where that is so; else where it stands once; where nothing was said, where it is first."""
    if given is not None and context.startswith(text, given):
        return given
    first = context.find(text)
    return first if given is None or context.find(text, first + 1) < 0 else NOWHERE


# Columns


def pairs_in(chunk: Chunk, source: str, first: str = "context") -> list[tuple[str, str]]:
    """(context, question) of every row, neither without words."""
    for name in (first, "question"):
        if name not in chunk.columns:
            raise Mistake("{file} has no column {name} (found: {names}); name it with --columns {first}=NAME,question=NAME,"
                          "answer=NAME.", file=source, name=name, names=listed(chunk.columns), first=first)  # fmt: skip
    pairs = list(zip(texts_in(chunk, first, source), texts_in(chunk, "question", source)))
    check_pairs(pairs, line_of(chunk, source))
    return pairs


def check_pairs(pairs, where) -> None:
    for row, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) < 2 or not all(isinstance(text, str) for text in pair[:2]):
            raise Mistake("{where}: found {value!r}, expected a context and a question, two texts.", where=where(row),
                          value=str(pair)[:40])  # fmt: skip
        if not pair[0].strip():
            raise Mistake("{where}: the context is empty; give a text to look for the answer in, or drop the row.",
                          where=where(row))  # fmt: skip
        if not any(map(str.isalnum, pair[1])):
            raise Mistake("{where}: the question {question!r} has no words; give one, or drop the row.", where=where(row),
                          question=short(pair[1]))  # fmt: skip


def references_in(chunk: Chunk, source: str) -> list[References]:
    columns, where = chunk.columns, line_of(chunk, source)
    name = next((name for name in ("answers", "answer") if name in columns), None)
    if name is None:
        raise Mistake("{file} has no column answer (found: {names}); name it with --columns context=NAME,question=NAME,"
                      "answer=NAME.", file=source, names=listed(columns))  # fmt: skip
    starts = next((columns[name] for name in ("answer_starts", "answer_start") if name in columns), [None] * len(chunk))
    contexts, rows = texts_in(chunk, "context", source), []
    for row, (given, start) in enumerate(zip(columns[name], starts)):
        given = given if isinstance(given, dict) else {"text": answer_text(given), "answer_start": as_starts(start)}
        rows.append(references_of(given, contexts[row], where(row)))
    return rows


def answer_text(given):
    """A number is taken as it is written, and no number is no answer."""
    if given is None or given != given:
        return None
    return given if isinstance(given, (str, list, tuple)) else str(given)


def as_starts(given) -> list | None:
    if isinstance(given, (list, tuple)):
        return list(given)
    try:
        return [int(given)]
    except (TypeError, ValueError, OverflowError):
        return None
