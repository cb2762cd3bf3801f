"""Language models: what they say of a text adds up, what they write follows the prompt and the seed, and what was saved answers
as it did. The contract of running text, over every rung that generates."""

import gzip
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import wenmai
from wenmai import LanguageModel, Mistake
from wenmai.catalog import rungs_for
from wenmai.data.files.corpus import Corpus
from wenmai.data.text.vocabulary import UNK
from wenmai.exchange.arpa_files import exported, imported
from wenmai.language.scoring import as_tensor
from wenmai.serving.filtering import filtered
from wenmai.tasks.decoding import Choice, take
from wenmai.training import loop

pytestmark = pytest.mark.each_value("language models")

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
CHINESE = [
    "白日依山尽",
    "黄河入海流",
    "欲穷千里目",
    "更上一层楼",
    "床前明月光",
    "疑是地上霜",
    "举头望明月",
    "低头思故乡",
]
RUNGS = [rung.name for rung in rungs_for("generate")]
every_rung = pytest.mark.parametrize("rung", RUNGS)
both_layouts = pytest.mark.parametrize("layout", ["fast", "small"])


SMALL = {
    "ngram": {"order": 3},
    "gpt": {"width": 24, "layers": 2, "heads": 2},
    "mlp": {"embed": 16, "hidden": 24},
    "cnn": {"embed": 16, "filters": 24, "layers": 2},
}


def trained(rung: str = "ngram", texts=TEXT, **options) -> LanguageModel:
    small = SMALL.get(rung, {"hidden": 24}) | (
        {} if rung == "ngram" else {"steps": 20, "context": 64}
    )
    return LanguageModel(rung, **small | options).fit(texts)


# What it says of a text


@every_rung
def test_a_text_is_as_likely_as_its_lines_and_these_as_their_tokens(rung):
    model = trained(rung)
    lines = ["the cat sat on the log", "a dog saw the zebra"]
    whole, apart = model.log_prob("\n".join(lines)), model.log_prob(lines)
    assert isinstance(whole, float) and apart.shape == (2,)
    assert apart[0] == pytest.approx(model.log_prob(lines[0]), abs=1e-4)
    if rung == "ngram":  # others read on from line to line
        assert whole == pytest.approx(apart.sum(), rel=1e-6)
    words, found = lines[0].split(), 0.0
    for at, word in enumerate(words):
        found += model.log_prob(word, after=" ".join(words[:at]))
    assert found == pytest.approx(
        model.log_prob(lines[0]) - model.log_prob("\n", after=lines[0]), abs=1e-4
    )
    assert found == pytest.approx(model.log_prob(lines[0], after=""), abs=1e-4)


@pytest.mark.each_value
@every_rung
@pytest.mark.parametrize("tokenizer", ["spaces", "characters", "bpe", "words"])
def test_one_step_at_a_time_says_what_the_whole_text_says(rung, tokenizer):
    model = trained(rung, tokenizer=tokenizer)
    for text in ("the cat sat on the log", "zebra dog", "a"):
        tokens = [*model.inputs_.prompt(text).tolist(), model.inputs_.special.end]
        log_probs, state = model.trained().language.begin(np.zeros(0, np.int32))
        found = 0.0
        for token in tokens:
            assert log_probs.shape == (1, len(model.inputs_))
            assert torch.logsumexp(log_probs.double(), 1).item() == pytest.approx(0, abs=1e-4)
            found += log_probs[0, token].item()
            log_probs, state = model.model_.step(state, torch.tensor([token]))
        assert found == pytest.approx(model.log_prob(text), abs=1e-4)


@every_rung
def test_a_batch_of_states_is_as_many_single_ones(rung):
    model = trained(rung)
    tokens, end = model.inputs_.prompt("the cat"), model.inputs_.special.end
    _, state = model.trained().language.begin(tokens)
    log_probs, _ = model.model_.step(
        take(state, torch.tensor([0, 0, 0])), torch.tensor([3, 4, end])
    )
    for row, token in enumerate([3, 4, end]):
        alone, _ = model.model_.step(state, torch.tensor([token]))
        torch.testing.assert_close(log_probs[row], alone[0])


@both_layouts
def test_word_by_word_says_what_the_line_says(layout):
    model = trained(layout=layout)
    state, found = model.start(), []
    for word in ["the", "cat", "saw", "a", "zebra", "\n", "a", "dog", "\n"]:
        log_prob, state = model.advance(state, word)
        found.append(log_prob)
    assert sum(found) == pytest.approx(model.log_prob("the cat saw a zebra\na dog"), rel=1e-5)
    assert state == model.start()


def test_scores():
    model, held = trained(), ["the dog sat on the mat", "a zebra is a cat"]
    scores, tokens = model.evaluate(held), sum(len(line.split()) + 1 for line in held)
    assert scores["perplexity"] == pytest.approx(math.exp(-model.log_prob(held).sum() / tokens))
    size = sum(len(line) + 1 for line in held)
    assert scores["bits_per_byte"] == pytest.approx(
        -model.log_prob(held).sum() / math.log(2) / size
    )
    assert model.perplexity(held) == scores["perplexity"] and model.score(held) == pytest.approx(
        model.log_prob(held).sum()
    )
    assert len(scores.notes) == 1 and scores.notes[0].startswith(
        "1 of the 13 tokens are <unk>, unknown to the model"
    )
    assert model.perplexity("the dog\n") == model.perplexity(["the dog"])


def test_without_smoothing_what_was_not_seen_has_no_probability():
    model = trained(smoothing="none")
    scores = model.evaluate("the mat saw a log")
    assert scores["perplexity"] == math.inf and "infinite" in scores.notes[0]
    assert model.perplexity(TEXT[0]) < 10 and model.log_prob(
        "mat", after="on the"
    ) == pytest.approx(math.log(2 / 5), abs=1e-6)
    with pytest.raises(Mistake, match="after this text nothing has a probability"):
        model.generate("zebra zebra", tokens=3)
    assert model.generate("the", tokens=5, seed=1).startswith("the ")


# How the text is read


@pytest.mark.parametrize(
    ("tokenizer", "unit"),
    [
        ("spaces", "word"),
        ("words", "word"),
        ("characters", "character"),
        ("bpe", "subword"),
        ("wordpiece", "subword"),
    ],
)
def test_every_unit(tokenizer, unit, tmp_path):
    model = trained(tokenizer=tokenizer)
    assert model.inputs_.unit == unit
    assert 1 < model.perplexity(TEXT) < 12
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.evaluate(TEXT) == model.evaluate(TEXT)
    assert again.generate("the ", tokens=20, seed=5) == model.generate("the ", tokens=20, seed=5)


def test_chinese_is_read_character_by_character():
    model = LanguageModel("ngram").fit(CHINESE * 4)
    assert model.inputs_.name == "characters" and model.inputs_.unit == "character"
    assert model.generate("白日", tokens=3, temperature=0) == "白日依山尽"
    assert [token for token, _ in model.complete("举头望", 1)] == ["明"]
    assert model.generate("床前", tokens=4, temperature=0).startswith("床前明月光")


def test_names_are_read_character_by_character():
    assert (
        LanguageModel("ngram", order=2)
        .fit(["Anna", "Otto", "Hannah", "Ada Lovelace"] * 4)
        .inputs_.name
        == "characters"
    )


def test_rare_words_are_unknown_if_asked():
    model = trained(min_count=7)
    kept = set(model.inputs_.tokens()[3:])
    assert kept == {
        word for word in " ".join(TEXT).split() if " ".join(TEXT).split().count(word) >= 7
    }
    assert "saw" not in kept and model.log_prob("a saw") == model.log_prob(
        "a zebra"
    ) != model.log_prob("a mat")
    assert len(trained(vocabulary=6).inputs_) == 6
    lower = trained(lowercase=True, texts=["The Cat sat", "the cat SAT on it"])
    assert lower.inputs_.tokens()[3:] == ["the", "cat", "sat", "on", "it"]


def test_unk_in_the_text_is_the_unknown_word():
    model = trained(texts=["the <unk> sat", "a <unk> sat", "the cat sat"] * 3)
    assert (
        model.inputs_.number("<unk>")
        == UNK
        == model.inputs_.number("zebra")
        == model.inputs_.number("<s>")
    )
    assert model.log_prob("zebra", after="a") > model.log_prob("cat", after="a")


def test_what_the_text_comes_in(tmp_path):
    """A list, one text of many lines, a file, a packed file: the same lines, the same model."""
    (tmp_path / "a.txt").write_text("\n".join(TEXT) + "\n")
    models = [
        trained(texts=texts) for texts in (TEXT, "\n".join(TEXT), Corpus.of(TEXT), tuple(TEXT))
    ]
    assert len({model.perplexity(TEXT) for model in models}) == 1
    with pytest.raises(Mistake, match="input 2: expected a text, found int"):
        trained(texts=["a", 3])


@pytest.mark.parametrize(
    "text",
    [
        b"a b\r\nc d\r\n",
        b"a b\nc d",
        "\ufeffa b\nc d\n".encode(),
        "甲 乙\n丙 丁\n".encode("gb18030"),
    ],
)
def test_line_ends_and_encodings(text, tmp_path, wenmai_cli):
    (tmp_path / "a.txt").write_bytes(text * 1)
    ran = wenmai_cli(
        "train",
        "ngram",
        str(tmp_path / "a.txt"),
        "--set",
        "order=2",
        "--set",
        "tokenizer=spaces",
        "--out",
        str(tmp_path / "run"),
    )
    assert ran.status == 0, ran.err
    assert sorted(wenmai.load(tmp_path / "run").inputs_.tokens()[3:]) in (
        ["a", "b", "c", "d"],
        sorted("甲乙丙丁"),
    )


# Going on


@every_rung
def test_generation_follows_seed_and_prompt(rung):
    model = trained(rung)
    first = model.generate("the cat", tokens=30, seed=3)
    assert first == model.generate("the cat", tokens=30, seed=3) and first.startswith("the cat")
    assert len({model.generate("the cat", tokens=30, seed=seed) for seed in range(8)}) > 3
    assert "".join(model.stream("the cat", tokens=30, seed=3)) == first.removeprefix("the cat")
    greedy = model.generate("the", tokens=12, temperature=0)
    assert (
        greedy
        == model.generate("the", tokens=12, top_k=1, seed=7)
        == model.generate("the", tokens=12, top_p=1e-9, seed=8)
    )
    assert "<unk>" not in model.generate("", tokens=300, seed=1)
    assert model.generate("the cat", tokens=30, lines=1, seed=3).count("\n") == 0
    assert model.generate("", tokens=60, lines=2, seed=3).count("\n") == 1
    prompts = ["the cat", "a"]
    assert [row["text"] for row in model.answers(prompts)] == prompts


def test_choices():
    log_probs = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(20_000, 1)

    def shares(**how):
        chosen = Choice(**how)(log_probs, torch.Generator().manual_seed(0))
        return np.bincount(chosen, minlength=4) / len(chosen)

    np.testing.assert_allclose(shares(), [0.5, 0.3, 0.15, 0.05], atol=0.015)
    np.testing.assert_allclose(shares(top_k=2), [0.625, 0.375, 0, 0], atol=0.015)
    np.testing.assert_allclose(
        shares(top_p=0.9), [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], atol=0.015
    )
    np.testing.assert_allclose(shares(top_p=0.5), [1, 0, 0, 0])
    hot = np.array([0.5, 0.3, 0.15, 0.05]) ** 0.5
    np.testing.assert_allclose(shares(temperature=2.0), hot / hot.sum(), atol=0.015)
    assert (Choice(temperature=0)(log_probs[:3], torch.Generator()) == 0).all()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"temperature": -0.1}, "temperature=-0.1: expected 0"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"top_k": -1}, "top_k=-1"),
        ({"top_p": 0}, "top_p=0"),
        ({"top_p": 1.1}, "top_p=1.1: expected more"),
    ],
)
def test_choices_that_are_none(how, said):
    with pytest.raises(Mistake, match=said):
        trained().generate("the", **how)


def test_completion():
    model = trained()
    found = model.complete("the cat sat on", 3)
    assert [word for word, _ in found][:1] == ["the"] and len(found) == 3
    assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    assert found[0][1] == pytest.approx(
        math.exp(model.log_prob("the", after="the cat sat on")), rel=1e-5
    )
    assert [word for word, _ in model.complete("the", 2, beginning="d")] == ["dog"]
    assert all(p > 0 for _, p in trained(smoothing="none", order=2).complete("a", 50))
    assert model.generate("the cat ", tokens=2, temperature=0) == model.generate(
        "the cat", tokens=2, temperature=0
    )
    assert model.generate("the", tokens=5, temperature=1e-310) == model.generate(
        "the", tokens=5, temperature=0
    )
    assert sum(p for _, p in model.complete("zebra", 1000)) == pytest.approx(
        1, abs=0.2
    )  # all but <unk>


# Keeping, and other tools


@both_layouts
def test_a_saved_model_answers_as_it_did(layout, tmp_path):
    model = trained(layout=layout)
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.log_prob(TEXT[:5]).tolist() == model.log_prob(TEXT[:5]).tolist()
    assert (
        again.get_params() == model.get_params()
        and again.inputs_.tokens() == model.inputs_.tokens()
    )
    assert again.generate("the", tokens=20, seed=2) == model.generate("the", tokens=20, seed=2)
    assert all(
        not array.flags.writeable for array in again.model_.state().values()
    )  # mapped, not read


@both_layouts
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"smoothing": "katz"},
        {"smoothing": "add-one"},
        {"smoothing": "none"},
        {"order": 1},
        {"prune": "0 1"},
        {"threshold": 1e-3},
    ],
    ids=str,
)
def test_through_arpa_and_back(layout, options, tmp_path):
    model = trained(layout=layout, **options)
    for name in ("model.arpa", "model.arpa.gz"):
        exported(model, "arpa", tmp_path / name)
        again = imported(str(tmp_path / name), layout)
        held = ["the dog sat on the mat", "a zebra is", "mat"]
        expected = np.maximum(model.log_prob(held), -99 * math.log(10) * 8)
        if options.get("smoothing") != "none":
            np.testing.assert_allclose(again.log_prob(held), expected, atol=1e-4)
        assert again.inputs_.tokens() == model.inputs_.tokens()
        assert (
            wenmai.load(again.save(tmp_path / "run")).log_prob(held).tolist()
            == again.log_prob(held).tolist()
        )


def test_kenlm_reads_what_is_exported(tmp_path):
    kenlm = pytest.importorskip("kenlm")
    model = trained()
    exported(model, "arpa", tmp_path / "model.arpa")
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    for text in [*TEXT[:5], "a zebra saw the log"]:
        assert theirs.score(text) * math.log(10) == pytest.approx(model.log_prob(text), abs=1e-4)


def test_characters_through_arpa(tmp_path):
    model = LanguageModel("ngram", order=3, tokenizer="characters").fit(
        ["天 地 玄 黄", "宇宙 洪荒", "a▁b\tc\u3000d"] * 3
    )
    assert "--tokenizer characters" in exported(model, "arpa", tmp_path / "model.arpa")
    again = imported(str(tmp_path / "model.arpa"), "fast", "characters")
    assert again.inputs_.unit == "character"
    assert again.perplexity("天 地 洪荒") == pytest.approx(model.perplexity("天 地 洪荒"), rel=1e-5)
    assert "bpe" in exported(trained(tokenizer="bpe"), "arpa", tmp_path / "bpe.arpa")


def test_a_classifier_is_not_exported(tmp_path):
    model = wenmai.Classifier("ngram").fit(["a b", "c d"] * 3, ["x", "y"] * 3)
    with pytest.raises(Mistake, match="this run is the rung ngram for classify"):
        exported(model, "arpa", tmp_path / "model.arpa")


# Filtering


def lines_and_perplexities(model):
    lines = [*TEXT[:6], "zebra zebra zebra", "the log the log the log"]
    return lines, [model.perplexity(line) for line in lines]


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz", "in.jsonl", "in.jsonl.xz"])
def test_filter_keeps_what_is_likely_enough(name, tmp_path):
    model = trained()
    lines, perplexities = lines_and_perplexities(model)
    rows = (
        [json.dumps({"n": n, "body": line}) for n, line in enumerate(lines)]
        if "json" in name
        else lines
    )
    data = "".join(f"{row}\n" for row in rows).encode()
    if name.endswith(".xz"):
        import lzma

        data = lzma.compress(data)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    bound, column = sorted(perplexities)[4] + 1e-9, "body" if "json" in name else "text"
    found = filtered(model, str(tmp_path / name), 0.0, bound, tmp_path / "out.gz", column)
    passed = [row for row, perplexity in zip(rows, perplexities) if perplexity <= bound]
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines() == passed
    assert (found["rows"], found["kept"], found["dropped"]) == (8, len(passed), 8 - len(passed))
    assert found["perplexity"]["50%"] == pytest.approx(sorted(perplexities)[3], rel=1e-6)
    rest = filtered(model, str(tmp_path / name), bound, math.inf, tmp_path / "rest", column)
    assert rest["kept"] == found["dropped"]


def test_filter_reads_in_blocks_and_keeps_bytes(tmp_path, monkeypatch, capfdbinary):
    import wenmai.serving.filtering as filtering

    model = trained()
    lines = [f"the cat {n} sat\r" for n in range(500)] + ["x" * 5000, "caf\udce9"]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    expected = [model.perplexity(line.replace("\udce9", "?")) for line in lines]
    monkeypatch.setattr(filtering, "BLOCK", 1000)
    (tmp_path / "in.txt").write_bytes(data)
    filtered(model, str(tmp_path / "in.txt"), 0.0, math.inf, tmp_path / "all")
    assert (tmp_path / "all").read_bytes() == data
    found = filtered(model, str(tmp_path / "in.txt"), 0.0, sorted(expected)[100], tmp_path / "some")
    assert (
        found["kept"]
        == (tmp_path / "some").read_bytes().count(b"\n")
        == sum(p <= sorted(expected)[100] for p in expected)
    )


def test_filter_reads_pipes_once_and_leaves_devices_alone(tmp_path):
    import os
    import threading

    model, text = trained(), "".join(f"{line}\n" for line in TEXT).encode()
    for name in ("in", "out"):
        os.mkfifo(tmp_path / name)
    threading.Thread(target=lambda: (tmp_path / "in").write_bytes(text)).start()
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "out").read_bytes()))
    reader.start()
    assert filtered(model, str(tmp_path / "in"), 0.0, math.inf, tmp_path / "out")["rows"] == len(
        TEXT
    )
    reader.join(10)
    assert found == [text] and (tmp_path / "out").is_fifo()
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "plain.txt").write_bytes(text)
    filtered(model, str(tmp_path / "plain.txt"), 0.0, math.inf, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == text
    with pytest.raises(Mistake, match="is a pipe or a device"):
        LanguageModel("ngram").fit(tmp_path / "in")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"a b c\n" * 50, mtime=0), "is packed; unpack it"),
        ("a b\n".encode("utf-16"), "looks like a binary file"),
    ],
)
def test_what_a_pipe_must_not_bring(data, said, tmp_path, monkeypatch):
    import sys
    from types import SimpleNamespace

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    with pytest.raises(Mistake, match=said):
        filtered(trained(), "-", 0.0, 9.0, tmp_path / "out")


def test_a_byte_order_mark_is_no_word(tmp_path):
    (tmp_path / "bom.txt").write_bytes(
        b"\xef\xbb\xbfthe cat sat on the mat\nthe cat sat on the mat\n"
    )
    found = filtered(trained(), str(tmp_path / "bom.txt"), 0.0, 5.0, tmp_path / "out")
    assert (
        found["kept"] == 2
        and (tmp_path / "out").read_bytes() == (tmp_path / "bom.txt").read_bytes()
    )


def test_filter_on_the_command_line(tmp_path, wenmai_cli, monkeypatch):
    trained().save(tmp_path / "run")
    (tmp_path / "in.jsonl").write_text('{"text": "the cat sat"}\n{"text": "mat mat mat mat"}\n')
    ran = wenmai_cli(
        "filter",
        str(tmp_path / "run"),
        str(tmp_path / "in.jsonl"),
        "--max-perplexity",
        "10",
        "--out",
        str(tmp_path / "out.jsonl"),
        "--json",
    )
    assert ran.status == 0 and json.loads(ran.out.splitlines()[-1])["kept"] == 1
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "the cat sat"}\n'
    (tmp_path / "bad.jsonl").write_text('{"text": "the cat sat"}\n{"txt": "a"}\n')
    ran = wenmai_cli(
        "filter", str(tmp_path / "run"), str(tmp_path / "bad.jsonl"), "--out", str(tmp_path / "bad")
    )
    assert (
        ran.status == 2
        and 'line 2: found no text under "text"' in ran.err
        and not (tmp_path / "bad").exists()
    )


# The classifier


@pytest.mark.parametrize("balance", [False, True])
def test_one_model_a_class_and_a_prior(balance):
    """By hand: p(c) p(text | c), each by a model of its own; balanced classes are as likely, however many rows each has."""
    texts, labels = (
        ["a b a c", "a a b", "b a", "c a b", "c b c a", "b c"],
        ["x", "x", "x", "x", "y", "y"],
    )
    options = {
        "smoothing": "none",
        "order": 1,
        "tokenizer": "words",
    }  # which does not ask how many words there are
    model = wenmai.Classifier("ngram", validation=0, balance=balance, **options).fit(texts, labels)
    rows = {label: [text for text, other in zip(texts, labels) if other == label] for label in "xy"}
    asked = ["a b", "c b", "b", "c c c a", "a"]
    joint = np.stack(
        [LanguageModel("ngram", **options).fit(rows[label]).log_prob(asked) for label in "xy"], 1
    )  # (N, C)
    joint += np.log([0.5, 0.5] if balance else [4 / 6, 2 / 6])
    wanted = np.exp(joint - joint.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(asked), wanted, rtol=1e-4)
    assert (
        model.predict(asked).tolist() == ["xy"[best] for best in wanted.argmax(1)]
        and len(set(wanted.argmax(1))) == 2
    )


def test_a_classifier_reads_no_numbers():
    with pytest.raises(Mistake, match="the rung ngram reads text"):
        wenmai.Classifier("ngram").fit(np.eye(4), list("aabb"))


# What cannot be


@pytest.mark.parametrize(
    ("options", "texts", "said"),
    [
        ({"order": 0}, TEXT, "order=0: expected 1 to 7"),
        ({"order": 8}, TEXT, "order=8: expected 1 to 7"),
        ({"smoothing": "good"}, TEXT, "smoothing='good' is not one of none"),
        ({"delta": 0.5}, TEXT, "delta=0.5 goes with"),
        ({"smoothing": "add-delta", "delta": 0.0}, TEXT, "delta=0: expected"),
        ({"prune": "1"}, TEXT, "prune=1"),
        ({"prune": "0 2 1"}, TEXT, "do not fall"),
        ({"prune": "x"}, TEXT, "prune=x"),
        ({"memory": "2X"}, TEXT, "memory=2X"),
        ({"vocabulary": 3}, TEXT, "vocabulary=3: expected at least 4"),
        ({"memory": "10"}, TEXT, "memory=10"),
        ({}, [], "the text is empty"),
        ({}, ["", "  "], "the text is empty"),
        ({"order": 5}, ["a b c"], "found 3 tokens, expected at least as many as the order, 5"),
        ({"tokenizer": "word"}, TEXT, 'unknown tokenizer "word"; did you mean words'),
        ({"smoothing": "none", "threshold": 1e-5}, TEXT, "smoothing=none cannot be pruned"),
        ({"engine": "spark"}, TEXT, "engine=spark counts words between spaces in a text file"),
    ],
)
def test_what_cannot_be_trained_is_a_sentence(options, texts, said):
    with pytest.raises(Mistake, match=said):
        LanguageModel("ngram", **options).fit(texts)


def test_little_text_is_told():
    model = trained(texts=["a b c", "d e f g"], order=3)
    assert any("discount" in note for note in model.notes_)
    assert math.isfinite(model.perplexity("a b g"))


def test_a_line_of_ten_megabytes(tmp_path):
    long = "word " * 2_000_000 + "x" * 10_000_000
    model = trained(texts=[*TEXT, long], order=2)
    assert model.log_prob("x" * 10_000_000) < 0 and math.isfinite(model.perplexity(long))
    assert model.inputs_.number("x" * 10_000_000) != UNK


def test_a_context_of_unknown_words():
    model = trained()
    assert model.log_prob("cat", after="zebra quagga zebra") == pytest.approx(
        model.log_prob("cat", after="zebra zebra"), abs=0.7
    )
    assert all(math.isfinite(value) for value in model.log_prob(["zebra " * 50, "zebra cat zebra"]))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.log_prob(["a", 3]),
        lambda m: m.log_prob(3),
        lambda m: m.log_prob(["a"], after="b"),
        lambda m: m.evaluate(None),
    ],
)
def test_what_is_no_text_is_a_sentence(call):
    with pytest.raises(Mistake, match=r"expected a text|goes with one text"):
        call(trained())


def test_texts_that_come_one_by_one_and_files(tmp_path):
    model = trained()
    assert model.log_prob(iter(TEXT[:3])).tolist() == model.log_prob(TEXT[:3]).tolist()
    (tmp_path / "a.txt").write_text("\n".join(TEXT))
    assert trained(texts=tmp_path / "a.txt").perplexity(TEXT) == model.perplexity(
        tmp_path / "a.txt"
    )


def test_a_file_that_becomes_shorter(tmp_path):
    (tmp_path / "a.txt").write_text("a b c\n" * 10_000)
    corpus = Corpus.of(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("a b c\n" * 100)
    with pytest.raises(Mistake, match="has become shorter while it was read"):
        list(corpus.blocks())


def test_long_texts_are_written_in_time_that_grows_with_them():
    """As many calls for a token at the end as at the beginning."""
    lines, asked = trained().inputs_, []
    line, lines.line = lines.line, lambda numbers: asked.append(len(numbers)) or line(numbers)
    assert len("".join(lines.pieces([], [3, 4] * 500, None, False)).split()) == 1000
    assert max(asked) <= 30


def test_untrained():
    with pytest.raises(Mistake, match="has not been trained"):
        LanguageModel("ngram").log_prob("a")


def test_corpora_are_cut_between_lines():
    corpus = Corpus.of([f"line {n}" for n in range(100)])
    parts = corpus.parts([0.1, 0.2])
    assert [line for part in parts for line in part] == list(corpus) and len(parts[0]) in range(
        68, 73
    )
    assert [len(list(part)) for part in corpus.parts([0.0])] == [100, 0] and len(corpus) == 100
    assert b"".join(corpus.blocks(7)) == b"".join(corpus.blocks()) and all(
        block.endswith(b"\n") for block in corpus.blocks(7)
    )
    assert io.BytesIO(b"".join(parts[1].blocks())).readline().startswith(b"line ")


# Networks that write


NETWORKS = [rung for rung in RUNGS if rung != "ngram"]


@pytest.mark.parametrize("rung", NETWORKS)
@pytest.mark.parametrize("place", [0, 1, 5, 13])
def test_a_stopped_training_ends_as_one_that_was_not(rung, place, monkeypatch):
    """Also in the middle of a stream, whose state is carried on."""
    monkeypatch.setattr(loop, "HEARTBEAT", -1.0)
    options = {
        "gpt": {"width": 12, "heads": 2, "layers": 1},
        "cnn": {"filters": 12, "layers": 2},
    }.get(rung, {"hidden": 12})
    options |= {
        "context": 5,
        "steps": 16,
        "batch_tokens": 20,
        "evaluations": 4,
        "dropout": 0.3,
        "min_count": 5,
    }
    whole, first, snapshot = (
        LanguageModel(rung, **options).fit(TEXT),
        LanguageModel(rung, **options),
        None,
    )
    for number, progress in enumerate(first.training(TEXT)):
        if number >= place:
            snapshot = replace(
                progress.snapshot(), inputs=json.loads(json.dumps(first.inputs_.to_json()))
            )
            break
    again = LanguageModel(rung, **options)
    for _ in again.training(TEXT, resume=snapshot):
        pass
    for name, value in whole.model_.state_dict().items():
        assert torch.equal(value, again.model_.state_dict()[name]), name
    assert [p.score for p in again.progress_] == [p.score for p in whole.progress_]


@pytest.mark.each_value
@pytest.mark.parametrize("rung", NETWORKS)
def test_the_future_does_not_leak(rung):
    model = trained(rung)
    first, second = (
        model.inputs_.prompt("the cat sat on the mat"),
        model.inputs_.prompt("the cat sat in a log"),
    )
    with torch.no_grad():
        states = (
            model.model_.hidden(as_tensor(tokens[None]), None)[0] for tokens in (first, second)
        )
        one, other = map(model.model_.head.outputs, states)
    torch.testing.assert_close(one[:, :3], other[:, :3])
    assert not torch.allclose(one[:, 4], other[:, 4])


@pytest.mark.parametrize("rung", NETWORKS)
def test_a_network_learns_what_follows(rung):
    options = {"gpt": {"width": 32, "heads": 2}, "cnn": {"filters": 32}}.get(rung, {"hidden": 32})
    options["learning_rate"] = 5e-3 if rung == "gpt" else 1e-2
    options |= {"layers": 1, "context": 16, "steps": 150, "batch_tokens": 64, "dropout": 0.0}
    model = LanguageModel(rung, **options).fit(["a b c d e f g h"] * 60)
    assert model.perplexity("a b c d e f g h\na b c d e f g h") < 3
    assert model.generate("a b c", tokens=3, temperature=0) == "a b c d e f"


@pytest.mark.parametrize("rung", ["lstm", "gru", "rnn", "rnn-gated"])
def test_the_weights_of_the_state_are_dropped_in_training_only(rung):
    model = trained(rung, weight_dropout=0.5)
    tokens = as_tensor(model.inputs_.prompt("the cat sat")[None])
    with torch.no_grad():
        still = [model.model_.hidden(tokens, None)[0] for _ in range(2)]
        model.model_.train()
        moving = [model.model_.hidden(tokens, None)[0] for _ in range(2)]
    torch.testing.assert_close(*still)
    assert not torch.allclose(*moving)


def test_words_that_are_said_are_those_that_are_read():
    fitted = trained("lstm", embed=10)
    assert fitted.model_.head.output.weight is fitted.model_.input.table.weight
    assert trained("lstm", embed=10, tie=False).model_.head.output.weight.shape == (
        len(fitted.inputs_),
        24,
    )


# The key/value cache


def read_again(model, tokens: torch.Tensor) -> torch.Tensor:
    """log p after these tokens (B, T), from a window that is read whole."""
    with torch.no_grad():
        return model.head.outputs(model.hidden(tokens[:, -model.context :], None)[0])[:, -1]


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("begun", [1, 4, 9, 10, 15])
def test_a_cache_says_what_reading_again_says(positions, rows, begun):
    """Before the window of 10 is full, when it is, and beyond it; also where the prompt alone is longer."""
    fitted = trained("gpt", positions=positions, context=10)
    model = fitted.model_
    text = torch.randint(
        2, len(fitted.inputs_), (rows, 24), generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        log_probs, state = model.after(text[:, :begun], None)
    for at in range(begun, 24):
        torch.testing.assert_close(log_probs, read_again(model, text[:, :at]), atol=1e-4, rtol=0)
        log_probs, state = model.step(state, text[:, at])


@pytest.mark.each_value
@every_rung
def test_a_state_stays_as_it_was(rung):
    """Two that read on from the same place, turn by turn, do not meet; nor do rows that were taken."""
    model = trained(rung)
    _, state = model.trained().language.begin(model.inputs_.prompt("the cat"))
    texts = [model.inputs_.prompt(text) for text in ("sat on the mat", "saw a dog is")]
    apart = []
    for text in texts:
        after = model.trained().language.begin(model.inputs_.prompt("the cat"))[1]
        for token in text:
            log_probs, after = model.model_.step(after, torch.tensor([token]))
        apart.append(log_probs[0])
    states = [state, state]
    for pair in zip(*texts):
        found = [
            model.model_.step(each, torch.tensor([token])) for each, token in zip(states, pair)
        ]
        states = [after for _, after in found]
    for (log_probs, _), alone in zip(found, apart):
        torch.testing.assert_close(log_probs[0], alone)
    both, turned = take(state, torch.tensor([0, 0])), torch.tensor([1, 0])
    for at, pair in enumerate(zip(*texts)):
        log_probs, both = model.model_.step(both, torch.tensor(pair if at % 2 == 0 else pair[::-1]))
        both = take(both, turned)
    torch.testing.assert_close(log_probs, torch.stack(apart[::-1]))


def test_several_tokens_are_read_on_at_once():
    fitted = trained("gpt", positions="rotary")
    model = fitted.model_
    text = torch.randint(
        2, len(fitted.inputs_), (2, 12), generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        _, state = model.after(text[:, :5], None)
        log_probs, _ = model.after(text[:, 5:], state)
    torch.testing.assert_close(log_probs, read_again(model, text), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("rung", "options", "reach"),
    [
        ("mlp", {"window": 3}, 3),
        ("mlp", {"window": 1}, 1),
        ("mlp", {"window": 2, "layers": 2, "direct": True, "tie": False}, 2),
        ("cnn", {"window": 2, "layers": 3}, 4),
        ("cnn", {"window": 1}, 1),
        ("cnn", {"window": 3, "layers": 1, "embed": 24, "tie": False}, 3),
    ],
)
def test_a_window_reaches_back_so_far_and_no_further(rung, options, reach, tmp_path):
    model = trained(rung, **options)
    words = ["the", "cat", "sat", "on", "the", "mat", "is", "a"]
    at = len(words) - reach
    outside, inside = words.copy(), words.copy()
    outside[at - 1], inside[at] = "dog", "dog"
    begin = model.trained().language.begin
    said, other, changed = (
        begin(model.inputs_.prompt(" ".join(read)))[0] for read in (words, outside, inside)
    )
    torch.testing.assert_close(said, other)
    assert not torch.allclose(said, changed)
    lines = [*TEXT, " ".join(words)]
    assert (
        wenmai.load(model.save(tmp_path / "run")).log_prob(lines).tolist()
        == model.log_prob(lines).tolist()
    )
