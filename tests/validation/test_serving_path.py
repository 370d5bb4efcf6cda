"""The path of a late token: the parts add up, and what others stretched is what a run without them lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import xoff
from xoff.insight.serving_command import stretch_rows
from xoff.insight.serving_path import Serving, Steps, gaps, stretch


def small(**more: Any) -> dict[str, Any]:
    """Ten requests to layers of Mixtral on a star, with experts on all ranks of each pool."""
    serving = {
        "model": {"preset": "mixtral_8x7b", "layers": 3},
        "compute": {"device": "h100"},
        "arrivals": {"rate": 400.0, "requests": 10},
        "lengths": {"input": 512, "output": 6},
        "prefill": {"data": 2, "expert": 2},
        "decode": {"data": 4, "expert": 4},
        "kv": {"granularity": "layer"},
        **more.pop("serving", {}),
    }
    return {
        "network": {"star": {"hosts": 16, "link": {"rate": "100Gbps", "delay": "500ns"}}, **more.pop("network", {})},
        "framing": {"payload": "4000B"},
        "switch": {"flow_control": {"pfc": {"xoff": "40KB"}}, **more.pop("switch", {})},
        "workload": [{"name": "chat", "serving": serving}],
        "probe": {"delays": "all"},
        **more,
    }


@pytest.mark.parametrize(
    "serving",
    [
        {},
        {"decode": {"tensor": 4, "data": 2}, "prefill": {"tensor": 2}, "first_token": "decode"},
        {"decode": {"tensor": 2, "data": 4, "expert": 8, "max_sequences": 2}},
        {"experts": {"overhead": "20us", "copies": "rank", "dispatch": "fp8"}, "control": {"step": "30us"}},
    ],
    ids=["experts", "tensor", "both", "overhead"],
)
@pytest.mark.parametrize("network", [{}, {"servers": {"gpus": 4}}], ids=["hosts", "servers"])
def test_the_parts_of_a_path_add_up(serving: dict[str, Any], network: dict[str, Any]) -> None:
    """Between two tokens of each request the path has no gap."""
    result = xoff.run(small(serving=serving, network=network))
    paths = Serving(result, "chat")
    makes_first = paths.steps.makes_first
    assert makes_first == (serving.get("first_token") == "decode")
    for request in result.requests.to_pylist():
        steps = paths.steps.of(request)
        assert len(steps) == request["output_tokens"] - (not makes_first)
        times = gaps(request, steps, makes_first=makes_first)
        assert max(times) == request["itl_max_ps"]
        for token, time in enumerate(times, start=1):
            parts = paths.token(request, token)
            short = (
                Serving(result, "chat", window=paths.steps.window(request, token)) if request["request"] == 1 else paths
            )
            assert short.token(request, token) == parts
            assert sum(part.ps for part in parts) == time
            ends = [part.end_ps for part in parts[:-1]]
            assert [part.start_ps for part in parts[1:]] == ends
    # Each step of each DP rank has a path.
    for step in result.steps.to_pylist():
        assert sum(part.ps for part in paths.path(step)) == step["end_ps"] - step["start_ps"]


def test_the_path_leads_through_ranks_that_pass_tokens_on() -> None:
    """With copies for each server the last message of an exchange comes over a rail and NVLink."""
    serving = {"experts": {"copies": "server"}, "prefill": {"data": 4}, "decode": {"data": 8, "expert": 8}}
    result = xoff.run(small(serving=serving, network={"servers": {"gpus": 4}}))
    paths = Serving(result, "chat")
    passed_on = 0
    for step in result.steps.to_pylist():
        parts = paths.path(step)
        assert sum(part.ps for part in parts) == step["end_ps"] - step["start_ps"]
        passed_on += sum(one.kind == other.kind == "message" for one, other in pairwise(parts))
    assert passed_on > 0


def beside(scheduler: str | dict[str, Any]) -> tuple[int, int, dict[str, int]]:
    """Runs decode of 128 sequences on two ranks beside a KV cache of 67 MB to one of the ranks.

    Returns the time of all steps of decode, the bytes of the cache, and the stretch of decode by owner.
    """
    requests = [{"arrival": "0s", "input_tokens": 8, "output_tokens": 30} for _ in range(128)]
    # The last request ends with its KV cache, and joins no step.
    requests.append({"arrival": "20ms", "input_tokens": 4096, "output_tokens": 1})
    scenario = small(
        serving={
            "model": {"preset": "mixtral_8x7b", "layers": 4},
            "prefill": {"max_tokens": 4096},
            "decode": {"data": 2, "expert": 2},
            "kv": {"class": 0},
            "experts": {"class": 1},
            "requests": requests,
        },
        switch={"classes": 2, "scheduler": scheduler},
    )
    del scenario["workload"][0]["serving"]["arrivals"], scenario["workload"][0]["serving"]["lengths"]
    result = xoff.run(scenario)
    found: dict[str, int] = defaultdict(int)
    for row in stretch(result).to_pylist():
        if row["phase"] == "decode":
            found[row["owner"]] += row["time_ps"]
    steps = [row for row in Steps(result, "chat").slowest() if row["phase"] == "decode"]
    time = sum(row["end_ps"] - row["start_ps"] for row in steps)
    return time, max(row["kv_bytes"] for row in result.requests.to_pylist()), dict(found)


def test_on_one_link_stretch_is_the_difference_to_a_run_without_kv() -> None:
    """Decode goes first, or shares the link of a rank in equal turns with a KV cache, or goes last."""
    alone, size, none = beside("strict")
    assert sum(none.values()) < 0.01 * size * 80
    turns, _, found = beside({"drr": "4058B"})
    assert found["KV"] == pytest.approx(turns - alone, rel=0.1)
    assert found["KV"] == sum(found.values())


def test_only_packets_of_others_stretch_a_step() -> None:
    """Ranks that are never the slowest of a step belong to the step, too; other instances do not."""
    serving = {"prefill": {"tensor": 4}, "decode": {"tensor": 2, "instances": 2}, "router": {"policy": "round_robin"}}
    found = stretch(xoff.run(small(serving=serving))).to_pylist()
    assert {row["owner"] for row in found if row["phase"] == "prefill"} == {"KV"}
    serving = {"prefill": {"data": 2, "expert": 2}, "decode": {"data": 2, "expert": 2, "instances": 2}}
    units = [Steps(xoff.run(small(serving=serving)), "chat").unit(rank) for rank in range(6)]
    assert units == ["prefill"] * 2 + ["decode, instance 0"] * 2 + ["decode, instance 1"] * 2
    alone = {"prefill": {}, "decode": {"data": 2, "tensor": 2}}
    units = [Steps(xoff.run(small(serving=alone)), "chat").unit(rank) for rank in range(5)]
    assert units == ["prefill", *["decode, DP rank 0"] * 2, *["decode, DP rank 1"] * 2]


def test_the_command_names_the_packets_that_made_a_token_late(tmp_path: Path) -> None:
    scenario = small()
    del scenario["probe"]
    xoff.run(scenario, out=tmp_path / "out")

    def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "xoff", "explain", str(tmp_path / "out"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    text = explain("--request", "2")
    assert text.returncode == 0
    assert "chat: request 2: 512 tokens in, 6 out" in text.stdout
    assert "on the path of the token" in text.stdout
    found = json.loads(explain("--request", "2", "--token", "3", "--json").stdout)
    token = found["token"]
    assert token["token"] == 3
    assert sum(part["end_ps"] - part["start_ps"] for part in token["path"]) == token["time_ps"]
    assert sum(token["by_cause"].values()) == token["time_ps"]
    # Without a question the request with the longest time between two tokens is explained.
    rows = xoff.load(tmp_path / "out").requests.to_pylist()
    worst = max(rows, key=lambda row: (row["itl_max_ps"], -row["request"]))
    assert json.loads(explain("--json").stdout)["request"]["request"] == worst["request"]
    # The stretch of all steps, in words and as rows.
    shown = explain("--stretch")
    assert "chat: traffic of others stretched the steps of decode by" in shown.stdout
    stretched = json.loads(explain("--stretch", "--json").stdout)
    whole = stretched["steps_ps"]["chat"]
    steps = Steps(xoff.load(tmp_path / "out"), "chat").slowest()
    assert whole["prefill"] == sum(row["end_ps"] - row["start_ps"] for row in steps if row["phase"] == "prefill")
    assert stretched["stretch"] == stretch(xoff.run(small())).to_pylist()
    assert {row["owner"] for row in stretched["stretch"]} == {"KV"}
    for arguments, message in (
        (("--stretch", "--request", "1"), "--stretch: excludes the other questions"),
        (("--request", "10"), "--request 10: unknown request; chat has requests 0 to 9"),
        (("--request", "1", "--token", "6"), "--token 6: out of range; decode made the tokens 1 to 5"),
        (("--token", "1"), "--token: needs --request"),
        (("--request", "1", "--job"), "--request: excludes --flow"),
    ):
        wrong = explain(*arguments)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert message in wrong.stderr


@pytest.mark.parametrize("seed", [1, 2])
def test_kv_caches_meet_steps_in_lock_step_as_often_as_independent_ranks_do(seed: int) -> None:
    """If a rank gets a KV cache during the share p of the steps, some rank of eight does during 1 - (1 - p)^8."""
    ranks = 8
    serving = {
        "model": {"preset": "mixtral_8x7b", "layers": 1},
        "compute": {"peak": 1e18, "memory": 1e15, "kernel": "10us"},
        "arrivals": {"rate": 800.0, "requests": 100},
        "lengths": {"input": 512, "output": 5},
        "prefill": {"instances": 8},
        "decode": {"data": ranks, "expert": ranks, "warm": 32},
        "router": {"policy": "random"},
        "control": {"delay": "1us"},
    }
    result = xoff.run(small(seed=seed, serving=serving))
    arrivals: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for request in result.requests.to_pylist():
        end = request["arrival_ps"] + request["ttft_ps"]
        arrivals[request["decode_rank"]].append((end - request["kv_transfer_ps"], end))
    steps: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for step in result.steps.to_pylist():
        if step["phase"] == "decode":
            steps[step["step"]].append(step)
    meets: dict[int, list[bool]] = {}
    for number, rows in steps.items():
        start, end = min(row["start_ps"] for row in rows), max(row["end_ps"] for row in rows)
        meets[number] = [any(a < end and b > start for a, b in arrivals[rank]) for rank in range(ranks)]
    share = sum(map(sum, meets.values())) / (ranks * len(meets))
    assert 0.01 < share < 0.03
    some = sum(map(any, meets.values())) / len(meets)
    # A hundred KV caches: one of ten steps is met, give or take a tenth.
    assert some == pytest.approx(1 - (1 - share) ** ranks, rel=0.15)
    # A KV cache stretches no step that it does not meet, and many of those that exchange tokens meanwhile.
    stretched = {row["step"] for row in stretch(result).to_pylist() if (row["phase"], row["owner"]) == ("decode", "KV")}
    assert all(any(meets[number]) for number in stretched)
    assert len(stretched) > 0.25 * some * len(meets)


def test_a_run_prints_the_stretch_of_steps() -> None:
    titles = dict(stretch_rows(xoff.run(small())))
    assert "%" in titles["chat: stretch of steps of decode by others"]
    assert "(KV " in titles["chat: stretch of steps of prefill by others"]
    plain = dict(stretch_rows(xoff.run(small(probe={}))))
    assert plain["stretch of steps by others"] == 'not measured; set probe.delays = "all"'
