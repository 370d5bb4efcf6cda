"""Output of ``xoff export``: bytes by the document of each format, and as read by installed tools."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xoff
from patience import PATIENCE_SECONDS
from small import Command
from xoff import InputError
from xoff.commands import completion
from xoff.exporting import FORMATS, Written, fct, frames, pcapng
from xoff.exporting.frames import Flow, Frame

_SCENARIO: dict[str, Any] = {
    "seed": 7,
    "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
    "framing": {"payload": "1000B", "preamble_and_ifg": "20B"},
    "switch": {
        "buffer": {"per_port": "60KB"},
        "flow_control": {"pfc": {"xoff": "20KB", "xon": "10KB"}},
        "ecn": {"step": {"threshold": "15KB"}},
    },
    "host": {"congestion_control": {"dcqcn": {"cnp": "packet"}}},
    "workload": [{"name": "incast", "incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}}],
    "probe": {"packets": True, "queues": "1us"},
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> xoff.Result:
    """Three senders with marked and paused packets."""
    return xoff.run(_SCENARIO, out=tmp_path_factory.mktemp("export") / "incast")


def _export(result: xoff.Result, name: str, place: Path, *choices: str) -> Written:
    return FORMATS[name].write(result, place, list(choices))


def _with(result: xoff.Result, **tables: pa.Table) -> xoff.Result:
    """A result with other tables in the place of some."""
    all_tables = {name: result.table(name) for name in result.tables} | tables
    return xoff.Result(result.scenario, result.summary, {name: partial(all_tables.get, name) for name in all_tables})


# Captures


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a capture: type and body. Both of their lengths have to agree, and to end with the file."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert data[at + length - 4 : at + length] == struct.pack("<I", length)
        yield kind, data[at + 8 : at + length - 4]
        at += length
    assert at == len(data)


def _options(body: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while (code := struct.unpack_from("<H", body, at)[0]) != 0:
        length = struct.unpack_from("<H", body, at + 2)[0]
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + -(-length // 4) * 4
    return found


def _packets(data: bytes) -> list[tuple[int, int, bytes]]:
    """Time, interface and bytes of each frame of a capture."""
    found = []
    for kind, body in _blocks(data):
        if kind == 6:
            interface, high, low, captured, whole = struct.unpack_from("<5I", body)
            assert captured == whole
            found.append((high << 32 | low, interface, body[20 : 20 + captured]))
    return found


def _sum(data: bytes) -> int:
    """Returns the one's complement sum of RFC 1071: all ones for a header with its checksum."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _invariant(frame: bytes) -> int:
    """The ICRC of an IPv4 packet, after annex A17.3.3 of the InfiniBand specification."""
    packet = bytearray(frame[14:-4])
    packet[1] = packet[8] = 0xFF
    packet[10:12] = packet[26:28] = b"\xff\xff"
    packet[32] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(packet))


def test_a_capture_holds_the_frames_that_left_by_a_link(result: xoff.Result, tmp_path: Path) -> None:
    written = _export(result, "pcapng", tmp_path / "a.pcapng", "host1-switch0")
    data = (tmp_path / "a.pcapng").read_bytes()
    blocks = list(_blocks(data))
    assert [kind for kind, _ in blocks[:3]] == [0x0A0D0D0A, 1, 1]
    assert struct.unpack_from("<IHHq", blocks[0][1]) == (0x1A2B3C4D, 1, 0, -1)
    for (_, body), name in zip(blocks[1:3], ["host1 port 0 to switch0", "switch0 port 1 to host1"], strict=True):
        options = _options(body[8:])
        assert body[:8] == struct.pack("<HHI", 1, 0, 0)
        assert options[2] == name.encode()
        assert options[8] == struct.pack("<Q", 10**11)
        assert options[9] == b"\x0c"
    left = [
        row
        for row in result.packets.to_pylist()
        if row["event"] == "depart" and (row["node"], row["port"]) in {("host1", 0), ("switch0", 1)}
    ]
    found = _packets(data)
    assert written.parts == {"frames": len(left), "directions of links": 2}
    assert [(time, ["host1", "switch0"][interface]) for time, interface, _ in found] == [
        (row["time_ps"], row["node"]) for row in left
    ]
    # The scenario's sizes are on the wire, with a gap of 20 bytes and a check sequence of 4.
    kinds = Counter(row["kind"] for row in left)
    assert set(kinds) == {"data", "ack", "pfc", "cnp"}
    for row, (_, _, frame) in zip(left, found, strict=True):
        assert len(frame) >= row["bytes"] - 24
        assert len(frame) == row["bytes"] - 24 or row["kind"] in {"ack", "cnp"}
        if row["kind"] == "pfc":
            continue
        is_forward = row["kind"] == "data"
        assert _sum(frame[14:34]) == 0xFFFF
        assert struct.unpack("<I", frame[-4:])[0] == _invariant(frame)
        assert frame[26:34] == bytes([10, 0, 0, 2, 10, 0, 0, 1] if is_forward else [10, 0, 0, 1, 10, 0, 0, 2])
        assert struct.unpack_from(">H", frame, 16)[0] == len(frame) - 14
        if is_forward:
            assert frame[15] & 3 == (3 if row["marked"] else 2)
            assert int.from_bytes(frame[51:54], "big") == row["seq"]
    assert any(row["marked"] for row in result.packets.to_pylist())


@pytest.mark.parametrize(
    ("seq", "is_last", "opcode"), [(0, False, 0x06), (3, False, 0x07), (3, True, 0x08), (0, True, 0x0A)]
)
def test_a_flow_is_one_write(seq: int, is_last: bool, opcode: int) -> None:
    frame = Frame("data", 2, 4, 65_540, Flow(1, 70_000, 5000), seq, 0, 1048, 3, is_last=is_last)
    data = frames.encode(frame)
    assert len(data) == 1044
    assert data[:14] == bytes.fromhex("020000000004 020000000002 0800".replace(" ", ""))
    # Class 3 is class selector 3; a packet that could be marked is ECT(0).
    assert data[15] == 3 << 5 | 2
    assert data[26:34] == bytes([10, 0, 0, 2, 10, 1, 0x11, 0x71])
    assert struct.unpack_from(">HHHH", data, 34) == (0xC000 | 4, 4791, 1044 - 34, 0)
    bth = data[42:54]
    assert bth[0] == opcode
    assert struct.unpack(">I", bth[4:8])[0] == 65_542
    assert bth[8] == (0x80 if is_last else 0)
    assert data[54:70] == (struct.pack(">QII", 0, 0, 5000) if seq == 0 else bytes(16))
    assert (
        frames.encode(Frame("data", 2, 4, 1, Flow(1, 3, 5000), seq, 0, 1048, 3, False, is_last, True))[42]
        == opcode | 0x20
    )


def test_pfc_names_classes_and_quanta() -> None:
    """IEEE 802.3 annex 31D: opcode 0x0101, the class enable vector, eight times."""
    data = frames.encode(Frame("pfc", 9, 5, 0, None, 0b1000_0010, 65_535, 64, 0))
    assert len(data) == 60
    assert data[:16] == bytes.fromhex("0180c2000001020000000009 8808 0101".replace(" ", ""))
    assert struct.unpack_from(">9H", data, 16) == (0b1000_0010, 0, 65_535, 0, 0, 0, 0, 0, 65_535)
    resumed = frames.encode(Frame("pfc", 9, 5, 0, None, 0b10, 0, 64, 0))
    assert struct.unpack_from(">9H", resumed, 16) == (0b10, *[0] * 8)


def test_answers_say_what_came() -> None:
    ack = frames.encode(Frame("ack", 4, 2, 7, Flow(1, 3, 5000), 12, 0, 64, 0, is_marked=True))
    # The frame acknowledges packet 11, echoes a mark, and goes from the flow's end to its start.
    assert (ack[42], ack[46], int.from_bytes(ack[51:54], "big"), ack[54]) == (0x11, 0x40, 11, 0x1F)
    assert ack[26:34] == bytes([10, 0, 0, 4, 10, 0, 0, 2])
    nack = frames.encode(Frame("nack", 4, 2, 7, Flow(1, 3, 5000), 12, 15, 64, 0))
    assert (nack[42], nack[46], int.from_bytes(nack[51:54], "big"), nack[54]) == (0x11, 0, 12, 0x60)
    cnp = frames.encode(Frame("cnp", 4, 2, 7, Flow(1, 3, 5000), 0, 0, 64, 0))
    assert (cnp[42], cnp[46], cnp[54:70]) == (0x81, 0x40, bytes(16))
    assert len(cnp) == 14 + 20 + 8 + 12 + 16 + 4
    # Computed by another implementation of RoCEv2.
    assert frames.encode(Frame("ack", 1, 2, 7, Flow(3, 4, 5000), 9, 0, 64, 3, is_marked=True))[-4:].hex() == "70013d2a"
    assert cnp[-4:] == struct.pack("<I", _invariant(cnp))


def test_notifications_of_bridges_repeat_what_they_are_about() -> None:
    cim = frames.encode(Frame("cim", 4, 2, 7, Flow(1, 3, 5000), 1, 12, 64, 0))
    assert cim[12:15] == b"\x89\xa2\x01"
    assert cim[15:27] == frames.mac(3) + frames.mac(1)
    assert struct.unpack_from(">HH", cim, 27) == (0, 48)
    assert cim[31:33] == b"\x08\0"
    assert int.from_bytes(cim[31 + 39 : 31 + 42], "big") == 12
    cnm = frames.encode(Frame("cnm", 4, 2, 7, Flow(1, 3, 5000), 37, 5, 64, 2))
    assert cnm[:14] == frames.mac(1) + frames.mac(4) + b"\x22\xe7"
    assert struct.unpack_from(">HQHHH", cnm, 14) == (37, 5, 0, 0, 2 << 13)
    assert struct.unpack_from(">6sH", cnm, 30) == (frames.mac(3), 48)


@pytest.mark.parametrize("kind", ["sfcm", "bcn", "portfc", "bfc", "sack", "new_and_longer", "ack"])
def test_what_has_no_published_form_is_ours(kind: str) -> None:
    # Rows about an unknown flow are left out, too.
    flow = None if kind == "ack" else Flow(1, 3, 5000)
    data = frames.encode(Frame(kind, 4, 2, 7, flow, 2**32 - 1, 20_000, 64, 5))
    assert len(data) == 60
    assert data[12:14] == b"\x88\xb5"
    expected = (1, 5, kind.encode()[:8].ljust(8, b"\0"), 7, 2**32 - 1, 20_000)
    assert struct.unpack_from(">BB8s3I", data, 14) == expected


def test_a_link_is_named_by_its_ends(result: xoff.Result, tmp_path: Path) -> None:
    places = [tmp_path / f"{index}.pcapng" for index in range(3)]
    for place, name in zip(places, ["host1-switch0", "switch0-host1", "host1-*"], strict=True):
        _export(result, "pcapng", place, name)
    assert len({place.read_bytes() for place in places}) == 1
    assert _export(result, "pcapng", tmp_path / "all", "*").parts["directions of links"] == 8
    with pytest.raises(InputError, match="--pcapng: no link is called `host1-switch`; near are `host1-switch0`"):
        _export(result, "pcapng", tmp_path / "none", "host1-switch")
    assert not (tmp_path / "none").exists()


def test_a_compressed_capture_is_the_same(result: xoff.Result, tmp_path: Path) -> None:
    for name in ("a.pcapng", "b.pcapng.gz", "c.pcapng.gz"):
        _export(result, "pcapng", tmp_path / name, "*")
    packed = (tmp_path / "b.pcapng.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.pcapng").read_bytes()
    # The file contains no name and no time.
    assert packed == (tmp_path / "c.pcapng.gz").read_bytes()


def test_wireshark_reads_every_kind_of_frame(result: xoff.Result, tmp_path: Path) -> None:
    if (tshark := shutil.which("tshark")) is None:
        pytest.skip("tshark is not installed (Debian: apt-get install tshark)")
    kinds = ["data", "header", "ack", "nack", "cnp", "pfc", "cim", "cnm", "sfcm", "bcn", "portfc", "bfc", "sack"]
    first = next(row for row in result.packets.to_pylist() if row["event"] == "depart" and row["kind"] == "data")
    made = [first | {"kind": kind, "time_ps": 1_000_500 + index, "seq": 1} for index, kind in enumerate(kinds)]
    real = [row for row in result.packets.to_pylist() if row["event"] == "depart"]
    table = pa.Table.from_pylist([*made, *real], schema=result.packets.schema)
    pcapng.write(_with(result, packets=table), tmp_path / "all.pcapng", ["*"])
    fields = [
        "frame.time_epoch", "eth.type", "ip.dsfield.ecn", "udp.dstport", "infiniband.bth.opcode", "infiniband.bth.psn",
        "infiniband.aeth.syndrome", "macc.cbfc.enbv", "macc.cbfc.pause_time.c0", "_ws.malformed", "_ws.col.Info",
    ]  # fmt: skip
    command = [tshark, "-r", str(tmp_path / "all.pcapng"), "-T", "fields", "-E", "separator=|"]
    environment = os.environ | {"HOME": str(tmp_path), "TZ": "UTC"}
    done = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))],
        capture_output=True, text=True, env=environment, timeout=PATIENCE_SECONDS, check=True,
    )  # fmt: skip
    lines = [dict(zip(fields, line.split("|"), strict=True)) for line in done.stdout.splitlines()]
    assert len(lines) == len(made) + len(real)
    assert not [line for line in lines if line["_ws.malformed"] or "alformed" in line["_ws.col.Info"]]
    assert lines[0]["frame.time_epoch"].startswith("0.000001000")
    known = {"pfc": "0x00008808", "cim": "0x000089a2", "cnm": "0x000022e7"}
    known |= dict.fromkeys(("sfcm", "bcn", "portfc", "bfc", "sack"), "0x000088b5")
    for row, line in zip([*made, *real], lines, strict=True):
        assert int(line["eth.type"], 16) == int(known.get(row["kind"], "0x0800"), 16)
        if row["kind"] in {"data", "header"}:
            assert int(line["ip.dsfield.ecn"]) == (3 if row["marked"] else 2)
            assert int(line["infiniband.bth.psn"]) == row["seq"]
        if row["kind"] in {"ack", "nack", "cnp"}:
            assert int(line["infiniband.bth.opcode"]) == (0x81 if row["kind"] == "cnp" else 0x11)
            assert line["udp.dstport"] == "4791"
    paused = [
        line["macc.cbfc.pause_time.c0"] for row, line in zip(made + real, lines, strict=True) if row["kind"] == "pfc"
    ]
    assert {"0", "65535"} <= set(paused)


def test_rows_of_packets_say_what_frames_do(result: xoff.Result) -> None:
    """PFC frames have quanta or resume; the last packet of each flow says so; and no slot of a side record is shown."""
    packets = result.packets.to_pylist()
    assert {row["payload_field"] for row in packets if row["kind"] == "pfc"} == {0, 65_535}
    assert {row["payload_field"] for row in packets if row["kind"] != "pfc"} == {0}
    ends = {(row["flow"], row["seq"]) for row in packets if row["last_of_flow"] and row["kind"] == "data"}
    assert ends == {(flow, 99) for flow in range(3)}
    telemetry = _SCENARIO | {
        "switch": {"buffer": {"per_port": "200KB"}, "telemetry": {}},
        "host": {"congestion_control": {"hpcc": {}}},
    }
    one, two = (xoff.run(telemetry, threads=threads).packets for threads in (1, 2))
    assert one.equals(two)
    assert set(one.column("payload_field").to_pylist()) == {0}


def test_a_run_without_packets_says_what_to_run(tmp_path: Path, xoff_here: Command) -> None:
    scenario = {key: value for key, value in _SCENARIO.items() if key != "probe"}
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    assert xoff_here("run", "s.json", "--out", "my run").returncode == 0
    done = xoff_here("export", "my run", "--pcapng", "host1-switch0")
    again = "xoff run 'my run/scenario.json' --set probe.packets=true --out 'my run-again'"
    assert (done.returncode, done.stderr) == (
        2,
        f"xoff: error: the result has no `packets`; repeat the run: {again}\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my run", "s.json"]
    repeated = xoff_here(
        "run", "my run/scenario.json", "--set", "probe.packets=true", "--out", "my run-again", "--json"
    )
    assert json.loads(repeated.stdout)["fingerprint"] == xoff.load(tmp_path / "my run").fingerprint
    assert xoff_here("export", "my run-again", "--pcapng", "host1-switch0").returncode == 0


# Perfetto


def _fields(data: bytes) -> list[tuple[int, Any]]:
    """Returns the fields of a protocol buffer message: numbers, and the bytes of fields with a length."""
    found: list[tuple[int, Any]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        assert key & 7 in {0, 2}
        length = varint()
        if key & 7 == 2:
            found.append((key >> 3, data[at : at + length]))
            at += length
        else:
            found.append((key >> 3, length))
    assert at == len(data)
    return found


def _trace(data: bytes) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """The tracks and the events of a trace."""
    tracks, events = {}, []
    for number, packet in _fields(data):
        assert number == 1
        whole = dict(_fields(packet))
        assert whole[10] == 1
        if 60 in whole:
            track = dict(_fields(whole[60]))
            tracks[track[1]] = {"name": track[2].decode(), "parent": track.get(5), "is_counter": 8 in track}
            assert 5 not in track or track[5] in tracks
        else:
            body = _fields(whole[11])
            facts = {}
            for field, inner in body:
                if field == 4:
                    fact = dict(_fields(inner))
                    facts[fact[10].decode()] = fact[3] if 3 in fact else fact[6].decode()
            event = dict(body)
            assert event[11] in tracks
            name = event.get(23, b"").decode()
            events.append(
                {"time": whole[8], "type": event[9], "track": event[11], "name": name, "value": event.get(30)} | facts
            )
    return tracks, events


def test_a_trace_has_pauses_queues_and_flows(result: xoff.Result, tmp_path: Path) -> None:
    written = _export(result, "perfetto", tmp_path / "trace")
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    paths: dict[int, str] = {}
    for number, track in tracks.items():
        above = paths.get(track["parent"], "")
        paths[number] = f"{above}/{track['name']}"
    pauses, flows = result.pauses.to_pylist(), result.flows.to_pylist()
    assert written.parts == {"pauses": len(pauses), "samples": result.samples.num_rows, "flows": 3}
    open_slices: dict[int, dict[str, Any]] = {}
    found = []
    for event in events:
        if event["type"] == 1:
            # No two slices of a track overlap.
            assert event["track"] not in open_slices
            open_slices[event["track"]] = event
        elif event["type"] == 2:
            begun = open_slices.pop(event["track"])
            assert begun["time"] <= event["time"]
            found.append((paths[event["track"]], begun, event["time"]))
    assert not open_slices
    slices = sorted(
        (path, begun["start_ps"], begun["end_ps"], begun["time"], end) for path, begun, end in found if "paused" in path
    )
    assert slices == sorted(
        (
            f"/{row['node']}/port {row['port']} to {row['peer']}/paused: {row['cause']}, queue {row['queue']}",
            row["start_ps"],
            row["end_ps"],
            row["start_ps"] // 1000,
            row["end_ps"] // 1000,
        )
        for row in pauses
    )
    assert len(slices) > 2
    named = {begun["name"]: (path, begun, end) for path, begun, end in found if path.endswith("/flows")}
    for row in flows:
        path, begun, end = named[f"flow {row['flow']} to {row['dst']}"]
        assert path == f"/{row['src']}/flows"
        assert (begun["fct_ps"], begun["size_bytes"]) == (row["fct_ps"], 100_000)
        assert end == (row["start_ps"] + row["fct_ps"]) // 1000
    counters = {number for number, track in tracks.items() if track["is_counter"]}
    assert counters
    for counter in counters:
        values = [event["value"] for event in events if event["track"] == counter]
        times = [event["time"] for event in events if event["track"] == counter]
        assert max(values) > 0
        # Emptied queues are zero, and times never go back.
        assert values[-1] == 0
        assert times == sorted(times)


def test_flows_that_overlap_have_tracks_of_their_own(tmp_path: Path) -> None:
    flow = {"src": "host0", "dst": "host1", "size": "10KB"}
    flows = [flow | {"start": start} for start in ("0", "0", "1ms")]
    scenario = _SCENARIO | {"workload": [{"flows": flows}], "probe": {}}
    written = _export(xoff.run(scenario), "perfetto", tmp_path / "trace")
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    lanes = [event["track"] for event in events if event["type"] == 1]
    # The third flow reuses the track of a finished flow.
    assert len(lanes) == 3
    assert len(set(lanes)) == 2
    assert {tracks[lane]["name"] for lane in lanes} == {"flows"}
    assert written.notes[-1].endswith("xoff run DIR/scenario.json --set probe.queues=1us --out DIR-again")


def test_what_failed_has_a_track_for_each_fault(tmp_path: Path) -> None:
    faults = [
        {"link": "host1-switch0", "state": "down", "at": "1us", "duration": "2us", "queued": "wait"},
        {"link": "host0-switch0", "delay": "2us", "at": "2us"},
    ]
    scenario = _SCENARIO | {"fault": faults, "probe": {}}
    failed = xoff.run(scenario)
    assert _export(failed, "perfetto", tmp_path / "trace").parts["faults"] == 2
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    found = [event for event in events if tracks[event["track"]]["name"].startswith(("down:", "delay:"))]
    down, longer, up = sorted(found, key=lambda event: (event["type"], event["time"]))
    assert (down["name"], down["time"], up["time"]) == ("host1-switch0: down", 1000, 3000)
    # A slice open at the end of the run has no end.
    assert (longer["name"], longer["time"], longer["start_ps"]) == ("host0-switch0: delay", 2000, 2_000_000)


def test_what_never_ended_has_no_end(result: xoff.Result, tmp_path: Path) -> None:
    pauses, flows = (result.table(name).to_pylist() for name in ("pauses", "flows"))
    pauses[-1]["end_ps"] = flows[-1]["fct_ps"] = None
    cut = _with(
        result,
        pauses=pa.Table.from_pylist(pauses, schema=result.pauses.schema),
        flows=pa.Table.from_pylist(flows, schema=result.flows.schema),
    )
    _export(cut, "perfetto", tmp_path / "trace")
    _, events = _trace((tmp_path / "trace").read_bytes())
    counts = Counter(event["type"] for event in events)
    assert counts[1] == counts[2] + 2
    assert _export(cut, "fct", tmp_path / "fct", "hpcc").notes == ("1 flows did not end and are left out",)


def test_perfettos_own_messages_read_a_trace(result: xoff.Result, tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", exc_type=ImportError)
    unknown_fields = pytest.importorskip("google.protobuf.unknown_fields")
    _export(result, "perfetto", tmp_path / "trace")
    trace = messages.Trace.FromString((tmp_path / "trace").read_bytes())
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    assert trace.FindInitializationErrors() == []
    for packet in trace.packet:
        assert len(unknown_fields.UnknownFieldSet(packet)) == 0
        assert len(unknown_fields.UnknownFieldSet(packet.track_event)) == 0
        assert len(unknown_fields.UnknownFieldSet(packet.track_descriptor)) == 0
    assert sum(packet.HasField("track_descriptor") for packet in trace.packet) == len(tracks)
    read = [packet for packet in trace.packet if packet.HasField("track_event")]
    assert [(one.timestamp, one.track_event.type, one.track_event.name) for one in read] == [
        (one["time"], one["type"], one["name"]) for one in events
    ]
    kinds = {one.track_descriptor.counter.unit for one in trace.packet if one.track_descriptor.HasField("counter")}
    assert kinds == {messages.CounterDescriptor.UNIT_SIZE_BYTES}


def test_trace_processor_reads_a_trace(result: xoff.Result, tmp_path: Path) -> None:
    if (shell := shutil.which("trace_processor_shell") or shutil.which("trace_processor")) is None:
        pytest.skip("Perfetto's trace_processor_shell is not installed: the trace is not read by it")
    _export(result, "perfetto", tmp_path / "trace")
    (tmp_path / "q.sql").write_text("select count(*) as n from slice where name like 'paused by pfc%';")
    done = subprocess.run(
        [shell, "-q", str(tmp_path / "q.sql"), str(tmp_path / "trace")],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True,
    )  # fmt: skip
    assert str(result.pauses.num_rows) in done.stdout.split()


def test_names_of_somebody_else_are_data(result: xoff.Result, tmp_path: Path) -> None:
    evil = "\x1b[31m\nswitch0"
    tables = {}
    for name in ("links", "pauses", "packets", "flows", "samples"):
        table = result.table(name)
        for column in {"node", "peer", "src", "dst", "cause", "kind"} & {*table.column_names}:
            texts = [evil if cell in {"switch0", "pfc"} else cell for cell in table.column(column).to_pylist()]
            table = table.set_column(table.column_names.index(column), column, pa.array(texts, pa.string()))
        tables[name] = table
    hostile = _with(result, **tables)
    _export(hostile, "perfetto", tmp_path / "trace")
    tracks, events = _trace((tmp_path / "trace").read_bytes())
    shown = [track["name"] for track in tracks.values()] + [event["name"] for event in events]
    assert "\ufffd[31m\ufffdswitch0" in shown
    assert not [name for name in shown if not name.isprintable()]
    _export(hostile, "pcapng", tmp_path / "a.pcapng", "host1-*")
    names = [
        _options(body[8:])[2].decode() for kind, body in _blocks((tmp_path / "a.pcapng").read_bytes()) if kind == 1
    ]
    assert names == ["host1 port 0 to \ufffd[31m\ufffdswitch0", "\ufffd[31m\ufffdswitch0 port 1 to host1"]


# Completion times


def test_completion_times_are_those_that_scripts_of_hpcc_read(result: xoff.Result, tmp_path: Path) -> None:
    _export(result, "fct", tmp_path / "fct.txt", "hpcc")
    lines = [line.split(" ") for line in (tmp_path / "fct.txt").read_text().splitlines()]
    flows = result.flows.to_pylist()
    assert len(lines) == 3
    for line, row in zip(lines, flows, strict=True):
        # Host n has the address 11.0.n.1; the flows are an incast, which the scripts know by port 200.
        assert line[0] == f"0b00{int(row['src'].removeprefix('host')):02x}01"
        assert line[1:5] == ["0b000001", "10000", "200", "100000"]
        assert [int(cell) for cell in line[5:]] == [
            round(row[name] / 1000) for name in ("start_ps", "fct_ps", "ideal_fct_ps")
        ]
        # The results of the scripts.
        assert int(line[6]) / int(line[7]) == pytest.approx(row["slowdown"], rel=1e-3)


def test_flows_of_a_pair_have_ports_of_their_own(tmp_path: Path) -> None:
    flow = {"src": "host0", "dst": "host1", "size": "10KB", "start": "0"}
    scenario = _SCENARIO | {"workload": [{"flows": [flow, flow, flow | {"dst": "host2"}]}]}
    fct.write(xoff.run(scenario), tmp_path / "fct.txt", ["hpcc"])
    lines = sorted(line.split(" ")[1:4] for line in (tmp_path / "fct.txt").read_text().splitlines())
    assert lines == [["0b000101", "10000", "100"], ["0b000101", "10001", "100"], ["0b000201", "10000", "100"]]
    with pytest.raises(InputError, match="--fct: `ns3` is no form of completion times; allowed: hpcc"):
        fct.write(xoff.run(scenario), tmp_path / "other", ["ns3"])


# CSV


def _csv(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened))


def test_tables_are_csv_files(result: xoff.Result, tmp_path: Path) -> None:
    written = _export(result, "csv", tmp_path / "csv")
    assert sorted(path.stem for path in (tmp_path / "csv").iterdir()) == result.tables
    assert written.parts["tables"] == len(result.tables)
    names, *lines = _csv(tmp_path / "csv" / "flows.csv")
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    for row, expected in zip(rows, result.flows.to_pylist(), strict=True):
        assert {key: row[key] for key in ("src", "fct_ps", "workload")} == {
            "src": expected["src"], "fct_ps": str(expected["fct_ps"]), "workload": "incast",
        }  # fmt: skip


def test_no_name_becomes_a_formula(result: xoff.Result, tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@x", "\t=1", "fine", 'a "quoted", name', None]
    table = pa.table({"=cell": names, "number": [-1, *range(7)]})
    readers = {"../=evil": lambda: table, "category": lambda: pa.table({"x": table.column(0).dictionary_encode()})}
    _export(xoff.Result(result.scenario, result.summary, readers), "csv", tmp_path / "csv")
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["__evil.csv", "category.csv"]
    cells = ["'=1+1", "'+1", "'-1", "'@x", "'\t=1", "fine", 'a "quoted", name', ""]
    evil = _csv(tmp_path / "csv" / "__evil.csv")
    assert evil[0] == ["'=cell", "number"]
    # A number is no text.
    assert evil[1:] == [[cell, str(number)] for cell, number in zip(cells, [-1, *range(7)], strict=True)]
    assert [row[0] if row else "" for row in _csv(tmp_path / "csv" / "category.csv")] == ["x", *cells]


# Places


def test_results_are_exported_beside_themselves_and_nothing_is_overwritten(
    result: xoff.Result, tmp_path: Path, xoff_here: Command
) -> None:
    shutil.copytree(str(result.directory), tmp_path / "run")
    options = {"--perfetto": "run.perfetto-trace", "--csv": "run-csv"}
    for option, name in options.items():
        done = xoff_here("export", "run", option)
        assert (done.returncode, done.stdout.split(":")[0]) == (0, name)
        again = xoff_here("export", "run", option)
        assert again.stderr == f"xoff: error: {name}: exists; choose another name with --out, or remove it\n"
        assert again.returncode == 2
    both = xoff_here("export", "run", "--fct", "hpcc", "--pcapng", "host1-switch0", "--json")
    exports = json.loads(both.stdout)["exports"]
    assert [(one["format"], one["path"]) for one in exports] == [
        ("pcapng", "run.pcapng.gz"),
        ("fct", "run.fct.txt"),
    ]
    elsewhere = xoff_here("export", "run", "--fct", "hpcc", "--out", "new/folder/x.txt")
    assert elsewhere.stdout == "new/folder/x.txt: 3 flows\n"
    assert not list(tmp_path.rglob(".partial*"))
    for arguments, why in [
        ([], "no format: give --perfetto, --pcapng, --fct, --counters or --csv"),
        (
            ["--csv", "--perfetto", "--out", "x"],
            "--out: takes one format, and 2 were given; export one format at a time",
        ),
    ]:
        done = xoff_here("export", "run", *arguments)
        assert (done.returncode, done.stderr) == (2, f"xoff: error: {why}\n")


def test_an_export_that_fails_leaves_nothing(result: xoff.Result, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        _export(result, "pcapng", tmp_path / "deep" / "er" / "x", "nowhere")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written: "):
        _export(result, "fct", tmp_path / "file" / "x", "hpcc")


def test_a_run_of_a_study_can_be_exported(tmp_path: Path) -> None:
    base = {key: value for key, value in _SCENARIO.items() if key != "probe"}
    xoff.sweep(
        {"base": base, "axes": {"switch.forwarding_latency": ["1us"]}, "keep": ["flows"]}, out=tmp_path / "study"
    )
    run = min((tmp_path / "study" / "runs").glob("[0-9a-f]*"))
    kept = xoff.load(run)
    written = _export(kept, "perfetto", tmp_path / "trace")
    assert written.parts == {"flows": 3}
    assert [note.split("`")[1] for note in written.notes] == ["pauses", "samples"]
    with pytest.raises(
        InputError, match=r"the result has no `links`; repeat the run: xoff run .*/scenario\.json --out "
    ):
        _export(kept, "fct", tmp_path / "fct", "hpcc")


@pytest.mark.parametrize(
    ("table", "column", "cells"),
    [
        ("links", "node", None),
        ("packets", "time_ps", [-1]),
        ("packets", "bytes", [1.5]),
        ("packets", "flow", [None]),
        ("flows", "src", ["somebody"]),
        ("pauses", "start_ps", [float("nan")]),
    ],
)
def test_damaged_tables_give_one_error(
    result: xoff.Result, tmp_path: Path, table: str, column: str, cells: list[Any] | None
) -> None:
    place = shutil.copytree(str(result.directory), tmp_path / "run")
    file = Path(place) / f"{table}.parquet"
    old = pq.read_table(file)
    index = old.column_names.index(column)
    if cells is None:
        pq.write_table(old.drop_columns([column]), file)
    else:
        pq.write_table(old.set_column(index, column, pa.array(cells * old.num_rows)), file)
    damaged = xoff.load(place)
    found = []
    for name, choices in {"perfetto": [], "pcapng": ["*"], "fct": ["hpcc"]}.items():
        try:
            _export(damaged, name, tmp_path / f"x-{name}", *choices)
        except InputError as error:
            found.append(str(error))
    assert found
    assert all(("is damaged" in error and table in error) or "somebody" in error for error in found)


def test_directories_of_results_are_completed(
    result: xoff.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(str(result.directory), tmp_path / "out" / "incast")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completion.results("") == ["other/", "out/"]
    assert completion.results("ou") == ["out/"]
    assert completion.results("out/") == ["out/incast"]
    assert completion.results("out/i") == ["out/incast"]
    assert completion.results("./ou") == ["./out/"]
    assert completion.results("nowhere/x") == []
