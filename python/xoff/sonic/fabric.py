"""A folder of switches, and the links between their ports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xoff._core import InputError
from xoff.sonic import config, lldp, switch
from xoff.sonic.asic import Choice
from xoff.sonic.config import Config
from xoff.sonic.formula import Lookup
from xoff.sonic.switch import Port, Switch

MAX_SWITCHES = 4096


@dataclass(frozen=True, slots=True)
class Joint:
    """A link as a switch names it: a port that is up, and the other end."""

    switch: Switch
    port: Port
    peer: Switch | None
    """None for a neighbour without a file."""
    peer_port: Port | None
    """None if the neighbour's file does not have the named port."""


@dataclass(slots=True)
class Fabric:
    """The switches of a folder by name, sorted."""

    directory: Path
    switches: dict[str, Switch]

    def joints(self) -> Iterator[Joint]:
        """Yields the links of each switch in the order of names and ports. A link of two switches comes twice."""
        for one in self.switches.values():
            for port in one.up:
                if port.neighbour is not None:
                    peer = self.switches.get(port.neighbour[0])
                    yield Joint(one, port, peer, None if peer is None else peer.ports.get(port.neighbour[1]))

    def pairs(self) -> Iterator[tuple[Switch, Port, Switch, Port]]:
        """Yields each link of two switches with files once. Both ports are up."""
        seen: set[frozenset[tuple[str, str]]] = set()
        for joint in self.joints():
            if joint.peer is None or joint.peer_port is None or not joint.peer_port.is_up:
                continue
            ends = frozenset({(joint.switch.name, joint.port.name), (joint.peer.name, joint.peer_port.name)})
            if ends not in seen:
                seen.add(ends)
                yield joint.switch, joint.port, joint.peer, joint.peer_port


def read(directory: Path, choice: Choice, lookup: Lookup | None) -> Fabric:
    """Returns the switches of a folder: ``NAME.json`` or ``NAME/config_db.json``, beside the output of LLDP.

    Raises `InputError` for a folder without files, a damaged file, and two switches of one name.
    """
    configs = [config.read(path, name) for path, name in _files(directory)]
    if not configs:
        raise InputError(f"{directory}: has no NAME.json and no NAME/config_db.json; copy the switches' files here")
    return of(directory, configs, choice, lookup)


def of(directory: Path, configs: Sequence[Config], choice: Choice, lookup: Lookup | None) -> Fabric:
    """Returns the switches of the files of a folder. Raises `InputError` as `read` does."""
    found: dict[str, Switch] = {}
    ports = {one.name: one.table("PORT") for one in configs}
    for each in configs:
        path = each.path
        one = switch.of(each, choice, lookup, _seen(path, ports))
        if one.name in found:
            raise InputError(f"{path}: a second switch {one.name}; the first is {found[one.name].config.path}")
        found[one.name] = one
    for one in found.values():
        if any(port.neighbour is not None and port.neighbour[0] == one.name for port in one.up):
            raise InputError(f"{one.config.path}: DEVICE_NEIGHBOR: {one.name} is its own neighbour; remove the entry")
    return Fabric(directory, dict(sorted(found.items())))


def _seen(path: Path, ports: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, tuple[str, str]]:
    """Returns the neighbours in ``NAME.lldp``, or in ``NAME/lldp``, beside the file of a switch; none without one.

    ports: the PORT table of each switch.
    """
    file = path.with_name("lldp") if path.name == "config_db.json" else path.with_suffix(".lldp")
    if not file.is_file():
        return {}
    seen = {local: (one.device_of(ports), one) for local, one in lldp.table(file).items()}
    # A port without a known neighbour is left out with a note.
    return {local: (name, one.port_of(ports.get(name, {}))) for local, (name, one) in seen.items() if name is not None}


def _files(directory: Path) -> list[tuple[Path, str]]:
    """Returns the files of a folder with the names of their switches, sorted by name."""
    found: list[tuple[Path, str]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                path = directory / entry.name
                if entry.is_dir():
                    inner = path / "config_db.json"
                    if inner.is_file():
                        found.append((inner, entry.name))
                elif entry.name.endswith(".json") and not entry.name.startswith("."):
                    found.append((path, entry.name.removesuffix(".json")))
                if len(found) > MAX_SWITCHES:
                    raise InputError(f"{directory}: has more than {MAX_SWITCHES:,} files")
    except OSError as error:
        raise InputError(
            f"{directory}: cannot be read: {error.strerror}; name a folder of config_db.json files"
        ) from None
    except ValueError:
        raise InputError(f"{str(directory)!r}: is not the name of a folder") from None
    return sorted(found, key=lambda one: one[1])
