"""The report as a page: one file, both languages inside, nothing fetched from anywhere."""

import base64
import hashlib
from html import escape

from wenmai.locale import Message, told_in
from wenmai.page.leaderboard import WORDS, columns, measured, notes, recommended, sample_keys, task_name, worst_keys
from wenmai.page.lengths import lengths
from wenmai.page.pictures import COSTS, LANGS, clean, finite, interval, limits, main_score, number


def page(report: dict, drawn: dict) -> str:
    chosen, advice = recommended(report), report.get("recommendation") or {}
    reason = advice.get("reason") or ""
    title = f"{_h(report['data'], 60)} · Wenmai 文脉"
    name = f"<em>{_h(chosen['rung'], 48)}</em>" if chosen else ""
    headline = _both(*(Message("Use {rung}.", rung=name).told_in(lang) for lang in LANGS)) if chosen else _words("none")
    task = [_h(task_name(report, lang)) for lang in LANGS]
    lines = [_section(key, _figure(drawn[key]), help=True) for key in ("curves", "sizes") if key in drawn]
    sections = [_section("leaderboard", _board(report, chosen)),
                _section("lengths", _lengths(report), help=True) if lengths(report, "en") else "",
                _section("quality", _quality(drawn), help=True) if any(f"quality-{cost}" in drawn for cost in COSTS) else "",
                f'<div class="pair">{"".join(lines)}</div>' if lines else "",
                _section("each", "".join(_details(report, rung, i, rung is chosen) for i, rung in enumerate(report["rungs"]))),
                _section("notes", _lists({lang: notes(report, lang) for lang in LANGS})) if report.get("notes") else "",
                _section("measured", _lists({lang: [line.told_in(lang) for line in measured(report)] for lang in LANGS}))]
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()  # only this very script may run in the page
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
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


def _told(words: Message) -> str:
    return _both(*(escape(words.told_in(lang)) for lang in LANGS))


def _words(key) -> str:
    return _told(WORDS[key])


def _why(rung, limit=200) -> str:
    return _both(*(_h(told_in(rung["failed"], lang), limit) for lang in LANGS))


def _section(key, body, help=False):
    lead = f"<p>{_words(f'{key}_help')}</p>" if help else ""
    return f"<section><h2>{_words(key)}</h2>{lead}{body}</section>"


def _lists(lines):
    items = {lang: "".join(f"<li>{_h(line, 1000)}</li>" for line in lines[lang]) for lang in LANGS}
    return "".join(f'<ul lang="{lang}">{items[lang]}</ul>' for lang in LANGS)


def _facts(report, chosen):
    """The recommended rung's numbers, large."""
    facts = [(_told(c.words), c.show(chosen)) for c in columns(report)] if chosen else []
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{show}</dd></div>' for name, show in facts if show != '–')}</dl>"


def _board(report, chosen):
    shown, (low, high) = columns(report), limits(report)

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
            return f'{first}<td colspan="{len(shown) + 1}" class="why">{_words("failed")}: {_why(rung)}</td></tr>'
        cells = [f'<td data-v="{"" if c.value(rung) is None else c.value(rung)}">{c.show(rung)}</td>' for c in shown]
        return f'{first}{cells[0]}<td class="whiskers">{whiskers(rung)}</td>{"".join(cells[1:])}</tr>'

    heads = [f"<th><button>{_told(c.words)}</button></th>" for c in shown]
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
        parts.append(f'<p class="why">{_words("failed")}: {_why(rung, 1000)}</p>')
    options = dict(rung.get("options") or {})
    if finite(rung.get("learning_rate")) is not None:
        options |= {"learning_rate": f"{rung['learning_rate']:g}"}
    options |= {key: rung[key] for key in ("steps", "run") if rung.get(key) is not None}
    if options:
        codes = " ".join(f"<code>{_h(key)}={_h(value, 60)}</code>" for key, value in options.items())
        parts.append(f"<h4>{_words('options')}</h4><p>{codes}</p>")
    if rung.get("rates_tried"):
        tried = [f"<code>{x['learning_rate']:g} → {number(x.get('score'))}</code>" for x in rung["rates_tried"]]
        parts.append(f"<h4>{_words('rates')}</h4><p>{' '.join(tried)}</p>")
    if rung.get("confusion"):
        parts.append(_confusion(**rung["confusion"]))
    for name, keys_of, most in (("worst", worst_keys, 10), ("samples", sample_keys, None)):
        if rung.get(name):
            keys = keys_of(rung)
            rows = [[f"<bdi>{_h(row.get(key, '–'))}</bdi>" for key in keys] for row in rung[name][:most]]
            parts.append(f"<h4>{_words(name)}</h4>{_table(keys, rows, 'worst')}")
    score = "" if rung.get("failed") else f"<span>{columns(report)[0].show(rung)}</span>"
    summary = f"<summary><b>{_h(rung['rung'], 48)}</b>{score}</summary>"
    return f'<details id="rung-{i}"{" open" * is_open}>{summary}{"".join(parts)}</details>'


def _lengths(report):
    heads, bodies = zip(*(lengths(report, lang) for lang in LANGS))
    head = "".join(f"<th>{_both(*map(_h, words))}</th>" for words in zip(*heads))
    rows = "".join(f"<tr>{''.join(f'<td>{_h(cell)}</td>' for cell in row)}</tr>" for row in bodies[0])
    return _scroll(f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>", "lengths")


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
:root{--paper:#fbfaf6;--card:#fff;--ink:#24211d;--soft:#6b655c;--line:#e4dfd4;--seal:#b23a24;--cool:#2f7f79;color-scheme:light}
@media(prefers-color-scheme:dark){:root{--paper:#181715;--card:#211f1c;--ink:#e8e4dc;--soft:#a19a8e;--line:#36332e;
--seal:#ee8468;--cool:#5fb8b0;color-scheme:dark}}
html:not([lang=zh]) [lang=zh],html[lang=zh] [lang=en]{display:none}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:0 24px 80px;background:var(--paper);color:var(--ink);
font:16px/1.65 system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif}
h1,h2,.brand{font-family:"Iowan Old Style","Palatino Linotype",Palatino,"Noto Serif","Noto Serif CJK SC","Songti SC",SimSun,serif;
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
h2{font-size:26px;margin:64px 0 10px}h4{margin:24px 0 6px}section>p,details>p{color:var(--soft);margin:0 0 14px;max-width:48em}
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
mark{background:var(--seal);color:var(--paper);font-size:11.5px;font-weight:500;padding:2px 7px;border-radius:9px;margin-left:6px}
.board .why{text-align:left;white-space:normal;min-width:16em}.why{color:var(--seal)}
.failed th,.failed td:first-child{color:var(--soft)}
.whiskers{width:110px}.range{position:relative;display:block;width:110px;height:8px;margin-top:8px}
.range i,.range b{position:absolute}.range i{top:3px;height:2px;background:var(--soft);opacity:.6;border-radius:1px}
.range b{width:8px;height:8px;margin-left:-4px;border-radius:4px;background:var(--cool)}
.chosen .range b{background:var(--seal)}
figure{margin:0;padding:18px;background:var(--card);border:1px solid var(--line);border-radius:10px;--paper:var(--card)}
figure svg{display:block;width:100%;height:auto;max-width:740px;margin:auto}
.pair{display:flex;flex-wrap:wrap;gap:0 28px}.pair section{flex:1 1 440px;display:flex;flex-direction:column}
.pair figure{margin-top:auto;padding:12px}
.pick>figure{display:none}.pick>input{position:absolute;opacity:0}
.pick>label{display:inline-block;padding:3px 14px;margin:0 8px 12px 0;border:1px solid var(--line);border-radius:16px;
cursor:pointer;font-size:14px}
.pick>input:checked+label{background:var(--ink);color:var(--paper)}
.pick>input:focus-visible+label{outline:2px solid var(--seal)}
#by-0:checked~figure:nth-of-type(1),#by-1:checked~figure:nth-of-type(2),#by-2:checked~figure:nth-of-type(3){display:block}
details{border-top:1px solid var(--line);padding:0 0 4px}details[open]{padding-bottom:28px}
summary{cursor:pointer;padding:12px 0}summary b{font-weight:600}
summary span{float:right;color:var(--soft);font-variant-numeric:tabular-nums}
code{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;background:var(--card);
border:1px solid var(--line);border-radius:5px;padding:1px 6px;display:inline-block;margin:0 2px 4px 0;overflow-wrap:anywhere}
.lengths td+td,.lengths th+th{text-align:right}
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
