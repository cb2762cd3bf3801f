"""Which fused attention kernel is used is nobody else's matter: no switch of the process stays thrown, no thread sees another."""

import subprocess
import sys
import threading

from wenmai.kernels.attention import has_one_shape, one_shape


def test_a_choice_is_that_of_one_thread():
    seen = []
    with one_shape():
        other = threading.Thread(target=lambda: seen.append(has_one_shape.get()))
        other.start()
        other.join()
        assert has_one_shape.get() and seen == [False]
        with one_shape(False):
            assert not has_one_shape.get()
        assert has_one_shape.get()
    assert not has_one_shape.get()


def test_importing_throws_no_switch():
    code = ("import torch; before = torch.backends.cuda.cudnn_sdp_enabled(); import wenmai.catalog, wenmai.training.loop; "
            "assert torch.backends.cuda.cudnn_sdp_enabled() == before")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
