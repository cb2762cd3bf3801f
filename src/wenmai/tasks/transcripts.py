"""What is heard in sounds: by CTC greedily, by prefix beam search with a language model, or by a decoder; and when each word is
said.

A sound that is longer than all that were learned from is read in windows. Those of CTC overlap by a quarter, and what each says
of the overlap counts up to its middle; a decoder writes a text for every window by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.tokenizers import CHINESE
from wenmai.layers.ctc import align, greedy, least_frames, text_log_prob
from wenmai.tasks import writing
from wenmai.tasks.beam import beam, check
from wenmai.tasks.contract import Trained
from wenmai.tasks.prefix_beam import LanguageFusion, prefix_beam
from wenmai.training import memory

TOGETHER = 16_384  # steps that are read at once
LONG = 1500  # steps that are decoded in one piece
OVERLAP = 4  # a window shares its last part of so many with the next
SPARE = 10  # tokens beyond the longest text that was learned from


@dataclass(slots=True)
class Heard:
    text: str
    tokens: list[int]
    score: float
    log_prob: float
    words: list[dict] | None = None  # {"word", "start", "end"} in seconds


class Search(NamedTuple):
    beam: int = 1
    lm: object = None
    weight: float = 0.0
    bonus: float = 0.0
    penalty: float = 1.0


def aligner(model):
    """The head that says a token a frame, where there is one."""
    return model.head if hasattr(model.head, "blank") else getattr(model.head, "ctc", None)


def by_alignment(model) -> bool:
    """Whether texts are found by CTC alone."""
    return hasattr(model.head, "blank")


def frame_log_probs(trained: Trained, encoded: Sequences) -> Iterator[tuple[int, np.ndarray]]:
    """(row, log p (T, V + 1) of CTC) for every row, in any order"""
    window, model, parts = trained.inputs.source.window, trained.model, {}
    overlap = window // OVERLAP
    pieces = Examples(encoded, longest=window).windows(window, max(1, window - overlap))
    example = np.arange(len(encoded)) if pieces.inputs.example is None else pieces.inputs.example
    left = np.bincount(example, minlength=len(encoded))

    def outputs(rows: np.ndarray) -> list[np.ndarray]:
        batch = pieces.batch(rows).to(trained.device)
        log_probs, mask = model.masked(batch) if by_alignment(model) else model.aligned(batch)
        return [one[real].cpu().numpy() for one, real in zip(log_probs, mask)]

    with torch.inference_mode():
        for rows, values in memory.in_pieces(
            by_length(pieces.lengths, TOGETHER), outputs, trained.device
        ):
            for piece, value in zip(rows.tolist(), values):
                row = int(example[piece])
                parts.setdefault(row, []).append(
                    (int(pieces.inputs.starts[piece] - encoded.starts[row]), value)
                )
                left[row] -= 1
                if not left[row]:
                    yield row, joined(sorted(parts.pop(row), key=lambda part: part[0]))


def joined(parts: list[tuple[int, np.ndarray]]) -> np.ndarray:
    """Windows (where each begins, its outputs) as one piece: an overlap is cut in its middle."""
    whole = [parts[0][1]]
    end = len(parts[0][1])
    for start, values in parts[1:]:
        middle = (start + end) // 2
        whole[-1] = whole[-1][: len(whole[-1]) - (end - middle)]
        whole.append(values[middle - start :])
        end = start + len(values)
    return np.concatenate(whole)


def heard(trained: Trained, encoded: Sequences, search: Search, times: bool = False) -> list[Heard]:
    """The best text for every row."""
    check(search.beam, search.penalty, 1)
    if not by_alignment(trained.model):
        return written(trained, encoded, search, times)
    transcripts, fusion = [None] * len(encoded), fusion_of(trained, search)
    for row, log_probs in frame_log_probs(trained, encoded):
        transcripts[row] = decoded(trained, log_probs, search, times, fusion=fusion)
    return transcripts


def fusion_of(trained: Trained, search: Search) -> LanguageFusion | None:
    """What a language model has to say, for all rows of a search."""
    return search.lm and LanguageFusion(search.lm, pieces_of(trained), search.weight, search.bonus)


def never_unknown(trained: Trained, log_probs: np.ndarray) -> np.ndarray:
    unknown = trained.inputs.target.special.unknown
    if unknown is not None:
        log_probs = log_probs.copy()
        log_probs[:, unknown] = float("-inf")
    return log_probs


def decoded(
    trained: Trained,
    log_probs: np.ndarray,
    search: Search,
    times: bool = False,
    first: int = 0,
    fusion: LanguageFusion | None = None,
) -> Heard:
    """Of one row (T, V + 1), which begins at step `first`. A long one is decoded in parts, cut where it is silent for longest:
    what a search and an alignment remember grows with steps times letters."""
    if len(log_probs) > LONG:
        cut = quietest(log_probs, aligner(trained.model).blank)
        return followed(
            trained,
            [
                decoded(trained, log_probs[start:end], search, times, first + start, fusion)
                for start, end in zip([0, *cut], [*cut, len(log_probs)])
            ],
        )
    head, log_probs = aligner(trained.model), never_unknown(trained, log_probs)
    if search.beam == 1 and search.lm is None:
        tokens = greedy(log_probs, head.blank)
        log_prob = float(log_probs.max(1).sum())
        score = log_prob
    else:
        fusion = fusion or fusion_of(trained, search)
        (best,) = prefix_beam(
            log_probs, head.blank, max(search.beam, 2), 1, fusion, fusion and fusion.final
        )
        tokens, score, log_prob = best
    one = Heard(writing.text_of(trained, tokens), tokens, score, log_prob)
    if times:
        one.words = words_of(trained, log_probs, tokens, first)
    return one


def quietest(log_probs: np.ndarray, blank: int) -> list[int]:
    """Where a long row is cut: in the middle of the longest stretch that says nothing, in the second half of every part."""
    silent, cuts, start = log_probs.argmax(1) == blank, [], 0
    while len(silent) - start > LONG:
        here = silent[start + LONG // 2 : start + LONG]
        edges = np.flatnonzero(
            np.diff(np.concatenate([[False], here, [False]]))
        )  # where stretches begin and end, in turns
        longest = int(np.argmax(edges[1::2] - edges[::2])) if len(edges) else 0
        middle = int(edges[2 * longest : 2 * longest + 2].mean()) if len(edges) else LONG // 2 - 1
        start += LONG // 2 + middle
        cuts.append(start)
    return cuts


def followed(trained: Trained, parts: list[Heard]) -> Heard:
    """Parts of one row as one; a word that was cut in two is one again."""
    tokens, words, before = [], None if parts[0].words is None else [], " "
    for part in parts:
        text = trained.inputs.target.text(part.tokens)
        if part.words:
            whole = (
                before[-1:].isspace()
                or text[:1].isspace()
                or CHINESE.match(before[-1:])
                or CHINESE.match(text)
            )
            if not whole and words:
                words[-1] |= {
                    "word": words[-1]["word"] + part.words[0]["word"],
                    "end": part.words[0]["end"],
                }
            words += part.words[0 if whole or not words else 1 :]
        tokens, before = tokens + part.tokens, text or before
    sums = sum(part.score for part in parts), sum(part.log_prob for part in parts)
    return Heard(writing.text_of(trained, tokens), tokens, *sums, words)


def written(trained: Trained, encoded: Sequences, search: Search, times: bool) -> list[Heard]:
    """By a decoder; with a head that aligns, the best by both."""
    target, window = trained.inputs.target, trained.inputs.source.window
    pieces = encoded.windows(window)
    example = np.arange(len(encoded)) if pieces.example is None else pieces.example
    texts: list[list[Heard]] = [[] for _ in range(len(encoded))]
    most, parts = target.written + SPARE, [None] * len(pieces)
    for rows in by_length((pieces.lengths + most) * search.beam, TOGETHER):
        part = pieces.take(rows)
        first, state = writing.begin(trained, part, most)
        best = beam(
            writing.stepper(trained),
            first,
            state,
            [most] * len(rows),
            search.beam,
            search.penalty,
            search.beam,
            target.special.end,
        )
        for row, candidates in zip(rows.tolist(), best):
            parts[row] = candidates
    if aligner(trained.model) is not None:
        share = trained.model.head.share
        alone = pieces.take(np.arange(len(pieces)))
        alone.example = None  # every window is a row of its own here
        frames = dict(frame_log_probs(trained, alone)) if len(pieces) else {}
        parts = [
            by_both(trained, candidates, frames[row], share) for row, candidates in enumerate(parts)
        ]
    for row, candidates in enumerate(parts):
        best = candidates[0]
        tokens = [token for token in best.tokens if token != target.special.end]
        one = Heard(writing.text_of(trained, tokens), tokens, best.score, best.log_prob)
        if times and aligner(trained.model) is not None:
            one.words = words_of(
                trained,
                frames[row],
                tokens,
                sum(len(frames[other]) for other in range(row) if example[other] == example[row]),
            )
        texts[int(example[row])].append(one)
    return [together(some) for some in texts]


def by_both(trained: Trained, candidates: list, frames: np.ndarray, share: float) -> list:
    """In the order of (1 − λ) log p of the decoder + λ log p of CTC."""
    end, blank = trained.inputs.target.special.end, aligner(trained.model).blank

    def score(one) -> float:
        tokens = [token for token in one.tokens if token != end]
        return (1 - share) * one.log_prob + share * max(-1e9, text_log_prob(frames, tokens, blank))

    return sorted(
        (one._replace(score=score(one)) for one in candidates), key=lambda one: -one.score
    )


def together(parts: list[Heard]) -> Heard:
    if len(parts) == 1:
        return parts[0]
    between = "" if CHINESE.search(parts[0].text) else " "
    words = (
        [word for part in parts for word in part.words or ()]
        if parts[0].words is not None
        else None
    )
    return Heard(
        between.join(part.text for part in parts),
        [token for part in parts for token in part.tokens],
        sum(part.score for part in parts),
        sum(part.log_prob for part in parts),
        words,
    )


# Words and their times


def pieces_of(trained: Trained) -> list[str]:
    """The text of every token; one that is a word stands behind a space."""
    target = trained.inputs.target
    if target.tokenizer.kind == "characters":
        return [token if len(token) == 1 else "" for token in target.tokenizer.tokens]
    return [f" {token.replace('▁', '')}" for token in target.tokenizer.tokens]


def words_of(
    trained: Trained, log_probs: np.ndarray, tokens: list[int], first: int = 0
) -> list[dict]:
    """{"word", "start", "end"} of every word, in seconds: spaces part words, and a Chinese character is one. `first`: the step at
    which the window begins."""
    if not tokens or len(log_probs) < least_frames(np.asarray(tokens)):
        return []
    spans, _ = align(log_probs, tokens, aligner(trained.model).blank)
    target, step, words, text = trained.inputs.target, trained.inputs.source.step, [], ""
    apart = True
    for place, (start, end) in enumerate(spans):
        before, text = text, target.text(tokens[: place + 1])
        piece = text[len(before) :]
        last = words[-1]["word"] if words else ""
        apart = apart or piece[:1].isspace() or any(map(CHINESE.match, (piece.strip(), last)))
        if piece.strip():
            if apart:
                words.append({"word": "", "start": round((first + start) * step, 3), "end": 0.0})
            words[-1] |= {
                "word": words[-1]["word"] + piece.strip(),
                "end": round((first + end) * step, 3),
            }
        apart = not piece.strip() or piece[-1:].isspace()
    return words
