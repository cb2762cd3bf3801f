"""The command that listens: transcribe."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli.arguments import AsJson, Columns, Delimiter, Device, Run, SkipBad, Spreadsheet
from wenmai.cli.given import load_run, table_for
from wenmai.cli.output import finish, json_line, say, show
from wenmai.errors import Mistake
from wenmai.locale import Message

TRANSCRIBER = (
    "transcribe",
    "lstm spoken-digits",
)  # the verb that is asked of a run, and what trains one that has it
LANGUAGE_MODEL = "generate", "ngram texts.txt"
BLOCK = 3200  # bytes of standard input that are heard at once


def transcribe(
    run: Run,
    sounds: Annotated[
        list[str] | None,
        typer.Argument(help="Sound files; - is raw 16-bit PCM, mono, from standard input."),
    ] = None,
    file: Annotated[
        str,
        typer.Option(
            help="A manifest with a column audio, or a folder of sounds with a labels.csv."
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")
    ] = None,
    columns: Columns = "",
    delimiter: Delimiter = "",
    spreadsheet: Spreadsheet = False,
    times: Annotated[
        bool, typer.Option("--times", help="Show for each word when it is said.")
    ] = False,
    beam: Annotated[
        int,
        typer.Option(
            help="How many texts are kept at every step; 1 takes the most probable token."
        ),
    ] = 1,
    lm: Annotated[
        Path | None,
        typer.Option(help="The run of a language model, such as ngram, that helps to choose."),
    ] = None,
    lm_weight: Annotated[
        float | None, typer.Option(help="How much it counts; as it was tuned, unless said.")
    ] = None,
    bonus: Annotated[
        float | None, typer.Option(help="What every word of it adds; as it was tuned, unless said.")
    ] = None,
    rate: Annotated[int, typer.Option(help="With -: samples a second.")] = 16_000,
    skip_bad: SkipBad = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Write what is said in sounds, and when."""
    from wenmai.cli.answers import answer_file
    from wenmai.data.files.sounds import Clips
    from wenmai.tasks.contract import Answers

    if bool(sounds) == bool(file):
        both = Message("give either sound files or --file FILE: there is both.")
        raise Mistake(
            both
            if sounds
            else Message("give either sound files or --file FILE: there is nothing to hear.")
        )
    if out and not file:
        raise Mistake("--out goes with --file; sounds given here are answered here.")
    if lm is None and (lm_weight is not None or bonus is not None):
        raise Mistake(
            "--lm-weight and --bonus say how much a language model counts; name its run with --lm."
        )
    if sounds and "-" in sounds and (len(sounds) > 1 or times or beam > 1 or lm):
        raise Mistake(
            "- is heard as it comes, by itself and greedily: leave the other files, --times, --beam and --lm out."
        )
    model = load_run(run, device, *TRANSCRIBER)
    if sounds == ["-"]:
        return heard_as_it_comes(model, run, rate, as_json)
    how = {"beam": beam, "times": times}
    if lm is not None:
        how |= {"lm": load_run(lm, "cpu", *LANGUAGE_MODEL), "lm_weight": lm_weight, "bonus": bonus}
    if file:
        table, bad = table_for(model, file, columns, delimiter=delimiter, predict=True), []
        readable = (
            replace(table, stream=lambda rows: without_bad(table, rows, model.task_, bad))
            if skip_bad
            else table
        )
        result = answer_file(model, readable, out, as_json, spreadsheet, **how)
        tell_bad(bad)
        return finish(result, as_json, quiet=True)
    bad: list[Mistake] = []
    heard = [
        (name, clip)
        for name in sounds
        if (clip := load_clip(name, bad if skip_bad else None)) is not None
    ]
    several, sounds = len(sounds) > 1, [name for name, _ in heard]
    answers = model.answers(Clips([clip for _, clip in heard]), **how) if heard else Answers([])
    tell_bad(bad)
    for note in answers.notes:
        say(note)
    for name, answer in zip(sounds, [] if as_json else answers):
        show(f"{name}\t{answer['text']}" if several else answer["text"])
        for word in answer.get("words", ()):
            show(f"  {word['start']:8.2f} – {word['end']:6.2f}  {word['word']}")
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def load_clip(name: str, bad: list | None):
    """A sound; None where it cannot be read, and such ones are gathered."""
    from wenmai.data.files.sounds import Clip

    try:
        return Clip.of(name)
    except Mistake as mistake:
        if bad is None:
            raise
        bad.append(mistake)
        return None


def without_bad(table, rows: int, task, bad: list) -> Iterator:
    """The chunks of a table without the rows whose sounds cannot be read, which are gathered."""
    from wenmai.data.values import pick

    for chunk in table.chunks(rows):
        good = []
        for row in range(len(chunk)):
            try:
                task.inputs_of(
                    replace(
                        chunk,
                        columns={
                            name: pick(values, [row]) for name, values in chunk.columns.items()
                        },
                        lines=[chunk.lines[row]],
                    ),
                    table.source,
                )
                good.append(row)
            except Mistake as mistake:
                bad.append(mistake)
        if good:
            yield replace(
                chunk,
                columns={name: pick(values, good) for name, values in chunk.columns.items()},
                lines=[chunk.lines[row] for row in good],
                beside={name: pick(values, good) for name, values in chunk.beside.items()},
            )


def tell_bad(bad: list) -> None:
    if bad:
        say(
            Message(
                "left out {count:,} of the sounds, which cannot be read; the first: {note}",
                count=len(bad),
                note=bad[0].message,
            )
        )


def heard_as_it_comes(model, run: Path, rate: int, as_json: bool) -> None:
    words = []
    for word in model.stream(samples_given(), rate):
        words.append(word)
        print(json_line({"word": word}) if as_json else word, flush=True)
    finish({"run": str(run), "answers": [{"text": " ".join(words)}]}, as_json, quiet=True)


def samples_given() -> Iterator:
    """Of standard input, from −1 to 1."""
    import numpy as np

    rest, count = b"", 0
    while data := sys.stdin.buffer.read1(BLOCK):
        data = rest + data
        even = len(data) - len(data) % 2
        rest, count = data[even:], count + even
        yield np.frombuffer(data[:even], "<i2").astype(np.float32) / 32768
    if not count:
        raise Mistake(
            "standard input is empty, expected raw 16-bit samples, as in: arecord -t raw -f S16_LE -r 16000 | wenmai "
            "transcribe RUN -"
        )
