"""The HTTP API: its routes, each a few lines around what the other files do.

Whatever goes wrong is answered with a status and a sentence in both languages (refusals.py); what is nobody's mistake is logged
here, and the client is told no more than that."""

import inspect
import json
import sys
import time
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.exceptions import HTTPException

from wenmai import __version__
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.page.strict_json import finite
from wenmai.serving import lab, schemas
from wenmai.serving.limits import Limits
from wenmai.serving.refusals import Refused, both, mistaken, too_large
from wenmai.serving.runs import Held
from wenmai.serving.safety import Guard
from wenmai.serving.service import Service

WRONG = {
    400: "A mistake in the request",
    401: "No token, or another",
    403: "Another host or origin",
    404: "No such run",
    408: "The request came too slowly",
    409: "A run that cannot be used",
    413: "Too much at once",
    415: "No JSON",
    422: "Not as the schema has it",
    429: "Too many at once: Retry-After says when",
    503: "No answer in time, or no room",
}
ERRORS = {status: {"model": schemas.Error, "description": words} for status, words in WRONG.items()}
ON_GET = {status: ERRORS[status] for status in (401, 403, 404, 429, 503)}
STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


class Answer(JSONResponse):
    """NaN is null, and half a character (a lone surrogate) an escape."""

    def render(self, content) -> bytes:
        return json.dumps(finite(content), separators=(",", ":")).encode()


def event(data: dict, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(finite(data))}\n\n"


def application(service: Service, token: str = "", hosts: Sequence[str] = ()):
    """The whole of it as an ASGI application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI):
        await service.start()
        yield
        await service.close()

    app = FastAPI(
        title="Wenmai",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        default_response_class=Answer,
        description="Runs of Wenmai, asked over HTTP. Every refusal is an Error.",
        servers=[{"url": "/"}],
    )
    errors(app)
    routes(app, service)
    lab.routes(app)

    def route_of(scope: dict) -> str:
        return getattr(scope.get("route"), "path", "other")

    return Guard(app, service.limits, service.metrics, token, hosts, route_of)


def errors(app: FastAPI) -> None:
    def as_answer(refused: Refused) -> Answer:
        return Answer(refused.body(), refused.status, refused.headers)

    # All of them `async`: what is not, FastAPI runs in threads of its own, up to 40 of them.

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Answer:
        return as_answer(error)

    @app.exception_handler(Mistake)
    async def mistake(request: Request, error: Mistake) -> Answer:
        return as_answer(mistaken(error))

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Answer:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:] or first["loc"])[:100]
        if first["type"] == "json_invalid":
            return as_answer(Refused(400, "json", Message("the body is no JSON; send an object.")))
        why = Message("{place}: {why}.", place=place, why=str(first["msg"])[:200])
        return as_answer(Refused(422, "schema", why))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Answer:
        words = {
            404: Message("there is nothing at this address."),
            405: Message("this address is asked in another way."),
            400: Message("the body cannot be read; send JSON in UTF-8."),
        }
        answer = as_answer(
            Refused(
                error.status_code,
                "http",
                words.get(error.status_code, Message("this cannot be answered.")),
            )
        )
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Answer:
        traceback.print_exception(error, file=sys.stderr)
        return as_answer(
            Refused(500, "fault", Message("something went wrong in the server; its log says what."))
        )


def routes(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.get("/healthz", tags=["server"])
    async def healthz() -> schemas.Health:
        """Whether the server is alive."""
        return schemas.Health(status="ok", version=__version__)

    @app.get("/readyz", tags=["server"], responses={503: ERRORS[503]})
    async def readyz() -> schemas.Health:
        """Whether it takes requests."""
        if service.stopping or not service.ready:
            raise Refused(503, "not_ready", Message("the server is not ready."), 1.0)
        return schemas.Health(status="ready", version=__version__)

    @app.get(
        "/metrics",
        tags=["server"],
        response_class=PlainTextResponse,
        responses={401: ERRORS[401], 403: ERRORS[403]},
    )
    async def metrics() -> PlainTextResponse:
        """What the server counts, for Prometheus."""
        return PlainTextResponse(
            service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    # Runs

    @app.get("/v1/runs", tags=["runs"], responses=ON_GET)
    async def runs() -> schemas.Runs:
        """All runs, the damaged ones with their reason."""
        folders = service.runs.all()
        descriptions = await service.slowly(
            lambda: [about(service, one) for one in folders.values()]
        )
        return schemas.Runs(runs=descriptions, training=service.trainings.folder is not None)

    @app.get("/v1/runs/{run}", tags=["runs"], responses=ON_GET)
    async def run(run: str) -> schemas.RunInFull:
        """One run, with its learning curve."""
        folder = service.runs.find(run)
        return await service.slowly(lambda: about(service, folder))

    @app.get("/v1/comparisons", tags=["runs"], responses=ON_GET)
    async def comparisons() -> schemas.Comparisons:
        """Reports that `wenmai compare` wrote."""
        return schemas.Comparisons(comparisons=await service.slowly(service.comparisons.all))

    @app.get("/v1/comparisons/{name}", tags=["runs"], responses=ON_GET | {409: ERRORS[409]})
    async def comparison(name: str) -> schemas.ComparisonInFull:
        """One of them: every rung's scores, costs, learning curve and worst mistakes, and the recommendation."""
        return Answer(await service.slowly(service.comparisons.find, name))

    @app.post("/v1/predict", tags=["ask"], responses=ERRORS)
    async def predict(asked: schemas.Predict, request: Request) -> schemas.Predicted:
        """An answer for every input. Requests of several clients are answered together."""
        began = time.perf_counter()

        async def work() -> dict:
            await service.warmed()
            from wenmai.serving import inputs

            async with service.runs.use(asked.run) as held:
                estimator, how = held.estimator, {}
                if asked.top:
                    if "top_k" not in inspect.signature(estimator.task_.answers).parameters:
                        raise Mistake(
                            "{run} gives no list of labels; leave top out.", run=asked.run
                        )
                    how["top_k"] = asked.top
                beside = inputs.is_unpacked(estimator)
                values = (
                    await service.slowly(inputs.read, estimator, asked.inputs, limits)
                    if beside
                    else (inputs.read(estimator, asked.inputs, limits))
                )
                rows, kept = inputs.blank_apart(estimator, values)
                answers = await service.batches.answers(estimator, kept, how)
                service.metrics.count("wenmai_answers_total", len(answers), run=asked.run)
                all_answers = list(answers)
                if len(rows) < len(values):
                    each, blank = iter(answers), estimator.task_.profile.blank_answer
                    asked_rows = set(rows)
                    all_answers = [
                        next(each) if row in asked_rows else dict(blank)
                        for row in range(len(values))
                    ]
                return {
                    "run": asked.run,
                    "task": estimator.task_.name,
                    "rung": estimator.rung,
                    "answers": all_answers,
                    "notes": [both(note, held.run.names) for note in answers.notes],
                }

        answer = await service.in_time(request, work())
        return Answer(answer | {"seconds": round(time.perf_counter() - began, 6)})

    @app.post(
        "/v1/generate",
        tags=["ask"],
        responses=ERRORS | {200: {"model": schemas.Generated, "content": STREAM}},
    )
    async def generate(asked: schemas.Generate, request: Request):
        """What follows a prompt: as events, each `data: {"text": piece}`, the last `event: end`; or as one object."""
        await service.in_time(request, service.warmed())
        from wenmai.serving import streaming

        return await streaming.generate(service, asked, request)

    @app.post("/v1/inspect", tags=["ask"], responses=ERRORS)
    async def look(asked: schemas.Inspect, request: Request) -> schemas.Inspected:
        """What goes on inside for one input: panels of numbers."""
        began = time.perf_counter()
        await service.in_time(request, service.warmed())
        from wenmai.serving import inputs

        async def work() -> dict:
            async with service.runs.use(asked.run) as held:
                if (
                    not inputs.is_unpacked(held.estimator)
                    and inputs.characters(asked.input) > limits.inspected
                ):
                    raise too_large(
                        Message(
                            "an input that is looked into may have {most:,} characters.",
                            most=limits.inspected,
                        )
                    )
                others = [await service.runs.hold(service.runs.find(name)) for name in asked.beside]
                return await service.slowly(inspect_input, asked, held, others, limits)

        answer = await service.in_time(request, work())
        return Answer(answer | {"seconds": round(time.perf_counter() - began, 6)})

    # Training

    @app.get("/v1/catalog", tags=["train"], responses=ON_GET)
    async def catalog() -> schemas.Catalog:
        """The rungs and the built-in sets."""
        return await service.slowly(known)

    @app.post("/v1/data", tags=["train"], responses=ERRORS)
    async def data(asked: schemas.Data, request: Request) -> schemas.Preview:
        """What was understood of the data: its task, its first rows, the rungs that can learn from it."""
        from wenmai.serving import uploads

        def preview() -> dict:
            with uploads.source_of(asked.builtin, asked.name, asked.text, asked.base64) as source:
                return uploads.preview(source, asked.task, asked.columns or None)

        return Answer(await service.in_time(request, service.slowly(preview)))

    @app.get("/v1/train", tags=["train"], responses=ON_GET)
    async def trainings() -> schemas.Trainings:
        """All trainings that this server began."""
        return schemas.Trainings(
            trainings=[one.about() for one in service.trainings.known.values()]
        )

    @app.post("/v1/train", tags=["train"], responses=ERRORS)
    async def train(asked: schemas.Train, request: Request) -> schemas.Training:
        """Train one rung on the data, in a process of its own; the run appears among the others."""
        holder, source = await service.in_time(
            request, service.slowly(service.trainings.check, asked)
        )
        return Answer(service.trainings.begin(asked, holder, source).about())

    @app.get("/v1/train/{id}", tags=["train"], responses=ON_GET)
    async def training(id: str) -> schemas.Training:
        return Answer(service.trainings.find(id).about())

    @app.get(
        "/v1/train/{id}/events",
        tags=["train"],
        response_class=StreamingResponse,
        responses=ON_GET | {200: {"content": STREAM}},
    )
    async def events(id: str) -> StreamingResponse:
        """How it goes on, from its beginning: `data: {"stage": …, "progress": …}`, the last `event: end`."""
        training = service.trainings.find(id)

        async def event_lines() -> AsyncIterator[str]:
            async for one in service.trainings.events(training):
                yield event(one["end"], "end") if "end" in one else event(one)

        return StreamingResponse(event_lines(), media_type="text/event-stream")

    @app.post("/v1/train/{id}/cancel", tags=["train"], responses=ERRORS)
    async def cancel(id: str) -> schemas.Training:
        """Stops it, with a checkpoint to go on from."""
        training = service.trainings.find(id)
        service.trainings.cancel(training)
        return Answer(training.about())


def about(service: Service, run) -> dict:
    return service.runs.about(run)


def known() -> dict:
    from wenmai.catalog import RUNGS, TASKS
    from wenmai.data.builtin import BUILTIN

    rungs = [
        {
            "name": rung.name,
            "about": {"en": rung.about, "zh": rung.about_zh},
            "tasks": [name for name in TASKS if rung.does(name)],
        }
        for rung in RUNGS.values()
    ]
    return {
        "rungs": rungs,
        "sets": [
            {"name": one.name, "task": one.task, "about": both(one.about)}
            for one in BUILTIN.values()
        ],
    }


def inspect_input(asked: schemas.Inspect, held: Held, others: list[Held], limits: Limits) -> dict:
    from wenmai.inspection.inspecting import inspect as inspected
    from wenmai.page import panels_json, renderer
    from wenmai.serving import inputs

    estimator = held.estimator
    value = inputs.read(estimator, [asked.input], limits)[0]
    for other in others:
        if other.estimator.inputs_.kind != estimator.inputs_.kind:
            raise Mistake(
                "{run} reads {found}, and the first run {expected}; side by side stand runs that read the same.",
                run=other.run.name,
                found=other.estimator.inputs_.kind,
                expected=estimator.inputs_.kind,
            )
    made = inspected(
        estimator,
        value,
        asked.show,
        off=asked.off,
        run=asked.run,
        target=asked.target or None,
        beside={other.run.name: other.estimator for other in others},
    )
    shown = renderer.data(made) if asked.packed else {"inspection": panels_json.to_json(made)[0]}
    return {"run": asked.run, "task": estimator.task_.name, "rung": estimator.rung, **shown}
