"""Serves packets in queues that are clusters of their weights (QCluster, sections 3 and 4)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice, check_number, check_numbers
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.thresholds import RULES, ClusterSize, ThresholdRule
from flowsched_gym.packets.contract import Arrival, PacketTable, Scheduler, Traffic
from flowsched_gym.packets.rules.clusters import (
    GIVEN,
    LEAST_WEIGHT,
    ClusterLaw,
    Clusters,
    add_to_cluster,
    inverse_quanta,
    new_clusters,
)
from flowsched_gym.packets.rules.messages import Sketch, count, payload_of, place
from flowsched_gym.packets.rules.queues import DEFICIT, STRICT, Service, first_within, new_service, next_queue
from flowsched_gym.packets.schedulers.parameters import (
    BUCKETS,
    FULL_PACKET,
    GAP,
    MOST_QUEUES,
    NUM_QUEUES,
    Count,
    Dequeue,
    Disorder,
    Pairs,
    SketchParameters,
    check_integer,
    check_quanta,
    check_thresholds,
)

INTERVAL: Final = 200
AGEING: Final = 5_000
ALPHA_STEP: Final = 1.05
FIRST_WEIGHT: Final = 1460.0
"""First weight of the first queue in B, a full payload; the next ones are this times powers of ``WEIGHT_RATIO``."""
WEIGHT_RATIO: Final = 3.0
MOST_PACKETS: Final = 2**53
FEWEST_SPLIT_QUEUES: Final = 2

LAS, SRPT, DEADLINE, SJF = range(4)


class Goal(StrEnum):
    """What QCluster schedules for."""

    LAS = "las"
    SRPT = "srpt"
    FQ = "fq"
    DEADLINE = "deadline"
    SJF = "sjf"


WEIGHS: Final = {Goal.LAS: LAS, Goal.SRPT: SRPT, Goal.FQ: LAS, Goal.DEADLINE: DEADLINE, Goal.SJF: SJF}
"""What a packet weighs by each goal, as rules know it."""


class _Cluster(NamedTuple):
    """What QCluster keeps.

    Attributes:
        weighs: What packets with the special property weigh; ``weighs_behind``: those without.
        size: Size of each flow in B, (num_flows,), or (0,) where nothing weighs it.
        min_rate: Least rate in B/s, 0 for none.
        began: When each message began, in s, (num_ports, num_keys); (1, 1) without a least rate.
        capacity: Capacity of each port in B/s, (num_ports,).
        payload: A full payload in B.
    """

    weighs: int
    weighs_behind: int
    size: FloatArray
    min_rate: float
    began: FloatArray
    count_after: bool
    capacity: FloatArray
    payload: float
    law: ClusterLaw
    sketch: Sketch
    clusters: Clusters
    service: Service


class QCluster(Scheduler):
    """QCluster: a packet enters the first queue with ``weight <= threshold``; thresholds follow the mean weights.

    The paper prints no law for alpha, ageing and first weights, and no weight of packets with deadlines. Here, every
    ``interval`` packets a queue's weight becomes its sum over its count, made non-decreasing from queue to queue and at
    least 1 B; alpha_i, first 1, is multiplied by ``alpha_step`` where queue i holds fewer packets than queue i + 1 (for
    ``proportional`` clusters: over their weights), divided where it holds more, in [0.05, 20]. Then, every ``ageing``
    packets, sums and counts halve. Packets with a deadline weigh the bytes that the link can send until then, for each
    packet left, and have the first half of the queues for themselves, served before the others.

    Args:
        goal: ``las``: packets weigh bytes sent; ``srpt``: bytes left; ``sjf``: the size of their flow; ``fq``: bytes
            sent, served in deficit rounds with quanta inverse to the weights of queues; ``deadline``: time left, and
            packets without a deadline as ``others`` says.
        rule: ``arithmetic``, ``geometric``, ``harmonic`` or ``adaptive``; ``None``: ``adaptive`` for ``fq``, as that
            alone keeps clusters the same size, ``geometric`` for all others.
        cluster_size: ``same`` or ``proportional``; ``None``: ``same`` for ``fq``, ``proportional`` for all others.
        initial_weights: First weights of the queues in B, (queues,), >= 1, non-decreasing; ``None`` for 1,460 x 3^i.
        interval: Packets after which weights, alpha and thresholds move, >= 1.
        ageing: Packets after which sums and counts halve, >= 1.
        alpha_step: Factor by which alpha moves, >= 1.
        thresholds: Thresholds in B, (queues - 1,), that stay; ``None`` for those of the rule.
        queues: Number of queues; at least 2 where some packets are special.
        count: ``before`` or ``after``: whether bytes sent include the packet.
        dequeue: ``sp``, ``wrr`` or ``drr``: see ``Pias``; ``None``: ``drr`` for ``fq``, ``sp`` for all others.
        weights: Packets or bytes of each queue in a round, which stay: see ``Pias``; ``None`` with ``fq``: inverse to
            the weights of queues, one full packet for the first queue.
        arrays: Arrays of the sketch; see ``SketchParameters`` for it and what follows.
        buckets: Buckets of each array.
        hash: Pairs (A, B) of each array.
        message_gap: Silence in s after which a message begins.
        flowlet_gap: Silence in s after which a flowlet begins.
        conservative: Whether only the smallest counts of a packet are raised.
        others: ``las``, ``srpt``, ``sjf`` or ``fq``: goal of packets without a deadline, or with ``min_rate`` of flows
            that have it, which come after; ``goal`` is then that of those with the special property, as in Table 3's
            hybrids. ``None``: no packet is special, or ``srpt`` for ``deadline``, or ``goal`` with ``min_rate``.
        min_rate: Rate in B/s, > 0, that each message is to have at least: while it has sent less since it began, it has
            the first half of the queues, where the goal must not be ``deadline``. ``None``: no such rate.
        disorder: ``none``, ``las`` or ``fq``; ``None``: what the paper's Table 3 has for the goal, ``fq`` for ``fq``,
            ``las`` for all others, ``none`` with ``others`` but ``srpt``, or a least rate. Under windows that are
            always full no flowlet of 0.5 ms ends before its message: then ``fq`` keeps a message in its first queue.
    """

    record_type = _Cluster

    def __init__(
        self,
        goal: str = Goal.LAS,
        rule: str | None = None,
        cluster_size: str | None = None,
        initial_weights: Sequence[float] | FloatArray | None = None,
        interval: int = INTERVAL,
        ageing: int = AGEING,
        alpha_step: float = ALPHA_STEP,
        thresholds: Sequence[float] | FloatArray | None = None,
        queues: int | None = None,
        count: str = Count.AFTER,
        dequeue: str | None = None,
        weights: Sequence[float] | None = None,
        arrays: int | None = None,
        buckets: int = BUCKETS,
        hash: Pairs | None = None,
        message_gap: float | None = GAP,
        flowlet_gap: float | None = GAP,
        conservative: bool = False,
        disorder: str | None = None,
        others: str | None = None,
        min_rate: float | None = None,
    ) -> None:
        self._goal = check_choice("goal", goal, Goal)
        self._others, self._min_rate = self._check_others(others, min_rate)
        self._has_split = others is not None or min_rate is not None or self._goal is Goal.DEADLINE
        fair = {self._goal, self._others} == {Goal.FQ}
        default_rule = ThresholdRule.ADAPTIVE if fair else ThresholdRule.GEOMETRIC
        self._rule = check_choice("rule", default_rule if rule is None else rule, ThresholdRule)
        default_size = ClusterSize.SAME if fair else ClusterSize.PROPORTIONAL
        self._size = check_choice("cluster_size", default_size if cluster_size is None else cluster_size, ClusterSize)
        self._given = None if thresholds is None else check_thresholds(thresholds, queues)
        self.num_queues = self._check_queues(queues, initial_weights)
        self._weights = self._check_weights(initial_weights)
        self._interval = check_integer("interval", interval, at_least=1, at_most=MOST_PACKETS)
        self._ageing = check_integer("ageing", ageing, at_least=1, at_most=MOST_PACKETS)
        check_number("alpha_step", alpha_step, at_least=1.0)
        self._alpha_step = float(alpha_step)
        self._count = check_choice("count", count, Count)
        in_rounds = Goal.FQ in (self._goal, self._others)
        default_way = Dequeue.DRR if in_rounds else Dequeue.SP
        self._groups = self._has_split and dequeue is None and in_rounds
        self._dequeue = check_choice("dequeue", default_way if dequeue is None else dequeue, Dequeue)
        self._quanta = check_quanta(weights, self._dequeue, self.num_queues)
        self._inverse = in_rounds and weights is None and self._dequeue is not Dequeue.SP
        if disorder is None and min_rate is None and others in (None, Goal.SRPT):
            disorder = Disorder.FQ if fair else Disorder.LAS
        disorder = Disorder.NONE if disorder is None else disorder
        self._sketch = SketchParameters(arrays, buckets, hash, message_gap, flowlet_gap, conservative, disorder)
        self.sketch_bytes = self._sketch.num_bytes
        self.needs_remaining = not {Goal.SRPT, Goal.DEADLINE}.isdisjoint({self._goal, self._others})

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Cluster) -> Arrival:
        """Weighs the packet, and adds it to a cluster."""
        flow = table.flow[p]
        key = table.key[flow]
        before, after, last_seen, new = count(now, port, key, payload_of(p, table), record.sketch)
        first, last, weighs = record.law.split, record.clusters.weight.shape[1] - 1, record.weighs_behind
        special = first > 0 and table.due[flow] < np.inf
        if record.min_rate > 0.0:
            if new:
                record.began[port, key] = now
            special = before < record.min_rate * (now - record.began[port, key])
        if special:
            first, last, weighs = 0, record.law.split - 1, record.weighs
        weight = after if record.count_after else before
        if weighs == SJF:
            weight = record.size[flow]
        elif weighs != LAS:
            weight = table.remaining[p]
            if weighs == DEADLINE and weight > 0.0:
                # Bytes that the link can send until the deadline, for each packet that is left.
                weight = max(table.due[flow] - now, 0.0) * record.capacity[port] / np.ceil(weight / record.payload)
        wanted = first_within(weight, port, record.clusters.thresholds, first, last)
        queue = place(now, port, key, wanted, record.sketch)
        add_to_cluster(port, queue, weight, record.law, record.clusters, record.service.quantum)
        return Arrival(queue, 0.0, weight, last_seen, new)

    @staticmethod
    def choose(port: int, head_size: FloatArray, record: _Cluster) -> int:
        """Returns the queue whose turn it is."""
        return next_queue(port, head_size, record.service)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Cluster:
        """Makes room for sketch and clusters, and sets the first thresholds."""
        full = FULL_PACKET if self._dequeue is Dequeue.DRR else 1.0
        law = ClusterLaw(
            proportional=self._size is ClusterSize.PROPORTIONAL,
            interval=self._interval,
            ageing=self._ageing,
            alpha_step=self._alpha_step,
            quanta=full if self._inverse else 0.0,
            split=self.num_queues // 2 if self._has_split else 0,
        )
        clusters = new_clusters(self._weights, RULES[self._rule], law, num_ports)
        if self._given is not None:
            clusters.rule[:] = GIVEN
            clusters.thresholds[:] = self._given
        way, behind = self._dequeue.way, STRICT
        if self._groups:
            way, behind = (DEFICIT if goal is Goal.FQ else STRICT for goal in (self._goal, self._others))
        service = new_service(way, self._quanta, num_ports, law.split if self._groups else 0, behind)
        if self._inverse:
            for port in range(num_ports):
                inverse_quanta(clusters.weight[port], full, law.split, service.quantum[port])
        size = traffic.size_of_flow if Goal.SJF in (self._goal, self._others) else np.zeros(0)
        if size is None:
            raise ConfigError(
                "goal or others is 'sjf': packets that are given by themselves have no flow of known size"
            )
        return _Cluster(
            weighs=WEIGHS[self._goal],
            weighs_behind=WEIGHS[self._others],
            size=size,
            min_rate=self._min_rate,
            began=np.zeros((num_ports, traffic.num_keys) if self._min_rate > 0 else (1, 1)),
            count_after=self._count is Count.AFTER,
            capacity=traffic.capacity,
            payload=traffic.payload,
            law=law,
            sketch=self._sketch.new_sketch(traffic, num_ports),
            clusters=clusters,
            service=service,
        )

    def _check_others(self, others: object, min_rate: object) -> tuple[Goal, float]:
        """Returns the goal of packets without the special property, and the least rate, 0 for none."""
        if min_rate is not None:
            check_number("min_rate", min_rate, above=0)
            if self._goal is Goal.DEADLINE:
                raise ConfigError(f"min_rate is {min_rate}: goal 'deadline' has none")
        default = Goal.SRPT if self._goal is Goal.DEADLINE else self._goal
        found = check_choice("others", default if others is None else others, Goal)
        if found is Goal.DEADLINE:
            raise ConfigError("others is 'deadline': it must be one of las, srpt, fq, sjf")
        return found, 0.0 if min_rate is None else float(min_rate)  # type: ignore[arg-type]  # checked above

    def _check_queues(self, queues: object, initial_weights: object) -> int:
        if queues is None and self._given is not None:
            queues = len(self._given) + 1
        elif queues is None and initial_weights is not None:
            queues = len(check_numbers("initial_weights", initial_weights, at_least=0))
        fewest = FEWEST_SPLIT_QUEUES if self._has_split else 1
        return check_integer("queues", NUM_QUEUES if queues is None else queues, at_least=fewest, at_most=MOST_QUEUES)

    def _check_weights(self, initial_weights: object) -> FloatArray:
        if initial_weights is None:
            ratios = np.full(self.num_queues, WEIGHT_RATIO)
            ratios[0] = FIRST_WEIGHT
            weights: FloatArray = np.cumprod(ratios)
            if not np.isfinite(weights).all():
                raise ConfigError(f"queues is {self.num_queues}: so many need initial_weights of their own")
            return weights
        weights = check_numbers("initial_weights", initial_weights, count=self.num_queues, at_least=LEAST_WEIGHT)
        if (np.diff(weights) < 0).any():
            raise ConfigError(f"initial_weights is {weights.tolist()}: they must not decrease")
        return weights
