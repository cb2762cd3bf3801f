"""Vectors of texts: what a network has made of them before its head answers, one vector a text; and the vectors of its words.

    v = pool(y_1, …, y_T)      y: what the body says, or the first of its layers; all real places, [CLS] and [SEP] among them
    mean  Σ y_t / T            what sentence-transformers does with MiniLM (Reimers & Gurevych 2019)
    cls   y_1                  the place of [CLS], where texts are framed; else the first
    last  y_T                  where a network that looks back only has read all
    max   the largest of each number
    v ← v / |v|                `normalize`: then the product of two vectors is the cosine of the angle between them

Layers count from 0, which is the input layer; as in transformers, the last of them is the body's output, with its last norm."""

from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs import kinds
from wenmai.data.inputs.kinds import Texts
from wenmai.data.values import listed
from wenmai.errors import Mistake, unknown, warn_of
from wenmai.layers.body import Body
from wenmai.layers.heads import pool
from wenmai.locale import Message
from wenmai.tasks.contract import Trained
from wenmai.training import memory

Pooling = Literal["mean", "cls", "last", "max"]
LONGEST = 4096  # tokens of a text, where a network could read on for ever
BATCH = 4096  # tokens that are read at once, padding counted


@dataclass
class Embedder:
    """What is asked of a network that is trained. `layer`: None is the body's output."""

    trained: Trained
    layer: int | None = None
    pooling: Pooling = "mean"
    normalize: bool = False

    def __post_init__(self):
        trained = self.trained
        if not isinstance(trained.model, nn.Module) or not hasattr(trained.model, "input"):
            raise Mistake(
                "{rung} is no network, and has no vectors of texts; a network has, such as mlp, lstm, bert.",
                rung=trained.rung,
            )
        if self.pooling not in get_args(Pooling):
            raise unknown("pooling", self.pooling, get_args(Pooling))
        # Of what reads and writes, what reads; of two sides, the one that is read.
        self.body = getattr(trained.model, "encoder", None) or trained.model.body
        self.inputs, self.running = (
            getattr(trained.inputs, "source", trained.inputs),
            trained.inputs.kind == "lines",
        )
        self.part = self.body if self.layer is None else first_layers(self.body, self.layer)

    @property
    def reads_texts(self) -> bool:
        return self.trained.inputs.kind in ("tokens", "lines")

    @property
    def longest(self) -> int:
        """How many tokens of a text are read."""
        if not self.running:
            return getattr(self.inputs, "most", self.inputs.longest)
        return LONGEST if self.trained.model.carried else self.trained.model.context

    def rows(self, texts) -> Examples:
        """Texts as the network reads them: each from its beginning, so far as it reads."""
        if not self.running:
            texts, inputs = listed(texts), self.inputs
            if (
                isinstance(inputs, Texts) and inputs.wrapping is not None and len(texts)
            ):  # one text or two are framed alike
                inputs = kinds.continued(inputs, "tokens", texts, self.trained.rung)
            return Examples(inputs.encode(texts), longest=self.longest)
        return Examples(
            Sequences.of([self.inputs.prompt(text) for text in texts], np.int32),
            longest=self.longest,
        )

    def vectors(self, texts) -> tuple[np.ndarray, list[Message]]:
        """(N, H), row for row, and what is worth saying of them."""
        examples = self.rows(texts)
        made = [None] * len(examples)
        with torch.inference_mode():
            tokens = BATCH if self.trained.device == "cpu" else 4 * BATCH
            for rows, vectors in memory.in_pieces(
                by_length(examples.lengths, tokens), self.batch(examples), self.trained.device
            ):
                for row, vector in zip(rows, vectors):
                    made[row] = vector
        return np.array(made, np.float32), self.cut_notes(examples)

    def batch(self, examples: Examples):
        def pooled(rows: np.ndarray) -> np.ndarray:
            y, mask = self.states(examples.batch(rows).to(self.trained.device))
            vectors = pool(
                y.float(), mask, "first" if self.pooling == "cls" else self.pooling
            )  # (B, H)
            return (
                (nn.functional.normalize(vectors, dim=-1) if self.normalize else vectors)
                .cpu()
                .numpy()
            )

        return pooled

    def states(self, batch) -> tuple[Tensor, Tensor]:
        """(y (B, T, H), the mask of its places)"""
        x, mask = self.trained.model.input(batch)
        if self.layer == 0:
            place = getattr(self.body, "position", None)
            return x if place is None or not hasattr(self.body, "blocks") else place(x, 0), mask
        y, mask, _ = self.part(x, mask)
        return y, mask

    def cut_notes(self, examples: Examples) -> list[Message]:
        if not isinstance(examples.inputs, Sequences):
            return []
        lengths = examples.inputs.costs if examples.inputs.uncut is None else examples.inputs.uncut
        over = int((lengths > self.longest).sum())
        note = Message(
            "{over:,} of the {rows:,} texts are longer than the {most:,} tokens that this network reads; what follows "
            "those is left out of their vectors",
            over=over,
            rows=len(examples),
            most=self.longest,
        )
        return [note] if over else []


def layers_of(body: Body) -> tuple[Body, str] | tuple[None, str]:
    """Where its layers stand, and under which name."""
    for part in (body, getattr(body, "encoder", None)):
        for name in ("blocks", "layers"):
            if isinstance(getattr(part, name, None), nn.ModuleList):
                return part, name
    return None, ""


def first_layers(body: Body, count: int) -> Body:
    """The same body, on the same weights, up to its layer `count`."""
    part, name = layers_of(body)
    depth = len(getattr(part, name)) if name else 1
    if not 0 <= count <= depth:
        raise Mistake(
            "layer={layer}: expected 0, which is what the input layer says, to {depth}, the last layer of the network.",
            layer=count,
            depth=depth,
        )
    if count in (0, depth):
        return body
    shorter = copy(part)
    shorter._modules = dict(
        part._modules
    )  # the parts are the same, and which of them there are is its own
    setattr(shorter, name, getattr(part, name)[:count])
    if name == "blocks":
        shorter.norm, shorter.encoder = nn.Identity(), deepcopy(part.encoder)  # it has another end
    return shorter


# What an estimator offers


def embed(
    estimator, inputs, layer: int | None = None, pooling: Pooling = "mean", normalize: bool = False
) -> np.ndarray:
    """One vector an input (N, H): what the network has made of it before its head answers. `layer`: of which of its layers, 0 for
    the input layer; the body's output without it. `pooling` over real places: mean, cls (the first), last or max. `normalize`
    brings every vector to length 1."""
    vectors, notes = Embedder(estimator.trained(), layer, pooling, normalize).vectors(inputs)
    warn_of(notes)
    return vectors


def word_vectors(estimator) -> tuple[list[str], np.ndarray]:
    """(words, their vectors (V, E)): of every token that the input layer looks up, but the special ones."""
    trained = estimator.trained()
    inputs = getattr(trained.inputs, "source", trained.inputs)
    table = getattr(getattr(trained.model, "input", None), "table", None)
    if table is None or trained.inputs.kind not in ("tokens", "given", "lines"):
        raise Mistake(
            "this {rung} looks no words up in a table, and has no vectors of them; a network that reads texts has, "
            "unless its embedding is one-hot.",
            rung=trained.rung,
        )
    tokens = inputs.tokens() if trained.inputs.kind == "lines" else inputs.tokenizer.tokens
    kept = [number for number in range(len(tokens)) if number not in inputs.special.numbers]
    vectors = table.weight.detach().float().cpu().numpy()[kept]
    return [tokens[number] for number in kept], vectors


# Nearest


class Nearest:
    """Of vectors that come chunk by chunk, the `top` whose cosine with the query's is the largest."""

    def __init__(self, query: np.ndarray, top: int):
        self.query, self.top, self.best, self.rows = unit(query[None])[0], top, [], 0

    def see(self, values, vectors: np.ndarray) -> None:
        cosines = unit(vectors) @ self.query  # (N,)
        for row in np.argsort(-cosines, kind="stable")[: self.top]:
            self.best.append((float(cosines[row]), self.rows + int(row) + 1, values[row]))
        self.best = sorted(self.best, key=lambda one: (-one[0], one[1]))[: self.top]
        self.rows += len(vectors)


def unit(vectors: np.ndarray) -> np.ndarray:
    """To length 1; what has none stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
