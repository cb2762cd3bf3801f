"""The report as a page: one file, both languages inside, nothing fetched from anywhere."""

import re
from html import escape

from wenmai.locale import Message, told_in
from wenmai.page.assets import asset, policy
from wenmai.page.leaderboard import (
    WORDS,
    called,
    class_table,
    columns,
    group_scores,
    length_scores,
    measured,
    notes,
    place,
    ranked,
    recommended,
    sample_keys,
    task_name,
    worst_keys,
)
from wenmai.page.pictures import COSTS, LANGS, clean, finite, interval, limits, main_score, number

SCORED = (("lengths", length_scores), ("groups", group_scores))  # a section, and what is in it
CSS, SCRIPT = asset("base.css", "report.css"), asset("language.js", "report.js")


def page(report: dict, svgs: dict) -> str:
    chosen, advice = recommended(report), report.get("recommendation") or {}
    reason = advice.get("reason") or ""
    title = f"{_h(report['data'], 60)} · Wenmai 文脉"
    name = f"<em>{_h(chosen['rung'], 48)}</em>" if chosen else ""
    headline = (
        _both(*(Message("Use {rung}.", rung=name).told_in(lang) for lang in LANGS))
        if chosen
        else _words("none")
    )
    shown = (
        [(_bilingual(c.words), _cell(c.show(chosen))) for c in columns(report)] if chosen else []
    )  # large
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{show}</dd></div>" for name, show in shown if show != "–"
    )
    task = [_h(task_name(report, lang)) for lang in LANGS]
    lines = [
        _section(key, _figure(svgs[key], key), help=True)
        for key in ("curves", "sizes")
        if key in svgs
    ]
    sections = [
        _section("leaderboard", _board(report, chosen)),
        *(
            _section(key, _both_tables(scores, report, key), help=True)
            for key, scores in SCORED
            if scores(report, "en")
        ),
        _section("quality", _quality(svgs), help=True)
        if any(f"quality-{cost}" in svgs for cost in COSTS)
        else "",
        f'<div class="pair">{"".join(lines)}</div>' if lines else "",
        _section(
            "each",
            "".join(
                _details(report, rung, i, rung is chosen) for i, rung in enumerate(report["rungs"])
            ),
        ),
        _section("notes", _lists({lang: notes(report, lang) for lang in LANGS}))
        if report.get("notes")
        else "",
        _section(
            "measured",
            _lists({lang: [line.told_in(lang) for line in measured(report)] for lang in LANGS}),
        ),
    ]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="{policy(SCRIPT)}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>{CSS}</style></head><body>
<header><nav><span class="brand">文脉 Wenmai</span><span><a href="#en">English</a> <a href="#zh">中文</a></span></nav>
<p class="eyebrow"><bdi>{_h(report["data"], 60)}</bdi> · {_both(*task)} · {len(report["rungs"])} {_words("rungs")}</p>
<h1>{headline}</h1><p class="reason">{_both(_h(reason, 1000), _h(advice.get("reason_zh") or reason, 1000))}</p>
{_next(advice)}<dl>{facts}</dl></header>
<main>{"".join(sections)}</main><script>{SCRIPT}</script></body></html>
"""


def _next(advice) -> str:
    """The command that the recommended run is used with, to be copied."""
    if not advice.get("next"):
        return ""
    return (
        f'<p class="next">{_words("next")}: <code translate="no">{_h(advice["next"], 400)}</code> '
        f"<button>{_words('copy')}</button></p>"
    )


def _h(value, limit=200) -> str:
    return escape(clean(value, limit))


def _both(en: str, zh: str, tag="span") -> str:
    return en if en == zh else f'<{tag} lang="en">{en}</{tag}><{tag} lang="zh">{zh}</{tag}>'


def _bilingual(words: Message) -> str:
    return _both(*(escape(words.told_in(lang)) for lang in LANGS))


def _cell(text: str) -> str:
    return _bilingual(text) if isinstance(text, Message) else text


def _words(key) -> str:
    return _bilingual(WORDS[key])


def _why(rung, limit=200) -> str:
    return _both(*(_h(told_in(rung["failed"], lang), limit) for lang in LANGS))


def _section(key, body, help=False):
    lead = f"<p>{_words(f'{key}_help')}</p>" if help else ""
    return f"<section><h2>{_words(key)}</h2>{lead}{body}</section>"


def _lists(lines):
    items = {lang: "".join(f"<li>{_h(line, 1000)}</li>" for line in lines[lang]) for lang in LANGS}
    return "".join(f'<ul lang="{lang}">{items[lang]}</ul>' for lang in LANGS)


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

    def row(i, rank, rung):
        failed, kind = (
            rung.get("failed"),
            "chosen" if rung is chosen else "failed" if rung.get("failed") else "done",
        )
        mark = f" <mark>{_words('recommended')}</mark>" if rung is chosen else ""
        if rank:
            link = f'<a href="#rung-{rank - 1}">{_h(rung["rung"], 48)}</a>'
        else:
            kind, abouts = "baseline", [_h(rung[key], 400) for key in ("about", "about_zh")]
            link = "".join(
                f'<span lang="{lang}" title="{about}">{_h(called(report, rung, lang))}</span>'
                for lang, about in zip(LANGS, abouts)
            )
        first = f'<tr class="{kind}"><td data-v="{i}">{place(rank, rung)}</td><th scope="row">{link}{mark}</th>'
        if failed:
            return f'{first}<td colspan="{len(shown) + 1}" class="why">{_words("failed")}: {_why(rung)}</td></tr>'
        cells = [
            f'<td data-v="{"" if c.value(rung) is None else c.value(rung)}">{_cell(c.show(rung))}</td>'
            for c in shown
        ]
        return (
            f'{first}{cells[0]}<td class="whiskers">{whiskers(rung)}</td>{"".join(cells[1:])}</tr>'
        )

    heads = [f'<th scope="col"><button>{_explained(c)}</button></th>' for c in shown]
    heads = [
        '<th scope="col"><button>#</button></th>',
        f'<th scope="col">{_words("rung")}</th>',
        heads[0],
        f'<th scope="col"><span class="aside">{_words("interval")}</span></th>',
        *heads[1:],
    ]
    rows = "".join(row(i, *placed) for i, placed in enumerate(ranked(report)))
    board = _scroll(
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody>",
        "board",
        _words("leaderboard"),
    )
    meanings = "".join(
        f"<li><b>{_bilingual(c.words)}</b> {_bilingual(c.meaning)}</li>" for c in shown if c.meaning
    )
    return f'{board}<div class="meanings"><h3>{_words("meanings")}</h3><ul>{meanings}</ul></div>'


def _explained(column) -> str:
    """A heading, with what it means where the mouse rests on it."""
    if not column.meaning:
        return _bilingual(column.words)
    both = (
        (lang, *(escape(words.told_in(lang)) for words in (column.meaning, column.words)))
        for lang in LANGS
    )
    return "".join(
        f'<abbr lang="{lang}" title="{meaning}">{words}</abbr>' for lang, meaning, words in both
    )


def _scroll(rows, kind, caption):
    """A table that may be wider than the page: by its name for those who hear it, and in reach of the keyboard."""
    named = f'<caption class="aside">{caption}</caption>'
    return f'<div class="scroll" tabindex="0"><table class="{kind}">{named}{rows}</table></div>'


def _figure(both, key):
    """A picture a language, by its name for those who do not see it."""

    def named(lang):
        return re.sub(
            r'(?<=aria-label=")[^"]*',
            lambda _: escape(WORDS[key].told_in(lang)),
            both[lang],
            count=1,
        )

    return f"<figure>{''.join(f'<div lang={lang}>{named(lang)}</div>' for lang in both)}</figure>"


def _quality(svgs):
    """One picture a cost; radio buttons and CSS show one of them, so it works without a script."""
    costs = [cost for cost in COSTS if f"quality-{cost}" in svgs]
    radios = "".join(
        f'<input type="radio" name="cost" id="by-{i}"{" checked" * (i == 0)}><label for="by-{i}">{_words(f"by_{cost}")}</label>'
        for i, cost in enumerate(costs)
    )
    name = escape(" · ".join(WORDS["quality"].told_in(lang) for lang in LANGS))
    figures = "".join(_figure(svgs[f"quality-{cost}"], f"by_{cost}") for cost in costs)
    return f'<div class="pick" role="radiogroup" aria-label="{name}">{radios}{figures}</div>'


def _details(report, rung, i, is_open):
    about = _both(
        _h(rung.get("about") or "", 400), _h(rung.get("about_zh") or rung.get("about") or "", 400)
    )
    parts = [f"<p>{about}</p>"]
    if rung.get("failed"):
        parts.append(f'<p class="why">{_words("failed")}: {_why(rung, 1000)}</p>')
    options = dict(rung.get("options") or {})
    if finite(rung.get("learning_rate")) is not None:
        options |= {"learning_rate": f"{rung['learning_rate']:g}"}
    options |= {key: rung[key] for key in ("steps", "run") if rung.get(key) is not None}
    if options:
        codes = " ".join(
            f"<code>{_h(key)}={_h(value, 60)}</code>" for key, value in options.items()
        )
        parts.append(f"<h4>{_words('options')}</h4><p>{codes}</p>")
    if rung.get("rates_tried"):
        tried = [
            f"<code>{x['learning_rate']:g} → {number(x.get('score'))}</code>"
            for x in rung["rates_tried"]
        ]
        parts.append(f"<h4>{_words('rates')}</h4><p>{' '.join(tried)}</p>")
    if rung.get("per_class"):
        parts.append(
            f"<h4>{_words('per_class')}</h4>{_both_tables(class_table, rung, 'per_class')}"
        )
    if rung.get("confusion"):
        parts.append(_confusion(**rung["confusion"]))
    for name, keys_of, most in (("worst", worst_keys, 10), ("samples", sample_keys, None)):
        if rung.get(name):
            keys = keys_of(rung)
            rows = [[_h(row.get(key, "–")) for key in keys] for row in rung[name][:most]]
            parts.append(
                f"<h4>{_words(name)}</h4>{_table(map(_words, keys), rows, 'worst', _words(name))}"
            )
    score = "" if rung.get("failed") else f"<span>{columns(report)[0].show(rung)}</span>"
    summary = f"<summary><b>{_h(rung['rung'], 48)}</b>{score}</summary>"
    return f'<details id="rung-{i}"{" open" * is_open}>{summary}{"".join(parts)}</details>'


def _both_tables(scores, of, key):
    """A table whose words are in both languages; cells beside a name are numbers, or the same in both."""
    heads, bodies = zip(*(scores(of, lang) for lang in LANGS))
    rows = [[_both(*map(_h, cell)) for cell in zip(*row)] for row in zip(*bodies)]
    return _table([_both(*map(_h, words)) for words in zip(*heads)], rows, "lengths", _words(key))


def _table(names, rows, kind, caption):
    """What a user wrote is set from right to left where it is read so."""
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td dir=auto>{cell}</td>' for cell in row)}</tr>" for row in rows
    )
    return _scroll(f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>", kind, caption)


def _confusion(classes, counts):
    """Up to 25 classes as a heat map, each row shaded by its own sum; beyond that the 20 pairs confused most."""
    sums = [sum(row) or 1 for row in counts]
    if len(classes) > 25:
        pairs = [
            (n, a, b) for a, row in enumerate(counts) for b, n in enumerate(row) if n and a != b
        ]
        pairs = sorted(pairs, key=lambda pair: (-pair[0], *pair[1:]))[:20]
        rows = [
            [_h(classes[a], 40), _h(classes[b], 40), f"{n:,}", f"{n / sums[a]:.1%}"]
            for n, a, b in pairs
        ]
        names = map(_words, ("expected", "answer", "count", "share"))
        return f"<h4>{_words('pairs')}</h4>{_table(names, rows, '', _words('pairs'))}"
    names = [f"<bdi>{_h(name, 24)}</bdi>" for name in classes]
    head = "".join(f'<th scope="col"><span>{name}</span></th>' for name in names)

    def cell(a, b, n):
        return (
            f'<td{" class=hit" * (a == b)} style="--v:{n / sums[a]:.2f}">{n}</td>'
            if n
            else "<td></td>"
        )

    rows = ["".join(cell(a, b, n) for b, n in enumerate(row)) for a, row in enumerate(counts)]
    body = "".join(f'<tr><th scope="row">{name}</th>{row}</tr>' for name, row in zip(names, rows))
    heat = _scroll(
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody>", "heat", _words("confusion")
    )
    return f"<h4>{_words('confusion')}</h4><p>{_words('confusion_help')}</p>{heat}"
