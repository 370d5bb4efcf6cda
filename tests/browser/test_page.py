"""The page of a report in a real browser: content, no complaints, no requests, sorting, charts; screenshots are kept.

``make test-browser`` runs this test; without an installed Chromium the test is skipped. The pictures are in
``out/browser``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

import xoff
from chromium import Browser, installed
from xoff import plots, report

_ROOT = Path(__file__).resolve().parents[2]
_PICTURES = _ROOT / "out" / "browser"

pytestmark = pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run") / "result"
    sfc = {"switch.flow_control.sfc": {"threshold": "200KB", "pause": "10us"}}
    xoff.run(_ROOT / "examples" / "incast.toml", overrides={"probe.queues": "1us", **sfc}, out=place)
    return report.write(place)


@pytest.fixture(scope="module")
def study_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study") / "study"
    document = {
        "base": _ROOT / "examples" / "websearch.toml",
        # The name tries to break out of the page.
        "name": '</script><b onmouseover="alert(1)">loads & "thresholds"',
        "axes": {"workload[0].poisson.load": [0.3, 0.6, 0.9], "switch.ecn.red.kmax": ["200KB", "400KB"]},
        "variants": {"PFC": {"host": {"congestion_control": {"dcqcn": {"preset": "paper"}}}}, "other": {}},
        "seeds": 3,
    }
    xoff.sweep(document, out=place)
    return report.write(place)


@pytest.fixture(scope="module")
def job_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a pipeline of two ranks: rank 0 computes and sends, rank 1 receives and computes."""
    place = tmp_path_factory.mktemp("job") / "result"
    operations = [
        {"rank": 0, "kind": "compute", "name": "first", "duration": "400us"},
        {"rank": 0, "kind": "send", "name": "sent", "after": ["first"], "peer": 1, "size": "2MB", "label": "<b>PP"},
        {"rank": 1, "kind": "recv", "name": "got", "peer": 0, "size": "2MB", "label": "<b>PP"},
        {"rank": 1, "kind": "compute", "name": "last", "after": ["got"], "duration": "100us"},
    ]
    document = {
        "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"name": "job", "graph": {"operations": operations}}],
    }
    xoff.run(document, out=place)
    return report.write(place)


@pytest.fixture(params=["run", "study", "job"])
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(f"{request.param}_page")
    return found


def test_the_page_is_whole(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.complaints() == []
    # The file alone, and embedded content.
    assert [url for url in browser.requests() if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert len(browser.ask("document.body.innerText")) > 2000
    assert browser.ask("document.querySelectorAll('.u-wrap canvas').length") == browser.ask(
        "document.querySelectorAll('.chart-group, figure.spans').length"
    )
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    name = next(name for name in ("run", "study", "job") if f"/{name}" in str(page.parent))
    picture = browser.screenshot(_PICTURES / f"{name}.png")
    with Image.open(picture) as image:
        assert image.height > 1500
        # A page of text and charts has many colours; an empty page has one.
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 100


def test_every_chart_is_drawn(browser: Browser, page: Path) -> None:
    browser.open(page)
    # A line may hide another line's colour; a chart without any line has no line colour at all.
    palette = [int(colour.removeprefix("#"), 16) for colour in plots.COLOURS[:-1]]
    drawn = browser.ask(
        f"""[...document.querySelectorAll('.u-over')].map((over) => {{
            const canvas = over.closest('.u-wrap').querySelector('canvas');
            const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const colours = new Set();
            for (let at = 0; at < data.length; at += 4)
                if (data[at + 3] > 200) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
            return {palette}.some((colour) => colours.has(colour));
        }})"""
    )
    assert drawn
    assert all(drawn), drawn


def test_spans_of_ranks_are_drawn_zoomed_and_hidden(browser: Browser, job_page: Path) -> None:
    browser.open(job_page)
    blue, orange = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in plots.COLOURS[:2])

    def line(row: int) -> tuple[int, int]:
        """Returns how many pixels of the middle of a row are of computing and of messages, in the second figure."""
        found: list[int] = browser.ask(
            f"""(() => {{
                const canvas = document.querySelectorAll('figure.spans canvas')[1];
                const over = document.querySelectorAll('figure.spans .u-over')[1].getBoundingClientRect();
                const y = Math.round(over.top - canvas.getBoundingClientRect().top + over.height * (0.6 + {row}) / 2.2);
                const {{ data }} = canvas.getContext('2d').getImageData(0, y, canvas.width, 1);
                return [{blue}, {orange}].map((colour) => [...Array(canvas.width).keys()].filter((x) =>
                    colour.every((part, index) => data[4 * x + index] === part)).length);
            }})()"""
        )
        return found[0], found[1]

    left, top, width, height = browser.place("figure.spans ~ figure.spans .u-over")
    times = {row["rank"]: row for row in xoff.load(job_page.parent).messages.to_pylist()}
    end = 500e6 + times[0]["fct_ps"]
    computed, sent = (width * part / end for part in (400e6, times[0]["left_ps"] - 400e6))
    assert line(0) == pytest.approx((computed, sent), abs=3)
    assert line(1) == pytest.approx((width * 100e6 / end, width * (end - 100e6) / end), abs=3)
    browser.mouse("move", left + 0.1 * width, top + 0.25 * height)
    told = "document.querySelectorAll('figure.spans output')[1].textContent"
    assert browser.ask(told) == "rank 0: computing 0 to 400 µs"
    # A zoom into the first tenth leaves computing of rank 0 and the waiting receive of rank 1.
    browser.mouse("press", left, top + 5)
    browser.mouse("move", left + 0.1 * width, top + 5)
    browser.mouse("release", left + 0.1 * width, top + 5)
    assert line(0) == pytest.approx((width, 0), abs=3)
    assert line(1) == pytest.approx((0, width), abs=3)
    browser.ask(
        """(() => {
            const names = [...document.querySelectorAll('figure.spans')[1].querySelectorAll('.u-legend th')];
            names.find((one) => one.textContent === 'computing').click();
            return new Promise((done) => setTimeout(done, 100));
        })()"""
    )
    assert line(0) == (0, 0)
    # The browser advises against reading a canvas often, as this test does.
    assert [said for said in browser.complaints() if "getImageData" not in said] == []


def test_tables_sort(browser: Browser, page: Path) -> None:
    browser.open(page)
    tables = browser.ask("document.querySelectorAll('.scroll table').length")
    assert tables >= 3
    for table in range(tables):
        columns = browser.ask(f"document.querySelectorAll('.scroll table')[{table}].tHead.rows[0].cells.length")
        for column in range(columns):
            for direction in ("ascending", "descending"):
                head = f"document.querySelectorAll('.scroll table')[{table}].tHead.rows[0].cells[{column}]"
                browser.ask(f"{head}.firstChild.click()")
                found = browser.ask(
                    f"""(() => {{
                        const table = document.querySelectorAll('.scroll table')[{table}];
                        const head = table.tHead.rows[0].cells[{column}];
                        const cells = [...table.tBodies[0].rows].map((row) => row.cells[{column}]);
                        const keys = cells.map((cell) => cell.dataset.key).filter((key) => key !== undefined);
                        const number = head.classList.contains('number');
                        return [head.getAttribute('aria-sort'), number ? keys.map(Number) : keys,
                            cells.slice(keys.length).every((cell) => cell.dataset.key === undefined)];
                    }})()"""
                )
                order, keys, empty_last = found
                assert order == direction
                assert empty_last
                if keys and isinstance(keys[0], int | float):
                    assert keys == sorted(keys, reverse=direction == "descending")
        numbers = f"document.querySelectorAll('.scroll table')[{table}].querySelectorAll('th.number').length"
        assert browser.ask(numbers) > 0


def test_the_network_is_coloured_by_use_and_by_paused_time(browser: Browser, run_page: Path) -> None:
    browser.open(run_page)
    strokes = "[...document.querySelectorAll('.network path')].map((one) => getComputedStyle(one).stroke)"
    use = browser.ask(strokes)
    # Eight hosts at each of eight leaves, and each leaf at each of eight spines.
    assert len(use) == 128
    assert 3 < len(set(use)) < 128
    browser.ask("document.querySelector('input[value=paused]').click()")
    assert browser.ask(strokes) != use
    assert browser.ask("document.querySelector('.scale.show-paused').hidden") is False
    titles = browser.ask("[...document.querySelectorAll('.network path title')].map((one) => one.textContent)")
    assert any("leaf0 → host0: 200 Gb/s, sending" in title for title in titles)


def test_another_point_is_another_chart(browser: Browser, study_page: Path) -> None:
    browser.open(study_page)
    change = """(() => {
        const group = [...document.querySelectorAll('.chart-group')].find((one) => one.querySelector('select'));
        const canvas = () => group.querySelector('canvas').toDataURL();
        const before = canvas();
        const select = group.querySelector('select');
        select.selectedIndex = 1;
        select.dispatchEvent(new Event('change'));
        return new Promise((done) => setTimeout(() => done(before !== canvas()), 200));
    })()"""
    assert browser.ask(change) is True
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page, scheme=scheme)
    assert browser.complaints() == []
    # The contrast of each text with its background, after WCAG 2.1, which requires 4.5.
    contrasts = """(() => {
        const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (colour) => {
            const [r, g, b] = parts(colour).map((one) => one / 255)
                .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (one) => {
            const colour = getComputedStyle(one).backgroundColor;
            return parts(colour)[3] === 0 && one.parentElement ? behind(one.parentElement) : colour;
        };
        const texts = [...document.querySelectorAll('body *:not(script, option)')].filter((one) =>
            [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())
            && !one.closest('svg') && one.getClientRects().length);
        return texts.map((one) => {
            const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => x - y);
            return [(b + 0.05) / (a + 0.05), one.outerHTML.slice(0, 80)];
        });
    })()"""
    found = browser.ask(contrasts)
    assert len(found) > 100
    assert [text for contrast, text in found if contrast < 4.5] == []
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")
    browser.screenshot(_PICTURES / f"{page.parent.name}-{scheme}.png")


def test_the_page_fits_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page, width=400, height=800)
    assert browser.ask("document.documentElement.scrollWidth") <= 400
    browser.screenshot(_PICTURES / f"{page.parent.name}-phone.png", whole=False)


def test_logarithmic_axes_have_ticks_that_people_read(browser: Browser, study_page: Path) -> None:
    browser.open(study_page)
    assert browser.ask("decades(null, 0, 103, 10300)") == [200, 500, 1000, 2000, 5000, 10000]
    assert browser.ask("decades(null, 0, 0.9, 1.2e6)") == [1, 10, 100, 1000, 10000, 100000, 1000000]


def test_a_language_that_the_browser_does_not_know_stops_no_chart(browser: Browser, study_page: Path) -> None:
    change = 'Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true })'
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=change)
    browser.open(study_page)
    assert browser.ask("document.querySelectorAll('.chart canvas').length") > 0
    assert browser.complaints() == []
    browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
