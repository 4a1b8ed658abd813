"""Shares what tests of drawn flows need."""

from flowsched_gym.workload import Workload

LEAST_P_VALUE = 1e-3
"""Seeds are fixed: one in a thousand of them would fail by chance, a wrong distribution fails with every one."""
ARRAYS = ("flow_id", "task_id", "source", "destination", "size", "arrival_time", "deadline_span")


def rows_of(workload: Workload, num_flows: int | None = None) -> list[list[float]]:
    """Returns the columns of flows, or of the first ones."""
    return [getattr(workload, name)[:num_flows].tolist() for name in ARRAYS]
