"""An inspection as files: what stands in them, and where they may be written."""

import base64
import hashlib
import html
import json
import re

import made_up
import numpy as np
import pytest
from rich.cells import cell_len

from wenmai.errors import Mistake
from wenmai.page import inspection_page, inspection_terminal
from wenmai.page.panels_json import from_json
from wenmai.page.terminal import Screen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("out") / "inside"
    inspection_page.write(made_up.inspection(), place)
    return place


def test_a_folder_holds_page_pictures_and_numbers(folder):
    names = {path.name for path in folder.iterdir()}
    assert {
        "index.html",
        "inspection.json",
        "numbers.npz",
        "attention.en.svg",
        "attention.zh.svg",
        "attention.png",
    } <= names
    again = from_json(
        json.loads((folder / "inspection.json").read_text("utf-8")), np.load(folder / "numbers.npz")
    )
    assert np.array_equal(again.panels[0].values, made_up.attention().values)


def test_only_the_pages_own_script_may_run(folder):
    page = (folder / "index.html").read_text("utf-8")
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.S)
    (kind, _), (plain, script) = scripts  # the data, and what draws it
    assert 'type="application/json"' in kind and plain == ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page
    assert (
        "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
    )


def test_a_notebook_shows_it_in_a_frame_of_its_own():
    shown = inspection_page.html_of(made_up.inspection())
    found = re.fullmatch(
        r'<iframe sandbox="allow-scripts" title="([^"]*)" style="[^"]*" srcdoc="([^"]*)"></iframe>',
        shown,
    )
    assert html.unescape(found[2]) == inspection_page.page(made_up.inspection())


def test_an_inspection_is_replaced_whole(folder):
    few = made_up.inspection()
    few.panels = few.panels[:1]
    place = folder.with_name("twice")
    inspection_page.write(made_up.inspection(), place, with_pictures=False)
    files = inspection_page.write(few, place)
    assert {path.name for path in place.iterdir()} == {path.name for path in files} | {
        "manifest.json"
    }


@pytest.mark.parametrize("name", ["thesis.txt", "index.html", ".hidden"])
def test_what_no_inspection_wrote_is_left_as_it_is(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(Mistake, match=r"which no inspection wrote"):
        inspection_page.write(made_up.inspection(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name] and (
        tmp_path / name
    ).read_text() == "mine"


def test_a_file_beside_an_inspection_of_ours_is_not_lost(tmp_path):
    place = tmp_path / "inside"
    inspection_page.write(made_up.inspection(), place, with_pictures=False)
    (place / "notes.txt").write_text("mine")
    with pytest.raises(Mistake, match=r"notes\.txt"):
        inspection_page.write(made_up.inspection(), place, with_pictures=False)
    assert (place / "notes.txt").read_text() == "mine"


def test_a_file_or_a_link_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(Mistake, match="is no folder"):
            inspection_page.check_place(tmp_path / name)
    (tmp_path / "empty").mkdir()
    inspection_page.check_place(tmp_path / "empty")
    inspection_page.check_place(tmp_path / "new")


# The terminal


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("colours", [False, True])
def test_the_terminal_has_every_panel_in_80_columns(lang, colours, capsys):
    console = Screen(
        width=80,
        highlight=False,
        force_terminal=colours,
        color_system="truecolor" if colours else None,
    )
    inspection_terminal.show(made_up.inspection(), console, lang)
    said = capsys.readouterr().out
    plain = re.sub(r"\x1b\[[\d;]*m", "", said)
    assert (
        "\x1b" not in plain and "\x07" not in plain
    )  # of the user's words: none that a terminal would obey
    assert ("\x1b" in said) is colours
    assert max(cell_len(line) for line in plain.splitlines()) <= 80
    for words in (
        "<script>alert(1)</script>",
        "0.988",
        "s = 0.125",
        "layer 1, head 2",
        "█",
        "▁",
        "softmax",
    ):
        assert words in plain
    mean = made_up.attention().values.mean((0, 1))[0]
    assert (
        f"{mean.max():.3f} {[*made_up.ENGLISH, 'x'][int(mean.argmax())]}" in plain
    )  # at the end of a row, its largest
