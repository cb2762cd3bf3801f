"""The lab as a browser shows it, for the READMEs: a comparison on built-in data, served, and looked at in Chromium.

    python docs/screenshots.py            trains for two minutes; into docs/pictures/lab-*.png, in both languages
    python docs/screenshots.py FOLDER     with what stands there already: runs/ and reports/

It wants playwright, pillow and a Chromium."""

import io
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
RUNGS = "ngram,softmax,cnn,gru,transformer"
LARGEST = 150_000  # bytes


def compare(page: Page) -> None:
    page.locator("#part-compare .kind-points .chart svg").first.wait_for()


def climb(page: Page) -> None:
    page.locator("#part-climb select").nth(1).select_option(index=3)
    page.locator("button.go").click()
    page.locator(".rungs > li").nth(4).wait_for()


def inside(page: Page) -> None:
    runs = page.locator("#part-inside select").first
    runs.wait_for()
    names = runs.locator("option").all_inner_texts()
    runs.select_option(index=next(at for at, name in enumerate(names) if "transformer" in name))
    page.locator("#part-inside textarea").fill("livre libanaise")
    page.locator("button.go").click()
    page.locator("#panel-attention .heat canvas").wait_for()


SHOTS = {
    "compare": (compare, "light", 1340),
    "climb": (climb, "light", 1500),
    "inside": (inside, "dark", 1300),
}


def small(png: bytes) -> bytes:
    """With as many colours as a page has, which halves it and more."""
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(128)
    picture.save(file := io.BytesIO(), "PNG", optimize=True)
    return file.getvalue()


def main() -> None:
    folder = (
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="wenmai-lab-"))
    )
    wenmai = [sys.executable, "-m", "wenmai"]
    if not (folder / "reports").is_dir():
        subprocess.run(
            [*wenmai, "compare", "languages", "--rungs", RUNGS, "--minutes", "2", "--quiet"],
            cwd=folder,
            check=True,
        )
    server = subprocess.Popen(
        [*wenmai, "serve", "runs", "--port", "0", "--json"], cwd=folder, stdout=subprocess.PIPE
    )
    try:
        url = json.loads(server.stdout.readline())["url"]
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for name, (act, theme, height) in SHOTS.items():
                for lang, place in (("en", "en-US"), ("zh", "zh-CN")):
                    page = browser.new_page(
                        locale=place, color_scheme=theme, viewport={"width": 1100, "height": height}
                    )
                    page.goto(f"{url}/#{name}")
                    act(page)
                    page.wait_for_timeout(500)
                    png = small(page.screenshot())
                    assert len(png) < LARGEST, (name, len(png))
                    (PICTURES / f"lab-{name}.{lang}.png").write_bytes(png)
                    print(f"lab-{name}.{lang}.png", len(png))
                    page.close()
            browser.close()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


if __name__ == "__main__":
    main()
