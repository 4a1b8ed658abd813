"""Reads and replays flow files that a generator has damaged: they are read, or refused with one clear error.

``FLOWSCHED_FAULTS=full`` tries 2,000 files in place of 60.
"""

import warnings
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import FlowSchedError, FlowSchedWarning
from flowsched_gym.workload import draw_flows, make_workload, read_flows, write_flows
from tests.faults.generator import damaged_bytes, share

CELLS: Final = (
    *("", " ", '""', '"1"', "-1", "-0", "0", "1", "2", "1e5", "1E5", "+3", ".5", "5.", "1_000", "0x10", "1e", "--1"),
    *("nan", "inf", "-inf", "1e308", "1.79e308", "1e309", "5e-324", "1e-320", "1e17", "1.7e9", "1700000000.0000001"),
    *("9223372036854775807", "9223372036854775808", "1" * 5000, "\u0661", "1,5", "1;5", "true", "None", "é", "\0"),
    *("\r", "\u2028", "\ufeff", "1\t", "=1+1", "'1'", "1 000", "99999999", "4096"),
)
HEADERS: Final = ("flow_id", "task_id", "source", "size_bytes", "arrival_s", "deadline_s", "due_s", "size", "", "Flow")
DISCIPLINES: Final = ("fifo", "ps", "srpt", "edf", "las", "merp")


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Damages a CSV file in one to three places."""
    for _ in range(rng.integers(1, 4)):
        lines = content.split(b"\n")
        row = int(rng.integers(len(lines)))
        kind = rng.integers(10)
        if kind < 4:
            cells = lines[row].split(b",")
            new = CELLS[rng.integers(len(CELLS))] if row else HEADERS[rng.integers(len(HEADERS))]
            cells[rng.integers(len(cells))] = new.encode()
            lines[row] = b",".join(cells)
            content = b"\n".join(lines)
        elif kind < 7:
            content = damaged_bytes(content or b"\n", int(rng.integers(1 << 30)))
        elif kind == 7:
            lines.insert(row, lines[int(rng.integers(len(lines)))])
            content = b"\n".join(lines)
        elif kind == 8:
            content = content.replace(*((b"\n", b"\r\n"), (b",", b";"), (b".", b","), (b"\n", b"\r"))[rng.integers(4)])
        else:
            # All arrivals later by the same time.
            column = lines[0].split(b",").index(b"arrival_s") if b"arrival_s" in lines[0].split(b",") else 0
            start = (1.7e9, 1e17, 1e300, 1.7e308)[rng.integers(4)]
            for number, line in enumerate(lines[1:], start=1):
                cells = line.split(b",")
                if column < len(cells) and cells[column].replace(b".", b"", 1).isdigit():
                    cells[column] = repr(start + float(cells[column])).encode()
                lines[number] = b",".join(cells)
            content = b"\n".join(lines)
    return content


def fault_of(path: Path, rng: np.random.Generator) -> str | None:
    """Reads a file and replays its flows; returns what was not as it must be."""
    discipline = DISCIPLINES[rng.integers(len(DISCIPLINES))]
    topology = ("one-link", "big-switch", "tree9")[rng.integers(3)]
    flows = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlowSchedWarning)
        try:
            flows = read_flows(path)
            records = flowsched_gym.replay(flows, discipline=discipline, topology=topology)
        except FlowSchedError as error:
            named = flows is not None or path.name in str(error)
            return None if named and 0 < len(str(error)) < 2_000 else f"no clear message: {error}"
    if not (np.isfinite(records.fct).all() and (records.slowdown > 1 - 0.02).all()):
        return f"completion times {records.fct.tolist()}, slowdowns {records.slowdown.tolist()}"
    return None


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_every_damaged_flow_file_is_read_or_refused_with_one_clear_error(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    original, path = tmp_path / f"original{suffix}", tmp_path / f"flows{suffix}"
    write_flows(draw_flows(make_workload("gather-multi"), num_flows=30, seed=1), original)
    content = original.read_bytes()
    faults = []
    for number in share(1_000, 30):
        rng = np.random.default_rng([3, number])
        path.write_bytes(damaged(content, rng) if suffix == ".csv" else damaged_bytes(content, number))
        try:
            fault = fault_of(path, rng)
        except Exception as error:  # noqa: BLE001 - any other error is what this test looks for
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            faults.append(f"file {number}: {fault}")

    assert not faults, "\n".join(faults)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted((original.name, path.name))
