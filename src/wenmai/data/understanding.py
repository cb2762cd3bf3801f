"""Which columns of a table are read: those that a run was trained on, found again; else what their names say, and their contents.

What is chosen here is kept in the run, so that another file with the same columns is read alike."""

from wenmai.data.files.columns import WORDS, listed
from wenmai.data.files.guessing import CELLS, Content, Guess, guess
from wenmai.data.files.readers import Table
from wenmai.errors import Mistake


def understood(
    table: Table,
    columns: dict[str, str] | None,
    tasks: dict[str, type],
    task: str | None,
    seen: dict[str, str] | None = None,
) -> tuple[Table, Guess | None]:
    """The table with the columns that the task reads, where their names do not say all, and what was guessed. `given`: word →
    column, as the user said; `seen`: as a run was trained."""
    if seen and not columns and table.choose and set(seen.values()) <= set(table.every):
        return table.choose(seen), None
    kind = (
        tasks.get(task)
        if task
        else next((kind for kind in tasks.values() if kind.fits(table.names)), None)
    )
    if kind is not None and not task and kind.running_text:  # there may be labels beside the text
        kind = None
    answer = answer_of(kind)
    if table.choose is None or table.plain is not None or table.files or answer is False:
        return table, None
    asked = {word: table.own[word] for word in columns or ()}
    guessed = guess(list(table.every), asked, lambda names: contents(table, names), answer)
    return (table.choose(guessed.columns), guessed) if guessed else (table, None)


def match_columns(
    table: Table,
    columns: dict[str, str] | None,
    seen: dict[str, str],
    kind,
    answers: bool = True,
    beside: bool = False,
) -> tuple[Table, Guess | None]:
    """The columns that training `seen`, in another file; without them those of the same words, or else a guess. `answers`: the
    column with the answers too, if it is there. `beside`: the other columns go along."""
    if table.choose is None:
        return table, None
    answers = answers or bool(kind.history)
    right = (kind.target, f"{kind.target}s")  # what holds the answers
    asked, reads = (
        {word: table.own[word] for word in columns or ()},
        {w: name for w, name in seen.items() if w not in right},
    )
    folded = {name.lower(): name for name in reversed(table.every)}
    chosen = {word: name for word, name in asked.items() if word not in right}
    if not chosen and all(name.lower() in folded for name in reads.values()):
        chosen = {word: folded[name.lower()] for word, name in reads.items()}
    if not chosen and set(reads) <= set(table.own):
        chosen = {word: table.own[word] for word in reads}
    if chosen:
        named = {
            word: folded.get(seen.get(word, word).lower()) or folded.get(word)
            for word in right
            if word
        } | asked
        chosen |= {
            word: name
            for word, name in named.items()
            if answers and name and name not in chosen.values()
        }
        same = chosen == dict(table.own) and len(chosen) == len(table.every)
        return (table if same else table.choose(chosen, beside)), None
    answer = answer_of(kind) if answers else ""
    missing = [name for name in reads.values() if name.lower() not in folded]
    if not set(reads) & set(WORDS) and 0 < len(missing) < len(reads):  # numbers
        raise Mistake(
            "{file} lacks what was read in training: {names}; found are {actual}; add it, or rename columns.",
            file=table.source,
            names=listed(missing),
            actual=listed(table.every),
        )
    if "text" not in reads or answer is False:
        return table, None
    guessed = guess(list(table.every), asked, lambda names: contents(table, names), answer)
    if guessed is None or "text" not in guessed.columns:
        raise Mistake(
            "{file} has the columns {names}, expected a text, which in training stood in the column {column}; name it "
            "with --columns text=NAME.",
            file=table.source,
            names=listed(table.every),
            column=seen["text"],
        )
    return table.choose(guessed.columns, beside), guessed


def answer_of(kind) -> str | bool | None:
    """The column with the answers: label or target, "" for none, None where the task is not known; False where a task is told by
    names alone."""
    if kind is None:
        return None
    if kind.running_text:
        return ""
    return kind.target if kind.target in ("label", "target") and not kind.two_texts else False


def contents(table: Table, names: list[str]) -> dict[str, Content]:
    held, rows, most = {name: Content() for name in names}, 0, max(1000, CELLS // len(names))
    for chunk in table.choose(
        {f"{number}": name for number, name in enumerate(names)}, False, True
    ).chunks(1024):
        for content, values in zip(held.values(), chunk.columns.values()):
            for value in values:
                content.add(value)
        rows += len(chunk)
        if rows >= most:
            break
    return held
