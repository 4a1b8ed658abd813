"""What a network asks an agent, and what the agent answers, checked before compiled code carries it out."""

import numpy as np

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.fluid.compiled.choosing import move as move_flow
from flowsched_gym.fluid.compiled.orders import begin_next_period, give_one
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables
from flowsched_gym.fluid.decision import Order
from flowsched_gym.fluid.pending_decisions import DecisionKind, OrderDecision, PathDecision
from flowsched_gym.fluid.rules.routing.candidates import path_is_up


def asking(tables: Tables, number: int) -> int | None:
    """Returns the host that waits for a decision, if any."""
    index = int(tables.networks["asking"][number])
    if index == NOBODY:
        return None
    return int(tables.destinations["host"][number * tables.most_destinations + index])


def num_waiting(tables: Tables, number: int) -> int:
    """Returns how many requests wait at the asking destination.

    Raises:
        SimulationError: No destination asks.
    """
    if asking(tables, number) is None:
        raise SimulationError("no destination waits for a decision")
    destination = tables.destinations[number * tables.most_destinations + int(tables.networks["asking"][number])]
    return int(destination["tail"] - destination["head"])


def grant(tables: Tables, number: int, slot: int) -> int:
    """Grants a token of the asking destination to the request in a slot; returns the flow's row in its network.

    Raises:
        SimulationError: No destination asks, or no request waits in the slot.
    """
    return _serve_request(tables, number, Order.GRANT, slot)


def postpone(tables: Tables, number: int, slot: int) -> int:
    """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row.

    Raises:
        SimulationError: No destination asks, or no request waits in the slot.
    """
    return _serve_request(tables, number, Order.POSTPONE, slot)


def wait(tables: Tables, number: int) -> None:
    """Lets the asking destination wait for its next request or token.

    Raises:
        SimulationError: No destination asks.
    """
    _serve_request(tables, number, Order.WAIT, 0)


def pending(tables: Tables, number: int) -> OrderDecision | PathDecision | PeriodDecision | None:
    """Returns what an agent has to decide in a network beside tokens, if anything; rows count from its first."""
    choosing = tables.choosing
    if choosing is None or tables.networks["asking"][number] == NOBODY:
        return None
    first_row = number * tables.num_rows
    choices = choosing.choices[number]
    first, count = int(choices["first_asked"]), int(choices["num_asked"])
    if choosing.asks == DecisionKind.PERIOD:
        return PeriodDecision(int(choices["periods"]) - 1)
    if choosing.asks == DecisionKind.ORDER:
        return OrderDecision(choosing.asked[first : first + count].astype(np.int64) - first_row)
    row = int(choosing.asked[first])
    return PathDecision(row - first_row, int(choosing.routes.first[row]), int(choosing.routes.last[row]))


def serve_first(tables: Tables, number: int, index: int) -> int:
    """Puts the flow at an index of the ``OrderDecision`` before all others; returns its row in its network.

    Raises:
        SimulationError: No order is asked for, or there is no such index.
    """
    decision = pending(tables, number)
    if not isinstance(decision, OrderDecision):
        raise SimulationError("no order waits for a decision")
    if not 0 <= index < len(decision.rows):
        raise SimulationError(f"index is {index}: flows compete at the indices 0 to {len(decision.rows) - 1}")
    return _give(tables, number, Order.SERVE_FIRST, index)


def take_path(tables: Tables, number: int, choice: int) -> int:
    """Sends the flow of the ``PathDecision`` along one of its paths; returns its row in its network.

    Raises:
        SimulationError: No path is asked for, there is no such path, or one of its links has failed.
    """
    decision = pending(tables, number)
    if not isinstance(decision, PathDecision):
        raise SimulationError("no path waits for a decision")
    _check_choice(tables, number, choice, decision.first, decision.last)
    return _give(tables, number, Order.TAKE_PATH, choice)


def move(tables: Tables, number: int, row: int, choice: int) -> None:
    """Sends an active flow of a network along another of its paths while a ``PeriodDecision`` waits.

    Raises:
        SimulationError: No period waits to begin, paths stay, or there is no such path, or one with a failed link.
    """
    choosing = tables.choosing
    if choosing is None or not isinstance(pending(tables, number), PeriodDecision):
        raise SimulationError("no period waits to begin")
    if choosing.chooser is None:
        raise SimulationError("no routing was given: flows keep their paths")
    at = number * tables.num_rows + row
    first, last = int(choosing.routes.first[at]), int(choosing.routes.last[at])
    _check_choice(tables, number, choice, first, last)
    move_flow(tables, number, at, first + choice)


def go_on(tables: Tables, number: int) -> None:
    """Begins a period of a network, with the controls as they have been set since the ``PeriodDecision``.

    Raises:
        SimulationError: No period waits to begin.
    """
    if not isinstance(pending(tables, number), PeriodDecision):
        raise SimulationError("no period waits to begin")
    begin_next_period(tables, number)


def _check_choice(tables: Tables, number: int, choice: int, first: int, last: int) -> None:
    """Refuses a path that a flow, whose paths are the rows from the first to before the last, cannot take."""
    if not 0 <= choice < last - first:
        raise SimulationError(f"choice is {choice}: the flow has the paths 0 to {last - first - 1}")
    capacity = tables.capacity[number * tables.link_stride :][: tables.link_stride]
    if not path_is_up(first + choice, capacity, tables.path_start, tables.path_links):
        raise SimulationError(f"choice is {choice}: a link of that path has failed")


def _serve_request(tables: Tables, number: int, order: Order, slot: int) -> int:
    """Decides for the destination that asks."""
    waiting = num_waiting(tables, number)
    if not 0 <= slot < waiting:
        raise SimulationError(f"slot is {slot}: requests wait in the slots 0 to {waiting - 1}")
    return _give(tables, number, order, slot)


def _give(tables: Tables, number: int, order: Order, index: int) -> int:
    """Lets compiled code decide."""
    return int(give_one(tables, number, int(order), index)) - number * tables.num_rows
