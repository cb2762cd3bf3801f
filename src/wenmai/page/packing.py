"""Numbers as a page holds them: few as they are, more as float32, many as 8 bits each; deflated, in base64.

A tensor is packed slice by slice (a head each), so that a page unpacks what it shows and no more. 8 bits are a root, so that the
small weights of a long text are told apart from nothing:

    q = round(levels · √(|v| / top)) · sign v,  v ≈ top · (q / levels)²        top: the most of the slice

255 levels, 127 of them to either side where there are two; fewer, where the page would become larger than it may.
"""

import base64
import zlib

import numpy as np

from wenmai.page.panels_json import plain

FEW, MANY = (
    4096,
    400_000,
)  # numbers: up to the first they stand in the JSON as they are, beyond the second in 8 bits
ROOM = 13_000_000  # bytes of all tensors together, deflated: in base64 a third more
STEPS = (255, 95, 47, 23)  # levels to try, until there is room


class Packing:
    """Packs the arrays of one page. `finished` takes back levels where together they were too large."""

    def __init__(self, room: int = ROOM):
        self.room, self.many = room, []

    def __call__(self, name: str, array: np.ndarray) -> dict:
        array = np.asarray(array, np.float64 if array.dtype == np.float64 else np.float32)
        document = {"shape": list(array.shape)}
        if array.size <= FEW:
            return document | {"numbers": plain(array.ravel())}
        slices = array.reshape(
            -1, *(array.shape if array.ndim > 1 else (1, *array.shape))[-2:]
        ).astype(np.float32)
        if array.size <= MANY or not np.isfinite(array).all():
            return document | {"kind": "f4", "slices": [deflated(part) for part in slices]}
        self.many.append((document, slices))
        return document

    def finished(self) -> None:
        for levels in STEPS:
            packed = [eight_bits(slices, levels) for _, slices in self.many]
            if sum(len(part) for one in packed for part in one["slices"]) * 3 // 4 <= self.room:
                break
        for (document, _), one in zip(self.many, packed):
            document.update(one)


def eight_bits(slices: np.ndarray, levels: int) -> dict:
    signed = bool((slices < 0).any())
    levels = levels // 2 if signed else levels
    sizes = np.abs(slices) if signed else slices
    top = sizes.max((1, 2))  # (slices,)
    q = np.sqrt(sizes / np.where(top, top, 1)[:, None, None])
    q *= levels
    np.rint(q, out=q)
    kept = np.copysign(q, slices).astype(np.int8) if signed else q.astype(np.uint8)
    return {
        "kind": "i1" if signed else "u1",
        "levels": levels,
        "top": plain(top),
        "slices": [deflated(part) for part in kept],
    }


def restored(document: dict) -> np.ndarray:
    """The tensor again, as the page's script makes it."""
    if "numbers" in document:
        return np.array([np.nan if x is None else x for x in document["numbers"]]).reshape(
            document["shape"]
        )
    kinds = {"f4": "<f4", "u1": "u1", "i1": "i1"}
    raw = [
        np.frombuffer(zlib.decompress(base64.b64decode(part)), kinds[document["kind"]])
        for part in document["slices"]
    ]
    values = np.stack(raw).astype(np.float32)
    if document["kind"] != "f4":
        values = (
            np.sign(values)
            * np.array(document["top"], np.float32)[:, None]
            * (values / document["levels"]) ** 2
        )
    return values.reshape(document["shape"])


def deflated(part: np.ndarray) -> str:
    """Of weights in 8 bits hardly anything comes twice but for rows of nothing: to look for no more than these is four times as
    quick, and comes out smaller."""
    little = part.astype("<f4") if part.dtype == np.float32 else part
    way = zlib.Z_DEFAULT_STRATEGY if little.itemsize > 1 else zlib.Z_RLE
    packer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, way)
    return base64.b64encode(
        packer.compress(np.ascontiguousarray(little).tobytes()) + packer.flush()
    ).decode()
