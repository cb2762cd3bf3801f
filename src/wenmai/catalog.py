"""The catalog: every rung and every task, in two tables. A new rung is one file in models/ and one row here, a new task one file
in tasks/ and one row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from wenmai.data.storage import saved as take
from wenmai.errors import Mistake, unknown
from wenmai.layers.heads import POOLING
from wenmai.models import (
    attention,
    bert,
    cnn,
    gpt,
    linear,
    mlp,
    perceptron,
    rnn,
    seq2seq,
    transformer,
)
from wenmai.models.attention_decoder import attention_translator
from wenmai.models.attention_reader import attention_reader
from wenmai.models.ngram import model as ngram
from wenmai.models.recurrent_decoder import recurrent_composer
from wenmai.models.repliers import attention_replier, seq2seq_replier, transformer_replier
from wenmai.models.transcribers import (
    attention_transcriber,
    cnn_transcriber,
    recurrent_transcriber,
    rnn_transcriber,
    seq2seq_transcriber,
    transformer_transcriber,
)
from wenmai.options import accepted, assign_options
from wenmai.tasks.answer import Answer
from wenmai.tasks.choose import Choose
from wenmai.tasks.classify import Classify
from wenmai.tasks.compose import Compose
from wenmai.tasks.generate import Generate
from wenmai.tasks.pretrain import Pretrain
from wenmai.tasks.regress import Regress
from wenmai.tasks.reply import Reply
from wenmai.tasks.tag import Tag
from wenmai.tasks.transcribe import Transcribe
from wenmai.tasks.translate import Translate
from wenmai.training.options import TrainingOptions

KINDS = (
    "tokens",
    "given",
    "labels",
    "numbers",
    "image",
    "frames",
    "lines",
)  # of input (data/inputs.py)


@dataclass(frozen=True)
class Rung:
    name: str
    build: Callable  # (inputs, head, *, options) → a Network, or an object that can `learn`
    tasks: tuple[str, ...]
    about: str
    about_zh: str
    train: Callable = (
        TrainingOptions  # whose options training takes: the loop's, or the rung's own `learn`
    )
    reads: tuple[str, ...] = KINDS  # of input
    tunes: bool = True  # on held-out text; a rung that does not learns from all of it
    builders: Mapping[str, Callable] = field(
        default_factory=dict
    )  # task → builder, where it has other options than the rest
    framed: bool = False  # it reads texts as [CLS] a [SEP] b [SEP], and is made to start from a body that has read much

    def does(self, task: str) -> bool:
        return shape_of(task) in self.tasks

    def frame(self, inputs):
        """These inputs as it reads them."""
        return inputs.framed() if self.framed and hasattr(inputs, "framed") else inputs

    def builder(self, task: str) -> Callable:
        return self.builders.get(shape_of(task), self.build)


ALL = ("classify", "tag", "regress")
WRITES = (*ALL, "generate")
READS = (*ALL, "choose")  # and chooses


def writing(cell: str) -> dict[str, Callable]:
    """The builders of a cell that writes: running text, a text for a label, a vector or a picture, or for a sound."""
    listener = rnn_transcriber if cell == "rnn" else recurrent_transcriber(cell)
    return {
        "generate": rnn.recurrent_language_model(cell),
        "compose": recurrent_composer(cell),
        "transcribe": listener,
    }


# fmt: off
RUNGS = {
    rung.name: rung
    for rung in (
        Rung("ngram", ngram.ngram, ("generate", "classify"),
             "Counts what follows each few words, and shares out some of it for what was never seen.",
             "数一数每几个词之后出现什么，再匀出一些给从未见过的。", ngram.NGram.learn, ("lines", "tokens"), False),
        Rung("perceptron", perceptron.perceptron, ("classify", "tag"),
             "A weight for every feature; it learns only from its mistakes.",
             "每个特征一个权重，只从错误中学习。", perceptron.Perceptron.learn),
        Rung("linear", linear.linear, ("regress",),
             "A weight for every feature, added up: the straight line.",
             "每个特征一个权重，加起来：一条直线。", linear.Regression.learn),
        Rung("logistic", linear.logistic, ("classify", "regress"),
             "A weight for every feature, bent into a probability, one class against the rest.",
             "每个特征一个权重，用逻辑曲线变成概率，一类对其余各类。", linear.Regression.learn),
        Rung("softmax", linear.softmax, ("classify", "tag"),
             "A weight for every feature and class; all the classes share one probability.",
             "每个特征、每个类别一个权重，各类共享一份概率。", linear.Regression.learn),
        Rung("mlp", mlp.mlp, (*READS, "generate"),
             "Word vectors, averaged or side by side, through layers with a bend between them.",
             "词向量取平均或并排，经过带非线性的多层。", builders={"generate": mlp.mlp_language_model}),
        Rung("cnn", cnn.cnn, (*READS, "generate", "transcribe"),
             "Small filters slide over the text (or image) and report where they fit best.",
             "小滤波器在文本（或图像）上滑动，报告最匹配之处。", 
             builders={"generate": cnn.cnn_language_model, "transcribe": cnn_transcriber}),
        Rung("rnn", rnn.rnn, (*READS, "generate", "compose", "transcribe"),
             "Reads one token after another and keeps one state, rewritten at every step.",
             "逐个读入，只保留一个状态，每一步都重写。", builders=writing("rnn")),
        Rung("rnn-residual", rnn.recurrent("rnn-residual"), (*READS, "generate", "compose", "transcribe"),
             "The state is added to instead of rewritten: nothing is forgotten.",
             "状态不重写，只累加：什么也不忘。", builders=writing("rnn-residual")),
        Rung("rnn-coupled", rnn.recurrent("rnn-coupled"), (*READS, "generate", "compose", "transcribe"),
             "One gate decides how much of the state gives way to the new.",
             "一个门决定旧状态让出多少给新内容。", builders=writing("rnn-coupled")),
        Rung("rnn-gated", rnn.recurrent("rnn-gated"), (*READS, "generate", "compose", "transcribe"),
             "Two gates: what to keep, and what to take in.",
             "两个门：保留什么，写入什么。", builders=writing("rnn-gated")),
        Rung("lstm", rnn.recurrent("lstm"), (*READS, "generate", "compose", "transcribe"),
             "A cell that is kept by gates, and a third gate for what it shows.",
             "由门守护的记忆单元，另有一个门决定展示什么。", builders=writing("lstm")),
        Rung("gru", rnn.recurrent("gru"), (*READS, "generate", "compose", "transcribe"),
             "The LSTM's idea with two gates and one state.",
             "LSTM 的思想，两个门，一个状态。", builders=writing("gru")),
        Rung("seq2seq", seq2seq.seq2seq, ("translate", "reply", "transcribe"),
             "One cell reads a text into a single state, another writes a text from it.",
             "一个单元把文本读成一个状态，另一个单元由它写出文本。", 
             builders={"reply": seq2seq_replier, "transcribe": seq2seq_transcriber}),
        Rung("attention", attention.attention, (*READS, "translate", "answer", "reply", "transcribe"),
             "A recurrent network that looks back at all its states at every step.",
             "每一步都能回看全部状态的循环网络。",
             builders={"translate": attention_translator, "answer": attention_reader, "reply": attention_replier,
                       "transcribe": attention_transcriber}),
        Rung("transformer", transformer.transformer, (*READS, "translate", "compose", "answer", "reply", "transcribe"),
             "Every token looks at every other at once; no step waits for the one before.",
             "每个词同时看所有的词，无须逐步等待。", 
             builders={"translate": transformer.transformer_translator, "compose": transformer.transformer_composer,
                       "reply": transformer_replier, "transcribe": transformer_transcriber}),
        Rung("gpt", gpt.gpt, (*WRITES, "compose"),
             "A Transformer that looks back only, and learns to say what comes next.",
             "只往回看的 Transformer，学着说出下一个词。",
             builders={"generate": gpt.gpt_language_model, "compose": gpt.gpt_composer}),
        Rung("bert", bert.bert, (*READS, "answer", "pretrain"),
             "A Transformer that looks both ways: it guesses hidden words of much text first, and then answers.",
             "前后都看的 Transformer：先在大量文本上猜被遮住的词，再来回答。", reads=("tokens", "given"), framed=True),
    )
}
# fmt: on


@dataclass(frozen=True)
class Build:
    """How a model is made: the rung, the task whose builder makes it, that builder's options, and what is said of its head
    alone. A network that started from a run was made as that run's was, with the head of its own task."""

    rung: str
    task: str
    options: dict = field(default_factory=dict)
    head: dict = field(default_factory=dict)

    @classmethod
    def of(cls, rung: str, task: str, options: dict) -> "Build":
        """With every option of the builder: what is given, and the defaults as they are today."""
        known = accepted(rung_named(rung, task).builder(task))
        return cls(rung, task, {name: option.default for name, option in known.items()} | options)

    def model(self, task, inputs, seed: int = 0):
        """With its first weights, which follow from the seed."""
        asked = task.head(inputs)
        asked = replace(asked, **self.head) if self.head else asked
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return rung_named(self.rung, self.task).builder(self.task)(
                inputs, asked, **self.options
            )

    def blank(self, task, inputs):
        """Without weights: to be asked for its sizes."""
        try:
            with torch.device("meta"):
                return self.model(task, inputs)
        except (RuntimeError, TypeError) as error:
            if "verflow" not in str(error):
                raise
            raise Mistake(
                "these options make more weights than can be counted; choose smaller ones, such as hidden, embed or "
                "layers."
            ) from None

    def to_json(self) -> dict:
        return {"task": self.task, "options": self.options, "head": self.head}

    @classmethod
    def from_json(cls, rung: str, saved: dict) -> "Build":
        task = take.one_of(saved, "task", tuple(TASKS))
        builder = rung_named(rung, task).builder(task)
        options = assign_options(take.value(saved, "options"), {"rung": builder})["rung"]
        head = take.value(saved, "head")
        if (
            not isinstance(head, dict)
            or not head.keys() <= {"pooling"}
            or not set(head.values()) <= set(POOLING)
        ):
            raise take.Unfit('"head" says something that no head knows')
        return cls(rung, task, options, head)


TASKS = {
    task.name: task
    for task in (
        Classify,
        Tag,
        Regress,
        Generate,
        Translate,
        Compose,
        Answer,
        Choose,
        Reply,
        Pretrain,
        Transcribe,
    )
}


def shape_of(task: str) -> str:
    """The task by which rungs are chosen: itself, or the one that it says it is `like`, whose head it asks for."""
    return getattr(TASKS.get(task), "like", task)


def tasks_of(rung: str) -> dict[str, type]:
    """All tasks, those first that the rung does: of two that the data may mean, it is the one that it can do."""
    does = [name for name in TASKS if rung in RUNGS and RUNGS[rung].does(name)]
    return {name: TASKS[name] for name in dict.fromkeys((*does, *TASKS))}


# Models that people ask for and no rung is called so → the rung that is nearest to it.
NEAREST = (
    dict.fromkeys(("t5", "bart"), "transformer")
    | dict.fromkeys(("gpt2", "gpt-2", "llama"), "gpt")
    | {
        "roberta": "bert",
        "bilstm": "lstm",
        "bigru": "gru",
        "textcnn": "cnn",
        "word2vec": "mlp",
        "fasttext": "mlp",
        "svm": "perceptron",
        "bayes": "ngram",
        "logreg": "logistic",
    }
)


def known_rung(name: str) -> Rung:
    if name not in RUNGS and name.lower() in NEAREST:
        raise Mistake(
            "there is no rung {rung} here; the nearest that there is, is {nearest}; `wenmai rungs` lists all.",
            rung=name,
            nearest=NEAREST[name.lower()],
        )
    if name not in RUNGS:
        raise unknown("rung", name, RUNGS)
    return RUNGS[name]


def rung_named(name: str, task: str) -> Rung:
    rung = known_rung(name)
    if not rung.does(task):
        able = [rung.name for rung in RUNGS.values() if rung.does(task)]
        raise Mistake(
            "the rung {rung} does not do {task}; these do: {choices}.",
            rung=name,
            task=task,
            choices=", ".join(able),
        )
    return rung


def rungs_for(task: str, kind: str | None = None) -> list[Rung]:
    """Those that do the task, and read this kind of input, if one is named."""
    return [
        rung for rung in RUNGS.values() if rung.does(task) and (kind is None or kind in rung.reads)
    ]
