"""Classes share a port's memory: the default XOFF leaves headroom for all; `check` tells when a given one does not."""

from typing import Any

import pytest

import xoff


def two_classes(scheduler: str = "strict", **pfc: Any) -> dict[str, Any]:
    """Two senders that fill both classes of one port's memory."""
    return {
        "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "952B"},
        "switch": {
            "classes": 2,
            "scheduler": scheduler,
            "buffer": {"per_port": "100KB"},
            "flow_control": {"pfc": pfc},
        },
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "300KB"}, "class": c} for c in (0, 1)],
        "audits": {"loss": "record"},
        "until": "2ms",
    }


@pytest.mark.parametrize("scheduler", ["strict", "round_robin"])
def test_default_headroom_serves_all_classes(scheduler: str) -> None:
    scenario = two_classes(scheduler)
    assert xoff.run(scenario).summary["drops"] == 0
    report = xoff.check(scenario)
    assert report["warnings"] == []
    (row,) = report["headroom"]
    assert row["available_bytes"] == row["needed_bytes"]
    assert row["xoff_bytes"] == 50_000 - row["needed_bytes"]


def test_check_warns_when_a_given_threshold_leaves_too_little_for_all_classes() -> None:
    # 100 KB hold 70 KB and the headroom of one class, but not of two.
    scenario = two_classes(xoff="45KB")
    (warning,) = xoff.check(scenario)["warnings"]
    assert warning["path"] == "switch.flow_control.pfc.xoff"
    assert "shared by 2 classes" in warning["message"]
    assert xoff.run(scenario).summary["drops"] > 0
    scenario["switch"]["classes"] = 1
    del scenario["workload"][1]
    assert xoff.check(scenario)["warnings"] == []
