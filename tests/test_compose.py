"""compose: a text for a label, a row of numbers or a picture. What is said step by step is what is said of the whole text; what
is drawn follows from the seed; and the command line goes from any file to texts."""

import json
import math

import numpy as np
import pytest
import torch

import wenmai
from wenmai import Composer, Mistake
from wenmai.catalog import RUNGS, rungs_for
from wenmai.data.builtin import BUILTIN
from wenmai.data.text.tokenizers import OWN, SPECIAL
from wenmai.tasks.decoding import take

LABELS = ["fruit", "metal"] * 12
TEXTS = [
    "apple",
    "iron",
    "pear",
    "zinc",
    "plum",
    "tin",
    "fig",
    "gold",
    "peach",
    "lead",
    "cherry",
    "copper",
] * 2
SMALL = {"hidden": 12, "embed": 8, "width": 12, "heads": 2, "layers": 2, "steps": 5}
LEARNS = {
    "steps": 120,
    "learning_rate": 0.01,
    "hidden": 48,
    "embed": 24,
    "layers": 1,
    "dropout": 0.0,
    "validation": 0.0,
}
NAMES = [rung.name for rung in rungs_for("compose")]
every_rung = pytest.mark.parametrize("rung", NAMES)
CELLS = [name for name in NAMES if "feedback" in Composer(name).get_params()]
PLACES = ("learned", "sinusoidal", "rotary")
BOTH = (True, False)
END = OWN.end
UNWRITTEN = list(OWN.unwritten)
OPTIONS = [
    (cell, {"context_input": enters, "feedback": fed})
    for cell in CELLS
    for enters in ("first", "every")
    for fed in BOTH
]
OPTIONS += [("gpt", {"positions": places, "tie": tie}) for places in PLACES for tie in BOTH]
OPTIONS += [
    ("transformer", {"positions": places, "norm": norm})
    for places in PLACES
    for norm in ("pre", "post")
]


def composer(rung: str = "gru", **options) -> Composer:
    known = Composer(rung).get_params()
    return Composer(
        rung, **{name: value for name, value in SMALL.items() if name in known} | options
    )


def trained(rung: str = "gru", inputs=LABELS, texts=TEXTS, **options) -> Composer:
    return composer(rung, **options).fit(inputs, texts)


def pictures(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 17, (count, 6, 8)).astype(np.uint8)


def stepwise(model: Composer, inputs, rows: list[list[int]]) -> list[np.ndarray]:
    """log p (T, V) of every text, said a token at a time; all rows together, each as long as the longest."""
    longest = max(map(len, rows))
    batch = model.examples(inputs).batch(np.arange(len(rows)))
    log_probs, state = model.model_.begin(batch, longest)
    said = [log_probs]
    for at in range(longest - 1):
        log_probs, state = model.model_.step(
            state, torch.tensor([row[at] if at < len(row) else END for row in rows])
        )
        said.append(log_probs)
    return [torch.stack(said, 1)[row, : len(tokens)].numpy() for row, tokens in enumerate(rows)]


# What is said


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "options"), OPTIONS, ids=str)
def test_one_step_at_a_time_says_what_the_whole_text_says(rung, options):
    texts = ["fig", "unheard-of ☃", "a", "cherry copper " * 3]
    for inputs in (["metal", "fruit", "fruit", "metal"], pictures(4)):
        model = trained(rung, LABELS if isinstance(inputs, list) else pictures(24), **options)
        examples = model.examples(inputs, texts)
        whole = model.outputs(examples)
        rows = [examples.written[row].tolist() for row in range(4)]
        for row, said in enumerate(stepwise(model, inputs, rows)):
            np.testing.assert_allclose(said, whole[row], atol=2e-5)
            np.testing.assert_allclose(np.exp(said.astype(np.float64)).sum(1), 1, atol=1e-5)
            assert (
                np.isneginf(said[:, UNWRITTEN]).all()
                and np.isfinite(np.delete(said, UNWRITTEN, 1)).all()
            )


@every_rung
def test_what_comes_later_changes_nothing(rung):
    model = trained(rung)
    one, other = (
        model.outputs(model.examples(["fruit"], [text]))[0] for text in ("pear plum", "peach")
    )
    np.testing.assert_allclose(one[:4], other[:4], atol=1e-5)  # of "pea", and what follows it
    assert np.abs(np.delete(one[4], UNWRITTEN) - np.delete(other[4], UNWRITTEN)).max() > 1e-5


@every_rung
def test_states_are_taken_as_rows(rung):
    model = trained(rung)
    batch = model.examples(["fruit", "metal"]).batch(np.arange(2))
    log_probs, state = model.model_.begin(batch, 9)
    again, mixed = (take(part, torch.tensor([1, 0, 1])) for part in (log_probs, state))
    torch.testing.assert_close(again, log_probs[[1, 0, 1]])
    tokens = torch.tensor([4, 5, 6])
    found, after = model.model_.step(mixed, tokens)
    for row, at in enumerate([1, 0, 1]):
        alone, later = model.model_.step(take(state, torch.tensor([at])), tokens[row : row + 1])
        torch.testing.assert_close(found[row], alone[0], atol=1e-5, rtol=1e-5)
        other, _ = model.model_.step(later, tokens[:1])
        torch.testing.assert_close(
            model.model_.step(after, tokens[[0, 0, 0]])[0][row], other[0], atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("cell", CELLS)
def test_without_feedback_no_token_knows_another(cell):
    blind, fed = (trained(cell, feedback=fed) for fed in (False, True))
    for model, same in ((blind, True), (fed, False)):
        one, other = (
            model.outputs(model.examples(["fruit"], [text]))[0] for text in ("apple", "plums")
        )
        np.testing.assert_allclose(one[0], other[0], atol=1e-6)
        assert np.allclose(one[1:, END], other[1:, END], atol=1e-6) == same
    assert blind.model_.parameters_count() < fed.model_.parameters_count()


def test_the_vector_enters_where_it_is_told_to():
    for enters, steps in (("first", 1), ("every", 6)):
        model, seen = trained(context_input=enters), []
        model.model_.decoder.cells.register_forward_pre_hook(
            lambda module, given, seen=seen: seen.append(given[0])
        )
        for label in ("fruit", "metal"):
            model.outputs(model.examples([label], ["apple"]))
        differ = (seen[0] - seen[1]).abs().sum(2)[0]  # (T,) of what the cell reads
        assert int((differ > 1e-6).sum()) == steps


def test_scores_are_sums_divided_once():
    model, labels, texts = trained(), ["fruit", "metal", "fruit"], ["fig", "tin ☃", "plum"]
    scores, sums = model.evaluate(labels, texts), model.log_prob(labels, texts)
    tokens, size = (
        sum(len(text) + 1 for text in texts),
        sum(len(text.encode()) + 1 for text in texts),
    )
    assert scores["perplexity"] == pytest.approx(math.exp(-sums.sum() / tokens))
    assert scores["bits_per_byte"] == pytest.approx(-sums.sum() / math.log(2) / size)
    assert model.score(labels, texts) == pytest.approx(sums.sum() / tokens)
    assert scores.notes == [
        "2 of the 15 tokens are <unk>, unknown to the model or written so: what they are is not counted "
        "in perplexity and bits per byte"
    ]
    right = [text == other for text, other in zip(texts, model.predict(labels))]
    assert scores["exact_match"] == np.mean(right)


# What is written


@pytest.mark.each_value
@every_rung
def test_one_is_as_many(rung):
    model = trained(rung, pictures(24), TEXTS, steps=40)
    given = np.concatenate([pictures(24), pictures(8)])
    together, alone = (
        model.predict(given),
        [model.predict(given[row : row + 1])[0] for row in range(32)],
    )
    assert together.tolist() == alone
    answers = model.answers(given)
    assert [answer["text"] for answer in answers] == alone
    sure = model.log_prob(given, together)
    for answer, sum_ in zip(answers, sure):
        if (
            len(answer["text"]) < model.inputs_.target.longest - 1
        ):  # one that is cut off has no end to count
            assert answer["log_prob"] == pytest.approx(sum_, abs=1e-3)


@every_rung
def test_what_is_drawn_follows_from_the_seed(rung):
    model = trained(rung)
    many = model.compose("fruit", 20, seed=3)
    assert many == model.compose("fruit", 20, seed=3) and len(set(many)) > 3
    assert many[7:12] == model.compose("fruit", 5, seed=10)  # whoever is drawn beside it
    assert many[4] == "".join(model.stream("fruit", seed=7))
    assert model.compose("metal", 2, temperature=0) == [model.predict(["metal"])[0]] * 2
    assert model.compose("metal", 2, top_k=1) == [model.predict(["metal"])[0]] * 2
    longest = model.inputs_.target.longest
    assert (
        longest == 7
        and all(0 < len(text) <= longest for text in many)
        and not any("<unk>" in text for text in many)
    )


@pytest.mark.each_value
@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe", "wordpiece", "unigram"])
def test_every_unit(tokenizer, tmp_path):
    texts = ["the green apple pie", "an iron bar", "Pear cake"] * 8
    model = trained(
        inputs=["a", "b", "c"] * 8, texts=texts, tokenizer=tokenizer, vocabulary=300, **LEARNS
    )
    assert model.inputs_.unit == {"characters": "character", "words": "word"}.get(
        tokenizer, "subword"
    )
    assert model.predict(["a", "b", "c"]).tolist() == texts[:3]
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.compose("a", 4, seed=1) == model.compose("a", 4, seed=1) and again.evaluate(
        ["c"], ["Pear cake"]
    ) == model.evaluate(["c"], ["Pear cake"])
    assert "".join(again.stream("c", temperature=0)) == "Pear cake"


@pytest.mark.slow
def test_chinese_and_lines_are_written():
    model = trained(
        inputs=["山", "河"] * 10, texts=["白日依山尽\n黄河入海流", "春眠不觉晓"] * 10, **LEARNS
    )
    assert model.predict(["山", "河"]).tolist() == ["白日依山尽\n黄河入海流", "春眠不觉晓"]
    pieces = list(model.stream("山", temperature=0))
    assert len(pieces) == 11 and "".join(pieces) == "白日依山尽\n黄河入海流"


def test_numbers_and_whole_numbers_as_labels(tmp_path):
    rows = np.random.default_rng(0).normal(size=(24, 3))
    for rung in ("rnn", "gpt", "transformer"):
        model = trained(rung, rows, TEXTS)
        assert len(model.predict(rows[:5])) == 5 and len(model.compose(rows[0], 2)) == 2
        again = wenmai.load(model.save(tmp_path / rung))
        np.testing.assert_array_equal(again.log_prob(rows, TEXTS), model.log_prob(rows, TEXTS))
    model = trained(inputs=[0, 1] * 12)
    assert (
        model.predict([1, 0]).tolist()
        == model.predict(np.array([1, 0])).tolist()
        == model.predict(["1", "0"]).tolist()
    )


# What cannot be


def refused(words: str, made):
    with pytest.raises(Mistake, match=words):
        made()


def test_mistakes_are_sentences():
    model, numbers, images = (
        trained(),
        trained(inputs=np.ones((24, 3))),
        trained(inputs=pictures(24)),
    )
    refused(
        "row 2: the label 'metall' is not among the trained ones: metal, fruit",
        lambda: model.predict(["fruit", "metall"]),
    )
    refused("input 1: expected a label, found float", lambda: model.predict([0.5]))
    refused(
        "expected rows of 3 numbers, found an array of shape",
        lambda: numbers.predict(np.ones((2, 4))),
    )
    refused("row 1, column 2: found nan", lambda: numbers.predict(np.array([[0.0, np.nan, 1.0]])))
    refused(
        "expected images of shape .*, found", lambda: images.predict(np.zeros((1, 9, 9), np.uint8))
    )
    refused("row 2: the text is empty", lambda: trained(texts=["apple", " "] * 12))
    refused("row 3: expected a text to write, found int", lambda: trained(texts=["a", "b", 3] * 8))
    refused(r"found one text only \(apple\) in", lambda: trained(texts=["apple"] * 24))
    refused("vocabulary=6: expected at least 7", lambda: trained(vocabulary=6))
    refused("hold no token that is known", lambda: trained(min_count=1000))
    refused("temperature=-0.5: expected 0", lambda: model.compose("fruit", temperature=-0.5))
    refused("top_p=0", lambda: next(model.stream("fruit", top_p=0)))
    refused("count=0: expected 1 or more", lambda: model.compose("fruit", 0))
    refused(
        "numeric sequences; to compose, give a label",
        lambda: trained(inputs=[[1.0, 2.0], [3.0]] * 12),
    )
    refused("of which there is no table", lambda: model.predict_proba(["fruit"]))
    refused("found 1 inputs and 2 targets", lambda: model.evaluate(["fruit"], ["a", "b"]))
    refused(
        "the rung softmax does not do compose; these do: rnn",
        lambda: Composer("softmax").fit(LABELS, TEXTS),
    )
    refused("has not been trained", lambda: Composer("gru").predict(["fruit"]))


def test_a_long_text_is_cut_and_said_so():
    model = trained(texts=["apple pie with cream", "iron"] * 12, max_length=8)
    note = "12 of the texts are longer than max_length=8 tokens: what goes beyond is not read"
    assert note in model.notes_ or note.replace("12", "11") in model.notes_
    assert model.inputs_.target.longest == 8 and all(
        len(text) <= 8 for text in model.compose("fruit", 9)
    )
    scores = model.evaluate(["fruit"], ["apple pie with cream"])
    assert scores.notes == [
        "1 of the texts are longer than max_length=8 tokens: what goes beyond is not read"
    ]
    texts = ("apple pie", "apple pie with as much cream as can be")
    one, other = (model.evaluate(["fruit"], [text])["bits_per_byte"] for text in texts)
    assert one == other  # of what is not read no byte counts


def test_a_vocabulary_of_one_letter_counts():
    model = trained(inputs=["one", "three"] * 12, texts=["a", "aaa"] * 12, **LEARNS)
    assert model.inputs_.target.vocabulary == len(SPECIAL) + 1
    assert model.predict(["one", "three"]).tolist() == ["a", "aaa"]


@pytest.mark.parametrize(
    "change", [{"longest": 0}, {"longest": 10**6}, {"most": "x"}, {"tokenizer": {}}], ids=str
)
def test_a_damaged_side_is_refused(change, tmp_path):
    from wenmai.data.inputs import kinds as inputs
    from wenmai.data.storage.saved import Unfit

    saved = trained().inputs_.to_json()
    assert inputs.from_json(json.loads(json.dumps(saved))).to_json() == saved
    with pytest.raises(Unfit):
        inputs.from_json(saved | {"target": saved["target"] | change})
    with pytest.raises(Unfit):
        inputs.from_json(saved | {"source": {"kind": "labels", "names": ["b", "a"]}})


# Data


def test_digits_have_names():
    plain, words, chinese = (
        BUILTIN["digits"].load(**({"digits": o} if o else {})) for o in ("", "words", "zh")
    )
    assert list(plain.columns) == ["image", "label"] and list(words.columns) == list(
        chinese.columns
    ) == ["image", "text"]
    assert words.columns["text"][:3] == ["zero", "one", "two"] and chinese.columns["text"][
        7:10
    ] == ["七", "八", "九"]
    refused(
        'unknown kind of names "english"; known are',
        lambda: BUILTIN["digits"].load(digits="english"),
    )


def write_rows(path, form: str):
    if form == "csv":
        path.write_text(
            "label,text\n" + "".join(f"{label},{text}\n" for label, text in zip(LABELS, TEXTS))
        )
    elif form == "jsonl":
        rows = (
            {"a": 1.5 * (label == "fruit"), "b": len(text), "text": text}
            for label, text in zip(LABELS, TEXTS)
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.table({"label": LABELS, "text": TEXTS}), path)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_from_a_file_to_texts_and_back(form, wenmai_cli, tmp_path):
    source, run, out = tmp_path / f"rows.{form}", tmp_path / "run", tmp_path / "out.csv"
    write_rows(source, form)
    told = json.loads(wenmai_cli("data", source, "--task", "compose", "--json").out)
    assert told["task"] == "compose" and told["rows"] == 24 and told["texts"] == 12
    assert told["inputs"] == ("numbers 2" if form == "jsonl" else "labels")
    known = Composer("gru").get_params()
    sets = [
        word
        for name, value in SMALL.items()
        if name in known
        for word in ("--set", f"{name}={value}")
    ]
    ran = wenmai_cli("train", "gru", source, "--task", "compose", "--out", run, *sets, "--json")
    assert ran.status == 0, ran.err
    result = json.loads(ran.out.splitlines()[-1])
    assert (
        result["task"] == "compose"
        and result["unit"] == "character"
        and "perplexity" in result["scores"]["valid"]
    )
    assert "a character" in ran.err and f"wenmai compose {run}" in ran.err
    given = "1.5,4" if form == "jsonl" else "fruit"
    (answer,) = json.loads(wenmai_cli("predict", run, given, "--json").out.splitlines()[-1])[
        "answers"
    ]
    assert (
        answer["text"]
        == wenmai.load(run).predict(np.array([[1.5, 4.0]]) if form == "jsonl" else ["fruit"])[0]
    )
    drawn = wenmai_cli("compose", run, given, "--count", 3, "--seed", 5)
    told = json.loads(wenmai_cli("compose", run, given, "--count", 3, "--seed", 5, "--json").out)[
        "answers"
    ]
    assert drawn.out.splitlines() == [row["text"] for row in told] and {
        row["input"] for row in told
    } == {given}
    if form != "jsonl":
        two = wenmai_cli("compose", run, "fruit", "metal", "--temperature", 0).out.splitlines()
        assert [line.split("\t")[0] for line in two] == ["fruit", "metal"] and two[0].split("\t")[
            1
        ] == answer["text"]
    assert wenmai_cli("predict", run, "--file", source, "--out", out).status == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 25 and lines[0] == (
        "a,b,text,log_prob" if form == "jsonl" else "label,text,log_prob"
    )
    assert json.loads(wenmai_cli("evaluate", run, source, "--json").out)["unit"] == "character"


def test_pictures_from_files(wenmai_cli, tmp_path):
    from PIL import Image

    for row, picture in enumerate(pictures(24)):
        Image.fromarray(picture * 15).save(tmp_path / f"{row}.png")
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(tmp_path / "large.png")
    source, run = tmp_path / "rows.csv", tmp_path / "run"
    source.write_text(
        "image,text\n" + "".join(f"{row}.png,{text}\n" for row, text in enumerate(TEXTS))
    )
    assert json.loads(wenmai_cli("data", source, "--json").out)["task"] == "compose"
    assert (
        wenmai_cli(
            "train", "transformer", source, "--out", run, "--set", "steps=5", "--set", "width=16"
        ).status
        == 0
    )
    ran = wenmai_cli("compose", run, tmp_path / "3.png", "--json")
    assert json.loads(ran.out)["answers"][0]["text"]
    assert json.loads(
        wenmai_cli("predict", run, tmp_path / "3.png", tmp_path / "4.png", "--json").out
    )["answers"]
    ran = wenmai_cli("predict", run, tmp_path / "large.png")
    assert (
        ran.status == 2 and "found an image of 9×9 points, expected 6×8 as in training" in ran.err
    )
    ran = wenmai_cli("compose", run, tmp_path / "none.png")
    assert ran.status == 2 and "this run reads images" in ran.err and "is no file" in ran.err


def test_mistakes_on_the_command_line(wenmai_cli, tmp_path):
    source, empty, bare = tmp_path / "rows.csv", tmp_path / "empty.csv", tmp_path / "bare.csv"
    write_rows(source, "csv")
    empty.write_text("label,text\nfruit,apple\nmetal,\n")
    bare.write_text("text\napple\niron\n")
    for path, words in (
        (empty, "empty.csv, line 3: the text is empty"),
        (bare, "it takes a label, numbers or an image"),
    ):
        ran = wenmai_cli("train", "gru", path, "--task", "compose", "--out", tmp_path / "none")
        assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1, ran.err
    ran = wenmai_cli("train", "gru", "iris", "--task", "compose", "--out", tmp_path / "none")
    assert ran.status == 2 and "iris has no column text" in ran.err
    assert (
        wenmai_cli(
            "train",
            "rnn",
            source,
            "--task",
            "compose",
            "--out",
            tmp_path / "run",
            "--set",
            "steps=3",
        ).status
        == 0
    )
    for words, said in (
        ("fruit --count 0", "count=0"),
        ("fruit --temperature -1", "temperature=-1"),
        ("frut", "fruit, metal"),
        ("fruit --top-k -2", "top_k=-2"),
        ("fruit --top-p 0", "top_p=0"),
    ):
        ran = wenmai_cli("compose", tmp_path / "run", *words.split())
        assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1, ran.err
    assert (
        wenmai_cli("train", "rnn", source, "--out", tmp_path / "other", "--set", "steps=3").status
        == 0
    )
    ran = wenmai_cli("compose", tmp_path / "other", "fruit")
    assert ran.status == 2 and "does classify, and a run is wanted that does compose" in ran.err


def test_labels_are_parted_by_their_texts():
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset

    pytest.importorskip("babel")
    opened = open_dataset("languages:de fi", TASKS, "compose", None, "0.1", "0.1", 0)
    parts = [opened.train, opened.valid, opened.test]
    assert all(set(part.inputs) == {"German", "Finnish"} for part in parts)
    assert not set(parts[0].targets) & set(parts[1].targets) and not any(
        "repeat" in note for note in opened.notes
    )


@pytest.mark.slow
def test_compare_ranks_the_rungs_and_shows_what_they_write(wenmai_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.csv", "csv")
    ran = wenmai_cli(
        "compare",
        "rows.csv",
        "--task",
        "compose",
        "--rungs",
        "rnn,gpt",
        "--minutes",
        "0.05",
        "--json",
    )
    report = json.loads(ran.out.splitlines()[-1])
    assert [row["failed"] for row in report["rungs"]] == [None, None], report
    scores = [row["scores"]["test"]["perplexity"] for row in report["rungs"]]
    judged = [
        score for score, row in zip(scores, report["rungs"]) if row["state"] != "short"
    ]  # the others come last
    assert judged == sorted(judged) == scores[: len(judged)] and scores[len(judged) :] == sorted(
        scores[len(judged) :]
    )
    assert report["recommendation"] is None or report["recommendation"]["rung"] in ("rnn", "gpt")
    row = report["rungs"][0]
    low, high = row["interval"]
    assert (
        low <= scores[0] <= high and row["predictions_per_second"] > 0 and row["confusion"] is None
    )
    assert (
        row["worst"][0].keys() == {"input", "expected", "answer", "perplexity"}
        and row["samples"][0]["written"]
    )
    page = (tmp_path / "reports" / "rows" / "report.html").read_text()
    assert (
        "What it writes" in page and "它写出的文本" in page and row["samples"][0]["input"] in page
    )


def test_every_row_that_composes_names_its_builder():
    assert NAMES == [
        "rnn",
        "rnn-residual",
        "rnn-coupled",
        "rnn-gated",
        "lstm",
        "gru",
        "transformer",
        "gpt",
    ]
    assert all(RUNGS[name].builder("compose") is RUNGS[name].builders["compose"] for name in NAMES)
