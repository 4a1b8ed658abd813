"""AuTO's environment of long flows: in which queue, how fast and by which path each of them goes on."""

from functools import partial
from typing import Any

import numpy as np

from flowsched_gym.core.periods import Period
from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.actions import MultiDiscrete
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.packets.schedulers.controlled import FeedbackQueues
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.observation import long_flows_layout
from flowsched_gym.systems.auto.long_flows.rules import (
    EPISODE_FIELDS,
    FLOW_FIELDS,
    NUM_RATES,
    TERMS,
    LongFlowRules,
    long_flow_rules,
)
from flowsched_gym.systems.auto.panels import long_flows_panels
from flowsched_gym.topology import Routing, RoutingKind, multi_plane
from flowsched_gym.workload import WorkloadSource


class AuTOLongFlowsEnv(DecisionEnv[LongFlowRules]):
    """AuTO's control of long flows: an agent chooses their queues, largest rates and paths.

    ## Description
    Flows of very different sizes, which nobody knows beforehand, run between servers that are joined by several planes
    of switches, a path between any two servers for each plane. Hosts and switches serve K queues in strict priority. A
    flow starts in the first queue, on the path that a hash gives it (ECMP), and is demoted when it has sent as many
    bytes as fixed thresholds say. One that has sent the last threshold is long, and the agent's, AuTO's lRLA: it may
    hold it in any queue, limit its rate, and move it to another path, which loses nothing that it has sent. The other
    flows know no agent. With ``scope="server"`` the servers are asked one after the other, each once in a period of 10
    ms, about the long flows that they send; with ``scope="network"`` there is one question in a period, about all. A
    question about no long flow is passed over without a step. What is chosen for a flow holds until it is asked about
    again.

    ## Action Space
    ``MultiDiscrete`` of (queue, rate step, path) for each of ``n_l`` slots, slot by slot, (3 n_l,): queue 0 is the
    highest of K; the rate is at most 1/3 of a link's capacity (step 0), 2/3, or all of it; paths are numbered from 0.
    Slots hold long flows, oldest first; of those that have no slot nothing changes. What is said of an empty slot
    changes nothing. A path with a failed link is not taken: the flow stays. ``info["action_mask"]`` and
    ``action_masks()`` tell beforehand, (n_l (K + 3 + paths),), choice by choice in that order, as MaskablePPO of
    sb3-contrib reads it; of an empty slot they allow the first choices alone. An action outside the space raises
    ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: the columns of each slot, then those of the ``m_l`` long flows that finished last, the last one
    first; with scope ``server``, those that it sent. Rows that are empty are 0. Squashed means ``x / (x + scale)``;
    ``layout`` decodes it, to six digits. ``observation="full"``, 323 numbers by default; with another number of paths,
    as many columns of each kind as there are:

    {columns}

    ``observation="paper"`` ends a slot with the priority, (6 n_l + 7 m_l,): the paper's 136 numbers. Sizes of
    active flows are left out, as nobody knows them. With ``layout="recorded"`` the paper's columns are plain numbers,
    in the order of recorded rows of the authors' agent (``observation.recorded_states``): slot 0, 11 finished flows,
    the other slots (there slot 0 comes once more among these); with ``"full"``, what that adds follows, slot by slot.
    (6 + 77 + 60,) = 143 numbers:

    {columns: layout="recorded"}

    ## Rewards
    Four terms, all of them in ``info["reward_terms"]``; ``reward`` names the one that is the reward. They concern long
    flows, those that finished since the last action above all; the first action is rewarded for those before it too.
    ``slowdown``: minus their mean slowdown, 0 where none finished. ``slowdown_growth``: minus the growth since the last
    action of the sum of the slowdowns of long flows, finished or, so far, active; the return of an episode is minus the
    sum of the slowdowns of all long flows. ``progress``: the growth since the last action of the sum of ln(bytes sent /
    last threshold) over long flows, finished or active, to which each adds its rate over what it has sent: so it tells
    at once what a choice was worth. An episode's adds up to the same whatever is chosen; a discount makes early
    progress worth more. ``throughput_ratio``, the paper's: (x + C) / (y + C), with x the sum of size over completion
    time of the flows that finished in this step, y that of the step before, 0 before the first, and C the capacity of a
    link, which keeps it finite where none finished.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; time runs to the
    first question about a long flow. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is rewarded for all of them. Where there never is a
    long flow, that is after the first action, whatever it is. ``truncated`` after ``max_decisions``, if given.
    ``info["episode_metrics"]`` then holds the metrics, of all flows.

    ## Arguments
    ``layout="grouped"`` is the order above. As in the paper:

    ```python
    gym.make("flowsched/AuTOLongFlows-v0", load=0.8, observation="paper", reward="throughput_ratio")
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these, whose networks run in one compiled call per step, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, masks, (n, n_l (K + 3 + paths)), and states.

    ## Version History
    * v0: Initial version.

    ## Reference
    L. Chen, J. Lingys, K. Chen, F. Liu, AuTO: Scaling Deep Reinforcement Learning for Datacenter-Scale Automatic
    Traffic Optimization, SIGCOMM 2018, sections 5.2.2 and 6. We deviate: the network is a fluid with max-min sharing
    inside a queue, unless ``packets`` says otherwise; a choice holds at once; thresholds stay (``AuTOThresholds-v0``
    sets them). The paper prints neither the period nor what a server is asked in it, nor how throughput is guarded
    where nothing finished; ports, which no rule of this model reads, stand for ids. That load is one of three links for
    each server, the full observation and the other three rewards are ours.
    """

    config: AuTOLongFlowsConfig

    @configured_by(AuTOLongFlowsConfig, long_flows_layout)
    def __init__(
        self, config: AuTOLongFlowsConfig, source: WorkloadSource, render_mode: str | None, engine: str
    ) -> None:
        super().__init__(
            long_flow_rules(config),
            MultiDiscrete([config.num_queues, NUM_RATES, config.paths] * config.n_l),
            source=source,
            network=_network(config),
            layout=long_flows_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return long_flows_panels(self.config, self.scene(), self.rules, self.decision())


def _network(config: AuTOLongFlowsConfig) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology = multi_plane(
        num_hosts=config.hosts, num_planes=config.paths, capacity=config.capacity, delay=config.delay
    )
    asked: Any = {
        **{"asks": DecisionKind.PERIOD, "period": Period(seconds=config.seconds)},
        **{"flow_fields": FLOW_FIELDS, "episode_fields": EPISODE_FIELDS},
    }
    if config.senders is not None:
        scheduler = FeedbackQueues(np.array([config.thresholds]))
        return setup_ports(topology, scheduler, config.senders, steers=True, **asked)
    routing, discipline = Routing(RoutingKind.ECMP), partial(Mlfq, config.thresholds)
    return NetworkSetup(topology=topology, new_discipline=discipline, routing=routing, rate_caps=True, **asked)


class AuTOLongFlowsVectorEnv(DecisionVectorEnv):
    """Many ``AuTOLongFlowsEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = AuTOLongFlowsEnv
    config: AuTOLongFlowsConfig
