"""Tests that pictures of MERP's episodes say the truth."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.envs.drawing.formats import ratio_text
from flowsched_gym.envs.drawing.panels import Tone
from flowsched_gym.fluid.decision import PathDecision
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from tests.envs.pictures import Recorder, moments, panel, table


@pytest.mark.parametrize("setting", [{}, {"topology": "tree9"}, {"f": 2, "load": 0.95}])
def test_an_order_is_shown_as_the_simulation_holds_it(setting: dict[str, Any]) -> None:
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


def test_counts_of_a_fabric_are_those_of_the_records() -> None:
    env = MERPRouteEnv(flows=200, failures=2)
    for _ in moments(env):
        view, records, simulation = env.panels(), env.records(), env.simulation
        done, fabric, pending = ~np.isnan(records.fct), panel(view, "Fat-tree"), simulation.pending
        flows = np.array(fabric.flows)
        waiting = int(np.count_nonzero(env.scene().rate[env.scene().active] == 0.0))

        assert view.banner.counts[0].startswith(f"{done.sum()} finished, {simulation.links.num_active} active")  # type: ignore[union-attr]
        assert view.banner.headline[1] == (ratio_text(records.slowdown[done].mean()) if done.any() else "none yet")
        assert fabric.note == f"{simulation.links.num_active - waiting} flows send, {waiting} wait, 2 cables down"
        assert np.count_nonzero(flows < 0) == 2
        # A flow crosses two links of its hosts, and two or four between them.
        assert 2 * simulation.links.num_active <= flows[flows > 0].sum() <= 6 * simulation.links.num_active
        if isinstance(pending, PathDecision):
            paths = panel(view, f"Paths of flow {records.flow_id[pending.row]}")
            is_open = [slot not in paths.closed for slot in range(paths.slots)]
            assert is_open == env.action_masks()[: pending.last - pending.first].tolist()


def test_a_path_in_question_leads_from_host_to_host_over_the_switch_with_its_number() -> None:
    env = MERPRouteEnv(flows=200, failures=3)
    for _ in moments(env):
        fabric, pending = panel(env.panels(), "Fat-tree"), env.simulation.pending
        if not isinstance(pending, PathDecision):
            continue
        crossed = {cable: fabric.cables[cable] for cable in fabric.paths}
        ends = {lower for tier, _, lower in crossed.values() if tier == 2}
        over = {(tier, upper) for tier, upper, _ in crossed.values() if tier < 2}
        marked = {node: tone for node, (_, tone) in fabric.marks.items()}
        row, workload = pending.row, env.workload

        assert ends == {workload.source[row], workload.destination[row]}
        assert {node for node in over if node in marked} == {at for at, tone in marked.items() if tone is Tone.STRONG}
        assert all(fabric.flows[cable] >= 0 for cable in fabric.paths)


def test_paths_that_are_down_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    env = MERPRouteEnv(render_mode="rgb_array", flows=200, failures=3)
    recorder, down = Recorder(monkeypatch), 0
    for _ in moments(env):
        recorder.look(env)
        pending = env.simulation.pending
        if isinstance(pending, PathDecision):
            closed = int(np.count_nonzero(~env.action_masks()[: pending.last - pending.first]))
            # The legend, where the word may stand too, is below.
            assert sum(word == "down" and box.bottom < 570 for word, box in recorder.words) == closed
            down += closed

    assert down > 0
