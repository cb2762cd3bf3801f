"""The command that serves runs: serve."""

import os
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import completion
from wenmai.cli.arguments import AsJson, Device
from wenmai.cli.output import finish, say
from wenmai.errors import Mistake
from wenmai.locale import Message

PRECISIONS = ("float32", "bf16")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run folders, or folders of runs; runs without one.",
            autocompletion=completion.runs,
        ),
    ] = None,
    reports: Annotated[
        Path | None, typer.Option(help="Reports of compare; reports, beside the runs, without it.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; beyond this machine it takes a --token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")
    ] = 8000,
    token: Annotated[
        str,
        typer.Option(
            envvar="WENMAI_TOKEN",
            show_envvar=False,
            help="What clients have to know; WENMAI_TOKEN says it unseen.",
        ),
    ] = "",
    allow_host: Annotated[
        list[str], typer.Option(help="Another name by which this server is asked. May be repeated.")
    ] = [],  # noqa: B006
    memory: Annotated[
        float,
        typer.Option(min=0.0, help="Gigabytes that runs may take together; half of what is free."),
    ] = 0.0,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until an answer.")] = 30.0,
    queue: Annotated[
        int, typer.Option(min=1, help="Requests that wait; more are told to come again.")
    ] = 256,
    precision: Annotated[
        str, typer.Option(help="float32, or bf16: faster for many at once, a little less exact.")
    ] = "float32",
    no_training: Annotated[
        bool, typer.Option("--no-training", help="Train nothing for clients.")
    ] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Put runs behind an HTTP API, and a page to try, compare, train and look inside."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise Mistake(
            "serve needs fastapi and uvicorn; install them with: pip install 'wenmai[serve]'"
        ) from None
    places = runs or [Path("runs")]
    for place in places:
        if not place.is_dir():
            raise Mistake(
                "{folder} is not there; serve takes run folders, or folders of runs, such as runs.",
                folder=place,
            )
    if host not in LOOPBACK and not token:
        raise Mistake(
            "--host {host} is to be reached from other machines: give clients a --token, or stay with 127.0.0.1.",
            host=host,
        )
    if token and (len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token):
        raise Mistake("the token has to be 8 letters or more, ASCII, without spaces.")
    if precision not in PRECISIONS:
        raise Mistake(
            "precision={precision!r}: expected one of {choices}.",
            precision=precision,
            choices=", ".join(PRECISIONS),
        )
    from wenmai.serving import api, server
    from wenmai.serving.limits import Limits

    if reports is not None and not reports.is_dir():
        raise Mistake(
            "{folder} is not there; --reports names the folder that compare writes its reports to.",
            folder=reports,
        )
    limits = Limits(
        memory=int(memory * 1e9) or half_of_what_is_free(), seconds=timeout, waiting=queue
    )
    service = api.Service(
        places,
        limits,
        device,
        not no_training,
        precision,
        reports or places[0].absolute().parent / "reports",
    )
    count = len(service.runs.all())

    def started(at: int) -> None:
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{at}"
        if as_json:
            finish({"url": url, "runs": count}, True)
            import sys

            sys.stdout.flush()
        say("{count} runs at {url}; stop with Ctrl-C", count=count, url=url)

    def stopping() -> None:
        service.stopping = service.trainings.stopping = True
        for training in service.trainings.known.values():
            training.changed.set()

    try:
        server.run(api.application(service, token, allow_host), host, port, stopping, started)
    except SystemExit as end:
        if end.code:
            raise Mistake(
                "the server could not listen at {host}, port {port}: {why}.",
                host=host,
                port=port,
                why=Message("the port is taken, or not to be had; choose another --port"),
            ) from None


def half_of_what_is_free() -> int:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        free = 4 << 30
    return max(1 << 30, free // 2)
