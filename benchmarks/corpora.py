"""The texts that the benchmarks run on: SST-2 from a folder of data sets, `languages` from what is installed."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

Part = tuple[list[str], list[str]]  # texts, labels


@dataclass
class Corpus:
    name: str
    train: Part
    dev: Part
    test: Part

    def sizes(self) -> str:
        rows = " / ".join(f"{len(part[0]):,}" for part in (self.train, self.dev, self.test))
        return f"{self.name}: {rows} rows to train, choose and test on, {len(set(self.train[1]))} classes"


def folder_of(given: Path | None) -> Path:
    """Of data sets: what is given, else WENMAI_DATA, else the one beside the repository."""
    return given or Path(
        os.environ.get("WENMAI_DATA") or Path(__file__).resolve().parents[1] / "../shared/data"
    )


def sst2(folder: Path | None) -> Corpus | None:
    """Stanford Sentiment Treebank, two classes (Socher et al. 2013); None, and a sentence, where the folder lacks it."""
    folder = folder_of(folder) / "sst2"
    if not folder.is_dir():
        print(
            f"sst2 is left out: there is no folder {folder}; give --data FOLDER or set WENMAI_DATA.",
            file=sys.stderr,
        )
        return None
    return Corpus("sst2", *(read(folder / f"{name}.tsv") for name in ("train", "dev", "test")))


def read(file: Path) -> Part:
    rows = [line.rsplit("\t", 1) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return [text for text, _ in rows], [label for _, label in rows]


def languages(which: str | None = None) -> Corpus:
    """A name → its language: 20 of them, or with "all" every one that CLDR knows well. No name stands in two parts."""
    from wenmai.data.builtin import BUILTIN
    from wenmai.data.splits import split

    columns = BUILTIN["languages"].load(**({"languages": which} if which else {})).columns
    texts, labels = columns["text"], columns["label"]
    parts = split(texts, [0.1, 0.1], 0, labels)
    train, dev, test = (
        ([texts[row] for row in rows], [labels[row] for row in rows]) for rows in parts
    )
    return Corpus(f"languages:{which}" if which else "languages", train, dev, test)
