"""Commands that make a run and use it: train, evaluate, predict, import, export."""

import time
from functools import partial
from os.path import isfile
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import advice, completion
from wenmai.cli.arguments import (
    DATA,
    AsJson,
    Columns,
    Data,
    Delimiter,
    Device,
    MaxLine,
    MaxRows,
    Quiet,
    Replace,
    Run,
    Seed,
    Set,
    SkipBad,
    Spreadsheet,
    Target,
    Task,
    Test,
    Unseen,
)
from wenmai.cli.given import (
    COMMANDS_OWN,
    alone,
    columns_from,
    delimiter_from,
    lines_given,
    load_run,
    settings_from,
    table_for,
)
from wenmai.cli.output import SILENT, finish, phase, say, say_scores, show
from wenmai.errors import Mistake, typed, unknown
from wenmai.locale import Listed, Message, language

ENGINES = ("local", "spark")


def train(
    context: typer.Context,
    rung: Annotated[
        str,
        typer.Argument(
            help="A rung of the ladder (see `wenmai rungs`).", autocompletion=completion.rungs
        ),
    ] = "",
    source: Annotated[str, typer.Argument(help=DATA, autocompletion=completion.data)] = "",
    target: Target = "",
    valid: Annotated[
        str,
        typer.Option(help="Validation rows: a file, two (a.en,a.de), or a share; 0.1 unless said."),
    ] = "",
    test: Test = "",
    columns: Columns = "",
    task: Task = "",
    unseen: Unseen = False,
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    minutes: Annotated[
        float,
        typer.Option(min=0.0, help="Train for about so long; without it, for a number of epochs."),
    ] = 0.0,
    settings: Set = [],  # noqa: B006 (typer reads the default, nobody changes it)
    seed: Seed = 0,
    device: Device = "auto",
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="On a GPU too, the same seed gives the same.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The run folder; runs/DATA-RUNG without it.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="What counting n-grams may take, such as 2G; the rest goes to disk.")
    ] = "",
    engine: Annotated[str, typer.Option(help="Where n-grams are counted: local, or spark.")] = "",
    start: Annotated[
        Path | None, typer.Option("--from", help="Start from this run, checkpoint or OWNER/MODEL.")
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, help="Keep so many checkpoints on the way, for inspect --steps.")
    ] = 0,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the training of this run folder, which was stopped."),
    ] = None,
    replace: Replace = False,
    events: Annotated[
        bool, typer.Option("--events", help="Print how it goes on as JSON, a line each.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train one rung on your data and keep it as a run folder."""
    began = time.perf_counter()
    if resume is None and not (rung and source):
        raise Mistake(
            "train needs a rung and data, as in wenmai train gru reviews.csv; `wenmai rungs` lists the rungs."
        )
    if resume is not None:
        alone(context, resume)
    else:
        advice.check_train_order(rung, source)
    if start:
        from wenmai.exchange.hugging_face import place_of

        start = place_of(start, say)
    from wenmai.page.terminal import bars

    if events:
        from wenmai.cli.output import event_lines

    with event_lines() if events else bars(SILENT.get()) as draw:
        draw(rung or resume.name, Message("reading"), None)
        from wenmai.catalog import TASKS
        from wenmai.cli import training

        if resume is not None:
            result = training.go_on(resume, draw, say)
        else:
            more = {"deterministic": True} if deterministic else {}
            more |= {
                name: value for name, value in (("memory", memory), ("engine", engine)) if value
            }
            arguments = {
                "rung": rung,
                "source": source,
                "target": target or None,
                "valid": valid or None,
                "test": test or None,
                "task": task or None,
                "columns": columns_from(columns),
                "unseen": unseen,
                "minutes": minutes,
                "delimiter": delimiter_from(delimiter),
                "skip_bad": skip_bad,
                "max_line": max_line,
                "max_rows": max_rows,
                "seed": seed,
                "device": device,
                "settings": settings_from(settings, COMMANDS_OWN) | more,
                "from": str(start) if start else None,
                "keep": keep,
            }
            result = training.begin(arguments, out, draw, say, replace, began)
    if not result:  # another process of torchrun's speaks
        return
    say_scores(result["scores"], as_json, result.get("unit", ""))
    command = TASKS[result["task"]].profile.next_command.format(run=typed(Path(result["run"])))
    say(
        "{seconds:.1f} s; kept in {run}. Next: wenmai {command}",
        seconds=result["seconds"],
        run=result["run"],
        command=command,
    )
    finish(result, as_json, quiet=True)


def evaluate(
    run: Run,
    source: Data,
    target: Target = "",
    columns: Columns = "",
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    ways: Annotated[
        list[str],
        typer.Option("--set", help="Judge a text otherwise too: stride=, cache=, dynamic=."),
    ] = [],  # noqa: B006
    tune: Annotated[
        str, typer.Option(help="A text on which the cache and the rate of dynamic= are fitted.")
    ] = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a run on other data."""
    import time

    from wenmai.data.dataset import part_of
    from wenmai.data.files.opening import allow
    from wenmai.evaluation import groups
    from wenmai.page.leaderboard import group_table
    from wenmai.page.terminal import console

    if not isfile(run / "run.json"):
        advice.check_run_order("evaluate", run, [source])
    allow(max_line, max_rows)
    estimator, asked = load_run(run, device), settings_from(ways)
    if (asked or tune) and not hasattr(estimator, "perplexity"):
        raise Mistake(
            "{run} does {task}, and --set and --tune say how a running text is judged, by a run that does generate; "
            "leave them out.",
            run=run,
            task=estimator.task_name,
        )
    with phase(source, Message("reading")):
        part = part_of(
            table_for(estimator, source, columns, target or None, delimiter),
            estimator.task_,
            skip_bad,
        )
    if tune:
        asked["tune"] = part_of(
            table_for(estimator, tune, columns, None, delimiter), estimator.task_, skip_bad
        ).inputs
    began = time.perf_counter()
    with phase(source, Message("scoring")):
        scores, by_group = groups.evaluate(estimator, part, **asked)
        scores = {"test": scores}
    unit = estimator.task_.profile.unit(estimator.inputs_)
    say_scores(scores, as_json, unit)
    if by_group and not as_json:
        console.print(group_table(by_group, language()))
    notes = part.notes + scores["test"].notes
    for note in notes:
        say(note)
    finish(
        {
            "run": str(run),
            "task": estimator.task_name,
            "rung": estimator.rung,
            "scores": scores,
            **({"unit": unit} if unit else {}),
            **({"groups": by_group} if by_group else {}),
            "rows": len(part),
            "notes": notes,
            "seconds": round(time.perf_counter() - began, 2),
        },
        as_json,
        quiet=True,
    )


def predict(
    run: Run,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Texts, labels, numbers as 1,2,3, images; pairs two by two; - reads "
            "them from standard input, one a line."
        ),
    ] = None,
    file: Annotated[
        str, typer.Option(help="A file of inputs: the training columns without the answer.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")
    ] = None,
    columns: Columns = "",
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    spreadsheet: Spreadsheet = False,
    top: Annotated[
        int, typer.Option(min=0, help="Show so many of the most probable labels for each.")
    ] = 0,
    engine: Annotated[
        str, typer.Option(help="Where a file is answered for: local, or spark.")
    ] = "local",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Answer for inputs given here, or for a file of any size."""
    from wenmai.cli.answers import answer_file, in_words, read_arguments
    from wenmai.data.files.opening import allow

    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if engine == "spark" and not file and inputs and len(inputs) == 1:
        inputs, file = None, inputs[0]
    if engine == "spark" and inputs:
        raise Mistake(
            "--engine spark answers for one file: found {count} inputs; give it as --file FILE.",
            count=len(inputs),
        )
    if inputs == ["-"]:
        inputs = lines_given()
    if bool(inputs) == bool(file):
        both = Message("give either inputs or --file FILE: there is both.")
        raise Mistake(
            both
            if inputs
            else Message("give either inputs or --file FILE: there is nothing to answer for.")
        )
    if out and not file:
        raise Mistake("--out goes with --file; inputs given here are answered here.")
    if not isfile(run / "run.json"):
        advice.check_run_order("predict", run, inputs or [file])
    estimator, how = load_run(run, device), {"top_k": top} if top else {}
    if top and not hasattr(estimator.task_, "ranked"):
        raise Mistake(
            "--top goes with labels, and {run} does {task}; leave it out.",
            run=run,
            task=estimator.task_name,
        )
    if file:
        allow(max_line, max_rows)
        table = table_for(estimator, file, columns, delimiter=delimiter, predict=True)
        answered = on_spark(estimator, run, device) if engine == "spark" else None
        return finish(
            answer_file(estimator, table, out, as_json, spreadsheet, skip_bad, answered, **how),
            as_json,
            quiet=True,
        )
    answers = estimator.answers(read_arguments(estimator, inputs), **how)
    for note in answers.notes:
        say(note)
    if not as_json:
        for answer in answers:
            show(in_words(answer))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def on_spark(estimator, run: Path, device: str):
    from wenmai.serving import spark

    if estimator.task_.history:
        raise Mistake(
            "{run} forecasts what follows the last rows of a file, which is one answer; leave --engine out.",
            run=run,
        )
    return partial(spark.answered, run, device)


def import_(
    file: Annotated[
        str,
        typer.Argument(
            help="An ARPA file of n-grams, a Hugging Face folder, or OWNER/MODEL of its hub."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME without it.")] = None,
    layout: Annotated[str | None, typer.Option(help="Of n-grams: fast, or small on disk.")] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="How n-grams cut texts: spaces, or characters.")
    ] = None,
    replace: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Make a run of a model that another tool wrote."""
    from wenmai.data.dataset import everywhere
    from wenmai.exchange import arpa_files, hugging_face
    from wenmai.training.run_folder import check_place

    place = hugging_face.place_of(file, say)
    if not place.exists() and "." not in place.name:
        raise Mistake(
            "{file} is not there: expected an ARPA file, a folder with a config.json, {packages}, or a name of the "
            "hub, which has a / in it, as in google-bert/bert-base-chinese.",
            file=file,
            packages=Listed(hugging_face.PACKAGES),
        )
    folder = out or Path("runs") / (
        Path(file).resolve().name if place.is_dir() else place.name.split(".")[0]
    )
    about = {"data": everywhere(file)}
    check_place(folder, about, replace=replace)
    if hugging_face.is_checkpoint(place):
        for name, value in (("layout", layout), ("tokenizer", tokenizer)):
            if value is not None:
                raise Mistake(
                    "--{name} is for n-grams, and {file} is another kind of model; leave it out.",
                    name=name,
                    file=file,
                )
        model, more = hugging_face.imported(place), {}
        size = Message("{weights:,} weights", weights=model.model_.parameters_count())
    else:
        model = arpa_files.imported(file, layout or "fast", tokenizer or "spaces")
        more = {"order": model.options["order"]}
        size = Message(
            "{grams:,} n-grams up to order {order}", grams=model.model_.parameters_count(), **more
        )
    model.save(folder, replace, **about)
    for note in model.notes_ if not more else ():
        say(note)
    command = model.task_.profile.next_command.format(run=typed(folder))
    say("{size}; kept in {run}. Next: wenmai {command}", size=size, run=folder, command=command)
    finish(
        {"run": str(folder), "task": model.task_name, "rung": model.rung, **more},
        as_json,
        quiet=True,
    )


def export(
    run: Run,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="arpa: n-grams as text; hf: a folder that transformers loads; onnx: "
            "graphs for onnxruntime.",
        ),
    ] = "arpa",
    out: Annotated[
        Path | None, typer.Option(help="The file (.gz, .xz, .zst are packed), or the folder.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="onnx: weights in 8 bits; what that costs is measured.")
    ] = False,
    data: Annotated[
        str, typer.Option(help="onnx: rows with answers, on which the cost of 8 bits is measured.")
    ] = "",
    columns: Columns = "",
    delimiter: Delimiter = "",
    as_json: AsJson = False,
) -> None:
    """Write a run as a file that other tools read."""
    from wenmai.exchange import arpa_files, exporting

    folder = form in ("hf", "onnx")
    if form != "onnx" and (int8 or data):
        raise Mistake("--int8 and --data go with --format onnx; leave them out.")
    out, model = (
        out or Path(f"{run.name}-{form}" if folder else f"{run.name}.{form}"),
        load_run(run, "cpu"),
    )
    result = {"run": str(run), "format": form, "out": str(out)}
    if form == "onnx":
        notes = export_onnx(model, out, int8, data, columns, delimiter, result)
    else:
        note = (
            exporting.exported(model, out)
            if form == "hf"
            else arpa_files.exported(model, form, out)
        )
        notes = [note] if note else []
    say("written to {file}", file=out)
    for note in notes:
        say(note)
    finish(result, as_json, quiet=True)


def export_onnx(
    model, out: Path, int8: bool, data: str, columns: str, delimiter: str, result: dict
) -> list[Message]:
    """What is worth saying; what was found is added to the result."""
    from wenmai.data.dataset import part_of
    from wenmai.exchange import onnx_files

    began, part = time.perf_counter(), None
    if data and not int8:
        raise Mistake(
            "--data is for --int8, whose loss is measured on it; leave it out, or ask for --int8."
        )
    if data:
        with phase(data, Message("reading")):
            part = part_of(table_for(model, data, columns, None, delimiter), model.task_)
    with phase(out.name, Message("writing")):
        made = onnx_files.exported(model, out, int8, part)
    size = sum(count for name, count in made.files.items() if name.endswith(".onnx"))
    seconds = round(time.perf_counter() - began, 2)
    result |= {"files": made.files, "difference": made.difference, "seconds": seconds}
    result |= (
        {"scores": made.scores}
        if made.scores
        else {}
        if made.agreement is None
        else {"agreement": made.agreement}
    )
    note = Message(
        "{size:.1f} MB in {seconds:.1f} s; loaded again, in float32 at most {apart:.0e} from torch",
        size=size / 1e6,
        seconds=seconds,
        apart=made.difference,
    )
    return [note, *made.notes]
