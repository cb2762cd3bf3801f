"""A server under changing load, with clients that vanish: nothing is lost or wrong, memory stays flat, nothing is left behind.

`make soak` runs it for WENMAI_SOAK_MINUTES (default: 30), or until a million requests; the other
tests send a fixed number of requests."""

import asyncio
import json
import os
import random
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import made
import pytest
from client import serving

import wenmai

CROWDS = (4, 24, 1, 48, 12, 96)  # clients at once, one after the other
MOST = 1_000_000  # requests


@dataclass
class Load:
    """What was asked and answered."""

    port: int
    until: float
    texts: dict[str, str]  # text → its label
    prompts: dict[tuple[str, int], str]  # (prompt, seed) → what follows
    most: int = MOST
    counts: Counter = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return (
            time.monotonic() > self.until
            or self.counts["asked"] >= self.most
            or len(self.faults) > 10
        )

    async def crowd(self, clients: int, seconds: float, seed: int) -> None:
        until = min(self.until, time.monotonic() + seconds)
        await asyncio.gather(
            *(self.client(random.Random(seed * 1000 + number), until) for number in range(clients))
        )

    async def client(self, chance: random.Random, until: float) -> None:
        while time.monotonic() < until and not self.over:
            kind = chance.choices(
                (self.predicts, self.writes, self.vanishes, self.asks_much, self.errs),
                (80, 6, 8, 2, 4),
            )[0]
            self.counts["asked"] += 1
            try:
                await asyncio.wait_for(kind(chance), 60)
            except Exception as error:
                self.faults.append(f"{kind.__name__}: {type(error).__name__} {error}")
            await asyncio.sleep(chance.choice((0, 0, 0, 0.02)))

    async def ask(self, path: str, body: dict) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request(path, body))
            answer = await reader.read()
        finally:
            writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), whole(
            rest
        ) if b"transfer-encoding: chunked" in head.lower() else rest

    async def predicts(self, chance: random.Random, count: int = 1) -> None:
        texts, began = chance.choices(list(self.texts), k=count), time.perf_counter()
        status, body = await self.ask("/v1/predict", {"run": "reviews-gru", "inputs": texts})
        self.counts[status] += 1
        if status == 200:
            self.waits.append(time.perf_counter() - began)
            found = [answer["label"] for answer in json.loads(body)["answers"]]
            assert found == [self.texts[text] for text in texts]
        else:
            assert status == 429 and b"busy" in body, body

    async def asks_much(self, chance: random.Random) -> None:
        await self.predicts(chance, 300)

    async def writes(self, chance: random.Random) -> None:
        prompt, seed = chance.choice(list(self.prompts))
        status, body = await self.ask(
            "/v1/generate", {"run": "corpus-gpt", "prompt": prompt, "tokens": 20, "seed": seed}
        )
        self.counts[status] += 1
        assert status in (200, 429), body
        if status == 200:
            *pieces, end = [
                json.loads(line[6:])
                for line in body.decode().splitlines()
                if line.startswith("data: ")
            ]
            assert (
                "tokens" in end
                and "".join(piece["text"] for piece in pieces) == self.prompts[prompt, seed]
            )

    async def vanishes(self, chance: random.Random) -> None:
        """In the middle of a request, before the answer, or while it is written."""
        path, body = chance.choice(
            (
                ("/v1/generate", {"run": "corpus-gpt", "prompt": "the", "tokens": 500}),
                ("/v1/predict", {"run": "reviews-gru", "inputs": list(self.texts) * 4}),
            )
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        sent, how = request(path, body), chance.randrange(3)
        writer.write(sent[: len(sent) // 2] if how == 0 else sent)
        await writer.drain()
        if how == 2:
            await reader.read(50)
        writer.transport.abort()
        self.counts["vanished"] += 1

    async def errs(self, chance: random.Random) -> None:
        body, expected = chance.choice(
            (
                ({"run": "none", "inputs": ["a"]}, 404),
                ({"run": "reviews-gru"}, 422),
                ({"run": "damaged", "inputs": ["a"]}, 409),
            )
        )
        status, _ = await self.ask("/v1/predict", body)
        self.counts[status] += 1
        assert status == expected


def request(path: str, body: dict) -> bytes:
    sent = json.dumps(body).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(sent)}\r\n\r\n"
    ).encode() + sent


def whole(chunked: bytes) -> bytes:
    """A body that came in chunks; its last is empty, or it was cut off."""
    parts = []
    while True:
        size, _, chunked = chunked.partition(b"\r\n")
        if not int(size, 16):
            return b"".join(parts)
        parts.append(chunked[: int(size, 16)])
        chunked = chunked[int(size, 16) + 2 :]


def held(process: int) -> dict[str, int]:
    own = Path(f"/proc/{process}")
    return {
        "megabytes": int((own / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20,
        "files": len(list((own / "fd").iterdir())),
        "threads": len(list((own / "task").iterdir())),
    }


def soak(
    made_runs: Path, folder: Path, seconds: float, crowd: float, most: int = MOST
) -> tuple[Load, list[dict]]:
    gru, gpt = wenmai.load(made_runs / "reviews-gru"), wenmai.load(made_runs / "corpus-gpt")
    texts, prompts = (
        made.reviews(60)[0],
        [("the film", seed) for seed in range(8)] + [("a story of", seed) for seed in range(8)],
    )
    seen = []
    with serving(str(made_runs), "--queue", "64", cwd=folder) as server:
        load = Load(
            server.port,
            time.monotonic() + seconds,
            {text: str(gru.predict([text])[0]) for text in texts},
            {
                (prompt, seed): gpt.generate(prompt, tokens=20, seed=seed)[len(prompt) :]
                for prompt, seed in prompts
            },
            most,
        )
        asyncio.run(load.crowd(8, min(5.0, seconds / 4), 0))
        turn = 0
        while not load.over:
            turn += 1
            asyncio.run(load.crowd(CROWDS[turn % len(CROWDS)], crowd, turn))
            seen.append(held(server.process.pid))
        until = time.monotonic() + 20
        while (
            server.counted("wenmai_writing") + server.counted("wenmai_waiting")
            and time.monotonic() < until
        ):
            time.sleep(0.05)
        assert (
            server.counted("wenmai_writing") == server.counted("wenmai_waiting") == 0
        )  # those who vanished are forgotten
        began = time.perf_counter()
        assert server.post("/v1/predict", {"run": "reviews-gru", "inputs": texts[:1]}).status == 200
        load.counts["recovered_ms"] = round(1000 * (time.perf_counter() - began))
        time.sleep(0.2)
        seen.append(held(server.process.pid))
    log = (folder / "server.log").read_text()
    assert "Traceback" not in log, log[-3000:]
    assert not load.faults, load.faults
    return load, seen


@pytest.mark.parametrize("requests", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_requests_of_changing_load(made_runs, tmp_path, requests):
    load, seen = soak(made_runs, tmp_path, 300.0, 0.8, requests)
    assert load.counts["asked"] >= requests and load.counts["vanished"]
    assert load.counts[200] > 0.5 * load.counts["asked"]
    assert seen[-1]["files"] < 100  # connections are closed


@pytest.mark.soak
def test_minutes_of_changing_load(made_runs, tmp_path, capsys):
    minutes = float(os.environ.get("WENMAI_SOAK_MINUTES", "30"))
    load, seen = soak(made_runs, tmp_path, 60 * minutes, min(10.0, 5 * minutes))
    quarter = max(1, len(seen) // 4)
    parts = seen[quarter : 2 * quarter], seen[-quarter:]
    before, after = (statistics.median(one["megabytes"] for one in part) for part in parts)
    load.waits.sort()
    with capsys.disabled():
        print(
            f"\n{minutes:g} minutes: {dict(load.counts)}, p50 {1000 * statistics.median(load.waits):.0f} ms, p99 "
            f"{1000 * load.waits[int(0.99 * len(load.waits))]:.0f} ms; {before:.0f} MB in the second quarter, {after:.0f} MB "
            f"in the last; at the end {seen[-1]}"
        )
    assert load.counts["vanished"] > 10 * minutes and load.counts[200] > 0.5 * load.counts["asked"]
    assert after < 1.05 * before + 8, [one["megabytes"] for one in seen]
    assert seen[-1]["files"] < 100 and seen[-1]["threads"] <= seen[0]["threads"] + 4
