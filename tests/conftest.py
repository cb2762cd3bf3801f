"""What holds for all tests, and the command line as a fixture."""

import os
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
