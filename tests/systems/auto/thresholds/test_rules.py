"""Holds the summary of clusters to sorted lists and NumPy's sums, bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.envs.thresholds import CLASS_ENDS
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.systems.auto.thresholds.observation import (
    ACTIVE_SCALE,
    LEFT_SCALE,
    QUANTILES,
    TIME_UNIT,
    select,
    summarise_active,
    summarise_finished,
)

HOSTS, CLUSTERS, NUM_FLOWS = 8, 4, 900
CLUSTER_OF = np.arange(HOSTS) // 2
SELECT = compiled_for(select, np.zeros(1), 0, 1, 0)


def drawn(seed: int) -> FlowColumns:
    """Draws flows, many of equal size, that the hosts of three of the clusters send."""
    rng = np.random.default_rng(seed)
    arrival_time = rng.uniform(0.0, 9.0, NUM_FLOWS)
    columns = {
        "size": rng.choice([1e3, *CLASS_ENDS, 1.5e5, 2e7, *rng.lognormal(12.0, 3.0, 9)], NUM_FLOWS),
        "arrival_time": arrival_time,
        "completion_time": arrival_time + rng.lognormal(0.0, 2.0, NUM_FLOWS),
        "source": rng.choice([0, 1, 2, 6, 7], NUM_FLOWS),
        "remaining": rng.lognormal(10.0, 3.0, NUM_FLOWS),
        "queue": rng.integers(0, 3, NUM_FLOWS),
    }
    return FlowColumns(**dict.fromkeys(FlowColumns._fields, np.zeros(NUM_FLOWS)) | columns)


def quantiles(values: np.ndarray) -> list[float]:
    return [sorted(values.tolist())[math.ceil(share * len(values)) - 1] for share in QUANTILES]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5, 300])
def test_finished_flows_are_described_by_cluster_and_class(count: int, compiled: bool) -> None:
    flows = drawn(count)
    rows = np.random.default_rng(9).permutation(NUM_FLOWS)[:count]
    share_at, shown = np.arange(3 * CLUSTERS)[::-1].copy(), np.zeros(3 * CLUSTERS, dtype=np.float32)
    heights = np.full((CLUSTERS, 14), -1.0)
    arguments = rows, flows, CLUSTER_OF, share_at, shown, heights
    (compiled_for(summarise_finished, *arguments) if compiled else summarise_finished)(*arguments)

    size, fct = flows.size[rows], (flows.completion_time - flows.arrival_time)[rows]
    cluster, kind = CLUSTER_OF[flows.source[rows]], np.searchsorted(CLASS_ENDS, size)
    expected, shares = np.full((CLUSTERS, 14), -1.0), np.zeros((CLUSTERS, 3))
    for number in range(CLUSTERS):
        for which in range(3):
            mine = (cluster == number) & (kind == which)
            if mine.any():
                shares[number, which] = mine.sum() / count
                times = [time / TIME_UNIT for time in quantiles(fct[mine])]
                expected[number, 4 * which : 4 * which + 4] = [*quantiles(size[mine]), *times]
        if (cluster == number).any():
            expected[number, 12] = fct[cluster == number].mean() / TIME_UNIT
    assert heights.tolist() == expected.tolist()
    assert shown[::-1].tolist() == shares.astype(np.float32).ravel().tolist()


def test_active_flows_are_counted_by_queue_and_their_bytes_added_up() -> None:
    flows = drawn(2)
    rows, shown = np.arange(2, 800, 5), np.full(5 * CLUSTERS, -1.0, dtype=np.float32)
    summarise_active(rows, flows, 3, CLUSTER_OF, 1, 5, shown)

    cluster = CLUSTER_OF[flows.source[rows]]
    occupancy = np.bincount(cluster * 3 + flows.queue[rows], minlength=3 * CLUSTERS).reshape(CLUSTERS, 3)
    left = np.bincount(cluster, flows.remaining[rows], CLUSTERS)
    table = shown.reshape(CLUSTERS, 5)
    assert table[:, 1:4].tolist() == (occupancy / (occupancy + ACTIVE_SCALE)).astype(np.float32).tolist()
    assert table[:, 4].tolist() == (left / (left + LEFT_SCALE)).astype(np.float32).tolist()
    assert (table[:, 0] == -1.0).all()


@pytest.mark.parametrize("find", [select, SELECT], ids=["rule", "compiled"])
@given(values=st.lists(st.integers(-5, 5) | st.floats(allow_nan=False), min_size=1, max_size=40), data=st.data())
def test_the_value_of_a_rank_is_found_and_no_value_is_lost(find, values, data) -> None:
    numbers = np.array([0.5, *values, -0.5])
    rank = data.draw(st.integers(0, len(values) - 1))
    found = find(numbers, 1, 1 + len(values), 1 + rank)  # type: ignore[operator]

    assert found == numbers[1 + rank] == sorted(values)[rank]
    assert (numbers[1 : 1 + rank] <= found).all()
    assert (numbers[1 + rank : -1] >= found).all()
    assert sorted(numbers[1:-1].tolist()) == sorted(values)
    assert numbers[[0, -1]].tolist() == [0.5, -0.5]
