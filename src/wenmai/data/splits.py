"""Splitting rows by seed and group: no input stands on both sides. Of each input only a hash is kept."""

import hashlib

import numpy as np

from wenmai.data.values import numbered


def split(
    inputs, shares: list[float], seed: int, classes=None, groups: np.ndarray | None = None
) -> list[np.ndarray]:
    """Row numbers of the first part (what the shares leave) and of one part for every share.

    Equal inputs go to the same part. With `classes`, every class keeps at least one group in the first part. `groups` may
    be given where they are known.
    """
    groups = groups_of(inputs) if groups is None else groups
    count = int(groups.max(initial=-1)) + 1
    order = np.random.default_rng(seed).permutation(count)
    part_of = np.zeros(count, np.int64)
    start = 0
    for part, share in enumerate(shares, 1):
        size = min(max(1, round(share * count)), count - start - 1) if share else 0
        part_of[order[start : start + size]] = part
        start += size
    parts = part_of[groups]
    if classes is not None:
        distinct, which = numbered(classes)
        for label in np.flatnonzero(np.bincount(which[parts == 0], minlength=len(distinct)) == 0):
            parts[groups == groups[np.flatnonzero(which == label)[0]]] = 0
    return [np.flatnonzero(parts == part) for part in range(len(shares) + 1)]


def split_by_position(count: int, shares: list[float], before: int) -> list[np.ndarray]:
    """Row numbers of a series in time: the parts follow one another, and each begins with the last `before` rows of the
    one ahead of it, which it looks back on."""
    sizes = [max(1, round(share * count)) if share else 0 for share in shares]
    ends = np.cumsum([count - sum(sizes), *sizes])
    starts = [0, *(max(0, end - before) for end in ends[:-1])]
    return [
        np.arange(start, end) if size else np.arange(0)
        for start, end, size in zip(starts, ends, [1, *sizes])
    ]


def groups_of(inputs) -> np.ndarray:
    """For every row the number of its group, in order of appearance: rows with equal inputs share one."""
    keys = keys_of(inputs)
    order = np.argsort(keys, kind="stable")  # equal ones side by side, the first of them first
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    del keys
    number = np.zeros(len(order), np.int64)
    number[order[starts]] = 1
    np.cumsum(number, out=number)  # of groups that began, up to each row
    groups = np.empty(len(order), np.int64)
    groups[order] = np.repeat(number[order[starts]] - 1, np.diff(np.append(starts, len(order))))
    return groups


def keys_of(inputs) -> np.ndarray:
    """A number of 64 bits for every input; equal inputs have equal ones."""
    digests = (hashlib.blake2b(as_bytes(value), digest_size=8).digest() for value in inputs)
    return np.fromiter(
        (int.from_bytes(digest, "little") for digest in digests), np.uint64, len(inputs)
    )


def as_bytes(value) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, np.ndarray):
        return repr(value.shape).encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, (list, tuple)):  # a pair of texts, or tokens
        return "\x1f".join(map(str, value)).encode("utf-8", "surrogatepass")
    return repr(value).encode()  # what no reader gives, and what is refused later


def shared(first, second) -> np.ndarray:
    """For every row of the second, whether its input stands in the first too."""
    return np.isin(keys_of(second), keys_of(first))
