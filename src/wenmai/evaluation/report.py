"""The report that `compare` leaves: report.json, report.md, report.html and the pictures."""

import os
import re
from html import escape
from pathlib import Path

from wenmai.data.files.packing import packed
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import told_in
from wenmai.page.leaderboard import (
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
    word,
    worst_keys,
)
from wenmai.page.pictures import LANGS, as_file, clean, picture_files, pictures, png
from wenmai.page.report_page import page
from wenmai.page.strict_json import strict_json


def write(report: dict, folder) -> list[Path]:
    """report.json, report.md, report.html and the pictures (SVG in both languages, one PNG) under `folder`."""
    folder = Path(folder)
    check_place(folder)
    svgs, image = pictures(report), png(report)
    files = {
        "report.json": strict_json(report, indent=1) + "\n",
        "report.md": markdown(report, svgs),
        "report.html": page(report, svgs),
        **{
            f"{name}.{lang}.svg": as_file(svg)
            for name, both in svgs.items()
            for lang, svg in both.items()
        },
        **({"quality.png": image} if image else {}),
    }
    for (
        name,
        text,
    ) in (
        files.items()
    ):  # half a surrogate pair in somebody's text: JSON has an escape for it, as here
        with packed(folder / name) as file:
            file.write(
                text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
            )
    return [folder / name for name in files]


def check_place(folder: Path) -> None:
    """A report can be written there: asked before training too, lest its work be lost. Files of these names are written over
    where a report of ours stands beside them; else they are somebody's."""
    if folder.exists() and not folder.is_dir():
        raise Mistake(
            "{folder} is a file, where a folder for the report is to be written; choose another --out.",
            folder=folder,
        )
    if not is_ours(folder / "report.json"):
        for name in ("report.json", "report.md", "report.html", *picture_files()):
            if os.path.lexists(folder / name):
                raise Mistake(
                    "{folder} holds {name}, which no comparison wrote, and it is left as it is; choose another --out.",
                    folder=folder,
                    name=name,
                )


def is_ours(path: Path) -> bool:
    try:
        return {"data", "task", "metric", "rungs"} <= set(take.json_in(path))
    except (OSError, ValueError, TypeError, RecursionError, take.Unfit):
        return False


def markdown(report: dict, svgs: dict) -> str:
    return "\n---\n\n".join(_markdown(report, svgs, lang) for lang in LANGS)


def _md(value, limit=200) -> str:
    """The user's text, so that neither Markdown nor HTML nor GitHub's automatic links see anything in it."""
    text = escape(clean(value, limit), quote=False)
    return re.sub(r"([\\`*_{}\[\]#|~$!@]|(?<=:)/(?=/)|(?<=www)\.|^[-+](?= ))", r"\\\1", text)


def _markdown(report, svgs, lang):
    zh, shown, chosen = lang == "zh", columns(report), recommended(report)
    advice = report.get("recommendation") or {}
    reason = advice.get("reason_zh" if zh else "reason") or advice.get("reason") or ""

    def table(head, rows, left=1):
        ruler = [":--" if i < left else "--:" for i in range(len(head))]
        return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *rows]) + "\n"

    board = []
    for rank, rung in ranked(report):
        name = (
            f"**{_md(rung['rung'], 48)}** ✓" if rung is chosen else _md(called(report, rung, lang))
        )
        if rung.get("failed"):
            board.append(
                [
                    name,
                    place(rank, rung),
                    f"{word('failed', lang)}: {_md(told_in(rung['failed'], lang))}",
                    *[""] * (len(shown) - 1),
                ]
            )
        else:
            cells = [told_in(column.show(rung), lang) for column in shown]
            board.append([name if rank else f"*{name}*", place(rank, rung), *cells])
    parts = [
        f"# {_md(report['data'], 60)} · {_md(task_name(report, lang))}\n",
        (
            f"**{word('recommended', lang)}: {_md(chosen['rung'], 48)}.** "
            if chosen
            else f"**{word('none', lang)}** "
        )
        + f"{_md(reason, 1000)}\n",
        *(
            [f"{word('next', lang)}: `{clean(advice['next']).replace('`', ' ')}`\n"]
            if advice.get("next")
            else []
        ),
        f"## {word('leaderboard', lang)}\n",
        table([word("rung", lang), "#", *(column.words.told_in(lang) for column in shown)], board),
    ]
    for key, scores in (("lengths", length_scores), ("groups", group_scores)):
        if score_table := scores(report, lang):
            head, rows = score_table[0], [list(map(_md, row)) for row in score_table[1]]
            parts.append(
                f"## {word(key, lang)}\n\n{word(f'{key}_help', lang)}\n\n{table(list(map(_md, head)), rows)}"
            )
    for name, heading in (
        ("quality-parameters", "quality"),
        ("curves", "curves"),
        ("sizes", "sizes"),
    ):
        if name in svgs:
            help = word(f"{heading}_help", lang)
            parts.append(f"## {word(heading, lang)}\n\n{help}\n\n![{name}]({name}.{lang}.svg)\n")
    if chosen and (classes := class_table(chosen, lang)):
        head, rows = classes
        rows = [list(map(_md, row)) for row in rows]
        parts.append(
            f"## {_md(chosen['rung'], 48)}: {word('per_class', lang)}\n\n{table(head, rows)}"
        )
    for name, keys_of, most in (("worst", worst_keys, 10), ("samples", sample_keys, None)):
        if chosen and chosen.get(name):
            keys = keys_of(chosen)
            rows = [[_md(row.get(key, "–"), 80) for key in keys] for row in chosen[name][:most]]
            head, left = [word(key, lang) for key in keys], 3 if name == "worst" else len(keys)
            parts.append(
                f"## {_md(chosen['rung'], 48)}: {word(name, lang)}\n\n{table(head, rows, left)}"
            )
    for key, lines in (
        ("notes", notes(report, lang)),
        ("measured", [line.told_in(lang) for line in measured(report)]),
    ):
        if lines:
            parts.append(
                f"## {word(key, lang)}\n\n" + "".join(f"- {_md(line, 1000)}\n" for line in lines)
            )
    return "\n".join(parts)
