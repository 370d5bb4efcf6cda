"""Draws the parts of random small scenarios, with a strategy for every mechanism of the schema.

A scenario is drawn choice by choice: the network's shape, queueing, memory, and so on. `CHOICES` names the places in
the schema that choose one of several registered components; `STRATEGIES` draws the parameters of each component. A
drawn scenario is lossless exactly if PFC or credits are on: buffers then have the room that the network needs. A part
without a strategy is drawn from the schema: its defaults, and an example for each key without a default.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from xoff.conformance.draw import Draw
from xoff.conformance.generic import PLUGINS, generic, plugged
from xoff.conformance.jobs import ALGORITHMS, OPERATIONS, collective, graph, serving, training

# Mechanisms that set the rates of sources from queues of outputs.
CONGESTION_POINTS = ("bcn", "qcn")
# Controls that react to acknowledgements alone.
HEAR_ANSWERS = ("hpcc", "hpcc_pint", "dctcp", "swift", "timely", "nscc", "rccc")
# Flow controls that exclude each other, the first two with their own queues.
INSTEAD = ("portfc", "bfc", "credits")
# SFC with a hold at hosts.
AT_HOSTS = {"mode": "host", "cache": False, "resume_ends": "flow", "fallback": "first"}
# Ports of a switch, at most.
PORTS = 16


def star(d: Draw) -> dict[str, Any]:
    hosts = d.rng.randint(3, 6)
    return d.linked(hosts, hosts=hosts)


def line(d: Draw) -> dict[str, Any]:
    switches, each = d.rng.randint(2, 4), d.rng.randint(1, 2)
    return d.fabric(switches * each, switches=switches, hosts_per_switch=each)


def leaf_spine(d: Draw) -> dict[str, Any]:
    leaves, each = d.rng.randint(2, 3), d.rng.randint(1, 3)
    return d.fabric(
        leaves * each, leaves=leaves, spines=d.rng.randint(1, 3), hosts_per_leaf=each, parallel=d.rng.randint(1, 2)
    )


def three_tier_clos(d: Draw) -> dict[str, Any]:
    pods, access, each = d.rng.randint(1, 2), d.rng.randint(1, 2), d.rng.randint(2, 3)
    shape: dict[str, Any] = {
        "pods": pods,
        "access_per_pod": access,
        "aggregation_per_pod": d.rng.randint(1, 2),
        "cores": 2,
        "hosts_per_access": each,
        "access_uplinks": d.rng.randint(1, 2),
        "core_uplinks": d.rng.randint(1, 2),
    }
    return d.fabric(pods * access * each, **shape)


def fat_tree(d: Draw) -> dict[str, Any]:
    return d.linked(16, k=4)


def ndc(d: Draw) -> dict[str, Any]:
    n, k = d.rng.choice([(2, 1), (3, 1), (4, 1), (2, 2)])
    d.relays_on_a_path = k
    shape = d.linked(n ** (k + 1), n=n, k=k)
    return shape if d.rng.random() < 0.5 else {**shape, "levels": [d.link() for _ in range(k + 1)]}


def rail(d: Draw) -> dict[str, Any]:
    servers, gpus, segments = d.rng.randint(2, 4), d.rng.randint(1, 3), d.rng.randint(1, 2)
    d.relays_on_a_path = 1
    shape: dict[str, Any] = {
        "servers": servers,
        "gpus_per_server": gpus,
        "scale_up": d.link(),
        "rail": d.link(),
    }
    if d.rng.random() < 0.5:
        segments = 1
    else:
        shape["aggregation"] = {"switches": d.rng.randint(1, 3), "link": d.link(), "segments": segments}
    d.hosts = servers * gpus * segments
    return shape


def explicit(d: Draw) -> dict[str, Any]:
    """A tree of switches and relays with hosts at each. A relay is a forwarding host with a delay of its own."""
    middle = d.rng.randint(1, 4)
    names = [f"m{i}" for i in range(middle)]
    kinds = ["switch", *(d.rng.choice(["switch", "relay"]) for _ in names[1:])]
    nodes: list[dict[str, str]] = []
    for name, kind in zip(names, kinds, strict=True):
        node = {"name": name, "kind": kind}
        nodes.append(node if d.rng.random() < 0.5 else {**node, "delay": d.rng.choice(["0ns", "77ns", "1us"])})
    links = [{"a": names[d.rng.randrange(i)], "b": names[i], **d.link()} for i in range(1, middle)]
    # Two hosts at the first node and one at each other node make at least two hosts.
    ends = [names[0], *names]
    nodes += [{"name": f"h{i}", "kind": "host"} for i in range(len(ends))]
    links += [{"a": f"h{i}", "b": end, **d.link()} for i, end in enumerate(ends)]
    d.hosts = len(ends) + kinds.count("relay")
    d.relays_on_a_path = kinds.count("relay")
    return {"nodes": nodes, "links": links}


def per_port(d: Draw) -> str:
    # Classes share the memory of a port, and each may fill up to its threshold and headroom.
    return f"{d.classes * (d.rng.choice([2, 5, 20]) * d.largest + d.headroom())}B"


def per_queue(d: Draw) -> str:
    return f"{d.rng.choice([2, 5, 20]) * d.largest + d.headroom()}B"


def shared(d: Draw) -> dict[str, Any]:
    return {
        "total": f"{max(d.classes, 4) * PORTS * (d.headroom() + 4096) + d.rng.choice([50, 400]) * d.largest}B",
        "alpha": d.rng.choice([0.0625, 0.125, 1.0, 4.0]),
        "headroom": f"{d.headroom()}B",
    }


def red(d: Draw) -> dict[str, Any]:
    kmin = d.rng.randint(0, 5) * d.largest
    return {
        "kmin": f"{kmin}B",
        "kmax": f"{kmin + d.rng.randint(0, 20) * d.largest}B",
        "pmax": d.rng.choice([0.01, 0.2, 1.0]),
        "above": d.choose_apart("switch.ecn.red.above", ["certain", "pmax"]),
    }


def profiles(d: Draw) -> list[dict[str, Any]]:
    """A curve for class 0."""
    return [{"classes": [0], "step": step(d)}]


def step(d: Draw) -> dict[str, Any]:
    return {"threshold": f"{d.rng.randint(0, 10) * d.largest}B"}


def pfc(d: Draw) -> dict[str, Any]:
    xoff_bytes = d.rng.choice([1, 2, 5, 20]) * d.largest
    settings: dict[str, Any] = {"xoff": f"{xoff_bytes}B"}
    if d.rng.random() < 0.5:
        settings["xon"] = f"{d.rng.randrange(xoff_bytes)}B"
    if d.rng.random() < 0.3:
        settings["quanta"] = d.rng.choice([8000, 65_535])
    if d.relays_on_a_path or "switch.flow_control.pfc.relays" in d.forced:
        # Relayed pauses stop links outside the paths of packets, and close cycles that packets do not close.
        settings["relays"] = d.choose("switch.flow_control.pfc.relays", ["native"])
    return settings


def portfc(d: Draw) -> dict[str, Any]:
    packets = d.rng.randint(2, 20)
    settings = {"xoff": f"{packets * d.largest}B", "xon": f"{(packets - 1) * d.largest}B"}
    return settings if d.rng.random() < 0.5 else {**settings, "direct_xoff": f"{2 * packets * d.largest}B"}


def bfc(d: Draw) -> dict[str, Any]:
    """Few queues and many, for hops with a round trip down to zero."""
    settings: dict[str, Any] = {
        "queues": d.rng.choice([1, 3, 32]),
        "resume": d.choose("switch.flow_control.bfc.resume"),
    }
    settings["entries"] = d.rng.choice([1, 100])
    return settings if d.rng.random() < 0.5 else {**settings, "round_trip": d.rng.choice(["200ns", "2us"])}


def credits(d: Draw) -> dict[str, Any]:
    """Windows of a packet and of many; with few counts are repeated while updates are on their way."""
    settings: dict[str, Any] = {"scheme": d.choose("switch.flow_control.credits.scheme")}
    if d.rng.random() < 0.5:
        settings["window"] = f"{d.rng.choice([1, 2, 5, 20]) * -(-d.largest // 128) * 128}B"
    if d.rng.random() < 0.3:
        settings["refresh_interval"] = d.rng.choice(["1us", "40us"])
        d.lost_credit_updates = d.rng.choice([0, 1, 5])
    if d.rng.random() < 0.3:
        settings["update_interval_bytes"] = d.rng.choice(["0B", "2000B"])
    return settings


def sfc(d: Draw) -> dict[str, Any]:
    packets = d.rng.randint(2, 20)
    ends = "switch.flow_control.sfc.resume_ends"
    # Only a source's switch can choose the scope of a resume.
    modes = ["proxy", "proxy_isolation"] if ends in d.forced else None
    # And only the interface of a source has queues to choose from.
    fallback = "switch.flow_control.sfc.fallback"
    modes = ["nic_isolation"] if fallback in d.forced else modes
    settings: dict[str, Any] = {
        "threshold": f"{packets * d.largest}B",
        "mode": d.choose("switch.flow_control.sfc.mode", modes),
    }
    if settings["mode"] == "host":
        settings["hold"] = d.choose("switch.flow_control.sfc.hold")
    match d.rng.choice(["fixed", "fixed", "target", "dynamic"]):
        case "fixed":
            settings["pause"] = d.rng.choice(["500ns", "10us", "123456ps"])
        case "target":
            settings["target"] = f"{(packets - 1) * d.largest}B"
        case "dynamic":
            settings |= {"dynamic": {"pause": True}, "round_trip": "2us"}
    if d.rng.random() < 0.3 or ends in d.forced:
        settings["resume"] = f"{packets // 2 * d.largest}B"
        if settings["mode"] != "host":
            settings["resume_ends"] = d.choose(ends)
    if d.rng.random() < 0.5:
        settings["interval"] = d.rng.choice(["0ns", "3us", "20us"])
    if settings["mode"] in ("proxy", "proxy_isolation"):
        settings["cache"] = d.rng.random() < 0.5
    if settings["mode"] == "nic_isolation":
        settings["fallback"] = d.choose(fallback)
    if "switch.flow_control.sfc.signals" in d.forced or d.rng.random() < 0.2:
        settings["signals"] = d.choose("switch.flow_control.sfc.signals")
    return settings


def congestion_isolation(d: Draw) -> dict[str, Any]:
    low = d.rng.randint(1, 5)
    return {
        "low": f"{low * d.largest}B",
        "high": f"{(low + d.rng.randint(1, 20)) * d.largest}B",
        "pmax": d.rng.choice([0, 0.01, 0.5, 1]),
        "cim_threshold": f"{d.rng.randint(1, 20) * d.largest}B",
        "mark": d.choose("switch.flow_control.congestion_isolation.mark"),
        "above": d.choose_apart("switch.flow_control.congestion_isolation.above", ["certain", "pmax"]),
        "class": 1,
        "congested_class": 0,
        "max_flows": d.rng.choice([1, 3, 1024]),
        **d.rng.choice([{}, {}, {"aging_time": "1us"}, {"aging_time": "50us"}]),
        **d.rng.choice([{}, {}, {"preserve_order": True}, {"preserve_order": False}]),
    }


def bcn_points(d: Draw) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "q_eq": d.rng.choice(["2KB", "24KB"]),
        "w": d.rng.choice([0, 2]),
        "sample_base": f"{d.rng.choice([2, 20])}KB",
        "jitter": f"{d.rng.choice([0, 1])}KB",
        "edges": d.rng.random() < 0.8,
    }
    for variant in ("stop_above", "max_above"):
        if d.rng.random() < 0.3:
            drawn[variant] = f"{d.rng.choice([10, 30])}KB"
    return drawn


def qcn_points(d: Draw) -> dict[str, Any]:
    return {
        "q_eq": d.rng.choice(["2KB", "26KB"]),
        "w": d.rng.choice([0, 2]),
        "sample_base": f"{d.rng.choice([2, 20])}KB",
        "jitter": d.rng.choice([0.0, 0.15]),
        "edges": d.rng.random() < 0.8,
    }


def bcn_limiters(d: Draw) -> dict[str, Any]:
    return {
        "gi": d.rng.choice([0.53, 4.0]),
        "gd": d.rng.choice([2.6e-4, 1e-3]),
        "ru": d.rng.choice(["1Mbps", "8Mbps"]),
        "initial_rate": d.rng.choice(["2Gbps", "100Gbps"]),
        "minimum_rate": d.rng.choice(["100Mbps", "1Gbps"]),
        "tmax": d.rng.choice(["0ns", "100us"]),
        "drift": d.rng.choice(["0bps", "10Mbps"]),
        "drift_interval": d.rng.choice(["10us", "1ms"]),
    }


def qcn_limiters(d: Draw) -> dict[str, Any]:
    return {
        "increase_interval": d.rng.choice(["50us", "15ms"]),
        "byte_counter": d.rng.choice(["3KB", "150KB"]),
        "fast_recovery_steps": d.rng.choice([1, 5]),
        "additive_increase": "5Mbps",
        "hyper_increase": "50Mbps",
        "gd": 1 / 128,
        "min_decrease_factor": 0.5,
        "minimum_rate": d.rng.choice(["100Mbps", "1Gbps"]),
    }


def raw(_: Draw) -> dict[str, Any]:
    return {}


def bernoulli(d: Draw) -> dict[str, Any]:
    sources = d.some_hosts(2)
    return {
        "sources": sources,
        "destinations": [*sources[1:], sources[0]],
        "load": d.rng.choice([0.5, 0.8]),
        "duration": "20us",
        "queue": f"{3 * d.largest}B",
    }


def go_back_n(d: Draw) -> dict[str, Any]:
    """Sometimes with an ACK for several packets, drawn apart from all other choices."""
    every = d.acks.choice([1, 1, 2, 8])
    coalesces = {"ack_every": every} if every > 1 else {}
    return {"rto": d.rng.choice(["4ms", "20ms"]), "nack_interval": d.rng.choice(["0ns", "4us"]), **coalesces}


def irn(d: Draw) -> dict[str, Any]:
    """Windows of one packet, and the window computed from the network."""
    bdp = d.rng.choice([{}, *({"bdp_cap": f"{packets * d.largest}B"} for packets in (1, 8, 100))])
    return {**bdp, "rto_low": "200us", "rto_high": "1ms"}


def selective(d: Draw) -> dict[str, Any]:
    settings: dict[str, Any] = {"rto": d.rng.choice(["200us", "1ms"])}
    if d.rng.random() < 0.3:
        settings["sack_threshold"] = f"{d.rng.choice([1, 4, 30]) * d.largest}B"
    return settings if d.rng.random() < 0.5 else {**settings, "reordering_threshold": d.rng.choice([1, 3, 100])}


def ndp(d: Draw) -> dict[str, Any]:
    """Windows of one packet, of more than most flows, and the window computed from the network."""
    window = d.rng.choice([{}, *({"window": packets} for packets in (1, 8, 100))])
    return {**window, "rate": d.rng.choice([0.5, 1]), "rto": d.rng.choice(["200us", "1ms"])}


def asymmetric(d: Draw) -> dict[str, Any]:
    """Sometimes without a window, drawn apart from all other choices, as are the volume and the weight."""
    threshold, window = d.rng.choice([0.5, 0.9]), {"window": d.rng.choice(["1us", "10us"])}
    return {
        "threshold": threshold,
        "volume": d.curves.choice(["in_flight", "started"]),
        "raises": d.curves.random() < 0.5,
        **(window if d.curves.random() < 0.7 else {}),
    }


def dcqcn(d: Draw) -> dict[str, Any]:
    settings: dict[str, Any] = {"preset": d.choose("host.congestion_control.dcqcn.preset"), "minimum_rate": "500Mbps"}
    if "host.congestion_control.dcqcn.cnp" in d.forced or d.rng.random() < 0.3:
        settings["cnp"] = d.choose("host.congestion_control.dcqcn.cnp")
    if "host.congestion_control.dcqcn.pacing" in d.forced or d.rng.random() < 0.3:
        settings["pacing"] = d.choose("host.congestion_control.dcqcn.pacing")
    if d.rng.random() < 0.3:
        settings["window"] = f"{d.rng.choice([1, 4, 30]) * d.largest}B"
    return settings


def incast(d: Draw) -> dict[str, Any]:
    receiver, *senders = d.some_hosts(2)
    return {"senders": senders, "receiver": receiver, "size": d.size()}


def incasts(d: Draw) -> dict[str, Any]:
    """Sometimes at random times, and sometimes with a load in the place of a period, drawn apart from other choices."""
    senders = d.rng.randint(1, min(d.hosts - 1, 6))
    shape: dict[str, Any] = {"senders": senders, "size": d.size()}
    shape |= {"period": d.rng.choice(["0ns", "20us"]), "count": d.rng.randint(1, 3)}
    if d.arrivals.random() < 0.3:
        del shape["period"]
        shape["load"] = d.arrivals.choice([0.05, 0.5, 1.5])
    path = "workload.repeated_incast.arrivals"
    arrivals = d.forced.get(path) or d.arrivals.choice(["periodic", "periodic", "poisson"])
    return shape if arrivals == "periodic" else {**shape, "arrivals": arrivals}


def parameter_server(d: Draw) -> dict[str, Any]:
    server, *workers = d.some_hosts(2)
    settings: dict[str, Any] = {"server": server, "size": d.size(), "rounds": d.rng.randint(1, 2)}
    return settings if d.rng.random() < 0.5 else {**settings, "workers": workers}


def moe(d: Draw) -> dict[str, Any]:
    return {
        "tokens": d.rng.randint(1, 8),
        "token_size": f"{d.rng.randint(1, 2000)}B",
        "experts_per_token": 2,
        "zipf_exponent": d.rng.choice([0, 1.0]),
        "rounds": d.rng.randint(1, 2),
        "hosts": d.some_hosts(2)[:6],
    }


def permutation(d: Draw) -> dict[str, Any]:
    return {"size": d.size()} if d.rng.random() < 0.5 else {"size": d.size(), "hosts": d.some_hosts(2)}


def all_to_all(d: Draw) -> dict[str, Any]:
    return {"size": f"{d.rng.randint(1, 9000)}B", "hosts": d.some_hosts(2)[:5]}


def poisson(d: Draw) -> dict[str, Any]:
    settings: dict[str, Any] = {"load": d.rng.choice([0.3, 0.8, 1.2]), "flows": d.rng.randint(1, 20)}
    if "workload.poisson.sizes" in d.forced:
        # Real distributions have flows of megabytes: few are drawn.
        return {**settings, "flows": 3, "sizes": d.choose("workload.poisson.sizes")}
    if d.rng.random() < 0.2:
        settings["warm_start"] = d.rng.choice([1.5, settings["load"] < 1 or 2])
    return {**settings, "cdf": [[0, 0], [1000, 40], [20_000, 90], [100_000, 100]]}


def flows(d: Draw) -> list[dict[str, Any]]:
    """Listed flows; some start after the arrival of a flow at their source."""
    rows: list[dict[str, Any]] = []
    for number in range(d.rng.randint(1, 12)):
        src, dst = d.rng.sample(range(d.hosts), 2)
        row = {"src": src, "dst": dst, "size": d.size(), "id": f"f{number}"}
        arriving = [earlier["id"] for earlier in rows if earlier["dst"] == src]
        if arriving and d.rng.random() < 0.5:
            row["after"] = d.rng.sample(arriving, 1)
        if d.rng.random() < 0.5:
            row["start"] = d.rng.choice(["80ns", "4us", "50us"])
        rows.append(row)
    return rows


def table(d: Draw) -> Any:
    """The same as a data frame, which has the columns of all rows."""
    names = ("src", "dst", "size", "id")
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in flows(d)])


def nothing(_: Draw) -> None:
    """A name alone, without parameters."""


def hpcc(d: Draw) -> dict[str, Any]:
    """HPCC's parameters. `draw_scenario` then makes switches write telemetry."""
    return {"eta": d.rng.choice([0.95, 0.9]), "max_stage": d.rng.choice([0, 5])}


def hpcc_pint(d: Draw) -> dict[str, Any]:
    """HPCC's parameters; few sampled answers, or all."""
    return {**hpcc(d), "probability": d.rng.choice([0.1, 1.0])}


def pint(d: Draw) -> dict[str, Any]:
    """Fine and coarse steps."""
    return {"base": d.rng.choice([1.001, 1.05, 2])}


def dctcp(d: Draw) -> dict[str, Any]:
    """DCTCP's parameters, with or without marks."""
    return {"g": d.rng.choice([0.0625, 1]), "additive_increase": d.rng.choice(["615Mbps", "10Gbps"])}


def swift(d: Draw) -> dict[str, Any]:
    """Targets above and below round trips; windows below one packet, with a limit on the duration of flows."""
    return {
        "base_target": d.rng.choice(["1us", "20us"]),
        "hop_target": d.rng.choice(["0ns", "1us"]),
        "initial_window": d.rng.choice([0.5, 10]),
        "minimum_window": d.rng.choice([0.05, 1]),
    }


def timely(d: Draw) -> dict[str, Any]:
    """Thresholds above and below round trips, with a window or without."""
    low, high = d.rng.choice([("1us", "10us"), ("50us", "500us")])
    return {"t_low": low, "t_high": high, "window": d.rng.random() < 0.5}


def nscc(d: Draw) -> dict[str, Any]:
    """Targets above and below round trips, windows large and small."""
    settings: dict[str, Any] = {"quick_adapt": d.rng.random() < 0.7, "maximum": d.rng.choice([0.1, 1.5])}
    return settings if d.rng.random() < 0.5 else {**settings, "target": d.rng.choice(["100ns", "10us"])}


def rccc(d: Draw) -> dict[str, Any]:
    """Credit for less than a packet and for many, pulls small and large; beside it another control at times."""
    settings: dict[str, Any] = {
        "maximum": d.rng.choice([0.1, 1.5]),
        "batch": d.rng.choice(["256B", "16384B"]),
        "rate": d.rng.choice([0.5, 0.99]),
        "slow_pulls": d.rng.random() < 0.5,
    }
    if d.rng.random() < 0.5:
        settings["oversubscription"] = {"interval": d.rng.choice(["1us", "18us"]), "minimum": d.rng.choice([0.1, 0.5])}
    return settings


def spray(d: Draw) -> dict[str, Any]:
    """At random, in turn, or by few values."""
    return {"choice": d.choose("switch.routing.spray.choice"), "entropy_values": d.rng.choice([1, 5, 64])}


def reps(d: Draw) -> dict[str, Any]:
    """Few and many entropy values, a ring of one and of eight."""
    return {"entropy_values": d.rng.choice([2, 64]), "buffer": d.rng.choice([1, 8])}


def flowlet(d: Draw) -> dict[str, Any]:
    """Timeouts shorter than a packet and longer than a flow."""
    return {"timeout": d.rng.choice(["0ns", "500ns", "10us", "1ms"])}


def drill(d: Draw) -> dict[str, Any]:
    """Fewer and more choices than ports, with and without memory."""
    return {"samples": d.rng.choice([1, 2, 100]), "memory": d.rng.choice([0, 1, 3])}


def adaptive(d: Draw) -> dict[str, Any]:
    """By packet and by flowlet, with flowlets of a packet and of a flow; load updates never, often and seldom."""
    settings = {"per": d.choose("switch.routing.adaptive.per"), "timeout": d.rng.choice(["500ns", "10us"])}
    far = d.rng.choice([None, "100ns", "5us"])
    return {**settings, "load_update_interval": far} if far else settings


def conweave(d: Draw) -> dict[str, Any]:
    """Replies always late or seldom late, short and long holds, one reorder queue and many."""
    return {
        "reply_slack": d.rng.choice(["0ns", "100ns", "4us"]),
        "path_pause": d.rng.choice(["0ns", "16us"]),
        "expiry": d.rng.choice(["5us", "300us"]),
        "flush_slack": d.rng.choice(["0ns", "16us"]),
        "flush_default": d.rng.choice(["1us", "200us"]),
        "queues": d.rng.choice([1, 16]),
    }


def class_schedulers(d: Draw) -> list[dict[str, Any]]:
    """Draws a scheduler for each class, or for the lowest classes."""
    rng = d.by_class
    kinds = [rng.choice(["strict", "dwrr", "dwrr"]) for _ in range(rng.randint(1, d.classes))]
    return [{"type": kind} | ({"weight": rng.choice([1, 2, 15, 100])} if kind == "dwrr" else {}) for kind in kinds]


NAMED: dict[str, dict[str, Callable[[Draw], Any]]] = {
    "switch.queueing": dict.fromkeys(["oq", "iq", "voq"], nothing),
    "switch.flow_control.pfc.accounting": dict.fromkeys(["ingress", "egress"], nothing),
    "switch.flow_control.pfc.relays": dict.fromkeys(["native", "forward"], nothing),
    "switch.flow_control.pfc.watchdog.action": dict.fromkeys(["drop", "forward"], nothing),
    "host.congestion_control.dcqcn.preset": dict.fromkeys(
        ["conweave", "hpcc", "hpcc_paper", "hpcc_config", "microsoft", "sfc_proxy", "mellanox", "paper"], nothing
    ),
    "host.congestion_control.dcqcn.cnp": dict.fromkeys(["packet", "ack"], nothing),
    "host.congestion_control.dcqcn.pacing": dict.fromkeys(["gap", "limiter"], nothing),
    "workload.poisson.sizes": dict.fromkeys(
        ["websearch", "hadoop", "hadoop_fine", "storage", "datamining", "google_rpc"], nothing
    ),
    "workload.connections": dict.fromkeys(["persistent", "per_message"], nothing),
    "workload.collective.operation": dict.fromkeys(OPERATIONS, nothing),
    "workload.collective.algorithm": dict.fromkeys(ALGORITHMS, nothing),
}
STRATEGIES: dict[str, dict[str, Callable[[Draw], Any]]] = NAMED | {
    "network": {
        "star": star,
        "line": line,
        "leaf_spine": leaf_spine,
        "three_tier_clos": three_tier_clos,
        "fat_tree": fat_tree,
        "ndc": ndc,
        "rail": rail,
        "explicit": explicit,
    },
    "switch.buffer": {"unlimited": nothing, "per_port": per_port, "per_queue": per_queue, "shared": shared},
    "switch.scheduler": {
        "strict": nothing,
        "round_robin": nothing,
        "drr": lambda d: f"{d.largest}B",
        "queues": class_schedulers,
    },
    "switch.ecn": {"red": red, "step": step, "profiles": profiles},
    "switch.ecn.scope": dict.fromkeys(["queue", "port"], nothing),
    "switch.ecn.red.above": dict.fromkeys(["certain", "pmax"], nothing),
    "switch.trimming": {
        "turns": lambda d: d.rng.choice([1, 10]),
        "limit": lambda d: f"{d.rng.choice([1, 3, 30]) * d.largest}B",
        "size": lambda d: f"{d.rng.choice([84, 128])}B",
        "headers": lambda d: f"{d.rng.choice([84, 500, 5000])}B",
        "return_to_sender": lambda _: True,
    },
    "switch.flow_control": {
        "pfc": pfc,
        "sfc": sfc,
        "congestion_isolation": congestion_isolation,
        "portfc": portfc,
        "bcn": bcn_points,
        "qcn": qcn_points,
        "bfc": bfc,
        "credits": credits,
    },
    "switch.flow_control.credits.scheme": dict.fromkeys(["absolute", "cbfc"], nothing),
    "switch.flow_control.bfc.resume": dict.fromkeys(["counted", "threshold"], nothing),
    "switch.routing": {
        "spray": spray,
        "reps": reps,
        "flowlet": flowlet,
        "drill": drill,
        "adaptive": adaptive,
        "conweave": conweave,
    },
    "switch.routing.spray.choice": dict.fromkeys(["random", "round_robin", "entropy"], nothing),
    "switch.flow_control.congestion_isolation.mark": {"isolated": nothing, "selecting": nothing},
    "switch.flow_control.congestion_isolation.above": dict.fromkeys(["certain", "pmax"], nothing),
    "switch.flow_control.sfc.mode": dict.fromkeys(["host", "proxy", "proxy_isolation", "nic_isolation"], nothing),
    "switch.flow_control.sfc.hold": dict.fromkeys(["flow", "destination", "queue"], nothing),
    "workload.repeated_incast.arrivals": dict.fromkeys(["periodic", "poisson"], nothing),
    "switch.flow_control.sfc.resume_ends": dict.fromkeys(["flow", "queue"], nothing),
    "switch.flow_control.sfc.fallback": dict.fromkeys(["first", "shortest"], nothing),
    "switch.flow_control.sfc.signals": dict.fromkeys(["all", "last_hop"], nothing),
    "host.transport": {"go_back_n": go_back_n, "irn": irn, "selective": selective, "ndp": ndp, "raw": raw},
    "host.first_hop": {"hash": nothing, "highest": nothing, "asymmetric": asymmetric},
    "host.relay.scheduler": dict.fromkeys(["relay_first", "round_robin", "per_flow"], nothing),
    "host.congestion_control": {
        "dcqcn": dcqcn,
        "bcn": bcn_limiters,
        "qcn": qcn_limiters,
        "hpcc": hpcc,
        "hpcc_pint": hpcc_pint,
        "dctcp": dctcp,
        "swift": swift,
        "timely": timely,
        "nscc": nscc,
        "rccc": rccc,
    },
    "workload": {
        "incast": incast,
        "repeated_incast": incasts,
        "parameter_server": parameter_server,
        "moe": moe,
        "permutation": permutation,
        "all_to_all": all_to_all,
        "collective": collective,
        "graph": graph,
        "training": training,
        "serving": serving,
        "poisson": poisson,
        "bernoulli": bernoulli,
        "flows": flows,
        "table": table,
    },
}


def written(d: Draw, path: str, option: str) -> Any:
    """Returns an option with its parameters, or the bare name of an option without parameters."""
    if option == PLUGINS:
        return {PLUGINS: plugged(d, f"{path}.{PLUGINS}")}
    strategy = STRATEGIES[path].get(option)
    parameters = strategy(d) if strategy else generic(d, path, option)
    return option if parameters is None else {option: parameters}
