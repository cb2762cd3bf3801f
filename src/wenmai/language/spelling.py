"""What an unknown token costs when it is spelled out: byte by byte, by counts of how the known ones are spelled. So a model that
knows few words is not paid for the others, and models that cut a text differently can be compared.

    p(text) = Π p(token) · Π p(spelling of each unknown one)
    p(b | h) = (c(hb) + T(h) p(b | h′)) / (c(h) + T(h))        h: the 4 bytes before; T(h): how many different ones follow it

(Witten & Bell 1991, interpolated; at the bottom every byte, and the end, 1/257.) Each word of the vocabulary counts once, since
what is unknown is rare. Known words could be spelled too, so the cost is at most a little too high."""

from collections import Counter, defaultdict
from functools import lru_cache
from math import log

import numpy as np

from wenmai.data.files.corpus import lines_in
from wenmai.data.text.lines import Lines

BACK, WORDS = 4, 50_000  # bytes that are looked back on; words that are counted
BASE, END = 257, 256  # bytes and the end of a word


class Speller:
    def __init__(self, words: list[bytes]):
        self.after: dict[bytes, Counter] = defaultdict(Counter)
        for word in words[:: max(1, -(-len(words) // WORDS))]:
            for at, letter in enumerate([*word, END]):
                for back in range(min(at, BACK) + 1):
                    self.after[word[at - back : at]][letter] += 1
        self.totals = {before: counts.total() for before, counts in self.after.items()}
        self.log_prob = lru_cache(100_000)(self._log_prob)

    @classmethod
    def of(cls, lines: Lines) -> "Speller":
        special = set(lines.special.numbers)
        return cls(
            [
                token.encode("utf-8", "replace")
                for number, token in enumerate(lines.tokens())
                if number not in special
            ]
        )

    def _log_prob(self, word: bytes) -> float:
        """Natural, of the word and its end."""
        total = 0.0
        for at, letter in enumerate([*word, END]):
            p = 1 / BASE
            for back in range(min(at, BACK) + 1):
                before = word[at - back : at]
                if before in self.totals:
                    counts = self.after[before]
                    p = (counts[letter] + len(counts) * p) / (self.totals[before] + len(counts))
            total += log(p)
        return total

    def lines_cost(self, lines: Lines, block: bytes) -> np.ndarray:
        """−log p of how the unknown tokens of every line are spelled (L,)."""
        tokens, starts = lines.numbers(block)
        costs, places = np.zeros(len(starts) - 1), np.flatnonzero(tokens == lines.special.unknown)
        if not len(places):
            return costs
        texts, at = (
            lines_in(block),
            np.searchsorted(starts, places, "right") - 1,
        )  # the line of each
        for line in np.unique(at).tolist():
            words = words_of(lines, texts[line])
            costs[line] = -sum(
                self.log_prob(words[place])
                for place in (places[at == line] - starts[line]).tolist()
            )
        return costs


def words_of(lines: Lines, text: str) -> list[bytes]:
    """The tokens of a line as they are written there."""
    if lines.tokenizer is None:
        return lines.lowered(text.encode("utf-8", "replace")).split()
    return [
        text[start:end].encode("utf-8", "replace")
        for start, end in lines.tokenizer.spans([text])[0]
    ]
