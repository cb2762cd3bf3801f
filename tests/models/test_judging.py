"""Other ways to judge a running text, each against its formula written out slowly."""

import math

import numpy as np
import pytest
import torch

from wenmai import LanguageModel, Mistake
from wenmai.data.text.vocabulary import NUMBERED
from wenmai.language import dynamic
from wenmai.language.continuous_cache import ContinuousCache
from wenmai.language.scoring import Reader, as_tensor, windows
from wenmai.models.token_scores import TokenScores

TEXT = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat saw the dog",
    "the dog saw a cat on the mat",
    "",
    "the mat is on the log",
    "a dog is a dog",
    "the cat is on the dog",
] * 3
HELD = [
    "the cat is a cat",
    "the mat saw the log",
    "a zebra sat on a cat",
    "a cat is on the log",
    "the dog is a mat",
] * 3
SMALL = {
    "ngram": {"order": 3},
    "gpt": {"width": 24, "layers": 2, "heads": 2, "context": 12},
    "cnn": {"filters": 24, "layers": 2},
}
RUNGS = ["ngram", "mlp", "cnn", "lstm", "rnn-gated", "gpt"]
NETWORKS = RUNGS[1:]
END = NUMBERED.end  # of words between spaces
WINDOWED = ["rnn-gated", "gpt"]


@pytest.fixture(scope="module")
def trained():
    """Each once; nothing here may change one."""
    models = {}

    def one(rung: str) -> LanguageModel:
        if rung not in models:
            options = SMALL.get(
                rung, {"hidden": 24} | ({"context": 12} if rung == "rnn-gated" else {})
            )
            steps = {} if rung == "ngram" else {"steps": 30}
            models[rung] = LanguageModel(rung, **options | steps).fit(TEXT)
        return models[rung]

    return one


def numbers(model: LanguageModel, lines: list[str]) -> np.ndarray:
    return model.inputs_.numbers("".join(f"{line}\n" for line in lines).encode())[0]


# Windows


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 17, 40])
def test_windows_count_every_step_once_in_order(steps, count):
    for stride in range(1, steps + 1):
        for done in {0, min(count, steps - stride)}:
            found = [
                start + at
                for starts, size, first in windows(count, done, steps, stride)
                for start in starts
                for at in range(first, size)
            ]
            assert found == list(range(done, count))
            for starts, size, _ in windows(count, done, steps, stride):
                assert size <= steps and (starts >= 0).all() and (starts + size <= count).all()


@pytest.mark.parametrize("rung", WINDOWED)
@pytest.mark.parametrize("stride", [1, 5, 12])
def test_a_stride_is_what_every_token_sees(rung, stride, trained):
    """Token by token by hand: of all windows that end with it or after it, the first."""
    model, tokens = trained(rung), np.concatenate([[END], numbers(trained(rung), HELD)])
    steps, expected = model.model_.context, []
    for at in range(len(tokens) - 1):
        end = (
            at + 1
            if at < steps
            else min(steps + stride * -(-(at + 1 - steps) // stride), len(tokens) - 1)
        )
        start = 0 if at < steps else end - steps
        with torch.no_grad():
            y, _ = model.model_.hidden(as_tensor(tokens[None, start:end]), None)
            expected.append(float(model.model_.head.outputs(y)[0, at - start, tokens[at + 1]]))
    found = np.concatenate(
        [part.log_probs for part in Reader(model.model_, END, stride).read(tokens[1:])]
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)
    scores = model.evaluate(HELD, stride=stride)
    assert scores["perplexity_sliding"] == pytest.approx(math.exp(-np.mean(expected)), rel=1e-4)
    assert f"windows of 12 tokens move on by {stride}," in scores.notes[-1]


@pytest.mark.parametrize("rung", NETWORKS)
def test_a_text_reads_on_from_block_to_block(rung, trained):
    model, tokens = trained(rung).model_, numbers(trained(rung), HELD)
    whole, reader = (Reader(model, END, 1 if rung in WINDOWED else None) for _ in range(2))
    parts = [reader.log_probs(part) for part in np.split(tokens, [1, 2, 30, 31])]
    np.testing.assert_allclose(np.concatenate(parts), whole.log_probs(tokens), atol=1e-4)


# The cache


def cached_by_hand(said: TokenScores, size: int, weight: float, theta: float) -> list[float]:
    y, found = said.y.double().numpy(), []
    for t, token in enumerate(said.tokens):
        first = max(0, t - size)
        likeness = np.exp(theta * (y[first:t] @ y[t]))
        share = likeness[said.tokens[first:t] == token].sum() / likeness.sum() if t else 0.0
        part = weight if t else 0.0
        found.append(math.log((1 - part) * math.exp(said.log_probs[t]) + part * share))
    return found


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(
    ("size", "weight", "theta"), [(7, 0.3, 0.05), (1000, 0.1, 0.5), (1, 0.5, 0.0), (30, 1e-3, 2.0)]
)
def test_a_cache_is_its_formula(rung, size, weight, theta, trained):
    model, theta = trained(rung), 0.0 if rung == "ngram" else theta
    block = "".join(f"{line}\n" for line in HELD).encode()
    parts = list(model.trained().language.token_scores([block]))
    said = TokenScores(
        np.concatenate([p.tokens for p in parts]),
        np.concatenate([p.log_probs for p in parts]),
        torch.cat([p.y for p in parts]),
    )
    expected = cached_by_hand(said, size, weight, theta)
    np.testing.assert_allclose(
        ContinuousCache(size, weight, theta).log_probs(parts), expected, rtol=1e-3, atol=1e-3
    )
    given = {"cache_weight": weight} | ({} if rung == "ngram" else {"cache_flatness": theta})
    scores = model.evaluate(HELD, cache=size, **given)
    assert scores["perplexity_cache"] == pytest.approx(math.exp(-np.mean(expected)), rel=1e-3)
    assert scores["bits_per_byte_cache"] == pytest.approx(
        -sum(expected) / math.log(2) / len(block), rel=1e-3
    )


@pytest.mark.parametrize("rung", RUNGS)
def test_what_a_cache_says_sums_to_one(rung, trained):
    """The last token is every token in turn."""
    model = trained(rung).trained().language
    said = list(model.token_scores([b"the cat sat on the cat\nthe dog sat on the\n"]))
    tokens, y = np.concatenate([p.tokens for p in said])[:-1], torch.cat([p.y for p in said])
    log_probs = model.begin(tokens)[0][0].double()
    before, total = np.concatenate([p.log_probs for p in said])[:-1], 0.0
    for token, log_prob in enumerate(log_probs.tolist()):
        every = TokenScores(np.append(tokens, token), np.append(before, log_prob), y)
        total += math.exp(
            ContinuousCache(8, 0.4, 0.0 if rung == "ngram" else 0.1).log_probs([every])[-1]
        )
    assert total == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_cache_without_weight_changes_nothing(rung, trained):
    scores = trained(rung).evaluate(HELD, cache=50, cache_weight=0)
    assert scores["perplexity_cache"] == pytest.approx(scores["perplexity"], rel=1e-5)
    assert scores["bits_per_byte_cache"] == pytest.approx(scores["bits_per_byte"], rel=1e-5)


def test_pieces_make_no_difference_to_a_cache():
    chance = np.random.default_rng(0)
    said = TokenScores(
        chance.integers(3, 9, 700), np.log(chance.uniform(0.01, 0.9, 700)), torch.randn(700, 5)
    )
    cut = [
        TokenScores(*(values[start : start + 90] for values in said)) for start in range(0, 700, 90)
    ]
    whole, parts = (ContinuousCache(40, 0.2, 0.3).log_probs(read) for read in ([said], cut))
    np.testing.assert_allclose(whole, parts, atol=1e-5)


def test_weight_and_flatness_come_from_what_was_read():
    """A text that repeats itself: the longer it goes on, the more a cache is trusted; one that does not: not at all."""
    model = LanguageModel("lstm", hidden=16, steps=5).fit(TEXT)
    again = ["zebra dog mat mat log sat"] * 200
    scores = model.evaluate(again, cache=100)
    assert (
        scores["perplexity_cache"] < 0.8 * scores["perplexity"]
        and "at the end 0.6" in scores.notes[-1]
    )
    fitted = model.evaluate(again, cache=100, tune=again)
    assert fitted["perplexity_cache"] < scores["perplexity_cache"]
    assert fitted.notes[-1].endswith("as they were best on the other text")
    given = model.evaluate(
        again, cache=100, cache_weight=0.6, cache_flatness=ContinuousCache(9).flatnesses[-1]
    )
    assert min(given["perplexity_cache"], fitted["perplexity_cache"]) <= scores["perplexity_cache"]


# Dynamic evaluation


def weights_of(model) -> dict:
    return {name: value.clone() for name, value in model.model_.state_dict().items()}


@pytest.mark.parametrize("rung", NETWORKS)
@pytest.mark.parametrize("kind", ["sgd", "rms"])
def test_a_model_that_learned_from_the_text_is_as_it_was(rung, kind, trained):
    model = trained(rung)
    before, plain, said = (
        weights_of(model),
        model.evaluate(HELD),
        model.generate("the", tokens=9, seed=1),
    )
    scores = model.evaluate(HELD, dynamic=kind, dynamic_segment=4, tune=TEXT, dynamic_rate=0.05)
    assert {name: scores[name] for name in plain} == plain and scores[
        "perplexity_dynamic"
    ] != plain["perplexity"]
    after = weights_of(model)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert (
        not any(weight.grad is not None for weight in model.model_.parameters())
        and not model.model_.training
    )
    assert model.evaluate(HELD) == plain and model.generate("the", tokens=9, seed=1) == said
    with pytest.raises(ZeroDivisionError), dynamic.learning(model.model_) as (weights, _):
        with torch.no_grad():
            weights[0].add_(1.0)
        raise ZeroDivisionError
    assert all(torch.equal(before[name], value) for name, value in weights_of(model).items())


@pytest.mark.parametrize("rung", NETWORKS)
def test_dynamic_without_a_rate_is_plain(rung, trained):
    segment = 6 if rung in WINDOWED else 5
    scores = trained(rung).evaluate(
        HELD,
        dynamic="sgd",
        dynamic_rate=0,
        dynamic_segment=segment,
        **({"stride": segment} if rung in WINDOWED else {}),
    )
    plain = scores["perplexity_sliding" if rung in WINDOWED else "perplexity"]
    assert scores["perplexity_dynamic"] == pytest.approx(plain, rel=1e-4)


@pytest.mark.parametrize("squared", [False, True])
def test_dynamic_evaluation_is_its_formula(squared):
    """An lstm, segment by segment, with the plain arithmetic of every weight."""
    fitted = LanguageModel("lstm", hidden=8, layers=1, steps=5).fit(TEXT)
    model = fitted.model_
    tokens, rate, decay = (
        fitted.inputs_.numbers(b"the cat sat on the log\na dog saw a dog\n")[0],
        0.1,
        0.05,
    )
    squares = dynamic.squares_of(model, END, tokens, 4) if squared else None
    assert squares is None or all((square >= 0).all() and square.any() for square in squares)
    found = dynamic.log_probs(
        model, END, [tokens[:5], tokens[5:]], dynamic.Steps(rate, decay, 5, squares)
    )
    trained = {name: value.detach().clone() for name, value in model.named_parameters()}
    roots = {name: square.sqrt() for name, square in zip(trained, squares)} if squared else {}
    mean = (
        sum(root.sum() for root in roots.values()) / sum(root.numel() for root in roots.values())
        if squared
        else None
    )
    known, state, expected = np.concatenate([[END], tokens]), None, []
    for start in range(0, len(tokens), 5):
        piece = known[start : start + 6]
        y, state = model.hidden(as_tensor(piece[None, :-1]), state)
        each = model.head.outputs(y)[
            0, torch.arange(len(piece) - 1), torch.from_numpy(piece[1:].astype(np.int64))
        ]
        expected += each.tolist()
        model.zero_grad()
        (-each.mean()).backward()
        state = state.detach()
        for name, weight in model.named_parameters():
            pull = decay * (trained[name] - weight.data)
            if squared:
                step = weight.grad / (roots[name] + mean)
                pull *= (roots[name] / mean).clamp(max=1 / decay)
            else:
                step = weight.grad
            weight.data = weight.data - rate * step + pull
    np.testing.assert_allclose(found, expected, atol=2e-3 if squared else 1e-4)


@pytest.mark.parametrize("rung", ["lstm", "gpt"])
def test_a_network_learns_from_what_it_reads(rung):
    options = SMALL["gpt"] if rung == "gpt" else {"hidden": 24}
    model = LanguageModel(rung, steps=60, **options).fit(TEXT)
    other = ["dog dog mat log", "mat sat sat dog"] * 30
    scores = model.evaluate(
        other, dynamic="sgd", dynamic_segment=8, dynamic_rate=0.3, dynamic_decay=0
    )
    assert scores["perplexity_dynamic"] < 0.8 * scores["perplexity"]
    fitted = model.evaluate(other, dynamic="rms", dynamic_segment=8, tune=other[:20])
    assert (
        fitted["perplexity_dynamic"] < fitted["perplexity"]
        and "as it was best on the other text" in fitted.notes[-1]
    )


# What cannot be


@pytest.mark.parametrize(
    ("rung", "ways", "said"),
    [
        ("lstm", {"stride": 3}, "stride goes with rungs that read a text in windows"),
        ("ngram", {"stride": 3}, "stride goes with rungs"),
        ("gpt", {"stride": 0}, "stride=0: expected 1 to 12"),
        ("gpt", {"stride": 13}, "stride=13: expected 1 to 12"),
        ("ngram", {"dynamic": "sgd"}, "an n-gram model has none: it counts"),
        ("ngram", {"cache": 9, "cache_flatness": 1}, "all count alike"),
        ("lstm", {"cache": -1}, "cache=-1: expected at least 0"),
        ("lstm", {"cache_weight": 0.1}, "goes with cache=…"),
        ("lstm", {"cache": 9, "cache_weight": 1.1}, "cache_weight=1.1: expected a share"),
        ("lstm", {"dynamic_rate": 0.1}, "goes with dynamic=…"),
        ("lstm", {"dynamic": "adam"}, "dynamic='adam' is not one of none"),
        ("lstm", {"dynamic": "rms"}, "give one with --tune FILE"),
        ("lstm", {"dynamic": "sgd", "dynamic_decay": 2}, "a share"),
        ("lstm", {"dynamic_segment": 9}, "goes with dynamic=…"),
        ("lstm", {"tune": HELD}, "neither is asked for; add cache=2000 or dynamic=sgd"),
        ("lstm", {"tune": [], "dynamic": "rms"}, "is empty; expected at least one line"),
        ("lstm", {"tune": [], "cache": 9}, "is empty"),
        (
            "lstm",
            {"dynamic": "sgd", "dynamic_segment": 0},
            "dynamic_segment=0: expected at least 1",
        ),
        ("lstm", {"cash": 9}, 'unknown option "cash"; did you mean cache?'),
    ],
)
def test_what_cannot_be_judged_is_a_sentence(rung, ways, said, trained):
    with pytest.raises(Mistake, match=said):
        trained(rung).evaluate(HELD, **ways)


def test_a_cache_that_was_given_is_not_said_to_be_fitted(trained):
    model = trained("lstm")
    scores = model.evaluate(HELD, cache=9, cache_weight=0.2, cache_flatness=0.5, tune=TEXT)
    assert scores.notes[-1] == "cache: the last 9 tokens, weight 0.2, flatness 0.5"
    scores = model.evaluate(HELD, cache=9, cache_weight=0.2, tune=TEXT)
    assert scores.notes[-1].endswith("as they were best on the other text")
