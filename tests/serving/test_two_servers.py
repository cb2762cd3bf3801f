"""Two servers on the same runs, behind a proxy that takes turns: whichever answers, the answer is the same, and neither holds
anything that a client would miss at the other."""

import asyncio
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import made
import pytest
from client import Client, serving

import wenmai

TEXTS = made.reviews(16)[0]


class Proxy:
    """Bytes from a client to the next server in turn, and back; a connection each."""

    def __init__(self, ports: list[int]):
        self.ports, self.turn, self.asked = ports, 0, dict.fromkeys(ports, 0)

    async def connected(self, reader, writer) -> None:
        port, self.turn = self.ports[self.turn % len(self.ports)], self.turn + 1
        self.asked[port] += 1
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(relay(reader, server_writer), relay(server_reader, writer))

    async def serve(self, started: asyncio.Event, stop: asyncio.Event) -> None:
        server = await asyncio.start_server(self.connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        server.close()


async def relay(reader, writer) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@contextmanager
def proxy(ports: list[int]):
    """In a thread with a loop of its own."""
    made_proxy, begun, ends = Proxy(ports), threading.Event(), {}

    async def run() -> None:
        started = asyncio.Event()
        ends["stop"], ends["loop"] = asyncio.Event(), asyncio.get_running_loop()
        task = asyncio.create_task(made_proxy.serve(started, ends["stop"]))
        await started.wait()
        begun.set()
        await task

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    begun.wait(10)
    try:
        yield made_proxy
    finally:
        ends["loop"].call_soon_threadsafe(ends["stop"].set)
        thread.join(10)


@pytest.fixture(scope="module")
def two(made_runs, tmp_path_factory):
    runs = tmp_path_factory.mktemp("shared") / "runs"
    for name in ("reviews-gru", "corpus-gpt", "upper-seq2seq"):
        shutil.copytree(made_runs / name, runs / name)
    places = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    with (
        serving(str(runs), cwd=places[0]) as first,
        serving(str(runs), cwd=places[1]) as second,
        proxy([first.port, second.port]) as between,
    ):
        yield Client("127.0.0.1", between.port, first.process), first, second, between, runs


def without_times(answer: dict) -> dict:
    return {name: value for name, value in answer.items() if name != "seconds"}


@pytest.mark.slow
def test_both_are_asked_and_answer_alike(two):
    client, _, _, between, runs = two
    before = dict(between.asked)
    for run in ("reviews-gru", "upper-seq2seq"):
        replies = [client.post("/v1/predict", {"run": run, "inputs": TEXTS}) for _ in range(4)]
        assert {reply.status for reply in replies} == {200}
        assert all(without_times(reply.json) == without_times(replies[0].json) for reply in replies)
    gru = wenmai.load(runs / "reviews-gru")

    def ask(text: str) -> dict:
        return client.post("/v1/predict", {"run": "reviews-gru", "inputs": [text]}).json

    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(ask, TEXTS * 2))
    assert [one["answers"][0]["label"] for one in found] == [
        str(label) for label in gru.predict(TEXTS * 2)
    ]
    assert all(between.asked[port] - before[port] >= 16 for port in between.ports)


@pytest.mark.slow
def test_a_text_is_the_same_wherever_it_is_written(two):
    client, _, _, _, runs = two
    gpt = wenmai.load(runs / "corpus-gpt")
    for seed in range(6):
        asked = {"run": "corpus-gpt", "prompt": "the film", "tokens": 12, "seed": seed}
        streamed = client.post("/v1/generate", asked).events
        whole = client.post("/v1/generate", asked | {"stream": False}).json["text"]  # of the other
        assert "".join(data["text"] for _, data in streamed[:-1]) == whole
        assert "the film" + whole == gpt.generate("the film", tokens=12, seed=seed)


def test_a_run_that_comes_or_goes_does_so_at_both(two):
    client, first, second, _, runs = two

    def listed(server) -> list[dict]:
        return [{**run, "loaded": None} for run in server.get("/v1/runs").json["runs"]]

    assert listed(first) == listed(second)
    shutil.copytree(runs / "reviews-gru", runs.parent / "made")
    (runs.parent / "made").rename(runs / "later")
    asked = {"run": "later", "inputs": TEXTS[:1]}
    assert [client.post("/v1/predict", asked).status for _ in range(4)] == [200] * 4
    assert listed(first) == listed(second)
    shutil.rmtree(runs / "later")
    assert [client.post("/v1/predict", asked).status for _ in range(4)] == [404] * 4
