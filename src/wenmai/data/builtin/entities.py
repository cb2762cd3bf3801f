"""entities: places, languages, currencies and dates inside sentences, from CLDR through Babel.

The sentences stand in sentences.json, with slots: place, language, currency, currencies, money, date and month become entities;
name, firm, adjective, number, small, code and phone do not. Some sentences have no entity, though some of their words are
entities elsewhere (German, Jordan, March, 月, 语), and some people bear the name of a country."""

import datetime
import json
import random
import re
from pathlib import Path

from wenmai.data.files.readers import Chunk
from wenmai.data.text.tokenizers import WORD

ROWS, SEED = 8_000, 1998
# Half of the names are drawn from these, the others from all.
COMMON = {
    "place": "CN US JP DE FR GB IN BR RU IT ES KR CA AU MX ID TR SA ZA NL CH SE PL TH VN EG AR NG PK UA SG NZ",
    "language": "en zh es fr de ja ru ar pt it ko hi tr vi th id nl sv pl el he fa",
    "currency": "USD EUR CNY JPY GBP INR RUB KRW BRL CAD AUD CHF HKD SGD THB SEK MXN TRY ZAR",
}
NO_PLACES = {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}  # unions, "unknown region" and the like
ARTICLE = re.compile(
    r"United |Isle |.*(Islands|Republic|Emirates|Netherlands|Territor(y|ies)$)|"  # what stands after "the"
    "(Philippines|Maldives|Bahamas|Gambia)$"
)


def entities() -> Chunk:
    """8,000 sentences, English and Chinese in turn, with BIO tags for PLACE, LANGUAGE, CURRENCY and DATE.

    English tokens are words and marks (tokenizers.WORD), Chinese tokens single characters. An article and an amount stand
    outside of their entity: "the [United States]", "300 [US dollars]", "300[美元]".
    """
    chance = random.Random(SEED)
    sentences = json.loads(Path(__file__).with_name("sentences.json").read_text("utf-8"))
    writers = [Writer(lang, words, chance) for lang, words in sentences.items()]
    tokens, tags = zip(*(writers[row % 2].sentence() for row in range(ROWS)))
    return Chunk({"tokens": list(tokens), "tags": list(tags)}, range(1, ROWS + 1))


class Writer:
    """Fills the templates of one language. A slot gives what stands before its entity, the entity, and its type."""

    def __init__(self, lang: str, words: dict[str, list[str]], chance: random.Random):
        from babel import Locale
        from babel.numbers import get_currency_name

        self.lang, self.words, self.chance = lang, words, chance
        self.templates = [
            re.split(r"\{(\w+)\}", line) for line in words["templates"]
        ]  # text, slot, text, …
        locale = Locale.parse(lang)
        self.names = {
            "place": {code: locale.territories[code] for code in places()},
            "language": {
                code: name for code, name in sorted(locale.languages.items()) if len(code) == 2
            },
            "currency": {code: locale.currencies[code] for code in currencies()},
        }
        self.plurals = {code: get_currency_name(code, 5, locale) for code in self.names["currency"]}

    def sentence(self) -> tuple[list[str], list[str]]:
        tokens, tags, used = [], [], set()
        for at, part in enumerate(self.chance.choice(self.templates)):
            before, entity, kind = self.slot(part, used) if at % 2 else (part, "", "")
            if not tokens:
                before = before[:1].upper() + before[1:]
            for text, tag in ((before, ""), (entity, kind)):
                pieces = (
                    WORD.findall(text)
                    if self.lang == "en"
                    else [character for character in text if not character.isspace()]
                )
                tokens += pieces
                tags += [f"{'I' if i else 'B'}-{tag}" if tag else "O" for i in range(len(pieces))]
        return tokens, tags

    def slot(self, name: str, used: set) -> tuple[str, str, str]:
        chance = self.chance
        if name == "place":
            place = self.draw_name("place", used)[1]
            return "the " if self.lang == "en" and ARTICLE.match(place) else "", place, "PLACE"
        if name == "language":
            return "", self.draw_name("language", used)[1], "LANGUAGE"
        if name in ("currency", "currencies", "money"):
            code, written = self.draw_name("currency", used)
            if self.lang == "en" and name != "currency":
                written = (
                    self.plurals[code] if name == "currencies" or chance.random() < 0.75 else code
                )
            return f"{self.number(5)} " if name == "money" else "", written, "CURRENCY"
        if name in ("date", "month"):
            return "", self.date(self.words[name]), "DATE"
        if name in ("number", "small"):
            return self.number(4 if name == "number" else 1), "", ""
        if name == "code":
            return f"{chance.choice('ABKMTX')}{chance.randrange(100, 99999)}", "", ""
        if name == "phone":
            return f"{chance.randrange(100, 999)}-{chance.randrange(1000, 9999)}", "", ""
        return chance.choice(self.words[name]), "", ""

    def draw_name(self, kind: str, used: set) -> tuple[str, str]:
        """A code and its name, that this sentence does not have yet."""
        while True:
            code = self.chance.choice(
                COMMON[kind].split() if self.chance.random() < 0.5 else list(self.names[kind])
            )
            if (kind, code) not in used:
                used.add((kind, code))
                return code, self.names[kind][code]

    def number(self, digits: int) -> str:
        value = self.chance.randrange(2, 10 ** self.chance.randint(1, digits) + 3)
        return f"{value:,}" if self.lang == "en" and self.chance.random() < 0.5 else str(value)

    def date(self, formats: list[str]) -> str:
        from babel.dates import format_date

        day = datetime.date(1950, 1, 1) + datetime.timedelta(self.chance.randrange(80 * 365))
        return format_date(day, self.chance.choice(formats), self.lang)


def places() -> list[str]:
    """The codes of territories that English and Chinese both name, but not of what is no place."""
    from babel import Locale

    english, chinese = Locale.parse("en").territories, Locale.parse("zh").territories
    return sorted(
        code for code in english if len(code) == 2 and code in chinese and code not in NO_PLACES
    )


def currencies() -> list[str]:
    """The codes of the money that was in use somewhere at the beginning of 2020."""
    from babel import Locale
    from babel.numbers import get_territory_currencies

    day = datetime.date(2020, 1, 1)
    used = {code for place in places() for code in get_territory_currencies(place, day, day)}
    names = Locale.parse("en").currencies, Locale.parse("zh").currencies
    return sorted(
        code
        for code in used
        if all(code in table and not re.search(r"\d", table[code]) for table in names)
    )
