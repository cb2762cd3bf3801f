"""How a language model writes: from any prompt, alone or beside others, byte by byte, and what it says when it cannot."""

import json
import math
import re

import numpy as np
import pytest
import torch

import wenmai
from wenmai import Classifier, LanguageModel, Mistake
from wenmai.catalog import rungs_for
from wenmai.data.text.lines import Lines, written_bytes
from wenmai.data.text.tokenizers import OWN, SPECIAL, Bytes
from wenmai.errors import Notice
from wenmai.layers.cache import Cache, join
from wenmai.models.network import Network
from wenmai.tasks.decoding import Choice
from wenmai.training.progress import Diverged

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
SMALL = {
    "ngram": {"order": 3},
    "gpt": {"width": 24, "layers": 2, "heads": 2},
    "mlp": {"embed": 16, "hidden": 24},
    "cnn": {"embed": 16, "filters": 24, "layers": 2},
}


@pytest.fixture(scope="module")
def trained():
    models = {}

    def one(rung: str) -> LanguageModel:
        if rung not in models:
            options = SMALL.get(rung, {"hidden": 24}) | (
                {} if rung == "ngram" else {"steps": 20, "context": 8}
            )
            models[rung] = LanguageModel(rung, **options).fit(TEXT)
        return models[rung]

    return one


# Side by side


@pytest.mark.each_value
@every_rung
@pytest.mark.parametrize(
    "how",
    [
        {"temperature": 0},
        {"temperature": 0, "lines": 1},
        {"lines": 2, "top_k": 5, "seed": 7},
        {"top_p": 0.8},
    ],
    ids=str,
)
def test_several_prompts_are_written_as_each_alone(rung, how, trained):
    model, prompts = trained(rung), ["the cat", "a", "", "the dog sat", "a cat", "the cat ", "a"]
    alone = [
        model.generate(prompt, tokens=12, **how | {"seed": how.get("seed", 0) + row})
        for row, prompt in enumerate(prompts)
    ]
    assert model.generate(prompts, tokens=12, **how) == alone
    assert (
        model.generate(iter(prompts[:2]), tokens=12, **how) == alone[:2]
        and model.generate([]) == []
    )


def test_many_prompts_of_one_length(trained):
    """More than are read by a call a block."""
    model, prompts = trained("gpt"), ["a cat", "the cat", "the dog", "a dog"] * 4
    assert model.generate(prompts, tokens=9, temperature=0) == [
        model.generate(p, tokens=9, temperature=0) for p in prompts
    ]


@pytest.mark.each_value
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("count", [3, 13])
def test_prompts_of_different_lengths_are_read_on_together(positions, count, monkeypatch):
    """In one cache, a few rows and many; some leave it when their line ends, and for some it becomes too small."""
    model = LanguageModel("gpt", **SMALL["gpt"], positions=positions, steps=20, context=24).fit(
        TEXT
    )
    prompts = [
        " ".join(("the cat sat on a mat is " * 3).split()[: 1 + 5 * row % 14])
        for row in range(count)
    ]
    assert len(set(map(len, prompts))) > 2
    hows = [
        {"temperature": 0, "tokens": 6},
        {"lines": 1, "tokens": 20, "seed": 3},
        {"lines": 2, "tokens": 30, "seed": 40},
    ]
    alone = [
        [
            model.generate(prompt, **how | {"seed": how.get("seed", 0) + row})
            for row, prompt in enumerate(prompts)
        ]
        for how in hows
    ]
    joined = []
    monkeypatch.setattr(
        "wenmai.tasks.continuation.join", lambda states: joined.append(join(states)) or joined[-1]
    )
    assert [model.generate(prompts, **how) for how in hows] == alone
    assert (
        all(
            isinstance(state, Cache) and not state.aligned and len(state) == count
            for state in joined
        )
        and len(joined) == 3
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"tokens": 0}, "tokens=0: expected 1 or more"),
        ({"tokens": -1}, "tokens=-1"),
        ({"lines": 0}, "lines=0: expected 1 or more, after which it stops"),
    ],
)
def test_no_length_at_all_is_a_sentence(how, said, trained):
    for prompt in ("a", ["a"]):
        with pytest.raises(Mistake, match=said):
            trained("lstm").generate(prompt, **how)


@every_rung
def test_an_answer_is_the_same_wherever_its_prompt_stands(rung, trained):
    model = trained(rung)
    found = model.predict(["a", "the cat sat on", "the", "a"])
    assert found[0] == found[3] == model.predict(["a"])[0] and "\n" not in "".join(found)
    with pytest.raises(Mistake, match="input 2: expected a text, found int"):
        model.predict(["a", 3])


def test_more_prompts_than_are_written_at_once(trained, monkeypatch):
    monkeypatch.setattr("wenmai.tasks.continuation.SIDE_BY_SIDE", 3)
    model, prompts = trained("lstm"), [" ".join(["the"] * (n % 5)) for n in range(11)]
    assert model.generate(prompts, tokens=5, temperature=0) == [
        model.generate(p, tokens=5, temperature=0) for p in prompts
    ]


# One iterator


@every_rung
def test_a_stream_can_be_closed_midway(rung, trained):
    model = trained(rung)
    whole = list(model.stream("the cat", tokens=12, seed=4))
    stream = model.stream("the cat", tokens=12, seed=4)
    first = [next(stream) for _ in range(3)]
    stream.close()
    assert first == whole[:3] and list(stream) == []
    assert list(model.stream("the cat", tokens=12, seed=4)) == whole


def test_the_command_line_writes_what_python_streams(trained, tmp_path, wenmai_cli):
    model = trained("lstm")
    model.save(tmp_path / "run")
    how = ("--prompt", "the cat", "--tokens", "9", "--seed", "4")
    pieces = list(model.stream("the cat", tokens=9, seed=4))
    plain = wenmai_cli("generate", tmp_path / "run", *how)
    assert plain.status == 0 and plain.out == "the cat" + "".join(pieces) + "\n"
    lines = [
        json.loads(line)
        for line in wenmai_cli(
            "generate", tmp_path / "run", *how, "--json", "--stream"
        ).out.splitlines()
    ]
    assert [line["piece"] for line in lines[:-1]] == pieces
    assert lines[-1]["answers"] == [{"text": "the cat" + "".join(pieces)}]
    whole = wenmai_cli("generate", tmp_path / "run", *how, "--json").out.splitlines()
    assert [json.loads(line) for line in whole] == lines[-1:]


# Prompts


@every_rung
def test_a_prompt_that_is_longer_than_the_context(rung, trained, recwarn):
    model, prompt = trained(rung), " ".join(["the cat sat on a mat"] * 4)
    written = model.generate(prompt, tokens=3, temperature=0)
    said = [str(warning.message) for warning in recwarn if issubclass(warning.category, Notice)]
    if rung in ("gpt", "rnn-residual", "rnn-gated"):
        assert said == [
            f"the prompt has 24 tokens, and {rung} looks back on 8: the first 16 play no part"
        ]
        cut = " ".join(prompt.split()[16:])
        assert written.endswith(model.generate(cut, tokens=3, temperature=0)) and len(recwarn) == 1
    else:
        assert not said
    assert (
        model.complete(prompt, 1)
        and model.generate([prompt, "a"], tokens=3, temperature=0)[0] == written
    )


@pytest.mark.each_value
@every_rung
@pytest.mark.parametrize("texts", [["a a a a a a"] * 4, ["a b"], "aaaa"], ids=str)
def test_one_word_and_less_than_a_window(rung, texts):
    options = SMALL.get(rung, {"hidden": 24}) | ({"order": 2} if rung == "ngram" else {"steps": 3})
    model = LanguageModel(rung, **options).fit(texts)
    assert (
        set(model.generate("", tokens=20, seed=1)) <= set("ab \n")
        and model.generate("a", tokens=2, temperature=0)[0] == "a"
    )
    assert math.isfinite(model.perplexity("a")) and math.isfinite(model.perplexity("b a a b"))
    assert model.predict(["a", ""]).shape == (2,)
    if rung == "gpt":
        assert any("fewer than the 256 that are read at once" in note for note in model.notes_)
    for nothing in ([""], [], ["  "]):
        with pytest.raises(Mistake, match="is empty; expected at least one line of text"):
            LanguageModel(rung, **options).fit(nothing)


# A loss that is no number


def no_number(monkeypatch, *calls: int) -> None:
    whole, seen = Network.losses, [0]

    def losses(self, batch):
        (loss,), state = whole(self, batch)
        seen[0] += torch.is_grad_enabled()
        return [loss._replace(total=loss.total * float("nan")) if seen[0] in calls else loss], state

    monkeypatch.setattr(Network, "losses", losses)


@pytest.mark.parametrize("rung", ["lstm", "gpt"])
def test_a_loss_that_is_no_number(rung, monkeypatch):
    options = SMALL["gpt"] if rung == "gpt" else {"hidden": 8}
    options = options | {"steps": 24, "evaluations": 4, "batch_tokens": 40, "context": 5}
    no_number(monkeypatch, 15)
    model = LanguageModel(rung, **options)
    (told,) = [progress.warning for progress in model.training(TEXT) if progress.warning]
    assert re.match(
        r"step 1\d: the loss is not a finite number \(the window from token \d+ on, and 7 other rows of its ",
        told,
    )
    assert (
        told.endswith("training went back to step 12, with 0.1 times the learning rate.")
        and told in model.notes_
    )
    assert math.isfinite(model.perplexity(TEXT)) and [
        progress.step for progress in model.progress_
    ] == [6, 12, 18, 24]
    no_number(monkeypatch, 15, 20)
    model = LanguageModel(rung, **options).fit(TEXT)  # nothing of what it had learned is lost
    assert re.match(
        r"step 1\d: the loss is no longer a finite number \(the window from token .* by step 12",
        model.notes_[-1],
    )
    assert math.isfinite(model.perplexity(TEXT)) and not model.model_.training
    no_number(monkeypatch, 4, 7)
    with pytest.raises(
        Diverged, match=r"step \d: the loss is no longer a finite number \(the window from token "
    ):
        LanguageModel(rung, **options).fit(TEXT)


# Choosing


def test_only_what_may_be_chosen_is():
    log_probs = torch.log(torch.tensor([[0.1, 0.0, 0.4, 0.2, 0.3, 0.0]])).repeat(5000, 1)
    drawn = torch.rand(5000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for how, kept in (
        ({}, {0, 2, 3, 4}),
        ({"top_k": 2}, {2, 4}),
        ({"top_p": 0.65}, {2, 4}),
        ({"top_p": 0.75}, {2, 3, 4}),
        ({"top_k": 3, "top_p": 0.4}, {2}),
        ({"top_k": 99}, {0, 2, 3, 4}),
    ):
        assert set(Choice(**how).at(log_probs, drawn).tolist()) == kept, how
    edge = torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)
    assert Choice().at(log_probs[:2], edge).tolist() == [0, 4]


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.01, 1.0, 6.0])
def test_top_p_of_many_tokens_is_that_of_all_of_them(spread):
    """Whether a few reach the share or not."""
    log_probs = (
        spread * torch.randn(4, 3000, generator=torch.Generator().manual_seed(1))
    ).log_softmax(-1)
    probs, order = log_probs.double().exp().sort(-1, descending=True)
    for share in (0.2, 0.7, 0.99):
        kept = [
            set(row[: int((total < share).sum()) + 1].tolist())
            for row, total in zip(order, probs.cumsum(-1))
        ]
        drawn = torch.linspace(0, 1 - 1e-9, 500, dtype=torch.float64)
        for row in range(4):
            found = Choice(top_p=share).at(log_probs[row : row + 1].expand(500, -1), drawn)
            assert set(found.tolist()) <= kept[row]


def test_top_k_of_equals_is_the_first():
    log_probs = torch.full((1, 50), -math.log(50))
    assert (
        Choice(top_k=1).at(log_probs, torch.zeros(1).double()).tolist()
        == [0]
        == Choice(0).at(log_probs, None).tolist()
    )
    assert Choice(top_p=1e-9).at(log_probs, torch.full((1,), 0.999).double()).tolist() == [0]


# Bytes


@pytest.mark.parametrize("rung", ["ngram", "lstm", "gpt"])
def test_bytes_are_tokens(rung, tmp_path):
    options = SMALL.get(rung, {"hidden": 24}) | (
        {} if rung == "ngram" else {"steps": 20, "context": 32}
    )
    model = LanguageModel(rung, tokenizer="bytes", **options).fit(CHINESE * 4)
    assert model.inputs_.unit == "byte" and len(model.inputs_) == len(SPECIAL) + 256
    text = "白日 façade\t🙂\r\n\r\nnever seen\n"
    scores = model.evaluate(text)
    assert scores["bits_per_byte"] == pytest.approx(
        math.log2(scores["perplexity"])
    ) and "<unk>" not in str(scores.notes)
    assert model.total(text).tokens == model.total(text).size == len(text.encode())
    again = wenmai.load(model.save(tmp_path / "run"))
    assert again.evaluate(text) == scores
    written = "".join(model.stream("白日", tokens=90, seed=3))
    assert written == "".join(again.stream("白日", tokens=90, seed=3)) and written.encode()
    (tmp_path / "odd.txt").write_bytes(b"ok\n\xff\xfe\xe4\xb8\nend")
    block = (tmp_path / "odd.txt").read_bytes()
    sums = next(model.trained().language.scored([block]))
    assert len(sums[1]) == 3 and sums[2].tolist() == [3, 5, 4] and math.isfinite(sums[1].sum())


def test_bytes_become_characters_when_they_are_whole():
    lines, end = Lines(Bytes(False)), OWN.end
    numbers = lines.prompt("aé白🙂").tolist()
    assert len(numbers) == 1 + 2 + 3 + 4
    assert list(written_bytes(numbers, None, end)) == [
        "a",
        "",
        "é",
        *[""] * 2,
        "白",
        *[""] * 3,
        "🙂",
    ]
    assert (
        "".join(written_bytes(numbers[:-1], None, end)) == "aé白"
    )  # what is not whole is not written
    assert (
        "".join(written_bytes([numbers[3], end, numbers[0]], None, end)) == "\ufffd\na"
    )  # nor was it ever to be
    assert "".join(written_bytes([numbers[3], end, numbers[0]], 1, end)) == "\ufffd"
    assert list(written_bytes([len(SPECIAL) + 0xFF, numbers[0]], None, end)) == ["\ufffd", "a"]
    assert (
        lines.line(numbers) == "aé白🙂"
        and lines.line(numbers[-1:]) == "\\x82"
        and lines.text([*numbers[:1], end]) == "a\n"
    )


def test_bytes_know_every_byte():
    lines, starts = Lines(Bytes(False)).numbers(bytes(range(256)))
    assert starts.tolist() == [0, 11, 257] and lines.tolist() == [
        *range(6, 16),
        OWN.end,
        *range(17, 262),
        OWN.end,
    ]
    for option in ({"vocabulary": 300}, {"min_count": 2}):
        with pytest.raises(Mistake, match="tokenizer=bytes knows every byte there is"):
            LanguageModel("ngram", tokenizer="bytes", **option).fit(TEXT)


@pytest.mark.parametrize("rung", ["softmax", "cnn", "gru", "ngram"])
def test_bytes_are_classified(rung, tmp_path):
    options = {"validation": 0.0} | (
        {} if rung in ("softmax", "ngram") else {"embed": 16, "steps": 60, "dropout": 0.0}
    )
    texts, labels = ["白日依山尽", "a cat sat", "黄河入海流", "the dog"] * 8, ["zh", "en"] * 16
    model = Classifier(rung, tokenizer="bytes", **options).fit(texts, labels)
    assert model.predict(texts[:4]).tolist() == labels[:4]
    assert np.array_equal(
        wenmai.load(model.save(tmp_path / "run")).predict_proba(texts), model.predict_proba(texts)
    )
    assert Bytes(True).decode(Bytes(True).encode(["ÀB\ud800"]).flat) == "àb?"


# On the command line


def test_evaluate_takes_ways_to_judge(tmp_path, trained, wenmai_cli):
    trained("gpt").save(tmp_path / "run")
    (tmp_path / "a.txt").write_text("\n".join(TEXT[:9]) + "\n")
    ran = wenmai_cli(
        "evaluate",
        tmp_path / "run",
        tmp_path / "a.txt",
        "--set",
        "stride=1",
        "--set",
        "cache=20",
        "--set",
        "dynamic=rms",
        "--tune",
        tmp_path / "a.txt",
        "--json",
    )
    assert ran.status == 0, ran.err
    found = json.loads(ran.out.splitlines()[-1])
    names = [
        f"{name}{way}"
        for way in ("", "_sliding", "_cache", "_dynamic")
        for name in ("perplexity", "bits_per_byte")
    ]
    assert list(found["scores"]["test"]) == names and len(found["notes"]) == 4
    assert (
        "perplexity cache " in ran.err
        and " a word" in ran.err
        and "sliding: windows of 8 tokens move on by 1" in ran.err
    )
    ran = wenmai_cli("evaluate", tmp_path / "run", tmp_path / "a.txt", "--set", "cash=20")
    assert ran.status == 2 and 'unknown option "cash"; did you mean cache?' in ran.err


def test_a_classifier_is_not_judged_so(tmp_path, wenmai_cli):
    Classifier("softmax").fit(["a b", "c d"] * 10, ["x", "y"] * 10).save(tmp_path / "run")
    (tmp_path / "a.csv").write_text("text,label\na b,x\nc d,y\n")
    ran = wenmai_cli("evaluate", tmp_path / "run", tmp_path / "a.csv", "--set", "cache=20")
    assert (
        ran.status == 2
        and "does classify, and --set and --tune say how a running text is judged" in ran.err
    )
    assert wenmai_cli("evaluate", tmp_path / "run", tmp_path / "a.csv").status == 0
