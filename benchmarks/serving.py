"""Serving under load, on loopback, taking turns: wenmai serve against the same model behind a plain FastAPI handler, and behind
LitServe and BentoML where they are installed.

    python benchmarks/serving.py              the whole of it; --quick: a tenth of the time
    closed loop    requests a second at 32 clients, a BERT classifier of 6 × 384 at 20 words; 0 wrong or lost answers
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
from contextlib import contextmanager
from pathlib import Path

WORDS = [f"w{number}" for number in range(2000)]
PLAIN = '''
import os, sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
import wenmai
estimator = wenmai.load(sys.argv[1])
app = FastAPI()
class Asked(BaseModel):
    run: str
    inputs: list[str]
@app.post("/v1/predict")
def predict(asked: Asked):
    return {"answers": list(estimator.answers(asked.inputs))}
@app.get("/readyz")
def ready():
    return {"status": "ready"}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
'''
LITSERVE = '''
import sys
import litserve
import wenmai
class Api(litserve.LitAPI):
    def setup(self, device):
        self.estimator = wenmai.load(sys.argv[1])
    def decode_request(self, request):
        return request["inputs"][0]
    def batch(self, inputs):
        return list(inputs)
    def predict(self, texts):
        return list(self.estimator.answers(texts))
    def unbatch(self, output):
        return output
    def encode_response(self, output):
        return {"answers": [output]}
if __name__ == "__main__":
    api = Api(max_batch_size=64, batch_timeout=0.002, api_path="/v1/predict")
    litserve.LitServer(api, accelerator="cpu", healthcheck_path="/readyz").run(port=int(sys.argv[2]), host="127.0.0.1")
'''


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
    here = str(Path(__file__).parents[1] / "src")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 90
        while time.monotonic() < until and process.poll() is None:
            try:
                if b"200" in asyncio.run(ask(port, "GET", "/readyz"))[0]:
                    break
            except OSError:
                time.sleep(0.02)
        else:
            raise SystemExit(f"{command[0]} did not start")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def ask(port: int, method: str, path: str, body: dict | None = None) -> tuple[bytes, bytes]:
    """(status line, body), on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await exchange(reader, writer, method, path, body, "close")
    finally:
        writer.close()


async def exchange(reader, writer, method: str, path: str, body: dict | None, connection: str = "keep-alive") -> tuple:
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


async def closed_loop(port: int, clients: int, seconds: float, most: int, asked: list[str], expected: dict[str, str]) -> dict:
    """So many clients, each asking when it has its answer."""
    until, counts, wrong, waits = time.monotonic() + seconds, [0], [0], []

    async def client(number: int) -> None:
        chance = random.Random(number)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < until and counts[0] < most:
            text = chance.choice(asked)
            began = time.perf_counter()
            status, body = await exchange(reader, writer, "POST", "/v1/predict", {"run": "bert", "inputs": [text]})
            waits.append(time.perf_counter() - began)
            counts[0] += 1
            wrong[0] += b"200" not in status or json.loads(body)["answers"][0]["label"] != expected[text]
        writer.close()

    began = time.monotonic()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return {"requests_a_second": counts[0] / (time.monotonic() - began), "wrong": wrong[0], "p50": statistics.median(waits)}


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
    quantile = (lambda share: waits[min(len(waits) - 1, int(share * len(waits)))]) if waits else (lambda share: float("nan"))
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


def cold_start(runs: Path) -> float:
    port, began = free_port(), time.perf_counter()
    with started([sys.executable, "-m", "wenmai", "serve", str(runs), "--port", str(port)], port):
        status, _ = asyncio.run(ask(port, "POST", "/v1/predict", {"run": "bert", "inputs": ["w1 w2"]}))
        assert b"200" in status
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    seconds, turns, tokens = (4.0, 3, 48) if quick else (20.0, 3, 128)
    folder = Path(tempfile.mkdtemp(prefix="wenmai-serving-"))
    runs = folder / "runs"
    models(runs)
    import wenmai

    chance = random.Random(2)
    asked = [sentence(chance) for _ in range(64)]
    expected = {text: answer["label"] for text, answer in zip(asked, wenmai.load(runs / "bert").answers(asked))}
    (folder / "plain.py").write_text(PLAIN)
    (folder / "lit.py").write_text(LITSERVE)
    peers = {"wenmai": lambda port: [sys.executable, "-m", "wenmai", "serve", str(runs), "--port", str(port)],
             "plain FastAPI": lambda port: [sys.executable, str(folder / "plain.py"), str(runs / "bert"), str(port)]}
    try:
        import litserve  # noqa: F401

        peers["LitServe"] = lambda port: [sys.executable, str(folder / "lit.py"), str(runs / "bert"), str(port)]
    except ImportError:
        print("LitServe is not installed here, and is left out")
    load = os.getloadavg()[0]
    busy = ": busy, so that these numbers say little" if load > 0.5 else ""
    print(f"{os.cpu_count()} cores, load {load:.1f} before it began{busy}")
    found: dict[str, list[dict]] = {name: [] for name in peers}
    for _ in range(turns):
        for name, command in peers.items():
            port = free_port()
            with started(command(port), port):
                asyncio.run(closed_loop(port, 4, 60, 64, asked, expected))  # warm
                found[name].append(asyncio.run(closed_loop(port, 32, seconds, 100_000, asked, expected)))
    capacity = {name: statistics.median(one["requests_a_second"] for one in each) for name, each in found.items()}
    for name, each in found.items():
        print(f"{name}: {capacity[name]:.0f} requests a second at 32 clients ({capacity['wenmai'] / capacity[name]:.2f}×), p50 "
              f"{1000 * statistics.median(one['p50'] for one in each):.0f} ms, wrong or lost {sum(one['wrong'] for one in each)}")
    port = free_port()
    with started(peers["wenmai"](port), port) as process:
        asyncio.run(closed_loop(port, 4, 60, 64, asked, expected))
        steady = asyncio.run(open_loop(port, 0.8 * capacity["wenmai"], seconds, 50_000, asked))
        print(f"open loop at 80%: p50 {1000 * steady['p50']:.0f} ms, p99 {1000 * steady['p99']:.0f} ms "
              f"({steady['p99'] / steady['p50']:.1f}×), {steady['statuses']}")
        flood = asyncio.run(open_loop(port, 3 * capacity["wenmai"], min(seconds, 10), 20_000, asked))
        began = time.perf_counter()
        status, _ = asyncio.run(ask(port, "POST", "/v1/predict", {"run": "bert", "inputs": [asked[0]]}))
        print(f"open loop at 3×: {flood['statuses']}; after it an answer in {1000 * (time.perf_counter() - began):.0f} ms "
              f"({status.split()[1].decode()}), {memory(process.pid) / 1e6:.0f} MB")
        asyncio.run(streaming(port, 2, 4))
        alone, together = asyncio.run(streaming(port, 1, tokens)), asyncio.run(streaming(port, 16, tokens))
        print(f"streaming: one client {alone:.0f} tokens a second, 16 together {together:.0f} ({together / alone:.2f}×)")
    print(f"cold start to the first answer: {cold_start(runs):.2f} s")


def memory(process: int) -> int:
    """Bytes that a process holds."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
