"""Rungs that listen: frames of sound in, a text out.

ctc          the rung's body reads all frames, and every frame says a letter or nothing (layers/ctc.py): recurrent cells, filters
             one above the other, Transformer
attention    an encoder reads the frames, a decoder writes the text: seq2seq; attention (listen, attend and spell, Chan et al.
             2016); Transformer (Dong et al. 2018)

Joint (Kim, Hori & Watanabe 2017): the encoder of the second kind learns to align by CTC too,

    loss = (1 − λ) · (−log p_decoder) + λ · (−log p_CTC),      and texts are chosen by the same sum."""

from dataclasses import replace
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.layers.context import Score
from wenmai.layers.dropout import Locked
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import normal
from wenmai.layers.losses import Loss
from wenmai.layers.recurrent import Recurrent
from wenmai.layers.transformer import Transformer, check_heads
from wenmai.models.attention_decoder import AttendingDecoder
from wenmai.models.cnn import TextFilters, sizes
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.models.network import Network
from wenmai.models.seq2seq import Cell, ContextDecoder, recurrent_encoder
from wenmai.models.transformer import Activation, Decoder, Norm, Positions, token_embedding
from wenmai.options import Layers, Portion, Share

LONG = {"epochs": 40, "patience": 12}  # a text is aligned late, and then learned fast
RATES = {"rnn": 1e-3, "relu": 1e-3, "rnn-residual": 5e-4}


def recurrent_transcriber(cell: str):
    """The builder for this cell, by CTC."""

    def build(
        inputs,
        head,
        *,
        embed: int = 96,
        hidden: int = 128,
        layers: Layers = 2,
        bidirectional: bool = True,
        dropout: Share = 0.1,
    ):
        first = input_layer(inputs, embed, dropout)
        body = Recurrent(first.width, hidden, cell, layers, bidirectional, dropout, normed=True)
        defaults = {"learning_rate": RATES.get(cell, 3e-3), "clip": 1.0} | LONG
        return Network(first, body, head(body.width, "last", dropout), training_defaults=defaults)

    return build


def rnn_transcriber(
    inputs,
    head,
    *,
    activation: Literal["tanh", "relu"] = "tanh",
    embed: int = 96,
    hidden: int = 128,
    layers: Layers = 2,
    bidirectional: bool = True,
    dropout: Share = 0.1,
):
    return recurrent_transcriber("relu" if activation == "relu" else "rnn")(
        inputs,
        head,
        embed=embed,
        hidden=hidden,
        layers=layers,
        bidirectional=bidirectional,
        dropout=dropout,
    )


def cnn_transcriber(
    inputs,
    head,
    *,
    embed: int = 96,
    filters: int = 64,
    widths: str = "3,7",
    layers: Layers = 4,
    dropout: Share = 0.1,
):
    first = input_layer(inputs, embed, dropout)
    body = TextFilters(first.width, filters, sizes(widths), layers, dropout)
    return Network(
        first,
        body,
        head(body.width, "max", dropout),
        training_defaults={"learning_rate": 2e-3, "clip": 1.0} | LONG,
    )


def transformer_transcriber(
    inputs,
    head,
    *,
    decoder: Literal["ctc", "attention"] = "ctc",
    width: int = 128,
    heads: int = 4,
    layers: Layers = 3,
    feed_forward: int | None = None,
    positions: Positions = "sinusoidal",
    activation: Activation = "gelu",
    norm: Norm = "pre",
    joint_ctc: Portion = 0.3,
    dropout: Share = 0.1,
):
    """`decoder`: ctc aligns, attention writes; `layers`: of the encoder, and of the decoder where there is one; `joint_ctc`: λ,
    with a decoder."""
    check_heads(width, heads)
    first = input_layer(inputs, width, exact=True, scale=sqrt(width))
    shape = {
        "positions": positions,
        "activation": activation,
        "prenorm": norm == "pre",
        "dropout": dropout,
    }
    encoder = Transformer(
        width, heads, layers, feed_forward or 4 * width, **shape, longest=inputs.source.longest
    )
    defaults = {"learning_rate": 1e-3, "warmup": 0.1, "clip": 1.0} | LONG
    if decoder == "ctc":
        return Network(first, encoder, head(width, "mean", dropout), training_defaults=defaults)
    words = token_embedding(inputs.target, width, positions)
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
    return Listener(first, encoder, Decoder(words, body), head, width, dropout, joint_ctc, defaults)


def seq2seq_transcriber(
    inputs,
    head,
    *,
    cell: Cell = "lstm",
    context: Literal["projected", "last", "sum"] = "projected",
    context_input: Literal["state", "every"] = "every",
    embed: int = 96,
    hidden: int = 256,
    layers: Layers = 1,
    bidirectional: bool = True,
    joint_ctc: Portion = 0.3,
    dropout: Share = 0.1,
):
    """`hidden` is the decoder's, and the encoder's, both ways together; `joint_ctc`: λ."""
    first, target = input_layer(inputs, embed, dropout), written(inputs, embed, dropout)
    encoder = recurrent_encoder(first.width, hidden, cell, layers, bidirectional, dropout)
    decoder = ContextDecoder(
        cell, target, hidden, layers, bidirectional, context, context_input, dropout
    )
    return Listener(
        first,
        encoder,
        decoder,
        head,
        hidden,
        dropout,
        joint_ctc,
        {"learning_rate": 2e-3, "clip": 1.0} | LONG,
    )


def attention_transcriber(
    inputs,
    head,
    *,
    cell: Cell = "lstm",
    score: Score = "additive",
    query: Literal["after", "before"] = "before",
    feeding: bool = False,
    embed: int = 96,
    hidden: int = 256,
    layers: Layers = 1,
    bidirectional: bool = True,
    joint_ctc: Portion = 0.3,
    dropout: Share = 0.1,
):
    """`query`: the state after the step, or before it, whose context then enters the step; `hidden` is the decoder's, and the
    encoder's, both ways together; `joint_ctc`: λ."""
    first, target = input_layer(inputs, embed, dropout), written(inputs, embed, dropout)
    encoder = recurrent_encoder(first.width, hidden, cell, layers, bidirectional, dropout)
    decoder = AttendingDecoder(
        cell, target, hidden, layers, score, query == "before", feeding, dropout, False
    )
    return Listener(
        first,
        encoder,
        decoder,
        head,
        hidden,
        dropout,
        joint_ctc,
        {"learning_rate": 2e-3, "clip": 1.0} | LONG,
    )


def written(inputs, width: int, dropout: float) -> TokenEmbedding:
    return TokenEmbedding(
        inputs.target,
        width,
        Locked(dropout),
        start=normal(0.1, inputs.target.vocabulary, width),
        dense=True,
    )


class JointHead(nn.Module):
    """What the decoder says next; and what every frame says."""

    def __init__(self, head: nn.Module, ctc: nn.Module, share: float):
        super().__init__()
        self.head, self.ctc, self.share = head, ctc, share
        self.width, self.per_step, self.has_probabilities, self.says_next = (
            head.width,
            True,
            True,
            True,
        )

    def outputs(self, y: Tensor, *more) -> Tensor:
        return self.head.outputs(y, *more)

    def chosen(self, outputs: Tensor, mask: Tensor | None) -> Tensor:
        return self.head.chosen(outputs, mask)

    def support(self, outputs: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        return self.head.support(outputs, mask, chosen)

    def losses(
        self, y: Tensor, mask: Tensor, batch: Batch, memory: Tensor, memory_mask: Tensor
    ) -> list[Loss]:
        (spelled,), (aligned,) = (
            self.head.losses(y, mask, batch),
            self.ctc.losses(memory, memory_mask, batch),
        )
        return [spelled._replace(weight=1 - self.share), aligned._replace(weight=self.share)]

    def counts(self, batch: Batch) -> list[int]:
        return [int(batch.target_mask.sum()), int(self.ctc.lengths(batch).sum())]


class Listener(EncoderDecoder):
    """An encoder–decoder over sound; with a share of CTC, its encoder aligns too."""

    def __init__(
        self,
        input: nn.Module,
        encoder: nn.Module,
        decoder: nn.Module,
        asked,
        width: int,
        dropout: float,
        share: float,
        training_defaults: dict,
    ):
        head = replace(asked.written, smoothing=0.1)(width, dropout=dropout)
        head = JointHead(head, asked(width, dropout=dropout), share) if share else head
        super().__init__(input, encoder, decoder, head, training_defaults)

    def losses(self, batch: Batch) -> tuple[list[Loss], None]:
        if not isinstance(self.head, JointHead):
            return super().losses(batch)
        x, mask = self.input(batch)
        memory, mask, _ = self.encoder(x, mask)
        begin = batch.target.new_full((len(batch.target), 1), self.opening)
        tokens = torch.cat([begin, batch.target[:, :-1].clamp(min=0)], 1)
        y, _ = self.decoder(tokens, memory, mask)
        return self.head.losses(y, batch.target_mask, batch, memory, mask), None

    @torch.no_grad()
    def aligned(self, batch: Batch) -> tuple[Tensor, Tensor] | None:
        """(log p of CTC (B, T, V + 1), their mask), where the encoder has learned to align"""
        if not isinstance(self.head, JointHead):
            return None
        memory, mask, _ = self.encoder(*self.input(batch))
        return self.head.ctc.outputs(memory, mask), mask
