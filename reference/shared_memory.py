"""The shared memory of a switch: reserves, a pool under dynamic thresholds, and headroom.

A group is an input port with a class, or with the classes that count together. A frame takes whole cells. A group fills
its reserve, and the pool up to `alpha` times the free bytes of the pool. A frame beyond goes into the headroom. A group
of lossless classes with a fixed XOFF has no such threshold, and may fill the pool. A pool of outputs limits the bytes
of its classes at all outputs together, and the bytes of a class at an output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reference.scenario import quantity

DEFAULT_OFFSET_BYTES = 3 * 1024


@dataclass
class Group:
    """A group with its limits and its bytes."""

    alpha: float
    reserve_bytes: int
    headroom_bytes: int
    fills_pool: bool = False
    main_bytes: int = 0  # in the reserve and the pool
    extra_bytes: int = 0  # in the headroom

    @property
    def pool_bytes(self) -> int:
        """The bytes of the group in the pool."""
        return max(0, self.main_bytes - self.reserve_bytes)


@dataclass
class Outputs:
    """A pool of outputs: limits, and the bytes of each output and class."""

    total_bytes: int
    limit_bytes: int
    alpha: float | None
    held: dict[tuple[int, int], int]

    def has_room(self, output: int, number: int, size_bytes: int) -> bool:
        """Whether a class may hold so many bytes more at an output."""
        used, queue_bytes = sum(self.held.values()), self.held.get((output, number), 0) + size_bytes
        is_within_share = self.alpha is None or queue_bytes <= self.alpha * (self.total_bytes - used)
        return used + size_bytes <= self.total_bytes and queue_bytes <= self.limit_bytes and is_within_share

    def add(self, output: int, number: int, size_bytes: int) -> None:
        """Counts bytes at an output; a negative number gives bytes back."""
        self.held[output, number] = self.held.get((output, number), 0) + size_bytes


class SharedMemory:
    """The memory of a switch."""

    def __init__(
        self, shared: dict[str, Any], pfc: dict[str, Any] | None, ports: int, classes: int, lossless: set[int]
    ):
        known = {"total", "alpha", "reserve", "headroom", "headroom_pool", "cell", "groups", "egress"}
        if unknown := set(shared) - known:
            raise ValueError(f"the reference does not model shared buffers with {sorted(unknown)}")
        self.cell_bytes = quantity(shared["cell"], "size") if "cell" in shared else 1
        self.of: dict[tuple[int, int], Group] = {}
        self.classes_of: dict[int, list[int]] = {number: [number] for number in range(classes)}
        for entry in shared.get("groups", []):
            if entry.get("together"):
                self.classes_of |= dict.fromkeys(entry["classes"], sorted(entry["classes"]))
        for port in range(ports):
            for number in range(classes):
                members = self.classes_of[number]
                own: dict[str, Any] = next(
                    (entry for entry in shared.get("groups", []) if number in entry["classes"]), {}
                )
                values = {key: own.get(key, shared[key]) for key in ("alpha", "reserve", "headroom")}
                headroom = quantity(values["headroom"], "size") if lossless & set(members) else 0
                # A fixed XOFF decides when the class pauses, so that the pool alone decides when it drops.
                fills_pool = "xoff" in (pfc or {}) and set(members) <= lossless
                group = Group(values["alpha"], quantity(values["reserve"], "size"), headroom, fills_pool)
                self.of[port, number] = self.of.get((port, members[0]), group)
        groups = list({id(group): group for group in self.of.values()}.values())
        self.groups = groups
        given = shared.get("headroom_pool")
        self.headroom_pool_bytes = None if given is None else quantity(given, "size")
        kept = sum(one.headroom_bytes for one in groups) if given is None else quantity(given, "size")
        self.pool_bytes = quantity(shared["total"], "size") - sum(one.reserve_bytes for one in groups) - kept
        self.outputs: dict[int, Outputs] = {}
        for entry in reversed(shared.get("egress", [])):
            total = quantity(entry["total"], "size")
            limit = quantity(entry["limit"], "size") if "limit" in entry else total
            pool = Outputs(total, limit, entry.get("alpha"), {})
            # A class has the first pool that names the class.
            self.outputs |= dict.fromkeys(entry.get("classes", range(classes)), pool)
        pfc = pfc or {}
        self.resume_bytes = quantity(pfc["resume_at"], "size") if "resume_at" in pfc else None
        has_offset = "xon" in pfc or self.resume_bytes is None
        offset = quantity(pfc["xon"], "size") if "xon" in pfc else DEFAULT_OFFSET_BYTES
        self.offset_bytes = offset if has_offset else None
        self.seen_ps: int | None = None
        self.seen_bytes: int | None = None
        self.seen_extra_bytes: int | None = None

    def begin(self, now_ps: int) -> None:
        """Lets the thresholds of this moment see the bytes before it, at a switch whose ports take turns."""
        if self.seen_ps != now_ps:
            self.seen_ps = now_ps
            self.seen_bytes = sum(one.pool_bytes for one in self.groups)
            self.seen_extra_bytes = sum(one.extra_bytes for one in self.groups)

    def cells(self, frame_bytes: int) -> int:
        """Returns the memory that a frame takes."""
        return -(-frame_bytes // self.cell_bytes) * self.cell_bytes

    def free_bytes(self) -> int:
        """Returns the free bytes of the pool."""
        used = sum(one.pool_bytes for one in self.groups) if self.seen_bytes is None else self.seen_bytes
        return max(0, self.pool_bytes - used)

    def threshold_bytes(self, group: Group) -> int:
        """Returns the most bytes of the pool that a group may hold now."""
        return int(self.free_bytes() * group.alpha)

    def takes(self, port: int, output: int, number: int, frame_bytes: int) -> bool:
        """Takes a frame; False without room at the input or the output, and nothing is taken."""
        outputs, size_bytes = self.outputs.get(number), self.cells(frame_bytes)
        if outputs is not None and not outputs.has_room(output, number, size_bytes):
            return False
        is_taken = self.input_takes(self.of[port, number], size_bytes)
        if is_taken and outputs is not None:
            outputs.add(output, number, size_bytes)
        return is_taken

    def input_takes(self, group: Group, size_bytes: int) -> bool:
        """Takes bytes into a group; False without room."""
        above = group.main_bytes + size_bytes - group.reserve_bytes
        if group.fills_pool:
            is_beyond = min(above, size_bytes) > self.free_bytes()
        else:
            is_beyond = above > self.threshold_bytes(group)
        if above <= 0 or not is_beyond:
            group.main_bytes += size_bytes
            return True
        used = sum(one.extra_bytes for one in self.groups) if self.seen_extra_bytes is None else self.seen_extra_bytes
        extra = used + size_bytes
        is_beyond_pool = self.headroom_pool_bytes is not None and extra > self.headroom_pool_bytes
        if group.extra_bytes + size_bytes > group.headroom_bytes or is_beyond_pool:
            return False
        group.extra_bytes += size_bytes
        return True

    def gives_back(self, port: int, output: int, number: int, frame_bytes: int) -> None:
        """Gives the bytes of a frame back: to the headroom first."""
        group, size_bytes = self.of[port, number], self.cells(frame_bytes)
        if number in self.outputs:
            self.outputs[number].add(output, number, -size_bytes)
        from_headroom = min(size_bytes, group.extra_bytes)
        group.extra_bytes -= from_headroom
        group.main_bytes -= size_bytes - from_headroom

    def is_over(self, port: int, number: int) -> bool:
        """Whether a group has to pause its neighbour."""
        group = self.of[port, number]
        return group.extra_bytes > 0 or group.pool_bytes >= self.threshold_bytes(group)

    def is_under(self, port: int, number: int) -> bool:
        """Whether a pause of a group may end."""
        group = self.of[port, number]
        if group.extra_bytes > 0:
            return False
        if self.resume_bytes is not None and group.main_bytes <= self.resume_bytes:
            return True
        if self.offset_bytes is None:
            return False
        return group.pool_bytes == 0 or group.pool_bytes + self.offset_bytes <= self.threshold_bytes(group)
