"""Attention of whole texts, as two products a head (panels.py): scores q Kᵀ, in which K is W; contexts a V, in which Vᵀ is, and V
lies as a panel does."""

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.kernels.functions import softmax
from wenmai.kernels.panels import NONE, WIDE, panel_product

QUERIES = 48  # at once, so that their scores stay in a cache


@njit(cache=True, nogil=True)
def attend_heads(qkv, c, offsets, heads, factor, first, start, end):
    """Of texts that lie end to end, from and to `offsets` (B + 1,): qkv (N, ≥ 3·E) → c (N, E); where the `first` place of each
    looks alone, c (B, E). From head to head, and from text to text, those from `start` to `end`."""
    width = c.shape[1]
    size, longest = width // heads, 0
    for text in range(start // heads, (end - 1) // heads + 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    panels, across = (longest + WIDE - 1) // WIDE, (size + WIDE - 1) // WIDE
    keys, values = (
        np.zeros(panels * size * WIDE, np.float32),
        np.zeros(across * longest * WIDE, np.float32),
    )
    nothing, q = (
        np.zeros(max(panels, across) * WIDE, np.float32),
        np.empty((QUERIES, size), np.float32),
    )
    scores, context = (
        np.empty(QUERIES * panels * WIDE, np.float32),
        np.empty((QUERIES, across * WIDE), np.float32),
    )
    for index in range(start, end):
        text, head = index // heads, index % heads
        begin, length = offsets[text], offsets[text + 1] - offsets[text]
        panels = (length + WIDE - 1) // WIDE
        k = keys[: panels * size * WIDE].reshape(panels, size, WIDE)
        v = values[: across * length * WIDE].reshape(across, length, WIDE)
        for s in range(length):
            for d in range(size):
                k[s // WIDE, d, s % WIDE] = qkv[begin + s, width + head * size + d]
                v[d // WIDE, s, d % WIDE] = qkv[begin + s, 2 * width + head * size + d]
        asked = 1 if first else length
        for block in range(0, asked, QUERIES):
            many = min(QUERIES, asked - block)
            a = scores[: many * panels * WIDE].reshape(many, panels * WIDE)
            for row in range(many):
                for d in range(size):
                    q[row, d] = qkv[begin + block + row, head * size + d] * factor
            panel_product(k, nothing, q[:many], a, 0, panels, NONE)
            for row in range(many):
                softmax(a[row, :length])
            panel_product(v, nothing, a, context[:many], 0, across, NONE)
            for row in range(many):
                at = text if first else begin + block + row
                for d in range(size):
                    c[at, head * size + d] = context[row, d]
