"""Holds the summary of clusters to sorted lists and NumPy's sums, bit for bit."""

import math
from typing import Any

import numpy as np
import pytest

from flowsched_gym.model.rules.compile import compiled_for
from flowsched_gym.model.rules.summary import summarise_active, summarise_finished

HOSTS, CLUSTERS, NUM_FLOWS = 8, 4, 900
CLUSTER_OF = np.arange(HOSTS) // 2
ENDS, QUANTILES = np.array([1e4, 1e6]), np.array([0.5, 0.9])
TIME_UNIT = 1e-3


def drawn(seed: int) -> dict[str, Any]:
    """Draws flows, many of equal size, that the hosts of three of the clusters send."""
    rng = np.random.default_rng(seed)
    arrival_time = rng.uniform(0.0, 9.0, NUM_FLOWS)
    return {
        "size": rng.choice([1e3, 1e4, 1.5e4, 1e6, 2e6, *rng.lognormal(10.0, 3.0, 9)], NUM_FLOWS),
        "arrival_time": arrival_time,
        "completion_time": arrival_time + rng.lognormal(0.0, 2.0, NUM_FLOWS),
        "source": rng.choice([0, 1, 2, 6, 7], NUM_FLOWS),
        "remaining": rng.lognormal(10.0, 3.0, NUM_FLOWS),
        "queue": rng.integers(0, 3, NUM_FLOWS),
    }


def quantiles(values: np.ndarray) -> list[float]:
    return [sorted(values.tolist())[math.ceil(share * len(values)) - 1] for share in QUANTILES]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5, 300])
def test_finished_flows_are_described_by_cluster_and_class(count: int, compiled: bool) -> None:
    flows = drawn(count)
    rows = np.random.default_rng(9).permutation(NUM_FLOWS)[:count]
    share_at, shown = np.arange(3 * CLUSTERS)[::-1].copy(), np.zeros(3 * CLUSTERS, dtype=np.float32)
    heights = np.full((CLUSTERS, 14), -1.0)
    scratch = np.empty(4 * count), np.empty(count, dtype=np.int64), np.empty(3 * CLUSTERS, dtype=np.int64)
    columns = [flows[name] for name in ("size", "arrival_time", "completion_time", "source")]
    arguments = rows, *columns, CLUSTER_OF, ENDS, QUANTILES, TIME_UNIT, *scratch, share_at, shown, heights
    (compiled_for(summarise_finished, *arguments) if compiled else summarise_finished)(*arguments)

    size, fct = flows["size"][rows], (flows["completion_time"] - flows["arrival_time"])[rows]
    cluster, kind = CLUSTER_OF[flows["source"][rows]], np.searchsorted(ENDS, size)
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


def test_live_flows_are_counted_by_queue_and_their_bytes_added_up() -> None:
    flows = drawn(2)
    rows, shown = np.arange(2, 800, 5), np.full(5 * CLUSTERS, -1.0, dtype=np.float32)
    scratch = np.full(4 * CLUSTERS, np.nan)
    columns = [flows[name] for name in ("remaining", "source", "queue")]
    summarise_active(rows, *columns, 3, CLUSTER_OF, 10.0, 1e6, scratch, 1, 5, shown)

    cluster = CLUSTER_OF[flows["source"][rows]]
    occupancy = np.bincount(cluster * 3 + flows["queue"][rows], minlength=3 * CLUSTERS).reshape(CLUSTERS, 3)
    left = np.bincount(cluster, flows["remaining"][rows], CLUSTERS)
    table = shown.reshape(CLUSTERS, 5)
    assert table[:, 1:4].tolist() == (occupancy / (occupancy + 10.0)).astype(np.float32).tolist()
    assert table[:, 4].tolist() == (left / (left + 1e6)).astype(np.float32).tolist()
    assert (table[:, 0] == -1.0).all()
