"""translate: scores as sacrebleu and rouge-score give them, in the words of every script; and what is wrong with a side."""

import json
import lzma
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from wenmai.data.files.readers import Chunk
from wenmai.data.storage.saved import Unfit
from wenmai.data.text.special import OWN
from wenmai.errors import Mistake
from wenmai.layers.heads import Next
from wenmai.tasks import overlap
from wenmai.tasks.metrics import bundled, metric_named, resampled
from wenmai.tasks.translate import Translate

DATA = Path(os.environ.get("WENMAI_DATA") or Path(__file__).parents[3] / "shared" / "data")
ENGLISH = [
    "The cats were running over the bridge.",
    "A man in an orange hat stares at something.",
    "Nobody came, did they?",
]
ANSWERS = [
    "The cat runs over a bridge.",
    "A man in an orange hat stares at something.",
    "Nobody did.",
]
GERMAN = [
    "Zwei Männer stehen am Herd und bereiten Essen zu.",
    "Ein kleines Mädchen klettert in ein Spielhaus.",
    "Grüße",
]
CHINESE = ["今天天气很好，我们去公园。", "他是一名老师。", "机器翻译的方法研究"]
JAPANESE = ["これはペンです。", "彼は先生です。", "きょうは天気がいいですね。"]
THAI = ["สวัสดีครับ", "วันนี้อากาศดีมาก"]
RUSSIAN = ["Сегодня хорошая погода.", "Он учитель."]


def learned(targets, **options) -> Translate:
    task = Translate(**options)
    task.learn(targets)
    return task


@pytest.mark.parametrize(
    "targets, script, tokenize",
    [
        (ENGLISH, "english", "13a"),
        (GERMAN, "spaced", "13a"),
        (RUSSIAN, "spaced", "13a"),
        (CHINESE, "chinese", "zh"),
        (JAPANESE, "unspaced", "char"),
        (THAI, "unspaced", "char"),
        (["2026-11-15", "1999-01-01"], "english", "13a"),
    ],
)
def test_scores_are_sacrebleus(targets, script, tokenize):
    task, answers = (
        learned(targets),
        [text[: 2 * len(text) // 3] for text in targets[:-1]] + targets[-1:],
    )
    bleu = BLEU(tokenize=tokenize)
    assert task.script == script
    assert task.scores(answers, targets) == {
        "bleu": bleu.corpus_score(answers, [targets]).score,
        "chrf": CHRF().corpus_score(answers, [targets]).score,
        "exact_match": 1 / len(targets),
    } | (
        {"bleu_lower": overlap.lower_bleu(answers, targets, script)}
        if task.metric == "bleu" and tokenize == "13a"
        else {}
    )
    assert task.signature() == str(bleu.get_signature()) and f"tok:{tokenize}|" in task.signature()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.text("ab .,é中\n", max_size=12)] * 2), min_size=1, max_size=6))
def test_any_texts_can_be_scored(pairs):
    answers, targets = map(list, zip(*pairs))
    found = Translate(summarise=True).scores(answers, targets)
    assert all(0 <= found[name] <= 100 + 1e-9 for name in ("bleu", "chrf"))
    assert all(0 <= found[name] <= 1 for name in ("exact_match", "rouge_1", "rouge_2", "rouge_l"))


def test_rows_without_words_are_worth_nothing():
    nothing = {"bleu": 0.0, "bleu_lower": 0.0, "chrf": 0.0, "exact_match": 0.0}
    assert Translate().scores([], []) == nothing == Translate().scores(["", ""], ["a b", "c"])
    assert set(Translate(summarise=True).scores([], []).values()) == {0.0}


def test_lower_case_is_scored_too():
    shout = [text.upper() for text in ANSWERS]
    assert (
        overlap.lower_bleu(shout, ENGLISH)
        == BLEU(lowercase=True).corpus_score(ANSWERS, [ENGLISH]).score
    )
    found = Translate().scores(shout, ENGLISH)
    assert found["bleu_lower"] == overlap.lower_bleu(shout, ENGLISH) > 40 > found["bleu"]
    assert overlap.signature("english", lower=True) == "|".join(
        part.replace("mixed", "lc") for part in Translate().signature().split("|")
    )


def test_summaries_are_scored_as_rouge_score_does():
    """English with its own tokenizer and stems: "cats were running" has two words of "cat runs"."""
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    rows = [scorer.score(target, answer) for target, answer in zip(ENGLISH, ANSWERS)]
    found = learned(ENGLISH, summarise=True).scores(ANSWERS, ENGLISH)
    for name, theirs in (("rouge_1", "rouge1"), ("rouge_2", "rouge2"), ("rouge_l", "rougeL")):
        assert found[name] == pytest.approx(np.mean([row[theirs].fmeasure for row in rows]))
    plain = overlap.rouge(ANSWERS, ENGLISH, "english", stems=False)["rouge_1"].mean()
    assert plain < found["rouge_1"] and found.keys() > {"bleu", "chrf", "exact_match"}


def test_other_scripts_have_words_of_their_own():
    """rouge-score's own tokenizer knows nothing but a to z: of these it would see no word, or half of one."""
    assert overlap.rouge(["机器翻译 研究"], ["机器翻译的方法研究"], "chinese")[
        "rouge_l"
    ] == pytest.approx(2 * 6 / (6 + 9))
    assert overlap.rouge(["Погода хорошая"], ["хорошая погода"], "spaced")["rouge_l"] == 0.5
    assert overlap.rouge(["Männer"], ["Manner"], "spaced")["rouge_1"] == 0
    assert overlap.rouge(["GPT 模型"], ["gpt模型"], "chinese")["rouge_1"] == pytest.approx(
        2 / 5
    )  # as they are written


def lead(text: str) -> str:
    """The first 20 words."""
    return " ".join(text.split()[:20])


@pytest.mark.skipif(not (DATA / "aeslc").exists(), reason="the data set is not here")
def test_the_lead_of_an_email_as_its_subject():
    """ROUGE-L 12.2 without stems, 12.9 with them: the first 20 words of the body, on the test part."""
    with lzma.open(DATA / "aeslc" / "test.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    answers, targets = [lead(row["body"]) for row in rows], [row["subject"] for row in rows]
    task = Translate()
    task.prepare([row["body"] for row in rows], targets)
    task.learn(targets)
    assert (task.summarise, task.script) == (True, "english")
    assert (
        round(100 * overlap.rouge(answers, targets, task.script, stems=False)["rouge_l"].mean(), 1)
        == 12.2
    )
    assert round(100 * overlap.rouge(answers, targets, task.script)["rouge_l"].mean(), 1) == 12.9


@pytest.mark.skipif(not (DATA / "csl_title").exists(), reason="the data set is not here")
def test_the_lead_of_an_abstract_as_its_title():
    """ROUGE-L 31.1: the first 20 characters of the abstract, on the 500 rows of the dev part."""
    rows = [
        json.loads(line)
        for line in (DATA / "csl_title" / "csl_title_dev.json").read_text("utf-8").splitlines()
    ]
    task, targets = Translate(), [row["title"] for row in rows]
    task.prepare([row["abst"] for row in rows], targets)
    task.learn(targets)
    assert (task.summarise, task.script) == (True, "chinese")
    assert (
        round(100 * task.scores([row["abst"][:20] for row in rows], targets)["rouge_l"], 1) == 31.1
    )


@pytest.mark.parametrize(
    "source, target, summarises",
    [
        ("word " * 60, "a title", True),
        ("汉字" * 60, "一个标题", True),
        ("word " * 60, "eine Zeile " * 24, False),
        (
            "A sentence of English, of some length, which says what a sentence of Chinese says in a third of its letters, or so.",
            "一个有一定长度的英语句子，它所说的内容用中文大约三分之一的字就够了。",
            False,
        ),
        ("one million two hundred thirty-four thousand five hundred sixty-seven", "1234567", False),
        ("a", "b", False),
    ],
)
def test_lengths_say_what_is_a_summary(source, target, summarises):
    task = Translate()
    task.prepare([source] * 3, [target] * 3)
    assert (task.summarise, task.metric) == (summarises, "rouge_l" if summarises else "bleu")
    task.prepare(["word " * 60, "x"], ["y", "z" * 900])  # rows to be judged by change nothing
    assert task.summarise is summarises
    for said in (True, False):
        task = Translate(summarise=said)
        task.prepare([source], [target])
        assert task.summarise is said and task.metric == ("rouge_l" if said else "bleu")


def test_sets_drawn_again_have_the_metric_of_their_rows():
    task = learned(ENGLISH)
    counts = overlap.bleu_counts(ANSWERS, ENGLISH, "english")
    assert overlap.bleu_of(counts.sum(0)) == pytest.approx(
        BLEU().corpus_score(ANSWERS, [ENGLISH]).score
    )
    draws = np.random.default_rng(0).integers(0, 3, 3)
    some, wanted = ([texts[row] for row in draws] for texts in (ANSWERS, ENGLISH))
    for metric, score in (("bleu", BLEU().corpus_score), ("chrf", CHRF().corpus_score)):
        assert drawn_again(task, ANSWERS, ENGLISH, 5, metric)[0] == pytest.approx(
            score(some, [wanted]).score
        )
    task.metric = "rouge_l"
    assert drawn_again(task, ANSWERS, ENGLISH, 50).std() > 0 and set(
        drawn_again(task, ENGLISH, ENGLISH, 9)
    ) == {1.0}


def drawn_again(task, answers, targets, samples, metric=None):
    metric = metric or task.metric
    return resampled(
        bundled(task.score_terms(answers, targets, metric)), metric_named(metric), samples
    )


def test_it_reads_two_columns_and_is_saved_as_it_was():
    task = Translate()
    chunk = Chunk({"source": ["good day", 5], "target": ["guten Tag", "fünf"]}, [2, 3])
    assert (
        task.fits(["source", "target", "id"])
        and not task.fits(["source"])
        and not task.fits(["text", "label"])
    )
    assert task.inputs_of(chunk, "a.tsv") == ["good day", "5"] and task.targets_of(
        chunk, "a.tsv"
    ) == ["guten Tag", "fünf"]
    assert task.split_keys(["a", "b"], ["c", "d"]) == (["a", "b"], None)
    texts = SimpleNamespace(target=SimpleNamespace(vocabulary=9, special=OWN))
    assert (
        isinstance(task.head(texts), Next)
        and task.head(texts).tokens == 9
        and OWN.begin in task.head(texts).unwritten
    )
    task.learn(["guten Tag", "fünf"])
    task.prepare(["x " * 90] * 2, ["guten Tag", "fünf"])
    again = Translate.from_json(json.loads(json.dumps(task.to_json())))
    assert (
        vars(again)
        == vars(task)
        == {"summarise": True, "single": False, "script": "spaced", "metric": "rouge_l"}
    )
    told = {"summarise": True, "single": False, "script": "spaced"}
    for wrong in (
        {"name": "translate"},
        told | {"summarise": 1},
        told | {"script": "klingon"},
        told | {"single": None},
    ):
        with pytest.raises(Unfit):
            Translate.from_json(wrong)


@pytest.mark.parametrize(
    "columns, says",
    [
        (
            {"source": ["a", "b"], "target": ["c", "\t"]},
            "a.tsv, line 3: the target is empty; give it a text to write",
        ),
        (
            {"source": ["a", None], "target": ["c", "d"]},
            "a.tsv, line 3: found nothing in column source",
        ),
        (
            {"text": ["a", "b"], "target": ["c", "d"]},
            r"a.tsv has no column source \(found: text, target\)",
        ),
        (
            {"source": ["a", "b"], "text": ["c", "d"]},
            r"a.tsv has no column target \(found: source, text\)",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(columns, says):
    task, chunk = Translate(), Chunk(columns, [2, 3])
    with pytest.raises(Mistake, match=says) as caught:
        task.inputs_of(chunk, "a.tsv"), task.targets_of(chunk, "a.tsv")
    assert caught.value.message.chinese != caught.value.english


@pytest.mark.parametrize(
    "sources, targets, says",
    [
        (["a", ""], ["b", "c"], "row 2: the source is empty"),
        (["a", "b"], ["", "c"], "row 1: the target is empty"),
        (["a", 3], ["b", "c"], "row 2: expected a text, found int '3'"),
        (["a", "b"], ["b", None], "row 2: expected a text"),
        (np.ones((2, 3)), ["b", "c"], "found numbers; to translate"),
        (["a", "b"], ["c", "c"], r"found one target only \(c\) in 2"),
        ([], [], "found one target only"),
    ],
)
def test_what_is_wrong_in_python_is_said(sources, targets, says):
    task = Translate()
    with pytest.raises(Mistake, match=says):
        task.learn(task.prepare(sources, targets)[1])


@pytest.mark.parametrize(
    "module, package, score",
    [
        ("sacrebleu.metrics", "sacrebleu", lambda: Translate().scores(["a"], ["b"])),
        ("rouge_score.rouge_scorer", "rouge-score", lambda: overlap.rouge(["a"], ["b"], "english")),
    ],
)
def test_a_package_that_is_missing_is_named(module, package, score, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Mistake, match=f"takes the package {package}; run pip install {package}"):
        score()


def test_single_words_are_right_or_wrong():
    task = learned(["2026-11-15", "1999-01-02", "one two"])
    assert (
        task.metric == "exact_match" and Translate.from_json(task.to_json()).metric == "exact_match"
    )
    assert set(drawn_again(task, ["a", "b"], ["a", "b"], 9)) == {1.0}
    assert learned(["一千二百三十四", "七"]).metric == "bleu"
