"""Beam search equals an exhaustive search where it is wide enough, greedy where it is 1 wide, and a source beside others is
searched as it is alone."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.errors import Mistake
from wenmai.tasks.beam import beam, best
from wenmai.tasks.decoding import Choice, together

FEW = settings(max_examples=40, deadline=None)
END, NEVER = 0, float("-inf")
penalties = st.sampled_from([0.0, 0.6, 1.0])


class Said:
    """A model of which every token depends on all before it: the state (B, 1) is a number for what was written so far."""

    def __init__(
        self, seed: int, width: int, never: float = 0.0, contexts: int = 997, ends: float = 0.0
    ):
        chance = torch.Generator().manual_seed(seed)
        table = torch.randn(contexts, width, generator=chance)
        table[:, END] += ends
        table[torch.rand(contexts, width, generator=chance) < never] = NEVER
        self.table = table.log_softmax(-1).nan_to_num(
            NEVER, neginf=NEVER
        )  # of a row without any token: none
        self.width, self.steps, self.sizes = width, 0, []

    def begin(self, sources) -> tuple[torch.Tensor, torch.Tensor]:
        state = torch.tensor(list(sources), dtype=torch.int64)[:, None]
        return self.table[state[:, 0] % len(self.table)], state

    def step(self, state, tokens):
        self.sizes.append(len(tokens))
        state = (state * (self.width + 1) + tokens[:, None] + 1) % 1_000_003
        return self.table[state[:, 0] % len(self.table)], state

    def sum(self, source: int, tokens) -> float:
        log_probs, state = self.begin([source])
        total = 0.0
        for token in tokens:
            total += float(log_probs[0, token])
            log_probs, state = self.step(state, torch.tensor([token]))
        return total


def all_of(said: Said, source: int, most: int, penalty: float) -> list[tuple[float, tuple]]:
    """Every text that ends, or is as long as may be, and is possible: (score, tokens), the best first."""
    texts = {
        row[: row.index(END) + 1] if END in row else row
        for row in product(range(said.width), repeat=most)
    }
    scored = [(said.sum(source, text) / len(text) ** penalty, text) for text in texts]
    return sorted((one for one in scored if one[0] > NEVER), reverse=True)


@FEW
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    penalties,
    st.sampled_from([0.0, 0.3]),
    st.integers(1, 6),
)
def test_wide_enough_it_is_an_exhaustive_search(seed, width, most, penalty, never, count):
    said, size = Said(seed, width, never), width ** max(most)
    found = beam(
        said.step, *said.begin(range(len(most))), most, size, penalty, min(count, size), END
    )
    for source, (candidates, longest) in enumerate(zip(found, most)):
        expected = all_of(said, source, longest, penalty)[: min(count, size)]
        assert [one.score for one in candidates] == pytest.approx(
            [score for score, _ in expected], abs=1e-6
        )
        for one in candidates:
            assert one.log_prob == pytest.approx(said.sum(source, one.tokens), abs=1e-6)
            assert one.score == pytest.approx(one.log_prob / len(one.tokens) ** penalty)
        assert len({tuple(one.tokens) for one in candidates}) == len(candidates)


def by_hand(
    said: Said, source: int, most: int, size: int, penalty: float, count: int
) -> list[tuple]:
    """The search as it is told, text by text."""
    live, finished = [()], []
    for length in range(1, most + 1):
        going = [
            (said.sum(source, (*text, token)), (*text, token))
            for text in live
            for token in range(said.width)
        ]
        going = sorted((one for one in going if one[0] > NEVER), reverse=True)
        finished += [
            (total / length**penalty, text)
            for total, text in going[:size]
            if text[-1] == END or length == most
        ]
        going = [one for one in going if one[1][-1] != END][:size]
        finished.sort(reverse=True)
        live = [text for _, text in going]
        enough = (
            len(finished) >= count
            and going
            and going[0][0] / most**penalty <= finished[count - 1][0]
        )
        if len(finished) >= size or enough or not live:
            break
    return finished[:count]


@FEW
@given(
    st.integers(0, 10**6),
    st.integers(3, 7),
    st.integers(1, 5),
    st.integers(1, 4),
    penalties,
    st.sampled_from([0.0, 0.3]),
    st.integers(1, 4),
)
def test_it_is_the_search_as_it_is_told(seed, width, most, size, penalty, never, count):
    said, count = Said(seed, width, never), min(count, size)
    found = beam(said.step, *said.begin([4]), [most], size, penalty, count, END)[0]
    expected = by_hand(said, 4, most, size, penalty, count)
    assert [tuple(one.tokens) for one in found] == [text for _, text in expected]
    assert [one.score for one in found] == pytest.approx([score for score, _ in expected], abs=1e-6)


def test_a_text_that_is_not_possible_does_not_count_as_finished():
    """Five tokens can only be followed by another, the sixth only by the end."""
    goes_on, stops = torch.tensor([[0.0, NEVER], [NEVER, 0.0]])

    def step(state, tokens):
        state = state + 1
        return torch.where(state < 6, goes_on, stops), state

    found = beam(step, goes_on[None], torch.zeros(1, 1), [9], 4, 0.6, 1, end=1)
    assert found == [[([0] * 6 + [1], 0.0, 0.0)]]


@FEW
@given(
    st.integers(0, 10**6),
    st.sampled_from([5, 63, 64, 200, 1000]),
    penalties,
    st.sampled_from([0.0, 0.2]),
)
def test_one_wide_it_is_greedy(seed, width, penalty, never):
    said, most = Said(seed, width, never, ends=2.0), [3, 12, 1, 7, 12]
    found = beam(said.step, *said.begin(range(5)), most, 1, penalty, 1, END)
    greedy, sums = together(
        said.step, *said.begin(range(5)), most, Choice(temperature=0.0), [0] * 5, END, lines=1
    )
    possible = [sum > NEVER for sum in sums]
    assert [one[0].tokens for one, there in zip(found, possible) if there] == [
        row for row, there in zip(greedy, possible) if there
    ]
    assert [one[0].log_prob for one in found if one] == pytest.approx(
        [sum for sum in sums if sum > NEVER]
    )


@pytest.mark.slow
@FEW
@given(st.integers(0, 10**6), st.integers(1, 6), penalties, st.integers(1, 3))
def test_beside_others_a_source_is_searched_as_alone(seed, size, penalty, count):
    said, most, count = (
        Said(seed, 90, 0.1, ends=1.5),
        [3 + source % 9 for source in range(32)],
        min(count, size),
    )
    found = beam(said.step, *said.begin(range(32)), most, size, penalty, count, END)
    alone = [
        beam(said.step, *said.begin([row]), [longest], size, penalty, count, END)[0]
        for row, longest in enumerate(most)
    ]
    assert found == alone


@FEW
@given(
    st.integers(0, 10**6),
    st.sampled_from([64, 127, 700]),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 0.99]),
)
def test_the_best_of_the_blocks_are_the_best_of_all(seed, width, slots, never):
    chance = torch.Generator().manual_seed(seed)
    log_probs = torch.randn(3 * slots, width, generator=chance)
    log_probs[torch.rand(log_probs.shape, generator=chance) < never] = NEVER
    sums = torch.randn(3, slots, generator=chance, dtype=torch.float64)
    sums[torch.rand(sums.shape, generator=chance) < never / 2] = NEVER
    reached, slot, token = best(log_probs, sums, 10)
    table = log_probs.view(3, slots, width) + sums[..., None]
    assert torch.equal(reached, table.flatten(1).topk(10).values)
    assert torch.equal(table[torch.arange(3)[:, None], slot, token], reached)
    real = reached > NEVER
    assert len(
        {*zip(real.nonzero()[:, 0].tolist(), slot[real].tolist(), token[real].tolist())}
    ) == int(real.sum())


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_gpu_that_is_seldom_asked_finds_the_same(penalty, monkeypatch):
    """There, sources that are done stay a few steps longer; what they write then counts for nothing."""
    said, most = Said(2, 70, 0.1, ends=2.0), [5 + source for source in range(20)]
    found = beam(said.step, *said.begin(range(20)), most, 4, penalty, 3, END)
    rows, said.sizes = said.sizes, []
    monkeypatch.setattr("wenmai.tasks.beam.must_wait", lambda tensor: True)
    assert beam(said.step, *said.begin(range(20)), most, 4, penalty, 3, END) == found
    assert said.sizes[:7] == [80] * 7 and sum(rows) < sum(said.sizes)


def test_a_wider_beam_finds_what_greedy_misses():
    """Garden path: the best first token leads to nothing good."""
    first = torch.tensor([[NEVER, 0.6, 0.4]]).log().nan_to_num(neginf=NEVER)
    first[0, 0] = NEVER
    after = torch.tensor([[0.34, 0.33, 0.33], [0.34, 0.33, 0.33], [1.0, 0.0, 0.0]]).log()

    def step(state, tokens):
        return after[tokens], state

    greedy, wide = (
        beam(step, first, torch.zeros(1, 1), [5], size, 0.0, 1, END)[0][0].tokens for size in (1, 2)
    )
    assert greedy == [1, END] and wide == [2, END]


def test_finished_sources_leave_and_the_state_follows_its_rows():
    said = Said(3, 50, ends=2.5)
    many, few = (
        beam(said.step, *said.begin(range(16)), [20] * 16, size, 1.0, size, END) for size in (4, 1)
    )
    assert max(len(one[0].tokens) for one in few) <= 20
    for source, candidates in enumerate(many):
        assert [one.score for one in candidates] == sorted(
            (one.score for one in candidates), reverse=True
        )
        assert all(
            one.log_prob == pytest.approx(said.sum(source, one.tokens), abs=1e-6)
            for one in candidates
        )
    assert said.sizes[0] == 64 and any(rows < 64 and rows % 4 == 0 for rows in said.sizes)


def test_rows_of_a_state_that_holds_its_sources_move_within_them():
    """`within` is asked for only where every source stays in its place."""

    class State:
        def __init__(self, inner, source):
            self.inner, self.source = inner, source

        def take(self, rows):
            return State(self.inner[rows], self.source[rows])

        def within(self, rows):
            assert torch.equal(self.source[rows], self.source)
            return State(self.inner[rows], self.source)

    said = Said(5, 30, ends=1.0)
    log_probs, inner = said.begin(range(6))
    moves = []

    def step(state, tokens):
        moves.append(len(tokens))
        log_probs, inner = said.step(state.inner, tokens)
        return log_probs, State(inner, state.source)

    found = beam(step, log_probs, State(inner, torch.arange(6)), [9] * 6, 3, 0.6, 2, END)
    assert found == beam(said.step, *said.begin(range(6)), [9] * 6, 3, 0.6, 2, END) and moves


def test_it_never_goes_on_without_end():
    never_ends = Said(0, 10, ends=-1e4)
    found = beam(never_ends.step, *never_ends.begin([0, 1]), [4, 30], 3, 1.0, 3, END)
    assert [[len(one.tokens) for one in row] for row in found] == [[4] * 3, [30] * 3]
    assert beam(never_ends.step, *never_ends.begin([]), [], 3, 1.0, 3, END) == []


def test_nothing_is_found_where_nothing_is_possible():
    nothing = torch.full((2, 7), NEVER)
    nothing[1, END] = 0.0
    found = beam(
        lambda state, tokens: (nothing[:1].expand(len(tokens), -1), state),
        nothing,
        torch.zeros(2, 1),
        [5, 5],
        2,
        0.6,
        2,
        END,
    )
    assert found == [[], [([END], 0.0, 0.0)]]


@pytest.mark.parametrize(
    "size, penalty, count, says",
    [
        (0, 0.0, 1, "beam=0: expected 1 to 1000"),
        (-3, 0.0, 1, "beam=-3"),
        (5000, 0.0, 1, "beam=5000"),
        (2, -0.5, 1, "penalty=-0.5: expected 0"),
        (2, float("nan"), 1, "penalty=nan"),
        (2, 0.0, 3, "best=3: expected 1 to 2"),
        (2, 0.0, 0, "best=0"),
        (2.0, 0.0, 1, "beam=2.0: expected a whole number, found float"),
        ("5", 0.0, 1, "beam='5': expected a whole number"),
        (2, None, 1, "penalty=None: expected a number, found NoneType"),
        (5, 1.0, 2.5, "best=2.5: expected a whole number"),
    ],
)
def test_what_cannot_be_searched_is_refused(size, penalty, count, says):
    said = Said(0, 5)
    with pytest.raises(Mistake, match=says):
        beam(said.step, *said.begin([0]), [3], size, penalty, count, END)


@pytest.mark.parametrize("lines", [1, None])
def test_texts_that_are_written_together_may_each_have_a_longest_length(lines):
    said, most = Said(1, 20, ends=1.0), [4, 1, 9, 9, 2]
    choice, seeds = Choice(), [7, 8, 9, 10, 11]
    rows, sums = together(said.step, *said.begin(range(5)), most, choice, seeds, END, lines)
    for row, longest in enumerate(most):
        alone = together(
            said.step, *said.begin([row]), longest, choice, seeds[row : row + 1], END, lines
        )
        assert (rows[row], sums[row]) == (alone[0][0], alone[1][0]) and len(rows[row]) <= longest
    assert lines or list(map(len, rows)) == most
