"""A random small scenario being drawn: random generators, forced choices, and facts for later choices."""

from collections.abc import Mapping
from random import Random
from typing import Any

from xoff.conformance.schema import registered

Forced = Mapping[str, str]


class Draw:
    """A scenario being drawn: a random generator, forced choices, and facts for later choices."""

    def __init__(self, rng: Random, forced: Forced) -> None:
        self.rng = rng
        # Draws of libraries and servers, and draws of schedulers and classes, leave all other draws as they are.
        state = rng.getstate()[1]
        self.aside = Random(str((state[:4], state[-1])))
        self.apart = Random(str(("serving", state[:4], state[-1])))
        self.options = Random(str((*state[:4], state[-1])))
        self.acks = Random(str((state[-1], state[:4], "acks")))
        self.by_class = Random(str((state[:4], state[-1], "classes")))
        self.arrivals = Random(str((state[:4], state[-1], "arrivals")))
        self.curves = Random(str((state[:4], state[-1], "curves")))
        self.settings = Random(str((state[:4], state[-1], "plugins")))
        self.forced = forced
        self.hosts = 0
        self.largest = 0
        self.classes = 1
        self.relays_on_a_path = 0
        self.lost_credit_updates = 0
        self.links: list[dict[str, str]] = []
        self.servers: dict[str, Any] | None = None

    def choose(self, path: str, allowed: list[str] | None = None) -> str:
        """Draws the option of a place, or returns the forced option."""
        options = allowed or registered(path)
        return self.forced.get(path) or self.rng.choice(options)

    def choose_apart(self, path: str, options: list[str]) -> str:
        """Returns the option at a path, drawn apart from all other choices."""
        return self.forced.get(path) or self.curves.choice(options)

    def wants(self, path: str, option: str, chance: float) -> bool:
        """True if an optional part is drawn: always if the part, or a part inside it, is forced."""
        inside = any(f"{key}.".startswith(f"{path}.{option}.") for key in self.forced)
        return self.forced.get(path) == option or inside or self.rng.random() < chance

    def link(self) -> dict[str, str]:
        """Draws a link."""
        delay = self.rng.choice(["0ns", "10ns", "150ns", "1us", "2500ps"])
        link = {"rate": self.rng.choice(["10Gbps", "40Gbps", "100Gbps", "400Gbps"]), "delay": delay}
        self.links.append(link)
        return link

    def linked(self, hosts: int, /, **more: Any) -> dict[str, Any]:
        """A regular shape with this many hosts; fabric links may differ."""
        self.hosts = hosts
        return {**more, "link": self.link()}

    def fabric(self, hosts: int, /, **more: Any) -> dict[str, Any]:
        """A regular shape with possibly different links between switches."""
        shape = self.linked(hosts, **more)
        return shape if self.rng.random() < 0.5 else {**shape, "fabric_link": self.link()}

    def some_hosts(self, least: int) -> list[int]:
        """Draws distinct hosts."""
        return self.rng.sample(range(self.hosts), self.rng.randint(least, self.hosts))

    def size(self) -> str:
        """Draws the size of a flow."""
        return f"{self.rng.choice([1, self.rng.randint(1, 4000), self.rng.randint(1, 60_000)])}B"

    def headroom(self) -> int:
        """More than any link needs: a round trip and three packets and a control frame."""
        return 400 * 10**9 // 8 * 4 // 10**6 + 3 * self.largest + 400
