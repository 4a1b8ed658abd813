"""Holds what is paid to a hand-worked episode, and returns to what flows have been through."""

import numpy as np
import pytest

from flowsched_gym.fluid import Records
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from tests.simulate import make_flows
from tests.systems.auto.long_flows.by_hand import AS_IT_WAS, begin, choices


def test_every_term_of_an_episode_by_hand() -> None:
    # Both flows have links of their own and are long from 2 s on; a short one never counts.
    env = begin(make_flows([0.0, 0.0, 0.0], [4.0, 6.0, 1.0], source=[0, 2, 1], destination=[1, 3, 0]))
    steps = [env.step(choices(AS_IT_WAS, AS_IT_WAS)) for _ in range(4)]
    terms = [step[4]["reward_terms"] for step in steps]

    # The steps end at 3, 4, 5 and 6 s: flow 0 finishes at 4 s, flow 1 at 6 s, both with a slowdown of 1.
    assert [step[4]["time"] for step in steps] == [3.0, 4.0, 5.0, 6.0]
    assert [each["slowdown"] for each in terms] == [0.0, -1.0, 0.0, -1.0]
    growth = [3 / 4 + 3 / 6, 1 / 4 + 1 / 6, 1 / 6, 1 / 6]
    assert [each["slowdown_growth"] for each in terms] == pytest.approx([-value for value in growth])
    # What is long, from 2 B on, sends 1 B/s.
    sent = [np.log(3 / 2) * 2, np.log(4 / 3) * 2, np.log(5 / 4), np.log(6 / 5)]
    assert [each["progress"] for each in terms] == pytest.approx(sent)
    # 1 B/s of a link stands beside the throughput of 1 B/s that flow 0 had, and flow 1.
    assert [each["throughput_ratio"] for each in terms] == [1.0, 2.0, 0.5, 2.0]


@pytest.mark.parametrize("term", ["progress", "slowdown", "slowdown_growth", "throughput_ratio"])
def test_the_term_that_is_asked_for_is_paid(term: str) -> None:
    env = begin(make_flows([0.0, 0.0], [4.0, 6.0], source=[0, 0], destination=[1, 3]), reward=term)
    steps = [env.step(choices(AS_IT_WAS, AS_IT_WAS)) for _ in range(5)]
    assert [step[1] for step in steps] == [step[4]["reward_terms"][term] for step in steps]
    assert len({step[1] for step in steps}) > 1


def test_the_mean_slowdown_of_flows_that_finish_together_is_paid() -> None:
    # On one path they share: 4 B are sent after 8 s. The long flows finish together, each twice as late as alone.
    env = begin(make_flows([0.0, 0.0], [4.0, 4.0], source=[0, 0], destination=[1, 3]))
    for _ in range(20):
        *_, terminated, _, info = env.step(choices(AS_IT_WAS, AS_IT_WAS))
        if terminated:
            break
    assert info["reward_terms"]["slowdown"] == pytest.approx(-env.records().slowdown.mean())


def paid_in_all(reward: str, scope: str) -> tuple[float, Records]:
    """Sums up what random choices are paid in an episode with flows that are long from 1 MB on."""
    env = AuTOLongFlowsEnv("auto-web-search", hosts=4, flows=80, thresholds=(1e5, 1e6), scope=scope, reward=reward)
    env.reset(seed=5)
    env.action_space.seed(5)
    paid, over = 0.0, False
    while not over:
        _, amount, over, _, _ = env.step(env.action_space.sample())
        paid += amount
    return paid, env.records()


@pytest.mark.parametrize("scope", ["server", "network"])
def test_growth_and_progress_add_up_to_the_slowdowns_and_sizes_of_all_long_flows(scope: str) -> None:
    growth, records = paid_in_all("slowdown_growth", scope)
    progress, again = paid_in_all("progress", scope)
    assert (records.size > 1e6).sum() > 10
    assert growth == pytest.approx(-records.slowdown[records.size > 1e6].sum(), rel=1e-9)
    assert progress == pytest.approx(np.log(np.maximum(again.size / 1e6, 1)).sum(), rel=1e-9)
