"""`wenmai.compare` in Python: the leaderboard, the recommendation and the report as one object."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.values import digest_of, listed
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.estimators import load
from wenmai.evaluation import report as reporting
from wenmai.evaluation.compare import compare as steps_of
from wenmai.locale import Message, language
from wenmai.page.leaderboard import columns, leaderboard, recommended, word
from wenmai.page.terminal import bars
from wenmai.training.run_folder import columns_of


class Comparison:
    """What a comparison found. `rows`: a dict a rung, the best first, with its scores, seconds, bytes and run; `recommendation`:
    the rung, and why; `path`: the report as a page; `report`: all of it, as report.json has it."""

    def __init__(self, report: dict, path: Path):
        self.report, self.path = report, path

    @property
    def rows(self) -> list[dict]:
        return self.report["rungs"]

    @property
    def recommendation(self) -> dict | None:
        return self.report["recommendation"]

    @property
    def reason(self) -> str:
        """The recommendation in a sentence."""
        return (self.recommendation or {}).get("reason_zh" if language() == "zh" else "reason", "")

    def load(self, rung: str | None = None) -> Estimator:
        """The estimator of a rung; without a name, of the one that is recommended."""
        rung = rung or (self.recommendation or {}).get("rung")
        row = next((row for row in self.rows if row["rung"] == rung and row.get("run")), None)
        if row is None:
            names = ", ".join(row["rung"] for row in self.rows if row.get("run"))
            raise Mistake(
                "no run of {rung} was kept by this comparison; kept are: {names}.",
                rung=rung,
                names=names,
            )
        return load(row["run"])

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None)
        with console.capture() as captured:
            console.print(leaderboard(self.report, language(), 120))
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return "\n".join(
            [*lines, *filter(None, (self.reason,)), str(Message("Report: {file}", file=self.path))]
        )

    def _repr_html_(self) -> str:
        lang, shown, chosen = language(), columns(self.report), recommended(self.report)
        head = "".join(
            f"<th>{escape(text)}</th>"
            for text in ("", word("rung", lang), *(c.words.told_in(lang) for c in shown))
        )
        body = []
        for rank, row in enumerate(self.rows, 1):
            cells = (
                [word("failed", lang)]
                if row.get("failed")
                else [column.show(row) for column in shown]
            )
            name = row["rung"] + " ✓" * (row is chosen)
            cells = "".join(
                f"<td>{escape(cell)}</td>"
                for cell in ("✗" if row.get("failed") else str(rank), name, *cells)
            )
            style = ' style="font-weight:bold"' if row is chosen else ""
            body.append(f"<tr{style}>{cells}</tr>")
        rows, link = (
            "".join(body),
            f'<a href="{escape(str(self.path))}">{escape(str(self.path))}</a>',
        )
        return (
            f'<div class="wenmai"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
            f"<p>{escape(self.reason)}</p><p>{link}</p></div>"
        )


def compare(
    data: str | Path | Mapping[str, Sequence],
    *,
    minutes: float = 5.0,
    rungs: Sequence[str] | None = None,
    task: str | None = None,
    columns: Mapping[str, str] | None = None,
    valid: str | float = 0.1,
    test: str | float = 0.1,
    target: str | None = None,
    unseen: bool = False,
    delimiter: str | None = None,
    skip_bad: bool = False,
    metric: str | None = None,
    options: Mapping | None = None,
    seed: int = 0,
    seeds: int = 1,
    device: str = "auto",
    with_runs: Sequence[str | Path] = (),
    runs: str | Path = "runs",
    out: str | Path | None = None,
    replace: bool = False,
    progress: bool = False,
) -> Comparison:
    """Trains every rung that suits the data under one budget, and returns the leaderboard, as `wenmai compare` does.

    data : a file, a folder or a built-in set by its name; or columns: {"text": texts, "label": labels}, or a table of pandas
    minutes : for all rungs together
    rungs : only these
    task, columns, target, delimiter, skip_bad : how the data is read, as on the command line
    valid, test : a share of the rows, or a file
    unseen : drop valid and test rows whose input stands in the training rows
    metric : what rungs are ranked by, where it is not the task's own
    options : of the rungs, by name; a rung that lacks one goes without
    seeds : train each rung so many times
    with_runs : runs to add as rows; checkpoints, and runs of another task, are fine-tuned first
    runs, out : where runs and the report go; runs/ and reports/NAME without them
    replace : also runs of other data, and trainings that were not finished
    progress : show how it goes
    """
    source = data if isinstance(data, (str, Path)) else in_memory(data, columns)
    source, columns = (str(source), columns) if not isinstance(source, Table) else (source, None)
    dataset = open_dataset(
        source,
        TASKS,
        task,
        dict(columns) if columns else None,
        str(valid),
        str(test),
        seed,
        unseen,
        dict(options or {}),
        target,
        delimiter,
        skip_bad,
        columns_of(with_runs),
    )
    dataset.check()
    steps = steps_of(
        dataset,
        minutes,
        list(rungs) if rungs else None,
        seed,
        seeds,
        device,
        tuple(map(str, with_runs)),
        dict(options or {}),
        Path(runs),
        replace=replace,
        metric=metric,
    )
    folder = Path(out) if out else Path("reports") / dataset.name.replace(":", "-")
    reporting.check_place(folder)
    with bars(quiet=not progress) as draw:
        report = draw.through(steps)
    return Comparison(
        report, next(path for path in reporting.write(report, folder) if path.name == "report.html")
    )


def in_memory(data, columns: Mapping[str, str] | None) -> Table:
    """Columns by their names, as a table of a file has them."""
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise Mistake(
            'found {type}, expected a file, a built-in set, or columns such as {{"text": texts, "label": labels}}.',
            type=type(data).__name__,
        )
    names = {str(name): name for name in (data if isinstance(data, Mapping) else data.columns)}
    chosen = columns or {name: name for name in names}
    for word_, name in chosen.items():
        if name not in names:
            raise Mistake(
                'the data has no column "{name}"; its columns are {names}. Say which of them is the {word}.',
                name=name,
                names=", ".join(names),
                word=word_,
            )
    held = {word_: listed(data[names[name]]) for word_, name in chosen.items()}
    lengths = {name: len(values) for name, values in held.items()}
    if len(set(lengths.values())) > 1:
        each = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise Mistake(
            "the columns are of different lengths ({lengths}); expected a value in each for every row.",
            lengths=each,
        )
    chunk = Chunk(held, range(1, 1 + next(iter(lengths.values()), 0)))
    name = f"data:{digest_of(*held.values())[:8]}"  # other rows are other data
    return Table(name, list(held), [], lambda rows: iter([chunk]))
