"""How large a language model should be, and how much of it is dropped, where nobody says: by the length of the text."""

from math import log, sqrt

SMALL, LARGE = (
    3_000_000,
    100_000_000,
)  # tokens of a text that is learned by heart, and of one that is not


def by_heart(tokens: int) -> float:
    """How much of a text so long can be learned by heart, and has to be kept from it: from 1 to 0."""
    return 1 - min(1.0, max(0.0, log(max(1, tokens) / SMALL) / log(LARGE / SMALL)))


def suited_width(tokens: int) -> int:
    """A state that grows with the root of the text: 128 for 40,000 words, 624 for a million, at most 1024."""
    return min(1024, max(64, 8 * round(0.65 * sqrt(tokens) / 8)))
