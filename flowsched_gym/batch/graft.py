"""Lets networks with other flows to come go on from where a network is."""

from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.snapshot import Snapshot
from flowsched_gym.batch.tables import NOBODY, Tables

__all__ = ["graft"]

Blocks = dict[str, npt.NDArray[Any]]

OF_FLOWS = ("flows", "windows")
"""Tables with a row for each flow, beside the routes."""
OF_NETWORKS = ("num_flows", "in_order", "num_destinations")
"""What a network has of its own, whatever has happened."""
OF_DESTINATIONS = ("tokens", "num_holders", "held")
"""What a destination has of what has happened."""


def graft(tables: Tables, past: Snapshot, fresh: Snapshot, num_arrived: int) -> Snapshot:
    """Returns networks that are where another one is, with flows to come of their own.

    Args:
        tables: Tables that all of them are from.
        past: The other network, once for each.
        fresh: Networks at time 0. Their first flows are those that have arrived in the other one, row by row.
        num_arrived: How many these are.
    """
    blocks = {name: block.copy() for name, block in past.blocks.items()}
    new = fresh.blocks
    for name, block in new.items():
        if name in OF_FLOWS or name.startswith("routes."):
            blocks[name][:, num_arrived:] = block[:, num_arrived:]
    for name in OF_NETWORKS:
        blocks["networks"][name] = new["networks"][name]
    blocks["order"] = new["order"].copy()
    if "choosing.changes" in new:
        blocks["choosing.changes"] = new["choosing.changes"].copy()
        blocks["choosing.choices"]["num_changes"] = new["choosing.choices"]["num_changes"]
    for number in range(len(fresh)):
        own = {name: block[number] for name, block in blocks.items()}
        if tables.num_tokens > 0:
            own["flows"]["destination_index"] = new["flows"]["destination_index"][number]
            _graft_destinations(own, {name: block[number] for name, block in past.blocks.items()}, new, number)
        _foresee_request(tables, own)
    return Snapshot(blocks)


def _graft_destinations(own: Blocks, past: Blocks, new: Any, number: int) -> None:
    """Moves queues and tokens of a network to the destinations that it has now."""
    old = past["destinations"][: past["networks"]["num_destinations"]]
    totals = np.bincount(past["flows"]["destination_index"][: past["networks"]["num_flows"]], minlength=len(old))
    own["destinations"][:] = new["destinations"][number]
    hosts = own["destinations"]["host"][: own["networks"]["num_destinations"]].tolist()
    own["requests"][:] = 0
    own["holders"][:] = 0
    for index, total in enumerate(totals.tolist()):
        was = old[index]
        if int(was["host"]) not in hosts:  # nobody has asked it, and nobody will
            continue
        place = hosts.index(int(was["host"]))
        now = own["destinations"][place : place + 1]
        now["expected"] -= total - was["expected"]
        for name in OF_DESTINATIONS:
            now[name] = was[name]
        queue = past["requests"][was["head"] : was["tail"]]
        now["head"], now["tail"] = now["queue"], now["queue"] + len(queue)
        own["requests"][now["head"].item() : now["tail"].item()] = queue
        holders = past["holders"][was["first_holder"] : was["first_holder"] + was["num_holders"]]
        first = now["first_holder"].item()
        own["holders"][first : first + len(holders)] = holders
        for name in ("asking", "last_asking"):
            if past["networks"][name] == index != NOBODY:
                own["networks"][name] = place


def _foresee_request(tables: Tables, own: Blocks) -> None:
    """Notes when the next request of a network arrives."""
    network = own["networks"]
    network["request_time"] = np.inf
    if network["arrived"] < network["num_flows"]:
        flow = own["flows"][network["arrived"] if network["in_order"] else own["order"][network["arrived"]]]
        delay = tables.paths["delay"][flow["path"]] if tables.num_tokens > 0 else 0.0
        network["request_time"] = flow["arrival_time"] + delay
