"""Recurrent decoders: one vector in, a text out, by a cell that goes on by itself (1→N). Formulas of the cells: layers/cells.py.

    m = tanh(W x + b)                                          the vector, of a label, of numbers or of a picture
    u_t = [t = 1, or every] V m + [feedback] E[w_{t−1}]        w_0 = <s>;  what is not given is 0
    h_t = cell(u_t, h_{t−1}),  h_0 = 0                         y_t = norm(h_t) of the last layer: twice as quickly learned

The vector enters at the first step, and the state has to keep it (Vinyals et al. 2015 show a picture so); or at every step (Cho
et al. 2014). Without feedback the cell never learns which token was chosen: each is drawn as if the others did not exist."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import TokenEmbedding, embed_whole
from wenmai.layers.first_weights import normal
from wenmai.layers.recurrent import Recurrent
from wenmai.models.encoder_decoder import EncoderDecoder, VectorEncoder
from wenmai.options import Layers, Share

RATES = {"rnn": 4e-3, "rnn-residual": 4e-3}  # of the others 8e-3


def recurrent_composer(cell: str):
    """The builder for this cell."""

    def build(
        inputs,
        head,
        *,
        context_input: Literal["first", "every"] = "first",
        feedback: bool = True,
        embed: int = 64,
        hidden: int = 256,
        layers: Layers = 1,
        dropout: Share = 0.2,
    ):
        """`context_input`: the vector is an input of the first step, or of every one; `feedback`: the last token is an input of
        the next step."""
        first = embed_whole(inputs.source, hidden)
        decoder = RecurrentDecoder(
            cell, inputs.target, hidden, embed, hidden, layers, context_input, feedback, dropout
        )
        defaults = {"learning_rate": RATES.get(cell, 8e-3)}
        return EncoderDecoder(
            first,
            VectorEncoder(True, Dropout(dropout)),
            decoder,
            head(hidden, dropout=dropout),
            defaults,
        )

    return build


class RecurrentDecoder(nn.Module):
    def __init__(
        self,
        cell: str,
        texts,
        memory: int,
        embed: int,
        hidden: int,
        layers: int,
        context_input: str,
        feedback: bool,
        dropout: float,
    ):
        super().__init__()
        self.every = context_input == "every"
        self.enter = nn.Linear(memory, embed)
        self.special, self.words = texts.special, None
        if feedback:
            self.words = TokenEmbedding(
                texts,
                embed,
                Locked(dropout),
                start=normal(0.5, texts.vocabulary, embed),
                dense=True,
            )
        self.cells = Recurrent(embed, hidden, cell, layers, dropout=Locked(dropout), normed=True)
        self.norm = nn.LayerNorm(hidden)

    def begin(self, memory: Tensor, mask: Tensor, steps: int) -> None:
        return None

    def forward(
        self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Tensor | None = None, trace=None
    ):
        """tokens (B, T), memory (B, 1, M) → y (B, T, H), the state (B, S)"""
        vector = self.enter(memory)  # (B, 1, E)
        if self.every:
            u = vector.expand(-1, tokens.shape[1], -1)
        else:
            u = functional.pad(
                vector if state is None else torch.zeros_like(vector),
                (0, 0, 0, tokens.shape[1] - 1),
            )
        if self.words is not None:
            u = u + self.words.dropout(self.words.look_up(tokens))  # (B, T, E)
        y, _, state = self.cells(u, None, state, trace)
        return self.norm(y), state
