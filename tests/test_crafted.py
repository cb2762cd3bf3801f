"""Files that someone else made: signed checkpoints that no training wrote, run folders that ask for too much, parts that are no
files. Each is a sentence, before anything compiled sees it."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from test_exits import SMALL, place, said, stopped_training  # noqa: F401 (place is a fixture)

import wenmai
from wenmai.cli import training as cli_training
from wenmai.data.files import bounds, corpus, images, opening
from wenmai.data.storage import caches
from wenmai.data.text import vectors
from wenmai.errors import Mistake
from wenmai.training import checkpoints, folders, loop
from wenmai.training.passes import Passes


def signed(folder):
    files = {
        path.name: folders.checksum(path)
        for path in folder.iterdir()
        if path.name != folders.MANIFEST
    }
    (folder / folders.MANIFEST).write_text(json.dumps({"version": "0", "files": files}))


def stopped_after_a_pass(wenmai_cli, rung: str, data: str) -> None:
    """A rung without the loop keeps something after every pass; the first `wenmai train` is stopped after two."""

    def twice(self):
        for epoch in range(2):
            yield epoch, self.generator.permutation(self.count)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Passes, "__iter__", twice)
        patch.setattr(checkpoints, "OFTEN", -1.0)
        patch.setattr(checkpoints, "SHARE", 0)
        assert wenmai_cli("train", rung, data, "--out", "run").status == 130


def last_checkpoint(place):  # noqa: F811
    return max((place / "run" / "training").glob("0*"))


@pytest.mark.parametrize(
    ("rung", "data"),
    [
        ("softmax", "films.csv"),
        ("logistic", "films.csv"),
        ("perceptron", "films.csv"),
        ("perceptron", "tags.conll"),
    ],
)
def test_arrays_of_another_shape_reach_nothing_compiled(wenmai_cli, place, rung, data):  # noqa: F811
    (place / "tags.conll").write_text(
        "".join(f"the\tO\ngood\tB-A\nend{n}\tI-A\n\n" for n in range(40))
    )
    stopped_after_a_pass(wenmai_cli, rung, data)
    kept = last_checkpoint(place)
    arrays = load_file(kept / "arrays.safetensors")
    for name, array in arrays.items():
        for other in (np.zeros((1, 1), array.dtype), array[:-1], array.astype(np.float64)):
            save_file(arrays | {name: np.ascontiguousarray(other)}, kept / "arrays.safetensors")
            signed(kept)
            ran = wenmai_cli("train", "--resume", "run")
            assert (
                ran.status == 2
                and f"the last checkpoint is not as it was written ({name}: found" in said(ran)
            ), ran.err
    save_file(arrays, kept / "arrays.safetensors")
    signed(kept)
    assert wenmai_cli("train", "--resume", "run").status == 0


FACTS = [
    ("step", "x"),
    ("step", -1),
    ("step", 10**9),
    ("best", "x"),
    ("worse", None),
    ("lowered", 3),
    ("micro_batches", 0),
    ("good", None),
    ("good", {"step": "x"}),
    ("seconds", "x"),
    ("stage", 9),
    ("stage", "x"),
    ("plan", []),
    ("plan", {"steps": "many"}),
    ("plan", {"strange": 1}),
    ("whole", "x"),
    ("whole", {}),
    ("minutes", "x"),
    ("minutes", -1),
    ("rates", 3),
    ("rates", [{}]),
    ("progress", 3),
    ("progress", [{"step": 1}]),
    ("score", []),
]
ARGUMENTS = [
    ("rung", 3),
    ("source", None),
    ("settings", []),
    ("settings", {"embedding": 3}),
    ("settings", {"hidden": []}),
    ("seed", "x"),
    ("seed", -1),
    ("minutes", "x"),
    ("minutes", -1),
    ("columns", "x"),
    ("columns", {"text": 3}),
    ("processes", None),
    ("processes", 0),
    ("fingerprint", 0),
    ("valid", 3),
    ("unseen", "x"),
    ("device", 3),
]


@pytest.mark.slow
def test_facts_and_words_of_another_kind_are_told(wenmai_cli, place):  # noqa: F811
    stopped_training(wenmai_cli)
    kept, start = last_checkpoint(place), place / "run" / "training" / "start"
    (place / "run" / "training" / "1x").mkdir()  # no checkpoint of ours, which is not looked at
    for file, changes in ((kept / "state.json", FACTS), (start / "arguments.json", ARGUMENTS)):
        whole = file.read_text()
        for name, value in changes:
            known = json.loads(whole)
            for changed in (
                known | {name: value},
                {key: one for key, one in known.items() if key != name},
            ):
                if name in ("valid", "unseen", "columns") and name not in changed:
                    continue  # which a command may lack
                file.write_text(json.dumps(changed))
                signed(file.parent)
                ran = wenmai_cli("train", "--resume", "run")
                assert ran.status == 2 and "is not as it was written" in said(ran), (
                    name,
                    value,
                    ran.err,
                )
        file.write_text(whole)
        signed(file.parent)
    (place / "run" / "training" / "1x").rmdir()
    assert wenmai_cli("train", "--resume", "run").status == 0


@pytest.mark.slow
def test_weights_and_moments_of_another_shape_are_told(wenmai_cli, place):  # noqa: F811
    stopped_training(wenmai_cli)
    kept = last_checkpoint(place)
    arrays = load_file(kept / "arrays.safetensors")
    assert {name.split(".")[0] for name in arrays} >= {"network", "optimizer", "best", "losses"}
    for name, array in arrays.items():
        for other in (None, np.zeros((1, 1, 1), array.dtype), array.astype(np.float16)):
            changed = {key: one for key, one in arrays.items() if key != name} | (
                {} if other is None else {name: other}
            )
            save_file(changed, kept / "arrays.safetensors")
            signed(kept)
            ran = wenmai_cli("train", "--resume", "run")
            assert ran.status == 2 and "the last checkpoint is not as it was written" in said(
                ran
            ), (name, ran.err)
    save_file(arrays | {"optimizer.0.99.step": np.ones(1, np.float32)}, kept / "arrays.safetensors")
    signed(kept)
    assert "are of no weight here" in said(wenmai_cli("train", "--resume", "run"))
    save_file(arrays, kept / "arrays.safetensors")
    signed(kept)
    assert wenmai_cli("train", "--resume", "run").status == 0


# Options that ask for too much


@pytest.mark.parametrize(
    ("rung", "setting", "says"),
    [
        ("transformer", "layers=100000", "layers=100000: expected at least 1 and below 1001"),
        ("gru", "layers=1e9", "layers=1000000000: expected at least 1 and below 1001"),
        ("mlp", "hidden=1e18", "below 2147483648"),
        ("mlp", "hidden=2e9", "are free on cpu; choose smaller ones"),
    ],
)
def test_a_network_that_is_too_large_is_told_before_it_is_made(
    wenmai_cli,
    place,  # noqa: F811
    rung,
    setting,
    says,
):
    ran = wenmai_cli(
        "train",
        rung,
        "films.csv",
        "--set",
        setting,
        "--set",
        "embed=1e9" if "2e9" in setting else "epochs=1",
    )
    assert ran.status == 2 and says in said(ran), ran.err


# Parts of a run that are no files, and files that change while they are used


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from wenmai.estimators import Classifier

    rows = [[n, n * n, 1.0] for n in range(6)]
    return (
        Classifier("softmax", epochs=1)
        .fit(rows, ["x", "y"] * 3)
        .save(tmp_path_factory.mktemp("runs") / "run")
    )


@pytest.mark.parametrize(
    "name", ["run.json", "inputs.json", "progress.jsonl", "weights.safetensors", "manifest.json"]
)
@pytest.mark.parametrize("kind", ["pipe", "/proc/self/maps", "/dev/zero", "large", "folder"])
def test_a_part_that_is_no_plain_file(run, tmp_path, name, kind, monkeypatch):
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "folder":
        (folder / name).mkdir()
    elif kind == "large":
        with open(folder / name, "wb") as file:
            file.truncate(4 << 30)
    else:
        (folder / name).symlink_to(kind)
    with pytest.raises(Mistake):
        wenmai.load(folder)


@pytest.mark.slow
def test_a_mapped_file_that_is_cut_off_in_use(place, wenmai_cli):  # noqa: F811
    assert wenmai_cli("train", "ngram", "text.txt", "--out", "run").status == 0
    program = """if True:
        import os, sys
        from pathlib import Path
        from wenmai.cli.given import load_run
        model = load_run(Path("run"), "cpu")
        os.truncate("run/weights.safetensors", 100)
        model.log_prob(["the good film"])
    """
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (
        ran.returncode == 2 and "weights.safetensors was cut off while it was in use" in ran.stderr
    )


@pytest.mark.parametrize("task", ["compose", "translate"])
def test_no_file_makes_a_model_write_without_end(tmp_path, task):
    from wenmai.data.inputs import target_texts
    from wenmai.estimators import Composer, Translator

    small = {"embed": 4, "hidden": 4, "steps": 1, "validation": 0.0}
    model = Composer("lstm", **small) if task == "compose" else Translator("seq2seq", **small)
    folder = model.fit(["x", "y"] * 3, ["a b", "c d"] * 3).save(tmp_path / "run")
    about = json.loads((folder / "inputs.json").read_text())

    def lifted(part):
        for name, value in part.items():
            if isinstance(value, dict):
                lifted(value)
            elif name in ("longest", "most", "usual", "growth"):
                part[name] = 2**40

    lifted(about)
    (folder / "inputs.json").write_text(json.dumps(about))
    signed(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target_texts, "WRITTEN", 30)
        patch.setattr("wenmai.data.inputs.sides.WRITTEN", 30)
        try:
            (text,) = wenmai.load(folder).predict(["x"])
        except Mistake:
            return  # a network whose sizes say otherwise
    assert len(text) < 300


# Terminals and spreadsheets

EVIL = "pos\x1b[2J\x1b]0;owned\x07\x9b"


def test_nothing_that_a_terminal_obeys_comes_of_data(wenmai_cli, place):  # noqa: F811
    lines = "".join(
        f"a \x1b[31m{'good' if n % 2 else 'bad'} film {n},{EVIL if n % 2 else '=1+1'}\n"
        for n in range(80)
    )
    (place / "e\x1b[31m.csv").write_text("text,label\x1b\n" + lines)
    for words in (
        ["data"],
        ["train", "softmax"],
        ["compare", "--rungs", "softmax", "--minutes", "0.1", "--out", "report/[/y]"],
    ):
        ran = wenmai_cli(
            words[0],
            *words[1:2] * (words[0] == "train"),
            "e\x1b[31m.csv",
            "--columns",
            "text=0,label=1",
            *(["--out", "run/[/y]"] if words[0] == "train" else words[1:]),
        )
        assert ran.status == 0 and not {"\x1b", "\x07", "\x9b"} & {*ran.out, *ran.err}, ran
    for more in ([], ["--json"]):
        ran = wenmai_cli("predict", "run/[/y]", "a \x1b[31mgood film", *more)
        assert (
            ran.status == 0
            and not {"\x1b", "\x07", "\x9b"} & {*ran.out, *ran.err}
            and "pos" in ran.out
        )
    assert json.loads(ran.out)["answers"][0]["label"] == EVIL
    (place / "text.txt").write_text("a\x1b b\x1b c\x9b d\x07\n" * 50)
    assert wenmai_cli("train", "ngram", "text.txt", "--out", "lm").status == 0
    ran = wenmai_cli("generate", "lm", "--tokens", "30")
    assert (
        ran.status == 0
        and r"\x1b" in ran.out
        and not {"\x1b", "\x07", "\x9b"} & {*ran.out, *ran.err}
    )
    wenmai_cli(
        "predict", "run/[/y]", "--file", "e\x1b[31m.csv", "--out", "o.csv", "--columns", "text=0"
    )
    assert "\n" in (place / "o.csv").read_text() and "'=1+1" not in (place / "o.csv").read_text()
    wenmai_cli(
        "predict",
        "run/[/y]",
        "--file",
        "e\x1b[31m.csv",
        "--out",
        "o.csv",
        "--columns",
        "text=0",
        "--spreadsheet",
    )
    assert "'=1+1" in (place / "o.csv").read_text() and ",=1+1" not in (place / "o.csv").read_text()


# Caches


def test_a_cache_is_the_users_alone_or_is_not_used(tmp_path, monkeypatch):
    caches.own_folder.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = caches.own_folder()
    assert folder == tmp_path / "wenmai" and folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o777, 0o720):
        caches.own_folder.cache_clear()
        folder.chmod(mode)
        assert caches.own_folder() is None
    folder.chmod(0o700)
    tmp_path.chmod(0o777)
    caches.own_folder.cache_clear()
    assert caches.own_folder() is None  # somebody might put another there
    caches.own_folder.cache_clear()


def test_a_link_on_the_way_to_a_cache_is_followed_once(tmp_path, monkeypatch):
    """Whoever may write where it lies could let it lead elsewhere, after the folder was looked at and before it is used."""
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    for link in ("wenmai", "numba"):
        (tmp_path / "shared" / link).symlink_to(tmp_path / "own")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "shared" / "numba"))
    for function in (caches.own_folder, caches.for_numba):
        function.cache_clear()
        assert Path(function()) == (tmp_path / "own").resolve()
        function.cache_clear()


UNWRITABLE = """if True:
    import builtins, os, sys, tempfile
    from pathlib import Path
    import numba
    from wenmai.data.storage import caches
    caches.own_folder = lambda: None
    from wenmai.cli.commands import main
    sys.argv = ["wenmai", "train", "perceptron", "films.csv", "--out", "run", "--set", "epochs=1"]
    main()
    import jieba
    from wenmai.data.text import tokenizers
    tokenizers.jieba()
    assert not list(Path(tempfile.gettempdir()).iterdir()), list(Path(tempfile.gettempdir()).iterdir())
"""


@pytest.mark.slow
def test_without_a_cache_everything_works_and_nothing_is_left(place, tmp_path):  # noqa: F811
    pytest.importorskip("jieba")
    (tmp_path / "shared").mkdir()
    (tmp_path / "planted").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "shared"), "HOME": "/nonexistent"}
    ran = subprocess.run(
        [sys.executable, "-c", UNWRITABLE], capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr


def test_a_damaged_or_full_cache_is_no_reason_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "for_numba", lambda: str(tmp_path))

    def doubled(x):
        return 2 * x

    made = caches.njit(cache=True)(doubled)
    assert made(3) == 6
    indexes = list(tmp_path.rglob("*.nbi"))
    assert indexes
    for index in indexes:
        index.write_bytes(b"no pickle")
    assert caches.njit(cache=True)(doubled)(4) == 8
    monkeypatch.setattr(
        "numba.core.caching.IndexDataCacheFile.save",
        lambda *_: (_ for _ in ()).throw(OSError(28, "full")),
    )
    assert caches.njit(cache=True)(doubled)(2.5) == 5.0


# Memory


def test_memory_that_ends_while_a_checkpoint_is_copied(wenmai_cli, place):  # noqa: F811
    stopped_training(wenmai_cli)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "snapshot", lambda self: bytearray(1 << 62))
        ran = wenmai_cli("train", "--resume", "run")
    assert (
        ran.status == 2
        and "memory came to its end. What was kept before stands there still" in said(ran)
    )
    assert wenmai_cli("train", "--resume", "run").status == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wenmai.estimators.load", lambda *_, **__: bytearray(1 << 62))
        ran = wenmai_cli("predict", "run", "a film")
    assert ran.status == 2 and "memory came to its end; close other programs" in said(ran)


# Files that are larger than they look


def squeezed(path, line: bytes, count: int) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(count // 1000):
            file.write(line * 1000)


def told(ran, *words) -> None:
    assert (
        ran.status == 2 and "Traceback" not in ran.err and all(word in said(ran) for word in words)
    ), ran.err


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.csv", "text,label\nx,"),
        ("a.tsv", "text\tlabel\nx\t"),
        ("a.jsonl", '{"text": "'),
        ("a.conll", "a O\n\nb "),
        ("a.txt", "x y\n"),
    ],
)
def test_a_line_without_end(wenmai_cli, place, monkeypatch, name, start):  # noqa: F811
    """A plain file, of which a hole is the most: nothing holds it whole."""
    monkeypatch.setattr(opening, "LINE", 1 << 20)
    monkeypatch.setattr(corpus, "LONGEST_LINE", 1 << 20)
    (place / name).write_text(start)
    with open(place / name, "ab") as file:
        for _ in range(300):
            file.write(b"a" * 10_000)
    told(
        wenmai_cli("data", name, *(["--task", "tag"] if name == "a.conll" else [])),
        "more than 1,048,576 bytes",
    )


def test_vectors_of_a_line_without_end(place, monkeypatch):  # noqa: F811
    monkeypatch.setattr(opening, "LINE", 1 << 20)
    (place / "vectors.txt").write_text("good 0.5 0.25\n" + "film " + "1 " * 600_000)
    with pytest.raises(Mistake, match="more than 1,048,576 bytes"):
        vectors.read(str(place / "vectors.txt"))


def test_a_line_without_end_is_refused_before_its_file_is_summed_up(wenmai_cli, place, monkeypatch):  # noqa: F811
    monkeypatch.setattr(opening, "LINE", 1 << 20)
    monkeypatch.setattr(
        cli_training.folders, "checksum", lambda file: pytest.fail(f"{file} was read whole")
    )
    (place / "vectors.txt").write_text("good 0.5 0.25\n" + "film " + "1 " * 600_000)
    told(
        wenmai_cli("train", "mlp", "films.csv", "--set", "embedding=vectors.txt"),
        "line 2",
        "more than 1,048,576 bytes",
    )


@pytest.mark.slow
def test_a_long_line_that_is_meant(wenmai_cli, place, monkeypatch):  # noqa: F811
    monkeypatch.setattr(opening, "LINE", 1 << 20)
    (place / "long.csv").write_text(
        "text,label\n" + "".join(f"{'word ' * 230_000}{n},{'xy'[n % 2]}\n" for n in range(4))
    )
    told(
        wenmai_cli("data", "long.csv"),
        "line 2: found a line of more than 1,048,576 bytes",
        "--max-line",
    )
    assert wenmai_cli("data", "long.csv", "--max-line", "2000000").status == 0
    assert (
        wenmai_cli("train", "softmax", "long.csv", "--max-line", "2000000", "--out", "run").status
        == 0
    )
    assert (
        wenmai_cli(
            "predict", "run", "--file", "long.csv", "--max-line", "2000000", "--out", "o.csv"
        ).status
        == 0
    )
    told(wenmai_cli("predict", "run", "--file", "long.csv", "--out", "o.csv"), "--max-line")


def test_rows_that_are_packed_too_well(wenmai_cli, place, monkeypatch):  # noqa: F811
    monkeypatch.setattr(bounds, "LITTLE", 1 << 16)
    squeezed(place / "rows.txt.gz", b"a b\n", 100_000)
    told(
        wenmai_cli("data", "rows.txt.gz", "--task", "generate"),
        "more than 65,536 bytes",
        "--max-rows",
    )
    squeezed(place / "rows.csv.gz", b"a good film,x\na bad film,y\n", 10_000)
    told(
        wenmai_cli("data", "rows.csv.gz", "--columns", "text=0,label=1"),
        "bytes when it is unpacked",
        "--max-rows",
    )
    assert (
        wenmai_cli(
            "data", "rows.csv.gz", "--columns", "text=0,label=1", "--max-rows", "20000"
        ).status
        == 0
    )
    told(
        wenmai_cli("data", "rows.csv.gz", "--columns", "text=0,label=1", "--max-rows", "1000"),
        "more than the 1,000 rows",
    )


@pytest.mark.slow
def test_parquet_that_unfolds(wenmai_cli, place, monkeypatch):  # noqa: F811
    """A text of a megabyte that every row names, and a page of nothing else: hundreds of bytes, gigabytes of rows."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, texts in (("again", ["a" * (1 << 20)] * 4000), ("once", ["a" * (1 << 27)])):
        column = arrow.DictionaryArray.from_arrays([0] * len(texts), texts[:1])
        table = arrow.table(
            {"text": column if name == "again" else texts, "label": ["x"] * len(texts)}
        )
        parquet.write_table(
            table, place / f"{name}.parquet", compression="brotli", store_schema=False
        )
        assert (place / f"{name}.parquet").stat().st_size < 3000
        told(wenmai_cli("data", f"{name}.parquet"), "--max-rows")
    few = arrow.table(
        {"text": ["a good film", None, "a bad film"] * 9, "label": ["x", "x", "y"] * 9}
    )
    parquet.write_table(few, place / "few.parquet")
    ran = wenmai_cli("data", "few.parquet", "--json", "--skip-bad")
    assert ran.status == 0 and json.loads(ran.out)["rows"] == 18


def test_a_small_picture_of_many_pixels(wenmai_cli, place, monkeypatch):  # noqa: F811
    image = pytest.importorskip("PIL.Image")
    image.new("1", (9000, 9000)).save(place / "large.png")
    image.new("L", (400, 400)).save(place / "small.png")
    for name in ("large", "small"):
        (place / f"{name}.csv").write_text(
            "image,label\n" + "".join(f"{name}.png,{'xy'[n % 2]}\n" for n in range(200))
        )
    told(wenmai_cli("data", "large.csv"), "more pixels than are safe to decode")
    assert wenmai_cli("data", "small.csv").status == 0
    monkeypatch.setattr(images, "memory", lambda: 1 << 24)
    told(wenmai_cli("data", "small.csv"), "more than half of the memory")


# Full disks and the end of memory, at every file that is written


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
def test_every_write_may_fail_and_nothing_is_lost(wenmai_cli, place, monkeypatch, error):  # noqa: F811
    """The nth file that a training writes fails, for every n until it comes to its end; what goes on from there ends the same."""
    train = ["train", "mlp", "films.csv", *SMALL, "--set", "steps=6", "--out"]
    assert wenmai_cli(*train, "whole").status == 0
    monkeypatch.setattr(checkpoints, "OFTEN", -1.0)
    monkeypatch.setattr(checkpoints, "SHARE", 0)
    checksum, failed = folders.checksum, 0
    for number in range(1, 60, 2):
        shutil.rmtree(place / "run", ignore_errors=True)
        calls = iter(range(1, 1000))

        def fails(file, calls=calls, number=number):
            if next(calls) == number:
                raise error
            return checksum(file)

        monkeypatch.setattr(folders, "checksum", fails)
        ran = wenmai_cli(*train, "run")
        monkeypatch.setattr(folders, "checksum", checksum)
        if ran.status == 0:
            break
        failed += 1
        assert ran.status == 2 and "Traceback" not in ran.err
        again = (
            ["train", "--resume", "run"]
            if (place / "run" / "training" / "start").is_dir()
            else [*train, "run"]
        )
        assert wenmai_cli(*again).status == 0
        one, other = (place / name / "weights.safetensors" for name in ("run", "whole"))
        assert one.read_bytes() == other.read_bytes() and not (place / "run" / "training").exists()
        assert not [path for path in place.iterdir() if path.name.startswith(".run")]
    assert failed >= 5
