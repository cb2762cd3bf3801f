"""What a client is told when it gets no answer: a status, a word that programs know, and a sentence in both languages.

A sentence of ours may name files of the server's; a client is told of a run by its name, and of nothing else that lies there."""

import re
from collections.abc import Mapping

from wenmai.errors import Mistake
from wenmai.locale import Message

# A path of more than one folder, as it stands in a sentence.
PATH = re.compile(r"(?:[A-Za-z]:)?(?!/v1/)(?:/[^\s/'\"“”()（）,;:，；：]+){2,}/?")


class Refused(Exception):
    """`code` is for programs, the message for people; `retry`: seconds after which it may be tried again."""

    def __init__(self, status: int, code: str, message: Message, retry: float | None = None):
        super().__init__(message)
        self.status, self.code, self.message, self.retry = status, code, message, retry

    @property
    def headers(self) -> dict[str, str]:
        known = {"Retry-After": str(max(1, round(self.retry)))} if self.retry is not None else {}
        return known | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})

    def body(self) -> dict:
        return {"error": {"code": self.code, **both(self.message)}}


class Bilingual(str):
    """A sentence that was told in both languages already."""

    def __new__(cls, texts: Mapping[str, str]):
        made = super().__new__(cls, texts["en"])
        made.texts = texts
        return made

    def told_in(self, lang: str) -> str:
        return self.texts[lang]


def both(message: str, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """The sentence in both languages, without paths; `names`: what stands instead of some."""
    texts = {
        lang: message.told_in(lang) if isinstance(message, Message | Bilingual) else message
        for lang in ("en", "zh")
    }
    for lang, text in texts.items():
        for path, name in (names or {}).items():
            text = text.replace(path, name)
        texts[lang] = PATH.sub(lambda match: match[0].rstrip("/").rpartition("/")[2], text)
    return texts


def mistaken(mistake: Mistake, status: int = 400, code: str = "mistake") -> Refused:
    """Something that the client can put right."""
    return Refused(status, code, mistake.message)


def not_there(what: Message) -> Refused:
    return Refused(404, "not_found", what)


def too_large(what: Message) -> Refused:
    return Refused(413, "too_large", what)


def busy(retry: float) -> Refused:
    return Refused(
        429,
        "busy",
        Message("the server has as much to do as it takes on; try again in a moment."),
        retry,
    )


def too_late(seconds: float) -> Refused:
    return Refused(
        503,
        "too_late",
        Message(
            "no answer within {seconds:g} seconds; ask for less at once, or try again later.",
            seconds=seconds,
        ),
        5.0,
    )
