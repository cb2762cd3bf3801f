"""compare on running text: differences told in percent, and bits per byte where texts are cut differently."""

import re
from math import exp

import numpy as np
import pytest

from wenmai import LanguageModel
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.evaluation.compare import compare
from wenmai.evaluation.recommendation import recommend
from wenmai.evaluation.report import write
from wenmai.language.spelling import Speller
from wenmai.tasks.measuring.running_text import sizes_in, text_terms
from wenmai.tasks.metrics import confidence_interval, drawn, metric_named

LINES = [
    f"{who} {does} {what}"
    for who in ("the cat", "a dog", "the mat")
    for does in ("sat on", "saw", "is")
    for what in ("it", "a log", "them")
] * 6


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A word model and a character model of the same text."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "corpus.txt").write_text("\n".join(LINES) + "\n")
    data = open_dataset(str(folder / "corpus.txt"), TASKS, valid="0.1", test="0.2")
    LanguageModel("ngram", order=4, tokenizer="characters").fit(data.train.inputs).save(
        folder / "letters"
    )

    def done(**more) -> dict:
        steps = compare(data, 0.02, ["ngram"], out=folder / "runs", **more)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    return done(with_runs=(str(folder / "letters"),)), done(), folder


def test_models_that_cut_texts_differently_are_ranked_by_bits_per_byte(report, tmp_path):
    both, alone, _ = report
    assert both["metric"] == "bits_per_byte" and alone["metric"] == "perplexity"
    assert any("ranked by bits per byte" in note for note in both["notes"]) and "ranked" not in str(
        alone["notes"]
    )
    scores = {row["rung"]: row["scores"]["test"] for row in both["rungs"]}
    assert [row["rung"] for row in both["rungs"]] == sorted(
        scores, key=lambda name: scores[name]["bits_per_byte"]
    )
    for row in both["rungs"]:
        low, high = row["interval"]
        assert low <= scores[row["rung"]]["bits_per_byte"] <= high
    word = next(row for row in both["rungs"] if row["rung"] == "ngram")
    assert word["sizes"][-1]["score"] == pytest.approx(scores["ngram"]["bits_per_byte"], rel=1e-6)
    assert word["unit"] == "word" and all(
        "每字节比特数" in note for note in both["notes_zh"] if "排名" in note
    )
    written = {path.name: path for path in write(both, tmp_path)}
    assert "bits per byte" in written["report.md"].read_text()


def test_with_less_text_the_same_words_are_known(report):
    """Else a model of little text would look good: it would be paid for <unk>."""
    _, alone, _ = report
    sizes = alone["rungs"][0]["sizes"]
    assert sizes[0]["score"] > sizes[-1]["score"]


def test_a_difference_of_perplexities_is_told_in_percent():
    chance = np.random.default_rng(0)
    tokens = chance.integers(3, 20, 300).astype(float)
    best = tokens * chance.normal(4, 0.5, 300)
    other = best + tokens * chance.normal(0.02, 0.2, 300)
    how = metric_named("perplexity")
    outputs = {
        name: drawn([np.column_stack([lost, tokens])], how)
        for name, lost in (("large", best), ("small", other))
    }
    rows = [
        {
            "rung": name,
            "failed": None,
            "bytes": size,
            "scores": {"test": {"perplexity": exp(lost.sum() / tokens.sum())}},
        }
        for name, size, lost in (("large", 900, best), ("small", 100, other))
    ]
    found = recommend(rows, outputs, "perplexity", 300)
    low, high = confidence_interval(outputs["small"].samples - outputs["large"].samples)
    told = [float(number) for number in re.findall(r"([+-][\d.]+)%", found["reason"])]
    assert found["rung"] == "small" and told == [
        pytest.approx(100 * (exp(edge) - 1), abs=0.06) for edge in (low, high)
    ]
    assert re.findall(r"[+-][\d.]+%", found["reason_zh"]) == re.findall(
        r"[+-][\d.]+%", found["reason"]
    )
    for row in rows:
        row["scores"]["test"]["bits_per_byte"] = 1.0
    assert "%" not in recommend(rows, outputs, "bits_per_byte", 300)["reason"].replace("(95%", "")


def test_sizes_of_lines():
    assert sizes_in(b"ab\n\nc").tolist() == [3, 1, 2] and sizes_in("é\n".encode()).tolist() == [3]


def test_unknown_words_are_paid_for(tmp_path):
    """A model of a few words, to which nearly all others are <unk>, is no better than one of letters: it has to spell them."""
    words = [
        f"{first}{last}"
        for first in ("ab", "re", "un", "dis")
        for last in ("ford", "ton", "ville", "ley", "worth", "by")
    ]
    chance = np.random.default_rng(0)
    lines = [" ".join(chance.choice(words, 8)) for _ in range(300)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    data = open_dataset(str(tmp_path / "text.txt"), TASKS, valid="0.1", test="0.2")
    models = {
        "few": LanguageModel("ngram", order=2, vocabulary=6),
        "all": LanguageModel("ngram", order=2),
        "letters": LanguageModel("ngram", order=6, tokenizer="characters"),
    }
    found = {}
    for name, model in models.items():
        terms = text_terms(model.fit(data.train.inputs), data.task, data.test, "perplexity")
        found[name] = model.evaluate(data.test.inputs, spell_unknown=True)
        assert found[name]["bits_per_byte_spelled"] == pytest.approx(
            metric_named("bits_per_byte").formula(terms.sum(0))
        )
        assert any("spelled: the" in note for note in found[name].notes)
    assert (
        found["few"]["bits_per_byte"] < found["letters"]["bits_per_byte"]
    )  # it looks better than it is
    least = (
        np.log2(len(words)) * 8 / np.mean([len(line) + 1 for line in lines])
    )  # nobody can know more of words drawn by chance
    assert found["few"]["bits_per_byte_spelled"] > found["all"]["bits_per_byte_spelled"] >= least
    assert (
        found["few"]["bits_per_byte_spelled"] > found["letters"]["bits_per_byte_spelled"] >= least
    )
    for name in ("all", "letters"):  # who know all of it pay nothing
        assert found[name]["bits_per_byte_spelled"] == found[name]["bits_per_byte"]


def test_a_spelling_is_a_probability():
    """Of all texts of up to two bytes and the others together, no more than one; what is like the known ones costs less."""
    speller = Speller([b"aba", b"abba", "\u4e2d".encode()])
    whole = exp(speller.log_prob(b"")) + sum(
        exp(speller.log_prob(bytes([one]))) for one in range(256)
    )
    assert 0 < whole < 1 and speller.log_prob(b"abab") > speller.log_prob(b"zqzq") > -np.inf
    first = [exp(speller.log_prob(bytes([one]))) for one in b"ab"]
    assert first[0] > first[1]
    lines = LanguageModel("ngram", vocabulary=4).fit(["the cat the cat", "the end"] * 4).inputs_
    costs = Speller.of(lines).lines_cost(lines, "the the\nthe 猫 end\n".encode())
    speller = Speller.of(lines)
    assert costs.tolist() == [
        0.0,
        pytest.approx(-speller.log_prob("猫".encode()) - speller.log_prob(b"end")),
    ]
