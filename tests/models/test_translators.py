"""Every way to join an encoder and a decoder: a step at a time is the text at once, alone or beside others, and nothing peeks."""

from itertools import product
from types import SimpleNamespace

import pytest
import torch

from wenmai.data.examples.batches import NOTHING, Batch
from wenmai.data.text.special import Special
from wenmai.errors import Mistake
from wenmai.layers.cache import take
from wenmai.layers.heads import Next
from wenmai.layers.trace import Trace
from wenmai.models.attention_decoder import attention_translator
from wenmai.models.seq2seq import seq2seq
from wenmai.models.transformer import transformer_translator

SMALL = {"embed": 6, "hidden": 8}
UNK, BEGIN, END = 0, 1, 2
CELLS = ("rnn", "lstm", "gru")
WAYS = (
    [
        (
            seq2seq,
            {
                **SMALL,
                "cell": cell,
                "context": context,
                "context_input": enters,
                "bidirectional": both,
                "layers": layers,
            },
        )
        for cell, context, enters, both, layers in product(
            CELLS, ("last", "projected", "sum"), ("state", "every"), (True, False), (1, 2)
        )
    ]
    + [
        (
            attention_translator,
            {
                **SMALL,
                "cell": cell,
                "score": score,
                "query": query,
                "feeding": feeding,
                "layers": layers,
            },
        )
        for cell, score, query, feeding, layers in product(
            CELLS,
            ("dot", "scaled", "general", "additive"),
            ("after", "before"),
            (True, False),
            (1, 2),
        )
    ]
    + [
        (
            attention_translator,
            {**SMALL, "cell": cell, "score": score, "query": query, "feeding": feeding, **encoder},
        )
        for cell, score, query, feeding, encoder in product(
            CELLS,
            ("dot", "scaled", "general", "additive"),
            ("after", "before"),
            (True, False),
            ({"encoder": "plain"}, {"bidirectional": False}),
        )
    ]
    + [
        (
            transformer_translator,
            {"width": 8, "heads": 2, "layers": 2, "positions": positions, "norm": norm},
        )
        for positions, norm in product(("sinusoidal", "learned", "rotary"), ("pre", "post"))
    ]
)


def named(value):
    return (
        value.__name__
        if callable(value)
        else "-".join(str(part) for name, part in value.items() if name not in SMALL)
    )


def side(vocabulary=13):
    return SimpleNamespace(
        vocabulary=vocabulary, most=20, special=Special(unknown=UNK, begin=BEGIN, end=END)
    )


def built(builder, options, joint=False):
    torch.manual_seed(0)
    inputs = SimpleNamespace(source=side(13 if joint else 11), target=side(), joint=joint)
    return builder(inputs, Next.of(inputs.target), **options).eval()


def batch():
    """Three texts of 5, 3 and 1 tokens, and what is written for them: 4, 2 and 3."""
    draw = torch.Generator().manual_seed(1)
    inputs = torch.randint(3, 11, (3, 5), generator=draw)
    target = torch.randint(3, 13, (3, 4), generator=draw)
    mask, wanted = (
        torch.arange(steps)[None] < torch.tensor(lengths)[:, None]
        for steps, lengths in ((5, [5, 3, 1]), (4, [4, 2, 3]))
    )
    target[wanted.cumsum(1) == wanted.sum(1, keepdim=True)] = END
    return Batch(inputs * mask, mask, target.masked_fill(~wanted, NOTHING), wanted)


def alone(whole: Batch, row: int) -> Batch:
    read, written = int(whole.mask[row].sum()), int(whole.target_mask[row].sum())
    parts = (
        whole.inputs[row, :read],
        whole.mask[row, :read],
        whole.target[row, :written],
        whole.target_mask[row, :written],
    )
    return Batch(*(part[None] for part in parts))


def steps_say(model, whole, found: torch.Tensor) -> None:
    """Step by step the model says what it said of the whole at once, also where rows change places."""
    log_probs, state = model.begin(whole, 6)
    rows = torch.tensor([2, 0, 1])  # and the rows may move
    log_probs, state, target = log_probs[rows], take(state, rows), whole.target[rows]
    for t in range(target.shape[1]):
        live = whole.target_mask[rows][:, t]
        torch.testing.assert_close(log_probs[live], found[rows][:, t][live], rtol=1e-4, atol=1e-5)
        log_probs, state = model.step(state, target[:, t].clamp(min=0))


@pytest.mark.each_value
@pytest.mark.parametrize(("builder", "options"), WAYS, ids=named)
@torch.no_grad()
def test_alone_beside_others_step_by_step_and_traced(builder, options):
    model, whole = built(builder, options), batch()
    found = model(whole)  # (3, 4, 13)
    torch.testing.assert_close(model(whole, Trace()), found, rtol=1e-4, atol=1e-5)
    for row in range(3):
        one = alone(whole, row)
        torch.testing.assert_close(
            model(one)[0], found[row, : one.target.shape[1]], rtol=1e-4, atol=1e-5
        )
    steps_say(model, whole, found)


@pytest.mark.parametrize(("builder", "options"), WAYS[::5] + WAYS[-6:], ids=named)
def test_nothing_peeks_and_everything_learns(builder, options):
    model, whole = built(builder, options, joint=True), batch()
    with torch.no_grad():
        before = model(whole)
        whole.target[0, 2] = 3 if whole.target[0, 2] != 3 else 4
        after = model(whole)
    torch.testing.assert_close(before[0, :3], after[0, :3])
    assert not torch.allclose(before[0, 3], after[0, 3])
    assert not torch.isnan(after).any()
    _, _, total, count = model.train().losses(whole)[0][0]
    (total / count).backward()
    assert int(count) == 9
    for name, weight in model.named_parameters():
        if not (name.endswith("position.table") or options.get("context") == "last"):
            assert weight.grad is not None and weight.grad.isfinite().all(), name


@pytest.mark.parametrize(
    ("builder", "options"),
    [
        (seq2seq, SMALL),
        (attention_translator, SMALL),
        (transformer_translator, {"width": 8, "heads": 2}),
    ],
    ids=named,
)
def test_scheduled_sampling_reads_its_own_words(builder, options):
    """All of them: what it would have said after the words of the target."""
    model, whole = (
        built(builder, {**options, "sampling": 1.0, "smoothing": 0.0, "dropout": 0.0}),
        batch(),
    )
    said = model(whole).argmax(-1)[:, :-1]
    taught = -probability_of(model(whole), whole)
    memory, mask, _ = model.encoder(*model.input(whole))
    y = model.decoder(torch.cat([torch.full((3, 1), BEGIN), said], 1), memory, mask)[0]
    own = -probability_of(model.head.outputs(y, None), whole)
    torch.testing.assert_close(model.train().losses(whole)[0][0].total, own)
    assert abs(own - taught) > 1e-3


def probability_of(log_probs, whole: Batch):
    """Σ log p of its targets."""
    return (
        log_probs.gather(2, whole.target.clamp(min=0)[..., None])[..., 0] * whole.target_mask
    ).sum()


def test_one_vocabulary_is_one_table():
    for builder, options in (
        (seq2seq, SMALL),
        (attention_translator, SMALL),
        (transformer_translator, {"width": 8, "heads": 2}),
    ):
        model = built(builder, options, joint=True)
        assert (
            model.input.table is model.decoder.words.table
            and model.input.table.weight is model.head.output.weight
        )


def test_an_odd_width_has_no_two_ways():
    with pytest.raises(Mistake, match="hidden=7 cannot be shared by two ways of reading"):
        built(seq2seq, {"hidden": 7})
    with pytest.raises(Mistake, match="encoder=plain reads no way at all"):
        built(attention_translator, {"encoder": "plain", "bidirectional": False})
