"""The page of one result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from matplotlib.figure import Figure

from xoff import plots
from xoff.plots import COLOURS, colour, groups, measured, size_label, subject
from xoff.plots import jobs as job_plots
from xoff.plots import serving as serving_plots
from xoff.report import charts, delays, jobs, memory_figure, replay, serving, switch_memory, topology
from xoff.report.narrative import tell
from xoff.report.page import MEANINGS, Again, Audit, Cell, Network, Page, Table, document_text, table
from xoff.results import Result, connections, counts, incidents

# A distribution of fewer flows or messages is not drawn.
_FEW = 20


def build(result: Result) -> Page:
    """Returns the page of a result."""
    scenario, summary = result.scenario, result.summary
    times = measured(result) if "flows" in result.tables else None
    page = Page(
        title=str(scenario.get("name") or "A run"),
        subtitle=str(scenario.get("description") or ""),
        facts=_facts(result),
        story=tell(scenario),
        again=_again(result),
        audits=audits(result.audits),
        notes_title="What happened",
        warnings=incidents.lines(summary),
    )
    if "links" in result.tables:
        page.networks = [drawing("", result, result.flows if "flows" in result.tables else None)]
        page.replay = replay.build(result)
        page.delays = delays.build(result)
        page.use_colours, page.paused_colours = topology.legend(topology.USE), topology.legend(topology.PAUSED)
    page.memory = switch_memory.build(result)
    page.jobs = jobs.build(result)
    page.serving = serving.build(result)
    page.charts = list(_charts(result, times))
    if "pauses" in result.tables:
        page.timeline, page.times = charts.timeline(result), charts.times(result)
        page.causes = [(cause, colour(cause)) for cause in sorted(set(result.pauses["cause"].to_pylist()))]
    page.tables = list(_tables(result))
    page.figures = figures(result, times)
    return page


# Facts on the run itself are the last.
_LAST = ("simulated", "performance", "fingerprint")


def _facts(result: Result) -> list[tuple[str, str]]:
    """Returns the numbers of a run: first those of the traffic, then those of the network, then those of the run."""
    rows = [(what, text) for what, text in result.rows() if what not in {"audits", "warning", "incident"}]
    last = [row for key in _LAST for row in rows if row[0] == key]
    first = [row for row in rows if row[0] not in _LAST and row[1] != "0"]
    # A count of zero is no empty card: that nothing was lost is an answer. Zeros follow the other numbers.
    zeros = [row for row in rows if row[0] not in _LAST and row[1] == "0"]
    run = [("seed", str(result.scenario.get("seed"))), ("engine", f"xoff {result.summary.get('version')}")]
    return [*first, *zeros, *last, *run]


def audits(found: dict[str, str]) -> list[Audit]:
    """Returns the audits with the subject of each."""
    return [Audit(name, MEANINGS.get(name, ""), state, state == "ok") for name, state in found.items()]


def drawing(title: str, result: Result, flows: pa.Table | None) -> Network:
    """Returns the drawing of a result's network."""
    ends = set() if flows is None else {*flows["src"].to_pylist(), *flows["dst"].to_pylist()}
    horizon = result.summary.get("simulated_ps") or 0
    svg, note = topology.draw(result.links, horizon, ends, topology.gpus(result.scenario))
    return Network(title, Markup(svg), note)  # noqa: S704 (names in it are escaped)


def figures(result: Result, times: pa.Table | None) -> dict[str, Callable[[], Figure]]:
    """Returns the figures for which this result has the data.

    times: the measured flows and messages; None if the run recorded no flows.
    """
    plot = result.plot
    made: dict[str, Callable[[], Figure]] = {}
    if times is not None and times.num_rows:
        made["fct_bars"] = plot.fct_bars
        made["fct_cdf"] = plot.fct_cdf
        if times.num_rows >= _FEW and plots.has_sizes(groups(times, "workload")):
            made["slowdown_by_size"] = plot.slowdown_by_size
    if _has_queues(result):
        made["queue_depth"] = plot.queue_depth
    if "pauses" in result.tables and result.pauses.num_rows:
        made["pauses"] = plot.pauses
    if {"operations", "jobs"} <= set(result.tables) and result.operations.num_rows:
        first = job_plots.names(result.operations)[0]
        made["job"] = lambda: job_plots.activity(result.operations, result.jobs, first).figure()
        if result.jobs.num_rows:
            made["job_parts"] = lambda: job_plots.breakdown(result.jobs, first).figure()
    made |= _serving(result)
    if memories := switch_memory.build(result):
        made["switch_memory"] = lambda: memory_figure.figure(memories[0])
    if "links" in result.tables and result.links.num_rows:
        made["link_use"] = plot.link_use
    return made


def _serving(result: Result) -> dict[str, Callable[[], Figure]]:
    """Returns the figures of the first serving workload."""
    made: dict[str, Callable[[], Figure]] = {}
    for name in serving_plots.names(result)[:1]:
        rows = serving_plots.measured(result, name)
        if serving_plots.shown(result, name):
            made["serving_requests"] = partial(serving_plots.requests, result, name)
        if serving_plots.lock_steps(result, name):
            made["serving_steps"] = partial(serving_plots.steps, result, name)
        if rows["ttft_ps"].null_count < rows.num_rows:
            made["serving_times"] = partial(serving_plots.times, result, name)
    return made


def _has_queues(result: Result) -> bool:
    """Whether queues over time can be drawn: this needs the samples, and the links for names."""
    return {"samples", "links"} <= set(result.tables) and result.samples.num_rows > 0


def _charts(result: Result, times: pa.Table | None) -> Any:
    if times is not None and times.num_rows:
        by = groups(times, "workload")[: len(COLOURS)]
        what = subject(by)
        name = "Flow completion times" if what == "flows" else f"Completion times of {what}"
        distribution = charts.cdf("fct", "by workload", by)
        # One completion time is a point, and no line.
        if len(distribution["x"]["values"]) > 1:
            yield {"id": "fct", "title": name, "charts": [distribution]}
        if times.num_rows >= _FEW and plots.has_sizes(by):
            title = f"Slowdown by {size_label(by)}, in bins of equally many {what}"
            yield {"id": "slowdown", "title": title, "charts": [charts.slowdown("slowdown", "by size", by)]}
    if _has_queues(result):
        yield {"id": "queues", "title": "Queues over time", "charts": [charts.queues("queues", result)]}


def _tables(result: Result) -> Iterator[Table]:
    """Yields the tables of a page that have rows."""
    for one in _all_tables(result):
        if one.rows:
            yield one


def _flows(result: Result) -> Iterator[Table]:
    """Yields the tables of flows, of messages, and of the connections that carry them."""
    heads = {
        "label": "flow", "workload": "workload", "src": "from", "dst": "to", "size_bytes": "size",
        "start_ps": "start", "fct_ps": "FCT", "slowdown": "slowdown", "paused_ps": "paused",
        "retransmitted": "retransmitted", "notifications": "notifications", "holds": "holds",
    }  # fmt: skip
    messages = result.messages if "messages" in result.tables else None
    known = connections.ends(result)
    rows = [row | {"label": row["label"] or str(row["flow"])} for row in result.flows.to_pylist()]
    flows = [row for row in rows if row["flow"] not in known]
    # The slowest flows are the most interesting.
    flows.sort(key=lambda row: (row["fct_ps"] is not None, -(row["slowdown"] or 0)))
    yield table("Flows, the slowest first", heads, flows, open=True)
    if messages is None:
        return
    of_messages = {
        "flow": "connection", "workload": "job", "label": "label", "rank": "rank", "to_rank": "to rank",
        "size_bytes": "size", "start_ps": "handed over", "fct_ps": "FCT", "slowdown": "slowdown",
    }  # fmt: skip
    slowest = messages.sort_by([("slowdown", "descending"), ("flow", "ascending")]).to_pylist()
    yield table("Messages, the slowest first", of_messages, slowest)
    carried = [row for row in rows if row["flow"] in known]
    of_connections = {"label": "connection"} | {
        key: title for key, title in heads.items() if key not in {"label", "fct_ps", "slowdown"}
    }
    carried.sort(key=lambda row: -row["size_bytes"])
    note = "A connection carries many messages, stays open, and has no completion time of its own."
    yield table("Connections, the largest first", of_connections, carried, note=note)


def _all_tables(result: Result) -> Iterator[Table]:
    horizon = max(result.summary.get("simulated_ps") or 0, 1)
    if "flows" in result.tables:
        yield from _flows(result)
    if "faults" in result.tables and result.table("faults").num_rows:
        heads = {
            "target": "target", "kind": "effect", "start_ps": "since", "end_ps": "until",
            "lost_packets": "packets lost", "lost_bytes": "bytes lost", "lost_control": "other frames lost",
        }  # fmt: skip
        rows, note = result.table("faults").to_pylist(), "A fault without an end lasted until the end of the run."
        yield table("Faults, in the order in which they began", heads, rows, note=note, open=True)
    if "jobs" in result.tables and result.jobs.num_rows:
        yield _ranks(result.jobs)
    if "queues" in result.tables:
        heads = {
            "node": "node", "port": "port", "peer": "towards", "queue": "queue", "max_bytes": "deepest",
            "packets": "packets", "bytes": "bytes", "marked": "marked", "dropped": "dropped",
        }  # fmt: skip
        yield table(
            "Queues, the deepest first", heads, sorted(result.queues.to_pylist(), key=lambda row: -row["max_bytes"])
        )
    if "links" in result.tables:
        heads = {
            "node": "from", "peer": "to", "rate_bps": "rate", "delay_ps": "delay", "utilisation": "sending",
            "paused": "paused", "data_bytes": "data", "control_bytes": "control",
        }  # fmt: skip
        rows = [row | {"paused": min(row["paused_ps"] / horizon, 1.0)} for row in result.links.to_pylist()]
        used = sorted((row for row in rows if row["busy_ps"] or row["paused_ps"]), key=lambda row: -row["utilisation"])
        yield table("Links, the busiest first", heads, used, note="Directions without traffic are left out.")
    if "pauses" in result.tables and result.pauses.num_rows:
        found = [
            {"name": name, "pauses": len(spans), "paused_ps": plots.paused_us(spans) * 1e6,
             "longest_ps": max(span for _, _, span in spans) * 1e6}
            for name, spans in plots.paused_ports(result)
        ]  # fmt: skip
        heads = {"name": "port", "pauses": "pauses", "paused_ps": "paused", "longest_ps": "longest"}
        yield table("Paused ports, the longest first", heads, found)
    counted = [
        [Cell(count.part, count.part), Cell(count.label, count.label), Cell(count.text(value), value)]
        for count, value in counts.counted(result.summary)
    ]
    if counted:
        yield Table("Counts of parts", ["part", "quantity", "count"], counted, open=False)


def _ranks(jobs: pa.Table) -> Table:
    """Returns the parts of each rank's time, summed over all iterations."""
    sums: dict[tuple[str, int, str], dict[str, int]] = {}
    for row in jobs.to_pylist():
        of = sums.setdefault((row["workload"], row["rank"], row["host"]), {"compute": 0, "exposed": 0, "bubble": 0})
        of[row["part"]] += row["time_ps"]
    heads = {
        "workload": "job", "rank": "rank", "host": "host", "compute_ps": "computing", "exposed_ps": "exposed",
        "bubble_ps": "waiting for others",
    }  # fmt: skip
    rows = [
        {"workload": workload, "rank": rank, "host": host} | {f"{part}_ps": ps for part, ps in of.items()}
        for (workload, rank, host), of in sums.items()
    ]
    return table("Ranks, the longest computation first", heads, sorted(rows, key=lambda row: -row["compute_ps"]))


def _again(result: Result) -> Again:
    note = f"An equal fingerprint, {result.fingerprint}, proves an equal run, event for event."
    if "inputs/" in document_text(result.scenario.get("network", {})) + document_text(
        result.scenario.get("workload", [])
    ):
        note += " The tables that the scenario names are in the directory of the result, under inputs/."
    return Again("xoff run scenario.json --out result", "scenario.json", document_text(result.scenario), note)
