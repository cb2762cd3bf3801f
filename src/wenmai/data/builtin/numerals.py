"""numbers: 1234 ↔ one thousand two hundred thirty-four ↔ 一千二百三十四, by num2words and, for Chinese, by cn2an; line: x → 2x.

The text after the colon says from what to what: numbers:en-digits, numbers:zh-en; numbers:zh is from digits to Chinese.
"""

import random
from collections.abc import Callable

import numpy as np

from wenmai.data.builtin.packages import module
from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake, unknown

BELOW, EACH, LENGTHS, SEED = 1_000, 1_200, range(4, 9), 1998
DIGITS, CHINESE = "digits", "zh"
UNABLE = ("am",)  # languages of num2words that break on some of the numbers


def line() -> Chunk:
    """x → 2x at 101 points: -10, -9.8, …, 9.8, 10."""
    x = np.arange(-50, 51) / 5  # (101,)
    return Chunk({"x": x, "target": 2 * x}, range(1, len(x) + 1))


def numbers(*, numbers: str = "en") -> Chunk:
    """All numbers below 1,000, and 1,200 of each length from 4 to 8 digits, in one way of writing and in another."""
    first, _, second = numbers.rpartition("-")
    write_source, write_target = writer(first or DIGITS), writer(second)
    if (first or DIGITS) == second:
        raise Mistake(
            "numbers:{option} is the same on both sides; expected two ways of writing, as in numbers:zh-digits.",
            option=numbers,
        )
    rows: dict[str, int | None] = {}
    for number in sampled():
        text = write_source(number)
        rows[text] = (
            number if rows.get(text, number) == number else None
        )  # None: it means two numbers
    pairs = [(text, write_target(number)) for text, number in rows.items() if number is not None]
    source, target = map(list, zip(*pairs))
    return Chunk({"source": source, "target": target}, range(1, len(pairs) + 1))


def sampled() -> list[int]:
    """Of the longer ones many have zeros inside or at the end, as the numbers that people say have."""
    chance = random.Random(SEED)
    numbers = dict.fromkeys(range(BELOW))
    for length in LENGTHS:
        size = len(numbers) + EACH
        while len(numbers) < size:
            digits = [
                chance.choice("123456789"),
                *(chance.choice("0000123456789") for _ in range(length - 1)),
            ]
            numbers[int("".join(digits))] = None
    order = list(numbers)
    chance.shuffle(order)
    return order


def writer(name: str) -> Callable[[int], str]:
    if name == DIGITS:
        return str
    if name == CHINESE:
        return module("cn2an", "numbers").an2cn
    words = module("num2words", "numbers")
    known = [language for language in words.CONVERTER_CLASSES if language not in UNABLE]
    if name not in known:
        raise unknown("way to write numbers", name, [DIGITS, CHINESE, *known])
    if name == "en":  # as in America: neither commas nor "and"
        return lambda number: words.num2words(number).replace(",", "").replace(" and ", " ")
    return lambda number: words.num2words(number, lang=name)
