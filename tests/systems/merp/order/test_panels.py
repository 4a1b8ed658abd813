"""Tests that pictures of ordering episodes say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.formats import ratio_text
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from tests.envs.pictures import moments, panel, table


@pytest.mark.parametrize("setting", [{}, {"topology": "tree9"}, {"f": 2, "load": 0.95}])
def test_what_is_shown_is_what_the_simulation_holds(setting: dict[str, Any]) -> None:
    env = MERPOrderEnv(**setting)
    for _ in moments(env):
        view, records, observation = env.panels(), env.records(), env._observe()
        slowdown = np.sort(records.slowdown[~np.isnan(records.slowdown)])[::-1]
        contest = table(view, "Flows that compete")

        assert view.banner.counts[0].startswith(f"{len(slowdown)} finished, {env.simulation.links.num_active} active")  # type: ignore[union-attr]
        assert [row[-1] for row in table(view, "Largest slowdowns")] == [ratio_text(each) for each in slowdown[:8]]
        assert len(contest) == env.decision().num_candidates
        seen = env.layout.slot_column(observation, "slowdown_if_last")[: len(contest)].tolist()
        assert [float(row[-1]) for row in contest[: env.config.f]] == pytest.approx(seen, rel=0.01)


def test_the_bars_of_links_are_the_bytes_of_the_flows_that_cross_them() -> None:
    env = MERPOrderEnv(topology="tree9", load=0.9)
    for _ in moments(env):
        links = {link.name: link for link in panel(env.panels(), "Bytes left on the links").links}
        workload, state = env.workload, env.simulation.state
        for host in range(9):
            rows = [row for row in env.scene().active.tolist() if workload.source[row] == host]
            assert links[f"host {host} up"].num_flows == len(rows)
            assert links[f"host {host} up"].backlog == pytest.approx(state.remaining[rows].sum())
            assert links[f"host {host} up"].busy_for == pytest.approx(
                state.remaining[rows].sum() / float(env.simulation.topology.capacity[0])
            )
