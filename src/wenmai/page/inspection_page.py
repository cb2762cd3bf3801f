"""An Inspection as files, and as what a notebook shows.

index.html         one page, everything inside, nothing fetched from anywhere
NAME.en.svg …      a picture a panel, in both languages, and NAME.png
inspection.json    all of it with its numbers; numbers.npz has every array as exact as it was
"""

import io
from html import escape
from pathlib import Path

import numpy as np

from wenmai.errors import Mistake
from wenmai.locale import Message, harmless
from wenmai.page.assets import asset, policy
from wenmai.page.panel_pictures import pictures
from wenmai.page.panels import Inspection
from wenmai.page.panels_json import to_json
from wenmai.page.pictures import LANGS, clean
from wenmai.page.renderer import CSS, SCRIPT, inline
from wenmai.page.strict_json import strict_json
from wenmai.training import folders

PAGE = SCRIPT + asset(
    "language.js"
)  # which goes to the panel that the address names, so that panels come first
WITHOUT_SCRIPT = Message(
    "This page draws with a script. Without it: the pictures lie beside it, and inspection.json has the "
    "numbers."
)


def page(inspection: Inspection) -> str:
    """One HTML file."""
    facts = "".join(
        f"<div><dt>{_both(words)}</dt><dd><bdi>{escape(clean(value, 2000))}</bdi></dd></div>"
        for words, value in inspection.facts
    )
    title = escape(clean(inspection.title.english, 120))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · Wenmai 文脉</title>
<meta http-equiv="Content-Security-Policy" content="{policy(PAGE)}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>{CSS}</style></head><body>
<header><nav><span class="brand">文脉 Wenmai</span><span><a href="#en">English</a> <a href="#zh">中文</a></span></nav>
<h1>{_both(inspection.title)}</h1><dl>{facts}</dl></header>
<main><noscript>{_both(WITHOUT_SCRIPT)}</noscript></main>
<script type="application/json" id="inspection">{inline(inspection)}</script>
<script>{PAGE}</script></body></html>
"""


def _both(words: Message) -> str:
    en, zh = (escape(clean(words.told_in(lang), 1000)) for lang in LANGS)
    return en if en == zh else f'<span lang="en">{en}</span><span lang="zh">{zh}</span>'


def html_of(inspection: Inspection, height: int = 720) -> str:
    """For a notebook: the page in a frame of its own, which can reach nothing outside it."""
    frame = "width:100%;border:1px solid #8884;border-radius:8px;resize:vertical;overflow:auto"
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(clean(inspection.title, 120))}" style="{frame};height:{height}px" '
        f'srcdoc="{escape(page(inspection))}"></iframe>'
    )


def write(inspection: Inspection, folder, with_pictures: bool = True) -> list[Path]:
    """All files, in a folder that is new, empty or held an inspection before."""
    folder = Path(folder)
    check_place(folder)
    document, arrays = to_json(inspection)
    np.savez_compressed(numbers := io.BytesIO(), **arrays)
    files = {
        "index.html": page(inspection),
        "inspection.json": strict_json(document, indent=1) + "\n",
        "numbers.npz": numbers.getvalue(),
    } | (pictures(inspection) if with_pictures else {})

    def fill(place: Path) -> None:
        for name, text in files.items():  # half a surrogate pair in somebody's text: as an escape
            (place / name).write_bytes(
                text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
            )

    with folders.only_one(folder):
        folders.write(folder, fill)
    return [folder / name for name in files]


def check_place(folder: Path) -> None:
    """Asked before anything is computed, too. An inspection is replaced whole; whatever else stands there stays as it is."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Mistake(
            "{folder} is no folder, and one is to be written there; choose another --out.",
            folder=folder,
        )
    if not folder.exists():
        return
    there = {path.name for path in folder.iterdir()}
    ours = folders.named_in(folder)
    if there and not ({"index.html", "inspection.json"} <= ours and there <= ours):
        strange = min(there - ours) if there - ours else min(there)
        raise Mistake(
            "{folder} holds {name}, which no inspection wrote, and it is left as it is; choose another --out.",
            folder=folder,
            name=harmless(strange),
        )
