"""Random scenarios in which servers, leaves or hosts are alike, and changes after which they are not."""

import copy
from random import Random
from typing import Any

Document = dict[str, Any]

RATES = ["25Gbps", "100Gbps", "200Gbps"]
DELAYS = ["500ns", "1us", "2us"]


def _link(rng: Random) -> dict[str, str]:
    return {"rate": rng.choice(RATES), "delay": rng.choice(DELAYS)}


def _network(rng: Random) -> tuple[Document, int, int]:
    """Returns a network, its hosts, and the hosts of a part."""
    kind = rng.choice(["rail", "rail", "star", "leaf_spine"])
    if kind == "rail":
        servers, gpus = rng.choice([2, 3, 4, 6, 8]), rng.choice([2, 4])
        scale_up = {"rate": rng.choice(["400Gbps", "2400Gbps"]), "delay": "25ns"}
        shape = {"servers": servers, "gpus_per_server": gpus, "scale_up": scale_up, "rail": _link(rng)}
        return {"rail": shape}, servers * gpus, gpus
    if kind == "star":
        hosts = rng.choice([3, 4, 6, 8, 12])
        return {"star": {"hosts": hosts, "link": _link(rng)}}, hosts, 1
    leaves, hosts, spines = rng.choice([2, 3, 4]), rng.choice([1, 2, 4]), rng.choice([1, 2, 3])
    links = {"link": _link(rng), "fabric_link": _link(rng)}
    return {"leaf_spine": {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts, **links}}, leaves * hosts, hosts


def _shifted(rng: Random, hosts: int, part: int) -> list[Document]:
    """Returns flows, each with the flows of all other parts that are alike."""
    rows, parts = [], hosts // part
    for _ in range(rng.choice([1, 2, 4])):
        src, dst, offset = rng.randrange(part), rng.randrange(part), rng.randrange(1, max(2, parts))
        size, start = rng.choice(["20KB", "100KB", "300KB"]), rng.choice(["0us", "700ns", "3us"])
        ends = [(at * part + src, (at + offset) % parts * part + dst) for at in range(parts)]
        rows += [{"src": a, "dst": b, "size": size, "start": start} for a, b in ends if a != b]
    return rows


def _workload(rng: Random, hosts: int, part: int) -> Document:
    kind = rng.choice(["all_to_all", "collective", "collective", "flows", "flows"])
    if kind == "all_to_all":
        return {"all_to_all": {"size": rng.choice(["1000B", "3KB", "10KB"])}}
    rows = _shifted(rng, hosts, part) if kind == "flows" else []
    if rows:
        return {"flows": rows}
    operation = rng.choice(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
    collective: Document = {"operation": operation, "size": f"{hosts * rng.choice([1, 4, 16]) * 1000}B"}
    if operation == "all_reduce" and hosts & (hosts - 1) == 0 and rng.random() < 0.5:
        collective["algorithm"] = rng.choice(["halving_doubling", "double_tree"])
    if rng.random() < 0.3:
        collective["chunk"] = "4KB"
    if rng.random() < 0.3:
        collective["channels"] = 2
    return {"collective": collective, **({"connections": "per_message"} if rng.random() < 0.25 else {})}


def _hosts_and_switches(rng: Random) -> Document:
    switch: Document = {}
    host: Document = {}
    draw = rng.random()
    if draw < 0.1:
        return {"switch": {"telemetry": {}}, "host": {"congestion_control": {"hpcc": {}}}}
    if draw < 0.2:
        return {"switch": {"trimming": {"limit": "12KB"}}, "host": {"transport": {"ndp": {}}}}
    if draw < 0.25:
        red = {"red": {"kmin": "10KB", "kmax": "40KB", "pmax": 1.0}}
        host = {"congestion_control": {"nscc": {}}, "transport": {"selective": {}}}
        return {"switch": {"ecn": red}, "host": host}
    if draw < 0.45:
        red = {"red": {"kmin": "5KB", "kmax": "60KB", "pmax": 0.5}}
        switch["ecn"] = rng.choice([{"step": {"threshold": "20KB"}}, red])
        host["congestion_control"] = rng.choice([{"dcqcn": {}}, {"dctcp": {}}])
    elif draw < 0.55:
        host["congestion_control"] = rng.choice([{"timely": {}}, {"swift": {}}])
    draw = rng.random()
    if draw < 0.15:
        switch["buffer"] = {"per_queue": rng.choice(["20KB", "60KB"])}
        host["transport"] = rng.choice([{"selective": {}}, {"go_back_n": {}}])
    elif draw < 0.3:
        switch |= {"buffer": {"shared": {"total": rng.choice(["3MB", "20MB"])}}, "flow_control": {"pfc": {}}}
    elif draw < 0.5:
        switch["flow_control"] = {"pfc": {"xoff": rng.choice(["8KB", "20KB", "100KB"])}}
    if rng.random() < 0.3:
        host["transport"] = {"irn": {}} if "congestion_control" in host else rng.choice([{"irn": {}}, {"raw": {}}])
    if rng.random() < 0.2:
        host["jitter"] = 0.1
    if rng.random() < 0.3:
        switch["forwarding_latency"] = "300ns"
    if rng.random() < 0.15:
        host["acks"] = "data"
    return {"switch": switch, "host": host}


def _classes(rng: Random, workloads: list[Document]) -> Document:
    """Spreads workloads over two classes that take turns."""
    if len(workloads) < 2 or rng.random() < 0.3:
        return {}
    for workload in workloads:
        workload["class"] = rng.randrange(2)
    dwrr = {"queues": [{"type": "dwrr", "weight": rng.choice([1, 3])} for _ in range(2)]}
    return {"classes": 2, "scheduler": rng.choice(["round_robin", {"drr": rng.choice(["1KB", "3KB"])}, dwrr, "strict"])}


def draw(rng: Random) -> Document:
    """Draws a scenario with relative ties in which all parts of the network are alike; most share random draws."""
    network, hosts, part = _network(rng)
    workloads = [_workload(rng, hosts, part) for _ in range(rng.choice([1, 1, 2, 3]))]
    settings = _hosts_and_switches(rng)
    settings["switch"] |= _classes(rng, workloads)
    return {
        "ties": "relative",
        **({"draws": "shared"} if rng.random() < 0.7 else {}),
        **({"until": rng.choice(["8us", "40us"])} if rng.random() < 0.15 else {}),
        "network": network,
        "framing": {"payload": rng.choice(["1000B", "4096B"])},
        "workload": workloads,
        "probe": {"flows": rng.random() < 0.6},
        **settings,
    }


def _fabric(rng: Random) -> tuple[Document, int, int]:
    """Returns a network of two or three tiers, or of planes, its servers, and the GPUs of a server."""
    kind = rng.choice(["rail", "rail", "leaf_spine", "clos", "fat_tree"])
    planes = {"planes": 2} if rng.random() < 0.25 else {}
    if kind == "rail":
        gpus, segments = rng.choice([2, 4]), rng.choice([1, 2, 2, 3])
        servers = rng.choice([2, 4]) if segments < 3 else 2
        switches = servers * rng.choice([1, 1, 2]) if rng.random() < 0.8 else rng.choice([1, 3])
        aggregation = {"switches": switches, "segments": segments, "link": _link(rng)}
        shape = {"servers": servers, "gpus_per_server": gpus, "rail": _link(rng), "aggregation": aggregation}
        return {"rail": shape}, servers * segments, gpus
    gpus = rng.choice([1, 2, 4])
    if kind == "leaf_spine":
        shape = {"leaves": 4, "spines": rng.choice([1, 2, 4]), "hosts_per_leaf": gpus, "fabric_link": _link(rng)}
        return {"leaf_spine": {**shape, "link": _link(rng)}, **planes}, 4, gpus
    if kind == "fat_tree":
        return {"fat_tree": {"k": 4, "link": _link(rng)}}, 8, 2
    pods = rng.choice([2, 4])
    shape = {"pods": pods, "access_per_pod": 2, "aggregation_per_pod": rng.choice([1, 2])}
    shape |= {"cores": rng.choice([1, 2, 4]), "hosts_per_access": gpus, "link": _link(rng)}
    return {"three_tier_clos": shape, **planes}, pods * 2, gpus


def _job(rng: Random, servers: int, gpus: int) -> Document:
    """Returns a training job or a collective over servers, by the textbook or by NCCL."""
    library = rng.choice(["textbook", "nccl"]) if gpus > 1 else "textbook"
    if rng.random() < 0.4:
        operation = rng.choice(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
        size = f"{servers * gpus * rng.choice([4, 16]) * 1000}B"
        return {"collective": {"operation": operation, "size": size, "library": library}}
    pipeline = rng.choice([stages for stages in (1, 2, 3, 4) if servers % stages == 0])
    model = {"preset": "gpt_13b", "layers": pipeline * 2, "hidden": 1280, "sequence": 64}
    data = servers // pipeline
    parallel = {"tensor": gpus, "pipeline": pipeline, "data": data, "sequence": gpus > 1 and rng.random() < 0.5}
    training = {"library": library, "model": model, "parallel": parallel, "micro_batch": 1}
    return {"training": {**training, "global_batch": 2 * data, "compute": {"peak": 312e12}}}


def fabric(rng: Random) -> Document:
    """Draws a scenario with relative ties and shared draws on a fabric of several tiers or planes."""
    network, servers, gpus = _fabric(rng)
    settings = _hosts_and_switches(rng)
    if rng.random() < 0.6:
        workloads = [_job(rng, servers, gpus)]
        if gpus > 1:
            network["servers"] = {"gpu": "h100", "gpus": gpus}
    else:
        if "rail" in network:
            network["rail"]["scale_up"] = {"rate": "2400Gbps", "delay": "25ns"}
        workloads = [_workload(rng, servers * gpus, gpus) for _ in range(rng.choice([1, 2]))]
    settings["switch"] |= _classes(rng, workloads)
    return {
        "ties": "relative",
        "draws": "shared",
        "network": network,
        "framing": {"payload": rng.choice(["1000B", "4096B"])},
        "workload": workloads,
        "probe": {"flows": rng.random() < 0.6},
        "seed": rng.randrange(1000),
        **settings,
    }


def crowded(rng: Random, *, drops: bool = False) -> Document:
    """Draws a scenario in which all hosts of a part of a star send to one host of another part.

    drops: packets are dropped. Otherwise PFC pauses hosts.
    """
    parts, part = rng.choice([2, 3, 4]), rng.choice([2, 3, 4])
    dst, offset, size = rng.randrange(part), rng.randrange(1, parts), rng.choice(["100KB", "300KB", "600KB"])
    buffer = {"shared": {"total": rng.choice(["3MB", "4MB", "20MB"]), "alpha": rng.choice([0.02, 0.125])}}
    pauses = {"flow_control": {"pfc": {"xoff": rng.choice(["10KB", "30KB", "60KB"])}}}
    to = [(at // part + offset) % parts * part + dst for at in range(parts * part)]
    link = _link(rng)
    switch: Document = rng.choice([pauses, {"buffer": buffer, "flow_control": {"pfc": {}}}])
    classes = rng.choice([1, 2])
    of_class = [[at for at in range(parts * part) if at % part % classes == number] for number in range(classes)]
    return {
        "ties": "relative",
        "network": {"star": {"hosts": parts * part, "link": link}},
        "workload": [
            {"class": number, "flows": [{"src": at, "dst": to[at], "size": size} for at in hosts]}
            for number, hosts in enumerate(of_class)
        ],
        "switch": {"classes": classes, **({"buffer": {"per_queue": "30KB"}} if drops else switch)},
    }


def broken(rng: Random, document: Document) -> Document:
    """Returns the scenario with a difference that one part alone has."""
    document = copy.deepcopy(document)
    transport = document["host"].get("transport", {})
    is_plain = not transport.keys() & {"ndp", "raw"}
    kind = rng.choice(["link", "flow", "fault", "draw", *(["host"] if is_plain else [])])
    name = next(iter(document["network"]))
    link = {"rail": "host1-rail*", "star": "host1-*", "leaf_spine": "host1-leaf*"}[name]
    if kind == "link":
        document["network"]["overrides"] = [{"link": link, "rate": "10Gbps"}]
    elif kind == "flow":
        document["workload"].append({"flows": [{"src": 0, "dst": 1, "size": "30KB"}]})
    elif kind == "host":
        document["host"]["overrides"] = [{"hosts": ["host1"], "congestion_control": {"swift": {}}}]
    elif kind == "fault":
        document["fault"] = [{"link": link, "state": "down", "at": "2us", "duration": "5us"}]
    else:
        poisson = {"load": 0.2, "sizes": "google_rpc", "duration": "5us"}
        document["workload"].append({"poisson": poisson})
    return document
