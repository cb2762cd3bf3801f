"""The head of pretraining, against BertForPreTraining of `transformers` on the same weights."""

from types import SimpleNamespace

import pytest
import torch

from wenmai.data.examples.batches import NOTHING, Batch
from wenmai.data.text.special import Special
from wenmai.layers.pretraining import MaskedWords
from wenmai.models.bert import bert

WIDTH, TOKENS, MASK, PAD = 16, 40, 4, 0


def inputs():
    return SimpleNamespace(
        kind="tokens",
        embedding="random",
        vocabulary=TOKENS,
        longest=20,
        special=Special(pad=PAD, mask=MASK),
    )


def network(masked=True, next_sentence=True, **options):
    torch.manual_seed(0)
    asked = MaskedWords(TOKENS, masked, next_sentence)
    return bert(
        inputs(), asked, width=WIDTH, heads=2, layers=2, feed_forward=24, dropout=0.0, **options
    )


def batch() -> tuple[Batch, torch.Tensor]:
    """Rows of 9, 5 and 7 tokens, and what stands at every place (B, T), NOTHING where it is not asked for."""
    torch.manual_seed(1)
    lengths, words = torch.tensor([9, 5, 7]), torch.randint(5, TOKENS, (3, 9))
    mask = torch.arange(9) < lengths[:, None]
    hidden = mask & (torch.rand(3, 9) < 0.4)
    labels = torch.where(hidden, words, NOTHING)
    places = hidden.flatten().nonzero()[:, 0]
    read = torch.where(hidden, MASK, words) * mask
    segment = (torch.arange(9) > 3).long().expand(3, 9) * mask
    return Batch(
        read,
        mask,
        labels[hidden],
        segment=segment,
        places=places,
        follows=torch.tensor([True, False, True]),
    ), labels


def theirs_of(ours):
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": TOKENS,
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 20,
    }
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**sizes)).eval()
    known = theirs.state_dict()
    pairs = {
        "cls.seq_relationship": "head.follows",
        "cls.predictions.transform.dense": "head.transform",
        "cls.predictions.transform.LayerNorm": "head.norm",
        "bert.pooler.dense": "head.dense.layer",
        "bert.embeddings.LayerNorm": "input.norm",
    }
    for level in range(2):
        there, here = f"bert.encoder.layer.{level}", f"body.blocks.{level}"
        pairs |= {
            f"{there}.attention.output.dense": f"{here}.attention.output",
            f"{there}.intermediate.dense": f"{here}.up",
            f"{there}.attention.output.LayerNorm": f"{here}.attention_norm",
            f"{there}.output.dense": f"{here}.down",
            f"{there}.output.LayerNorm": f"{here}.mlp_norm",
        }
    own = ours.state_dict()
    with torch.no_grad():
        for weight in known.values():
            if weight.is_floating_point():
                weight.copy_(torch.randn_like(weight) * 0.3)
        for there, here in pairs.items():
            for part in ("weight", "bias"):
                own[f"{here}.{part}"].copy_(known[f"{there}.{part}"])
        for level in range(2):
            parts = [
                f"bert.encoder.layer.{level}.attention.self.{name}"
                for name in ("query", "key", "value")
            ]
            for part in ("weight", "bias"):
                joined = torch.cat([known[f"{name}.{part}"] for name in parts])
                own[f"body.blocks.{level}.attention.query_key_value.{part}"].copy_(joined)
        own["input.table.weight"].copy_(known["bert.embeddings.word_embeddings.weight"])
        own["input.position.table"].copy_(known["bert.embeddings.position_embeddings.weight"])
        own["input.segment.weight"].copy_(known["bert.embeddings.token_type_embeddings.weight"])
        own["head.output.bias"].copy_(known["cls.predictions.bias"])
    return theirs


def test_outputs_losses_and_gradients_are_those_of_bert_for_pretraining():
    ours = network()
    theirs, (given, labels) = theirs_of(ours), batch()
    read = {
        "input_ids": given.inputs,
        "attention_mask": given.mask.long(),
        "token_type_ids": given.segment,
    }
    said = theirs(**read)
    expected = said.prediction_logits.log_softmax(-1)
    y, mask, _ = ours.body(*ours.input(given))
    assert torch.allclose(ours.head.outputs(y, mask)[mask], expected[mask], atol=1e-4)
    assert torch.allclose(
        ours.head.following(y), said.seq_relationship_logits.log_softmax(-1), atol=1e-4
    )
    words, follows = ours.losses(given)[0]
    assert [words.name, follows.name] == ["masked words", "next sentence"]
    assert [words.count, follows.count] == ours.head.counts(given) == [int((labels >= 0).sum()), 3]
    loss = theirs(**read, labels=labels, next_sentence_label=(~given.follows).long()).loss
    mine = words.total / words.count + follows.total / follows.count
    assert torch.allclose(mine, loss, atol=1e-5)
    mine.backward()
    loss.backward()
    table = theirs.bert.embeddings.word_embeddings.weight.grad
    assert torch.allclose(
        ours.input.table.weight.grad[1:], table[1:], atol=1e-5
    )  # what is padding is looked up nowhere
    assert torch.allclose(
        ours.head.transform.weight.grad,
        theirs.cls.predictions.transform.dense.weight.grad,
        atol=1e-5,
    )
    assert torch.allclose(
        ours.head.dense.layer.weight.grad, theirs.bert.pooler.dense.weight.grad, atol=1e-5
    )


def test_the_table_that_tokens_are_looked_up_in_says_them():
    ours = network(embed=8)
    assert ours.head.output.weight is ours.input.table.weight and ours.head.output.weight.shape == (
        TOKENS,
        8,
    )
    assert ours.head.transform.weight.shape == (8, WIDTH) and not ours.head.output.bias.any()


@pytest.mark.parametrize(
    "masked, next_sentence, parts, shape",
    [
        (
            True,
            True,
            {"dense", "dropout", "follows", "transform", "norm", "output"},
            (3, 9, TOKENS),
        ),
        (True, False, {"transform", "norm", "output"}, (3, 9, TOKENS)),
        (False, True, {"dense", "dropout", "follows"}, (3, 2)),
        (False, False, set(), (3, 9, WIDTH)),
    ],
)
def test_what_is_not_asked_for_is_not_there(masked, next_sentence, parts, shape):
    ours = network(masked, next_sentence)
    assert {name for name, _ in ours.head.named_children()} == parts
    assert ours(batch()[0]).shape == shape and ours.head.width == shape[-1]
    assert len(ours.losses(batch()[0])[0]) == masked + next_sentence


def test_a_batch_in_which_nothing_is_hidden_has_a_loss_of_nothing():
    given, _ = batch()
    given.places, given.target = given.places[:0], given.target[:0]
    words, follows = (ours := network()).losses(given)[0]
    assert words.count == 0 and words.total.item() == 0.0
    (words.total + follows.total).backward()
    assert torch.isfinite(ours.input.table.weight.grad).all()
