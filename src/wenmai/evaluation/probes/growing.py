"""Numbers of an option that grow, as in lengths=2,4,8."""


def growing_numbers(text: str) -> list[int]:
    """'2,4,8' → [2, 4, 8]; nothing where they are no whole numbers, or do not grow."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if numbers == sorted(set(numbers)) else []
