"""Contexts, questions and the answers that are right, as users give them: texts, texts with their places, or none.

Where it is said where an answer begins, and it does not stand there, it is looked for: others' files have such offsets. One that
stands in its context once is what was meant."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.text.tokenizers import CHINESE
from wenmai.errors import Mistake
from wenmai.tasks.columns import line_of, texts_in

NOWHERE = -1
MOST = 16  # places of one answer that are learned from
TELLING = 20  # answers that stand in several places: if none of so many begins elsewhere than at the first, nobody has looked


@dataclass(frozen=True)
class References:
    """The answers that are right, and where each begins in its context (NOWHERE: it is only compared with); none: the context
    does not answer the question. `moved`: how many began elsewhere than was said. `places`: of every text, where it stands as
    whole words; `starts_given`: whether it was said where they begin."""

    texts: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    moved: int = 0
    places: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)
    starts_given: bool = field(default=False, compare=False, repr=False)

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """From where to where the one stands that most people gave."""
        known = self.span_counts()
        return known.most_common(1)[0][0] if known else None

    def span_counts(self) -> Counter:
        return Counter(
            (start, start + len(text))
            for text, start in zip(self.texts, self.starts)
            if start != NOWHERE
        )

    def spans(self, everywhere: bool) -> list[tuple[int, int]]:
        """From where to where answers stand, the one that most people gave first: as they are placed, or, with `everywhere` and
        where no places were said, in every place that has the same words."""
        known = dict.fromkeys(span for span, _ in self.span_counts().most_common())
        if everywhere or not self.starts_given:
            each = zip(self.texts, self.places)
            known |= dict.fromkeys(
                (start, start + len(text)) for text, places in each for start in places
            )
        return list(known)[:MOST]


def always_first(references: Sequence[References]) -> bool:
    """Whether answers that stand in several places are said to begin at the first of them, all of them: then it says no more than
    the text itself does."""
    several = [
        (start, places[0])
        for one in references
        if one.starts_given
        for start, places in zip(one.starts, one.places)
        if len(places) > 1 and start != NOWHERE
    ]
    return len(several) >= TELLING and all(start <= first for start, first in several)


def references_of(answer, context: str, where) -> References:
    """`answer`: a text, several, {"text": …, "answer_start": …} as others have it, or nothing (None, "", an empty list)."""
    if isinstance(answer, References):
        return answer
    starts = None
    if isinstance(answer, dict):
        answer, starts = answer.get("text"), answer.get("answer_start")
        starts = starts if starts is None or isinstance(starts, (list, tuple)) else [starts]
    texts = (
        []
        if answer is None or answer == ""
        else list(answer)
        if isinstance(answer, (list, tuple))
        else [answer]
    )
    if any(not isinstance(text, str) for text in texts):
        raise Mistake(
            "{where}: found {value!r} as an answer, expected a text, a list of texts, or nothing where there is no "
            "answer.",
            where=where,
            value=str(answer)[:40],
        )
    return located([text for text in texts if text.strip()], starts or [], context, where)


def located(texts: Sequence[str], starts: Sequence[int], context: str, where) -> References:
    places, moved = [], 0
    for number, text in enumerate(texts):
        claimed = starts[number] if number < len(starts) else None
        claimed = claimed if isinstance(claimed, int) and claimed >= 0 else None
        start = place_of(text, claimed, context)
        moved += start != NOWHERE and claimed is not None and start != claimed
        places.append(start)
    if texts and all(start == NOWHERE for start in places):
        many = context.count(texts[0])
        if many:
            raise Mistake(
                "{where}: the answer {answer!r} does not stand at {start}, where it is said to begin, and {count} "
                "times elsewhere in its context; correct its place, or leave it out.",
                where=where,
                answer=short(texts[0]),
                start=starts[0],
                count=many,
            )
        raise Mistake(
            "{where}: the answer {answer!r} does not stand in its context; correct the row, or have answers written "
            "out, which --task reply does.",
            where=where,
            answer=short(texts[0]),
        )
    return References(
        tuple(texts),
        tuple(places),
        moved,
        tuple(tuple(islice(whole(text, context), MOST)) for text in texts),
        any(start is not None for start in starts),
    )


def whole(text: str, context: str) -> Iterator[int]:
    """Where a text stands, and is no part of a longer word or number."""
    start = context.find(text)
    while start >= 0:
        end = start + len(text)
        if not (
            goes_on(context[start - 1 : start], text[0])
            or goes_on(text[-1], context[end : end + 1])
        ):
            yield start
        start = context.find(text, start + 1)


def goes_on(left: str, right: str) -> bool:
    """Whether two letters belong to one word, which Chinese ones never say."""
    return left.isalnum() and right.isalnum() and not (CHINESE.match(left) or CHINESE.match(right))


def place_of(text: str, start: int | None, context: str) -> int:
    """Where it begins: as was said, where that is so; else where it stands once; where nothing was said, where it is first, as
    whole words if it is anywhere."""
    if start is not None and context.startswith(text, start):
        return start
    first = context.find(text)
    if start is None:
        return next(whole(text, context), first)
    return first if context.find(text, first + 1) < 0 else NOWHERE


# Columns


def pairs_in(chunk: Chunk, source: str, first: str = "context") -> list[tuple[str, str]]:
    """(context, question) of every row, neither without words."""
    for name in (first, "question"):
        if name not in chunk.columns:
            raise Mistake(
                "{file} has no column {name} (found: {names}); name it with --columns {first}=NAME,question=NAME,"
                "answer=NAME.",
                file=source,
                name=name,
                names=listed(chunk.columns),
                first=first,
            )
    pairs = list(zip(texts_in(chunk, first, source), texts_in(chunk, "question", source)))
    check_pairs(pairs, line_of(chunk, source))
    return pairs


def check_pairs(pairs, where) -> None:
    for row, pair in enumerate(pairs):
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) < 2
            or not all(isinstance(text, str) for text in pair[:2])
        ):
            raise Mistake(
                "{where}: found {value!r}, expected a context and a question, two texts.",
                where=where(row),
                value=str(pair)[:40],
            )
        if not pair[0].strip():
            raise Mistake(
                "{where}: the context is empty; give a text to look for the answer in, or drop the row.",
                where=where(row),
            )
        if not any(map(str.isalnum, pair[1])):
            raise Mistake(
                "{where}: the question {question!r} has no words; give one, or drop the row.",
                where=where(row),
                question=short(pair[1]),
            )


def references_in(chunk: Chunk, source: str) -> list[References]:
    columns, where = chunk.columns, line_of(chunk, source)
    name = next((name for name in ("answers", "answer") if name in columns), None)
    if name is None:
        raise Mistake(
            "{file} has no column answer (found: {names}); name it with --columns context=NAME,question=NAME,"
            "answer=NAME.",
            file=source,
            names=listed(columns),
        )
    starts = next(
        (columns[name] for name in ("answer_starts", "answer_start") if name in columns),
        [None] * len(chunk),
    )
    contexts, rows = texts_in(chunk, "context", source), []
    for row, (answer, start) in enumerate(zip(columns[name], starts)):
        answer = (
            answer
            if isinstance(answer, dict)
            else {"text": answer_text(answer), "answer_start": as_starts(start)}
        )
        rows.append(references_of(answer, contexts[row], where(row)))
    return rows


def answer_text(value):
    """A number is taken as it is written, and no number is no answer."""
    if value is None or value != value:
        return None
    return value if isinstance(value, (str, list, tuple)) else str(value)


def as_starts(value) -> list | None:
    if isinstance(value, (list, tuple)):
        return list(value)
    try:
        return [int(value)]
    except (TypeError, ValueError, OverflowError):
        return None
