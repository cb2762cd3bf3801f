"""Questions a second, BERT of 6 × 384 on a CPU, contexts of 200 words: one and 32 at a time, against BertForQuestionAnswering.

    python benchmarks/asking.py [--turns 5] [--calls 20] [--words 200]

From texts to answers with their places, in the same windows of 384 tokens, for both: cut into tokens, read, the best span looked
for. Both have the same weights, drawn at random; the answers are compared before the first turn. The peer runs with sdpa and with
eager attention, questions of like length together, padded to the longest of a batch, whose size is the fastest of 4, 8, 16 and
32. Everyone has a process of its own; turns are taken."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import turns
from bert import HEADS, LAYERS, WIDTH
from turns import Measure

MEASURES = {
    "one": Measure("questions a second, one at a time", "more"),
    "many": Measure("questions a second, 32 at a time", "more"),
}
CONTESTANTS = ("wenmai", "transformers, sdpa", "transformers, eager")
SIZES = (4, 8, 16, 32)  # questions that the peer may read as one batch
LONGEST, WINDOW, STEP, TOGETHER = (
    30,
    384,
    128,
    32,
)  # tokens of an answer, of a window, from one to the next; questions


def questions(words: int) -> list[tuple[str, str]]:
    """Contexts of so many words, give or take a fifth, and questions of ten."""
    chance = random.Random(0)
    known = [f"w{number}" for number in range(5000)]
    sizes = [chance.randint(words * 4 // 5, words * 6 // 5) for _ in range(TOGETHER)]
    return [
        (" ".join(chance.choices(known, k=size)), " ".join(chance.choices(known, k=10)))
        for size in sizes
    ]


def make_checkpoint(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *(f"w{number}" for number in range(5000)),
    ]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
    )
    model = BertForQuestionAnswering(config)
    with torch.no_grad():
        for weight in model.parameters():  # so that places differ
            weight.mul_(2.0) if weight.ndim > 1 else None
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)


def wenmai(folder: Path, variant: list[str], options):
    from wenmai.exchange import hugging_face

    model = hugging_face.imported(folder)
    return lambda rows: [answer["answer"] for answer in model.answers(rows)]


def transformers(folder: Path, variant: list[str], options):
    import numpy as np
    import torch
    from transformers import AutoTokenizer, BertForQuestionAnswering

    known = AutoTokenizer.from_pretrained(folder)
    model = BertForQuestionAnswering.from_pretrained(folder, attn_implementation=variant[0]).eval()

    def answer(rows: list[tuple[str, str]], size: int) -> list[str]:
        """In batches of so many questions, of like length."""
        order = sorted(range(len(rows)), key=lambda row: len(rows[row][0]))
        said = {}
        for picked in (order[start : start + size] for start in range(0, len(rows), size)):
            said |= dict(zip(picked, answer_batch([rows[row] for row in picked])))
        return [said[row] for row in range(len(rows))]

    def answer_batch(rows: list[tuple[str, str]]) -> list[str]:
        contexts, asked = ([row[side] for row in rows] for side in (0, 1))
        overlap = (
            WINDOW
            - 3
            - max(len(known(question, add_special_tokens=False)["input_ids"]) for question in asked)
            - STEP
        )
        read = known(
            asked,
            contexts,
            truncation="only_second",
            max_length=WINDOW,
            stride=overlap,
            padding=True,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        places, example = (
            read.pop("offset_mapping").tolist(),
            read.pop("overflow_to_sample_mapping").tolist(),
        )
        with torch.inference_mode():
            found = model(**read)
        starts, ends = found.start_logits.numpy(), found.end_logits.numpy()
        best: list[tuple[float, str]] = [(-np.inf, "")] * len(rows)
        allowed = np.triu(
            np.tril(np.ones((starts.shape[1],) * 2, bool), LONGEST - 1)
        )  # i ≤ j < i + LONGEST
        for window, row in enumerate(example):
            inside = np.array([part == 1 for part in read.sequence_ids(window)])
            table = np.where(
                allowed & inside[:, None] & inside, starts[window][:, None] + ends[window], -np.inf
            )
            first, last = np.unravel_index(table.argmax(), table.shape)
            if table[first, last] > best[row][0]:
                best[row] = (
                    table[first, last],
                    contexts[row][places[window][first][0] : places[window][last][1]],
                )
        return [text for _, text in best]

    def seconds(size: int) -> float:
        began = time.perf_counter()
        answer(questions(options.words), size)
        return time.perf_counter() - began

    seconds(TOGETHER)  # warms up
    best = min(SIZES, key=lambda size: min(seconds(size) for _ in range(2)))
    return lambda rows: answer(rows, best)


def ready(folder: Path, name: str, options):
    import torch

    torch.set_num_threads(options.threads)
    family, *variant = name.split(", ")
    ask, rows = (
        {"wenmai": wenmai, "transformers": transformers}[family](folder, variant, options),
        questions(options.words),
    )
    said = ask(rows)

    def turn() -> dict[str, float]:
        began = time.perf_counter()
        for row in rows[: options.calls]:
            ask([row])
        between = time.perf_counter()
        ask(rows)
        return {
            "one": min(options.calls, len(rows)) / (between - began),
            "many": len(rows) / (time.perf_counter() - between),
        }

    return turn, {"answers": said}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--calls",
        type=int,
        default=20,
        help="questions that are asked one at a time in a turn, 32 at the most",
    )
    parser.add_argument("--words", type=int, default=200, help="of a context")
    parser.add_argument("--folder", type=Path, help="of a checkpoint that was made before")
    options = parser.parse_args()
    if options.contestant:
        return turns.serve(lambda: ready(options.folder, options.contestant, options))
    with tempfile.TemporaryDirectory() as place:
        make_checkpoint(Path(place))
        given = [
            "--folder",
            place,
            "--calls",
            str(options.calls),
            "--words",
            str(options.words),
            "--threads",
            str(options.threads),
        ]
        results, about = turns.race(
            __file__, list(CONTESTANTS), given, options.turns, options.threads
        )
    said = {name: each.pop("answers") for name, each in about.items()}
    same = sum(one == other for one, other in zip(said["wenmai"], said["transformers, eager"]))
    print(
        f"\nBERT of {LAYERS} layers, {WIDTH} wide; contexts of {options.words} words; {options.threads} threads, "
        f"{options.turns} turns; {same} of {TOGETHER} answers are the same\n"
    )
    print(turns.table(results, MEASURES, "wenmai"))
    turns.finish(turns.record(results, MEASURES, "wenmai") | {"same": same}, options.json)


if __name__ == "__main__":
    main()
