"""Serving under load, on loopback, taking turns: wenmai serve against the same model behind a plain FastAPI handler, and behind
LitServe and BentoML with their batching on (serving_peers.py), in float32 and in bf16, each with one worker that has all cores
and with one a core.

    python benchmarks/serving.py              the whole of it; --quick: a tenth of the time
    --only wenmai      without the others
    --peers-python P   the Python that has LitServe and BentoML, which may want other versions than wenmai does
    closed loop    requests a second at 32 clients, a BERT classifier of 6 × 384 at 20 words; 0 wrong or lost answers; the
                   processor's time for a request, which tells more where other programs are at work
    open loop      Poisson arrivals at 80% of what was measured: p50 and p99, from the planned send; at 3×: what is shed
    streaming      a gpt of 6 × 384: tokens a second of 16 clients together, and of one
    cold start     from the command to the first answer

Every loop is bounded in count and time, and asks 127.0.0.1 alone. Machines that are busy measure nothing: it is said with the
numbers."""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

WORDS = [f"w{number}" for number in range(2000)]
HERE = Path(__file__).parent


def sentence(chance: random.Random, words: int = 20) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def models(folder: Path) -> None:
    """Untrained but for one step: how fast it is does not depend on what it has learned."""
    from wenmai import Classifier, LanguageModel

    chance = random.Random(0)
    texts = [sentence(chance) for _ in range(400)]
    shape = {"width": 384, "layers": 6, "heads": 6}
    Classifier("bert", steps=1, **shape).fit(texts, ["a", "b"] * 200).save(folder / "bert")
    LanguageModel("gpt", steps=1, **shape).fit(texts).save(folder / "gpt")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def started(command: list[str], port: int):
    """A server in a group of processes of its own, of which none is left."""
    here = str(HERE.parent / "src")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    }
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 90
        while time.monotonic() < until and process.poll() is None:
            try:
                if b"200" in asyncio.run(ask(port, "GET", "/readyz"))[0]:
                    break
            except (OSError, asyncio.IncompleteReadError):
                pass
            time.sleep(0.02)
        else:
            raise SystemExit(f"{command[:4]} did not start")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def processor_seconds(process: int) -> float:
    """That a process and all below it have taken."""
    parents, taken = {}, {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            parts = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)], taken[int(entry.name)] = (
                int(parts[1]),
                int(parts[11]) + int(parts[12]),
            )
    ours = {process}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(taken.get(one, 0) for one in ours) / os.sysconf("SC_CLK_TCK")


async def ask(port: int, method: str, path: str, body: dict | None = None) -> tuple[bytes, bytes]:
    """(status line, body), on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await exchange(reader, writer, method, path, body, "close")
    finally:
        writer.close()


async def exchange(
    reader, writer, method: str, path: str, body: dict | None, connection: str = "keep-alive"
) -> tuple:
    sent = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: {connection}\r\n"
    writer.write(head.encode() + f"Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    named = dict(line.lower().split(b": ", 1) for line in headers if b": " in line)
    if b"content-length" in named:
        return status, await reader.readexactly(int(named[b"content-length"]))
    return status, await reader.read()


async def closed_loop(
    port: int, clients: int, seconds: float, most: int, asked: list[str], expected: dict[str, str]
) -> dict:
    """So many clients, each asking when it has its answer."""
    until, counts, wrong, waits = time.monotonic() + seconds, [0], [0], []

    async def client(number: int) -> None:
        chance = random.Random(number)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < until and counts[0] < most:
            text = chance.choice(asked)
            began = time.perf_counter()
            status, body = await exchange(
                reader, writer, "POST", "/v1/predict", {"run": "bert", "inputs": [text]}
            )
            waits.append(time.perf_counter() - began)
            counts[0] += 1
            wrong[0] += b"200" not in status or label_in(body) != expected[text]
        writer.close()

    began = time.monotonic()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return {
        "requests_a_second": counts[0] / (time.monotonic() - began),
        "wrong": wrong[0],
        "p50": statistics.median(waits),
        "requests": counts[0],
    }


def label_in(body: bytes) -> str:
    told = json.loads(body)
    return (told if isinstance(told, list) else told["answers"])[0]["label"]


async def open_loop(port: int, rate: float, seconds: float, most: int, asked: list[str]) -> dict:
    """Poisson arrivals; latency from the planned send."""
    chance, waits, statuses, tasks = random.Random(1), [], {}, []

    async def one(planned: float) -> None:
        try:
            body = {"run": "bert", "inputs": [chance.choice(asked)]}
            status, _ = await asyncio.wait_for(ask(port, "POST", "/v1/predict", body), 40)
            code = status.split()[1].decode()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            code = "lost"
        statuses[code] = statuses.get(code, 0) + 1
        if code == "200":
            waits.append(time.monotonic() - planned)

    began = planned = time.monotonic()
    while planned < began + seconds and len(tasks) < most:
        planned += chance.expovariate(rate)
        await asyncio.sleep(max(0.0, planned - time.monotonic()))
        tasks.append(asyncio.create_task(one(planned)))
    await asyncio.gather(*tasks)
    waits.sort()
    quantile = (
        (lambda share: waits[min(len(waits) - 1, int(share * len(waits)))])
        if waits
        else (lambda share: float("nan"))
    )
    return {"rate": rate, "statuses": statuses, "p50": quantile(0.5), "p99": quantile(0.99)}


async def streaming(port: int, clients: int, tokens: int) -> float:
    """Tokens a second of all clients together."""

    async def one(seed: int) -> int:
        asked = {"run": "gpt", "prompt": "w1 w2 w3", "tokens": tokens, "seed": seed}
        status, body = await ask(port, "POST", "/v1/generate", asked)
        assert b"200" in status, body
        return tokens

    began = time.perf_counter()
    written = sum(await asyncio.gather(*(one(seed) for seed in range(clients))))
    return written / (time.perf_counter() - began)


def cold_start(runs: Path) -> tuple[float, float, float]:
    """(seconds until it listens, until the first answer; seconds of a processor until then)"""
    port, began, listens = free_port(), time.perf_counter(), None
    process = subprocess.Popen(
        [sys.executable, "-m", "wenmai", "serve", str(runs), "--port", str(port)],
        env=os.environ | {"PYTHONPATH": str(HERE.parent / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while listens is None:
            try:
                asyncio.run(ask(port, "GET", "/healthz"))
                listens = time.perf_counter() - began
            except OSError:
                assert process.poll() is None and time.perf_counter() - began < 90
                time.sleep(0.01)
        status, _ = asyncio.run(
            ask(port, "POST", "/v1/predict", {"run": "bert", "inputs": ["w1 w2"]})
        )
        assert b"200" in status
        return listens, time.perf_counter() - began, processor_seconds(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def peers_of(runs: Path, python: str) -> dict[str, Callable[[int], list[str]]]:
    """Name → the command that serves at a port."""
    ours, theirs, bert = (
        [sys.executable, "-m", "wenmai", "serve", str(runs)],
        str(HERE / "serving_peers.py"),
        str(runs / "bert"),
    )
    found = {}
    for precision in ("float32", "bf16"):
        found[f"wenmai {precision}"] = lambda port, how=precision: [
            *ours,
            "--precision",
            how,
            "--port",
            str(port),
        ]
        for kind, runner in (("plain", sys.executable), ("litserve", python), ("bentoml", python)):
            if (
                kind != "plain"
                and subprocess.run([runner, "-c", f"import {kind}"], capture_output=True).returncode
            ):
                print(f"{kind} is not installed for {Path(runner).name}, and is left out")
                continue
            for workers in sorted({1, os.cpu_count()}):
                before, after = [runner, theirs, kind, bert], [precision, str(workers)]
                name = f"{kind} {precision}, {workers} worker{'s' * (workers > 1)}"
                found[name] = lambda port, before=before, after=after: [*before, str(port), *after]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--only", default="", help="servers whose names hold this text: wenmai")
    given = parser.parse_args()
    quick = given.quick
    seconds, turns, tokens = (4.0, 3, 48) if quick else (20.0, 3, 128)
    folder = Path(tempfile.mkdtemp(prefix="wenmai-serving-"))
    runs = folder / "runs"
    models(runs)
    import wenmai

    chance = random.Random(2)
    asked = [sentence(chance) for _ in range(64)]
    expected = {
        text: answer["label"]
        for text, answer in zip(asked, wenmai.load(runs / "bert").answers(asked))
    }
    peers = {
        name: command
        for name, command in peers_of(runs, given.peers_python).items()
        if given.only in name
    }
    load = os.getloadavg()[0]
    busy = ": busy, so that these numbers say little" if load > 0.5 else ""
    print(f"{os.cpu_count()} cores, load {load:.1f} before it began{busy}", flush=True)
    found: dict[str, list[dict]] = {name: [] for name in peers}
    for _ in range(turns):
        for name, command in peers.items():
            port = free_port()
            with started(command(port), port) as process:
                asyncio.run(closed_loop(port, 4, 60, 64, asked, expected))  # warm
                asyncio.run(closed_loop(port, 32, 1, 1000, asked, expected))
                before = processor_seconds(process.pid)
                one = asyncio.run(closed_loop(port, 32, seconds, 100_000, asked, expected))
                found[name].append(
                    one | {"cost": (processor_seconds(process.pid) - before) / one["requests"]}
                )
    capacity = {
        name: statistics.median(one["requests_a_second"] for one in each)
        for name, each in found.items()
    }
    for name, each in found.items():
        ours = capacity[f"wenmai {name.split()[1].strip(',')}"]
        wait, cost = (1000 * statistics.median(one[key] for one in each) for key in ("p50", "cost"))
        print(
            f"{name}: {capacity[name]:.0f} requests a second at 32 clients (wenmai {ours / capacity[name]:.2f}×), "
            f"p50 {wait:.0f} ms, {cost:.1f} ms of a processor each, wrong or lost {sum(one['wrong'] for one in each)}",
            flush=True,
        )
    port, most = free_port(), capacity["wenmai float32"]
    with started(peers["wenmai float32"](port), port) as process:
        asyncio.run(closed_loop(port, 4, 60, 64, asked, expected))
        steady = asyncio.run(open_loop(port, 0.8 * most, seconds, 50_000, asked))
        print(
            f"open loop at 80%: p50 {1000 * steady['p50']:.0f} ms, p99 {1000 * steady['p99']:.0f} ms "
            f"({steady['p99'] / steady['p50']:.1f}×), {steady['statuses']}"
        )
        flood = asyncio.run(open_loop(port, 3 * most, min(seconds, 10), 20_000, asked))
        began = time.perf_counter()
        status, _ = asyncio.run(
            ask(port, "POST", "/v1/predict", {"run": "bert", "inputs": [asked[0]]})
        )
        print(
            f"open loop at 3×: {flood['statuses']}; after it an answer in {1000 * (time.perf_counter() - began):.0f} ms "
            f"({status.split()[1].decode()}), {memory(process.pid) / 1e6:.0f} MB",
            flush=True,
        )
        asyncio.run(streaming(port, 2, 4))
        alone, together = (
            asyncio.run(streaming(port, 1, tokens)),
            asyncio.run(streaming(port, 16, tokens)),
        )
        print(
            f"streaming: one client {alone:.0f} tokens a second, 16 together {together:.0f} ({together / alone:.2f}×)"
        )
    listens, answers, cost = cold_start(runs)
    print(
        f"cold start: listens after {listens:.2f} s, the first answer after {answers:.2f} s ({cost:.2f} s of a processor)"
    )


def memory(process: int) -> int:
    """Bytes that a process holds."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except OSError:
        return 0


if __name__ == "__main__":
    main()
