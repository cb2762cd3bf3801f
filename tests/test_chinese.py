"""Everything that a user is told is told in Chinese too: the catalogue is complete, holds nothing dead, and reads as Chinese."""

import ast
import gettext
import io
import re
import shlex
import string
import subprocess
import sys
from pathlib import Path

import pytest
import test_mistakes as mistakes
from test_mistakes import folder, here  # noqa: F401 (fixtures)

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import catalogue

from wenmai.locale.theirs import usage

SOURCE = catalogue.SOURCE
HOLD = ("note", "notes", "warning")  # variables and keywords that hold messages
# functions that give messages
RETURNS = (
    "notes",
    "inspect_targets",
    "learn",
    "detect",
    "says_no_task",
    "decoded",
    "stage_message",
    "shown_value",
    "failure_notes",
)
TELL = (*catalogue.TEMPLATES, "phrase", "plural")
SAME = ("scikit-learn",)  # names, which are the same in Chinese


def fields(template: str) -> list[str]:
    """The places of a template, as they are written: file, count:,"""
    parsed = string.Formatter().parse(template)
    return sorted(
        {f"{name}!{how or ''}:{spec}" for _, name, spec, how in parsed if name is not None}
    )


# The catalogue


def entries(catalog) -> dict[tuple, object]:
    return {(message.context, message.id): message.string for message in catalog if message.id}


CODE, CHINESE = entries(catalogue.collected()), entries(catalogue.chinese())
PAIRS = [
    (template, translated)
    for (_, ids), strings in CHINESE.items()
    for template in (ids if isinstance(ids, tuple) else (ids,))
    for translated in (strings if isinstance(strings, tuple) else (strings,))
]


def test_the_catalogue_has_what_the_code_says():
    assert not CODE.keys() - CHINESE.keys(), "run make locale, and translate these"
    assert not CHINESE.keys() - CODE.keys(), "nothing says these any more; run make locale"
    assert len(CODE) > 800, "lest the test pass for want of messages"


def test_nothing_is_left_to_translate():
    assert not [template for template, translated in PAIRS if not translated]


def test_the_compiled_catalogue_is_that_of_the_source():
    path = catalogue.CHINESE.with_suffix(".mo")
    with path.open("rb") as there, io.BytesIO(catalogue.compiled(catalogue.chinese())) as fresh:
        found, made = (gettext.GNUTranslations(file)._catalog for file in (there, fresh))
    del found[""], made[""]  # which name the version of Babel
    assert found == made, "run make locale"
    assert catalogue.written(catalogue.chinese()) == catalogue.CHINESE.read_bytes(), (
        "run make locale"
    )


def test_translations_have_the_same_places():
    for template, translated in PAIRS:
        assert fields(template) == fields(translated), f"{template} → {translated}"


def test_translations_are_punctuated_as_chinese_is():
    for _, translated in PAIRS:
        prose = re.sub(r"--columns \S+", "", translated)
        assert not re.search(r"[\u4e00-\u9fff] ?[,;:!?]|[,;:] ?[\u4e00-\u9fff]", prose), (
            f"{translated}: ，；：are meant"
        )
        assert not re.search(r"[\u4e00-\u9fff][a-zA-Z0-9]|[a-zA-Z0-9][\u4e00-\u9fff]", prose), (
            f"{translated}: a space lacks"
        )


# What the code says


def strings(node, scope=None) -> list[str]:
    """The texts that an expression may give, but for those inside of messages; {} stands for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return [
                "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in values)
            ]
        case ast.BinOp(op=ast.Add() | ast.Mult(), left=left, right=right):
            return strings(left, scope) + strings(right, scope)
        case ast.IfExp(body=body, orelse=orelse):
            return strings(body, scope) + strings(orelse, scope)
        case (
            ast.BoolOp(values=values)
            | ast.List(elts=values)
            | ast.Tuple(elts=values)
            | ast.Dict(values=values)
        ):
            return [found for value in values for found in strings(value, scope)]
        case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value) | ast.Starred(value=value):
            return strings(value, scope)
        case ast.Call(func=ast.Attribute(attr="get", value=table), args=[_, *usual]):
            return [found for value in (table, *usual) for found in strings(value, scope)]
        case ast.Name(id=name) if scope is not None:
            return [found for value in assigned(name, scope) for found in strings(value)]
    return []


def assigned(name: str, scope) -> list[ast.expr]:
    """What a function puts into a variable."""
    found = []
    for statement in ast.walk(scope):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            pairs = [(target, statement.value)]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = zip(target.elts, statement.value.elts)
            found += [
                value for place, value in pairs if isinstance(place, ast.Name) and place.id == name
            ]
    return found


def has_words(text: str) -> bool:
    return bool(re.search(r"[a-z]{2}", text.replace("{}", ""))) and text not in SAME


def wrong_in(path: Path) -> list[str]:
    """Sentences of a file that are no messages, and messages whose values are not those of their templates."""
    found = []

    def complain(node, what):
        found.append(f"{path.relative_to(SOURCE)}, line {node.lineno}: {what}")

    def sentences(node, value, scope):
        for text in filter(has_words, strings(value, scope)):
            complain(node, f'"{text}" is no Message')

    def message(node, name, scope):
        templates = node.args[1:] if name == "phrase" else node.args[: 2 if name == "plural" else 1]
        for template in templates:
            if isinstance(template, (ast.JoinedStr, ast.BinOp)):
                complain(node, "a template is one text, and its values are named")
            given = {word.arg for word in node.keywords}
            if isinstance(template, ast.Constant) and None not in given:
                named = {
                    name
                    for _, name, _, _ in string.Formatter().parse(template.value)
                    if name is not None
                }
                if named != given:
                    complain(node, f"the places are {sorted(named)}, the values {sorted(given)}")
        for word in node.keywords:
            for text in strings(word.value, scope):
                if (
                    has_words(text)
                    and (" " in text or "{}" not in text)
                    and not isinstance(word.value, ast.Subscript)
                ):
                    complain(node, f'{word.arg}="{text}" is no Message')

    def visit(node, scope):
        match node:
            case ast.FunctionDef():
                scope = node
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[_, *_]) if (
                name in TELL
            ):
                message(node, name, scope)
            case ast.Call(
                func=ast.Attribute(attr="append", value=ast.Name(id=name)), args=[value]
            ) if name in HOLD:
                sentences(node, value, scope)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name in HOLD and not isinstance(value, ast.Dict)
            ):
                sentences(node, value, scope)
            case ast.AugAssign(
                target=ast.Name(id=name) | ast.Attribute(attr=name), value=value
            ) if name.strip("_") in HOLD:
                sentences(node, value, scope)
            case ast.Return(value=ast.Tuple(elts=[_, value])) if scope and scope.name in RETURNS:
                sentences(node, value, scope)
            case ast.Return(value=value) if (
                scope and scope.name in RETURNS and value and not isinstance(value, ast.Tuple)
            ):
                sentences(node, value, scope)
            case ast.Yield(value=ast.Tuple(elts=[_, value, _])):
                sentences(node, value, scope)
            case ast.keyword(arg="note" | "warning" | "where", value=value):
                sentences(value, value.body if isinstance(value, ast.Lambda) else value, scope)
        for child in ast.iter_child_nodes(node):
            visit(child, scope)

    visit(ast.parse(path.read_text("utf-8")), None)
    return found


def test_every_sentence_is_a_message_with_its_values():
    wrong = [what for path in sorted(SOURCE.rglob("*.py")) for what in wrong_in(path)]
    assert not wrong, "\n".join(wrong)


def test_what_is_no_message_is_found(tmp_path, monkeypatch):
    """Lest the test above pass for want of an eye."""
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "a.py").write_text("""
def notes(self):
    what = "a text" if self else Message("a list")
    raise Mistake(f"{x} is wrong")
    raise Mistake("{file} is wrong", path=3)
    raise Mistake("{file} is wrong", file=what)
    notes.append(f"found {x} rows")
    return ["all is well"]
""")
    assert len(wrong_in(tmp_path / "a.py")) == 5


def test_every_help_has_its_chinese():
    import typer.main

    from wenmai.cli.commands import app

    def helps(command):
        below = [
            text for other in getattr(command, "commands", {}).values() for text in helps(other)
        ]
        return [command.help, *(option.help for option in command.params), *below]

    found = set(filter(None, helps(typer.main.get_command(app))))
    assert not {(None, str(text)) for text in found} - CHINESE.keys()


def test_help_is_chinese(wenmai_cli, monkeypatch):
    assert "Train every rung" in wenmai_cli("--help").out
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "用同一份预算训练每一级；一张排行榜，一份报告，一个建议。" in wenmai_cli("--help").out
    help = wenmai_cli("train", "--help").out
    assert "种子相同，结果就相同。" in help
    assert all(
        heading in help for heading in ("用法：", "参数：", "选项：", "显示这段说明。", "[默认：0")
    )
    assert (
        not re.search(r"Usage|Options:|Arguments:|default:|this message", help)
        and "命令：" in wenmai_cli("--help").out
    )


def test_what_typer_says_keeps_what_the_user_wrote():
    class Wrong:
        option_name, possibilities, message = (
            "--x",
            (),
            "Input should be greater than or equal to 1",
        )

        def __init__(self, sentence):
            self.sentence = sentence

        def format_message(self):
            return self.sentence

    for sentence, chinese in {
        "No such command 'a. Did you mean b'. Did you mean 'train'?": "没有 'a. Did you mean b' 这个命令。是不是想写 'train'？",
        "No such command '{name}'.": "没有 '{name}' 这个命令。",
        "Got unexpected extra argument(s) (a %s {b})": "多出了参数（a %s {b}）。",
        "Invalid value for '--seed': Input should be greater than or equal to 1": "'--seed' 的值不对：应不小于 1。",
        "Missing argument 'DATA'.": "缺少参数 'DATA'。",
        "something that nobody knows": "something that nobody knows",
    }.items():
        told = usage(Wrong(sentence))
        assert (told.english.rstrip("."), told.chinese.rstrip(".")) == (
            sentence.rstrip("."),
            chinese,
        )


def test_nothing_heavy_is_loaded():
    code = "import sys, wenmai.cli, wenmai.errors; print([m for m in ('torch', 'numpy', 'babel') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


# English that may stand in a Chinese sentence: what a user wrote, commands, and the words of other libraries
LEFT = [
    r"'(?:[^'\\]|\\.)*'",
    r'"[^"]*"',
    r"`[^`]*`",
    r"“[^”]*”",  # quoted
    r"wenmai train (?:gru reviews\.csv|--resume \S+)",
    r"pip install \S+",
    r"--\w+ \S+",  # commands
    r"wenmai:",
    r"[\w./-]+\.(?:csv|tsv|jsonl|json|txt|conll|png|gz|parquet|safetensors)",
    r"（[^（）]*Error[^（）]*）",  # an exception of Python, as it says it
    r"（[^（）]*(?:arquet|safetensors|header)[^（）]*）",  # what pyarrow and safetensors say of a file
]


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
    "compare",
    "predict",
    "compare a b c",
    "train --set",
    "train --json=3",
    "zzz",
    "--foo",
    "train softmax good.csv --seed 1.5",
    "predict runs/softmax --file good.csv --out folder",
    "train softmax folder/" + "x" * 300,
]


@pytest.mark.slow
@pytest.mark.parametrize("command", [*(command for command, _ in mistakes.MISTAKES), *MORE])
def test_a_mistake_is_one_chinese_sentence(wenmai_cli, monkeypatch, command):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert_chinese(wenmai_cli(*shlex.split(command)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "damage"), [row[:2] for row in mistakes.DAMAGE], ids=range(len(mistakes.DAMAGE))
)
def test_a_damaged_run_is_one_chinese_sentence(
    wenmai_cli,
    monkeypatch,
    folder,  # noqa: F811
    tmp_path,
    name,
    damage,
):
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

    known = {
        option
        for rung in RUNGS.values()
        for task in rung.tasks
        for option in ESTIMATORS[task](rung.name).get_params()
    }
    for template, translated in PAIRS:
        for text in (template, translated):
            advised = re.findall(r"--set (\w+)=", text) + re.findall(r"(?:or|或) (\w+)=…", text)
            assert set(advised) <= known, text
