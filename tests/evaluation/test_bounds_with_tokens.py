"""Holds the bound of flows that need tokens to all schedules of small episodes, each played in the environment."""

from contextlib import closing

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.evaluation import EnvironmentFlows, bounds, evaluate_bound, grants
from flowsched_gym.evaluation.bounds import bound_of_simulation, deadline_bound
from tests.envs.episodes import core
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
ROOM = 20_000
"""Schedules under way that are played at once, more than any of the cases has."""


def draw_flows(rng, num_flows, num_destinations, transport):
    """Draws one or two bursts, of sizes of two, of a range or skewed, some of whose deadlines cannot be met."""
    bursts = np.sort(rng.uniform(0, 0.008, rng.integers(1, 3)))
    choices = rng.choice([250e3, 350e3], num_flows), rng.uniform(1e5, 5e5, num_flows), rng.exponential(25e4, num_flows)
    size = 1e4 + choices[rng.integers(3)]
    # All alone, a flow needs three delays of 0.5 ms, and TCP a handshake and some round trips of 1 ms more.
    alone = size / 125e6 + (1.5e-3 if transport == "ideal" else rng.uniform(5e-3, 15e-3))
    span = alone + rng.uniform(0.3, 1.1) * rng.uniform(0.2, 1.0, num_flows) * size.sum() / 125e6 / num_destinations
    senders = rng.integers(num_flows, size=num_flows) if rng.random() < 0.5 else rng.permutation(num_flows)
    return make_flows(
        bursts[rng.integers(len(bursts), size=num_flows)],
        size,
        span=span,
        source=num_destinations + senders,
        destination=rng.integers(num_destinations, size=num_flows),
    )


def best_by_brute_force(flows, **kwargs):
    """Plays all that can be done at all decisions: grants in every order, with every wait."""
    env = core(gym.make(ARTEMIS, workload=flows, f=flows.num_flows, defer="wait", engine="compiled", **kwargs))
    env.reset(seed=0)
    copies = EpisodeCopies(env, 1 + 2 * ROOM)
    copies.follow(env.workload, [])
    now, met, best, side = np.zeros(1, dtype=np.int64), np.zeros(1), 0.0, 0
    while len(now):
        parent, action = np.nonzero(copies.mask[now])
        side = ROOM - side
        numbers = 1 + side + np.arange(len(parent))
        assert len(parent) <= ROOM
        copies.copy(now[parent], numbers)
        copies.step(numbers, action)
        met = met[parent] + copies.reward[numbers]
        over = copies.over[numbers]
        best = max(best, met[over].max(initial=0.0))
        now, met = numbers[~over], met[~over]
    env.close()
    return int(best)


@pytest.mark.parametrize("num_episodes", [38, pytest.param(75, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("transport", ["ideal", "tcp"])
@pytest.mark.parametrize("num_destinations", [1, 2])
def test_no_schedule_beats_the_bound_and_of_a_few_flows_the_best_one_meets_it(
    transport, num_destinations, num_episodes
):
    rng = np.random.default_rng(num_destinations)
    gaps, unaware = [], []
    for number in range(num_episodes):
        num_flows = 3 + number % 3
        flows = draw_flows(rng, num_flows, num_destinations, transport)
        network = {"k": 1 + number % 3, "transport": transport}
        best = best_by_brute_force(flows, **network)
        kwargs = {"workload": flows, **network}
        found = evaluate_bound(ARTEMIS, episodes=1, seed=0, kwargs=kwargs).values("deadlines_met")[0]
        with closing(EnvironmentFlows(ARTEMIS, kwargs)) as episodes:
            conditions = bound_of_simulation(episodes.simulation(0)).upper
        without_tokens = deadline_bound(flows, capacity=125e6, latency_before=1e-3, latency_after=5e-4).upper
        assert found == best <= conditions <= without_tokens
        gaps.append((conditions - best) / num_flows)
        unaware.append((without_tokens - best) / num_flows)
    assert np.mean(gaps) > 0  # of the conditions alone; trying all schedules closes it
    assert np.mean(gaps) < 0.7 * np.mean(unaware)


def test_where_trying_all_takes_too_long_the_bound_stays_that_of_the_interval_conditions(monkeypatch):
    rng = np.random.default_rng(20)
    kwargs = {"workload": draw_flows(rng, 8, 1, "ideal"), "k": 2}
    exact = evaluate_bound(ARTEMIS, episodes=1, seed=0, kwargs=kwargs).values("deadlines_met")[0]
    for module, name in ((grants, "MOST_STEPS"), (grants, "NUM_COPIES"), (bounds, "MOST_TRIED")):
        with monkeypatch.context() as changed:
            changed.setattr(module, name, 7)
            assert evaluate_bound(ARTEMIS, episodes=1, seed=0, kwargs=kwargs).values("deadlines_met")[0] > exact


def test_a_token_is_held_for_as_long_as_a_lone_flow_takes():
    # With one token, flows of 1.5 ms of delays and 1 ms of sending follow one another every 2 ms after the first.
    for spare, met in ((1e-7, 3), (-1e-7, 2)):
        flows = make_flows([0.0] * 3, [125e3] * 3, span=[0.5e-3 + 3 * 2e-3 + spare] * 3)
        env = gym.make(ARTEMIS, workload=flows, k=1)
        env.reset(seed=0)
        assert bound_of_simulation(core(env).simulation).upper == met
        assert best_by_brute_force(flows, k=1) == met


def test_flows_without_a_deadline_do_not_count_among_those_that_are_tried():
    flows = make_flows([0.0] * 4, [125e3] * 4, span=[0.0026, np.inf, np.inf, 0.01])
    bound = evaluate_bound(ARTEMIS, episodes=1, seed=0, kwargs={"workload": flows, "k": 1})
    assert bound.values("deadlines_met").tolist() == [2.0]
    assert bound.values("deadline_hit_ratio").tolist() == bound.values("reachable_hit_ratio").tolist() == [1.0]
