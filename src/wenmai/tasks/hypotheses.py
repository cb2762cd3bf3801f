"""Hypotheses: the texts that a translator finds for what it reads, by beam search or greedily, and where it looked meanwhile."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs.copying import Copied
from wenmai.errors import Mistake
from wenmai.kernels.cores import one_core_each
from wenmai.layers.trace import Trace
from wenmai.tasks.beam import Candidate, beam, check
from wenmai.tasks.contract import Trained
from wenmai.tasks.decoding import Choice, together
from wenmai.tasks.writing import batch_of, begin, stepper, text_of, token_names

TOGETHER = 4096  # tokens that are read and written at once, about
PART = 8  # texts, from which on a thread of their own pays
PRECISIONS = "float32", "bf16"
GREEDY = Choice(temperature=0.0)


@dataclass(slots=True)
class Hypothesis:
    text: str
    tokens: list[int]
    score: float  # Σ log p / length^penalty
    log_prob: float  # Σ log p


def own_words(encoded: Sequences, row: int) -> Collection[str]:
    """Words of the source's own, which the vocabulary lacks."""
    return encoded.words[row] if isinstance(encoded, Copied) else ()


def in_batches(write: Callable, trained: Trained, encoded: Sequences, slots: int) -> list:
    """What `write` gives for every row, out of (sources of like length, how many tokens each may have): as many as are written
    together. On a CPU a batch is dealt to several threads, of one core each: parts that know nothing of each other are done
    sooner than a whole, whose threads wait for one another at every product."""
    texts, on_cpu = [None] * len(encoded), trained.device == "cpu"
    lengths = encoded.lengths + trained.inputs.most(encoded.lengths)

    def write_rows(rows: np.ndarray) -> None:
        part = encoded.take(rows)
        for row, one in zip(rows.tolist(), write(part, trained.inputs.most(part.lengths))):
            texts[row] = one

    for rows in by_length(lengths * slots, TOGETHER * (4 if on_cpu else 64)):
        one_core_each(
            write_rows,
            np.array_split(
                rows, min(torch.get_num_threads(), max(1, len(rows) // PART)) if on_cpu else 1
            ),
        )
    return texts


def by_machine_code(
    trained: Trained, part: Sequences, most: np.ndarray, size: int, penalty: float, count: int
) -> list[list[Candidate]] | None:
    """What `beam` finds, where there is machine code for it (kernels/beam_search.py)."""
    if not hasattr(trained.model, "search") or not trained.model.can_search(len(part), size):
        return None
    with torch.autocast("cpu", enabled=False):
        best_texts = trained.model.search(batch_of(trained, part), most, size, penalty, count)
    texts = [
        [one[:length].tolist() for one, length in zip(*some)]
        for some in zip(best_texts.tokens, best_texts.lengths)
    ]
    every = zip(texts, best_texts.scores.tolist(), best_texts.log_probs.tolist())
    return [[Candidate(*one) for one in zip(*some) if one[0]] for some in every]


def hypothesis(trained: Trained, part: Sequences, row: int, one: Candidate) -> Hypothesis:
    return Hypothesis(text_of(trained, one.tokens, own_words(part, row)), *one)


def greedy(trained: Trained, encoded: Sequences) -> list[Hypothesis]:
    """The text of the most probable token at every step for every row."""
    end = trained.inputs.target.special.end

    def write(part: Sequences, most: np.ndarray) -> Iterator[Hypothesis]:
        if searched := by_machine_code(trained, part, most, 1, 0.0, 1):
            yield from (
                hypothesis(trained, part, row, one) for row, (one, *_) in enumerate(searched)
            )
            return
        first, state = begin(trained, part, int(most.max()))
        chosen, sums = together(
            stepper(trained), first, state, most, GREEDY, [0] * len(part), end, 1
        )
        for row, (tokens, total) in enumerate(zip(chosen, sums)):
            yield Hypothesis(text_of(trained, tokens, own_words(part, row)), tokens, total, total)

    return in_batches(write, trained, encoded, 1)


def best(
    trained: Trained, encoded: Sequences, size: int, penalty: float, count: int, precision: str
) -> list[list[Hypothesis]]:
    """The `count` best for every row, that a search through `size` beginnings at once finds."""
    check(size, penalty, count)
    if precision not in PRECISIONS:
        raise Mistake(
            "precision={precision!r}: expected one of {choices}.",
            precision=precision,
            choices=", ".join(PRECISIONS),
        )
    with torch.autocast(trained.device.split(":")[0], torch.bfloat16, enabled=precision == "bf16"):
        if size == 1:
            texts = greedy(trained, encoded)
            return [
                [replace(one, score=one.log_prob / max(1, len(one.tokens)) ** penalty)]
                for one in texts
            ]
        end = trained.inputs.target.special.end

        def write(part: Sequences, most: np.ndarray) -> Iterator[list[Hypothesis]]:
            searched = by_machine_code(trained, part, most, size, penalty, count)
            if searched is None:
                first, state = begin(trained, part, int(most.max()))
                searched = beam(stepper(trained), first, state, most, size, penalty, count, end)
            for row, candidates in enumerate(searched):
                yield [hypothesis(trained, part, row, one) for one in candidates]

        return in_batches(write, trained, encoded, size)


def alignments(trained: Trained, encoded: Sequences, chosen: list[list[int]]) -> Iterator[dict]:
    """For every row its tokens, and the attention with which these texts were written; of several heads the mean of the last
    layer's."""
    for row, tokens in enumerate(chosen):
        source = encoded.take(np.array([row]))
        examples = Examples(
            source,
            written=Sequences.of([np.array(tokens, np.int32)]),
            longest=trained.inputs.longest,
        )
        trace = Trace()
        with torch.inference_mode():
            trained.model(examples.batch(np.array([0])).to(trained.device), trace)
        names = [
            name
            for name in trace.notes
            if name.startswith("decoder") and name.endswith(("memory", "attention"))
        ]
        across = [name for name in names if name.endswith("memory")] or names
        if not across:
            raise Mistake(
                "{rung} looks at nothing while it writes: it has no alignment; attention and transformer have.",
                rung=trained.rung,
            )
        weights = trace.notes[across[-1]][0].float().mean(0)  # (T, S)
        yield {
            "source_tokens": source_tokens(trained, encoded, row),
            "target_tokens": target_tokens(trained, encoded, row, tokens),
            "attention": weights.cpu().numpy().round(4).tolist(),
        }


def source_tokens(trained: Trained, encoded: Sequences, row: int) -> list[str]:
    """Where words are copied, one that is unknown is named as it stands there."""
    source = encoded.take(np.array([row]))
    if isinstance(source, Copied):
        return target_tokens(trained, encoded, row, source.beside["copies"].tolist())
    return token_names(trained.inputs.source.lines, source.flat.tolist())


def target_tokens(trained: Trained, encoded: Sequences, row: int, tokens: list[int]) -> list[str]:
    return token_names(trained.inputs.target.knowing(own_words(encoded, row)).lines, tokens)
