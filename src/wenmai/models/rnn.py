"""Recurrent networks: one state, carried along the text, rewritten by a cell. Formulas of the cells: layers/cells.py.

rnn            Elman 1990, tanh or relu
rnn-residual, rnn-coupled, rnn-gated   the road to the LSTM, one change at a time
lstm           Hochreiter & Schmidhuber 1997
gru            Cho et al. 2014

`bidirectional` reads every text both ways and joins both (Schuster & Paliwal 1997); `layers` stacks them.

As a language model (Mikolov et al. 2010; Zaremba et al. 2014) the state is carried along a running text, regularised as in
AWD-LSTM (Merity, Keskar & Socher 2018):

    a word is dropped from the table wherever it stands in the batch     word_dropout
    the same numbers are dropped at every step of a row                  dropout (of inputs, between layers, of outputs)
    weights of the state, U, are dropped for a whole batch               weight_dropout
    the table that words are looked up in is the one that says them      tie
"""

from typing import Literal

from wenmai.layers.dropout import Locked
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import uniform
from wenmai.layers.recurrent import Recurrent
from wenmai.models.network import Network
from wenmai.models.sizes import by_heart, suited_width
from wenmai.options import Layers, Share

Pooling = Literal["auto", "last", "first", "mean", "max", "sum"]
RATES = {"rnn": 1e-3, "rnn-residual": 1e-3}  # of language models; of the others 3e-3


def rnn(
    inputs,
    head,
    *,
    activation: Literal["tanh", "relu"] = "tanh",
    embed: int = 64,
    hidden: int = 128,
    layers: Layers = 1,
    bidirectional: bool = False,
    pooling: Pooling = "auto",
    dropout: Share = 0.2,
):
    return recurrent("relu" if activation == "relu" else "rnn")(
        inputs,
        head,
        embed=embed,
        hidden=hidden,
        layers=layers,
        bidirectional=bidirectional,
        pooling=pooling,
        dropout=dropout,
    )


def recurrent(cell: str):
    """The builder for this cell: to classify, tag or regress."""

    def build(
        inputs,
        head,
        *,
        embed: int = 64,
        hidden: int = 128,
        layers: Layers = 1,
        bidirectional: bool = False,
        pooling: Pooling = "auto",
        dropout: Share = 0.2,
    ):
        first = input_layer(inputs, embed, dropout)
        body = Recurrent(first.width, hidden, cell, layers, bidirectional, dropout)
        return Network(
            first, body, head(body.width, pooled(pooling, cell, bidirectional, head), dropout)
        )

    return build


def pooled(pooling: Pooling, cell: str, bidirectional: bool, head) -> str:
    if (
        pooling == "auto"
    ):  # of words the strongest says most; a number is what the state has come to, as is a growing state
        pooling = "max" if head.has_probabilities and cell != "rnn-residual" else "last"
    return "ends" if bidirectional and pooling == "last" else pooling


def recurrent_language_model(cell: str):
    """The builder for this cell: what comes next in a running text."""

    def build(
        inputs,
        head,
        *,
        embed: int | None = None,
        hidden: int | None = None,
        layers: Layers = 2,
        tie: bool = True,
        dropout: Share | None = None,
        hidden_dropout: Share | None = None,
        word_dropout: Share | None = None,
        weight_dropout: Share | None = None,
        activation_penalty: float | None = None,
        temporal_penalty: float | None = None,
        context: int = 35,
    ):
        """`embed`: width of the words' vectors, as `hidden` unless said; `context`: steps that are learned through at once;
        `hidden_dropout`: what is dropped between layers, as `dropout` unless said; `activation_penalty` and `temporal_penalty`
        weigh how large the output is and how it changes. How wide it is and how much is dropped depends on the text's size unless
        said."""
        much = by_heart(inputs.corpus_tokens)
        dropout, word_dropout, weight_dropout, activation_penalty, temporal_penalty = (
            share * much + least if chosen is None else chosen
            for chosen, share, least in (
                (dropout, 0.3, 0.1),
                (word_dropout, 0.1, 0.0),
                (weight_dropout, 0.3, 0.0),
                (activation_penalty, 1.0, 0.0),
                (temporal_penalty, 1.0, 0.0),
            )
        )
        hidden = hidden or suited_width(inputs.corpus_tokens)
        embed = embed or hidden
        first = TokenEmbedding(
            inputs,
            embed,
            Locked(dropout),
            start=uniform(0.1, inputs.vocabulary, embed),
            dense=True,
            word_dropout=word_dropout,
        )
        between = Locked(dropout if hidden_dropout is None else hidden_dropout)
        body = Recurrent(
            embed,
            hidden,
            cell,
            layers,
            dropout=between,
            last=embed if tie else None,
            weight_dropout=weight_dropout,
            normed=True,
        )
        last = head(
            body.width,
            pooled("auto", cell, False, head),
            dropout,
            table=first.table.weight if tie else None,
            activation_penalty=activation_penalty,
            temporal_penalty=temporal_penalty,
        )
        built = {
            "embed": embed,
            "hidden": hidden,
            "dropout": dropout,
            "word_dropout": word_dropout,
            "weight_dropout": weight_dropout,
            "activation_penalty": activation_penalty,
            "temporal_penalty": temporal_penalty,
        }
        defaults = {"learning_rate": RATES.get(cell, 3e-3), "weight_decay": 0.01, "clip": 0.25}
        return Network(first, body, last, context=context, built=built, training_defaults=defaults)

    return build
