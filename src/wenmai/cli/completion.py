"""What the shell completes: rungs, runs, built-in data. It has to be quick, so that nothing is loaded that learns."""

import re
from pathlib import Path


def rung_names() -> list[str]:
    """As the catalog's table has them, read without loading what builds them."""
    table = (Path(__file__).parents[1] / "catalog.py").read_text("utf-8")
    return re.findall(r'^        Rung\("([\w-]+)"', table, re.M)


def rungs(incomplete: str) -> list[str]:
    return [name for name in rung_names() if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Run folders that begin so; of folders that hold some, those."""
    paths = {str(path) for path in below(incomplete) if (path / "run.json").is_file()}
    paths |= {f"{path}/" for path in below(incomplete) if any(path.glob("*/run.json"))}
    if not incomplete and "runs/" in paths:
        return runs("runs/")
    return sorted(paths)


def rungs_and_runs(incomplete: str) -> list[str]:
    return rungs(incomplete) + runs(incomplete)


def data(incomplete: str) -> list[str]:
    """Built-in sets, and files and folders."""
    from wenmai.data.builtin import BUILTIN

    files = [f"{path}/" if path.is_dir() else str(path) for path in below(incomplete)]
    return [name for name in BUILTIN if name.startswith(incomplete)] + sorted(files)


def below(incomplete: str) -> list[Path]:
    folder, _, start = incomplete.rpartition("/")
    place = Path(folder or ("/" if incomplete.startswith("/") else "."))
    try:
        return [
            path
            for path in place.iterdir()
            if path.name.startswith(start) and (start or not path.name.startswith("."))
        ]
    except OSError:
        return []
