"""Which column is which: the words that tasks know, header rows, and --columns."""

from collections.abc import Sequence

from wenmai.errors import Mistake, nearest

WORDS = (
    "text", "label", "target", "text_a", "text_b", "source", "tokens", "tags",
    "context", "question", "answer", "image", "audio",
)  # fmt: skip


def parse_columns(text: str) -> dict[str, str]:
    """'text=0,label=1' → {'text': '0', 'label': '1'}"""
    columns: dict[str, str] = {}
    for part in text.split(","):
        word, equals, name = (piece.strip() for piece in part.partition("="))
        if not (word and equals and name):
            raise Mistake(f'--columns {text}: found "{part.strip()}", expected word=column, as in text=0,label=1.')
        if word in columns:
            raise Mistake(f"--columns {text}: {word} is given twice; give it one column.")
        columns[word] = name
    return columns


def tidy(names: Sequence[str]) -> list[str]:
    """Header cells as names: known words in lower case; an empty or repeated name gets its position as well."""
    clean: list[str] = []
    for position, name in enumerate(map(str.strip, names)):
        name = name.lower() if name.lower() in WORDS else name
        clean.append(name if name and name not in clean else f"{name}#{position}")
    return clean


def position_of(word: str, name: str, names: list[str], source: str) -> int:
    """Where the column is that the user calls `name`: by name, else by position, else by name in any case."""
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    folded = [known.lower() for known in names]
    if name.lower() in folded:
        return folded.index(name.lower())
    ordered = nearest(name, names)
    shown = ", ".join(f"{short(known)} ({names.index(known)})" for known in ordered)
    raise Mistake(
        f'{source} has no column "{name}"; its columns (and positions) are {shown}. '
        f"Use --columns {word}={names.index(ordered[0]) if ' ' in ordered[0] else ordered[0]} or another of them."
    )


def has_header(first: list[str], rows: list[list[str]], columns: dict[str, str] | None) -> bool:
    """Whether the first row names the columns: the user or a known word says so; or it is short words that stand over
    numbers, or over a column whose few values come again and again while the word over them never does."""
    if columns and not all(name.isdecimal() for name in columns.values()):
        return True
    if any(cell.strip().lower() in WORDS for cell in first):
        return True
    words = all(0 < len(cell) <= 30 and not _is_number(cell) and " " not in cell for cell in map(str.strip, first))
    if not words or len(first) < 2 or not rows:
        return False
    below = list(zip(*(row for row in rows if len(row) == len(first))))
    few = [len(set(column)) <= len(column) // 4 and word not in column for word, column in zip(first, below)]
    return any(map(_is_number, rows[0])) or (any(few) and len(rows) >= 8)


def _is_number(cell: str) -> bool:
    try:
        return float(cell) == float(cell) and any(map(str.isdigit, cell))  # neither nan nor "infinity", which are words
    except ValueError:
        return False


def short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
