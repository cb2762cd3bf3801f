"""A body maps N→N: body(x, mask, state=None, trace=None) → (y, mask, state).

x is (B, T, E) and y (B, T, H); the mask (B, T) is True at real positions, and None where all are real. A body may shorten T if it
returns the new mask. The state holds the batch in dimension 0."""

from torch import nn


class Body(nn.Module):
    causal = False  # no y_t depends on what comes after t: then a network can go on with a text, token by token
    carried = False  # the state after a text is where the next may begin, for ever
    cached = False  # the state is a Cache of keys and values (`cache(batch, longest)` makes an empty one)
    segmented = (
        False  # it is told which text of a pair every place stands in: body(…, segment=) (B, T)
    )
    packs = False  # it can be told how the rows of a batch lie end to end: body(…, packed=) (layers/packing.py)
    shortens = False  # asked for the `first` place alone, it gives y (B, 1, H), and computes no more than that takes
    stack: str | None = (
        None  # what its layers are called, which stand on one another, the lowest first; None: it is no stack
    )
    width: int  # of y
