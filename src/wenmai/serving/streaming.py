"""POST /v1/generate: one text that the writer writes, told to its client piece by piece, or whole."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from fastapi import Request
from fastapi.responses import StreamingResponse

from wenmai.errors import Mistake
from wenmai.serving.generation import Text
from wenmai.serving.refusals import Refused, both, busy, mistaken, too_late
from wenmai.tasks.continuation import prompt_notes
from wenmai.tasks.decoding import Choice


async def generate(service, asked, request: Request):
    from wenmai.serving.api import Answer, event

    began, loop, limits = time.perf_counter(), asyncio.get_running_loop(), service.limits
    stack = AsyncExitStack()
    async with stack:
        held = await service.in_time(
            request, stack.enter_async_context(service.runs.use(asked.run))
        )
        estimator, names = held.estimator, held.run.names
        if not hasattr(estimator, "complete"):
            raise Mistake(
                "{run} does {task}, and goes on with no text; a run is wanted that does generate.",
                run=asked.run,
                task=estimator.task_.name,
            )
        if asked.choices:
            candidates = await service.in_time(
                request, service.slowly(most_probable, estimator, asked.prompt, asked.choices)
            )
            return Answer(
                {
                    "run": asked.run,
                    "prompt": asked.prompt,
                    "text": "",
                    "notes": [],
                    "next": candidates,
                    "seconds": round(time.perf_counter() - began, 6),
                }
            )
        if service.stopping:
            raise busy(5.0)
        pieces: asyncio.Queue[str | Exception | None] = asyncio.Queue()
        text = Text(
            asked.run,
            estimator.trained(),
            asked.prompt,
            asked.tokens,
            asked.lines,
            Choice(asked.temperature, asked.top_k, asked.top_p),
            asked.seed,
            lambda piece: loop.call_soon_threadsafe(pieces.put_nowait, piece),
            time.monotonic() + limits.seconds,
        )
        notes = [both(note, names) for note in prompt_notes(text.trained, text.begun)]
        service.writing().write(text)
        keep = stack.pop_all()  # the run is in use until the text is written

    async def text_pieces() -> AsyncIterator[str]:
        try:
            while (piece := await pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise refusal(piece, limits.seconds)
                yield piece
        finally:
            text.given_up = True
            await keep.aclose()

    if not asked.stream:

        async def whole() -> str:
            return "".join([piece async for piece in text_pieces()])

        try:
            written = await service.in_time(request, whole(), limits.seconds + 1)
        finally:
            text.given_up = True
        return Answer(
            {
                "run": asked.run,
                "prompt": asked.prompt,
                "text": written,
                "next": [],
                "notes": notes,
                "seconds": round(time.perf_counter() - began, 6),
            }
        )

    async def events() -> AsyncIterator[str]:
        stream = text_pieces()
        try:
            async for piece in stream:
                yield event({"text": piece})
            yield event(
                {
                    "tokens": text.written,
                    "notes": notes,
                    "seconds": round(time.perf_counter() - began, 6),
                },
                "end",
            )
        except Refused as refused:
            yield event(refused.body(), "error")
        finally:
            await stream.aclose()

    return StreamingResponse(events(), media_type="text/event-stream")


def most_probable(estimator, prompt: str, count: int) -> list[dict]:
    return [
        {"text": text, "probability": probability}
        for text, probability in estimator.complete(prompt, count)
    ]


def refusal(error: Exception, seconds: float) -> Exception:
    if isinstance(error, TimeoutError):
        return too_late(seconds)
    return mistaken(error) if isinstance(error, Mistake) else error
