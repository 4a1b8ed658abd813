"""Holds what QCluster's page says of disorder and thresholds to the committed results, and these to the rules."""

from functools import cache

import numpy as np
import pytest

from benchmarks.paper import qcluster, qcluster_studies, qcluster_tables
from benchmarks.paper.merp import Runs
from flowsched_gym.core.files import read_json


@cache
def studies() -> dict[str, Runs]:
    found: dict[str, Runs] = read_json(qcluster.RESULTS)["studies"]
    return found


def test_no_threshold_of_theory_gets_better_by_much_when_it_is_halved_or_doubled() -> None:
    for name, runs in studies().items():
        if name.startswith("thresholds"):
            assert min(qcluster_tables.changes(runs, "mean", ("least", "PIAS-OPT"))) > -5, name


def test_what_the_page_says_of_disorder_holds() -> None:
    runs = studies()["W4, lossless"]
    without, with_pda = (
        qcluster_tables.changes(runs, "small", (name, "PIAS-WST"), "0.6")[0] for name in ("QC-FQ", "QC-FQ with PDA")
    )
    assert without < -30 < 50 < with_pda
    assert 0.1 < qcluster_tables.means(runs, "0.6", "QC-FQ", "disorder") < 0.14
    # Flowlets of 0.5 ms never end under full windows: messages stay in the first queue, as in FIFO.
    for load in runs:
        fair, fifo = runs[load]["QC-FQ with PDA"], runs[load]["FIFO"]
        assert fair["small"] == pytest.approx(fifo["small"], rel=0.1), load
        assert np.mean(fair["disorder"]) < 0.001
    short = studies()["flowlets W4, lossless"]["0.6"]
    for gap in ("20 us", "5 us"):
        found = {"0.6": runs["0.6"] | short}
        assert -30 < qcluster_tables.changes(found, "small", (f"QC-FQ, {gap}", "PIAS-WST"))[0] < 0, gap


def test_thresholds_over_time_are_those_of_the_rules() -> None:
    flows = qcluster.draw("qcluster-w6", 0.9, 60, 0)
    weights = qcluster_studies.INITIAL["middle"]
    parameters = {"goal": "fq", "initial_weights": weights, "disorder": "none"}
    trace = qcluster.replay(flows, "qcluster", parameters, keep_trace=True).trace
    ends = range(0, len(trace.queue), 200)
    assert len(ends) > 100
    for end, thresholds in zip(ends, qcluster.thresholds_at(ends, trace, weights), strict=True):
        part = slice(end, end + 200)
        assert (np.searchsorted(thresholds, trace.weight[part]) == trace.queue[part]).all(), end
