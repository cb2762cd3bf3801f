"""Work that torch does, cut into parts, a thread and a core a part.

Threads that share a product wait for one another at its end, hundreds of times for every token that is written; parts that know
nothing of each other wait once."""

from collections.abc import Callable, Sequence
from concurrent.futures import wait

import torch

from wenmai.data.storage.threads import pool


def one_core_each(work: Callable, parts: Sequence) -> None:
    """work(part) of every part, the first here, the others in threads of their own; gradients, precision and inference mode as
    they are here."""
    if len(parts) == 1:
        work(parts[0])
        return
    threads, inference, gradients = (
        torch.get_num_threads(),
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
    )
    short, kind = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    def on_one_core(part) -> None:
        torch.set_num_threads(1)  # of this thread, and of those that are still to come
        with (
            torch.inference_mode(inference),
            torch.set_grad_enabled(gradients),
            torch.autocast("cpu", kind, enabled=short),
        ):
            work(part)

    others = []
    try:
        for part in parts[1:]:
            others.append(pool("wenmai-core", threads).submit(on_one_core, part))
        on_one_core(parts[0])
    except BaseException:
        for other in others:
            other.cancel()
        raise
    finally:
        wait(others)
        torch.set_num_threads(
            threads
        )  # after the others, who have said 1 of those that are to come
    for other in others:
        other.result()
