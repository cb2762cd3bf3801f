"""Estimators that write a text for what they read: Composer (1→N) and Translator (N→M). What both share: examples with texts that
are to be written, how probable these are, and the first step of one that is written. All logarithms are natural.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import Batch, by_length, lengths_of, make_batch
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs.copying import Copied
from wenmai.data.text.vocabulary import END, UNK
from wenmai.data.values import check_lengths, listed
from wenmai.errors import Notice
from wenmai.estimator import Estimator
from wenmai.locale import Message
from wenmai.training import memory


class WritingEstimator(Estimator):
    def _learned_from(self, inputs, targets, given: dict) -> Examples:
        examples = self._encoded(inputs, targets)
        self.notes_ += self._cut(examples)
        return examples

    def _encoded(self, inputs, targets=None) -> Examples:
        return Examples(self.inputs_.encode(inputs), written=None if targets is None else self.inputs_.target.encode(targets))

    def _cut(self, examples: Examples) -> list[str]:
        over, most = self.inputs_.target.cut(examples.written), self.inputs_.target.most
        note = Message("{over:,} of the texts are longer than max_length={most:,} tokens: what goes beyond is not read",
                       over=over, most=most)  # fmt: skip
        return [note] if over else []

    def outputs(self, examples: Examples) -> Sequences:
        """log p of every token that could stand in every place of the texts of these examples, after what stands before it: rows
        of (T, V), with words that may be copied wider."""
        width = self.inputs_.target.vocabulary
        if isinstance(examples.inputs, Copied):
            width += max(map(len, examples.inputs.words), default=0)
        found = np.full((len(examples.written.flat), width), float("-inf"), np.float32)
        for rows, log_probs in self._said(examples, lambda said, batch: said[batch.target_mask]):
            found[examples.written.places(rows), : log_probs.shape[1]] = log_probs
        return Sequences(found, examples.written.offsets)

    def _sums(self, examples: Examples) -> np.ndarray:
        """Σ log p of every text (N,)."""

        def summed(said: torch.Tensor, batch: Batch) -> torch.Tensor:
            each = said.gather(2, batch.target.clamp(min=0).unsqueeze(-1)).squeeze(-1)  # (B, T)
            return (each.double() * batch.target_mask).sum(1)

        found = np.empty(len(examples))
        for rows, sums in self._said(examples, summed):
            found[rows] = sums
        return found

    def _said(self, examples: Examples, made: Callable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(rows, what is `made` of the log p (B, T, V) of their texts), a batch at a time."""
        longest = self.inputs_.longest

        def outputs(rows: np.ndarray) -> np.ndarray:
            batch = make_batch(examples, rows, longest).to(self.device_)
            return made(self.model_(batch), batch).cpu().numpy()

        with torch.inference_mode():
            tokens = 4096 if self.device_ == "cpu" else 16_384
            yield from memory.in_pieces(by_length(lengths_of(examples, longest), tokens), outputs, self.device_)

    def log_prob(self, inputs, texts) -> np.ndarray:
        """Σ log p of each text for its input (N,), its end among its tokens."""
        self._fitted()
        examples = self._pairs(inputs, texts)
        for note in self._cut(examples):
            warnings.warn(Notice(note), stacklevel=2)
        return self._sums(examples)

    def _pairs(self, inputs, texts, where=lambda row: Message("row {row}", row=row + 1)) -> Examples:
        inputs, texts = listed(inputs), listed(texts)
        check_lengths(inputs, texts)
        return self._examples(inputs, texts, where)

    # Writing

    def _begun(self, encoded: np.ndarray | Sequences, most: int) -> tuple[torch.Tensor, object]:
        """(log p of what comes first (B, V), the state) for these encoded inputs, of texts of `most`
        tokens at the most. No text is empty, so none ends there."""
        batch = make_batch(Examples(encoded), np.arange(len(encoded)), self.inputs_.longest).to(self.device_)
        log_probs, state = self.model_.begin(batch, most)
        log_probs[:, [UNK, END]] = float("-inf")
        return log_probs, state

    def _step(self, state, tokens: torch.Tensor) -> tuple[torch.Tensor, object]:
        """A step that never leads to an unknown token."""
        log_probs, state = self.model_.step(state, tokens)
        log_probs[:, UNK] = float("-inf")
        return log_probs, state

    def _text(self, tokens: list[int], words: Collection[str] = ()) -> str:
        """`words`: of the source's own, which may have been copied."""
        return self.inputs_.target.knowing(words).text(tokens[:-1] if tokens[-1:] == [END] else tokens)
