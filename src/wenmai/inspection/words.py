"""Words of a text, and the places where a network reads them: pieces and bytes are joined, so that nobody has to read ##ing or
half of a character.

A network reads places; people read words. Of a text that was given, a word knows where it stands in it (`span`), so that it can
taken out; of one that was written, there are its tokens alone, which are joined by the marks that they carry (## of WordPiece,
the space before a word of byte-level BPE and Unigram)."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from wenmai.data.text.tokenizers import CHINESE, WORD

SINGLE = ("characters", "bytes")  # tokenizers whose words are characters
INNER, SPACED = "##", ("Ġ", "▁")  # marks of pieces: it goes on with a word; it begins one
SPACES = {" ": "␣", "\n": "↵", "\t": "⇥"}


@dataclass
class Word:
    name: str
    places: list[int] = field(default_factory=list)  # of the row that is read
    span: tuple[int, int, int] | None = (
        None  # (which of the texts, from, to), where it stands in one
    )


def shown(text: str) -> str:
    """A word as it is written; one of nothing but spaces is seen."""
    return text.strip() or "".join(SPACES.get(mark, mark) for mark in text) or "␣"


# Of texts that were given


def words_read(tokenizer, special, ids: Sequence[int], texts: Sequence[str]) -> list[Word]:
    """The words of a row of tokens that was made of these texts, in whatever order they stand there, and of what stands around
    them."""
    spans = located(tokenizer, ids, texts)
    words: list[Word] = []
    spaces: list[int] = []  # places of a mark that stands before a word, and is one with it
    for place, span in enumerate(spans):
        if span is None:
            words.append(Word(name_of(tokenizer, int(ids[place])), [place]))
            continue
        text, start, end = span
        if (
            tokenizer.kind not in SINGLE
            and not texts[text][start:end].strip()
            and place + 1 < len(spans)
        ):
            spaces.append(place)
            continue
        before = words[-1].span if words else None
        if (
            before is not None and before[0] == text and start < before[2]
        ):  # a piece of the same word, or byte of a character
            words[-1].places += [*spaces, place]
            words[-1].span = text, before[1], max(before[2], end)
            words[-1].name = shown(texts[text][before[1] : max(before[2], end)])
        else:
            start, end = whole(tokenizer.kind, texts[text], start, end)
            words.append(Word(shown(texts[text][start:end]), [*spaces, place], (text, start, end)))
        spaces = []
    return words


def located(
    tokenizer, ids: Sequence[int], texts: Sequence[str]
) -> list[tuple[int, int, int] | None]:
    """Of every place the text that it comes from, and from where to where; None for what stands around texts. A row may be cut,
    and then some of a text is missing from its end."""
    ids, places = [int(number) for number in ids], [None] * len(ids)
    rows = [row.tolist() for row in tokenizer.encode(list(texts))]
    spans = tokenizer.spans(list(texts))
    for text in sorted(
        range(len(texts)), key=lambda text: -len(rows[text])
    ):  # long ones cannot be mistaken
        at = best_place(ids, rows[text], places)
        for step in range(min(len(rows[text]), len(ids) - at) if at >= 0 else 0):
            if ids[at + step] != rows[text][step]:
                break
            places[at + step] = (text, *spans[text][step])
    return places


def best_place(ids: list[int], row: list[int], taken: list) -> int:
    """Where the longest beginning of this row stands among places that are free; −1 where none does."""
    best, length = -1, 0
    for at in range(len(ids)):
        size = 0
        while (
            size < len(row)
            and at + size < len(ids)
            and taken[at + size] is None
            and ids[at + size] == row[size]
        ):
            size += 1
        if size > length:
            best, length = at, size
    return best


def whole(kind: str, text: str, start: int, end: int) -> tuple[int, int]:
    """The word of the text in which a piece stands; tokens that are words already, and characters, as they are."""
    while start < end - 1 and text[start].isspace():
        start += 1
    if kind in SINGLE or kind in ("words", "jieba", "spaces", "given"):
        return start, end
    for word in WORD.finditer(text, max(0, text.rfind(" ", 0, start) + 1)):
        if word.start() <= start < word.end():
            return word.start(), max(end, word.end()) if not CHINESE.match(word[0]) else end
        if word.start() > start:
            break
    return start, end


def without(text: str, start: int, end: int) -> str:
    """The text without a word, and without the space that would be left twice."""
    after = text[end:]
    if (not start or text[start - 1].isspace()) and after[:1].isspace():
        after = after[1:]
    return text[:start] + after


# Of texts that were written


def name_of(tokenizer, number: int) -> str:
    return tokenizer.tokens[number] if 0 <= number < len(tokenizer.tokens) else f"#{number}"


def words_written(tokenizer, special, ids: Sequence[int], names: Sequence[str]) -> list[Word]:
    """Tokens joined into words; `names`: what each is by itself."""
    ids = [int(number) for number in ids]
    if tokenizer is None or tokenizer.kind in ("words", "jieba", "spaces", "given", "characters"):
        return [
            Word(name if number in special.numbers else shown(name), [place])
            for place, (number, name) in enumerate(zip(ids, names))
        ]
    words, open_, half_open, decoder = (
        [],
        False,
        False,
        codecs.getincrementaldecoder("utf-8")("replace"),
    )
    for place, (number, name) in enumerate(zip(ids, names)):
        if number in special.numbers:
            words.append(Word(name, [place]))
            open_, half_open, decoder = (
                False,
                False,
                codecs.getincrementaldecoder("utf-8")("replace"),
            )
            continue
        begins, piece = piece_of(tokenizer, number, decoder)
        if open_ and (half_open or (not begins and joins(words[-1].name, piece))):
            words[-1].name += piece
            words[-1].places.append(place)
        else:
            words.append(Word(piece, [place]))
        open_, half_open = True, bool(decoder.getstate()[0])
    for word in words:
        word.name = shown(word.name)
    return words


def joins(before: str, piece: str) -> bool:
    """Whether a piece goes on with the word before it: letters with letters, and none of scripts without spaces."""
    if not before.strip() or not piece:
        return True
    return (
        before[-1].isalnum()
        and piece[0].isalnum()
        and not CHINESE.match(before[-1])
        and not CHINESE.match(piece[0])
    )


def piece_of(tokenizer, number: int, decoder) -> tuple[bool, str]:
    """(whether it begins a word, what it adds): of bytes, the characters that are whole by now."""
    token = tokenizer.tokens[number]
    if tokenizer.kind == "bytes":
        return True, decoder.decode(bytes([int(token[1:3], 16)]))
    if token.startswith(INNER) and token != INNER:
        return False, token[len(INNER) :]
    if by_bytes(tokenizer):
        table = byte_alphabet()
        data = bytes(table.get(letter, 63) for letter in token)
        return token.startswith(SPACED[0]), decoder.decode(data)
    if token.startswith(SPACED[1]):
        return True, token[1:]
    return "Metaspace" not in repr(
        tokenizer.engine.pre_tokenizer
    ), token  # else it is the first piece of a word


def by_bytes(tokenizer) -> bool:
    return "ByteLevel" in repr(tokenizer.engine.pre_tokenizer)


@cache
def byte_alphabet() -> dict[str, int]:
    """How byte-level tokenizers write bytes as letters (Radford et al. 2019): those that print as they are, others beyond."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + at): byte for at, byte in enumerate(rest)}


# Numbers of places → of words


def summed(values: np.ndarray, words: Sequence[Word], axis: int = -1) -> np.ndarray:
    """What a word has is what its places have together."""
    values = np.moveaxis(values, axis, 0)
    joined = np.stack([values[word.places].sum(0) for word in words]) if len(words) else values[:0]
    return np.moveaxis(joined, 0, axis)


def averaged(values: np.ndarray, words: Sequence[Word], axis: int = -1) -> np.ndarray:
    values = np.moveaxis(values, axis, 0)
    joined = np.stack([values[word.places].mean(0) for word in words]) if len(words) else values[:0]
    return np.moveaxis(joined, 0, axis)


def last_of(
    values: np.ndarray, words: Sequence[Word], axis: int = 0, first: bool = False
) -> np.ndarray:
    """What a state has come to when a word has been read; `first`: of one that reads backwards."""
    return np.take(values, [word.places[0 if first else -1] for word in words], axis)
