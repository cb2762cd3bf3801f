"""Pages are opened as a reader opens them, from a file, with nothing to reach."""

from contextlib import contextmanager

import pytest


@pytest.fixture
def opened(chromium):
    """`with opened(file, lang="zh", theme="dark", width=390) as page`: drawn to its end; whatever it complains of or asks for
    fails the test."""

    @contextmanager
    def open_page(file, lang="en", theme="light", width=1200, **how):
        context = chromium.new_context(
            color_scheme=theme,
            locale={"en": "en-US", "zh": "zh-CN"}[lang],
            viewport={"width": width, "height": 900},
            **how,
        )
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.evaluate("window.wenmai?.drawn?.all()")
        page.wait_for_timeout(250)
        try:
            yield page
        finally:
            context.close()
        assert not said, said
        assert asked == [file.as_uri()], asked

    return open_page
