"""GPT (Radford et al. 2018, 2019): Transformer blocks that look back only, and say at every place what comes next.

    x = E[w] + position,  then `layers` blocks of causal attention and MLP,  then log softmax(W norm(x))

The same body reads a text for a class or a number, from its last place (Radford et al. 2018), and tags what it has read so far.
Told what to write about, it has a vector before the text, as its first token (a prefix):

    x = [m, E[w_1], E[w_2], …] + position;  y at m says w_1, y at w_1 says w_2, …
"""

from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from wenmai.layers.cache import Cache
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import TokenEmbedding, embed_whole
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.transformer import Transformer, check_heads
from wenmai.models.encoder_decoder import EncoderDecoder, VectorEncoder
from wenmai.models.network import Network
from wenmai.models.sizes import by_heart
from wenmai.models.transformer import Activation, Patch, token_embedding
from wenmai.options import Layers, Share

Positions = Literal["learned", "sinusoidal", "rotary"]


def gpt(
    inputs,
    head,
    *,
    width: int = 128,
    heads: int = 4,
    layers: Layers = 2,
    feed_forward: int | None = None,
    positions: Positions = "learned",
    activation: Activation = "gelu",
    patch: Patch = 4,
    pooling: Literal["mean", "last", "max"] = "mean",
    dropout: Share = 0.1,
):
    """To classify, tag or regress. `pooling`: over all places, each of which has seen what stands before it, or from the last."""
    check_heads(width, heads)
    longest = inputs.longest if inputs.kind in ("tokens", "frames") else 4096
    first = input_layer(
        inputs,
        width,
        exact=True,
        patch=patch,
        scale=sqrt(width) if positions == "sinusoidal" else 1.0,
    )
    body = blocks(width, heads, layers, feed_forward, positions, longest, dropout, activation)
    return Network(
        first, body, head(width, pooling, dropout), fine_tuning_defaults=fine_tuning(width)
    )


def gpt_language_model(
    inputs,
    head,
    *,
    width: int | None = None,
    heads: int | None = None,
    layers: Layers | None = None,
    feed_forward: int | None = None,
    positions: Positions = "learned",
    activation: Activation = "gelu",
    tie: bool = True,
    dropout: Share | None = None,
    context: int = 256,
):
    """`context`: how many tokens it looks back on. How wide and deep it is and how much is dropped depends on the text's size
    unless said: 64 numbers a head, as many layers as heads, six of them for a million tokens."""
    size = min(12, max(2, round(sqrt(inputs.corpus_tokens) / 160)))
    width = width or 64 * (heads or size)
    heads, layers = heads or max(1, width // 64), layers or size
    check_heads(width, heads)
    dropout = 0.05 + 0.25 * by_heart(inputs.corpus_tokens) if dropout is None else dropout
    first = token_embedding(inputs, width, positions)
    body = blocks(width, heads, layers, feed_forward, positions, context, dropout, activation)
    last = head(width, table=first.table.weight if tie else None, bias=False)
    return Network(
        first,
        body,
        last,
        context=context,
        built={"width": width, "heads": heads, "layers": layers, "dropout": dropout},
        training_defaults={"learning_rate": 1e-3 * min(2.0, 384 / width), "weight_decay": 0.1},
        fine_tuning_defaults=fine_tuning(width),
    )


def fine_tuning(width: int) -> dict[str, float]:
    """As Radford et al. 2018: 6.25e-5 and 3 epochs at a width of 768; the narrower a body, the further it has to go."""
    return {"learning_rate": 6.25e-5 * 768 / width, "weight_decay": 0.01, "epochs": 3}


def gpt_composer(
    inputs,
    head,
    *,
    width: int = 128,
    heads: int = 4,
    layers: Layers = 3,
    feed_forward: int | None = None,
    positions: Positions = "learned",
    activation: Activation = "gelu",
    tie: bool = False,
    dropout: Share = 0.1,
):
    """`tie`: the table that tokens are looked up in is the one that says them."""
    check_heads(width, heads)
    words = token_embedding(inputs.target, width, positions)
    decoder = PrefixDecoder(
        words,
        blocks(
            width, heads, layers, feed_forward, positions, inputs.target.most, dropout, activation
        ),
    )
    last = head(width, table=words.table.weight if tie else None)
    encoder = VectorEncoder(False, Dropout(0.0))
    slowly = {
        name: value for name, value in fine_tuning(width).items() if name != "epochs"
    }  # what it is told is new to it
    return EncoderDecoder(
        embed_whole(inputs.source, width),
        encoder,
        decoder,
        last,
        {"learning_rate": 2e-3},
        fine_tuning_defaults=slowly,
    )


def blocks(
    width: int,
    heads: int,
    layers: int,
    feed_forward: int | None,
    positions: str,
    longest: int,
    dropout: float,
    activation: str,
) -> Transformer:
    body = Transformer(
        width,
        heads,
        layers,
        feed_forward or 4 * width,
        positions=positions,
        longest=longest,
        causal=True,
        activation=activation,
        dropout=dropout,
    )
    body.start_small()
    return body


class PrefixDecoder(nn.Module):
    def __init__(self, words: TokenEmbedding, body: Transformer):
        super().__init__()
        self.words, self.body, self.special = words, body, words.special

    def begin(self, memory: Tensor, mask: Tensor, steps: int) -> Cache:
        return self.body.cache(len(memory), memory.shape[1] - 1 + steps)

    def forward(
        self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Cache | None = None, trace=None
    ):
        """tokens (B, T), memory (B, S, E) → y (B, T, E): the last vector of the memory stands where <s> would"""
        x = self.words.look_up(tokens)
        x = (
            x if state is not None and state.length else torch.cat([memory, x[:, 1:]], 1)
        )  # (B, S − 1 + T, E)
        y, _, state = self.body(x, None, state, trace)
        return y[:, -tokens.shape[1] :], state
