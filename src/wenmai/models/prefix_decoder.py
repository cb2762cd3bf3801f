"""GPT that is told what to write about: the vector stands before the text, as its first token (a prefix).

    x = [m, E[w_1], E[w_2], …] + position,  then `layers` causal blocks;  y at m says w_1, y at w_1 says w_2, …

A label has a vector of its own; numbers and a picture are brought to one, W f + b.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.cache import Cache
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed_whole
from wenmai.models.encoder_decoder import EncoderDecoder, Single
from wenmai.models.gpt import Past, Places
from wenmai.models.transformer import check_heads

SUITS = {"learning_rate": 2e-3}


def gpt_composer(inputs, head, *, width: int = 128, heads: int = 4, layers: int = 3, feed_forward: int | None = None,
                 positions: Literal["learned", "sinusoidal", "rotary"] = "learned", tie: bool = False,
                 dropout: float = 0.1):  # fmt: skip
    """`tie`: the table that tokens are looked up in is the one that says them."""
    check_heads(width, heads)
    words = Places(inputs.target.vocabulary, width, positions, inputs.target.most, dropout)
    decoder = PrefixDecoder(words, Past(width, heads, layers, feed_forward or 4 * width, positions == "rotary", dropout))
    last = replace(head, tokens=inputs.target.vocabulary)(width, 0.0, words.table if tie else None)
    return EncoderDecoder(embed_whole(inputs.source, width), Single(False, Dropout(0.0)), decoder, last, SUITS)


class PrefixDecoder(nn.Module):
    def __init__(self, words: Places, past: Past):
        super().__init__()
        self.words, self.past = words, past

    def opened(self, memory: Tensor, mask: Tensor, steps: int) -> Cache:
        return self.past.cache(len(memory), memory.shape[1] - 1 + steps)

    def forward(self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Cache | None = None, trace=None):
        """tokens (B, T), memory (B, S, E) → y (B, T, E): the last vector of the memory stands where <s> would"""
        start = 0 if state is None else state.length
        x = functional.embedding(tokens, self.words.table) * self.words.scale
        x = x if start else torch.cat([memory, x[:, 1:]], 1)  # (B, S − 1 + T, E)
        y, _, state = self.past(self.words.placed(x, start), mask, state, trace)
        return y[:, -tokens.shape[1] :], state
