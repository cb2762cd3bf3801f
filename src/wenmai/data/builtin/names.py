"""languages: names of places, languages, scripts and currencies, from CLDR through Babel."""

from collections import Counter

from wenmai.data.files.readers import Chunk
from wenmai.errors import unknown

# Families of close relatives (Romance, Scandinavian, West and South Slavic) among languages that stand alone.
CHOSEN = "en de fr es pt ca it da nb sv cs sk hr sl fi tr id vi zh ja"
FEW = "en de fr es fi tr"  # of a demo: close relatives, and two that stand alone
FEWEST = 400  # names that CLDR must know in a language of "all"; below it, little more than the countries is translated
BORROWED = ("no", "ht")  # tables that are copies: of Bokmål (nb) and of French


def languages(*, languages: str = CHOSEN) -> Chunk:
    """Names of places, languages, scripts and currencies that belong to exactly one of these languages (codes)."""
    from babel import Locale

    # A name is compared without regard to case: "Dansk" and "dansk" are one, written as it sorts first.
    written = {code: _names(Locale.parse(code)) for code in language_codes(languages)}
    if list(written) == language_codes("all"):
        written = {code: names for code, names in written.items() if len(names) >= FEWEST}
    owners = Counter(folded for names in written.values() for folded in names)
    texts, labels = [], []
    for code, names in written.items():
        own = [name for folded, name in names.items() if owners[folded] == 1]
        texts += own
        labels += [Locale.parse(code).english_name] * len(own)
    return Chunk({"text": texts, "label": labels}, range(1, len(texts) + 1))


def language_codes(chosen: str) -> list[str]:
    """Those of "en,zh", six for "few", or for "all" every one that CLDR knows."""
    from babel import localedata

    codes = [
        code
        for code in (FEW if chosen == "few" else chosen).replace(",", " ").split()
        if code != "all"
    ]
    known = sorted(
        code for code in localedata.locale_identifiers() if code not in BORROWED and "_" not in code
    )
    for code in codes:
        if code not in known:
            raise unknown("language", code, known)
    return codes or known


def _names(locale) -> dict[str, str]:
    """Case-folded → as written, in sorted order."""
    tables = locale.territories, locale.languages, locale.scripts, locale.currencies
    names = {name.strip() for table in tables for name in table.values()}
    return {
        name.casefold(): name for name in sorted(names, reverse=True) if name and not name.isdigit()
    }
