"""How far a rung got in its minutes: whether more of them would change what is said of it."""

from math import ceil, inf

from wenmai.estimator import Estimator
from wenmai.evaluation.unfinished import Unfinished
from wenmai.locale import Listed, Message
from wenmai.training.schedule import MOST_EPOCHS

UPDATES, EPOCHS = 100, 10  # of a network that has had less of both, it is too short to tell
STEEP, FLAT = 0.1, 0.01  # shares of the best score that the end of a training brought
MORE = 4  # times its share is what is proposed for a rung that is not decided


def state_of(estimator: Estimator, network: bool) -> str:
    """ "short" where it is too short to tell, "rising", or "converged". Where the clock ended a training, its rate went to zero
    by then and flattened its curve, whatever was still to be learned: so what counts is how much further the second half brought
    the best score, by a tenth (short), by a hundredth (rising). Where it had all of its epochs, or stopped by itself, the last
    quarter counts; a rung that counts or solves has no more to learn."""
    progress, sign = estimator.progress_, 1 if estimator.task_.higher_is_better else -1
    scores, last = (
        [sign * point.score for point in progress if point.score is not None],
        progress[-1],
    )
    if network and (
        len(scores) < 2
        or (last.step < UPDATES and last.epoch < min(EPOCHS, enough_epochs(estimator)))
    ):
        return "short"
    if len(scores) < 2:
        return "converged"
    cut = network and last.step == last.steps and has_more(estimator)
    late = len(scores) // 2 if cut else max(1, len(scores) // 4)
    gained = (max(scores) - max(scores[:-late])) / (abs(max(scores)) or 1.0)
    return "short" if cut and gained > STEEP else "rising" if gained > FLAT else "converged"


def has_more(estimator: Estimator) -> bool:
    """Whether the clock ended its training, or it stopped by itself, before all of its epochs."""
    return estimator.progress_[-1].epoch < enough_epochs(estimator)


def enough_epochs(estimator: Estimator) -> float:
    """All that it was to have, but for what is lost in counting."""
    return 0.99 * float(
        estimator.options.get("epochs") or tuned_epochs(estimator) or MOST_EPOCHS
    )  # a command line gives text


def tuned_epochs(estimator: Estimator) -> float | None:
    """How many suit a network that started from another."""
    return getattr(getattr(estimator, "model_", None), "training_defaults", {}).get("epochs")


def is_short(row: dict) -> bool:
    return row.get("state") == "short"


def weigh(rows: list[dict], baseline: dict | None, metric: str, sign: int) -> None:
    """What the rungs say of one another, on the valid rows. One that has epochs left and knows no more than the baseline, where
    others know more, has not begun to learn: its flat curve is no end. And what had a short time and is ahead of all that
    had enough has shown that already: it is judged by what it has reached."""
    reached = {
        row["rung"]: sign * row["scores"]["valid"][metric] for row in rows if not row["failed"]
    }
    least = sign * baseline["scores"]["valid"][metric] if baseline else -inf
    if max(reached.values(), default=-inf) > least:
        for row in rows:
            if (
                row.get("has_more")
                and not row["failed"]
                and row["state"] == "converged"
                and reached[row["rung"]] <= least
            ):
                row["state"] = "short"
    enough = max(
        (reached[row["rung"]] for row in rows if not row["failed"] and not is_short(row)),
        default=least,
    )
    for row in rows:
        if is_short(row) and not row["failed"] and reached[row["rung"]] > enough:
            row["state"] = "rising"


def undecided(rows: list[dict], minutes: float, kept: Unfinished | None) -> list[Message]:
    """What more time would settle, and the command for it, in sentences."""
    short, rising = (
        [row["rung"] for row in rows if row.get("state") == state] for state in ("short", "rising")
    )
    sentences = (
        [Message("Too short to tell, and not judged: {choices}.", choices=Listed(short))]
        if short
        else []
    )
    sentences += (
        [Message("Still rising when the budget ended: {choices}.", choices=Listed(rising))]
        if rising
        else []
    )
    more = max(1, ceil(MORE * minutes * (len(short) + len(rising)) / len(rows)))
    if sentences and kept:
        sentences.append(
            Message(
                "More time for these alone settles it: {command}", command=kept.with_minutes(more)
            )
        )
    return sentences
