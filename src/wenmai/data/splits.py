"""Splitting rows by seed and group: no input stands on both sides."""

from __future__ import annotations

import hashlib

import numpy as np


def split(inputs, shares: list[float], seed: int, targets=None) -> list[np.ndarray]:
    """Row numbers of the first part (what the shares leave) and of one part for every share.

    Equal inputs go to the same part. With `targets`, every class keeps at least one group in the first part.
    """
    groups = groups_of(inputs)
    count = int(groups.max(initial=-1)) + 1
    order = np.random.default_rng(seed).permutation(count)
    part_of = np.zeros(count, np.int64)
    start = 0
    for part, share in enumerate(shares, 1):
        size = min(max(1, round(share * count)), count - start - 1) if share else 0
        part_of[order[start : start + size]] = part
        start += size
    parts = part_of[groups]
    if targets is not None:
        targets = np.asarray(targets)
        for label in set(targets.tolist()) - set(targets[parts == 0].tolist()):
            parts[np.isin(groups, groups[np.flatnonzero(targets == label)[0]])] = 0
    return [np.flatnonzero(parts == part) for part in range(len(shares) + 1)]


def groups_of(inputs) -> np.ndarray:
    """For every row the number of its group: rows with equal inputs share one."""
    if isinstance(inputs, np.ndarray):
        keys = [hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest() for row in inputs]
    else:
        keys = [tuple(value) if isinstance(value, list) else value for value in inputs]
    number: dict = {}
    return np.fromiter((number.setdefault(key, len(number)) for key in keys), np.int64, len(keys))
