"""A reader's prompt: bash runs what a document says, and each `wenmai` in it is a fork of one process that has everything loaded.

`python prompt.py SOCKET` waits for commands; CLIENT, as an executable named wenmai, hands its arguments, folder, environment and
open files over and ends with the status that it is told. What is written to LOG: a JSON line for each command.

Budgets are cut here, in one place, and nowhere else: a network makes UPDATES updates, whatever the command, the minutes or the
epochs say; of built-in rows that are learned from, ROWS are taken, evenly, of pairs of texts PAIRS, and of running text the first
LINES; timings are taken few times. Sizes stay what they are: they are what a reader gets."""

import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

from brought import bring

UPDATES = 1
ROWS, PAIRS, LINES = 200, 60, 2500

CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({socket!r})
said = json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(said).to_bytes(8, "big")], [0, 1, 2])
server.sendall(said)
sys.exit(int(server.recv(16) or 139))
"""


def cut_budgets() -> None:
    from wenmai.evaluation.probes import climbing
    from wenmai.tasks.measuring import rows
    from wenmai.training.options import TrainingOptions

    completed = TrainingOptions.completed

    def cut(self, network):
        if os.environ.get("CTRL_C"):
            os.kill(os.getpid(), signal.SIGINT)
        return replace(completed(self, network), steps=min(self.steps or UPDATES, UPDATES))

    TrainingOptions.completed = cut
    climbing.POOL, climbing.FIRST, climbing.VALID, climbing.TEST, rows.SECONDS = (
        5000,
        100,
        50,
        50,
        0.0,
    )


def cut_rows() -> None:
    from wenmai.data.builtin import BUILTIN

    for name, data in BUILTIN.items():
        BUILTIN[name] = replace(data, load=fewer(data.load, data.task))


def fewer(load, task: str):
    from wenmai.data.files.readers import Chunk

    def some(**option):
        chunk = load(**option)
        rows = PAIRS if task == "translate" else ROWS
        kept = slice(LINES) if task == "generate" else slice(None, None, max(1, len(chunk) // rows))
        return Chunk(
            {name: values[kept] for name, values in chunk.columns.items()}, chunk.lines[kept]
        )

    return some


def carry_out(program: str, arguments: list[str]) -> int:
    try:
        if program == "python-block":
            exec(compile(arguments[0], "<document>", "exec"), {"__name__": "__main__"})
        else:
            from wenmai.cli.commands import main

            sys.argv = ["wenmai", *arguments]
            main()
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def answer(connection: socket.socket) -> None:
    size, files, _, _ = socket.recv_fds(connection, 8, 3)
    said = b""
    while len(said) < int.from_bytes(size, "big"):
        said += connection.recv(1 << 16)
    program, arguments, folder, environment = json.loads(said)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, file in enumerate(files):
        os.dup2(file, number)
    if program == "torchrun":  # by one process instead of many
        arguments = arguments[arguments.index("wenmai") + 1 :]
    if arguments[:1] != ["data"]:
        cut_rows()
    if arguments == ["probe", "parallel"]:
        arguments += ["--set", "lengths=64,128,256"]
    done = {"program": program, "arguments": arguments, "status": carry_out(program, arguments)}
    with open(environment["LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(done) + "\n")
    connection.sendall(str(done["status"]).encode())


def warm_up() -> None:
    """Loads and compiles once what every command would, by a few of them."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), open(os.devnull, "w") as nowhere:
        bring(Path(folder))
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            for command in (
                "compare reviews.csv --rungs ngram,perceptron,softmax,gru",
                "compare phrases.tsv --task translate",
                "train lstm corpus.txt",
                "generate runs/corpus-lstm --tokens 3",
                "data digits",
                "data languages",
                "data entities",
            ):
                assert carry_out("wenmai", command.split()) == 0, command


def serve(path: str) -> None:
    cut_budgets()
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                answer(connection)
            finally:
                os._exit(0)
        connection.close()


if __name__ == "__main__":
    serve(sys.argv[1])
