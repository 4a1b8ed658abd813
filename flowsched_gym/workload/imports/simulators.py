"""Reads the flows of packet simulators: ``flow.txt`` of HPCC's ns-3, connection matrices (``.cm``) of htsim.

``flow.txt`` begins with the number of flows. Each has a line: source, destination, priority group, port of the
destination, bytes and start in s; ConWeave's has no port. Lines after the last flow explain the file.

A matrix begins with ``Nodes N`` and ``Connections M``. Each connection has a line: ``src->dst``, then names and values,
such as ``id 1 start 0 size 1000``, with the start in ps.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import FlowFileError, shown
from flowsched_gym.workload.imports.records import Record, Told, Words, text_lines
from flowsched_gym.workload.source import MOST_FLOWS

HPCC_COLUMNS: Final[tuple[str, ...]] = ("source", "destination", "priority group", "port", "bytes", "start")
CONWEAVE_COLUMNS: Final = tuple(each for each in HPCC_COLUMNS if each != "port")
NODES_END: Final = 1_000_000
"""Numbers of nodes are below."""
START: Final = "a finite time in s >= 0"
CONNECTION: Final = re.compile(r"(\d+)->(\d+)", re.ASCII)
PICOSECOND_DIGITS: Final = 12
REFUSED: Final = ("trigger", "send_done_trigger", "recv_done_trigger", "addon", "failure")
"""Words of a matrix by which connections wait for others, or links fail."""
CM_NEEDED: Final = "a connection matrix of htsim"


def read_hpcc(path: Path, told: Told) -> Iterator[Record]:
    """Yields the flows of ``flow.txt``; hosts are numbers of nodes."""
    count, found, columns, ignored = None, 0, HPCC_COLUMNS, set[str]()
    for number, line in enumerate(text_lines(path, "flow.txt of HPCC"), start=1):
        words = Words(line, f"{path}, line {number}")
        if not line.strip():
            continue
        if count is None:
            count = words.whole_number("number of flows", at_least=1, below=MOST_FLOWS + 1)
            words.end("the number of flows, so that nothing follows")
        elif found == count:
            told.left_out[f"after the {count} flows that line 1 announces"] += 1
        else:
            if not found:
                columns = CONWEAVE_COLUMNS if len(line.split()) == len(CONWEAVE_COLUMNS) else HPCC_COLUMNS
                told.guess(f"lines have {len(columns)} values: {', '.join(columns)}")
            if len(line.split()) != len(columns):
                needed = f"{len(columns)}: {', '.join(columns)}"
                raise FlowFileError(f"{words.where}: {len(line.split())} values in {shown(line)}: it must be {needed}")
            ends = [str(words.whole_number(name, below=NODES_END)) for name in columns[:2]]
            values = {name: words.whole_number(name) for name in columns[2:-1]}
            start = words.decimal("start", START)
            ignored.add(f"{values['priority group']}")
            yield Record(start, ends[0], ends[1], Decimal(values["bytes"]), f"line {number}")
            found += 1
    if not found or found != count:
        raise FlowFileError(f"{path}: the file ends after {found} flows: it must have {count}, as line 1 announces")
    groups = ", ".join(sorted(ignored, key=int)[:8])
    told.guess(f"ignored: priority groups ({groups}){' and ports of destinations' * ('port' in columns)}")


def read_cm(path: Path, told: Told) -> Iterator[Record]:
    """Yields the connections of a matrix; hosts are numbers of nodes."""
    counts, found, ignored = dict[str, int](), 0, set[str]()
    for number, line in enumerate(text_lines(path, CM_NEEDED), start=1):
        words = Words(line, f"{path}, line {number}")
        if not line.strip() or line.startswith("#"):
            continue
        first = words.take("first word", "Nodes, Connections or src->dst")
        if first in ("Nodes", "Connections", "Triggers", "Failures"):
            counts[first] = words.whole_number(first, below=NODES_END if first == "Nodes" else MOST_FLOWS + 1)
            words.end("one number, so that nothing follows")
            if first in ("Triggers", "Failures") and counts[first]:
                raise words.fault(first, str(counts[first]), "0, since flows here neither trigger others nor fail")
            continue
        pair = CONNECTION.fullmatch(first)
        if first in REFUSED or pair is None:
            raise words.fault("first word", first, f"Nodes N, Connections M or src->dst, as in {CM_NEEDED}")
        if "Nodes" not in counts:
            raise FlowFileError(f"{words.where}: no line Nodes N stands before it: it must be {CM_NEEDED}")
        ends = [
            str(words.whole_number(what, below=counts["Nodes"], word=word))
            for what, word in zip(("source", "destination"), pair.groups(), strict=True)
        ]
        start, size, names = None, None, set[str]()
        while words.left:
            name = words.take("name", "id, start, size or prio")
            if name in names or name not in ("id", "start", "size", "prio"):
                allowed = "id, start, size or prio, each once"
                raise words.fault("name", name, allowed + " (triggers are not read)" * (name in REFUSED))
            names.add(name)
            if name == "start":
                start = words.decimal("start", "a finite time in ps >= 0")
            else:
                value = words.whole_number(name)
                size = value if name == "size" else size
                if size == 0:
                    raise words.fault("size", "0", "a whole number of bytes > 0 (0 sends without end in htsim)")
        if start is None or size is None:
            missing = "start" if start is None else "size"
            raise FlowFileError(f"{words.where}: no {missing}: a connection must have start (ps) and size (bytes)")
        ignored |= names & {"id", "prio"}
        found += 1
        yield Record(start.scaleb(-PICOSECOND_DIGITS), ends[0], ends[1], Decimal(size), f"line {number}")
    if not found or counts.get("Connections") != found:
        stated = counts.get("Connections", "missing")
        raise FlowFileError(f"{path}: Connections is {stated} and the file has {found}: both must agree, and not be 0")
    for name in sorted(ignored):
        told.guess(f"ignored: {name} of connections" + "; flows are numbered by their arrival" * (name == "id"))
