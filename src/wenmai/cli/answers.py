"""Answers for a file of any size: read, answered and written chunk by chunk."""

import csv
import json
import os
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.images import read_images
from wenmai.data.files.opening import not_the_same
from wenmai.data.files.readers import Table
from wenmai.errors import Mistake, Notice
from wenmai.estimator import Estimator
from wenmai.tasks.columns import line_of
from wenmai.tasks.contract import Answers

CHUNK = 4096  # rows that are read, answered and written at a time


def answer_file(estimator: Estimator, table: Table, out: Path | None, as_json: bool = False, **how) -> dict:
    """One line out for every row in, in order: its columns (but images) and the answer, found with the options `how`. Returns
    counts, and the answers themselves where they go nowhere else."""
    task, rows, kept, empty, notes = estimator.task_, 0, [], 0, {}
    # A forecast follows the last rows, of which it reads as many as its history is long.
    chunks = [last_rows(table.load(), task.history)] if task.history else table.chunks(CHUNK)
    not_the_same(out, Path(table.source))
    with writer(out, quiet=as_json) as write:
        for chunk in chunks:
            inputs = task.inputs_of(chunk if task.history else without_target(chunk, task), table.source)
            if task.profile.blank_answer is None:
                answers = estimator.answers(inputs, **how)
            else:
                answers = without_blanks(estimator, inputs, line_of(chunk, table.source), how)
            notes |= dict.fromkeys(answers.notes)
            if task.profile.blank_answer is not None:
                empty += sum(not answer["text"] for answer in answers)
            shown = {} if task.history else {name: v for name, v in chunk.columns.items() if not isinstance(v, np.ndarray)}
            for row, answer in enumerate(answers):
                write({name: values[row] for name, values in shown.items() if name != task.target} | answer)
            rows += len(answers)
            if as_json and out is None:
                kept += answers
    for note in notes:
        warnings.warn(Notice(note), stacklevel=2)
    if empty:
        warnings.warn(Notice("{count:,} of the texts are empty, and so is what is written for them", count=empty), stacklevel=2)
    return {"rows": rows} | ({"out": str(out)} if out else {"answers": kept})


def without_blanks(estimator: Estimator, texts: list[str], where, how: dict) -> Answers:
    """For an empty text, the empty one that the task has for it; the model answers for the others."""
    rows = [row for row, text in enumerate(texts) if text.strip()]
    answers = estimator.answers([texts[row] for row in rows], **how, where=lambda row: where(rows[row]))
    each, blank = iter(answers), estimator.task_.profile.blank_answer
    return Answers((next(each) if text.strip() else dict(blank) for text in texts), answers.notes)


def last_rows(chunk, count: int):
    return type(chunk)({name: values[-count:] for name, values in chunk.columns.items()}, chunk.lines[-count:])


def without_target(chunk, task):
    columns = {name: values for name, values in chunk.columns.items() if name not in (task.target, f"{task.target}s")}
    return type(chunk)(columns, chunk.lines)


def in_words(answer: dict) -> str:
    """An answer on one line of a terminal: a text with its spans marked, or the values side by side."""
    if "tags" not in answer:
        return "\t".join(f"{value:.4f}" if isinstance(value, float) else str(value) for value in answer.values())
    if not answer["spans"] or "text" not in answer:
        return " ".join(f"{token}/{tag}" for token, tag in zip(answer.get("tokens", answer["tags"]), answer["tags"]))
    text, pieces, at = answer["text"], [], 0
    for span in answer["spans"]:
        pieces += [text[at : span["start"]], f"[{span['text']}]({span['label']})"]
        at = span["end"]
    return "".join(pieces) + text[at:]


def aligned(answer: dict) -> str:
    """For every token that was written, the one that was looked at most, and how much."""
    lines = []
    for token, row in zip(answer["target_tokens"], answer["attention"]):
        at = int(np.argmax(row))
        lines.append(f"  {token}\t← {answer['source_tokens'][at]}\t{row[at]:.2f}")
    return "\n".join(lines)


@contextmanager
def writer(out: Path | None, quiet: bool):
    if out is None:
        yield (lambda record: None) if quiet else (lambda record: print(json.dumps(record, ensure_ascii=False)))
        return
    if out.suffix not in (".jsonl", ".csv", ".tsv", ".conll"):
        raise Mistake("--out {file}: expected a name that ends in .jsonl, .csv, .tsv or (for tags) .conll.", file=out)
    # What was there stays until all is written; a pipe is written to at once.
    part = out if out.exists() and not out.is_file() else out.with_name(f"{out.name}.part")
    # A half character (a lone surrogate), which UTF-8 does not know, is written as the escape that JSON reads back.
    with whole_or_kept(part, out), open(part, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if out.suffix == ".jsonl":
            yield lambda record: file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        if out.suffix == ".conll":
            yield lambda record: file.write(conll(record, out))
            return
        table = csv.writer(file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n")
        header: list[str] = []

        def write(record: dict) -> None:
            if not header:
                header.extend(record)
                table.writerow(header)
            plain = (str, int, float, type(None))
            table.writerow(v if isinstance(v, plain) else json.dumps(v, ensure_ascii=False) for v in record.values())

        yield write


@contextmanager
def whole_or_kept(part: Path, out: Path):
    """`part` becomes `out` when all is written; where something goes wrong, what was answered until then stays, and is named."""
    try:
        yield
    except BaseException:
        if part != out and part.exists():
            if part.stat().st_size:
                warnings.warn(Notice("what was answered before stands in {file}", file=part), stacklevel=2)
            else:
                part.unlink()
        raise
    if part != out:
        os.replace(part, out)


def conll(record: dict, out: Path) -> str:
    if "tokens" not in record or "tags" not in record:
        raise Mistake("--out {file}: a .conll file holds tokens and tags; for these answers, use .jsonl.", file=out)
    return "".join(f"{token}\t{tag}\n" for token, tag in zip(record["tokens"], record["tags"])) + "\n"


def read_arguments(estimator: Estimator, given: list[str]):
    """Inputs as the command line has them: texts; texts two by two for pairs; labels; numbers with commas between them; paths of
    images."""
    source = getattr(estimator.inputs_, "source", estimator.inputs_)  # of two sides the one that is read
    kind = estimator.inputs_.kind
    if kind == "tokens" and getattr(source, "pairs", False):
        if len(given) % 2:
            raise Mistake("this run reads pairs: found {texts} texts, expected two for every answer.", texts=len(given))
        return list(zip(given[::2], given[1::2]))
    if kind in ("tokens", "lines", "labels"):
        return given
    if kind == "image":
        return read_images(given, source.shape)
    if estimator.task_.history:
        raise Mistake("this run forecasts a series: give the rows so far with --file.")
    try:
        rows = [[float(number) for number in row.split(",")] for row in given]
        return Sequences.of(rows, np.float64) if kind == "frames" else np.array(rows)
    except ValueError:
        raise Mistake("this run reads {width} numbers for every answer, as in 5.1,3.5,1.4,0.2.", width=source.width) from None
