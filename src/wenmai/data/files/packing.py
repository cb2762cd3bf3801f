"""Files that are written, packed as their names end."""

import gzip
import lzma
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from wenmai.data.files.opening import extra
from wenmai.errors import Mistake
from wenmai.locale.theirs import Theirs


@contextmanager
def packed(path: Path) -> Iterator[BinaryIO]:
    """A file to be written, packed as its name ends; it stands there whole, or not at all. Devices, pipes and links stay such."""
    suffix, path = path.suffix.lower(), path.resolve()
    special = path.exists() and not path.is_file()
    part = path if special else path.with_name(f".{path.name}.part.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix == ".zst":
            stream = extra("zstandard", path).open(part, "wb")
        else:
            stream = {".gz": gzip.open, ".xz": lzma.open}.get(suffix, open)(part, "wb")
        with stream:
            yield stream
        if not special:
            part.replace(path)
    except OSError as error:
        raise Mistake(
            "{folder} cannot be written ({why}); make room or choose another place.",
            folder=path,
            why=Theirs(error.strerror or error),
        ) from None
    finally:
        if not special:
            part.unlink(missing_ok=True)
