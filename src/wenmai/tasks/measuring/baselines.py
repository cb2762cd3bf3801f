"""What can be had without a model: a row of every leaderboard that any rung has to beat, and that is never recommended. Each
gives its name, what it does, its scores on the test rows and what every row of a part adds to the metric.

majority    classify: always the most frequent class            usual tag   tag: of every token the tag that it had most often
mean        regress: always the mean of the training targets    last value  of a series: what was measured last
unigram     generate, compose: how often each token occurs      lead, copy  translate: the source's beginning, or all of it
usual word  pretrain (hidden_words.py): always the most frequent token
likest      answer: the sentence that shares most words with the question; choose: the choice that the context has most of
            reply: what a bag of words says: of the answers that were seen, the likeliest by the words of question and context
            transcribe: the most frequent text
"""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.sentence_places import sentences_of
from wenmai.data.text.tokenizers import WORD
from wenmai.language.spelling import Speller
from wenmai.locale import Message, phrase
from wenmai.tasks.measuring.rows import terms_of
from wenmai.tasks.measuring.running_text import sizes_in
from wenmai.tasks.metrics import METRICS, bundled, metric_named


class Baseline(NamedTuple):
    name: str
    words: Message
    about: Message
    scores: dict[str, float]
    terms: dict[str, np.ndarray]  # of the valid and of the test part


def of_rows(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Answers that follow from the training targets, or from what was measured last."""
    task = deepcopy(data.task)
    inputs, targets = task.prepare(*data.train.pair)
    task.learn(targets, data.train.where)
    name, words, about, answer = task.profile.unskilled(task, inputs, task.encode(targets))
    terms, scores = {}, {}
    for part in ("valid", "test"):
        inputs, expected = task.prepare(*getattr(data, part).pair)
        expected = task.encode(expected)
        decided = answer(inputs, expected)
        terms[part], scores = (
            terms_of(task, decided, expected, metric),
            task.scores(decided, expected),
        )
    return Baseline(name, words, about, scores, terms)


def majority(task, inputs, targets: np.ndarray) -> tuple:
    most = int(np.bincount(targets).argmax())
    about = Message(
        "Always answers {label}, the most frequent class of the training rows.",
        label=str(task.classes[most]),
    )
    return (
        "majority",
        phrase("baseline", "majority"),
        about,
        lambda inputs, expected: np.full(len(expected), most),
    )


def usual_tag(task, inputs, targets: Sequences) -> tuple:
    """Of a token that was never seen, and of frames, the most frequent of all."""
    most, usual = int(np.bincount(targets.flat).argmax()), {}
    if len(inputs) and isinstance(inputs[0], (list, tuple)):
        counts = Counter(zip((token for row in inputs for token in row), targets.flat.tolist()))
        for (token, tag), _ in reversed(counts.most_common()):
            usual[token] = tag

    def answer(inputs, expected: Sequences) -> Sequences:
        if not usual:
            return Sequences(np.full(len(expected.flat), most), expected.offsets)
        tags = (usual.get(token, most) for row in inputs for token in row)
        return Sequences(np.fromiter(tags, np.int64, len(expected.flat)), expected.offsets)

    about = Message("Gives every token the tag that it had most often in the training rows.")
    return "usual-tag", phrase("baseline", "usual tag"), about, answer


def words_of(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def likest_sentence(task, inputs, targets) -> tuple:
    """For every question the sentence of its context that shares most of its words; of equal ones the first."""

    def answer(inputs, expected) -> np.ndarray:
        answers = np.empty(len(inputs), object)
        for row, (context, question) in enumerate(inputs):
            asked = words_of(question)
            start, end = max(
                sentences_of(context),
                key=lambda place: len(words_of(context[slice(*place)]) & asked),
            )
            answers[row] = task.whole(context[start:end], start, end)
        return answers

    about = Message(
        "Answers with the sentence of the context that shares most words with the question."
    )
    return "likest-sentence", phrase("baseline", "likest sentence"), about, answer


def likest_choice(task, inputs, targets) -> tuple:
    """The choice whose words stand in the context most, counted as a share; of equal ones the first."""

    def answer(inputs, expected) -> np.ndarray:
        chosen = []
        for context, _, choices in inputs:
            known = words_of(context)
            chosen.append(
                int(
                    np.argmax(
                        [
                            len(words_of(choice) & known) / max(1, len(words_of(choice)))
                            for choice in choices
                        ]
                    )
                )
            )
        return np.array(chosen, np.int64)

    about = Message("Chooses the answer whose words stand in the context most.")
    return "likest-choice", phrase("baseline", "likest choice"), about, answer


def mean_or_last(task, inputs, targets) -> tuple:
    if task.history:
        about = Message("Forecasts that everything stays as it was measured last.")
        return (
            "last-value",
            phrase("baseline", "last value"),
            about,
            lambda inputs, expected: np.repeat(
                inputs.flat[inputs.offsets[1:] - 1, :1], task.horizon, 1
            ),
        )
    about = Message("Always answers the mean of the training targets.")

    def answer(inputs, expected):
        if isinstance(expected, Sequences):
            return Sequences(np.tile(task.mean, (len(expected.flat), 1)), expected.offsets)
        return np.tile(task.mean, (len(expected), 1))

    return "mean", phrase("baseline", "mean"), about, answer


def unigram(counts: np.ndarray) -> np.ndarray:
    """log p of every token, each counted once more than it was seen."""
    return np.log((counts + 1) / (counts.sum() + len(counts)))


UNIGRAM = Message("Knows only how often each token occurs in the training texts.")


def of_text(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Of the same tokens as the model has that is `loaded`."""
    lines, terms = loaded().inputs_, {}
    log_probs = unigram(np.bincount(lines.read_all(data.train.inputs)[1:], minlength=len(lines)))
    speller = Speller.of(lines)
    for part in ("valid", "test"):
        blocks = []
        for block in getattr(data, part).inputs.blocks():
            tokens, starts = lines.numbers(block)
            lost = -np.add.reduceat(log_probs[tokens], starts[:-1])
            blocks.append(
                (lost, np.diff(starts), sizes_in(block), speller.lines_cost(lines, block))
            )
        terms[part] = bundled([np.concatenate(column) for column in zip(*blocks)])
    return Baseline(
        "unigram", phrase("baseline", "unigram"), UNIGRAM, scores_of(terms["test"]), terms
    )


def of_compositions(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    estimator = loaded()
    target, task, terms = estimator.inputs_.target, estimator.task_, {}
    log_probs = unigram(
        np.bincount(target.encode(data.train.targets).flat, minlength=target.vocabulary)
    )
    most, scores = Counter(data.train.targets).most_common(1)[0][0], {}
    for part in ("valid", "test"):
        texts = list(getattr(data, part).targets)
        written, right = target.encode(texts), np.array([text == most for text in texts])
        lost = -np.add.reduceat(log_probs[written.flat], written.offsets[:-1])
        each = bundled(
            (
                lost,
                written.lengths,
                task.sizes(estimator.trained(), written, texts),
                np.zeros(len(texts)),
            )
        )
        scores = scores_of(each) | {"exact_match": float(right.mean())}
        terms[part] = bundled((right, np.ones(len(texts)))) if metric == "exact_match" else each
    return Baseline("unigram", phrase("baseline", "unigram"), UNIGRAM, scores, terms)


def usual_text(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Of texts that are written out, the most frequent of the training rows, whatever is heard."""
    most, terms, scores = Counter(data.train.targets).most_common(1)[0][0], {}, {}
    for part in ("valid", "test"):
        targets = list(getattr(data, part).targets)
        answers = [most] * len(targets)
        terms[part] = bundled(data.task.score_terms(answers, targets, metric))
        scores = data.task.scores(answers, targets)
    about = Message(
        "Always answers {label}, the most frequent answer of the training rows.", label=most
    )
    return Baseline("usual-text", phrase("baseline", "usual text"), about, scores, terms)


def bag_of_words(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Of answers that are written out: naive Bayes over the words of the question and those of the context, each told apart."""
    say, terms, scores = naive_bayes(*data.train.pair), {}, {}
    for part in ("valid", "test"):
        inputs, targets = getattr(data, part).pair
        answers = say(inputs)
        terms[part] = bundled(data.task.score_terms(answers, list(targets), metric))
        scores = data.task.scores(answers, list(targets))
    about = Message(
        "Gives the answer of the training rows that the words of question and context make likeliest, in no order."
    )
    return Baseline("bag-of-words", phrase("baseline", "bag of words"), about, scores, terms)


def naive_bayes(inputs, targets) -> Callable[[list], list[str]]:
    """argmax over answers a of log p(a) + Σ_w log p(w | a) over the question and the context, weighed as if
    both had as many words. A word counts once a text, and once more than it was seen."""
    answers = {text: number for number, text in enumerate(dict.fromkeys(targets))}
    rows, known = [bag(pair) for pair in inputs], {}
    for row in rows:
        for word in row:
            known.setdefault(word, len(known))
    counts, seen = np.ones((len(known) + 1, len(answers))), np.zeros(len(answers))
    for row, target in zip(rows, targets):
        counts[[known[word] for word in row], answers[target]] += 1
        seen[answers[target]] += 1
    log_probs, first, texts = np.log(counts / (seen + 2)), np.log(seen / seen.sum()), list(answers)

    def say(inputs) -> list[str]:
        guesses = []
        for pair in inputs:
            context, question = (
                [known[word] for word in bag(pair) if word in known and word[0] == side]
                for side in (0, 1)
            )
            weight = len(question) / max(1, len(context))
            scores = first + log_probs[question].sum(0) + weight * log_probs[context].sum(0)
            guesses.append(texts[int(scores.argmax())])
        return guesses

    return say


def bag(pair) -> set[tuple[int, str]]:
    """The words of context and question, each with which of the two it stands in."""
    return {(side, word) for side, text in enumerate(pair[:2]) for word in words_of(text)}


def scores_of(terms: np.ndarray) -> dict[str, float]:
    sums = terms.sum(0)
    return {
        name: float(METRICS[name].shown(metric_named(name).formula(sums)))
        for name in ("perplexity", "bits_per_byte")
    }


def of_translations(data: Dataset, metric: str, first, count: int | None) -> Baseline:
    """`first`: (texts, so many words or characters) → the beginnings of them; without a count all of them."""
    task, terms, scores = data.task, {}, {}
    for part in ("valid", "test"):
        rows: Part = getattr(data, part)
        answers = list(rows.inputs) if count is None else first(rows.inputs, count)
        terms[part], scores = (
            bundled(task.score_terms(answers, rows.targets, metric)),
            task.scores(answers, rows.targets),
        )
    if count is None:
        return Baseline(
            "copy",
            phrase("baseline", "source as it is"),
            Message("Writes the source as it is."),
            scores,
            terms,
        )
    about = Message("Takes the beginning of every source as its summary.")
    return Baseline("lead", phrase("baseline", "lead"), about, scores, terms)
