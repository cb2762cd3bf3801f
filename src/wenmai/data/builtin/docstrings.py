"""docstrings: the body of a docstring → its first line, from the standard library, whose sources are parsed and not run."""

import ast
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake

# No text of its own: tests, what is bundled for pip, tables of encodings, and the manual, which is a set by itself.
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "_bundled", "encodings", "pydoc_data"}
LONGEST = 2_000  # characters of a body; a few tell of a whole module
FEWEST = 3  # words of a body, and of a first line


def docstrings() -> Chunk:
    """Some 3,000 rows: of modules, classes and functions, each body once."""
    folder = Path(sysconfig.get_path("stdlib"))
    rows: dict[str, str] = {}
    for file in sources(folder):
        for text in texts(file.read_bytes()):
            body, line = parted(text)
            if len(body) <= LONGEST and min(len(body.split()), len(line.split())) >= FEWEST:
                rows.setdefault(body, line)
    if not rows:
        raise Mistake(
            "docstrings is read from the sources of the standard library, which are not in {folder}; use an "
            "interpreter that has them.",
            folder=folder,
        )
    return Chunk({"source": list(rows), "target": list(rows.values())}, range(1, len(rows) + 1))


def sources(folder: Path) -> Iterator[Path]:
    """The files of modules that are part of the standard library, by name."""
    for top in sorted(folder.iterdir()) if folder.is_dir() else ():
        if top.stem in sys.stdlib_module_names:
            for file in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
                if file.suffix == ".py" and not LEFT_OUT & set(file.relative_to(folder).parts):
                    yield file


def texts(source: bytes) -> Iterator[str]:
    """The docstrings of a file, in their order; of one that this interpreter cannot parse none."""
    if source.count(b'"""') + source.count(b"'''") < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old escapes and the like, which are not ours
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return
    yield from filter(None, map(ast.get_docstring, (tree, *defined(tree))))


def defined(tree: ast.AST) -> Iterator[ast.AST]:
    """Classes and functions, also those inside of others, or of an if."""
    for part in ("body", "orelse", "finalbody", "handlers"):
        for statement in getattr(tree, part, ()):
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield statement
            yield from defined(statement)


def parted(text: str) -> tuple[str, str]:
    """(the body, the first line) of a docstring, a paragraph of the body a line. A sentence that stands first may run over two
    lines; paragraphs with examples are left out. Both are empty where no sentence ends, nor a paragraph, with the first line."""
    first, rest = text.partition("\n")[::2]
    opening = re.split(r"\n\s*\n", text)[0]
    if first != opening and not first.rstrip().endswith("."):
        if opening.count("\n") > 1 or not re.search(r"[^.]\.\s*$", opening):
            return "", ""
        first, rest = opening, text[len(opening) :]
    body = [
        " ".join(paragraph.split())
        for paragraph in re.split(r"\n\s*\n", rest)
        if ">>>" not in paragraph
    ]
    return "\n".join(filter(None, body)), " ".join(first.split())
