"""What every request has to pass before anything is done for it, and the headers that every answer bears.

Without a token the server answers only to names of this machine, so that a page from elsewhere whose name was made to point here
(DNS rebinding) is refused; with one, whoever has it may come by any name. A request that a browser sends for a page of another
origin is refused in any case, and a body is taken only as JSON, which no form can send. A request is read whole before it is
looked at: up to a size and within a time.
"""

import asyncio
import hmac
import json
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from urllib.parse import urlsplit

from wenmai.locale import Message
from wenmai.serving.limits import Limits
from wenmai.serving.metrics import Metrics
from wenmai.serving.refusals import Refused, too_large

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")
DRAIN = 5.0  # seconds


class Guard:
    """An ASGI application around another."""

    def __init__(
        self,
        app,
        limits: Limits,
        metrics: Metrics,
        token: str = "",
        hosts: Collection[str] = (),
        route_of: Callable[[dict], str] = lambda scope: "",
    ):
        self.app, self.limits, self.metrics, self.token, self.route_of = (
            app,
            limits,
            metrics,
            token,
            route_of,
        )
        self.hosts = {host.lower() for host in (*LOOPBACK, *hosts)}

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), [0]

        async def answer(message: dict) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                kept = "no-store" if scope["path"].startswith("/v1") else "no-cache"
                own = [
                    (name.encode(), value.encode())
                    for name, value in (HEADERS | {"cache-control": kept}).items()
                ]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        try:
            try:
                headers = {
                    name.decode("latin-1"): value.decode("latin-1")
                    for name, value in scope["headers"]
                }
                self.check(scope, headers)
                body = await self.whole(scope, headers, receive)
            except Refused as refused:
                if refused.status not in (
                    400,
                    408,
                ):  # of these there is nothing more to come, or not in time
                    await drained(receive, 4 * self.limits.body)
                await refuse(refused, answer)
                return
            await self.app(scope, replayed(body, receive), answer)
        finally:
            route = self.route_of(scope)
            self.metrics.count("wenmai_requests_total", route=route, status=str(status[0]))
            self.metrics.observe("wenmai_request_seconds", time.perf_counter() - began, route=route)

    def check(self, scope: dict, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if not self.token and host_name(host) not in self.hosts:
            raise Refused(
                403,
                "host",
                Message(
                    "this server answers to the names of this machine alone; start it with a token, "
                    "or allow the name with --allow-host."
                ),
            )
        origin = headers.get("origin")
        elsewhere = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        private = scope["path"].startswith(("/v1", "/metrics", "/openapi"))
        if elsewhere or (private and headers.get("sec-fetch-site") in ("cross-site", "same-site")):
            raise Refused(
                403,
                "cross_site",
                Message("a page of another origin asked for this, and is not answered."),
            )
        if self.token and private and not self.knows(headers.get("authorization", "")):
            raise Refused(
                401, "token", Message("this server wants its token: Authorization: Bearer TOKEN.")
            )
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        there = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if scope["method"] == "POST" and there and kind != "application/json":
            raise Refused(
                415,
                "content_type",
                Message(
                    "found the content type {kind}, expected application/json.",
                    kind=kind[:80] or "–",
                ),
            )

    def knows(self, header: str) -> bool:
        scheme, _, token = header.partition(" ")
        same = hmac.compare_digest(
            token.strip().encode("utf-8", "replace"), self.token.encode("utf-8", "replace")
        )
        return same and scheme.lower() == "bearer"

    async def whole(self, scope: dict, headers: dict[str, str], receive) -> bytes:
        """The body, as long and as late as it may be."""
        most, parts, size = self.limits.body, [], 0
        large = too_large(
            Message("a request may have {most:,} bytes; send less at once.", most=most)
        )
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise large
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(
                            400, "cut_off", Message("the request was cut off before its end.")
                        )
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise large
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refused(
                408,
                "slow",
                Message(
                    "the request did not arrive within {seconds:g} seconds.",
                    seconds=self.limits.body_seconds,
                ),
            ) from None


def host_name(host: str) -> str:
    """Without the port: [::1]:8000 is ::1."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower().rstrip(".")
    except ValueError:
        return ""


def replayed(body: bytes, receive):
    """The body once, and then whatever comes: that the client has gone."""
    sent = False

    async def again() -> dict:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


async def drained(receive, most: int) -> None:
    """What still comes is taken in and dropped, lest the client never read why; within bounds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN):
            while most > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
                most -= len(message.get("body", b""))


async def refuse(refused: Refused, send) -> None:
    body = json.dumps(refused.body()).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **refused.headers,
    }
    own = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": own})
    await send({"type": "http.response.body", "body": body})
