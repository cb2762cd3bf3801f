"""Two trees of Wenmai against each other: the same work by the public interface, taking turns.

    python benchmarks/trees.py OLD [NEW] [--turns 5] [--threads 2]

OLD and NEW are checkouts (git worktree add OLD REVISION). Every turn starts a process for each tree, in reversed order every
second time; what is printed is seconds and the ratio old ÷ new, turn by turn: above 1 the new tree is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNGS = ("softmax", "mlp", "cnn", "lstm", "gru", "attention", "transformer")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    seconds: dict[str, dict[str, list[float]]] = {}
    for turn in range(given.turns):
        trees = {"old": given.old, "new": given.new}
        for name in sorted(trees, reverse=bool(turn % 2)):
            for case, taken in one_turn(trees[name], given.threads).items():
                seconds.setdefault(case, {}).setdefault(name, []).append(taken)
    print("| work | old, s | new, s | old ÷ new, median (least–most) |\n| --- | ---: | ---: | ---: |")
    for case, both in seconds.items():
        ratios = sorted(old / new for old, new in zip(both["old"], both["new"]))
        middle = statistics.median(ratios)
        print(f"| {case} | {statistics.median(both['old']):.2f} | {statistics.median(both['new']):.2f} | "
              f"**{middle:.2f}** ({ratios[0]:.2f}–{ratios[-1]:.2f}) |")  # fmt: skip


def one_turn(tree: Path, threads: int) -> dict[str, float]:
    paths = {"PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": str(threads)}
    ran = subprocess.run([sys.executable, __file__, "work", "--work"], env=os.environ | paths, capture_output=True, text=True,
                         check=False, cwd="/")  # fmt: skip
    if ran.returncode:
        sys.exit(ran.stderr)
    return json.loads(ran.stdout.splitlines()[-1])


def timed(work) -> float:
    """The least of three, lest a short moment of another program count."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def work() -> dict[str, float]:
    """Seconds of each; whatever is compiled or allocated once was used before."""
    from wenmai import Classifier, LanguageModel, Translator

    chance = random.Random(0)
    words = [f"w{int(chance.paretovariate(0.6))}" for _ in range(60_000)]
    lines = [" ".join(words[at : at + 20]) for at in range(0, len(words), 20)]
    labels = [str(len(line) % 3) for line in lines]
    found = {}
    for rung in RUNGS:
        more = {"epochs": 2} if rung == "softmax" else {"steps": 60, "validation": 0.0}
        less = {"epochs": 1} if rung == "softmax" else {"steps": 2, "validation": 0.0}
        Classifier(rung, **less).fit(lines[:200], labels[:200])
        model = Classifier(rung, **more)
        found[f"train {rung}"] = timed(lambda model=model: model.fit(lines, labels))
        found[f"predict {rung}"] = timed(lambda model=model: model.predict(lines))
    sizes = {"lstm": {"hidden": 200, "embed": 200}, "gpt": {"width": 256, "heads": 4, "layers": 4, "context": 128}}
    for rung, size in sizes.items():
        LanguageModel(rung, steps=2, validation=0.0, **size).fit(lines[:500])
        model = LanguageModel(rung, steps=20, validation=0.0, batch_tokens=2048, **size)
        found[f"train {rung} to write"] = timed(lambda model=model: model.fit(lines))
        model.generate("w1 w2", tokens=5)
        found[f"generate {rung}, one text"] = timed(lambda model=model: model.generate("w1 w2", tokens=120))
        model.generate(["w1 w2"] * 32, tokens=5)
        found[f"generate {rung}, 32 texts"] = timed(lambda model=model: model.generate(["w1 w2"] * 32, tokens=60))
        found[f"score {rung}"] = timed(lambda model=model: model.perplexity(lines[:400]))
    model = LanguageModel("ngram", order=4)
    model.fit(lines[:100])
    found["train ngram"] = timed(lambda: model.fit(lines * 5))
    found["score ngram"] = timed(lambda: model.perplexity(lines * 10))
    targets = [" ".join(reversed(line.split()[:8])) for line in lines[:1500]]
    sources = [" ".join(line.split()[:8]) for line in lines[:1500]]
    for rung in ("attention", "transformer"):
        model = Translator(rung, steps=30, tokenizer="words", validation=0.0, learning_rate=1e-4).fit(sources, targets)
        found[f"train {rung} to translate"] = timed(lambda rung=rung: Translator(
            rung, steps=30, tokenizer="words", validation=0.0, learning_rate=1e-4).fit(sources, targets))  # fmt: skip
        for beam in (1, 5):
            model.translate(sources[:2], beam=beam)
            found[f"translate by {rung}, beam {beam}, 32 texts"] = timed(
                lambda model=model, beam=beam: model.translate(sources[:32], beam=beam)
            )
    return found


if __name__ == "__main__":
    if "--work" in sys.argv:
        print(json.dumps(work()))
    else:
        main()
