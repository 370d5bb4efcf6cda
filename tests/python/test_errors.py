"""Bad input ends in exit code 2 and one message with the key, without a traceback and without written files."""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xoff
from patience import PATIENCE_SECONDS
from small import TOML, Command

_PFC = "switch.flow_control.pfc"
_SFC = "switch.flow_control.sfc"
_DCQCN = "host.congestion_control.dcqcn"
_SENDERS = "workload[0].incast.senders"


def refused(done: Any, *parts: str) -> None:
    """Checks that a command was refused in one message with all parts."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("xoff: error: ")
    assert done.stderr.count("\n") == 1, "more than one line"
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        (f"{_PFC}.xof=1KB", [f"{_PFC}.xof: ", "`xoff`"]),
        (f"{_PFC}.xoff=10us", [f"{_PFC}.xoff: ", "10us", "KB"]),
        (f"{_PFC}.xoff=0B", [f"{_PFC}.xoff: ", "above zero"]),
        (f"{_PFC}.xoff=250KB", [f"{_PFC}.xoff: ", "200KB"]),
        (
            'switch.flow_control={congestion_isolation={},sfc={threshold="10KB",pause="1us",mode="proxy_isolation"}}',
            ["switch.flow_control.congestion_isolation", "switch.classes"],
        ),
        (f"{_PFC}.quanta=0", [f"{_PFC}.quanta: ", "1 to 65535"]),
        (f"{_PFC}.quanta=70000", [f"{_PFC}.quanta: ", "70000"]),
        (f"{_PFC}.accounting=both", [f"{_PFC}.accounting: ", "`ingress` or `egress`"]),
        (f"{_PFC}=true", [f"{_PFC}: ", "true was given; a table is needed"]),
        (f"{_PFC}.xon=199KB", [f"{_PFC}.xon: ", "199KB is not below XOFF"]),
        (_PFC + '={xoff="10KB",xon="20KB"}', [f"{_PFC}.xon: ", "10KB"]),
        (_SFC + '={threshold="10KB",pause="0ns"}', [f"{_SFC}.pause: ", "1ns"]),
        (_SFC + '={threshold="0B",pause="1us"}', [f"{_SFC}.threshold: ", "above zero"]),
        (_SFC + '={threshold="10KB"}', [f"{_SFC}.pause: ", "exactly one of pause"]),
        (
            _SFC + '={threshold="10KB",pause="1us",resume="5KB",resume_ends="queue"}',
            [f"{_SFC}.resume_ends: ", "no effect in mode"],
        ),
        (
            _SFC + '={threshold="10KB",pause="1us",mode="proxy_isolation",resume_ends="queue"}',
            [f"{_SFC}.resume_ends: ", "needs resume"],
        ),
        (_SFC + '={threshold="10KB",pause="1us",fallback="shortest"}', [f"{_SFC}.fallback: ", "nic_isolation"]),
        (
            'switch={queueing="iq",flow_control={sfc={threshold="10KB",pause="1us",signals="last_hop"}}}',
            [f"{_SFC}.signals: ", "set switch.queueing = "],
        ),
        (
            'switch.ecn.red={kmin="400KB",kmax="100KB",pmax=0.2}',
            ["switch.ecn.red.kmin: ", "400KB is above kmax, 100KB"],
        ),
        ('switch.ecn.red={kmin="100KB",kmax="400KB",pmax=1.2}', ["switch.ecn.red.pmax: ", "0 to 1"]),
        ('switch.ecn.red={kmin="100KB",kmax="400KB",pmax=nan}', ["switch.ecn.red.pmax: "]),
        ("host.relay.ecn=true", ["host.relay.ecn: ", "give switch.ecn"]),
        ('switch.ecn={scope="port"}', ["switch.ecn: ", "exactly one of red and step"]),
        (
            'switch.ecn={red={kmin="1KB",kmax="4KB"},step={threshold="1KB"}}',
            ["switch.ecn: ", "exactly one of red and step"],
        ),
        ('switch.ecn={step={threshold="1KB"},scope="ports"}', ["switch.ecn.scope: ", "`port`"]),
        ('switch.ecn={step={threshold="1KB"},classes=[0,2]}', ["switch.ecn.classes: ", "2 is out of range"]),
        ('switch.ecn={step={threshold="1KB"},classes=[]}', ["switch.ecn.classes: ", "the list is empty"]),
        ("switch.ecn.step.threshold=8GiB", ["switch.ecn.step.threshold: ", "4GiB"]),
        ("switch.forwarding_latency=-5ns", ["switch.forwarding_latency: ", "-5ns"]),
        ("switch.forwarding_latency=10s", ["switch.forwarding_latency: ", "1s"]),
        ("switch.classes=9", ["switch.classes: ", "1 to 8"]),
        ("switch.classes=-1", ["switch.classes: ", "-1"]),
        ("switch.queueing=voqq", ["switch.queueing: ", "`voq`"]),
        (
            "switch.flow_control.pfc.classes=[1]",
            ["switch.flow_control.pfc.classes: 1 is out of range", "switch.classes"],
        ),
        ("switch.flow_control.pfc.classes=[]", ["switch.flow_control.pfc.classes: ", "the list is empty"]),
        (
            "switch={classes=2,flow_control={pfc={hop_classes=true,classes=[0]}}}",
            ["switch.flow_control.pfc.classes: ", "mutually exclusive with hop_classes"],
        ),
        (
            'switch.flow_control={pfc={classes=[0]},sfc={threshold="10KB",pause="1us",mode="nic_isolation"}}',
            ["switch.flow_control.pfc.classes: ", "not allowed with sfc"],
        ),
        ("switch.flow_control.pfc.send=[0]", ["switch.flow_control.pfc.send: ", "unknown key"]),
        (
            "switch={flow_control={pfc={}},overrides=[{pfc={send=[3]}}]}",
            ["switch.overrides[0].pfc.send: 3 is out of range"],
        ),
        ("switch.scheduler=wfq", ["switch.scheduler: ", "`drr`"]),
        ("switch.scheduler.drr=1B", ["switch.scheduler.drr: ", "64B"]),
        ("switch.scheduler.queues=[]", ["switch.scheduler.queues: ", "the list is empty"]),
        (
            'switch.scheduler={drr="2KB",queues=[{type="dwrr"}]}',
            ["switch.scheduler: drr and queues are given", "exactly one of strict, round_robin, drr, queues"],
        ),
        (
            'switch={classes=1,scheduler={queues=[{type="dwrr"},{type="dwrr"}]}}',
            ["switch.scheduler.queues: 2 entries are listed", "switch.classes"],
        ),
        (
            'switch={queueing="iq",scheduler={queues=[{type="dwrr"}]}}',
            ["switch.scheduler.queues: ", "set switch.scheduler = "],
        ),
        (
            'switch={classes=2,strict_priority_classes=1,scheduler={queues=[{type="dwrr"}]}}',
            ["switch.strict_priority_classes: ", "switch.scheduler.queues", "remove switch.strict"],
        ),
        (
            'switch={classes=2,scheduler={queues=[{type="dwrr",weight=101}]}}',
            ["switch.scheduler.queues[0].weight: 101", "1 to 100"],
        ),
        ('switch.scheduler={queues=[{type="dwrr",weight=0}]}', ["switch.scheduler.queues[0].weight: 0", "1 to 100"]),
        (
            'switch={classes=2,scheduler={queues=[{type="dwrr"},{type="strict",weight=2}]}}',
            [
                "switch.scheduler.queues[1].weight: ",
                'not allowed with type = "strict"',
                "remove switch.scheduler.queues[1].weight",
            ],
        ),
        ('switch.scheduler={queues=[{type="wrr"}]}', ["switch.scheduler.queues[0].type: ", "`dwrr`"]),
        ("switch.scheduler={queues=[{weight=2}]}", ["switch.scheduler.queues[0]: ", "missing key `type`"]),
        ("switch.buffer.per_port=10B", ["switch.buffer.per_port: ", "1048 B"]),
        ("switch.buffer.per_port=1PB", ["switch.buffer.per_port: ", "TB"]),
        (
            'switch.buffer={per_port="1MB",shared={total="1MB"}}',
            [
                "switch.buffer: per_port and shared are given",
                "exactly one of unlimited, per_port, per_queue, shared is needed",
            ],
        ),
        ('switch.buffer={shared={total="1MB",reserve="1TB"}}', ["switch.buffer.shared.reserve: ", "1MB"]),
        ('switch.buffer={shared={total="1MB",headroom="1TB"}}', ["switch.buffer.shared.headroom: ", "1MB"]),
        ('switch.buffer={shared={total="50KB"}}', ["switch.buffer.shared.total: ", "headroom"]),
        ("switch.buffer=infinite", ["switch.buffer: ", "`unlimited`"]),
        ('switch.buffer={shared={total="1MB",alpha=1e9}}', ["switch.buffer.shared.alpha: ", "1024"]),
        ('switch.buffer={shared={total="1MB",alpha=-1}}', ["switch.buffer.shared.alpha: ", "above 0"]),
        ('switch.buffer={shared={total="9TB",alpha=1}}', ["switch.buffer.shared.total: ", "1TB"]),
        (f"{_DCQCN}.preset=no_such_nic", [f"{_DCQCN}.preset: ", "`conweave`"]),
        (f"{_DCQCN}.g=2", [f"{_DCQCN}.g: ", "between 0 and 1"]),
        (f"{_DCQCN}.window=0B", [f"{_DCQCN}.window: ", "above zero"]),
        ("host.congestion_control.no_such={}", ["host.congestion_control.no_such: ", "`dcqcn`"]),
        ("host.transport.no_such={}", ["host.transport.no_such: ", "`go_back_n`"]),
        ("host.transport.go_back_n.rto=0s", ["host.transport.go_back_n.rto: ", "100ns"]),
        ("host.transport.go_back_n.rto=forever", ["host.transport.go_back_n.rto: ", "150ns"]),
        ("framing.payload=0B", ["framing.payload: "]),
        ("framing.payload=100KB", ["framing.payload: ", "65535"]),
        ("framing.control_frame_size=0B", ["framing.control_frame_size: "]),
        ("framing.header=100KB", ["framing.header: ", "65535"]),
        ("framing.preamble_and_ifg=100KB", ["framing.preamble_and_ifg: ", "65535"]),
        ("network.star.hosts=1000000000", ["network.star.hosts: ", "1 to 16000"]),
        ("network.star.hosts=0", ["network.star.hosts: ", "1 to"]),
        ("network.star.hosts=-4", ["network.star.hosts: ", "-4"]),
        ("network.star.hosts=4.5", ["network.star.hosts: ", "4.5 was given; a whole number, zero or more is needed"]),
        ("network.star.hosts=nan", ["network.star.hosts: "]),
        ("network.star.link.rate=0Gbps", ["network.star", "0bps"]),
        ("network.star.link.rate=100", ["network.star.link.rate: ", "200Gbps"]),
        ("network.star.link.rate=100GBps", ["network.star.link.rate: ", "Gbps"]),
        ("network.star.link.rate=infGbps", ["network.star.link.rate: ", "200Gbps"]),
        ("network.star.link.delay=400s", ["network.star.link.delay: ", "400s"]),
        ("network.star.link.delay=", ["network.star.link.delay: ", "150ns"]),
        ("network.star=1", ["network.star: 1 was given; a table is needed"]),
        ('network.star=[4, ["100Gbps", "1us"]]', ["network.star: a list was given; a table is needed"]),
        ('network.star.link=["100Gbps", "1us"]', ["network.star.link: a list was given; a table is needed"]),
        ("network={}", ["network: ", "star, line"]),
        (
            'network.line={switches=2,hosts_per_switch=1,link={rate="1Gbps",delay="1us"}}',
            ["network: ", "star and line"],
        ),
        ("seed=x", ["seed: "]),
        ("seed=-1", ["seed: ", "-1"]),
        ("seed=1.5", ["seed: ", "1.5"]),
        ("seed=18446744073709551616", ["seed: "]),
        ("seed=[[[[", ["seed: "]),
        ("until=0s", ["until: "]),
        ("until=-1s", ["until: ", "negative"]),
        ("probe.queues=1ps", ["probe.queues: ", "1ns"]),
        ("probe.packets=yes", ["probe.packets: "]),
        ("audits.loss=ignore", ["audits.loss: ", "`record`"]),
        ("audits.colour=fail", ["audits.colour: ", "`loss`"]),
        ("workload=1", ["workload: 1 was given; a list is needed"]),
        ("workload[0.class=0", ["workload[0.class: ", "brackets"]),
        ("workload[]=1x", ["workload[]: ", "number"]),
        ("workload[0]x=1", ["workload[0]x: ", "brackets"]),
        ("seed=1\nname=2", ["seed: ", "more than one line"]),
        ("workload[0].class=1", ["workload[0].class: ", "switch.classes"]),
        ("workload[0].start=-1s", ["workload[0].start: ", "negative"]),
        ("workload[1].class=0", ["workload[1].class: ", "the list has 1"]),
        ("workload[x].class=0", ["workload[x].class: ", "number"]),
        ("workload[-1].class=0", ["workload[-1].class: ", "number"]),
        ("workload.incast=1", ["workload.incast: ", "not a table"]),
        (f"{_SENDERS}=[]", [f"{_SENDERS}: ", "empty"]),
        (f'{_SENDERS}=["host9"]', [f"{_SENDERS}[0]: ", "host9"]),
        (f'{_SENDERS}=["switch0"]', [f"{_SENDERS}[0]: ", "is a switch"]),
        (f"{_SENDERS}=[-1]", [f"{_SENDERS}[0]: ", "-1"]),
        (f"{_SENDERS}=[0]", [f"{_SENDERS}[0]: ", "itself"]),
        ("workload[0].incast.size=1000TB", ["workload[0].incast.size: ", "2^32"]),
        ("workload[0].incast.size=0B", ["workload[0].incast.size: ", "at least 1B"]),
        ("no_such_key=1", ["no_such_key: ", "`workload`"]),
        ("novalue", ["--set", "novalue", "KEY=VALUE"]),
        ("=1", ["--set", "KEY=VALUE"]),
        ("switch..delay=1ns", ["switch..delay: ", "dots"]),
        (".".join(["name"] * 10_000) + "=1", ["name: "]),
    ],
)
def test_bad_setting(xoff_here: Command, scenario_file: Path, setting: str, parts: list[str]) -> None:
    refused(xoff_here("run", scenario_file, "--out", "deep/result", "--set", setting), *parts)
    assert sorted(scenario_file.parent.iterdir()) == [scenario_file]


def _flow(more: str) -> str:
    return f'flows = [{{ src = "host1", dst = "host0", size = "1KB", {more} }}]'


_INCAST = 'incast = { senders = [1, 2, 3], receiver = 0, size = "100KB" }'
_LINK = 'link = { rate = "100Gbps", delay = "1us" }'
_STAR = f"[network.star]\nhosts = 4\n{_LINK}"


def _explicit(nodes: str, links: str) -> str:
    names = ", ".join(f'{{ name = "{n.split(":")[0]}", kind = "{n.split(":")[1]}" }}' for n in nodes.split())
    ends = ", ".join(
        f'{{ a = "{e.split("-")[0]}", b = "{e.split("-")[1]}", rate = "1Gbps", delay = "1us" }}' for e in links.split()
    )
    return f"[network.explicit]\nnodes = [{names}]\nlinks = [{ends}]"


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("receiver = 0", "receiver = 9", ["workload[0].incast.receiver: ", "0 to 3"]),
        ("receiver = 0", "receiver = 1", ["workload[0].incast", "itself"]),
        ('size = "100KB"', "size = 100", ["workload[0].incast.size: ", "400KB"]),
        ('size = "100KB"', 'size = "-1KB"', ["workload[0].incast.size: ", "-1KB"]),
        ("hosts = 4", "hosts = true", ["network.star.hosts: "]),
        ("hosts = 4", "hosts = 4\nhosts = 5", ["line 7", "duplicate"]),
        ("hosts = 4", "hosts = 184467440737095516150", ["line 6"]),
        ("[network.star]", "[network.ring]", ["network.ring: ", "`star`"]),
        ("[network.star]", "[network.star", ["line 5"]),
        ('name = "small"', "name = 1979-05-27", ["name: "]),
        ("[network.star]", "a." * 100_000 + "a = 1\n[network.star]", ["TOML"]),
        (_STAR, "", ["`network`"]),
        (_STAR, f"[network.fat_tree]\nk = 3\n{_LINK}", ["network.fat_tree.k: ", "even"]),
        (_STAR, f"[network.fat_tree]\nk = 1000000\n{_LINK}", ["network.fat_tree.k: ", "64"]),
        (
            _STAR,
            f"[network.leaf_spine]\nleaves = 8\nspines = 8\nhosts_per_leaf = 8\nparallel = 1000000000\n{_LINK}",
            ["network.leaf_spine.parallel: ", "1 to 64"],
        ),
        (
            _STAR,
            f"[network.leaf_spine]\nleaves = 1000\nspines = 1000\nhosts_per_leaf = 8\n{_LINK}\nparallel = 60",
            ["network.leaf_spine", "too many"],
        ),
        (_STAR, "[network.explicit]", ["network.explicit.nodes: ", "empty"]),
        (_STAR, _explicit("a:switch b:switch", "a-b"), ["network.explicit", "no host"]),
        (_STAR, _explicit("a:host a:switch", "a-a"), ["network.explicit.nodes[1].name: ", "`a`"]),
        (_STAR, _explicit("a:host b:router", "a-b"), ["network.explicit.nodes[1].kind: ", "`switch`"]),
        (_STAR, _explicit("a:host b:switch", "a-c"), ["network.explicit.links[0].b: ", "`c`"]),
        (_STAR, _explicit("a:host b:switch", "b-b"), ["network.explicit.links[0]: ", "itself"]),
        (_STAR, _explicit("a:host b:host c:host d:host s:switch", "a-s b-s c-s"), ["no path", "d to a"]),
        (_INCAST, "", ["workload[0]: ", "exactly one of incast"]),
        (_INCAST, f'{_INCAST}\npermutation = {{ size = "1KB" }}', ["workload[0]: ", "incast and permutation"]),
        (_INCAST, 'permutation = { size = "1KB", hosts = [1] }', ["workload[0].permutation.hosts: ", "two"]),
        (_INCAST, 'all_to_all = { size = "1KB", hosts = [1, 1] }', ["workload[0].all_to_all.hosts: ", "twice"]),
        (_INCAST, _flow('dst = "host1"'), ["line 19", "duplicate"]),
        (_INCAST, 'flows = [{ src = 1, dst = 1, size = "1KB" }]', ["workload[0].flows[0]: ", "itself"]),
        (_INCAST, _flow('after = ["x"]'), ["workload[0].flows[0].after[0]: ", "`x`"]),
        (_INCAST, _flow('id = "x", after = ["x"]'), ["workload[0].flows[0].after[0]: ", "`x`"]),
        (_INCAST, _flow('via = ["spine9"]'), ["workload[0].flows[0].via[0]: ", "spine9"]),
        (_INCAST, _flow('via = ["host2"]'), ["workload[0].flows[0].via[0]: ", "host2"]),
        (_INCAST, _flow('via = ["switch0/9"]'), ["workload[0].flows[0].via[0]: ", "no link of this number"]),
        (_INCAST, _flow('via = ["switch0/x"]'), ["workload[0].flows[0].via[0]: ", "`x`"]),
        (_INCAST, _flow('via = ["switch0", "switch0"]'), ["workload[0].flows[0].via[1]: "]),
        (_INCAST, _flow('via = "switch0"'), ["workload[0].flows[0].via: "]),
        (_INCAST, _flow(f"via = {['switch0'] * 61}"), ["workload[0].flows[0].via: ", "61", "the maximum is 60"]),
        (_STAR, f"[network.line]\nswitches = 61\n{_LINK}", ["network.line: ", "61 switches; the maximum is 60"]),
        (_STAR, f"[network.line]\nswitches = 500000\n{_LINK}", ["network.line: ", "the maximum is"]),
        (_STAR, "[network.explicit]\nnodes = [{ name = '', kind = 'host' }]", ["network.explicit.nodes[0].name: "]),
        (_INCAST, 'all_to_all = { size = "1KB", hosts = [1] }', ["workload[0].all_to_all.hosts: ", "two"]),
        (
            _INCAST,
            """flows = [
                { src = 1, dst = 0, size = "1KB", id = "a", after = ["b"] },
                { src = 0, dst = 1, size = "1KB", id = "b", after = ["c", "d"] },
                { src = 2, dst = 0, size = "1KB", id = "c" },
                { src = 1, dst = 0, size = "1KB", id = "d", after = ["b"] },
            ]""",
            ["workload[0].flows[1].after: ", "`b` after `d` after `b`"],
        ),
        (_INCAST, _flow('colour = "red"'), ["workload[0].flows[0].colour: ", "`src`"]),
        (
            _INCAST,
            'flows = [{ src = 1, dst = 0, size = "1KB", id = "a" }, { src = 2, dst = 0, size = "1KB", id = "a" }]',
            ["workload[0].flows[1].id: ", "`a`"],
        ),
    ],
)
def test_bad_document(xoff_here: Command, tmp_path: Path, before: str, after: str, parts: list[str]) -> None:
    assert before in TOML
    file = tmp_path / "bad.toml"
    file.write_text(TOML.replace(before, after, 1), "utf-8")
    for command in ("run", "check"):
        refused(xoff_here(command, file), *parts)
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_key_stands_once_in_json_too(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    text = json.dumps(xoff.resolve(tmp_path / "small.toml"))
    (tmp_path / "twice.json").write_text(text.replace('"hosts": 4', '"hosts": 4, "hosts": 5'))
    refused(xoff_here("check", "twice.json"), "twice.json: duplicate key `hosts`")
    (tmp_path / "study.json").write_text('{"base": "small.toml", "seeds": 1, "seeds": 2}')
    refused(xoff_here("sweep", "study.json"), "study.json: duplicate key `seeds`")
    (tmp_path / "not.json").write_text('{"name": "x",\n]')
    refused(xoff_here("check", "not.json"), "line 2: this is not JSON")


@pytest.mark.parametrize(
    ("poisson", "part"),
    [
        ({"load": 0, "sizes": "websearch", "flows": 10}, ".load: "),
        ({"load": 2, "sizes": "websearch", "flows": 10}, ".load: "),
        ({"load": 0.5, "sizes": "websearch"}, "duration and flows"),
        ({"load": 0.5, "sizes": "websearch", "flows": 10, "duration": "1ms"}, "duration and flows"),
        ({"load": 0.5, "flows": 10}, "sizes, cdf and cdf_file"),
        ({"load": 0.5, "sizes": "no-such", "flows": 10}, ".sizes: "),
        ({"load": 0.5, "sizes": "websearch", "flows": -1}, ".flows: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 10, "destinations": []}, ".destinations: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 10, "sources": [1], "destinations": [1]}, ".destinations: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 10, "sources": [1, 1]}, ".sources: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 10, "sources": []}, ".sources: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 0}, ".flows: "),
        ({"load": 0.5, "sizes": "websearch", "flows": 2 * 10**9}, ".flows: about 2.000e9 flows exceed"),
        ({"load": 0.5, "sizes": "websearch", "flows": 10**12}, ".flows: "),
        ({"load": 1e-9, "sizes": "websearch", "flows": 1000}, ".flows: not all flows arrive"),
        ({"load": 0.5, "sizes": "websearch", "duration": "0s"}, ".duration: "),
        ({"load": 0.5, "cdf": [], "flows": 10}, ".cdf: "),
        ({"load": 0.5, "cdf": [[0, 0], [1000, 50]], "flows": 10}, "100"),
        ({"load": 0.5, "cdf": [[1000, 0], [10, 100]], "flows": 10}, "rise"),
        ({"load": 0.5, "cdf": [[0, 0], [0, 100]], "flows": 10}, "zero"),
        ({"load": 0.5, "cdf": [[-5, 0], [10, 100]], "flows": 10}, "out of range"),
        ({"load": 0.5, "cdf": [[0, 0], [1e300, 100]], "flows": 10}, "out of range"),
        ({"load": 0.5, "cdf": [[0, 0], [10]], "flows": 10}, ".cdf[1]: "),
        ({"load": 1.5, "cdf": [[0, 0], [1, 100]], "duration": "200s"}, "100000000"),
    ],
)
def test_bad_poisson(scenario: dict[str, Any], poisson: dict[str, Any], part: str) -> None:
    scenario["workload"] = [{"poisson": poisson}]
    with pytest.raises(xoff.InputError, match=r"^workload\[0\]\.poisson") as caught:
        xoff.check(scenario)
    assert part in str(caught.value)


_BROKEN = [
    b"",
    b"\xff\xfe\x00",
    TOML.encode()[:60],
    TOML.encode("utf-16"),
    bytes(1000),
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"a = [" * 5000,
    b"null",
    b"[]",
    b'"x"',
]


@pytest.mark.parametrize("content", _BROKEN)
def test_broken_file(xoff_here: Command, tmp_path: Path, content: bytes) -> None:
    for name in ("broken.toml", "broken.json"):
        (tmp_path / name).write_bytes(content)
        refused(xoff_here("run", name))


def test_the_installed_command_refuses_in_the_same_way(xoff_command: Command, scenario_file: Path) -> None:
    done = xoff_command("run", scenario_file, "--out", "result", "--set", "switch.flow_control.pfc.xof=1KB")
    refused(done, "switch.flow_control.pfc.xof: ")
    assert sorted(scenario_file.parent.iterdir()) == [scenario_file]


def test_files_that_are_no_scenario(xoff_here: Command, tmp_path: Path) -> None:
    refused(xoff_here("run", "nowhere.toml"), "nowhere.toml", "no such file")
    refused(xoff_here("check", tmp_path), "is a directory")
    refused(xoff_here("check", ""), "is a directory")
    refused(xoff_here("check", "long" * 5000), "cannot be read")
    # Endless, and read no further than a scenario can reach.
    refused(xoff_here("check", "/dev/zero"), "larger than 64 MiB")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run"], "FILE"),
        (["run", "small.toml", "small.toml"], "extra argument"),
        (["run", "small.toml", "--bogus"], "--bogus"),
        (["run", "small.toml", "--set"], "--set"),
        (["run", "small.toml", "--json=1"], "--json"),
        (["run", "small.toml", "--threads", "0"], "--threads"),
        (["run", "small.toml", "--threads", "two"], "--threads"),
        (["run", "small.toml", "--threads", "1000000000"], "--threads"),
        (["run", "small.toml", "--threads", "1" * 40], "--threads"),
        (["run", "small.toml", "--seed", "-1"], "--seed"),
        (["run", "small.toml", "--seed", "x"], "--seed"),
        (["run", "small.toml", "--seed", "1" * 40], "seed"),
        (["check", "small.toml", "--out", "x"], "--out"),
        (["unknown"], "unknown"),
        (["reproduce", "no-such-claim"], "no-such-claim"),
        (["reproduce", "--threads", "0"], "--threads"),
        (["bench", "no-such-case"], "no-such-case"),
        (["bench", "--repeats", "0"], "--repeats"),
        (["size", "sfc", "--incast", "1"], "--incast"),
        (["size", "sfc", "--incast", "3", "--rate", "fast"], "fast"),
        (["size", "sfc", "--incast", "3", "--architecture", "crossbar"], "`voq`"),
        (["size", "sfc", "--incast", "3", "--pause", "-1us"], "negative"),
        (["size", "sfc", "--rate", "0bps"], "--rate: 0bps"),
        (["size", "pfc", "--max-frame", "1500B", "--link-delay", "3KB"], "3KB"),
        (["new", "gadget", "thing"], "gadget"),
        (["new", "mechanism", "Not A Slug"], "Not A Slug"),
    ],
)
def test_bad_arguments(xoff_here: Command, scenario_file: Path, arguments: list[str], part: str) -> None:
    refused(xoff_here(*arguments), part)
    assert sorted(scenario_file.parent.iterdir()) == [scenario_file]


def test_out_that_is_no_result_is_left_alone(xoff_here: Command, scenario_file: Path) -> None:
    precious = scenario_file.parent / "papers"
    precious.mkdir()
    (precious / "thesis.tex").write_text("x")
    refused(xoff_here("run", scenario_file, "--out", precious), "papers")
    # Also beside files that happen to have the names of a result's files.
    for name in ("summary.json", "scenario.json"):
        (precious / name).write_text("{}")
        refused(xoff_here("run", scenario_file, "--out", precious), "papers")
    refused(xoff_here("run", scenario_file, "--out", scenario_file), "not a directory")
    refused(xoff_here("run", scenario_file, "--out", "."), "exists and is not a result")
    refused(xoff_here("run", scenario_file, "--out", ".."), "exists and is not a result")
    assert (precious / "thesis.tex").read_text() == "x"
    assert len(list(precious.iterdir())) == 3


@pytest.mark.parametrize("out", ["/proc/no/such", "small.toml/below", "x" * 300])
def test_out_that_cannot_be_written_is_refused_before_the_run(
    xoff_here: Command, scenario_file: Path, out: str
) -> None:
    # A run of minutes would otherwise come before the message; the size proves that the run did not start.
    refused(xoff_here("run", scenario_file, "--out", out, "--set", "workload[0].incast.size=3TB"), out)
    assert sorted(scenario_file.parent.iterdir()) == [scenario_file]


class _Odd:
    def __repr__(self) -> str:
        return "odd"


def _ring() -> dict[str, Any]:
    ring: dict[str, Any] = {}
    ring["host"] = ring
    return ring


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"seed": math.nan}, "seed: nan"),
        ({"seed": 10**30}, "seed: "),
        ({"name": _Odd()}, "name: odd is of type _Odd"),
        ({"name": b"x"}, "name: "),
        ({"name": "\ud800"}, "name: "),
        ({"name": datetime.date(2024, 1, 1)}, "name: "),
        ({"host": _ring()}, "nested too deeply"),
        ({1: 2}, "1 is not a key"),
        ({"host": {("a", "b"): 1}}, "host: ('a', 'b') is not a key"),
    ],
)
def test_a_dictionary_that_is_no_scenario(scenario: dict[str, Any], change: dict[Any, Any], part: str) -> None:
    with pytest.raises(xoff.InputError) as caught:
        xoff.check(scenario | change)
    assert part in str(caught.value)


def test_numpy_values_are_read(scenario: dict[str, Any]) -> None:
    plain = xoff.resolve(scenario, seed=3)
    scenario["workload"][0]["incast"]["senders"] = np.array([1, 2, 3])
    assert xoff.resolve(scenario, overrides={"seed": np.int64(3)}) == plain


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", None, 10**30])
def test_bad_threads(scenario: dict[str, Any], threads: Any) -> None:
    with pytest.raises(xoff.InputError, match=r"threads: .*1 to 1024"):
        xoff.run(scenario, threads=threads)


@pytest.mark.parametrize("overrides", [5, "seed=3", [1], [("seed", 1, 2)], {1: 2}])
def test_bad_overrides(scenario: dict[str, Any], overrides: Any) -> None:
    with pytest.raises(xoff.InputError, match="overrides: a dictionary"):
        xoff.check(scenario, overrides=overrides)


@pytest.mark.parametrize("path", [5, b"out", "a\0b"])
def test_bad_paths(scenario: dict[str, Any], path: Any) -> None:
    with pytest.raises(xoff.InputError, match=r"out: .* is not a path"):
        xoff.run(scenario, out=path)
    with pytest.raises(xoff.InputError, match=r"is needed|name of a file"):
        xoff.run(path)


@pytest.mark.parametrize("summary", [b"3", b"{}", b"\xff", b'{"fingerprint"'])
def test_load_refuses_what_is_no_summary(tmp_path: Path, summary: bytes) -> None:
    (tmp_path / "scenario.json").write_text("{}")
    (tmp_path / "summary.json").write_bytes(summary)
    with pytest.raises(xoff.InputError, match="not a result directory"):
        xoff.load(tmp_path)


def test_an_argument_of_the_wrong_type() -> None:
    for wrong in ([1, 2], None, os):
        with pytest.raises(xoff.InputError, match="a path, a dictionary or a Scenario"):
            xoff.run(wrong)  # type: ignore[arg-type]


_RUN = """
import json, sys, xoff
try:
    xoff.run(json.load(sys.stdin))
except xoff.InputError as error:
    print(error)
    sys.exit(2)
"""
_LINKS = {"rate": "100Gbps", "delay": "1us"}
_FLOW = {"src": 1, "dst": 0, "size": "1KB"}


@pytest.mark.parametrize(
    ("hosts", "change", "key"),
    [
        # A queue for each input, output and class: 2 · 10^9.
        (16_000, {"switch": {"queueing": "voq", "classes": 8}}, "switch.queueing: "),
        (7_000, {"workload": [{"all_to_all": {"size": "1KB"}}]}, "workload[0].all_to_all: "),
        (4, {"workload": [{"flows": [_FLOW]}] * 70_000}, "workload: "),
        (
            4,
            {"workload": [{"poisson": {"load": 0.5, "sizes": "hadoop", "flows": 10**12}}]},
            "workload[0].poisson.flows: ",
        ),
        (
            4,
            {"workload": [{"poisson": {"load": 0.5, "cdf": [[0, 0], [100, 100]], "flows": 6 * 10**7}}] * 9},
            "workload[1].poisson.",
        ),
    ],
)
def test_absurd_sizes_are_refused_at_once(hosts: int, change: dict[str, Any], key: str) -> None:
    """In little memory, and before the requested work, which would exceed any patience."""
    scenario = {"network": {"star": {"hosts": hosts, "link": _LINKS}}, "workload": [{"flows": [_FLOW]}]} | change

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        input=json.dumps(scenario),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 2, done.stderr[-300:]
    assert done.stdout.startswith(key)


def test_iq_has_no_egress_queues_to_watch(scenario: dict[str, Any]) -> None:
    """The setting would silently never pause."""
    scenario["switch"] |= {"queueing": "iq", "flow_control": {"pfc": {"accounting": "egress"}}}
    with pytest.raises(xoff.InputError, match=r"^switch\.flow_control\.pfc\.accounting: egress"):
        xoff.check(scenario)


def test_a_name_may_not_be_empty() -> None:
    nodes = [{"name": "a", "kind": "host"}, {"name": " ", "kind": "host"}]
    network = {"explicit": {"nodes": nodes, "links": [{"a": "a", "b": " ", **_LINKS}]}}
    with pytest.raises(xoff.InputError, match=r"^network\.explicit\.nodes\[1\]\.name: "):
        xoff.check({"network": network})


def test_sizes_stay_in_the_unit_they_were_given_in(scenario: dict[str, Any]) -> None:
    for size in ("400KB", "64KiB", "1048B", "32MiB", "1.5MB"):
        document = xoff.resolve(scenario, overrides={"switch.buffer.per_port": size})
        assert document["switch"]["buffer"]["per_port"] == size


_WRONG: list[tuple[str, Any]] = [
    (key, value)
    for key in [
        "network.star.hosts",
        "network.star.link",
        "framing",
        "switch.buffer",
        "switch.queueing",
        "switch.classes",
        "switch.ecn",
        "switch.flow_control.pfc",
        "switch.flow_control.pfc.quanta",
        "workload",
        "workload[0].incast.senders",
        "workload[0].incast.receiver",
        "probe.packets",
        "seed",
    ]
    for value in (-1, 4.5, 10**18, True, "text", [], [[1]], {}, {"a": 1, "b": 2})
]


def test_words_of_rust_do_not_reach_the_user(scenario: dict[str, Any]) -> None:
    """Some of these values are valid for some keys; every refusal is free of Rust's words."""
    messages = []
    for key, value in _WRONG:
        try:
            xoff.check(scenario, overrides={key: value})
        except xoff.InputError as error:
            messages.append(str(error))
    assert len(messages) > len(_WRONG) / 2
    words = "u8|u16|u32|u64|f64|struct|map|sequence|null|Params|enum|variant"
    assert [message for message in messages if re.search(rf"\b({words})\b", message)] == []


@pytest.mark.parametrize(
    "command", ["schema | true", "--help | true", "bench --list | true", "--help >&-", "schema >&-"]
)
def test_a_reader_that_leaves_is_no_error(command: str) -> None:
    xoff_path = Path(sys.executable).with_name("xoff")
    done = subprocess.run(
        ["bash", "-c", f"{xoff_path} {command}; exit ${{PIPESTATUS[0]}}"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_scenario_of_a_deadlock_replaces_nothing(xoff_here: Command, scenario_file: Path) -> None:
    before = scenario_file.read_bytes()
    for name in (scenario_file.name, "new.toml"):
        done = xoff_here("check", scenario_file, "--deadlock", name)
        assert done.returncode == 2
        assert f"--deadlock {name}: " in done.stderr
    assert scenario_file.read_bytes() == before


@pytest.mark.parametrize("file", ["flows.parquet", "scenario.json", "summary.json"])
def test_a_damaged_result_is_named(xoff_here: Command, scenario_file: Path, tmp_path: Path, file: str) -> None:
    assert xoff_here("run", scenario_file, "--out", tmp_path / "result").returncode == 0
    (tmp_path / "result" / file).write_bytes(b"{}")
    done = xoff_here("report", tmp_path / "result")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "result") in done.stderr


def test_a_name_is_no_markup(xoff_here: Command, scenario_file: Path) -> None:
    done = xoff_here("run", scenario_file, "--set", 'name="bad [/red] name"')
    assert done.returncode == 0, done.stderr
