"""Holds environments over packets to sums by hand and to a replay, and their engines to each other."""

import pickle
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.core.snapshot import pack
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.flows.precedence import Precedence
from flowsched_gym.packets.parameters import PRESETS
from flowsched_gym.systems.auto.thresholds.config import SCALE
from flowsched_gym.workload import Workload
from tests.cases import few_of
from tests.environments import FEW_OVER_PACKETS, OVER_PACKETS

PAYLOAD, HEADER, ACK = 1_460.0, 42.0, 58.0
"""Bytes of a packet of the presets, of its header, and of an acknowledgement or a packet of a handshake."""
RATE = 125e6
each_over_packets = pytest.mark.parametrize("case", few_of(OVER_PACKETS, FEW_OVER_PACKETS))


def make(case: str, **arguments: Any) -> Any:
    env_id, own = OVER_PACKETS[case]
    return gym.make(env_id, **{**own, **arguments}).unwrapped


def flows_of(sizes: list[float], times: list[float], *, hosts: list[tuple[int, int]]) -> Workload:
    source, destination = np.array(hosts).T
    return Workload(
        flow_id=np.arange(len(sizes)),
        source=source,
        destination=destination,
        size=np.array(sizes),
        arrival_time=np.array(times),
    )


def draw_action(env: Any, rng: np.random.Generator) -> Any:
    if isinstance(env.action_space, gym.spaces.Discrete):
        return int(rng.choice(np.flatnonzero(env.action_masks())))
    if isinstance(env.action_space, gym.spaces.Box):
        return rng.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)
    return np.array([rng.integers(count) for count in env.action_space.nvec])


def play_on(env: Any, seed: int) -> list[Any]:
    """Plays to the end by actions that a seed draws; returns all that the environment tells."""
    rng, found, over = np.random.default_rng(seed), [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(draw_action(env, rng))
        found.append((observation.tobytes(), reward, info["time"], info["finished"]))
        over = terminated or truncated
    return [*found, info["episode_metrics"], env.records().completion_time.tolist()]


@each_over_packets
def test_engines_agree_bit_for_bit_and_states_and_copies_go_on_so(case: str) -> None:
    told = []
    for engine in ("simpy", "compiled"):
        env, other = make(case, engine=engine), make(case, engine=engine)
        env.reset(seed=1)
        other.reset(seed=7)
        rng = np.random.default_rng(3)
        for _ in range(3):
            env.step(draw_action(env, rng))
        state = pickle.loads(pickle.dumps(env.get_state()))
        told.append(play_on(env, seed=2))
        assert len(told[-1]) > 4
        other.set_state(state)
        copied = pickle.loads(pickle.dumps(other))
        assert play_on(other, seed=2) == play_on(copied, seed=2) == told[-1]
    assert told[0] == told[1]


@each_over_packets
def test_vector_environments_are_many_single_ones(case: str) -> None:
    env_id, arguments = OVER_PACKETS[case]
    vector = gym.make_vec(env_id, 2, "vector_entry_point", **arguments)
    single = gym.vector.SyncVectorEnv([lambda: make(case, engine="compiled")] * 2)
    assert (vector.reset(seed=5)[0] == single.reset(seed=5)[0]).all()
    single.action_space.seed(0)
    for _ in range(12):
        actions = single.action_space.sample()
        for mine, other in zip(vector.step(actions)[:4], single.step(actions)[:4], strict=True):
            assert (mine == other).all()


@each_over_packets
def test_the_checker_of_gymnasium_finds_nothing_and_pictures_are_drawn(case: str) -> None:
    check_env(make(case, engine="compiled"), skip_render_check=True)
    env = make(case, engine="compiled", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[-1] == 3


def test_flows_of_which_an_environment_keeps_nothing_are_packed() -> None:
    kept = namedtuple("Kept", "columns rows times")(np.zeros(3, dtype=[]), np.arange(4), np.arange(2.0))
    assert [each.tolist() for each in pack(kept)[0]] == [[(), (), ()], [0, 1, 2, 3], [0.0, 1.0]]


@pytest.mark.exhaustive
def test_thresholds_that_never_move_serve_as_a_replay_by_pias_does() -> None:
    thresholds = np.array([[20_000.0, 200_000.0, 2_000_000.0]])
    env = make("thresholds", clusters=1, initial_thresholds=thresholds[0].tolist(), engine="compiled")
    env.reset(seed=4)
    action = SCALE.action_of(thresholds).ravel().astype(np.float32)
    exact = SCALE.thresholds_of(action.astype(np.float64).reshape(1, 3))[0]
    over = False
    while not over:
        *_, over, _, _ = env.step(action)
    flows, config = env.workload, env.config
    records = flowsched_gym.replay_packets(
        flows,
        scheduler="pias",
        topology="big-switch",
        num_hosts=config.hosts,
        capacity=config.capacity,
        engine="compiled",
        parameters={"thresholds": exact.tolist(), "delay": config.delay, **PRESETS["dctcp"]},
    )
    assert env.records().completion_time.tolist() == records.completion_time.tolist()


def test_a_flow_that_is_served_first_overtakes_and_the_other_ends_when_all_bytes_have_passed() -> None:
    """Of two flows of 100 packets that wait together, whoever goes first ends as if it were alone."""
    size, count = 100 * PAYLOAD, 100
    flows = flows_of([size, size], [0.0, 0.0], hosts=[(0, 1), (0, 1)])
    for first in (0, 1):
        env = make("order", topology="one-link", workload=flows, link_delay_us=0.0, packets=patient(), flows=None)
        env.reset(seed=0)
        assert env.action_masks()[:3].tolist() == [True, True, False]
        *_, over, _, _ = env.step(first)
        assert over, "a flow alone competes with nobody"
        ends = env.records().completion_time
        packet = (PAYLOAD + HEADER) / RATE
        assert ends[first] == pytest.approx(count * packet, abs=1e-12)
        assert ends[1 - first] == pytest.approx(2 * count * packet, abs=1e-12)


def patient() -> dict[str, Any]:
    """Nothing is lost, all packets are sent at once, and acknowledgements take no bandwidth."""
    return {"transport": "fixed", "initial_window": 200, "min_rto": 10.0, "header": HEADER, "payload": PAYLOAD}


def test_flows_on_paths_of_their_own_do_not_wait_and_on_one_path_they_do() -> None:
    """Two flows of two senders in one pod to two receivers in another: over other core switches, or over one."""
    size = 200 * PAYLOAD
    flows = flows_of([size, size], [0.0, 0.0], hosts=[(0, 8), (1, 9)])
    ends = {}
    for paths in ((0, 3), (0, 0)):
        env = make("route", workload=flows, link_delay_us=0.0, packets=patient(), flows=None)
        env.reset(seed=0)
        for path in paths:
            env.step(path)
        ends[paths] = np.sort(env.records().completion_time)
    packet = (PAYLOAD + HEADER) / RATE
    alone = (200 + 5) * packet
    assert ends[0, 3].tolist() == pytest.approx([alone, alone], abs=1e-12)
    assert ends[0, 0][1] == pytest.approx(alone + 200 * packet, abs=2 * packet)


def test_a_flow_with_a_rate_cap_is_paced_and_takes_the_path_that_it_is_given() -> None:
    """Long after 1 KB, it is capped to a third of the link at each period of 1 ms, and so are its segments."""
    size = 1_000 * PAYLOAD
    flows = flows_of([size], [0.0], hosts=[(0, 1)])
    ends = []
    for rate in (0, 1, 2):
        arguments = {"workload": flows, "thresholds": [1_000.0], "period_ms": 1.0, "packets": patient(), "flows": None}
        env = make("long-flows", **arguments, link_delay_us=0.0)
        env.reset(seed=0)
        over = False
        while not over:
            action = np.zeros(env.action_space.shape, dtype=np.int64)
            action[1], action[2] = rate, 2
            *_, over, _, _ = env.step(action)
        ends.append(float(env.records().completion_time[0]))
        path = env.decision().controls.path[0] - env.decision().routes.first[0]
        assert path == 2
    third = 3 * (PAYLOAD + HEADER) / RATE
    # In the first period its window of 200 and what that makes room for are sent without a cap.
    assert ends[0] == pytest.approx(1e-3 + (1_000 - 200) * third - 3e-3, rel=0.01)
    assert ends[0] > 1.5 * ends[2]
    assert ends[2] < ends[1] < ends[0]


def play_levels(threshold: float, seed: int = 0, **arguments: Any) -> tuple[Any, Any]:
    """Plays tasks in two levels with one threshold in B; returns when flows end, and the environment."""
    env = make("task-thresholds", **arguments, queues=2, initial_thresholds=[threshold])
    env.reset(seed=seed)
    action = type(env.rules.scale).action_of(env.rules.scale, np.array([[threshold]])).ravel().astype(np.float32)
    over = False
    while not over:
        *_, over, _, _ = env.step(action)
    return env.records().completion_time, env


def test_the_first_task_in_the_highest_level_goes_first() -> None:
    """Two tasks of one flow each; the one that has sent more than the threshold waits for the other's first bytes."""
    size = 100 * PAYLOAD
    flows = flows_of([size, size], [0.0, 30e-6], hosts=[(0, 1), (0, 1)])
    flows = Workload(**{**{name: getattr(flows, name) for name in flows.__dataclass_fields__}, "task_id": np.arange(2)})
    arguments = {"workload": flows, "topology": "one-link", "packets": patient(), "tasks": None}
    ends = {}
    for threshold in (10 * PAYLOAD, 1e6):
        ends[threshold], _ = play_levels(threshold, **arguments)
    packet = (PAYLOAD + HEADER) / RATE
    assert ends[1e6].tolist() == pytest.approx([100 * packet, 200 * packet], abs=1e-12)
    # Eleven packets of each are in the first level.
    assert ends[10 * PAYLOAD].tolist() == pytest.approx([(11 + 11 + 89) * packet, 200 * packet], abs=1e-12)


MS = 1e-3
SENDING = 100 * (PAYLOAD + HEADER) / RATE


def play_tasks(cpu_ms: list[float], choose: Callable[[list[int]], int], **given: Any) -> tuple[list[float], Any]:
    """Plays flows of 100 packets that work on CPUs first; returns when they end, and the environment."""
    count = len(cpu_ms)
    flows = Workload(
        flow_id=np.arange(count),
        source=np.array(given.pop("source", [0] * count)),
        destination=np.full(count, 9),
        size=np.full(count, 100 * PAYLOAD),
        arrival_time=MS * np.array(given.pop("arrival_ms", [0.0] * count)),
        cpu_time=MS * np.array(cpu_ms),
        task_id=np.array(given.pop("task", range(count))),
        after=given.pop("after", None),
    )
    arguments = {"topology": "big-switch", "packets": patient(), "tasks": None, "information": "full", **given}
    return play_by(make("tasks", workload=flows, **arguments), choose)


def play_by(env: Any, choose: Callable[[list[int]], int], seed: int = 0) -> tuple[list[float], Any]:
    """Plays to the end by what is chosen among the rows of flows that compete; returns when flows end."""
    env.reset(seed=seed)
    over = False
    while not over:
        rows = env.simulation.pending.rows[: env.config.f].tolist() if env.simulation.pending else [0]
        *_, over, _, _ = env.step(rows.index(choose(rows)))
    return env.records().completion_time.tolist(), env


@pytest.mark.parametrize("packets", [patient(), patient() | {"start_jitter": 1e-4}, "dctcp"])
def test_a_flow_alone_takes_its_cpu_work_and_then_the_time_of_its_packets(packets: Any) -> None:
    (alone,), _ = play_tasks([0.0], min, packets=packets)
    (end,), env = play_tasks([3.0], min, packets=packets)
    assert end == pytest.approx(3.0 * MS + alone, abs=1e-12)
    (end,), _ = play_tasks([3.0], min, packets=packets, cpus=0.5)
    assert end == pytest.approx(6.0 * MS + alone, abs=1e-12)
    assert env.records().slowdown == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_cpu_runs_the_flow_that_is_served_first_alone_and_then_the_other(engine: str) -> None:
    two_links = {"engine": engine, "topology": "one-link"}
    assert play_tasks([3.0, 5.0], min, **two_links)[0] == pytest.approx([3 * MS + SENDING, 8 * MS + SENDING], abs=1e-12)
    assert play_tasks([3.0, 5.0], max, **two_links)[0] == pytest.approx([8 * MS + SENDING, 5 * MS + SENDING], abs=1e-12)
    # The second one arrives while 3 of 5 ms are left of the first.
    ends, _ = play_tasks([5.0, 1.0], max, arrival_ms=[0.0, 2.0], **two_links)
    assert ends == pytest.approx([6 * MS + SENDING, 3 * MS + SENDING], abs=1e-12)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_cpu_runs_the_first_task_in_the_highest_level(engine: str) -> None:
    """Task 0 has sent 100 packets when its second flow works from 2 ms on, for 5; task 1 comes at 4 ms, with 1 ms."""
    flows = Workload(
        flow_id=np.arange(3),
        source=np.zeros(3, dtype=np.int64),
        destination=np.ones(3, dtype=np.int64),
        size=np.full(3, 100 * PAYLOAD),
        arrival_time=MS * np.array([0.0, 2.0, 4.0]),
        cpu_time=MS * np.array([0.0, 5.0, 1.0]),
        task_id=np.array([0, 0, 1]),
    )
    given = {"workload": flows, "topology": "one-link", "packets": patient(), "tasks": None, "engine": engine}
    ends, _ = play_levels(10 * PAYLOAD, **given)
    assert ends.tolist() == pytest.approx([SENDING, 8 * MS + SENDING, 5 * MS + SENDING], abs=1e-12)
    ends, _ = play_levels(1e6, **given)
    assert ends.tolist() == pytest.approx([SENDING, 7 * MS + SENDING, 7 * MS + 2 * SENDING], abs=1e-12)


@pytest.mark.parametrize("barrier", ["flow", "task"])
def test_where_links_hardly_matter_levels_serve_as_in_the_fluid(barrier: str) -> None:
    drawn = make("tasks", workload="tafe-mixed", tasks=20, packets=None)
    drawn.reset(seed=3)
    arguments = {"workload": drawn.workload, "tasks": None, "link_gbps": 1e5, "barrier": barrier, "engine": "compiled"}
    tct = []
    for packets in (None, patient()):
        _, env = play_levels(2e5, **arguments, packets=packets, topology="one-link")
        tct.append(task_completion_times(env.records()).tct)
    assert drawn.workload.has_cpu_work
    assert tct[1] == pytest.approx(tct[0], rel=0.0, abs=1e-5)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_the_agent_sees_how_much_work_is_left_and_that_nothing_is_sent(engine: str) -> None:
    """At 2 ms half a CPU has done 1 of 5 ms of one flow, whose rest takes 8 ms, when another one comes."""
    _, env = play_tasks([5.0, 1.0], max, arrival_ms=[0.0, 2.0], cpus=0.5, engine=engine)
    observation, _ = env.reset(seed=0)

    def seen(name: str) -> list[float]:
        return env.layout.slot_column(observation, name)[:2].tolist()

    assert env.layout.context_column(observation, "on_cpu") == 1.0
    assert seen("waiting") == pytest.approx([2 * MS, 0.0], rel=1e-5)
    assert seen("attained") == pytest.approx([2 * MS, 0.0], rel=1e-5)
    assert seen("remaining") == pytest.approx([8 * MS, 2 * MS], rel=1e-5)
    assert seen("task_cpu_left") == pytest.approx([4 * MS, 1 * MS], rel=1e-5)
    assert seen("unsent") == pytest.approx([100 * PAYLOAD] * 2, rel=1e-5)
    assert seen("task_sent") == [0.0, 0.0]


def test_a_flow_begins_when_the_last_byte_of_the_one_before_it_has_arrived() -> None:
    ends, env = play_tasks([3.0, 5.0], min, task=[0, 0], after=Precedence.of({0: [1]}))
    second = 5 * MS + SENDING + (PAYLOAD + HEADER) / RATE
    assert ends == pytest.approx([second + 3 * MS + SENDING + (PAYLOAD + HEADER) / RATE, second], abs=1e-12)
    assert env.records().ready_time.tolist() == [ends[1], 0.0]


def test_at_the_barrier_of_their_task_flows_wait_for_the_slowest_cpu() -> None:
    """On two hosts, 3 and 5 ms: both send at 5 ms, and share the link to their receiver."""
    given = {"source": [0, 1], "task": [0, 0]}
    hop = (PAYLOAD + HEADER) / RATE
    ends, _ = play_tasks([3.0, 5.0], min, **given)
    assert ends == pytest.approx([3 * MS + SENDING + hop, 5 * MS + SENDING + hop], abs=1e-12)
    ends, _ = play_tasks([3.0, 5.0], min, barrier="task", **given)
    assert ends == pytest.approx([5 * MS + SENDING + hop, 5 * MS + 2 * SENDING + hop], abs=2 * hop)


@pytest.mark.parametrize("workload", ["tafe-mixed", "tafe-alibaba"])
@pytest.mark.parametrize("barrier", ["flow", "task"])
def test_where_links_hardly_matter_tasks_take_as_long_as_in_the_fluid(workload: str, barrier: str) -> None:
    """Whoever chooses, here by a number of each flow: 1 Gbps of traffic on links of 100,000 Gbps, and its CPU work."""
    drawn = make("tasks", workload=workload, tasks=20, packets=None)
    drawn.reset(seed=3)
    flows = drawn.workload
    arguments = {"workload": flows, "tasks": None, "link_gbps": 1e5, "barrier": barrier, "engine": "compiled"}
    tct = []
    for packets in (None, patient()):
        env = make("tasks", **arguments, packets=packets)
        play_by(env, lambda rows: min(rows, key=lambda row: (7_919 * row % 101, row)))
        tct.append(task_completion_times(env.records()).tct)
    assert flows.has_cpu_work
    assert max(tct[0]) > 1e4 * 1e-7
    assert tct[1] == pytest.approx(tct[0], rel=0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("case", "arguments", "message"),
    [
        ("thresholds", {"within": "fifo"}, "within is 'fifo', and packets are given"),
        ("route", {"discipline": "merp"}, "discipline is 'merp': packets have ps and srpt alone"),
        ("route", {"rerouting": "conga"}, "rerouting is 'conga': flows of packets keep their paths"),
        ("route", {"packets": {"paths": "packet"}}, "paths is 'packet': an agent chooses the path of a flow"),
        (
            "task-thresholds",
            {"cpus": 0.5, "within": "fair"},
            r"cpus is \(0.5,\), and packets are given: within is 'fair', and must be 'serial'",
        ),
        ("task-thresholds", {"demotion": "arrived"}, "demotion is 'arrived', and packets are given"),
        ("qcluster", {"buffer": 100}, "buffer is 100, and packets are given"),
        (
            "task-thresholds",
            {"workload": "tafe-alibaba", "within": "shortest"},
            "flows have CPU work, or come after others",
        ),
    ],
)
def test_what_packets_do_not_have_is_one_clear_error(case: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, WorkloadError), match=message):
        make(case, **arguments)


def test_paths_that_have_failed_from_the_beginning_are_masked_and_taken_by_nobody() -> None:
    told = []
    for engine in ("simpy", "compiled"):
        env = make("route", failures=3, engine=engine)
        env.reset(seed=1)
        masks = [env.action_masks()]
        rng, over = np.random.default_rng(0), False
        while not over:
            *_, over, _, _ = env.step(draw_action(env, rng))
            masks.append(env.action_masks())
        decision = env.decision()
        taken, network = decision.controls.path, decision.network
        crossed = [network.path_links[network.path_start[path] : network.path_start[path + 1]] for path in taken]
        failed = np.flatnonzero(network.capacity == 0.0)
        assert len(failed) == 6
        assert not np.isin(np.concatenate(crossed), failed).any()
        told.append((np.array(masks).tolist(), env.records().completion_time.tolist()))
    assert told[0] == told[1]
    assert not np.array(told[0][0])[:-1].all()
