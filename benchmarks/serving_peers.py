"""The same run behind other servers, each with its batching on, in float32 or bf16; benchmarks/serving.py asks them.

    python benchmarks/serving_peers.py plain|litserve|bentoml RUN PORT [float32|bf16] [WORKERS]

With one worker a request has all threads that torch takes; with more each has one, as a worker of `wenmai serve` has.
"""

import os
import sys
from functools import cache

WORKERS = int(os.environ.get("PEER_WORKERS", 1))
MOST, WAIT = (
    64,
    0.002,
)  # texts of a batch; seconds that one waits for more: as wenmai serve has them


@cache
def estimator():
    import wenmai

    return wenmai.load(os.environ["PEER_RUN"])


def answers(texts: list[str]) -> list[dict]:
    import torch

    with torch.autocast("cpu", torch.bfloat16, enabled=os.environ["PEER_PRECISION"] == "bf16"):
        return list(estimator().answers(texts))


def plain(port: int) -> None:
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Asked(BaseModel):
        run: str
        inputs: list[str]

    estimator()
    app = FastAPI()

    @app.post("/v1/predict")
    def predict(asked: Asked):
        return {"answers": answers(asked.inputs)}

    @app.get("/readyz")
    def ready():
        return {"status": "ready"}

    if WORKERS > 1:  # so many requests at once, each with a thread of its own
        import anyio.to_thread

        @app.on_event("startup")
        async def limited():
            anyio.to_thread.current_default_thread_limiter().total_tokens = WORKERS

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


if "litserve" in sys.argv:  # its workers are new processes, which look for the class here
    import litserve as lit

    class Api(lit.LitAPI):
        def setup(self, device):
            estimator()

        def decode_request(self, request):
            return request["inputs"][0]

        def batch(self, inputs):
            return list(inputs)

        def predict(self, texts):
            return answers(texts)

        def unbatch(self, output):
            return output

        def encode_response(self, output):
            return {"answers": [output]}


def litserve(port: int) -> None:
    api = Api(max_batch_size=MOST, batch_timeout=WAIT, api_path="/v1/predict")
    server = lit.LitServer(
        api, accelerator="cpu", devices=1, workers_per_device=WORKERS, healthcheck_path="/readyz"
    )
    server.run(port=port, host="127.0.0.1", log_level="error", generate_client_file=False)


def bentoml(port: int) -> None:
    os.environ["BENTOML_DO_NOT_TRACK"] = "True"
    here = os.path.dirname(os.path.abspath(__file__))
    command = [
        sys.executable,
        "-m",
        "bentoml",
        "serve",
        "serving_peers:Bento",
        "--working-dir",
        here,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    os.execv(sys.executable, command)  # which is asked to end by its own number


def bento_service():
    import bentoml

    @bentoml.service(workers=WORKERS, traffic={"timeout": 60, "max_concurrency": 1024})
    class Bento:
        def __init__(self):
            estimator()

        @bentoml.api(
            batchable=True, max_batch_size=MOST, max_latency_ms=10_000, route="/v1/predict"
        )
        def predict(self, inputs: list[str]) -> list[dict]:
            return answers(inputs)

    return Bento


def __getattr__(name: str):
    if name == "Bento":
        return bento_service()
    raise AttributeError(name)


if __name__ == "__main__":
    os.environ["PEER_RUN"] = os.path.abspath(sys.argv[2])
    os.environ["PEER_PRECISION"] = sys.argv[4] if len(sys.argv) > 4 else "float32"
    WORKERS = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    os.environ["PEER_WORKERS"] = str(WORKERS)
    if WORKERS > 1:
        os.environ["OMP_NUM_THREADS"] = "1"
    {"plain": plain, "litserve": litserve, "bentoml": bentoml}[sys.argv[1]](int(sys.argv[3]))
