"""Each audit can fail: scenarios that violate an audit in the intended way are reported.

An audit without any failing scenario would prove nothing by passing. `switch.faults` breaks nodes for audits that no
other setting can violate.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.validation.test_pfc_closed_forms import MTU, stalled, worst_case

import xoff
from patience import PATIENCE_SECONDS

AUDITS = ["completion", "conservation", "deadlock", "delays", "loss", "order", "pauses", "slowdown"]


def _is_fine(state: str) -> bool:
    """True if an audit found no violation until the run was ended."""
    return state == "ok" or state.startswith("cut: ")


def violations(scenario: dict[str, Any]) -> tuple[xoff.Result, dict[str, str]]:
    """Runs a scenario that must fail; returns its summary and the violated audits."""
    with pytest.raises(xoff.AuditError) as caught:
        xoff.run(scenario)
    result = caught.value.result
    assert not result.ok
    assert sorted(result.audits) == AUDITS
    failed = {name: state for name, state in result.audits.items() if not _is_fine(state)}
    for state in failed.values():
        assert state.startswith("failed: ")
        # The exception carries all violations.
        assert state.removeprefix("failed: ") in str(caught.value)
    return result, failed


def recorded(scenario: dict[str, Any]) -> tuple[xoff.Result, dict[str, str]]:
    """Runs a scenario that records a violation; returns the result with its audits."""
    result = xoff.run(scenario)
    assert result.ok
    assert sorted(result.audits) == AUDITS
    carried = {name: state for name, state in result.audits.items() if not _is_fine(state)}
    assert all(state.startswith("recorded: ") for state in carried.values())
    return result, carried


def star(size: str, lose_resumes: int = 0, **pfc: Any) -> dict[str, Any]:
    """Sends from two hosts to a third under PFC."""
    return {
        "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "952B", "header": "48B"},
        "switch": {"flow_control": {"pfc": {"xoff": "20KB", **pfc}}, "faults": {"lose_resumes": lose_resumes}},
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": size}}],
    }


def ring(switches: int = 3, size: str = "2MB", hosts: int = 1, **settings: Any) -> dict[str, Any]:
    """Sends two hops clockwise around a ring of switches, all at once, to the hosts of the next switch but one.

    Each link between switches carries the packets of its switch's hosts and the packets of the preceding link. If the
    preceding link gets less of the next link than needed, each input fills with packets for the next link. Once PFC has
    paused all inputs no switch can drain.
    """
    link = {"rate": "100Gbps", "delay": "1us"}
    around = range(switches)
    return {
        "network": {
            "explicit": {
                "nodes": [
                    *({"name": f"h{i}", "kind": "host"} for i in range(switches * hosts)),
                    *({"name": f"s{i}", "kind": "switch"} for i in around),
                ],
                "links": [
                    *({"a": f"h{i}", "b": f"s{i % switches}", **link} for i in range(switches * hosts)),
                    *({"a": f"s{i}", "b": f"s{(i + 1) % switches}", **link} for i in around),
                ],
            }
        },
        "framing": {"payload": "952B", "header": "48B"},
        "switch": {"forwarding_latency": "300ns", "buffer": {"per_port": "100KB"}, "flow_control": {"pfc": {}}},
        "workload": [
            {
                "flows": [
                    {
                        "src": f"h{i}",
                        "dst": f"h{(i + 2) % switches}",
                        "size": size,
                        "via": [f"s{(i + hop) % switches}" for hop in range(3)],
                    }
                    for i in range(switches * hosts)
                ]
            }
        ],
        **settings,
    }


@pytest.mark.parametrize("queueing", ["oq", "iq", "voq"])
def test_loss_names_the_port_and_the_missing_headroom(queueing: str) -> None:
    back_ps, peak = worst_case()
    scenario = stalled(peak - MTU, 10_001, back_ps)
    scenario["switch"]["queueing"] = queueing
    result, failed = violations(scenario)
    assert list(failed) == ["loss"]
    assert "1 packets of a lossless class" in failed["loss"]
    assert "s port 0 (to u), class 0" in failed["loss"]
    assert f"with {MTU} B above XOFF; `xoff check` warns of switch.flow_control.pfc.xoff" in failed["loss"]
    assert result.summary["drops"] == result.drops.num_rows == 1
    # With the required headroom nothing is lost.
    scenario["switch"]["buffer"] = {"per_port": f"{peak}B"}
    assert xoff.run(scenario).summary["drops"] == 0


def test_loss_can_be_recorded() -> None:
    back_ps, peak = worst_case()
    result, carried = recorded(stalled(peak - MTU, 10_001, back_ps, loss="record"))
    assert list(carried) == ["loss"]
    assert result.summary["drops"] == 1
    assert result.summary["audits"]["loss"] == carried["loss"]


def test_a_lossy_network_may_drop() -> None:
    scenario = star("200KB")
    scenario["switch"] = {"buffer": {"per_port": "30KB"}}
    result = xoff.run(scenario)
    assert result.summary["drops"] > 0
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["flows"]["completed"] == 2


def test_a_pause_that_is_never_taken_back() -> None:
    # 60 packets from each: all are in flight when the last resume is due, so that all are delivered.
    result, failed = violations(star("45KB", lose_resumes=1))
    assert list(failed) == ["pauses"]
    assert "1 pauses never ended, the first at host1 port 0 (to switch0), class 0" in failed["pauses"]
    assert result.summary["flows"] == {"total": 2, "completed": 2}
    (open_pause,) = [row for row in result.pauses.to_pylist() if row["end_ps"] is None]
    assert (open_pause["node"], open_pause["peer"]) == ("host1", "switch0")
    assert set(xoff.run(star("45KB")).audits.values()) == {"ok"}
    _, carried = recorded(star("45KB", lose_resumes=1) | {"audits": {"pauses": "record"}})
    assert list(carried) == ["pauses"]


def test_flows_that_a_pause_keeps_for_ever() -> None:
    result, failed = violations(star("1MB", lose_resumes=1))
    assert list(failed) == ["completion", "pauses"]
    assert "1 of 2 flows were not delivered" in failed["completion"]
    assert result.summary["flows"] == {"total": 2, "completed": 1}
    _, carried = recorded(star("1MB", lose_resumes=1) | {"audits": {"pauses": "record", "completion": "record"}})
    assert list(carried) == ["completion", "pauses"]


@pytest.mark.parametrize("switches", [3, 4, 5])
@pytest.mark.parametrize("queueing", ["oq", "iq", "voq"])
def test_deadlock_names_the_cycle_port_by_port(queueing: str, switches: int) -> None:
    # Turns between inputs leave a single host and the ring half of the next link each, which is what the ring needs.
    hosts = 1 if queueing == "oq" else 2
    scenario = ring(switches, hosts=hosts)
    scenario["switch"]["queueing"] = queueing
    result, failed = violations(scenario)
    assert list(failed) == ["deadlock"]
    # After the host ports the first switch has links to the next and the last switch; the other switches have the
    # preceding switch first.
    towards = {i: hosts if i == 0 else hosts + 1 for i in range(switches)}
    places = [f"s{i} port {towards[i]} (to s{(i + 1) % switches}), class 0" for i in range(switches)]
    cycle = failed["deadlock"].partition("these queues wait for one another: ")[2].split(" → ")
    assert cycle == places
    # Traffic had stopped when the deadlock was found: the whole ring is paused, and no flow was delivered.
    assert result.summary["flows"]["completed"] == 0
    standing = {row["node"] for row in result.pauses.to_pylist() if row["end_ps"] is None}
    assert standing >= {f"s{i}" for i in range(switches)}


def test_deadlock_can_be_recorded() -> None:
    result, carried = recorded(ring(audits={"deadlock": "record"}))
    assert list(carried) == ["deadlock"]
    assert result.summary["audits"]["deadlock"] == carried["deadlock"]
    assert "s0 port 1 (to s1), class 0 → s1 port 2 (to s2), class 0 → s2 port 2 (to s0)" in carried["deadlock"]
    assert result.summary["flows"]["completed"] == 0


def test_no_deadlock_where_there_is_none() -> None:
    # The same ring with room for all packets, or with one flow less, drains.
    roomy = ring()
    roomy["switch"]["buffer"] = "unlimited"
    roomy["switch"]["flow_control"]["pfc"]["xoff"] = "9MB"
    open_ring = ring()
    open_ring["workload"][0]["flows"].pop()
    for scenario in (roomy, open_ring):
        result = xoff.run(scenario)
        assert set(result.audits.values()) == {"ok"}
        assert result.summary["flows"]["completed"] == result.summary["flows"]["total"]
    assert xoff.run(open_ring).summary["pfc"]["pauses"] > 0


def test_long_pauses_are_no_deadlock() -> None:
    # A slow output keeps two switches and a host paused for longer than the millisecond after which a search looks.
    scenario = ring(size="50KB")
    scenario["network"]["explicit"]["links"][2]["rate"] = "100Mbps"
    scenario["workload"][0]["flows"] = [scenario["workload"][0]["flows"][0] | {"size": "300KB"}]
    result = xoff.run(scenario)
    assert set(result.audits.values()) == {"ok"}
    assert max(row["end_ps"] - row["start_ps"] for row in result.pauses.to_pylist()) > 1_000_000_000


def test_conservation_notices_packets_that_vanish() -> None:
    result, failed = violations(
        {
            "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "0ns"}}},
            "framing": {"payload": "952B"},
            "switch": {"faults": {"vanish": 1}},
            "workload": [{"flows": [{"src": 0, "dst": 1, "size": "9520B"}]}],
        }
    )
    # Vanished packets are retransmitted, so that the flow completes; the byte counts still do not add up.
    assert list(failed) == ["conservation"]
    # The sender goes back by four packets at the NACK of the gap.
    assert "14000 B entered, 13000 B arrived, 0 B were dropped and 0 B are queued" in failed["conservation"]
    assert result.summary["flows"]["completed"] == 1


def test_order_notices_a_packet_that_overtakes() -> None:
    names = {"a": "host", "b": "host", "s": "switch"}
    rates = {"a": "100Gbps", "b": "10Gbps"}
    scenario = {
        "network": {
            "explicit": {
                "nodes": [{"name": name, "kind": kind} for name, kind in names.items()],
                "links": [{"a": host, "b": "s", "rate": rate, "delay": "1us"} for host, rate in rates.items()],
            }
        },
        "switch": {"faults": {"overtake": 1}},
        "workload": [{"flows": [{"src": "a", "dst": "b", "size": "200KB"}]}],
    }
    result, failed = violations(scenario)
    assert list(failed) == ["order"]
    assert failed["order"] == "failed: 1 packets arrived out of order within a flow"
    assert result.summary["flows"]["completed"] == 1


def command(scenario: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "scenario.json"
    file.write_text(json.dumps(scenario), "utf-8")
    words = [str(Path(sys.executable).with_name("xoff")), "run", str(file), "--json", "--out", str(folder / "result")]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def test_the_command_refuses_and_leaves_what_failed_beside(tmp_path: Path) -> None:
    done = command(ring(), tmp_path)
    assert done.returncode == 1
    assert "s0 port 1 (to s1), class 0 → s1 port 2 (to s2), class 0 → s2 port 2 (to s0)" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.failed", "scenario.json"]


def test_the_command_carries_what_is_recorded(tmp_path: Path) -> None:
    done = command(ring(audits={"deadlock": "record"}), tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["audits"]["deadlock"].startswith("recorded: ")
    assert (tmp_path / "result").is_dir()


def test_a_flow_that_is_faster_than_alone_is_noticed() -> None:
    # A packet passes the forwarding delay of the second of two switches: 300 ns less than it takes alone.
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario = {
        "network": {"line": {"switches": 2, "hosts_per_switch": 1, "link": link}},
        "switch": {"forwarding_latency": "300ns"},
        "workload": [{"flows": [{"src": 0, "dst": 1, "size": "1KB"}]}],
    }
    assert set(xoff.run(scenario).audits.values()) == {"ok"}
    scenario["switch"] = {"forwarding_latency": "300ns", "faults": {"hurry": 1}}
    _, failed = violations(scenario)
    assert list(failed) == ["slowdown"]
    assert failed["slowdown"].startswith("failed: flow 0 took ")
