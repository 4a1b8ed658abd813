"""Fills the disk, ends the process, and fails in between: files are whole, and nothing else is left."""

import errno
import logging
import os
import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from flowsched_gym.cli import main
from flowsched_gym.core import files
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import (
    Ended,
    check_target,
    ended_by_signals,
    exit_status,
    read_yaml,
    replace_when_written,
    write_text,
)
from flowsched_gym.evaluation import write_json
from tests.processes import run

WRITER = """
import os, signal, sys
from flowsched_gym.core.files import replace_when_written
signal.signal({number:d}, signal.default_int_handler if {number:d} == signal.SIGINT else signal.SIG_DFL)
with replace_when_written(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(len(os.listdir(temporary.parent)), flush=True)
    os.kill(os.getpid(), {number:d})
"""
"""Writes half a file and is asked to end; prints how many entries the folder then has.

What nohup or a shell starts in the background may ignore hang-ups or interrupts; this program does not.
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("files", [1, 2])
def test_a_process_that_is_asked_to_end_while_it_writes_leaves_nothing(number, files, tmp_path: Path) -> None:
    two = "as first, replace_when_written(sys.argv[1] + '.other') as temporary:\n    first.touch()"
    program = WRITER.format(number=number).replace("as temporary:", two if files == 2 else "as temporary:")
    assert run(sys.executable, "-c", program, str(tmp_path / "records.csv"), status=-number).out == f"{files}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_an_interrupt_unless_it_is_ignored(number: int) -> None:
    taken: list[int] = []
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(Ended) as caught, ended_by_signals():
            os.kill(os.getpid(), number)
        assert exit_status(caught.value) == 128 + number
        with ended_by_signals(taken.append):  # a terminal that closes sends more than one
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), signal.SIGTERM)
        assert taken == [number]
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)
            with ended_by_signals():
                os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json({"old": 1}, path)
    before = path.read_bytes()

    def fill() -> None:
        with replace_when_written(path) as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*result\.json'") as caught:
        fill()

    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_about_the_temporary_file_names_the_file_itself(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replace_when_written(tmp_path / "result.json"):
        pass
    assert caught.value.filename == str(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_is_one_line_with_its_name_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["workload", "gather-a1", "--flows", "10", "--seed", "0", "--out", "/dev/full"])
    assert status == 2
    assert capsys.readouterr().err == "flowsched: error: [Errno 28] No space left on device: '/dev/full'\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_standard_output_on_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        program = (sys.executable, "-m", "flowsched_gym.cli", "list")
        outcome = run(*program, stdout=full.fileno(), status=2, PYTHONUNBUFFERED="")
    assert outcome.err == "flowsched: error: [Errno 28] No space left on device: 'standard output'\n"


def test_a_name_as_long_as_file_systems_allow_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125 + ".csv")
    write_text("text", path)
    assert path.read_text() == "text"


def test_a_folder_that_is_read_only_is_named_before_anything_is_computed(monkeypatch, capsys, tmp_path: Path) -> None:
    """No mode of a folder keeps an administrator out, who may run this test."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(PermissionError, match=f"the folder {tmp_path} is read-only for this user"):
        check_target(tmp_path / "flows.csv")
    assert main(["workload", "gather-a1", "--flows", "9", "--seed", "1", "--out", str(tmp_path / "flows.csv")]) == 2
    assert f"flows.csv cannot be written: the folder {tmp_path} is read-only" in capsys.readouterr().err


def test_yaml_that_stands_for_more_than_it_has_or_is_too_deep_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    laughs = "\n".join(f"{name}: &{name} [{f'*{before},' * 9}]" for before, name in pairwise("abcdefgh"))
    for text, message in (
        (f"a: &a [1, 1]\n{laughs}", r"own\.yaml: line 2 has an alias, \*a: write out its value"),
        ("a: &a {b: 1}\nc: {<<: *a}", "line 2 has an alias"),
        ("a: " + "[" * 5000 + "]" * 5000, "this YAML must have at most 100 levels and"),
        ("".join(f"{' ' * level}a:\n" for level in range(200)), "at most 100 levels"),
        ("- " + "[]" * 1, None),
    ):
        path.write_text(text)
        if message is None:
            assert read_yaml(path, extra="train") == [[]]
            continue
        with pytest.raises(ConfigError, match=message):
            read_yaml(path, extra="train")


def test_too_many_values_of_yaml_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "MOST_VALUES", 100)
    (tmp_path / "own.yaml").write_text(f"a: [{', '.join(['1'] * 100)}]")
    with pytest.raises(ConfigError, match="levels and 100 values and brackets"):
        read_yaml(tmp_path / "own.yaml", extra="train")


def test_the_environment_is_not_read_for_the_author_of_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET", "hush")
    (tmp_path / "own.yaml").write_text("name: ${oc.env:SECRET}\nlist: ['${name}', '${oc.env:SECRET}!']")
    read = read_yaml(tmp_path / "own.yaml", extra="train")
    assert read == {"name": "${oc.env:SECRET}", "list": ["${name}", "${oc.env:SECRET}!"]}


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_once_and_used_without(number, monkeypatch, caplog, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    files._tell_of_no_locks.cache_clear()
    with caplog.at_level(logging.WARNING), (tmp_path / "lock").open("w") as file:
        for _ in range(2):
            files.lock_alone(file, lambda: pytest.fail("there is nobody to wait for"))
    assert [each.getMessage() for each in caplog.records] == [
        f"the file system has no locks ({os.strerror(number)}): two processes at once may do the same work twice"
    ]


def test_a_full_disk_leaves_commands_with_one_line_and_no_file(monkeypatch, capsys, tmp_path: Path) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    flows, out = tmp_path / "flows.csv", tmp_path / "out.csv"
    assert main(["workload", "gather-a1", "--flows", "9", "--seed", "1", "--out", str(flows)]) == 0
    record = "2024-01-01 00:00:00.000,1,10.0.0.1,10.0.0.2,1,2,TCP,9"
    (tmp_path / "nfdump.csv").write_text(f"ts,td,sa,da,sp,dp,pr,ibyt\n{record}\n")
    capsys.readouterr()
    monkeypatch.setattr(os, "fsync", fill)
    for words in (
        ("workload", "gather-a1", "--flows", "9", "--seed", "1"),
        ("replay", flows, "--discipline", "fifo"),
        ("replay-packets", flows, "--scheduler", "fifo"),
        ("evaluate", "flowsched/Artemis-v0", "--policy", "fifo", "--episodes", "1", "--kwarg", "bursts=1"),
        ("import-flows", tmp_path / "nfdump.csv", "--format", "nfdump"),
    ):
        assert main([*map(str, words), "--out", str(out)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if "error" in line] == [
            f"flowsched: error: [Errno {errno.ENOSPC}] No space left on device: {str(out)!r}"
        ]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["flows.csv", "nfdump.csv"]
