"""MERP's routing environment: a flow that arrives in a fat-tree takes one of its paths."""

import functools
from typing import Any

from gymnasium import spaces

from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.base import ENGINES, NS3
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind, PathDecision
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.systems.merp.panels import route_panels
from flowsched_gym.systems.merp.route.config import PACKET_SCHEDULERS, MERPRouteConfig, RouteObservation
from flowsched_gym.systems.merp.route.rules import FLOW_FIELDS, RouteRules, reward_terms, route_layout
from flowsched_gym.topology import Topology, fat_tree, make_routing
from flowsched_gym.workload import WorkloadSource


class MERPRouteEnv(DecisionEnv[RouteRules]):
    """Which path a new flow takes through a fat-tree.

    ## Description
    Flows arrive at the hosts of a k-ary fat-tree and go to other hosts. Between hosts of different pods there are
    ``(k / 2) ** 2`` equal paths, one over each core switch; inside a pod ``k / 2``, one over each aggregation switch;
    under one edge switch a single one. The agent is asked when a flow arrives of whose paths two or more are up, and
    chooses one; other flows begin by themselves. Flows share the links by the ``discipline``, and keep their paths
    until they finish. Cables may fail: a flow whose path fails chooses another by the rule ``rerouting``, without the
    agent, and waits where none is left. The aim is that flows finish soon, and none of them much later than alone.

    ## Action Space
    ``Discrete((arity / 2) ** 2)``: the path, by its core switch; inside a pod by its aggregation switch, so that the
    last actions have no path. A path that does not exist or is down is legal, takes the first path that is up, and is
    counted in ``info["empty_slot_choices"]``; ``info["action_mask"]`` and ``action_masks()`` tell beforehand. Where
    nothing is asked, after the end of an episode, the mask shows slot 0 alone. An action outside the space raises
    ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: 4 columns of the flow, then 23 for each path, (4 + 23 (arity / 2) ** 2,). Paths that do not
    exist are 0, so are the core links of paths inside a pod, and everything where nothing is asked. Squashed
    means ``x / (x + scale)``; ``layout`` decodes it. ``bytes_left``, ``num_flows`` and ``utilisation`` leave out the
    links that all paths that are up share. A path that is down has the utilisation 1 and an infinite expansion ratio.

    {columns}

    ``observation="forecast"`` adds to each path what it would cost if no more flows came and all were served in the
    order of their virtual deadlines as they are now, whatever the discipline, (4 + 25 (arity / 2) ** 2,). Delays of
    links are left out; both are infinite where the path is down.

    {columns: observation="forecast"}

    ## Rewards
    Given to the action after which flows finish; those before the first decision to the first action. ``slowdown``:
    minus the sum of their slowdowns (completion time over that alone on the empty network, the paper's expansion
    ratio). ``fct``: minus the sum of their completion times, in units of 12 ms, which 1500 KB take alone at 1 Gbps.
    ``reward="slowdown"`` (default) and ``reward="fct"`` give one of them, ``reward="both"`` the sum; all other terms
    are left out. The paper judges by the means of both (figure 10). Slowdowns are the default because every flow counts
    alike in them: completion times are ruled by the few largest flows, whose sizes have no finite variance, and PPO
    learned from slowdowns to keep both means smaller than from the sum.

    ## Starting State
    The flows of the episode, and which cables fail, are drawn from the workload by one integer of the environment's
    generator; time runs to the first flow with a choice. An episode without one ends with its first step, whatever the
    action. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is rewarded for all that finish after it. ``truncated``
    after ``max_decisions``, if given; flows that have not finished are then never rewarded. ``info["episode_metrics"]``
    holds the metrics of both.

    ## Arguments
    A workload of a name between all hosts is one between all hosts of this fat-tree. The paper's links have a delay
    of 10 us.

    ```python
    gym.make("flowsched/MERPRoute-v0", load=0.6, failures=3, link_delay_us=10.0)
    ```

    ``packets`` sends single packets in place of a fluid, and with ``engine="ns3"`` ns-3 sends them: the same flows and
    paths; no vector environments, states or copies (``docs/packets.md``).

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these that are stepped in one compiled call, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, masks and states. Episodes are drawn in Python.

    ## Version History
    * v0: Initial version.

    ## Reference
    S. Zhang, Z. Qian, H. Wu, S. Lu, Efficient Data Center Flow Scheduling Without Starvation Using Expansion Ratio,
    IEEE TPDS 28(11), 2017, sections 5 and 6.2. We deviate: the network is a fluid unless ``packets`` says so; the agent
    sees the whole network as it is, where MEMR's switches know their own links and hear of others; it chooses a whole
    path, not hop by hop; sizes have the Pareto shape 1.5, which the paper does not print; which cables fail is drawn by
    chance.
    """

    config: MERPRouteConfig
    engines = (*ENGINES, NS3)

    @configured_by(MERPRouteConfig, route_layout)
    def __init__(self, config: MERPRouteConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        terms = reward_terms(config.reward)
        super().__init__(
            RouteRules(
                config.num_paths,
                "fct" in terms,
                "slowdown" in terms,
                config.observation is RouteObservation.FORECAST,
                config.capacity,
            ),
            spaces.Discrete(config.num_paths),
            source=source,
            network=_network(config, engine),
            layout=route_layout(config),
            terms=terms,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        scene, pending = self.scene(), self.simulation.pending
        asked = pending if isinstance(pending, PathDecision) else None
        return route_panels(self.config, scene, asked, self.layout, self._observe())


def _network(config: MERPRouteConfig, engine: str) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology = _fabric(config.arity, config.capacity, config.delay, config.slow_links or ())
    asked: Any = {"asks": DecisionKind.PATH, "flow_fields": FLOW_FIELDS}
    if config.senders is not None:
        return setup_ports(topology, PACKET_SCHEDULERS[config.sharing](), config.senders, engine=engine, **asked)
    discipline = functools.partial(make_discipline, config.sharing)
    return NetworkSetup(topology=topology, new_discipline=discipline, routing=make_routing(config.rerouting), **asked)


class MERPRouteVectorEnv(DecisionVectorEnv):
    """Many ``MERPRouteEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = MERPRouteEnv
    config: MERPRouteConfig


@functools.lru_cache(maxsize=8)
def _fabric(arity: int, capacity: float, delay: float, slow_links: tuple[tuple[int, float], ...]) -> Topology:
    topology = fat_tree(arity=arity, capacity=capacity, delay=delay)
    capacities = topology.capacity.copy()
    for link, share in slow_links:
        capacities[link] *= share
    return fat_tree(arity=arity, capacity=capacities, delay=delay) if slow_links else topology
