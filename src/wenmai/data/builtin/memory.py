"""copy, running-sum and adding: the classic probes of memory, made on the spot. The text after the colon is the length T.

copy         a d b c | _ _ _ _ → _ _ _ _ _ a d b c        T symbols and a delimiter, to be written again; Graves et al. 2014
running-sum  {3, 5} → {3, 8}                              the sum so far
adding       (0.3, 0) (0.7, 1) (0.1, 0) (0.2, 1) → 0.9    the sum of the two marked values; Hochreiter & Schmidhuber 1997
"""

import numpy as np

from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake

SYMBOLS, DELIMITER, BLANK = "abcdefgh", "|", "_"
ROWS, BELOW, LONGEST, SEED = 20_000, 100, 500, 1998


def copy(*, copy: str = "20") -> Chunk:
    """20,000 rows of 2T + 1 tokens and their tags; the option is T."""
    tokens, tags = copied(
        np.random.default_rng(SEED).integers(0, len(SYMBOLS), (ROWS, length("copy", copy, 1)))
    )
    return Chunk({"tokens": tokens, "tags": tags}, range(1, ROWS + 1))


def running_sum(*, running_sum: str = "20") -> Chunk:
    """{3, 5} → {3, 8}: 20,000 rows of T whole numbers from 0 to 99, and the sum so far at each; the option is T."""
    inputs = np.random.default_rng(SEED).integers(
        0, BELOW, (ROWS, length("running-sum", running_sum, 1))
    )
    return Chunk(
        {"inputs": inputs.tolist(), "targets": inputs.cumsum(1).tolist()}, range(1, ROWS + 1)
    )


def adding(*, adding: str = "50") -> Chunk:
    """20,000 rows of T pairs, a value from 0 to 1 and a mark, 1 in each half's one place; the target is the sum of both."""
    inputs, target = marked_pairs(np.random.default_rng(SEED), ROWS, length("adding", adding, 2))
    return Chunk({"inputs": inputs.tolist(), "target": target}, range(1, ROWS + 1))


def length(name: str, option: str, least: int) -> int:
    try:
        steps = int(option)
    except ValueError:
        steps = 0
    if not least <= steps <= LONGEST:
        raise Mistake(
            "{name}:{option} asks for rows of length {value!r}; expected a whole number from {least} to {most}, as "
            "in {name}:40.",
            name=name,
            option=option,
            value=option,
            least=least,
            most=LONGEST,
        )
    return steps


# The same for any generator, so that a probe can draw as many as it needs.


def copied(symbols: np.ndarray) -> tuple[list[list[str]], list[list[str]]]:
    """Tokens and tags of numbers of symbols (N, T)."""
    steps, written = symbols.shape[1], np.array(list(SYMBOLS))[symbols].tolist()
    return [[*row, DELIMITER, *[BLANK] * steps] for row in written], [
        [BLANK] * (steps + 1) + row for row in written
    ]


def marked_pairs(
    generator: np.random.Generator, rows: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Values and marks (N, T, 2), and the sums (N,)."""
    inputs, half = np.zeros((rows, steps, 2)), steps // 2
    inputs[..., 0] = generator.random((rows, steps)).round(3)
    for first, last in ((0, half), (half, steps)):
        inputs[np.arange(rows), generator.integers(first, last, rows), 1] = 1
    return inputs, inputs.prod(-1).sum(1)
