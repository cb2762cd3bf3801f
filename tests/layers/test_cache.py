"""Rows of different lengths in one cache: each goes on as it would alone, whatever way it is read, whoever joins and leaves."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from wenmai.kernels.products import FEW
from wenmai.layers.cache import Cache, Window, join, take
from wenmai.layers.trace import Trace
from wenmai.layers.transformer import Transformer

WIDTH, HEADS, ROOM = 24, 4, 24
LENGTHS = [1, 4, 7]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
every_place = pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
every_way = pytest.mark.parametrize("way", ["kernel", "traced", "kept in a file", "bfloat16"])
both_sizes = pytest.mark.parametrize("repeated", [1, 4], ids=["few", "many"])


@pytest.fixture(autouse=True)
def _nothing_is_by_chance():
    """What was never written is no number: who looks at it is caught."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def transformer(positions: str, way: str = "kernel") -> Transformer:
    torch.manual_seed(0)
    body = Transformer(WIDTH, HEADS, 2, 40, positions=positions, longest=ROOM, causal=True)
    for weight in body.parameters():
        nn.init.normal_(weight, std=0.3)
    return body.to(torch.bfloat16 if way == "bfloat16" else torch.float32).eval()


class Rows:
    """Texts that are read together; what was read of each is kept, to be read again alone."""

    def __init__(self, body: Transformer, way: str, lengths: list[int], seed: int = 0):
        self.body, self.way = body, way
        self.chance = torch.Generator().manual_seed(seed)
        self.texts = [self.drawn(1, length)[0] for length in lengths]
        self.state = join([body(text[None], None, body.cache(1, ROOM))[2] for text in self.texts])

    def drawn(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, WIDTH, generator=self.chance).to(
            next(self.body.parameters()).dtype
        )

    def read(self, more: int = 1) -> None:
        """So many tokens more in every row; each is what it would be alone."""
        x, trace = self.drawn(len(self.texts), more), Trace() if self.way == "traced" else None
        if self.way == "kept in a file":
            self.state = pickle.loads(pickle.dumps(self.state))
        y, _, self.state = self.body(x, None, self.state, trace)
        self.texts = [torch.cat([text, row]) for text, row in zip(self.texts, x)]
        assert self.state.lengths.tolist() == list(map(len, self.texts))
        close = {"rtol": 5e-2, "atol": 5e-2} if self.way == "bfloat16" else CLOSE
        for row, text in enumerate(self.texts):
            torch.testing.assert_close(y[row], self.body(text[None], None)[0][0, -more:], **close)

    def take(self, *rows: int) -> None:
        self.state, self.texts = (
            take(self.state, torch.tensor(rows)),
            [self.texts[row] for row in rows],
        )

    def join(self, other: "Rows") -> None:
        self.state, self.texts = join([self.state, other.state]), [*self.texts, *other.texts]


@every_place
@every_way
@both_sizes
@torch.no_grad()
def test_together_as_each_alone(positions, way, repeated):
    rows = Rows(transformer(positions, way), way, LENGTHS * repeated)
    assert (
        (len(rows.texts) > FEW) == (repeated > 1)
        and not rows.state.aligned
        and rows.state.length == 7
    )
    assert (rows.state.steps is None) == (way == "bfloat16")
    for _ in range(6):
        rows.read()


@every_place
@every_way
@both_sizes
@torch.no_grad()
def test_rows_leave_and_join_in_between(positions, way, repeated):
    body = transformer(positions, way)
    rows = Rows(body, way, LENGTHS * repeated)
    rows.read()
    rows.take(*reversed(range(len(rows.texts))))  # a short one where a long one lay
    rows.read()
    rows.take(*range(1, len(rows.texts)))
    rows.read()
    rows.join(Rows(body, way, [3, 3, 9], seed=1))
    rows.read()
    rows.take(0, 0, len(rows.texts) - 1, 1)  # one twice
    rows.read()
    rows.take(2)
    assert rows.state.aligned
    rows.read()
    rows.join(Rows(body, way, [2], seed=2))
    rows.read()


@every_place
@both_sizes
@torch.no_grad()
def test_several_tokens_more_and_then_one_again(positions, repeated):
    rows = Rows(transformer(positions), "kernel", LENGTHS * repeated)
    for more in (1, 3, 1, 1, 2, 1):
        rows.read(more)


@torch.no_grad()
def test_rows_that_change_before_several_tokens_are_read():
    rows = Rows(transformer("learned"), "kernel", [3, 3, 3])
    rows.take(2, 0, 0)
    for more in (1, 2, 1):
        rows.read(more)
    fresh = (
        transformer("learned").cache(3, ROOM).take(torch.tensor([2, 0, 0]))
    )  # nothing was read yet, but by the blocks
    rows.state, rows.texts = fresh, [torch.zeros(0, WIDTH)] * 3
    for more in (2, 1, 1):
        rows.read(more)


@torch.no_grad()
def test_two_that_go_on_from_one_place_do_not_meet():
    rows, other = (Rows(transformer("rotary"), "kernel", LENGTHS) for _ in range(2))
    other.state = rows.state
    other.chance.manual_seed(9)
    for _ in range(3):
        rows.read()
        other.read()


def test_tokens_are_held_where_each_row_ends():
    body = transformer("learned")
    states = []
    with torch.no_grad():
        for length in LENGTHS:
            state = body(torch.zeros(1, length, WIDTH), None, body.cache(1, ROOM))[2]
            state.hold(torch.full((1, length), length))
            states.append(state)
        joined = Cache.joined(states).grown(2)
        joined.hold(torch.tensor([[11, 12]] * 3))
    for row, length in enumerate(LENGTHS):
        assert joined.tokens[row, : length + 2].tolist() == [length] * length + [11, 12]
    np.testing.assert_array_equal(joined.window.lengths, [3, 6, 9])


def test_a_window_moves_on_in_every_row_for_itself():
    """Of the last five, from rows of one, four and five."""
    texts, window = [[1], [2, 3, 4, 5], [6, 7, 8, 9, 10]], None
    window = join([Window.of(torch.tensor([text])) for text in texts])
    for more in ([[21], [22], [23]], [[31, 32], [33, 34], [35, 36]], [[41] * 9] * 3):
        window = window.added(torch.tensor(more), 5)
        texts = [text + new for text, new in zip(texts, more)]
        for row, text in enumerate(texts):
            assert window.tokens[row, : window.lengths[row]].tolist() == text[-5:]
    assert take(window, torch.tensor([2, 0])).tokens.tolist() == [[41] * 5] * 2 and len(window) == 3
