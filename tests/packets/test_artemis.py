"""Holds Artemis over packets to the runs of ns-3 to which ``tcp-lossy`` was fitted; here nothing is."""

import pytest

from benchmarks.paper.artemis_packets import play_cell
from benchmarks.paper.losses import TOKENS


@pytest.mark.parametrize("cell", ["2018_v1 lifo 5", "2018_v2 edf 5", "2018a_v1 ssdf 5", "2018a_v2 fifo 5"])
def test_with_five_tokens_nothing_is_lost_and_as_many_deadlines_are_met_as_in_ns3(cell: str) -> None:
    ns3 = TOKENS["cells"][cell]["s31"]
    met, stalled, median = play_cell(cell, "s31")
    assert met == pytest.approx(100 * ns3["deadline_hit_ratio"], abs=1.5)
    assert stalled == pytest.approx(100 * ns3["stalled"], abs=0.5)
    assert median == pytest.approx(ns3["median_fct_ms"] / 1e3, rel=0.02)


def test_with_ten_tokens_flows_repair_their_losses_and_stall_as_often_as_in_ns3() -> None:
    """Which packets are lost depends on the order of arrivals at one instant; ns-3 has another one."""
    cell = "2018_v2 fifo 10"
    ns3 = TOKENS["cells"][cell]["s31"]
    met, stalled, median = play_cell(cell, "s31")
    assert met == pytest.approx(100 * ns3["deadline_hit_ratio"], abs=8)
    assert stalled == pytest.approx(100 * ns3["stalled"], abs=1.5)
    assert median == pytest.approx(ns3["median_fct_ms"] / 1e3, rel=0.15)
