"""The gallery of the documentation: every question is run, its figure is the displayed figure, its answer holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import xoff
from params import first_fast
from small import Command

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "gallery.md").read_text("utf-8")
_PARTS = _PAGE.split("\n## ")[1:]
_TEXTS = re.compile(r"<text[^>]*>([^<]+)</text>")


def mean(place: Path, metric: str, **point: object) -> float:
    """Returns the mean of a metric over rows with these values."""
    (found,) = [
        one
        for one in xoff.Study.open(place).means(metric)
        if all(one.point[key] == value for key, value in point.items())
    ]
    return found.interval.mean


def _victim(place: Path) -> bool:
    alone = 1e6 * 8e3 / 100 * 1.048
    times = {name: mean(place, "victim_fct_mean_ps", variant=name) for name in ("PFC", "PFC + DCQCN", "PFC + SFC")}
    pauses = [mean(place, "pfc_pauses", variant=name) for name in times]
    return (
        1.9 * alone < times["PFC"] and times["PFC + SFC"] < times["PFC"] < times["PFC + DCQCN"] and pauses[1:] == [0, 0]
    )


def _headroom(place: Path) -> bool:
    lost = {one.point["xoff_bytes"]: one.interval.mean for one in xoff.Study.open(place).means("drops")}
    needed = xoff.check(tables_of("headroom"))["headroom"][0]["needed_bytes"]
    return (
        needed == 15_708
        and all(not count for xoff_bytes, count in lost.items() if xoff_bytes <= 84_000)
        and lost[86_000] > 0
    )


def _marks(place: Path) -> bool:
    first, at33, last = (mean(place, "fct_mean_ps", threshold_bytes=size) for size in (3_000, 33_100, 200_000))
    return 1.09 < first / at33 < 1.11 and abs(last / at33 - 1) < 0.01


def _paths(place: Path) -> bool:
    study = xoff.Study.open(place)
    verdicts = {name: one.comparison for name, one in study.against_first("fct_max_ps")}
    return all(verdicts[one].verdict == "lower" and (verdicts[one].relative or 0) < -0.25 for one in ("spray", "DRILL"))


def _lossless(place: Path) -> bool:
    study = xoff.Study.open(place)
    found = {(name, one.point["load"]): one.comparison.verdict for name, one in study.against_first("slowdown_p99")}
    real = {key for key, verdict in found.items() if verdict != "no difference shown"}
    lowest = min(("PFC + DCQCN", "IRN", "NDP"), key=lambda name: mean(place, "slowdown_p99", variant=name, load=0.6))
    return real == {("NDP", 0.6)} and lowest == "NDP"


def _bursts(place: Path) -> bool:
    large = {
        name: mean(place, "pfc_pauses", variant=name, incast_size_bytes=800_000)
        for name in ("none", "DCQCN", "DCTCP", "HPCC")
    }
    return large["none"] > 2 * large["DCQCN"] > 0 == large["DCTCP"] == large["HPCC"]


def _failure(place: Path) -> bool:
    leaves, waits = "leaves the dead port", "waits for the link"
    same = [mean(place, "fct_max_ps", variant=name, duration_ps=200 * 10**6) for name in (leaves, waits)]
    longer = [mean(place, "fct_max_ps", variant=name, duration_ps=800 * 10**6) for name in (leaves, waits)]
    return same[0] == same[1] and 1.6 < longer[1] / longer[0] < 2


def _cut_through(place: Path) -> bool:
    one, other = (
        mean(place, "fct_mean_ps", variant=name, payload_bytes=4000) for name in ("store and forward", "cut-through")
    )
    return one - other == pytest.approx(956_200, abs=100)


def _collective(place: Path) -> bool:
    small, large = (mean(place, "ring_collective_bus_bps", collective_size_bytes=size) for size in (100_000, 3_000_000))
    return 25e9 < small < 26e9 and 83e9 < large < 84e9


def _training(place: Path) -> bool:
    job = xoff.load(place).summary["workloads"]["experts"]["job"]
    return 5.35e9 < (job["iteration_ps"] or 0) < 5.45e9


def _decides(place: Path) -> bool:
    found = xoff.Study.open(place).effects("pfc_pauses")
    return found.rows[0].name == "alpha" and found.rows[0].verdict == "lowers"


def _best(place: Path) -> bool:
    best = xoff.tune(_ROOT / "examples" / "gallery" / "best.toml", out=place).best
    first = best[0].against["incast_fct_max_ps"]
    return best[0].confirmed and -0.09 < (first.relative or 0) < -0.05 and first.real and not best[-1].confirmed


_ANSWERS: dict[str, Callable[[Path], bool]] = {
    "victim": _victim,
    "headroom": _headroom,
    "marks": _marks,
    "paths": _paths,
    "lossless": _lossless,
    "bursts": _bursts,
    "failure": _failure,
    "cut-through": _cut_through,
    "collective": _collective,
    "training": _training,
    "decides": _decides,
    "best": _best,
}


def tables_of(name: str) -> dict[str, object]:
    """The scenario of a study of the gallery."""
    import tomllib

    found: dict[str, object] = tomllib.loads((_ROOT / "examples" / "gallery" / f"{name}.toml").read_text("utf-8"))[
        "scenario"
    ]
    return found


def test_there_are_twelve_questions_and_every_file_is_one_of_them() -> None:
    files = {file.stem for file in (_ROOT / "examples" / "gallery").glob("*.toml")}
    assert len(_PARTS) == len(files) == 12
    assert files == {re.findall(r"images/gallery-([\w-]+)\.svg", part)[0] for part in _PARTS} == _ANSWERS.keys()


@pytest.mark.parametrize("part", first_fast(_PARTS, 3), ids=lambda part: part.splitlines()[0])
def test_question(part: str, tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    (name,) = re.findall(r"images/gallery-([\w-]+)\.svg", part)
    (figure,) = re.findall(r"figure, `([^`]+)`", part)
    (commands,) = re.findall(r"```sh\n(.*?)\n```", part, re.S)
    for line in commands.splitlines():
        done = xoff_here(*shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr
    drawn = _TEXTS.findall((tmp_path / figure).read_text("utf-8"))
    assert drawn == _TEXTS.findall((_ROOT / "docs" / "images" / f"gallery-{name}.svg").read_text("utf-8"))
    assert len(drawn) > 5
    assert _ANSWERS[name](tmp_path / name)
