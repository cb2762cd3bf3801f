"""sparsity: most n-grams of a new text were never seen, the more the longer they are; smoothing decides what that costs.

The last tenth of a text is held out. Of the rest 1/64, 1/16, 1/4 and all is counted, and every smoothing of every order is asked
for the perplexity of what is held out (as Chen & Goodman 1999 compare them). All of them know the same words, those of all of the
training text, so that their perplexities can be compared; other words are <unk>."""

import time
from collections.abc import Iterator
from math import exp, inf, log
from typing import get_args

import numpy as np

from wenmai.data.dataset import open_table
from wenmai.data.files.columns import listed
from wenmai.data.files.corpus import Corpus
from wenmai.data.text.lines import Lines
from wenmai.data.text.vocabulary import BEGIN, END, UNK
from wenmai.errors import Mistake
from wenmai.evaluation.probes.finding import Finding, Grid
from wenmai.evaluation.probes.sparsity_picture import picture
from wenmai.locale import Message, phrase
from wenmai.models.ngram import held_out
from wenmai.models.ngram.additive import fitted_delta
from wenmai.models.ngram.arpa import HIGHEST
from wenmai.models.ngram.counts import NONE, Level, count
from wenmai.models.ngram.estimation import last_tenth
from wenmai.models.ngram.numbering import Numbering
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.weights import Smoothing
from wenmai.options import assign_options
from wenmai.training.progress import Progress

SHARES = {"1/64": 1 / 64, "1/16": 1 / 16, "1/4": 1 / 4, "all": 1.0}
HELD = 0.1
SMOOTHINGS = get_args(Smoothing)
LINES, TOKENS = 100, 1000  # fewer cannot be cut into 64 parts
MOST = 5_000_000  # tokens that are counted
SAMPLE = 1 << 20  # bytes by which the tokens of a longer text are told


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    """Nothing here is drawn by chance, so the seed changes nothing."""
    began = time.perf_counter()
    assigned = assign_options(settings or {}, {"probe": cells, "text": Lines.learn})
    full_text = text_of(source, columns)
    text = beginning(full_text, assigned["text"])
    train, held = text.parts([HELD])
    lines = Lines.learn(train, **assigned["text"])
    tokens, asked = (
        np.concatenate([np.zeros(0, np.int32), *lines.token_blocks(part)]) for part in (train, held)
    )
    numbering = Numbering(lines.special, len(lines))
    tokens, asked = numbering.numbers(tokens), numbering.numbers(asked)
    check(source, tokens, asked)
    amounts = yield from cells(tokens, asked, numbering.size, **assigned["probe"])
    known = {
        "probe": "sparsity",
        "data": source,
        "unit": lines.unit,
        "tokenizer": lines.name,
        "vocabulary": numbering.size,
        "held_out": {
            "lines": int((asked == END).sum()),
            "tokens": counted(asked),
            "unknown": int((asked == UNK).sum()),
        },
        "orders": list(range(1, len(amounts[-1]["unseen"]) + 1)),
        "amounts": amounts,
        "seconds": round(time.perf_counter() - began, 2),
    }
    title = Message("{source}: why n-grams need smoothing", source=source)
    return Finding(
        known,
        title,
        tables,
        picture,
        conclusions(known),
        measured(known, text.size < full_text.size),
    )


# The text


def text_of(source: str, columns: dict[str, str] | None) -> Corpus:
    from wenmai.tasks.generate import (
        Generate,
    )  # it loads torch, which the list of probes does without

    table = open_table(source, columns)
    if "text" not in table.names:
        raise Mistake(
            "{source} has the columns {columns}, expected one named text; name it with --columns text=NAME.",
            source=source,
            columns=listed(table.names),
        )
    text = Generate().corpus_of(table)
    text.check()
    return text


def beginning(text: Corpus, options: dict) -> Corpus:
    """As much of the text as holds about so many tokens that MOST are left to learn from."""
    most = MOST / (1 - HELD)
    if text.size < most:  # no token is shorter than a byte
        return text
    sample = Corpus(text.source, text.read, text.start, text.after_line(text.start + SAMPLE))
    lines = Lines.learn(sample, **options)
    tokens = sum(int((block != lines.opening).sum()) for block in lines.token_blocks(sample))
    return Corpus(
        text.source,
        text.read,
        text.start,
        text.after_line(text.start + int(most / tokens * sample.size)),
    )


def check(source: str, tokens: np.ndarray, held: np.ndarray) -> None:
    lines, total = int((tokens == END).sum() + (held == END).sum()), counted(tokens) + counted(held)
    if lines < LINES or total < TOKENS or not counted(held):
        raise Mistake(
            "{source}: found {lines:,} lines with {tokens:,} tokens, expected at least {least} with {fewest:,}, of "
            "which 1/64 can be counted; give more text.",
            source=source,
            lines=lines,
            tokens=total,
            least=LINES,
            fewest=TOKENS,
        )


def counted(tokens: np.ndarray) -> int:
    """Words and ends of lines."""
    return int((tokens != BEGIN).sum())


# The cells


def cells(tokens: np.ndarray, held: np.ndarray, vocabulary: int, *, orders: int = 5) -> Iterator:
    """Every amount of text with its shares of unseen n-grams and its perplexities; `orders`: up to which order, 1 to 7."""
    if not 1 <= orders <= HIGHEST:
        raise Mistake(
            "orders={orders}: expected 1 to {most}, up to which order n-grams are counted.",
            orders=orders,
            most=HIGHEST,
        )
    openings, amounts, began = (
        np.append(np.flatnonzero(tokens == BEGIN), len(tokens)),
        [],
        time.perf_counter(),
    )
    real, place = held != BEGIN, held_out.places(held, BEGIN)
    for name, share in SHARES.items():
        text = tokens[: openings[np.searchsorted(openings, share * len(tokens))]]
        levels, cut = count(text, vocabulary, orders, BEGIN), last_tenth(text)
        inner = count(text[:cut], vocabulary, orders, BEGIN) if cut else []
        ends = held_out.ends(levels, held, BEGIN)
        row = {
            "share": name,
            "lines": int((text == END).sum()),
            "tokens": counted(text),
            "ngrams": list(map(len, levels)),
            "unseen": [unseen(levels, ends[n], n, real & (place >= n)) for n in range(orders)],
            "delta": [],
            "perplexity": {kind: [] for kind in SMOOTHINGS},
            "stand_ins": 0,
        }
        for n in range(1, orders + 1):
            yield (
                name,
                Message("order {order}", order=n),
                Progress(n - 1, orders, share, inf, 0.0, time.perf_counter() - began),
            )
            row["delta"].append(fitted_delta(inner[:n], text[cut:], BEGIN) if cut else 1.0)
            for kind in SMOOTHINGS:
                smoothed = smooth(levels[:n], kind, BEGIN, row["delta"][-1])
                mean = -held_out.log_probs(smoothed.levels, ends[:n])[real].mean() * log(10)
                row["perplexity"][kind].append(exp(mean) if mean < 700 else inf)
                row["stand_ins"] += bool(smoothed.notes)
        yield (
            name,
            Message("order {order}", order=orders),
            Progress(orders, orders, share, inf, 0.0, time.perf_counter() - began),
        )
        amounts.append(row)
    return amounts


def unseen(levels: list[Level], ends: np.ndarray, n: int, complete: np.ndarray) -> float:
    """Which share of the n-grams held out, each as often as it stands there, was not counted; `n` is their order less one."""
    known = levels[0].count[ends[complete]] > 0 if n == 0 else ends[complete] != NONE
    return 1 - float(known.mean()) if len(known) else 1.0


# What is told of them


def measured(known: dict, cut_off: bool) -> list[str]:
    """How it was measured, and what to be wary of."""
    last, held, amounts = known["amounts"][-1], known["held_out"], known["amounts"]
    notes = [
        Message(
            "the last tenth is held out: {lines1:,} lines with {tokens1:,} tokens, ends of lines among them; all is "
            "{lines2:,} lines with {tokens2:,} tokens before it, and parts of it are its first lines",
            lines1=held["lines"],
            tokens1=held["tokens"],
            lines2=last["lines"],
            tokens2=last["tokens"],
        ),
        Message(
            "all cells know the same {vocabulary:,} tokens, those of all of the training text, so that their "
            "perplexities can be compared; {unknown:,} of the tokens held out count as <unk>",
            vocabulary=known["vocabulary"],
            unknown=held["unknown"],
        ),
        Message(
            "an n-gram lies in one line, with what opens and closes it; unseen ones count as often as they are there"
        ),
    ]
    if cut_off:
        notes.append(
            Message(
                "the text is long: only its beginning is read, about {most:,} tokens to learn from",
                most=MOST,
            )
        )
    if stand_ins := sum(amount["stand_ins"] for amount in amounts):
        notes.append(
            Message(
                "in {stand_ins} of the {cells} cells fixed discounts stand in for estimates, since too few "
                "n-grams were seen once or twice, or the counts run the wrong way",
                stand_ins=stand_ins,
                cells=len(amounts) * len(known["orders"]) * len(SMOOTHINGS),
            )
        )
    return notes


def conclusions(known: dict) -> list[str]:
    """What to look at."""
    last, highest = known["amounts"][-1], known["orders"][-1]
    score, kind, order = min(
        (value, kind, n)
        for kind, row in last["perplexity"].items()
        for n, value in enumerate(row, 1)
    )
    gist = [
        Message(
            "Never seen in all of the training text: {words:.1%} of the 1-grams held out, and {longest:.1%} of the "
            "{order}-grams.",
            words=last["unseen"][0],
            longest=last["unseen"][-1],
            order=highest,
        )
    ]
    lost = next((n for n, value in enumerate(last["perplexity"]["none"], 1) if value == inf), None)
    if lost:
        gist.append(
            Message(
                "Without smoothing one of them is enough: from order {order} on the held-out text has probability 0 "
                "and its perplexity is infinite.",
                order=lost,
            )
        )
    ones = last["perplexity"]["add-one"]
    best = min(range(len(ones)), key=ones.__getitem__)
    gist.append(
        Message(
            "The lowest perplexity is {perplexity1}, by {smoothing} at order {order1}; add-one is at its best at "
            "order {order2} with {perplexity2} and has {perplexity3} at order {order3}.",
            perplexity1=shown(score),
            smoothing=kind,
            order1=order,
            order2=best + 1,
            perplexity2=shown(ones[best]),
            perplexity3=shown(ones[-1]),
            order3=highest,
        )
    )
    return gist


def tables(known: dict, lang: str) -> list[Grid]:
    """The perplexities of all of the text first, then what was unseen, then the perplexities of less text."""
    orders = [str(n) for n in known["orders"]]
    head = [Message("amount of text").told_in(lang), phrase("count", "tokens").told_in(lang)]
    grids = [
        Grid(
            Message("Share of n-grams never seen").told_in(lang),
            [*head, *(Message("{order}-grams", order=n).told_in(lang) for n in orders)],
            [
                [
                    amount_name(row["share"], lang),
                    f"{row['tokens']:,}",
                    *(f"{share:.1%}" for share in row["unseen"]),
                ]
                for row in known["amounts"]
            ],
        )
    ]
    for row in reversed(known["amounts"]):
        heading = Message(
            "Perplexity of the held-out text, {amount}", amount=amount_name(row["share"], lang)
        ).told_in(lang)
        columns = [
            Message("smoothing").told_in(lang),
            *(Message("order {order}", order=n).told_in(lang) for n in orders),
        ]
        rows = [[kind, *map(shown, values)] for kind, values in row["perplexity"].items()]
        grids.append(Grid(heading, columns, rows))
    return [grids[1], grids[0], *grids[2:]]


def amount_name(share: str, lang: str) -> str:
    if share == "all":
        return Message("all of the text").told_in(lang)
    return Message("{share} of the text", share=share).told_in(lang)


def shown(perplexity: float) -> str:
    return (
        "∞"
        if perplexity == inf
        else f"{perplexity:,.1f}"
        if perplexity < 1000
        else f"{perplexity:,.0f}"
    )
