"""Input layers: what is looked up, its scale, the words that are dropped, and how rare ones teach the unknown word."""

from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from wenmai.data.examples.batches import Batch
from wenmai.data.text.special import Special
from wenmai.estimators import Classifier, LanguageModel, Tagger, Translator
from wenmai.layers.dropout import Locked
from wenmai.layers.embedding import (
    DenseTable,
    TokenEmbedding,
    embed,
    embed_whole,
    first_table,
    lazy_table,
)
from wenmai.layers.recurrent import Recurrent

TEXTS, LABELS = ["a good film", "a bad film", "good", "bad"] * 6, ["pos", "neg"] * 12
ONCE = {"steps": 1, "device": "cpu", "precision": "float32"}


def inputs(size: int = 50, **more):
    return SimpleNamespace(kind="tokens", vocabulary=size, special=Special(), **more)


def test_pretrained_vectors_are_brought_to_one_scale_and_the_others_begin_small():
    """Whatever scale they come in: twice as wide as those that begin by chance."""
    rng = np.random.default_rng(0)
    for scale in (0.01, 0.6, 30.0):
        vectors = (scale * rng.normal(size=(2000, 20))).astype(np.float32)
        vectors[1000:] = np.nan
        table = first_table(inputs(2000, vectors=vectors), 20)
        assert table[:1000].std().item() == pytest.approx(0.2, rel=0.02)
        assert table[1000:].std().item() == pytest.approx(0.1, rel=0.05)
        torch.testing.assert_close(
            table[:1000], torch.from_numpy(vectors[:1000]) * (0.2 / np.nanstd(vectors))
        )


def test_vectors_without_a_spread_stay_as_they_are():
    assert not first_table(inputs(4, vectors=np.zeros((4, 3), np.float32)), 3).any()


def test_a_dropped_word_is_dropped_wherever_it_stands_and_the_others_grow():
    torch.manual_seed(0)
    table = DenseTable(torch.ones(1000, 3), word_dropout=0.2).train()
    tokens = torch.arange(1000).repeat(2, 1)
    x = table(tokens)
    assert torch.equal(x[0], x[1]) and torch.equal(x[..., 0], x[..., 2])
    assert set(x.unique().tolist()) == {0.0, 1.25} and (
        x == 0
    ).float().mean().item() == pytest.approx(0.2, abs=0.05)
    assert not torch.equal(table(tokens), x)  # drawn anew for every batch
    assert torch.equal(table.eval()(tokens), torch.ones(2, 1000, 3))


def test_padding_is_no_symbol_and_no_row():
    tokens = torch.tensor([[4, 1, 0], [2, 0, 0]])
    batch = Batch(tokens, tokens != 0)
    known = SimpleNamespace(
        kind="tokens", vocabulary=5, special=Special(pad=0), embedding="one-hot"
    )
    x, _ = TokenEmbedding(known, 5)(batch)
    assert x.argmax(-1)[batch.mask].tolist() == [4, 1, 2] and x.sum(-1).tolist() == [
        [1, 1, 0],
        [1, 0, 0],
    ]
    for pad in (0, 3):
        table = lazy_table(torch.ones(5, 2), pad)
        assert not table.weight[pad].any() and table.weight.sum() == 8
    assert lazy_table(torch.ones(5, 2), None).weight.sum() == 10


def test_language_models_drop_words_while_they_learn():
    model = LanguageModel(
        "gru", hidden=8, embed=8, layers=1, word_dropout=0.5, dropout=0.0, **ONCE
    ).fit(" ".join("abcdefgh" * 9))
    layer = model.model_.input
    tokens = torch.arange(layer.size)[None]
    batch = Batch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    with torch.no_grad():
        assert 0 < (layer.train()(batch)[0] == 0).all(-1).sum().item() < layer.size
        assert not (layer.eval()(batch)[0] == 0).all(-1).any()


def test_words_seen_once_teach_the_unknown_word():
    rows = [[f"name{n}", "went", "home"] for n in range(40)]
    tags = [["B-PER", "O", "O"]] * 40
    model = Tagger(
        "mlp",
        hidden=8,
        embed=8,
        dropout=0.0,
        validation=0.0,
        characters="none",
        learning_rate=0.05,
        **ONCE | {"steps": 12},
    ).fit(rows, tags)
    layer, first = model.model_.input, model.build_.model(model.task_, model.inputs_, 0).input
    unknown, rare = model.inputs_.special.unknown, np.flatnonzero(model.inputs_.rare)
    assert len(rare) == 40 and (layer.table.weight[unknown] != first.table.weight[unknown]).any()
    tokens = torch.full((1, 4000), int(rare[0]))
    batch = Batch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    with torch.no_grad():
        x = layer.train()(batch)[0][0]
        as_unknown, as_itself = (
            (x == layer.table.weight[word]).all(1).float().mean().item()
            for word in (unknown, rare[0])
        )
        assert as_unknown + as_itself == 1.0 and abs(as_unknown - 0.5) < 0.05
        assert (layer.eval()(batch)[0] == layer.table.weight[rare[0]]).all()
        often = torch.full((1, 100), model.inputs_.tokenizer.tokens.index("went"))
        assert (layer.train()(Batch(often, often >= 0))[0] == layer.table.weight[often[0, 0]]).all()


def test_a_transformer_multiplies_its_embeddings_by_the_root_of_their_width():
    """Beside sinusoids, which have size 1, words of deviation 0.1 would not be heard (Vaswani et al. 2017, 3.4)."""
    tokens = torch.tensor([[5, 6]])
    model = (
        Classifier("transformer", width=16, heads=2, layers=1, dropout=0.0, **ONCE)
        .fit(TEXTS, LABELS)
        .model_
    )
    torch.testing.assert_close(
        model.input.look_up(tokens), model.input.table.weight[tokens] * sqrt(16)
    )
    model = (
        Classifier("gpt", width=16, heads=2, layers=1, positions="sinusoidal", dropout=0.0, **ONCE)
        .fit(TEXTS, LABELS)
        .model_
    )
    torch.testing.assert_close(
        model.input.look_up(tokens), model.input.table.weight[tokens] * sqrt(16)
    )
    model = (
        Classifier("gpt", width=16, heads=2, layers=1, positions="learned", dropout=0.0, **ONCE)
        .fit(TEXTS, LABELS)
        .model_
    )
    torch.testing.assert_close(model.input.look_up(tokens), model.input.table.weight[tokens])
    pairs = Translator("transformer", width=16, heads=2, layers=1, positions="sinusoidal", **ONCE)
    pairs.fit(TEXTS, [text[::-1] for text in TEXTS])
    layers = [layer for layer in pairs.model_.modules() if isinstance(layer, TokenEmbedding)]
    assert len(layers) == 2  # of what is read, of what is written
    for layer in layers:
        torch.testing.assert_close(layer.look_up(tokens), layer.table.weight[tokens] * sqrt(16))


def test_scale_and_width():
    layer = TokenEmbedding(inputs(), 4, scale=3.0)
    torch.testing.assert_close(
        layer.look_up(torch.tensor([[7]])), 3 * layer.table.weight[7].detach()[None, None]
    )


# Dropout inside networks


def test_locked_dropout_drops_the_same_numbers_at_every_step_of_a_row():
    torch.manual_seed(0)
    x = torch.rand(4, 30, 200) + 1
    y = Locked(0.5).train()(x)
    dropped = y == 0
    assert (
        torch.equal(dropped, dropped[:, :1].expand_as(dropped))
        and 0.3 < dropped.float().mean() < 0.7
    )
    assert not torch.equal(dropped[0], dropped[1])  # another row drops others
    torch.testing.assert_close(y[~dropped], 2 * x[~dropped])
    assert Locked(0.5).eval()(x) is x


class Noted(torch.nn.Module):
    """What stands in dropout's place: it notes what it is given, and gives twice that."""

    def __init__(self):
        super().__init__()
        self.given = []

    def forward(self, x):
        self.given.append(x)
        return 2 * x


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_dropout_stands_between_layers_and_nowhere_else(layers):
    between = Noted()
    body = Recurrent(5, 4, "gru", layers, dropout=between)
    x = torch.randn(2, 6, 5)
    y, _, _ = body(x, None)
    assert len(between.given) == layers - 1
    for level, given in enumerate(between.given):  # it is given what the layer below says
        below = Recurrent(5, 4, "gru", level + 1, dropout=Noted())
        below.load_state_dict(
            {name: value for name, value in body.state_dict().items() if name in below.state_dict()}
        )
        torch.testing.assert_close(given, below(x, None)[0])
    plain = Recurrent(5, 4, "gru", layers)
    plain.load_state_dict(body.state_dict())
    assert torch.allclose(plain(x, None)[0], y) == (layers == 1)


@pytest.mark.parametrize("rung", ["gru", "lstm"])
def test_language_models_lock_what_they_drop(rung):
    model = (
        LanguageModel(rung, hidden=8, embed=8, dropout=0.5, hidden_dropout=0.25, **ONCE)
        .fit(" ".join("abcdefgh" * 9))
        .model_
    )
    assert isinstance(model.input.dropout, Locked) and isinstance(model.body.dropout, Locked)
    assert (model.input.dropout.dropout.p, model.body.dropout.dropout.p) == (0.5, 0.25)


# Numbers, labels and images


def looked_at(layer, values):
    """x and its mask, of values that are all real."""
    return layer(Batch(values, torch.ones(len(values), 1, dtype=torch.bool)))


def image(*shape: int):
    return SimpleNamespace(
        kind="image", shape=shape, height=shape[0], width=int(np.prod(shape[1:])), brightest=255.0
    )


def test_an_image_is_its_rows_from_dark_to_bright():
    layer, pixels = embed(image(3, 4), 5), torch.randint(0, 256, (2, 3, 4), dtype=torch.uint8)
    x, mask = looked_at(layer, pixels)
    torch.testing.assert_close(x, layer.project(pixels.float() / 255))
    assert x.shape == (2, 3, 5) and mask.shape == (2, 3) and mask.all()


@pytest.mark.parametrize("colours", [(), (3,)])
def test_an_image_is_its_patches_and_its_edges_are_dark(colours):
    layer, pixels = (
        embed(image(3, 4, *colours), 5, patch=2),
        torch.randint(0, 256, (2, 3, 4, *colours), dtype=torch.uint8),
    )
    x, mask = looked_at(layer, pixels)
    assert (
        x.shape == (2, 4, 5) and mask.shape == (2, 4) and mask.all()
    )  # two of two rows, the second half dark, by two
    deep = pixels.float().view(2, 3, 4, -1) / 255
    padded = torch.cat([deep, torch.zeros(2, 1, 4, deep.shape[-1])], 1)
    for number, (row, column) in enumerate(((0, 0), (0, 2), (2, 0), (2, 2))):
        square = (
            padded[:, row : row + 2, column : column + 2].permute(0, 3, 1, 2).flatten(1)
        )  # (B, channels · 4)
        wanted = square @ layer.project.weight.flatten(1).T + layer.project.bias
        torch.testing.assert_close(x[:, number], wanted, rtol=1e-4, atol=1e-5)


def test_a_whole_picture_a_label_and_a_row_of_numbers_are_one_vector():
    pixels = torch.randint(0, 256, (2, 3, 4), dtype=torch.uint8)
    layer = embed_whole(image(3, 4), 5)
    torch.testing.assert_close(
        looked_at(layer, pixels)[0], layer.project(pixels.flatten(1).float() / 255)[:, None]
    )
    layer = embed_whole(SimpleNamespace(kind="labels", count=4), 5)
    torch.testing.assert_close(
        looked_at(layer, torch.tensor([2, 0]))[0], layer.table.weight[[2, 0]][:, None]
    )
    layer, numbers = embed(SimpleNamespace(kind="numbers", width=3), 5), torch.randn(2, 3)
    torch.testing.assert_close(looked_at(layer, numbers)[0], layer.project(numbers)[:, None])


def test_frames_that_are_not_real_are_nothing():
    layer, mask = (
        embed(SimpleNamespace(kind="frames", width=3), 5),
        torch.tensor([[True, True], [True, False]]),
    )
    frames = torch.randn(2, 2, 3)
    x, _ = layer(Batch(frames, mask))
    torch.testing.assert_close(x[mask], layer.project(frames)[mask])
    assert not x[1, 1].any()


def test_segments_are_told_apart_and_tables_begin_as_said():
    layer = TokenEmbedding(inputs(pairs=True), 4)
    tokens, segment = torch.tensor([[5, 5]]), torch.tensor([[0, 1]])
    x, _ = layer(Batch(tokens, torch.tensor([[True, True]]), segment=segment))
    torch.testing.assert_close(x - layer.look_up(tokens), layer.segment.weight[segment])
    assert (
        layer.segment.weight.requires_grad
        and layer.table.weight.requires_grad
        and layer.table.sparse
    )
    assert TokenEmbedding(inputs(), 4).segment is None and TokenEmbedding(inputs(), 4).scale == 1.0
    pad = Special().pad
    assert pad is None or not TokenEmbedding(inputs(), 4).table.weight[pad].any()
    one_hot = TokenEmbedding(inputs(6, embedding="one-hot"), 4, exact=True)
    assert one_hot.width == 4 and one_hot.look_up(torch.tensor([[5]])).tolist() == [
        [[0, 0, 0, 0, 0, 1]]
    ]


@pytest.mark.parametrize("spelling", ["cnn", "lstm"])
def test_how_a_word_is_spelled_stands_beside_what_it_is(spelling):
    """(B, T, E + 50): each word's own letters, and the gradient goes to both."""
    layer = TokenEmbedding(
        inputs(spelling=spelling, alphabet=SimpleNamespace(tokens=[*"_abc"])), 4
    ).eval()
    letters, form = (
        torch.tensor([[1, 2, 3], [3, 0, 0]]),
        torch.tensor([[0, 1, 0]]),
    )  # of two words, the first one twice
    x, _ = layer(
        Batch(
            torch.tensor([[5, 6, 7]]),
            torch.ones(1, 3, dtype=torch.bool),
            letters=letters,
            form=form,
        )
    )
    assert x.shape == (1, 3, 54) and layer.width == 54 == 4 + layer.spelling.width
    torch.testing.assert_close(x[..., :4], layer.look_up(torch.tensor([[5, 6, 7]])))
    torch.testing.assert_close(x[0, :, 4:], layer.spelling(letters)[form[0]])
    assert torch.equal(x[0, 0, 4:], x[0, 2, 4:]) and not torch.equal(x[0, 0, 4:], x[0, 1, 4:])
    exact = TokenEmbedding(
        inputs(spelling=spelling, alphabet=SimpleNamespace(tokens=[*"_abc"])), 4, exact=True
    )
    assert exact.width == 4 and exact.project.in_features == 54


def test_the_tables_of_names_are_learned():
    layer = embed(SimpleNamespace(kind="labels", count=4), 5)
    x, _ = layer(Batch(torch.tensor([2, 0]), torch.ones(2, 1, dtype=torch.bool)))
    x.sum().backward()
    assert x.shape == (2, 1, 5) and layer.table.weight.grad.sum(1).tolist() == [5, 0, 5, 0]
