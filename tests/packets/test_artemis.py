"""Holds Artemis over packets to times by hand and to ns-3's runs, to which nothing is fitted; both engines agree."""

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import flowsched_gym
from benchmarks.paper.artemis_packets import play_cell
from benchmarks.paper.losses import TOKENS
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import evaluate, evaluate_bound
from flowsched_gym.search import Search, SearchConfig
from flowsched_gym.workload import Workload
from tests.cases import few_of

ARTEMIS = "flowsched/Artemis-v0"
SMALL = {"workload": "gather-heavy", "bursts": 4, "k": 3, "f": 5}
OTHERS: list[dict[str, Any]] = [
    {**SMALL, "packets": "dctcp", "defer": "to-back", "observation": "request"},
    {"workload": "gather-multi", "destinations": 3, "bursts": 6, "k": 3, "packets": "cubic", "defer": "wait"},
    {"workload": "gather-a1", "bursts": 3, "packets": "reno", "link_delay_us": 0.0, "reward": "lagged"},
    {**SMALL, "packets": {"transport": "fixed", "initial_window": 12}, "observation": "paper"},
]


def make(**arguments: Any) -> Any:
    return gym.make(ARTEMIS, **arguments).unwrapped


def flows_at(times: list[float], size: float = 1_000.0) -> Workload:
    count = len(times)
    return Workload(
        flow_id=np.arange(count),
        source=np.arange(1, count + 1),
        destination=np.zeros(count, dtype=np.int64),
        size=np.full(count, size),
        arrival_time=np.array(times),
        deadline_span=np.ones(count),
    )


def play_on(env: Any, seed: int) -> list[Any]:
    """Plays to the end by valid actions that a seed draws; returns all that the environment tells."""
    rng, found, over = np.random.default_rng(seed), [], False
    while not over:
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        observation, reward, terminated, truncated, info = env.step(action)
        found.append((observation.tobytes(), reward, info["time"], info.get("destination"), info["finished"]))
        over = terminated or truncated
    return [*found, info["episode_metrics"], env.records().grant_time.tolist(), env.records().fct.tolist()]


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_flow_alone_takes_request_token_handshake_and_its_bytes(engine: str) -> None:
    """Two links of 250 us each way; 58 B for SYN, its answer and the third packet, before 1,042 B of data."""
    env = make(workload=flows_at([0.0]), packets="dctcp", engine=engine)
    env.reset(seed=0)
    env.step(0)
    control, data = 58 / 1.25e8, 1_042 / 1.25e8
    handshake = 2 * (5e-4 + 2 * control)
    assert env.records().grant_time.tolist() == [5e-4]
    assert env.records().fct.tolist() == pytest.approx([1e-3 + handshake + control + 2 * data + 5e-4], rel=1e-12)
    assert env.records().ideal_fct.tolist() == pytest.approx(env.records().fct.tolist(), rel=1e-12)


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_a_token_returns_with_the_last_byte_and_bytes_in_flight_are_what_the_receiver_lacks(engine: str) -> None:
    env = make(workload=flows_at([0.0, 1e-4, 0.02], 20_000.0), k=2, packets="dctcp", engine=engine)
    env.reset(seed=0)
    size = 14 * 42.0 + 20_000.0
    observation, _, _, _, info = env.step(0)
    assert info["time"] == pytest.approx(6e-4)
    assert env.layout.context_column(observation, "bytes_in_flight") == pytest.approx(size, rel=1e-5)
    _, _, _, _, info = env.step(0)
    first, second, _ = env.records().completion_time
    assert second - first < 5e-4 < first
    assert info["time"] == pytest.approx(0.02 + 5e-4)
    one = make(workload=flows_at([0.0, 1e-4], 20_000.0), k=1, packets="dctcp", engine=engine)
    one.reset(seed=0)
    _, _, _, _, info = one.step(0)
    assert info["time"] == one.records().completion_time[0], "the second flow waits for the first one's last byte"


@pytest.mark.parametrize("arguments", few_of(OTHERS, OTHERS[:1]), ids=["dctcp", "cubic", "reno", "fixed"])
def test_engines_agree_bit_for_bit_and_states_go_on_so(arguments: dict[str, Any]) -> None:
    told = []
    for engine in ("simpy", "compiled"):
        env, other = make(**arguments, engine=engine), make(**arguments, engine=engine)
        env.reset(seed=1)
        other.reset(seed=7)
        for _ in range(7):
            env.step(int(np.flatnonzero(env.action_masks())[-1]))
        state = pickle.loads(pickle.dumps(env.get_state()))
        told.append(play_on(env, seed=2))
        other.set_state(state)
        copied = pickle.loads(pickle.dumps(other))
        assert play_on(other, seed=2) == play_on(copied, seed=2) == told[-1]
    assert told[0] == told[1]


def test_vector_environments_are_many_single_ones() -> None:
    arguments = {**SMALL, "packets": "dctcp"}
    vector = gym.make_vec(ARTEMIS, 3, "vector_entry_point", **arguments)
    single = gym.vector.SyncVectorEnv([lambda: gym.make(ARTEMIS, **arguments, engine="compiled")] * 3)
    assert (vector.reset(seed=5)[0] == single.reset(seed=5)[0]).all()
    single.action_space.seed(0)
    for _ in range(60):
        actions = single.action_space.sample()
        ours, theirs = vector.step(actions), single.step(actions)
        for mine, other in zip(ours[:4], theirs[:4], strict=True):
            assert (mine == other).all()
        assert (ours[4]["time"] == theirs[4]["time"]).all()


def test_the_checker_of_gymnasium_finds_nothing() -> None:
    check_env(make(**SMALL, packets="cubic", engine="compiled"), skip_render_check=True)


@pytest.mark.exhaustive
def test_rules_bounds_search_and_pictures_know_packets() -> None:
    kwargs = {**SMALL, "packets": "dctcp"}
    bound = evaluate_bound(ARTEMIS, episodes=1, seed=3, kwargs=kwargs)
    best = evaluate(ARTEMIS, policy="feasible-first", episodes=1, seed=3, kwargs={**kwargs, "engine": "compiled"})
    met, most = (each.runs[0].episodes[0].metrics["deadlines_met"] for each in (best, bound))
    assert 0 < met <= most <= 40
    env = make(**kwargs, render_mode="ansi", engine="compiled")
    observation, _ = env.reset(seed=3)
    search = Search(env, SearchConfig(rounds=1, lookahead=5), seed=0)
    for _ in range(3):
        action, _ = search.predict(observation)
        observation, *_ = env.step(int(action))
    assert "packets (dctcp)" in env.render()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packets": "dctpc"}, "packets is 'dctpc': it must be one of dctcp, cubic, newreno, reno"),
        ({"packets": {"mtu": 9000}}, "packets has 'mtu': it has transport, payload"),
        ({"packets": {"min_rto": 0}}, "packets: min_rto is 0: it must be a finite number > 0"),
        ({"packets": {"delay": 1e-6}}, "packets: delay is 1e-06: the environment has its own delays"),
        ({"packets": 3}, "packets is 3: it must be one of"),
        (
            {"packets": "reno", "transport": "tcp"},
            "packets is 'reno' and transport is 'tcp': a transport is the fluid's",
        ),
    ],
)
def test_a_wrong_argument_is_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**arguments)


def test_jitter_delays_sources_by_up_to_so_much_the_same_on_each_engine() -> None:
    flows = flows_at([0.0] * 9)
    plain, late = (
        flowsched_gym.replay_packets(
            flows, scheduler="fifo", topology="big-switch", engine=engine, parameters={"start_jitter": jitter}
        ).fct
        for engine, jitter in (("compiled", 0.0), ("compiled", 1e-3))
    )
    again = flowsched_gym.replay_packets(
        flows, scheduler="fifo", topology="big-switch", parameters={"start_jitter": 1e-3}
    )
    assert again.fct.tolist() == late.tolist()
    assert (late > plain.min()).all()
    assert len(set(late.tolist())) == 9
    assert late.max() < plain.max() + 1e-3


@pytest.mark.parametrize("cell", ["2018_v1 lifo 5", "2018_v2 edf 5", "2018a_v1 ssdf 5", "2018a_v2 fifo 5"])
def test_with_five_tokens_nothing_is_lost_and_as_many_deadlines_are_met_as_in_ns3(cell: str) -> None:
    ns3 = TOKENS["cells"][cell]["s31"]
    met, stalled, median = play_cell(cell, "s31")
    assert met == pytest.approx(100 * ns3["deadline_hit_ratio"], abs=1.5)
    assert stalled == pytest.approx(100 * ns3["stalled"], abs=0.5)
    assert median == pytest.approx(ns3["median_fct_ms"] / 1e3, rel=0.02)


@pytest.mark.parametrize("cell", ["2018_v2 fifo 10", "2018a_v1 edf 10"])
def test_with_ten_tokens_flows_repair_their_losses_and_stall_as_often_as_in_ns3(cell: str) -> None:
    ns3 = TOKENS["cells"][cell]["s31"]
    met, stalled, median = play_cell(cell, "s31")
    assert met == pytest.approx(100 * ns3["deadline_hit_ratio"], abs=6)
    assert stalled == pytest.approx(100 * ns3["stalled"], abs=3)
    assert median == pytest.approx(ns3["median_fct_ms"] / 1e3, rel=0.2)
