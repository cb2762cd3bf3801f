"""The command line: the table of commands, in the order of `wenmai --help`, and how one ends. torch is loaded inside the commands
that need it, never for --help."""

import os
import re
import sys
import warnings

import typer
import typer.main

from wenmai.cli import ladder, runs, writing
from wenmai.errors import Mistake, Notice, Stopped
from wenmai.locale import Message, language, translate
from wenmai.locale.theirs import Theirs, usage

COMMANDS = {
    "demo": ladder.demo, "data": ladder.data, "rungs": ladder.rungs,
    "train": runs.train, "evaluate": runs.evaluate, "predict": runs.predict,
    "generate": writing.generate, "compose": writing.compose, "translate": writing.translate, "filter": writing.filter_,
    "import": runs.import_, "export": runs.export,
    "compare": ladder.compare, "probe": ladder.probe,
}  # fmt: skip

app = typer.Typer(name="wenmai", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
                  context_settings={"help_option_names": ["-h", "--help"]},
                  help="Wenmai (文脉): the ladder of language models. Train every rung on your text, compare, predict.")
for name, command in COMMANDS.items():
    app.command(name)(command)

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
        sys.exit(complain(Message("{file}: {why}.", file=error.filename or Message("the system"),
                                  why=Theirs(error.strerror or error))))  # fmt: skip
    except Exception as error:
        if debug or not hasattr(error, "format_message"):  # anything but click's own words for a wrong argument
            raise
        sys.exit(complain(usage(error)))


def in_users_language(command):
    """The help of a command, of its options and of the commands below it."""
    if language() == "zh":
        for part in (command, *command.params):
            part.help = translate(part.help or "", "zh")
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
