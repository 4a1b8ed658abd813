"""Holds MERP's routing to hand-worked episodes, and to the simulation behind it.

In the hand-worked episodes links carry 1 Gbps and take no time, so a flow of 125 KB takes 1 ms alone. Hosts 0 and 1 are
under one edge switch, 0 to 3 in one pod. Of the four paths between pods, 0 and 1 lead over the first aggregation switch
of the pod, 2 and 3 over the second.
"""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.flows.decisions import PathDecision
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.systems.merp.route.config import core_cables
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.topology import fat_tree
from flowsched_gym.workload import LinkChanges, Workload
from tests.envs.episodes import play
from tests.simulate import make_flows

MILLISECOND = 125_000.0
"""Bytes that a link carries in 1 ms."""
NEAR = 1e-5
"""Relative; values that float32 cannot tell apart, and some that differ by rounding alone."""
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


@pytest.mark.parametrize(("path", "milliseconds"), [(0, 10.0), (1, 1.0)])
def test_a_slow_link_has_a_share_of_the_rate_of_others_and_alone_a_flow_would_not_take_it(
    path: int, milliseconds: float
) -> None:
    flow = make_flows([0.0], [MILLISECOND], source=[0], destination=[4])
    env = by_hand(flow, slow_links=[[core_cables(16)[0][0], 0.1]], reward="both")
    *_, terminated, _, info = env.step(path)
    assert terminated
    assert info["reward_terms"]["slowdown"] == pytest.approx(-milliseconds, rel=NEAR)


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


def forecast(simulation: Simulation, path_links: dict[int, list[int]]) -> dict[int, float]:
    """Returns the slowdowns of all flows that send, and of those with these paths, if no more came."""
    network, state, now = simulation.network, simulation.state, simulation.now
    links_of, left = dict(path_links), {}
    for row in simulation.links.active[: simulation.links.num_active].tolist():
        path = int(simulation.controls.path[row])
        links = network.path_links[network.path_start[path] : network.path_start[path + 1]].tolist()
        if row not in links_of and all(network.capacity[link] > 0 for link in links):
            links_of[row] = links
    deadline = dict.fromkeys(links_of, 0.0)
    for link in set().union(*links_of.values()):
        capacity, waiting = float(network.capacity[link]), {row for row, links in links_of.items() if link in links}
        while waiting:
            total = sum(float(state.remaining[row]) for row in waiting)
            ratio = {row: ((now - state.arrival_time[row]) * capacity + total) / state.size[row] for row in waiting}
            last = min(waiting, key=ratio.__getitem__)
            deadline[last] = max(deadline[last], now + total / capacity)
            waiting.remove(last)
    left, slowdowns = {row: float(state.remaining[row]) for row in sorted(deadline, key=deadline.__getitem__)}, {}
    while left:
        free, rate = dict(enumerate(network.capacity.tolist())), {}
        for row in left:
            rate[row] = min(free[link] for link in links_of[row])
            for link in links_of[row]:
                free[link] -= rate[row]
        first = min(left, key=lambda row: left[row] / rate[row] if rate[row] else np.inf)
        step = left.pop(first) / rate[first]
        now += step
        slowdowns[first] = (now - state.arrival_time[first]) / simulation.ideal_fct()[first]
        left = {row: max(remaining - rate[row] * step, 0.0) for row, remaining in left.items()}
    return slowdowns


@pytest.mark.parametrize(
    ("discipline", "arguments"),
    [
        ("merp", {}),
        ("ps", {"failures": 3}),
        ("srpt", {"arity": 6, "flows": 60, "link_gbps": 10.0}),
        pytest.param("fifo", {}, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_the_observation_says_what_the_simulation_knows(discipline: str, arguments: dict[str, Any]) -> None:
    env = MERPRouteEnv(discipline=discipline, observation="forecast", **({"flows": 120} | arguments))
    layout, line_rate, num_checked = env.layout, env.config.capacity, 0

    def check_and_choose(wrapped: gym.Env, observation: np.ndarray, _: Any) -> int:
        nonlocal num_checked
        simulation = env.simulation
        pending, network, state = simulation.pending, simulation.network, simulation.state
        assert isinstance(pending, PathDecision)
        row = pending.row
        size, num_paths = float(state.size[row]), pending.last - pending.first
        same_pod = num_paths < env.num_actions
        context = {"size": size, "ideal_fct": size / line_rate, "live_flows": simulation.links.num_active}
        context["same_pod"] = float(same_pod)
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
                waited = simulation.now - state.arrival_time
                others = [
                    [(waited[other], state.size[other], state.remaining[other]) for other in on[link]] for link in links
                ]
                expected["expansion_ratio"] = max(expansion_ratio(line_rate, size, each) for each in others)
                after = forecast(simulation, path_links={row: links})
                expected["own_slowdown"] = after.pop(row)
                added = sum(after.values()) - sum(forecast(simulation, path_links={}).values())
                expected["total_slowdown"] = max(expected["own_slowdown"] + added, 0.0)
            else:
                expected |= {"expansion_ratio": np.inf, "own_slowdown": np.inf, "total_slowdown": np.inf}
                expected["expected_rate"] = 0.0
            roles = ROLES if not same_pod else (ROLES[0], ROLES[3])
            for role, link in zip(roles, links[1:-1], strict=True):
                expected[f"{role}_flows"] = len(on[link])
                expected[f"{role}_bytes"] = left[link]
                expected[f"{role}_live"] = float(network.capacity[link] > 0)
            for name, value in expected.items():
                assert shown[name][slot] == pytest.approx(value, rel=2e-4, abs=1e-6), (name, slot)
            if live[slot]:
                assert 0 < shown["expected_rate"][slot] <= min(shown[f"{role}_rate"][slot] for role in roles)
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


def test_a_flow_sees_its_own_slowdown_and_what_it_adds_to_those_of_others() -> None:
    # Path 0 leads over a link with a tenth of the rate, which the first flow of 20 ms crosses for 200 ms.
    sizes = [20 * MILLISECOND, 2 * MILLISECOND, 40 * MILLISECOND]
    flows = make_flows([0.0] * 3, sizes, source=[0, 1, 1], destination=[4, 5, 5])
    slow = [[core_cables(16)[0][0], 0.1]]
    env = by_hand(flows, discipline="merp", observation="forecast", slow_links=slow)
    small = env.step(0)[0]
    large = env.step(2)[0]

    # The small flow goes first. On path 0 it takes 20 ms, by which the first one is late; on path 1, where they share
    # the link that leaves the edge, 2 ms. On path 2 they do not meet.
    own = env.layout.slot_column(small, "own_slowdown")[:3]
    assert own == pytest.approx([10, 1, 1], rel=NEAR)
    assert env.layout.slot_column(small, "total_slowdown")[:3] == pytest.approx(np.add(own, [1, 2 / 20, 0]), rel=NEAR)
    # The large one waits for the small one. On path 0 it goes last, after 200 ms, and takes 400; on path 1 it goes
    # before the first one, whose virtual deadline the slow link makes late, and which is late by 40 ms.
    own = env.layout.slot_column(large, "own_slowdown")[:3]
    assert own == pytest.approx([600 / 40, 42 / 40, 42 / 40], rel=NEAR)
    assert env.layout.slot_column(large, "total_slowdown")[:3] == pytest.approx(np.add(own, [0, 40 / 20, 0]), rel=NEAR)


def test_the_forecast_is_what_happens_if_no_more_flows_come() -> None:
    rng = np.random.default_rng(7)
    ends = rng.integers(8, size=24), 8 + rng.integers(8, size=24)  # 0 to 7 are in other pods than 8 to 15
    flows = make_flows([0.0] * 24, MILLISECOND * rng.uniform(1, 40, size=24), source=ends[0], destination=ends[1])
    before = rng.integers(4, size=23)
    happened, shown = [], None
    for path in range(4):
        env = by_hand(flows, discipline="merp", observation="forecast")
        for action in before:
            shown = env.step(int(action))[0]
        env.step(path)
        slowdown = env.records().slowdown
        happened.append((slowdown[-1], slowdown.sum()))

    own, total = np.transpose(happened)
    assert env.layout.slot_column(shown, "own_slowdown") == pytest.approx(own, rel=NEAR)
    forecast = env.layout.slot_column(shown, "total_slowdown")
    assert forecast - forecast[0] == pytest.approx(total - total[0], rel=1e-3)
    assert np.ptp(total) > 1
