"""The command line: one short function a command. torch is loaded inside the commands that need it, never for --help."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
import typer.main

from wenmai.errors import Mistake, Notice, Stopped, unknown
from wenmai.locale import Message, language
from wenmai.locale import translate as translated
from wenmai.locale.theirs import Theirs, usage

app = typer.Typer(
    name="wenmai",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Wenmai (文脉): the ladder of language models. Train every rung on your text, compare, predict.",
)

DATA = Message("A file, two aligned ones (a.en,a.de), a folder, or a built-in set (see `wenmai data`).")
Data = Annotated[str, typer.Argument(help=DATA)]
Run = Annotated[Path, typer.Argument(help="A run folder that `wenmai train` made.")]
Columns = Annotated[str, typer.Option(help="Which column is what: text=0,label=1 (names or positions).")]
Task = Annotated[str, typer.Option(help="The task, where the data does not say it.")]
Valid = Annotated[str, typer.Option(help="Validation rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1.")]
Test = Annotated[str, typer.Option(help="Test rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1.")]
Target = Annotated[str, typer.Option("--target", help="The second of two aligned files: a line of it for every line of DATA.")]
Unseen = Annotated[bool, typer.Option("--unseen", help="Drop valid and test rows whose input stands in the training rows.")]
Set = Annotated[list[str], typer.Option("--set", help="An option, key=value; `wenmai rungs RUNG` lists them. May be repeated.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed gives the same result.")]
Temperature = Annotated[float, typer.Option(help="0 takes the most probable token every time; 1 draws by probability.")]
TopK = Annotated[int, typer.Option(help="Choose among so many of the most probable tokens; 0 is all.")]
TopP = Annotated[float, typer.Option(help="Choose among the most probable tokens that together reach this.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Out = Annotated[Path, typer.Option(help="Where to write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]


@app.command()
def demo(out: Out = Path("reports/languages"), minutes: float = 3.0, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Compare every rung on built-in data: which language is this name in?"""
    compare("languages", minutes=minutes, seed=seed, out=out, as_json=as_json)


@app.command()
def data(source: Annotated[str, typer.Argument()] = "", columns: Columns = "", task: Task = "", valid: Valid = "",
         test: Test = "", target: Target = "", settings: Set = [], as_json: AsJson = False) -> None:  # fmt: skip # noqa: B006
    """Show what was understood of a file; without one, list the built-in sets."""
    from wenmai.cli import overview
    from wenmai.data.builtin import BUILTIN

    if not source:
        return finish(overview.builtin_sets(BUILTIN.values(), language()), as_json)
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset, open_table, says_no_task

    if not task and (sentence := says_no_task(table := open_table(source, columns_from(columns), target or None), TASKS)):
        return finish(overview.table(table, sentence, language()), as_json)
    more = {"settings": settings_from(settings), "target": target or None}
    opened = open_dataset(source, TASKS, task or None, columns_from(columns), valid or None, test or None, **more)
    finish(overview.data_set(opened, language()), as_json)


@app.command()
def rungs(
    name: Annotated[str, typer.Argument(help="A rung, to see its options.")] = "",
    task: Annotated[str, typer.Option(help="For this task; for its first one without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the rungs of the ladder, or the options of one."""
    from wenmai.catalog import RUNGS, rung_named
    from wenmai.cli import overview
    from wenmai.estimators import ESTIMATORS

    if not name:
        return finish(overview.ladder(RUNGS.values(), language()), as_json)
    if task and task not in ESTIMATORS:
        raise unknown("task", task, ESTIMATORS)
    task = task or (RUNGS[name].tasks[0] if name in RUNGS else "")
    rung_named(name, task)
    finish(overview.options_of(ESTIMATORS[task](name), language()), as_json)


@app.command()
def train(
    rung: Annotated[str, typer.Argument(help="A rung of the ladder (see `wenmai rungs`).")] = "",
    source: Annotated[str, typer.Argument(help=DATA)] = "",
    target: Target = "",
    valid: Annotated[str, typer.Option(help="Validation rows: a file, two (a.en,a.de), or a share; 0.1 unless said.")] = "",
    test: Test = "",
    columns: Columns = "",
    task: Task = "",
    unseen: Unseen = False,
    minutes: Annotated[float, typer.Option(min=0.0, help="Train for about so long; without it, for a number of epochs.")] = 0.0,
    settings: Set = [],  # noqa: B006 (typer reads the default, nobody changes it)
    seed: Seed = 0,
    device: Device = "auto",
    deterministic: Annotated[bool, typer.Option("--deterministic", help="On a GPU too, the same seed gives the same.")] = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/DATA-RUNG without it.")] = None,
    memory: Annotated[str, typer.Option(help="What counting n-grams may take, such as 2G; the rest goes to disk.")] = "",
    engine: Annotated[str, typer.Option(help="Where n-grams are counted: local, or spark.")] = "",
    resume: Annotated[Path | None, typer.Option(help="Go on with the training of this run folder, which was stopped.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train one rung on your data and keep it as a run folder."""
    if resume is None and not (rung and source):
        raise Mistake("train needs a rung and data, as in wenmai train gru reviews.csv; `wenmai rungs` lists the rungs.")
    if resume is not None and (rung or source or out):
        raise Mistake("--resume {folder} goes on as it was begun: leave out rung, data and --out.", folder=resume)
    from wenmai.cli import training as runs
    from wenmai.page.terminal import bars

    with bars() as draw:
        if resume is not None:
            result = runs.go_on(resume, draw, say)
        else:
            more = {"deterministic": True} if deterministic else {}
            more |= {name: value for name, value in (("memory", memory), ("engine", engine)) if value}
            arguments = {"rung": rung, "source": source, "target": target or None, "valid": valid or None, "test": test or None,
                         "task": task or None, "columns": columns_from(columns), "unseen": unseen, "minutes": minutes,
                         "seed": seed, "device": device, "settings": settings_from(settings) | more}  # fmt: skip
            result = runs.begin(arguments, out, draw, say)
    if not result:  # another process of torchrun's speaks
        return
    say_scores(result["scores"], result.get("unit", ""))
    if result["task"] == "generate":
        say("{seconds:.1f} s; kept in {run}. Next: wenmai generate {run} --prompt …", seconds=result["seconds"],
            run=result["run"])  # fmt: skip
    elif result["task"] == "compose":
        say("{seconds:.1f} s; kept in {run}. Next: wenmai compose {run} …", seconds=result["seconds"], run=result["run"])
    elif result["task"] == "translate":
        say("{seconds:.1f} s; kept in {run}. Next: wenmai translate {run} …", seconds=result["seconds"], run=result["run"])
    else:
        say("{seconds:.1f} s; kept in {run}. Next: wenmai predict {run} …", seconds=result["seconds"], run=result["run"])
    finish(result, as_json, quiet=True)


@app.command()
def evaluate(
    run: Run,
    source: Data,
    target: Target = "",
    columns: Columns = "",
    ways: Annotated[list[str], typer.Option("--set", help="Judge a text otherwise too: stride=, cache=, dynamic=.")] = [],  # noqa: B006
    tune: Annotated[str, typer.Option(help="A text on which the cache and the rate of dynamic= are fitted.")] = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a run on other data."""
    import time

    from wenmai.data.dataset import open_table, part_of

    estimator, asked = load_run(run, device), settings_from(ways)
    if (asked or tune) and estimator.task_name != "generate":
        raise Mistake("{run} does {task}, and --set and --tune say how a running text is judged, by a run that does generate; "
                      "leave them out.", run=run, task=estimator.task_name)  # fmt: skip
    part = part_of(open_table(source, columns_from(columns), target or None, estimator.task_name), estimator.task_)
    if tune:
        asked["tune"] = part_of(open_table(tune, columns_from(columns), task=estimator.task_name), estimator.task_).inputs
    began = time.perf_counter()
    scores = {"test": estimator.evaluate(*part.pair, part.where, **asked)}
    unit = {"unit": estimator.inputs_.unit} if estimator.task_.metric == "perplexity" else {}
    say_scores(scores, unit.get("unit", ""))
    notes = getattr(estimator, "evaluated_", [])
    for note in notes:
        say(note)
    finish({"run": str(run), "task": estimator.task_name, "rung": estimator.rung, "scores": scores, **unit, "rows": len(part),
            "notes": notes, "seconds": round(time.perf_counter() - began, 2)}, as_json, quiet=True)  # fmt: skip


@app.command()
def predict(
    run: Run,
    inputs: Annotated[list[str] | None, typer.Argument(help="Texts, labels, numbers as 1,2,3, images; pairs two by two.")] = None,
    file: Annotated[str, typer.Option(help="A file of inputs: the training columns without the answer.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")] = None,
    columns: Columns = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
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
        table = open_table(file, columns_from(columns), task=estimator.task_name)
        return finish(answer_file(estimator, table, out, as_json), as_json, quiet=True)
    answers = estimator.answers(read_arguments(estimator, inputs))
    if not as_json:
        for answer in answers:
            print(in_words(answer))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


@app.command()
def generate(
    run: Run,
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="Write so many tokens at the most.")] = 100,
    lines: Annotated[int, typer.Option(min=0, help="Stop after so many lines; 0 goes on through their ends.")] = 0,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    complete: Annotated[int, typer.Option(min=0, help="Show so many of the most probable next tokens instead.")] = 0,
    beginning: Annotated[str, typer.Option(help="With --complete: only tokens that begin so.")] = "",
    stream: Annotated[bool, typer.Option("--stream", help="With --json: a line for every piece, the whole last.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Go on with a text; it is written as it comes, token by token."""
    if beginning and not complete:
        raise Mistake("--beginning goes with --complete N, of the next tokens those that begin so; a text begins with --prompt.")
    model = language_model(run, device)
    if complete:
        found = model.complete(prompt, complete, beginning)
        for token, probability in () if as_json else found:
            print(f"{probability:.4f}\t{json.dumps(token, ensure_ascii=False)[1:-1]}")
        answers = [{"token": token, "probability": round(probability, 6)} for token, probability in found]
        return finish({"run": str(run), "answers": answers}, as_json, quiet=True)
    pieces = []
    for piece in model.stream(prompt, tokens=tokens, lines=lines or None, temperature=temperature, top_k=top_k, top_p=top_p,
                              seed=seed):  # fmt: skip
        if not as_json:
            print(piece if pieces else prompt + piece, end="", flush=True)
        elif stream:
            print(json.dumps({"piece": piece}, ensure_ascii=False), flush=True)
        pieces.append(piece)
    if not as_json:
        print("" if pieces else prompt)
    finish({"run": str(run), "answers": [{"text": prompt + "".join(pieces)}]}, as_json, quiet=True)


@app.command()
def compose(
    run: Run,
    inputs: Annotated[list[str], typer.Argument(help="What to write for: labels; numbers as 1,2,3; paths of images.")],
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
    model, answers = composer(run, device), []
    values = read_arguments(model, inputs)
    for given, value in zip(inputs, values):
        for number in range(count):
            pieces = []
            for piece in model.stream(value, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed + number):
                if not as_json:
                    print(piece if pieces or len(inputs) == 1 else f"{given}\t{piece}", end="", flush=True)
                pieces.append(piece)
            if not as_json:
                print()
            answers.append({"input": given, "text": "".join(pieces)})
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


APART = {  # options of translate → those that leave them without an effect
    "alignment": ("file", "stream", "temperature"), "best": ("file", "stream"), "beam": ("stream", "temperature"),
    "penalty": ("stream", "temperature"), "precision": ("stream", "temperature"), "temperature": ("file",), "stream": ("file",),
}  # fmt: skip


@app.command()
def translate(
    context: typer.Context,
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to translate, or to make short.")] = None,
    file: Annotated[str, typer.Option(help="A file of texts, one a line, or with a column source.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .tsv.")] = None,
    columns: Columns = "",
    beam: Annotated[int, typer.Option(help="How many texts are kept at every step; 1 takes the most probable token.")] = 5,
    penalty: Annotated[float, typer.Option(help="What long texts are helped by: Σ log p is divided by length^penalty.")] = 1.0,
    best: Annotated[int, typer.Option(help="Show so many of the best for each, with their scores.")] = 1,
    temperature: Annotated[float, typer.Option(help="Draw by chance instead, at this temperature; 0 searches.")] = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    alignment: Annotated[bool, typer.Option("--alignment", help="Show for each token that was written where it looked.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a text that is longer than the model reads.")] = False,
    precision: Annotated[str, typer.Option(help="float32, or bf16: faster for many texts, a little less exact.")] = "float32",
    stream: Annotated[bool, typer.Option("--stream", help="Write token by token, each the most probable.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Write a text for a text: in another language, or shorter."""
    from wenmai.cli.answers import aligned, answer_file
    from wenmai.data.dataset import open_table

    if bool(texts) == bool(file):
        both = Message("give either texts or --file FILE: there is both.")
        raise Mistake(both if texts else Message("give either texts or --file FILE: there is nothing to translate."))
    if out and not file:
        raise Mistake("--out goes with --file; texts given here are answered here.")
    for option, without in APART.items():
        other = next((name for name in without if context.params[name]), None)
        if other and context.get_parameter_source(option).name == "COMMANDLINE":
            raise Mistake("--{option} does nothing together with --{other}; leave one of them out.", option=option, other=other)
    if (top_k or top_p < 1) and not temperature:
        raise Mistake("--top-k and --top-p say what is drawn from, and nothing is drawn by chance; add --temperature 1.")
    model = translator(run, device)
    search, chance = (
        {"beam": beam, "penalty": penalty, "strict": strict, "precision": precision},
        {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "strict": strict},
    )
    if file:
        table = open_table(file, columns_from(columns), task=model.task_name)
        return finish(answer_file(model, table, out, as_json, **search), as_json, quiet=True)
    if stream:
        answers = [{"text": shown_as_written(model.stream(text, **chance), as_json)} for text in texts]
    elif temperature:
        answers = [{"text": found} for text in texts for found in model.sample(text, best, **chance)]
    else:
        answers = model.answers(texts, **search, best=best, alignment=alignment)
    for answer in [] if as_json or stream else answers:
        print("\n".join(f"{one['score']:.4f}\t{one['text']}" for one in answer.get("best", ())) or answer["text"])
        if alignment:
            print(aligned(answer))
    finish({"run": str(run), "answers": answers}, as_json, quiet=True)


def shown_as_written(pieces, quiet: bool) -> str:
    written = []
    for piece in pieces:
        written.append(piece)
        if not quiet:
            print(piece, end="", flush=True)
    if not quiet:
        print()
    return "".join(written)


@app.command("filter")
def filter_(
    run: Run,
    file: Annotated[str, typer.Argument(help="Lines or JSON objects (.jsonl), packed or not; - is standard input.")],
    max_perplexity: Annotated[float, typer.Option(help="Keep what is at most this.")] = float("inf"),
    min_perplexity: Annotated[float, typer.Option(help="Keep what is at least this.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Where it goes (.gz, .xz, .zst: packed); standard output without it.")] = None,
    column: Annotated[str, typer.Option(help="In JSON objects, where the text stands.")] = "text",
    form: Annotated[str, typer.Option("--format", help="lines or jsonl; auto: what the name says.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Keep the lines of a file, of any size, that a language model finds likely enough."""
    from wenmai.serving.filtering import filtered

    if as_json and out is None:
        raise Mistake("--json goes with --out FILE: what is kept would stand before it on standard output; --out /dev/null only "
                      "counts.")  # fmt: skip
    found = filtered(language_model(run, "cpu"), file, min_perplexity, max_perplexity, out, column, form)
    say("{rows:,} rows read, {kept:,} kept, {dropped:,} dropped", rows=found["rows"], kept=found["kept"],
        dropped=found["dropped"])  # fmt: skip
    if found["rows"]:
        shares = {share: "∞" if value is None else f"{value:.4g}" for share, value in found["perplexity"].items()}
        say("perplexity: {quantiles}", quantiles=", ".join(f"{share} {value}" for share, value in shares.items()))
    finish({"run": str(run), **found} | ({"out": str(out)} if out else {}), as_json, quiet=True)


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="A model of another tool: an ARPA file of n-grams, packed or not.")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME without it.")] = None,
    layout: Annotated[str, typer.Option(help="fast, or small on disk.")] = "fast",
    tokenizer: Annotated[str, typer.Option(help="How it cuts texts: spaces, or characters.")] = "spaces",
    as_json: AsJson = False,
) -> None:
    """Make a run of a model that another tool wrote."""
    from wenmai.exchange.arpa_files import imported

    folder = out or Path("runs") / Path(file).name.split(".")[0]
    check_place(folder)
    model = imported(file, layout, tokenizer)
    model.save(folder, data=file)
    say("{grams:,} n-grams up to order {order}; kept in {run}. Next: wenmai generate {run}",
        grams=model.model_.parameters_count(), order=model.options["order"], run=folder)  # fmt: skip
    finish({"run": str(folder), "task": "generate", "rung": "ngram", "order": model.options["order"]}, as_json, quiet=True)


@app.command()
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


@app.command()
def compare(
    source: Data,
    minutes: Annotated[float, typer.Option(min=0.01, help="For all rungs together, shared equally.")] = 5.0,
    only: Annotated[str, typer.Option("--rungs", help="Only these: softmax,cnn,gru.")] = "",
    with_: Annotated[list[str], typer.Option("--with", help="A run to add as a row. May be repeated.")] = [],  # noqa: B006
    target: Target = "",
    valid: Valid = "0.1",
    test: Test = "0.1",
    columns: Columns = "",
    task: Task = "",
    unseen: Unseen = False,
    settings: Set = [],  # noqa: B006
    seeds: Annotated[int, typer.Option(min=1, help="Train each rung so many times; the spread is shown.")] = 1,
    seed: Seed = 0,
    device: Device = "auto",
    out: Annotated[Path | None, typer.Option(help="The report's folder; reports/DATA without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train every rung under one budget; one leaderboard, one report, one recommendation."""
    from wenmai.catalog import TASKS, rung_named
    from wenmai.data.dataset import open_dataset
    from wenmai.evaluation import compare as comparing
    from wenmai.evaluation import report as reporting
    from wenmai.page import lengths
    from wenmai.page.leaderboard import leaderboard
    from wenmai.page.terminal import bars, console

    given = settings_from(settings)
    opened = open_dataset(source, TASKS, task or None, columns_from(columns), valid, test, seed, unseen, given, target or None)
    names = [rung_named(name, opened.task.name).name for name in only.split(",")] if only else None
    opened.check()
    folder = Path(out or Path("reports") / opened.name.replace(":", "-"))
    folder.mkdir(parents=True, exist_ok=True)
    steps = comparing.compare(opened, minutes, names, seed, seeds, device, tuple(with_), given)
    with bars() as draw:
        report = draw.through(steps)
    written = reporting.write(report, folder)
    lang = language()
    if not as_json:
        console.print(leaderboard(report, lang, console.width))
        if by_length := lengths.on_terminal(report, lang):
            console.print(by_length)
        if report["recommendation"]:
            console.print(report["recommendation"]["reason_zh" if lang == "zh" else "reason"])
        console.print(Message("Report: {file}", file=next(path for path in written if path.suffix == ".html")).told_in(lang))
    finish({"data": source, "task": report["task"], "rungs": report["rungs"], "recommendation": report["recommendation"],
            "report": str(folder / "report.html")}, as_json, quiet=True)  # fmt: skip


@app.command()
def probe(
    name: Annotated[str, typer.Argument(help="A probe; without one they are listed.")] = "",
    source: Annotated[str, typer.Argument(help="What it reads: a file, or a built-in set; its own without one.")] = "",
    columns: Columns = "",
    settings: Annotated[list[str], typer.Option("--set", help="An option of the probe or its tokenizer, key=value.")] = [],  # noqa: B006
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="The folder for what was found; reports/probe-NAME without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a small experiment that shows why a rung is built as it is: a table and a picture."""
    from wenmai.cli import overview
    from wenmai.evaluation.probes import PROBES, probe_named
    from wenmai.evaluation.report import plain
    from wenmai.page.terminal import bars

    if not name:
        return finish(overview.probes(PROBES.values(), language()), as_json)
    chosen, folder = probe_named(name), out or Path("reports") / f"probe-{name}"
    with bars() as draw:
        found = draw.through(chosen.run(source or chosen.data, columns_from(columns), settings_from(settings), seed))
    written = found.write(name, folder)
    if not as_json:
        found.show(language())
    say("written to {file}", file=folder)
    finish(plain(found.known) | {"files": [str(path) for path in written]}, as_json, quiet=True)


def load_run(run: Path, device: str):
    from wenmai.estimators import load

    return load(run, device=device)


def language_model(run: Path, device: str):
    from wenmai.language_model import LanguageModel

    estimator = load_run(run, device)
    if not isinstance(estimator, LanguageModel):
        raise Mistake("{run} does {task}, and a run is wanted that does generate, as wenmai train ngram corpus.txt makes one.",
                      run=run, task=estimator.task_name)  # fmt: skip
    return estimator


def composer(run: Path, device: str):
    from wenmai.composer import Composer

    estimator = load_run(run, device)
    if not isinstance(estimator, Composer):
        raise Mistake("{run} does {task}, and a run is wanted that does compose, as wenmai train gru languages --task compose "
                      "makes one.", run=run, task=estimator.task_name)  # fmt: skip
    return estimator


def translator(run: Path, device: str):
    from wenmai.translator import Translator

    estimator = load_run(run, device)
    if not isinstance(estimator, Translator):
        raise Mistake("{run} does {task}, and a run is wanted that does translate, as wenmai train attention dates makes one.",
                      run=run, task=estimator.task_name)  # fmt: skip
    return estimator


def check_place(folder: Path) -> None:
    from wenmai.training.run_folder import check_place

    check_place(folder)


def columns_from(text: str) -> dict[str, str] | None:
    from wenmai.data.files.readers import parse_columns

    return parse_columns(text) if text else None


def settings_from(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise Mistake("--set {pair}: expected key=value, such as --set hidden=64.", pair=pair)
    return {key.strip(): value.strip() for key, _, value in (pair.partition("=") for pair in pairs)}


def say(message: str, **values) -> None:
    """A message, or a template and its values."""
    print(message if isinstance(message, Message) else Message(message, **values), file=sys.stderr)


def say_scores(scores: dict, unit: str = "") -> None:
    from wenmai.cli.overview import scored

    for part, found in scores.items():
        print(scored(part, found, language(), unit), file=sys.stderr)


def finish(result, as_json: bool, quiet: bool = False) -> None:
    """The result: as one JSON line, or drawn (an overview knows how), or not at all where it was said already."""
    if as_json:
        print(json.dumps(finite(getattr(result, "json", result)), ensure_ascii=False))
    elif not quiet:
        result.show()


def finite(value):
    """As JSON knows it: what is infinite, or no number, is null."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


NEGATIVE = re.compile(r"-[\d.][\d.,eE+ -]*")


def main() -> None:
    debug = "--debug" in sys.argv
    warnings.showwarning = warned
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack a character, an answer may hold half of one
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments[:1] in (["predict"], ["compose"]):  # -1,2 is a row of numbers, no option
        arguments = [f" {argument}" if NEGATIVE.fullmatch(argument) else argument for argument in arguments]
    try:
        in_users_language(typer.main.get_command(app))(arguments, standalone_mode=False)
        sys.stdout.flush()
    except Mistake as mistake:
        if debug:
            raise
        sys.exit(complain(mistake))
    except Stopped as stopped:
        complain(stopped)
        sys.exit(130)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except (BrokenPipeError, SystemExit) as end:  # typer makes an exit of the first
        if not isinstance(end, BrokenPipeError) and not isinstance(end.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away; that is no error of ours
        sys.exit(0)
    except OSError as error:
        if debug:
            raise
        sys.exit(
            complain(Message("{file}: {why}.", file=error.filename or Message("the system"), why=Theirs(error.strerror or error)))
        )
    except Exception as error:
        if debug or not hasattr(error, "format_message"):  # anything but click's own words for a wrong argument
            raise
        sys.exit(complain(usage(error)))


def in_users_language(command):
    """The help of a command, of its options and of the commands below it."""
    if language() == "zh":
        for part in (command, *command.params):
            part.help = translated(part.help or "", "zh")
        command.short_help = command.help  # otherwise cut off after so many words, which Chinese does not part
        for below in getattr(command, "commands", {}).values():
            in_users_language(below)
    return command


def warned(message, category, *place, shown=warnings.showwarning) -> None:
    if issubclass(category, Notice):
        print(message, file=sys.stderr)
    else:
        shown(message, category, *place)


def complain(sentence: Mistake | Stopped | Message) -> int:
    print(f"wenmai: {sentence}", file=sys.stderr)
    return 2
