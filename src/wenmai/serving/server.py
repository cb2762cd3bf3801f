"""The process: uvicorn around the application, how it is asked to stop, and connections that say nothing.

Ctrl-C and SIGTERM let what is under way come to its end; a second one ends it at once."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.http.h11_impl import H11Protocol

SILENT = 20.0  # seconds that a connection may take to say what it wants
GRACE = 30  # seconds for what is under way


class Patient:
    """A protocol that closes connections which have begun a request and do not go on, or never began one."""

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self.idle_cycle = None
        self.watch = self.loop.call_later(SILENT, self.check_idle)

    def check_idle(self) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.idle_cycle == id(self.cycle):
            self.transport.close()
            return
        self.idle_cycle = id(self.cycle) if idle else None
        self.watch = self.loop.call_later(SILENT, self.check_idle)

    def connection_lost(self, reason) -> None:
        self.watch.cancel()
        super().connection_lost(reason)


def protocol() -> type:
    """Of the parser that is installed: the fast one where it is."""
    kind = AutoHTTPProtocol if isinstance(AutoHTTPProtocol, type) else H11Protocol
    return type("PatientProtocol", (Patient, kind), {})


class Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, stopping: Callable[[], None], started: Callable[[int], None]
    ):
        super().__init__(config)
        self.on_stop, self.on_start = stopping, started

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_start(self.servers[0].sockets[0].getsockname()[1])

    @contextmanager
    def capture_signals(self):
        """As uvicorn does, but what asked is answered when all is done: it is not raised again."""
        numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
        before = {number: signal.signal(number, self.asked) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def asked(self, number, frame) -> None:
        self.on_stop()
        self.handle_exit(number, frame)


def run(
    application, host: str, port: int, stopping: Callable[[], None], started: Callable[[int], None]
) -> None:
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        http=protocol(),
        loop="asyncio",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=2048,
        backlog=1024,
        proxy_headers=False,
    )
    asyncio.run(Server(config, stopping, started).serve())
