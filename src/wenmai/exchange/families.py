"""Families of checkpoints: which of their weights is which of ours, and what their config.json says of the options of our rung.

GPT-2, DistilGPT-2                                       gpt
BERT (Chinese, whole words, MiniLM), RoBERTa, DistilBERT, ELECTRA's discriminator      bert
"""

from collections.abc import Callable
from dataclasses import dataclass

from wenmai.data.storage import saved as take

ACTIVATIONS = {"gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu": "gelu", "relu": "relu"}  # theirs → ours


@dataclass(frozen=True)
class Theirs:
    """Where a weight of ours lies: one or several of theirs, end to end; `turned`: what they call a Conv1D; `skip`: first rows
    that nothing looks up."""

    names: tuple[str, ...]
    turned: bool = False
    skip: int = 0


@dataclass(frozen=True)
class Family:
    rung: str
    architecture: str  # of the model with a head that can be imported
    prefix: str  # before all names but the head's, where there is a head
    options: Callable[[dict], dict]  # config → options of our builder
    names: Callable[[dict], dict[str, Theirs]]  # these options → of our input layer and body
    head: Callable[[dict], dict[str, Theirs]]  # of our head, where it is the architecture's
    unused: tuple[str, ...] = ()  # endings of names that may stand there and say nothing


def both(ours: str, *theirs: str, turned: bool = False) -> dict[str, Theirs]:
    """Weight and bias."""
    return {f"{ours}.weight": Theirs(tuple(f"{name}.weight" for name in theirs), turned),
            f"{ours}.bias": Theirs(tuple(f"{name}.bias" for name in theirs))}  # fmt: skip


def activation_of(config: dict, name: str, usual: str) -> str:
    return ACTIVATIONS[take.one_of({name: usual} | config, name, tuple(ACTIVATIONS))]


# GPT-2


def gpt2_options(config: dict) -> dict:
    if config.get("scale_attn_by_inverse_layer_idx") or not config.get("scale_attn_weights", True):
        raise take.Unfit("it scales attention in a way of its own, which gpt does not know")
    width = take.integer(config, "n_embd", 1)
    return {"width": width, "heads": take.integer(config, "n_head", 1), "layers": take.integer(config, "n_layer", 1),
            "feed_forward": config.get("n_inner") or 4 * width, "context": take.integer(config, "n_positions", 1),
            "activation": activation_of(config, "activation_function", "gelu_new"), "positions": "learned",
            "tie": config.get("tie_word_embeddings", True) is not False,
            "dropout": float(config.get("resid_pdrop", 0.1))}  # fmt: skip


def gpt2_names(options: dict) -> dict[str, Theirs]:
    names = {"input.table.weight": Theirs(("wte.weight",)), "body.position.table": Theirs(("wpe.weight",))}
    names |= both("body.norm", "ln_f")
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"h.{level}"
        names |= both(f"{ours}.attention_norm", f"{theirs}.ln_1") | both(f"{ours}.mlp_norm", f"{theirs}.ln_2")
        names |= both(f"{ours}.attention.query_key_value", f"{theirs}.attn.c_attn", turned=True)
        names |= both(f"{ours}.attention.output", f"{theirs}.attn.c_proj", turned=True)
        names |= both(f"{ours}.up", f"{theirs}.mlp.c_fc", turned=True) | both(f"{ours}.down", f"{theirs}.mlp.c_proj", turned=True)
    return names


def gpt2_head(options: dict) -> dict[str, Theirs]:
    return {} if options["tie"] else {"head.output.weight": Theirs(("lm_head.weight",))}


# BERT and its kin


def bert_options(config: dict) -> dict:
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise take.Unfit("its positions are of another kind than learned ones")
    width, embed = take.integer(config, "hidden_size", 1), config.get("embedding_size")
    return {"width": width, "heads": take.integer(config, "num_attention_heads", 1),
            "layers": take.integer(config, "num_hidden_layers", 1), "feed_forward": take.integer(config, "intermediate_size", 1),
            "embed": None if embed in (None, width) else embed, "activation": activation_of(config, "hidden_act", "gelu"),
            "segments": take.integer(config, "type_vocab_size", 1),
            "dense": "gelu" if config["model_type"] == "electra" else "tanh",
            "epsilon": float(config.get("layer_norm_eps", 1e-12)),
            "dropout": float(config.get("hidden_dropout_prob", 0.1))}  # fmt: skip


def bert_names(options: dict, skip: int = 0) -> dict[str, Theirs]:
    names = {"input.table.weight": Theirs(("embeddings.word_embeddings.weight",)),
             "input.position.table": Theirs(("embeddings.position_embeddings.weight",), skip=skip),
             "input.segment.weight": Theirs(("embeddings.token_type_embeddings.weight",))}  # fmt: skip
    names |= both("input.norm", "embeddings.LayerNorm")
    names |= both("input.project", "embeddings_project") if options["embed"] else {}
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"encoder.layer.{level}"
        query_key_value = (f"{theirs}.attention.self.{one}" for one in ("query", "key", "value"))
        names |= both(f"{ours}.attention.query_key_value", *query_key_value)
        names |= both(f"{ours}.attention.output", f"{theirs}.attention.output.dense")
        names |= both(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm")
        names |= both(f"{ours}.up", f"{theirs}.intermediate.dense") | both(f"{ours}.down", f"{theirs}.output.dense")
        names |= both(f"{ours}.mlp_norm", f"{theirs}.output.LayerNorm")
    return names


def distilbert_options(config: dict) -> dict:
    return {"width": take.integer(config, "dim", 1), "heads": take.integer(config, "n_heads", 1), "embed": None,
            "layers": take.integer(config, "n_layers", 1), "feed_forward": take.integer(config, "hidden_dim", 1),
            "activation": activation_of(config, "activation", "gelu"), "segments": 0, "dense": "relu",
            "dropout": float(config.get("dropout", 0.1))}  # fmt: skip


def distilbert_names(options: dict) -> dict[str, Theirs]:
    names = {"input.table.weight": Theirs(("embeddings.word_embeddings.weight",)),
             "input.position.table": Theirs(("embeddings.position_embeddings.weight",))}  # fmt: skip
    names |= both("input.norm", "embeddings.LayerNorm")
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"transformer.layer.{level}"
        names |= both(f"{ours}.attention.query_key_value", *(f"{theirs}.attention.{one}_lin" for one in "qkv"))
        names |= both(f"{ours}.attention.output", f"{theirs}.attention.out_lin")
        names |= both(f"{ours}.attention_norm", f"{theirs}.sa_layer_norm")
        names |= both(f"{ours}.up", f"{theirs}.ffn.lin1") | both(f"{ours}.down", f"{theirs}.ffn.lin2")
        names |= both(f"{ours}.mlp_norm", f"{theirs}.output_layer_norm")
    return names


def pooled(options: dict) -> dict[str, Theirs]:
    """BERT's pooler, which belongs to the body there."""
    return both("head.dense.layer", "pooler.dense") | both("head.output", "classifier")


def after_dense(options: dict) -> dict[str, Theirs]:
    return both("head.dense.layer", "classifier.dense") | both("head.output", "classifier.out_proj")


FAMILIES = {
    "gpt2": Family("gpt", "GPT2LMHeadModel", "transformer.", gpt2_options, gpt2_names, gpt2_head,
                   (".attn.bias", ".attn.masked_bias", "lm_head.weight")),
    "bert": Family("bert", "BertForSequenceClassification", "bert.", bert_options, bert_names, pooled,
                   ("position_ids",)),
    "roberta": Family("bert", "RobertaForSequenceClassification", "roberta.", bert_options,
                      lambda options: bert_names(options, 2), after_dense, ("position_ids",)),
    "distilbert": Family("bert", "DistilBertForSequenceClassification", "distilbert.", distilbert_options, distilbert_names,
                         lambda options: both("head.dense.layer", "pre_classifier") | both("head.output", "classifier")),
    "electra": Family("bert", "ElectraForSequenceClassification", "electra.", bert_options, bert_names, after_dense,
                      ("position_ids",)),
}  # fmt: skip
