"""Answers for a file of any size: read, answered and written chunk by chunk."""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from wenmai.catalog import TASKS
from wenmai.data.readers import Table
from wenmai.errors import Mistake
from wenmai.estimator import Estimator


def answer_file(estimator: Estimator, table: Table, out: Path | None, as_json: bool = False) -> dict:
    """One line out for every row in, in order: its columns (but images) and the answer. Returns counts, and the answers
    themselves where they go nowhere else."""
    kind, rows, kept = TASKS[estimator.task_name], 0, []
    with writer(out, quiet=as_json) as write:
        for chunk in table.chunks(4096):
            answers = estimator.answers(kind.inputs_of(without_target(chunk, kind), table.source))
            shown = {name: values for name, values in chunk.columns.items() if not isinstance(values, np.ndarray)}
            for row, answer in enumerate(answers):
                write({name: values[row] for name, values in shown.items() if name != kind.target} | answer)
            rows += len(answers)
            if as_json and out is None:
                kept += answers
    return {"rows": rows} | ({"out": str(out)} if out else {"answers": kept})


def without_target(chunk, kind):
    columns = {name: values for name, values in chunk.columns.items() if name != kind.target}
    return type(chunk)(columns, chunk.lines)


@contextmanager
def writer(out: Path | None, quiet: bool):
    if out is None:
        yield (lambda record: None) if quiet else (lambda record: print(json.dumps(record, ensure_ascii=False)))
        return
    if out.suffix not in (".jsonl", ".csv", ".tsv"):
        raise Mistake(f"--out {out}: expected a name that ends in .jsonl, .csv or .tsv.")
    # A half character (a lone surrogate), which UTF-8 does not know, is written as the escape that JSON reads back.
    with open(out, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        if out.suffix == ".jsonl":
            yield lambda record: file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        table = csv.writer(file, delimiter="\t" if out.suffix == ".tsv" else ",", lineterminator="\n")
        header: list[str] = []

        def write(record: dict) -> None:
            if not header:
                header.extend(record)
                table.writerow(header)
            table.writerow(record.values())

        yield write


def read_arguments(estimator: Estimator, given: list[str]):
    """Inputs as the command line has them: texts; texts two by two for pairs; numbers with commas between them."""
    kind = estimator.inputs_.kind
    if kind == "tokens" and estimator.inputs_.pairs:
        if len(given) % 2:
            raise Mistake(f"this run reads pairs: found {len(given)} texts, expected two for every answer.")
        return list(zip(given[::2], given[1::2]))
    if kind == "tokens":
        return given
    if kind == "image":
        raise Mistake("this run reads images: give them with --file.")
    try:
        return np.array([[float(number) for number in row.split(",")] for row in given])
    except ValueError:
        raise Mistake(f"this run reads {estimator.inputs_.width} numbers for every answer, as in 5.1,3.5,1.4,0.2.") from None
