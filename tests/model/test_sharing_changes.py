"""Holds the sharing of links from memory to the sharing that begins anew, to the last bit, from change to change."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.model.rules.sharing.changes import leave, share_changes
from flowsched_gym.model.rules.sharing.filling import BLOCK, CROSSING, LINK, SHARER
from flowsched_gym.model.rules.sharing.memory import Memory, new_memory
from flowsched_gym.model.rules.sharing.share_links import share_links

NUM_FLOWS = 60
LONGEST = 4
ROW = np.uint32


class Changing:
    """Shares links among flows that come, change and go."""

    def __init__(self, seed: int, *, num_links: int, num_classes: int, few_links: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.capacity = self.rng.integers(1, 4, num_links).astype(float)
        paths = [self.rng.permutation(num_links)[: self.rng.integers(1, LONGEST + 1)] for _ in range(2 * NUM_FLOWS)]
        self.path_start = np.cumsum([0, *(len(path) for path in paths)]).astype(ROW)
        self.path_links = np.concatenate(paths).astype(ROW)
        self.num_classes = num_classes
        self.admitted = np.ones(NUM_FLOWS, dtype=np.bool_)
        self.priority = np.zeros(NUM_FLOWS, dtype=np.int32)
        self.path = np.arange(NUM_FLOWS, dtype=ROW)
        self.rate = np.zeros(NUM_FLOWS)
        self.live: list[int] = []
        self.altered: set[int] = set()
        self.served = np.zeros(NUM_FLOWS, dtype=ROW)
        self.num_served = 0
        # The second network of two, with a flow's place among the rows of both.
        self.memory: Memory = new_memory(2, num_classes, num_links, 2 * NUM_FLOWS, LONGEST, few_links)

    def changes(self, count: int) -> Iterator[None]:
        """Lets something change so often; mostly one flow, at times many."""
        for _ in range(count):
            for _ in range(int(self.rng.choice([0, 1, 1, 1, 8]))):
                self.change()
            if self.rng.random() < 0.03:
                self.capacity[self.rng.integers(len(self.capacity))] = self.rng.integers(0, 4)
                self.memory.networks["known"] = False
            yield

    def change(self) -> None:
        """Lets a flow come or go, or changes what it is."""
        row = int(self.rng.integers(NUM_FLOWS))
        self.altered.add(row)
        if row not in self.live:
            self.live.append(row)
            self.priority[row] = self.rng.integers(self.num_classes)
            return
        what = self.rng.integers(5)
        if what < 2:
            self.live.remove(row)
            self.rate[row] = 0.0
            self.num_served = leave(1, ROW(row), self.rate, self.memory, self.served, self.num_served)
        elif what == 2:
            self.priority[row] = min(self.priority[row] + 1, self.num_classes - 1)
        elif what == 3:
            self.admitted[row] = not self.admitted[row]
        else:
            self.path[row] = self.rng.integers(2 * NUM_FLOWS)

    def remembered(self) -> npt.NDArray[np.float64]:
        """Shares from memory, told of the flows that have changed."""
        known = self.memory.networks["known"][1]
        rows = [row for row in self.live if row in self.altered or not known]
        self.altered.clear()
        self.num_served = share_changes(
            1,
            np.array([*rows, 0], dtype=ROW),
            len(rows),
            self.admitted,
            self.priority,
            self.path,
            self.capacity,
            self.path_start,
            self.path_links,
            self.rate,
            self.memory,
            self.served,
            self.num_served,
        )
        assert sorted(self.served[: self.num_served]) == np.flatnonzero(self.rate).tolist()
        return self.rate

    def anew(self) -> npt.NDArray[np.float64]:
        """Shares without memory."""
        rate = np.zeros(NUM_FLOWS)
        if self.live:
            share_links(
                np.array(self.live, dtype=ROW),
                len(self.live),
                self.admitted,
                self.priority,
                np.ones(NUM_FLOWS),
                np.full(NUM_FLOWS, np.inf),
                self.path,
                self.capacity,
                self.path_start,
                self.path_links,
                rate,
                np.zeros(len(self.capacity)),
                np.zeros(len(self.capacity), dtype=LINK),
                np.zeros(NUM_FLOWS, dtype=SHARER),
                np.zeros(NUM_FLOWS * LONGEST, dtype=CROSSING),
                np.zeros(NUM_FLOWS, dtype=BLOCK),
                np.zeros(NUM_FLOWS, dtype=ROW),
                0,
            )
        return rate


@pytest.mark.parametrize("few_links", [0, 40])
@pytest.mark.parametrize("num_classes", [1, 3])
@pytest.mark.parametrize("num_links", [1, 6, 40])
def test_rates_are_those_of_links_shared_anew_to_the_last_bit(num_links: int, num_classes: int, few_links: int) -> None:
    for seed in range(10):
        network = Changing(seed, num_links=num_links, num_classes=num_classes, few_links=few_links)
        for _ in network.changes(100):
            assert network.remembered().tolist() == network.anew().tolist()


def test_rounds_that_a_change_does_not_reach_are_remembered() -> None:
    """One flow more on one of two networks of links that no flow connects."""
    network = Changing(0, num_links=4, num_classes=1)
    network.path_start = np.array([0, 2, 4, 6, 8, 9] + [9] * (2 * NUM_FLOWS), dtype=ROW)
    network.path_links = np.array([0, 1, 0, 1, 2, 3, 2, 3, 0], dtype=ROW)
    network.live = [0, 1, 2, 3]
    network.remembered()
    network.live.append(4)
    network.altered.add(4)

    network.remembered()

    links = network.memory.links[4:]
    looked_at = links["filling"] == network.memory.networks["filling"][1]
    active = looked_at & (links["stage"] & 2 > 0)
    assert active.tolist() == [True, True, False, False]


def test_priorities_above_a_change_are_not_filled_anew_where_links_are_few() -> None:
    """Three flows on links of their own; the second is demoted. Rates that were tampered with tell who is looked at."""
    network = Changing(0, num_links=3, num_classes=3, few_links=3)
    network.path_start = np.arange(4, dtype=ROW)
    network.path_links = np.arange(3, dtype=ROW)
    network.live = [0, 1, 2]
    network.priority[:3] = [0, 1, 2]
    rate = network.remembered()[:3].tolist()
    network.rate[:3] = 7.0
    network.priority[1] = 2
    network.altered.add(1)

    assert network.remembered()[:3].tolist() == [7.0, rate[1], rate[2]]
