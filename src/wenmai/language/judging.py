"""How else a running text is judged than once, by the model as it was trained: each mode apart, beside the plain score.

sliding   in windows that move on by fewer tokens                  scoring.py
cache     mixed with what was written a while ago                  continuous_cache.py
dynamic   by a model that learns from the text as it reads it      dynamic.py
spelled   unknown tokens are spelled out and paid for              spelling.py
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wenmai.data.files.corpus import Corpus
from wenmai.errors import Mistake
from wenmai.language import dynamic
from wenmai.language.continuous_cache import ContinuousCache
from wenmai.language.network_model import NetworkLanguageModel
from wenmai.language.scoring import stride_of
from wenmai.locale import Message
from wenmai.options import Count

# that are tried where a text is given to try them on
RATES = {"sgd": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0), "rms": (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)}
USUAL, BACK = (
    {"sgd": 0.1, "rms": 3e-4},
    {"sgd": 0.001, "rms": 0.01},
)  # rates and decays unless they are given
SEGMENT = 20  # tokens that are learned from at once
TRIED = 20_000  # tokens of that text that a rate is tried on; the later half counts, where one that is too high has drifted away


@dataclass(frozen=True, kw_only=True)
class EvaluationModes:
    """`stride`: tokens that windows move on by; `cache`: tokens that are looked back on, with a weight λ and a flatness θ;
    `dynamic`: how the model learns as it reads, with a rate, a decay back to the trained weights, and tokens a segment;
    `spell_unknown`: tokens that it does not know are paid for, byte by byte."""

    stride: Count | None = None
    cache: int = 0
    cache_weight: float | None = None
    cache_flatness: float | None = None
    dynamic: Literal["none", "sgd", "rms"] = "none"
    dynamic_rate: float | None = None
    dynamic_decay: float | None = None
    dynamic_segment: int | None = None
    spell_unknown: bool = False

    def __post_init__(self):
        learns = self.dynamic != "none"
        owned = {
            "cache_weight": self.cache,
            "cache_flatness": self.cache,
            "dynamic_rate": learns,
            "dynamic_decay": learns,
            "dynamic_segment": learns,
        }
        for name, asked in owned.items():
            if getattr(self, name) is not None and not asked:
                raise Mistake(
                    "{name}={value:g} goes with {option}=…, which is missing; add it, or leave out {name}.",
                    name=name,
                    value=getattr(self, name),
                    option=name.partition("_")[0],
                )
        if self.dynamic_segment is not None and self.dynamic_segment < 1:
            raise Mistake(
                "dynamic_segment={tokens}: expected at least 1.", tokens=self.dynamic_segment
            )
        for name in ("cache_weight", "dynamic_decay"):
            if (getattr(self, name) or 0) > 1:
                raise Mistake(
                    "{name}={value:g}: expected a share, from 0 to 1.",
                    name=name,
                    value=getattr(self, name),
                )


def evaluate_modes(
    model, text: Corpus, modes: EvaluationModes, tune: Corpus | None
) -> Iterator[tuple[str, float, str]]:
    """(its name, Σ log p, a note) of every mode that is asked for. On `tune` is chosen what is left open."""
    windows = isinstance(model, NetworkLanguageModel) and not model.network.carried
    if tune is not None and not modes.cache and modes.dynamic == "none":
        raise Mistake(
            "tune is a text on which the cache and the rate of dynamic= are fitted, and neither is asked for; add "
            "cache=2000 or dynamic=sgd, or leave it out."
        )
    if tune is not None and not any(tune.blocks()):
        raise Mistake("the text to fit on (tune) is empty; expected at least one line.")
    if modes.stride is not None and not windows:
        raise Mistake(
            "stride goes with rungs that read a text in windows, and this one reads it from end to end; leave it out."
        )
    if modes.dynamic != "none" and not isinstance(model, NetworkLanguageModel):
        raise Mistake(
            "dynamic={kind} learns by gradients, and an n-gram model has none: it counts; leave it out, or judge "
            "a network so.",
            kind=modes.dynamic,
        )
    if modes.stride is not None:
        stride = stride_of(model.network, modes.stride)
        total = sum(
            float(scores.log_probs.sum()) for scores in model.token_scores(text.blocks(), stride)
        )
        yield "sliding", total, f"sliding: {windows_note(model.network.context, stride)}"
    if modes.cache:
        yield "cache", *with_cache(model, text, modes, tune)
    if modes.dynamic != "none":
        yield "dynamic", *learning(model, text, modes, tune)


def windows_note(steps: int, stride: int) -> str:
    return Message(
        "windows of {steps:,} tokens move on by {stride:,}, so that every token is said from at least "
        "{least:,} before it, where there are so many",
        steps=steps,
        stride=stride,
        least=steps - stride,
    )


def with_cache(
    model, text: Corpus, modes: EvaluationModes, tune: Corpus | None
) -> tuple[float, str]:
    stride = {} if modes.stride is None else {"stride": modes.stride}
    flatness = modes.cache_flatness
    if not isinstance(model, NetworkLanguageModel):
        if flatness is not None:
            raise Mistake(
                "cache_flatness weighs how alike two places are to a network, and an n-gram model cannot tell: in its "
                "cache all count alike; leave it out."
            )
        flatness = 0.0
    cache, fitted = (
        ContinuousCache(modes.cache, modes.cache_weight, flatness),
        None in (modes.cache_weight, flatness),
    )
    if tune is not None and fitted:
        cache.log_probs(model.token_scores(tune.blocks(), **stride))
        cache = ContinuousCache(modes.cache, *cache.best())
    total = float(cache.log_probs(model.token_scores(text.blocks(), **stride)).sum())
    weight, flatness = cache.best()
    if len(cache.weights) * len(cache.flatnesses) > 1:
        note = Message(
            "cache: the last {size:,} tokens; weight and flatness were always those that had been best so far, "
            "at the end {weight:g} and {flatness:g}",
            size=modes.cache,
            weight=weight,
            flatness=flatness,
        )
    elif tune is not None and fitted:
        note = Message(
            "cache: the last {size:,} tokens, weight {weight:g}, flatness {flatness:g}, as they were best on "
            "the other text",
            size=modes.cache,
            weight=weight,
            flatness=flatness,
        )
    else:
        note = Message(
            "cache: the last {size:,} tokens, weight {weight:g}, flatness {flatness:g}",
            size=modes.cache,
            weight=weight,
            flatness=flatness,
        )
    return total, note


def learning(model, text: Corpus, modes: EvaluationModes, tune: Corpus | None) -> tuple[float, str]:
    kind, segment, squares = (
        modes.dynamic,
        SEGMENT if modes.dynamic_segment is None else modes.dynamic_segment,
        None,
    )
    rate = USUAL[kind] if modes.dynamic_rate is None else modes.dynamic_rate
    decay = BACK[kind] if modes.dynamic_decay is None else modes.dynamic_decay

    def log_probs(texts: Iterable[np.ndarray], rate: float) -> np.ndarray:
        return dynamic.log_probs(
            model.network, model.end, texts, dynamic.Steps(rate, decay, segment, squares)
        )

    def numbers(corpus: Corpus) -> Iterator[np.ndarray]:
        return (model.lines.numbers(block)[0] for block in corpus.blocks())

    if kind == "rms":
        if tune is None:
            raise Mistake(
                "dynamic=rms divides gradients by those of another text, and there is none; give one with --tune FILE "
                "(in Python tune=…), such as the validation text, or use dynamic=sgd."
            )
        squares = dynamic.squares_of(model.network, model.end, next(numbers(tune)), segment)
    fitted = modes.dynamic_rate is None and tune is not None
    if fitted:
        tried = next(numbers(tune))[:TRIED]
        rate = max(
            RATES[kind],
            key=lambda rate: np.nan_to_num(
                log_probs([tried], rate)[len(tried) // 2 :].sum(), nan=-np.inf
            ),
        )
        note = Message(
            "dynamic: learned by {kind} from every {segment:,} tokens after they were scored, decay {decay:g}, rate "
            "{rate:g}, as it was best on the other text; the run itself is as it was",
            kind=kind,
            segment=segment,
            decay=decay,
            rate=rate,
        )
    else:
        note = Message(
            "dynamic: learned by {kind} from every {segment:,} tokens after they were scored, decay {decay:g}, rate "
            "{rate:g}; the run itself is as it was",
            kind=kind,
            segment=segment,
            decay=decay,
            rate=rate,
        )
    return float(log_probs(numbers(text), rate).sum()), note
