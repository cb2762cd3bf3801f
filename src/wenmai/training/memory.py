"""Memory: what there is, what a training will need, and what to do when a batch does not fit.

weights      each with its gradient and the optimizer's moments; as the best, as the last good state, and in a checkpoint
one batch    what the forward pass keeps for the backward pass, measured on the longest row, and as much again
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from warnings import warn

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.errors import Mistake, Notice

MOMENTS = {"lazy-adamw": 2, "adamw": 2, "sgd": 1, "asgd": 1}  # of every weight; the mean is one too
USED = 0.9  # of the free memory, at the most


def free(device: str) -> int | None:
    """Bytes that may still be used there; None where the system does not say."""
    if device.startswith("cuda"):
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    limits = [size for size in (system(), container()) if size is not None]
    return min(limits) // int(os.environ.get("LOCAL_WORLD_SIZE", 1)) if limits else None


def system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(
            int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")
        )
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def container(place: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a control group still allows."""
    try:
        most, used = (int((place / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = next(
            int(line.split()[1])
            for line in (place / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file")
        )
        return most - used + kept
    except (OSError, ValueError, StopIteration):
        return None


def give_back() -> None:
    """Pages that lie unused between blocks in use go back to the system, where its C library can: batches of ever other shapes
    leave hundreds of megabytes of them."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def check_weights(count: int, optimizer: str, device: str, parts: int) -> None:
    """Whether so many weights can be trained here; asked before the first of them is made."""
    there, needed = free(device), count * bytes_each(optimizer, parts)
    if there is not None and needed > USED * there:
        raise Mistake(
            "these options make {count:,} weights, which take {needed} to train (each {bytes} bytes with gradient, "
            "moments and the states that are kept), and {free} are free on {device}; choose smaller ones, such as "
            "hidden, embed or layers.",
            count=count,
            needed=size(needed),
            bytes=bytes_each(optimizer, parts),
            free=size(there),
            device=device,
        )


def check_table(features: int, columns: int) -> None:
    """The same for the table of a linear rung, which holds a weight and a sum or a copy of it."""
    there, needed = free("cpu"), features * columns * 8
    if there is not None and needed > USED * there:
        raise Mistake(
            "{features:,} features of {columns:,} outputs take {needed}, and {free} are free on cpu; keep fewer "
            "features with --set min_documents=…, or fewer classes.",
            features=features,
            columns=columns,
            needed=size(needed),
            free=size(there),
        )


def bytes_each(optimizer: str, parts: int = 1) -> int:
    """Of a weight: itself, its gradient, its moments; the best; the last good one with its moments; and those once more while a
    checkpoint is written. In `parts`, all but one whole copy is shared among the processes."""
    moments = MOMENTS[optimizer]
    shared = 4 * (2 + moments + 1 + 2 * (1 + moments))
    return shared if parts == 1 else 4 + shared // parts


def micro_batches_of(row: int, rows: int, weights: int, device: str, tokens: int) -> int:
    """Into how many pieces a batch of so many rows is cut, where a row takes `row` bytes and the weights the rest."""
    there = free(device)
    if there is None:
        return 1
    room = USED * there - weights
    if row > room:
        raise Mistake(
            "the longest row ({tokens:,} tokens) takes {needed} to learn from, and {left} are left on {device} "
            "beside the weights; cut rows with --set max_length=…, or choose a smaller model.",
            tokens=tokens,
            needed=size(row),
            left=size(max(0, int(room))),
            device=device,
        )
    count = 1
    while row * -(-rows // count) > room:
        count *= 2
    return count


def kept_for_backward(network: nn.Module, loss) -> int:
    """Bytes that calling `loss` keeps until its backward pass, weights apart."""
    weights = {p.untyped_storage().data_ptr() for p in network.parameters()}
    sizes: dict[int, int] = {}

    def count(value: Tensor) -> Tensor:
        if (
            value.layout == torch.strided
            and (place := value.untyped_storage().data_ptr()) not in weights
        ):
            sizes[place] = value.untyped_storage().nbytes()
        return value.detach()  # a result that its own node held would never be freed

    with torch.autograd.graph.saved_tensors_hooks(count, lambda value: value):
        kept = loss()  # noqa: F841 (what it holds must stay, or its memory would be counted once for several)
    return sum(sizes.values())


def exhausted(error: BaseException) -> bool:
    """Whether this is what torch and NumPy say when memory is at its end."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in str(error) or "not enough memory" in str(error)
    )


def size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.1f} MB"


def in_pieces(
    batches: list[np.ndarray], outputs: Callable, device: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, their outputs) of all batches; one that does not fit into memory is halved until it does."""
    waiting = batches[::-1]
    while waiting:
        rows, made = waiting.pop(), None
        try:
            made = outputs(rows)
        except (RuntimeError, MemoryError) as error:
            if not exhausted(error):
                raise
            if len(rows) == 1:
                raise Mistake(
                    "one row does not fit into the memory of {device}; use a machine with more.",
                    device=device,
                ) from None
        if made is None:
            note = Notice(
                "a batch does not fit into the memory of {device}; it is answered in pieces.",
                device=device,
            )
            warn(note, stacklevel=4)
            half = len(rows) // 2
            waiting += [rows[half:], rows[:half]]
        else:
            yield rows, made
