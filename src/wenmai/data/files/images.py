"""Manifests: a table whose column `image` holds paths of PNG or JPG files, which are decoded as they are read."""

import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from wenmai.data.files.columns import short
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs

GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16L", "I;16B", "I;16N")
MOST = 1 << 26  # bytes of images in one chunk
PIXELS = 1 << 25  # of an image
# Pixels that a byte can stand for: of JPEG a block of 8 × 8 takes a bit at least; PNG is packed 1032 times at the most, a pixel
# may be a bit. Where bytes are missing, decoders make up pixels, without a word.
DENSEST = {"JPEG": 512, "PNG": 8 * 1032}
NO_FILES = ContextVar(
    "no_files", default=False
)  # whether paths in a table are refused: it came from somebody elsewhere
Stream = Callable[[int], Iterator[tuple[list, object]]]


def decoded(stream: Stream, at: int, folder: Path, source: str) -> tuple[list[str], Stream]:
    """Notes, and the stream with images where its column `at` has paths, relative to the folder; without paths, as it is.

    All images are as the first one: grey or coloured, and of its size.
    """
    first = next(stream(1), None)
    path = first[0][at][0] if first else None
    if not isinstance(path, str):
        return [], stream
    start = _load_image(folder, path, Message("{file}, line {line}", file=source, line=first[1][0]))
    grey, height, width = start.mode in GREY, start.height, start.width
    shape = (height, width) if grey else (height, width, 3)

    def images(size: int):
        total, most = 0, memory() // 2
        for values, lines in stream(min(size, max(1, MOST // int(np.prod(shape))))):
            total += len(lines) * int(np.prod(shape))
            if total > most:
                raise Mistake(
                    "{file}, line {line}: the images up to here take {total:.1f} GB, more than half of the memory; "
                    "make them smaller, or give fewer.",
                    file=source,
                    line=int(lines[-1]),
                    total=total / 1e9,
                )
            block = np.empty((len(lines), *shape), np.uint8)  # (N, H, W) or (N, H, W, 3)
            for row, (path, line) in enumerate(zip(values[at], lines)):
                where = Message("{file}, line {line}", file=source, line=line)
                block[row] = _pixels(_load_image(folder, path, where), grey, height, width)
            yield [*values[:at], block, *values[at + 1 :]], lines

    note = Message(
        "Images are {colour}, {height}×{width}, as the first one is; others are scaled to that size.",
        colour=Message("grey") if grey else Message("coloured"),
        height=height,
        width=width,
    )
    return [note], images


def memory() -> int:
    """Bytes that this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 33


def read_images(paths: list[str], shape: tuple[int, ...]) -> np.ndarray:
    """(N, H, W) or (N, H, W, 3), as the shape of one says; an image of another size is refused."""
    pixels = np.empty((len(paths), *shape), np.uint8)
    for row, path in enumerate(paths):
        if not Path(path).expanduser().is_file():
            raise Mistake(
                "this run reads images: {path!r} is no file; give the path of a PNG or JPG, or many with --file.",
                path=path,
            )
        image = _load_image(Path(), path, Message("input {row}", row=row + 1))
        pixels[row] = _of_shape(image, shape, path)
    return pixels


def image_of(data: bytes, shape: tuple[int, ...], where: str) -> np.ndarray:
    """(H, W) or (H, W, 3): the same of the bytes of a PNG or JPG file."""
    return _of_shape(_loaded(io.BytesIO(data), len(data), "", where), shape, where)


def _of_shape(image, shape: tuple[int, ...], name: str) -> np.ndarray:
    if (image.height, image.width) != shape[:2]:
        size, expected = f"{image.height}×{image.width}", f"{shape[0]}×{shape[1]}"
        raise Mistake(
            "{file}: found an image of {size} points, expected {wanted_size} as in training; scale it.",
            file=name,
            size=size,
            wanted_size=expected,
        )
    return _pixels(image, len(shape) == 2, *shape[:2])


def _load_image(folder: Path, path: object, where: str):
    """An image, read to its end and turned as its EXIF orientation says."""
    if NO_FILES.get():
        raise Mistake(
            "{where}: the table names files of images, which are not read for others; train on it where the images "
            "are, with wenmai train.",
            where=where,
        )
    if not path or not isinstance(path, str):
        raise Mistake(
            "{where}: found no image, expected the path of a PNG or JPG file; add it or remove the line.",
            where=where,
        )
    return _loaded(folder / Path(path).expanduser(), None, path, where, folder)


def _loaded(file, size: int | None, path: str, where: str, folder: Path = Path()):
    """`file`: its path, or an open one of so many bytes."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=("PNG", "JPEG")) as image:
                if image.width * image.height > PIXELS:
                    raise Image.DecompressionBombError
                if image.width * image.height > DENSEST[image.format] * (
                    file.stat().st_size if size is None else size
                ):
                    raise ValueError("fewer bytes than its pixels take")
                image.load()
                loaded = ImageOps.exif_transpose(image)
                if loaded.mode == "P" and "transparency" in loaded.info:
                    loaded = loaded.convert("RGBA")
            if image.format == "PNG":  # its checksums are looked at only where somebody asks
                with Image.open(file, formats=("PNG",)) as image:
                    image.verify()
            return loaded
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        picture, do = Message("more pixels than are safe to decode"), Message("make it smaller")
    except FileNotFoundError:
        picture, do = (
            Message("no such file"),
            Message("check the path, which is taken from {folder}", folder=folder),
        )
    except Image.UnidentifiedImageError:
        picture, do = Message("something else"), Message("save it as PNG or JPG")
    except (
        Exception
    ) as error:  # Pillow raises what its decoders happen to: OSError, SyntaxError, struct.error, …
        why = Theirs(getattr(error, "strerror", None) or short(str(error), 60))
        picture, do = (
            Message("something that cannot be decoded ({why})", why=why),
            Message("copy or save it again"),
        )
    raise Mistake(
        "{where}: the image {path}: found {picture}, expected a whole PNG or JPG file; {picture_do}, or remove the "
        "line.",
        where=where,
        path=short(path, 200),
        picture=picture,
        picture_do=do,
    )


def _pixels(image, grey: bool, height: int, width: int) -> np.ndarray:
    from PIL import Image

    if image.mode.startswith(
        "I"
    ):  # 16 bits a pixel, which Pillow would cut off at 255 instead of scaling
        deep = np.asarray(image)
        image = Image.fromarray(
            (deep // 257 if deep.max(initial=0) > 255 or image.mode != "I" else deep).astype(
                np.uint8
            )
        )
    image = image.convert("L" if grey else "RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image)
