"""Draws random small scenarios that use the forced components, from the parts in `scenario_strategies.py`.

Invalid combinations are found by trying: a refused part is left out, or the whole scenario is drawn again.
"""

import re
from random import Random
from typing import Any

import xoff
from xoff.conformance.draw import Draw, Forced
from xoff.conformance.generic import PLUGINS, plugged
from xoff.conformance.jobs import MESSAGES
from xoff.conformance.schema import registered
from xoff.conformance.strategies import (
    AT_HOSTS,
    CONGESTION_POINTS,
    INSTEAD,
    STRATEGIES,
    bfc,
    irn,
    nscc,
    per_port,
    per_queue,
    pfc,
    pint,
    portfc,
    red,
    selective,
    step,
    written,
)

# Parts that every switch has.
KEPT = {
    "queueing",
    "buffer",
    "classes",
    "scheduler",
    "forwarding_latency",
    "flow_control",
    "routing",
    "overrides",
    "strict_priority_classes",
}


def draw_switch(d: Draw) -> dict[str, Any]:
    """Draws the settings of switches, lossless under PFC."""
    switch: dict[str, Any] = {
        "forwarding_latency": d.rng.choice(["0ns", "300ns", "12345ps"]),
        "queueing": d.choose("switch.queueing"),
        "classes": d.classes,
        "scheduler": written(d, "switch.scheduler", d.choose("switch.scheduler", ["strict", "round_robin", "drr"])),
        "buffer": written(d, "switch.buffer", d.choose("switch.buffer")),
    }
    if d.wants("switch", "ecn", 0.4):
        is_forced = any(key.startswith("switch.ecn") for key in d.forced)
        # Marking looks at egress queues, which `iq` does not have.
        if switch["queueing"] == "iq" and is_forced:
            switch["queueing"] = "voq"
        if switch["queueing"] != "iq":
            switch["ecn"] = written(d, "switch.ecn", d.choose("switch.ecn"))
            if is_forced or d.rng.random() < 0.3:
                switch["ecn"]["scope"] = d.choose("switch.ecn.scope")
                switch["ecn"]["classes"] = d.rng.sample(range(d.classes), d.rng.randint(1, d.classes))
    control: dict[str, Any] = {}
    for option in registered("switch.flow_control"):
        chance = 0.2 if option in CONGESTION_POINTS else 0.5
        if option not in INSTEAD and d.wants("switch.flow_control", option, chance):
            control[option] = written(d, "switch.flow_control", option)[option]
    if d.relays_on_a_path:
        # A relaying host cannot be a source under these mechanisms.
        control.pop("congestion_isolation", None)
        if "sfc" in control:
            control["sfc"] |= AT_HOSTS
    is_forced = any(key.startswith("switch.") and key != "switch.flow_control" for key in d.forced)
    chance = 0.1 if d.relays_on_a_path == 1 and "switch.flow_control" not in d.forced and not is_forced else 0.0
    if d.wants("switch.flow_control", "portfc", chance):
        switch["classes"] = d.classes = 1
        switch.get("ecn", {}).pop("classes", None)
        switch |= {"queueing": "oq", "scheduler": "strict", "buffer": "unlimited"}
        control = {"portfc": portfc(d)}
    chance = 0.0 if d.relays_on_a_path or "switch.flow_control" in d.forced or is_forced else 0.05
    if "portfc" not in control and d.wants("switch.flow_control", "bfc", chance):
        switch["classes"] = d.classes = 1
        switch.get("ecn", {}).pop("classes", None)
        switch |= {"queueing": "oq", "scheduler": "strict"}
        control = {"bfc": bfc(d)}
    chance = 0.0 if "switch.flow_control" in d.forced or is_forced else 0.1
    if not set(INSTEAD) & set(control) and d.wants("switch.flow_control", "credits", chance):
        control = {key: value for key, value in control.items() if key in ("sfc", *CONGESTION_POINTS)}
        if "sfc" in control:
            control["sfc"] |= AT_HOSTS
        control["credits"] = written(d, "switch.flow_control", "credits")["credits"]
        if "window" in control["credits"]:
            switch["buffer"] = "unlimited"
        elif "shared" in switch["buffer"]:
            switch["buffer"] = {"per_port": per_port(d)}
    fit_mechanisms(d, switch, control)
    if "credits" in control and d.lost_credit_updates:
        switch["faults"] = {"lose_credit_updates": d.lost_credit_updates}
    if switch["scheduler"] != "strict" and "queues" not in switch["scheduler"]:
        switch["strict_priority_classes"] = d.rng.randrange(d.classes)
    schedule_classes(d, switch, control)
    if "pfc" in control:
        fit_pfc(d, switch, control["pfc"], has_queues=control.get("sfc", {}).get("mode") == "nic_isolation")
    switch["flow_control"] = control
    if f"switch.{PLUGINS}" in d.forced:
        switch[PLUGINS] = plugged(d, f"switch.{PLUGINS}")
    return switch


def fit_mechanisms(d: Draw, switch: dict[str, Any], control: dict[str, Any]) -> None:
    """Gives switches the queues, classes and buffers that their mechanisms need, or leaves mechanisms out."""
    if set(CONGESTION_POINTS) & set(control):
        # These mechanisms read the queues of outputs.
        if switch["queueing"] == "iq" and d.forced.get("switch.flow_control") in CONGESTION_POINTS:
            switch["queueing"] = "voq"
        elif switch["queueing"] == "iq":
            for key in CONGESTION_POINTS:
                control.pop(key, None)
    if "congestion_isolation" in control:
        # Congestion isolation needs two classes.
        switch["classes"] = d.classes = max(d.classes, 2)
        if switch["queueing"] == "iq":
            switch["queueing"] = "voq"
    if "sfc" in control:
        mode = control["sfc"]["mode"]
        if mode in ("proxy", "nic_isolation"):
            control.setdefault("pfc", pfc(d))
        if (mode == "proxy_isolation" or control["sfc"].get("signals") == "last_hop") and switch["queueing"] == "iq":
            switch["queueing"] = "voq"
        if mode == "nic_isolation":
            switch["classes"] = d.classes = 1
            switch.get("ecn", {}).pop("classes", None)
    if "congestion_isolation" in control and "pfc" in control:
        # Packets that a neighbour sends in one class may wait in the other class before the neighbour is paused: no
        # headroom is enough.
        if "switch.buffer" in d.forced:
            control.pop("congestion_isolation")
        else:
            switch["buffer"] = "unlimited"
    if {"drr", "queues"} & set(switch["scheduler"]) and switch["queueing"] == "iq":
        # Inputs take turns by packets.
        if "switch.scheduler" in d.forced:
            switch["queueing"] = "voq"
        else:
            switch["scheduler"] = "round_robin"


def fit_pfc(d: Draw, switch: dict[str, Any], pfc_settings: dict[str, Any], *, has_queues: bool) -> None:
    """Draws what PFC counts, and gives buffers the room that the counts need. has_queues: at interfaces of hosts."""
    accounting = d.forced.get("switch.flow_control.pfc.accounting") or ("egress" if d.rng.random() < 0.2 else "ingress")
    if accounting == "egress":
        # An egress queue has no headroom of a port's size: many ports fill the queue at once.
        switch["buffer"] = "unlimited"
        # Under `iq` the queue of an output is unknown.
        if switch.get("queueing") == "iq":
            switch["queueing"] = "voq"
    pfc_settings["accounting"] = accounting
    if isinstance(switch["buffer"], dict) and "shared" in switch["buffer"]:
        # The pool's threshold decides.
        pfc_settings.pop("xoff")
        pfc_settings.pop("xon", None)
    elif isinstance(switch["buffer"], dict):
        # Classes share the memory of a port. Each class may fill up to its threshold, at most 20, and headroom. The
        # queues of an interface are classes in this sense.
        classes = 4 if has_queues else d.classes
        room = 20 * d.largest + d.headroom()
        per_queue = "per_queue" in switch["buffer"]
        switch["buffer"] = {"per_queue": f"{room}B"} if per_queue else {"per_port": f"{classes * room}B"}
    if d.classes > 1 and d.by_class.random() < 0.3:
        pfc_settings["classes"] = d.by_class.sample(range(d.classes), d.by_class.randint(1, d.classes))


def schedule_classes(d: Draw, switch: dict[str, Any], control: dict[str, Any]) -> None:
    """Gives each class a scheduler, if this is forced, and sometimes otherwise."""
    is_forced = "queues" in switch["scheduler"]
    # The queues of an interface replace classes.
    has_queues = control.get("sfc", {}).get("mode") == "nic_isolation"
    if is_forced and has_queues:
        del control["sfc"]
    elif not is_forced:
        may = d.classes > 1 and switch["queueing"] != "iq" and not has_queues and "switch.scheduler" not in d.forced
        if not may or d.by_class.random() < 0.7:
            return
    switch["scheduler"] = written(d, "switch.scheduler", "queues")
    switch.pop("strict_priority_classes", None)


def use_trimming(d: Draw, switch: dict[str, Any], host: dict[str, Any]) -> None:
    """Lets switches trim packets, if no flow control prevents losses and a transport retransmits."""
    path = "switch.trimming"
    if path in d.forced:
        switch["flow_control"].clear()
        if switch["queueing"] == "iq":
            switch["queueing"] = "voq"
        # Go-Back-N may repeat a cycle in step with its losses forever.
        if "ndp" not in host.get("transport", {}):
            host["transport"] = {"irn": irn(d)} if d.rng.random() < 0.5 else {"selective": selective(d)}
    elif {"pfc", "portfc", "credits", "raw"} & {*switch["flow_control"], *host.get("transport", {})} or switch[
        "queueing"
    ] == "iq":
        return
    is_useful = d.forced.get("host.transport") in ("selective", "ndp") or "rccc" in d.forced.values()
    if d.wants("switch", "trimming", 0.8 if is_useful else 0.1):
        switch["trimming"] = written(d, path, d.choose(path))
        if "return_to_sender" in switch["trimming"]:
            switch["trimming"]["headers"] = STRATEGIES[path]["headers"](d)
        if d.forced.get("host.transport", "go_back_n") == "go_back_n" and not host.get("transport"):
            host["transport"] = {"selective": selective(d)}
        if "limit" not in switch["trimming"] and switch["buffer"] == "unlimited":
            switch["buffer"] = {"per_queue": per_queue(d)}


def use_pulls(d: Draw, host: dict[str, Any]) -> None:
    """Lets receivers pull, if the other parts allow pulls; seldom together with NSCC."""
    if "rccc" not in host.get("congestion_control", {}):
        return
    if d.forced.get("host.congestion_control") != "rccc" and d.forced.get("host.transport", "selective") != "selective":
        del host["congestion_control"]
        return
    if "selective" not in host.get("transport", {}):
        host["transport"] = {"selective": selective(d)}
    if d.rng.random() < 0.3:
        host["congestion_control"]["nscc"] = nscc(d)


def use_telemetry(d: Draw, switch: dict[str, Any], host: dict[str, Any]) -> None:
    """Lets switches write telemetry for HPCC and HPCC-PINT."""
    reads = {"hpcc", "hpcc_pint"} & set(host.get("congestion_control", {}))
    if not reads:
        return
    switch["telemetry"] = {"pint": pint(d)} if "hpcc_pint" in reads else {}


def use_routing(d: Draw, switch: dict[str, Any], host: dict[str, Any]) -> None:
    """Lets a scheme choose ports packet by packet, seldom unless it is forced; the transport has to bear disorder."""
    control = switch["flow_control"]
    is_forced = any(key.startswith("switch.routing") for key in d.forced)
    for option in registered("switch.routing"):
        # A forced part is not replaced by another part.
        if d.wants("switch.routing", option, 0.0 if is_forced else 0.05) and "portfc" not in control:
            if switch["queueing"] == "iq" and not is_forced:
                continue
            if switch["queueing"] == "iq":
                switch["queueing"] = "voq"
            switch["routing"] = written(d, "switch.routing", option)
            if option == "reps" and "trimming" in switch and d.rng.random() < 0.5:
                switch["routing"]["reps"]["freeze"] = d.rng.choice(["1us", "1ms"])
            if not {"raw", "selective", "ndp"} & set(host.get("transport", {})):
                host["transport"] = {"irn": irn(d)} if d.rng.random() < 0.5 else {"selective": selective(d)}


def mix(d: Draw, network: dict[str, Any], switch: dict[str, Any]) -> None:
    """Varies some links, switches and ports.

    Variation is drawn last, so that all other draws are the same as without variation.
    """
    if d.rng.random() < 0.3:
        # The first host's links exist in every shape.
        link, some = d.link(), d.rng.choice([["rate"], ["delay"], ["rate", "delay"]])
        network["overrides"] = [{"link": "h*0-*", **{key: link[key] for key in some}}]
    other: dict[str, Any] = {}
    if "ecn" in switch and d.rng.random() < 0.5:
        shape = "red" if "red" in switch["ecn"] else "step"
        other["ecn"] = {**switch["ecn"], shape: {"red": red, "step": step}[shape](d)}
    pfc = switch["flow_control"].get("pfc", {})
    if "xoff" in pfc and "xon" not in pfc and d.rng.random() < 0.5:
        other["pfc"] = {"xoff": f"{d.largest}B"}
    if "classes" in pfc and d.by_class.random() < 0.5:
        # Fewer pauses are sent than obeyed: no class under PFC loses packets.
        sent = d.by_class.sample(pfc["classes"], d.by_class.randrange(len(pfc["classes"])))
        other.setdefault("pfc", {})["send"] = sent
    if other:
        switch["overrides"] = [{**somewhere(d, network), **other}]
    if "quanta" in pfc and switch["buffer"] == "unlimited" and d.rng.random() < 0.3:
        # Each pause that expires lets another round trip of data into the headroom.
        pfc["refresh"] = False
    if d.rng.random() < 0.4:
        cut_through = {"header": f"{d.rng.choice([1, 64, 128, d.largest // 2, d.largest])}B"}
        if d.rng.random() < 0.7:
            switch["cut_through"] = cut_through
        else:
            switch.setdefault("overrides", []).append({**somewhere(d, network), "cut_through": cut_through})


def somewhere(d: Draw, network: dict[str, Any]) -> dict[str, Any]:
    """Draws the scope of an override."""
    where: dict[str, Any] = {"rate": d.rng.choice(d.links)["rate"]}
    if {"leaf_spine", "star", "line", "fat_tree"} & set(network):
        where = d.rng.choice([where, {}, {"switches": ["*0"]}])
    return where


def watch(d: Draw, switch: dict[str, Any], host: dict[str, Any]) -> None:
    """Lets switches end overlong pauses, if flows tolerate the consequences."""
    path = "switch.flow_control.pfc.watchdog.action"
    control, is_forced = switch["flow_control"], path in d.forced
    if not is_forced and ("pfc" not in control or d.rng.random() < 0.8):
        return
    action = d.choose(path)
    # Dropped packets wait at outputs, and are retransmitted; packets sent despite pauses need room.
    bears_loss = switch["queueing"] != "iq" and "raw" not in host.get("transport", {})
    if not is_forced and not (bears_loss if action == "drop" else switch["buffer"] == "unlimited"):
        return
    if action == "forward":
        switch["buffer"] = "unlimited"
        control["pfc"].setdefault("xoff", f"{5 * d.largest}B")
    else:
        switch["queueing"] = "voq" if switch["queueing"] == "iq" else switch["queueing"]
        if not {"irn", "selective"} & set(host.get("transport", {})):
            if not is_forced and any(key.startswith("host.transport") for key in d.forced):
                return
            # Go-Back-N may repeat a cycle in step with its losses forever.
            host["transport"] = {"irn": irn(d)}
    detection = d.rng.choice([1, 2, 20])
    control["pfc"]["watchdog"] = {"action": action, "detection": f"{detection}us"}
    if d.rng.random() < 0.5:
        control["pfc"]["watchdog"] |= {"poll": f"{detection}us", "restoration": f"{d.rng.choice([1, 5]) * detection}us"}


def settle(d: Draw, scenario: dict[str, Any]) -> str:
    """Leaves out parts until the scenario is accepted; returns the refusal if all parts of the refusal are forced.

    A refusal names a key, and often another part. The part that is not forced is left out, otherwise the other part.
    """
    refusal = ""
    for _ in range(20):
        try:
            xoff.check(scenario)
        except xoff.InputError as refused:
            refusal = str(refused)
            if not leave_out(d, scenario, refusal):
                return refusal
        else:
            return ""
    return refusal


def leave_out(d: Draw, scenario: dict[str, Any], refused: str) -> bool:
    """Leaves out one part of a refusal that is not forced."""
    for path in ("switch.flow_control", "switch.routing", "switch", "host.congestion_control", "host.transport"):
        at = scenario
        for key in path.split("."):
            at = at.get(key, {})
        for option in [key for key in at if re.search(rf"\b{key}\b", refused) and key not in KEPT]:
            inside = f"{path}.{option}"
            if option not in d.forced.values() and not any(f"{key}.".startswith(f"{inside}.") for key in d.forced):
                del at[option]
                return True
    if "iq" in refused and "switch.queueing" not in d.forced and scenario["switch"]["queueing"] == "iq":
        scenario["switch"]["queueing"] = "voq"
        return True
    return False


def draw_scenario(rng: Random, forced: Forced) -> dict[str, Any]:
    """Draws an accepted scenario with the forced parts. Raises `InputError` if no scenario is accepted."""
    refusal = ""
    for _ in range(200):
        d = Draw(rng, forced)
        scenario = draw_with(d)
        refusal = settle(d, scenario)
        if not refusal and has_plugins(scenario, forced):
            return scenario
    parts = ", ".join(f"{path}={option}" for path, option in forced.items())
    raise xoff.InputError(f"conformance: no drawn scenario with {parts} is accepted; the last refusal: {refusal}")


def has_plugins(scenario: dict[str, Any], forced: Forced) -> bool:
    """True if no other part has taken the place of a forced part of a plug-in."""
    for path, option in forced.items():
        section, *keys = path.split(".")
        at: Any = scenario[section][0] if section == "workload" else scenario[section]
        for key in keys:
            at = at.get(key, {})
        if keys[-1:] == [PLUGINS] and option not in at:
            return False
    return True


def draw_small(rng: Random, forced: Forced) -> dict[str, Any] | None:
    """Draws a scenario that takes seconds at most: published distributions have flows of a gigabyte."""
    for _ in range(20):
        scenario = draw_scenario(rng, forced)
        if "workload.poisson.sizes" not in forced or xoff.check(scenario)["workload"]["bytes"] < 100_000_000:
            return scenario
    return None


def draw_once(rng: Random, forced: Forced) -> dict[str, Any]:
    """Draws a scenario with the forced parts, possibly refused."""
    return draw_with(Draw(rng, forced))


def draw_host(d: Draw, network: dict[str, Any], switch: dict[str, Any]) -> dict[str, Any]:
    """Draws the settings of hosts; parts of switches may follow from them."""
    rng, forced = d.rng, d.forced
    host: dict[str, Any] = {}
    for kind, chance in (("transport", 0.5), ("congestion_control", 0.4)):
        path = f"host.{kind}"
        inside = next((key.split(".")[2] for key in d.forced if key.startswith(f"{path}.")), None)
        wanted = d.forced.get(path) or inside
        for option in [wanted] if wanted else registered(path):
            is_raw = option == "raw"
            if is_raw and not {"pfc", "portfc", "credits"} & set(switch["flow_control"]):
                # Lost packets are not retransmitted, so buffers must have room for all packets.
                if d.forced.get("switch.buffer", "unlimited") != "unlimited":
                    continue
                if not wanted and switch["buffer"] != "unlimited":
                    continue
                switch["buffer"] = "unlimited"
            if d.wants(path, option, 0.2 if is_raw else chance):
                host[kind] = written(d, path, option)
    use_trimming(d, switch, host)
    use_pulls(d, host)
    use_telemetry(d, switch, host)
    use_routing(d, switch, host)
    if "raw" in host.get("transport", {}):
        # Lost packets are not retransmitted.
        switch["flow_control"].get("pfc", {}).pop("classes", None)
        # A window would never open again.
        host.get("congestion_control", {}).get("dcqcn", {}).pop("window", None)
    host["relay"] = {
        "delay": rng.choice(["0ns", "1us"]),
        "scheduler": written(d, "host.relay.scheduler", d.choose("host.relay.scheduler")),
    }
    if "ecn" in switch and rng.random() < 0.5:
        host["relay"]["ecn"] = True
    host["first_hop"] = written(d, "host.first_hop", d.choose("host.first_hop"))
    pfc = switch["flow_control"].get("pfc", {})
    if "relays" in pfc and "switch.flow_control.pfc.relays" not in forced and rng.random() < 0.5:
        # Relaying hosts hold flows at their sources and pause no neighbour.
        del pfc["relays"]
        host["relay"]["per_flow"] = f"{rng.choice([1, 4, 1000]) * d.largest}B"
    elif {"pfc", "credits"} & set(switch["flow_control"]) and {"ndc", "rail"} & set(network):
        # Packets relayed in several orders can deadlock under holds of neighbours; packets in one order cannot.
        host["first_hop"] = "highest"
        if pfc.get("relays") == "forward":
            host["relay"]["scheduler"] = "relay_first"
    return host


def draw_workload(d: Draw, before: list[dict[str, Any]], *, is_first: bool) -> dict[str, Any]:
    """Draws traffic beside the workloads before; the first workload is of the forced kind."""
    rng, forced = d.rng, d.forced
    fixed = any(key.startswith("workload") for key in forced) and is_first
    if fixed and f"workload.{PLUGINS}" in forced:
        kind = PLUGINS
    elif fixed and "workload.poisson.sizes" in forced:
        kind = "poisson"
    elif fixed and any(key.startswith(("workload.collective", "workload.connections")) for key in forced):
        kind = "collective"
    else:
        # Draws of serving leave all other draws as they are.
        others = [one for one in registered("workload") if one != "serving"]
        kind = d.choose("workload", others) if is_first else rng.choice(others)
    # Names of listed flows are unique in the scenario.
    if any(kind in {"flows", "table"} and {"flows", "table"} & set(one) for one in before):
        kind = "incast"
    shared: dict[str, Any] = {"connections": d.choose("workload.connections")} if kind in MESSAGES else {}
    if kind in MESSAGES and shared["connections"] == "persistent" and rng.random() < 0.3:
        shared["connections_per_channel"] = 3
    traffic = written(d, "workload", kind)
    if d.apart.random() < 0.07 and not fixed:
        kind, traffic = "serving", written(d, "workload", "serving")
        shared = {}
    if any(isinstance(of, dict) and of.get("library") == "nccl" for of in traffic.values()):
        shared = {"connections": "persistent"}
    return {
        **traffic,
        **shared,
        "class": rng.randrange(d.classes),
        "start": rng.choice(["0ns", "0ns", "5us", "300us"]),
    }


def draw_with(d: Draw) -> dict[str, Any]:
    """Draws a scenario place by place."""
    rng, forced = d.rng, d.forced
    payload, header = rng.choice([300, 1000, 4000]), rng.choice([0, 48])
    framing = {
        "payload": f"{payload}B",
        "header": f"{header}B",
        "preamble_and_ifg": rng.choice(["0B", "20B"]),
        "control_frame_size": rng.choice(["64B", "84B"]),
    }
    d.largest = payload + header + 20
    d.classes = rng.choice([1, 1, 2, 3])
    # PortFC and relayed pauses need paths with few relays; other mechanisms need sources that are no relays.
    few = ["leaf_spine", "star", "rail"] if set(forced.values()) & {"portfc", "forward"} else None
    at_switches = tuple(
        f"switch.flow_control.{key}"
        for key in ("congestion_isolation", "sfc.mode", "sfc.resume_ends", "sfc.fallback", "bfc")
    )
    if {"congestion_isolation", "bfc"} & set(forced.values()) or any(key.startswith(at_switches) for key in forced):
        few = ["leaf_spine", "star", "line"]
    if "hierarchical" in forced.values():
        # Groups of two, and two of them.
        few = ["fat_tree"]
    network = written(d, "network", d.choose("network", few))
    switch = draw_switch(d)
    host = draw_host(d, network, switch)
    workloads: list[dict[str, Any]] = []
    for number in range(rng.randint(1, 3)):
        workloads.append(draw_workload(d, workloads, is_first=number == 0))
    seed = rng.randrange(10**6)
    mix(d, network, switch)
    watch(d, switch, host)
    puts_apart = {"portfc", "congestion_isolation", "sfc", "bfc"} & set(switch["flow_control"])
    puts_apart |= {"conweave"} & set(switch.get("routing", {}))
    if not puts_apart and switch["queueing"] != "iq" and rng.random() < 0.2:
        host["acks"] = rng.choice(["data", "switches"])
    # Recorded tables have no influence on events.
    probe = rng.choice([{}, {}, {"replay": True}, {"queues": rng.choice(["1us", "777ns"])}])
    if any(of.get("collective", {}).get("algorithm") == "in_network" for of in workloads):
        network["reducers"] = [{"switches": "*", "link": {"rate": "1Tbps", "delay": "1us"}}]
    if d.servers is not None:
        network["servers"] = d.servers
    return {
        "seed": seed,
        "network": network,
        "framing": framing,
        "switch": switch,
        "host": host,
        "workload": workloads,
        "probe": probe,
    }
