"""What a user is told: messages, and the catalogue that has their Chinese."""

from wenmai.locale.catalogue import language, translate
from wenmai.locale.messages import Listed, Message, harmless, phrase, plural, told_in

__all__ = ["Listed", "Message", "harmless", "language", "phrase", "plural", "told_in", "translate"]
