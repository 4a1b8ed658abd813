"""Writes networks for packet simulators: ``topology.txt`` of HPCC's ns-3, ``.topo`` files of htsim.

``topology.hpcc`` and ``topology.htsim`` describe both; htsim's are trees of equal switches, such as the package's
leaf-spine and fat-tree.
"""

import warnings
from decimal import Decimal
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.units import BITS_PER_BYTE, BYTES_PER_SECOND_PER_GBPS, NANOSECONDS_PER_SECOND
from flowsched_gym.topology.ends import UNUSED, ends_of_links, there_and_back
from flowsched_gym.topology.htsim import SPEED, TIERS, read_htsim_network
from flowsched_gym.topology.own import NetworkFileWarning, read_network
from flowsched_gym.topology.topology import Topology


def write_hpcc_network(topology: Topology, path: str | PathLike[str]) -> None:
    """Writes a topology; host i is node i, switches follow. Whole or not at all.

    Raises:
        ConfigError: It has no hosts of its own, or a link without one back of the same capacity and delay.
        OSError: The file cannot be written.

    Warns:
        NetworkFileWarning: Links that no path takes are left out, or values are finer than 1 bit/s or 1 ns.
    """
    if not topology.num_hosts:
        raise ConfigError(f"topology {topology.name} has no hosts of its own: one with hosts and switches is needed")
    begins, ends = ends_of_links(topology)
    used, coarse = np.flatnonzero(begins != UNUSED).tolist(), False
    values = [(topology.capacity[link], topology.delay[link]) for link in used]
    pairs, alone = there_and_back(
        ((begins[link], value), (ends[link], value)) for link, value in zip(used, values, strict=True)
    )
    if alone:
        name = topology.link_names[used[alone[0]]]
        raise ConfigError(
            f"topology {topology.name}: link {name} has no link back with its capacity and delay: each must have"
        )
    lines = []
    for link in sorted(used[there] for there, _ in pairs):
        bits = Decimal(repr(float(topology.capacity[link]))) * BITS_PER_BYTE
        nanoseconds = Decimal(repr(float(topology.delay[link]))).scaleb(9)
        coarse |= bits != bits.to_integral_value() or nanoseconds != nanoseconds.to_integral_value()
        rate = f"{_plain(bits.scaleb(-9))}Gbps" if bits.scaleb(-9) % 1 == 0 else f"{_plain(bits)}bps"
        lines.append(f"{begins[link]} {ends[link]} {rate} {_plain(nanoseconds)}ns 0\n")
    nodes = 1 + int(max(begins.max(), ends.max()))
    switches = " ".join(str(node) for node in range(topology.num_hosts, nodes))
    lost = [f"{topology.num_links - len(used)} links that no path takes are left out"] * (
        len(used) < topology.num_links
    )
    lost += ["ns-3 rounds rates to bit/s and delays to ns"] * coarse
    if lost:
        warnings.warn(NetworkFileWarning(f"network for HPCC: {'; '.join(lost)}"), stacklevel=2)
    with replace_when_written(path) as temporary:
        head = f"{nodes} {nodes - topology.num_hosts} {len(lines)}\n{switches}\n"
        temporary.write_text(head + "".join(lines), encoding="utf-8", newline="\n")


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


def _plain(number: Decimal) -> str:
    """Writes a number without an exponent, which old versions of ns-3 do not read."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
