"""The lab: a page by hand that is the first client of /v1, and of nothing else. No build step, no inline script.

index.html   the page, lab.css its styles, lab.js what moves between its parts
base.js      asking the server, words, forms for inputs, answers as they are shown
try.js       Try; climb.js, guess.js, compare.js, inside.js, train.js: a part of the page each
words.py     what it says, in both languages
"""

import json
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

from wenmai.page.renderer import CSS, SCRIPT
from wenmai.serving.lab.words import document

HERE = Path(__file__).parent
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
}


def files() -> dict[str, str]:
    """All that the page is made of, by name; the renderer is the one that `wenmai inspect` has."""
    own = {
        file.name: file.read_text("utf-8")
        for file in sorted(HERE.iterdir())
        if file.suffix in KINDS
    }
    return own | {
        "renderer.js": SCRIPT,
        "base.css": CSS,
        "words.json": json.dumps(document(), ensure_ascii=False),
    }


def routes(app: FastAPI) -> None:
    known = files()

    def page(name: str) -> Callable:
        async def sent() -> Response:
            return Response(known[name], media_type=f"{KINDS[Path(name).suffix]}; charset=utf-8")

        return sent

    for name in known:
        app.add_api_route(
            "/" if name == "index.html" else f"/lab/{name}",
            page(name),
            methods=["GET"],
            include_in_schema=False,
        )
