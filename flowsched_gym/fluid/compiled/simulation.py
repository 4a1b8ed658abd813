"""Simulates many networks at once, in several threads: the compiled counterpart of ``fluid.simpy.Simulation``."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.periods import Period
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.flows.decisions import RULES_BEYOND_END, DecisionKind, Environments, Order, Results
from flowsched_gym.flows.fields import OF_TASK, Fields, fill_flow_fields
from flowsched_gym.flows.hashing import flow_keys
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid.compiled.loading import load, open_paths, open_stages, set_order
from flowsched_gym.fluid.compiled.loop import run_many
from flowsched_gym.fluid.compiled.orders import give_one
from flowsched_gym.fluid.compiled.snapshot import blocks_of, branch, copy, put, take
from flowsched_gym.fluid.compiled.stepping import play, step
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables, new_tables
from flowsched_gym.fluid.compiled.threads import Result, Threads
from flowsched_gym.fluid.contract import Discipline, check_discipline, check_priorities, is_own, wrong_review_time
from flowsched_gym.fluid.isolation import ideal_times
from flowsched_gym.fluid.rules.transport.lossy_senders import begin_senders
from flowsched_gym.fluid.rules.transport.senders import wire_volume
from flowsched_gym.fluid.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.machine_code.decorators import compiled_for, compiles
from flowsched_gym.topology import Routing, Topology
from flowsched_gym.workload import Workload

ALL: Final = 2**62
"""More flows than there are."""
GO_ON: Final = int(Order.GO_ON)
IDEAL: Final = TRANSPORTS[TransportName.IDEAL]


class BatchSimulation:
    """Simulates networks of one kind, each with flows of its own, event for event as ``Simulation`` simulates one.

    ``CompiledSimulation`` shows one of them, and takes what an agent decides in it. Arguments that ``Simulation`` has
    too mean the same; without a routing, links stay up, and ``PATH`` needs one. A workload with more flows,
    destinations or changes of links than there is room for makes room.

    Args:
        num_rows: Flows that a network can have for now, >= 1.
        transport: How a flow sends.
        most_destinations: Hosts of a network that can receive flows for now, >= 1.
        barrier: When a flow whose CPU work is done may send; ``None`` where flows have no stages before they send.
        num_changes: Changes of links that a network can have for now.
        log_length: Events of each network to keep.
        flow_fields: What a system keeps of a flow besides, as names and types.
        episode_fields: What it keeps of an episode, likewise.
        rate_caps: Whether ``tables.flows["rate_cap"]`` may be set, a largest rate of each flow.

    Attributes:
        tables: The arrays that compiled code works on.
    """

    def __init__(
        self,
        num_networks: int,
        num_rows: int,
        topology: Topology,
        discipline: Discipline,
        *,
        transport: Transport = IDEAL,
        num_tokens: int | None = None,
        most_destinations: int = 1,
        routing: Routing | None = None,
        asks: DecisionKind = DecisionKind.NOTHING,
        period: Period | None = None,
        barrier: Barrier | None = None,
        num_changes: int = 0,
        seed: int = 0,
        log_length: int = 0,
        flow_fields: Fields = (),
        episode_fields: Fields = (),
        rate_caps: bool = False,
        num_threads: int = 1,
    ) -> None:
        if not compiles():
            raise ConfigError(
                "NUMBA_DISABLE_JIT is set: vector environments and engine 'compiled' are machine code alone; "
                "unset it, or use single environments and engine 'simpy'"
            )
        has_tokens = num_tokens is not None
        check_discipline(discipline, transport, asks, period, paths_stay=routing is None, has_tokens=has_tokens)
        self.num_networks = num_networks
        self.topology = topology
        self.transport = transport
        self.discipline = discipline
        if asks is DecisionKind.PATH and routing is None:
            raise ConfigError("asks is PATH: a routing is needed for flows whose paths fail")
        self._num_tokens = num_tokens
        self._barrier = barrier
        self._seed = seed
        self._field_names = tuple(field[0] for field in flow_fields)
        self._new_tables = partial(
            new_tables,
            num_networks=num_networks,
            topology=topology,
            discipline=discipline,
            transport=transport,
            num_tokens=num_tokens,
            routing=routing,
            asks=asks,
            period=period,
            has_stages=barrier is not None,
            log_length=log_length,
            flow_fields=flow_fields,
            episode_fields=episode_fields,
            rate_caps=rate_caps,
        )
        self.tables: Tables
        self._step: Callable[..., tuple[int, int]] | None = None
        self._finished: IntArray = np.zeros(0, dtype=np.int64)
        self._threads = Threads(num_threads)
        self._make_room(num_rows, most_destinations, num_changes, 0)

    @property
    def episodes(self) -> npt.NDArray[Any]:
        """What the environment keeps of each episode, (num_networks,)."""
        return self.tables.episodes

    def columns(self, number: int) -> npt.NDArray[Any]:
        """Views the columns of the flows of a network, (num_flows,)."""
        first = number * self.num_rows
        return self.tables.flows[first : first + self.tables.networks["num_flows"].item(number)]

    @property
    def most_finished(self) -> int:
        """Flows of a network that can finish in one step."""
        return self.tables.most_active

    @property
    def num_rows(self) -> int:
        """Flows that a network can have."""
        return self.tables.num_rows

    def grow(self, num_rows: int, most_destinations: int = 1, num_changes: int = 0, num_pairs: int = 0) -> None:
        """Makes room for more flows, destinations, changes of links and pairs in each network; what is there stays."""
        tables = self.tables
        most_changes = 0 if tables.choosing is None else tables.choosing.most_changes
        most_pairs = 0 if tables.stages is None else tables.stages.most_pairs
        room = tables.num_rows, tables.most_destinations, most_changes, most_pairs
        needed = tuple(map(max, room, (num_rows, most_destinations, num_changes, num_pairs)))
        if needed == room:
            return
        everything = self.take(np.arange(self.num_networks))
        self._make_room(*needed)
        put(self.tables, np.arange(self.num_networks), everything)

    def take(self, numbers: IntArray) -> Snapshot:
        """Copies networks, (count,)."""
        return take(self.tables, numbers)

    def put(self, numbers: IntArray, snapshot: Snapshot) -> None:
        """Sets networks, (count,), to what a snapshot holds; refuses one whose networks are laid out in another way."""
        snapshot.check_fits(blocks_of(self.tables))
        self.grow(*snapshot.room)
        put(self.tables, numbers, snapshot)

    def copy(self, sources: IntArray, numbers: IntArray, *, with_delivered: bool = False) -> None:
        """Lets networks, (count,), go on as others, (count,), will.

        No number stands twice among ``numbers``, and none that is a source. Records of flows delivered before are
        copied on demand only.
        """
        given = np.unique(sources)
        first = 0 if with_delivered else self._first_active(given)
        copy(self.tables, sources, numbers, slice(first, int(self.tables.networks["num_flows"][given].max())))

    def branch(self, source: int, numbers: IntArray, num_arrived: int, *, with_delivered: bool = False) -> None:
        """Lets networks, (count,), that have been loaded go on from where another one is, with flows to come of theirs.

        Their first ``num_arrived`` flows are those that have arrived in the other one, row by row; see ``copy``.
        """
        first = 0 if with_delivered else self._first_active(np.array([source]))
        branch(self.tables, source, numbers, slice(first, num_arrived))

    def _first_active(self, numbers: IntArray) -> int:
        """Returns the first row, counted from that of each network, of a flow not delivered in all, or of its task."""
        flows = self.tables.flows.reshape(self.num_networks, -1)
        rows = np.flatnonzero(np.isnan(flows["completion_time"][numbers]).any(axis=0))
        if OF_TASK[0] in (flows.dtype.names or ()):
            rows = (rows + flows[OF_TASK[0]][np.ix_(numbers, rows)]).ravel()
        return int(rows.min(initial=flows.shape[1]))

    def load(self, number: int, workload: Workload) -> None:
        """Puts the flows of a workload into a network, at time 0.

        Raises:
            WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
            ConfigError: Links change, and there is no routing.
        """
        self.discipline.check_flows(workload.num_flows)
        path = self._path(workload)
        volume = self._volume(workload)
        self.topology.check_times(path, volume, workload.arrival_time)
        self.grow(
            workload.num_flows,
            int(np.count_nonzero(np.bincount(workload.destination))) if self._num_tokens is not None else 1,
            0 if workload.link_changes is None else len(workload.link_changes.time),
            0 if workload.after is None else workload.after.num_pairs,
        )
        assert workload.deadline_span is not None
        size, arrival_time, deadline_span = workload.size, workload.arrival_time, workload.deadline_span
        in_order = load(
            self.tables, number, workload.num_flows, size, arrival_time, deadline_span, path, workload.destination
        )
        if not in_order:
            self.sort_requests(number, workload)
        columns = self.tables.flows[number * self.num_rows :][: workload.num_flows]
        fill_flow_fields(columns, self._field_names, workload, lambda: self._ideal_fct(workload, volume))
        self.tables.episodes[number] = 0
        self.discipline.begin_network(number, number * self.num_rows, workload)
        if self.tables.senders is not None and self.transport.losses is not None:
            begin_senders(number, flow_keys(workload, self.transport.losses.seed), self.tables.senders)
        open_stages(self.tables, number, workload, self.topology, self.transport, self._barrier, path, volume)
        open_paths(self.tables, number, workload, self.topology, self._seed)

    def sort_requests(self, number: int, workload: Workload) -> None:
        """Lets the requests of a network arrive in the order of their times."""
        times = workload.arrival_time
        if self._num_tokens is not None:
            times = times + self.topology.path_delay(self._path(workload))
        set_order(self.tables, number, np.argsort(times, kind="stable"))

    def step(self, environments: Environments, actions: npt.NDArray[Any], results: Results) -> tuple[IntArray, int]:
        """Steps environments; see ``stepping.step``. Without any, machine code is found alone.

        Returns the rows of the flows that finished, and how many of these environments are over.
        """
        most = self.most_finished
        if self._step is None:
            # For good, so that it is looked up once and not in every step.
            self._step = compiled_for(step, self.tables, *environments, actions, results)
        code, numbers = self._step, environments.numbers
        if len(numbers) == 1 and len(results.finished) >= most:  # as in a single environment, whose steps are short
            try:
                num_finished, num_over = code(self.tables, *environments, actions, results)
            except (IndexError, SimulationError) as error:
                raise self._explained(error) from None
            return results.finished[:num_finished], num_over
        if len(self._finished) < len(environments.over) * most:
            self._finished = np.zeros(len(environments.over) * most, dtype=np.int64)

        def work(tables: Tables, part: IntArray) -> tuple[IntArray, int]:
            own = results._replace(finished=self._finished[part[0] * most :])
            num_finished, num_over = code(tables, *environments._replace(numbers=part), actions, own)
            return own.finished[:num_finished], num_over

        parts = self.share_out(work, numbers) if len(numbers) else []
        rows = [np.zeros(0, dtype=np.int64), *(rows for rows, _ in parts)]
        return np.concatenate(rows), sum(num_over for _, num_over in parts)

    def play(
        self,
        environments: Environments,
        policy: Any,
        weights: FloatArray,
        scratch_size: int,
        actions: npt.NDArray[Any],
        results: Results,
    ) -> int:
        """Plays environments to their ends; see ``stepping.play``. Returns the number of decisions."""
        room = actions.reshape(len(actions), -1)

        def work(tables: Tables, part: IntArray) -> int:
            own = environments._replace(numbers=part)
            return play(tables, *own, policy, weights, np.zeros(scratch_size), room, actions, results)

        return sum(self.share_out(work, environments.numbers))

    def run(self, *numbers: int) -> None:
        """Runs networks, each until a decision is asked or all flows are delivered."""
        self.share_out(lambda tables, part: run_many(tables, part, ALL), np.array(numbers, dtype=np.int64))

    def share_out(self, work: Callable[[Tables, IntArray], Result], numbers: IntArray) -> list[Result]:
        """Lets each thread do a part of the work; see ``Threads.share_out``.

        Raises a ``SimulationError`` if the discipline's ``review_time`` returns a time that is not later than now, or
        a discipline of a user's own sets a priority outside of its ``num_priorities``.
        """
        try:
            return self._threads.share_out(work, numbers)
        except (IndexError, SimulationError) as error:
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> Exception:
        """Returns an error that says what is wrong with a user's own code: machine code names no values."""
        if isinstance(error, IndexError):
            hooks = f"a hook of {type(self.discipline).__name__}, or " if is_own(self.discipline.record) else ""
            return IndexError(hooks + RULES_BEYOND_END)
        networks = self.tables.networks
        for wrong in networks[~(networks["wake"] > networks["now"]) & (networks["num_active"] > 0)]:
            return wrong_review_time(self.discipline, wrong["wake"].item(), wrong["now"].item())
        check_priorities(self.discipline, self.tables.flows["priority"])
        return error

    def run_until(self, number: int, num_delivered: int) -> None:
        """Runs a network until a decision is asked, or so many of its flows, at most all, are delivered."""
        self.share_out(lambda tables, part: run_many(tables, part, num_delivered), np.array([number]))

    def now(self, number: int) -> float:
        """Returns the time of a network in s."""
        return float(self.tables.networks["now"][number])

    def finished(self, number: int) -> bool:
        """Returns whether every flow of a network has been delivered."""
        network = self.tables.networks[number]
        return bool(network["delivered"] == network["num_flows"])

    def num_delivered(self, number: int) -> int:
        """Returns how many flows of a network have been delivered."""
        return int(self.tables.networks["delivered"][number])

    def awaits_decision(self, number: int) -> bool:
        """Returns whether a network waits until an agent decides."""
        return bool(self.tables.networks["asking"][number] != NOBODY)

    def go_on(self, number: int) -> None:
        """Begins a period of a network that waits for it, with the controls as they have been set."""
        give_one(self.tables, number, GO_ON, 0)

    def num_periods(self, number: int) -> int:
        """Returns how many periods of a network have begun, after which an agent is asked; none where it is not."""
        choosing = self.tables.choosing
        return 0 if choosing is None else int(choosing.choices["periods"][number])

    def records(self, number: int, workload: Workload) -> Records:
        """Returns what has become of every flow of a network, those of the workload, so far."""
        return self.complete_records(workload, *self.outcomes(number))

    def outcomes(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Returns when the flows of a network were granted and delivered, in s, (num_flows,) each; NaN for not yet."""
        flows = self.columns(number)
        return flows["grant_time"].copy(), flows["completion_time"].copy()

    def complete_records(self, workload: Workload, grant_time: FloatArray, completion_time: FloatArray) -> Records:
        """Builds the records of flows from what was measured, (num_flows,) each, NaN where it has not happened."""
        ideal_fct = self._ideal_fct(workload, self._volume(workload))
        return complete_records(workload, grant_time=grant_time, completion_time=completion_time, ideal_fct=ideal_fct)

    def _volume(self, workload: Workload) -> FloatArray:
        volume = np.empty(workload.num_flows)
        wire_volume(workload.size, self.transport.segment, self.transport.header, volume)
        return volume

    def _ideal_fct(self, workload: Workload, volume: FloatArray) -> FloatArray:
        needs_token = self._num_tokens is not None
        return ideal_times(self.topology, workload, volume, self.transport, needs_token=needs_token)

    def _make_room(self, num_rows: int, most_destinations: int, most_changes: int, most_pairs: int) -> None:
        self.tables = self._new_tables(
            num_rows=num_rows, most_destinations=most_destinations, most_changes=most_changes, most_pairs=most_pairs
        )
        self._threads.begin(self.tables)

    def _path(self, workload: Workload) -> IntArray:
        return self.topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=self._seed)
