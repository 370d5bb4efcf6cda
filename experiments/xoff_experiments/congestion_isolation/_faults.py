"""Planted faults: runs and settings with which the statements of the deck on CI fail (`xoff.reproduce.faults`)."""

from __future__ import annotations

from collections.abc import Mapping

from xoff.reproduce.faults import Fault, instead, matching

_CI_IS_NONE = instead("ci", "none")
_SAME_XOFF = matching("^XOFF 1500 KB/ci/", "XOFF 750 KB/ci/", "XOFF stays at 750 KB")
_SAME_HIGH = matching("^high 600 KB/ci/", "high 300 KB/ci/", "High stays at 300 KB")
_NO_LATENCY = matching("400 ns a switch/", "no latency/", "the latency stays zero")
FAULTS: Mapping[str, Fault] = {
    "C.1-lower": _CI_IS_NONE,
    "C.1-mice": _CI_IS_NONE,
    "C.1-more": matching("^128 servers/ci/", "128 servers/none/", "without CI in place of CI"),
    "C.2": matching("^128 servers, three queues/none/", "128 servers/none/", "two queues in place of three"),
    "C.2-others": _CI_IS_NONE,
    "C.3": matching("^queues of 2 MB/ci/", "queues of 2 MB/none/", "without CI in place of CI"),
    "C.4-large": _SAME_XOFF,
    "C.4-pauses": _SAME_XOFF,
    "C.4-cnps": _SAME_XOFF,
    "C.5-large": _SAME_HIGH,
    "C.5-pauses": _SAME_HIGH,
    "C.5-cnps": _SAME_HIGH,
    "C.6-small": _NO_LATENCY,
    "C.6-elephants": _NO_LATENCY,
    "C.6-elephants-without": _NO_LATENCY,
    "C.6-little": matching("^400 ns a switch/ci/", "400 ns a switch/none/", "without CI in place of CI"),
    "C.7-most": _CI_IS_NONE,
    "C.7-average": _CI_IS_NONE,
    "C.7-shallow": _CI_IS_NONE,
    "C.7-max": _CI_IS_NONE,
    "C.7-alike": instead("none", "ci"),
    "C.7-fewer": _CI_IS_NONE,
    "C.8-rate": _CI_IS_NONE,
    "C.8-performance": _CI_IS_NONE,
    "C.8-flows": _CI_IS_NONE,
    "C.8-only": _CI_IS_NONE,
    "C.9": matching("^XOFF 1500 KB/ci/", "queues of 2 MB/ci/", "queues of 2 MB in place of XOFF 1500 KB"),
}
"""By statement."""
