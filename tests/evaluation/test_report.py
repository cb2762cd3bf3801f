"""The report of a comparison: whole, readable in both languages, and unmoved by what the data holds."""

import copy
import io
import json
import math
import re
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from rich.console import Console

from wenmai.evaluation.report import write
from wenmai.page import pictures
from wenmai.page.leaderboard import leaderboard

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "شيلينغ \u202eتصوم\u2066",
    "null \x00 bell \x07 half \ud800 none \uffff",
    "| a | b |\n\n# heading [link](https://example.org) `code` $x$",
    "x" * 1_000_000,
]
RUNGS = [
    "gru",
    "lstm",
    "cnn",
    "transformer",
    "softmax",
    "logistic",
    "mlp",
    "rnn",
    "rnn-residual",
    "rnn-coupled",
]
RUNGS += ["rnn-gated", "perceptron", "bert", "ngram"]


def a_rung(name, score, metric="accuracy", classes=("Czech", "Danish", "中文")):
    many = range(len(classes))
    counts = [[40 if a == b else (a * b) % 3 for b in many] for a in many]
    return {
        "rung": name,
        "run": f"runs/languages-{name}",
        "task": "classify",
        "failed": None,
        "scores": {"valid": {metric: score}, "test": {metric: score, "macro_f1": score - 0.01}},
        "interval": [score - 0.0123, score + 0.0123],
        "seed_scores": [score],
        "spread": None,
        "parameters": 1234 * (1 + len(name)),
        "bytes": 4936 * (1 + len(name)),
        "seconds": 11.2,
        "steps": 900,
        "learning_rate": 0.003,
        "rates_tried": [{"learning_rate": 0.001, "score": 0.8}],
        "predictions_per_second": 12345.0,
        "latency_ms": {"p50": 1.25, "p99": 3.5},
        "curve": [
            {"step": i, "seconds": i / 10, "train_loss": 1 / i, "score": score * i / 9}
            for i in range(1, 10)
        ],
        "sizes": [
            {"fraction": f, "rows": int(14000 * f), "score": score * f**0.1}
            for f in (0.1, 0.3, 1.0)
        ],
        "confusion": {"classes": list(classes), "counts": counts},
        "worst": [
            {"input": "Norge", "expected": "Danish", "answer": "Norwegian", "probability": 0.99}
        ],
        "about": f"What {name} is.",
        "about_zh": f"{name} 是什么。",
        "options": {"hidden": 256},
    }


def a_report(**changes):
    rungs = [a_rung(name, 0.91 - 0.01 * i) for i, name in enumerate(RUNGS)]
    failure = {
        "rung": "gpt",
        "task": "classify",
        "failed": "the loss became infinite at step 12.",
        "scores": {},
    }
    return {
        "wenmai": "0.1.0",
        "data": "languages",
        "task": "classify",
        "metric": "accuracy",
        "higher_is_better": True,
        "minutes": 3.0,
        "seed": 0,
        "seeds": 1,
        "device": "cpu",
        "machine": "a machine",
        "created": "2026-11-15T10:00:00",
        "rows": {"train": 14000, "valid": 1700, "test": 1700},
        "classes": ["Czech", "Danish", "中文"],
        "notes": ["characters: the texts are short"],
        "rungs": [*rungs, failure],
        "recommendation": {
            "rung": "softmax",
            "reason": "softmax is enough.",
            "reason_zh": "softmax 已经足够。",
        },
    } | changes


class Page(HTMLParser):
    """Reads a page and refuses one whose tags do not close in order; keeps tags, attributes and visible words."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


def written(report, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = {path.name: path for path in write(report, folder)}
    text = {name: path.read_text("utf-8") for name, path in files.items() if path.suffix != ".png"}
    return text, Page(text["report.html"])


def test_the_page_is_whole_self_contained_and_speaks_both_languages(tmp_path):
    text, page = written(a_report(), tmp_path)
    words = " ".join(page.words)
    assert not re.search(r"https?:|//[a-z]|xlink", text["report.html"].split("<script>")[0])
    assert not {"img", "link", "iframe", "object"} & set(page.tags)
    assert all(value.startswith("#") for name, value in page.attributes if name in ("href", "src"))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name in (
        *RUNGS,
        "gpt",
        "Leaderboard",
        "排行榜",
        "softmax is enough.",
        "softmax 已经足够。",
        "准确率",
        "训练时间（秒）",
    ):
        assert name in words
    assert "the loss became infinite at step 12." in words
    assert page.tags.count("svg") == 10  # five pictures in two languages
    assert page.tags.count("details") == len(RUNGS) + 1


@pytest.mark.slow
def test_files_are_valid_and_the_same_every_time(tmp_path):
    text, _ = written(a_report(), tmp_path / "a")
    again, _ = written(a_report(), tmp_path / "b")
    assert text == again
    assert json.loads(text["report.json"]) == a_report()
    assert (tmp_path / "a" / "quality.png").read_bytes().startswith(b"\x89PNG")
    for name in (name for name in text if name.endswith(".svg")):
        drawing = ElementTree.fromstring(text[name])
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert "#000000" not in text[name]  # black ink would vanish on a dark page
    assert "越高越好" in text["quality-parameters.zh.svg"]
    assert "## 排行榜" in text["report.md"] and "(curves.zh.svg)" in text["report.md"]


@pytest.mark.slow
def test_hostile_text_stays_text(tmp_path):
    report = a_report(data=HOSTILE[0], notes=HOSTILE, machine=HOSTILE[1])
    report["recommendation"] = {"rung": HOSTILE[0], "reason": HOSTILE[1], "reason_zh": HOSTILE[4]}
    mistakes = [{"input": s, "expected": s, "answer": s, "probability": 0.5} for s in HOSTILE]
    for rung, name in zip(report["rungs"], HOSTILE):
        rung |= {"rung": name, "about": name, "worst": mistakes, "options": {name: name}}
        rung["confusion"]["classes"] = HOSTILE[:3]
    report["rungs"][-1] |= {"failed": HOSTILE[0]}
    text, page = written(report, tmp_path)
    assert page.tags.count("script") == 1 and "img" not in page.tags
    assert "<script>alert(1)</script>" in " ".join(page.words)
    assert len(text["report.html"]) < 1_500_000
    assert not re.search("[\x00-\x08\u202e\u2066\ud800]", text["report.html"] + text["report.md"])
    assert "<script>" not in text["report.md"] and "https://" not in text["report.md"]
    rows = [line for line in text["report.md"].splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {
        5,
        11,
    }  # no cell breaks its table
    for name in (name for name in text if name.endswith(".svg")):
        ElementTree.fromstring(text[name])
    shown = rendered(report)
    assert "<script>alert(1)</script>" in shown and "\x07" not in shown


def test_thirty_classes_show_the_pairs_confused_most(tmp_path):
    report = a_report()
    report["rungs"] = [a_rung("gru", 0.9, classes=[f"class {i}" for i in range(30)])]
    _, page = written(report, tmp_path)
    assert "heat" not in dict(page.attributes).values()
    assert "Most confused pairs" in page.words and page.words.count("2") == 20


def test_missing_parts_leave_no_hole(tmp_path):
    report = a_report(notes=[], classes=None, rows={"train": 10, "valid": None, "test": 3})
    bare = {
        "rung": "a-checkpoint",
        "task": "classify",
        "failed": None,
        "scores": {"test": {"accuracy": 0.5}},
    }
    empty = a_rung("gru", math.nan) | dict.fromkeys(
        ("interval", "sizes", "curve", "confusion", "worst", "options")
    )
    report["rungs"] = [bare, empty, *report["rungs"][-1:]]
    text, page = written(report, tmp_path)
    assert json.loads(text["report.json"])["rungs"][1]["scores"]["test"]["accuracy"] is None
    assert page.tags.count("svg") == 0 and "curves.en.svg" not in text
    assert "nan" not in text["report.html"] and "a-checkpoint" in rendered(report)

    report |= {"rungs": report["rungs"][-1:], "recommendation": None}
    _, page = written(report, tmp_path)
    assert "No rung finished." in page.words


@pytest.mark.slow
def test_lower_is_better(tmp_path):
    report = a_report(task="generate", metric="perplexity", higher_is_better=False)
    report["rungs"] = [a_rung(name, 20.0 * 1.3**i, "perplexity") for i, name in enumerate(RUNGS)]
    text, page = written(report, tmp_path)
    assert "perplexity (lower is better)" in text["quality-seconds.en.svg"]
    assert "困惑度" in " ".join(page.words) and "accuracy" not in " ".join(page.words)
    low, high = pictures.limits(report)
    assert (
        low == pytest.approx(19.9877) and high < 20.0 * 1.3**13
    )  # the worst rung does not set the scale
    assert "ngram ↑ 605.8" in text["quality-parameters.en.svg"]


def rendered(report, lang="en"):
    console = Console(width=120, file=io.StringIO())
    console.print(leaderboard(report, lang=lang))
    return console.file.getvalue()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_leaderboard_fits_a_terminal(lang):
    report = a_report(seeds=3)
    for rung in report["rungs"][:-1]:
        rung |= {
            "spread": 0.0042,
            "parameters": 123_456_789,
            "bytes": 493_827_156,
            "seconds": 12345.6,
        }
    report["rungs"][0]["rung"] = "checkpoints/a-very-long-name-of-somebodys-model"
    shown = rendered(report, lang)
    assert all(cell_len(line) <= 120 for line in shown.splitlines()) and "…" not in shown
    for number in (
        "0.910 ± 0.012",
        "0.900",
        "0.004",
        "123M",
        "494 MB",
        "12,345.6",
        "12.3k",
        "1.25",
        "3.5",
    ):
        assert number in shown
    assert "softmax ✓" in shown and "the loss became infinite at step 12." in shown
    assert ("准确率" if lang == "zh" else "accuracy") in shown


def test_numbers_are_written_for_people():
    assert [pictures.compact(x) for x in (0, 11.2, 999.6, 12000, 1.25e6, 3e14, None)] == (
        ["0", "11.2", "1k", "12k", "1.25M", "300T", "–"]
    )
    assert [pictures.number(x) for x in (0.9054, 12.314, 1204.5, 0.00001, math.inf)] == (
        ["0.905", "12.31", "1,204.5", "1.00e-05", "–"]
    )


def test_drawing_leaves_matplotlib_and_the_report_as_they_were():
    import matplotlib

    report = a_report()
    before, copied = dict(matplotlib.rcParams), copy.deepcopy(report)
    pictures.pictures(report)
    assert dict(matplotlib.rcParams) == before and report == copied
