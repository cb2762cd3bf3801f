"""Inside networks of others: attention as `transformers` gives it (eager), integrated gradients as captum does, of the same
weights."""

import numpy as np
import pytest
import torch
from checkpoints import FAMILIES, checkpoint, transformers

from wenmai.exchange import hugging_face
from wenmai.inspection import attention, attribution
from wenmai.inspection.reading import Reading

captum = pytest.importorskip("captum.attr")
TEXT = "the cats sat on a mat, 你好"


def both(tmp_path, kind: str):
    labels = {0: "good", 1: "bad", 2: "so-so"}
    theirs, known = checkpoint(
        tmp_path / "checkpoint",
        kind,
        id2label=labels,
        label2id={v: k for k, v in labels.items()},
        attn_implementation="eager",
    )
    return theirs, known, hugging_face.imported(tmp_path / "checkpoint")


@pytest.mark.parametrize("kind", FAMILIES)
def test_attention_is_that_of_transformers(kind, tmp_path):
    theirs, known, ours = both(tmp_path, kind)
    theirs.set_attn_implementation("eager")
    with torch.no_grad():
        expected = torch.stack(
            theirs(**known(TEXT, return_tensors="pt"), output_attentions=True).attentions
        )[:, 0].numpy()
    (part,) = attention.maps_of(Reading(ours, TEXT))
    np.testing.assert_allclose(part.weights, expected, atol=1e-4)  # (layers, heads, T, T)
    assert (
        part.joined.shape[-1] < expected.shape[-1] or kind == "roberta"
    )  # cats is one word of two pieces
    names = [word.name for word in part.columns]
    assert "cats" in names and "##s" not in names
    at = names.index("cats")
    pieces = part.columns[at].places
    np.testing.assert_allclose(part.joined[1, 1, 0, at], expected[1, 1, 0, pieces].sum(), atol=1e-4)


def test_attention_is_that_of_transformers_looking_back(tmp_path):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=32, attn_implementation="eager"
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    from wenmai.layers.trace import Trace
    from wenmai.layers.transformer import Transformer

    body = Transformer(
        16, 2, 2, 64, positions="learned", longest=32, activation="gelu-tanh", causal=True
    )
    with torch.no_grad():
        for ours, block in zip(body.blocks, theirs.transformer.h):
            for mine, other in (
                (ours.attention.query_key_value, block.attn.c_attn),
                (ours.attention.output, block.attn.c_proj),
                (ours.up, block.mlp.c_fc),
                (ours.down, block.mlp.c_proj),
            ):
                mine.weight.copy_(other.weight.T)
                mine.bias.copy_(other.bias)
            for mine, other in ((ours.attention_norm, block.ln_1), (ours.mlp_norm, block.ln_2)):
                mine.weight.copy_(other.weight)
                mine.bias.copy_(other.bias)
        body.position.table.copy_(theirs.transformer.wpe.weight)
        ids, trace = torch.randint(0, 300, (1, 12)), Trace()
        expected = theirs(ids, output_attentions=True).attentions
        body(theirs.transformer.wte(ids), None, trace=trace)
    for level, weights in enumerate(expected):
        torch.testing.assert_close(trace[f"block.{level}.attention"], weights, atol=1e-4, rtol=1e-4)


def test_integrated_gradients_are_captums_of_their_network(tmp_path):
    """Their BERT, entered behind its embeddings, by captum; ours by our own."""
    theirs, known, ours = both(tmp_path, "bert")
    reading = Reading(ours, TEXT)
    read = known(TEXT, return_tensors="pt")
    with torch.no_grad():
        x = theirs.bert.embeddings(
            input_ids=read["input_ids"], token_type_ids=read["token_type_ids"]
        )
    label = ours.classes_[int(reading.chosen[0])]
    number = theirs.config.label2id[str(label)]

    def forward(states):
        y = theirs.bert.encoder(states, attention_mask=None)
        return theirs.classifier(theirs.bert.pooler(y[0])).log_softmax(-1)[:, number]

    hidden = read["input_ids"].clone()
    hidden[:, 1:-1] = known.mask_token_id
    with torch.no_grad():
        start = theirs.bert.embeddings(input_ids=hidden, token_type_ids=read["token_type_ids"])
    expected = captum.IntegratedGradients(forward).attribute(
        x, start, n_steps=64, method="gausslegendre"
    )
    found, difference = attribution.integrated_gradients(reading, points=64)
    np.testing.assert_allclose(found, expected.sum(-1)[0].detach(), atol=1e-4)
    simple = captum.InputXGradient(forward).attribute(x.clone().requires_grad_())
    np.testing.assert_allclose(
        attribution.input_times_gradient(reading), simple.sum(-1)[0].detach(), atol=1e-4
    )
    assert (forward(x) - forward(start)).item() == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("rung", ["lstm", "cnn", "transformer", "attention", "mlp"])
def test_so_they_are_of_our_own_networks(rung):
    from test_contract import fitted

    reading = Reading(fitted(rung, "classify", "texts"), "the drum is so very loud")
    x, mask = reading.x

    def forward(states):
        return reading.model.outputs_from(states, mask.expand(len(states), -1))[
            :, int(reading.chosen[0])
        ]

    expected = captum.IntegratedGradients(forward).attribute(
        x, torch.zeros_like(x), n_steps=attribution.POINTS
    )
    np.testing.assert_allclose(
        attribution.integrated_gradients(reading)[0], expected.sum(-1)[0].detach(), atol=1e-4
    )
