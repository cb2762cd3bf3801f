"""line and running-sum: numbers made on the spot."""

import numpy as np

from wenmai.data.readers import Chunk
from wenmai.errors import Mistake

ROWS, BELOW, LONGEST, SEED = 20_000, 100, 500, 1998


def line() -> Chunk:
    """x → 2x at 101 points: -10, -9.8, …, 9.8, 10."""
    x = np.arange(-50, 51) / 5  # (101,)
    return Chunk({"x": x, "target": 2 * x}, range(1, len(x) + 1))


def running_sum(*, running_sum: str = "20") -> Chunk:
    """{3, 5} → {3, 8}: 20,000 rows of T whole numbers from 0 to 99, and the sum so far at each; the option is T."""
    try:
        steps = int(running_sum)
    except ValueError:
        steps = 0
    if not 1 <= steps <= LONGEST:
        raise Mistake(f"running-sum:{running_sum} asks for rows of {running_sum!r} numbers; expected a whole number from 1 to "
                      f"{LONGEST}, as in running-sum:40.")  # fmt: skip
    inputs = np.random.default_rng(SEED).integers(0, BELOW, (ROWS, steps))  # (N, T)
    return Chunk({"inputs": inputs.tolist(), "targets": inputs.cumsum(1).tolist()}, range(1, ROWS + 1))
