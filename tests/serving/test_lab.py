"""The lab in a real Chromium: every part of it, in both languages and themes, wide and narrow; nothing is asked of anybody but
the server, nothing complained of, and axe finds nothing serious."""

from contextlib import contextmanager
from pathlib import Path

import made
import numpy as np
import pytest
from client import serving

import wenmai
from wenmai.serving import lab
from wenmai.serving.lab.words import WORDS

EVERY = [
    (lang, theme, width)
    for lang in ("en", "zh")
    for theme in ("light", "dark")
    for width in (1200, 390)
]
PARTS = ("try", "climb", "guess", "compare", "inside", "train")
TEXT = "a lovely film of great actors"


@pytest.fixture
def opened(chromium):
    @contextmanager
    def open_page(server, part="try", lang="en", theme="light", width=1200, **how):
        context = chromium.new_context(
            color_scheme=theme,
            locale={"en": "en-US", "zh": "zh-CN"}[lang],
            viewport={"width": width, "height": 900},
            **how,
        )
        page, said, asked, own = context.new_page(), [], [], f"http://127.0.0.1:{server.port}/"
        page.set_default_timeout(30_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{own}#{part}")
        page.locator(f"#part-{part} h1").wait_for()
        try:
            yield page
        finally:
            context.close()
        assert not said, said
        assert all(url.startswith((own, "data:", "blob:")) for url in asked), asked

    return open_page


def choose(page, wanted: str, at: int = 0) -> None:
    select = page.locator("main select").nth(at)
    select.wait_for()
    names = select.locator("option").all_inner_texts()
    select.select_option(index=next(i for i, name in enumerate(names) if wanted in name))


def test_the_page_is_small_and_says_all_in_both_languages():
    assert sum(len(text.encode()) for text in lab.files().values()) < 800_000
    script = "".join(
        text for name, text in lab.files().items() if name.endswith(".js") and name != "renderer.js"
    )
    assert "innerHTML" not in script and "eval(" not in script and "https://" not in script
    missing = [name for name, words in WORDS.items() if words.told_in("zh") == words.told_in("en")]
    assert not missing, missing
    page = lab.files()["index.html"]
    assert (
        "<style" not in page
        and "style=" not in page
        and page.count("<script") == page.count('<script src="/lab') + 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "theme", "width"), EVERY)
def test_every_part_is_shown(opened, server, lang, theme, width):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe judges pages: axe-playwright-python"
    )
    with opened(server, "try", lang, theme, width, bypass_csp=True) as page:
        for part in PARTS:
            page.evaluate(f"location.hash = '{part}'")
            page.locator(f"#part-{part} h1").wait_for()
            title = WORDS["try_" if part == "try" else part].told_in(lang)
            assert page.locator("h1").inner_text() == title
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), part
            found = axe.Axe().run(page).response["violations"]
            serious = [
                (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert not serious, (part, serious)


def test_try_every_run_answers_side_by_side(opened, server):
    with opened(server) as page:
        choose(page, "classify · text →")
        page.locator("main textarea").fill(TEXT)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        cards = page.locator(".card")
        page.locator(".card .said").nth(2).wait_for()
        assert cards.locator("h3").all_inner_texts() == [
            "reviews-softmax",
            "reviews-gru",
            "reviews-transformer",
        ]
        assert cards.locator(".odds tr").count() == 6 and "ms" in cards.first.inner_text()
        page.get_by_role("button", name="中文").click()
        assert page.get_by_role("button", name=WORDS["ask"].told_in("zh")).count() == 1


@pytest.mark.slow
def test_try_texts_are_written_as_they_come(opened, server):
    with opened(server) as page:
        choose(page, "generate")
        page.locator("main textarea").fill("the film")
        page.locator("main input[type=number]").first.fill("12")
        page.locator("button.go").click()
        for card in page.locator(".card").all():
            card.get_by_text(" ms").wait_for()
        texts = page.locator(".card .text").all_inner_texts()
        assert len(texts) == 3 and all(
            text.startswith("the film") and len(text) > 12 for text in texts
        )


@pytest.mark.slow
def test_climb_marks_wrong_answers_and_looks_inside(opened, server):
    with opened(server, "climb") as page:
        choose(page, "classify · text →")
        page.locator("main textarea").fill(TEXT)
        page.locator("main input").fill("pos")
        page.locator("button.go").click()
        page.locator(".rungs > li").nth(2).wait_for()
        assert all(mark[0] in "✓✗" for mark in page.locator(".mark").all_inner_texts())
        page.locator(".rungs details").nth(2).locator("summary").first.click()
        page.locator(".rungs .panel figure > *").first.wait_for()


@pytest.mark.slow
def test_guess_first_keeps_a_score(opened, server):
    with opened(server, "guess") as page:
        choose(page, "classify · text →")
        page.locator("main textarea").fill(f"{TEXT}\tpos\nan awful dull story\tneg")
        page.locator("button.go").click()
        page.get_by_role("button", name="pos", exact=True).click()
        page.locator("[data-score=you]").wait_for()
        assert page.locator("[data-score=you]").inner_text() == "1"
        page.get_by_role("button", name="Begin (2)").click()
        page.get_by_role("button", name="pos", exact=True).click()
        page.get_by_text("It was").wait_for()
        assert page.locator("[data-score=you]").inner_text() == "1"
        choose(page, "generate")
        page.locator("main textarea").fill("the film was good")
        page.locator("button.go").first.click()
        page.locator("main form").nth(1).locator("input").fill("film")
        page.keyboard.press("Enter")
        page.locator("[data-score=you]").wait_for()
        assert page.locator("[data-score=you]").inner_text() == "1"


@pytest.mark.slow
def test_compare_has_curves_and_mistakes(opened, server):
    with opened(server, "compare") as page:
        choose(page, "classify · text →")
        page.locator(".kind-curves .chart svg").first.wait_for()
        page.locator("main textarea").fill(f"{TEXT}\tpos\n{TEXT}\tneg")
        page.get_by_role("button", name="Find mistakes").click()
        page.locator("td.bad").first.wait_for()
        assert page.locator("td.bad").count() == 3


@pytest.mark.slow
def test_a_comparison_is_compared_and_climbed(opened, server):
    """Its report: recommendation, quality against cost with its axes, curves, mistakes; its runs on a row that one gets wrong."""
    with opened(server, "compare") as page:
        choose(page, "films · classify (compare)")
        page.locator(".kind-points .chart svg").wait_for()
        assert (
            page.locator("table.board tbody tr").count() == 3
            and "softmax is enough." in page.locator(".reason").inner_text()
        )
        assert "recommended" in page.locator("table.board tbody tr").first.inner_text()
        said = page.locator(".kind-points .chart svg text").all_text_contents()
        assert (
            "accuracy" in said
            and WORDS["cost_across"].told_in("en") in said
            and "10" in said
            and "0.900" in said
        )
        assert page.locator(".kind-curves .chart svg").count() == 1
        assert page.locator("table.worst td.bad").all_inner_texts() == ["✗ pos", "✗ pos"]
        page.evaluate("location.hash = 'climb'")
        page.locator("#part-climb form select").nth(1).wait_for()
        choose(page, "a dull film of awful music", 1)
        assert page.locator("main textarea").input_value() == "a dull film of awful music"
        page.locator("button.go").click()
        page.locator(".rungs > li").nth(2).wait_for()
        assert page.locator(".rungs > li .mark").count() == 3


@pytest.mark.slow
def test_a_sound_is_chosen_or_recorded(launched, tmp_path):
    """Chromium's microphone for tests beeps."""
    soundfile = pytest.importorskip("soundfile")
    times = np.arange(2400) / 8000
    sounds = [
        ((0.4 * np.sin(2 * np.pi * pitch * times)).astype(np.float32), 8000)
        for pitch in [300, 900] * 8
    ]
    model = wenmai.Classifier("gru", embed=8, hidden=8, epochs=1, mels=20).fit(
        wenmai.sounds(sounds), ["low", "high"] * 8
    )
    model.save(tmp_path / "runs" / "tones-gru")
    soundfile.write(tmp_path / "one.wav", *sounds[0])
    with serving("runs", cwd=tmp_path) as own:
        browser = launched("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
        page, said = browser.new_page(permissions=["microphone"]), []
        page.on(
            "console",
            lambda message: said.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{own.port}/#try")
        page.locator("main input[type=file]").wait_for()
        page.get_by_role("button", name="Record", exact=True).click()
        page.get_by_role("button", name="Stop recording").wait_for()
        page.wait_for_timeout(700)
        page.get_by_role("button", name="Stop recording").click()
        page.locator("main audio").wait_for()
        page.locator("button.go").click()
        page.locator(".card .said").wait_for()
        page.locator("main input[type=file]").set_input_files(tmp_path / "one.wav")
        page.locator("button.go").click()
        page.locator(".card .said").wait_for()
        browser.close()
        assert not said, said


@pytest.mark.slow
def test_inside_a_head_is_switched_off(opened, server):
    with opened(server, "inside") as page:
        choose(page, "reviews-transformer")
        page.locator("main textarea").fill(TEXT)
        page.locator("button.go").click()
        page.locator("#panel-attention .heat canvas").wait_for()
        page.locator("#panel-attention select").nth(1).select_option(index=1)
        switch = page.locator(".chips button").first
        name = switch.inner_text()
        switch.click()
        page.locator(".chips button[aria-pressed=true]").wait_for()
        assert page.locator(".chips button[aria-pressed=true]").inner_text() == name


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "theme", "width"), [("en", "light", 1200), ("zh", "dark", 390)])
def test_upload_train_curves_try(opened, tmp_path, lang, theme, width):
    """The whole way of somebody who comes with a file; the page is closed while it trains, and opened again."""
    (tmp_path / "runs").mkdir()
    file = Path(tmp_path / "films.csv")
    file.write_text(made.table())
    words = {name: message.told_in(lang) for name, message in WORDS.items()}
    with serving("runs", cwd=tmp_path) as own:
        with opened(own, "train", lang, theme, width) as page:
            page.locator("input[type=file]").set_input_files(file)
            page.locator("#preview").click()
            page.locator("#task").wait_for()
            assert page.locator("#task").inner_text() == "classify"
            for rung in page.locator(".checks label").all():
                rung.locator("input").set_checked(rung.inner_text() in ("softmax", "gru"))
            page.locator("main input[type=number]").fill("0.05")
            page.locator("#start").click()
            page.locator("#trainings article").nth(1).wait_for()
        with opened(own, "train", lang, theme, width) as page:
            page.set_default_timeout(120_000)
            page.locator("#trainings article[data-state=finished]").nth(1).wait_for()
            page.locator("#trainings .kind-curves .chart svg").first.wait_for()
            assert words["finished"] in page.locator("#trainings").inner_text()
            page.locator("#trainings a").first.click()
            page.locator("main textarea").fill(TEXT)
            page.locator("button.go").click()
            page.locator(".card .said").nth(1).wait_for()


@pytest.mark.slow
def test_a_token_is_asked_for_on_the_page(opened, made_runs, tmp_path, chromium):
    with serving(str(made_runs), "--token", "a-secret-of-ours", cwd=tmp_path) as own:
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{own.port}/")
        page.locator("input[type=password]").fill("a-secret-of-ours")
        page.keyboard.press("Enter")
        page.locator("#part-try h1").wait_for()
        page.close()
