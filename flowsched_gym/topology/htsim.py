"""Networks as htsim has them, in ``.topo`` files: trees of two or three tiers of equal switches.

A file begins with ``Nodes``, ``Tiers`` and ``Podsize``: the hosts of all and of a pod. After each ``Tier i``, from 0,
the switches of hosts, on, stand their ports, ``Radix_Down`` and ``Radix_Up``, speed and latency of the links down, the
number of parallel links between two switches (``Bundle``), ``Switch_Latency_ns``, ``Oversubscribed``, which follows
from the others, and sizes of queues. ``#`` begins a comment.

Switches are called as in htsim: ``LS0``, ... of tier 0, ``US0``, ... of tier 1, ``CS0``, ... of tier 2. Upper switch j
of each pod has links to the core switches j, j + A, j + 2 A, ..., where A is the number of upper switches of a pod.
"""

import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, NANOSECONDS_PER_SECOND
from flowsched_gym.topology.shortest import MOST_HOSTS

HEAD: Final = ("Nodes", "Tiers", "Podsize")
SPEED, LATENCY = "Downlink_speed_Gbps", "Downlink_Latency_ns"
OF_TIER: Final = (SPEED, LATENCY, "Radix_Down", "Radix_Up")
OPTIONAL: Final = {"Oversubscribed": 0, "Bundle": 1, "Switch_Latency_ns": 0}
READ: Final = {name.lower(): name for name in (*HEAD, *OF_TIER, *OPTIONAL)}
COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
TIERS: Final = (2, 3)
MOST_LINKS: Final = 1_000_000
Tier = dict[str, int]


def read_htsim_network(path: Path, told: list[str]) -> dict[str, object]:
    """Reads a file as the mapping that describes the same network (``topology.own``); host i is called i.

    Raises:
        ConfigError: Something in the file is not allowed, or the numbers of a tier do not fit those of another.
    """
    (nodes, count, pod), tiers = _parsed(path, told)
    _check(path, nodes, pod, tiers)
    lower, upper = tiers[:2]
    num_links = nodes + nodes // lower["Radix_Down"] * lower["Radix_Up"] * (1 + upper.get("Radix_Up", 0))
    if nodes > MOST_HOSTS or num_links > MOST_LINKS:
        allowed = f"at most {MOST_HOSTS} and {MOST_LINKS} are allowed"
        raise ConfigError(f"{path}: Nodes is {nodes}, {num_links} links: {allowed}")
    tors, uppers = pod // lower["Radix_Down"], lower["Radix_Up"] // upper["Bundle"]
    joined = [(0, f"{host}", f"LS{host // lower['Radix_Down']}") for host in range(nodes)]
    for switch in range(nodes // lower["Radix_Down"]):
        for other in range(uppers):
            joined += [(1, f"LS{switch}", f"US{switch // tors * uppers + other}")] * upper["Bundle"]
    for switch in range(nodes // pod * uppers if count == TIERS[1] else 0):
        for step in range(upper["Radix_Up"] // tiers[2]["Bundle"]):
            joined += [(2, f"US{switch}", f"CS{switch % uppers + uppers * step}")] * tiers[2]["Bundle"]
    capacity = [tier[SPEED] * BYTES_PER_SECOND_PER_GBPS for tier in tiers]
    # A path crosses each switch from one link to another: half of its latency belongs to each.
    halves = [0.0, *(tier["Switch_Latency_ns"] / 2 for tier in tiers)]
    whole = "guessed: half of a switch's latency is delay of each link beside it, so that those of paths are whole"
    told += [whole] * any(halves)
    latency = [tier[LATENCY] + below + above for tier, (below, above) in zip(tiers, pairwise(halves), strict=True)]
    delay = [nanoseconds / NANOSECONDS_PER_SECOND for nanoseconds in latency]
    links = [{"ends": [*ends], "capacity": capacity[tier], "delay": delay[tier]} for tier, *ends in joined]
    return {"hosts": [str(host) for host in range(nodes)], "links": links}


def _parsed(path: Path, told: list[str]) -> tuple[list[int], list[Tier]]:
    """Reads the numbers of the head and of each tier by their names, and refuses a file that lacks one."""
    parts: dict[int | None, Tier] = {None: {}}
    here, ignored = None, dict[str, None]()
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        words, at = line.partition("#")[0].split(), f"{path}, line {number}"
        if not words:
            continue
        name = READ.get(words[0].lower(), words[0])
        if len(words) != 2 or not COUNT.fullmatch(words[1]):
            raise ConfigError(f"{at} is {shown(line.strip())}: it must be a name and a whole number")
        value = int(words[1])
        if name.lower() == "tier":
            if value not in range(TIERS[1]) or value in parts:
                raise ConfigError(f"{at}: Tier is {value}: it must be 0, 1 or 2, each once")
            here, parts[value] = value, {}
        elif name in parts[here]:
            raise ConfigError(f"{at}: {name} is given twice")
        elif (name in HEAD) != (here is None):
            raise ConfigError(f"{at}: {name}: before the first Tier must be {', '.join(HEAD)}, and nothing else")
        elif name not in READ.values():
            ignored[name] = None
        parts[here][name] = value
    told += [f"ignored: {', '.join(ignored)} (read are {', '.join(READ.values())})"] * bool(ignored)
    head = [parts[None].get(name, 0) for name in HEAD]
    for name, value in zip(HEAD, head, strict=True):
        if not value:
            raise ConfigError(f"{path} has no {name}, or 0: a .topo file of htsim must have {', '.join(HEAD)}")
    if head[1] not in TIERS:
        raise ConfigError(f"{path}: Tiers is {head[1]}: it must be 2 or 3")
    tiers = [{**OPTIONAL, **parts.get(index, {})} for index in range(head[1])]
    for index, tier in enumerate(tiers):
        for name in OF_TIER[: 4 - (tier is tiers[-1])]:
            if not tier.get(name):
                raise ConfigError(f"{path}: tier {index} has no {name}, or 0: it must be > 0")
    return head, tiers


def _check(path: Path, nodes: int, pod: int, tiers: list[Tier]) -> None:
    """Refuses numbers that do not fit: they must be multiples of others, or equal."""
    multiples = {"Nodes": (nodes, pod), "Podsize": (pod, tiers[0]["Radix_Down"])}
    equal: dict[str, tuple[int, float]] = {"Bundle of tier 0": (tiers[0]["Bundle"], 1)}
    if len(tiers) < TIERS[1]:
        equal["Podsize, with two tiers,"] = pod, nodes
    below = pod // tiers[0]["Radix_Down"], nodes // pod
    for index, (tier, above) in enumerate(pairwise(tiers)):
        multiples[f"Radix_Up of tier {index}"] = tier["Radix_Up"], above["Bundle"]
        equal[f"Radix_Down of tier {index + 1}"] = above["Radix_Down"], below[index] * above["Bundle"]
        down, up = (tier[name] * at[SPEED] for name, at in (("Radix_Down", tier), ("Radix_Up", above)))
        if given := tier["Oversubscribed"]:
            equal[f"Oversubscribed of tier {index}"] = given, down // up if down % up == 0 else down / up
    for what, (value, divisor) in multiples.items():
        if not divisor or value % divisor:
            raise ConfigError(f"{path}: {what} is {value}: it must be a multiple of {divisor}, by the other numbers")
    for what, (value, needed) in equal.items():
        if value != needed:
            raise ConfigError(f"{path}: {what} is {value}: it must be {needed}, by the other numbers of the file")
