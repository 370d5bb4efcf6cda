"""``xoff size``: the calculators of headroom, pause times, marking thresholds and buffers."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from xoff import _core, formatting
from xoff._core import InputError
from xoff.commands.options import Asic, Json, Set, settings
from xoff.sizing import marking
from xoff.sizing.remedies import Change, ChangeError
from xoff.sonic import sizing as sonic_sizing

app = typer.Typer(
    help="Calculates the parameters of a mechanism from the network around it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("sfc")
def size_sfc(
    incast: Annotated[
        int | None, typer.Option(min=2, help="Incast degree N: senders to one receiver.", show_default=False)
    ] = None,
    links: Annotated[
        int, typer.Option(min=1, help="Links from a sender to the congestion point: 3 in a two-layer Clos, 5 in three.")
    ] = 3,
    link_delay: Annotated[str, typer.Option(help="Propagation delay of a link, or the length: 30m.")] = "150ns",
    switch_delay: Annotated[str, typer.Option(help="Fixed delay of a switch.")] = "300ns",
    rate: Annotated[str, typer.Option(help="Rate of every link.")] = "200Gbps",
    buffer: Annotated[str, typer.Option(help="Buffer of a port.")] = "400KB",
    pfc_threshold: Annotated[str, typer.Option(help="XOFF of PFC.")] = "380KB",
    sfc_threshold: Annotated[str, typer.Option(help="Threshold of SFC.")] = "200KB",
    pause: Annotated[str | None, typer.Option(help="A pause time to judge.", show_default=False)] = None,
    architecture: Annotated[str, typer.Option(help="Queueing of the switch: oq or voq.")] = "oq",
    as_json: Json = False,
) -> None:
    """Source Flow Control: headroom needed between its threshold and PFC's, and the range of the pause time.

    Without --incast the command answers the reverse: the largest incast that the thresholds can serve.
    """
    request = {
        "incast": incast or 2,
        "links": links,
        "link_delay": link_delay,
        "switch_delay": switch_delay,
        "rate": rate,
        "buffer": buffer,
        "pfc_threshold": pfc_threshold,
        "sfc_threshold": sfc_threshold,
        "pause": pause,
        "architecture": architecture,
    }
    answer = _size(_core.size_sfc, request)
    if incast is None:
        answer = {key: answer[key] for key in ("round_trip_ps", "available_headroom_bytes", "largest_incast")}
    _answer(answer, as_json)


_Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="With --sonic: formula (of the chip's dynamic buffer model), formula-a (before pause quanta), physics, or "
        "table:FILE (pg_profile_lookup.ini). Default: formula where the chip has one.",
        show_default=False,
    ),
]
_LosslessFrame = Annotated[str, typer.Option("--lossless-frame", help="With --sonic: largest lossless frame.")]
_SmallPackets = Annotated[
    int,
    typer.Option("--small-packets", min=0, max=100, metavar="N", help="With --sonic: percent of packets of 64 B."),
]
_Lanes = Annotated[int, typer.Option("--lanes", min=1, max=8, metavar="N", help="With --sonic: lanes of the port.")]
_SharedHeadroom = Annotated[
    bool, typer.Option("--shared-headroom", help="With --sonic: groups share a pool of headroom.")
]


@app.command("pfc")
def size_pfc(
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Takes links and frames from this scenario.", show_default=False),
    ] = None,
    set: Set = None,
    link_delay: Annotated[
        str | None, typer.Option(help="Propagation delay of the link, or the length: 30m.", show_default="150ns")
    ] = None,
    switch_delay: Annotated[
        str | None, typer.Option(help="Fixed forwarding delay of the pausing switch.", show_default="300ns")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Rate of the link.", show_default="200Gbps")] = None,
    max_frame: Annotated[
        str | None, typer.Option(help="Largest frame of any class; needed without --scenario.", show_default=False)
    ] = None,
    pause_frame: Annotated[str | None, typer.Option(help="Size of a pause frame.", show_default="64B")] = None,
    cut_through: Annotated[
        str | None,
        typer.Option(
            help="Bytes of a frame that the pausing switch needs before cut-through: 64B.", show_default=False
        ),
    ] = None,
    response_time: Annotated[
        str,
        typer.Option(
            help="Response time of the neighbour to a pause: 2.02us at most at 100 Gb/s; [b]802.3[/b] takes the "
            "standard's time for the rate."
        ),
    ] = "0ns",
    buffer: Annotated[str | None, typer.Option(help="Buffer of a port.", show_default=False)] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Simulates the worst case and measures the required headroom to the frame.")
    ] = False,
    sonic: Annotated[bool, typer.Option("--sonic", help="Also prints the profile as SONiC's BUFFER_PROFILE.")] = False,
    asic: Asic = None,
    method: _Method = None,
    lossless_frame: _LosslessFrame = "1024B",
    small_packets: _SmallPackets = 50,
    lanes: _Lanes = 4,
    shared_headroom: _SharedHeadroom = False,
    as_json: Json = False,
) -> None:
    """Priority Flow Control: the headroom that makes a port lossless, step by step, and the highest XOFF."""
    from xoff.sizing import headroom

    chosen = (
        sonic_sizing.Choices(asic, method, lossless_frame, small_packets, lanes, shared_headroom) if sonic else None
    )
    _need_sonic(sonic, {"--asic": asic, "--method": method})
    given = {"rate": rate, "link_delay": link_delay, "switch_delay": switch_delay}
    given |= {"max_frame": max_frame, "pause_frame": pause_frame, "cut_through": cut_through}
    requests = _links(scenario, set, given)
    answers = []
    for request in requests:
        time = response_time
        if time == "802.3":
            time = f"{sonic_sizing.response_time_ps(request['rate'])}ps"
        request |= {"response_time": time, "buffer": buffer}
        answer = _size(_core.size_pfc, request)
        if verify:
            answer["measured"] = headroom.verify(request)
        if chosen is not None:
            answer["sonic"] = sonic_sizing.profile(request["rate"], request["link_delay"], request["max_frame"], chosen)
        answers.append({"rate": request["rate"], "link_delay": request["link_delay"]} | answer)
    if as_json:
        print(json.dumps({"links": answers} if scenario is not None else answers[0]))
        return
    for answer in answers:
        _show_headroom(answer)


def _links(scenario: Path | None, set: list[str] | None, given: dict[str, str | None]) -> list[dict[str, Any]]:
    """Returns a request for each kind of link of a scenario, or the request of the options."""
    from xoff.sizing import headroom

    if scenario is not None:
        if both := [key for key, value in given.items() if value is not None]:
            raise _given_twice(f"--{both[0].replace('_', '-')}")
        return list(headroom.of_scenario(scenario, settings(set)))
    if given["max_frame"] is None:
        raise _missing("--max-frame", "4096B", "the largest frame of any class on the link")
    usual = {"rate": "200Gbps", "link_delay": "150ns", "switch_delay": "300ns", "pause_frame": "64B"}
    return [usual | {key: value for key, value in given.items() if value is not None}]


_Scenario = Annotated[
    Path | None,
    typer.Option(
        "--scenario", metavar="FILE", help="Takes rate, round trip and frames from this scenario.", show_default=False
    ),
]
_Rate = Annotated[str | None, typer.Option("--rate", help="Rate of the link.", show_default="200Gbps")]
_RoundTrip = Annotated[
    str | None,
    typer.Option("--round-trip", help="The longest without queues; needed without --scenario.", show_default=False),
]
_Frame = Annotated[str | None, typer.Option("--max-frame", help="Largest frame.", show_default="4096B")]
_Verify = Annotated[bool, typer.Option("--verify", help="Simulates the case and measures.")]


def _path(
    scenario: Path | None, set: list[str] | None, rate: str | None, round_trip: str | None, frame: str | None
) -> marking.Path:
    given = {"--rate": rate, "--round-trip": round_trip, "--max-frame": frame}
    if scenario is not None:
        if both := next((key for key, value in given.items() if value is not None), None):
            raise _given_twice(both)
        return marking.of_scenario(scenario, settings(set))
    if round_trip is None:
        raise _missing("--round-trip", "8us", "the longest round trip without queues")
    return marking.Path(
        marking.quantity("--rate", rate or "200Gbps", "bps", 10**6, 10**13),
        marking.quantity("--round-trip", round_trip, "ps", 1000, 10**12),
        marking.quantity("--max-frame", frame or "4096B", "bytes", 64, 65_535),
    )


def _given_twice(option: str) -> ChangeError:
    return ChangeError(option, "not allowed with --scenario, which gives the value", Change(option, None))


def _missing(option: str, example: str, what: str) -> ChangeError:
    changes = Change(option, example, f"for example; {what}"), Change("--scenario", "FILE")
    return ChangeError(option, "missing", *changes)


def _need_sonic(sonic: bool, given: Mapping[str, str | None]) -> None:
    """Raises `ChangeError` for an option that is given and has an effect only with --sonic."""
    if not sonic and (option := next((key for key, value in given.items() if value is not None), None)):
        raise ChangeError(option, "has an effect only with --sonic", Change("--sonic"), Change(option, None))


def _headroom_of(path: marking.Path) -> Change:
    """Returns the option with the headroom of a link of this rate with the defaults of ``size pfc``."""
    headroom = marking.pfc_headroom(path, "150ns", "300ns")
    return Change("--headroom", f"{headroom}B", "for links of 150ns; `xoff size pfc` computes it")


@app.command("ecn")
def size_ecn(
    control: Annotated[str, typer.Option(help="Congestion control: dctcp, dcqcn or nscc.")] = "dctcp",
    scenario: _Scenario = None,
    set: Set = None,
    rate: _Rate = None,
    round_trip: _RoundTrip = None,
    max_frame: _Frame = None,
    flows: Annotated[int, typer.Option(min=1, max=1000, help="Long flows that share the link.")] = 2,
    buffer: Annotated[
        str | None,
        typer.Option(help="Memory of the switch under PFC; marks must precede pauses.", show_default=False),
    ] = None,
    ports: Annotated[int, typer.Option(min=1, max=4096, help="Ports of the switch, with --buffer.")] = 32,
    classes: Annotated[int, typer.Option(min=1, max=8, help="Lossless classes, with --buffer.")] = 8,
    headroom: Annotated[
        str | None, typer.Option(help="Headroom of a port and class, with --buffer: see size pfc.", show_default=False)
    ] = None,
    alpha: Annotated[float, typer.Option(min=0.001, max=1024, help="Factor of the dynamic threshold.")] = 8.0,
    verify: _Verify = False,
    sonic: Annotated[
        bool, typer.Option("--sonic", help="Also prints the first row as SONiC's WRED_PROFILE, below pauses.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Explicit Congestion Notification: where marking begins and ends, from rates and round trips, with the sources."""
    if control not in marking.CONTROLS:
        near = difflib.get_close_matches(control, marking.CONTROLS, n=1, cutoff=0) or [marking.CONTROLS[0]]
        allowed = ", ".join(marking.CONTROLS)
        raise ChangeError("--control", f"`{control}` is not known; allowed are {allowed}", Change("--control", near[0]))
    path = _path(scenario, set, rate, round_trip, max_frame)
    memory: dict[str, int | float] | None = None
    if buffer is not None:
        if headroom is None:
            raise ChangeError(
                "--headroom", "missing, and --buffer needs it", _headroom_of(path), Change("--buffer", None)
            )
        memory = {
            "total_bytes": marking.quantity("--buffer", buffer, "bytes", 1, 10**12),
            "headroom_bytes": marking.quantity("--headroom", headroom, "bytes", 0, 10**12),
            "ports": ports,
            "classes": classes,
            "alpha": alpha,
        }
    elif headroom is not None:
        changes = Change("--buffer", "32MB", "the memory of the switch"), Change("--headroom", None)
        raise ChangeError("--headroom", "decides nothing without --buffer", *changes)
    answer = marking.ecn(path, control, flows, memory=memory)
    if scenario is not None:
        marking.check_rows(scenario, settings(set), control, answer)
    if verify:
        answer["measured"] = marking.verify_ecn(path, control, answer["rows"], flows)
    if sonic:
        answer["WRED_PROFILE"] = sonic_sizing.curve(answer["rows"][0], answer.get("below_pfc_bytes"))
    if as_json:
        print(json.dumps(answer))
        return
    _show_rows(answer, ("kmin", "kmax", "pmax"))
    if sonic:
        print(json.dumps({"WRED_PROFILE": answer["WRED_PROFILE"]}, indent=4))


@app.command("buffer")
def size_buffer(
    scenario: _Scenario = None,
    set: Set = None,
    rate: _Rate = None,
    round_trip: _RoundTrip = None,
    max_frame: _Frame = None,
    flows: Annotated[int, typer.Option(min=1, max=1_000_000, help="Long flows that share the link.")] = 2,
    incast: Annotated[
        int | None, typer.Option(min=2, max=1000, help="Senders that begin at once.", show_default=False)
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="First window of each sender.", show_default="rate · round trip")
    ] = None,
    headroom: Annotated[
        str | None, typer.Option(help="Under PFC: headroom of a class (size pfc).", show_default=False)
    ] = None,
    classes: Annotated[int, typer.Option(min=1, max=8, help="Lossless classes, with --headroom.")] = 1,
    sonic: Annotated[
        bool, typer.Option("--sonic", help="Also prints the pools as SONiC's BUFFER_POOL; needs --headroom.")
    ] = False,
    asic: Asic = None,
    memory: Annotated[
        str | None, typer.Option(help="With --sonic: memory of the switch.", show_default="that of the chip")
    ] = None,
    ports: Annotated[int, typer.Option(min=1, max=1024, help="With --sonic: ports of the switch.")] = 32,
    over_subscribe: Annotated[
        int,
        typer.Option(
            min=0,
            max=1024,
            help="With --sonic: headroom of all groups divided by the shared headroom pool; 0: no pool.",
        ),
    ] = 0,
    verify: _Verify = False,
    as_json: Json = False,
) -> None:
    """Memory of a port for long flows, for an incast, and for losing no packet, with the sources."""
    path = _path(scenario, set, rate, round_trip, max_frame)
    first = None if window is None else marking.quantity("--window", window, "bytes", 1, 10**9)
    room = None if headroom is None else marking.quantity("--headroom", headroom, "bytes", 0, 10**12)
    answer = marking.buffer(path, flows, incast, first, room, classes)
    if verify:
        if incast is None:
            raise ChangeError(
                "--verify", "runs senders that start together, and their number is missing", Change("--incast", "8")
            )
        answer["measured"] = [marking.verify_buffer(path, incast, answer["window_bytes"])]
    if sonic:
        if room is None:
            raise ChangeError("--sonic", "needs the headroom of a class", _headroom_of(path))
        known = None if memory is None else marking.quantity("--memory", memory, "bytes", 1, 10**12)
        answer["sonic"] = sonic_sizing.pools(sonic_sizing.Room(known, ports, classes, room, over_subscribe), asic)
    _need_sonic(sonic, {"--asic": asic, "--memory": memory})
    if as_json:
        print(json.dumps(answer))
        return
    _show_rows(answer, ("bytes",))
    if sonic:
        print(sonic_sizing.pool_line(answer["sonic"]))
        print(json.dumps({"BUFFER_POOL": answer["sonic"]["BUFFER_POOL"]}, indent=4))


def _show_rows(answer: dict[str, Any], columns: tuple[str, ...]) -> None:
    """Prints closed forms with sources, the values from the closed forms, and the measured values."""
    from rich.markup import escape

    from xoff import display

    trip, product = formatting.time(answer["round_trip_ps"]), formatting.size(answer["product_bytes"])
    title = f"{formatting.rate(answer['rate_bps'])}, {trip} there and back: {product} under way"
    table = display.table("", *columns, "source", title=escape(title), right=tuple(range(1, 1 + len(columns))))
    for row in answer["rows"]:
        cells = [row[one] if one in row else row[f"{one}_bytes"] for one in columns]
        shown = [f"{one:g}" if isinstance(one, float) else f"{one:,}" for one in cells]
        table.add_row(escape(row["what"]), *shown, escape(row["source"]))
    display.out.print(table)
    for key, text in _FOLLOWS.items():
        if key in answer:
            display.out.print(f"{text}: {answer[key]:,} B")
    if memory := answer.get("memory"):
        assumed = f"{memory['ports']} ports, {memory['classes']} lossless classes (--classes), "
        assumed += f"{formatting.size(memory['headroom_bytes'])} of headroom for each, α = {memory['alpha']:g}"
        display.out.print(f"  with {formatting.size(memory['total_bytes'])} of memory, {assumed}")
    if measured := answer.get("measured"):
        names = [name for name in measured[0] if name != "runs"]
        heads = [name.removesuffix("_bytes").replace("_", " ") for name in names]
        table = display.table(*heads, title="measured", right=tuple(range(len(names))))
        for row in measured:
            cells = [row[name] for name in names]
            table.add_row(*(f"{one:.2%}" if isinstance(one, float) else f"{one:,}" for one in cells))
        display.out.print(table)
    for warning in answer.get("warnings", []):
        display.out.print(f"[yellow]warning[/yellow] {escape(warning)}")


_FOLLOWS = {
    "queue_max_bytes": "the queue is at most",
    "queue_min_bytes": "and at least",
    "below_pfc_bytes": "marks precede pauses below",
    "headroom_bytes": "headroom of the port",
    "lossless_bytes": "the largest of these, plus headroom",
}


def _show_headroom(answer: dict[str, Any]) -> None:
    from rich.markup import escape

    from xoff import display

    table = display.table("step", "time", "bytes", title=escape(f"{answer['rate']}, {answer['link_delay']}"))
    for step in answer["steps"]:
        table.add_row(step["step"], formatting.time(step["time_ps"]), f"{step['bytes']:,}")
    table.add_section()
    table.add_row("[b]headroom[/b]", "", f"[b]{answer['headroom_bytes']:,}[/b]")
    if answer["xoff_bytes"] is not None:
        table.add_row("highest XOFF", "", f"{answer['xoff_bytes']:,}")
    if measured := answer.get("measured"):
        table.add_row("measured: lossless with", "", f"{measured['lossless_bytes']:,}")
        table.add_row("measured: loses a packet with a frame less", "", f"{measured['lossy_bytes']:,}")
    display.out.print(table)
    for warning in answer["warnings"]:
        display.out.print(f"[yellow]warning[/yellow] {escape(warning)}")
    if found := answer.get("sonic"):
        for line in sonic_sizing.lines(found):
            display.out.print(escape(line))
        print(json.dumps({"BUFFER_PROFILE": found["BUFFER_PROFILE"]}, indent=4))


def _size(calculate: Callable[[str], str], values: dict[str, Any]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(calculate(json.dumps({k: v for k, v in values.items() if v is not None})))
    except InputError as error:
        # The message begins with the key of the request; the user knows the key as an option.
        named = re.sub(r"^(\w+)(?=: )", lambda key: "--" + key[1].replace("_", "-"), str(error))
        raise InputError(named) from None
    return answer


def _answer(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer))
        return
    from rich.markup import escape

    from xoff import display

    table = display.table("", "")
    table.show_header = False
    warnings = answer.pop("warnings", None) or []
    for key, value in answer.items():
        name = key.removesuffix("_ps").removesuffix("_bytes").replace("_", " ")
        text = formatting.listed(value) if isinstance(value, dict) else formatting.keyed(key, value)
        table.add_row(escape(name), escape(text))
    display.out.print(table)
    for warning in warnings:
        display.out.print(
            f"[yellow]warning[/yellow] {escape(warning if isinstance(warning, str) else warning['message'])}"
        )
