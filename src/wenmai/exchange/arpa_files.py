"""What other tools read and write: ARPA files become runs, runs become ARPA files."""

import io
from pathlib import Path

from wenmai.catalog import Build
from wenmai.data.files.columns import short
from wenmai.data.files.opening import bare_name, find
from wenmai.data.files.packing import packed
from wenmai.data.text import tokenizers
from wenmai.data.text.lines import Lines
from wenmai.data.text.tokenizers import Characters
from wenmai.data.text.vocabulary import SPECIAL, Vocabulary
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.language_model import LanguageModel
from wenmai.locale import Listed, Message, phrases
from wenmai.models.ngram import arpa
from wenmai.models.ngram.estimation import LAYOUTS
from wenmai.models.ngram.model import NGram
from wenmai.models.ngram.printing import read_back
from wenmai.tasks.generate import Generate

PIECES = phrases("pieces", "words", "bpe", "wordpiece", "unigram")
FORMATS, TOKENIZERS = ("arpa", "hf", "onnx"), ("spaces", "characters")


def imported(source: str, layout: str, tokenizer: str = "spaces") -> LanguageModel:
    """A language model from the file of another tool, which cuts texts into words between spaces, or into characters."""
    path = find(source)
    if layout not in LAYOUTS:
        raise Mistake(
            "--layout {layout}: expected one of {choices}.", layout=layout, choices=Listed(LAYOUTS)
        )
    if path.is_dir() or not bare_name(path).endswith((".arpa", ".lm", ".txt")):
        raise Mistake(
            "{file} cannot be imported; expected an ARPA file, whose name ends in .arpa, .lm or .txt, "
            "or a folder with a config.json.",
            file=source,
        )
    if tokenizer not in TOKENIZERS:
        raise Mistake(
            "--tokenizer {tokenizer}: expected one of {choices}.",
            tokenizer=tokenizer,
            choices=Listed(TOKENIZERS),
        )
    words, levels, smoothed = arpa.read(path)
    own = words[len(SPECIAL) :]
    if tokenizer == "characters":
        tokens = [read_back(word) for word in own]
        if long := next((token for token in tokens if len(token) != 1), None):
            raise Mistake(
                "{file}: found the word {word!r}, expected single characters; leave out --tokenizer characters.",
                file=source,
                word=short(long),
            )
        lines = Lines(Characters([*tokenizers.SPECIAL, *tokens], lowercase=False))
    else:
        lines = Lines(None, Vocabulary.of(own))
    task, options = Generate(), {"order": len(levels), "layout": layout}
    build = Build.of("ngram", task.name, options)
    model = build.model(task, lines)
    model.grams = LAYOUTS[layout].of(levels, smoothed)
    return LanguageModel.assembled(
        task, lines, model, build=build, options=options, notes=smoothed.notes
    )


def exported(estimator: Estimator, form: str, out: Path) -> str:
    """Writes the file; returns what is worth saying of it."""
    if form not in FORMATS:
        raise Mistake(
            "--format {format}: expected one of {choices}.", format=form, choices=Listed(FORMATS)
        )
    if not isinstance(getattr(estimator, "model_", None), NGram):
        raise Mistake(
            "an ARPA file holds an n-gram language model, and this run is the rung {rung} for {task}.",
            rung=estimator.rung,
            task=estimator.task_name,
        )
    lines = estimator.inputs_
    levels, smoothed = estimator.model_.grams.levels()
    with packed(out) as stream, io.TextIOWrapper(stream, "utf-8", newline="\n") as text:
        arpa.write(text, estimator.model_.words(), levels, smoothed)
    if lines.name == "spaces" and not lines.lowercase:
        return ""
    if lines.name == "characters":
        return Message(
            "its words are characters, the space ▁; wenmai import reads them with --tokenizer characters"
        )
    if lines.name == "spaces":
        return Message(
            "its words are in lower case: write a text so before you ask another tool about it"
        )
    return Message(
        "its words are tokens of {pieces}: cut a text so before you ask another tool about it",
        pieces=PIECES.get(lines.name, lines.name),
    )
