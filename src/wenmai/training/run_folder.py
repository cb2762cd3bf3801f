"""A run folder: all there is to know of one trained estimator. JSON and safetensors only; nothing in it is unpickled.

    run.json          rung, task, options, scores, seconds, what the data was, versions
    inputs.json       tokenizer and vocabulary, or the scaling of numbers
    weights.safetensors
    progress.jsonl    what training yielded, a line each
    kept-000000123.safetensors   weights after so many updates, where train --keep asked for some
    manifest.json     every file's size and checksum
    training/         while training goes on: what it takes to go on after a stop (checkpoints.py)

It is there whole, or not at all (folders.py)."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from safetensors import SafetensorError
from torch import nn
from torch.overrides import TorchFunctionMode

from wenmai import __version__
from wenmai.data.files.columns import short
from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake, typed
from wenmai.locale import Message, phrase
from wenmai.locale.theirs import Theirs
from wenmai.training import folders
from wenmai.training.progress import Progress

FORMAT = 3
CHECKPOINT, KEPT_WEIGHTS = re.compile(r"\d{9}"), re.compile(r"kept-\d{9}")
FILES = ("run.json", "inputs.json", "progress.jsonl", "weights.safetensors")


@dataclass
class SavedRun:
    path: Path
    about: dict
    inputs: dict
    progress: list[Progress]


def save(
    estimator,
    folder: Path,
    more: dict,
    training: bool = False,
    replace: bool = False,
    kept: Mapping[str, Path] = MappingProxyType({}),
) -> Path:
    """`training`: the run is what came of the training that stands in the folder, whose place it takes, and who calls holds its
    lock already. `replace`: as `check_place` has it. `kept`: files that go into it, by their names there."""
    # the run that it started from, and what was taken over
    start = (
        {"from": {name: value for name, value in estimator.start_.items() if name != "note"}}
        if estimator.start_
        else {}
    )
    about = {
        "format": FORMAT,
        "wenmai": __version__,
        "rung": estimator.rung,
        "options": estimator.options,
        "build": estimator.build_.to_json(),
        "task": estimator.task_.to_json(),
        "columns": estimator.columns_,
        "plan": estimator.plan_,
        **start,
        **more,
    }

    def fill(part: Path) -> None:
        write_json(part / "run.json", about)
        write_json(part / "inputs.json", estimator.inputs_.to_json())
        lines = (
            json.dumps(progress.to_json(), ensure_ascii=False) + "\n"
            for progress in estimator.progress_
        )
        write_text(part / "progress.jsonl", "".join(lines))
        model = estimator.model_
        if is_mapped(model):
            arrays.write(part / "weights.safetensors", model.state() | words_of(estimator.inputs_))
        elif isinstance(model, nn.Module):
            tensors = {name: value.numpy(force=True) for name, value in model.state_dict().items()}
            write_arrays(part / "weights.safetensors", tensors | words_of(estimator.inputs_))
        else:
            write_arrays(part / "weights.safetensors", model.state())
        for name, file in kept.items():
            shutil.copyfile(file, part / name)

    with nullcontext() if training else folders.only_one(folder):
        check_place(folder, more, training, replace)
        folders.write(folder, fill)
    return folder


def weights_of(model) -> dict[str, np.ndarray] | None:
    """All that it has learned so far; None where that is nothing, or where it is no more than a file that is read."""
    if isinstance(model, nn.Module):
        return {name: value.numpy(force=True) for name, value in model.state_dict().items()}
    named = (
        {}
        if is_mapped(model)
        else model.state()
        if getattr(getattr(model, "z", None), "weights", None) is not None
        else {}
    )
    return named or None


def is_mapped(model) -> bool:
    """Whether it is read from its file as it is used, and not before: it may be larger than memory."""
    return getattr(model, "mapped", False)


def words_of(inputs) -> dict[str, np.ndarray]:
    """Of inputs that keep their words in arrays, since there may be millions of them."""
    return inputs.arrays() if hasattr(inputs, "arrays") else {}


def write_arrays(path: Path, named: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save_file

    path.touch()
    mode = path.stat().st_mode  # as the user's umask has it; safetensors puts a private file there
    save_file({name: np.ascontiguousarray(array) for name, array in named.items()}, path)
    path.chmod(mode)


def check_place(folder: Path, about: dict, training: bool = False, replace: bool = False) -> None:
    """A run can be written there: asked before training too, lest its work be lost. Only what is known to be ours is ever
    replaced: a run, and nothing beside it. A training that was not finished is only by who goes on with it (`training`), and a
    run of another data set than `about` names not at all, unless the user says so (`replace`)."""
    if folder.exists() and not folder.is_dir():
        raise Mistake(
            "{folder} is a file, where a run folder is to be written; choose another --out.",
            folder=folder,
        )
    if folder.exists() and (strange := not_ours(folder)):
        raise Mistake(
            "{folder} holds {name}, which is no part of a run, and is left as it is; choose another --out.",
            folder=folder,
            name=short(strange),
        )
    if not training and not replace and unfinished(folder):
        raise Mistake(
            "{folder} holds a training that was not finished: go on with wenmai train --resume {place}, replace it "
            "with --replace, or choose another --out.",
            folder=folder,
            place=typed(folder),
        )
    if not training and not replace and (known := other_data(folder, about)):
        raise Mistake(
            "{folder} holds a run of other data ({data}); replace it with --replace, or choose another --out.",
            folder=folder,
            data=short(known, 200),
        )
    folder.parent.mkdir(parents=True, exist_ok=True)


def other_data(folder: Path, about: dict) -> str | None:
    """What the run that stands there was trained on, where it says so and that is something else. The same file is the same
    data, also where its rows have changed since."""
    try:
        known = take.json_in(folder / "run.json")
        data, digest = known.get("data"), known.get("fingerprint")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    same = data == about.get("data") or (digest is not None and digest == about.get("fingerprint"))
    return None if data is None or same else str(data)


def unfinished(folder: Path) -> bool:
    """Whether there is a training to go on with; one that was killed before it stood there whole is none."""
    return (folder / "training" / "start").is_dir()


def not_ours(folder: Path) -> str | None:
    """The name of something in the folder that no run of ours put there; None where there is no such thing. What a run
    put there is named by its manifest, and so is the start of a training."""
    known = folders.named_in(folder) if (folder / "run.json").is_file() else set()
    for path in sorted(folder.iterdir()):
        if path.name == "training" and path.is_dir() and not path.is_symlink():
            if strange := not_of_training(path):
                return f"training/{strange}"
        elif path.name not in known or path.is_symlink() or not path.is_file():
            return path.name
    return None


def not_of_training(folder: Path) -> str | None:
    for path in sorted(folder.iterdir()):
        known = (
            path.name == "start"
            or CHECKPOINT.fullmatch(path.name)
            or KEPT_WEIGHTS.fullmatch(path.name)
        )
        if not (known and folders.holds_named(path)) and not folders.is_half_written(path):
            return path.name
    return None


def write_json(path: Path, value) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, default=plain) + "\n")


def write_text(path: Path, text: str) -> None:
    """A half character (a lone surrogate), which UTF-8 does not know, is written as the escape that JSON reads back."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def plain(value):
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def read(folder: Path) -> SavedRun:
    if not (folder / "run.json").is_file() and (folder / "training").is_dir():
        raise Mistake(
            "{folder} holds a training that was not finished; go on with wenmai train --resume {place}.",
            folder=folder,
            place=typed(folder),
        )
    if not (folder / "run.json").is_file():
        raise Mistake(
            "{folder} is not a run folder (it has no run.json); wenmai train makes one.",
            folder=folder,
        )
    with understood(folder / "run.json") as path:
        about = take.json_in(path)
        if take.value(about, "format") != FORMAT:
            raise Mistake(
                "{file}: trained by another version of wenmai (format {actual}, here {expected}); train it again.",
                file=path,
                actual=take.summary(about["format"]),
                expected=FORMAT,
            )
    folders.check(folder, *FILES)
    with understood(folder / "inputs.json") as path:
        inputs = take.json_in(path)
    with understood(folder / "progress.jsonl") as path:
        progress = [
            Progress.from_json(json.loads(line))
            for line in take.plain_file(path).decode("utf-8").splitlines()
        ]
    return SavedRun(folder, about, inputs, progress)


def columns_of(runs: Sequence[str | Path]) -> dict[str, str]:
    """Those that the first of these runs was trained on; a run that cannot be read is told of when it is loaded."""
    with suppress(Mistake):
        return take.columns(read(Path(runs[0])).about) if runs else {}
    return {}


@contextmanager
def understood(path: Path):
    """Inside, whatever is wrong comes of what this file holds, and is said so."""
    try:
        yield path
    except Mistake as mistake:
        if str(path.parent) in mistake.english:
            raise
        raise Mistake("{file}: {note}", file=path, note=mistake.message) from None
    except FileNotFoundError:
        raise Mistake(
            "{reason}: the run folder is damaged; train it again.",
            reason=Message("{file} is missing", file=path),
        ) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        SafetensorError,
    ) as error:
        reason = Message(
            "{file} is not as it was written ({error})", file=path, error=what_is_wrong(error)
        )
        raise Mistake(
            "{reason}: the run folder is damaged; train it again.", reason=reason
        ) from None


def load_weights(build: Callable, layers: int, saved: SavedRun, device: str):
    """The model that `build` makes, with the weights of the run. A network is made without weights first and compared with what
    the file announces, lest a size that was damaged fill the memory; of its layers each has weights of its own."""
    from safetensors import safe_open
    from safetensors.numpy import load_file as load_arrays

    path = saved.path / "weights.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
            kinds = {
                name: (slice_.get_dtype(), tuple(slice_.get_shape()) or (1,))
                for name, slice_ in slices.items()
                if not name.startswith("words.")
            }
        if layers > len(kinds):
            raise take.Unfit(
                "found {count} arrays for {layers} layers",
                count=len(kinds),
                layers=take.summary(layers),
            )
        with torch.device("meta"):
            model = build()
        if is_mapped(model):
            model.load(arrays.mapped(path)[0])
            return model
        if not isinstance(model, nn.Module):
            named = load_arrays(path)
            check_numbers(
                path,
                (
                    (name, array.dtype.kind != "f" or not np.isnan(array).any())
                    for name, array in named.items()
                ),
            )
            model.load(named)
            return model
        expected = {
            name: (KINDS.get(value.dtype), tuple(value.shape) or (1,))
            for name, value in model.state_dict().items()
        }
        for name in sorted(expected.keys() | kinds.keys()):
            if expected.get(name) != kinds.get(name):
                raise take.Unfit(
                    "{name}: found {array1}, expected {array2}",
                    name=short(name),
                    array1=in_words(kinds.get(name)),
                    array2=in_words(expected.get(name)),
                )
        with Undrawn():
            model = build().to(device)
        with safe_open(path, framework="pt", device=device) as file, torch.no_grad():
            for name, value in model.state_dict().items():  # one by one, lest all stand there twice
                value.copy_(file.get_tensor(name))
        check_numbers(
            path,
            ((name, bool(value.isfinite().all())) for name, value in model.state_dict().items()),
        )
        return model.eval()
    except FileNotFoundError:
        raise Mistake(
            "{reason}: the run folder is damaged; train it again.",
            reason=Message("{file} is missing", file=path),
        ) from None
    except (SafetensorError, take.Unfit, RuntimeError, KeyError, OverflowError) as error:
        what = (
            error.message
            if isinstance(error, take.Unfit)
            else short(str(error).splitlines()[0], 200)
        )
        raise Mistake(
            "{file} does not fit run.json ({error}); train it again.", file=path, error=what
        ) from None


class Undrawn(TorchFunctionMode):
    """Inside, no weights are drawn by chance: a file has them all."""

    DRAWN = (torch.Tensor.uniform_, torch.Tensor.normal_)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return args[0] if function in self.DRAWN else function(*args, **(kwargs or {}))


def check_numbers(path: Path, named: Iterable[tuple[str, bool]]) -> None:
    for name, good in named:
        if not good:
            raise Mistake(
                "{file}: {name} holds weights that are no numbers (NaN or infinite), and would answer nothing else; "
                "train it again, with a lower learning rate.",
                file=path,
                name=short(name),
            )


KINDS = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}


def in_words(kind: tuple | None) -> str:
    return f"{kind[0]} of {' × '.join(map(str, kind[1]))}" if kind else phrase("array", "nothing")


def what_is_wrong(error: Exception) -> str:
    """With what was read, in a few words."""
    if isinstance(error, take.Unfit):
        return error.message
    ours = None
    if isinstance(error, json.JSONDecodeError):
        ours = Message(
            "no JSON at line {line}, character {column}: {reason}",
            line=error.lineno,
            column=error.colno,
            reason=Theirs(error.msg),
        )
    elif isinstance(error, UnicodeDecodeError):
        ours = Message("no text in UTF-8")
    return Theirs(short(f"{type(error).__name__}: {error}", 200).splitlines()[0], ours)
