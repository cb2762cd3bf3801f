"""Arguments that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import completion, output
from wenmai.locale import Message

DATA = Message(
    "A file, two aligned ones (a.en,a.de), a folder, or a built-in set (see `wenmai data`)."
)
Data = Annotated[str, typer.Argument(help=DATA, autocompletion=completion.data)]
Run = Annotated[
    Path,
    typer.Argument(help="A run folder that `wenmai train` made.", autocompletion=completion.runs),
]
Columns = Annotated[
    str, typer.Option(help="Which column is what: text=0,label=1 (names or positions).")
]
Delimiter = Annotated[
    str,
    typer.Option(
        help="What stands between cells of a text file: comma, semicolon, tab, or the mark."
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Leave out rows that cannot be read, such as those without a label."
    ),
]
MaxLine = Annotated[
    int,
    typer.Option(
        "--max-line", min=0, help="Bytes that a line of a file may have, where it has to be long."
    ),
]
MaxRows = Annotated[
    int,
    typer.Option(
        "--max-rows", min=0, help="Rows that a file may have, however well they are packed."
    ),
]
Spreadsheet = Annotated[
    bool, typer.Option("--spreadsheet", help="In .csv and .tsv, keep = + - @ from being a formula.")
]
Task = Annotated[str, typer.Option(help="The task, where the data does not say it.")]
Valid = Annotated[
    str,
    typer.Option(
        help="Validation rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1."
    ),
]
Test = Annotated[
    str,
    typer.Option(help="Test rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1."),
]
Target = Annotated[
    str,
    typer.Option(
        "--target", help="The second of two aligned files: a line of it for every line of DATA."
    ),
]
Unseen = Annotated[
    bool,
    typer.Option(
        "--unseen", help="Drop valid and test rows whose input stands in the training rows."
    ),
]
Set = Annotated[
    list[str],
    typer.Option(
        "--set", help="An option, key=value; `wenmai rungs RUNG` lists them. May be repeated."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**63 - 1, help="The same seed gives the same result.")
]
Temperature = Annotated[
    float, typer.Option(help="0 takes the most probable token every time; 1 draws by probability.")
]
TopK = Annotated[
    int, typer.Option(help="Choose among so many of the most probable tokens; 0 is all.")
]
TopP = Annotated[
    float, typer.Option(help="Choose among the most probable tokens that together reach this.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Out = Annotated[Path, typer.Option(help="Where to write.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Also what was not finished, or is a run of other data.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        help="Say nothing but the result and what went wrong.",
        expose_value=False,
        is_eager=True,
        callback=output.silence,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
