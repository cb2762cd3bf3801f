"""Tagging names in CoNLL-2003 with an lstm both ways and a CRF: Wenmai against Flair's SequenceTagger. And reading a CSV.

The same sentences and the same sizes for both: a table of 100 numbers a word, begun at random and trained (Flair's
OneHotEmbeddings), over the words that stand in the training part three times or more (Flair's usual least); 256 hidden, one
layer, both ways, 17 tags in BIOES, a CRF; dropout 0.2 on the vectors and on the states (Flair's LockedDropout, its usual one,
which draws the fewest random numbers); no letters of the words; AdamW, clipping, float32. What counts is real tokens, padding
not among them.

training  Batches of 32 sentences of like length, for Wenmai as many tokens as that is on average; beside it Wenmai's own choice
          of a batch, and Flair with sentences at random, as its ModelTrainer has them. Flair runs in a plain loop over
          forward_loss, which spares it what its ModelTrainer does around it.
tagging   The sentences of testa, from lists of words to tags, best paths included; by Flair in batches of 32, its default, and of
          the size that was fastest when it got ready. A line of its own leaves the making of Flair's Sentence objects out.
F1        After three epochs from scratch, on testa: to show that both train, not to compare how well.

Flair 0.15 wants an older transformers than Wenmai's benchmarks, so it lives in an environment of its own:

    python3 -m venv flair-env && flair-env/bin/pip install torch==2.13.0
    echo torch==2.13.0 > torch.txt && flair-env/bin/pip install 'flair==0.15.*' -c torch.txt
    python benchmarks/tagging.py --flair flair-env/bin/python          (or set WENMAI_FLAIR)

reading   A CSV of some 60 MB, text and label, the cells that hold a comma in quotes: Wenmai's reader, csv.reader, pyarrow.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import turns
from transformer import LOOKS, POOL, Clock
from turns import Measure

WIDTH, HIDDEN, DROPOUT, SENTENCES, LEAST, EPOCHS = 100, 256, 0.2, 32, 3, 3
LONG_ENOUGH = 2.0  # seconds of tagging that make a rate
MEGABYTES = 60  # of the CSV
MEASURES = {
    "training": Measure("training, tokens a second", "more"),
    "tagging": Measure("tagging, tokens a second", "more"),
}
OTHERWISE = {  # how else Flair trains and tags; Wenmai's side is the same
    "random": Measure("training, Flair's sentences at random", "more"),
    "usual": Measure("Flair in batches of 32", "more"),
    "made": Measure("Flair, its Sentences made before", "more"),
}
READING = {"megabytes": Measure("reading a CSV, MB a second", "more")}
Rows = list[tuple[list[str], list[str]]]  # words, tags


def folder(given: Path | None) -> Path:
    return given or Path(
        os.environ.get("WENMAI_DATA") or Path(__file__).resolve().parents[1] / "../shared/data"
    )


def conll(file: Path) -> Rows:
    """The sentences of a file of CoNLL-2003; -DOCSTART- stands between documents and is none."""
    rows: Rows = [([], [])]
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for word, *_, tag in (line.split() or ["", ""] for line in lines):
            if word in ("", "-DOCSTART-"):
                rows.append(([], []))
            else:
                rows[-1][0].append(word)
                rows[-1][1].append(tag)
    return [row for row in rows if row[0]]


def spans(tags: list[str]) -> list[tuple[int, int, str]]:
    """(start, end, kind) of every name, in the IOB1 of the files: B- only where one name follows another of its kind."""
    found, start, before = [], 0, "O"
    for at, tag in enumerate([*tags, "O"]):
        begins = tag[0] == "B" or tag[2:] != before[2:]
        if before != "O" and begins:
            found.append((start, at, before[2:]))
        start, before = at if begins else start, tag
    return found


def f1(answered: list[list[tuple]], expected: list[list[tuple]]) -> float:
    right = sum(len(set(a) & set(b)) for a, b in zip(answered, expected))
    return 2 * right / (sum(map(len, answered)) + sum(map(len, expected)))


def tokens_in(rows: Rows) -> int:
    return sum(len(words) for words, _ in rows)


def rate(tag, tokens: int) -> float:
    began, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - began < LONG_ENOUGH:
        tag()
        count += tokens
    return count / (time.perf_counter() - began)


def wenmai(train: Rows, test: Rows, batches: int, own_batch: bool):
    from wenmai import Tagger

    words, tags = map(list, zip(*train))
    asked, expected = map(list, zip(*test))
    wanted, size = batches * SENTENCES * tokens_in(train) // len(train), tokens_in(test)

    def tagger(**more) -> Tagger:
        batch = {} if own_batch else {"batch_tokens": SENTENCES * tokens_in(train) // len(train)}
        return Tagger(
            "lstm",
            bidirectional=True,
            crf=True,
            embed=WIDTH,
            hidden=HIDDEN,
            dropout=DROPOUT,
            characters="none",
            min_count=LEAST,
            optimizer="adamw",
            precision="float32",
            validation=0.0,
            device="cpu",
            **batch,
            **more,
        )

    began = time.perf_counter()
    trained = tagger(epochs=EPOCHS, evaluations=1).fit(words, tags)
    seconds = time.perf_counter() - began
    score = f1([spans(row) for row in trained.predict(asked)], [spans(row) for row in expected])

    def training() -> float:
        enough = 2 * batches  # more steps than a turn can need
        model = tagger(steps=enough, evaluations=max(1, enough // LOOKS))
        return Clock(wanted).follow(model.training(words, tags), model)["tokens"]

    def turn() -> dict[str, float]:
        tagging = rate(lambda: trained.predict(asked), size)
        learned = training()
        return {
            "training": learned,
            "random": learned,
            "tagging": tagging,
            "usual": tagging,
            "made": tagging,
        }

    parameters = sum(weight.numel() for weight in trained.model_.parameters())
    return turn, {"f1": score, "seconds": seconds, "parameters": parameters}


def flair(train: Rows, test: Rows, batches: int):
    import logging
    from importlib.metadata import version

    import flair as library
    import torch
    from flair.data import Corpus, Sentence
    from flair.datasets import FlairDatapointDataset
    from flair.embeddings import OneHotEmbeddings
    from flair.models import SequenceTagger
    from flair.training_utils import store_embeddings

    logging.getLogger("flair").setLevel(logging.ERROR)
    library.device = torch.device("cpu")
    library.set_seed(0)

    def labelled(rows: Rows) -> list[Sentence]:
        sentences = [Sentence(words) for words, _ in rows]
        for sentence, (_, tags) in zip(sentences, rows):
            for start, end, kind in spans(tags):
                sentence[start:end].add_label("ner", kind)
        return sentences

    sentences, size = labelled(train), tokens_in(test)
    wanted = batches * SENTENCES * tokens_in(train) // len(train)
    data = FlairDatapointDataset(sentences)
    corpus = Corpus(train=data, dev=data, test=data)
    names = corpus.make_label_dictionary("ner", add_unk=False)

    def tagger() -> SequenceTagger:
        vectors = OneHotEmbeddings.from_corpus(corpus, min_freq=LEAST, embedding_length=WIDTH)
        return SequenceTagger(
            vectors,
            names,
            "ner",
            hidden_size=HIDDEN,
            rnn_layers=1,
            use_rnn=True,
            use_crf=True,
            reproject_embeddings=False,
            word_dropout=0.0,
            locked_dropout=DROPOUT,
        )

    def steps(model: SequenceTagger, epochs: int, grouped: bool = True):
        """As many tokens as each step saw. `grouped`: in a batch are sentences of like length."""
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
        order = random.Random(0)
        for _ in range(epochs):
            model.train()
            picked, pool = order.sample(sentences, len(sentences)), POOL * SENTENCES
            if grouped:
                pools = [picked[start : start + pool] for start in range(0, len(picked), pool)]
                picked = [
                    sentence for some in pools for sentence in sorted(some, key=len, reverse=True)
                ]
            batches = [
                picked[start : start + SENTENCES] for start in range(0, len(picked), SENTENCES)
            ]
            for batch in order.sample(batches, len(batches)):
                loss, count = model.forward_loss(batch)
                (loss / count).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
                store_embeddings(batch, "none")  # or the words keep the graph of their vectors
                yield count

    def training(grouped: bool) -> float:
        clock = Clock(wanted)
        for count in steps(tagger(), 1 + 2 * batches * SENTENCES // len(sentences), grouped):
            clock.see(count)
            if clock.tick():
                break
        return clock.rate()["tokens"]

    trained = tagger()
    began = time.perf_counter()
    for _ in steps(trained, EPOCHS):
        pass
    seconds = time.perf_counter() - began
    trained.eval()
    made = [Sentence(words) for words, _ in test]
    trained.predict(made)
    answered = [
        [(s[0].idx - 1, s[-1].idx, s.get_label("ner").value) for s in row.get_spans("ner")]
        for row in made
    ]
    score = f1(answered, [spans(tags) for _, tags in test])

    def tagging(batch: int, given: list[Sentence] | None = None) -> float:
        def tag() -> None:
            trained.predict(given or [Sentence(words) for words, _ in test], mini_batch_size=batch)

        return rate(tag, size)

    sizes = {batch: tagging(batch) for batch in (32, 64, 128, 256, 512)}
    best = max(sizes, key=sizes.get)

    def turn() -> dict[str, float]:
        return {
            "training": training(True),
            "random": training(False),
            "tagging": tagging(best),
            "usual": tagging(32),
            "made": tagging(best, made),
        }

    parameters = sum(weight.numel() for weight in trained.parameters())
    return turn, {
        "f1": score,
        "seconds": seconds,
        "parameters": parameters,
        "fastest batch": best,
        "flair": version("flair"),
    }


FAMILIES = {
    "wenmai, batches of 32": lambda *given: wenmai(*given, own_batch=False),
    "wenmai, its own batches": lambda *given: wenmai(*given, own_batch=True),
    "flair": flair,
}


def make_csv(file: Path, data: Path) -> str:
    """Sentences of SST-2, else of Python's own manual, again and again."""
    sentences = data / "sst2" / "train.tsv"
    if sentences.is_file():
        rows = [
            line.rsplit("\t", 1)
            for line in sentences.read_text(encoding="utf-8").split("\n")
            if line
        ]
    else:
        from pydoc_data.topics import topics

        lines = [line.strip() for text in topics.values() for line in text.split("\n")]
        rows = [[line, str(len(line) % 2)] for line in lines if line]
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["text", "label"])
        while out.tell() < MEGABYTES * 1e6:
            writer.writerows(rows)
    quoted = sum("," in text or '"' in text for text, _ in rows) / len(rows)
    source = "SST-2" if sentences.is_file() else "pydoc_data.topics"
    return f"{file.stat().st_size / 1e6:.0f} MB of {source}, {quoted:.0%} of the texts in quotes"


def read_wenmai(file: Path) -> int:
    from wenmai.data.files import readers

    return sum(len(chunk) for chunk in readers.read(file).chunks())


def read_csv(file: Path) -> int:
    with file.open(encoding="utf-8", newline="") as text:
        return sum(1 for _ in csv.reader(text)) - 1


def read_arrow(file: Path) -> int:
    from pyarrow import csv as arrow

    return arrow.read_csv(file).num_rows


def read_arrow_lists(file: Path) -> int:
    from pyarrow import csv as arrow

    return sum(len(block.to_pydict()["text"]) for block in arrow.open_csv(file))


READERS = {
    "wenmai, reading": read_wenmai,
    "csv.reader": read_csv,
    "pyarrow, its own columns": read_arrow,
    "pyarrow, Python's strings": read_arrow_lists,
}


def reading(read, file: Path):
    size, rows = file.stat().st_size / 1e6, read(file)  # once before: the file is in memory for all

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        read(file)
        return {"megabytes": size / (time.perf_counter() - began)}

    return turn, {"rows": rows}


def race_tagging(options, data: Path) -> dict:
    corpus = data / "conll2003"
    if not corpus.is_dir():
        print(
            f"conll2003 is left out: there is no folder {corpus}; give --data FOLDER or set WENMAI_DATA.",
            file=sys.stderr,
        )
        return {}
    names = [name for name in FAMILIES if options.flair or name != "flair"]
    if not options.flair:
        print(
            "Flair is left out: give --flair PYTHON, of an environment made as this file's beginning says.",
            file=sys.stderr,
        )
    given = [
        "--data",
        str(data),
        "--batches",
        str(options.batches),
        "--threads",
        str(options.threads),
    ]
    results, about = turns.race(
        __file__, names, given, options.turns, options.threads, {"flair": options.flair}
    )
    print(
        f"\nCoNLL-2003, lstm both ways, CRF; {options.threads} threads, {options.turns} turns of {options.batches} batches\n"
    )
    print(turns.table(results, MEASURES, names[0]))
    for key, measure in OTHERWISE.items() if options.flair else ():
        times = turns.ratio(results, names[0], "flair", key, "more").text()
        rates = turns.spread(results, "flair", key).text()
        print(
            f"\n{measure.words}: {rates} tokens a second are tagged; wenmai is {times} times as fast"
        )
    for name, said in about.items():
        told = f"F1 on testa {said['f1']:.4f} after {EPOCHS} epochs in {said['seconds']:.0f} s, {said['parameters']:,} weights"
        more = (
            f"; flair {said['flair']}, fastest in batches of {said['fastest batch']}"
            if name == "flair"
            else ""
        )
        print(f"\n{name}: {told}{more}")
    return {"tagging": turns.record(results, MEASURES | OTHERWISE, names[0]) | {"about": about}}


def race_reading(options, data: Path) -> dict:
    from importlib.util import find_spec

    names = [name for name in READERS if find_spec("pyarrow") or not name.startswith("pyarrow")]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "texts.csv"
        about = make_csv(file, data)
        results, said = turns.race(
            __file__, names, ["--file", str(file)], options.turns, options.threads
        )
    print(f"\nA CSV: {about}, {said[names[0]]['rows']:,} rows; {options.turns} turns\n")
    print(turns.table(results, READING, names[0]))
    return {"reading": turns.record(results, READING, names[0]) | {"about": about}}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--flair",
        default=os.environ.get("WENMAI_FLAIR"),
        metavar="PYTHON",
        help="the Python of an environment that has Flair; else WENMAI_FLAIR, else none",
    )
    parser.add_argument(
        "--batches", type=int, default=200, help="of 32 sentences to train on in a turn"
    )
    parser.add_argument("--only", choices=("tagging", "reading"))
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    data = folder(options.data)
    if options.contestant in READERS:
        return turns.serve(lambda: reading(READERS[options.contestant], options.file))
    if options.contestant:
        import torch

        torch.set_num_threads(options.threads)
        parts = [conll(data / "conll2003" / f"eng.{part}.xz") for part in ("train", "testa")]
        return turns.serve(lambda: FAMILIES[options.contestant](*parts, options.batches))
    found = {}
    if options.only != "reading":
        found |= race_tagging(options, data)
    if options.only != "tagging":
        found |= race_reading(options, data)
    turns.finish(found, options.json)


if __name__ == "__main__":
    main()
