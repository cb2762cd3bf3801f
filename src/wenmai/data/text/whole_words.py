"""Which tokens go on with a word that another began: pieces written ##so, what stands inside a word, and, where words are not
parted by spaces, what stands inside one of jieba's."""

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.tokenizers import CHINESE, WORD, jieba
from wenmai.errors import Mistake

PIECE = "##"


class WholeWords:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.inner = np.array(
            [token.startswith(PIECE) and token != PIECE for token in tokenizer.tokens]
        )  # (V,)

    def going_on(self, texts: list[str], rows: Sequences) -> np.ndarray:
        """(ΣT,) of the tokens of these texts"""
        pieces = bool(self.inner.any())
        inside = self.inner[rows.flat] if pieces else np.zeros(len(rows.flat), bool)
        looked_at = [row for row, text in enumerate(texts) if not pieces or CHINESE.search(text)]
        for row, spans in zip(looked_at, self.tokenizer.spans([texts[row] for row in looked_at])):
            text, begins = texts[row], word_starts(texts[row])
            for at, (start, _) in enumerate(spans, rows.starts[row]):
                inside[at] |= start not in begins and (
                    not pieces or bool(CHINESE.match(text, start))
                )
                begins.discard(start)  # a token of a space alone stands where the next does
        inside[rows.starts[rows.lengths > 0]] = False
        return inside


def word_starts(text: str) -> set[int]:
    if not CHINESE.search(text):
        return {word.start() for word in WORD.finditer(text)}
    starts, at = set(), 0
    for word in chinese_words(text):
        starts.add(at)
        at += len(word)
    return starts


def chinese_words(text: str) -> list[str]:
    try:
        return jieba().lcut(text)
    except Mistake:
        raise Mistake(
            "whole_words=true needs the package jieba for Chinese: pip install 'wenmai[chinese]'."
        ) from None
