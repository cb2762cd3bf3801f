"""Functions of one number that a compiler can make for sixteen at once, which it cannot of the library's.

e^x     = 2^n e^f,  n = round(x / ln 2),  |f| ≤ ln 2 / 2
          e^f by a polynomial of degree 6, fitted by least squares: no further off than 3e-7 of it
erf(x)  ≈ x P(x²) / Q(x²),  |x| ≤ 4
          P and Q of degree 5, fitted likewise: no further off than 4e-7
gelu(x) = x · (1 + erf(x / √2)) / 2;  with tanh x / (1 + e^(−2 √(2/π) (x + 0.044715 x³)))
"""

import numpy as np

from wenmai.data.storage.caches import njit

LINEAR = {
    "nsz",
    "arcp",
    "contract",
    "afn",
    "reassoc",
}  # sums in any order; −∞ and what is no number stay what they are


@njit(cache=True, nogil=True, fastmath=LINEAR, error_model="numpy")
def exp(x):
    x = min(max(x, np.float32(-87)), np.float32(88))
    n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    f = (
        x - n * np.float32(0.693145751953125) - n * np.float32(1.428606765330187e-06)
    )  # ln 2, its first 16 bits and the rest
    p = np.float32(1.375140790e-03) * f + np.float32(8.368916341e-03)
    p = p * f + np.float32(4.166953311e-02)
    p = p * f + np.float32(1.666651846e-01)
    p = p * f + np.float32(4.999998860e-01)
    p = p * f * f + f + np.float32(1)
    return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def gelu(x):
    z = min(max(x * np.float32(0.7071067811865476), np.float32(-4)), np.float32(4))
    u = z * z
    p = np.float32(1.974790594e-06) * u + np.float32(2.880414587e-04)
    p = p * u + np.float32(4.003726252e-03)
    p = p * u + np.float32(5.346771997e-02)
    p = p * u + np.float32(1.962510920e-01)
    p = p * u + np.float32(1.128378976)
    q = np.float32(3.748045488e-05) * u + np.float32(1.216376099e-03)
    q = q * u + np.float32(1.544458416e-02)
    q = q * u + np.float32(1.164772662e-01)
    q = q * u + np.float32(5.072541606e-01)
    q = q * u + np.float32(1)
    return np.float32(0.5) * x * (np.float32(1) + z * p / q)


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def gelu_by_tanh(x):
    return x / (
        np.float32(1)
        + exp(np.float32(-1.5957691216057308) * (x + np.float32(0.044715) * x * x * x))
    )


@njit(cache=True, nogil=True, fastmath=LINEAR, error_model="numpy")
def softmax(weights):
    """In place; −∞ weighs nothing."""
    highest = weights[0]
    for s in range(1, len(weights)):
        highest = max(highest, weights[s])
    total = np.float32(0)
    for s in range(len(weights)):
        weights[s] = exp(weights[s] - highest)
        total += weights[s]
    for s in range(len(weights)):
        weights[s] /= total
