"""Holds networks of htsim's ``.topo`` files to their tiers, and to clear refusals."""

from pathlib import Path

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import fat_tree, import_network, make_topology
from flowsched_gym.workload import make_workload

THREE = """\
# three tiers
Nodes 8
tiers 3
Podsize 4
Tier 0
Oversubscribed 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000   # to hosts
Queue_Up 100
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 500
Switch_Latency_ns 300
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 2000
Bundle 2
Colour 3
"""
TWO = """\
Nodes 6
Tiers 2
Podsize 6
Tier 0
Downlink_speed_Gbps 10
Radix_Down 3
Radix_Up 1
Downlink_Latency_ns 1
Oversubscribed 3
Tier 1
Downlink_speed_Gbps 10
Radix_Down 2
Downlink_Latency_ns 1
"""


def test_three_tiers_have_the_links_of_htsim_and_half_of_a_switch_latency_each_side(tmp_path: Path) -> None:
    (tmp_path / "three.topo").write_text(THREE)
    network, told = import_network(tmp_path / "three.topo")
    cables = [(*each.ends, each.capacity, each.delay) for each in network.cables]
    assert cables[:3] == [("0", "LS0", 25e9, 1e-6), ("1", "LS0", 25e9, 1e-6), ("2", "LS1", 25e9, 1e-6)]
    assert [each[:2] for each in cables[8:16]] == [
        (f"LS{switch}", f"US{switch // 2 * 2 + other}") for switch in range(4) for other in (0, 1)
    ]
    assert {each[2:] for each in cables[8:16]} == {(25e9, 6.5e-7)}
    # Upper switches 0 and 2 have links to cores 0 and 2, by two cables each; 1 and 3 to cores 1 and 3.
    assert [each[:2] for each in cables[16:]] == [
        (f"US{switch}", f"CS{switch % 2 + step}") for switch in range(4) for step in (0, 0, 2, 2)
    ]
    assert {each[2:] for each in cables[16:]} == {(12.5e9, 2.15e-6)}
    assert told[0].startswith("ignored: Queue_Up, Colour (read are Nodes")
    assert "Queue" not in told[0].partition("read are")[2]
    assert told[1].startswith("guessed: half of a switch's latency is delay of each link beside it")
    flows = {"flow_id": [0], "source": [0], "destination": [7], "size_bytes": [12.5e9], "arrival_s": [0.0]}
    with pytest.warns(match="three.topo: ignored"):
        fct = flowsched_gym.replay(flows, discipline="ps", topology=tmp_path / "three.topo").fct
    assert fct == pytest.approx([1 + 2 * (1e-6 + 0.5e-6 + 2e-6) + 2 * 0.3e-6], abs=1e-12)


def test_two_tiers_are_a_leaf_spine(tmp_path: Path) -> None:
    (tmp_path / "two.topo").write_text(TWO)
    network, told = import_network(tmp_path / "two.topo")
    assert not told
    assert [each.ends for each in network.cables[5:]] == [("5", "LS1"), ("LS0", "US0"), ("LS1", "US0")]


def test_the_fat_tree_of_htsim_is_that_of_the_package(tmp_path: Path) -> None:
    speeds = "Downlink_speed_Gbps 1\nDownlink_Latency_ns 1000\nRadix_Down"
    text = f"Nodes 16\nTiers 3\nPodsize 4\nTier 0\n{speeds} 2\nRadix_Up 2\nTier 1\n{speeds} 2\nRadix_Up 2\nTier 2\n"
    (tmp_path / "tree.topo").write_text(f"{text}{speeds} 4\n")
    network, ours = make_topology(tmp_path / "tree.topo", num_hosts=16), fat_tree(arity=4, delay=1e-6)
    assert (network.pair_start == ours.pair_start).all()
    assert (network.path_start == ours.path_start).all()
    # One link of ours for each link of htsim's, wherever a path takes it.
    links = np.stack([network.path_links, ours.path_links])
    assert len(np.unique(links, axis=1).T) == network.num_links == ours.num_links
    flows = make_workload("poisson-fat-tree", num_flows=100).draw(1)
    fct = [flowsched_gym.replay(flows, discipline="srpt", topology=each).fct for each in (network, ours)]
    assert fct[0] == pytest.approx(fct[1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 8", "Nodes 10", "Nodes is 10: it must be a multiple of 4, by the other numbers"),
        ("Nodes 8", "Nodes 8192", "Radix_Down of tier 2 is 4: it must be 4096"),
        ("Nodes 8", "Nodes eight", "three.topo, line 2 is 'Nodes eight': it must be a name and a whole number"),
        ("Nodes 8\n", "", "has no Nodes, or 0: a .topo file of htsim must have Nodes, Tiers, Podsize"),
        ("tiers 3", "tiers 4", "Tiers is 4: it must be 2 or 3"),
        ("tiers 3", "tiers 2", "Podsize, with two tiers, is 4: it must be 8"),
        ("Tier 2", "Tier 1", "line 18: Tier is 1: it must be 0, 1 or 2, each once"),
        ("Radix_Up 4", "Radix_Down 4", "line 15: Radix_Down is given twice"),
        ("Radix_Up 4", "Podsize 4", "line 15: Podsize: before the first Tier"),
        ("Radix_Up 4\n", "", "tier 1 has no Radix_Up, or 0: it must be > 0"),
        ("Radix_Down 4", "Radix_Down 2", "Radix_Down of tier 2 is 2: it must be 4"),
        ("Bundle 2", "Bundle 3", "Radix_Up of tier 1 is 4: it must be a multiple of 3"),
        ("Oversubscribed 1", "Oversubscribed 2", "Oversubscribed of tier 0 is 2: it must be 1"),
        ("Radix_Down 2\nRadix_Up 2", "Radix_Down 2\nRadix_Up 6", "Oversubscribed of tier 0 is 1: it must be 0.333"),
    ],
)
def test_a_faulty_file_of_htsim_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "three.topo").write_text(THREE.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as caught:
        import_network(tmp_path / "three.topo")
    assert "three.topo" in str(caught.value)


def test_a_network_too_large_is_refused_before_it_is_built(tmp_path: Path) -> None:
    text = TWO.replace("Nodes 6", "Nodes 300000000").replace("Podsize 6", "Podsize 300000000")
    (tmp_path / "two.topo").write_text(text.replace("Radix_Down 2", "Radix_Down 100000000"))
    with pytest.raises(ConfigError, match="Nodes is 300000000, 400000000 links: at most 4096 and 1000000 are allowed"):
        import_network(tmp_path / "two.topo")
