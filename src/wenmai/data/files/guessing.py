"""Which column is what, where names do not say it: long texts are the text, few values that come again are the label.

What was guessed is said as the options that would say it, so that a user can give others."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from wenmai.data.files.columns import WORDS, is_number, short
from wenmai.data.files.languages import LABELS
from wenmai.locale import Listed, Message, phrase

CELLS = 200_000  # looked at, of at least a thousand rows: a file may be sorted by its labels
KINDS = {
    kind.english: kind
    for kind in (
        phrase("content", "texts"),
        phrase("content", "categories"),
        phrase("content", "numbers"),
        phrase("content", "dates"),
        phrase("content", "lists"),
        phrase("content", "nothing"),
    )
}
INPUTS = (("text",), ("text_a", "text_b"), ("image",))
ANSWERS = ("label", "target")
APART = {
    "tokens",
    "tags",
    "inputs",
    "targets",
    "audio",
    "source",
    "context",
}  # data that is told by its names alone
DATE = re.compile(
    r"(\d{4}[-/.年]\d{1,2}([-/.月]\d{1,2}日?)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([ T].*)?"
)
MOST = 200  # classes
ODD = frozenset(" ,=\t'\"$&()")  # a column with one of these in its name is told by its position


@dataclass
class Content:
    """What a column holds, as far as it was looked at."""

    rows: int = 0  # those that hold something
    numbers: int = 0
    whole: int = 0  # numbers without a fraction
    dates: int = 0
    lists: int = 0
    width: int = 0  # of all together, in bytes: a Chinese character says more than a letter
    values: set = field(default_factory=set)

    def add(self, value) -> None:
        if isinstance(value, (list, dict, tuple, bytes)):
            self.rows, self.lists = self.rows + 1, self.lists + 1
            return
        text = "" if value is None else str(value).strip()
        if not text:
            return
        self.rows += 1
        if is_number(text):
            self.numbers += 1
            self.whole += float(text).is_integer()
        elif len(text) < 40 and DATE.fullmatch(text):
            self.dates += 1
        self.width += len(text[:200].encode("utf-8", "replace"))
        if len(self.values) <= MOST:
            self.values.add(text)

    @property
    def few(self) -> bool:
        """Whether a handful of values come again and again."""
        rows, count = self.rows, len(self.values)
        return 1 < count < rows and count <= min(MOST, max(2, rows // 4, min(rows // 2, 10)))

    @property
    def kind(self) -> str:
        for kind in ("lists", "numbers", "dates"):
            if self.rows and 2 * getattr(self, kind) >= self.rows:
                return kind
        return (
            "nothing"
            if not self.rows
            else "categories"
            if self.few or len(self.values) == 1 < self.rows
            else "texts"
        )

    @property
    def is_label(self) -> bool:
        return self.few and (
            self.kind == "categories" or (self.kind == "numbers" and self.whole == self.rows)
        )


@dataclass
class Guess:
    columns: dict[str, str]  # word → the column's own name
    left: Mapping[str, str]  # columns that are not read → what they hold
    guessed: bool  # not by their names alone

    def sentence(self, source: str, task: str, names: list[str]) -> Message | None:
        """In one line what was understood, and how to say otherwise; None where there is nothing to say."""
        as_said = {
            name: name if ODD.isdisjoint(name) else str(names.index(name))
            for name in self.columns.values()
        }
        columns = ",".join(
            f"{word}={as_said[self.columns[word]]}" for word in WORDS if word in self.columns
        )
        left = [
            Message("{name} ({kind})", name=short(name), kind=KINDS[kind])
            for name, kind in islice(self.left.items(), 8)
        ]
        left = Listed([*left, *(["…"] if len(self.left) > 8 else [])])
        if not self.guessed and not self.left:
            return None
        if not self.guessed:
            return Message(
                "{file}: read are {names}; left out: {left}; --columns says otherwise",
                file=source,
                names=Listed(map(short, self.columns.values())),
                left=left,
            )
        if not self.left:
            return Message(
                "{file}: by what its columns hold it is read as --columns {columns} --task {task}; give these options "
                "to say otherwise",
                file=source,
                columns=columns,
                task=task,
            )
        return Message(
            "{file}: by what its columns hold it is read as --columns {columns} --task {task}; left out: {left}; give "
            "these options to say otherwise",
            file=source,
            columns=columns,
            task=task,
            left=left,
        )


def guess(
    names: list[str],
    given: dict[str, str],
    contents_of: Callable[[list[str]], dict[str, Content]],
    answer: str | None,
) -> Guess | None:
    """The columns to read, of these `names`. `given`: word → name, as the user says. `contents_of`: what columns hold.
    `answer`: the one that the task wants, label or target; "" for none; None where the task is not known. None where names say
    enough, or nothing can be told."""
    known = given | {
        word: word
        for word in WORDS
        if word in names and word not in given and word not in given.values()
    }
    if APART & set(known) or set(given) - set(WORDS):
        return None
    reads = next((words for words in INPUTS if set(words) <= set(known)), ())
    right = next((word for word in ANSWERS if word in known and answer in (None, word)), "")
    chosen = {word: known[word] for word in (*reads, right) if word}
    free = [name for name in names if name not in chosen.values()]
    if given and reads and (right in given or answer == ""):  # the user said all
        return None
    holds = contents_of(free) if free else {}
    rank = {
        name: content.width / max(1, content.rows) for name, content in holds.items()
    }  # how long its texts are
    kinds = {
        kind: sorted(
            (name for name in free if holds[name].kind == kind and name not in ANSWERS),
            key=rank.get,
            reverse=True,
        )
        for kind in KINDS
    }
    texts, words = kinds["texts"], kinds["categories"]
    if not reads:
        numbers = [
            name
            for name in names
            if name in kinds["numbers"] and (right or not holds[name].is_label)
        ]
        if numbers and not texts and answer != "" and (right or words):
            chosen |= {name: name for name in numbers}
        elif texts or words or (answer == "" and len(free) == 1):
            chosen["text"] = (texts or words or free)[0]
        else:
            return None
    if not right and answer != "":
        rest = [name for name in free if name not in chosen.values()]
        labels = (
            [n for n in rest if holds[n].is_label]
            if answer != "target"
            else [n for n in rest if n in kinds["numbers"]]
        )
        if labels and (answer != "target" or len(labels) == 1):
            best = min(
                labels,
                key=lambda n: (not LABELS.search(n.lower()), len(holds[n].values), -names.index(n)),
            )
            chosen[answer or "label"] = best
        elif answer or "text" not in chosen or len(texts) > (not reads):
            return None
    if all(word == name for word, name in chosen.items()) and len(chosen) == len(names):
        return None
    columns = dict(sorted(chosen.items(), key=lambda pair: names.index(pair[1])))
    above = {path[:dot] for path in chosen.values() for dot, mark in enumerate(path) if mark == "."}
    left = {
        name: holds[name].kind
        for name in names
        if name not in chosen.values() and name not in above
    }
    given_words = {
        word for word, name in chosen.items() if word in given or (word == name and not given)
    }
    return Guess(columns, left, bool(set(chosen) & set(WORDS) - given_words))
