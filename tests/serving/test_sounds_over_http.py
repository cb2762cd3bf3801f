"""Sounds over the API: as base64, answered as Python answers, side by side; never a path of the server's."""

import base64
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from client import serving

import wenmai

RATE = 8000
soundfile = pytest.importorskip("soundfile", reason="sounds need wenmai[sound]")


def tone(pitch: float, seconds: float = 0.3, seed: int = 0) -> np.ndarray:
    times = np.arange(int(RATE * seconds)) / RATE
    noise = 0.01 * np.random.default_rng(seed).normal(size=len(times))
    return (0.4 * np.sin(2 * np.pi * pitch * times) + noise).astype(np.float32)


def packed(samples: np.ndarray, form: str = "WAV") -> str:
    soundfile.write(file := io.BytesIO(), samples, RATE, format=form)
    return base64.b64encode(file.getvalue()).decode()


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heard")
    sounds = [(tone(pitch, seed=row), RATE) for row, pitch in enumerate([300, 900] * 10)]
    small = {"embed": 8, "hidden": 8, "epochs": 3, "mels": 20}
    wenmai.Classifier("gru", **small).fit(wenmai.sounds(sounds), ["low", "high"] * 10).save(
        folder / "runs" / "tones-gru"
    )
    wenmai.Transcriber("lstm", **small).fit(sounds, ["a", "b"] * 10).save(
        folder / "runs" / "said-lstm"
    )
    with serving(str(folder / "runs"), cwd=folder) as server:
        yield server, folder / "runs"


@pytest.mark.parametrize("run", ["tones-gru", "said-lstm"])
def test_sounds_are_answered_as_in_python(heard, run):
    server, runs = heard
    assert next(one for one in server.get("/v1/runs").json["runs"] if one["name"] == run)[
        "fields"
    ] == ["audio"]
    sounds = [tone(pitch, seconds, 7) for pitch, seconds in ((300, 0.3), (900, 0.5), (600, 0.2))]
    read = [
        soundfile.read(io.BytesIO(base64.b64decode(packed(samples))), dtype="float32")[0]
        for samples in sounds
    ]
    expected = wenmai.load(runs / run).answers(wenmai.sounds([(samples, RATE) for samples in read]))

    def ask(row: int) -> dict:
        value = packed(sounds[row])
        reply = server.post(
            "/v1/predict", {"run": run, "inputs": [value if row % 2 else {"audio": value}]}
        )
        assert reply.status == 200, reply.body
        return reply.json["answers"][0]

    with ThreadPoolExecutor(6) as clients:
        found = list(clients.map(ask, [0, 1, 2] * 4))
    for answer, right in zip(found, list(expected) * 4):
        assert answer.get("label", answer.get("text")) == right.get("label", right.get("text"))
        if "probability" in right:
            assert answer["probability"] == pytest.approx(right["probability"], abs=1e-4)
    flac = server.post("/v1/predict", {"run": run, "inputs": [packed(sounds[1], "FLAC")]})
    assert flac.status == 200


def test_a_long_sound_is_longer_than_a_text_may_be_and_still_has_a_bound(heard):
    server, _ = heard
    assert (
        server.post("/v1/predict", {"run": "tones-gru", "inputs": [packed(tone(300, 10))]}).status
        == 200
    )
    reply = server.post(
        "/v1/predict",
        {"run": "tones-gru", "inputs": [packed(np.zeros(RATE * 601, np.float32), "FLAC")]},
    )
    assert reply.status == 413 and "600 seconds" in reply.json["error"]["en"]


@pytest.mark.parametrize(
    "wrong",
    [
        "/etc/passwd",
        "/etc/hostname",
        "some.wav",
        "",
        3,
        {"audio": "../runs"},
        {"path": "a.wav"},
        base64.b64encode(b"RIFF, no sound").decode(),
        packed(tone(300))[:3000],
    ],
    ids=lambda wrong: str(wrong)[:20],
)
def test_what_is_no_sound_is_told_and_no_file_is_opened(heard, wrong):
    server, _ = heard
    reply = server.post("/v1/predict", {"run": "tones-gru", "inputs": [wrong]})
    assert reply.status == 400 and "input 1" in reply.json["error"]["en"], reply.body
    assert "/tmp" not in reply.json["error"]["en"] and "/etc" not in reply.json["error"]["en"]
