"""Holds the network of ports against ns-3.37: lone flows, a mix of sizes, incast; DCTCP and Cubic on a leaf-spine.

``tests/data/ns3`` has flows and their completion times in us, measured with ns-3's own TCP (one run, and one with
arrivals moved by up to 1 us, for how far it repeats itself). No number is fitted to them; where sources differ about a
rule, the one that comes closer was taken.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from benchmarks.packets.against_ns3 import SETTINGS, play, read_columns
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.packets.state import PacketRecords
from tests.repository import ROOT

CLASSES = (0, 1e4, 1e5, 1e6, np.inf)


def columns(name: str) -> dict[str, FloatArray]:
    return read_columns(ROOT / "tests" / "data" / "ns3" / f"{name}.csv.gz")


def flow_columns(found: dict[str, FloatArray]) -> dict[str, Any]:
    whole = {name: found[name].astype(int) for name in ("source", "destination")}
    numbers = {name: found[name] for name in ("size_bytes", "arrival_s")}
    return {"flow_id": np.arange(len(found["source"])), **whole, **numbers}


def compared(setting: str, name: str) -> tuple[PacketRecords, dict[str, FloatArray], FloatArray]:
    """Returns our records, ns-3's columns, and the time that each flow takes alone in ns-3, in s."""
    found, lone = columns(name), columns("lone")
    records = play(SETTINGS[setting], flow_columns(found))
    alone = np.interp(np.log(found["size_bytes"]), np.log(lone["size_bytes"]), lone["d11_x_us"]) / 1e6
    return records, found, alone


@pytest.mark.parametrize("run", ["d11_x", "d11_i", "d50_x", "d50_i", "dg_x", "c11_x", "swd_i"])
def test_a_lone_flow_takes_as_long_as_in_ns3(run: str) -> None:
    lone = columns("lone")
    setting, _, where = run.partition("_")
    count = len(lone["size_bytes"])
    flows = {
        "source": np.zeros(count),
        "destination": np.full(count, 5.0 if where == "x" else 1.0),
        "size_bytes": lone["size_bytes"],
        "arrival_s": np.arange(count) + 0.01,
    }
    assert play(SETTINGS[setting], flow_columns(flows)).fct * 1e6 == pytest.approx(lone[f"{run}_us"], rel=0.02)


def test_dctcp_delays_flows_of_each_size_as_in_ns3() -> None:
    """Of 10 to 100 KB there are 34 flows: their mean moves by 15 % when arrivals move by 1 us."""
    records, ns3, alone = compared("d11", "dm50s1")
    theirs, again = ns3["d11_us"] / 1e6, ns3["d11_again_us"] / 1e6
    for low, high in pairwise(CLASSES):
        size = (ns3["size_bytes"] >= low) & (ns3["size_bytes"] < high)
        most = 0.15 if np.count_nonzero(size) > 100 else 0.3
        assert (records.fct / alone)[size].mean() == pytest.approx((theirs / alone)[size].mean(), rel=most)
        error, repeats = (np.median(np.abs(fct / theirs - 1)[size]) for fct in (records.fct, again))
        assert error < 2 * repeats + (0.0 if most < 0.3 else 0.1)
    assert records.timeouts.sum() == ns3["d11_rto"].sum() == 0


def test_cubic_delays_flows_and_loses_packets_as_in_ns3() -> None:
    records, ns3, alone = compared("c11", "dm50s1")
    for low, high in pairwise(CLASSES):
        size = (ns3["size_bytes"] >= low) & (ns3["size_bytes"] < high)
        assert (records.fct / alone)[size].mean() == pytest.approx((ns3["c11_us"] / 1e6 / alone)[size].mean(), rel=0.3)
    assert 0.5 < np.mean(records.timeouts > 0) / np.mean(ns3["c11_rto"] > 0) < 2


@pytest.mark.parametrize("setting", ["d11", "c11"])
def test_incast_is_as_in_ns3(setting: str) -> None:
    records, ns3, alone = compared(setting, "is30s1")
    theirs = ns3[f"{setting}_us"] / 1e6
    assert (records.fct / alone).mean() == pytest.approx((theirs / alone).mean(), rel=0.15)
    assert np.percentile(records.fct, 99) == pytest.approx(np.percentile(theirs, 99), rel=0.3)
    if setting == "c11":
        assert 0.5 < np.mean(records.timeouts > 0) / np.mean(ns3["c11_rto"] > 0) < 2
