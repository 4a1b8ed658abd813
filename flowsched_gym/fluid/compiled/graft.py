"""Lets networks with other flows to come go on from where a network is."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.compiled.snapshot import RECORDS, blocks_of, forget_shares, shift
from flowsched_gym.fluid.compiled.tables import Tables

Blocks = dict[str, npt.NDArray[Any]]

OF_NETWORKS: Final = ("num_flows", "in_order", "num_destinations")
"""What a network has of its own, whatever has happened."""
TOKENS: Final = ("networks", "destinations", "requests", "holders")
"""Tables in which destinations stand."""
OF_DESTINATIONS: Final = ("tokens", "num_holders", "held")
"""What a destination has of what has happened."""


def graft(tables: Tables, source: int, numbers: IntArray, rows: slice) -> None:
    """Lets networks at time 0 go on from where another one is, with flows to come of their own.

    Args:
        tables: The tables.
        source: The other network.
        numbers: The networks, (count,). Their first flows are those that have arrived in the other one, row by row.
        rows: Rows of the flows that have arrived and not been delivered, and of others between them.
    """
    forget_shares(tables, numbers)
    views = blocks_of(tables)
    large = {name for name in views if name in RECORDS or name.startswith("routes.")}
    places = views["flows"]["destination_index"][numbers, rows]
    for name in large:
        views[name][numbers, rows] = views[name][source, rows]
    views["flows"]["destination_index"][numbers, rows] = places
    sources = np.full(len(numbers), source)
    fresh, blocks = ({name: views[name][which] for name in views.keys() - large} for which in (numbers, sources))
    shift(tables, fresh, numbers, -1)
    shift(tables, blocks, sources, -1)
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
            _graft_destinations(own, loaded, totals)
    for place, number in enumerate(numbers.tolist()):
        _foresee_request(tables, blocks["networks"][place], blocks["order"][place], views["flows"][number])
    shift(tables, blocks, numbers, 1)
    for name, block in blocks.items():
        views[name][numbers] = block


def _graft_destinations(blocks: Blocks, fresh: Blocks, totals: list[int]) -> None:
    """Moves queues and tokens of a network to the destinations that it has now.

    Args:
        blocks: The network, with the destinations of the other one.
        fresh: What was loaded into it.
        totals: Flows of each destination of the other one.
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
