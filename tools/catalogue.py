"""make locale: collects what a user is told in src/, brings the Chinese catalogue up to date with it, and compiles it.

What has no Chinese yet stands in the catalogue with an empty msgstr; what nothing says any more is taken out of it.
"""

import ast
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wenmai"
CHINESE = SOURCE / "locale" / "zh" / "LC_MESSAGES" / "wenmai.po"
# whose first argument is one
TEMPLATES = (
    "Message",
    "Mistake",
    "Damaged",
    "Diverged",
    "Stopped",
    "Notice",
    "NotTrained",
    "NoEffect",
    "Unfit",
    "Unlabelled",
    "Unwritable",
    "say",
)
HELP = (  # of typer's own options
    "Install completion for the current shell.",
    "Show completion for the current shell, to copy it or customize the installation.",
)
HEADER = """# What Wenmai tells its users, in Chinese. `make locale` keeps it: msgid from the code, msgstr by hand.
msgid ""
msgstr ""
"Language: zh\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""
ANY_DAY = datetime(
    2026, 1, 1, tzinfo=UTC
)  # lest the compiled catalogue differ each time it is made


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", "") or getattr(call.func, "attr", "")


def texts(nodes: list[ast.expr]) -> tuple[str, ...] | None:
    """The nodes as texts, if all of them are written out."""
    values = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return tuple(values) if nodes and len(values) == len(nodes) else None


def is_command(function: ast.FunctionDef) -> bool:
    """Every command of the command line takes --json, and its first words are its help."""
    return any(
        one.annotation and ast.unparse(one.annotation) == "AsJson" for one in function.args.args
    )


def messages_in(fileobj, keywords, comment_tags, options):
    """As Babel wants a method of extraction: (line, gettext's function, its arguments, comments) of every message."""
    for node in ast.walk(ast.parse(fileobj.read())):
        if isinstance(node, ast.FunctionDef) and is_command(node):
            yield node.lineno, "gettext", (ast.get_docstring(node),), []
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node)
        if name in TEMPLATES and (found := texts(node.args[:1])):
            yield node.lineno, "gettext", found, []
        elif name == "phrase" and (found := texts(node.args)):
            yield node.lineno, "pgettext", found, []
        elif name == "phrases" and (
            found := texts(node.args + [word.value for word in node.keywords])
        ):
            for words in found[1:]:
                yield node.lineno, "pgettext", (found[0], words), []
        elif name == "plural" and (found := texts(node.args)):
            yield node.lineno, "ngettext", (*found, None), []
        elif name == "unknown" and (found := texts(node.args[:1])):
            yield node.lineno, "pgettext", ("kind", *found), []
        for word in node.keywords:
            if word.arg == "help" and (found := texts([word.value])):
                yield node.lineno, "gettext", found, []


def collected() -> Catalog:
    """All messages of src/, and the words of others, which no code says (locale/theirs.py)."""
    catalog = Catalog(charset="utf-8")
    for words in HELP:
        catalog.add(words)
    for message in chinese():
        if message.context == "theirs":
            catalog.add(message.id, context=message.context)
    for _, _, message, _, context in extract_from_dir(SOURCE, [("**.py", messages_in)]):
        catalog.add(message, context=context)
    return catalog


def chinese() -> Catalog:
    with CHINESE.open("rb") as file:
        return read_po(file, locale="zh", domain="wenmai")


def written(catalog: Catalog) -> bytes:
    """As the .po: sorted, without places in the code, so that two branches seldom touch the same lines."""
    file = io.BytesIO()
    write_po(file, catalog, width=120, no_location=True, sort_output=True, omit_header=True)
    return HEADER.encode() + file.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """As the .mo, which gettext reads."""
    file, catalog.creation_date, catalog.revision_date = io.BytesIO(), ANY_DAY, ANY_DAY
    write_mo(file, catalog)
    return file.getvalue()


def main() -> int:
    catalog = chinese()
    catalog.update(collected(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    CHINESE.write_bytes(written(catalog))
    CHINESE.with_suffix(".mo").write_bytes(compiled(chinese()))
    missing = [message.id for message in catalog if message.id and not message.string]
    for message in missing:
        print(f"without Chinese: {message}", file=sys.stderr)
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
