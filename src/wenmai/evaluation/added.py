"""What is added to a comparison (`--with`).

A run of the same task is measured as it is. It may have learned from the rows that judge it: a run keeps where its data lay and
the fingerprint of the rows that it learned from; those of this comparison have the same, or it is said.

A checkpoint of others, or a run that has learned another task (a text, masked words), is started from: what it has is fine-tuned
on the rows of the comparison, within its minutes, and what it cost before is said, if that is known."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import wenmai
from wenmai.data.dataset import Dataset, everywhere
from wenmai.data.values import digest_of
from wenmai.errors import Mistake
from wenmai.estimator import starting_from
from wenmai.locale import Message
from wenmai.starting import Start
from wenmai.training.run_folder import read


@dataclass(frozen=True)
class Pretrained:
    """A body to start from, and how many seconds it was trained before; None where nobody says."""

    start: Start
    seconds: float | None

    @property
    def rung(self) -> str:
        return self.start.build.rung

    def note(self, name: str) -> Message:
        if self.seconds is None:
            return Message(
                "{name} was pretrained before this comparison; what that cost is not known",
                name=name,
            )
        return Message(
            "{name} was pretrained for {minutes:.2g} minutes before this comparison, which are not among its own",
            name=name,
            minutes=self.seconds / 60,
        )


def parted(
    added: Sequence[str], task: str, names: Sequence[str]
) -> tuple[dict[str, Pretrained], list[str]]:
    """({name: what is started from}, the runs that are measured as they are); no name is one of `names`."""
    starts: dict[str, Pretrained] = {}
    runs = []
    for run in added:
        start = pretrained(run, task)
        if start is None:
            runs.append(run)
            continue
        name = Path(run).name
        while name in (*names, *starts):
            name += "-started"
        starts[name] = start
    return starts, runs


def pretrained(run: str, task: str) -> Pretrained | None:
    """None where it is a run of this task, or nothing that can be read: then whoever loads it says so."""
    path = Path(run)
    if (path / "run.json").is_file():
        with suppress(Mistake, OSError, AttributeError):
            about = read(path).about
            if about["task"]["name"] != task:
                return Pretrained(starting_from(run), about.get("seconds"))
    elif (path / "config.json").is_file():
        return Pretrained(wenmai.checkpoint(run), None)
    elif not path.exists():
        with suppress(Mistake, OSError):
            return Pretrained(wenmai.checkpoint(run), None)
    return None


def doubt(data: Dataset, run: str) -> Message | None:
    """None where it learned from the very rows that are learned from here. A Mistake where it learned from those that judge."""
    about = read(Path(run)).about
    source, fingerprint = about.get("data"), about.get("fingerprint")
    if fingerprint is not None and fingerprint == data.fingerprint():
        return None
    for part in (data.valid, data.test):
        if fingerprint == digest_of(*part.pair) or (
            part.source != data.train.source and source == everywhere(part.source)
        ):
            raise Mistake(
                "{run} was trained on {file}, whose rows judge this comparison: its score would say nothing.",
                run=run,
                file=part.source,
            )
    if source is not None and source == data.source:
        return Message(
            "{run} was trained on other rows of {data} than are learned from here, most likely on some that judge it: "
            "its scores flatter, and it is not recommended; train it with the same --valid, --test and --seed",
            run=run,
            data=data.name,
        )
    return Message(
        "{run} was trained on other data than is learned from here, so that it cannot be told whether it has seen "
        "rows that judge it: it is not recommended",
        run=run,
    )
