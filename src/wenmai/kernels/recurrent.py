"""A recurrent layer by the library's fused kernels, and where those are slow, by others.

On a GPU sizes are brought to multiples of 8, whose products are up to three times as fast: a unit that is added has no weights,
so that it stays 0. An LSTM that learns in 16 bits on a CPU is unrolled by hand (unrolled.py)."""

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.unrolled import Unrolled

warnings.filterwarnings(
    "ignore", "RNN module weights are not part of single contiguous chunk"
)  # of weights that were changed
MULTIPLE = 8


def run(
    layer: nn.RNNBase, x: Tensor, state: tuple[Tensor, ...] | None, drop: float
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """x (B, T, E) → y (B, T, H), the states after the last step (B, H) each. `drop`: the share of U that is dropped, for all
    steps alike (Merity et al. 2018)."""
    lstm = isinstance(layer, nn.LSTM)
    if lstm and torch.is_grad_enabled() and not x.is_cuda and torch.is_autocast_enabled("cpu"):
        return unrolled(layer, x, state, drop)
    uneven = x.is_cuda and (layer.hidden_size % MULTIPLE or x.shape[2] % MULTIPLE)
    if drop or uneven:
        return resized(layer, x, state, drop, MULTIPLE if uneven else 1)
    pair = None if state is None else tuple(s.unsqueeze(0).contiguous() for s in state)
    y, last = layer(x, pair if lstm or pair is None else pair[0])
    return y, tuple(s[0] for s in (last if lstm else (last,)))


def zeros(layer: nn.RNNBase, x: Tensor) -> tuple[Tensor, ...]:
    return tuple(
        x.new_zeros(len(x), layer.hidden_size)
        for _ in range(2 if isinstance(layer, nn.LSTM) else 1)
    )


def resized(
    layer: nn.RNNBase, x: Tensor, state: tuple | None, drop: float, multiple: int
) -> tuple[Tensor, tuple]:
    """The fused kernel with a share of U dropped, and with sizes brought to a multiple of `even`."""
    w, u, *biases = layer.parameters()
    u = functional.dropout(u, drop) if drop else u
    wide, high = (-size % multiple for size in (x.shape[2], layer.hidden_size))

    def grown(weight: Tensor, *sides: int) -> Tensor:
        """(gates·H, …) with every gate grown by `high` rows."""
        if not wide + high:
            return weight
        return functional.pad(
            weight.unflatten(0, (-1, layer.hidden_size)), (*sides, 0, high)
        ).flatten(0, 1)

    weights = [grown(w, 0, wide), grown(u, 0, high), *(grown(b) for b in biases)]
    x, first = (
        functional.pad(x, (0, wide)),
        [functional.pad(s, (0, high)).unsqueeze(0) for s in state or zeros(layer, x)],
    )
    mode = layer.mode.lower()
    y, *last = getattr(torch._VF, mode)(
        x, first if mode == "lstm" else first[0], weights, True, 1, 0.0, layer.training, False, True
    )
    return y[..., : layer.hidden_size], tuple(s[0, :, : layer.hidden_size] for s in last)


def unrolled(layer: nn.LSTM, x: Tensor, state: tuple | None, drop: float) -> tuple[Tensor, tuple]:
    """In 16 bits; c stays in 32."""
    w, u, b, b_u = layer.parameters()
    u = functional.dropout(u, drop) if drop else u
    kind = torch.get_autocast_dtype("cpu")
    h, c = state or zeros(layer, x)
    with torch.autocast("cpu", enabled=False):
        y, h, c = Unrolled.apply(
            x.transpose(0, 1).to(kind),
            h.to(kind),
            c.float(),
            w.to(kind),
            u.to(kind),
            (b + b_u).to(kind),
        )
    return y.transpose(0, 1), (h, c)
