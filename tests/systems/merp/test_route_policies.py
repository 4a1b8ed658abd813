"""Holds the heuristics of MERP's routing to the routings of their names, and to rules that know all."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.flows.decisions import PathDecision
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.rules.routing.memr import expect_on_links, expect_on_path
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.systems.merp.route.config import MERPRouteConfig
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.systems.merp.route.policies import (
    CongaPath,
    HashedPath,
    LeastAdded,
    LeastLoadedPath,
    MemrPath,
    PathPolicy,
    RandomPath,
    SmallestRatioPath,
)
from flowsched_gym.systems.merp.route.rules import RATIO_SCALE, route_layout
from flowsched_gym.topology import fat_tree, make_routing
from flowsched_gym.topology.routes import NetworkState
from tests.envs.episodes import following, play

NEAR = 1e-5
"""Relative; values that float32 cannot tell apart, and some that differ by rounding alone."""


def routed(env: MERPRouteEnv, routing: str) -> Simulation:
    """Runs the flows of an episode with a routing in place of an agent."""
    simulation = Simulation(
        env.workload, fat_tree(), make_discipline(env.config.sharing), routing=make_routing(routing)
    )
    simulation.run()
    return simulation


@pytest.mark.parametrize(("discipline", "failures"), [("merp", 3), ("ps", 0)])
def test_least_loaded_takes_the_paths_of_the_routing_of_that_name(discipline: str, failures: int) -> None:
    for seed in (1, 2):
        env = MERPRouteEnv(flows=200, failures=failures, discipline=discipline, rerouting="least-loaded")
        play(env, following(LeastLoadedPath.for_env(env)), seed=seed)
        assert env.simulation.controls.path.tolist() == routed(env, "least-loaded").controls.path.tolist()


def expected(simulation: Simulation, pending: PathDecision) -> list[tuple[float, float]]:
    """Returns the largest expansion ratio and the least expected rate of each path."""
    network, links = simulation.network, simulation.links
    ratio, rate = np.zeros(len(network.capacity)), np.zeros(len(network.capacity))
    assert simulation.routes is not None
    active = links.active, links.num_active
    scene = NetworkState(simulation.now, *active, simulation.state, simulation.controls, network, simulation.routes)
    expect_on_links(pending.row, scene, ratio, rate)
    return [expect_on_path(path, network, ratio, rate) for path in range(pending.first, pending.last)]


def test_least_added_takes_the_path_that_costs_all_flows_least_and_memr_the_one_that_costs_the_flow_least() -> None:
    layout = route_layout(MERPRouteConfig(observation="forecast"))
    observation = np.zeros(layout.size, dtype=np.float32)
    for name, values in {"expansion_ratio": [2.0, 3.0, 1.0], "total_slowdown": [5.0, 4.0, 1.0]}.items():
        observation[layout.slot_slice(name)][:3] = [value / (value + 4.0) for value in values]
    observation[layout.slot_slice("live")][:2] = 1.0  # not the third

    assert int(LeastAdded(layout).predict(observation)[0]) == 1
    assert int(MemrPath(layout).predict(observation)[0]) == 0


@pytest.mark.parametrize("failures", [0, 3])
def test_memr_takes_the_paths_of_the_routing_of_that_name_where_ratios_differ_by_more_than_rounding(failures) -> None:
    env = MERPRouteEnv(flows=250, failures=failures, rerouting="memr")
    policy = MemrPath.for_env(env)
    same = ties = 0

    for seed in (1, 2):
        env.reset(seed=seed)
        path = routed(env, "memr").controls.path

        def follow(_: gym.Env, observation: np.ndarray, __: Any, path: np.ndarray = path) -> int:
            nonlocal same, ties
            pending = env.simulation.pending
            assert isinstance(pending, PathDecision)
            wanted, chosen = int(path[pending.row]) - pending.first, int(policy.predict(observation)[0])
            values = expected(env.simulation, pending)
            (ratio, rate), (other_ratio, other_rate) = values[wanted], values[chosen]
            if wanted == chosen:
                same += 1
            else:
                # Equal but for the last digits, by which the rule decides; the policy looks at the rates then.
                ties += 1
                assert other_ratio == pytest.approx(ratio, rel=NEAR)
                assert other_rate > rate * (1 - NEAR)
            return wanted

        play(env, follow, seed=seed)

    assert same > 10 * ties


def test_conga_takes_a_least_utilised_path_and_spreads_flows_over_equals() -> None:
    env = MERPRouteEnv(flows=200, failures=2, discipline="ps")
    policy = CongaPath.for_env(env)
    matters, among_all = 0, np.zeros(4)

    def choose(_: gym.Env, observation: np.ndarray, info: Any) -> int:
        nonlocal matters
        shown = np.where(info["action_mask"], env.layout.slot_column(observation, "utilisation"), np.inf)
        chosen = int(policy.predict(observation)[0])
        assert shown[chosen] == shown.min()
        different = len(set(shown[np.isfinite(shown)])) > 1
        matters += different
        among_all[chosen] += not different and info["action_mask"].all()
        return chosen

    for seed in range(16):
        play(env, choose, seed=seed)

    assert matters > 60
    assert (among_all > 0).all()


@pytest.mark.parametrize("policy", [RandomPath, HashedPath])
def test_chance_spreads_flows_evenly_over_the_paths_that_are_there(policy: type[PathPolicy]) -> None:
    env = MERPRouteEnv(flows=2000)
    counts = {4: np.zeros(4), 2: np.zeros(4)}
    chooser = policy.for_env(env, seed=5)

    def choose(_: gym.Env, observation: np.ndarray, info: Any) -> int:
        chosen = int(chooser.predict(observation)[0])
        counts[int(info["action_mask"].sum())][chosen] += 1
        return chosen

    play(env, choose, seed=5)

    for num_paths, count in counts.items():
        mean = count.sum() / num_paths
        # Four standard deviations of a binomial count.
        assert count[:num_paths] == pytest.approx(mean, abs=4 * np.sqrt(mean))
        assert count[num_paths:].sum() == 0


def test_the_hash_depends_on_the_seed_alone() -> None:
    layout = route_layout(MERPRouteConfig(arity=4))
    batch = np.random.default_rng(6).random((300, layout.size)).astype(np.float32)
    first, again, other = (HashedPath(layout, seed=seed).predict(batch)[0] for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert 0.1 < (first == other).mean() < 0.4
    assert first.tolist() == [int(HashedPath(layout, seed=1).predict(row)[0]) for row in batch]


def test_the_ratio_leaves_out_a_slow_link_that_the_pair_does_not() -> None:
    layout = route_layout(MERPRouteConfig())
    observation = np.zeros(layout.size, dtype=np.float32)
    observation[layout.slot_slice("live")][:3] = 1.0
    observation[layout.slot_slice("expected_rate")][:3] = 0.1, 1.0, 0.05
    for path, ratio in enumerate([1.0, 1.1, 1.0]):
        observation[layout.slot_slice("expansion_ratio")][path] = ratio / (ratio + RATIO_SCALE)
    assert MemrPath(layout).predict(observation)[0] == 0
    assert SmallestRatioPath(layout).predict(observation)[0] == 1


def test_the_ratio_takes_a_path_that_is_up_where_no_ratio_is_finite() -> None:
    layout = route_layout(MERPRouteConfig())
    observation = np.zeros(layout.size, dtype=np.float32)
    observation[layout.slot_slice("expansion_ratio")] = 1.0
    observation[layout.slot_slice("live")][2] = 1.0
    assert SmallestRatioPath(layout).predict(observation)[0] == 2
