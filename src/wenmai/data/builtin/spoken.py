"""spoken-digits: strings of one to six digits, spoken by a program (espeak-ng, of the package espeakng-loader), English or
Chinese.

Synthetic speech: clean, and far more regular than people. Every voice is a variant of espeak-ng, and no two parts of the data
share one. The program remembers what it has spoken, so that a set is made by a process of its own, always the same; it is kept in
the user's cache."""

import ctypes
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from wenmai.data.builtin.packages import module
from wenmai.data.files.readers import Chunk
from wenmai.data.files.sounds import Clip, Clips
from wenmai.data.storage import caches
from wenmai.errors import Mistake, unknown

ROWS, SEED, RATE, VERSION = 800, 2026, 8000, "1"
VARIANTS = (
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "m6",
    "m7",
    "m8",
    "f1",
    "f2",
    "f3",
    "f4",
    "f5",
    "klatt",
    "klatt2",
    "klatt3",
    "adam",
    "belinda",
    "steph",
    "max",
)
LANGUAGES = {
    "en": (
        ("en-us", "en-gb-x-rp", "en-029"),
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
        " ",
    ),
    "zh": (("cmn",), list("零一二三四五六七八九"), ""),
}
MAKE = "import sys, pathlib; from wenmai.data.builtin.spoken import make; make(pathlib.Path(sys.argv[1]), sys.argv[2])"
SYNCHRONOUS, UTF8, SPEED, PITCH = 2, 1, 1, 3  # espeak-ng's own numbers


def spoken_digits(*, spoken_digits: str = "en") -> Chunk:
    """800 strings of digits in English (en) or Chinese (zh), each with the voice that says it."""
    if spoken_digits not in LANGUAGES:
        raise unknown("language", spoken_digits, LANGUAGES)
    folder = made_once(spoken_digits)
    lines = (folder / "rows.tsv").read_text(encoding="utf-8").splitlines()
    clips, texts = [], []
    for line in lines:
        name, voice, text = line.split("\t")
        clip = Clip.of(folder / name)
        clip.voice = voice
        clips.append(clip)
        texts.append(text)
    return Chunk({"audio": Clips(clips), "text": texts}, range(1, len(texts) + 1))


def made_once(language: str) -> Path:
    """The folder that holds the set, whole; made where there is none."""
    module("espeakng_loader", "spoken-digits")
    module("soundfile", "spoken-digits")
    kept = caches.own_folder() or Path(tempfile.mkdtemp(prefix="wenmai-"))
    folder = kept / f"spoken-digits-{language}-{VERSION}"
    if (folder / "rows.tsv").is_file():
        return folder
    with tempfile.TemporaryDirectory(dir=kept) as part:
        made = Path(part) / "made"
        made.mkdir()
        command = [sys.executable, "-c", MAKE, str(made), language]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not (made / "rows.tsv").is_file():
            raise Mistake(
                "spoken-digits could not be made: espeak-ng ended with status {status}; run pip install "
                "--force-reinstall 'wenmai[spoken]'.",
                status=done.returncode,
            )
        try:
            os.replace(made, folder)
        except OSError:
            if not (folder / "rows.tsv").is_file():  # another process was not faster
                raise
    return folder


# In the process that makes it


class Speaker:
    """espeak-ng: a text becomes samples."""

    def __init__(self):
        import espeakng_loader

        self.library, self.samples = ctypes.CDLL(espeakng_loader.get_library_path()), []
        self.rate = self.library.espeak_Initialize(
            SYNCHRONOUS, 0, str(espeakng_loader.get_data_path()).encode(), 0
        )
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
        )
        self.callback = kind(self.take)
        self.library.espeak_SetSynthCallback(self.callback)

    def take(self, samples, count: int, events) -> int:
        if samples and count > 0:
            self.samples.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def say(self, text: str, voice: str, speed: int, pitch: int) -> np.ndarray:
        if self.library.espeak_SetVoiceByName(voice.encode()):
            raise SystemExit(f"no voice {voice}")
        self.library.espeak_SetParameter(SPEED, speed, 0)
        self.library.espeak_SetParameter(PITCH, pitch, 0)
        self.samples, data = [], text.encode() + b"\0"
        self.library.espeak_Synth(data, ctypes.c_size_t(len(data)), 0, 1, 0, UTF8, None, None)
        self.library.espeak_Synchronize()
        return np.concatenate(self.samples).astype(np.float32) / 32768


def make(folder: Path, language: str) -> None:
    import soundfile

    from wenmai.data.sound.resampling import (
        resampled,
    )  # it loads torch, which a list of what is built in does not need

    (accents, names, between), chance, speaker, rows = (
        LANGUAGES[language],
        random.Random(SEED),
        Speaker(),
        [],
    )
    for row in range(ROWS):
        digits = [chance.randrange(10) for _ in range(chance.randint(1, 6))]
        variant = VARIANTS[row % len(VARIANTS)]
        sentence = (", " if chance.random() < 0.3 else " ").join(names[digit] for digit in digits)
        samples = speaker.say(
            sentence,
            f"{chance.choice(accents)}+{variant}",
            chance.randint(130, 190),
            chance.randint(35, 65),
        )
        samples = resampled(samples, speaker.rate, RATE)
        soundfile.write(folder / f"{row}.flac", np.clip(samples, -1, 1), RATE)
        rows.append(f"{row}.flac\t{variant}\t{between.join(names[digit] for digit in digits)}")
    (folder / "rows.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
