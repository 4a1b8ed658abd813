"""Reads coflows in the form of the public coflow benchmark (``coflow/coflow-benchmark``).

The first line has the number of ports (racks) and the number of coflows. Each further line is a coflow: its id, its
arrival in ms, the number of mappers and the rack of each, the number of reducers and for each its rack and the MB that
it receives, as ``rack:MB``. Racks are numbered from 0.

The benchmark's file, ``FB2010-1Hr-150-0.txt``, has 526 coflows of one hour on 150 racks of Facebook.
"""

import math
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.core.files import open_to_read
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.flow_csv import shorten
from flowsched_gym.workload.imports.records import Words, text_lines
from flowsched_gym.workload.source import MOST_FLOWS

BYTES_PER_MB: Final = 2.0**20
"""The benchmark's MB."""
TICKS_PER_SECOND: Final = 1_024.0
"""The benchmark's ms: its simulator has 1,024 of them in a second."""


class _Coflow(NamedTuple):
    """A line of the file: id, arrival in ms, racks of mappers, racks of reducers and the MB that each receives."""

    coflow_id: int
    arrival: float
    mappers: IntArray
    reducers: IntArray
    received: FloatArray


def read_coflows(path: str | PathLike[str], *, coflows: int | None = None) -> Workload:
    """Reads coflows in the form of the public coflow benchmark, ``FB2010-1Hr-150-0.txt`` for instance.

    Each pair of a mapper and a reducer is a flow, ``task_id`` its coflow. Rack r of p sends as host r and receives as
    host p + r, so that ``replay`` needs ``num_hosts=2 * p``. A reducer's MB, of 2**20 B, come from all mappers in
    equal parts. Times are in the units of the benchmark's simulator: 1,024 ms are 1 s.

    Of a file without the first line, p is one more than the highest rack. Reducers of 0 MB have no flow.

    Flows are numbered from 0 in the order of the file: by coflow, then by mapper, then by reducer. ``coflows``
    reads the first so many, >= 1. Whoever uses the benchmark is asked to cite Varys (Chowdhury, Zhong and Stoica,
    SIGCOMM 2014) and Aalo (Chowdhury and Stoica, SIGCOMM 2015).

    Raises:
        FlowFileError: The file cannot be read, or something in it is not allowed; the message names file, line, what
            it is, value and what is allowed.
        ConfigError: ``coflows`` is not a number of coflows that the file has.
    """
    if coflows is not None:
        check_integer("coflows", coflows, at_least=1)
    with open_to_read(path, "coflows", "a file of coflows", FlowFileError) as file:
        numbered = enumerate(text_lines(file, "a file of coflows"), start=1)
        lines = [(number, line) for number, line in numbered if line.strip()] or [(1, "")]
    headed = ":" not in lines[0][1]
    num_ports, count = MOST_FLOWS, len(lines)
    if headed:
        first = Words(lines[0][1], f"{path}, line {lines[0][0]}")
        num_ports = first.whole_number("number of ports", at_least=1)
        count = first.whole_number("number of coflows", at_least=1)
        first.end("the last of two numbers, ports and coflows, so that nothing follows")
        if len(lines) <= count:
            ends = f"{path}, line {lines[-1][0] + 1}: the file ends"
            raise FlowFileError(f"{ends}: it must have {count} coflows, as in line 1")
        if len(lines) > count + 1:
            number, more = lines[count + 1][0], shorten(lines[count + 1][1])
            raise FlowFileError(f"{path}, line {number}: {more!r}: nothing may follow the {count} coflows of line 1")
    if coflows is not None and coflows > count:
        raise ConfigError(f"coflows is {coflows}: it must be at most {count}, as many as {path} has")
    chosen = lines[1 : 1 + (coflows or count)] if headed else lines
    parsed = _parse(chosen, num_ports, str(path))
    if not headed:
        num_ports = 1 + max(int(rack) for each in parsed for rack in (*each.mappers, *each.reducers))
    workload = _flows(parsed[:coflows], num_ports)
    if not workload.num_flows:
        raise FlowFileError(f"{path}: no flow: a reducer must receive more than 0 MB")
    return workload


def coflow_sample() -> Path:
    """Returns the path of a small file of coflows: 10 on 6 ports, made up for examples and tests, not measured."""
    return Path(__file__).parent / "data" / "coflow_sample.txt"


def _parse(lines: list[tuple[int, str]], num_ports: int, source: str) -> list[_Coflow]:
    coflows: list[_Coflow] = []
    line_of: dict[int, int] = {}
    num_flows = 0
    for number, line in lines:
        words = Words(line, f"{source}, line {number}")
        coflow = _parse_coflow(words, num_ports)
        if coflow.coflow_id in line_of:
            before = line_of[coflow.coflow_id]
            raise words.fault("coflow", str(coflow.coflow_id), f"another id than in line {before}, each only once")
        line_of[coflow.coflow_id] = number
        num_flows += len(coflow.mappers) * len(coflow.reducers)
        if num_flows > MOST_FLOWS:
            raise FlowFileError(f"{words.where}: {num_flows} flows up to here: at most {MOST_FLOWS} are allowed")
        coflows.append(coflow)
    return coflows


def _parse_coflow(words: Words, num_ports: int) -> _Coflow:
    coflow_id = words.whole_number("coflow")
    arrival = words.number("arrival", "a finite time in ms >= 0")
    num_mappers = words.whole_number("number of mappers", at_least=1, below=MOST_FLOWS)
    mappers = [words.whole_number("rack of a mapper", below=num_ports) for _ in range(num_mappers)]
    reducers, received = [], []
    for _ in range(words.whole_number("number of reducers", at_least=1, below=MOST_FLOWS)):
        pair = words.take("reducer", "rack:MB")
        rack, colon, megabytes = pair.partition(":")
        if not colon:
            raise words.fault("reducer", pair, "rack:MB")
        reducers.append(words.whole_number("rack of a reducer", below=num_ports, word=rack))
        amount = words.number("MB of a reducer", "a finite number >= 0", word=megabytes)
        if amount * BYTES_PER_MB == math.inf:
            raise words.fault("MB of a reducer", megabytes, "a finite number >= 0")
        received.append(amount)
    words.end(f"the last of {len(mappers)} mappers and {len(reducers)} reducers, so that nothing follows")
    return _Coflow(coflow_id, arrival, np.array(mappers), np.array(reducers), np.array(received))


def _flows(coflows: list[_Coflow], num_ports: int) -> Workload:
    counts = np.array([len(coflow.mappers) * len(coflow.reducers) for coflow in coflows])
    size = np.concatenate(
        [np.tile(coflow.received * BYTES_PER_MB / len(coflow.mappers), len(coflow.mappers)) for coflow in coflows]
    )
    sent = size > 0
    return Workload(
        flow_id=np.arange(sent.sum()),
        task_id=np.repeat(np.array([coflow.coflow_id for coflow in coflows]), counts)[sent],
        source=np.concatenate([np.repeat(coflow.mappers, len(coflow.reducers)) for coflow in coflows])[sent],
        destination=np.concatenate([np.tile(each.reducers + num_ports, len(each.mappers)) for each in coflows])[sent],
        size=size[sent],
        arrival_time=np.repeat(np.array([coflow.arrival / TICKS_PER_SECOND for coflow in coflows]), counts)[sent],
    )
