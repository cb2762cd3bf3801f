"""ARPA: n-gram models as text, which every toolkit reads (Paul & Baker 1992).

    \\data\\
    ngram 1=4                how many of every order
    \\1-grams:
    -1.2 <tab> the <tab> -0.3     log₁₀ p, the n-gram, log₁₀ of its back-off weight, if it has one
    \\end\\
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from wenmai.data.columns import short
from wenmai.data.files import text_file
from wenmai.data.vocabulary import BEGIN, SPECIAL
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import NONE, Level
from wenmai.models.ngram.smoothing import Smoothed, Weights

LOWEST = -99.0  # stands for the logarithm of 0
HIGHEST = 7  # order


def write(out: TextIO, words: list[str], levels: list[Level], smoothed: Smoothed) -> None:
    out.write("\\data\\\n" + "".join(f"ngram {n}={len(level)}\n" for n, level in enumerate(levels, 1)))
    texts = words
    for n, (level, weights) in enumerate(zip(levels, smoothed.levels), 1):
        if n > 1:
            texts = [f"{texts[before]} {words[word]}" for before, word in zip(level.context.tolist(), level.word.tolist())]
        out.write(f"\n\\{n}-grams:\n")
        probs, backoffs = (np.maximum(values, LOWEST).tolist() for values in (weights.log_prob, weights.backoff))
        if n == 1:
            probs[BEGIN] = LOWEST  # nobody asks for it
        if n == len(levels):
            out.writelines(f"{prob:.7g}\t{text}\n" for prob, text in zip(probs, texts))
        else:
            out.writelines(f"{prob:.7g}\t{text}\t{backoff:.7g}\n" for prob, text, backoff in zip(probs, texts, backoffs))
    out.write("\n\\end\\\n")


def read(path: Path) -> tuple[list[str], list[Level], Smoothed]:
    """(words, the n-grams of every order, their weights). Where a toolkit has pruned an n-gram that a longer one begins or ends
    with, it is put back, with the probability that backing off gives it."""
    words = {word: number for number, word in enumerate(SPECIAL)}
    with text_file(path, str(path)).open() as file:
        lines = ((number, line.strip()) for number, line in enumerate(file, 1) if line.strip())
        sizes, heading = header(lines, path)
        tables = []
        for n, size in enumerate(sizes, 1):
            expect(f"\\{n}-grams:", heading, path)
            table, heading = section(lines, n, size, words, path)
            tables.append(table)
        expect("\\end\\", heading, path)
    return list(words), *joined(tables, len(words))


def expect(heading: str, found: str, path: Path) -> None:
    if found != heading:
        raise Mistake(f"{path}: found {short(found, 40)!r}, expected {heading}; the file is cut off, or its counts are wrong.")


def header(lines: Iterator[tuple[int, str]], path: Path) -> tuple[list[int], str]:
    for _, line in lines:
        if line == "\\data\\":
            break
    else:
        raise Mistake(f"{path} is no ARPA file: it has no line \\data\\.")
    sizes: list[int] = []
    for number, line in lines:
        if line.startswith("\\"):
            break
        order, equals, size = line.removeprefix("ngram").partition("=")
        if not (line.startswith("ngram") and equals and order.strip() == str(len(sizes) + 1) and size.strip().isdigit()):
            raise Mistake(f"{path}, line {number}: found {short(line, 40)!r}, expected ngram {len(sizes) + 1}=COUNT.")
        sizes.append(int(size))
    else:
        line = ""
    if not 1 <= len(sizes) <= HIGHEST:
        raise Mistake(f"{path}: found n-grams of {len(sizes)} orders, expected 1 to {HIGHEST}.")
    return sizes, line


def section(lines: Iterator[tuple[int, str]], n: int, size: int, words: dict[str, int], path: Path):
    """((words (M, n), log p (M,), back-off (M,)), the heading after them)"""
    found, probs, backoffs = [], [], []
    for number, line in lines:
        if line.startswith("\\") and (line == "\\end\\" or line.endswith("-grams:")):
            break
        cells = line.split()
        if len(found) == size * n or len(cells) not in (n + 1, n + 2):
            raise Mistake(f"{path}, line {number}: found {short(line, 40)!r}, expected one of {size:,} {n}-grams: a number, "
                          f"{n} words and at most one number more.")  # fmt: skip
        try:
            prob, backoff = float(cells[0]), float(cells[n + 1]) if len(cells) == n + 2 else 0.0
        except ValueError:
            prob = backoff = float("nan")
        if not (prob <= 0 and backoff < 99):  # a number that is none is neither
            raise Mistake(f"{path}, line {number}: found {short(line, 40)!r}, expected logarithms, of a probability at most 0.")
        for word in cells[1 : n + 1]:
            if n > 1 and word not in words:
                raise Mistake(f"{path}, line {number}: the word {short(word)!r} is not among the 1-grams.")
            found.append(words.setdefault(word, len(words)))
        probs.append(max(prob, LOWEST))
        backoffs.append(max(backoff, LOWEST))
    else:
        line = ""
    if len(probs) != size:
        raise Mistake(f"{path}: found {len(probs):,} {n}-grams, expected {size:,} as its header says; copy it again.")
    return (np.array(found, np.int32).reshape(-1, n), np.array(probs, np.float32), np.array(backoffs, np.float32)), line


def joined(tables: list, vocabulary: int) -> tuple[list[Level], Smoothed]:
    """Which n-gram begins and ends with which."""
    grams = [np.arange(vocabulary, dtype=np.int32)[:, None]] + [table[0] for table in tables[1:]]
    for n in range(len(grams) - 1, 1, -1):  # what longer ones begin and end with
        grams[n - 1] = missing_added(grams[n - 1], np.concatenate([grams[n][:, :-1], grams[n][:, 1:]]))
    levels, weights, keys = [], [], []
    for n, rows in enumerate(grams):
        _, probs, backoffs = tables[n]
        prob, backoff = np.full(len(rows), np.nan, np.float32), np.zeros(len(rows), np.float32)
        if n == 0:
            prob[tables[0][0][:, 0]], backoff[tables[0][0][:, 0]] = probs, backoffs
            prob[np.isnan(prob)] = LOWEST
            nothing = np.full(len(rows), NONE, np.int32)
            levels.append(Level(rows[:, 0], nothing, nothing, np.zeros(len(rows), np.int64)))
        else:
            prob[: len(probs)], backoff[: len(probs)] = probs, backoffs
            context, suffix = places(rows[:, :-1], keys), places(rows[:, 1:], keys)
            below = weights[n - 1]
            lacking = np.isnan(prob)
            prob[lacking] = (below.backoff[context] + below.log_prob[suffix])[lacking]
            levels.append(Level(np.ascontiguousarray(rows[:, -1]), context, suffix, np.zeros(len(rows), np.int64)))
        weights.append(Weights(prob, backoff))
        level = levels[-1]
        key = level.context.astype(np.int64) << 32 | level.word
        order = np.argsort(key, kind="stable")
        keys.append((key[order], order.astype(np.int32)))
    return levels, Smoothed(weights)


def missing_added(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rows, and behind them those of `wanted` that are not among them."""
    known = {row.tobytes() for row in rows}
    new = {row.tobytes() for row in np.ascontiguousarray(np.unique(wanted, axis=0))} - known
    more = np.frombuffer(b"".join(sorted(new)), np.int32).reshape(-1, rows.shape[1])
    return np.concatenate([rows, more])


def places(rows: np.ndarray, keys: list) -> np.ndarray:
    """Where these n-grams stand in their order, found word by word."""
    at = rows[:, 0].astype(np.int32)
    for n in range(1, rows.shape[1]):
        known, order = keys[n]
        at = order[np.searchsorted(known, at.astype(np.int64) << 32 | rows[:, n])]
    return at
