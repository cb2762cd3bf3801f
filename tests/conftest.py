"""What holds for all tests; the command line and a browser as fixtures."""

import os
import shutil
import sys
from typing import NamedTuple

import pytest

# Models this small gain nothing from threads, which on a busy machine wait for one another; set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Sentences are told in the language of the locale; tests read English ones, unless they say otherwise.
os.environ["LC_ALL"] = "C.UTF-8"


# Files that take longest come first: processes take a file each, and none is to begin a long one when the others are done.
LONG = ("test_contract.py", "test_documents.py", "test_kills.py", "test_distributed.py", "test_mistakes.py", "test_fuzz.py",
        "test_exits.py", "test_crafted.py", "test_chinese.py")  # fmt: skip


def pytest_collection_modifyitems(items) -> None:
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def wenmai_cli(monkeypatch, capsys):
    """`wenmai …` in this process: wenmai_cli("train", "softmax", path) → status, out, err."""
    from wenmai.cli.commands import main

    monkeypatch.setattr("wenmai.page.terminal.EVERY", 3600.0)  # lines that come every few seconds would stand between the others

    def run(*arguments) -> Ran:
        monkeypatch.setattr(sys, "argv", ["wenmai", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        return Ran(status, *capsys.readouterr())

    return run


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")  # playwright keeps an event loop running, which other modules have no use for
def launched():
    """`launched("--flag", …)`: the system's own Chromium, a new one, which reaches nothing by itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright opens the pages: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed here, so that no page can be opened: apt-get install chromium")
    with playwright.sync_playwright() as started:
        usual = ["--no-sandbox", "--disable-background-networking"]
        yield lambda *flags: started.chromium.launch(executable_path=CHROMIUM, args=[*usual, *flags])


@pytest.fixture(scope="module")
def chromium(launched):
    browser = launched()
    yield browser
    browser.close()
