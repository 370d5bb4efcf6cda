"""Neighbours that switches have seen: the output of ``show lldp table``, kept beside a switch's file.

The command of sonic-utilities (``scripts/lldpshow``) prints a table with columns of fixed width under a line of dashes:
local port, remote device, remote port, capability, and description of the remote port. A switch of SONiC announces the
alias of its port as the remote port, and the name of the port as the description.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from xoff.importing.source import read
from xoff.sonic.config import is_name

_MAX_BYTES = 2**22
_HEADS = ("LocalPort", "RemoteDevice", "RemotePortID")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The other end of a link, as the neighbour announces the end."""

    device: str
    port: str
    description: str

    def device_of(self, switches: Collection[str]) -> str | None:
        """Returns the name of the device: of a switch, also by the name without domain; None for no name of a node."""
        short = self.device.split(".")[0]
        if self.device in switches:
            return self.device
        if short and (found := [name for name in switches if name.split(".")[0] == short]):
            return found[0] if len(found) == 1 else None
        # An address has no domain.
        name = short if re.search("[A-Za-z]", short) else self.device
        return name if is_name(name) else None

    def port_of(self, ports: Mapping[str, Mapping[str, str]]) -> str:
        """Returns the port among the rows of a PORT table: by name, by description, or by alias; else as announced."""
        aliases = {row.get("alias", ""): name for name, row in ports.items()}
        known = (name for name in (self.port, self.description) if name in ports)
        return next(known, aliases.get(self.port, self.port))


def table(path: Path) -> dict[str, Neighbour]:
    """Returns the neighbour of each local port; the first of several. Raises `InputError` with file and line."""
    source = read(path, _MAX_BYTES)
    found: dict[str, Neighbour] = {}
    columns: list[slice] = []
    lines = source.content.decode("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        dashes = [one.span() for one in re.finditer(r"-+", line)] if set(line) <= {"-", " "} else []
        if not columns and len(dashes) >= len(_HEADS):
            heads = lines[number - 2].split() if number > 1 else []
            if tuple(heads[: len(_HEADS)]) != _HEADS:
                source.wrong(number, f"the columns {', '.join(_HEADS)} are needed above the dashes")
            ends = [start for start, _ in dashes[1:]]
            columns = [slice(start, end) for (start, _), end in zip(dashes, [*ends, None], strict=True)]
        elif dashes:
            break
        elif columns and line.strip():
            cells = [line[column].strip() for column in columns]
            found.setdefault(cells[0], Neighbour(cells[1], cells[2], cells[4] if len(cells) > 4 else ""))
    if not columns:
        source.wrong(1, "is not the output of `show lldp table`; a line of dashes under the heads is needed")
    return found
