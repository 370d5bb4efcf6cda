"""Did behaviour change? A table of small scenarios that cover every mechanism, compared exactly with the stored one.

Where a change is meant: `XOFF_UPDATE_SNAPSHOTS=1 python -m pytest tests/validation/test_snapshots.py` writes the table
anew, and CHANGELOG.md gets an entry under "Results changed".
"""

import os
from pathlib import Path
from typing import Any

import pytest

import xoff
from xoff.conformance.schema import CHOICES, registered
from xoff.conformance.strategies import STRATEGIES

TABLE = Path(__file__).parent / "snapshots" / "summary.txt"
UPDATE = "XOFF_UPDATE_SNAPSHOTS"
COLUMNS = [
    "fingerprint",
    "mean_fct_ps",
    "max_fct_ps",
    "pauses",
    "paused_ps",
    "sfcms",
    "marked",
    "cnps",
    "drops",
    "resent",
]

LINK = {"rate": "100Gbps", "delay": "1us"}
STAR = {"star": {"hosts": 5, "link": LINK}}
FABRIC = {
    "leaf_spine": {
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "link": LINK,
        "fabric_link": {"rate": "40Gbps", "delay": "150ns"},
        "parallel": 2,
    }
}
NDC = {"ndc": {"n": 4, "link": LINK}}
INCAST = {"incast": {"senders": [1, 2, 3, 4], "receiver": 0, "size": "300KB"}}
RED = {"red": {"kmin": "20KB", "kmax": "80KB", "pmax": 0.2}}
PFC = {"pfc": {"xoff": "40KB"}}
POINTS = [[0, 0], [1000, 40], [20_000, 90], [200_000, 100]]


# Two ranks compute and forward data that two other ranks have reduced with them.
JOB: dict[str, Any] = {
    "groups": {"all": [0, 1, 2, 3], "pair": [3, 1]},
    "operations": [
        {"rank": 0, "kind": "compute", "name": "first", "duration": "3us", "stream": "compute"},
        {"rank": 0, "kind": "send", "name": "on", "after": ["first"], "peer": 1, "size": "80KB"},
        {"rank": 1, "kind": "recv", "name": "in", "peer": 0},
        {"rank": 1, "kind": "compute", "after": ["in"], "name": "second", "duration": "5us"},
        *({"rank": rank, "kind": "all_reduce", "group": "all", "size": "160KB"} for rank in range(4)),
        {"rank": 1, "kind": "all_gather", "group": "pair", "size": "90KB", "after": ["second"]},
        {"rank": 3, "kind": "all_gather", "group": "pair", "size": "90KB", "label": "DP"},
    ],
}
# Two layers over two stages, each of two ranks.
MODEL: dict[str, Any] = {
    "model": {"layers": 2, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 500},
    "parallel": {"tensor": 2, "pipeline": 2},
    "global_batch": 4,
    "compute": {"peak": 1e12, "jitter": 0.1},
    "iterations": 2,
}
# Three requests, prefill of two ranks, and decode of two lock-step ranks with four experts.
SERVING: dict[str, Any] = {
    "model": {**MODEL["model"], "experts": 4, "top_k": 2},
    "compute": {"peak": 1e12, "memory": 1e11},
    "requests": [{"arrival": f"{n}us", "input_tokens": 60, "output_tokens": 4} for n in range(3)],
    "prefill": {"tensor": 2, "max_tokens": 60},
    "decode": {"data": 2, "expert": 2},
    "kv": {"granularity": "layer"},
    "experts": {"copies": "rank"},
}
COLLECTIVES: dict[str, dict[str, Any]] = {
    "ring": {"operation": "all_reduce", "channels": 2, "chunk": "10KB"},
    "trees": {"operation": "all_reduce", "algorithm": "double_tree", "chunk": "10KB"},
    "halving": {"operation": "reduce_scatter", "algorithm": "halving_doubling", "hosts": [0, 2, 4, 5]},
    "hierarchy": {"operation": "all_reduce", "algorithm": "hierarchical", "group": 2},
    "gather": {"operation": "all_gather", "algorithm": "ring"},
    "rounds": {"operation": "all_to_all", "algorithm": "rounds"},
    "direct": {"operation": "all_to_all", "algorithm": "direct"},
    "chain": {"operation": "broadcast", "algorithm": "chain", "chunk": "50KB"},
    "chain-back": {"operation": "reduce"},
    "barrier": {"operation": "barrier", "algorithm": "dissemination", "size": "8B"},
    "to-the-next": {"operation": "send_receive"},
}
# GPUs of a server, NICs of a server, and the collective.
NCCL: dict[str, tuple[int, int, dict[str, Any]]] = {
    "ring": (3, 3, {"operation": "all_gather", "algorithm": "ring", "size": "600KB"}),
    "tree": (6, 3, {"operation": "all_reduce", "algorithm": "tree"}),
    "nvls": (6, 6, {"operation": "reduce_scatter", "algorithm": "nvls"}),
    "nvls-tree": (3, 3, {"operation": "all_reduce", "algorithm": "nvls_tree"}),
    "pat": (1, 1, {"operation": "all_gather", "algorithm": "pat", "size": "600KB"}),
    "pairs": (4, 2, {"operation": "all_to_all", "algorithm": "auto", "size": "600KB"}),
}


def dcqcn(preset: str, **more: Any) -> dict[str, Any]:
    return {"congestion_control": {"dcqcn": {"preset": preset, **more}}}


def poisson(sizes: str) -> dict[str, Any]:
    return {"poisson": {"load": 0.5, "flows": 6, "sizes": sizes}}


def case(network: dict[str, Any], *workload: dict[str, Any], host: Any = None, **switch: Any) -> dict[str, Any]:
    return {
        "seed": 5,
        "network": network,
        "switch": {"forwarding_latency": "300ns", **switch},
        "host": host or {},
        "workload": list(workload),
    }


CASES: dict[str, dict[str, Any]] = {
    "plain-star": case(STAR, INCAST),
    "pfc-ingress": case(STAR, INCAST, buffer={"per_port": "80KB"}, flow_control={"pfc": {"accounting": "ingress"}}),
    "pfc-classes": case(
        FABRIC,
        {"all_to_all": {"size": "20KB"}, "class": 1},
        {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "100KB"}},
        classes=2,
        scheduler="round_robin",
        buffer={"per_port": "120KB"},
        flow_control={"pfc": {"classes": [1]}},
        overrides=[{"switches": ["spine*"], "pfc": {"send": [0, 1]}}],
        host={"transport": {"selective": {}}},
    ),
    "pfc-egress": case(STAR, INCAST, flow_control={"pfc": {"xoff": "60KB", "accounting": "egress"}}),
    "pfc-shared-iq": case(
        FABRIC,
        {"permutation": {"size": "200KB"}},
        queueing="iq",
        buffer={"shared": {"total": "500KB", "alpha": 0.5, "headroom": "40KB"}},
        flow_control={"pfc": {}},
    ),
    "pfc-voq-classes": case(
        FABRIC,
        {"all_to_all": {"size": "20KB"}, "class": 1},
        {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "100KB"}},
        queueing="voq",
        classes=2,
        scheduler={"drr": "2KB"},
        flow_control=PFC,
    ),
    "round-robin-line": case(
        {"line": {"switches": 3, "hosts_per_switch": 2, "link": LINK}},
        {"permutation": {"size": "50KB"}, "class": 2},
        {"permutation": {"size": "50KB"}, "start": "3us"},
        classes=3,
        scheduler="round_robin",
    ),
    "weighted-queues": case(
        FABRIC,
        {"all_to_all": {"size": "20KB"}, "class": 1},
        {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "100KB"}},
        {"permutation": {"size": "20KB"}, "class": 2},
        queueing="voq",
        classes=3,
        scheduler={"queues": [{"type": "dwrr", "weight": 14}, {"type": "dwrr", "weight": 3}, {"type": "strict"}]},
        flow_control=PFC,
    ),
    "strict-fat-tree": case(
        {"fat_tree": {"k": 4, "link": LINK}},
        {"poisson": {"load": 0.8, "flows": 200, "cdf": POINTS}},
        {"poisson": {"load": 0.4, "flows": 100, "cdf": POINTS}, "class": 1},
        classes=2,
        scheduler="strict",
        flow_control=PFC,
    ),
    "sfc-three-tier": case(
        {
            "three_tier_clos": {
                "pods": 2,
                "access_per_pod": 2,
                "aggregation_per_pod": 2,
                "cores": 2,
                "hosts_per_access": 2,
                "link": LINK,
            }
        },
        {"incast": {"senders": [2, 4, 6], "receiver": 0, "size": "1MB"}},
        flow_control={"sfc": {"threshold": "50KB", "pause": "10us"}, "pfc": {"xoff": "200KB"}},
    ),
    "lossy-go-back-n": case(
        STAR,
        {"incast": {"senders": [1, 2], "receiver": 0, "size": "40KB"}},
        buffer={"per_port": "30KB"},
        host={"transport": {"go_back_n": {"rto": "1ms"}}},
    ),
    "dependencies-table": case(
        {
            "explicit": {
                "nodes": [
                    {"name": "a", "kind": "host"},
                    {"name": "b", "kind": "relay", "delay": "2us"},
                    {"name": "c", "kind": "host"},
                ],
                "links": [{"a": "a", "b": "b", **LINK}, {"a": "b", "b": "c", "rate": "25Gbps", "delay": "0ns"}],
            }
        },
        {
            "flows": [
                {"src": "a", "dst": "c", "size": "100KB", "id": "there"},
                {"src": "c", "dst": "a", "size": "30KB", "id": "back", "after": ["there"]},
                {"src": "b", "dst": "c", "size": "7B", "start": "1us"},
            ]
        },
    ),
    **{
        f"ndc-irn-{order}": case(
            NDC,
            {"poisson": {"load": 0.5, "flows": 60, "cdf": POINTS}},
            {"incast": {"senders": [4, 5, 6, 7, 8, 9, 10, 11], "receiver": 0, "size": "100KB"}},
            buffer={"per_port": "60KB"},
            host={
                "transport": {"irn": {"rto_low": "50us"}},
                "first_hop": order,
                "relay": {"delay": "500ns", "scheduler": scheduler},
            },
        )
        for order, scheduler in (("hash", "relay_first"), ("highest", "round_robin"))
    },
    **{
        f"rail-asymmetric-{segments}": case(
            {
                "rail": {
                    "servers": 4,
                    "gpus_per_server": 4,
                    "scale_up": {"rate": "160Gbps", "delay": "1us"},
                    "rail": LINK,
                    **({"aggregation": {"switches": 2, "link": LINK, "segments": 2}} if segments > 1 else {}),
                }
            },
            {"poisson": {"load": 0.6, "flows": 200, "cdf": POINTS}},
            host={"first_hop": {"asymmetric": {"threshold": 0.9, "volume": "started"}}},
        )
        for segments in (1, 2)
    },
    **{
        f"in-flight-{rule}": case(
            {
                "rail": {
                    "servers": 4,
                    "gpus_per_server": 4,
                    "scale_up": {"rate": "160Gbps", "delay": "1us"},
                    "rail": LINK,
                }
            },
            {"poisson": {"load": 0.8, "flows": 300, "cdf": POINTS}},
            host={"first_hop": {"asymmetric": {"threshold": 0.2, "volume": "in_flight", "raises": raises}}},
        )
        for rule, raises in (("algorithm", False), ("equation", True))
    },
    **{
        f"ndc-{name}": case(
            NDC,
            {"moe": {"tokens": 16, "token_size": "2KB", "rounds": 2}},
            {"repeated_incast": {"senders": 8, "size": "200KB", "period": "50us", "count": 2}},
            {"parameter_server": {"server": 3, "size": "50KB"}},
            flow_control=control,
            host={
                "relay": {"scheduler": "per_flow" if name == "pfc-native" else "relay_first"},
                "first_hop": "highest",
            },
            **switch,
        )
        for name, control, switch in (
            ("portfc", {"portfc": {}}, {}),
            ("pfc-native", {"pfc": {"xoff": "75KB", "xon": "50KB", "relays": "native"}}, {}),
            ("pfc-star", {"pfc": {"xoff": "75KB", "relays": "forward", "hop_classes": True}}, {"classes": 2}),
        )
    },
    **{
        f"{name}-limiters": case(
            STAR,
            {"bernoulli": {"sources": [1, 2, 3, 4], "destinations": [0], "load": 0.6, "duration": "200us"}},
            flow_control={name: {"q_eq": "10KB", "sample_base": "30KB"} | more, "pfc": {"xoff": "60KB"}},
            host={"transport": {"raw": {}}, "congestion_control": {name: {"minimum_rate": "500Mbps"}}},
        )
        for name, more in (("bcn", {"q_sc": "80KB", "max_above": "60KB"}), ("qcn", {}))
    },
    "bcn-initial-rate": case(
        STAR,
        {"bernoulli": {"sources": [1, 2, 3, 4], "destinations": [0], "load": 0.6, "duration": "200us"}},
        flow_control={"bcn": {"q_eq": "10KB", "sample_base": "30KB"}, "pfc": {"xoff": "60KB"}},
        host={"transport": {"raw": {}}, "congestion_control": {"bcn": {"initial_rate": "20Gbps"}}},
    ),
    "step-hpcc-voq": case(
        STAR,
        INCAST,
        queueing="voq",
        buffer="unlimited",
        ecn={"step": {"threshold": "20KB"}},
        host=dcqcn("hpcc", cnp="ack"),
    ),
    **{
        f"dcqcn-{preset}": case(STAR, INCAST, queueing="oq", ecn=RED, flow_control=PFC, host=dcqcn(preset))
        for preset in (
            "conweave",
            "hpcc_paper",
            "hpcc_config",
            "microsoft",
            "sfc_proxy",
            "mellanox",
            "paper",
        )
    },
    **{
        f"sfc-{mode}": case(
            FABRIC,
            {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "200KB"}},
            {"permutation": {"size": "50KB"}},
            flow_control=PFC | {"sfc": {"threshold": "20KB", "pause": "5us", "mode": mode}},
        )
        for mode in ("proxy", "proxy_isolation", "nic_isolation")
    },
    **{
        f"sfc-paused-{fallback}": case(
            FABRIC,
            {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "200KB"}},
            *({"start": f"{us}us", "permutation": {"size": "20KB"}} for us in (10, 12, 14, 16, 18, 20)),
            flow_control=PFC
            | {
                "sfc": {
                    "threshold": "20KB",
                    "pause": "30us",
                    "mode": "nic_isolation",
                    "queues": 2,
                    "fallback": fallback,
                }
            },
        )
        for fallback in ("first", "shortest")
    },
    **{
        f"sfc-host-{hold}": case(
            FABRIC,
            {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "200KB"}},
            {"permutation": {"size": "50KB"}},
            flow_control=PFC
            | {"sfc": {"threshold": "20KB", "target": "5KB", "resume": "5KB", "mode": "host", "hold": hold}},
        )
        for hold in ("flow", "destination", "queue")
    },
    **{
        f"sfc-resume-{ends}": case(
            FABRIC,
            INCAST,
            {"incast": {"senders": [1, 3, 4], "receiver": 5, "size": "200KB"}},
            flow_control=PFC
            | {
                "sfc": {
                    "threshold": "20KB",
                    "pause": "20us",
                    "resume": "10KB",
                    "mode": "proxy_isolation",
                    "resume_ends": ends,
                }
            },
        )
        for ends in ("flow", "queue")
    },
    **{
        f"sfc-signals-{signals}": case(
            FABRIC,
            INCAST,
            {"permutation": {"size": "50KB"}},
            flow_control=PFC | {"sfc": {"threshold": "20KB", "pause": "5us", "signals": signals}},
        )
        for signals in ("all", "last_hop")
    },
    **{
        f"isolation-{mark}": case(
            FABRIC,
            {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "200KB"}, "class": 1},
            {"permutation": {"size": "50KB"}, "class": 1},
            classes=2,
            scheduler={"drr": "2KB"},
            buffer={"per_queue": "100KB"},
            flow_control={
                "pfc": {"xoff": "60KB", "xon": "4KB"},
                "congestion_isolation": {
                    "low": "5KB",
                    "high": "30KB",
                    "pmax": 0.1,
                    "cim_threshold": "20KB",
                    "mark": mark,
                },
            },
        )
        for mark in ("isolated", "selecting")
    },
    **{
        f"isolation-{above}": case(
            FABRIC,
            {"incast": {"senders": [2, 3, 4], "receiver": 0, "size": "200KB"}, "class": 1},
            {"permutation": {"size": "50KB"}, "class": 1},
            classes=2,
            scheduler={"drr": "2KB"},
            ecn={"red": RED["red"] | {"above": above}},
            flow_control={
                "pfc": {"xoff": "60KB", "xon": "4KB"},
                "congestion_isolation": {
                    "low": "5KB",
                    "high": "30KB",
                    "pmax": 0.1,
                    "above": above,
                    "cim_threshold": "20KB",
                },
            },
        )
        for above in ("certain", "pmax")
    },
    "cnp-packets": case(STAR, INCAST, ecn=RED, flow_control=PFC, host=dcqcn("hpcc", cnp="packet", window="100KB")),
    **{
        f"ecn-{scope}": case(
            NDC,
            {"incast": {"senders": [1, 2, 5, 6], "receiver": 0, "size": "200KB"}},
            {"incast": {"senders": [1, 2, 5], "receiver": 12, "size": "200KB"}},
            ecn={"step": {"threshold": "20KB"}, "scope": scope},
            flow_control={"portfc": {"xoff": "60KB", "xon": "40KB"}},
            host=dcqcn("hpcc"),
        )
        for scope in ("queue", "port")
    },
    "hpcc": case(FABRIC, INCAST, telemetry={}, host={"congestion_control": {"hpcc": {}}}),
    "conweave": case(
        FABRIC,
        {"incast": {"senders": [2, 3, 4, 5], "receiver": 0, "size": "300KB"}},
        ecn=RED,
        routing={"conweave": {"reply_slack": "1us"}},
    ),
    "hpcc-pint": case(
        FABRIC,
        INCAST,
        telemetry={"pint": {"base": 1.05}},
        host={"congestion_control": {"hpcc_pint": {"probability": 0.5}}},
    ),
    "dctcp": case(FABRIC, INCAST, ecn={"step": {"threshold": "30KB"}}, host={"congestion_control": {"dctcp": {}}}),
    "ecn-profiles": case(
        STAR,
        INCAST,
        ecn={"profiles": [{"classes": [0], "step": {"threshold": "20KB"}}]},
        host={"congestion_control": {"dctcp": {}}},
    ),
    "swift": case(FABRIC, INCAST, host={"congestion_control": {"swift": {"base_target": "5us"}}}),
    **{
        f"timely-{name}": case(
            FABRIC,
            INCAST,
            host={"congestion_control": {"timely": {"t_low": "10us", "t_high": "50us", "window": window}}},
        )
        for name, window in (("rate", False), ("window", True))
    },
    **{
        f"bfc-{resume}": case(
            FABRIC, INCAST, {"permutation": {"size": "200KB"}}, flow_control={"bfc": {"queues": 3, "resume": resume}}
        )
        for resume in ("counted", "threshold")
    },
    **{
        f"watchdog-{action}": case(
            FABRIC,
            INCAST,
            {"permutation": {"size": "200KB"}},
            flow_control={"pfc": {"xoff": "30KB", "xon": "5KB", "watchdog": {"detection": "3us", "action": action}}},
        )
        for action in ("drop", "forward")
    },
    **{
        f"credits-{scheme}": case(
            FABRIC,
            INCAST,
            {"permutation": {"size": "200KB"}},
            buffer={"per_port": "60KB"},
            flow_control={"credits": {"scheme": scheme}},
        )
        for scheme in ("absolute", "cbfc")
    },
    "nscc": case(
        FABRIC,
        INCAST,
        {"permutation": {"size": "200KB"}},
        trimming={"limit": "60KB"},
        ecn={"red": {"kmin": "12KB", "kmax": "48KB", "pmax": 1.0}},
        routing={"spray": {}},
        host={"transport": {"selective": {}}, "congestion_control": {"nscc": {}}},
    ),
    "rccc": case(
        FABRIC,
        INCAST,
        {"permutation": {"size": "200KB"}},
        trimming={"limit": "60KB"},
        ecn={"red": {"kmin": "12KB", "kmax": "48KB", "pmax": 1.0}},
        routing={"spray": {}},
        host={
            "transport": {"selective": {}},
            "congestion_control": {"rccc": {"oversubscription": {"minimum": 0.5}}, "nscc": {}},
        },
    ),
    "ndp": case(
        FABRIC,
        INCAST,
        {"permutation": {"size": "200KB"}},
        trimming={"limit": "12KB", "headers": "3KB", "return_to_sender": True},
        routing={"spray": {}},
        host={"transport": {"ndp": {"window": 60}}},
    ),
    "reps": case(
        FABRIC,
        INCAST,
        {"permutation": {"size": "200KB"}},
        trimming={"limit": "60KB"},
        ecn={"red": {"kmin": "12KB", "kmax": "48KB", "pmax": 1.0}},
        routing={"reps": {"freeze": "100us"}},
        host={"transport": {"selective": {}}, "congestion_control": {"nscc": {}}},
    ),
    **{
        f"collective-{name}": case(FABRIC, {"collective": {"size": "300KB", **settings}})
        for name, settings in COLLECTIVES.items()
    },
    **{
        f"nccl-{name}": case(
            {**FABRIC, "servers": {"gpus": gpus, "nics": nics}},
            {"collective": {"library": "nccl", "size": "200KB", **settings}},
        )
        for name, (gpus, nics, settings) in NCCL.items()
    },
    "collective-in-network": case(
        {**FABRIC, "reducers": [{"switches": "spine*", "link": {"rate": "1Tbps", "delay": "500ns"}}]},
        {"collective": {"operation": "all_reduce", "algorithm": "in_network", "size": "300KB", "chunk": "20KB"}},
    ),
    **{
        f"connections-{connections}": case(
            FABRIC,
            {"collective": {"operation": "all_reduce", "size": "300KB", "channels": 2}, "connections": connections},
            INCAST,
        )
        for connections in ("persistent", "per_message")
    },
    "graph": case(FABRIC, {"graph": JOB}, INCAST),
    "training": case(FABRIC, {"training": MODEL}, INCAST),
    "serving": case(FABRIC, {"serving": SERVING}, INCAST),
    **{
        f"{name}-{transport}": case(
            FABRIC,
            {"permutation": {"size": "200KB"}},
            INCAST,
            routing={name: settings},
            host={"transport": {transport: {}}},
        )
        for name, settings in (
            ("flowlet", {"timeout": "2us"}),
            ("drill", {}),
            ("adaptive", {"load_update_interval": "1us"}),
        )
        for transport in ("irn", "selective")
    },
    **{
        f"trimming-{transport}": case(
            FABRIC, INCAST, trimming={"limit": "12KB"}, routing={"spray": {}}, host={"transport": {transport: {}}}
        )
        for transport in ("selective", "irn", "go_back_n")
    },
    "trimming-size": case(
        FABRIC,
        INCAST,
        trimming={"size": "128B", "turns": 3},
        buffer={"per_queue": "12KB"},
        host={"transport": {"selective": {}}},
    ),
    "selective": case(
        FABRIC,
        {"permutation": {"size": "200KB"}},
        INCAST,
        buffer={"per_port": "60KB"},
        routing={"spray": {}},
        host={"transport": {"selective": {"reordering_threshold": 30}}},
    ),
    **{
        f"spray-{choice}": case(
            FABRIC,
            {"permutation": {"size": "200KB"}},
            INCAST,
            routing={"spray": {"choice": choice}},
            host={"transport": {"irn": {}}},
        )
        for choice in ("random", "round_robin", "entropy")
    },
    **{
        f"sizes-{sizes}": case(STAR, poisson(sizes), flow_control=PFC)
        for sizes in ("websearch", "hadoop", "hadoop_fine", "storage", "datamining", "google_rpc")
    },
}


def row(scenario: dict[str, Any]) -> list[str]:
    summary = xoff.run(scenario).summary
    assert set(summary["audits"].values()) == {"ok"}
    assert summary["flows"]["completed"] == summary["flows"]["total"]
    values = [
        summary["fingerprint"],
        summary["fct_ps"]["mean"],
        summary["fct_ps"]["max"],
        summary["pfc"]["pauses"],
        summary["pfc"]["paused_ps"],
        summary["sfc"]["messages"],
        summary["ecn"]["marked"],
        # The source gets acknowledgements under any congestion control.
        sum(group.get("notifications", 0) for group in summary.values() if isinstance(group, dict)),
        summary["drops"],
        summary["retransmitted"],
    ]
    return [str(value) for value in values]


def table() -> str:
    """Returns all cases as aligned text, one a line."""
    rows = [["case", *COLUMNS], *([name, *row(scenario)] for name, scenario in CASES.items())]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])
        for cells in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def test_snapshots() -> None:
    found = table()
    if os.environ.get(UPDATE):
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(found, "utf-8")
    stored = TABLE.read_text("utf-8") if TABLE.exists() else ""
    if found != stored:
        before, after = stored.splitlines(), found.splitlines()
        changed = [f"- {line}" for line in before if line not in after] + [
            f"+ {line}" for line in after if line not in before
        ]
        pytest.fail(
            "results differ from tests/validation/snapshots/summary.txt:\n"
            + "\n".join(changed)
            + f"\nIf that is meant, run with {UPDATE}=1, and add an entry under `Results changed` to CHANGELOG.md."
        )


def chosen(value: Any, path: list[str]) -> set[str]:
    """Returns the options at a path: a name, or the keys of a table."""
    if isinstance(value, list):
        return {name for one in value for name in chosen(one, path)}
    if path:
        return chosen(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else set()
    return {*value} if isinstance(value, dict) else {str(value)}


@pytest.mark.parametrize("path", CHOICES)
def test_every_mechanism_has_a_snapshot(path: str) -> None:
    used = chosen(list(CASES.values()), path.split("."))
    # A part has a case through its own strategy, and keys of a table count like entries of a list.
    known = [option for option in registered(path) if option in STRATEGIES[path]]
    missing = [option for option in known if option not in used and (path, option) != ("workload", "table")]
    assert not missing, f"no snapshot uses {missing} of `{path}`: add a case to tests/validation/test_snapshots.py"
