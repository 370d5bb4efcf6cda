"""The traffic under which conformance examines a part: long flows, and incasts of all hosts into one."""

from random import Random
from typing import Any

import xoff
from xoff.running import prepare

RECORDED = dict.fromkeys(["completion", "loss", "deadlock", "pauses"], "record")
"""Audits of a scenario that is cut off, or loses packets."""


def lengthen(scenario: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Returns the scenario with a few long flows in place of its own traffic."""
    hosts = xoff.check(scenario)["network"]["hosts"]
    payload = int(scenario["framing"]["payload"].removesuffix("B"))
    rows: list[dict[str, Any]] = []
    receiver = rng.randrange(hosts)
    for number in range(rng.randint(1, 4)):
        dst = receiver if rng.random() < 0.5 else rng.randrange(hosts)
        src = rng.choice([host for host in range(hosts) if host != dst])
        size = f"{payload * rng.randint(200, 4000) + rng.randint(0, payload)}B"
        row: dict[str, Any] = {"src": src, "dst": dst, "size": size, "id": f"f{number}"}
        arriving = [earlier["id"] for earlier in rows if earlier["dst"] == src]
        if arriving and rng.random() < 0.3:
            row["after"] = arriving[:1]
        elif rng.random() < 0.5:
            row["start"] = f"{rng.randint(1, 200)}us"
        rows.append(row)
    # Some scenarios lose packets in step with retransmissions, and would never end.
    until = f"{rng.randint(50, 300)}us" if rng.random() < 0.2 else "3ms"
    return {**scenario, "workload": [{"flows": rows}], "audits": RECORDED, "until": until}


def plain(scenario: dict[str, Any], path: str) -> dict[str, Any]:
    """Returns the parts of a scenario that a part at the path needs: as few as possible."""
    switch = {
        key: part
        for key, part in scenario["switch"].items()
        if key in ("forwarding_latency", "queueing", "classes", "buffer")
    }
    base = {key: part for key, part in scenario.items() if key in ("seed", "network", "framing")}
    section, _, part = path.partition(".")
    if section not in ("switch", "host"):
        return {**base, "switch": switch}
    key = part.split(".")[0]
    chosen = {key: scenario[section][key]} if key in scenario.get(section, {}) else {}
    return {**base, "switch": switch} | {section: (switch if section == "switch" else {}) | chosen}


def is_allowed(scenario: dict[str, Any]) -> bool:
    """True if drawn parts may be combined without the rest of their scenario."""
    try:
        prepare(scenario)
        xoff.check(scenario)
    except xoff.InputError:
        return False
    return True


def lean(scenario: dict[str, Any], path: str) -> dict[str, Any]:
    """Returns the scenario with as few other parts as possible, or the scenario if a part needs another part."""
    fewer = plain(scenario, path) | {key: scenario[key] for key in ("workload", "audits", "until")}
    return fewer if is_allowed(fewer) else scenario


def loaded(scenario: dict[str, Any], path: str, is_lean: bool, rng: Random) -> dict[str, Any]:
    """Adds long flows to a scenario, half of the time an incast of all hosts into one; lean without other parts."""
    scenario = lengthen(scenario, rng)
    if rng.random() < 0.5:
        receiver = int(scenario["workload"][0]["flows"][0]["dst"])
        hosts = xoff.check(scenario)["network"]["hosts"]
        senders = [host for host in range(hosts) if host != receiver]
        payload = int(scenario["framing"]["payload"].removesuffix("B"))
        size = f"{payload * rng.randint(300, 3000)}B"
        scenario["workload"] = [{"incast": {"senders": senders, "receiver": receiver, "size": size}}]
    return lean(scenario, path) if is_lean else scenario
