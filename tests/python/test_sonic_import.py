"""Scenarios from SONiC configurations and back: settings, overrides, notes, and a round trip byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from sonic_cases import Tables, case, changed, pair, switch, write
from xoff import running
from xoff.sonic.settings import End, patterns, selected

PORTS = "Ethernet0,Ethernet4,Ethernet8,Ethernet12"
PROFILE = "pg_lossless_100000_40m_profile"


def imported(command: Command, directory: Path, out: Path, *options: str | Path) -> dict[str, Any]:
    """Imports a folder, and returns the resolved scenario."""
    done = command("import", "sonic", directory, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(running.prepare(out / "scenario.toml").resolved)
    return found


def clos() -> dict[str, Tables]:
    """Returns two leaves with hosts under two spines with other cables, memory, alpha and marks."""
    leaves = {}
    for leaf in range(2):
        tables = switch(4)
        tables["DEVICE_METADATA"]["localhost"]["hostname"] = f"leaf{leaf}"
        tables["DEVICE_NEIGHBOR"] = {
            "Ethernet0": {"name": f"h{leaf}0", "port": "eth0"},
            "Ethernet4": {"name": f"h{leaf}1", "port": "eth0"},
            "Ethernet8": {"name": "spine0", "port": f"Ethernet{4 * leaf}"},
            "Ethernet12": {"name": "spine1", "port": f"Ethernet{4 * leaf}"},
        }
        tables["CABLE_LENGTH"]["AZURE"] |= {"Ethernet8": "300m", "Ethernet12": "300m"}
        tables["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"] = tables["BUFFER_PROFILE"][PROFILE] | {
            "xoff": "249600"
        }
        del tables["BUFFER_PG"][f"{PORTS}|3-4"]
        tables["BUFFER_PG"] |= {
            "Ethernet0,Ethernet4|3-4": {"profile": PROFILE},
            "Ethernet8,Ethernet12|3-4": {"profile": "pg_lossless_100000_300m_profile"},
        }
        leaves[f"leaf{leaf}"] = tables
    spines = {}
    for spine in range(2):
        tables = switch(2, metres=300)
        tables["DEVICE_METADATA"]["localhost"]["hostname"] = f"spine{spine}"
        tables["DEVICE_NEIGHBOR"] = {
            f"Ethernet{4 * leaf}": {"name": f"leaf{leaf}", "port": f"Ethernet{8 + 4 * spine}"} for leaf in range(2)
        }
        profile = tables["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"]
        profile |= {"xoff": "249600", "dynamic_th": "-1", "size": "2496"}
        tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "16640000"
        tables["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"] = "500000"
        spines[f"spine{spine}"] = tables
    return leaves | spines


def test_settings_of_most_ports_are_general_and_others_have_overrides(xoff_here: Command, tmp_path: Path) -> None:
    found = imported(xoff_here, write(tmp_path / "clos", clos()), tmp_path / "out")
    sw = found["switch"]
    assert sw["classes"] == 7
    assert sw["flow_control"]["pfc"]["classes"] == [3, 4]
    assert sw["flow_control"]["pfc"]["xon"] == "2288B"
    assert sw["flow_control"]["pfc"]["watchdog"]["detection"] == "400ms"
    shared = sw["buffer"]["shared"]
    assert (shared["alpha"], shared["headroom_pool"], shared["cell"]) == (1.0, "1300KiB", "208B")
    # The lossy classes have alpha 8 and no reserve.
    assert [(one["classes"], one["alpha"]) for one in shared["groups"]] == [([0, 1, 2, 5, 6], 8.0)]
    # The classes are in priority group 0, and count together.
    assert [one["together"] for one in shared["groups"]] == [True]
    assert [(one["classes"], one.get("alpha")) for one in shared["egress"]] == [([0, 1, 2, 5, 6], 8.0), ([3, 4], None)]
    assert [one["type"] for one in sw["scheduler"]["queues"]] == ["dwrr"] * 5 + ["strict"] * 2
    assert sw["ecn"]["red"] == {"kmin": "250KB", "kmax": "2MiB", "pmax": 0.05, "above": "certain"}
    by_switch = {json.dumps(one["switches"]): one for one in sw["overrides"]}
    assert set(by_switch) == {'["spine*"]', '["leaf0 -> h*", "leaf1 -> h*"]'} or set(by_switch) >= {'["spine*"]'}
    spine = [one for one in sw["overrides"] if one["switches"] == ["spine*"]]
    assert {"alpha": 0.5, "reserve": "2496B"} in [one["buffer"] for one in spine]
    assert any(one.get("ecn", {}).get("red", {}).get("kmin") == "500KB" for one in spine)


def test_xoff_is_where_the_closed_form_says(xoff_here: Command, tmp_path: Path) -> None:
    """Alone: reserve and αB/(1 + α), with the B of each switch."""
    imported(xoff_here, write(tmp_path / "clos", clos()), tmp_path / "out")
    rows = xoff.check(str(tmp_path / "out/scenario.toml"))["headroom"]
    expected = {
        "300m": {1248 + 33262528 // 2, 2496 + 16640000 // 3},
        "40m": {1248 + 33262528 // 2},
    }
    found: dict[str, set[int]] = {"300m": set(), "40m": set()}
    for row in rows:
        found["300m" if row["delay"] in {"1.5us", "1500ns"} else "40m"].add(row["xoff_bytes"])
        assert row["available_bytes"] in {166_400, 249_600}
    assert found == expected


@pytest.mark.parametrize("name", ["pair", "clos", "asymmetric", "unmarked", "bare", "curves"])
def test_import_export_import_gives_the_same_scenario(xoff_here: Command, tmp_path: Path, name: str) -> None:
    made: dict[str, Callable[[], dict[str, Tables]]] = {
        "pair": pair,
        "clos": clos,
        "curves": lambda: {"leaf0": _two_curves()},
        "asymmetric": lambda: {
            "leaf0": changed(switch(), ("PORT/Ethernet8/pfc_asym", "on"), ("PORT/Ethernet12/speed", "50000"))
        },
        "unmarked": lambda: (
            clos() | {"spine1": changed(clos()["spine1"], ("WRED_PROFILE/AZURE_LOSSLESS/wred_green_enable", "false"))}
        ),
        "bare": lambda: {
            "leaf0": changed(
                switch(),
                ("DEVICE_NEIGHBOR/Ethernet8/name", "a-spine"),
                ("DEVICE_NEIGHBOR_METADATA", {"a-spine": {"type": "SpineRouter"}}),
            )
        },
    }
    first, exported, second = tmp_path / "first", tmp_path / "exported", tmp_path / "second"
    imported(xoff_here, write(tmp_path / "fabric", made[name]()), first)
    done = xoff_here("export", "sonic", first / "scenario.toml", "--all", "--out", exported)
    assert done.returncode == 0, done.stderr
    imported(xoff_here, exported, second)
    for file in ("scenario.toml", "nodes.csv", "links.csv"):
        assert (first / file).read_bytes() == (second / file).read_bytes(), file


def test_exported_files_pass_all_checks(xoff_here: Command, tmp_path: Path) -> None:
    imported(xoff_here, write(tmp_path / "fabric", pair()), tmp_path / "out")
    xoff_here("export", "sonic", tmp_path / "out/scenario.toml", "--all", "--out", tmp_path / "exported")
    done = xoff_here("check", "--sonic", tmp_path / "exported", "--roce-dscp", "26", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"] == []


def test_tables_to_paste_round_sizes_to_cells(xoff_here: Command, tmp_path: Path) -> None:
    imported(xoff_here, write(tmp_path / "fabric", pair()), tmp_path / "out")
    done = xoff_here("export", "sonic", tmp_path / "out/scenario.toml", "--switch", "leaf0", "--asic", "spc3")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)
    assert set(tables) == {
        "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "WRED_PROFILE", "SCHEDULER", "QUEUE",
        "PORT_QOS_MAP", "PFC_WD",
    }  # fmt: skip
    profile = tables["BUFFER_PROFILE"][PROFILE]
    assert profile["xoff"] == "166912"
    assert profile["size"] == "2048"
    assert all(isinstance(one, str) for entry in tables["BUFFER_PROFILE"].values() for one in entry.values())


def test_fields_without_an_equal_are_said(xoff_here: Command, tmp_path: Path) -> None:
    tables = changed(
        switch(),
        ("SCHEDULER/scheduler.0/pir", "125000000"),
        ("WRED_PROFILE/AZURE_LOSSLESS/yellow_min_threshold", "1"),
        ("BUFFER_PROFILE/ingress_lossy_profile/packet_discard_action", "trim"),
        ("VLAN", {"Vlan1": {}}),
        ("PORT/Ethernet0/index", "1"),
        ("MAP_PFC_PRIORITY_TO_QUEUE/AZURE/3", "4"),
    )
    done = xoff_here("import", "sonic", write(tmp_path / "fabric", {"leaf0": tables}), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    notes = (tmp_path / "out/notes.txt").read_text("utf-8")
    for place in (
        "SCHEDULER|scheduler.0 pir = 125000000",
        "WRED_PROFILE|AZURE_LOSSLESS yellow_min_threshold = 1",
        "BUFFER_PROFILE|ingress_lossy_profile packet_discard_action = trim",
        "VLAN: is not read",
        "PORT.index: is not read",
        "MAP_PFC_PRIORITY_TO_QUEUE: a pause of priority 3 stops queue 4",
        "BUFFER_PROFILE|egress_lossy_profile size = 1664: queues have no reserve",
        "DSCP_TO_TC_MAP",
    ):
        assert place in notes, place
    assert done.stderr.count("\n") == min(21, notes.count("\n"))


def test_settings_of_an_adapter_are_those_of_the_hosts(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "nic.txt").write_text(
        "# NVIDIA's defaults\n"
        "sudo mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0 --trust dscp\n"
        "cma_roce_tos -d mlx5_0 -t 106\n"
        "echo 1019 > /sys/kernel/debug/mlx5/0000:08:00.0/cc_params/dce_tcp_g\n"
        "rpg_ai_rate 5\nrpg_byte_reset 32767\nrpg_time_reset = 300\nrpg_gd 12\nai_rate_incr 4\ncnp_dscp 48\n"
    )
    fabric = write(tmp_path / "fabric", {"leaf0": switch()})
    found = imported(xoff_here, fabric, tmp_path / "out", "--adapter", tmp_path / "nic.txt")
    dcqcn = found["host"]["congestion_control"]["dcqcn"]
    assert dcqcn["preset"] == "mellanox"
    assert dcqcn["g"] == pytest.approx(5 / 1024)
    assert (dcqcn["additive_increase"], dcqcn["byte_counter"]) == ("5Mbps", "2097088B")
    assert dcqcn["increase_interval"] == "300us"
    notes = (tmp_path / "out/notes.txt").read_text("utf-8")
    assert "nic.txt, line 8: rpg_gd 12: has no equal" in notes
    assert "nic.txt, line 9: ai_rate_incr 4: the unit is not public" in notes
    # The switch pauses priority 4, too.
    done = xoff_here("check", "--sonic", fabric, "--adapter", tmp_path / "nic.txt", "--json")
    assert {row["id"] for row in json.loads(done.stdout)["rows"]} == {"pfc-neighbour"}


def test_links_of_a_table(xoff_here: Command, tmp_path: Path) -> None:
    fabric = write(tmp_path / "fabric", {"leaf0": switch(neighbours=False)})
    done = xoff_here("import", "sonic", fabric, "--out", tmp_path / "none")
    assert (done.returncode, "no port that is up has a neighbour" in done.stderr) == (2, True)
    (tmp_path / "links.csv").write_text(
        "a,a_port,b,b_port,length\nleaf0,Ethernet0,h0,eth0,3m\nh1,eth0,leaf0,Ethernet4,\n"
    )
    imported(xoff_here, fabric, tmp_path / "out", "--links", tmp_path / "links.csv")
    assert (tmp_path / "out/links.csv").read_text() == (
        "a,b,rate,delay\nleaf0,h0,100Gbps,15ns\nleaf0,h1,100Gbps,200ns\n"
    )
    for text, says in (
        ("a,b\n", "the columns a,a_port,b,b_port,length are needed"),
        ("a,a_port,b,b_port,length\nleaf0,Ethernet99,h0,eth0,\n", "leaf0 has no port `Ethernet99`"),
        ("a,a_port,b,b_port,length\nleaf0,Ethernet0,leaf0,Ethernet4,\n", "leaf0 is its own neighbour"),
        ("a,a_port,b,b_port,length\nleaf0,Ethernet0,../h,eth0,\n", "is not a name"),
        ("a,a_port,b,b_port,length\nleaf0,Ethernet0,h,eth0,xm\n", "length: `x` is not a whole number"),
    ):
        (tmp_path / "links.csv").write_text(text)
        done = xoff_here("import", "sonic", fabric, "--out", tmp_path / "no", "--links", tmp_path / "links.csv")
        assert done.returncode == 2
        assert says in done.stderr
        assert not (tmp_path / "no").exists()


_LLDP = """Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice       RemotePortID       Capability    RemotePortDescr
-----------  -----------------  -----------------  ------------  -----------------
{rows}
--------------------------------------------------
Total entries displayed:  4
"""


def seen(*rows: tuple[str, str, str, str]) -> str:
    """Returns the output of ``show lldp table`` with these rows."""
    lines = [f"{a:<11}  {b:<17}  {c:<17}  BR            {d}" for a, b, c, d in rows]
    return _LLDP.format(rows="\n".join(lines))


def test_links_that_lldp_has_seen(xoff_here: Command, tmp_path: Path) -> None:
    leaves = {}
    for number in range(2):
        tables = switch(neighbours=False)
        tables["DEVICE_METADATA"]["localhost"]["hostname"] = f"leaf{number}"
        for at, name in enumerate(tables["PORT"]):
            tables["PORT"][name]["alias"] = f"etp{at + 1}"
        leaves[f"leaf{number}"] = tables
    # The file of a switch goes before LLDP.
    leaves["leaf0"]["DEVICE_NEIGHBOR"] = {"Ethernet4": {"name": "named", "port": "eth0"}}
    fabric = write(tmp_path / "fabric", leaves)
    (fabric / "leaf0.lldp").write_text(
        seen(
            ("Ethernet0", "h0.rack.example", "0c:42:a1:00:00:01", "eth0"),
            ("Ethernet4", "other", "eth0", ""),
            ("Ethernet12", "leaf1", "etp4", "Ethernet12"),
            ("eth0", "management", "1/25", ""),
        )
    )
    # A link of two switches is named by both ends, by alias or by name.
    (fabric / "leaf1.lldp").write_text(
        seen(("Ethernet12", "leaf0", "etp4", "uplink"), ("Ethernet0", "192.0.2.7", "eth1", ""))
    )
    imported(xoff_here, fabric, tmp_path / "out")
    assert (tmp_path / "out/links.csv").read_text().splitlines() == [
        "a,b,rate,delay",
        "leaf0,h0,100Gbps,200ns",
        "leaf0,named,100Gbps,200ns",
        "leaf0,leaf1,100Gbps,200ns",
        "leaf1,192.0.2.7,100Gbps,200ns",
    ]
    # Each end alone is enough, and the far port is found by its name or by its alias.
    (fabric / "leaf1.lldp").unlink()
    imported(xoff_here, fabric, tmp_path / "near")
    assert "leaf0,leaf1,100Gbps,200ns" in (tmp_path / "near/links.csv").read_text()
    (fabric / "leaf0.lldp").unlink()
    (fabric / "leaf1.lldp").write_text(seen(("Ethernet12", "leaf0", "etp4", "uplink")))
    imported(xoff_here, fabric, tmp_path / "far")
    assert "leaf0,leaf1,100Gbps,200ns" in (tmp_path / "far/links.csv").read_text()
    # A switch may have a name with a domain; other names, and ports that are no ports of the switch, are left out.
    leaves["leaf0"]["DEVICE_METADATA"]["localhost"]["hostname"] = "leaf0.dc1"
    write(fabric, leaves)
    (fabric / "leaf1.lldp").write_text(
        seen(("Ethernet12", "leaf0", "etp4", ""), ("Ethernet0", "", "eth1", ""), ("Ethernet4", "../h", "eth0", ""))
    )
    imported(xoff_here, fabric, tmp_path / "domain")
    assert (tmp_path / "domain/links.csv").read_text().splitlines()[1:] == [
        "leaf0.dc1,named,100Gbps,200ns",
        "leaf0.dc1,leaf1,100Gbps,200ns",
    ]
    assert "leaf1 PORT|Ethernet4: has no neighbour; left out" in (tmp_path / "domain/notes.txt").read_text()
    for text, says in (
        ("nothing\n", "line 1: is not the output of `show lldp table`"),
        (_LLDP.format(rows="").replace("RemoteDevice", "Remote"), "line 3: the columns LocalPort, RemoteDevice"),
    ):
        (fabric / "leaf0.lldp").write_text(text)
        done = xoff_here("import", "sonic", fabric, "--out", tmp_path / "no")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"leaf0.lldp: {says}" in done.stderr


def test_an_unknown_pool_is_refused(xoff_here: Command, tmp_path: Path) -> None:
    tables = changed(switch(), ("BUFFER_POOL/ingress_lossless_pool/size", None))
    done = xoff_here("import", "sonic", write(tmp_path / "fabric", {"leaf0": tables}), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "BUFFER_POOL|ingress_lossless_pool: size: is missing" in done.stderr


def incast(scenario: Path, size: str) -> dict[str, Any]:
    """Returns the scenario with two senders of class 3 to a third port."""
    document: dict[str, Any] = json.loads(running.prepare(scenario).resolved)
    flows = {"senders": [1, 2], "receiver": 0, "size": size}
    document["workload"] = [{"name": "incast", "class": 3, "incast": flows}]
    document["host"]["transport"] = {"raw": {}}
    document["host"]["congestion_control"] = {}
    document["audits"] = {"completion": "record", "loss": "record"}
    return document


def test_the_run_of_a_case_without_headroom_loses_packets_and_sends_no_pause(
    xoff_here: Command, tmp_path: Path
) -> None:
    """Two 100G senders of class 3 to a third port (case s1), and the same with a profile."""
    tables = case("s1")["switches"]["leaf0"]
    tables["DEVICE_NEIGHBOR"] = {f"Ethernet{4 * at}": {"name": f"h{at}", "port": "eth0"} for at in range(3)}
    out = tmp_path / "out"
    imported(xoff_here, write(tmp_path / "fabric", {"leaf0": tables}), out)
    prepared = running.prepare(out / "scenario.toml")
    lossy = running.run(incast(out / "scenario.toml", "20MB"), tables=prepared.tables)
    assert lossy.summary["drops"] > 0
    assert lossy.pauses.num_rows == 0
    mended = changed(
        tables,
        (
            "BUFFER_PROFILE/lossless",
            {"pool": "ingress_lossless_pool", "size": "1248", "xon": "0", "xon_offset": "2496", "xoff": "99840",
             "dynamic_th": "0"},
        ),
        ("BUFFER_PG/Ethernet0,Ethernet4,Ethernet8|3-4", {"profile": "lossless"}),
    )  # fmt: skip
    imported(xoff_here, write(tmp_path / "mended", {"leaf0": mended}), tmp_path / "mended-out")
    prepared = running.prepare(tmp_path / "mended-out/scenario.toml")
    lossless = running.run(incast(tmp_path / "mended-out/scenario.toml", "20MB"), tables=prepared.tables)
    assert lossless.summary["drops"] == 0
    assert lossless.pauses.num_rows > 0


def test_the_run_of_a_case_with_a_small_egress_pool_drops_at_the_output(xoff_here: Command, tmp_path: Path) -> None:
    """52 senders of two classes fill memory and headroom (case s2); the value that the check names ends the drops.

    104 groups at their thresholds and the headroom that cables of 130 m need are more than the 126,332 cells of the
    egress pool, and less than the 127,692 of the ingress pool.
    """
    ports, metres, of = 53, 130, case("s2")["switches"]["leaf0"]
    tables = switch(ports, metres=metres)
    tables["BUFFER_POOL"] |= of["BUFFER_POOL"]
    tables["BUFFER_PROFILE"] |= {
        "egress_lossless_profile": of["BUFFER_PROFILE"]["egress_lossless_profile"],
        f"pg_lossless_100000_{metres}m_profile": of["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"],
    }
    (tmp_path / "chip.toml").write_text("cell = 256\nheadroom_in_pool = true\n")

    def drops(directory: Path) -> int:
        out = directory.with_suffix(".out")
        imported(xoff_here, directory, out, "--asic", tmp_path / "chip.toml")
        document = incast(out / "scenario.toml", "500KB")
        flows = {"senders": list(range(1, ports)), "receiver": 0, "size": "500KB"}
        document["workload"] = [{"name": f"incast {one}", "class": one, "incast": flows} for one in (3, 4)]
        document["framing"]["payload"] = "1000B"
        del document["switch"]["ecn"]
        # Neighbours respond at once, so that headroom is of the cables.
        del document["switch"]["flow_control"]["pfc"]["response"]
        found = running.run(document, tables=running.prepare(out / "scenario.toml").tables)
        assert found.summary["pfc"]["pauses"] > 1000
        return found.summary["drops"]

    before = write(tmp_path / "before", {"leaf0": tables})
    assert drops(before) > 0
    done = xoff_here("check", "--sonic", before, "--asic", tmp_path / "chip.toml", "--json")
    (row,) = (row for row in json.loads(done.stdout)["rows"] if row["id"] == "egress-pool")
    assert (row["key"], row["required"]) == ("egress_lossless_pool", "32689152")
    mended = changed(
        tables,
        ("BUFFER_POOL/egress_lossless_pool/size", row["required"]),
        ("BUFFER_PROFILE/egress_lossless_profile/static_th", row["required"]),
    )
    assert drops(write(tmp_path / "mended", {"leaf0": mended})) == 0


def test_the_run_of_a_case_without_enable_marks_nothing(xoff_here: Command, tmp_path: Path) -> None:
    """Thresholds of 3,000 and 6,000 B (case s4): no mark without ``wred_green_enable``; with it the queue is marked."""
    of_case = case("s4")["switches"]["leaf0"]["WRED_PROFILE"]["W"]
    marked: list[int] = []
    for enable in ({}, {"wred_green_enable": "true"}):
        tables = changed(switch(), ("WRED_PROFILE/AZURE_LOSSLESS", of_case | enable))
        out = tmp_path / str(len(marked))
        scenario = imported(xoff_here, write(tmp_path / f"fabric{len(marked)}", {"leaf0": tables}), out)
        assert ("ecn" in scenario["switch"]) == bool(enable)
        prepared = running.prepare(out / "scenario.toml")
        result = running.run(incast(out / "scenario.toml", "1MB"), tables=prepared.tables)
        queues = [row for row in result.queues.to_pylist() if row["node"] == "leaf0"]
        assert max(row["max_bytes"] for row in queues) > 6000
        marked.append(result.summary["ecn"]["marked"])
    assert marked[0] == 0
    assert marked[1] > 0
    # The drop probability is 100 % unless given: above 6,000 B each packet is marked.
    assert scenario["switch"]["ecn"]["red"] == {"kmin": "3KB", "kmax": "6KB", "pmax": 1.0, "above": "certain"}


def _two_curves() -> Tables:
    """Returns a leaf that marks class 3 and 4 by two curves, and drops class 0 by a third."""
    curve = {"wred_green_enable": "true", "green_max_threshold": "900000", "green_drop_probability": "20"}
    tables = changed(
        switch(),
        ("WRED_PROFILE/LATE", curve | {"ecn": "ecn_all", "green_min_threshold": "500000"}),
        ("WRED_PROFILE/LOSSY", curve | {"ecn": "ecn_none", "green_min_threshold": "100000"}),
        ("WRED_PROFILE/OFF", {"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2"}),
    )
    queue = tables["QUEUE"].pop(f"{PORTS}|3-4")
    for one, name in ((3, "AZURE_LOSSLESS"), (4, "LATE")):
        tables["QUEUE"][f"{PORTS}|{one}"] = queue | {"wred_profile": name}
    tables["QUEUE"][f"{PORTS}|0"] |= {"wred_profile": "LOSSY"}
    tables["QUEUE"][f"{PORTS}|5"] = {"scheduler": "scheduler.2", "wred_profile": "OFF"}
    return tables


def test_each_class_has_the_curve_of_its_queue(xoff_here: Command, tmp_path: Path) -> None:
    found = imported(xoff_here, write(tmp_path / "fabric", {"leaf0": _two_curves()}), tmp_path / "out")
    profiles = {
        tuple(one["classes"]): (one["red"]["kmin"], one.get("ect", True)) for one in found["switch"]["ecn"]["profiles"]
    }
    # A class without an entry of TC_TO_QUEUE_MAP is in queue 0.
    assert profiles == {(0, 1, 2): ("100KB", False), (3,): ("250KB", True), (4,): ("500KB", True)}
    notes = (tmp_path / "out/notes.txt").read_text("utf-8")
    assert "WRED_PROFILE|OFF: wred_green_enable is not true: marks and drops nothing" in notes
    # The drops of a run are those of the curve: of class 0 alone.
    out = tmp_path / "out"
    prepared = running.prepare(out / "scenario.toml")
    for one in (0, 4):
        document = incast(out / "scenario.toml", "4MB")
        document["workload"][0]["class"] = one
        summary = running.run(document, tables=prepared.tables).summary
        assert (summary["drops"] > 0, summary["ecn"]["marked"] > 0) == (one == 0, one == 4)


def test_neighbours_respond_as_in_the_standard(xoff_here: Command, tmp_path: Path) -> None:
    """At rates with a limit in 802.3; SONiC has no field for the response."""
    for speed, expected in ((100_000, "802.3"), (56_000, None)):
        out = tmp_path / f"out{speed}"
        found = imported(xoff_here, write(tmp_path / str(speed), {"leaf0": switch(speed=speed)}), out)
        assert found["switch"]["flow_control"]["pfc"].get("response") == expected


def test_names_of_overrides_are_the_shortest() -> None:
    names = ["leaf0", "leaf1", "spine0", "spine1"]
    assert patterns({"leaf0", "leaf1"}, names) == ["leaf*"]
    assert patterns({"leaf0"}, names) == ["leaf0"]
    assert patterns({"leaf1", "spine0", "spine1"}, names) == ["leaf1", "spine*"]
    ends = [End(a, b, speed) for a in names[:2] for b, speed in (("h0", 100), ("h1", 100), ("spine0", 400))]
    assert selected({end for end in ends if end.speed == 400}, ends) == {"rate": "400Mbps"}
    assert selected({end for end in ends if end.switch == "leaf1"}, ends) == {"switches": ["leaf1"]}
    wanted = {end for end in ends if end.switch == "leaf0" and end.speed == 100}
    assert selected(wanted, ends) == {"switches": ["leaf0 -> h*"]}


def test_export_needs_a_switch_and_a_shared_buffer(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[network.star]\nhosts = 2\nlink = { rate = "100Gbps", delay = "1us" }\n')
    for words, says in (
        (("a.toml", "--switch", "x"), "switch.buffer: SONiC's profiles divide a shared buffer"),
        (("a.toml",), "give --switch NAME, or --all with --out DIR"),
        (("a.toml", "--all"), "--all: needs --out DIR"),
        (("missing.toml", "--switch", "x"), "missing.toml"),
    ):
        done = xoff_here("export", "sonic", *words)
        assert (done.returncode, says in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


def test_a_native_scenario_is_exported(xoff_here: Command, tmp_path: Path) -> None:
    """The computed headroom becomes enough for real neighbours; settings without an equal are said."""
    (tmp_path / "a.toml").write_text(
        """
[network.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 2
link = { rate = "100Gbps", delay = "3m" }
fabric_link = { rate = "400Gbps", delay = "100m" }

[switch]
buffer = { shared = { total = "16MB", alpha = 0.3 } }

[switch.flow_control.pfc]
"""
    )
    done = xoff_here("export", "sonic", "a.toml", "--switch", "leaf0")
    assert done.returncode == 0, done.stderr
    assert "alpha 0.3 is no power of two" in done.stderr
    tables = json.loads(done.stdout)
    needed = {row["rate"]: row["needed_bytes"] for row in xoff.check(str(tmp_path / "a.toml"))["headroom"]}
    profiles = tables["BUFFER_PROFILE"]
    assert f"instead of the scenario's {needed['100Gbps']} B, because neighbours react" in done.stderr
    for name, rate in (("pg_lossless_100000_3m_profile", "100Gbps"), ("pg_lossless_400000_100m_profile", "400Gbps")):
        assert int(profiles[name]["xoff"]) > needed[rate]
    xoff_here("export", "sonic", "a.toml", "--all", "--out", "exported")
    done = xoff_here("check", "--sonic", "exported", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [row for row in rows if row["level"] == "error"] == []


@pytest.mark.parametrize(
    ("words", "method", "xoff_bytes"),
    [
        (("--asic", "spc4", "--small-packets", "100", "--rate", "400Gbps"), "nvidia formula", 283_648),
        (("--asic", "spc1", "--small-packets", "100", "--method", "formula-a"), "nvidia formula", 38_912),
        (("--asic", "th2", "--method", "table:lookup.ini"), "table lookup.ini", 59_696),
        (("--asic", "th2"), "physics", 47_424),
    ],
)
def test_size_pfc_prints_a_profile(
    xoff_here: Command, tmp_path: Path, words: tuple[str, ...], method: str, xoff_bytes: int
) -> None:
    (tmp_path / "lookup.ini").write_text("100000 40m 1248 1248 59696 0 2496\n")
    rate = () if "--rate" in words else ("--rate", "100Gbps")
    frame = "9100B" if method == "physics" else "9216B"
    done = xoff_here("size", "pfc", *rate, "--link-delay", "40m", "--max-frame", frame, "--sonic", *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["sonic"]
    assert found["method"] == method
    (profile,) = found["BUFFER_PROFILE"].values()
    assert profile["xoff"] == str(xoff_bytes)
    assert (
        "BUFFER_PROFILE"
        in xoff_here("size", "pfc", *rate, "--link-delay", "40m", "--max-frame", frame, "--sonic", *words).stdout
    )


def test_the_response_time_of_802_3(xoff_here: Command) -> None:
    """394 quanta of 512 bit times at 100G are 2.017 µs, and 25,216 B."""
    words = ("--link-delay", "40m", "--max-frame", "1024B", "--response-time", "802.3")
    done = xoff_here("size", "pfc", "--rate", "100Gbps", *words, "--json")
    steps = {step["step"]: step["bytes"] for step in json.loads(done.stdout)["steps"]}
    assert steps["the response time of the neighbour"] == 25_216
    done = xoff_here("size", "pfc", "--rate", "123Gbps", *words)
    assert (done.returncode, "no pause quanta for 123Gbps" in done.stderr) == (2, True)
    done = xoff_here("size", "pfc", "--max-frame", "1024B", "--asic", "th")
    assert (done.returncode, "only with --sonic" in done.stderr) == (2, True)


def test_size_ecn_prints_a_curve(xoff_here: Command) -> None:
    words = ("size", "ecn", "--rate", "100Gbps", "--round-trip", "8us", "--control", "dcqcn", "--sonic")
    found = json.loads(xoff_here(*words, "--json").stdout)
    row, curve = found["rows"][0], found["WRED_PROFILE"]["ROCE"]
    assert curve["green_min_threshold"] == str(row["kmin_bytes"])
    assert (curve["ecn"], curve["wred_green_enable"]) == ("ecn_all", "true")
    assert curve["green_drop_probability"] == str(round(100 * row["pmax"]))
    memory = ("--buffer", "12MB", "--ports", "32", "--headroom", "22400B", "--alpha", "0.0625")
    found = json.loads(xoff_here(*words, *memory, "--json").stdout)
    assert int(found["WRED_PROFILE"]["ROCE"]["green_min_threshold"]) < found["below_pfc_bytes"]
    assert '"WRED_PROFILE"' in xoff_here(*words).stdout


def test_size_buffer_prints_the_pools(xoff_here: Command, tmp_path: Path) -> None:
    """Case s2: 40 ports with 2 groups of 18 cells each and a shared headroom pool are 127,692 cells."""
    words = ("size", "buffer", "--rate", "100Gbps", "--round-trip", "10us", "--sonic")
    chip = tmp_path / "chip.toml"
    chip.write_text("cell = 256\nheadroom_in_pool = true\n")
    given = ("--headroom", "160000B", "--classes", "2", "--ports", "40", "--over-subscribe", "6", "--asic", chip)
    done = xoff_here(*words, *given, "--memory", f"{127_692 * 256}B", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["sonic"]
    # Reserves are six cells a group; 80 groups of 625 cells share a sixth.
    assert (found["reserves_bytes"], found["headroom_bytes"]) == (80 * 6 * 256, 8334 * 256)
    assert found["reserves_bytes"] + found["headroom_bytes"] + found["shared_bytes"] == 127_692 * 256
    assert found["groups_in_headroom_at_once"] == 13
    ingress, egress = found["BUFFER_POOL"].values()
    assert (int(ingress["size"]), int(ingress["xoff"])) == ((127_692 - 480) * 256, 8334 * 256)
    # The pool of outputs holds all that the inputs admit.
    assert int(egress["size"]) == 127_692 * 256 > int(ingress["size"])
    shown = xoff_here(*words, *given, "--memory", f"{127_692 * 256}B").stdout
    assert "enough for 13 of 80 groups at once" in shown
    assert '"BUFFER_POOL"' in shown
    assert "--memory: is needed" in xoff_here(*words, *given).stderr
    assert "less than the reserves" in xoff_here(*words, *given, "--memory", "1MB").stderr
    assert "needs the headroom of a class" in xoff_here(*words).stderr
