"""The page of an inspection: how large it is, how long it takes to make, and in Chromium until it can be used; and its memory.

    python benchmarks/inspection_page.py                    512 tokens × 6 layers × 12 heads, and 32 tokens
    python benchmarks/inspection_page.py --tokens 128       another size

Usable: the first map is painted and answers the keyboard. All: every head is painted small. Weights are drawn at random, sharper
and flatter heads among them: such are packed worse than a trained model's. To be reached: under 20 MB, usable in under 3 s."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "page"))

import made_up
from playwright.sync_api import sync_playwright

from wenmai.page import inspection_page

PAINTED = "() => document.querySelector('#panel-attention .reading')?.textContent.includes(': ')"
ALL = """() => [...document.querySelectorAll('#panel-attention .heads canvas')].every(canvas =>
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean))"""


def measured(chromium, tokens: int, folder: Path) -> dict:
    inspection, began = made_up.long(tokens), time.perf_counter()
    text = inspection_page.page(inspection)
    made = time.perf_counter() - began
    file = folder / f"{tokens}.html"
    file.write_text(text, encoding="utf-8")
    page = chromium.new_page()
    devices = page.context.new_cdp_session(page)
    began = time.perf_counter()
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_function(PAINTED)
    page.locator("#panel-attention .heat").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "() => document.querySelector('#panel-attention .reading').textContent.startsWith('w1 ')"
    )
    usable = time.perf_counter() - began
    page.wait_for_function(ALL, polling=50)
    every = time.perf_counter() - began
    switch = time.perf_counter()
    for head in range(1, 12):  # as a reader goes through them
        page.locator("#panel-attention select").nth(1).select_option(index=head)
        page.wait_for_timeout(0)
    switch = (time.perf_counter() - switch) / 11
    devices.send("HeapProfiler.collectGarbage")
    heap = devices.send("Runtime.getHeapUsage")
    page.close()
    return {
        "MB": len(text.encode()) / 1e6,
        "made s": made,
        "usable s": usable,
        "all s": every,
        "a head ms": 1000 * switch,
        "heap MB": (heap["usedSize"] + heap.get("backingStorageSize", 0)) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, nargs="*", default=[32, 512])
    sizes = parser.parse_args().tokens
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        chromium = started.chromium.launch(executable_path=program, args=arguments)
        measured(chromium, 16, Path(folder))  # what is slow the first time is not the page's
        for tokens in sizes:
            found = measured(chromium, tokens, Path(folder))
            print(
                f"{tokens} tokens × 72 heads: "
                + ", ".join(f"{name} {value:.3g}" for name, value in found.items()),
                flush=True,
            )
        chromium.close()


if __name__ == "__main__":
    main()
