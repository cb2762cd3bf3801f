"""The command embed: vectors of texts, and of words."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import isfile
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import advice
from wenmai.cli.arguments import AsJson, Columns, Delimiter, Device, MaxLine, MaxRows, Run
from wenmai.cli.given import load_run, table_for
from wenmai.cli.output import finish, json_line, say, show
from wenmai.errors import Mistake
from wenmai.locale import Message


def embed(
    run: Run,
    file: Annotated[
        str,
        typer.Argument(
            help="A file of texts: the training columns without the answer, or a text a line."
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the vectors go: .npy or .parquet; with --words .txt.")
    ] = None,
    layer: Annotated[
        int,
        typer.Option(
            min=-1, help="Of which layer, 0 being the input layer; -1: what the head reads."
        ),
    ] = -1,
    pooling: Annotated[
        str,
        typer.Option(help="How the places of a text become one vector: mean, cls, last or max."),
    ] = "mean",
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Bring every vector to length 1.")
    ] = False,
    nearest: Annotated[
        str, typer.Option(help="Show the texts of the file that are nearest to this one.")
    ] = "",
    top: Annotated[int, typer.Option(min=1, help="So many of them.")] = 5,
    words: Annotated[
        bool,
        typer.Option("--words", help="Write the vectors of the words it knows, as GloVe has them."),
    ] = False,
    columns: Columns = "",
    delimiter: Delimiter = "",
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """One vector for every text of a file of any size, or for every word that a network knows."""
    from wenmai.data.files.opening import allow, not_the_same
    from wenmai.embeddings import Embedder, Nearest

    if bool(file) == words:
        raise Mistake(
            "give either a file of texts, or --words and --out vectors.txt, as in wenmai embed RUN texts.txt --out "
            "vectors.npy."
        )
    if not isfile(run / "run.json"):
        advice.check_run_order("embed", run, [file])
    estimator = load_run(run, device)
    if words:
        return write_words(estimator, run, out, as_json)
    embedder = Embedder(estimator.trained(), None if layer < 0 else layer, pooling, normalize)
    best = Nearest(embedder.vectors([nearest])[0][0], top) if nearest else None
    allow(max_line, max_rows)
    table, rows, notes, width, kept = (
        table_for(estimator, file, columns, delimiter=delimiter, predict=True),
        0,
        [],
        0,
        [],
    )
    not_the_same(out, Path(table.source))
    with writing(out, nearest or as_json, kept if as_json and not nearest else None) as write:
        for values, vectors, more in embedded(estimator, embedder, table):
            write(values, vectors)
            if best is not None:
                best.see(values, vectors)
            rows, width, notes = rows + len(vectors), vectors.shape[1], notes + more
    show_result(estimator, run, out, rows, width, notes, best, kept, as_json)


def embedded(estimator, embedder, table) -> Iterator[tuple]:
    """(what was read, its vectors, notes), some rows at a time."""
    from dataclasses import replace

    from wenmai.cli.answers import CHUNK
    from wenmai.tasks.columns import texts_in

    task = estimator.task_
    answered = (task.target, f"{task.target}s")
    for chunk in table.chunks(CHUNK):
        if "text" in chunk.columns and embedder.reads_texts:  # also where the task asks for two
            values = texts_in(chunk, "text", table.source)
        else:
            columns = {
                name: values for name, values in chunk.columns.items() if name not in answered
            }
            values = task.inputs_of(replace(chunk, columns=columns), table.source)
        yield values, *embedder.vectors(values)


@contextmanager
def writing(out: Path | None, quiet: bool, kept: list | None):
    """What takes texts and vectors: a file, standard output, or a list."""
    from wenmai.data.files import vectors as files

    if out is None:

        def write(values, vectors) -> None:
            records = (
                {"text": value, "vector": vector} for value, vector in zip(values, vectors.tolist())
            )
            if kept is not None:
                kept.extend(records)
            for record in () if quiet else records:
                print(json_line(record))

        yield write
        return
    with beside(out) as part, files.writer(out, part) as write:
        yield write


@contextmanager
def beside(out: Path) -> Iterator[Path]:
    """Where a file is written until it is whole; what was there stays until then."""
    from wenmai.cli.answers import whole_or_kept

    out = out.resolve() if out.is_symlink() else out
    part = (
        out
        if out.exists() and not out.is_file()
        else out.with_name(f"{out.name}.part.{secrets.token_hex(4)}")
    )
    with whole_or_kept(part, out, lines=False):
        yield part
        if not part.exists():
            raise Mistake("there are no texts to embed, and {file} was not written.", file=out)


def show_result(
    estimator,
    run: Path,
    out: Path | None,
    rows: int,
    width: int,
    notes: list,
    best,
    kept: list,
    as_json: bool,
) -> None:
    from wenmai.cli.answers import merged_notes

    for note in merged_notes(notes, rows):
        say(note)
    result = {"run": str(run), "rows": rows, "width": width} | ({"out": str(out)} if out else {})
    if best is not None:
        result["nearest"] = [
            {"cosine": cosine, "row": row, "text": text} for cosine, row, text in best.best
        ]
        for one in [] if as_json else result["nearest"]:
            text = one["text"] if isinstance(one["text"], str) else " ".join(map(str, one["text"]))
            show(f"{one['cosine']:.4f}\t{one['row']}\t{text}")
    elif as_json and not out:
        result["answers"] = kept
    if out:
        say(
            "{rows:,} vectors of {width:,} numbers, written to {file}",
            rows=rows,
            width=width,
            file=out,
        )
    finish(result, as_json, quiet=True)


def write_words(estimator, run: Path, out: Path | None, as_json: bool) -> None:
    from wenmai.data.files.vectors import write_words as write

    if out is None or out.suffix != ".txt":
        raise Mistake(
            "--words writes a word and its numbers on a line: expected --out with a name that ends in .txt, as in "
            "--out vectors.txt."
        )
    known, vectors = estimator.word_vectors()
    with beside(out) as part:
        left_out = write(part, known, vectors)
    if left_out:
        say(
            Message(
                "{count:,} tokens have a space in them, or nothing else, and are left out",
                count=left_out,
            )
        )
    say(
        "{rows:,} vectors of {width:,} numbers, written to {file}",
        rows=len(known) - left_out,
        width=vectors.shape[1],
        file=out,
    )
    finish(
        {
            "run": str(run),
            "words": len(known) - left_out,
            "width": vectors.shape[1],
            "out": str(out),
        },
        as_json,
        quiet=True,
    )
