"""The replay in a real browser, with a real mouse and real keys: the displayed moments equal the tables.

Pictures of the replay, on a desk and on a phone, light and dark, are kept in ``out/browser``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import xoff
from chromium import Browser, installed
from patience import wait_until
from xoff import formatting, report

_ROOT = Path(__file__).resolve().parents[2]
_PICTURES = _ROOT / "out" / "browser"
_EXAMPLE = _ROOT / "examples" / "incast.toml"

pytestmark = pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> xoff.Result:
    place = tmp_path_factory.mktemp("replay") / "result"
    made = xoff.run(_EXAMPLE, overrides={"probe.replay": True}, out=place)
    report.write(place, formats=["html"])
    return made


def page(result: xoff.Result) -> Path:
    assert result.directory is not None
    return result.directory / "report.html"


def text(browser: Browser, what: str) -> str:
    return str(browser.ask(f"document.querySelector('#replay {what}').textContent"))


def moment(browser: Browser, result: xoff.Result) -> int:
    """The moment at which the slider stands."""
    value, most = browser.ask("(({ value, max }) => [Number(value), Number(max)])(document.querySelector('.time'))")
    end, every = result.summary["simulated_ps"], result.summary["sampled_every_ps"]
    step = min(every, -(-end // 1000))
    assert most == -(-end // step)
    return int(min(value * step, end))


def queues(result: xoff.Result, time: int) -> dict[tuple[str, int], int]:
    """Returns the queue of each port at a moment, from the table."""
    every = result.summary["sampled_every_ps"]
    found: dict[tuple[str, int], int] = {}
    for row in result.samples.to_pylist():
        if row["time_ps"] == time // every * every:
            port = (row["node"], row["port"])
            found[port] = found.get(port, 0) + row["bytes"]
    return found


def pauses(result: xoff.Result, time: int) -> list[dict[str, Any]]:
    """The pauses at a moment, by the table."""
    return [
        row
        for row in result.pauses.to_pylist()
        if row["start_ps"] <= time and (row["end_ps"] is None or time < row["end_ps"])
    ]


def check_counts(browser: Browser, result: xoff.Result) -> int:
    """Compares the displayed numbers of the moment with the tables; returns the moment."""
    time = moment(browser, result)
    waiting, paused = queues(result, time), pauses(result, time)
    under_way = [row for row in result.flows.to_pylist() if row["start_ps"] <= time < row["start_ps"] + row["fct_ps"]]
    finished = [row for row in result.flows.to_pylist() if row["start_ps"] + row["fct_ps"] <= time]
    counts = text(browser, ".counts")
    ports = "1 port" if len(waiting) == 1 else f"{len(waiting)} ports"
    assert counts.startswith(f"{formatting.size(sum(waiting.values()))} wait at {ports} (at most ")
    assert f" · {len(paused)} queue{'' if len(paused) == 1 else 's'} paused (at most " in counts
    assert f" · {len(under_way)} flow{'' if len(under_way) == 1 else 's'} under way · " in counts
    assert counts.endswith(f" · {len(finished)} of 4 finished")
    shown = browser.ask(
        "[...document.querySelectorAll('#replay .under-way li:not([hidden])')].map((one) => one.textContent)"
    )
    assert {line.partition(":")[0] for line in shown} == {row["label"] for row in under_way}
    return time


def test_the_slider_is_dragged_through_the_run(browser: Browser, result: xoff.Result) -> None:
    browser.open(page(result))
    left, top, width, height = browser.place("#replay .time")
    middle = top + height / 2
    at = browser.ask("(({ value, max }) => value / max)(document.querySelector('.time'))")
    browser.mouse("press", left + 8 + at * (width - 16), middle)
    seen = []
    for share in (0.03, 0.4, 0.7, 0.96):
        browser.mouse("move", left + 8 + share * (width - 16), middle)
        seen.append(check_counts(browser, result))
        assert abs(seen[-1] / result.summary["simulated_ps"] - share) < 0.01
    browser.mouse("release", left + 8 + 0.96 * (width - 16), middle)
    assert seen == sorted(set(seen))
    assert text(browser, ".moment").startswith(formatting.time(seen[-1]))
    # The curve above leads to any moment, too.
    left, top, width, height = browser.place("#replay .overview")
    browser.click(left + width / 2, top + height / 2)
    assert abs(check_counts(browser, result) / result.summary["simulated_ps"] - 0.5) < 0.01
    assert browser.complaints() == []


def test_it_plays_and_stops(browser: Browser, result: xoff.Result) -> None:
    browser.open(page(result))
    before = moment(browser, result)
    left, top, width, height = browser.place("#replay .play")
    browser.click(left + width / 2, top + height / 2)
    assert text(browser, ".play") == "Stop"
    wait_until(lambda: moment(browser, result) > before)
    browser.click(left + width / 2, top + height / 2)
    assert text(browser, ".play") == "Play"
    stopped = moment(browser, result)
    browser.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert moment(browser, result) == stopped
    # At the end the replay stops, and restarts from there.
    browser.place("#replay .time")
    browser.ask("document.querySelector('#replay .time').focus()")
    browser.press("End")
    assert text(browser, ".counts").endswith("0 flows under way · 4 of 4 finished")
    browser.press(" ")
    wait_until(lambda: 0 < moment(browser, result) < result.summary["simulated_ps"] / 2)
    browser.press(" ")
    assert text(browser, ".play") == "Play"
    assert browser.complaints() == []


def test_a_click_on_a_port_shows_its_queue_and_who_paused_it(browser: Browser, result: xoff.Result) -> None:
    browser.open(page(result))
    time_shown = browser.ask("document.querySelector('#replay .moment').textContent")
    # The replay begins at the moment of most pauses: exact, and not on the slider's grid.
    events = sorted({row["start_ps"] for row in result.pauses.to_pylist()})
    time = max(events, key=lambda at: (len(pauses(result, at)), -at))
    assert time_shown.startswith(formatting.time(time))
    data = report.run_page.build(result).replay
    assert data is not None
    assert data.data is not None
    spots = {name: (x, y) for name, x, y, _ in data.data["nodes"]}
    paused = pauses(result, time)
    assert len(paused) > 3
    for row in paused:
        left, top, width, _ = browser.place("#replay .map")
        scale = width / data.data["width"]
        (x1, y1), (x2, y2) = spots[row["node"]], spots[row["peer"]]
        # A third of the way is in its own half of the link.
        browser.click(left + (x1 + 0.3 * (x2 - x1)) * scale, top + y1 + 0.3 * (y2 - y1))
        assert text(browser, ".port h3") == f"{row['node']} → {row['peer']}"
        waits = queues(result, time).get((row["node"], row["port"]), 0)
        said = (
            f"{formatting.size(waits)} wait in queue {row['queue']} (class {row['class']})"
            if waits
            else "nothing waits"
        )
        assert text(browser, ".state") == f"At {formatting.time(time)}: {said}; paused."
        cells = browser.ask("[...document.querySelectorAll('#replay .pauses td')].map((one) => one.textContent)")
        since, until = formatting.time(row["start_ps"]), formatting.time(row["end_ps"])
        assert cells == ["PFC", str(row["class"]), str(row["queue"]), row["peer"], since, until]
    # A port without pauses says so, and is found by its name in the list as well.
    browser.ask(
        """(() => {
            const which = document.querySelector('#replay .which');
            which.value = [...which.options].find((one) => one.text === 'leaf0 → host0').value;
            which.dispatchEvent(new Event('change'));
        })()"""
    )
    assert text(browser, ".port h3") == "leaf0 → host0"
    assert text(browser, ".state").endswith("; not paused.")
    assert browser.ask("document.querySelector('#replay .pauses').hidden")
    # Names in the lists lead to the port, too.
    left, top, width, height = browser.place("#replay .paused li button")
    browser.click(left + width / 2, top + height / 2)
    assert text(browser, ".port h3") == text(browser, ".paused li button")
    assert browser.complaints() == []


def test_keys_move_in_time(browser: Browser, result: xoff.Result) -> None:
    browser.open(page(result))
    browser.ask("document.querySelector('#replay .speed').focus()")
    browser.press("Tab")
    assert browser.ask("document.activeElement.className") == "time"
    # The focus is visible, and screen readers announce the moment.
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    label = browser.ask("document.activeElement.getAttribute('aria-label')")
    assert label == "Time"
    browser.press("Home")
    assert check_counts(browser, result) == 0
    for _ in range(300):
        browser.press("ArrowRight")
    time = check_counts(browser, result)
    assert time == 300 * result.summary["sampled_every_ps"]
    assert browser.ask("document.activeElement.getAttribute('aria-valuetext')") == formatting.time(time)
    browser.press("ArrowLeft")
    assert check_counts(browser, result) == 299 * result.summary["sampled_every_ps"]
    browser.press("End")
    assert check_counts(browser, result) == result.summary["simulated_ps"]
    # Every control has a name.
    nameless = """[...document.querySelectorAll('#replay :is(input, select, button, canvas)')].filter((one) =>
        !one.hidden && !one.closest('li[hidden]') && !one.getAttribute('aria-label') && !one.closest('label')
        && !one.textContent.trim()).length"""
    assert browser.ask(nameless) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_is_drawn_at_any_width_light_and_dark(
    browser: Browser, result: xoff.Result, width: int, scheme: str
) -> None:
    browser.open(page(result), width=width, scheme=scheme)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    # No content is cut off or leaves its box.
    wide = """[...document.querySelectorAll('#replay *')].filter((one) => !one.closest('[hidden]')
        && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'visible'
        && getComputedStyle(one).display !== 'inline').map((one) => one.outerHTML.slice(0, 80))"""
    assert browser.ask(wide) == []
    # The map shows queues, pauses and flows, in the colours of the key.
    drawn = """(() => {
        const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
        const value = (colour) => {
            probe.fillStyle = colour;
            probe.fillRect(0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)].join();
        };
        const canvas = document.querySelector('#replay .map');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set();
        for (let at = 0; at < data.length; at += 4) colours.add([data[at], data[at + 1], data[at + 2]].join());
        return [...document.querySelectorAll('#replay .key i')]
            .map((one) => colours.has(value(getComputedStyle(one).backgroundColor)));
    })()"""
    assert browser.ask(drawn) == [True, True, True]
    browser.screenshot(_PICTURES / f"replay-{width}-{scheme}.png")


def test_pauses_alone_are_replayed(browser: Browser, tmp_path: Path) -> None:
    xoff.run(_EXAMPLE, out=tmp_path / "result")
    browser.open(report.write(tmp_path / "result", formats=["html"]))
    assert browser.complaints() == []
    assert text(browser, ".counts").startswith("10 queues paused (at most 10) · 4 flows under way")
    gone = "['.key .queue', '.deep', '.key .flow'].map((one) => root.querySelector(one).checkVisibility())"
    assert browser.ask(f"(root => {gone})(document.getElementById('replay'))") == [False, False, True]
    assert "queues were not recorded; paused." in text(browser, ".state")
    assert "Queues were not recorded: the pauses alone are shown." in text(browser, "> .hint")


def test_a_page_without_records_complains_of_nothing(browser: Browser, tmp_path: Path) -> None:
    xoff.run(_EXAMPLE, overrides={"workload[0].flows": [], "probe.replay": True}, out=tmp_path / "result")
    browser.open(report.write(tmp_path / "result", formats=["html"]))
    assert browser.complaints() == []
    assert "No packet waited, and no port was paused." in browser.ask("document.querySelector('#again').textContent")
