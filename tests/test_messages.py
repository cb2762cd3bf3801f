"""Messages: a template and its values, told in a language when they are shown. What a value holds never matters."""

import copy
import json
import pickle

import pytest

from wenmai import Classifier
from wenmai.data.files.columns import short
from wenmai.errors import Mistake, Notice, Stopped
from wenmai.evaluation import report as reporting
from wenmai.locale import Listed, Message, phrase, plural, told_in, translate
from wenmai.locale.theirs import Theirs
from wenmai.page.leaderboard import leaderboard
from wenmai.training.folders import Damaged

HOSTILE = [
    "x is not among the trained ones: b",
    "{file}",
    "{}",
    "{0}",
    "{missing!r:>10}",
    "}{",
    "%s %(file)s %d",
    "'",
    '"',
    "`rm`",
    "\\n",
    "a.csv, line 3: the label is empty; give every row a label or drop the row.",
    ": the folder is damaged; train it again.",
    "row 3",
    "line",
    "none",
    "a text",
    "nothing",
    "Permission denied",
    "a, b 和 c、d",
    "",
    " ",
    "第 3 行",
    "\u202eabc\u202c",
    "[red]b",
]
UNPRINTABLE = {
    "a\nb": "a\\nb",
    "\x1b[31m": "\\x1b[31m",
    "\u2028": "\\u2028",
    "\ud800": "\\ud800",
    "a\tb": "a\\tb",
}
LABEL = "{where}: the label {label!r} is not among the trained ones: {names}."


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_comes_out_as_it_is(value):
    message = Message("{file} is empty; expected at least one line of text.", file=value)
    assert message.english == f"{value} is empty; expected at least one line of text."
    assert message.chinese == f"{value} 是空的；至少应有一行文字。"
    message = Message(
        LABEL,
        where=Message("{file}, line {line}", file=value, line=3),
        label=value,
        names=Listed([value, value]),
    )
    assert (
        message.english
        == f"{value}, line 3: the label {value!r} is not among the trained ones: {value}, {value}."
    )
    assert (
        message.chinese
        == f"{value} 第 3 行：标签 {value!r} 不在训练时见过的标签之中：{value}、{value}。"
    )


@pytest.mark.parametrize(("value", "shown"), UNPRINTABLE.items())
def test_what_a_terminal_would_obey_is_escaped(value, shown):
    message = Message("{file} is empty; expected at least one line of text.", file=value)
    assert message.english.startswith(f"{shown} is") and message.chinese.startswith(
        f"{shown} 是空的"
    )


def test_a_message_is_its_english_text(monkeypatch):
    message = Message("order {order}", order=3)
    assert (
        message == "order 3"
        and hash(message) == hash("order 3")
        and json.dumps([message]) == '["order 3"]'
    )
    assert repr([message]) == "['order 3']" and repr(Mistake(message)) == "Mistake('order 3')"
    assert (str(message), message.english, message.chinese) == ("order 3", "order 3", "3 阶")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert (str(message), f"{message}", message.english) == (
        "3 阶",
        "3 阶",
        "order 3",
    ) and json.dumps([message]) == '["order 3"]'
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert str(message) == "order 3"


def test_messages_nest():
    where = Message("row {row}", row=3)
    batch = Message("{where}, and {count} other rows of its batch", where=where, count=7)
    outer = Message(
        "step {step}: the loss is not a finite number ({batch}); training went back to step {back}, with {times:g} "
        "times the learning rate.",
        step=9,
        batch=batch,
        back=0,
        times=0.1,
    )
    assert "(row 3, and 7 other rows of its batch)" in outer.english
    assert (
        outer.chinese
        == "第 9 步：损失不再是有限的数（第 3 行，以及同一批的另外 7 行）；训练退回到第 0 步，学习率乘以 0.1。"
    )
    assert told_in(outer, "zh") == outer.chinese and told_in("plain", "zh") == "plain"


def test_plurals_and_lists():
    minutes = [
        plural("{count:g} minute", "{count:g} minutes", count=count) for count in (1, 2, 0.5, 0)
    ]
    assert [minute.english for minute in minutes] == [
        "1 minute",
        "2 minutes",
        "0.5 minutes",
        "0 minutes",
    ]
    assert [minute.chinese for minute in minutes] == ["1 分钟", "2 分钟", "0.5 分钟", "0 分钟"]
    assert (
        Listed([]) == ""
        and Listed(["a"]) == "a"
        and Listed("abc") == "a, b, c"
        and Listed("abc").chinese == "a、b、c"
    )
    assert (
        Listed("ab", Message(" or ")).chinese == "a 或 b"
        and Listed([Message("row {row}", row=1), 2]).chinese == "第 1 行、2"
    )


def test_the_place_decides():
    assert (
        phrase("wanted", "a text").chinese == "为文本"
        and phrase("called", "a text").chinese == "文本"
    )
    assert phrase("wanted", "a text") == phrase("called", "a text") == "a text"
    assert (
        translate("", "zh") == ""
        and Message().chinese == ""
        and Message("said by nobody").chinese == "said by nobody"
    )


def test_formats_stay_usable():
    many = Message(
        "{rows:,} rows read, {kept:,} kept, {dropped:,} dropped",
        rows=12345,
        kept=12000,
        dropped=345,
    )
    assert (
        many == "12,345 rows read, 12,000 kept, 345 dropped"
        and many.chinese == "读了 12,345 行，留下 12,000 行，去掉 345 行"
    )


def test_the_words_of_others():
    assert (
        Theirs("Permission denied").chinese == "没有权限"
        and Theirs("CRC check failed 0x1 != 0x2").chinese == "校验和不符"
    )
    assert Theirs("Permission denied, or not").chinese == "Permission denied, or not"
    assert Theirs(OSError("{x}")) == "{x}" and Theirs("{x}").chinese == "{x}"


@pytest.mark.parametrize(
    "message",
    [
        Message("order {order}", order=3),
        plural("{count:g} minute", "{count:g} minutes", count=2),
        Listed("ab", Message(" or ")),
        phrase("kind", "rung"),
        Theirs("Permission denied"),
        Message("row {row}", row=Message("order {order}", order=3)),
    ],
)
def test_messages_are_copied_and_sent(message):
    for other in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message), copy.copy(message)):
        assert (
            type(other) is type(message)
            and other == message
            and other.chinese == message.chinese != message.english
        )


@pytest.mark.parametrize("kind", [Mistake, Damaged, Stopped, Notice])
def test_exceptions_carry_a_message(kind, monkeypatch):
    error = kind(
        "{reason}: the folder is damaged; train it again.",
        reason=Message("{file} is missing", file="{x}/run.json"),
    )
    assert (
        str(error)
        == error.english
        == error.args[0]
        == "{x}/run.json is missing: the folder is damaged; train it again."
    )
    assert error.message.chinese == "缺少 {x}/run.json：文件夹已损坏；请重新训练。"
    again = pickle.loads(pickle.dumps(error))
    assert (
        type(again) is kind and again == error == kind(error.message) and hash(again) == hash(error)
    )
    assert error != kind("{file} is missing", file="y") and error != ValueError(error.english)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert (
        str(again) == "缺少 {x}/run.json：文件夹已损坏；请重新训练。"
        and again.english == error.english
    )
    assert str(kind()) == ""


def test_a_mistake_is_a_value_error():
    with pytest.raises(ValueError, match="x is empty"):
        raise Mistake("{file} is empty; expected at least one line of text.", file="x")


# Through everything that shows them


NAMES = [name for name in HOSTILE if name.strip() == name and name and "\\" not in name]


@pytest.fixture(scope="module")
def model():
    return Classifier("softmax", epochs=1).fit(["a b", "c d"] * 4, ["yes", "no"] * 4)


@pytest.mark.parametrize("label", NAMES)
def test_a_label_in_a_mistake(model, label, monkeypatch):
    with pytest.raises(Mistake) as caught:
        model.evaluate(["a b"], [label])
    assert (
        caught.value.english
        == f"row 1: the label {short(label)!r} is not among the trained ones: no, yes."
    )
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert (
        str(caught.value) == f"第 1 行：标签 {short(label)!r} 不在训练时见过的标签之中：no, yes。"
    )


@pytest.mark.parametrize("lang", ["C.UTF-8", "zh_CN.UTF-8"])
@pytest.mark.parametrize(
    "name", ["{file}", "%s", "a, line 3: found 'x'", "x; the nearest is {y}", "built in"]
)
def test_a_file_on_the_command_line(wenmai_cli, monkeypatch, tmp_path, lang, name):
    monkeypatch.setenv("LC_ALL", lang)
    path = tmp_path / f"{name}.csv"
    path.write_text("text,label\na good film,{label}\na bad one,%s\na third,x: y\n" * 10)
    ran = wenmai_cli("data", path)
    assert ran.status == 0 and "{label}" in ran.out and "%s" in ran.out and "x: y" in ran.out
    told = f"{path}: The delimiter is a comma." if lang == "C.UTF-8" else f"{path}：分隔符是逗号。"
    assert "".join(told.split()) in "".join(
        ran.out.split()
    )  # wherever the terminal breaks its lines
    path.write_text("text,label\na good film,\n")
    ran = wenmai_cli("train", "softmax", path)
    place = f"{path}, line 2: " if lang == "C.UTF-8" else f"{path} 第 2 行："
    assert ran.status == 2 and ran.err.startswith(f"wenmai: {place}") and ran.err.count("\n") == 1


def a_report(**more) -> dict:
    rung = {
        "rung": "gru",
        "scores": {"test": {"accuracy": 0.5}},
        "seconds": 1.0,
        "about": "",
        "about_zh": "",
    }
    return {
        "data": "x",
        "task": "classify",
        "metric": "accuracy",
        "higher_is_better": True,
        "minutes": 1.0,
        "seed": 0,
        "seeds": 1,
        "device": "cpu",
        "machine": "m",
        "wenmai": "0",
        "created": "now",
        "rows": {"train": 1},
        "rungs": [rung],
        "recommendation": None,
        "notes": [],
        "notes_zh": [],
        **more,
    }


def test_values_in_a_report(tmp_path):
    name = "{file} is not among the trained ones: b; %s"
    note = Message(
        "{file}: {note}",
        file=name,
        note=Message("The delimiter is {mark}.", mark=Message("a comma")),
    )
    failed = Mistake(LABEL, where=Message("row {row}", row=1), label=name, names="b").message
    rungs = [{"rung": name, "failed": failed, "scores": {"test": {}}, "about": "", "about_zh": ""}]
    report = a_report(rungs=rungs, notes=[note], notes_zh=[note.chinese])
    reporting.write(report, tmp_path)
    kept = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert kept["notes"] == [f"{name}: The delimiter is a comma."] and kept["notes_zh"] == [
        f"{name}：分隔符是逗号。"
    ]
    assert (
        kept["rungs"][0]["failed"] == f"row 1: the label {name!r} is not among the trained ones: b."
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    for words in (
        "row 1: the label &#x27;{file} is not",
        "第 1 行：标签 &#x27;{file} is not",
        "分隔符是逗号。",
        "shared 1 minute;",
        "平分 1 分钟，",
    ):
        assert words in page, words
    assert "第 1 行：标签" in str(leaderboard(report, "zh").caption) and "row 1: the label" in str(
        leaderboard(report).caption
    )
