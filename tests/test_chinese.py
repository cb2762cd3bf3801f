"""Everything that a user is told is told in Chinese too: the table is complete, holds nothing dead, and what it gives reads as
Chinese."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import test_mistakes as mistakes
from test_mistakes import folder, here  # noqa: F401 (fixtures)

from wenmai import chinese
from wenmai.chinese import HELP, NOTES, PHRASES, PLACE, PREFIXED, SENTENCES, THEIRS, in_chinese
from wenmai.errors import Mistake, Stopped
from wenmai.training.folders import Damaged

SOURCE = Path(chinese.__file__).parent
# Whose arguments are told: function → which of them.
TELLS = dict.fromkeys(("Mistake", "Damaged", "Diverged", "Stopped", "say", "complain", "unknown", "warn"), 0)
TELLS |= {"Format": 1, "Table": 2, "draw": 1}
HOLD = ("note", "notes", "warning")  # variables and keywords that hold sentences
READERS = ("files", "readers", "delimited", "objects", "conll", "idx", "images")  # whose notes have a file's name before them
# functions that return sentences
RETURNS = ("notes", "look", "learn", "detect", "says_no_task", "decoded")


def template(english: str) -> str:
    return PLACE.sub("{}", english)


SAME = ("scikit-learn",)  # names, which are the same in Chinese
ENTRIES = {template(english): english for english in PREFIXED | SENTENCES | NOTES}


# The sentences in the code


def strings(node, scope) -> list[tuple[str, list[ast.expr]]]:
    """The templates that an expression may give, with {} for places, and what stands in the places."""
    match node:
        case ast.Constant(value=str(text)):
            return [(text, [])]
        case ast.JoinedStr(values=values):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in values)
            return [(text, [part.value for part in values if isinstance(part, ast.FormattedValue)])]
        case ast.BinOp(op=ast.Add(), left=left, right=right) if not {type(left), type(right)} & {ast.List}:
            before, after = strings(left, scope) or [("{}", [left])], strings(right, scope) or [("{}", [right])]
            return [(a + b, p + q) for a, p in before for b, q in after if (a + b).strip("{}")]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return strings(left, scope) + strings(right, scope)
        case ast.BinOp(op=ast.Mult(), left=left):
            return strings(left, scope)
        case ast.IfExp(body=body, orelse=orelse):
            return strings(body, scope) + strings(orelse, scope)
        case ast.BoolOp(values=values) | ast.List(elts=values) | ast.Tuple(elts=values) | ast.Dict(values=values):
            return [found for value in values for found in strings(value, scope)]
        case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value) | ast.Starred(value=value):
            return strings(value, scope)
        case ast.Call(func=ast.Attribute(attr="get", value=table), args=[_, *usual]):
            return [found for value in (table, *usual) for found in strings(value, scope)]
        case ast.Name(id=name) if scope is not None:
            return [found for value in assigned(name, scope) for found in strings(value, None)]
    return []


def assigned(name: str, scope) -> list[ast.expr]:
    """What a function puts into a variable."""
    found = []
    for statement in ast.walk(scope):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            pairs = [(target, statement.value)]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = zip(target.elts, statement.value.elts)
            found += [value for place, value in pairs if isinstance(place, ast.Name) and place.id == name]
    return found


def said_in(path: Path) -> list[tuple]:
    """(where, kind, template, what stands in its places, function) of every sentence that a file tells."""
    found = []

    def keep(node, value, scope, kind=""):
        kind = kind or ("note" if path.stem in READERS else "sentence")
        where = f"{path.relative_to(SOURCE)}, line {node.lineno}"
        found.extend((where, kind, text, places, scope) for text, places in strings(value, scope) if text)

    def visit(node, scope):
        match node:
            case ast.FunctionDef():
                scope = node
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=given) if len(given) > TELLS.get(name, 99):
                if name != "say" or len(given) == 1:  # that of overview.py has a table of its own
                    kind = {"unknown": "kind", "Format": "note", "Table": "note"}.get(name, "sentence")
                    keep(node, given[TELLS[name]], scope, kind)
            case ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=name)), args=[value]) if name in HOLD:
                keep(node, value, scope)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in HOLD and not isinstance(value, ast.Dict):
                keep(node, value, scope)
            case ast.AugAssign(target=ast.Name(id=name), value=value) if name in HOLD:
                keep(node, value, scope)
            case ast.Return(value=value) if scope and scope.name in RETURNS and not isinstance(value, ast.Tuple):
                keep(node, value, scope)
            case ast.Return(value=ast.Tuple(elts=[_, value])) if scope and scope.name in RETURNS:
                keep(node, value, scope)
            case ast.Yield(value=ast.Tuple(elts=[_, value, _])):
                keep(node, value, scope)
            case ast.keyword(arg="note", value=value):
                keep(value, value, scope)
        for child in ast.iter_child_nodes(node):
            visit(child, scope)

    visit(ast.parse(path.read_text("utf-8")), None)
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "chinese.py" or path.parent != SOURCE)
SAID = [said for path in FILES for said in said_in(path)]


def has_words(text: str) -> bool:
    return bool(re.search(r"[a-z]{2}", text.replace("{}", "")))


def missing(where, kind, text, places, scope) -> str:
    """What to add, and where, that this sentence has its Chinese."""
    if kind == "kind":
        return "" if text in PHRASES[kind] else f'{where} tells "{text}": add it and its Chinese to PHRASES["{kind}"]'
    if text not in ENTRIES or (kind == "note" and ENTRIES[text] not in NOTES):
        table = "NOTES" if kind == "note" else "SENTENCES"
        return f'{where} tells "{text}": add it, with names in its places, and its Chinese to {table}' if has_words(text) else ""
    for name, place in zip(PLACE.findall(ENTRIES[text]), places):
        known = {template(phrase) for phrase in PHRASES.get(name.rstrip("12"), {})}
        for piece, _ in strings(place, scope):
            if piece not in known and piece not in SAME and has_words(piece):
                return f'{where}: "{piece}" stands in {{{name}}} of "{text}": add it and its Chinese to PHRASES["{name}"]'
    return ""


def test_every_sentence_has_its_chinese():
    to_add = list(filter(None, (missing(*said) for said in SAID)))
    assert not to_add, "\n".join(["in wenmai/chinese.py is to be added:", *to_add])


def test_sentences_are_found():
    """Lest the test above pass for want of sentences."""
    files = {said[0].split(",")[0] for said in SAID}
    assert len(SAID) > 180 and {"cli/commands.py", "training/loop.py", "data/files/delimited.py"} <= files


OURS = [*(PREFIXED | SENTENCES | NOTES).items(), *(entry for table in PHRASES.values() for entry in table.items())]
ALL = OURS + [*HELP.items()] + [entry for table in THEIRS.values() for entry in table.items()]


def test_entries_use_their_places():
    for english, translated in ALL:
        places, used = set(PLACE.findall(english)), set(PLACE.findall(translated))
        if (english, translated) in OURS:  # some of what others say is left out
            assert places == used, f"{english} → {translated}: the places differ"
        assert used <= places, f"{english} → {translated}: the places differ"
        assert not re.search(r"\w\}\{\w", english), f"{english}: two places side by side cannot be told apart"


def test_entries_are_punctuated_as_chinese_is():
    for _, translated in ALL:
        prose = re.sub(r"--columns \S+", "", translated)
        assert not re.search(r"[\u4e00-\u9fff] ?[,;:!?]|[,;:] ?[\u4e00-\u9fff]", prose), f"{translated}: ，；：are meant"
        assert not re.search(r"[\u4e00-\u9fff][a-zA-Z0-9]|[a-zA-Z0-9][\u4e00-\u9fff]", prose), f"{translated}: a space lacks"


def test_no_entry_is_dead():
    """Every one of ours stands in the code, as a whole string."""
    written = {text for _, _, text, _, _ in SAID}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for text, _ in strings(node, None) if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp)) else ():
                written.add(text)
    dead = [english for english, _ in OURS if template(english) not in written and english not in PREFIXED]
    assert not dead, f"nothing in the code says these; remove them from wenmai/chinese.py: {dead}"


def test_tables_are_used():
    places = {name.rstrip("12") for english, _ in ALL for name in PLACE.findall(english)} | {"sentence", "help"}
    assert set(PHRASES) | set(THEIRS) <= places


def test_every_help_has_its_chinese():
    import typer.main

    from wenmai.cli.commands import app

    def helps(command):
        below = [text for other in getattr(command, "commands", {}).values() for text in helps(other)]
        return [command.help, *(option.help for option in command.params), *below]

    found = set(filter(None, helps(typer.main.get_command(app)))) - set(THEIRS["help"])
    assert not found - set(HELP), "to be added to HELP in wenmai/chinese.py, with its Chinese"
    assert not set(HELP) - found, "to be removed from HELP in wenmai/chinese.py: no help says it"


def test_help_is_chinese(wenmai_cli, monkeypatch):
    assert "Train every rung" in wenmai_cli("--help").out
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "用同一份预算训练每一级；一张排行榜，一份报告，一个建议。" in wenmai_cli("--help").out
    assert "种子相同，结果就相同。" in wenmai_cli("train", "--help").out


# What they give


def test_a_sentence_is_translated_with_what_stands_in_it():
    assert in_chinese("a.csv, line 3: found 'x' in column b, expected a number; correct the line or remove it.") == (
        "a.csv 第 3 行：b 列里是 'x'，应为数；请改正或删去这一行。"
    )
    assert in_chinese("a.txt: b.txt: The encoding is UTF-8 with a byte order mark.") == "a.txt：b.txt：编码是带 BOM 的 UTF-8。"
    assert in_chinese("something: that nobody says") == "something: that nobody says"
    told = in_chinese("line, line 1: found the target nan, expected a finite number.")
    assert told == "line 第 1 行：目标值是 nan，应为有限的数。"


def test_what_a_user_wrote_is_left_alone():
    """Whatever it is, be it one of our own words."""
    for name in ("line", "row 3", "none", "a text", "rung", "a, b", "x: y", "{file}", "found 3 columns", ""):
        sentence = f'{name} has no column "{name}"; its columns (and positions) are {name}. Use --columns a=b or another of them.'
        told = in_chinese(sentence)
        assert told == f"{name} 没有名为“{name}”的列；各列（及其位置）是 {name}。请用 --columns a=b，或其中另一列。"


def test_long_sentences_are_no_trouble():
    for piece in ("a: ", "x, line 3: ", "found ", ", expected ", "The encoding is UTF-8.", "; the checkpoint before it is used."):
        in_chinese(piece * 500)


def test_mistakes_speak_the_users_language(monkeypatch):
    sentence = "x/run.json is missing: the folder is damaged; train it again."
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    damage = Damaged(sentence)
    assert str(damage) == "缺少 x/run.json：文件夹已损坏；请重新训练。" and damage.english == damage.args[0] == sentence
    note = f"r/training/000000002 is damaged ({damage.english.partition(': the ')[0]}); the checkpoint before it is used."
    assert in_chinese(note) == "r/training/000000002 已损坏（缺少 x/run.json）；改用前一个检查点。"
    assert "已在第 30 步之后停下" in str(Stopped("stopped after 30 updates and kept; go on with: wenmai train --resume r"))
    assert str(Mistake("said by nobody")) == "said by nobody" and str(Mistake()) == ""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert str(damage) == sentence


def test_nothing_heavy_is_loaded():
    code = "import sys, wenmai.chinese, wenmai.errors; print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# English that may stand in a Chinese sentence: what a user wrote, commands, and the words of other libraries
LEFT = [
    r"'(?:[^'\\]|\\.)*'", r'"[^"]*"', r"`[^`]*`", r"“[^”]*”",  # quoted
    r"wenmai train (?:gru reviews\.csv|--resume \S+)", r"pip install \S+", r"--\w+ \S+",  # commands
    r"wenmai:", r"[\w./-]+\.(?:csv|tsv|jsonl|json|txt|conll|png|gz|parquet|safetensors)",
    r"（[^（）]*Error[^（）]*）",  # an exception of Python, as it says it
    r"（[^（）]*(?:arquet|safetensors|header)[^（）]*）",  # what pyarrow and safetensors say of a file
]  # fmt: skip


def english_in(told: str) -> str:
    """Three or more words of English in a row, as prose has them."""
    for left in LEFT:
        told = re.sub(left, "·", told)
    found = re.search(r"\b[a-z]{2,}(?: [a-z]{2,}){2,}\b", told)
    return found[0] if found else ""


def assert_chinese(ran):
    assert ran.status == 2 and ran.err.startswith("wenmai: ") and ran.err.count("\n") == 1, ran
    assert "Traceback" not in ran.err + ran.out
    assert re.search(r"[\u4e00-\u9fff]{2}", ran.err), ran.err
    assert not english_in(ran.err), ran.err
    assert ran.err.endswith(("。\n", "？\n")), ran.err


MORE = [
    "compare", "predict", "compare a b c", "train --set", "train --json=3", "zzz", "--foo", "train softmax good.csv --seed 1.5",
    "predict runs/softmax --file good.csv --out folder", "train softmax folder/" + "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("command", [*(command for command, _ in mistakes.MISTAKES), *MORE])
def test_a_mistake_is_one_chinese_sentence(wenmai_cli, monkeypatch, command):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert_chinese(wenmai_cli(*shlex.split(command)))


@pytest.mark.parametrize(("name", "damage"), [row[:2] for row in mistakes.DAMAGE], ids=range(len(mistakes.DAMAGE)))
def test_a_damaged_run_is_one_chinese_sentence(wenmai_cli, monkeypatch, folder, tmp_path, name, damage):  # noqa: F811
    import shutil

    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    shutil.copytree(folder / "runs", tmp_path / "runs")
    run = tmp_path / "runs" / "softmax"
    damage(run / name)
    assert_chinese(wenmai_cli("predict", run, "a good film"))
    mistakes.signed(run)
    assert_chinese(wenmai_cli("predict", run, "a good film"))


def test_every_option_that_is_advised_exists():
    """`--set name=…` in a sentence is worth nothing if there is no such option."""
    from wenmai.catalog import RUNGS
    from wenmai.estimators import ESTIMATORS

    known = {option for rung in RUNGS.values() for task in rung.tasks for option in ESTIMATORS[task](rung.name).get_params()}
    for english, translated in SENTENCES.items():
        for text in (english, translated):
            advised = re.findall(r"--set (\w+)=", text) + re.findall(r"(?:or|或) (\w+)=…", text)
            assert set(advised) <= known, text
