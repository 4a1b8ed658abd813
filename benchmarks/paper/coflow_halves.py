"""Cuts narrow coflows of a trace in two halves, one to train on: ``python -m benchmarks.paper.coflow_halves TRACE``.

Coflows of up to 200 flows are dealt out at random and arrive 60 times as fast, so that they meet on a switch of 1 Gbps.
The halves are flow files, ``coflows_train.parquet`` and ``coflows_test.parquet`` in the current folder.
"""

import argparse
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.workload import Workload, read_coflows, write_flows

MOST_FLOWS: Final = 200
SPEED: Final = 60.0
SEED: Final = 0


def main() -> None:
    """Reads the trace and writes both halves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper.coflow_halves", description=__doc__)
    parser.add_argument("trace", help="path of FB2010-1Hr-150-0.txt")
    trace = read_coflows(parser.parse_args().trace)
    assert trace.task_id is not None
    coflow, count = np.unique(trace.task_id, return_counts=True)
    dealt = np.random.default_rng(SEED).permutation(coflow[count <= MOST_FLOWS])
    half = len(dealt) // 2
    for name, chosen in (("train", dealt[:half]), ("test", dealt[half:])):
        write_flows(part_of(trace, np.isin(trace.task_id, chosen)), f"coflows_{name}.parquet")
        print(f"coflows_{name}.parquet: {len(chosen)} coflows")


def part_of(trace: Workload, rows: BoolArray) -> Workload:
    """Takes some flows of a trace, the first of which arrives at 0."""
    assert trace.task_id is not None
    arrival = trace.arrival_time[rows] / SPEED
    return Workload(
        flow_id=np.arange(len(arrival)),
        source=trace.source[rows],
        destination=trace.destination[rows],
        size=trace.size[rows],
        arrival_time=arrival - arrival.min(),
        task_id=trace.task_id[rows],
    )


if __name__ == "__main__":
    main()
