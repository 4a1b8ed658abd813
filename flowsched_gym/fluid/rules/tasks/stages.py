"""Moves flows from stage to stage (TAFE, section III): first CPU work, then the network."""

from typing import Final

from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.stages import Stage, Stages
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.machine_code.decorators import inlined_part, inlined_rule
from flowsched_gym.topology.network import Network

ON_CPU: Final = int(Stage.ON_CPU)
AT_BARRIER: Final = int(Stage.AT_BARRIER)
SENDING: Final = int(Stage.SENDING)


@inlined_rule
def first_cpu_path(network: Network) -> int:
    """Returns the row of the first path that stands for a CPU; behind the last path where there are none."""
    return len(network.path_start) - 1 - network.num_cpus


@inlined_rule
def stops_waiting(row: int, stages: Stages) -> bool:
    """Counts the arrival of a flow, or the end of one that it comes after; returns whether it waits for no more."""
    stages.waits_for[row] -= 1
    ready: bool = stages.waits_for[row] == 0
    return ready


@inlined_rule
def begin_work(now: float, row: int, state: FlowState, controls: Controls, stages: Stages) -> bool:
    """Puts a flow that is ready on its CPU; returns whether it has work there. To disciplines, it arrives now."""
    state.arrival_time[row] = now
    if stages.cpu_time[row] == 0.0:
        return False
    stages.stage[row] = ON_CPU
    controls.path[row] = stages.cpu_path[row]
    _begin(row, stages.cpu_time[row], state)
    return True


@inlined_rule
def barrier_opens(row: int, first_row: int, stages: Stages) -> bool:
    """Lets a flow wait at its barrier; returns whether no CPU work is left for which it would wait.

    Args:
        first_row: Row of the first flow of its network.
    """
    stages.stage[row] = AT_BARRIER
    group = first_row + stages.group[row]
    if stages.cpu_time[row] > 0.0:
        stages.working[group] -= 1
    opens: bool = stages.working[group] == 0
    return opens


@inlined_rule
def waits_at_barrier(row: int, member: int, stages: Stages) -> bool:
    """Returns whether a flow waits for one whose barrier has opened: all do when the last CPU work of them is done."""
    waits: bool = member == row or (stages.cpu_time[row] > 0.0 and stages.stage[member] == AT_BARRIER)
    return waits


@inlined_rule
def begin_sending(row: int, state: FlowState, controls: Controls, stages: Stages) -> None:
    """Puts a flow on the network."""
    stages.stage[row] = SENDING
    controls.path[row] = stages.path[row]
    _begin(row, stages.volume[row], state)


@inlined_rule
def is_sending(row: int, stages: Stages | None) -> bool:
    """Returns whether a flow has come as far as the network."""
    if stages is None:
        return True
    sending: bool = stages.stage[row] == SENDING
    return sending


@inlined_part
def _begin(row: int, volume: float, state: FlowState) -> None:
    """Lets a flow begin something of this volume."""
    state.volume[row] = volume
    state.remaining[row] = volume
    state.attained[row] = 0.0
