"""What tasks share that write a text for what they read, over any network with `begin` and `step`: compose (1→N) and translate
(N→M). Examples with texts that are to be written, how probable these are, and the steps of one that is written. All logarithms
are natural."""

from collections.abc import Callable, Collection, Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import Batch, by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs.copying import Copied
from wenmai.locale import Message
from wenmai.tasks.contract import Trained, TrainingExamples, Untrained
from wenmai.tasks.rows import pairs, places
from wenmai.training import memory

# Learning


def training_examples(
    task, untrained: Untrained, inputs, targets, rows: np.ndarray, where: Callable
) -> TrainingExamples:
    examples = task.encoded(untrained, inputs, targets)
    return TrainingExamples(examples, places(rows, where), task.cut_notes(untrained, examples))


def target_cut_notes(trained: Trained, examples: Examples) -> list[str]:
    """Of texts that are longer than what is learned of them."""
    target = trained.inputs.target
    over = target.cut(examples.written)
    note = Message(
        "{over:,} of the texts are longer than max_length={most:,} tokens: what goes beyond is not read",
        over=over,
        most=target.most,
    )
    return [note] if over else []


# Scoring


def outputs(task, trained: Trained, examples: Examples) -> Sequences:
    """log p of every token that could stand in every place of the texts of these examples, after what stands before it: rows
    of (T, V), with words that may be copied wider."""
    width = trained.inputs.target.vocabulary
    if isinstance(examples.inputs, Copied):
        width += max(map(len, examples.inputs.words), default=0)
    table = np.full((len(examples.written.flat), width), float("-inf"), np.float32)
    for rows, values in batch_results(
        trained, examples, lambda log_probs, batch: log_probs[batch.target_mask]
    ):
        table[examples.written.places(rows), : values.shape[1]] = values
    return Sequences(table, examples.written.offsets)


def text_log_probs(trained: Trained, examples: Examples) -> np.ndarray:
    """Σ log p of every text (N,), its end among its tokens."""

    def summed(log_probs: torch.Tensor, batch: Batch) -> torch.Tensor:
        each = log_probs.gather(2, batch.target.clamp(min=0).unsqueeze(-1)).squeeze(-1)  # (B, T)
        return (
            each.double().masked_fill(~batch.target_mask, 0.0).sum(1)
        )  # what stands behind an end may have no probability

    sums = np.empty(len(examples))
    for rows, values in batch_results(trained, examples, summed):
        sums[rows] = values
    return sums


def log_prob(task, trained: Trained, inputs, texts) -> tuple[np.ndarray, list[str]]:
    """(Σ log p of each text for its input (N,), notes)"""
    examples = pairs(task, trained, inputs, texts)
    return text_log_probs(trained, examples), task.cut_notes(trained, examples)


def batch_results(
    trained: Trained, examples: Examples, made: Callable
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, what is `made` of the log p (B, T, V) of their texts), a batch at a time."""

    def result(rows: np.ndarray) -> np.ndarray:
        batch = examples.batch(rows).to(trained.device)
        return made(trained.model(batch), batch).cpu().numpy()

    with torch.inference_mode():
        tokens = 4096 if trained.device == "cpu" else 16_384
        yield from memory.in_pieces(by_length(examples.lengths, tokens), result, trained.device)


# Writing


def batch_of(trained: Trained, encoded: np.ndarray | Sequences) -> Batch:
    return (
        Examples(encoded, longest=trained.inputs.longest)
        .batch(np.arange(len(encoded)))
        .to(trained.device)
    )


def begin(
    trained: Trained, encoded: np.ndarray | Sequences, most: int
) -> tuple[torch.Tensor, object]:
    """(log p of what comes first (B, V), the state) for these encoded inputs, of texts of `most` tokens at the most. No text is
    empty, so none ends there."""
    log_probs, state = trained.model.begin(batch_of(trained, encoded), most)
    special = trained.inputs.target.special
    log_probs[:, [number for number in (special.unknown, special.end) if number is not None]] = (
        float("-inf")
    )
    return log_probs, state


def stepper(trained: Trained) -> Callable:
    """Steps that never lead to an unknown token."""

    unknown = trained.inputs.target.special.unknown

    def step(state, tokens: torch.Tensor) -> tuple[torch.Tensor, object]:
        log_probs, state = trained.model.step(state, tokens)
        if unknown is not None:
            log_probs[:, unknown] = float("-inf")
        return log_probs, state

    return step


def text_of(trained: Trained, tokens: list[int], words: Collection[str] = ()) -> str:
    """`words`: of the source's own, which may have been copied."""
    target = trained.inputs.target
    return target.knowing(words).text(
        tokens[:-1] if tokens[-1:] == [target.special.end] else tokens
    )


def token_names(lines, tokens: list[int]) -> list[str]:
    return [lines.line([token]) if token != lines.special.end else "</s>" for token in tokens]
