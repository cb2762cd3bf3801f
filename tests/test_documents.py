"""Every command of the READMEs and of every chapter runs, in order, in a fresh folder, and what a document shows is what is said.

Budgets are cut as `prompt` says; a file that the reader has to bring is a small one of its kind, from `brought`. Of a shown
output, every line is printed by the commands before it, numbers aside; or it is a sentence that the program can say; or it is an
answer of a model, which one that was trained for a moment may give otherwise."""

import ast
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path
from string import Formatter

import prompt
import pytest
from babel.messages.pofile import read_po
from brought import NAMES, bring

import wenmai

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("README*.md")), *sorted(ROOT.glob("docs/??/[0-9]*.md"))]
# The English README and the chapters of the ladder are in the first tier; the others train longer.
FIRST = re.compile(r"README\.md|docs/en/0[1-8]-.*")
NOT_RUN = {
    "--engine spark": "Spark takes half a minute to start; tests/models runs it",
    "minilm": "its package brings many others with it; tests/exchange reads it where it is installed",
    "wenmai serve runs": "it serves until it is stopped; tests/serving runs it",
    "127.0.0.1:8000": "there is nobody at this address while documents are read; tests/serving asks one",
    "google-bert/": "it would be fetched from the hub; tests/exchange has a hub of its own",
}
ANSWERING = (["predict"], ["generate"], ["compose"], ["translate"], ["embed"], ["answer"])
PARTS = re.compile(r"^```(\w+)\n(.*?)^```$|`(wenmai \w+ [^`]+)`", re.M | re.S)
NUMBER = re.compile(r"[-+]?\d(?:[\d,.:]*\d)?(?:e[-+]?\d+)?\s?(?:[kMG]?B\b|[kMG]\b|%)?")
HOW_FAR = re.compile(
    r"^\s*\?(?= )|(?<=\s)(?:converged|still rising|too short|已收敛|仍在上升|时间太短)(?=\s)"
)
SHOWN = """
def shown(line, value):
    value = tuple(value) if isinstance(value, tuple) else value
    print("shown", line, repr(value.tolist() if hasattr(value, "tolist") else value))
"""


# The prompt


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder of programs that bash finds first: wenmai, and what stands for others."""
    folder = tmp_path_factory.mktemp("programs")
    path = folder / "socket"
    server = subprocess.Popen(
        [sys.executable, prompt.__file__, path],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "1000", "TOKENIZERS_PARALLELISM": "false"},
    )
    assert server.stdout.readline() == "ready\n"
    client = prompt.CLIENT.format(python=sys.executable, socket=str(path))
    for name in ("wenmai", "torchrun", "python-block"):
        program(folder / name, client)
    dry = f'exec env -i PATH=/usr/bin:/bin make -n -C {shlex.quote(str(ROOT))} "$@" > /dev/null'
    program(folder / "make", f"#!/bin/sh\n{dry}\n")
    yield folder
    server.terminate()
    server.communicate()


def program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Reader:
    """Sits in a folder with the files to bring, and does what a document says."""

    def __init__(self, folder: Path, programs: Path, language: str):
        self.folder, self.language, self.log = folder, language, folder.parent / "log"
        self.printed: list[str] = []  # and not yet shown by the document
        self.answers: list[str] = []
        self.answering = False
        self.complaints: list[str] = []
        self.shown: list[str] = []  # of what was printed
        self.missing: list[str] = []  # shown, and said by nothing
        self.environment = os.environ | {
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LOG": str(self.log),
            "COLUMNS": "1000",
            "PYTHONPATH": str(Path(wenmai.__file__).parents[1]),
            "LC_ALL": {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}[language],
        }

    def runs(self, *command: str, **more: str) -> list[dict]:
        """What `wenmai` was asked for, with the status of each."""
        self.log.write_text("")
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | more,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        out, err = (
            stream.decode("utf-8", "replace").splitlines() for stream in (ran.stdout, ran.stderr)
        )
        asked = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
        broken = [
            status
            for status in (ran.returncode, *(entry["status"] for entry in asked))
            if status not in (0, 2, 130)
        ]
        strangers = [
            line
            for line in err
            if re.match(r"(?:\S*bash|make\S*|\w+):.*(?:not found|No such|Error|rror:)", line)
            and not line.startswith("wenmai: ")
        ]
        assert not broken and not strangers, "\n".join([*command, *err])
        if any(entry["status"] == 2 for entry in asked):
            self.complaints += [line for line in err if line.startswith("wenmai: ")]
        self.answering = (self.answering and not asked) or any(
            entry["arguments"][:1] in ANSWERING for entry in asked
        )
        if self.answering:  # or what it wrote is shown by another program
            self.answers += out
        self.printed += [line for line in out + err if "setlocale" not in line]
        return asked


def reads(reader: Reader, document: Path) -> None:
    """The document from top to bottom."""
    for part in PARTS.finditer(document.read_text("utf-8")):
        kind, block, inline = part.groups()
        if inline and not re.search(r"\b[A-Z]{3,}\b|…", inline):  # a form to be filled in
            reader.runs("bash", "-c", " ".join(inline.split()))
        elif kind in ("bash", "sh", "console"):
            type_in(reader, block)
        elif kind == "python":
            run_python(reader, block)
        elif kind == "text":
            is_shown(reader, block)
    complaints = [line for line in reader.complaints if line in reader.printed]
    assert not complaints and not reader.missing, "\n".join(
        [
            "said, and not shown:",
            *complaints,
            "shown, and not said:",
            *reader.missing,
            "said:",
            *reader.printed,
        ]
    )
    for path in re.findall(r"\b(?:runs|reports)/[\w./-]*\w", "\n".join(reader.shown)):
        assert (reader.folder / path).exists(), f"{path} is said to be there"


def type_in(reader: Reader, block: str) -> None:
    """A line after the other; those that go on, and strings over several lines, are one."""
    promised = re.findall(r"# ((?:valid|test|验证|测试)[:：].*)$", block, re.M)
    lines = [line for line in statements(block) if not any(part in line for part in NOT_RUN)]
    for line in lines:
        stopped = "Ctrl-C" in line and "--resume" not in line
        asked = reader.runs("bash", "-c", line, **({"CTRL_C": "yes"} if stopped else {}))
        for entry in asked:
            arguments = entry["arguments"]
            if "--out" in arguments and entry["status"] == 0:
                assert (reader.folder / arguments[arguments.index("--out") + 1]).exists(), line
    is_shown(reader, "\n".join(f"{line}…" for line in promised))


def statements(block: str) -> list[str]:
    found, kept = [], ""
    for line in block.splitlines():
        kept += line + "\n"
        if not line.endswith("\\") and kept.count('"') % 2 == 0:
            found.append(kept)
            kept = ""
    return [line for line in found if line.strip()]


def run_python(reader: Reader, block: str) -> None:
    """Values that a comment tells are of that kind, and shapes that size."""
    tree, told = ast.parse(block), {}
    comments = {
        token.start[0]: token.string[1:].strip()
        for token in tokenize.generate_tokens(io.StringIO(block).readline)
        if token.type == tokenize.COMMENT
    }
    for node in tree.body:
        if (
            isinstance(node, ast.Expr)
            and (value := told_by(comments.get(node.end_lineno, ""))) is not None
        ):
            told[str(node.lineno)] = value
            node.value = ast.Call(
                ast.Name("shown", ast.Load()), [ast.Constant(str(node.lineno)), node.value], []
            )
    code = f"{NAMES}\n{SHOWN}\n"
    asked = reader.runs("python-block", code + ast.unparse(ast.fix_missing_locations(tree)))
    assert asked[-1]["status"] == 0, "\n".join(reader.printed)
    values = dict(line.split(" ", 2)[1:] for line in reader.printed if line.startswith("shown "))
    for line, value in told.items():
        assert outline(ast.literal_eval(values[line])) == outline(value), block.splitlines()[
            int(line) - 1
        ]


def told_by(comment: str):
    """The value that a comment begins with."""
    for end in [len(comment), *(found.start() for found in re.finditer(r"[:;,，：；]", comment))]:
        try:
            return ast.literal_eval(comment[:end].strip())
        except (ValueError, SyntaxError):
            continue


def outline(value):
    if isinstance(value, (list, tuple)):
        return type(value)(outline(part) for part in value)
    return value if isinstance(value, int) else type(value)


# What is shown


def is_shown(reader: Reader, block: str) -> None:
    """Takes what the block shows from what was printed; a terminal may have broken a line into up to three."""
    bar = r"^ *\S+ ━[━╸ ]*(?:[^━]*?[\d.]+)? \d+:\d\d:\d\d "  # which is a terminal's
    lines = [re.sub(bar, "", line) for line in block.splitlines()]
    lines, forms = [line for line in lines if line.strip("… ")], set()
    while lines:
        joined = ["".join(lines[:count]) for count in range(1, min(3, len(lines)) + 1)]
        count = next((count for count, line in enumerate(joined, 1) if printed(reader, line)), 0)
        reader.shown += joined[count - 1 : count] if count else []
        count = count or next(
            (count for count, line in enumerate(joined, 1) if can_be_said(reader, line)), 0
        )
        answer = next((text for text in reader.answers if fields(text) == fields(lines[0])), None)
        if count:
            forms.add(squeezed(lines[0]))
        elif answer is not None:
            reader.answers.remove(answer)
        elif (
            squeezed(lines[0]) not in forms
        ):  # of many lines of one form, a short training gives fewer
            reader.missing.append(lines[0])
        del lines[: count or 1]


def printed(reader: Reader, line: str) -> bool:
    """Whether it was, numbers aside, or stands in the folder of a run; … is what the document leaves out."""
    wanted = re.compile(".*".join(map(re.escape, squeezed(line).split("…"))))
    at = next(
        (at for at, text in enumerate(reader.printed) if wanted.fullmatch(squeezed(text))), None
    )
    if at is not None:
        del reader.printed[at]
    kept = reader.folder.glob("runs/*/run.json") if line.startswith('"') else ()
    return at is not None or any(wanted.search(squeezed(file.read_text("utf-8"))) for file in kept)


def squeezed(line: str) -> str:
    """Without spaces and the mark of the best rung, and any number the same; so is how far a rung got in its time."""
    return re.sub(r"[\s✓]", "", NUMBER.sub("#", HOW_FAR.sub("#", line)))


def can_be_said(reader: Reader, line: str) -> bool:
    """Whether it is a sentence of the catalogue, of whose letters enough are the sentence's own, or those of sentences in it."""
    line = squeezed(line.removeprefix("wenmai: "))
    return own_letters(line, reader.language) >= 0.35 * len(line)


@cache
def own_letters(line: str, language: str) -> int:
    most = 0
    for pieces, pattern in sentences(language):
        if all(piece in line for piece in pieces) and (match := pattern.fullmatch(line)):
            inside = sum(
                own_letters(part, language) for part in match.groups() if 12 < len(part) < len(line)
            )
            most = max(most, sum(map(len, pieces)) + inside)
    return most


@cache
def sentences(language: str) -> list[tuple[list[str], re.Pattern]]:
    """What the catalogue holds: the words of a sentence between its values, and its pattern, which may lack the full stop."""
    with (Path(wenmai.__file__).parent / "locale/zh/LC_MESSAGES/wenmai.po").open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    found = []
    for message in messages:
        told = message.string if language == "zh" else message.id
        for template in told if isinstance(told, (list, tuple)) else [told]:
            pieces = [(squeezed(text), name) for text, name, _, _ in Formatter().parse(template)]
            if words := [text for text, _ in pieces if len(text) > 1]:
                pattern = "".join(
                    re.escape(text) + ("(.+)" if name is not None else "") for text, name in pieces
                )
                found.append((words, re.compile(f"{pattern}[.。]?")))
    return found


def fields(line: str) -> object:
    """The form of an answer: the keys of an object, or how many columns there are."""
    if line.startswith("{") and line.endswith("}") and "…" not in line:
        return sorted(json.loads(line))
    return len(re.split(r"\t| {2,}", line.strip()))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, marks=[] if FIRST.fullmatch(name) else [pytest.mark.slow], id=name)
        for path, name in ((path, path.relative_to(ROOT).as_posix()) for path in DOCUMENTS)
    ],
)
def test_a_document_says_what_happens(document, programs, tmp_path):
    language = "zh" if "zh" in document.relative_to(ROOT).as_posix() else "en"
    folder = tmp_path / "reader"
    folder.mkdir()
    bring(folder)
    reads(Reader(folder, programs, language), document)


def test_what_is_not_run(capsys):
    """Listed, and named in both languages; nothing else is left out."""
    found = {
        part: [str(path.relative_to(ROOT)) for path in DOCUMENTS if part in path.read_text("utf-8")]
        for part in NOT_RUN
    }
    with capsys.disabled():
        for part, where in found.items():
            print(f"\nnot run: {part} in {', '.join(where)} ({NOT_RUN[part]})")
    assert all(where for where in found.values())
