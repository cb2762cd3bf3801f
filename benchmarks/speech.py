"""Speech: the qualities that are asked for, each a command that adds a line of JSON to --out; and speed.

DATA is the Free Spoken Digit Dataset (3,000 recordings of 10 digits by 6 speakers, 8 kHz; a folder or its .tar.xz), for `prompts`
the folder or .tar.xz of Debian's asterisk-core-sounds-en-wav with its core-sounds-en.txt (568 prompts, one voice, 8 kHz).

    python benchmarks/speech.py digits DATA --rung lstm         which digit? test: the official takes 0 to 4 of every speaker
    python benchmarks/speech.py speakers DATA --rung cnn --fold 0 [--plain]
                                                                one speaker of six held out; --plain: nothing changed in training
    python benchmarks/speech.py strings DATA --rung lstm        three to six digits of a speaker joined: WER; lstm, transformer …
                                                                by CTC, attention … by a decoder
    python benchmarks/speech.py patterns DATA --pattern dates --seed 0
                                                                telephone numbers or dates in noise, without an n-gram and with it
    python benchmarks/speech.py prompts DATA --rung lstm        sentences: CER, without an n-gram of characters and with it
    python benchmarks/speech.py speed DATA                      training and transcribing, in times of real time, against a plain
                                                                nn.LSTM + CTCLoss loop with batches by length, taking turns
    python benchmarks/speech.py report --out FILE               the lines of a file as a table
    … [--try "epochs=20 speed=0.1"]… [--set key=value]… [--seed 0] [--device cpu] [--out FILE] [--few N] [--choose] [--jobs N]

`--try` may be repeated: each is learned with, the best on valid is kept, and test is scored by that one alone, once. Valid are
training takes 5 to 9; where a speaker is held out, another speaker. Of digits, speakers and strings, what was valid is learned
from too once the settings are chosen. Strings are made by a seed of recordings of one part, each by one speaker, with 20 to 150
ms of silence between digits. With `--choose` test is not looked at; `--few N` takes every N-th recording or string, to try the
command. Commands may run side by side: lines are added at once."""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RATE = 8000
TAKES = {"test": range(5), "valid": range(5, 10), "train": range(10, 1000), "both": range(5, 1000)}
BEAM = 16  # as wide as it is beside a language model
CHANGED = {"speed": 0.15, "pitch": 0.08, "noise": 0.4, "masks": 2}
Rows = tuple[list[np.ndarray], list[str]]  # samples, what is said


# Data


def unpacked(source: str) -> Path:
    if not Path(source).is_file():
        return Path(source)
    folder = Path(tempfile.mkdtemp())
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    return folder


def samples_of(file: Path) -> np.ndarray:
    from wenmai.data.files.sounds import blocks_of

    return np.concatenate([block.mean(1) for block in blocks_of(str(file), file.name)])


def recordings(source: str, few: int = 1) -> dict[tuple[str, int, int], np.ndarray]:
    """(speaker, digit, take) → samples"""
    found = {}
    for file in sorted(unpacked(source).rglob("*.wav")):
        if len(parts := file.stem.split("_")) == 3 and int(parts[2]) % few == 0:
            digit, speaker, take = parts
            found[speaker, int(digit), int(take)] = samples_of(file)
    return found


def of_takes(data, part: str) -> Rows:
    chosen = [
        (samples, str(digit)) for (_, digit, take), samples in data.items() if take in TAKES[part]
    ]
    return [samples for samples, _ in chosen], [digit for _, digit in chosen]


def of_speakers(data, names: list[str]) -> Rows:
    chosen = [
        (samples, str(digit)) for (speaker, digit, _), samples in data.items() if speaker in names
    ]
    return [samples for samples, _ in chosen], [digit for _, digit in chosen]


def strings(data, rows: int, part: str, seed: int, numbers=None) -> Rows:
    """Recordings of one speaker, joined; `numbers`: a function that draws the digits, else three to six at random."""
    draw, sounds, texts = np.random.default_rng((seed, list(TAKES).index(part))), [], []
    takes: dict[tuple[str, int], list[np.ndarray]] = {}
    for (speaker, digit, take), samples in data.items():
        if take in TAKES[part]:
            takes.setdefault((speaker, digit), []).append(samples)
    names = sorted({speaker for speaker, _ in takes})
    for _ in range(rows):
        speaker = names[draw.integers(len(names))]
        said = draw.integers(0, 10, draw.integers(3, 7)) if numbers is None else numbers(draw)
        parts = []
        for digit in said:
            some = takes[speaker, int(digit)]
            parts += [
                some[draw.integers(len(some))],
                np.zeros(int(RATE * draw.uniform(0.02, 0.15)), np.float32),
            ]
        sounds.append(np.concatenate(parts[:-1]))
        texts.append(" ".join(WORDS[digit] for digit in said))
    return sounds, texts


def telephone(draw) -> list[int]:
    """0 5 5, one of four areas, and six digits of which the last three repeat the three before: 4,000 in all."""
    area, first = draw.integers(4), draw.integers(0, 10, 3)
    return [0, 5, 5, [1, 3, 7, 8][area], *first, *first]


def date(draw) -> list[int]:
    """Year, month and day, as in 1 9 8 7 0 3 2 1."""
    year, month, day = draw.integers(1950, 2030), draw.integers(1, 13), draw.integers(1, 29)
    return [int(digit) for digit in f"{year:04}{month:02}{day:02}"]


PATTERNS = {"telephone": telephone, "dates": date}


def noisy(samples: list[np.ndarray], decibels: float, seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [
        one
        + (
            np.sqrt(np.mean(one**2)) * 10 ** (-decibels / 20) * draw.standard_normal(len(one))
        ).astype(np.float32)
        for one in samples
    ]


def sentences(source: str, few: int = 1) -> Rows:
    """Prompts that have words, letters and apostrophes of them alone."""
    folder, samples, texts = unpacked(source), [], []
    listed = next(iter([*folder.rglob("core-sounds-en.txt*"), *folder.rglob("prompts.txt")]))
    files = {
        "/".join(file.parts[-2 if file.parent.name in LISTED else -1 :]): file
        for file in folder.rglob("*.wav")
    }
    lines = gzip.decompress(listed.read_bytes()) if listed.suffix == ".gz" else listed.read_bytes()
    for line in lines.decode().splitlines()[::few]:
        name, _, text = line.partition(":")
        said = " ".join(
            re.sub(
                "[^a-z' ]", " ", re.sub(r"\[[^]]*\]|\([^)]*\)", " ", text.lower()).replace("-", " ")
            ).split()
        )
        if (
            said
            and "[" not in text
            and f"{name}.wav" in files
            and len(one := samples_of(files[f"{name}.wav"])) < 20 * RATE
        ):
            samples.append(one)
            texts.append(said)
    return samples, texts


LISTED = ("dictate", "digits", "followme", "letters", "phonetic", "silence")  # folders of prompts


# Learning


def heard(rows: Rows):
    from wenmai import sounds

    return sounds([(one, RATE) for one in rows[0]])


def options(given: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in given.split())


def fitted(kind, arguments, train: Rows, valid: Rows | None, given: dict):
    """An estimator that has learned; without `valid` for as long as it is told, and nothing is held out."""
    how = (
        given
        | options(" ".join(arguments.set))
        | {"seed": arguments.seed, "device": arguments.device}
    )
    if valid is None:
        return kind(arguments.rung, validation=0.0, **how).fit(heard(train), train[1])
    return kind(arguments.rung, **how).fit(heard(train), train[1], valid=(heard(valid), valid[1]))


def chosen(kind, arguments, train: Rows, valid: Rows, given: dict | None = None, error: str = ""):
    """(the estimator that is best on valid, its settings, its score there, all of them); `error`: by what it is judged, if not by
    its score"""
    tried, best = [], None
    alone = ((words, None) for words in arguments.tries or [""])
    for words, model in learned_side_by_side(arguments) if arguments.jobs > 1 else alone:
        began = time.perf_counter()
        model = model or fitted(kind, arguments, train, valid, (given or {}) | options(words))
        score = (
            1 - model.evaluate(heard(valid), valid[1])[error]
            if error
            else model.score(heard(valid), valid[1])
        )
        tried.append(
            {
                "settings": words,
                "valid": round(score, 4),
                "epochs": model.progress_[-1].epoch,
                "seconds": round(time.perf_counter() - began, 1),
            }
        )
        print(json.dumps(tried[-1]), flush=True)
        if best is None or score > best[2]:
            best = model, words, score
    if arguments.only:
        best[0].save(arguments.only)
        sys.exit()
    return *best, tried


def learned_side_by_side(arguments):
    """(settings, estimator), each learned by a process of its own, so many at once."""
    from wenmai import load

    folder, waiting, running, rest = (
        Path(tempfile.mkdtemp()),
        list(enumerate(arguments.tries)),
        {},
        sys.argv[1:],
    )
    for name in ("--jobs", "--try"):
        while name in rest:
            del rest[rest.index(name) : rest.index(name) + 2]
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            number, words = waiting.pop(0)
            command = [
                sys.executable,
                __file__,
                *rest,
                "--try",
                words,
                "--only",
                str(folder / str(number)),
            ]
            running[number] = subprocess.Popen(command)
        for number in [number for number, process in running.items() if process.poll() is not None]:
            if running.pop(number).returncode == 0:
                yield arguments.tries[number], load(folder / str(number), device=arguments.device)
        time.sleep(0.2)


def looked(arguments, model, test: Rows, **how) -> dict:
    """Scores on test."""
    return {} if arguments.choose else dict(model.evaluate(heard(test), test[1], **how))


# What is asked


def digits(arguments) -> dict:
    from wenmai import Classifier

    data = recordings(arguments.data, arguments.few)
    train, valid, test = (of_takes(data, part) for part in ("train", "valid", "test"))
    _, settings, score, tried = chosen(Classifier, arguments, train, valid)
    model = arguments.choose or fitted(
        Classifier, arguments, of_takes(data, "both"), None, options(settings)
    )
    return {
        "settings": settings,
        "rows": [len(rows[1]) for rows in (train, valid, test)],
        "valid": score,
        "test": looked(arguments, model, test),
        "tried": tried,
    }


def speakers(arguments) -> dict:
    from wenmai import Classifier

    data, changes = (
        recordings(arguments.data, arguments.few),
        {"masks": 0} if arguments.plain else CHANGED,
    )
    names = sorted({speaker for speaker, _, _ in data})
    held, other = names[arguments.fold], names[(arguments.fold + 1) % len(names)]
    rest = [name for name in names if name not in (held, other)]
    _, settings, score, tried = chosen(
        Classifier, arguments, of_speakers(data, rest), of_speakers(data, [other]), changes
    )
    all_but_one = of_speakers(data, [*rest, other])
    model = arguments.choose or fitted(
        Classifier, arguments, all_but_one, None, changes | options(settings)
    )
    test = of_speakers(data, [held])
    return {
        "speaker": held,
        "changed": not arguments.plain,
        "settings": settings,
        "valid": score,
        "tried": tried,
        "test": looked(arguments, model, test),
    }


def joined_strings(arguments) -> dict:
    from wenmai import Transcriber

    data = recordings(arguments.data)
    train, valid, test = (
        strings(data, rows // arguments.few, part, 0)
        for part, rows in (("train", arguments.rows), ("valid", 300), ("test", 500))
    )
    model, settings, score, tried = chosen(Transcriber, arguments, train, valid)
    beams = {beam: model.evaluate(heard(valid), valid[1], beam=beam)["wer"] for beam in (1, 8)}
    beam = min(beams, key=lambda beam: (beams[beam], beam))
    if not arguments.choose:
        both = strings(data, arguments.rows // arguments.few, "both", 0)
        model = fitted(Transcriber, arguments, both, None, options(settings))
    if arguments.save:
        model.save(arguments.save, replace=True)
    return {
        "settings": settings,
        "hours": round(sum(map(len, train[0])) / RATE / 3600, 2),
        "valid": 1 - score,
        "beam": beam,
        "test": looked(arguments, model, test, beam=beam),
        "tried": tried,
    }


def patterns(arguments) -> dict:
    """The acoustic model learns from strings without a pattern; noise is raised on valid strings until its WER there is 10%, and
    the weight of the n-gram is chosen on them too. No text of valid or test is among those that the n-gram learns from, and
    without it the beam is as wide."""
    from wenmai import LanguageModel, Transcriber

    data, seed, pattern = recordings(arguments.data), arguments.seed, PATTERNS[arguments.pattern]
    draw = np.random.default_rng((seed, 7))
    train = strings(data, arguments.rows // arguments.few, "train", seed)
    model, settings, _, tried = chosen(
        Transcriber, arguments, train, strings(data, 200, "valid", seed)
    )
    valid, test = (
        strings(data, rows // min(10, arguments.few), part, 100 + seed, pattern)
        for part, rows in (("valid", 200), ("test", 300))
    )
    texts = [" ".join(WORDS[digit] for digit in pattern(draw)) for _ in range(3000)]
    texts = [text for text in texts if text not in {*valid[1], *test[1]}]
    lm = LanguageModel("ngram", order=7, tokenizer="spaces", seed=seed).fit(texts)
    louder = {}
    for decibels in np.arange(30.0, -10.0, -1.0):
        noise = (noisy(valid[0], decibels, seed), valid[1])
        louder[decibels] = model.evaluate(heard(noise), valid[1], beam=BEAM)["wer"]
        if louder[decibels] >= 0.1:
            break
    weights = model.tune(lm, heard(noise), valid[1])
    noise = (noisy(test[0], decibels, 1000 + seed), test[1])
    without, beside = (
        looked(arguments, model, noise, beam=BEAM, **how).get("wer", 1.0)
        for how in ({}, {"lm": lm})
    )
    return {
        "pattern": arguments.pattern,
        "texts of the n-gram": len(texts),
        "settings": settings,
        "decibels": decibels,
        "valid": louder[decibels],
        "chosen": weights,
        "tried": tried,
        "test": {"without": without, "with": beside, "lowered by": 1 - beside / max(1e-9, without)},
    }


def prompts(arguments) -> dict:
    """Held out by what is said: a fifth is test, a tenth of the rest valid, by a seed of their own."""
    from wenmai import LanguageModel, Transcriber

    samples, texts = sentences(arguments.data, arguments.few)
    order = np.random.default_rng(24).permutation(sorted(set(texts)))
    bounds = len(order) // 5, len(order) // 5 + max(1, len(order) * 8 // 100)
    parts = [
        set(some.tolist())
        for some in (order[bounds[1] :], order[bounds[0] : bounds[1]], order[: bounds[0]])
    ]
    rows = [[row for row, text in enumerate(texts) if text in some] for some in parts]
    train, valid, test = (
        ([samples[row] for row in some], [texts[row] for row in some]) for some in rows
    )
    model, settings, score, tried = chosen(Transcriber, arguments, train, valid, error="cer")
    lm = LanguageModel("ngram", order=6, tokenizer="characters").fit(train[1])
    weights = model.tune(lm, heard(valid), valid[1])
    return {
        "settings": settings,
        "rows": [len(rows[1]) for rows in (train, valid, test)],
        "valid": 1 - score,
        "chosen": weights,
        "minutes": round(sum(map(len, samples)) / RATE / 60, 1),
        "test": looked(arguments, model, test, beam=BEAM),
        "with n-gram": looked(arguments, model, test, beam=BEAM, lm=lm),
        "tried": tried,
    }


def speed(arguments) -> dict:
    from speech_speed import speed

    samples, texts = strings(
        recordings(arguments.data), arguments.rows // arguments.few, "train", 0
    )
    return speed(heard((samples, texts)), texts, arguments.turns)


def report(arguments) -> dict:
    for line in Path(arguments.out).read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        facts = [
            str(one[name])
            for name in ("speaker", "changed", "pattern", "decibels", "beam", "settings")
            if name in one
        ]
        test = {
            name: round(value, 4)
            for name, value in (one.get("test") or one.get("median") or {}).items()
        }
        print(
            one["what"],
            one["rung"],
            "seed",
            one["seed"],
            "valid",
            one.get("valid"),
            "test",
            test,
            *facts,
            sep="  ",
        )
    return {}


WHAT = {
    "digits": digits,
    "speakers": speakers,
    "strings": joined_strings,
    "patterns": patterns,
    "prompts": prompts,
    "speed": speed,
    "report": report,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("data", nargs="?", default="")
    parser.add_argument("--rung", default="lstm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fold", type=int, default=0, help="which speaker is held out")
    parser.add_argument(
        "--plain", action="store_true", help="speakers: without changes in training"
    )
    parser.add_argument("--pattern", choices=PATTERNS, default="telephone")
    parser.add_argument("--rows", type=int, default=3000, help="strings that are learned from")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--try", action="append", default=[], dest="tries", metavar='"NAME=VALUE …"'
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="so many settings are tried side by side"
    )
    parser.add_argument(
        "--only", help=argparse.SUPPRESS
    )  # a folder for a model, and nothing after it
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--few", type=int, default=1)
    parser.add_argument(
        "--choose", action="store_true", help="settings alone: test is not looked at"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--save", help="a run folder for the model")
    parser.add_argument("--out", help="a file that the result is added to, as a line")
    given = parser.parse_args()
    began = time.perf_counter()
    result = WHAT[given.what](given)
    if result:
        facts = {
            "what": given.what,
            "rung": given.rung,
            "seed": given.seed,
            "seconds": round(time.perf_counter() - began, 1),
        }
        result = facts | result
        print(json.dumps(result))
    if result and given.out:
        with open(given.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
