"""ARPA: n-gram models as text, which every toolkit reads (Paul & Baker 1992).

    \\data\\
    ngram 1=4                how many of every order
    \\1-grams:
    -1.2 <tab> the <tab> -0.3     log₁₀ p, the n-gram, log₁₀ of its back-off weight, if it has one
    \\end\\

Files come from many hands: fields are cut at any white space, text may stand before \\data\\, back-off weights and <unk> may
be missing, <unk> may be written <UNK>, and the logarithm of 0 is -99 or -inf.
"""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np

from wenmai.data.files.columns import short
from wenmai.data.files.opening import text_file
from wenmai.data.text.vocabulary import BEGIN, SPECIAL, UNK, Vocabulary
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import Level
from wenmai.models.ngram.joining import joined
from wenmai.models.ngram.printing import lines_of, spelled, words_of
from wenmai.models.ngram.scanning import BAD, HEADING, LOWEST, NUMBER, UNKNOWN, scan
from wenmai.models.ngram.weights import Smoothed

HIGHEST = 7  # order
BLOCK = 1 << 24  # characters read at a time
ROWS = 1 << 17  # n-grams written at a time


def read(path: Path) -> tuple[list[str], list[Level], Smoothed]:
    """(words, the n-grams of every order, their weights). Where a toolkit has pruned an n-gram that a longer one begins or ends
    with, it is put back, with the probability that backing off gives it."""
    with text_file(path, str(path)).open() as file:
        lines = Lines(file)
        sizes, heading = header(lines, path)
        expect("\\1-grams:", heading, path)
        words, unigrams, vocabulary = known_words(*section(lines, 1, sizes[0], None, path), path)
        tables = [unigrams]
        for n, size in enumerate(sizes[1:], 2):
            expect(f"\\{n}-grams:", lines.next()[1], path)
            tables.append(section(lines, n, size, vocabulary, path))
            tables[-1][0][tables[-1][0] == len(words)] = UNK
        expect("\\end\\", lines.next()[1], path)
    return words, *joined(tables, words, path)


def known_words(
    listed: list[str], probs: np.ndarray, backoffs: np.ndarray, path: Path
) -> tuple[list[str], tuple, Vocabulary]:
    """(all words, the table of 1-grams, what finds a word's number). Where <unk> is written <UNK>, that has a number beyond."""
    alike = "<UNK>" in listed and "<unk>" not in listed
    numbers: dict[str, int] = dict.fromkeys(SPECIAL + tuple(listed), 0)
    if alike:
        del numbers["<UNK>"]
    words = list(numbers)
    numbers = {word: number for number, word in enumerate(words)}
    if len(set(listed)) < len(listed):
        twice = short(Counter(listed).most_common(1)[0][0])
        raise Mistake(
            "{file}: the word {word!r} stands twice among the 1-grams; remove one of them.",
            file=path,
            word=twice,
        )
    grams = np.array([numbers.get(word, UNK) for word in listed], np.int32).reshape(-1, 1)
    return words, (grams, probs, backoffs), Vocabulary.of(words + ["<UNK>"] * alike)


class Lines:
    """A text in blocks of whole lines, as bytes; the next line is taken from it, or many are scanned at once."""

    def __init__(self, file: TextIO):
        self.file, self.text, self.at, self.number = (
            file,
            b"",
            0,
            0,
        )  # number: of lines that were taken
        self.ended = False

    def more(self) -> None:
        """Reads on; what was not taken stays, and more of it if it is still no whole line."""
        self.text, self.at = self.text[self.at :], 0
        while not self.ended:
            block = self.file.read(BLOCK).encode()
            self.ended = not block
            self.text += block or b"\n"  # the last line may have no end
            if b"\n" in block:
                break

    def next(self) -> tuple[int, str]:
        """(number, text) of the next line that is not empty; "" at the end of the file."""
        while True:
            end = self.text.find(b"\n", self.at)
            if end < 0:
                if self.ended:
                    return self.number, ""
                self.more()
                continue
            line, self.at, self.number = (
                self.text[self.at : end].decode().strip(),
                end + 1,
                self.number + 1,
            )
            if line:
                return self.number, line


def expect(heading: str, line: str, path: Path) -> None:
    if line != heading:
        raise Mistake(
            "{file}: found {actual!r}, expected {heading}; the file is cut off, or its counts are wrong.",
            file=path,
            actual=short(line, 40),
            heading=heading,
        )


def header(lines: Lines, path: Path) -> tuple[list[int], str]:
    """(how many n-grams of every order, the heading after that)"""
    line = ""
    while line != "\\data\\":
        _, line = lines.next()
        if not line:
            raise Mistake("{file} is no ARPA file: it has no line \\data\\.", file=path)
    sizes: list[int] = []
    while True:
        number, line = lines.next()
        if not line or line.startswith("\\"):
            break
        match = re.fullmatch(rf"ngram\s+{len(sizes) + 1}\s*=\s*([0-9]{{1,15}})", line)
        if not match:
            raise Mistake(
                "{file}, line {line}: found {actual!r}, expected ngram {order}=COUNT.",
                file=path,
                line=number,
                actual=short(line, 40),
                order=len(sizes) + 1,
            )
        sizes.append(int(match[1]))
    order = len(sizes)
    if not 1 <= order <= HIGHEST:
        raise Mistake(
            "{file}: found n-grams of {orders} orders, expected 1 to {most}.",
            file=path,
            orders=order,
            most=HIGHEST,
        )
    return sizes, line


def section(lines: Lines, n: int, size: int, vocabulary: Vocabulary | None, path: Path):
    """(n-grams (M, n) int32, or words where there is no vocabulary yet; log p (M,); back-off (M,))"""
    known = (
        (vocabulary.letters, vocabulary.starts, vocabulary.slots)
        if vocabulary
        else (np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int32))
    )
    words, parts, filled = (
        [],
        [(np.zeros((0, n), np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32))],
        0,
    )
    while True:
        room = min(lines.text.count(b"\n", lines.at), size - filled)
        grams, numbers = (
            np.empty((room, n if vocabulary else 2), np.int32),
            np.empty((2, room), np.float32),
        )
        status, at, rows, lines_read, which = scan(
            np.frombuffer(lines.text, np.uint8), lines.at, n, *known, grams, numbers
        )
        if status in (BAD, NUMBER, UNKNOWN):
            line = lines.text[at : lines.text.find(b"\n", at)].decode().strip()
            raise wrong(status, path, lines.number + lines_read + 1, line, n, size, which)
        if vocabulary:
            parts.append((grams[:rows], *numbers[:, :rows]))
        else:
            words += [lines.text[start:end].decode() for start, end in grams[:rows].tolist()]
            parts.append((parts[0][0], *numbers[:, :rows]))
        lines.at, lines.number, filled = at, lines.number + lines_read, filled + rows
        if status == HEADING or lines.ended:
            break
        lines.more()
    if filled != size:
        raise Mistake(
            "{file}: found {actual:,} {order}-grams, expected {size:,} as its header says; copy it again.",
            file=path,
            actual=filled,
            order=n,
            size=size,
        )
    grams, probs, backoffs = (np.concatenate(part) for part in zip(*parts))
    return (words if vocabulary is None else grams), probs, backoffs


def wrong(
    status: int, path: Path, number: int, line: str, n: int, size: int, which: int
) -> Mistake:
    word, line = (
        short("".join(line.split()[which : which + 1])),
        short(line, 40),
    )  # of an n-gram that breaks off there is none
    if status == UNKNOWN:
        return Mistake(
            "{file}, line {line}: the word {word!r} is not among the 1-grams.",
            file=path,
            line=number,
            word=word,
        )
    if status == NUMBER:
        return Mistake(
            "{file}, line {line}: found {actual!r}, expected logarithms, of a probability at most 0.",
            file=path,
            line=number,
            actual=line,
        )
    return Mistake(
        "{file}, line {line}: found {actual!r}, expected one of {size:,} {order}-grams: a number, {count} words and "
        "at most one number more.",
        file=path,
        line=number,
        actual=line,
        size=size,
        order=n,
        count=n,
    )


def write(out: TextIO, words: list[str], levels: list[Level], smoothed: Smoothed) -> None:
    spaces = any(" " in word for word in words)  # whose sign must not be a word of its own
    written = [spelled(word, spaces) for word in words]
    if "" in written or len(set(written)) < len(written):
        twice = "" if "" in written else Counter(written).most_common(1)[0][0]
        raise Mistake(
            "ARPA cannot hold this vocabulary: two words are written {word!r} there, or one has no letters; drop one "
            "of them.",
            word=twice,
        )
    letters = np.frombuffer("".join(written).encode(), np.uint8)
    starts = np.cumsum([0, *(len(word.encode()) for word in written)])
    out.write(
        "\\data\\\n" + "".join(f"ngram {n}={len(level)}\n" for n, level in enumerate(levels, 1))
    )
    for n, (level, weights) in enumerate(zip(levels, smoothed.levels), 1):
        out.write(f"\n\\{n}-grams:\n")
        for first, last in pairwise([*range(0, len(level), ROWS), len(level)]):
            rows = words_of(levels[:n], first, last)
            probs, backoffs = (
                np.clip(weights.log_prob[first:last], LOWEST, 0),
                np.maximum(weights.backoff[first:last], LOWEST),
            )
            if n == 1 and first <= BEGIN < last:
                probs[BEGIN - first] = LOWEST  # nobody asks for it
            block = np.empty(int(np.diff(starts)[rows].sum()) + (n + 32) * len(rows), np.uint8)
            end = lines_of(rows, probs, backoffs, n < len(levels), letters, starts, block)
            out.write(block[:end].tobytes().decode())
    out.write("\n\\end\\\n")
