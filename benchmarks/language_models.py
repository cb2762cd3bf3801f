"""Language models that write: training and generating, against plain torch loops, litgpt, Hugging Face and CTranslate2.

lstm        two layers of 650, 20 columns of 35 tokens, 10,000 words, dropout, AdamW, gradients clipped: Zaremba's medium size
gpt         6 blocks of 384, 16 windows of 256 tokens, 10,000 words; with --large GPT-2's 12 blocks of 768, 32 of 1024, 50,257
generate    that gpt goes on for 128 tokens after 16, always with the most probable: one text, and 32 side by side

What is read means nothing (words at random) and costs what a text does. What counts is tokens a second. Every contestant is a
process of its own; float32 and bf16, of which the faster counts. On a GPU (--device cuda) Wenmai generates with weights of 16
bits, and so does Hugging Face, with a cache of fixed size that it compiles for, too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context

import turns
from turns import Measure

MEASURES = {"rate": Measure("tokens a second", "more")}
PROMPT, TOKENS, MANY = 16, 128, 32
WARM = 3  # steps before the clock
CONTESTANTS = {
    "lstm": ("wenmai, bf16", "wenmai, float32", "torch loop, bf16", "torch loop, float32"),
    "gpt": (
        "wenmai, bf16",
        "wenmai, float32",
        "wenmai, compiled",
        "torch loop, bf16",
        "torch loop, float32",
        "torch loop, compiled",
        "litgpt, bf16",
        "litgpt, float32",
        "trainer, bf16, sdpa",
        "trainer, bf16, eager",
        "trainer, float32, sdpa",
        "trainer, float32, eager",
    ),
    "generate 1": (
        "wenmai",
        "hugging face, float32, sdpa",
        "hugging face, float32, eager",
        "hugging face, bf16, sdpa",
        "hugging face, bf16, eager",
        "ctranslate2, float32",
        "ctranslate2, float32, sleeping early",
        "ctranslate2, int8",
        "ctranslate2, int8, sleeping early",
        "wenmai, one thread",
        "ctranslate2, float32, one thread",
        "ctranslate2, int8, one thread",
    ),
}
ON_GPU = (
    "wenmai",
    *(
        f"hugging face, {precision}, {attention}{cache}"
        for precision in ("bf16", "float32")
        for attention in ("sdpa", "eager")
        for cache in ("", ", static")
    ),
)
CONTESTANTS["generate 32"] = (
    *CONTESTANTS["generate 1"],
    "ctranslate2, float32, two at once",
    "ctranslate2, int8, two at once",
)


class Shape:
    def __init__(self, what: str, large: bool):
        self.layers, self.width, self.heads, self.context, self.rows, self.vocabulary = (
            (12, 768, 12, 1024, 32, 50_257) if large else (6, 384, 6, 256, 16, 10_000)
        )
        if what == "lstm":
            self.layers, self.width, self.context, self.rows = 2, 650, 35, 20

    def numbers(self):
        """(rows, context + 1) tokens"""
        import torch

        return torch.randint(3, self.vocabulary, (self.rows, self.context + 1))


def words(count: int) -> list[str]:
    return [f"w{n}" for n in range(count)]


def ready(device: str) -> None:
    if device != "cpu":
        import torch

        torch.cuda.synchronize()


def rate(step, tokens: int, steps: int, device: str) -> dict[str, float]:
    for _ in range(WARM):
        step()
    ready(device)
    began = time.perf_counter()
    for _ in range(steps):
        step()
    ready(device)
    return {"rate": tokens * steps / (time.perf_counter() - began)}


# Training


def wenmai_trains(what: str, shape: Shape, options, variant: list[str]):
    import numpy as np

    from wenmai import LanguageModel

    rung = {
        "width": shape.width,
        "heads": shape.heads,
        "layers": shape.layers,
        "dropout": 0.0 if options.large else 0.1,
    }
    if what == "lstm":  # what the plain loop does, and no more
        rung = {
            "hidden": shape.width,
            "layers": shape.layers,
            "dropout": 0.4,
            "hidden_dropout": 0.4,
        }
        rung |= {
            "word_dropout": 0.0,
            "weight_dropout": 0.0,
            "activation_penalty": 0.0,
            "temporal_penalty": 0.0,
        }
    steps = 2 * options.steps  # the first half unmeasured
    count = 2 * steps * shape.rows * shape.context
    draw = np.random.default_rng(0).integers(0, shape.vocabulary - 3, count)
    text = [" ".join(words(shape.vocabulary - 3)), " ".join(f"w{n}" for n in draw)]

    def turn() -> dict[str, float]:
        model = LanguageModel(
            what,
            **rung,
            context=shape.context,
            batch_tokens=shape.rows * shape.context,
            steps=steps,
            evaluations=2,
            tokenizer="spaces",
            validation=0.0,
            device=options.device,
            precision="bf16" if variant[0] == "compiled" else variant[0],
            compile=variant[0] == "compiled",
        )
        for progress in model.training(text):
            if progress.step == options.steps:
                ready(options.device)
                began = time.perf_counter()
        ready(options.device)
        return {"rate": shape.rows * shape.context * options.steps / (time.perf_counter() - began)}

    return turn, {}


def loop(network, shape: Shape, options, bf16: bool, compiled: bool = False):
    """A plain loop; network(tokens, state) → (scores, state)"""
    import torch
    from torch import nn

    network = network.to(options.device).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    tokens, state = shape.numbers().to(options.device), [None]
    kind = "cpu" if options.device == "cpu" else "cuda"

    def judged(tokens, state):
        scores, state = network(tokens[:, :-1], state)
        return nn.functional.cross_entropy(
            scores.flatten(0, 1).float(), tokens[:, 1:].flatten()
        ), state

    judged = torch.compile(judged) if compiled else judged

    def step() -> None:
        with torch.autocast(kind, torch.bfloat16, enabled=bf16):
            loss, after = judged(tokens, state[0])
        state[0] = (
            None if after is None else [tuple(part.detach() for part in layer) for layer in after]
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.25)
        optimizer.step()

    return partial(rate, step, shape.rows * shape.context, options.steps, options.device)


def torch_loop(what: str, shape: Shape, options, variant: list[str]):
    import torch
    from torch import nn

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.dropout = nn.Embedding(shape.vocabulary, shape.width), nn.Dropout(0.4)
            self.body = nn.ModuleList(
                nn.LSTM(shape.width, shape.width, batch_first=True) for _ in range(shape.layers)
            )
            self.output = nn.Linear(shape.width, shape.vocabulary)
            self.output.weight = self.words.weight

        def forward(self, tokens, state):
            x, after = self.words(tokens), []
            for layer, before in zip(self.body, state or [None] * len(self.body)):
                x, last = layer(self.dropped(x), before)
                after.append(last)
            return self.output(self.dropped(x)), after

        def dropped(self, x):
            """The same at every step of a row, as Wenmai does it, which draws fewer random numbers."""
            return x * self.dropout(x.new_ones(len(x), 1, x.shape[2]))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = (
                nn.Embedding(shape.vocabulary, shape.width),
                nn.Embedding(shape.context, shape.width),
            )
            self.blocks = nn.ModuleList(Block() for _ in range(shape.layers))
            self.norm = nn.LayerNorm(shape.width)
            self.output = nn.Linear(shape.width, shape.vocabulary, bias=False)
            self.output.weight = self.words.weight

        def forward(self, tokens, state):
            x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.output(self.norm(x)), None

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            width = shape.width
            self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )
            self.dropout = nn.Dropout(0.0 if options.large else 0.1)

        def forward(self, x):
            rows, steps, width = x.shape
            parts = (
                part.view(rows, steps, shape.heads, -1).transpose(1, 2)
                for part in self.attention(self.one(x)).chunk(3, -1)
            )
            y = (
                nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
                .transpose(1, 2)
                .reshape(rows, steps, width)
            )
            x = x + self.dropout(self.join(y))
            return x + self.dropout(self.mlp(self.two(x)))

    torch.manual_seed(0)
    bf16, compiled = variant[0] != "float32", variant[0] == "compiled"
    return loop({"lstm": Lstm, "gpt": Gpt}[what](), shape, options, bf16, compiled), {}


def litgpt(what: str, shape: Shape, options, variant: list[str]):
    from litgpt.config import Config
    from litgpt.model import GPT
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = GPT(
                Config(
                    n_layer=shape.layers,
                    n_head=shape.heads,
                    n_embd=shape.width,
                    vocab_size=shape.vocabulary,
                    block_size=shape.context,
                    parallel_residual=False,
                )
            )

        def forward(self, tokens, state):
            return self.inner(tokens), None

    return loop(Model(), shape, options, variant[0] == "bf16"), {}


def gpt2(shape: Shape, attention: str | None = None):
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=shape.vocabulary,
            n_positions=shape.context,
            n_embd=shape.width,
            n_layer=shape.layers,
            n_head=shape.heads,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=0,
            attn_pdrop=0.0,
            attn_implementation=attention,
        )
    )


def trainer(what: str, shape: Shape, options, variant: list[str]):
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    folder = tempfile.TemporaryDirectory()  # never written to; the Trainer wants one
    rows = [
        {"input_ids": row, "labels": row}
        for row in shape.numbers()[:, :-1].repeat(WARM + options.steps, 1)
    ]

    def turn() -> dict[str, float]:
        class Watch(TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                if state.global_step == WARM:
                    ready(options.device)
                    self.began = time.perf_counter()
                self.now = time.perf_counter()

        about = TrainingArguments(
            folder.name,
            per_device_train_batch_size=shape.rows,
            max_steps=WARM + options.steps,
            use_cpu=options.device == "cpu",
            bf16=variant[0] == "bf16",
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            eval_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
            learning_rate=1e-3,
            seed=0,
        )
        watch = Watch()
        run = Trainer(gpt2(shape, variant[1]), about, train_dataset=rows, callbacks=[watch])
        run.remove_callback(PrinterCallback)
        run.train()
        ready(options.device)
        return {"rate": shape.rows * shape.context * options.steps / (watch.now - watch.began)}

    return turn, {}


# Generating


def timed(write, rows: int, device: str):
    def turn() -> dict[str, float]:
        ready(device)
        began = time.perf_counter()
        write()
        ready(device)
        return {"rate": rows * TOKENS / (time.perf_counter() - began)}

    turn()  # once, unmeasured
    return turn


def wenmai_writes(what: str, shape: Shape, options, variant: list[str]):
    from wenmai import LanguageModel

    count = int(what.split()[1])
    model = LanguageModel(
        "gpt",
        width=shape.width,
        heads=shape.heads,
        layers=shape.layers,
        context=shape.context,
        steps=1,
        tokenizer="spaces",
        batch_tokens=shape.context,
        validation=0.0,
        device=options.device,
    )
    model.fit([" ".join(words(shape.vocabulary - 3))])
    assert model.inputs_.vocabulary == shape.vocabulary
    prompt = " ".join(words(PROMPT - 1))  # the end of the line before it is the first token

    def write() -> None:
        texts = model.generate(
            prompt if count == 1 else [prompt] * count, tokens=TOKENS, temperature=0
        )
        assert texts

    return timed(write, count, options.device), {}


def hugging_face(what: str, shape: Shape, options, variant: list[str]):
    import torch

    count = int(what.split()[1])
    model = (
        gpt2(shape, variant[1])
        .eval()
        .to(options.device, torch.bfloat16 if variant[0] == "bf16" else torch.float32)
    )
    more = {"cache_implementation": "static"} if "static" in variant else {}
    prompt = torch.arange(1, PROMPT + 1, device=options.device).repeat(count, 1)

    def write() -> None:
        with torch.inference_mode():
            found = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                max_new_tokens=TOKENS,
                **more,
            )
        assert found.shape == (count, PROMPT + TOKENS)

    return timed(write, count, options.device), {}


def converts(folder: str, shape: Shape) -> None:
    """In a process of its own: torch would slow CTranslate2 down in its."""
    import json
    from pathlib import Path

    from ctranslate2.converters import TransformersConverter

    gpt2(shape).save_pretrained(folder)
    vocabulary = {name: number for number, name in enumerate(words(shape.vocabulary))}
    (Path(folder) / "vocab.json").write_text(json.dumps(vocabulary))
    (Path(folder) / "merges.txt").write_text("#version: 0.2\n")
    special = {"bos_token": "w1", "eos_token": "w2", "unk_token": "w0"}
    (Path(folder) / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "GPT2Tokenizer"} | special)
    )
    TransformersConverter(folder).convert(f"{folder}/converted")


def ctranslate2(what: str, shape: Shape, options, variant: list[str]):
    import ctranslate2

    count, names = int(what.split()[1]), words(shape.vocabulary)
    folder = tempfile.TemporaryDirectory()
    converting = get_context("spawn").Process(target=converts, args=(folder.name, shape))
    converting.start()
    converting.join()
    beside = "two at once" in variant  # each half of the texts, with one thread
    generator = ctranslate2.Generator(
        f"{folder.name}/converted",
        device="cpu" if options.device == "cpu" else "cuda",
        compute_type=variant[0],
        inter_threads=2 if beside else 1,
        intra_threads=1 if beside else options.threads,
    )
    halves = {"max_batch_size": count // 2} if beside else {}
    prompt = [names[1 : PROMPT + 1]] * count

    def write() -> None:
        found = generator.generate_batch(
            prompt,
            max_length=TOKENS,
            min_length=TOKENS,
            sampling_topk=1,
            include_prompt_in_result=False,
            **halves,
        )
        assert len(found) == count and len(found[0].sequences_ids[0]) == TOKENS

    return timed(write, count, options.device), {"kept": folder.name}


FAMILIES = {
    "torch loop": torch_loop,
    "litgpt": litgpt,
    "trainer": trainer,
    "hugging face": hugging_face,
    "ctranslate2": ctranslate2,
}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--what", choices=tuple(CONTESTANTS), action="append", help="only this; may be repeated"
    )
    parser.add_argument("--only", help="contestants whose names hold this text")
    parser.add_argument("--steps", type=int, default=10, help="updates of training in a turn")
    parser.add_argument("--large", action="store_true", help="GPT-2's shape of 124 million weights")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    if options.contestant:
        what, family, *variant = options.contestant.split(", ")
        options.threads = 1 if "one thread" in variant else options.threads
        if family != "ctranslate2":
            import torch

            torch.set_num_threads(options.threads)
        shape = Shape(what, options.large)
        make = FAMILIES.get(family) or (
            wenmai_writes if what.startswith("generate") else wenmai_trains
        )
        return turns.serve(lambda: make(what, shape, options, variant))
    found = {}
    for what in options.what or CONTESTANTS:
        known = (
            ON_GPU if what.startswith("generate") and options.device != "cpu" else CONTESTANTS[what]
        )
        names = [name for name in known if not options.only or options.only in name]
        for module in ("litgpt", "ctranslate2"):
            if find_spec(module) is None and any(name.startswith(module) for name in names):
                print(f"{module} is left out: it is not installed.", file=sys.stderr)
                names = [name for name in names if not name.startswith(module)]
        more = [
            "--steps",
            str(options.steps),
            "--device",
            options.device,
            "--threads",
            str(options.threads),
        ]
        more += ["--large"] if options.large else []
        at_once = (
            1 if options.device == "cpu" else len(names)
        )  # compiling takes processors, not the GPU
        results, _ = turns.race(
            __file__,
            [f"{what}, {name}" for name in names],
            more,
            options.turns,
            options.threads,
            at_once=at_once,
        )
        results = {name.removeprefix(f"{what}, "): rows for name, rows in results.items()}
        best = turns.fastest(results, "wenmai", "rate", "more")
        print(f"\n{what}\n\n{turns.table(results, MEASURES, best)}")
        found[what] = turns.record(results, MEASURES, best)
    turns.finish(found, options.json)


if __name__ == "__main__":
    main()
