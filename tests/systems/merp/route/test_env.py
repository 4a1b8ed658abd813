"""Holds MERP's routing environment to hand-worked episodes, and what it shows to the simulation behind it.

In the hand-worked episodes links carry 1 Gbps and take no time, so a flow of 125 KB takes 1 ms alone. Hosts 0 and 1 are
under one edge switch, 0 to 3 in one pod. Of the four paths between pods, 0 and 1 lead over the first aggregation switch
of the pod, 2 and 3 over the second.
"""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.fluid.decision import PathDecision
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.topology import fat_tree
from flowsched_gym.workload import LinkChanges, Workload
from tests.envs.episodes import play
from tests.simulate import make_flows

MILLISECOND = 125_000.0
"""Bytes that a link carries in 1 ms."""
ROLES = ("edge_up", "core_up", "core_down", "edge_down")


def by_hand(workload: Workload, **arguments: Any) -> MERPRouteEnv:
    """Makes an environment for hand-worked flows and begins its episode."""
    env = MERPRouteEnv(workload, **({"discipline": "ps"} | arguments))
    env.reset(seed=0)
    return env


def two_flows() -> Workload:
    return make_flows([0.0] * 2, [MILLISECOND] * 2, source=[0, 1], destination=[4, 5])


def with_failures(workload: Workload, rows: list[tuple[float, int, bool]]) -> Workload:
    return replace(workload, link_changes=LinkChanges.of(rows))


@pytest.mark.parametrize(("paths", "milliseconds"), [((0, 0), 2.0), ((0, 1), 2.0), ((0, 2), 1.0), ((3, 1), 1.0)])
def test_the_path_decides_what_flows_share(paths: tuple[int, int], milliseconds: float) -> None:
    env = by_hand(two_flows(), reward="both")
    first = env.step(paths[0])
    _, reward, terminated, _, info = env.step(paths[1])

    assert first[1:4] == (0.0, False, False)
    assert first[4]["finished"] == ()
    assert terminated
    assert info["finished"] == (0, 1)
    assert info["time"] == pytest.approx(milliseconds * 1e-3)
    assert info["reward_terms"]["fct"] == pytest.approx(-2 * milliseconds / 12)
    assert info["reward_terms"]["slowdown"] == pytest.approx(-2 * milliseconds)
    assert reward == pytest.approx(-2 * milliseconds * (1 + 1 / 12))


def test_a_path_that_is_down_or_not_there_takes_the_first_live_one_and_is_counted() -> None:
    up = core_cables(16)[0][0]
    flows = make_flows([0.0] * 2, [MILLISECOND] * 2, source=[0, 1], destination=[4, 2])
    env = by_hand(with_failures(flows, [(0.0, up, False)]))
    assert env.action_masks().tolist() == [False, True, True, True]
    info = env.step(0)[4]

    assert info["empty_slot_choices"] == 1
    assert info["action_mask"].tolist() == [True, True, False, False]
    info = env.step(3)[4]
    assert info["empty_slot_choices"] == 2
    first, _ = fat_tree().candidates(flows.source, flows.destination)
    assert (env.simulation.controls.path - first).tolist() == [1, 0]


def test_a_flow_with_one_path_is_not_asked_about_and_its_reward_goes_to_the_next_action() -> None:
    flows = make_flows([0.0, 5e-3], [MILLISECOND] * 2, source=[0, 0], destination=[1, 4])
    env = MERPRouteEnv(flows)
    _, info = env.reset(seed=0)
    assert (info["time"], info["finished"]) == (5e-3, ())
    _, reward, terminated, _, info = env.step(0)

    assert terminated
    assert info["finished"] == (0, 1)
    assert info["reward_terms"]["slowdown"] == pytest.approx(-2.0)
    assert reward == pytest.approx(sum(info["reward_terms"].values()))


def test_an_episode_without_a_choice_ends_with_its_first_step() -> None:
    env = MERPRouteEnv(make_flows([0.0], [MILLISECOND], source=[0], destination=[1]))
    observation, info = env.reset(seed=0)
    assert not observation.any()
    assert info["action_mask"].tolist() == [True, False, False, False]
    observation, _, terminated, _, info = env.step(2)

    assert terminated
    assert not observation.any()
    assert (info["finished"], info["empty_slot_choices"]) == ((0,), 1)


@pytest.mark.parametrize(
    ("reward", "terms"), [("both", {"fct", "slowdown"}), ("fct", {"fct"}), ("slowdown", {"slowdown"})]
)
def test_rewards_add_up_to_the_records(reward: str, terms: set[str]) -> None:
    env = MERPRouteEnv(flows=80, failures=2, reward=reward)
    steps = play(env, seed=1)
    records = env.records()
    totals = {"fct": -records.fct.sum() / 0.012, "slowdown": -records.slowdown.sum()}

    assert sum(step.reward for step in steps) == pytest.approx(sum(totals[name] for name in terms))
    for step in steps[1:]:
        assert set(step.info["reward_terms"]) == terms


def test_a_flow_whose_path_fails_goes_on_by_the_rule_without_the_agent() -> None:
    up = core_cables(16)[0][0]
    flows = make_flows([0.0, 2e-4], [MILLISECOND] * 2, source=[0, 8], destination=[4, 12])
    env = by_hand(with_failures(flows, [(5e-4, up, False)]), rerouting="least-loaded")
    env.step(0)
    terminated = env.step(0)[2]
    records = env.records()

    assert terminated
    # The second flow is elsewhere; the first goes on over the next core switch, where nobody is.
    assert records.completion_time.tolist() == pytest.approx([1e-3, 1.2e-3])
    assert env.simulation.controls.path[0] - fat_tree().candidates(flows.source, flows.destination)[0][0] == 1


def expansion_ratio(capacity: float, size: float, others: list[tuple[float, float, float]]) -> float:
    """Returns the ratio of a new flow among others (waited, size, left) on a link, by serving the least ratio last."""
    left = list(others)
    while True:
        total = size + sum(remaining for _, _, remaining in left)
        ratios = [(waited * capacity + total) / own for waited, own, _ in left]
        if not left or min(ratios) >= total / size:
            return total / size
        left.pop(int(np.argmin(ratios)))


def flows_on(simulation: Simulation, link: int) -> list[int]:
    """Lists the live flows that cross a link."""
    network, live = simulation.network, simulation.links.active[: simulation.links.num_active]
    starts, links = network.path_start, network.path_links
    paths = simulation.controls.path
    return [row for row in live.tolist() if link in links[starts[paths[row]] : starts[paths[row] + 1]]]


@pytest.mark.parametrize(
    ("discipline", "arguments"),
    [("merp", {}), ("ps", {"failures": 3}), ("srpt", {"arity": 6, "flows": 60, "link_gbps": 10.0}), ("fifo", {})],
    ids=str,
)
def test_the_observation_says_what_the_simulation_knows(discipline: str, arguments: dict[str, Any]) -> None:
    env = MERPRouteEnv(discipline=discipline, **({"flows": 120} | arguments))
    layout, line_rate, num_checked = env.layout, env.config.capacity, 0

    def check_and_choose(wrapped: gym.Env, observation: np.ndarray, _: Any) -> int:
        nonlocal num_checked
        simulation = env.simulation
        pending, network, state = simulation.pending, simulation.network, simulation.state
        assert isinstance(pending, PathDecision)
        row = pending.row
        size = float(state.size[row])
        num_paths = pending.last - pending.first
        same_pod = num_paths < env.num_actions
        context = {
            "size": size,
            "ideal_fct": size / line_rate,
            "live_flows": simulation.links.num_active,
            "same_pod": float(same_pod),
        }
        assert set(context) == {column.name for column in layout.context}
        for name, value in context.items():
            assert layout.context_column(observation, name) == pytest.approx(value, rel=1e-4), name
        path_links = [
            network.path_links[network.path_start[path] : network.path_start[path + 1]].tolist()
            for path in range(pending.first, pending.last)
        ]
        shown = {column.name: layout.slot_column(observation, column.name) for column in layout.slot}
        live = [all(network.capacity[link] > 0 for link in links) for links in path_links]
        shared = set.intersection(*(set(links) for links, is_live in zip(path_links, live, strict=True) if is_live))
        for slot, links in enumerate(path_links):
            expected: dict[str, float] = {"present": 1.0, "live": float(live[slot])}
            on = {link: flows_on(simulation, link) for link in links}
            left = {link: sum(float(state.remaining[other]) for other in on[link]) for link in links}
            used = {link: sum(float(state.rate[other]) for other in on[link]) for link in links}
            own = [link for link in links if link not in shared]
            expected["bytes_left"] = max(left[link] for link in own)
            expected["num_flows"] = max(len(on[link]) for link in own if left[link] == expected["bytes_left"])
            expected["utilisation"] = max(used[link] for link in own) / line_rate if live[slot] else 1.0
            if live[slot]:
                expected["expansion_ratio"] = max(
                    expansion_ratio(
                        line_rate,
                        size,
                        [
                            (simulation.now - state.arrival_time[other], state.size[other], state.remaining[other])
                            for other in on[link]
                        ],
                    )
                    for link in links
                )
            else:
                expected["expansion_ratio"] = np.inf
                expected["expected_rate"] = 0.0
            inner = links[1:-1]
            for role, link in zip(ROLES if not same_pod else (ROLES[0], ROLES[3]), inner, strict=True):
                expected[f"{role}_flows"] = len(on[link])
                expected[f"{role}_bytes"] = left[link]
                expected[f"{role}_live"] = float(network.capacity[link] > 0)
            for name, value in expected.items():
                assert shown[name][slot] == pytest.approx(value, rel=2e-4, abs=1e-6), (name, slot)
            rates = [shown[f"{role}_rate"][slot] for role in (ROLES if not same_pod else (ROLES[0], ROLES[3]))]
            if live[slot]:
                assert 0 < shown["expected_rate"][slot] <= min(rates)
            num_checked += 1
        for name, values in shown.items():
            assert not values[num_paths:].any(), name
            if same_pod and name.startswith("core"):
                assert not values.any()
        return int(wrapped.action_space.sample())

    play(env, check_and_choose, seed=2)

    assert num_checked > 100


def test_failures_are_drawn_anew_for_each_episode() -> None:
    env = MERPRouteEnv(failures=3, flows=20)
    down = []
    for seed in range(4):
        env.reset(seed=seed)
        down.append(np.flatnonzero(env.simulation.network.capacity == 0.0).tolist())

    assert all(len(links) == 6 for links in down)
    assert len({tuple(links) for links in down}) > 1
    assert set().union(*down) <= {link for cable in core_cables(16) for link in cable}


def test_delays_are_part_of_completion_times() -> None:
    env = by_hand(make_flows([0.0], [MILLISECOND], source=[0], destination=[4]), link_delay_us=10.0)
    info = env.step(1)[4]
    assert info["time"] == pytest.approx(1e-3 + 6 * 10e-6)
    assert info["reward_terms"]["slowdown"] == pytest.approx(-1.0)
