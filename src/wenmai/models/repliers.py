"""Answers in words of their own: context and question are encoded apart, and the answer is decoded word by word.

seq2seq        c = tanh(W [end of the question ; end of the context] + b)        each has been read by cells of its own
transformer    the same blocks read each of the two, and the decoder looks at both
attention      sentences are read with the question in hand, several times (layers/query_reduction.py):

    X_k = Σ_j l_j ∘ x_kj,   l_j = (1 − j/J) − (e/E)(1 − 2j/J)      of a sentence of J words (Sukhbaatar et al. 2015)
    q¹ = X_0, the question;   q^{i+1} = reduced(X, q^i)              `layers` times
    m_t = tanh(W [x_t ; q_k] + b)                                    a word, and what its sentence came to
    m_0 = q at the end of the last reading                           the decoder begins with it, and looks at all
    y_t = tanh(W [d_t ; C_t]) + m_0                                  as of attention_decoder.py, and what was found
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from wenmai.layers.body import Body
from wenmai.layers.context import Score
from wenmai.layers.copying import CopyHead
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.first_weights import normal
from wenmai.layers.heads import pool
from wenmai.layers.query_reduction import QueryReduction
from wenmai.layers.transformer import Transformer, check_heads
from wenmai.models.attention_decoder import AttendingDecoder
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.models.seq2seq import Cell, ContextDecoder, embeddings, recurrent_encoder
from wenmai.models.transformer import Activation, Decoder, Norm, Positions, token_embedding
from wenmai.options import Layers, Share

SHORT = 12  # J of a sentence of no more words: else a name that opens one would be nothing like the same name that closes one
LOUD = 4.0  # times as large as other tables at first: gates open by products of two sentences, which else are next to nothing
READ_OFTEN = {
    "epochs": 40,
    "patience": 12,
}  # stories are short, and what they have in common is found late


def seq2seq_replier(
    inputs,
    head,
    *,
    cell: Cell = "gru",
    embed: int = 64,
    hidden: int = 128,
    layers: Layers = 1,
    bidirectional: bool = True,
    tie: bool = True,
    smoothing: Share = 0.0,
    dropout: Share = 0.1,
):
    source, target = embeddings(inputs, embed, dropout)
    readers = [
        recurrent_encoder(embed, hidden, cell, layers, bidirectional, dropout) for _ in range(2)
    ]
    decoder = ContextDecoder(cell, target, hidden, layers, False, "projected", "state", dropout)
    last = replace(head, smoothing=smoothing)(
        hidden, dropout=dropout, table=target.table.weight if tie else None
    )
    encoder = BothEnds(*readers, hidden, "ends" if bidirectional else "last")
    return EncoderDecoder(
        source, encoder, decoder, last, {"learning_rate": 2e-3, "clip": 1.0} | READ_OFTEN
    )


def attention_replier(
    inputs,
    head,
    *,
    cell: Cell = "gru",
    score: Score = "general",
    hidden: int = 128,
    layers: Layers = 3,
    tie: bool = False,
    smoothing: Share = 0.0,
    copy: bool = False,
    dropout: Share = 0.1,
):
    """`layers`: how often the context is read with the question in hand; `copy`: words of the context may be written as they
    stand there, also those that no vocabulary holds."""
    source, target = embeddings(inputs, hidden, dropout)
    with torch.no_grad():
        source.table.weight.mul_(LOUD)
    decoder = AttendingDecoder(
        cell, target, hidden, 1, score, False, False, dropout, copy, start="first"
    )
    last = replace(head, smoothing=smoothing)(
        hidden, dropout=dropout, table=target.table.weight if tie else None
    )
    return EncoderDecoder(
        source,
        StoryReader(hidden, layers, dropout),
        decoder,
        CopyHead(last) if copy else last,
        {"learning_rate": 3e-3, "clip": 5.0, "weight_decay": 1e-3} | READ_OFTEN,
    )


def transformer_replier(
    inputs,
    head,
    *,
    width: int = 128,
    heads: int = 4,
    layers: Layers = 3,
    feed_forward: int | None = None,
    positions: Positions = "sinusoidal",
    activation: Activation = "gelu",
    norm: Norm = "pre",
    tie: bool = True,
    smoothing: Share = 0.0,
    dropout: Share = 0.1,
):
    """`layers`: of the encoder, and of the decoder."""
    check_heads(width, heads)
    shape = {
        "positions": positions,
        "activation": activation,
        "prenorm": norm == "pre",
        "dropout": dropout,
    }
    words = token_embedding(inputs.target, width, positions)
    loud = (
        1 / words.scale if positions != "learned" else 0.02
    )  # as loud as the places that are added to it
    table = normal(loud, inputs.source.vocabulary, width)
    first = TokenEmbedding(inputs.source, width, scale=words.scale, start=table, dense=True)
    body = Transformer(
        width, heads, layers, feed_forward or 4 * width, **shape, longest=inputs.source.most
    )
    second = Transformer(
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
    return EncoderDecoder(
        first,
        Apart(body, width),
        Decoder(words, second),
        last,
        {"learning_rate": 1e-3} | READ_OFTEN,
    )


def parted(
    x: Tensor, mask: Tensor, segment: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(question, its mask, context, its mask; of every place of x the place in both, laid side by side)"""
    asked, lengths = (
        (mask & (segment == 0)).sum(1, keepdim=True),
        mask.sum(1, keepdim=True),
    )  # (B, 1)
    steps = torch.arange(mask.shape[1], device=mask.device)
    first = second = mask.shape[
        1
    ]  # as a graph that is kept for any texts has it, both as long as all
    if not torch.jit.is_tracing():
        first, second = max(1, int(asked.max())), max(1, int((lengths - asked).max()))
    at = asked + steps[:second]
    context = x.take_along_dim(at.clamp(max=mask.shape[1] - 1).unsqueeze(-1), 1)
    back = torch.where(steps < asked, steps, first + steps - asked).clamp(
        max=first + second - 1
    )  # (B, T)
    return x[:, :first], steps[:first] < asked, context, at < lengths, back


class BothEnds(Body):
    """What is kept of question and context: where the reading of each came to, (B, 1, H)."""

    segmented = True

    def __init__(self, question: Body, context: Body, hidden: int, pooling: str):
        super().__init__()
        self.question, self.context, self.pooling, self.width = question, context, pooling, hidden
        self.join = nn.Linear(2 * hidden, hidden)

    def forward(
        self, x: Tensor, mask: Tensor, state=None, trace=None, segment: Tensor | None = None
    ):
        question, question_mask, context, context_mask, _ = parted(x, mask, segment)
        h, _, _ = self.question(question, question_mask, None, trace and trace.under("question"))
        m, _, _ = self.context(context, context_mask, None, trace and trace.under("context"))
        ends = torch.cat(
            [pool(h, question_mask, self.pooling), pool(m, context_mask, self.pooling)], -1
        )  # (B, 2H)
        return self.join(ends).unsqueeze(1), torch.ones_like(mask[:, :1]), None


class Apart(Body):
    """One body reads the question, and then the context; neither sees the other."""

    segmented = True

    def __init__(self, body: Body, width: int):
        super().__init__()
        self.body, self.width = body, width

    def forward(
        self, x: Tensor, mask: Tensor, state=None, trace=None, segment: Tensor | None = None
    ):
        question, question_mask, context, context_mask, back = parted(x, mask, segment)
        h, _, _ = self.body(question, question_mask, None, trace and trace.under("question"))
        m, _, _ = self.body(context, context_mask, None, trace and trace.under("context"))
        return (
            torch.cat([h, m], 1).take_along_dim(back.unsqueeze(-1), 1) * mask.unsqueeze(-1),
            mask,
            None,
        )


class StoryReader(Body):
    segmented = True

    def __init__(self, width: int, layers: int, dropout: float):
        super().__init__()
        self.layers = nn.ModuleList(
            QueryReduction(width, both=level < layers - 1) for level in range(layers)
        )
        self.word, self.dropout, self.width = nn.Linear(2 * width, width), Dropout(dropout), width

    def forward(
        self, x: Tensor, mask: Tensor, state=None, trace=None, segment: Tensor | None = None
    ):
        sums, real = sentences(x, words(mask, segment), segment)  # (B, 1 + K, H), (B, 1 + K)
        facts, q = sums[:, 1:], sums[:, :1].expand(-1, sums.shape[1] - 1, -1)
        for level, layer in enumerate(self.layers):
            q = self.dropout(
                layer(facts, q, real[:, 1:], trace and trace.under(f"reading.{level}"))
            )  # (B, K, H)
        end = q[:, -1:]  # behind the last sentence nothing changes
        of_word = torch.cat([end, q], 1).take_along_dim(segment.unsqueeze(-1), 1)  # (B, T, H)
        memory = self.word(torch.cat([x, of_word.to(x.dtype)], -1)).tanh()
        return torch.cat([end.to(memory.dtype), memory[:, 1:]], 1) * mask.unsqueeze(-1), mask, None


def words(mask: Tensor, segment: Tensor) -> Tensor:
    """Where no mark stands: all but the first place, the last of the question and the last of all."""
    after = torch.cat(
        [
            mask[:, 1:] & ((segment[:, 1:] == 0) == (segment[:, :-1] == 0)),
            torch.zeros_like(mask[:, :1]),
        ],
        1,
    )
    return mask & after & (torch.arange(mask.shape[1], device=mask.device) > 0)


def sentences(x: Tensor, mask: Tensor, segment: Tensor) -> tuple[Tensor, Tensor]:
    """(X (B, 1 + K, E), which of them are there): the words of each, weighed by where they stand."""
    rows, size, width = x.shape
    count = (segment.max() + 1).clamp(min=2)
    count, steps = (
        count if torch.jit.is_tracing() else int(count),
        torch.arange(size, device=x.device).expand(rows, size),
    )
    number = steps - begins(segment, steps) + 1.0  # j (B, T)
    index = (torch.arange(rows, device=x.device).unsqueeze(1) * count + segment).flatten()
    sizes = x.new_zeros(rows * count).index_add(0, index, mask.to(x.dtype).flatten())
    share = (number / sizes[index].view_as(number).clamp(min=SHORT)).unsqueeze(-1)  # j/J (B, T, 1)
    part = torch.arange(1, width + 1, device=x.device) / width  # e/E
    weighed = x * ((1 - share) - part * (1 - 2 * share)).to(x.dtype) * mask.unsqueeze(-1)
    sums = x.new_zeros(rows * count, width).index_add(0, index, weighed.flatten(0, 1))
    return sums.view(rows, count, width), (sizes > 0).view(rows, count)


def begins(segment: Tensor, steps: Tensor) -> Tensor:
    """(B, T): where the sentence of each place begins; sentences are numbered in their order"""
    if (
        torch.jit.is_tracing()
    ):  # in operations that a graph for other tools has: as many places as belong to those before
        earlier = (segment.unsqueeze(1) < segment.unsqueeze(2)) & (
            steps.unsqueeze(1) < steps.unsqueeze(2)
        )  # (B, T, T)
        return earlier.sum(2)
    opens = torch.cat(
        [torch.ones_like(segment[:, :1], dtype=torch.bool), segment[:, 1:] != segment[:, :-1]], 1
    )
    return (steps * opens).cummax(1)[0]
