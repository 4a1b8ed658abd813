"""Episodes on ns-3: beside the other engines and times by hand, what is refused. Skipped where ns-3 is not there."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from benchmarks.paper.artemis_packets import play_cell
from benchmarks.paper.losses import TOKENS
from flowsched_gym.cli.app import main
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, SimulationError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.ns3 import build
from flowsched_gym.ns3.program import Cables
from flowsched_gym.topology import Topology, fat_tree
from tests.cases import few_of
from tests.packets.test_artemis import flows_at, play_on

ARTEMIS = "flowsched/Artemis-v0"
MERP = "flowsched/MERPRoute-v0"
SMALL: dict[str, Any] = {"workload": "gather-heavy", "bursts": 4, "k": 3, "f": 5, "packets": "cubic"}
OTHERS: list[dict[str, Any]] = [
    {**SMALL, "packets": "dctcp", "defer": "to-back", "observation": "request"},
    {"workload": "gather-multi", "destinations": 3, "bursts": 6, "k": 3, "packets": "newreno", "defer": "wait"},
    {"workload": "gather-a1", "bursts": 3, "packets": "reno", "reward": "lagged"},
    {"env_id": MERP, "flows": 60, "load": 0.6, "packets": "cubic", "link_delay_us": 5.0},
    {"env_id": MERP, "flows": 60, "packets": "dctcp", "failures": 3, "slow_links": [(0, 0.5)]},
]
SENDERS = {"transport": "newreno", "initial_window": 10, "acks": "packets", "ack_bytes": 54, "handshake": True}
LARGE: dict[str, Any] = {**SENDERS, "payload": 9_000, "header": 54}
"""Packets that are larger than those of a common Ethernet."""
NAMES = ["dctcp", "newreno", "reno", "paths", "failed and slow links"]


@pytest.fixture(scope="module", autouse=True)
def program() -> Path:
    try:
        return build()
    except MissingDependencyError as error:
        pytest.skip(str(error))


def make(engine: str = "ns3", env_id: str = ARTEMIS, **arguments: Any) -> Any:
    return gym.make(env_id, engine=engine, **arguments).unwrapped


@pytest.mark.parametrize("packets", ["dctcp", "cubic", "newreno", "reno", LARGE])
def test_flows_alone_take_as_long_as_in_our_packets(packets: str | dict[str, Any]) -> None:
    """A first window, ten times as much, and one that is as large as the receiver's: within a millionth of a second."""
    played = []
    for engine in ("compiled", "ns3"):
        env = make(engine, workload=flows_at([0.0, 1.0, 2.0], 40_000.0), packets=packets)
        env.reset(seed=0)
        for _ in range(3):
            *_, terminated, _, _ = env.step(0)
        assert terminated
        played.append(env.records())
    ours, theirs = played
    assert theirs.grant_time == pytest.approx(ours.grant_time, abs=2e-9)
    assert theirs.fct == pytest.approx(ours.fct, abs=2e-6)
    assert (theirs.ideal_fct == ours.ideal_fct).all()


def test_bytes_in_flight_are_what_the_receiver_lacks_and_a_token_returns_with_the_last_byte() -> None:
    env = make(workload=flows_at([0.0, 1e-4, 0.02], 20_000.0), k=2, packets="dctcp")
    env.reset(seed=0)
    observation, *_ = env.step(0)
    assert env.layout.context_column(observation, "bytes_in_flight") == pytest.approx(20_588.0, rel=1e-5)
    *_, info = env.step(0)
    first, second, _ = env.records().completion_time
    assert first < second < info["time"] == pytest.approx(0.0205)
    one = make(workload=flows_at([0.0, 1e-4], 20_000.0), k=1, packets="dctcp")
    one.reset(seed=0)
    observation, _, _, _, info = one.step(0)
    assert info["time"] == one.records().completion_time[0]
    assert one.layout.context_column(observation, "bytes_in_flight") == 0.0


@pytest.mark.parametrize("arguments", OTHERS, ids=NAMES)
def test_the_same_flows_and_actions_give_the_same_episode(arguments: dict[str, Any]) -> None:
    told = []
    for _ in range(2):
        env = make(**arguments)
        env.reset(seed=3)
        told.append(play_on(env, seed=1))
        assert not np.isnan(env.records().fct).any()
    assert told[0] == told[1]


@pytest.mark.parametrize("arguments", few_of(OTHERS, OTHERS[:-1]), ids=NAMES)
def test_episodes_are_close_to_those_of_our_packets(arguments: dict[str, Any]) -> None:
    played = []
    for engine in ("ns3", "compiled"):
        env, over = make(engine, **arguments), False
        env.reset(seed=3)
        while not over:
            *_, over, _, _ = env.step(0)
        played.append(env.records())
    theirs, ours = played
    assert (theirs.size == ours.size).all()
    assert (theirs.arrival_time == ours.arrival_time).all()
    assert np.median(theirs.fct) == pytest.approx(np.median(ours.fct), rel=0.15)


def test_the_checker_of_gymnasium_and_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    check_env(make(**SMALL), skip_render_check=True)
    env = make(**SMALL, render_mode="ansi")
    env.reset(seed=0)
    env.step(0)
    assert "packets (cubic)" in env.render()
    process = env.simulation._program._process
    assert process.poll() is None
    env.close()
    assert process.poll() is not None
    assert len(env.records().fct) == 40
    assert capsys.readouterr().err == ""


def test_commands_build_and_play(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ns3", "build"]) == 0
    assert "engine='ns3' is ready" in capsys.readouterr().out
    given = [f"--kwarg={name}={value}" for name, value in {**SMALL, "engine": "ns3"}.items()]
    assert main(["evaluate", ARTEMIS, "--policy=edf", "--policy=lifo", "--episodes=2", *given]) == 0
    assert "deadline_hit_ratio" in capsys.readouterr().out
    result = evaluate(ARTEMIS, "lifo", episodes=1, seed=0, kwargs={**SMALL, "engine": "ns3"})
    assert result.kwargs["engine"] == "ns3"


def test_there_are_no_states_copies_and_vectors() -> None:
    env = make(**SMALL)
    pickle.loads(pickle.dumps(env)).reset(seed=0)
    env.reset(seed=0)
    for attempt in (env.get_state, lambda: copy.deepcopy(env), lambda: pickle.dumps(env)):
        with pytest.raises(SimulationError, match="engine is 'ns3': its episodes have no states and no copies"):
            attempt()
    with pytest.raises(ConfigError, match="vector environments are compiled"):
        gym.make_vec(ARTEMIS, 2, "vector_entry_point", engine="ns3", **SMALL)
    with pytest.raises(ConfigError, match="engine is 'ns3': it must be one of simpy, compiled"):
        make(env_id="flowsched/MERPOrder-v0")


@pytest.mark.parametrize(
    ("packets", "message"),
    [
        (None, "engine is 'ns3' and packets is None: ns-3 sends packets"),
        ({"transport": "tafe"}, "packets has transport 'tafe': in ns-3, it must be 'dctcp' or 'cubic'"),
        ({"transport": "cubic", "header": 40}, "packets has header 40: in ns-3, it must be 42 or 54"),
        ({"transport": "cubic", "header": 42}, "packets has acks 'free': in ns-3, it must be 'packets'"),
        (LARGE | {"payload": 65_500}, "packets has payload 65500 and header 54: in ns-3, both together must be"),
    ],
)
def test_what_ns3_does_not_have_is_refused(packets: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        make(**{**SMALL, "packets": packets})


def test_networks_that_ns3_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigError, match="discipline has ports that are not first in, first out"):
        make(env_id=MERP, packets="dctcp", discipline="srpt")
    one_way = Topology(
        name="one-way",
        num_hosts=2,
        capacity=np.ones(1),
        delay=np.zeros(1),
        link_names=("there",),
        path_start=np.array([0, 1]),
        path_links=np.array([0]),
        pair_start=np.array([0, 0, 1, 1, 1]),
    )
    with pytest.raises(ConfigError, match="has the link 'there' with none back"):
        Cables(one_way)
    twice = fat_tree(arity=4, delay=np.arange(96) * 1e-6)
    with pytest.raises(ConfigError, match="are a cable and differ in delay"):
        Cables(twice)


def test_cables_of_a_fat_tree_join_20_switches_of_four_ports() -> None:
    cables = Cables(fat_tree(arity=4))
    lines = cables.lines(np.zeros(96, dtype=np.int64), np.zeros(96, dtype=np.int64))
    ports = np.bincount([int(str(end)) for line in lines for end in line[:2]])
    assert len(lines) == 48
    assert ports.tolist() == [1] * 16 + [4] * 20


def test_a_program_that_ends_and_one_that_cannot_be_built_are_told_of_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make(**SMALL)
    env.reset(seed=0)
    env.simulation._program._process.kill()
    with pytest.raises(SimulationError, match="ns-3 has ended with status -9: the episode cannot go on"):
        play_on(env, seed=0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        MissingDependencyError, match="on Debian, apt install libns3-dev g\\+\\+ \\(there is no no-such"
    ):
        build()
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(MissingDependencyError, match="false says"):
        build()
    assert not list(tmp_path.rglob("ns3-*"))


@pytest.mark.exhaustive
def test_a_run_of_another_program_on_ns3_comes_out_again() -> None:
    """100 bursts, five tokens, the last come first; sources begin at other times within 0.1 ms."""
    met, _, median = play_cell("2018a_v1 lifo 5", "s31", engine="ns3")
    there = TOKENS["cells"]["2018a_v1 lifo 5"]["s31"]
    assert met == pytest.approx(100 * there["deadline_hit_ratio"], abs=1.0)
    assert 1e3 * median == pytest.approx(there["median_fct_ms"], rel=0.01)
