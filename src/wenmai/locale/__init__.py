"""What a user is told: messages, and the catalogue that has their Chinese.

messages.py   a template and its values
catalogue.py  its words in a language, by gettext; zh/: the Chinese ones
theirs.py     what Python, the system and other libraries say
"""

from wenmai.locale.catalogue import language, translate
from wenmai.locale.messages import (
    Listed,
    Message,
    duration,
    harmless,
    phrase,
    phrases,
    plural,
    told_in,
)

__all__ = [
    "Listed",
    "Message",
    "duration",
    "harmless",
    "language",
    "phrase",
    "phrases",
    "plural",
    "told_in",
    "translate",
]
