"""Networks as HPCC's ns-3 has them, in ``topology.txt``.

The first line counts nodes, switches and links; PowerTCP's also counts racks, before the links. The second line has the
switches; all other nodes are hosts. Each link has a line: its two ends, rate, delay and error rate, such as ``0 4
100Gbps 1000ns 0``, and both directions. Lines after the last link explain the file.
"""

import re
from decimal import Decimal
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.units import BITS_PER_BYTE

PREFIXES: Final = {"": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12}
RATE: Final = re.compile(r"(\d+\.?\d{0,30}|\.\d{1,30})(?:([KkMGT]?)(bps|b/s|Bps|B/s))?", re.ASCII)
DELAY: Final = re.compile(r"(\d+\.?\d{0,30}|\.\d{1,30})(s|ms|us|ns|ps)", re.ASCII)
DELAY_DIGITS: Final = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12}
SHARE: Final = re.compile(r"0?\.\d{1,30}|[01]\.?|[01]\.\d{1,30}|\d(\.\d{1,30})?[eE]-\d{1,3}", re.ASCII)
COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
LINK_WORDS: Final = 5
COUNTS: Final = {3: ("nodes", "switches", "links"), 4: ("nodes", "switches", "racks", "links")}


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


def _number(word: str, what: str, at: str, below: int = 1_000_000) -> int:
    if COUNT.fullmatch(word) and int(word) < below:
        return int(word)
    raise ConfigError(f"{at}: {what} is {shown(word)}: it must be a whole number from 0 to {below - 1}")
