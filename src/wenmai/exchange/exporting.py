"""Runs as folders that `transformers` loads: config.json, model.safetensors, tokenizer.json; whole, or not at all.

gpt for generate        GPT2LMHeadModel
bert for classify       BertForSequenceClassification        regress: the same, with problem_type regression
bert for tag            BertForTokenClassification
bert for answer         BertForQuestionAnswering
bert for pretrain       BertForPreTraining; without next_sentence BertForMaskedLM; a bare one BertModel

A bert with dense=relu is written as DistilBERT, one with dense=gelu or a table that is narrower than its body as ELECTRA.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from wenmai.data.text.subwords import Subwords
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.exchange.families import ACTIVATIONS, FAMILIES
from wenmai.exchange.hub import CONFIG, WEIGHTS
from wenmai.exchange.tokenizer_files import END_OF_TEXT
from wenmai.tasks.answer import Answer
from wenmai.tasks.classify import Classify
from wenmai.tasks.generate import Generate
from wenmai.tasks.pretrain import Pretrain
from wenmai.tasks.regress import Regress
from wenmai.tasks.tag import Tag
from wenmai.training import folders

SUITED = {"gpt": "bpe", "bert": "wordpiece"}  # the tokenizer of a rung that is to be written
KIN = {
    "tanh": "bert",
    "relu": "distilbert",
    "gelu": "electra",
}  # by what the layer before an answer for a text ends with


def exported(estimator: Estimator, out: Path) -> None:
    """A folder that `transformers` loads; it stands there whole or not at all."""
    tokenizer, kind = (
        getattr(estimator.inputs_, "tokenizer", None),
        (estimator.rung, type(estimator.task_)),
    )
    if kind not in WRITTEN:
        raise Mistake(
            "a folder for transformers can hold a gpt that goes on with a text, or a bert that answers, tags or was "
            "pretrained, and this run is the rung {rung} for {task}.",
            rung=estimator.rung,
            task=estimator.task_name,
        )
    if estimator.build_.options.get("positions", "learned") != "learned":
        raise Mistake(
            "GPT-2 has learned positions, and this run has positions={positions}; train with --set positions=learned.",
            positions=estimator.build_.options["positions"],
        )
    if not isinstance(tokenizer, Subwords):
        raise Mistake(
            "transformers reads tokenizers of subwords, and this run has tokenizer={tokenizer}; train with --set "
            "tokenizer={other}.",
            tokenizer=getattr(tokenizer, "kind", "spaces"),
            other=SUITED[estimator.rung],
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Mistake("{folder} is there already; choose another place with --out.", folder=out)
    end, more = WRITTEN[kind](estimator)
    about = gpt2_files if estimator.rung == "gpt" else bert_files
    folders.write(
        out,
        lambda folder: fill(folder, estimator, tokenizer, end, more, *about(estimator, tokenizer)),
    )
    (out / folders.MANIFEST).unlink()  # no run of ours


def theirs_of(activation: str) -> str:
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == activation)


def gpt2_files(estimator: Estimator, tokenizer: Subwords) -> tuple[str, dict, dict, dict]:
    """(family, config, what generation needs to know, what the tokenizer has)"""
    options, special = estimator.build_.options, tokenizer.special
    end, width = tokenizer.engine.get_vocab().get(END_OF_TEXT, special.end), options["width"]
    config = {
        "n_embd": width,
        "n_positions": options["context"],
        "n_layer": options["layers"],
        "n_head": options["heads"],
        "n_inner": options["feed_forward"] or 4 * width,
        "activation_function": theirs_of(options["activation"]),
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": options["dropout"],
        "embd_pdrop": options["dropout"],
        "attn_pdrop": 0.0,
        "bos_token_id": end,
        "eos_token_id": end,
        "tie_word_embeddings": options["tie"],
    }
    silent = sorted(special.unwritten)
    generation = {"bos_token_id": end, "eos_token_id": end} | (
        {"suppress_tokens": silent} if silent else {}
    )
    ends = {"eos_token": tokenizer.tokens[end], "bos_token": tokenizer.tokens[end]}
    return "gpt2", config, generation, ends | {"model_max_length": options["context"]}


def bert_files(estimator: Estimator, tokenizer: Subwords) -> tuple[str, dict, dict, dict]:
    options, special, inputs, kind = (
        estimator.build_.options,
        tokenizer.special,
        estimator.inputs_,
        kin_of(estimator),
    )
    width, layers, heads = options["width"], options["layers"], options["heads"]
    feed_forward, activation = (
        options["feed_forward"] or 4 * width,
        theirs_of(options["activation"]),
    )
    if kind == "distilbert":
        config = {
            "dim": width,
            "n_layers": layers,
            "n_heads": heads,
            "hidden_dim": feed_forward,
            "activation": activation,
            "dropout": options["dropout"],
            "attention_dropout": 0.0,
        }
    else:
        config = {
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": feed_forward,
            "hidden_act": activation,
            "type_vocab_size": options["segments"] or 2,
            "hidden_dropout_prob": options["dropout"],
            "attention_probs_dropout_prob": 0.0,
            "layer_norm_eps": options["epsilon"],
        }
        config |= {"embedding_size": options["embed"] or width} if kind == "electra" else {}
    config |= {"max_position_embeddings": inputs.longest, "pad_token_id": special.pad}
    names = {
        "pad_token": special.pad,
        "unk_token": special.unknown,
        "cls_token": special.begin,
        "sep_token": special.separator,
        "mask_token": special.mask,
    }
    known = {name: tokenizer.tokens[number] for name, number in names.items() if number is not None}
    # else nothing there says which text of a pair a token stands in
    input_names = [
        "input_ids",
        *(["token_type_ids"] if kind != "distilbert" else []),
        "attention_mask",
    ]
    return (
        kind,
        config,
        {},
        known | {"model_max_length": inputs.longest, "model_input_names": input_names},
    )


def kin_of(estimator: Estimator) -> str:
    """The family whose networks have this form."""
    options, model, pretrained = (
        estimator.build_.options,
        estimator.model_,
        isinstance(estimator.task_, Pretrain),
    )
    dense = getattr(getattr(model.head, "dense", None), "layer", None)
    kind = (
        KIN.get(options["dense"])
        if dense is not None
        else "electra"
        if options["embed"]
        else "bert"
    )
    plain = not options["embed"]
    fits = {
        "bert": plain,
        "distilbert": plain
        and not (pretrained or options["segments"])
        and options["epsilon"] == 1e-12,
        "electra": not pretrained
        or (options["activation"] == "gelu" and not model.head.next_sentence),
    }
    if model.spelling is not None or not fits.get(kind):
        raise Mistake(
            "transformers has no network of this form: BERT has dense=tanh and no embed; DistilBERT dense=relu, "
            "segments=0 and no embed; ELECTRA dense=gelu, and no next_sentence; none has characters."
        )
    return kind


# Heads: a run → (the end of the architecture's name, what config.json says of it)


def next_token(estimator: Estimator) -> tuple[str, dict]:
    return "LMHeadModel", {}


def labelled(names: list[str]) -> dict:
    labels = dict(enumerate(map(str, names)))
    return {
        "id2label": labels,
        "label2id": {label: number for number, label in labels.items()},
        "num_labels": len(labels),
    }


def classes(estimator: Estimator) -> tuple[str, dict]:
    check_pooled(estimator)
    more = labelled(estimator.classes_.tolist()) | {"problem_type": "single_label_classification"}
    return "ForSequenceClassification", more


def numbers(estimator: Estimator) -> tuple[str, dict]:
    check_pooled(estimator)
    columns = estimator.model_.head.width
    return "ForSequenceClassification", labelled([f"LABEL_{n}" for n in range(columns)]) | {
        "problem_type": "regression"
    }


def check_pooled(estimator: Estimator) -> None:
    head = estimator.model_.head
    if head.per_step or head.pooling != "first" or head.dense.layer is None:
        raise Mistake(
            "BERT answers for a text from [CLS]: only a run with pooling=first and dense=tanh is written so."
        )


def tags(estimator: Estimator) -> tuple[str, dict]:
    if estimator.model_.transitions() is not None:
        raise Mistake(
            "BertForTokenClassification has no CRF, and this run weighs whole rows of tags; train with --set "
            "crf=false."
        )
    return "ForTokenClassification", labelled(estimator.classes_.tolist())


def spans(estimator: Estimator) -> tuple[str, dict]:
    return "ForQuestionAnswering", {}


def hidden_words(estimator: Estimator) -> tuple[str, dict]:
    head = estimator.model_.head
    if head.next_sentence and not head.masked:
        raise Mistake("a run with next_sentence=true and masked=0 has no architecture there.")
    return (
        "ForPreTraining" if head.next_sentence else "ForMaskedLM"
    ) if head.masked else "Model", {}


WRITTEN = {
    ("gpt", Generate): next_token,
    ("bert", Classify): classes,
    ("bert", Regress): numbers,
    ("bert", Tag): tags,
    ("bert", Answer): spans,
    ("bert", Pretrain): hidden_words,
}


def fill(
    folder: Path,
    estimator: Estimator,
    tokenizer: Subwords,
    end: str,
    more: dict,
    kind: str,
    config: dict,
    generation: dict,
    about: dict,
) -> None:
    family = FAMILIES[kind]
    save_file(weights_of(estimator, kind, end), folder / WEIGHTS, metadata={"format": "pt"})
    config = (
        {
            "architectures": [family.stem + end],
            "model_type": kind,
            "vocab_size": len(tokenizer.tokens),
        }
        | config
        | more
    )
    files = {
        CONFIG: config,
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"} | about,
    }
    files |= {"generation_config.json": generation} if generation else {}
    for name, value in files.items():
        (folder / name).write_text(
            json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    engine = framed_engine(tokenizer, estimator.inputs_) if kind != "gpt2" else tokenizer.engine
    (folder / "tokenizer.json").write_text(engine.to_str(pretty=True), encoding="utf-8")


def weights_of(estimator: Estimator, kind: str, end: str) -> dict[str, Tensor]:
    """By their names there."""
    family, options, ours = FAMILIES[kind], estimator.build_.options, in_their_terms(estimator)
    prefix, named = "" if end == "Model" else family.prefix, {}
    for part, names in (("body", family.names(options)), ("head", family.heads[end](options))):
        for name, theirs in names.items():
            value = ours[name].detach().cpu()
            for one, piece in zip(
                theirs.names, (value.T if theirs.turned else value).chunk(len(theirs.names))
            ):
                plain = part == "head" and not one.startswith("pooler")
                named[one if plain else prefix + one] = piece.contiguous().clone()
    return named


def in_their_terms(estimator: Estimator) -> dict[str, Tensor]:
    """Numbers are answered in their own scale there, and every BERT has segments."""
    ours = dict(estimator.model_.state_dict())
    if "head.deviation" in ours:
        scale, shift = ours["head.deviation"].double(), ours["head.mean"].double()
        ours["head.output.weight"] = (ours["head.output.weight"].double() * scale[:, None]).float()
        ours["head.output.bias"] = (ours["head.output.bias"].double() * scale + shift).float()
    if "input.table.weight" in ours and "input.segment.weight" not in ours:
        ours["input.segment.weight"] = torch.zeros(2, ours["input.table.weight"].shape[1])
    return ours


def framed_engine(tokenizer: Subwords, inputs):
    """With the template that wraps texts, for who reads it there."""
    from tokenizers import Tokenizer, processors

    engine, wrapping, tokens = (
        Tokenizer.from_str(tokenizer.engine.to_str()),
        inputs.wrapping,
        tokenizer.tokens,
    )
    before, between, after = (
        [tokens[number] for number in part]
        for part in (wrapping.before, wrapping.between, wrapping.after)
    )
    single = [*before, "$A", *after]
    pair = [
        *before,
        "$A",
        *between,
        f"$B:{wrapping.second}",
        *(f"{token}:{wrapping.second}" for token in after),
    ]
    special = [(token, engine.token_to_id(token)) for token in {*before, *between, *after}]
    engine.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=special
    )
    return engine
