"""Makes flows of what others recorded, flow records of nfdump and Zeek and packet captures, or of what they simulate.

Records say when something began, who sent to whom, and how many bytes. Hosts are numbered in the order of their
addresses, times count from the first record, and what was guessed or left out is told. Flows of simulators (HPCC,
htsim) and coflows keep the numbers of their hosts and their times. Files may be gzipped. The formats have their readers
in ``imports/``.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.checks import check_choice, check_integer
from flowsched_gym.core.errors import ConfigError, FlowFileError, shown
from flowsched_gym.core.files import open_to_read
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.coflows import read_coflows
from flowsched_gym.workload.flow_file import write_table
from flowsched_gym.workload.imports.captures import PCAP, PCAPNG, SILENCE, read_pcap
from flowsched_gym.workload.imports.logs import ROLES, read_nfdump, read_zeek
from flowsched_gym.workload.imports.records import EPOCH, Record, Told, opened, text_lines
from flowsched_gym.workload.imports.simulators import read_cm, read_hpcc

MOST_POINTS: Final = 1000
"""Points of a CDF file at most."""
MOST_DAYS: Final = 366
"""Days from the first flow to the last at most: clocks that were not set say 1970."""
SECONDS_PER_DAY: Final = 86_400
COFLOW: Final = "coflow"
SHOWN_HOSTS: Final = 8
"""Hosts of a network that a message lists."""
NO_BYTES: Final = "without bytes"
SAME_HOST: Final = "from a host to itself"


class Imported(NamedTuple):
    """Flows that were made of records.

    Attributes:
        workload: The flows, by their arrival; of records the first one arrives at 0 s.
        addresses: Address of each host, or its number in the file; where a number of hosts was given, several share
            one, in turns.
        begin: Unix time of the first flow in s; None where times are those of the file.
        left_out: How many flows were left out, by the reason.
        guessed: What was guessed, in sentences.
    """

    workload: Workload
    addresses: tuple[str, ...]
    begin: float | None
    left_out: Mapping[str, int]
    guessed: tuple[str, ...]


class _Format(NamedTuple):
    """How a format is read: its reader, what that takes for granted, and whether hosts are numbers and times final."""

    reader: Callable[[Path, Told], Iterator[Record]]
    guessed: tuple[str, ...]
    numbered: bool = False


def import_flows(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    num_hosts: int | None = None,
    hosts: Sequence[str] | None = None,
) -> Imported:
    """Reads flows that others recorded or simulate as the flows of a workload.

    Args:
        path: The file.
        format: ``nfdump``, ``zeek``, ``pcap``, ``hpcc`` (``flow.txt``), ``htsim`` (``.cm``) or ``coflow`` (the coflow
            benchmark); ``None``: recognised by how the file begins.
        num_hosts: Hosts of the network that the flows are for, at least 2: the address of index i becomes host i modulo
            this number. ``None``: a host for each address.
        hosts: Addresses, or numbers in the file, of the hosts of the network, in their order (``OwnNetwork.hosts``).
            ``None``: in the order of the addresses.

    Raises:
        ConfigError: There is no such format, the number of hosts is not allowed, or hosts are given beside it.
        FlowFileError: The file cannot be read, something in it is not allowed, it has no flow, or a host that is not
            among those given; the message names file, line (or packet), column and value.
        MissingDependencyError: The file has packets and dpkt is not installed.
    """
    told = Told()
    if format is not None:
        check_choice("format", format, (*FORMATS, COFLOW))
    if num_hosts is not None:
        check_integer("num_hosts", num_hosts, at_least=2)
        if hosts is not None:
            raise ConfigError(f"num_hosts is {num_hosts} and hosts are given: one of them is allowed")
    with open_to_read(path, "records", f"a file of {format or 'flows'}", FlowFileError) as file:
        if format is None:
            format = _recognised(file)
            told.guess(f"the format is {format}")
        numbered = format == COFLOW or FORMATS[format].numbered
        if format == COFLOW:
            records, tasks = _coflow_records(file, told)
        else:
            told.guessed.extend(FORMATS[format].guessed)
            records, tasks = list(FORMATS[format].reader(file, told)), None
    kept = [each for each in records if float(each.size) > 0]
    told.left_out[NO_BYTES] += len(records) - len(kept)
    found = sorted({host for each in kept for host in (each.source, each.destination)}, key=_address_order)
    addresses = found if hosts is None else list(hosts)
    if numbered and hosts is None:
        addresses = [str(number) for number in range(1 + max(map(int, found), default=-1))]
    number = {address: index % (num_hosts or len(addresses)) for index, address in enumerate(addresses)}
    for each in kept:
        for host in (each.source, each.destination):
            if host not in number:
                known = ", ".join(addresses[:SHOWN_HOSTS])
                raise FlowFileError(f"{path}, {each.place}: host {shown(host)}: it must be one of the network: {known}")
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
    if not numbered and last.time - first.time > MOST_DAYS * SECONDS_PER_DAY:
        raise FlowFileError(
            f"{path}: flows from {_date(first)} to {_date(last)}: they must begin within {MOST_DAYS} days"
        )
    begin = Decimal(0) if numbered else first.time
    workload = Workload(
        flow_id=np.arange(len(flows)),
        source=np.array([number[each.source] for each in flows]),
        destination=np.array([number[each.destination] for each in flows]),
        size=np.array([float(each.size) for each in flows]),
        arrival_time=np.array([float(each.time if numbered else each.time - begin) for each in flows]),
        task_id=None if tasks is None else np.array([tasks[each.place] for each in flows]),
    )
    return Imported(workload, tuple(addresses), None if numbered else float(begin), left_out, tuple(told.guessed))


def write_sizes(workload: Workload, path: str | PathLike[str]) -> None:
    """Writes how large flows are as a CDF file, whose points are at most ``MOST_POINTS`` of their sizes."""
    size, count = np.unique(workload.size, return_counts=True)
    share = np.cumsum(count) / workload.num_flows
    if len(size) == 1:  # a CDF has two points
        size, share = np.repeat(size, 2), np.array([0.0, 1.0])
    points = np.unique(np.linspace(0, len(size) - 1, min(len(size), MOST_POINTS)).astype(np.int64))
    write_table(path, {"size_bytes": (size[points], None), "cdf": (share[points], None)})


def _recognised(path: Path) -> str:
    """Returns the format of a file by how it begins."""
    with opened(path) as file:
        if file.read(len(PCAPNG)) in (*PCAP, PCAPNG):
            return "pcap"
    first = ""
    for first in text_lines(path, "a file of flows, or a packet capture"):
        for name, beginning in BEGINNINGS.items():
            if beginning.match(first):
                return name
        if first.strip() and not first.startswith("#"):
            break
    if not first.strip():
        raise FlowFileError(f"{path} is empty: it must have flows")
    raise FlowFileError(
        f"{path} begins with {shown(first[:40])}, by which no format is recognised: it must be one of "
        f"{', '.join((*FORMATS, COFLOW))}; give the format"
    )


def _coflow_records(path: Path, told: Told) -> tuple[list[Record], dict[str, int]]:
    """Reads coflows as records, and the coflow of each by the place of its record."""
    workload = read_coflows(path)
    assert workload.task_id is not None
    told.guessed.extend(
        (
            "a mapper sends an equal part of its reducer's bytes; reducers of 0 MB have no flow",
            "1 MB is 2**20 B, and 1,024 ms are 1 s; racks send as hosts 0, 1, ... and receive as the hosts after these",
        )
    )
    columns = workload.arrival_time, workload.source, workload.destination, workload.size, workload.task_id
    records, tasks = [], {}
    for index, (arrival, source, target, size, task) in enumerate(zip(*map(np.ndarray.tolist, columns), strict=True)):
        place = f"flow {index}"
        tasks[place] = task
        records.append(Record(Decimal(arrival), str(source), str(target), Decimal(size), place))
    return records, tasks


def _address_order(address: str) -> tuple[int, int, str]:
    """Orders addresses: of IPv4, of IPv6, and whatever else stands for a host."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return (10, 0, address)
    return (parsed.version, int(parsed), "")


def _date(record: Record) -> str:
    return f"{EPOCH + timedelta(seconds=float(record.time)):%Y-%m-%d %H:%M:%S} ({record.place})"


FORMATS: Final[Mapping[str, _Format]] = {
    "nfdump": _Format(
        read_nfdump,
        (
            "a record goes from its source to its destination; its out bytes, if any, are a flow back",
            "sizes are bytes of IP packets, headers included; 1.2 M counts as 1,200,000 (nfdump -N prints all digits)",
        ),
    ),
    "zeek": _Format(
        read_zeek,
        (
            "of a connection, the originator's bytes are a flow to the responder, the responder's a flow back",
            "sizes are bytes of payload; both flows begin with the connection",
        ),
    ),
    "pcap": _Format(
        read_pcap,
        (
            f"each direction of two addresses and ports is a flow, a new one after {SILENCE} s of silence",
            "sizes are bytes of payload by the headers, with those sent again; a flow begins with its earliest packet",
        ),
    ),
    "hpcc": _Format(read_hpcc, ("hosts are numbers of nodes, and starts are in s",), numbered=True),
    "htsim": _Format(read_cm, ("hosts are numbers of nodes, and starts are in ps",), numbered=True),
}
"""The formats of records; coflows have a reader of their own."""
BEGINNINGS: Final = {
    "zeek": re.compile(r"#separator|#fields|\s*[{\[]"),
    "htsim": re.compile(r"Nodes\s+\d"),
    "hpcc": re.compile(r"\s*\d+\s*$"),
    COFLOW: re.compile(r"\s*\d+\s+\d+\s*$|\s*\d+ [\d.]+ \d+ .*:"),
    "nfdump": re.compile("|".join(rf"\s*{name}|.*,{name}\b" for names in ROLES.values() for name in names)),
}
"""What the first line of a format begins with."""
