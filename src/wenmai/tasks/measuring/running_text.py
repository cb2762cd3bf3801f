"""Of running text: how likely its lines are, and the least likely of them; speed is in tokens, of a next token in time. And the
metric by which all models can be compared, also those that cut the text differently."""

import time
from math import log, log2

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.data.values import digest_of
from wenmai.language.spelling import Speller
from wenmai.locale import Message
from wenmai.tasks.columns import shown
from wenmai.tasks.measuring.rows import WORST, p50_and_p99
from wenmai.tasks.metrics import bits_per_byte, bundled

PROMPTS = 50
UNLIKE = Message(
    "the models cut the text differently, so that perplexities, each of its own unit, cannot be compared: they are "
    "ranked by bits per byte, which can"
)
SPELLED = Message(
    "in bits per byte, tokens that a model does not know are paid for: they are spelled out byte by byte, from how "
    "those are spelled that it knows"
)


def measure_text(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    text, start = data.test.inputs, time.perf_counter()
    sums, lengths = (
        np.concatenate(part)
        for part in zip(*((sums, lengths) for _, sums, lengths, _ in estimator.scored(text)))
    )
    seconds, lines = time.perf_counter() - start, text.texts()
    mean = -sums / lengths
    rows = np.argsort(-mean, kind="stable")[:WORST]
    prompts, times = [lines[row] for row in range(0, len(lines), max(1, len(lines) // PROMPTS))], []
    for prompt in prompts:
        start = time.perf_counter()
        estimator.trained().language.begin(estimator.inputs_.prompt(prompt))[0].cpu()
        times.append(1000 * (time.perf_counter() - start))
    scores = estimator.evaluate(text)
    return {
        "scores": {"test": scores},
        "predictions_per_second": float(lengths.sum() / seconds),
        "latency_ms": p50_and_p99(times),
        "confusion": None,
        "worst": [
            {"input": shown(lines[row]), "perplexity": f"{np.exp(mean[row]):,.0f}"} for row in rows
        ],
        "unit": estimator.inputs_.unit,
        "vocabulary": len(estimator.inputs_),
        "tokens_known": digest_of(estimator.inputs_.tokens()),  # by their fingerprint
        "notes": scores.notes,
    }, text_terms(estimator, data.task, data.test, metric)


def text_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    """The metric is chosen when all models are there; here, of every line −log p, tokens, bytes, and what it costs to spell the
    unknown ones among the tokens."""
    lines, blocks, speller = estimator.inputs_, [], None
    for block, sums, lengths, unknown in estimator.scored(part.inputs):
        speller = speller or (Speller.of(lines) if unknown else None)
        blocks.append(
            (
                -sums,
                lengths,
                sizes_in(block),
                speller.lines_cost(lines, block) if unknown else np.zeros(len(sums)),
            )
        )
    return bundled([np.concatenate(column) for column in zip(*blocks)])


def sizes_in(block: bytes) -> np.ndarray:
    """Bytes of every line, with its end."""
    closed = block if block.endswith(b"\n") else block + b"\n"
    return np.diff(np.flatnonzero(np.frombuffer(closed, np.uint8) == ord("\n")), prepend=-1)


def common_metric(metric: str, rows: list[dict], terms: dict[str, dict]) -> tuple[str, list[str]]:
    """(the metric, notes): perplexity, or bits per byte, where that is asked for or not all models know the same tokens. Then
    what is told of training is told so too."""
    able = [row for row in rows if not row["failed"]]
    unlike = len({(row["unit"], row["vocabulary"], row["tokens_known"]) for row in able}) > 1
    if metric == "perplexity" and not unlike:
        return metric, []
    parts = {"curve": "valid"} | (
        {"sizes": "test"} if metric == "perplexity" else {}
    )  # those are perplexities still
    for row in able:
        own = {
            part: each[0].sum(0) for part, each in terms[row["rung"]].items()
        }  # (4,): −log p, tokens, bytes, spelling
        row["scores"]["test"]["bits_per_byte"] = float(bits_per_byte(own["test"]))
        for name, at in parts.items():
            for part, point in ((own[at], point) for point in row.get(name, ())):
                point["score"] = (
                    point["score"] and (log2(point["score"]) * part[1] + part[3] / log(2)) / part[2]
                )
    spells = any(terms[row["rung"]]["test"][0][:, 3].any() for row in able)
    return "bits_per_byte", [UNLIKE] * unlike + [SPELLED] * spells
