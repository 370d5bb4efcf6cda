"""An error of `xoff size` that proposes a change carries the change, and the change removes the error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import xoff
from small import Command
from xoff.commands import size
from xoff.sizing.remedies import Change, ChangeError

RING = ("--round-trip", "10us")
FAILING = {
    "no round trip": ("ecn",),
    "no frame": ("pfc",),
    "no unit": ("ecn", "--round-trip", "8"),
    "no unit of a rate": ("buffer", *RING, "--rate", "fast"),
    "too long": ("ecn", "--round-trip", "2s"),
    "too small": ("ecn", *RING, "--max-frame", "1B"),
    "unknown control": ("ecn", *RING, "--control", "dcqn"),
    "unknown control, unlike all": ("ecn", *RING, "--control", "???"),
    "given twice": ("ecn", "--scenario", "small.toml", "--rate", "1Gbps"),
    "given twice, pfc": ("pfc", "--scenario", "small.toml", "--max-frame", "1000B"),
    "no headroom": ("ecn", *RING, "--buffer", "32MB"),
    "headroom without a buffer": ("ecn", *RING, "--headroom", "20KB"),
    "headroom fills the buffer": ("ecn", *RING, "--buffer", "12MB", "--headroom", "100KB"),
    "headroom of one class fills it": ("ecn", *RING, "--buffer", "1MB", "--headroom", "100KB", "--classes", "1"),
    "headroom and a small alpha": ("ecn", *RING, "--buffer", "12MB", "--headroom", "46874B", "--alpha", "0.001"),
    "no senders": ("buffer", *RING, "--rate", "1Gbps", "--verify"),
    "no headroom for SONiC": ("buffer", *RING, "--sonic", "--asic", "tomahawk3"),
    "SONiC's option": ("buffer", *RING, "--memory", "32MB"),
    "SONiC's option, pfc": ("pfc", "--max-frame", "1500B", "--asic", "tomahawk3"),
    "window": ("buffer", *RING, "--window", "0B"),
}


def error_of(words: tuple[str, ...]) -> BaseException | None:
    return CliRunner().invoke(size.app, list(words)).exception


def applied(words: tuple[str, ...], change: Change) -> tuple[str, ...]:
    """Returns the words of a command after a change."""
    found = list(words)
    if change.key in found:
        at = found.index(change.key)
        takes = at + 1 < len(found) and not found[at + 1].startswith("--")
        del found[at : at + 1 + takes]
    return (*found, *([] if change.value is None else [change.key, *filter(None, [change.value])]))


@pytest.mark.parametrize("case", FAILING)
def test_each_proposed_change_removes_the_error(
    case: str, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scenario_file.parent)
    error = error_of(FAILING[case])
    assert isinstance(error, ChangeError)
    assert str(error).startswith(f"{error.key}: ")
    # Errors of scenarios have the same keys.
    (problem,) = error.errors
    assert f"{problem['path']}: {problem['message']}" == str(error)
    assert problem["change"] == {"key": error.changes[0].key, "value": error.changes[0].value}
    for change in error.changes:
        assert change.sentence() in str(error)
        if change.value == "FILE":
            change = Change(change.key, "small.toml")
        after = error_of(applied(FAILING[case], change))
        assert after is None or isinstance(after, SystemExit) or str(after) != str(error)
        # The same option may not be wrong in the same way.
        assert not isinstance(after, ChangeError) or after.changes != error.changes


def test_every_error_of_the_command_is_tried() -> None:
    """Each place in the calculators that raises a `ChangeError` has a case; other errors propose no value."""
    places = Path(xoff.__file__).parent
    texts = [(places / name).read_text("utf-8") for name in ("commands/size.py", "sizing/marking.py")]
    plain = [line for text in texts for line in re.findall(r"raise InputError\((.*)", text)]
    assert plain == [
        "named) from None",
        '"scenario: no two hosts are connected, so no round trip follows; give --round-trip")',
    ]


def test_no_threshold_is_negative_and_the_assumptions_are_printed(xoff_here: Command) -> None:
    words = ("size", "ecn", *RING, "--headroom", "100KB")
    refused = xoff_here(*words, "--buffer", "12MB")
    assert refused.returncode == 2
    assert refused.stderr == (
        "xoff: error: --buffer: 12.0 MB leave no threshold below that of PFC, because 32 ports with 8 lossless classes "
        "and 100.0 KB of headroom each reserve 25.6 MB; give --buffer 25600288B (the smallest with a threshold), or "
        "give --classes 3 (the number of lossless classes)\n"
    )
    shown = xoff_here(*words, "--buffer", "12MB", "--classes", "2").stdout
    assert "marks precede pauses below: 77,777 B" in shown
    assert "with 12.0 MB of memory, 32 ports, 2 lossless classes (--classes), 100.0 KB of headroom for each, α = 8" in (
        " ".join(shown.split())
    )
