"""What holds for all tests; the command line and a browser as fixtures."""

import os
import shutil
import sys
from typing import NamedTuple

import pytest
import tiers

# Models this small gain nothing from threads, which on a busy machine wait for one another; set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Sentences are told in the language of the locale; tests read English ones, unless they say otherwise.
os.environ["LC_ALL"] = "C.UTF-8"


# Files that take longest come first: processes take a file each, and none is to begin a long one when the others are done.
LONG = (
    "test_contract.py",
    "test_distributed.py",
    "test_documents.py",
    "test_kills.py",
    "test_fuzz.py",
    "test_mistakes.py",
    "test_crafted.py",
    "test_exits.py",
    "test_chinese.py",
    "test_lab.py",
    "test_spark.py",
    "test_counting.py",
    "test_panels.py",
    "test_training.py",
    "test_checkpoints.py",
    "test_losses.py",
    "test_soak.py",
    "test_defaults.py",
    "test_schedule.py",
    "test_translator.py",
    "test_language_model.py",
    "test_cli.py",
    "test_pretraining.py",
    "test_turns.py",
)


def pytest_addoption(parser) -> None:
    parser.addoption(
        "--tier",
        choices=("first", "rest", "all"),
        default="all",
        help="first: the tests of `make test` (see tests/tiers.py); rest: the others; all: both",
    )


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "slow: a test that `make test` leaves to `make test-all`")
    config.addinivalue_line("markers", "pairwise: `make test` takes every pair of its parameters")
    config.addinivalue_line("markers", "each_value: `make test` takes every value once")
    config.option.loadscopereorder = (
        False  # by which xdist begins with the files of the most tests: few and long ones came last
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """As --dist loadfile does, but of the contract, which is a third of all, a process takes the rungs of one name at a time."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, case = super()._split_scope(nodeid), nodeid.partition("[")[2]
            return f"{file} {case.split('-')[0]}" if file.endswith("test_contract.py") else file

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before -k and -m leave tests out: the sample is always the same
def pytest_collection_modifyitems(config, items) -> None:
    named = any("::" in argument for argument in config.args)
    if (tier := config.getoption("tier")) != "all" and not named:
        tests = {True: [], False: []}
        for item, first in zip(items, tiers.select(items)):
            tests[first].append(item)
        config.hook.pytest_deselected(items=tests[tier != "first"])
        items[:] = tests[tier == "first"]
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(autouse=True, scope="session")
def without_bf16():
    """`precision="auto"` is float32 on every processor; test_precision.py has bf16."""
    import torch

    with pytest.MonkeyPatch.context() as patch:
        for ask in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
            patch.setattr(torch.cpu, ask, lambda: False)
        yield


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def wenmai_cli(monkeypatch, capsys):
    """`wenmai …` in this process: wenmai_cli("train", "softmax", path) → status, out, err."""
    from wenmai.cli.commands import main

    monkeypatch.setattr(
        "wenmai.page.terminal.EVERY", 3600.0
    )  # lines that come every few seconds would stand between the others

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


CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


@pytest.fixture(
    scope="module"
)  # playwright keeps an event loop running, which other modules have no use for
def launched():
    """`launched("--flag", …)`: the system's own Chromium, a new one, which reaches nothing by itself."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright opens the pages: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip(
            "no Chromium is installed here, so that no page can be opened: apt-get install chromium"
        )
    with playwright.sync_playwright() as started:
        usual = ["--no-sandbox", "--disable-background-networking"]
        yield lambda *flags: started.chromium.launch(
            executable_path=CHROMIUM, args=[*usual, *flags]
        )


@pytest.fixture(scope="module")
def chromium(launched):
    browser = launched()
    yield browser
    browser.close()
