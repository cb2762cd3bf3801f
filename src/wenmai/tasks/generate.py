"""generate: the next token of a running text.

    perplexity = exp(−Σ log p / tokens), of a word, a subword or a character      bits per byte = −Σ log₂ p / bytes

Every line counts its end as a token. Bits per byte can be compared between models that cut the text differently, where both know
every token of it, or spell what they do not know (language/spelling.py)."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from math import exp, inf, log

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.streams import Stream
from wenmai.data.files.columns import listed
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.errors import Mistake
from wenmai.language.judging import EvaluationModes, evaluate_modes, windows_note
from wenmai.language.scoring import quick_loss, stride_of
from wenmai.language.spelling import Speller
from wenmai.layers.heads import Next
from wenmai.locale import Message, phrase
from wenmai.options import assign_options
from wenmai.tasks import rows, writing
from wenmai.tasks.columns import texts_in
from wenmai.tasks.continuation import continuations
from wenmai.tasks.contract import (
    Answers,
    Parts,
    Scores,
    Trained,
    TrainingExamples,
    Untrained,
    row_name,
)
from wenmai.tasks.decoding import Choice
from wenmai.tasks.measuring.baselines import of_text
from wenmai.tasks.measuring.running_text import common_metric, measure_text, text_terms
from wenmai.tasks.overviews import describe_text
from wenmai.tasks.profile import Profile, unit_of_tokens


@dataclass
class Total:
    """What was read, and how probable it was."""

    log_prob: float = 0.0  # Σ, natural
    tokens: int = 0
    size: int = 0  # bytes
    unknown: int = 0
    lines: int = 0

    def __add__(self, other: "Total") -> "Total":
        return Total(
            *(
                getattr(self, name) + getattr(other, name)
                for name in ("log_prob", "tokens", "size", "unknown", "lines")
            )
        )


class Generate:
    name, metric, higher_is_better = "generate", "perplexity", False
    metrics = ("perplexity", "bits_per_byte")
    target = None  # there is no column that holds the answer
    texts, history = "tokens", None
    reads = staticmethod(kinds_of_input.learn)
    estimator_type = None

    inspect_targets, prepare, learn_inputs = rows.no_notes, rows.as_given, rows.learn_inputs
    to_json, from_json = rows.name_alone, classmethod(rows.made_anew)
    running_text, two_texts = True, False

    @staticmethod
    def fits(names: list[str]) -> bool:
        return names == ["text"]

    def corpus_of(self, table: Table) -> Corpus:
        """A plain file as it lies there; of another its column text."""
        if table.plain is not None:
            return Corpus.file(table.plain)
        if "text" not in table.names:
            raise Mistake(
                "{file} has no column text (found: {names}); name it with --columns text=NAME.",
                file=table.source,
                names=listed(table.names),
            )
        chunks = table.chunks(1024)
        return Corpus.joined(
            (text for chunk in chunks for text in texts_in(chunk, "text", table.source)),
            table.source,
        )

    def inputs_of(self, chunk: Chunk, source: str) -> list[str]:
        """Texts to go on with."""
        return texts_in(chunk, "text", source)

    def learn(self, targets, where=None) -> list[str]:
        return []

    def head(self, inputs) -> Next:
        return Next.of(inputs)

    # Learning

    def split(
        self, texts, targets, valid: tuple | None, share: float, seed: int, tunes: bool
    ) -> Parts:
        """The end is held out; a rung that tunes nothing on held-out text learns from all of it."""
        text = Corpus.of(texts)
        text.check()
        valid = None if valid is None else (Corpus.of(valid[0]), None)
        if valid is None and share and tunes:
            text, held = text.parts([share])
            valid = (held, None) if held.size else None
        return Parts(text, None, valid)

    def training_examples(
        self, untrained: Untrained, text: Corpus, targets, rows, where
    ) -> TrainingExamples:
        """A network reads windows of one long row of tokens; what counts reads lines."""
        if not untrained.by_gradients:
            return TrainingExamples(Examples(untrained.inputs.encode(text)), window_name, [])
        tokens, notes = untrained.inputs.read_all(text), []
        model = untrained.model  # whose sizes may follow from the length of the text
        if len(tokens) - 1 < model.context:
            notes += [
                Message(
                    "the text has {tokens:,} tokens, fewer than the {steps:,} that are read at once: it is "
                    "learned as one window",
                    tokens=len(tokens) - 1,
                    steps=model.context,
                )
            ]
        return TrainingExamples(Stream(tokens, model.context, model.carried), window_name, notes)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        text = parts.valid[0]
        if not untrained.by_gradients:
            return lambda trained: self.evaluate(trained, text)["perplexity"]
        tokens = untrained.inputs.read_all(text)
        return lambda trained: exp(min(700.0, quick_loss(trained.model, tokens)))

    # Scoring

    def examples(self, trained: Trained, texts, targets=None, where=row_name) -> Examples:
        return Examples(trained.inputs.encode(Corpus.of(texts)))

    def total(self, trained: Trained, texts) -> Total:
        total = Total()
        for block, sums, lengths, unknown in trained.language.scored(Corpus.of(texts).blocks()):
            total += Total(
                float(sums.sum()),
                int(lengths.sum()),
                len(block) + (block[-1:] != b"\n"),
                unknown,
                len(sums),
            )
        return total

    def evaluate(
        self, trained: Trained, texts, targets=None, where=row_name, *, tune=None, **modes
    ) -> Scores:
        """Perplexity (of a token, line ends among them) and bits per byte. `modes` to judge it otherwise, each apart: stride=1,
        cache=2000, dynamic="sgd" and what goes with them (language/judging.py); what is left open is chosen on the text
        `tune`."""
        asked = EvaluationModes(**assign_options(modes, {"modes": EvaluationModes})["modes"])
        text, model = Corpus.of(texts), trained.language
        total = self.total(trained, text)
        if not total.tokens:
            raise Mistake("there is no text to evaluate; expected at least one line.")
        scores, notes = self.scores(total), self.notes(total)
        if not getattr(trained.model, "carried", True):
            notes.append(windows_note(trained.model.context, stride_of(trained.model, None)))
        if asked.dynamic != "none":  # a copy learns as it reads: others go on asking the first
            model = replace(trained, model=deepcopy(trained.model)).language
        if asked.spell_unknown:
            speller = Speller.of(trained.inputs)
            cost = sum(
                float(speller.lines_cost(trained.inputs, block).sum()) for block in text.blocks()
            )
            paid = self.scores(replace(total, log_prob=total.log_prob - cost))
            scores |= {f"{name}_spelled": score for name, score in paid.items()}
            notes.append(
                Message(
                    "spelled: the {unknown:,} unknown tokens are spelled out byte by byte, from how those are "
                    "spelled that the model knows, and paid for",
                    unknown=total.unknown,
                )
            )
        for mode, log_prob, note in evaluate_modes(
            model, text, asked, None if tune is None else Corpus.of(tune)
        ):
            others = self.scores(replace(total, log_prob=log_prob))
            scores |= {f"{name}_{mode}": score for name, score in others.items()}
            notes.append(note)
        return Scores(scores, notes)

    def score(self, trained: Trained, texts, targets=None) -> float:
        """Σ log p: as scikit-learn wants it, more is better."""
        return self.total(trained, texts).log_prob

    # Going on

    def predict(self, trained: Trained, prompts) -> tuple[np.ndarray, list[str]]:
        """What follows each prompt: a line, drawn by chance, every one with seed 0."""
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        follows = continuations(trained, prompts, [0] * len(prompts), 100, 1, Choice())
        return np.array(follows, object), follows.notes

    def predict_proba(self, trained: Trained, prompts):
        raise Mistake(
            "a LanguageModel writes texts, of which there is no table; log_prob(texts) says how probable they are."
        )

    def answers(self, trained: Trained, prompts) -> Answers:
        """{"text", "continued"} a prompt."""
        follows, notes = self.predict(trained, prompts)
        return Answers(
            ({"text": text, "continued": more} for text, more in zip(prompts, follows)), notes
        )

    def trace_examples(self, trained: Trained, texts, targets=None) -> tuple[Examples, list, list]:
        """The first window of the text, or as much of it as there is."""
        blocks = (trained.inputs.numbers(block)[0] for block in Corpus.of(texts).blocks())
        end, model = trained.inputs.special.end, trained.model
        tokens = np.concatenate([np.array([end], np.int32), *blocks])[: model.context + 1]
        names = writing.token_names(trained.inputs, tokens.tolist())
        return Stream(tokens, model.context, model.carried), [names[:-1]], [names[1:]]

    def scores(self, total: Total) -> dict[str, float]:
        mean = -total.log_prob / max(1, total.tokens)
        return {
            "perplexity": exp(mean) if mean < 700 else inf,
            "bits_per_byte": -total.log_prob / log(2) / max(1, total.size),
        }

    def notes(self, total: Total) -> list[str]:
        """What is worth saying of a score."""
        notes = unknown_tokens(total.unknown, total.tokens)
        if total.log_prob == -inf:
            notes.append(
                Message(
                    "the text holds what has no probability at all in this model, so its perplexity is infinite; "
                    "smoothing gives every word some"
                )
            )
        return notes

    profile = Profile(
        phrase("task", "generate"),
        measure_text,
        describe_text,
        few_rows=(["a b c d e f"] * 4, None),
        fewer=lambda task, train, share, seed: replace(
            train, inputs=train.inputs.parts([1 - share])[0]
        ),
        keeps_tokens=True,
        terms=text_terms,
        baseline=of_text,
        common_metric=common_metric,
        unit=unit_of_tokens,
        next_command="generate {run} --prompt …",
    )


def window_name(at: int) -> str:
    return Message("the window from token {token:,} on", token=at + 1)


def unknown_tokens(unknown: int, tokens: int) -> list[str]:
    note = Message(
        "{unknown:,} of the {tokens:,} tokens are <unk>, unknown to the model or written so: what they are is not "
        "counted in perplexity and bits per byte",
        unknown=unknown,
        tokens=tokens,
    )
    return [note] if unknown else []
