"""The probe of memory: its exercises are right, it judges as it says, gradients are what autograd gives, and it leaves files."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
import torch
from test_probes import ended

from wenmai.data.builtin import memory as memory_set
from wenmai.errors import Mistake
from wenmai.evaluation.probes import PROBES, memory
from wenmai.evaluation.probes.climbing import Recipe, built, climb
from wenmai.evaluation.probes.exercises import EXERCISES, MARKS
from wenmai.evaluation.probes.fading import a_step, fading
from wenmai.evaluation.probes.memory_picture import rnn_is_first_in, why

SMALL = Recipe(
    updates=4,
    rows=4,
    learning_rate=1e-2,
    attention_rate=1e-2,
    transformer_rate=1e-2,
    clip=1.0,
    hidden=8,
    width=8,
    cell="none",
    device="cpu",
)
TINY = {
    "copy": "2,3",
    "running_sum": "3",
    "adding": "4",
    "updates": "3",
    "rows": "4",
    "hidden": "8",
    "width": "8",
    "fading": "5",
}


@pytest.mark.parametrize("steps", [2, 7])
def test_what_is_drawn(steps):
    generator = np.random.default_rng(0)
    read, tags = EXERCISES["copy"].draw(generator, 9, steps)
    marks = read.flat.argmax(1).reshape(9, 2 * steps + 1)
    assert (read.flat.sum(1) == 1).all() and (marks[:, steps] == MARKS.index("|")).all()
    for row in range(9):
        assert [MARKS[mark] for mark in marks[row, :steps]] == tags[row][steps + 1 :]
        assert (
            set(tags[row][: steps + 1])
            == {"_"}
            == {MARKS[mark] for mark in marks[row, steps + 1 :]}
        )
    assert {tag for row in tags for tag in row} <= {*memory_set.SYMBOLS, memory_set.BLANK}
    read, sums = EXERCISES["running-sum"].draw(generator, 9, steps)
    np.testing.assert_array_equal(
        read.flat.reshape(9, steps).cumsum(1), sums.flat.reshape(9, steps)
    )
    read, total = EXERCISES["adding"].draw(generator, 9, steps)
    np.testing.assert_allclose(read.flat.prod(1).reshape(9, steps).sum(1), total)


class Oracle(torch.nn.Module):
    """Answers what it is told to."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs

    def forward(self, batch):
        return self.outputs[batch.rows]


def test_how_it_judges():
    """Copy by whole rows; sums by the last answer's error over its variance."""
    copy, sums = EXERCISES["copy"], EXERCISES["running-sum"]
    task, kind, _ = built("rnn", copy, SMALL, 3, 0)
    examples = copy.examples(kind, task, np.random.default_rng(1), 20, 3)
    right = torch.nn.functional.one_hot(
        torch.from_numpy(examples.targets.flat).view(20, 7), len(MARKS) - 1
    ).float()
    assert copy.score(Oracle(right), examples, "cpu") == 1.0
    right[3, 5] = right[3, 5].roll(1)  # one step of one row
    assert copy.score(Oracle(right), examples, "cpu") == 0.95
    task, kind, _ = built("rnn", sums, SMALL, 3, 0)
    examples = sums.examples(kind, task, np.random.default_rng(1), 20, 3)
    wanted = torch.from_numpy(examples.targets.flat).view(20, 3, 1)
    off = wanted + torch.tensor([100.0, 100.0, 2.0]).view(1, 3, 1)  # only the last step counts
    assert (
        abs(sums.score(Oracle(off), examples, "cpu") - 4 / float(wanted[:, -1].var(correction=0)))
        < 1e-9
    )
    assert (
        sums.passes(0.01)
        and not sums.passes(0.011)
        and copy.passes(0.99)
        and not copy.passes(0.989)
    )


def test_a_rung_stops_where_it_fails_and_goes_on_where_it_does_not(monkeypatch):
    copy = EXERCISES["copy"]
    (found, _), _ = ended(climb("rnn", copy, [2, 3, 4], SMALL, 0))
    assert (
        [row["length"] for row in found] == [2]
        and not found[0]["passed"]
        and found[0]["updates"] == 4
    )
    monkeypatch.setattr(
        "wenmai.evaluation.probes.exercises.Exercise.passes", lambda self, score: True
    )
    (found, _), _ = ended(climb("rnn", copy, [2, 3, 4], SMALL, 0))
    assert [row["length"] for row in found] == [2, 3, 4] and memory.longest(found) == 4
    answers = iter([True, False])  # of the lengths, the second is not remembered
    monkeypatch.setattr(
        "wenmai.evaluation.probes.exercises.Exercise.passes", lambda self, score: next(answers)
    )
    (found, (_, kind, _)), _ = ended(climb("rnn", copy, [2, 3, 4], SMALL, 0))
    assert [row["passed"] for row in found] == [True, False] and memory.longest(found) == 2
    assert np.isclose(
        kind.mean[MARKS.index("|")], 1 / 5
    )  # what is kept was trained at T = 2: one delimiter in five steps


def test_a_rung_that_can_remembers():
    """What every length needs is learned within the updates: rnn-residual adds, and that is all of a running sum."""
    recipe = replace(SMALL, updates=300, rows=32, hidden=16)
    (found, _), _ = ended(climb("rnn-residual", EXERCISES["running-sum"], [3, 6], recipe, 0))
    assert [row["passed"] for row in found] == [True, True] and all(
        row["score"] <= 0.01 for row in found
    )


def test_gradients_fade_in_rnn_and_not_where_the_state_is_added_to():
    copy, found = EXERCISES["copy"], {}
    for rung in ("rnn", "rnn-residual", "lstm", "transformer", "attention"):
        task, kind, network = built(rung, copy, replace(SMALL, hidden=32, width=16), 5, 0)
        found[rung] = fading(network, task, kind, copy, 20, "cpu", 0)
        assert len(found[rung]) == 41 and found[rung][-1] == 1.0 and min(found[rung]) > 0
    assert found["rnn"][0] < 1e-2 < 0.1 < found["rnn-residual"][0]
    assert found["rnn"][0] < found["lstm"][0]
    assert a_step([0.25, 0.5, 1.0]) == 0.5


def test_fading_is_the_gradient_of_the_last_loss():
    """Against finite differences."""
    adding = EXERCISES["adding"]
    task, kind, network = built("gru", adding, SMALL, 4, 0)
    network.double()
    examples = adding.examples(kind, task, np.random.default_rng((0, 4, 3)), 64, 4)
    batch = examples.batch(np.arange(64))
    x, mask = network.input(type(batch)(batch.inputs.double(), batch.mask, batch.target))
    x, sizes = x.detach(), []
    for step in range(4):
        change = torch.zeros_like(x)
        norms = torch.zeros(64, x.shape[2], dtype=torch.float64)
        for place in range(x.shape[2]):
            change.zero_()[:, step, place] = 1e-2
            ends = [
                (network.outputs_from(x + sign * change, mask) - batch.target.view(-1, 1)).square()[
                    :, 0
                ]
                for sign in (1, -1)
            ]
            norms[:, place] = ((ends[0] - ends[1]) / 2e-2).detach()
        sizes.append(float(norms.norm(dim=1).mean()))
    network.float()
    np.testing.assert_allclose(
        fading(network, task, kind, adding, 4, "cpu", 0), np.array(sizes) / sizes[-1], rtol=5e-3
    )


@pytest.fixture(scope="module")
def found():
    return ended(memory.run("", settings=TINY))[0]


def test_what_it_finds(found):
    known = found.known
    assert [row["exercise"] for row in known["exercises"]] == ["copy", "running-sum", "adding"]
    for row in known["exercises"]:
        assert [rung["rung"] for rung in row["rungs"]] == list(memory.RUNGS)
        for rung in row["rungs"]:
            (one,) = rung["climbs"]
            assert one["seed"] == 0 and one["longest"] == memory.longest(one["lengths"])
            assert all(
                np.isfinite(cell["score"]) and 0 < cell["updates"] <= 3 for cell in one["lengths"]
            )
    for row in known["fading"]["rungs"]:
        assert len(row["before"]) == len(row["after"]) == 11 and row["before"] != row["after"]


def test_the_tables_are_the_json(found):
    known, grid = found.known, found.tables(found.known, "en")[0]
    assert [row[0] for row in grid.rows] == list(memory.RUNGS)
    for number, exercise in enumerate(known["exercises"], 1):
        shown = [row[number] for row in grid.rows]
        assert shown == [str(rung["climbs"][0]["longest"]) for rung in exercise["rungs"]]
    factors = [row["a_step_after"] for row in known["fading"]["rungs"]]
    assert [row[-1] for row in grid.rows] == [
        *(f"{factor:.3f}" for factor in factors[:6]),
        "–",
        "–",
    ]
    assert factors[6:] == [None, None]  # no chain of steps
    assert len(found.tables(known, "zh")) == len(found.tables(known, "en")) == 4


def test_the_picture_says_where_rnn_stops_first():
    """Of the chains: that attention came less far is another matter. Why is what reaches the first step before training."""

    def reached(exercise, **far):
        return {
            "exercise": exercise,
            "rungs": [
                {"rung": rung, "climbs": [{"longest": length}]} for rung, length in far.items()
            ],
        }

    sums = reached("running-sum", rnn=20, lstm=40, attention=0)
    rows = [reached("copy", rnn=6, lstm=4), sums, reached("adding", rnn=10, gru=10)]
    share = [1e-5, *[0.5] * 39, 1.0]
    rnn = {
        "rung": "rnn",
        "before": share,
        "after": share,
        "a_step_before": 0.75,
        "a_step_after": 0.98,
    }
    known = {"exercises": rows, "fading": {"rungs": [rnn], "length": 20}}
    assert rnn_is_first_in(known) == ["running-sum"]
    for lang, beginning in (
        ("en", "Why rnn stops first in running-sum"),
        ("zh", "rnn 为什么在 running-sum 里最先停下"),
    ):
        assert (
            why(known, lang).startswith(beginning)
            and "0.75" in why(known, lang)
            and "10⁻⁵" in why(known, lang)
        )
    assert why(known | {"exercises": rows[:1]}, "en").startswith("What rnn forgets")


def test_the_files(found, tmp_path):
    written = {path.name for path in found.write("memory", tmp_path)}
    assert written == {"memory.json", "memory.md", "memory.zh.md", "memory.en.svg", "memory.zh.svg"}
    assert (
        json.loads((tmp_path / "memory.json").read_text("utf-8"))["exercises"]
        == found.known["exercises"]
    )
    for lang, words in (("en", "longest T remembered"), ("zh", "记得的最长 T")):
        svg = ElementTree.parse(tmp_path / f"memory.{lang}.svg")
        said = " ".join(node.text or "" for node in svg.iter("{http://www.w3.org/2000/svg}text"))
        assert words in said and all(rung in said for rung in memory.RUNGS)
    chinese = (tmp_path / "memory.zh.md").read_text("utf-8")
    assert not any(word in chinese for word in ("the ", "steps", "learn"))


def test_options():
    settings = TINY | {
        "rungs": "rnn,gru",
        "running_sum": "none",
        "adding": "none",
        "copy": "2",
        "seeds": "2",
    }
    found, _ = ended(memory.run("", settings=settings))
    (row,) = found.known["exercises"]
    assert [rung["rung"] for rung in row["rungs"]] == ["rnn", "gru"]
    assert [one["seed"] for one in row["rungs"][0]["climbs"]] == [0, 1]
    found, _ = ended(memory.run("", settings=settings | {"copy": "none", "adding": "3"}))
    assert not found.known["fading"]["rungs"] and found.write  # no gradients, and still a picture
    assert found.picture(found.known, "en") is not None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lengths": "3"}, "unknown option"),
        ({"rungs": "rnn,cnn"}, 'unknown rung "cnn"'),
        ({"copy": "9,3"}, "growing lengths"),
        ({"adding": "1"}, "growing lengths"),
        ({"copy": "a"}, "growing lengths"),
        ({"updates": "0"}, "at least 1"),
        ({"device": "tpu9"}, "device"),
    ],
)
def test_mistakes(settings, sentence):
    with pytest.raises(Mistake, match=sentence):
        ended(memory.run("", settings=settings))


@pytest.mark.parametrize("name", ["memory", "parallel"])
def test_a_probe_that_makes_its_data_reads_none(name, wenmai_cli):
    assert PROBES[name].data == ""
    ran = wenmai_cli("probe", name, "languages")
    assert ran.status == 2 and f"the probe {name} makes its own data" in ran.err
    assert wenmai_cli("probe", name, "--columns", "a=b").status == 2
