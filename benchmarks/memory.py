"""Memory: `wenmai train` on CSV files of 100 MB, 300 MB and 1 GB, each in a process of its own; a record, no peer.

The rows are cut from text at hand, 50 to 300 characters each: `words` from Python's own manual (the label says from which
fifth of its topics most of a row is), `characters` from the names of `languages`, in twenty languages and many scripts.
New words keep coming, as they do in real text: about one in thirty is made up. What is told is the peak of the resident
memory of the whole process, and how long it took from end to end.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import turns

SYLLABLES = [
    "ba",
    "chi",
    "dor",
    "fen",
    "gul",
    "hart",
    "ke",
    "li",
    "mo",
    "nu",
    "ra",
    "si",
    "to",
    "ve",
    "za",
]


def manual() -> dict[str, list[str]]:
    """Label → words: the topics of the Python manual in five equal parts."""
    from pydoc_data.topics import topics

    texts = [topics[name] for name in sorted(topics)]
    return {f"part {part}": " ".join(texts[part::5]).split() for part in range(5)}


def names() -> dict[str, list[str]]:
    from corpora import languages

    found: dict[str, list[str]] = {}
    for text, label in zip(*languages().train):
        found.setdefault(label, []).append(text)
    return found


def write(file: Path, megabytes: int, words: dict[str, list[str]]) -> int:
    """A CSV of that size, text and label; the same every time. Returns its rows."""
    draw, labels, rows = random.Random(0), list(words), 0
    with open(file, "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(["text", "label"])
        while rows % 1000 or out.tell() < megabytes * 1e6:
            label, most, text = draw.choice(labels), draw.randint(50, 300), ""
            while len(text) < most:
                source = words[label if draw.random() < 0.6 else draw.choice(labels)]
                start, size = draw.randrange(len(source)), draw.randint(4, 25)
                made_up = (
                    "".join(draw.choices(SYLLABLES, k=draw.randint(2, 6)))
                    if draw.random() < 0.5
                    else ""
                )
                text += " ".join([*source[start : start + size], made_up, ""])
            table.writerow([text[:most], label])
            rows += 1
    return rows


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds, and the most memory the process held at a time, in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(
            f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}."
        )
    return time.perf_counter() - began, used.ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100, 300, 1000], help="of the files, in MB"
    )
    parser.add_argument("--rungs", nargs="+", default=["softmax", "mlp"])
    parser.add_argument(
        "--texts", nargs="+", choices=("words", "characters"), default=["words", "characters"]
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="of training, for each")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write everything that was measured here"
    )
    options = parser.parse_args()
    found, minutes = [], str(options.minutes)
    print(
        "| text | MB | rows | rung | seconds | MB a second | peak MB |\n| --- | ---: | ---: | --- | ---: | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        for kind in options.texts:
            words = manual() if kind == "words" else names()
            for size in options.sizes:
                file = Path(folder) / "rows.csv"
                rows = write(file, size, words)
                for rung in options.rungs:
                    seconds, peak = measured(
                        [
                            sys.executable,
                            "-m",
                            "wenmai",
                            "train",
                            rung,
                            str(file),
                            "--test",
                            "0.1",
                            "--minutes",
                            minutes,
                            "--set",
                            f"tokenizer={kind}",
                            "--device",
                            "cpu",
                            "--out",
                            f"{folder}/run-{rung}",
                        ]
                    )
                    speed = size / seconds
                    print(
                        f"| {kind} | {size} | {rows:,} | {rung} | {seconds:.0f} | {speed:.1f} | {peak:,.0f} |",
                        flush=True,
                    )
                    found.append(
                        {
                            "text": kind,
                            "mb": size,
                            "rows": rows,
                            "rung": rung,
                            "seconds": seconds,
                            "peak_mb": peak,
                        }
                    )
    turns.finish({"memory": found}, options.json)


if __name__ == "__main__":
    main()
