"""Reports that `wenmai compare` wrote, found by name in one folder, as the lab shows them: what each rung reached and cost, how
it learned, where it is wrong.

A report is a file that anybody may have changed: it is read with bounds, value by value, and what is not as compare writes it is
left out. Of a path in it only the last part is told."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from wenmai.data.storage import saved as take
from wenmai.locale import Message
from wenmai.serving.refusals import PATH, Refused, not_there

LARGEST = 32 << 20  # bytes of a report
SHOWN = 50  # mistakes of a rung
WORDS = 2_000  # characters of a text
PARTS = ("valid", "test")
MISTAKE_FIELDS = frozenset(
    {"input", "expected", "answer", "probability"}
)  # of a row that it gets wrong


class Comparisons:
    def __init__(self, folder: Path | None):
        self.folder = folder
        self.reports: dict[tuple, dict | None] = {}  # (name, stamp) → what was found in it

    def files(self) -> Iterator[tuple[str, Path, tuple]]:
        """(name, report.json, its stamp) of all in the folder; links are not followed."""
        if self.folder is None or not self.folder.is_dir():
            return
        for entry in sorted(os.scandir(self.folder), key=lambda entry: entry.name):
            file, own = (
                Path(entry.path) / "report.json",
                entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."),
            )
            if own and file.is_file() and not file.is_symlink():
                seen = file.stat()
                if seen.st_size <= LARGEST:
                    yield entry.name, file, (entry.name, seen.st_mtime_ns, seen.st_size)

    def all(self) -> list[dict]:
        every = [self.load(name, file, stamp) for name, file, stamp in self.files()]
        return [
            {key: one[key] for key in ("name", "data", "task", "metric", "rungs", "when")}
            for one in every
            if one
        ]

    def find(self, name: str) -> dict:
        for known, file, stamp in self.files():
            if known == name:
                if one := self.load(name, file, stamp):
                    return one
                raise Refused(
                    409,
                    "damaged",
                    Message("{name} is not as wenmai compare wrote it.", name=name[:60]),
                )
        raise not_there(
            Message(
                "there is no comparison {name}; GET /v1/comparisons lists those that there are.",
                name=name[:60],
            )
        )

    def load(self, name: str, file: Path, stamp: tuple) -> dict | None:
        if stamp not in self.reports:
            if len(self.reports) >= 256:
                self.reports.clear()
            try:
                self.reports[stamp] = summary_of(name, take.json_in(file))
            except (
                OSError,
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                RecursionError,
                take.Unfit,
            ):
                self.reports[stamp] = None
        return self.reports[stamp]


def summary_of(name: str, report: dict) -> dict:
    metric, advice = str(report["metric"]), report.get("recommendation") or {}
    compared = [one for one in map(of_rung, report["rungs"]) if one]
    reason = {lang: text(advice.get(key)) for lang, key in (("en", "reason"), ("zh", "reason_zh"))}
    baseline = (report.get("baseline") or {}).get("scores") or {}
    return {
        "name": name,
        "data": PurePath(text(report["data"])).name,
        "task": text(report["task"]),
        "metric": metric,
        "higher_is_better": bool(report.get("higher_is_better", True)),
        "rungs": [one["rung"] for one in compared],
        "when": text(report.get("created")) or None,
        "recommended": text(advice.get("rung")) or None,
        "reason": reason if reason["en"] else None,
        "baseline": number(
            numbers(baseline.get("test") or baseline.get("valid") or {}).get(metric)
        ),
        "compared": compared,
    }


def of_rung(one: dict) -> dict | None:
    if not isinstance(one, dict) or not isinstance(one.get("rung"), str):
        return None
    scores = one.get("scores") if isinstance(one.get("scores"), dict) else {}
    interval = [number(value) for value in one.get("interval") or ()][:2]
    wrong = [
        {
            key: value if isinstance(value, int | float) else text(value)
            for key, value in row.items()
            if key in MISTAKE_FIELDS and value is not None
        }
        for row in listed(one.get("worst"))[:SHOWN]
    ]
    curve = [
        {key: number(step.get(key)) for key in ("step", "seconds", "train_loss", "score")}
        for step in listed(one.get("curve"))[:2_000]
    ]
    parameters, size = one.get("parameters"), one.get("bytes")
    return {
        "rung": text(one["rung"]),
        "run": PurePath(text(one["run"])).name if one.get("run") else None,
        "failed": text(one.get("failed")) or None,
        "interval": interval if len(interval) == 2 else None,
        "scores": {
            part: numbers(scores[part]) for part in PARTS if isinstance(scores.get(part), dict)
        },
        "seconds": number(one.get("seconds")),
        "parameters": parameters if isinstance(parameters, int) else None,
        "bytes": size if isinstance(size, int) else None,
        "latency": number((one.get("latency_ms") or {}).get("p50")),
        "curve": curve,
        "mistakes": wrong,
    }


def listed(value) -> list[dict]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def numbers(scores: dict) -> dict[str, float]:
    return {str(name): value for name, value in scores.items() if number(value) is not None}


def number(value) -> float | None:
    return (
        value
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < float("inf")
        else None
    )


def text(value) -> str:
    """Without paths of the server's."""
    return (
        ""
        if value is None
        else PATH.sub(lambda match: match[0].rstrip("/").rpartition("/")[2], str(value)[:WORDS])
    )
