"""Every picture of the chapters, drawn from formulas or from small trainings on the built-in data.

    python docs/pictures.py            all of them, in half an hour, into docs/pictures/
    python docs/pictures.py rate gates only these

A picture is a function of the language; the function's name is the file's. Text stays text, so that Chinese renders.
"""

import functools
import io
import random
import re
import sys
from math import pi, sin
from pathlib import Path

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from wenmai import (
    Answerer,
    Classifier,
    Composer,
    LanguageModel,
    Regressor,
    Replier,
    Tagger,
    Transcriber,
    Translator,
)
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.features import extend, find, token_at
from wenmai.evaluation.probes import PROBES
from wenmai.exchange import hugging_face
from wenmai.language.continuous_cache import ContinuousCache
from wenmai.layers.crf import NEVER
from wenmai.layers.positions import sinusoid
from wenmai.tasks import metrics
from wenmai.tasks.contract import Trained
from wenmai.tasks.transcripts import frame_log_probs
from wenmai.training.options import TrainingOptions
from wenmai.training.schedule import Schedule

FOLDER = Path(__file__).parent / "pictures"
BLUE, RED, GREEN, GREY, GOLD, VIOLET = (
    "#2f6fb0",
    "#b23a24",
    "#1d8a66",
    "#8a857c",
    "#c98500",
    "#a0519a",
)
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "wenmai",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": ["DejaVu Sans", "Noto Sans CJK SC"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "figure.facecolor": "white",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
}
READERS = "system-ui, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"


# Small trainings, each made once.


@functools.cache
def languages():
    return open_dataset("languages", TASKS, valid="0.1", test="0.1")


@functools.cache
def trained(rung: str, **options):
    data = languages()
    return Classifier(rung, device="cpu", **options).fit(*data.train.pair, data.valid.pair)


def traced(classifier, text: str):
    """(what the network wrote down of itself on this text, its answer)"""
    with torch.no_grad():
        trace = classifier.trace([text])
    return trace, str(classifier.classes_[int(trace.outputs.argmax())])


# Chapter 1: data


def features(zh):
    """What a linear rung sees of one name: its n-grams, weighed by tf-idf."""
    name, model = "København", trained("softmax").model_
    row = model.z.rows(trained("softmax").inputs_.encode([name]))
    value = dict(zip(row.columns.tolist(), row.values.tolist()))
    grams = [
        (text, value[column])
        for text, column in ngrams_of(trained("softmax"), name)
        if column in value
    ]
    figure, axes = plot(6.4, 3.6)
    order = sorted(dict(grams).items(), key=lambda gram: (len(gram[0]), -gram[1]))
    axes.bar(
        range(len(order)),
        [v for _, v in order],
        color=[(GOLD, BLUE, GREEN)[min(3, len(g)) - 1] for g, _ in order],
    )
    axes.set_xticks(range(len(order)), [g for g, _ in order], rotation=90)
    axes.set_ylabel("tf-idf 值" if zh else "tf-idf value")
    axes.set_title(
        f"“{name}”的一元、二元、三元特征（· 为首尾）"
        if zh
        else f"1-, 2- and 3-grams of “{name}” (· is an edge)"
    )
    return figure


def ngrams_of(classifier, name: str):
    """(n-gram as text, its column or −1) for every n-gram of the name: the keys of features.py, made again."""
    known, flat = (
        classifier.model_.z.features,
        classifier.inputs_.encode([name]).flat.astype(np.uint64),
    )
    shown = f"·{name}·"
    for first in range(-1, len(flat) + 1):
        key = np.uint64(0)
        for at in range(first, min(first + known.longest, len(flat) + 1)):
            key = np.uint64(extend(key, np.uint64(token_at(flat, 0, len(flat), at))))
            place = find(known.table, key)
            yield shown[first + 1 : at + 2], int(known.slots[place]) if known.table[place] else -1


# Chapter 2: linear


def perceptron(zh):
    """The line between two kinds of iris after one pass and after ten."""
    table = open_dataset("iris", TASKS).train
    labels = np.array(table.targets)
    rows = labels != "setosa"
    x, y = table.inputs[rows][:, 2:], labels[rows]
    figure = Figure(figsize=(7.2, 3.3))
    for n, (epochs, averaged) in enumerate(((1, False), (10, True))):
        axes = figure.add_subplot(1, 2, n + 1)
        found = Classifier("perceptron", epochs=epochs, averaged=averaged, validation=0.0).fit(x, y)
        for label, colour, mark in (("versicolor", BLUE, "o"), ("virginica", RED, "^")):
            axes.plot(*x[y == label].T, mark, color=colour, ms=4, alpha=0.7, label=label)
        w = (found.model_.z.weights[:, 1] - found.model_.z.weights[:, 0]) / found.inputs_.deviation
        b = found.model_.z.offsets[1] - found.model_.z.offsets[0] - w @ found.inputs_.mean
        across = np.array([2.8, 7.2])
        axes.plot(across, -(w[0] * across + b) / w[1], color="black", lw=1.2)
        axes.set(
            xlim=(2.8, 7.2), ylim=(0.8, 2.7), xlabel="花瓣长（厘米）" if zh else "petal length, cm"
        )
        right = found.score(x, y)
        when = (
            ("第 1 遍之后", "10 遍的平均")
            if zh
            else ("after one pass", "the average of ten passes")
        )
        axes.set_title(f"{when[n]}{'：准确率' if zh else ': accuracy'} {right:.2f}")
        if n == 0:
            axes.set_ylabel("花瓣宽（厘米）" if zh else "petal width, cm")
            axes.legend(loc="upper left")
    return figure


def logistic(zh):
    figure, axes = plot(6.0, 3.0)
    z = np.linspace(-6, 6, 121)
    for k, z0, colour, dash in (
        (1, 0, "black", "-"),
        (3, 0, BLUE, "--"),
        (0.5, 0, GREEN, "-."),
        (1, 2, RED, ":"),
    ):
        axes.plot(
            z, 1 / (1 + np.exp(-k * (z - z0))), dash, color=colour, label=f"k = {k}, z₀ = {z0}"
        )
    axes.set(xlabel="z = Wx + b", ylabel="p")
    axes.legend()
    return figure


def weights(zh):
    """The n-grams that speak loudest for one of two close languages and against the other."""
    model, pair = trained("softmax"), ("Spanish", "Portuguese")
    a, b = (list(model.classes_).index(name) for name in pair)
    data, names = languages().train, {}
    for text, label in zip(*data.pair):
        if label in pair:
            names |= {gram: column for gram, column in ngrams_of(model, text) if column >= 0}
    w = model.model_.z.weights
    order = sorted(names, key=lambda gram: float(w[names[gram], a] - w[names[gram], b]))
    order = order[:12] + order[-12:]
    values = [float(w[names[gram], a] - w[names[gram], b]) for gram in order]
    figure, axes = plot(5.6, 4.8)
    axes.barh(range(24), values, color=[RED if value > 0 else BLUE for value in values])
    for row, (gram, value) in enumerate(zip(order, values)):
        axes.text(
            -np.sign(value) * 0.15,
            row,
            gram.replace(" ", "␣"),
            ha="right" if value > 0 else "left",
            va="center",
        )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color="black", lw=0.7)
    axes.set_xlabel(
        "权重之差：← 葡萄牙语    西班牙语 →"
        if zh
        else "difference of weights: ← Portuguese    Spanish →"
    )
    return figure


# Chapter 3: mlp


def rings(zh):
    """Two rings: no line parts them, a hidden layer does."""
    generator = np.random.default_rng(0)
    angle, far = generator.uniform(0, 2 * np.pi, 400), np.repeat([1.0, 2.0], 200)
    x = np.stack([np.cos(angle), np.sin(angle)], 1) * far[:, None]
    x, y = x + generator.normal(0, 0.2, x.shape), np.where(far == 1, "inner", "outer")
    side = np.linspace(-2.7, 2.7, 80)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    figure = Figure(figsize=(7.2, 3.5))
    for n, (rung, options) in enumerate(
        (("softmax", {}), ("mlp", {"hidden": 16, "epochs": 60, "device": "cpu"}))
    ):
        axes = figure.add_subplot(1, 2, n + 1)
        found = Classifier(rung, **options).fit(x, y)
        p = found.predict_proba(grid)[:, 0].reshape(80, 80)
        axes.imshow(
            p,
            extent=(-2.7, 2.7, -2.7, 2.7),
            origin="lower",
            cmap="RdBu",
            vmin=-0.25,
            vmax=1.25,
            alpha=0.55,
        )
        for label, colour, mark in (("inner", BLUE, "o"), ("outer", RED, "^")):
            axes.plot(*x[y == label].T, mark, color=colour, ms=2.5)
        axes.set_title(f"{rung}{'：准确率' if zh else ': accuracy'} {found.score(x, y):.2f}")
        axes.set(xticks=[], yticks=[])
    return figure


# Chapter 4: cnn


def filters(zh):
    """Where the filters fired that decided the answer."""
    name = "Papouasie-Nouvelle-Guinée"
    model = trained("cnn", epochs=5)
    trace, answer = traced(model, name)
    fired = trace["cnn.0"][0].numpy()  # (T, widths · filters)
    head = model.model_.head.output.weight.detach().numpy()[list(model.classes_).index(answer)]
    best = np.argsort(-(head * fired.max(0)))[:10]
    figure, axes = plot(7.0, 3.2)
    axes.imshow(fired[:, best].T, cmap="Blues", aspect="auto")
    axes.set_xticks(range(len(name)), list(name))
    axes.set_yticks(range(10), [f"{n // 64 + 2} {'字宽' if zh else 'wide'}" for n in best])
    axes.tick_params(length=0)
    axes.set_title(
        f"{name} → {answer}{'：贡献最大的十个滤波器' if zh else ': the ten filters that gave it most'}"
    )
    return figure


# Chapter 5: recurrent


def gates(zh):
    """An LSTM reading a name: its gates and its cell, character by character."""
    name = "Kirgisischer Som"  # a held-out name
    trace, answer = traced(trained("lstm", epochs=6), name)
    part = {
        key: trace[f"lstm.0.{key}"][0].numpy() for key in ("input", "forget", "output", "cell")
    }  # each (T, H)
    units = np.argsort(-part["cell"].std(0))[:16]
    words = {
        "input": ("input i", "输入门 i"),
        "forget": ("forget f", "遗忘门 f"),
        "output": ("output o", "输出门 o"),
        "cell": ("cell c", "记忆 c"),
    }
    figure = Figure(figsize=(7.2, 4.6))
    for n, key in enumerate(words):
        axes = figure.add_subplot(2, 2, n + 1)
        far = np.abs(part["cell"]).max()
        low, high, colours = (-far, far, "RdBu") if key == "cell" else (0, 1, "Greens")
        image = axes.imshow(part[key][:, units].T, cmap=colours, vmin=low, vmax=high, aspect="auto")
        axes.set_xticks(range(len(name)), [c if c != " " else "␣" for c in name])
        axes.set_yticks([])
        axes.tick_params(length=0)
        axes.set_title(words[key][zh])
        figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02).outline.set_visible(False)
        if n % 2 == 0:
            axes.set_ylabel("16 个单元" if zh else "16 units")
    figure.suptitle(f"{name} → {answer}", fontsize=10)
    return figure


def fading(zh):
    """How much the loss still hears of a character t steps before the end."""
    data, steps = languages().valid, 60
    running = "".join(text + " " for text in data.inputs)
    texts = [running[at : at + steps] for at in range(0, 64 * steps, steps)]
    looks = {
        "rnn": (GREY, "-"),
        "rnn-residual": (GOLD, "--"),
        "rnn-coupled": (GREEN, "-."),
        "rnn-gated": (BLUE, ":"),
        "lstm": (RED, "-"),
        "gru": (VIOLET, "--"),
    }
    figure, axes = plot(6.4, 3.6)
    for rung, (colour, dash) in looks.items():
        model = trained(rung, hidden=64, embed=32, pooling="last", epochs=3)
        network, batch = model.model_, Examples(model.inputs_.encode(texts)).batch(np.arange(64))
        x, mask = network.input(batch)
        x = x.detach().requires_grad_()
        network.outputs_from(x, mask).amax(1).sum().backward()
        size = (
            x.grad.norm(dim=2).median(0).values.flip(0)
        )  # (T,), of the middle text, the last character first
        axes.semilogy(
            range(steps), (size / size[0]).numpy(), dash, color=colour, label=rung, lw=1.6
        )
    axes.set_xlabel("距末尾的步数" if zh else "steps before the end")
    axes.set_ylabel("‖∂ log p / ∂x_t‖，末字为 1" if zh else "‖∂ log p / ∂x_t‖, last = 1")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # plain numbers; mathtext is off
    axes.legend(ncols=2, loc="upper left")
    return figure


# Chapter 6: transformer


def attention(zh):
    """Whom every character of a name looks at, in the first block."""
    name = "Nouvelle-Zélande"
    trace, answer = traced(trained("transformer", epochs=6, layers=1), name)
    a = trace["block.0.attention"][0].numpy()  # (A, T, S)
    figure = Figure(figsize=(7.2, 4.2))
    for n, head in enumerate(np.argsort([-np.abs(np.diff(h, axis=1)).mean() for h in a])[:2]):
        axes = figure.add_subplot(1, 2, n + 1)
        axes.imshow(a[head], cmap="Oranges", vmin=0)
        axes.set_xticks(range(len(name)), list(name))
        axes.set_yticks(range(len(name)), list(name))
        axes.tick_params(length=0)
        axes.set_title(f"第 {head + 1} 头" if zh else f"head {head + 1}")
        axes.set_xlabel("看哪里（s）" if zh else "looked at (s)")
        if n == 0:
            axes.set_ylabel("谁在看（t）" if zh else "looking (t)")
    figure.suptitle(f"{name} → {answer}", fontsize=10)
    return figure


def positions(zh):
    figure, axes = plot(6.2, 3.0)
    image = axes.imshow(sinusoid(0, 64, 128).numpy(), cmap="RdBu", aspect="auto")
    axes.set(
        xlabel="维（E = 128）" if zh else "dimension (E = 128)",
        ylabel="位置 t" if zh else "position t",
    )
    figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02).outline.set_visible(False)
    return figure


# Chapter 7: training


def rate(zh):
    """The learning rate's path by its formula, and the score of a training that followed it."""
    figure = Figure(figsize=(7.2, 3.1))
    axes = figure.add_subplot(1, 2, 1)
    for warmup, colour, dash in ((0.1, BLUE, "-"), (0.3, GREEN, "--"), (0.0, GREY, ":")):
        schedule = Schedule(
            TrainingOptions(steps=1000, learning_rate=4e-3, warmup=warmup),
            Examples(np.zeros((8, 1))),
            16,
        )
        axes.plot(
            [schedule.rate(step) for step in range(1000)],
            dash,
            color=colour,
            label=f"warmup={warmup}",
        )
    axes.set(xlabel="步" if zh else "step", ylabel="学习率" if zh else "learning rate")
    axes.legend()
    axes = figure.add_subplot(1, 2, 2)
    progress = trained("mlp", epochs=25, dropout=0.0, patience=20).progress_
    score = [point.score for point in progress]
    axes.plot([point.step for point in progress], score, "o-", color=BLUE, ms=3)
    best = int(np.argmax(score))
    axes.plot(progress[best].step, score[best], "o", color=RED, ms=7)
    axes.annotate(
        f"{'保留的状态：' if zh else 'the state kept: '}{score[best]:.3f}",
        (progress[best].step, score[best]),
        (0.95, 0.5),
        textcoords="axes fraction",
        ha="right",
        arrowprops={"arrowstyle": "-", "color": RED},
    )
    axes.set_xlabel("步（mlp，25 遍，dropout=0）" if zh else "step (mlp, 25 epochs, dropout=0)")
    axes.set_ylabel("验证准确率" if zh else "valid accuracy")
    return figure


# Chapter 8: compare


def bootstrap(zh):
    """Intervals that overlap, and the paired difference that decides all the same."""
    test, right = languages().test, {}
    rungs = {"softmax": trained("softmax"), "perceptron": trained("perceptron")}
    rungs["softmax, ngrams=2"] = trained("softmax", ngrams=2)
    for rung, model in rungs.items():
        answered = model.task_.classes.searchsorted(model.predict(test.inputs))
        right[rung] = model.task_.score_terms(
            answered, model.task_.encode(test.targets)
        )  # right or not (N,), of 1 (N,)
    samples = {
        rung: metrics.resampled(metrics.bundled(terms), metrics.Metric())
        for rung, terms in right.items()
    }
    order = sorted(rungs, key=lambda rung: -right[rung][0].mean())
    figure = Figure(figsize=(7.2, 2.9))
    axes = figure.add_subplot(1, 2, 1)
    for row, rung in enumerate(order):
        low, high = metrics.confidence_interval(samples[rung])
        axes.plot([low, high], [row, row], color=BLUE, lw=2, alpha=0.6)
        axes.plot(right[rung][0].mean(), row, "o", color=BLUE)
    axes.set_yticks(range(3), order)
    axes.set_ylim(2.5, -0.5)
    axes.set_title("各自的 95% 区间" if zh else "95% interval of each")
    axes.set_xlabel("测试准确率" if zh else "test accuracy")
    axes = figure.add_subplot(1, 2, 2)
    for rung, colour in zip(order[1:], (GREEN, RED)):
        low, high = metrics.confidence_interval(samples[order[0]] - samples[rung])
        words = f"{order[0]} − {rung}\n[{low:+.3f}, {high:+.3f}]"
        difference = samples[order[0]] - samples[rung]
        axes.hist(difference, np.arange(-0.02, 0.062, 0.002), color=colour, alpha=0.55, label=words)
    axes.axvline(0, color="black", lw=1)
    axes.set_yticks([])
    axes.set_title("同一批测试行上的差" if zh else "difference on the same rows")
    axes.legend(loc="upper left", bbox_to_anchor=(0.98, 1.0))
    return figure


# Chapter 9: tag


@functools.cache
def tagger():
    data = open_dataset("entities", TASKS, valid="0.1", test="0.1")
    options = {"bidirectional": True, "crf": True, "hidden": 64, "epochs": 4, "device": "cpu"}
    return Tagger("lstm", **options).fit(*data.train.pair, data.valid.pair)


def tags(zh):
    """How probable every tag is at every token, all rows of tags considered."""
    text = (
        "三月过后，高棉棉用日语给新西兰的马里奥写信。"
        if zh
        else "Chad flew from Chad to Papua New Guinea in March 2024."
    )
    model = tagger()
    (tokens, _), (chances,) = model.inputs_.cut(text), model.predict_proba([text])  # (T, C)
    shown = [at for at in range(len(model.classes_)) if chances[:, at].max() > 0.02]
    figure, axes = plot(7.2, 0.9 + 0.24 * len(shown))
    image = axes.imshow(chances[:, shown].T, cmap="Greens", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(
        range(len(tokens)), tokens, rotation=0 if zh else 30, ha="center" if zh else "right"
    )
    axes.set_yticks(range(len(shown)), [str(model.classes_[at]) for at in shown])
    axes.tick_params(length=0)
    best = [shown.index(tag) for tag in chances.argmax(1)]
    axes.plot(range(len(tokens)), best, "o", color=RED, ms=3.5)
    figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02).outline.set_visible(False)
    return figure


def transitions(zh):
    """What the CRF learned of which tag follows which; what the scheme forbids is hatched."""
    model = tagger()
    begin, follows, end = model.model_.head.path_weights()
    kinds = ("PLACE", "DATE")
    shown = [
        at for at, tag in enumerate(model.classes_) if tag == "O" or tag.split("-")[1] in kinds
    ]
    names, size = [str(model.classes_[at]) for at in shown], len(shown)
    table = np.full(
        (size + 1, size + 1), np.nan
    )  # the first row is the beginning, the last column the end
    table[0, :size], table[1:, :size], table[1:, size] = (
        begin[shown],
        follows[np.ix_(shown, shown)],
        end[shown],
    )
    never = ~(table > NEVER / 2)
    far = np.abs(table[~never]).max()
    figure, axes = plot(6.0, 4.9)
    image = axes.imshow(
        np.where(never, np.nan, table), cmap="RdBu", vmin=-far, vmax=far, aspect="auto"
    )
    for row, column in zip(*np.nonzero(never)):
        if (row, column) != (0, size):
            axes.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5),
                    1,
                    1,
                    fill=False,
                    hatch="////",
                    edgecolor="#c9c4bb",
                    lw=0,
                )
            )
    axes.set_xticks(range(size + 1), [*names, "末尾" if zh else "end"], rotation=40, ha="right")
    axes.set_yticks(range(size + 1), ["开头" if zh else "begin", *names])
    axes.set(xlabel="后一个标签" if zh else "the next tag", ylabel="前一个标签" if zh else "a tag")
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02).outline.set_visible(False)
    return figure


# Chapter 10: regress


def curve(zh):
    """The straight line, and logistic curves of three heights, steepnesses and middles."""
    figure, axes = plot(6.4, 3.2)
    z = np.linspace(-6, 6, 121)
    axes.plot(z, z, color=GREY, lw=1.4, label="linear")
    for L, k, z0, colour, dash in (
        (1, 1, 0, "black", "-"),
        (3, 1, 0, BLUE, "--"),
        (3, 3, 2, RED, ":"),
    ):
        axes.plot(
            z,
            L / (1 + np.exp(-k * (z - z0))),
            dash,
            color=colour,
            label=f"L = {L}, k = {k}, z₀ = {z0}",
            lw=1.6,
        )
    axes.axhline(0, color="black", lw=0.5)
    axes.set(xlabel="z = Wx + b", ylabel="ŷ", ylim=(-2, 5))
    axes.legend(loc="upper left")
    return figure


@functools.cache
def summing(rung: str, **options):
    data = open_dataset("running-sum", TASKS, valid="0.1")
    return Regressor(rung, device="cpu", **options).fit(*data.train.pair, data.valid.pair)


def sums(zh):
    """The sum so far along twice the trained length: who reads a window, and who carries a state."""
    numbers = np.random.default_rng(3).integers(0, 100, 40).astype(np.float64)
    looks = {
        "linear": (GOLD, "-."),
        "mlp": (VIOLET, ":"),
        "gru": (RED, "--"),
        "rnn-residual": (GREEN, (0, (5, 1))),
    }
    figure, axes = plot(6.6, 3.6)
    steps = np.arange(1, 41)
    axes.plot(steps, numbers.cumsum(), color="black", lw=1.4, label="真值" if zh else "truth")
    for rung, (colour, dash) in looks.items():
        (found,) = summing(rung, **({"epochs": 10} if rung != "linear" else {})).predict(
            Sequences.of([numbers], np.float64)
        )
        axes.plot(steps, found, ls=dash, color=colour, lw=1.8, label=rung)
    axes.axvline(20, color=GREY, lw=0.8)
    axes.text(
        20.4, axes.get_ylim()[1] * 0.04, "训练时的长度" if zh else "trained length", color=GREY
    )
    axes.set(xlabel="步" if zh else "step", ylabel="到此为止的和" if zh else "sum so far")
    axes.legend(loc="upper left")
    return figure


def monthly() -> np.ndarray:
    """Twenty years of months: a yearly wave that climbs, with noise; the file of the chapter."""
    chance = random.Random(1)
    return np.array(
        [round(50 + t / 6 + 9 * sin(pi * t / 6) + chance.gauss(0, 1), 2) for t in range(240)]
    )


def forecast(zh):
    """Two years of history, the year that followed, and what two rungs made of the first."""
    series = monthly()
    known, late = series[:216], series[192:]
    figure, axes = plot(6.8, 3.4)
    months = np.arange(192, 240)
    axes.plot(months[:24], late[:24], color=GREY, lw=1.4, label="历史" if zh else "history")
    axes.plot(
        months[23:36],
        late[23:36],
        "o-",
        color="black",
        ms=3,
        lw=1.2,
        label="真值" if zh else "truth",
    )
    for rung, colour, dash in (("linear", BLUE, "-."), ("gru", RED, "--")):
        model = Regressor(rung, horizon=12, history=24, device="cpu").fit(known, known)
        found = model.predict(known)[
            -1
        ]  # the windows of a series, the last of them ending where it ends
        axes.plot(np.arange(216, 228), found, dash, color=colour, lw=1.8, label=rung)
    axes.axvline(215.5, color=GREY, lw=0.8)
    axes.set(xlabel="月" if zh else "month")
    axes.legend(loc="upper left", ncols=2)
    return figure


def stopped(zh):
    """One training undisturbed, and one that was killed three times and gone on with from the last checkpoint before."""
    data = languages()
    rows = data.train.take(np.arange(1500))
    kills, kept = (34, 61, 85), (25, 50, 75)

    def losses(resume=None, until=None, keep=None):
        """(steps, losses, the snapshot at `keep`) from `resume` until killed."""
        model, found, snapshot = (
            Classifier("gru", hidden=64, steps=110, evaluations=110, patience=999, device="cpu"),
            [],
            None,
        )
        for progress in model.training(
            *rows.pair, data.valid.take(np.arange(200)).pair, resume=resume
        ):
            if progress.step:
                found.append((progress.step, progress.loss))
            if progress.step == keep:
                snapshot = progress.snapshot()
            if progress.step == until:
                break
        return *zip(*found), snapshot

    figure, axes = plot(6.8, 3.4)
    steps, values, _ = losses()
    axes.plot(steps, values, color="#cccccc", lw=6, label="无人打扰" if zh else "undisturbed")
    snapshot = None
    for piece, (kill, keep) in enumerate(zip((*kills, None), (*kept, None))):
        steps, values, snapshot = losses(snapshot, kill, keep)
        named = (
            ("第一段" if zh else "begun")
            if not piece
            else (f"第 {piece} 次继续" if zh else f"gone on with, {piece}")
        )
        axes.plot(steps, values, color=(BLUE, RED, GREEN, "black")[piece], lw=1.3, label=named)
        if kill:
            axes.axvline(kill, color=GREY, lw=0.8, ls=":")
            axes.plot(keep, values[list(steps).index(keep)], "o", color=GREY, ms=4)
    axes.set(
        xlabel="步（虚线：被杀；圆点：检查点）" if zh else "step (dotted: killed; dot: checkpoint)"
    )
    axes.set_ylabel("损失" if zh else "loss")
    axes.legend(loc="upper right")
    return figure


# Chapter 12: n-grams


@functools.cache
def probed(name: str):
    """What `wenmai probe NAME` finds."""
    steps = PROBES[name].run(PROBES[name].data)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def picture_of(name: str, zh: bool):
    figure = probed(name).draw("zh" if zh else "en")
    figure.set_layout_engine("none")  # it places its panels itself
    return figure


def sparsity(zh):
    return picture_of("sparsity", zh)


def walk(zh):
    """One line, word by word: the longest context that is known, what it costs to forget, and log p."""
    model = LanguageModel("ngram", order=3).fit(list(open_dataset("manual", TASKS).train.inputs))
    lines, grams = model.inputs_, model.model_.grams
    tokens = [*lines.prompt("The value of these watches").tolist(), lines.special.end]
    kept = {words: grams_of(model, words) for words in (2, 1)}
    states, costs, known = [("<s>",)], [], grams.start(1)
    for token in tokens:
        cost, known = grams.advance(known, np.array([token], np.int32))
        costs.append(float(cost[0]) * np.log(10))
        before = (*states[-1], word_of(lines, token))
        states.append(next((before[-n:] for n in (2, 1) if before[-n:] in kept[n]), ()))
    figure, axes = plot(9.6, 2.5)
    for at, state in enumerate(states[:-1]):
        axes.text(
            at,
            0,
            " ".join(state) or ("空" if zh else "nothing"),
            ha="center",
            va="center",
            fontsize=9.5,
            bbox={"boxstyle": "round,pad=0.45", "fc": "#eef3f9", "ec": BLUE, "lw": 1},
        )
    for at, (token, cost) in enumerate(zip(tokens, costs)):
        axes.add_patch(
            FancyArrowPatch(
                (at + 0.1, 0.28),
                (at + 0.9, 0.28),
                connectionstyle="arc3,rad=-0.45",
                arrowstyle="-|>",
                mutation_scale=11,
                color=GREY,
                lw=1,
            )
        )
        axes.text(at + 0.5, 0.9, word_of(lines, token), ha="center", va="bottom", fontsize=10.5)
        axes.text(at + 0.5, 0.62, f"{cost:.2f}", ha="center", va="center", color=RED, fontsize=10)
    axes.text(
        len(tokens), 0, f"Σ = {sum(costs):.2f}", ha="center", va="center", color=RED, fontsize=10.5
    )
    axes.set(xlim=(-0.45, len(tokens) + 0.45), ylim=(-0.45, 1.35))
    axes.set_title(
        "框：结点（记得的上文）；箭头上：下一个词；红：ln p"
        if zh
        else "box: node, the context that is remembered; on the arrow: the next word; red: ln p"
    )
    axes.axis("off")
    return figure


def word_of(lines, token: int) -> str:
    return "</s>" if token == lines.special.end else lines.tokens()[token]


def grams_of(model, length: int) -> set:
    """The n-grams of so many words that something is known to follow."""
    levels, _ = model.model_.grams.levels()
    words = model.inputs_.tokens()
    grams = [(word,) for word in words]
    for level in levels[1:length]:
        grams = [(*grams[before], words[word]) for before, word in zip(level.context, level.word)]
    return {grams[at] for at in np.unique(levels[length].context)}


# Chapter 13: networks that write


@functools.cache
def writer():
    """A small lstm of the manual, and its last tenth, which it did not learn from."""
    data = open_dataset("manual", TASKS, valid="0.1")
    model = LanguageModel(
        "lstm",
        tokenizer="words",
        min_count=2,
        hidden=128,
        layers=1,
        dropout=0.3,
        batch_tokens=700,
        epochs=16,
        evaluations=8,
    )
    return model.fit(data.train.inputs, data.valid.inputs), data.valid.inputs


def temperatures(zh):
    """What comes next, as it is and as it is drawn from."""
    model, _ = writer()
    prompt = "The value of"
    found = model.complete(prompt, len(model.inputs_))
    probs = np.array([probability for _, probability in found])
    figure, axes = plot(7.2, 3.0)
    places, shown = np.arange(10), ((0.5, BLUE), (1.0, GREY), (1.5, RED))
    for at, (temperature, color) in enumerate(shown):
        drawn = probs ** (1 / temperature)
        axes.bar(
            places + 0.27 * (at - 1),
            drawn[:10] / drawn.sum(),
            0.25,
            color=color,
            label=f"τ = {temperature:g}",
        )
    axes.set_xticks(
        places, ["⏎" if word == "\n" else word for word, _ in found[:10]], rotation=20, ha="right"
    )
    axes.set(
        yscale="log",
        ylim=(1e-3, 1),
        ylabel="概率" if zh else "probability",
        title=f"“{prompt}” 之后：最可能的十个词"
        if zh
        else f"after “{prompt}”: the ten most probable words",
    )
    axes.set_yticks([1, 0.1, 0.01, 0.001], ["1", "0.1", "0.01", "0.001"])
    axes.legend()
    return figure


def surprise(zh):
    """−log₂ p of every token of a line, without and with a cache: of lines of about 20 known words that where it gains most."""
    model, held = writer()
    special, scores = (
        model.inputs_.special,
        list(model.trained().language.token_scores(held.blocks())),
    )
    tokens, plain = (
        np.concatenate([getattr(part, name) for part in scores]) for name in ("tokens", "log_probs")
    )
    cached = ContinuousCache(1000).log_probs(scores)
    ends = np.flatnonzero(tokens == special.end) + 1
    lines = [
        slice(start, end) for start, end in zip([0, *ends[:-1]], ends) if 16 <= end - start <= 24
    ]
    lines = [line for line in lines if special.unknown not in tokens[line]]
    line = max(lines, key=lambda line: (cached[line] - plain[line]).sum())
    figure, axes = plot(9.6, 3.2)
    places = np.arange(line.stop - line.start)
    for side, (values, color, name) in enumerate(
        (
            (plain, GREY, "模型" if zh else "model"),
            (cached, BLUE, "模型与缓存" if zh else "model and cache"),
        )
    ):
        axes.bar(
            places + 0.4 * side - 0.2, -values[line] / np.log(2), 0.38, color=color, label=name
        )
    words = [
        "⏎" if token == special.end else word_of(model.inputs_, token) for token in tokens[line]
    ]
    axes.set_xticks(places, words, rotation=40, ha="right", fontsize=8.5)
    axes.set(
        ylabel="比特：−log₂ p" if zh else "bits: −log₂ p",
        title="手册末尾的一行：有多出乎意料"
        if zh
        else "a line of the manual's end: how surprising it is",
    )
    axes.legend()
    return figure


# Chapter 14: compose


@functools.cache
def composer(**options):
    data = open_dataset("digits:words", TASKS, valid="0.1", test="0.2")
    return data, Composer("gru", device="cpu", epochs=40, **options).fit(
        *data.train.pair, data.valid.pair
    )


def spelled(model, picture) -> tuple[str, np.ndarray]:
    """(the most probable text, and p of every token in each of its places (T, V))"""
    (text,) = model.predict(picture[None])
    return text, np.exp(model.outputs(model.examples(picture[None], [text]))[0])


def composing(zh):
    """A doubtful digit: what every step gives to each letter, where the last letter is fed back and where it is not."""
    data, fed = composer()
    _, blind = composer(feedback=False)
    doubt = [
        -(p[0] * np.log(p[0] + 1e-9)).sum()
        for p in (spelled(blind, picture)[1] for picture in data.test.inputs)
    ]
    picture = data.test.inputs[int(np.argmax(doubt))]
    target = fed.inputs_.target
    tokens = [
        *np.setdiff1d(np.arange(target.vocabulary), target.special.numbers).tolist(),
        target.special.end,
    ]
    names = [*(target.text([number]) for number in tokens[:-1]), "⏎"]
    order = [*np.argsort(names[:-1]).tolist(), len(names) - 1]
    figure = Figure(figsize=(7.4, 4.0))
    left, *right = figure.subplots(1, 3, width_ratios=(1, 1.35, 1.35))
    left.imshow(picture, cmap="Greys")
    left.set(title="输入" if zh else "what is read", xticks=[], yticks=[])
    told = (
        ("上一个字母喂回去" if zh else "the last letter is fed back", fed),
        ("不喂回去" if zh else "it is not", blind),
    )
    for axes, (title, model) in zip(right, told):
        text, chances = spelled(model, picture)
        axes.imshow(chances[:, tokens][:, order].T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set(
            title=f"{title}\n{', '.join(model.compose(picture, 5))}",
            xticks=range(len(text) + 1),
            yticks=range(len(order)),
        )
        axes.set_xticklabels([*text, "⏎"])
        axes.set_yticklabels([names[at] for at in order])
        axes.set_xlabel("写出的字母" if zh else "the letter that was written")
    return figure


def plot(width: float, height: float):
    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot()


def write(figure: Figure, path: Path) -> None:
    figure.savefig(
        file := io.StringIO(),
        format="svg",
        metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
    )
    text = re.sub(r"font: ((?:[\w.]+ )*?[\d.]+px) [^;\"]*", r"font: \1 sans-serif", file.getvalue())
    path.write_text(text.replace("sans-serif", READERS), encoding="utf-8")


# Chapter 15: probes


def probe_memory(zh):
    return picture_of("memory", zh)


def probe_parallel(zh):
    return picture_of("parallel", zh)


def probe_gates(zh):
    return picture_of("gates", zh)


def probe_heads(zh):
    return picture_of("heads", zh)


def probe_depth(zh):
    return picture_of("depth", zh)


# Chapter 16: translate


@functools.cache
def dates():
    data = open_dataset("dates:en,zh,de,fr", TASKS, valid="0.05", test="0.05")
    return Translator(
        "attention", device="cpu", hidden=192, embed=64, steps=900, evaluations=5
    ).fit(*data.train.pair, data.valid.pair)


def alignment(zh):
    """Where every letter of a date looks, in three languages."""
    figure = Figure(figsize=(7.6, 3.9))
    texts = ("Sunday, 15 November 2026", "2026年11月15日星期日", "15. November 2026")
    answers = dates().answers(list(texts), alignment=True)
    for axes, answer in zip(
        figure.subplots(1, 3, width_ratios=[len(text) + 4 for text in texts]), answers
    ):
        weights = np.array(answer["attention"])  # (T, S)
        read, written = (
            [{"</s>": "⏎", " ": "␣"}.get(token, token) for token in answer[side]]
            for side in ("source_tokens", "target_tokens")
        )
        axes.imshow(weights, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(read)), read, fontsize=7)
        axes.set_yticks(range(len(written)), written, fontsize=8)
        axes.tick_params(length=0)
        axes.set_title(answer["text"])
        axes.set_xlabel("读入的（s）" if zh else "what is read (s)")
    figure.axes[0].set_ylabel("写出的（t）" if zh else "what is written (t)")
    return figure


# Chapter 17: bert


DOCUMENTS = (
    (
        "The cat sleeps on the mat.\nIt dreams of fish and milk.\nThen it wakes up.",
        "Prices rose again last year.\nBread is dearer than before.",
        "We went to the sea.\nThe water was cold.",
    ),
    (
        "小猫在垫子上睡觉。\n它梦见了鱼和牛奶。\n后来它醒了。",
        "去年物价又上涨了。\n面包比以前更贵。",
        "我们去了海边。\n海水很凉。",
    ),
)


def hidden(zh):
    """Rows as pretraining reads them: what is hidden by [MASK], by another token, and what stays but is to be guessed too."""
    task = TASKS["pretrain"](masked=0.25)
    sentences, _ = task.prepare(list(DOCUMENTS[zh]))
    inputs = task.learn_inputs(sentences, None, {"max_length": 32, "vocabulary": 400}).framed()
    examples = task.examples(Trained("bert", inputs, None, "cpu"), sentences)
    names = inputs.tokenizer.tokens
    special = inputs.special
    shown = {special.begin: "[CLS]", special.separator: "[SEP]", special.mask: "[MASK]"}
    figure, axes = plot(7.8, 2.4)
    for line, seed in enumerate(chosen_seeds(examples)):
        batch = examples.batch(np.array([0]), np.random.default_rng(seed))
        stood, steps = (
            dict(zip(batch.places.tolist(), batch.target.tolist())),
            int(batch.mask.sum()),
        )
        at, top = 0.0, 3.4 * line
        for place in range(steps):
            number = int(batch.inputs[0, place])
            word = shown.get(number, names[number])
            kind = (
                GREY
                if number in (special.begin, special.separator)
                else (BLUE, GREEN)[int(batch.segment[0, place])]
            )
            if place in stood:
                kind = RED if number == special.mask else GOLD
                axes.text(
                    at + width_of(word) / 2,
                    top + 0.85,
                    names[stood[place]],
                    ha="center",
                    va="center",
                    fontsize=7.5,
                )
            wide = max(width_of(word), width_of(names[stood[place]]) if place in stood else 0)
            axes.add_patch(
                Rectangle((at, top - 0.4), wide - 0.15, 0.8, facecolor=kind, alpha=0.25, lw=0)
            )
            axes.text(at + wide / 2 - 0.07, top, word, ha="center", va="center", fontsize=7.5)
            at += wide
        follows = bool(batch.follows[0])
        told = (
            ("b 接着 a" if follows else "b 不接着 a")
            if zh
            else ("b follows a" if follows else "b does not follow a")
        )
        axes.text(0, top - 0.95, told, fontsize=9)
    axes.set(xlim=(-0.3, 52), ylim=(4.6, -1.6))
    axes.axis("off")
    return figure


def width_of(word: str) -> float:
    return 0.55 + sum(1.0 if ord(letter) > 0x2E80 else 0.52 for letter in word)


def chosen_seeds(examples) -> list[int]:
    """A draw in which the pair follows, and one in which it does not, each with as many ways of hiding as there are."""
    found = {True: [], False: []}
    for seed in range(400):
        batch = examples.batch(np.array([0]), np.random.default_rng(seed))
        read = batch.inputs.flatten()[batch.places]
        ways = len(
            {
                "mask" if token == examples.special.mask else "same" if token == target else "other"
                for token, target in zip(read.tolist(), batch.target.tolist())
            }
        )
        found[bool(batch.follows[0])].append((-ways, seed))
    return [min(found[follows])[1] for follows in (True, False)]


# Chapter 18: checkpoints


def sentences(zh):
    """The cosine of each sentence with each, by MiniLM: its package has to be installed."""
    texts = (
        "A man is eating food.",
        "Someone has a meal.",
        "The chef cooked our dinner.",
        "The cheetah chases its prey.",
        "Wolves hunt at night.",
        "A lion ran after a zebra.",
        "Stock prices fell again.",
        "Investors lost a lot of money.",
        "The market is down today.",
    )
    vectors = hugging_face.imported(hugging_face.place_of("minilm")).embed(texts, normalize=True)
    figure, axes = plot(6.2, 4.2)
    cosines = vectors @ vectors.T
    image = axes.imshow(cosines, cmap="Greens", vmin=0, vmax=1)
    for row, column in np.ndindex(cosines.shape):
        axes.text(
            column,
            row,
            f"{cosines[row, column]:.2f}",
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if cosines[row, column] > 0.6 else "black",
        )
    axes.set_yticks(range(len(texts)), texts, fontsize=8)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("两句的余弦" if zh else "the cosine of two sentences")
    figure.colorbar(image, shrink=0.8)
    return figure


# Chapter 22: speech


@functools.cache
def transcriber():
    data = open_dataset("spoken-digits", TASKS, valid="0.1", test="0.1")
    return data, Transcriber("lstm", device="cpu", steps=350, evaluations=5).fit(
        *data.train.pair, data.valid.pair
    )


def listening(zh):
    """A synthetic voice that was not learned from: its spectrogram, and what every step says."""
    data, model = transcriber()
    row = next(row for row, text in enumerate(data.test.targets) if len(text.split()) == 4)
    clip, trained = data.test.inputs[row], model.trained()
    source, target = trained.inputs.source, trained.inputs.target
    ((_, log_probs),) = frame_log_probs(trained, source.encode([clip]))
    (answer,) = model.answers([clip], times=True)
    figure = Figure(figsize=(7.6, 4.4))
    top, low = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, 1])
    end = len(log_probs) * source.step
    frames = torch.cat(list(source.pieces(clip))).numpy()
    top.imshow(
        frames.T, origin="lower", aspect="auto", cmap="magma", extent=(0, end, 0, source.mels)
    )
    top.set_ylabel("频带" if zh else "band of frequency")
    top.set_title(
        f"{'合成语音（espeak-ng）：' if zh else 'Synthetic speech (espeak-ng): '}{data.test.targets[row]}"
    )
    times, shown = (np.arange(len(log_probs)) + 0.5) * source.step, np.exp(log_probs)
    low.fill_between(
        times, shown[:, -1], color="#e4e0d8", step="mid", label="空白" if zh else "blank"
    )
    for number, token in enumerate(target.tokenizer.tokens):
        if shown[:, number].max() > 0.3:
            low.plot(times, shown[:, number], linewidth=1.2)
            own = shown[:, number]
            for at in (
                at
                for at in range(len(own))
                if own[at] > 0.3 and own[at] == own[max(0, at - 3) : at + 4].max()
            ):
                low.annotate(
                    "␣" if token == " " else token,
                    (times[at], shown[at, number]),
                    ha="center",
                    va="bottom",
                    fontsize=8,
                )
    for word in answer["words"]:
        low.axvspan(word["start"], word["end"], color=GOLD, alpha=0.12, linewidth=0)
        low.annotate(
            word["word"],
            ((word["start"] + word["end"]) / 2, 1.13),
            ha="center",
            color=RED,
            annotation_clip=False,
        )
    low.set_ylim(0, 1.25)
    low.set_xlabel("秒" if zh else "seconds")
    low.set_ylabel("每一步说什么：p" if zh else "what each step says: p")
    low.legend(loc="center right")
    return figure


# Chapter 19: answers

NAMES = ("Anna", "Bob", "Cleo", "Dan", "Eve", "Ida", "Leo", "Mia")
TOWNS = ("Rome", "Oslo", "Lima", "Cairo", "Kyoto", "New York", "Hong Kong", "Cape Town")
TRADES = ("baker", "pilot", "nurse", "painter", "judge", "farmer")
THINGS, ROOMS = (
    ("ball", "milk", "book", "lamp"),
    ("garden", "kitchen", "office", "hallway", "bedroom"),
)


def townspeople(chance: random.Random) -> tuple[tuple[str, str], str]:
    """((who lives where and does what, a question about one of them), its answer)"""
    people, kind = chance.sample(NAMES, chance.choice((2, 3))), chance.random() < 0.5
    known = [(name, chance.choice(TOWNS), chance.choice(TRADES)) for name in people]
    told = " ".join(f"{name} lives in {town} and is a {trade}." for name, town, trade in known)
    name, town, trade = chance.choice(known)
    return (
        told,
        f"Where does {name} live?" if kind else f"What is {name}?",
    ), town if kind else trade


@functools.cache
def answerer():
    chance = random.Random(0)
    rows, answers = zip(*(townspeople(chance) for _ in range(2000)))
    return Answerer(
        "attention",
        device="cpu",
        embed=48,
        hidden=48,
        dropout=0.0,
        steps=600,
        evaluations=8,
        learning_rate=5e-3,
        max_length=32,
        stride=10,
    ).fit(rows, answers)


def span(zh):
    """Where an answer begins and ends, over a context that is read in windows; what each window judges."""
    model = answerer()
    told = (
        "Mia lives in Oslo and is a nurse. Bob lives in Cape Town and is a judge. Ida lives in Lima and is a pilot. "
        "Dan lives in New York and is a baker."
    )
    row, found = (told, "Where does Bob live?"), model.answer(told, "Where does Bob live?")
    examples = model.examples([row])
    scores, passages, windows = (
        model.outputs(examples)[0][1:],
        examples.inputs,
        examples.inputs.windows(),
    )
    words = [told[start:end] for start, end in passages.places_in_text[1:]]
    inside = [
        found["start"] <= start and end <= found["end"]
        for start, end in passages.places_in_text[1:]
    ]
    figure = Figure(figsize=(8.2, 4.0))
    top, low = figure.subplots(2, 1, height_ratios=[2.2, 1], sharex=True)
    at = np.arange(len(words))
    for place in np.flatnonzero(inside):
        top.axvspan(place - 0.5, place + 0.5, color=GOLD, alpha=0.25, linewidth=0, zorder=0)
    top.bar(
        at - 0.2, scores[:, 0], 0.4, color=BLUE, label="s：在此开始" if zh else "s: begins here"
    )
    top.bar(at + 0.2, scores[:, 1], 0.4, color=RED, label="e：在此结束" if zh else "e: ends here")
    top.axhline(0, color="black", lw=0.6)
    top.set_ylabel("得分" if zh else "score")
    top.legend(loc="upper right")
    says = f"{row[1]} → {found['answer']}"
    top.set_title(
        f"{says}（概率 {found['probability']:.2f}）"
        if zh
        else f"{says} (probability {found['probability']:.2f})"
    )
    first, last = windows.owned()
    for number in range(len(windows)):
        start, stop, own, end = (
            int(place) - 1
            for place in (
                windows.starts[number],
                windows.stops[number],
                first[number],
                last[number],
            )
        )
        low.add_patch(
            Rectangle(
                (start - 0.5, number + 0.2), stop - start, 0.6, facecolor="#e4e0d8", linewidth=0
            )
        )
        low.add_patch(
            Rectangle((own - 0.5, number + 0.2), end - own, 0.6, facecolor=GREEN, linewidth=0)
        )
    low.set(
        ylim=(len(windows), 0), xlim=(-0.6, len(words) - 0.4), ylabel="窗口" if zh else "window"
    )
    low.set_yticks(
        [number + 0.5 for number in range(len(windows))],
        [str(number + 1) for number in range(len(windows))],
    )
    low.set_xticks(at, words, rotation=90)
    low.set_title(
        "每个窗口读到的（灰）与由它评判的（绿）"
        if zh
        else "what each window reads (grey), and what it judges (green)"
    )
    return figure


def errand(chance: random.Random) -> tuple[tuple[str, str], str]:
    """((who took what and went where, where a thing is), the room): two sentences say it, of many."""
    people, things, told, holds, room = chance.sample(NAMES[:4], 3), list(THINGS), [], {}, {}
    for _ in range(8):
        name = chance.choice(people)
        if things and chance.random() < 0.3:
            thing = things.pop(chance.randrange(len(things)))
            holds[thing] = name
            told.append(f"{name} took the {thing}.")
        else:
            room[name] = chance.choice(ROOMS)
            told.append(f"{name} went to the {room[name]}.")
    known = [thing for thing, name in holds.items() if name in room]
    if not known:
        return errand(chance)
    thing = chance.choice(known)
    return (" ".join(told), f"Where is the {thing}?"), room[holds[thing]]


@functools.cache
def replier():
    chance = random.Random(0)
    rows, answers = zip(*(errand(chance) for _ in range(4000)))
    return Replier(
        "attention",
        device="cpu",
        hidden=64,
        layers=2,
        steps=1200,
        evaluations=8,
        learning_rate=5e-3,
    ).fit(rows, answers)


def story(zh):
    """A story that is read twice: which sentences bear on the question, and then on what the question has become."""
    told = [
        "Bob went to the garden.",
        "Anna took the milk.",
        "Cleo went to the hallway.",
        "Anna went to the kitchen.",
        "Bob took the ball.",
        "Bob went to the bedroom.",
        "Anna went to the office.",
        "Cleo took the lamp.",
    ]
    row, model = (" ".join(told), "Where is the milk?"), replier()
    with torch.no_grad():
        trace = model.trace([row])
    bearing = (
        value[0, 0].numpy() for name, value in trace.notes.items() if name.endswith("bearing")
    )  # (K, K) each
    readings = [
        weights[len(told) - 1, : len(told)] for weights in bearing
    ]  # what is left of each at the end
    figure, axes = plot(6.4, 3.2)
    axes.imshow(np.array(readings).T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for level, reading in enumerate(readings):
        for number, weight in enumerate(reading):
            axes.text(
                level,
                number,
                f"{weight:.2f}",
                ha="center",
                va="center",
                color="white" if weight > 0.6 else "black",
            )
    axes.set_yticks(range(len(told)), told)
    times = range(len(readings))
    axes.set_xticks(
        times, [f"第 {number + 1} 遍" if zh else f"reading {number + 1}" for number in times]
    )
    axes.tick_params(length=0)
    axes.set_title(f"{row[1]} → {model.answers([row])[0]['answer']}")
    return figure


PICTURES = (
    features,
    perceptron,
    logistic,
    weights,
    rings,
    filters,
    gates,
    fading,
    attention,
    positions,
    rate,
    bootstrap,
    tags,
    transitions,
    curve,
    sums,
    forecast,
    stopped,
    sparsity,
    walk,
    temperatures,
    surprise,
    composing,
    probe_memory,
    probe_parallel,
    probe_gates,
    probe_heads,
    probe_depth,
    alignment,
    hidden,
    sentences,
    listening,
    span,
    story,
)


def main(wanted: list[str], folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    with rc_context(STYLE):
        for picture in PICTURES:
            if wanted and picture.__name__ not in wanted:
                continue
            for lang in ("en", "zh"):
                path = folder / f"{picture.__name__}.{lang}.svg"
                write(picture(lang == "zh"), path)
                print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
