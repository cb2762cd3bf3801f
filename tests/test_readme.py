"""The tables of both READMEs say what the catalog says, `make readme` fills in what a demo found, and links lead somewhere."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from brought import bring

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import demo_table
import touched

from wenmai.catalog import RUNGS, rungs_for

ROOT = Path(__file__).parents[1]
READMES = list(demo_table.READMES.values())
LINKING = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
each_readme = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)


def rungs_of(table: str) -> list[str]:
    """The first column, without heading and ruler."""
    return re.findall(r"^\| (?:\*\*)?([\w-]+)(?:\*\*)?[ ✓]*\|", table, re.M)[1:]


@each_readme
def test_the_demo_has_every_rung_that_classifies(readme):
    table = demo_table.MARKS.search(readme.read_text("utf-8")).group()
    assert sorted(rungs_of(table)) == sorted(
        rung.name for rung in rungs_for("classify", "tokens") if not rung.framed
    )


@each_readme
def test_the_ladder_has_every_rung_in_its_order(readme):
    named = re.findall(
        r"^\| ((?:`[\w-]+` ?)+)\|", readme.read_text("utf-8").rpartition("\n## ")[2], re.M
    )
    assert re.findall(r"[\w-]+", " ".join(named)) == list(RUNGS)


@pytest.mark.slow
def test_what_a_demo_found_goes_into_both(tmp_path, monkeypatch, wenmai_cli):
    monkeypatch.chdir(tmp_path)
    bring(tmp_path)
    assert (
        wenmai_cli(
            "compare", "reviews.csv", "--minutes", "0.05", "--rungs", "softmax,perceptron"
        ).status
        == 0
    )
    copies = {
        lang: Path(shutil.copy(path, tmp_path / f"new.{path.name}"))
        for lang, path in demo_table.READMES.items()
    }
    monkeypatch.setattr(demo_table, "READMES", copies)
    demo_table.write(json.loads((tmp_path / "reports/reviews/report.json").read_text("utf-8")))
    for readme, copy in zip(READMES, copies.values()):
        before, after = readme.read_text("utf-8"), copy.read_text("utf-8")
        assert set(rungs_of(demo_table.MARKS.search(after).group())) == {"softmax", "perceptron"}
        assert demo_table.MARKS.sub("", before) == demo_table.MARKS.sub("", after)


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document):
    text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.S)
    links = [link for link in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_chinese_readme_leads_to_chinese_documents():
    text = demo_table.READMES["zh"].read_text("utf-8")
    links = set(re.findall(r"\]\((docs/[\w/.-]+\.md)\)", text))
    assert links and all(link.startswith("docs/zh/") for link in links)


def test_what_was_touched_says_which_tests():
    texts = (
        "from wenmai.layers.crf import CRF",
        "from wenmai.layers import blocks, crf",
        "import wenmai",
    )
    tests = {Path(f"tests/test_{name}.py"): text for name, text in zip("abc", texts)}
    assert touched.tests_about([Path("src/wenmai/layers/crf.py")], tests) == [
        Path("tests/test_a.py"),
        Path("tests/test_b.py"),
    ]
    assert touched.tests_about([Path("tests/test_c.py"), Path("README.md")], tests) == [
        Path("tests/test_c.py")
    ]
