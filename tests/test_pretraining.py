"""The contract of pretraining, whose data are documents: the same seed gives the same result, a saved encoder answers as it did,
a stopped training ends as one that was not, padding changes nothing, a trace runs the same model; and what it is for: hidden
words, the next sentence, and others that start from it."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from test_contract import assert_close, same, through_files, weights

import wenmai
from wenmai import Classifier, Encoder, Regressor
from wenmai.catalog import TASKS, tasks_of
from wenmai.errors import Mistake
from wenmai.layers.packing import Packed
from wenmai.layers.trace import Trace
from wenmai.training import loop

SAYS = {"cat": "meows", "dog": "barks", "cow": "moos", "bird": "sings", "horse": "neighs"}
SMALL = {
    "width": 8,
    "heads": 2,
    "layers": 1,
    "steps": 6,
    "evaluations": 3,
    "max_length": 24,
    "batch_tokens": 200,
    "device": "cpu",
}
PAIRS = [
    ("the cat meows", "the cat meows often"),
    ("the dog barks", "the bird sings"),
    ("", "a"),
    ("so " * 40, "cat " * 40),
]


def documents(count: int = 40, seed: int = 0) -> list[str]:
    """Each of one animal, two to six lines long."""
    chance, found = np.random.default_rng(seed), []
    for number in range(count):
        animal = list(SAYS)[number % len(SAYS)]
        lines = [
            f"the {animal} {SAYS[animal]} {chance.choice(['loudly', 'softly', 'so often'])}"
            for _ in range(chance.integers(2, 7))
        ]
        found.append("\n".join(lines))
    return found


FORMS = [
    {},
    {"next_sentence": False},
    {"whole_words": True, "masked": 0.3},
    {"tokenizer": "characters"},
    {"tokenizer": "bpe", "vocabulary": 280},
]
each_form = pytest.mark.parametrize("form", FORMS, ids=str)


def small(**more) -> Encoder:
    return Encoder("bert", **SMALL | more)


@cache
def fitted(**more) -> Encoder:
    return small(**more).fit(documents())


@cache
def learned(seed: int = 0) -> Encoder:
    """One that has learned what its documents say."""
    more = {
        "width": 32,
        "steps": 400,
        "learning_rate": 1e-2,
        "dropout": 0.0,
        "masked": 0.25,
        "batch_tokens": 400,
        "patience": 20,
        "precision": "float32",
    }
    return small(seed=seed, **more).fit(documents(100))


# The contract


@pytest.mark.each_value
@each_form
def test_the_same_seed_gives_the_same_and_another_seed_another(form):
    again, other = small(**form).fit(documents()), small(**form, seed=1).fit(documents())
    assert same(weights(again), weights(fitted(**form))) and not same(
        weights(other), weights(fitted(**form))
    )
    assert fitted(**form).evaluate(documents()) == again.evaluate(documents())


@each_form
def test_a_saved_encoder_answers_as_it_did(form, tmp_path):
    model = fitted(**form)
    loaded = wenmai.load(model.save(tmp_path / "run"))
    assert (
        type(loaded) is Encoder
        and loaded.get_params() == model.get_params()
        and same(weights(loaded), weights(model))
    )
    assert loaded.task_.to_json() == model.task_.to_json()
    assert loaded.evaluate(documents(20, 1)) == model.evaluate(documents(20, 1))
    assert loaded.fill("the cat [MASK] [MASK]") == model.fill("the cat [MASK] [MASK]")
    if "next_sentence" not in form:
        assert (
            loaded.answers(PAIRS) == model.answers(PAIRS)
            and (loaded.predict(PAIRS) == model.predict(PAIRS)).all()
        )


@pytest.mark.each_value
@each_form
@pytest.mark.parametrize("place", [0, 1, 4])
def test_a_stopped_training_ends_as_one_that_was_not(form, place, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    first, snapshot = small(**form), None
    for number, progress in enumerate(first.training(documents())):
        if number >= place:
            snapshot = through_files(progress.snapshot(), first.inputs_.to_json(), tmp_path)
            break
    again = small(**form)
    for _ in again.training(documents(), resume=snapshot):
        pass
    whole = fitted(**form)
    assert same(weights(again), weights(whole))
    assert [p.to_json() | {"seconds": 0} for p in again.progress_] == [
        p.to_json() | {"seconds": 0} for p in whole.progress_
    ]


def test_a_batch_in_pieces_is_the_same_update():
    """What is drawn for a row does not depend on the rows beside it, and both losses are divided by the counts of all pieces."""
    whole, pieces = (
        small(dropout=0.0, precision="float32", micro_batches=count).fit(documents())
        for count in (1, 3)
    )
    assert [p.loss for p in pieces.progress_] == pytest.approx(
        [p.loss for p in whole.progress_], rel=1e-4
    )
    for name, value in weights(whole).items():
        np.testing.assert_allclose(weights(pieces)[name], value, atol=2e-3, err_msg=name)


def test_the_random_numbers_of_others_are_left_alone():
    torch.manual_seed(5), np.random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    small().fit(documents()).evaluate(documents())
    assert (
        torch.equal(torch.get_rng_state(), before[0])
        and (np.random.get_state()[1] == before[1]).all()
    )


def test_held_out_scores_are_drawn_alike_whenever_they_are_asked():
    model = fitted()
    assert model.evaluate(documents(30, 2)) == model.evaluate(documents(30, 2))
    held, at = "\n\n".join(documents(30, 2)), model.evaluate("\n\n".join(documents(30, 2)))
    assert model.evaluate(held) == at and set(at) == {"masked_accuracy", "next_sentence_accuracy"}
    assert set(fitted(next_sentence=False).evaluate(held)) == {"masked_accuracy"}
    assert model.score(held) == at["masked_accuracy"]


@each_form
def test_padding_changes_nothing_and_a_trace_runs_the_same_model(form):
    model = fitted(**form)
    texts = ["the cat meows", "the dog barks so often that nobody sleeps", "a", ""]
    examples, tokens, _ = model.task_.trace_examples(model.trained(), texts)
    batch, trace = examples.batch(np.arange(4)), Trace()
    x, mask = model.model_.input(batch)
    assert Packed.of(mask, x) is not None  # rows are laid end to end
    fast, traced = model.model_(batch), model.model_(batch, trace)
    assert any(name.endswith("attention") for name in trace.notes)
    assert_close(traced[batch.mask], fast[batch.mask])
    for row in range(4):
        alone = model.model_(examples.batch(np.array([row])))
        assert_close(alone[0], fast[row][: alone.shape[1]])
    assert [len(row) for row in tokens] == batch.mask.sum(1).tolist()
    assert model.trace(texts[:2]).outputs.shape[-1] == model.inputs_.vocabulary


def test_a_text_is_read_the_same_however_its_documents_come(tmp_path):
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents()))
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in documents())
    )
    scores = [
        fitted().evaluate(text)
        for text in (documents(), "\n\n".join(documents()), tmp_path / "corpus.txt")
    ]
    assert scores[0] == scores[1] == scores[2]


def test_a_large_text_lies_in_files_and_is_learned_alike(monkeypatch):
    from wenmai.data.examples import masked
    from wenmai.data.files import corpus
    from wenmai.data.text import sentences

    whole = fitted()
    for module in (masked, corpus, sentences):
        monkeypatch.setattr(module, "LARGE", 300)
    stored = small().fit(documents())
    assert same(weights(stored), weights(whole))
    assert isinstance(stored.task_.examples(stored.trained(), documents()).tokens, np.memmap)


# What it learns


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_it_learns_words_and_which_sentence_follows(seed):
    """Against the same network untrained, by margins that all three seeds clear."""
    model = learned(seed)
    scores, trained = model.evaluate(documents(40, 9)), model.model_
    model.model_ = model.build_.model(model.task_, model.inputs_, seed).eval()
    first, model.model_ = model.evaluate(documents(40, 9)), trained
    assert scores["masked_accuracy"] > first["masked_accuracy"] + 0.5
    assert scores["next_sentence_accuracy"] > first["next_sentence_accuracy"] + 0.1
    for animal, verb in SAYS.items():
        (best,) = model.fill(f"the {animal} [MASK] softly")
        assert best[0]["word"] == verb and best[0]["probability"] > 0.3
    both = [
        (f"the {animal} {verb} softly", f"the {other} {SAYS[other]} loudly")
        for animal, verb in SAYS.items()
        for other in SAYS
    ]
    follows, alike = (
        model.predict_proba(both)[:, 1],
        np.array([first.split()[1] == second.split()[1] for first, second in both]),
    )
    assert follows[alike].mean() > follows[~alike].mean() + 0.1
    assert model.predict(both).tolist() == (follows > 0.5).tolist()
    table = model.predict_proba(PAIRS)
    assert table.shape == (4, 2) and np.allclose(table.sum(1), 1, atol=1e-5)
    assert [bool(row.argmax()) for row in table] == [
        answer["follows"] for answer in model.answers(PAIRS)
    ]


def test_words_are_given_with_their_probabilities():
    first, second = learned().fill("the [MASK] [MASK] loudly", top=4)
    assert len(first) == len(second) == 4
    for words in (first, second):
        chances = [one["probability"] for one in words]
        assert chances == sorted(chances, reverse=True) and sum(chances) <= 1.0001
        assert not {one["word"] for one in words} & {
            "<pad>",
            "<unk>",
            "<mask>",
            "<sep>",
            "<bos>",
            "<eos>",
        }
    assert first[0]["word"] in SAYS and second[0]["word"] in SAYS.values()
    assert learned().fill("the <mask> meows") == learned().fill(
        "the [MASK] meows"
    )  # as the tokenizer calls it
    assert len(learned().fill("the [MASK]", top=10**6)[0]) == learned().inputs_.vocabulary - 6


# Others that start from it


@pytest.mark.parametrize("form", [{}, {"next_sentence": False}], ids=str)
def test_a_classifier_and_a_regressor_start_from_it(form):
    start, texts = fitted(**form), [line for text in documents() for line in text.split("\n")]
    labels = [line.split()[1] for line in texts]
    for kind, targets in ((Classifier, labels), (Regressor, [float(len(line)) for line in texts])):
        model = kind("bert", steps=1, learning_rate=0.0, optimizer="adamw", device="cpu").fit(
            texts, targets, start=start
        )
        assert model.inputs_.tokenizer.tokens == start.inputs_.tokenizer.tokens
        known, own = weights(start), weights(model)
        parts = [name for name in own if name.startswith(("input.", "body.", "head.dense."))]
        parts = [name for name in parts if name in known]
        assert any(name.startswith("head.dense.") for name in parts) == (
            "next_sentence" not in form
        )  # the pooler
        assert all(np.array_equal(own[name], known[name]) for name in parts) and len(parts) > 10
        assert model.predict(texts[:2]).shape == (2,)


def test_pretraining_goes_on_with_its_head():
    start = learned()
    more = Encoder("bert", steps=1, learning_rate=0.0, optimizer="adamw", device="cpu").fit(
        documents(50, 3), start=start
    )
    assert same(weights(more), weights(start)) and more.start_["anew"] == 0
    assert more.fill("the dog [MASK] often") == start.fill("the dog [MASK] often")
    words_only = Encoder(
        "bert", steps=1, learning_rate=0.0, optimizer="adamw", next_sentence=False, device="cpu"
    ).fit(documents(50, 3), start=start)
    assert words_only.fill("the dog [MASK] often") == start.fill("the dog [MASK] often")
    other = Encoder("bert", steps=1, learning_rate=0.0, optimizer="adamw", device="cpu").fit(
        documents(50, 3), start=words_only
    )
    assert other.start_["anew"] > 0 and other.fill("the dog [MASK] often") == start.fill(
        "the dog [MASK] often"
    )


def test_what_is_learned_before_helps():
    """Few labels, of which the texts alone say much: from the encoder they are learned, from scratch they are not as well."""
    texts = [line for text in documents(30, 4) for line in text.split("\n")]
    labels = [line.split()[1] for line in texts]
    held = [line for text in documents(60, 5) for line in text.split("\n")]
    right = [line.split()[1] for line in held]
    few = {
        "steps": 12,
        "learning_rate": 2e-3,
        "validation": 0.0,
        "dropout": 0.0,
        "device": "cpu",
        "batch_tokens": 300,
    }
    sizes = {"width": 32, "heads": 2, "layers": 1, "max_length": 24, "tokenizer": "wordpiece"}
    started = Classifier("bert", **few).fit(texts, labels, start=learned()).score(held, right)
    scratch = Classifier("bert", **few, **sizes).fit(texts, labels).score(held, right)
    assert started > scratch


# What the data and the rung say


def test_running_text_and_bert_mean_pretraining():
    reads, writes = list(tasks_of("bert")), list(tasks_of("gpt"))
    assert reads[0] == "classify" and reads.index("pretrain") < reads.index("generate")
    assert writes.index("generate") < writes.index("pretrain") and sorted(reads) == sorted(
        writes
    ) == sorted(TASKS)
    assert list(tasks_of("no such rung")) == list(TASKS)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents(60)))
    return tmp_path


SETTINGS = [
    word
    for name, value in SMALL.items()
    if name != "device"
    for word in ("--set", f"{name}={value}")
]


def told(ran) -> dict:
    assert ran.status == 0, ran.err
    return json.loads(ran.out.splitlines()[-1])


def test_train_evaluate_fill_predict_and_go_on(corpus, wenmai_cli):
    result = told(wenmai_cli("train", "bert", "corpus.txt", *SETTINGS, "--test", "0.1", "--json"))
    assert result["task"] == "pretrain" and set(result["scores"]) == {"valid", "test"}
    assert set(result["scores"]["test"]) == {"masked_accuracy", "next_sentence_accuracy"}
    again = told(wenmai_cli("evaluate", "runs/corpus-bert", "corpus.txt", "--json"))
    assert again["scores"]["test"] == pytest.approx(
        wenmai.load("runs/corpus-bert").evaluate(documents(60))
    )
    filled = told(
        wenmai_cli("fill", "runs/corpus-bert", "the [MASK] meows", "--top", "3", "--json")
    )
    (answer,) = filled["answers"]
    assert (
        answer["text"] == "the [MASK] meows"
        and len(answer["masks"]) == 1
        and len(answer["masks"][0]) == 3
    )
    shown = wenmai_cli("fill", "runs/corpus-bert", "the [MASK] meows")
    assert [len(line.split("\t")) for line in shown.out.splitlines()] == [2] * 5
    shown = wenmai_cli("fill", "runs/corpus-bert", "[MASK] [MASK]", "--top", "2")
    assert "[MASK] [MASK], place 2:" in shown.out
    asked = told(
        wenmai_cli("predict", "runs/corpus-bert", "the cat meows", "the dog barks", "--json")
    )
    assert set(asked["answers"][0]) == {"follows", "probability"}
    (corpus / "pairs.csv").write_text(
        "text_a,text_b\nthe cat meows,the cat meows often\nthe cow moos,it sings\n"
    )
    asked = told(wenmai_cli("predict", "runs/corpus-bert", "--file", "pairs.csv", "--json"))
    assert asked["rows"] == 2 and asked["answers"][1]["probability"] >= 0.5
    more = told(
        wenmai_cli(
            "train",
            "bert",
            "corpus.txt",
            "--from",
            "runs/corpus-bert",
            "--out",
            "runs/more",
            "--set",
            "steps=2",
            "--json",
        )
    )
    assert more["task"] == "pretrain"
    (corpus / "animals.csv").write_text(
        "text,label\n"
        + "".join(f"the {a} {s} {n},{a}\n" for n in range(12) for a, s in SAYS.items())
    )
    tuned = told(
        wenmai_cli(
            "train", "bert", "animals.csv", "--from", "runs/more", "--set", "steps=2", "--json"
        )
    )
    assert tuned["task"] == "classify"
    info = wenmai_cli("info", "runs/corpus-bert")
    assert info.status == 0 and "pretrain" in info.out
    assert "masked" in wenmai_cli("rungs", "bert", "--task", "pretrain").out


def test_compare_trains_no_encoder_and_says_so(corpus, wenmai_cli):
    ran = wenmai_cli("compare", "corpus.txt", "--task", "pretrain", "--minutes", "0.1")
    assert (
        ran.status == 2
        and "compare trains no rung to pretrain; train one by itself, as in wenmai train bert DATA"
        in ran.err
    )


def test_roberta_s_form_from_the_command_line(corpus, wenmai_cli):
    result = told(
        wenmai_cli(
            "train", "bert", "corpus.txt", *SETTINGS, "--set", "next_sentence=false", "--json"
        )
    )
    assert set(result["scores"]["valid"]) == {"masked_accuracy"}
    ran = wenmai_cli("predict", "runs/corpus-bert", "a", "b")
    assert ran.status == 2
    assert (
        "this encoder was trained with next_sentence=false, and cannot say whether a text follows another"
        in ran.err
    )


# Bad input


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (
            lambda model: model.fill("no word is hidden here"),
            r"'no word is hidden here' has no \[MASK\]: put \[MASK\] where a word",
        ),
        (
            lambda model: model.fill("the [MASK] " + "so " * 60),
            "tokens, and this encoder reads 24 at once; make it shorter",
        ),
        (lambda model: model.fill("the [MASK]", top=0), "top=0: expected 1 or more"),
        (
            lambda model: model.predict(["one text", "another"]),
            "expected pairs of texts, of which is said whether",
        ),
        (lambda model: model.predict([("a", "b", "c")]), "expected pairs of texts"),
        (lambda model: model.evaluate("\n \n"), "is empty; expected at least one line of text"),
    ],
)
def test_bad_questions_are_answered_with_a_sentence(ask, sentence):
    with pytest.raises(Mistake, match=sentence):
        ask(fitted())


@pytest.mark.parametrize(
    ("options", "texts", "sentence"),
    [
        (
            {},
            "one\n\ntwo\n\nthree\n\n" * 9,
            "no document has two sentences, so that none follows another",
        ),
        ({"masked": 0.0}, documents(), "masked=0: nothing is hidden"),
        ({"masked": 1.0}, documents(), "masked"),
        ({"max_length": 5}, documents(), "no room for words; expected at least 7"),
        ({"min_count": 3}, documents(), "min_count=3: wordpiece has no such option"),
        ({"tokenizer": "nonsense"}, documents(), "nonsense"),
        ({}, "", "is empty"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(options, texts, sentence):
    with pytest.raises(Mistake, match=sentence):
        small(**options).fit(texts)


def test_one_document_is_learned_from_and_said_to_be_one():
    model = small().fit("\n".join(line for text in documents() for line in text.split("\n")))
    assert any("the text is one document" in str(note) for note in model.notes_)


def test_a_run_that_cannot_fill_says_so(corpus, wenmai_cli):
    (corpus / "films.csv").write_text(
        "text,label\n"
        + "".join(f"{'good' if n % 2 else 'bad'} film {n},{n % 2}\n" for n in range(30))
    )
    assert wenmai_cli("train", "softmax", "films.csv", "--set", "epochs=1").status == 0
    ran = wenmai_cli("fill", "runs/films-softmax", "a [MASK] film")
    assert ran.status == 2
    assert (
        "runs/films-softmax does classify, and a run is wanted that does fill, as wenmai train bert corpus.txt makes one"
        in ran.err
    )
    told(wenmai_cli("train", "bert", "corpus.txt", *SETTINGS, "--json"))
    ran = wenmai_cli("predict", "runs/corpus-bert", "one text alone")
    assert (
        ran.status == 2
        and "found 1, expected two for every answer; hidden words are filled in by wenmai fill"
        in ran.err
    )
    ran = wenmai_cli("predict", "runs/corpus-bert", "--file", "films.csv")
    assert ran.status == 2 and "expected text_a and text_b" in ran.err
