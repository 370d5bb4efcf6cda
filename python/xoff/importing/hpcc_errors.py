"""Error rates of the HPCC family as faults: links that lose packets at random.

A link of the family loses packets at a rate that does not depend on the packet's size (``RateErrorModel`` with
``ERROR_UNIT_PACKET``; a link without a rate has ``ERROR_RATE_PER_LINK``). In xoff each bit is damaged with a
probability, for which a frame with a full payload is lost at the same rate.
"""

from __future__ import annotations

import math

from xoff._core import InputError
from xoff.importing.document import Table
from xoff.importing.hpcc_network import Network

ERRORS = (
    "links that lose packets at random: data frames of a whole payload are lost as often as in the original, "
    "others less "
    "often (fault.bit_error_rate)"
)
# Each fault is searched among all links.
_MAX_SEARCH = 2**28


def faults(network: Network, frame: int, given: float, *, has_pfc: bool) -> list[Table]:
    """Returns the faults of links, and what PFC needs beside lossy links.

    frame: bytes of a data frame.
    given: the rate of links without a separate rate.
    """
    found = _faults(network, frame, given)
    if found and has_pfc:
        comment = "A resume may be lost. A pause without refresh expires in xoff, and lasts in the original."
        found.append(Table("switch.flow_control.pfc", {"quanta": 65_535}, comment))
    return found


def _faults(network: Network, frame: int, given: float) -> list[Table]:
    rates: dict[tuple[int, int], float] = {}
    for a, b, _, _ in network.links:
        pair = min(a, b), max(a, b)
        rates[pair] = network.errors.get(pair, given)
    lossy = {pair: rate for pair, rate in rates.items() if rate}
    if len(lossy) == len(rates) and len(set(lossy.values())) == 1:
        return [_fault("*", next(iter(lossy.values())), frame)]
    if len(lossy) * len(network.links) > _MAX_SEARCH:
        why = (
            f"{len(lossy):,} of {len(network.links):,} links lose packets at random: too many; give all links one rate"
        )
        raise InputError(f"error rates: {why}, or fewer links an error rate")
    return [_fault(f"{network.name(a)}-{network.name(b)}", rate, frame) for (a, b), rate in lossy.items()]


def _fault(link: str, rate: float, frame: int) -> Table:
    return Table("fault", {"link": link, "bit_error_rate": bit_error_rate(rate, frame)}, is_listed=True)


def bit_error_rate(rate: float, frame: int) -> float:
    """Returns the bit error rate with which a frame of `frame` bytes is lost with probability `rate`."""
    return 1.0 if rate >= 1 else -math.expm1(math.log1p(-rate) / (8 * frame))
