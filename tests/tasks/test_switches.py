"""A task is known by its name in its own file and in the catalog, and nowhere else: all others ask it."""

import ast
from pathlib import Path

import wenmai
from wenmai.catalog import TASKS

SOURCE = Path(wenmai.__file__).parent
# where tasks are named: by themselves, by the rungs that do them, and by the built-in data sets that are made for them
OWN = ("tasks", "catalog.py", "data/builtin")


def names_in(node: ast.expr) -> set[str]:
    """Names of tasks that stand in an expression: alone, or among others."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return {part.value for part in parts if isinstance(part, ast.Constant) and part.value in TASKS}


def switches_in(text: str) -> list[tuple[int, str]]:
    """(line, the task's name) of every comparison with one, membership of one, case of one, and table whose keys are all tasks; a
    table of words or commands may have one among others."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            named = [names_in(side) for side in (node.left, *node.comparators)]
        elif isinstance(node, ast.Dict):
            named = [names_in(key) for key in node.keys if key is not None]
            named = named if all(named) else []
        elif isinstance(node, ast.MatchValue):
            named = [names_in(node.value)]
        else:
            continue
        found += [(node.lineno, name) for names in named for name in sorted(names)]
    return found


def test_what_a_switch_is():
    assert switches_in('task == "tag"') == [(1, "tag")]
    assert switches_in('if name in ("tag", "other", "compose"): pass') == [
        (1, "compose"),
        (1, "tag"),
    ]
    assert switches_in('kind = {"regress": 1, "tag": 2}.get(name)') == [(1, "regress"), (1, "tag")]
    assert switches_in('match task:\n    case "translate": pass') == [(2, "translate")]
    assert not switches_in(
        'task_name = "tag"\nsay("to classify, give a label")\ntask == other\n{"tag": "标签", "row": "行"}'
    )


def test_nobody_switches_on_the_name_of_a_task():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(OWN):
            found |= {
                f"{place}, line {line}": name for line, name in switches_in(path.read_text("utf-8"))
            }
    assert not found
