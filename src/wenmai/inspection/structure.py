"""The structure of a rung or a run: the textbook's diagram, unrolled over time, from the real modules, with shapes and counts.

of_run(estimator)              of what was trained
of_rung(rung, task, options)   of what would be trained: for a few example rows, or for the rows of a file
"""

from itertools import pairwise

from torch import nn

from wenmai.catalog import RUNGS, TASKS, Build, known_rung, rung_named
from wenmai.errors import unknown
from wenmai.inspection import unrolled
from wenmai.inspection.sketch import Sketch, counted, lines
from wenmai.layers.embedding import Picture
from wenmai.locale import Message
from wenmai.options import assign_options
from wenmai.page.panels import Arrow, Diagram


def of_run(estimator) -> Diagram:
    return diagram(estimator.rung, estimator.model_, estimator.inputs_)


def of_rung(
    rung: str, task: str = "", options: dict | None = None, rows: tuple | None = None
) -> Diagram:
    """`rows`: (inputs, targets) that say how many tokens and classes there are; without them, a few of no meaning."""
    from wenmai.estimators import ESTIMATORS

    known_rung(rung)
    if task and task not in TASKS:
        raise unknown("task", task, TASKS)
    task = task or RUNGS[rung].tasks[0]
    row = rung_named(rung, task)
    assigned = assign_options(options or {}, ESTIMATORS[task](rung)._owners())
    made = TASKS[task](**assigned["task"])
    inputs, targets = made.prepare(*(rows or made.profile.few_rows))
    made.learn(targets)
    learned = row.frame(
        made.learn_inputs(inputs, targets, assigned["inputs"] | assigned["tokens"], row.framed)
    )
    drawn = diagram(rung, Build.of(rung, task, assigned["rung"]).blank(made, learned), learned)
    if rows is None:
        tokens = getattr(getattr(learned, "source", learned), "vocabulary", 0)
        drawn.notes = [
            Message(
                "Drawn for example rows with {count} tokens; --data FILE draws it for yours, and a run draws "
                "itself.",
                count=tokens,
            )
        ]
    return drawn


def diagram(rung: str, model, inputs) -> Diagram:
    kind = getattr(inputs_of(inputs), "kind", "tokens")
    one = kind in ("labels", "numbers") or isinstance(getattr(model, "input", None), Picture)
    if isinstance(model, nn.Module):
        sketch = unrolled.network(model, one)
    elif hasattr(model, "z"):
        sketch = weighted_sum(model)
    else:
        sketch = counts(model)
    return Diagram(
        "structure",
        Message("The structure of {rung}", rung=rung),
        Message(
            "From the bottom up: what is read, what is kept of it step by step, what is answered. Boxes of a row "
            "share their weights, which are counted once; B texts of T tokens are read together."
        ),
        sketch.boxes,
        sketch.arrows,
    )


def inputs_of(inputs):
    """What is read, of inputs that are read and written."""
    return getattr(inputs, "source", inputs)


# Rungs that are no networks

CURVES = {
    0: "p = L / (1 + e^(−k(z − z₀)))",
    1: "softmax",
    2: "ŷ = z",
}  # models/linear.py: LOGISTIC, SOFTMAX, LINEAR


def weighted_sum(model) -> Sketch:
    """x₁ … x_F, a weight for each, a sum, a curve."""
    sketch, scores = Sketch(steps=("1", "2", "…", "F")), model.z
    learned = scores.weights is not None
    sketch.row("x", "input", names=["x₁", "x₂", "…", "x_F"])
    size = f"{len(scores.weights):,} × {scores.columns}" if learned else f"F × {scores.columns}"
    held = counted(scores.weights.size + scores.offsets.size) if learned else ""
    sketch.wide("z = Wx + b" if model.bias else "z = Wx", lines(size, held))
    between = getattr(model, "between", None)
    if between is not None:
        sketch.wide(
            "+ A, from tag to tag",
            lines(" × ".join(map(str, between.shape)), counted(between.size)),
        )
    curve = CURVES.get(
        getattr(model, "output", None), "the largest" if scores.columns > 1 else "step"
    )
    sketch.single("y", "output", curve)
    return sketch


def counts(model) -> Sketch:
    """The words before, n-grams of every order, what is shared out from one to the next, p of the word."""
    order = model.recipe.order
    before = [
        f"w{'ₜ₋' + str(back).translate(str.maketrans('0123456789', '₀₁₂₃₄₅₆₇₈₉'))}"
        for back in range(order - 1, 0, -1)
    ]
    sketch = Sketch(steps=tuple(map(str, range(max(1, order - 1)))))
    sketch.row("w", "input", names=before or ["–"])
    grams = (
        model.grams
        if isinstance(model.grams, list)
        else [model.grams]
        if model.grams is not None
        else []
    )
    sizes = (
        [sum(int(one.sizes[n]) for one in grams) for n in range(order)] if grams else [None] * order
    )
    below = sketch.last
    boxes = []
    for n in range(order, 0, -1):
        name = f"{n}-grams" if n > 1 else "single words"
        detail = lines(
            f"{sizes[n - 1]:,} n-grams" if grams else "",
            model.recipe.smoothing if n == order else "",
        )
        boxes.append(sketch.wide(name, detail))
    sketch.arrows = [Arrow(word, boxes[0]) for word in below]
    sketch.arrows += [Arrow(a, b, "back off") for a, b in pairwise(boxes)]
    sketch.last = boxes[-1:]
    classes = getattr(model, "classes", None)
    sketch.single("p(wₜ | before)", "output", f"a model a class: {classes}" if classes else "")
    return sketch
