"""The whole Transformer (Vaswani et al. 2017): an encoder that reads, and a decoder that looks back on its own text and across
at what was read.

    x = E[w] + position,  then in every block:  x ← x + attention(x, past),  x ← x + attention(x, memory),  x ← x + mlp(x)

The memory of a label or a row of numbers is a single vector; of a picture, one for every patch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.block_step import one_token
from wenmai.layers.attention import see_real
from wenmai.layers.blocks import Block
from wenmai.layers.cache import Cache, take
from wenmai.layers.cross_attention import CrossAttention
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import normal
from wenmai.models.encoder_decoder import EncoderDecoder, Looked
from wenmai.models.gpt import Places
from wenmai.models.seq2seq import FEW
from wenmai.models.transformer import Encoder, check_heads

SUITS = {"learning_rate": 2e-3}


def transformer_composer(inputs, head, *, width: int = 128, heads: int = 4, layers: int = 2, feed_forward: int | None = None,
                         positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal",
                         bend: Literal["gelu", "relu"] = "gelu", norm: Literal["pre", "post"] = "pre", patch: int = 4,
                         tie: bool = False, dropout: float = 0.1):  # fmt: skip
    """`layers`: of the encoder, and of the decoder; `tie`: the table that tokens are looked up in is the one that says them."""
    check_heads(width, heads)
    wide, prenorm = feed_forward or 2 * width, norm == "pre"
    first = input_layer(inputs.source, width, exact=True, patch=patch, scale=sqrt(width))
    encoder = Encoder(width, heads, layers, wide, positions, bend, prenorm, 4096, dropout)
    words = Places(inputs.target.vocabulary, width, positions, inputs.target.most, dropout)
    decoder = Decoder(words, width, heads, layers, wide, bend, prenorm, positions == "rotary", dropout)
    last = replace(head, tokens=inputs.target.vocabulary)(width, 0.0, words.table if tie else None)
    return EncoderDecoder(first, encoder, decoder, last, SUITS)


def transformer_translator(inputs, head, *, width: int | None = None, heads: int = 4, layers: int | None = None,
                           feed_forward: int | None = None,
                           positions: Literal["auto", "sinusoidal", "learned", "rotary"] = "auto",
                           bend: Literal["gelu", "relu"] = "gelu", norm: Literal["pre", "post"] = "pre", tie: bool = True,
                           smoothing: float = 0.1, sampling: float = 0.0, dropout: float | None = None):  # fmt: skip
    """`width` (none) 256, of letters 64; `layers` (none: 3, of letters 2): of the encoder, and of the decoder; `positions`: auto
    is sinusoidal, of letters rotary; `dropout` (none) 0.2, of letters 0; `tie`: the table that tokens are looked up in is the one
    that says them; `smoothing` of what is expected is shared out among all tokens; `sampling`: a share of the words that the
    decoder reads in training are its own."""
    letters = max(inputs.source.vocabulary, inputs.target.vocabulary) < FEW
    width, layers = width or (64 if letters else 256), layers or (2 if letters else 3)
    dropout = (0.0 if letters else 0.2) if dropout is None else dropout
    positions = ("rotary" if letters else "sinusoidal") if positions == "auto" else positions
    check_heads(width, heads)
    wide, prenorm, rotary = feed_forward or 4 * width, norm == "pre", positions == "rotary"
    words = Places(inputs.target.vocabulary, width, positions, inputs.target.most, dropout)
    # As loud as the places that are added to it; only what a table says by a product has to begin small.
    loud = 1 / words.scale if positions != "learned" else 0.02
    table = words.table if inputs.joint else nn.Parameter(normal(loud, inputs.source.vocabulary, width))
    encoder = Encoder(width, heads, layers, wide, positions, bend, prenorm, inputs.source.most, dropout)
    decoder = Decoder(words, width, heads, layers, wide, bend, prenorm, rotary, dropout)
    last = replace(head, tokens=inputs.target.vocabulary, smoothing=smoothing)(width, 0.0, words.table if tie else None)
    suits = {"learning_rate": 6e-3 if letters else 2e-3 * min(1.0, 256 / width)}
    return EncoderDecoder(Looked(table, words.scale, 0.0), encoder, decoder, last, suits, sampling)


@dataclass
class Seen:
    """Keys and values: of the text so far, and of the memory (M, L, 2, A, S, D), which is real at (M, 1, 1, S); `source` (B,)
    says which of its rows is a text's."""

    text: Cache
    memory: Tensor
    real: Tensor
    source: Tensor

    def take(self, rows: Tensor) -> Seen:
        if self.text.fused is None:  # then they lie in the order of the texts
            return Seen(self.text.take(rows), take(self.memory, rows), take(self.real, rows), self.source[: len(rows)])
        return replace(self, text=self.text.take(rows), source=take(self.source, rows))

    def in_order(self) -> tuple[Tensor, Tensor]:
        """(memory, real), a row a text"""
        if self.text.fused is None:
            return self.memory, self.real
        return take(self.memory, self.source), take(self.real, self.source)

    def within(self, rows: Tensor) -> Seen:
        return replace(self, text=self.text.take(rows))


class Decoder(nn.Module):
    def __init__(self, words: Places, width: int, heads: int, layers: int, feed_forward: int, bend: str, prenorm: bool,
                 rotary: bool, dropout: float):  # fmt: skip
        super().__init__()
        self.words, self.prenorm = words, prenorm
        self.blocks = nn.ModuleList(Block(width, heads, feed_forward, dropout, bend, prenorm, rotary, causal=True,
                                          across=CrossAttention(width, width, heads)) for _ in range(layers))  # fmt: skip
        self.norm = nn.LayerNorm(width) if prenorm else nn.Identity()

    def look(self, memory: Tensor) -> Tensor:
        return torch.stack([block.across.look(memory) for block in self.blocks], 1)  # (B, L, 2, A, S, D)

    def opened(self, memory: Tensor, mask: Tensor, steps: int) -> Seen:
        text, source = Cache.empty(len(memory), self.blocks, steps, memory), torch.arange(len(memory), device=memory.device)
        return Seen(text, self.look(memory).to(memory.dtype), see_real(mask), source)

    def forward(self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Seen | None = None, trace=None):
        """tokens (B, T), memory (B, S, E) → y (B, T, E)"""
        start = 0 if state is None else state.text.length
        x = self.words.placed(functional.embedding(tokens, self.words.table) * self.words.scale, start)
        if state is not None and state.text.fused is not None and one_token(x, trace):
            after = state.text.grown(1)
            return self.norm(after.fused.step(x, after, state)), replace(state, text=after)
        after = None if state is None else state.text.in_order().grown(tokens.shape[1])
        looked, allowed = (None, see_real(mask)) if state is None else state.in_order()
        for level, block in enumerate(self.blocks):
            past, across = (None, memory) if after is None else (after.layers[level], looked[:, level])
            x = block(x, None, trace, f"writer.{level}", past, start, across, allowed)
        return self.norm(x), None if after is None else replace(state, text=after)
