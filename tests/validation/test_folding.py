"""Folded runs have the same results as runs of all nodes, byte for byte (docs/folding.md)."""

import copy
import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.validation.folding_cases import broken, crowded, draw

import xoff

Document = dict[str, Any]


def results(document: Document, **settings: Any) -> tuple[Any, Document]:
    """Returns everything that a run says except its cost, and the report on folding."""
    try:
        result = xoff.run(document, **settings)
    except xoff.AuditError as error:
        return str(error), {}
    summary = json.loads(json.dumps(result.summary))
    performance = summary.pop("performance")
    return (summary, {name: result.table(name) for name in result.tables}), performance.get("folding")


def compare(document: Document, **settings: Any) -> Document:
    """Compares a folded run with a run of all nodes. Returns the report on folding."""
    full, _ = results(document, fold=False, fast_forward=False)
    folded, folding = results(document, **settings)
    assert folded == full
    return folding


@pytest.mark.parametrize("seed", range(60))
def test_random_symmetric_scenarios_are_folded_exactly(seed: int) -> None:
    compare(draw(Random(seed)), threads=1 + seed % 2, fast_forward=seed % 3 > 0)


@pytest.mark.parametrize("seed", range(20))
def test_drops_are_those_of_all_switches(seed: int) -> None:
    document = crowded(Random(seed), drops=True)
    document["host"] = {"transport": [{"selective": {}}, {"irn": {}}, {"raw": {}}][seed % 3]}
    assert compare(document)["times"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 700))
def test_more_random_symmetric_scenarios_are_folded_exactly(seed: int) -> None:
    compare(draw(Random(seed)), threads=1 + seed % 2, fast_forward=seed % 3 > 0)


def test_most_random_scenarios_fold() -> None:
    reports = [results(draw(Random(seed)))[1] for seed in range(60)]
    obstacles = [report["obstacle"] for report in reports if report and report["obstacle"]]
    assert len(obstacles) < 20, obstacles


@pytest.mark.parametrize("seed", range(40))
def test_pauses_and_thresholds_of_a_switch_between_servers_are_those_of_all_servers(seed: int) -> None:
    assert compare(crowded(Random(seed)), threads=1 + seed % 2, fast_forward=seed % 3 > 0)["times"] > 1


def test_many_of_these_runs_pause_and_drop() -> None:
    summaries = [xoff.run(crowded(Random(seed))).summary for seed in range(20)]
    assert sum(one["pfc"]["pauses"] > 0 for one in summaries) >= 8


@pytest.mark.parametrize("seed", range(40))
def test_a_broken_symmetry_is_not_folded_over(seed: int) -> None:
    rng = Random(1_000 + seed)
    whole = draw(rng)
    document = broken(rng, whole)
    folding = compare(document)
    assert folding == {} or folding["times"] <= results(whole)[1].get("times", 1)


RAILS: Document = {
    "rail": {
        "servers": 8,
        "gpus_per_server": 4,
        "scale_up": {"rate": "2400Gbps", "delay": "25ns"},
        "rail": {"rate": "200Gbps", "delay": "500ns"},
    }
}
ALL_TO_ALL: Document = {
    "ties": "relative",
    "network": RAILS,
    "framing": {"payload": "4096B"},
    "workload": [{"collective": {"operation": "all_to_all", "size": "512KB"}}],
}
EXPERTS: Document = {
    "ties": "relative",
    "network": RAILS,
    "framing": {"payload": "9000B"},
    "workload": [
        {
            "training": {
                "library": "textbook",
                "model": {"preset": "mixtral_8x7b", "layers": 2, "hidden": 512, "feed_forward": 1024, "sequence": 256},
                "parallel": {"tensor": 2, "pipeline": 2, "data": 8, "expert": 4},
                "micro_batch": 1,
                "global_batch": 16,
                "compute": {"peak": 312e12},
            }
        }
    ],
}


def test_unfinished_connections_are_listed_as_in_a_run_of_all_nodes() -> None:
    assert compare({**ALL_TO_ALL, "until": "5us"})["times"] == 8


def test_one_server_stands_for_all() -> None:
    assert compare(ALL_TO_ALL) == {"times": 8, "rotations": [[4, 8]], "draws": None, "obstacle": None}


def test_stages_and_groups_of_experts_stay_apart() -> None:
    # A stage has four servers, and a group of experts has two: the two halves of a stage are alike. The two GPUs of a
    # tensor group are alike, too, and rails are moved with them.
    folding = compare(EXPERTS)
    assert folding == {"times": 4, "rotations": [[1, 2], [8, 2]], "draws": None, "obstacle": None}


RINGS: dict[str, Document] = {
    "a ring": {"collective": {"operation": "all_reduce", "algorithm": "ring", "size": "52428800B"}},
    "rings in servers, then on rails": {
        "collective": {"operation": "all_reduce", "algorithm": "hierarchical", "group": 4, "size": "52428800B"},
    },
}
DENSE: Document = {
    "training": {
        "library": "textbook",
        "model": {"preset": "gpt_13b", "layers": 4, "hidden": 1280, "sequence": 128},
        "parallel": {"tensor": 4, "data": 8},
        "micro_batch": 1,
        "global_batch": 16,
        "compute": {"peak": 312e12},
    }
}


@pytest.mark.parametrize("workload", [*RINGS.values(), DENSE], ids=[*RINGS, "a dense job"])
def test_space_is_folded_and_time_is_fast_forwarded(workload: Document) -> None:
    document = {"ties": "relative", "network": RAILS, "framing": {"payload": "4096B"}, "workload": [workload]}
    assert compare(document)["times"] >= 8
    performance = xoff.run(document).summary["performance"]
    assert performance["fast_forward"]["packet_hops"] > performance["data_packet_hops"] / 2
    assert performance["packet_hops_simulated"] < performance["data_packet_hops"] / 16


NCCL_RAILS: Document = {
    "rail": {"servers": 4, "gpus_per_server": 8, "rail": {"rate": "400Gbps", "delay": "500ns"}},
    "servers": {"gpu": "h100", "gpus": 8},
}


@pytest.mark.parametrize(("operation", "size"), [("all_to_all", "4MB"), ("all_gather", "64MB")])
def test_servers_with_nvlink_are_folded(operation: str, size: str) -> None:
    collective = {"operation": operation, "size": size, "library": "nccl"}
    folding = compare({"ties": "relative", "network": NCCL_RAILS, "workload": [{"collective": collective}]})
    assert folding == {"times": 4, "rotations": [[8, 4]], "draws": None, "obstacle": None}


NCCL_JOB: Document = {
    "training": {
        "model": {"preset": "llama3_70b", "layers": 2, "sequence": 256},
        "parallel": {"tensor": 8, "sequence": True, "pipeline": 2, "data": 2},
        "micro_batch": 1,
        "global_batch": 8,
        "compute": {"peak": 989e12},
    }
}


def test_gpus_of_a_server_are_folded() -> None:
    """A GPU of a tensor group stands for all: its slices over NVLink come back to it, as those of the GPU before."""
    document = {"ties": "relative", "network": NCCL_RAILS, "workload": [NCCL_JOB], "framing": {"payload": "9000B"}}
    assert compare(document) == {"times": 16, "rotations": [[1, 8], [8, 2]], "draws": None, "obstacle": None}


def test_servers_of_a_tree_are_not_alike() -> None:
    collective = {"operation": "all_reduce", "size": "64KB", "library": "nccl", "algorithm": "tree"}
    folding = compare({"ties": "relative", "network": NCCL_RAILS, "workload": [{"collective": collective}]})
    assert folding["obstacle"] == "ranks 0 and 1 of a job differ: the work of operation `all_reduce`"


def test_a_pause_inside_a_leaf_is_folded() -> None:
    # All hosts of a leaf send to one host of the same leaf.
    shape = {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": {"rate": "100Gbps", "delay": "1us"}}
    flows = [{"src": at, "dst": at // 4 * 4, "size": "200KB"} for at in range(16) if at % 4 > 0]
    document = {
        "ties": "relative",
        "network": {"leaf_spine": shape},
        "workload": [{"flows": flows}],
        "switch": {"flow_control": {"pfc": {"xoff": "40KB"}}},
    }
    assert compare(document)["times"] == 4
    assert xoff.run(document).summary["pfc"]["pauses"] > 0


def test_a_shared_pool_that_is_far_from_full_is_folded() -> None:
    buffer = {"shared": {"total": "64MB"}}
    folding = compare({**ALL_TO_ALL, "switch": {"buffer": buffer, "flow_control": {"pfc": {}}}})
    assert folding["times"] == 8


LOSSES: Document = {
    "switch": {"buffer": {"per_port": "41KB"}, "flow_control": {"pfc": {"xoff": "40KB"}}},
    "audits": {"loss": "record", "pauses": "record", "completion": "record"},
}
"""Headroom for one packet, so that a lossless class loses packets."""


def test_a_run_with_a_finding_of_an_audit_begins_again() -> None:
    # Four senders of each server, in turn, to one host of the next server.
    flows = [{"src": h, "dst": (h // 4 + 1) % 8 * 4, "size": "400KB"} for h in range(32)]
    star = {"star": {"hosts": 32, "link": {"rate": "100Gbps", "delay": "1us"}}}
    document = {"ties": "relative", "network": star, "workload": [{"flows": flows}]}
    assert compare(document)["times"] == 8
    paused = {**document, "switch": {"flow_control": {"pfc": {"xoff": "40KB"}}}}
    assert compare(paused)["times"] == 8
    assert xoff.run(paused).summary["pfc"]["pauses"] > 0
    folding = compare({**document, **LOSSES})
    assert folding["times"] == 1
    assert "began again with all nodes" in folding["obstacle"]


def test_a_run_with_a_table_begins_again() -> None:
    hosts = range(8)
    columns = {"src": list(hosts), "dst": [(host // 4 + 1) % 2 * 4 for host in hosts], "size": [400_000] * 8}
    document = {
        "ties": "relative",
        "network": {"star": {"hosts": 8, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"table": pa.table(columns)}],
        **LOSSES,
    }
    (_, tables), folding = results(document)
    assert "began again with all nodes" in folding["obstacle"]
    assert results(document, fold=False)[0][1] == tables


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ({"packets": True}, "probe.packets"),
        ({"queues": "1us"}, "probe.queues"),
        ({"delays": "all"}, "probe.delays"),
        ({"replay": True}, "probe.queues and probe.replay"),
    ],
)
def test_a_probe_of_all_nodes_changes_no_result(probe: Document, why: str) -> None:
    document = {**copy.deepcopy(ALL_TO_ALL), "probe": probe}
    (summary, _), folding = results(document, threads=2)
    assert why in folding["obstacle"]
    assert folding["rotations"] == [[4, 8]]
    assert summary["fingerprint"] == results(ALL_TO_ALL)[0][0]["fingerprint"]


ROUND_ROBIN: Document = {
    "ties": "relative",
    "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
    "framing": {"payload": "1000B"},
    "switch": {"classes": 2},
    "workload": [
        {"flows": [{"src": 0, "dst": 3, "size": "1B"}, {"src": 0, "dst": 1, "size": "3000B"},
                   {"src": 2, "dst": 1, "size": "1B"}, {"src": 2, "dst": 3, "size": "3000B"}], "class": 1},
        {"flows": [{"src": 1, "dst": 3, "size": "2000B"}, {"src": 3, "dst": 1, "size": "2000B"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("scheduler", ["round_robin", {"drr": "1KB"}, {"queues": [{"type": "dwrr", "weight": 1}] * 2}])
def test_a_class_that_was_emptied_waits_behind_the_other(scheduler: Any) -> None:
    """A packet of class 0 arrives as the port ends a packet of class 0; class 1 has waited since before."""
    document = {**ROUND_ROBIN, "switch": {"classes": 2, "scheduler": scheduler}}
    assert compare(document)["times"] == 2
    # Hosts 1 and 3 are images of each other, and so are their flows.
    fct = sorted(xoff.run(document).flows.column("fct_ps").to_pylist())
    assert fct[::2] == fct[1::2]


SHIFT: Document = {
    "network": {"leaf_spine": {"leaves": 8, "spines": 8, "hosts_per_leaf": 8, "link": RAILS["rail"]["rail"]}},
    "switch": {"buffer": "unlimited"},
    "workload": [{"flows": [{"src": at, "dst": (at + 8) % 64, "size": "100KB"} for at in range(64)]}],
}


def packets_by_link(document: Document) -> list[Any]:
    links = xoff.run(document, fold=False).table("links")
    return list(links.select(["node", "port", "data_packets"]).to_pylist())


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_ties_moves_no_draw(seed: int) -> None:
    """`ties` alone moves no flow to another path; with shared draws, equal hosts use different spines."""
    document = {**SHIFT, "seed": seed}
    assert packets_by_link({**document, "ties": "relative"}) == packets_by_link(document)
    folding = compare({**document, "ties": "relative"})
    assert (folding["times"], folding["draws"]) == (1, None)
    assert 'hashes flows from host0 to host8 onto 8 ports; with draws = "shared"' in folding["obstacle"]
    shared = compare({**document, "ties": "relative", "draws": "shared"})
    assert (shared["times"], shared["rotations"], shared["draws"]) == (64, [[1, 8], [8, 8]], "shared")
    # Each of the eight flows of a leaf has a spine of its own.
    by_link = packets_by_link({**document, "ties": "relative", "draws": "shared"})
    assert {row["data_packets"] for row in by_link if row["node"].startswith("spine")} == {100}


DRAWN: dict[str, Document] = {
    "host.jitter": {"host": {"jitter": 0.1}},
    "the mechanism `ecn`": {"switch": {"ecn": {"red": {"kmin": "5KB", "kmax": "60KB", "pmax": 0.5}}}},
}


@pytest.mark.parametrize("drawn", DRAWN)
def test_other_draws_keep_servers_apart_unless_shared(drawn: str) -> None:
    document = {**ALL_TO_ALL, **DRAWN[drawn]}
    folding = compare(document)
    assert folding["times"] == 1
    assert folding["obstacle"].startswith(drawn)
    assert compare({**document, "draws": "shared"})["times"] == 8


def test_marks_that_are_certain_are_no_draws() -> None:
    assert compare({**ALL_TO_ALL, "switch": {"ecn": {"step": {"threshold": "20KB"}}}})["times"] == 8


def test_shared_draws_need_the_order_of_ties() -> None:
    with pytest.raises(xoff.InputError, match=r'draws: needs the relative order of ties.*set ties = "relative"'):
        xoff.check({**SHIFT, "draws": "shared"})


def test_without_the_key_nothing_folds() -> None:
    document = {key: value for key, value in ALL_TO_ALL.items() if key != "ties"}
    assert results(document)[1] is None


def test_the_result_says_by_how_much_a_run_folded() -> None:
    lines = dict(xoff.run(ALL_TO_ALL).rows())
    assert "folded: one of 8 equal parts simulated" in lines["performance"]
    lines = dict(xoff.run(ALL_TO_ALL, fold=False).rows())
    assert "not folded: --no-fold" in lines["performance"]
    assert "share" not in lines["performance"]
    lines = dict(xoff.run({**ALL_TO_ALL, "draws": "shared"}).rows())
    assert "equal servers share random draws" in lines["performance"]
