"""The Transformer (Vaswani et al. 2017): an encoder alone, or an encoder that reads and a decoder that writes
(layers/transformer.py).

    x = embedding + position,  then `layers` blocks of attention and MLP,  then the head

An image is read as its patches (Dosovitskiy et al. 2021). The memory of a label or a row of numbers is a single vector; of a
picture, one for every patch."""

from dataclasses import replace
from math import sqrt
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.kernels.beam_search import BestTexts, Writer, search
from wenmai.kernels.products import in_16_bits, plain
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import normal
from wenmai.layers.heads import NextHead
from wenmai.layers.transformer import DecoderCache, Transformer, check_heads
from wenmai.models.encoder_decoder import EncoderDecoder, few_tokens
from wenmai.models.network import Network
from wenmai.options import IMAGES, Layers, Share

Positions = Literal["sinusoidal", "learned", "rotary"]
Activation, Norm = Literal["gelu", "gelu-tanh", "relu"], Literal["pre", "post"]
Patch = Annotated[int, IMAGES]
FEW = 32  # texts at a time


def transformer(
    inputs,
    head,
    *,
    width: int = 128,
    heads: int = 4,
    layers: Layers = 2,
    feed_forward: int | None = None,
    positions: Positions = "sinusoidal",
    activation: Activation = "gelu",
    norm: Norm = "pre",
    patch: Patch = 4,
    pooling: Literal["mean", "max", "first"] = "mean",
    dropout: Share = 0.1,
):
    check_heads(width, heads)
    longest = inputs.longest if inputs.kind in ("tokens", "frames") else 4096
    first = input_layer(inputs, width, exact=True, patch=patch, scale=sqrt(width))
    body = Transformer(
        width,
        heads,
        layers,
        feed_forward or 2 * width,
        positions=positions,
        longest=longest,
        activation=activation,
        prenorm=norm == "pre",
        dropout=dropout,
    )
    return Network(first, body, head(width, pooling, dropout))


def transformer_composer(
    inputs,
    head,
    *,
    width: int = 128,
    heads: int = 4,
    layers: Layers = 2,
    feed_forward: int | None = None,
    positions: Positions = "sinusoidal",
    activation: Activation = "gelu",
    norm: Norm = "pre",
    patch: Patch = 4,
    tie: bool = False,
    dropout: Share = 0.1,
):
    """`layers`: of the encoder, and of the decoder; `tie`: the table that tokens are looked up in is the one that says them."""
    check_heads(width, heads)
    first = input_layer(inputs.source, width, exact=True, patch=patch, scale=sqrt(width))
    shape = {
        "positions": positions,
        "activation": activation,
        "prenorm": norm == "pre",
        "dropout": dropout,
    }
    encoder = Transformer(width, heads, layers, feed_forward or 2 * width, **shape)
    words = token_embedding(inputs.target, width, positions)
    body = Transformer(
        width,
        heads,
        layers,
        feed_forward or 2 * width,
        **shape,
        longest=inputs.target.most,
        causal=True,
        cross=True,
    )
    last = head(width, table=words.table.weight if tie else None)
    return EncoderDecoder(first, encoder, Decoder(words, body), last, {"learning_rate": 2e-3})


def transformer_translator(
    inputs,
    head,
    *,
    width: int | None = None,
    heads: int = 4,
    layers: Layers | None = None,
    feed_forward: int | None = None,
    positions: Literal["auto", "sinusoidal", "learned", "rotary"] = "auto",
    activation: Activation = "gelu",
    norm: Norm = "pre",
    tie: bool = True,
    smoothing: Share = 0.1,
    sampling: Share = 0.0,
    dropout: Share | None = None,
):
    """`width` (none) 256, of letters 64; `layers` (none: 3, of letters 2): of the encoder, and of the decoder; `positions`: auto
    is sinusoidal, of letters rotary; `dropout` (none) 0.2, of letters 0; `tie`: the table that tokens are looked up in is the one
    that says them; `smoothing` of what is expected is shared out among all tokens; `sampling`: a share of the words that the
    decoder reads in training are its own."""
    letters = few_tokens(inputs)
    width, layers = width or (64 if letters else 256), layers or (2 if letters else 3)
    dropout = (0.0 if letters else 0.2) if dropout is None else dropout
    positions = ("rotary" if letters else "sinusoidal") if positions == "auto" else positions
    check_heads(width, heads)
    shape = {
        "positions": positions,
        "activation": activation,
        "prenorm": norm == "pre",
        "dropout": dropout,
    }
    words = token_embedding(inputs.target, width, positions)
    # As loud as the places that are added to it; only what a table says by a product has to begin small.
    loud = 1 / words.scale if positions != "learned" else 0.02
    table = None if inputs.joint else normal(loud, inputs.source.vocabulary, width)
    first = TokenEmbedding(
        inputs.source,
        width,
        scale=words.scale,
        start=table,
        dense=True,
        table=words.table if inputs.joint else None,
    )
    encoder = Transformer(
        width, heads, layers, feed_forward or 4 * width, **shape, longest=inputs.source.most
    )
    body = Transformer(
        width,
        heads,
        layers,
        feed_forward or 4 * width,
        **shape,
        longest=inputs.target.most,
        causal=True,
        cross=True,
    )
    last = replace(head, smoothing=smoothing)(width, table=words.table.weight if tie else None)
    defaults = {"learning_rate": 6e-3 if letters else 2e-3 * min(1.0, 256 / width)}
    built = {"width": width, "layers": layers, "positions": positions, "dropout": dropout}
    return EncoderDecoder(first, encoder, Decoder(words, body), last, defaults, sampling, built)


def token_embedding(texts, width: int, positions: str) -> TokenEmbedding:
    """Of what is written, as GPT-2's: small at first, and louder where fixed places are added to it."""
    scale = sqrt(width) if positions == "sinusoidal" else 1.0
    return TokenEmbedding(
        texts, width, scale=scale, start=normal(0.02, texts.vocabulary, width), dense=True
    )


class Decoder(nn.Module):
    def __init__(self, words: TokenEmbedding, body: Transformer):
        super().__init__()
        self.words, self.body, self.special = words, body, words.special

    def begin(self, memory: Tensor, mask: Tensor, steps: int) -> DecoderCache:
        return self.body.decoder_cache(memory, mask, steps)

    def can_search(self, head: nn.Module, sources: int, size: int) -> bool:
        """Whether there is machine code for beams of this size, on a CPU. It is in 32 bits: few texts are written no faster in
        16."""
        plain_head = (
            isinstance(head, NextHead)
            and isinstance(head.project, nn.Identity)
            and 2 * size <= head.width
        )
        short = in_16_bits() and sources * size > FEW
        return (
            plain_head and not self.words.one_hot and plain(self.words.table.weight) and not short
        )

    def search(
        self,
        head: NextHead,
        memory: Tensor,
        mask: Tensor,
        opening: int,
        most: np.ndarray,
        size: int,
        penalty: float,
        count: int,
    ) -> BestTexts:
        """Beam search by machine code."""
        width, position = memory.shape[2], self.body.position
        places = torch.zeros(int(most.max()), width)  # what is added to a token at each of them
        places = places if position is None else position(places.unsqueeze(0))[0]
        norm = np.array(
            [part.detach().numpy() for part in self.body.norm.parameters()], np.float32
        ).reshape(-1, width)
        table, unknown = (
            self.words.table.weight.detach().numpy(),
            -1 if self.special.unknown is None else self.special.unknown,
        )
        panels = head.repeated.panels(head.output, head.bias)
        writer = Writer(
            table,
            np.float32(self.words.scale),
            places.numpy(),
            norm,
            *panels,
            opening,
            self.special.end,
            unknown,
        )
        steps, across = self.body.block_steps(memory), self.body.keys_values(memory)
        return search(steps, writer, across.numpy(), mask.numpy(), most, size, penalty, count)

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        mask: Tensor,
        state: DecoderCache | None = None,
        trace=None,
    ):
        """tokens (B, T), memory (B, S, E) → y (B, T, E)"""
        y, _, state = self.body(self.words.look_up(tokens), None, state, trace, memory, mask)
        return y, state
