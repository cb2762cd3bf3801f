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
import hashlib
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import fuzzing_files as whole
from fuzzing_damage import KNOWING, disturbed, disturbed_json
from fuzzing_files import PACK, UNPACK, Seed, lines_of, text_seeds

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded

SECONDS = float(
    os.environ.get("WENMAI_FUZZ_SECONDS", 1.0)
)  # of processor time that an input may take
MEMORY = (
    512 << 20
)  # bytes of address space, and so of memory, that a worker may take beyond what it has when it is warm
# A checkpoint that asks for six threads gets them, and keeps them; unless told otherwise each sets 72 MB of addresses aside.
FEW_ADDRESSES = {"MALLOC_ARENA_MAX": "2", "OMP_STACKSIZE": "512k", "RUST_BACKTRACE": "0"}
STUCK = 30.0 * max(
    1.0, SECONDS
)  # seconds on the clock after which a worker that does not move is ended
LONGEST = 2000  # characters of a sentence
INTERNAL = re.compile(
    r"Traceback|<[\w.]+ object at 0x|<class '|<function |\bdtype\(|\barray\(\[|\btensor\(|np\.\w+\("
)


# What a user does with files


def read(place: Path, seed: Seed) -> str:
    """As `wenmai data` and `train` do: open it, look at a few rows, and, where a task is seen, take it as data for that. Gives
    a hash of what was read."""
    from wenmai.catalog import TASKS
    from wenmai.cli import overview
    from wenmai.data.dataset import open_dataset, open_table, says_no_task

    source, columns = str(place / seed.source), seed.more.get("columns")
    target = str(place / seed.more["target"]) if "target" in seed.more else None
    table = open_table(source, columns, target)
    for chunk, _ in zip(table.chunks(3), range(2)):
        assert len(chunk) and all(len(values) == len(chunk) for values in chunk.columns.values()), (
            "columns of unequal length"
        )
    if sentence := says_no_task(table, TASKS):
        check_sentence(sentence, {Path(source).name})
        overview.table(table, sentence, "en")
    else:
        opened = open_dataset(source, TASKS, columns=columns, target=target, valid="0.3")
        opened.check()
        opened.fingerprint()
        overview.data_set(opened, "zh")
    columns = table.load().columns
    return hashlib.blake2b(
        repr([(name, list(map(repr, values))) for name, values in columns.items()]).encode()
    ).hexdigest()


def read_documents(place: Path, seed: Seed) -> str:
    """As `wenmai train bert` does."""
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset
    from wenmai.data.text.sentences import Sentences

    opened = open_dataset(str(place / seed.source), TASKS, "pretrain", valid="0.3")
    opened.check()
    found = [Sentences.of(part.inputs) for part in (opened.train, opened.valid) if part]
    assert all(sentences.documents[-1] == len(sentences) for sentences in found), (
        "sentences of no document"
    )
    return repr([(list(sentences.texts), sentences.documents.tolist()) for sentences in found])


def read_vectors(place: Path, seed: Seed) -> str:
    import numpy as np

    from wenmai.data.text import vectors

    words, table = vectors.read(str(place / seed.source))
    assert table.ndim == 2 and len(words) == len(table) and table.shape[1], "vectors that are none"
    assert np.isfinite(vectors.for_tokens(words[:2], words, table)).all(), (
        "numbers that are not finite"
    )
    return repr((words, table.tolist()))


def read_tokenizer(place: Path, seed: Seed) -> Callable:
    from wenmai.data.inputs import kinds as inputs
    from wenmai.training.run_folder import understood

    with understood(place / "inputs.json") as path:
        learned = inputs.from_json(json.loads(path.read_text("utf-8")))

    def go_on() -> None:
        given = ["a good film, 好", ""]
        encoded = learned.encode([(text, text) for text in given] if learned.pairs else given)
        assert (
            not len(encoded.flat)
            or 0 <= encoded.flat.min() <= encoded.flat.max() < learned.vocabulary
        ), "unknown numbers"
        learned.tokenizer.decode(encoded.flat)

    return go_on


def open_run(place: Path, seed: Seed) -> Callable:
    from wenmai.estimators import load

    estimator = load(place)
    return lambda: repr(estimator.answers(seed.more["input"]))


def import_folder(place: Path, seed: Seed) -> Callable:
    """A model of `transformers`, which then reads."""
    from wenmai.exchange.hugging_face import imported

    model = imported(place)
    return lambda: repr(model.embed(["a good film, 好"]).shape)


def open_checkpoint(place: Path, seed: Seed) -> Callable:
    """Goes on from it, and gives what is told of checkpoints that were passed over."""
    from wenmai.training.checkpoints import Checkpoints

    arguments, snapshot, notes = Checkpoints(place).resume()
    assert (
        isinstance(arguments, dict)
        and isinstance(snapshot.facts, dict)
        and isinstance(snapshot.inputs, dict)
    ), "no objects"
    for note in notes:
        check_sentence(note, {"training"})
    return lambda: go_on(place, seed, arguments, snapshot) or "; ".join(notes)


def go_on(place: Path, seed: Seed, arguments: dict, snapshot) -> None:
    """The training itself, by the options that its command has now, for a few signs of life."""
    from wenmai.training.checkpoints import as_it_was_kept, check_arguments
    from wenmai.training.run_folder import understood

    with understood(place / "training" / "start" / "arguments.json"):
        check_arguments(arguments)
    known, inputs, targets = whole.resumed()[seed.more["training"]]
    estimator = type(known)(arguments["rung"], **arguments["settings"])
    with as_it_was_kept(place):
        for _ in zip(range(4), estimator.training(inputs, targets, resume=snapshot)):
            pass


def import_arpa(place: Path, seed: Seed) -> Callable:
    from wenmai.exchange.arpa_files import imported

    model = imported(str(place / "model.arpa"), "small")

    def go_on() -> None:
        found = model.log_prob(["a good film, 好", "zebra", ""])
        assert (found <= 0).all(), "more than certain"

    return go_on


def filter_lines(place: Path, seed: Seed) -> str:
    from wenmai.serving.filtering import filtered

    found = filtered(whole.language_model(), str(place / seed.source), 0.0, 100.0, place / "out")
    assert found["rows"] == found["kept"] + found["dropped"], "rows that are lost"
    return repr(found)


@dataclass(frozen=True)
class Target:
    seeds: Callable[[], list[Seed]]
    attempt: Callable[[Path, Seed], Callable | str | None]  # what it returns is called, too
    weight: int
    least: int = 200  # inputs, however few there are in all
    signs: bool = (
        False  # its folders have manifests, which most of the time are made to fit the damage
    )


def texts(ending: str, shape: str, *contents: str, weight: int, **more) -> Target:
    return Target(partial(text_seeds, ending, shape, *contents, **more), read, weight)


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


RUNS = {
    "ngram": 20,
    "ngram-small": 20,
    "ngram-classify": 12,
    "softmax": 20,
    "logistic": 20,
    "perceptron": 12,
    "linear": 20,
    "mlp": 12,
    "crf": 10,
    "gru": 10,
    "cnn": 8,
    "bert": 10,
    "said": 8,
}
CHECKPOINTS = {
    "softmax": 8,
    "linear": 5,
    "perceptron": 5,
    "perceptron-tag": 8,
    "mlp": 8,
    "rnn": 8,
    "bert": 6,
}
TARGETS = {
    "csv": texts(".csv", "csv", whole.CSV, whole.TABLE, whole.TABLE.replace(",", ";"), weight=80),
    "csv-columns": texts(".csv", "csv", whole.CSV, columns={"text": "0", "label": "1"}, weight=20),
    "tsv": texts(".tsv", "csv", "text\tlabel\na b\tx\n文脉，相承\ty\nc\tx\nd\ty\n", weight=60),
    "jsonl": texts(
        ".jsonl",
        "jsonl",
        *(lines_of(*rows) for rows in (whole.ROWS, whole.PAIRS, whole.TAGGED)),
        weight=60,
    ),
    "json": texts(".json", "json", dumped(whole.ROWS), dumped(whole.TAGGED), weight=60),
    "json-inside": texts(
        ".json",
        "json",
        dumped({"n": 1, "data": whole.ROWS}),
        json.dumps({"rows": whole.TAGGED}, indent=1),
        weight=30,
    ),
    "squad": texts(".json", "json", dumped(whole.SQUAD), weight=60),
    "babi": texts(".txt", "text", whole.STORY, weight=30),
    "c3": texts(".json", "json", dumped(whole.CHOICES), weight=30),
    "choices": texts(".csv", "csv", whole.CHOSEN, weight=20),
    "numbers": texts(
        ".jsonl",
        "jsonl",
        lines_of(*whole.STEPS),
        lines_of(*whole.FRAMES),
        encodings=False,
        weight=60,
    ),
    "documents": Target(
        partial(
            text_seeds, ".txt", "text", "one\nanother 文脉，相承。\n\na second document\nof two\n"
        ),
        read_documents,
        20,
    ),
    "txt": texts(".txt", "text", "one line\nanother 文脉，相承\nthird\n", weight=60),
    "conll": texts(".conll", "text", whole.CONLL, weight=60),
    "conll-by-look": texts(".txt", "text", whole.CONLL, weight=20),
    "conllu": texts(".conllu", "text", whole.UNIVERSAL, weight=50),
    "aligned": Target(whole.aligned, read, 50),
    "labels": Target(whole.labels, read, 50),
    "idx": Target(whole.idx, read, 60),
    "pictures": Target(whole.pictures, read, 30),
    "sounds": Target(whole.sounds, read, 30),
    "parquet": Target(whole.parquet, read, 40),
    "vectors": Target(whole.vectors, read_vectors, 50),
    "matrices": Target(whole.matrices, read_vectors, 40),
    "arpa": Target(whole.arpa, import_arpa, 60),
    "hugging-face": Target(whole.hugging_face_folder, import_folder, 40),
    "filter": Target(
        partial(text_seeds, ".jsonl", "jsonl", lines_of(*whole.ROWS)), filter_lines, 30
    ),
    **{
        f"tokenizer-{kind}": Target(partial(whole.tokenizer, kind), read_tokenizer, 20)
        for kind in whole.TOKENIZERS
    },
    **{
        f"run-{name}": Target(partial(whole.run_folder, name), open_run, weight, signs=True)
        for name, weight in RUNS.items()
    },
    **{
        f"checkpoint-{name}": Target(
            partial(whole.checkpoint_folder, name), open_checkpoint, weight, signs=True
        )
        for name, weight in CHECKPOINTS.items()
    },
    "bombs": Target(whole.bombs, read, 1, least=100),
}


# One input


@dataclass
class Damage:
    seed: int
    file: str
    data: bytes | None  # None: the file is missing
    told: bool = False  # the format has checksums, which tell it
    sign: bool = False


def damage(target: str, number: int, seeds: list[Seed]) -> Damage:
    """The input of that number: which seed, which file of it, and what stands in that file."""
    chance = random.Random(f"{target} {number}")
    at = chance.randrange(len(seeds))
    seed = seeds[at]
    file = chance.choice(list(seed.damaged))
    data, shape, sign = (
        seed.files[file],
        seed.damaged[file],
        TARGETS[target].signs and chance.random() < 0.75,
    )
    if chance.random() < 0.005:
        return Damage(at, file, chance.choice((None, b"", b"\n", b"\0" * 9)), sign=sign)
    other = chance.choice(list(chance.choice(seeds).files.values())) if shape != "bytes" else b""
    inside = bool(seed.packed) and chance.random() < 0.6  # before it is packed
    if inside:
        data = UNPACK[seed.packed](data)
    knows = (
        shape in KNOWING
        and (inside or not seed.packed)
        and (shape not in ("json", "jsonl") or is_utf8(data))
    )
    if knows and (shape == "bytes" or chance.random() < 0.6):
        return Damage(at, file, PACK[seed.packed](KNOWING[shape](data, chance, other)), sign=sign)
    told = (bool(seed.packed) and not inside) or file in seed.sums
    data = disturbed(data, chance, b"" if told else other)
    told = (
        told and data[:4] == seed.files[file][:4]
    )  # without its first bytes nobody knows that it is packed
    return Damage(at, file, PACK[seed.packed](data) if inside else data, told, sign)


def is_utf8(data: bytes) -> bool:
    try:
        return not data.startswith(b"\xef\xbb\xbf") and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


class Work:
    """The seeds of a target, lying in folders; one file of one of them at a time is damaged."""

    def __init__(self, name: str, folder: Path):
        self.name, self.target, self.seeds = name, TARGETS[name], TARGETS[name].seeds()
        self.places, self.known = [], {}
        for number, seed in enumerate(self.seeds):
            place = folder / f"{name}-{number}"
            for file, data in seed.files.items():
                (place / file).parent.mkdir(parents=True, exist_ok=True)
                (place / file).write_bytes(data)
            self.places.append(place)
            if self.target.signs:
                for held in {(place / file).parent for file in seed.files}:
                    self.sign(held)
        self.manifests = {
            path: path.read_bytes()
            for place in self.places
            for path in place.rglob("manifest.json")
        }

    def sign(self, folder: Path) -> None:
        from wenmai.training import folders

        inside = (
            path for path in folder.iterdir() if path.is_file() and path.name != folders.MANIFEST
        )
        files = {path.name: folders.checksum(path) for path in inside}
        (folder / folders.MANIFEST).write_text(json.dumps({"files": files}))

    def warm(self) -> None:
        """Whole files are answered; what is loaded or compiled once is so from here on."""
        for at, (seed, place) in enumerate(zip(self.seeds, self.places)):
            if not seed.refused or not at:
                verdict, self.known[at] = judged(self.target, place, seed)
                assert verdict == ("refused" if seed.refused else "answered"), (
                    f"{place} is whole, and {verdict}"
                )

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
            manifest, chance = path.parent / "manifest.json", random.Random(number)
            manifest.write_bytes(
                chance.choice((disturbed, disturbed_json))(self.manifests[manifest], chance, b"")
            )
        elif (
            self.target.signs
        ):  # of two checkpoints only the last one is looked at, as long as it is whole
            made.told = not path.parent.name.isdecimal() or path.parent == max(
                path.parent.parent.glob("[0-9]*")
            )
        return made

    def put_back(self, made: Damage) -> None:
        path = self.places[made.seed] / made.file
        path.write_bytes(self.seeds[made.seed].files[made.file])
        manifest = path.parent / "manifest.json"
        if manifest in self.manifests:
            manifest.write_bytes(self.manifests[manifest])

    def attempt(self, number: int) -> str:
        made = self.put(number)
        seed = self.seeds[made.seed]
        try:
            verdict, found = judged(self.target, self.places[made.seed], seed)
        finally:
            self.put_back(made)
        if made.told and verdict == "answered" and not seed.refused:
            same, checkpoints = (
                found == self.known[made.seed],
                self.target.attempt is open_checkpoint,
            )
            if same if checkpoints and made.data != seed.files[made.file] else not same:
                raise Failure(
                    f"damage in {made.file}, which a checksum tells, was read as if it were whole"
                )
        return verdict


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


def judged(target: Target, place: Path, seed: Seed) -> tuple[str, str | None]:
    """("answered", what) or ("refused", the sentence); anything else raises."""
    from wenmai.errors import Mistake

    names = {Path(name).name for name in seed.files} | {place.name}
    try:
        found = target.attempt(place, seed)
        names = (
            set()
        )  # what is wrong with an input is another matter than what is wrong with a file
        return "answered", found() if callable(found) else found
    except Mistake as mistake:
        check_sentence(str(mistake), names)
        return "refused", str(mistake)


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
        self.numbers = memoryview(self.map).cast(
            "q"
        )  # target, number, memory when warm, most memory; then the figures

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


def work(folder: Path) -> None:
    """All inputs of the plan, in turn; what fails is written down, a line of JSON each."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    plan, stand, order = (
        json.loads((folder / "plan").read_text()),
        Stand(folder / "stand"),
        list(TARGETS),
    )
    os.dup2(os.open(folder / "stdout", os.O_RDWR | os.O_CREAT | os.O_TRUNC), 1)
    sys.stdout.reconfigure(write_through=True)
    ready = {name: Work(name, folder) for name, _, _ in plan}
    for doing in ready.values():
        doing.warm()
    limit_memory()
    stand.numbers[2] = stand.numbers[3] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, too_slow)
    with open(folder / "failures", "a") as failures:
        for name, start, stop in plan:
            stand.numbers[0] = at = order.index(name)
            for number in range(start, stop):
                stand.numbers[1] = number
                verdict, failure, spent = attempted(ready[name], number)
                if failure:
                    failures.write(
                        json.dumps({"target": name, "number": number, "failure": failure}) + "\n"
                    )
                    failures.flush()
                stand.add(at, verdict, number, spent)
            stand.numbers[3] = max(
                stand.numbers[3], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            )


def attempted(doing: Work, number: int) -> tuple[str, str, int]:
    """(verdict, failure, nanoseconds of processor time)"""
    verdict = failure = ""
    began = time.process_time_ns()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        verdict = doing.attempt(number)
        signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        signal.setitimer(signal.ITIMER_PROF, 0)
        failure = f"{type(error).__name__}: {str(error)[:500]} at {where(error)}"
    spent = time.process_time_ns() - began
    if spent > SECONDS * 1e9:
        failure = failure or f"TooSlow: {spent / 1e9:.2f} s of processor time"
    if os.fstat(1).st_size:
        failure = failure or "something was printed"
        os.ftruncate(1, 0)
    return "" if failure else verdict, failure, spent


def limit_memory() -> None:
    statm = Path("/proc/self/statm")
    if statm.exists():  # elsewhere than on Linux nobody tells
        most = int(statm.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def too_slow(number, frame) -> None:
    raise TooSlow(f"over {SECONDS} s of processor time")


def where(error: BaseException) -> str:
    """The last lines that are Wenmai's own, and the very last one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "wenmai" in Path(frame.filename).parts] or frames
    last = own[-2:] + ([frames[-1]] if frames[-1] is not own[-1] else [])
    return " ← ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(last)
    )


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
        cuts = {
            name: [count * part // workers for part in (worker, worker + 1)]
            for name, count in counts.items()
        }
        made.append([(name, start + a, start + b) for name, (a, b) in cuts.items() if a < b])
    return made


def fuzz(inputs: int, workers: int = 1, start: int = 0, names: list[str] | None = None) -> dict:
    """Figures of every target, failures (target, number, failure), seconds, bytes of memory that were taken."""
    began, memory, crew = time.perf_counter(), Path("/dev/shm"), []
    folder = Path(
        tempfile.mkdtemp(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    )
    try:
        for number, plan in enumerate(
            plans(shares(inputs, names or list(TARGETS)), start, workers)
        ):
            crew.append(Crew(plan, folder / f"{number}"))
        while not all([member.finished() for member in crew]):
            time.sleep(0.1)
        figures = {}
        for at, name in enumerate(TARGETS):
            parts = [member.stand.of(at) for member in crew]
            slowest = max(parts, key=lambda part: part["slowest"])
            figures[name] = {
                key: sum(part[key] for part in parts) for key in ("inputs", "answered", "refused")
            }
            figures[name] |= {
                "slowest": slowest["slowest"] / 1e9,
                "slowest_number": slowest["slowest_number"],
            }
        return {
            "targets": {name: found for name, found in figures.items() if found["inputs"]},
            "failures": [failure for member in crew for failure in member.failures()],
            "seconds": time.perf_counter() - began,
            "grown": max(member.stand.numbers[3] - member.stand.numbers[2] for member in crew)
            << 10,
            "most": max(member.stand.numbers[3] for member in crew) << 10,
        }
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
            self.process = subprocess.Popen(
                command, stderr=said, stdout=subprocess.DEVNULL, env=os.environ | FEW_ADDRESSES
            )
        self.seen, self.moved = None, time.monotonic()

    def finished(self) -> bool:
        status = self.process.poll()
        if status == 0:
            return True
        now = self.stand.numbers[0], self.stand.numbers[1]
        if status is None:
            if now != self.seen or now[1] < 0:
                self.seen, self.moved = now, time.monotonic()
            if time.monotonic() - self.moved < STUCK:
                return False
            self.stop()
            status = f"no answer within {STUCK:.0f} s"
        said = (self.folder / "stderr").read_text("utf-8", "replace")[-3000:]
        if now[1] < 0:
            raise RuntimeError(f"a worker ended ({status}) before its first input:\n{said}")
        name = list(TARGETS)[now[0]]
        told = [
            line.strip()
            for line in said.splitlines()
            if line.strip().startswith("File") or "panicked" in line
        ][:3]
        self.deaths.append(
            {
                "target": name,
                "number": now[1],
                "failure": f"the worker died ({status}): {'; '.join(told)}",
            }
        )
        self.stand.add(now[0], "", now[1], 0)
        at = [name for name, _, _ in self.plan].index(name)
        self.plan = [(name, now[1] + 1, self.plan[at][2]), *self.plan[at + 1 :]]
        self.begin()
        return False

    def failures(self) -> list[dict]:
        file = self.folder / "failures"
        return self.deaths + [json.loads(line) for line in file.read_text().splitlines()]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def table(found: dict) -> str:
    lines = [
        f"{'target':22}{'inputs':>10}{'answered':>10}{'refused':>10}{'slowest, s':>12}  number"
    ]
    for name, figures in found["targets"].items():
        lines.append(
            f"{name:22}{figures['inputs']:>10,}{figures['answered']:>10,}{figures['refused']:>10,}"
            f"{figures['slowest']:>12.3f}  {figures['slowest_number']}"
        )
    total = {
        key: sum(figures[key] for figures in found["targets"].values())
        for key in ("inputs", "answered", "refused")
    }
    lines.append(
        f"{'all':22}{total['inputs']:>10,}{total['answered']:>10,}{total['refused']:>10,}"
        f"{max(figures['slowest'] for figures in found['targets'].values()):>12.3f}"
    )
    lines.append(
        f"{found['seconds']:.0f} s; memory grew by {found['grown'] >> 20} MB to {found['most'] >> 20} MB at the most "
        f"(growth allowed: {MEMORY >> 20} MB); {len(found['failures'])} failures"
    )
    return "\n".join(lines)


def told(failures: list[dict]) -> str:
    """Failures of one kind together, with the commands that show the first of them again."""
    kinds: dict[str, list[dict]] = {}
    for failure in failures:
        what, _, place = failure["failure"].partition(" at ")
        kinds.setdefault(re.sub(r"\d+", "N", what[:60]) + place, []).append(failure)
    lines = []
    for same in sorted(kinds.values(), key=len, reverse=True):
        lines.append(f"{len(same)} × {same[0]['failure']}")
        lines += [
            f"      python tests/fuzzing.py {one['target']} {one['number']}" for one in same[:3]
        ]
    return "\n".join(lines)


def again(name: str, number: int) -> None:
    """One input, without limits."""
    faulthandler.enable()
    one = Work(name, Path(tempfile.mkdtemp(prefix="fuzz-")))
    made = one.put(number)
    place, seed = one.places[made.seed], one.seeds[made.seed]
    print(
        f"{place / made.file}: {'missing' if made.data is None else made.data[:300]}",
        file=sys.stderr,
    )
    began = time.process_time()
    print(*judged(one.target, place, seed), f"{time.process_time() - began:.3f} s", sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("number", nargs="?", type=int)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--start",
        type=int,
        default=0,
        help="the number of the first input: other inputs than before",
    )
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.targets:
        print("\n".join(TARGETS))
    elif given.worker:
        work(given.worker)
    elif given.number is not None:
        again(given.target, given.number)
    else:
        found = fuzz(
            given.inputs, given.workers, given.start, [given.target] if given.target else None
        )
        print(table(found), told(found["failures"]), sep="\n")
        sys.exit(bool(found["failures"]))


if __name__ == "__main__":
    main()
