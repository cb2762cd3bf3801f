"""Beam search (tasks/beam.py, whose words these are) through a Transformer's decoder, as one call of machine code: texts of one
batch know nothing of Python, or of those that another thread writes. A beam of 1 is greedy."""

from typing import NamedTuple

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.kernels.block_step import BlockSteps, layer_norm, stack_step
from wenmai.kernels.functions import LINEAR, exp
from wenmai.kernels.panels import NONE
from wenmai.kernels.sharing import helped, shared_product

BLOCK = 64  # tokens of which the best is found first
NEVER = -np.inf


class Writer(NamedTuple):
    """What stands before and behind the blocks of a decoder."""

    table: np.ndarray  # (V, E) that tokens are looked up in
    scale: np.float32
    places: np.ndarray  # (C, E) that are added
    norm: np.ndarray  # (2, E), of what comes out of the blocks; (0, E) where there is none
    w: np.ndarray  # panels of what says the next token
    b: np.ndarray
    opening: int
    end: int
    unknown: int  # never written; −1: there is none


class BestTexts(NamedTuple):
    """Of every source (B) its best texts, the best first; without any, a length of 0."""

    tokens: np.ndarray  # (B, count, C)
    lengths: np.ndarray  # (B, count)
    scores: np.ndarray
    log_probs: np.ndarray


def search(
    steps: BlockSteps,
    writer: Writer,
    memory: np.ndarray,
    real: np.ndarray,
    most: np.ndarray,
    size: int,
    penalty: float,
    count: int,
) -> BestTexts:
    """The `count` best texts of at most `most` (B,) tokens, out of `size` at a time, for memories (B, L, 2, A, S, D) that are
    real at (B, S)."""
    with helped() as board:
        return BestTexts(
            *search_all(steps.stack, writer, memory, real, most, size, float(penalty), count, board)
        )


@njit(cache=True, nogil=True)
def search_all(stack, writer, memory, real, most, size, penalty, count, board):
    sources, layers, _, heads, _, head_size = memory.shape
    longest, width, room = most.max(), heads * head_size, sources * size
    past = np.empty((layers, 2, room, heads, longest, head_size), np.float32)
    row_of, row_of_next = np.zeros((room, longest), np.int32), np.zeros((room, longest), np.int32)
    text, text_next = np.zeros((room, longest), np.int32), np.zeros((room, longest), np.int32)
    source, sums, parent = np.arange(room), np.zeros(room), np.zeros(room, np.int64)
    source_next, sums_next = np.zeros(room, np.int64), np.zeros(room)
    tokens, lengths = (
        np.zeros((sources, count, longest), np.int32),
        np.zeros((sources, count), np.int64),
    )
    scores, log_probs = np.full((sources, count), NEVER), np.full((sources, count), NEVER)
    finished = np.zeros(sources, np.int64)
    reached, slot, token = (
        np.empty(2 * size),
        np.empty(2 * size, np.int64),
        np.empty(2 * size, np.int64),
    )
    x, logits = np.empty((room, width), np.float32), np.empty((room, len(writer.b)), np.float32)
    last, rows = np.full(room, writer.opening), sources
    for length in range(1, longest + 1):
        place = length - 1
        for row in range(rows):
            row_of[row, place] = row
            for i in range(width):
                x[row, i] = writer.table[last[row], i] * writer.scale + writer.places[place, i]
        stack_step(
            x[:rows], stack, past, np.full(rows, place), row_of, memory, real, source[:rows], board
        )
        if len(writer.norm):
            layer_norm(x[:rows], writer.norm[0], writer.norm[1], stack.epsilon, x[:rows])
        shared_product(writer.w, writer.b, x[:rows], logits[:rows], board, NONE)
        row, live = 0, 0
        while row < rows:  # of one source after another
            own, begun = source[row], live
            reached[:] = NEVER
            while row < rows and source[row] == own:
                add_best(logits[row], sums[row], row, writer, length == 1, reached, slot, token)
                row += 1
            for at in range(2 * size):
                if reached[at] == NEVER:
                    break
                if token[at] == writer.end or most[own] <= length:
                    if at < size:
                        finished[own] += 1
                        keep(
                            text[slot[at]],
                            token[at],
                            length,
                            reached[at] / length**penalty,
                            reached[at],
                            own,
                            tokens,
                            lengths,
                            scores,
                            log_probs,
                        )
                elif live - begun < size:
                    source_next[live], sums_next[live], parent[live], last[live] = (
                        own,
                        reached[at],
                        slot[at],
                        token[at],
                    )
                    live += 1
            highest = NEVER
            for at in range(begun, live):
                highest = max(highest, sums_next[at])
            if (
                finished[own] >= size
                or highest / float(most[own]) ** penalty <= scores[own, count - 1]
            ):
                live = begun
        for at in range(live):
            for before in range(length):
                text_next[at, before], row_of_next[at, before] = (
                    text[parent[at], before],
                    row_of[parent[at], before],
                )
            text_next[at, place] = last[at]
        text, text_next, row_of, row_of_next = text_next, text, row_of_next, row_of
        source, source_next, sums, sums_next = source_next, source, sums_next, sums
        rows = live
        if rows == 0:
            break
    return tokens, lengths, scores, log_probs


@njit(cache=True, nogil=True, fastmath=LINEAR, error_model="numpy")
def add_best(logits, before, row, writer, opens, reached, slot, token):
    """What follows a text of Σ log p `before`, among the best so far, which are in order: `reached`, the `slot` from which each
    goes on, and the `token`."""
    many, blocks = len(writer.table), (len(writer.table) + BLOCK - 1) // BLOCK
    tops, highest = np.empty(blocks, np.float32), np.float32(NEVER)
    for block in range(blocks):
        top = logits[block * BLOCK]
        for i in range(block * BLOCK + 1, min(block * BLOCK + BLOCK, many)):
            top = max(top, logits[i])
        tops[block], highest = top, max(highest, top)
    total = np.float32(0)
    for i in range(many):
        total += exp(logits[i] - highest)
    total = highest + np.log(total)
    for block in range(blocks):
        if before + (tops[block] - total) <= reached[-1]:
            continue
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, many)):
            sum_ = before + (logits[i] - total)
            if sum_ > reached[-1] and i != writer.unknown and not (opens and i == writer.end):
                at = len(reached) - 1
                while at > 0 and reached[at - 1] < sum_:
                    reached[at], slot[at], token[at] = reached[at - 1], slot[at - 1], token[at - 1]
                    at -= 1
                reached[at], slot[at], token[at] = sum_, row, i


@njit(cache=True, nogil=True)
def keep(text, token, length, score, log_prob, own, tokens, lengths, scores, log_probs):
    """A finished text, among the best of its `own` source, which are in order."""
    at = scores.shape[1] - 1
    if not score > scores[own, at]:
        return
    while at > 0 and scores[own, at - 1] < score:
        scores[own, at], log_probs[own, at], lengths[own, at] = (
            scores[own, at - 1],
            log_probs[own, at - 1],
            lengths[own, at - 1],
        )
        for place in range(lengths[own, at]):
            tokens[own, at, place] = tokens[own, at - 1, place]
        at -= 1
    scores[own, at], log_probs[own, at], lengths[own, at] = score, log_prob, length
    for place in range(length - 1):
        tokens[own, at, place] = text[place]
    tokens[own, at, length - 1] = token
