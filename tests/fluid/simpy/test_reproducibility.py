"""Holds results to be the same in another process, whatever its hash seed."""

import hashlib

from flowsched_gym.topology import big_switch
from flowsched_gym.workload import draw_flows, make_workload
from tests.processes import run_python
from tests.simulate import VARIANTS, simulate

PROGRAM = "from tests.fluid.simpy.test_reproducibility import fingerprint; print(fingerprint())"


def fingerprint() -> str:
    """Digests the completion times of all disciplines on one workload."""
    workload = draw_flows(make_workload("gather-multi"), num_flows=200, seed=11)
    digest = hashlib.sha256()
    for variant in VARIANTS:
        digest.update(simulate(workload, variant, big_switch(num_hosts=workload.num_hosts)).completion_time.tobytes())
    return digest.hexdigest()


def test_results_are_the_same_in_another_process() -> None:
    assert run_python(PROGRAM, PYTHONHASHSEED="1") == fingerprint()
