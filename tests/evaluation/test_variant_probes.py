"""gates, heads, depth and parallel: on small settings they run, their numbers hold together, and what they leave is whole."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from test_probes import ended

from wenmai import Classifier
from wenmai.errors import Mistake
from wenmai.evaluation.probes import PROBES, depth, gates, heads, parallel
from wenmai.evaluation.probes.variants import beyond_chance, counter, open_rows

SMALL = {"rows": "120", "epochs": "1", "seeds": "2"}
SIZES = {
    "gates": {"hidden": "12", "embed": "8"},
    "heads": {"heads": "1,2,4", "width": "8"},
    "depth": {"hidden": "8", "embed": "8"},
}
ROWS = {"gates": 5, "heads": 3, "depth": 6}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe") / "reviews.csv"
    rows = [
        f"{'good fine' if n % 2 else 'bad poor'} film number {n},{'pos' if n % 2 else 'neg'}"
        for n in range(240)
    ]
    path.write_text("\n".join(["text,label", *rows]) + "\n", "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def found(reviews):
    """What each finds."""
    run = {
        name: ended(PROBES[name].run(reviews, None, SMALL | SIZES[name], 0))[0] for name in SIZES
    }
    lengths = {"lengths": "8,16,32", "width": "16", "repeats": "2", "batch": "2"}
    return run | {"parallel": ended(parallel.run("", settings=lengths))[0]}


@pytest.mark.each_value
@pytest.mark.parametrize("name", SIZES)
def test_variants(found, name):
    known = found[name].known
    assert len(known["variants"]) == ROWS[name] and known["rows"] == {
        "train": 120,
        "valid": 24,
        "test": 30,
    }
    for row in known["variants"]:
        assert len(row["scores"]) == len(row["seconds"]) == 2 and all(
            0 <= score <= 1 for score in row["scores"]
        )
        assert min(row["scores"]) <= row["mean"] <= max(row["scores"]) and row["spread"] >= 0
        assert row["parameters"] > 0 and min(row["seconds"]) > 0
    table = found[name].tables(found[name].known, "en")[0].rows
    assert [row[1] for row in table] == [
        f"{row['mean']:.4f} ± {row['spread']:.4f}" for row in known["variants"]
    ]
    assert f"{known['variants'][0]['parameters']:,}" in table[0]


def test_equal_weights(found, reviews):
    rnn, gru, lstm, large_rnn, large_gru = found["gates"].known["variants"]
    assert rnn["parameters"] < gru["parameters"] < lstm["parameters"]
    for row in (large_rnn, large_gru):
        assert (
            abs(row["parameters"] / lstm["parameters"] - 1) < 0.05 and row["options"]["hidden"] > 12
        )
    data = open_rows(reviews, None, ["gru"], 120, 0)
    fitted = Classifier("gru", hidden=9, embed=7, steps=1).fit(*data.train.pair, data.valid.pair)
    assert counter(data)("gru", {"hidden": 9, "embed": 7}) == fitted.model_.parameters_count()


def test_heads_have_equally_many_weights(found):
    rows = found["heads"].known["variants"]
    assert len({row["parameters"] for row in rows}) == 1 and rows[0]["overlap"] == [None, None]
    assert all(0 <= value <= 1 + 1e-6 for row in rows for value in row["entropy"])
    assert all(0 <= value <= 1 + 1e-6 for row in rows[1:] for value in row["overlap"])


def test_entropy_and_overlap():
    mask = torch.tensor([[True, True, True, False]])
    even, sharp = torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]), torch.tensor([0.0, 1.0, 0, 0])
    weights = torch.stack([even.expand(4, 4), sharp.expand(4, 4)])[None]  # (1, 2, T, S)
    assert heads.entropy(weights[:, :1], mask) == pytest.approx(1) and heads.entropy(
        weights[:, 1:], mask
    ) == pytest.approx(0)
    assert heads.overlap(weights, mask) == pytest.approx([1 / 3])
    assert heads.overlap(weights[:, [0, 0, 1]], mask) == pytest.approx([1, 1 / 3, 1 / 3])


def test_layers_and_ways(found):
    rows = found["depth"].known["variants"]
    sizes = [row["parameters"] for row in rows]
    assert (
        sizes[:3] == sorted(sizes[:3])
        and sizes[3:] == sorted(sizes[3:])
        and all(a < b for a, b in zip(sizes[:3], sizes[3:]))
    )
    assert (
        depth.named(rows[1], "en") == "2 layers, one way"
        and depth.named(rows[3], "zh") == "1 层，双向"
    )


def test_chance():
    one, other = ({"mean": mean, "spread": 0.01, "scores": [0] * 4} for mean in (0.8, 0.81))
    assert (
        beyond_chance(one, other) == "no more than chance"
        and beyond_chance(one, other | {"mean": 0.85}) == "more than chance"
    )
    assert beyond_chance(one | {"spread": None}, other).startswith("one seed")


def test_times(found):
    known = found["parallel"].known
    assert known["lengths"] == [8, 16, 32] and [row["layer"] for row in known["layers"]] == list(
        parallel.LAYERS
    )
    for row in known["layers"]:
        assert all(
            0 < fast <= middle <= slow
            for fast, middle, slow in zip(row["fastest"], row["seconds"], row["slowest"])
        )
    assert [cells[0] for cells in parallel.tables(known, "en")[0].rows] == [
        "8",
        "16",
        "32",
        "exponent p",
    ]
    assert parallel.exponent([2, 4, 8], [3.0, 12.0, 48.0]) == pytest.approx(2)


@pytest.mark.parametrize("name", [*SIZES, "parallel"])
def test_the_files(found, name, tmp_path):
    written = {path.name for path in found[name].write(name, tmp_path)}
    assert written == {
        f"{name}.json",
        f"{name}.md",
        f"{name}.zh.md",
        f"{name}.en.svg",
        f"{name}.zh.svg",
    }
    assert json.loads((tmp_path / f"{name}.json").read_text("utf-8"))["notes"] == found[name].notes
    words = {
        "gates": "weights 权重个数",
        "heads": "entropy 熵",
        "depth": "both 双向",
        "parallel": "length 长度",
    }[name].split()
    for lang, word in zip(("en", "zh"), words):
        svg = ElementTree.parse(tmp_path / f"{name}.{lang}.svg")
        assert word in " ".join(
            node.text or "" for node in svg.iter("{http://www.w3.org/2000/svg}text")
        )
    chinese = (tmp_path / f"{name}.zh.md").read_text("utf-8")
    assert not any(word in chinese for word in ("the ", "seconds", "chance", "accuracy"))


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("gates", {"cells": "gru"}, "unknown option"),
        ("heads", {"heads": "3", "width": "8"}, "divide width=8"),
        ("heads", {"heads": "many"}, "growing numbers"),
        ("depth", {"rung": "cnn"}, "is not one of gru"),
        ("parallel", {"lengths": "64"}, "two or more"),
        ("parallel", {"lengths": "64,32"}, "growing"),
        ("parallel", {"width": "30"}, "cannot be shared"),
        ("parallel", {"seconds": "3"}, "unknown option"),
    ],
)
def test_mistakes(name, settings, sentence, reviews):
    with pytest.raises(Mistake, match=sentence):
        ended(PROBES[name].run("" if name == "parallel" else reviews, None, settings, 0))


def test_data_that_does_not_fit(tmp_path):
    (tmp_path / "few.csv").write_text("text,label\n" + "a b,x\nc d,y\n" * 20)
    with pytest.raises(Mistake, match="expected at least 100"):
        ended(gates.run(str(tmp_path / "few.csv")))
    with pytest.raises(Mistake, match="manual is running text"):
        ended(heads.run("manual"))
