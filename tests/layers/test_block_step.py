"""A token that is read by machine code gives what the blocks give."""

import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from wenmai.kernels.block_step import one_token
from wenmai.layers.attention import see_real
from wenmai.layers.cache import Cache
from wenmai.layers.cross_attention import CrossAttention
from wenmai.layers.transformer import Block

WIDTH, HEADS, STEPS, READ = 24, 4, 5, 7
SHAPES = [
    {},
    {"prenorm": False},
    {"rotary": True},
    {"activation": "relu", "prenorm": False, "rotary": True},
]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 9, 30])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_token_more_is_what_the_blocks_make_of_it(rows, across, shape):
    torch.manual_seed(rows)
    blocks = nn.ModuleList(
        Block(
            WIDTH,
            HEADS,
            40,
            0.0,
            causal=True,
            **shape,
            cross=CrossAttention(WIDTH, WIDTH, HEADS) if across else None,
        )
        for _ in range(3)
    )
    for weight in blocks.parameters():
        nn.init.normal_(weight, std=0.3)
    x, memory = torch.randn(rows, STEPS, WIDTH), torch.randn(rows, READ, WIDTH)
    real = see_real(torch.arange(READ) < torch.randint(1, READ + 1, (rows, 1)))
    with torch.no_grad():
        room = Cache.empty(rows, blocks, STEPS + 2, x)
        seen = None
        if across:
            order = torch.randperm(rows)  # it need not lie in the order of the rows
            looked = torch.stack([block.cross.keys_values(memory[order]) for block in blocks], 1)
            seen = SimpleNamespace(memory=looked, real=real[order], source=order.argsort())
        found = []
        for at in range(STEPS):
            room = room.grown(1)
            found.append(room.steps.step(x[:, at : at + 1], room, seen))
        wanted = x
        for block in blocks:
            wanted = block(wanted, None, memory=memory, real=real)
    torch.testing.assert_close(torch.cat(found, 1), wanted, rtol=1e-4, atol=1e-4)


def test_only_where_nothing_else_is_asked_for():
    x = torch.randn(2, 1, 4)
    assert not one_token(x, None)  # a gradient is
    with torch.no_grad():
        assert one_token(x, None)
        assert (
            not one_token(x, SimpleNamespace())
            and not one_token(x.expand(2, 3, 4), None)
            and not one_token(x.half(), None)
        )


@pytest.mark.parametrize("rows", [3, 10])
def test_rows_that_go_on_from_others_leave_them_where_they_are(rows):
    """As often as they like, and the states before them stay as they were."""
    torch.manual_seed(0)
    blocks = nn.ModuleList(Block(WIDTH, HEADS, 40, 0.0, causal=True) for _ in range(2))
    chance = torch.Generator().manual_seed(rows)

    def read(cache: Cache, x: torch.Tensor) -> tuple[torch.Tensor, Cache]:
        after = cache.grown(1)
        return after.steps.step(x, after), after

    with torch.no_grad():
        moved = stays = Cache.empty(rows, blocks, 12, torch.zeros(1))
        states = []
        for _ in range(8):
            x = torch.randn(rows, 1, WIDTH, generator=chance)
            (y, moved), (wanted, stays) = read(moved, x), read(stays, x)
            torch.testing.assert_close(y, wanted)
            states.append((moved, stays))
            order = torch.randint(rows, (rows,), generator=chance)
            moved, stays = moved.take(order), stays.moved(order)
            assert moved.kept is states[-1][0].kept and stays.kept is not states[-1][1].kept
        for one, other in states:
            torch.testing.assert_close(
                one.in_order().kept[..., : one.length, :], other.kept[..., : one.length, :]
            )
            torch.testing.assert_close(read(one, x)[0], read(other, x)[0])
            some = torch.tensor([rows - 1, 0])
            torch.testing.assert_close(
                read(one.take(some), x[:2])[0], read(other.take(some), x[:2])[0]
            )


@pytest.mark.parametrize("rows", [7, 40])
def test_fewer_rows_stay_in_the_room_until_it_is_far_too_large(rows):
    torch.manual_seed(0)
    blocks = nn.ModuleList(Block(WIDTH, HEADS, 40, 0.0, causal=True) for _ in range(2))
    with torch.no_grad():
        found = wanted = Cache.empty(rows, blocks, 12, torch.zeros(1))
        rooms = {found.kept.data_ptr()}
        for left in (rows, rows, rows - 2, rows // 2 + 1, rows // 2, rows // 3, rows // 4, 1, 1):
            order = torch.randperm(len(found))[:left]
            found, wanted = found.take(order), wanted.moved(order)
            x = torch.randn(left, 1, WIDTH)
            found, wanted = found.grown(1), wanted.grown(1)
            torch.testing.assert_close(
                found.steps.step(x, found), wanted.steps.step(x, wanted), rtol=1e-4, atol=1e-5
            )
            torch.testing.assert_close(
                found.in_order().kept[..., : found.length, :], wanted.kept[..., : found.length, :]
            )
            rooms.add(found.kept.data_ptr())
        assert len(rooms) <= 3 and found.kept.shape[2] < rows


def test_a_state_that_was_put_away_reads_on():
    torch.manual_seed(0)
    blocks = nn.ModuleList(Block(WIDTH, HEADS, 40, 0.0, causal=True) for _ in range(2))
    with torch.inference_mode():  # in which it began, and from which it comes out
        first = Cache.empty(2, blocks, 6, torch.zeros(1)).grown(1)
        first.steps.step(torch.randn(2, 1, WIDTH), first)
    with torch.no_grad():
        there = pickle.loads(pickle.dumps(first))
        assert there.steps is None and there.rooms[0].data_ptr() == there.kept[0].data_ptr()
        x = torch.randn(2, 1, WIDTH)
        after, slow = first.grown(1), there.grown(1)
        wanted, found = after.steps.step(x, after), x
        for level, block in enumerate(blocks):
            found = block(found, None, past=slow.layer(level, 1))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            slow.kept[..., :2, :], after.kept[..., :2, :], rtol=1e-4, atol=1e-5
        )


def test_rows_may_change_before_anything_was_read():
    blocks = nn.ModuleList([Block(WIDTH, HEADS, 40, 0.0, causal=True)])
    with torch.no_grad():
        mixed = Cache.empty(3, blocks, 6, torch.zeros(1)).take(torch.tensor([2, 0, 0]))
        assert mixed.grown(2).in_order().kept is mixed.kept
