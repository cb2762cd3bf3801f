"""Running text in windows: nothing is read twice in an epoch, columns go on where they were, and every epoch is a function of
seed and number."""

import numpy as np
import pytest

from wenmai.data.examples.streams import Stream
from wenmai.errors import Mistake


@pytest.mark.parametrize("carries", [True, False])
def test_windows_and_their_targets(carries):
    stream = Stream(np.arange(1000, dtype=np.int32), 7, carries)
    epochs = stream.epochs(70, seed=3)
    assert (
        stream.carries == carries
        and stream.one_shape
        and stream.lengths.tolist() == [7] * len(stream)
    )
    seen, before = [], None
    for number in range(40):
        epoch, starts = next(epochs)
        if epoch:
            break
        batch = stream.batch(starts)
        assert (
            batch.inputs.shape == batch.target.shape == (10, 7)
            and (batch.target - batch.inputs == 1).all()
        )
        assert stream.opens(starts) == (number == 0 or not carries)
        if carries and before is not None:
            assert (starts == before + 7).all()
        before = starts
        seen += batch.inputs.flatten().tolist()
    assert len(seen) == len(set(seen)) > 900


@pytest.mark.parametrize("carries", [True, False])
def test_batches_follow_from_seed_and_number(carries):
    stream = Stream(np.arange(500, dtype=np.int32), 5, carries)
    first = [starts.tolist() for _, (_, starts) in zip(range(60), stream.epochs(50, seed=1))]
    for done in (0, 1, 7, 30):
        again = [
            starts.tolist()
            for _, (_, starts) in zip(range(60 - done), stream.epochs(50, seed=1, done=done))
        ]
        assert again == first[done:]
    assert first != [
        starts.tolist() for _, (_, starts) in zip(range(60), stream.epochs(50, seed=2))
    ]


def test_little_text():
    assert Stream(np.arange(3, dtype=np.int32), 35, True).steps == 2
    assert len(next(Stream(np.arange(9, dtype=np.int32), 35, True).epochs(700, 0))[1]) == 1
    assert len(next(Stream(np.arange(9, dtype=np.int32), 35, False).epochs(700, 0))[1]) == 1
    with pytest.raises(Mistake, match="found 1 tokens, expected at least 2"):
        Stream(np.zeros(1, np.int32), 35, True)
