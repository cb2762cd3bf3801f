"""What a command says: sentences on standard error, its result on standard output, as JSON where that is wanted."""

import sys

from wenmai.locale import Message, language


def say(message: str, **values) -> None:
    """A message, or a template and its values."""
    print(message if isinstance(message, Message) else Message(message, **values), file=sys.stderr)


def say_scores(scores: dict, unit: str = "") -> None:
    from wenmai.cli.overview import scored

    for part, values in scores.items():
        print(scored(part, values, language(), unit), file=sys.stderr)


def finish(result, as_json: bool, quiet: bool = False) -> None:
    """The result: as one JSON line, or drawn (an overview knows how), or not at all where it was said already."""
    if as_json:
        from wenmai.page.strict_json import strict_json

        print(strict_json(getattr(result, "json", result)))
    elif not quiet:
        result.show()
