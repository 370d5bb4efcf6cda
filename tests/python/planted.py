"""Sound scenarios, causes planted into them, and a judge that sees only lines of output.

A kind of cause changes a scenario and names the place and key that a reader must learn. The judge reads the first five
lines that a command prints, and picks one of all kinds by what the lines say. It knows neither scenario nor kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

Document = dict[str, Any]
LINES = 5
"""The number of lines that the judge reads."""


def sound(rng: Random) -> Document:
    """Draws a lossless fabric with DCQCN whose settings are as they should be."""
    gbps, times = rng.choice([100, 200, 400]), rng.choice([1, 2])
    near = {"rate": f"{gbps}Gbps", "delay": rng.choice(["5m", "20m", "40m"])}
    far = {"rate": f"{gbps * times}Gbps", "delay": rng.choice(["20m", "100m", "300m"])}
    hosts = rng.choice([3, 4, 6])
    network: Document = {"leaf_spine": {"leaves": rng.choice([3, 4]), "spines": 2, "hosts_per_leaf": hosts}}
    if rng.random() < 0.3:
        pods = {"pods": 3, "access_per_pod": 2, "aggregation_per_pod": 2, "cores": 2, "hosts_per_access": hosts}
        network = {"three_tier_clos": pods}
    shape = next(iter(network.values()))
    shape |= {"link": near, "fabric_link": far}
    switches = hosts_of(network) // hosts
    incast = {"senders": list(range(0, hosts * (switches - 1), 2)), "receiver": hosts * switches - 1, "size": "300KB"}
    load = round(rng.uniform(0.2, 0.4), 2)
    return {
        "name": "planted",
        "seed": rng.randrange(1000),
        "network": network,
        "framing": {"payload": rng.choice(["1000B", "2048B", "4096B"])},
        "switch": {
            "classes": 2,
            "forwarding_latency": rng.choice(["300ns", "600ns"]),
            "buffer": {"shared": {"total": rng.choice(["8MB", "24MB"]), "alpha": 0.125}},
            "flow_control": {"pfc": {"classes": [1]}},
            "ecn": {"red": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}},
        },
        "host": {"congestion_control": {"dcqcn": {"preset": "hpcc"}}, "transport": {"go_back_n": {"rto": "500us"}}},
        "workload": [
            {"name": "app", "class": 1, "poisson": {"load": load, "sizes": "hadoop", "duration": "120us"}},
            {"name": "burst", "class": 1, "start": "20us", "incast": incast},
        ],
        "audits": {"loss": "record", "pauses": "record", "completion": "record", "deadlock": "record"},
    }


def varied(rng: Random) -> Document:
    """Draws a sound scenario with other transports, congestion controls, buffers and watchdogs as well."""
    document = sound(rng)
    switch, host = document["switch"], document["host"]
    if rng.random() < 0.5:
        del switch["ecn"]
        host["congestion_control"] = {}
        name = rng.choice(["hpcc", "swift", "timely", "none"])
        if name == "hpcc":
            switch["telemetry"] = {}
        if name != "none":
            host["congestion_control"] = {name: {}}
    if rng.random() < 0.3:
        host["transport"] = {rng.choice(["irn", "selective"]): {}}
    if rng.random() < 0.3:
        switch["buffer"] = {"per_port": "2MB"}
    if rng.random() < 0.3:
        switch["flow_control"]["pfc"]["watchdog"] = {"detection": "200ms"}
    if rng.random() < 0.3:
        switch["cut_through"] = {"header": "64B"}
    if rng.random() < 0.2:
        document["fault"] = [
            {"at": "30us", "link": "-".join(a_link(document, rng)), "state": "down", "duration": "9us"}
        ]
    return document


def hosts_of(network: Document) -> int:
    """Returns the number of hosts."""
    name, shape = next((key, value) for key, value in network.items() if isinstance(value, dict))
    if name == "leaf_spine":
        return int(shape["leaves"] * shape["hosts_per_leaf"])
    return int(shape["pods"] * shape["access_per_pod"] * shape["hosts_per_access"])


def switches_of(document: Document) -> tuple[list[str], list[tuple[str, str]]]:
    """Returns the switches with hosts, and links from them to other switches."""
    network = document["network"]
    if "leaf_spine" in network:
        leaves = [f"leaf{n}" for n in range(network["leaf_spine"]["leaves"])]
        return leaves, [(leaf, f"spine{n}") for leaf in leaves for n in range(2)]
    access = [f"access{n}" for n in range(6)]
    return access, [(name, f"aggregation{n // 2 * 2 + i}") for n, name in enumerate(access) for i in range(2)]


Change = Callable[[Document, Random], str]
"""Plants a cause, and returns the place or key that a reader must learn."""
KINDS: dict[str, Change] = {}
CHECKED: set[str] = set()
"""Kinds of settings, which `xoff check` must name before the run."""


def kind(name: str, *, is_setting: bool = False) -> Callable[[Change], Change]:
    """Registers a kind."""

    def register(change: Change) -> Change:
        KINDS[name] = change
        if is_setting:
            CHECKED.add(name)
        return change

    return register


def a_link(document: Document, rng: Random) -> tuple[str, str]:
    """Draws a link between switches that carries packets of the incast: one at the receiver."""
    leaves, links = switches_of(document)
    return rng.choice([link for link in links if link[0] == leaves[-1]])


def fails(document: Document, **fault: Any) -> None:
    """Adds a fault within the traffic."""
    document.setdefault("fault", []).append({"at": "25us", "duration": "60us"} | fault)


@kind("link down")
def link_down(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{leaf}-{other}", state="down")
    document["network"]["failover"] = {"convergence_time": "10us"}
    return leaf


@kind("link down, frames waited")
def link_waits(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{leaf}-{other}", state="down", queued="wait")
    return other


@kind("link flaps")
def link_flaps(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    spell = {"time_between_failures": {"fixed": "20us"}, "time_to_repair": {"fixed": "5us"}}
    document["fault"] = [{"at": "10us", "link": f"{leaf}-{other}", "state": "down", **spell}]
    document["until"] = "2ms"
    return other


@kind("node down")
def node_down(document: Document, rng: Random) -> str:
    _, other = a_link(document, rng)
    fails(document, node=other, state="down")
    return other


@kind("slow link")
def slow_link(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{leaf}-{other}", rate="25Gbps")
    return other


@kind("long link")
def long_link(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{leaf}-{other}", delay="20us")
    return other


@kind("bit errors")
def bit_errors(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{other} -> {leaf}", bit_error_rate=1e-6)
    document["switch"]["flow_control"]["pfc"]["quanta"] = 65535
    return other


@kind("silent loss")
def silent_loss(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    fails(document, link=f"{other} -> {leaf}", bit_error_rate=1.0, duration="20us")
    document["switch"]["flow_control"]["pfc"]["quanta"] = 65535
    return other


@kind("stall")
def stall(document: Document, rng: Random) -> str:
    host = f"host{hosts_of(document['network']) - 1}"
    fails(document, host=host, stall=True, duration=rng.choice(["100us", "500us"]))
    if rng.random() < 0.5:
        watchdog = {"detection": "300us", "poll": "50us", "restoration": "400us"}
        document["switch"]["flow_control"]["pfc"]["watchdog"] = watchdog
    return host


def job(hosts: list[int], *operations: Document) -> Document:
    """Returns a job whose ranks sum up data, after other operations."""
    total = {"kind": "all_reduce", "name": "sum", "size": "200KB", "after": [one["name"] for one in operations]}
    total["group"] = "all"
    ranks = len(hosts)
    return {"ranks": ranks, "hosts": hosts, "groups": {"all": list(range(ranks))}, "operations": [*operations, total]}


@kind("straggler")
def straggler(document: Document, rng: Random) -> str:
    host = f"host{rng.randrange(4)}"
    work = {"kind": "compute", "name": "work", "duration": "20us"}
    document["workload"] = [{"name": "job", "class": 1, "graph": job([0, 1, 2, 3], work)}]
    document["fault"] = [{"host": host, "compute": 8.0}]
    return host


@kind("lost frames")
def vanish(document: Document, _: Random) -> str:
    document["switch"]["faults"] = {"vanish": 3}
    return "B vanished"


@kind("disorder")
def overtake(document: Document, _: Random) -> str:
    document["switch"]["faults"] = {"overtake": 5}
    return "out of order"


@kind("lost resumes")
def lose_resumes(document: Document, _: Random) -> str:
    document["switch"]["faults"] = {"lose_resumes": 2}
    document["switch"]["buffer"] = {"per_port": "700KB"}
    del document["host"]["congestion_control"]
    del document["switch"]["ecn"]
    return "never ended"


@kind("small headroom of a shared buffer", is_setting=True)
def small_headroom(document: Document, rng: Random) -> str:
    document["switch"]["buffer"]["shared"]["headroom"] = rng.choice(["5KB", "10KB", "15KB"])
    return "switch.buffer.shared.headroom"


@kind("XOFF above the headroom", is_setting=True)
def late_xoff(document: Document, rng: Random) -> str:
    document["switch"]["buffer"] = {"per_port": "400KB"}
    document["switch"]["flow_control"]["pfc"]["xoff"] = rng.choice(["195KB", "190KB"])
    document["switch"]["ecn"]["red"] = {"kmin": "20KB", "kmax": "100KB", "pmax": 0.2}
    return "switch.flow_control.pfc.xoff"


@kind("all traffic without PFC", is_setting=True)
def wrong_pfc_class(document: Document, _: Random) -> str:
    document["switch"]["flow_control"]["pfc"]["classes"] = [0]
    return "workload[0].class"


@kind("a workload without PFC", is_setting=True)
def wrong_class(document: Document, _: Random) -> str:
    document["workload"][1]["class"] = 0
    return "workload[1].class"


@kind("port does not obey", is_setting=True)
def no_obey(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    document["switch"]["overrides"] = [{"switches": [f"{other} -> {leaf}"], "pfc": {"obey": []}}]
    return other


@kind("port sends no pauses", is_setting=True)
def no_send(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    document["switch"]["overrides"] = [{"switches": [f"{leaf} -> {other}"], "pfc": {"send": []}}]
    return leaf


@kind("short watchdog", is_setting=True)
def short_watchdog(document: Document, rng: Random) -> str:
    watchdog = {"detection": rng.choice(["1us", "2us"]), "poll": "500ns", "restoration": "50us"}
    document["switch"]["flow_control"]["pfc"]["watchdog"] = watchdog
    return "watchdog.detection"


@kind("a switch marks late", is_setting=True)
def late_marks_of_a_switch(document: Document, rng: Random) -> str:
    leaf = rng.choice(switches_of(document)[0])
    curve = {"kmin": "20MB", "kmax": "22MB", "pmax": 0.2}
    document["switch"]["overrides"] = [{"switches": [leaf], "ecn": {"red": curve}}]
    return "switch.overrides[0].ecn"


@kind("all switches mark late", is_setting=True)
def late_marks(document: Document, _: Random) -> str:
    document["switch"]["ecn"]["red"] = {"kmin": "20MB", "kmax": "22MB", "pmax": 0.2}
    return "switch.ecn"


@kind("no switch marks", is_setting=True)
def no_marks(document: Document, _: Random) -> str:
    del document["switch"]["ecn"]
    return "host.congestion_control.dcqcn"


@kind("no host reacts to marks", is_setting=True)
def no_reaction(document: Document, _: Random) -> str:
    del document["host"]["congestion_control"]
    return "switch.ecn"


@kind("mistyped rate of a link", is_setting=True)
def mistyped_link(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    rate = next(iter(document["network"].values()))["fabric_link"]["rate"]
    document["network"]["overrides"] = [{"link": f"{leaf}-{other}", "rate": rate.replace("0Gbps", "Gbps")}]
    return "network.overrides[0].rate"


@kind("mistyped rate of the fabric", is_setting=True)
def mistyped_fabric(document: Document, _: Random) -> str:
    link = next(iter(document["network"].values()))["fabric_link"]
    link["rate"] = link["rate"].replace("00Gbps", "Gbps")
    return "network"


@kind("small window", is_setting=True)
def small_window(document: Document, rng: Random) -> str:
    document["host"]["congestion_control"]["dcqcn"]["window"] = rng.choice(["8KB", "12KB"])
    return "host.congestion_control.dcqcn.window"


@kind("small cap of IRN", is_setting=True)
def small_cap(document: Document, rng: Random) -> str:
    document["host"]["transport"] = {"irn": {"bdp_cap": rng.choice(["8KB", "10KB"])}}
    return "host.transport.irn.bdp_cap"


@kind("short round trip of HPCC", is_setting=True)
def short_round_trip(document: Document, _: Random) -> str:
    del document["switch"]["ecn"]
    document["switch"]["telemetry"] = {}
    document["host"]["congestion_control"] = {"hpcc": {"round_trip": "500ns"}}
    return "host.congestion_control.hpcc.round_trip"


@kind("early timeout", is_setting=True)
def early_timeout(document: Document, _: Random) -> str:
    document["host"]["transport"]["go_back_n"]["rto"] = "500ns"
    return "host.transport.go_back_n"


@kind("sprayed packets", is_setting=True)
def sprayed(document: Document, _: Random) -> str:
    document["switch"]["routing"] = {"spray": {}}
    return "switch.routing.spray"


@kind("unequal uplinks", is_setting=True)
def unequal_uplinks(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    document["network"]["overrides"] = [{"link": f"{leaf}-{other}", "rate": "50Gbps"}]
    return "network"


@kind("permanent fault without reroutes", is_setting=True)
def permanent(document: Document, rng: Random) -> str:
    leaf, other = a_link(document, rng)
    document["fault"] = [{"at": "25us", "link": f"{leaf}-{other}", "state": "down"}]
    return "fault[0]"


@kind("two jobs on a host", is_setting=True)
def shared_hosts(document: Document, _: Random) -> str:
    jobs = [job([i, i + 1, i + 2]) for i in range(2)]
    document["workload"] = [{"name": f"job {i}", "class": 1, "graph": one} for i, one in enumerate(jobs)]
    return "workload[1]"


@kind("long cut-through header", is_setting=True)
def uncut(document: Document, _: Random) -> str:
    document["switch"]["cut_through"] = {"header": "9000B"}
    return "switch.cut_through.header"


RULES: list[tuple[str, str]] = [
    ("link down, frames waited", r"link down, frames for it waited: "),
    ("link flaps", r"link down: .*, [\d,]+ times"),
    ("permanent fault without reroutes", r"^from .* on: link down"),
    ("link down", r"link down: "),
    ("node down", r"node down"),
    ("slow link", r"link slower than configured"),
    ("long link", r"link longer than configured"),
    ("silent loss", r"silent loss"),
    ("bit errors", r"bit errors"),
    ("stall", r"host stalled"),
    ("straggler", r"straggler"),
    ("lost frames", r"audit of conservation"),
    ("disorder", r"audit of order"),
    ("lost resumes", r"audit of pauses"),
    ("permanent fault without reroutes", r"permanent fault without a? ?reroutes?"),
    ("small headroom of a shared buffer", r"shared\.headroom: .*of headroom are less"),
    ("XOFF above the headroom", r"pfc\.xoff: .*of headroom for"),
    ("port does not obey", r"does not obey|did not obey"),
    ("port sends no pauses", r"does not pause class"),
    ("short watchdog", r"watchdog\.detection: "),
    ("a switch marks late", r"switch\.overrides\[\d+\]\.ecn.*PFC acts first"),
    ("all switches mark late", r"switch\.ecn.*PFC acts first"),
    ("no switch marks", r"dcqcn: .*ecn"),
    ("no host reacts to marks", r"no host reacts"),
    ("mistyped rate of a link", r"overrides\[\d+\]\.rate: .*typing error"),
    ("mistyped rate of the fabric", r"network: .*typing error"),
    ("small window", r"dcqcn\.window: "),
    ("small cap of IRN", r"irn\.bdp_cap: "),
    ("short round trip of HPCC", r"hpcc\.round_trip: "),
    ("early timeout", r"is below the longest round trip without load, .*retransmitted too early"),
    ("sprayed packets", r"packets of a flow take several paths"),
    ("unequal uplinks", r"ECMP divides flows evenly"),
    ("two jobs on a host", r"also has ranks of"),
    ("long cut-through header", r"cut-through has no effect"),
]


@dataclass(frozen=True)
class Verdict:
    """What the judge read."""

    kind: str
    line: str


SONIC = r"^(error|warning|note) ([a-z-]+): "


def judge_sonic(lines: Iterable[str]) -> str:
    """Picks a check of SONiC configurations by the first line that names one."""
    seen = [line for line in lines if line.strip()][:LINES]
    found = (re.search(SONIC, line) for line in seen)
    return next((match[2] for match in found if match), "nothing")


def judge(lines: Iterable[str]) -> Verdict:
    """Picks a kind by the first line that names one, of the first five lines of an output."""
    seen = [line for line in lines if line.strip()][:LINES]
    for line in seen:
        for name, pattern in RULES:
            if re.search(pattern, line):
                return Verdict(name, line)
    lossy = [line for line in seen if "is not lossless" in line and ".class: " in line]
    if lossy:
        # All workloads are named, or one of them.
        return Verdict("all traffic without PFC" if len(lossy) > 1 else "a workload without PFC", lossy[0])
    return Verdict("nothing", "")
