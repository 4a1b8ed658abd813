"""Damages flow files, models and result files at random: each is read as it should be, or refused by one clear error.

The same damage is done for the same number. ``FLOWSCHED_FAULTS=full`` does it some ten times as often.
"""

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch

import flowsched_gym
from benchmarks.leaderboard import RESULTS as FOLDER
from benchmarks.leaderboard import pages
from flowsched_gym.core.errors import FlowSchedError, FlowSchedWarning
from flowsched_gym.core.packed import read_bytes
from flowsched_gym.evaluation import make_environment, result_paths
from flowsched_gym.integrations.archive import ARRAYS, CONTENT, SEAL
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.workload import draw_flows, make_workload, read_flows, write_flows
from tests.repository import ROOT

CHUNKS: Final = 5
"""Parts of a test that can run at once."""

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**63, 10**400, 1e308, -1e308, 1e-320, 0.5, float("nan"), float("inf")),
    *("", "x", "\x00", "\x1b[31m", "\u202e", "a\nb", "<b>", "[a](http://b)", "../..", "x" * 10_000, "\ud800"),
    *([], {}, [[]], {"": None}, [1, "a"], {"class": "os.system"}, {"$array": "x"}, {"$tuple": 3}),
)
"""What takes the place of a value."""


def share(all_of_them: int, few: int) -> range:
    return range(all_of_them if os.environ.get("FLOWSCHED_FAULTS") == "full" else few)


def damaged_bytes(content: bytes, number: int) -> bytes:
    """Changes, cuts, repeats or adds bytes."""
    draw = np.random.default_rng(number)
    data = bytearray(content)
    place = int(draw.integers(len(data)))
    match int(draw.integers(6)):
        case 0:
            data[place] ^= 1 << int(draw.integers(8))
        case 1:
            del data[place:]
        case 2:
            del data[place : place + int(draw.integers(1, 100))]
        case 3:
            data[place:place] = draw.bytes(int(draw.integers(1, 20)))
        case 4:
            data[place:place] = data[place : place + int(draw.integers(1, 1000))]
        case _:
            for spot in draw.integers(len(data), size=10).tolist():
                data[spot] = int(draw.integers(256))
    return bytes(data)


def damaged_json(content: str, number: int) -> str:
    """Changes, removes, renames or adds a value somewhere in a document."""
    draw = np.random.default_rng(number)
    tree = json.loads(content)
    found = list(places(tree))
    holder, key = found[int(draw.integers(len(found)))]
    value = VALUES[int(draw.integers(len(VALUES)))]
    match int(draw.integers(5)):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(value)[:50]] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.insert(key, value)
        case 2:
            holder["more"] = value
        case 3:
            holder[key] = [holder[key]]
        case _:
            holder[key] = value
    return json.dumps(tree)


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Lists all places of a document, as holders and keys."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from places(tree[key])


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
        rows = [line.split(b",") for line in content.split(b"\n")]
        row = int(rng.integers(len(rows)))
        kind = rng.integers(10)
        if kind < 4:
            new = CELLS[rng.integers(len(CELLS))] if row else HEADERS[rng.integers(len(HEADERS))]
            rows[row][rng.integers(len(rows[row]))] = new.encode()
        elif kind < 7:
            content = damaged_bytes(content or b"\n", int(rng.integers(1 << 30)))
            continue
        elif kind == 7:
            rows.insert(row, rows[int(rng.integers(len(rows)))])
        elif kind == 8:
            content = content.replace(*((b"\n", b"\r\n"), (b",", b";"), (b".", b","), (b"\n", b"\r"))[rng.integers(4)])
            continue
        else:
            # All arrivals later by the same time.
            column = rows[0].index(b"arrival_s") if b"arrival_s" in rows[0] else 0
            start = (1.7e9, 1e17, 1e300, 1.7e308)[rng.integers(4)]
            for cells in rows[1:]:
                if column < len(cells) and cells[column].replace(b".", b"", 1).isdigit():
                    cells[column] = repr(start + float(cells[column])).encode()
        content = b"\n".join(map(b",".join, rows))
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


MODEL = ROOT / "benchmarks" / "models" / "artemis-heavy" / "ppo" / "seed0.zip"
ARTEMIS = "flowsched/Artemis-v0"
ARGUMENTS = {"workload": "gather-heavy", "k": 3, "f": 10}


def write(path: Path, content: str, arrays: bytes, *, sealed: bool) -> None:
    """Writes an archive, sealed anew on request."""
    if sealed:
        tree = json.loads(content)
        if isinstance(tree, dict):
            tree.pop(SEAL, None)
            text = json.dumps(tree, sort_keys=True).encode()
            content = json.dumps(tree | {SEAL: hashlib.blake2b(text + arrays, digest_size=16).hexdigest()})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(CONTENT, content)
        archive.writestr(ARRAYS, arrays)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_damaged_model_is_refused_by_name_or_acts(chunk: int, tmp_path: Path) -> None:
    env = make_environment(ARTEMIS, ARGUMENTS)
    observation, _ = env.reset(seed=0)
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(io.BytesIO(read_bytes(MODEL))) as archive:
        content, arrays = archive.read(CONTENT).decode(), archive.read(ARRAYS)
    for number in share(200, 25)[chunk::CHUNKS]:
        match number % 4:
            case 0:
                path.write_bytes(damaged_bytes(read_bytes(MODEL), number))
            case 1:
                write(path, damaged_json(content, number), arrays, sealed=False)
            case 2:
                write(path, damaged_json(content, number), arrays, sealed=True)
            case _:
                write(path, content, damaged_bytes(arrays, number), sealed=True)
        reason, policy = "", None
        try:
            policy = load_policy(path, env)
        except FlowSchedError as error:
            reason = str(error)
        if policy is None:
            assert str(path) in reason, number
            assert "\n" not in reason, number
        else:
            with torch.no_grad():
                action, _ = policy.predict(np.asarray(observation), deterministic=True)
            assert env.action_space.contains(action), number
        assert [each.name for each in tmp_path.iterdir()] == ["model.zip"], number


RESULTS = result_paths(ROOT / "benchmarks" / FOLDER)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_damaged_result_file_is_refused_by_name_or_is_a_result_that_can_be_shown(chunk: int, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    refused = 0
    for number in share(500, 40)[chunk::CHUNKS]:
        source = RESULTS[number % len(RESULTS)]
        path = folder / f"{number}.json"
        if number % 2:
            path.write_bytes(damaged_bytes(read_bytes(source), number))
        else:
            path.write_text(damaged_json(read_bytes(source).decode(), number), encoding="utf-8")
        reason = ""
        texts = []
        try:
            texts = list(pages(tmp_path).values())
        except FlowSchedError as error:
            reason = str(error)
        if reason:
            refused += 1
            assert str(path) in reason, number
            assert reason.isprintable(), number
        else:
            assert texts, number
            assert all(line.isprintable() for text in texts for line in text.splitlines()), number
        path.unlink()
    assert refused
