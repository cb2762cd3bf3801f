"""The command line: the table of commands, in the order of `wenmai --help`, and how one ends. torch is loaded inside the commands
that need it, never for --help."""

import os
import re
import signal
import sys
import warnings
from functools import partial
from os.path import expanduser
from typing import Annotated

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from wenmai import __version__
from wenmai.cli import (
    advice,
    asking,
    drawing,
    kept,
    ladder,
    listening,
    looking,
    output,
    runs,
    serving,
    vectors,
    writing,
)
from wenmai.errors import Mistake, Notice, Stopped
from wenmai.locale import Message, language, phrases, told_in, translate
from wenmai.locale.theirs import Theirs
from wenmai.training.interrupts import interrupts

GROUPS = phrases(
    "group",
    look="Commands to look around",
    train="Commands to train and compare",
    use="Commands to use a run",
    keep="Commands for run folders",
    examples="Examples",
)
COMMANDS = {  # by group
    "look": {
        "demo": ladder.demo,
        "data": ladder.data,
        "rungs": ladder.rungs,
        "draw": drawing.draw,
        "probe": ladder.probe,
    },
    "train": {"compare": ladder.compare, "train": runs.train, "evaluate": runs.evaluate},
    "use": {
        "predict": runs.predict,
        "generate": writing.generate,
        "compose": writing.compose,
        "translate": writing.translate,
        "transcribe": listening.transcribe,
        "answer": asking.answer,
        "fill": writing.fill,
        "filter": writing.filter_,
        "embed": vectors.embed,
        "inspect": looking.inspect,
        "serve": serving.serve,
    },
    "keep": {"runs": kept.runs, "info": kept.info, "import": runs.import_, "export": runs.export},
}
EXAMPLES = {  # of a command; those of `wenmai --help` under ""
    "": (
        "wenmai demo",
        "wenmai data reviews.csv",
        "wenmai compare reviews.csv --minutes 5",
        "wenmai train gru reviews.csv --test 0.1",
        'wenmai predict runs/reviews-gru "a truly good film"',
        "wenmai runs",
    ),
    "data": (
        "wenmai data",
        "wenmai data reviews.csv",
        "wenmai data shop.xlsx --columns text=review,label=stars",
    ),
    "rungs": ("wenmai rungs", "wenmai rungs lstm", "wenmai rungs lstm --task generate"),
    "draw": (
        "wenmai draw lstm",
        "wenmai draw transformer --task translate --out transformer.svg",
        "wenmai draw runs/reviews-gru --out gru.png",
        "wenmai draw gru --set bidirectional=true --format mermaid",
    ),
    "compare": (
        "wenmai compare reviews.csv --minutes 5",
        "wenmai compare reviews.csv --rungs softmax,cnn,gru",
        "wenmai compare reviews.csv --with runs/reviews-gru",
        "wenmai compare --resume reports/reviews",
    ),
    "train": (
        "wenmai train gru reviews.csv",
        "wenmai train gru reviews.csv --test 0.1 --minutes 5 --set hidden=256",
        "wenmai train ngram corpus.txt",
        "wenmai train attention train.en,train.de",
        "wenmai train --resume runs/reviews-gru",
    ),
    "evaluate": ("wenmai evaluate runs/reviews-gru other.csv",),
    "predict": (
        'wenmai predict runs/reviews-gru "a truly good film"',
        "wenmai predict runs/reviews-gru - --top 3 < texts.txt",
        "wenmai predict runs/reviews-gru --file new.csv --out answers.csv",
        "wenmai predict runs/iris-softmax 5.1,3.5,1.4,0.2",
    ),
    "generate": ('wenmai generate runs/manual-lstm --prompt "The value of" --tokens 40',),
    "compose": ("wenmai compose runs/languages-gru French --count 5",),
    "translate": ('wenmai translate runs/dates-attention "Sunday, 15 November 2026"',),
    "transcribe": ("wenmai transcribe runs/spoken-digits-lstm some.wav --times",),
    "fill": ('wenmai fill runs/corpus-bert "the [MASK] was good"',),
    "answer": ('wenmai answer runs/squad-bert --context article.txt --question "Who wrote it?"',),
    "filter": ("wenmai filter runs/manual-ngram corpus.txt --max-perplexity 2000 --out kept.txt",),
    "embed": (
        "wenmai embed runs/reviews-gru texts.txt --out vectors.npy",
        'wenmai embed runs/reviews-gru texts.txt --nearest "a truly good film"',
        "wenmai embed runs/reviews-gru --words --out vectors.txt",
    ),
    "inspect": (
        'wenmai inspect runs/reviews-gru "a truly good film"',
        'wenmai inspect runs/reviews-gru "a truly good film" --show gates,switches --out inside',
        'wenmai inspect runs/reviews-gru "a truly good film" --off word=good',
        'wenmai inspect runs/reviews-gru "a truly good film" --with runs/reviews-lstm',
    ),
    "serve": (
        "wenmai serve",
        "wenmai serve runs --port 8080",
        "wenmai serve runs/reviews-gru runs/reviews-bert",
        "wenmai serve runs --host 0.0.0.0 --token SECRET",
    ),
    "runs": ("wenmai runs",),
    "info": ("wenmai info runs/reviews-gru",),
    "probe": ("wenmai probe", "wenmai probe memory"),
}


class Command(TyperCommand):
    """With examples below its help."""

    def format_epilog(self, context, formatter) -> None:
        examples(self.name, formatter)


class Ladder(TyperGroup):
    """With its commands in groups."""

    def format_commands(self, context, formatter) -> None:
        for group, named in COMMANDS.items():
            with formatter.section(GROUPS[group].told_in(language())):
                formatter.write_dl([(name, self.commands[name].help) for name in named], col_max=12)

    def format_epilog(self, context, formatter) -> None:
        examples("", formatter)


def examples(name: str, formatter) -> None:
    if name in EXAMPLES:
        with formatter.section(GROUPS["examples"].told_in(language())):
            formatter.write("".join(f"  {example}\n" for example in EXAMPLES[name]))


app = typer.Typer(
    name="wenmai",
    cls=Ladder,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Wenmai (文脉): the ladder of language models. Train every rung on your text, compare, predict.",
)
for named in COMMANDS.values():
    for name, command in named.items():
        app.command(name, cls=Command)(command)


def show_version(asked: bool) -> None:
    if asked:
        print(f"wenmai {__version__}")
        raise typer.Exit()


@app.callback()
def wenmai(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=show_version
        ),
    ] = False,
) -> None:
    pass


THEIR_WORDS = r"^(?:Usage|Arguments|Options): ?|Show this message and exit\.|(?<=\[)default: |(?<=\[)required(?=\])"
HOME = re.compile(
    r"(--(?:out|resume|file|from|with|valid|test|target|data)=)(~.*)", re.DOTALL
)  # which no shell makes a path of
NEGATIVE = re.compile(r"-[\d.][\d.,eE+ -]*")


def main() -> None:
    debug = "--debug" in sys.argv
    warnings.showwarning = warned
    output.silence(False)
    sys.stdout.reconfigure(
        errors="backslashreplace"
    )  # a terminal may lack a character, an answer may hold half of one
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    if arguments[:1] in (
        ["predict"],
        ["compose"],
        ["inspect"],
    ):  # -1,2 is a row of numbers, no option
        arguments = [
            f" {argument}" if NEGATIVE.fullmatch(argument) else argument for argument in arguments
        ]
    arguments = [
        f"{home[1]}{expanduser(home[2])}" if (home := HOME.fullmatch(argument)) else argument
        for argument in arguments
    ]
    asked: list[int] = []
    try:
        with interrupts(at_once=True) as asked:
            command = typer.main.get_command(app)
            if not "".join(arguments).isascii():
                advice.check_dashes(command, arguments)
            status = in_users_language(command)(arguments, standalone_mode=False)
            if status == 128 + signal.SIGINT:  # what typer makes of Ctrl-C
                raise KeyboardInterrupt
            sys.stdout.flush()
            if status:
                sys.exit(status)
    except Mistake as mistake:
        if debug:
            raise
        sys.exit(complain(mistake))
    except Stopped as end:
        complain(end)
        sys.exit(128 + end.number)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(stopped(asked))
    except (BrokenPipeError, SystemExit) as end:  # typer makes an exit of the first
        if not isinstance(end, BrokenPipeError) and not isinstance(
            end.__context__, BrokenPipeError
        ):
            raise
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the reader went away; that is no error of ours
        sys.exit(0)
    except OSError as error:
        if debug:
            raise
        if asked:
            sys.exit(stopped(asked))
        sys.exit(
            complain(
                Message(
                    "{file}: {why}.",
                    file=error.filename or Message("the system"),
                    why=Theirs(error.strerror or error),
                )
            )
        )
    except Exception as error:
        if asked and not debug:  # what a library made of Ctrl-C
            sys.exit(stopped(asked))
        if out_of_memory(error) and not debug:
            sys.exit(
                complain(
                    Message(
                        "memory came to its end; close other programs, or choose a smaller model or file."
                    )
                )
            )
        if debug or not hasattr(
            error, "format_message"
        ):  # anything but click's own words for a wrong argument
            raise
        sys.exit(complain(advice.on_usage(error, arguments)))
    finally:
        if (
            "TORCHELASTIC_RUN_ID" in os.environ
        ):  # torchrun ends all processes when one has ended; each has its status by now
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def out_of_memory(error: Exception) -> bool:
    """As Python, NumPy, Arrow or torch say it."""
    memory = sys.modules.get("wenmai.training.memory")
    return isinstance(error, MemoryError) or bool(memory and memory.exhausted(error))


def in_users_language(command):
    """The help of a command, of its options and of the commands below it."""
    if language() == "zh":
        for part in (command, *command.params):
            part.help = translate(part.help or "", "zh")
        command.get_help = partial(with_headings, command.get_help)
        for below in getattr(command, "commands", {}).values():
            in_users_language(below)
    return command


def with_headings(get_help, context) -> str:
    """Typer's own words in a help, which it says in English."""
    help = re.sub(
        THEIR_WORDS,
        lambda word: translate(word.group().rstrip(), "zh", "theirs"),
        get_help(context),
        flags=re.M,
    )
    return re.sub(r"^(\w+):$", r"\1：", help, flags=re.M)


def warned(message, category, *place, shown=warnings.showwarning) -> None:
    if issubclass(category, Notice):
        output.say(message.message)
    else:
        shown(message, category, *place)


def stopped(asked: list[int]) -> int:
    complain(Message("stopped before its end; the same command starts anew."))
    return 128 + next(iter(asked), signal.SIGINT)


def complain(sentence: Mistake | Stopped | Message) -> int:
    print(f"wenmai: {sentence}", file=sys.stderr)
    if output.EVENTS.get():
        message = getattr(sentence, "message", sentence)
        print(
            output.json_line({"mistake": {lang: told_in(message, lang) for lang in ("en", "zh")}}),
            flush=True,
        )
    return 2
