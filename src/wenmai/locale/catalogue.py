"""What a user is told, in the user's language: English as it stands in the code, Chinese from the catalogue beside this file.

The catalogue is gettext's, `zh/LC_MESSAGES/wenmai.po` and the `.mo` made of it; `make locale` brings both up to date.
"""

import os
from functools import cache
from pathlib import Path


def language() -> str:
    """zh where the user's locale is Chinese, else en."""
    chosen = next(
        (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), ""
    )
    return "zh" if chosen.lower().startswith("zh") else "en"


@cache
def catalogue(lang: str):
    """gettext's translations; those of English are the words themselves."""
    import gettext

    return gettext.translation("wenmai", Path(__file__).parent, [lang], fallback=lang == "en")


def translate(template: str, lang: str, context: str = "", more: str = "", count: int = 1) -> str:
    """The template in this language; itself where there is no other. `more` is what it is of any `count` but one."""
    if lang == "en" or not template:  # gettext's own facts stand under ""
        return template if count == 1 or not more else more
    if more:
        return catalogue(lang).ngettext(template, more, int(count) if count == int(count) else 2)
    return (
        catalogue(lang).pgettext(context, template)
        if context
        else catalogue(lang).gettext(template)
    )
