"""Training a Transformer that classifies sentences: Wenmai against a plain torch loop and the Hugging Face Trainer.

The same sentences of SST-2 in the same numbers (a vocabulary of some 14,000 words), the same shape (4 blocks of width 256
or 6 of 384, feed-forward four times the width, dropout 0.1), gradients clipped at 1, AdamW. What counts is how many real
tokens, padding not among them, a second of training gets through. An update has as many tokens for all: --sentences of the mean
length. The peers read so many sentences of like length (the Trainer's group_by_length, and the same order in the loop), padded
to the longest of them, and beside that at random; Wenmai what fits into as many tokens. A turn is a new training; its first steps
are not timed.

Everyone runs in float32 and in bf16 (autocast), Wenmai also with the plain AdamW, the Trainer also with eager attention; then the
fastest of each is compared.
Wenmai drops nothing from the attention weights, so by default the peers do not either (it would slow them further down).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator

import corpora
import turns
from turns import Measure

SHAPES = {"4x256": (4, 256, 4), "6x384": (6, 384, 6)}  # layers, width, heads
MEASURES = {
    "tokens": Measure("real tokens a second", "more"),
    "update": Measure("real tokens an update"),
}
WARM_UP = 4  # steps
LOOKS = 32  # updates from one look to the next, as in a training on these sentences
POOL = 50  # batches whose sentences are sorted by length, as the Trainer does it
CONTESTANTS = (
    "wenmai, bf16, lazy-adamw",
    "wenmai, bf16, adamw",
    "wenmai, float32, lazy-adamw",
    "wenmai, float32, adamw",
    "torch loop, bf16, grouped",
    "torch loop, bf16, random",
    "torch loop, float32, grouped",
    "trainer, bf16, sdpa, grouped",
    "trainer, bf16, eager, grouped",
    "trainer, bf16, eager, random",
    "trainer, float32, sdpa, grouped",
    "trainer, float32, eager, grouped",
)


class Clock:
    """Counts the real tokens of the steps after the warm-up, and their seconds."""

    def __init__(self, wanted: int):
        self.wanted, self.steps, self.tokens, self.pending = wanted, 0, 0, 0

    def see(self, tokens: int) -> None:
        self.pending += tokens

    def tick(self) -> bool:
        """A step is done. Whether enough of them are."""
        self.steps += 1
        if self.steps <= WARM_UP:
            self.began = time.perf_counter()
        else:
            self.tokens += self.pending
        self.pending, self.now = 0, time.perf_counter()
        return self.tokens >= self.wanted

    def rate(self) -> dict[str, float]:
        return {
            "tokens": self.tokens / (self.now - self.began),
            "update": self.tokens / (self.steps - WARM_UP),
        }

    def follow(self, training, model) -> dict[str, float]:
        """A training of Wenmai: an update is done where the next one begins to read."""

        def before(layer, given) -> None:
            if layer.training:
                if self.pending and self.tick():
                    raise Enough
                self.see(int(given[0].mask.sum()))

        try:
            for progress in training:
                if progress.step == 0:
                    model.model_.input.register_forward_pre_hook(before)
        except Enough:
            pass
        return self.rate()


class Enough(Exception):
    pass


def wenmai(corpus, shape, wanted, options):
    from wenmai import Classifier

    (layers, width, heads), (precision, optimizer) = shape, options.variant
    enough = 10 * wanted // 512  # more steps than a turn can need
    tokens = batch_tokens([len(text.split()) for text in corpus.train[0]], options.sentences)

    def turn() -> dict[str, float]:
        model = Classifier(
            "transformer",
            layers=layers,
            width=width,
            heads=heads,
            feed_forward=4 * width,
            dropout=0.1,
            precision=precision,
            optimizer=optimizer,
            validation=0.0,
            steps=enough,
            evaluations=max(1, enough // LOOKS),
            batch_tokens=tokens,
            device="cpu",
        )
        return Clock(wanted).follow(model.training(*corpus.train), model)

    return turn, {}


def batch_tokens(lengths, sentences: int) -> int:
    """With which an update has as many real tokens as so many sentences have on average: padding counts, too."""
    import numpy as np

    from wenmai.data.examples.batches import shuffled

    lengths = np.asarray(lengths)
    wanted = round(sentences * lengths.mean())
    sizes = (
        size
        for size in range(wanted, 2 * wanted)
        if lengths.sum() / len(shuffled(lengths, size, np.random.default_rng(0))) >= wanted
    )
    return next(sizes, 2 * wanted)


def encoded(corpus) -> tuple[list, list[int], int]:
    """Wenmai's own numbers for the words, so that all read the same tokens and need tables of the same size."""
    import torch

    from wenmai.data.text import tokenizers

    tokenizer = tokenizers.learn(corpus.train[0])
    rows = tokenizer.encode(corpus.train[0])
    texts = [torch.from_numpy(row.astype("int64")) for row in split_rows(rows)]
    return texts, [int(label) for label in corpus.train[1]], len(tokenizer.tokens)


def split_rows(rows) -> list:
    return [rows.flat[start:end] for start, end in zip(rows.offsets[:-1], rows.offsets[1:])]


def padded(texts: list):
    """(B, T) tokens, 0 where there is none, and the mask of the real ones."""
    from torch.nn.utils.rnn import pad_sequence

    tokens = pad_sequence(texts, batch_first=True)  # (B, T)
    return tokens, tokens != 0


def torch_loop(corpus, shape, wanted, options):
    import torch
    from torch import nn

    (layers, width, heads), (precision, grouping) = shape, options.variant
    texts, labels, vocabulary = encoded(corpus)
    labels = torch.tensor(labels)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = (
                nn.Embedding(vocabulary, width, padding_idx=0),
                nn.Embedding(512, width),
            )
            layer = nn.TransformerEncoderLayer(
                width, heads, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True
            )
            self.blocks = nn.TransformerEncoder(
                layer, layers, nn.LayerNorm(width), enable_nested_tensor=False
            )
            self.dropout, self.output = nn.Dropout(0.1), nn.Linear(width, 2)
            for block in self.blocks.layers:
                block.self_attn.dropout = options.attention_dropout

        def forward(self, tokens, mask):
            x = self.dropout(
                self.words(tokens) + self.places.weight[: tokens.shape[1]]
            )  # (B, T, E)
            y = self.blocks(x, src_key_padding_mask=~mask)
            return self.output(
                (y * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
            )  # (B, C)

    def batches() -> Iterator[torch.Tensor]:
        lengths = torch.tensor([len(text) for text in texts])
        while True:
            order = torch.randperm(len(texts))
            if grouping == "grouped":
                pools = order.split(POOL * options.sentences)
                order = torch.cat([pool[lengths[pool].argsort(descending=True)] for pool in pools])
            parts = order.split(options.sentences)
            yield from (parts[number] for number in torch.randperm(len(parts)))

    def turn() -> dict[str, float]:
        torch.manual_seed(0)
        network = Encoder().train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
        clock = Clock(wanted)
        for rows in batches():
            tokens, mask = padded([texts[row] for row in rows])
            clock.see(int(mask.sum()))
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                loss = nn.functional.cross_entropy(network(tokens, mask).float(), labels[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if clock.tick():
                return clock.rate()

    return turn, {}


def trainer(corpus, shape, wanted, options):
    import tempfile

    import torch
    import transformers
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        PrinterCallback,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    transformers.logging.set_verbosity_error()
    (layers, width, heads), (precision, attention, grouping) = shape, options.variant
    texts, labels, vocabulary = encoded(corpus)
    rows = [{"input_ids": text, "label": label} for text, label in zip(texts, labels)]
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=options.attention_dropout,
        attn_implementation=attention,
    )
    renamed = "group_by_length" not in inspect.signature(TrainingArguments).parameters
    grouped = (
        {"train_sampling_strategy": "group_by_length"} if renamed else {"group_by_length": True}
    )
    folder = tempfile.TemporaryDirectory()  # never written to; the Trainer wants one

    def turn() -> dict[str, float]:
        clock = Clock(wanted)

        def collate(picked: list[dict]) -> dict:
            tokens, mask = padded([row["input_ids"] for row in picked])
            sizes.append(int(mask.sum()))
            return {
                "input_ids": tokens,
                "attention_mask": mask.long(),
                "labels": torch.tensor([row["label"] for row in picked]),
            }

        class Watch(TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                clock.see(sizes[state.global_step - 1])  # the loader is one batch ahead
                control.should_training_stop = clock.tick()

        sizes: list[int] = []
        about = TrainingArguments(
            folder.name,
            per_device_train_batch_size=options.sentences,
            max_steps=100_000,
            use_cpu=True,
            bf16=precision == "bf16",
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            eval_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
            learning_rate=1e-3,
            seed=0,
            **(grouped if grouping == "grouped" else {}),
        )
        model = BertForSequenceClassification(config)
        run = Trainer(model, about, train_dataset=rows, data_collator=collate, callbacks=[Watch()])
        run.remove_callback(PrinterCallback)
        run.train()
        return clock.rate()

    return turn, {
        "transformers": transformers.__version__,
        "attention": str(config._attn_implementation),
    }


FAMILIES = {"wenmai": wenmai, "torch loop": torch_loop, "trainer": trainer}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument(
        "--shape", choices=tuple(SHAPES), action="append", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--tokens",
        type=int,
        default=32_000,
        help="real tokens to train on in a turn, some 50 batches of 32",
    )
    parser.add_argument(
        "--sentences", type=int, default=32, help="of an update, and as many tokens for Wenmai"
    )
    parser.add_argument("--attention-dropout", type=float, default=0.0, help="of the peers")
    parser.add_argument("--only", help="contestants whose names hold this text")
    options = parser.parse_args()
    corpus = corpora.sst2(options.data)
    if corpus is None:
        return
    if options.contestant:
        import torch

        torch.set_num_threads(options.threads)
        family, *options.variant = options.contestant.split(", ")
        shape = SHAPES[options.shape[0]]
        return turns.serve(lambda: FAMILIES[family](corpus, shape, options.tokens, options))
    found = {}
    names = [name for name in CONTESTANTS if not options.only or options.only in name]
    for shape in options.shape or SHAPES:
        given = [
            "--shape",
            shape,
            "--tokens",
            str(options.tokens),
            "--attention-dropout",
            str(options.attention_dropout),
            "--sentences",
            str(options.sentences),
            "--threads",
            str(options.threads),
            *(["--data", str(options.data)] if options.data else []),
        ]
        results, about = turns.race(__file__, names, given, options.turns, options.threads)
        print(
            f"\n{shape}: training on the {len(corpus.train[0]):,} sentences of sst2; {options.threads} threads, "
            f"{options.turns} turns of {options.tokens:,} tokens\n"
        )
        families = [family for family in FAMILIES if any(name.startswith(family) for name in names)]
        best = {family: turns.fastest(results, family, "tokens", "more") for family in families}
        first = best.get("wenmai") or names[0]
        print(turns.table(results, MEASURES, first))
        found[shape] = turns.record(results, MEASURES, first) | {"about": about, "best": best}
        for family in families[1:] if "wenmai" in best else []:
            times = turns.ratio(results, first, best[family], "tokens", "more").text()
            print(
                f"\nThe best of wenmai ({first}) against the best of the {family} ({best[family]}): {times} times as fast."
            )
    turns.finish(found, options.json)


if __name__ == "__main__":
    main()
