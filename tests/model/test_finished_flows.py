"""Holds what is told of finished flows to NumPy's means and to a plain table."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.model.rules.finished_flows import mean_fares, show_finished

NUM_FLOWS = 400


def drawn(count: int) -> dict[str, Any]:
    """Draws flows, and rows of some of them."""
    rng = np.random.default_rng(count)
    arrival_time = rng.uniform(0.0, 9.0, NUM_FLOWS)
    return {
        "rows": rng.permutation(NUM_FLOWS)[:count],
        "flow_id": np.sort(rng.choice(10**6, NUM_FLOWS, replace=False)),
        "source": rng.integers(0, 8, NUM_FLOWS),
        "destination": rng.integers(0, 8, NUM_FLOWS),
        "size": rng.lognormal(9.0, 3.0, NUM_FLOWS),
        "arrival_time": arrival_time,
        "completion_time": arrival_time + rng.lognormal(0.0, 2.0, NUM_FLOWS),
        "ideal_fct": rng.lognormal(-1.0, 1.0, NUM_FLOWS),
    }


@pytest.mark.parametrize("count", [1, 7, 8, 100, 399])
def test_means_have_the_bits_of_numpys(count: int) -> None:
    flows = drawn(count)
    rows, ideal_fct = flows["rows"], flows["ideal_fct"]
    fct = (flows["completion_time"] - flows["arrival_time"])[rows]
    found = mean_fares(rows, flows["arrival_time"], flows["completion_time"], ideal_fct, np.empty(3 * count))
    assert found == (fct.mean(), (fct / ideal_fct[rows]).mean(), ideal_fct[rows].mean())


@pytest.mark.parametrize("squashed", [True, False])
def test_finished_flows_are_shown_one_after_the_other(squashed: bool) -> None:
    flows = drawn(30)
    shown = np.full(2 + 7 * 30 + 1, -1.0, dtype=np.float32)
    columns = [flows[name] for name in ("flow_id", "source", "destination", "size", "arrival_time", "completion_time")]
    show_finished(flows["rows"], *columns, 8.0, 65_535.0, 255.0, squashed, 1e5, 0.7, 2.0, 0.8, 2, shown)

    flow_id, source, destination, size, arrival_time, completion_time = (column[flows["rows"]] for column in columns)
    fct = completion_time - arrival_time
    ends = np.minimum(size / 1e5, 0.7), np.minimum(fct / 2.0, 0.8)
    expected = [
        (source + 1) / 8.0,
        np.full(30, 12_000 / 65_535.0),
        (destination + 1) / 8.0,
        (32_768 + flow_id % (61_000 - 32_768)) / 65_535.0,
        np.full(30, 6 / 255.0),
        *((size / (size + 1e5), fct / (fct + 2.0)) if squashed else ends),
    ]
    assert shown[2:-1].reshape(30, 7).tolist() == np.stack(expected, axis=1).astype(np.float32).tolist()
    assert shown[[0, 1, -1]].tolist() == [-1.0, -1.0, -1.0]
