"""AuTO's environment of thresholds: at which bytes sent the feedback queues demote flows."""

from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.packets.schedulers.controlled import FeedbackQueues
from flowsched_gym.systems.auto.flows import USUAL_LOAD, qlas_thresholds
from flowsched_gym.systems.auto.panels import thresholds_panels
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.rules import (
    EPISODE_FIELDS,
    FLOW_FIELDS,
    TERMS,
    ThresholdRules,
    threshold_rules,
    thresholds_layout,
)
from flowsched_gym.topology import make_topology
from flowsched_gym.workload import Traffic, WorkloadSource, offered_traffic


class AuTOThresholdsEnv(DecisionEnv[ThresholdRules]):
    """AuTO's control of thresholds: an agent sets those at which multi-level feedback queues demote flows.

    ## Description
    Flows of very different sizes, which nobody knows beforehand, run between servers that one switch joins. Hosts and
    switch serve K queues in strict priority. A flow starts in the first queue and is demoted to the next one when it
    has sent as many bytes as a threshold says, so that short flows pass long ones. The best thresholds depend on sizes
    and load; the agent, AuTO's sRLA, sets them anew at the beginning and after each period, with one set for all
    servers or one for each cluster of them, which the flows that it sends obey. New thresholds hold for active flows
    too: these may rise again.

    ## Action Space
    ``Box(-1, 1, (clusters * (queues - 1),))`` of float32, cluster by cluster. With u = (action + 1) / 2, the first
    number chooses a threshold on the logarithmic scale from 1 KB (u = 0) to 1 GB (u = 1), each of the others one
    between 1.01 times the threshold before it and 1 GB, so that any action stands for thresholds that increase. They
    are rounded to whole bytes. ``config.SCALE`` translates. An
    action outside the space, one with NaN for instance, raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32. ``observation="summary"``: a column of the network, then these for each cluster, (26,) with one
    cluster and four queues; with other numbers of queues, as many ``live`` and ``threshold`` columns as there are. The
    columns of flows concern those that its servers sent and that finished since the last action; 0 where there are
    none. What ends in (log) is the position, from 0 to 1, on a logarithmic scale: of sizes from 1 KB to 1 GB, of times
    from 10 us to 10 s. Squashed means ``x / (x + scale)``; ``layout`` decodes it, to six digits.

    {columns}

    ``observation="paper"``: the ``m_s`` flows that finished last, of all servers, the last one first, (7 m_s,): 700
    numbers, zeros where there are fewer.

    {columns: observation="paper"}

    ## Rewards
    Three terms, all of them in ``info["reward_terms"]``; ``reward`` names the one that is the reward. They concern the
    flows that finished since the last action. ``log_fct``: minus the logarithm of their mean completion time over the
    mean of what they would take alone. ``log_slowdown``: minus the logarithm of their mean slowdown. ``fct_ratio``, the
    paper's: mean completion time of the step before over that of this step, 1 in the first. In a step in which no flow
    finishes, ``fct_ratio`` is 1, and the others are what they were in the step before, 0 in the first.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; the first action
    is asked for at time 0. Until it is taken, thresholds are the initial ones. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished, wherever in a period that is; the last action is rewarded for the flows
    that finished until then. ``truncated`` after ``max_decisions``, if given. ``info["episode_metrics"]`` then holds
    the metrics.

    ## Arguments
    As in the paper:

    ```python
    gym.make("flowsched/AuTOThresholds-v0", load=0.8, observation="paper", reward="fct_ratio")
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these, whose networks run in one compiled call per step, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, infos and states.

    ## Version History
    * v0: Initial version.

    ## Reference
    L. Chen, J. Lingys, K. Chen, F. Liu, AuTO: Scaling Deep Reinforcement Learning for Datacenter-Scale Automatic
    Traffic Optimization, SIGCOMM 2018, sections 4 and 6. We deviate: the network is a fluid with max-min sharing inside
    a queue (or first in, first out) unless ``packets`` says so; servers have one path, and no agent steers long flows
    (``AuTOLongFlows-v0`` does); flows see new thresholds at once. The paper does not print how outputs become
    thresholds, how long a period is, or how observations are scaled: all that is ours, as are the summary and the two
    logarithmic rewards.
    """

    config: AuTOThresholdsConfig

    @configured_by(AuTOThresholdsConfig, thresholds_layout)
    def __init__(
        self, config: AuTOThresholdsConfig, source: WorkloadSource, render_mode: str | None, engine: str
    ) -> None:
        self.traffic: tuple[Traffic, ...] | None = offered_traffic(source, config.clusters)
        super().__init__(
            threshold_rules(config),
            spaces.Box(-1.0, 1.0, (config.clusters * config.num_thresholds,), np.float32),
            source=source,
            network=self._make_network(config),
            layout=thresholds_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def _make_network(self, config: AuTOThresholdsConfig) -> EpisodeSetup:
        """Makes the network, of a fluid or of packets."""
        groups = np.arange(config.hosts) // config.hosts_per_cluster if config.clusters > 1 else None
        topology = make_topology(config.topology, num_hosts=config.hosts, capacity=config.capacity, delay=config.delay)
        thresholds = self._initial_thresholds(config)
        asked: Any = {
            "asks": DecisionKind.PERIOD,
            "period": config.period,
            "flow_fields": FLOW_FIELDS,
            "episode_fields": EPISODE_FIELDS,
        }
        if config.senders is not None:
            return setup_ports(topology, FeedbackQueues(thresholds, groups), config.senders, **asked)
        return NetworkSetup(topology=topology, new_discipline=partial(Mlfq, thresholds, config.within, groups), **asked)

    def _initial_thresholds(self, config: AuTOThresholdsConfig) -> FloatArray:
        """Returns the thresholds of each cluster until the first action, (num_clusters, num_queues - 1), in B."""
        given = config.initial_thresholds
        if not isinstance(given, str):
            return np.tile(np.array(given), (config.clusters, 1))
        loads = [USUAL_LOAD] * config.clusters if self.traffic is None else [each.load for each in self.traffic]
        return np.array([qlas_thresholds(given, load, config.queues) for load in loads])

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return thresholds_panels(self.config, self.scene(), self.simulation.num_periods, self.decision())


class AuTOThresholdsVectorEnv(DecisionVectorEnv):
    """Many ``AuTOThresholdsEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    _SHARED = (*DecisionVectorEnv._SHARED, "traffic")
    single = AuTOThresholdsEnv
    config: AuTOThresholdsConfig
