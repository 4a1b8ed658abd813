"""Solves small flow sets in rational arithmetic: a second, slow and plain reading of every discipline.

It shares no code with the package, knows no tolerance, and has no tie that rounding could break: two flows finish at
the same time or they do not. Flows are served in groups: one group after another takes what the ones before it left,
and the flows of a group share by weight, max-min fair.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Group = list[tuple["Flow", Fraction]]


@dataclass(eq=False)
class Flow:
    """A flow, and how far it is."""

    number: int
    arrival: Fraction
    size: Fraction
    span: Fraction | None
    path: tuple[int, ...]
    queue: int = 0
    sent: Fraction = field(default=Fraction(0))
    level: int = 0
    entered: Fraction = field(default=Fraction(0))
    place: int = 0

    @property
    def left(self) -> Fraction:
        return self.size - self.sent


def finish_times(
    flows: Sequence[Flow],
    capacity: Sequence[Fraction],
    discipline: str,
    *,
    thresholds: Sequence[Fraction] = (),
    weights: Sequence[Fraction] = (),
    share: bool = True,
) -> list[Fraction]:
    """Returns when each flow finishes, on links of some capacities, in the order of their numbers.

    ``mlfq`` and ``qsjf`` have thresholds, ``wfq`` a weight for each queue; the flows of a queue share it, or are served
    in the order of entry.
    """
    finish: dict[int, Fraction] = {}
    waiting = sorted(flows, key=lambda flow: (flow.arrival, flow.number))
    live: list[Flow] = []
    now = Fraction(0)
    while waiting or live:
        for flow in [flow for flow in live if not flow.left]:
            finish[flow.number] = now
            live.remove(flow)
        for flow in live:
            level = sum(flow.sent >= threshold for threshold in thresholds) if discipline == "mlfq" else 0
            if level != flow.level:
                flow.level, flow.entered = level, now
        arrived = [flow for flow in waiting if flow.arrival == now]
        for flow in arrived:
            waiting.remove(flow)
            flow.entered = now
        live += arrived
        if discipline == "merp" and arrived:
            place_by_expansion(live, now, capacity[0])
        groups = _groups(discipline, live, thresholds, weights, share)
        rate = dict.fromkeys(live, Fraction(0)) | _rates(groups, capacity)
        steps = [waiting[0].arrival - now] if waiting else []
        for flow in live:
            marks = [flow.size, *thresholds] if discipline == "mlfq" else [flow.size]
            steps += [(mark - flow.sent) / rate[flow] for mark in marks if mark > flow.sent and rate[flow]]
            if discipline == "las":
                steps += [
                    (other.sent - flow.sent) / (rate[flow] - rate[other])
                    for other in live
                    if other.sent > flow.sent and rate[flow] > rate[other]
                ]
        if not steps:
            break
        step = min(steps)
        for flow in live:
            flow.sent += rate[flow] * step
        now += step
    return [finish[flow.number] for flow in flows]


def _groups(
    discipline: str, live: list[Flow], thresholds: Sequence[Fraction], weights: Sequence[Fraction], share: bool
) -> list[Group]:
    """Puts the live flows into groups, served one after another."""
    one = Fraction(1)
    if discipline == "ps":
        return [[(flow, one) for flow in live]]
    if discipline == "wfq":
        return [_weighted(live, weights, share)]
    if discipline in ("las", "mlfq", "qsjf"):
        level = {
            "las": lambda flow: flow.sent,
            "mlfq": lambda flow: flow.level,
            "qsjf": lambda flow: sum(flow.size > threshold for threshold in thresholds),
        }[discipline]
        if share or discipline == "las":
            return [
                [(flow, one) for flow in live if level(flow) == value] for value in sorted({level(f) for f in live})
            ]
        return [[(flow, one)] for flow in sorted(live, key=lambda flow: (level(flow), flow.entered, flow.number))]
    return [
        [(flow, one)] for flow in sorted(live, key=lambda flow: (*_key(discipline, flow), flow.arrival, flow.number))
    ]


def _weighted(live: list[Flow], weights: Sequence[Fraction], share: bool) -> Group:
    """Gives each queue its weight, to all of its flows or to the oldest."""
    group: Group = []
    for queue, weight in enumerate(weights):
        members = sorted((flow for flow in live if flow.queue == queue), key=lambda flow: (flow.arrival, flow.number))
        served = members if share else members[:1]
        group += [(flow, weight / len(served)) for flow in served]
    return group


def _key(discipline: str, flow: Flow) -> tuple[object, ...]:
    """Returns what an ordered discipline sorts by, before arrival and number."""
    keys: dict[str, tuple[object, ...]] = {
        "fifo": (),
        "merp": (flow.place,),
        "srpt": (flow.left,),
        "psjf": (flow.size,),
        "sjf": (not flow.sent, flow.size),
    }
    if discipline in keys:
        return keys[discipline]
    if flow.span is None:
        return (True, flow.left)
    ratio = flow.size / flow.span
    return (False, {"edf": flow.arrival + flow.span, "ssdf": ratio, "lsdf": -ratio}[discipline])


def place_by_expansion(live: list[Flow], now: Fraction, capacity: Fraction) -> None:
    """Fills an order from behind: last goes who would suffer least there (MERP, Algorithm 2)."""
    unplaced = list(live)
    while unplaced:
        backlog = sum((flow.left for flow in unplaced), Fraction(0))
        last = min(
            unplaced,
            key=lambda flow: (
                ((now - flow.arrival) * capacity + backlog) / flow.size,
                -flow.left * flow.size,
                -flow.arrival,
                -flow.number,
            ),
        )
        last.place = len(unplaced)
        unplaced.remove(last)


def _rates(groups: list[Group], capacity: Sequence[Fraction]) -> dict[Flow, Fraction]:
    """Lets each group fill what the groups before it left: the tightest link first fixes the flows that cross it."""
    residual = list(capacity)
    rate: dict[Flow, Fraction] = {}
    for group in groups:
        unfixed = list(group)
        while unfixed:
            links = sorted({link for flow, _ in unfixed for link in flow.path})
            load = {link: sum(weight for flow, weight in unfixed if link in flow.path) for link in links}
            tightest = min(links, key=lambda link: residual[link] / load[link])
            level = residual[tightest] / load[tightest]
            for flow, weight in [item for item in unfixed if tightest in item[0].path]:
                rate[flow] = level * weight
                for link in flow.path:
                    residual[link] -= rate[flow]
            unfixed = [item for item in unfixed if tightest not in item[0].path]
    return rate
