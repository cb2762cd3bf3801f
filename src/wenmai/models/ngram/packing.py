"""N-grams packed bit by bit, in words of 64 bits (as KenLM's trie does, Heafield 2011).

    n-gram      first word      log p     back-off weight     where the longer ones begin
    bits        ⌈log₂ V⌉        31        32                  as many as the level above needs

The words themselves lack the first field, since their place says it; the highest order lacks the last two. log p is never
above 0, so its sign is not kept. One n-gram more, at the end of a level, says where the longer ones of the last end.
"""

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.models.ngram.layout import proper, weight

PROB, BACKOFF = 31, 32  # bits


def plan_of(sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """(of every level: its first bit, the bits of an n-gram, of its first word, of where the longer ones begin, and how many
    n-grams it has; how many words of 64 bits that makes)"""
    counts, bit = [int(size) for size in sizes], 0
    rows = []
    for n, size in enumerate(counts):
        first = 0 if n == 0 else (counts[0] - 1).bit_length()
        longer = counts[n + 1].bit_length() if n + 1 < len(counts) else 0
        entry_bits = first + PROB + (BACKOFF + longer if n + 1 < len(counts) else 0)
        rows.append([bit, entry_bits, first, longer, size])
        bit += -(-entry_bits * (size + (n + 1 < len(counts))) // 64) * 64
    return np.array(rows, np.int64), bit // 64 + 1


@njit(inline="always")
def bits_at(data, bit, width):
    """`width` bits, at most 64, of this word and the next: the second is there even where nothing of it is wanted."""
    place, shift = bit >> 6, np.uint64(bit & 63)
    both = (data[place] >> shift) | ((data[place + 1] << np.uint64(1)) << (np.uint64(63) - shift))
    return both & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))


@njit(inline="always")
def put_bits(data, bit, value):
    place, shift = bit >> 6, np.uint64(bit & 63)
    data[place] |= np.uint64(value) << shift
    data[place + 1] |= (np.uint64(value) >> np.uint64(1)) >> (np.uint64(63) - shift)


@njit(cache=True, nogil=True)
def pack(data, plan, first, prob, backoff, longer):
    bit, entry_bits, width = plan[0], plan[1], plan[2]
    for at in range(len(first)):
        if width:
            put_bits(data, bit, first[at])
        put_bits(data, bit + width, prob[at] & np.uint32(0x7FFFFFFF))
        if len(longer):
            put_bits(data, bit + width + PROB, backoff[at])
            put_bits(data, bit + width + PROB + BACKOFF, longer[at])
        bit += entry_bits
    if len(longer):
        put_bits(data, bit + width + PROB + BACKOFF, longer[len(first)])


@njit(cache=True, nogil=True)
def unpacked(data, plan, size, below):
    bit, entry_bits, width = plan[0], plan[1], plan[2]
    first, longer = np.empty(size, np.int32), np.zeros(size + 1 if below else 1, np.int64)
    prob, backoff = np.empty(size, np.float32), np.zeros(size, np.float32)
    for at in range(size):
        first[at] = bits_at(data, bit, width) if width else at
        prob[at], paid = weights_at(data, plan, at)
        if below:
            backoff[at], longer[at] = paid, bits_at(data, bit + width + PROB + BACKOFF, plan[3])
        bit += entry_bits
    if below:
        longer[size] = bits_at(data, bit + width + PROB + BACKOFF, plan[3])
    return first, prob, backoff, longer


@njit(inline="always")
def weights_at(data, plan, at):
    """(log p, the back-off weight, which means nothing in the highest order)"""
    both = bits_at(data, plan[0] + at * plan[1] + plan[2], PROB + BACKOFF)
    prob = np.uint32(both | np.uint64(0x80000000))  # with its sign again
    return proper(prob.view(np.float32)), weight(
        np.uint32(both >> np.uint64(PROB)).view(np.float32)
    )


@njit(inline="always")
def longer_at(data, plan, at, most):
    """(where those that end with this one begin, and end)"""
    bit = plan[0] + at * plan[1] + plan[2] + PROB + BACKOFF
    return np.int64(bits_at(data, bit, plan[3])), min(
        np.int64(bits_at(data, bit + plan[1], plan[3])), most
    )
