"""What the texts of arguments mean: columns, settings, and the run that one names."""

from pathlib import Path

from wenmai.errors import Mistake


def columns_from(text: str) -> dict[str, str] | None:
    from wenmai.data.files.readers import parse_columns

    return parse_columns(text) if text else None


def settings_from(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise Mistake("--set {pair}: expected key=value, such as --set hidden=64.", pair=pair)
    return {key.strip(): value.strip() for key, _, value in (pair.partition("=") for pair in pairs)}


def load_run(run: Path, device: str, verb: str = "", example: str = ""):
    """The estimator of a run folder. One that lacks the verb that the command needs is refused; `example` trains one that has
    it."""
    from wenmai.estimators import load

    estimator = load(run, device=device)
    if verb and not hasattr(estimator, verb):
        raise Mistake("{run} does {task}, and a run is wanted that does {verb}, as wenmai train {example} makes one.", run=run,
                      task=estimator.task_name, verb=verb, example=example)  # fmt: skip
    return estimator
