"""What help() and a notebook show of an estimator: its rungs, every option in a line, what it has learned."""

import inspect as signatures
import re
from html import escape

from wenmai.catalog import RUNGS, rungs_for
from wenmai.explanations import explained
from wenmai.locale import Listed, Message, language, phrase, told_in
from wenmai.options import Option, accepted

MOST = 60  # characters of a value in a notebook


class Documented:
    """The `__doc__` of an estimator: its first lines, its rungs and all their options; put together when somebody asks."""

    def __init__(self, text: str):
        self.text = text

    def __get__(self, instance, owner) -> str:
        return documentation(owner, self.text)


def documentation(owner: type, text: str) -> str:
    lang, rungs = language(), [rung.name for rung in rungs_for(owner.task_name)]
    lines = [text, "", Message("Rungs: {names}.", names=Listed(rungs)).told_in(lang)]
    for name, (options, theirs) in options_of(owner).items():
        kinds, default = (
            Listed(dict.fromkeys(map(kind_in_words, options)), phrase("kinds", " or ")),
            default_of(options),
        )
        of = "" if len(theirs) == len(rungs) else Message(" ({names})", names=Listed(theirs))
        meanings = dict.fromkeys(told_in(explained(name, rung), lang) for rung in theirs)
        usual = "" if default is None else f", default {default[0]!r}"
        lines += ["", f"{name} : {told_in(kinds, lang)}{usual}{told_in(of, lang)}"]
        lines += [f"    {meaning}" for meaning in meanings]
    return "\n".join(lines)


def options_of(owner: type) -> dict[str, tuple[list[Option], list[str]]]:
    """By name: how the rungs of a task have it, and which of them do."""
    described: dict[str, tuple[list[Option], list[str]]] = {}
    for rung in rungs_for(owner.task_name):
        for function in owner(rung.name)._owners().values():
            for name, option in accepted(function).items():
                options, rungs = described.setdefault(name, ([], []))
                options += [option] if option not in options else []
                rungs.append(rung.name)
    return described


def default_of(options: list[Option]) -> tuple | None:
    """The one that all rungs have, in a tuple; None where they differ."""
    defaults = {repr(option.default) for option in options}
    return (options[0].default,) if len(defaults) == 1 else None


def kind_of(option: Option) -> str:
    """As Python writes it: int, float | None, Literal['tanh', 'relu']"""
    return signatures.formatannotation(option.annotation).replace("typing.", "")


def kind_in_words(option: Option) -> str:
    """'int', 'float | None', or what may be chosen: '{tanh, relu}'."""
    return re.sub(
        r"Literal\[(.*?)\]", lambda literal: f"{{{literal[1]}}}".replace("'", ""), kind_of(option)
    )


def html_of(estimator) -> str:
    """For a notebook: what it is, what was given, and, once it is trained, what it has learned."""
    lang, rung = language(), RUNGS.get(estimator.rung)
    about = "" if rung is None else rung.about_zh if lang == "zh" else rung.about
    rows = [(name, repr(value)) for name, value in estimator.options.items()]
    if "model_" in vars(estimator):
        scores = [progress.score for progress in estimator.progress_ if progress.score is not None]
        task = estimator.task_
        rows += [(Message("weights"), f"{estimator.model_.parameters_count():,}")]
        rows += (
            [(Message("classes"), str(len(task.classes)))]
            if getattr(task, "classes", None) is not None
            else []
        )
        if scores:
            best = (max if task.higher_is_better else min)(scores)
            metric = phrase("metric", (task.profile.judged or task.metric).replace("_", " "))
            rows += [(Message("best {metric} on held-out rows", metric=metric), f"{best:.4f}")]
        state = Message("trained")
    else:
        state = Message("not trained yet")
    cells = "".join(
        f"<tr><th>{escape(told_in(name, lang))}</th><td>{escape(short(value))}</td></tr>"
        for name, value in rows
    )
    head = f"<b>{escape(type(estimator).__name__)}</b> {escape(estimator.rung)} · {escape(state.told_in(lang))}"
    return f'<div class="wenmai"><p>{head}<br><small>{escape(about)}</small></p><table>{cells}</table></div>'


def inspect(estimator, value, show=(), **how):
    """What it makes of one input, as panels that a notebook shows: `wenmai.inspect`, which has the options. Nothing that draws is
    loaded before it is asked."""
    import wenmai

    return wenmai.inspect(estimator, value, show, **how)


def short(value: str) -> str:
    return value if len(value) <= MOST else value[: MOST - 1] + "…"
