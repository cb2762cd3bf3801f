"""Tiny checkpoints of `transformers`, with random weights that are large enough to tell apart what is the same and what is nearly
so."""

import pytest
import torch

transformers = pytest.importorskip("transformers")

FAMILIES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "electra": "Electra"}
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "sat",
    "##s",
    "你",
    "好",
    ",",
    "a",
    "mat",
    "on",
    "cafe",
]
TEXTS = ["the cat sat", "你好, a cats mat on", "a", "Café \x01 🙂 the"]
PAIRS = [("the cat", "a mat"), ("你好", "the cat sat on a mat")]


def tokenizer(kind: str, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    if kind != "roberta":
        (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
        return transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    engine = Tokenizer(models.BPE())
    engine.pre_tokenizer, engine.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    special, letters = (
        ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        pre_tokenizers.ByteLevel.alphabet(),
    )
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=letters, show_progress=False
    )
    engine.train_from_iterator(TEXTS * 9, trainer)
    engine.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    names = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "cls_token": "<s>",
        "sep_token": "</s>",
    }
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=engine, **names, unk_token="<unk>", mask_token="<mask>"
    )


def checkpoint(folder, kind: str, head: str = "ForSequenceClassification", **more):
    folder.mkdir()
    known = tokenizer(kind, folder)
    sizes = {
        "vocab_size": len(known),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_labels": 3,
        "intermediate_size": 24,
        "max_position_embeddings": 20,
    }
    if kind == "distilbert":
        sizes = {
            "vocab_size": len(known),
            "dim": 16,
            "n_layers": 2,
            "n_heads": 2,
            "hidden_dim": 24,
            "num_labels": 3,
            "max_position_embeddings": 20,
        }
    sizes |= {
        "electra": {"embedding_size": 8},
        "roberta": {"type_vocab_size": 1, "pad_token_id": 1},
    }.get(kind, {})
    torch.manual_seed(0)
    config = getattr(transformers, f"{FAMILIES[kind]}Config")(**sizes | more)
    model = getattr(transformers, FAMILIES[kind] + head)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    model.save_pretrained(folder)
    known.save_pretrained(folder)
    return model, known
