"""Networks, unrolled over time as textbooks draw them, from their modules.

recurrent       x_t → h_t, h_{t−1} → h_t; both ways; one layer over the other
attention       all h → C_t
Transformer     positions; self-attention, add & norm, feed-forward, add & norm; the first block opened, the others closed
encoder, decoder   what is read to the left, the memory between, what is written to the right
anything else   its parts in the order in which they stand in it
"""

from torch import nn

from wenmai.inspection.sketch import Sketch, lines
from wenmai.layers.context import Context
from wenmai.layers.embedding import Names, Picture, TokenEmbedding
from wenmai.layers.recurrent import Recurrent
from wenmai.layers.transformer import Block, Transformer
from wenmai.models.attention import TokenwiseLayer
from wenmai.models.cnn import TextFilters
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.page.panels import Arrow

LABELS = {
    "TokenEmbedding": "Embedding",
    "FramedTokens": "Embedding + position + segment",
    "Frames": "Linear",
    "Names": "Embedding",
    "Picture": "Linear, of all points",
    "ImageRows": "Linear, of every row",
    "Patches": "Linear, of every patch",
    "Dense": "Dense",
    "LayerNorm": "Norm",
    "Spelling": "Letters of the word",
    "CRF": "Transitions of tags",
    "Learned": "+ positions, learned",
    "Conv2d": "Filters",
    "Conv1d": "Filters",
}
POOLED = {
    "first": "the first place",
    "last": "the last place",
    "ends": "the last place of either way",
}
OPEN = 4  # closed blocks that are drawn each by itself


def network(model: nn.Module, one: bool) -> Sketch:
    """`one`: it reads a single vector."""
    if isinstance(model, EncoderDecoder):
        return translating(model, one)
    sketch = Sketch(steps=("1",) if one else ("1", "2", "…", "n"), spread=spread_of(model))
    reading(sketch, model.input, one, model.input.width)
    part(sketch, model.body)
    if model.spelling is not None:
        sketch.wide(
            "Letters of the word",
            lines(f"(B, T, {model.spelling.width})", sketch.weights(model.spelling)),
        )
    answering(sketch, model.head, model.per_step and not one)
    return sketch


def spread_of(*parts: nn.Module) -> float:
    """Columns stand further apart where two directions stand side by side."""
    two = any(
        isinstance(module, Recurrent) and module.ways == 2
        for model in parts
        for module in model.modules()
    )
    return 2.3 if two else 1.35


def reading(sketch: Sketch, layer: nn.Module, one: bool, width: int) -> None:
    sketch.row("x", "input", names=["x"] if one else None)
    shape = f"(B, {width})" if one else f"(B, T, {width})"
    sketch.wide(
        LABELS.get(type(layer).__name__, type(layer).__name__),
        lines(table_of(layer), shape, sketch.weights(layer)),
    )


def table_of(layer: nn.Module) -> str:
    """V × E of what tokens are looked up in, F → E of what numbers are multiplied with."""
    for inner in layer.modules():
        weight = getattr(inner, "weight", None)
        if (
            isinstance(weight, nn.Parameter)
            and weight.dim() == 2
            and not isinstance(inner, nn.Linear)
        ):
            return "{} × {}".format(*weight.shape)
        if isinstance(inner, nn.Linear):
            return f"{inner.in_features} → {inner.out_features}"
    return ""


def answering(sketch: Sketch, head: nn.Module, per_step: bool) -> None:
    pooling = getattr(head, "pooling", None)
    if pooling and not per_step:
        sketch.wide(POOLED.get(pooling, f"{pooling} over time"))
    for name, inner in sorted(
        head.named_children(), key=lambda child: child[0] == "output"
    ):  # which stands last
        if any(True for _ in inner.parameters()):
            part(sketch, inner, name)
    own = [weight for weight in head.parameters(recurse=False) if id(weight) not in sketch.seen]
    if own:
        kind = type(head).__name__
        sketch.wide(
            LABELS.get(kind, kind),
            lines(" · ".join(shape_of(weight) for weight in own), sketch.weights(head)),
        )
    label = "softmax" if head.has_probabilities else "y"
    if per_step:
        sketch.row("y", "output", label if label != "y" else "")
    else:
        sketch.single("y", "output", label if label != "y" else "")


def shape_of(weight) -> str:
    return " × ".join(map(str, weight.shape))


# Parts


def part(sketch: Sketch, module: nn.Module, name: str = "", reads_memory: bool = False) -> None:
    """`reads_memory`: what another part has written comes in here."""
    for kind, draw in DRAWN.items():
        if isinstance(module, kind):
            return draw(sketch, module, reads_memory)
    children = [
        (inner, child)
        for inner, child in module.named_children()
        if any(True for _ in child.parameters())
    ]
    own = list(module.parameters(recurse=False))
    if not children and not own:
        return None
    if own or not children:
        return leaf(sketch, module, name, reads_memory)
    for inner, child in children:
        part(
            sketch, child, f"{name} {inner}".strip() if not inner.isdigit() else name, reads_memory
        )
    return None


def leaf(sketch: Sketch, module: nn.Module, name: str, reads_memory: bool = False) -> None:
    kind = type(module).__name__
    label = LABELS.get(kind, kind)
    if isinstance(module, nn.Linear):
        size = f"{module.in_features} → {module.out_features}"
    elif isinstance(module, nn.LayerNorm):
        size = ""
    else:
        size = " · ".join(shape_of(weight) for weight in list(module.parameters(recurse=False))[:2])
    title = (
        f"{label}: {name.split()[0].replace('_', ' ')}"
        if name and label.lower() not in name
        else label
    )
    sketch.wide(title, lines(size, sketch.weights(module)), memory=reads_memory)


def recurrent(sketch: Sketch, body: Recurrent, reads_memory: bool) -> None:
    many = len(body.layers) > 1
    for level, ways in enumerate(body.layers):
        below, rows = sketch.last, []
        mark = f"⁽{level + 1}⁾" if many and level < 9 else ""
        mark = mark.translate(str.maketrans("123456789", "¹²³⁴⁵⁶⁷⁸⁹"))
        for way, direction in enumerate(ways):
            shift = (0.52 if way else -0.52) if body.ways == 2 else 0.0
            row = sketch.row(f"h{mark}{'′' * way}", "state", shift=shift, follow=below)
            sketch.along(row, back=bool(way))
            if reads_memory and not way and level == 0:
                sketch.from_memory.append(row[0])
            arrow = "" if body.ways == 1 else " ←" if way else " →"
            layer = f"layer {level + 1} of {len(body.layers)}" if many else ""
            sketch.beside(
                f"{body.cell}{arrow}",
                lines(layer, f"(B, T, {direction.hidden})", sketch.weights(direction)),
            )
            rows.append(row)
        if body.ways == 2:
            joined = sketch.row("h", "state", "[h ; h′]", follow=[])
            for step, a, b, to in zip(sketch.steps, *rows, joined):
                sketch.arrows += [Arrow(a, to), Arrow(b, to)] if step != "…" else []
        if body.norms is not None:
            leaf(sketch, body.norms[level], "")


def tokenwise(sketch: Sketch, body: TokenwiseLayer, reads_memory: bool) -> None:
    for layer in body.layers:
        sketch.row("e", "state")
        sketch.beside("tanh(Wx + b)", lines(f"(B, T, {layer.out_features})", sketch.weights(layer)))


def context(sketch: Sketch, module: Context, reads_memory: bool) -> None:
    """Scores, softmax, the sum: C_t of every step."""
    sketch.wide("Attention: Cₜ = Σₛ aₜₛ hₛ", sketch.weights(module), memory=reads_memory)


def filters(sketch: Sketch, body: TextFilters, reads_memory: bool) -> None:
    project = body.project if isinstance(body.project, nn.Linear) else None
    if project is not None:
        leaf(sketch, project, "")
    for level, layer in enumerate(body.layers):
        if body.norms is not None:
            leaf(sketch, body.norms[level], "")
        widths = ", ".join(str(one.kernel_size[0]) for one in layer)
        kind = "Filters over words, gated, looking back" if body.gated else "Filters over words"
        each = f"{sum(one.out_channels for one in layer)} of width {widths}"
        sketch.wide(kind, lines(each, f"(B, T, {body.width})", sketch.weights(layer)))
    if body.norms is not None:
        leaf(sketch, body.norms[-1], "")


def transformer(sketch: Sketch, body: Transformer, reads_memory: bool) -> None:
    if body.position is not None:
        learned = any(True for _ in body.position.parameters())
        sketch.wide(
            "+ positions, learned" if learned else "+ positions, sinusoidal",
            sketch.weights(body.position),
            memory=reads_memory and body.blocks[0].cross is None,
        )
    prenorm = isinstance(body.norm, nn.LayerNorm)
    draw_block(sketch, body.blocks[0], body, prenorm, reads_memory)
    closed = list(body.blocks)[1:]
    if len(closed) <= OPEN:
        for at, block in enumerate(closed, 2):
            sketch.wide(
                f"Block {at}, like the first",
                lines(f"(B, T, {body.width})", sketch.weights(block)),
                memory=block.cross is not None,
            )
    else:
        sketch.wide(
            f"Blocks 2 to {len(closed) + 1}, like the first",
            lines(f"(B, T, {body.width})", sketch.weights(*closed)),
            memory=closed[0].cross is not None,
        )
    if prenorm:
        leaf(sketch, body.norm, "")


def draw_block(
    sketch: Sketch, block: Block, body: Transformer, prenorm: bool, reads_memory: bool
) -> None:
    """The parts of a block; what each of them gives is added to what it was given."""
    heads, rotary = block.attention.heads, ", rotary" if block.attention.rotary else ""
    attention_title = "Self-attention, back only" if body.causal else "Self-attention"
    enters = reads_memory and block.cross is None and body.position is None
    parts = [
        (
            attention_title,
            f"{heads} heads{rotary}, q·k/√D",
            block.attention,
            block.attention_norm,
            enters,
        )
    ]
    if block.cross is not None:
        parts.append(
            (
                "Attention to what was read: Cₜ",
                f"{heads} heads",
                block.cross,
                block.cross_norm,
                True,
            )
        )
    wide = nn.ModuleList([block.up, block.down])
    size = f"{body.width} → {block.up.out_features} → {body.width}, {block.activation}"
    parts.append(("Feed-forward", size, wide, block.mlp_norm, False))
    for label, size, module, norm, memory in parts:
        if prenorm:
            sketch.wide("Norm", sketch.weights(norm))
        sketch.wide(
            label + (", + x" if prenorm else ""), lines(size, sketch.weights(module)), memory=memory
        )
        if not prenorm:
            sketch.wide("Add & norm", sketch.weights(norm))


DRAWN = {
    Recurrent: recurrent,
    TokenwiseLayer: tokenwise,
    Context: context,
    TextFilters: filters,
    Transformer: transformer,
}


# What reads, and what writes


def translating(model: EncoderDecoder, one: bool) -> Sketch:
    """The encoder to the left, the decoder to the right; they share one count."""
    one = one or isinstance(model.input, Names | Picture)
    steps = ("1",) if one else ("1", "2", "…", "n")
    encoder = Sketch(steps=steps, spread=spread_of(model.encoder), before="e")
    reading(encoder, model.input, one, model.input.width)
    part(encoder, model.encoder)
    memory = encoder.wide("h" if one else "h₁ … hₙ", "what was read", "state")
    decoder = Sketch(
        encoder.columns[-1] + 3.8, spread_of(model.decoder), ("1", "2", "…", "m"), encoder.seen, "d"
    )
    written = model.decoder
    decoder.row("w", "input", names=["<s>", "y₁", "…", "yₘ₋₁"])
    parts = dict(written.named_children())
    words = next((inner for inner in parts.values() if isinstance(inner, TokenEmbedding)), None)
    if words is not None:
        decoder.wide(
            "Embedding", lines(table_of(words), f"(B, T, {words.width})", decoder.weights(words))
        )
    first, entries = len(decoder.boxes), []
    for name, inner in parts.items():
        if (
            isinstance(inner, nn.Linear) and name not in LATER
        ):  # what was read becomes the first state, or enters each step
            size = lines(f"{inner.in_features} → {inner.out_features}", decoder.weights(inner))
            entries.append(decoder.aside(f"Linear: {name.replace('_', ' ')}", size, len(entries)))
            parts = {other: module for other, module in parts.items() if module is not inner}
    for name, inner in parts.items():
        if inner is not words and any(True for _ in inner.parameters()):
            level = len(decoder.boxes)
            part(decoder, inner, name, reads_memory=isinstance(inner, Context | Transformer))
            if isinstance(inner, Recurrent):
                decoder.arrows += [Arrow(entry, decoder.boxes[level].name) for entry in entries]
    own = list(written.parameters(recurse=False))
    if own:
        decoder.wide(
            type(written).__name__, lines(" · ".join(map(shape_of, own)), decoder.weights(written))
        )
    entered = decoder.from_memory or [box.name for box in decoder.boxes[first : first + 1]]
    answering(decoder, model.head, True)
    decoder.boxes, decoder.arrows = encoder.boxes + decoder.boxes, encoder.arrows + decoder.arrows
    decoder.arrows += [Arrow(memory, name) for name in entered]
    return decoder


LATER = ("join", "gate", "norm")  # parts of a decoder that read its own state and no memory
