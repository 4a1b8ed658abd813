"""Makes flows of what others recorded: flow records of nfdump and Zeek, and packet captures.

Records say when something began, who sent to whom, and how many bytes. Hosts are numbered in the order of their
addresses, times count from the first record, and what was guessed or left out is told. Formats:

``nfdump``
    ``nfdump -o csv`` of versions 1.6 and 1.7, which name their columns differently, and the text of ``-o long`` and
    ``-o line``. A record is one direction. Bytes are those of IP packets; the out bytes of ``-b`` and ``-B`` are a flow
    back.
``zeek``
    ``conn.log`` as tab-separated values with their ``#fields``, or as JSON. A record is a connection: the bytes of the
    originator are one flow, those of the responder another. Bytes are payload.
``pcap``
    pcap and pcapng, read by dpkt. Each direction of an address and port pair is a flow, a new one after 15 s of
    silence, from its first packet on. Bytes are payload of TCP and UDP, by the lengths in the headers.
"""

import csv
import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.checks import check_choice, check_integer
from flowsched_gym.core.errors import FlowFileError, MissingDependencyError, shown
from flowsched_gym.core.files import open_to_read
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.flow_file import write_table

NFDUMP_COLUMNS: Final = (
    ("firstSeen", "ts"),
    ("srcAddr", "sa"),
    ("dstAddr", "da"),
    ("bytes", "inBytes", "ibyt", "byt"),
    ("outBytes", "obyt"),
)
"""Names of the columns that are read: since version 1.7, and before; the last one need not be there."""
NFDUMP_LINE: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\s+\S+\s+\S+\s+(?P<source>\S+)\s+->\s+(?P<destination>\S+)"
    r"\s.*?(?P<bytes>\d+(?:\.\d+)?(?: [KMGT])?)\s+\d+\s*"
)
"""A line of ``-o long`` or ``-o line``; the last two numbers are the bytes and the flows."""
MULTIPLES: Final = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
ZEEK_COLUMNS: Final = ("ts", "id.orig_h", "id.resp_h", "orig_bytes", "resp_bytes")
SILENCE: Final = 15
"""Seconds without a packet after which one of the same addresses and ports begins a new flow, as nfpcapd has it."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

MOST_POINTS: Final = 1000

NO_BYTES: Final = "without bytes"
SAME_HOST: Final = "from a host to itself"


class Record(NamedTuple):
    """A flow as it was recorded: Unix time in s, addresses, and bytes."""

    time: Decimal
    source: str
    destination: str
    size: Decimal


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
            file, line, column and value.
        MissingDependencyError: The file has packets and dpkt is not installed.
    """
    reader, guessed = FORMATS[check_choice("format", format, FORMATS)]
    if num_hosts is not None:
        check_integer("num_hosts", num_hosts, at_least=2)
    left_out: Counter[str] = Counter()
    with open_to_read(path, "records", f"a file of {format}", FlowFileError) as file:
        records = list(reader(file, left_out))
    kept = [each for each in records if each.size > 0]
    left_out[NO_BYTES] += len(records) - len(kept)
    addresses = sorted({host for each in kept for host in (each.source, each.destination)}, key=_address_order)
    number = {address: index % (num_hosts or len(addresses)) for index, address in enumerate(addresses)}
    flows = [each for each in kept if number[each.source] != number[each.destination]]
    left_out[SAME_HOST] += len(kept) - len(flows)
    if not flows:
        raise FlowFileError(f"{path} has no flow: of {len(records)} records none has bytes from one host to another")
    flows.sort(key=lambda each: each.time)
    begin = flows[0].time
    workload = Workload(
        flow_id=np.arange(len(flows)),
        source=np.array([number[each.source] for each in flows]),
        destination=np.array([number[each.destination] for each in flows]),
        size=np.array([float(each.size) for each in flows]),
        arrival_time=np.array([float(each.time - begin) for each in flows]),
    )
    counts = {reason: count for reason, count in left_out.items() if count}
    return Imported(workload, tuple(addresses), float(begin), counts, guessed)


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


def _read_nfdump(path: Path, left_out: Counter[str]) -> Iterator[Record]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        first = file.readline()
        heads = [each.strip() for each in first.split(",")]
        if len(heads) > 1:
            names = [next((name for name in choices if name in heads), None) for choices in NFDUMP_COLUMNS]
            for choices, name in zip(NFDUMP_COLUMNS[:4], names[:4], strict=True):
                if name is None:
                    raise FlowFileError(f"{path}, line 1: no column {' or '.join(choices)}: it must be nfdump -o csv")
            columns = [heads.index(name) for name in names if name is not None]
            yield from _nfdump_rows(path, csv.reader(file), heads, columns)
        elif first.startswith("Date"):
            yield from _nfdump_lines(path, file)
        else:
            needed = "the header of nfdump -o csv or -o long (without -q)"
            raise FlowFileError(f"{path}, line 1: it begins with {shown(first[:40])}: it must be {needed}")


def _nfdump_rows(path: Path, rows: Any, heads: list[str], columns: list[int]) -> Iterator[Record]:
    for line, row in enumerate(rows, start=2):
        if not row or row[0].startswith(("Summary", "No match")):  # what follows are totals
            return
        if len(row) <= max(columns):
            raise FlowFileError(f"{path}, line {line}: it has {len(row)} values: the header has {len(heads)} columns")
        cells = [row[column].strip() for column in columns]
        time = _time(cells[0], f"{path}, line {line}, column {heads[columns[0]]}")
        for way, column, cell in zip((1, -1), columns[3:], cells[3:], strict=False):
            size = _size(cell, f"{path}, line {line}, column {heads[column]}")
            if way == 1 or size > 0:
                source, destination = cells[1:3][::way]
                yield Record(time, source, destination, size)


def _nfdump_lines(path: Path, lines: Any) -> Iterator[Record]:
    for line, text in enumerate(lines, start=2):
        if text.startswith(("Summary", "No match")):
            return
        if text.startswith("Date") or not text.strip():
            continue
        found = NFDUMP_LINE.fullmatch(text.rstrip("\n"))
        if found is None:
            raise FlowFileError(f"{path}, line {line} is {shown(text.strip())}: it must be one of nfdump -o long")
        number, _, unit = found["bytes"].partition(" ")
        size = _size(number, f"{path}, line {line}, column Bytes") * MULTIPLES.get(unit, 1)
        hosts = [_without_port(found[name]) for name in ("source", "destination")]
        yield Record(_time(found["time"], f"{path}, line {line}"), hosts[0], hosts[1], size)


def _without_port(text: str) -> str:
    """Takes the port from the end of an address: after a colon in IPv4, after a dot in IPv6."""
    return text.rpartition("." if text.count(":") > 1 else ":")[0] or text


def _read_zeek(path: Path, left_out: Counter[str]) -> Iterator[Record]:
    separator, unset, fields = "\t", "-", list[str]()
    with path.open(encoding="utf-8", errors="replace") as file:
        for line, text in enumerate(map(str.rstrip, file), start=1):
            at = f"{path}, line {line}"
            if text.startswith("#separator "):
                separator = text.split(" ", 1)[1].encode().decode("unicode_escape")
            elif text.startswith("#"):
                name, *values = text.split(separator)
                unset = values[0] if name == "#unset_field" else unset
                fields = values if name == "#fields" else fields
            elif text.startswith("{"):
                try:
                    entries = json.loads(text, parse_float=Decimal)
                except ValueError as error:
                    raise FlowFileError(f"{at}: this is not JSON: {error}") from None
                yield from _zeek_flows(
                    {name: None if each is None else str(each) for name, each in entries.items()}, at
                )
            elif text:
                if not fields:
                    raise FlowFileError(f"{at}: no line #fields stands before it: it must be Zeek's conn.log")
                cells = text.split(separator)
                if len(cells) != len(fields):
                    raise FlowFileError(f"{at}: it has {len(cells)} values: #fields names {len(fields)}")
                given = {name: None if cell == unset else cell for name, cell in zip(fields, cells, strict=True)}
                yield from _zeek_flows(given, at)


def _zeek_flows(given: Mapping[str, str | None], at: str) -> Iterator[Record]:
    time, first, second, *_ = (given.get(name) for name in ZEEK_COLUMNS)
    if time is None or first is None or second is None:
        missing = next(name for name in ZEEK_COLUMNS if given.get(name) is None)
        raise FlowFileError(f"{at}: no {missing}: a record of Zeek's conn.log must have {', '.join(ZEEK_COLUMNS[:3])}")
    for name, ends in (("orig_bytes", (first, second)), ("resp_bytes", (second, first))):
        yield Record(_time(time, f"{at}, column ts"), *ends, _size(given.get(name) or "0", f"{at}, column {name}"))


def _read_pcap(path: Path, left_out: Counter[str]) -> Iterator[Record]:
    try:
        import dpkt  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("dpkt", extra="pcap", purpose="read packet captures") from None
    flows: dict[tuple[object, ...], list[Any]] = {}
    with path.open("rb") as file:
        try:
            capture = dpkt.pcap.UniversalReader(file)
        except (ValueError, dpkt.Error) as error:
            raise FlowFileError(f"{path} is no packet capture: {error or type(error).__name__}") from None
        kinds = {
            dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
            dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
            dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
            dpkt.pcap.DLT_NULL: dpkt.loopback.Loopback,
        }
        link = kinds.get(capture.datalink())
        for seconds, data in capture:
            try:
                packet = link(data).data if link else (dpkt.ip6.IP6 if data[:1] >= b"\x60" else dpkt.ip.IP)(data)
            except (dpkt.Error, IndexError):
                left_out["packets that could not be read"] += 1
                continue
            key, size = _payload(packet, dpkt)
            if key is None:
                left_out["packets of neither TCP nor UDP, and fragments"] += 1
                continue
            time = Decimal(str(seconds))
            flow = flows.get(key)
            if flow is None or time - flow[1] > SILENCE:
                if flow is not None:
                    yield flow[0]
                flow = flows[key] = [Record(time, str(key[0]), str(key[1]), Decimal(0)), time]
            flow[0], flow[1] = flow[0]._replace(size=flow[0].size + size), time
    yield from (flow for flow, _ in flows.values())


def _payload(packet: Any, dpkt: Any) -> tuple[tuple[object, ...] | None, int]:
    """Returns the addresses, protocol and ports of a packet, and its bytes of payload by its headers; or None and 0."""
    inner = getattr(packet, "data", None)
    if not isinstance(packet, (dpkt.ip.IP, dpkt.ip6.IP6)) or not isinstance(inner, (dpkt.tcp.TCP, dpkt.udp.UDP)):
        return None, 0
    source, destination = str(ipaddress.ip_address(packet.src)), str(ipaddress.ip_address(packet.dst))
    key = (source, destination, type(inner).__name__, inner.sport, inner.dport)
    if isinstance(inner, dpkt.udp.UDP):
        return key, max(inner.ulen - 8, 0)
    if isinstance(packet, dpkt.ip.IP):
        length = packet.len - 4 * packet.hl if packet.len else len(inner)  # 0: left to the network card
    else:
        headers = b"".join(bytes(each) for each in packet.all_extension_headers)
        length = packet.plen - len(headers) if packet.plen else len(inner)
    return key, max(length - 4 * inner.off, 0)


def _time(text: str, where: str) -> Decimal:
    """Reads a date with its time of day, or seconds since 1970."""
    try:
        return Decimal(text)
    except InvalidOperation:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FlowFileError(f"{where} is {shown(text)}: it must be a date and time, or seconds since 1970") from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    return Decimal(since // timedelta(microseconds=1)) / 10**6


def _size(text: str, where: str) -> Decimal:
    try:
        size = Decimal(text)
    except InvalidOperation:
        size = Decimal(-1)
    if not (size.is_finite() and size >= 0):
        raise FlowFileError(f"{where} is {shown(text)}: it must be a number of bytes >= 0")
    return size


FORMATS: Final[Mapping[str, tuple[Callable[[Path, Counter[str]], Iterator[Record]], tuple[str, ...]]]] = {
    "nfdump": (
        _read_nfdump,
        (
            "a record goes from its source to its destination; its out bytes, if any, are a flow back",
            "sizes are bytes of IP packets, headers included; 1.2 M counts as 1,200,000 (nfdump -N prints all digits)",
        ),
    ),
    "zeek": (
        _read_zeek,
        (
            "of a connection, the originator's bytes are a flow to the responder, the responder's a flow back",
            "sizes are bytes of payload; both flows begin with the connection",
        ),
    ),
    "pcap": (
        _read_pcap,
        (
            f"each direction of two addresses and ports is a flow, a new one after {SILENCE} s of silence",
            "sizes are bytes of payload by the headers, those sent again included; a flow begins with its first packet",
        ),
    ),
}
"""Readers of the formats, and what they take for granted."""
