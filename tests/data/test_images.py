"""Manifests: what was drawn is seen, and what cannot be is said."""

import csv
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from wenmai.data.files import images
from wenmai.data.files.readers import read
from wenmai.errors import Mistake

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def draw(path, pixels, **options):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(path, **options)


def manifest(folder, name, rows):
    path = folder / name
    if name.endswith(".parquet"):
        parquet.write_table(
            arrow.table({"image": [a for a, _ in rows], "label": [b for _, b in rows]}), path
        )
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps({"image": a, "label": b}) + "\n" for a, b in rows))
    else:
        with open(path, "w", newline="") as out:
            csv.writer(out, delimiter="\t" if name.endswith("tsv") else ",").writerows(
                [("image", "label"), *rows]
            )
    return str(path)


def mistake(path):
    with pytest.raises(Mistake) as caught:
        read(path).load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9)),
    colour=st.booleans(),
    seed=st.integers(0, 99),
    size=st.integers(1, 6),
)
def test_png(tmp_path, name, shape, colour, seed, size):
    pixels = np.random.default_rng(seed).integers(
        0, 256, (*shape, 3) if colour else shape, np.uint8
    )
    for row, image in enumerate(pixels):
        draw(tmp_path / "png" / f"{row}.png", image)
    rows = [
        (str(tmp_path / "png/0.png") if row == 0 else f"png/{row}.png", str(row))
        for row in range(len(pixels))
    ]
    table = read(manifest(tmp_path, name, rows))
    chunk = table.load()
    assert (
        np.array_equal(chunk.columns["image"], pixels) and chunk.columns["image"].dtype == np.uint8
    )
    assert chunk.columns["label"] == [label for _, label in rows]
    assert f"{'coloured' if colour else 'grey'}, {shape[1]}×{shape[2]}" in table.notes[-1]
    parts = [part.columns["image"] for part in table.chunks(size)]
    assert np.array_equal(np.concatenate(parts), pixels) and max(map(len, parts)) <= size


@pytest.mark.parametrize(
    ("mode", "grey"),
    [
        ("1", True),
        ("L", True),
        ("LA", True),
        ("I;16", True),
        ("RGB", False),
        ("RGBA", False),
        ("P", False),
        ("CMYK", False),
    ],
)
def test_modes(tmp_path, mode, grey):
    bright = Image.new("L", (3, 2), 200)
    if mode == "I;16":
        image = Image.fromarray(np.full((2, 3), 200 * 257, np.uint16))
    elif mode == "LA":
        image = Image.merge("LA", (bright, bright))
    else:
        image = bright.convert("RGB").convert(mode)
    file = "a.jpg" if mode == "CMYK" else "a.png"
    image.save(tmp_path / file)
    seen = read(manifest(tmp_path, "a.csv", [(file, "x")])).load().columns["image"]
    assert seen.shape == ((1, 2, 3) if grey else (1, 2, 3, 3))
    assert (
        mode == "1" or np.abs(seen.astype(int) - 200).max() <= 5
    )  # JPG is lossy, and the palette has 216 colours


def test_others_are_made_like_the_first(tmp_path):
    draw(tmp_path / "a.png", np.full((4, 6), 10, np.uint8))
    draw(tmp_path / "b.png", np.full((8, 2, 3), 90, np.uint8))
    draw(tmp_path / "c.jpg", np.full((4, 6, 3), 50, np.uint8))
    table = read(manifest(tmp_path, "a.csv", [("a.png", "x"), ("b.png", "y"), ("c.jpg", "z")]))
    assert (
        table.notes[-1]
        == "Images are grey, 4×6, as the first one is; others are scaled to that size."
    )
    seen = table.load().columns["image"]
    assert seen.shape == (3, 4, 6) and [int(image.mean()) for image in seen] == [10, 90, 50]


def test_orientation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter to the right
    draw(tmp_path / "a.png", np.array([[0, 100, 200]], np.uint8), exif=exif)
    assert read(manifest(tmp_path, "a.csv", [("a.png", "x")])).load().columns["image"].tolist() == [
        [[0], [100], [200]]
    ]


def test_palette_with_transparency(tmp_path):
    Image.new("RGB", (2, 2), (9, 8, 7)).convert("P", palette=Image.Palette.ADAPTIVE).save(
        tmp_path / "a.png", transparency=b"\x00\x7f"
    )
    assert read(manifest(tmp_path, "a.csv", [("a.png", "x")])).load().columns["image"][
        0, 0, 0
    ].tolist() == [9, 8, 7]


def test_columns_and_what_is_no_path(tmp_path):
    draw(tmp_path / "a.png", np.zeros((2, 2), np.uint8))
    (tmp_path / "a.csv").write_text("a.png,x\na.png,y\n")
    assert read(tmp_path / "a.csv", {"image": "0", "label": "1"}).load().columns["image"].shape == (
        2,
        2,
        2,
    )
    (tmp_path / "a.jsonl").write_text('{"image": [[0, 1]], "label": 1}\n')
    assert read(tmp_path / "a.jsonl").load().columns["image"] == [[[0, 1]]]


def test_chunks_of_large_images_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "MOST", 20)
    draw(tmp_path / "a.png", np.zeros((3, 3), np.uint8))
    table = read(manifest(tmp_path, "a.csv", [("a.png", "x")] * 5))
    assert [len(chunk) for chunk in table.chunks(100)] == [2, 2, 1]


def test_mistakes(tmp_path, monkeypatch):
    draw(tmp_path / "good.png", np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8))
    whole = (tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("no image")
    Image.new("L", (2, 2)).save(tmp_path / "a.gif")
    (tmp_path / "folder.png").mkdir()
    for wrong, found in (
        ("cut.png", "cannot be decoded"),
        ("text.png", "found something else"),
        ("a.gif", "save it as PNG or JPG"),
        ("none.png", "found no such file"),
        ("folder.png", "Is a directory"),
        ("\x00.png", "cannot be decoded"),
        ("", "found no image"),
    ):
        for before in (0, 2):  # the first row is looked at when the table is opened
            path = manifest(tmp_path, "a.jsonl", [("good.png", "x")] * before + [(wrong, "y")])
            sentence = mistake(path)
            assert sentence.startswith(f"{path}, line {before + 1}:") and found in sentence
            assert wrong.replace("\0", r"\x00") in sentence
            assert "PNG or JPG" in sentence and "remove the line" in sentence
    for limit in (1000, 100):  # Pillow warns above its limit and refuses above twice that
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert "more pixels than are safe" in mistake(
            manifest(tmp_path, "a.csv", [("good.png", "x")])
        )


def test_what_the_checksums_of_png_tell(tmp_path):
    draw(tmp_path / "a.png", np.random.default_rng(0).integers(0, 256, (9, 9), np.uint8))
    path, whole = manifest(tmp_path, "a.csv", [("a.png", "x")]), (tmp_path / "a.png").read_bytes()
    end = whole.index(b"IEND") - 8  # the last bytes of the pixels are their checksum
    for damaged in (
        whole[: end - 1] + bytes([whole[end - 1] ^ 1]) + whole[end:],
        whole[:-6],
        whole[: end + 4],
    ):
        (tmp_path / "a.png").write_bytes(damaged)
        assert "cannot be decoded" in mistake(path)


def test_more_pixels_than_the_bytes_can_hold(tmp_path):
    draw(tmp_path / "a.jpg", np.zeros((8, 8), np.uint8))
    whole = bytearray((tmp_path / "a.jpg").read_bytes())
    at = whole.index(b"\xff\xc0") + 5  # height and width
    whole[at : at + 4] = b"\x10\x00\x10\x00"
    (tmp_path / "a.jpg").write_bytes(whole)
    assert "fewer bytes than its pixels take" in mistake(
        manifest(tmp_path, "a.csv", [("a.jpg", "x")])
    )
    for format, size in (
        ("jpg", 4000),
        ("png", 4000),
    ):  # nothing is packed more tightly than one colour
        Image.new("1" if format == "png" else "L", (size, size)).save(
            tmp_path / f"b.{format}", optimize=True
        )
        assert read(manifest(tmp_path, "a.csv", [(f"b.{format}", "x")])).load().columns[
            "image"
        ].shape == (1, size, size)


def test_a_palette_that_is_too_short(tmp_path):
    image = Image.new("P", (4, 4), 200)
    image.putpalette(list(range(9)))
    image.save(tmp_path / "a.png", transparency=1)
    try:
        read(manifest(tmp_path, "a.csv", [("a.png", "x")])).load()
    except Mistake as sentence:
        assert "cannot be decoded" in str(sentence)


def test_damage_is_a_mistake(tmp_path):
    """Bytes changed at random: the image is decoded or the sentence comes, nothing else."""
    draw(tmp_path / "a.png", np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8))
    draw(tmp_path / "a.jpg", np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8))
    random = np.random.default_rng(1)
    for name in ("a.png", "a.jpg"):
        path, whole = manifest(tmp_path, "a.csv", [(name, "x")]), (tmp_path / name).read_bytes()
        for _ in range(150):
            damaged = np.frombuffer(whole, np.uint8).copy()
            damaged[random.integers(0, len(whole), 3)] = random.integers(0, 256, 3)
            (tmp_path / name).write_bytes(damaged.tobytes())
            try:
                assert len(read(path).load()) == 1
            except Mistake as sentence:
                assert "\n" not in str(sentence)
