"""What has happened in a network: its events, and the flows that have been delivered."""

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.fluid.events import EventKind


def delivered(tables: Tables, number: int) -> list[int]:
    """Returns the rows of the flows whose last byte has arrived, in that order."""
    first = number * tables.num_rows
    rows = tables.delivered[first : first + int(tables.networks["delivered"][number])]
    return [int(row) - first for row in rows]


def log(tables: Tables, number: int) -> list[tuple[float, EventKind, int]]:
    """Returns the events of a network as (time in s, kind, row).

    Raises:
        SimulationError: There were more events than the log can hold.
    """
    length, logged = tables.log_length, int(tables.networks["logged"][number])
    if logged > length:
        raise SimulationError(f"{logged} events happened: the log holds {length}")
    entries = tables.log[number * length : number * length + logged]
    return [(time, EventKind(kind), row) for time, kind, row in entries.tolist()]
