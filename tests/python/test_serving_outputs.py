"""Outputs about inference serving beside its summary: the page of a run, figures, traces and the one-page summary."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import xoff
from test_export import _trace
from test_figures import check, texts
from xoff import formatting, plots, report
from xoff.exporting import perfetto
from xoff.insight.serving_command import PARTS
from xoff.plots import serving as serving_plots
from xoff.report import run_page, summary
from xoff.report.narrative import tell
from xoff.report.page import Part, Table
from xoff.results import SERVICE_TIMES, connections

NAME = "chat $x$ <b>"
SERVING: dict[str, Any] = {
    "model": {"preset": "mixtral_8x7b", "layers": 2},
    "compute": {"device": "h100"},
    "arrivals": {"rate": 600.0, "requests": 12},
    "lengths": {"input": 512, "output": 6},
    "prefill": {"data": 2, "expert": 2},
    "decode": {"data": 4, "expert": 4},
    "kv": {"granularity": "layer"},
    "slo": {"ttft": "15ms", "itl": "1ms"},
}
SCENARIO: dict[str, Any] = {
    "network": {"star": {"hosts": 8, "link": {"rate": "100Gbps", "delay": "500ns"}}},
    "framing": {"payload": "4000B"},
    "switch": {"flow_control": {"pfc": {"xoff": "40KB"}}},
    "workload": [{"name": NAME, "serving": SERVING}],
}
PULL: dict[str, Any] = {
    "prefill": {"data": 2},
    "decode": {"instances": 2, "data": 2, "kv_tokens": 1200},
    "kv": {"handoff": "pull"},
    "warmup": "5ms",
}
AGGREGATED: dict[str, Any] = {key: part for key, part in SERVING.items() if key not in {"prefill", "decode", "kv"}}
AGGREGATED |= {"aggregated": {"data": 2, "tensor": 2, "chunk": 256}}


def serving(**changes: Any) -> dict[str, Any]:
    return SCENARIO | {"workload": [{"name": NAME, "serving": SERVING | changes}]}


@pytest.fixture(scope="module")
def result() -> xoff.Result:
    return xoff.run(SCENARIO)


def part(result: xoff.Result) -> Part:
    (found,) = run_page.build(result).serving
    return found


def keys(table: Table) -> list[list[Any]]:
    return [[cell.key for cell in row] for row in table.rows]


def test_the_page_has_the_numbers_of_the_summary(result: xoff.Result) -> None:
    numbers: Any = result.summary["serving"][NAME]
    page = part(result)
    assert page.title == NAME
    facts = dict(page.facts)
    assert facts["requests"] == "12 of 12 completed"
    assert facts["TTFT p50, p99"] == ", ".join(formatting.time(numbers["ttft_ps"][one]) for one in ("p50", "p99"))
    assert facts["output tokens a second"] == f"{numbers['output_tokens_per_second']:,.1f}"
    assert facts["SLO attainment"] == f"{numbers['slo_attainment']:.1%}"
    assert facts["goodput"] == f"{numbers['goodput']:,.1f} requests a second"
    times, steps, parts, late = page.tables
    limits = {"ttft_ps": 15 * 10**9, "itl_ps": 10**9}
    assert keys(times) == [[title, *numbers[key].values(), limits.get(key)] for key, title in SERVICE_TIMES.items()]
    labels = ["EP_combine", "EP_dispatch"]
    assert steps.heads[5:7] == [f"exposed {label}" for label in labels]
    assert keys(steps) == [
        [
            name,
            *(pool[key] for key in ("steps", "tokens", "compute", "exposed")),
            *(pool["exposed_by_label"][label] for label in labels),
            pool["bubble"],
        ]
        for name, pool in numbers["steps"].items()
    ]
    whole = sum(row[1].key for row in parts.rows)  # type: ignore[misc]
    assert whole == pytest.approx(numbers["e2e_ps"]["mean"], abs=1)
    rows = {row["request"]: row for row in result.requests.to_pylist()}
    longest = late.heads.index("longest ITL")
    assert len(late.rows) == 10
    assert late.rows[0][longest].key == max(row["itl_max_ps"] for row in rows.values())
    assert all(before[longest].key >= row[longest].key for before, row in pairwise(late.rows))  # type: ignore[operator]
    for row in late.rows:
        assert row[longest].key == rows[row[0].key]["itl_max_ps"]
        assert row[-1].text == f"xoff explain DIR --request {row[0].key}"


def test_the_page_shows_figures_and_no_undelivered_flow(result: xoff.Result) -> None:
    page = run_page.build(result)
    titles = ["Requests over time", "Steps of decode over time", "Service times"]
    assert [one.title for one in page.serving[0].pictures] == titles
    assert {"serving_requests", "serving_steps", "serving_times"} <= set(page.figures)
    assert connections.of_serving(result) == set(result.flows["flow"].to_pylist()) != set()
    assert "Flows, the slowest first" not in [table.title for table in page.tables]
    (carried,) = (table for table in page.tables if table.title.startswith("Connections"))
    assert len(carried.rows) == result.flows.num_rows
    assert "stays open" in carried.note
    assert page.charts == []
    text = report.render(page)
    assert text.index('id="serving"') < text.index('id="network"') < text.index('id="tables"')
    assert "the numbers are in the tables requests, steps and tokens" in text
    assert "chat $x$ &lt;b&gt;" in text
    assert "<b>:" not in text


def test_the_replay_leaves_out_connections_that_stay_open() -> None:
    flows = [{"src": 6, "dst": 7, "size": "100KB"}]
    scenario = SCENARIO | {"workload": [*SCENARIO["workload"], {"name": "others", "flows": flows}]}
    result = xoff.run(scenario, overrides={"probe.replay": True})
    page = run_page.build(result)
    assert page.replay is not None
    assert page.replay.data is not None
    assert len(page.replay.data["flows"]) == 1
    assert "stay open" in page.replay.notes[-1]
    assert [len(table.rows) for table in page.tables if table.title.startswith("Flows")] == [1]


def test_a_run_without_serving_has_no_part(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario)
    page = run_page.build(result)
    assert page.serving == []
    assert 'id="serving"' not in report.render(page)
    assert not [name for name in page.figures if name.startswith("serving")]
    assert serving_plots.names(result) == []
    assert connections.of_serving(result) == set()
    assert page.delays is None or page.delays.title == "Why flows were slow"


@pytest.mark.parametrize("changes", [{}, PULL, {"tokens": True}], ids=["push", "pull", "tokens"])
def test_figures_of_serving(changes: dict[str, Any], tmp_path: Path) -> None:
    tokens = changes.get("tokens", False)
    more = {key: value for key, value in changes.items() if key != "tokens"}
    result = xoff.run(serving(**more), overrides={"probe.tokens": tokens})
    for draw in (serving_plots.requests, serving_plots.steps, serving_plots.times):
        check(lambda draw=draw: draw(result, NAME), tmp_path / f"{draw.__name__}.png")  # type: ignore[misc]
        shown = [text.get_text() for text in texts(draw(result, NAME))]
        assert any("time (" in text for text in shown)
        assert any(text[:1].isupper() for text in shown)
    found = [one.label for one in serving_plots.gaps(result, NAME)]
    assert found == (["ITL of tokens"] if tokens else ["TPOT of requests", "longest ITL of requests"])
    (note,) = [note for one in part(result).pictures if one.title == "Service times" for note in one.notes]
    assert ("from the table of tokens" in note) == tokens
    assert [one.limit for one in serving_plots.first_tokens(result, NAME)] == [15 * 10**9]


def test_tokens_have_the_percentiles_of_the_summary() -> None:
    result = xoff.run(serving(warmup="5ms"), overrides={"probe.tokens": True})
    (itl,) = serving_plots.gaps(result, NAME)
    numbers: Any = result.summary["serving"][NAME]
    assert sum(itl.values) // len(itl.values) == numbers["itl_ps"]["mean"]
    assert numbers["requests"] == serving_plots.measured(result, NAME).num_rows < 12
    assert "of the warm-up" in part(result).notes[-1]


def test_parts_of_a_bar_end_with_the_request(result: xoff.Result) -> None:
    (axes,) = serving_plots.requests(result, NAME).axes
    ends = [0.0] * 12
    for bar in axes.patches:
        place = round(bar.get_y() + bar.get_height() / 2)
        ends[place] = max(ends[place], bar.get_x() + bar.get_width())
    rows = sorted(result.requests.to_pylist(), key=lambda row: row["request"])
    assert ends == pytest.approx([(row["arrival_ps"] + row["e2e_ps"]) / 1e9 for row in rows])
    assert set(PARTS) == {column for columns in serving_plots.PHASES.values() for column in columns}


def test_many_requests_are_drawn_in_part(monkeypatch: pytest.MonkeyPatch, result: xoff.Result) -> None:
    monkeypatch.setattr(serving_plots, "REQUESTS", 5)
    drawn = serving_plots.shown(result, NAME)
    longest = max(row["itl_max_ps"] for row in result.requests.to_pylist())
    assert longest in [row["itl_max_ps"] for row in drawn]
    numbers = [row["request"] for row in drawn]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert "5 of 12 requests: consecutive" in part(result).pictures[0].notes[1]


def test_lock_steps_last_until_the_last_rank(result: xoff.Result) -> None:
    (found,) = serving_plots.lock_steps(result, NAME).values()
    rows = [row for row in result.steps.to_pylist() if row["phase"] == "decode"]
    assert len(rows) == 4 * len(found)
    assert len({row["step"] for row in rows}) == len(found)
    first = [row for row in rows if row["step"] == 0]
    assert found[0].ps == max(row["end_ps"] - row["start_ps"] for row in first)
    assert found[0].compute_ps == pytest.approx(sum(row["compute_ps"] for row in first) / 4)


def test_several_workloads_and_requests_that_did_not_end() -> None:
    workload = [{"name": "pull", "serving": SERVING | PULL}, {"name": "one", "serving": AGGREGATED}]
    network = {"star": {"hosts": 12, "link": {"rate": "100Gbps", "delay": "500ns"}}}
    both = SCENARIO | {"network": network, "workload": workload}
    pull, one = run_page.build(xoff.run(both)).serving
    assert pull.tables[-1].rows[0][-1].text.startswith("xoff explain DIR --request pull:")
    assert [row[0].text for row in one.tables[1].rows] == ["aggregated"]
    assert "Steps of aggregated over time" in [picture.title for picture in one.pictures]
    cut = run_page.build(xoff.run(both, overrides={"until": "10ms"}))
    for found in cut.serving:
        assert "No request ended." in found.notes
        assert "not ended (censored)" in dict(found.facts)
    assert report.render(cut)


def test_a_trace_has_steps_and_requests(tmp_path: Path) -> None:
    result = xoff.run(serving(**PULL))
    written = perfetto.write(result, tmp_path / "trace", [])
    assert written.parts["steps"] == result.steps.num_rows
    assert written.parts["requests"] == 12
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    paths: dict[int, str] = {}
    for number, track in tracks.items():
        paths[number] = f"{paths.get(track['parent'], '')}/{track['name']}"
    steps = [event for event in events if event["name"].startswith("step of ")]
    places = {paths[event["track"]] for event in steps if event["phase"] == "decode"}
    assert places <= {f"/{NAME}: decode instance {one}/DP rank {rank}" for one in (0, 1) for rank in (0, 1)}
    columns = ("start_ps", "end_ps", "tokens", "compute_ps", "exposed_ps", "bubble_ps", "exposed_tp_ps")
    assert sorted([event[column] for column in columns] for event in steps) == sorted(
        [row[column] for column in columns] for row in result.steps.to_pylist()
    )
    # Slices of requests hold the slices of their phases, which add up.
    requests = {row["request"]: row for row in result.requests.to_pylist()}
    stacks: dict[int, list[dict[str, Any]]] = {}
    sums = dict.fromkeys(requests, 0)
    names = set()
    on_requests = [event for event in events if paths[event["track"]] == f"/{NAME}: requests/requests"]
    for event in sorted(on_requests, key=lambda event: event["time"]):
        stack = stacks.setdefault(event["track"], [])
        if event["type"] == 2:
            begun = stack.pop()
            end = begun.get("end_ps") or begun["arrival_ps"] + begun["e2e_ps"]
            assert event["time"] == end // 1000
            continue
        stack.append(event)
        if len(stack) == 2:
            sums[stack[0]["request"]] += event["end_ps"] - event["start_ps"]
            names.add(event["name"])
    assert not any(stacks.values())
    assert sums == {number: row["e2e_ps"] for number, row in requests.items()}
    assert {"prefill", "KV cache", "decode"} <= names
    assert [event["name"] for event in events if "connection" in event["name"]]
    assert not [event["name"] for event in events if event["name"].startswith("flow ")]


def test_a_request_without_an_end_stays_open_in_a_trace(tmp_path: Path) -> None:
    result = xoff.run(SCENARIO, overrides={"until": "10ms"})
    perfetto.write(result, tmp_path / "trace", [])
    _, events = _trace((tmp_path / "trace").read_bytes())
    begun = [event for event in events if event["name"].startswith("request ")]
    assert len(begun) == result.requests.num_rows
    assert any("e2e_ps" not in event for event in begun)


def test_serving_in_words() -> None:
    told = dict(tell(xoff.run(serving(**PULL)).scenario))["Traffic"]
    assert told == [
        f"“{NAME}”: 12 requests at random, 600 a second, with 512 tokens in and 6 out, to a language model (mixtral "
        "8x7b and layers 2), computed with device h100, efficiency 1, memory efficiency 1, kernel 0 ps, jitter 0. "
        "Prefill: an instance with 2 DP ranks, 2 GPUs in all. Decode: 2 instances with 2 DP ranks each, 4 GPUs in all. "
        "Decode pulls KV caches after the prompt. Router: round robin. Service levels: TTFT 15 ms, ITL 1 ms."
    ]


def test_the_one_page_summary_is_about_requests(result: xoff.Result, tmp_path: Path) -> None:
    numbers: Any = result.summary["serving"][NAME]
    first, second, third = summary.sentences(result)
    assert first.startswith(f"12 of 12 requests of {NAME} were completed; median and 99th percentile: TTFT ")
    assert formatting.time(numbers["ttft_ps"]["p99"]) in first
    assert first.endswith(f"{numbers['slo_attainment']:.1%} met the service levels.")
    assert second.startswith("In the network no packet was lost")
    assert third == "All audits of the run hold."
    assert plots.measured(result).num_rows == 0
    result.save(tmp_path / "kept")
    assert [path.name for path in summary.write(tmp_path / "kept")] == ["summary.pdf", "summary.png"]
