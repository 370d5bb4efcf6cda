"""Recomputes every number of a summary from the tables of its run, or names the number with a reason."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.validation.fault_drawing import draw_fault, links_of

import xoff
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.jobs import MESSAGES
from xoff.conformance.schema import registered
from xoff.results import counts

DRAWS, JOBS, FAULTS, CUTS = 40, 8, 12, 12
LARGEST_BYTES, MOST_FLOWS = 3_000_000, 2_000
CLASSES = (1000, 20_000)
"""The bounds of `probe.size_classes`."""
RECORDED = {"audits": dict.fromkeys(["completion", "loss", "deadlock", "pauses"], "record")}
Row = dict[str, Any]
Found = dict[str, Any]

_COUNTED = {
    "adaptive.chosen adaptive.no_good_port adaptive.load_updates": "decisions of switches; no table has a row for each",
    "bcn.negative bcn.positive bcn.samples bcn.stops": "samples and messages of congestion points; no table has them",
    "bfc.shared": "flows that shared a queue; no table has assignments of queues",
    "congestion_isolation.aged_flows congestion_isolation.isolated_flows": "entries of flow tables; no table has them",
    "congestion_isolation.messages congestion_isolation.flow_table_full": "as above",
    "conweave.flushed_early conweave.held_flows conweave.held_packets": "decisions about packets; no table has them",
    "conweave.messages conweave.moved conweave.reorder_queue_exhausted": "as above",
    "credits.recovered credits.updates": "credits and their frames; no table has them",
    "credits.waits": "a wait without length is no pause",
    "fault.reroutes": "changes of routes; no table has them",
    "fault.retried fault.retried_bytes": "frames that a link sent again are no packets of a flow",
    "flowlet.flowlets reps.recycled": "choices of paths; no table has a row for each",
    "ndp.pulls portfc.frames portfc.relayed": "control frames, which only `probe.packets` writes down",
    "portfc.pauses": "the pause of an output stops queues of several neighbours, each of which is a row",
    "pfc.above_xoff_ps": "counts over time; no table has them",
    "qcn.messages qcn.samples": "samples and messages of congestion points; no table has them",
    "rccc.granted_bytes rccc.lapsed_bytes rccc.pulls rccc.requests": "credits of receivers; no table has them",
    "rccc.slow_pulls rccc.spent_bytes": "as above",
    "sfc.above_threshold_after_pause_ps sfc.above_threshold_ps sfc.egress_idle_paused_ps": "queues over time",
    "pfc.late_holds sfc.late_holds sfc.messages sfc.resumes": "messages; no table has them",
    "sfc.isolated_flows sfc.proxy_pauses": "as above",
    "transport.spurious_retransmissions": "arrivals of packets; only `probe.packets` writes them down",
    "transport.held_back": "as above",
    "trimming.bounced trimming.trimmed": "headers; only `probe.packets` writes them down",
}
NOT_IN_TABLES = {
    "sampled_every_ps": "the interval of samples: an empty queue has no sample, so that rows may be farther apart",
    **{f"serving.*.itl_ps.{key}": "tokens are in no table" for key in ("mean", "p50", "p90", "p99")},
    "workloads.*.job.mfu": "depends on the operations and the peak rate of the model, which are in the scenario",
    "incidents.*": "times of faults, losses and watchdogs; tests/python/test_incidents.py compares them with tables",
    "active_flows.*": "a flow that was given up has a goodput as well, and no table says whether a flow was active",
    "performance.*": "the cost of the run and what was fast-forwarded, which are no results",
    **{key: reason for keys, reason in _COUNTED.items() for key in keys.split()},
}
"""Keys without a source in the default tables, each with the reason."""

IN_CUT_RUNS = {
    "flows.total": "flows that had not started are in no table",
    "flows.completed": "a connection has the size of what was handed to it so far, and may look complete",
    "workloads.*.flows.total": "flows and messages that had not started are in no table",
    "workloads.*.job.*": "operations that had not ended are in no table, so that nobody sees which iterations ended",
    "workloads.*.collective.*": "messages that had not arrived are in no table",
    "serving.*": "tokens of requests that had not ended are in no table",
}
"""Keys without a source in the tables of a truncated run, each with the reason."""

UNDER_FAULTS = {
    "*.paused_ps": "counted until the run was looked at last, which is later than `simulated_ps`; such pauses are rows",
    "*.pauses": "a pause that a fault or the watchdog ends, and that is renewed, is one for its sender and two rows",
}
"""Keys that may differ from the tables under faults and a watchdog, each with the reason."""


def numbers(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yields each number of a summary: its key, its key without names of workloads and labels, and its value."""

    def leaves(value: Any, path: tuple[str, ...], general: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
        pairs = list(
            value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in pairs:
            is_name = isinstance(key, int) or general in (("workloads",), ("serving",)) or general[-1:] == ("groups",)
            yield from leaves(inner, (*path, str(key)), (*general, "*" if is_name else str(key)))
        if not pairs and (value is None or isinstance(value, int | float)):
            yield "\t".join(path), ".".join(general), value

    words = {"name", "parts", "warnings", "audits"}
    yield from leaves({key: value for key, value in summary.items() if key not in words}, (), ())


def named(general: str, keys: Mapping[str, str]) -> bool:
    """True if a key matches a pattern. A star matches a part of a count, or the rest of the key."""
    first, last = general.partition(".")[0], general.rpartition(".")[2]
    return any(key in keys for key in (general, f"{first}.*", f"*.{last}")) or any(
        key.endswith(".*") and general.startswith(key[:-1]) for key in keys if key.startswith(("workloads", "serving"))
    )


def times(values: list[Any], prefix: str) -> Found:
    """Returns mean, percentiles and maximum; a percentile is the element at ⌈p·n⌉."""
    values, n = sorted(values), len(values)
    if not n:
        return {f"{prefix}\t{key}": None for key in ("mean", "p50", "p95", "p99", "p999", "max")}
    mean = sum(values) // n if isinstance(values[0], int) else math.fsum(values) / n
    found = {f"{prefix}\tmean": mean}
    for key, permille in (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999), ("max", 1000)):
        found[f"{prefix}\t{key}"] = values[max(-(-permille * n // 1000), 1) - 1]
    return found


def is_warm(workload: Mapping[str, Any]) -> bool:
    """True if flows of a workload were under way at the start."""
    return any(isinstance(kind, Mapping) and kind.get("warm_start") for kind in workload.values())


class Tables:
    """The rows of a run's tables."""

    def __init__(self, result: xoff.Result) -> None:
        self.result = result
        # A message over NVLink is in no number of flows.
        # Connections of serving stay open, and are no flows of the summary.
        serving = result.summary.get("serving", {})
        self.sent_again = sum(row["retransmitted"] for row in self.rows("flows"))
        self.flows = [row for row in self.rows("flows") if row["workload"] not in serving]
        self.messages = [row for row in self.rows("messages") if row["flow"] is not None]
        self.operations = self.rows("operations")
        sent: Counter[int] = Counter()
        for row in self.messages:
            sent[row["flow"]] += row["size_bytes"]
        jobs = {row["workload"] for row in (*self.messages, *self.operations)}
        self.connections = {
            row["flow"]
            for row in self.flows
            if row["flow"] in sent or (row["fct_ps"] is None and row["workload"] in jobs)
        }
        self.plain = [row for row in self.flows if row["flow"] not in self.connections]
        self.over = [row for row in self.plain if row["fct_ps"] is not None]
        """Flows that were delivered."""
        self.delivered = len(self.over) + sum(
            sent[row["flow"]] == row["size_bytes"] for row in self.flows if sent[row["flow"]]
        )
        self.warm = {f"{one['name']} warm" for one in result.scenario["workload"] if is_warm(one)}

    def rows(self, name: str) -> list[Row]:
        """Returns the rows of a table; empty for a table that was not recorded."""
        return list(self.result.table(name).to_pylist()) if name in self.result.tables else []

    def timed(self) -> list[Row]:
        """Returns the flows and messages with completion times."""
        return [*self.over, *self.messages]


def of_all(tables: Tables) -> Found:
    """Computes the numbers of the whole run."""
    timed = [row for row in tables.timed() if row["workload"] not in tables.warm]
    acked = [row["fct_acked_ps"] for row in tables.plain if row["workload"] not in tables.warm]
    found: Found = {
        "seed": tables.result.scenario["seed"],
        "flows\ttotal": len(tables.flows),
        "flows\tcompleted": tables.delivered,
        "drops": len(tables.rows("drops")),
        "retransmitted": tables.sent_again,
        "pfc\tframes": sum(row["sent"] for row in tables.rows("pause_frames")),
        "pfc\tstorms": sum(row["storms"] for row in tables.rows("pause_frames")),
        "pfc\tdropped_in_storms": sum(row["reason"] == "PFC watchdog" for row in tables.rows("drops")),
        "performance\tdata_packet_hops": sum(row["data_packets"] for row in tables.rows("links")),
    }
    found |= times([row["fct_ps"] for row in timed], "fct_ps") | times([row["slowdown"] for row in timed], "slowdown")
    return found | times([one for one in acked if one is not None], "fct_acked_ps")


def end(tables: Tables) -> int:
    """Computes the end of a run that completed all of its work."""
    ends = [row["start_ps"] + row["fct_ps"] for row in tables.timed()] + [row["end_ps"] for row in tables.operations]
    ends += [row["arrival_ps"] + row["e2e_ps"] for row in tables.rows("requests") if row["e2e_ps"] is not None]
    if tables.delivered < len(tables.flows):
        sent = [row for row in tables.rows("packets") if row["event"] == "depart" and row["kind"] == "data"]
        ends += [row["time_ps"] for row in sent]
    return max(ends, default=0)


def of_workloads(tables: Tables) -> Found:
    """Computes the numbers of workloads, except jobs and collectives."""
    found: Found = {}
    for name in tables.result.summary["workloads"]:
        place = f"workloads\t{name}"
        timed = [row for row in tables.timed() if row["workload"] == name]
        unfinished = sum(row["workload"] == name for row in tables.plain) - sum(
            row["workload"] == name for row in tables.over
        )
        found[f"{place}\tflows\ttotal"] = len(timed) + unfinished
        found[f"{place}\tflows\tcompleted"] = len(timed)
        found |= times([row["fct_ps"] for row in timed], f"{place}\tfct_ps")
        found |= times([row["slowdown"] for row in timed], f"{place}\tslowdown")
        for index, (least, below) in enumerate(pairwise([0, *CLASSES, None])):
            least = least or 0
            rows = [row for row in timed if least <= row["size_bytes"] < (below or math.inf)]
            of_class = f"{place}\tby_size\t{index}"
            found |= {f"{of_class}\tfrom_bytes": least, f"{of_class}\tbelow_bytes": below}
            found |= {f"{of_class}\tcompleted": len(rows)} | times(
                [row["fct_ps"] for row in rows], f"{of_class}\tfct_ps"
            )
            found |= times([row["slowdown"] for row in rows], f"{of_class}\tslowdown")
    return found


def of_jobs(tables: Tables) -> Found:
    """Computes the numbers of completed jobs, and of collectives that are workloads."""
    found: Found = {}
    collectives = tables.rows("collectives")
    for name, workload in tables.result.summary["workloads"].items():
        place = f"workloads\t{name}"
        of_it = [row for row in collectives if row["workload"] == name]
        if "collective" in workload:
            (row,) = of_it
            keys = ("time_ps", "algorithm_bps", "bus_bps", "algorithm", "protocol", "channels", "predicted_ps")
            found |= {f"{place}\tcollective\t{key}": row[key] for key in keys}
        if "job" in workload:
            rows = [row for row in tables.operations if row["workload"] == name]
            parts = [row for row in tables.rows("jobs") if row["workload"] == name]
            found |= of_job(f"{place}\tjob", rows, parts, of_it, list(workload["job"]["groups"]))
    return found


def of_job(place: str, operations: list[Row], parts: list[Row], collectives: list[Row], labels: list[str]) -> Found:
    """Computes the numbers of a job with all iterations completed."""
    ranks = len({row["rank"] for row in operations} | {row["rank"] for row in parts})
    count = 1 + max(row["iteration"] for row in operations)
    ends = [min(row["start_ps"] for row in operations)]
    for iteration in range(count):
        ends.append(max([ends[-1], *(row["end_ps"] for row in operations if row["iteration"] == iteration)]))
    lasted = [after - before for before, after in pairwise(ends)]
    sums: Counter[str] = Counter()
    for row in parts:
        sums[row["part"]] += row["time_ps"]
        sums[f"exposed {row['label']}"] += row["time_ps"]
    found: Found = {f"{place}\t{key}_ps": sums[key] // (ranks * count) for key in ("compute", "exposed", "bubble")}
    found |= {f"{place}\tranks": ranks, f"{place}\titerations": count, f"{place}\tcompleted": count}
    found |= {f"{place}\titeration_ps": sum(lasted) // count, f"{place}\tlongest_iteration_ps": max(lasted)}
    found[f"{place}\titeration_p99_ps"] = sorted(lasted)[-(-99 * count // 100) - 1]
    bits: dict[str, float] = defaultdict(float)
    moving: Counter[str] = Counter()
    for row in collectives:
        # The bus bandwidth of each collective exceeds its algorithm bandwidth by the same factor.
        factor = row["bus_bps"] / row["algorithm_bps"] if row["algorithm_bps"] else 0.0
        bits[row["label"]] += row["size_bytes"] * 8e12 * factor
        moving[row["label"]] += row["start_ps"] + row["time_ps"] - row["last_rank_arrived_ps"]
    for label in labels:
        found[f"{place}\tgroups\t{label}\texposed_ps"] = sums[f"exposed {label}"] // (ranks * count)
        bus = bits[label] / max(moving[label], 1) if label in bits else None
        found[f"{place}\tgroups\t{label}\tbus_bps"] = bus
    return found


def of_serving(tables: Tables) -> Found:
    """Computes the numbers of serving workloads, of which all requests ended."""
    found: Found = {}
    for name in tables.result.summary.get("serving", ()):
        place = f"serving\t{name}"
        rows = [row for row in tables.rows("requests") if row["workload"] == name]
        found |= {f"{place}\trequests": len(rows), f"{place}\tcompleted": len(rows), f"{place}\tcensored": 0}
        for key in ("ttft_ps", "tpot_ps", "e2e_ps", "kv_transfer_ps"):
            of_key = times([row[key] for row in rows if row[key] is not None], f"{place}\t{key}")
            found |= {one: value for one, value in of_key.items() if not one.endswith(("p95", "p999", "max"))}
            ordered = sorted(row[key] for row in rows if row[key] is not None)
            found[f"{place}\t{key}\tp90"] = ordered[-(-9 * len(ordered) // 10) - 1] if ordered else None
        last = max(row["arrival_ps"] + row["e2e_ps"] for row in rows)
        tokens = sum(row["output_tokens"] for row in rows)
        start = next(one for one in tables.result.scenario["workload"] if one["name"] == name).get("start", "0ns")
        unit = start.lstrip("0123456789.")
        begins = int(Decimal(start.removesuffix(unit)) * {"ps": 1, "ns": 1000, "us": 1_000_000, "ms": 10**9}[unit])
        found[f"{place}\toutput_tokens_per_second"] = tokens / ((last - begins) / 1e12)
        found |= {f"{place}\tslo_attainment": None, f"{place}\tgoodput": None}
        for pool in {row["phase"] for row in tables.rows("steps") if row["workload"] == name}:
            steps = [row for row in tables.rows("steps") if row["workload"] == name and row["phase"] == pool]
            of_pool = f"{place}\tsteps\t{pool}"
            whole = sum(row["end_ps"] - row["start_ps"] for row in steps)
            found |= {f"{of_pool}\tsteps": len(steps), f"{of_pool}\ttokens": sum(row["tokens"] for row in steps)}
            for key in ("compute", "exposed", "bubble"):
                found[f"{of_pool}\t{key}"] = sum(row[f"{key}_ps"] for row in steps) / whole
            for label, column in (("TP", "tp"), ("EP_dispatch", "dispatch"), ("EP_combine", "combine")):
                if exposed := sum(row[f"exposed_{column}_ps"] for row in steps):
                    found[f"{of_pool}\texposed_by_label\t{label}"] = exposed / whole
    return found


def of_parts(tables: Tables) -> Found:
    """Computes high-water marks and counts of components, as far as tables have them."""
    now = tables.result.summary["simulated_ps"]
    queues = tables.rows("queues")
    found: Found = {"high_water\tqueue\tbytes": max((row["max_bytes"] for row in queues), default=0)}
    # A queue is compared with no threshold.
    found["high_water\tqueue\tthreshold_bytes"] = None
    for kind in ("ingress", "headroom", "pool"):
        marks = [row for row in tables.rows("high_water") if row["kind"] == kind]
        # The first of equals.
        most = max(marks, key=lambda row: row["bytes"], default={"bytes": 0, "threshold_bytes": None})
        found |= {f"high_water\t{kind}\t{key}": most[key] for key in ("bytes", "threshold_bytes")}
    found["ecn\tmarked"] = sum(row["marked"] for row in queues)
    faults = tables.rows("faults")
    found["fault\tbegan"] = len(faults)
    for key, column in (("lost", "lost_packets"), ("lost_bytes", "lost_bytes"), ("lost_control", "lost_control")):
        found[f"fault\t{key}"] = sum(row[column] for row in faults)
    paused: Counter[str] = Counter()
    pauses: Counter[str] = Counter()
    for row in tables.rows("pauses"):
        pauses[row["cause"]] += 1
        paused[row["cause"]] += (now if row["end_ps"] is None else row["end_ps"]) - row["start_ps"]
    heard = sum(row["notifications"] for row in tables.flows)
    control = next(iter(tables.result.scenario["host"].get("congestion_control") or {}), None)
    for group in counts.groups():
        for count in group.counts:
            key = f"{group.name}\t{count.name}"
            if count.name == "notifications":
                found[key] = heard if group.name == control else 0
            elif count.name == "paused_ps":
                found[key] = paused[group.name]
            elif count.name == "pauses" and group.name != "portfc":
                found[key] = pauses[group.name]
    return found


def disagreements(result: xoff.Result, excepted: Mapping[str, str]) -> dict[str, tuple[Any, Any]]:
    """Compares a summary with the tables of its run, and returns differing numbers, as stated and as computed."""
    tables = Tables(result)
    # Tables do not show the begun and ended work of an unfinished run, nor work given up.
    is_cut = tables.delivered < result.summary["flows"]["total"] and "packets" not in result.tables
    is_cut = is_cut or any(one["censored"] for one in result.summary.get("serving", {}).values())
    excepted = {**excepted, **IN_CUT_RUNS} if is_cut else excepted
    found = {**of_all(tables), **of_workloads(tables), **of_parts(tables)}
    found |= {} if is_cut else of_jobs(tables) | of_serving(tables)
    found["simulated_ps"] = until(result) if "until" in result.scenario else end(tables)
    wrong: dict[str, tuple[Any, Any]] = {}
    for key, general, value in numbers(result.summary):
        if named(general, excepted) or (general == "simulated_ps" and is_cut and "until" not in result.scenario):
            continue
        if key in found:
            # Signals after the end of a flow are in no row.
            is_heard = key.endswith("\tnotifications") and value >= found[key]
            if not is_heard and not same(value, found[key]):
                wrong[key] = (value, found[key])
        elif not named(general, NOT_IN_TABLES):
            wrong[key] = (value, "in no table, and not named")
    return wrong


def until(result: xoff.Result) -> int:
    """Returns when a run was cut."""
    return int(Decimal(str(result.scenario["until"]).removesuffix("ns")) * 1000)


def same(said: Any, found: Any) -> bool:
    """Tell whether two numbers are equal, but for the rounding of sums of fractions."""
    if isinstance(said, float) and isinstance(found, int | float):
        return math.isclose(said, found, rel_tol=1e-9)
    return bool(said == found)


def fitted(rng: Random, forced: dict[str, str]) -> dict[str, Any]:
    """Draws a small scenario with a name for each workload."""
    while True:
        scenario = draw_scenario(rng, forced)
        found: Any = xoff.check(scenario)["workload"]
        if found["bytes"] < LARGEST_BYTES and found["flows"] < MOST_FLOWS:
            break
    for number, workload in enumerate(scenario["workload"]):
        workload["name"] = f"traffic {number}"
    return {**scenario, **RECORDED, "probe": {"size_classes": [f"{bound}B" for bound in CLASSES]}}


MANY_PATHS = set(registered("switch.routing"))
"""Routing with several paths per flow. The ideal is computed on one path, and may be longer than the FCT."""


def run(scenario: dict[str, Any]) -> xoff.Result:
    """Runs a scenario."""
    return xoff.run(scenario)


def compare(scenario: dict[str, Any], excepted: Mapping[str, str]) -> xoff.Result:
    """Runs a scenario, and compares its summary with its tables."""
    result = run(scenario)
    try:
        assert disagreements(result, excepted) == {}
    except AssertionError as error:
        error.add_note(json.dumps(scenario, default=str))
        raise
    return result


def expected(scenario: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the keys that may differ from tables in a scenario."""
    has_watchdog = "watchdog" in scenario["switch"]["flow_control"].get("pfc", {})
    return UNDER_FAULTS if has_watchdog or "fault" in scenario else {}


def faster_than_alone(result: xoff.Result) -> list[Row]:
    """Returns the flows and messages with a slowdown below one; empty for packets on several paths."""
    if MANY_PATHS & set(result.scenario["switch"].get("routing") or {}):
        return []
    return [row for row in Tables(result).timed() if row["slowdown"] < 1]


@pytest.mark.parametrize("seed", range(DRAWS))
def test_numbers_of_a_draw(seed: int) -> None:
    scenario = fitted(Random(f"summary {seed}"), {})
    assert faster_than_alone(compare(scenario, expected(scenario))) == []


@pytest.mark.parametrize("mechanism", registered("switch.flow_control"))
def test_numbers_of_a_flow_control(mechanism: str) -> None:
    for seed in range(2):
        rng = Random(f"flow control {mechanism} {seed}")
        scenario = fitted(rng, {"switch.flow_control": mechanism, "workload": "incast"})
        compare(scenario, expected(scenario))


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("seed", range(JOBS))
def test_numbers_of_a_job(kind: str, seed: int) -> None:
    scenario = fitted(Random(f"job {kind} {seed}"), {"workload": kind})
    assert faster_than_alone(compare(scenario, expected(scenario))) == []


@pytest.mark.parametrize("seed", range(CUTS))
def test_numbers_of_a_run_that_is_cut(seed: int) -> None:
    rng = Random(f"cut {seed}")
    scenario = fitted(rng, {"workload": rng.choice(registered("workload"))})
    whole = run(scenario)
    scenario["until"] = f"{rng.randrange(1, whole.summary['simulated_ps'])}ps"
    if expected(scenario):
        pytest.skip("pauses are counted in another way")
    result = compare(scenario, IN_CUT_RUNS)
    assert result.summary["simulated_ps"] < whole.summary["simulated_ps"]


def faulty(rng: Random) -> dict[str, Any]:
    """Draws a scenario with a fault."""
    while True:
        scenario = fitted(rng, {})
        scenario["fault"] = [draw_fault(rng, scenario, links_of(scenario)) for _ in range(2)]
        try:
            xoff.check(scenario)
        except xoff.InputError:
            continue
        return scenario


@pytest.mark.parametrize("seed", range(FAULTS))
def test_numbers_under_faults(seed: int) -> None:
    compare(faulty(Random(f"fault {seed}")), UNDER_FAULTS)


def test_a_run_with_lost_frames_ends_with_the_last_packet_that_left_a_port() -> None:
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario = {
        "network": {"star": {"hosts": 9, "link": link}},
        "switch": {"buffer": {"per_port": "20KB"}},
        "host": {"transport": {"raw": {}}},
        "workload": [{"name": "incast", "incast": {"senders": list(range(8)), "receiver": 8, "size": "50KB"}}],
        "probe": {"packets": True},
        **RECORDED,
    }
    result = compare(scenario, {})
    assert result.summary["flows"]["completed"] < result.summary["flows"]["total"]


@pytest.mark.parametrize("routing", registered("switch.routing"))
def test_no_flow_is_faster_than_alone_where_a_host_is_faster_than_each_path(routing: str) -> None:
    """A flow of many paths may have the sum of their rates."""
    links = {name: {"rate": rate, "delay": "1us"} for name, rate in (("link", "400Gbps"), ("fabric_link", "100Gbps"))}
    scenario = {
        "network": {"leaf_spine": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, **links}},
        "switch": {"routing": {routing: {}}},
        "host": {"transport": {"selective": {}}},
        "workload": [{"flows": [{"src": 0, "dst": 2, "size": "1MB"}]}],
        **RECORDED,
    }
    assert min(row["slowdown"] for row in xoff.run(scenario).flows.to_pylist()) >= 1


def test_a_number_that_is_new_is_told() -> None:
    result = xoff.run(fitted(Random("new"), {}))
    result.summary["new"] = {"count": 3}  # type: ignore[typeddict-unknown-key]
    assert disagreements(result, {}) == {"new\tcount": (3, "in no table, and not named")}
    known = {f"{group.name}.{count.name}" for group in counts.groups() for count in group.counts}
    assert {key for keys in _COUNTED for key in keys.split()} <= known
