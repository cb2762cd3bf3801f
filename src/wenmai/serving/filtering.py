"""filter: keeps the lines (or JSON objects) of a file of any size whose text a language model finds likely enough.

    perplexity = exp(−Σ log p / tokens) of every line; of an object, of all lines of its text

The file is read, scored and written some megabytes at a time; what passes is written as it was read, byte for byte.
"""

import json
import sys
from codecs import BOM_UTF8 as BOM
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wenmai.data.files.corpus import LONGEST_LINE, endless
from wenmai.data.files.opening import (
    MAGIC,
    bare_name,
    binary,
    find,
    not_the_same,
    text_file,
    unpacked,
)
from wenmai.data.files.opening import SAMPLE as BEGINNING
from wenmai.data.files.packing import packed
from wenmai.errors import Mistake
from wenmai.language_model import LanguageModel
from wenmai.locale import Listed

BLOCK = 1 << 23
SAMPLE = 100_000  # perplexities that the quantiles are taken from
FORMS = ("auto", "lines", "jsonl")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass
class Counts:
    rows: int = 0
    kept: int = 0
    sample: list[np.ndarray] = field(default_factory=list)
    every: int = 1  # which of them are in the sample

    def add(self, perplexities: np.ndarray, passed: np.ndarray) -> None:
        self.sample.append(perplexities[(-self.rows) % self.every :: self.every])
        self.rows, self.kept = self.rows + len(passed), self.kept + int(passed.sum())
        if sum(map(len, self.sample)) > 2 * SAMPLE:  # every second of them is enough
            self.sample, self.every = [np.concatenate(self.sample)[::2]], 2 * self.every

    def quantiles(self) -> dict[str, float | None]:
        """None where it is infinite."""
        if not self.rows:
            return {}
        quantiles = np.quantile(np.concatenate(self.sample), QUANTILES, method="lower")
        return {
            f"{share:.0%}": float(value) if np.isfinite(value) else None
            for share, value in zip(QUANTILES, quantiles)
        }


def filtered(
    model: LanguageModel,
    source: str,
    lowest: float,
    highest: float,
    out: Path | None,
    column: str = "text",
    form: str = "auto",
) -> dict:
    """Counts of what was read, kept and dropped, and quantiles of perplexity. `source` may be - for standard input, or a pipe;
    `form` is lines or jsonl, or (auto) what the name says."""
    for name, value in (("min", lowest), ("max", highest)):
        if not value >= 0:
            raise Mistake(
                "--{which}-perplexity {value}: expected 0 or more; a perplexity is never below 1.",
                which=name,
                value=value,
            )
    if lowest > highest:
        raise Mistake(
            "--min-perplexity {least:g} is above --max-perplexity {most:g}; nothing would pass.",
            least=lowest,
            most=highest,
        )
    if form not in FORMS:
        raise Mistake(
            "--format {format}: expected one of {choices}.", format=form, choices=Listed(FORMS)
        )
    streamed = source == "-" or (
        Path(source).exists() and not Path(source).is_file() and not Path(source).is_dir()
    )
    path = None if streamed else find(source)
    if path and path.is_dir():
        raise Mistake(
            "{file} is a folder; filter takes a file of lines or of JSON objects, a line each.",
            file=source,
        )
    if path and bare_name(path).endswith((".csv", ".tsv", ".parquet", ".json")):
        raise Mistake(
            "{file} is a table; filter takes a file of lines or of JSON objects, a line each.",
            file=source,
        )
    not_the_same(out, path)
    counts, number, chinese = Counts(), 1, False
    with suppress(
        Mistake
    ):  # what is neither UTF-8 nor GB18030 is read as it is, and its words are unknown
        chinese = path is not None and text_file(path, source).encoding == "gb18030"
    objects = form == "jsonl" or (
        form == "auto" and path is not None and bare_name(path).endswith((".jsonl", ".ndjson"))
    )
    if column != "text" and not objects:
        raise Mistake(
            "--column {column} goes with JSON objects; with --format jsonl every line is one.",
            column=column,
        )
    source_file = (
        nullcontext(sys.stdin.buffer)
        if source == "-"
        else unpacked(path, source)
        if path
        else open(source, "rb")  # noqa: SIM115
    )
    with (
        source_file as stream,
        nullcontext(sys.stdout.buffer) if out is None else packed(out) as kept,
    ):
        for block in blocks(stream, source):
            if number == 1 and any(
                block.startswith(magic) for magic in MAGIC
            ):  # of what is read as it comes
                raise Mistake(
                    "{file} is packed; unpack it on the way, as in zcat FILE | wenmai filter RUN -, or give the "
                    "file's name.",
                    file=source,
                )
            if number == 1 and b"\0" in block[:BEGINNING]:
                raise binary(source)
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
            if not len(ends) or ends[-1] < len(block):
                ends = np.append(ends, len(block))
            text = block.decode("gb18030", "replace").encode() if chinese else block
            text = text.removeprefix(BOM) if number == 1 else text
            texts = texts_in(text, column, source, number) if objects else None
            perplexities = perplexity(model, text, texts)
            passed = (perplexities >= lowest) & (perplexities <= highest)
            counts.add(perplexities, passed)
            kept.write(chosen(block, ends, passed))
            number += len(ends)
        if out is None:
            kept.flush()
    return {
        "rows": counts.rows,
        "kept": counts.kept,
        "dropped": counts.rows - counts.kept,
        "perplexity": counts.quantiles(),
    }


def blocks(stream: BinaryIO, source: str) -> Iterator[bytes]:
    """Whole lines, some megabytes of them."""
    left = b""
    while block := stream.read(BLOCK):
        left += block
        end = left.rfind(b"\n") + 1
        if end:
            yield left[:end]
            left = left[end:]
        elif len(left) > LONGEST_LINE:
            raise endless(source)
    if left:
        yield left


def perplexity(model: LanguageModel, block: bytes, texts: list[str] | None) -> np.ndarray:
    """Of every line of the block, or of every text, which may have several."""
    if texts is not None:
        texts = [text.removesuffix("\n") for text in texts]
        block = "\n".join(texts).encode("utf-8", "replace") + b"\n"
    _, sums, lengths, _ = next(model.model_.scored([block], independent=True))
    if texts is not None:
        starts = np.cumsum([0, *(text.count("\n") + 1 for text in texts[:-1])])
        sums, lengths = np.add.reduceat(sums, starts), np.add.reduceat(lengths, starts)
    with np.errstate(over="ignore"):
        return np.exp(-sums / lengths)


def texts_in(block: bytes, column: str, source: str, first: int) -> list[str]:
    """The texts of a line of JSON each; an empty line is an empty text."""
    texts = []
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
        try:
            record = json.loads(line.decode("utf-8")) if line.strip() else {column: ""}
        except (ValueError, RecursionError):
            raise Mistake(
                "{file}, line {line}: found no JSON object; correct the line or remove it.",
                file=source,
                line=number,
            ) from None
        if not isinstance(record, dict) or not isinstance(record.get(column), str):
            raise Mistake(
                '{file}, line {line}: found no text under "{column}"; name the column with --column.',
                file=source,
                line=number,
                column=column,
            )
        texts.append(record[column])
    return texts


def chosen(block: bytes, ends: np.ndarray, passed: np.ndarray) -> bytes:
    """The lines that passed; those that stand together are copied at once."""
    turns = np.flatnonzero(
        np.diff(passed, prepend=False, append=False)
    )  # where a stretch of them begins, and where it is over
    bounds = np.concatenate([[0], ends])[turns].tolist()
    return b"".join(block[start:end] for start, end in zip(bounds[::2], bounds[1::2]))
