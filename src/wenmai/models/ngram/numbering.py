"""How n-grams number words: <unk>, <s> and </s> first, then the tokens, and nothing that never stands in a text. A tokenizer has
numbers of its own, among them padding and masks, of which no share of the probability may be left to.
"""

import numpy as np

from wenmai.data.text.special import Special
from wenmai.data.text.vocabulary import BEGIN, END, NUMBERED, SPECIAL, UNK


class Numbering:
    def __init__(self, special: Special, vocabulary: int, between: bool = False):
        """`between`: what stands between two texts is a token too, the first behind the special ones."""
        self.plain = special == NUMBERED  # words between spaces are numbered so already
        self.size = vocabulary
        if self.plain:
            return
        between = between and special.separator is not None
        first = len(SPECIAL) + between
        known = np.setdiff1d(np.arange(vocabulary), special.numbers)
        self.own = np.full(vocabulary + 1, UNK, np.int32)  # the tokenizer's number → ours
        self.own[known] = first + np.arange(len(known))
        self.own[special.end], self.own[special.opening(vocabulary)] = END, BEGIN
        if between:
            self.own[special.separator] = first - 1
        self.size = first + len(known)
        self.tokenizer_ids = np.full(
            self.size, -1, np.int64
        )  # ours → the tokenizer's, where it has it and it may be written
        self.tokenizer_ids[self.own[known]], self.tokenizer_ids[END] = known, special.end
        if special.unknown is not None:
            self.tokenizer_ids[UNK] = special.unknown
        if between:
            self.tokenizer_ids[first - 1] = special.separator
        self.vocabulary = vocabulary

    def numbers(self, tokens: np.ndarray) -> np.ndarray:
        """Of these tokens, which the tokenizer numbered."""
        return tokens if self.plain else self.own[tokens]

    def spread(self, columns: np.ndarray) -> np.ndarray:
        """(B, ours) → (B, the tokenizer's), −∞ for what never stands in a text"""
        if self.plain:
            return columns
        wide = np.full((len(columns), self.vocabulary), -np.inf, columns.dtype)
        written = self.tokenizer_ids >= 0
        wide[:, self.tokenizer_ids[written]] = columns[:, written]
        return wide
