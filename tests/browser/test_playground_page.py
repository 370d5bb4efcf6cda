"""The playground in a real browser: native fingerprints, the core's error for a bad value, a run that is stopped.

``make test-browser`` writes the playground into ``out/playground`` first. Without a toolchain for WebAssembly, or
without Chromium, these tests are skipped. Pictures are in ``out/browser``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import playground
import pytest

import xoff
from chromium import Browser, installed
from patience import wait_until
from xoff.report import replay
from xoff.running.document import typed

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "out" / "playground" / "index.html"
_PICTURES = _ROOT / "out" / "browser"
_SCENARIOS = playground.scenarios()
_NAMES = [one["name"] for one in _SCENARIOS]

pytestmark = [
    pytest.mark.skipif(installed() is None, reason="no Chromium is installed; apt-get install chromium"),
    pytest.mark.skipif(not _PAGE.is_file(), reason="there is no playground; make playground says why"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def opened(browser: Browser, name: str, *, width: int = 1280) -> None:
    """Opens the page, chooses a scenario and waits for the run."""
    browser.open(_PAGE, width=width)
    browser.ask(f"location.hash = {json.dumps('#' + name)}")
    finished(browser, name)


def finished(browser: Browser, name: str) -> None:
    """Waits until the page shows the run of a scenario, or an error."""
    chosen = f"document.querySelector('#scenario').value === {json.dumps(name)}"
    over = "document.querySelector('#stop').disabled"
    wait_until(
        lambda: browser.ask(f"{chosen} && {over} && document.querySelector('#status').textContent.includes('hops')")
    )


def shown(browser: Browser, what: str) -> str:
    """Returns the text of an element."""
    return str(browser.ask(f"document.querySelector({json.dumps(what)}).textContent"))


def document(browser: Browser) -> str:
    """Returns the document in the page."""
    return str(browser.ask("document.querySelector('#document').value"))


def typed_in(browser: Browser, what: str, event: str, value: str) -> None:
    """Gives an input a value, as a hand does, and waits for the end of the run."""
    place = f"document.querySelectorAll({json.dumps(what)})"
    browser.ask(
        f"(([one]) => {{ one.value = {json.dumps(value)}; one.dispatchEvent(new Event('{event}')); }})({place})"
    )
    wait_until(lambda: browser.ask("document.querySelector('#stop').disabled"))


def fingerprint(browser: Browser) -> str:
    """Returns the fingerprint of the last run."""
    return str(browser.ask("playground.answer.summary.fingerprint"))


@pytest.mark.parametrize("name", _NAMES)
def test_a_scenario_has_the_native_fingerprint_and_replay(browser: Browser, name: str) -> None:
    opened(browser, name)
    [scenario] = (one for one in _SCENARIOS if one["name"] == name)
    native = playground.run(scenario["toml"], {})
    assert document(browser) == scenario["toml"]
    assert shown(browser, "#fingerprint") == f"Fingerprint {native.fingerprint}: the same as native"
    ours = browser.ask("replayData(playground.answer, playground.scenario.layout, playground.causes)")
    assert ours == json.loads(json.dumps(replay.build(native).data))
    browser.screenshot(_PICTURES / f"playground-{name}.png")
    assert browser.complaints() == []
    assert {address.partition(":")[0] for address in browser.requests()} == {"file", "blob"}


@pytest.mark.parametrize("name", _NAMES)
def test_sliders_change_their_keys_alone(browser: Browser, name: str) -> None:
    opened(browser, name)
    [scenario] = (one for one in _SCENARIOS if one["name"] == name)
    plain = tomllib.loads(scenario["toml"])
    for number, slider in enumerate(scenario["slider"]):
        values = [typed(value) for value in slider["choices"].values()] if "choices" in slider else slider["values"]
        assert len(values) > 1
        # The document begins at one of the values.
        resolved = xoff.resolve(plain)
        assert resolved in [xoff.resolve(plain, overrides=dict.fromkeys(slider["keys"], value)) for value in values]
        for at in (0, len(values) - 1):
            browser.ask("document.querySelector('#reset').click()")
            typed_in(browser, f"#control-{number}", "input", str(at))
            expected: dict[str, Any] = dict.fromkeys(slider["keys"], values[at])
            assert xoff.resolve(tomllib.loads(document(browser))) == xoff.resolve(plain, overrides=expected)
            assert fingerprint(browser) == playground.run(scenario["toml"], expected).fingerprint
            assert shown(browser, "#fingerprint").endswith(": the same as native")
    assert browser.complaints() == []


def test_the_victim_recovers_under_a_dragged_slider(browser: Browser) -> None:
    opened(browser, "victim")
    before = shown(browser, "#figures b")
    left, top, width, height = browser.place("#control-0")
    browser.mouse("press", left + width - 4, top + height / 2)
    browser.mouse("move", left + width * 0.7, top + height / 2)
    browser.mouse("move", left + width * 0.4, top + height / 2)
    browser.mouse("release", left + width * 0.4, top + height / 2)
    finished(browser, "victim")
    wait_until(lambda: shown(browser, "#figures b") != before)
    wait_until(lambda: browser.ask("document.querySelector('#stop').disabled"))
    assert (before, shown(browser, "#figures b")) == ("388.1 µs", "86.0 µs")
    assert "as given: 388.1 µs" in shown(browser, "#figures")
    browser.screenshot(_PICTURES / "playground-recovered.png")


def test_a_bad_value_gets_the_error_of_the_core(browser: Browser, tmp_path: Path) -> None:
    opened(browser, "victim")
    before = fingerprint(browser)
    typed_in(browser, ".control .value", "change", "a lot")
    file = tmp_path / "scenario.toml"
    file.write_text(document(browser), "utf-8")
    with pytest.raises(xoff.InputError) as native:
        xoff.run(file)
    assert shown(browser, "#problems li") == str(native.value)
    assert "switch.flow_control.sfc.threshold" in str(native.value)
    assert browser.ask("document.body.classList.contains('stale')")
    browser.screenshot(_PICTURES / "playground-error.png")
    # The error leads to the line, and the given document runs again.
    browser.ask("document.querySelector('#problems li').click()")
    area = "document.querySelector('#document')"
    assert "a lot" in browser.ask(f"{area}.value.slice({area}.selectionStart, {area}.selectionEnd)")
    browser.ask("document.querySelector('#reset').click()")
    wait_until(lambda: not browser.ask("document.body.classList.contains('stale')"))
    assert fingerprint(browser) == before
    assert browser.ask("document.querySelector('#problems').hidden")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[switch.buffer]", "[switch.bufer]", "bufer"),
        ("leaves = 4", "leaves = ", "this is not TOML"),
        ("[probe]", '[[workload]]\ntable = "flows.csv"\n[probe]', "a browser cannot read the table `flows.csv`"),
    ],
)
def test_a_document_that_is_refused(browser: Browser, old: str, new: str, message: str) -> None:
    opened(browser, "victim")
    typed_in(browser, "#document", "input", document(browser).replace(old, new))
    browser.ask("document.querySelector('#run').click()")
    wait_until(lambda: not browser.ask("document.querySelector('#problems').hidden"))
    assert message in shown(browser, "#problems")


def test_a_run_can_be_stopped(browser: Browser) -> None:
    opened(browser, "websearch")
    long = document(browser).replace('duration = "800us"', 'duration = "2s"').replace("replay = true", "replay = false")
    typed_in(browser, "#document", "input", long)
    browser.ask("document.querySelector('#run').click()")
    wait_until(lambda: "Running:" in shown(browser, "#status"))
    assert not browser.ask("document.querySelector('#progress').hidden")
    left, top, width, height = browser.place("#stop")
    browser.click(left + width / 2, top + height / 2)
    wait_until(lambda: shown(browser, "#status").startswith("Stopped"))
    assert browser.ask("document.querySelector('#progress').hidden")
    assert browser.ask("document.querySelector('#stop').disabled")
    # The next run has a new worker.
    browser.ask("document.querySelector('#reset').click()")
    finished(browser, "websearch")
    assert shown(browser, "#fingerprint").endswith(": the same as native")
    assert browser.complaints() == []


# Elements beyond the right edge of the window. A table and a text area scroll by themselves.
_WIDE = """
[...document.querySelectorAll('body *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => !one.closest('.u-over, .u-under, textarea, .held'))
  .map((one) => one.outerHTML.slice(0, 80))
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(browser: Browser, width: int) -> None:
    for name in _NAMES:
        opened(browser, name, width=width)
        wait_until(lambda: browser.ask("document.querySelector('#replay canvas') !== null"))
        wide = browser.ask(_WIDE)
        assert wide == [], name
        assert browser.ask("document.documentElement.scrollWidth") <= width
        if width == 390:
            browser.screenshot(_PICTURES / f"playground-{name}-phone.png")
