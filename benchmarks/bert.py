"""BERT on a CPU, 6 × 384 as MiniLM: fine-tuning against the Hugging Face Trainer, classifying against what is made to be fast.

    python benchmarks/bert.py train       the sentences of SST-2, 32 an update; the Trainer length-grouped, eager and sdpa, bf16
                                          and float32. What counts is how many real tokens a second of training gets through
    python benchmarks/bert.py classify    texts of 24 tokens, one and 32 at a time, against ONNX Runtime, OpenVINO and CTranslate2
                                          in float32, and int8 beside; from token numbers to logits, and the peak of memory

All have the same weights, drawn at random: they say nothing of quality. Everyone runs in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import corpora
import turns
from transformer import LOOKS, Clock, batch_tokens, padded, split_rows
from turns import Measure

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
LAYERS, WIDTH, HEADS = 6, 384, 12
LENGTH = 24  # tokens of a text that is classified
TRAINED = {
    "tokens": Measure("real tokens a second", "more"),
    "update": Measure("real tokens an update"),
}
CLASSIFIED = {
    "one": Measure("milliseconds, one text", "less"),
    "many": Measure("milliseconds, 32 texts", "less"),
    "memory": Measure("peak memory, MB", "less"),
}
TRAINERS = (
    "wenmai, bf16",
    "wenmai, float32",
    "trainer, bf16, sdpa",
    "trainer, bf16, eager",
    "trainer, float32, sdpa",
    "trainer, float32, eager",
)
ENGINES = (
    "wenmai, float32",
    "onnxruntime, float32",
    "openvino, float32",
    "ctranslate2, float32",
    "onnxruntime, int8",
    "ctranslate2, int8",
)


def make_checkpoint(folder: Path, texts: list[str]) -> None:
    """As transformers writes it: random weights, and a vocabulary of the words there are."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({word for text in texts for word in text.lower().split()})
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n", encoding="utf-8"
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words) + 5,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        attention_probs_dropout_prob=0.0,
        id2label={0: "0", 1: "1"},
        position_embedding_type="absolute",
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)


# Fine-tuning


def train_wenmai(corpus, folder, variant, options):
    import wenmai

    start = wenmai.checkpoint(folder)
    tokens = batch_tokens(start.inputs.encode(corpus.train[0]).lengths, options.sentences)

    def turn() -> dict[str, float]:
        enough = 10 * options.tokens // 512
        model = wenmai.Classifier(
            "bert",
            precision=variant[0],
            optimizer="adamw",
            validation=0.0,
            steps=enough,
            evaluations=max(1, enough // LOOKS),
            batch_tokens=tokens,
            device="cpu",
        )
        return Clock(options.tokens).follow(model.training(*corpus.train, start=start), model)

    return turn, {}


def train_trainer(corpus, folder, variant, options):
    import inspect

    import torch
    import transformers
    from transformers import (
        BertForSequenceClassification,
        PrinterCallback,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    import wenmai

    transformers.logging.set_verbosity_error()
    precision, attention = variant
    encoded = wenmai.checkpoint(folder).inputs.encode(corpus.train[0])
    texts = [torch.from_numpy(row.astype("int64")) for row in split_rows(encoded)]
    rows = [{"input_ids": text, "label": int(label)} for text, label in zip(texts, corpus.train[1])]
    renamed = "group_by_length" not in inspect.signature(TrainingArguments).parameters
    grouped = (
        {"train_sampling_strategy": "group_by_length"} if renamed else {"group_by_length": True}
    )
    place = tempfile.TemporaryDirectory()  # never written to; the Trainer wants one

    def turn() -> dict[str, float]:
        clock, sizes = Clock(options.tokens), []

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

        about = TrainingArguments(
            place.name,
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
            learning_rate=5e-5,
            seed=0,
            **grouped,
        )
        model = BertForSequenceClassification.from_pretrained(folder, attn_implementation=attention)
        run = Trainer(model, about, train_dataset=rows, data_collator=collate, callbacks=[Watch()])
        run.remove_callback(PrinterCallback)
        run.train()
        return clock.rate()

    return turn, {"transformers": transformers.__version__}


# Classifying: each gives a function from token numbers (B, T) to logits


def classify_wenmai(folder, variant, threads):
    import torch

    from wenmai.data.examples.batches import Batch
    from wenmai.exchange import hugging_face

    model = hugging_face.imported(folder).model_

    def run(ids):
        with torch.inference_mode():
            ids = torch.from_numpy(ids)
            return model(Batch(ids, torch.ones_like(ids, dtype=torch.bool)))

    return run


def onnx_file(folder: Path) -> Path:
    """Written once, in a process of its own, so that no engine's memory holds torch."""
    import torch
    from transformers import BertForSequenceClassification

    model = BertForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask).logits

    ids = torch.ones(2, LENGTH, dtype=torch.long)
    axes = {0: "batch", 1: "steps"}
    torch.onnx.export(
        Logits(),
        (ids, ids),
        folder / "model.onnx",
        dynamo=False,
        input_names=["ids", "mask"],
        output_names=["logits"],
        dynamic_axes={"ids": axes, "mask": axes, "logits": {0: "batch"}},
    )
    return folder / "model.onnx"


def classify_onnxruntime(folder, variant, threads):
    import numpy as np
    import onnxruntime

    file = folder / "model.onnx"
    if variant == ["int8"]:
        from onnxruntime.quantization import quantize_dynamic

        file = folder / "model-int8.onnx"
        quantize_dynamic(folder / "model.onnx", file)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0]


def classify_openvino(folder, variant, threads):
    import numpy as np
    import openvino

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = openvino.Core().compile_model(folder / "model.onnx", "CPU", settings)
    return lambda ids: model({"ids": ids, "mask": np.ones_like(ids)})[0]


def classify_ctranslate2(folder, variant, threads):
    """Its encoder and pooler; the last layer, two columns wide, is left out."""
    import ctranslate2
    import numpy as np

    engine = ctranslate2.Encoder(
        str(folder / "ctranslate2"), "cpu", compute_type=variant[0], intra_threads=threads
    )
    return lambda ids: np.array(engine.forward_batch(ids.tolist()).pooler_output)


def peak_memory() -> float:
    """MB of this program. What getrusage says is no less than the peak of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def classify(family, folder, variant, options):
    import numpy as np

    run = {
        "wenmai": classify_wenmai,
        "onnxruntime": classify_onnxruntime,
        "openvino": classify_openvino,
        "ctranslate2": classify_ctranslate2,
    }[family](folder, variant, options.threads)
    generator = np.random.default_rng(0)
    texts = {
        name: generator.integers(5, 5000, (rows, LENGTH))
        for name, rows in (("one", 1), ("many", 32))
    }
    for ids in texts.values():
        run(ids)

    def turn() -> dict[str, float]:
        found = {}
        for name, ids in texts.items():
            calls = options.calls if name == "one" else max(1, options.calls // 10)
            run(ids)
            began = time.perf_counter()
            for _ in range(calls):
                run(ids)
            found[name] = 1000 * (time.perf_counter() - began) / calls
        return found | {"memory": peak_memory()}

    return turn, {}


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("what", choices=("train", "classify"))
    parser.add_argument(
        "--tokens",
        type=int,
        default=32_000,
        help="real tokens to train on in a turn, some 50 batches of 32",
    )
    parser.add_argument(
        "--sentences", type=int, default=32, help="of an update, and as many tokens for Wenmai"
    )
    parser.add_argument(
        "--calls", type=int, default=50, help="of one text in a turn; a tenth of them of 32"
    )
    parser.add_argument("--folder", type=Path, help="of a checkpoint that was made before")
    parser.add_argument("--only", help="contestants whose names hold this text")
    options = parser.parse_args()
    corpus = corpora.sst2(options.data)
    if corpus is None:
        return
    if options.contestant:
        family, *variant = options.contestant.split(", ")
        if family in ("wenmai", "trainer"):
            import torch

            torch.set_num_threads(options.threads)
        if options.what == "classify":
            return turns.serve(lambda: classify(family, options.folder, variant, options))
        ready = {"wenmai": train_wenmai, "trainer": train_trainer}[family]
        return turns.serve(lambda: ready(corpus, options.folder, variant, options))
    all_of, measures = (TRAINERS, TRAINED) if options.what == "train" else (ENGINES, CLASSIFIED)
    names = [name for name in all_of if not options.only or options.only in name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_checkpoint(folder, corpus.train[0])
        if options.what == "classify":
            from ctranslate2.converters import TransformersConverter

            onnx_file(folder)
            TransformersConverter(str(folder)).convert(str(folder / "ctranslate2"))
        given = [
            options.what,
            "--folder",
            place,
            "--tokens",
            str(options.tokens),
            "--sentences",
            str(options.sentences),
            "--calls",
            str(options.calls),
            "--threads",
            str(options.threads),
            *(["--data", str(options.data)] if options.data else []),
        ]
        results, about = turns.race(__file__, names, given, options.turns, options.threads)
    print(
        f"\n{options.what}: BERT of {LAYERS} layers, {WIDTH} wide; {options.threads} threads, {options.turns} turns\n"
    )
    key, better = ("tokens", "more") if options.what == "train" else ("one", "less")
    first = (
        turns.fastest(results, "wenmai", key, better)
        if any(name.startswith("wenmai") for name in names)
        else names[0]
    )
    print(turns.table(results, measures, first))
    turns.finish(turns.record(results, measures, first) | {"about": about}, options.json)


if __name__ == "__main__":
    main()
