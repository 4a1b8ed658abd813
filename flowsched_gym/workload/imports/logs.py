"""Reads records of flows: what nfdump prints, and connections of Zeek's ``conn.log``.

Of nfdump ``-o csv``, ``csv-fast``, ``line``, ``long``, ``extended`` and more. Columns are found by the names of the
header, in CSV by those of nfdump 1.6 or 1.7. In bytes go from the source to the destination, out bytes, which ``-b``
and ``-B`` print, back. Of Zeek, tab-separated values with their ``#fields``, or JSON, also in an array.
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from flowsched_gym.core.errors import FlowFileError, shown
from flowsched_gym.workload.imports.records import Record, Told, host_of, size_of, text_lines, time_of

ROLES: Final = {
    "time": ("firstSeen", "ts", "Date first seen", "Date flow start", "First seen raw", "First seen GMT"),
    "source": ("srcAddr", "sa", "Src IP Addr:Port", "Src IP Addr"),
    "destination": ("dstAddr", "da", "Dst IP Addr:Port", "Dst IP Addr"),
    "bytes": ("bytes", "inBytes", "ibyt", "byt", "Bytes", "In Byte"),
    "out": ("outBytes", "obyt", "Out Byte"),
}
"""Names of the columns that are read, in CSV and in text; out bytes need not be there."""
WORD: Final = r"(?!<?->)\S+"
ADDRESS: Final = r"[\da-fA-F]*[.:][\da-fA-F.:]*"
CELLS: Final = {
    **dict.fromkeys(
        ("Date first seen", "Date flow start", "First seen GMT"), rf"\d{{4}}-\S+ \d+:\S+|(?!\d{{4}}-\S+ ){WORD}"
    ),
    **dict.fromkeys(("Date last seen", "Date flow received", "Last seen GMT"), r"\d{4}-\S+ \S+"),
    "Duration": rf"(?:\d+d )?{WORD}",
    **dict.fromkeys(
        ("Packets", "In Pkt", "Out Pkt", "Bytes", "In Byte", "Out Byte", "bps", "pps", "Bpp", "Flows"),
        rf"(?![KMGT] |[KMGT]$){WORD}(?: [KMGT])?",
    ),
    **dict.fromkeys(("Src IP Addr:Port", "Dst IP Addr:Port", "Src IP Addr", "Dst IP Addr"), ADDRESS),
    **dict.fromkeys(
        (
            *("Src Pt", "Dst Pt", "Proto"),
            *("First seen raw", "Last seen raw", "Received raw", "ICMP-T", "ICMP-C", "Flags", "Fwd", "Dir", "Ver"),
            *("Tos", "STos", "DTos", "Src AS", "Dst AS", "Next AS", "Prev AS", "Input", "Output", "SMask", "DMask"),
            *("SVlan", "DVlan", "Router IP", "Next-hop IP", "BGP next-hop IP", "Count"),
        ),
        WORD,
    ),
}
"""Columns that text may have, and what their cells look like; an arrow may stand between cells."""
LABEL: Final = re.compile(rf"\s*({'|'.join(sorted(map(re.escape, CELLS), key=len, reverse=True))})(?!\S)")
TOTALS: Final = ("Summary", "No match")
"""Begin of lines after which totals follow, until another header comes."""
UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
CSV_FAST: Final = ["cnt", "af"]
"""The first columns of ``-o csv-fast``, whose times are in ms."""
NFDUMP: Final = "the text of nfdump -o csv or -o long"
ZEEK_COLUMNS: Final = ("ts", "id.orig_h", "id.resp_h", "orig_bytes", "resp_bytes")
SEPARATOR: Final = re.compile(r"(\\x[0-9a-fA-F]{2})+")
ZEEK: Final = "Zeek's conn.log"


class _Layout(NamedTuple):
    """What a header says: names of all columns, index of those that are read, and what a line of text looks like."""

    names: list[str]
    roles: Mapping[str, int]
    line: re.Pattern[str] | None


def read_nfdump(path: Path, told: Told) -> Iterator[Record]:
    """Yields the records of a file."""
    layout, begun = None, False
    for number, line in enumerate(text_lines(path, NFDUMP), start=1):
        at = f"{path}, line {number}"
        if not line.strip():
            continue
        if line.startswith(TOTALS):
            layout = None
        elif _is_header(line, first=not begun):
            layout = _read_header(line, at)
        elif layout is not None:
            yield from _records(_cells(line, layout, at), layout, at, f"line {number}", told)
        elif not begun:
            needed = "the header of nfdump -o csv or -o long (without -q)"
            raise FlowFileError(f"{at}: it begins with {shown(line[:40])}: it must be {needed}")
        begun = True


def _is_header(line: str, *, first: bool) -> bool:
    """Returns whether a line names columns; the first line does if it has commas."""
    if "," in line:
        return first or not set(ROLES["time"]).isdisjoint(each.strip() for each in line.split(","))
    return LABEL.match(line) is not None


def _read_header(line: str, at: str) -> _Layout:
    names, pattern = [each.strip() for each in line.split(",")], None
    if len(names) == 1:
        names, rest = [], line.rstrip()
        while rest:
            label = LABEL.match(rest)
            if label is None:
                unknown = re.split(r"\s{2,}", rest.strip())[0]
                raise FlowFileError(f"{at}: column {shown(unknown)}: nothing is known of it: it must be {NFDUMP}")
            names.append(label[1])
            rest = rest[label.end() :]
        pattern = re.compile("(?: <?->)? ".join(f"({CELLS[name]})" for name in names))
    roles = {}
    for role, choices in ROLES.items():
        found = [position for position, name in enumerate(names) if name in choices]
        if len(found) > 1:
            raise FlowFileError(f"{at}: columns {' and '.join(names[each] for each in found)}: only one is allowed")
        if found:
            roles[role] = found[0]
        elif role != "out":
            raise FlowFileError(f"{at}: no column {' or '.join(choices)}: it must be {NFDUMP}")
    return _Layout(names, roles, pattern)


def _cells(line: str, layout: _Layout, at: str) -> list[str]:
    if layout.line is None:
        cells = [each.strip() for each in line.split(",")]
        if len(cells) != len(layout.names):
            raise FlowFileError(f"{at}: it has {len(cells)} values: the header has {len(layout.names)} columns")
        return cells
    found = layout.line.fullmatch(" ".join(line.split()))
    if found is None:
        columns = ", ".join(layout.names)
        raise FlowFileError(f"{at} is {shown(line.strip())}: it must have the columns of the header: {columns}")
    return list(found.groups())


def _records(cells: list[str], layout: _Layout, at: str, place: str, told: Told) -> Iterator[Record]:
    """Yields a flow from the source to the destination, and one back if there are out bytes."""

    def cell(role: str) -> tuple[str, str]:
        index = layout.roles[role]
        return cells[index], f"{at}, column {layout.names[index]}"

    time = time_of(*cell("time"), told, milliseconds=layout.names[:2] == CSV_FAST)
    hosts = []
    for role in ("source", "destination"):
        text, where = cell(role)
        hosts.append(_without_port(text, where) if where.endswith(":Port") else host_of(text, where))
    for role, ends in (("bytes", hosts), ("out", hosts[::-1])):
        if role in layout.roles:
            text, where = cell(role)
            unit = text[-1:] if text[-1:] in UNITS else ""
            size = size_of(text.removesuffix(unit).rstrip(), where, UNITS[unit])
            if role == "bytes" or size > 0:
                yield Record(time, ends[0], ends[1], size, place)


def _without_port(text: str, where: str) -> str:
    """Takes port, or type and code of ICMP, from the end of an address: after a colon in IPv4, after a dot in IPv6."""
    host_of(text, where)
    if text.count(":") < 2:  # an IPv6 address has two at least
        hosts = [text.rpartition(":")[0] or text]
    else:
        words = text.split(".")
        hosts = [".".join(words[:number]) for number in range(len(words), 0, -1)]
    for host in hosts:
        try:
            return str(ipaddress.ip_address(host))
        except ValueError:
            continue
    raise FlowFileError(
        f"{where} is {shown(text)}: it must be an address and a port, as in 10.0.0.1:80 or 2001:db8::1.80"
    )


def read_zeek(path: Path, told: Told) -> Iterator[Record]:
    """Yields the flows of a file: what the originator sent, and what the responder did."""
    separator, unset, fields = "\t", "-", list[str]()
    lines = enumerate(text_lines(path, ZEEK), start=1)
    for line, text in lines:
        at, place = f"{path}, line {line}", f"line {line}"
        if text.startswith("#separator"):
            given = text.removeprefix("#separator ")
            if not SEPARATOR.fullmatch(given):
                raise FlowFileError(f"{at}: the separator is {shown(given)}: it must be written such as \\x09")
            separator = bytes.fromhex(given.replace("\\x", "")).decode("latin-1")
        elif text.startswith("#"):
            name, *values = text.split(separator)
            if name == "#unset_field":
                if len(values) != 1:
                    raise FlowFileError(f"{at} is {shown(text)}: it must have one value, such as -")
                unset = values[0]
            elif name == "#fields":
                fields = values
                for column in ZEEK_COLUMNS:
                    if fields.count(column) != 1:
                        found = f"it has {fields.count(column)} columns {column}"
                        raise FlowFileError(
                            f"{at}: {found}: it must be {ZEEK}, with one each of {', '.join(ZEEK_COLUMNS)}"
                        )
        elif text.lstrip().startswith(("{", "[")):
            yield from _read_zeek_json(path, line, "\n".join([text, *(more for _, more in lines)]), told)
        elif text.strip():
            if not fields:
                raise FlowFileError(f"{at}: no line #fields stands before it: it must be {ZEEK}")
            cells = text.split(separator)
            if len(cells) != len(fields):
                raise FlowFileError(f"{at}: it has {len(cells)} values: #fields names {len(fields)}")
            record = {name: None if cell == unset else cell for name, cell in zip(fields, cells, strict=True)}
            yield from _zeek_flows(record, at, place, told)


def _read_zeek_json(path: Path, line: int, text: str, told: Told) -> Iterator[Record]:
    """Yields the flows of JSON that begins in this line: objects, or arrays of them, one after the other."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    position = 0
    while begin := re.compile(r"\S").search(text, position):
        line += text.count("\n", position, begin.start())
        at = f"{path}, line {line}"
        try:
            value, end = decoder.raw_decode(text, begin.start())
        except RecursionError:
            raise FlowFileError(f"{at}: this JSON is nested too deeply: it must be {ZEEK}") from None
        except json.JSONDecodeError as error:
            raise FlowFileError(f"{at}: this is not JSON: {error.msg}: it must be {ZEEK}") from None
        for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
            nth = f", record {number}" * isinstance(value, list)
            if not isinstance(entry, dict):
                raise FlowFileError(f"{at}{nth} is {shown(entry)}: it must be a record of {ZEEK}")
            yield from _zeek_flows(entry, at + nth, f"line {line}{nth}", told)
        line, position = line + text.count("\n", begin.start(), end), end


def _zeek_flows(record: Mapping[str, Any], at: str, place: str, told: Told) -> Iterator[Record]:
    values = [None if record.get(name) is None else str(record[name]) for name in ZEEK_COLUMNS]
    for name, value in zip(ZEEK_COLUMNS[:3], values, strict=False):
        if value is None:
            raise FlowFileError(f"{at}: no {name}: a record of {ZEEK} must have {', '.join(ZEEK_COLUMNS[:3])}")
    time, *hosts = map(str, values[:3])
    when = time_of(time, f"{at}, column ts", told)
    first, second = (host_of(each, f"{at}, column {name}") for each, name in zip(hosts, ZEEK_COLUMNS[1:3], strict=True))
    for name, ends, value in (("orig_bytes", (first, second), values[3]), ("resp_bytes", (second, first), values[4])):
        yield Record(when, *ends, size_of("0" if value is None else value, f"{at}, column {name}"), place)
