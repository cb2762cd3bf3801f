"""What a comparison found, for people: a table in the terminal, and report.json, report.md, report.html, pictures."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

from wenmai.evaluation.pictures import (
    COSTS,
    as_file,
    clean,
    compact,
    finite,
    interval,
    limits,
    main_score,
    metric_name,
    number,
    pictures,
    png,
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
    "input": ("input", "输入"), "expected": ("expected", "正确答案"), "answer": ("answered", "模型回答"),
    "probability": ("probability", "概率"), "count": ("times", "次数"), "share": ("of the class", "占该类"),
    "by_parameters": ("parameters", "参数个数"), "by_seconds": ("training time", "训练时间"),
    "by_latency": ("prediction time", "预测时间"),
    "quality_help": ("Bars are 95% intervals. The dashed line joins the rungs that nothing cheaper beats.",
                     "竖线为 95% 区间；虚线连接没有被更便宜者超过的模型。"),
    "curves_help": ("The score on the validation rows as training went on.", "训练过程中验证集上的得分。"),
    "sizes_help": ("Trained on a part of the rows. A line that still improves at its end asks for more data.",
                   "只用部分数据训练；末端仍在变好的曲线，说明更多数据会有帮助。"),
    "confusion_help": ("A row is what was expected, a column what was answered.", "行为正确类别，列为模型回答。"),
}  # fmt: skip
TASKS = {
    "classify": "分类", "tag": "标注", "translate": "翻译", "generate": "生成", "regress": "回归", "answer": "问答",
    "transcribe": "转写", "compose": "作文", "pretrain": "预训练",
}  # fmt: skip


def word(key: str, lang: str) -> str:
    return WORDS[key][lang == "zh"]


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
        column(WORDS["bytes"], lambda rung: rung.get("bytes"), _bytes),
        column(WORDS["seconds"], lambda rung: rung.get("seconds"), lambda x: "–" if finite(x) is None else f"{x:,.1f}"),
        column(WORDS["speed"], lambda rung: rung.get("predictions_per_second"), compact),
        column(WORDS["p50"], lambda rung: (rung.get("latency_ms") or {}).get("p50"), compact),
        column(WORDS["p99"], lambda rung: (rung.get("latency_ms") or {}).get("p99"), compact),
    ]
    return found


def _metric(name):
    return tuple(metric_name(name, lang) for lang in LANGS)


def _bytes(x):
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
        kept = {_metric(report["metric"]), *(WORDS[key] for key in ("spread", "bytes", "seconds", "speed", "p50"))}
        told = [column for column in told if column.words in kept]
    failures = [rung for rung in report["rungs"] if rung.get("failed")]
    reasons = [f"✗ {clean(rung['rung'], 24)}: {clean(rung['failed'])}" for rung in failures]
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


def write(report: dict, folder) -> list[Path]:
    """report.json, report.md, report.html and the pictures (SVG in both languages, one PNG) under `folder`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    drawn, image = pictures(report), png(report)
    files = {
        "report.json": json.dumps(_plain(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n",
        "report.md": markdown(report, drawn),
        "report.html": page(report, drawn),
        **{f"{name}.{lang}.svg": as_file(svg) for name, both in drawn.items() for lang, svg in both.items()},
        **({"quality.png": image} if image else {}),
    }
    for name, text in files.items():  # half a surrogate pair in somebody's text: JSON has an escape for it, as here
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))
    return [folder / name for name in files]


def _plain(value):
    """JSON knows no NaN; a score that is none is null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and finite(value) is None else value


def measured(report: dict) -> dict[str, list[str]]:
    """How the numbers came about, in sentences."""
    rows = {part: f"{count:,}" for part, count in (report.get("rows") or {}).items() if count is not None}
    train, valid, test = (rows.get(part, "–") for part in ("train", "valid", "test"))
    minutes, seeds, rungs = f"{report['minutes']:g}", report["seeds"], len(report["rungs"])
    where = f"{clean(report['device'])}, {clean(report['machine'])}"
    made = f"Wenmai {clean(report['wenmai'])}, {clean(report['created'])}"
    return {
        "en": [
            f"Budget: {rungs} rungs shared {minutes} minute{'s' * (minutes != '1')} equally ({where}).",
            f"Rows: {train} to learn from, {valid} to choose the learning rate by, {test} for the scores; "
            "no rung learned from the last two.",
            f"Seed {report['seed']}; {seeds} training run{'s' * (seeds != 1)} a rung.",
            "± is half of the 95% interval from a bootstrap over the test rows. Where two intervals overlap, the order "
            "of the two rungs may be luck.",
            "p50 and p99: half, and 99 in 100, of single predictions took no longer than this.",
            f"Written by {made}.",
        ],
        "zh": [
            f"预算：{rungs} 个模型平分 {minutes} 分钟（{where}）。",
            f"数据：{train} 行用于训练，{valid} 行用于选择学习率，{test} 行用于评分；模型没有学习过后两部分。",
            f"随机种子 {report['seed']}；每个模型训练 {seeds} 次。",
            "± 为测试集自助法 95% 区间的一半；若两个区间重叠，两个模型的先后可能只是运气。",
            "p50 与 p99：一半和 99% 的单次预测用时不超过此数。",
            f"由 {made} 生成。",
        ],
    }


# Markdown


def markdown(report: dict, drawn: dict) -> str:
    return "\n---\n\n".join(_markdown(report, drawn, lang) for lang in LANGS)


def _md(value, limit=200) -> str:
    """The user's text, so that neither Markdown nor HTML nor GitHub's automatic links see anything in it."""
    text = escape(clean(value, limit), quote=False)
    return re.sub(r"([\\`*_{}\[\]#|~$!@]|(?<=:)/(?=/)|(?<=www)\.|^[-+](?= ))", r"\\\1", text)


def _markdown(report, drawn, lang):
    zh, told, chosen = lang == "zh", columns(report), recommended(report)
    advice = report.get("recommendation") or {}
    reason = advice.get("reason_zh" if zh else "reason") or advice.get("reason") or ""
    task = TASKS.get(report["task"], report["task"]) if zh else report["task"]

    def table(head, rows, left=1):
        ruler = [":--" if i < left else "--:" for i in range(len(head))]
        return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *rows]) + "\n"

    board = []
    for rank, rung in enumerate(report["rungs"], 1):
        name = f"**{_md(rung['rung'], 48)}** ✓" if rung is chosen else _md(rung["rung"], 48)
        if rung.get("failed"):
            board.append([name, "✗", f"{word('failed', lang)}: {_md(rung['failed'])}", *[""] * (len(told) - 1)])
        else:
            board.append([name, str(rank), *(column.show(rung) for column in told)])
    parts = [
        f"# {_md(report['data'], 60)} · {_md(task)}\n",
        (f"**{word('recommended', lang)}: {_md(chosen['rung'], 48)}.** " if chosen else f"**{word('none', lang)}** ")
        + f"{_md(reason, 1000)}\n",
        f"## {word('leaderboard', lang)}\n",
        table([word("rung", lang), "#", *(column.words[zh] for column in told)], board),
    ]
    for name, heading in (("quality-parameters", "quality"), ("curves", "curves"), ("sizes", "sizes")):
        if name in drawn:
            help = word(f"{heading}_help", lang)
            parts.append(f"## {word(heading, lang)}\n\n{help}\n\n![{name}]({name}.{lang}.svg)\n")
    if chosen and chosen.get("worst"):
        keys = ["input", "expected", "answer", "probability"]
        rows = [[_md(mistake.get(key, "–"), 80) for key in keys] for mistake in chosen["worst"][:10]]
        head = [word(key, lang) for key in keys]
        parts.append(f"## {_md(chosen['rung'], 48)}: {word('worst', lang)}\n\n{table(head, rows, left=3)}")
    for key, lines in (("notes", _notes(report, lang)), ("measured", measured(report)[lang])):
        if lines:
            parts.append(f"## {word(key, lang)}\n\n" + "".join(f"- {_md(line, 1000)}\n" for line in lines))
    return "\n".join(parts)


def _notes(report, lang):
    return (report.get("notes_zh") if lang == "zh" else None) or report.get("notes") or []


# The page: one file, both languages inside, nothing fetched from anywhere.


def page(report: dict, drawn: dict) -> str:
    chosen, advice = recommended(report), report.get("recommendation") or {}
    reason = advice.get("reason") or ""
    title = f"{_h(report['data'], 60)} · Wenmai 文脉"
    name = f"<em>{_h(chosen['rung'], 48)}</em>" if chosen else ""
    headline = _both(f"Use {name}.", f"推荐 {name}。") if chosen else _words("none")
    task = _h(report["task"]), _h(TASKS.get(report["task"], report["task"]))
    lines = [_section(key, _figure(drawn[key]), help=True) for key in ("curves", "sizes") if key in drawn]
    sections = [
        _section("leaderboard", _board(report, chosen)),
        _section("quality", _quality(drawn), help=True) if any(f"quality-{cost}" in drawn for cost in COSTS) else "",
        f'<div class="pair">{"".join(lines)}</div>' if lines else "",
        _section("each", "".join(_details(report, rung, i, rung is chosen) for i, rung in enumerate(report["rungs"]))),
        _section("notes", _lists({lang: _notes(report, lang) for lang in LANGS})) if report.get("notes") else "",
        _section("measured", _lists(measured(report))),
    ]
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(SCRIPT)}'; base-uri 'none'"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>{CSS}</style></head><body>
<header><nav><span class="brand">文脉 Wenmai</span><span><a href="#en">English</a> <a href="#zh">中文</a></span></nav>
<p class="eyebrow">{_h(report["data"], 60)} · {_both(*task)} · {len(report["rungs"])} {_words("rungs")}</p>
<h1>{headline}</h1><p class="reason">{_both(_h(reason, 1000), _h(advice.get("reason_zh") or reason, 1000))}</p>
{_facts(report, chosen)}</header>
<main>{"".join(sections)}</main><script>{SCRIPT}</script></body></html>
"""


def _h(value, limit=200) -> str:
    return escape(clean(value, limit))


def _both(en: str, zh: str, tag="span") -> str:
    return en if en == zh else f'<{tag} lang="en">{en}</{tag}><{tag} lang="zh">{zh}</{tag}>'


def _words(key) -> str:
    return _both(*map(escape, WORDS[key]))


def _section(key, body, help=False):
    lead = f"<p>{_words(f'{key}_help')}</p>" if help else ""
    return f"<section><h2>{_words(key)}</h2>{lead}{body}</section>"


def _lists(lines):
    items = {lang: "".join(f"<li>{_h(line, 1000)}</li>" for line in lines[lang]) for lang in LANGS}
    return "".join(f'<ul lang="{lang}">{items[lang]}</ul>' for lang in LANGS)


def _facts(report, chosen):
    """The recommended rung's numbers, large."""
    facts = [(_both(*map(escape, c.words)), c.show(chosen)) for c in columns(report)] if chosen else []
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{show}</dd></div>' for name, show in facts if show != '–')}</dl>"


def _board(report, chosen):
    told, (low, high) = columns(report), limits(report)

    def whiskers(rung):
        """The interval as a bar on the scale that all rungs share, the score as a dot on it."""
        if (score := main_score(report, rung)) is None:
            return ""
        places = (min(max(x, low), high) - low for x in (*interval(rung, score), score))
        left, right, at = (100 * place / (high - low or 1) for place in places)
        bar = f'<i style="left:{left:.1f}%;width:{right - left:.1f}%"></i><b style="left:{at:.1f}%"></b>'
        return f'<span class="range">{bar}</span>'

    def row(i, rung):
        failed, kind = rung.get("failed"), "chosen" if rung is chosen else "failed" if rung.get("failed") else "done"
        mark = f" <mark>{_words('recommended')}</mark>" if rung is chosen else ""
        link = f'<a href="#rung-{i}">{_h(rung["rung"], 48)}</a>'
        first = f'<tr class="{kind}"><td data-v="{i}">{"✗" if failed else i + 1}</td><th scope="row">{link}{mark}</th>'
        if failed:
            return f'{first}<td colspan="{len(told) + 1}" class="why">{_words("failed")}: {_h(failed)}</td></tr>'
        cells = [f'<td data-v="{"" if c.value(rung) is None else c.value(rung)}">{c.show(rung)}</td>' for c in told]
        return f'{first}{cells[0]}<td class="whiskers">{whiskers(rung)}</td>{"".join(cells[1:])}</tr>'

    heads = [f"<th><button>{_both(*map(escape, c.words))}</button></th>" for c in told]
    heads = ["<th><button>#</button></th>", f"<th>{_words('rung')}</th>", heads[0], "<th></th>", *heads[1:]]
    rows = "".join(row(i, rung) for i, rung in enumerate(report["rungs"]))
    return _scroll(f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody>", "board")


def _scroll(rows, kind):
    return f'<div class="scroll"><table class="{kind}">{rows}</table></div>'


def _figure(both):
    inner = "".join(f'<div lang="{lang}">{svg}</div>' for lang, svg in both.items())
    return f"<figure>{inner}</figure>"


def _quality(drawn):
    """One picture a cost; radio buttons and CSS show one of them, so it works without a script."""
    costs = [cost for cost in COSTS if f"quality-{cost}" in drawn]
    radios = "".join(
        f'<input type="radio" name="cost" id="by-{i}"{" checked" * (i == 0)}><label for="by-{i}">{_words(f"by_{cost}")}</label>'
        for i, cost in enumerate(costs)
    )
    return f'<div class="pick">{radios}{"".join(_figure(drawn[f"quality-{cost}"]) for cost in costs)}</div>'


def _details(report, rung, i, is_open):
    about = _both(_h(rung.get("about") or "", 400), _h(rung.get("about_zh") or rung.get("about") or "", 400))
    parts = [f"<p>{about}</p>"]
    if rung.get("failed"):
        parts.append(f'<p class="why">{_words("failed")}: {_h(rung["failed"], 1000)}</p>')
    options = dict(rung.get("options") or {})
    if finite(rung.get("learning_rate")) is not None:
        options |= {"learning_rate": f"{rung['learning_rate']:g}"}
    options |= {key: rung[key] for key in ("steps", "run") if rung.get(key) is not None}
    if options:
        told = " ".join(f"<code>{_h(key)}={_h(value, 60)}</code>" for key, value in options.items())
        parts.append(f"<h4>{_words('options')}</h4><p>{told}</p>")
    if rung.get("rates_tried"):
        tried = [f"<code>{x['learning_rate']:g} → {number(x.get('score'))}</code>" for x in rung["rates_tried"]]
        parts.append(f"<h4>{_words('rates')}</h4><p>{' '.join(tried)}</p>")
    if rung.get("confusion"):
        parts.append(_confusion(**rung["confusion"]))
    if rung.get("worst"):
        keys = ("input", "expected", "answer", "probability")
        rows = [[f"<bdi>{_h(mistake.get(key, '–'))}</bdi>" for key in keys] for mistake in rung["worst"][:10]]
        parts.append(f"<h4>{_words('worst')}</h4>{_table(keys, rows, 'worst')}")
    score = "" if rung.get("failed") else f"<span>{columns(report)[0].show(rung)}</span>"
    summary = f"<summary><b>{_h(rung['rung'], 48)}</b>{score}</summary>"
    return f'<details id="rung-{i}"{" open" * is_open}>{summary}{"".join(parts)}</details>'


def _table(keys, rows, kind=""):
    head = "".join(f"<th>{_words(key)}</th>" for key in keys)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return _scroll(f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>", kind)


def _confusion(classes, counts):
    """Up to 25 classes as a heat map, each row shaded by its own sum; beyond that the 20 pairs confused most."""
    sums = [sum(row) or 1 for row in counts]
    if len(classes) > 25:
        pairs = [(n, a, b) for a, row in enumerate(counts) for b, n in enumerate(row) if n and a != b]
        pairs = sorted(pairs, key=lambda pair: (-pair[0], *pair[1:]))[:20]
        rows = [[_h(classes[a], 40), _h(classes[b], 40), f"{n:,}", f"{n / sums[a]:.1%}"] for n, a, b in pairs]
        return f"<h4>{_words('pairs')}</h4>{_table(('expected', 'answer', 'count', 'share'), rows)}"
    names = [f"<bdi>{_h(name, 24)}</bdi>" for name in classes]
    head = "".join(f'<th scope="col"><span>{name}</span></th>' for name in names)

    def cell(a, b, n):
        return f'<td{" class=hit" * (a == b)} style="--v:{n / sums[a]:.2f}">{n}</td>' if n else "<td></td>"

    rows = ["".join(cell(a, b, n) for b, n in enumerate(row)) for a, row in enumerate(counts)]
    body = "".join(f'<tr><th scope="row">{name}</th>{row}</tr>' for name, row in zip(names, rows))
    heat = _scroll(f"<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>", "heat")
    return f"<h4>{_words('confusion')}</h4><p>{_words('confusion_help')}</p>{heat}"


def _digest(script):
    """Only this very script may run in the page, whatever the data holds."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


SCRIPT = """
const root = document.documentElement, hash = () => location.hash.slice(1)
const speak = lang => { root.lang = lang; document.querySelectorAll('nav a').forEach(
  a => a.toggleAttribute('aria-current', a.hash == '#' + lang)) }
const follow = () => { const to = document.getElementById(hash())
  if (/^(en|zh)$/.test(hash())) speak(hash()); else if (to) { to.open = true; to.scrollIntoView() } }
speak(navigator.language.startsWith('zh') ? 'zh' : 'en'); follow(); addEventListener('hashchange', follow)
document.querySelectorAll('.board button').forEach(button => button.onclick = () => {
  const th = button.parentNode, at = th.cellIndex, body = th.closest('table').tBodies[0]
  const up = th.ariaSort != 'ascending', sign = up ? 1 : -1
  th.parentNode.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'))
  th.ariaSort = up ? 'ascending' : 'descending'
  const value = row => row.className == 'failed' || row.cells[at].dataset.v === '' ? NaN : +row.cells[at].dataset.v
  body.append(...[...body.rows].sort((a, b) => { const x = value(a), y = value(b)
    return isNaN(x) - isNaN(y) || sign * (x - y) || 0 }))
})
"""

CSS = """
:root{--paper:#fbfaf6;--card:#fff;--ink:#24211d;--soft:#6b655c;--line:#e4dfd4;--seal:#b23a24;--cool:#2f7f79;
color-scheme:light}
@media(prefers-color-scheme:dark){:root{--paper:#181715;--card:#211f1c;--ink:#e8e4dc;--soft:#a19a8e;--line:#36332e;
--seal:#ee8468;--cool:#5fb8b0;color-scheme:dark}}
html:not([lang=zh]) [lang=zh],html[lang=zh] [lang=en]{display:none}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:0 24px 80px;background:var(--paper);color:var(--ink);
font:16px/1.65 system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",
sans-serif}
h1,h2,.brand{font-family:"Iowan Old Style","Palatino Linotype",Palatino,"Noto Serif","Noto Serif CJK SC","Songti SC",
SimSun,serif;
font-weight:600;line-height:1.2}
nav{display:flex;align-items:baseline;justify-content:space-between;padding:20px 0;border-bottom:1px solid var(--line)}
nav a{margin-left:14px;color:var(--soft);text-decoration:none}
nav a[aria-current]{color:var(--ink);border-bottom:2px solid var(--seal)}
.eyebrow{margin:48px 0 0;color:var(--soft);letter-spacing:.02em;overflow-wrap:anywhere}
h1{font-size:clamp(34px,6vw,54px);margin:.15em 0 .3em;overflow-wrap:anywhere}
h1 em{font-style:normal;color:var(--seal)}
.reason{font-size:19px;max-width:44em;margin:0}
dl{display:flex;flex-wrap:wrap;gap:14px 36px;margin:28px 0 0}dt{color:var(--soft);font-size:13px}
dd{margin:0;font-size:20px}
h2{font-size:26px;margin:64px 0 10px}h4{margin:24px 0 6px}section>p,details>p{color:var(--soft);margin:0 0 14px;
max-width:48em}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
td,dd{font-variant-numeric:tabular-nums}
th,td{padding:8px 10px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:500}
thead th{color:var(--soft);white-space:nowrap;vertical-align:bottom}.scroll{overflow-x:auto}
.board{width:100%;white-space:nowrap}.board td,.board thead th{text-align:right}
.board th:nth-child(2){text-align:left}
.board tbody th{position:sticky;left:0;background:var(--paper)}
.board a{color:inherit;text-underline-offset:3px;text-decoration-color:var(--line)}
.board .chosen>*{background:color-mix(in srgb,var(--seal) 9%,var(--paper))}.chosen th{font-weight:700}
button{all:unset;cursor:pointer}button:hover{color:var(--ink)}button:focus-visible{outline:2px solid var(--seal)}
th[aria-sort=ascending] button:after{content:" ↑"}th[aria-sort=descending] button:after{content:" ↓"}
mark{background:var(--seal);color:var(--paper);font-size:11.5px;font-weight:500;padding:2px 7px;border-radius:9px;
margin-left:6px}
.board .why{text-align:left;white-space:normal;min-width:16em}.why{color:var(--seal)}
.failed th,.failed td:first-child{color:var(--soft)}
.whiskers{width:110px}.range{position:relative;display:block;width:110px;height:8px;margin-top:8px}
.range i,.range b{position:absolute}.range i{top:3px;height:2px;background:var(--soft);opacity:.6;border-radius:1px}
.range b{width:8px;height:8px;margin-left:-4px;border-radius:4px;background:var(--cool)}
.chosen .range b{background:var(--seal)}
figure{margin:0;padding:18px;background:var(--card);border:1px solid var(--line);border-radius:10px;
--paper:var(--card)}
figure svg{display:block;width:100%;height:auto;max-width:740px;margin:auto}
.pair{display:flex;flex-wrap:wrap;gap:0 28px}.pair section{flex:1 1 440px;display:flex;flex-direction:column}
.pair figure{margin-top:auto;padding:12px}
.pick>figure{display:none}.pick>input{position:absolute;opacity:0}
.pick>label{display:inline-block;padding:3px 14px;margin:0 8px 12px 0;border:1px solid var(--line);border-radius:16px;
cursor:pointer;font-size:14px}
.pick>input:checked+label{background:var(--ink);color:var(--paper)}
.pick>input:focus-visible+label{outline:2px solid var(--seal)}
#by-0:checked~figure:nth-of-type(1),#by-1:checked~figure:nth-of-type(2),
#by-2:checked~figure:nth-of-type(3){display:block}
details{border-top:1px solid var(--line);padding:0 0 4px}details[open]{padding-bottom:28px}
summary{cursor:pointer;padding:12px 0}summary b{font-weight:600}
summary span{float:right;color:var(--soft);font-variant-numeric:tabular-nums}
code{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;background:var(--card);
border:1px solid var(--line);border-radius:5px;
padding:1px 6px;display:inline-block;margin:0 2px 4px 0;overflow-wrap:anywhere}
.worst{width:100%}.worst td{overflow-wrap:anywhere;white-space:pre-wrap;overflow:hidden;min-width:5em}
.worst td:nth-child(-n+3){min-width:9em}.worst td:first-child{min-width:14em}
.heat th,.heat td{border:0;padding:0 3px;font-size:11px;white-space:nowrap}
.heat tbody th{text-align:right;vertical-align:middle;padding-right:8px}
.heat td{width:30px;min-width:26px;height:26px;text-align:center;vertical-align:middle;border:1px solid var(--paper);
background:color-mix(in srgb,var(--seal) calc(12% + var(--v,0)*88%),var(--card))}
.heat td:not([style]){background:var(--card)}
.heat td.hit{background:color-mix(in srgb,var(--cool) calc(8% + var(--v,0)*50%),var(--card))}
.heat thead span{writing-mode:vertical-rl;transform:rotate(180deg);padding:6px 0;max-height:130px;overflow:hidden}
li{margin:4px 0;overflow-wrap:anywhere}ul{padding-left:1.2em;max-width:52em}
@media(max-width:600px){body{padding:0 16px 60px}.reason{font-size:17px}h2{margin-top:48px}figure{padding:12px 10px}
dl{gap:12px 26px}}
@media print{details{break-inside:avoid}}
"""
