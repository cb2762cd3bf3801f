"""Reports of compare over the API: what the lab reads of them, and what is left out of one that somebody bent."""

import json
import subprocess
import sys

import made
import pytest

from wenmai.serving.comparisons import Comparisons


def test_a_report_is_told_without_paths(server):
    listed = server.get("/v1/comparisons").json["comparisons"]
    assert [one["name"] for one in listed] == ["bent", "films"] and listed[1]["rungs"] == [
        "softmax",
        "gru",
        "transformer",
    ]
    reply = server.get("/v1/comparisons/films")
    told = reply.json
    assert [one["run"] for one in told["compared"]] == [
        "reviews-softmax",
        "reviews-gru",
        "reviews-transformer",
    ]
    assert (
        told["recommended"] == "softmax"
        and told["reason"]["zh"] == "softmax 就够了。"
        and told["baseline"] == 0.5
    )
    assert (
        told["compared"][1]["scores"] == {"test": {"accuracy": pytest.approx(0.8)}}
        and told["compared"][1]["latency"] == 0.4
    )
    assert (
        told["compared"][1]["mistakes"][0]["expected"] == "neg"
        and len(told["compared"][0]["curve"]) == 5
    )
    assert b"somebody" not in reply.body


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("none", 404),
        ("..", 404),
        ("no-json", 409),
        ("another", 409),
        ("link", 404),
        ("..%2fruns", 404),
        ("films%00", 404),
    ],
)
def test_what_is_no_report_is_told(server, name, status):
    reply = server.get(f"/v1/comparisons/{name}")
    assert reply.status == status and reply.json["error"]["zh"]


def test_what_was_bent_is_left_out(server):
    one = server.get("/v1/comparisons/bent").json["compared"][0]
    assert one["rung"] == "gru" and not one["curve"] and not one["mistakes"] and one["scores"] == {}
    assert one["interval"] is None and one["run"] is None


def test_a_report_is_read_again_when_it_was_written_again(tmp_path):
    comparisons = Comparisons(tmp_path)
    made.reports_in(tmp_path)
    assert comparisons.find("films")["recommended"] == "softmax"
    advice = {"rung": "gru", "reason": "so it is.", "reason_zh": "如此。"}
    (tmp_path / "films" / "report.json").write_text(
        json.dumps(made.report({"gru": "reviews-gru"}) | {"recommendation": advice})
    )
    assert comparisons.find("films")["recommended"] == "gru"
    assert Comparisons(None).all() == Comparisons(tmp_path / "none").all() == []


def test_the_server_listens_before_torch_is_loaded():
    code = "import sys, wenmai.serving.api, wenmai.serving.server; print(sorted({'torch', 'numba', 'pandas'} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
