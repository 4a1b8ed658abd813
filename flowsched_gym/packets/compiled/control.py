"""The rules of schedulers in compiled code, which is of the one that is used: the type of its record tells which.

These functions have no bodies of their own; ``schedulers.Rules`` says what each does.
"""

from typing import Any

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import chosen_by_type
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers import COMPILED


def _rule(name: str, record: type) -> Any:
    """Finds a rule of the scheduler that keeps this record."""
    return getattr(COMPILED[record], name)


@chosen_by_type(_rule)
def arrive(now: float, port: int, p: int, table: PacketTable, own: Any) -> Arrival:
    """Decides what becomes of a packet that arrives at a port."""
    raise NotImplementedError


@chosen_by_type(_rule)
def choose(port: int, head_size: FloatArray, own: Any) -> int:
    """Returns the queue that an idle port serves."""
    raise NotImplementedError
