"""Lets flows send: what happens between the permission and the first byte, and the windows of those that have one."""

from typing import Final

from flowsched_gym.fluid.compiled.choosing import touch
from flowsched_gym.fluid.compiled.sharing import data_network, mark_changed
from flowsched_gym.fluid.compiled.tables import NOBODY, View
from flowsched_gym.fluid.compiled.timers import set_timer
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.rules.transport.lossy.modes import start_sender
from flowsched_gym.fluid.rules.transport.lossy.senders import Senders, token_jitter
from flowsched_gym.fluid.rules.transport.windows import next_window
from flowsched_gym.machine_code.decorators import inlined_part

START: Final = int(EventKind.START)


@inlined_part
def begin(t: View, n: int, row: int) -> None:
    """Lets a flow begin now, or after its handshake."""
    if t.sending.handshake > 0.0:
        permit(t, n, row, 0.0)
    else:
        send(t, n, row)


@inlined_part
def send(t: View, n: int, row: int) -> None:
    """Lets a flow send from now on, for the first time."""
    net = t.networks[n]
    if t.sending.first_burst > 0.0:
        open_window(t, n, row, t.sending.first_burst)
    _start_lossy(t, n, row, t.senders)
    t.active[n * t.most_active + net.num_active] = row
    net.num_active += 1
    net.sharing_due = True
    mark_changed(n, row, t.cache)
    touch(t, n, row, t.choosing)


@inlined_part
def _start_lossy(t: View, n: int, row: int, senders: Senders | None) -> None:
    """Lets a sender begin whose packets can be lost."""
    if senders is not None:
        start_sender(t.networks[n].now, n, row, t.controls, data_network(t, n), senders)


@inlined_part
def lateness(n: int, row: int, senders: Senders | None) -> float:
    """Returns by how many s the sender of a flow is late in reacting to its token."""
    if senders is None:
        return 0.0
    return token_jitter(n, row, senders)


@inlined_part
def permit(t: View, n: int, row: int, delay: float) -> None:
    """Lets a flow begin ``delay`` seconds from now, plus its handshake."""
    if t.sending.handshake > 0.0:
        delay += t.sending.handshake * t.round_trip[t.controls.path[row]]
    set_timer(t, n, t.networks[n].now + delay, START, row)


@inlined_part
def next_round(t: View, n: int, row: int) -> None:
    """Grows the window and opens it."""
    sending = t.sending
    window = next_window(t.window[row], sending.exit_window, sending.slow_start_growth, sending.later_growth)
    open_window(t, n, row, window)


@inlined_part
def open_window(t: View, n: int, row: int, window: float) -> None:
    """Opens a window of so many segments from now on."""
    t.window[row] = window
    t.round_end[row] = t.networks[n].now + t.round_trip[t.controls.path[row]]
    t.controls.review_at[row] = t.state.attained[row] + window * (t.sending.segment + t.sending.header)


@inlined_part
def ask(t: View, n: int) -> None:
    """Asks again at the end of this instant."""
    net = t.networks[n]
    net.asking = NOBODY
    net.decision_due = True
