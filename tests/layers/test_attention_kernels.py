"""Which fused attention kernel is used is nobody else's matter: no switch of the process stays thrown, no thread sees another."""

import subprocess
import sys
import threading

import pytest
from torch.backends.cuda import cudnn_sdp_enabled

from wenmai import Classifier, LanguageModel
from wenmai.kernels.attention import without_cudnn
from wenmai.layers.attention import MultiHeadAttention


def test_one_thread_at_a_time_does_without_cudnn():
    before, inside = cudnn_sdp_enabled(), []

    def other():
        with without_cudnn():
            inside.append(cudnn_sdp_enabled())

    with without_cudnn():
        threads = [threading.Thread(target=other) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert not inside and not cudnn_sdp_enabled()
    for thread in threads:
        thread.join()
    assert inside == [False] * 4 and cudnn_sdp_enabled() == before


def test_windows_of_a_text_have_one_shape_and_rows_do_not():
    size = {"width": 8, "heads": 2, "layers": 1, "steps": 1, "validation": 0.0}
    written = LanguageModel("gpt", context=4, **size).fit(["a b c d e"] * 9).model_
    read = Classifier("transformer", **size).fit(["a b", "c"] * 4, ["x", "y"] * 4).model_
    for network, expected in ((written, True), (read, False)):
        assert {
            layer.one_shape for layer in network.modules() if isinstance(layer, MultiHeadAttention)
        } == {expected}


@pytest.mark.slow
def test_importing_throws_no_switch():
    code = (
        "import torch; before = torch.backends.cuda.cudnn_sdp_enabled(); import wenmai.catalog, wenmai.training.loop; "
        "assert torch.backends.cuda.cudnn_sdp_enabled() == before"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
