"""How many files of ours a reader has to open to follow one thing from its beginning to its end; what is compiled is not seen.
The aims are 8 and 30: the bounds below are what stands today, and only ever go down."""

import sys
from pathlib import Path

import numpy as np
import pytest

import wenmai
from wenmai import LanguageModel
from wenmai.data.examples.streams import Stream
from wenmai.data.files.corpus import Corpus

SOURCE = Path(wenmai.__file__).parent


def visited(work) -> list[str]:
    """The files whose functions were called, in the order of their first call."""
    files: dict[str, None] = {}

    def note(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            files[str(Path(name).relative_to(SOURCE))] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(files)


def test_from_a_token_to_its_loss(capsys):
    model = LanguageModel(
        "gpt", width=8, heads=2, layers=1, context=4, steps=1, validation=0.0
    ).fit(["a b c d e f"] * 9)
    stream = Stream(model.inputs_.read_all(Corpus.of(["a b c d"] * 9)), 4, carries=False)
    network = model.model_.train()
    files = visited(lambda: network.losses(stream.batch(np.arange(2)))[0][0].total.backward())
    with capsys.disabled():
        print(f"\nfrom a token to its loss gpt visits {len(files)} files: {', '.join(files)}")
    assert 4 <= len(files) <= 9


@pytest.fixture
def run(tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{'good' if n % 2 else 'bad'} film number {n},{'pos' if n % 2 else 'neg'}\n"
        for n in range(60)
    ]
    (tmp_path / "films.csv").write_text("text,label\n" + "".join(rows))
    (tmp_path / "new.csv").write_text("text\na good film\n")
    assert (
        wenmai_cli(
            "train", "gru", "films.csv", "--set", "steps=2", "--set", "hidden=8", "--out", "run"
        ).status
        == 0
    )
    return tmp_path / "run"


def test_from_a_row_to_its_answer(run, wenmai_cli, capsys):
    wenmai_cli("predict", "run", "--file", "new.csv")  # what is loaded once is loaded
    files = visited(lambda: wenmai_cli("predict", "run", "--file", "new.csv"))
    with capsys.disabled():
        print(f"\nfrom command to answer a row visits {len(files)} files: {', '.join(files)}")
    assert 10 <= len(files) <= 43
