"""What the agent of a port's queues may do, sees and is rewarded with, for both engines."""

from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs.columns import Column, Layout, named, writer
from flowsched_gym.envs.thresholds import ThresholdScale, height_of, write_thresholds
from flowsched_gym.flows.decisions import DecisionRules, Order
from flowsched_gym.flows.records import latest_completion
from flowsched_gym.flows.thresholds import RULES
from flowsched_gym.machine_code.decorators import allocating_part
from flowsched_gym.machine_code.numerics import natural_log, pairwise_sum
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.packets.rules.clusters import GIVEN, LEAST_ALPHA, MOST_ALPHA
from flowsched_gym.systems.qcluster.config import QClusterAction, QClusterConfig, QClusterReward

RULE_CODES = tuple(RULES.values())
"""The rules that an agent can choose, in the order of ``ThresholdRule``."""
ALPHA_STEPS = (1.0, 1.02, 1.05, 1.2)
"""Steps of alpha that it can choose; the first lets alpha stay."""
SCALE: Final = ThresholdScale.between(10.0, 1000 * BYTES_PER_MEGABYTE)
"""Scale of weights and thresholds in B: from less than a small message to the largest."""
TIMES: Final = ThresholdScale.between(1e-6, 10.0)
"""Logarithmic scale of times in s."""
ALPHAS: Final = ThresholdScale.between(LEAST_ALPHA, MOST_ALPHA)
"""That of the exponents between queues."""
CLASS_ENDS: Final = (BYTES_PER_KILOBYTE, 10 * BYTES_PER_KILOBYTE, 100 * BYTES_PER_KILOBYTE)
"""Largest sizes in B of the classes of messages; with the first two QCluster tells small from large ones
(section 6.1), in W6 with the last two."""
CLASSES: Final = {"tiny": "up to 1 KB", "small": "of 1 to 10 KB", "medium": "of 10 to 100 KB", "large": "above 100 KB"}
MOST_QUANTILE: Final = 0.99
FINISHED_SCALE: Final = 100.0
PACKETS_SCALE: Final = 1_000.0
WAITING_SCALE: Final = 50.0
LOST_SCALE: Final = 10.0
# What is kept of each message, and of each episode: the terms of the step before.
FLOW_FIELDS: Final = (("size", "f8"), ("deadline_span", "f8"), ("ideal_fct", "f8"))
TERMS: Final = tuple(str(term) for term in QClusterReward)
EPISODE_FIELDS: Final = (("terms", "f8", (len(TERMS),)),)
FCT, SLOWDOWN, JAIN, DEADLINES = range(len(TERMS))
GO_ON: Final = int(Order.GO_ON)
NUM_CLASSES: Final = len(CLASSES)
POWERS: Final = np.array([float(f"1e{power}") for power in range(13)])
"""Powers of ten in B, which part the orders of magnitude."""
STEP: Final = (
    Column.squashed("finished", "messages that finished in the step", "messages", FINISHED_SCALE),
    Column.squashed("load", "bytes that arrived in the step over what the port could send", "1", 1.0),
)
CLASS: Final = (
    Column.fraction("{}_share", "share of messages {} in those that finished in the step"),
    Column.fraction("{}_fct", "mean completion time of messages {} (log)"),
    Column.fraction("{}_fct_99", "99 % quantile of the completion time of messages {} (log)"),
)
QUEUE: Final = (
    Column.squashed("packets", "packets that entered the queue in the step", "packets", PACKETS_SCALE),
    Column.squashed("size", "their bytes on the wire", "B", BYTES_PER_MEGABYTE),
    Column.squashed("waiting", "packets that wait in it", "packets", WAITING_SCALE),
    Column.fraction("delay", "mean time that packets sent in the step had waited (log)"),
    Column.squashed("marks", "packets marked in the step", "packets", LOST_SCALE),
    Column.squashed("drops", "packets dropped in the step", "packets", LOST_SCALE),
    Column.fraction("weight", "weight of the queue: mean weight of its packets, aged (log)"),
    Column.squashed("members", "packets that this mean counts, aged", "packets", PACKETS_SCALE),
    Column.fraction("alpha", "exponent between this queue and the next (log), 0 for the last"),
    Column.fraction("threshold", "threshold between this queue and the next (log), 1 for the last"),
)
write_step, write_class, write_queue = writer(STEP), writer(CLASS), writer(QUEUE)


class SetThresholds(NamedTuple):
    """The thresholds between a port's queues, which an agent sets for a period; see ``DecisionRules``.

    Attributes:
        rewarded: Index of the term that is the reward.
        groups: Thresholds that are ordered among themselves, from the first to before the last.
        scale, times, alphas: Logarithmic scales of thresholds and weights in B, of times in s, and of exponents.
    """

    rewarded: int
    groups: tuple[tuple[int, int], ...]
    scale: ThresholdScale
    times: ThresholdScale
    alphas: ThresholdScale

    def act(self, decision: PacketDecision, action: FloatArray) -> tuple[int, int, bool]:
        """Sets the thresholds in B, each group by its part of the action, and begins the period."""
        clusters, begin = decision.record.clusters, 0
        clusters.rule[0] = GIVEN
        for first, last in self.groups:
            part = action[begin : begin + last - first]
            write_thresholds(part.reshape(1, last - first), self.scale, clusters.thresholds[:1, first:last])
            begin += last - first
        return GO_ON, 0, False

    def observe(self, decision: PacketDecision, observation: ObservationArray) -> None:
        """Writes the columns of ``port_layout``."""
        _show_queues(self, decision, observation, _show_messages(self, decision, observation))

    def reward(self, decision: PacketDecision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the messages that finished; ``QClusterEnv`` has the terms."""
        write_terms(decision, terms)
        return float(terms[self.rewarded])


class ChooseRule(NamedTuple):
    """The rule by which a port's thresholds move, and the step of alpha, which an agent chooses for a period."""

    rewarded: int
    scale: ThresholdScale
    times: ThresholdScale
    alphas: ThresholdScale

    def act(self, decision: PacketDecision, action: IntArray) -> tuple[int, int, bool]:
        """Sets the rule and the step, and begins the period."""
        clusters = decision.record.clusters
        clusters.rule[0] = RULE_CODES[action[0]]
        clusters.alpha_step[0] = ALPHA_STEPS[action[1]]
        return GO_ON, 0, False

    def observe(self, decision: PacketDecision, observation: ObservationArray) -> None:
        """Writes the columns of ``port_layout``."""
        _show_queues(self, decision, observation, _show_messages(self, decision, observation))

    def reward(self, decision: PacketDecision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the messages that finished; ``QClusterEnv`` has the terms."""
        write_terms(decision, terms)
        return float(terms[self.rewarded])


def port_rules(config: QClusterConfig) -> tuple[DecisionRules, spaces.Space[Any]]:
    """Makes what an agent does at a port, and its actions."""
    rewarded, scales = TERMS.index(config.reward), (SCALE, TIMES, ALPHAS)
    if config.action is QClusterAction.RULE:
        return ChooseRule(rewarded, *scales), spaces.MultiDiscrete(np.array([len(RULE_CODES), len(ALPHA_STEPS)]))
    space = spaces.Box(-1.0, 1.0, (num_thresholds(config),), np.float32)
    return SetThresholds(rewarded, config.groups, *scales), space


def num_thresholds(config: QClusterConfig) -> int:
    """Returns how many thresholds an agent sets."""
    return sum(last - first for first, last in config.groups)


def action_of_thresholds(config: QClusterConfig, thresholds: FloatArray) -> FloatArray:
    """Returns the action that stands for thresholds in B, (num_queues - 1,), or for the nearest ones there are."""
    parts = [SCALE.action_of(thresholds[np.newaxis, first:last])[0] for first, last in config.groups]
    return np.concatenate(parts)


def port_layout(config: QClusterConfig) -> Layout:
    """Lists the columns: how messages have fared, then each queue, the highest first."""
    return Layout(context=(*STEP, *named(CLASS, CLASSES)), slot=QUEUE, num_slots=config.queues)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns the class of messages by their sizes in B: indices of ``CLASSES``."""
    return np.searchsorted(CLASS_ENDS, size)


@allocating_part
def finished_since(decision: PacketDecision) -> IntArray:
    """Returns the rows of the messages that have finished since the last action, in that order."""
    rows: IntArray = decision.delivered[decision.episodes["num_before"][decision.number] : decision.num_delivered]
    return rows


@allocating_part
def mean(values: FloatArray) -> float:
    """Returns the mean of some numbers, (count,), at least one, by sums that are the same everywhere."""
    return pairwise_sum(values.copy(), 0, len(values)) / len(values)


@allocating_part
def write_terms(decision: PacketDecision, terms: FloatArray) -> None:
    """Writes the terms for a step; one about which no message says anything is what it was in the step before."""
    rows, kept = finished_since(decision), decision.episodes["terms"][decision.number]
    if len(rows) > 0:
        _rate_messages(decision, rows, kept)
    for index in range(len(kept)):
        terms[index] = kept[index]


@allocating_part
def _rate_messages(decision: PacketDecision, rows: IntArray, terms: FloatArray) -> None:
    """Writes the terms about which messages that finished say something."""
    size, ideal, span = decision.flows["size"][rows], decision.flows["ideal_fct"][rows], decision.flows["deadline_span"]
    fct = decision.completion_time[rows] - decision.arrival_time[rows]
    terms[FCT] = -natural_log(mean(fct) / mean(ideal))
    terms[SLOWDOWN] = -natural_log(mean(fct / ideal))
    terms[JAIN] = jain_index(size, fct)
    num_limited = num_met = 0
    for row in rows:
        if span[row] < np.inf:
            num_limited += 1
            num_met += decision.completion_time[row] <= latest_completion(decision.arrival_time[row] + span[row])
    if num_limited > 0:
        terms[DEADLINES] = num_met / num_limited


@allocating_part
def jain_index(size: FloatArray, fct: FloatArray) -> float:
    """Returns Jain's index of the mean throughputs of messages of each order of magnitude (QCluster, section 6.1).

    Sizes in B and completion times in s, (count,), are those of at least one message.
    """
    magnitude = np.searchsorted(POWERS, size, side="right")
    throughput = size / fct
    means, count = np.zeros(len(POWERS) + 1), 0
    for each in range(len(means)):
        own = throughput[magnitude == each]
        if len(own) > 0:
            means[count] = mean(own)
            count += 1
    total = mean(means[:count])
    return total * total / mean(means[:count] * means[:count])


@allocating_part
def _show_messages(rules: Any, decision: PacketDecision, observation: ObservationArray) -> int:
    """Writes how messages fared that finished in the step, and what arrived; returns the index behind them."""
    rows, arrival_time, size = finished_since(decision), decision.arrival_time, decision.flows["size"]
    begun_at = decision.episodes["acted_at"][decision.number]
    arrived = size[(begun_at < arrival_time) & (arrival_time <= decision.now)]
    could_send, load = decision.capacity * (decision.now - begun_at), 0.0
    if could_send > 0.0 and len(arrived) > 0:
        load = mean(arrived) * len(arrived) / could_send
    at = write_step(rules, observation, 0, finished=len(rows), load=load)
    fct = decision.completion_time[rows] - arrival_time[rows]
    kind = np.zeros(len(rows), dtype=np.int64)
    for end in CLASS_ENDS:
        kind += end < size[rows]
    for each in range(NUM_CLASSES):
        times = np.sort(fct[kind == each])
        share = height = high = 0.0
        if len(times) > 0:
            share = len(times) / len(rows)
            height = height_of(mean(times), rules.times)
            high = height_of(times[int(np.ceil(MOST_QUANTILE * len(times))) - 1], rules.times)
        at = write_class(rules, observation, at, share=share, fct=height, fct_99=high)
    return at


@allocating_part
def _show_queues(rules: Any, decision: PacketDecision, observation: ObservationArray, at: int) -> None:
    """Writes each queue, from an index on."""
    counts, clusters = decision.counts, decision.record.clusters
    num_queues = counts.packets.shape[1]
    for queue in range(num_queues):
        started = counts.started[0, queue]
        delay = counts.waited[0, queue] / started if started > 0 else 0.0
        alpha, threshold = 0.0, 1.0
        if queue < num_queues - 1:
            alpha = height_of(clusters.alpha[0, queue], rules.alphas)
            threshold = height_of(max(clusters.thresholds[0, queue], rules.scale.lowest), rules.scale)
        at = write_queue(
            rules,
            observation,
            at,
            packets=counts.packets[0, queue],
            size=counts.size[0, queue],
            waiting=counts.waiting[0, queue],
            delay=height_of(max(delay, rules.times.lowest), rules.times),
            marks=counts.marks[0, queue],
            drops=counts.drops[0, queue],
            weight=height_of(clusters.weight[0, queue], rules.scale),
            members=clusters.members[0, queue],
            alpha=alpha,
            threshold=threshold,
        )
