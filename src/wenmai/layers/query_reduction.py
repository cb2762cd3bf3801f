"""A question that is made another by every sentence that bears on it (Query-Reduction Networks: Seo et al. 2017).

    z_t = σ(w_z · (x_t ∘ q_t) + b_z)          whether the sentence x_t bears on the question q_t
    r_t = σ(w_r · (x_t ∘ q_t) + b_r)          and whether what it says is kept
    c_t = tanh(W [x_t ; q_t] + b)             the question after it
    h_t = z_t r_t c_t + (1 − z_t) h_{t−1} = Σ_{s ≤ t} α_ts r_s c_s,     α_ts = z_s Π_{s < u ≤ t} (1 − z_u)

So it is attention whose weights are broken off a stick from the end: what was said last counts first. All steps are computed at
once. Read both ways, h is the sum of the two."""

import torch
from torch import Tensor, nn

ALMOST = 1 - 1e-4  # as much as a sentence bears on a question: log(1 − z) stays a number
SELDOM = -1.0  # b_z at first: most sentences bear on no question


class QueryReduction(nn.Module):
    def __init__(self, width: int, both: bool):
        super().__init__()
        self.gates, self.candidate, self.both = (
            nn.Linear(width, 2),
            nn.Linear(2 * width, width),
            both,
        )
        with torch.no_grad():
            self.gates.bias.copy_(torch.tensor([SELDOM, 0.0]))

    def forward(self, x: Tensor, q: Tensor, mask: Tensor, trace=None) -> Tensor:
        """x and q (B, K, H), mask (B, K) → h (B, K, H)"""
        z, r = self.gates(x * q).float().sigmoid().unbind(-1)  # (B, K)
        z = (z * mask).clamp(max=ALMOST)
        c = r.unsqueeze(-1) * self.candidate(torch.cat([x, q], -1)).float().tanh()
        left = torch.log1p(-z)
        upto = left.cumsum(1)  # log Π_{u ≤ t} (1 − z_u)
        before = torch.ones(
            z.shape[1], z.shape[1], dtype=torch.bool, device=z.device
        ).tril()  # s ≤ t
        weights = (upto.unsqueeze(2) - upto.unsqueeze(1)).masked_fill(
            ~before, float("-inf")
        ).exp() * z.unsqueeze(1)
        if trace is not None:
            trace.note("bearing", weights.unsqueeze(1))  # (B, 1, K, K)
        h = weights @ c
        if self.both:
            upto = upto - left
            back = (upto.unsqueeze(1) - upto.unsqueeze(2)).masked_fill(
                ~before.T, float("-inf")
            ).exp() * z.unsqueeze(1)
            h = h + back @ c
        return h.to(x.dtype)
