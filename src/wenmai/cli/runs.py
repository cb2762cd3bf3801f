"""Commands that make a run and use it: train, evaluate, predict, import, export."""

from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli.arguments import DATA, AsJson, Columns, Data, Device, Run, Seed, Set, Target, Task, Test, Unseen
from wenmai.cli.given import columns_from, load_run, settings_from
from wenmai.cli.output import finish, say, say_scores
from wenmai.errors import Mistake
from wenmai.locale import Message


def train(
    rung: Annotated[str, typer.Argument(help="A rung of the ladder (see `wenmai rungs`).")] = "",
    source: Annotated[str, typer.Argument(help=DATA)] = "",
    target: Target = "",
    valid: Annotated[str, typer.Option(help="Validation rows: a file, two (a.en,a.de), or a share; 0.1 unless said.")] = "",
    test: Test = "", columns: Columns = "", task: Task = "", unseen: Unseen = False,
    minutes: Annotated[float, typer.Option(min=0.0, help="Train for about so long; without it, for a number of epochs.")] = 0.0,
    settings: Set = [],  # noqa: B006 (typer reads the default, nobody changes it)
    seed: Seed = 0, device: Device = "auto",
    deterministic: Annotated[bool, typer.Option("--deterministic", help="On a GPU too, the same seed gives the same.")] = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/DATA-RUNG without it.")] = None,
    memory: Annotated[str, typer.Option(help="What counting n-grams may take, such as 2G; the rest goes to disk.")] = "",
    engine: Annotated[str, typer.Option(help="Where n-grams are counted: local, or spark.")] = "",
    start: Annotated[Path | None, typer.Option("--from", help="Start from this run: its tokenizer, inputs and body.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the training of this run folder, which was stopped.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Train one rung on your data and keep it as a run folder."""
    if resume is None and not (rung and source):
        raise Mistake("train needs a rung and data, as in wenmai train gru reviews.csv; `wenmai rungs` lists the rungs.")
    if resume is not None and (rung or source or out or start):
        raise Mistake("--resume {folder} goes on as it was begun: leave out rung, data, --from and --out.", folder=resume)
    from wenmai.catalog import TASKS
    from wenmai.cli import training
    from wenmai.page.terminal import bars

    with bars() as draw:
        if resume is not None:
            result = training.go_on(resume, draw, say)
        else:
            more = {"deterministic": True} if deterministic else {}
            more |= {name: value for name, value in (("memory", memory), ("engine", engine)) if value}
            arguments = {"rung": rung, "source": source, "target": target or None, "valid": valid or None, "test": test or None,
                         "task": task or None, "columns": columns_from(columns), "unseen": unseen, "minutes": minutes,
                         "seed": seed, "device": device, "settings": settings_from(settings) | more,
                         "from": str(start) if start else None}  # fmt: skip
            result = training.begin(arguments, out, draw, say)
    if not result:  # another process of torchrun's speaks
        return
    say_scores(result["scores"], result.get("unit", ""))
    command = TASKS[result["task"]].profile.next_command.format(run=result["run"])
    say("{seconds:.1f} s; kept in {run}. Next: wenmai {command}", seconds=result["seconds"], run=result["run"], command=command)
    finish(result, as_json, quiet=True)


def evaluate(
    run: Run, source: Data, target: Target = "", columns: Columns = "",
    ways: Annotated[list[str], typer.Option("--set", help="Judge a text otherwise too: stride=, cache=, dynamic=.")] = [],  # noqa: B006
    tune: Annotated[str, typer.Option(help="A text on which the cache and the rate of dynamic= are fitted.")] = "",
    device: Device = "auto", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Score a run on other data."""
    import time

    from wenmai.data.dataset import open_table, part_of

    estimator, asked = load_run(run, device), settings_from(ways)
    if (asked or tune) and not hasattr(estimator, "perplexity"):
        raise Mistake("{run} does {task}, and --set and --tune say how a running text is judged, by a run that does generate; "
                      "leave them out.", run=run, task=estimator.task_name)  # fmt: skip
    part = part_of(open_table(source, columns_from(columns), target or None, estimator.task_), estimator.task_)
    if tune:
        asked["tune"] = part_of(open_table(tune, columns_from(columns), task=estimator.task_), estimator.task_).inputs
    began = time.perf_counter()
    scores = {"test": estimator.evaluate(*part.pair, part.where, **asked)}
    unit = estimator.task_.profile.unit(estimator.inputs_)
    say_scores(scores, unit)
    notes = scores["test"].notes
    for note in notes:
        say(note)
    finish({"run": str(run), "task": estimator.task_name, "rung": estimator.rung, "scores": scores,
            **({"unit": unit} if unit else {}), "rows": len(part), "notes": notes,
            "seconds": round(time.perf_counter() - began, 2)}, as_json, quiet=True)  # fmt: skip


def predict(
    run: Run,
    inputs: Annotated[list[str] | None, typer.Argument(help="Texts, labels, numbers as 1,2,3, images; pairs two by two.")] = None,
    file: Annotated[str, typer.Option(help="A file of inputs: the training columns without the answer.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")] = None,
    columns: Columns = "", device: Device = "auto", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Answer for inputs given here, or for a file of any size."""
    from wenmai.cli.answers import answer_file, in_words, read_arguments
    from wenmai.data.dataset import open_table

    if bool(inputs) == bool(file):
        both = Message("give either inputs or --file FILE: there is both.")
        raise Mistake(both if inputs else Message("give either inputs or --file FILE: there is nothing to answer for."))
    if out and not file:
        raise Mistake("--out goes with --file; inputs given here are answered here.")
    estimator = load_run(run, device)
    if file:
        table = open_table(file, columns_from(columns), task=estimator.task_)
        return finish(answer_file(estimator, table, out, as_json), as_json, quiet=True)
    answers = estimator.answers(read_arguments(estimator, inputs))
    for note in answers.notes:
        say(note)
    if not as_json:
        for answer in answers:
            print(in_words(answer))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def import_(
    file: Annotated[str, typer.Argument(help="A model of another tool: an ARPA file of n-grams, packed or not.")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME without it.")] = None,
    layout: Annotated[str, typer.Option(help="fast, or small on disk.")] = "fast",
    tokenizer: Annotated[str, typer.Option(help="How it cuts texts: spaces, or characters.")] = "spaces",
    as_json: AsJson = False,
) -> None:
    """Make a run of a model that another tool wrote."""
    from wenmai.exchange.arpa_files import imported
    from wenmai.training.run_folder import check_place

    folder = out or Path("runs") / Path(file).name.split(".")[0]
    check_place(folder)
    model = imported(file, layout, tokenizer)
    model.save(folder, data=file)
    say("{grams:,} n-grams up to order {order}; kept in {run}. Next: wenmai generate {run}",
        grams=model.model_.parameters_count(), order=model.options["order"], run=folder)  # fmt: skip
    result = {"run": str(folder), "task": model.task_name, "rung": model.rung, "order": model.options["order"]}
    finish(result, as_json, quiet=True)


def export(
    run: Run,
    form: Annotated[str, typer.Option("--format", help="arpa: n-grams as text, which every toolkit reads.")] = "arpa",
    out: Annotated[Path | None, typer.Option(help="The file (.gz, .xz, .zst are packed); the run's name without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run as a file that other tools read."""
    from wenmai.exchange.arpa_files import exported

    out = out or Path(f"{run.name}.{form}")
    note = exported(load_run(run, "cpu"), form, out)
    say("written to {file}", file=out)
    if note:
        say(note)
    finish({"run": str(run), "format": form, "out": str(out)}, as_json, quiet=True)
