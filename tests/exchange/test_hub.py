"""Models by their name on the hub, which is a small server of this process here: what is asked for, kept and refused."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from checkpoints import TEXTS, checkpoint

import wenmai
from wenmai.data.storage import caches
from wenmai.exchange import hub, hugging_face

pytest.importorskip("huggingface_hub")
BLOCK = 100  # bytes
COMMIT = "c0ffee" + "0" * 34


class Hub(ThreadingHTTPServer):
    """Serves the folders under `models` as the hub does; `faults` says of a file what goes wrong with it."""

    daemon_threads = True

    def __init__(self, models: Path):
        super().__init__(("127.0.0.1", 0), Answers)
        self.models, self.asked, self.faults = models, [], {}
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, address) -> None:  # who went away in the middle
        pass


class Answers(BaseHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.server.asked.append((self.command, path, self.headers.get("Range")))
        if path.startswith("/api/models/"):
            name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            if not (self.server.models / name).is_dir():
                return self.answer(404, b"{}", X_Error_Code="RepoNotFound")
            if revision not in ("", "main", COMMIT):
                return self.answer(404, b"{}", X_Error_Code="RevisionNotFound")
            files = [
                {"rfilename": str(file.name)}
                for file in sorted((self.server.models / name).iterdir())
            ]
            about = {"id": name, "modelId": name, "sha": COMMIT, "siblings": files, "tags": []}
            return self.answer(200, json.dumps(about).encode(), Content_Type="application/json")
        name, _, file = path[1:].partition(f"/resolve/{COMMIT}/")
        content = (self.server.models / name / file).read_bytes()
        small = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{small}"', "Accept-Ranges": "bytes"}
        if file.endswith(".safetensors"):
            headers |= {
                "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Linked-Size": str(len(content)),
            }
        fault, size = self.server.faults.get(file), len(content)
        if fault == "no checksum":
            headers = {"X-Repo-Commit": COMMIT, "ETag": 'W/"1"'}
        if fault == "other content":
            content = bytes([content[0] ^ 1]) + content[1:]
        if fault == "half, then nothing" and self.headers.get("Range"):
            return self.answer(503)
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        status = 206 if start else 200
        headers |= {"Content-Length": str(size - start)}
        headers |= {"Content-Range": f"bytes {start}-{size - 1}/{size}"} if start else {}
        body = content[start:]
        if fault in ("cut off", "half, then nothing") and self.command == "GET":
            body = body[: max(len(body) // 2, 2 * BLOCK)]
        self.answer(status, body, **headers)
        self.close_connection = True


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    (folder / "someone").mkdir()
    checkpoint(folder / "someone" / "classifier", "bert")
    (folder / "someone" / "classifier" / "README.md").write_text("nothing that is read")
    (folder / "someone" / "classifier" / "pytorch_model.bin").write_bytes(b"a pickle")
    theirs, _ = checkpoint(folder / "someone" / "shards", "bert")
    (folder / "someone" / "shards" / "model.safetensors").unlink()
    theirs.save_pretrained(folder / "someone" / "shards", max_shard_size="10KB")
    shutil.copytree(folder / "someone" / "classifier", folder / "someone" / "pickled")
    (folder / "someone" / "pickled" / "model.safetensors").unlink()
    (folder / "someone" / "empty").mkdir()
    return folder


@pytest.fixture
def server(models, tmp_path, monkeypatch):
    """A hub, an empty cache, and a library that does not wait between its tries."""
    from huggingface_hub import constants

    started = Hub(models)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, started.address)
    monkeypatch.setattr(constants, "ENDPOINT", started.address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(
        constants, "DOWNLOAD_CHUNK_SIZE", BLOCK
    )  # which is lost where it is not whole
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(caches, "own_folder", lambda: tmp_path / "cache")
    yield started
    started.shutdown()
    started.server_close()


def fetched(server) -> list[str]:
    return [
        path.rsplit("/", 1)[1]
        for command, path, _ in server.asked
        if command == "GET" and "/resolve/" in path
    ]


def test_a_name_is_fetched_once_and_only_what_is_read(server, models, wenmai_cli, tmp_path):
    ran = wenmai_cli("import", "someone/classifier", "--json")
    assert ran.status == 0 and json.loads(ran.out) == {
        "run": "runs/classifier",
        "task": "classify",
        "rung": "bert",
    }, ran.err
    assert "fetching someone/classifier from the hub" in ran.err
    assert fetched(server) == [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
        "model.safetensors",
    ]
    here = hugging_face.imported(models / "someone" / "classifier")
    assert (wenmai.load("runs/classifier").predict_proba(TEXTS) == here.predict_proba(TEXTS)).all()
    server.asked.clear()
    assert wenmai_cli("import", "someone/classifier", "--out", "again").status == 0
    assert wenmai.checkpoint("someone/classifier").run == "someone/classifier"
    assert not server.asked, "what is there is not asked for again"
    assert not list((tmp_path / "cache" / "hub").glob("*.unfinished"))


def test_several_files_a_revision_and_starting_from_a_name(server, wenmai_cli, tmp_path):
    (tmp_path / "films.csv").write_text(
        "text,label\n" + "".join(f"the cat {n},pos\na mat {n},neg\n" for n in range(20))
    )
    ran = wenmai_cli(
        "train",
        "bert",
        "films.csv",
        "--from",
        f"someone/shards@{COMMIT}",
        "--set",
        "steps=2",
        "--out",
        "run",
    )
    assert ran.status == 0 and "weights of the input layer and the body are loaded" in ran.err, (
        ran.err
    )
    assert sum(name.endswith(".safetensors") for name in fetched(server)) > 1
    ran = wenmai_cli(
        "train", "bert", "films.csv", "--from", "someone/shards@nowhere", "--out", "other"
    )
    assert (
        ran.status == 2
        and "no branch, tag or commit of this name" in ran.err
        and not Path("other").exists()
    )


def test_what_was_cut_off_is_gone_on_with(server, wenmai_cli):
    """In the same call, and, where the library has given up, in the next."""
    size = (server.models / "someone/classifier/model.safetensors").stat().st_size
    server.faults["model.safetensors"] = "half, then nothing"
    ran = wenmai_cli("import", "someone/classifier", "--out", "run")
    assert (
        ran.status == 2 and "it goes on where it stopped" in ran.err and not Path("run").exists()
    ), ran.err
    assert len(ran.err.splitlines()) == 2, ran.err
    del server.faults["model.safetensors"]
    server.asked.clear()
    assert wenmai_cli("import", "someone/classifier", "--out", "run").status == 0
    ((_, path, began),) = [one for one in server.asked if one[0] == "GET" and "/resolve/" in one[1]]
    assert path.endswith("model.safetensors"), "the other files were there already"
    assert began == f"bytes={size // 2 // BLOCK * BLOCK}-"


def test_a_cache_that_is_full(server, wenmai_cli, monkeypatch):
    """Where there is no room, what to do about it, and what is there already is kept."""
    from huggingface_hub import file_download

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fetch = file_download.http_get
    monkeypatch.setattr(
        file_download,
        "http_get",
        lambda url, *how, **more: (full if "safetensors" in url else fetch)(url, *how, **more),
    )
    ran = wenmai_cli("import", "someone/classifier")
    assert (
        ran.status == 2
        and "cache/hub cannot be written (No space left on device): make room"
        in ran.err.replace("\n", " ")
    )
    monkeypatch.setattr(file_download, "http_get", fetch)
    server.asked.clear()
    assert wenmai_cli("import", "someone/classifier").status == 0
    assert fetched(server) == ["model.safetensors"]


@pytest.mark.slow
def test_the_library_goes_on_by_itself(server, wenmai_cli):
    server.faults["model.safetensors"] = "cut off"
    ran = wenmai_cli("import", "someone/classifier", "--out", "run")
    assert ran.status == 0, ran.err
    begun = [
        began
        for command, path, began in server.asked
        if command == "GET" and path.endswith("model.safetensors")
    ]
    assert begun[0] is None and all(begun[1:]) and len(begun) > 2
    assert wenmai.load("run").predict(TEXTS) is not None


def test_another_content_than_the_hub_names(server, wenmai_cli, tmp_path):
    for file in ("config.json", "model.safetensors"):
        server.faults[file] = "other content"
        ran = wenmai_cli("import", "someone/classifier", "--out", "run")
        assert (
            ran.status == 2
            and f"{file} came otherwise than the hub has it" in ran.err
            and not Path("run").exists()
        )
        server.faults.clear()
    server.faults["vocab.txt"] = "no checksum"
    ran = wenmai_cli("import", "someone/classifier", "--out", "run")
    assert ran.status == 2 and "no checksum of vocab.txt" in ran.err
    server.faults.clear()
    assert wenmai_cli("import", "someone/classifier", "--out", "run").status == 0
    kept = tmp_path / "cache" / "hub" / "someone--classifier"
    (kept / "config.json").write_text("{}")  # damaged since: it is fetched again
    assert wenmai_cli("import", "someone/classifier", "--out", "more").status == 0
    assert json.loads((kept / "config.json").read_text())["model_type"] == "bert"


SENTENCES = {
    "someone/unknown": "the hub has no model of this name",
    "someone/pickled": "has no model.safetensors on the hub (found: pytorch_model.bin)",
    "someone/empty": "has no config.json on the hub",
    "nothing": "expected an ARPA file, a folder with a config.json, minilm, or a name of the hub",
    "runs/nothing": "expected an ARPA file, a folder with a config.json, minilm, or a name of the hub",
    "a/b/c": "expected an ARPA file",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_not_there_is_told(name, server, wenmai_cli, tmp_path):
    ran = wenmai_cli("import", name)
    assert ran.status == 2 and SENTENCES[name] in ran.err and len(ran.err.splitlines()) <= 2, (
        ran.err
    )
    assert (
        not (tmp_path / "runs").exists()
        and not (tmp_path / "cache" / "hub" / name.replace("/", "--")).exists()
    )
    assert bool(server.asked) == name.startswith("someone/")


def test_no_network(server, wenmai_cli, monkeypatch):
    assert wenmai_cli("import", "someone/classifier", "--out", "run").status == 0
    server.shutdown()
    server.server_close()
    ran = wenmai_cli("import", "someone/shards", "--out", "other")
    assert (
        ran.status == 2
        and "could not be fetched from the hub" in ran.err
        and len(ran.err.splitlines()) == 1
    ), ran.err
    assert not Path("other").exists()
    assert wenmai_cli("import", "someone/classifier", "--out", "again").status == 0, (
        "it was fetched before"
    )
    monkeypatch.setattr(caches, "own_folder", lambda: None)
    ran = wenmai_cli("import", "someone/shards", "--out", "other")
    assert ran.status == 2 and "XDG_CACHE_HOME" in ran.err


def test_what_looks_like_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    assert hub.is_name("google-bert/bert-base-chinese") and hub.is_name("a/b@v1.0")
    names = (
        "models/bert",
        "runs/films",
        "bert",
        "a/b/c",
        "a/b.arpa",
        "/a/b",
        "../a",
        "a/..",
        "a/b c",
        "文/脉",
        "-a/b",
    )
    assert not any(map(hub.is_name, names))


COMMANDS = """
import socket, sys

def refused(*_, **__):
    raise AssertionError("a connection was asked for")

class Cut(socket.socket):
    __init__ = refused

def cut():
    socket.socket, socket.create_connection, socket.getaddrinfo = Cut, refused, refused

for line in sys.argv[1:]:
    if line == "cut":
        cut()
        continue
    from wenmai.cli.commands import main
    sys.argv = ["wenmai", *line.split("|")]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (line, end.code)
import wenmai
wenmai.checkpoint("someone/classifier")
wenmai.load("run").predict(["the cat"])
"""


def in_a_process(folder: Path, *lines: str, **environment: str) -> subprocess.CompletedProcess:
    """Commands, after `cut` without a network; nothing says that it is offline."""
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "TRANSFORMERS_"))
    }
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.mark.slow
def test_a_folder_never_asks_the_network(models, tmp_path):
    shutil.copytree(models / "someone", tmp_path / "someone")
    (tmp_path / "films.csv").write_text(
        "text,label\n" + "".join(f"the cat {n},pos\na mat {n},neg\n" for n in range(20))
    )
    train = "train|bert|films.csv|--from|someone/classifier|--set|steps=1|--out|started"
    lines = [
        "import|someone/classifier|--out|run",
        train,
        "predict|run|the cat",
        "evaluate|started|films.csv",
        "info|run",
    ]
    in_a_process(tmp_path, "cut", *lines)


@pytest.mark.slow
def test_the_environment_names_the_hub_and_afterwards_no_network_is_needed(server, tmp_path):
    command = "import|someone/classifier|--out|run|--replace"
    in_a_process(
        tmp_path,
        command,
        "cut",
        command,
        HF_ENDPOINT=server.address,
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        NO_PROXY="127.0.0.1",
    )
    assert fetched(server).count("model.safetensors") == 1
