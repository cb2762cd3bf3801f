"""The idx format of MNIST (LeCun et al. 1998): a magic number, the sizes, then bytes; labels in a second file."""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wenmai.data.files.columns import Format
from wenmai.data.files.opening import bare_name, unpacked
from wenmai.errors import Mistake
from wenmai.locale import Message

MOST = 1 << 26  # bytes of images in one chunk
PIECE = 1 << 20


def images(path: Path, source: str) -> Format:
    """An image file and the label file beside it."""
    labels = bare_name(path).replace("images", "labels").replace("idx3", "idx1")
    beside = next(
        (other for other in sorted(path.parent.iterdir()) if bare_name(other) == labels), None
    )
    if not beside:
        raise Mistake(
            "{file}: found no labels beside the images, expected {name} (or .gz); put it there.",
            file=source,
            name=labels,
        )
    with unpacked(path, source) as pixels, unpacked(beside, beside) as marks:
        count, height, width = _sizes(pixels, 3, source)
        (named,) = _sizes(marks, 1, beside)
        if named != count:
            raise Mistake(
                "{file}: found {images} images and {labels} labels in {other}, expected as many.",
                file=source,
                images=count,
                labels=named,
                other=beside.name,
            )
    if height * width > MOST:
        raise Mistake(
            "{file}: found images of {height}×{width}, expected at most {most:,} bytes; check that it is whole.",
            file=source,
            height=height,
            width=width,
            most=MOST,
        )

    few = (
        Message(
            "{file} is cut off: it announces {images} images and holds fewer; copy it again.",
            file=source,
            images=count,
        ),
        Message(
            "{file} is cut off: it announces {labels} labels and holds fewer; copy it again.",
            file=beside,
            labels=count,
        ),
    )

    def stream(size: int, positions: list[int]) -> Iterator[tuple[list, range]]:
        with unpacked(path, source) as pixels, unpacked(beside, beside) as marks:
            _sizes(pixels, 3, source)
            _sizes(marks, 1, beside)
            size = min(size, max(1, MOST // (height * width)))
            for start in range(0, count, size):
                rows = min(size, count - start)
                block = _read(pixels, rows * height * width, few[0])
                image = np.frombuffer(block, np.uint8).reshape(rows, height, width)  # (N, H, W)
                columns = image, list(map(str, _read(marks, rows, few[1])))
                yield (
                    [columns[position] for position in positions],
                    range(start + 1, start + 1 + rows),
                )
            _at_end(pixels, source)
            _at_end(marks, beside)

    return Format(
        ["image", "label"],
        [
            Message(
                "{images} idx images of {height}×{width}; labels from {file}.",
                images=count,
                height=height,
                width=width,
                file=beside.name,
            )
        ],
        stream,
    )


def _read(stream: BinaryIO, size: int, short: Message) -> bytes:
    """As many bytes, a piece at a time: a header may announce any number, and only what is there is to take memory."""
    pieces, left = [], size
    while left and (piece := stream.read(min(left, PIECE))):
        pieces.append(piece)
        left -= len(piece)
    if left:
        raise Mistake(short)
    return b"".join(pieces)


def _at_end(stream: BinaryIO, source) -> None:
    if stream.read(1):
        raise Mistake(
            "{file} holds more than it announces in its header; check that it is whole.",
            file=source,
        )


def _sizes(stream: BinaryIO, dimensions: int, source) -> list[int]:
    start = stream.read(4 + 4 * dimensions)
    sizes = [int.from_bytes(start[at : at + 4], "big") for at in range(4, len(start), 4)]
    if start[:4] != bytes([0, 0, 8, dimensions]) or len(sizes) < dimensions or not prod(sizes):
        raise Mistake(
            "{file}: found no idx header for {dimensions} dimensions of bytes; check that it is whole.",
            file=source,
            dimensions=dimensions,
        )
    return sizes
