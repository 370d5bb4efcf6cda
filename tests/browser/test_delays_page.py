"""Bars and trees of pauses in a real browser: a click on a place shows pauses on the map, a click on a flow its bar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import xoff
from chromium import Browser, installed
from patience import wait_until
from xoff import report
from xoff.insight import Forest

_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "incast.toml"

pytestmark = pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> xoff.Result:
    place = tmp_path_factory.mktemp("delays") / "result"
    made = xoff.run(_EXAMPLE, overrides={"probe.delays": "all", "probe.replay": True}, out=place)
    report.write(place, formats=["html"])
    return made


def press(browser: Browser, what: str) -> None:
    """Click in the middle of an element."""
    left, top, width, height = browser.place(what)
    browser.click(left + width / 2, top + height / 2)


def test_a_place_shows_its_pauses_on_the_map(browser: Browser, result: xoff.Result) -> None:
    assert result.directory is not None
    browser.open(result.directory / "report.html")
    tree = Forest(result).trees[0]
    rows = [(row["node"], row["port"]) for row in result.links.to_pylist()]
    marked = (
        """[...document.querySelectorAll('.trees path.%s')].flatMap((one) => one.dataset.rows.split(' ').map(Number))"""
    )
    assert browser.ask("document.querySelector('.trees').hidden")
    press(browser, ".roots button")
    wait_until(lambda: not browser.ask("document.querySelector('.trees').hidden"))
    root, spread = browser.ask(marked % "root"), browser.ask(marked % "spread")
    assert (tree.root.node, tree.root.port) in {rows[row] for row in root}
    assert tree.ports <= {rows[row] for row in [*root, *spread]}
    # No other link is marked: each link has the paused and the opposite direction.
    assert len(spread) == 2 * sum(1 for port in tree.ports if rows.index(port) in spread)
    press(browser, ".roots button")
    wait_until(lambda: browser.ask("document.querySelector('.trees').hidden"))
    assert browser.ask(marked % "spread") == []


def test_a_flow_leads_to_its_bar_and_a_link_to_its_port(browser: Browser, result: xoff.Result) -> None:
    assert result.directory is not None
    browser.open(result.directory / "report.html")
    assert not browser.ask("document.querySelector('#flow-2').open")
    press(browser, ".roots a[href='#flow-2']")
    wait_until(lambda: browser.ask("document.querySelector('#flow-2').open"))
    cells = browser.ask("[...document.querySelectorAll('#flow-2 td.number')].map((one) => one.textContent)")
    total = sum(int(cell.replace(".", "").replace(",", "")) for cell in cells)
    [flow] = [row for row in result.flows.to_pylist() if row["flow"] == 2]
    assert total == flow["fct_ps"]
    press(browser, ".roots button")
    browser.ask("document.querySelector('.trees path.root').dispatchEvent(new Event('click'))")
    chosen = browser.ask("document.querySelector('#replay .which').value")
    assert chosen in browser.ask("document.querySelector('.trees path.root').dataset.rows").split(" ")
    assert browser.complaints() == []
