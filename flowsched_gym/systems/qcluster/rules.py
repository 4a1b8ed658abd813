"""What the agent of a port's queues may do, sees and is rewarded with, for both engines."""

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray, IntArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.envs import PeriodControl, PortView
from flowsched_gym.envs.actions import read_choices, read_numbers
from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.envs.thresholds import ThresholdScale
from flowsched_gym.flows.thresholds import RULES
from flowsched_gym.machine_code.numerics import natural_log, pairwise_sum, squash
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
CONTEXT: Final = (
    Column.squashed("finished", "messages that finished in the step", "messages", FINISHED_SCALE),
    Column.squashed("load", "bytes that arrived in the step over what the port could send", "1", 1.0),
    *(
        Column.fraction(f"{name}_{what}", meaning.format(which))
        for name, which in CLASSES.items()
        for what, meaning in (
            ("share", "share of messages {} in those that finished in the step"),
            ("fct", "mean completion time of messages {} (log)"),
            ("fct_99", "99 % quantile of the completion time of messages {} (log)"),
        )
    ),
)
TERMS: Final = tuple(str(term) for term in QClusterReward)
MEMORY_SIZE: Final = len(TERMS)
"""What is remembered: the terms of the step before."""
POWERS: Final = np.array([float(f"1e{power}") for power in range(13)])
"""Powers of ten in B, which part the orders of magnitude."""


class QClusterControl(PeriodControl[Any, PortView]):
    """Control of the thresholds between a port's queues."""

    memory_size = MEMORY_SIZE
    terms = TERMS

    def __init__(self, config: QClusterConfig) -> None:
        self.layout = port_layout(config)
        self._config = config
        self._sets_thresholds = config.action is QClusterAction.THRESHOLDS
        self._length = num_thresholds(config)
        self._num_choices: IntArray = np.array([len(RULE_CODES), len(ALPHA_STEPS)])
        self.action_space: spaces.Space[Any] = (
            spaces.Box(-1.0, 1.0, (self._length,), np.float32)
            if self._sets_thresholds
            else spaces.MultiDiscrete(self._num_choices)
        )

    def check(self, action: object, name: str = "action") -> FloatArray | IntArray:
        """Reads an action, and refuses one outside the action space."""
        if not self._sets_thresholds:
            return read_choices(action, self._num_choices, name)
        return read_numbers(action, self._length, name)

    def act(self, view: PortView, memory: FloatArray, action: FloatArray | IntArray) -> None:
        """Sets the thresholds, or the rule and the step of alpha."""
        clusters = view.record.clusters
        if self._sets_thresholds:
            clusters.rule[0] = GIVEN
            set_thresholds(self._config, action.astype(np.float64), clusters.thresholds[0])
        else:
            clusters.rule[0] = RULE_CODES[action[0]]
            clusters.alpha_step[0] = ALPHA_STEPS[action[1]]

    def reward(self, view: PortView, memory: FloatArray) -> tuple[float, dict[str, float]]:
        """Rewards for the messages that finished."""
        terms = reward_terms(view, memory)
        return terms[self._config.reward], terms

    def observe(self, view: PortView, memory: FloatArray) -> ObservationArray:
        """Returns what the agent sees."""
        return np.concatenate([_messages(view), _queues(view)]).astype(np.float32)


def num_thresholds(config: QClusterConfig) -> int:
    """Returns how many thresholds an agent sets."""
    return sum(last - first for first, last in config.groups)


def set_thresholds(config: QClusterConfig, action: FloatArray, thresholds: FloatArray) -> None:
    """Sets the thresholds in B, (num_queues - 1,), by an action: each group of ``config.groups`` by its part of it."""
    begin = 0
    for first, last in config.groups:
        end = begin + last - first
        thresholds[first:last] = SCALE.thresholds_of(action[np.newaxis, begin:end])[0]
        begin = end


def action_of_thresholds(config: QClusterConfig, thresholds: FloatArray) -> FloatArray:
    """Returns the action that stands for thresholds in B, (num_queues - 1,), or for the nearest ones there are."""
    parts = [SCALE.action_of(thresholds[np.newaxis, first:last])[0] for first, last in config.groups]
    return np.concatenate(parts)


def port_layout(config: QClusterConfig) -> Layout:
    """Lists the columns: how messages have fared, then each queue, the highest first."""
    return Layout(context=CONTEXT, slot=QUEUE, num_slots=config.queues)


def class_of_size(size: FloatArray) -> IntArray:
    """Returns the class of messages by their sizes in B: indices of ``CLASSES``."""
    return np.searchsorted(CLASS_ENDS, size)


def mean(values: FloatArray) -> float:
    """Returns the mean of some numbers, (count,), at least one, by sums that are the same everywhere."""
    return float(pairwise_sum(values, 0, len(values))) / len(values)


def reward_terms(view: PortView, memory: FloatArray) -> dict[str, float]:
    """Returns the terms for a step, and remembers them; one about which no message says anything stays as it was."""
    rows = view.finished
    if len(rows):
        fct, ideal = view.fct(rows), view.ideal_fct[rows]
        memory[TERMS.index(QClusterReward.FCT)] = -natural_log(mean(fct) / mean(ideal))
        memory[TERMS.index(QClusterReward.SLOWDOWN)] = -natural_log(mean(fct / ideal))
        memory[TERMS.index(QClusterReward.JAIN)] = jain_index(view.size[rows], fct)
        span = view.deadline_span[rows]
        limited = span < np.inf
        if limited.any():
            met = view.completion_time[rows] <= view.arrival_time[rows] + span
            memory[TERMS.index(QClusterReward.DEADLINES)] = np.count_nonzero(met & limited) / np.count_nonzero(limited)
    return dict(zip(TERMS, memory.tolist(), strict=True))


def jain_index(size: FloatArray, fct: FloatArray) -> float:
    """Returns Jain's index of the mean throughputs of messages of each order of magnitude (QCluster, section 6.1).

    Sizes in B and completion times in s, (count,), are those of at least one message.
    """
    magnitude = np.searchsorted(POWERS, size, side="right")
    throughput = size / fct
    means = np.array([mean(throughput[magnitude == each]) for each in np.unique(magnitude)])
    total = mean(means)
    return total * total / mean(means * means)


def _messages(view: PortView) -> FloatArray:
    """Describes the messages that finished and arrived in the step."""
    finished, could_send = view.finished, view.capacity * view.period
    shown = np.zeros(len(CONTEXT))
    shown[0] = squash(float(len(finished)), FINISHED_SCALE)
    arrived = view.size[view.arrived]
    if could_send > 0.0 and len(arrived):
        shown[1] = squash(mean(arrived) * len(arrived) / could_send, 1.0)
    fct, kind = view.fct(finished), class_of_size(view.size[finished])
    for which in range(len(CLASSES)):
        times = np.sort(fct[kind == which])
        if len(times):
            quantile = times[int(np.ceil(MOST_QUANTILE * len(times))) - 1]
            at = 2 + 3 * which
            shown[at] = len(times) / len(finished)
            shown[at + 1 : at + 3] = TIMES.position_of(np.array([mean(times), quantile]))
    return shown


def _queues(view: PortView) -> FloatArray:
    """Describes each queue, (num_queues * columns,)."""
    counts, clusters = view.counts, view.record.clusters
    started = counts.started[0]
    delay = np.divide(counts.waited[0], started, out=np.zeros(len(started)), where=started > 0)
    last = len(started) - 1
    alpha, threshold = np.zeros(last + 1), np.ones(last + 1)
    alpha[:last] = ALPHAS.position_of(clusters.alpha[0])
    threshold[:last] = SCALE.position_of(np.maximum(clusters.thresholds[0], SCALE.lowest))
    values = (
        *(counts.packets[0], counts.size[0], counts.waiting[0], TIMES.position_of(np.maximum(delay, TIMES.lowest))),
        *(counts.marks[0], counts.drops[0], SCALE.position_of(clusters.weight[0]), clusters.members[0]),
        *(alpha, threshold),
    )
    return np.stack([column.encode(value) for column, value in zip(QUEUE, values, strict=True)], axis=1).ravel()
