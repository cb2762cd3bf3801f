import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset, open_table, part_of
from wenmai.data.examples import stored
from wenmai.data.examples.sequences import Sequences, runs
from wenmai.data.examples.stored import StoredSequences, StoredTexts
from wenmai.data.inputs import kinds as inputs
from wenmai.data.text import features
from wenmai.data.text.features import Ngrams
from wenmai.data.text.tokenizers import PLAIN_WORD, WORD, thinned
from wenmai.data.values import listed, pick
from wenmai.errors import Mistake
from wenmai.estimators import Classifier, Regressor

any_text = st.text(st.characters(), max_size=12)  # half characters (surrogates) too
WORDS = [
    "the",
    "film",
    "was",
    "a",
    "quiet",
    "joy",
    ",",
    "dull",
    "plot",
    "don't",
    "see",
    "it",
    "电影",
    "很",
    "好看",
    "坏",
]


def sentences(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts with a word in them that says their label, mostly."""
    draw = np.random.default_rng(seed)
    labels = draw.choice(["bad", "good", "mixed"], count).tolist()
    texts = [
        " ".join([*draw.choice(WORDS, draw.integers(0, 12)), f"{label}{draw.integers(3)}"])
        for label in labels
    ]
    return texts, labels


@pytest.fixture
def small(monkeypatch):
    """Everything is too large for memory, and pieces are a few rows each."""
    monkeypatch.setattr(stored, "LARGE", 0)
    monkeypatch.setattr(stored, "PIECE", 2000)
    monkeypatch.setattr(features, "PIECE", 500)
    monkeypatch.setattr("wenmai.models.linear.HELD", 0)


@settings(deadline=None)
@given(st.lists(st.lists(any_text, max_size=6), max_size=4), st.data())
def test_stored_texts_are_as_a_list(chunks, data):
    texts = [text for chunk in chunks for text in chunk]
    kept = StoredTexts.of(chunks)
    assert list(kept) == texts and len(kept) == len(texts)
    place = st.none() | st.integers(-9, 9)
    some = slice(
        data.draw(place), data.draw(place), data.draw(st.sampled_from([None, 1, 2, -1, -3]))
    )
    assert list(kept[some]) == texts[some]
    assert list(kept[some][::2]) == texts[some][::2]
    if texts:
        rows = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1))), np.int64)
        assert list(kept.take(rows)) == [texts[row] for row in rows]
        assert (
            kept[int(rows[0]) if len(rows) else 0] == texts[rows[0] if len(rows) else 0]
            and kept[-1] == texts[-1]
        )
    with pytest.raises(IndexError):
        kept[len(texts)]


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_runs_cover_all_rows(sizes, most):
    found = list(runs(np.array(sizes, np.int64), most))
    assert [row for start, stop in found for row in range(start, stop)] == list(range(len(sizes)))
    assert all(sum(sizes[start:stop]) <= most or stop == start + 1 for start, stop in found)


@given(st.lists(st.lists(st.integers(0, 70_000), max_size=5), min_size=1, max_size=8), st.data())
def test_stored_sequences_are_as_in_memory(rows, data):
    held = Sequences.of(rows)
    kept = StoredSequences.of(
        [held.take(np.arange(2)[: len(rows)]), held[2:]],
        1 + max(map(max, filter(None, rows)), default=0),
    )
    some = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1)), np.int64)
    np.testing.assert_array_equal(kept.flat, held.flat)
    np.testing.assert_array_equal(kept[-1], held[-1])
    np.testing.assert_array_equal(kept.take(some).flat, held.take(some).flat)
    for longest in (1, 3, 10):
        for ours, theirs in zip(kept.padded(some, longest)[:2], held.padded(some, longest)[:2]):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    for stride in (None, 2):
        ours, theirs = kept.windows(3, stride), held.windows(3, stride)
        assert [row.tolist() for row in ours] == [row.tolist() for row in theirs]
        np.testing.assert_array_equal(
            ours.padded(np.arange(len(ours)), 3)[0], theirs.padded(np.arange(len(theirs)), 3)[0]
        )


@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe", "wordpiece"])
def test_tokens_are_the_same_from_a_file(small, tokenizer):
    texts = [*sentences(300)[0], "", "半\ud800个", "İSTANBUL ΟΔΟΣ it’s"]
    held, kept = (
        inputs.learn(values, tokenizer=tokenizer, vocabulary=400)
        for values in (texts, StoredTexts.of([texts]))
    )
    assert held.to_json() == kept.to_json()
    rows = kept.encode(StoredTexts.of([texts]))
    assert isinstance(rows, StoredSequences) and not isinstance(held.encode(texts), StoredSequences)
    np.testing.assert_array_equal(rows.flat, held.encode(texts).flat)
    np.testing.assert_array_equal(rows.offsets, held.encode(texts).offsets)


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_plain_texts(text):
    assert PLAIN_WORD.findall(text) == WORD.findall(text)


def test_the_rarest_words_are_forgotten():
    from collections import Counter

    assert thinned(Counter("aaabbcd"), 3) == {"a": 3, "b": 2}
    assert thinned(Counter("aaabbcd"), 4) == {"a": 3, "b": 2, "c": 1, "d": 1}


@pytest.mark.parametrize("longest, edges, least", [(2, False, 1), (3, True, 2)])
def test_ngrams_in_pieces(small, monkeypatch, longest, edges, least):
    texts = inputs.learn(sentences(200)[0]).encode(sentences(200)[0])
    pieces = Ngrams.learn(texts, longest, "tf-idf", edges, least)
    monkeypatch.setattr(features, "PIECE", 1 << 21)
    whole = Ngrams.learn(texts, longest, "tf-idf", edges, least)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(pieces.state()[name], array)
    monkeypatch.setattr(features, "PIECE", 500)
    order, rows = np.random.default_rng(0).permutation(200), whole.rows(texts)
    seen = []
    for part, at, which in whole.pieces(texts).over(order):
        expected = rows.take(which)
        np.testing.assert_array_equal(part.take(at).columns, expected.columns)
        np.testing.assert_array_equal(part.take(at).values, expected.values)
        seen += which.tolist()
    assert seen == order.tolist()


def test_the_ngrams_of_the_most_rows_are_kept():
    rows = [[1, 2]] * 5 + [[3], [4]] * 2 + [[token] for token in range(5, 30)]
    few = Ngrams.learn(Sequences.of(rows), 1, "counts", False, most=4)
    assert len(few.inverse) == 4
    found = few.rows(Sequences.of([[1], [2], [3], [4], [29]]))
    assert np.diff(found.starts).tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "rung, options",
    [
        ("softmax", {"epochs": 3}),
        ("logistic", {"epochs": 2, "tokenizer": "characters"}),
        ("perceptron", {"epochs": 3}),
        ("mlp", {"steps": 20}),
    ],
)
def test_training_is_the_same_from_a_file(small, monkeypatch, rung, options):
    texts, labels = sentences(400)
    kept = Classifier(rung, device="cpu", **options).fit(
        StoredTexts.of([texts[:7], texts[7:]]), labels
    )
    answers = kept.predict(StoredTexts.of([texts]))
    monkeypatch.undo()
    held = Classifier(rung, device="cpu", **options).fit(texts, labels)
    states = [
        getattr(model, "state_dict", None) or model.state for model in (kept.model_, held.model_)
    ]
    for (name, ours), (_, theirs) in zip(states[0]().items(), states[1]().items()):
        np.testing.assert_array_equal(ours, theirs, name)
    assert [p.loss for p in kept.progress_] == [p.loss for p in held.progress_]
    assert answers.tolist() == held.predict(texts).tolist()
    assert kept.evaluate(StoredTexts.of([texts]), labels) == held.evaluate(texts, labels)


def test_a_file_that_is_too_large_for_memory(tmp_path, monkeypatch):
    texts, labels = sentences(3000)
    file, other = tmp_path / "large.csv", tmp_path / "numbers.csv"
    file.write_text(
        "text,label\n" + "".join(f'"{text}\n",{label}\n' for text, label in zip(texts, labels))
    )
    other.write_text("text,target\n" + "".join(f'"{text}",{len(text)}\n' for text in texts))
    held = open_dataset(str(file), TASKS, valid="0.1", test="0.2")
    monkeypatch.setattr(stored, "LARGE", 200_000)  # less than there is, and a good part of it
    kept = open_dataset(str(file), TASKS, valid="0.1", test="0.2")
    assert isinstance(kept.train.inputs, StoredTexts) and isinstance(held.train.inputs, list)
    assert kept.fingerprint() == held.fingerprint() and kept.notes == held.notes
    for ours, theirs in zip(
        (kept.train, kept.valid, kept.test), (held.train, held.valid, held.test)
    ):
        assert list(ours.inputs) == theirs.inputs and ours.targets == theirs.targets
        assert ours.where(0) == theirs.where(0) and ours.where(len(ours) - 1) == theirs.where(
            len(ours) - 1
        )
    kept.check()
    assert len(set(map(id, kept.train.targets))) == 3  # one object a label
    score = Classifier("softmax").fit(*kept.train.pair, kept.valid.pair).score(*kept.test.pair)
    assert score > 0.95
    numbers = part_of(open_table(str(other)), TASKS["regress"]())
    assert isinstance(numbers.inputs, StoredTexts) and numbers.targets.tolist() == list(
        map(len, texts)
    )
    assert Regressor("linear", epochs=2).fit(*numbers.pair).predict(numbers.inputs[:5]).shape == (
        5,
    )
    broken = tmp_path / "broken.csv"
    broken.write_text(file.read_text() + '"no label",\n')
    rest = part_of(open_table(str(broken)), TASKS["classify"]())
    assert len(rest) == len(texts) and "line 6002: the label is empty" in rest.notes[0]


def test_stored_texts_stay_in_their_file():
    kept = StoredTexts.of([["a", "b", "c"]])
    assert listed(kept) is kept
    assert (
        list(pick(kept, np.array([2, 0]))) == ["c", "a"]
        and pick(kept, np.array([2])).spool is kept.spool
    )


def test_a_full_disk_is_said(monkeypatch):
    def full(data):
        raise OSError(28, "No space left on device")

    spool = stored.Spool()
    monkeypatch.setattr(spool, "file", type("File", (), {"write": staticmethod(full)})())
    with pytest.raises(Mistake, match=r"No space left on device.*TMPDIR"):
        spool.append(b"a")
