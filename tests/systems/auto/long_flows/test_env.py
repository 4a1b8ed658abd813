"""Holds the environment of long flows to hand-worked episodes: who is asked about what, what choices do, what is paid.

Links carry 1 B/s and take no time, and the agent is asked every second.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.fluid import Records
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.observation import asked_server, path_of, seen_flows
from flowsched_gym.workload import LinkChanges, Workload
from tests.simulate import make_flows

AS_IT_WAS: Final = (2, 2, 0)
"""The last of three queues, no limit of rates, the first path."""


def begin(workload: Workload, **arguments: Any) -> AuTOLongFlowsEnv:
    """Begins an episode with thresholds of 1 and 2 B, two paths and three slots."""
    settings: dict[str, Any] = {
        "hosts": 4,
        "paths": 2,
        "thresholds": (1.0, 2.0),
        "scope": "network",
        "period_ms": 1e3,
        "n_l": 3,
        "m_l": 2,
        "link_gbps": 8e-9,
        "link_delay_us": 0.0,
    }
    env = AuTOLongFlowsEnv(workload, **(settings | arguments))
    env.reset(seed=0)
    return env


def choices(*slots: tuple[int, int, int]) -> npt.NDArray[np.int64]:
    rows = [*slots, *[(0, 0, 0)] * (3 - len(slots))]
    return np.array(rows).ravel()


def two_of_one_host() -> Workload:
    return make_flows([0.0, 0.0], [30.0, 30.0], source=[0, 0], destination=[1, 2])


def sent_in_a_step(env: AuTOLongFlowsEnv, *slots: tuple[int, int, int]) -> list[float]:
    """Takes a step, and returns what each flow has sent in it."""
    before = env.view().attained.copy()
    env.step(choices(*slots))
    return (env.view().attained - before).tolist()


def test_nothing_is_asked_before_a_flow_is_long() -> None:
    env = begin(make_flows([0.0, 0.5], [5.0, 2.0], source=[0, 2], destination=[1, 3]))
    # Alone on its links it has sent 2 B after 2 s; the other one never is long, as it ends with its second byte.
    assert env.simulation.now == 2.0
    assert seen_flows(env.view(), env.config).tolist() == [0]


def test_flows_share_a_path_and_have_one_each_when_they_are_moved_apart() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, AS_IT_WAS, AS_IT_WAS) == [0.5, 0.5]
    assert sent_in_a_step(env, AS_IT_WAS, (2, 2, 1)) == [1.0, 1.0]
    assert path_of(env.view(), env.config, np.arange(2)).tolist() == [0, 1]
    assert sent_in_a_step(env, (2, 2, 1), (2, 2, 1)) == [0.5, 0.5]


def test_a_flow_in_a_higher_queue_goes_before_others_on_its_path() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, AS_IT_WAS, (0, 2, 0)) == [0.0, 1.0]
    assert env.view().queues_of(np.arange(2)).tolist() == [2, 0]
    assert sent_in_a_step(env, (1, 2, 0), AS_IT_WAS) == [1.0, 0.0]


def test_a_limited_flow_leaves_the_rest_of_the_link_to_others() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, (2, 0, 0), AS_IT_WAS) == pytest.approx([1 / 3, 2 / 3])
    assert sent_in_a_step(env, (2, 1, 0), (2, 1, 1)) == pytest.approx([2 / 3, 2 / 3])
    assert sent_in_a_step(env, (0, 1, 0), AS_IT_WAS) == pytest.approx([2 / 3, 1 / 3])
    assert sent_in_a_step(env, AS_IT_WAS, (2, 2, 1)) == pytest.approx([1.0, 1.0])


def test_choices_hold_for_flows_that_are_not_asked_about_and_empty_slots_change_nothing() -> None:
    arrival, hosts = [0.0, 0.0, 0.0, 0.0], np.arange(4)
    flows = make_flows(arrival, [9.0] * 4, source=hosts, destination=(hosts + 1) % 4)
    seen_first = begin(flows, n_l=2)
    seen_first.step(np.array([0, 0, 1, 1, 1, 1]))

    assert seen_flows(seen_first.view(), seen_first.config).tolist() == [0, 1]
    assert seen_first.view().queues_of(hosts).tolist() == [0, 1, 2, 2]
    one, other = (begin(two_of_one_host()) for _ in range(2))
    for env, ignored in ((one, (0, 0, 0)), (other, (1, 1, 1))):
        for _ in range(5):
            env.step(choices((1, 2, 0), AS_IT_WAS, ignored))

    assert one.view().attained.tolist() == other.view().attained.tolist()


def test_servers_are_asked_in_turn_each_once_in_a_period_about_what_they_send() -> None:
    flows = make_flows([0.0] * 3, [20.0, 20.0, 6.0], source=[3, 1, 1], destination=[0, 2, 3])
    env = begin(flows, scope="server", period_ms=4e3)
    asked = []
    for _ in range(6):
        view = env.view()
        asked.append((view.now, asked_server(view, env.config), seen_flows(view, env.config).tolist()))
        env.step(choices((2, 2, 0), (2, 2, 1)))

    # Flow 2 goes over path 1 from 5 s on; its last byte follows before server 1 is asked again.
    assert [server for _, server, _ in asked] == [3, 1, 3, 1, 3, 1]
    assert [time for time, _, _ in asked] == [3.0, 5.0, 7.0, 9.0, 11.0, 13.0]
    assert [rows for _, _, rows in asked] == [[0], [1, 2], [0], [1], [0], [1]]


def test_masks_tell_of_empty_slots_and_failed_paths() -> None:
    flows = replace(two_of_one_host(), link_changes=LinkChanges.of([(0.0, 9, False), (9.5, 9, True)]))
    env = begin(flows)
    # Link 9 leads up to plane 1 from host 1, link 8 from host 0.
    none, whole = [True, False, False, True, False, False, True, False], [True] * 8

    assert env.action_masks().tolist() == [*whole, *whole, *none]
    assert env.unwrapped.step(choices(AS_IT_WAS, AS_IT_WAS))[4]["action_mask"].tolist() == [*whole, *whole, *none]
    failing = begin(replace(two_of_one_host(), link_changes=LinkChanges.of([(0.0, 8, False), (9.5, 8, True)])))
    narrow = [*whole[:-1], False]

    assert failing.action_masks().tolist() == [*narrow, *narrow, *none]
    failing.step(choices((2, 2, 1), (2, 2, 1)))
    assert path_of(failing.view(), failing.config, np.arange(2)).tolist() == [0, 0]


def test_an_episode_without_long_flows_ends_with_its_first_step() -> None:
    env = begin(make_flows([0.0, 0.0], [2.0, 1.0], source=[0, 1], destination=[2, 3]))
    assert env.simulation.finished
    assert not env._observe().any()
    step = env.step(choices())
    assert step[1:4] == (0.0, True, False)
    assert step[4]["finished"] == (1, 0)


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
