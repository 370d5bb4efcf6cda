"""Every command and all Python code in the README, the pages and the examples works as printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import demo
import pytest

from small import Command
from xoff.commands import examples, failures

_ROOT = Path(__file__).resolve().parents[2]
_TEXT = (_ROOT / "README.md").read_text("utf-8")
_INDEX = (_ROOT / "docs" / "index.md").read_text("utf-8")


def _blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


_SHELL = [line.partition("#")[0].strip() for block in _blocks("sh", _TEXT) for line in block.splitlines()]
# The two make targets run the demonstration, which has its own test below, and this test.
_COMMANDS = [line for line in _SHELL if line and not line.startswith(("make ", "git ", "cd "))]
# The page names its commands in a table, and shows their file.
_PAGE_COMMANDS = re.findall(r"^\| `(xoff [^`]*)` \|", _INDEX, re.M)
_EXAMPLES = {
    file.stem: lines
    for file in sorted((_ROOT / "examples").glob("*.toml"))
    if (lines := re.findall(r"^#\s+(xoff .*)$", file.read_text("utf-8"), re.M))
}


def test_commands(xoff_command: Command, xoff_here: Command, tmp_path: Path) -> None:
    examples.write(tmp_path / "examples")
    for number, line in enumerate(_COMMANDS):
        program, *arguments = shlex.split(line)
        assert program == ".venv/bin/xoff"
        # The first command as users run it, the others without its start.
        done = (xoff_here if number else xoff_command)(*arguments)
        assert done.returncode == 0, (line, done.stderr)


_WAYS = ("holds", "holds under", "does not hold", "refuted", "undecided")
_SLOW = {"sweep-websearch-load", "sweep-faults", "search-incast", "sweep-cut-through"}
"""Examples of studies that take more than five seconds."""


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(lines, marks=pytest.mark.slow if name in _SLOW else (), id=name)
        for name, lines in {"index": _PAGE_COMMANDS, **_EXAMPLES}.items()
    ],
)
def test_commands_of_a_page_or_an_example(xoff_here: Command, tmp_path: Path, lines: list[str]) -> None:
    examples.write(tmp_path / "examples")
    (scenario,) = _blocks("toml", _INDEX)
    (tmp_path / "incast.toml").write_text(scenario, "utf-8")
    for line in lines:
        done = xoff_here(*shlex.split(line)[1:])
        assert done.returncode == 0, (line, done.stderr)


def test_pages_name_commands() -> None:
    assert len(_COMMANDS) >= 7
    assert len(_PAGE_COMMANDS) >= 4
    assert _EXAMPLES


@pytest.mark.parametrize("text", [_TEXT, _INDEX], ids=["README", "index"])
def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    examples.write(tmp_path / "examples")
    (tmp_path / "incast.toml").write_text(_blocks("toml", _INDEX)[0], "utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = _blocks("python", text)
    assert blocks
    for block in blocks:
        exec(compile(block, "page", "exec"), {})  # noqa: S102 (the pages are ours)


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.guarded(lambda: demo.demonstrate(tmp_path / "demo")) == 0
    assert (tmp_path / "demo" / "fct.svg").is_file()
    assert (tmp_path / "demo" / "pfc-sfc" / "summary.json").is_file()
    del capsys


_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *sorted((_ROOT / "docs").rglob("*.md"))]


def test_what_of_each_document_holds_is_what_its_page_says() -> None:
    rows = re.findall(r"^\| \[[^]]+\]\((docs/experiments/[\w-]+)\.md\) \|([\d |]+)\| ([\d.–]+) \|", _TEXT, re.M)
    pages = {file.with_suffix("").relative_to(_ROOT).as_posix() for file in (_ROOT / "docs/experiments").glob("*.md")}
    assert {page for page, *_ in rows} == pages
    for page, cells, ratio in rows:
        tally = json.loads((_ROOT / f"{page}.json").read_text("utf-8"))["tally"]
        assert tally["void"] == 0
        counts = [tally.get(way, 0) for way in _WAYS]
        assert [int(cell) for cell in cells.split("|")] == [sum(counts), *counts], page
        median = tally.get("median ratio")
        assert ratio == ("–" if median is None else f"{median:.2f}"), page


def _page(name: str) -> str:
    """Returns a page with its lines joined."""
    return " ".join((_ROOT / name).read_text("utf-8").split())


def test_speeds_beside_other_simulators_are_those_of_the_page_that_measured_them() -> None:
    page = (_ROOT / "docs/beside-others.md").read_text("utf-8")
    number = r"([\d.]+)"
    row = rf"^\| (.+?) \| (\d+) \| {number} M \| {number} M \| \*\*{number}\*\* "
    found = {(name, hosts): values for name, hosts, *values in re.findall(row, page, re.M)}
    htsim, larger = found["htsim", "128"], found["htsim", "1024"]
    hpcc, conweave = found["HPCC's ns-3", "128"], found["ConWeave's ns-3", "128"]
    own = f"{hpcc[1]}–{conweave[1]} M beside ns-3, {htsim[1]} M beside htsim"
    forks = f"{hpcc[0]} M (HPCC), {conweave[0]} M (ConWeave)"
    title = "data packet-hops per CPU-second, 128 hosts"
    assert f"| {title} | {own} | {forks} | {htsim[0]} M | not measured |" in _TEXT
    assert f"| the same, 1024 hosts | {larger[1]} M | not measured | {larger[0]} M | not measured |" in _TEXT
    ratios = f"{hpcc[2]} to {conweave[2]} times as fast as the forks of ns-3, and "
    ratios += f"{float(htsim[2]):.0f} to {float(larger[2]):.0f} times as fast as htsim"
    assert ratios in _page("README.md")


def test_times_of_collectives_are_those_of_the_page_that_measured_them() -> None:
    page = (_ROOT / "docs/performance.md").read_text("utf-8")
    rows = [re.search(rf"^\| {name} \|.*\| ([\d.]+) \| (\d+) \|$", page, re.M) for name in _COLLECTIVES]
    times = [[float(time) for time in row.groups()] for row in rows if row is not None]
    fast, full = (sum(of_each) for of_each in zip(*times, strict=True))
    minutes = {3: "three", 4: "four", 5: "five"}[round(full / 60)]
    told = _page("docs/performance.md")
    assert f"take {fast:.1f} CPU-seconds, Python's start apart, in the place of {minutes} minutes" in told
    assert f"reduce-scatter on 128 GPUs (2.3 billion packet-hops of 1000 B) take {fast:.1f} CPU-seconds" in _page(
        "CHANGELOG.md"
    )
    iteration = re.search(r"^\| an iteration of GPT-13B, 128 GPUs,.*\| ([\d.]+) \| (\d+) \|$", page, re.M)
    assert iteration is not None
    told = f"an iteration of GPT-13B on 128 GPUs takes {iteration[1]} in the place of {iteration[2]}."
    assert told in _page("CHANGELOG.md")


# Of GPT-13B's parameters: the all-gather and the reduce-scatter.
def test_the_real_job_is_that_of_the_page_that_measured_it() -> None:
    page = (_ROOT / "docs/performance.md").read_text("utf-8")
    row = re.search(r"^\| an iteration .*\| 400G, one tier \| ([\d,]+) M \| [\d.]+ M \| (\d+) \|", page, re.M)
    assert row is not None
    hops, seconds = float(row[1].replace(",", "")) / 1000, row[2]
    told = _page("README.md")
    assert f"has {hops:.1f} billion packet-hops" in told
    assert f"takes about {seconds} CPU-seconds with all tables" in told


_COLLECTIVES = ("128 GPUs", "128 GPUs, reduce-scatter")


def test_links() -> None:
    broken = []
    for page in _PAGES:
        # The figures of a page of experiments are built by `make pages`.
        claims = page.with_suffix(".json")
        built = json.loads(claims.read_text("utf-8"))["built"] if claims.is_file() else {}
        targets = re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text("utf-8"))
        broken += [
            (page.name, target) for target in targets if target not in built and not (page.parent / target).exists()
        ]
    assert broken == []


@pytest.mark.parametrize("page", [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_make_targets(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text("utf-8"), re.M))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text("utf-8"), re.M))
    assert named
    assert named <= targets
