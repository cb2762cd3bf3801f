"""The command line.

commands.py   the table of commands, and how one ends: its mistakes, its language
advice.py     what a beginner meant; completion.py: what the shell completes
arguments.py  arguments that several of them take; given.py: what their texts mean, and the run that one names
output.py     sentences, phases, scores and the result
ladder.py     demo, data, rungs, compare, probe
runs.py       train, evaluate, predict, import, export
kept.py       runs, info
drawing.py    draw
writing.py    generate, compose, translate, filter
vectors.py    embed
asking.py     answer; listening.py: transcribe
looking.py    inspect
serving.py    serve
training.py   one `wenmai train`, from its arguments to its run folder; comparing.py: one `wenmai compare`, to its report
answers.py    answers for a file of any size: files in, files out
overview.py   what was understood of a file; the ladder, a rung's options; runs
"""


def main() -> None:
    try:
        from wenmai.training.interrupts import interrupts

        with interrupts() as asked:  # what libraries make of one while they are imported is theirs
            from wenmai.cli.commands import main, stopped
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if asked:
        raise SystemExit(stopped(asked))
    main()
