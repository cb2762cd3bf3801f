"""What the reader of a document has to bring: small files of the kind, and the names that Python examples take for granted."""

import gzip
import json
from pathlib import Path

import numpy as np
import zstandard

TEXTS = [
    f"{a} {b} {c} {d}"
    for a in ("a truly", "so very", "the", "not a")
    for b in ("good", "bad", "fine", "poor", "long")
    for c in ("and quiet", "loud", "old", "new")
    for d in ("film", "book")
]
LABELS = ["pos" if "good" in text or "fine" in text else "neg" for text in TEXTS]
SENTENCES = [
    f"The value of the {a} is {b} {c}."
    for a in ("expression", "object", "list", "module", "class")
    for b in ("a", "the")
    for c in ("number", "string", "method", "name", "first argument", "tuple")
] * 5
DOGS = [
    (f"A {a} {b}.", f"Ein {x} {y}.")
    for a, x in (("dog", "Hund"), ("man", "Mann"), ("child", "Kind"), ("bird", "Vogel"))
    for b, y in (("runs", "rennt"), ("sleeps", "schläft"), ("eats", "isst"), ("sings", "singt"))
]


def bring(folder: Path) -> None:
    def write(name: str, lines: list[str]) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    write(".venv/bin/activate", [])
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS)]
    for name in ("reviews.csv", "other.csv", "more.csv"):
        write(name, ["text,label", *rows])
    write("new.csv", ["text", *TEXTS[:5]])
    for name in ("corpus.txt", "texts.txt", "held.txt", "test.txt", "valid.txt"):
        write(name, SENTENCES)
    write("README.md", SENTENCES[:5])
    write("README.zh.md", ["今天，中国经济有了新的发展。"] * 5)
    phrases = [
        f"{text}\t{'好' if label == 'pos' else '差'}电影" for text, label in zip(TEXTS, LABELS)
    ]
    write("pairs.tsv", ["english\tchinese", *phrases])
    write("phrases.tsv", phrases)
    for name in ("mail.jsonl", "mails.jsonl"):
        write(
            name,
            [json.dumps({"body": text, "subject": label}) for text, label in zip(TEXTS, LABELS)],
        )
    for part in ("train", "val", "test"):
        write(f"{part}.en", [english for english, _ in DOGS * 3])
        write(f"{part}.de", [german for _, german in DOGS * 3])
    asked = [
        (f"{name} lives in {town}.", f"Where does {name} live?", town)
        for name in ("Anna", "Bob", "Cleo", "Dan", "Eve", "Ida")
        for town in ("Rome", "Oslo", "Lima", "Kyoto")
    ]
    write("questions.csv", ["context,question,answer", *map(",".join, asked)])
    chosen = [f"{text},{ask},{town}|the moon,{town}" for text, ask, town in asked]
    write("choices.csv", ["context,question,choices,answer", *chosen])
    write(
        "stories.txt",
        [line for text, ask, town in asked for line in (f"1 {text}", f"2 {ask}\t{town}\t1")],
    )
    (folder / "babi").mkdir()
    for number, kind in ((1, "one"), (2, "two")):
        for part, rows in (("train", asked), ("test", asked[::4])):
            write(
                f"babi/qa{number}_{kind}_{part}.txt",
                [
                    line
                    for text, ask, town in rows
                    for line in (f"1 {kind}: {text}", f"2 {ask}\t{town}\t1")
                ],
            )
    bring_sounds(folder, write)
    write("new.en", [english for english, _ in DOGS[:3]])
    (folder / "crawl.txt.gz").write_bytes(gzip.compress("\n".join(SENTENCES).encode()))
    crawl = "\n".join(json.dumps({"text": line}) for line in SENTENCES)
    (folder / "crawl.jsonl.zst").write_bytes(zstandard.compress(crawl.encode()))


def bring_sounds(folder: Path, write) -> None:
    """A tone for a word; one.wav and two.wav, and 24 that are said in said.csv, of which sounds.csv has the first word as
    label."""
    import soundfile

    draw, rows = np.random.default_rng(0), []
    tones = {"one": 300, "two": 900, "three": 2000}
    for row in range(26):
        words = list(draw.choice(list(tones), 2)) if row > 1 else [("one", "two")[row]]
        parts = [
            np.append(0.3 * np.sin(2 * np.pi * tones[word] * np.arange(2400) / 8000), np.zeros(400))
            for word in words
        ]
        name = f"s{row}.wav" if row > 1 else f"{words[0]}.wav"
        soundfile.write(
            folder / name, np.concatenate(parts) + 0.01 * draw.normal(size=2800 * len(words)), 8000
        )
        rows += [(name, words)] * (row > 1)
    write("said.csv", ["audio,text", *(f"{name},{' '.join(words)}" for name, words in rows)])
    write("sounds.csv", ["audio,label", *(f"{name},{words[0]}" for name, words in rows)])


NAMES = f"""
texts, labels = {TEXTS!r}, {LABELS!r}
more_texts, more_labels = texts[:8], labels[:8]
rows_of_tokens = [text.split() for text in texts]
rows_of_tags = [["B-X" if token == "film" else "O" for token in row] for row in rows_of_tokens]
numbers, targets = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 1.0]] * 4, [3.0, 3.0, 8.0, 5.0] * 4
lines = {SENTENCES[:80]!r}
sources, translations = {[list(side) for side in zip(*DOGS)]!r}
"""
