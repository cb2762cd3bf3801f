"""Damaged files by the million: every reader, word vectors, tokenizers, run folders and checkpoints are given files with
something wrong in them, and have to answer or to refuse in a sentence.

    python tests/fuzzing.py --inputs 1000000 --workers 2      all targets; figures at the end
    python tests/fuzzing.py csv 12345                         one input again, with its traceback; its files are kept
    python tests/fuzzing.py --targets                         the names of the targets

An input is a function of its target and its number. Workers are processes of their own: one that dies (a fault in compiled
code) is seen by the parent, which knows the input from a file that both map, and starts another one after it.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import lzma
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import zlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

SECONDS = 1.0  # of processor time that an input may take
MEMORY = 512 << 20  # bytes that a worker may hold beyond what it holds when it is warm: address space, and so memory too
STUCK = 30.0  # seconds on the clock after which a worker that does not move is ended
LONGEST = 2000  # characters of a sentence
INTERNAL = re.compile(r"Traceback|<[\w.]+ object at 0x|<class '|<function |\bdtype\(|\barray\(\[|\btensor\(|np\.\w+\(")

Chance = random.Random


# Files with nothing wrong


@dataclass
class Seed:
    """Whole files and what is to be opened; `damaged` names those that may be damaged, with the shape of what is inside."""

    files: dict[str, bytes]
    damaged: dict[str, str]
    source: str = "."  # what is opened, inside the folder
    more: dict = field(default_factory=dict)
    packed: str = ""  # how the damaged file is to be compressed, where it is
    refused: bool = False  # what is whole, and yet nothing that can be read


PACK = {
    "": bytes,
    ".gz": partial(gzip.compress, compresslevel=1, mtime=0),
    ".xz": partial(lzma.compress, preset=0),
    ".zst": lambda data: _zstandard().ZstdCompressor(level=1, write_checksum=True).compress(data),
}


@cache
def _zstandard():
    import zstandard

    return zstandard


def text_seeds(ending: str, shape: str, *contents: str, columns: dict | None = None, encodings=True) -> list[Seed]:
    """Every content plain; the first one also packed and in other encodings, of which UTF-16 is to be refused."""

    def seed(data: bytes, packed: str = "", refused: bool = False) -> Seed:
        name = f"given{ending}{packed}"
        more = {"columns": columns} if columns else {}
        return Seed({name: PACK[packed](data)}, {name: shape}, name, more, packed, refused)

    first = contents[0]
    seeds = [seed(content.encode()) for content in contents]
    seeds += [seed(first.encode(), packed) for packed in PACK if packed]
    if encodings:
        seeds += [seed(first.encode(name)) for name in ("utf-8-sig", "gb18030")]
        seeds.append(seed(first.encode("utf-16"), refused=True))
        seeds.append(seed(first.encode("gb18030"), ".gz"))
    return seeds


def lines_of(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


CSV = 'text,label\n"a, b",x\n文脉相承，生生不息,y\n"say ""hi""",x\n"two\nlines",y\nplain,x\n' + "".join(
    f"row {n},{'xy'[n % 2]}\n" for n in range(6)
)
TABLE = "width,height,target\n" + "".join(f"{n / 2},{n * n},{3 * n}\n" for n in range(9))
ROWS = [{"text": "a b", "label": "x"}, {"text": "文脉，相承", "label": "y"}, *({"text": f"row {n}", "label": "xy"[n % 2]} for n in range(5))]
PAIRS = [{"text_a": f"one {n}", "text_b": "two", "label": n % 2} for n in range(5)]
TAGGED = [{"tokens": [f"Ada{n}", "saw", "文"], "tags": ["B-PER", "O", "B-LOC"]} for n in range(4)]
STEPS = [{"inputs": [3, 5, 1.5], "targets": [3, 8, 9.5]}, {"inputs": [1], "targets": [1]}, {"inputs": [2, 2], "targets": [2, 4]}]
FRAMES = [{"inputs": [[1, 2], [3, 4], [n, n]], "target": n} for n in range(4)]
QUESTION = {"id": "q1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}
SQUAD = {"version": "1", "data": [{"title": "t", "paragraphs": [{"context": "Ada saw 文脉.", "qas": [QUESTION, QUESTION]}]}]}
CONLL = "-DOCSTART- -X- O\n\n" + "".join(f"Ada NNP B-PER\nsaw VBD O\nRome{n} NNP B-LOC\n文 NN O\n\n" for n in range(3))
UNIVERSAL = "".join(
    f"# sent_id = {s}\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\tdo\tAUX\tVB\tF=1\t0\troot\t_\t_\n2\tn't{s}\tnot\tPART\tRB\t_\t1\tadv\t_\t_\n\n"
    for s in range(3)
)


def aligned() -> list[Seed]:
    seeds = []
    for packed in PACK:
        files = {f"given.en{packed}": PACK[packed](b"one\ntwo\nthree\n"), f"given.zh{packed}": PACK[packed]("一\n二\n三\n".encode())}
        seeds.append(Seed(files, dict.fromkeys(files, "text"), f"given.en{packed}", {"target": f"given.zh{packed}"}, packed))
    return seeds


def labels() -> list[Seed]:
    seeds = []
    for packed in PACK:
        texts = {"bad": "a bad one\nworse\n", "good": "a good one\n好\nbetter\n"}
        files = {f"given-{name}.txt{packed}": PACK[packed](text.encode()) for name, text in texts.items()}
        seeds.append(Seed(files, dict.fromkeys(files, "text"), packed=packed))
    return seeds


def idx() -> list[Seed]:
    image = struct.pack(">IIII", 0x803, 5, 3, 4) + bytes(range(60))
    label = struct.pack(">II", 0x801, 5) + bytes([0, 1, 2, 1, 0])
    seeds = []
    for packed in PACK:
        files = {f"train-images-idx3-ubyte{packed}": PACK[packed](image), f"train-labels-idx1-ubyte{packed}": PACK[packed](label)}
        seeds += [Seed(files, dict.fromkeys(files, "idx"), source, packed=packed) for source in (".", next(iter(files)))]
    return seeds


def pictures() -> list[Seed]:
    import numpy as np
    from PIL import Image

    grey = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) * 5)
    colour = Image.fromarray(np.arange(90, dtype=np.uint8).reshape(5, 6, 3) * 2)
    exif = Image.Exif()
    exif[0x0112] = 6

    def saved(image, format, **more) -> bytes:
        out = io.BytesIO()
        image.save(out, format, **more)
        return out.getvalue()

    deep = Image.fromarray(np.arange(48, dtype=np.uint16).reshape(6, 8) * 1000)
    seeds = []
    for first in (
        saved(grey, "PNG"), saved(colour, "PNG"), saved(colour.quantize(8), "PNG", transparency=0), saved(deep, "PNG"),
        saved(grey, "JPEG"), saved(colour, "JPEG", exif=exif), saved(colour, "JPEG", progressive=True),
    ):  # fmt: skip
        kind = "png" if first[1:4] == b"PNG" else "jpg"
        files = {
            "given.csv": f"image,label\na.{kind},x\nsmall/b.png,y\na.{kind},y\n".encode(),
            f"a.{kind}": first,
            "small/b.png": saved(grey, "PNG"),
        }
        seeds.append(Seed(files, {f"a.{kind}": kind, "small/b.png": "png", "given.csv": "csv"}, "given.csv"))
    return seeds


def parquet() -> list[Seed]:
    import pyarrow
    from pyarrow import parquet

    tables = [
        {"text": ["a", "文脉", "c", "d"], "label": ["x", "y", "x", "y"]},
        {"width": [1.5, 2.5, 3.5], "height": [1, 2, 3], "target": [3.0, 4.0, 5.0]},
        {"tokens": [["a", "b"], ["c", "b"], ["d", "b"]], "tags": [["O", "B-X"]] * 3},
        {"inputs": [[1.0, 2.0], [3.0]], "targets": [[1.0, 3.0], [3.0]]},
        {"text": ["a", None, "c"], "label": [1, 2, None]},
    ]
    seeds = []
    for number, columns in enumerate(tables):
        for compression in ("none", "snappy", "zstd")[: 3 if number == 0 else 1]:
            out = io.BytesIO()
            parquet.write_table(pyarrow.table(columns), out, compression=compression, store_schema=number % 2 == 0)
            refused = None in columns.get("label", ())
            seeds.append(Seed({"given.parquet": out.getvalue()}, {"given.parquet": "parquet"}, "given.parquet", refused=refused))
    return seeds


def vectors() -> list[Seed]:
    text = "film 0.5 -1 2e-1\ngood 1 2 3\n好 0 0 1\n"
    return text_seeds(".txt", "text", text, f"3 3\n{text}", encodings=False)


def matrices() -> list[Seed]:
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    seeds = []
    for kind in ("<f4", ">f8", "<f2", "<i4"):
        out = io.BytesIO()
        np.save(out, np.arange(6).reshape(3, 2).astype(kind))
        seeds.append(Seed({"given.npy": out.getvalue(), "words.txt": "film\ngood\n好".encode()},
                          {"given.npy": "npy", "words.txt": "text"}, "given.npy"))  # fmt: skip
    words = io.BytesIO()
    parquet.write_table(pyarrow.table({"word": ["good", "film", "好"], "at": [1, 0, 2]}), words)
    seeds.append(Seed({"given.npy": seeds[0].files["given.npy"], "words.parquet": words.getvalue()},
                      {"given.npy": "npy", "words.parquet": "parquet"}, "given.npy"))  # fmt: skip
    return seeds


TEXTS = ["a good film", "a bad film, 好", "good good", "文脉 is 文 and 脉", "badly filmed", "a good bad film"] * 2


def tokenizer(kind: str) -> list[Seed]:
    from wenmai.data.inputs import Texts

    seeds = []
    for lowercase in (False, True):
        learned = Texts.learn(TEXTS, "random", 64, tokenizer=kind, vocabulary=60 if kind != "bpe" else 290, lowercase=lowercase)
        seeds.append(Seed({"inputs.json": json.dumps(learned.to_json(), ensure_ascii=False).encode()}, {"inputs.json": "json"}))
    return seeds


SMALL = {"epochs": 1, "validation": 0.0}


def estimators() -> dict[str, tuple]:
    """A run of each of these: the estimator, what it learns from, one input."""
    from wenmai.estimator import Classifier, Regressor, Tagger

    labels = ["x", "y"] * 6
    tokens = [["Ada", "saw", "Rome"], ["No", "one"], ["文", "脉"]] * 2
    tags = [["B-PER", "O", "B-LOC"], ["O", "O"], ["B-LOC", "I-LOC"]] * 2
    table = [[n, n * n, 1.0] for n in range(6)]
    return {
        "softmax": (Classifier("softmax", **SMALL), TEXTS, labels),
        "logistic": (Classifier("logistic", balance=True, epochs=1), table, ["x", "y"] * 3),
        "perceptron": (Tagger("perceptron", **SMALL), tokens, tags),
        "linear": (Regressor("linear"), table, list(range(6))),
        "mlp": (Classifier("mlp", embed=4, hidden=4, tokenizer="bpe", vocabulary=270, **SMALL), TEXTS, labels),
        "crf": (Tagger("lstm", crf=True, embed=4, hidden=4, **SMALL), tokens, tags),
        "gru": (Regressor("gru", hidden=4, **SMALL), [[[1.0], [2.0]], [[3.0], [1.0], [2.0]]] * 2, [[1, 3], [3, 4, 6]] * 2),
        "cnn": (Classifier("cnn", embed=4, filters=2, characters="auto", **SMALL), [(a, a) for a in TEXTS], labels),
    }


def trained(name: str):
    from wenmai.data.sequences import Sequences

    estimator, inputs, targets = estimators()[name]
    if name == "gru":  # one number a step
        import numpy as np

        inputs, targets = (Sequences.of([np.array(row, np.float64) for row in rows], np.float64) for rows in (inputs, targets))
    return estimator, inputs, targets


SHAPES = {".json": "json", ".jsonl": "jsonl", ".safetensors": "safetensors"}


def run_folder(name: str) -> list[Seed]:
    from wenmai.training import folders

    estimator, inputs, targets = trained(name)
    estimator.fit(inputs, targets)
    with tempfile.TemporaryDirectory() as place:
        run = estimator.save(Path(place) / "run", data="given.csv", scores={}, seconds=1.0)
        steady(run / "progress.jsonl", jsonl=True)
        files = {path.name: path.read_bytes() for path in run.iterdir() if path.name != folders.MANIFEST}
    return [Seed(files, {name: SHAPES[Path(name).suffix] for name in files}, more={"input": inputs[:1]})]


def steady(path: Path, jsonl: bool = False) -> None:
    """Without the seconds, which are others each time: the same number has to give the same input."""
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'"seconds": [\d.e-]+', '"seconds": 1.5', text), "utf-8")


def checkpoint_folder(name: str) -> list[Seed]:
    from wenmai.training import checkpoints, folders

    estimator, inputs, targets = trained(name)
    estimator.options |= {"epochs": 3}
    arguments = {"rung": name, "source": "given.csv", "valid": None, "test": None, "task": None, "columns": None, "unseen": False,
                 "minutes": 0.0, "seed": 0, "device": "cpu", "settings": {}, "fingerprint": "0"}  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        kept = checkpoints.Checkpoints(run)
        kept.begin(arguments)
        for progress in estimator.training(inputs, targets):
            kept.keep(estimator, progress, asked=True)
        for path in run.rglob("state.json"):
            steady(path)
        files = {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    files = {file: data for file, data in sorted(files.items()) if not file.endswith(folders.MANIFEST)}
    return [Seed(files, {file: SHAPES[Path(file).suffix] for file in files})]


def bombs() -> list[Seed]:
    """Small files that unpack to hundreds of megabytes of one line, one cell, one value, or of nothing."""
    inside = {
        ".csv": [(b"text,label\n", b"a"), (b'text,label\n"', b"a\n")],
        ".tsv": [(b"text\tlabel\n", b"\t")],
        ".txt": [(b"", b"a")],
        ".jsonl": [(b'{"text": "', b"a"), (b"", b"[")],
        ".json": [(b'[{"text": "', b"a"), (b"[", b" ")],
        ".conll": [(b"a B-X\n\n", b"a")],
    }
    seeds = []
    for ending, contents in inside.items():
        for start, more in contents:
            for packed in (".gz", ".zst"):
                name = f"given{ending}{packed}"
                seeds.append(Seed({name: blown_up(start, more, packed)}, {name: "bytes"}, name, refused=True))
    images, labels = struct.pack(">IIII", 0x803, 2**31, 2**15, 2**15), struct.pack(">II", 0x801, 2**31)
    files = {"train-images-idx3-ubyte.gz": blown_up(images, b"\0", ".gz"), "train-labels-idx1-ubyte.gz": blown_up(labels, b"\0", ".gz")}
    seeds.append(Seed(files, dict.fromkeys(files, "bytes"), refused=True))
    return seeds


def blown_up(start: bytes, more: bytes, packed: str, pieces: int = 1024) -> bytes:
    """The start and a gigabyte more, packed without ever being held."""
    compressor = zlib.compressobj(1, wbits=31) if packed == ".gz" else _zstandard().ZstdCompressor(level=1).compressobj()
    piece = more * ((1 << 20) // len(more))
    return b"".join([compressor.compress(start), *(compressor.compress(piece) for _ in range(pieces)), compressor.flush()])


# What a user does with them


def read(place: Path, seed: Seed) -> None:
    """As `wenmai data` and `train` do: open it, look at a few rows, and, where a task is seen, take it as data for that."""
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset, open_table, says_no_task

    source = str(place / seed.source)
    target = str(place / seed.more["target"]) if "target" in seed.more else None
    columns = seed.more.get("columns")
    table = open_table(source, columns, target)
    for chunk, _ in zip(table.chunks(3), range(2)):
        assert len(chunk) and all(len(values) == len(chunk) for values in chunk.columns.values()), "columns of unequal length"
    if says_no_task(table, TASKS):
        table.load()
        return
    opened = open_dataset(source, TASKS, columns=columns, target=target, valid="0.3")
    opened.check()
    opened.fingerprint()


def read_vectors(place: Path, seed: Seed) -> None:
    import numpy as np

    from wenmai.data import vectors

    words, table = vectors.read(str(place / seed.source))
    assert table.ndim == 2 and len(words) == len(table) and table.shape[1], "vectors that are none"
    assert np.isfinite(vectors.for_tokens(words[:2], words, table)).all(), "numbers that are not finite"


def read_tokenizer(place: Path, seed: Seed) -> Callable:
    from wenmai.data import inputs
    from wenmai.training.run_folder import understood

    with understood(place / "inputs.json") as path:
        learned = inputs.from_json(json.loads(path.read_text("utf-8")))

    def go_on() -> None:
        given = ["a good film, 好", ""]
        encoded = learned.encode([(text, text) for text in given] if learned.pairs else given)
        assert not len(encoded.flat) or 0 <= encoded.flat.min() <= encoded.flat.max() < learned.vocabulary, "unknown numbers"
        learned.tokenizer.decode(encoded.flat)

    return go_on


def open_run(place: Path, seed: Seed) -> Callable:
    from wenmai.estimator import load

    estimator = load(place)
    return lambda: estimator.answers(seed.more["input"])


def open_checkpoint(place: Path, seed: Seed) -> None:
    from wenmai.training.checkpoints import Checkpoints

    arguments, snapshot, notes = Checkpoints(place).resume()
    assert isinstance(arguments, dict) and isinstance(snapshot.facts, dict) and isinstance(snapshot.inputs, dict), "no objects"
    for note in notes:
        check_sentence(note, {"training"})


@dataclass(frozen=True)
class Target:
    seeds: Callable[[], list[Seed]]
    attempt: Callable[[Path, Seed], Callable | None]
    weight: int = 10
    least: int = 200  # inputs, however few there are in all
    signs: bool = False  # its folders have manifests, which half of the time are made to fit the damage


def run_target(name: str, weight: int) -> Target:
    return Target(partial(run_folder, name), open_run, weight, signs=True)


TARGETS = {
    "csv": Target(partial(text_seeds, ".csv", "csv", CSV, TABLE, TABLE.replace(",", ";")), read, 80),
    "csv-columns": Target(partial(text_seeds, ".csv", "csv", CSV, columns={"text": "0", "label": "1"}), read, 20),
    "tsv": Target(partial(text_seeds, ".tsv", "csv", "text\tlabel\na b\tx\n文脉，相承\ty\nc\tx\nd\ty\n"), read, 60),
    "jsonl": Target(
        partial(text_seeds, ".jsonl", "jsonl", lines_of(*ROWS), lines_of(*PAIRS), lines_of(*TAGGED)), read, 60
    ),
    "json": Target(partial(text_seeds, ".json", "json", json.dumps(ROWS, ensure_ascii=False), json.dumps(TAGGED)), read, 60),
    "squad": Target(partial(text_seeds, ".json", "json", json.dumps(SQUAD, ensure_ascii=False)), read, 60),
    "numbers": Target(partial(text_seeds, ".jsonl", "jsonl", lines_of(*STEPS), lines_of(*FRAMES), encodings=False), read, 60),
    "txt": Target(partial(text_seeds, ".txt", "text", "one line\nanother 文脉，相承\nthird\n"), read, 60),
    "conll": Target(partial(text_seeds, ".conll", "text", CONLL), read, 60),
    "conll-by-look": Target(partial(text_seeds, ".txt", "text", CONLL), read, 20),
    "conllu": Target(partial(text_seeds, ".conllu", "text", UNIVERSAL), read, 50),
    "aligned": Target(aligned, read, 50),
    "labels": Target(labels, read, 50),
    "idx": Target(idx, read, 60),
    "pictures": Target(pictures, read, 30),
    "parquet": Target(parquet, read, 40),
    "vectors": Target(vectors, read_vectors, 50),
    "matrices": Target(matrices, read_vectors, 40),
    **{f"tokenizer-{kind}": Target(partial(tokenizer, kind), read_tokenizer, 20)
       for kind in ("characters", "words", "jieba", "bpe", "wordpiece", "unigram")},
    **{f"run-{name}": run_target(name, weight) for name, weight in
       {"softmax": 20, "logistic": 20, "perceptron": 12, "linear": 20, "mlp": 12, "crf": 10, "gru": 10, "cnn": 8}.items()},
    "checkpoint-softmax": Target(partial(checkpoint_folder, "softmax"), open_checkpoint, 15, signs=True),
    "checkpoint-mlp": Target(partial(checkpoint_folder, "mlp"), open_checkpoint, 10, signs=True),
    "bombs": Target(bombs, read, 1, least=100),
}  # fmt: skip


# What goes wrong with files

NUMBERS = [b"-1", b"0", b"1", b"255", b"65536", b"2147483648", b"4294967295", b"9223372036854775808", b"1e308", b"-1e400", b"NaN",
           b"Infinity", b"1.5", b"9" * 400, b"9" * 5000, b"0x10", b"1e-400", "１２".encode()]  # fmt: skip
BYTES = [b"\0", b'"', b'""', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b"\\", b"{", b"}", b"[", b"]", b":", b"#", b" ",
         b"\xff", b"\xfe", b"\x80", b"\x1b[31m", b"\x7f", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"\xed\xa0\x80", b"\\ud800",
         b"null", b"true", "脉".encode(), "文".encode("gb18030"), "\u2028".encode(), "\x85".encode(), "𠮷".encode(), b"-DOCSTART-",
         b"O", b"B-", b"1-2", b"\x84\x31\xa4\x37", b"a" * 300, b'"' * 50]  # fmt: skip
DIGITS = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 1e308, float("nan"), float("inf"), -0.5, "", "x", "0", "\ud800", "\0",
          "\x1b[31m\n", "文", [], {}, [[]], [0, "x"], {"x": 0}, ["a"] * 3, [1, 2, 3], "a" * 5000, "@deep", "@digits"]  # fmt: skip
SIZES = [0, 1, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


def disturb(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Something that knows nothing of what is inside."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        size = len(made)
        at, many = chance.randrange(size + 1), min(1 + int(chance.expovariate(0.2)), 200)
        match chance.randrange(12):
            case 0 | 1 if at < size:
                made[at] ^= 1 << chance.randrange(8)
            case 2 if at < size:
                made[at] = chance.randrange(256)
            case 3:
                del made[at : at + many]
            case 4 | 5:
                made[at:at] = chance.choice(BYTES)
            case 6:
                made[at:at] = chance.randbytes(many)
            case 7:
                made[at:at] = made[at : at + many] * chance.choice((1, 1, 2, 9))
            case 8:
                there = chance.randrange(size + 1)
                piece = made[at : at + many]
                del made[at : at + many]
                made[there:there] = piece
            case 9 if chance.random() < 0.5:
                del made[at:]
            case 10:
                numbers = list(DIGITS.finditer(made))
                if numbers:
                    found = chance.choice(numbers)
                    made[found.start() : found.end()] = chance.choice(NUMBERS)
            case 11:
                made[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(made)


def other_value(chance: Chance):
    return deepcopy(chance.choice(VALUES))  # what is put into the last one must not be in the next


def disturb_json(data: bytes, chance: Chance, other: bytes) -> bytes:
    """A value of another kind, a key that is missing, renamed or there twice, a list that is longer, shorter or mixed."""
    root = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = list(_places(root, 400))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(8):
            case 0 | 1 | 2:
                holder[key] = other_value(chance)
            case 3:
                del holder[key]
            case 4 if isinstance(holder, dict):
                holder[chance.choice((key + "x", key.upper(), "", "\ud800", "label", "kind", "data"))] = holder.pop(key)
            case 4 | 5 if isinstance(holder, list):
                holder.insert(chance.randrange(len(holder) + 1), deepcopy(holder[key]))
            case 5:
                holder[f"@twice{key}"] = other_value(chance)
            case 6:
                there, name = chance.choice(places)
                if not _inside(there[name], holder) and not _inside(holder[key], there):
                    holder[key], there[name] = there[name], holder[key]
            case _:
                if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
                    holder[key] = chance.choice((-1, 0, 2**31, 2**63, 1e308, holder[key] + 1, -holder[key]))
                else:
                    holder[key] = other_value(chance)
    text = json.dumps(root, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, None, 1)))
    text = text.replace("@twice", "").replace('"@digits"', "7" * 6000)
    depth = chance.choice((50, 900, 30_000))
    return text.replace('"@deep"', "[" * depth + "]" * depth).encode("utf-8", "surrogatepass")


def _places(value, most: int, found: list | None = None) -> list[tuple]:
    """(holder, key) of everything inside; of a long list some are enough."""
    found = [] if found is None else found
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        if len(found) >= most:
            break
        found.append((value, key))
        _places(value[key], most, found)
    return found


def _inside(part, whole) -> bool:
    return part is whole or any(_inside(part, value) for value in (whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()))  # fmt: skip


def disturb_jsonl(data: bytes, chance: Chance, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines[at] = disturb_json(lines[at], chance, other).replace(b"\n", b"") + b"\n"
    return b"".join(lines)


def disturb_csv(data: bytes, chance: Chance, other: bytes) -> bytes:
    marks = re.split(rb'([,\t;"\n])', data)
    for _ in range(chance.choice((1, 2, 4))):
        at = chance.randrange(len(marks))
        marks[at] = chance.choice((
            b"", b'"', b'""', b",", b"\n", b"\r", b"\0", b"x" * 20_000, b"," * 200, b"," * 20_000, b'"' * 99, b"\n" * 50, marks[at] * 2,
            chance.choice(NUMBERS), chance.choice(BYTES),
        ))  # fmt: skip
    return b"".join(marks)


def disturb_sizes(data: bytes, chance: Chance, other: bytes, places: tuple[int, ...], form: str) -> bytes:
    made = bytearray(data)
    for at in chance.sample(places, min(len(places), chance.choice((1, 1, 2, 9)))):
        most = 256 ** struct.calcsize(form) - 1
        if len(made) >= abs(at):
            struct.pack_into(form, made, at % len(made), min(most, chance.choice((*SIZES, chance.randrange(64)))))
    return bytes(made)


def disturb_idx(data: bytes, chance: Chance, other: bytes) -> bytes:
    return disturb_sizes(data, chance, other, (0, 4, 8, 12) if len(data) > 16 else (0, 4), ">I")


def disturb_safetensors(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Its header is JSON of names, kinds, shapes and places, after its length."""
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    match chance.randrange(4):
        case 0:
            return disturb_sizes(data, chance, other, (0,), "<Q")
        case 1:
            header = json.loads(header)
            name = chance.choice([name for name in header if name != "__metadata__"])
            kind = chance.choice(("F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", "I16", "U64", "F8_E4M3"))
            header[name]["dtype"] = kind
            if chance.random() < 0.5:
                header[name]["shape"] = chance.choice(([], [0], header[name]["shape"][::-1], [2**40, 0], header[name]["shape"] + [1]))
            return packed_tensors(json.dumps(header).encode(), body)
        case 2:  # one array whole, but of another size or kind
            from safetensors.numpy import load, save

            arrays = load(data)
            name = chance.choice(sorted(arrays))
            array = arrays.pop(name)
            change = chance.randrange(6)
            if change < 5:
                arrays[name] = (array[:-1], array.T.copy(), array.astype("float64"), array[None], array * 0 - 1)[change]
            return save(arrays)
    return packed_tensors(disturb_json(header, chance, other), body)


def packed_tensors(header: bytes, body: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + body


def disturb_parquet(data: bytes, chance: Chance, other: bytes) -> bytes:
    """What it holds stands in its footer, whose length comes just before the last four bytes."""
    if chance.random() < 0.1:
        return disturb_sizes(data, chance, other, (-8,), "<I")
    size = int.from_bytes(data[-8:-4], "little")
    start = max(0, len(data) - 8 - size)
    if chance.random() < 0.3:
        return data[:4] + disturb(data[4:start], chance, other[4:]) + data[start:]
    footer = disturb(data[start:-8], chance, b"")
    return data[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def disturb_png(data: bytes, chance: Chance, other: bytes) -> bytes:
    """Its pieces have checksums, which are made to fit."""
    pieces, at = [], 8
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        pieces.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    which = chance.randrange(len(pieces))
    kind, body = pieces[which]
    if kind == b"IHDR" and chance.random() < 0.5:
        body = disturb_sizes(body, chance, other, (0, 4), ">I")
    elif kind == b"IDAT" and chance.random() < 0.5:
        body = zlib.compress(disturb(zlib.decompress(body), chance, b""), 1)
    elif chance.random() < 0.2:
        kind = chance.choice((b"IHDR", b"PLTE", b"IDAT", b"tRNS", b"iCCP", b"eXIf", b"zTXt", b"tEXt", b"acTL", b"gAMA", b"pHYs"))
    else:
        body = disturb(body, chance, b"")
    pieces[which : which + 1] = chance.choice(([(kind, body)], [(kind, body)], [(kind, body)] * 2, []))
    chunks = (struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in pieces)
    return data[:8] + b"".join(chunks)


def disturb_jpg(data: bytes, chance: Chance, other: bytes) -> bytes:
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return disturb_sizes(data, chance, other, (at + 5, at + 7), ">H") if chance.random() < 0.4 else disturb(data, chance, other)


def disturb_npy(data: bytes, chance: Chance, other: bytes) -> bytes:
    start = data.index(b"{")
    end = data.index(b"\n", start)
    header = data[start:end]
    if chance.random() < 0.5:
        old, new = chance.choice(((b"(3, 2)", chance.choice((b"(3, -2)", b"(6,)", b"()", b"(2147483648, 2147483648)", b"(3, 2, 1)",
                                  b"(0, 2)", b"(3, 0)", b"(" * 300 + b")" * 300))), (b"f4", chance.choice((b"O", b"S4", b"U1", b"c8", b"V4",
                                  b"i4", b"M8[s]", b"b1"))), (b"False", b"True"), (b"'shape'", b"'shade'")))  # fmt: skip
        header = header.replace(old, new)
    else:
        header = disturb(header, chance, b"")
    size = len(header) + 1 if chance.random() < 0.9 else chance.choice((0, 10, 65535))
    return data[:8] + struct.pack("<H", min(65535, size)) + header + b"\n" + data[end + 1 :]


def cut(data: bytes, chance: Chance, other: bytes) -> bytes:
    """A bomb goes off as it is, or is cut off or disturbed in the middle."""
    at = chance.randrange(len(data))
    return chance.choice((data, data[: at + 1], data[:at] + chance.randbytes(3) + data[at:]))


KNOWING = {"json": disturb_json, "jsonl": disturb_jsonl, "csv": disturb_csv, "idx": disturb_idx, "safetensors": disturb_safetensors,
           "parquet": disturb_parquet, "png": disturb_png, "jpg": disturb_jpg, "npy": disturb_npy, "bytes": cut}  # fmt: skip


@dataclass
class Damage:
    seed: int
    file: str
    data: bytes | None  # None: the file is missing
    sign: bool


def damage(target: str, number: int, seeds: list[Seed]) -> Damage:
    """The input of that number: which seed, which file of it, and what stands in that file."""
    chance = Chance(f"{target} {number}")
    which = chance.randrange(len(seeds))
    seed = seeds[which]
    file = chance.choice(list(seed.damaged))
    data, sign = seed.files[file], TARGETS[target].signs and chance.random() < 0.75
    shape = seed.damaged[file]
    if chance.random() < 0.005:
        return Damage(which, file, chance.choice((None, b"", b"\n", b"\0" * 9)), sign)
    knowing = KNOWING.get(shape)
    with_other = chance.choice(seeds)
    other = chance.choice(list(with_other.files.values())) if shape != "bytes" else b""
    inside = not seed.packed or chance.random() < 0.6  # before it is packed, else after
    if seed.packed and inside:
        data = UNPACK[seed.packed](data)
    encoded = shape in ("json", "jsonl") and not data.isascii() and not _is_utf8(data)
    if knowing and inside and not encoded and (shape == "bytes" or chance.random() < 0.6):
        data = knowing(data, chance, other)
    else:
        data = disturb(data, chance, other)
    return Damage(which, file, PACK[seed.packed](data) if seed.packed and inside else data, sign)


def _is_utf8(data: bytes) -> bool:
    try:
        return not data.startswith(b"\xef\xbb\xbf") and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


UNPACK = {".gz": gzip.decompress, ".xz": lzma.decompress, ".zst": lambda data: _zstandard().ZstdDecompressor().decompress(data)}


# Judging


class TooSlow(BaseException):
    """Not an Exception, lest it be caught on the way."""


class Failure(AssertionError):
    pass


def check_sentence(sentence: str, names: set[str]) -> None:
    if not sentence.strip() or len(sentence.splitlines()) != 1:
        raise Failure(f"not one line: {sentence[:300]!r}")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in sentence):
        raise Failure(f"what no terminal should be given: {sentence[:300]!r}")
    if len(sentence) > LONGEST:
        raise Failure(f"{len(sentence)} characters long: {sentence[:300]!r}")
    if INTERNAL.search(sentence):
        raise Failure(f"shows what is inside: {sentence[:300]!r}")
    if names and not any(name in sentence for name in names):
        raise Failure(f"does not name the file: {sentence[:300]!r}")


def judged(target: Target, place: Path, seed: Seed) -> str:
    """"answered" or "refused"; anything else raises."""
    from wenmai.errors import Mistake

    names = {Path(name).name for name in seed.files} | {place.name}
    try:
        go_on = target.attempt(place, seed)
    except Mistake as mistake:
        check_sentence(str(mistake), names)
        return "refused"
    try:
        if go_on:
            go_on()
    except Mistake as mistake:
        check_sentence(str(mistake), set())
        return "refused"
    return "answered"


# One worker


class Stand:
    """Where a worker stands, in a file that the parent maps too: the target, the number, and five figures a target."""

    FIGURES = ("inputs", "answered", "refused", "slowest", "slowest_number")

    def __init__(self, path: Path):
        size = 8 * (4 + len(self.FIGURES) * len(TARGETS))
        if not path.exists():
            path.write_bytes(bytes(size))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), size)
        self.numbers = memoryview(self.map).cast("q")  # [target, number, memory when warm, most memory, …]

    def of(self, target: int) -> dict[str, int]:
        start = 4 + len(self.FIGURES) * target
        return dict(zip(self.FIGURES, self.numbers[start : start + len(self.FIGURES)].tolist()))

    def add(self, target: int, verdict: str, number: int, spent: int) -> None:
        start, numbers = 4 + len(self.FIGURES) * target, self.numbers
        numbers[start] += 1
        if verdict:
            numbers[start + self.FIGURES.index(verdict)] += 1
        if spent > numbers[start + 3]:
            numbers[start + 3], numbers[start + 4] = spent, number


class Work:
    """The seeds of a target, lying in folders; one file of one of them at a time is damaged."""

    def __init__(self, name: str, folder: Path):
        self.name, self.target, self.seeds = name, TARGETS[name], TARGETS[name].seeds()
        self.places = []
        for number, seed in enumerate(self.seeds):
            place = folder / f"{name}-{number}"
            for file, data in seed.files.items():
                (place / file).parent.mkdir(parents=True, exist_ok=True)
                (place / file).write_bytes(data)
            self.places.append(place)
            if self.target.signs:
                for held in {(place / file).parent for file in seed.files}:
                    self.sign(held)
        self.manifests = {path: path.read_bytes() for place in self.places for path in place.rglob("manifest.json")}

    def sign(self, folder: Path) -> None:
        from wenmai.training import folders

        files = {path.name: folders.checksum(path) for path in folder.iterdir() if path.name != folders.MANIFEST and path.is_file()}
        (folder / folders.MANIFEST).write_text(json.dumps({"files": files}))

    def warm(self) -> None:
        """Whole files are answered; what is loaded or compiled once is so from here on."""
        for seed, place in zip(self.seeds, self.places):
            if not seed.refused:
                verdict = judged(self.target, place, seed)
                assert verdict == "answered", f"{place} is whole, and yet refused"

    def put(self, number: int) -> Damage:
        made = damage(self.name, number, self.seeds)
        path = self.places[made.seed] / made.file
        if made.data is None:
            path.unlink()
        else:
            path.write_bytes(made.data)
        if made.sign:
            self.sign(path.parent)
        elif self.target.signs and number % 10 == 0:  # the manifest itself, while all else is whole
            self.put_back(made)
            manifest, chance = path.parent / "manifest.json", Chance(number)
            disturbed = chance.choice((disturb, disturb_json))(self.manifests[manifest], chance, b"")
            manifest.write_bytes(disturbed)
        return made

    def put_back(self, made: Damage) -> None:
        path = self.places[made.seed] / made.file
        path.write_bytes(self.seeds[made.seed].files[made.file])
        manifest = path.parent / "manifest.json"
        if manifest in self.manifests:
            manifest.write_bytes(self.manifests[manifest])

    def attempt(self, number: int) -> str:
        made = self.put(number)
        try:
            return judged(self.target, self.places[made.seed], self.seeds[made.seed])
        finally:
            self.put_back(made)


def work(plan: list[tuple[str, int, int]], folder: Path, stand: Stand) -> None:
    """All inputs of the plan, in turn; what fails is written down, a line of JSON each."""
    import warnings

    warnings.simplefilter("ignore")
    said = open(folder / "stdout", "w+b", buffering=0)  # noqa: SIM115 (as long as the process)
    os.dup2(said.fileno(), 1)
    order = list(TARGETS)
    ready = {}
    for name in dict.fromkeys(name for name, _, _ in plan):
        ready[name] = Work(name, folder)
        ready[name].warm()
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc/self/statm").exists() else 0
    if held:
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    stand.numbers[2] = stand.numbers[3] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, too_slow)
    with open(folder / "failures", "a") as failures:
        for name, start, stop in plan:
            at, doing = order.index(name), ready[name]
            stand.numbers[0] = at
            for number in range(start, stop):
                stand.numbers[1] = number
                failure, verdict = "", ""
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                began = time.process_time_ns()
                try:
                    verdict = doing.attempt(number)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # a panic of Rust is no Exception
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    failure = f"{type(error).__name__}: {str(error)[:500]} at {where(error)}"
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                spent = time.process_time_ns() - began
                if not failure and spent > SECONDS * 1e9:
                    failure = f"TooSlow: {spent / 1e9:.2f} s"
                if not failure and os.fstat(1).st_size:
                    failure = "something was printed"
                if failure:
                    failures.write(json.dumps({"target": name, "number": number, "failure": failure}) + "\n")
                    failures.flush()
                    os.ftruncate(1, 0)
                stand.add(at, verdict, number, spent)
            stand.numbers[3] = max(stand.numbers[3], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def too_slow(number, frame) -> None:
    raise TooSlow(f"over {SECONDS} s of processor time")


def where(error: BaseException) -> str:
    """The last lines that are Wenmai's own, and the very last one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "wenmai" in Path(frame.filename).parts] or frames
    last = own[-2:] + ([frames[-1]] if frames[-1] is not own[-1] else [])
    return " ← ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(last))


# The parent


def shares(inputs: int, names: list[str]) -> dict[str, int]:
    """How many inputs each target gets: by weight, and at least some hundred."""
    least = {name: min(TARGETS[name].least, inputs // len(names)) for name in names}
    left, total = inputs - sum(least.values()), sum(TARGETS[name].weight for name in names)
    counts = {name: least[name] + left * TARGETS[name].weight // total for name in names}
    counts[names[0]] += inputs - sum(counts.values())
    return counts


def plans(counts: dict[str, int], start: int, workers: int) -> list[list[tuple[str, int, int]]]:
    """Every worker gets an equal part of every target."""
    made = []
    for worker in range(workers):
        cuts = {name: [count * part // workers for part in (worker, worker + 1)] for name, count in counts.items()}
        made.append([(name, start + a, start + b) for name, (a, b) in cuts.items() if a < b])
    return made


def fuzz(inputs: int, workers: int = 1, start: int = 0, names: list[str] | None = None) -> dict:
    """{"targets": figures of each, "failures": [{"target", "number", "failure"}], "seconds", "memory"}"""
    names, began = names or list(TARGETS), time.perf_counter()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None))
    try:
        crew = [Crew(plan, folder / f"{number}") for number, plan in enumerate(plans(shares(inputs, names), start, workers))]
        while not all([member.finished() for member in crew]):
            time.sleep(0.1)
        figures = {}
        for at, name in enumerate(TARGETS):
            parts = [member.stand.of(at) for member in crew]
            if sum(part["inputs"] for part in parts):
                slowest = max(parts, key=lambda part: part["slowest"])
                figures[name] = {key: sum(part[key] for part in parts) for key in ("inputs", "answered", "refused")}
                figures[name] |= {"slowest": slowest["slowest"] / 1e9, "slowest_number": slowest["slowest_number"]}
        grown = max(member.stand.numbers[3] - member.stand.numbers[2] for member in crew)
        return {"targets": figures, "failures": [failure for member in crew for failure in member.failures()],
                "seconds": time.perf_counter() - began, "grown": grown << 10,
                "most": max(member.stand.numbers[3] for member in crew) << 10}  # fmt: skip
    finally:
        for member in crew:
            member.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Crew:
    """A worker and those that come after it, where it dies."""

    def __init__(self, plan: list[tuple[str, int, int]], folder: Path):
        folder.mkdir()
        self.plan, self.folder, self.stand, self.deaths = plan, folder, Stand(folder / "stand"), []
        self.begin()

    def begin(self) -> None:
        (self.folder / "plan").write_text(json.dumps(self.plan))
        self.stand.numbers[1] = -1
        with open(self.folder / "stderr", "wb") as said:
            command = [sys.executable, __file__, "--worker", str(self.folder)]
            self.process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL)
        self.seen, self.moved = None, time.monotonic()

    def finished(self) -> bool:
        status = self.process.poll()
        if status == 0:
            return True
        now = tuple(self.stand.numbers[:2])
        if status is None:
            if now != self.seen or now[1] < 0:
                self.seen, self.moved = now, time.monotonic()
            if time.monotonic() - self.moved < STUCK:
                return False
            self.process.kill()
            self.process.wait()
            status = "no answer"
        said = (self.folder / "stderr").read_text("utf-8", "replace")[-3000:]
        if now[1] < 0:
            raise RuntimeError(f"a worker ended ({status}) before its first input:\n{said}")
        name = list(TARGETS)[now[0]]
        told = [line.strip() for line in said.splitlines() if line.strip().startswith("File") or "panicked" in line][:3]
        self.deaths.append({"target": name, "number": now[1], "failure": f"the worker died ({status}): {'; '.join(told)}"})
        self.stand.add(now[0], "", now[1], 0)
        rest = [name for name, _, _ in self.plan].index(name)
        self.plan = [(name, now[1] + 1, self.plan[rest][2]), *self.plan[rest + 1 :]]
        self.begin()
        return False

    def failures(self) -> list[dict]:
        file = self.folder / "failures"
        return self.deaths + [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else self.deaths

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def table(found: dict) -> str:
    lines = [f"{'target':22}{'inputs':>10}{'answered':>10}{'refused':>10}{'slowest, s':>12}  number"]
    for name, figures in found["targets"].items():
        lines.append(f"{name:22}{figures['inputs']:>10,}{figures['answered']:>10,}{figures['refused']:>10,}"
                     f"{figures['slowest']:>12.3f}  {figures['slowest_number']}")  # fmt: skip
    total = {key: sum(figures[key] for figures in found["targets"].values()) for key in ("inputs", "answered", "refused")}
    lines.append(f"{'all':22}{total['inputs']:>10,}{total['answered']:>10,}{total['refused']:>10,}"
                 f"{max(figures['slowest'] for figures in found['targets'].values()):>12.3f}")  # fmt: skip
    lines.append(f"{found['seconds']:.0f} s; memory grew by {found['grown'] >> 20} MB to {found['most'] >> 20} MB at the most "
                 f"(bound: {MEMORY >> 20} MB); {len(found['failures'])} failures")  # fmt: skip
    return "\n".join(lines)


def told(failures: list[dict]) -> str:
    """Failures of one kind together, with the commands that show the first of them again."""
    kinds: dict[str, list[dict]] = {}
    for failure in failures:
        kinds.setdefault(re.sub(r"\d+", "N", failure["failure"][:60]) + failure["failure"].partition(" at ")[2], []).append(failure)
    lines = []
    for same in sorted(kinds.values(), key=len, reverse=True):
        lines.append(f"{len(same)} × {same[0]['failure']}")
        lines += [f"      python tests/fuzzing.py {one['target']} {one['number']}" for one in same[:3]]
    return "\n".join(lines)


def again(name: str, number: int) -> None:
    """One input, without limits."""
    faulthandler.enable()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    one = Work(name, folder)
    made = one.put(number)
    place, seed = one.places[made.seed], one.seeds[made.seed]
    print(f"{place / made.file}: {'missing' if made.data is None else made.data[:300]}", file=sys.stderr)
    began = time.process_time()
    print(judged(one.target, place, seed), f"{time.process_time() - began:.3f} s")
    from wenmai.errors import Mistake

    try:
        go_on = one.target.attempt(place, seed)
        print(go_on() if go_on else "")
    except Mistake as mistake:
        print(mistake)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("number", nargs="?", type=int)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the number of the first input: other inputs than before")
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.targets:
        print("\n".join(TARGETS))
    elif given.worker:
        faulthandler.enable()
        work([tuple(part) for part in json.loads((given.worker / "plan").read_text())], given.worker, Stand(given.worker / "stand"))
    elif given.number is not None:
        again(given.target, given.number)
    else:
        found = fuzz(given.inputs, given.workers, given.start, [given.target] if given.target else None)
        print(table(found))
        print(told(found["failures"]))
        sys.exit(bool(found["failures"]))


if __name__ == "__main__":
    main()
