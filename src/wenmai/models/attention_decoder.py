"""Attention between two texts (Bahdanau et al. 2015, Luong et al. 2015): the decoder looks at all states of the encoder, anew at
every step, and carries nothing but what it is about to say.

    C_t = Σ_s softmax_s(score(q_t, h_s)) h_s                       scores: layers/context.py

    query = after     q_t = d_t:  d_t = cell(u_t, d_{t−1}),  y_t = tanh(W [d_t ; C_t])            the context joins at the output
    query = before    q_t = d_{t−1}:  d_t = cell([u_t ; C_t], d_{t−1}),  y_t = tanh(W [d_t ; C_t])     it enters the step

u_t = E[w_{t−1}], with input feeding [E[w_{t−1}] ; y_{t−1}]: then a step knows where the one before it looked. The encoder is
recurrent, or e = tanh(W x + b), where no state knows of another. d_0 = tanh(W h̄ + b), from the mean of the states. With `copy`, a
step may also write the word that it looks at (layers/copying.py); one that the vocabulary lacks is read on as <unk>.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from wenmai.errors import Mistake
from wenmai.layers.attention import see_real
from wenmai.layers.cache import take
from wenmai.layers.context import Context, Score
from wenmai.layers.copying import CopyHead, Pointed
from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.heads import pool
from wenmai.layers.recurrent import Recurrent
from wenmai.models.attention import TokenwiseLayer
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.models.seq2seq import Cell, embeddings, recurrent_encoder, sizes
from wenmai.options import Layers, Share


def attention_translator(
    inputs,
    head,
    *,
    cell: Cell = "gru",
    score: Score = "general",
    query: Literal["after", "before"] = "after",
    feeding: bool = False,
    encoder: Literal["recurrent", "plain"] = "recurrent",
    embed: int | None = None,
    hidden: int | None = None,
    layers: Layers = 1,
    bidirectional: bool = True,
    tie: bool = True,
    smoothing: Share = 0.1,
    copy: bool = False,
    sampling: Share = 0.0,
    dropout: Share | None = None,
):
    """`query`: the state after the step, whose context joins at the output, or before it, whose context enters the step;
    `feeding`: the last output is an input of the next step. `encoder` plain reads every token for itself. `hidden` (none: 512, of
    letters 128) is the decoder's, and the encoder's, both ways together; `embed` (none) is half of it; `dropout` (none) 0.3, of
    letters 0; `smoothing` of what is expected is shared out among all tokens; `copy`: words of the source may be written as they
    stand there, also those that no vocabulary holds; `sampling`: a share of the words that the decoder reads in training are its
    own."""
    if encoder == "plain" and not bidirectional:
        raise Mistake(
            "bidirectional=False goes with an encoder that reads step by step; encoder=plain reads no way at all."
        )
    embed, hidden, dropout, defaults, built = sizes(inputs, embed, hidden, dropout)
    source, target = embeddings(inputs, embed, dropout)
    reader = (
        TokenwiseLayer(embed, hidden, layers, dropout)
        if encoder == "plain"
        else (recurrent_encoder(embed, hidden, cell, layers, bidirectional, dropout))
    )
    decoder = AttendingDecoder(
        cell, target, hidden, layers, score, query == "before", feeding, dropout, copy
    )
    last = replace(head, smoothing=smoothing)(
        hidden, dropout=dropout, table=target.table.weight if tie else None
    )
    return EncoderDecoder(
        source, reader, decoder, CopyHead(last) if copy else last, defaults, sampling, built
    )


@dataclass
class AttentionState:
    """The states of all layers (B, S), the last output (B, H), and what queries are compared with (B, S, K)."""

    inner: Tensor
    output: Tensor
    keys: Tensor

    def take(self, rows: Tensor) -> "AttentionState":
        return AttentionState(*(take(part, rows) for part in (self.inner, self.output, self.keys)))

    def within(self, rows: Tensor) -> "AttentionState":
        return AttentionState(take(self.inner, rows), take(self.output, rows), self.keys)


class AttendingDecoder(nn.Module):
    def __init__(
        self,
        cell: str,
        words: TokenEmbedding,
        hidden: int,
        layers: int,
        score: Score,
        before: bool,
        feeding: bool,
        dropout: float,
        copy: bool,
        start: str = "mean",
    ):
        """`start`: which of the memory d_0 follows from; where it is the first alone, that is also added to every y_t, so that
        an answer that was found while reading is said without a detour."""
        super().__init__()
        self.start = start
        self.words, self.hidden, self.before, self.feeding, self.special = (
            words,
            hidden,
            before,
            feeding,
            words.special,
        )
        wide = words.width + hidden * (before + feeding)
        self.cells = Recurrent(wide, hidden, cell, layers, dropout=Locked(dropout))
        self.first = nn.Linear(hidden, sum(self.cells.sizes))
        self.context, self.join = Context(hidden, hidden, score), nn.Linear(2 * hidden, hidden)
        self.after = Dropout(dropout)
        self.gate = nn.Linear(2 * hidden + words.width, 1) if copy else None

    def begin(self, memory: Tensor, mask: Tensor, steps: int) -> AttentionState:
        inner = self.first(pool(memory, mask, self.start)).tanh()
        return AttentionState(
            inner, inner.new_zeros(inner.shape[0], self.hidden), self.context.keys(memory)
        )

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        mask: Tensor,
        state: AttentionState | None = None,
        trace=None,
    ):
        """tokens (B, T), memory (B, S, H) → y (B, T, H), Pointed where words are copied"""
        state = self.begin(memory, mask, 0) if state is None else state
        if self.gate is not None:
            tokens = tokens.masked_fill(tokens >= self.words.size, self.words.special.unknown)
        u, real = (
            self.words.dropout(self.words.look_up(tokens)),
            see_real(mask)[:, 0],
        )  # (B, T, E), (B, 1, S)
        if not self.before and not self.feeding:  # no step waits for a context: all of them at once
            d, _, inner = self.cells(u, None, state.inner, trace)
            context, weights = self.attend(d, state.keys, memory, real, trace)
            y = self.joined(d, context, memory)
            return self.pointed(u, y, d, context, weights), AttentionState(
                inner, y[:, -1], state.keys
            )
        steps, notes = [], []
        inner, y = state.inner, state.output[:, None]  # (B, S), (B, 1, H)
        top = (
            self.hidden * self.cells.layers[-1][0].states
        )  # where the last layer's d begins, from the end
        for u_t in u.split(1, 1):
            own = None if trace is None else trace.apart()
            parts = [u_t, y.to(u_t.dtype)] if self.feeding else [u_t]
            if self.before:
                start = inner.shape[1] - top
                last = inner[:, None, start : start + self.hidden]
                context, weights = self.attend(last, state.keys, memory, real, own)
                parts.append(context.to(u_t.dtype))
            d, _, inner = self.cells(torch.cat(parts, -1), None, inner, own)
            if not self.before:
                context, weights = self.attend(d, state.keys, memory, real, own)
            y = self.joined(d, context, memory)
            steps.append([y] if self.gate is None else [y, d, context, weights])
            notes.append(own)
        if (
            trace is not None
        ):  # step by step → over time, which is dimension 2 of weights (B, 1, T, S), 1 of the rest
            for name in notes[0].notes:
                trace.note(
                    name,
                    torch.cat([own[name] for own in notes], 2 if name.endswith("attention") else 1),
                )
        return self.pointed(u, *(torch.cat(part, 1) for part in zip(*steps))), AttentionState(
            inner, y[:, -1], state.keys
        )

    def attend(
        self, q: Tensor, keys: Tensor, memory: Tensor, real: Tensor, trace
    ) -> tuple[Tensor, Tensor | None]:
        """C_t (B, T, H), and where words are copied, α (B, T, S)."""
        if self.gate is not None:
            return self.context.with_weights(q, keys, memory, real, trace)
        return self.context(q, keys, memory, real, trace), None

    def joined(self, d: Tensor, context: Tensor, memory: Tensor) -> Tensor:
        y = self.join(self.after(torch.cat([d, context.to(d.dtype)], -1))).tanh()  # (B, T, H)
        return y + memory[:, :1].to(y.dtype) if self.start == "first" else y

    def pointed(self, u: Tensor, y: Tensor, d=None, context=None, weights=None) -> Tensor | Pointed:
        if self.gate is None:
            return y
        return Pointed(
            y, weights, self.gate(torch.cat([context.to(d.dtype), d, u.to(d.dtype)], -1))
        )
