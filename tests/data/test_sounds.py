"""Sounds: features as librosa and Kaldi have them, resampling, files of every kind, and what is wrong with them in a sentence."""

import struct
import sys

import numpy as np
import pytest

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.files.sounds import Clip, Clips
from wenmai.data.inputs import kinds
from wenmai.data.inputs import sounds as kind_of_sounds
from wenmai.data.inputs.sounds import Sounds
from wenmai.data.sound.features import FeatureStream, LogMel
from wenmai.data.sound.resampling import Resampler, resampled
from wenmai.errors import Mistake

soundfile = pytest.importorskip("soundfile")
RATE = 8000


def a_sound(
    seconds: float = 0.5, rate: int = RATE, pitch: float = 440.0, seed: int = 0
) -> np.ndarray:
    t = np.arange(int(seconds * rate)) / rate
    return (
        0.3 * np.sin(2 * np.pi * pitch * t) + 0.05 * np.random.default_rng(seed).normal(size=len(t))
    ).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("mels", [40, 64])
def test_features_are_those_of_librosa(rate, mels):
    librosa, samples = pytest.importorskip("librosa"), a_sound(1.0, rate)
    theirs = librosa.feature.melspectrogram(
        y=samples, sr=rate, n_fft=rate // 40, hop_length=rate // 100, center=False, n_mels=mels
    )
    ours = LogMel(rate, mels)(samples).numpy()
    np.testing.assert_allclose(ours, np.log(np.maximum(theirs.T, 1e-8)), atol=1e-4)


@pytest.mark.parametrize("mels", [23, 80])
def test_with_kaldis_settings_features_are_those_of_kaldi(mels):
    kaldi, samples = pytest.importorskip("kaldi_native_fbank"), a_sound(1.0, 16000)
    options = kaldi.FbankOptions()
    options.frame_opts.dither, options.mel_opts.num_bins = 0, mels
    stream = kaldi.OnlineFbank(options)
    stream.accept_waveform(16000, samples.tolist())
    stream.input_finished()
    theirs = np.stack([stream.get_frame(at) for at in range(stream.num_frames_ready)])
    np.testing.assert_allclose(LogMel(16000, mels, "kaldi")(samples).numpy(), theirs, atol=1e-3)


@pytest.mark.parametrize(
    ("rate", "wanted"),
    [(44100, 16000), (8000, 16000), (16000, 8000), (22050, 16000), (11025, 8000)],
)
def test_a_tone_is_the_same_tone_at_another_rate(rate, wanted):
    tone = np.sin(2 * np.pi * 440 * np.arange(rate) / rate).astype(np.float32)
    made = resampled(tone, rate, wanted)
    assert len(made) == wanted
    np.testing.assert_allclose(
        made[300:-300], np.sin(2 * np.pi * 440 * np.arange(wanted) / wanted)[300:-300], atol=1e-4
    )


def test_what_the_new_rate_cannot_hold_is_gone_as_scipy_has_it():
    from scipy.signal import resample_poly

    noise = np.random.default_rng(0).normal(size=16000).astype(np.float32)
    ours, theirs = (
        np.abs(np.fft.rfft(made))
        for made in (resampled(noise, 16000, 8000), resample_poly(noise, 1, 2))
    )
    np.testing.assert_allclose(
        ours[:3200], theirs[:3200], rtol=0.1, atol=2
    )  # below 3.2 kHz both keep all
    high = np.sin(2 * np.pi * 6000 * np.arange(16000) / 16000).astype(np.float32)
    assert np.abs(resampled(high, 16000, 8000)[300:-300]).max() < 1e-3


def test_pieces_give_what_the_whole_gives():
    samples, resampler, features = a_sound(0.7, 11025), Resampler(11025, 8000), LogMel(8000)
    stream, parts = FeatureStream(features), []
    for part in np.array_split(samples, 23):
        parts.append(stream.push(resampler.push(part)))
    parts.append(stream.push(resampler.finish()))
    whole = features(resampled(samples, 11025, 8000)).numpy()
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-4)


# Files


@pytest.mark.parametrize(
    ("suffix", "subtype", "within"),
    [
        ("wav", "PCM_16", 1e-3),
        ("wav", "PCM_U8", 0.02),
        ("wav", "FLOAT", 1e-6),
        ("wav", "DOUBLE", 1e-6),
        ("wav", "PCM_24", 1e-5),
        ("flac", "PCM_16", 1e-3),
        ("ogg", "VORBIS", 0.2),
    ],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_every_kind_of_file_gives_its_samples_mixed_down(
    suffix, subtype, within, channels, tmp_path
):
    samples = a_sound()
    soundfile.write(tmp_path / f"a.{suffix}", np.column_stack([samples] * channels), RATE, subtype)
    clip = Clip.of(tmp_path / f"a.{suffix}")
    assert (clip.rate, clip.frames, clip.silent) == (RATE, len(samples), False)
    read = np.concatenate(list(clip.blocks()))
    np.testing.assert_allclose(read, samples, atol=within)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("format", ["WAV", "WAVEX"])
def test_plain_wav_is_read_with_nothing_installed_as_libsndfile_reads_it(
    subtype, format, tmp_path, monkeypatch
):
    soundfile.write(
        tmp_path / "a.wav",
        np.column_stack([a_sound(seed=0), a_sound(seed=1)]),
        RATE,
        subtype,
        format=format,
    )
    theirs = soundfile.read(tmp_path / "a.wav", dtype="float32")[0].mean(1)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    np.testing.assert_allclose(
        np.concatenate(list(Clip.of(tmp_path / "a.wav").blocks())), theirs, atol=1e-7
    )
    (tmp_path / "a.flac").write_bytes(b"fLaC....")
    with pytest.raises(Mistake, match="needs the package soundfile"):
        Clip.of(tmp_path / "a.flac")


def test_an_ogg_without_its_last_page_is_cut_off(tmp_path):
    soundfile.write(tmp_path / "a.ogg", a_sound(3.0), RATE)
    whole = (tmp_path / "a.ogg").read_bytes()
    (tmp_path / "b.ogg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Mistake, match="is cut off: its last page is missing"):
        Clip.of(tmp_path / "b.ogg")


@pytest.mark.slow
def test_an_hour_is_read_some_seconds_at_a_time(tmp_path, monkeypatch):
    with soundfile.SoundFile(tmp_path / "long.wav", "w", RATE, 1) as file:
        for second in range(120):
            file.write(a_sound(30.0, seed=second % 3))
    clip = Clip.of(tmp_path / "long.wav")
    assert clip.seconds == 3600 and max(map(len, clip.blocks())) <= 1 << 18
    inputs = Sounds.learn(Clips([clip]))
    monkeypatch.setattr(kind_of_sounds, "LARGE", 1 << 20)
    rows = inputs.encode(Clips([clip]))
    assert isinstance(rows.flat, np.memmap) and rows.lengths.tolist() == [inputs.steps(clip)]
    monkeypatch.undo()
    np.testing.assert_array_equal(rows[0][:500], inputs.encode(Clips([clip]))[0][:500])


def wav(data: bytes, announced: int | None = None, bits: int = 16) -> bytes:
    size = len(data) if announced is None else announced
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * bits // 8, bits // 8, bits)
    length = struct.pack("<I", min(36 + size, 0xFFFFFFFF))
    return (
        b"RIFF"
        + length
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + form
        + b"data"
        + struct.pack("<I", size)
        + data
    )


SAMPLES = (a_sound() * 32767).astype("<i2").tobytes()
BAD = {
    "missing.wav": (None, "there is no such file"),
    "empty.wav": (b"", "is empty: found 0 bytes"),
    "cut.wav": (
        wav(SAMPLES)[:-3000],
        "is cut off, or its header lies: it announces 0.50 s and holds 0.31 s",
    ),
    "lies.wav": (wav(SAMPLES, len(SAMPLES) * 100), "it announces 50.00 s and holds 0.50 s"),
    "text.wav": (b"this is no sound at all, but a letter\n" * 20, "cannot be read as sound"),
    "header.wav": (wav(b""), "has a header and no sound behind it"),
    "page.flac": (b"fLaC" + b"\0" * 500, "cannot be read as sound"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_with_a_file_is_said(name, tmp_path):
    data, said = BAD[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(Mistake, match=said) as refused:
        Clip.of(tmp_path / name, "m.csv, line 3")
    assert "m.csv, line 3" in str(refused.value) and name in str(refused.value)


def test_a_flac_that_was_cut_off_is_refused(tmp_path):
    soundfile.write(tmp_path / "a.flac", np.random.default_rng(0).normal(size=40_000) * 0.1, RATE)
    data = (tmp_path / "a.flac").read_bytes()
    (tmp_path / "b.flac").write_bytes(data[: len(data) // 2])
    with pytest.raises(Mistake, match=r"is cut off, or its header lies|cannot be read as sound"):
        Clip.of(tmp_path / "b.flac")


def test_samples_that_are_no_numbers_are_refused(tmp_path):
    samples = a_sound()
    samples[2000] = np.nan
    soundfile.write(tmp_path / "a.wav", samples, RATE, "FLOAT")
    with pytest.raises(Mistake, match="holds samples that are no finite numbers"):
        Clip.of(tmp_path / "a.wav")


def test_a_header_that_does_not_know_how_long_it_is_is_read_to_the_end(tmp_path):
    (tmp_path / "piped.wav").write_bytes(wav(SAMPLES, 0xFFFFFFFF))
    assert Clip.of(tmp_path / "piped.wav").frames == len(SAMPLES) // 2


def test_silence_and_ten_milliseconds_are_frames_of_finite_numbers(tmp_path):
    clips = Clips.of(
        [(a_sound(), RATE), (np.zeros(RATE), RATE), (a_sound(0.01), RATE), (np.full(1, 0.5), RATE)]
    )
    inputs = Sounds.learn(clips)
    rows = inputs.encode(clips)
    assert (
        np.isfinite(rows.flat).all()
        and (rows.lengths > 0).all()
        and rows.lengths.tolist() == [inputs.steps(c) for c in clips]
    )
    assert [clip.silent for clip in clips] == [False, True, False, False]
    assert any("1 of the 4 sounds are silent" in str(note) for note in inputs.notes(clips))


@pytest.mark.parametrize(
    "value",
    [5, ("a",), (np.zeros(0), RATE), (np.array([np.nan]), RATE), (np.zeros(9), 1), "", None],
)
def test_what_is_no_sound_is_refused(value):
    with pytest.raises(Mistake):
        Clips.of([value])


# Manifests


def written(folder, names) -> None:
    for row, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        soundfile.write(folder / name, a_sound(0.3, pitch=200 + 50 * row, seed=row), RATE)


@pytest.mark.parametrize(
    ("file", "lines", "task"),
    [
        ("m.csv", ["audio,text", *(f"s/{row}.wav,one two" for row in range(6))], "transcribe"),
        ("m.csv", ["audio,label", *(f"s/{row}.wav,{row % 2}" for row in range(6))], "classify"),
        (
            "m.jsonl",
            [f'{{"audio": "s/{row}.wav", "text": "one"}}' for row in range(6)],
            "transcribe",
        ),
        ("s/labels.csv", ["audio,text", *(f"{row}.wav,one two" for row in range(6))], "transcribe"),
        ("s/labels.csv", ["file,label", *(f"{row}.wav,{row % 2}" for row in range(6))], "classify"),
    ],
)
def test_manifests_say_their_task(file, lines, task, tmp_path):
    written(tmp_path, [f"s/{row}.wav" for row in range(6)])
    (tmp_path / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = open_dataset(str(tmp_path / (file if "/" not in file else "s")), TASKS)
    assert data.task.name == task and isinstance(data.train.inputs, Clips) and len(data.train) == 6


def test_a_folder_a_label(tmp_path):
    written(tmp_path, [f"{label}/{row}.wav" for label in ("cat", "dog") for row in range(3)])
    data = open_dataset(str(tmp_path), TASKS)
    assert data.task.name == "classify" and sorted(set(data.train.targets)) == ["cat", "dog"]


def test_bad_rows_are_counted_and_skipped_where_that_is_asked(tmp_path):
    written(tmp_path, [f"{row}.wav" for row in range(4)])
    (tmp_path / "cut.wav").write_bytes(BAD["cut.wav"][0])
    (tmp_path / "m.csv").write_text(
        "audio,text\n0.wav,a\n1.wav,b\ncut.wav,c\n2.wav,a\nnone.wav,d\n3.wav,\n", encoding="utf-8"
    )
    with pytest.raises(
        Mistake, match=r"m\.csv, line 4.*cut off.*Of the 6 rows, 3 cannot be read; --skip-bad"
    ):
        open_dataset(str(tmp_path / "m.csv"), TASKS)
    data = open_dataset(str(tmp_path / "m.csv"), TASKS, skip_bad=True)
    assert data.train.targets == ["a", "b", "a"] and any(
        "left out 3 of the 6 rows" in str(note) for note in data.notes
    )


def test_equal_sounds_stay_on_one_side(tmp_path):
    written(tmp_path, ["a.wav", "b.wav"])
    (tmp_path / "c.wav").write_bytes((tmp_path / "a.wav").read_bytes())
    assert Clip.of(tmp_path / "a.wav") == Clip.of(tmp_path / "c.wav") != Clip.of(tmp_path / "b.wav")


def test_json_and_back():
    clips = Clips.of([(a_sound(0.3, seed=seed), RATE) for seed in range(3)])
    inputs = kinds.learn(clips, mels=20, stack=3, normalise="corpus", speed=0.1)
    again = kinds.from_json(inputs.to_json())
    assert isinstance(again, Sounds) and again.to_json() == inputs.to_json()
    np.testing.assert_array_equal(again.encode(clips).flat, inputs.encode(clips).flat)
    flat = inputs.encode(clips).flat.reshape(-1, 20)
    np.testing.assert_allclose(flat.mean(0), 0, atol=0.1)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.wav", b"", "is empty: found 0 bytes, expected a sound"),
        ("a.WAV", wav(SAMPLES), "is a sound, expected a table"),
        ("a.flac", b"", "expected a sound"),
        ("a.png", b"", "is empty: found 0 bytes, expected a picture"),
    ],
)
def test_a_sound_or_a_picture_by_itself_is_no_table(name, data, said, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(Mistake, match=said) as refused:
        open_dataset(str(tmp_path / name), TASKS)
    assert "line of text" not in str(refused.value)


TAGS = b"LIST" + struct.pack("<I", 12) + b"INFOISFT\0\0\0\0"


@pytest.mark.parametrize(
    ("behind", "unread"),
    [
        (b"", 0),
        (TAGS, 0),
        (TAGS + b"\0", 0),
        (b"\0" * 6, 0),
        (SAMPLES[:3200], 0.2),
        (b"id3 " + struct.pack("<I", 99) + SAMPLES[:92], 0.1 / 16),
    ],
)
def test_what_stands_behind_the_announced_samples_is_said(behind, unread, tmp_path):
    for name, data in {"a": wav(SAMPLES), "b": wav(SAMPLES + behind, len(SAMPLES))}.items():
        (tmp_path / f"{name}.wav").write_bytes(data)
    clips = Clips.of([tmp_path / "a.wav", tmp_path / "b.wav"])
    assert clips[0] == clips[1] and clips[1].unread == pytest.approx(
        unread
    )  # no more is read than is announced
    notes = [str(note) for note in Sounds.learn(clips).notes(clips)]
    assert [note for note in notes if "more than their headers announce" in note] == [
        f"1 of the 2 sounds hold more than their headers announce, which is all that is read; the first: {tmp_path / 'b.wav'}, "
        f"0.50 s announced and {unread:.2f} s behind them"
    ] * bool(unread)
