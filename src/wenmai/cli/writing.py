"""Commands that write texts, and that weigh them: generate, compose, translate, fill, filter."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli.arguments import (
    AsJson,
    Columns,
    Delimiter,
    Device,
    Run,
    Seed,
    Spreadsheet,
    Temperature,
    TopK,
    TopP,
)
from wenmai.cli.given import load_run, table_for
from wenmai.cli.output import finish, json_line, say, show
from wenmai.errors import Mistake
from wenmai.locale import Message

LANGUAGE_MODEL = (
    "generate",
    "ngram corpus.txt",
)  # the verb that is asked of a run, and what trains one that has it
COMPOSER = "compose", "gru languages --task compose"
TRANSLATOR = "translate", "attention dates"
ENCODER = "fill", "bert corpus.txt"


def generate(
    run: Run,
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="Write so many tokens at the most.")] = 100,
    lines: Annotated[
        int, typer.Option(min=0, help="Stop after so many lines; 0 goes on through their ends.")
    ] = 0,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    complete: Annotated[
        int, typer.Option(min=0, help="Show so many of the most probable next tokens instead.")
    ] = 0,
    beginning: Annotated[
        str, typer.Option(help="With --complete: only tokens that begin so.")
    ] = "",
    stream: Annotated[
        bool, typer.Option("--stream", help="With --json: a line for every piece, the whole last.")
    ] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Go on with a text; it is written as it comes, token by token."""
    if beginning and not complete:
        raise Mistake(
            "--beginning goes with --complete N, of the next tokens those that begin so; a text begins with --prompt."
        )
    model = load_run(run, device, *LANGUAGE_MODEL)
    if complete:
        likely = model.complete(prompt, complete, beginning)
        for token, probability in () if as_json else likely:
            show(f"{probability:.4f}\t{json_line(token)[1:-1]}")
        answers = [
            {"token": token, "probability": round(probability, 6)} for token, probability in likely
        ]
        return finish({"run": str(run), "answers": answers}, as_json, quiet=True)
    chance = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    pieces = model.stream(prompt, tokens=tokens, lines=lines or None, **chance)
    text = shown_as_written(
        as_json_lines(pieces) if as_json and stream else pieces, as_json, prompt
    )
    finish({"run": str(run), "answers": [{"text": prompt + text}]}, as_json, quiet=True)


def as_json_lines(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        print(json_line({"piece": piece}), flush=True)
        yield piece


def shown_as_written(pieces: Iterable[str], quiet: bool, before: str = "") -> str:
    """The text of these pieces; each is shown as soon as it is there, the first after what stands `before` it."""
    written = []
    for piece in pieces:
        if not quiet:
            show(piece if written else before + piece, end="")
        written.append(piece)
    if not quiet:
        show("" if written else before)
    return "".join(written)


def compose(
    run: Run,
    inputs: Annotated[
        list[str],
        typer.Argument(help="What to write for: labels; numbers as 1,2,3; paths of images."),
    ],
    count: Annotated[int, typer.Option(help="How many texts are written for each.")] = 1,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Write texts for a label, a row of numbers or an image, token by token."""
    from wenmai.cli.answers import read_arguments

    if count < 1:
        raise Mistake("count={count}: expected 1 or more, how many texts are written.", count=count)
    model, answers = load_run(run, device, *COMPOSER), []
    values = read_arguments(model, inputs)
    for argument, value in zip(inputs, values):
        for number in range(count):
            pieces = model.stream(
                value, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed + number
            )
            text = shown_as_written(pieces, as_json, f"{argument}\t" if len(inputs) > 1 else "")
            answers.append({"input": argument, "text": text})
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


EXCLUDED_BY = {  # options of translate → those that leave them without an effect
    "alignment": ("file", "stream", "temperature"),
    "best": ("file", "stream"),
    "beam": ("stream", "temperature"),
    "penalty": ("stream", "temperature"),
    "precision": ("stream", "temperature"),
    "temperature": ("file",),
    "stream": ("file",),
}


def translate(
    context: typer.Context,
    run: Run,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to translate, or to make short.")
    ] = None,
    file: Annotated[
        str, typer.Option(help="A file of texts, one a line, or with a column source.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")
    ] = None,
    columns: Columns = "",
    delimiter: Delimiter = "",
    spreadsheet: Spreadsheet = False,
    beam: Annotated[
        int,
        typer.Option(
            help="How many texts are kept at every step; 1 takes the most probable token."
        ),
    ] = 5,
    penalty: Annotated[
        float,
        typer.Option(help="What long texts are helped by: Σ log p is divided by length^penalty."),
    ] = 1.0,
    best: Annotated[
        int, typer.Option(help="Show so many of the best for each, with their scores.")
    ] = 1,
    temperature: Annotated[
        float, typer.Option(help="Draw by chance instead, at this temperature; 0 searches.")
    ] = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Show for each token that was written where it looked."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a text that is longer than the model reads.")
    ] = False,
    precision: Annotated[
        str, typer.Option(help="float32, or bf16: faster for many texts, a little less exact.")
    ] = "float32",
    stream: Annotated[
        bool, typer.Option("--stream", help="Write token by token, each the most probable.")
    ] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Write a text for a text: in another language, or shorter."""
    from wenmai.cli.answers import aligned, answer_file

    if bool(texts) == bool(file):
        both = Message("give either texts or --file FILE: there is both.")
        raise Mistake(
            both
            if texts
            else Message("give either texts or --file FILE: there is nothing to translate.")
        )
    if out and not file:
        raise Mistake("--out goes with --file; texts given here are answered here.")
    for option, without in EXCLUDED_BY.items():
        other = next((name for name in without if context.params[name]), None)
        if other and context.get_parameter_source(option).name == "COMMANDLINE":
            raise Mistake(
                "--{option} does nothing together with --{other}; leave one of them out.",
                option=option,
                other=other,
            )
    if (top_k or top_p < 1) and not temperature:
        raise Mistake(
            "--top-k and --top-p say what is drawn from, and nothing is drawn by chance; add --temperature 1."
        )
    model = load_run(run, device, *TRANSLATOR)
    search, chance = (
        {"beam": beam, "penalty": penalty, "strict": strict, "precision": precision},
        {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            "strict": strict,
        },
    )
    if file:
        table = table_for(model, file, columns, delimiter=delimiter, predict=True)
        return finish(
            answer_file(model, table, out, as_json, spreadsheet, **search), as_json, quiet=True
        )
    if stream:
        answers = [
            {"text": shown_as_written(model.stream(text, **chance), as_json)} for text in texts
        ]
    elif temperature:
        answers = [
            {"text": written} for text in texts for written in model.sample(text, best, **chance)
        ]
    else:
        answers = model.answers(texts, **search, best=best, alignment=alignment)
        for note in answers.notes:
            say(note)
    for answer in [] if as_json or stream else answers:
        show(
            "\n".join(f"{one['score']:.4f}\t{one['text']}" for one in answer.get("best", ()))
            or answer["text"]
        )
        if alignment:
            show(aligned(answer))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def fill(
    run: Run,
    texts: Annotated[
        list[str], typer.Argument(help="Texts with [MASK] where a word is to be filled in.")
    ],
    top: Annotated[
        int, typer.Option(min=1, help="Show so many of the most probable words for each.")
    ] = 5,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Fill in hidden words: the most probable for every [MASK]."""
    model, answers = load_run(run, device, *ENCODER), []
    for text in texts:
        masks = model.fill(text, top)
        answers.append({"text": text, "masks": masks})
        for number, words in enumerate(masks, 1) if not as_json else ():
            if len(texts) > 1 or len(masks) > 1:
                show(str(Message("{text}, place {number}:", text=text, number=number)))
            show("\n".join(f"{one['probability']:.4f}\t{one['word']}" for one in words))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def filter_(
    run: Run,
    file: Annotated[
        str,
        typer.Argument(help="Lines or JSON objects (.jsonl), packed or not; - is standard input."),
    ],
    max_perplexity: Annotated[float, typer.Option(help="Keep what is at most this.")] = float(
        "inf"
    ),
    min_perplexity: Annotated[float, typer.Option(help="Keep what is at least this.")] = 0.0,
    out: Annotated[
        Path | None,
        typer.Option(help="Where it goes (.gz, .xz, .zst: packed); standard output without it."),
    ] = None,
    column: Annotated[str, typer.Option(help="In JSON objects, where the text stands.")] = "text",
    form: Annotated[
        str, typer.Option("--format", help="lines or jsonl; auto: what the name says.")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Keep the lines of a file, of any size, that a language model finds likely enough."""
    from wenmai.serving.filtering import filtered

    if as_json and out is None:
        raise Mistake(
            "--json goes with --out FILE: what is kept would stand before it on standard output; --out /dev/null only "
            "counts."
        )
    counts = filtered(
        load_run(run, "cpu", *LANGUAGE_MODEL),
        file,
        min_perplexity,
        max_perplexity,
        out,
        column,
        form,
    )
    say(
        "{rows:,} rows read, {kept:,} kept, {dropped:,} dropped",
        rows=counts["rows"],
        kept=counts["kept"],
        dropped=counts["dropped"],
    )
    if counts["rows"]:
        shares = {
            share: "∞" if value is None else f"{value:.4g}"
            for share, value in counts["perplexity"].items()
        }
        say(
            "perplexity: {quantiles}",
            quantiles=", ".join(f"{share} {value}" for share, value in shares.items()),
        )
    finish({"run": str(run), **counts} | ({"out": str(out)} if out else {}), as_json, quiet=True)
