"""Every figure of every example: no text is cut, one size is no curve, seeds are dots, requested metrics are first."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import xoff
from xoff import plots
from xoff.report import run_page, study_page

_EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))
_SCENARIOS = [file for file in _EXAMPLES if not file.name.startswith(("sweep-", "search-"))]
_SWEEPS = [file for file in _EXAMPLES if file.name.startswith("sweep-")]


def texts(figure: Figure) -> Iterator[Text]:
    """Returns the visible texts, without ticks beyond an axis."""
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            yield text


def check(draw: Callable[[], Figure], place: Path) -> None:
    """Checks that a written figure holds all texts, is not much larger than planned, and has no document as a label."""
    figure = draw()
    plots.write(figure, place)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    held = plots._whole(figure) or figure.bbox_inches
    assert held.width <= 1.7 * figure.get_figwidth()
    assert held.height <= 1.7 * figure.get_figheight()
    renderer = canvas.get_renderer()
    drawn = figure.get_tightbbox(renderer)
    for end, least in zip((drawn.x0, drawn.y0), (held.x0, held.y0), strict=True):
        assert end >= least - 0.03
    for end, most in zip((drawn.x1, drawn.y1), (held.x1, held.y1), strict=True):
        assert end <= most + 0.03
    for text in texts(figure):
        assert "{" not in text.get_text(), text.get_text()


def small(file: Path) -> dict[str, Any]:
    """Returns a study with the ends of its axes alone, and two seeds."""
    study = tomllib.loads(file.read_text("utf-8")) | {"seeds": 2}
    if "base" in study:
        study["base"] = str(file.parent / study["base"])

    def cut(axes: dict[str, Any]) -> dict[str, Any]:
        return {
            path: [values["from"], values["to"]] if isinstance(values, dict) else values[:2]
            for path, values in axes.items()
        }

    if "axes" in study:
        study["axes"] = cut(study["axes"])
    for variant in study.get("variants", {}).values():
        if "axes" in variant:
            variant["axes"] = cut(variant["axes"])
    return study


@pytest.mark.parametrize("file", _SCENARIOS, ids=lambda file: file.stem)
def test_figures_of_an_example(file: Path, tmp_path: Path) -> None:
    result = xoff.run(file)
    flows = result.flows if "flows" in result.tables else None
    made = run_page.figures(result, flows)
    assert made
    for name, draw in made.items():
        check(draw, tmp_path / f"{name}.png")


@pytest.mark.parametrize("file", _SWEEPS, ids=lambda file: file.stem)
def test_figures_of_a_study(file: Path, tmp_path: Path) -> None:
    study = xoff.sweep(small(file), out=tmp_path / "study")
    page = study_page.build(study)
    # The study's own metrics come first.
    assert page.figures
    if study.plan.design is None:
        assert [name for name in page.figures if name in study.plan.metrics] == list(page.figures)[
            : len(study.plan.metrics)
        ]
    for name, draw in page.figures.items():
        check(draw, tmp_path / f"{name}.svg")


def test_the_check_finds_what_is_cut(tmp_path: Path) -> None:
    """A legend wider than its figure, which a canvas of fixed size cuts."""

    def draw() -> Figure:
        figure, axes = plots.canvas(width=3)
        axes.plot([1, 2], label="a name that nobody would want to read in a legend, " * 3)
        figure.legend(loc="outside lower center")
        return figure

    with pytest.raises(AssertionError):
        check(draw, tmp_path / "wide.png")


CONTROLS: list[dict[str, Any]] = [
    {"dctcp": {}},
    {"dcqcn": {"preset": "conweave", "additive_increase": "40Mbps", "hyper_increase": "400Mbps"}},
]


def study_of(scenario: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"scenario": scenario | {"switch": scenario["switch"] | {"ecn": {"step": {"threshold": "30KB"}}}}, **more}


def test_tables_as_values_are_words_in_labels_and_titles(scenario: dict[str, Any], tmp_path: Path) -> None:
    axes = {"host.congestion_control": CONTROLS, "switch.forwarding_latency": ["0", "1us"]}
    study = xoff.sweep(study_of(scenario, axes=axes, seeds=2), out=tmp_path / "study")
    for draw in (lambda: study.plot.bars("fct_mean_ps"), lambda: study.plot.metric("fct_mean_ps"), study.plot.fct_cdf):
        check(draw, tmp_path / "figure.svg")
    shown = " ".join(text.get_text() for text in texts(study.plot.bars("fct_mean_ps"))).split()
    assert "dctcp," in shown
    assert "preset" in shown
    assert "dcqcn preset conweave" in study.plan.coordinates(study.plan.points[2])


def test_one_size_is_a_box_and_no_curve(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario)
    (axes,) = result.plot.slowdown_by_size().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["all"]
    assert "100 KB" in axes.get_xlabel()
    assert len(axes.patches) == 1
    # With several sizes the figure is a curve, with a size at each place.
    rows = [{"src": index % 3 + 1, "dst": 0, "size": f"{10 + index}KB"} for index in range(40)]
    (axes,) = xoff.run(scenario | {"workload": [{"flows": rows}]}).plot.slowdown_by_size().axes
    assert not axes.patches
    assert len(axes.lines) == 2


def test_bars_take_one_name_and_show_every_seed(scenario: dict[str, Any], tmp_path: Path) -> None:
    traffic = [{"poisson": {"load": 0.4, "sizes": "hadoop", "duration": "50us"}}]
    study = xoff.sweep(
        study_of(
            scenario | {"workload": traffic},
            seeds=4,
            variants={"plain": {}, "late": {"switch": {"forwarding_latency": "2us"}}},
        ),
        out=tmp_path / "study",
    )
    (axes,) = study.plot.bars("fct_p99_ps").axes
    dots = [line for line in axes.lines if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [8]
    bars = [segment for one in axes.collections for segment in one.get_segments()]
    assert len(bars) == 2
    assert min(point[0] for segment in bars for point in segment) >= 0
    with pytest.raises(xoff.InputError, match="did you mean `fct_p99_ps`"):
        study.plot.bars("fct_p9_ps")
    with pytest.raises(xoff.InputError, match=r"and [0-9]+ more$"):
        study.plot.bars("xyzzy")


def test_axes_that_move_together_are_one(scenario: dict[str, Any], tmp_path: Path) -> None:
    axes = {"switch.forwarding_latency": ["0", "1us", "2us"], "network.star.link.delay": ["1us", "2us", "3us"]}
    study = xoff.sweep(study_of(scenario, axes=axes, zip=[list(axes)]), out=tmp_path / "study")
    (panel,) = study.plot.panels("fct_mean_ps", study.plot.x() or study.plan.columns[0])
    assert [(line.name, len(line.places)) for line in panel.lines] == [("", 3)]
    labels = [label.get_text() for label in study.plot.bars("fct_mean_ps").axes[0].get_yticklabels()]
    assert all("," not in label for label in labels)


def test_a_page_shows_what_was_asked_for_first(scenario: dict[str, Any], tmp_path: Path) -> None:
    variants = {"plain": {}, "late": {"switch": {"forwarding_latency": "2us"}}}
    study = xoff.sweep(study_of(scenario, variants=variants, metrics=["pfc_pauses", "drops"]), out=tmp_path / "study")
    page = study_page.build(study)
    assert [one.title for one in page.measured] == ["PFC pauses", "drops"]
    assert list(page.figures)[:2] == ["pfc_pauses", "drops"]
    # Settings of the base are labelled as the base's: variants may have set them.
    assert [heading for heading, _ in page.story if not heading.endswith(" of the base")] == ["Parameters"]
