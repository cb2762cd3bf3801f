"""dates: a date as people write it → 2026-11-15, from CLDR through Babel.

In a language's own formats, full to short, and in those of the skeletons below. A row is unambiguous: the year has four digits,
and the month has a name that means the same month in all languages chosen, or the numbers leave no doubt which is the day: the
year comes first and the month after it (2026/11/5), or the day is above 12, or as much as the month.
"""

import datetime
import random
import re

from wenmai.data.builtin.names import language_codes
from wenmai.data.builtin.packages import module
from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake

CHOSEN = "en zh ja ko de nl sv nb fr es pt it ro pl cs ru uk el hu fi tr vi"
SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd", "yMMMMEd")
ENGLISH = ("d MMMM y", "d MMM y", "EEEE, d MMMM y")  # as one writes it outside of America
ROWS, SEED = 20_000, 1998
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
QUOTED = re.compile(r"'[^']*'")  # words inside a pattern


def dates(*, dates: str = CHOSEN) -> Chunk:
    """20,000 dates from 1900 to 2099 in these languages (codes; all for every one that CLDR has months of) → ISO 8601."""
    babel = module("babel", "dates")
    locales = [
        locale for locale in map(babel.Locale.parse, language_codes(dates)) if own_months(locale)
    ]
    if not locales:
        raise Mistake(
            "dates:{option}: CLDR has no names of months in this language; choose another, as in dates:en,zh.",
            option=dates,
        )
    written = [patterns(locale) for locale in locales]
    unclear = {name for name, months in meanings(locales).items() if len(months) > 1}
    chance, days = random.Random(SEED), (LAST - FIRST).days + 1
    rows: dict[str, str] = {}
    for at in range(20 * ROWS):
        if len(rows) == ROWS:
            break
        locale, pattern = locales[at % len(locales)], chance.choice(written[at % len(locales)])
        day = FIRST + datetime.timedelta(chance.randrange(days))
        if unambiguous(locale, pattern, day, unclear):
            rows[" ".join(pattern.apply(day, locale).split())] = day.isoformat()
    return Chunk({"source": list(rows), "target": list(rows.values())}, range(1, len(rows) + 1))


def patterns(locale) -> list:
    """Each once, by how it is written; without those whose year has two digits."""
    from babel.dates import parse_pattern

    formats = [locale.date_formats[name] for name in ("full", "long", "medium", "short")]
    formats += [
        locale.datetime_skeletons[name] for name in SKELETONS if name in locale.datetime_skeletons
    ]
    formats += map(parse_pattern, ENGLISH if locale.language == "en" else ())
    every = {pattern.pattern: pattern for pattern in formats}
    return [
        pattern
        for text, pattern in every.items()
        if re.search(r"(?<!y)y(yyy)?(?!y)", QUOTED.sub("", text))
    ]


def own_months(locale) -> bool:
    """Some languages have no names of months in CLDR, only M01 to M12."""
    return not re.fullmatch(r"M?0?1", locale.months["format"]["wide"][1])


def meanings(locales) -> dict[str, set[int]]:
    """What a name of a month, long or short, means: listopad is November in Czech and October in Croatian."""
    months: dict[str, set[int]] = {}
    for locale in locales:
        for names in locale.months.values():
            for month, name in (*names["wide"].items(), *names["abbreviated"].items()):
                months.setdefault(bare(name), set()).add(month)
    return months


def bare(name: str) -> str:
    return name.casefold().strip(".")


def unambiguous(locale, pattern, day: datetime.date, unclear: set[str]) -> bool:
    """Whether the text alone says the date."""
    letters = re.sub(r"[^yMLd]", "", QUOTED.sub("", pattern.pattern))  # in their order, ddMMMMy
    months = re.search(r"[ML]+", letters)[0]
    if len(months) > 2:
        names = locale.months["stand-alone" if months[0] == "L" else "format"]
        name = bare(names["abbreviated" if len(months) == 3 else "wide"][day.month])
        if not name.isdecimal():
            return name not in unclear
    return bool(re.fullmatch(r"y+[ML]+d+", letters)) or day.day > 12 or day.day == day.month
