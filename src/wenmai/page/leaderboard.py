"""The leaderboard, told once for terminal, Markdown and page: its words in both languages, its columns, how it was measured."""

import re
from collections.abc import Callable
from typing import NamedTuple

from wenmai.catalog import TASKS
from wenmai.locale import Message, phrase, plural, told_in
from wenmai.page.pictures import clean, compact, finite, main_score, metric_words, number

WORDS = {
    "rung": phrase("report", "rung"), "rungs": phrase("report", "rungs"), "parameters": phrase("report", "parameters"),
    "bytes": phrase("report", "on disk"), "seconds": phrase("report", "train s"), "speed": phrase("report", "pred./s"),
    "p50": phrase("report", "p50 ms"), "p99": phrase("report", "p99 ms"), "spread": phrase("report", "± seeds"),
    "failed": phrase("report", "failed"), "recommended": phrase("report", "recommended"),
    "none": phrase("report", "No rung finished."), "leaderboard": phrase("report", "Leaderboard"),
    "quality": phrase("report", "Quality against cost"), "curves": phrase("report", "Learning curves"),
    "sizes": phrase("report", "Quality with less data"), "each": phrase("report", "Rung by rung"),
    "measured": phrase("report", "How this was measured"), "notes": phrase("report", "What stood out in the data"),
    "options": phrase("report", "Options"), "rates": phrase("report", "Learning rates tried"),
    "confusion": phrase("report", "Confusion"), "pairs": phrase("report", "Most confused pairs"),
    "worst": phrase("report", "Its worst mistakes"), "perplexity": phrase("report", "perplexity"),
    "samples": phrase("report", "What it writes"), "written": phrase("report", "written"),
    "tokens": phrase("report", "tokens/s"), "lengths": phrase("report", "Short and long sources"),
    "input": phrase("report", "input"), "expected": phrase("report", "expected"), "answer": phrase("report", "answered"),
    "probability": phrase("report", "probability"), "count": phrase("report", "times"),
    "share": phrase("report", "of the class"), "by_parameters": phrase("report", "parameters"),
    "by_seconds": phrase("report", "training time"), "by_latency": phrase("report", "prediction time"),
    "quality_help": phrase("report", "Bars are 95% intervals. The dashed line joins the rungs that nothing cheaper beats."),
    "curves_help": phrase("report", "The score on the validation rows as training went on."),
    "sizes_help": phrase("report", "Trained on a part of the rows. A line that still improves at its end asks for more data."),
    "lengths_help": phrase("report", "The score on the shortest third of the test sources, the middle and the longest. A "
                                     "state of fixed size holds a short text and not a long one; attention looks at the "
                                     "whole text again at every step."),
    "confusion_help": phrase("report", "A row is what was expected, a column what was answered."),
}  # fmt: skip


def word(key: str, lang: str) -> str:
    return WORDS[key].told_in(lang)


def task_name(report: dict, lang: str) -> str:
    return TASKS[report["task"]].profile.words.told_in(lang)


class Column(NamedTuple):
    words: Message
    value: Callable[[dict], float | None]
    show: Callable[[dict], str]


def columns(report: dict) -> list[Column]:
    """The numbers of the leaderboard, told once for terminal, Markdown and page: headings, value to sort by, text."""

    def column(words, value, show):
        return Column(words, lambda rung: finite(value(rung)), lambda rung: show(value(rung)))

    def metric(name):
        return column(metric_words(name), lambda rung: ((rung.get("scores") or {}).get("test") or {}).get(name), number)

    def main(rung):
        low, high = rung.get("interval") or (None, None)
        score = main_score(report, rung)
        half = "" if finite(low) is None or finite(high) is None else f" ± {number((high - low) / 2, like=score)}"
        return number(score) + half

    others = {name: None for rung in report["rungs"] for name in (rung.get("scores") or {}).get("test") or {}}
    others.pop(report["metric"], None)
    board = [Column(metric_words(report["metric"]), lambda rung: main_score(report, rung), main)]
    if any(finite(rung.get("spread")) is not None for rung in report["rungs"]):
        board.append(column(WORDS["spread"], lambda rung: rung.get("spread"), number))
    board += [metric(name) for name in list(others)[:2]]  # more than two would leave no room for the costs
    board += [column(WORDS["parameters"], lambda rung: rung.get("parameters"), compact),
              column(WORDS["bytes"], lambda rung: rung.get("bytes"), size),
              column(WORDS["seconds"], lambda rung: rung.get("seconds"), lambda x: "–" if finite(x) is None else f"{x:,.1f}"),
              column(WORDS[speed_of(report)], lambda rung: rung.get("predictions_per_second"), compact),
              column(WORDS["p50"], lambda rung: (rung.get("latency_ms") or {}).get("p50"), compact),
              column(WORDS["p99"], lambda rung: (rung.get("latency_ms") or {}).get("p99"), compact)]  # fmt: skip
    return board


def speed_of(report: dict) -> str:
    """What is counted a second: predictions, or the tokens of texts."""
    return TASKS[report["task"]].profile.counted


def size(x) -> str:
    return "–" if finite(x) is None else re.sub(r"(?<=\d)([kMGT]?)$", r" \1B", compact(x))


def recommended(report: dict) -> dict | None:
    """The row that is recommended; the first one, where a checkpoint has the same name."""
    chosen = (report.get("recommendation") or {}).get("rung")
    return next((rung for rung in report["rungs"] if rung["rung"] == chosen and not rung.get("failed")), None)


def leaderboard(report: dict, lang: str = "en", width: int = 120):
    """The table for the terminal (rich); ✓ marks the recommended rung, and failures say why underneath.

    A terminal of less than 100 columns has no room for the number of weights, the second metrics and the rarest wait."""
    from rich.table import Table
    from rich.text import Text

    shown, chosen = columns(report), recommended(report)
    if width < 100:
        kept = {metric_words(report["metric"]), *(WORDS[key] for key in ("spread", "bytes", "seconds", speed_of(report), "p50"))}
        shown = [column for column in shown if column.words in kept]
    failures = [rung for rung in report["rungs"] if rung.get("failed")]
    reasons = [f"✗ {clean(rung['rung'], 24)}: {clean(told_in(rung['failed'], lang))}" for rung in failures]
    caption = Text("\n".join(reasons), "red", overflow="fold")
    table = Table(box=None, header_style="dim", pad_edge=False, caption=caption, caption_justify="left")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column(word("rung", lang), overflow="fold", min_width=14, max_width=26)
    for column in shown:
        table.add_column(Text(column.words.told_in(lang)), justify="right", no_wrap=True)
    for rank, rung in enumerate(report["rungs"], 1):
        name = Text(clean(rung["rung"], 48) + " ✓" * (rung is chosen))
        if rung.get("failed"):
            table.add_row("✗", name, Text(word("failed", lang)), style="red")
        else:
            style = "bold green" if rung is chosen else ""
            table.add_row(str(rank), name, *(column.show(rung) for column in shown), style=style)
    return table


def measured(report: dict) -> list[Message]:
    """How the numbers came about, in sentences."""
    rows = {part: f"{count:,}" for part, count in (report.get("rows") or {}).items() if count is not None}
    train, valid, test = (rows.get(part, "–") for part in ("train", "valid", "test"))
    where = f"{clean(report['device'])}, {clean(report['machine'])}"
    return [
        Message("Budget: {rungs} rungs shared {minutes}; what a rung left of its equal share went to those trained after it "
                "({where}).", rungs=len(report["rungs"]), where=where,
                minutes=plural("{count:g} minute", "{count:g} minutes", count=report["minutes"])),
        Message("Rows: {train} to learn from, {valid} to choose the learning rate and the moment to stop by, {test} for the "
                "scores; no rung learned from the last two.", train=train, valid=valid, test=test),
        plural("Seed {seed}; {count} training run a rung.", "Seed {seed}; {count} training runs a rung.", count=report["seeds"],
               seed=report["seed"]),
        Message("± is half of the 95% interval from a bootstrap over the test rows. Where two intervals overlap, the order of "
                "the two rungs may be luck."),
        Message("p50 and p99: half, and 99 in 100, of single predictions took no longer than this."),
        *written_so(report),
        Message("Written by Wenmai {version}, {created}.", version=clean(report["wenmai"]), created=clean(report["created"])),
    ]  # fmt: skip


def written_so(report: dict) -> list[Message]:
    """Of texts that were written for texts: how they were found and scored."""
    if "signature" not in report:
        return []
    return [
        Message("Texts were written by beam search with a beam of 5: many sources together for tokens/s, ends of texts are "
                "tokens; one source at a time for p50 and p99. Training was judged by the chrF of greedy texts (a beam of 1); "
                "the scores of several seeds and of less data are of greedy texts too."),
        Message("BLEU: sacrebleu {signature}; BLEU and chrF run from 0 to 100.", signature=clean(report["signature"])),
    ]  # fmt: skip


def notes(report, lang):
    return (report.get("notes_zh") if lang == "zh" else None) or report.get("notes") or []


def worst_keys(rung: dict) -> list[str]:
    """What is told of a mistake; its probability only where the rung gives one. Of running text, the least likely lines."""
    if "perplexity" in rung["worst"][0]:
        return [key for key in ("input", "expected", "answer", "perplexity") if key in rung["worst"][0]]
    sure = any(mistake.get("probability") is not None for mistake in rung["worst"])
    return ["input", "expected", "answer"] + ["probability"] * sure


def sample_keys(rung: dict) -> list[str]:
    """What is told of a text that was written; what was expected, where one was."""
    return [key for key in ("input", "expected", "written") if key in rung["samples"][0]]
