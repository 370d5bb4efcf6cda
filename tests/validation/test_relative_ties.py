"""The order of simultaneous frames with relative ties, in the slow reference, on networks with packets of 80 ns."""

import pytest
from reference.network import Frame, build_network
from reference.simulator import simulate
from reference.symmetry import Symmetry
from reference.turns import Classes
from tests.validation.symmetric_cases import Rotations, Shape, equal_links, explicit, flow, leaf_spine, star

PACKET_PS = 80_000


def order(shape: Shape, pairs: list[tuple[int, int]], rotations: Rotations) -> dict[int, list[int]]:
    """Returns the sources of flows of a packet by destination, in the order of completion."""
    scenario = equal_links(shape, [flow(shape, src, dst, 952) for src, dst in pairs])
    place = {name: number for number, name in enumerate(shape.hosts)}
    found: dict[int, list[int]] = {}
    for one in sorted(simulate(scenario, rotations).flows, key=lambda one: one.fct_ps or 0):
        found.setdefault(place[one.dst], []).append(place[one.src])
    return found


def symmetry(shape: Shape, rotations: Rotations) -> Symmetry:
    links = [(a, b, "100Gbps", "0ns") for _, a, b in shape.links]
    return Symmetry(build_network(explicit(shape, links)["explicit"], Classes((True,), (0,))), rotations)


@pytest.mark.parametrize(("dst", "sources"), [(0, [1, 2, 3]), (1, [2, 3, 0]), (2, [3, 0, 1]), (3, [0, 1, 2])])
def test_a_star_takes_the_sender_that_follows_the_destination_first(dst: int, sources: list[int]) -> None:
    pairs = [(src, dst) for src in range(4) if src != dst]
    assert order(star(4), pairs, [(1, 4)]) == {dst: sources}
    assert order(star(4), pairs, []) == {dst: sorted(sources)}


def test_completion_times_follow_the_order() -> None:
    scenario = equal_links(star(4), [flow(star(4), src, 2, 952) for src in (0, 1, 3)])
    of_hosts = {one.src: one.fct_ps for one in simulate(scenario, [(1, 4)]).flows}
    assert of_hosts == {"host3": 2 * PACKET_PS, "host0": 3 * PACKET_PS, "host1": 4 * PACKET_PS}


def test_a_spine_takes_the_leaf_that_follows_the_leaf_of_the_destination_first() -> None:
    # A leaf takes its hosts by port: host 4 before host 5, and host 0 before host 1.
    shape, pairs = leaf_spine(2, 3, 1), [(src, 2) for src in (0, 1, 4, 5)]
    assert order(shape, pairs, [(2, 3)]) == {2: [4, 0, 5, 1]}
    assert order(shape, pairs, []) == {2: [0, 4, 1, 5]}


def test_senders_of_two_orbits_tie_at_a_spine() -> None:
    # Hosts 0, 2 and 4 are an orbit, and hosts 1, 3 and 5. Leaf 2 is one leaf after leaf 1, and leaf 0 two.
    shape = leaf_spine(2, 3, 1)
    assert order(shape, [(0, 2), (5, 2)], [(2, 3)]) == {2: [5, 0]}
    assert order(shape, [(0, 2), (5, 2)], []) == {2: [0, 5]}


def test_flows_of_an_orbit_meet_the_same_order() -> None:
    # The rotation (2, 2) of four hosts exchanges 0 and 2, and 1 and 3: the order at host 2 is the image of that at 0.
    pairs = [(1, 0), (2, 0), (3, 2), (0, 2)]
    assert order(star(4), pairs, [(2, 2)]) == {0: [1, 2], 2: [3, 0]}
    assert order(star(4), pairs, []) == {0: [1, 2], 2: [0, 3]}


def test_two_digits_rotate_one_by_one() -> None:
    # Host 3 has the digits (1, 1): hosts 0, 1 and 2 become 3, 2 and 1. With one rotation of size 4, hosts 0, 1 and 2
    # become 1, 2 and 3.
    pairs = [(0, 3), (1, 3), (2, 3)]
    assert order(star(4), pairs, [(1, 2), (2, 2)]) == {3: [2, 1, 0]}
    assert order(star(4), pairs, [(1, 4)]) == {3: [0, 1, 2]}


def test_switches_follow_their_hosts() -> None:
    found = symmetry(leaf_spine(2, 3, 2), [(2, 3)])
    names = found.names_for["host5"]
    assert [names[f"host{i}"] for i in range(6)] == ["host2", "host3", "host4", "host5", "host0", "host1"]
    assert [names[f"leaf{i}"] for i in range(3)] == ["leaf1", "leaf2", "leaf0"]
    assert [names[f"spine{i}"] for i in range(2)] == ["spine0", "spine1"]
    assert found.turning == {"spine0", "spine1"}


def test_an_answer_takes_its_turn_by_its_own_destination() -> None:
    star_of_4 = symmetry(star(4), [(1, 4)])
    switch = star_of_4.nodes["s"]

    def turn(route: tuple[str, ...], kind: str) -> int:
        return star_of_4.turn(switch, switch.port_to(route[0]), Frame(kind, 64, route))

    # One, two and three hosts after the destination.
    routes = [("host3", "s", "host2"), ("host0", "s", "host2"), ("host1", "s", "host2")]
    assert [turn(route, "ack") // 4 for route in routes] == [1, 2, 3]
    assert turn(routes[0], "ack") == turn(routes[0], "data")
    # At equal distances, ports decide.
    assert turn(("host1", "s", "host0"), "data") < turn(("host2", "s", "host1"), "data") < turn(routes[0], "data")


@pytest.mark.parametrize("rotations", [[(1, 3)], [(2, 4)], [(4, 2)]])
def test_sizes_that_do_not_divide_the_hosts_are_refused(rotations: Rotations) -> None:
    with pytest.raises(ValueError, match="are no rotations of 4 hosts"):
        symmetry(star(4), rotations)


def test_digits_that_move_a_link_onto_another_link_are_refused() -> None:
    # Rotations within pairs of hosts take leaves of three apart.
    with pytest.raises(ValueError, match="onto itself"):
        symmetry(leaf_spine(3, 2, 1), [(1, 2)])
    scenario = equal_links(star(4), [flow(star(4), 0, 1, 952)])
    scenario["network"]["explicit"]["links"][3]["delay"] = "1ps"
    with pytest.raises(ValueError, match="onto itself"):
        simulate(scenario, [(1, 4)])


def test_digits_need_relative_ties() -> None:
    scenario = equal_links(star(4), [flow(star(4), 0, 1, 952)])
    del scenario["ties"]
    with pytest.raises(ValueError, match="relative ties"):
        simulate(scenario, [(1, 4)])
    with pytest.raises(ValueError, match="relative ties"):
        simulate(scenario | {"ties": "absolute"})
