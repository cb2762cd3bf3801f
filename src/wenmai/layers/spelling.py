"""Spelling: a vector for every token from its letters, so that capitals, endings and words never seen say something.

cnn    filters of three letters, the strongest of each over the word     Ma & Hovy 2016
lstm   read from both ends, the two last states side by side             Lample et al. 2016

Each distinct token of a batch is spelled once."""

import torch
from torch import Tensor, nn

from wenmai.layers.dropout import Dropout
from wenmai.layers.first_weights import normal
from wenmai.layers.heads import pool
from wenmai.layers.recurrent import Recurrent


class Spelling(nn.Module):
    def __init__(self, alphabet: int, kind: str, dropout: float, embed: int = 30, width: int = 50):
        super().__init__()
        self.width, self.dropout = width, Dropout(dropout)
        table = normal(0.3, alphabet, embed)
        table[0] = 0
        self.table = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        self.filters = nn.Conv1d(embed, width, 3, padding=2) if kind == "cnn" else None
        self.reader = (
            Recurrent(embed, width // 2, "lstm", bidirectional=True) if kind == "lstm" else None
        )

    def forward(self, letters: Tensor) -> Tensor:
        """letters (U, K), 0 where a word is over → (U, width)"""
        x, mask = self.dropout(self.table(letters)), letters > 0  # (U, K, E)
        if self.filters is not None:
            y = self.filters(
                x.mT
            )  # (U, width, K + 2): two empty places stand before and after every word
            there = (
                torch.arange(y.shape[2], device=y.device) < mask.sum(1, keepdim=True) + 2
            )  # (U, K + 2)
            return y.masked_fill(~there.unsqueeze(1), float("-inf")).amax(2).tanh()
        y, mask, _ = self.reader(x, mask)
        return pool(y, mask, "ends")
