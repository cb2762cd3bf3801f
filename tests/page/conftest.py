"""A real browser, the system's own: pages are opened as a reader opens them, from a file, with nothing to reach."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright opens the pages: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed here, so that no page can be opened: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """`with opened(file, lang="zh", theme="dark", width=390) as page`: drawn to its end; whatever it complains of or asks for
    fails the test."""

    @contextmanager
    def open_page(file, lang="en", theme="light", width=1200, **how):
        context = chromium.new_context(color_scheme=theme, locale={"en": "en-US", "zh": "zh-CN"}[lang],
                                       viewport={"width": width, "height": 900}, **how)  # fmt: skip
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
