"""Tells which flow files and mappings of sequences are workloads, what comes back, and how others are refused."""

import itertools
import math
import os
import re
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from flowsched_gym.core.errors import FlowFileError, MissingDependencyError, WorkloadError
from flowsched_gym.workload import (
    WORKLOADS,
    DeadlineWarning,
    Workload,
    draw_flows,
    flow_csv,
    flow_file,
    make_workload,
    read_flows,
    workload_from_columns,
    write_flows,
)
from tests.simulate import ARRAYS, rows_of

HEADER = "flow_id,task_id,source,destination,size_bytes,arrival_s,deadline_s"
ROWS = ["0,0,1,0,350000.0,0.0,0.04", "1,,2,0,250000,0.1,", "5,7,3,0,1e3,2.5e-2,50"]

COLUMNS = {
    "flow_id": [0, 1, 5],
    "task_id": [0, None, 7],
    "source": [1, 2, 3],
    "destination": [0, 0, 0],
    "size_bytes": [350_000.0, 250_000, 1e3],
    "arrival_s": [0.0, 0.1, 0.025],
    "deadline_s": [0.04, None, 50],
}
EXPECTED = [*(COLUMNS | {"task_id": [0, -1, 7], "deadline_s": [0.04, np.inf, 50.0]}).values()]
"""What ``ROWS`` and ``COLUMNS`` hold."""


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def bits_of(workload: Workload) -> list[bytes]:
    return [getattr(workload, name).tobytes() for name in ARRAYS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "flows.csv"


@pytest.fixture(params=["fast", "line by line"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "line by line":
        monkeypatch.setattr(flow_csv, "_parse_fast", lambda *_: None)


@pytest.mark.usefixtures("either_parser")
def test_a_flow_file_is_read_with_empty_cells_as_no_task_and_no_deadline(path: Path) -> None:
    assert rows_of(read_flows(write(path, *ROWS))) == EXPECTED
    header = "arrival_s,destination,source,size_bytes,flow_id"  # optional columns may be missing
    workload = read_flows(write(path, "0.5,0,1,100,3", "0.25,1,0,200,4", header=header))
    assert rows_of(workload) == [[3, 4], [-1, -1], [1, 0], [0, 1], [100.0, 200.0], [0.5, 0.25], [np.inf, np.inf]]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + "\n".join([HEADER, *ROWS]) + "\n",
        "\r\n".join([HEADER, *ROWS]) + "\r\n",
        "\n".join([HEADER, *ROWS]),
        "\n".join([HEADER.replace(",", ", "), *(row.replace(",", " ,") for row in ROWS)]) + "\n",
        "\n".join([",".join(f'"{name}"' for name in HEADER.split(",")), '"0",0,1,0,"350000.0",0.0,0.04', *ROWS[1:]])
        + "\n",
        "\n".join([HEADER, "0,0,1.0,0,350000.0,+0.0,4e-2", "1,,2e0,0.,2.5E+5,.1,", "5,7.,3,-0,1e3,2.5e-2,50."]) + "\n",
    ],
    ids=["byte order mark", "carriage returns", "no last line break", "spaces", "quotes", "other notations"],
)
def test_common_ways_of_writing_csv_are_read_alike(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    assert rows_of(read_flows(path)) == EXPECTED


positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)
whole = st.integers(min_value=0, max_value=2**63 - 1)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    ids = sorted(draw(st.sets(whole, min_size=1, max_size=12)))
    count = len(ids)
    hosts = [draw(st.tuples(whole, whole).filter(lambda pair: pair[0] != pair[1])) for _ in ids]
    return Workload(
        flow_id=np.array(ids),
        source=np.array([source for source, _ in hosts]),
        destination=np.array([destination for _, destination in hosts]),
        size=np.array(draw(st.lists(positive, min_size=count, max_size=count))),
        arrival_time=np.array(draw(st.lists(positive | st.just(0.0), min_size=count, max_size=count))),
        deadline_span=np.array(draw(st.lists(positive | st.just(np.inf), min_size=count, max_size=count))),
        task_id=np.array(draw(st.lists(whole | st.just(-1), min_size=count, max_size=count))),
    )


@pytest.mark.filterwarnings("ignore::flowsched_gym.workload.DeadlineWarning")  # drawn ones may look like times
@settings(max_examples=30)
@given(workload=workloads())
def test_any_workload_comes_back_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, workload: Workload) -> None:
    folder = tmp_path_factory.mktemp("round")
    for name in ("flows.csv", "flows.parquet"):
        write_flows(workload, folder / name)
        assert bits_of(read_flows(folder / name)) == bits_of(workload)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_csv, "_parse_fast", lambda *_: None)
        assert bits_of(read_flows(folder / "flows.csv")) == bits_of(workload)


@pytest.mark.parametrize("chunk_bytes", [1, 50, 1000])
def test_a_file_in_many_pieces_is_read_as_one(path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    workload = draw_flows(make_workload("gather-multi", request_jitter=1e-4), num_flows=123, seed=4)
    write_flows(workload, path)
    monkeypatch.setattr(flow_csv, "CHUNK_BYTES", chunk_bytes)
    done: list[tuple[int, int]] = []
    read = read_flows(path, progress=lambda now, total: done.append((now, total)))
    assert bits_of(read) == bits_of(workload)
    assert done[-1] == (path.stat().st_size, path.stat().st_size)
    assert done == sorted(done)
    assert len(done) >= path.stat().st_size / (chunk_bytes + 100)


def test_an_error_in_a_later_piece_names_its_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{row},,1,0,100.5,{row}.25," for row in range(200)]
    rows[170:172] = "170,,1,0,-3,170.25,", "171,,1,0,100,-1,"
    write(path, *rows)
    monkeypatch.setattr(flow_csv, "CHUNK_BYTES", 64)
    with pytest.raises(FlowFileError, match=r"flows\.csv, line 172, column size_bytes: '-3': it must be a finite"):
        read_flows(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1.5,,1,0,100,0,", "line 3, column flow_id: '1.5': it must be a whole number >= 0"),
        ("9007199254740993.0,,1,0,100,0,", "column flow_id: '9007199254740993.0': it must be a whole number"),
        ("0,,1,0,100,0,", "line 3, column flow_id: 0 after 0: it must be a whole number >= 0, larger than in the row"),
        ("1,a,1,0,100,0,", "line 3, column task_id: 'a': it must be a whole number >= 0, or empty"),
        ("1,,x,0,100,0,", "line 3, column source: 'x': it must be a host number >= 0"),
        ("1,,1,1,100,0,", "line 3, column destination: 1: it must be a host number >= 0, other than the source"),
        ("1,,1,0,0,0,", "line 3, column size_bytes: '0': it must be a finite number of bytes > 0"),
        ("1,,1,0,nan,0,", "line 3, column size_bytes: 'nan': it must be a finite number of bytes > 0"),
        ("1,,1,0,1_000,0,", "line 3, column size_bytes: '1_000'"),
        ("1,,1,0,\u0661,0,", "line 3, column size_bytes: '\u0661'"),
        ("1,,1,0,100,-0.1,", "line 3, column arrival_s: '-0.1': it must be a finite time in s >= 0"),
        ("1,,1,0,100,0,0", "line 3, column deadline_s: '0': it must be a finite time in s > 0, or empty"),
        ("1,,1,0,100,0", "line 3: 6 cells in '1,,1,0,100,0': it must be 7, as in the header"),
        ("", "line 3: 1 cell in '': it must be 7"),
        ('1,,1,0,"1,5",0,', "line 3: 8 cells"),
        ("1,,1,0,1\r00,0,", "line 3, column size_bytes: '1\\r00'"),
        (f"1,,{'9' * 5000},0,100,0,", f"line 3, column source: '{'9' * 60}...': it must be a host number >= 0"),
        (f"1,,1,0,100,0,{'x' * 5000}", f"line 3, column deadline_s: '{'x' * 60}...': it must be"),
    ],
)
def test_a_bad_row_is_refused_by_file_line_column_value_and_what_is_allowed(path: Path, row: str, message: str) -> None:
    write(path, "0,,1,0,100,0,", row, "9,,1,0,100,0,")
    with pytest.raises(FlowFileError, match=r"flows\.csv, line 3") as error:
        read_flows(path)
    assert message in str(error.value)


def test_what_is_no_flow_file_is_refused(path: Path) -> None:
    rows = "\n".join(["", *ROWS])
    for content, message in (
        (f"{HEADER},color,weight{rows}".encode(), "line 1: unknown columns 'color', 'weight'"),
        (f"flow_id,source,size_bytes{rows}".encode(), "line 1: missing columns destination, arrival_s: only task_id"),
        (f"{HEADER},due_s{rows}".encode(), "line 1: columns deadline_s (time allowed after arrival) and due_s"),
        (f"{HEADER},source{rows}".encode(), "line 1: column source appears more than once"),
        (rows[1:].encode(), "line 1: '0,0,1,0,350000.0,0.0,0.04': it must be the header"),
        (b"", "the file is empty: its first line must be the header flow_id,task_id"),
        (HEADER.encode(), "line 2: no flows: at least one row must follow the header"),
        (b"\xff\xfe" + HEADER.encode("utf-16-le"), "line 1: not UTF-8 text"),
        (b"PK\x03\x04" + b"x" * 10_000, "line 1: 'PK"),
    ):
        path.write_bytes(content)
        with pytest.raises(FlowFileError, match=re.escape(message)) as error:
            read_flows(path)
        assert str(path) in str(error.value)
        assert len(str(error.value)) < 400


def test_a_file_cut_short_inside_its_last_row_is_refused_and_says_so(path: Path) -> None:
    whole_text = "\n".join([HEADER, *ROWS, "6,7,3,0,1000.5,2.5,0.04"])
    start = whole_text.rindex("\n") + 1
    for end in range(start + 1, len(whole_text) - len("0.04") + len("0.0") + 1):
        path.write_text(whole_text[:end])
        with pytest.raises(FlowFileError, match="line 5"):
            read_flows(path)
    for row, message in (
        ("6,7,3,0,10", r"line 5: 5 cells in '6,7,3,0,10'.*without a line break and seems to be cut"),
        ("6,7,3,0,10,2.5,", "line 5, column deadline_s: the file ends after a comma"),
    ):
        path.write_text("\n".join([HEADER, *ROWS, row]))
        with pytest.raises(FlowFileError, match=message):
            read_flows(path)


def test_a_missing_file_a_folder_and_a_csv_file_named_parquet_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "flows.parquet", *ROWS)
    for name, message in (
        ("none.csv", r"none\.csv does not exist"),
        ("", "is a folder: a flow file is needed"),
        ("none.parquet", r"none\.parquet does not exist"),
        ("flows.parquet", "is not a Parquet file"),
    ):
        with pytest.raises(FlowFileError, match=message):
            read_flows(tmp_path / name)
    hosts = {"flow_id": [0, 1], "source": [1, 1], "destination": [0, 0], "arrival_s": [0.0, 1.0]}
    for columns, message in (
        ({"size_bytes": [5.0, None]}, r"flows\.parquet, row 1, column size_bytes: nan: it must be a finite"),
        ({"color": ["red", "blue"]}, r"flows\.parquet: unknown column 'color'"),
    ):
        parquet.write_table(pa.table(hosts | columns), tmp_path / "flows.parquet")
        with pytest.raises(FlowFileError, match=message):
            read_flows(tmp_path / "flows.parquet")


def test_without_pyarrow_parquet_names_the_pip_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "flows.parquet", *ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (lambda: read_flows(path), lambda: write_flows(make_workload("gather-a1").draw(0), path)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'flowsched-gym\[parquet\]'"):
            call()


def test_the_file_has_the_header_and_the_cells_of_the_contract(path: Path) -> None:
    columns = [3, 4], [None, 8], [1, 2], [0, 0], [350_000.0, 0.1], [0.0, 1e-7], [0.04, None]
    write_flows(workload_from_columns(dict(zip(HEADER.split(","), columns, strict=True))), path)
    assert path.read_text() == f"{HEADER}\n3,,1,0,350000.0,0.0,0.04\n4,8,2,0,0.1,1e-07,\n"


def test_a_workload_without_flows_is_not_written(path: Path) -> None:
    empty = make_workload("gather-a1", duration=1e-9).draw(0)
    with pytest.raises(WorkloadError, match="is not written: the workload has no flows"):
        write_flows(empty, path)
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_flows(make_workload("gather-a1").draw(0), path.parent / "none" / "flows.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_flows(make_workload("gather-a1").draw(0), path.parent)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("old")
    monkeypatch.setattr(flow_file, "ROWS_AT_ONCE", 100)

    def stop(done: int, total: int) -> None:
        if done >= 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_flows(make_workload("gather-a1").draw(0), path, progress=stop)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_written_file_has_the_usual_permissions_and_a_link_to_a_file_stays_one(path: Path) -> None:
    (target := path.with_name("target.csv")).write_text("old")
    path.symlink_to(target)
    write_flows(make_workload("gather-a1").draw(0), path)
    write_flows(make_workload("gather-a1").draw(0), path.with_name("new.csv"))
    assert path.is_symlink()
    assert read_flows(target).num_flows == 1000
    (other := path.with_name("other")).write_text("")
    assert stat.S_IMODE(path.with_name("new.csv").stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_a_pipe_is_written_to_and_stays_a_pipe(path: Path) -> None:
    os.mkfifo(path)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(path.read_text()), daemon=True)
    reader.start()
    write_flows(make_workload("gather-a1").draw(0), path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    reader.join()
    assert received[0].count("\n") == 1001
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {name: np.array(values) for name, values in COLUMNS.items()},
        {name: tuple(values) for name, values in COLUMNS.items()},
        {"deadline_s": [0.04, math.nan, 50.0], "task_id": np.array([0, np.nan, 7])},
        {"deadline_s": np.ma.masked_array([0.04, 9.9, 50.0], mask=[False, True, False])},
        {"task_id": np.ma.masked_array([0, 9, 7], mask=[False, True, False])},
        {"deadline_s": [0.04, "", 50.0], "task_id": [0.0, "", 7.0]},
        {"flow_id": np.array([0, 1, 5], dtype=np.uint64), "source": np.array([1, 2, 3], dtype=np.int8)},
        {"flow_id": np.array([0.0, 1.0, 5.0]), "destination": np.zeros(3)},
        {"size_bytes": np.array([350_000, 250_000, 1000]), "arrival_s": [np.float64(0.0), 0.1, 0.025]},
    ],
)
def test_common_kinds_of_sequences_are_read_alike(changes: dict) -> None:
    assert rows_of(workload_from_columns(COLUMNS | changes)) == EXPECTED


def test_bad_columns_are_refused_by_row_column_value_and_what_is_allowed() -> None:
    for changes, message in (
        ({"color": [1, 2, 3]}, "mapping: unknown column 'color': the columns are flow_id, task_id"),
        ({"size_bytes": [1.0, 2.0]}, "mapping: size_bytes has 2 rows, flow_id has 3: lengths must agree"),
        ({"size_bytes": [1.0, -2.0, 3.0]}, "mapping, row 1, column size_bytes: -2.0: it must be a finite number of"),
        ({"size_bytes": [1.0, "large", 3.0]}, "mapping, row 1, column size_bytes: 'large'"),
        ({"size_bytes": [1.0, [5], 3.0]}, "size_bytes is nested: it must be a sequence of numbers"),
        ({"size_bytes": [1.0, 10**400, 3.0]}, f"mapping, row 1, column size_bytes: {10**100}"),
        ({"size_bytes": np.array([1, 2, 3], dtype="m8[s]")}, "mapping, row 0, column size_bytes: "),
        ({"size_bytes": 5.0}, "size_bytes is 5.0: it must be a sequence of numbers"),
        ({"size_bytes": [True, False, True]}, "mapping, row 0, column size_bytes: True"),
        ({"flow_id": [0, 5, 5]}, "mapping, row 2, column flow_id: 5: it must be a whole number >= 0, larger than"),
        ({"flow_id": [0, 1.5, 2]}, "mapping, row 1, column flow_id: 1.5: it must be a whole number"),
        ({"flow_id": [0, 1, 10**30]}, f"mapping, row 2, column flow_id: {10**30}"),
        ({"arrival_s": np.ma.masked_array([0.0, 0.5, 1.0], mask=[0, 1, 0])}, "mapping, row 1, column arrival_s: None"),
        ({"deadline_s": [1.0, math.inf, 1.0]}, "mapping, row 1, column deadline_s: inf"),
        ({"due_s": [1.0] * 3}, "mapping: columns deadline_s (time allowed after arrival) and due_s"),
        ({name: [] for name in COLUMNS}, "mapping: no flows: at least one row is needed"),
    ):
        with pytest.raises(WorkloadError, match=re.escape(message)):
            workload_from_columns(COLUMNS | changes)
    with pytest.raises(WorkloadError, match="mapping: missing columns flow_id, source, destination, arrival_s: only"):
        workload_from_columns({"size_bytes": [1.0]})


FLOWS = {
    "flow_id": [0, 1, 2, 3],
    "source": [1, 2, 3, 1],
    "destination": [0, 0, 0, 0],
    "size_bytes": [1e5, 1e5, 1e5, 1e5],
    "arrival_s": [10.0, 20.0, 35.0, 40.0],
}


def write_columns(path: Path, columns: dict[str, list[float | None]]) -> Path:
    rows = (["" if value is None else str(value) for value in row] for row in zip(*columns.values(), strict=True))
    return write(path, *map(",".join, rows), header=",".join(columns))


@pytest.mark.usefixtures("either_parser")
def test_due_times_may_stand_in_place_of_spans(tmp_path: Path) -> None:
    columns = FLOWS | {"due_s": [10.5, None, 36.0, 40.5]}
    write_columns(tmp_path / "flows.csv", columns)
    parquet.write_table(pa.table(columns), tmp_path / "flows.parquet")
    for workload in (workload_from_columns(columns), *(read_flows(path) for path in tmp_path.iterdir())):
        assert workload.deadline_span.tolist() == [0.5, np.inf, 1.0, 0.5]


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("due", [20.0, 19.5])
def test_a_flow_that_is_due_before_it_arrives_is_refused(tmp_path: Path, due: float) -> None:
    columns, message = FLOWS | {"due_s": [10.5, due, 36.0, 40.5]}, f"column due_s: {due}: it must be a finite time in s"
    with pytest.raises(WorkloadError, match=f"row 1, {message}, later than"):
        workload_from_columns(columns)
    with pytest.raises(FlowFileError, match=f"line 3, {message}"):
        read_flows(write_columns(tmp_path / "flows.csv", columns))


@pytest.mark.parametrize("shift", [0.0, 1.79e9], ids=["from 10 s on", "Unix time"])
def test_spans_that_look_like_times_are_warned_of(tmp_path: Path, shift: float) -> None:
    columns = FLOWS | {
        "arrival_s": [time + shift for time in FLOWS["arrival_s"]],  # type: ignore[attr-defined]
        "deadline_s": [time + shift for time in (10.5, 20.25, 36.0, 40.5)],
    }
    with pytest.warns(DeadlineWarning, match="mapping: deadline_s grows with arrival_s .* belong in a column due_s"):
        workload_from_columns(columns)
    with pytest.warns(DeadlineWarning, match="flows.csv: deadline_s grows with arrival_s"):
        read_flows(write_columns(tmp_path / "flows.csv", columns))


def test_spans_that_are_constant_in_no_order_too_few_or_huge_are_not_warned_of() -> None:
    huge = [1.7e308, 1.6e308, 1.7e308, 1.2e308]
    for spans in ([50.0] * 4, [90.0, 45.0, 60.0, 50.0], [10.5, 20.25, None, None], huge):
        workload_from_columns(FLOWS | {"deadline_s": spans})


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_workload_of_the_package_is_warned_of(name: str, tmp_path: Path) -> None:
    for num_flows, seed in itertools.product((3, 10, 100), range(2)):
        write_flows(draw_flows(make_workload(name), num_flows=num_flows, seed=seed), tmp_path / "flows.csv")
        read_flows(tmp_path / "flows.csv")
