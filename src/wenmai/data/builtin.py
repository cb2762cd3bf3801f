"""Data that needs no download: it is read from packages that are installed anyway."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wenmai.data.readers import Chunk
from wenmai.errors import unknown

# Families of close relatives (Romance, Scandinavian, West and South Slavic) among languages that stand alone.
CHOSEN = "en de fr es pt ca it da nb sv cs sk hr sl fi tr id vi zh ja"
FEWEST = 400  # names that CLDR must know in a language of "all"; below it, little more than the countries is translated
BORROWED = ("no", "ht")  # tables that are copies: of Bokmål (nb) and of French


@dataclass(frozen=True)
class Builtin:
    name: str
    task: str
    about: str
    about_zh: str
    load: Callable[..., Chunk]


def languages(*, languages: str = CHOSEN) -> Chunk:
    """Names of places, languages, scripts and currencies that belong to exactly one of these languages (codes)."""
    from babel import Locale, localedata

    codes = [code for code in languages.replace(",", " ").split() if code != "all"]
    known = sorted(code for code in localedata.locale_identifiers() if code not in BORROWED and "_" not in code)
    for code in codes:
        if code not in known:
            raise unknown("language", code, known)
    # A name is compared without regard to case: "Dansk" and "dansk" are one, written as it sorts first.
    written = {code: _names(Locale.parse(code)) for code in codes or known}
    if not codes:
        written = {code: names for code, names in written.items() if len(names) >= FEWEST}
    owners = Counter(folded for names in written.values() for folded in names)
    texts, labels = [], []
    for code, names in written.items():
        own = [name for folded, name in names.items() if owners[folded] == 1]
        texts += own
        labels += [Locale.parse(code).english_name] * len(own)
    return Chunk({"text": texts, "label": labels}, range(1, len(texts) + 1))


def _names(locale) -> dict[str, str]:
    """Case-folded → as written, in sorted order."""
    tables = locale.territories, locale.languages, locale.scripts, locale.currencies
    names = {name.strip() for table in tables for name in table.values()}
    return {name.casefold(): name for name in sorted(names, reverse=True) if name and not name.isdigit()}


def iris() -> Chunk:
    from sklearn.datasets import load_iris

    data = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in data.feature_names]
    columns = {name: np.ascontiguousarray(values) for name, values in zip(names, data.data.T)}  # each (150,)
    columns["label"] = [str(data.target_names[target]) for target in data.target]
    return Chunk(columns, range(1, len(data.target) + 1))


def digits() -> Chunk:
    from sklearn.datasets import load_digits

    data = load_digits()
    image = data.images.astype(np.uint8)  # (1797, 8, 8), 0 to 16
    return Chunk({"image": image, "label": [str(target) for target in data.target]}, range(1, len(image) + 1))


BUILTIN = {
    data.name: data
    for data in (
        Builtin(
            "languages", "classify",
            "Which language is this name of a place, a language, a script or a currency in? 20 languages, from CLDR.",
            "这个地名、语言名、文字名或货币名属于哪种语言？共 20 种语言，取自 CLDR。",
            languages,
        ),
        Builtin(
            "iris", "classify",
            "Three kinds of iris by four lengths in centimetres: 150 flowers (Fisher 1936).",
            "根据四个长度（厘米）分辨三种鸢尾花：150 朵（Fisher 1936）。",
            iris,
        ),
        Builtin(
            "digits", "classify",
            "Handwritten digits as images of 8×8 points with 17 shades of grey: 1,797 of them.",
            "手写数字图像，8×8 像素，17 级灰度，共 1797 张。",
            digits,
        ),
    )
}  # fmt: skip
