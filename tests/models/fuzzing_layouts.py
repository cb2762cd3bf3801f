"""Damaged files of n-gram models: `python fuzzing_layouts.py COUNT START` in a process of its own, since code that is compiled
and reads beyond an array ends the process instead of raising anything. Prints what came out as JSON.

Input number n is a function of n alone: which model, which layout, what is done to it.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from wenmai.data.storage import arrays as files
from wenmai.data.storage.saved import Unfit
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table
from wenmai.models.ngram.trie import Trie

BEGIN, END, WORDS = 1, 2, 30
KINDS = ("modified-kneser-ney", "katz", "none")
EXTREME = [
    0,
    1,
    2,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x7FC00000,
    0x7F800000,
    0xFF800000,
    0x42C80000,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
]


def models() -> list[tuple[type, dict[str, np.ndarray]]]:
    chance, made = np.random.default_rng(0), []
    rows = [[BEGIN, *chance.integers(3, WORDS, chance.integers(0, 9)), END] for _ in range(40)]
    tokens = np.concatenate(rows).astype(np.int32)
    for n, order in enumerate((1, 2, 3, 5, 7)):
        levels = count(tokens, WORDS, order, BEGIN)
        smoothed = smooth(levels, KINDS[n % 3], BEGIN)
        made += [(kind, kind.of(levels, smoothed).arrays()) for kind in (Table, Trie)]
    return made


def damaged_bytes(data: bytes, chance: np.random.Generator) -> bytes:
    out = bytearray(data)
    head = 8 + int.from_bytes(data[:8], "little")
    for _ in range(int(chance.integers(1, 5))):
        near = head if chance.random() < 0.5 else len(out)  # half of it in the header
        at, most = (
            int(chance.integers(0, max(1, min(near, len(out))))),
            int(chance.choice([1, 8, 300])),
        )
        size, what = int(chance.integers(1, 1 + most)), chance.integers(0, 7)
        if what == 0:
            out[at : at + 1] = (
                bytes([out[at] ^ 1 << int(chance.integers(0, 8))]) if at < len(out) else b""
            )
        elif what == 1:
            out[at : at + size] = chance.bytes(len(out[at : at + size]))
        elif what == 2:
            out[at:at] = chance.bytes(size)
        elif what == 3:
            del out[at : at + size]
        elif what == 4:
            del out[at:]
        elif what == 5:
            out[at:at] = out[at : at + size]
        else:  # another digit, in the header: lengths, shapes and places that do not fit
            digits = [place for place in range(8, min(head, len(out))) if 48 <= out[place] <= 57]
            if digits:
                out[int(chance.choice(digits))] = 48 + int(chance.integers(0, 10))
    return bytes(out)


def damaged_arrays(
    arrays: dict[str, np.ndarray], chance: np.random.Generator
) -> dict[str, np.ndarray]:
    out = {name: array.copy() for name, array in arrays.items()}
    for _ in range(int(chance.integers(1, 4))):
        name = str(
            chance.choice(list(out)[:-1] if chance.random() < 0.9 else list(out))
        )  # `sizes`, the last, less often
        cells = out[name].reshape(-1).view(np.uint32 if chance.random() < 0.7 else np.uint64)
        many = len(cells) if chance.random() < 0.2 else int(chance.integers(1, 20))
        places = chance.integers(0, len(cells), many) if len(cells) else np.zeros(0, np.int64)
        what, top = chance.integers(0, 4), int(np.iinfo(cells.dtype).max)
        if what == 0:
            cells[places] = chance.integers(0, top, len(places), cells.dtype, endpoint=True)
        elif what == 1:
            cells[places] = np.array([one & top for one in EXTREME], cells.dtype)[
                chance.integers(0, len(EXTREME), len(places))
            ]
        elif what == 2:
            cells[places] ^= cells.dtype.type(1) << chance.integers(
                0, 8 * cells.itemsize, len(places)
            ).astype(cells.dtype)
        else:
            cells[places] = chance.integers(0, 1000, len(places)).astype(
                cells.dtype
            )  # numbers as they stand there
    return out


def proper(values: np.ndarray) -> bool:
    return bool((np.asarray(values) <= 0).all())  # a NaN is not


def asked(layout: Table | Trie, chance: np.random.Generator) -> None:
    tokens, odd = chance.integers(0, WORDS, 60), chance.integers(-(1 << 31), 1 << 31, 60)
    tokens = np.where(chance.random(60) < 0.8, tokens, odd).astype(np.int32)
    starts = np.array([0, 20, 20, 60])
    assert proper(layout.score(tokens, starts)) and proper(
        layout.score(tokens, starts, separately=True)
    )
    states = layout.start(8)
    states[4:] = chance.integers(-(1 << 31), 1 << 31, states[4:].shape)
    for at in range(0, 24, 8):
        found, states = layout.advance(states, tokens[at : at + 8])
        assert proper(found)
    assert proper(layout.following(states[0])) and proper(layout.following(states[7]))
    state = tuple(states[1].tolist())
    for word in tokens[:8].tolist():
        found, state = layout.one(state, word)
        assert proper(found)
    levels, smoothed = layout.levels()  # may be Unfit, all else was answered
    for below, level, weights in zip([None, *levels], levels, smoothed.levels):
        assert proper(weights.log_prob) and (weights.backoff < 99).all()
        assert (
            below is None
            or len(level) == 0
            or (level.context.max() < len(below) and level.suffix.max() < len(below))
        )


def fuzz(inputs: int, start: int) -> dict:
    seeds, slowest, failures = models(), 0.0, []
    tally = {"opened": 0, "refused": 0}
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        path, wholes = Path(folder) / "model.bin", []
        for kind, arrays in seeds:
            files.write(path, arrays, {"kind": kind.__name__})
            wholes.append(path.read_bytes())
            asked(kind.from_arrays(files.mapped(path)[0]), np.random.default_rng(0))  # compiles
        for number in range(start, start + inputs):
            chance = np.random.default_rng(number)
            which = int(chance.integers(0, len(seeds)))
            kind, arrays = seeds[which]
            began = time.perf_counter()
            try:
                path.unlink()
                if chance.random() < 0.5:
                    path.write_bytes(damaged_bytes(wholes[which], chance))
                else:
                    files.write(path, damaged_arrays(arrays, chance))
                tally["refused"] += 1
                layout = kind.from_arrays(files.mapped(path)[0])
                tally["refused"] -= 1
                tally["opened"] += 1
                asked(layout, chance)
            except Unfit as error:
                if not 0 < len(str(error)) < 300 or "\n" in str(error):
                    failures.append(f"{number}: {error}")
            except Exception as error:
                failures.append(f"{number}: {type(error).__name__}: {error}")
            slowest = max(slowest, time.perf_counter() - began)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown) / 1024
    return {
        "inputs": inputs,
        **tally,
        "failures": failures[:10],
        "slowest": slowest,
        "grown": grown,
    }


if __name__ == "__main__":
    print(json.dumps(fuzz(int(sys.argv[1]), int(sys.argv[2]))))
