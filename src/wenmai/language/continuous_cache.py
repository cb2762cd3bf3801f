"""The continuous cache (Grave, Joulin & Usunier 2017): what was written a while ago is written again.

    p(w) = (1 − λ) p_model(w) + λ p_cache(w)
    p_cache(w) ∝ Σ_{i in the last W} 1[w_{i+1} = w] exp(θ h_t · h_i)

h_t is what goes into the head before w_{t+1} is said; it is compared with those before it, and what followed there is expected
again. A rung that has no h gives rows of width 0: all in the cache count alike, and it is the cache of Kuhn & De Mori (1990).

λ, the weight, and θ, the flatness, are given; or, of a few values of each, those are taken that would have been best up to here
on what was read before. Nothing is learned from a token that is still to be said."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from wenmai.models.token_scores import TokenScores

PIECE = 256  # tokens that are compared with the cache at once
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
FLATNESSES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class ContinuousCache:
    def __init__(self, size: int, weight: float | None = None, flatness: float | None = None):
        self.size = size
        self.weights = np.array(WEIGHTS if weight is None else [weight])
        self.flatnesses = FLATNESSES if flatness is None else (flatness,)
        self.sums = np.zeros(
            (len(self.flatnesses), len(self.weights))
        )  # Σ log p of all that was read, for every pair
        self.keys: Tensor | None = None  # (M, H) the last M ≤ size of h
        self.followed = np.zeros(0, np.int64)  # (M,) and what came after each

    def best(self) -> tuple[float, float]:
        """(λ, θ) that would have said what was read best; before anything was read, a tenth and the middle of the flatnesses."""
        if not self.sums.any():
            weight = self.weights[np.argmin(abs(self.weights - 0.1))]
            return float(weight), self.flatnesses[len(self.flatnesses) // 2]
        at, column = np.unravel_index(np.argmax(self.sums), self.sums.shape)
        return float(self.weights[column]), self.flatnesses[at]

    def log_probs(self, scores: Iterable[TokenScores]) -> np.ndarray:
        """log p of every token (N,), as it would be with the cache."""
        mixed = [np.zeros(0)]
        for part in scores:
            for start in range(0, len(part.tokens), PIECE):
                mixed.append(self.read(*(values[start : start + PIECE] for values in part)))
        return np.concatenate(mixed)

    @torch.no_grad()
    def read(self, tokens: np.ndarray, log_probs: np.ndarray, y: Tensor) -> np.ndarray:
        y = y.float()
        keys = y if self.keys is None else torch.cat([self.keys, y])  # (M + n, H)
        followed, before = np.concatenate([self.followed, tokens]), len(keys) - len(y)
        place, key = np.arange(before, before + len(y))[:, None], np.arange(len(keys))[None]
        seen = torch.from_numpy((key < place) & (key >= place - self.size)).to(
            y.device
        )  # (n, M + n)
        same = torch.from_numpy(followed[None] == tokens[:, None]).to(y.device) & seen
        likeness = (y @ keys.mT).masked_fill(~seen, float("-inf"))  # (n, M + n)
        cached = np.stack(
            [self.share(likeness, same, theta) for theta in self.flatnesses], 1
        )  # (n, θ)
        model = np.exp(log_probs)[:, None, None]
        weights = np.where(place > 0, self.weights, 0.0)[
            :, None
        ]  # (n, 1, λ); an empty cache says nothing
        with np.errstate(divide="ignore"):
            mixed = np.log((1 - weights) * model + weights * cached[:, :, None])  # (n, θ, λ)
        weight, theta = self.best()
        chosen = mixed[:, self.flatnesses.index(theta), int(np.argmin(abs(self.weights - weight)))]
        self.sums += np.maximum(mixed, -1e3).sum(0)
        self.keys, self.followed = keys[-self.size :], followed[-self.size :]
        return chosen

    def share(self, likeness: Tensor, same: Tensor, theta: float) -> np.ndarray:
        """p_cache of the token that came (n,)."""
        if theta:
            top = likeness.amax(1, keepdim=True).clamp(min=torch.finfo(likeness.dtype).min)
            weighed = ((likeness - top) * theta).exp()
        else:
            weighed = likeness.isfinite().to(likeness.dtype)
        share = (weighed * same).sum(1) / weighed.sum(1).clamp(min=torch.finfo(likeness.dtype).tiny)
        return share.double().cpu().numpy()
