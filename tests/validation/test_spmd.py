"""Programs of every rank (SPMD): equal to the same job with the operations of each rank listed.

The listing is made here, in plain Python, from the definition of a family: blocks of stride x count ranks, and in a
block the ranks whose distance is a multiple of the stride.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.validation.test_ends import without_performance

import xoff

DRAWS = 60
LINK = {"rate": "100Gbps", "delay": "500ns"}
REDUCES = ["all_reduce", "reduce_scatter", "all_gather"]
TEXTBOOK = {kind: [None, "ring", "in_network"] for kind in REDUCES} | {
    "all_to_all": [None, "direct", "rounds"],
    "broadcast": [None, "in_network"],
    "reduce": [None],
    "barrier": [None, "in_network"],
}


def groups_of(name: str, family: dict[str, int], ranks: int) -> dict[str, list[int]]:
    """Returns the groups of a family, in the order of their first ranks, with names that sort in this order."""
    stride, count = family["stride"], family["count"]
    found = [
        [first + stride * place for place in range(count)]
        for first in range(ranks)
        if first % (stride * count) < stride
    ]
    digits = len(str(len(found) - 1))
    return {f"{name}{number:0{digits}}": members for number, members in enumerate(found)}


def listed(graph: dict[str, Any]) -> dict[str, Any]:
    """Returns a graph of every rank with the operations of each rank listed."""
    ranks = graph["ranks"]
    groups = {name: groups_of(name, family, ranks) for name, family in graph["families"].items()}
    # Sets of one group, whose ranks may have any order.
    groups |= {name: {name: members} for name, members in graph["groups"].items()}
    rows = []
    for rank in range(ranks):
        for row in graph["operations"]:
            own: dict[str, Any] = {"rank": rank, **row}
            if "group" in row:
                own["group"] = next(name for name, members in groups[row["group"]].items() if rank in members)
                own["label"] = row.get("label", row["group"])
            rows.append(own)
    both = {name: members for one in groups.values() for name, members in one.items()}
    return {**{key: value for key, value in graph.items() if key != "families"}, "operations": rows, "groups": both}


def families_of(rng: Random, ranks: int) -> dict[str, dict[str, int]]:
    """Draws families of at least two ranks in a group."""
    pairs = [
        (stride, count)
        for count in range(2, ranks + 1)
        for stride in range(1, ranks + 1)
        if ranks % (stride * count) == 0
    ]
    chosen = [rng.choice(pairs) for _ in range(rng.randint(1, 3))]
    return {name: {"stride": s, "count": c} for name, (s, c) in zip(["DP", "EP", "TP"], chosen, strict=False)}


def program(rng: Random, graph: dict[str, Any], classes: int) -> list[dict[str, Any]]:
    """Draws a program: computations and collectives, each after some earlier operations."""
    is_nccl = graph.get("library") == "nccl"
    rows: list[dict[str, Any]] = []
    for number in range(rng.randint(3, 9)):
        before = rng.sample(range(number), min(number, rng.choice([0, 1, 1, 2])))
        row: dict[str, Any] = {"name": f"o{number}", "after": [f"o{other}" for other in before]}
        row["iteration"] = number // 4
        if rng.random() < 0.3:
            row["stream"] = rng.choice(["compute", "other"])
        if rng.random() < 0.2:
            row["unit"] = "gpu"
        name = rng.choice([*graph["families"], *graph["groups"], None])
        if name is None:
            rows.append({"kind": "compute", "duration": rng.choice(["0ns", "1us", "777ns"]), **row})
            continue
        kind = rng.choice(list(TEXTBOOK))
        algorithm = None if is_nccl else rng.choice(TEXTBOOK[kind])
        row |= {"kind": kind, "group": name}
        row |= {} if algorithm is None else {"algorithm": algorithm}
        row |= {} if kind == "barrier" else {"size": f"{rng.choice([20_000, 33_333, 50_001])}B"}
        row |= {"label": "named"} if rng.random() < 0.2 else {}
        row |= {"overhead": "300ns"} if rng.random() < 0.2 else {}
        row |= {"class": rng.randrange(classes)} if rng.random() < 0.5 and classes > 1 else {}
        rows.append(row)
    # The beginnings of ranks differ without the messages of others.
    return rows


def draw(seed: int, library: str) -> dict[str, Any]:
    """Draws a scenario with a program of every rank."""
    rng = Random(f"{library} {seed}")
    servers, gpus = rng.choice([2, 3, 6]), rng.choice([1, 2, 4])
    ranks = servers * gpus
    classes = rng.choice([1, 2])
    graph: dict[str, Any] = {"ranks": ranks, "families": families_of(rng, ranks), "groups": {}}
    graph["placement"] = rng.choice(["linear", "rail", "random"])
    if rng.random() < 0.3:
        graph["groups"]["All"] = rng.sample(range(ranks), ranks)
    more: dict[str, Any] = {}
    if library == "nccl":
        graph["library"] = "nccl"
        network: dict[str, Any] = {
            "rail": {"servers": servers, "gpus_per_server": gpus, "rail": LINK},
            "servers": {"gpus": gpus, "gpu": "h100"},
        }
        more["nccl"] = {"qps_per_connection": rng.choice([1, 2, 3])}
    else:
        leaves = {"leaves": servers, "spines": 2, "hosts_per_leaf": gpus, "link": LINK, "fabric_link": LINK}
        network = {"leaf_spine": leaves, "reducers": [{"switches": "*", "link": LINK}]}
        more |= rng.choice([{}, {"connections": "per_message"}, {"connections_per_channel": rng.choice([2, 3])}])
    graph["operations"] = program(rng, graph, classes)
    switch: dict[str, Any] = {"flow_control": {"pfc": {}}} | ({"classes": classes} if classes > 1 else {})
    return {
        "network": network,
        "switch": switch,
        "seed": seed,
        "workload": [{"name": "job", "graph": graph, **more}],
    }


def outcome(scenario: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | str:
    """Returns summary and tables; for a refused scenario the reason without place and names, for a lock the ranks."""
    try:
        result = xoff.run(scenario)
    except xoff.AuditError as error:
        # Ranks may take a unit in different orders, and wait for one another.
        return str(error)
    except xoff.InputError as error:
        return str(error).rsplit(": ", 1)[-1]
    return without_performance(result), {name: result.table(name) for name in result.tables}


@pytest.mark.parametrize("library", ["textbook", "nccl"])
def test_a_program_of_every_rank_is_the_listed_job(library: str) -> None:
    """Fingerprint, summary and all tables are equal: numbers, groups, connections, reducers, fast-forward."""
    ran, collectives = 0, 0
    for seed in range(DRAWS):
        scenario = draw(seed, library)
        job = scenario["workload"][0]
        each = {**scenario, "workload": [{**job, "graph": listed(job["graph"])}]}
        found, expected = outcome(scenario), outcome(each)
        if isinstance(found, str) or isinstance(expected, str):
            assert found == expected, seed
            continue
        assert found[0] == expected[0], seed
        for name, table in expected[1].items():
            assert found[1][name].equals(table), (seed, name)
        ran += 1
        collectives += expected[1]["collectives"].num_rows
    assert ran > DRAWS * 2 // 3
    assert collectives > 4 * ran


def pattern(**more: Any) -> dict[str, Any]:
    """A program of eight ranks: a computation, and an all-reduce of neighbours."""
    rows = [
        {"kind": "compute", "name": "a", "duration": "1us"},
        {"kind": "all_reduce", "name": "b", "after": ["a"], "group": "TP", "size": "10KB"},
    ]
    graph = {"ranks": 8, "families": {"TP": {"stride": 1, "count": 2}}, "operations": rows, **more}
    return {"network": {"star": {"hosts": 8, "link": LINK}}, "workload": [{"name": "job", "graph": graph}]}


def test_equal_layers_are_fast_forwarded_as_in_the_listed_job() -> None:
    names = [f"o{number}" for number in range(120)]
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        after = [names[number - 1]] if number else []
        kinds = [
            {"kind": "compute", "duration": "2us"},
            {"kind": "all_reduce", "group": "TP", "size": "60KB"},
            {"kind": "compute", "duration": "1us"},
            {"kind": "all_gather", "group": "DP", "size": "80KB"},
        ]
        rows.append({"name": name, "after": after, **kinds[number % 4]})
    families = {"TP": {"stride": 1, "count": 2}, "DP": {"stride": 2, "count": 4}}
    scenario = pattern(families=families, operations=rows)
    each = {
        **scenario,
        "workload": [{"name": "job", "graph": listed({"groups": {}, **scenario["workload"][0]["graph"]})}],
    }
    found, expected = xoff.run(scenario), xoff.run(each)
    forward, expected_forward = (one.summary["performance"]["fast_forward"] for one in (found, expected))
    assert forward == expected_forward
    assert forward["packet_hops"] > found.summary["performance"]["data_packet_hops"] / 2
    assert without_performance(found) == without_performance(expected)
    assert all(found.table(name).equals(expected.table(name)) for name in expected.tables)


@pytest.mark.slow
def test_replays_of_many_rows_equal_a_full_run() -> None:
    """2,304 ranks on eight rails have 2,304 rows a step: a replay writes more rows than the least bound, 500,000."""
    rows = [{"kind": "all_reduce", "name": "sum", "group": "DP", "size": f"{288 * 180_000}B"}]
    graph = {"ranks": 2304, "families": {"DP": {"stride": 8, "count": 288}}, "operations": rows}
    rail = {"servers": 288, "gpus_per_server": 8, "rail": LINK, "scale_up": {"rate": "1Tbps", "delay": "25ns"}}
    scenario = {
        "network": {"rail": rail},
        "framing": {"payload": "9000B"},
        "switch": {"flow_control": {"pfc": {}}},
        "workload": [{"name": "job", "graph": graph}],
    }
    found, expected = xoff.run(scenario), xoff.run(scenario, fast_forward=False)
    performance = found.summary["performance"]
    assert performance["fast_forward"]["packet_hops"] > 0.97 * performance["data_packet_hops"]
    assert without_performance(found) == without_performance(expected)
    assert all(found.table(name).equals(expected.table(name)) for name in expected.tables)


def test_operations_of_every_rank_wait_for_other_jobs() -> None:
    scenario = pattern()
    first = scenario["workload"][0]
    rows = [
        {"kind": "compute", "name": "c", "duration": "1us", "after": ["job/b"]},
        {"kind": "barrier", "name": "d", "after": ["c"], "group": "TP"},
    ]
    second = {"name": "later", "graph": {**first["graph"], "operations": rows}}
    both = {**scenario, "workload": [first, second]}
    graphs = [{"name": one["name"], "graph": listed({"groups": {}, **one["graph"]})} for one in both["workload"]]
    found, expected = xoff.run(both), xoff.run({**scenario, "workload": graphs})
    assert without_performance(found) == without_performance(expected)
    ended = {(one["rank"], one["name"]): one for one in found.operations.to_pylist()}
    assert all(ended[rank, "c"]["start_ps"] == ended[rank, "b"]["end_ps"] for rank in range(8))


def test_a_table_without_ranks_is_of_every_rank(tmp_path: Any) -> None:
    (tmp_path / "operations.csv").write_text(
        "kind,name,after,duration,size,group\ncompute,a,,1us,,\nall_reduce,b,a,,10KB,TP\n"
    )
    scenario = pattern()
    del scenario["workload"][0]["graph"]["operations"]
    scenario["workload"][0]["graph"]["operations_table"] = str(tmp_path / "operations.csv")
    assert without_performance(xoff.run(scenario)) == without_performance(xoff.run(pattern()))


COMPUTE = {"kind": "compute", "duration": "1us"}


@pytest.mark.parametrize(
    ("more", "key", "why"),
    [
        (
            {"operations": [{"rank": 0, **COMPUTE}, COMPUTE]},
            "operations[1].rank",
            "give each operation a rank, or none",
        ),
        (
            {"operations": [{"kind": "send", "peer": 1, "size": "1KB"}]},
            "operations[0].kind",
            "give each operation its rank",
        ),
        ({"operations": [{"kind": "barrier", "group": "PP"}]}, "operations[0].group", "families and groups are TP"),
        ({"families": {"TP": {"stride": 3, "count": 2}}}, "families.TP", "stride x count has to divide the ranks"),
        ({"families": {"TP": {"stride": 0, "count": 2}}}, "families.TP", "stride x count has to divide the ranks"),
        ({"families": {"TP": {"stride": 2**62, "count": 4}}}, "families.TP", "stride x count has to divide the ranks"),
        ({"families": {"TP": {"count": 1}}}, "operations[1].group", "a collective needs two ranks or more"),
        ({"groups": {"TP": [0, 1]}}, "families.TP", "give the family another name"),
        ({"operations": [{"rank": 0, **COMPUTE}]}, "families.TP", "remove the ranks of the operations"),
        (
            {"operations": [{"kind": "barrier", "group": "G"}], "groups": {"G": [0, 1]}},
            "operations[0].group",
            "lacks ranks",
        ),
        ({"ranks": None, "families": {}, "operations": [COMPUTE]}, "ranks", "give the number of ranks"),
        ({"operations": [{"after": ["0"], **COMPUTE}]}, "operations[0].after", "`0` (compute) of every rank"),
        (
            {"ranks": 2**20, "families": {}, "operations": 2049 * [COMPUTE]},
            "operations",
            "exceed the maximum of 2147483648",
        ),
    ],
)
def test_what_is_no_program_of_every_rank_is_refused(more: dict[str, Any], key: str, why: str) -> None:
    scenario = pattern(**more)
    graph = scenario["workload"][0]["graph"]
    scenario["workload"][0]["graph"] = {key: value for key, value in graph.items() if value is not None}
    with pytest.raises(xoff.InputError) as error:
        xoff.check(scenario)
    assert str(error.value).startswith(f"workload[0].graph.{key}: ")
    assert why in str(error.value).replace("\u00d7", "x")
