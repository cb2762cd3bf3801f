"""How much of a text stands in another: BLEU, chrF and ROUGE, counted by sacrebleu and rouge-score.

    BLEU = 100 · b · (p_1 p_2 p_3 p_4)^¼      p_n: precision of n words in a row;  b = min(1, e^(1 − r/c))
    chrF = 100 · 5PR / (4P + R)               of 1 to 6 characters in a row, the mean of six (Popović 2015)
    ROUGE-1, -2 = 2PR / (P + R)               of one word, of two; ROUGE-L: of the longest common subsequence (Lin 2004)

BLEU and chrF are of all rows at once (Papineni et al. 2002; c, r: how long answers and targets are), ROUGE is the mean over rows.
What a word is depends on how a language is written:

    english    BLEU 13a    ROUGE: letters a–z and digits, lower case, Porter's stems, as is usual in papers on summaries
    spaced     BLEU 13a    ROUGE: words of any letters, lower case
    chinese    BLEU zh     ROUGE: characters
    unspaced   BLEU char   ROUGE: characters      Japanese, Thai, Lao, Khmer, Burmese, Tibetan
"""

import re
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Literal, get_args

import numpy as np

from wenmai.data.text.languages import languages_in
from wenmai.errors import Mistake

Script = Literal["english", "spaced", "chinese", "unspaced"]
SCRIPTS = get_args(Script)
UNSPACED = ("ja", "th", "lo", "km", "my", "bo")
FOREIGN = 0.005  # of the letters lie outside a–z: more than in English, less than in any language that has such letters
WORD = re.compile(r"\w+")


def script_of(texts: Sequence[str]) -> Script:
    shares = languages_in(texts)
    chinese, unspaced = (
        shares.get("zh", 0) + shares.get("zh-Hant", 0),
        sum(shares.get(code, 0) for code in UNSPACED),
    )
    if chinese + unspaced > 0.5:
        return "chinese" if chinese >= unspaced else "unspaced"
    letters = [letter for text in texts[:2000] for letter in text if letter.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    return "spaced" if foreign > FOREIGN * len(letters) else "english"


def bleu(script: Script, lower: bool = False):
    """sacrebleu's BLEU for this script. Texts that look tokenised are scored like all others, without a warning."""
    tokenize = {"chinese": "zh", "unspaced": "char"}.get(script, "13a")
    return package("sacrebleu.metrics").BLEU(tokenize=tokenize, lowercase=lower, force=True)


def signature(script: Script, lower: bool = False) -> str:
    """What BLEU was counted and how, in sacrebleu's words: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…"""
    metric = bleu(script, lower)
    metric.corpus_score(["a"], [["a"]])  # how many references there are is known by then
    return str(metric.get_signature())


def bleu_and_chrf(answers: list[str], targets: list[str], script: Script) -> dict[str, float]:
    if not answers:
        return {"bleu": 0.0, "chrf": 0.0}
    chrf = package("sacrebleu.metrics").CHRF()
    return {
        "bleu": bleu(script).corpus_score(answers, [targets]).score,
        "chrf": chrf.corpus_score(answers, [targets]).score,
    }


def chrf_of_each(answers: list[str], targets: list[str]) -> np.ndarray:
    """chrF of every row by itself (N,)."""
    chrf = package("sacrebleu.metrics").CHRF()
    return np.array(
        [chrf.sentence_score(answer, [target]).score for answer, target in zip(answers, targets)],
        np.float64,
    )


def lower_bleu(answers: list[str], targets: list[str], script: Script = "english") -> float:
    """Of text in lower case, and cut into words as ever: so many public runs of small models are scored."""
    return bleu(script, lower=True).corpus_score(answers, [targets]).score if answers else 0.0


def bleu_counts(answers: list[str], targets: list[str], script: Script) -> np.ndarray:
    """(N, 10): n-grams that are right, n-grams, and tokens of each row and its target; BLEU is a function of their sums."""
    metric = bleu(script)
    rows = [metric.corpus_score([answer], [[target]]) for answer, target in zip(answers, targets)]
    return np.array(
        [[*row.counts, *row.totals, row.sys_len, row.ref_len] for row in rows], np.int64
    ).reshape(-1, 10)


def bleu_of(sums: np.ndarray) -> np.ndarray:
    """Of such counts, summed over rows (…, 10)."""
    count = package("sacrebleu.metrics").BLEU.compute_bleu

    def one(row: np.ndarray) -> float:
        right, all_of_them, (answered, expected) = (
            row[:4].tolist(),
            row[4:8].tolist(),
            row[8:].tolist(),
        )
        return count(
            right, all_of_them, answered, expected, smooth_method="exp"
        ).score  # as corpus_score does

    return np.apply_along_axis(one, -1, np.rint(sums).astype(np.int64))


def chrf_counts(answers: list[str], targets: list[str]) -> np.ndarray:
    """(N, 18): of 1 to 6 characters in a row, how many there are in each row and its target, and how many of them in both."""
    rows = []
    for answer, target in zip(answers, targets):
        ours, theirs = "".join(answer.split()), "".join(target.split())
        both = [
            [
                Counter(text[at : at + size] for at in range(len(text) - size + 1))
                for text in (ours, theirs)
            ]
            for size in range(1, 7)
        ]
        rows.append(
            [
                count
                for one, other in both
                for count in (one.total(), other.total(), (one & other).total())
            ]
        )
    return np.array(rows, np.int64).reshape(-1, 18)


def chrf_of(sums: np.ndarray) -> np.ndarray:
    """Of such counts, summed over rows (…, 18): as sacrebleu has it, sizes that nobody has are left out of the means."""
    answered, expected, right = np.moveaxis(
        sums.reshape(*sums.shape[:-1], 6, 3), -1, 0
    )  # (…, 6) each
    there = (answered > 0) & (expected > 0)
    count = np.maximum(1, there.sum(-1))
    precision, recall = (
        (right / np.maximum(1, side) * there).sum(-1) / count for side in (answered, expected)
    )
    return 500 * precision * recall / np.maximum(4 * precision + recall, 1e-300)


def rouge(
    answers: list[str], targets: list[str], script: Script, stems: bool = True
) -> dict[str, np.ndarray]:
    """rouge_1, rouge_2 and rouge_l of every row (N,)."""
    words = SimpleNamespace(tokenize=lambda text: WORD.findall(text.lower()))
    characters = SimpleNamespace(
        tokenize=lambda text: list("".join(text.split()))
    )  # as they stand, without white space
    own = {"english": None, "spaced": words}.get(script, characters)
    scorer = package("rouge_score.rouge_scorer").RougeScorer(
        ["rouge1", "rouge2", "rougeL"], stems, tokenizer=own
    )
    rows = [scorer.score(target, answer) for target, answer in zip(targets, answers)]
    names = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}
    return {
        name: np.array([row[theirs].fmeasure for row in rows], np.float64)
        for name, theirs in names.items()
    }


def package(module: str):
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0].replace("_", "-")
        raise Mistake(
            "to score what was written takes the package {package}; run pip install {package2}.",
            package=name,
            package2=name,
        ) from None
