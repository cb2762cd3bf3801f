"""What other tools read and write: ARPA files become runs, runs become ARPA files."""

from __future__ import annotations

import io
from pathlib import Path

from wenmai.data.files import bare_name, find, packed
from wenmai.data.lines import Lines
from wenmai.data.vocabulary import Vocabulary
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.language_model import LanguageModel
from wenmai.models.ngram import arpa
from wenmai.models.ngram.estimation import LAYOUTS
from wenmai.models.ngram.model import NGram
from wenmai.tasks.generate import Generate

FORMATS = ("arpa",)


def imported(source: str, layout: str) -> LanguageModel:
    """A language model from the file of another tool."""
    path = find(source)
    if path.is_dir() or not bare_name(path).endswith((".arpa", ".lm", ".txt")):
        raise Mistake(f"{source} cannot be imported; expected an ARPA file, whose name ends in .arpa, .lm or .txt.")
    words, levels, smoothed = arpa.read(path)
    return language_model(words, levels, smoothed, layout)


def language_model(words, levels, smoothed, layout: str) -> LanguageModel:
    estimator = LanguageModel("ngram", order=len(levels), layout=layout)
    estimator.task_, estimator.inputs_ = Generate(), Lines(None, Vocabulary.of(words[3:]))
    estimator.device_, estimator.notes_, estimator.progress_ = "cpu", list(smoothed.notes), []
    estimator._build({"order": len(levels), "layout": layout}, seed=0)
    estimator.model_.grams = LAYOUTS[layout].of(levels, smoothed)
    return estimator


def exported(estimator: Estimator, form: str, out: Path) -> None:
    if form not in FORMATS:
        raise Mistake(f"--format {form}: expected one of {', '.join(FORMATS)}.")
    if not isinstance(getattr(estimator, "model_", None), NGram):
        raise Mistake(f"an ARPA file holds an n-gram language model, and this run is a {estimator.rung} that does "
                      f"{estimator.task_name}.")  # fmt: skip
    levels, smoothed = estimator.model_.grams.levels()
    with packed(out) as stream, io.TextIOWrapper(stream, "utf-8", newline="\n") as text:
        arpa.write(text, estimator.inputs_.tokens(), levels, smoothed)
