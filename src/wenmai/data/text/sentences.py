"""The sentences of documents, in memory or, where they are many, in a file."""

from array import array
from collections.abc import Iterator

import numpy as np

from wenmai.data.examples.stored import BESIDE, LARGE, StoredTexts
from wenmai.data.files.documents import Documents, sentences


class Sentences:
    """`texts`, in memory or in a file; document d has those from `documents[d]` to `documents[d + 1]`."""

    def __init__(self, texts: list[str] | StoredTexts, documents: np.ndarray):
        self.texts, self.documents = texts, documents

    @classmethod
    def of(cls, corpus: Documents) -> "Sentences":
        starts = array("q", [0])

        def chunks() -> Iterator[list[str]]:
            held, size, count = [], 0, 0
            for line in corpus.lines_or_gaps():
                if line is None:
                    starts.append(count + len(held))
                    continue
                held += sentences(line)
                size += len(line) + BESIDE
                if size > LARGE // 8:
                    yield held
                    count, held, size = count + len(held), [], 0
            yield held
            starts.append(count + len(held))

        texts = (
            [text for chunk in chunks() for text in chunk]
            if corpus.size <= LARGE
            else StoredTexts.of(chunks())
        )
        return cls(texts, np.array(starts, np.int64))

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, row):
        return self.texts[row]
