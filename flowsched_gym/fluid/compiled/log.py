"""The events of networks, where asked for."""

from flowsched_gym.fluid.compiled.tables import View
from flowsched_gym.machine_code.decorators import inlined_part


@inlined_part
def note(t: View, n: int, kind: int, row: int) -> None:
    """Adds an event of this instant to the log, while there is room."""
    if t.log_length > 0:
        net = t.networks[n]
        if net.logged < t.log_length:
            entry = t.log[n * t.log_length + net.logged]
            entry.time = net.now
            entry.kind = kind
            entry.row = row - n * t.num_rows
        net.logged += 1
