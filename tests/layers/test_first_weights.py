"""A model is counted on the device "meta" before it is made: nothing is drawn there, and nothing heavy loaded."""

import subprocess
import sys

import pytest
import torch
from test_contract import NETWORKS, made, small

from wenmai.catalog import RUNGS
from wenmai.layers.first_weights import normal


def test_weights_are_spread_as_asked():
    torch.manual_seed(0)
    assert normal(0.1, 400, 300).std().item() == pytest.approx(0.1, rel=0.02)
    with torch.device("meta"):
        before = torch.get_rng_state()
        assert normal(0.1, 10**6, 10**6).is_meta and torch.equal(torch.get_rng_state(), before)


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task", "kind"), NETWORKS, ids=str)
def test_a_network_that_is_counted_takes_no_room(rung, task, kind):
    model = small(rung, task, steps=1).fit(*made(kind, rows=30, task=task))
    with torch.device("meta"):
        counted = RUNGS[rung].builder(task)(model.inputs_, model.task_.head(model.inputs_))
    assert all(weight.is_meta for weight in counted.parameters())


@pytest.mark.slow
def test_what_torch_traces_with_is_not_loaded_with_a_run(tmp_path):
    run = (
        small("transformer", "translate", steps=1)
        .fit(*made("sources", rows=30, task="translate"))
        .save(tmp_path / "run")
    )
    code = f"import sys, wenmai; wenmai.load({str(run)!r}); print([n for n in ('torch._dynamo', 'sympy') if n in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
