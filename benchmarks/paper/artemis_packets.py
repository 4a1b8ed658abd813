"""Artemis' destination over packets: flows that begin when it grants them a token, on the arrivals that ns-3 had.

``python -m benchmarks.paper.artemis_packets`` prints the share of deadlines met in every cell of ``losses``: of ns-3,
of the transports of the environment, of packets, and of packets over links whose delays differ by some us, so that no
two arrive at one instant. It takes three minutes of computing.
"""

from time import process_time
from typing import Any

import numpy as np

from benchmarks.paper.losses import STALLED, TOKENS, ns3_mean, read_figures, root_mean_square
from benchmarks.paper.ns3 import NUM_SOURCES, gather
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.packets.compiled.network import new_network, run_network
from flowsched_gym.packets.compiled.state import ARRIVED
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.packets.schedulers import PacketSetup, make_scheduler
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import Workload

TOKEN_TIME, JITTER = 5e-4, 1e-4
"""What a request, or a token, takes; a source reacts to its token up to so much later. In s."""
SPREAD = 5e-6
"""Most by which the delay of a link is longer, where links differ, in s."""
VISIBLE = 5
PACKET = 590
OLD_TCP: dict[str, Any] = {
    **{"transport": "reno", "payload": 536, "header": 54, "ack_bytes": 54, "acks": "packets", "handshake": True},
    **{"receive_window": 131_072 // 536, "buffer": 1_100 * PACKET, "min_rto": 1.0},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "2018": {**OLD_TCP, "initial_window": 2, "ack_every": 2},
    "2018a": {**OLD_TCP, "initial_window": 1},
}
"""ns-3's own settings; none is fitted."""


def play(
    flows: Workload, policy: str, num_tokens: int, setting: str, *, luck: int = 0, spread: float = 0.0
) -> tuple[FloatArray, float]:
    """Plays an episode; returns the completion times of flows in s, (num_flows,), and the share of deadlines met.

    What is granted begins a token's time later, so that packets run for as long before the destination looks again.
    """
    num_flows, num_hosts, rng = flows.num_flows, NUM_SOURCES + 1, np.random.default_rng(luck)
    late, more = rng.uniform(0.0, JITTER, num_flows), rng.uniform(0.0, 1.0, 2 * num_hosts)
    switch = big_switch(num_hosts=num_hosts, capacity=1.25e8, delay=TOKEN_TIME / 2 + spread * more)
    setup = PacketSetup(
        scheduler=make_scheduler("fifo", {}), topology=switch, parameters=NetworkParameters(**SETTINGS[setting])
    )
    tables, underway, senders = new_network(setup.network(flows))
    requested = (flows.arrival_time + TOKEN_TIME).tolist()
    underway.arrival_time[:] = np.inf
    underway.arrivals[:] = np.arange(num_flows)
    queue: list[int] = []
    active: set[int] = set()
    begins: list[tuple[float, int]] = []
    begun: set[int] = set()
    now, num_requests, num_left = 0.0, 0, num_flows
    while num_left:
        idle = not active and not queue
        now = max(now, requested[num_requests]) if idle else now + 0.99 * TOKEN_TIME
        run_network(tables, underway, senders, num_flows, now)
        events = [(float(senders.completion_time[row]), 0, row) for row in active]
        events = [event for event in events if event[0] <= now]
        while num_requests < num_flows and requested[num_requests] <= now:
            events.append((requested[num_requests], 1, num_requests))
            num_requests += 1
        events.sort()
        for number, (time, is_request, row) in enumerate(events):
            if is_request:
                queue.append(row)
            else:
                active.remove(row)
                num_left -= 1
            if events[number + 1 : number + 2] and events[number + 1][0] == time:
                continue  # a decision is asked after every event of its instant
            while queue and len(active) < num_tokens:
                granted = queue.pop(choose(policy, queue[:VISIBLE], flows))
                active.add(granted)
                begins.append((time + TOKEN_TIME + late[granted], granted))
        if begins and begins[-1][1] not in begun:
            begun = set(underway.arrivals[: tables.counts[ARRIVED]].tolist())
            begins = sorted(each for each in begins if each[1] not in begun)
            for time, row in begins:
                underway.arrival_time[row] = time
            rest = set(range(num_flows)) - begun - {row for _, row in begins}
            underway.arrivals[len(begun) :] = [*(row for _, row in begins), *rest]
    fct = senders.completion_time - flows.arrival_time
    return fct, float(np.mean(fct <= flows.deadline_span))


def choose(policy: str, rows: list[int], flows: Workload) -> int:
    """Returns the slot that a policy grants, the oldest one of several that are equal."""
    if policy in ("fifo", "lifo"):
        return 0 if policy == "fifo" else len(rows) - 1
    assert flows.deadline_span is not None
    span = flows.deadline_span[rows]
    ranks = flows.arrival_time[rows] + span if policy == "edf" else flows.size[rows] / span
    return int(np.argmin(ranks))


def play_cell(cell: str, seed: str, spread: float = 0.0) -> tuple[float, float, float]:
    """Plays a cell on the arrivals of a seed; returns deadlines met and stalled flows in %, and the median FCT in s."""
    setting, policy, tokens = cell.split()
    burst = TOKENS["flows"][setting.split("_")[1]]
    flows = gather([(arrival, burst) for arrival in TOKENS["arrivals_s"][seed]])
    fct, met = play(flows, policy, int(tokens), setting.split("_")[0], spread=spread)
    return 100 * met, 100 * float(np.mean(fct > STALLED)), float(np.median(fct))


def main() -> None:
    """Prints all cells, and the root mean square of the differences from ns-3 by setting and number of tokens."""
    gaps: dict[str, list[list[float]]] = {}
    begun, num_decisions = process_time(), 0
    for cell, runs in TOKENS["cells"].items():
        ns3 = 100 * ns3_mean(cell, "deadline_hit_ratio")
        fluid = 100 * float(np.mean(read_figures()["cells"][cell]["deadline_hit_ratio"]))
        packets, apart = (float(np.mean([play_cell(cell, seed, each)[0] for seed in runs])) for each in (0.0, SPREAD))
        num_decisions += 2 * sum(NUM_SOURCES * len(TOKENS["arrivals_s"][seed]) for seed in runs)
        gaps.setdefault(f"{cell.split('_')[0]}, {cell.split()[2]} tokens", []).append(
            [fluid - ns3, packets - ns3, apart - ns3]
        )
        print(f"{cell:18} ns-3 {ns3:.1f}, fluid {fluid:.1f}, packets {packets:.1f}, apart {apart:.1f}", flush=True)
    for name, points in gaps.items():
        print(name, *(f"{root_mean_square(list(each)):.1f}" for each in zip(*points, strict=True)))
    print(f"{num_decisions / (process_time() - begun):.0f} decisions per CPU-second")


if __name__ == "__main__":
    main()
