"""Two trees of Wenmai against each other, by their own benchmarks: every case of ours, without the peers, taking turns.

    python benchmarks/trees.py OLD [NEW] [--only rungs] [--device cuda]

OLD and NEW are checkouts (git worktree add OLD REVISION). For each case both trees' processes get ready, then take turns in
reversed order; what is printed is the ratio new ÷ old of the rates, turn by turn: above 1 the new tree is faster.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import turns

RUNGS = (
    "perceptron",
    "logistic",
    "softmax",
    "mlp",
    "cnn",
    "rnn",
    "rnn-gated",
    "rnn-residual",
    "lstm",
    "gru",
    "attention",
    "transformer",
)
FASTER = {
    "rate": "more",
    "tokens": "more",
    "float32": "more",
    "bf16": "more",
    "predictions": "more",
    "latency": "less",
    "seconds": "less",
    "microseconds": "less",
    "milliseconds": "less",
}


def cases(
    options, places: dict[str, Path]
) -> dict[str, tuple[str, str, list[str], dict[str, list[str]]]]:
    """name → (script, contestant, its options, what each tree is given besides)"""
    data = ["--data", str(options.data)] if options.data else []
    shared = ["--device", options.device, "--threads", str(options.threads)]
    found = {}
    for what in (
        "lstm, wenmai, bf16",
        "lstm, wenmai, float32",
        "gpt, wenmai, bf16",
        "generate 1, wenmai",
        "generate 32, wenmai",
    ):
        found[f"language_models {what}"] = ("language_models", what, ["--steps", "10", *shared], {})
    if options.device != "cpu":
        for what in ("gpt, wenmai, compiled", "generate 1, wenmai", "generate 32, wenmai"):
            found[f"language_models large {what}"] = (
                "language_models",
                what,
                ["--steps", "10", "--large", *shared],
                {},
            )
    for what in ("train", "greedy 1", "greedy 32", "beam 1", "beam 32"):
        for precision in ("float32", "bf16"):
            found[f"translation {what}, {precision}"] = (
                "translation",
                f"{what}, wenmai, {precision}",
                ["--steps", "15", *shared],
                {},
            )
    if options.device == "cpu":
        for shape in ("4x256", "6x384"):
            for variant in ("bf16, lazy-adamw", "float32, lazy-adamw"):
                given = ["--shape", shape, "--threads", str(options.threads), *data]
                found[f"transformer {shape}, {variant}"] = (
                    "transformer",
                    f"wenmai, {variant}",
                    given,
                    {},
                )
        for corpus in ("languages", "sst2"):
            for rung in RUNGS:
                found[f"rungs {corpus}, {rung}"] = (
                    "trees",
                    f"{corpus}, {rung}",
                    ["--threads", str(options.threads), *data],
                    {},
                )
        for layout in (
            "estimation",
            "fast, scoring",
            "small, scoring",
            "fast, advance",
            "fast, load",
        ):
            name = "wenmai" if layout == "estimation" else f"wenmai, {layout}"
            more = {
                tree: [
                    "--file",
                    str(place / ("ptb.txt" if layout == "estimation" else "held.txt")),
                    "--place",
                    str(place),
                    "--order",
                    "5",
                    "--model",
                    "ptb.5",
                ]
                for tree, place in places.items()
            }
            found[f"ngram {layout}"] = ("ngram", name, [], more)
    return {
        name: case
        for name, case in found.items()
        if not options.only or any(word in name for word in options.only)
    }


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument(
        "--only", action="append", help="cases whose names hold this text; may be repeated"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    if options.contestant:
        return turns.serve(lambda: rung(options))
    trees = {"old": options.old.resolve(), "new": options.new.resolve()}
    everything = {}
    with tempfile.TemporaryDirectory() as folder:
        places = {tree: Path(folder) / tree for tree in trees}
        chosen = cases(options, places)
        for tree, place in (
            places.items() if any(script == "ngram" for script, *_ in chosen.values()) else ()
        ):
            place.mkdir()
            run = "import sys, ngram; from pathlib import Path; data, place = map(Path, sys.argv[1:]); "
            run += "ngram.penn(data, place).rename(place / 'ptb.txt'); ngram.held_out(data, place).rename(place / 'held.txt'); "
            run += "ngram.models(place / 'ptb.txt', 5, place)"
            subprocess.run(
                [sys.executable, "-c", run, str(options.data), str(place)],
                env=paths(trees[tree]),
                check=True,
            )
        print(
            "| case | measure | old | new | new ÷ old, median (least–most) |\n| --- | --- | ---: | ---: | ---: |"
        )
        for name, (script, contestant, given, more) in chosen.items():
            with ExitStack() as stack:
                workers = {}
                for tree, root in trees.items():
                    file = Path(__file__).with_name(
                        f"{script}.py"
                    )  # for both: how it is counted is not what is compared
                    workers[tree] = stack.enter_context(
                        turns.Worker(
                            str(file),
                            contestant,
                            [*given, *more.get(tree, [])],
                            options.threads,
                            **paths(root),
                        )
                    )
                results = turns.take_turns(workers, options.turns)
            everything[name] = results
            for measure in results["new"][0]:
                if measure not in FASTER:
                    continue
                better = FASTER[measure]
                old, new = (turns.spread(results, tree, measure) for tree in ("old", "new"))
                times = turns.ratio(results, "new", "old", measure, better)
                spread = f"**{times.median:.2f}** ({times.least:.2f}–{times.most:.2f})"
                print(
                    f"| {name} | {measure} | {old.text()} | {new.text()} | {spread} |", flush=True
                )
    turns.finish(everything, options.json)


def paths(tree: Path) -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": f"{tree / 'src'}:{Path(__file__).parent}"}


def rung(options):
    """A case of rungs.py, whose contestants share a process there."""
    import corpora
    import rungs

    import torch  # isort: skip

    torch.set_num_threads(options.threads)
    corpus, name = options.contestant.split(", ")
    return rungs.Contestant(
        name, corpora.sst2(options.data) if corpus == "sst2" else corpora.languages(), 30
    ), {}


if __name__ == "__main__":
    main()
