"""The command that asks a text: answer."""

from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli.arguments import AsJson, Columns, Delimiter, Device, Run, SkipBad, Spreadsheet
from wenmai.cli.given import load_run, table_for
from wenmai.cli.output import finish, say, show
from wenmai.errors import Mistake
from wenmai.locale import Message

ANSWERER = (
    "answer",
    "bert squad.json",
)  # the verb that is asked of a run, and what trains one that has it
AROUND = 40  # characters of the context that are shown on either side of an answer


def answer(
    run: Run,
    context: Annotated[
        str | None, typer.Option(help="The text that is asked: a file, or the text itself.")
    ] = None,
    question: Annotated[list[str], typer.Option(help="What is asked of it. May be repeated.")] = [],  # noqa: B006
    choice: Annotated[list[str], typer.Option(help="An answer to choose among; two or more.")] = [],  # noqa: B006
    best: Annotated[
        int, typer.Option(min=1, help="Show so many of the best answers for each.")
    ] = 1,
    file: Annotated[
        str, typer.Option(help="A file with the columns context and question (SQuAD's JSON too).")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")
    ] = None,
    columns: Columns = "",
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    spreadsheet: Spreadsheet = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Answer questions about a text: by a part of it, by a choice, or in words of its own."""
    from wenmai.cli.answers import answer_file

    if (context is not None) == bool(file):
        both = Message("give either --context and --question, or --file FILE: there is both.")
        nothing = Message(
            "give either --context and --question, or --file FILE: there is nothing to ask."
        )
        raise Mistake(both if file else nothing)
    if file and (question or choice):
        raise Mistake(
            "--question and --choice go with --context; with --file, both stand in its columns."
        )
    if out and not file:
        raise Mistake("--out goes with --file; questions given here are answered here.")
    if context is not None and not question:
        raise Mistake("--context needs a --question, which may be repeated.")
    model = load_run(run, device, *ANSWERER)
    more = {"best": best} if best > 1 else {}
    if file:
        table = table_for(model, file, columns, delimiter=delimiter, predict=True)
        return finish(
            answer_file(model, table, out, as_json, spreadsheet, skip_bad, **more),
            as_json,
            quiet=True,
        )
    text = text_of(context)
    answers = model.answers(
        [(text, one, *([choice] if choice else [])) for one in question], **more
    )
    for note in answers.notes:
        say(note)
    for one, answered in zip(question, [] if as_json else answers):
        lines = [in_words(each, text) for each in answered.get("best", [answered])]
        show("\n".join(([one] if len(question) > 1 else []) + lines))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def text_of(context: str) -> str:
    """A file's text, or the text itself; a long text is no name of a file."""
    from wenmai.data.files.opening import find, text_file

    try:
        there = len(context) < 1000 and Path(context).is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        return context
    with text_file(find(context), context).open(lines=False) as text:
        return "".join(iter(lambda: text.read(1 << 20), ""))


def in_words(answer: dict, text: str) -> str:
    """The answer, how probable it is, and what stands around it."""
    words = answer.get("answer", answer.get("text", ""))
    parts = [words or str(Message("no answer"))]
    if "probability" in answer:
        parts.append(f"{answer['probability']:.4f}")
    if words and answer.get("end"):
        start, end = answer["start"], answer["end"]
        before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        parts.append(f"{start}–{end}")
        parts.append(" ".join(f"…{before}[{text[start:end]}]{after}…".split()))
    return "\t".join(parts)
