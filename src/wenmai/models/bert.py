"""BERT (Devlin et al. 2019): Transformer blocks in which every place looks at every other, over texts that are framed.

    x_t = norm(E[w_t] + P[t] + S[segment])        of [CLS] a [SEP], or of [CLS] a [SEP] b [SEP], where b has the segment 1
    `layers` blocks, post-norm                    the body
    φ(W y_[CLS] + b), then the task's answer      N→1; φ is tanh (BERT's pooler), relu (DistilBERT), gelu (ELECTRA)
    y at the first piece of every word            N→N; its letters beside it (`characters`), where the table has no capitals

It reads much text first, and guesses words that are hidden from it (layers/pretraining.py): `train bert corpus.txt`. Then it
starts from that, or from a body that others have trained: `train bert DATA --from RUN_OR_FOLDER`. RoBERTa
(Liu et al. 2019) has no segments, DistilBERT (Sanh et al. 2019) half of the layers, ELECTRA (Clark et al. 2020) a narrower
table (`embed`)."""

from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.errors import Mistake
from wenmai.layers.embedding import DenseTable, lazy_table
from wenmai.layers.first_weights import normal
from wenmai.layers.positions import Learned
from wenmai.layers.spelling import Spelling
from wenmai.layers.transformer import Transformer, check_heads
from wenmai.models.network import Network
from wenmai.models.transformer import Activation
from wenmai.options import Count, Layers, NonNegative, Share, Size

SPREAD = 0.55  # of first weights, over the root of the width: 0.02 where it is BERT's 768


def bert(
    inputs,
    head,
    *,
    width: Size = 128,
    heads: Size = 4,
    layers: Layers = 2,
    feed_forward: Size | None = None,
    embed: Size | None = None,
    activation: Activation = "gelu",
    segments: Count = 2,
    dense: Literal["tanh", "relu", "gelu", "none"] = "tanh",
    pooling: Literal["first", "mean", "max"] = "first",
    epsilon: NonNegative = 1e-12,
    dropout: Share = 0.1,
):
    """`embed`: the width of the table, where it is another than the body's; `segments`: how many texts of an input are told
    apart; `dense`: what stands between the body and an answer for the whole text; `epsilon`: added to what norms divide by."""
    check_heads(width, heads)
    if inputs.kind != "tokens":
        raise Mistake(
            "bert reads texts, and here are {kind}; transformer reads these.", kind=inputs.kind
        )
    if inputs.embedding != "random":
        raise Mistake(
            "embedding={embedding}: bert has a table of its own; leave it out.",
            embedding=inputs.embedding[:200],
        )
    first = FramedTokens(inputs, embed or width, width, segments, epsilon, tied=head.tied)
    body = Transformer(
        width,
        heads,
        layers,
        feed_forward or 4 * width,
        positions="none",
        activation=activation,
        prenorm=False,
        epsilon=epsilon,
        dropout=dropout,
    )
    letters = getattr(inputs, "alphabet", None)
    spelling = None if letters is None else Spelling(len(letters.tokens), inputs.spelling, dropout)
    last = head(
        width + (spelling.width if spelling else 0),
        pooling,
        dropout,
        dense=None if dense == "none" else dense,
        activation=activation,
        epsilon=epsilon,
        table=first.table.weight,
    )
    for layer in [*body.modules(), *last.modules()]:
        if isinstance(layer, nn.Linear):
            if layer.weight is not first.table.weight:
                layer.weight = nn.Parameter(normal(SPREAD / sqrt(width), *layer.weight.shape))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    # What says which tag follows which, and what the letters say, is learned from nothing.
    fast = {"head_rate": 20.0} if spelling is not None or hasattr(last, "path_weights") else {}
    rate = (
        1e-3 * min(1.0, 128 / width) if head.tied else 1e-4
    )  # what learns from nothing, and what has learned
    return Network(
        first,
        body,
        last,
        training_defaults={"learning_rate": rate, "weight_decay": 0.01},
        spelling=spelling,
        fine_tuning_defaults=fine_tuning(width) | fast,
    )


def fine_tuning(width: int) -> dict[str, float]:
    """Devlin et al. 2019 try 2e-5 to 5e-5 and 2 to 4 epochs; the narrower a body, the further it has to go. Of three tasks'
    valid parts none was best with less than 1e-4 over 3 epochs at a width of 384, or 5e-5 over 5 (docs/RESULTS.md)."""
    return {"learning_rate": 1e-4 * 384 / width, "weight_decay": 0.01, "epochs": 4}


class FramedTokens(nn.Module):
    """The sum of a token's vector, its place's and its segment's, normed; what is padding is 0 before that."""

    def __init__(
        self, inputs, embed: int, width: int, segments: int, epsilon: float, tied: bool = False
    ):
        super().__init__()
        self.special, self.width, self.longest = inputs.special, width, inputs.longest
        spread = SPREAD / sqrt(embed)
        table = normal(spread, inputs.vocabulary, embed)
        self.table = DenseTable(table) if tied else lazy_table(table, inputs.special.pad)
        self.position = Learned(embed, inputs.longest)
        self.segment = (
            nn.Embedding.from_pretrained(normal(spread, segments, embed), freeze=False)
            if segments
            else None
        )
        self.norm = nn.LayerNorm(embed, eps=epsilon)
        self.project = nn.Linear(embed, width) if embed != width else nn.Identity()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        x = self.position(self.table(batch.inputs))  # (B, T, E)
        if self.segment is not None:
            x = x + self.segment(
                torch.zeros_like(batch.inputs) if batch.segment is None else batch.segment
            )
        return self.project(self.norm(x)), batch.mask
