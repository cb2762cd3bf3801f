"""Inputs as JSON has them → inputs as a run reads them, by the same readers that files go through.

    "a text"                                a text, a label, a source: whatever the run reads as one text
    ["first", "second"]                     two texts, of a run that reads two; [5.1, 3.5] numbers, [[…], […]] frames
    {"context": …, "question": …}           columns by their names: those of training, or the words that Wenmai knows
    {"image": "iVBORw0KGgo…"}               a PNG or JPG in base64
    {"audio": "UklGRiQAAABXQVZF…"}          a WAV, FLAC or OGG file in base64; never a path

What has to be unpacked (`is_unpacked`) takes a while, and is read beside the event loop."""

import base64
import binascii
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wenmai.data.files.images import image_of
from wenmai.data.files.readers import Chunk
from wenmai.data.files.sounds import Clip, Clips, sound_file
from wenmai.errors import Mistake
from wenmai.locale import Listed, Message
from wenmai.serving.limits import Limits
from wenmai.serving.refusals import too_large

QUESTIONS = (["context", "question"], ["context", "question", "choices"], ["story", "question"])
PACKED = ("image", "audio")  # columns that hold files; the request's limit is theirs
UNPACKED = [[name] for name in PACKED]
SOURCE = "inputs"  # what stands for a file's name in sentences


def read(estimator, values: Sequence, limits: Limits):
    """Inputs of the run's kind: a list, an array, or Sequences."""
    task, names = estimator.task_, fields_of(estimator)
    for row, value in enumerate(values):
        if names not in UNPACKED and (size := characters(value)) > limits.characters:
            raise too_large(
                Message(
                    "input {row} has {size:,} characters, and may have {most:,}; cut it into several.",
                    row=row + 1,
                    size=size,
                    most=limits.characters,
                )
            )
    rows = [as_columns(value, names, estimator, row) for row, value in enumerate(values)]
    chunk = Chunk({name: [row[name] for row in rows] for name in names}, range(1, len(rows) + 1))
    if "tokens" in chunk.columns and all(
        isinstance(value, str) for value in chunk.columns["tokens"]
    ):
        chunk.columns["text"] = chunk.columns.pop("tokens")  # which the run cuts itself
    if "image" in chunk.columns:
        shape = getattr(estimator.inputs_, "source", estimator.inputs_).shape
        chunk.columns["image"] = np.stack(
            [image_in(value, shape, row) for row, value in enumerate(chunk.columns["image"])]
        )
    if "audio" in chunk.columns:
        chunk.columns["audio"] = Clips(
            [sound_in(value, row, limits) for row, value in enumerate(chunk.columns["audio"])]
        )
    return task.inputs_of(chunk, SOURCE)


def is_unpacked(estimator) -> bool:
    return any(name in PACKED for name in fields_of(estimator))


def fields_of(estimator) -> list[str]:
    """The columns that an input has, as the task knows them."""
    return names_of(estimator.task_, estimator.inputs_.kind, estimator.inputs_, estimator.columns_)


def names_of(task, kind: str, inputs, columns: dict) -> list[str]:
    source = getattr(inputs, "source", inputs)
    asked = [names for names in QUESTIONS if not columns and task.fits([*names, "answer"])]
    if asked:
        return asked[0]
    if getattr(task, "pairs", False) or (
        kind == "tokens" and getattr(source, "pairs", False) is True
    ):
        return ["text_a", "text_b"]
    right = () if task.history else (task.target, f"{task.target}s", "answers", "start")
    names = [name for name in columns if name not in right]
    if names:
        return names
    if hasattr(source, "rate"):
        return ["audio"]
    if kind == "image":
        return ["image"]
    if kind == "frames":
        return ["inputs"]
    if kind == "numbers":
        return [str(number) for number in range(source.width)]
    return {"labels": ["label"]}.get(kind) or (["source"] if task.two_texts else ["text"])


def as_columns(value, names: list[str], estimator, row: int) -> dict:
    if isinstance(value, dict):
        own = {str(estimator.columns_.get(name, name)).lower(): name for name in names}
        known = {own.get(str(key).lower(), str(key)): part for key, part in value.items()}
        missing = [name for name in names if name not in known]
        if missing:
            raise Mistake(
                "input {row} lacks {names}; expected are {expected}.",
                row=row + 1,
                names=Listed(missing),
                expected=Listed(names),
            )
        return known
    if (
        isinstance(value, list | tuple)
        and len(value) == len(names)
        and (len(names) > 1 or estimator.inputs_.kind == "numbers")
    ):
        return dict(zip(names, value))
    if len(names) == 1:
        return {names[0]: value}
    raise Mistake(
        "input {row}: expected an object with {names}, or a list of so many values.",
        row=row + 1,
        names=Listed(names),
    )


def image_in(value, shape: tuple[int, ...], row: int) -> np.ndarray:
    where = Message("input {row}", row=row + 1)
    data = decoded(value)
    if data is None:
        raise Mistake("{where}: expected an image as PNG or JPG in base64.", where=where)
    return image_of(data, shape, where)


def sound_in(value, row: int, limits: Limits) -> Clip:
    """A file that a client sent, checked as any other, and held in memory."""
    where = Message("input {row}", row=row + 1)
    data = decoded(value)
    if not data:
        raise Mistake("{where}: expected a sound as WAV, FLAC or OGG in base64.", where=where)
    with tempfile.TemporaryDirectory(prefix="wenmai-sound-") as folder:
        file = Path(folder) / "sound"
        file.write_bytes(data)
        with sound_file(str(file), where) as sound:
            if sound.frames > limits.sound * sound.samplerate:
                raise too_large(
                    Message(
                        "{where}: a sound may be {most:g} seconds long; cut it into several.",
                        where=where,
                        most=limits.sound,
                    )
                )
        clip = Clip.of(file, where)
        return Clip.of((np.concatenate(list(clip.blocks())), clip.rate), where)


def decoded(value) -> bytes | None:
    """Base64, with the head of a data: URL or without; None if it is not that."""
    try:
        return base64.b64decode(
            value.partition(",")[2] if value.startswith("data:") else value, validate=True
        )
    except (AttributeError, ValueError, binascii.Error):
        return None


def characters(value, most: int = 1 << 22) -> int:
    """Of a text, or of all that are in it; a number counts as eight. Images and sounds have a limit of their own."""
    total, left = 0, [value]
    while left and total < most:
        part = left.pop()
        if isinstance(part, str):
            total += len(part)
        elif isinstance(part, dict):
            left += [value for key, value in part.items() if key not in PACKED]
            total += sum(len(str(key)) for key in part)
        elif isinstance(part, list | tuple):
            left += part
        else:
            total += 8
    return total


def blank_apart(estimator, inputs) -> tuple[list[int], object]:
    """(the rows that the model is asked about, their inputs): a task may have an answer of its own for a blank text."""
    if estimator.task_.profile.blank_answer is None or not isinstance(inputs, list):
        return list(range(len(inputs))), inputs
    rows = [row for row, text in enumerate(inputs) if not isinstance(text, str) or text.strip()]
    return rows, [inputs[row] for row in rows]
