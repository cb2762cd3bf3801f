"""Probes: what they measure is what the estimators measure, and what they leave is whole, in both languages."""

import json
import random
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from math import inf, isclose

import numpy as np
import pytest

from wenmai.data.text.vocabulary import BEGIN, END
from wenmai.errors import Mistake
from wenmai.evaluation.probes import PROBES, probe_named, sparsity
from wenmai.evaluation.probes.sparsity import SHARES, SMOOTHINGS
from wenmai.language_model import LanguageModel
from wenmai.models.ngram import held_out
from wenmai.models.ngram.counts import NONE, count

WORDS = [f"w{n}" for n in range(60)]


def lines_of(count: int, seed: int = 3) -> list[str]:
    """Sentences in which words lead to others; the first one holds all of them, so that any part knows them too."""
    chance, found = random.Random(seed), [" ".join(WORDS)]
    while len(found) < count:
        word, line = chance.randrange(60), []
        for _ in range(chance.randrange(1, 12)):
            line.append(WORDS[word])
            word = (
                (word * 7 + chance.choice([1, 2, 3, 20])) % 60
                if chance.random() < 0.8
                else chance.randrange(60)
            )
        found.append(" ".join(line))
    return found


def ended(steps):
    """What a generator returns, and how often it yielded."""
    yielded = 0
    while True:
        try:
            next(steps)
            yielded += 1
        except StopIteration as end:
            return end.value, yielded


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe") / "text.txt"
    path.write_text("\n".join([*lines_of(2000), "never w1 w2 before"]) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def found(text):
    return ended(sparsity.run(str(text)))[0]


def test_the_table_of_probes():
    assert all(
        probe.name == name and probe.about and probe.about.chinese != probe.about
        for name, probe in PROBES.items()
    )
    with pytest.raises(Mistake, match='unknown probe "sparcity"; did you mean sparsity'):
        probe_named("sparcity")


@pytest.mark.parametrize(
    ("amount", "order", "smoothing"),
    [
        (3, 1, "modified-kneser-ney"),
        (3, 2, "none"),
        (3, 3, "add-one"),
        (3, 2, "add-delta"),
        (3, 5, "add-delta"),
        (3, 4, "absolute"),
        (3, 3, "witten-bell"),
        (3, 5, "katz"),
        (3, 2, "kneser-ney"),
        (3, 5, "modified-kneser-ney"),
        (1, 3, "katz"),
        (1, 4, "add-delta"),
        (2, 5, "modified-kneser-ney"),
        (2, 1, "none"),
        (0, 2, "witten-bell"),
        (0, 3, "kneser-ney"),
    ],
)
def test_a_cell_is_what_the_language_model_says(text, found, amount, order, smoothing):
    row = found.known["amounts"][amount]
    lines = text.read_text("utf-8").splitlines()
    held = lines[-found.known["held_out"]["lines"] :]
    model = LanguageModel("ngram", order=order, smoothing=smoothing).fit(lines[: row["lines"]])
    assert len(model.inputs_) == found.known["vocabulary"]  # which the first line holds
    assert isclose(
        model.evaluate(held)["perplexity"], row["perplexity"][smoothing][order - 1], rel_tol=1e-5
    )


def test_amounts_and_held_out_lines(text, found):
    known, lines = found.known, text.read_text("utf-8").splitlines()
    amounts = known["amounts"]
    assert [row["share"] for row in amounts] == list(SHARES) and known["orders"] == [1, 2, 3, 4, 5]
    assert (
        amounts[-1]["lines"] + known["held_out"]["lines"] == len(lines)
        and known["held_out"]["unknown"] == 2
    )
    assert amounts[-1]["tokens"] == sum(
        len(line.split()) + 1 for line in lines[: amounts[-1]["lines"]]
    )
    for row, share in zip(amounts, SHARES.values()):
        assert (
            0 <= row["tokens"] / amounts[-1]["tokens"] - share < 0.02 or row["lines"] == 1
        )  # up to the end of a line


def test_what_is_unseen(text, found):
    lines = text.read_text("utf-8").splitlines()

    def grams(rows, n):
        closed = [["<s>", *row.split(), "</s>"] for row in rows]
        return [
            tuple(row[at : at + n])
            for row in closed
            for at in range(len(row) - n + 1)
            if n > 1 or at
        ]

    held = lines[-found.known["held_out"]["lines"] :]
    for row in found.known["amounts"]:
        for n, share in enumerate(row["unseen"], 1):
            seen, asked = set(grams(lines[: row["lines"]], n)), grams(held, n)
            assert isclose(
                share, sum(gram not in seen for gram in asked) / len(asked), abs_tol=1e-12
            ), (row["share"], n)


def test_the_order_of_things(found):
    amounts = found.known["amounts"]
    for row in amounts:
        assert row["unseen"] == sorted(row["unseen"])  # the longer, the rarer
        assert set(row["perplexity"]) == set(SMOOTHINGS) and row["perplexity"]["none"] == [inf] * 5
        assert all(value < inf for kind in SMOOTHINGS[1:] for value in row["perplexity"][kind])
    rows = amounts[-1]["perplexity"]
    assert all(
        one > best for one, best in zip(rows["add-one"][2:], rows["modified-kneser-ney"][2:])
    )
    for less, more in pairwise(amounts):
        assert all(a >= b for a, b in zip(less["unseen"], more["unseen"]))
    assert (
        amounts[-1]["perplexity"]["modified-kneser-ney"][1]
        < amounts[0]["perplexity"]["modified-kneser-ney"][1]
    )


def test_probabilities_sum_to_one():
    """Over all that may follow a context, whichever the walk takes."""
    from wenmai.models.ngram.smoothing import smooth

    tokens = np.array([1, 3, 4, 3, 5, 2, 1, 3, 4, 4, 2, 1, 5, 2], np.int32)
    levels = count(tokens, 7, 3, BEGIN)
    for kind in SMOOTHINGS[1:]:
        weights = smooth(levels, kind, BEGIN).levels
        for context in ([], [3], [3, 4], [4, 6], [5, 5]):
            texts = [np.array([BEGIN, *context, word]) for word in range(7) if word != BEGIN]
            sums = sum(
                10 ** held_out.log_probs(weights, held_out.ends(levels, text, BEGIN))[-1]
                for text in texts
            )
            assert isclose(sums, 1, rel_tol=1e-5), (kind, context)


def test_where_n_grams_end():
    tokens = np.array([BEGIN, 3, 4, END, BEGIN, 4, END], np.int32)
    ends = held_out.ends(
        count(tokens, 5, 3, BEGIN), np.array([BEGIN, 4, END, BEGIN, 3, 3, 4, END]), BEGIN
    )
    assert [(found != NONE).astype(int).tolist() for found in ends] == [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [0, 1, 1, 0, 1, 0, 1, 1],
        [0, 0, 1, 0, 0, 0, 0, 1],
    ]
    assert held_out.places(tokens, BEGIN).tolist() == [0, 1, 2, 3, 0, 1, 2]


def test_the_files(found, tmp_path):
    written = found.write("sparsity", tmp_path)
    assert {path.name for path in written} == {
        "sparsity.json",
        "sparsity.md",
        "sparsity.zh.md",
        "sparsity.en.svg",
        "sparsity.zh.svg",
    }

    def refuse(name):
        raise ValueError(name)

    known = json.loads((tmp_path / "sparsity.json").read_text("utf-8"), parse_constant=refuse)
    assert (
        known["amounts"][0]["perplexity"]["none"] == [None] * 5
        and known["notes"]
        and known["held_out"]["tokens"]
    )
    for lang, name in (("en", "sparsity.md"), ("zh", "sparsity.zh.md")):
        text = (tmp_path / name).read_text("utf-8")
        assert (
            f"(sparsity.{lang}.svg)" in text
            and text.count("| modified-kneser-ney |") == 4
            and "| ∞ |" in text
        )
        svg = ElementTree.parse(tmp_path / f"sparsity.{lang}.svg")
        said = " ".join(node.text or "" for node in svg.iter("{http://www.w3.org/2000/svg}text"))
        assert all(kind in said for kind in SMOOTHINGS) and said.count("∞") >= 20
        assert ("困惑度" in said and "困惑度" in text) == (lang == "zh")
    chinese = (tmp_path / "sparsity.zh.md").read_text("utf-8")
    assert not any(word in chinese for word in ("the ", "held out", "perplexity"))


def test_options(text):
    found, yielded = ended(
        sparsity.run(
            str(text), settings={"orders": "2", "tokenizer": "characters", "lowercase": "true"}
        )
    )
    assert (
        found.known["orders"] == [1, 2] and found.known["unit"] == "character" and yielded == 4 * 3
    )
    assert (
        found.known["amounts"][-1]["perplexity"]["none"][0] == inf
    )  # the letters of "never" and "before"
    with pytest.raises(Mistake, match=r'unknown option "order": .* known here are: .*orders'):
        ended(sparsity.run(str(text), settings={"order": "2"}))
    with pytest.raises(Mistake, match="orders=8: expected 1 to 7"):
        ended(sparsity.run(str(text), settings={"orders": "8"}))


def test_a_text_that_is_too_long_is_cut(text, monkeypatch):
    monkeypatch.setattr(sparsity, "MOST", 3000)
    monkeypatch.setattr(sparsity, "SAMPLE", 2000)
    found, _ = ended(sparsity.run(str(text)))
    assert 2500 < found.known["amounts"][-1]["tokens"] < 3600 and any(
        "only its beginning" in note for note in found.notes
    )


def test_mistakes(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n \n\n")
    (tmp_path / "short.txt").write_text("\n".join(lines_of(50)))
    (tmp_path / "one.txt").write_text(" ".join(WORDS * 50))
    for name, sentence in (
        ("empty", "is empty"),
        ("blank", "is empty"),
        ("short", r"found 50 lines with 4\d\d tokens, expected"),
        ("one", "found 1 lines with 3,001 tokens, expected at least 100 with 1,000"),
    ):
        with pytest.raises(Mistake, match=sentence):
            ended(sparsity.run(str(tmp_path / f"{name}.txt")))
    with pytest.raises(Mistake, match=r"digits has the columns .*, expected one named text"):
        ended(sparsity.run("digits"))
    with pytest.raises(Mistake, match="data set"):
        ended(sparsity.run("manuel"))


@pytest.mark.parametrize("locale", ["en_GB.UTF-8", "zh_CN.UTF-8"])
def test_the_command(wenmai_cli, monkeypatch, text, tmp_path, locale):
    monkeypatch.setenv("LC_ALL", locale)
    zh = locale.startswith("zh")
    assert (
        PROBES["sparsity"].about.chinese[:8] in wenmai_cli("probe").out
        if zh
        else "sparsity" in wenmai_cli("probe").out
    )
    ran = wenmai_cli("probe", "sparsity", text, "--out", tmp_path / "out", "--set", "orders=2")
    assert ran.status == 0 and "modified-kneser-ney" in ran.out and ("困惑度" in ran.out) == zh, ran
    assert ("The lowest perplexity" in ran.out) != zh
    ran = wenmai_cli(
        "probe", "sparsity", text, "--out", tmp_path / "out", "--set", "orders=2", "--json"
    )
    known = json.loads(ran.out.splitlines()[-1])
    assert known["probe"] == "sparsity" and known["amounts"][0]["perplexity"]["none"] == [
        None,
        None,
    ]
    assert len(known["files"]) == 5 and wenmai_cli("probe", "gatez").status == 2
    assert [row["name"] for row in json.loads(wenmai_cli("probe", "--json").out)["probes"]] == list(
        PROBES
    )


def test_what_no_probe_wrote_is_left_as_it_is(wenmai_cli, text, tmp_path):
    """A file of the user's under one of its names: refused before anything is measured; its own files are written over."""
    for name in ("sparsity.md", "sparsity.json", "sparsity.en.svg"):
        place = tmp_path / name
        place.mkdir()
        (place / name).write_text('{"probe": "memory", "notes": []}')
        ran = wenmai_cli("probe", "sparsity", text, "--out", place)
        assert (
            ran.status == 2
            and f"holds {name}, which no probe wrote, and it is left as it is; choose another --out"
            in ran.err
        )
        assert [(path.name, path.read_text()) for path in place.iterdir()] == [
            (name, '{"probe": "memory", "notes": []}')
        ]
    ran = wenmai_cli("probe", "sparsity", text, "--out", text)
    assert ran.status == 2 and "is a file, where a folder" in ran.err
