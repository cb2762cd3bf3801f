"""make readme: what the last `make demo` found, into both READMEs: the leaderboard and its recommendation between the marks, and
the picture beside them."""

import json
import re
import shutil
from pathlib import Path

from wenmai.evaluation.report import markdown

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "reports" / "languages"
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh.md"}
MARKS = re.compile(r"(?<=<!-- make readme -->\n).*?(?=<!-- end -->)", re.S)


def table(report: dict, lang: str) -> str:
    board = re.search(
        r"(?:^\|.*\n)+", markdown(report, {}).split("\n---\n\n")[lang == "zh"], re.M
    ).group()
    advice = report["recommendation"]["reason_zh" if lang == "zh" else "reason"]
    machine, seed = report["machine"], report["seed"]
    where = (
        f"（{machine.replace(' cores', ' 核')}，种子 {seed}。）"
        if lang == "zh"
        else f" ({machine}, seed {seed}.)"
    )
    return f"\n{board}\n{advice}{where}\n\n"


def write(report: dict) -> None:
    for lang, path in READMES.items():
        text, made = MARKS.subn(lambda _, lang=lang: table(report, lang), path.read_text("utf-8"))
        assert made == 1, path
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(json.loads((FOUND / "report.json").read_text("utf-8")))
    for lang in READMES:
        shutil.copy(
            FOUND / f"quality-seconds.{lang}.svg", ROOT / "docs" / "pictures" / f"demo.{lang}.svg"
        )
