"""Takes networks out of the tables, and puts them back: there, elsewhere, or into larger tables.

A network can also go on from where another one is, with other flows to come.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.snapshot import Snapshot
from flowsched_gym.flows.stages import Stages
from flowsched_gym.fluid.compiled.records import ROW
from flowsched_gym.fluid.compiled.tables import Tables
from flowsched_gym.fluid.contract import Discipline

Array = npt.NDArray[Any]
Blocks = dict[str, Array]

ROWS: Final = ("order", "requests", "holders", "active", "served", "delivered")
"""What consists of rows."""
BLOCKS: Final = (*ROWS, "networks", "episodes", "destinations", "timers", "flows", "windows", "log")
"""Tables that belong to networks."""
CHOICES: Final = ("choices", "asked", "changes")
"""What belongs to networks of that which choices are made from, beside the routes."""
SHIFTED: Final = {*ROWS, "networks", "destinations", "timers", "choosing.asked", "choosing.choices"}
"""What counts rows and indices from those of a network, beside the followers of ``stages``."""
STAGES: Final = tuple(name for name in Stages._fields if name not in {"num_rows", "most_pairs"})
"""What is kept of stages, all of it counted from a network's first flow but ``first_follower``."""
RECORDS: Final = ("flows", "windows", "senders.flows")
"""What is large, and touched only as long as a flow has not been delivered."""
OF_STAGES: Final = ("stages.stage", "stages.waits_for", "stages.working")
"""Columns of stages that change in an episode."""
SENDERS: Final = ("flows", "ports", "steps", "salts")
"""What belongs to networks of senders whose packets can be lost, all of it counted from a network's first flow."""
ONE_EACH: Final = ("networks", "episodes", "choosing.choices", "senders.steps", "senders.salts")
"""What has one entry for each network, beside what the discipline keeps once; all else has several."""
OF_NETWORKS: Final = ("num_flows", "in_order", "num_destinations")
"""What a network has of its own, whatever has happened."""
TOKENS: Final = ("networks", "destinations", "requests", "holders")
"""Tables in which destinations stand."""
OF_DESTINATIONS: Final = ("tokens", "num_holders", "held")
"""What a destination has of what has happened."""


def take(tables: Tables, numbers: IntArray) -> Snapshot:
    """Copies networks, (count,)."""
    blocks = {name: block[numbers] for name, block in blocks_of(tables).items()}
    _shift(tables, blocks, numbers, -1)
    return Snapshot(blocks)


def put(tables: Tables, numbers: IntArray, snapshot: Snapshot) -> None:
    """Sets networks, (count,), no number twice, to those of a snapshot, which need no more room than there is."""
    _forget_shares(tables, numbers)
    shifted = SHIFTED | {"stages.first_follower"}
    blocks = {name: block.copy() if name in shifted else block for name, block in snapshot.blocks.items()}
    _shift(tables, blocks, numbers, 1)
    for name, block in blocks_of(tables).items():
        given = blocks[name]
        if given.ndim == 1:
            block[numbers] = given
        else:
            block[numbers, : given.shape[1]] = given


def copy(tables: Tables, sources: IntArray, numbers: IntArray, rows: slice) -> None:
    """Sets networks to what others are, without the records of old flows, which no event touches any more.

    See ``BatchSimulation.copy``; ``rows``, counted from the first of each network, have all flows not delivered yet.
    """
    _forget_shares(tables, numbers)
    views = blocks_of(tables)
    parts = {name: block[:, rows] if name in RECORDS else block for name, block in views.items()}
    blocks = {name: part[sources] for name, part in parts.items()}
    _shift(tables, blocks, sources, -1)
    _shift(tables, blocks, numbers, 1)
    for name, part in parts.items():
        part[numbers] = blocks[name]


def branch(tables: Tables, source: int, numbers: IntArray, rows: slice) -> None:
    """Lets networks at time 0 go on from where another one is, with flows to come of their own.

    See ``BatchSimulation.branch``; ``rows`` are those of the flows that have arrived and not been delivered, and of
    others between them.
    """
    _forget_shares(tables, numbers)
    views = {name: block for name, block in blocks_of(tables).items() if not _is_loaded(name)}
    large = {name for name in views if name in RECORDS or name in OF_STAGES or name.startswith("routes.")}
    places = views["flows"]["destination_index"][numbers, rows]
    for name in large:
        views[name][numbers, rows] = views[name][source, rows]
    views["flows"]["destination_index"][numbers, rows] = places
    sources = np.full(len(numbers), source)
    fresh, blocks = ({name: views[name][which] for name in views.keys() - large} for which in (numbers, sources))
    _shift(tables, fresh, numbers, -1)
    _shift(tables, blocks, sources, -1)
    blocks["order"] = fresh["order"]
    for name in OF_NETWORKS:
        blocks["networks"][name] = fresh["networks"][name]
    if "choosing.changes" in fresh:
        blocks["choosing.changes"] = fresh["choosing.changes"]
        blocks["choosing.choices"]["num_changes"] = fresh["choosing.choices"]["num_changes"]
    if "senders.salts" in fresh:  # luck to come is another one, as flows to come are
        blocks["senders.salts"] = 1 + numbers.astype(np.uint64)
    if tables.num_tokens > 0:
        flows = views["flows"][source, : views["networks"]["num_flows"][source]]
        totals = np.bincount(flows["destination_index"]).tolist()
        for place in range(len(numbers)):
            own, loaded = ({name: part[name][place] for name in TOKENS} for part in (blocks, fresh))
            _branch_destinations(own, loaded, totals)
    for place, number in enumerate(numbers.tolist()):
        _foresee_request(tables, blocks["networks"][place], blocks["order"][place], views["flows"][number])
    _shift(tables, blocks, numbers, 1)
    for name, block in blocks.items():
        views[name][numbers] = block


def _is_loaded(name: str) -> bool:
    """Returns whether loading flows alone sets this, and nothing that happens changes it."""
    return name.startswith("stages.") and name not in OF_STAGES


def _forget_shares(tables: Tables, numbers: IntArray) -> None:
    if tables.cache is not None:
        tables.cache.networks["known"][numbers] = False
        for name in ("level", "at"):
            tables.cache.flows[name].reshape(len(tables.networks), -1)[numbers] = 0


def blocks_of(tables: Tables) -> Blocks:
    """Views what belongs to networks with a leading axis over these."""
    count = len(tables.networks)
    arrays = {name: getattr(tables, name) for name in BLOCKS}
    record, choosing = tables.record, tables.choosing
    discipline: type[Discipline] = record.discipline
    arrays |= {f"record.{name}": getattr(record, name) for name in (*discipline.kept, *discipline.kept_once)}
    if tables.stages is not None:
        arrays |= {f"stages.{name}": getattr(tables.stages, name) for name in STAGES}
    if tables.senders is not None:
        arrays |= {f"senders.{name}": getattr(tables.senders, name) for name in SENDERS}
    if choosing is not None:
        arrays |= {f"choosing.{name}": getattr(choosing, name) for name in CHOICES}
        if choosing.chooser is not None:
            arrays |= {"capacity": tables.capacity, "data_capacity": tables.data_capacity}
        arrays |= {f"routes.{name}": column for name, column in choosing.routes._asdict().items()}
    one_each = {*ONE_EACH, *(f"record.{name}" for name in discipline.kept_once)}
    return {
        name: array if name in one_each else array.reshape(count, len(array) // count, *array.shape[1:])
        for name, array in arrays.items()
    }


def _shift(tables: Tables, blocks: Blocks, numbers: IntArray, sign: int) -> None:
    """Moves rows and indices from those of a network to those of all, or back; unused entries may wrap around."""
    networks, destinations = blocks["networks"], blocks["destinations"]
    rows = (sign * numbers * tables.num_rows)[:, np.newaxis]
    indices = sign * numbers * tables.most_active
    for name in ROWS:
        blocks[name] += rows.astype(ROW)
    blocks["timers"]["row"] += rows.astype(ROW)
    for name in ("timer_head", "timer_tail"):
        networks[name] += indices
    destinations["first_holder"] += indices[:, np.newaxis]
    for name in ("queue", "head", "tail", "queue_end"):
        destinations[name] += 2 * rows
    if "choosing.asked" in blocks:
        blocks["choosing.asked"] += rows.astype(ROW)
        for name in ("first_asked", "last_asked"):
            blocks["choosing.choices"][name] += rows[:, 0]
    if "stages.first_follower" in blocks:
        assert tables.stages is not None
        blocks["stages.first_follower"] += (sign * numbers * tables.stages.most_pairs)[:, np.newaxis]


def _branch_destinations(blocks: Blocks, fresh: Blocks, totals: list[int]) -> None:
    """Moves queues and tokens of a network, ``blocks``, to the destinations that were loaded into it, ``fresh``.

    ``totals`` are the flows of each destination that it had.
    """
    network = blocks["networks"]
    was = {name: block.copy() for name, block in blocks.items()}
    blocks["destinations"][:] = fresh["destinations"]
    hosts = blocks["destinations"]["host"][: network["num_destinations"]].tolist()
    for index, total in enumerate(totals):
        old = was["destinations"][index]
        if old["host"] not in hosts:  # nobody has asked it, and nobody will
            continue
        place = hosts.index(old["host"])
        new = blocks["destinations"][place : place + 1]
        new["expected"] -= total - old["expected"]
        for name in OF_DESTINATIONS:
            new[name] = old[name]
        waiting = was["requests"][old["head"] : old["tail"]]
        new["head"], new["tail"] = new["queue"], new["queue"] + len(waiting)
        blocks["requests"][new["head"].item() : new["tail"].item()] = waiting
        holding = was["holders"][old["first_holder"] : old["first_holder"] + old["num_holders"]]
        blocks["holders"][new["first_holder"].item() :][: len(holding)] = holding
        for name in ("asking", "last_asking"):
            if was["networks"][name] == index:
                network[name] = place


def _foresee_request(tables: Tables, network: Any, order: IntArray, flows: npt.NDArray[Any]) -> None:
    """Notes when the next request of a network arrives."""
    network["request_time"] = np.inf
    if network["arrived"] < network["num_flows"]:
        flow = flows[network["arrived"] if network["in_order"] else order[network["arrived"]]]
        delay = tables.paths["delay"][flow["path"]] if tables.num_tokens > 0 else 0.0
        network["request_time"] = flow["arrival_time"] + delay
