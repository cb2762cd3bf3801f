"""make stubs: writes src/wenmai/__init__.pyi, by which editors know every option of every estimator."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from wenmai.describing import default_of, kind_of, options_of
from wenmai.estimators import NAMED

STUB = Path(__file__).resolve().parents[1] / "src" / "wenmai" / "__init__.pyi"
WIDTH = 126
HEAD = """# By tools/stubs.py, from the signatures of rungs, tasks and training: `make stubs` after an option has changed.
from typing import Literal

from wenmai.data.files.sounds import sounds as sounds
from wenmai.errors import Mistake as Mistake
from wenmai.estimators import load as load
{imports}
from wenmai.evaluation.comparison import compare as compare
from wenmai.exchange.hugging_face import checkpoint as checkpoint
from wenmai.inspection.inspecting import inspect as inspect

__version__: str
"""


def written() -> str:
    imports = "\n".join(
        sorted(
            f"from {kind.__module__} import {kind.__name__} as _{kind.__name__}"
            for kind in NAMED.values()
        )
    )
    return "\n".join([HEAD.format(imports=imports), *map(stub_of, NAMED.values())])


def stub_of(kind: type) -> str:
    """The class as it is, with every option in its signature; what each means, its `__doc__` says."""
    rungs = ", ".join(
        f'"{rung}"'
        for rung in dict.fromkeys(rung for _, rungs in options_of(kind).values() for rung in rungs)
    )
    given = [f"self, rung: Literal[{rungs}], *"]
    for name, (options, _) in options_of(kind).items():
        default = default_of(options)
        given.append(
            f"{name}: {union(map(kind_of, options))} = {'...' if default is None else repr(default[0])}"
        )
    lines = ["    def __init__("]
    for one in given:
        lines += [""] if len(lines) == 1 or len(lines[-1]) + len(one) > WIDTH else []
        lines[-1] = f"{lines[-1] or '       '} {one},"
    return "\n".join(
        [f"class {kind.__name__}(_{kind.__name__}):", *lines, "    ) -> None: ...", ""]
    )


def union(kinds: Iterable[str]) -> str:
    """int | None of int and int | None."""
    return " | ".join(
        dict.fromkeys(part for kind in kinds for part in re.split(r" \| (?![^\[]*\])", kind))
    )


def main() -> int:
    STUB.write_text(written(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
