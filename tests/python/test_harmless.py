"""Text of foreign files in messages and on terminals, and messages about a full disk."""

from __future__ import annotations

import io
import json
import re
import resource
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import xoff
from patience import PATIENCE_SECONDS
from small import TOML, Command
from xoff import InputError, display, formatting
from xoff.files.safe_read import named

JOINERS = "\u200c\u200d"
HARMFUL = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) in {"Cc", "Cs", "Zl", "Zp"}
    or unicodedata.bidirectional(chr(code)) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    or chr(code) in "\u200e\u200f\u061c\u200b\ufeff\xad"
]
SAMPLE = ["\x1b", "\u202e", "\u2066", "\x9b", "\u200f", "\x07", "\ufeff", "\x7f"]


def test_all_controls_and_directions_are_replaced() -> None:
    assert len(HARMFUL) > 2100
    assert [one for one in HARMFUL if formatting.plain(one) != "\ufffd"] == []
    assert [one for one in HARMFUL if one not in "\n\t" and formatting.shown(one) != "\ufffd"] == []
    assert formatting.shown("a\n\tb") == "a\n\tb"
    kept = "äßλ→中אب😀" + JOINERS
    assert formatting.plain(kept) == formatting.shown(kept) == kept


@pytest.mark.parametrize("letter", SAMPLE)
def test_a_name_of_a_scenario_controls_no_terminal(xoff_here: Command, scenario_file: Path, letter: str) -> None:
    name = json.dumps(f"a{letter}[31mb")
    text = TOML.replace('name = "small"', "").replace('name = "incast"', f"name = {name}")
    scenario_file.write_text(f"name = {name}\n{text}".replace("\x7f", "\\u007f"))
    study = f'base = "small.toml"\nname = {name}\n[axes]\n"switch.forwarding_latency" = ["1us", "2us"]\n'.replace(
        "\x7f", "\\u007f"
    )
    (scenario_file.parent / "study.toml").write_text(study)
    for words in (
        ("run", scenario_file, "--out", "out"), ("check", scenario_file), ("explain", "out"), ("report", "out"),
        ("explain", "out", "--port", f"x{letter}:1"), ("run", scenario_file, "--set", f"switch.x{letter}=1"),
        ("run", f"no{letter}file.toml"), ("sweep", "study.toml", "--out", "study"), ("check", "study.toml"),
        ("run", scenario_file, "--set", f'workload[0].incast.size="{letter}"'), ("export", f"{letter}", "--csv"),
        ("tune", "study.toml"), ("new", f"k{letter}", "x"), (f"run{letter}",), ("run", f"--{letter}"),
    ):  # fmt: skip
        done = xoff_here(*words)
        assert not [one for one in HARMFUL if one not in "\n\t" and one in done.stdout + done.stderr], words
        assert done.returncode in {0, 1, 2}


def test_markup_still_has_colours_and_foreign_text_none() -> None:
    console = display._Harmless(file=io.StringIO(), force_terminal=True, width=80, color_system="standard")
    console.print("[red]mine[/red] \x1b[32myours\u202e")
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert re.sub("\x1b\\[[0-9;]*m", "", said) == "mine \ufffd[32myours\ufffd\n"
    assert "\x1b[32m" not in said
    assert "\x1b[31m" in said


@pytest.mark.parametrize("number", [28, 27, None])
def test_an_error_of_a_file_has_its_name(number: int | None) -> None:
    error = OSError("what a library says") if number is None else OSError(number, "Error writing bytes to file")
    with pytest.raises(OSError, match=r".+") as found, named(Path("out/flows.parquet")):
        raise error
    assert found.value.filename == "out/flows.parquet"
    with pytest.raises(OSError, match="other") as found, named(Path("out/flows.parquet")):
        raise OSError(28, "full", "other")
    assert found.value.filename == "other"


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("run", "small.toml", "--set", "probe.packets=true", "--out", "out"), r"out/(scenario\.json|\w+\.parquet)"),
        (("report", "kept"), r"kept/(report\.html|figures/\w+)"),
        (("export", "kept", "--csv", "--out", "tables"), "tables"),
        (("export", "kept", "--perfetto", "--out", "trace"), "trace"),
    ],
)
def test_a_disk_that_is_full_is_told_of_with_the_file(tmp_path: Path, words: tuple[str, ...], file: str) -> None:
    """A limit on the size of files stands for the disk: the calls fail in the same way."""
    (tmp_path / "small.toml").write_text(TOML)
    xoff.run(tmp_path / "small.toml", overrides={"probe.packets": True}, out=tmp_path / "kept")
    before = sorted(path.name for path in tmp_path.iterdir())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    command = [sys.executable, "-B", "-m", "xoff", *words]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, preexec_fn=limit
    )
    assert done.returncode == 2
    assert re.fullmatch(rf"xoff: error: {file}: (cannot be written: )?[^\n]*File too large\n", done.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_error_in_python_keeps_what_was_given() -> None:
    """Messages are made harmless at display, not before."""
    with pytest.raises(InputError, match="no such file"):
        xoff.run("no\u202efile.toml")
