"""Products with a few vectors, or some, for a text that is written token by token on a CPU.

    y = W x + b

Of a few vectors every weight is read once and used for a few numbers, so that memory is what it takes: machine code that reads W
row by row was 2.4 times as fast for one vector as the library's usual product, which is made for matrices. Of some vectors the
library has a better product than its usual one, and the best where W lies in the order in which this reads it: 1.2 to 2 times as
fast."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.storage.caches import njit
from wenmai.data.storage.threads import side_by_side, threads
from wenmai.kernels.kept import Kept, forgotten
from wenmai.kernels.panels import Panels
from wenmai.kernels.sharing import multiplied

FEW = 8  # rows, up to which machine code of our own is the faster way
SOME = 512  # rows, of as many texts as are written side by side
SHARED = 1_000_000  # weights, from which it pays to share the rows of W among threads
# What torch compiles a linear layer to on a CPU (oneDNN); a build without it has the usual product.
ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b, x (B, T, E), by the fastest way if no gradient is asked for."""
    many = x.numel() // x.shape[-1] > FEW
    if not plain(x) or weight.dtype != torch.float32 or (many and in_16_bits()):
        return functional.linear(x, weight, bias)
    if many:
        return linear(x, weight, bias)
    w, rows = weight.detach().numpy(), x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    y = np.empty((len(rows), len(w)), np.float32)
    b = np.zeros(len(w), np.float32) if bias is None else bias.detach().numpy()
    shares = parts(len(w), threads() if w.size >= SHARED else 1)
    side_by_side(part_of, [(w, b, rows, y, *share) for share in shares])
    return torch.from_numpy(y).view(*x.shape[:-1], len(w))


def has_onednn(kind: torch.dtype) -> bool:
    return ONEDNN and (kind == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported())


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none") -> Tensor:
    """φ(x Wᵀ + b); φ: none, relu, gelu or gelu-tanh"""
    name, _, how = activation.partition("-")
    if has_onednn(x.dtype):
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, name, [], how or "none")
    y = functional.linear(x, weight, bias)
    if name == "gelu":
        return functional.gelu(y, approximate=how or "none")
    return y if name == "none" else getattr(functional, name)(y)


class Packed16:
    """W and b in 16 bits, W in the order in which a product with many vectors reads it. It is no view: it stays as it was."""

    def __init__(self, weight: Tensor, bias: Tensor):
        self.weight, self.bias = weight.detach().bfloat16(), bias.detach().bfloat16()
        if has_onednn(torch.bfloat16):
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight)

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        return linear(x.bfloat16(), self.weight, self.bias, activation)

    def added(self, x: Tensor, y: Tensor) -> Tensor:
        """y + W x + b, in 32 bits"""
        return self(x).to(y.dtype).add_(y)


class Repeated:
    """W x + b by the same layer, again and again while texts are written: W is laid out for it, in panels, or in 16 bits as the
    library reads it. It does not wait to see how often: the same is to be said the first time and later, to the last bit."""

    def __init__(self):
        self.kept = Kept()

    def __call__(self, x: Tensor, layer: nn.Linear, bias: Callable[[], Tensor]) -> Tensor:
        rows = x.numel() // x.shape[-1]
        if (
            forgotten(self.kept)
            or not plain(x)
            or layer.weight.dtype != torch.float32
            or rows > SOME
        ):
            return product(x, layer.weight, bias())
        if in_16_bits() and rows > FEW:
            return self.kept.of(
                list(layer.parameters()), lambda: Packed16(layer.weight, bias()), "bf16"
            )(x)
        return multiplied(self.panels(layer, bias), x)[..., : len(layer.weight)]

    def panels(self, layer: nn.Linear, bias: Callable[[], Tensor]) -> Panels:
        return self.kept.of(list(layer.parameters()), lambda: Panels.of(layer.weight, bias()))


def parts(size: int, many: int) -> list[tuple[int, int]]:
    """0 to `size` in so many parts: (where each begins, where it ends)"""
    return [(size * part // many, size * (part + 1) // many) for part in range(many)]


def plain(x: Tensor) -> bool:
    """Float32 on a CPU, and no gradient is asked for."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
    )


def in_16_bits() -> bool:
    """Whether products are to be. Those with a few vectors are not: they would wait for memory as long, and be less exact."""
    return torch.is_autocast_enabled("cpu")


@njit(cache=True, nogil=True, fastmath=True)
def part_of(w, b, x, y, start, end):
    matmul_rows(w[start:end], b[start:end], x, y[:, start:end])


@njit(cache=True, nogil=True, fastmath=True)
def matmul_rows(w, b, x, y):
    """y = x Wᵀ + b: a row of W meets four rows of x at a time, then what is left of them."""
    rows, size = x.shape
    for i in range(len(b)):
        row = 0
        while row + 4 <= rows:
            s0 = s1 = s2 = s3 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
                s1 += w[i, j] * x[row + 1, j]
                s2 += w[i, j] * x[row + 2, j]
                s3 += w[i, j] * x[row + 3, j]
            y[row, i], y[row + 1, i] = s0 + b[i], s1 + b[i]
            y[row + 2, i], y[row + 3, i] = s2 + b[i], s3 + b[i]
            row += 4
        if row + 2 <= rows:
            s0 = s1 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
                s1 += w[i, j] * x[row + 1, j]
            y[row, i], y[row + 1, i] = s0 + b[i], s1 + b[i]
            row += 2
        if row < rows:
            s0 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
            y[row, i] = s0 + b[i]
