"""BERT-base on a GPU, masked words, bf16: real tokens a second, of rows whose lengths lie evenly between T/4 and T.

    python benchmarks/pretraining.py --length 128        65,536 tokens an update; --length 512 likewise
    … --only wenmai                                      without the peer
    … --set compile=false                                any option of training
    … --profile                                          one turn more of each, and the kernels that it spent its time in

Wenmai trains as `wenmai train bert` does, with next_sentence=false; the peer is BertForMaskedLM under torch.compile, padded to
the longest row of its batch, which are of like length, with autocast and a fused AdamW. Both have the sizes of BERT-base, a
vocabulary of 30,522 and rows of the same lengths. Compiling is not counted: a turn goes on where the one before it ended."""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

BASE = {"width": 768, "heads": 12, "layers": 12, "feed_forward": 3072}
WORDS = 30_522


def documents(length: int, tokens: int) -> list[str]:
    """Of random words, as many as fill `tokens`, each with its marks between a quarter of `length` and all of it."""
    generator = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(WORDS - 5)])
    lengths = generator.integers(length // 4, length + 1, 2 * tokens // length) - 2
    return [" ".join(words[generator.integers(0, len(words), many)]) for many in lengths]


def wenmai_turns(asked, texts: list[str]):
    """Yields real tokens a second, turn after turn."""
    from wenmai import Encoder
    from wenmai.training import updater

    seen, judged = [0], updater.Updater.judged

    def counted(self, batch, losses=None):
        seen[0] += int(batch.mask.sum()) if losses is None else 0  # a look reads a batch again
        return judged(self, batch, losses)

    updater.Updater.judged = counted
    options = {"compile": True} | dict(pair.split("=") for pair in asked.set)
    options = {
        name: json.loads(value) if isinstance(value, str) else value
        for name, value in options.items()
    }
    many = (
        asked.warm + (asked.turns + asked.profile) * asked.steps
    )  # every turn ends with a look, as trainings do now and then
    model = Encoder(
        "bert",
        **BASE,
        next_sentence=False,
        max_length=asked.length,
        tokenizer="words",
        batch_tokens=asked.tokens,
        steps=many,
        evaluations=many // asked.steps,
        validation=0.0,
        precision="bf16",
        device="cuda",
        **options,
    )
    done, began = 0, 0.0
    for progress in model.training(texts):
        if not progress.step or progress.step % asked.steps:
            continue
        torch.cuda.synchronize()
        if began:
            yield (seen[0] - done) / (time.perf_counter() - began)
        done, began = seen[0], time.perf_counter()


def peer_turns(asked, texts: list[str]):
    from transformers import BertConfig, BertForMaskedLM

    from wenmai.data.examples.batches import shuffled

    generator = np.random.default_rng(0)
    rows = [
        np.concatenate([[2], generator.integers(5, WORDS, text.count(" ") + 1), [3]])
        for text in texts
    ]
    lengths = np.array([len(row) for row in rows])
    config = BertConfig(vocab_size=WORDS, max_position_embeddings=max(512, asked.length))
    model = BertForMaskedLM(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    step = torch.compile(lambda **given: model(**given).loss, dynamic=True)
    batches, seen, began = [], 0, 0.0
    for number in range(asked.warm + (asked.turns + asked.profile) * asked.steps + 1):
        if number >= asked.warm and (number - asked.warm) % asked.steps == 0:
            torch.cuda.synchronize()
            if began:
                yield seen / (time.perf_counter() - began)
            seen, began = 0, time.perf_counter()
        batches = batches or shuffled(lengths, asked.tokens, generator)
        picked = batches.pop()
        longest = int(lengths[picked].max())
        ids, mask = (
            np.zeros((len(picked), longest), np.int64),
            np.zeros((len(picked), longest), np.int64),
        )
        for at, row in enumerate(picked):
            ids[at, : lengths[row]], mask[at, : lengths[row]] = rows[row], 1
        labels = np.where((generator.random(ids.shape) < 0.15) & (mask > 0), ids, -100)
        given = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        given = {
            name: torch.from_numpy(array).pin_memory().cuda(non_blocking=True)
            for name, array in given.items()
        }
        with torch.autocast("cuda", torch.bfloat16):
            loss = step(**given)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seen += int(mask.sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=65_536, help="of an update, padding counted")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="of a turn")
    parser.add_argument(
        "--warm",
        type=int,
        default=40,
        help="steps before the first turn, a multiple of those of a turn",
    )
    parser.add_argument("--only", choices=("wenmai", "peer"))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    texts = documents(asked.length, 20 * asked.tokens)
    sides = {"wenmai": wenmai_turns, "peer": peer_turns}
    sides = {name: side(asked, texts) for name, side in sides.items() if asked.only in (None, name)}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(asked.turns):
        for name, side in sides.items():
            rates[name].append(next(side))
            print(f"{name}: {rates[name][-1]:,.0f} real tokens a second", flush=True)
    for name, side in sides.items() if asked.profile else ():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as watched:
            rate = next(side)
        kernels = watched.key_averages()
        busy = sum(kernel.device_time_total for kernel in kernels) / 1e6
        print(
            f"{name}: {rate:,.0f} while watched; kernels ran for {busy:.2f} s of {asked.steps} updates"
        )
        print(kernels.table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70))
    print(
        json.dumps(
            {
                "length": asked.length,
                "tokens": asked.tokens,
                "device": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "set": asked.set,
                "rates": rates,
            }
        )
    )


if __name__ == "__main__":
    main()
