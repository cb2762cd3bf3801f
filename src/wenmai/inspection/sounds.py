"""Sounds: the spectrogram that is read, and beside it which step says which letter.

spectrogram   x_m(t), band by band (data/sound/features.py), as the network reads it: its mean taken off
alignment     γ_t(n): of all paths of CTC that say the text, the share in which step t says its n-th token (layers/ctc.py)
words         when each word begins and ends, on the most probable path
"""

from __future__ import annotations

import numpy as np
import torch

from wenmai.data.files.sounds import Clip
from wenmai.inspection.reading import Reading
from wenmai.layers.ctc import least_frames, occupation
from wenmai.locale import Message, phrase
from wenmai.page.panels import Matrix, Panel, Table
from wenmai.tasks.transcripts import Search, aligner, decoded, never_unknown, words_of

LONGEST = 1500  # steps that are shown


def panels(reading: Reading) -> list[Panel]:
    if not isinstance(reading.value, Clip) or not reading.network:
        return []
    frames = reading.batch.inputs[0][reading.batch.mask[0]].cpu().numpy()  # (T, stack · mels)
    sounds, notes = reading.source, []
    if len(frames) > LONGEST:
        notes.append(
            Message(
                "the first {shown:,} of {steps:,} steps are shown", shown=LONGEST, steps=len(frames)
            )
        )
    times = [f"{sounds.step * at:.2f}" for at in range(min(LONGEST, len(frames)))]
    bands = (
        frames[:LONGEST].reshape(len(times), sounds.stack, sounds.mels).mean(1).T[::-1]
    )  # (mels, T), high ones above
    caption = Message(
        "A column is {step:.0f} ms, a row a band of frequency, the highest above: red where it is louder than "
        "usual in that band, green where it is quieter.",
        step=1000 * sounds.step,
    )
    heard = Matrix(
        "spectrogram",
        Message("The sound, as it is read"),
        caption,
        bands,
        [str(band) for band in range(sounds.mels, 0, -1)],
        times,
        scale="signed",
        notes=notes,
    )
    return [heard, *aligned(reading, times, notes)]


def aligned(reading: Reading, times: list[str], notes: list[Message]) -> list[Panel]:
    """Of a network that says a token a step."""
    head = aligner(reading.model)
    if head is None:
        return []
    with torch.inference_mode():
        if reading.written is None:
            log_probs = reading.outputs[0][reading.mask[0]]
        else:
            outputs, mask = reading.model.aligned(reading.batch)
            log_probs = outputs[0][mask[0]]
    log_probs = never_unknown(reading.trained, log_probs.cpu().numpy())
    if reading.written is None:
        tokens = decoded(reading.trained, log_probs, Search()).tokens
    else:
        written = reading.batch.target[0][reading.batch.target_mask[0]].cpu().tolist()
        tokens = [token for token in written if token != head.end]
    if not tokens or len(log_probs) < least_frames(np.asarray(tokens)):
        return []
    names = [reading.inputs.target.text([token]) or "␣" for token in tokens]
    names = ["␣" if not name.strip() else name for name in names]
    shares = occupation(log_probs, tokens, head.blank).T[:, : len(times)]  # (n, T)
    words = [
        [word["word"], word["start"], word["end"]]
        for word in words_of(reading.trained, log_probs, tokens)
    ]
    return [
        Matrix(
            "alignment",
            Message("Which step says which letter"),
            Message(
                "A row is a letter of “{text}”, a column a step: coloured where the step says it. Where a column is "
                "empty, it says nothing.",
                text=reading.inputs.target.text(tokens),
            ),
            shares,
            names,
            times,
            notes=notes,
        ),
        Table(
            "times",
            Message("When each word is said"),
            Message("In seconds, on the most probable path."),
            [phrase("column", "word"), phrase("column", "begins"), phrase("column", "ends")],
            words,
        ),
    ]
