"""The Artemis environment: a destination grants tokens to flows with deadlines."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.disciplines import Ps
from flowsched_gym.encoders import read_choice
from flowsched_gym.envs import MaskedEnv
from flowsched_gym.envs.arguments import refusing_unknown
from flowsched_gym.envs.drawing import View
from flowsched_gym.model import TRANSPORTS
from flowsched_gym.simulation import Destination, Simulation
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer, workload_source
from flowsched_gym.systems.artemis.observation import ArtemisObservation, artemis_layout
from flowsched_gym.systems.artemis.panels import artemis_panels
from flowsched_gym.systems.artemis.reward import RewardQueue
from flowsched_gym.topology import big_switch
from flowsched_gym.units import SECONDS_PER_MICROSECOND, gbps_to_capacity
from flowsched_gym.workload import Workload, WorkloadLike, workload_label

__all__ = ["ArtemisEnv"]


class ArtemisEnv(MaskedEnv[int]):
    """Lets an agent decide which flow a destination lets send next.

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

    | column | meaning | unit | encoding | scale |
    | --- | --- | --- | --- | --- |
    | tokens_free | free tokens over k | 1 | fraction | 1 |
    | active_flows | tokens held over k | 1 | fraction | 1 |
    | bytes_in_flight | bytes that flows with a token have not sent yet | B | squashed | 300000 |
    | queue_length | requests that wait, seen or not; f become one half | requests | squashed | f |
    | present | 1 if a request waits in the slot | 1 | fraction | 1 |
    | size | bytes to deliver | B | squashed | 300000 |
    | deadline_span | time allowed after arrival | s | squashed | 0.02 |
    | waiting | time since arrival | s | squashed | 0.02 |
    | time_left | time to the deadline, negative when it has passed | s | signed | 0.02 |
    | slack | time to the deadline less the time to send at line rate | s | signed | 0.02 |
    | postponed | 1 if the request was sent to the back once | 1 | fraction | 1 |

    ``observation="paper"``: size and deadline_span of each slot alone, (2 f,).

    ## Rewards
    One term, ``deadline_met``: 1 for each flow that finishes by its deadline, paid to the action after which it
    finished (``reward="on_completion"``), or from a queue, one finished flow (1 or 0) for each action and 0 when the
    queue is empty (``reward="lagged"``, the thesis's way). What is still in that queue when the episode ends is not
    paid, and counted in ``info["unpaid_rewards"]``. A flow without a deadline pays 1 when it finishes.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; time runs to the
    first request. ``set_state(state)`` begins where ``get_state()`` was called, in this environment or in another one
    with the same arguments, and goes on bit for bit.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is paid for all of them. ``truncated`` after
    ``max_decisions``, if given. ``info["episode_metrics"]`` then holds the metrics; those of a truncated episode count
    the deadlines that have passed. (Gymnasium's ``max_episode_steps`` truncates from outside, without metrics.)

    ## Arguments
    ``workload`` is a name (``flowsched list``), a mapping (``docs/workloads.md``), the path of a flow file, a
    ``Workload`` or anything with ``draw(seed)``; the others are those of ``ArtemisConfig``: ``burst_rate`` or ``load``,
    ``destinations``, ``bursts`` or ``seconds``, ``k``, ``f``, ``transport``, ``observation``, ``reward``, ``defer``,
    ``link_gbps``, ``link_delay_us``, ``max_decisions``.

    ```python
    gym.make("flowsched/Artemis-v0", workload="gather-heavy", k=3, f=10)
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these that are stepped in one compiled call: the same observations,
    rewards, flags and infos, bit for bit, as ``SyncVectorEnv`` gives (``benchmarks/speed`` has the rates).
    ``autoreset_mode`` is ``NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``; ``reset`` takes ``options={"reset_mask": ...}``;
    ``action_masks()`` is (n, num_actions). ``infos["finished"]`` and ``infos["episode_metrics"]`` are made when
    they are first read. ``get_state()`` keeps all episodes, ``state.pick(numbers)`` some, and ``set_state(state,
    numbers)`` goes on from them, in these environments or others. The first use on a machine compiles for half a
    minute.

    ## Version History
    * v0: Initial version.

    ## Reference
    M. M. Naouach, Towards A Workload-Driven Flow Scheduler For Modern Datacenters, thesis, Waterloo, 2018. We deviate:
    the network is a fluid, not packets, so nothing is lost; a request, a token and the last byte each take the
    propagation time of their path, and the token is back when the last byte has arrived; all times in the observation
    are squashed; the agent is asked only when a request waits; episodes end, where the thesis runs on.
    """

    config: ArtemisConfig

    @refusing_unknown
    def __init__(
        self,
        workload: WorkloadLike = "gather-a1",
        *,
        burst_rate: float | None = None,
        load: float | None = None,
        destinations: int | None = None,
        bursts: int | None = None,
        seconds: float | None = None,
        k: int = 10,
        f: int = 5,
        transport: str = "ideal",
        observation: str = "full",
        reward: str = "on_completion",
        defer: str = "none",
        link_gbps: float = 1.0,
        link_delay_us: float = 250.0,
        max_decisions: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Checks the arguments and sets the spaces.

        Raises:
            ConfigError: An argument has another type or is out of its range.
            FlowFileError: The flow file has a fault.
        """
        config = ArtemisConfig(
            workload=workload_label(workload),
            burst_rate=burst_rate,
            load=load,
            destinations=destinations,
            bursts=bursts,
            seconds=seconds,
            k=k,
            f=f,
            transport=transport,  # type: ignore[arg-type]
            observation=observation,  # type: ignore[arg-type]
            reward=reward,  # type: ignore[arg-type]
            defer=defer,  # type: ignore[arg-type]
            link_gbps=link_gbps,
            link_delay_us=link_delay_us,
            max_decisions=max_decisions,
        )
        super().__init__(
            source=workload_source(config, workload),
            layout=artemis_layout(config.observation, config.f),
            render_mode=render_mode,
            max_decisions=config.max_decisions,
        )
        self.config = config
        self._f = config.f
        self._defer = config.defer
        num_actions = config.f + {Defer.NONE: 0, Defer.WAIT: 1, Defer.TO_BACK: config.f}[config.defer]
        self.action_space = spaces.Discrete(num_actions)  # type: ignore[assignment]  # takes a plain integer too
        self._num_actions = num_actions
        self._topology = big_switch(
            num_hosts=self._source.num_hosts,
            capacity=gbps_to_capacity(config.link_gbps),
            delay=config.link_delay_us * SECONDS_PER_MICROSECOND,
        )
        self._check_first(self._topology, transport=TRANSPORTS[config.transport])
        # The mask of n occupied slots is the part that begins n places before the first zero.
        self._slot_masks: npt.NDArray[np.bool_] = np.arange(config.f + num_actions) < config.f

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return self._num_actions

    @property
    def line_rate(self) -> float:
        """Capacity of a host's link in B/s."""
        return gbps_to_capacity(self.config.link_gbps)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions do what they say, (num_actions,) bool."""
        destination, f = self.simulation.asking, self._f
        waiting = 1 if destination is None else destination.tail - destination.head
        first = f - waiting if waiting < f else 0
        mask: npt.NDArray[np.bool_] = self._slot_masks[first : first + self._num_actions].copy()
        if destination is None or self._defer is Defer.NONE:
            return mask
        if self._defer is Defer.WAIT:
            mask[f] = destination.can_wait
        elif waiting > 1:
            seen = destination.requests[destination.head : destination.head + min(waiting, f)]
            mask[f : f + len(seen)] = ~self._postponed[seen]
        return mask

    def _begin(self, workload: Workload) -> Simulation:
        """Builds the simulation of an episode, in which flows with a token share max-min fair."""
        config = self.config
        simulation = Simulation(
            workload, self._topology, Ps(), transport=TRANSPORTS[config.transport], num_tokens=config.k
        )
        self._postponed = np.zeros(workload.num_flows, dtype=np.bool_)
        self._rewards = RewardQueue(config.reward)
        self._empty_slot_choices = 0
        self._last_asking: Destination | None = None
        self._see = ArtemisObservation(config.observation, self.layout, simulation, config.k, self.line_rate)
        return simulation

    def _act(self, action: int) -> int:
        """Grants, waits, or sends a request to the back."""
        simulation, f = self._simulation, self._f
        choice = read_choice(action, self._num_actions)
        destination = simulation.asking
        assert destination is not None
        self._last_asking = destination
        if choice < f and choice < destination.tail - destination.head:
            simulation.grant(choice)
        elif choice >= f and self.action_masks()[choice]:
            if self._defer is Defer.WAIT:
                simulation.wait()
            else:
                row = simulation.postpone(choice - f)
                self._postponed[row] = True
                self._see.note_postponed(row)
        else:
            self._empty_slot_choices += 1
            simulation.grant(0)
        return choice

    def _observe(self) -> npt.NDArray[np.float32]:
        """Returns what the asking destination sees; at the end, what the last one that asked sees."""
        destination = self._simulation.asking or self._last_asking
        assert destination is not None
        return self._see(destination)

    def _pay(self, finished: list[int]) -> tuple[float, dict[str, float]]:
        """Pays for deadlines met."""
        simulation, rewards = self._simulation, self._rewards
        for row in finished:
            rewards.owed.append(1.0 if simulation.met_deadline(row) else 0.0)
        reward = rewards.pay()
        return reward, {"deadline_met": reward}

    def _info(self, finished: list[int], terms: Any) -> dict[str, Any]:
        """Adds what is particular to Artemis."""
        info = super()._info(finished, terms)
        asking = self._simulation.asking
        info["destination"] = -1 if asking is None else asking.host
        info["empty_slot_choices"] = self._empty_slot_choices
        if self._over:
            info["unpaid_rewards"] = math.fsum(self._rewards.owed)
        return info

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return artemis_panels(self.config, self.scene(), self.simulation, self.action_masks())
