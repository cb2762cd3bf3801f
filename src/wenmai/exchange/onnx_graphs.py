"""Networks as graphs that ONNX can hold: their inputs and outputs are named tensors, and every batch and length will do.

model.onnx     what is read, and its mask            → `outputs` of the head, `vectors` (B, H): the mean of y over real places
step.onnx      tokens (B, T), the state              → `log_probs` (B, T, V) of the token after each, the state
encoder.onnx   what is read, and its mask            → `log_probs` (B, V) of the first token, the state, `vectors`
  step.onnx    token (B,), the state                 → `log_probs` (B, V) of the next, the state

The state has the batch in dimension 0, as everywhere: the states of recurrent layers side by side (B, S), or keys and values
(B, L, 2, A, P, D) of the P tokens before, of which those are looked at where `real` (B, P) is true. So rows of one state may be
taken, repeated and joined. Nothing here is computed otherwise than in layers/: the plain formulas run, and no kernel of ours."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.data.inputs.pieces import Pieces
from wenmai.layers.attention import see_real
from wenmai.layers.heads import pool
from wenmai.layers.questions import SpanHead
from wenmai.layers.recurrent import Direction
from wenmai.layers.transformer import DecoderCache
from wenmai.models.attention_decoder import AttentionState
from wenmai.models.encoder_decoder import EncoderDecoder

FIXED = (
    "numbers",
    "image",
    "labels",
)  # kinds of input of which a row has one size: no mask says how long it is
NAMES = {
    "tokens": "tokens",
    "lines": "tokens",
    "frames": "frames",
    "numbers": "numbers",
    "image": "image",
    "labels": "label",
}
AXES = {
    "tokens": "BT",
    "mask": "BT",
    "segment": "BT",
    "answers": "BW",
    "letters": "UK",
    "frames": "BT",
    "memory": "BS",
    "memory_mask": "BS",
    "keys": "BS",
    "copies": "BS",
    "aligned": "BS",
    "past": "B...P",
    "real": "BP",
    "past_after": "B...Q",
    "real_after": "BQ",
    "across": "B...S",
    "across_real": "B..S",
}
WORDS = {
    "B": "batch",
    "T": "length",
    "W": "words",
    "U": "spellings",
    "K": "letters",
    "S": "source",
    "P": "past",
    "Q": "all",
}


def axes_of(name: str, shape: str = "B") -> dict[int, str]:
    """Which dimensions of a tensor may have any size; `shape`: of one that AXES has not."""
    return {
        place: WORDS[letter] for place, letter in enumerate(AXES.get(name, shape)) if letter != "."
    }


# Layers that are traced in another form


class AnyLength(nn.Module):
    """A layer of a cell that is repeated step by step, whose loop stays one (layers/recurrent.py unrolls it)."""

    def __init__(self, direction: Direction, parts: int):
        super().__init__()
        self.hidden, self.states, self.parts = direction.hidden, direction.states, parts
        self.w, self.u, self.b = direction.weights

    def forward(
        self, x: Tensor, state: tuple | None, trace=None, drop: float = 0.0
    ) -> tuple[Tensor, tuple]:
        h = x.new_zeros(x.shape[0], self.hidden) if state is None else state[0]
        y, h = repeated(functional.linear(x, self.w, self.b), self.u, h, self.parts)
        return y, (h,)


@torch.jit.script
def repeated(projected: Tensor, weight: Tensor, h: Tensor, parts: int) -> tuple[Tensor, Tensor]:
    """h ← f·h + i·u of layers/cells.py: with one part f = i = 1, with two i = 1 − f. (B, T, parts·H) → (B, T, H), (B, H)"""
    y = h.unsqueeze(1)[:, :0]
    for t in range(projected.size(1)):
        gates = projected[:, t] + torch.matmul(h, weight.t())
        if parts == 1:
            h = h + gates.tanh()
        elif parts == 2:
            size = gates.size(1) // 2
            f = gates[:, :size].sigmoid()
            h = f * h + (1 - f) * gates[:, size:].tanh()
        else:
            size = gates.size(1) // 3
            h = (
                gates[:, :size].sigmoid() * h
                + gates[:, size : 2 * size].sigmoid() * gates[:, 2 * size :].tanh()
            )
        y = torch.cat([y, h.unsqueeze(1)], 1)
    return y, h


def traceable(model: nn.Module) -> nn.Module:
    """A copy with the same weights, in evaluation, whose loops and short cuts do not depend on what it is traced with."""
    model = deepcopy(model).cpu().float().eval()
    for module in list(model.modules()):
        if hasattr(module, "shortens"):
            module.shortens = (
                False  # y at every place, not at the first alone: `vectors` are their mean
            )
        for name, child in module.named_children():
            if isinstance(child, Direction) and child.fused is None:
                setattr(module, name, AnyLength(child, child.weights[0].shape[0] // child.hidden))
    return model


class Grown:
    """Keys and values that were read before (B, L, 2, A, P, D), where `real` (B, P), and those that are added to them: a cache
    (layers/cache.py) whose length no number of Python holds."""

    steps = None

    def __init__(self, past: Tensor, real: Tensor, length: int = 1):
        self.past, self.real, self.length, self.added = past, real, length, []
        self.start = real.sum(1)  # (B,)

    @classmethod
    def empty(cls, body, like: Tensor) -> "Grown":
        """Before the first token of these rows."""
        attention = body.blocks[0].attention
        width = attention.output.out_features // attention.heads
        past = like.new_zeros(like.shape[0], len(body.blocks), 2, attention.heads, 0, width)
        return cls(past, past.new_zeros(like.shape[0], 0, dtype=torch.bool), 0)

    def in_order(self) -> "Grown":
        return self

    def grown(self, more: int) -> "Grown":
        return self

    def layer(self, level: int, more: int) -> "GrownLayer":
        return GrownLayer(self, level)

    def after(self, steps: int) -> tuple[Tensor, Tensor]:
        new = torch.ones_like(self.added[0][0, :, 0, -steps:, 0], dtype=torch.bool)  # (B, T)
        return torch.stack(self.added, 1).permute(2, 1, 0, 3, 4, 5), torch.cat([self.real, new], 1)


class GrownLayer:
    recorded, behind = False, True

    def __init__(self, cache: Grown, level: int):
        self.cache, self.level, self.start = cache, level, cache.start

    def added(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        past = self.cache.past[:, self.level]  # (B, 2, A, P, D)
        k, v = torch.cat([past[:, 0], k], 2), torch.cat([past[:, 1], v], 2)
        self.cache.added.append(torch.stack([k, v]))
        return k, v

    def seen_by(self, steps) -> Tensor:
        """(B, 1, T, P + T): what is real of the past, and of what is new what does not come after"""
        real = self.cache.real
        places = torch.arange(steps)
        new = (places[None, :] <= places[:, None])[None].expand(real.shape[0], -1, -1)  # (B, T, T)
        return torch.cat([real.unsqueeze(1).expand(-1, steps, -1), new], 2).unsqueeze(1)


# What is traced


class Reading(nn.Module):
    """A network that answers for what it has read."""

    def __init__(self, model, fields: tuple[str, ...]):
        super().__init__()
        self.model, self.fields, self.kept = model, fields, []
        (model.encoder if isinstance(model, EncoderDecoder) else model.body).register_forward_hook(
            self.keep
        )
        self.output_names = [
            "outputs",
            "vectors",
            *(("follows",) if getattr(model.head, "next_sentence", False) else ()),
        ]

    def keep(self, body, inputs, made) -> None:
        self.kept[:] = made[:2]

    def vectors(self) -> Tensor:
        return pool(*self.kept, "mean")

    def batch(self, tensors: tuple[Tensor, ...]) -> Batch:
        known = dict(zip(self.fields, tensors))
        if "mask" not in known:
            known["mask"] = torch.ones_like(
                known["inputs"].reshape(known["inputs"].shape[0], -1)[:, :1], dtype=torch.bool
            )
        return Batch(**known)

    def forward(self, *tensors: Tensor):
        outputs, _ = self.model.masked(self.batch(tensors))
        follows = (
            (self.model.head.following(self.kept[0]),) if "follows" in self.output_names else ()
        )
        return outputs, self.vectors(), *follows


class Continuing(nn.Module):
    """A network that goes on with a text: tokens (B, T), all real, after the state."""

    def __init__(self, model):
        super().__init__()
        self.model, body = model, model.body
        self.state_names = ["past", "real"] if body.cached else ["state"] if body.carried else []
        self.output_names = ["log_probs", *(f"{name}_after" for name in self.state_names)]

    def first(self, rows: int) -> list[Tensor]:
        """The state before a text."""
        body = self.model.body
        if body.cached:
            empty = Grown.empty(body, next(body.parameters()).new_zeros(rows))
            return [empty.past, empty.real]
        if not body.carried:
            return []
        token = torch.zeros(1, 1, dtype=torch.int64)
        return [torch.zeros_like(self.model.hidden(token, None)[1]).expand(rows, -1).contiguous()]

    def forward(self, tokens: Tensor, *state: Tensor):
        body, past = self.model.body, None
        if body.cached:
            past = Grown(*state)
        elif body.carried:
            (past,) = state
        y, after = self.model.hidden(tokens, past)
        after = after.after(tokens.shape[1]) if body.cached else (after,) if body.carried else ()
        return self.model.head.outputs(y), *after


class Beginning(Reading):
    """An encoder–decoder as it begins: what it reads, and the first token of what it writes."""

    def __init__(self, model, fields: tuple[str, ...]):
        super().__init__(model, fields)
        self.decoder = Writing(model)
        self.aligns = hasattr(model.head, "ctc")
        self.made = [
            name for name in self.decoder.fixed_names if name not in fields
        ]  # what is known already is not given again
        self.output_names = [
            "log_probs",
            *self.decoder.state_names,
            *self.made,
            "vectors",
            *(("aligned",) if self.aligns else ()),
        ]

    def forward(self, *tensors: Tensor):
        model, batch = self.model, self.batch(tensors)
        memory, mask, _ = model.encoder(*model.input(batch), **model.beside(batch))
        inner, fixed = self.decoder.begun(memory, mask, batch.copies)
        fixed = [fixed[self.decoder.fixed_names.index(name)] for name in self.made]
        opening = torch.full_like(mask.sum(1), model.opening)
        log_probs, after = self.decoder.step(opening, memory, mask, inner, batch.copies)
        aligned = (model.head.ctc.outputs(memory, mask),) if self.aligns else ()
        return log_probs, *after, *fixed, self.vectors(), *aligned


class Writing(nn.Module):
    """A decoder as it goes on: one token more, after the state, beside what was read, which stays as it is. Both are asked of the
    decoder: a tensor (B, S), where it looks with attention its parts, of a Transformer keys and values."""

    def __init__(self, model):
        super().__init__()
        self.model, decoder = model, model.decoder
        self.cached, self.copies = (
            hasattr(decoder, "body"),
            getattr(decoder, "gate", None) is not None,
        )
        self.cross = self.cached and decoder.body.blocks[0].cross is not None
        self.attends = hasattr(decoder, "join")
        self.state_names = (
            ["past", "real"] if self.cached else ["inner", "output"] if self.attends else ["state"]
        )
        fixed = (
            ["across", "across_real"]
            if self.cross
            else ["keys", "memory", "memory_mask"]
            if self.attends
            else []
        )
        self.fixed_names = (
            fixed
            + (["memory"] if hasattr(decoder, "enter") else [])
            + (["copies"] if self.copies else [])
        )
        self.output_names = ["log_probs", *(f"{name}_after" for name in self.state_names)]

    def begun(
        self, memory: Tensor, mask: Tensor, copies: Tensor | None
    ) -> tuple[object, list[Tensor]]:
        """(what the decoder carries before the first token, what stays as it is)"""
        decoder, known = (
            self.model.decoder,
            {"memory": memory, "memory_mask": mask, "copies": copies},
        )
        if self.cached:
            inner = Grown.empty(decoder.body, memory)
            if self.cross:
                across = torch.stack(
                    [block.cross.keys_values(memory) for block in decoder.body.blocks], 1
                )  # (B, L, 2, A, S, D)
                known |= {"across": across, "across_real": see_real(mask)}
                inner = DecoderCache(inner, across, known["across_real"], None)
        else:
            inner = decoder.begin(memory, mask, 0)
            known |= {"keys": inner.keys} if self.attends else {}
        return inner, [known[name] for name in self.fixed_names]

    def step(
        self, token: Tensor, memory, mask, inner, copies: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        y, inner = self.model.decoder(token[:, None], memory, mask, inner)
        # words of the source have numbers beyond the vocabulary's, no more than the source has places
        beside = (Wide(copies, copies.shape[1]),) if self.copies else ()
        text = inner.text if self.cross else inner
        after = (
            text.after(1)
            if self.cached
            else (inner.inner, inner.output)
            if self.attends
            else (inner,)
        )
        return self.model.head.outputs(y, *beside)[:, 0].float(), list(after)

    def forward(self, token: Tensor, *tensors: Tensor):
        known = dict(zip([*self.state_names, *self.fixed_names], tensors))
        if self.cached:
            inner = Grown(known["past"], known["real"])
            inner = (
                DecoderCache(inner, known["across"], known["across_real"], None)
                if self.cross
                else inner
            )
        else:
            inner = (
                AttentionState(*(known[name] for name in ("inner", "output", "keys")))
                if self.attends
                else known["state"]
            )
        memory, mask, copies = (known.get(name) for name in ("memory", "memory_mask", "copies"))
        log_probs, after = self.step(token, memory, mask, inner, copies)
        return log_probs, *after


@dataclass
class Wide:
    """The numbers of a source's tokens (B, S), and room for words that the vocabulary lacks (layers/copying.py, Copies)."""

    numbers: Tensor
    extra: object


# What is read


def fields_of(model, inputs) -> tuple[str, ...]:
    """Of a batch, what the network reads."""
    first, reads = model.input, getattr(model, "encoder", None) or model.body
    fields = ["inputs"] if inputs.kind in FIXED else ["inputs", "mask"]
    if getattr(first, "segment", None) is not None or reads.segmented:
        fields.append("segment")
    if isinstance(inputs, Pieces) or isinstance(model.head, SpanHead):
        fields.append("answers")
    if getattr(first, "spelling", None) is not None or getattr(model, "spelling", None) is not None:
        fields += ["form", "letters"]
    if getattr(getattr(model, "decoder", None), "gate", None) is not None:
        fields.append("copies")
    return tuple(fields)


def named(fields: tuple[str, ...], kind: str) -> list[str]:
    return [NAMES[kind] if field == "inputs" else field for field in fields]


def drawn(
    model, inputs, fields: tuple[str, ...], rows: int, steps: int, generator: np.random.Generator
) -> Mapping[str, Tensor]:
    """Any batch of this shape: rows of different lengths, the longest of `steps`, and what stands beside them."""
    source = getattr(inputs, "source", inputs)
    lengths = generator.integers(
        0 if hasattr(model, "body") and not hasattr(model, "decoder") else 1, steps + 1, rows
    )
    lengths[generator.integers(rows)] = steps
    mask = np.arange(steps) < lengths[:, None]  # (B, T)
    batch = {"mask": mask}
    if inputs.kind == "image":
        batch["inputs"] = generator.integers(0, 256, (rows, *source.shape)).astype(np.float32)
    elif inputs.kind == "labels":
        batch["inputs"] = generator.integers(0, source.count, rows)
    elif inputs.kind in ("numbers", "frames"):
        shape = (
            (rows, source.width)
            if inputs.kind == "numbers"
            else (rows, steps, model.input.project.in_features)
        )
        batch["inputs"] = generator.normal(size=shape).astype(np.float32)
    else:
        batch["inputs"] = generator.integers(0, source.vocabulary, (rows, steps)) * mask
    asked = -(-lengths // 3)[:, None]  # tokens of the question, or of the first of two texts
    most = getattr(getattr(model.input, "segment", None), "num_embeddings", steps) - 1
    batch["segment"] = np.minimum(np.maximum(0, (np.arange(steps) - asked) // 4 + 1), most) * mask
    words = np.maximum(1, lengths // 2)
    places = np.sort(generator.integers(0, np.maximum(1, lengths)[:, None], (rows, words.max())), 1)
    batch["answers"] = np.where(np.arange(words.max()) < words[:, None], places, -1)  # (B, W)
    if "form" in fields:
        letters = (getattr(model.input, "spelling", None) or model.spelling).table.num_embeddings
        spelled = np.arange(2 + steps % 5) < generator.integers(0, 3 + steps % 5, rows + 1)[:, None]
        batch["letters"] = generator.integers(1, letters, spelled.shape) * spelled  # (U, K)
        batch["form"] = generator.integers(
            0, rows + 1, (batch["answers"] if "answers" in fields else mask).shape
        )
    if "copies" in fields:
        batch["copies"] = generator.integers(0, model.head.width + steps, (rows, steps))
    return {name: torch.from_numpy(np.ascontiguousarray(batch[name])) for name in fields}
