"""Of running text: how likely its lines are, and the least likely of them; speed is in tokens, of a next token in time. And the
metric by which all models can be compared, also those that cut the text differently."""

import time
from math import inf, log, log2

import numpy as np

from wenmai.data.dataset import Dataset
from wenmai.locale import Message
from wenmai.tasks.columns import shown
from wenmai.tasks.measuring.rows import WORST, p50_and_p99
from wenmai.tasks.metrics import bootstrap, confidence_interval

PROMPTS = 50
UNLIKE = Message("the models cut the text differently, so that perplexities, each of its own unit, cannot be compared: they are "
                 "ranked by bits per byte, which can")  # fmt: skip


def measure_text(estimator, data: Dataset) -> tuple[dict, tuple]:
    """The metric is chosen when all models are there; here, of every line −log p, tokens and bytes."""
    text, start = data.test.inputs, time.perf_counter()
    blocks = [(sums, lengths, sizes_in(block)) for block, sums, lengths, _ in estimator.scored(text)]
    sums, lengths, sizes = (np.concatenate(part) for part in zip(*blocks))
    seconds, lines = time.perf_counter() - start, text.texts()
    mean = -sums / lengths
    rows = np.argsort(-mean, kind="stable")[:WORST]
    prompts, times = [lines[row] for row in range(0, len(lines), max(1, len(lines) // PROMPTS))], []
    for prompt in prompts:
        start = time.perf_counter()
        estimator.trained().language.begin(estimator.inputs_.prompt(prompt))[0].cpu()
        times.append(1000 * (time.perf_counter() - start))
    interval = np.exp(confidence_interval(bootstrap(-sums, lengths))).tolist() if np.isfinite(sums).all() else [inf, inf]
    scores = estimator.evaluate(text)
    return {"scores": {"test": scores}, "interval": interval, "predictions_per_second": float(lengths.sum() / seconds),
            "latency_ms": p50_and_p99(times), "confusion": None,
            "worst": [{"input": shown(lines[row]), "perplexity": f"{np.exp(mean[row]):,.0f}"} for row in rows],
            "unit": estimator.inputs_.unit, "vocabulary": len(estimator.inputs_),
            "notes": scores.notes}, (-sums, lengths.astype(np.float64), sizes.astype(np.float64))  # fmt: skip


def sizes_in(block: bytes) -> np.ndarray:
    """Bytes of every line, with its end."""
    whole = block if block.endswith(b"\n") else block + b"\n"
    return np.diff(np.flatnonzero(np.frombuffer(whole, np.uint8) == ord("\n")), prepend=-1)


def common_metric(task, rows: list[dict], outputs: dict[str, tuple]) -> tuple[str, dict[str, np.ndarray], list[str]]:
    """(the metric, what it is on texts drawn again, notes): the logarithm of the perplexity, from −log p and tokens of every
    line; or bits per byte, where not all models know the same tokens. Then what is told of training is told so too."""
    able = [row for row in rows if not row["failed"]]
    if len({(row["unit"], row["vocabulary"]) for row in able}) < 2:
        return task.metric, {name: bootstrap(lost, tokens) for name, (lost, tokens, _) in outputs.items()}, []
    samples = {name: bootstrap(lost / log(2), sizes) for name, (lost, _, sizes) in outputs.items()}
    for row in able:
        lost, tokens, sizes = outputs[row["rung"]]
        row["interval"] = confidence_interval(samples[row["rung"]]) if np.isfinite(lost).all() else [inf, inf]
        each = float(tokens.sum() / sizes.sum())
        for point in (*row.get("curve", ()), *row.get("sizes", ())):
            point["score"] = point["score"] and log2(point["score"]) * each
        if row.get("seed_scores"):
            row["seed_scores"] = [log2(score) * each for score in row["seed_scores"]]
            row["spread"] = float(np.std(row["seed_scores"], ddof=1)) if row["spread"] is not None else None
    return "bits_per_byte", samples, [UNLIKE]
