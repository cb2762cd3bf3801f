"""How much of a file is read at the most: few bytes can unpack to any number, and a line may have no end."""

from wenmai.errors import Mistake

LINE = 1 << 27  # bytes of a line of a plain file, which memory holds whole
LONGEST = (
    1 << 23
)  # bytes of a line of a packed file, characters of a cell in quotes or a JSON value
TIMES, LITTLE = (
    100,
    1 << 24,
)  # a packed file becomes so many times as large at the most, or so many bytes


def unfolds(size: int) -> int:
    """How many bytes a packed file of so many may become."""
    return max(LITTLE, TIMES * size)


def unfolded(source, most: int) -> Mistake:
    return Mistake(
        "{file}: found more than {most:,} bytes when it is unpacked, which is {times} times its size; if that is "
        "meant, say how many rows there are at the most with --max-rows.",
        file=source,
        most=most,
        times=TIMES,
    )
