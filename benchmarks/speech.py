"""Speech, on the Free Spoken Digit Dataset (3,000 recordings of 10 digits by 6 speakers, 8 kHz; a folder or its .tar.xz):

    python benchmarks/speech.py digits RECORDINGS --rung lstm      which digit? test: the official takes 0 to 4 of every speaker
    python benchmarks/speech.py speakers RECORDINGS --rung cnn     one speaker held out at a time, six folds, without and with
                                                                   changes of speed, pitch and noise in training
    python benchmarks/speech.py strings RECORDINGS --rung lstm     three to six digits of a speaker joined: WER; lstm, transformer
    …
                                                                   by CTC, attention … by a decoder (--set joint_ctc=0.3)
    python benchmarks/speech.py patterns RECORDINGS                telephone numbers in noise, with an n-gram and without, 5 seeds
    python benchmarks/speech.py speed RECORDINGS                   training and transcribing, in times of real time, against a
    plain
                                                                   nn.LSTM + CTCLoss loop with batches by length, taking turns

Settings (--set, epochs, weights of the language model) are chosen on held-out training takes; test is scored once, at the end.
Strings are made by a seed from recordings of training takes alone, or of test takes alone, each of one speaker, with 20 to 150 ms
of silence between digits."""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RATE, TEST_TAKES = 8000, 5
CHANGED = {"speed": 0.1, "pitch": 0.05, "noise": 0.3, "masks": 2}


def recordings(source: str) -> dict[tuple[str, int, int], np.ndarray]:
    """(speaker, digit, take) → samples"""
    import soundfile

    folder = Path(source)
    if folder.is_file():
        folder = Path(tempfile.mkdtemp())
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
    found = {}
    for file in sorted(folder.rglob("*.wav")):
        if len(parts := file.stem.split("_")) == 3:
            digit, speaker, take = parts
            found[speaker, int(digit), int(take)] = soundfile.read(file, dtype="float32")[0]
    return found


def clips(samples) -> list[tuple[np.ndarray, int]]:
    return [(one, RATE) for one in samples]


def options(given: list[str]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in given)


def fitted(kind, rung: str, train, given: dict, seed: int):
    from wenmai import sounds

    began = time.perf_counter()
    model = kind(rung, seed=seed, progress=True, **given).fit(sounds(clips(train[0])), train[1])
    return model, time.perf_counter() - began


def digits(arguments) -> dict:
    from wenmai import Classifier, sounds

    data = recordings(arguments.data)
    parts = {False: ([], []), True: ([], [])}
    for (_, digit, take), samples in data.items():
        parts[take < TEST_TAKES][0].append(samples)
        parts[take < TEST_TAKES][1].append(str(digit))
    model, seconds = fitted(Classifier, arguments.rung, parts[False], options(arguments.set), arguments.seed)
    valid = max(p.score for p in model.progress_ if p.score is not None) if getattr(model, "progress_", None) else None
    test = model.evaluate(sounds(clips(parts[True][0])), parts[True][1])
    return {"rung": arguments.rung, "seed": arguments.seed, "train rows": len(parts[False][1]), "test rows": len(parts[True][1]),
            "valid accuracy": valid, "test": dict(test), "seconds": round(seconds, 1)}  # fmt: skip


def speakers(arguments) -> dict:
    from wenmai import Classifier, sounds

    data, given = recordings(arguments.data), options(arguments.set)
    names, folds = sorted({speaker for speaker, _, _ in data}), {}
    for changed in (False, True):
        for name in names:
            parts = {True: ([], []), False: ([], [])}
            for (speaker, digit, _), samples in data.items():
                parts[speaker == name][0].append(samples)
                parts[speaker == name][1].append(str(digit))
            model, _ = fitted(Classifier, arguments.rung, parts[False], given | (CHANGED if changed else {"masks": 0}),
                              arguments.seed)  # fmt: skip
            score = model.score(sounds(clips(parts[True][0])), parts[True][1])
            folds[f"{name}, {'changed' if changed else 'as recorded'}"] = round(score, 4)
            print(json.dumps(folds), flush=True)
    mean = {how: float(np.mean([score for name, score in folds.items() if name.endswith(how)]))
            for how in ("as recorded", "changed")}  # fmt: skip
    return {"rung": arguments.rung, "seed": arguments.seed, "folds": folds, "mean": mean}


def strings(data, rows: int, test: bool, seed: int, numbers=None) -> tuple[list[np.ndarray], list[str]]:
    """Recordings of one speaker, joined; `numbers`: a function that draws the digits, else three to six at random."""
    draw, sounds, texts = np.random.default_rng((seed, test)), [], []
    takes: dict[tuple[str, int], list[np.ndarray]] = {}
    for (speaker, digit, take), samples in data.items():
        if (take < TEST_TAKES) == test:
            takes.setdefault((speaker, digit), []).append(samples)
    names = sorted({speaker for speaker, _ in takes})
    for _ in range(rows):
        speaker = names[draw.integers(len(names))]
        said = draw.integers(0, 10, draw.integers(3, 7)) if numbers is None else numbers(draw)
        parts = []
        for digit in said:
            some = takes[speaker, int(digit)]
            parts += [some[draw.integers(len(some))], np.zeros(int(RATE * draw.uniform(0.02, 0.15)), np.float32)]
        sounds.append(np.concatenate(parts[:-1]))
        texts.append(" ".join(WORDS[digit] for digit in said))
    return sounds, texts


def joined_strings(arguments) -> dict:
    from wenmai import Transcriber, sounds

    data = recordings(arguments.data)
    train, test = strings(data, arguments.rows, False, 0), strings(data, 500, True, 0)
    model, seconds = fitted(Transcriber, arguments.rung, train, options(arguments.set), arguments.seed)
    heard = sounds(clips(test[0]))
    began = time.perf_counter()
    scores = {"greedy": dict(model.evaluate(heard, test[1]))}
    spoken = float(heard.seconds.sum())
    speed = spoken / (time.perf_counter() - began)
    scores["beam of 8"] = dict(model.evaluate(heard, test[1], beam=8))
    if arguments.save:
        model.save(arguments.save, replace=True)
    return {"rung": arguments.rung, "seed": arguments.seed, "rows": arguments.rows, "test": scores, "seconds": round(seconds, 1),
            "hours of sound": round(sum(map(len, train[0])) / RATE / 3600, 2), "times real time": round(speed, 1)}  # fmt: skip


def telephone(draw) -> list[int]:
    """0 5 5 5, one of four areas, and four digits of which the last two repeat the two before."""
    area, first = draw.integers(4), draw.integers(0, 10, 2)
    return [0, 5, 5, [1, 3, 7, 8][area], *first, *first]


def noisy(samples: list[np.ndarray], decibels: float, seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [one + (np.sqrt(np.mean(one**2)) * 10 ** (-decibels / 20) * draw.standard_normal(len(one))).astype(np.float32)
            for one in samples]  # fmt: skip


def patterns(arguments) -> dict:
    """The acoustic model learns from strings without a pattern; noise is raised on valid strings until its WER there lies between
    5 and 15%, and the weight of the n-gram is chosen on them too."""
    from wenmai import LanguageModel, Transcriber, sounds

    data, results = recordings(arguments.data), []
    draw = np.random.default_rng(7)
    texts = [" ".join(WORDS[digit] for digit in telephone(draw)) for _ in range(3000)]
    for seed in range(arguments.seeds):
        lm = LanguageModel("ngram", order=7, tokenizer="spaces", seed=seed).fit(texts)
        model, _ = fitted(Transcriber, arguments.rung, strings(data, arguments.rows, False, seed), options(arguments.set), seed)
        valid, test = strings(data, 150, False, 100 + seed, telephone), strings(data, 300, True, 100 + seed, telephone)
        for decibels in range(30, -11, -2):
            heard = sounds(clips(noisy(valid[0], decibels, seed)))
            without = model.evaluate(heard, valid[1])["wer"]
            if without >= 0.05:
                break
        chosen, heard = model.tune(lm, heard, valid[1]), sounds(clips(noisy(test[0], decibels, 1000 + seed)))
        scores = {"seed": seed, "decibels": decibels, "chosen": chosen, "without": model.evaluate(heard, test[1])["wer"],
                  "with": model.evaluate(heard, test[1], lm=lm)["wer"]}  # fmt: skip
        results.append(scores)
        print(json.dumps(scores), flush=True)
    return {"rung": arguments.rung, "runs": results,
            "lowered by": float(np.mean([1 - one["with"] / max(1e-9, one["without"]) for one in results]))}  # fmt: skip


def plain_loop(frames: list[np.ndarray], targets: list[list[int]], classes: int, updates: int) -> float:
    """Seconds of so many updates of nn.LSTM, two layers both ways, and CTCLoss, in batches of like length."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, says = nn.Linear(frames[0].shape[1], 96), nn.Linear(256, classes)
    reads = nn.LSTM(96, 128, 2, batch_first=True, bidirectional=True, dropout=0.1)
    weights = [*first.parameters(), *reads.parameters(), *says.parameters()]
    optimizer, loss = torch.optim.AdamW(weights, 3e-3), nn.CTCLoss(classes - 1, zero_infinity=True)
    order = np.argsort([len(one) for one in frames])
    batches = [order[start : start + 16] for start in range(0, len(order), 16)]
    began = time.perf_counter()
    for number in range(updates):
        rows = batches[number % len(batches)]
        x = nn.utils.rnn.pad_sequence([torch.from_numpy(frames[row]) for row in rows], True)
        lengths = torch.tensor([len(frames[row]) for row in rows])
        packed = nn.utils.rnn.pack_padded_sequence(first(x), lengths, True, enforce_sorted=False)
        y = nn.utils.rnn.pad_packed_sequence(reads(packed)[0], True)[0]
        target = torch.tensor([token for row in rows for token in targets[row]])
        total = loss(says(y).log_softmax(-1).transpose(0, 1), target, lengths, torch.tensor([len(targets[row]) for row in rows]))
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    return time.perf_counter() - began


def speed(arguments) -> dict:
    """In turns: an epoch of Wenmai, an epoch of the plain loop; then features alone, and transcribing."""
    from wenmai import Transcriber, sounds

    data = recordings(arguments.data)
    samples, texts = strings(data, arguments.rows, False, 0)
    heard, turns = sounds(clips(samples)), []
    spoken = float(heard.seconds.sum())
    batch = 16 * (spoken / len(heard) / 0.02 + np.mean([len(text) for text in texts]))
    for _ in range(arguments.turns):
        began = time.perf_counter()
        model = Transcriber("lstm", epochs=1, validation=0.0, batch_tokens=int(batch)).fit(heard, texts)
        whole = time.perf_counter() - began
        began = time.perf_counter()
        encoded = model.examples(heard, texts)
        features = time.perf_counter() - began
        frames, said = [encoded.inputs[row] for row in range(len(heard))], [row.tolist()[:-1] for row in encoded.written]
        plain = features + plain_loop(frames, said, model.model_.head.width, model.progress_[-1].step)
        began = time.perf_counter()
        model.predict(heard)
        turns.append({"training": spoken / whole, "plain loop": spoken / plain, "features' share": features / whole,
                      "transcribing": spoken / (time.perf_counter() - began), "ratio": plain / whole})  # fmt: skip
        print(json.dumps(turns[-1]), flush=True)
    return {"rows": len(heard), "minutes of sound": spoken / 60, "median": {name: float(np.median([turn[name] for turn in turns]))
                                                                            for name in turns[0]}}  # fmt: skip


WHAT = {"digits": digits, "speakers": speakers, "strings": joined_strings, "patterns": patterns, "speed": speed}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("data")
    parser.add_argument("--rung", default="lstm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="strings that are learned from")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--save", help="a run folder for the model")
    parser.add_argument("--json", help="where the result goes too")
    given = parser.parse_args()
    result = WHAT[given.what](given)
    print(json.dumps(result, indent=1))
    if given.json:
        Path(given.json).write_text(json.dumps(result, indent=1), encoding="utf-8")
