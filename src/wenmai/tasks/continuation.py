"""Continuation: how a language model goes on with texts that have begun, one or many side by side, over `begin` and `step`."""

from collections.abc import Callable, Iterator
from itertools import chain, groupby

import numpy as np
import torch

from wenmai.data.files.corpus import checked
from wenmai.errors import Mistake
from wenmai.layers.cache import join
from wenmai.locale import Message
from wenmai.tasks.contract import Answers, Trained
from wenmai.tasks.decoding import Choice, continued, together

SIDE_BY_SIDE = 64  # texts that are written at once


def check_length(tokens: int, lines: int | None) -> None:
    if tokens < 1:
        raise Mistake(
            "tokens={tokens}: expected 1 or more, how many are written at the most.", tokens=tokens
        )
    if lines is not None and lines < 1:
        raise Mistake(
            "lines={lines}: expected 1 or more, after which it stops; leave it out to go on through their ends.",
            lines=lines,
        )


def prompt_notes(trained: Trained, prompt: np.ndarray) -> list[str]:
    """What a model will not see of these tokens (T,)."""
    model = trained.model
    if getattr(model, "carried", True) or len(prompt) <= model.context:
        return []
    return [
        Message(
            "the prompt has {tokens:,} tokens, and {rung} looks back on {steps:,}: the first {unseen:,} play no part",
            tokens=len(prompt),
            rung=trained.rung,
            steps=model.context,
            unseen=len(prompt) - model.context,
        )
    ]


def pieces(
    trained: Trained,
    text: str,
    prompt: np.ndarray,
    tokens: int,
    lines: int | None,
    choice: Choice,
    seed: int,
) -> Iterator[str]:
    """What follows a text whose tokens are `prompt`, piece by piece."""
    first, state = trained.language.begin(prompt)
    step, state = trained.language.steps_from(state)
    unknown = trained.inputs.special.unknown
    chosen = continued(
        known_steps(step, unknown), without_unknown(first, unknown), state, tokens, choice, seed
    )
    yield from trained.inputs.pieces(prompt.tolist(), map(int, chosen), lines, text[-1:].isspace())


def continuations(
    trained: Trained,
    texts: list[str],
    seeds: list[int],
    tokens: int,
    lines: int | None,
    choice: Choice,
) -> Answers:
    """What follows each text. Those of one length are read together, and all whose states can be joined are then written
    together."""
    texts = list(checked(texts))
    prompts, follows, special = (
        [trained.inputs.prompt(text) for text in texts],
        [""] * len(texts),
        trained.inputs.special,
    )
    order = sorted(range(len(texts)), key=lambda row: len(prompts[row]))
    for some in (
        order[start : start + SIDE_BY_SIDE] for start in range(0, len(order), SIDE_BY_SIDE)
    ):
        for rows, first, state in begin_alike(trained.language, some, prompts):
            step, state = trained.language.steps_from(state)
            step, first = (
                known_steps(step, special.unknown),
                without_unknown(first, special.unknown),
            )
            chosen, _ = together(
                step, first, state, tokens, choice, [seeds[row] for row in rows], special.end, lines
            )
            for row, numbers in zip(rows, chosen):
                more = trained.inputs.pieces(
                    prompts[row].tolist(), numbers, lines, texts[row][-1:].isspace()
                )
                follows[row] = "".join(more)
    return Answers(
        follows,
        list(dict.fromkeys(note for prompt in prompts for note in prompt_notes(trained, prompt))),
    )


def begin_alike(
    model, rows: list[int], prompts: list[np.ndarray]
) -> list[tuple[list[int], torch.Tensor, object]]:
    """(rows, log p of what comes next (B, V), their state) of rows in the order of their lengths, as few times as can be."""
    alike = [list(group) for _, group in groupby(rows, lambda row: len(prompts[row]))]
    begun = [(group, *model.begin(np.stack([prompts[row] for row in group]))) for group in alike]
    if len({type(state) for *_, state in begun}) == 1:
        groups, firsts, states = zip(*begun)
        return [(list(chain(*groups)), torch.cat(firsts), join(states))]
    return begun


def next_tokens(
    trained: Trained, prompt: np.ndarray, count: int, beginning: str
) -> list[tuple[str, float]]:
    """The most probable next tokens with their probabilities; only those that begin so, if asked."""
    special = trained.inputs.special
    log_probs = without_unknown(trained.language.begin(prompt)[0], special.unknown).cpu()[0]  # (V,)
    tokens: list[tuple[str, float]] = []
    for token in log_probs.argsort(descending=True, stable=True).tolist():
        if len(tokens) == count or log_probs[token] == float("-inf"):
            break
        text = "\n" if token == special.end else trained.inputs.line([token])
        if text.startswith(beginning):
            tokens.append((text, float(log_probs[token].exp())))
    return tokens


def known_steps(step: Callable, unknown: int | None) -> Callable:
    """Steps that never lead to an unknown token."""

    def known(state, tokens):
        log_probs, state = step(state, tokens)
        return without_unknown(log_probs, unknown), state

    return known


def without_unknown(log_probs: torch.Tensor, unknown: int | None) -> torch.Tensor:
    if unknown is not None:
        log_probs[:, unknown] = float("-inf")
    if not log_probs.is_cuda and log_probs.amax(1).min() == float(
        "-inf"
    ):  # never of a network; and who asks a GPU waits
        raise Mistake(
            "after this text nothing has a probability in a model without smoothing; begin otherwise, or train "
            "with smoothing."
        )
    return log_probs
