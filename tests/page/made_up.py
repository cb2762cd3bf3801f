"""An Inspection that has every kind of panel, with words that would do harm in a page, a terminal or a file's name."""

import numpy as np

from wenmai.locale import Message, phrase
from wenmai.page.panels import (
    Arrow,
    Bars,
    Beside,
    Box,
    Curves,
    Diagram,
    Formula,
    FormulaStep,
    Inspection,
    Matrix,
    Points,
    Table,
    Tokens,
)

HARM = "<script>alert(1)</script>"
ESCAPE = "\x1b[31mred\x07"
ENGLISH = ["He", "tossed", "this", "tennis", "ball", "to", "serve"]
CHINESE = list("他抛起网球准备发球")


def weights(*shape: int, seed: int = 0, sharp: float = 2.0) -> np.ndarray:
    z = np.exp(sharp * np.random.default_rng(seed).normal(size=shape))
    return (z / z.sum(-1, keepdims=True)).astype(np.float32)


def attention(
    words=None, layers: int = 2, heads: int = 4, seed: int = 0, name: str = "attention"
) -> Matrix:
    words = words or [*ENGLISH, HARM]
    choices = (
        (Message("layer"), [str(at + 1) for at in range(layers)]),
        (Message("head"), [str(at + 1) for at in range(heads)]),
    )
    return Matrix(
        name,
        Message("Where it looks"),
        Message("Attention is where it looks, not why it answers."),
        weights(layers, heads, len(words), len(words), seed=seed),
        words,
        words,
        choices,
        lines=True,
        notes=[Message("The text was cut after {count} tokens.", count=len(words))],
        see=["removals"],
    )


def gates(name: str = "gates", seed: int = 1, steps: int = 6) -> Matrix:
    values = np.random.default_rng(seed).normal(size=(40, steps)).astype(np.float32)
    return Matrix(
        name,
        Message("Gates"),
        Message("A row is a unit, a column a token."),
        values,
        [f"unit {at}" for at in range(40)],
        CHINESE[:steps],
        scale="signed",
    )


def patches() -> Matrix:
    picture = np.linspace(0, 1, 64).reshape(8, 8)
    return Matrix(
        "patches",
        Message("Patches"),
        Message("Which part of the picture it looks at."),
        weights(3, 16, seed=2),
        ["1", "2", "3"],
        [f"{at // 4},{at % 4}" for at in range(16)],
        picture=picture,
        patches=(4, 4),
    )


def tokens() -> Tokens:
    words = [*ENGLISH, HARM, "\n", ESCAPE]
    values = np.random.default_rng(3).normal(size=(2, len(words)))
    return Tokens(
        "moved",
        Message("Which words moved the answer"),
        Message("Red speaks for it, blue against it."),
        words,
        values,
        [Message("input × gradient"), Message("occlusion")],
    )


def curves(name: str = "flow") -> Curves:
    steps = np.arange(1, 21)
    values = np.stack([0.9**steps, 0.6**steps, np.where(steps > 5, 0.99**steps, np.nan)])
    return Curves(
        name,
        Message("Gradient flow"),
        Message("From the last step to the first."),
        steps.tolist(),
        values,
        ["lstm", "rnn", HARM],
        Message("steps back"),
        Message("‖∂loss/∂h‖"),
        logarithmic=True,
    )


def by_token() -> Curves:
    return Curves(
        "surprise",
        Message("Surprise"),
        Message("How surprising each token was."),
        CHINESE,
        np.random.default_rng(4).random((2, len(CHINESE))),
        ["ngram", "gru"],
        None,
        Message("bits"),
    )


def bars() -> Bars:
    return Bars(
        "removals",
        Message("Switch it off"),
        Message("Which removal changes the answer most."),
        ["layer 1, head 2", "tennis", HARM, "网球"],
        np.array([0.5, 0.25, -0.125, 0.0625]),
        ["pos → neg", "", "pos", ""],
        Message("change of p"),
    )


def points() -> Points:
    names = ["cat", "dog", "猫", "狗", HARM, *(f"word{at}" for at in range(60))]
    places = np.random.default_rng(5).normal(size=(len(names), 2))
    return Points(
        "map",
        Message("Words"),
        Message("Words that are near are used alike."),
        names,
        places,
        [phrase("renderer", "name")] * 4 + [phrase("renderer", "value")] * 61,
    )


def table() -> Table:
    rows = [["cat", 0.987654, 3], [HARM, float("nan"), 4], ["猫", -1.5, 5]]
    columns = [Message("word"), Message("cosine"), Message("rank")]
    return Table("nearest", Message("Nearest"), Message("By cosine."), columns, rows)


def formula() -> Formula:
    q, k = np.arange(4) / 4, np.arange(4)[::-1] / 4
    steps = [
        FormulaStep(
            "s = q·k / √D",
            {"q": q, "k": k, "D": 4, "s": float(q @ k / 2)},
            "layers/attention.py:75: scores = …",
        ),
        FormulaStep("a = softmax(s)", {"s": np.linspace(-1, 1, 20), "a": 0.25}, f"x = {HARM}"),
    ]
    return Formula(
        "formula", Message("One cell"), Message("The number of the map, step by step."), steps
    )


def diagram() -> Diagram:
    boxes = [
        Box("x1", "x₁", 0, 0, "", "input"),
        Box("x2", "x₂", 1.5, 0, HARM, "input"),
        Box("h1", "h₁", 0, -1.8, "(B, 8)", "state"),
        Box("h2", "h₂", 1.5, -1.8, "(B, 8)", "state"),
        Box("y", "softmax", 0.75, -3.6, "(B, 2) · 18", "output", 2.5),
    ]
    arrows = [
        Arrow("x1", "h1"),
        Arrow("x2", "h2"),
        Arrow("h1", "h2", "U"),
        Arrow("h1", "y"),
        Arrow("h2", "y"),
    ]
    return Diagram("structure", Message("Structure"), Message("Unrolled over time."), boxes, arrows)


def beside(slider: bool) -> Beside:
    kind = "checkpoints" if slider else "runs"
    names = ["step 10", "step 20", "step 30"] if slider else ["lstm", HARM]
    each = [
        [attention(ENGLISH, seed=10 + at, name=f"{kind}-attention-{at}"), bars()]
        for at in range(len(names))
    ]
    title = Message("Over its checkpoints") if slider else Message("Side by side")
    return Beside(kind, title, Message("What differs is what was learned."), names, each, slider)


def inspection() -> Inspection:
    every = [
        attention(),
        gates(),
        patches(),
        tokens(),
        curves(),
        by_token(),
        bars(),
        points(),
        table(),
        formula(),
        diagram(),
        beside(False),
        beside(True),
    ]
    facts = [
        (Message("run"), f"runs/{HARM}"),
        (Message("text"), " ".join(ENGLISH)),
        (Message("answer"), ESCAPE),
    ]
    return Inspection(
        Message("Inside {run}", run=HARM),
        facts,
        every,
        [Message("Text longer than the model is cut.")],
    )


def long(tokens: int = 512, layers: int = 6, heads: int = 12) -> Inspection:
    """As large as maps become."""
    words = [f"w{at}" for at in range(tokens)]
    generator = np.random.default_rng(0)
    distance = np.abs(np.arange(tokens)[:, None] - np.arange(tokens))
    z = generator.normal(size=(layers, heads, tokens, tokens)).astype(np.float32)
    z -= (distance / generator.uniform(2, 400, (layers, heads, 1, 1))).astype(np.float32)
    values = np.exp(z)
    values /= values.sum(-1, keepdims=True)
    panel = attention(words, 1, 1)
    panel.values = values
    panel.choices = tuple(
        (name, [str(at) for at in range(size)])
        for (name, _), size in zip(panel.choices, (layers, heads))
    )
    return Inspection(Message("Inside {run}", run="bert"), [], [panel])
