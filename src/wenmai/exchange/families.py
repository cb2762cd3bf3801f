"""Families of checkpoints: which of their weights is which of ours, and what their config.json says of the options of our rung.

GPT-2, DistilGPT-2                                       gpt
BERT (Chinese, whole words, MiniLM), RoBERTa, DistilBERT, ELECTRA's discriminator      bert
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from wenmai.data.storage import saved as take

ACTIVATIONS = {
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu": "gelu",
    "relu": "relu",
}  # theirs → ours


@dataclass(frozen=True)
class Theirs:
    """Where a weight of ours lies: one or several of theirs, end to end; `turned`: what they call a Conv1D; `skip`: first rows
    that nothing looks up."""

    names: tuple[str, ...]
    turned: bool = False
    skip: int = 0


Names = Callable[[dict], dict[str, Theirs]]  # options of our builder → our names, and theirs


@dataclass(frozen=True)
class Family:
    rung: str
    stem: str  # of the names of its architectures: Bert, and ForMaskedLM
    prefix: str  # before all names but the head's, where there is a head
    options: Callable[[dict], dict]  # config → options of our builder
    names: Names  # of our input layer and body
    heads: dict[str, Names]  # the end of an architecture's name → the names of our head
    renamed: dict[str, str] = field(
        default_factory=dict
    )  # other names that a weight goes by; "" where nobody needs it

    @property
    def known(self) -> list[str]:
        """The architectures whose answers can be imported, or which have none."""
        return [self.stem + end for end in self.heads]

    def named(self, theirs: str) -> str:
        """A weight as this table calls it: without the prefix, and as it is called today."""
        name = theirs.removeprefix(self.prefix)
        for ending, better in (OLD | self.renamed).items():
            if name.endswith(ending):
                return better and name.removesuffix(ending) + better
        return name


OLD = {
    "LayerNorm.gamma": "LayerNorm.weight",
    "LayerNorm.beta": "LayerNorm.bias",
    "position_ids": "",
}  # as TensorFlow said it


def both(ours: str, *theirs: str, turned: bool = False) -> dict[str, Theirs]:
    """Weight and bias."""
    return {
        f"{ours}.weight": Theirs(tuple(f"{name}.weight" for name in theirs), turned),
        f"{ours}.bias": Theirs(tuple(f"{name}.bias" for name in theirs)),
    }


def activation_of(config: dict, name: str, usual: str) -> str:
    return ACTIVATIONS[take.one_of({name: usual} | config, name, tuple(ACTIVATIONS))]


# GPT-2


def gpt2_options(config: dict) -> dict:
    if config.get("scale_attn_by_inverse_layer_idx") or not config.get("scale_attn_weights", True):
        raise take.Unfit("it scales attention in a way of its own, which gpt does not know")
    width = take.integer(config, "n_embd", 1)
    return {
        "width": width,
        "heads": take.integer(config, "n_head", 1),
        "layers": take.integer(config, "n_layer", 1),
        "feed_forward": take.maybe_integer({"n_inner": None} | config, "n_inner", 1) or 4 * width,
        "context": take.integer(config, "n_positions", 1),
        "activation": activation_of(config, "activation_function", "gelu_new"),
        "positions": "learned",
        "tie": config.get("tie_word_embeddings", True) is not False,
        "dropout": take.number({"resid_pdrop": 0.1} | config, "resid_pdrop"),
    }


def gpt2_names(options: dict) -> dict[str, Theirs]:
    names = {
        "input.table.weight": Theirs(("wte.weight",)),
        "body.position.table": Theirs(("wpe.weight",)),
    }
    names |= both("body.norm", "ln_f")
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"h.{level}"
        names |= both(f"{ours}.attention_norm", f"{theirs}.ln_1") | both(
            f"{ours}.mlp_norm", f"{theirs}.ln_2"
        )
        names |= both(f"{ours}.attention.query_key_value", f"{theirs}.attn.c_attn", turned=True)
        names |= both(f"{ours}.attention.output", f"{theirs}.attn.c_proj", turned=True)
        names |= both(f"{ours}.up", f"{theirs}.mlp.c_fc", turned=True) | both(
            f"{ours}.down", f"{theirs}.mlp.c_proj", turned=True
        )
    return names


def gpt2_head(options: dict) -> dict[str, Theirs]:
    return {} if options["tie"] else {"head.output.weight": Theirs(("lm_head.weight",))}


# BERT and its kin


def bert_options(config: dict) -> dict:
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise take.Unfit("its positions are of another kind than learned ones")
    width, embed = take.integer(config, "hidden_size", 1), config.get("embedding_size")
    return {
        "width": width,
        "heads": take.integer(config, "num_attention_heads", 1),
        "layers": take.integer(config, "num_hidden_layers", 1),
        "feed_forward": take.integer(config, "intermediate_size", 1),
        "embed": None if embed in (None, width) else embed,
        "activation": activation_of(config, "hidden_act", "gelu"),
        "segments": take.integer(config, "type_vocab_size", 1),
        "dense": "gelu" if config["model_type"] == "electra" else "tanh",
        "epsilon": take.number({"layer_norm_eps": 1e-12} | config, "layer_norm_eps"),
        "dropout": take.number({"hidden_dropout_prob": 0.1} | config, "hidden_dropout_prob"),
    }


def bert_names(options: dict, skip: int = 0) -> dict[str, Theirs]:
    names = {
        "input.table.weight": Theirs(("embeddings.word_embeddings.weight",)),
        "input.position.table": Theirs(("embeddings.position_embeddings.weight",), skip=skip),
        "input.segment.weight": Theirs(("embeddings.token_type_embeddings.weight",)),
    }
    names |= both("input.norm", "embeddings.LayerNorm")
    names |= both("input.project", "embeddings_project") if options["embed"] else {}
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"encoder.layer.{level}"
        query_key_value = (f"{theirs}.attention.self.{one}" for one in ("query", "key", "value"))
        names |= both(f"{ours}.attention.query_key_value", *query_key_value)
        names |= both(f"{ours}.attention.output", f"{theirs}.attention.output.dense")
        names |= both(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm")
        names |= both(f"{ours}.up", f"{theirs}.intermediate.dense") | both(
            f"{ours}.down", f"{theirs}.output.dense"
        )
        names |= both(f"{ours}.mlp_norm", f"{theirs}.output.LayerNorm")
    return names


def distilbert_options(config: dict) -> dict:
    return {
        "width": take.integer(config, "dim", 1),
        "heads": take.integer(config, "n_heads", 1),
        "embed": None,
        "layers": take.integer(config, "n_layers", 1),
        "feed_forward": take.integer(config, "hidden_dim", 1),
        "activation": activation_of(config, "activation", "gelu"),
        "segments": 0,
        "dense": "relu",
        "dropout": take.number({"dropout": 0.1} | config, "dropout"),
    }


def distilbert_names(options: dict) -> dict[str, Theirs]:
    names = {
        "input.table.weight": Theirs(("embeddings.word_embeddings.weight",)),
        "input.position.table": Theirs(("embeddings.position_embeddings.weight",)),
    }
    names |= both("input.norm", "embeddings.LayerNorm")
    for level in range(options["layers"]):
        ours, theirs = f"body.blocks.{level}", f"transformer.layer.{level}"
        names |= both(
            f"{ours}.attention.query_key_value", *(f"{theirs}.attention.{one}_lin" for one in "qkv")
        )
        names |= both(f"{ours}.attention.output", f"{theirs}.attention.out_lin")
        names |= both(f"{ours}.attention_norm", f"{theirs}.sa_layer_norm")
        names |= both(f"{ours}.up", f"{theirs}.ffn.lin1") | both(
            f"{ours}.down", f"{theirs}.ffn.lin2"
        )
        names |= both(f"{ours}.mlp_norm", f"{theirs}.output_layer_norm")
    return names


# Heads


def pooled(options: dict) -> dict[str, Theirs]:
    """BERT's pooler, which belongs to the body there."""
    return both("head.dense.layer", "pooler.dense") | both("head.output", "classifier")


def after_dense(options: dict) -> dict[str, Theirs]:
    return both("head.dense.layer", "classifier.dense") | both("head.output", "classifier.out_proj")


def a_place(options: dict) -> dict[str, Theirs]:
    """One of the classes at every place."""
    return both("head.output", "classifier")


def a_span(options: dict) -> dict[str, Theirs]:
    """Where an answer begins and ends."""
    return both("head.output", "qa_outputs")


def nothing(options: dict) -> dict[str, Theirs]:
    return {}


def masked(transform: str, norm: str, bias: str) -> Names:
    """Hidden words, said by the table in which words are looked up."""
    names = (
        both("head.transform", transform)
        | both("head.norm", norm)
        | {"head.output.bias": Theirs((bias,))}
    )
    return lambda options: names


WORDS = masked(
    "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"
)
FOLLOWS = both("head.dense.layer", "pooler.dense") | both("head.follows", "cls.seq_relationship")
# Whose weights say which head there is: what has both is BERT as it was pretrained, whatever config.json calls it.
PARTS = {"masked": "head.transform.weight", "next_sentence": "head.follows.weight"}

FAMILIES = {
    "gpt2": Family(
        "gpt",
        "GPT2",
        "transformer.",
        gpt2_options,
        gpt2_names,
        {"LMHeadModel": gpt2_head, "Model": gpt2_head},
        {".attn.bias": "", ".attn.masked_bias": ""},
    ),
    "bert": Family(
        "bert",
        "Bert",
        "bert.",
        bert_options,
        bert_names,
        {
            "ForSequenceClassification": pooled,
            "ForTokenClassification": a_place,
            "ForQuestionAnswering": a_span,
            "ForMaskedLM": WORDS,
            "ForPreTraining": lambda options: WORDS(options) | FOLLOWS,
            "Model": nothing,
        },
        {"cls.predictions.decoder.bias": "cls.predictions.bias"},
    ),
    "roberta": Family(
        "bert",
        "Roberta",
        "roberta.",
        bert_options,
        lambda options: bert_names(options, 2),
        {
            "ForSequenceClassification": after_dense,
            "ForTokenClassification": a_place,
            "ForQuestionAnswering": a_span,
            "Model": nothing,
            "ForMaskedLM": masked("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
        },
        {"lm_head.decoder.bias": "lm_head.bias"},
    ),
    "distilbert": Family(
        "bert",
        "DistilBert",
        "distilbert.",
        distilbert_options,
        distilbert_names,
        {
            "ForSequenceClassification": lambda options: (
                both("head.dense.layer", "pre_classifier") | both("head.output", "classifier")
            ),
            "ForTokenClassification": a_place,
            "ForQuestionAnswering": a_span,
            "Model": nothing,
            "ForMaskedLM": masked("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
        },
    ),
    "electra": Family(
        "bert",
        "Electra",
        "electra.",
        bert_options,
        bert_names,
        {
            "ForSequenceClassification": after_dense,
            "ForTokenClassification": a_place,
            "ForQuestionAnswering": a_span,
            "Model": nothing,
            "ForPreTraining": nothing,  # it tells words that were replaced: the body is what others start from
            "ForMaskedLM": masked(
                "generator_predictions.dense",
                "generator_predictions.LayerNorm",
                "generator_lm_head.bias",
            ),
        },
    ),
}
# Weights beside those of a head that change none of its answers: BERT's pooler where no text is answered for as a whole, what
# tells replaced words; and the table, where it is written a second time to say words with.
SPARE = (
    "pooler.dense.weight",
    "pooler.dense.bias",
    "discriminator_predictions.dense.weight",
    "discriminator_predictions.dense.bias",
    "discriminator_predictions.dense_prediction.weight",
    "discriminator_predictions.dense_prediction.bias",
)
TABLES = (
    "cls.predictions.decoder.weight",
    "lm_head.decoder.weight",
    "vocab_projector.weight",
    "generator_lm_head.weight",
    "lm_head.weight",
)
