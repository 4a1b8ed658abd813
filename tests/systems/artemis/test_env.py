"""Holds the Artemis environment to hand-worked episodes, and what it shows to the simulation behind it.

In the hand-worked episodes links carry 1 Gbps and take no time, so a flow of 125 KB takes 1 ms alone.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.registration import find_environment
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.workload import Workload
from tests.envs.episodes import SHORT, pairwise, play
from tests.simulate import make_flows

MILLISECOND = 125_000.0
"""Bytes that a link carries in 1 ms."""

SPEC = find_environment("flowsched/Artemis-v0")


def by_hand(workload: Workload, **arguments: Any) -> ArtemisEnv:
    """Makes an environment for hand-worked flows, with links that take no time, and begins its episode."""
    env = ArtemisEnv(workload, link_delay_us=0.0, **arguments)
    env.reset(seed=0)
    return env


def four_flows() -> Workload:
    return make_flows([0.0] * 4, [MILLISECOND] * 4, span=[2.5e-3, 1.5e-3, 1e-2, 1e-2], source=[1, 2, 3, 4])


def test_rewards_on_completion_come_with_the_action_after_which_flows_finish() -> None:
    env = by_hand(four_flows(), k=2, f=2, reward="on_completion")
    steps = [env.step(0) for _ in range(4)]

    # Flows 0 and 1 finish together at 2 ms, 2 and 3 at 4 ms.
    assert [step[4]["time"] for step in steps] == pytest.approx([0.0, 2e-3, 2e-3, 4e-3])
    assert [step[4]["finished"] for step in steps] == [(), (0, 1), (), (2, 3)]
    assert [step[1] for step in steps] == [0.0, 1.0, 0.0, 2.0]
    assert [step[2] for step in steps] == [False, False, False, True]
    assert steps[-1][4]["unpaid_rewards"] == 0.0


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_request_tells_the_bytes_that_its_source_has_yet_to_send(engine: str) -> None:
    # From 0 on host 1 sends 1 ms to host 0; at 0.5 ms it has 2 ms more for it and 3 ms for host 3, host 2 has 4 ms.
    hosts = {"source": [1, 1, 1, 2], "destination": [0, 0, 3, 0]}
    flows = make_flows([0.0, 5e-4, 5e-4, 5e-4], [MILLISECOND * each for each in (1, 2, 3, 4)], span=[1.0] * 4, **hosts)
    env = by_hand(flows, k=1, f=2, observation="request", engine=engine)
    shown = [env.reset(seed=0)[0], env.step(0)[0], env.step(0)[0]]

    # Host 3 is asked at 0.5 ms. The two flows then share the link of host 1, and host 0 is asked at 1.5 ms.
    loads = [env.layout.slot_column(each, "source_load") / MILLISECOND for each in shown]
    assert np.array(loads) == pytest.approx(np.array([[1.0, 0.0], [5.5, 0.0], [4.5, 4.0]]), rel=1e-5)


def test_lagged_rewards_come_one_finished_flow_for_each_action() -> None:
    env = by_hand(four_flows(), k=2, f=2, reward="lagged")
    steps = [env.step(0) for _ in range(4)]

    # At 2 ms flow 0 (met, 1) and flow 1 (missed, 0) join the queue: the second action is paid for flow 0, the third for
    # flow 1, the fourth for flow 2; flow 3 is never paid.
    assert [step[1] for step in steps] == [0.0, 1.0, 0.0, 1.0]
    assert steps[-1][4]["unpaid_rewards"] == 1.0
    assert all("unpaid_rewards" not in step[4] for step in steps[:-1])


def test_a_truncated_episode_tells_what_it_did_not_pay_too() -> None:
    workload = make_flows([0.0] * 3, [MILLISECOND] * 3, span=[1.5e-3, 2.5e-3, 1e-2], source=[1, 2, 3])
    env = by_hand(workload, k=2, f=2, reward="lagged", max_decisions=2)
    env.step(0)
    _, reward, _, truncated, info = env.step(0)

    # Flows 0 (missed) and 1 (met) have finished together; the second action is paid for flow 0.
    assert (reward, truncated) == (0.0, True)
    assert info["unpaid_rewards"] == 1.0


@pytest.mark.parametrize("arguments", pairwise(SPEC), ids=str)
def test_rewards_add_up_to_the_deadlines_that_were_met(arguments: dict[str, Any]) -> None:
    env = ArtemisEnv(**SHORT[SPEC.id] | {"burst_rate": 40.0, "bursts": 12} | arguments)
    steps = play(env, seed=1)
    met = int(env.records().deadline_met.sum())

    assert 0 < met < env.workload.num_flows, "the workload is too easy or too hard to show anything"
    assert sum(step.reward for step in steps) + steps[-1].info["unpaid_rewards"] == met
    assert steps[-1].info["episode_metrics"]["deadlines_met"] == met
    assert set(env.terms) == {name for step in steps[1:] for name in step.info["reward_terms"]}


def test_the_action_decides_which_request_is_served() -> None:
    env = by_hand(four_flows(), k=1, f=4)
    for slot in (3, 1, 1, 0):
        env.step(slot)
    # Slot 3 is flow 3; of 0, 1, 2 slot 1 is flow 1; of 0, 2 slot 1 is flow 2.
    assert np.argsort(env.records().completion_time).tolist() == [3, 1, 2, 0]


def test_a_request_goes_to_the_back_once() -> None:
    env = by_hand(four_flows(), k=1, f=3, defer="to-back")
    assert env.action_space.n == 6  # type: ignore[attr-defined]
    assert env.action_masks().tolist() == [True] * 6
    info = env.step(3)[4]

    # Flow 0 is behind flow 3 and out of sight.
    assert (info["time"], info["finished"]) == (0.0, ())
    assert env.step(0)[4]["finished"] == (1,)
    # Now 2, 3 and 0 wait, and 0 cannot go to the back again: trying to grants the oldest, flow 2.
    assert env.action_masks().tolist() == [True, True, True, True, True, False]
    info = env.step(5)[4]
    assert info["finished"] == (2,)
    assert info["empty_slot_choices"] == 1
    # 3 and 0 wait; then 0 alone, which nothing could overtake.
    assert env.action_masks().tolist() == [True, True, False, True, False, False]
    env.step(0)
    assert env.action_masks().tolist() == [True, False, False, False, False, False]


def test_waiting_lets_time_run_to_the_next_request() -> None:
    env = by_hand(make_flows([0.0, 5e-3], [MILLISECOND] * 2, source=[1, 2]), k=1, f=2, defer="wait")
    assert env.action_masks().tolist() == [True, False, True]
    info = env.step(2)[4]

    assert info["time"] == 5e-3
    assert env.action_masks().tolist() == [True, True, False]
    # Nothing will happen any more: a wait grants the oldest.
    info = env.step(2)[4]
    assert info["finished"] == (0,)
    assert info["empty_slot_choices"] == 1


def test_destinations_are_asked_in_turn_and_named() -> None:
    workload = make_flows([0.0] * 4, [MILLISECOND] * 4, source=[4, 5, 6, 7], destination=[2, 1, 2, 1])
    env = by_hand(workload, k=1, f=2)
    steps = play(env, lambda *_: 0, seed=0)

    # Both have a token at 0, both get it back at 1 ms; nobody asks at the end.
    assert [step.info["destination"] for step in steps] == [1, 2, 1, 2, -1]


@pytest.mark.parametrize(
    ("transport", "destinations", "defer"),
    [("ideal", 1, "none"), ("ideal", 3, "to-back"), ("tcp", 3, "none"), ("tcp", 1, "to-back")],
)
def test_the_full_observation_says_what_the_simulation_knows(transport: str, destinations: int, defer: str) -> None:
    env = ArtemisEnv(**SHORT[SPEC.id], transport=transport, destinations=destinations, defer=defer)
    postponed: set[int] = set()

    def check_and_choose(wrapped: gym.Env, observation: np.ndarray, _: Any) -> int:
        simulation, layout = env.simulation, env.layout
        asking, workload, now = simulation.asking, simulation.workload, simulation.now
        assert asking is not None
        assert workload.deadline_span is not None
        waiting = asking.requests[asking.head : asking.tail].tolist()
        visible = waiting[:4]
        active = asking.active[: asking.num_active]
        sent = simulation.state.attained[active] + simulation.state.rate[active] * (now - simulation.links.advanced_to)
        context = {
            "tokens_free": asking.tokens / 3,
            "active_flows": asking.num_active / 3,
            "bytes_in_flight": (simulation.state.volume[active] - sent).sum(),
            "queue_length": len(waiting),
        }
        time_left = workload.arrival_time[visible] + workload.deadline_span[visible] - now
        slots = {
            "present": np.ones(len(visible)),
            "size": workload.size[visible],
            "deadline_span": workload.deadline_span[visible],
            "waiting": now - workload.arrival_time[visible],
            "time_left": time_left,
            "slack": time_left - simulation.state.volume[visible] / 125e6,
            "postponed": np.array([float(row in postponed) for row in visible]),
        }
        assert set(context) == {column.name for column in layout.context}
        assert set(slots) == {column.name for column in layout.slot}
        for name, value in context.items():
            # Seven digits of the encoded value are left; decoding loses as many as the value exceeds its scale.
            assert layout.context_column(observation, name) == pytest.approx(value, rel=1e-4, abs=1e-6), name
        for name, values in slots.items():
            shown = layout.slot_column(observation, name)
            assert shown[: len(visible)] == pytest.approx(values, rel=1e-4, abs=1e-6), name
            assert not shown[len(visible) :].any()
        action = int(wrapped.action_space.sample(mask=env.action_masks().astype(np.int8)))  # type: ignore[arg-type]
        if action >= 4:
            postponed.add(visible[action - 4])
        return action

    steps = play(env, check_and_choose, seed=3)

    assert steps[-1].terminated
    assert bool(postponed) == (defer == "to-back")


def test_the_observation_of_the_paper_is_size_and_deadline_of_each_slot() -> None:
    env = ArtemisEnv(**SHORT[SPEC.id], observation="paper")
    observation, _ = env.reset(seed=4)
    asking = env.simulation.asking
    assert asking is not None
    visible = asking.requests[asking.head : asking.head + 4]

    assert observation.shape == (8,)
    assert env.layout.slot_column(observation, "size") == pytest.approx(env.workload.size[visible], rel=1e-5)
    spans = env.workload.deadline_span[visible]  # type: ignore[index]
    assert env.layout.slot_column(observation, "deadline_span") == pytest.approx(spans, rel=1e-5)
