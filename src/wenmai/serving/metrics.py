"""What the server counts of itself, as Prometheus reads it (text format 0.0.4)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
HELP = {
    "wenmai_requests_total": ("counter", "Requests answered, by route and status."),
    "wenmai_request_seconds": ("histogram", "Seconds from a request to its answer, by route."),
    "wenmai_batch_rows": ("histogram", "Inputs that were answered together."),
    "wenmai_answers_total": ("counter", "Inputs answered, by run."),
    "wenmai_tokens_total": ("counter", "Tokens written, by run."),
    "wenmai_abandoned_total": ("counter", "Requests whose client went away before the answer."),
    "wenmai_waiting": ("gauge", "Requests that wait for an answer."),
    "wenmai_writing": ("gauge", "Texts that are being written."),
    "wenmai_runs_loaded": ("gauge", "Runs that are held in memory."),
    "wenmai_runs_bytes": ("gauge", "Bytes that the loaded runs take."),
    "wenmai_trainings": ("gauge", "Trainings under way."),
}


class Metrics:
    def __init__(self):
        self.counts: dict[tuple, float] = defaultdict(float)  # (name, labels) → so many
        self.histograms: dict[tuple, list] = {}  # (name, labels) → [bounds, counts, sum]
        self.gauges: dict[str, Callable[[], float]] = {}  # asked when somebody reads them

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        self.counts[name, tuple(sorted(labels.items()))] += by

    def observe(self, name: str, value: float, bounds: tuple = SECONDS, **labels: str) -> None:
        own = self.histograms.setdefault(
            (name, tuple(sorted(labels.items()))), [bounds, [0] * (len(bounds) + 1), 0.0]
        )
        own[1][bisect_left(own[0], value)] += 1
        own[2] += value

    def text(self) -> str:
        lines: dict[str, list[str]] = {name: [] for name in HELP}
        for (name, labels), value in sorted(self.counts.items()):
            lines[name].append(f"{name}{written(labels)} {value:g}")
        for name, ask in self.gauges.items():
            lines[name].append(f"{name} {ask():g}")
        for (name, labels), (bounds, counts, total) in sorted(self.histograms.items()):
            so_far = 0
            for bound, count in zip((*bounds, "+Inf"), counts):
                so_far += count
                lines[name].append(
                    f"{name}_bucket{written((*labels, ('le', str(bound))))} {so_far}"
                )
            lines[name] += [
                f"{name}_sum{written(labels)} {total:.6f}",
                f"{name}_count{written(labels)} {so_far}",
            ]
        output = []
        for name, own in lines.items():
            kind, words = HELP[name]
            output += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *own] if own else []
        return "\n".join(output) + "\n"


def written(labels: tuple) -> str:
    parts = (f'{name}="{escaped(value)}"' for name, value in labels)
    return "{" + ",".join(parts) + "}" if labels else ""


def escaped(value: str) -> str:
    return (
        value.replace("\\", r"\\")
        .replace('"', r"\"")
        .replace("\n", r"\n")
        .encode("utf-8", "replace")
        .decode()
    )
