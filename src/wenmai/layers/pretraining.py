"""The head of pretraining (Devlin et al. 2019): which words were hidden, and whether the second sentence follows the first.

    log p(w) = log softmax(E norm(φ(W y_t + b)) + c)      at every hidden place t; E is the table that tokens are looked up in
    log p(follows) = log softmax(U tanh(P y_[CLS] + d) + e)

The loss is −log p of what stood there, the mean over hidden places, and −log p of what is true of the pair, the mean over pairs.
Without the second it is RoBERTa's (Liu et al. 2019) and DistilBERT's; without both a bare encoder is left, which embeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.kernels.next_loss import next_loss
from wenmai.kernels.products import product
from wenmai.layers.dropout import Dropout
from wenmai.layers.heads import Dense, Request
from wenmai.layers.losses import Loss
from wenmai.layers.transformer import ACTIVATIONS


@dataclass
class MaskedWords(Request):
    """The words that were hidden, of a vocabulary of `tokens`, if `masked`; and, if `next_sentence`, whether the second sentence
    follows the first."""

    tokens: int
    masked: bool = True
    next_sentence: bool = True
    weights = None

    @property
    def per_step(self) -> bool:
        return self.masked or not self.next_sentence

    @property
    def tied(self) -> bool:
        """Whether the table that tokens are looked up in says them too: its gradient is then a table."""
        return self.masked

    @property
    def columns(self) -> int:
        return self.tokens if self.masked else 2

    def __call__(
        self,
        width: int,
        pooling: str = "first",
        dropout: float = 0.0,
        *,
        table: nn.Parameter | None = None,
        dense: str | None = None,
        activation: str = "gelu",
        epsilon: float = 1e-12,
        **_,
    ):
        return PretrainingHead(width, self, dropout, table, dense, activation, epsilon)


class PretrainingHead(nn.Module):
    """The names of its parts are those that checkpoints of others are read into (exchange/families.py)."""

    says_next = False
    lasting = ("dense", "follows", "transform", "norm", "output")

    def __init__(
        self,
        width: int,
        asked: MaskedWords,
        dropout: float,
        table: nn.Parameter | None,
        dense: str | None,
        activation: str,
        epsilon: float,
    ):
        super().__init__()
        self.masked, self.next_sentence, self.activation = (
            asked.masked,
            asked.next_sentence,
            activation,
        )
        self.per_step, self.has_probabilities = asked.per_step, asked.masked or asked.next_sentence
        self.width = asked.columns if self.has_probabilities else width
        if asked.next_sentence:
            self.dense, self.dropout, self.follows = (
                Dense(width, dense),
                Dropout(dropout),
                nn.Linear(width, 2),
            )
        if asked.masked:
            embed = width if table is None else table.shape[1]
            self.transform, self.norm = nn.Linear(width, embed), nn.LayerNorm(embed, epsilon)
            self.output = nn.Linear(embed, asked.tokens)
            if table is not None:
                self.output.weight = table
            nn.init.zeros_(self.output.bias)

    def transformed(self, y: Tensor) -> Tensor:
        """(…, H) → (…, E)"""
        return self.norm(ACTIVATIONS[self.activation](self.transform(y)))

    def words(self, y: Tensor) -> Tensor:
        """log p of every word at these places: (…, H) → (…, V)"""
        return (
            product(self.transformed(y), self.output.weight, self.output.bias)
            .float()
            .log_softmax(-1)
        )

    def following(self, y: Tensor) -> Tensor:
        """log p of (it follows, it does not), in BERT's order: (B, T, H) → (B, 2)"""
        return self.follows(self.dropout(self.dense(y[:, 0]))).float().log_softmax(-1)

    def outputs(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """What stands at every place (B, T, V); without masked words (B, 2), and of a bare encoder y itself."""
        if self.masked:
            return self.words(y)
        return self.following(y) if self.next_sentence else y

    def chosen(self, outputs: Tensor, mask: Tensor | None) -> Tensor | None:
        """What stands at the places that are asked for, or whether the second text follows; a bare encoder answers nothing."""
        return outputs.argmax(-1) if self.has_probabilities else None

    def support(self, outputs: Tensor, mask: Tensor, chosen: Tensor) -> Tensor:
        each = outputs.take_along_dim(chosen.unsqueeze(-1), -1).squeeze(-1)
        return each.masked_fill(~mask, 0.0).sum(1) if self.masked else each

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        """`batch.target` (M,) is what stood at `batch.places` (M,) of the B·T; `batch.follows` (B,) where the second follows."""
        losses = []
        if self.masked:
            rows = self.transformed(
                y.flatten(0, 1)[batch.places]
            )  # (M, E): places that are not hidden are left out
            total = next_loss(rows, self.output.weight, self.output.bias, batch.target, 0.0)
            losses.append(Loss("masked words", 1.0, total, len(batch.target)))
        if self.next_sentence:
            total = functional.nll_loss(self.following(y), (~batch.follows).long(), reduction="sum")
            losses.append(Loss("next sentence", 1.0, total, len(batch.follows)))
        return losses

    def counts(self, batch: Batch) -> Sequence[int]:
        counts = {"masked": batch.target, "next_sentence": batch.follows}
        return [len(counted) for name, counted in counts.items() if getattr(self, name)]
