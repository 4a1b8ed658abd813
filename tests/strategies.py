"""Draws flow sets for property tests: arbitrary ones, and ones full of simultaneous events."""

from itertools import permutations
from typing import Final

import numpy as np
from hypothesis import strategies as st

from flowsched_gym.workload import Workload
from tests.simulate import make_flows

NUM_HOSTS: Final = 3
LARGEST: Final = 8
"""Flows of a set at most; more only make a counter-example harder to read."""


@st.composite
def _flows(draw: st.DrawFn, times: st.SearchStrategy[float], sizes: st.SearchStrategy[float]) -> Workload:
    """Draws flows between three hosts, about half of them with a deadline."""
    count = draw(st.integers(1, LARGEST))
    pairs = list(permutations(range(NUM_HOSTS), 2))
    hosts = draw(st.lists(st.sampled_from(pairs), min_size=count, max_size=count))
    column = {
        name: draw(st.lists(strategy, min_size=count, max_size=count))
        for name, strategy in (("arrival", times), ("size", sizes), ("span", st.one_of(sizes, st.just(np.inf))))
    }
    return make_flows(**column, source=[pair[0] for pair in hosts], destination=[pair[1] for pair in hosts])


def random_flows() -> st.SearchStrategy[Workload]:
    return _flows(st.floats(0.0, 20.0), st.floats(1e-3, 1e3))


def simultaneous_flows() -> st.SearchStrategy[Workload]:
    return _flows(st.integers(0, 6).map(float), st.integers(1, 5).map(float))
