"""Whatever a scenario or a table holds, it is accepted or refused: no panic, no hang, no absurd memory.

The cases are drawn in a process of its own, whose memory and time are bounded: running out of either fails the test.
"""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xoff
from patience import PATIENCE_SECONDS
from small import TOML

_EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("[!s]*.toml"))
_DOCUMENTS = [tomllib.loads(TOML), *(tomllib.loads(file.read_text("utf-8")) for file in _EXAMPLES)]
_MEMORY_BYTES = 4 * 2**30

# What a key may come to hold: quantities of all kinds, right and wrong, near the limits and far beyond.
_NUMBERS = st.sampled_from([0, 1, 2, 3, 8, 9, 255, 256, 65_535, 65_536, -1, 2**31, 2**32, 2**63, 2**64 - 1, 10**12])
_AMOUNTS = st.builds(
    "{}{}".format,
    st.sampled_from(["0", "1", "7", "1000", "999999999", "-1", "0.5", "1e3", "", "99999999999999999999", "nan"]),
    st.sampled_from(["B", "KB", "GiB", "TB", "ps", "ns", "us", "s", "bps", "Mbps", "Tbps", "", " parsecs"]),
)
_NAMES = st.sampled_from(
    [
        "host0",
        "host1",
        "switch0",
        "leaf0",
        "websearch",
        "oq",
        "iq",
        "voq",
        "unlimited",
        "record",
        "flows.csv",
        "☃",
        "\0",
    ]
)
_LEAVES = st.none() | st.booleans() | _NUMBERS | st.floats() | _AMOUNTS | _NAMES | st.text(max_size=20)
_COLUMNS = ["src", "dst", "size", "start", "id", "after", "via", "x"]
_KEYS = st.sampled_from(
    [
        "hosts",
        "link",
        "size",
        "senders",
        "flows",
        "load",
        "xoff",
        "xon",
        "pfc",
        "sfc",
        "via",
        "after",
        "shared",
        "table",
    ]
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3))


def _examples(number: int) -> settings:
    """The same cases in each run."""
    checks = list(HealthCheck)
    return settings(max_examples=number, deadline=None, database=None, derandomize=True, suppress_health_check=checks)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: a dictionary or list, and the key or index in it."""
    steps = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [place for key, part in steps for place in [(value, key), *_places(part)]]


@st.composite
def _mutants(draw: st.DrawFn) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(_DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(["replace", "replace", "delete", "duplicate", "swap", "wrap"]))
        if change == "delete":
            del holder[key]
        elif change == "duplicate":
            again = copy.deepcopy(holder[key])
            holder.append(again) if isinstance(holder, list) else holder.update({draw(_KEYS): again})
        elif change == "swap":
            other, place = draw(st.sampled_from(places))
            holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])
        else:
            value = draw(_VALUES)
            holder[key] = [holder[key], value] if change == "wrap" else value
    return document


def _stop(_progress: xoff.Progress) -> None:
    raise InterruptedError


def _is_small(report: dict[str, Any]) -> bool:
    # What is accepted is simulated, too, unless it is a long run by right.
    workload, network = report["workload"], report["network"]
    return bool(workload["bytes"] < 10**8 and workload["flows"] < 1000 and network["links"] < 1000)


def _attempt(document: Any, **more: Any) -> None:
    try:
        if _is_small(xoff.check(document, **more)):
            xoff.run(document, progress=_stop, **more)
    except xoff.InputError as error:
        text = str(error)
        assert text, "an error says what is wrong"
        lines, mistakes = text.split("\n"), getattr(error, "errors", ())
        assert len(lines) == max(1, len(mistakes)), "a mistake is one line"
        assert all(line.startswith("  ") for line in lines[1:]), "what follows is told from other messages"
    except (xoff.AuditError, InterruptedError):
        pass


@_examples(600)
@given(_mutants())
def _scenarios(document: dict[str, Any]) -> None:
    _attempt(document)


@_examples(300)
@given(st.sampled_from(_EXAMPLES), st.data())
def _files(example: Path, data: st.DataObject) -> None:
    content = bytearray(example.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        length = data.draw(st.integers(0, 20))
        content[at : at + length] = data.draw(
            st.binary(max_size=8) | st.sampled_from([b"", b"[", b'"', b"{", b"= ", b"\n"])
        )
    for name in ("case.toml", "case.json"):
        Path(name).write_bytes(content)
        _attempt(name)


@_examples(300)
@given(st.data())
def _tables(data: st.DataObject) -> None:
    cells = _AMOUNTS | _NAMES | st.sampled_from(["", "1", "0", "host1;host0", "a", '"', ",", "NaN"])
    columns = data.draw(st.lists(st.sampled_from(_COLUMNS), min_size=1, max_size=7))
    rows = data.draw(st.lists(st.lists(cells, min_size=len(columns), max_size=len(columns)), max_size=4))
    noise = data.draw(st.just(b"") | st.binary(max_size=40))
    content = "\n".join(",".join(row) for row in [columns, *rows]).encode("utf-8", "replace") + noise
    suffix = data.draw(st.sampled_from(["csv", "csv", "tsv", "parquet"]))
    Path(f"case.{suffix}").write_bytes(content)
    document = copy.deepcopy(_DOCUMENTS[0])
    document["workload"] = [{"table": f"case.{suffix}"}]
    _attempt(document)


@_examples(200)
@given(st.lists(st.tuples(st.text(alphabet="abcpx.[]019=\n", max_size=12) | _KEYS, _LEAVES), max_size=3))
def _settings(overrides: list[tuple[str, Any]]) -> None:
    _attempt(_DOCUMENTS[0], overrides=overrides)


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    for case in (_scenarios, _files, _tables, _settings):
        case()
    print(json.dumps("done"))


def test_nothing_panics(tmp_path: Path) -> None:
    for file in _EXAMPLES[0].parent.glob("*.csv"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve())]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parent), "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "panicked" not in done.stderr
    assert json.loads(done.stdout) == "done"


if __name__ == "__main__":
    _main()
