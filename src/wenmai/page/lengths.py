"""The metric by the length of what was read, told once for terminal, Markdown and page: whether a rung loses long texts."""

from rich.table import Table
from rich.text import Text

from wenmai.locale import Message
from wenmai.page.leaderboard import word
from wenmai.page.pictures import clean, metric_words, number


def lengths(report: dict, lang: str) -> tuple[list[str], list[list[str]]] | None:
    """The metric by the length of what was read: the columns, and a row a rung; where there is more than one length."""
    rows = [rung for rung in report["rungs"] if len(rung.get("lengths") or ()) > 1]
    if not rows:
        return None
    spans = [Message("{shortest}–{longest} characters", shortest=part["shortest"], longest=part["longest"]).told_in(lang)
             for part in rows[0]["lengths"]]  # fmt: skip
    name = metric_words(report["metric"]).told_in(lang)
    cells = [[clean(rung["rung"], 48), *(number(part["score"]) for part in rung["lengths"])] for rung in rows]
    return [f"{word('rung', lang)} · {name}", *spans], cells


def on_terminal(report: dict, lang: str = "en"):
    """The same for the terminal (rich)."""
    if (both := lengths(report, lang)) is None:
        return None
    head, rows = both
    table = Table(box=None, header_style="dim", pad_edge=False)
    for at, words in enumerate(head):
        table.add_column(Text(words), justify="right" if at else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
