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
SPEED: Final = "Downlink_speed_Gbps"
OF_TIER: Final = (SPEED, "Downlink_Latency_ns", "Radix_Down", "Radix_Up")
OPTIONAL: Final = {"Oversubscribed": 0, "Bundle": 1, "Switch_Latency_ns": 0}
IGNORED: Final = ("Queue_Up", "Queue_Down")
READ: Final = (*HEAD, *OF_TIER, *OPTIONAL)
KNOWN: Final = {name.lower(): name for name in (*READ, *IGNORED)}
COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
TIERS: Final = (2, 3)
MOST_LINKS: Final = 1_000_000

Tier = dict[str, int]


def read_htsim_network(path: Path, told: list[str]) -> dict[str, object]:
    """Reads a file as the mapping that describes the same network (``topology.own``); host i is called i.

    Raises:
        ConfigError: Something in the file is not allowed, or the numbers of a tier do not fit those of another.
    """
    head, tiers = _parsed(path, told)
    for name in HEAD:
        if not head.get(name):
            raise ConfigError(f"{path} has no {name}, or 0: a .topo file of htsim must have {', '.join(HEAD)}")
    nodes, count, pod = (head[name] for name in HEAD)
    if count not in TIERS:
        raise ConfigError(f"{path}: Tiers is {count}: it must be 2 or 3")
    for index in range(count):
        for name in OF_TIER[: 4 - (index == count - 1)]:
            if not tiers.get(index, {}).get(name):
                raise ConfigError(f"{path}: tier {index} has no {name}, or 0: it must be > 0")
        tiers[index] = {**OPTIONAL, **tiers[index]}
    _check(path, nodes, pod, [tiers[index] for index in range(count)])
    lower, upper = tiers[0], tiers[1]
    num_links = nodes + nodes // lower["Radix_Down"] * lower["Radix_Up"] * (1 + upper.get("Radix_Up", 0))
    if nodes > MOST_HOSTS or num_links > MOST_LINKS:
        raise ConfigError(
            f"{path}: Nodes is {nodes}, {num_links} links: at most {MOST_HOSTS} and {MOST_LINKS} are allowed"
        )
    tors, uppers = pod // lower["Radix_Down"], lower["Radix_Up"] // upper["Bundle"]
    joined = [(0, f"{host}", f"LS{host // lower['Radix_Down']}") for host in range(nodes)]
    for switch in range(nodes // lower["Radix_Down"]):
        for other in range(uppers):
            joined += [(1, f"LS{switch}", f"US{switch // tors * uppers + other}")] * upper["Bundle"]
    if count == TIERS[1]:
        for switch in range(nodes // pod * uppers):
            for step in range(upper["Radix_Up"] // tiers[2]["Bundle"]):
                joined += [(2, f"US{switch}", f"CS{switch % uppers + uppers * step}")] * tiers[2]["Bundle"]
    links = []
    for tier, first, second in joined:
        # A path crosses each switch from one link to another: half of its latency belongs to each.
        halves = tiers[tier]["Switch_Latency_ns"] + (tiers[tier - 1]["Switch_Latency_ns"] if tier else 0)
        delay = (tiers[tier]["Downlink_Latency_ns"] + halves / 2) / NANOSECONDS_PER_SECOND
        links.append(
            {"ends": [first, second], "capacity": tiers[tier][SPEED] * BYTES_PER_SECOND_PER_GBPS, "delay": delay}
        )
    if any(tier["Switch_Latency_ns"] for tier in tiers.values()):
        told.append(
            "guessed: half of a switch's latency is delay of each link beside it, so that those of paths are whole"
        )
    return {"hosts": [str(host) for host in range(nodes)], "links": links}


def _parsed(path: Path, told: list[str]) -> tuple[Tier, dict[int, Tier]]:
    """Reads the numbers of the head and of each tier by their names."""
    head: Tier = {}
    tiers: dict[int, Tier] = {}
    here, ignored = head, dict[str, None]()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error.reason}") from None
    for number, line in enumerate(lines, start=1):
        words, at = line.partition("#")[0].split(), f"{path}, line {number}"
        if not words:
            continue
        name = KNOWN.get(words[0].lower(), words[0])
        if len(words) != 2 or not COUNT.fullmatch(words[1]):
            raise ConfigError(f"{at} is {shown(line.strip())}: it must be a name and a whole number")
        value = int(words[1])
        if name.lower() == "tier":
            if value not in range(TIERS[1]) or value in tiers:
                raise ConfigError(f"{at}: Tier is {value}: it must be 0, 1 or 2, each once")
            here = tiers[value] = {}
        elif name in here:
            raise ConfigError(f"{at}: {name} is given twice")
        elif (name in HEAD) != (here is head):
            raise ConfigError(
                f"{at}: {name}: before the first Tier there must be {', '.join(HEAD)} alone, and not behind"
            )
        elif name in IGNORED or name not in KNOWN.values():
            ignored[name] = None
        here[name] = value
    if ignored:
        told.append(f"ignored: {', '.join(ignored)} (read are {', '.join(READ)})")
    return head, tiers


def _check(path: Path, nodes: int, pod: int, tiers: list[Tier]) -> None:
    """Refuses numbers that do not fit: they must be multiples of others, or equal."""
    lower, upper, core = tiers[0], tiers[1], tiers[2:]
    multiples = {"Nodes": (nodes, pod), "Podsize": (pod, lower["Radix_Down"])}
    multiples["Radix_Up of tier 0"] = lower["Radix_Up"], upper["Bundle"]
    equal: dict[str, tuple[int, float]] = {"Bundle of tier 0": (lower["Bundle"], 1)}
    equal["Radix_Down of tier 1"] = upper["Radix_Down"], pod // lower["Radix_Down"] * upper["Bundle"]
    if core:
        multiples["Radix_Up of tier 1"] = upper["Radix_Up"], core[0]["Bundle"]
        equal["Radix_Down of tier 2"] = core[0]["Radix_Down"], nodes // pod * core[0]["Bundle"]
    else:
        equal["Podsize, with two tiers,"] = pod, nodes
    for index, (tier, above) in enumerate(pairwise(tiers)):
        down, up = (tier[name] * at[SPEED] for name, at in (("Radix_Down", tier), ("Radix_Up", above)))
        if given := tier["Oversubscribed"]:
            equal[f"Oversubscribed of tier {index}"] = given, down // up if down % up == 0 else down / up
    for what, (value, divisor) in multiples.items():
        if not divisor or value % divisor:
            raise ConfigError(f"{path}: {what} is {value}: it must be a multiple of {divisor}, by the other numbers")
    for what, (value, needed) in equal.items():
        if value != needed:
            raise ConfigError(f"{path}: {what} is {value}: it must be {needed}, by the other numbers of the file")
