"""Serves tasks in feedback queues, and their flows by an order of their own (TAFE)."""

from collections.abc import Sequence
from typing import Final

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed
from flowsched_gym.fluid.disciplines.task_queues import Demotion, QueuedTasks, check_thresholds
from flowsched_gym.fluid.rules.tasks.queues import WithinTask

WITHIN: Final = {each.name.lower(): each for each in WithinTask}
"""Ways to serve the flows of a task, by name."""


class Tafe(QueuedTasks):
    """TAFE: tasks are demoted by the bytes that they have sent, and their flows are served by an order of their own.

    Tasks of one level are served in the order of their arrival, then of their ids; a level orders CPUs and links. A
    task that goes down joins those of its new level in the order of arrival.

    The paper (section IV) leaves open how its two parts go together: its switches serve the first flow of the highest
    queue (``serial``), its windows share a link by the inverse of what is left of a flow (``remaining``, equations 1
    to 5 in their fluid limit, where the share of marked packets cancels out). Both are here. On one link ``remaining``
    is exact. On a network, weights are set anew when 1/32 of what is left of a flow has been sent: completion
    times of single flows are off by 1 % or so.

    Args:
        thresholds: Demotion thresholds in B, increasing, (num_queues - 1,); none for one level.
        within: ``serial`` (flow by flow, in the order of ids), ``shortest`` (smallest remaining stage first), ``fair``
            (the first task's flows share) or ``remaining`` (all flows of the level share).
        demotion: ``sent`` (section IV-A) or ``arrived`` (Algorithm 1, literally).

    Raises:
        ConfigError: Thresholds are not finite, positive and increasing, or a name is unknown.
    """

    def __init__(
        self, thresholds: Sequence[float] | FloatArray = (), within: str = "serial", demotion: str = Demotion.SENT
    ) -> None:
        if not isinstance(within, str) or within not in WITHIN:
            raise ConfigError(f"within is {shown(within)}: it must be one of {listed(within, WITHIN)}")
        if not isinstance(demotion, str) or demotion not in tuple(Demotion):
            raise ConfigError(f"demotion is {shown(demotion)}: it must be one of {listed(demotion, Demotion)}")
        super().__init__(check_thresholds(thresholds), WITHIN[within], demotion=Demotion(demotion))
