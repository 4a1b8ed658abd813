"""Solves feedback queues by hand whose thresholds an agent sets, and holds them to queueing theory."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError, InvalidAction
from flowsched_gym.envs.thresholds import LEAST_RATIO
from flowsched_gym.machine_code.decorators import compiled_for
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.thresholds.config import HIGHEST, LOWEST, SCALE
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.systems.auto.thresholds.rules import select
from flowsched_gym.workload import UnstableLoadWarning, Workload
from tests.envs.episodes import play
from tests.simulate import make_flows

KILOBYTE_PER_SECOND = 8e-6
"""In Gbps: flows of thousands of bytes take seconds."""
SMALLEST, LARGEST = np.array([-1.0]), np.array([1.0])
"""Actions of one threshold: 1 KB and 1 GB."""


def started(workload: Any, **arguments: Any) -> AuTOThresholdsEnv:
    """Makes an environment of two queues on slow links without delay, and begins an episode."""
    slow = {"link_gbps": KILOBYTE_PER_SECOND, "link_delay_us": 0.0, "queues": 2, "hosts": 4, "period_flows": 1}
    env = AuTOThresholdsEnv(workload, **(slow | {"initial_thresholds": [5e8]} | arguments))
    env.reset(seed=1)
    return env


def two_flows(second: float = 3000.0, *, at: float = 0.5) -> Workload:
    return make_flows([at, at], [1000.0, second], source=[0, 1], destination=[2, 3])


def test_the_first_threshold_is_the_initial_one_and_then_that_of_the_action() -> None:
    env = started(two_flows())
    assert env.decision().record.thresholds.tolist() == [[5e8]]
    env.step(SMALLEST)
    assert env.decision().record.thresholds.tolist() == [[1e3]]


def test_initial_thresholds_by_name_are_the_best_ones_of_that_distribution_at_each_clusters_load() -> None:
    def initial(**arguments: Any) -> list[list[float]]:
        env = AuTOThresholdsEnv(**arguments)
        env.reset(seed=1)
        return env.decision().record.thresholds.tolist()

    best = {load: optimal_thresholds("qlas", "data_mining", load, 4).tolist() for load in (0.5, 0.6, 0.8)}
    assert initial(initial_thresholds="data_mining", load=0.5) == [best[0.5]]
    assert initial(workload="auto-clusters", clusters=4, initial_thresholds="data_mining") == [
        best[load] for load in (0.6, 0.8, 0.6, 0.8)
    ]
    assert initial(workload=two_flows(), initial_thresholds="data_mining") == [best[0.8]]


def test_no_thresholds_are_best_at_a_load_without_bound() -> None:
    with pytest.warns(UnstableLoadWarning), pytest.raises(ConfigError, match=r"load is 1\.2: it must be below 1"):
        AuTOThresholdsEnv(load=1.2)
    with pytest.warns(UnstableLoadWarning):
        AuTOThresholdsEnv(load=1.2, initial_thresholds=[1e4, 1e5, 1e6])


def test_a_threshold_lets_a_short_flow_of_its_cluster_pass_a_long_one_and_touches_no_other_cluster() -> None:
    # The long flows have sent 2 KB when the short ones arrive: demoted, or not.
    flows = make_flows([0.0, 2.0] * 2, [4000.0, 1000.0] * 2, source=[0, 0, 2, 2], destination=[1, 1, 3, 3])
    times = {}
    for name, action in {"both": [-1, -1], "first": [-1, 1], "second": [1, -1], "none": [1, 1]}.items():
        env = started(flows, clusters=2, initial_thresholds=[5e8])
        play(env, lambda *_, action=action: np.array(action, dtype=np.float32), seed=1)  # type: ignore[misc]
        times[name] = env.records().completion_time.tolist()

    passed, shared = [5.0, 3.0], [5.0, 4.0]
    assert times == {
        "both": [*passed, *passed],
        "first": [*passed, *shared],
        "second": [*shared, *passed],
        "none": [*shared, *shared],
    }


def test_rewards_by_hand() -> None:
    # Both share until 1 KB is sent, 2 s after they arrived; the larger one needs 2 s more.
    env = started(two_flows(), topology="one-link")
    first, last = (env.step(SMALLEST) for _ in range(2))

    for step, ratio, slowdown in ((first, 1.0, 2.0), (last, 0.5, 4 / 3)):
        terms = [step[4]["reward_terms"][name] for name in ("fct_ratio", "log_slowdown", "log_fct")]
        assert terms == pytest.approx([ratio, -math.log(slowdown), -math.log(slowdown)])
    assert (first[2], last[2]) == (False, True)
    assert first[1] == first[4]["reward_terms"]["log_fct"]


def test_mean_slowdown_and_mean_fct_weigh_flows_differently() -> None:
    env = started(two_flows(), topology="one-link", period_flows=2)
    terms = env.step(SMALLEST)[4]["reward_terms"]
    # FCT 2 s and 4 s; alone 1 s and 3 s.
    assert terms["log_slowdown"] == pytest.approx(-math.log((2 / 1 + 4 / 3) / 2))
    assert terms["log_fct"] == pytest.approx(-math.log(6 / 4))


def test_a_step_in_which_nothing_finishes_is_paid_as_the_one_before() -> None:
    env = started(two_flows(6000.0, at=0.0), topology="one-link", period_flows=None, period_ms=1500.0)
    terms = [env.step(SMALLEST)[4]["reward_terms"] for _ in range(5)]
    # At 2 s the first flow finishes, at 7 s the other.
    assert [round(each["log_fct"], 6) for each in terms] == [0.0, *[round(-math.log(2.0), 6)] * 3, -0.154151]
    assert [each["fct_ratio"] for each in terms] == pytest.approx([1.0, 1.0, 1.0, 1.0, 2 / 7])


def test_the_papers_observation_lists_the_last_finished_flows_the_last_one_first() -> None:
    flows = dataclasses.replace(two_flows(), flow_id=np.array([4, 7]))
    env = started(flows, observation="paper", m_s=3, topology="one-link")
    assert env.reset(seed=1)[0].tolist() == [0.0] * 21
    env.step(SMALLEST)
    observation = env.step(SMALLEST)[0]

    def row(source: int, destination: int, flow_id: int, size: float, fct: float) -> list[float]:
        ports = 12_000 / 65_535, (32_768 + flow_id) / 65_535
        return [source / 4, ports[0], destination / 4, ports[1], 6 / 255, size / (size + 1e6), fct / (fct + 0.01)]

    expected = [*row(2, 4, 7, 3000.0, 4.0), *row(1, 3, 4, 1000.0, 2.0), *[0.0] * 7]
    assert observation.tolist() == pytest.approx(expected, rel=1e-6)
    newest = started(flows, observation="paper", m_s=1, topology="one-link")
    newest.step(SMALLEST)
    assert newest.step(SMALLEST)[0].tolist() == pytest.approx(expected[:7], rel=1e-6)


def test_the_summary_describes_each_cluster() -> None:
    flows = make_flows([0.2, 0.5], [1000.0, 3000.0], source=[0, 1], destination=[2, 3])
    env = started(flows, topology="one-link", clusters=2)
    observation = env.step(np.array([-1.0, -1.0]))[0]
    shown = dict(zip(env.layout.column_names, observation.tolist(), strict=True))

    def cluster(number: int, **values: float) -> dict[str, float]:
        zeros = dict.fromkeys((column.name for column in env.layout.slot), 0.0)
        return {f"{name}[{number}]": value for name, value in (zeros | values).items()}

    # After 1.9 s the flow of host 0 has finished; that of host 1, in the same cluster, has sent 0.7 KB of 3 KB.
    place = math.log(1.7 / 1e-5) / math.log(1e6)
    assert shown == pytest.approx(
        {
            "finished": 1 / 501,
            **cluster(
                0,
                small_share=1.0,
                small_fct_50=place,
                small_fct_90=place,
                mean_fct=place,
                load=80 / 99,  # 4 KB in 1.9 s over half of the link
                live_0=1 / 11,
                left=2.3e3 / (2.3e3 + 1e8),
            ),
            **cluster(1),
        }
    )


def test_the_summary_tells_classes_of_size_apart() -> None:
    sizes = [1e3, 1e5, 1.1e5, 1e7, 1.1e7]
    flows = make_flows([0.0] * 5, sizes, source=range(5), destination=[5] * 5)
    env = started(flows, topology="one-link", hosts=6, period_flows=5, link_gbps=1.0)
    shown = dict(zip(env.layout.column_names, env.step(LARGEST)[0].tolist(), strict=True))

    for name, share, median, most in (
        ("small", 0.4, 1e3, 1e5),
        ("medium", 0.4, 1.1e5, 1e7),
        ("large", 0.2, 1.1e7, 1.1e7),
    ):
        heights = [math.log10(size / 1e3) / 6 for size in (median, most)]
        found = [shown[f"{name}_{what}[0]"] for what in ("share", "size_50", "size_90")]
        assert found == pytest.approx([share, *heights]), name


def test_an_action_outside_the_space_is_refused() -> None:
    env = AuTOThresholdsEnv(flows=10)
    env.reset(seed=1)
    arrays: list[Any] = [[np.nan, 0.0, 0.0], [0.0, 0.0], [[0.0, 0.0, 0.0]], [0.0, 0.0, 1.0001], [0.0, -np.inf, 0.0]]
    for wrong in (*arrays, np.nan, ["low", "high", "high"], [[0.0], [0.0, 0.0]], None, {}):
        with pytest.raises(InvalidAction, match=r"action is .*: it must be 3 numbers in \[-1, 1\]"):
            env.step(wrong)

    assert env.simulation.now == 0.0


actions = st.integers(1, 7).flatmap(lambda n: st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n))


@given(actions)
def test_any_action_stands_for_thresholds_that_increase_between_1_kb_and_1_gb(action: list[float]) -> None:
    (thresholds,) = SCALE.thresholds_of(np.array([action]))
    assert thresholds[0] >= LOWEST
    assert thresholds[-1] <= HIGHEST
    # Thresholds are in whole bytes.
    assert (thresholds[1:] >= LEAST_RATIO * (thresholds[:-1] - 0.5) - 0.5).all()
    assert (np.diff(thresholds) > 0).all()
    assert SCALE.thresholds_of(SCALE.action_of(thresholds[None]))[0] == pytest.approx(thresholds, abs=1)


def test_each_number_chooses_its_part_of_the_logarithmic_scale_that_is_left() -> None:
    # Half of the six powers of ten above 1 KB, then half of what is left up to 1 GB, less the room of a neighbour.
    (first, second), (lowest, highest) = SCALE.thresholds_of(np.array([[0.0, 0.0], [-1.0, 1.0]]))
    assert first == pytest.approx(1e6 / LEAST_RATIO**0.5, abs=1)
    assert second == pytest.approx((first * LEAST_RATIO * HIGHEST) ** 0.5, rel=1e-6)
    assert (lowest, highest) == (LOWEST, HIGHEST)


@pytest.mark.parametrize("place", range(3))
def test_a_larger_number_never_lowers_a_threshold(place: int) -> None:
    grid = np.zeros((21, 3))
    grid[:, place] = np.linspace(-1.0, 1.0, 21)
    thresholds = SCALE.thresholds_of(grid)
    assert (np.diff(thresholds[:, place]) > 0).all()
    assert (np.diff(thresholds, axis=0) >= 0).all()
    assert (thresholds[:, :place] == thresholds[0, :place]).all()


def test_thresholds_out_of_range_stand_for_the_nearest_ones() -> None:
    action = SCALE.action_of(np.array([[1.0, 2e6, 4e9]]))
    assert SCALE.thresholds_of(action)[0].tolist() == pytest.approx([1e3, 2e6, 1e9], abs=1)
    crowded = SCALE.thresholds_of(SCALE.action_of(np.array([[2e9, 3e9, 4e9]])))
    assert crowded[0] == pytest.approx([1e9 / LEAST_RATIO**2, 1e9 / LEAST_RATIO, 1e9], abs=1)


@pytest.mark.parametrize("find", [select, compiled_for(select, np.zeros(1), 0, 1, 0)], ids=["rule", "compiled"])
@given(values=st.lists(st.integers(-5, 5) | st.floats(allow_nan=False), min_size=1, max_size=40), data=st.data())
def test_the_value_of_a_rank_is_found_and_no_value_is_lost(find, values, data) -> None:
    numbers = np.array([0.5, *values, -0.5])
    rank = data.draw(st.integers(0, len(values) - 1))
    found = find(numbers, 1, 1 + len(values), 1 + rank)  # type: ignore[operator]

    assert found == numbers[1 + rank] == sorted(values)[rank]
    assert (numbers[1 : 1 + rank] <= found).all()
    assert (numbers[1 + rank : -1] >= found).all()
    assert sorted(numbers[1:-1].tolist()) == sorted(values)
    assert numbers[[0, -1]].tolist() == [0.5, -0.5]
