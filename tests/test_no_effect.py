"""An option that would change nothing is refused in a sentence; a comparison leaves it out for rungs that have no use for it."""

import numpy as np
import pytest

from wenmai.catalog import RUNGS, TASKS
from wenmai.data.dataset import open_dataset
from wenmai.estimators import ESTIMATORS, Classifier, Composer, LanguageModel, Regressor, Tagger
from wenmai.evaluation.compare import compare
from wenmai.options import NoEffect, Only, accepted

TEXTS, LABELS = ["a good film", "a bad film", "good", "bad"] * 8, ["pos", "neg"] * 16
NUMBERS, IMAGES = np.random.default_rng(0).normal(size=(32, 4)), np.zeros((32, 8, 8), np.uint8)
WORDS, TAGS = [["he", "went"]] * 32, [["O", "O"], ["B-X", "O"]] * 16
ONCE = {"steps": 1, "device": "cpu"}


TEXT, TABLE, PICTURES, TOKENS = (TEXTS, LABELS), (NUMBERS, LABELS), (IMAGES, LABELS), (WORDS, TAGS)


@pytest.mark.parametrize(
    ("make", "data", "said"),
    [
        (
            lambda: Classifier("transformer", patch=2, **ONCE),
            TEXT,
            "patch=2 has no effect here: it is for images; leave it out.",
        ),
        (lambda: Classifier("gpt", patch=2, **ONCE), TEXT, "patch=2 has no effect"),
        (
            lambda: Classifier("cnn", stages=1, **ONCE),
            TEXT,
            "stages=1 has no effect here: it is for images",
        ),
        (
            lambda: Classifier("cnn", filters=8, **ONCE),
            PICTURES,
            "filters=8 has no effect here: it is for texts and numbers",
        ),
        (
            lambda: Classifier("softmax", window=3),
            TEXT,
            "window=3 has no effect here: it is for one answer at every step",
        ),
        (lambda: Classifier("perceptron", window=3), TEXT, "window=3 has no effect"),
        (
            lambda: Tagger("softmax", ngrams=3),
            TOKENS,
            "ngrams=3 has no effect here: it is for texts with one answer each",
        ),
        (lambda: Classifier("softmax", ngrams=3), TABLE, "ngrams=3 has no effect"),
        (
            lambda: Classifier("mlp", window=3, **ONCE),
            TABLE,
            "window=3 has no effect here: it is for texts and sequences",
        ),
        (
            lambda: Classifier("mlp", patience=3, validation=0.0, **ONCE),
            TEXT,
            "patience=3 has no effect here: it is for trainings",
        ),
        (
            lambda: Classifier("mlp", search=True, validation=0.0, **ONCE),
            TEXT,
            "search=True has no effect",
        ),
        (
            lambda: Classifier("mlp", parallel="fsdp", **ONCE),
            TEXT,
            "parallel='fsdp' has no effect here: it is for several processes",
        ),
        (
            lambda: Classifier("softmax", embedding="one-hot"),
            TEXT,
            "embedding='one-hot' has no effect here: it is for texts that a",
        ),
        (
            lambda: Classifier("mlp", embedding="one-hot", **ONCE),
            TABLE,
            "embedding='one-hot' has no effect",
        ),
        (lambda: Classifier("softmax", max_length=9), TEXT, "max_length=9 has no effect"),
        (
            lambda: LanguageModel("gru", max_length=9, **ONCE),
            (TEXTS,),
            "max_length=9 has no effect",
        ),
        (
            lambda: LanguageModel("gru", embedding="one-hot", **ONCE),
            (TEXTS,),
            "embedding='one-hot' has no effect",
        ),
        (
            lambda: Regressor("linear", tokenizer="words"),
            (NUMBERS, np.arange(32.0)),
            "tokenizer='words' has no effect",
        ),
        (
            lambda: Composer("transformer", patch=2, **ONCE),
            (LABELS, TEXTS),
            "patch=2 has no effect",
        ),
    ],
)
def test_what_has_no_effect_is_refused(make, data, said):
    with pytest.raises(NoEffect) as refused:
        make().fit(*data)
    assert said in str(refused.value) and "不起作用" in refused.value.message.chinese


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (lambda: Classifier("transformer", patch=2, **ONCE), PICTURES),
        (lambda: Classifier("cnn", stages=1, **ONCE), PICTURES),
        (lambda: Classifier("cnn", filters=8, **ONCE), TABLE),
        (lambda: Tagger("softmax", window=1), TOKENS),
        (lambda: Classifier("mlp", window=3, **ONCE), TEXT),
        (lambda: Classifier("mlp", patience=3, **ONCE), TEXT),
        (lambda: Classifier("mlp", embedding="one-hot", max_length=9, **ONCE), TEXT),
        (lambda: Composer("gru", tokenizer="words", **ONCE), (LABELS, TEXTS)),
        (lambda: LanguageModel("gru", min_count=2, **ONCE), (TEXTS,)),
        (
            lambda: Classifier("transformer", patch=4, **ONCE),
            TEXT,
        ),  # which is the default, as scikit-learn's clones give it
    ],
)
def test_what_has_one_is_taken(make, data):
    make().fit(*data)


def test_where_an_option_has_an_effect_is_said_beside_it():
    known = {
        name: option.only
        for task in TASKS
        for rung in RUNGS.values()
        if rung.does(task)
        for owner in ESTIMATORS[task](rung.name)._owners().values()
        for name, option in accepted(owner).items()
    }
    for name in ("patch", "stages", "patience", "parallel", "tokenizer"):
        assert isinstance(known[name], Only), name


def test_a_comparison_leaves_it_out_where_a_rung_has_no_use_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(
        f"{text} {row},{label}\n" for row, (text, label) in enumerate(zip(TEXTS * 2, LABELS * 2))
    )
    (tmp_path / "data.csv").write_text("text,label\n" + lines, encoding="utf-8")
    data = open_dataset("data.csv", TASKS, valid="0.2", test="0.2")
    steps = compare(
        data,
        0.02,
        ["softmax", "mlp"],
        device="cpu",
        options={"max_length": "3"},
        out=tmp_path / "runs",
    )
    try:
        while True:
            next(steps)
    except StopIteration as end:
        report = end.value
    rows = {row["rung"]: row for row in report["rungs"]}
    assert all(row["failed"] is None for row in rows.values())
    assert (
        rows["mlp"]["options"]["max_length"] in (3, "3")
        and "max_length" not in rows["softmax"]["options"]
    )
    (note,) = [str(note) for note in report["notes"] if "has no effect" in str(note)]
    assert note.startswith("softmax: max_length=3 has no effect")
