"""The command line.

commands.py   the table of commands, and how one ends: its mistakes, its language
arguments.py  arguments that several of them take; given.py: what their texts mean, and the run that one names
output.py     sentences, scores and the result
ladder.py     demo, data, rungs, compare, probe
runs.py       train, evaluate, predict, import, export
writing.py    generate, compose, translate, filter
training.py   one `wenmai train`, from its arguments to its run folder
answers.py    answers for a file of any size: files in, files out
overview.py   what was understood of a file; the ladder, and a rung's options
"""


def main() -> None:
    from wenmai.cli.commands import main

    main()
