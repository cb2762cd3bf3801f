"""The command line, from pairs of texts to translations and a report."""

import csv
import json
from io import StringIO

import pytest
from rich.console import Console

import wenmai
from wenmai import Translator
from wenmai.cli import answers
from wenmai.data.dataset import Dataset, Part
from wenmai.page.leaderboard import leaderboard, length_scores, more_tables
from wenmai.tasks.measuring.translations import by_length, lead, worst
from wenmai.tasks.translate import Translate

WORDS = {"red": "rot", "blue": "blau", "dog": "Hund", "cat": "Katze", "house": "Haus"}
TINY = ["--set", "hidden=8", "--set", "embed=8", "--set", "width=8"]


def some_pairs(count: int = 60) -> list[tuple[str, str]]:
    """Of one to five words, and of two different texts for every number of words."""
    words = list(WORDS)
    rows = [[words[(row * (at + 3) + at) % 5] for at in range(1 + row % 5)] for row in range(count)]
    return [
        (f"{row} " + " ".join(each), " ".join(WORDS[word] for word in each))
        for row, each in enumerate(rows)
    ]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("source", "target"), *some_pairs()])
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    sources, targets = map(list, zip(*some_pairs()))
    model = Translator(
        "attention", hidden=16, embed=16, steps=40, learning_rate=0.02, max_length=60
    ).fit(sources, targets)
    return str(model.save(tmp_path_factory.mktemp("runs") / "pairs-attention"))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def last_json(ran) -> dict:
    assert ran.status == 0, ran.err
    return json.loads(ran.out.splitlines()[-1])


# wenmai translate


def test_texts_are_translated(wenmai_cli, run):
    texts, model = ["1 red dog", "7 cat"], wenmai.load(run)
    assert wenmai_cli("translate", run, *texts).out.splitlines() == model.translate(texts)
    assert last_json(wenmai_cli("translate", run, *texts, "--json"))["answers"] == model.answers(
        texts
    )
    assert wenmai_cli("translate", run, *texts, "--beam", 1).out.splitlines() == model.translate(
        texts, beam=1
    )
    assert (
        wenmai_cli("translate", run, texts[0], "--stream").out
        == model.translate(texts[:1], beam=1)[0] + "\n"
    )
    assert (
        wenmai_cli("predict", run, texts[0], "--json").out
        == wenmai_cli("translate", run, texts[0], "--json").out
    )


def test_the_best_with_their_scores(wenmai_cli, run):
    shown = wenmai_cli("translate", run, "1 red dog", "--best", 3).out.splitlines()
    answer = last_json(wenmai_cli("translate", run, "1 red dog", "--best", 3, "--json"))["answers"][
        0
    ]
    assert (
        shown == [f"{one['score']:.4f}\t{one['text']}" for one in answer["best"]]
        and len(shown) == 3
    )
    other = last_json(
        wenmai_cli("translate", run, "1 red dog", "--best", 3, "--penalty", 0, "--json")
    )["answers"][0]["best"]
    assert all(one["score"] == one["log_prob"] for one in other)


def test_chance_and_its_seed(wenmai_cli, run):
    drawn = [
        wenmai_cli(
            "translate", run, "1 red dog", "--temperature", 2, "--best", 3, "--seed", seed
        ).out
        for seed in (0, 0, 9)
    ]
    assert drawn[0] == drawn[1] != drawn[2] and drawn[0].count("\n") == 3


def test_where_it_looked_is_shown(wenmai_cli, run):
    answer = last_json(wenmai_cli("translate", run, "1 red dog", "--alignment", "--json"))[
        "answers"
    ][0]
    lines = wenmai_cli("translate", run, "1 red dog", "--alignment").out.splitlines()
    assert (
        lines[0] == answer["text"]
        and len(lines) == 1 + len(answer["target_tokens"])
        and all("\t← " in one for one in lines[1:])
    )


@pytest.mark.parametrize("suffix", ["jsonl", "tsv"])
def test_a_file_is_translated_in_order(wenmai_cli, run, pairs, tmp_path, suffix):
    sources = [source for source, _ in some_pairs()]
    out, lines = tmp_path / f"out.{suffix}", tmp_path / "lines.txt"
    lines.write_text("\n".join(sources) + "\n", "utf-8")
    for file in (pairs, lines):
        assert last_json(wenmai_cli("translate", run, "--file", file, "--out", out, "--json")) == {
            "rows": 60,
            "out": str(out),
        }
        with open(out, encoding="utf-8", newline="") as read:
            found = (
                list(map(json.loads, read))
                if suffix == "jsonl"
                else list(csv.DictReader(read, delimiter="\t"))
            )
        assert [row["source"] for row in found] == sources and not any(
            "target" in row for row in found
        )
        assert [row["text"] for row in found] == wenmai.load(run).translate(sources)
    assert len(wenmai_cli("translate", run, "--file", lines).out.splitlines()) == 60


def test_a_run_is_evaluated_and_trained_from_two_files(wenmai_cli, tmp_path):
    for name, side in (("a.en", 0), ("a.de", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in some_pairs()), "utf-8")
    options = [*TINY[:4], "--set", "steps=3", "--out", "run"]
    found = last_json(
        wenmai_cli("train", "seq2seq", "a.en,a.de", "--test", "0.2", *options, "--json")
    )
    assert found["task"] == "translate" and set(found["scores"]["test"]) == {
        "bleu",
        "bleu_lower",
        "chrf",
        "exact_match",
    }
    again = last_json(wenmai_cli("evaluate", "run", "a.en", "--target", "a.de", "--json"))
    assert again["rows"] == 60 and set(again["scores"]["test"]) == {
        "bleu",
        "bleu_lower",
        "chrf",
        "exact_match",
    }
    with open("a.de", "a", encoding="utf-8") as file:
        file.write("übrig\n")
    ran = wenmai_cli("train", "seq2seq", "a.en,a.de", *options[:-1], "other")
    assert (
        ran.status == 2
        and "a.en has 60 lines and a.de has 61: from line 61 on, a.de stands alone" in ran.err
    )


@pytest.mark.parametrize(
    "arguments, says",
    [
        ([], "give either texts or --file FILE: there is nothing to translate."),
        (["red", "--file", "x.txt"], "give either texts or --file FILE: there is both."),
        (
            ["red", "--out", "x.jsonl"],
            "--out goes with --file; texts given here are answered here.",
        ),
        (["red", "--beam", "0"], "beam=0: expected 1 to 1000"),
        (["red", "--best", "0"], "best=0: expected 1"),
        (["red", "--best", "0", "--temperature", "1"], "count=0: expected 1 or more"),
        (
            ["red", "--alignment", "--temperature", "1"],
            "--alignment does nothing together with --temperature; leave one",
        ),
        (["red", "--alignment", "--stream"], "--alignment does nothing together with --stream"),
        (["red", "--best", "2", "--stream"], "--best does nothing together with --stream"),
        (["red", "--beam", "2", "--stream"], "--beam does nothing together with --stream"),
        (
            ["red", "--beam", "2", "--temperature", "1"],
            "--beam does nothing together with --temperature",
        ),
        (
            ["red", "--penalty", "2", "--temperature", "1"],
            "--penalty does nothing together with --temperature",
        ),
        (
            ["red", "--precision", "bf16", "--stream"],
            "--precision does nothing together with --stream",
        ),
        (
            ["red", "--beam", "5", "--stream"],
            "--beam does nothing together with --stream",
        ),  # though it is the usual one
        (["red", "--penalty", "0", "--stream"], "--penalty does nothing together with --stream"),
        (["red", "--precision", "8"], "precision='8': expected one of float32, bf16."),
        (["--file", "x.txt", "--alignment"], "--alignment does nothing together with --file"),
        (
            ["--file", "x.txt", "--temperature", "1"],
            "--temperature does nothing together with --file",
        ),
        (["--file", "x.txt", "--stream"], "--stream does nothing together with --file"),
        (
            ["red " * 200, "--strict", "--stream"],
            "input 1: it is longer than the 60 tokens that this model reads",
        ),
        (
            ["red " * 200, "--strict", "--temperature", "1"],
            "input 1: it is longer than the 60 tokens that this model reads",
        ),
        (["red", "--top-k", "5"], "nothing is drawn by chance; add --temperature 1"),
        (["red", "--penalty", "-1"], "penalty=-1.0: expected 0"),
        (["red", ""], "input 2: the text is empty"),
        (
            ["red " * 200, "--strict"],
            "input 1: it is longer than the 60 tokens that this model reads",
        ),
    ],
)
def test_what_cannot_be_done_is_said(wenmai_cli, run, arguments, says):
    ran = wenmai_cli("translate", run, *arguments)
    assert ran.status == 2 and says in " ".join(ran.err.split()) and "Traceback" not in ran.err


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_a_text_that_is_too_long_is_cut_and_this_is_said(wenmai_cli, run):
    ran = wenmai_cli("translate", run, "red " * 200)
    assert ran.status == 0 and ran.out.strip()
    assert (
        "1 of the texts are longer than the 60 tokens that this model reads: what goes beyond"
        in " ".join(ran.err.split())
    )


def test_a_run_of_another_task_is_refused(wenmai_cli, tmp_path):
    model = wenmai.Classifier("softmax", epochs=1, validation=0.0).fit(
        ["a b", "c d"] * 4, ["x", "y"] * 4
    )
    ran = wenmai_cli("translate", model.save(tmp_path / "other"), "a b")
    assert ran.status == 2 and "does classify, and a run is wanted that does translate" in " ".join(
        ran.err.split()
    )


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_an_answer_beside_every_line(wenmai_cli, run, tmp_path, monkeypatch):
    """Empty lines too, so that line n of what is written is line n of what was read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("\n1 red dog\n\n  \n2 blue cat\n")
    ran = wenmai_cli("translate", run, "--file", "a.txt", "--out", "b.jsonl")
    found = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text("utf-8").splitlines()]
    assert [bool(row["text"]) for row in found] == [
        False,
        True,
        False,
        False,
        True,
    ] and ran.status == 0
    assert "3 of the texts are empty, and so is what is written for them" in " ".join(
        ran.err.split()
    )
    alone = last_json(wenmai_cli("translate", run, "1 red dog", "--json"))["answers"][0]
    assert found[1]["text"] == alone["text"]


def test_a_file_that_is_read_is_not_written_over(wenmai_cli, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("source\n1 red dog\n")
    ran = wenmai_cli("translate", run, "--file", "a.csv", "--out", tmp_path / "a.csv")
    assert ran.status == 2 and "is the file that is read; choose another" in " ".join(
        ran.err.split()
    )
    assert (tmp_path / "a.csv").read_text() == "source\n1 red dog\n"


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_what_stood_there_stays_until_all_is_answered(wenmai_cli, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answers, "CHUNK", 2)
    (tmp_path / "a.txt").write_text("1 red dog\n\n2 blue cat\n" + "red " * 200)
    (tmp_path / "b.jsonl").write_text("of yesterday")
    ran = wenmai_cli("translate", run, "--file", "a.txt", "--out", "b.jsonl", "--strict")
    said = " ".join(ran.err.split())
    assert ran.status == 2 and "a.txt, line 4: it is longer than the 60 tokens" in said
    assert (tmp_path / "b.jsonl").read_text() == "of yesterday"
    (part,) = tmp_path.glob("b.jsonl.part.*")
    assert f"what was answered before stands in {part.name}" in said
    assert len(part.read_text("utf-8").splitlines()) == 1
    (tmp_path / "a.txt").write_text("red " * 200)
    assert (
        wenmai_cli("translate", run, "--file", "a.txt", "--out", "c.jsonl", "--strict").status == 2
    )
    assert not list(tmp_path.glob("c.jsonl*"))


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_what_takes_long_is_written_before_much_of_it_can_be_lost(
    wenmai_cli, run, tmp_path, monkeypatch
):
    """With defaults: of 1,100 texts the last is refused, and those of the first thousand stand there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("dog\n" * 1099 + "red " * 200)
    assert (
        wenmai_cli(
            "translate", run, "--file", "a.txt", "--out", "b.jsonl", "--strict", "--beam", "1"
        ).status
        == 2
    )
    (part,) = tmp_path.glob("b.jsonl.part.*")
    assert len(part.read_text("utf-8").splitlines()) == 1024


# wenmai compare


@pytest.mark.slow
def test_compare_shows_what_translations_are_worth(wenmai_cli, pairs, run, tmp_path):
    given = [
        "--minutes",
        "0.05",
        *TINY,
        "--set",
        "layers=1",
        "--rungs",
        "seq2seq,transformer",
        "--with",
        run,
        "--out",
        "there",
    ]
    found = last_json(wenmai_cli("compare", pairs, *given, "--json"))
    assert {row["rung"] for row in found["rungs"]} == {"seq2seq", "transformer", "pairs-attention"}
    kept = json.loads((tmp_path / "there" / "report.json").read_text("utf-8"))
    assert kept["metric"] == "bleu" and kept["judged"] == "chrf" and "tok:13a|" in kept["signature"]
    for row in found["rungs"]:
        test = row["scores"]["test"]
        assert row["failed"] is None and set(test) == {"bleu", "bleu_lower", "chrf", "exact_match"}
        assert row["interval"][0] - 1e-6 <= test["bleu"] <= row["interval"][1] + 1e-6
        assert (
            row["predictions_per_second"] > 0
            and row["latency_ms"]["p50"] > 0
            and row["parameters"] > 0
            and row["bytes"] > 0
        )
        assert all(set(one) == {"input", "expected", "answer"} for one in row["worst"])
        assert all(set(one) == {"input", "expected", "written"} for one in row["samples"])
        assert (
            len(row["lengths"]) == 3
            and sum(part["rows"] for part in row["lengths"]) == kept["rows"]["test"]
        )
        if row["rung"] != "pairs-attention":
            assert set(row["scores"]["valid"]) == {"bleu", "chrf"}
            shares = [
                size["fraction"] for size in row["sizes"]
            ]  # as many as the time is enough for, and all
            assert shares[-1] == 1.0 and set(shares) <= {0.1, 0.3, 1.0} and shares == sorted(shares)
    assert found["recommendation"]["rung"] in {row["rung"] for row in found["rungs"]}
    head, rows = length_scores(kept, "zh")
    assert head[0] == "模型 · BLEU" and head[1].endswith("个字符") and len(rows) == 3
    for name in ("report.html", "report.md"):
        text = (tmp_path / "there" / name).read_text("utf-8")
        assert text.replace("\\", "").count(kept["signature"]) == 2  # once in each language
        for words in (
            "Short and long sources",
            "短源文与长源文",
            "tokens/s",
            "词元/秒",
            "chrF",
            "束宽为 5",
            "beam of 5",
        ):
            assert words in text, (name, words)
    console = Console(width=160, record=True, file=StringIO())
    console.print(*more_tables(kept), leaderboard(kept))
    shown = console.export_text()
    assert "rung · BLEU" in shown and "characters" in shown and "tokens/s" in shown


def test_lengths_and_the_worst(pairs):
    sources = ["a"] * 4 + ["bbb"] * 4 + ["ccccc"] * 4
    part = Part(sources, [source.upper() for source in sources], "x", range(1, 13))
    task = Translate()
    task.learn(part.targets)
    answers = [*part.targets[:8], "CC", "X", "CCCC", "CCCCC"]
    assert [part["score"] for part in by_length(task, part, answers)] == [1.0, 1.0, 0.25]
    assert [(part["shortest"], part["longest"]) for part in by_length(task, part, answers)] == [
        (1, 1),
        (3, 3),
        (5, 5),
    ]
    assert [one["answer"] for one in worst(part, answers)] == ["X", "CC", "CCCC"]
    alike = Part(["ab"] * 3, ["x", "y", "z"], "x", range(1, 4))
    assert len(by_length(task, alike, ["x", "y", "q"])) == 1
    assert (
        length_scores(
            {"rungs": [{"rung": "a", "lengths": by_length(task, alike, ["x", "y", "q"])}]}, "en"
        )
        is None
    )
    settled = Translate.profile.settled_options(Translate(summarise=True))
    assert settled == {"summarise": True}  # a part of the rows might say otherwise


@pytest.mark.parametrize(
    "sources, target, best, sentence, in_zh",
    [
        (
            [
                f"a {word} dog runs home as soon as it begins to rain, and then again"
                for word in WORDS
            ],
            lambda text: " ".join(text.split()[:4]),
            0.5,
            "Without a model, the first 4 words of every source, taken as its summary, score 1.000: no rung has more.",
            "不用模型，取每篇源文开头 4 个词作摘要，得分为 1.000：没有哪一级更高。",
        ),
        (
            [f"{colour}狗跑到老房子那里去，下雨了就回家，天天如此" for colour in "红黄蓝白黑"],
            lambda text: text[2:5],
            0.7,
            "Without a model, the first 6 characters of every source, taken as its summary, score 0.667.",
            "不用模型，取每篇源文开头 6 个单字作摘要，得分为 0.667。",
        ),
    ],
)
def test_the_lead_is_what_a_summary_must_beat(sources, target, best, sentence, in_zh):
    """As many words as score most: twice a target's characters hold all of one that begins with the third."""
    part = Part(sources, [target(source) for source in sources], "x", range(1, 6))
    found = lead(Dataset("x", Translate(summarise=True), part, part, part), best)
    assert found == sentence and found.chinese == in_zh


@pytest.mark.slow
def test_compare_says_it_beside_its_advice(wenmai_cli, tmp_path):
    body = "the {} dog runs to the old house in the evening and comes back home as soon as it rains, every {} of the year, {}"
    rows = [
        {"source": body.format(word, day, day), "target": f"the {word} dog runs {day}"}
        for word in WORDS
        for day in range(12)
    ]
    (tmp_path / "mails.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["--minutes", "0.02", *TINY[:4], "--rungs", "seq2seq", "--out", tmp_path / "there"]
    ran = wenmai_cli("compare", tmp_path / "mails.jsonl", *given)
    assert "Without a model, the first " in " ".join(ran.out.split())
    assert "不用模型，取每篇源文开头" in (tmp_path / "there" / "report.md").read_text("utf-8")
