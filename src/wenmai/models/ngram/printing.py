"""The lines of an ARPA file, written as bytes: a number, n words, and for what can be a context one number more."""

import re

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.models.ngram.counts import Level

SPACE = "▁"  # stands for a space
CUT = "\t\n\v\f\r\0"  # what else no word may hold


def spelled(word: str, spaces: bool) -> str:
    """As it stands in a file whose fields are cut at white space: a space as ▁; other white space, and a ▁ where there are
    spaces, as its bytes, \\xHH."""
    for letter in CUT + SPACE * spaces:
        word = word.replace(letter, "".join(f"\\x{byte:02X}" for byte in letter.encode()))
    return word.replace(" ", SPACE)


def read_back(word: str) -> str:
    """What `spelled` was given."""
    return re.sub(
        r"(?:\\x[0-9A-F]{2})+",
        lambda escape: bytes.fromhex(escape[0].replace("\\x", "")).decode("utf-8", "replace"),
        word.replace(SPACE, " "),
    )


def words_of(levels: list[Level], first: int, last: int) -> np.ndarray:
    """The words (last − first, n) of n-grams of the last of these levels."""
    rows, at = np.empty((last - first, len(levels)), np.int32), np.arange(first, last)
    for n in range(len(levels) - 1, -1, -1):
        rows[:, n] = levels[n].word[at]
        at = levels[n].context[at]
    return rows


@njit(cache=True, nogil=True)
def lines_of(rows, probs, backoffs, contexts, letters, starts, block):
    """A line for every n-gram, written into the block; where they end."""
    end = 0
    for row in range(len(rows)):
        end = put_number(block, end, probs[row])
        for n in range(rows.shape[1]):
            block[end] = 32 if n else 9
            end += 1
            for at in range(starts[rows[row, n]], starts[rows[row, n] + 1]):
                block[end] = letters[at]
                end += 1
        if contexts:
            block[end] = 9
            end = put_number(block, end + 1, backoffs[row])
        block[end] = 10
        end += 1
    return end


@njit(inline="always")
def put_number(block, end, value):
    """Seven places behind the point, without zeros at the end."""
    scaled = np.int64(np.round(abs(np.float64(value)) * 1e7))
    if value < 0 and scaled:
        block[end] = 45
        end += 1
    integer, part = scaled // 10_000_000, scaled % 10_000_000
    if integer >= 10:
        block[end] = 48 + integer // 10
        end += 1
    block[end] = 48 + integer % 10
    end += 1
    if part:
        block[end] = 46
        end += 1
        unit = 1_000_000
        while part:
            block[end] = 48 + part // unit
            end += 1
            part %= unit
            unit //= 10
    return end
