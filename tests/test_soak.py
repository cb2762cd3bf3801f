"""The long ones, under `make soak` only: every rung in full on every built-in set, and readers fed with damage."""

import random

import numpy as np
import pytest

from wenmai.catalog import RUNGS, TASKS
from wenmai.data.builtin import BUILTIN
from wenmai.data.dataset import open_dataset
from wenmai.data.readers import read
from wenmai.errors import Mistake
from wenmai.estimator import ESTIMATORS, load

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("data", BUILTIN)
@pytest.mark.parametrize("rung", RUNGS)
def test_every_rung_on_every_built_in_set(rung, data, tmp_path):
    opened = open_dataset(data, TASKS, valid="0.1", test="0.1")
    model = ESTIMATORS[opened.task.name](rung, epochs=5).fit(*opened.train.pair, opened.valid.pair)
    guess = max(map(opened.test.targets.count, set(opened.test.targets))) / len(opened.test)
    assert model.score(*opened.test.pair) > guess + 0.1
    again = load(model.save(tmp_path / "run"))
    np.testing.assert_array_equal(again.predict(opened.test.inputs), model.predict(opened.test.inputs))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "txt"])
def test_damaged_files_are_read_or_refused_in_a_sentence(suffix, tmp_path):
    whole = {
        "csv": 'text,label\n"a, b",x\n文脉,y\n"say ""hi""",x\n' * 3,
        "tsv": "text\tlabel\na b\tx\n文脉\ty\n" * 3,
        "jsonl": '{"text": "a b", "label": "x"}\n{"text": "文脉", "label": "y"}\n' * 3,
        "txt": "one line\nanother 文脉\n" * 5,
    }[suffix].encode()
    chance = random.Random(0)
    for number in range(5_000):
        bytes_ = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(bytes_))
            match chance.randrange(3):
                case 0:
                    bytes_[at] = chance.randrange(256)
                case 1:
                    del bytes_[at : at + chance.randint(1, 9)]
                case _:
                    bytes_[at:at] = chance.choice([b'"', b"\0", b"\r", b"\n", b",", b"\t", b"\xff", b"{", "脉".encode()])
            bytes_ = bytes_ or bytearray(b"x")
        file = tmp_path / f"damaged.{suffix}"
        file.write_bytes(bytes_)
        try:
            read(file).load()
        except Mistake as mistake:
            assert file.name in str(mistake), number
