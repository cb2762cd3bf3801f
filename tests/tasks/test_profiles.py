"""The profile of every task fits what asks it: compare, the leaderboard, the command line, the overview."""

import inspect

import numpy as np
import pytest

from wenmai.catalog import TASKS
from wenmai.cli.commands import COMMANDS
from wenmai.data.dataset import Dataset, Part
from wenmai.data.files.corpus import Corpus
from wenmai.options import accepted
from wenmai.page.leaderboard import WORDS
from wenmai.tasks.profile import Profile


def few_rows(task) -> Part:
    inputs, targets = task.profile.few_rows
    return Part(
        Corpus.of(inputs) if task.running_text else inputs,
        targets,
        "few",
        range(1, len(inputs) + 1),
    )


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_profile_fits_who_asks(task):
    profile = task.profile
    assert (
        isinstance(profile, Profile)
        and profile.words.english == task.name
        and profile.words.chinese != task.name
    )
    assert (
        any(profile.next_command.split()[0] in group for group in COMMANDS.values())
        and "{run}" in profile.next_command
    )
    assert profile.counted in WORDS
    assert set(profile.settled) <= set(accepted(task))
    verbs = (
        task.evaluate,
        getattr(task, "hypotheses", task.evaluate),
    )  # the first passes on what the second takes
    assert set(profile.quick) <= {
        name for verb in verbs for name in inspect.signature(verb).parameters
    }


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_few_rows_are_rows_of_the_task(task):
    """They can be learned, described, and made fewer."""
    own, part = task(), few_rows(task)
    if not task.running_text:
        own.learn(own.prepare(*part.pair)[1])
    facts = task.profile.describe(Dataset("few", own, part, None, None))
    assert facts["task"] == task.name and facts["rows"] == len(part) and facts["first"]
    assert task.profile.complete(own, part, part)
    some = task.profile.fewer(own, part, 0.5, seed=0)
    assert len(some) == 2


def test_of_a_series_the_last_rows_are_kept():
    rows = Part(np.arange(100.0)[:, None], np.arange(100.0), "series", range(1, 101))
    task = TASKS["regress"](horizon=2, history=4)
    some = task.profile.fewer(task, rows, 0.1, seed=0)
    assert some.targets.tolist() == list(range(90, 100)) and not task.profile.complete(
        task, some, rows
    )
    assert task.profile.complete(task, task.profile.fewer(task, rows, 0.3, seed=0), rows)
    assert task.profile.settled_options(task) == {"horizon": 2, "history": 4}


def test_a_part_without_a_class_is_not_complete():
    whole = Part(["a", "b", "c"], ["x", "x", "y"], "rows", range(1, 4))
    for task in (TASKS["classify"](), TASKS["compose"]()):
        assert task.profile.complete(task, whole, whole) and not task.profile.complete(
            task, whole.take(np.arange(2)), whole
        )
    tags = Part([["a"], ["b"]], [["x"], ["y"]], "rows", range(1, 3))
    task = TASKS["tag"]()
    assert task.profile.complete(task, tags, tags) and not task.profile.complete(
        task, tags.take(np.arange(1)), tags
    )
