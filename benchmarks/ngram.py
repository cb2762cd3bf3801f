"""N-gram models: Wenmai against KenLM (lmplz, build_binary, its Python module) and nltk.lm, on the same texts and two cores.

estimation  Modified Kneser-Ney of order 3 and 5, from a text file to a model on disk. lmplz writes its ARPA file, with 80% of
            the memory to sort in, its default, and beside it with 1 GB, which is quicker on texts that need less. Wenmai fits
            and saves in a process that has started and compiled its kernels; beside it the whole of `wenmai train ngram FILE
            --valid 0`, Python's start and torch's import with it. Seconds on the clock, seconds of the processor (user and
            system, all threads), and the most memory a process held; of Wenmai also without what it held after its imports.
growth      The first 1, 4 and all million tokens of the large text, order 5: seconds a million tokens.
scoring     A file that the model has not seen, order 5 (the valid part of PTB; the last 2 million tokens of the large text, the
            model being of the rest): KenLM's program `query`, start and all, alone and two at once on halves of the file, and its
            module's `score` and `full_scores` a line at a time, from a probing file; Wenmai's `total` of the file, fast and small
            layout; on one core (--threads 1) and on two. How often a model backs off decides how long it takes, so perplexity is
            told. The sums are compared: both models are estimated from the same text.
word        One word in its context, from Python: KenLM's `BaseScore`, Wenmai's `advance`.
sizes       Of the files: KenLM's probing and trie, Wenmai's fast and small layout.
opening     `wenmai.load` of the largest model, its file in the system's cache; KenLM's module with a probing file beside it.
nltk        Fit and perplexity of the same text, order 3: 50,000 tokens by nltk.lm's Lidstone and by Wenmai with add-delta; 5,000
            tokens by nltk.lm's KneserNeyInterpolated, whose time grows with the square of the text, and by Wenmai's kneser-ney.

KenLM's programs are built from its source, https://github.com/kpu/kenlm (cmake, a C++ compiler, Boost), and named with --lmplz;
build_binary and query are looked for beside it. The large text is any file with a sentence a line, words between spaces: --text
FILE.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import turns
from tagging import folder
from turns import Measure, Spread

PARTS = ("estimation", "growth", "scoring", "word", "sizes", "opening", "nltk")
ORDERS = (5, 3)
SCORED = 2_000_000  # tokens of the large text, its last
FIRST = 200_000  # tokens to get warm with
NLTK_TOKENS = {"wenmai, add-delta": 50_000, "wenmai, kneser-ney": 5_000}
ESTIMATION = {
    "seconds": Measure("seconds", "less"),
    "processor": Measure("seconds of the processor", "less"),
    "peak": Measure("peak memory, MB", "less"),
}
SCORING = {
    "tokens": Measure("tokens a second", "more"),
    "processor": Measure("tokens a second of the processor", "more"),
}
WORD = {"microseconds": Measure("microseconds a word", "less")}
OPENING = {"milliseconds": Measure("milliseconds", "less")}
NLTK = {
    "seconds": Measure("fit and perplexity, seconds", "less"),
    "perplexity": Measure("perplexity", digits=4),
}
MB = 1 << 20
RARE = "<rare>"  # what stands for <unk> in a text


# Texts


def penn(data: Path, place: Path) -> Path | None:
    """The training part of the Penn Treebank, whose <unk> lmplz would not take; <UNK> its module would read as <unk> again."""
    packed = data / "ptb" / "ptb.train.txt.xz"
    if not packed.is_file():
        print(
            f"PTB is left out: there is no {packed}; give --data FOLDER or set WENMAI_DATA.",
            file=sys.stderr,
        )
        return None
    file = place / "ptb.txt"
    with lzma.open(packed, "rt", encoding="utf-8") as text:
        file.write_text(text.read().replace("<unk>", RARE), encoding="utf-8")
    return file


def held_out(data: Path, place: Path) -> Path:
    file = place / "ptb-valid.txt"
    file.write_text(
        (data / "ptb" / "ptb.valid.txt").read_text(encoding="utf-8").replace("<unk>", RARE),
        encoding="utf-8",
    )
    return file


def piece(text: Path, file: Path, tokens: int, skip: int = 0) -> Path:
    """So many tokens of a text, after so many bytes."""
    with open(text, "rb") as lines, open(file, "wb") as out:
        lines.seek(skip)
        if skip:
            lines.readline()
        for line in lines:
            out.write(line)
            tokens -= len(line.split()) + 1
            if tokens <= 0:
                break
    return file


def parted(text: Path, place: Path) -> tuple[Path, Path]:
    """(all but the last tokens of a text, these; of a small one, both halves)"""
    whole = tokens_in(text)
    scored = min(SCORED, whole // 2)
    known = piece(text, place / f"{text.stem}-known.txt", whole - scored)
    return known, piece(text, place / f"{text.stem}-scored.txt", scored, known.stat().st_size - 1)


def tokens_in(file: Path) -> int:
    """Its words and its line ends."""
    with open(file, "rb") as lines:
        return sum(len(line.split()) + 1 for line in lines)


# Commands


def measured(
    command: list[str], source: Path | None = None, target: Path | None = None
) -> dict[str, float]:
    began = time.perf_counter()
    with (
        open(source or os.devnull, "rb") as given,
        open(target or os.devnull, "wb") as out,
        tempfile.TemporaryFile() as said,
    ):
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            said.seek(0)
            raise SystemExit(
                f"{' '.join(command)} ended with {process.returncode}:\n{said.read().decode()[-1000:]}"
            )
    peak = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {"seconds": seconds, "processor": used.ru_utime + used.ru_stime, "peak": peak}


def lmplz(
    program: str, file: Path, order: int, place: Path, room: str
) -> tuple[dict[str, float], Path]:
    """(what it took, its ARPA file)"""
    arpa = place / f"{file.stem}.{order}.arpa"
    command = [
        program,
        "-o",
        str(order),
        "-S",
        room,
        "-T",
        str(place / "lmplz"),
        "--discount_fallback",
    ]
    return measured(command, file, arpa), arpa


def binary(program: str, arpa: Path, kind: str) -> Path:
    """KenLM's own file, made once."""
    file = arpa.with_suffix(f".{kind}")
    if not file.exists():
        measured([str(Path(program).with_name("build_binary")), kind, str(arpa), str(file)])
    return file


def command_line(file: Path, order: int, place: Path) -> dict[str, float]:
    return measured(
        [
            sys.executable,
            "-m",
            "wenmai",
            "train",
            "ngram",
            str(file),
            "--valid",
            "0",
            "--set",
            f"order={order}",
            "--out",
            str(place / "command"),
        ]
    )


# Wenmai, in processes of its own


def corpus(file: Path):
    from wenmai.data.files.corpus import Corpus
    from wenmai.data.files.opening import text_file

    return Corpus.file(text_file(file, str(file)))


def fitted(file: Path, order: int, layout: str = "fast"):
    from wenmai import LanguageModel

    return LanguageModel("ngram", order=order, layout=layout, validation=0.0).fit(corpus(file))


def memory(word: str) -> float:
    """MB, of this process: VmRSS now, VmHWM at its peak."""
    try:
        with open("/proc/self/status", encoding="utf-8") as about:
            return int(next(line for line in about if line.startswith(word)).split()[1]) / 1024
    except FileNotFoundError:
        return float("nan")


def estimating(options):
    """Ready: started, kernels compiled, and warm from a small part of the text."""
    began = time.perf_counter()
    import wenmai.estimators  # noqa: F401

    imported, held = time.perf_counter() - began, memory("VmRSS")
    place = Path(options.place)
    began = time.perf_counter()
    fitted(piece(options.file, place / "first.txt", FIRST), options.order).save(place / "warm")
    about = {"imports": imported, "held": held, "warming": time.perf_counter() - began}

    def turn() -> dict[str, float]:
        gc.collect()
        began, used = time.perf_counter(), time.process_time()
        model = fitted(options.file, options.order)
        fitting = time.perf_counter() - began
        model.save(place / "warm")
        return {
            "seconds": time.perf_counter() - began,
            "processor": time.process_time() - used,
            "peak": memory("VmHWM"),
            "fitting": fitting,
        }

    return turn, about


def scoring_wenmai(options, layout: str):
    import wenmai

    model = wenmai.load(options.place / f"{options.model}-{layout}")
    total = model.total(corpus(options.file))

    def turn() -> dict[str, float]:
        began, used = time.perf_counter(), time.process_time()
        tokens = model.total(corpus(options.file)).tokens
        return {
            "tokens": tokens / (time.perf_counter() - began),
            "processor": tokens / (time.process_time() - used),
        }

    return turn, {"sum": total.log_prob / 2.302585092994046, "tokens": total.tokens}


def scoring_kenlm(options, whole: bool):
    import kenlm

    model = kenlm.Model(str(options.probing))

    def score() -> tuple[float, int]:
        found, tokens = 0.0, 0
        with open(options.file, encoding="utf-8") as lines:
            for line in lines:
                if whole:
                    for log_prob, _, _ in model.full_scores(line):
                        found += log_prob
                        tokens += 1
                else:
                    found += model.score(line)
        return found, tokens

    found, tokens = score()
    tokens = tokens or tokens_in(options.file)

    def turn() -> dict[str, float]:
        began, used = time.perf_counter(), time.process_time()
        score()
        return {
            "tokens": tokens / (time.perf_counter() - began),
            "processor": tokens / (time.process_time() - used),
        }

    return turn, {"sum": found, "tokens": tokens}


def querying_kenlm(options, processes: int):
    """The program, `processes` of them at once, each with a part of the file."""
    lines, parts = options.file.read_text(encoding="utf-8").splitlines(keepends=True), []
    for number in range(processes):
        parts.append(options.place / f"query-{processes}-{number}.txt")
        parts[-1].write_text(
            "".join(
                lines[number * len(lines) // processes : (number + 1) * len(lines) // processes]
            ),
            "utf-8",
        )
    query = Path(options.lmplz).with_name("query")
    command, tokens = (
        [str(query), "-v", "sentence", "-l", "lazy", str(options.probing)],
        tokens_in(options.file),
    )

    def score() -> None:
        with ExitStack() as stack:
            given = [stack.enter_context(open(part, "rb")) for part in parts]
            # into files: a pipe that is full would make one wait for the other
            out = [stack.enter_context(open(part.with_suffix(".out"), "wb")) for part in parts]
            nowhere = subprocess.DEVNULL
            running = [
                subprocess.Popen(command, stdin=part, stdout=to, stderr=nowhere)
                for part, to in zip(given, out)
            ]
            for process in running:
                process.wait()

    score()
    lines = [
        line for part in parts for line in part.with_suffix(".out").read_text("utf-8").splitlines()
    ]
    found = sum(float(line.split()[1]) for line in lines if line.startswith("Total:"))

    def turn() -> dict[str, float]:
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        score()
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        return {"tokens": tokens / seconds, "processor": tokens / processor}

    return turn, {"sum": found, "tokens": tokens}


def words_of(options) -> list[list[str]]:
    """Lines of some 100,000 words."""
    rows, count = [], 0
    with open(options.file, encoding="utf-8") as lines:
        for line in lines:
            rows.append(line.split())
            count += len(rows[-1])
            if count > 100_000:
                break
    return rows


def word_wenmai(options, layout: str):
    import wenmai

    model, rows = wenmai.load(options.place / f"{options.model}-{layout}"), words_of(options)
    count = sum(map(len, rows))

    def turn() -> dict[str, float]:
        began, advance = time.perf_counter(), model.advance
        for row in rows:
            state = model.start()
            for word in row:
                _, state = advance(state, word)
        return {"microseconds": 1e6 * (time.perf_counter() - began) / count}

    turn()
    return turn, {}


def word_kenlm(options):
    import kenlm

    model, rows = kenlm.Model(str(options.probing)), words_of(options)
    count = sum(map(len, rows))

    def turn() -> dict[str, float]:
        began, score = time.perf_counter(), model.BaseScore
        for row in rows:
            state, after = kenlm.State(), kenlm.State()
            model.BeginSentenceWrite(state)
            for word in row:
                score(state, word, after)
                state, after = after, state
        return {"microseconds": 1e6 * (time.perf_counter() - began) / count}

    return turn, {}


def opening(options, layout: str | None):
    if layout is None:
        import kenlm

        def load():
            return kenlm.Model(str(options.probing))
    else:
        import wenmai

        def load():
            return wenmai.load(options.place / f"{options.model}-{layout}")

    load()

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        model = load()
        seconds = time.perf_counter() - began
        del model
        return {"milliseconds": 1000 * seconds}

    return turn, {}


def nltk_wenmai(options, **smoothing):
    from wenmai import LanguageModel

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        model = LanguageModel("ngram", order=3, validation=0.0, **smoothing).fit(
            corpus(options.file)
        )
        found = model.perplexity(corpus(options.file))
        return {"seconds": time.perf_counter() - began, "perplexity": found}

    turn()
    return turn, {}


def nltk_itself(options, smoothed: bool):
    from nltk.lm import KneserNeyInterpolated, Lidstone
    from nltk.lm.preprocessing import pad_both_ends, padded_everygram_pipeline
    from nltk.util import ngrams

    sentences = [line.split() for line in options.file.read_text(encoding="utf-8").splitlines()]

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        grams, words = padded_everygram_pipeline(3, sentences)
        model = KneserNeyInterpolated(3) if smoothed else Lidstone(0.1, 3)
        model.fit(grams, words)
        found = model.perplexity(
            [gram for row in sentences for gram in ngrams(pad_both_ends(row, 3), 3)]
        )
        return {"seconds": time.perf_counter() - began, "perplexity": found}

    return turn, {}


CONTESTANTS = {
    "wenmai": estimating,
    "wenmai, fast, scoring": lambda options: scoring_wenmai(options, "fast"),
    "wenmai, small, scoring": lambda options: scoring_wenmai(options, "small"),
    "kenlm, score": lambda options: scoring_kenlm(options, False),
    "kenlm, full_scores": lambda options: scoring_kenlm(options, True),
    "kenlm, query": lambda options: querying_kenlm(options, 1),
    "kenlm, query, two at once": lambda options: querying_kenlm(options, 2),
    "wenmai, fast, advance": lambda options: word_wenmai(options, "fast"),
    "wenmai, small, advance": lambda options: word_wenmai(options, "small"),
    "kenlm, BaseScore": word_kenlm,
    "wenmai, fast, load": lambda options: opening(options, "fast"),
    "wenmai, small, load": lambda options: opening(options, "small"),
    "kenlm, probing": lambda options: opening(options, None),
    "wenmai, add-delta": lambda options: nltk_wenmai(options, smoothing="add-delta", delta=0.1),
    "wenmai, kneser-ney": lambda options: nltk_wenmai(options, smoothing="kneser-ney"),
    "nltk, Lidstone": lambda options: nltk_itself(options, False),
    "nltk, KneserNeyInterpolated": lambda options: nltk_itself(options, True),
}


# The parts


def race_estimation(options, file: Path, order: int, place: Path) -> dict:
    given = ["--file", str(file), "--order", str(order), "--place", str(place)]
    with turns.Worker(__file__, "wenmai", given, options.threads) as warm:
        contestants = {
            "wenmai": warm,
            "wenmai train, cold": lambda: command_line(file, order, place),
        }
        if options.lmplz:
            (place / "lmplz").mkdir(exist_ok=True)
            contestants |= {
                "lmplz": lambda: lmplz(options.lmplz, file, order, place, "80%")[0],
                "lmplz, -S 1G": lambda: lmplz(options.lmplz, file, order, place, "1G")[0],
            }
        results, about = turns.take_turns(contestants, options.turns), warm.about
    measures = ESTIMATION
    print(f"\n{file.stem}, {tokens_in(file):,} tokens, order {order}; {options.turns} turns\n")
    print(turns.table(results, measures, "wenmai"))
    for peer in (name for name in contestants if name.startswith("lmplz")):
        times = {
            key: turns.ratio(results, "wenmai train, cold", peer, key, "less").text()
            for key in ("seconds", "processor")
        }
        print(
            f"\nthe whole command against {peer}: {times['seconds']} times as fast, {times['processor']} by the processor"
        )
    fitting = Spread.of([turn["fitting"] for turn in results["wenmai"]]).text()
    print(
        f"\nwenmai: {fitting} s of it fit, the rest save; before the turns {about['imports']:.1f} s of imports, "
        f"{about['warming']:.1f} s to get warm; {about['held']:.0f} MB held after the imports, so its peak is "
        f"{results['wenmai'][0]['peak'] - about['held']:.0f} MB above them in the first turn"
    )
    return turns.record(results, measures, "wenmai") | {"about": about}


def race_growth(options, text: Path, place: Path) -> dict:
    found, whole = {}, tokens_in(text)
    print(
        "\n| tokens, order 5 | wenmai: seconds | seconds a million tokens |\n| ---: | ---: | ---: |"
    )
    for tokens in [*(size for size in (1_000_000, 4_000_000) if size < whole), whole]:
        file = text if tokens == whole else piece(text, place / f"{tokens}.txt", tokens)
        given = ["--file", str(file), "--order", "5", "--place", str(place)]
        with turns.Worker(__file__, "wenmai", given, options.threads) as warm:
            results = turns.take_turns({"wenmai": warm}, options.turns)
        seconds, used = (
            turns.spread(results, "wenmai", "seconds"),
            turns.spread(results, "wenmai", "processor"),
        )
        million = tokens / 1e6
        print(
            f"| {tokens:,} | {seconds.text()}, processor {used.text()} | {seconds.median / million:.3f}, "
            f"processor {used.median / million:.3f} |"
        )
        found[tokens] = results
    return found


def models(file: Path, order: int, place: Path) -> dict[str, Path]:
    """Both layouts on disk, made once."""
    found = {}
    for layout in ("fast", "small"):
        found[layout] = place / f"{file.stem}.{order}-{layout}"
        if not found[layout].exists():
            fitted(file, order, layout).save(found[layout])
    return found


def make(options, file: Path, place: Path) -> None:
    models(file, 5, place)
    if options.lmplz:
        peers(options, file, 5, place)


def race_together(
    options,
    title: str,
    names: list[str],
    measures: dict[str, Measure],
    file: Path,
    place: Path,
    model: str,
) -> tuple[dict, dict]:
    given = [
        "--file",
        str(file),
        "--place",
        str(place),
        "--model",
        model,
        "--probing",
        str(place / f"{model}.probing"),
    ]
    given += ["--lmplz", str(options.lmplz)] if options.lmplz else []
    names = [name for name in names if wanted(name, options)]
    results, about = turns.race(__file__, names, given, options.turns, options.threads)
    print(f"\n{title}; {options.turns} turns\n")
    print(turns.table(results, measures, names[0]))
    return turns.record(results, measures, names[0]) | {"about": about}, about


def wanted(name: str, options) -> bool:
    if name.startswith("kenlm, query"):
        return bool(options.lmplz) and (options.threads > 1 or name == "kenlm, query")
    if name.startswith("kenlm"):
        return bool(options.lmplz and find_spec("kenlm"))
    return not name.startswith("nltk") or find_spec("nltk") is not None


def race_scoring(options, file: Path, scored: Path, place: Path) -> dict:
    names = [
        "wenmai, fast, scoring",
        "wenmai, small, scoring",
        "kenlm, query",
        "kenlm, query, two at once",
        "kenlm, score",
        "kenlm, full_scores",
    ]
    title = f"scoring {tokens_in(scored):,} tokens, the model of {file.stem}, order 5"
    found, about = race_together(options, title, names, SCORING, scored, place, f"{file.stem}.5")
    sums = {name: said["sum"] for name, said in about.items()}
    apart = max(abs(value / sums[names[0]] - 1) for value in sums.values())
    surprise = 10 ** (-sums[names[0]] / about[names[0]]["tokens"])
    told = ", ".join(f"{name} {value:.2f}" for name, value in sums.items())
    print(f"\nperplexity {surprise:.4g}; Σ log₁₀ p: {told}; at most {apart:.1e} apart")
    return found


def kept(path: Path) -> int:
    return (
        sum(file.stat().st_size for file in path.iterdir())
        if path.is_dir()
        else path.stat().st_size
    )


def told_sizes(options, files: list[Path], place: Path) -> dict:
    found = {}
    print(
        "\n| text | order | fast, MB | small, MB | KenLM probing, MB | KenLM trie, MB | small / trie |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for file in files:
        for order in ORDERS:
            made = {kind: kept(path) for kind, path in models(file, order, place).items()}
            if options.lmplz:
                made |= {
                    kind: kept(path) for kind, path in peers(options, file, order, place).items()
                }
            cells = [
                f"{made[kind] / MB:.1f}" if kind in made else ""
                for kind in ("fast", "small", "probing", "trie")
            ]
            times = f"{made['small'] / made['trie']:.3f}" if "trie" in made else ""
            print(f"| {file.stem} | {order} | {' | '.join(cells)} | {times} |")
            found[f"{file.stem}, order {order}"] = made
    return found


def peers(options, file: Path, order: int, place: Path) -> dict[str, Path]:
    """KenLM's probing and trie files of the text, made once."""
    (place / "lmplz").mkdir(exist_ok=True)
    arpa = place / f"{file.stem}.{order}.arpa"
    if not arpa.exists():
        lmplz(options.lmplz, file, order, place, "1G")
    return {kind: binary(options.lmplz, arpa, kind) for kind in ("probing", "trie")}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--lmplz",
        default=os.environ.get("WENMAI_LMPLZ") or shutil.which("lmplz"),
        metavar="PROGRAM",
        help="KenLM's estimator; else WENMAI_LMPLZ, else the one on the path, else none",
    )
    parser.add_argument("--text", type=Path, metavar="FILE", help="a large text, a sentence a line")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--orders", nargs="+", type=int, default=list(ORDERS), help="of estimation")
    parser.add_argument("--only", choices=("ptb", "text"), help="of the two texts")
    parser.add_argument(
        "--work",
        type=Path,
        metavar="FOLDER",
        help="where models are kept; else a folder that goes in the end",
    )
    for hidden in ("--file", "--place", "--probing"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--order", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        return turns.serve(lambda: CONTESTANTS[options.contestant](options))
    if not options.lmplz:
        print(
            "KenLM is left out: give --lmplz PROGRAM, built as this file's beginning says.",
            file=sys.stderr,
        )
    with tempfile.TemporaryDirectory() as gone:
        place = options.work or Path(gone)
        place.mkdir(parents=True, exist_ok=True)
        turns.finish(every_part(options, folder(options.data), place), options.json)


def every_part(options, data: Path, place: Path) -> dict:
    small = None if options.only == "text" else penn(data, place)
    files = [file for file in (small, None if options.only == "ptb" else options.text) if file]
    if not files:
        raise SystemExit(
            "there is no text to estimate a model from: give --text FILE, or --data FOLDER with ptb in it."
        )
    found: dict = {}
    if "estimation" in options.parts:
        for file in files:
            for order in options.orders:
                found[f"estimation, {file.stem}, order {order}"] = race_estimation(
                    options, file, order, place
                )
    if "growth" in options.parts and options.text in files:
        found["growth"] = race_growth(options, options.text, place)
    if "scoring" in options.parts:
        for file in files:
            known, scored = (small, held_out(data, place)) if file == small else parted(file, place)
            make(options, known, place)
            found[f"scoring, {file.stem}"] = race_scoring(options, known, scored, place)
    largest = files[-1]
    if {"word", "opening"} & set(options.parts):
        make(options, largest, place)
    if "word" in options.parts:
        names = ["wenmai, fast, advance", "wenmai, small, advance", "kenlm, BaseScore"]
        title = f"one word in its context, the model of {largest.stem}, order 5"
        found["word"], _ = race_together(
            options, title, names, WORD, largest, place, f"{largest.stem}.5"
        )
    if "sizes" in options.parts:
        found["sizes"] = told_sizes(options, files, place)
    if "opening" in options.parts:
        names = ["wenmai, fast, load", "wenmai, small, load", "kenlm, probing"]
        title = f"opening the model of {largest.stem}, order 5, of {kept(models(largest, 5, place)['fast']) / MB:.0f} MB"
        found["opening"], _ = race_together(
            options, title, names, OPENING, largest, place, f"{largest.stem}.5"
        )
    if "nltk" in options.parts:
        for name, peer in (
            ("wenmai, add-delta", "nltk, Lidstone"),
            ("wenmai, kneser-ney", "nltk, KneserNeyInterpolated"),
        ):
            some = piece(files[0], place / "some.txt", NLTK_TOKENS[name])
            title = (
                f"nltk.lm: {tokens_in(some):,} tokens, order 3, fit and perplexity of the same text"
            )
            found[peer], _ = race_together(options, title, [name, peer], NLTK, some, place, "")
    return json.loads(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
