"""Arrays in a file: what is written is mapped again and read by safetensors, and what is wrong with a file is told."""

import json
import mmap
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import load_file, save_file

from wenmai.data.storage import arrays as files
from wenmai.data.storage.saved import Unfit

kinds = st.sampled_from([np.dtype(kind) for kind in files.TYPES.values()])
shapes = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
some = st.dictionaries(
    st.text('abcé漢" \n', min_size=1),
    kinds.flatmap(lambda kind: arrays_of.arrays(kind, shapes)),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(some, st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_is_written_is_mapped_and_read_by_safetensors(tmp_path_factory, arrays, about):
    path = tmp_path_factory.mktemp("arrays") / "some.bin"
    files.write(path, arrays, about)
    found, told = files.mapped(path)
    theirs = load_file(path)
    assert told == about and found.keys() == arrays.keys() == {
        name for name in theirs if not name.startswith("~")
    }
    for name, array in arrays.items():
        assert (
            found[name].dtype == array.dtype
            and found[name].shape == array.shape
            and not found[name].flags.writeable
        )
        np.testing.assert_array_equal(found[name], array)
        np.testing.assert_array_equal(theirs[name], array)
        assert not array.size or (
            isinstance(found[name].base, mmap.mmap) and found[name].ctypes.data % 64 == 0
        )


def test_what_others_wrote_is_mapped(tmp_path):
    arrays = {
        "a": np.arange(7, dtype=np.int32),
        "b": np.ones((2, 3)),
        "c": np.frombuffer(b"abc", np.uint8),
    }
    save_file(arrays, tmp_path / "theirs.bin", {"who": "they"})
    found, about = files.mapped(tmp_path / "theirs.bin")
    assert about == {"who": "they"} and found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_arrays_that_lie_elsewhere(tmp_path):
    """Other strides and another order of the bytes; what is written is plain."""
    arrays = {
        "every other": np.arange(10)[::2],
        "turned": np.arange(6.0).reshape(2, 3).T,
        "swapped": np.arange(3, dtype=">i4"),
    }
    files.write(tmp_path / "some.bin", arrays)
    for name, array in files.mapped(tmp_path / "some.bin")[0].items():
        np.testing.assert_array_equal(array, arrays[name])


def entry(kind: str, shape: list[int], *place: int) -> dict:
    return {"dtype": kind, "shape": shape, "data_offsets": list(place)}


GOOD = {"a": entry("I32", [2, 2], 0, 16), "b": entry("U8", [3], 16, 19)}


def made(header: object, size: int = 19) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(size)


def changed(name: str, **values) -> dict:
    return {**GOOD, name: {**GOOD[name], **values}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found 0 bytes"),
        (b"1234567", "found 7 bytes"),
        (b"\xff" * 8, "longer than"),
        (made(GOOD)[:60], "longer than"),
        (struct.pack("<Q", 1 << 40) + bytes(99), "longer than"),
        (made(b"{"), "no JSON"),
        (made(b"\xff\xfe"), "no JSON"),
        (made(b"[" * 100_000), "no JSON"),
        (made(b'{"a": 1' + b"0" * 9999 + b"}"), "no JSON"),
        (made(b'{"a": {}, "a": {}}'), "no JSON"),
        (made([]), "a list"),
        (made({"a": 3}), "expected an object"),
        (made({**GOOD, "__metadata__": {"a": 1}}), "__metadata__"),
        (made({**GOOD, "__metadata__": []}), "__metadata__"),
        (made(changed("a", dtype="F99")), '"dtype" is "F99"'),
        (made(changed("a", dtype=["I32"])), '"dtype" is a list'),
        (made({"a": {"dtype": "U8"}}), 'found no "shape"'),
        (made(changed("a", shape=[2, 3])), "do not fit each other"),
        (made(changed("a", shape=[-4])), '"shape"'),
        (made(changed("a", shape=[1 << 60, 1 << 60])), '"shape"'),
        (made(changed("a", shape=[True, 4])), '"shape"'),
        (made(changed("a", shape=[1] * 70 + [4])), "do not fit"),
        (made({"a": entry("U8", [0, 1 << 40, 1 << 40], 0, 0)}, 0), "found the shape"),
        (made(changed("a", data_offsets=[0, 16, 16])), "do not fit"),
        (made(changed("a", data_offsets=[16, 0])), "do not fit"),
        (made(changed("b", data_offsets=[17, 20])), "inside the file"),
        (made(GOOD, 18), "inside the file"),
        (made(GOOD, 20), "follow one another"),
        (made(changed("b", data_offsets=[15, 18])), "follow one another"),
        (
            made({"b": entry("U8", [3], 0, 3), "a": entry("I32", [4], 3, 19)}),
            "such numbers can lie",
        ),
    ],
)
def test_what_is_wrong_with_a_file(data, said, tmp_path):
    (tmp_path / "good.bin").write_bytes(made(GOOD))
    assert files.mapped(tmp_path / "good.bin")[0]["a"].shape == (2, 2)
    (tmp_path / "some.bin").write_bytes(data)
    with pytest.raises(Unfit, match=said):
        files.mapped(tmp_path / "some.bin")


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, files.BLOCK, 2 * files.BLOCK + 5])
def test_every_bit_changes_the_checksum(size, tmp_path):
    path, chance = tmp_path / "some.bin", np.random.default_rng(size)
    data = chance.bytes(size)
    path.write_bytes(data)
    expected, seen = files.checksum(path), set()
    assert expected == files.checksum(path, threads=1) and len(expected) == 16
    for bit in (
        range(8 * size)
        if size < 20
        else {0, 8 * size - 1, *chance.integers(0, 8 * size, 40).tolist()}
    ):
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        path.write_bytes(other)
        seen.add(files.checksum(path))
        assert expected not in seen
    path.write_bytes(data + b"\0")
    assert files.checksum(path) != expected
    if size > 99:
        path.write_bytes(data[size // 2 :] + data[: size // 2])
        assert files.checksum(path) != expected
        path.write_bytes(data[8:16] + data[:8] + data[16:])
        assert files.checksum(path) != expected
