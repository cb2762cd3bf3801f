"""Scripts and styles that are written into pages, and the policy under which a page runs its script and nothing else."""

import base64
import hashlib
from functools import cache
from pathlib import Path


@cache
def asset(*names: str) -> str:
    """These files of this folder, one after the other."""
    return (
        "\n".join((Path(__file__).parent / name).read_text("utf-8").rstrip("\n") for name in names)
        + "\n"
    )


def policy(script: str) -> str:
    """Only this very script may run in the page, and nothing is fetched from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
