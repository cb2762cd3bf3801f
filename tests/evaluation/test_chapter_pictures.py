"""docs/pictures.py, which draws the pictures of the chapters, still runs: one from a formula, one from small trainings."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "pictures.py"


@pytest.fixture(scope="module")
def drawing():
    spec = importlib.util.spec_from_file_location("chapter_pictures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:Glyph .* missing:UserWarning")
def test_two_pictures_are_drawn(drawing, monkeypatch, tmp_path):
    data = drawing.open_dataset("languages", drawing.TASKS, valid="0.1", test="0.1")
    for name in ("train", "valid", "test"):  # some 400 of each: all of them would take minutes
        part = getattr(data, name)
        setattr(data, name, part.take(np.arange(0, len(part), len(part) // 400)))
    monkeypatch.setattr(drawing, "languages", lambda: data)
    drawing.main(["positions", "bootstrap"], tmp_path)
    files = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(files) == {
        f"{name}.{lang}.svg" for name in ("positions", "bootstrap") for lang in ("en", "zh")
    }
    assert (
        "95% interval of each" in files["bootstrap.en.svg"]
        and "各自的 95% 区间" in files["bootstrap.zh.svg"]
    )
    assert all(text.startswith("<?xml") and "</svg>" in text for text in files.values())


def test_every_picture_of_the_chapters_can_be_drawn_anew(drawing):
    """The files that stand there are those of the functions."""
    names = {path.name.split(".")[0] for path in drawing.FOLDER.glob("*.svg")} - {
        "demo"
    }  # that of `wenmai demo`
    assert names == {picture.__name__ for picture in drawing.PICTURES}
