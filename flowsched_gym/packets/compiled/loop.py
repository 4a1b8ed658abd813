"""The compiled loops of packets: the events of one port in the order of ``PacketEventKind``."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import inlined_part, threaded_function
from flowsched_gym.packets.compiled.queues import arrive, make_room, put, take
from flowsched_gym.packets.compiled.state import ACKNOWLEDGED, ARRIVED, COMPLETED, LOST, NONE, RESENT, Flows, Tables
from flowsched_gym.packets.contract import BEYOND
from flowsched_gym.packets.rules.queues import count_arrival, count_drop, count_start, counted_size
from flowsched_gym.packets.rules.windows import acknowledge, may_send, note_sent, time_out

PORT = 0


@threaded_function
def serve(arrival_time: FloatArray, t: Tables, goal: int, until: float) -> None:
    """Serves packets that are given, until so many have arrived, or this time in s; all includes the last departure.

    They arrive at times in s, (num_packets,), non-decreasing. At the end all happens but the choice of an idle port, so
    that an agent can decide before it.
    """
    ports, num_packets = t.ports, len(arrival_time)
    now, arrived = t.clock[0], t.counts[ARRIVED]
    while True:
        arrival = arrival_time[arrived] if arrived < num_packets else np.inf
        time = min(ports.end[PORT], arrival)
        if time > now and now < until and ports.sending[PORT] == NONE and ports.waiting[PORT] > 0:
            begin_transmission(now, PORT, t)
            continue
        if time == np.inf or (arrived >= goal and arrived < num_packets):
            break
        if time > until:
            now = until
            break
        now = time
        if ports.end[PORT] <= now:
            end_transmission(PORT, t)
        else:
            receive(now, PORT, arrived, t)
            arrived += 1
    t.clock[0] = now
    t.counts[ARRIVED] = arrived


@threaded_function
def replay(flows: Flows, t: Tables, goal: int, until: float) -> None:
    """Sends flows, until so many are acknowledged, or this time in s, or the rows of the trace may not suffice."""
    ports, num_flows = t.ports, len(flows.arrivals)
    now, arrived = t.clock[0], t.counts[ARRIVED]
    while True:
        arrival = flows.arrival_time[flows.arrivals[arrived]] if arrived < num_flows else np.inf
        acknowledgement = first_time(ACKNOWLEDGED, flows, t)
        timeout = first_time(LOST, flows, t)
        end = ports.end[PORT]
        time = min(end, acknowledgement, timeout, arrival)
        if time > now and now < until and ports.sending[PORT] == NONE and ports.waiting[PORT] > 0:
            begin_transmission(now, PORT, t)
            continue
        if time == np.inf or (t.counts[COMPLETED] >= goal and goal < num_flows):
            break
        if time > until:
            now = until
            break
        now = time
        if end <= now:
            deliver(now + flows.delay, flows.delay, ACKNOWLEDGED, end_transmission(PORT, t), flows, t)
        elif acknowledgement <= now:
            row = end_acknowledgement(now, ACKNOWLEDGED, flows, t)
            send(now, PORT, row, flows, t)
        elif timeout <= now:
            if t.rows.kept and len(t.table.flow) + t.counts[RESENT] >= len(t.rows.trace):
                break
            row = end_timeout(now, flows, t)
            send(now, PORT, row, flows, t)
        else:
            send(now, PORT, flows.arrivals[arrived], flows, t)
            arrived += 1
    t.clock[0] = now
    t.counts[ARRIVED] = arrived


@inlined_part
def begin_transmission(now: float, port: int, t: Tables) -> None:
    """Begins a transmission."""
    ports = t.ports
    p = take(port, t)
    end = now + t.table.size[p] / ports.capacity[port]
    ports.waiting[port] -= 1
    ports.fill[port] -= counted_size(t.table.size[p], ports.limits)
    ports.sending[port] = p
    ports.end[port] = end
    if t.queue_counts.kept:
        count_start(port, t.packets.queue[p], now - t.packets.time[p], t.queue_counts)
    if t.rows.kept:
        trace = t.rows.trace[t.rows.row[p]]
        trace.start_time = now
        trace.departure_time = end


@inlined_part
def end_transmission(port: int, t: Tables) -> int:
    """Ends a transmission, and returns its packet."""
    p: int = t.ports.sending[port]
    t.ports.sending[port] = NONE
    t.ports.end[port] = np.inf
    return p


@inlined_part
def receive(now: float, port: int, p: int, t: Tables) -> int:
    """Lets a packet wait, and returns the one that is dropped, if any; where bytes are counted, the first of a list."""
    ports, rows = t.ports, t.rows
    arrival = arrive(now, port, p, t)
    size = counted_size(t.table.size[p], ports.limits)
    before = ports.fill[port] + (0.0 if ports.limits.by_bytes else size)
    marked = before > ports.limits.unmarked[port]
    t.packets.marked[p] = marked
    if rows.kept:
        row = rows.written[0]
        rows.written[0] = row + 1
        rows.row[p] = row
        trace = rows.trace[row]
        trace.packet = p
        trace.arrival_time = now
        trace.queue = arrival.queue
        trace.weight = arrival.weight
        trace.last_seen = arrival.last_seen
        trace.new_message = arrival.new_message
        trace.start_time = trace.departure_time = np.nan
        trace.dropped = False
        trace.marked = marked
    if t.queue_counts.kept and arrival.queue != BEYOND:
        t.packets.queue[p] = arrival.queue
        t.packets.time[p] = now
        count_arrival(port, arrival.queue, t.table.size[p], arrival.weight, marked, t.queue_counts)
    dropped = NONE
    if arrival.queue == BEYOND or size > ports.limits.room[port]:
        dropped = _note_drop(p, NONE, t)
    while dropped != p and ports.fill[port] + size > ports.limits.room[port]:
        last = make_room(port, p, arrival, t)
        if last != p:
            ports.waiting[port] -= 1
            ports.fill[port] -= counted_size(t.table.size[last], ports.limits)
        dropped = _note_drop(last, dropped, t)
    if t.queue_counts.kept and arrival.queue != BEYOND and dropped != NONE:
        count_drop(port, t.packets.queue[dropped], t.queue_counts)
    if dropped != p:
        put(port, p, arrival, t)
        ports.waiting[port] += 1
        ports.fill[port] += size
    return dropped


@inlined_part
def _note_drop(p: int, before: int, t: Tables) -> int:
    """Puts a packet that is dropped in front of those that were before."""
    t.packets.after[p] = before
    if t.rows.kept:
        trace = t.rows.trace[t.rows.row[p]]
        trace.dropped = True
        trace.marked = False
    return p


@inlined_part
def send(now: float, port: int, row: int, flows: Flows, t: Tables) -> None:
    """Sends the packets that a flow's window has room for, lost ones first."""
    last = flows.first_packet[row + 1]
    while (flows.lost_head[row] != NONE or flows.next_packet[row] < last) and may_send(row, flows.windows):
        p = flows.lost_head[row]
        if p != NONE:
            flows.lost_head[row] = t.packets.after[p]
        else:
            p = flows.next_packet[row]
            flows.next_packet[row] = p + 1
        note_sent(row, flows.windows)
        enter(now, port, p, flows, t)


@inlined_part
def enter(now: float, port: int, p: int, flows: Flows, t: Tables) -> None:
    """Lets a packet of a flow wait; the sender of one that is dropped will notice."""
    dropped = receive(now, port, p, t)
    if dropped != NONE:  # packets are counted, so that it is the only one
        flows.drops[t.table.flow[dropped]] += 1
        append_to_list(LOST, dropped, now + flows.min_rto, flows, t)


@inlined_part
def deliver(delivery: float, back: float, which: int, p: int, flows: Flows, t: Tables) -> None:
    """Delivers a packet at a time in s, and sends its acknowledgement back in so many s, by one of the lists."""
    row = t.table.flow[p]
    if t.packets.marked[p]:
        flows.marks[row] += 1
    if p < flows.latest[row]:
        flows.disordered[row] += 1
    else:
        flows.latest[row] = p
    flows.left[row] -= 1
    if flows.left[row] == 0:
        flows.completion_time[row] = delivery
    append_to_list(which, p, delivery + back, flows, t)


@inlined_part
def end_acknowledgement(now: float, which: int, flows: Flows, t: Tables) -> int:
    """Lets the first acknowledgement of a list arrive at a time in s, and returns its flow."""
    p = take_from_list(which, flows, t)
    row: int = t.table.flow[p]
    acknowledge(now, row, t.packets.marked[p], flows.windows)
    if flows.left[row] == 0 and flows.windows.outstanding[row] == 0:
        flows.order[t.counts[COMPLETED]] = row
        t.counts[COMPLETED] += 1
    return row


@inlined_part
def end_timeout(now: float, flows: Flows, t: Tables) -> int:
    """Lets the sender of the first lost packet notice at a time in s, and returns its flow."""
    t.counts[RESENT] += 1
    p = take_from_list(LOST, flows, t)
    row: int = t.table.flow[p]
    t.packets.after[p] = NONE
    if flows.lost_head[row] == NONE:
        flows.lost_head[row] = p
    else:
        t.packets.after[flows.lost_tail[row]] = p
    flows.lost_tail[row] = p
    time_out(now, row, flows.windows)
    return row


@inlined_part
def first_time(which: int, flows: Flows, t: Tables) -> float:
    """Returns when the first event of a list happens."""
    p = flows.lists[which]
    time: float = t.packets.time[p] if p != NONE else np.inf
    return time


@inlined_part
def append_to_list(which: int, p: int, time: float, flows: Flows, t: Tables) -> None:
    """Appends a packet to a list; times in it do not decrease."""
    t.packets.time[p] = time
    t.packets.after[p] = NONE
    if flows.lists[which] == NONE:
        flows.lists[which] = p
    else:
        t.packets.after[flows.lists[which + 1]] = p
    flows.lists[which + 1] = p


@inlined_part
def take_from_list(which: int, flows: Flows, t: Tables) -> int:
    """Takes the first packet of a list."""
    p: int = flows.lists[which]
    flows.lists[which] = t.packets.after[p]
    return p
