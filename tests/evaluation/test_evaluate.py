"""Holds evaluations to their seeds, their policies' protocol, and to the references that they are compared with."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation, TimeLimit

import flowsched_gym
from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import evaluate, make_environment, rollout
from flowsched_gym.flows.metrics import summary
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
SHORT = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 8}


class OldestRequest:
    """Grants the oldest request and remembers how it was asked."""

    def __init__(self):
        self.starts, self.states, self.modes = [], [], []

    @classmethod
    def for_env(cls, env, *, seed=0):
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.starts.append(bool(episode_start[0]))
        self.states.append(state)
        self.modes.append(deterministic)
        return np.asarray(0), (state or 0) + 1


class NoForEnv:
    """Lacks what a class named on the command line needs."""


def test_every_episode_has_its_own_seed_and_the_same_seed_gives_the_same_result():
    result = evaluate(ARTEMIS, "edf", episodes=3, seed=5, kwargs=SHORT)
    assert result.seeds == [5, 6, 7]
    assert repr(result.runs) == repr(evaluate(ARTEMIS, "edf", episodes=3, seed=5, kwargs=SHORT).runs)
    later = evaluate(ARTEMIS, "edf", episodes=1, seed=7, kwargs=SHORT)
    assert later.episodes[0] == result.episodes[2]


def test_all_policies_see_the_same_flows():
    results = [evaluate(ARTEMIS, name, episodes=2, seed=1, kwargs=SHORT) for name in ("fifo", "lifo", "feasible-first")]
    assert len({tuple(result.values("num_flows")) for result in results}) == 1
    flows = evaluation.EnvironmentFlows(ARTEMIS, SHORT)
    env = make_environment(ARTEMIS, SHORT)
    rollout(env, OldestRequest(), seed=1)
    assert env.unwrapped.workload.arrival_time.tolist() == flows.draw(1).arrival_time.tolist()  # type: ignore[attr-defined]


def test_a_policy_gets_its_memory_and_the_start_of_the_episode():
    policy = OldestRequest()
    env = make_environment(ARTEMIS, SHORT)
    episode = rollout(env, policy, seed=0, deterministic=False)
    assert policy.starts == [True] + [False] * (episode.num_decisions - 1)
    assert policy.states == [None, *range(1, episode.num_decisions)]
    assert set(policy.modes) == {False}


def test_an_episode_cut_by_a_time_limit_counts_only_the_flows_that_were_due():
    env = TimeLimit(make_environment(ARTEMIS, SHORT), max_episode_steps=20)
    episode = rollout(env, OldestRequest(), seed=2)
    base, metrics = env.unwrapped, episode.metrics
    expected = summary(base.records(), capacity=125e6, now=base.simulation.now).as_dict()  # type: ignore[attr-defined]
    np.testing.assert_equal(metrics, expected)
    assert (episode.num_decisions, metrics["num_finished"] < 80) == (20, True)
    assert metrics["deadlines_met"] + metrics["deadlines_missed"] < 80


def test_an_object_is_named_by_its_class_or_its_label_and_a_class_is_found_by_module_and_name():
    fifo = evaluate(ARTEMIS, "fifo", episodes=1, seed=2, kwargs=SHORT)
    for policy, label, name in (
        (OldestRequest(), None, "OldestRequest"),
        (OldestRequest(), "mine", "mine"),
        (f"{__name__}:OldestRequest", None, f"{__name__}:OldestRequest"),
    ):
        result = evaluate(ARTEMIS, policy, episodes=np.int64(1), seed=np.int32(2), kwargs=SHORT, label=label)
        assert (result.policy, result.episodes) == (name, fifo.episodes)
    wrapped = rollout(FlattenObservation(make_environment(ARTEMIS, SHORT)), OldestRequest(), seed=2)
    assert (wrapped,) == fifo.episodes


def test_an_argument_that_is_not_allowed_is_named():
    for change, message in (
        ({"episodes": 0}, "episodes is 0: it must be an integer >= 1"),
        ({"seed": -1}, "seed is -1: it must be an integer >= 0"),
        ({"kwargs": {"tokens": 3}}, "no argument 'tokens': it has workload, "),
        ({"kwargs": {"render_mode": "gif"}}, "render_mode is 'gif': it must be None or one of human, rgb_array, ansi"),
        ({"policy": "..policies:FirstSlot"}, r"target is '\.\.policies:FirstSlot': it must have the form module:name"),
        ({"policy": "fastest"}, "policy is 'fastest'"),
        ({"policy": f"{__name__}:NoForEnv"}, "needs a class method for_env"),
        ({"policy": f"{__name__}:Missing"}, "has no 'Missing'"),
    ):
        arguments = {"environment": ARTEMIS, "policy": "edf", "episodes": 1, "seed": 0, "kwargs": SHORT} | change
        with pytest.raises(ConfigError, match=message):
            evaluate(**arguments)
    with pytest.raises(ConfigError, match="gives no episode_metrics"):
        rollout(gymnasium.make("CartPole-v1"), OldestRequest(), seed=0)


@pytest.mark.parametrize("kwargs", [SHORT | {"transport": "tcp"}, SHORT | {"workload": "gather-multi"}], ids=str)
def test_no_policy_beats_the_bound(kwargs):
    bound = evaluation.evaluate_bound(ARTEMIS, episodes=3, seed=11, kwargs=kwargs)
    assert (bound.values("reachable_hit_ratio") <= bound.values("deadline_hit_ratio")).all()
    for name in ("fifo", "lifo", "feasible-first"):
        met = evaluate(ARTEMIS, name, episodes=3, seed=11, kwargs=kwargs).values("deadlines_met")
        assert (met <= bound.values("deadlines_met")).all()
    simulation = evaluation.EnvironmentFlows(ARTEMIS, SHORT).simulation(11)
    workload, capacity = simulation.workload, float(simulation.topology.capacity[0])
    upper = evaluation.deadline_bound(workload, capacity=capacity, latency_after=0.5e-3).upper
    for discipline in ("edf", "srpt", "ps"):
        records = flowsched_gym.replay(workload, discipline=discipline, topology=simulation.topology)
        assert records.deadline_met.sum() <= upper


def test_an_idle_network_meets_its_bound():
    kwargs = {"workload": "gather-a1", "bursts": 3, "burst_rate": 1.0}
    bound = evaluation.evaluate_bound(ARTEMIS, episodes=2, seed=0, kwargs=kwargs)
    met = evaluate(ARTEMIS, "edf", episodes=2, seed=0, kwargs=kwargs)
    assert bound.values("deadline_hit_ratio").tolist() == met.values("deadline_hit_ratio").tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("transport", "needed"),
    [
        # Request and token 0.5 ms each, 100 segments of 1448 B at 1 Gbps, 0.5 ms for the last byte to arrive.
        ("ideal", 1.5e-3 + 144_800 / 125e6),
        # Besides, a handshake of 1 ms and two packets, and 54 B of header on each segment.
        ("tcp", 2.5e-3 + 2 * 1502 / 125e6 + 150_200 / 125e6),
    ],
)
@pytest.mark.parametrize(("spare", "met"), [(1e-7, 1), (-1e-7, 0)])
def test_the_bound_knows_the_time_that_a_lone_flow_needs_at_least(transport, needed, spare, met):
    flow = make_flows([0.0], [144_800.0], span=[needed + spare])
    flows = evaluation.EnvironmentFlows(ARTEMIS, {"workload": flow, "transport": transport})
    assert evaluation.bound_of_simulation(flows.simulation(0)).upper == met
