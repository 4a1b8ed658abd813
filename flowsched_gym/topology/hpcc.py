"""Networks as HPCC's ns-3 has them, in ``topology.txt``: reads them, and writes any topology.

The first line counts nodes, switches and links; PowerTCP's also counts racks, before the links. The second line has the
switches; all other nodes are hosts. Each link has a line: its two ends, rate, delay and error rate, such as ``0 4
100Gbps 1000ns 0``, and both directions. Lines after the last link explain the file.
"""

import re
import warnings
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, shown
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.units import BITS_PER_BYTE
from flowsched_gym.topology.ends import UNUSED, ends_of_links, there_and_back
from flowsched_gym.topology.topology import Topology

PREFIXES: Final = {"": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12}
RATE: Final = re.compile(r"(\d+\.?\d{0,30}|\.\d{1,30})(?:([KkMGT]?)(bps|b/s|Bps|B/s))?", re.ASCII)
DELAY: Final = re.compile(r"(\d+\.?\d{0,30}|\.\d{1,30})(s|ms|us|ns|ps)", re.ASCII)
DELAY_DIGITS: Final = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12}
SHARE: Final = re.compile(r"0?\.\d{1,30}|[01]\.?|[01]\.\d{1,30}|\d(\.\d{1,30})?[eE]-\d{1,3}", re.ASCII)
COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
LINK_WORDS: Final = 5
COUNTS: Final = {3: ("nodes", "switches", "links"), 4: ("nodes", "switches", "racks", "links")}


class NetworkFileWarning(FlowSchedWarning):
    """Something of a network file is ignored, or has no place in one that is written."""


def read_hpcc_network(path: Path, told: list[str]) -> dict[str, object]:
    """Reads a file as the mapping that describes the same network (``topology.own``); hosts are called as their nodes.

    Raises:
        ConfigError: Something in the file is not allowed; the message names the line, the value and what is allowed.
    """
    lines = enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1)
    filled = ((f"{path}, line {number}", line.split()) for number, line in lines if line.strip())
    at, words = next(filled, (str(path), []))
    if len(words) not in COUNTS:
        raise ConfigError(
            f"{at} is {shown(' '.join(words))}: it must be the numbers of nodes, switches and links, or of nodes, "
            "switches, racks and links"
        )
    numbers = [_number(word, name, at) for word, name in zip(words, COUNTS[len(words)], strict=True)]
    nodes, num_switches, num_links = numbers[0], numbers[1], numbers[-1]
    switches: set[str] = set()
    while len(switches) < num_switches:
        at, words = next(filled, (at, []))
        found = {str(_number(word, "switch", at, nodes)) for word in words}
        if not words or len(found) != len(words) or found & switches or len(found | switches) > num_switches:
            count = f"{len(found | switches)} different ones up to here"
            raise ConfigError(f"{at} must have the switches, {num_switches} of them, each once: {count}")
        switches |= found
    links: list[dict[str, object]] = []
    lossy = plain = 0
    for _ in range(num_links):
        at, words = next(filled, (at, []))
        if not words:
            raise ConfigError(f"{path} ends after {len(links)} links: it must have {num_links}, as its first line says")
        if len(words) != LINK_WORDS:
            allowed = "a link: two nodes, rate, delay and error rate"
            raise ConfigError(f"{at} is {shown(' '.join(words))}: it must be {allowed}")
        ends = [str(_number(word, "node", at, nodes)) for word in words[:2]]
        rate, delay = RATE.fullmatch(words[2]), DELAY.fullmatch(words[3])
        if rate is None or not float(rate[1]):
            raise ConfigError(f"{at}: the rate is {shown(words[2])}: it must be > 0, such as 100Gbps or 400Mbps")
        if delay is None:
            raise ConfigError(f"{at}: the delay is {shown(words[3])}: it must be a time such as 1000ns or 0.001ms")
        if SHARE.fullmatch(words[4]) is None or float(words[4]) > 1:
            raise ConfigError(f"{at}: the error rate is {shown(words[4])}: it must be a share from 0 to 1")
        lossy += float(words[4]) > 0
        plain += rate[3] is None
        bits = Decimal(rate[1]).scaleb(PREFIXES[rate[2] or ""])
        capacity = float(bits if rate[3] and rate[3].startswith("B") else bits / BITS_PER_BYTE)
        seconds = float(Decimal(delay[1]).scaleb(DELAY_DIGITS[delay[2]]))
        links.append({"ends": ends, "capacity": capacity, "delay": seconds})
    hosts = [str(node) for node in range(nodes) if str(node) not in switches]
    told += [f"ignored: error rates of {lossy} link{'s' * (lossy > 1)}: links here lose nothing"] * (lossy > 0)
    told += [f"guessed: rates without a unit ({plain}) are in bit/s, as in ns-3"] * (plain > 0)
    if hosts and hosts[-1] != str(len(hosts) - 1):
        told.append("hosts have other numbers than their nodes: import flows with --topology and this file")
    if rest := len(list(filled)):
        told.append(f"ignored: {rest} line{'s' * (rest > 1)} after the last link")
    return {"hosts": hosts, "links": links}


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


def _number(word: str, what: str, at: str, below: int = 1_000_000) -> int:
    if COUNT.fullmatch(word) and int(word) < below:
        return int(word)
    raise ConfigError(f"{at}: {what} is {shown(word)}: it must be a whole number from 0 to {below - 1}")


def _plain(number: Decimal) -> str:
    """Writes a number without an exponent, which old versions of ns-3 do not read."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
