"""A recorded step gives what the network's own step does. What is recorded is run here as it stands; on a GPU, as a graph."""

from types import SimpleNamespace

import pytest
import torch
from test_language_model import trained

from wenmai.language.replay import KEPT, Lease, Replay, replayed


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("rung", "options"),
    [("gpt", {"positions": kind}) for kind in ("learned", "sinusoidal", "rotary")]
    + [("lstm", {}), ("gru", {}), ("mlp", {}), ("cnn", {})],
)
@pytest.mark.parametrize("rows", [1, 3])
def test_what_is_recorded_reads_as_a_step_does(rung, options, rows, monkeypatch):
    model = trained(rung, **options, device="cpu")
    network = model.model_
    _, state = model.trained().language.begin(model.inputs_.prompt("the cat"))
    again = torch.zeros(rows, dtype=torch.int64)
    state = state.index_select(0, again) if isinstance(state, torch.Tensor) else state.take(again)
    monkeypatch.setattr("wenmai.language.replay.STRIDE", 4)
    replay = Replay(network, rows, state)
    inner = replay.begun(state)
    draw = torch.Generator().manual_seed(0)
    for _ in range(6):
        tokens = torch.randint(2, network.head.width, (rows,), generator=draw)
        plain, state = network.step(state, tokens)
        if not isinstance(inner, torch.Tensor):
            assert replay.network.context >= inner.length + 1
        end = (
            0
            if isinstance(inner, torch.Tensor)
            else min(network.context, -(-(inner.length + 1) // 4) * 4)
        )
        replay.tokens.copy_(tokens)
        with torch.no_grad():
            found = replay.read(end)
        inner = inner.grown(1) if end else inner
        torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-5)
    if not isinstance(inner, torch.Tensor):
        assert torch.equal(inner.tokens[:, : inner.length], state.tokens[:, : state.length])


def test_on_a_cpu_a_step_stays_a_step():
    model = trained("gpt", device="cpu")
    _, state = model.trained().language.begin(model.inputs_.prompt("the"))
    assert replayed(model.model_, state) == (model.model_.step, state)


@pytest.mark.parametrize("rung", ["gpt", "lstm"])
def test_a_recording_is_one_texts_until_nobody_can_read_on(rung, monkeypatch):
    model = trained(rung, device="cpu")
    network = model.model_
    _, state = model.trained().language.begin(model.inputs_.prompt("the"))
    monkeypatch.setattr(type(network), "device", torch.device("cuda"))
    monkeypatch.setattr("wenmai.language.replay.Recordings", Taking)
    step, _ = replayed(network, state)
    assert isinstance(step, Lease)
    assert replayed(network, state) == (
        network.step,
        state,
    )  # while the first is still being written
    del step
    assert isinstance(replayed(network, state)[0], Lease)
    KEPT.clear()


class Taking:
    """What gives out recordings, without a GPU to make them on."""

    def __init__(self, network):
        self.replay = SimpleNamespace(
            held_by=lambda: None, begun=lambda state: state, step=network.step
        )

    def stale(self, network) -> bool:
        return False

    def of(self, rows, state):
        return self.replay


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("rung", ["gpt", "lstm"])
def test_two_texts_at_a_time_on_a_gpu(rung):
    model = trained(rung, device="cuda")
    prompts = ("the", "a")
    alone = [list(model.stream(prompt, tokens=12, temperature=0)) for prompt in prompts]
    together = zip(*(model.stream(prompt, tokens=12, temperature=0) for prompt in prompts))
    assert [list(some) for some in zip(*together)] == alone


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("rung", ["gpt", "lstm", "gru", "cnn"])
def test_a_replayed_text_is_the_text_on_a_gpu(rung):
    model = trained(rung, device="cuda")
    network = model.model_
    for prompt in ("the", "a cat sat"):
        log_probs, state = model.trained().language.begin(model.inputs_.prompt(prompt))
        step, fast = replayed(network, state)
        for _ in range(20):
            token = log_probs.argmax(-1)
            log_probs, state = network.step(state, token)
            found, fast = step(fast, token)
            near = 5e-2 if rung == "gpt" else 1e-4  # with a cache it reads in 16 bits
            torch.testing.assert_close(found, log_probs, rtol=near, atol=near)
