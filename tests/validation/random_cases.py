"""Random small networks and workloads for xoff and for the slow reference.

Values are few and round numbers on purpose: many events then coincide, and the order of simultaneous events decides the
trace.
"""

from random import Random
from typing import Any

RATES = ["10Gbps", "25Gbps", "40Gbps", "50Gbps", "100Gbps", "200Gbps", "400Gbps"]
DELAYS = ["0ns", "0ns", "8ns", "100ns", "333ns", "1us", "2500ps"]
SWITCH_DELAYS = ["0ns", "0ns", "80ns", "300ns", "1us", "12345ps"]
STARTS = ["0ns", "0ns", "0ns", "80ns", "1us", "4us", "777777ps"]
PAYLOADS = [200, 452, 952, 1000, 4000]
# Less round values, so that few timers coincide with other timers. `random_in_step` draws coinciding timers.
TIMEOUTS = ["2007ns", "5013ns", "10011ns", "20021ns", "50023ns"]
INTERVALS = ["0ns", "100ns", "1us", "4us"]
# Broken networks are drawn on purpose.
NO_VERDICTS = dict.fromkeys(["completion", "loss", "deadlock", "pauses"], "record")


def random_star(rng: Random) -> dict[str, Any]:
    """Draws a star of 2 to 6 hosts with flows."""
    hosts = [f"host{i}" for i in range(rng.randint(2, 6))]
    return random_case(rng, hosts, ["s"], [(host, "s") for host in hosts], dict.fromkeys(hosts, "s"), [])


def random_two_tier(rng: Random) -> dict[str, Any]:
    """Draws a network of 2 to 4 leaves with 1 to 3 hosts each and 1 to 3 spines, and flows on it."""
    leaves = [f"leaf{i}" for i in range(rng.randint(2, 4))]
    spines = [f"spine{i}" for i in range(rng.randint(1, 3))]
    leaf_of = {f"host{i}": leaf for i, leaf in enumerate(leaf for leaf in leaves for _ in range(rng.randint(1, 3)))}
    links = [*leaf_of.items(), *((leaf, spine) for leaf in leaves for spine in spines)]
    return random_case(rng, list(leaf_of), leaves + spines, links, leaf_of, spines)


def random_case(
    rng: Random,
    hosts: list[str],
    switches: list[str],
    ends: list[tuple[str, str]],
    leaf_of: dict[str, str],
    spines: list[str],
) -> dict[str, Any]:
    """Draws link rates and delays, framing, switch settings and flows for a network of this shape."""
    # Numbers of nodes and ports follow the order of listing, and a link may be listed from either end.
    ends = [(b, a) if rng.random() < 0.5 else (a, b) for a, b in rng.sample(ends, len(ends))]
    rates = RATES if rng.random() < 0.5 else [rng.choice(RATES)]
    delays = DELAYS if rng.random() < 0.5 else [rng.choice(DELAYS)]
    payload_bytes = rng.choice(PAYLOADS)
    header_bytes = rng.choice([0, 48])
    switch: dict[str, Any] = {"forwarding_latency": rng.choice(SWITCH_DELAYS), "queueing": "oq", "buffer": "unlimited"}
    if rng.random() < 0.7:
        xoff_bytes = rng.randint(1, rng.choice([1, 3, 6]) * (payload_bytes + header_bytes))
        xon_bytes = rng.randint(0, xoff_bytes - 1)
        switch["flow_control"] = {"pfc": {"xoff": f"{xoff_bytes}B", "xon": f"{xon_bytes}B"}}
    # A few receivers of many flows make queues; receivers drawn among all hosts would spread the flows.
    receivers = hosts if rng.random() < 0.5 else rng.sample(hosts, min(2, len(hosts)))
    flows = []
    for _ in range(rng.randint(1, 12)):
        dst = rng.choice(receivers)
        src = rng.choice([host for host in hosts if host != dst])
        via = [leaf_of[src]]
        if leaf_of[dst] != leaf_of[src]:
            via += [rng.choice(spines), leaf_of[dst]]
        size_bytes = rng.choice(
            [1, payload_bytes, rng.randint(1, 30) * payload_bytes, rng.randint(1, 30 * payload_bytes)]
        )
        flows.append({"src": src, "dst": dst, "size": f"{size_bytes}B", "start": rng.choice(STARTS), "via": via})
    nodes = [{"name": h, "kind": "host"} for h in hosts] + [{"name": s, "kind": "switch"} for s in switches]
    return {
        "network": {
            "explicit": {
                "nodes": rng.sample(nodes, len(nodes)),
                "links": [{"a": a, "b": b, "rate": rng.choice(rates), "delay": rng.choice(delays)} for a, b in ends],
            }
        },
        "framing": {
            "payload": f"{payload_bytes}B",
            "header": f"{header_bytes}B",
            "preamble_and_ifg": rng.choice(["0B", "0B", "20B"]),
            "control_frame_size": rng.choice(["64B", "84B"]),
            "min_frame_size": rng.choice(["64B", "64B", "100B"]),
        },
        "switch": switch,
        # Nothing is lost, so no timer may expire: a long pause must not look like a loss.
        "host": {"transport": {"go_back_n": {"rto": "1s"}}},
        "workload": [{"flows": flows}],
    }


def with_losses(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Gives the switches of a case small buffers, and its flows short timeouts."""
    framing = case["framing"]
    packet_bytes = max(whole(framing["payload"]) + whole(framing["header"]), whole(framing["min_frame_size"]))
    packet_bytes += whole(framing["preamble_and_ifg"])
    pfc = case["switch"].get("flow_control", {}).get("pfc")
    # With PFC the memory is a little above XOFF: often too little for what comes until the pause acts.
    least_bytes = max(whole(pfc["xoff"]) if pfc else 0, packet_bytes)
    case["switch"]["buffer"] = {"per_port": f"{least_bytes + rng.randint(0, rng.choice([2, 5, 20]) * packet_bytes)}B"}
    case["host"]["transport"]["go_back_n"] = {"rto": rng.choice(TIMEOUTS), "nack_interval": rng.choice(INTERVALS)}
    # Retransmissions may be lost again each time.
    return case | {"until": "200us", "audits": NO_VERDICTS}


def with_outages(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Lets links of a case go down, some permanently, at moments with few other events."""
    links = case["network"]["explicit"]["links"]
    faults = []
    for _ in range(rng.randint(1, 4)):
        link = rng.choice(links)
        ends = [link["a"], link["b"]]
        rng.shuffle(ends)
        fault = {"link": "-".join(ends), "state": "down", "at": f"{rng.randint(0, 20_000_000)}ps"}
        if rng.random() < 0.9:
            # From less than a packet to several timeouts.
            fault["duration"] = f"{rng.randint(1, 10 ** rng.randint(4, 8))}ps"
        if rng.random() < 0.6:
            fault["queued"] = rng.choice(["flush", "wait"])
        faults.append(fault)
    case["host"]["transport"]["go_back_n"] = {"rto": rng.choice(TIMEOUTS), "nack_interval": rng.choice(INTERVALS)}
    return case | {"until": "200us", "audits": NO_VERDICTS, "fault": faults}


def with_changes(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Gives links of a case other rates and delays, in one or both directions, some permanently."""
    links = case["network"]["explicit"]["links"]
    faults = []
    for _ in range(rng.randint(1, 5)):
        link = rng.choice(links)
        ends = [link["a"], link["b"]]
        rng.shuffle(ends)
        fault = {"link": rng.choice(["-", " -> "]).join(ends), "at": f"{rng.randint(0, 20_000_000)}ps"}
        # From slightly longer to several times the links' delays, so that some delays shrink by more than a packet
        # time.
        values = {"rate": RATES, "delay": [*DELAYS, "5us", f"{rng.randint(1, 3_000_000)}ps"]}
        what = rng.choice(sorted(values))
        fault[what] = rng.choice(values[what])
        if rng.random() < 0.8:
            fault["duration"] = f"{rng.randint(1, 10 ** rng.randint(4, 8))}ps"
        faults.append(fault)
    return case | {"fault": [*case.get("fault", []), *faults]}


def with_cut_through(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Lets the switches of a case cut through, with headers from a byte to more than most packets have."""
    case["switch"]["cut_through"] = {"header": f"{rng.choice([1, 14, 64, 64, 128, 500, 1048])}B"}
    return case


def with_marks(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Lets the switches of a case mark at a step of a few packets."""
    threshold_bytes = rng.randint(0, rng.choice([1, 4, 10]) * whole(case["framing"]["payload"]))
    if rng.random() < 0.8:
        case["switch"]["ecn"] = {"step": {"threshold": f"{threshold_bytes}B"}}
    else:
        case["switch"]["ecn"] = {"red": {"kmin": f"{threshold_bytes}B", "kmax": f"{threshold_bytes}B"}}
    return case


def with_port_scope(_: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Sets the scope of marks to all queues of a port, of which there is one."""
    case["switch"]["ecn"]["scope"] = "port"
    return case


def with_classes(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Divides the flows of a case among classes, with a scheduler for each class, and PFC for some of the classes."""
    classes = rng.randint(2, 4)
    switch = case["switch"] | {"classes": classes, "scheduler": "strict"}
    if rng.random() < 0.7:
        kinds = rng.choices(["strict", "dwrr"], [1, 3], k=rng.randint(1, classes))
        weights = [rng.choice([{}, {"weight": rng.choice([1, 2, 3, 15])}]) for _ in kinds]
        queues = [{"type": kind} | (weights[n] if kind == "dwrr" else {}) for n, kind in enumerate(kinds)]
        switch["scheduler"] = {"queues": queues}
    pfc = switch.get("flow_control", {}).get("pfc")
    if pfc is not None and rng.random() < 0.7:
        pfc["classes"] = sorted(rng.sample(range(classes), rng.randint(1, classes)))
    if pfc is not None and "per_port" in switch["buffer"]:
        # Classes share the memory of a port.
        switch["buffer"] = {"per_port": f"{classes * whole(switch['buffer']['per_port'])}B"}
    flows = case["workload"][0]["flows"]
    of = [rng.randrange(classes) for _ in flows]
    by_class = [[flow for n, flow in zip(of, flows, strict=True) if n == one] for one in range(classes)]
    workload = [{"class": one, "flows": listed} for one, listed in enumerate(by_class) if listed]
    rng.shuffle(workload)
    return case | {"switch": switch, "workload": workload}


def with_response(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Lets the nodes of a case with PFC obey pauses after a time."""
    if (pfc := case["switch"].get("flow_control", {}).get("pfc")) is not None:
        pfc["response"] = f"{rng.choice([1, 80_000, rng.randint(0, 2_000_000)])}ps"
    return case


def with_shared_memory(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Gives the switches of a case, with losses, a shared memory of a few packets, often too small."""
    framing, switch = case["framing"], case["switch"]
    packet_bytes = whole(framing["payload"]) + whole(framing["header"]) + whole(framing["preamble_and_ifg"])
    classes = switch.get("classes", 1)

    def packets(most: int) -> int:
        return rng.randint(0, rng.choice([1, most]) * packet_bytes)

    def share() -> dict[str, Any]:
        return {"alpha": rng.choice([0.125, 0.5, 1.0, 4.0]), "reserve": packets(2), "headroom": packets(6)}

    general = share()
    shares = [general]
    shared: dict[str, Any] = {}
    if rng.random() < 0.6:
        members = sorted(rng.sample(range(classes), rng.randint(1, classes)))
        shares.append(share())
        shared["groups"] = [{"classes": members, "together": rng.random() < 0.7, **sizes(shares[-1])}]
    if rng.random() < 0.5:
        shared["cell"] = f"{rng.choice([64, 80, 208, 1000])}B"
    ends = [end for link in case["network"]["explicit"]["links"] for end in (link["a"], link["b"])]
    groups = classes * max(ends.count(node["name"]) for node in case["network"]["explicit"]["nodes"])
    headroom = groups * max(one["headroom"] for one in shares)
    if rng.random() < 0.5:
        headroom = packets(12)
        shared["headroom_pool"] = f"{headroom}B"
    kept = groups * max(one["reserve"] for one in shares) + headroom
    shared |= {"total": f"{kept + packet_bytes + packets(20)}B", **sizes(general)}
    switch["buffer"] = {"shared": shared}
    if (pfc := switch.get("flow_control", {}).get("pfc")) is not None:
        levels = rng.choice([[], ["xon"], ["resume_at"], ["xon", "resume_at"]])
        kept_keys = {key: value for key, value in pfc.items() if key == "classes"}
        switch["flow_control"]["pfc"] = kept_keys | {key: f"{packets(3)}B" for key in levels}
    return case


def with_fixed_xoff(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Gives PFC beside a shared memory a fixed XOFF and XON: the dynamic threshold then bounds other classes alone."""
    framing, switch = case["framing"], case["switch"]
    packet_bytes = whole(framing["payload"]) + whole(framing["header"])
    if (pfc := switch.get("flow_control", {}).get("pfc")) is not None:
        xoff_bytes = rng.randint(1, 8 * packet_bytes)
        levels = {"xoff": f"{xoff_bytes}B", "xon": f"{rng.randint(0, xoff_bytes - 1)}B"}
        switch["flow_control"]["pfc"] = {key: pfc[key] for key in pfc if key not in {"xon", "resume_at"}} | levels
    return case


def with_outputs(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Limits the outputs of a shared memory: one or two pools, queues with a limit, with a share, or with neither."""
    switch, framing = case["switch"], case["framing"]
    packet_bytes = whole(framing["payload"]) + whole(framing["header"]) + whole(framing["preamble_and_ifg"])
    classes = list(range(switch.get("classes", 1)))
    pools = []
    for _ in range(rng.randint(1, 2)):
        pool: dict[str, Any] = {"total": f"{packet_bytes + rng.randint(0, 12 * packet_bytes)}B"}
        if rng.random() < 0.5:
            pool["classes"] = sorted(rng.sample(classes, rng.randint(1, len(classes))))
        kind = rng.choice(["limit", "alpha", "none"])
        pool |= {"limit": f"{rng.randint(packet_bytes, 6 * packet_bytes)}B"} if kind == "limit" else {}
        pool |= {"alpha": rng.choice([0.5, 1.0, 4.0])} if kind == "alpha" else {}
        pools.append(pool)
    switch["buffer"]["shared"]["egress"] = pools
    return case


def with_profiles(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Gives classes steps of their own, which mark or drop, beside the general step or alone."""
    switch, payload = case["switch"], whole(case["framing"]["payload"])
    classes = list(range(switch.get("classes", 1)))
    rng.shuffle(classes)
    profiles: list[dict[str, Any]] = []
    while classes and len(profiles) < 2:
        taken = [classes.pop() for _ in range(rng.randint(1, len(classes)))]
        step = {"step": {"threshold": f"{rng.randint(0, 6) * payload}B"}}
        profiles.append({"classes": sorted(taken), **step, "ect": rng.random() < 0.6})
    scope = {"scope": switch["ecn"]["scope"]} if "scope" in switch["ecn"] else {}
    switch["ecn"] = (switch["ecn"] if rng.random() < 0.5 else scope) | {"profiles": profiles}
    return case


def sizes(share: dict[str, Any]) -> dict[str, Any]:
    """Returns a share with sizes as texts."""
    return {"alpha": share["alpha"], "reserve": f"{share['reserve']}B", "headroom": f"{share['headroom']}B"}


def with_dcqcn(rng: Random, case: dict[str, Any]) -> dict[str, Any]:
    """Lets the flows of a case, which marks, react to notifications; fast, for the flows are short."""
    case["host"]["congestion_control"] = {
        "dcqcn": {
            "preset": "paper",
            "g": rng.choice([1 / 256, 1 / 16, 0.5]),
            "alpha_interval": rng.choice(["500ns", "1us", "5us", "55us"]),
            "increase_interval": rng.choice(["1us", "2us", "5us", "55us"]),
            "byte_counter": rng.choice(["3KB", "10KB", "50KB", "10MB"]),
            "fast_recovery_steps": rng.randint(0, 5),
            "additive_increase": rng.choice(["40Mbps", "400Mbps", "3Gbps"]),
            "hyper_increase": rng.choice(["40Mbps", "1Gbps", "10Gbps"]),
            "minimum_rate": rng.choice(["40Mbps", "1Gbps", "5Gbps"]),
            "cnp_interval": rng.choice(["0ns", "1us", "4us", "50us"]),
        }
    }
    return case


def random_in_step(rng: Random) -> dict[str, Any]:
    """Draws a star in which everything takes a multiple of few times, timeouts and paces too, and much goes wrong."""
    hosts = rng.randint(2, 5)
    pairs = [rng.sample(range(hosts), 2) for _ in range(rng.randint(2, 8))]
    starts = [0, 0, 1, 2, 5, 10, 20, 25]
    flows = [(a, b, rng.randint(1, 12), f"{80 * rng.choice(starts)}ns") for a, b in pairs]
    pfc = {"xoff": f"{rng.randint(1, 4)}KB", "xon": "0B"} if rng.random() < 0.3 else None
    case = plain_star(hosts, flows, pfc)
    case["framing"]["control_frame_size"] = rng.choice(["64B", "100B", "250B", "500B"])
    for link in case["network"]["explicit"]["links"]:
        link["rate"] = rng.choice(["50Gbps", "100Gbps", "100Gbps"])
    if pfc or rng.random() < 0.8:
        case["switch"]["buffer"] = {"per_port": "4KB" if pfc else f"{rng.randint(1, 4)}KB"}
    case["host"] = {
        "transport": {
            "go_back_n": {
                "rto": f"{80 * rng.choice([5, 10, 20, 25])}ns",
                "nack_interval": f"{80 * rng.choice([0, 1, 5, 10])}ns",
            }
        }
    }
    if rng.random() < 0.5:
        case["switch"]["ecn"] = {"step": {"threshold": f"{rng.randint(0, 3)}KB"}}
        with_dcqcn(rng, case)
        # Rates of an eighth of the line and more, by whole halves as long as nothing rises.
        values = {"minimum_rate": "12500Mbps", "increase_interval": rng.choice(["800ns", "1600ns", "55us"])}
        case["host"]["congestion_control"]["dcqcn"] |= values | {"alpha_interval": "55us", "byte_counter": "10MB"}
    if rng.random() < 0.3:
        case["switch"]["cut_through"] = {"header": rng.choice(["100B", "250B", "500B"])}
    return case | {"until": "50us", "audits": NO_VERDICTS}


def whole(text: str) -> int:
    """Returns a number of bytes written by this file."""
    return int(text.removesuffix("B"))


def plain_star(hosts: int, flows: list[tuple[int, int, int, str]], pfc: dict[str, str] | None = None) -> dict[str, Any]:
    """Makes a star of equal links without delays, where all happens in step; a flow is (from, to, packets, start)."""
    names = [f"host{i}" for i in range(hosts)]
    return {
        "network": {
            "explicit": {
                "nodes": [*({"name": name, "kind": "host"} for name in names), {"name": "s", "kind": "switch"}],
                "links": [{"a": name, "b": "s", "rate": "100Gbps", "delay": "0ns"} for name in names],
            }
        },
        "framing": {
            "payload": "952B",
            "header": "48B",
            "preamble_and_ifg": "0B",
            "control_frame_size": "64B",
            "min_frame_size": "64B",
        },
        "switch": {"forwarding_latency": "0ns", "queueing": "oq", "buffer": "unlimited"}
        | ({} if pfc is None else {"flow_control": {"pfc": pfc}}),
        "workload": [
            {
                "flows": [
                    {"src": names[a], "dst": names[b], "size": f"{packets * 952}B", "start": start, "via": ["s"]}
                    for a, b, packets, start in flows
                ]
            }
        ],
    }
