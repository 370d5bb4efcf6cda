"""Checks of classes: which packets are lossless, and whether all nodes agree."""

from __future__ import annotations

from collections.abc import Iterator

from xoff.sonic.checks.row import Check, Context, Row
from xoff.sonic.formula import physics
from xoff.sonic.switch import Port, Switch


def listed(numbers: object) -> str:
    """Returns numbers as SONiC lists them: ``3,4``."""
    return ",".join(str(one) for one in numbers)  # type: ignore[attr-defined]


def _pg_missing(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for port in switch.up:
            lacking = [one for one in port.pfc if not _is_protected(switch, port, one)]
            if not lacking:
                continue
            groups = [port.maps.group_of_priority(one) for one in lacking]
            members = [switch.groups.get((port.name, group)) for group in groups]
            member = next((one for one in members if one is not None), None)
            given = member.profile.name if member else ""
            needed = physics(switch.asic, switch.link(port), switch.traffic)
            yield Row(
                "pg-missing",
                "error",
                switch.name,
                port.name,
                "BUFFER_PG",
                f"{port.name}|{listed(groups)}",
                "profile",
                given,
                f"a profile with xoff of at least {needed}",
                f"pfc_enable has priority {listed(lacking)}, but group {listed(groups)} has no headroom"
                f"{_reason(switch, port, given)}: packets are lost and no pause is sent",
            )


def _is_protected(switch: Switch, port: Port, priority: int) -> bool:
    member = switch.groups.get((port.name, port.maps.group_of_priority(priority)))
    return member is not None and member.profile.is_lossless


def _reason(switch: Switch, port: Port, given: str) -> str:
    if given:
        return f" (its profile {given} has no xoff)"
    if port.metres == 0:
        return " (SONiC makes no profile for a cable of 0m)"
    if port.metres is None:
        return " (CABLE_LENGTH has no entry for the port)"
    if switch.is_dynamic and switch.asic.pipeline is None:
        return f" (the dynamic buffer model has no formula for {switch.asic.name}: give --asic)"
    if switch.is_dynamic:
        return ""
    if switch.lookup is None:
        return " (no --lookup was given, and BUFFER_PROFILE has no profile of this speed and cable)"
    return f" ({switch.lookup.path.name} has no row of {port.speed} and {port.metres}m)"


def _pg_no_profile(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        if not switch.pools:
            context.unchecked["pg-no-profile"] = f"{switch.name} has no BUFFER_POOL: the chip has its own settings"
            continue
        for port in switch.up:
            paused = {port.maps.group_of_priority(one) for one in port.pfc}
            for group in sorted({port.maps.group_of(one) for one in port.maps.classes()} - paused):
                if (port.name, group) not in switch.groups:
                    classes = [one for one in port.maps.classes() if port.maps.group_of(one) == group]
                    yield Row(
                        "pg-no-profile",
                        "error" if port.pfc or group == 0 else "warning",
                        switch.name,
                        port.name,
                        "BUFFER_PG",
                        f"{port.name}|{group}",
                        "profile",
                        "",
                        "a profile of BUFFER_PROFILE",
                        f"traffic class {listed(classes)} maps to group {group}, which has no memory",
                    )


def _pfc_missing(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for member in switch.lossless:
            priority = member.port.maps.priority_of_group(member.number)
            if priority is None or priority not in member.port.pfc:
                wanted = member.number if priority is None else priority
                yield Row(
                    "pfc-missing",
                    "error",
                    switch.name,
                    member.port.name,
                    "PORT_QOS_MAP",
                    member.port.name,
                    "pfc_enable",
                    listed(member.port.pfc),
                    listed(sorted({*member.port.pfc, wanted})),
                    f"group {member.number} has headroom, but no pause of its priority is sent: "
                    "packets are lost when the headroom is full",
                )


def _pfc_neighbour(context: Context) -> Iterator[Row]:
    for one, port, peer, peer_port in context.fabric.pairs():
        first, second = set(port.pfc) - peer_port.obeys, set(peer_port.pfc) - port.obeys
        for switch, end, other, far, lacking in (
            (one, port, peer, peer_port, second),
            (peer, peer_port, one, port, first),
        ):
            if lacking:
                yield Row(
                    "pfc-neighbour",
                    "error",
                    switch.name,
                    end.name,
                    "PORT_QOS_MAP",
                    end.name,
                    "pfc_enable",
                    listed(end.pfc),
                    listed(sorted({*end.pfc, *lacking})),
                    f"{other.name} {far.name} pauses priority {listed(sorted(lacking))}, which this port does not obey",
                )
    if context.host_pfc is None:
        return
    for switch, port in _host_ports(context):
        if deaf := sorted(set(port.pfc) - set(context.host_pfc)):
            yield Row(
                "pfc-neighbour",
                "error",
                switch.name,
                port.name,
                "PORT_QOS_MAP",
                port.name,
                "pfc_enable",
                listed(port.pfc),
                listed(context.host_pfc),
                f"the hosts' adapters have PFC for priority {listed(context.host_pfc) or 'none'} alone, and do not "
                f"obey pauses of {listed(deaf)}",
            )


def _map_neighbour(context: Context) -> Iterator[Row]:
    for one, port, peer, peer_port in context.fabric.pairs():
        seen: set[frozenset[tuple[str, str]]] = set()
        for source, here, target, there in ((one, port, peer, peer_port), (peer, peer_port, one, port)):
            for entry in [here, *source.up]:
                names = (source.name, _map_names(entry)), (target.name, _map_names(there))
                if frozenset(names) in seen:
                    continue
                seen.add(frozenset(names))
                enabled = {*here.pfc, *there.pfc}
                wrong = [
                    (code, a, b)
                    for code in range(64)
                    if (a := _priority(entry, code, enabled)) != (b := _priority(there, code, enabled))
                ]
                if wrong:
                    codes = listed(code for code, _, _ in wrong)
                    code, a, b = wrong[0]
                    yield Row(
                        "map-neighbour",
                        "error",
                        target.name,
                        there.name,
                        "DSCP_TO_TC_MAP",
                        there.maps.names.get("dscp_to_tc_map", ""),
                        codes,
                        _said(b),
                        _said(a),
                        f"DSCP {code} is {_said(a)} at {source.name} {entry.name} and {_said(b)} here: "
                        "a lossless packet loses its protection on the way",
                    )


def _map_names(port: Port) -> str:
    return repr(sorted(port.maps.names.items()))


def _priority(port: Port, code: int, enabled: set[int]) -> int | None:
    found = port.maps.priority_of_group(port.maps.group_of(port.maps.class_of(code)))
    return found if found in enabled else None


def _said(priority: int | None) -> str:
    return "lossy" if priority is None else f"priority {priority}"


def _map_queue(context: Context) -> Iterator[Row]:
    for switch in context.fabric.switches.values():
        for port in switch.up:
            for one in port.lossless_classes():
                group, queue = port.maps.group_of(one), port.maps.queue_of(one)
                priority = port.maps.priority_of_group(group)
                if priority is None or port.maps.paused_queue(priority) == queue:
                    continue
                yield Row(
                    "map-queue",
                    "error",
                    switch.name,
                    port.name,
                    "MAP_PFC_PRIORITY_TO_QUEUE",
                    port.maps.names.get("pfc_to_queue_map", ""),
                    str(priority),
                    str(port.maps.paused_queue(priority)),
                    str(queue),
                    f"traffic class {one} waits in queue {queue} and fills group {group} of priority {priority}, "
                    f"whose pauses stop queue {port.maps.paused_queue(priority)}",
                )


def _host_ports(context: Context) -> Iterator[tuple[Switch, Port]]:
    """Yields the ports that are up without a switch of the folder at the other end."""
    for switch in context.fabric.switches.values():
        for port in switch.up:
            if port.neighbour is None or port.neighbour[0] not in context.fabric.switches:
                yield switch, port


def _dscp_lossy(context: Context) -> Iterator[Row]:
    code = context.roce_dscp
    if code is None:
        context.unchecked["dscp-lossy"] = "give --roce-dscp or --adapter"
        return
    for switch, port in _host_ports(context):
        if port.priority_of_dscp(code) is None:
            one = port.maps.class_of(code)
            # A port without PFC among others with PFC may lead to a host without RoCE.
            is_alone = not port.pfc and any(other.pfc for other in switch.up)
            yield Row(
                "dscp-lossy",
                "warning" if is_alone else "error",
                switch.name,
                port.name,
                "DSCP_TO_TC_MAP",
                port.maps.names.get("dscp_to_tc_map", ""),
                str(code),
                str(one),
                " or ".join(str(found) for found in port.lossless_classes()) or "a lossless class",
                f"hosts send RoCE with DSCP {code}, which is in class {one} and group {port.maps.group_of(one)}"
                f"{'' if port.pfc else ', and pfc_enable of the port is empty'}: packets are lost and no pause is sent",
            )


def _no_lossless(context: Context) -> Iterator[Row]:
    # With the DSCP of RoCE, check dscp-lossy says more.
    if context.roce_dscp is not None:
        return
    for switch in context.fabric.switches.values():
        if switch.up and not switch.lossless and not any(port.pfc for port in switch.up):
            yield Row(
                "no-lossless",
                "warning",
                switch.name,
                "",
                "PORT_QOS_MAP",
                "",
                "pfc_enable",
                "",
                "the priorities of RoCE, such as 3",
                "no port that is up has a lossless class: every packet can be lost, and no check of headroom, pools or "
                "marks applies",
            )


def _cnp_class(context: Context) -> Iterator[Row]:
    code = context.cnp_dscp
    if code is None:
        context.unchecked["cnp-class"] = "give --cnp-dscp or --adapter"
        return
    for switch, port in _host_ports(context):
        maps = port.maps
        queue = maps.queue_of(maps.class_of(code))
        data = [one for one in range(64) if one != code and maps.queue_of(maps.class_of(one)) == queue]
        kinds = {
            switch.scheduling(one.scheduler)[0]
            for one in switch.outputs
            if one.port.name == port.name and one.queue == queue and one.scheduler
        }
        if data and (queue in port.lossless_queues() or kinds & {"DWRR", "WRR"}):
            yield Row(
                "cnp-class",
                "note",
                switch.name,
                port.name,
                "DSCP_TO_TC_MAP",
                maps.names.get("dscp_to_tc_map", ""),
                str(code),
                str(maps.class_of(code)),
                "a class whose queue is STRICT and has no data",
                f"CNPs (DSCP {code}) share queue {queue} with {len(data)} other code points and wait behind data",
            )


CHECKS = (
    Check(
        "pg-missing",
        "error",
        "`pfc_enable` of a port has a priority without headroom: no priority group with `xoff`, because the cable "
        "has 0 m, no lookup row exists, or the entry is missing.",
        "The switch drops packets of the priority and never sends a pause.",
        "Correct CABLE_LENGTH, add the lookup row, or add a BUFFER_PG entry.",
        "sonic-net/SONiC issue 480; sonic-swss `cfgmgr/buffermgr.cpp` makes no profile for a cable of 0 m.",
        _pg_missing,
        ("cell",),
    ),
    Check(
        "pg-no-profile",
        "error",
        "A traffic class maps to a priority group without a profile. At a port without PFC, group 0 excepted, the "
        "finding is a warning: it matters when packets of the class arrive there.",
        "The class has no memory at the input: its packets are dropped, or take memory without a limit.",
        "Add a BUFFER_PG entry for the group, or map the class to another group.",
        "SAI `inc/saibuffer.h`: a group takes its limits from its profile.",
        _pg_no_profile,
    ),
    Check(
        "pfc-missing",
        "error",
        "A priority group has headroom, and its priority is not in `pfc_enable` of the port.",
        "The port never pauses its neighbour: packets are lost when the headroom is full.",
        "Add the priority to `pfc_enable`, or give the group a lossy profile.",
        "sonic-swss `doc/swss-schema.md`, PORT_QOS_MAP.",
        _pfc_missing,
    ),
    Check(
        "pfc-neighbour",
        "error",
        "A port sends pauses of a priority that the port at the other end does not obey. With `pfc_asym` a port obeys "
        "all priorities.",
        "The neighbour goes on sending: packets are lost when the headroom is full.",
        "Use the same `pfc_enable` at both ends.",
        "IEEE Std 802.1Q, clause 36: PFC is enabled for each priority at both ends.",
        _pfc_neighbour,
    ),
    Check(
        "map-neighbour",
        "error",
        "A DSCP is lossless at a switch, and lossy or of another priority at the next switch.",
        "A packet that no switch should drop is dropped at the next hop, or pauses spread into another priority.",
        "Use the same DSCP_TO_TC_MAP and TC_TO_PRIORITY_GROUP_MAP in the whole fabric.",
        "sonic-buildimage `files/build_templates/qos_config.j2`: the maps differ by type of switch.",
        _map_neighbour,
    ),
    Check(
        "map-queue",
        "error",
        "The maps from class to queue, from queue to PFC priority and from priority to group do not close for a "
        "lossless class.",
        "A pause stops a queue of other packets, and the class goes on sending.",
        "Map the priority to the queue of the class in MAP_PFC_PRIORITY_TO_QUEUE.",
        "SAI `inc/saiport.h`: the PFC-to-queue map selects the queue that a received pause stops.",
        _map_queue,
    ),
    Check(
        "dscp-lossy",
        "error",
        "The DSCP that hosts give to RoCE packets is in a lossy class. The check needs `--roce-dscp` or `--adapter`. A "
        "port without PFC is a warning if other ports of the switch have PFC, as its host may not use RoCE.",
        "RoCE shares a group with lossy traffic: packets are lost and no pause is sent.",
        "Map the DSCP to a lossless class, or let the hosts use a lossless DSCP.",
        "sonic-buildimage `files/build_templates/qos_config.j2` maps DSCP 26 to class 1; adapters mark 26 "
        "(`cma_roce_tos` 106).",
        _dscp_lossy,
    ),
    Check(
        "no-lossless",
        "warning",
        "No port that is up has a lossless class: `pfc_enable` is empty, and no priority group has headroom. With "
        "`--roce-dscp` or `--adapter`, check dscp-lossy names the ports instead.",
        "RoCE packets are lost, and all checks of headroom, pools and marks pass because nothing is lossless.",
        "Set `pfc_enable`, and give the priority groups a lossless profile.",
        "sonic-net/sonic-buildimage issue 21891: a template without lossless groups and without WRED.",
        _no_lossless,
    ),
    Check(
        "cnp-class",
        "note",
        "CNPs share a lossless or weighted queue with data. The check needs `--cnp-dscp` or `--adapter`.",
        "CNPs wait behind the data that they should slow down.",
        "Give CNPs a class of their own with a STRICT scheduler.",
        "NVIDIA, RoCE defaults of Onyx and Cumulus Linux: CNPs are in a strict class of their own.",
        _cnp_class,
    ),
)
