"""The `__init__.py` of every folder is a map of it: all of its files and folders are named there."""

import ast
import re
from pathlib import Path

import pytest

import wenmai

SOURCE = Path(wenmai.__file__).parent
FOLDERS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SOURCE)))
def test_a_folder_names_what_stands_in_it(folder):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    words = set(re.findall(r"[\w/]+", text))
    missing = sorted(files - words)
    missing += sorted(f"{name}/" for name in folders if f"{name}/" not in words)
    assert not missing, f"{folder}/__init__.py says nothing of {', '.join(missing)}"
