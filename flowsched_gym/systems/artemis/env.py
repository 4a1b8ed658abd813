"""The Artemis environment: a destination grants tokens to flows with deadlines."""

from typing import Any

from gymnasium import spaces

from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.base import ENGINES, NS3
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.fluid import find_transport
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.packets.schedulers import Fifo
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer, Observation, Reward
from flowsched_gym.systems.artemis.panels import artemis_panels
from flowsched_gym.systems.artemis.rules import (
    EPISODE_FIELDS,
    FINAL_INFOS,
    FLOW_FIELDS,
    TERMS,
    ArtemisRules,
    artemis_layout,
)
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import WorkloadSource


class ArtemisEnv(DecisionEnv[ArtemisRules]):
    """Which waiting flow a destination lets send next.

    ## Description
    Flows gather at a destination in bursts, each with a size and a deadline. A source asks the destination for a token
    before it sends; the destination holds ``k`` tokens and keeps the requests in a queue. The agent is asked when a
    token is free and a request waits, and picks one of the ``f`` oldest. The token travels back, the flow sends at its
    max-min fair share of its source's and destination's links, and the token is free again when the last byte has
    arrived. The aim is to meet as many deadlines as possible. With several destinations one agent serves them in turn,
    and each observation shows the one that asks.

    ## Action Space
    ``Discrete(f)``: the slot whose request is granted; slot 0 is the oldest request. ``defer="wait"`` adds action f:
    the destination waits for its next request or token. ``defer="to-back"`` adds actions f to 2 f - 1: the request in
    slot action - f goes to the back of the queue, once for each request.
    An action that cannot do what it says (an empty slot, a second time to the back, a wait for nothing) is legal,
    grants the oldest request, and is counted in ``info["empty_slot_choices"]``; ``info["action_mask"]`` and
    ``action_masks()`` tell beforehand. After the end of an episode the mask shows slot 0 alone. An action outside the
    space raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32 with ``observation="full"``: 4 columns of the destination, then 7 for each slot, (4 + 7 f,).
    Empty slots are 0. Squashed means ``x / (x + scale)``, signed ``x / (|x| + scale)``; ``layout`` decodes both.

    {columns}

    ``observation="paper"``: size and deadline_span of each slot alone, (2 f,). ``observation="request"`` adds to each
    what the thesis's Figure 3.1 has besides, (3 f,):

    {columns: observation="request"}

    ## Rewards
    One term, ``deadline_met``: 1 for each flow that finishes by its deadline, given to the action after which it
    finished (``reward="on_completion"``), or from a queue, one finished flow (1 or 0) for each action and 0 when the
    queue is empty (``reward="lagged"``, the thesis's way). What is still in that queue when the episode ends is
    given to no action, and counted in ``info["unpaid_rewards"]``. A flow without a deadline counts 1 when it finishes.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; time runs to the
    first request. ``set_state(state)`` begins where ``get_state()`` was called, in this environment or in another one
    with the same arguments, and goes on bit for bit.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is rewarded for all of them. ``truncated`` after
    ``max_decisions``, if given. ``info["episode_metrics"]`` then holds the metrics; those of a truncated episode count
    the deadlines that have passed. (Gymnasium's ``max_episode_steps`` truncates from outside, without metrics.)

    ## Arguments
    ```python
    gym.make("flowsched/Artemis-v0", workload="gather-heavy", k=3, f=10)
    ```

    ``transport`` is ``ideal`` (a fluid), ``tcp`` (today's TCP over a buffer that does not overflow), or one that loses
    packets where a burst overflows the buffer of a destination's link: ``tcp-lossy`` and ``tcp-lossy-2018a``, fitted
    to two settings of ns-3 near the thesis's. A flow may wait a second there for its retransmission timeout, and keeps
    its token meanwhile. What is lost is hashed from the flows of the episode: the same flows and decisions give the
    same losses.

    ``packets`` sends single packets in place of a fluid: a granted flow opens a connection, and its token is free again
    with its last byte; bytes in flight are those that the receiver lacks, with headers. The names are the settings in
    which ns-3 was run beside this package; see ``docs/packets.md``. ``engine="ns3"`` sends them in ns-3 itself, for
    which ``flowsched ns3 build`` compiles a program (Debian: ``libns3-dev``): the same flows, requests and tokens, but
    ns-3's connections, acknowledgements of its own sizes, and whole bytes; no vector environments, states or copies.

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these that are stepped in one compiled call: the same observations,
    rewards, flags and infos, bit for bit, as ``SyncVectorEnv`` gives (``benchmarks/speed`` has the rates).
    ``autoreset_mode`` is ``NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``; ``reset`` takes ``options={"reset_mask": ...}``;
    ``action_masks()`` is (n, num_actions). ``infos["episode_metrics"]`` is made when it is first read; so is
    ``infos["finished"]``, an array of objects, which only ``finished=True`` brings. ``get_state()`` keeps all episodes,
    ``state.pick(numbers)`` some, and ``set_state(state, numbers)`` goes on from them, in these environments or others.
    The first use on a machine compiles for half a minute.

    ## Version History
    * v0: Initial version.

    ## Reference
    M. M. Naouach, Towards A Workload-Driven Flow Scheduler For Modern Datacenters, thesis, Waterloo, 2018. We deviate:
    the network is a fluid unless ``packets`` says otherwise; a request, a token and the last byte each take the
    propagation time of their path, and the token is back when the last byte has arrived; all times in the observation
    are squashed; the agent is asked only when a request waits; episodes end, where the thesis runs on.
    """

    config: ArtemisConfig
    engines = (*ENGINES, NS3)

    @configured_by(ArtemisConfig, artemis_layout)
    def __init__(self, config: ArtemisConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        super().__init__(
            ArtemisRules(
                num_slots=config.f,
                num_tokens=config.k,
                can_wait=config.defer is Defer.WAIT,
                can_postpone=config.defer is Defer.TO_BACK,
                is_lagged=config.reward is Reward.LAGGED,
                sees_all=config.observation is Observation.FULL,
                sees_load=config.observation is Observation.REQUEST,
                line_rate=config.capacity,
            ),
            spaces.Discrete(config.f + {Defer.NONE: 0, Defer.WAIT: 1, Defer.TO_BACK: config.f}[config.defer]),
            source=source,
            network=_network(config, source.num_hosts, engine),
            layout=artemis_layout(config),
            terms=TERMS,
            final_infos=FINAL_INFOS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return artemis_panels(self.config, self.scene(), self.simulation, self.action_masks())


def _network(config: ArtemisConfig, num_hosts: int, engine: str) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology = big_switch(num_hosts=num_hosts, capacity=config.capacity, delay=config.delay)
    if config.senders is not None:
        fields: Any = {"flow_fields": FLOW_FIELDS, "episode_fields": EPISODE_FIELDS}
        return setup_ports(topology, Fifo(), config.senders, num_tokens=config.k, engine=engine, **fields)
    return NetworkSetup(
        topology=topology,
        new_discipline=Ps,
        transport=find_transport(config.transport, config.transport_figures),
        num_tokens=config.k,
        flow_fields=FLOW_FIELDS,
        episode_fields=EPISODE_FIELDS,
    )


class ArtemisVectorEnv(DecisionVectorEnv):
    """Many ``ArtemisEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = ArtemisEnv
    config: ArtemisConfig
