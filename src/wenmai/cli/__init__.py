"""The command line: `commands`, one short function a command, and what only they need: `training` (one `wenmai train` from its
arguments to its run folder), `overview` (what was understood of a file), `answers` (files in, files out)."""


def main() -> None:
    from wenmai.cli.commands import main

    main()
