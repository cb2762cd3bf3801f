"""One server for many tests."""

from pathlib import Path

import made
import pytest
from client import serving

pytest.importorskip("fastapi", reason="serving needs wenmai[serve]")


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory) -> Path:
    return made.runs_in(tmp_path_factory.mktemp("served") / "runs")


@pytest.fixture(scope="session")
def server(made_runs):
    with serving(str(made_runs), cwd=made_runs.parent) as client:
        yield client
        log = (made_runs.parent / "server.log").read_text()
        assert "Traceback" not in log, log
