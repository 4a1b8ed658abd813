"""The contract of a discipline: all that an engine asks of it, each hook once.

A hook is a static method on plain arrays, which Numba can compile, or a rule that is compiled: it reads and writes
arrays, and makes none. The SimPy engine calls the hooks of its discipline as they are. The compiled engine compiles
those of the one discipline that it runs, found by the type of its record (``of_discipline``). So a rule is written
once, and a discipline of a user's own runs on both engines, to the same bits.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import ConfigError, SimulationError, listed, shown
from flowsched_gym.core.hooks import check_hooks, derive_record_type, make_record
from flowsched_gym.core.periods import Period
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.machine_code.decorators import chosen_by_type, is_outside
from flowsched_gym.topology.network import Network


class Nothing(NamedTuple):
    """A record without fields: the rules read the state of the flows alone."""


class Discipline:
    """A rule that sets the controls of the active flows whenever these, or levels that they have attained, change.

    As it is, it leaves all flows equal. A subclass defines the hooks that it needs; without one, nothing happens. Where
    it keeps something between events, it names the ``record_type`` and makes one in ``new_record``. One object serves
    one simulation.

    Arguments of hooks mean the same in all of them:

    - ``now``: Time in s.
    - ``n``: Number of a network; 0 on SimPy.
    - ``row``: A flow, among the flows of all networks.
    - ``active``: Rows of the active flows in its first ``count`` entries, which may be reordered among themselves.
    - ``state``, ``controls``: The flows, and how each may use the network, by row.
    - ``network``: Links as they are now, and paths.
    - ``record``: What the discipline keeps.

    Attributes:
        record_type: NamedTuple of what is kept. A class that defines hooks gets a type of its own, derived from this.
        kept: Fields of the record that belong to flows, and change as time goes on: as many entries for each network.
        kept_once: The same with one entry for each network.
        record: What is kept in the simulation that the discipline serves.
        data_share: Share of each link's capacity that carries data, in (0, 1].
        stops_flows: Whether it writes ``admitted`` or ``review_at``, as senders with windows do.
        shares_equally: Whether it leaves all controls as they are, so that flows share equally.
        num_priorities: The compiled engine shares links incrementally where flows share within so many priorities, from
            0 on, and have no largest rates; with 0 it shares them anew at each event.

    A class that defines hooks does not inherit ``shares_equally`` and ``num_priorities``: it names them itself.
    """

    record_type: ClassVar[type[Any]] = Nothing
    kept: ClassVar[tuple[str, ...]] = ()
    kept_once: ClassVar[tuple[str, ...]] = ()
    record: Any
    state: FlowState
    data_share: float = 1.0
    stops_flows: bool = False
    shares_equally: bool = False
    num_priorities: int = 0

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: Any) -> None:
        """Sets what is kept of a flow that arrives, or its token request does, or has waited for others."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Any,
    ) -> None:
        """Fills the controls of the active flows, before the links are shared.

        Where flows share within priorities (``num_priorities``), ``active`` may be those alone that have changed since
        the last call. Without it, all flows are equal.
        """

    @staticmethod
    def review_time(
        now: float, n: int, active: IntArray, count: int, state: FlowState, controls: Controls, record: Any
    ) -> float:
        """Returns when the controls would change although nothing arrives, finishes or crosses ``review_at``.

        An absolute time in s, > now (both engines refuse another one), or inf for never, as without it. Called after
        the links have been shared, so that the rates are known; where rates are not constant, it sets mean rates until
        then.
        """
        return np.inf

    @staticmethod
    def average(
        now: float,
        elapsed: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        record: Any,
    ) -> None:
        """Sets the mean rates of a step of ``elapsed`` > 0 s that ends now; without it, rates have been constant."""

    @staticmethod
    def finished(n: int, row: int, state: FlowState, controls: Controls, record: Any) -> None:
        """Reacts to a flow that has sent its last byte, or done its CPU work."""

    @staticmethod
    def moved(n: int, row: int, record: Any) -> None:
        """Reacts to a new path of an active flow; ``control`` follows in the same instant."""

    @staticmethod
    def all_may_change(n: int, record: Any) -> bool:
        """Returns whether other flows than new ones and those at ``review_at`` may get other priorities.

        Called where links are shared incrementally, see ``num_priorities``. Without it, none.
        """
        return False

    @staticmethod
    def serve_first(n: int, row: int, record: Any) -> None:
        """Puts a flow before all others, as an agent has decided. Without it, no agent can."""

    def __init_subclass__(cls) -> None:
        """Gives a class that defines hooks a type of record of its own, by which the compiled engine finds them."""
        super().__init_subclass__()
        check_hooks(cls, HOOKS)
        if not vars(cls).keys().isdisjoint(HOOKS):
            for name in ("shares_equally", "num_priorities"):
                if name not in vars(cls):
                    setattr(cls, name, getattr(Discipline, name))
        if not vars(cls).keys().isdisjoint((*HOOKS, "record_type")):
            derive_record_type(cls, "discipline")
        for name in (*cls.kept, *cls.kept_once):
            if name not in cls.record_type._fields:
                fields = listed(name, cls.record_type._fields)
                raise ConfigError(f"{cls.__name__} has {shown(name)} among what is kept: record_type has {fields}")

    def begin(self, state: FlowState, network: Network) -> None:
        """Prepares for a simulation of these flows, none of which has arrived; called once, before time runs."""
        self.check_flows(len(state.size))
        self.make_room(state, network)

    def check_flows(self, num_flows: int) -> None:
        """Checks that the parameters fit the number of flows; raises a ``ConfigError`` if not."""

    def make_room(self, state: FlowState, network: Network, num_networks: int = 1) -> None:
        """Makes the record for flows of all networks, as many for each; links and paths are the same for all.

        Raises a ``ConfigError`` if ``new_record`` returns other fields than ``record_type`` has.
        """
        self.state = state
        self.record = make_record(self, self.new_record(len(state.size), network, num_networks))

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> Any:
        """Returns what is kept, the values of the fields of ``record_type``, for the flows of all networks together."""
        return self.record_type()

    def begin_network(self, n: int, first_row: int, flows: Workload) -> None:
        """Prepares for an episode of these flows in a network, the first in ``first_row``, before its time runs."""


HOOKS: Final = tuple(name for name, member in vars(Discipline).items() if isinstance(member, staticmethod))


derive_record_type(Discipline, "discipline")


def _hook(name: str, record: Any) -> Any:
    """Finds a hook of the discipline that keeps a record of this type: the plain function, where it is a rule.

    What a scheduler of packets keeps has none of these hooks.
    """
    hook = getattr(getattr(record, "discipline", Discipline), name)
    return getattr(hook, "py_func", hook)


def is_own(record: Any) -> bool:
    """Returns whether the discipline that keeps a record is a user's own."""
    return is_outside(getattr(record, "discipline", Discipline))


of_discipline = chosen_by_type(_hook, checked=is_own)
"""Calls, in place of a hook, that of the discipline whose record is the last argument."""
moved = of_discipline(Discipline.moved)


def wrong_review_time(discipline: Discipline, time: object, now: float) -> SimulationError:
    """Returns the error of a discipline whose ``review_time`` would let time stand still."""
    return SimulationError(
        f"{type(discipline).__name__}.review_time returned {shown(time)} when it was {now!r} s: it must be a time in s "
        f"later than that, or inf for never"
    )


def check_priorities(discipline: Discipline, priority: IntArray) -> None:
    """Refuses priorities, (count,), outside of the ``num_priorities`` of a discipline that has some."""
    most = discipline.num_priorities
    wrong = priority[(priority < 0) | (priority >= most)]
    if most and len(wrong):
        raise SimulationError(
            f"{type(discipline).__name__} has set priority {wrong[0]}: with num_priorities {most} it must be 0 to "
            f"{most - 1}; with num_priorities 0, any is allowed"
        )


def check_discipline(
    discipline: Discipline,
    transport: Transport,
    asks: DecisionKind,
    period: Period | None,
    *,
    paths_stay: bool,
    has_tokens: bool,
) -> None:
    """Checks that a discipline, the senders and what an agent is asked fit each other.

    Where ``paths_stay``, flows keep their paths, and links stay up.

    Raises:
        ConfigError: Both the discipline and the senders steer flows, or packets can be lost on paths that change; flows
            with tokens change their paths; an order is asked for, and the discipline does not take one; or there is a
            period that nobody is asked after, or none where one is needed.
    """
    name = type(discipline).__name__
    if transport.losses is not None and not (discipline.shares_equally and paths_stay):
        raise ConfigError(
            f"transport has losses: senders share links by their windows, along paths that stay; "
            f"{name}{'' if paths_stay else ' with a routing'} cannot serve them, Ps can"
        )
    if discipline.stops_flows and transport.has_window:
        raise ConfigError(
            f"transport has initial_window {transport.initial_window:g}: senders with windows stop flows, and "
            f"{name} does so with these parameters; use transport 'ideal'"
        )
    if has_tokens and not paths_stay:
        raise ConfigError("num_tokens is given: flows with tokens keep their paths, and their links stay up")
    if asks is DecisionKind.ORDER and type(discipline).serve_first is Discipline.serve_first:
        raise ConfigError(f"asks is ORDER: the discipline must be Ranked, it is {name}")
    if (asks is DecisionKind.PERIOD) != (period is not None):
        raise ConfigError(f"asks is {asks.name} and period is {period}: PERIOD needs one, and nothing else has one")
