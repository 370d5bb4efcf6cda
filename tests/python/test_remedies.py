"""Errors that propose a change carry the change as data: done by a program, the change removes the error."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

import xoff
from xoff import InputError

Document = dict[str, Any]

LINK = {"rate": "100Gbps", "delay": "1us"}
RETRY = {"network": {"star": {"hosts": 4, "link": LINK}, "link_retry": {}}}
QUEUES = {"queues": [{"type": "dwrr", "weight": 1}, {"type": "strict"}]}
SFC = {"threshold": "10KB", "pause": "1us"}
CASES: dict[str, Document] = {
    "turns by bytes at inputs": {"switch": {"queueing": "iq", "scheduler": {"drr": "2KB"}}},
    "two ways to say strict": {"switch": {"classes": 2, "strict_priority_classes": 1, "scheduler": QUEUES}},
    "a weight of a strict class": {"switch": {"scheduler": {"queues": [{"type": "strict", "weight": 2}]}}},
    "ACKs in classes at inputs": {"switch": {"queueing": "iq"}, "host": {"acks": "data"}},
    "isolation at inputs": {"switch": {"queueing": "iq", "classes": 2, "flow_control": {"congestion_isolation": {}}}},
    "spraying at inputs": {"switch": {"queueing": "iq", "routing": {"spray": {}}}},
    "trimming beside pauses": {"switch": {"trimming": {"limit": "20KB"}, "flow_control": {"pfc": {}}}},
    "two lossless parts": {"switch": {"flow_control": {"pfc": {}, "credits": {}}}},
    "pauses of hosts without pauses": {"switch": {"flow_control": {"sfc": {**SFC, "mode": "proxy"}}}},
    "queues of its own and classes": {"switch": {"classes": 2, "flow_control": {"bfc": {}}}},
    "credit without retransmission by it": {"host": {"congestion_control": {"rccc": {}}}},
    "an option of another mode": {"switch": {"flow_control": {"sfc": {**SFC, "fallback": "shortest"}}}},
    "trimming without retransmission": {"switch": {"trimming": {"limit": "20KB"}}, "host": {"transport": {"raw": {}}}},
    "two halves of hosts": {"host": {"transport": {"ndp": {}}, "congestion_control": {"dcqcn": {}}}},
    "retry and cut-through": {**RETRY, "switch": {"cut_through": {}}},
    "retry and parts of delays": {**RETRY, "probe": {"delays": "all"}},
    "retry and a link that fails": {
        **RETRY,
        "fault": [{"link": "host0-switch0", "state": "down", "at": "1us", "duration": "1us"}],
    },
    "a node fails at inputs": {
        "switch": {"queueing": "iq"},
        "fault": [{"node": "switch0", "state": "down", "at": "1us", "duration": "1us"}],
    },
    "a slow link and cut-through": {
        "switch": {"cut_through": {}},
        "fault": [{"link": "host0-switch0", "rate": "10Gbps", "at": "1us", "duration": "1us"}],
    },
    "two probes of queues": {"probe": {"replay": True, "queues": "1us"}},
    "shared draws without ties": {"draws": "shared"},
    "an end at the start": {"until": "0ns"},
    "queues of all inputs": {
        "network": {"star": {"hosts": 4000, "link": LINK}},
        "switch": {"queueing": "voq", "classes": 2},
        "workload": [{"flows": [{"src": 0, "dst": 1, "size": "1KB"}]}],
    },
    "headroom beyond the memory": {
        "switch": {"flow_control": {"pfc": {}}, "buffer": {"shared": {"total": "50KB"}}},
    },
}


def problems(document: Document) -> list[dict[str, Any]]:
    """Returns the problems of a scenario."""
    try:
        xoff.check(document)
    except InputError as error:
        return error.errors
    return []


def refused(document: Document) -> dict[str, Any]:
    """Returns the first problem of a scenario."""
    return problems(document)[0]


def changed(document: Document, change: dict[str, Any]) -> Document:
    """Does what a change says: sets a key, or removes it."""
    document = copy.deepcopy(document)
    *tables, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", change["key"])]
    place: Any = document
    for part in tables:
        place = place[part] if isinstance(place, list) else place.setdefault(part, {})
    if change["value"] is None:
        del place[last]
    else:
        place[last] = change["value"]
    return document


@pytest.mark.parametrize("case", CASES)
def test_a_proposed_change_removes_the_error(case: str) -> None:
    star = {"network": {"star": {"hosts": 4, "link": LINK}}}
    workload = {"workload": [{"all_to_all": {"size": "1KB"}}]}
    document = {**star, **workload, **CASES[case]}
    problem = refused(document)
    change = problem["change"]
    # The sentence is made of the change.
    remedy = f"remove {change['key']}" if change["value"] is None else f"set {change['key']} = "
    assert f"; {remedy}" in problem["message"]
    # Another problem may follow.
    assert problem["message"] not in [left["message"] for left in problems(changed(document, change))]


def test_too_many_messages_of_a_library_name_group_number_and_an_existing_key() -> None:
    """A larger buffer makes fewer messages; the limit of 33 million would take seconds to try."""
    rail = {"servers": 2, "gpus_per_server": 8, "rail": LINK}
    collective = {"operation": "all_reduce", "size": "20GB", "library": "nccl", "algorithm": "ring"}
    document = {
        "network": {"rail": rail, "servers": {"gpus": 8}},
        "workload": [{"collective": collective, "nccl": {"buffer": "64KiB"}}],
    }
    problem = refused(document)
    assert problem["path"] == "workload[0].collective"
    assert "all_reduce of 20GB among 16 ranks needs some 39" in problem["message"]
    assert problem["change"] == {"key": "workload[0].nccl.buffer", "value": "128KiB"}
    model = {"preset": "llama3_70b", "layers": 80, "sequence": 128}
    parallel = {"tensor": 1, "data": 16}
    training = {"model": model, "parallel": parallel, "compute": {"peak": 989e12}, "global_batch": 16, "micro_batch": 1}
    problem = refused({**document, "workload": [{"training": training, "nccl": {"buffer": "64KiB", "steps": 8}}]})
    assert problem["path"] == "workload[0].training.collectives"
    assert problem["change"]["key"] == "workload[0].nccl.buffer"


def test_an_error_without_a_single_change_has_none() -> None:
    problem = refused({"network": {"star": {"hosts": 4, "link": LINK}}, "switch": {"classes": 9}})
    assert "change" not in problem
