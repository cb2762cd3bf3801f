"""make quick: the tests that changes since main are about, a path a line: those that were changed themselves, and those that
import a module that was."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONG = {
    "test_contract.py",
    "test_documents.py",
    "test_fuzz.py",
    "test_kills.py",
}  # take minutes: for make test


def changed() -> list[Path]:
    """Files that differ from where this branch left main, and new ones."""
    new = git("ls-files --others --exclude-standard")
    return [
        Path(line) for line in [*git("diff --name-only --diff-filter=d --merge-base main"), *new]
    ]


def git(command: str) -> list[str]:
    return subprocess.run(
        ["git", *command.split()], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def tests_about(files: list[Path], tests: dict[Path, str]) -> list[Path]:
    """`tests`: path → text"""
    modules = [
        file.relative_to("src").with_suffix("").parts
        for file in files
        if file.suffix == ".py" and file.parts[0] == "src"
    ]
    parts = [part[:-1] if part[-1] == "__init__" else part for part in modules]
    imports = [
        rf"(?:from|import) {re.escape('.'.join(part))}\b|from {re.escape('.'.join(part[:-1]))} import .*\b{part[-1]}\b"
        for part in parts
        if len(part) > 1
    ]
    return sorted(
        path
        for path, text in tests.items()
        if path in files or any(re.search(wanted, text) for wanted in imports)
    )


if __name__ == "__main__":
    tests = {
        path.relative_to(ROOT): path.read_text("utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.name not in LONG
    }
    print("\n".join(map(str, tests_about(changed(), tests))))
