"""Recurring parts of training jobs are fast-forwarded, layers and iterations included, and no other parts."""

import json
from random import Random
from typing import Any

import pytest
from tests.validation.test_fast_forward import PFC, rails, skipped

from params import first_fast
from xoff.conformance.loads import RECORDED
from xoff.conformance.runs import FORWARDED

MODEL = {"layers": 16, "hidden": 512, "heads": 8, "sequence": 128, "vocabulary": 1024}
# Messages with fewer packets, and collectives with fewer steps, than searches need.
COMPUTE = {"peak": 312e12, "efficiency": 0.4}


def job(servers: int, gpus: int, parallel: dict[str, int], batch: int = 0, **more: Any) -> dict[str, Any]:
    """Returns a training job on rails."""
    model = {**MODEL, **more.pop("model", {})}
    batch = batch or parallel.get("data", 1)
    training = {"model": model, "parallel": parallel, "micro_batch": 1, "global_batch": batch, "compute": COMPUTE}
    return {
        "network": rails(servers, gpus),
        "framing": {"payload": "4096B", "header": "48B"},
        "switch": PFC,
        "audits": RECORDED,
        "workload": [{"name": "job", "training": {**training, **more}}],
    }


BUSY_PERIODS = "busy_periods"
# A stretch between two quiet moments of a layer may be replayed as a busy period.
LAYERS = ("layers", BUSY_PERIODS)
# Each job with the least share of fast-forward in layers and longer periods.
JOBS: dict[str, tuple[float, dict[str, Any]]] = {
    "layers": (0.15, job(2, 4, {"tensor": 4, "data": 2}, model={"layers": 40})),
    "layers of sequences in parts": (0.07, job(2, 4, {"tensor": 4, "context": 2, "data": 1})),
    "layers, gradients by layer": (0.05, job(2, 4, {"tensor": 4, "data": 2}, buckets=16)),
    "layers, parameters of which are gathered": (0.4, job(2, 4, {"tensor": 4, "data": 2, "zero": 3}, overlap=False)),
    "iterations": (0.4, job(2, 2, {"tensor": 2, "data": 2}, model={"layers": 1}, iterations=12)),
    "micro-batches": (0.3, job(2, 2, {"tensor": 2, "data": 2}, 32, model={"layers": 1})),
    # Jobs with too few layers, or with layers inside a longer period.
    "micro-batches of layers": (0.5, job(2, 4, {"tensor": 4, "data": 2}, 32, model={"layers": 4})),
    "iterations of layers": (0.4, job(2, 4, {"tensor": 4, "data": 2}, iterations=12)),
    "iterations of micro-batches": (0.3, job(2, 2, {"tensor": 2, "data": 2}, 6, model={"layers": 2}, iterations=10)),
    "micro-batches in a pipeline": (0.3, job(2, 2, {"tensor": 2, "pipeline": 2}, 24, model={"layers": 2})),
    # All ranks send to all others at once: no layer takes as long as the preceding layer.
    "layers of experts": (
        0.0,
        job(2, 4, {"tensor": 2, "data": 4, "expert": 4}, model={"experts": 4, "top_k": 2, "layers": 24}),
    ),
    "layers, DCQCN": (
        0.15,
        {
            **job(2, 4, {"tensor": 4, "data": 2}, model={"layers": 40}),
            "switch": {**PFC, "ecn": {"red": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}},
            "host": {"congestion_control": {"dcqcn": {}}},
        },
    ),
    "layers, each packet": (
        0.1,
        {**job(2, 4, {"tensor": 4, "data": 2}, model={"layers": 40}), "probe": {"packets": True}},
    ),
    "layers, a host that computes slower for a while": (
        0.0,
        {
            **job(2, 4, {"tensor": 4, "data": 2}, model={"layers": 40}),
            "fault": [{"host": "host1", "compute": 1.5, "at": "100us", "duration": "50us"}],
        },
    ),
    "layers, a link that fails": (
        0.05,
        {
            **job(2, 4, {"tensor": 4, "data": 2}, model={"layers": 40}),
            "fault": [{"link": "host1-server0", "state": "down", "at": "300us", "duration": "30us"}],
        },
    ),
}


def test_what_is_spent_within_messages_in_vain_is_not_taken_from_layers() -> None:
    model = {"layers": 20, "hidden": 4096, "sequence": 1024, "vocabulary": 50_000}
    scenario = job(4, 4, {"tensor": 4}, 4, model=model)
    assert min(skipped(scenario, plan) for plan in FORWARDED) > 0.9
    assert min(skipped(scenario, plan, *LAYERS) for plan in FORWARDED[:2]) > 0.6


@pytest.mark.parametrize("name", JOBS)
def test_layers_and_iterations_are_fast_forwarded(name: str) -> None:
    least, scenario = JOBS[name]
    assert min(skipped(scenario, plan, *LAYERS) for plan in FORWARDED[:3]) >= least


LARGE = {"hidden": 2048, "sequence": 512}
# Jobs without other long periods, with the least share replayed from one quiet moment to another.
QUIET: dict[str, tuple[float, dict[str, Any]]] = {
    # Of the paths drawn by seeds, few let layers recur; seed 3 does.
    "experts": (
        0.04,
        {
            **job(2, 4, {"tensor": 2, "data": 4, "expert": 4}, model={"experts": 4, "top_k": 2, "layers": 24}),
            "host": {"first_hop": "hash"},
            "seed": 3,
        },
    ),
    # With short windows, components repeat packets and layers in the place of many busy periods.
    "layers within iterations": (0.25, job(2, 4, {"tensor": 4, "data": 2}, model={**LARGE, "layers": 8}, iterations=6)),
    "a short pipeline": (0.1, job(2, 2, {"tensor": 2, "pipeline": 2}, 6, model={**LARGE, "layers": 8}, iterations=4)),
    "a pipeline": (0.6, job(2, 2, {"tensor": 2, "pipeline": 2}, 2, model={**LARGE, "layers": 8}, iterations=24)),
    "each packet": (
        0.04,
        {
            **job(2, 2, {"tensor": 2, "data": 2}, model={**LARGE, "hidden": 1024, "layers": 8}, iterations=4),
            "probe": {"packets": True},
        },
    ),
}


@pytest.mark.parametrize("name", first_fast(QUIET, 2))
def test_what_comes_again_between_quiet_moments_is_fast_forwarded(name: str) -> None:
    least, scenario = QUIET[name]
    shares = [skipped(scenario, plan, BUSY_PERIODS) for plan in FORWARDED]
    assert min(shares) >= least, shares


@pytest.mark.parametrize("until", ["150ms", "150123us"])
def test_a_busy_period_cut_by_the_end_of_a_run_is_simulated(until: str) -> None:
    scenario = {**QUIET["a pipeline"][1], "until": until}
    assert min(skipped(scenario, plan, BUSY_PERIODS) for plan in FORWARDED[:2]) > 0.4


def test_an_external_event_ends_no_busy_period_too_late() -> None:
    # Flows that start and end while layers recur, and a flow with an independent start.
    flows = [{"src": 0, "dst": 3, "size": "200KB", "start": f"{start}us"} for start in (9_001, 15_500, 60_000)]
    scenario = {**QUIET["a pipeline"][1]}
    scenario["workload"] = [*scenario["workload"], {"flows": flows}]
    assert min(skipped(scenario, plan, BUSY_PERIODS) for plan in FORWARDED) > 0.4


def training(rng: Random) -> dict[str, Any]:
    """Draws a job with equal layers, or with varying computations; and with a flow, or with a second job."""
    servers, gpus = rng.choice([2, 4]), rng.choice([2, 4])
    tensor = rng.choice([tensor for tensor in (1, 2, 4) if tensor <= gpus])
    rest = servers * gpus // tensor
    pipeline = rng.choice([stages for stages in (1, 1, 2, 4) if rest % stages == 0])
    data = rest // pipeline
    parallel = {"tensor": tensor, "pipeline": pipeline, "data": data, "zero": rng.choice([0, 0, 1, 2, 3])}
    iterations = rng.choice([1, 1, 2, 10])
    layers = pipeline * (rng.choice([1, 2]) if iterations == 10 else rng.choice([3, 12, 24]))
    model = {"layers": layers, "hidden": rng.choice([512, 1024])}
    jitter = {"compute": {**COMPUTE, "jitter": 0.05}} if rng.random() < 0.1 else {}
    more: dict[str, Any] = {"iterations": iterations, "overlap": rng.random() < 0.7, **jitter}
    scenario = job(servers, gpus, parallel, data * rng.choice([1, 1, 2, 8]), model=model, **more)
    if rng.random() < 0.2:
        scenario["workload"][0]["connections_per_channel"] = 2
    if rng.random() < 0.2:
        flow = {"src": 0, "dst": servers * gpus - 1, "size": f"{rng.randint(100, 900)}KB"}
        scenario["workload"].append({"flows": [{**flow, "start": f"{rng.randint(0, 900)}us"}]})
    if rng.random() < 0.4:
        scenario["host"] = {"transport": {rng.choice(["irn", "selective", "raw"]): {}}}
    return {**scenario, "until": rng.choice(["100ms", "100ms", "1777us"])}


@pytest.mark.parametrize("group", [0, *(pytest.param(group, marks=pytest.mark.slow) for group in range(1, 4))])
def test_jobs_are_skipped_as_far_as_they_do_the_same(group: int) -> None:
    shares = []
    for number in range(10):
        rng = Random(f"jobs {group} {number}")
        scenario = training(rng)
        try:
            shares.append(skipped(scenario, rng.choice(FORWARDED), *LAYERS))
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise
    assert max(shares) > 0.1, shares
