"""What a command says: sentences on standard error, its result on standard output, as JSON where that is wanted."""

from __future__ import annotations

import sys

from wenmai.chinese import language, told


def say(sentence: str) -> None:
    print(told(sentence), file=sys.stderr)


def say_scores(scores: dict, unit: str = "") -> None:
    from wenmai.cli.overview import scored

    for part, values in scores.items():
        say(scored(part, values, language(), unit))


def finish(result, as_json: bool, quiet: bool = False) -> None:
    """The result: as one JSON line, or drawn (an overview knows how), or not at all where it was said already."""
    if as_json:
        from wenmai.page.strict_json import strict_json

        print(strict_json(getattr(result, "json", result)))
    elif not quiet:
        result.show()
