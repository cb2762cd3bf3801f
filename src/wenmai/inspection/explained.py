"""Rungs without gradients explain themselves, exactly.

perceptron, linear, logistic, softmax     z = b + Σ_j x_j W_j: every feature with its share of z, by name, though it is kept
                                          as a hash: the text's own n-grams are hashed again
ngram                                     log p = log p(n-gram) + Σ log(back-off weights): which n-gram said each word
"""

from __future__ import annotations

import numpy as np

from wenmai.inspection.reading import Reading
from wenmai.locale import Message, phrase
from wenmai.locale.messages import phrases
from wenmai.models.explanation import Matched, Weighed
from wenmai.page.panels import Bars, Panel, Table, Tokens

SHOWN = 24
TAGS = list(phrases("column", "token", "tag", "what speaks for it").values())
PATH = list(phrases("column", "token", "n-gram", "log p", "p", "paid to back off").values())
BIAS = phrase("feature", "bias")


def panels(reading: Reading) -> list[Panel]:
    model = reading.model
    if hasattr(model, "z"):
        return of_tags(reading) if model.per_step else of_weights(reading)
    return of_text(reading) if reading.running else of_classes(reading)


# Weights × features


def weighed(reading: Reading, at: int | None = None) -> Weighed:
    return reading.model.explain(reading.examples.inputs, at, reading.pretokenized or ())


def gram_name(reading: Reading, place: tuple[int, int]) -> str:
    """The tokens of an n-gram, ^ and $ where it reaches beyond the text."""
    first, length = place
    words, ids = reading.words, reading.ids
    names = {spot: word.name for word in words for spot in word.places}
    joined = [names.get(at, "^" if at < 0 else "$") for at in range(first, first + length)]
    return (
        ("" if reading.inputs.unit != "words" else " ").join(joined)
        if len(ids)
        else "".join(joined)
    )


def sign_of(reading: Reading, column: int) -> tuple[int, float]:
    """(the output that speaks for the answer, 1 or −1): of two classes one output may speak for both."""
    width = reading.model.z.columns
    return (
        (0, 1.0 if column else -1.0)
        if width == 1 and hasattr(reading.task, "classes")
        else (column if width > 1 else 0, 1.0)
    )


def of_weights(reading: Reading) -> list[Panel]:
    explained = weighed(reading)
    answered = 0 if reading.chosen.is_floating_point() else int(reading.chosen[0])
    column, sign = sign_of(reading, answered)
    shares = sign * explained.shares[:, column]
    texts = isinstance(explained.features[0], list) if explained.features else False
    names = [
        gram_name(reading, feature[0]) if texts else number_name(reading, feature)
        for feature in explained.features
    ]
    names, shares = [*names, BIAS], np.append(shares, sign * explained.offsets[column])
    details = [
        f"{x:.3g} × {sign * w:.3g}" for x, w in zip(explained.values, explained.weights[:, column])
    ] + [""]
    order = np.argsort(-np.abs(shares), kind="stable")[:SHOWN]
    caption = Message(
        "z = b + Σ x·W: what each feature adds to the score of {answer}, exactly; all {count:,} of them and the "
        "bias add up to {z:.4g}.",
        answer=reading.named(reading.outputs),
        count=len(explained.features),
        z=float(sign * explained.z[column]),
    )
    bars = Bars(
        "features",
        Message("Features and their weights"),
        caption,
        [names[at] for at in order],
        shares[order],
        [details[at] for at in order],
        phrase("axis", "value × weight"),
    )
    if not texts:
        return [bars]
    places = np.zeros(len(reading.ids))
    for share, feature in zip(shares, explained.features):
        for first, length in feature:
            inside = [at for at in range(first, first + length) if 0 <= at < len(places)]
            places[inside] += share / len(feature) / max(1, len(inside))
    tokens = Tokens(
        "attribution",
        Message("Which words moved the answer"),
        Message("Every n-gram's share of the score, shared out among its tokens."),
        [w.name for w in reading.words],
        np.array([[places[word.places].sum() for word in reading.words]]),
        [Message("value × weight")],
    )
    return [tokens, bars]


def number_name(reading: Reading, column: int) -> str:
    shape = getattr(reading.source, "shape", None)
    return (
        f"x{column + 1}"
        if shape is None
        else ",".join(str(int(at) + 1) for at in np.unravel_index(column, shape))
    )


def of_tags(reading: Reading) -> list[Panel]:
    if reading.pretokenized is None or reading.chosen.is_floating_point():
        return []
    rows = []
    for at, token in enumerate(reading.pretokenized):
        explained, tag = weighed(reading, at), int(reading.chosen[0, at])
        shares = explained.shares[:, tag]
        best = np.argsort(-shares, kind="stable")[:3]
        rows.append(
            (
                token,
                str(reading.task.classes[tag]),
                ", ".join(f"{explained.features[one]} {shares[one]:+.3g}" for one in best),
            )
        )
    caption = Message(
        "Of every token its tag, and the three features that add most to the score of that tag; w is a word, w-1 "
        "the one before it, ^ and $ are the ends."
    )
    return [Table("features", Message("Features that speak for every tag"), caption, TAGS, rows)]


# N-grams


def matched_grams(reading: Reading) -> list[Matched]:
    return reading.model.explain(reading.ids)


def counted(reading: Reading, tokens: np.ndarray, first: int, last: int) -> int:
    """How often the n-gram of these places of the text stands in training tokens; before its first stands what opens a line."""
    wanted = np.concatenate(
        [np.full(max(0, -first), reading.inputs.opening), reading.ids[max(0, first) : last]]
    )
    window = (
        np.lib.stride_tricks.sliding_window_view(tokens, len(wanted))
        if len(tokens) >= len(wanted)
        else tokens[:0, None]
    )
    return int((window == wanted).all(1).sum())


def of_text(reading: Reading, training: np.ndarray | None = None) -> list[Panel]:
    """`training`: the tokens that it learned from, where there are counts to be told."""
    if not len(reading.ids):
        return []
    names, rows = [word.name for word in reading.words], []
    steps = matched_grams(reading)
    for at, (name, step) in enumerate(zip(names, steps)):
        first = at + 1 - step.length
        gram = " ".join(["<s>"] * max(0, -first) + names[max(0, first) : at + 1])
        if training is not None:
            gram += f" ({counted(reading, training, first, at + 1):,}×)"
        paid = " ".join(f"{weight:+.3f}" for weight in step.paid)
        rows.append(
            (name, gram, round(step.total, 4), round(float(np.exp(step.total)), 6), paid or "–")
        )
    caption = Message(
        "The longest n-gram that was known said each token; where a longer context did not have it, its weight was "
        "paid first (natural logarithms), and log p is all of them together."
    )
    return [Table("features", Message("Which n-gram said it"), caption, PATH, rows)]


def of_classes(reading: Reading) -> list[Panel]:
    by_class, classes = (
        reading.model.explain(reading.examples.inputs),
        [str(name) for name in reading.task.classes],
    )
    steps = np.array([[step.total for step in steps] for steps in by_class])  # (C, T + 1)
    answered = int(reading.chosen[0])
    prior = reading.model.prior
    rest = [number for number in range(len(classes)) if number != answered]
    other = max(rest, key=lambda number: steps[number].sum() + prior[number])
    places = steps[answered] - steps[other]
    values = [places[word.places].sum() for word in reading.words] + [
        float(places[len(reading.ids) :].sum())
    ]
    caption = Message(
        "How much more probable each token is in texts of {answer} than in texts of {other}, the next likely, by "
        "its n-grams; with what the classes are before anything is read ({prior:+.3g}) they come to {total:+.4g}.",
        answer=classes[answered],
        other=classes[other],
        prior=float(prior[answered] - prior[other]),
        total=float(places.sum() + prior[answered] - prior[other]),
    )
    names = [word.name for word in reading.words] + ["</s>"]
    rows = []
    for at, (name, step) in enumerate(zip(names, by_class[answered])):
        gram = [
            *["<s>"] * max(0, step.length - at - 1),
            *names[max(0, at + 1 - step.length) : at + 1],
        ]
        rows.append((name, " ".join(gram), round(step.total, 4)))
    table = Table(
        "features",
        Message("Which n-gram said it"),
        Message(
            "Under {answer}: the longest n-gram that was known, and log p.",
            answer=classes[answered],
        ),
        PATH[:3],
        rows,
    )
    return [
        Tokens(
            "attribution",
            Message("Which words moved the answer"),
            caption,
            names,
            np.array([values]),
            [Message("log p, one class less the other")],
        ),
        table,
    ]
