"""Who may ask, from where, how much: and what every answer bears."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from client import serving

import wenmai
from wenmai.serving import safety

TOKEN = "a-secret-of-ours"
PREDICT = {"run": "reviews-gru", "inputs": ["a good film"]}


def test_every_answer_bears_the_headers(server):
    for path in ("/", "/v1/runs", "/healthz", "/nothing", "/lab/lab.js"):
        headers = server.get(path).headers
        for name, value in safety.HEADERS.items():
            assert headers[name] == value, (path, name)
        assert "server" not in headers
    policy = safety.POLICY
    assert (
        "unsafe" not in policy
        and "default-src 'none'" in policy
        and "script-src 'self'" in policy
        and "http" not in policy
    )
    assert server.get("/v1/runs").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.x.example",
        "",
        "[::2]",
        "127.0.0.1@evil.example",
    ],
)
def test_another_name_is_refused(server, host):
    reply = server.get("/v1/runs", Host=host)
    assert reply.status in (400, 403), host


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:1", "[::1]:8000"])
def test_names_of_this_machine_are_not(server, host):
    assert server.get("/v1/runs", Host=host).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": "http://localhost:1"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_pages_of_other_origins_are_refused(server, headers):
    assert server.post("/v1/predict", PREDICT, **headers).status == 403
    assert server.get("/v1/runs", **headers).status == 403


def test_a_page_of_its_own_is_not(server):
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec_Fetch_Site": "same-origin"}
    assert server.post("/v1/predict", PREDICT, **own).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_a_form_can_send_is_refused(server, kind):
    assert server.post("/v1/predict", json.dumps(PREDICT).encode(), Content_Type=kind).status == 415


@pytest.mark.slow
def test_a_token_is_asked_for(made_runs, tmp_path):
    with serving(str(made_runs), "--token", TOKEN, cwd=tmp_path) as own:
        assert own.get("/healthz").status == 200 and own.get("/").status == 200
        for path in ("/v1/runs", "/metrics", "/openapi.json"):
            assert own.get(path).status == 401
            for wrong in (
                f"Bearer {TOKEN}x",
                f"Bearer {TOKEN[:-1]}",
                "Bearer ",
                f"Basic {TOKEN}",
                "Bearer é",
            ):
                assert own.get(path, Authorization=wrong).status == 401
            assert own.get(path, Authorization=f"Bearer {TOKEN}").status == 200
        refused = own.post("/v1/predict", PREDICT)
        assert refused.status == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert (
            own.post(
                "/v1/predict", PREDICT, Authorization=f"Bearer {TOKEN}", Host="any.example"
            ).status
            == 200
        )


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(safety.hmac, "compare_digest", lambda *two: compared.append(two) or False)
    guard = safety.Guard(None, None, None, TOKEN)
    assert not guard.knows(f"Bearer {TOKEN}") and compared == [(TOKEN.encode(), TOKEN.encode())]


def test_beyond_this_machine_it_takes_a_token(wenmai_cli, made_runs):
    ran = wenmai_cli("serve", made_runs, "--host", "0.0.0.0")
    assert ran.status == 2 and "--token" in ran.err
    ran = wenmai_cli("serve", made_runs, "--host", "0.0.0.0", "--token", "short")
    assert ran.status == 2 and "8 letters" in ran.err
    ran = wenmai_cli("serve", made_runs / "none")
    assert ran.status == 2 and "is not there" in ran.err


@pytest.mark.slow
def test_what_is_too_much_is_told_to_come_again(made_runs, tmp_path):
    """A queue of one: of many at once some get 429 with a time, and none is lost or wrong."""
    with serving(str(made_runs), "--queue", "1", cwd=tmp_path) as small:
        small.post("/v1/predict", PREDICT)
        replies, lock = [], threading.Lock()

        def ask() -> None:
            reply = small.post(
                "/v1/predict", {"run": "reviews-gru", "inputs": ["a good film"] * 200}
            )
            with lock:
                replies.append(reply)

        clients = [threading.Thread(target=ask) for _ in range(24)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        statuses = [reply.status for reply in replies]
        assert set(statuses) == {200, 429} and len(statuses) == 24
        assert all(
            int(reply.headers["retry-after"]) >= 1 for reply in replies if reply.status == 429
        )
        assert small.post("/v1/predict", PREDICT).status == 200  # and it goes on


@pytest.mark.slow
def test_what_takes_too_long_is_given_up(made_runs, tmp_path):
    with serving(str(made_runs), "--timeout", "0.3", cwd=tmp_path) as hasty:
        deadline = time.monotonic() + 20
        while hasty.post("/v1/predict", PREDICT).status != 200 and time.monotonic() < deadline:
            pass
        reply = hasty.post("/v1/generate", {"run": "corpus-lstm", "tokens": 2048, "stream": False})
        while (
            reply.status == 503
            and reply.json["error"]["code"] == "no_room"
            and time.monotonic() < deadline
        ):
            reply = hasty.post(
                "/v1/generate", {"run": "corpus-lstm", "tokens": 2048, "stream": False}
            )
        assert (
            reply.status == 503
            and reply.json["error"]["code"] == "too_late"
            and "retry-after" in reply.headers
        )
        assert hasty.counted("wenmai_writing") == 0


@pytest.mark.slow
def test_shutting_down_finishes_what_is_under_way(made_runs, tmp_path):
    with serving(str(made_runs), cwd=tmp_path) as own:
        own.post("/v1/generate", {"run": "corpus-lstm", "tokens": 1, "stream": False})
        replies = []
        asked = threading.Thread(
            target=lambda: replies.append(
                own.post("/v1/generate", {"run": "corpus-lstm", "tokens": 700})
            )
        )
        asked.start()
        until = time.monotonic() + 5
        while not own.counted("wenmai_writing") and time.monotonic() < until:
            time.sleep(0.01)
        own.process.send_signal(signal.SIGTERM)
        asked.join(40)
        assert own.process.wait(40) == 0
    assert replies[0].events[-1][0] == "end" and replies[0].events[-1][1]["tokens"] == 700


@pytest.mark.slow
def test_a_port_that_is_taken_is_told(made_runs):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [
            sys.executable,
            "-m",
            "wenmai",
            "serve",
            str(made_runs),
            "--port",
            str(taken.getsockname()[1]),
        ]
        here = {"PYTHONPATH": str(Path(wenmai.__file__).parents[1]), "LC_ALL": "C.UTF-8"}
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=here)
    assert (
        ran.returncode == 2 and "could not listen" in ran.stderr and "Traceback" not in ran.stderr
    )


def test_metrics_are_prometheus_text(server):
    server.post("/v1/predict", PREDICT)
    text = server.get("/metrics").body.decode()
    for line in text.splitlines():
        assert re.fullmatch(
            r"# (HELP|TYPE) wenmai_\w+ .+|wenmai_\w+(\{(\w+=\"[^\"]*\",?)+\})? [\d.e+-]+", line
        ), line
    assert 'wenmai_requests_total{route="/v1/predict",status="200"}' in text
