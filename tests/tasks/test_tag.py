"""tag: scores as seqeval counts them, spans that are where they say, and rows of any length."""

from itertools import chain, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval import metrics
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

import wenmai
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs.tokens import Tokens
from wenmai.data.text import schemes
from wenmai.errors import Mistake
from wenmai.estimators import Tagger
from wenmai.tasks.metrics import bundled, metric_named
from wenmai.tasks.tag import Tag

FEW = settings(max_examples=60, deadline=None)
ignore_seqeval = pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
each_scheme = pytest.mark.parametrize("scheme", ["bio", "iob1", "bioes", "ioe2"])
KINDS = ["LOC", "PER"]
BIOES = ["O", *(f"{letter}-{kind}" for kind in KINDS for letter in "BIES")]
bioes_rows = st.lists(st.lists(st.sampled_from(BIOES), max_size=8), min_size=1, max_size=5).filter(
    any
)

NAMES = {"PER": ["Ada", "Alan", "Grace"], "LOC": ["Paris", "Rome", "New York"]}
SMALL = {"hidden": 8, "embed": 8, "steps": 80, "learning_rate": 0.02, "validation": 0.0}


def joined(rows) -> list:
    return list(chain.from_iterable(rows))


def sentences(rows=40, seed=0):
    """ "Ada saw Rome .": tokens and their tags in BIO."""
    generator = np.random.default_rng(seed)
    tokens, tags = [], []
    for _ in range(rows):
        one, other = (str(generator.choice(NAMES[kind])) for kind in ("PER", "LOC"))
        verb = str(generator.choice(["saw", "left", "loves"]))
        tokens.append([one, verb, *other.split(), "."])
        tags.append(["B-PER", "O", *(["B-LOC"] + ["I-LOC"] * (len(other.split()) - 1)), "O"])
    return tokens, tags


def in_chinese(rows=40, seed=0):
    generator = np.random.default_rng(seed)
    tokens, tags = [], []
    for _ in range(rows):
        name, place = (
            str(generator.choice(["王明", "李四", "张小红"])),
            str(generator.choice(["北京", "上海", "呼和浩特"])),
        )
        verb = str(generator.choice(["去", "住在"]))
        tokens.append([*(name + verb + place + "。")])
        tags.append(
            [
                "B-PER",
                *["I-PER"] * (len(name) - 1),
                *["O"] * len(verb),
                "B-LOC",
                *["I-LOC"] * (len(place) - 1),
                "O",
            ]
        )
    return tokens, tags


@pytest.fixture(scope="module")
def english():
    return Tagger("perceptron").fit(*sentences())


@pytest.fixture(scope="module")
def chinese():
    return Tagger("perceptron").fit(*in_chinese())


# Scores


def learned(scheme, kinds=KINDS) -> Tag:
    task = Tag(scheme=scheme)
    task.learn([[f"B-{kind}", "O"] for kind in kinds])
    return task


def decided_as(task: Tag, rows) -> Sequences:
    """Rows of BIOES tags, legal or not, as a model's answers."""
    number = {tag: at for at, tag in enumerate(task.classes)}
    return Sequences(
        np.array([number[tag] for row in rows for tag in row], np.int64),
        offsets_of(np.array([*map(len, rows)])),
    )


def as_long_as(rows, others):
    """The others, made as long as the rows are."""
    flat = [tag for row in others for tag in row]
    return [
        [flat[(7 * at + n) % len(flat)] for n in range(len(row))] for at, row in enumerate(rows)
    ]


def of_seqeval(gold, answers) -> dict[str, float]:
    named = {
        "span_f1": metrics.f1_score,
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "token_accuracy": metrics.accuracy_score,
    }
    return {name: float(score(gold, answers)) for name, score in named.items()}


@ignore_seqeval
@each_scheme
@settings(max_examples=100, deadline=None)
@given(gold=bioes_rows, answers=bioes_rows)
def test_scores_are_those_of_seqeval(scheme, gold, answers):
    task, gold = learned(scheme), schemes.convert(gold, scheme)
    decided, targets = decided_as(task, as_long_as(gold, answers)), task.encode(gold)
    scores = task.scores(decided, targets)
    assert scores == of_seqeval(gold, task.predictions(decided))
    above, below = task.score_terms(decided, targets)
    assert above.shape == below.shape == (len(gold),)
    assert above.sum() / max(1, below.sum()) == pytest.approx(scores["span_f1"], abs=1e-12)
    for metric in task.metrics:
        terms = bundled(task.score_terms(decided, targets, metric))
        assert metric_named(metric).formula(terms.sum(0)) == pytest.approx(
            scores[metric], abs=1e-12
        )


@ignore_seqeval
@FEW
@given(gold=bioes_rows, answers=bioes_rows)
def test_spans_of_illegal_tags_are_counted_as_seqeval_does(gold, answers):
    task, answers = learned("bioes"), as_long_as(gold, answers)
    scores, theirs = (
        task.scores(decided_as(task, answers), task.encode(gold)),
        of_seqeval(gold, answers),
    )
    assert all(scores[name] == theirs[name] for name in ("span_f1", "precision", "recall"))


@FEW
@given(
    st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=5).filter(any),
    st.integers(0, 99),
)
def test_scores_of_plain_tags_are_those_of_scikit_learn(gold, seed):
    task, names = Tag(), np.array(["ADJ", "DET", "NOUN", "VERB"])
    assert (
        task.learn([names.tolist()]) == ["tags mark no spans"] and task.metric == "token_accuracy"
    )
    gold = [names[row].tolist() for row in gold]
    targets = task.encode(gold)
    decided = Sequences(
        np.random.default_rng(seed).integers(0, 4, len(targets.flat)), targets.offsets
    )
    flat, answers = joined(gold), names[decided.flat]
    assert task.scores(decided, targets) == pytest.approx(
        {
            "token_accuracy": accuracy_score(flat, answers),
            "macro_f1": f1_score(flat, answers, average="macro"),
        }
    )
    assert joined(task.predictions(decided)) == answers.tolist()
    above, below = task.score_terms(decided, targets)
    assert above.sum() / below.sum() == pytest.approx(
        accuracy_score(flat, answers)
    ) and below.tolist() == [*map(len, gold)]
    for metric in task.metrics:
        terms = bundled(task.score_terms(decided, targets, metric))
        assert metric_named(metric).formula(terms.sum(0)) == pytest.approx(
            task.scores(decided, targets)[metric], abs=1e-12
        )
    counts = task.confusion(decided, targets)
    every = np.array(
        task.confusion(Sequences(np.arange(4), np.array([0, 4])), task.encode([names.tolist()]))[
            "counts"
        ]
    )
    assert every.tolist() == np.eye(4).tolist() and counts["classes"] == sorted({*flat, *answers})
    if len(counts["classes"]) > 1:
        assert (
            counts["counts"] == confusion_matrix(flat, answers, labels=counts["classes"]).tolist()
        )


def test_confusion_and_worst_in_words():
    task = learned("bio")
    gold = [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["O"]]
    decided = decided_as(task, [["B-PER", "E-PER", "O"], ["S-PER", "S-PER"], ["O"]])
    counts = task.confusion(decided, task.encode(gold))
    assert counts == {"classes": ["O", "LOC", "PER"], "counts": [[2, 0, 1], [0, 0, 1], [0, 0, 2]]}
    assert task.missed(None, decided, task.encode(gold)).tolist() == [0, 2, 0]
    worst = task.mistakes(
        None, decided, task.encode(gold), [["Ada", "L", "."], ["in", "Rome"], ["."]]
    )[1]
    assert worst == {
        "input": "in Rome",
        "expected": "Rome: LOC",
        "answer": "in: PER; Rome: PER",
        "probability": None,
    }


# Answers


def assert_whole(answer):
    """Tokens stand in the text one behind the other with nothing but white space between; spans are where they say."""
    at = 0
    for token in answer["tokens"]:
        found = answer["text"].index(token, at)
        assert not answer["text"][at:found].strip()
        at = found + len(token)
    assert not answer["text"][at:].strip() and len(answer["tags"]) == len(answer["tokens"])
    for span in answer["spans"]:
        assert span["text"] == answer["text"][span["start"] : span["end"]] != ""
        first, after = span["tokens"]
        assert span["text"].startswith(answer["tokens"][first]) and span["text"].endswith(
            answer["tokens"][after - 1]
        )


def test_spans_of_a_raw_text(english):
    (answer,) = english.answers(["  Grace  saw New  York."])
    assert_whole(answer)
    assert answer["text"] == "  Grace  saw New  York." and answer["tokens"] == [
        "Grace",
        "saw",
        "New",
        "York",
        ".",
    ]
    assert answer["tags"] == ["B-PER", "O", "B-LOC", "I-LOC", "O"]
    assert answer["spans"] == [
        {"label": "PER", "text": "Grace", "start": 2, "end": 7, "tokens": [0, 1]},
        {"label": "LOC", "text": "New  York", "start": 13, "end": 22, "tokens": [2, 4]},
    ]


def test_spans_of_a_chinese_text(chinese):
    (answer,) = chinese.answers(["张小红住在 呼和浩特。"])
    assert_whole(answer)
    found = [(span["text"], span["label"], span["start"]) for span in answer["spans"]]
    assert found == [("张小红", "PER", 0), ("呼和浩特", "LOC", 6)]


@pytest.mark.parametrize("name", ["english", "chinese"])
@FEW
@given(text=st.text(max_size=40) | st.text("ab中文 .'’n\t-", max_size=300))
def test_any_text_is_answered_whole(request, name, text):
    (answer,) = request.getfixturevalue(name).answers([text])
    assert_whole(answer)


def test_lists_of_tokens(english, chinese):
    tokens, tags = sentences(10, seed=1)
    assert english.predict(tokens) == tags
    for answer, row, expected in zip(english.answers(tokens), tokens, tags):
        assert_whole(answer)
        assert (
            answer["tokens"] == row
            and answer["tags"] == expected
            and answer["text"] == " ".join(row)
        )
    (answer,) = chinese.answers([[*"王明去上海"]])
    assert answer["text"] == "王明去上海"
    assert answer["spans"][1] == {
        "label": "LOC",
        "text": "上海",
        "start": 3,
        "end": 5,
        "tokens": [3, 5],
    }
    assert english.answers([[]]) == [{"text": "", "tokens": [], "tags": [], "spans": []}]
    mixed = english.answers([tokens[0], "Ada left Rome"])  # a list and a text side by side
    assert mixed[0]["tags"] == tags[0] and mixed[1]["tags"] == ["B-PER", "O", "B-LOC"]


@pytest.mark.parametrize("scheme", schemes.WRITTEN)
def test_answers_in_another_scheme(scheme, tmp_path):
    tokens, tags = sentences(20)
    estimator = Tagger("perceptron", write=scheme).fit(tokens, tags)
    assert estimator.predict(tokens) == schemes.convert(tags, scheme)
    assert estimator.answers(tokens)[0]["tags"] == schemes.convert(tags, scheme)[0]
    assert wenmai.load(estimator.save(tmp_path / "run")).predict(tokens) == schemes.convert(
        tags, scheme
    )
    assert estimator.evaluate(tokens, tags)["span_f1"] == 1.0


@pytest.mark.parametrize("scheme", schemes.WRITTEN)
def test_the_scheme_of_the_data_is_kept(scheme):
    tokens, tags = sentences(20)
    tags = schemes.convert(
        [*tags, ["B-PER", "I-PER", "I-PER", "B-PER"]], scheme
    )  # the last row tells every scheme from others
    tokens = [*tokens, ["Ada", "Ada", "Ada", "Alan"]]
    estimator = Tagger("perceptron", validation=0.0).fit(tokens, tags)
    assert (
        estimator.task_.scheme == scheme
        and f"tags mark spans in {scheme.upper()}" in estimator.notes_
    )
    assert estimator.predict(tokens) == tags


def test_plain_tags():
    tokens, _ = sentences()
    kind = {"saw": "VERB", "left": "VERB", "loves": "VERB", ".": "MARK"}
    tags = [[kind.get(token, "NAME") for token in row] for row in tokens]
    estimator = Tagger("softmax").fit(tokens, tags)
    assert (
        estimator.classes_.tolist() == ["MARK", "NAME", "VERB"]
        and estimator.score(tokens, tags) == 1.0
    )
    assert set(estimator.evaluate(tokens, tags)) == {"token_accuracy", "macro_f1"}
    (answer,) = estimator.answers(["Ada saw Rome."])
    assert answer["text"] == "Ada saw Rome." and answer["tokens"] == ["Ada", "saw", "Rome", "."]
    assert answer["tags"] == ["NAME", "VERB", "NAME", "MARK"] and answer["spans"] == []


def test_words_are_segmented_by_marks_without_a_kind():
    """BMES as Chinese words are segmented: spans without a kind, scored as spans."""
    rows = ["我们 去 呼和浩特", "他们 在 北京 工作", "我们 在 北京", "他们 去 工作"] * 8
    tokens = [[*row.replace(" ", "")] for row in rows]
    marks = {1: "S", 2: "BE", 4: "BMME"}
    tags = [[mark for word in row.split() for mark in marks[len(word)]] for row in rows]
    estimator = Tagger("perceptron", validation=0.0).fit(tokens, tags)
    assert estimator.task_.scheme == "bmes" and estimator.predict(tokens) == tags
    assert estimator.evaluate(tokens, tags)["span_f1"] == 1.0
    assert [span["text"] for span in estimator.answers(["他们在呼和浩特工作"])[0]["spans"]] == [
        "他们",
        "在",
        "呼和浩特",
        "工作",
    ]


def test_frames():
    generator = np.random.default_rng(0)
    kinds = [generator.integers(0, 2, generator.integers(1, 9)) for _ in range(40)]
    frames = [generator.normal(4.0 * np.eye(2)[row], 0.5) for row in kinds]
    tags = [["S-hit" if kind else "O" for kind in row] for row in kinds]
    tags[0] = ["B-hit", "I-hit", "E-hit"]
    frames[0] = generator.normal(4.0 * np.eye(2)[[1, 1, 1]], 0.5)
    estimator = Tagger("softmax").fit(frames, tags)
    assert estimator.inputs_.kind == "frames" and estimator.evaluate(frames, tags)["span_f1"] > 0.7
    answers = estimator.answers(frames[1:])
    assert [len(answer["tags"]) for answer in answers] == [len(row) for row in kinds[1:]]
    hits = [tuple(span["tokens"]) for span in answers[0]["spans"]]
    assert set(answers[0]) == {"tags", "spans"} and all(
        span.keys() == {"label", "tokens"} for span in answers[0]["spans"]
    )
    assert hits == [(at, at + 1) for at, tag in enumerate(answers[0]["tags"]) if tag == "S-hit"]
    even = np.stack(
        [generator.normal(4.0 * np.eye(2)[[0, 1, 0]], 0.5) for _ in range(5)]
    )  # (N, T, F)
    assert [len(row) for row in estimator.predict(even)] == [3] * 5


# Long rows


@pytest.mark.parametrize("rung", ["gru", "transformer", "cnn"])
def test_rows_beyond_max_length_are_tagged_wholly(rung):
    tokens, tags = sentences(30)
    known = Tagger(rung).get_params()
    options = {
        name: value
        for name, value in (SMALL | {"width": 8, "heads": 2, "bidirectional": True}).items()
        if name in known
    }
    estimator = Tagger(rung, max_length=5, **options).fit(tokens, tags)
    long = [joined(tokens[:9]), ["."], [], joined(tokens[9:20])]
    assert [len(row) for row in estimator.predict(long)] == [len(row) for row in long]
    # Each token is read in a window of its own: what a window says is what its tokens alone would say.
    windows = [row for sentence in long for row in cut_evenly(sentence, 5)]
    alone = [tag for row in estimator.predict_proba(windows) for tag in row]
    np.testing.assert_allclose(
        np.concatenate(estimator.predict_proba(long)), np.array(alone), atol=1e-5
    )
    expected = [joined(tags[:9]), ["O"], [], joined(tags[9:20])]
    assert estimator.evaluate(long, expected)["token_accuracy"] > 0.5


def cut_evenly(row, longest):
    pieces = max(1, -(-len(row) // longest))
    edges = [len(row) * piece // pieces for piece in range(pieces + 1)]
    return [row[start:end] for start, end in pairwise(edges)]


def test_training_reads_the_whole_of_long_rows():
    """What stands behind the first max_length tokens teaches too."""
    tokens = [["a"] * 6 + ["b"] * 6 for _ in range(30)]
    tags = [["X"] * 6 + ["Y"] * 6 for _ in range(30)]
    estimator = Tagger("mlp", max_length=4, window=1, **SMALL).fit(tokens, tags)
    assert estimator.predict([["b", "a"]]) == [["Y", "X"]]


# Probabilities


@pytest.mark.parametrize(("rung", "crf"), [("softmax", False), ("gru", False), ("gru", True)])
def test_probabilities_sum_to_one(rung, crf):
    tokens, tags = sentences(30)
    estimator = Tagger(rung, **({"crf": crf, **SMALL} if rung == "gru" else {})).fit(tokens, tags)
    rows = [*tokens[:5], [], ["Ada"]]
    chances = estimator.predict_proba(rows)
    assert [chance.shape for chance in chances] == [
        (len(row), len(estimator.classes_)) for row in rows
    ]
    for chance in chances:
        np.testing.assert_allclose(chance.sum(1), 1, atol=1e-5)
        assert (chance >= 0).all()


def test_probabilities_of_a_crf_are_those_of_all_paths():
    tokens, tags = sentences(30)
    tags = [[tag.replace("PER", "LOC") for tag in row] for row in tags]
    estimator = Tagger("rnn", crf=True, **SMALL).fit(tokens, tags)
    rows = [["Ada", "saw", "New", "York"], ["Rome"]]
    outputs, (begin, between, end) = (
        estimator.outputs(estimator.examples(rows)),
        estimator.model_.transitions(),
    )
    for row, found in enumerate(estimator.predict_proba(rows)):
        emissions, weights = outputs[row].astype(np.float64), {}
        for path in product(range(len(estimator.classes_)), repeat=len(emissions)):
            steps = sum(float(between[a, b]) for a, b in pairwise(path))
            weights[path] = (
                begin[path[0]]
                + steps
                + end[path[-1]]
                + sum(emissions[t, tag] for t, tag in enumerate(path))
            )
        top = max(weights.values())
        wanted = np.zeros_like(emissions)
        for path, weight in weights.items():
            wanted[np.arange(len(path)), list(path)] += np.exp(weight - top)
        np.testing.assert_allclose(found, wanted / wanted.sum(1, keepdims=True), atol=1e-5)
        best = estimator.task_.predictions(
            Sequences(np.array(max(weights, key=weights.get)), np.array([0, len(emissions)]))
        )
        assert estimator.predict([rows[row]]) == best


def test_a_perceptron_has_no_probabilities(english):
    with pytest.raises(
        Mistake,
        match="perceptron answers without probabilities here; to classify or tag, softmax has them",
    ):
        english.predict_proba([["Ada"]])


# What does not fit


def test_unknown_tags_are_named(english):
    with pytest.raises(
        Mistake, match=r"row 2: the tag 'B-ORG' is not among the trained ones: LOC, O, PER"
    ):
        english.evaluate([["Ada"], ["IBM"]], [["B-PER"], ["B-ORG"]])
    plain = Tagger("softmax").fit([["a", "b"]] * 20, [["X", "Y"]] * 20)
    with pytest.raises(Mistake, match=r"row 1: the tag 'Z' is not among the trained ones: X, Y"):
        plain.evaluate([["a", "b"]], [["X", "Z"]])


def test_tags_of_another_length_are_named(english):
    for tags in ([["B-PER"], ["O", "O"]], [["B-PER"], []]):
        with pytest.raises(
            Mistake, match=r"row 2: found \d tags for 1 tokens, expected one for each"
        ):
            english.evaluate([["Ada"], ["."]], tags)
    with pytest.raises(Mistake, match="row 1: found 1 tags for 2 tokens"):
        Tagger("softmax").fit([["a", "b"]] * 3, [["X"]] * 3)
    with pytest.raises(Mistake, match=r"a\.jsonl, line 7: found 1 tags for 2 tokens"):
        Tag().targets_of(
            Chunk({"tokens": [["a"], ["a", "b"]], "tags": [["X"], ["X"]]}, [5, 7]), "a.jsonl"
        )
    with pytest.raises(
        Mistake, match=r"a\.jsonl, line 5: found 'X Y' in column tags, expected a list of texts"
    ):
        Tag().targets_of(Chunk({"tokens": [["a", "b"]], "tags": ["X Y"]}, [5]), "a.jsonl")


def test_other_things_that_are_not_tags():
    for tags, says in [
        ([["O", "O"]] * 20, r"found one tag only \(O\) in"),
        ([["X", "X"]] * 20, r"found one tag only \(X\) in"),
        ([["B-PER", "person"], ["O", "O"]] * 10, "the tag 'person' of token 2 fits no scheme"),
    ]:
        with pytest.raises(Mistake, match=says):
            Tagger("softmax").fit([["a", "b"]] * 20, tags)
    with pytest.raises(Mistake, match="expected a list of tokens"):
        Tagger("softmax").fit([["a", 3]] * 15, [["X", "Y"]] * 15)
    for tags in (["X Y"] * 20, [["X", 3]] * 20, [[0, 1]] * 20):
        with pytest.raises(Mistake, match=r"row 1: found .*, expected a list of tags such as"):
            Tagger("softmax").fit([["a", "b"]] * 20, tags)


def test_a_text_is_scored_as_it_is_cut():
    texts, tags = ["Ada saw Rome", "Alan left Paris"] * 10, [["B-PER", "O", "B-LOC"]] * 20
    estimator = Tagger("perceptron").fit([text.split() for text in texts], tags)
    assert estimator.evaluate(texts, tags)["span_f1"] == 1.0
    with pytest.raises(
        Mistake,
        match="row 2: found 3 tags for a text that is cut into 4 tokens, expected one for each",
    ):
        estimator.evaluate(["Ada saw Rome", "Ada saw Rome."], tags[:2])


# How a text is cut


@pytest.mark.parametrize("known", [["a", "b.c", "don't", "New", "U.S."], ["中", "文", "字"]])
@settings(max_examples=200, deadline=None)
@given(
    text=st.text(max_size=60)
    | st.text("ab.'’ ntdoU.S中文，-\t", max_size=40)
    | st.text("ab-.", min_size=190, max_size=230)
)
def test_tokens_are_where_they_say(known, text):
    inputs = Tokens.learn([known], "random", 512, "auto")
    tokens, starts = inputs.cut(text)
    at = 0
    for token, start in zip(tokens, starts, strict=True):
        assert token and text[start : start + len(token)] == token and start >= at
        assert not text[at:start].strip()  # nothing but white space between
        at = start + len(token)
    assert not text[at:].strip()


def test_what_training_knew_as_one_token_stays_one():
    inputs = Tokens.learn([["U.S.", "don't", "Mr.", "e-mail", "said", "he"]], "random", 512, "auto")
    cut = inputs.cut("(Mr. X said: don't e-mail the U.S.)")[0]
    assert cut == ["(", "Mr.", "X", "said", ":", "don't", "e-mail", "the", "U.S.", ")"]
    assert inputs.cut("he's said can't.")[0] == ["he", "'s", "said", "ca", "n't", "."]
