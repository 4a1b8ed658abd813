"""Runs a discipline on given flows in the compiled engine."""

from collections.abc import Callable
from typing import Final

from flowsched_gym.flows.records import Records
from flowsched_gym.fluid.compiled.simulation import BatchSimulation
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.stages import Barrier
from flowsched_gym.topology import Routing, Topology
from flowsched_gym.workload import Workload

PARTS: Final = 200
"""Calls of compiled code in which a run is made: between them it tells how far it is, and can be interrupted."""


def run_compiled(
    workload: Workload,
    topology: Topology,
    discipline: Discipline,
    *,
    routing: Routing | None = None,
    barrier: Barrier = Barrier.FLOW,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Runs all flows to their end.

    Args:
        workload: The flows.
        topology: The network.
        discipline: Fills the controls.
        routing: How flows choose among their paths; ``None``: by a hash alone.
        barrier: When a flow whose CPU work is done may send.
        seed: Seed of the hash by which flows are spread over equal paths.
        progress: Called now and then with the number of flows done and of all flows.

    Returns:
        Records, equal bit for bit to the reference engine's.

    Raises:
        ConfigError: Machine code is switched off.
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
    """
    simulation = BatchSimulation(
        1,
        max(workload.num_flows, 1),
        topology,
        discipline,
        routing=routing,
        barrier=barrier if workload.has_stages else None,
        seed=seed,
    )
    simulation.load(0, workload)
    num_flows = workload.num_flows
    for part in range(1, PARTS + 1):
        goal = num_flows * part // PARTS
        simulation.run_until(0, goal)
        if progress is not None:
            progress(goal, num_flows)
    return simulation.records(0, workload)
