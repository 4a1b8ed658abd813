"""The links as one resource: a flow asks to send, and its event happens when the last byte has arrived.

Between two events the rates are constant, so time needs no steps: it goes on to when the next flow will have sent its
last byte or reached a level that somebody watches. When flows begin or end meanwhile, that forecast no longer holds,
and is ignored when its time comes.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.flows.hashing import flow_keys
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.contract import Discipline, check_priorities, is_own, wrong_review_time
from flowsched_gym.fluid.isolation import round_trip_time
from flowsched_gym.fluid.rules.sharing import new_filling, share_links
from flowsched_gym.fluid.rules.transport.lossy_ports import deliver, next_change
from flowsched_gym.fluid.rules.transport.lossy_senders import begin_senders, control_senders, start_sender, token_jitter
from flowsched_gym.fluid.rules.transport.progress import advance, next_event_time
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.fluid.transport import Transport, new_senders
from flowsched_gym.topology import Topology
from flowsched_gym.topology.network import Network
from flowsched_gym.workload import Workload


class SharedLinks:
    """The links, shared among the flows that send by their controls. The one writer of rates and of bytes sent.

    Args:
        data_capacity: What the discipline leaves of the links for data, in B/s, (num_links,); changes with the links.
        delay: Propagation delay in s of each path, by its row in the path table.

    Attributes:
        on_change: What is called with each flow that begins to send or has sent its last byte.
        active: Rows of the flows that send, in its first ``num_active`` entries.
        advanced_to: Time in s up to which bytes sent are known; rates are constant since.
    """

    def __init__(
        self,
        env: NetworkEnvironment,
        state: FlowState,
        controls: Controls,
        network: Network,
        data_capacity: FloatArray,
        discipline: Discipline,
        delay: FloatArray,
        note: Callable[[EventKind, int], None],
    ) -> None:
        num_flows = len(state.size)
        self._env = env
        self._state = state
        self._controls = controls
        self._network = network
        self._data_network = network._replace(capacity=data_capacity)
        self._discipline = discipline
        self._delay = delay
        self._note = note
        self.on_change: list[Callable[[int], None]] = []
        self.active = np.zeros(num_flows, dtype=np.int64)
        self.num_active = 0
        self.advanced_to = 0.0
        self._last_byte: dict[int, Event] = {}
        self._window_sent: dict[int, Event] = {}
        self._forecast: Event | None = None
        self._sharing_due = False
        self._served = np.zeros(num_flows, dtype=np.int64)
        self._num_served = 0
        self._finished = np.zeros(num_flows, dtype=np.int64)
        self._crossed = np.zeros(num_flows, dtype=np.int64)
        self._progress = (state.attained, state.remaining, state.rate, controls.review_at)
        self._advance_arrays = (state.volume, *self._progress, self._finished, self._crossed)
        filling = new_filling(network, num_flows)
        self._share_arrays = (controls, self._data_network, state.rate, filling, self._served)

    def send(self, row: int) -> Event:
        """Starts to send a flow; the event happens when its last byte has arrived."""
        self.advance()
        self.active[self.num_active] = row
        self.num_active += 1
        self.request_sharing()
        for react in self.on_change:
            react(row)
        event = self._last_byte[row] = Event(self._env)
        return event

    def window_sent(self, row: int) -> Event:
        """Returns the event of a flow that will have sent ``review_at`` bytes, and goes on."""
        event = self._window_sent[row] = Event(self._env)
        return event

    def lateness(self) -> FloatArray:
        """Returns by how many s each sender is late in reacting to its token, (num_flows,)."""
        return np.zeros(len(self.active))

    def set_capacity(self, link: int, capacity: float) -> None:
        """Sets the capacity of a link from now on, in B/s; 0 where it has failed."""
        self.advance()
        self._network.capacity[link] = capacity
        self._data_network.capacity[link] = capacity * self._discipline.data_share
        self.request_sharing()

    def request_sharing(self) -> None:
        """Requests new rates at the end of this instant."""
        if not self._sharing_due:
            self._sharing_due = True
            self._env.at(self._env.now, EventKind.SHARING).callbacks.append(self._share)

    def advance(self) -> bool:
        """Advances all flows to now; returns whether that wakes senders whose window is sent."""
        now = self._env.now
        elapsed = now - self.advanced_to
        if elapsed == 0.0:
            return False
        self.advanced_to = now
        if self.num_active == 0:
            return False
        num_finished, num_crossed = self._advance_bytes(now, elapsed)
        if num_finished:
            self._finish(self._finished[:num_finished].tolist())
        wakes = False
        if num_crossed:
            for row in self._crossed[:num_crossed].tolist():
                self._note(EventKind.BYTE_THRESHOLD, row)
                window = self._window_sent.pop(row, None)
                if window is not None:
                    window.succeed()
                    wakes = True
        if num_finished or num_crossed:
            self.request_sharing()
        return wakes

    def _advance_bytes(self, now: float, elapsed: float) -> tuple[int, int]:
        """Advances what has been sent; returns how many flows have sent their last byte, or crossed ``review_at``."""
        rules = self._discipline
        rules.average(now, elapsed, 0, self.active, self.num_active, self._state, self._controls, rules.record)
        self.num_active, num_finished, num_crossed = advance(
            now, elapsed, self.active, self.num_active, self._served, self._num_served, *self._advance_arrays
        )
        return num_finished, num_crossed

    def _finish(self, rows: list[int]) -> None:
        """Sends the last bytes of flows on their way to their destinations."""
        env = self._env
        for row in rows:
            self._note(EventKind.LAST_BYTE_SENT, row)
            self._discipline.finished(0, row, self._state, self._controls, self._discipline.record)
            for react in self.on_change:
                react(row)
            self._window_sent.pop(row, None)
            arrival = env.now + float(self._delay[self._controls.path[row]])
            env.at(arrival, EventKind.DELIVERY, row, self._last_byte.pop(row))

    def _share(self, _: Event) -> None:
        """Shares the links, after all else of this instant."""
        if self.advance():
            # What woken senders do happens at once, by SimPy's own priority, and new rates come after that.
            self._env.timeout(0).callbacks.append(self._set_rates)
        else:
            self._set_rates()

    def _set_rates(self, _: Event | None = None) -> None:
        """Sets the rates, and foresees the next event."""
        self._sharing_due = False
        self._forecast = None
        now = self._env.now
        if self.num_active == 0:
            self._num_served = 0
            return
        self._control(now)
        self._num_served = share_links(self.active, self.num_active, *self._share_arrays, self._num_served)
        review_time = self._review_time(now)
        time = next_event_time(now, self._served, self._num_served, *self._progress, review_time)
        if time < np.inf:
            self._forecast = self._env.at(time, EventKind.LAST_BYTE_SENT)
            self._forecast.callbacks.append(self._on_forecast)

    def _control(self, now: float) -> None:
        rules, flows = self._discipline, (self._state, self._controls)
        rules.control(now, 0, self.active, self.num_active, *flows, self._network, rules.record)
        if is_own(rules.record):
            check_priorities(rules, self._controls.priority[self.active[: self.num_active]])

    def _review_time(self, now: float) -> float:
        """Returns when these controls would change although no flow begins, ends or crosses ``review_at``."""
        rules = self._discipline
        time = rules.review_time(now, 0, self.active, self.num_active, self._state, self._controls, rules.record)
        if not (isinstance(time, Real) and time > now):
            raise wrong_review_time(rules, time, now)
        return float(time)

    def _on_forecast(self, event: Event) -> None:
        """Advances to the time that was foreseen; a forecast that no longer holds is ignored."""
        if event is self._forecast:
            self.advance()
            self.request_sharing()


class LossyLinks(SharedLinks):
    """Links whose buffers overflow, so that senders with windows lose packets, as TCP's do.

    All senders advance in common steps; see ``rules.transport.lossy_senders``.
    """

    def __init__(self, *arguments: Any, workload: Workload, topology: Topology, transport: Transport) -> None:
        super().__init__(*arguments)
        delay = topology.path_delay(np.arange(len(topology.path_start) - 1))
        self._round_trip = round_trip_time(topology, delay, transport)
        assert transport.losses is not None
        self._senders = new_senders(1, workload.num_flows, topology.num_links, transport)
        begin_senders(0, flow_keys(workload, transport.losses.seed), self._senders)
        self._changes_at = np.inf

    def lateness(self) -> FloatArray:
        """Returns by how many s each sender is late in reacting to its token, (num_flows,)."""
        return np.array([token_jitter(0, row, self._senders) for row in range(self._senders.num_rows)])

    def send(self, row: int) -> Event:
        """Starts a sender that has its token; the event happens when its last byte has arrived."""
        event = super().send(row)
        start_sender(self._env.now, 0, row, self._controls, self._data_network, self._senders)
        return event

    def _advance_bytes(self, now: float, elapsed: float) -> tuple[int, int]:
        """Lets windows grow by what was delivered, and loses what has found no room."""
        counts = super()._advance_bytes(now, elapsed)
        deliver(now, elapsed, 0, self._served, self._num_served, self._state, self._controls, self._senders)
        return counts

    def _control(self, now: float) -> None:
        """Sets the weights and largest rates of the senders, until one notices a loss or waits no more."""
        super()._control(now)
        self._changes_at = control_senders(
            now, 0, self.active, self.num_active, self._state, self._controls, self._round_trip, self._senders
        )

    def _review_time(self, now: float) -> float:
        """Returns when windows and losses next change the rates, too."""
        served, flows = (self._served, self._num_served), (self._state, self._controls)
        capacity = self._data_network.capacity
        next_step = next_change(now, 0, *served, *flows, capacity, self._round_trip, self._senders)
        return min(super()._review_time(now), self._changes_at, next_step)
