"""The gallery of "Looking inside": pictures of small models, each trained here in seconds on sentences that are made here.

    python docs/gallery.py                 all of them, in some minutes, into docs/gallery/
    python docs/gallery.py attention gates only these

A picture is a function of the language that gives a panel; the function's name is the file's, and its first words are told to the
learner, in both languages (TOLD). README.md and README.zh.md show them all.
"""

import functools
import sys
from pathlib import Path

import numpy as np

from wenmai import Classifier, LanguageModel, Translator
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.inspection import inspecting, structure
from wenmai.page.panel_pictures import picture
from wenmai.page.panels import Panel

FOLDER = Path(__file__).parent / "gallery"
SENTENCES = {
    "en": ("He tossed this tennis ball to serve", "Bark is very cute and he is a dog"),
    "zh": ("他抛起网球准备发球", "旺财很可爱它是一只小狗"),
}
SMALL = {"device": "cpu", "epochs": 12, "validation": 0.1}


# Sentences of three kinds, in which the same words mean different things: serve a ball, serve a dinner.

GRAMMAR = {
    "en": {
        "sport": [
            "{who} tossed this {ball} to serve",
            "{who} hit the {ball} over the net",
            "they serve the {ball} and win the {game}",
            "{who} ran to catch this {ball}",
            "this {game} is very long and {who} is tired",
        ],
        "animals": [
            "{pet} is very {kind} and he is a {animal}",
            "{pet} the {animal} ran after a ball",
            "the {animal} of {pet} can bark at night",
            "this {animal} is very {kind} and she sleeps all day",
        ],
        "food": [
            "{who} cooked {meal} to serve for dinner",
            "they serve the {meal} with tea",
            "this {meal} is very {taste} and it is hot",
            "{who} tossed the {meal} in a pan",
            "a ball of {meal} is {taste}",
        ],
    },
    "zh": {
        "体育": [
            "{who}抛起{ball}准备发球",
            "{who}把{ball}打过了网",
            "{who}接住了这个{ball}",
            "这场{game}打得很久{who}累了",
        ],
        "动物": [
            "{pet}很{kind}它是一只{animal}",
            "{pet}追着球跑",
            "这只{animal}很{kind}它整天睡觉",
            "夜里{pet}叫了起来",
        ],
        "美食": [
            "{who}做了{meal}准备晚饭",
            "这碗{meal}很{taste}它是热的",
            "{who}把{meal}放进锅里",
            "{who}端上了{meal}和茶",
        ],
    },
}
WORDS = {
    "en": {
        "who": ["he", "she", "Anna", "Tom", "Wei"],
        "ball": ["tennis ball", "ball", "volleyball", "red ball"],
        "game": ["match", "game", "set"],
        "pet": ["Bark", "Mimi", "Rex", "Lulu"],
        "animal": ["dog", "cat", "puppy", "rabbit"],
        "kind": ["cute", "clever", "small", "lazy"],
        "meal": ["rice", "soup", "noodles", "fish"],
        "taste": ["tasty", "salty", "sweet", "good"],
    },
    "zh": {
        "who": ["他", "她", "小王", "安娜"],
        "ball": ["网球", "排球", "皮球"],
        "game": ["比赛", "决赛"],
        "pet": ["旺财", "咪咪", "大黄", "露露"],
        "animal": ["小狗", "小猫", "兔子"],
        "kind": ["可爱", "聪明", "懒"],
        "meal": ["米饭", "面条", "鱼汤"],
        "taste": ["好吃", "咸", "甜"],
    },
}


@functools.cache
def rows(lang: str, many: int = 1500) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(many):
        label = str(generator.choice(list(GRAMMAR[lang])))
        template = str(generator.choice(GRAMMAR[lang][label]))
        texts.append(
            template.format(
                **{name: generator.choice(words) for name, words in WORDS[lang].items()}
            )
        )
        labels.append(label)
    return texts, labels


@functools.cache
def classifier(rung: str, lang: str, **options):
    cut = "words" if lang == "en" else "characters"
    return Classifier(rung, tokenizer=cut, **SMALL, **options).fit(*rows(lang))


def transformer(lang: str):
    return classifier("transformer", lang, width=32, heads=4, layers=2)


def found(estimator, text: str, kind: str, name: str, **how) -> Panel:
    """One panel of what there is to see."""
    panels = {
        panel.name: panel for panel in inspecting.inspect(estimator, text, kind, **how).panels
    }
    return panels.get(name) or panels[next(one for one in panels if name in one)]


# The pictures


def attention(lang):
    return found(transformer(lang), SENTENCES[lang][0], "attention", "attention")


def attention_mean(lang):
    return found(transformer(lang), SENTENCES[lang][1], "attention", "attention-mean")


def switches(lang):
    return found(transformer(lang), SENTENCES[lang][0], "switches", "switches")


def attribution(lang):
    return found(transformer(lang), SENTENCES[lang][0], "attribution", "attribution")


def formula(lang):
    return found(transformer(lang), SENTENCES[lang][0], "formula", "formula")


def words(lang):
    return found(transformer(lang), SENTENCES[lang][1], "embeddings", "words")


def positions(lang):
    panel = found(
        classifier("transformer", lang, width=32, heads=4, layers=1, positions="sinusoidal"),
        SENTENCES[lang][0],
        "positions",
        "positions",
    )
    panel.values, panel.rows, panel.columns = (
        panel.values[:96, :128],
        panel.rows[:96],
        panel.columns[:128],
    )  # a corner of it
    return panel


def gates(lang):
    return found(
        classifier("lstm", lang, hidden=24, embed=24), SENTENCES[lang][1], "gates", "gates-"
    )


def filters(lang):
    return found(
        classifier("cnn", lang, filters=16, embed=24), SENTENCES[lang][0], "filters", "filters"
    )


def features(lang):
    return found(classifier("softmax", lang), SENTENCES[lang][1], "attribution", "features")


def surprise(lang):
    texts, _ = rows(lang)
    cut = "words" if lang == "en" else "characters"
    model = LanguageModel("gru", tokenizer=cut, device="cpu", hidden=48, layers=1, epochs=25).fit(
        texts
    )
    return found(model, SENTENCES[lang][0], "surprise", "surprise")


@functools.cache
def dates():
    data = open_dataset("dates:en,zh", TASKS, valid="0.05", test="0.05")
    model = Translator("attention", device="cpu", hidden=96, embed=48, steps=700, evaluations=2)
    return model.fit(*data.train.pair, data.valid.pair)


def alignment(lang):
    text = "15 November 2026" if lang == "en" else "2026年11月15日"
    return found(dates(), text, "attention", "alignment")


def structure_lstm(lang):
    return structure.of_rung("lstm", "classify", {"bidirectional": "true"}, rows(lang))


def structure_attention(lang):
    return structure.of_rung("attention", "translate", {"bidirectional": "false"})


def structure_transformer(lang):
    return structure.of_rung(
        "bert", "classify", {"layers": "6", "width": "384", "heads": "12"}, rows(lang)
    )


TOLD = {
    attention: (
        "All heads of two layers. A dark column is a word that all the others look at: in one head "
        "of the first layer it is the ball. Which head matters for the answer, the third picture says.",
        "两层的全部注意力头。深色的一列是大家都在看的词：第一层有一个头都看“球”。哪个头对答案要紧，看第三张图。",
    ),
    attention_mean: (
        "The mean over heads, and rolled out over layers: where “he” stands, how much of Bark has arrived?",
        "各头平均，以及逐层累积：在“它”的位置上，有多少来自旺财？",
    ),
    switches: (
        "What is looked at need not be what matters: each bar is the answer without that part, read anew. A single head "
        "hardly counts here; a layer, or the ball, does.",
        "被看的不一定要紧：每一条都是去掉那一部分后重新读一遍的结果。这里单个头几乎无关，整层或“球”才要紧。",
    ),
    attribution: (
        "Three ways to ask which word moved the answer. Where they agree, believe them; where they differ, look at the "
        "last: it reads the sentence without the word.",
        "三种方法问：哪个词左右了答案。三者一致可以相信；不一致时看最后一种，它真的去掉那个词再读一遍。",
    ),
    formula: (
        "One square of the map with its numbers: the product, the softmax, the sum, and the line of source that does it.",
        "热力图的一格连同它的数字：点积、softmax、加权和，以及做这件事的那行源码。",
    ),
    words: (
        "Words that the model uses alike have come nearer to one another. How near, a map can only hint at: it has two "
        "dimensions, and the model has 32.",
        "模型用法相近的词彼此靠近了。究竟多近，地图只能提示：它只有两维，而模型有 32 维。",
    ),
    positions: (
        "Every row is a place, every column a wave: fast to the left, slow to the right. No two rows are the same.",
        "每行是一个位置，每列是一种波：左快右慢，没有两行相同。",
    ),
    gates: (
        "An LSTM decides word by word: where the forget gate is high it keeps, where the input gate is high it writes.",
        "LSTM 逐词决定：遗忘门高则保留，输入门高则写入。",
    ),
    filters: (
        "Small filters slide over the sentence; each is shown on the words on which it fired most.",
        "小滤波器在句子上滑动；每个都标出它最响应的词。",
    ),
    features: (
        "The simplest rung explains itself exactly: weight times feature, and they add up to the score.",
        "最简单的一级能精确地解释自己：权重乘特征，加起来就是得分。",
    ),
    surprise: (
        "How surprising each token was to a language model of these sentences: after “tennis”, “ball” hardly surprises.",
        "这些句子的语言模型对每个词元有多意外：“网”之后的“球”不怎么意外。",
    ),
    alignment: (
        "What is read stands across, what is written down: the day comes last, whatever the order was in the source.",
        "横向是读入的，纵向是写出的：无论原文顺序如何，日总写在最后。",
    ),
    structure_lstm: (
        "An LSTM, unrolled over time, both ways: h₁ … hₙ share their weights.",
        "沿时间展开的双向 LSTM：h₁ … hₙ 共用一套权重。",
    ),
    structure_attention: (
        "Encoder, context C_t, decoder: at every step the decoder looks at all that was read.",
        "编码器、上下文 C_t、解码器：解码器每一步都回看读过的全部。",
    ),
    structure_transformer: (
        "Blocks of BERT: the first opened, the others are like it.",
        "BERT 的块：第一块展开，其余相同。",
    ),
}
HEADS = {
    "en": (
        "# Looking inside: a gallery",
        "`python docs/gallery.py` makes these pictures, from models that it trains "
        "first, on sentences of its own. `wenmai inspect` with `--out` makes the same of your run, and a page.",
    ),
    "zh": (
        "# 看进去：图廊",
        "这些图由 `python docs/gallery.py` 生成，模型先在它自造的句子上训练。"
        "`wenmai inspect` 加 `--out` 为你的运行生成同样的图，并有一个可以探索的网页。",
    ),
}


def main(wanted: list[str], folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    chosen = [draw for draw in TOLD if not wanted or draw.__name__ in wanted]
    titles = {}
    for draw in chosen:
        for lang in ("en", "zh"):
            panel = draw(lang)
            titles[draw, lang] = panel.title.told_in(lang), panel.caption.told_in(lang)
            file = f"{draw.__name__}.{lang}.svg"
            (folder / file).write_text(
                picture(panel, draw.__name__, ("svg",))[file], encoding="utf-8"
            )
            print(f"{file}: {(folder / file).stat().st_size:,} bytes", flush=True)
    if not wanted:
        for at, (lang, name) in enumerate((("en", "README.md"), ("zh", "README.zh.md"))):
            parts = [
                f"## {titles[draw, lang][0]}\n\n![{titles[draw, lang][0]}]({draw.__name__}.{lang}.svg)\n\n{told[at]}\n\n"
                f"> {titles[draw, lang][1]}\n"
                for draw, told in TOLD.items()
            ]
            (folder / name).write_text(
                "\n".join([f"{HEADS[lang][0]}\n\n{HEADS[lang][1]}\n", *parts]), encoding="utf-8"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
