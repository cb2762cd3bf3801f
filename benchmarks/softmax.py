"""The rung `softmax` against scikit-learn's TfidfVectorizer and its linear classifiers: training, prediction, accuracy.

Both read the same n-grams of the same texts (words of SST-2, characters of `languages`) and both are timed from texts:
training until the model can answer, prediction until the labels are there. scikit-learn takes part with every solver it has for
this loss (LogisticRegression's, SGDClassifier); the settings of each (analyzer, lengths of the n-grams, C or alpha) are the ones
most accurate on the dev part, chosen outside of the timing. Of these the fastest counts whose accuracy on dev is no lower than
lbfgs's, the default solver, less a tenth of a point. Wenmai runs with its defaults. Its kernels are compiled when they are first
called: that is left out of the turns and said on a line of its own.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from itertools import product

import corpora
import turns
from turns import Measure

MEASURES = {
    "training": Measure("training, seconds", "less"),
    "predictions": Measure("predictions a second", "more"),
    "accuracy": Measure("test accuracy", None, 4),
}
LONG_ENOUGH = 0.5  # seconds of predicting that make a rate


def one_turn(new_model, corpus: corpora.Corpus) -> dict[str, float]:
    began = time.perf_counter()
    model = new_model().fit(*corpus.train)
    training = time.perf_counter() - began
    texts, labels = corpus.test
    began, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - began < LONG_ENOUGH:
        answers = model.predict(texts)
        count += len(texts)
    rate = count / (time.perf_counter() - began)
    right = sum(answer == label for answer, label in zip(answers, labels))
    return {"training": training, "predictions": rate, "accuracy": right / len(labels)}


def wenmai(corpus: corpora.Corpus):
    from wenmai import Classifier

    def new_model():
        return Classifier("softmax", validation=0.0)

    new_model().fit(*corpus.train).predict(
        corpus.test[0][:10]
    )  # compiles, or loads what was compiled
    return lambda: one_turn(new_model, corpus), {"settings": "defaults"}


def scikit_learn(corpus: corpora.Corpus, solver: str):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    def classifier(strength: float):
        if solver == "sgd":
            return SGDClassifier(loss="log_loss", alpha=1e-4 / strength, random_state=0)
        if solver == "liblinear":  # two classes at a time
            return OneVsRestClassifier(
                LogisticRegression(solver=solver, C=strength, random_state=0)
            )
        return LogisticRegression(solver=solver, max_iter=1000, C=strength, random_state=0)

    def pipeline(reading: dict, strength: float):
        return make_pipeline(TfidfVectorizer(**reading), classifier(strength))

    choice = corpus
    if corpus.name == "sst2":
        patterns = r"(?u)\b\w\w+\b", r"\S+"
        readings = [
            {"token_pattern": pattern, "ngram_range": (1, n)}
            for pattern, n in product(patterns, (1, 2))
        ]
    else:
        readings = [
            {"analyzer": analyzer, "ngram_range": (1, 3), "lowercase": False}
            for analyzer in ("char", "char_wb")
        ]
        if corpus.name != "languages":
            choice = (
                corpora.languages()
            )  # of hundreds of classes one fit takes minutes: chosen where it takes seconds
    best = (-1.0,)
    for reading, strength in product(readings, (1, 4, 16)):
        accuracy = pipeline(reading, strength).fit(*choice.train).score(*choice.dev)
        if accuracy > best[0]:  # of equals the smaller C, which is the faster
            best = accuracy, reading, strength
    accuracy, reading, strength = best
    setting = f"alpha={1e-4 / strength:.2g}" if solver == "sgd" else f"C={strength}"
    about = {"settings": f"{reading}, {setting}", "dev": accuracy}
    return lambda: one_turn(lambda: pipeline(reading, strength), corpus), about


def first_fit(corpus: corpora.Corpus):
    """The first training of a process, with whatever compiled code the cache holds."""
    from wenmai import Classifier

    few = [part[:: max(1, len(part) // 200)] for part in corpus.train]

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        Classifier("softmax", validation=0.0).fit(*few).predict(few[0])
        return {"seconds": time.perf_counter() - began}

    return turn, {}


SOLVERS = (
    "lbfgs",
    "liblinear",
    "newton-cg",
    "sag",
    "saga",
    "sgd",
)  # newton-cholesky wants a dense matrix of all features
CONTESTANTS = {"wenmai": wenmai, "first-fit": first_fit}
CONTESTANTS |= {
    f"scikit-learn, {solver}": partial(scikit_learn, solver=solver) for solver in SOLVERS
}
LOWER = 0.001  # of accuracy on dev that a faster solver may be below the default one


def compiling(options: list[str], threads: int) -> str:
    with tempfile.TemporaryDirectory() as cache:
        seconds = []
        for _ in range(2):  # an empty cache, then the one just filled; both in fresh processes
            with turns.Worker(
                __file__, "first-fit", options, threads, NUMBA_CACHE_DIR=cache
            ) as worker:
                seconds.append(worker()["seconds"])
    return f"Compiling, not in the turns: {seconds[0]:.1f} s once after installation, {seconds[1]:.2f} s in every new process."


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--set",
        choices=("sst2", "languages", "all"),
        action="append",
        help="only this one; may be repeated",
    )
    parser.add_argument(
        "--solver",
        choices=SOLVERS,
        action="append",
        help="only this one of the peer; may be repeated",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also every language CLDR knows well: minutes a turn for the peer",
    )
    # One thread each: Wenmai's kernels use one, and scikit-learn's solver was slower with two, far slower on a busy machine.
    parser.set_defaults(threads=1)
    options = parser.parse_args()
    if options.contestant:
        corpus = load(options.set[0], options)
        return turns.serve(lambda: CONTESTANTS[options.contestant](corpus))
    names = options.set or ["sst2", "languages"] + ["all"] * options.all
    found, data = {}, ["--data", str(options.data)] if options.data else []
    for name in names:
        corpus = load(name, options)
        if corpus is None:
            continue
        given = ["--set", name, *data]
        peers = [f"scikit-learn, {solver}" for solver in options.solver or SOLVERS]
        results, about = turns.race(
            __file__, ["wenmai", *peers], given, options.turns, options.threads
        )
        print(
            f"\n{corpus.sizes()}; {options.threads} thread, {options.turns} turns; wenmai with its defaults"
        )
        for peer in peers:
            print(f"{peer}: {about[peer]['settings']}, {about[peer]['dev']:.4f} on dev")
        print("\n" + turns.table(results, MEASURES, "wenmai"))
        least = max(about[peer]["dev"] for peer in peers[:1]) - LOWER
        able = {peer: results[peer] for peer in peers if about[peer]["dev"] >= least}
        for key, measure in list(MEASURES.items())[:2]:
            peer = turns.fastest(able, "scikit-learn", key, measure.better)
            times = turns.ratio(results, "wenmai", peer, key, measure.better).text()
            print(
                f"\n{measure.words}: the fastest at no lower accuracy is {peer}; wenmai is {times} times as fast"
            )
        found[corpus.name] = {"settings": about} | turns.record(results, MEASURES, "wenmai")
    if found:
        found["compiling"] = compiling(["--set", names[-1], *data], options.threads)
        print(f"\n{found['compiling']}")
    turns.finish(found, options.json)


def load(name: str, options) -> corpora.Corpus | None:
    return (
        corpora.sst2(options.data)
        if name == "sst2"
        else corpora.languages("all" if name == "all" else None)
    )


if __name__ == "__main__":
    main()
