"""A comparison that can be gone on with: its rungs that are done, kept until the report is written. Then those that are not
decided, for want of time, may have more of it; what is kept for that stands under `decided`, and is no hindrance to a new one.

    REPORT/unfinished/start/    arguments.json (the command)
    REPORT/unfinished/RUNG/     row.json (its row of the report), terms.safetensors (what every row adds to its scores)

Each is a folder that is there whole or not at all."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.errors import Mistake, typed
from wenmai.locale import Message, told_in
from wenmai.locale.messages import made
from wenmai.training import folders
from wenmai.training.run_folder import understood, write_arrays, write_json

UNDECIDED = ("short", "rising")  # states of a rung that more time may change


class Done(NamedTuple):
    row: dict
    terms: dict[str, list[np.ndarray]]  # part → of every seed, what its rows add to the metric
    seconds: float  # that it took of the budget


class Unfinished:
    def __init__(self, report: Path):
        self.report, self.folder, self.decided = report, report / "unfinished", report / "decided"
        self.begun = False  # by this command

    def begin(self, arguments: dict, replace: bool) -> None:
        if (self.folder / "start").is_dir() and not replace:
            raise Mistake(
                "{folder} holds a comparison that was not finished: go on with {command}, start anew with --replace, "
                "or choose another --out.",
                folder=self.report,
                command=self.command,
            )
        self.check_place()
        self.begun = True
        self.remove()
        shutil.rmtree(self.decided, ignore_errors=True)
        self.rewrite(arguments)

    def check_place(self) -> None:
        """Only what is known to be ours is ever removed."""
        for place in (self.folder, self.decided):
            inside = (
                sorted(place.iterdir())
                if place.is_dir() and not place.is_symlink()
                else [place] * os.path.lexists(place)
            )
            for path in inside:
                if not folders.holds_named(path) and not folders.is_half_written(path):
                    raise Mistake(
                        "{folder} holds {name}, which no comparison wrote, and it is left as it is; choose another "
                        "--out.",
                        folder=self.report,
                        name=str(path.relative_to(self.report)),
                    )

    def rewrite(self, arguments: dict) -> None:
        folders.write(
            self.folder / "start", lambda part: write_json(part / "arguments.json", arguments)
        )

    @property
    def command(self) -> str:
        return f"wenmai compare --resume {typed(self.report)}"

    def reopen(self) -> bool:
        """Whether all rungs were done: then those that are not decided are to be done again."""
        if (self.folder / "start").is_dir() or not (self.decided / "start").is_dir():
            return False
        self.check_place()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.decided.rename(self.folder)
        return True

    def finish(self, report: dict) -> None:
        """The report is written. What is decided is kept, where something is not."""
        open_still = {
            row["rung"] for row in report["rungs"] if row.get("state") in UNDECIDED or row["failed"]
        }
        for name in open_still:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        shutil.rmtree(self.decided, ignore_errors=True)
        if open_still:
            self.folder.rename(self.decided)
        self.remove()

    def with_minutes(self, minutes: int) -> str:
        """The command that gives the undecided more time."""
        return f"{self.command} --minutes {minutes}"

    def arguments(self, names: tuple[str, ...]) -> dict:
        if not (self.folder / "start").is_dir():
            raise Mistake(
                "{folder} holds no comparison that was stopped; start one with wenmai compare DATA.",
                folder=self.report,
            )
        folders.check(self.folder / "start", "arguments.json")
        with understood(self.folder / "start" / "arguments.json") as path:
            known = json.loads(path.read_text(encoding="utf-8"))
            return {name: take.value(known, name) for name in names}

    def keep(self, name: str, done: Done) -> None:
        notes = [[told_in(note, "en"), told_in(note, "zh")] for note in done.row.get("notes", [])]
        terms = {
            f"{part}.{seed}": array
            for part, each in done.terms.items()
            for seed, array in enumerate(each)
        }

        def fill(part: Path) -> None:
            write_json(
                part / "row.json", {"row": done.row | {"notes": notes}, "seconds": done.seconds}
            )
            write_arrays(part / "terms.safetensors", terms)

        with suppress(folders.Unwritable):  # then it is shown, and trained again on resuming
            folders.write(self.folder / name, fill)

    def done(self, names: list[str]) -> dict[str, Done]:
        """Of these rungs, those that are done; one that was damaged is not."""
        from safetensors.numpy import load_file

        kept = {}
        for name in names:
            folder = self.folder / name
            with suppress(Mistake, OSError), understood(folder / "row.json") as path:
                folders.check(folder, "row.json", "terms.safetensors")
                known, arrays = (
                    json.loads(path.read_text(encoding="utf-8")),
                    load_file(folder / "terms.safetensors"),
                )
                row = take.value(known, "row")
                row["notes"] = [SavedMessage.of(*both) for both in take.items(row, "notes")]
                each = range(len(arrays) // 2)
                terms = {
                    part: [arrays[f"{part}.{seed}"] for seed in each] for part in ("valid", "test")
                }
                kept[name] = Done(row, terms, float(known["seconds"]))
        return kept

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def seconds(self, names: list[str]) -> float:
        """That went into what is done."""
        return sum(one.seconds for one in self.done(names).values())


class SavedMessage(Message):
    """Words that were kept in both languages."""

    @classmethod
    def of(cls, english: str, chinese: str) -> Self:
        return made(cls, {"values": {}, "words": {"en": str(english), "zh": str(chinese)}})

    def in_words(self, lang: str) -> str:
        return self.words.get(lang, self.words["en"]).replace("{", "{{").replace("}", "}}")
