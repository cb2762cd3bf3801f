"""make report: counts that a maintainer may want to look at. None is a goal; none can fail.

python tools/report.py      one line per count
"""

import ast
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

import wenmai
from wenmai import Classifier, LanguageModel
from wenmai.catalog import TASKS
from wenmai.data.examples.streams import Stream
from wenmai.data.files.corpus import Corpus

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(wenmai.__file__).parent
# Folders and files in which the names of tasks belong.
NAME_TASKS = ("tasks", "catalog.py", "data/builtin")
MAX_COLUMNS = 100


def main() -> None:
    files = {path: path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    lines = [line for text in files.values() for line in text.splitlines()]
    functions = [node.name for text in files.values() for node in functions_in(ast.parse(text))]
    participles = [name for name in functions if re.match(r"_?[a-z]+ed(_|$)", name)]
    wide = sum(len(line) > MAX_COLUMNS for line in lines)
    print(
        f"{len(lines):,} lines of Python in src/ in {len(files)} files, {wide:,} over 100 columns"
    )
    print(f"{len(functions):,} functions, {len(participles)} with a participle ending in -ed first")
    for journey, work in (
        ("a GPT's batch to its loss", loss_of_a_batch()),
        ("a CSV row to its answer (wenmai predict)", answer_of_a_row()),
    ):
        print(f"{journey}: {len(files_visited(work))} files visited")
    for what, places in (
        ("files that the docstring of their folder does not name", unmapped_files()),
        ("comparisons with the name of a task outside tasks/", task_switches(files)),
    ):
        print(f"{len(places)} {what}" + "".join(f"\n    {place}" for place in places))


def functions_in(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def files_visited(work: Callable[[], object]) -> set[str]:
    """Files of src/ whose functions `work` calls; compiled code is not seen."""
    files = set()

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            files.add(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return {name for name in files if name.startswith(str(SOURCE))}


def loss_of_a_batch() -> Callable[[], object]:
    size = {"width": 8, "heads": 2, "layers": 1, "context": 4, "steps": 1, "validation": 0.0}
    model = LanguageModel("gpt", **size).fit(["a b c d e f"] * 9)
    stream = Stream(model.inputs_.read_all(Corpus.of(["a b c d"] * 9)), 4, carries=False)
    network = model.model_.train()
    return lambda: network.losses(stream.batch(np.arange(2)))[0][0].total.backward()


def answer_of_a_row() -> Callable[[], object]:
    from wenmai.cli.commands import main as command

    folder = Path(tempfile.mkdtemp())
    texts, labels = [f"film number {n}" for n in range(60)], ["good", "bad"] * 30
    (folder / "films.csv").write_text("\n".join(["text", *texts]), "utf-8")
    Classifier("gru", steps=2, hidden=8).fit(texts, labels).save(folder / "run")

    def predict() -> None:
        sys.argv = ["wenmai", "predict", str(folder / "run"), "--file", str(folder / "films.csv")]
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            try:
                command()
            except SystemExit as end:
                assert not end.code

    predict()  # imports are not counted
    return predict


def unmapped_files() -> list[str]:
    found = []
    for init in sorted(SOURCE.rglob("*/__init__.py")):
        words = re.findall(r"[\w]+", ast.get_docstring(ast.parse(init.read_text("utf-8"))) or "")
        files = {path.stem for path in init.parent.glob("*.py")} - {"__init__"}
        found += [f"{init.parent.relative_to(SOURCE)}/{name}.py" for name in files - {*words}]
    return sorted(found)


def task_switches(files: dict[Path, str]) -> list[str]:
    found = []
    for path, text in files.items():
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(NAME_TASKS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
                if any(isinstance(part, ast.Constant) and part.value in TASKS for part in parts):
                    found.append(f"{place}, line {node.lineno}: {ast.unparse(node)}")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
