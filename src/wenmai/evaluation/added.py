"""A run that is added to a comparison (`--with RUN`): whether it may have learned from the rows that judge it. A run keeps where
its data lay and the fingerprint of the rows that it learned from; those of this comparison have the same, or it is said."""

from pathlib import Path

from wenmai.data.dataset import Dataset, everywhere
from wenmai.data.values import digest_of
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.training.run_folder import read


def doubt(data: Dataset, run: str) -> Message | None:
    """None where it learned from the very rows that are learned from here. A Mistake where it learned from those that judge."""
    about = read(Path(run)).about
    source, fingerprint = about.get("data"), about.get("fingerprint")
    if fingerprint is not None and fingerprint == data.fingerprint():
        return None
    for part in (data.valid, data.test):
        if fingerprint == digest_of(*part.pair) or (part.source != data.train.source and source == everywhere(part.source)):
            raise Mistake("{run} was trained on {file}, whose rows judge this comparison: its score would say nothing.", run=run,
                          file=part.source)  # fmt: skip
    if source is not None and source == data.source:
        return Message("{run} was trained on other rows of {data} than are learned from here, most likely on some that judge it: "
                       "its scores flatter, and it is not recommended; train it with the same --valid, --test and --seed",
                       run=run, data=data.name)  # fmt: skip
    return Message("{run} was trained on other data than is learned from here, so that it cannot be told whether it has seen "
                   "rows that judge it: it is not recommended", run=run)  # fmt: skip
