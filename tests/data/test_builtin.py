"""The data sets that need no download."""

from collections import Counter

import numpy as np
import pytest

from wenmai.data.builtin import BUILTIN
from wenmai.errors import Mistake


@pytest.mark.parametrize("name", BUILTIN)
def test_every_builtin(name):
    data = BUILTIN[name]
    chunk, again = data.load(), data.load()
    assert data.name == name and data.about and data.about_zh and data.task == "classify"
    assert list(chunk.lines) == list(range(1, len(chunk) + 1))
    for column, values in chunk.columns.items():
        assert len(values) == len(chunk) and np.array_equal(values, again.columns[column])
    assert all(type(label) is str for label in chunk.columns["label"])


def test_languages_share_no_text():
    chunk = BUILTIN["languages"].load()
    counts = Counter(chunk.columns["label"])
    texts = chunk.columns["text"]
    assert len(counts) == 20 and min(counts.values()) > 300
    assert {"Danish", "Norwegian Bokmål", "Chinese"} <= counts.keys()
    assert len({text.casefold() for text in texts}) == len(texts)
    assert all(text and text == text.strip() and not text.isdigit() for text in texts)


def test_languages_chosen():
    two = BUILTIN["languages"].load(languages="da,nb")
    assert set(two.columns["label"]) == {"Danish", "Norwegian Bokmål"}
    assert "Danmark" not in two.columns["text"]  # it is Norwegian too
    assert len(set(BUILTIN["languages"].load(languages="all").columns["label"])) > 140
    with pytest.raises(Mistake, match='language "dk"'):
        BUILTIN["languages"].load(languages="dk")


def test_iris_and_digits():
    iris = BUILTIN["iris"].load().columns
    assert list(iris) == ["sepal_length", "sepal_width", "petal_length", "petal_width", "label"]
    assert iris["sepal_length"][0] == 5.1 and set(iris["label"]) == {"setosa", "versicolor", "virginica"}
    digits = BUILTIN["digits"].load().columns
    assert digits["image"].shape == (1797, 8, 8) and digits["image"].dtype == np.uint8 and digits["image"].max() == 16
    assert set(digits["label"]) == set("0123456789")
