"""The Transformer (Vaswani et al. 2017): blocks of attention and MLP, layer upon layer, over x and where each place of it stands.

encoder    every place looks at every other
decoder    causal: a place looks back on its own text, and, where there is a memory, across at what was read

A block is attention, then a small MLP at every place, each added to what came in:

pre-norm    x ← x + attention(norm(x)),  x ← x + W₂ φ(W₁ norm(x))       Xiong et al. 2020
post-norm   x ← norm(x + attention(x)),  x ← norm(x + W₂ φ(W₁ x))       Vaswani et al. 2017

In a decoder a second attention, `cross` to a memory, stands between the two. The order is written once, as a row of steps: a
block runs them, and so do the faster ways to read one token more (kernels/block_step.py)."""

from dataclasses import dataclass, replace
from functools import partial
from math import sqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.errors import Mistake
from wenmai.kernels.block_step import (
    ADD,
    ATTENTION,
    CROSS,
    KEEP,
    MLP,
    NORM_AFTER,
    NORM_BEFORE,
    RUN,
    BlockSteps,
    one_token,
)
from wenmai.kernels.encoding import Encoder
from wenmai.kernels.kept import Kept, forgotten, weights_of
from wenmai.kernels.products import in_16_bits, plain
from wenmai.layers.attention import MultiHeadAttention, see_real
from wenmai.layers.body import Body
from wenmai.layers.cache import Cache, take
from wenmai.layers.cross_attention import CrossAttention
from wenmai.layers.dropout import Dropout
from wenmai.layers.first_weights import normal
from wenmai.layers.packing import Packed
from wenmai.layers.positions import Learned, Sinusoidal
from wenmai.layers.trace import Trace

ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu-tanh": partial(functional.gelu, approximate="tanh"),
}


def check_heads(width: int, heads: int) -> None:
    if width % heads:
        raise Mistake(
            "width={width} cannot be shared by heads={heads}: expected a multiple; try width={fitting}.",
            width=width,
            heads=heads,
            fitting=max(1, width // heads) * heads,
        )


class Transformer(Body):
    """`positions`: sinusoidal, learned (of at most `longest`), rotary, or none, where x has them already. The state of a causal
    one is the cache of what was read before x, or, with a memory, a DecoderCache; without one, x opens the text."""

    stack = "blocks"

    def __init__(
        self,
        width: int,
        heads: int,
        layers: int,
        feed_forward: int,
        *,
        positions: str,
        longest: int = 4096,
        activation: str = "gelu",
        prenorm: bool = True,
        causal: bool = False,
        cross: bool = False,
        epsilon: float = 1e-5,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.width, self.causal, self.cached, self.shortens = width, causal, causal, not causal
        self.packs = not causal and positions != "rotary"
        self.position = {
            "sinusoidal": lambda: Sinusoidal(width),
            "learned": lambda: Learned(width, longest),
            "rotary": lambda: None,
            "none": lambda: None,
        }[positions]()
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(
                width,
                heads,
                feed_forward,
                dropout,
                activation,
                prenorm,
                positions == "rotary",
                causal,
                CrossAttention(width, width, heads) if cross else None,
                epsilon,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width, epsilon) if prenorm else nn.Identity()
        self.encoder, self.kept = Encoder(), Kept()

    def start_small(self) -> None:
        """First weights as GPT-2's: small, and what is added to x smaller with every block."""
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear):
                spread = 0.02 / (
                    sqrt(2 * len(self.blocks)) if name.endswith(("output", "down")) else 1.0
                )
                layer.weight = nn.Parameter(normal(spread, *layer.weight.shape))

    @torch.no_grad()
    def get_ready(self) -> None:
        """Whole texts are read by code that is compiled when it is first met on a machine: now."""
        if not self.causal:
            self(self.blocks[0].up.weight.new_zeros(1, 1, self.width), None)

    def block_steps(self, like: Tensor) -> BlockSteps | None:
        """The blocks as machine code reads them, for one token after another on a CPU."""
        if not plain(like):
            return None
        return self.kept.of(weights_of(self.blocks), lambda: BlockSteps(self.blocks))

    def cache(self, batch: int, longest: int) -> Cache:
        like = next(self.blocks.parameters())
        return Cache.empty(batch, self.blocks, longest, like, self.block_steps(like))

    def decoder_cache(self, memory: Tensor, mask: Tensor, longest: int) -> "DecoderCache":
        """Of a text of at most so many tokens that is to be written: what it looks across at is brought to keys and values
        once."""
        text = Cache.empty(len(memory), self.blocks, longest, memory, self.block_steps(memory))
        return DecoderCache(
            text,
            self.keys_values(memory),
            see_real(mask),
            torch.arange(len(memory), device=memory.device),
        )

    def keys_values(self, memory: Tensor) -> Tensor:
        """(B, S, E) → (B, L, 2, A, S, D)"""
        if (steps := self.block_steps(memory)) and not in_16_bits():
            return steps.keys_values(memory)
        return torch.stack([block.cross.keys_values(memory) for block in self.blocks], 1).to(
            memory.dtype
        )

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        state: "Cache | DecoderCache | None" = None,
        trace: Trace | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        first: bool = False,
        packed: Packed | None = None,
    ):
        """x (B, T, E), memory (B, S, E) → y (B, T, E); of the `first` place alone (B, 1, E), where it `shortens`: the last block
        then does for the others no more than to let them be looked at"""
        if self.kept.both:
            forgotten(self.kept)
        decoder = state if isinstance(state, DecoderCache) else None
        text = state if decoder is None else decoder.text
        x = x if self.position is None else self.position(x, 0 if text is None else text.start)
        low = x.is_cuda and torch.is_autocast_enabled("cuda")
        if low and (
            self.causal or packed is not None
        ):  # what every block adds to takes half the room
            x = x.to(torch.get_autocast_dtype("cuda"))
        x = self.dropout(x) if self.training else x
        if text is not None and text.steps is not None and one_token(x, trace):
            text = text.grown(1)
            x = text.steps.step(x, text, decoder)
        elif not self.causal and (
            weights := self.encoder.ready(self.blocks, x, trace is not None or self.training)
        ):
            x = self.encoder(weights, self.blocks, x, mask, first)
        else:
            text = None if text is None else text.in_order().grown(x.shape[1])
            keys_values, real = (None, None if memory_mask is None else see_real(memory_mask))
            if decoder is not None:
                keys_values, real = decoder.in_order()
            allowed = None
            if not self.causal and mask is not None:
                packed = (packed or Packed.of(mask, x)) if trace is None else None
                allowed, x = (see_real(mask), x) if packed is None else (None, packed.pack(x))
            for level, block in enumerate(self.blocks):
                past = None if text is None else text.layer(level, x.shape[1])
                across = memory if keys_values is None else keys_values[:, level]
                last = first and level + 1 == len(self.blocks)
                if last and packed is not None:
                    x, allowed, packed = packed.unpack(x), packed.allowed, None
                y = block(
                    x,
                    allowed,
                    trace and trace.under(f"block.{level}"),
                    past,
                    across,
                    real,
                    last,
                    packed,
                )
                x = y if trace is None else trace.passing(f"block.{level}", y, x)
            if packed is not None:
                return packed.unpack(self.norm(x)), mask, None
        mask = mask[:, :1] if first and mask is not None else mask
        return self.norm(x), mask, text if decoder is None else replace(decoder, text=text)


@dataclass
class DecoderCache:
    """Keys and values: of the text so far, and of the memory (M, L, 2, A, S, D), which is real at (M, 1, 1, S); `source` (B,)
    says which of its rows is a text's."""

    text: Cache
    memory: Tensor
    real: Tensor
    source: Tensor

    def take(self, rows: Tensor) -> "DecoderCache":
        if self.text.steps is None:  # then they lie in the order of the texts
            return DecoderCache(
                self.text.take(rows),
                take(self.memory, rows),
                take(self.real, rows),
                self.source[: len(rows)],
            )
        return replace(self, text=self.text.take(rows), source=take(self.source, rows))

    def in_order(self) -> tuple[Tensor, Tensor]:
        """(memory, real), a row a text"""
        if self.text.steps is None:
            return self.memory, self.real
        return take(self.memory, self.source), take(self.real, self.source)

    def within(self, rows: Tensor) -> "DecoderCache":
        return replace(self, text=self.text.take(rows))


def order(prenorm: bool, cross: bool) -> np.ndarray:
    """(steps, 2): what is done with x and with h, and which part of the block does it"""
    parts = (ATTENTION, CROSS, MLP) if cross else (ATTENTION, MLP)
    one = (NORM_BEFORE, RUN, ADD) if prenorm else (KEEP, RUN, ADD, NORM_AFTER)
    return np.array([(step, part) for part in parts for step in one], np.int64)


class Block(nn.Module):
    def __init__(
        self,
        width: int,
        heads: int,
        feed_forward: int,
        dropout: float,
        activation: str = "gelu",
        prenorm: bool = True,
        rotary: bool = False,
        causal: bool = False,
        cross: nn.Module | None = None,
        epsilon: float = 1e-5,
    ):
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, rotary, causal=causal)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.attention_norm, self.mlp_norm = (
            nn.LayerNorm(width, epsilon),
            nn.LayerNorm(width, epsilon),
        )
        self.dropout, self.activation = Dropout(dropout), activation
        self.cross, self.cross_norm = cross, None if cross is None else nn.LayerNorm(width, epsilon)
        self.order = order(prenorm, cross is not None)
        self.steps = [tuple(step) for step in self.order.tolist()]

    def norm(self, part: int) -> nn.LayerNorm:
        return (self.attention_norm, self.cross_norm, self.mlp_norm)[part]

    def mlp(self, x: Tensor, trace: Trace | None = None) -> Tensor:
        if trace is None:
            return self.down(ACTIVATIONS[self.activation](self.up(x)))
        bent = ACTIVATIONS[self.activation](trace.passing("mlp.before", self.up(x)))  # (B, T, F)
        return trace.passing("mlp", self.down(trace.passing("mlp.units", bent)))

    def forward(
        self,
        x: Tensor,
        allowed: Tensor | None,
        trace: Trace | None = None,
        past=None,
        memory: Tensor | None = None,
        real: Tensor | None = None,
        first: bool = False,
        packed: Packed | None = None,
    ) -> Tensor:
        """`memory`: what to look across at, `real` where there is some; the rest as attention takes it."""
        h = x
        for step, part in self.steps:
            if step == NORM_BEFORE:
                h = self.norm(part)(x).to(x.dtype)
            elif step == KEEP:
                h = x
            elif step == ADD:
                x = x + self.dropout(h)
            elif step == NORM_AFTER:
                x = self.norm(part)(x).to(x.dtype)
            elif part == ATTENTION:
                h = self.attention(h, allowed, trace, past, first, packed)
                x = x[:, :1] if first else x
            elif part == CROSS:
                h = self.cross(h, memory, real, trace)
            else:
                h = self.mlp(h, trace)
        return x
