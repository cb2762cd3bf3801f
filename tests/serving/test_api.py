"""The API against a real server: every task and kind of input answers as Python does, texts are written as alone, bad input gets
a sentence, and nothing of the server's own comes out."""

import base64
import io
import json
import socket
import subprocess
import sys
import threading
import time
import wave
from concurrent.futures import ThreadPoolExecutor

import made
import numpy as np
import pytest
from client import serving
from PIL import Image

import wenmai

TEXTS = made.reviews(8)[0]
ASKED = {  # run → inputs as JSON has them, and as Python does
    "reviews-softmax": (TEXTS, TEXTS),
    "reviews-gru": ([{"text": text} for text in TEXTS], TEXTS),
    "reviews-transformer": (TEXTS, TEXTS),
    "numbers-softmax": ([[0.5, 1, -1], [2, 0, 0.25]], np.array([[0.5, 1, -1], [2, 0, 0.25]])),
    "pairs-mlp": (
        [[TEXTS[0], TEXTS[1]], {"text_a": TEXTS[2], "text_b": TEXTS[3]}],
        [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])],
    ),
    "tags-perceptron": (TEXTS, TEXTS),
    "line-linear": ([[3.0], [4.5]], np.array([[3.0], [4.5]])),
    "upper-seq2seq": (TEXTS[:2], TEXTS[:2]),
    "names-gru": (["pos", {"label": "neg"}], ["pos", "neg"]),
    "questions-attention": (
        [{"context": "it was good.", "question": "how was it?"}],
        [("it was good.", "how was it?")],
    ),
    "corpus-ngram": (["the film"], ["the film"]),
    "corpus-gpt": (["the film"], ["the film"]),
}


def close(a, b) -> bool:
    """The same answer; numbers may differ in their last digits by what they were computed beside."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    return abs(a - b) < 1e-4 if isinstance(a, float) else a == b


@pytest.mark.parametrize("run", ASKED)
def test_every_kind_of_run_answers_as_python_does(server, made_runs, run):
    as_json, inputs = ASKED[run]
    reply = server.post("/v1/predict", {"run": run, "inputs": as_json})
    assert reply.status == 200, reply.body
    estimator = wenmai.load(made_runs / run)
    expected = json.loads(
        json.dumps(list(estimator.answers(inputs)), default=lambda value: value.item())
    )
    assert close(reply.json["answers"], expected) and reply.json["task"] == estimator.task_name


def test_images_come_in_base64(server, made_runs):
    pixels = np.random.default_rng(1).integers(0, 255, (6, 6), dtype=np.uint8)
    Image.fromarray(pixels).save(file := io.BytesIO(), "PNG")
    sent = base64.b64encode(file.getvalue()).decode()
    reply = server.post(
        "/v1/predict",
        {"run": "images-mlp", "inputs": [sent, {"image": f"data:image/png;base64,{sent}"}]},
    )
    expected = list(wenmai.load(made_runs / "images-mlp").answers(pixels[None]))
    assert close(reply.json["answers"], expected * 2)
    for wrong in ("/etc/passwd", "aGVsbG8=", 3, sent[:40]):
        reply = server.post("/v1/predict", {"run": "images-mlp", "inputs": [wrong]})
        assert reply.status == 400 and "input 1" in reply.json["error"]["en"], reply.body


@pytest.mark.parametrize("run", ["sounds-cnn", "said-lstm"])
def test_sounds_come_in_base64(server, made_runs, run):
    samples = (np.random.default_rng(1).normal(size=2000) * 3000).astype("<i2")
    with wave.open(file := io.BytesIO(), "wb") as written:
        written.setparams((1, 2, 8000, len(samples), "NONE", ""))
        written.writeframes(samples.tobytes())
    sent = base64.b64encode(file.getvalue()).decode()
    reply = server.post(
        "/v1/predict", {"run": run, "inputs": [sent, {"audio": f"data:audio/wav;base64,{sent}"}]}
    )
    expected = list(wenmai.load(made_runs / run).answers(wenmai.sounds([(samples, 8000)])))
    assert reply.status == 200 and close(reply.json["answers"], expected * 2), reply.body
    for wrong in ("/etc/passwd", "aGVsbG8=", 3, sent[:40], "", sent[:2000]):
        reply = server.post("/v1/predict", {"run": run, "inputs": [wrong]})
        assert reply.status == 400 and "input 1" in reply.json["error"]["en"], reply.body
        assert "/tmp" not in reply.json["error"]["en"]


def test_the_most_probable_labels(server):
    answer = server.post("/v1/predict", {"run": "reviews-gru", "inputs": TEXTS[:1], "top": 2}).json[
        "answers"
    ][0]
    assert [one["label"] for one in answer["best"]] in (["pos", "neg"], ["neg", "pos"])
    refused = server.post("/v1/predict", {"run": "upper-seq2seq", "inputs": TEXTS[:1], "top": 2})
    assert refused.status == 400 and "leave top out" in refused.json["error"]["en"]


def test_requests_of_many_clients_are_answered_together_and_rightly(server, made_runs):
    texts = made.reviews(64)[0]
    expected = [
        answer["probability"] for answer in wenmai.load(made_runs / "reviews-gru").answers(texts)
    ]

    def ask(row: int) -> float:
        return server.post("/v1/predict", {"run": "reviews-gru", "inputs": [texts[row % 64]]}).json[
            "answers"
        ][0]["probability"]

    batches, rows = (
        server.counted("wenmai_batch_rows_count"),
        server.counted("wenmai_batch_rows_sum"),
    )
    with ThreadPoolExecutor(16) as clients:
        found = list(clients.map(ask, range(192)))
    assert np.allclose(found, expected * 3, atol=1e-5)
    assert server.counted("wenmai_batch_rows_sum") - rows == 192
    assert server.counted("wenmai_batch_rows_count") - batches < 192  # some were answered together


def test_a_mistake_in_one_request_is_told_to_no_other(server):
    def ask(row: int) -> int:
        inputs = [[1, 2, 3]] if row % 4 else [[1, 2]]
        return server.post("/v1/predict", {"run": "numbers-softmax", "inputs": inputs}).status

    with ThreadPoolExecutor(16) as clients:
        assert list(clients.map(ask, range(64))) == [200 if row % 4 else 400 for row in range(64)]


def test_a_huge_request_starves_nobody(server):
    huge = threading.Thread(
        target=server.post, args=("/v1/predict", {"run": "reviews-gru", "inputs": TEXTS[:1] * 1024})
    )
    huge.start()
    time.sleep(0.01)
    assert server.post("/v1/predict", {"run": "reviews-gru", "inputs": TEXTS[:1]}).status == 200
    huge.join()


# Writing


@pytest.mark.parametrize("run", ["corpus-ngram", "corpus-lstm", "corpus-gpt"])
def test_texts_written_side_by_side_are_those_written_alone(server, made_runs, run):
    """Some outgrow the cache of the gpt, which looks back on 12 tokens; they join and leave at different steps."""
    model = wenmai.load(made_runs / run)
    asked = [
        {
            "prompt": " ".join(made.FILLING[: 1 + seed % 4]),
            "tokens": 5 + 7 * (seed % 4),
            "seed": seed,
            "temperature": 0.5 + 0.5 * (seed % 2),
            "top_k": 3 * (seed % 3),
        }
        for seed in range(12)
    ]

    def ask(one: dict) -> str:
        reply = server.post("/v1/generate", {"run": run, **one})
        assert reply.headers["content-type"].startswith("text/event-stream")
        *pieces, (last, data) = reply.events
        assert last == "end" and data["tokens"] == one["tokens"]
        return "".join(data["text"] for _, data in pieces)

    with ThreadPoolExecutor(12) as clients:
        found = list(clients.map(ask, asked))
    for text, one in zip(found, asked):
        assert one["prompt"] + text == model.generate(**one)


def test_a_text_as_one_object_and_the_next_words(server, made_runs):
    model = wenmai.load(made_runs / "corpus-lstm")
    reply = server.post(
        "/v1/generate",
        {"run": "corpus-lstm", "prompt": "the", "tokens": 6, "lines": 1, "stream": False},
    ).json
    assert "the" + reply["text"] == model.generate("the", tokens=6, lines=1)
    reply = server.post("/v1/generate", {"run": "corpus-lstm", "prompt": "the", "choices": 3}).json
    assert close(
        [[one["text"], one["probability"]] for one in reply["next"]],
        [list(one) for one in model.complete("the", 3)],
    )
    refused = server.post("/v1/generate", {"run": "reviews-gru", "prompt": "the"})
    assert refused.status == 400 and "does classify" in refused.json["error"]["en"]


def test_who_goes_away_stops_the_work(server):
    before = server.counted("wenmai_tokens_total")
    body = json.dumps({"run": "corpus-lstm", "prompt": "the", "tokens": 2048}).encode()
    with socket.create_connection((server.host, server.port)) as link:
        link.sendall(
            b"POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(body)).encode()
            + b"\r\n\r\n"
            + body
        )
        assert link.recv(100)
    until = time.monotonic() + 10
    while server.counted("wenmai_writing") and time.monotonic() < until:
        time.sleep(0.02)
    assert (
        server.counted("wenmai_writing") == 0
        and server.counted("wenmai_tokens_total") - before < 2048
    )


# Runs


def test_runs_are_listed_the_damaged_with_their_reason(server):
    runs = {run["name"]: run for run in server.get("/v1/runs").json["runs"]}
    others = {
        "images-mlp",
        "sounds-cnn",
        "said-lstm",
        "damaged",
        "no-json",
        "leads-out",
        "holds-a-link",
    }
    assert {*ASKED} | others == {*runs} - {"corpus-lstm"}
    assert runs["reviews-gru"]["scores"] == {"valid": {"accuracy": 1.0}} and runs["reviews-gru"][
        "fields"
    ] == ["text"]
    assert runs["reviews-gru"]["labels"] == ["neg", "pos"] and runs["questions-attention"][
        "fields"
    ] == ["context", "question"]
    assert "bytes" in runs["damaged"]["reason"]["en"] and runs["damaged"]["state"] == "damaged"
    assert "JSON" in runs["no-json"]["reason"]["en"]
    assert (
        "out of its folder" in runs["leads-out"]["reason"]["en"]
        and "holds a link" in runs["holds-a-link"]["reason"]["en"]
    )
    for name in ("damaged", "no-json", "leads-out", "holds-a-link"):
        reply = server.post("/v1/predict", {"run": name, "inputs": ["a"]})
        assert (
            reply.status == 409
            and {lang: reply.json["error"][lang] for lang in ("en", "zh")} == runs[name]["reason"]
        )
        assert reply.json["error"]["en"] != reply.json["error"]["zh"]


def test_one_run_has_its_learning_curve(server):
    run = server.get("/v1/runs/reviews-gru").json
    assert (
        run["progress"]
        and {"step", "loss", "score"} <= run["progress"][0].keys()
        and run["loaded"] in (True, False)
    )


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../outside/secret",
        "%2e%2e",
        "..%2foutside%2fsecret",
        "/etc",
        "reviews-gru/../reviews-gru",
        ".",
        "notes.txt",
        "reviews-gru\0",
        "REVIEWS-GRU",
    ],
)
def test_a_name_never_leaves_the_folder(server, name):
    assert server.post("/v1/predict", {"run": name, "inputs": ["a"]}).status == 404
    reply = server.get("/v1/runs/" + name.replace("\0", "%00"))
    assert reply.status == 404, reply.body


@pytest.mark.slow
def test_memory_bounds_what_is_held(made_runs, tmp_path):
    with serving(str(made_runs), "--memory", "0.0045", cwd=tmp_path) as small:  # two of them
        for run in (
            "reviews-softmax",
            "reviews-gru",
            "numbers-softmax",
            "line-linear",
            "reviews-softmax",
        ):
            inputs = ASKED[run][0][:1]
            assert small.post("/v1/predict", {"run": run, "inputs": inputs}).status == 200
            assert (
                small.counted("wenmai_runs_loaded") <= 2
                and small.counted("wenmai_runs_bytes") <= 4.5e6
            )


@pytest.mark.slow
def test_a_run_that_was_trained_again_is_the_new_one(made_runs, tmp_path):
    folder = tmp_path / "runs" / "again"
    texts, labels = made.reviews(30)
    wenmai.Classifier("softmax").fit(texts, labels).save(folder)
    with serving(str(folder.parent), cwd=tmp_path) as client:
        before = client.post("/v1/predict", {"run": "again", "inputs": ["good"]}).json["answers"][
            0
        ]["label"]
        flipped = ["neg" if label == "pos" else "pos" for label in labels]
        wenmai.Classifier("softmax").fit(texts, flipped).save(folder)
        after = client.post("/v1/predict", {"run": "again", "inputs": ["good"]}).json["answers"][0][
            "label"
        ]
    assert (before, after) == ("pos", "neg")


# Inside


@pytest.mark.parametrize("packed", [False, True])
def test_inspect_gives_panels(server, packed):
    reply = server.post(
        "/v1/inspect", {"run": "reviews-transformer", "input": TEXTS[0], "packed": packed}
    ).json
    panels = {panel["name"] for panel in reply["inspection"]["panels"]}
    assert "attention" in panels and (reply.get("words") is not None) == packed
    off = server.post(
        "/v1/inspect",
        {"run": "reviews-transformer", "input": TEXTS[0], "off": ["block.0.attention:1"]},
    )
    assert off.status == 200 and "block.0.attention:1" in off.body.decode()
    wrong = server.post(
        "/v1/inspect", {"run": "reviews-transformer", "input": TEXTS[0], "off": ["block.7"]}
    )
    assert wrong.status == 400 and wrong.json["error"]["zh"]


def test_inspect_beside(server):
    reply = server.post(
        "/v1/inspect", {"run": "reviews-gru", "input": TEXTS[0], "beside": ["reviews-transformer"]}
    )
    assert reply.status == 200 and reply.json["inspection"]["panels"][-1]["panel"] == "Beside"
    reply = server.post(
        "/v1/inspect", {"run": "reviews-gru", "input": TEXTS[0], "beside": ["numbers-softmax"]}
    )
    assert reply.status == 400


# Bad input

BAD = {
    "no JSON": (b"{", 400),
    "no UTF-8": (b'{"run": "\xff"}', 400),
    "a list": ([], 422),
    "nothing": (b"", 422),
    "another type": ({"run": 3, "inputs": ["a"]}, 422),
    "no inputs": ({"run": "reviews-gru", "inputs": []}, 422),
    "too many": ({"run": "reviews-gru", "inputs": ["a"] * 1025}, 422),
    "unknown": ({"run": "none", "inputs": ["a"]}, 404),
    "a field more": ({"run": "reviews-gru", "inputs": ["a"], "path": "/etc"}, 422),
    "enormous": ({"run": "reviews-gru", "inputs": ["a" * 100_001]}, 413),
    "a null": ({"run": "reviews-gru", "inputs": [None]}, 422),
    "an object without its column": (
        {"run": "questions-attention", "inputs": [{"context": "a"}]},
        400,
    ),
    "a text for numbers": ({"run": "numbers-softmax", "inputs": ["a"]}, 400),
    "not a number": (b'{"run":"numbers-softmax","inputs":[[NaN,1,2]]}', 400),
    "a number without end": (b'{"run":"numbers-softmax","inputs":[[1e999,1,2]]}', 400),
    "deep": (b'{"run":"reviews-gru","inputs":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    "half a character": ({"run": "reviews-gru", "inputs": ["a \ud800 b"]}, 200),
    "no letter": ({"run": "reviews-gru", "inputs": [""]}, 200),
    "NUL": ({"run": "reviews-gru", "inputs": ["a \0 b"]}, 200),
    "a label nobody knows": ({"run": "names-gru", "inputs": ["none"]}, 400),
    "half a character in a name": ({"run": "\ud800", "inputs": ["a"]}, 422),
    "blank for a translator": ({"run": "upper-seq2seq", "inputs": [" "]}, 200),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_a_sentence(server, what):
    body, status = BAD[what]
    reply = server.post("/v1/predict", body, Content_Type="application/json")
    assert reply.status == status, reply.body
    if status != 200:
        error = reply.json["error"]
        assert (
            error["code"]
            and error["en"]
            and error["zh"]
            and "Traceback" not in error["en"]
            and "/tmp" not in error["en"]
        )


def test_a_body_may_be_so_large(server):
    reply = server.ask("POST", "/v1/predict", b" " * (33 << 20), Content_Type="application/json")
    assert reply.status == 413


def test_half_a_request_keeps_nobody_waiting(server):
    with socket.create_connection((server.host, server.port)) as link:
        link.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 90\r\n\r\n{"
        )
        assert server.post("/v1/predict", {"run": "reviews-gru", "inputs": ["a"]}).status == 200
        link.setblocking(False)
        with pytest.raises(BlockingIOError):  # nothing was sent back and the link is still open
            link.recv(1)
    assert server.get("/healthz").status == 200


CUT_OFF = """if True:
    import asyncio, sys
    from pathlib import Path
    from wenmai.serving.runs import Runs

    async def served(folder):
        runs = Runs([folder], 1 << 30)
        async with runs.use("corpus-ngram") as held:
            before = held.estimator.complete("the film")
            (folder / "corpus-ngram" / "weights.safetensors").write_bytes(b"")
            assert held.estimator.complete("the film") == before
        runs.close()

    asyncio.run(served(Path(sys.argv[1])))
"""


@pytest.mark.slow
def test_an_ngram_that_is_cut_off_while_it_is_served_ends_nothing(tmp_path):
    """Its file was mapped, and the server ended with SIGBUS."""
    wenmai.LanguageModel("ngram", order=3).fit(
        ["the film was a story of actors", "the music was lovely"] * 400
    ).save(tmp_path / "corpus-ngram")
    ran = subprocess.run([sys.executable, "-c", CUT_OFF, tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
