"""Options: the signature is the schema."""

from typing import Literal

import pytest

from wenmai.errors import Mistake, nearest, unknown
from wenmai.estimators import ESTIMATORS
from wenmai.options import Count, Finite, NonNegative, Share, Size, accepted, assign_options


def build(
    inputs,
    head,
    *,
    hidden: int = 64,
    layers: int = 1,
    window: Count | None = None,
    dropout: Share = 0.1,
    both_ways: bool = False,
    cell: Literal["lstm", "gru"] = "gru",
    widths: str = "2,3",
):
    """A builder to give options to."""


def train(
    *,
    epochs: Size | None = None,
    rate: float = 0.1,
    patience: int = 0,
    bare=None,
    held: Share | None = None,
    middle: Finite = 0.0,
    before: Count | None = None,
    decay: NonNegative = 0.1,
):
    """And another owner of options."""


OWNERS = {"rung": build, "training": train}


def sorted_out(**given):
    found = assign_options(given, OWNERS)
    return found["rung"] | found["training"]


def test_only_keyword_options_are_options():
    assert list(accepted(build)) == [
        "hidden",
        "layers",
        "window",
        "dropout",
        "both_ways",
        "cell",
        "widths",
    ]
    assert (
        accepted(build)["window"].annotation == int | None
        and accepted(train)["bare"].annotation is str
    )
    assert (
        accepted(train)["held"].annotation == float | None
        and accepted(train)["middle"].annotation is float
    )  # without ranges


def test_of_a_class_the_options_are_those_of_its_making():
    class Task:
        def __init__(self, *, balance: bool = False):
            self.balance = balance

    assert accepted(Task)["balance"].annotation is bool


def test_each_option_goes_to_its_owner():
    found = assign_options({"hidden": 8, "epochs": "3"}, OWNERS)
    assert found == {"rung": {"hidden": 8}, "training": {"epochs": 3}}
    assert assign_options({}, OWNERS) == {"rung": {}, "training": {}}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("hidden", "8", 8),
        ("hidden", 8, 8),
        ("hidden", "8.0", 8),
        ("hidden", 1e3, 1000),
        ("window", "none", None),
        ("window", None, None),
        ("window", "3", 3),
        ("window", "0", 0),
        ("epochs", "", None),
        ("dropout", "0.5", 0.5),
        ("dropout", 0, 0.0),
        ("rate", "1e-3", 0.001),
        ("patience", 0, 0),
        ("held", "0.5", 0.5),
        ("held", None, None),
        ("middle", "-3", -3.0),
        ("before", 0, 0),
        ("decay", 0, 0.0),
        ("both_ways", "true", True),
        ("both_ways", "no", False),
        ("both_ways", "1", True),
        ("both_ways", False, False),
        ("cell", "lstm", "lstm"),
        ("widths", "1", "1"),
    ],
)
def test_values_are_read_in_the_type_of_the_option(name, value, read):
    found = sorted_out(**{name: value})[name]
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("hidden", "many", "hidden='many': expected a whole number, found str; the default is 64."),
        ("hidden", "1.5", "expected a whole number"),
        ("hidden", True, "expected a whole number"),
        ("hidden", [8], "found list"),
        ("hidden", None, "found NoneType"),
        ("hidden", 0, "hidden=0: expected at least 1; the default is 64."),
        ("hidden", "-3", "at least 1"),
        ("hidden", "inf", "a whole number"),
        ("hidden", "nan", "a whole number"),
        ("patience", -1, "at least 0"),
        ("window", -1, "at least 0"),
        ("window", "x", "a whole number"),
        ("rate", "nan", "rate=nan"),
        ("rate", "inf", "rate=inf"),
        ("rate", -0.1, "at least 0"),
        ("rate", "fast", "a number"),
        ("dropout", 1, "at least 0 and below 1"),
        ("dropout", "1.5", "below 1"),
        ("held", 1, "held=1.0: expected at least 0 and below 1; the default is None."),
        ("held", -0.1, "below 1"),
        ("held", "nan", "a finite number"),
        ("middle", "inf", "middle=inf: expected a finite number; the default is 0.0."),
        ("before", -1, "at least 0"),
        ("decay", -1, "at least 0"),
        ("epochs", 0, "at least 1"),
        ("both_ways", "maybe", "expected true or false"),
        ("both_ways", 2, "true or false"),
        ("cell", "rnn", "cell='rnn' is not one of lstm, gru."),
        ("cell", None, "is not one of"),
        ("widths", 3, "expected a text, found int"),
    ],
)
def test_values_that_do_not_fit_are_refused(name, value, says):
    with pytest.raises(Mistake) as caught:
        sorted_out(**{name: value})
    assert says in str(caught.value) and name in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rung", "task", "name"),
    [
        ("lstm", "generate", "dropout"),
        ("lstm", "generate", "word_dropout"),
        ("lstm", "generate", "weight_dropout"),
        ("lstm", "generate", "hidden_dropout"),
        ("seq2seq", "translate", "smoothing"),
        ("seq2seq", "translate", "sampling"),
        ("mlp", "classify", "warmup"),
        ("mlp", "classify", "validation"),
    ],
)
def test_no_share_is_1_or_more(rung, task, name):
    estimator = ESTIMATORS[task](rung)
    estimator.set_params(**{name: 0.5})
    for value in (1, 1.5, 7, -0.1):
        with pytest.raises(
            Mistake, match=rf"^{name}={value:.1f}: expected at least 0 and below 1; the default is "
        ):
            estimator.set_params(**{name: value})


def test_an_unknown_option_names_the_nearest_first():
    with pytest.raises(Mistake) as caught:
        sorted_out(hiden=3)
    assert str(caught.value).startswith(
        'unknown option "hiden"; did you mean hidden? Known: hidden, '
    )
    assert str(caught.value).count(",") == len(accepted(build)) + len(accepted(train)) - 1


def test_an_old_name_is_answered_with_the_new_one():
    def loop(*, micro_batches: int | None = None):
        """One whose option had another name."""

    with pytest.raises(Mistake, match=r"^pieces is now micro_batches; use that name\.$"):
        assign_options({"pieces": 2}, {"training": loop})
    with pytest.raises(
        Mistake, match='unknown option "pieces"'
    ):  # nobody here has it under any name
        sorted_out(pieces=2)


def test_nearest_words():
    assert nearest("GRU", ["rnn", "gru", "lstm"])[0] == "gru"
    assert nearest("", ["b", "a"]) == ["a", "b"]
    assert isinstance(unknown("rung", "x", ["y"]), Mistake) and isinstance(Mistake("…"), ValueError)
