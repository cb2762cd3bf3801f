"""The leaderboard, told once for terminal, Markdown and page: its words in both languages, its columns, how it was measured."""

import re
from collections.abc import Callable
from typing import NamedTuple

from wenmai.catalog import TASKS
from wenmai.chinese import in_chinese
from wenmai.page.pictures import (
    clean,
    compact,
    finite,
    main_score,
    metric_name,
    number,
)

LANGS = ("en", "zh")
WORDS = {
    "rung": ("rung", "模型"), "rungs": ("rungs", "个模型"), "parameters": ("parameters", "参数"),
    "bytes": ("on disk", "大小"), "seconds": ("train s", "训练秒"), "speed": ("pred./s", "预测/秒"),
    "p50": ("p50 ms", "p50 毫秒"), "p99": ("p99 ms", "p99 毫秒"), "spread": ("± seeds", "± 种子"),
    "failed": ("failed", "失败"), "recommended": ("recommended", "推荐"),
    "none": ("No rung finished.", "没有模型完成训练。"),
    "leaderboard": ("Leaderboard", "排行榜"), "quality": ("Quality against cost", "质量与代价"),
    "curves": ("Learning curves", "学习曲线"), "sizes": ("Quality with less data", "数据减少时的质量"),
    "each": ("Rung by rung", "逐个模型"), "measured": ("How this was measured", "如何测得"),
    "notes": ("What stood out in the data", "数据中值得注意之处"), "options": ("Options", "选项"),
    "rates": ("Learning rates tried", "试过的学习率"), "confusion": ("Confusion", "混淆矩阵"),
    "pairs": ("Most confused pairs", "最常混淆的类别"), "worst": ("Its worst mistakes", "最严重的错误"),
    "perplexity": ("perplexity", "困惑度"), "samples": ("What it writes", "它写出的文本"), "written": ("written", "写出"),
    "tokens": ("tokens/s", "词元/秒"), "lengths": ("Short and long sources", "短源文与长源文"),
    "input": ("input", "输入"), "expected": ("expected", "正确答案"), "answer": ("answered", "模型回答"),
    "probability": ("probability", "概率"), "count": ("times", "次数"), "share": ("of the class", "占该类"),
    "by_parameters": ("parameters", "参数个数"), "by_seconds": ("training time", "训练时间"),
    "by_latency": ("prediction time", "预测时间"),
    "quality_help": ("Bars are 95% intervals. The dashed line joins the rungs that nothing cheaper beats.",
                     "竖线为 95% 区间；虚线连接没有被更便宜者超过的模型。"),
    "curves_help": ("The score on the validation rows as training went on.", "训练过程中验证集上的得分。"),
    "sizes_help": ("Trained on a part of the rows. A line that still improves at its end asks for more data.",
                   "只用部分数据训练；末端仍在变好的曲线，说明更多数据会有帮助。"),
    "lengths_help": ("The score on the shortest third of the test sources, the middle and the longest. A state of fixed size "
                     "holds a short text and not a long one; attention looks at the whole text again at every step.",
                     "测试集中最短、居中、最长各三分之一的源文上的得分。大小固定的状态装得下短文本，装不下长文本；注意力每一步都重新看整个文本。"),
    "confusion_help": ("A row is what was expected, a column what was answered.", "行为正确类别，列为模型回答。"),
}  # fmt: skip


def word(key: str, lang: str) -> str:
    return WORDS[key][lang == "zh"]


def task_name(report: dict, lang: str) -> str:
    return TASKS[report["task"]].profile.name_zh if lang == "zh" else report["task"]


class Column(NamedTuple):
    words: tuple[str, str]
    value: Callable[[dict], float | None]
    show: Callable[[dict], str]


def columns(report: dict) -> list[Column]:
    """The numbers of the leaderboard, told once for terminal, Markdown and page: headings, value to sort by, text."""

    def column(words, value, show):
        return Column(words, lambda rung: finite(value(rung)), lambda rung: show(value(rung)))

    def metric(name):
        return column(_metric(name), lambda rung: ((rung.get("scores") or {}).get("test") or {}).get(name), number)

    def main(rung):
        low, high = rung.get("interval") or (None, None)
        score = main_score(report, rung)
        half = "" if finite(low) is None or finite(high) is None else f" ± {number((high - low) / 2, like=score)}"
        return number(score) + half

    others = {name: None for rung in report["rungs"] for name in (rung.get("scores") or {}).get("test") or {}}
    others.pop(report["metric"], None)
    found = [Column(_metric(report["metric"]), lambda rung: main_score(report, rung), main)]
    if any(finite(rung.get("spread")) is not None for rung in report["rungs"]):
        found.append(column(WORDS["spread"], lambda rung: rung.get("spread"), number))
    found += [metric(name) for name in list(others)[:2]]  # more than two would leave no room for the costs
    found += [
        column(WORDS["parameters"], lambda rung: rung.get("parameters"), compact),
        column(WORDS["bytes"], lambda rung: rung.get("bytes"), size),
        column(WORDS["seconds"], lambda rung: rung.get("seconds"), lambda x: "–" if finite(x) is None else f"{x:,.1f}"),
        column(WORDS[speed_of(report)], lambda rung: rung.get("predictions_per_second"), compact),
        column(WORDS["p50"], lambda rung: (rung.get("latency_ms") or {}).get("p50"), compact),
        column(WORDS["p99"], lambda rung: (rung.get("latency_ms") or {}).get("p99"), compact),
    ]
    return found


def speed_of(report: dict) -> str:
    """What is counted a second: predictions, or the tokens of texts."""
    return TASKS[report["task"]].profile.counted


def _metric(name):
    return tuple(metric_name(name, lang) for lang in LANGS)


def size(x) -> str:
    return "–" if finite(x) is None else re.sub(r"(?<=\d)([kMGT]?)$", r" \1B", compact(x))


def recommended(report: dict) -> dict | None:
    """The row that is recommended; the first one, where a checkpoint has the same name."""
    chosen = (report.get("recommendation") or {}).get("rung")
    return next((rung for rung in report["rungs"] if rung["rung"] == chosen and not rung.get("failed")), None)


def leaderboard(report: dict, lang: str = "en", width: int = 120):
    """The table for the terminal (rich); ✓ marks the recommended rung, and failures say why underneath.

    A terminal of less than 100 columns has no room for the number of weights, the second metrics and the rarest wait.
    """
    from rich.table import Table
    from rich.text import Text

    told, chosen = columns(report), recommended(report)
    if width < 100:
        kept = {_metric(report["metric"]), *(WORDS[key] for key in ("spread", "bytes", "seconds", speed_of(report), "p50"))}
        told = [column for column in told if column.words in kept]
    failures = [rung for rung in report["rungs"] if rung.get("failed")]
    reasons = [f"✗ {clean(rung['rung'], 24)}: {clean(why_failed(rung, lang))}" for rung in failures]
    caption = Text("\n".join(reasons), "red", overflow="fold")
    table = Table(box=None, header_style="dim", pad_edge=False, caption=caption, caption_justify="left")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column(word("rung", lang), overflow="fold", min_width=14, max_width=26)
    for column in told:
        table.add_column(Text(column.words[lang == "zh"]), justify="right", no_wrap=True)
    for rank, rung in enumerate(report["rungs"], 1):
        name = Text(clean(rung["rung"], 48) + " ✓" * (rung is chosen))
        if rung.get("failed"):
            table.add_row("✗", name, Text(word("failed", lang)), style="red")
        else:
            style = "bold green" if rung is chosen else ""
            table.add_row(str(rank), name, *(column.show(rung) for column in told), style=style)
    return table


def measured(report: dict) -> dict[str, list[str]]:
    """How the numbers came about, in sentences."""
    rows = {part: f"{count:,}" for part, count in (report.get("rows") or {}).items() if count is not None}
    train, valid, test = (rows.get(part, "–") for part in ("train", "valid", "test"))
    minutes, seeds, rungs = f"{report['minutes']:g}", report["seeds"], len(report["rungs"])
    where = f"{clean(report['device'])}, {clean(report['machine'])}"
    made = f"Wenmai {clean(report['wenmai'])}, {clean(report['created'])}"
    return {
        "en": [
            f"Budget: {rungs} rungs shared {minutes} minute{'s' * (minutes != '1')}; what a rung left of its equal "
            f"share went to those trained after it ({where}).",
            f"Rows: {train} to learn from, {valid} to choose the learning rate and the moment to stop by, {test} for the scores; "
            "no rung learned from the last two.",
            f"Seed {report['seed']}; {seeds} training run{'s' * (seeds != 1)} a rung.",
            "± is half of the 95% interval from a bootstrap over the test rows. Where two intervals overlap, the order "
            "of the two rungs may be luck.",
            "p50 and p99: half, and 99 in 100, of single predictions took no longer than this.",
            *(sentence for sentence, _ in written_so(report)),
            f"Written by {made}.",
        ],
        "zh": [
            f"预算：{rungs} 个模型平分 {minutes} 分钟，先训练的没用完的部分留给后面的（{where}）。",
            f"数据：{train} 行用于训练，{valid} 行用于选择学习率和停止的时机，{test} 行用于评分；模型没有学习过后两部分。",
            f"随机种子 {report['seed']}；每个模型训练 {seeds} 次。",
            "± 为测试集自助法 95% 区间的一半；若两个区间重叠，两个模型的先后可能只是运气。",
            "p50 与 p99：一半和 99% 的单次预测用时不超过此数。",
            *(sentence for _, sentence in written_so(report)),
            f"由 {made} 生成。",
        ],
    }


def written_so(report: dict) -> list[tuple[str, str]]:
    """Of texts that were written for texts: how they were found and scored."""
    if "signature" not in report:
        return []
    return [
        ("Texts were written by beam search with a beam of 5: many sources together for tokens/s, ends of texts are tokens; "
         "one source at a time for p50 and p99. Training was judged by the chrF of greedy texts (a beam of 1); the scores of "
         "several seeds and of less data are of greedy texts too.",
         "文本用集束搜索写出，束宽为 5：词元/秒是许多源文一起写的速度，结束符也算词元；p50 与 p99 是一次写一个源文的用时。"
         "训练的评判看的是贪心（束宽为 1）写出的文本的 chrF；不同种子的得分和数据减少时的得分，用的也是贪心写出的文本。"),
        (f"BLEU: sacrebleu {clean(report['signature'])}; BLEU and chrF run from 0 to 100.",
         f"BLEU：sacrebleu {clean(report['signature'])}；BLEU 与 chrF 的范围是 0 到 100。"),
    ]  # fmt: skip


def why_failed(rung: dict, lang: str) -> str:
    """Why a rung failed."""
    return in_chinese(rung["failed"]) if lang == "zh" else rung["failed"]


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
