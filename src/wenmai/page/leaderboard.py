"""The leaderboard, told once for terminal, Markdown and page: its words in both languages, its columns, how it was measured."""

import re
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from wenmai.catalog import TASKS
from wenmai.locale import Message, phrases, plural, told_in
from wenmai.page.pictures import clean, compact, finite, main_score, metric_words, number
from wenmai.page.terminal import text_table

WORDS = phrases(
    "report",
    rung="rung",
    rungs="rungs",
    parameters="parameters",
    bytes="on disk",
    seconds="train s",
    speed="pred./s",
    p50="p50 ms",
    p99="p99 ms",
    spread="± seeds",
    failed="failed",
    recommended="recommended",
    none="No rung finished.",
    leaderboard="Leaderboard",
    quality="Quality against cost",
    curves="Learning curves",
    sizes="Quality with less data",
    each="Rung by rung",
    measured="How this was measured",
    notes="What stood out in the data",
    options="Options",
    rates="Learning rates tried",
    confusion="Confusion",
    pairs="Most confused pairs",
    worst="Its worst mistakes",
    perplexity="perplexity",
    samples="What it writes",
    written="written",
    tokens="tokens/s",
    lengths="Short and long sources",
    input="input",
    expected="expected",
    answer="answered",
    probability="probability",
    count="times",
    share="of the class",
    per_class="Class by class",
    support="support",
    next="To use it",
    copy="copy",
    class_name="class",
    groups="Group by group",
    group="group",
    group_rows="rows",
    group_mean="mean",
    baseline="baseline",
    meanings="What the columns mean",
    interval="95% interval",
    updates="updates",
    epochs="epochs",
    state="how far",
    converged="converged",
    rising="still rising",
    short="too short",
    by_parameters="parameters",
    by_seconds="training time",
    by_latency="prediction time",
    quality_help="Bars are 95% intervals. The dashed line joins the rungs that nothing cheaper beats.",
    curves_help="The score on the validation rows as training went on.",
    sizes_help="Trained on a part of the rows. A line that still improves at its end asks for more data.",
    lengths_help="The score on the shortest third of the test sources, the middle and the longest. A state of fixed size holds "
    "a short text and not a long one; attention looks at the whole text again at every step.",
    groups_help="The score on the test rows of every group, and the mean of the groups, in which small ones weigh as much as "
    "large ones.",
    confusion_help="A row is what was expected, a column what was answered.",
)


GROUPS, BESIDE = (
    50,
    4,
)  # groups that are shown, the largest; rungs for which a terminal has room beside them
STATES = {"short": 0, "rising": 1, "converged": 2}  # how far a rung got, to sort by


def word(key: str, lang: str) -> str:
    return WORDS[key].told_in(lang)


def task_name(report: dict, lang: str) -> str:
    return TASKS[report["task"]].profile.words.told_in(lang)


class Column(NamedTuple):
    words: Message
    value: Callable[[dict], float | None]
    show: Callable[[dict], str]  # or a Message
    key: str = ""

    @property
    def meaning(self) -> Message | None:
        return MEANT.get(self.key)


def columns(report: dict) -> list[Column]:
    """The numbers of the leaderboard, told once for terminal, Markdown and page: headings, value to sort by, text."""

    def column(key, value, show, words=None):
        return Column(
            words or WORDS[key],
            lambda rung: finite(value(rung)),
            lambda rung: show(value(rung)),
            key,
        )

    def metric(name):
        test = "scores", "test", name
        return column(
            name,
            lambda rung: reduce(lambda at, key: (at or {}).get(key), test, rung),
            number,
            metric_words(name),
        )

    def main(rung):
        low, high = rung.get("interval") or (None, None)
        score = main_score(report, rung)
        half = (
            ""
            if finite(low) is None or finite(high) is None
            else f" ± {number((high - low) / 2, like=score)}"
        )
        return number(score) + half

    others = {
        name: None
        for rung in report["rungs"]
        for name in (rung.get("scores") or {}).get("test") or {}
    }
    others.pop(report["metric"], None)
    board = [
        Column(
            metric_words(report["metric"]),
            lambda rung: main_score(report, rung),
            main,
            report["metric"],
        )
    ]
    if any(finite(rung.get("spread")) is not None for rung in report["rungs"]):
        board.append(column("spread", lambda rung: rung.get("spread"), number))
    board += [
        metric(name) for name in list(others)[:2]
    ]  # more than two would leave no room for the costs
    if any(rung.get("state") for rung in report["rungs"]):
        board += [
            column("updates", lambda rung: rung.get("updates"), compact),
            column("epochs", lambda rung: rung.get("epochs"), compact),
            Column(WORDS["state"], lambda rung: STATES.get(rung.get("state")), state, "state"),
        ]
    board += [
        column("parameters", lambda rung: rung.get("parameters"), compact),
        column("bytes", lambda rung: rung.get("bytes"), size),
        column(
            "seconds",
            lambda rung: rung.get("seconds"),
            lambda x: "–" if finite(x) is None else f"{x:,.1f}",
        ),
        column(speed_of(report), lambda rung: rung.get("predictions_per_second"), compact),
        column("p50", lambda rung: (rung.get("latency_ms") or {}).get("p50"), compact),
        column("p99", lambda rung: (rung.get("latency_ms") or {}).get("p99"), compact),
    ]
    return board


MEANT = {  # what a heading means, where it does not say so itself
    **phrases(
        "meaning",
        macro_f1="F1 of every class, and the mean of them: rare classes weigh as much as frequent ones. F1 is high where a class "
        "is both found and not confused with others.",
        accuracy="The share of the rows that were answered right.",
        span_f1="Of whole spans: 2PR / (P + R), P the share of those answered that are right, R the share of those expected that "
        "were found.",
        r2="The share of the variation that is explained: 1 is perfect, 0 no better than the mean.",
        perplexity="How many tokens the model wavers between, on average; lower is better.",
        bits_per_byte="Bits that it takes to write a byte of the text; lower is better, and models that cut texts differently "
        "can be compared.",
        bleu="How many words in a row, one to four, stand in the expected translation too; 0 to 100.",
        chrf="The same of characters in a row, one to six; 0 to 100.",
    ),
    **{
        name: Message(
            "Time of one prediction at a time: half of them, and 99 in 100, took no longer than this."
        )
        for name in ("p50", "p99")
    },
    **phrases(
        "meaning",
        spread="How far apart the seeds of a rung lie (standard deviation).",
        parameters="Numbers that are learned.",
        bytes="What is needed to answer: weights, tokenizer, options.",
        speed="Predictions a second, many together.",
        tokens="Tokens a second, many together.",
        seconds="Seconds of training, the search of the learning rate included.",
        updates="How often the weights were changed.",
        epochs="How often all training rows were read.",
        state="Converged: more time would hardly help; still rising: it would; too short: this budget says nothing of it.",
    ),
}


def state(rung: dict) -> str:
    """How far it got, in words."""
    return WORDS[rung["state"]] if rung.get("state") in STATES else "–"


def place(rank: int | None, rung: dict) -> str:
    """A rung that had too little time has no place among those that are judged; the baseline has none at all."""
    return "✗" if rung.get("failed") else "?" if rung.get("state") == "short" else str(rank or "–")


def speed_of(report: dict) -> str:
    """What is counted a second: predictions, or the tokens of texts."""
    return TASKS[report["task"]].profile.counted


def size(x) -> str:
    return "–" if finite(x) is None else re.sub(r"(?<=\d)([kMGT]?)$", r" \1B", compact(x))


def recommended(report: dict) -> dict | None:
    """The row that is recommended; the first one, where a checkpoint has the same name."""
    chosen = (report.get("recommendation") or {}).get("rung")
    return next(
        (rung for rung in report["rungs"] if rung["rung"] == chosen and not rung.get("failed")),
        None,
    )


def leaderboard(report: dict, lang: str = "en", width: int = 120):
    """The table for the terminal (rich); ✓ marks the recommended rung, and failures say why underneath.

    A terminal of less than 100 columns has no room for the number of weights, the second metrics and the rarest wait."""
    from rich.table import Table
    from rich.text import Text

    shown, chosen = columns(report), recommended(report)
    if width < 100:
        kept = {
            metric_words(report["metric"]),
            *(
                WORDS[key]
                for key in ("spread", "state", "bytes", "seconds", speed_of(report), "p50")
            ),
        }
        shown = [column for column in shown if column.words in kept]
    failures = [rung for rung in report["rungs"] if rung.get("failed")]
    reasons = [
        f"✗ {clean(rung['rung'], 24)}: {clean(told_in(rung['failed'], lang))}" for rung in failures
    ]
    caption = Text("\n".join(reasons), "red", overflow="fold")
    table = Table(
        box=None, header_style="dim", pad_edge=False, caption=caption, caption_justify="left"
    )
    table.add_column("", justify="right", no_wrap=True)
    table.add_column(word("rung", lang), overflow="fold", min_width=14, max_width=26)
    for column in shown:
        table.add_column(Text(column.words.told_in(lang)), justify="right", no_wrap=True)
    for rank, rung in ranked(report):
        name = Text(called(report, rung, lang) + " ✓" * (rung is chosen))
        if rung.get("failed"):
            table.add_row(place(rank, rung), name, Text(word("failed", lang)), style="red")
        else:
            style = "bold green" if rung is chosen else "" if rank else "italic dim"
            table.add_row(
                place(rank, rung),
                name,
                *(told_in(column.show(rung), lang) for column in shown),
                style=style,
            )
    return table


def ranked(report: dict) -> list[tuple[int | None, dict]]:
    """(rank, row) in the order of their scores; the baseline stands among them without a rank."""
    rows, baseline = list(enumerate(report["rungs"], 1)), report.get("baseline")
    baseline_score = main_score(report, baseline) if baseline else None
    if baseline_score is None:
        return rows
    sign = 1 if report["higher_is_better"] else -1
    better = [
        main_score(report, row) is not None
        and sign * (main_score(report, row) - baseline_score) >= 0
        for _, row in rows
    ]
    at = better.index(False) if False in better else len(rows)
    return [*rows[:at], (None, baseline), *rows[at:]]


def called(report: dict, rung: dict, lang: str) -> str:
    """A rung by its name; the baseline by what it does, and as what it is."""
    if rung is not report.get("baseline"):
        return clean(rung["rung"], 48)
    name = clean(rung["name_zh" if lang == "zh" else "name"], 48)
    return Message("{name} (baseline)", name=name).told_in(lang)


def length_scores(report: dict, lang: str) -> tuple[list[str], list[list[str]]] | None:
    """The metric by the length of what was read, whether a rung loses long texts: the columns, and a row a rung; where there is
    more than one length."""
    rows = [rung for rung in report["rungs"] if len(rung.get("lengths") or ()) > 1]
    if not rows:
        return None
    spans = [
        Message(
            "{shortest}–{longest} characters", shortest=part["shortest"], longest=part["longest"]
        ).told_in(lang)
        for part in rows[0]["lengths"]
    ]
    name = metric_words(report["metric"]).told_in(lang)
    cells = [
        [clean(rung["rung"], 48), *(number(part["score"]) for part in rung["lengths"])]
        for rung in rows
    ]
    return [f"{word('rung', lang)} · {name}", *spans], cells


def group_scores(
    report: dict, lang: str, most: int | None = None
) -> tuple[list[str], list[list[str]]] | None:
    """The metric of every group of the test rows: the columns, a rung each, the baseline among them; a row a group, and their
    mean. `most`: so many rungs, the first ones."""
    rungs = [rung for _, rung in ranked(report) if rung.get("groups")]
    shown = [rung for rung in rungs if rung in rungs[:most] or rung is report.get("baseline")]
    if not shown:
        return None
    sizes = {one["group"]: one["rows"] for one in shown[0]["groups"]}
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:GROUPS])
    scores = [{one["group"]: one["score"] for one in rung["groups"]} for rung in shown]
    cells = [
        [clean(name, 40), f"{rows:,}", *(number(own.get(name)) for own in scores)]
        for name, rows in sizes.items()
        if name in largest
    ]
    means = [sum(own.values()) / len(own) for own in scores]
    cells.append([word("group_mean", lang), f"{sum(sizes.values()):,}", *map(number, means)])
    head = f"{word('group', lang)} · {metric_words(report['metric']).told_in(lang)}"
    return [head, word("group_rows", lang), *(called(report, rung, lang) for rung in shown)], cells


def group_table(scores: dict[str, dict], lang: str = "en"):
    """Of one run, for the terminal (rich): what `evaluate` says of every group."""
    metrics = [name for name in next(iter(scores.values())) if name != "rows"]
    cells = [
        [clean(name, 40), f"{own['rows']:,}", *(number(own[metric]) for metric in metrics)]
        for name, own in scores.items()
    ]
    means = [sum(own[metric] for own in scores.values()) / len(scores) for metric in metrics]
    cells.append(
        [
            word("group_mean", lang),
            f"{sum(own['rows'] for own in scores.values()):,}",
            *map(number, means),
        ]
    )
    head = [
        word("group", lang),
        word("group_rows", lang),
        *(metric_words(metric).told_in(lang) for metric in metrics),
    ]
    return text_table(head, cells, header_style="dim", no_wrap=True)


def class_table(rung: dict, lang: str) -> tuple[list[str], list[list[str]]] | None:
    """Precision, recall, F1 and support of every class: the columns, and a row a class; those that are
    missed most come first."""
    rows = sorted(rung.get("per_class") or (), key=lambda one: one["f1"])
    scores = [metric_words(name).told_in(lang) for name in ("precision", "recall", "f1")]
    head = [word("class_name", lang), *scores, word("support", lang)]
    cells = [
        [
            clean(one["class"], 40),
            *(number(one[key]) for key in ("precision", "recall", "f1")),
            f"{one['support']:,}",
        ]
        for one in rows
    ]
    return (head, cells) if cells else None


def more_tables(report: dict, lang: str = "en") -> list:
    """The scores by length and by group for the terminal (rich)."""
    tables = filter(None, (length_scores(report, lang), group_scores(report, lang, BESIDE)))
    return [text_table(*table, header_style="dim", no_wrap=True) for table in tables]


def measured(report: dict) -> list[Message]:
    """How the numbers came about, in sentences."""
    rows = {
        part: f"{count:,}"
        for part, count in (report.get("rows") or {}).items()
        if count is not None
    }
    train, valid, test = (rows.get(part, "–") for part in ("train", "valid", "test"))
    where = f"{clean(report['device'])}, {clean(report['machine'])}"
    beam_search = [
        Message(
            "Texts were written by beam search with a beam of 5: many sources together for tokens/s, ends of texts are "
            "tokens; one source at a time for p50 and p99. Training was judged by the chrF of greedy texts (a beam of 1); "
            "the scores of several seeds and of less data are of greedy texts too."
        ),
        Message(
            "BLEU: sacrebleu {signature}; BLEU and chrF run from 0 to 100.",
            signature=clean(report.get("signature", "")),
        ),
    ]
    one = Message(
        "± is half of the 95% interval from a bootstrap over the test rows; what another seed would change is not in it."
    )
    several = Message(
        "± is half of the 95% interval from a bootstrap over the test rows, and over seeds. Scores are means over "
        "seeds, those of groups too; mistakes, classes, lengths and texts that were written are of the first "
        "seed."
    )
    return [
        Message(
            "Budget: {rungs} rungs shared {minutes}; what a rung left of its equal share went to those trained after it "
            "({where}).",
            rungs=len(report["rungs"]),
            where=where,
            minutes=plural("{count:g} minute", "{count:g} minutes", count=report["minutes"]),
        ),
        Message(
            "Rows: {train} to learn from, {valid} to choose the learning rate and the moment to stop by, {test} for the "
            "scores; no rung learned from the last two.",
            train=train,
            valid=valid,
            test=test,
        ),
        plural(
            "Seed {seed}; {count} training run a rung.",
            "Seed {seed}; {count} training runs a rung.",
            count=report["seeds"],
            seed=report["seed"],
        ),
        several if report["seeds"] > 1 else one,
        Message(
            "The choice was made on the valid rows: from a model confidence set, which holds the best with 95%, the "
            "smallest, then the fastest, then the simplest. The test rows had no part in it: of the rung that was "
            "chosen they say what it is worth, and the highest of all scores is flattered by being the highest of many."
        ),
        Message(
            "How far: a rung has converged where the last quarter of its scores on the validation rows brought the best of "
            "them less than a hundredth further, or the second half of them where the minutes ended its training, and is "
            "still rising where they brought more. Too short to tell is a network whose second half brought more than a "
            "tenth, or that had one score, or fewer than 100 updates and 10 epochs; it has no place among the others."
        ),
        Message(
            "p50 and p99: half, and 99 in 100, of single predictions took no longer than this."
        ),
        *(beam_search if "signature" in report else ()),
        Message(
            "Written by Wenmai {version}, {created}.",
            version=clean(report["wenmai"]),
            created=clean(report["created"]),
        ),
    ]


def notes(report, lang):
    return (report.get("notes_zh") if lang == "zh" else None) or report.get("notes") or []


def worst_keys(rung: dict) -> list[str]:
    """What is told of a mistake; its probability only where the rung gives one. Of running text, the least likely lines."""
    if "perplexity" in rung["worst"][0]:
        return [
            key for key in ("input", "expected", "answer", "perplexity") if key in rung["worst"][0]
        ]
    sure = any(mistake.get("probability") is not None for mistake in rung["worst"])
    return ["input", "expected", "answer"] + ["probability"] * sure


def sample_keys(rung: dict) -> list[str]:
    """What is told of a text that was written; what was expected, where one was."""
    return [key for key in ("input", "expected", "written") if key in rung["samples"][0]]
