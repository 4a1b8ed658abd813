"""Incremental max-min sets the rates of links shared anew, to the last bit, from change to change."""

from collections.abc import Iterator

import numpy as np
import pytest

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.fluid.compiled.allocation_cache import forget, new_allocation_cache
from flowsched_gym.fluid.compiled.incremental import DIRTY, leave, share_incrementally
from flowsched_gym.fluid.rules.sharing import new_filling, share_links
from flowsched_gym.fluid.state import new_controls
from flowsched_gym.machine_code.decorators import engine_function
from flowsched_gym.topology.network import Network

NUM_FLOWS = 60
LONGEST = 4
ROW = np.uint32


compiled_leave, compiled_forget = engine_function(leave), engine_function(forget)


class Changing:
    """Links shared among flows that come, change and go."""

    def __init__(self, seed: int, *, num_links: int, num_priorities: int, paths: list[list[int]] | None = None) -> None:
        """Draws links and paths; no flow is there yet. Capacities are few, so that many links are equally tight."""
        self.rng = np.random.default_rng(seed)
        capacity = self.rng.integers(1, 4, num_links).astype(float)
        if paths is None:
            drawn = [self.rng.permutation(num_links)[: self.rng.integers(1, LONGEST + 1)] for _ in range(2 * NUM_FLOWS)]
            paths = [path.tolist() for path in drawn]
        path_start = np.cumsum([0, *(len(path) for path in paths)]).astype(ROW)
        self.network = Network(capacity, path_start, np.concatenate(paths).astype(ROW))
        self.num_priorities = num_priorities
        self.controls = new_controls(np.arange(NUM_FLOWS, dtype=ROW))
        self.rate = np.zeros(NUM_FLOWS)
        self.active: list[int] = []
        self.changed: set[int] = set()
        self.served = np.zeros(NUM_FLOWS, dtype=ROW)
        self.num_served = 0
        # The second network of two, with a flow's index among the rows of both.
        self.cache = new_allocation_cache(2, num_priorities, self.network, 2 * NUM_FLOWS)

    def changes(self, count: int) -> Iterator[None]:
        """Lets something change so often; mostly one flow, at times many."""
        for _ in range(count):
            for _ in range(int(self.rng.choice([0, 1, 1, 1, 8]))):
                self.change()
            if self.rng.random() < 0.03:
                self.network.capacity[self.rng.integers(len(self.network.capacity))] = self.rng.integers(0, 4)
                compiled_forget(0, self.cache)
                compiled_forget(1, self.cache)
                # The rows of the second network are counted from 0 here.
                assert not self.cache.flows["level"].any()
            yield

    def change(self) -> None:
        """Lets a flow come or go, or changes what it is."""
        row = int(self.rng.integers(NUM_FLOWS))
        self.changed.add(row)
        controls = self.controls
        if row not in self.active:
            self.active.append(row)
            controls.priority[row] = self.rng.integers(self.num_priorities)
            return
        what = self.rng.integers(5)
        if what < 2:
            self.active.remove(row)
            self.rate[row] = 0.0
            self.num_served = compiled_leave(1, ROW(row), self.rate, self.served, self.num_served, self.cache)
        elif what == 2:
            controls.priority[row] = min(controls.priority[row] + 1, self.num_priorities - 1)
        elif what == 3:
            controls.admitted[row] = not controls.admitted[row]
        else:
            controls.path[row] = self.rng.integers(2 * NUM_FLOWS)

    def incrementally(self) -> FloatArray:
        """Shares from the cache, told of the flows that have changed."""
        known = self.cache.networks["known"][1]
        rows = [row for row in self.active if row in self.changed or not known]
        self.changed.clear()
        self.num_served = share_incrementally(
            1,
            np.array([*rows, 0], dtype=ROW),
            len(rows),
            self.controls,
            self.network,
            self.rate,
            self.served,
            self.num_served,
            self.cache,
        )
        assert sorted(self.served[: self.num_served]) == np.flatnonzero(self.rate).tolist()
        return self.rate

    def anew(self) -> FloatArray:
        """Shares without a cache."""
        rate, served = np.zeros(NUM_FLOWS), np.zeros(NUM_FLOWS, dtype=ROW)
        if self.active:
            active, filling = np.array(self.active, dtype=ROW), new_filling(self.network, NUM_FLOWS)
            share_links(active, len(active), self.controls, self.network, rate, filling, served, 0)
        return rate


@pytest.mark.parametrize("num_priorities", [1, 3])
@pytest.mark.parametrize("num_links", [1, 6, 40])
def test_rates_are_those_of_links_shared_anew_to_the_last_bit(num_links: int, num_priorities: int) -> None:
    for seed in range(10):
        network = Changing(seed, num_links=num_links, num_priorities=num_priorities)
        for _ in network.changes(100):
            assert network.incrementally().tolist() == network.anew().tolist()


def test_links_that_a_change_does_not_reach_are_not_filled_anew() -> None:
    """One flow more on one of two networks of links that no flow connects."""
    paths = [[0, 1], [0, 1], [2, 3], [2, 3], [0]]
    network = Changing(0, num_links=4, num_priorities=1, paths=paths)
    network.active = [0, 1, 2, 3]
    network.incrementally()
    network.active.append(4)
    network.changed.add(4)

    network.incrementally()

    links = network.cache.links[4:]
    looked_at = links["filling"] == network.cache.networks["filling"][1]
    assert (looked_at & (links["stage"] & DIRTY > 0)).tolist() == [True, True, False, False]


def test_priorities_above_a_change_are_not_filled_anew() -> None:
    """Three flows on links of their own; the second is demoted. Rates that were tampered with tell who is looked at."""
    network = Changing(0, num_links=3, num_priorities=3, paths=[[0], [1], [2]])
    network.active = [0, 1, 2]
    network.controls.priority[:3] = [0, 1, 2]
    rate = network.incrementally()[:3].tolist()
    network.rate[:3] = 7.0
    network.controls.priority[1] = 2
    network.changed.add(1)

    assert network.incrementally()[:3].tolist() == [7.0, rate[1], 7.0]
