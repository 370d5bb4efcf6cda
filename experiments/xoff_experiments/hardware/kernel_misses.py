"""Kernels with other links inside a server: a switch, and a faster NVLink.

The values were chosen after the first runs, and no value is taken over.

**One server.** Each rank begins with the next rank. So a rank gets from one rank at a time, and NVLink passes whole
messages without a queue. On a switch whose links have the rate of NVLink messages take turns packet by packet, as the
tokens of a kernel do. Both exchanges take the time of the bytes, within 4 %. In the first runs all ranks began with
rank 0, and a dispatch took 1.39 to 1.40 of the closed form. The switch showed the cause; the order of messages was
changed then.

**DeepEP V2.** A rank passes the tokens of another server on when the whole message has come, and adds up results when
all have come. So the times of NVLink and of the NIC add up. DeepEP passes tokens on one by one. With a faster NVLink
the sum comes near the time of the NIC.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, chosen, given
from xoff.results import Result
from xoff_experiments.hardware._kernel_rows import BOTH, COMBINE, DISPATCH, GPUS, NVLINK_GBPS, Row, measured
from xoff_experiments.hardware.kernels import FORMULA_LIMIT, simulated_us

CITATION = "Published times of dispatch and combine, by the sources in kernels.csv"

_AS_JUDGED, _FAIR, _FAST = "as judged", "a switch in the place of NVLink", "NVLink of 10 Tb/s"
_OF_ONE_SERVER = ("DeepEP low latency, H800, ConnectX-7", "Perplexity, ConnectX-7")
_V2 = "DeepEP V2, ConnectX-7"


def _rows() -> dict[Row, str]:
    """Returns the rows, and the other links of each."""
    found = {row: _FAIR for row in measured() if row.table in _OF_ONE_SERVER and row.servers == 1}
    return found | {row: _FAST for row in measured() if row.table == _V2}


def _scenario(row: Row, change: str) -> dict[str, Any]:
    if change == _FAST:
        return row.scenario({"network.servers.nvlink.rate": "10000Gbps"})
    document = row.scenario()
    link = {"rate": f"{8 * NVLINK_GBPS[row.gpu]:g}Gbps", "delay": "10m"}
    document["network"] = {"star": {"hosts": GPUS, "link": link}}
    # NVLink counts bytes without headers.
    document["framing"] = {"payload": "4096B", "header": "0B"}
    return document


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios: each row as judged, and with other links in its servers."""
    del quick
    found: dict[str, dict[str, Any]] = {}
    for row, change in _rows().items():
        found |= {f"{row.name}; {_AS_JUDGED}": row.scenario(), f"{row.name}; {change}": _scenario(row, change)}
    return found


def _ratios(runs: Readings[Result]) -> dict[tuple[Row, str], tuple[float, float]]:
    """Returns simulated time over the closed form by row and direction, as judged and with other links."""
    found = {}
    for row, change in _rows().items():
        before, after = (simulated_us(runs.one(f"{row.name}; {one}")) for one in (_AS_JUDGED, change))
        for direction in (BOTH,) if row.table == _V2 else (DISPATCH, COMBINE):
            line = row.line_us(direction)
            found[row, direction] = (before[direction] / line, after[direction] / line)
    return found


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judges that a switch brings each exchange in one server near its closed form."""
    ratios = _ratios(runs)
    numbers = {
        f"{row.name}, {direction}": f"{before:.3f}, {after:.3f} with {_rows()[row]}"
        for (row, direction), (before, after) in ratios.items()
    }
    late = [
        f"{row.name}, {direction}"
        for (row, direction), (_, after) in ratios.items()
        if row.servers == 1 and abs(after - 1) > FORMULA_LIMIT
    ]
    return {"E.M": Part(not late, numbers, reason=f"Beyond the limit: {'; '.join(late)}." if late else "")}


JUDGED = Judged(
    document="hardware",
    statements={
        "E.M": "With a switch in the place of NVLink, dispatch and combine in one server take the closed form within "
        "10 % (found after the runs)"
    },
    ours=("E.M",),
    runs=as_results,
    judge=judge,
    reasons={},
    limits={"E.M": "The other links are the settings."},
)
PARAMETERS = (
    given("rows", "8 ranks on H800 and H100; DeepEP V2", "kernels.csv"),
    chosen("switch", "links of the rate of NVLink, 10 m, no headers", "messages take turns packet by packet"),
    chosen("faster NVLink", "10 Tb/s", "the greatest power of ten that a rate may be"),
)
READS = ("steps",)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns simulated time over the closed form, as judged and with other links."""
    made = [["row", "direction", "as judged", "other links", "with other links"]]
    for (row, direction), (before, after) in _ratios(as_results(results, "", "")).items():
        made.append([row.name, direction, f"{before:.3f}", _rows()[row], f"{after:.3f}"])
    return {"Simulated time over the closed form, without overheads": made}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws simulated time over the closed form, as judged and with other links."""
    found = _ratios(as_results(results, "", ""))
    with rc_context(STYLE):
        drawing, axes = canvas(8.0, 3.2)
        places = range(len(found))
        for shift, (colour, which) in enumerate(zip(COLOURS, (_AS_JUDGED, "other links"), strict=False)):
            ratios = [pair[shift] for pair in found.values()]
            axes.bar([place + 0.35 * (shift - 0.5) for place in places], ratios, 0.35, color=colour, label=which)
        axes.axhline(1, color="#888888", linewidth=0.8)
        names = [f"{row.table.partition(',')[0]}\n{row.size},\n{direction}" for row, direction in found]
        axes.set_xticks(list(places), names, fontsize=6)
        axes.set_ylabel("xoff over closed form")
        axes.legend(fontsize=6)
        write(drawing, path)
