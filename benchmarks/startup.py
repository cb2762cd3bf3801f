"""How long until something can happen: `import wenmai` in a fresh process, and the whole of `wenmai --help`.

The start of a bare interpreter is measured beside them, taking turns, and taken off the import turn by turn.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import turns
from turns import Spread

MANY = 20


def timed(command: list[str]) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {"seconds": time.perf_counter() - began}

    return run


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.set_defaults(turns=MANY)
    options = parser.parse_args()
    script = Path(sys.executable).with_name("wenmai")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "wenmai"]
    contestants = {
        "bare": timed([sys.executable, "-c", "pass"]),
        "import": timed([sys.executable, "-c", "import wenmai"]),
        "help": timed([*command, "--help"]),
    }
    for contestant in contestants.values():
        contestant()  # compiles to .pyc, fills the disk's cache
    results = turns.take_turns(contestants, options.turns)
    seconds = {name: [turn["seconds"] for turn in measured] for name, measured in results.items()}
    seconds["import alone"] = [
        whole - bare for whole, bare in zip(seconds["import"], seconds["bare"])
    ]
    rows = {
        "the bare interpreter": "bare",
        "import wenmai, the interpreter's start taken off": "import alone",
        "wenmai --help, the whole command": "help",
    }
    print(f"| start | seconds, median (least–most) of {options.turns} |\n| --- | ---: |")
    for words, name in rows.items():
        print(f"| {words} | {Spread.of(seconds[name]).text()} |")
    turns.finish({"seconds": seconds}, options.json)


if __name__ == "__main__":
    main()
