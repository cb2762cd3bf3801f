"""How fast is every rung? A record, without a peer: training, prediction in batches, and one prediction by itself.

Each rung of the catalog is trained with its default options on `languages` (characters) and on SST-2 (words); the rungs
take turns. Training is counted in tokens a second, without reading and tokenizing; networks train a few dozen steps in
float32 and in bf16. Predictions are counted from text to label. The output is a table in Markdown.
"""

from __future__ import annotations

import os
import time

import corpora
import turns
from turns import Spread, number

LONG_ENOUGH = 0.3  # seconds of predicting that make a rate
SINGLE = 40  # texts answered one by one in a turn: 200 in five turns, enough for a p99
COLUMNS = {
    "float32": "training float32, tokens a second",
    "bf16": "training bf16, tokens a second",
    "predictions": "predictions a second",
}


class Contestant:
    def __init__(self, rung: str, corpus: corpora.Corpus, steps: int):
        from wenmai import Classifier

        self.corpus, self.singles, self.turns = corpus, [], 0
        self.network = "precision" in Classifier(rung).get_params()
        few = [part[:: max(1, len(part) // 200)] for part in corpus.train]
        brief = {"steps": 2} if self.network else {"epochs": 1}
        Classifier(rung, validation=0.0, device="cpu", **brief).fit(*few).predict(
            few[0]
        )  # compiles, fills caches
        limits = {"steps": steps, "evaluations": 1} if self.network else {}
        self.new = lambda **more: Classifier(rung, validation=0.0, device="cpu", **limits, **more)

    def __call__(self) -> dict[str, float]:
        if self.network:
            found = {
                precision: self.train(precision=precision) for precision in ("bf16", "float32")
            }
        else:
            found = {"float32": self.train()}
        return found | {"predictions": self.predict_all()} | {"latency": self.predict_singly()}

    def train(self, **more) -> float:
        self.model, tokens, first = self.new(**more), 0, 0.0

        def count(layer, given) -> None:
            nonlocal tokens
            tokens += (
                int(given[0].mask.sum()) if layer.training else 0
            )  # a look reads a batch again

        for progress in self.model.training(*self.corpus.train):
            if (
                self.network and progress.step == 0
            ):  # planned; from here on every batch is counted where it comes in
                first, hook = (
                    progress.seconds,
                    self.model.model_.input.register_forward_pre_hook(count),
                )
        if self.network:
            hook.remove()
        else:
            tokens = progress.epoch * len(self.model.inputs_.encode(self.corpus.train[0]).flat)
        return tokens / (progress.seconds - first)

    def predict_all(self) -> float:
        texts, began, count = self.corpus.test[0], time.perf_counter(), 0
        while count == 0 or time.perf_counter() - began < LONG_ENOUGH:
            self.model.predict(texts)
            count += len(texts)
        return count / (time.perf_counter() - began)

    def predict_singly(self) -> float:
        texts, start = self.corpus.test[0], self.turns * SINGLE
        self.turns += 1
        self.model.predict(texts[:1])
        mine = []
        for at in range(start, start + SINGLE):
            began = time.perf_counter()
            self.model.predict([texts[at % len(texts)]])
            mine.append(1000 * (time.perf_counter() - began))
        self.singles += mine
        return sorted(mine)[len(mine) // 2]


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("--rung", action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--set", choices=("sst2", "languages"), action="append", help="only this one"
    )
    parser.add_argument("--steps", type=int, default=30, help="of training a network in a turn")
    options = parser.parse_args()
    os.environ |= {
        "OMP_NUM_THREADS": str(options.threads),
        "NUMBA_NUM_THREADS": str(options.threads),
    }
    from wenmai.catalog import rungs_for  # before torch, whose threads wait as wenmai tells them to

    import torch  # isort: skip

    torch.set_num_threads(options.threads)
    found = {}
    for name in options.set or ("languages", "sst2"):
        corpus = corpora.sst2(options.data) if name == "sst2" else corpora.languages()
        if corpus is None:
            continue
        names = options.rung or [rung.name for rung in rungs_for("classify")]
        contestants = {rung: Contestant(rung, corpus, options.steps) for rung in names}
        results = turns.take_turns(contestants, options.turns)
        print(
            f"\n{corpus.sizes()}; {options.threads} threads, median (least–most) of {options.turns} turns\n"
        )
        print(
            f"| rung | {' | '.join(COLUMNS.values())} | one prediction, ms: p50 | p99 |\n| --- |"
            + " ---: |" * 5
        )
        found[name] = {}
        for rung, contestant in contestants.items():
            cells = []
            for key in COLUMNS:
                values = [turn[key] for turn in results[rung] if key in turn]
                cells.append(Spread.of(values).text() if values else "")
            tails = {"p50": share(contestant.singles, 0.5), "p99": share(contestant.singles, 0.99)}
            print(f"| {' | '.join([rung, *cells, *map(number, tails.values())])} |")
            found[name][rung] = {"turns": results[rung]} | tails
    turns.finish(found, options.json)


if __name__ == "__main__":
    main()
