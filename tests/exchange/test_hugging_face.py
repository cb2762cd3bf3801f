"""Checkpoints of `transformers`, which is asked what it makes of the same weights and the same texts."""

import json
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import torch

import wenmai
from wenmai import LanguageModel
from wenmai.errors import Mistake
from wenmai.exchange import exporting, hugging_face

transformers = pytest.importorskip("transformers")

TEXTS = ["the cat sat", " on a mat", "你好，世界", "naïve café 🙂", "tab\there"]
CONFIGS = {
    "gelu_new": {},
    "gelu": {"activation_function": "gelu"},
    "relu": {"activation_function": "relu", "n_inner": 24},
    "untied": {"tie_word_embeddings": False},
}


def tokenizer():
    """Bytes, as GPT-2 cuts them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    engine = Tokenizer(models.BPE())
    engine.pre_tokenizer, engine.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        show_progress=False,
        initial_alphabet=letters,
    )
    engine.train_from_iterator(TEXTS * 9, trainer)
    return engine


def checkpoint(folder: Path, rows: int = 0, **config):
    """Random weights, large enough to tell apart what is the same and what is nearly so."""
    engine = tokenizer()
    known = transformers.PreTrainedTokenizerFast(
        tokenizer_object=engine, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    sizes = {
        "vocab_size": len(known) + rows,
        "n_positions": 24,
        "n_embd": 16,
        "n_layer": 2,
        "n_head": 2,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes | config)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    model.save_pretrained(folder)
    known.save_pretrained(folder)
    return model, known


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2") / "checkpoint"
    return folder, *checkpoint(folder)


@pytest.fixture
def cut_off(monkeypatch):
    """No network: whoever asks for a connection fails."""

    def refused(*_, **__):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_weights_say_the_same(name, tmp_path, cut_off):
    theirs, _ = checkpoint(tmp_path / "checkpoint", **CONFIGS[name])
    ours = hugging_face.imported(tmp_path / "checkpoint")
    for rows in (3, 12):  # a few and many are multiplied in different ways
        tokens = torch.randint(0, len(ours.inputs_), (rows, 20))
        with torch.no_grad():
            expected = theirs(tokens).logits.log_softmax(-1)  # (B, 20, V)
            log_probs, state = ours.model_.begin(tokens[:, :-1])
            after, _ = ours.model_.step(state, tokens[:, -1])
        assert torch.allclose(log_probs, expected[:, -2], atol=1e-4) and torch.allclose(
            after, expected[:, -1], atol=1e-4
        )
    traced = ours.trace(["the cat sat"])
    assert "block.0.attention" in traced and "block.1.attention" in traced


def test_texts_are_cut_as_there(gpt2):
    folder, _, known = gpt2
    ours = hugging_face.imported(folder)
    for text in [*TEXTS, "the cat sat\non a mat", "\x01\x7f", "a" * 300]:
        assert ours.inputs_.prompt(text).tolist() == known(text)["input_ids"], text
    spans = ours.inputs_.tokenizer.spans(TEXTS)
    assert spans == [known(text, return_offsets_mapping=True)["offset_mapping"] for text in TEXTS]


def test_a_run_of_it_writes_on_as_there(gpt2, tmp_path, wenmai_cli, monkeypatch):
    folder, theirs, known = gpt2
    monkeypatch.chdir(tmp_path)
    ran = wenmai_cli("import", str(folder), "--out", "run", "--json")
    assert ran.status == 0 and json.loads(ran.out.splitlines()[-1]) == {
        "run": "run",
        "task": "generate",
        "rung": "gpt",
    }
    model, tokens = (
        wenmai.load("run"),
        torch.tensor(known("\nthe cat")["input_ids"]),
    )  # here a text opens as a line does
    written = theirs.generate(
        tokens[None], max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=None
    )[0]
    assert model.generate("the cat", tokens=8, temperature=0) == known.decode(written[1:])
    assert np.isclose(
        model.log_prob(" sat", after="the cat"),
        scored(theirs, known, "\nthe cat", " sat"),
        atol=1e-4,
    )


def scored(model, known, before: str, text: str) -> float:
    first, more = (known(one)["input_ids"] for one in (before, text))
    with torch.no_grad():
        log_probs = model(torch.tensor([first + more])).logits.log_softmax(-1)[0]
    return sum(float(log_probs[len(first) - 1 + at, token]) for at, token in enumerate(more))


def test_there_and_back(gpt2, tmp_path, wenmai_cli, monkeypatch):
    """A gpt that was trained here is loaded by transformers, says the same, and comes back the same."""
    monkeypatch.chdir(tmp_path)
    model = LanguageModel(
        "gpt",
        width=16,
        heads=2,
        layers=2,
        context=12,
        steps=3,
        tokenizer="bpe",
        vocabulary=300,
        dropout=0.0,
    )
    model.fit(TEXTS * 5).save("run")
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    theirs = transformers.AutoModelForCausalLM.from_pretrained("folder").eval()
    known = transformers.AutoTokenizer.from_pretrained("folder")
    tokens = model.inputs_.prompt("the cat sat")
    assert known("the cat sat")["input_ids"] == tokens.tolist()
    allowed = model.model_.head.forbidden == 0
    with torch.no_grad():
        logits = theirs(torch.tensor(tokens[None], dtype=torch.int64)).logits[0, -1]
        expected, _ = model.model_.begin(torch.tensor(tokens[None]))
    assert torch.allclose(logits[allowed].log_softmax(-1), expected[0, allowed], atol=1e-4)
    assert (
        sorted(theirs.generation_config.suppress_tokens) == (~allowed).nonzero().flatten().tolist()
    )
    again = hugging_face.imported(Path("folder"))
    assert all(
        torch.equal(weight, model.model_.state_dict()[name])
        for name, weight in again.model_.state_dict().items()
    )
    assert (
        wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 2
    )  # it is there already


def test_starting_from_it(gpt2, tmp_path):
    folder, *_ = gpt2
    hugging_face.imported(folder).save(tmp_path / "run")
    texts, labels = ["the cat sat", "你好，世界"] * 12, ["en", "zh"] * 12
    model = wenmai.Classifier("gpt", steps=60, validation=0.0).fit(
        texts, labels, start=tmp_path / "run"
    )
    assert model.predict(texts[:2]).tolist() == ["en", "zh"]


def test_more_rows_than_tokens_and_several_files(tmp_path):
    theirs, _ = checkpoint(tmp_path / "checkpoint", rows=7)
    theirs.save_pretrained(tmp_path / "checkpoint", max_shard_size="10KB")
    (tmp_path / "checkpoint" / "model.safetensors").unlink()
    assert len(list((tmp_path / "checkpoint").glob("*.safetensors"))) > 1
    model = hugging_face.imported(tmp_path / "checkpoint")
    assert torch.equal(model.model_.input.table.weight, theirs.transformer.wte.weight[:-7])
    assert "7 rows of the table are of no token" in str(model.notes_[0])


def damaged(folder: Path, what: str) -> None:
    from safetensors.torch import load_file, save_file

    config, weights = (
        json.loads((folder / "config.json").read_text()),
        load_file(folder / "model.safetensors"),
    )
    name = "transformer.h.1.mlp.c_fc.weight"
    if what == "missing":
        del weights[name]
    elif what == "extra":
        weights["transformer.h.1.mlp.c_fc.more"] = torch.zeros(3)
    elif what == "misshapen":
        weights[name] = weights[name][:, :5].contiguous()
    elif what == "nan":
        weights[name][0, 0] = float("nan")
    elif what == "architecture":
        config["model_type"] = "llama"
    elif what == "sizes":
        config["n_layer"] = 10**9
    elif what == "vocabulary":
        weights["transformer.wte.weight"] = weights["transformer.wte.weight"][:100].contiguous()
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    if what == "truncated":
        whole = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(whole[:-100])
    elif what == "bin":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    elif what == "tokenizer":
        (folder / "tokenizer.json").write_text("{}")
    elif what == "json":
        (folder / "config.json").write_text("{")


SENTENCES = {
    "missing": "the weight h.1.mlp.c_fc.weight is missing",
    "extra": "GPT2LMHeadModel has no weights of these names: h.1.mlp.c_fc.more",
    "misshapen": "the weight h.1.mlp.c_fc.weight has the shape (16, 5), and config.json asks for (16, 64)",
    "nan": "the weight h.1.mlp.c_fc.weight holds what is no number",
    "architecture": '"model_type" is "llama"',
    "sizes": "found 28 arrays for 1e+09 layers",
    "vocabulary": "tokens, and the weights are of 100; the two do not belong together",
    "truncated": "model.safetensors cannot be read",
    "bin": "pytorch_model.bin is a pickle",
    "tokenizer": "the tokenizer cannot be read",
    "json": "config.json cannot be read",
}


@pytest.mark.parametrize("what", SENTENCES)
def test_what_is_damaged_is_told_and_nothing_is_imported(
    what, gpt2, tmp_path, wenmai_cli, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(gpt2[0], tmp_path / "copy")
    damaged(tmp_path / "copy", what)
    ran = wenmai_cli("import", "copy", "--out", "run")
    assert ran.status == 2 and ran.err.count("\n") == 1 and "Traceback" not in ran.err, ran.err
    assert SENTENCES[what] in ran.err, ran.err
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_exported_is_told(tmp_path):
    character = LanguageModel(
        "gpt", width=8, heads=2, layers=1, context=4, steps=1, tokenizer="characters"
    ).fit(TEXTS * 3)
    with pytest.raises(Mistake, match="tokenizer=bpe"):
        exporting.exported(character, tmp_path / "out")
    rotary = LanguageModel(
        "gpt", width=8, heads=2, layers=1, context=4, steps=1, tokenizer="bpe", positions="rotary"
    )
    rotary.fit(TEXTS * 3)
    with pytest.raises(Mistake, match="positions=learned"):
        exporting.exported(rotary, tmp_path / "out")
    lstm = LanguageModel("lstm", hidden=4, steps=1, tokenizer="bpe").fit(TEXTS * 3)
    with pytest.raises(Mistake, match="the rung lstm"):
        exporting.exported(lstm, tmp_path / "out")
