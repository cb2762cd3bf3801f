"""A real server on loopback, in a process of its own, and a client that knows nothing of it but its address."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import wenmai


class Reply:
    def __init__(self, status: int, headers: dict[str, str], body: bytes):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, dict]]:
        """(name, data) of server-sent events."""
        found = []
        for block in self.body.decode().strip().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines())
            found.append((lines.get("event", ""), json.loads(lines["data"])))
        return found


class Client:
    def __init__(self, host: str, port: int, process: subprocess.Popen):
        self.host, self.port, self.process = host, port, process

    def ask(
        self, method: str, path: str, body=None, timeout: float = 60.0, **headers: str
    ) -> Reply:
        connection = HTTPConnection(self.host, self.port, timeout=timeout)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **sent}
        try:
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            return Reply(
                reply.status,
                {name.lower(): value for name, value in reply.getheaders()},
                reply.read(),
            )
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body=None, **headers: str) -> Reply:
        return self.ask("POST", path, body, **headers)

    def counted(self, name: str) -> float:
        found = re.findall(
            rf"^{name}(?:{{[^}}]*}})? ([\d.e+]+)$", self.get("/metrics").body.decode(), re.M
        )
        return sum(map(float, found))


@contextmanager
def serving(*arguments: str, cwd: Path):
    environment = os.environ | {
        "PYTHONPATH": str(Path(wenmai.__file__).parents[1]),
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("WENMAI_TOKEN", None)
    with open(cwd / "server.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "wenmai", "serve", *arguments, "--port", "0", "--json"],
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        line = process.stdout.readline()
        assert line, (cwd / "server.log").read_text()
        client = Client("127.0.0.1", int(json.loads(line)["url"].rpartition(":")[2]), process)
        threading.Thread(target=process.stdout.read, daemon=True).start()
        until = time.monotonic() + 60
        while client.get("/readyz").status != 200:
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.05)
        yield client
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()
