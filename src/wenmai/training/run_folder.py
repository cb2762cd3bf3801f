"""A run folder: all there is to know of one trained estimator. JSON and safetensors only; nothing in it is unpickled.

    run.json          rung, task, options, scores, seconds, what the data was, versions
    inputs.json       tokenizer and vocabulary, or the scaling of numbers
    weights.safetensors
    progress.jsonl    what training yielded, a line each

The folder is written beside its place under another name and then renamed: it is there whole, or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import nn

from wenmai import __version__
from wenmai.errors import Mistake
from wenmai.training.progress import Progress

FORMAT = 1


@dataclass
class SavedRun:
    path: Path
    about: dict
    inputs: dict
    progress: list[Progress]


def save(estimator, folder: Path, more: dict) -> Path:
    from safetensors.numpy import save_file as save_arrays
    from safetensors.torch import save_file as save_tensors

    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    about = {"format": FORMAT, "wenmai": __version__, "rung": estimator.rung, "options": estimator.options,
             "task": estimator.task_.to_json(), **more}  # fmt: skip
    write_json(part / "run.json", about)
    write_json(part / "inputs.json", estimator.inputs_.to_json())
    lines = (json.dumps(asdict(progress), ensure_ascii=False) + "\n" for progress in estimator.progress_)
    write_text(part / "progress.jsonl", "".join(lines))
    if isinstance(estimator.model_, nn.Module):
        save_tensors({k: v.contiguous() for k, v in estimator.model_.state_dict().items()}, part / "weights.safetensors")
    else:
        arrays = {name: np.ascontiguousarray(array) for name, array in estimator.model_.state().items()}
        save_arrays(arrays, part / "weights.safetensors")
    for file in part.iterdir():
        with open(file, "rb") as written:
            os.fsync(written.fileno())
    part.chmod(0o755)
    replace(part, folder)
    return folder


def replace(part: Path, folder: Path) -> None:
    """Put `part` in the place of `folder`; an older run there is moved away first and removed last."""
    old = None
    if folder.exists():
        if any(folder.iterdir()) and not (folder / "run.json").exists():
            shutil.rmtree(part)
            raise Mistake(f"{folder} holds something that is not a run; choose another --out.")
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        folder.rename(old / "run")
    part.rename(folder)
    if old:
        shutil.rmtree(old)


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
    if not (folder / "run.json").is_file():
        raise Mistake(f"{folder} is not a run folder (it has no run.json); wenmai train makes one.")
    about = read_json(folder / "run.json")
    if about.get("format") != FORMAT:
        raise Mistake(f"{folder / 'run.json'}: format {about.get('format')!r}, expected {FORMAT}; use the wenmai that made it.")
    inputs = read_json(folder / "inputs.json")
    progress = [Progress(**json.loads(line)) for line in read_text(folder / "progress.jsonl").splitlines()]
    return SavedRun(folder, about, inputs, progress)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Mistake(f"{path} is missing: the run folder is damaged; train it again.") from None


def read_json(path: Path) -> dict:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise Mistake(f"{path}, line {error.lineno}: {error.msg}; the run folder is damaged, train it again.") from None


def load_weights(model, saved: SavedRun, device: str) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file as load_arrays
    from safetensors.torch import load_file as load_tensors

    path = saved.path / "weights.safetensors"
    try:
        if isinstance(model, nn.Module):
            model.load_state_dict(load_tensors(path, device=device))
            model.to(device).eval()
        else:
            model.load(load_arrays(path))
    except FileNotFoundError:
        raise Mistake(f"{path} is missing: the run folder is damaged; train it again.") from None
    except (SafetensorError, RuntimeError, KeyError) as error:
        raise Mistake(f"{path} does not fit run.json ({str(error).splitlines()[0]}); train it again.") from None
