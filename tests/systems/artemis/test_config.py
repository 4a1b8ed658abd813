"""Holds the arguments of the Artemis environment to one clear error each."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.errors import ConfigError, FlowFileError
from flowsched_gym.systems.artemis.config import ArtemisConfig
from flowsched_gym.workload import FixedWorkload, UnstableLoadWarning, make_workload, write_flows
from tests.flows import make_flows

NAN = float("nan")

ID = "flowsched/Artemis-v0"

WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"f": value}, rf"f is {value!r}: it must be an integer >= 1") for value in (0, -3, 2.5, True, "5", None, NAN)),
    *(({"k": value}, rf"k is {value!r}: it must be an integer >= 1") for value in (0, -1, 1.0, False, "10", None)),
    *(({"bursts": value}, rf"bursts is {value!r}: it must be an integer >= 1") for value in (0, 1.5, "9")),
    *(({"destinations": value}, rf"destinations is {value!r}: it must be an integer >= 1") for value in (0, 2.0)),
    *(
        ({name: value}, rf"{name} is {value!r}: it must be a finite number > 0")
        for name in ("burst_rate", "load", "seconds", "link_gbps")
        for value in (0, -1.0, NAN, float("inf"), "fast", True)
    ),
    *(
        ({"link_delay_us": value}, rf"link_delay_us is {value!r}: it must be a finite number >= 0")
        for value in (-1, NAN, float("inf"), None)
    ),
    ({"transport": "udp"}, "transport is 'udp': it must be one of ideal, tcp"),
    ({"observation": "half"}, "observation is 'half': it must be one of paper, full"),
    ({"reward": None}, "reward is None: it must be one of lagged, on_completion"),
    ({"defer": "to_back"}, "defer is 'to_back': it must be one of none, wait, to-back"),
    ({"burst_rate": 10.0, "load": 0.5}, "burst_rate and load are both given: give one of them"),
    ({"bursts": 10, "seconds": 1.0}, "bursts and seconds are both given: give one of them"),
    (
        {"workload": "gather-a9"},
        r"workload 'gather-a9' does not exist \(did you mean 'gather-a2'\?\): there are gather-a1",
    ),
    *(({name: 10**400}, f"{name} is 1000+: it must be an integer below") for name in ("k", "f", "bursts")),
    *(({name: 10**400}, f"{name} is 1000+: it must be a finite number") for name in ("load", "link_gbps")),
    ({"workload": 7}, "workload is 7: it must be a name, a flow file, a mapping, a Workload or a source of them"),
    ({"workload": "poisson-web-search", "bursts": 5}, "workload 'poisson-web-search' has none"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_argument_is_refused_by_name_with_its_value_and_what_is_allowed(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        gym.make(ID, **arguments)

    assert "\n" not in str(caught.value)


def test_an_argument_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="num_tokens"):
        gym.make(ID, num_tokens=3)


@pytest.mark.parametrize("number", [3, np.int64(3), np.uint8(3)])
def test_any_integer_will_do(number: int) -> None:
    env = gym.make(ID, f=number, k=number, bursts=number)
    env.reset(seed=1)

    assert env.action_space.n == 3  # type: ignore[attr-defined]
    assert env.unwrapped.workload.num_flows == 30  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.float64(0.5)])
def test_any_number_will_do(number: float) -> None:
    env = gym.make(ID, load=number, link_gbps=number, seconds=number)

    assert env.reset(seed=1)[0] in env.observation_space


def test_names_become_members() -> None:
    config = ArtemisConfig(transport="tcp", reward="lagged")  # type: ignore[arg-type]

    assert repr(config.transport) == "<TransportName.TCP: 'tcp'>"
    assert repr(config.reward) == "<Reward.LAGGED: 'lagged'>"


def test_a_load_counts_the_link_of_this_environment() -> None:
    env = gym.make(ID, load=0.5, link_gbps=10.0, bursts=2000)
    env.reset(seed=1)
    workload = env.unwrapped.workload  # type: ignore[attr-defined]
    offered = workload.size.sum() / workload.arrival_time.max()

    # Two thousand exponential gaps: a standard deviation of 2.2 %.
    assert offered / 10e9 * 8 == pytest.approx(0.5, rel=0.1)


def test_a_load_from_one_on_warns_that_the_queue_grows() -> None:
    with pytest.warns(UnstableLoadWarning, match=r"load is 1\.2"):
        gym.make(ID, load=1.2)


def test_arrivals_end_after_the_seconds_asked_for() -> None:
    env = gym.make(ID, workload="gather-heavy", seconds=0.5)
    env.reset(seed=1)

    assert 0 < env.unwrapped.workload.arrival_time.max() < 0.5  # type: ignore[attr-defined]


def test_an_episode_without_a_flow_is_refused_when_it_is_drawn() -> None:
    env = gym.make(ID, seconds=0.1)
    refused = []
    for seed in range(20):
        try:
            env.reset(seed=seed)
        except ConfigError as error:
            refused.append(str(error))

    assert 0 < len(refused) < 20
    assert set(refused) == {"the episode drawn has no flow: ask for more bursts, or more seconds of arrivals"}


def test_episodes_that_have_no_flow_are_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="the episode drawn has no flow: ask for more bursts, or more seconds"):
        gym.make(ID, seconds=1e-9)


@pytest.mark.parametrize("arguments", [{"bursts": 3}, {"load": 0.5}, {"destinations": 2}, {"seconds": 1.0}])
def test_flows_that_are_given_cannot_be_changed(arguments: dict[str, Any]) -> None:
    workload = make_flows([0.0], [1e5], span=[0.05])
    for given in (workload, FixedWorkload(workload=workload)):
        with pytest.raises(ConfigError, match="burst_rate, load, destinations, bursts and seconds change bursts"):
            gym.make(ID, workload=given, **arguments)


def test_flows_come_from_an_object_a_source_or_a_file_alike(tmp_path: Path) -> None:
    workload = make_workload("gather-a1", num_bursts=3).draw(5)
    write_flows(workload, tmp_path / "flows.csv")
    finished = []
    write_flows(workload, tmp_path / "FLOWS.CSV")
    forms = (workload, FixedWorkload(workload=workload), str(tmp_path / "flows.csv"), tmp_path / "flows.csv")
    for given in (*forms, str(tmp_path / "FLOWS.CSV")):
        env = gym.make(ID, workload=given)
        env.reset(seed=1)
        terminated = False
        while not terminated:
            terminated = env.step(0)[2]
        finished.append(env.unwrapped.records().completion_time.tolist())  # type: ignore[attr-defined]

    assert all(times == finished[0] for times in finished)


def test_a_fault_in_a_flow_file_is_told_when_the_environment_is_made(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,-5,0.0\n")
    with pytest.raises(FlowFileError, match=r"flows\.csv.*size_bytes.*-5"):
        gym.make(ID, workload=str(path))


def test_a_flow_file_that_is_not_there_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(FlowFileError, match=r"nowhere\.csv"):
        gym.make(ID, workload=str(tmp_path / "nowhere.csv"))


def test_making_an_environment_with_its_defaults_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gym.make(ID).reset(seed=1)
