"""Holds QCluster's environment to what its port does: by hand, by theory of its clusters, and by what replays say."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.rules.clusters import GIVEN
from flowsched_gym.players import make_policy
from flowsched_gym.queueing import cluster_thresholds
from flowsched_gym.systems.qcluster.rules import ALPHA_STEPS, action_of_thresholds, jain_index
from flowsched_gym.workload import make_workload
from tests.envs.episodes import following, play
from tests.simulate import make_flows

ID = "flowsched/QCluster-v0"


def make(workload: Any, **arguments: Any) -> Any:
    return gym.make(ID, workload=workload, **arguments).unwrapped


def columns(env: Any, observation: np.ndarray) -> dict[str, np.ndarray]:
    layout = env.layout
    context = {column.name: layout.context_column(observation, column.name) for column in layout.context}
    return context | {column.name: layout.slot_column(observation, column.name) for column in layout.slot}


def action_for(env: Any, thresholds: list[float]) -> np.ndarray:
    return action_of_thresholds(env.config, np.array(thresholds)).astype(np.float32)


def test_two_messages_by_hand() -> None:
    # At 1,500 B/s a full packet takes 1 s. A long message of three packets is there at 0, a small one comes at 0.5 s.
    # With a threshold of 1,500 B the second packet of the long one (2,920 B sent) waits for the small one.
    flows = make_flows([0.0, 0.5], [3 * 1460.0, 1460.0])
    env = make(flows, link_gbps=1.2e-5, delay_us=0.0, queues=2, period_us=2.5e6, reward="fct", gap_us=None)
    observation, _ = env.reset(seed=0)
    assert observation.shape == (14 + 2 * 10,)

    observation, reward, terminated, _, info = env.step(action_for(env, [1500.0]))

    seen = columns(env, observation)
    assert not terminated
    assert info["time"] == 2.5
    assert info["finished"] == (1,)
    # The small message waited half a second for the packet before it: 1.5 s in place of 1 s.
    assert reward == pytest.approx(-np.log(1.5))
    terms = {"fct": -np.log(1.5), "slowdown": -np.log(1.5), "jain": 1.0, "deadlines": 0.0}
    assert {name: info["reward_terms"][name] for name in terms} == pytest.approx(terms)
    # All four packets entered; one waits in the lower queue, the third of the long message; nothing was lost.
    assert seen["packets"] == pytest.approx([2, 2], rel=1e-5)
    assert seen["size"] == pytest.approx([3000, 3000], rel=1e-5)
    assert seen["waiting"] == pytest.approx([0, 1], rel=1e-5)
    assert seen["drops"].tolist() == seen["marks"].tolist() == [0, 0]
    assert seen["finished"] == pytest.approx(1, rel=1e-5)
    # The first packet did not wait, the small message's half a second, the long one's second two seconds.
    assert env.decision().counts.waited[0].tolist() == [0.5, 2.0]
    assert env.decision().counts.started[0].tolist() == [2, 1]

    _, _, terminated, _, info = env.step(action_for(env, [1500.0]))
    assert terminated
    assert env.records().completion_time.tolist() == [4.0, 2.0]
    assert info["reward_terms"]["fct"] == pytest.approx(-np.log(4.0 / 3.0))


def test_an_agent_that_never_moves_is_a_replay_with_these_thresholds() -> None:
    flows = make_workload("qcluster-w4", num_flows=200).draw(3)
    thresholds = [2e3, 1e4, 1e5]
    env = make(flows, queues=4, engine="compiled")
    play(env, lambda *_: action_for(env, thresholds), seed=0)
    parameters = {
        "thresholds": env.decision().record.clusters.thresholds[0],
        "delay": 20e-6,
        "arrays": 3,
        "buckets": 4096,
    }
    parameters |= {"message_gap": 4e-3, "flowlet_gap": 4e-3}
    replayed = flowsched_gym.replay_packets(
        flows, scheduler="qcluster", capacity=1.25e9, engine="compiled", parameters=parameters
    )
    assert env.decision().record.clusters.thresholds[0] == pytest.approx(thresholds, abs=2)
    assert env.records().completion_time.tolist() == replayed.completion_time.tolist()


@pytest.mark.parametrize("rule", ["arithmetic", "geometric", "harmonic", "adaptive"])
def test_a_rule_sets_the_thresholds_between_the_weights_that_are_seen(rule: str) -> None:
    env = make("qcluster-w4", flows=300, load=0.9, period_us=1_000.0, engine="compiled")
    policy = make_policy(rule, env)
    observation, _ = env.reset(seed=2)
    for _ in range(20):
        clusters = env.decision().record.clusters
        wanted = cluster_thresholds(clusters.weight[0], rule=rule, packets=clusters.members[0], alpha=clusters.alpha[0])
        observation, *_ = env.step(policy.predict(observation)[0])
        # Thresholds are apart by 1 % at least; what is seen has six digits.
        apart = np.diff(np.log(wanted), prepend=0.0) > 0.02
        assert env.decision().record.clusters.thresholds[0][apart] == pytest.approx(wanted[apart], rel=2e-2)
    assert env.decision().record.clusters.rule[0] == GIVEN

    chosen = make("qcluster-w4", flows=100, action="rule")
    observation, _ = chosen.reset(seed=2)
    action = make_policy(rule, chosen).predict(observation)[0]
    chosen.step(action)
    assert ALPHA_STEPS[action[1]] == chosen.decision().record.clusters.alpha_step[0] == 1.05


def test_across_a_network_an_agent_sets_the_thresholds_of_the_port_of_data_alone() -> None:
    env = make("qcluster-w4", flows=100, packets="dctcp")
    env.reset(seed=2)
    thresholds = env.decision().record.clusters.thresholds
    before = thresholds.copy()
    env.rules.act(env.decision(), np.zeros(env.action_space.shape))
    assert (thresholds[0] != before[0]).all()
    assert (thresholds[1] == before[1]).all()  # of the port of acknowledgements


def test_jains_index_is_that_of_mean_throughputs_by_order_of_magnitude() -> None:
    # 150 and 250 B are of one magnitude, their throughputs 150 and 50 B/s have the mean 100; 2,000 B have 300 B/s.
    index = jain_index(np.array([150.0, 250.0, 2_000.0]), np.array([1.0, 5.0, 20.0 / 3.0]))
    assert index == pytest.approx((100 + 300) ** 2 / (2 * (100**2 + 300**2)))


def test_the_terms_of_hundreds_of_messages_are_those_of_their_records() -> None:
    env = make("qcluster-w4", flows=600, period_us=1e6, engine="compiled")
    env.reset(seed=3)
    terms = env.step(env.action_space.sample())[4]["reward_terms"]
    records = env.records()
    assert terms["fct"] == pytest.approx(-np.log(records.fct.mean() / records.ideal_fct.mean()))
    assert terms["slowdown"] == pytest.approx(-np.log(records.slowdown.mean()))
    assert terms["jain"] == pytest.approx(jain_index(records.size, records.fct))


def test_deadlines_are_rewarded_by_the_share_that_is_met_and_have_queues_of_their_own() -> None:
    flows = make_flows([0.0] * 3, [1460.0] * 3, span=[1.5, 1.5, np.inf])
    env = make(flows, link_gbps=1.2e-5, delay_us=0.0, goal="deadline", queues=4, period_us=1e7, reward="deadlines")
    env.reset(seed=0)
    assert env.action_space.shape == (2,)
    assert env.step(np.zeros(2, dtype=np.float32))[1:3] == (0.5, True)
    assert env.records().completion_time[2] == 3.0
    # Messages one after the other, each due when it ends, to the last bit or beside it.
    exact = make_flows(np.arange(200) * 1e-4, [1460.0] * 200, span=[2.12e-5] * 200)
    env = make(exact, period_us=1e6, reward="deadlines")
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))
    assert reward == info["episode_metrics"]["deadline_hit_ratio"] == 1.0


def test_bad_thresholds_are_bad_and_the_best_ones_good() -> None:
    slowdown = {}
    for name in ("opt", "wst", "geometric"):
        env = make("qcluster-w4", flows=400, load=0.9, engine="compiled")
        last = play(env, following(make_policy(name, env)), seed=5)[-1]
        slowdown[name] = last.info["episode_metrics"]["mean_slowdown"]
    assert slowdown["opt"] < 1.1 * slowdown["geometric"] < 0.6 * slowdown["wst"]


def test_theory_needs_known_traffic_and_thresholds_an_agent_that_sets_them() -> None:
    with pytest.raises(ConfigError, match="not one Poisson workload: thresholds by theory need"):
        make_policy("opt", make(make_flows([0.0], [1e3])))
    with pytest.raises(ConfigError, match="goal is 'deadline': there is no theory"):
        make_policy("wst", make("qcluster-w4", goal="deadline"))
    with pytest.raises(ConfigError, match="action is 'rule': policies that set thresholds need 'thresholds'"):
        make_policy("constant", make("qcluster-w4", action="rule"))


def test_a_buffer_and_marks_are_bytes_of_full_packets() -> None:
    limits = make("qcluster-w4", buffer=3, mark_at=2).config.port_setup().parameters
    assert (limits.buffer, limits.mark_at) == (4_500, 1_500)
    # One packet is being sent, three of the next four wait, the third of these with a mark, and the last is lost.
    flows = make_flows([0.0, 1e-9], [1460.0, 4 * 1460.0])
    env = make(flows, link_gbps=1.2e-5, delay_us=0.0, period_us=2e5, min_rto_us=1e7, buffer=3, mark_at=2)
    env.reset(seed=0)
    env.step(np.zeros(env.action_space.shape, dtype=np.float32))
    counts = env.decision().counts
    assert (counts.packets.sum(), counts.marks.sum(), counts.drops.sum()) == (5, 2, 1)
