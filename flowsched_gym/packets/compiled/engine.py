"""Packets in the compiled engine, equal bit for bit to ``packets.simpy``, and faster.

Beside replays it runs many networks, whose agents act once per period, or grant tokens.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.snapshot import Snapshot, like, pack, shapes_in
from flowsched_gym.core.threads import Pool
from flowsched_gym.flows.decisions import NOBODY, RULES_BEYOND_END, Environments, Results
from flowsched_gym.flows.fields import EPISODE_FIELDS, Fields, fill_flow_fields
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.state import FlowState
from flowsched_gym.flows.tokens import Requests, requests_of
from flowsched_gym.machine_code.decorators import compiled_for, compiles
from flowsched_gym.packets.compiled.asking import PERIODS, Asking
from flowsched_gym.packets.compiled.detecting import NO_SLOT, DetectingSenders
from flowsched_gym.packets.compiled.network import Network, new_network, run_network
from flowsched_gym.packets.compiled.queues import is_own
from flowsched_gym.packets.compiled.state import COMPLETED, HOPS, Tables
from flowsched_gym.packets.compiled.stepping import NETWORK, Played, decision_of, play, step
from flowsched_gym.packets.compiled.tokens import ASKING, Tokens
from flowsched_gym.packets.contract import HOOKS, Scheduler, hook_error
from flowsched_gym.packets.decision import PacketDecision, Pending, pending_of
from flowsched_gym.packets.network import PacketNetwork, too_many_underway
from flowsched_gym.packets.setup import PacketSetup
from flowsched_gym.packets.state import FlowOutcomes
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.workload import Workload

PARTS: Final = 200
"""Calls of compiled code in which a run is made: between them it tells how far it is, and can be interrupted."""
SPARE_ROWS: Final = 1024
Result = TypeVar("Result")


class Outcome(NamedTuple):
    """What became of flows, or of packets that are given.

    Attributes:
        flows: What became of each flow; ``None`` where packets are given.
        rows: The trace, (num_rows,) of ``TRACE_ROW``, if it was kept.
        hops: Transmissions that have ended.
    """

    flows: FlowOutcomes | None
    rows: npt.NDArray[Any]
    hops: int


def run_compiled(
    network: PacketNetwork, *, keep_trace: bool = False, progress: Callable[[int, int], None] | None = None
) -> Outcome:
    """Sends flows, or packets that are given, across a network of ports.

    Args:
        network: The network.
        keep_trace: Whether to keep what becomes of each packet at the first port.
        progress: Called now and then with the number of flows that are over and of all.

    Raises:
        ConfigError: A hook of the scheduler is at fault.
        SimulationError: Too many packets are on their way.
    """
    num_flows = network.flows.num_flows
    spare = 0 if network.are_given else SPARE_ROWS
    running = new_network(network, num_rows=len(network.flows.table.flow) + spare if keep_trace else 0)
    tables = running.tables
    with hook_errors(network.scheduler, tables):
        for part in range(1, PARTS + 1):
            goal = num_flows * part // PARTS
            run_network(running, goal, np.inf)
            while keep_trace and tables.rows.written[0] + tables.rows.most > len(tables.rows.trace):
                trace = np.concatenate([tables.rows.trace, np.zeros_like(tables.rows.trace)])
                tables = tables._replace(rows=tables.rows._replace(trace=trace))
                running = running._replace(tables=tables)
                run_network(running, goal, np.inf)
            if progress is not None:
                progress(int(tables.counts[COMPLETED]), num_flows)
    rows = tables.rows.trace[: tables.rows.written[0]]
    return Outcome(flow_outcomes(running.senders), rows, int(running.underway.counts[HOPS]))


def flow_outcomes(senders: Any) -> FlowOutcomes | None:
    """Returns what became of the flows of senders; ``None`` where packets are given."""
    if not isinstance(senders, DetectingSenders):
        return None
    counts = (senders.rows[name].copy() for name in ("drops", "marks", "disordered", "timeouts"))
    return FlowOutcomes(senders.completion_time, *counts)


@contextmanager
def hook_errors(scheduler: Scheduler, tables: Tables) -> Iterator[None]:
    """Turns what machine code raises where a hook or rule is at fault, or no slot, into the error that says so."""
    try:
        yield
    except IndexError:
        hook, wrong, queue = tables.ports.fault.tolist()
        if wrong == NO_SLOT:
            raise too_many_underway(len(tables.table.flow)) from None
        if not (wrong or is_own(tables.record)):
            raise IndexError(RULES_BEYOND_END) from None
        raise hook_error(scheduler, HOOKS[hook], queue if wrong else None) from None


class _Content(NamedTuple):
    """A network, and what the environment keeps of its flows, (num_flows,)."""

    network: Network
    columns: npt.NDArray[Any]


class PacketNetworks:
    """Networks with flows of their own, event for event as ``packets.simpy`` simulates one.

    The environment keeps fields of each flow, and of each episode, ``episodes``. The flows of an example show how
    networks are laid out.

    Raises:
        ConfigError: Machine code is switched off.
    """

    def __init__(
        self,
        num_networks: int,
        setup: PacketSetup,
        example: Workload,
        *,
        flow_fields: Fields,
        episode_fields: Fields,
        num_threads: int = 1,
    ) -> None:
        if not compiles():
            raise ConfigError("NUMBA_DISABLE_JIT is set: engine 'compiled' is machine code alone; use engine 'simpy'")
        self.topology = setup.topology
        self.asks = setup.asks
        self.episodes = np.zeros(num_networks, dtype=np.dtype([*episode_fields, *EPISODE_FIELDS], align=True))
        self._setup = setup
        self._example = example
        self._flow_type = np.dtype([*flow_fields], align=True)
        self._networks = np.zeros(num_networks, dtype=NETWORK)
        nothing = np.zeros(0, dtype=np.uint8)
        self._contents: dict[int, _Content] = {}
        self._packed: list[npt.NDArray[np.uint8]] = [nothing] * num_networks
        self._played = Played(self._networks, self.episodes)
        self._step: Callable[..., int] | None = None
        self._pool = Pool(num_threads) if num_threads > 1 else None

    def load(self, number: int, workload: Workload) -> None:
        """Puts the flows of a workload into a network, at time 0."""
        self._networks[number] = (workload.num_flows, False)
        self.episodes[number] = 0
        self._contents[number], self._packed[number] = pack(self._content(workload))

    def network(self, number: int) -> Network:
        """Returns what compiled code works on."""
        return self._contents[number].network

    def columns(self, number: int) -> npt.NDArray[Any]:
        """Returns what the environment keeps of the flows of a network, (num_flows,)."""
        return self._contents[number].columns

    @property
    def most_finished(self) -> int:
        """Flows of a network that can finish in one step."""
        return max(len(content.columns) for content in self._contents.values())

    def decision(self, number: int) -> PacketDecision:
        """Lays out what a network asks."""
        content = self._contents[number]
        return decision_of(content.network, content.columns, self._played, number)

    def step(self, environments: Environments, actions: npt.NDArray[Any], results: Results) -> tuple[IntArray, int]:
        """Steps environments; see ``BatchSimulation.step``."""
        rules, max_decisions, current, numbers, over = environments

        def work(e: int) -> IntArray:
            n = int(current[e])
            network, columns = self._contents[n]
            room = results
            if len(results.finished) < len(columns):
                room = results._replace(finished=np.zeros(len(columns), dtype=np.int64))
            arguments = network, columns, self._played, rules, max_decisions, n, e, over, actions, room
            self._step = self._step or compiled_for(step, *arguments)
            with hook_errors(self._setup.scheduler, network.tables):
                return room.finished[: self._step(*arguments)]

        finished = [np.zeros(0, dtype=np.int64), *self._share_out(work, numbers)]
        return np.concatenate(finished), int(np.count_nonzero(over[numbers]))

    def play(
        self,
        environments: Environments,
        policy: Any,
        weights: FloatArray,
        scratch_size: int,
        actions: npt.NDArray[Any],
        results: Results,
    ) -> int:
        """Plays environments to their ends; see ``BatchSimulation.play``."""
        rules, max_decisions, current, numbers, over = environments
        room = actions.reshape(len(actions), -1)

        def work(e: int) -> int:
            n = int(current[e])
            network, columns = self._contents[n]
            arguments = network, columns, self._played, rules, max_decisions, n, e, over
            with hook_errors(self._setup.scheduler, network.tables):
                return play(*arguments, policy, weights, np.zeros(scratch_size), room, actions, results)

        return sum(self._share_out(work, numbers))

    def _share_out(self, work: Callable[[int], Result], numbers: IntArray) -> Iterator[Result]:
        """Lets threads do the work of environments."""
        run = map if self._pool is None else self._pool.threads().map
        return iter(run(work, numbers.tolist()))

    def now(self, number: int) -> float:
        """Returns the time of a network in s."""
        return float(self.network(number).tables.clock[0])

    def num_delivered(self, number: int) -> int:
        """Returns how many flows of a network are over."""
        return int(self.network(number).tables.counts[COMPLETED])

    def finished(self, number: int) -> bool:
        """Returns whether every flow of a network is over."""
        return bool(self.num_delivered(number) == self._networks["num_flows"][number])

    def num_periods(self, number: int) -> int:
        """Returns how many periods of a network have begun."""
        asker = self.network(number).asker
        return int(asker.numbers[PERIODS]) if isinstance(asker, Asking) else 0

    def awaits_decision(self, number: int) -> bool:
        """Returns whether a network waits until an agent acts."""
        return bool(self._networks["waits"][number])

    def outcomes(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Returns when the flows of a network were let send and were delivered, in s, (num_flows,) each; NaN if not."""
        network = self.network(number)
        asker: Any = network.asker
        completion = network.senders.completion_time.copy()
        completion[completion > network.tables.clock[0]] = np.nan
        grants = isinstance(asker, Tokens)
        return (asker.grant_time if grants else asker.arrival_time).copy(), completion

    def records(self, number: int, workload: Workload) -> Records:
        """Returns what has become of every flow of a network so far."""
        return self.complete_records(workload, *self.outcomes(number))

    def complete_records(self, workload: Workload, grant_time: FloatArray, completion_time: FloatArray) -> Records:
        """Builds the records of flows from what was measured, (num_flows,) each, NaN where it has not happened."""
        return self._setup.records(workload, grant_time, completion_time)

    def take(self, numbers: IntArray) -> Snapshot:
        """Copies networks, (count,)."""
        packed = [self._packed[number] for number in numbers.tolist()]
        content = np.zeros((len(packed), max(map(len, packed))), dtype=np.uint8)
        for row, each in zip(content, packed, strict=True):
            row[: len(each)] = each
        shapes = np.array([shapes_in(self._contents[number]) for number in numbers.tolist()])
        blocks = {"networks": self._networks[numbers], "episodes": self.episodes[numbers]}
        return Snapshot({**blocks, "content": content, "shapes": shapes})

    def put(self, numbers: IntArray, snapshot: Snapshot) -> None:
        """Sets networks, (count,), to what a snapshot holds; refuses one whose networks are laid out in another way."""
        blocks = snapshot.blocks
        snapshot.check_fits({"networks": self._networks, "episodes": self.episodes})
        self._networks[numbers], self.episodes[numbers] = blocks["networks"], blocks["episodes"]
        template = next(iter(self._contents.values()), None) or self._content(self._example)
        for number, content, shapes in zip(numbers.tolist(), blocks["content"], blocks["shapes"], strict=True):
            self._contents[number], packed = pack(like(template, shapes))
            self._packed[number] = packed
            packed[:] = content[: len(packed)]

    def copy(self, sources: IntArray, numbers: IntArray, *, with_delivered: bool = False) -> None:
        """Lets networks, (count,), go on as others, (count,), will; all that there is of flows is copied."""
        self.put(numbers, self.take(sources))

    def _content(self, workload: Workload) -> _Content:
        """Lays out a network with these flows, at time 0."""
        network = self._setup.network(workload)
        columns = np.zeros(workload.num_flows, dtype=self._flow_type)
        fill_flow_fields(columns, self._flow_type.names or (), workload, network.ideal_fct)
        return _Content(new_network(network, counted=not network.topology.num_hosts), columns)


def _alone(name: str) -> Any:
    """Makes a property: what a method of ``PacketNetworks`` returns for the only network."""
    return property(lambda self: getattr(self.batch, name)(0), doc=getattr(PacketNetworks, name).__doc__)


class CompiledPackets:
    """The episode in the only network of ``PacketNetworks``, with the attributes of a ``FlowSimulation``."""

    now: float = _alone("now")
    finished: bool = _alone("finished")
    awaits_decision: bool = _alone("awaits_decision")
    num_delivered: int = _alone("num_delivered")

    def __init__(self, batch: PacketNetworks, workload: Workload) -> None:
        self.batch = batch
        self.workload = workload
        self.topology = batch.topology
        batch.load(0, workload)

    @property
    def delivery_order(self) -> IntArray:
        """Rows of the flows that are over, in that order, in its first ``num_delivered`` indices."""
        order: IntArray = self.batch.network(0).senders.order
        return order

    @property
    def delivered(self) -> list[int]:
        """The same as a list."""
        rows: list[int] = self.delivery_order[: self.num_delivered].tolist()
        return rows

    @property
    def state(self) -> FlowState:
        """What receivers have of each flow."""
        state: FlowState = self.batch.network(0).senders.state
        return state

    @property
    def path(self) -> IntArray:
        """Path of each flow, the first of those that its packets take in turns, (num_flows,)."""
        asker: Any = self.batch.network(0).asker
        path: IntArray = asker.controls.path
        return path

    @property
    def active(self) -> IntArray:
        """Rows of the flows that send or work on CPUs, or hold a token of the destination that asks, (num_active,)."""
        decision = self.batch.decision(0)
        return decision.active[decision.first_active : decision.first_active + decision.num_active]

    @property
    def links(self) -> Links:
        """Links and paths; links that have failed have no capacity."""
        asker: Any = self.batch.network(0).asker
        links: Links = asker.network
        return links

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self.batch.num_periods(0)

    @property
    def pending(self) -> Pending:
        """What waits for a decision, if anything but a token does."""
        return pending_of(self.batch.decision(0), self.batch.asks)

    @property
    def destinations(self) -> dict[int, Requests]:
        """Receiving hosts by host number; empty without tokens."""
        tokens = self.batch.network(0).asker
        if not isinstance(tokens, Tokens):
            return {}
        hosts = np.unique(self.workload.destination).tolist()
        return {host: requests_of(tokens.destinations[host], tokens.requests, tokens.holders) for host in hosts}

    @property
    def asking(self) -> Requests | None:
        """Destination that waits for a decision, if any."""
        tokens = self.batch.network(0).asker
        if not isinstance(tokens, Tokens) or tokens.numbers[ASKING] == NOBODY:
            return None
        return requests_of(tokens.destinations[tokens.numbers[ASKING]], tokens.requests, tokens.holders)

    def decision(self, flows: npt.NDArray[Any], episodes: npt.NDArray[Any]) -> PacketDecision:
        """Lays out what is asked."""
        return self.batch.decision(0)

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return self.batch.records(0, self.workload)
