"""Compares plain means of long runs with queueing theory: FIFO and AuTO's multi-level queues on one link.

``python -m benchmarks.paper.queues`` prints a table in a few minutes. Thresholds are the best for each distribution,
load and four queues; the interval is a 95 % bootstrap interval over runs. All rows meet the same seeds, so their gaps
go together. Heavy tails make plain means noisy: the tests (``tests/theory/test_queueing.py``) take the noise out of
shorter runs.
"""

import argparse
from typing import Final

import numpy as np

import flowsched_gym
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS
from flowsched_gym.evaluation import Interval, bootstrap_interval
from flowsched_gym.leaderboard import Table, format_interval
from flowsched_gym.queueing import multilevel_fct, optimal_thresholds
from flowsched_gym.workload import PoissonWorkload, load_cdf

SCHEMES: Final = {"FIFO": "fifo", "QLAS": "mlfq", "QSJF": "qsjf"}
DISTRIBUTIONS: Final = ("web_search", "data_mining")
LOADS: Final = (0.6, 0.8)
NUM_QUEUES: Final = 4


def main() -> None:
    """Reads the size of the comparison, and prints it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=2_000_000, help="flows of a run")
    parser.add_argument("--runs", type=int, default=10, help="runs, seeds 0, 1, ...")
    options = parser.parse_args()
    rows = []
    for name in DISTRIBUTIONS:
        for load in LOADS:
            for scheme in SCHEMES:
                theory, found = compare(scheme, name, load, options.flows, options.runs)
                gap = f"{100 * (found.mean / theory - 1):+.2f}"
                rows.append((scheme, name, f"{load}", f"{theory:.4f}", format_interval(found, digits=4), gap))
    columns = ("scheme", "sizes", "load", "theory", "simulated", "gap, %")
    print(Table(columns=columns, rows=tuple(rows)).markdown())


def compare(scheme: str, name: str, load: float, num_flows: int, num_runs: int) -> tuple[float, Interval]:
    """Gives the mean FCT over the mean service time, by theory and simulated, of a scheme on packaged sizes."""
    sizes = load_cdf(name)
    kind = "qsjf" if scheme == "QSJF" else "qlas"
    thresholds = [] if scheme == "FIFO" else optimal_thresholds(kind, sizes, load, NUM_QUEUES).tolist()
    parameters = {} if scheme == "FIFO" else {"thresholds": thresholds, "within": "fifo"}
    workload = PoissonWorkload(size=sizes, load=load, num_flows=num_flows)
    service = sizes.mean / BYTES_PER_SECOND_PER_GBPS
    means = []
    for seed in range(num_runs):
        flows = workload.draw(seed)
        records = flowsched_gym.replay(flows, discipline=SCHEMES[scheme], parameters=parameters, engine="compiled")
        means.append(float(records.fct.mean()) / service)
    return multilevel_fct(kind, sizes, load, thresholds).overall, bootstrap_interval(np.array(means))


if __name__ == "__main__":
    main()
