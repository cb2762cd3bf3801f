"""Wrong programs on purpose: each change is made to one module, the few tests that concern it are run, and one of them must fail.

    python tools/mutants.py                       of every module in mutants.toml some changes, drawn by --seed, `--each 20`
    python tools/mutants.py loop heads            of these modules alone; --each 0 makes every change
    python tools/mutants.py --bugs                the wrong programs written out in mutants.toml, each of which was once missed
    python tools/mutants.py --bugs clip           those whose name begins so
    python tools/mutants.py --tier first          60 changes drawn from the packages in TIERED; the first tier's tests
    python tools/mutants.py --tier all            the same changes; what the first tier misses, the other tests are asked
    python tools/mutants.py --jobs 8              so many changes at a time

No file is touched: a process is forked for every change, which imports the changed module from memory; torch was loaded before.
So a change costs what its tests cost; what they miss, the `wider` ones of mutants.toml are asked. What no test noticed is printed
with its line; what is listed as a survivor there, with the reason why no test can or need notice it, is counted apart.
"""

import argparse
import ast
import builtins
import copy
import importlib.abc
import importlib.machinery
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import pytest
import touched

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
ALONE = Lock()  # one thread forks or prints at a time
NEAR = 6  # lines that a statement may take
ENDED = (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL)
TIERED = ("layers", "models", "tasks", "training", "data", "evaluation")  # packages for --tier
DRAWN = 60  # changes for --tier
TOLD = (
    "Message",
    "Mistake",
    "phrase",
    "plural",
    "Listed",
)  # what users are told is watched by other tests

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "zeros": "ones", "ones": "zeros"}


def changes(node: ast.AST) -> list[ast.AST]:
    """What may stand in its place and means something else."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        return [changed(node, ops=[COMPARED[type(node.ops[0])](), *node.ops[1:]])]
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        return [changed(node, op=COMPUTED[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        return [changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [changed(node, body=node.orelse, orelse=node.body)]
    if isinstance(node, (ast.If, ast.While)):
        return [changed(node, test=ast.UnaryOp(ast.Not(), node.test))]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [changed(node, value=not node.value)]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return [
            changed(
                node, value=node.value + 1 if isinstance(node.value, int) else node.value * 2 or 1.0
            )
        ]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLED:
        return [changed(node, func=changed(node.func, id=CALLED[node.func.id]))]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLED
    ):
        return [changed(node, func=changed(node.func, attr=CALLED[node.func.attr]))]
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        return [ast.Pass()]
    return []


def changed(node: ast.AST, **fields) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def each_change(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(node, changed node) for every change; the tree holds one until the next is asked for."""

    def visit(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for at, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or is_told(child):
                    continue
                for other in changes(child):
                    put(node, field, at if isinstance(value, list) else None, other)
                    yield child, other
                    put(node, field, at if isinstance(value, list) else None, child)
                yield from visit(child)

    return visit(tree)


def mutants(text: str, wanted: set[int] | None = None) -> list[tuple[int, str, str]]:
    """(line, what changed, the module's text) for every change, or those numbered in `wanted`."""
    tree, found = ast.parse(text), []
    for number, (child, other) in enumerate(each_change(tree)):
        if wanted is None or number in wanted:
            before = ast.unparse(child).split("\n")[0]
            after = "nothing" if isinstance(other, ast.Pass) else ast.unparse(other).split("\n")[0]
            text = ast.unparse(ast.fix_missing_locations(tree))
            found.append((child.lineno, f"{before}  →  {after}", text))
    return found


def is_told(node: ast.AST) -> bool:
    """A sentence for users, a docstring, or a declaration of types."""
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        return True
    name = (
        getattr(node.func, "id", getattr(node.func, "attr", ""))
        if isinstance(node, ast.Call)
        else ""
    )
    return name in TOLD


def put(node: ast.AST, field: str, at: int | None, value: ast.AST) -> None:
    if at is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[at] = value


class Changed(importlib.abc.MetaPathFinder):
    """Imports one module from a text instead of from its file."""

    def __init__(self, name: str, path: Path, text: str):
        self.name, self.path, self.text = name, path, text

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        loader = importlib.machinery.SourceFileLoader(name, str(self.path))
        loader.get_code = lambda _: compile(self.text, str(self.path), "exec")
        return importlib.machinery.ModuleSpec(name, loader, origin=str(self.path))


def noticed(
    changed: dict[Path, str],
    tests: list[str],
    seconds: int,
    log: str = os.devnull,
    plugins: Sequence = (),
    stop: bool = True,
) -> str:
    """How it was noticed that modules have these texts: "failed", or "endless" where the tests took more processor time than
    `seconds`, or ten times as long on the clock (so a busy machine notices nothing that a quiet one would not); "" if it was
    not."""
    with ALONE:  # what another thread holds at a fork, a child waits for in vain
        child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(log, os.O_RDWR | os.O_CREAT)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        signal.alarm(10 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        status = 1
        try:
            import numba

            for path, text in changed.items():
                sys.meta_path.insert(0, Changed(module_name(path), path, text))
                if (
                    "njit" in text
                ):  # Numba would find the unchanged code in its cache, or leave the changed one there
                    numba.config.CACHE_DIR = tempfile.mkdtemp()
            options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(["-x"] if stop else [])]
            status = int(pytest.main([*options, *tests], list(plugins)))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in ENDED:
        return "endless"
    code = os.waitstatus_to_exitcode(status)
    if code == pytest.ExitCode.USAGE_ERROR:
        raise SystemExit(f"pytest does not understand: {' '.join(tests)}")
    return "failed" if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else ""


def complaint(tests: tuple[str, ...], seconds: int) -> str:
    """What these tests print where one of them fails without any change; "" where none does."""
    log = Path(tempfile.mkdtemp()) / "log"
    if not noticed({}, [*tests], seconds, str(log)):
        return ""
    return f"{log.read_text(errors='replace')[-3000:]}\n{' '.join(tests)}: a test fails without any change"


def modules(known: dict, words: list[str]) -> dict[Path, list[str]]:
    return {
        ROOT / path: tests
        for path, tests in known["modules"].items()
        if not words or {path, Path(path).stem} & {*words}
    }


def written_out(known: dict, words: list[str]) -> list[tuple[str, Path, str, list[str]]]:
    found = []
    for bug in known["bug"]:
        if words and not any(bug["name"].startswith(word) for word in words):
            continue
        path = ROOT / bug["module"]
        text = path.read_text(encoding="utf-8")
        if text.count(bug["old"]) != 1:
            print(
                f"OLD     {bug['name']}: its text stands {text.count(bug['old'])} times in {bug['module']}, expected once"
            )
            continue
        found.append((bug["name"], path, text.replace(bug["old"], bug["new"]), bug["tests"]))
    return found


def drawn(
    known: dict, words: list[str], each: int, seed: int
) -> list[tuple[str, Path, str, list[str]]]:
    found = []
    for path, tests in modules(known, words).items():
        every = mutants(path.read_text(encoding="utf-8"))
        some = random.Random(seed).sample(every, min(each or len(every), len(every)))
        place = path.relative_to(ROOT)
        found += [
            (f"{place}:{line}: {what}", path, text, tests) for line, what, text in sorted(some)
        ]
    return found


def is_listed(name: str, survivors: list[dict]) -> bool:
    """Whether mutants.toml has this change as a survivor, near a line that holds its text."""
    place, _, change = name.partition(": ")
    module, _, number = place.rpartition(":")
    lines = (ROOT / module).read_text(encoding="utf-8").splitlines()
    near = squeezed("".join(lines[max(0, int(number) - NEAR) : int(number) + NEAR]))
    return any(
        one["module"] == module and one["change"] == change and squeezed(one["line"]) in near
        for one in survivors
    )


def squeezed(code: str) -> str:
    """Without white space, so that it does not depend on how the code is formatted."""
    return "".join(code.split())


# Tiers


class Drawn(NamedTuple):
    name: str
    path: Path
    line: int
    text: str  # of the module


def drawn_from_packages(seed: int) -> list[Drawn]:
    """Changes drawn by `seed` from all that can be made in the packages of TIERED."""
    paths = sorted(path for name in TIERED for path in (SOURCE / "wenmai" / name).rglob("*.py"))
    texts = {path: path.read_text("utf-8") for path in paths}
    every = [(path, n) for path in paths for n, _ in enumerate(each_change(ast.parse(texts[path])))]
    some = random.Random(seed).sample(every, DRAWN)
    found = []
    for path in dict.fromkeys(path for path, _ in sorted(some)):
        made = mutants(texts[path], {number for other, number in some if other == path})
        place = path.relative_to(ROOT)
        found += [Drawn(f"{place}:{line}: {what}", path, line, text) for line, what, text in made]
    return found


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def functions_of(change: Drawn, tree: ast.Module) -> list[ast.FunctionDef]:
    """The function that is changed; if it is compiled, or there is none, all Python functions."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    python = [
        node for node in functions if "jit" not in " ".join(map(ast.unparse, node.decorator_list))
    ]
    around = [node for node in functions if node.lineno <= change.line <= node.end_lineno]
    return around[-1:] if around and around[-1] in python else python


def cases_reached(drawn: list[Drawn]) -> list[set[tuple[str, str]]]:
    """For each change, which (rung, task) run its function in the contract's first tier."""
    numbers, texts = defaultdict(list), {}
    for number, change in enumerate(drawn):
        numbers[change.path].append(number)
    for path in numbers:
        tree = ast.parse(path.read_text("utf-8"))
        for number in numbers[path]:
            for function in functions_of(drawn[number], tree):
                function.body.insert(
                    bool(ast.get_docstring(function)), ast.parse(f"__reach__({number})").body[0]
                )
        texts[path] = ast.unparse(ast.fix_missing_locations(tree))
    with tempfile.NamedTemporaryFile() as found:
        options = ["--tier", "first", "tests/test_contract.py"]
        if noticed(texts, options, 3600, plugins=[Reach(found.name)], stop=False):
            sys.exit("a test of the contract fails without any change")
        seen = json.loads(Path(found.name).read_text())
    return [{tuple(case) for at, *case in seen if at == number} for number in range(len(drawn))]


class Reach:
    """Writes down which contract case, (rung, task), runs which function: [number, rung, task]."""

    def __init__(self, path: str):
        self.path = path
        self.seen: set[tuple[int, str, str]] = set()
        self.case: tuple[str, str] | None = None
        builtins.__reach__ = lambda number: self.case and self.seen.add((number, *self.case))

    def pytest_runtest_setup(self, item) -> None:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        self.case = (
            (params.get("rung"), params.get("task", "classify")) if "rung" in params else None
        )

    def pytest_sessionfinish(self) -> None:
        Path(self.path).write_text(json.dumps(sorted(self.seen)))


class ContractCases:
    """Keeps the contract cases whose rung and task run the changed function, and runs them last."""

    def __init__(self, reached: set[tuple[str, str]]):
        self.rungs, self.tasks = {rung for rung, _ in reached}, {task for _, task in reached}

    def concerned(self, item) -> bool:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if "rung" not in params:
            return True
        return params["rung"] in self.rungs and params.get("task", "classify") in self.tasks

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items) -> None:
        contract = [item for item in items if item.path.name == "test_contract.py"]
        own = [item for item in items if item.path.name != "test_contract.py"]
        config.hook.pytest_deselected(items=[item for item in contract if not self.concerned(item)])
        items[:] = own + [item for item in contract if self.concerned(item)]


def compare_tiers(asked: argparse.Namespace) -> None:
    """Asks the first tier; with `--tier all` the other tests, too, where it noticed nothing."""
    drawn, began = drawn_from_packages(asked.seed), time.perf_counter()
    reached = cases_reached(drawn)
    texts = {
        path.relative_to(ROOT): path.read_text("utf-8")
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.name != "test_contract.py"
    }
    own = [
        list(map(str, touched.tests_about([change.path.relative_to(ROOT)], texts)))
        for change in drawn
    ]
    tiers = ("first", "rest") if asked.tier == "all" else ("first",)

    def judged(number: int) -> str:
        name, path, _, text = drawn[number]
        tests, how = [*own[number], "tests/test_contract.py"], "MISSED"
        for tier in tiers:
            limit = asked.seconds * (2 if tier == "first" else 10)
            cases = ContractCases(reached[number])
            if found := noticed({path: text}, ["--tier", tier, *tests], limit, plugins=[cases]):
                how = tier if found == "failed" else f"{tier}, endless"
                break
        with ALONE:
            print(f"{how.ljust(7)} {name}", flush=True)
        return how

    with ThreadPoolExecutor(asked.jobs) as pool:
        every = sorted({test for tests in own for test in tests})
        for tier in tiers:
            unchanged = [("--tier", tier, *every[at :: asked.jobs]) for at in range(asked.jobs)]
            if words := "".join(pool.map(lambda tests: complaint(tests, 3600), unchanged)):
                sys.exit(words)
        verdicts = Counter(pool.map(judged, range(len(drawn))))
    first, rest = (verdicts[tier] + verdicts[f"{tier}, endless"] for tier in ("first", "rest"))
    endless = verdicts["first, endless"] + verdicts["rest, endless"]
    print(f"{endless} by tests that did not end")
    print(f"{first} of {DRAWN} noticed by the first tier ({time.perf_counter() - began:.0f} s)")
    if asked.tier == "all":
        share = first / max(1, first + rest)
        print(f"{first + rest} noticed by both tiers; the first has {share:.1%} of them")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="modules, or how the names of bugs begin")
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument("--each", type=int, default=20, help="changes of every module; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="changes that are tried at a time")
    parser.add_argument(
        "--seconds",
        type=int,
        default=150,
        help="of processor time after which tests are taken to hang",
    )
    parser.add_argument(
        "--tier",
        choices=("first", "all"),
        help="how much of 60 changes the first tier notices; goes with --seed and --jobs alone",
    )
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"OMP_NUM_THREADS": "1", "HYPOTHESIS_STORAGE_DIRECTORY": tempfile.mkdtemp()}
    os.environ["PYTHONPATH"] = str(SOURCE)
    sys.path[:0] = [str(SOURCE), str(ROOT / "tests")]
    import numba  # noqa: F401  what every test needs is loaded once
    import sklearn.pipeline  # noqa: F401
    import torch  # noqa: F401

    if asked.tier:
        return compare_tiers(asked)
    known = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))
    made = (
        written_out(known, asked.words)
        if asked.bugs
        else drawn(known, asked.words, asked.each, asked.seed)
    )

    def judged(change: tuple[str, Path, str, list[str]]) -> str:
        """ "failed", "endless", "listed" or "MISSED"; told as soon as it is known."""
        name, path, text, tests = change
        more = [] if asked.bugs else known["wider"].get(str(path.relative_to(ROOT)), [])
        how = noticed({path: text}, tests, asked.seconds) or (
            more and noticed({path: text}, more, 4 * asked.seconds)
        )
        how = how or (
            "listed" if not asked.bugs and is_listed(name, known.get("survivor", ())) else "MISSED"
        )
        with ALONE:
            print(f"{how.ljust(7)} {name}", flush=True)
        return how

    began = time.perf_counter()
    with ThreadPoolExecutor(asked.jobs) as pool:
        for words in pool.map(
            lambda tests: complaint(tests, asked.seconds), {tuple(tests) for *_, tests in made}
        ):
            if words:
                sys.exit(words)
        verdicts = Counter(pool.map(judged, made))
    caught = verdicts["failed"] + verdicts["endless"]
    seconds = time.perf_counter() - began
    share = caught / max(1, len(made))
    listed, missed, endless = verdicts["listed"], verdicts["MISSED"], verdicts["endless"]
    print(
        f"{caught} of {len(made)} were noticed ({share:.1%}; {endless} by tests that did not end); of the others {listed} are "
        f"listed with their reasons, {missed} are not ({seconds:.0f} s)"
    )
    sys.exit(bool(missed) if asked.bugs else share < 0.9)


if __name__ == "__main__":
    main()
