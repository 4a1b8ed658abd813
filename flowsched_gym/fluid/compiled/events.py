"""What will happen to flows at known times (starts, ends of pauses, arrivals of last bytes), and a log of what has."""

import numpy as np

from flowsched_gym.fluid.compiled.tables import NOBODY, Row, Rows, Tables
from flowsched_gym.machine_code.decorators import engine_function, inlined_part


@inlined_part
def set_timer(t: Tables, n: int, time: float, kind: int, row: int) -> None:
    """Puts a timer in its index among the pending ones."""
    net = t.networks[n]
    if net.timer_tail == (n + 1) * t.most_active:
        _move_timers_to_front(t.timers, net, n * t.most_active)
    net.timer_tail = _insert_timer(t.timers, net.timer_head, net.timer_tail, time, kind, row)


@engine_function
def _insert_timer(timers: Rows, head: int, tail: int, time: float, kind: int, row: int) -> int:
    """Inserts a timer into those from head to tail - 1, sorted by (time, kind, row); returns tail + 1."""
    index = tail
    while index > head:
        before = timers[index - 1]
        if before.time < time or (
            before.time == time and (before.kind < kind or (before.kind == kind and before.row < row))
        ):
            break
        timers[index].time = before.time
        timers[index].kind = before.kind
        timers[index].row = before.row
        index -= 1
    timers[index].time = time
    timers[index].kind = kind
    timers[index].row = row
    return tail + 1


@engine_function
def _move_timers_to_front(timers: Rows, net: Row, front: int) -> None:
    count = net.timer_tail - net.timer_head
    for index in range(count):
        timer = timers[net.timer_head + index]
        timers[front + index].time = timer.time
        timers[front + index].kind = timer.kind
        timers[front + index].row = timer.row
    net.timer_head = front
    net.timer_tail = front + count


@inlined_part
def take_timer(t: Tables, n: int, kind: int) -> int:
    """Takes out the next timer if it is of this kind and due now, and returns its row, else NOBODY."""
    net = t.networks[n]
    if net.timer_head == net.timer_tail:
        return NOBODY
    timer = t.timers[net.timer_head]
    if timer.time != net.now or timer.kind != kind:
        return NOBODY
    net.timer_head += 1
    if net.timer_head == net.timer_tail:
        net.timer_head = n * t.most_active
        net.timer_tail = net.timer_head
    # An index, so signed as every index; the rules take either.
    return np.int64(timer.row)  # type: ignore[return-value]


@inlined_part
def note(t: Tables, n: int, kind: int, row: int) -> None:
    """Adds an event of this instant to the log, while there is room."""
    if t.log_length > 0:
        net = t.networks[n]
        if net.logged < t.log_length:
            entry = t.log[n * t.log_length + net.logged]
            entry.time = net.now
            entry.kind = kind
            entry.row = row - n * t.num_rows
        net.logged += 1
