"""The paper's own algorithms contradict two of its sentences: counter-examples without xoff's core."""

from __future__ import annotations

import pytest
from reference.portfc import Flow, Network, Place, directions, path

SLOTS = 200

# NDC(3, 1). X = (0, 0) sends over its level-0 switch and the relay R = (1, 0) into the level-1 switch of R, whose other
# nodes are (1, 1) and (1, 2). (1, 2) sends to (1, 1), too, so that the output to (1, 1) is congested.
CROWD = [Flow("own", (0, 0), (0, 1), (1, 1), 12), Flow("other", (1, 2), (1,), (1,), 12)]
VICTIM = Flow("victim", (0, 0), (0, 1), (1, 2), 1, start=11)

# NDC(3, 2). The output of a level-0 switch to R = (1, 0, 0) leads into the switches of R at levels 1 and 2, and the
# paper's queue is that of the port number there. The congested flow leaves the level-1 switch by port 1, and the victim
# the level-2 switch by port 1. They come from different nodes.
CROWD_2 = [Flow("congested", (0, 0, 0), (0, 1), (1, 1), 8), Flow("other", (1, 2, 0), (1,), (1,), 8)]
VICTIM_2 = Flow("victim", (2, 0, 0), (0, 2), (1, 1), 1, start=5)


def slots(flows: list[Flow], *, apart: bool = False) -> tuple[int, Network]:
    """Returns the slots that the victim takes, and the network."""
    network = Network(3, flows, xoff=4, xon=2, apart=apart)
    network.run(SLOTS)
    (victim,) = (flow for flow in flows if flow.name == "victim")
    return network.arrived["victim"] - victim.start, network


def is_held(network: Network, place: Place, name: str) -> list[int]:
    """Returns the slots in which a paused queue of an output has a packet of a flow."""
    return [slot for (slot, at), names in network.held.items() if at == place and name in names]


def test_a_victim_waits_at_its_source_for_a_flow_of_another_path() -> None:
    alone, _ = slots([VICTIM])
    beside, network = slots([*CROWD, VICTIM])
    assert (alone, beside) == (4, 9)
    # It is held in queue a of its source. Behind, its packet finds no other packet in its queues, and waits nowhere.
    source, *others = path(VICTIM)
    assert len(is_held(network, source, "victim")) == 4
    assert not any(is_held(network, place, "victim") for place in others)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_switch_output_has_k_times_as_many_directions_as_queues(n: int, k: int) -> None:
    """With a queue for each direction, a direct queue and one for control, n + 1 are enough with k = 1 alone."""
    assert directions(n, k) == {k * (n - 1)}
    assert (k * (n - 1) + 2 == n + 1) == (k == 1)


def test_with_k_of_2_a_victim_shares_its_queue_of_a_switch_with_another_direction() -> None:
    alone, _ = slots([VICTIM_2])
    beside, network = slots([*CROWD_2, VICTIM_2])
    at_switch = path(VICTIM_2)[1]
    assert (alone, beside) == (4, 10)
    assert len(is_held(network, at_switch, "victim")) == 5
    # With a queue for each direction the victim takes as long as alone.
    apart, network = slots([*CROWD_2, VICTIM_2], apart=True)
    assert apart == 4
    assert not is_held(network, at_switch, "victim")
