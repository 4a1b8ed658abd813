"""Makes flows of what others recorded: flow records of nfdump and Zeek, and packet captures.

Records say when something began, who sent to whom, and how many bytes. Hosts are numbered in the order of their
addresses, times count from the first record, and what was guessed or left out is told. Files may be gzipped. The
formats have their readers in ``imports/``.
"""

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.checks import check_choice, check_integer
from flowsched_gym.core.errors import FlowFileError
from flowsched_gym.core.files import open_to_read
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.flow_file import write_table
from flowsched_gym.workload.imports.captures import SILENCE, read_pcap
from flowsched_gym.workload.imports.nfdump import read_nfdump
from flowsched_gym.workload.imports.records import EPOCH, Record, Told
from flowsched_gym.workload.imports.zeek import read_zeek

MOST_POINTS: Final = 1000
"""Points of a CDF file at most."""
MOST_DAYS: Final = 366
"""Days from the first flow to the last at most: clocks that were not set say 1970."""
SECONDS_PER_DAY: Final = 86_400
NO_BYTES: Final = "without bytes"
SAME_HOST: Final = "from a host to itself"


class Imported(NamedTuple):
    """Flows that were made of records.

    Attributes:
        workload: The flows, by their arrival; the first one arrives at 0 s.
        addresses: Address of each host; where hosts were given, several addresses share one, in turns.
        begin: Unix time of the first flow in s.
        left_out: How many flows were left out, by the reason.
        guessed: What was guessed, in sentences.
    """

    workload: Workload
    addresses: tuple[str, ...]
    begin: float
    left_out: Mapping[str, int]
    guessed: tuple[str, ...]


def import_flows(path: str | PathLike[str], *, format: str, num_hosts: int | None = None) -> Imported:
    """Reads records of flows, or packets, as the flows of a workload.

    Args:
        path: The file.
        format: ``nfdump``, ``zeek`` or ``pcap``.
        num_hosts: Hosts of the network that the flows are for, at least 2: the address of index i becomes host i modulo
            this number. ``None``: a host for each address.

    Raises:
        ConfigError: There is no such format, or the number of hosts is not allowed.
        FlowFileError: The file cannot be read, something in it is not allowed, or it has no flow; the message names
            file, line (or packet), column and value.
        MissingDependencyError: The file has packets and dpkt is not installed.
    """
    reader, guessed = FORMATS[check_choice("format", format, FORMATS)]
    if num_hosts is not None:
        check_integer("num_hosts", num_hosts, at_least=2)
    told = Told(guessed=list(guessed))
    with open_to_read(path, "records", f"a file of {format}", FlowFileError) as file:
        records = list(reader(file, told))
    kept = [each for each in records if float(each.size) > 0]
    told.left_out[NO_BYTES] += len(records) - len(kept)
    addresses = sorted({host for each in kept for host in (each.source, each.destination)}, key=_address_order)
    number = {address: index % (num_hosts or len(addresses)) for index, address in enumerate(addresses)}
    flows = [each for each in kept if number[each.source] != number[each.destination]]
    told.left_out[SAME_HOST] += len(kept) - len(flows)
    left_out = {reason: count for reason, count in told.left_out.items() if count}
    if not flows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise FlowFileError(
            f"{path} has no flow: of {len(records)} records none has bytes from one host to another; left out: "
            f"{reasons or 'nothing'}"
        )
    flows.sort(key=lambda each: each.time)
    first, last = flows[0], flows[-1]
    if last.time - first.time > MOST_DAYS * SECONDS_PER_DAY:
        raise FlowFileError(
            f"{path}: flows from {_date(first)} to {_date(last)}: they must begin within {MOST_DAYS} days"
        )
    begin = first.time
    workload = Workload(
        flow_id=np.arange(len(flows)),
        source=np.array([number[each.source] for each in flows]),
        destination=np.array([number[each.destination] for each in flows]),
        size=np.array([float(each.size) for each in flows]),
        arrival_time=np.array([float(each.time - begin) for each in flows]),
    )
    return Imported(workload, tuple(addresses), float(begin), left_out, tuple(told.guessed))


def write_sizes(workload: Workload, path: str | PathLike[str]) -> None:
    """Writes how large flows are as a CDF file, whose points are at most ``MOST_POINTS`` of their sizes."""
    size, count = np.unique(workload.size, return_counts=True)
    share = np.cumsum(count) / workload.num_flows
    points = np.unique(np.linspace(0, len(size) - 1, min(len(size), MOST_POINTS)).astype(np.int64))
    write_table(path, {"size_bytes": (size[points], None), "cdf": (share[points], None)})


def _address_order(address: str) -> tuple[int, int, str]:
    """Orders addresses: of IPv4, of IPv6, and whatever else stands for a host."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return (10, 0, address)
    return (parsed.version, int(parsed), "")


def _date(record: Record) -> str:
    return f"{EPOCH + timedelta(seconds=float(record.time)):%Y-%m-%d %H:%M:%S} ({record.place})"


FORMATS: Final[Mapping[str, tuple[Callable[[Path, Told], Iterator[Record]], tuple[str, ...]]]] = {
    "nfdump": (
        read_nfdump,
        (
            "a record goes from its source to its destination; its out bytes, if any, are a flow back",
            "sizes are bytes of IP packets, headers included; 1.2 M counts as 1,200,000 (nfdump -N prints all digits)",
        ),
    ),
    "zeek": (
        read_zeek,
        (
            "of a connection, the originator's bytes are a flow to the responder, the responder's a flow back",
            "sizes are bytes of payload; both flows begin with the connection",
        ),
    ),
    "pcap": (
        read_pcap,
        (
            f"each direction of two addresses and ports is a flow, a new one after {SILENCE} s of silence",
            "sizes are bytes of payload by the headers, with those sent again; a flow begins with its earliest packet",
        ),
    ),
}
"""Readers of the formats, and what they take for granted."""
