"""Reading for an answer: every word looks at the question twice, as it is written and as it was read; two recurrent layers read
both ways.

    A_t = Σ_{s in the question} softmax_s(x_t · x_s) x_s                the word of the question that is likest (Chen et al. 2017)
    h = bi-lstm([x ; A ; x ∘ A])                                        over question and passage
    C_t = Σ_{s in the question} softmax_s(score(h_t, h_s)) h_s          score: layers/context.py
    m = bi-lstm([h ; C ; h ∘ C])                                        what was read, and what is asked (Seo et al. 2017)
    y_t = [h_t ∘ C_t ; m_t]                                             the head says where the answer begins and ends
"""

from typing import Literal

import torch
from torch import Tensor

from wenmai.layers.attention import see_real
from wenmai.layers.body import Body
from wenmai.layers.context import Context, Score
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.recurrent import Recurrent
from wenmai.models.network import Network
from wenmai.options import Layers, Share


def attention_reader(
    inputs,
    head,
    *,
    cell: Literal["lstm", "gru", "rnn"] = "lstm",
    score: Score = "general",
    embed: int = 64,
    hidden: int = 128,
    layers: Layers = 1,
    dropout: Share = 0.2,
):
    """`layers` of the first reading, and as many of the second."""
    first = input_layer(inputs, embed, dropout)
    body = QuestionReader(first.width, hidden, cell, layers, score, dropout)
    return Network(
        first, body, head(body.width, "max", dropout), training_defaults={"learning_rate": 2e-3}
    )


class QuestionReader(Body):
    segmented = True

    def __init__(
        self, width: int, hidden: int, cell: str, layers: int, score: Score, dropout: float
    ):
        super().__init__()
        self.likest = Context(width, width, "dot")
        self.encoder = Recurrent(3 * width, hidden, cell, layers, True, dropout)
        size = self.encoder.width
        self.context, self.dropout = Context(size, size, score), Dropout(dropout)
        self.second = Recurrent(3 * size, hidden, cell, layers, True, dropout)
        self.width = size + self.second.width

    def forward(
        self, x: Tensor, mask: Tensor, state=None, trace=None, segment: Tensor | None = None
    ):
        question = mask if segment is None else mask & (segment == 0)
        visible = see_real(question)[:, 0]  # (B, 1, S)
        aligned = self.likest(x, x, x, visible, trace and trace.under("likest"))  # (B, T, E)
        x = torch.cat([x, aligned, x * aligned], -1)
        h, mask, _ = self.encoder(x, mask, None, trace and trace.under("first"))  # (B, T, H)
        context = self.context(
            h, self.context.keys(h), h, visible, trace and trace.under("context")
        )  # (B, T, H)
        both = h * context
        m, mask, _ = self.second(
            self.dropout(torch.cat([h, context, both], -1)),
            mask,
            None,
            trace and trace.under("second"),
        )
        return torch.cat([both, m], -1) * mask.unsqueeze(-1), mask, None
