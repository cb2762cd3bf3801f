"""Encoders of `transformers`: BERT, RoBERTa, DistilBERT, ELECTRA; the same weights, the same texts, the same answers."""

import json

import numpy as np
import pytest
import torch

import wenmai
from wenmai import Classifier, Regressor
from wenmai.data.examples.rows import Examples
from wenmai.data.inputs import kinds
from wenmai.exchange import hugging_face

transformers = pytest.importorskip("transformers")

FAMILIES = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "electra": "Electra"}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "你", "好", ",", "a", "mat", "on", "cafe"]
TEXTS = ["the cat sat", "你好, a cats mat on", "a", "Café \x01 🙂 the"]
PAIRS = [("the cat", "a mat"), ("你好", "the cat sat on a mat")]


def tokenizer(kind: str, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    if kind != "roberta":
        (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
        return transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    engine = Tokenizer(models.BPE())
    engine.pre_tokenizer, engine.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special, letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=letters, show_progress=False)
    engine.train_from_iterator(TEXTS * 9, trainer)
    engine.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=engine, **names, unk_token="<unk>", mask_token="<mask>")


def checkpoint(folder, kind: str, head: str = "ForSequenceClassification", **more):
    folder.mkdir()
    known = tokenizer(kind, folder)
    sizes = {"vocab_size": len(known), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_labels": 3,
             "intermediate_size": 24, "max_position_embeddings": 20}  # fmt: skip
    if kind == "distilbert":
        sizes = {"vocab_size": len(known), "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "num_labels": 3,
                 "max_position_embeddings": 20}  # fmt: skip
    sizes |= {"electra": {"embedding_size": 8}, "roberta": {"type_vocab_size": 1, "pad_token_id": 1}}.get(kind, {})
    torch.manual_seed(0)
    config = getattr(transformers, f"{FAMILIES[kind]}Config")(**sizes | more)
    model = getattr(transformers, FAMILIES[kind] + head)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    model.save_pretrained(folder)
    known.save_pretrained(folder)
    return model, known


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_same_weights_answer_the_same(kind, tmp_path):
    labels = {0: "good", 1: "bad", 2: "so-so"}
    theirs, known = checkpoint(tmp_path / "checkpoint", kind, id2label=labels, label2id={v: k for k, v in labels.items()})
    ours = hugging_face.imported(tmp_path / "checkpoint")
    read = known(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = theirs(**read).logits.softmax(-1).numpy()
    assert ours.classes_.tolist() == ["bad", "good", "so-so"]
    assert np.allclose(ours.predict_proba(TEXTS), expected[:, [1, 0, 2]], atol=1e-4)
    ours.save(tmp_path / "run")
    assert np.allclose(wenmai.load(tmp_path / "run").predict_proba(TEXTS), expected[:, [1, 0, 2]], atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_bare_one_gives_the_same_states_and_can_be_started_from(kind, tmp_path):
    theirs, known = checkpoint(tmp_path / "checkpoint", kind, "Model")
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    rows = start.inputs.encode(TEXTS)
    assert [row.tolist() for row in rows] == known(TEXTS)["input_ids"]
    assert start.inputs.tokenizer.spans(TEXTS) == [
        known(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"] for text in TEXTS
    ]
    read = known(TEXTS, padding=True, return_tensors="pt")
    batch = Examples(rows).batch(np.arange(len(TEXTS)))
    with torch.no_grad():
        expected = theirs(**read).last_hidden_state
        states, mask, _ = start.model.body(*start.model.input(batch))
    assert torch.equal(mask, read["attention_mask"].bool())
    assert torch.allclose(states[mask], expected[mask], atol=1e-4)
    pairs = kinds.continued(start.inputs, "tokens", PAIRS, "run")
    assert [row.tolist() for row in pairs.encode(PAIRS)] == known(*zip(*PAIRS))["input_ids"]
    two = known(*map(list, zip(*PAIRS)), padding=True, return_tensors="pt")
    batch = Examples(pairs.encode(PAIRS)).batch(np.arange(len(PAIRS)))
    with torch.no_grad():
        states, mask, _ = start.model.body(*start.model.input(batch))
        assert torch.allclose(states[mask], theirs(**two).last_hidden_state[mask], atol=1e-4)
    model = Classifier("bert", steps=2, validation=0.0).fit(TEXTS * 3, ["x", "y", "x", "y"] * 3, start=start)
    assert any("weights of the input layer and the body are loaded" in str(note) for note in model.notes_)
    assert len(Regressor("bert", steps=2, validation=0.0).fit(PAIRS * 6, [0.0, 1.0] * 6, start=start).predict(PAIRS)) == 2


@pytest.mark.parametrize("longest", [4, 5, 6, 9, 30])
def test_texts_that_are_too_long_are_cut_as_there(longest, tmp_path):
    _, known = checkpoint(tmp_path / "checkpoint", "bert", "Model")
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    start.inputs.longest = longest
    expected = known(TEXTS, truncation=True, max_length=longest)["input_ids"]
    assert [row.tolist() for row in start.inputs.encode(TEXTS)] == expected
    pairs = kinds.continued(start.inputs, "tokens", PAIRS, "run")
    expected = known(*map(list, zip(*PAIRS)), truncation="longest_first", max_length=longest)["input_ids"]
    assert [row.tolist() for row in pairs.encode(PAIRS)] == expected


def test_trained_here_loaded_there_and_back(tmp_path, wenmai_cli, monkeypatch):
    """From a checkpoint on the command line, to a folder that transformers loads, with the same answers, and back."""
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / "checkpoint", "bert", "Model")
    rows = "".join(f"the cat {n},pos\na mat {n},neg\n" for n in range(20))
    (tmp_path / "films.csv").write_text("text,label\n" + rows)
    ran = wenmai_cli("train", "bert", "films.csv", "--from", "checkpoint", "--set", "steps=3", "--out", "run", "--json")
    assert ran.status == 0 and "started from checkpoint (bert)" in ran.out + ran.err, ran
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained("folder").eval()
    known = transformers.AutoTokenizer.from_pretrained("folder")
    with torch.no_grad():
        expected = theirs(**known(TEXTS, padding=True, return_tensors="pt")).logits.softmax(-1).numpy()
    run = wenmai.load("run")
    assert np.allclose(run.predict_proba(TEXTS), expected, atol=1e-4)
    assert [theirs.config.id2label[number] for number in range(2)] == run.classes_.tolist() == ["neg", "pos"]
    assert wenmai_cli("import", "folder", "--out", "again").status == 0
    assert np.array_equal(wenmai.load("again").predict_proba(TEXTS), run.predict_proba(TEXTS))


def test_a_bare_one_has_nothing_to_answer_with(tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / "checkpoint", "bert", "Model")
    ran = wenmai_cli("import", "checkpoint", "--out", "run")
    assert ran.status == 2 and "wenmai train bert DATA --from checkpoint" in ran.err and not (tmp_path / "run").exists()
    ran = wenmai_cli("train", "gpt", "films.csv", "--from", "checkpoint")
    assert ran.status == 2
    about = json.loads((tmp_path / "checkpoint" / "config.json").read_text())
    (tmp_path / "checkpoint" / "config.json").write_text(json.dumps(about | {"hidden_size": 24}))
    (tmp_path / "films.csv").write_text("text,label\nthe cat,a\na mat,b\n" * 5)
    ran = wenmai_cli("train", "bert", "films.csv", "--from", "checkpoint")
    assert ran.status == 2 and "has the shape (16, 16), and config.json asks for (16, 24)" in ran.err, ran.err
