"""The MERP ordering environment: which of the flows that compete goes first."""

from typing import Any

from gymnasium import spaces

from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid.disciplines import Ranked
from flowsched_gym.packets.schedulers.controlled import ServedFirst
from flowsched_gym.systems.merp.order.config import MERPOrderConfig
from flowsched_gym.systems.merp.order.rules import EPISODE_FIELDS, FLOW_FIELDS, TERMS, OrderRules, order_layout
from flowsched_gym.systems.merp.panels import order_panels
from flowsched_gym.topology import make_topology
from flowsched_gym.workload import WorkloadSource


class MERPOrderEnv(DecisionEnv[OrderRules]):
    """Which of the flows that compete goes first.

    ## Description
    Flows of very different sizes arrive at a link, or at the hosts of a nine-server tree. A flow's slowdown (MERP:
    expansion ratio) is its completion time over what it would take alone. The aim is a small largest slowdown, then a
    small next one: to serve the shortest flow first starves long ones, to share equally makes short ones wait. The
    agent is asked whenever a flow begins to send or sends its last byte and two or more flows then compete: they share
    a link with another, on which that happened. The chosen flow goes before all others; the others keep their order,
    in which an earlier choice stands before a later arrival. In this order each flow sends at what is left on its
    path. On one link the chosen flow alone sends, until the next event.

    ## Action Space
    ``Discrete(f)``: the slot whose flow goes first; slot 0 is the flow that has waited longest. An empty slot is legal,
    stands for slot 0, and is counted in ``info["empty_slot_choices"]``; ``info["action_mask"]`` and
    ``action_masks()`` tell beforehand. Where nothing is asked, after the end of an episode, the mask shows slot 0
    alone. An action outside the space raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: 5 columns of the contest, then 7 for each slot, (5 + 7 f,). Empty slots are 0. Squashed means
    ``x / (x + scale)``; ``layout`` decodes it, to six digits.

    {columns}

    ## Rewards
    Four terms, all of them in ``info["reward_terms"]``; ``reward`` names the one that is the reward. They concern the
    flows that finished since the last action; the first action is rewarded for those before it too. ``lexicographic``:
    minus the rise of s_1 + s_2 / 2 + ... + s_8 / 128 over the largest slowdowns of all flows that have finished, so
    that the return of an episode is minus that sum at its end: the paper's objective, where the largest counts first
    and then the next. ``max_slowdown``: minus the rise of s_1 alone. ``slowdown``: minus the sum of the flows'
    slowdowns. ``fct``: minus the sum of their completion times, in units of 20 ms.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; time runs to the
    first contest. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is rewarded for all of them. Where no two flows ever
    compete, that is after the first action, whatever it is. ``truncated`` after ``max_decisions``, if given.
    ``info["episode_metrics"]`` then holds the metrics.

    ## Arguments
    ```python
    gym.make("flowsched/MERPOrder-v0", topology="tree9", load=0.8)
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these that are stepped in one compiled call, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, masks and states.

    ## Version History
    * v0: Initial version.

    ## Reference
    S. Zhang, Z. Qian, H. Wu, S. Lu, Efficient Data Center Flow Scheduling Without Starvation Using Expansion Ratio,
    IEEE TPDS 28(11), 2017, sections 4 and 6.1. We deviate: the network is a fluid unless ``packets`` says otherwise,
    and no rate is spent on detecting who is first; an agent that sees all flows stands in the place of switches that
    agree on virtual deadlines; it is asked at completions too; where a flow that goes first cannot fill a link, the
    next ones do; the shape of the Pareto sizes, which the paper does not print, is 1.5.
    """

    config: MERPOrderConfig

    @configured_by(MERPOrderConfig, order_layout)
    def __init__(self, config: MERPOrderConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        super().__init__(
            OrderRules(config.f, TERMS.index(config.reward)),
            spaces.Discrete(config.f),
            source=source,
            network=_network(config, source.num_hosts),
            layout=order_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return order_panels(self.config, self.scene(), self.simulation.pending)


def _network(config: MERPOrderConfig, num_hosts: int) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology = make_topology(config.topology, num_hosts=num_hosts, capacity=config.capacity, delay=config.delay)
    asked: Any = {"asks": DecisionKind.ORDER, "flow_fields": FLOW_FIELDS, "episode_fields": EPISODE_FIELDS}
    if config.senders is not None:
        return setup_ports(topology, ServedFirst(), config.senders, **asked)
    return NetworkSetup(topology=topology, new_discipline=Ranked, **asked)


class MERPOrderVectorEnv(DecisionVectorEnv):
    """Many ``MERPOrderEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = MERPOrderEnv
    config: MERPOrderConfig
