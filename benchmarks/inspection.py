"""What looking inside costs: nothing where nobody looks, and how long it takes where somebody does.

    python benchmarks/inspection.py                 a BERT of 6 × 384: every kind of panel of 30 words, the page; 512 tokens
    python benchmarks/inspection.py --before SRC    training and predicting by this source and by another, taking turns

The network has weights of its own (nothing is downloaded); what it answers does not matter here."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SENTENCE = (
    "He tossed this tennis ball to serve while his friends and their small dog watched from the bench near the fence "
    "under an old tree and waited for him too"
)


def bert(words: list[str]):
    from wenmai import Classifier

    texts = [" ".join(words[at : at + 30]) for at in range(0, 60, 2)]
    return Classifier("bert", width=384, heads=12, layers=6, steps=1, tokenizer="words").fit(
        texts, ["a", "b"] * 15
    )


def panels() -> None:
    from wenmai.inspection import inspecting
    from wenmai.inspection.reading import Reading
    from wenmai.page import inspection_page

    words = SENTENCE.split()
    estimator = bert(words * 4)
    inspecting.inspect(estimator, "warm up these kernels", "all")
    for name, (make, _) in inspecting.KINDS.items():
        began = time.perf_counter()
        made = make(Reading(estimator, SENTENCE), inspecting.Asked())
        print(f"{name:12} {time.perf_counter() - began:6.2f} s  {len(made)} panels")
    for show in ((), "all"):
        began = time.perf_counter()
        inspection = inspecting.inspect(estimator, SENTENCE, show)
        made = time.perf_counter() - began
        html = inspection_page.page(inspection)
        print(
            f"{len(words)} words, {show or 'unasked'}: panels {made:.2f} s, with the page "
            f"{time.perf_counter() - began:.2f} s, {len(html) / 1e6:.2f} MB"
        )
    long = " ".join((words * 20)[:510])
    began = time.perf_counter()
    inspection = inspecting.inspect(estimator, long, "attention")
    made = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        inspection_page.write(inspection, Path(folder) / "inside", with_pictures=False)
        sizes = {
            path.name: path.stat().st_size / 1e6 for path in (Path(folder) / "inside").iterdir()
        }
    print(
        f"512 tokens × 72 heads: panels {made:.2f} s, all files {time.perf_counter() - began:.2f} s, "
        f"index.html {sizes['index.html']:.1f} MB, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"
    )


WORK = """
import json, sys, time
import numpy as np
from wenmai import Classifier
words = np.random.default_rng(0).integers(0, 500, (400, 30))
texts, labels = [" ".join(f"w{n}" for n in row) for row in words], ["a", "b"] * 200
found = {}
for rung, more in (("lstm", {"hidden": 128}), ("transformer", {"width": 128})):
    model = Classifier(rung, steps=20, validation=0.0, **more)
    model.fit(texts, labels)
    began = time.perf_counter()
    model.fit(texts, labels)
    found[rung + " train"], began = time.perf_counter() - began, time.perf_counter()
    for _ in range(5):
        model.predict_proba(texts)
    found[rung + " predict"] = time.perf_counter() - began
print(json.dumps(found))
"""


def turns(before: Path, times: int) -> None:
    sources = {"before": before, "now": Path(__file__).resolve().parents[1] / "src"}
    found: dict[str, list[dict]] = {name: [] for name in sources}
    for _ in range(times):
        for name, source in sources.items():
            ran = subprocess.run(
                [sys.executable, "-c", WORK],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"PYTHONPATH": str(source)},
            )
            found[name].append(json.loads(ran.stdout.splitlines()[-1]))
    for what in found["now"][0]:
        old, new = (
            statistics.median(one[what] for one in found[name]) for name in ("before", "now")
        )
        print(f"{what:22} before {old:.3f} s, now {new:.3f} s: {new / old:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    turns(given.before, given.times) if given.before else panels()
