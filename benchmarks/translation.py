"""Translating: training and decoding, against plain torch loops, Hugging Face and CTranslate2.

train       3 + 3 layers of 256 (feed-forward 1024, 4 heads), 8,000 words, pairs of 5 to 40 tokens, batches of like length, AdamW;
            what counts is target tokens a second
greedy 1, greedy 32, beam 1, beam 32    that shape writes 20 tokens for sources of 15: one text at a time, or 32 side by side; the
            most probable token, or a beam of 5; output tokens a second

What is read means nothing (words at random) and costs what a text does. Every contestant is a process of its own; in training
float32 and bf16, the peers also with each kernel of attention, of which the fastest counts; in decoding float32, and what is
faster and less exact: bf16, a peer's int8, each with --threads and with one, the peer also with two that share the texts, and
with threads that wait asleep. Tokens are counted where they are learned from. With --busy another program takes a core
meanwhile. On a GPU with --device cuda.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context

import turns
from turns import Measure

MEASURES = {
    "rate": Measure("tokens a second", "more"),
    "peak": Measure("peak memory of the process, MB", "less"),
}
WIDTH, HEADS, LAYERS, WIDE, WORDS = 256, 4, 3, 1024, 8000
ROWS, TOKENS, WARM = (
    4000,
    4096,
    5,
)  # pairs; tokens of both sides in a batch; updates before the clock
READ, WRITTEN, BEAM = 15, 20, 5
DECODING = (
    "wenmai, float32",
    "wenmai, bf16",
    "hugging face, float32, sdpa",
    "hugging face, float32, eager",
    "hugging face, bf16, sdpa",
    "hugging face, bf16, eager",
    "ctranslate2, float32",
    "ctranslate2, int8",
)
EARLY = (
    "ctranslate2, float32, sleeping early",
    "ctranslate2, int8, sleeping early",
)  # two threads that wait asleep
ALONE = (
    "wenmai, float32, one thread",
    "hugging face, float32, sdpa, one thread",
    "ctranslate2, float32, one thread",
    "ctranslate2, int8, one thread",
)
BESIDE = (
    "ctranslate2, float32, two at once",
    "ctranslate2, int8, two at once",
)  # each half of the texts, with one thread
CONTESTANTS = {
    "train": (
        "wenmai, bf16",
        "wenmai, float32",
        "torch loop, bf16, sdpa",
        "torch loop, bf16, math",
        "torch loop, float32, sdpa",
        "torch loop, float32, math",
        "hugging face, bf16, sdpa",
        "hugging face, bf16, eager",
        "hugging face, float32, sdpa",
        "hugging face, float32, eager",
    ),
    "greedy 1": (*DECODING, *EARLY, *ALONE),
    "beam 1": (*DECODING, *EARLY, *ALONE),
    "greedy 32": (*DECODING, *EARLY, *ALONE, *BESIDE),
    "beam 32": (*DECODING, *EARLY, *ALONE, *BESIDE),
}


def pairs():
    """(lengths of the sources, lengths of the targets, which number each word has)"""
    import numpy as np

    draw = np.random.default_rng(0)
    lengths = np.clip(draw.normal(14, 5, ROWS).round(), 5, 40).astype(int)
    targets = np.clip(lengths + draw.integers(-3, 4, ROWS), 5, 40)
    return [[draw.integers(0, WORDS - 10, size) for size in side] for side in (lengths, targets)]


def ready(device: str) -> None:
    if device != "cpu":
        import torch

        torch.cuda.synchronize()


def told(tokens: float, seconds: float) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )
    return {"rate": tokens / seconds, "peak": peak}


# Training


def wenmai_trains(options, variant: list[str]):
    from wenmai import Translator

    sources, targets = ([" ".join(f"w{n}" for n in row) for row in side] for side in pairs())

    def turn() -> dict[str, float]:
        model = Translator(
            "transformer",
            width=WIDTH,
            heads=HEADS,
            layers=LAYERS,
            feed_forward=WIDE,
            tokenizer="words",
            vocabulary=WORDS,
            joint=True,
            batch_tokens=TOKENS,
            steps=2 * options.steps,
            evaluations=2,
            validation=0.0,
            device=options.device,
            precision=variant[0],
        )
        began, sizes = None, []
        for progress in model.training(sources, targets):
            if progress.step == 0:
                model.model_.losses = counting(model.model_.losses, sizes)
            if progress.step == options.steps:
                ready(options.device)
                began, sizes[:] = time.perf_counter(), []
        ready(options.device)
        seconds = time.perf_counter() - began
        return told(sum(map(int, sizes)), seconds)

    return turn, {}


def counting(losses, sizes: list):
    """As `losses`; how many target tokens each batch has, their ends too, is added to `sizes`."""

    def counted(batch):
        if batch.target_mask is not None and losses.__self__.training:  # a look reads a batch again
            sizes.append(batch.target_mask.sum())
        return losses(batch)

    return counted


def batches():
    """Pairs of padded tensors (B, S), (B, T), rows of like length together."""
    import numpy as np
    import torch

    sources, targets = pairs()
    lengths = np.array([len(one) + len(other) for one, other in zip(sources, targets)])
    order, found = np.argsort(lengths, kind="stable"), []
    while len(order):
        size = max(
            1, TOKENS // int(lengths[order[min(len(order), TOKENS // int(lengths[order[0]])) - 1]])
        )
        rows, order = order[:size], order[size:]
        found.append(
            [
                torch.nn.utils.rnn.pad_sequence(
                    [torch.tensor(side[row] + 10) for row in rows], True, 1
                )
                for side in (sources, targets)
            ]
        )
    np.random.default_rng(1).shuffle(found)
    return found


def loop(network, loss, options, bf16: bool):
    import torch
    from torch import nn

    network = network.to(options.device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    every, kind = (
        [[side.to(options.device) for side in pair] for pair in batches()],
        "cpu" if options.device == "cpu" else "cuda",
    )
    sizes = [
        int((target != 1).sum()) + len(target) for _, target in every
    ]  # the ends of the texts too

    def step(number: int) -> int:
        source, target = every[number % len(every)]
        with torch.autocast(kind, torch.bfloat16, enabled=bf16):
            total = loss(source, target)
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        return sizes[number % len(every)]

    def turn() -> dict[str, float]:
        for number in range(WARM):
            step(number)
        ready(options.device)
        began = time.perf_counter()
        written = sum(step(WARM + number) for number in range(options.steps))
        ready(options.device)
        return told(written, time.perf_counter() - began)

    return turn


def torch_loop(options, variant: list[str]):
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = (
                nn.Embedding(WORDS, WIDTH, padding_idx=1),
                nn.Embedding(64, WIDTH),
            )
            self.body = nn.Transformer(
                WIDTH, HEADS, LAYERS, LAYERS, WIDE, 0.2, batch_first=True, norm_first=True
            )
            for layer in (
                *self.body.encoder.layers,
                *self.body.decoder.layers,
            ):  # what Wenmai does not drop either
                layer.dropout = nn.Identity()
                for part in (layer.self_attn, getattr(layer, "multihead_attn", layer.self_attn)):
                    part.dropout = 0.0
            self.output = nn.Linear(WIDTH, WORDS)
            self.output.weight = self.words.weight

        def placed(self, tokens):
            return self.words(tokens) * 16 + self.places.weight[: tokens.shape[1]]

        def loss(self, source, target):
            begun = nn.functional.pad(target, (1, 0), value=2)
            wanted = nn.functional.pad(target, (0, 1), value=1)
            mask = nn.Transformer.generate_square_subsequent_mask(
                begun.shape[1], device=source.device
            )
            away = source == 1
            y = self.body(
                self.placed(source),
                self.placed(begun),
                tgt_mask=mask,
                src_key_padding_mask=away,
                memory_key_padding_mask=away,
                tgt_is_causal=True,
            )
            scores = self.output(y).flatten(0, 1).float()
            return nn.functional.cross_entropy(
                scores, wanted.flatten(), ignore_index=1, label_smoothing=0.1
            )

    def loss(source, target):
        with nn.attention.sdpa_kernel(kernels):
            return model.loss(source, target)

    backend = nn.attention.SDPBackend
    kernels = [backend.MATH] if variant[1] == "math" else list(backend.__members__.values())
    torch.manual_seed(0)
    model = Model()
    return loop(model, loss, options, variant[0] == "bf16"), {}


def bart(attention: str | None = None):
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=WORDS,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_ffn_dim=WIDE,
        decoder_ffn_dim=WIDE,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        max_position_embeddings=128,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        dropout=0.2,
        attn_implementation=attention,
    )
    for name, value in {
        "normalize_before": False,
        "normalize_embedding": True,
        "add_final_layer_norm": False,
        "static_position_embeddings": False,
    }.items():
        setattr(config, name, value)  # which CTranslate2 asks for
    return BartForConditionalGeneration(config)


def hugging_face_trains(options, variant: list[str]):
    import torch

    model = bart(variant[1])

    def loss(source, target):
        target = torch.nn.functional.pad(target, (0, 1), value=1)
        target[torch.arange(len(target)), (target != 1).sum(1)] = 2  # the end, which is learned too
        return model(
            source, attention_mask=source != 1, labels=target.masked_fill(target == 1, -100)
        ).loss

    return loop(model, loss, options, variant[0] == "bf16"), {}


# Decoding


def timed(write, count: int, device: str):
    calls = max(4, 8 // count)

    def turn() -> dict[str, float]:
        ready(device)
        began = time.perf_counter()
        for _ in range(calls):
            write()
        ready(device)
        return told(calls * count * WRITTEN, time.perf_counter() - began)

    turn()  # once, unmeasured
    return turn


def sources_of(count: int):
    import numpy as np

    return np.random.default_rng(2).integers(10, WORDS - 10, (count, READ))


def wenmai_learns(folder: str) -> None:
    """A run of this shape, made by a process of its own: decoding is not to answer for the memory of training."""
    from wenmai import Translator

    words = [f"w{n}" for n in range(WORDS)]
    texts = [" ".join(words[at : at + READ]) for at in range(0, WORDS, READ)]
    model = Translator(
        "transformer",
        width=WIDTH,
        heads=HEADS,
        layers=LAYERS,
        feed_forward=WIDE,
        tokenizer="words",
        vocabulary=WORDS,
        joint=True,
        steps=1,
        validation=0.0,
        device="cpu",
    )
    model.fit(texts, texts[::-1]).save(folder)


def wenmai_writes(way: str, count: int, options, variant: list[str]):
    import torch

    import wenmai

    with tempfile.TemporaryDirectory() as folder:
        learning = get_context("spawn").Process(target=wenmai_learns, args=(f"{folder}/run",))
        learning.start()
        learning.join()
        model = wenmai.load(f"{folder}/run", options.device)
    with torch.no_grad():  # a text of so many tokens, whatever the weights say
        model.model_.head.output.bias[model.inputs_.target.special.end] = -1e4
    model.inputs_.most = lambda lengths: 0 * lengths + WRITTEN
    given = [" ".join(f"w{n}" for n in row) for row in sources_of(count)]

    def write() -> None:
        assert (
            len(model.translate(given, beam=1 if way == "greedy" else BEAM, precision=variant[0]))
            == count
        )

    return timed(write, count, options.device), {}


def hugging_face_writes(way: str, count: int, options, variant: list[str]):
    import torch

    model = (
        bart(variant[1])
        .eval()
        .to(options.device, torch.bfloat16 if variant[0] == "bf16" else torch.float32)
    )
    given = torch.tensor(sources_of(count)).to(options.device)

    def write() -> None:
        with torch.inference_mode():
            model.generate(
                given,
                attention_mask=torch.ones_like(given),
                num_beams=1 if way == "greedy" else BEAM,
                do_sample=False,
                min_new_tokens=WRITTEN,
                max_new_tokens=WRITTEN,
            )

    return timed(write, count, options.device), {}


def words_of_bart() -> list[str]:
    return ["<s>", "<pad>", "</s>", "<unk>", *(f"w{n}" for n in range(WORDS - 4))]


def converts(folder: str) -> None:
    """For CTranslate2, by a process of its own: decoding is not to answer for the memory of that either."""
    import json
    from pathlib import Path

    import ctranslate2

    bart().save_pretrained(folder)
    (Path(folder) / "vocab.json").write_text(
        json.dumps({name: number for number, name in enumerate(words_of_bart())})
    )
    (Path(folder) / "merges.txt").write_text("#version: 0.2\n")
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    (Path(folder) / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BartTokenizer"} | special)
    )
    ctranslate2.converters.TransformersConverter(folder).convert(f"{folder}/converted")


def ctranslate2(way: str, count: int, options, variant: list[str]):
    import ctranslate2

    folder, names = tempfile.TemporaryDirectory(), words_of_bart()
    converting = get_context("spawn").Process(target=converts, args=(folder.name,))
    converting.start()
    converting.join()
    beside = "two at once" in variant
    translator = ctranslate2.Translator(
        f"{folder.name}/converted",
        device="cpu" if options.device == "cpu" else "cuda",
        compute_type=variant[0],
        inter_threads=2 if beside else 1,
        intra_threads=1 if beside else options.threads,
    )
    halves = {"max_batch_size": count // 2} if beside else {}
    given = [[names[number] for number in row] for row in sources_of(count)]

    def write() -> None:
        found = translator.translate_batch(
            given,
            beam_size=1 if way == "greedy" else BEAM,
            max_decoding_length=WRITTEN,
            min_decoding_length=WRITTEN,
            **halves,
        )
        assert len(found[0].hypotheses[0]) >= WRITTEN - 1

    return timed(write, count, options.device), {"kept": folder.name}


TRAINS = {"wenmai": wenmai_trains, "torch loop": torch_loop, "hugging face": hugging_face_trains}
WRITES = {"wenmai": wenmai_writes, "hugging face": hugging_face_writes, "ctranslate2": ctranslate2}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--what", choices=tuple(CONTESTANTS), action="append", help="only this; may be repeated"
    )
    parser.add_argument("--steps", type=int, default=15, help="updates of training in a turn")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="beside a program that takes a core, with the least priority",
    )
    options = parser.parse_args()
    if options.contestant:
        what, family, *variant = options.contestant.split(", ")
        options.threads = 1 if "one thread" in variant else options.threads
        if family != "ctranslate2":
            import torch

            torch.set_num_threads(options.threads)
        if what == "train":
            return turns.serve(partial(TRAINS[family], options, variant))
        way, count = what.split()
        return turns.serve(partial(WRITES[family], way, int(count), options, variant))
    results_of = {}
    for what in options.what or CONTESTANTS:
        names = list(CONTESTANTS[what])
        if find_spec("ctranslate2") is None and any(
            name.startswith("ctranslate2") for name in names
        ):
            print("ctranslate2 is left out: it is not installed.", file=sys.stderr)
            names = [name for name in names if not name.startswith("ctranslate2")]
        more = [
            "--steps",
            str(options.steps),
            "--device",
            options.device,
            "--threads",
            str(options.threads),
        ]
        with turns.company(options.busy):
            results, _ = turns.race(
                __file__,
                [f"{what}, {name}" for name in names],
                more,
                options.turns,
                options.threads,
            )
        results = {name.removeprefix(f"{what}, "): rows for name, rows in results.items()}
        mine = (
            [turns.fastest(results, "wenmai", "rate", "more")] if what == "train" else DECODING[:2]
        )
        for one in mine:  # of several, each beside all
            print(f"\n{what}: {one}\n\n{turns.table(results, MEASURES, one)}")
            results_of[f"{what}: {one}"] = turns.record(results, MEASURES, one)
    turns.finish(results_of, options.json)


if __name__ == "__main__":
    main()
