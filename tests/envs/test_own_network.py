"""Environments on networks of one's own: their load and capacity, both engines, and results that keep the network."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.topology import read_network

FILE = """\
hosts: [h0, h1, h2, h3]
capacity_gbps: 10
links:
  - {ends: [h0, left]}
  - {ends: [h1, left]}
  - {ends: [h2, right]}
  - {ends: [h3, right]}
  - {ends: [left, right], delay_us: 2}
"""
ARGUMENTS = {
    "flowsched/MERPOrder-v0": {"flows": 30},
    "flowsched/TAFETasks-v0": {"workload": {"base": "tafe-log", "num_clients": 1, "num_servers": 3}, "tasks": 8},
    "flowsched/TAFEThresholds-v0": {"workload": {"base": "tafe-log", "num_clients": 1, "num_servers": 3}, "tasks": 8},
    "flowsched/AuTOThresholds-v0": {"hosts": 4, "flows": 100, "period_flows": 50},
}


@pytest.fixture
def network(tmp_path: Path) -> str:
    file = tmp_path / "racks.yaml"
    file.write_text(FILE)
    return str(file)


@pytest.mark.parametrize(
    "env_id",
    [next(iter(ARGUMENTS)), *(pytest.param(each, marks=pytest.mark.exhaustive) for each in list(ARGUMENTS)[1:])],
)
def test_both_engines_give_the_same_rewards(env_id: str, network: str) -> None:
    rewards = []
    for engine in ("simpy", "compiled"):
        env: Any = gym.make(env_id, topology=network, engine=engine, **ARGUMENTS[env_id])
        env.reset(seed=3)
        env.action_space.seed(0)
        rewards.append([env.step(env.action_space.sample())[1] for _ in range(2)])
        assert env.unwrapped.config.link_gbps == 10.0
    assert rewards[0] == rewards[1]


def test_the_load_is_that_of_the_busiest_link_and_all_hosts_send(network: str) -> None:
    env: Any = gym.make("flowsched/MERPOrder-v0", topology=network, load=0.5)
    source = env.unwrapped.source
    # Of 12 pairs, 4 cross each direction of the one cable between the racks.
    assert (source.num_hosts, source.busiest_share) == (4, pytest.approx(1 / 3))
    assert source.offered_load == pytest.approx(0.5)
    assert source.flow_rate * source.size.mean == pytest.approx(0.5 * 1.25e9 * 3)


def test_results_keep_the_network_in_place_of_its_file(network: str) -> None:
    result = evaluate("flowsched/MERPOrder-v0", "srpt", episodes=1, seed=0, kwargs={"topology": network, "flows": 20})
    assert read_network(result.kwargs["topology"]) == read_network(network)


def test_hosts_of_different_capacities_or_number_are_refused(network: str) -> None:
    slow = {"hosts": ["a", "b"], "links": [{"ends": ["a", "s"], "capacity_gbps": 2}, {"ends": ["s", "b"]}]}
    with pytest.raises(ConfigError, match="each host must have one link"):
        gym.make("flowsched/MERPOrder-v0", topology=slow)
    with pytest.raises(ConfigError, match="hosts is 32: network racks has 4"):
        gym.make("flowsched/AuTOThresholds-v0", topology=network)
    with pytest.raises(ConfigError, match="has 9 hosts: network racks has 4"):
        gym.make("flowsched/MERPOrder-v0", workload={"base": "poisson-tree", "num_hosts": 9}, topology=network)
    with pytest.raises(ConfigError, match="topology is 'tree': it must be one of one-link, tree9"):
        gym.make("flowsched/MERPOrder-v0", topology="tree")


def test_a_network_file_of_another_extension_is_refused_with_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "zoo.gml").write_text("graph []\n")
    with pytest.raises(ConfigError, match=r"zoo\.gml': it must end in \.graphml, .*networkx\.read_gml makes a graph"):
        gym.make("flowsched/MERPOrder-v0", topology=str(tmp_path / "zoo.gml"))
