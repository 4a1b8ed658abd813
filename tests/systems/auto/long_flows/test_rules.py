"""Holds what is found and told of long flows to plain lists."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.systems.auto.long_flows.rules import progress_of_long
from flowsched_gym.systems.auto.long_flows.seen import count_on_links, find_long, latest_long

HOSTS, PATHS, NUM_FLOWS = 5, 3, 200
LONG = 1e4


def drawn(seed: int) -> dict[str, Any]:
    """Draws flows of which many arrive in one instant; a host may send to itself here."""
    rng = np.random.default_rng(seed)
    arrival_time = rng.integers(0, 20, NUM_FLOWS).astype(np.float64)
    return {
        "flow_id": np.arange(NUM_FLOWS) * 300,
        "source": rng.integers(0, HOSTS, NUM_FLOWS),
        "destination": rng.integers(0, HOSTS, NUM_FLOWS),
        "size": rng.choice([LONG, *rng.lognormal(9.5, 2.0, 30)], NUM_FLOWS),
        "attained": rng.choice([LONG, *rng.lognormal(9.0, 2.0, 30)], NUM_FLOWS),
        "arrival_time": arrival_time,
        "completion_time": arrival_time + rng.lognormal(0.0, 2.0, NUM_FLOWS),
        "ideal_fct": rng.lognormal(-1.0, 1.0, NUM_FLOWS),
        "rate": rng.uniform(0.0, 2.0, NUM_FLOWS),
        "rate_cap": rng.choice([0.3, np.inf], NUM_FLOWS),
        "path": rng.integers(0, 90, NUM_FLOWS).astype(np.uint32),
        "queue": rng.integers(0, 4, NUM_FLOWS),
        "remaining": np.ones(NUM_FLOWS),
        "active": np.sort(rng.permutation(NUM_FLOWS)[:80]),
        "finished": rng.permutation(NUM_FLOWS)[:60],
    }


def columns(flows: dict[str, Any]) -> FlowColumns:
    return FlowColumns(**{name: flows[name] for name in FlowColumns._fields})


@pytest.mark.parametrize("seed", range(5))
def test_active_long_flows_come_in_the_order_of_arrival_and_those_of_one_instant_in_their_own(seed: int) -> None:
    flows = drawn(seed)
    found = np.full(80, -1)
    count = find_long(flows["active"], columns(flows), LONG, found)
    long = [row for row in flows["active"].tolist() if flows["attained"][row] >= LONG]
    assert found[:count].tolist() == sorted(long, key=lambda row: flows["arrival_time"][row])


@pytest.mark.parametrize(("server", "before"), [(-1, 0), (-1, 3), (2, 0)])
def test_flows_that_were_long_come_latest_first_behind_those_found_before(server: int, before: int) -> None:
    flows = drawn(1)
    found = np.full(8, -1)
    count = latest_long(flows["finished"], columns(flows), LONG, server, before, found)

    chosen = [
        row
        for row in flows["finished"].tolist()[::-1]
        if flows["size"][row] > LONG and server in (-1, flows["source"][row])
    ]
    assert found.tolist() == [*[-1] * before, *chosen, *[-1] * 8][:8]
    assert count == min(before + len(chosen), 8)


@pytest.mark.parametrize("num_finished", [0, 60])
def test_sums_over_long_flows_have_the_bits_of_numpys(num_finished: int) -> None:
    flows = drawn(2)
    now, long, finished = 30.0, flows["active"][5:50], flows["finished"][:num_finished]
    progress = np.empty(len(long) + num_finished)
    count, so_far, slowdown, throughput = progress_of_long(now, finished, long, columns(flows), LONG, progress)

    done = finished[flows["size"][finished] > LONG]
    fct = (flows["completion_time"] - flows["arrival_time"])[done]
    assert count == len(done)
    assert so_far == ((now - flows["arrival_time"][long]) / flows["ideal_fct"][long]).sum()
    assert (slowdown, throughput) == ((fct / flows["ideal_fct"][done]).sum(), (flows["size"][done] / fct).sum())
    sent = np.concatenate([flows["attained"][long], flows["size"][done]])
    assert progress[: len(long) + count].tolist() == (sent / LONG).tolist()


def counted(flows: dict[str, Any], rows: Any) -> Any:
    """Counts flows on links, the plain way."""
    count = np.zeros((PATHS, 2, HOSTS), dtype=np.int64)
    for row in rows.tolist():
        plane = int(flows["path"][row]) % PATHS
        count[plane, 0, flows["source"][row]] += 1
        count[plane, 1, flows["destination"][row]] += 1
    return count


def test_flows_are_counted_on_the_links_up_and_down_of_their_planes() -> None:
    flows = drawn(3)
    count = np.full((PATHS, 2, HOSTS), -1)
    count_on_links(flows["active"], columns(flows), count)
    assert count.tolist() == counted(flows, flows["active"]).tolist()
