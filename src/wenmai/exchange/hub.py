"""Checkpoints by the name that they have on the Hugging Face hub: fetched once, and then a folder like any other.

    wenmai import google-bert/bert-base-chinese        OWNER/MODEL; a branch, tag or commit may follow: OWNER/MODEL@REVISION

Only what is read is fetched: config.json, the safetensors, the files of the tokenizer. They lie in the user's own cache folder,
under the name, and who has them never asks the network again. A file that was cut off goes on where it ended, be it days later;
each is compared with the checksum that the hub gives it, and the folder takes its place when all of them are there."""

import errno
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from wenmai.data.files.columns import short
from wenmai.data.storage import caches
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.exchange.tokenizer_files import read_json, understood
from wenmai.locale import Listed, Message
from wenmai.locale.theirs import Theirs
from wenmai.training import folders

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
SMALL = (CONFIG, "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
FILES = (
    ".arpa",
    ".lm",
    ".txt",
    ".gz",
    ".xz",
    ".zst",
    ".json",
    ".safetensors",
    ".bin",
)  # endings of what is no name of a model
OURS = ("runs", "reports")  # folders that commands write to
OF_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)


def is_name(source: str) -> bool:
    """Whether it can be a model of the hub: of two words, the first of which is no folder here."""
    if not NAME.fullmatch(source) or source.endswith(FILES):
        return False
    owner = source.split("/")[0]
    return owner not in OURS and not Path(owner).is_dir()


def downloaded(name: str, say: Callable[[Message], None]) -> Path:
    """The folder of a model: the one that was fetched before, or one that is fetched now, of which it is said."""
    own = caches.own_folder()
    if own is None:
        raise Mistake(
            "{name} would be kept in a cache folder of your own, and there is none; set XDG_CACHE_HOME to a folder "
            "that nobody else may write to.",
            name=name,
        )
    repository, _, revision = name.partition("@")
    place = own / "hub" / name.replace("/", "--")
    if whole(place):
        return place
    with folders.only_one(place), reached(name, place.parent):
        if not whole(place):
            fetch(name, repository, revision or None, place, say)
    return place


def whole(place: Path) -> bool:
    """Whether it is there as it was fetched; what was damaged since is fetched again."""
    if not place.is_dir():
        return False
    with suppress(folders.Damaged):
        folders.check(place, CONFIG)
        return True
    return False


@contextmanager
def reached(name: str, cache: Path) -> Iterator[None]:
    """Inside, the hub is asked; whatever keeps it from answering, or the cache from taking it, is told."""
    try:
        from huggingface_hub import errors
    except ImportError:
        raise Mistake(
            "{name} is no folder here; to fetch it from the hub, run pip install wenmai[hub].",
            name=name,
        ) from None
    try:
        yield
    except Mistake:
        raise
    except errors.GatedRepoError:
        raise Mistake(
            "{name} is given to those who have agreed to its terms: do so on its page, then log in with hf auth login.",
            name=name,
        ) from None
    except errors.RepositoryNotFoundError:
        raise Mistake(
            "{name} is no folder here, and the hub has no model of this name that you may see; check the name.",
            name=name,
        ) from None
    except errors.RevisionNotFoundError:
        raise Mistake(
            "{name}: the hub has the model, and no branch, tag or commit of this name; check what follows the @.",
            name=name,
        ) from None
    except Exception as error:  # of every kind that a network has
        if isinstance(error, OSError) and error.errno in OF_DISK:
            raise Mistake(
                "{folder} cannot be written ({why}): make room there, or set XDG_CACHE_HOME to a folder of yours that "
                "has some, and say it again; it goes on where it stopped.",
                folder=cache,
                why=Theirs(error.strerror or error),
            ) from None
        why = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise Mistake(
            "{name} is no folder here, and could not be fetched from the hub ({why}); see to the network and say it "
            "again, it goes on where it stopped; or fetch it elsewhere, and name the folder.",
            name=name,
            why=Theirs(short(why, 200)),
        ) from None


def fetch(
    name: str, repository: str, revision: str | None, place: Path, say: Callable[[Message], None]
) -> None:
    from huggingface_hub import HfApi

    with quiet():
        about = HfApi().model_info(repository, revision=revision)
        there, held = (
            {one.rfilename for one in about.siblings or ()},
            place.with_name(f"{place.name}.unfinished"),
        )
        if CONFIG not in there:
            raise Mistake(
                "{name} has no {file} on the hub: it is no model of transformers.",
                name=name,
                file=CONFIG,
            )
        held.mkdir(parents=True, exist_ok=True)
        say(
            Message(
                "fetching {name} from the hub; it will be kept in {folder}", name=name, folder=place
            )
        )
        files = {one: received(repository, about.sha, one, held) for one in SMALL if one in there}
        for one in weights(name, repository, about.sha, there, held):
            files[one] = received(repository, about.sha, one, held)
    folders.write(
        place, lambda folder: [os.replace(file, folder / one) for one, file in files.items()]
    )
    shutil.rmtree(held, ignore_errors=True)


def weights(name: str, repository: str, commit: str, there: set[str], held: Path) -> list[str]:
    """Of one file, or of several and the index that names them."""
    if WEIGHTS in there:
        return [WEIGHTS]
    if INDEX not in there:
        packed = sorted(one for one in there if one.endswith((".bin", ".h5", ".msgpack", ".ckpt")))
        raise Mistake(
            "{name} has no {file} on the hub (found: {actual}); where you trust it, load it with transformers, write "
            "it with model.save_pretrained, and name that folder.",
            name=name,
            file=WEIGHTS,
            actual=Listed(packed[:5]) if packed else Message("no weights"),
        )
    index = received(repository, commit, INDEX, held)
    with understood(Path(name, INDEX)):
        shards = {str(shard) for shard in take.value(read_json(index), "weight_map").values()}
        for shard in sorted(shards):
            if shard not in there or Path(shard).name != shard:
                raise take.Unfit("it names {name}, which the hub does not have", name=short(shard))
    return [INDEX, *sorted(shards)]


def received(repository: str, commit: str, file: str, held: Path) -> Path:
    """The file, under its checksum: so a part of it is gone on with only where it is a part of the same."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    url = hf_hub_url(repository, file, revision=commit)
    about = get_hf_file_metadata(url)
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", about.etag or ""):
        raise Mistake(
            "the hub gives no checksum of {file}, and what cannot be checked is not taken.",
            file=file,
        )
    done, part = held / about.etag, held / f"{about.etag}.part"
    if done.is_file():
        return done
    headers = build_hf_headers()
    if (
        urlsplit(about.location).netloc != urlsplit(url).netloc
    ):  # a store elsewhere, which needs no token
        headers.pop("authorization", None)
    with open(part, "ab") as stream:
        http_get(
            about.location,
            stream,
            resume_size=stream.tell(),
            headers=headers,
            expected_size=about.size,
            displayed_filename=file,
        )
    if digest(part, about.etag) != about.etag:
        part.unlink()
        raise Mistake(
            "{file} came otherwise than the hub has it (its checksum differs), and was thrown away; say it again.",
            file=file,
        )
    os.replace(part, done)
    return done


def digest(file: Path, like: str) -> str:
    """As the hub counts it: sha256 of a large file, git's sha1 of a small one."""
    made = (
        hashlib.sha256()
        if len(like) == 64
        else hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
    )
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            made.update(block)
    return made.hexdigest()


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, the library warns of nothing, and shows how far it is on terminals only."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
        logging,
    )

    level, off = logging.get_verbosity(), are_progress_bars_disabled()
    logging.set_verbosity_error()
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if not off:
            enable_progress_bars()
