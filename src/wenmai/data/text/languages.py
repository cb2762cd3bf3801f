"""Which language a text is in: by its script, then by telling letters and small words. Quick, and for an overview only."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

MOST, LONGEST = 2_000, 600  # texts looked at, and characters of each

# scripts: as ranges for a regular expression, with the language that is taken where no letter says otherwise;
# letters: within a script, those that one language has and its neighbours lack, of which the first line that is met wins;
# words: small ones, the commonest first; telling: letters that speak for some of the languages written in Latin ones;
# simplified, traditional: characters of one way to write Chinese only; japanese: kanji that Chinese writes otherwise
TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
SCRIPTS, LETTERS, TELLING = TABLES["scripts"], TABLES["letters"], TABLES["telling"]
RUNS = re.compile("|".join(f"(?P<{name}>[{range_}]+)" for name, (range_, _) in SCRIPTS.items()))
WEIGHT = {"han": 4, "kana": 2, "hangul": 2}  # a character says as much as so many letters
SIMPLIFIED, TRADITIONAL, JAPANESE = (
    frozenset(TABLES[name]) for name in ("simplified", "traditional", "japanese")
)
OWNERS: dict[str, list[str]] = {}  # word → the languages that have it
for _code, _words in TABLES["words"].items():
    for _word in _words.split():
        OWNERS.setdefault(_word, []).append(_code)
SPECIAL = re.compile(f"[{''.join(TELLING)}\u1ea0-\u1ef9]")
LATIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def language_of(text: str) -> str:
    """An ISO code such as en, zh, zh-Hant or ru, or "" where it cannot be told."""
    text = text[:LONGEST]
    sizes: Counter[str] = Counter()
    for run in RUNS.finditer(text):
        sizes[run.lastgroup] += (run.end() - run.start()) * WEIGHT.get(run.lastgroup, 1)
    if not sizes:
        return ""
    # Japanese writes with both: a little kana among Chinese characters may be a quotation, more is not.
    if sizes["kana"] * 10 >= sizes["han"]:
        sizes["kana"] += sizes.pop("han", 0)
    script = max(sizes, key=sizes.__getitem__)
    if script == "latin":
        return _latin(text.lower())
    if script == "han":
        simplified, traditional, japanese = (
            sum(map(own.__contains__, text)) for own in (SIMPLIFIED, TRADITIONAL, JAPANESE)
        )
        return (
            "ja" if japanese and not simplified else "zh-Hant" if traditional > simplified else "zh"
        )
    if script in LETTERS:
        letters = set(text.lower())
        return next(
            (code for code, own in LETTERS[script].items() if letters & set(own)),
            SCRIPTS[script][1],
        )
    return SCRIPTS[script][1]


def languages_in(texts: Sequence[str]) -> dict[str, float]:
    """The share of each language, the largest first, over up to 2,000 texts spread over the data; "" is: cannot be told."""
    # Drawn, not every tenth: rows may take turns.
    rows = (
        range(len(texts))
        if len(texts) <= MOST
        else random.Random(0).sample(range(len(texts)), MOST)
    )
    counts = Counter(language_of(texts[row]) for row in rows)
    return {code: number / len(rows) for code, number in counts.most_common()}


def _latin(text: str) -> str:
    """Every small word speaks for the languages that have it, every telling letter too; a tie or silence tells nothing."""
    words = LATIN_WORD.findall(text.replace("’", "'"))
    votes: Counter[str] = Counter()
    for word in words:
        # "l'ami" is not in the table, "l'" is
        owners = OWNERS.get(word) or OWNERS.get(word[: word.find("'") + 1], ())
        for code in owners:
            votes[code] += 1 + 1 / len(owners)  # a word that only one language has counts double
    for letter in SPECIAL.findall(text):
        for code in TELLING.get(letter, "vi").split():
            votes[code] += 0.5
    ranked = votes.most_common(2)
    if (
        not ranked
        or ranked[0][1] < max(1.0, len(words) / 20)
        or (len(ranked) > 1 and ranked[0][1] == ranked[1][1])
    ):
        return ""
    return ranked[0][0]
