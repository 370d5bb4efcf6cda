"""The parts that conformance examines, and the properties that no draw can show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from random import Random

from xoff import _core, formatting, own_core
from xoff._core import InputError
from xoff.conformance.generic import PLUGINS
from xoff.conformance.schema import CHOICES, registered
from xoff.results import counts

PLACES = (
    "switch.flow_control",
    "switch.routing",
    "host.transport",
    "host.congestion_control",
    f"switch.{PLUGINS}",
    f"host.transport.{PLUGINS}",
    f"host.congestion_control.{PLUGINS}",
)
"""Tables with a key for each part that acts on packets."""
WITHOUT_STATE = ("network", "workload", f"workload.{PLUGINS}")
"""Tables with a key for each topology and each kind of traffic."""
NEVER_REPEAT = {
    "bcn": "limiters drift by a constant rate, so rates never recur",
    "credits": "counts of blocks are taken modulo, and are no multiple of a period",
    "hpcc": "windows are floating-point values that approach a limit",
    "hpcc_pint": "windows are floating-point values that follow sampled telemetry",
    "swift": "windows are floating-point values that follow every round trip",
}
"""Parts of xoff that are never fast-forwarded in random scenarios, with the reason."""
COUNTED_BY = {
    "pfc.storms": "tests/validation/test_watchdog.py::test_forwarding_only_ignores_pauses",
    "pfc.dropped_in_storms": "tests/validation/test_watchdog.py::test_what_waits_is_dropped_at_once",
    "pfc.late_holds": "crates/models/src/network/node/effects.rs::a_flow_of_the_host_is_held_and_released",
    "sfc.resumes": "tests/validation/test_sfc.py::test_resumes_end_pauses",
    "sfc.late_holds": "tests/validation/test_sfc.py::test_a_message_for_a_flow_that_is_over_is_harmless_and_counted",
    "sfc.proxy_pauses": "tests/validation/test_sfc.py::test_a_proxy_slows_the_innocent_by_the_share_of_time_that_their_host_is_paused",  # noqa: E501
    "bcn.stops": "tests/validation/test_bcn.py::test_stopped_sources_go_on_at_the_least_rate",
    "credits.recovered": "tests/validation/test_credits.py::test_credits_of_packets_that_were_lost_come_back",
    "adaptive.no_good_port": "tests/validation/test_adaptive.py::test_packets_without_a_good_port_are_counted",
    "rccc.requests": "tests/validation/test_rccc.py::test_a_flow_that_is_not_heard_asks_for_credit",
    "trimming.bounced": "tests/validation/test_ndp.py::test_headers_go_back_only_where_that_is_on",
}
"""Counts of xoff's parts that need a special situation, with a test for the situation."""
LISTENERS: dict[str, str] = json.loads(_core.listeners())
"""Parts that listen to a mechanism of switches, each with the mechanism."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part: the path of a table in scenarios, and the key of the part in the table."""

    path: str
    option: str

    @property
    def name(self) -> str:
        """The name of the part in summaries."""
        is_of_table = self.path in (*PLACES, *WITHOUT_STATE)
        return self.option if is_of_table else self.path.removeprefix("switch.")

    @property
    def has_state(self) -> bool:
        """Whether the part has state that decides later events."""
        return self.path not in WITHOUT_STATE

    def __str__(self) -> str:
        return f"{self.path}.{self.option}" if self.path in (*PLACES, *WITHOUT_STATE) else self.path


def acting() -> list[Part]:
    """Returns the parts that act on packets."""
    listed = [Part(path, option) for path in PLACES for option in registered(path)]
    return [*listed, Part("switch.ecn", "red"), Part("switch.trimming", "limit")]


def find(name: str) -> list[Part]:
    """Returns the parts with a name, without or with a path: ``plugins.NAME``. Raises `InputError` if unknown."""
    known = acting() + [Part(path, option) for path in WITHOUT_STATE for option in registered(path)]
    found = [part for part in known if part.name == name.rpartition(".")[2]]
    if not found:
        names = sorted({part.name for part in known})
        near = get_close_matches(name, names, 1)
        remedy = f"did you mean `{near[0]}`?" if near else f"parts are {', '.join(names)}"
        raise InputError(f"conformance: `{formatting.shown(name)}` is no part; {remedy}")
    return found


def counts_of(name: str) -> list[str]:
    """Returns the counts that a part declares."""
    return [count.name for group in counts.groups() if group.name == name for count in group.counts]


def never_repeats() -> Mapping[str, str]:
    """Returns the parts of xoff and of plug-ins that are never fast-forwarded, with the reason."""
    return NEVER_REPEAT | _declared("never_repeats")


def rare_counts() -> Mapping[str, str]:
    """Returns the counts of xoff and of plug-ins that need a special situation, with a test or a reason."""
    return COUNTED_BY | _declared("rare_counts")


def _declared(key: str) -> dict[str, str]:
    """Returns the reasons in the manifests of the plug-ins of the core."""
    packages = own_core.manifest().get("packages", []) if own_core.is_current() else []
    return {name: reason for one in packages for name, reason in one.get(key, {}).items()}


def beside(part: Part, rng: Random) -> dict[str, str]:
    """Returns the options that force a part, together with a sender or receiver of the part's signals."""
    forced = {part.path: part.option}
    if not part.has_state:
        return forced
    if part.name in LISTENERS and (part.path.startswith("host.") or part.path == "switch.routing"):
        return forced | _switches(LISTENERS[part.name], rng)
    listeners = sorted(listener for listener, heard in LISTENERS.items() if heard == part.name)
    return forced | (_hosts(rng.choice(listeners)) if listeners else {})


def _switches(name: str, rng: Random) -> dict[str, str]:
    """Returns the options that force a mechanism of switches; none for telemetry, which is drawn with its readers."""
    if f"switch.{name}" in CHOICES:
        return {f"switch.{name}": rng.choice(registered(f"switch.{name}"))}
    return next(({path: name} for path in PLACES if name in registered(path)), {})


def _hosts(listener: str) -> dict[str, str]:
    """Returns the forced options of a listener: a name may stand at switches and at hosts."""
    kinds = ("host.congestion_control", "host.transport")
    order = (*kinds, "switch.routing", *(f"{kind}.{PLUGINS}" for kind in kinds), f"switch.{PLUGINS}")
    return next({path: listener} for path in order if listener in registered(path))
