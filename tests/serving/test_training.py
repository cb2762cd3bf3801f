"""Training over HTTP: in a process of its own, watched by events, cancelled, and told of where it crashes."""

import os
import re
import signal
import time
from pathlib import Path

import made
import pytest
from client import serving

TABLE = {"name": "reviews.csv", "text": made.table()}


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    (folder / "runs").mkdir()
    with serving("runs", cwd=folder) as client:
        yield client


def waited_for(client, id: str, states: tuple[str, ...], seconds: float = 90.0) -> dict:
    until = time.monotonic() + seconds
    while (found := client.get(f"/v1/train/{id}").json)["state"] not in states:
        assert time.monotonic() < until, found
        time.sleep(0.1)
    return found


def process_of(server: int) -> int:
    """The training that a server has begun."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if int((place / "stat").read_text().rpartition(")")[2].split()[1]) == server:
                return int(place.name)
        except (OSError, ValueError):
            continue
    raise AssertionError("there is none")


def test_data_is_understood_before_anything_is_trained(trainer):
    seen = trainer.post("/v1/data", TABLE).json
    assert (
        (seen["task"], seen["rows"]) == ("classify", 60)
        and seen["first"][0]["label"] == "neg"
        and "gru" in seen["rungs"]
    )
    assert trainer.post("/v1/data", {"builtin": "iris"}).json["task"] == "classify"
    text = trainer.post("/v1/data", {"name": "a.txt", "text": "one line\nanother\n" * 20}).json
    assert text["task"] == "generate" and text["rows"] is None


@pytest.mark.slow
def test_upload_train_curves_predict(trainer):
    begun = trainer.post(
        "/v1/train", {**TABLE, "rung": "gru", "minutes": 0.05, "options": {"hidden": 8, "embed": 8}}
    )
    assert begun.status == 200, begun.body
    events = trainer.get(f"/v1/train/{begun.json['id']}/events").events
    assert events[-1][0] == "end" and events[-1][1]["state"] == "finished", events[-1]
    steps = [data["progress"]["step"] for name, data in events if "progress" in data and not name]
    assert steps and steps == sorted(steps)
    assert 0 <= events[-1][1]["scores"]["valid"]["accuracy"] <= 1
    run = begun.json["run"]
    assert run == "reviews-gru" and run in {
        one["name"] for one in trainer.get("/v1/runs").json["runs"]
    }
    assert trainer.post("/v1/predict", {"run": run, "inputs": ["a good film"]}).json["answers"][0][
        "label"
    ] in ("pos", "neg")
    again = trainer.get(
        f"/v1/train/{begun.json['id']}/events"
    ).events  # whoever comes later is told from the beginning
    assert again == events


@pytest.mark.slow
def test_it_is_cancelled_and_the_server_answers_meanwhile(trainer):
    begun = trainer.post("/v1/train", {**TABLE, "rung": "lstm", "minutes": 5.0}).json
    waited_for(trainer, begun["id"], ("running",))
    assert trainer.get("/healthz").status == 200
    trainer.post(f"/v1/train/{begun['id']}/cancel")
    assert (
        waited_for(trainer, begun["id"], ("cancelled", "failed", "finished"))["state"]
        == "cancelled"
    )


def test_a_crash_is_shown_and_not_shared(trainer):
    begun = trainer.post("/v1/train", {**TABLE, "rung": "lstm", "minutes": 5.0}).json
    waited_for(trainer, begun["id"], ("running",))
    os.kill(process_of(trainer.process.pid), signal.SIGKILL)
    ended = waited_for(trainer, begun["id"], ("cancelled", "failed", "finished"))
    assert (
        ended["state"] == "failed" and "signal 9" in ended["reason"]["en"] and ended["reason"]["zh"]
    )
    assert trainer.get("/readyz").status == 200


@pytest.mark.slow
def test_what_its_process_refuses_is_told_in_both_languages(trainer):
    begun = trainer.post(
        "/v1/train", {**TABLE, "rung": "gru", "minutes": 5.0, "options": {"hidden": 0}}
    ).json
    ended = waited_for(trainer, begun["id"], ("cancelled", "failed", "finished"))
    assert (
        ended["state"] == "failed"
        and "hidden" in ended["reason"]["en"]
        and ended["reason"]["en"].isascii()
    )
    assert "hidden" in ended["reason"]["zh"] and re.search("[一-鿿]", ended["reason"]["zh"])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            {"name": "../../etc/cron.d/x.csv", "text": "text,label\na,b\n"},
            "one",
        ),  # a name is a name, and one class is too few
        ({"name": "x.py", "text": "print()"}, "ends in"),
        ({"name": "x.csv"}, "one of the two"),
        ({}, "a built-in set"),
        ({"builtin": "/etc/passwd"}, "no built-in set"),
        ({"builtin": "../x"}, "no built-in set"),
        ({"name": "x.csv", "base64": "%%%"}, "base64"),
        ({"name": "x.csv", "text": ""}, "empty"),
        (
            {"name": "x.csv", "text": "image,label\n/usr/share/pixmaps/x.png,a\n../y.png,b\n"},
            "images",
        ),
        ({"name": "x.jsonl", "text": '{"image": "/etc/passwd", "label": "a"}\n'}, "images"),
        (
            {"name": "x.csv", "text": "audio,label\n/usr/share/sounds/x.wav,a\n../y.wav,b\n"},
            "sounds",
        ),
        ({**TABLE, "task": "nothing"}, "task"),
        ({**TABLE, "rung": "grru"}, "gru"),
        ({**TABLE, "rung": "seq2seq"}, "does not do"),
        ({**TABLE, "options": {"embedding": "/etc/passwd"}}, "embedding"),
        ({**TABLE, "options": {"--out": "/tmp/x"}}, "--out"),
    ],
)
def test_what_is_sent_is_data_and_nothing_else(trainer, asked, why):
    reply = trainer.post("/v1/train", {"rung": "softmax", **asked})
    assert reply.status == 400 and why in reply.json["error"]["en"], reply.body
    assert "/tmp" not in reply.json["error"]["en"].replace("/tmp/x", "")


@pytest.mark.slow
def test_folders_of_single_runs_train_nothing(made_runs, tmp_path):
    with serving(str(made_runs / "reviews-gru"), cwd=tmp_path) as single:
        assert single.get("/v1/runs").json["training"] is False
        assert single.post("/v1/train", {**TABLE, "rung": "softmax"}).status == 409
        assert single.post("/v1/predict", {"run": "reviews-gru", "inputs": ["good"]}).status == 200
