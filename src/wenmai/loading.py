"""What a run folder holds, made again: task, inputs and model, and how the model was built."""

from dataclasses import dataclass
from pathlib import Path

from wenmai.catalog import TASKS, Build
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.data.text.lines import Lines
from wenmai.training import run_folder
from wenmai.training.progress import Progress


@dataclass
class Loaded:
    task: object
    inputs: object
    model: object
    build: Build
    options: dict  # as they were given
    progress: list[Progress]


def load_parts(run: str | Path, device: str) -> Loaded:
    saved = run_folder.read(Path(run))
    with run_folder.understood(saved.path / "run.json"):
        task = take.value(saved.about, "task")
        task = TASKS[take.one_of(task, "name", tuple(TASKS))].from_json(task)
        options = take.value(saved.about, "options")
        build = Build.from_json(take.text(saved.about, "rung"), take.value(saved.about, "build"))
    with run_folder.understood(saved.path / "inputs.json"):
        inputs = kinds_of_input.from_json(saved.inputs)
    if isinstance(inputs, Lines):
        with run_folder.understood(saved.path / "weights.safetensors") as path:
            inputs.take_arrays(arrays.mapped(path)[0])
    with run_folder.understood(saved.path / "run.json"):
        layers = build.options.get("layers", 0)
        model = run_folder.load_weights(lambda: build.model(task, inputs), layers, saved, device)
    return Loaded(task, inputs, model, build, options, saved.progress)
