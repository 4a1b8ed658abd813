"""TAFE's environment of thresholds: at which bytes sent the feedback queues demote tasks."""

from functools import cached_property, partial
from typing import Any

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid.disciplines import Tafe
from flowsched_gym.packets.schedulers.controlled import TaskLevels
from flowsched_gym.systems.tafe.config import paper_thresholds
from flowsched_gym.systems.tafe.panels import thresholds_panels
from flowsched_gym.systems.tafe.thresholds.config import ONE_BY_ONE, TAFEThresholdsConfig
from flowsched_gym.systems.tafe.thresholds.rules import (
    FLOW_FIELDS,
    SCALE,
    TERMS,
    TaskThresholdRules,
    first_thresholds,
    thresholds_layout,
)
from flowsched_gym.topology.network import first_cpu_path
from flowsched_gym.workload import WorkloadSource


class TAFEThresholdsEnv(DecisionEnv[TaskThresholdRules]):
    """TAFE's control of thresholds: an agent sets those at which feedback queues demote tasks.

    ## Description
    Tasks of several flows arrive, and a task ends with its last flow. Nobody knows how large they are. Hosts and switch
    serve K queues in strict priority, on CPUs and links alike. A task begins in the first queue and is demoted to the
    next one when its flows have sent as many bytes as a threshold says, so that small tasks pass large ones. In a queue
    the task that arrived first goes first, and its flows as ``within`` says. The aim is a short mean task completion
    time. The agent sets the thresholds anew at the beginning and after each period. New thresholds hold for tasks that
    are under way too: these may rise again. With ``demotion="arrived"`` a flow keeps the level with which it came, so
    that new thresholds are for the flows that come after them: those that come at time 0 obey the initial ones.

    ## Action Space
    ``Box(-1, 1, (queues - 1,))`` of float32. With u = (action + 1) / 2, the first number chooses a threshold on the
    logarithmic scale from 1 KB (u = 0) to 1 GB (u = 1), each of the others one between 1.01 times the threshold before
    it and 1 GB, so that any action stands for thresholds that increase. They are rounded to whole bytes.
    ``rules.SCALE`` translates. An action outside the space, one with NaN for instance, raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: columns of the step, which is the period that has ended, then four for each queue, (21,) with
    three queues. A flow is in the queue of the last time that links were shared. What active flows have left in sum,
    which TAFE's switches do not know, is shown too. What ends in (log) is the position, from 0 to 1, on the
    logarithmic scale from 1 KB to 1 GB. Squashed means ``x / (x + scale)``; ``layout`` decodes it, to six digits. Means
    are 0 where no task finished.

    {columns}

    ## Rewards
    Two terms, both in ``info["reward_terms"]``, in units of ``reward_scale_ms``; ``reward`` names the one that is the
    reward. ``unfinished``: minus the integral of the number of unfinished tasks over the period. ``tct``: minus the sum
    of the completion times of the tasks that finished in it. Over an episode, both are minus the sum of all task
    completion times.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; the first action
    is asked for at time 0. Until it is taken, thresholds are the initial ones. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished, wherever in a period that is; the last action is rewarded for the time
    until then. ``truncated`` after ``max_decisions``, if given. ``info["episode_metrics"]`` then holds the metrics.

    ## Arguments
    ``read_coflows`` returns a ``Workload``.

    ```python
    gym.make("flowsched/TAFEThresholds-v0", workload="tafe-web-search", queues=4, within="remaining")
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these, whose networks run in one compiled call per step, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, infos and states.

    ## Version History
    * v0: Initial version.

    ## Reference
    TAFE, sections IV-A and V-B (thresholds of tasks). The paper has no learning, and sets thresholds once: the mean
    task, and 3/4 of the largest one. We deviate: the network is a fluid unless ``packets`` says so, where CPUs look at
    levels when work begins or ends there, a flow is delivered or a period begins; the agent, what it sees and its
    reward are ours.
    """

    config: TAFEThresholdsConfig

    @configured_by(TAFEThresholdsConfig, thresholds_layout)
    def __init__(
        self, config: TAFEThresholdsConfig, source: WorkloadSource, render_mode: str | None, engine: str
    ) -> None:
        super().__init__(
            TaskThresholdRules(config.queues, TERMS.index(config.reward), config.reward_scale, SCALE),
            spaces.Box(-1.0, 1.0, (config.num_thresholds,), np.float32),
            source=source,
            network=_network(config, source.num_hosts),
            layout=thresholds_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    @cached_property
    def paper_thresholds(self) -> FloatArray:
        """Demotion thresholds in B that the paper names, for the tasks of this environment, (2,)."""
        return paper_thresholds(self._source)

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return thresholds_panels(self.config, self.scene(), self.simulation.num_periods, self.decision())


def _network(config: TAFEThresholdsConfig, num_hosts: int) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology, thresholds = config.make_network(num_hosts), first_thresholds(config)
    asked: Any = {"asks": DecisionKind.PERIOD, "period": config.period, "flow_fields": FLOW_FIELDS}
    if config.senders is not None:
        scheduler = TaskLevels(thresholds, config.within, first_cpu_path(topology.network))
        barrier = Barrier(config.barrier) if config.within == ONE_BY_ONE else None
        return setup_ports(topology, scheduler, config.senders, barrier=barrier, **asked)
    return NetworkSetup(
        topology=topology,
        new_discipline=partial(Tafe, thresholds, config.within, config.demotion),
        barrier=Barrier(config.barrier),  # mypy forgets that an inherited choice is a member
        **asked,
    )


class TAFEThresholdsVectorEnv(DecisionVectorEnv):
    """Many ``TAFEThresholdsEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = TAFEThresholdsEnv
    config: TAFEThresholdsConfig
