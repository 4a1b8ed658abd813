"""Holds the native vector environment of MERP's routing to single environments, whatever its flows are drawn from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.systems.merp.route import ROUTE
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.topology import ROUTINGS
from flowsched_gym.workload import LinkChanges, PoissonWorkload, RandomFailures, Workload, make_workload
from tests.envs.vectors import Pair, SimultaneousFlows

pytestmark = pytest.mark.usefixtures("event_logs")


def compare(num_steps: int, *, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **arguments: Any) -> Pair:
    """Plays random steps in both, and returns them."""
    pair = Pair(ROUTE, 2, mode, **arguments)
    pair.reset(seed=60)
    pair.play(num_steps, seed=61)
    return pair


@dataclass(frozen=True)
class FailingCables(SimultaneousFlows):
    """Draws simultaneous flows, while cables fail and come up again at the same instants."""

    def draw(self, seed: int) -> Workload:
        """Draws flows and changes; each cable ends up."""
        flows = super().draw(seed)
        generator = np.random.default_rng(seed)
        rows: list[tuple[float, int, bool]] = []
        for cable in generator.permutation(len(core_cables(16)))[:9].tolist():
            failure = int(generator.integers(6))
            repair = failure + int(generator.integers(1, 5))
            rows += [(float(failure), link, False) for link in core_cables(16)[cable]]
            rows += [(float(repair), link, True) for link in core_cables(16)[cable]]
        return replace(flows, link_changes=LinkChanges.of(sorted(rows, key=lambda row: row[0])))


@pytest.mark.parametrize(
    ("rerouting", "discipline"),
    [
        ("ecmp", "merp"),
        *(
            pytest.param(rerouting, discipline, marks=pytest.mark.exhaustive)
            for rerouting in ROUTINGS
            for discipline in ("merp", "ps")
        ),
    ],
)
def test_cables_that_fail_and_come_up_again_at_any_instant_are_heeded_alike(rerouting: str, discipline: str) -> None:
    for delay in (0.0, 5e5):
        pair = compare(
            90,
            workload=FailingCables(),
            link_gbps=8e-9,
            link_delay_us=delay,
            rerouting=rerouting,
            discipline=discipline,
        )
        assert (pair.native.simulation.tables.choosing.choices["next_change"] > 0).any()


def test_links_that_fail_again_and_again_make_room_for_their_changes() -> None:
    failures = RandomFailures(cables=core_cables(16), mean_time_up=0.02, mean_time_down=0.005, until=0.2)
    source = make_workload("poisson-fat-tree", num_flows=60, failures=failures)
    assert isinstance(source, PoissonWorkload)
    compare(150, workload=source)
