"""Answers for a file of any size: read, answered and written chunk by chunk."""

import csv
import json
import os
import re
import secrets
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from wenmai.cli.output import json_line
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.images import read_images
from wenmai.data.files.opening import not_the_same
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.files.sounds import Clips
from wenmai.data.parts import Sifted
from wenmai.errors import Mistake, Notice
from wenmai.estimator import Estimator
from wenmai.locale import Listed, Message
from wenmai.locale.theirs import Theirs
from wenmai.tasks.columns import answers_of

NUMBER = re.compile(r"[+-]?[\d.,]+")
CHUNK = 4096  # rows that are read, answered and written at a time, at the most


def answer_file(
    estimator: Estimator,
    table: Table,
    out: Path | None,
    as_json: bool = False,
    spreadsheet: bool = False,
    skip_bad: bool = False,
    answered: Callable | None = None,
    **how,
) -> dict:
    """One line out for every row in, in order: its columns (but images) and the answer, found with the options `how`. Returns
    counts, and the answers themselves where they go nowhere else. `skip_bad`: rows that the task refuses are left out, and
    counted. `answered(chunks, asked, source, how)` gives each chunk with its answers, where they are not found here; `asked`
    makes of a chunk what the task reads."""
    task, rows, kept, empty, notes = estimator.task_, 0, [], 0, []
    sifted, source = None, table.source
    if skip_bad and not task.history:
        sifted = Sifted(table, lambda chunk: task.inputs_of(chunk, source), beside=True)
        table = replace(sifted.table, stream=sifted.chunks)
    # A forecast follows the last rows, of which it reads as many as its history is long.
    at_once = min(CHUNK, task.profile.at_once)
    chunks, last = (
        ([table.load()], slice(-task.history, None))
        if task.history
        else (table.chunks(at_once), slice(None))
    )
    right = () if task.history else (task.target, f"{task.target}s")

    def asked(chunk: Chunk) -> Chunk:
        columns = {
            name: values[last] for name, values in chunk.columns.items() if name not in right
        }
        return replace(chunk, columns=columns, lines=chunk.lines[last])

    not_the_same(out, Path(table.source))
    with writer(out, as_json, spreadsheet) as write:
        here = ((chunk, answers_of(estimator, asked(chunk), table.source, how)) for chunk in chunks)
        for chunk, answers in answered(chunks, asked, table.source, how) if answered else here:
            notes += answers.notes
            if task.profile.blank_answer is not None:
                empty += sum(not answer["text"] for answer in answers)
            shown = (
                {}
                if task.history
                else in_file(table, chunk, {*chain(*answers[:1])} - {task.target})
            )
            for row, answer in enumerate(answers):
                write(
                    {name: values[row] for name, values in shown.items() if name != task.target}
                    | answer
                )
            rows += len(answers)
            if as_json and out is None:
                kept += answers
        if sifted and sifted.bad and not rows:
            raise sifted.first
    if sifted and sifted.bad:
        warnings.warn(Notice(sifted.note(sifted.first)), stacklevel=2)
    for note in merged_notes(notes, rows):
        warnings.warn(Notice(note), stacklevel=2)
    if empty:
        warnings.warn(
            Notice(
                "{count:,} of the texts are empty, and so is what is written for them", count=empty
            ),
            stacklevel=2,
        )
    return {"rows": rows} | ({"out": str(out)} if out else {"answers": kept})


def merged_notes(notes: list[Message], rows: int) -> list[Message]:
    """The notes of all chunks; of those that count texts one, for all rows."""
    merged = {}
    for note in notes:
        over = getattr(note, "values", {}).get("over")
        before = merged.get(note.template if over else note)
        if over and before:
            counted = {name: max(value, before.values[name]) for name, value in note.values.items()}
            note = Message(note.template, **counted | {"over": over + before.values["over"]})
        merged[note.template if over else note] = note
    of_all = [
        key for key, note in merged.items() if {"over", "rows"} <= set(getattr(note, "values", ()))
    ]
    merged |= {
        key: Message(merged[key].template, **merged[key].values | {"rows": rows}) for key in of_all
    }
    return list(merged.values())


def in_file(table: Table, chunk: Chunk, taken: set[str]) -> dict[str, Sequence]:
    """The columns of a chunk as the file has them, but images: in its order, under its names, where they have some. Others that
    are named as a part of the answer (`taken`) get their position as well."""
    held = {table.own.get(word, word): (word, values) for word, values in chunk.columns.items()}
    whole = {
        name for name, values in chunk.beside.items() if isinstance(next(iter(values), None), dict)
    }
    held = {
        name: pair for name, pair in held.items() if name.split(".")[0] not in whole
    }  # of which it is a part
    held |= {name: (name, values) for name, values in chunk.beside.items()}
    shown = {}
    for position, name in enumerate(table.every or held):
        word, values = held.get(name, (name, None))
        if values is not None and not (isinstance(values, np.ndarray) and values.ndim > 1):
            values = values.tolist() if isinstance(values, np.ndarray) else values
            key = word if name.isdecimal() or name in taken or word in ("tokens", "tags") else name
            shown[f"{key}#{position}" if key in taken and name in chunk.beside else key] = values
    return shown


def in_words(answer: dict) -> str:
    """An answer on one line of a terminal: a text with its spans marked, or the values side by side."""
    if "best" in answer:
        return "\t".join(in_words(one).replace("\t", " ") for one in answer["best"])
    if "tags" not in answer:
        return "\t".join(
            f"{value:.4f}" if isinstance(value, float) else str(value) for value in answer.values()
        )
    if not answer["spans"] or "text" not in answer:
        return " ".join(
            f"{token}/{tag}"
            for token, tag in zip(answer.get("tokens", answer["tags"]), answer["tags"])
        )
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
def writer(out: Path | None, quiet: bool, spreadsheet: bool = False):
    if out is None:
        yield (lambda record: None) if quiet else (lambda record: print(json_line(record)))
        return
    if out.suffix not in (".jsonl", ".csv", ".tsv", ".conll"):
        raise Mistake(
            "--out {file}: expected a name that ends in .jsonl, .csv, .tsv or (for tags) .conll.",
            file=out,
        )
    # What was there stays until all is written, by whomever; a pipe is written to at once.
    out = out.resolve() if out.is_symlink() else out
    part = (
        out
        if out.exists() and not out.is_file()
        else out.with_name(f"{out.name}.part.{secrets.token_hex(4)}")
    )
    # A half character (a lone surrogate), which UTF-8 does not know, is written as the escape that JSON reads back.
    with (
        whole_or_kept(part, out),
        open(part, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        if out.suffix == ".jsonl":
            yield lambda record: file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        if out.suffix == ".conll":
            yield lambda record: file.write(conll(record, out))
            return
        table = csv.writer(
            file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n"
        )
        header: list[str] = []

        def write(record: dict) -> None:
            if not header:
                header.extend(record)
                table.writerow(map(no_formula, header) if spreadsheet else header)
            plain = (str, int, float, type(None))
            cells = [
                v if isinstance(v, plain) else json.dumps(v, ensure_ascii=False)
                for v in record.values()
            ]
            table.writerow(map(no_formula, cells) if spreadsheet else cells)

        yield write


def no_formula(cell):
    """A spreadsheet takes for a formula what begins so, and shows a text behind a quote as it is."""
    begins = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if begins and not NUMBER.fullmatch(cell) else cell


@contextmanager
def whole_or_kept(part: Path, out: Path, lines: bool = True):
    """`part` becomes `out` when all is written; where something goes wrong, what was answered until then stays, and is named.
    What is no `lines` (a matrix, Parquet) and ends in the middle since there was no room cannot be read, and does not stay."""
    try:
        yield
    except BaseException as error:
        if part != out and part.exists():
            if part.stat().st_size and (lines or not isinstance(error, OSError)):
                warnings.warn(
                    Notice("what was answered before stands in {file}", file=part), stacklevel=2
                )
            else:
                part.unlink()
        if (
            isinstance(error, OSError)
            and error.filename in (None, str(part))
            and not isinstance(error, BrokenPipeError)
        ):
            raise Mistake(
                "{folder} cannot be written ({why}); make room or choose another place.",
                folder=out,
                why=Theirs(error.strerror or error),
            ) from None
        raise
    if part != out:
        os.replace(part, out)


def conll(record: dict, out: Path) -> str:
    if "tokens" not in record or "tags" not in record:
        raise Mistake(
            "--out {file}: a .conll file holds tokens and tags; for these answers, use .jsonl.",
            file=out,
        )
    return (
        "".join(f"{token}\t{tag}\n" for token, tag in zip(record["tokens"], record["tags"])) + "\n"
    )


def read_arguments(estimator: Estimator, arguments: list[str]):
    """Inputs as the command line has them: texts; texts two by two for pairs; labels; numbers with commas between them; paths of
    images."""
    source = getattr(
        estimator.inputs_, "source", estimator.inputs_
    )  # of two sides the one that is read
    kind = estimator.inputs_.kind
    if takes := getattr(estimator.task_, "takes", ()):  # so many texts for every answer
        if len(arguments) % len(takes):
            raise Mistake(
                "this run reads {names} for every answer, {count} texts: found {texts}; a file of them is given with "
                "--file FILE.",
                names=Listed(takes, Message(" and ")),
                count=len(takes),
                texts=len(arguments),
            )
        return list(zip(*(arguments[at :: len(takes)] for at in range(len(takes)))))
    asked_two = getattr(estimator.task_, "pairs", False)  # whether a text follows another
    if kind == "tokens" and (getattr(source, "pairs", False) or asked_two):
        if len(arguments) % 2 and asked_two:
            raise Mistake(
                "this run says whether the second of two texts follows the first: found {texts}, expected two for "
                "every answer; hidden words are filled in by wenmai fill.",
                texts=len(arguments),
            )
        if len(arguments) % 2:
            raise Mistake(
                "this run reads pairs: found {texts} texts, expected two for every answer.",
                texts=len(arguments),
            )
        return list(zip(arguments[::2], arguments[1::2]))
    if kind in ("tokens", "lines", "labels"):
        return arguments
    if hasattr(source, "rate"):
        return Clips.of(arguments)
    if kind == "image":
        return read_images(arguments, source.shape)
    if estimator.task_.history:
        raise Mistake("this run forecasts a series: give the rows so far with --file.")
    try:
        rows = [[float(number) for number in row.split(",")] for row in arguments]
        return Sequences.of(rows, np.float64) if kind == "frames" else np.array(rows)
    except ValueError:
        raise Mistake(
            "this run reads {width} numbers for every answer, as in 5.1,3.5,1.4,0.2.",
            width=source.width,
        ) from None
