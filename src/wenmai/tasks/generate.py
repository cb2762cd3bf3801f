"""generate: the next token of a running text.

    perplexity = exp(−Σ log p / tokens), of a word, a subword or a character      bits per byte = −Σ log₂ p / bytes

Every line counts its end as a token. Bits per byte can be compared between models that cut the text differently, where both know
every token of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log

from wenmai.data.dataset import Part
from wenmai.data.files.columns import listed
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.readers import Chunk, Table
from wenmai.errors import Mistake
from wenmai.layers.heads import Next
from wenmai.locale import Message, phrase
from wenmai.tasks.columns import texts_in
from wenmai.tasks.measuring.running_text import common_metric, measure_text
from wenmai.tasks.overviews import describe_text
from wenmai.tasks.profile import Profile, unit_of_tokens


@dataclass
class Total:
    """What was read, and how probable it was."""

    log_prob: float = 0.0  # Σ, natural
    tokens: int = 0
    size: int = 0  # bytes
    unknown: int = 0
    lines: int = 0

    def __add__(self, other: Total) -> Total:
        return Total(*(getattr(self, name) + getattr(other, name) for name in ("log_prob", "tokens", "size", "unknown", "lines")))


class Generate:
    name, metric, higher_is_better = "generate", "perplexity", False
    target = None  # there is no column that holds the answer
    texts, history = "tokens", None
    running_text, two_texts = True, False

    @staticmethod
    def fits(names: list[str]) -> bool:
        return names == ["text"]

    def corpus_of(self, table: Table) -> Corpus:
        """A plain file as it lies there; of another its column text."""
        if table.plain is not None:
            return Corpus.file(table.plain)
        if "text" not in table.names:
            raise Mistake("{file} has no column text (found: {names}); name it with --columns text=NAME.", file=table.source,
                          names=listed(table.names))  # fmt: skip
        chunks = table.chunks(1024)
        return Corpus.joined((text for chunk in chunks for text in texts_in(chunk, "text", table.source)), table.source)

    def inputs_of(self, chunk: Chunk, source: str) -> list[str]:
        """Texts to go on with."""
        return texts_in(chunk, "text", source)

    def look(self, targets, where) -> list[str]:
        return []

    def arranged(self, inputs, targets=None):
        return inputs, targets

    def learn(self, targets, where=None) -> list[str]:
        return []

    def encode(self, targets, where=None) -> None:
        return None

    def head(self) -> Next:
        return Next()

    def scores(self, total: Total) -> dict[str, float]:
        mean = -total.log_prob / max(1, total.tokens)
        return {"perplexity": exp(mean) if mean < 700 else inf, "bits_per_byte": -total.log_prob / log(2) / max(1, total.size)}

    def notes(self, total: Total, unit: str) -> list[str]:
        """What is worth saying of a score."""
        told = unknown_tokens(total.unknown, total.tokens)
        if total.log_prob == -inf:
            told.append(Message("the text holds what has no probability at all in this model, so its perplexity is infinite; "
                                "smoothing gives every word some"))  # fmt: skip
        return told

    def to_json(self) -> dict:
        return {"name": self.name}

    @classmethod
    def from_json(cls, saved: dict) -> Generate:
        return cls()

    def beginning(self, train: Part, share: float, seed: int) -> Part:
        return train.first_share(share)

    profile = Profile(
        phrase("task", "generate"), measure_text, describe_text,
        few_rows=(["a b c d e f"] * 4, None), fewer=beginning, keeps_tokens=True, common_metric=common_metric,
        unit=unit_of_tokens, next_command="generate {run} --prompt …",
    )  # fmt: skip


def unknown_tokens(unknown: int, tokens: int) -> list[str]:
    note = Message("{unknown:,} of the {tokens:,} tokens are <unk>, unknown to the model or written so: what they are is not "
                   "counted in perplexity and bits per byte", unknown=unknown, tokens=tokens)  # fmt: skip
    return [note] if unknown else []
