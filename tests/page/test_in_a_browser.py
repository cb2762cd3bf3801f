"""The page in a real Chromium: its numbers, by mouse and keyboard, in both languages and themes, wide and narrow; nothing is
asked of anybody, nothing complained of, and axe finds nothing serious."""

from pathlib import Path

import made_up
import numpy as np
import pytest

from wenmai.page import inspection_page
from wenmai.page.panels import Inspection

EVERY = [
    (lang, theme, width)
    for lang in ("en", "zh")
    for theme in ("light", "dark")
    for width in (1200, 390)
]


@pytest.fixture(scope="session")
def page_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / f"a {made_up.HARM.replace('/', '_')} page.html"
    path.write_text(inspection_page.page(made_up.inspection()), encoding="utf-8")
    return path


def written(number: float) -> str:
    """As the script writes a number."""
    return f"{number:.2e}".replace("e-0", "e-") if 0 < abs(number) < 1e-3 else f"{number:.3f}"


def panel(page, name: str):
    return page.locator(f"#panel-{name}")


@pytest.mark.each_value
@pytest.mark.parametrize(("lang", "theme", "width"), EVERY)
def test_every_panel_is_drawn(opened, page_file, lang, theme, width):
    with opened(page_file, lang, theme, width) as page:
        assert page.evaluate("document.documentElement.lang") == lang
        assert page.locator("main > section").count() == len(made_up.inspection().panels)
        assert page.evaluate(
            "[...document.querySelectorAll('main > section > figure')].every(one => one.childNodes.length)"
        )
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            "nothing is wider than the page"
        )
        assert (
            panel(page, "attention").get_by_text("热力图" if lang == "zh" else "heat map").count()
            == 1
        )
        assert page.locator("h1").inner_text().endswith(made_up.HARM)
        assert page.evaluate("document.scripts.length") == 1  # the data was read and removed


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "theme", "width"), EVERY)
def test_axe_finds_nothing_serious(opened, page_file, lang, theme, width):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe judges pages: install axe-playwright-python",
    )
    with opened(page_file, lang, theme, width, bypass_csp=True) as page:
        for details in page.locator("details.numbers > summary").all()[:12]:
            details.click()
        found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert not serious, serious


@pytest.mark.slow
def test_a_heat_map_is_read_by_keyboard(opened, page_file):
    values = made_up.attention().values
    with opened(page_file) as page:
        own = panel(page, "attention")
        reading = own.locator(".reading")
        assert reading.inner_text() == f"He → He: {written(values[0, 0, 0, 0])}"
        own.locator(".heat").focus()
        for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
            page.keyboard.press(key)
        assert reading.inner_text() == f"tossed → this: {written(values[0, 0, 1, 2])}"
        page.keyboard.press("End")
        assert reading.inner_text() == f"tossed → {made_up.HARM}: {written(values[0, 0, 1, -1])}"
        own.locator("select").nth(0).select_option(index=1)
        own.locator("select").nth(1).select_option(index=3)
        page.wait_for_function(
            "document.querySelector('#panel-attention .reading').textContent.endsWith(arguments0)".replace(
                "arguments0", repr(written(values[1, 3, 1, -1]))
            )
        )
        assert (
            own.locator(".heads button[aria-pressed=true]").get_attribute("aria-label")
            == "layer 2, head 4"
        )
        own.locator(".heads button").nth(2).click()
        page.wait_for_timeout(50)
        assert own.locator("select").nth(1).input_value() == "2"
        assert reading.inner_text().endswith(written(values[0, 2, 1, -1]))


@pytest.mark.slow
def test_a_heat_map_is_read_by_mouse_and_has_its_colours(opened, page_file):
    values = made_up.attention().values[0, 0]
    with opened(page_file) as page:
        own = panel(page, "attention")
        own.locator(".reading").scroll_into_view_if_needed()
        box = own.locator(".heat canvas").bounding_box()
        rows, columns = values.shape
        cell = 34
        left, top = box["width"] - columns * cell - 2, box["height"] - rows * cell - 2
        for row, column in ((0, 0), (2, 5), (7, 6)):
            x, y = left + (column + 0.5) * cell, top + (row + 0.15) * cell
            page.mouse.move(box["x"] + x, box["y"] + y)
            assert own.locator(".reading").inner_text().endswith(written(values[row, column]))
        page.mouse.move(box["x"] + left + 1.5 * cell, box["y"] + top + 1.5 * cell)
        colours = page.evaluate(
            """([left, top, cell, rows, columns]) => {
            const canvas = document.querySelector('#panel-attention .heat canvas'), {width, height} = canvas
            const {data} = canvas.getContext('2d').getImageData(0, 0, width, height), each = size => [...Array(size).keys()]
            const at = (r, c) => (Math.round(top + (r + .15) * cell) * width + Math.round(left + (c + .2) * cell)) * 4
            return each(rows).map(r => each(columns).map(c => [...data.slice(at(r, c), at(r, c) + 4)]))}""",
            [left, top, cell, rows, columns],
        )
        seen = 255 - np.array(colours)[..., 1]  # the more, the less green
        assert np.corrcoef(seen.ravel(), np.minimum(values, 0.7).ravel())[0, 1] > 0.99


@pytest.mark.slow
def test_all_numbers_of_a_map_stand_in_a_table(opened, page_file):
    values = made_up.attention().values[0, 0]
    with opened(page_file) as page:
        own = panel(page, "attention")
        own.locator("details.numbers > summary").click()
        own.locator("details.numbers tbody tr").first.wait_for()
        cells = own.locator("details.numbers tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
        )
        assert cells == [[written(x) for x in row] for row in values]


@pytest.mark.slow
def test_lines_between_words_carry_their_weights(opened, page_file):
    values = made_up.attention().values[0, 0]
    with opened(page_file) as page:
        own = panel(page, "attention")
        own.get_by_role("button", name="lines").click()
        found = own.locator(".lines path").evaluate_all(
            "paths => paths.map(path => +path.dataset.value)"
        )
        top = 1.0 if values.max() >= 0.5 else values.max()
        assert np.allclose(sorted(found), np.sort(values[values > 0.03 * top]))
        own.locator(".lines").focus()
        page.keyboard.press("ArrowDown")
        assert own.locator(".reading").inner_text().startswith("tossed → ")
        assert own.locator(".reading").inner_text().endswith(written(values[1].max()))


@pytest.mark.slow
def test_a_picture_is_laid_under_its_patches(opened, page_file):
    values = made_up.patches().values
    with opened(page_file) as page:
        own = panel(page, "patches")
        own.locator(".picture").focus()
        for key in ("ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        assert own.locator(".reading").inner_text() == f"1 → 1,1: {written(values[0, 5])}"
        own.locator(".view select").select_option(index=2)
        assert own.locator(".reading").inner_text() == f"3 → 1,1: {written(values[2, 5])}"


@pytest.mark.slow
def test_tokens_bars_curves_points_and_tables_have_their_numbers(opened, page_file):
    with opened(page_file) as page:
        tokens = made_up.tokens()
        own = panel(page, "moved")
        assert (
            own.locator(".token").evaluate_all("all => all.map(one => +one.dataset.value)")
            == tokens.values[0].tolist()
        )
        own.get_by_role("button", name="occlusion").click()
        assert (
            own.locator(".token").evaluate_all("all => all.map(one => +one.dataset.value)")
            == tokens.values[1].tolist()
        )
        assert own.locator(".token .word").nth(7).inner_text() == made_up.HARM
        assert panel(page, "removals").locator("td.n").all_inner_texts() == [
            "0.500",
            "0.250",
            "-0.125",
            "0.063",
        ]
        widths = (
            panel(page, "removals")
            .locator(".bar i")
            .evaluate_all("all => all.map(one => parseFloat(one.style.width))")
        )
        assert widths == [50, 25, 12.5, 6.25]
        dots = (
            panel(page, "surprise")
            .locator("circle[data-value]")
            .evaluate_all("all => all.map(one => +one.dataset.value)")
        )
        assert dots == made_up.by_token().values.ravel().tolist()
        panel(page, "flow").locator(".chart").focus()
        page.keyboard.press("End")
        reading = panel(page, "flow").locator(".reading").inner_text()
        assert (
            reading
            == f"20: lstm {0.9**20:.3f}, rnn {written(0.6**20)}, {made_up.HARM} {0.99**20:.3f}"
        )
        panel(page, "map").locator("input").fill("狗")
        place = made_up.points().places[3]
        assert (
            panel(page, "map")
            .locator(".reading")
            .inner_text()
            .startswith(f"狗 ({written(place[0])}, {written(place[1])})")
        )
        assert panel(page, "nearest").locator("tbody tr").nth(0).inner_text().split() == [
            "cat",
            "0.988",
            "3",
        ]
        assert "layers/attention.py:75" in panel(page, "formula").inner_text()
        assert panel(page, "formula").locator("tr").nth(3).inner_text().split() == [
            "s",
            "=",
            "0.125",
        ]
        assert (
            panel(page, "structure").locator("g.box").count() == 5
            and panel(page, "structure").locator(".arrow").count() == 5
        )


@pytest.mark.slow
def test_what_is_compared_is_picked_together(opened, page_file):
    with opened(page_file) as page:
        own = panel(page, "runs")
        pairs = own.locator(".kind-matrix")
        pairs.nth(0).locator("select").nth(1).select_option(index=2)
        page.wait_for_timeout(50)
        assert pairs.nth(1).locator("select").nth(1).input_value() == "2"
        for at in range(2):
            expected = made_up.attention(made_up.ENGLISH, seed=10 + at).values[0, 2, 0, 0]
            assert pairs.nth(at).locator(".reading").inner_text().endswith(written(expected))


@pytest.mark.slow
def test_a_slider_goes_over_checkpoints_and_keeps_the_pick(opened, page_file):
    with opened(page_file) as page:
        own = panel(page, "checkpoints")
        assert own.locator(".slider output").inner_text() == "step 30"
        own.locator("select").nth(1).select_option(index=3)
        own.locator("input[type=range]").focus()
        page.keyboard.press("Home")
        assert own.locator(".slider output").inner_text() == "step 10"
        page.wait_for_timeout(50)
        expected = made_up.attention(made_up.ENGLISH, seed=10).values[0, 3, 0, 0]
        assert own.locator(".reading").nth(0).inner_text().endswith(written(expected))


@pytest.mark.slow
def test_the_caption_leads_to_what_is_switched_off(opened, page_file):
    with opened(page_file, width=390) as page:
        link = panel(page, "attention").get_by_role("link")
        assert link.get_attribute("href") == "#panel-removals"
        link.click()
        page.wait_for_timeout(300)
        assert panel(page, "removals").evaluate(
            "one => Math.abs(one.getBoundingClientRect().top) < 200"
        )


@pytest.mark.slow
def test_the_language_is_changed_on_the_page(opened, page_file):
    with opened(page_file) as page:
        page.get_by_role("link", name="中文").click()
        assert panel(page, "attention").get_by_role("button", name="热力图").count() == 1
        assert (
            page.locator("#panel-attention .heads button").first.get_attribute("aria-label")
            == "layer 1, head 1"
        )
        assert panel(page, "map").locator(".keys bdi").all_inner_texts() == [
            "名称",
            "值",
        ]  # names that are words of ours
        page.get_by_role("link", name="English").click()
        assert panel(page, "map").locator(".keys bdi").all_inner_texts() == ["name", "value"]
        assert panel(page, "attention").get_by_role("button", name="heat map").count() == 1


@pytest.mark.slow
def test_a_notebooks_frame_draws_and_changes_its_language(opened, tmp_path):
    file = tmp_path / "notebook.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8>{inspection_page.html_of(made_up.inspection())}",
        encoding="utf-8",
    )
    with opened(file) as page:
        frame = page.frame_locator("iframe")
        assert frame.locator("#panel-attention .reading").inner_text().startswith("He → He: ")
        frame.get_by_role("link", name="中文").click()
        assert frame.locator("#panel-attention").get_by_role("button", name="热力图").count() == 1
        frame.get_by_role("link", name="Gates").first.click()
        assert frame.locator("#panel-attention .reading").count() == 1  # the frame went nowhere


@pytest.mark.slow
def test_it_prints(opened, page_file, tmp_path):
    with opened(page_file, theme="dark") as page:
        page.pdf(path=tmp_path / "page.pdf")
        assert (tmp_path / "page.pdf").stat().st_size > 50_000


@pytest.mark.slow
def test_a_map_of_512_tokens_and_72_heads_can_be_used(opened, tmp_path):
    inspection = made_up.long()
    text = inspection_page.page(inspection)
    assert len(text.encode()) < 20_000_000
    (tmp_path / "long.html").write_text(text, encoding="utf-8")
    values = inspection.panels[0].values
    with opened(tmp_path / "long.html") as page:
        own = panel(page, "attention")
        own.locator(".heat").focus()
        for key in ("ArrowDown", "PageDown", "End", "+", "+", "ArrowLeft"):
            page.keyboard.press(key)
        own.locator("select").nth(0).select_option(index=5)
        own.locator("select").nth(1).select_option(index=11)
        page.wait_for_timeout(100)
        row, _, column, _, about, value = (
            own.locator(".reading").inner_text().replace(":", " :").split()
        )
        assert (
            about == "≈"
            and abs(float(value) - values[5, 11, int(row[1:]), int(column[1:])])
            < 0.01 * values[5, 11].max()
        )
        own.locator("details.numbers > summary").click()
        own.locator("details.numbers tbody tr").nth(49).wait_for()
        assert own.locator("details.numbers tbody tr").count() == 50


@pytest.mark.slow
def test_lists_that_are_long_are_drawn_too(opened, tmp_path):
    """More numbers than stand in the page as they are."""
    points, tokens, bars = made_up.points(), made_up.tokens(), made_up.bars()
    generator = np.random.default_rng(0)
    points.names, points.places, points.groups = (
        [f"w{at}" for at in range(3000)],
        generator.normal(size=(3000, 2)),
        (),
    )
    tokens.tokens, tokens.values = (
        [f"t{at}" for at in range(5000)],
        generator.normal(size=(2, 5000)),
    )
    bars.names, bars.values, bars.details = [f"b{at}" for at in range(5000)], np.arange(5000.0), ()
    (tmp_path / "many.html").write_text(
        inspection_page.page(Inspection(points.title, [], [points, tokens, bars])), "utf-8"
    )
    with opened(tmp_path / "many.html") as page:
        assert panel(page, "map").locator("circle").count() > 2000
        assert panel(page, "moved").locator(".token").count() == 5000
        assert panel(page, "removals").locator("tbody tr").count() == 30
        panel(page, "removals").get_by_role("button").click()
        assert panel(page, "removals").locator("tbody tr").count() == 5000
