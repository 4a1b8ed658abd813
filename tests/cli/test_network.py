"""Holds ``flowsched network``, and networks of one's own in replays from the shell, to their files."""

import json
from pathlib import Path

import pytest

from tests.envs.test_own_network import FILE


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "racks.yaml"
    file.write_text(FILE)
    return file


def test_a_network_is_described_and_drawn(flowsched, network: Path, tmp_path: Path) -> None:
    shown = flowsched("network", network, "--plot", tmp_path / "racks.svg")
    assert "4 hosts, 2 switches, 10 links (each direction counted) of 10 Gbps" in shown.out
    assert "0 h0, 1 h1, 2 h2, 3 h3" in shown.out
    assert "h2" in (tmp_path / "racks.svg").read_text()
    facts = json.loads(flowsched("network", network, "--json").out)
    assert (facts["longest_path"], facts["largest_capacity"]) == (3, 1.25e9)


def test_a_replay_takes_the_file_as_its_topology(flowsched, network: Path, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,0,3,1250000,0\n1,1,2,1250000,0\n")
    metrics = json.loads(flowsched("replay", flows, "--discipline", "ps", "--topology", network, "--json").out)
    # Both cross the cable between the racks, and fill half of their hosts' links.
    assert metrics["mean_fct"] == pytest.approx(2e-3 + 2e-6)
    assert metrics["utilisation"] == pytest.approx(0.5, rel=2e-3)
    network.write_text(FILE.replace("{ends: [h0, left]}", "{ends: [h0, left], capacity_gbps: 1}"))
    metrics = json.loads(flowsched("replay", flows, "--discipline", "ps", "--topology", network, "--json").out)
    assert metrics["utilisation"] is None


def test_a_faulty_network_is_one_line(flowsched, network: Path) -> None:
    network.write_text(FILE.replace("delay_us: 2", "delay_us: soon"))
    outcome = flowsched("network", network)
    assert outcome.status == 2
    assert "racks.yaml, link 4 (left to right): delay_us is 'soon': it must be a finite number >= 0" in outcome.err
