"""Writes trees of equal switches, such as the package's leaf-spine and fat-tree, as htsim's ``.topo`` files."""

from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, NANOSECONDS_PER_SECOND
from flowsched_gym.topology.ends import ends_of_links
from flowsched_gym.topology.htsim import SPEED, TIERS, read_htsim_network
from flowsched_gym.topology.own import read_network
from flowsched_gym.topology.topology import Topology


def write_htsim_network(topology: Topology, path: str | PathLike[str]) -> None:
    """Writes a topology, from which ``read_network`` reads the same paths, links and values; whole or not at all.

    Raises:
        ConfigError: It is no such tree, or a speed is not whole Gbps, or a delay not whole ns > 0.
        OSError: The file cannot be written.
    """
    refusal = ConfigError(
        f"topology {topology.name} is none of htsim's: it must have two or three tiers of equal switches, 1, 2, ... "
        "times as many Gbps down as up, and links of whole Gbps and of whole ns > 0"
    )
    if not topology.num_hosts:
        raise refusal
    with replace_when_written(path) as temporary:
        temporary.write_text(_text(topology), encoding="utf-8", newline="\n")
        try:
            read = read_network(read_htsim_network(Path(temporary), []))
        except ConfigError:
            raise refusal from None
        if not _are_equal(topology, read.topology(capacity=1.0, delay=0.0)):
            raise refusal


def _text(topology: Topology) -> str:
    """Describes the switches above host 0, tier by tier, as if all others were alike."""
    begins, ends = (each.tolist() for each in ends_of_links(topology))
    out: dict[int, list[int]] = {}
    for link, node in enumerate(begins):
        out.setdefault(node, []).append(link)
    tiers: list[dict[str, int]] = []
    below, above = (
        set(range(topology.num_hosts)),
        {ends[link] for host in range(topology.num_hosts) for link in out[host]},
    )
    up = out[0]
    while up and len(tiers) < TIERS[1]:
        node = ends[up[0]]
        down = [link for link in out[node] if ends[link] in below]
        tier = {SPEED: round(topology.capacity[up[0]] / BYTES_PER_SECOND_PER_GBPS)}
        tier |= {"Downlink_Latency_ns": round(topology.delay[up[0]] * NANOSECONDS_PER_SECOND), "Radix_Down": len(down)}
        tiers.append({**tier, "Bundle": [ends[link] for link in up].count(node)})
        up = [link for link in out[node] if ends[link] not in below]
        if up:
            tiers[-1]["Radix_Up"] = len(up)
        below, above = above, {ends[link] for each in above for link in out.get(each, ())} - below
    pod = topology.num_hosts
    if len(tiers) == TIERS[1]:
        pod = tiers[0]["Radix_Down"] * tiers[1]["Radix_Down"] // tiers[1]["Bundle"]
    for tier, over in pairwise(tiers):
        lift = max(tier["Radix_Up"] * over[SPEED], 1)
        tier["Oversubscribed"] = max(tier["Radix_Down"] * tier[SPEED] // lift, 1)
    lines = [f"Nodes {topology.num_hosts}", f"Tiers {len(tiers)}", f"Podsize {pod}"]
    for index, tier in enumerate(tiers):
        lines += [f"Tier {index}", *(f"{name} {value}" for name, value in tier.items())]
    return "\n".join(lines) + "\n"


def _are_equal(first: Topology, second: Topology) -> bool:
    """Returns whether all paths are the same: for each link of the one they take one of the other, of equal values."""
    if not all(np.array_equal(getattr(first, name), getattr(second, name)) for name in ("pair_start", "path_start")):
        return False
    one, other = np.unique(np.stack([first.path_links, second.path_links]), axis=1)
    alike = (first.capacity[one] == second.capacity[other]) & (first.delay[one] == second.delay[other])
    return bool(len(np.unique(one)) == len(np.unique(other)) == len(one) and alike.all())
