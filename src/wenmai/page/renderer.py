"""The renderer of panels: one classic script, put together from drawing/, and its styles.

A page has it inside; a server links it (`SCRIPT`, `CSS`, and then `wenmai.draw(holder, data)` with the `data` of an Inspection);
a notebook shows a page in a frame. The words that it says itself go along with the data.
"""

from wenmai.locale import phrases
from wenmai.page.assets import asset
from wenmai.page.packing import Packing
from wenmai.page.panels import Inspection
from wenmai.page.panels_json import encoded
from wenmai.page.pictures import clean
from wenmai.page.strict_json import strict_json

FILES = (
    "basics.js",
    "matrix.js",
    "charts.js",
    "texts.js",
    "panels.js",
)  # of drawing/, in this order
SCRIPT = "(() => {\n'use strict'\n" + asset(*(f"drawing/{name}" for name in FILES)) + "})()\n"
CSS = asset("base.css", "renderer.css")
WORDS = phrases(
    "renderer",
    heat="heat map",
    lines="lines",
    picture="on the picture",
    view="view",
    all="All of them, small; choose one",
    smaller="smaller",
    larger="larger",
    numbers="The numbers",
    keys="Arrow keys go from cell to cell, + and − zoom.",
    series="series",
    name="name",
    value="value",
    detail="detail",
    picture_of="as a bar",
    more="Show the others",
    find="Find",
    group="group",
    beside="beside it:",
    token="token",
    box="box",
    before="one back",
    after="one on",
    whence="from",
)


def data(inspection: Inspection) -> dict:
    """What `wenmai.draw` takes: the inspection with its numbers packed and a user's words fit to be looked at."""
    pack = Packing()
    document = encoded(inspection, pack, shown)
    pack.finished()
    words = {
        key: {lang: words.told_in(lang) for lang in ("en", "zh")} for key, words in WORDS.items()
    }
    return {"inspection": document, "words": words}


def shown(text: str) -> str:
    """Blank tokens can be seen, as can line ends; nothing turns the text around it. Longer texts are cut."""
    return "␣" * len(text) if text and not text.strip(" ") and len(text) < 9 else clean(text, 2000)


def inline(inspection: Inspection) -> str:
    """The data as it may stand in a page: no tag can begin in it."""
    return (
        strict_json(data(inspection))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
