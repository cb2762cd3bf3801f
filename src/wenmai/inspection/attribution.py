"""Which input moved the answer: how much of what speaks for it, f, each word has.

    input × gradient        x_t · ∂f/∂x_t                                          (Simonyan et al. 2014; Shrikumar et al. 2017)
    integrated gradients    (x_t − x⁰_t) · ∫₀¹ ∂f/∂x_t (x⁰ + α (x − x⁰)) dα,  Σ_t = f(x) − f(x⁰)     (Sundararajan et al. 2017)
    occlusion               f(text) − f(text without the word), read anew           (Zeiler & Fergus 2014; Li et al. 2016)

x_t is what the input layer gives at place t, f is log p of the answer, or the number. x⁰ is what it is compared with: nothing,
or, a network that learned with words hidden from it (BERT), the text with every word hidden; its norms make all of the way from
nothing one jump. The integral is a sum over the points of Gauss and Legendre, which for so smooth a curve comes closer than as
many equal steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from wenmai.inspection.reading import Reading, repeated
from wenmai.inspection.words import summed
from wenmai.locale import Message
from wenmai.locale.messages import phrases
from wenmai.page.panels import Bars, Matrix, Panel, Tokens

POINTS = 32  # of the integral
ROOM = 1 << 22  # places × places that are held at once
SERIES = list(
    phrases("series", "input × gradient", "integrated gradients", "lost without it").values()
)


def compared_with(reading: Reading) -> Tensor | None:
    """x⁰ (T, E); None for nothing"""
    wrapping, special = (
        getattr(reading.source, "wrapping", None),
        getattr(reading.source, "special", None),
    )
    if reading.ids is None or wrapping is None or special.mask is None:
        return None
    tokens = reading.batch.inputs.clone()
    places = [place for word in reading.words if word.span is not None for place in word.places]
    tokens[reading.row, places] = special.mask
    with torch.no_grad():
        return reading.model.input(replace(reading.batch, inputs=tokens))[0][reading.row]


def gradient_at(
    reading: Reading, scale: Tensor, raw: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(x − x⁰, ∂f/∂x on the way to x for every α of `scale`, f there): x (T, E), the gradients (K, T, E). `raw`: x are the
    numbers or points of the input itself, not what the input layer makes of them."""
    model, count = reading.model, len(scale)
    batch = repeated(reading.batch, count, reading.row)
    with torch.no_grad():
        x, mask = (batch.inputs.float(), batch.mask) if raw else model.input(batch)
    start = None if raw else compared_with(reading)
    way = x if start is None else x - start
    points = (x - (1 - scale.view(-1, *[1] * (x.dim() - 1))).to(x.dtype) * way).requires_grad_()
    chosen = reading.chosen
    with torch.enable_grad():
        if raw:
            outputs = model(replace(batch, inputs=points))
        else:
            outputs = model.outputs_from(points, mask, None, batch=batch)
        chosen = (
            chosen[: len(chosen)].expand(count, *chosen.shape[1:])
            if chosen.dim() and len(chosen) == 1
            else chosen
        )
        asked = reading.mask[:1].expand(count, *reading.mask.shape[1:])
        f = reading.support_of(outputs, chosen, asked)  # (K,)
        (gradient,) = torch.autograd.grad(f.sum(), points)
    return way[0].detach(), gradient, f.detach()


def several_texts(reading: Reading) -> bool:
    """Rows of the batch that are answered together, as the choices of a question are."""
    return len(reading.batch.inputs) > 1


def gradient_of_choice(reading: Reading, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """The same where several texts belong to one question: with respect to the one that was chosen, at one α."""
    x, mask = reading.x
    points, start = x.clone(), compared_with(reading)
    way = x[reading.row] if start is None else x[reading.row] - start
    own = (x[reading.row] - (1 - scale) * way).requires_grad_()
    with torch.enable_grad():
        points = torch.cat([points[: reading.row], own[None], points[reading.row + 1 :]])
        f = reading.support_of(reading.model.outputs_from(points, mask, None, batch=reading.batch))
        (gradient,) = torch.autograd.grad(f.sum(), own)
    return way, gradient[None], f.detach()


def in_pieces(reading: Reading, scale: Tensor, raw: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """As `gradient_at`, no more rows at once than there is room for."""
    if several_texts(reading) and not raw:
        parts = [gradient_of_choice(reading, float(one)) for one in scale]
    else:
        places = reading.batch.mask.shape[-1]
        parts = [
            gradient_at(reading, some, raw)
            for some in scale.split(max(1, min(POINTS, ROOM // max(1, places * places))))
        ]
    return (
        parts[0][0],
        torch.cat([gradient for _, gradient, _ in parts]),
        torch.cat([f for *_, f in parts]),
    )


def input_times_gradient(reading: Reading, raw: bool = False) -> np.ndarray:
    """(T,), or of every number or point"""
    _, gradient, _ = in_pieces(reading, torch.ones(1), raw)
    x = reading.batch.inputs[0].float() if raw else reading.x[0][reading.row]
    return per_place(x * gradient[0], raw)


def integrated_gradients(
    reading: Reading, raw: bool = False, points: int = POINTS
) -> tuple[np.ndarray, float]:
    """((T,), f(x) − f(x⁰), which they add up to)"""
    places, weights = np.polynomial.legendre.leggauss(points)
    scale = torch.tensor((places + 1) / 2, dtype=torch.float32)
    way, gradient, _ = in_pieces(reading, scale, raw)
    weights = torch.tensor(weights / 2, dtype=gradient.dtype).view(-1, *[1] * (gradient.dim() - 1))
    ends = in_pieces(reading, torch.tensor([1.0, 0.0]), raw)[2]
    return per_place(way * (gradient * weights).sum(0), raw), float(ends[0] - ends[1])


def per_place(values: Tensor, raw: bool) -> np.ndarray:
    values = values.detach().double().cpu().numpy()
    return values if raw or values.ndim < 2 else values.reshape(len(values), -1).sum(1)


def occlusion(reading: Reading) -> np.ndarray:
    """(words,) what each takes with it; 0 for what stands in no text"""
    lost = np.zeros(len(reading.words))
    for word in reading.removable:
        before, after = reading.support_without(word)
        lost[reading.words.index(word)] = before - after
    return lost


# Panels


def panels(reading: Reading, occluded: bool = True) -> list[Panel]:
    if not reading.network:
        from wenmai.inspection.explained import panels as explained

        return explained(reading)
    if reading.chosen is None:
        return []
    raw = reading.ids is None and reading.batch.inputs.dim() > 1 and reading.inputs.kind != "labels"
    if raw:
        return of_numbers(reading)
    if reading.ids is None:
        return []
    gradient = summed(input_times_gradient(reading)[: len(reading.ids)], reading.words)
    integrated, difference = integrated_gradients(reading)
    series = [gradient, summed(integrated[: len(reading.ids)], reading.words)]
    if occluded:
        series.append(occlusion(reading))
    caption = Message(
        "What speaks for the answer, word by word: above 0 it speaks for it, below 0 against it. Integrated "
        "gradients add up to {difference:.4g}, the whole way from nothing to this text; what is lost without a "
        "word is what a second reading without it says.",
        difference=difference,
    )
    return [
        Tokens(
            "attribution",
            Message("Which words moved the answer"),
            caption,
            [word.name for word in reading.words],
            np.stack(series),
            SERIES[: len(series)],
            notes=missed(integrated, difference),
            see=("switches",),
        )
    ]


def missed(integrated: np.ndarray, difference: float) -> list[Message]:
    """Where a way is too crooked for so few points."""
    total = float(integrated.sum())
    if abs(total - difference) <= 0.05 * max(abs(difference), 0.01):
        return []
    return [
        Message(
            "the way is crooked here: {points} points of it add up to {found:.4g} instead",
            points=POINTS,
            found=total,
        )
    ]


def of_numbers(reading: Reading) -> list[Panel]:
    """Of numbers, frames and pictures: every number of the input."""
    values, difference = integrated_gradients(reading, raw=True)
    caption = Message(
        "Integrated gradients: how much each number of the input speaks for the answer; they add up to "
        "{difference:.4g}.",
        difference=difference,
    )
    title = Message("Which numbers moved the answer")
    if values.ndim == 1:
        names = [f"x{at + 1}" for at in range(len(values))]
        return [Bars("attribution", title, caption, names, values)]
    values = values.sum(-1) if values.ndim == 3 else values
    return [
        Matrix(
            "attribution",
            title,
            caption,
            values,
            [str(at + 1) for at in range(values.shape[0])],
            [str(at + 1) for at in range(values.shape[1])],
            scale="signed",
        )
    ]
